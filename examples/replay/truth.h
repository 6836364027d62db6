/* SPDX-License-Identifier: MIT
 *
 * Ground truth poses of a sensor, from files of these kinds, recognised by the first line:
 *   KITTI   12 numbers per line, one line per frame: the rows of [R | t], sensor to world
 *   TUM     8 numbers per line: t [s], position x y z [m], quaternion x y z w, sensor to world
 *   EuRoC   8 or more numbers per line, separated by commas: t [ns], position x y z [m], quaternion w x y z, sensor
 *           to world; behind these velocity x y z [m/s], or nothing. z is up
 * Empty lines and those that begin with # are skipped.
 *
 * A function that can fail returns NULL, or a one-line message that names the file; the message is valid until the
 * next call.
 */
#ifndef TRUTH_H
#define TRUTH_H

#include <stdint.h>

#include "examples/common/pose.h"

#define TRUTH_APART_NS 1000000u /* a pose up to so far in time is taken for the frame */
#define TRUTH_GAP_NS 200000000u /* no interpolation between poses farther apart */

/** Pose and its time, 0 for KITTI. */
typedef struct truth_pose {
    uint64_t t_ns;
    pose_t pose;            /**< T_world_sensor. */
    double velocity_mps[3]; /**< Of the sensor, in axes of the world; 0 where the line has none. */
    int has_velocity;
} truth_pose_t;

/** Kind of file. Pose i of KITTI is that of frame i, the others have times; the sensor of EuRoC is not a camera. */
typedef enum truth_kind { TRUTH_KITTI, TRUTH_TUM, TRUTH_EUROC } truth_kind_t;

/** Content of a file. Zero it before truth_read(). */
typedef struct truth {
    truth_kind_t kind;
    uint32_t count, capacity;
    truth_pose_t *pose; /**< In the order of time. */
} truth_t;

const char *truth_read(truth_t *truth, const char *path);
void truth_free(truth_t *truth);

/** Pose of a frame, interpolated if the file has times. Returns 0 if the frame lies outside of the file's times or
 *  in a gap of them. */
int truth_at(const truth_t *truth, uint32_t frame, uint64_t t_ns, pose_t *pose);

/** Velocity of the sensor, likewise. Returns 0 also where the file has none. */
int truth_velocity_at(const truth_t *truth, uint64_t t_ns, double velocity_mps[3]);

#endif
