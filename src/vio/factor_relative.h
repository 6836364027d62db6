/* SPDX-License-Identifier: MIT */
/* Poses of frames relative to an anchor, and conversion of their normal equations to poses in the odometry frame.
 *
 * Rule    an increment (u, w) changes the relative pose (R, t) of frame a to exp([w]) R, t + u. M: rotation from the
 *         odometry frame to camera 0 axes of a. d: vector from a's IMU to the anchor's camera.
 *         An increment (p, r) of a's pose gives u = -M p + M [d] r and w = -M r; this is the matrix A.
 *         An increment (p, r) of the anchor's pose acts as minus the increment (p + [p_anchor - p_a] r, r) of a's pose.
 *         An increment of the time offset moves frame a and anchor at their velocities. One of the camera attitude
 *         rotates each of them about its camera.
 *         So the equations are first converted to the columns of the frames' poses. The columns of anchor, time offset
 *         and camera attitude are sums of these.
 * Exact   double precision in one order
 */
#ifndef VF_VIO_FACTOR_RELATIVE_H
#define VF_VIO_FACTOR_RELATIVE_H

#include "factor_inertial.h"
#include "factor_landmark.h"

/** Jacobian of the camera pose of a frame a relative to an anchor, by the IMU poses of both and the calibration. */
struct vf_relative_jacobian {
    /* M: rotation from odometry axes to camera axes of a; d: from a's IMU to the anchor's camera, odometry axes [m] */
    double M[9], d[3];
    double apart[3]; /* IMU position of the anchor minus that of a, odometry axes [m] */
    /* increments of a's pose that act like a change of the time offset (row 0, per s) or of the camera attitude on the
     * IMU (rows 1 .. 3, per rad) */
    double by[4][6];
};

/** out = a b, 3x3 matrices, row-major. */
VF_FN void vf_relative_product(const double a[9], const double b[9], double out[9])
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out[3 * r + c] = a[3 * r] * b[c] + a[3 * r + 1] * b[3 + c] + a[3 * r + 2] * b[6 + c];
}

/** Pose of camera 0 at the exposure of a frame: x_odom = R x_0 + p [m]. */
struct vf_relative_camera {
    double R[9], p[3];
};

VF_FN void vf_relative_camera_of(const struct vf_vio_window *w, const struct vf_vio_slot *s,
                                 struct vf_relative_camera *out)
{
    const double late = w->offset_s - s->offset_s;
    double turn[3], q[4], R[9], mount[9], arm[3];
    for (int k = 0; k < 3; k++) turn[k] = s->rate[k] * late;
    vf_quaternion_exponential(turn, q);
    vf_quaternion_multiply(s->value.q, q, q);
    vf_quaternion_matrix(q, R);
    vf_quaternion_matrix(w->mount, mount);
    vf_relative_product(R, mount, out->R);
    vf_transform_double(R, w->rig.p_imu_cam_m, arm);
    for (int k = 0; k < 3; k++) out->p[k] = s->value.p[k] + s->value.v[k] * late + arm[k];
}

/** Computes angular rate [rad/s] and velocity [m/s] of camera 0 at a frame, in camera axes. */
VF_FN void vf_relative_camera_motion(const struct vf_vio_window *w, const struct vf_vio_slot *s,
                                     const struct vf_relative_camera *camera, struct vf_camera_motion *out)
{
    double mount[9], R[9], arm[3], v[3], rate[3], velocity[3];
    vf_quaternion_matrix(w->mount, mount);
    vf_transform_transposed(mount, s->rate, rate);
    vf_quaternion_matrix(s->value.q, R);
    vf_cross_double(s->rate, w->rig.p_imu_cam_m, arm);
    vf_transform_double(R, arm, v);
    for (int k = 0; k < 3; k++) v[k] += s->value.v[k];
    vf_transform_transposed(camera->R, v, velocity);
    for (int k = 0; k < 3; k++) {
        out->rate[k] = (float)rate[k];
        out->velocity[k] = (float)velocity[k];
    }
}

/** Computes the pose of camera 0 in frame a relative to its pose in the anchor frame: x_a = R x_anchor + t. */
VF_FN void vf_relative_pose(const struct vf_relative_camera *anchor, const struct vf_relative_camera *a,
                            struct vf_pose *out)
{
    double d[3], t[3];
    for (int k = 0; k < 3; k++) d[k] = anchor->p[k] - a->p[k];
    vf_transform_transposed(a->R, d, t);
    for (int k = 0; k < 9; k++) {
        const double *x = &a->R[k / 3], *y = &anchor->R[k % 3];
        out->R[k] = (float)(x[0] * y[0] + x[3] * y[3] + x[6] * y[6]);
    }
    for (int k = 0; k < 3; k++) out->t[k] = (float)t[k];
}

