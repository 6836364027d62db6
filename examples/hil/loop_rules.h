/* SPDX-License-Identifier: MIT
 *
 * Table of faults of the closed loop, each in a flight of its own (loop.h), 20 s long; and what it must not do.
 *
 *   holds      never farther than LOOP_MAX_M from the set point, PX4's own flight card, from take-off to the end, and
 *              the pilot never blind
 *   is lost    only for faults that the table lists as ones that cannot be survived: the pilot gets quality -1, or
 *              silence, before it is farther than that; it comes down, not faster than LOOP_TOUCH_MPS; after the fault
 *              it takes off again, and is within LOOP_MAX_M for the last LOOP_RECOVERY_S
 *   stops      before a wall: at rest for the last LOOP_RECOVERY_S, LOOP_NEAR_M to LOOP_FAR_M from it
 *   resumes    after a restart of the board: messages at most LOOP_RESUMED_M and LOOP_RESUMED_RAD beside the truth, and
 *              LOOP_RESUMED_SIGMAS of their deviations, reset_counter another one; where the pilot, by its IMU alone,
 *              was itself farther off, at most LOOP_RESUMED_OWN_M farther than it was
 *   always     every number of every message finite; no crash
 */
#ifndef HIL_LOOP_RULES_H
#define HIL_LOOP_RULES_H

#include "loop.h"

#define LOOP_MAX_M 1.0
#define LOOP_TOUCH_MPS 1.5
#define LOOP_RECOVERY_S 3.0
#define LOOP_NEAR_M 0.8
#define LOOP_FAR_M 2.5
#define LOOP_RESUMED_M 0.3
#define LOOP_RESUMED_OWN_M 0.05
#define LOOP_RESUMED_RAD 0.0524 /* 3 degrees */
#define LOOP_RESUMED_SIGMAS 3.0
#define LOOP_RESUMED_S 8u /* that a flight goes on after a restart */
#define LOOP_SECONDS 20u  /* of a fault */
#define LOOP_AFTER_S 4u   /* that a flight goes on then; LOOP_LOST_AFTER_S where it may be lost */
#define LOOP_LOST_AFTER_S 16u

/** Row of the table. */
typedef struct loop_rule {
    const char *name;
    const char *fault;  /**< Target, kind, arguments; NULL: none. */
    uint32_t on, of;    /**< In the first `on` of each `of` frames; 0 of: all the time. */
    int cannot_survive; /**< 1: it may be lost. */
    int has_wall;
    loop_restart_t restart;
} loop_rule_t;

/** Row `index`; NULL past the last. */
const loop_rule_t *loop_row(size_t index);

/** Script of a row. Returns 0 where `most` bytes are too few. */
int loop_script(const loop_rule_t *rule, uint32_t seconds, char *to, size_t max);

/** Frames of its flight. */
uint32_t loop_frames(const loop_rule_t *rule, uint32_t seconds);

/** Judgement of a flight. */
typedef struct loop_evaluation {
    int passed, was_lost;
    double worst_m;      /**< Before it was lost, or at all. */
    double lost_after_s; /**< From the fault's begin; 0: never. */
    double recovery_s;   /**< From the fault's end to the last take-off; 0: none. */
    double last_m;       /**< Worst of the last LOOP_RECOVERY_S; of a wall: the distance from it. */
    char why[120];       /**< What failed, or "". */
} loop_evaluation_t;

void loop_evaluate(loop_evaluation_t *evaluation, const loop_rule_t *rule, const loop_t *loop);

#endif
