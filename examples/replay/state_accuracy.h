/* SPDX-License-Identifier: MIT
 *
 * Accuracy of states against ground truth, over the frames that have both. Of accuracy.h: ATE, drift, scale, with the
 * IMU in place of the camera. Besides:
 *   RPE       relative pose error over one second: to the first frame at least 0.999 s and at most 1.5 s later
 *   ATE yaw   ATE after the turn about z and the shift that fit best, which is all that no camera and no IMU can see
 *             (Zhang and Scaramuzza 2018)
 *   tilt      angle between the vertical of a state and the true one
 *   NEES      e' S^-1 e of position and of attitude, 3 degrees of freedom each, S the covariance as reported: 3 in the
 *             mean if the covariance is right. Truth is moved, and turned about z, to the first state of each
 *             stretch without a reset, not fitted; the first five frames of a stretch, whose position is nearly
 *             exact by definition, are left out
 */
#ifndef STATE_ACCURACY_H
#define STATE_ACCURACY_H

#include "accuracy.h"
#include "state.h"

#define STATE_NEES_BOUND 16.2662 /* 99.9 % of a chi-squared distribution of 3 degrees are below */

/** NEES of three errors. */
typedef struct state_nees {
    uint32_t count, beyond; /**< Frames, and those beyond the bound. */
    double mean;
} state_nees_t;

typedef struct state_accuracy {
    accuracy_t trajectory;           /**< Its steps are those from one frame to the next, where both have a state. */
    double ate_yaw_m;                /**< RMSE; 0 if not all of them have a tilt. */
    uint32_t seconds;                /**< Pairs of frames of the next two. */
    double second_m, second_deg;     /**< RPE, RMSE. */
    uint32_t tilts;                  /**< Frames where both ground truth and state have a known up. */
    double tilt_deg;                 /**< RMSE of these. */
    uint32_t velocities;             /**< Frames of the next one. */
    double velocity_mps;             /**< RMSE. */
    state_nees_t position, attitude; /**< Count 0: the state has a known up, ground truth has none. */
} state_accuracy_t;

/** Errors of a frame: position, attitude (w of R_true = exp([w]) R), velocity, as vfront_nav_t has them. `moved` takes
 *  ground truth to where it is compared: the identity, or the alignment of a stretch. */
void state_errors(const state_frame_t *frame, const pose_t *moved, double error[9]);

/** Alignment of ground truth for each frame, state_alignment() to the first state of its stretch: `moved` has room for
 *  all frames. */
void state_segments(const states_t *states, pose_t *moved);

/** Returns 0 if fewer than two frames have a state and ground truth, or without memory. */
int state_accuracy_of(const states_t *states, state_accuracy_t *accuracy);

#endif
