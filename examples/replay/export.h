/* SPDX-License-Identifier: MIT
 *
 * A run as an MCAP file with messages of ROS 2, which Foxglove and Rerun show and replay reads again:
 *
 *   | topic                | schema                         | content                                              |
 *   |----------------------|--------------------------------|------------------------------------------------------|
 *   | /camera0/image, ...  | sensor_msgs/CompressedImage    | pictures as given, 8-bit grey, as PNG;               |
 *   |                      |                                | sensor_msgs/Image in a build without libpng          |
 *   | /camera0/camera_info | sensor_msgs/CameraInfo         | lens of a calibrated camera                          |
 *   | /imu                 | sensor_msgs/Imu                | samples as given                                     |
 *   | /tf_static           | tf2_msgs/TFMessage             | imu to camera0, camera1; camera0 to obstacles        |
 *   | /tf                  | tf2_msgs/TFMessage             | odom to imu; world to imu without a state of the IMU |
 *   | /odometry            | nav_msgs/Odometry              | state of the IMU with covariances                    |
 *   | /path                | nav_msgs/Path                  | poses so far, at most 1,000, every tenth frame       |
 *   | /camera0/tracks      | foxglove_msgs/ImageAnnotations | tracks, green to red by age                          |
 *   | /points              | sensor_msgs/PointCloud2        | key points with depth, axes of camera0               |
 *   | /obstacles           | sensor_msgs/LaserScan          | distances of obstacles, where the build has them     |
 *   | /log                 | rcl_interfaces/Log             | faults, refused frames                               |
 *   | /state, /health      | JSON: vfront.State, .Health    | numbers to plot: biases, sigmas, quality, times      |
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
