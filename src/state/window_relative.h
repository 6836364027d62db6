/* SPDX-License-Identifier: MIT */
/* Poses of frames relative to a host, and normal equations over them turned into those over poses in the odometry
 * frame.
 *
 * Rule    a change (u, w) of the relative pose of frame a is t + u, exp([w]) R. With M the rotation from the odometry
 *         frame to axes of camera 0 of a, and d from a's IMU to the host's camera, changes (p, w) of a's pose make
 *         u = -M p + M [d] w, w = -M w. A change (p, w) of the host's pose does the opposite of what
 *         p + [p_host - p_a] w, w of a's does; a change of the time offset moves both by their velocities,
 *         one of the camera's attitude on the IMU turns both about their cameras. So normal
 *         equations are turned into a's columns first, and those of the host and the offset are sums of these
 * Exact   double precision in one order
 */
#ifndef VF_WINDOW_RELATIVE_H
#define VF_WINDOW_RELATIVE_H

#include "window_inertial.h"
#include "window_landmark.h"

/** Maps of changes of one frame, seen from one host. */
struct vf_relative_map {
    double M[9], d[3]; /* see above */
    double apart[3];   /* p_host - p_a */
    double by[4][6];   /* what a change of the time offset by 1 s, of the mounting by 1 rad does, as one of a's pose */
};

/** out = a b, of row-major 3x3. */
VF_FN void vf_relative_product(const double a[9], const double b[9], double out[9])
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out[3 * r + c] = a[3 * r] * b[c] + a[3 * r + 1] * b[3 + c] + a[3 * r + 2] * b[6 + c];
}

/** Camera 0 when it saw a frame: x_odom = R x_0 + p. */
struct vf_relative_camera {
    double R[9], p[3];
};

