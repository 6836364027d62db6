/* SPDX-License-Identifier: MIT */
/* Priors of an IMU: how far off it is before anything is measured, as standard deviations, and how its errors are
 * averaged. */
#ifndef VF_IMU_PRIOR_H
#define VF_IMU_PRIOR_H

/** Bias of the gyro about each axis, 5 deg/s: zero-rate offset of consumer gyros [rad/s]. */
#define VF_IMU_GYRO_BIAS_RAD_S 0.1
/** Bias of the accelerometer along each axis [m/s^2]. */
#define VF_IMU_ACCEL_BIAS_M_S2 0.2
/** Offset between the clocks of camera and IMU [s]. */
#define VF_IMU_OFFSET_S 0.01
/** Scale, misalignment and mounting: error of a turn or a way, relative to it. */
#define VF_IMU_SCALE 0.015

/** Errors of a gyro beside its bias, and of the camera's stamps. S: its rates are true after multiplication by I + S,
 *  IMU axes; variance: of each element of S; stamp_s2: variance of a stamp [s^2]. */
struct vf_imu_scale {
    double S[9], variance, stamp_s2;
};

/** Random walk of these errors in 1 s, relative to their priors; by temperature. */
#define VF_IMU_WALK 0.01

/** Error of a rotation by samples besides bias and stated noise, about each axis of a frame [rad]. */
#define VF_IMU_TURN_RAD 5e-4

/** Length of running means of the samples' errors [frames]. */
#define VF_IMU_MEAN_FRAMES 64

/** Change of mean angular rate and mean specific force without motion, besides noise [rad/s], [m/s^2]. */
#define VF_STATIONARY_RAD_S 0.002
#define VF_STATIONARY_M_S2 0.02

#endif
