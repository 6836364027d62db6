/* SPDX-License-Identifier: MIT
 *
 * Reads what cameras are from the files that calibration tools write, into a rig: intrinsics, lens, distortion and where each
 * camera sits. T_a_b is the 4x4 matrix that takes points of b to a: p_a = T_a_b p_b. Which way each file's extrinsic points:
 *   Kalibr camchain    T_cam_imu takes points of the IMU to the camera, as the rig has it; T_cn_cnm1 those of the camera before
 *                      to this one. Without T_cam_imu camera 0 is in the IMU's place. T_imu_cam, which OpenVINS writes instead
 *                      of T_cam_imu, is its inverse. timeshift_cam_imu is not read.
 *   EuRoC sensor.yaml  T_BS takes points of the sensor to the body, so T_cam_imu = (T_BS of the camera)^-1 (T_BS of the IMU).
 *   KITTI calib.txt    P1 = K [I | t] takes points of camera 0 to pixels of camera 1, so that t takes points of camera 0 to
 *                      camera 1: t_x = P1[3] / fx [m], below 0 for a camera to the right. Camera 0 is in the IMU's place.
 * All numbers are taken as they stand, in double precision. YAML is read by libyaml: a build without it reads calib.txt only.
 *
 * On entry `cameras` says how many cameras are wanted; a file may have more. width_px and height_px are those of the pictures,
 * which the file must agree with, or 0, to be taken from the file. Of each camera everything but the mask is set. R_cam_imu of camera 0
 * is left all 0 where the file says nothing about an IMU: that means identity, but gyro readings are of no use with it.
 *
 * A function that can fail returns NULL, or one line that says what went wrong and with which file; the line is valid until
 * the next call. The rig is then as it was.
 */
#ifndef CALIBRATION_H
#define CALIBRATION_H

#include "vfront.h"
#include "pose.h"

/** Kalibr's camchain.yaml or camchain-imucam.yaml: pinhole cameras with the distortion radtan, equidistant or none. */
const char *calibration_kalibr(vfront_rig_t *rig, const char *path);

/**
 * EuRoC's sensor.yaml, one of each sensor: pinhole cameras with the distortion radial-tangential, equidistant or none.
 * @param[in] camera  As many names as the rig has cameras; NULL: that camera stays uncalibrated.
 * @param[in] imu     NULL: the IMU is the body.
 */
const char *calibration_euroc(vfront_rig_t *rig, const char *const *camera, const char *imu);

/** Where a sensor of EuRoC sits: the T_BS of any sensor.yaml. */
const char *calibration_sensor(pose_t *T_body_sensor, const char *path);

/** Where a camera of a rig sits, which counts as in the IMU's place where R_cam_imu is all 0. */
pose_t calibration_place(const vfront_camera_t *camera);

/** KITTI's calib.txt: P0, and P1 for a second camera. All other lines are skipped. */
const char *calibration_kitti(vfront_rig_t *rig, const char *path);

/**
 * Finds out by looking which of these a file is, and reads it.
 * @param[in] files  A name, or names of sensor.yaml with commas between: camera 0, camera 1, and the IMU anywhere among them.
 *                   Cameras beyond those named stay uncalibrated. "none": so do all.
 */
const char *calibration_read(vfront_rig_t *rig, const char *files);

/** Whether this build reads YAML. */
int calibration_reads_yaml(void);

/** Distance of camera 1 from camera 0 [m]; 0 where there are not two calibrated cameras. */
double calibration_baseline_m(const vfront_rig_t *rig);

#endif
