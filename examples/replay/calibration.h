/* SPDX-License-Identifier: MIT
 *
 * Calibration files into a rig: intrinsics, lens model, distortion and extrinsics of each camera. T_a_b is the 4x4
 * matrix that takes points of b to a: p_a = T_a_b p_b. Direction of the extrinsics of each kind of file:
 *   Kalibr camchain    T_cam_imu takes points of the IMU to the camera, as in the rig; T_cn_cnm1 those of the
 *                      previous camera to this one. Without T_cam_imu camera 0 has the pose of the IMU. T_imu_cam,
 *                      which OpenVINS writes instead of T_cam_imu, is its inverse. timeshift_cam_imu of cam0
 *                      is imu_offset_ns of the rig; line_delay of a camera, in seconds, row_us
 *   EuRoC sensor.yaml  T_BS takes points of the sensor to the body, so T_cam_imu = (T_BS of the camera)^-1 (T_BS of
 *   the IMU). KITTI calib.txt    P1 = K [I | t] takes points of camera 0 to pixels of camera 1, so that t takes
 *                      points of camera 0 to camera 1: t_x = P1[3] / fx [m], below 0 for a camera to the right.
 *   ROS camera_info    rectification_matrix and projection_matrix of both cameras put both into rectified axes
 *   OpenCV             R, T take points of camera 0 to camera 1
 *   VINS               body_T_cam0 and extrinsicRotation take points of the camera to the IMU; td is imu_offset_ns
 *   Basalt             T_imu_cam takes points of the camera to the IMU; cam_time_offset_ns is imu_offset_ns
 * Camera 0 has the pose of the IMU. Numbers are read in double precision, without conversion. YAML is read by
 * libyaml: a build without it reads calib.txt only.
 *
 * On entry `cameras` is the number of cameras wanted; a file may have more. width_px and height_px are those of the
 * pictures, with which the file must agree, or 0, to be taken from the file. All of a camera but the mask is set, and
 * `imu` and imu_offset_ns, to 0 where the files have nothing about them.
 * R_cam_imu of camera 0 stays all 0 if the file has no IMU: that means identity, but gyro samples are unusable with
 * it.
 *
 * A function that can fail returns NULL, or a one-line message that names the file; the message is valid until the
 * next call. The rig is then unchanged.
 */
#ifndef CALIBRATION_H
#define CALIBRATION_H

#include "vfront.h"
#include "examples/common/pose.h"

/** Kalibr's camchain.yaml or camchain-imucam.yaml: pinhole cameras with the distortion radtan, equidistant or none. */
const char *calibration_kalibr(vfront_rig_t *rig, const char *path);

/**
 * EuRoC's sensor.yaml, one of each sensor: pinhole cameras with the distortion radial-tangential, equidistant or none.
 * @param[in] camera  One file name for each camera of the rig; NULL: that camera stays uncalibrated.
 * @param[in] imu     NULL: the IMU frame is the body frame.
 */
const char *calibration_euroc(vfront_rig_t *rig, const char *const *camera, const char *imu);

/**
 * Errors of an IMU: Kalibr's imu.yaml, or EuRoC's sensor.yaml of an IMU, which calibration_euroc() reads as well.
 * Samples are saturated at what a sample may have at most, and gravity is 9.81 m/s^2: the files have neither.
 * @param[out] noise  All 0 if the file has no noise density and no random walk; one that lacks some of them, or the
 *                    rate, is faulty.
 */
const char *calibration_imu(vfront_imu_noise_t *noise, const char *path);

/** Pose of the IMU on the vehicle: T_body_imu, 4x4, in the section `body` of a YAML file; body axes are x forward, y
 *  right, z down. */
const char *calibration_mount(pose_t *T_body_imu, const char *path);

/** Places the IMU of a rig read by calibration_kitti(): T_cam0_imu.txt, the four rows of T_cam_imu of camera 0. */
const char *calibration_kitti_imu(vfront_rig_t *rig, const char *path);

/** Pose of an EuRoC sensor on the body: T_BS of any sensor.yaml. */
const char *calibration_sensor(pose_t *T_body_sensor, const char *path);

#define CALIBRATION_COEFFICIENTS 14

/* ROS's camera_info and OpenCV, of a file or of a message. These return NULL, or what is wrong, without a file name. */

/** distortion_model of a lens. */
const char *calibration_ros_model(vfront_lens_t lens);

/** Lens by matrix and coefficients: a model by name (ROS), or NULL: by their number (OpenCV). */
const char *calibration_set_opencv(vfront_camera_t *c, const char *model, const double K[9], const double *k,
                                   int count);

/** From camera axes to rectified ones: R is set; t, where the rectified camera is on the line of both, by P. */
const char *calibration_set_rectified(pose_t *T_rect_cam, const double P[12]);

/** T_cam1_cam0 of two cameras that share rectified axes. */
pose_t calibration_step(const pose_t T_rect_cam[2]);

/** Set T_cam_imu of a camera. */
void calibration_set_extrinsics(vfront_camera_t *camera, const pose_t *T_cam_imu);

/** T_cam_imu of a camera of a rig; an all-0 R_cam_imu is the identity. */
pose_t calibration_extrinsics(const vfront_camera_t *camera);

/** KITTI's calib.txt: P0, and P1 for a second camera. All other lines are skipped. */
const char *calibration_kitti(vfront_rig_t *rig, const char *path);

/**
 * Recognise a file of any of these kinds by its content, and read it.
 * @param[in] files  A file name, or names of sensor.yaml, ROS's or OpenCV's files with commas between: camera 0, camera
 *                   1, and the IMU
 *                   anywhere among them. Further cameras stay uncalibrated. Kalibr's imu.yaml can be beside any.
 *                   "none": no calibration.
 */
const char *calibration_read(vfront_rig_t *rig, const char *files);

/** 1 if `files` is one Kalibr imu.yaml: noise alone, for calibration_imu(). */
int calibration_is_noise(const char *files);

/** 1 if this build reads YAML. */
int calibration_reads_yaml(void);

/** Distance of camera 1 from camera 0 [m]; 0 without two calibrated cameras. */
double calibration_baseline_m(const vfront_rig_t *rig);

#endif
