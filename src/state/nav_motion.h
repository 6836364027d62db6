/* SPDX-License-Identifier: MIT */
/* Motion of camera 0 since its last picture as the state and the readings say it, with its covariance: for predict.
 *
 * In      state of the frame that had the last picture; preintegrals since then, one a frame
 * Out     vfront_prediction_t
 * Rule    the state then and the one now, carried on by the readings, in one odometry frame. With errors e then and
 *         F e + n now, F the map of all preintegrals and n their noise, the motion's covariance is A P A' + B Q B',
 *         A = D_then + D_now F, B = D_now, D the derivatives of the motion by each state's errors. What both states
 *         have in common, as position and yaw, so cancels. The mounting counts with its deviation by calibration, and
 *         there are floors
 * Exact   double precision in one order, on the host for either port; single precision at the end
 * Cost    2 us on one core of a server
 */
#ifndef VF_NAV_MOTION_H
#define VF_NAV_MOTION_H

#include "window_state.h"

/** Deviation of a rotation by readings beyond their noise, about each axis: floor [rad], and part of its angle, by
 *  scale and axes of a gyro; of a translation, along each axis: floor [m], and part of its length. */
#define VF_NAV_TURN_RAD 5e-4
#define VF_NAV_TURN_PART 0.01
#define VF_NAV_SHIFT_M 5e-4
#define VF_NAV_SHIFT_PART 0.01

/** Way of the IMU since the last picture. */
struct vf_nav_way {
    uint32_t there; /* 0: there is none */
    uint32_t reserved;
    vfront_nav_t from; /* with its covariance */
    vfront_nav_t now;  /* carried on; its covariance is that of the noise since then alone */
    double F[VF_NAV_ERRORS * VF_NAV_ERRORS];
};

/** Way that begins at a state. */
VF_FN void vf_nav_way_begin(struct vf_nav_way *way, const vfront_nav_t *from)
{
    memset(way, 0, sizeof *way);
    way->there = 1;
    way->from = way->now = *from;
    memset(way->now.covariance, 0, sizeof way->now.covariance);
    for (int i = 0; i < VF_NAV_ERRORS; i++) way->F[i * (VF_NAV_ERRORS + 1)] = 1.0;
}

/** Way that goes on by a preintegral. */
VF_FN void vf_nav_way_on(struct vf_nav_way *way, const vfront_imu_noise_t *noise, const struct vf_preintegral *d)
{
    enum { N = VF_NAV_ERRORS };
    double R[9], v[3], p[3], F[N * N], before[N * N];
    vf_quaternion_matrix(way->now.q_odom_imu, R);
    vf_transform_double(R, d->v, v);
    vf_transform_double(R, d->p, p);
    vf_nav_map(F, d, R, v, p);
    memcpy(before, way->F, sizeof before);
    vf_nav_product(F, N, N, N, before, way->F);
    way->there = vf_nav_advance(&way->now, noise, d) != 0;
}

/** Pose of camera 0 of a state: axes of the odometry frame; where it is on the IMU in these. */
struct vf_nav_camera {
    double R[9], arm[3], p[3];
};

VF_FN void vf_nav_camera_of(const vfront_nav_t *nav, const struct vf_window_rig *rig, struct vf_nav_camera *c)
{
    double R[9];
    vf_quaternion_matrix(nav->q_odom_imu, R);
    vf_transform_double(R, rig->p_imu_cam_m, c->arm);
    for (int i = 0; i < 9; i++) {
        const double *a = &R[i / 3 * 3], *b = &rig->R_imu_cam[i % 3];
        c->R[i] = a[0] * b[0] + a[1] * b[3] + a[2] * b[6];
    }
    for (int k = 0; k < 3; k++) c->p[k] = nav->position_m[k] + c->arm[k];
}

/** Row of derivatives of the motion, 0..2 of its translation and 3..5 of its rotation, by position and attitude of the
 *  state then (before), or now. */
VF_FN void vf_nav_motion_row(const struct vf_nav_camera *then, const struct vf_nav_camera *now, int row, int before,
                             double out[6])
{
    const int axis = row % 3;
    const double u[3] = {now->R[axis], now->R[3 + axis], now->R[6 + axis]}; /* row of R_now' */
    const double sign = before ? 1.0 : -1.0;
    double lever[3], about[3];
    for (int k = 0; k < 3; k++) lever[k] = before ? then->arm[k] : now->arm[k] + then->p[k] - now->p[k];
    for (int k = 0; k < 3; k++) about[k] = lever[(k + 1) % 3] * u[(k + 2) % 3] - lever[(k + 2) % 3] * u[(k + 1) % 3];
    for (int k = 0; k < 3; k++) {
        out[k] = row < 3 ? sign * u[k] : 0.0;
        out[3 + k] = row < 3 ? sign * about[k] : sign * u[k];
    }
}

