/* SPDX-License-Identifier: MIT */
/* Initial state from two cameras alone, where there are no IMU samples.
 *
 * In      metric motion of camera 0 since the previous frame; mounting of camera 0
 * Out     velocity and angular rate of the IMU; from these, at the next frame, a state with covariance
 * Rule    pose: origin of the odometry frame, with standard deviation VF_START_GAUGE_SIGMA; z is the image's up
 *         direction (-y of camera 0), because the vertical is unknown. Velocity: measured by the motion, constant while
 *         the IMU turns on at the measured rate. Velocity covariance: that of the motion plus the random walk of
 *         velocity and rate from the middle of the interval to the next frame (vision_only.h). Biases: 0 with standard
 *         deviations VF_START_GYRO_BIAS_RAD_S and VF_START_ACCEL_BIAS_M_S2.
 * Exact   double precision in one order, on the host
 */
#ifndef VF_FROM_STEREO_H
#define VF_FROM_STEREO_H

#include "guess.h"
#include "vio/vision_only.h"

/** Measured motion of the IMU at a frame, in IMU axes at that frame; dt_s 0: no measurement. */
struct vf_from_stereo_motion {
    double dt_s;                     /* duration of the measurement [s] */
    double velocity_mps[3], rate[3]; /* velocity [m/s]; angular rate [rad/s] */
    double P[9];                     /* covariance of the measured velocity, row-major [m^2/s^2] */
};

/** Computes velocity and angular rate of the IMU from a metric camera motion over dt_s [s]; no measurement if the
 *  motion is not good. */
VF_FN void vf_from_stereo_measure(struct vf_from_stereo_motion *m, const struct vf_vio_rig *rig,
                                  const vfront_motion_t *metric, double dt_s)
{
    const double *C = rig->R_imu_cam;
    double R[9], t[3], S[9], T[9], q[4], w[3], before[3], lever[3];
    memset(m, 0, sizeof *m);
    if (metric->state != VFRONT_MOTION_GOOD || (metric->flags & VFRONT_MOTION_LATE) || !(dt_s > 0.0)) return;
    for (int k = 0; k < 9; k++) R[k] = (double)metric->R[k];
    for (int k = 0; k < 3; k++) t[k] = (double)metric->t[k];
    for (int r = 0, at = 0; r < 6; r++)
        for (int c = r; c < 6; c++, at++)
            if (c < 3) S[3 * r + c] = S[3 * c + r] = (double)metric->covariance[at] / (dt_s * dt_s);
    m->dt_s = dt_s;
    vf_quaternion_of_matrix(R, q);
    vf_quaternion_logarithm(q, w);
    vf_transform_double(C, w, m->rate);
    vf_transform_double(C, t, m->velocity_mps);
    /* lever arm from IMU to camera at the previous frame: in its camera axes, in current camera axes, in current IMU
     * axes */
    vf_transform_transposed(C, rig->p_imu_cam_m, lever);
    vf_transform_double(R, lever, before);
    vf_transform_double(C, before, lever);
    for (int k = 0; k < 3; k++) {
        m->rate[k] /= -dt_s;
        m->velocity_mps[k] = (lever[k] - rig->p_imu_cam_m[k] - m->velocity_mps[k]) / dt_s;
    }
    vf_relative_product(C, S, T);
    for (int k = 0; k < 9; k++) R[k] = C[k % 3 * 3 + k / 3];
    vf_relative_product(T, R, m->P);
}

/** Computes the attitude whose vertical axis z is the up direction of the image. */
VF_FN void vf_from_stereo_attitude(const struct vf_vio_rig *rig, double q[4])
{
    const double up[3] = {-rig->R_imu_cam[1], -rig->R_imu_cam[4], -rig->R_imu_cam[7]};
    vf_start_align_up(up, q);
}

/** Computes the state at attitude q, dt_s after the frame of the measurement m [s]. */
VF_FN void vf_from_stereo_state(const struct vf_from_stereo_motion *m, const double q[4], double dt_s,
                                vfront_nav_t *first)
{
    const double late = 0.5 * m->dt_s + dt_s; /* time since the middle of the measured interval [s] */
    double R[9], T[9], S[9], P[9], v[3], turn[3], back[4], U[9];
    for (int k = 0; k < 3; k++) turn[k] = -m->rate[k] * dt_s;
    memset(first, 0, sizeof *first);
    memcpy(first->q_odom_imu, q, sizeof first->q_odom_imu);
    vf_start_clamped_rotation(turn, back);
    vf_quaternion_matrix(back, U);
    vf_transform_double(U, m->velocity_mps, v);
    vf_quaternion_matrix(q, R);
    vf_transform_double(R, v, first->velocity_mps);
    const double square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) /* product of cross-product matrices: [v] [v]' = v.v 1 - v v' */
            S[3 * r + c] = m->P[3 * r + c] - VF_VISION_ONLY_RATE * late * v[r] * v[c] +
                           (r == c ? VF_VISION_ONLY_ACCEL * late + VF_VISION_ONLY_RATE * late * square : 0.0);
    for (int k = 0; k < 9; k++) T[k] = R[k % 3 * 3 + k / 3];
    vf_relative_product(R, S, P);
    vf_relative_product(P, T, S);
    for (int r = 0; r < 3; r++)
        for (int c = r; c < 3; c++) first->covariance[vf_nav_index(VF_NAV_V + r, VF_NAV_V + c)] = S[3 * r + c];
    for (int k = 0; k < VF_NAV_ERRORS; k++) {
        const double sigma = k < VF_NAV_V       ? VF_START_GAUGE_SIGMA
                             : k < VF_NAV_ACCEL ? VF_START_GYRO_BIAS_RAD_S
                                                : VF_START_ACCEL_BIAS_M_S2;
        if (k < VF_NAV_V || k >= VF_NAV_GYRO) first->covariance[vf_nav_index(k, k)] = sigma * sigma;
    }
}

#endif