VF_FN void vf_relative_camera_of(const struct vf_window *w, const struct vf_window_slot *s,
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

/** Motion of camera 0 in a frame. */
VF_FN void vf_relative_drift(const struct vf_window *w, const struct vf_window_slot *s,
                             const struct vf_relative_camera *camera, struct vf_landmark_drift *out)
{
    double mount[9], R[9], arm[3], v[3], rate[3], velocity[3];
    vf_quaternion_matrix(w->mount, mount);
    vf_transform_back(mount, s->rate, rate);
    vf_quaternion_matrix(s->value.q, R);
    vf_cross_double(s->rate, w->rig.p_imu_cam_m, arm);
    vf_transform_double(R, arm, v);
    for (int k = 0; k < 3; k++) v[k] += s->value.v[k];
    vf_transform_back(camera->R, v, velocity);
    for (int k = 0; k < 3; k++) {
        out->rate[k] = (float)rate[k];
        out->velocity[k] = (float)velocity[k];
    }
}

/** Pose of camera 0 of frame a relative to that of the host: x_a = R x_host + t. */
VF_FN void vf_relative_pose(const struct vf_relative_camera *host, const struct vf_relative_camera *a,
                            struct vf_pose *out)
{
    double d[3], t[3];
    for (int k = 0; k < 3; k++) d[k] = host->p[k] - a->p[k];
    vf_transform_back(a->R, d, t);
    for (int k = 0; k < 9; k++) {
        const double *x = &a->R[k / 3], *y = &host->R[k % 3];
        out->R[k] = (float)(x[0] * y[0] + x[3] * y[3] + x[6] * y[6]);
    }
    for (int k = 0; k < 3; k++) out->t[k] = (float)t[k];
}

/** Maps of a frame, at the values where derivatives are taken. */
VF_FN void vf_relative_map_of(const struct vf_window *w, const struct vf_window_slot *host,
                              const struct vf_window_slot *a, struct vf_relative_map *m)
{
    const struct vf_window_value *at = a->prior ? &a->first : &a->value,
                                 *from = host->prior ? &host->first : &host->value;
    double R[9], host_R[9], mount[9], arm[3], turned[3], rate[2][3], change[2][3];
    vf_quaternion_matrix(w->mount, mount);
    vf_quaternion_matrix(at->q, R);
    vf_quaternion_matrix(from->q, host_R);
    vf_transform_double(host_R, w->rig.p_imu_cam_m, arm);
    for (int k = 0; k < 3; k++) {
        m->apart[k] = from->p[k] - at->p[k];
        m->d[k] = arm[k] + m->apart[k];
    }
    for (int r = 0; r < 3; r++) /* (R R_imu_cam)' */
        for (int c = 0; c < 3; c++)
            m->M[3 * r + c] = R[3 * c] * mount[r] + R[3 * c + 1] * mount[3 + r] + R[3 * c + 2] * mount[6 + r];
    vf_transform_double(R, a->rate, rate[0]);
    vf_transform_double(host_R, host->rate, rate[1]);
    vf_cross_double(m->apart, rate[1], turned);
    for (int k = 0; k < 3; k++) {
        m->by[0][k] = at->v[k] - from->v[k] - turned[k];
        m->by[0][3 + k] = rate[0][k] - rate[1][k];
    }
    for (int i = 0; i < 3; i++) { /* the camera turns where it is */
        const double w_a[3] = {R[i], R[3 + i], R[6 + i]}, w_host[3] = {host_R[i], host_R[3 + i], host_R[6 + i]};
        double own[3];
        vf_transform_double(R, w->rig.p_imu_cam_m, own);
        vf_cross_double(own, w_a, change[0]);
        vf_cross_double(arm, w_host, change[1]);
        vf_cross_double(m->apart, w_host, turned);
        for (int k = 0; k < 3; k++) {
            m->by[1 + i][k] = change[0][k] - change[1][k] - turned[k];
            m->by[1 + i][3 + k] = w_a[k] - w_host[k];
        }
    }
}

/** Row (u, w) of a matrix over relative changes, as a row over changes of the frame's pose, in place: row A, A as
 *  above. */
VF_FN void vf_relative_row(const struct vf_relative_map *m, double row[6])
{
    double u[3], w[3], about[3];
    vf_transform_back(m->M, row, u);
    vf_transform_back(m->M, row + 3, w);
    vf_cross_double(u, m->d, about); /* u' [d] = (u x d)' */
    for (int k = 0; k < 3; k++) {
        row[k] = -u[k];
        row[3 + k] = about[k] - w[k];
    }
}

/** Column c of A' B, of 6x6 blocks, in place of that of B. */
VF_FN void vf_relative_column(const struct vf_relative_map *m, double B[6][6], int c)
{
    double column[6];
    for (int r = 0; r < 6; r++) column[r] = B[r][c];
    vf_relative_row(m, column);
    for (int r = 0; r < 6; r++) B[r][c] = column[r];
}

/** Change of a frame's pose (row) as one of the host's: row G, G = [1, [apart]; 0, 1]. */
VF_FN void vf_relative_host(const struct vf_relative_map *m, const double row[6], double out[6])
{
    double about[3];
    vf_cross_double(row, m->apart, about);
    for (int k = 0; k < 3; k++) {
        out[k] = row[k];
        out[3 + k] = row[3 + k] + about[k];
    }
}

/** Changes of the poses relative to a host by a solution over all columns. */
VF_FN void vf_relative_change(const double x[VF_WINDOW_COLUMNS], int host, int a, const struct vf_relative_map *m,
                              float out[6])
{
    double p[3], w[3], about[3], turned[3];
    vf_cross_double(m->apart, &x[6 * host + 3], about);
    for (int k = 0; k < 3; k++) {
        p[k] = x[6 * a + k] - x[6 * host + k] - about[k];
        w[k] = x[6 * a + 3 + k] - x[6 * host + 3 + k];
        for (int i = 0; i < 4; i++) {
            p[k] += m->by[i][k] * x[VF_WINDOW_OFFSET + i];
            w[k] += m->by[i][3 + k] * x[VF_WINDOW_OFFSET + i];
        }
    }
    vf_cross_double(m->d, w, about);
    for (int k = 0; k < 3; k++) p[k] = about[k] - p[k];
    vf_transform_double(m->M, p, turned);
    for (int k = 0; k < 3; k++) out[k] = (float)turned[k];
    vf_transform_double(m->M, w, turned);
    for (int k = 0; k < 3; k++) out[3 + k] = -(float)turned[k];
}

#endif
