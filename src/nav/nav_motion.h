/* SPDX-License-Identifier: MIT */
/* Motion of camera 0 since its last image, predicted from state and IMU samples, with covariance; for the stage
 * predict.
 *
 * In      state of the frame with the last image; one preintegral per frame since then
 * Out     vfront_prediction_t
 * Rule    `then` is the frame with the last image, `now` this frame, whose state follows by IMU propagation. State
 *         errors: e then, and F e + n now, where F is the transition over all preintegrals and n their noise, with
 *         covariance Q. P is the covariance of e. Covariance of the motion: A P A' + B Q B' with A = D_then + D_now F,
 *         B = D_now, D the Jacobian by each state's errors. Errors common to both states, such as position and yaw,
 *         cancel.
 *         The mounting adds its calibration standard deviation VF_VIO_MOUNT_SIGMA_RAD. Constants added to the standard
 *         deviations (VF_NAV_ROTATION_RAD and following) cover scale and axis errors of the gyro.
 * Exact   double precision in one order, on the host for either port; single precision at the end
 * Cost    2 us on one core of a server
 */
#ifndef VF_NAV_MOTION_H
#define VF_NAV_MOTION_H

#include "vio/window.h"

/** Constant standard deviation added to that of the predicted rotation, about each axis [rad]. */
#define VF_NAV_ROTATION_RAD VF_IMU_TURN_RAD
/** Constant standard deviation added to that of the predicted translation, along each axis [m]. */
#define VF_NAV_TRANSLATION_M 5e-4
/** Standard deviation added to that of the predicted motion, per angle and per length: scale and axis errors of an IMU
 *  [rad/rad], [m/m]. */
#define VF_NAV_MOTION_SHARE VF_IMU_SCALE

/** IMU propagation since the last image. */
struct vf_nav_propagation {
    uint32_t valid; /* 0: no propagation */
    uint32_t reserved;
    vfront_nav_t from; /* state of the frame with the last image, with its covariance */
    vfront_nav_t now;  /* state of this frame by propagation; its covariance contains only the noise since `from` */
    double F[VF_NAV_ERRORS * VF_NAV_ERRORS]; /* derivative of the state errors of `now` by those of `from` */
};

/** Starts an IMU propagation at the state of a frame with a new image. */
VF_FN void vf_nav_propagation_begin(struct vf_nav_propagation *propagation, const vfront_nav_t *from)
{
    memset(propagation, 0, sizeof *propagation);
    propagation->valid = 1;
    propagation->from = propagation->now = *from;
    memset(propagation->now.covariance, 0, sizeof propagation->now.covariance);
    for (int i = 0; i < VF_NAV_ERRORS; i++) propagation->F[i * (VF_NAV_ERRORS + 1)] = 1.0;
}

/** Extends an IMU propagation by the preintegral d of one frame interval. noise: of the IMU. */
VF_FN void vf_nav_propagation_extend(struct vf_nav_propagation *propagation, const vfront_imu_noise_t *noise,
                                     const struct vf_preintegral *d)
{
    enum { N = VF_NAV_ERRORS };
    double R[9], v[3], p[3], F[N * N], before[N * N];
    vf_quaternion_matrix(propagation->now.q_odom_imu, R);
    vf_transform_double(R, d->v, v);
    vf_transform_double(R, d->p, p);
    vf_nav_transition(F, d, R, v, p);
    memcpy(before, propagation->F, sizeof before);
    vf_nav_product(F, N, N, N, before, propagation->F);
    propagation->valid = vf_nav_propagate(&propagation->now, noise, d) != 0;
}

/** Camera 0 at a state, in the odometry frame. */
struct vf_nav_camera {
    double R[9], /* rotation from camera axes to odometry axes */
        arm[3],  /* vector from the IMU to the camera, odometry axes [m] */
        p[3];    /* position of the camera [m] */
};

VF_FN void vf_nav_camera_of(const vfront_nav_t *nav, const struct vf_vio_rig *rig, struct vf_nav_camera *c)
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

/** Row of the Jacobian of the camera motion by position and attitude of a state. row: 0 .. 2 translation, 3 .. 5
 *  rotation. before: 1: by the state of the last image (then), 0: by that of this frame (now). */
VF_FN void vf_nav_motion_jacobian_row(const struct vf_nav_camera *then, const struct vf_nav_camera *now, int row,
                                      int before, double out[6])
{
    const int axis = row % 3;
    /* row of the transposed rotation of `now` */
    const double u[3] = {now->R[axis], now->R[3 + axis], now->R[6 + axis]};
    const double sign = before ? 1.0 : -1.0;
    double lever[3], about[3];
    for (int k = 0; k < 3; k++) lever[k] = before ? then->arm[k] : now->arm[k] + then->p[k] - now->p[k];
    for (int k = 0; k < 3; k++) about[k] = lever[(k + 1) % 3] * u[(k + 2) % 3] - lever[(k + 2) % 3] * u[(k + 1) % 3];
    for (int k = 0; k < 3; k++) {
        out[k] = row < 3 ? sign * u[k] : 0.0;
        out[3 + k] = row < 3 ? sign * about[k] : sign * u[k];
    }
}

