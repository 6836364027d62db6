/* SPDX-License-Identifier: MIT
 *
 * Motions of a run: the trajectory of camera 0, counts of motions by state, and their lines of the summary. The
 * trajectory is metric if two cameras provide depth. A step without a good motion keeps what is known: the rotation,
 * from the other motion if necessary, or standstill.
 */
#ifndef MOTION_H
#define MOTION_H

#include "vfront.h"
#include "accuracy.h"
#include "motion_nees.h"
#include "trajectory.h"

enum { MOTION_RELATIVE, MOTION_METRIC, MOTION_KINDS };
#define MOTION_STATES 6

/** Zero it before motion_start(). */
typedef struct motion {
    trajectory_t trajectory;
    uint32_t state[MOTION_KINDS][MOTION_STATES];                /**< Frames by state. */
    uint32_t inliers[MOTION_KINDS][VFRONT_CORRESPONDENCES + 1]; /**< Histogram of inliers of good motions. */
    motion_nees_t nees;                                         /**< Of metric motions with ground truth. */
    accuracy_t accuracy;                                        /**< After motion_finish(). */
    int compared;                                               /**< 1 if `accuracy` is valid. */
} motion_t;

/** @param[in] metric, has_truth  1 if metric motions and ground truth are available. */
void motion_start(motion_t *motion, int metric, int has_truth);

/**
 * Add a frame.
 * @param[in] truth  Ground truth pose of camera 0 of the results, or NULL.
 * @return 0 without memory.
 */
int motion_add(motion_t *motion, const vfront_result_t *result, const pose_t *truth);

/** Frame added last. */
const trajectory_frame_t *motion_last(const motion_t *motion);

/** Compare the trajectory with ground truth. Call it once, after the last frame. */
void motion_finish(motion_t *motion);

/** Print the lines of the summary. */
void motion_print(const motion_t *motion);

/** Names of vfront_motion_state_t and of a bit of vfront_motion_t.flags; "?" for any other number. */
const char *motion_state_name(uint32_t state);
const char *motion_flag_name(uint32_t flag);

#endif
