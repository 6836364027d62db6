/* SPDX-License-Identifier: MIT
 *
 * Health of cameras, stamps and tracks, in words for STATUSTEXT: each when it begins, and when it has been
 * over for a second, so that what comes and goes is not reported in every frame.
 */
#ifndef COMPANION_HEALTH_H
#define COMPANION_HEALTH_H

#include "vfront.h"

#define HEALTH_TEXT 51 /* bytes of a STATUSTEXT and its end */
#define HEALTH_WORDS 11

/** Zero it before the first result. */
typedef struct health {
    uint32_t reported;           /**< Words that were reported, and not taken back: a bit each. */
    uint64_t seen[HEALTH_WORDS]; /**< When each was so last [ns]. */
} health_t;

/** Next report on a result; to be called until it returns 0. is_bad: 0 where something is over. */
int health_next(health_t *health, const vfront_result_t *result, char text[HEALTH_TEXT], int *is_bad);

#endif
