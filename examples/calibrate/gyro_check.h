/* SPDX-License-Identifier: MIT
 *
 * Check of camera 0 with the gyro: the rotations that the pictures show beside those of the samples. Fitted are the
 * rotation from IMU to camera, the time offset, the scale (which is that of the focal length, or the unit of the rates)
 * and the gyro's bias.
 */
#ifndef GYRO_CHECK_H
#define GYRO_CHECK_H

#include "finding.h"
#include "gather.h"

#define GYRO_OFFSET_MOST_S 0.25 /* offsets that are searched: as much to both sides */
#define GYRO_CURVE 201

/** Attitude of the IMU by its gyro, and what the pictures added to it. */
typedef struct gyro_fit {
    int solved;
    double R_cam_imu[9];          /* as the recording shows it */
    double offset_s;              /* to be added to imu_offset_ns [s] */
    double curve_rad[GYRO_CURVE]; /* median difference of the rotations at offsets from -most to most; NAN: none */
    double bias_rad_s[3];         /* sample - truth, IMU axes */
    double unit;                  /* rates of the samples times this are in rad/s: 1, or pi / 180 */
    double *attitude;             /* [samples][9]: R_start_imu at each sample, of the rates less the bias */
} gyro_fit_t;

/** Offset of a point of the curve [s]. */
double gyro_curve_s(int i);

/** Adds findings; fills `fit`, whose attitude is the caller's to free. */
void gyro_check(findings_t *all, const gathered_t *data, gyro_fit_t *fit);

/** Attitude at a time of the IMU's clock [ns]. Returns 0 outside the samples. */
int gyro_attitude(const gathered_t *data, const gyro_fit_t *fit, double t_ns, double R[9]);

#endif
