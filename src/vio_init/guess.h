/* SPDX-License-Identifier: MIT */
/* Initialization: first approximation of the states from motions and forces alone.
 *
 * In      frames with their preintegrals and motions
 * Out     values of their states; biases 0
 * Exact   double precision in one order
 */
#ifndef VF_GUESS_H
#define VF_GUESS_H

#include "motion_solve.h"

/** Computes the shortest rotation that maps the vector `up` to the z axis. */
VF_FN void vf_start_align_up(const double up[3], double q[4])
{
    const double length = sqrt(up[0] * up[0] + up[1] * up[1] + up[2] * up[2]), z = length > 0.0 ? up[2] / length : 1.0;
    q[0] = 1.0, q[1] = q[2] = q[3] = 0.0;
    if (!(length > 0.0)) return;
    if (1.0 + z > VF_SOLVE_ROUNDING) {
        q[0] = 1.0 + z, q[1] = up[1] / length, q[2] = -up[0] / length;
        vf_quaternion_unit(q);
    } else {
        q[0] = 0.0, q[1] = 1.0;
    }
}

/** Computes the pose of frame i from that of frame i - 1 and the motion between them. Without a measured rotation, the
 *  rotation of the IMU preintegral is used. Without a measured translation, the velocity is constant. */
VF_FN void vf_start_chain(struct vf_start *s, uint32_t i)
{
    const struct vf_start_motion *m = &s->motion[i];
    const struct vf_vio_state *a = &s->frame[i - 1].value;
    struct vf_vio_state *b = &s->frame[i].value;
    double c[4], back[4], q[4], A[9], B[9], W[9], before[3], now[3], d[3];
    const double dt = s->frame[i].motion.dt_s;
    vf_quaternion_of_matrix(s->rig.R_imu_cam, c);
    if (m->has_rotation) { /* attitudes R_b = R_a C M' C', with M the measured rotation and C = R_imu_cam */
        const double inverse[4] = {m->q[0], -m->q[1], -m->q[2], -m->q[3]};
        for (int k = 0; k < 4; k++) back[k] = k ? -c[k] : c[k];
        vf_quaternion_multiply(c, inverse, q);
        vf_quaternion_multiply(q, back, q);
    } else {
        memcpy(q, s->frame[i].motion.q, sizeof q);
    }
    vf_quaternion_multiply(a->q, q, b->q);
    vf_quaternion_unit(b->q);
    for (int k = 0; k < 3; k++) b->p[k] = a->p[k] + a->v[k] * dt;
    if (m->metric) { /* m->t: previous position of camera 0, in its current axes */
        vf_quaternion_matrix(a->q, A);
        vf_quaternion_matrix(b->q, B);
        vf_relative_product(B, s->rig.R_imu_cam, W);
        vf_transform_double(W, m->t, d);
        vf_transform_double(A, s->rig.p_imu_cam_m, before);
        vf_transform_double(B, s->rig.p_imu_cam_m, now);
        for (int k = 0; k < 3; k++) b->p[k] = a->p[k] + before[k] - now[k] - d[k];
    }
    for (int k = 0; k < 3; k++) b->v[k] = (b->p[k] - a->p[k]) / dt;
}

/** Computes a first approximation of all states. The up direction is the sum of the preintegrated forces minus the
 *  velocity change from the first to the last frame. */
VF_FN void vf_start_guess(struct vf_start *s)
{
    double up[3], q[4], R[9], force[3];
    memset(&s->frame[0].value, 0, sizeof s->frame[0].value);
    s->frame[0].value.q[0] = 1.0;
    up[0] = up[1] = up[2] = 0.0;
    for (uint32_t i = 1; i < s->frames; i++) {
        vf_start_chain(s, i);
        memset(s->frame[i].value.bias, 0, sizeof s->frame[i].value.bias);
        vf_quaternion_matrix(s->frame[i - 1].value.q, R);
        vf_transform_double(R, s->frame[i].motion.v, force);
        for (int k = 0; k < 3; k++) up[k] += force[k];
    }
    const double *first = s->frame[1].value.v, *end = s->frame[s->frames - 1].value.v;
    for (int k = 0; k < 3; k++) up[k] -= end[k] - first[k];
    memcpy(s->frame[0].value.v, first, sizeof s->frame[0].value.v);
    vf_start_align_up(up, q);
    vf_quaternion_matrix(q, R);
    for (uint32_t i = 0; i < s->frames; i++) {
        struct vf_vio_state *x = &s->frame[i].value;
        double p[3], v[3];
        vf_transform_double(R, x->p, p);
        vf_transform_double(R, x->v, v);
        memcpy(x->p, p, sizeof p);
        memcpy(x->v, v, sizeof v);
        vf_quaternion_multiply(q, x->q, x->q);
    }
}

#endif
