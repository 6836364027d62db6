/* SPDX-License-Identifier: MIT */
/* First state by two cameras alone, where there are no readings of an IMU.
 *
 * In      metric motion of camera 0 since the frame before; mounting of camera 0
 * Out     velocity and rate of the IMU; from them, at the next frame, a state with its covariance
 * Rule    the pose of that frame is where the odometry frame is put, up to deviations of VF_START_HELD: nothing says
 *         which way is up, and z is the up of camera 0's picture, its -y. The velocity is that of the motion, turned on
 *         by its rate. Its deviation has that of the motion, and what velocity and rate change by from the middle of
 *         the interval to the next frame (window_unread.h). Biases are those of VF_START_GYRO_RAD_S and
 *         VF_START_ACCEL_M_S2, and nothing tells more of them
 * Exact   double precision in one order, on the host
 */
#ifndef VF_START_STEREO_H
#define VF_START_STEREO_H

#include "start_guess.h"
#include "window_unread.h"

/** Motion of the IMU at a frame, in its axes then. dt_s 0: none. */
struct vf_stereo_motion {
    double dt_s; /* over which it was measured */
    double velocity_mps[3], rate[3];
    double P[9]; /* covariance of the velocity, of the motion alone, row-major */
};

/** Motion from a metric one over dt_s, or none where that is not good. */
VF_FN void vf_stereo_take(struct vf_stereo_motion *m, const struct vf_window_rig *rig, const vfront_motion_t *metric,
                          double dt_s)
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
    vf_window_quaternion(R, q);
    vf_window_logarithm(q, w);
    vf_transform_double(C, w, m->rate);
    vf_transform_double(C, t, m->velocity_mps);
    vf_transform_back(C, rig->p_imu_cam_m, lever); /* the IMU's arm, in axes of the camera: now, and before */
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

/** Attitude whose z is the up of camera 0's picture. */
VF_FN void vf_stereo_upright(const struct vf_window_rig *rig, double q[4])
{
    const double up[3] = {-rig->R_imu_cam[1], -rig->R_imu_cam[4], -rig->R_imu_cam[7]};
    vf_start_upright(up, q);
}

/** State dt_s later, in an attitude q. */
VF_FN void vf_stereo_first(const struct vf_stereo_motion *m, const double q[4], double dt_s, vfront_nav_t *first)
{
    const double late = 0.5 * m->dt_s + dt_s; /* since the middle of the interval */
    double R[9], T[9], S[9], P[9], v[3], turn[3], back[4], U[9];
    for (int k = 0; k < 3; k++) turn[k] = -m->rate[k] * dt_s;
    memset(first, 0, sizeof *first);
    memcpy(first->q_odom_imu, q, sizeof first->q_odom_imu);
    vf_start_turn(turn, back);
    vf_quaternion_matrix(back, U);
    vf_transform_double(U, m->velocity_mps, v);
    vf_quaternion_matrix(q, R);
    vf_transform_double(R, v, first->velocity_mps);
    const double square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) /* [v][v]' = v.v 1 - v v' */
            S[3 * r + c] = m->P[3 * r + c] - VF_UNREAD_RATE * late * v[r] * v[c] +
                           (r == c ? VF_UNREAD_ACCEL * late + VF_UNREAD_RATE * late * square : 0.0);
    for (int k = 0; k < 9; k++) T[k] = R[k % 3 * 3 + k / 3];
    vf_relative_product(R, S, P);
    vf_relative_product(P, T, S);
    for (int r = 0; r < 3; r++)
        for (int c = r; c < 3; c++) first->covariance[vf_nav_index(VF_NAV_V + r, VF_NAV_V + c)] = S[3 * r + c];
    for (int k = 0; k < VF_NAV_ERRORS; k++) {
        const double sigma = k < VF_NAV_V       ? VF_START_HELD
                             : k < VF_NAV_ACCEL ? VF_START_GYRO_RAD_S
                                                : VF_START_ACCEL_M_S2;
        if (k < VF_NAV_V || k >= VF_NAV_GYRO) first->covariance[vf_nav_index(k, k)] = sigma * sigma;
    }
}

#endif
