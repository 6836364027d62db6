/* SPDX-License-Identifier: MIT
 *
 * Health of cameras, stamps, tracks and IMU, in words for STATUSTEXT: each when it begins, and when it has been
 * over for a second, so that what comes and goes is not reported in every frame.
 */
#ifndef COMPANION_HEALTH_H
#define COMPANION_HEALTH_H

#include "vfront.h"

#define HEALTH_TEXT 51 /* bytes of a STATUSTEXT and its end */
#define HEALTH_WORDS 21
#define HEALTH_IMU_TEXT 128

/** Zero it before the first result. */
typedef struct health {
    uint32_t reported;           /**< Words that were reported, and not taken back: a bit each. */
    uint64_t seen[HEALTH_WORDS]; /**< When each was so last [ns]. */
} health_t;

/** Next report on a result; to be called until it returns 0, else the number of its word, from 1 on. is_bad: 0 where
 *  something is over. */
int health_next(health_t *health, const vfront_result_t *result, char text[HEALTH_TEXT], int *is_bad);

/** Faults of vfront_health_t.imu in words, "in g, stuck"; all but gaps, which frames that come late have, too. */
const char *health_imu_words(uint32_t imu, char text[HEALTH_IMU_TEXT]);

#endif