/** out += J P J', P the covariance of a state. J is 0 from its column `columns` on. */
VF_FN void vf_nav_motion_add(const double J[6][VF_NAV_ERRORS], int columns, const vfront_nav_t *nav, double out[6][6])
{
    double P[VF_NAV_ERRORS * VF_NAV_ERRORS], half[6 * VF_NAV_ERRORS];
    vf_nav_whole(nav->covariance, P);
    vf_nav_product(J[0], VF_NAV_ERRORS, 6, columns, P, half);
    for (int r = 0; r < 6; r++)
        for (int k = 0; k < columns; k++)
            for (int c = 0; c < 6; c++) out[r][c] += half[r * VF_NAV_ERRORS + k] * J[c][k];
}

/** Derivatives of the motion by errors of the mounting, in IMU axes: those of both attitudes, but not of the places. */
VF_FN void vf_nav_motion_mount(const struct vf_nav_way *way, const struct vf_nav_camera *then,
                               const struct vf_nav_camera *now, double J[6][3])
{
    double R[2][9];
    vf_quaternion_matrix(way->from.q_odom_imu, R[0]);
    vf_quaternion_matrix(way->now.q_odom_imu, R[1]);
    struct vf_nav_camera at[2] = {*then, *now};
    for (int k = 0; k < 3; k++) at[0].arm[k] = at[1].arm[k] = 0.0;
    for (int row = 0; row < 6; row++) {
        double by[2][6];
        vf_nav_motion_row(&at[0], &at[1], row, 1, by[0]);
        vf_nav_motion_row(&at[0], &at[1], row, 0, by[1]);
        for (int c = 0; c < 3; c++) {
            J[row][c] = 0.0;
            for (int k = 0; k < 3; k++) J[row][c] += by[0][3 + k] * R[0][3 * k + c] + by[1][3 + k] * R[1][3 * k + c];
        }
    }
}

/** Covariance of the motion. */
VF_FN void vf_nav_motion_covariance(const struct vf_nav_way *way, const struct vf_nav_camera *then,
                                    const struct vf_nav_camera *now, double out[6][6])
{
    enum { N = VF_NAV_ERRORS };
    double A[6][N], B[6][N], mount[6][3];
    memset(out, 0, 36 * sizeof(double));
    memset(B, 0, sizeof B);
    for (int row = 0; row < 6; row++) {
        double by[6];
        vf_nav_motion_row(then, now, row, 1, by);
        vf_nav_motion_row(then, now, row, 0, B[row]);
        for (int c = 0; c < N; c++) {
            A[row][c] = c < 6 ? by[c] : 0.0;
            for (int k = 0; k < 6; k++) A[row][c] += B[row][k] * way->F[k * N + c];
        }
    }
    vf_nav_motion_add((const double(*)[N])A, N, &way->from, out);
    vf_nav_motion_add((const double(*)[N])B, 6, &way->now, out);
    vf_nav_motion_mount(way, then, now, mount);
    for (int r = 0; r < 6; r++)
        for (int c = 0; c < 6; c++)
            for (int k = 0; k < 3; k++)
                out[r][c] += VF_WINDOW_MOUNT_RAD * VF_WINDOW_MOUNT_RAD * mount[r][k] * mount[c][k];
}

/** Motion of camera 0 since its last picture. */
VF_FN void vf_nav_motion_of(const struct vf_nav_way *way, const struct vf_window_rig *rig, vfront_prediction_t *p)
{
    struct vf_nav_camera then, now;
    double S[6][6], apart[3], t2 = 0.0, trace = 0.0;
    vf_nav_camera_of(&way->from, rig, &then);
    vf_nav_camera_of(&way->now, rig, &now);
    vf_nav_motion_covariance(way, &then, &now, S);
    memset(p, 0, sizeof *p);
    for (int k = 0; k < 3; k++) apart[k] = then.p[k] - now.p[k];
    for (int r = 0; r < 3; r++) {
        double t = 0.0;
        for (int k = 0; k < 3; k++) t += now.R[3 * k + r] * apart[k];
        for (int c = 0; c < 3; c++) {
            double sum = 0.0;
            for (int k = 0; k < 3; k++) sum += now.R[3 * k + r] * then.R[3 * k + c];
            p->R[3 * r + c] = (float)sum;
            trace += r == c ? sum : 0.0;
        }
        p->t[r] = (float)t;
        t2 += t * t;
    }
    const double angle2 = trace < 3.0 ? 3.0 - trace : 0.0; /* of small angles */
    const double turn = VF_NAV_TURN_RAD * VF_NAV_TURN_RAD + VF_NAV_TURN_PART * VF_NAV_TURN_PART * angle2,
                 shift = VF_NAV_SHIFT_M * VF_NAV_SHIFT_M + VF_NAV_SHIFT_PART * VF_NAV_SHIFT_PART * t2;
    for (int r = 0, k = 0; r < 6; r++)
        for (int c = r; c < 6; c++, k++) p->covariance[k] = (float)(S[r][c] + (r != c ? 0.0 : r < 3 ? shift : turn));
    p->source = VFRONT_PREDICT_STATE;
}

#endif
