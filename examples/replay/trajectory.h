/* SPDX-License-Identifier: MIT
 *
 * Trajectory of a camera, chained from its frame-to-frame motions, with ground truth if available. Poses are camera
 * to world; the world is the camera of the first frame. One camera has no metric scale: its steps take their lengths
 * from ground truth, in gaps of it from the step before, and without ground truth each is 1.
 */
#ifndef TRAJECTORY_H
#define TRAJECTORY_H

#include <stdint.h>
#include <stdio.h>

#include "examples/common/pose.h"

/** Known part of the step to a frame: nothing, taken as standstill; the rotation, without a translation; all. */
typedef enum trajectory_step {
    TRAJECTORY_UNKNOWN,
    TRAJECTORY_ROTATION_ONLY,
    TRAJECTORY_FULL,
    TRAJECTORY_STEPS
} trajectory_step_t;

/** Frame of a trajectory. */
typedef struct trajectory_frame {
    uint64_t t_ns;
    trajectory_step_t step; /**< Step to this frame; TRAJECTORY_FULL in the first. */
    int has_truth;          /**< 1 if `truth` is set. */
    pose_t pose, truth;     /**< T_world_cam. */
    double bound_m;         /**< Three deviations of `state`; 0: it is not set. */
    pose_t state;           /**< The camera by the state of the IMU (state_put_on_path()). */
} trajectory_frame_t;

/** Zero it, except `metric` and `step_m`, before the first frame. */
typedef struct trajectory {
    int metric; /**< 1: motions are in metres; 0: only their directions count. */
    uint32_t count, capacity;
    trajectory_frame_t *frame;
    uint32_t steps[TRAJECTORY_STEPS];
    double length_m; /**< Without ground truth and metric scale in steps. */
    /** Length of the last step of ground truth. Before the first frame: 0, or 1 without ground truth. */
    double step_m;
    pose_t T_world_truth; /**< From the world of ground truth; both coincide in the first frame with ground truth. */
    int aligned;          /**< 1 after that frame. */
} trajectory_t;

/**
 * Add a frame.
 * @param[in] R      Motion since the previous frame, p_now = R p_before + t; NULL: unknown. Ignored in the first frame.
 * @param[in] t      NULL: only the rotation is known.
 * @param[in] truth  Ground truth pose of the camera in any world; NULL: unknown.
 * @return 0 without memory.
 */
int trajectory_add(trajectory_t *trajectory, uint64_t t_ns, const float R[9], const float t[3], const pose_t *truth);
void trajectory_free(trajectory_t *trajectory);

/** Line in the format of the TUM RGB-D benchmark: t [s], position, quaternion x y z w, camera to world. */
void trajectory_write_tum(FILE *file, uint64_t t_ns, const pose_t *pose);

/** Line in the format of KITTI's odometry benchmark: the rows of [R | t], camera to world. */
void trajectory_write_kitti(FILE *file, const pose_t *pose);

#endif
