/* SPDX-License-Identifier: MIT
 *
 * The path of a camera, put together from its motions from frame to frame, beside ground truth where that is known. Poses are camera to
 * world, and the world is where the camera was in the first frame. One camera does not see how far it moves: such a path takes the length
 * of each step from ground truth, where there is a gap that of the step before, and without ground truth it is 1 a step.
 */
#ifndef TRAJECTORY_H
#define TRAJECTORY_H

#include <stdint.h>
#include <stdio.h>

#include "pose.h"

/** What is known of the step to a frame: nothing, so that the camera counts as at rest; its rotation, without a place; all. */
typedef enum trajectory_step {
    TRAJECTORY_HELD,
    TRAJECTORY_TURNED,
    TRAJECTORY_MOVED,
    TRAJECTORY_STEPS
} trajectory_step_t;

/** A frame of it. */
typedef struct trajectory_frame {
    uint64_t t_ns;
    trajectory_step_t step; /**< To it. TRAJECTORY_MOVED in the first. */
    int known;              /**< Whether there is ground truth. */
    pose_t pose, truth;     /**< T_world_cam. */
} trajectory_frame_t;

/** Zero it, but for `metric` and `step_m`, before the first frame. */
typedef struct trajectory {
    int metric; /**< 1: motions are in metres; 0: only their directions count. */
    uint32_t count, room;
    trajectory_frame_t *frame;
    uint32_t steps[TRAJECTORY_STEPS];
    double way_m; /**< Sum of the steps' lengths; without ground truth and metric a number of steps. */
    double
        step_m; /**< Length of the last step of ground truth. Before the first frame: 0, or 1 where there will be none. */
    pose_t
        T_world_truth; /**< Takes what `truth` was given in to the world: they meet in the first frame that has both. */
    int met;           /**< Whether there was such a frame. */
} trajectory_t;

/**
 * Adds a frame.
 * @param[in] R      Takes axes of the camera in the frame before to those now, p_now = R p_before + t; NULL: nothing is known. Ignored in
 *                   the first frame.
 * @param[in] t      NULL: only the rotation is known.
 * @param[in] truth  Pose of the same camera in any world; NULL: not known.
 * @return 0: no memory.
 */
int trajectory_add(trajectory_t *trajectory, uint64_t t_ns, const float R[9], const float t[3], const pose_t *truth);
void trajectory_free(trajectory_t *trajectory);

/** A line of a file of the TUM RGB-D benchmark: t [s], place, quaternion x y z w, camera to world. */
void trajectory_write_tum(FILE *file, uint64_t t_ns, const pose_t *pose);

/** A line of a file of KITTI's odometry benchmark: the rows of [R | t], camera to world. */
void trajectory_write_kitti(FILE *file, const pose_t *pose);

#endif
