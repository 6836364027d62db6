/* SPDX-License-Identifier: MIT
 *
 * Table of faults, and what each must not do. A fault lies in RULES_FIRST..RULES_LAST of RULES_FRAMES frames of the
 * rendered flight, at 30 Hz, unless its script has another rate.
 *
 *   named      a sign of the row (trial.h) comes within `within` frames delivered from the first that the fault touches
 *   finite     no number of a result or a message is NaN or infinite
 *   honest     a position that is off by over RULES_SIGMAS of its own deviations is not one of a GOOD state of quality
 *              50 and more
 *   continuous from state to state the position follows the velocity, within RULES_JUMP_M and 3 deviations, or
 *              nav.reset_counter rises
 *   again      a GOOD state of quality 50 and more at the latest RULES_RECOVERY frames behind the fault's end
 *   same       every result of the board has the digests of this computer's
 */
#ifndef HIL_RULES_H
#define HIL_RULES_H

#include "trial.h"

#define RULES_FRAMES 84u
#define RULES_FIRST 40u
#define RULES_LAST 49u
#define RULES_RECOVERY 30u
#define RULES_SIGMAS 3.76 /* 99.73 % of three dimensions */
#define RULES_JUMP_M 0.05

/** Row of the table. */
typedef struct rule {
    const char *name;
    const char *script; /**< Lines, separated by newlines. */
    unsigned signs;     /**< Any of them names it; 0: nothing has to, it does no harm. */
    uint32_t within;    /**< Frames. */
    int is_lasting;     /**< 1: it has no end, so that `again` is not asked of it. */
} rule_t;

/** Row `index`; NULL past the last. */
const rule_t *rules_row(size_t index);

/** Judgement of a trial. */
typedef struct evaluation {
    int detected, finite, consistent, continuous, recovered, same; /**< 1: passed. */
    int32_t detected_after, recovered_after;                       /**< Frames; -1: never. */
    double worst_sigmas, worst_m, worst_jump_m;
    char why[120]; /**< What failed, or "". */
} evaluation_t;

void rules_evaluate(evaluation_t *evaluation, const rule_t *rule, const trial_t *trial);

/** 1 if all passed. */
int rules_passed(const evaluation_t *evaluation);

#endif
