/* SPDX-License-Identifier: MIT
 *
 * Check of the mount on the ground, by hand: lift, nod, lean and turn the vehicle; the pose that the companion would
 * send is compared, in sign and size, with the autopilot's own ATTITUDE and LOCAL_POSITION_NED. An axis that is
 * swapped, turned around or of another unit shows here and not in the air.
 */
#ifndef COMPANION_CHECK_H
#define COMPANION_CHECK_H

#include <stdint.h>

/** Steps, in their order. */
typedef enum check_step { CHECK_STILL = 0, CHECK_LIFT, CHECK_NOD, CHECK_LEAN, CHECK_TURN, CHECK_DONE } check_step_t;

#define CHECK_TEXT 320

/** A pose, of the companion or of the autopilot. */
typedef struct check_pose {
    int has_attitude, has_position; /**< 1: of the last half second. */
    double euler_rad[3];            /**< Roll, pitch, yaw. */
    double position_m[3];           /**< z down. */
} check_pose_t;

/** State of the check. Zero it. */
typedef struct check {
    check_step_t step;
    uint64_t since_ns;         /**< Begin of the step; 0: not yet. */
    check_pose_t ours, theirs; /**< At the begin of the step. */
    int failures;
} check_t;

/**
 * Takes both poses of a time.
 * @param[out] text  Line for the person who holds the vehicle.
 * @return 1: text is new; 0: no new line.
 */
int check_add(check_t *check, const check_pose_t *ours, const check_pose_t *theirs, uint64_t now_ns,
              char text[CHECK_TEXT]);

#endif
