/* SPDX-License-Identifier: MIT
 *
 * States of the IMU over a run (vfront_result_t.nav) beside ground truth. A frame has a state where that is GOOD,
 * COASTING or STEREO_ONLY. Ground truth lies in the odometry frame: moved, and turned about z, so that it has position
 * and yaw of the first state that has ground truth beside it, and not fitted to any later one.
 */
#ifndef STATE_H
#define STATE_H

#include "vfront.h"
#include "dataset.h"
#include "examples/common/pose.h"
#include "state_correction.h"
#include "trajectory.h"

#define STATE_KINDS 6 /* of vfront_nav_state_t */

/** State of a frame. */
typedef struct state_frame {
    uint64_t t_ns;               /**< Of the frame. */
    vfront_nav_t nav;            /**< As the result had it. */
    int has_state;               /**< 1: state_is_valid(). */
    int has_truth, has_velocity; /**< 1: of ground truth, from the first state on. */
    pose_t pose, truth;          /**< T_odom_imu. */
    double true_velocity_mps[3]; /**< In axes of the odometry frame. */
} state_frame_t;

/** States of a run. Zero it before the first frame. */
typedef struct states {
    uint32_t count, capacity;
    state_frame_t *frame;
    uint32_t of_kind[STATE_KINDS]; /**< Frames by vfront_nav_state_t. */
    uint32_t with_state;           /**< Frames with a state. */
    uint32_t first;                /**< First frame with a state, if there is one. */
    int has_up;                    /**< 1: the ground truth has a known up, so that it was turned about z alone. */
    int aligned;                   /**< 1: T_odom_truth is known. */
    pose_t T_odom_truth;
    corrections_t corrections; /**< By pictures: correction_add() of each frame. */
} states_t;

/** Three deviations of a state's position, all axes together [m]. */
double state_bound_m(const vfront_nav_t *nav);

/** Put the states of a run beside the path of its camera: both meet in the first frame with a state. Nothing if the
 *  frames of the two are not the same, or without a state. */
void state_put_on_path(const states_t *states, const vfront_camera_t *camera, trajectory_t *path);

/**
 * Add a frame.
 * @param[in] truth   Ground truth of the IMU; NULL: unknown.
 * @param[in] has_up  1: z of its world is up; 0: the first state gives tilt, too.
 * @return 0 without memory.
 */
int state_add(states_t *states, uint64_t t_ns, const vfront_nav_t *nav, const dataset_state_t *truth, int has_up);
void state_free(states_t *states);

/** Frame added last. */
const state_frame_t *state_last(const states_t *states);

/** Variance of error i of a state, in the order of vfront_nav_t, and covariance of errors i and j. */
double state_variance(const vfront_nav_t *nav, int i);
double state_covariance(const vfront_nav_t *nav, int i, int j);

/** Square of the Mahalanobis distance of the three errors e[at], e[at + 1], e[at + 2] of a state, in the order of
 *  vfront_nav_t; -1: their covariance is not positive definite. */
double state_mahalanobis(const vfront_nav_t *nav, const double *e, int at);

/** Turn about z and shift after which `from` has position and yaw of `to`; the whole motion without `about_z`. */
pose_t state_alignment(const pose_t *from, const pose_t *to, int about_z);

/** 1 if a state has a known up; 0: two cameras alone have begun it, in a frame of their own. */
int state_has_up(const vfront_nav_t *nav);

/** 1 if a frame has a state: GOOD, COASTING or STEREO_ONLY. */
int state_is_valid(uint32_t state);

/** Name of a vfront_nav_state_t; "?" for any other number. */
const char *state_name(uint32_t state);

#endif
