/* SPDX-License-Identifier: MIT
 *
 * Ground truth: where a sensor was, from files of these kinds, found out by looking at the first line:
 *   KITTI   12 numbers a line, a pose a frame: the rows of [R | t], sensor to world
 *   TUM     8 numbers a line: t [s], place x y z [m], quaternion x y z w, sensor to world
 *   EuRoC   numbers with commas between, 8 or more a line: t [ns], place x y z [m], quaternion w x y z, sensor to world
 * Empty lines and those that begin with # are skipped.
 *
 * A function that can fail returns NULL, or one line that says what went wrong and with which file; the line is valid until the next call.
 */
#ifndef TRUTH_H
#define TRUTH_H

#include <stdint.h>

#include "pose.h"

#define TRUTH_APART_NS 1000000u /* a pose so near in time is that of the frame */
#define TRUTH_GAP_NS 200000000u /* poses farther apart have nothing known between them */

/** A pose and its time, 0 where the file has none. */
typedef struct truth_pose {
    uint64_t t_ns;
    pose_t pose; /**< T_world_sensor. */
} truth_pose_t;

/** What a file is: pose i of KITTI's is that of frame i, the others go by time; EuRoC's sensor is not a camera. */
typedef enum truth_kind { TRUTH_KITTI, TRUTH_TUM, TRUTH_EUROC } truth_kind_t;

/** What a file holds. Zero it before truth_read(). */
typedef struct truth {
    truth_kind_t kind;
    uint32_t count, room;
    truth_pose_t *pose; /**< By rising time. */
} truth_t;

const char *truth_read(truth_t *truth, const char *path);
void truth_free(truth_t *truth);

/** The pose of a frame, between the two around its time where the file has times. Returns 0 where it is not known: the frame lies outside
 *  of what is there, or in a gap of it. */
int truth_at(const truth_t *truth, uint32_t frame, uint64_t t_ns, pose_t *pose);

#endif
