/* SPDX-License-Identifier: MIT
 *
 * Parts of calibration files (calibration.h), shared by its files: calibration_yaml.c reads Kalibr's, EuRoC's, ROS's
 * and OpenCV's, calibration_vins.c VINS's and Basalt's, calibration_kitti.c KITTI's.
 *
 * A function that can fail returns NULL, or a one-line message, valid until the next call. It may leave the rig
 * partly written.
 */
#ifndef CALIBRATION_INTERNAL_H
#define CALIBRATION_INTERNAL_H

#include "calibration.h"
#include "picture.h"
#include "examples/common/text.h"

enum calibration_kind { KITTI, KALIBR, KALIBR_IMU, EUROC_CAMERA, EUROC_IMU, OPENCV, OTHER };

/** Format the message of a failed function. */
__attribute__((format(printf, 1, 2))) const char *calibration_fail(const char *format, ...);

/** Set the intrinsics. Returns 0 if a focal length is not above 0, which would mean uncalibrated. */
int calibration_set_lens(vfront_camera_t *c, const double fx_fy_cx_cy[4]);

/** Read a Kalibr camchain. */
const char *calibration_read_chain(vfront_rig_t *rig, const char *path);

/** Read EuRoC's sensor.yaml of each camera (NULL: none) and of the IMU (or NULL). */
const char *calibration_read_sensors(vfront_rig_t *rig, const char *const *camera, const char *imu);

/** Read ROS's camera_info and OpenCV's files, `count` of them. */
const char *calibration_read_opencv(vfront_rig_t *rig, char *const *path, int count);

/** Read settings of VINS-Mono or VINS-Fusion, or Basalt's calibration.json. */
const char *calibration_read_other(vfront_rig_t *rig, const char *path);

/** Recognise a YAML file. */
const char *calibration_yaml_kind(enum calibration_kind *kind, const char *path);

/** Read a KITTI calib.txt. */
const char *calibration_read_projections(vfront_rig_t *rig, const char *path);

/** Number of the camera whose projection matrix a line of calib.txt holds; -1: another line. */
int32_t calibration_projection_of(const char *line);

#endif
