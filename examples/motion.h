/* SPDX-License-Identifier: MIT
 *
 * What replay makes of the motions of a run: the path of camera 0, how many motions of each state there were, and the lines of the summary.
 * A path is metric where two cameras measure distances. A step of which no motion is good keeps what is known of it: the rotation, from the
 * other motion where need be, or that the camera stands still.
 */
#ifndef MOTION_H
#define MOTION_H

#include "vfront.h"
#include "accuracy.h"
#include "trajectory.h"

enum { MOTION_RELATIVE, MOTION_METRIC, MOTION_KINDS };
#define MOTION_STATES 5

/** Zero it before motion_start(). */
typedef struct motion {
    trajectory_t trajectory;
    uint32_t state[MOTION_KINDS][MOTION_STATES];       /**< Frames by state. */
    uint32_t inliers[MOTION_KINDS][VFRONT_SIGHTS + 1]; /**< Good ones by the number of their inliers. */
    accuracy_t accuracy;                               /**< After motion_finish(). */
    int compared;                                      /**< Whether there is anything in it. */
} motion_t;

/** @param[in] metric, has_truth  Whether metric motions and ground truth are to be had. */
void motion_start(motion_t *motion, int metric, int has_truth);

/**
 * Takes a frame in.
 * @param[in] truth  Pose of camera 0 as the results see it, or NULL.
 * @return 0: no memory.
 */
int motion_take(motion_t *motion, const vfront_result_t *result, const pose_t *truth);

/** The frame taken last. */
const trajectory_frame_t *motion_last(const motion_t *motion);

/** Compares the path with ground truth. Call it once, after the last frame. */
void motion_finish(motion_t *motion);

/** Lines of the summary. */
void motion_print(const motion_t *motion);

/** Words for vfront_motion_state_t and for a bit of vfront_motion_t.flags; "?" for any other number. */
const char *motion_state_name(uint32_t state);
const char *motion_flag_name(uint32_t flag);

#endif
