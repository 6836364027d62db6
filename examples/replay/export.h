/* SPDX-License-Identifier: MIT
 *
 * A run as an MCAP file that Foxglove shows without further work:
 *
 *   | topic            | schema                      | content                                                        |
 *   |------------------|-----------------------------|----------------------------------------------------------------|
 *   | /camera0/image.. | foxglove.RawImage           | pictures as vfront was given them, 8-bit grey                  |
 *   | /camera0/tracks  | foxglove.ImageAnnotations   | tracks, green to red by age                                    |
 *   | /tf              | foxglove.FrameTransform     | odom to body, or world to camera0 without a state of the IMU   |
 *   | /path            | foxglove.PosesInFrame       | poses so far, at most 1,000, every tenth frame                 |
 *   | /state           | vfront.State                | position, velocity, attitude, biases, sigmas, quality          |
 *   | /health          | vfront.Health               | state, quality, counters, times                                |
 *   | /obstacles       | foxglove.LaserScan          | distances of obstacles, where the build has them               |
 *   | /log             | foxglove.Log                | faults, refused frames                                         |
 */
#ifndef EXPORT_H
#define EXPORT_H

#include "vfront.h"
#include "examples/common/pose.h"

typedef struct exported exported_t;

/** Create the file. Returns NULL, or a message that names it. */
const char *export_open(exported_t **out, const char *path, const vfront_rig_t *rig);

/** A frame that was taken, and its pose: of the IMU in the odometry frame where is_state is 1, else of camera 0; NULL:
 *  none. */
void export_frame(exported_t *e, const vfront_frame_t *frame, const vfront_result_t *result, const pose_t *pose,
                  int is_state);

/** A line of the log at a time; is_error: 1 for an error, else a warning. NULL is ignored. */
void export_log(exported_t *e, uint64_t t_ns, int is_error, const char *text);

/** NULL is ignored. Returns NULL, or a message. */
const char *export_close(exported_t *e);

#endif