/** Computes the Jacobian of the pose of frame a relative to the anchor, at the linearization points. */
VF_FN void vf_relative_linearize(const struct vf_vio_window *w, const struct vf_vio_slot *anchor,
                                 const struct vf_vio_slot *a, struct vf_relative_jacobian *m)
{
    const struct vf_vio_state *at = a->prior ? &a->first : &a->value,
                              *from = anchor->prior ? &anchor->first : &anchor->value;
    double R[9], anchor_R[9], mount[9], arm[3], rotated[3], rate[2][3], change[2][3];
    vf_quaternion_matrix(w->mount, mount);
    vf_quaternion_matrix(at->q, R);
    vf_quaternion_matrix(from->q, anchor_R);
    vf_transform_double(anchor_R, w->rig.p_imu_cam_m, arm);
    for (int k = 0; k < 3; k++) {
        m->apart[k] = from->p[k] - at->p[k];
        m->d[k] = arm[k] + m->apart[k];
    }
    for (int r = 0; r < 3; r++) /* M = (R R_imu_cam)' */
        for (int c = 0; c < 3; c++)
            m->M[3 * r + c] = R[3 * c] * mount[r] + R[3 * c + 1] * mount[3 + r] + R[3 * c + 2] * mount[6 + r];
    vf_transform_double(R, a->rate, rate[0]);
    vf_transform_double(anchor_R, anchor->rate, rate[1]);
    vf_cross_double(m->apart, rate[1], rotated);
    for (int k = 0; k < 3; k++) {
        m->by[0][k] = at->v[k] - from->v[k] - rotated[k];
        m->by[0][3 + k] = rate[0][k] - rate[1][k];
    }
    for (int i = 0; i < 3; i++) { /* the camera rotates about its own centre */
        const double w_a[3] = {R[i], R[3 + i], R[6 + i]}, w_anchor[3] = {anchor_R[i], anchor_R[3 + i], anchor_R[6 + i]};
        double own[3];
        vf_transform_double(R, w->rig.p_imu_cam_m, own);
        vf_cross_double(own, w_a, change[0]);
        vf_cross_double(arm, w_anchor, change[1]);
        vf_cross_double(m->apart, w_anchor, rotated);
        for (int k = 0; k < 3; k++) {
            m->by[1 + i][k] = change[0][k] - change[1][k] - rotated[k];
            m->by[1 + i][3 + k] = w_a[k] - w_anchor[k];
        }
    }
}

/** Converts a Jacobian row, in place, from increments of a frame's pose relative to an anchor to increments of the
 *  frame's own pose. */
VF_FN void vf_relative_apply_row(const struct vf_relative_jacobian *m, double row[6])
{
    double u[3], w[3], about[3];
    vf_transform_transposed(m->M, row, u);
    vf_transform_transposed(m->M, row + 3, w);
    vf_cross_double(u, m->d, about); /* u' [d] = (u x d)' */
    for (int k = 0; k < 3; k++) {
        row[k] = -u[k];
        row[3 + k] = about[k] - w[k];
    }
}

/** Converts column c of the 6x6 block B, in place, from increments of a frame's pose relative to an anchor to
 *  increments of the frame's own pose. */
VF_FN void vf_relative_apply_column(const struct vf_relative_jacobian *m, double B[6][6], int c)
{
    double column[6];
    for (int r = 0; r < 6; r++) column[r] = B[r][c];
    vf_relative_apply_row(m, column);
    for (int r = 0; r < 6; r++) B[r][c] = column[r];
}

/** Converts a row from increments of a frame's pose to increments of the anchor's pose: out = row G with G = [1,
 *  [apart]; 0, 1]. */
VF_FN void vf_relative_anchor_row(const struct vf_relative_jacobian *m, const double row[6], double out[6])
{
    double about[3];
    vf_cross_double(row, m->apart, about);
    for (int k = 0; k < 3; k++) {
        out[k] = row[k];
        out[3 + k] = row[3 + k] + about[k];
    }
}

/** Increment of the camera pose of frame a relative to the anchor, from the solution x over all columns of the
 *  system. */
VF_FN void vf_relative_change(const double x[VF_VIO_COLUMNS], int anchor, int a, const struct vf_relative_jacobian *m,
                              float out[6])
{
    double p[3], w[3], about[3], rotated[3];
    vf_cross_double(m->apart, &x[6 * anchor + 3], about);
    for (int k = 0; k < 3; k++) {
        p[k] = x[6 * a + k] - x[6 * anchor + k] - about[k];
        w[k] = x[6 * a + 3 + k] - x[6 * anchor + 3 + k];
        for (int i = 0; i < 4; i++) {
            p[k] += m->by[i][k] * x[VF_VIO_TIME_OFFSET + i];
            w[k] += m->by[i][3 + k] * x[VF_VIO_TIME_OFFSET + i];
        }
    }
    vf_cross_double(m->d, w, about);
    for (int k = 0; k < 3; k++) p[k] = about[k] - p[k];
    vf_transform_double(m->M, p, rotated);
    for (int k = 0; k < 3; k++) out[k] = (float)rotated[k];
    vf_transform_double(m->M, w, rotated);
    for (int k = 0; k < 3; k++) out[3 + k] = -(float)rotated[k];
}

#endif