/** Adds J P J' to out, with P the covariance of a state. J is 0 from column `columns` on. */
VF_FN void vf_nav_motion_add_covariance(const double J[6][VF_NAV_ERRORS], int columns, const vfront_nav_t *nav,
                                        double out[6][6])
{
    double P[VF_NAV_ERRORS * VF_NAV_ERRORS], half[6 * VF_NAV_ERRORS];
    vf_nav_unpack(nav->covariance, P);
    vf_nav_product(J[0], VF_NAV_ERRORS, 6, columns, P, half);
    for (int r = 0; r < 6; r++)
        for (int k = 0; k < columns; k++)
            for (int c = 0; c < 6; c++) out[r][c] += half[r * VF_NAV_ERRORS + k] * J[c][k];
}

/** Jacobian of the camera motion by the error of the camera's mounting, in IMU axes: the sum of the Jacobians by both
 *  attitudes, then and now, without lever arms. */
VF_FN void vf_nav_motion_mount_jacobian(const struct vf_nav_propagation *propagation, const struct vf_nav_camera *then,
                                        const struct vf_nav_camera *now, double J[6][3])
{
    double R[2][9];
    vf_quaternion_matrix(propagation->from.q_odom_imu, R[0]);
    vf_quaternion_matrix(propagation->now.q_odom_imu, R[1]);
    struct vf_nav_camera at[2] = {*then, *now};
    for (int k = 0; k < 3; k++) at[0].arm[k] = at[1].arm[k] = 0.0;
    for (int row = 0; row < 6; row++) {
        double by[2][6];
        vf_nav_motion_jacobian_row(&at[0], &at[1], row, 1, by[0]);
        vf_nav_motion_jacobian_row(&at[0], &at[1], row, 0, by[1]);
        for (int c = 0; c < 3; c++) {
            J[row][c] = 0.0;
            for (int k = 0; k < 3; k++) J[row][c] += by[0][3 + k] * R[0][3 * k + c] + by[1][3 + k] * R[1][3 * k + c];
        }
    }
}

/** Covariance of the predicted camera motion: translation, then rotation. */
VF_FN void vf_nav_motion_covariance(const struct vf_nav_propagation *propagation, const struct vf_nav_camera *then,
                                    const struct vf_nav_camera *now, double out[6][6])
{
    enum { N = VF_NAV_ERRORS };
    double A[6][N], B[6][N], mount[6][3];
    memset(out, 0, 36 * sizeof(double));
    memset(B, 0, sizeof B);
    for (int row = 0; row < 6; row++) {
        double by[6];
        vf_nav_motion_jacobian_row(then, now, row, 1, by);
        vf_nav_motion_jacobian_row(then, now, row, 0, B[row]);
        for (int c = 0; c < N; c++) {
            A[row][c] = c < 6 ? by[c] : 0.0;
            for (int k = 0; k < 6; k++) A[row][c] += B[row][k] * propagation->F[k * N + c];
        }
    }
    vf_nav_motion_add_covariance((const double(*)[N])A, N, &propagation->from, out);
    vf_nav_motion_add_covariance((const double(*)[N])B, 6, &propagation->now, out);
    vf_nav_motion_mount_jacobian(propagation, then, now, mount);
    for (int r = 0; r < 6; r++)
        for (int c = 0; c < 6; c++)
            for (int k = 0; k < 3; k++)
                out[r][c] += VF_VIO_MOUNT_SIGMA_RAD * VF_VIO_MOUNT_SIGMA_RAD * mount[r][k] * mount[c][k];
}

/** Computes the motion of camera 0 since its last image, with covariance, from the propagated state. */
VF_FN void vf_nav_motion_of(const struct vf_nav_propagation *propagation, const struct vf_vio_rig *rig,
                            vfront_prediction_t *p)
{
    struct vf_nav_camera then, now;
    double S[6][6], baseline[3], t2 = 0.0, trace = 0.0;
    vf_nav_camera_of(&propagation->from, rig, &then);
    vf_nav_camera_of(&propagation->now, rig, &now);
    vf_nav_motion_covariance(propagation, &then, &now, S);
    memset(p, 0, sizeof *p);
    for (int k = 0; k < 3; k++) baseline[k] = then.p[k] - now.p[k];
    for (int r = 0; r < 3; r++) {
        double t = 0.0;
        for (int k = 0; k < 3; k++) t += now.R[3 * k + r] * baseline[k];
        for (int c = 0; c < 3; c++) {
            double sum = 0.0;
            for (int k = 0; k < 3; k++) sum += now.R[3 * k + r] * then.R[3 * k + c];
            p->R[3 * r + c] = (float)sum;
            trace += r == c ? sum : 0.0;
        }
        p->t[r] = (float)t;
        t2 += t * t;
    }
    const double angle2 = trace < 3.0 ? 3.0 - trace : 0.0; /* squared rotation angle [rad^2], if small */
    const double rotation = VF_NAV_ROTATION_RAD * VF_NAV_ROTATION_RAD +
                            VF_NAV_MOTION_SHARE * VF_NAV_MOTION_SHARE * angle2,
                 translation = VF_NAV_TRANSLATION_M * VF_NAV_TRANSLATION_M +
                               VF_NAV_MOTION_SHARE * VF_NAV_MOTION_SHARE * t2;
    for (int r = 0, k = 0; r < 6; r++)
        for (int c = r; c < 6; c++, k++)
            p->covariance[k] = (float)(S[r][c] + (r != c ? 0.0 : r < 3 ? translation : rotation));
    p->source = VFRONT_PREDICT_STATE;
}

#endif
