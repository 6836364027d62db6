/* SPDX-License-Identifier: MIT */
/* Start with one camera: motion between frames that are kept, and what all is about, by linear least squares.
 *
 * In      preintegrals, rotations of pictures, sights
 * Out     values of the frames; places of the points
 * Rule    axes are those of the IMU at the oldest frame; unknown are its velocity and the direction of gravity, which
 *         turns by steps from where the mean force points. A point is where the rays of its sights meet best, whatever
 *         these are: it is projected out. A bias of the accelerometer must be left out: noise of the rays is the less,
 *         the smaller the path, and a bias can cancel the forces that say how large it is
 * Exact   double precision in one order
 */
#ifndef VF_START_MONO_GUESS_H
#define VF_START_MONO_GUESS_H

#include "start_guess.h"
#include "start_mono.h"

#define VF_MONO_ROUNDS 4

/** a <- a, then b: errors of the axes at the start of a. */
VF_FN void vf_mono_compose(struct vf_preintegral *a, const struct vf_preintegral *b)
{
    double R[9], v[3], p[3], A[81], B[81], M[9], P[81], T[81], J[54];
    vf_quaternion_matrix(a->q, R);
    vf_transform_double(R, b->v, v);
    vf_transform_double(R, b->p, p);
    memset(A, 0, sizeof A);
    memset(B, 0, sizeof B);
    memset(P, 0, sizeof P);
    memset(J, 0, sizeof J);
    for (int k = 0; k < 9; k++) A[10 * k] = 1.0;
    for (int k = 0; k < 3; k++) A[9 * (6 + k) + 3 + k] = b->dt_s;
    for (int m = 0; m < 2; m++) { /* -[u] w */
        const double *u = m ? p : v;
        const double cross[9] = {0.0, u[2], -u[1], -u[2], 0.0, u[0], u[1], -u[0], 0.0};
        for (int k = 0; k < 9; k++) A[9 * (3 + 3 * m + k / 3) + k % 3] = cross[k];
    }
    memcpy(M, R, sizeof M);
    for (int block = 0; block < 3; block++)
        for (int k = 0; k < 9; k++) B[9 * (3 * block + k / 3) + 3 * block + k % 3] = M[k];
    for (int side = 0; side < 2; side++) {
        const double *F = side ? B : A, *from = side ? b->P : a->P, *by = side ? b->J : a->J;
        for (int i = 0; i < 9; i++)
            for (int j = 0; j < 9; j++) {
                T[9 * i + j] = 0.0;
                for (int k = 0; k < 9; k++) T[9 * i + j] += F[9 * i + k] * from[9 * k + j];
            }
        for (int i = 0; i < 9; i++) {
            for (int j = 0; j < 9; j++)
                for (int k = 0; k < 9; k++) P[9 * i + j] += T[9 * i + k] * F[9 * j + k];
            for (int j = 0; j < 6; j++)
                for (int k = 0; k < 9; k++) J[6 * i + j] += F[9 * i + k] * by[6 * k + j];
        }
    }
    for (int k = 0; k < 3; k++) {
        a->p[k] += a->v[k] * b->dt_s + p[k];
        a->v[k] += v[k];
    }
    vf_quaternion_multiply(a->q, b->q, a->q);
    vf_quaternion_unit(a->q);
    memcpy(a->P, P, sizeof P);
    memcpy(a->J, J, sizeof J);
    a->dt_s += b->dt_s;
    a->flags |= b->flags;
}

/** Adds what a rotation of the pictures says of the bias of the gyro, with which `motion` was made. */
VF_FN void vf_mono_turn(struct vf_mono_turns *t, const struct vf_window_rig *rig, const struct vf_preintegral *motion,
                        const vfront_motion_t *relative)
{
    double R[9], q[4], c[4], back[4], e[3], variance = 0.0;
    for (int k = 0; k < 9; k++) R[k] = (double)relative->R[k];
    for (int k = 0, at = 15; k < 3; at += 3 - k, k++) variance += (double)relative->covariance[at] / 3.0;
    vf_window_quaternion(R, q);
    vf_window_quaternion(rig->R_imu_cam, c);
    for (int k = 1; k < 4; k++) q[k] = -q[k];
    for (int k = 0; k < 4; k++) back[k] = k ? -c[k] : c[k];
    vf_quaternion_multiply(c, q, q);
    vf_quaternion_multiply(q, back, q);
    vf_window_turn_between(q, motion->q, e);
    const double weight = 1.0 / (variance + 1e-7);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            t->r[i] += weight * motion->J[6 * k + i] * e[k];
            for (int j = 0; j < 3; j++) t->N[3 * i + j] += weight * motion->J[6 * k + i] * motion->J[6 * k + j];
        }
}

/** Bias of the gyro by all frames. */
VF_FN void vf_mono_gyro(const struct vf_mono *s, double bias[3])
{
    double N[9], L[9];
    memset(N, 0, sizeof N);
    memset(bias, 0, 3 * sizeof *bias);
    for (uint32_t i = 1; i < s->frames; i++) {
        for (int k = 0; k < 9; k++) N[k] += s->frame[i].turns.N[k];
        for (int k = 0; k < 3; k++) bias[k] += s->frame[i].turns.r[k];
    }
    for (int k = 0; k < 3; k++) N[4 * k] += 1.0 / (VF_START_GYRO_RAD_S * VF_START_GYRO_RAD_S);
    vf_solve_factor(N, L, 3, 3, 0.0);
    vf_solve_forward(L, bias, 3, 3);
    vf_solve_back(L, bias, 3, 3);
}

/** Preintegral with biases, to first order; `motion` was made without. */
VF_FN void vf_mono_biased(const struct vf_preintegral *motion, const double bias[6], struct vf_preintegral *d)
{
    double change[9], turn[4];
    for (int i = 0; i < 9; i++) {
        change[i] = 0.0;
        for (int c = 0; c < 6; c++) change[i] += motion->J[6 * i + c] * bias[c];
    }
    *d = *motion;
    vf_quaternion_exponential(change, turn);
    vf_quaternion_multiply(turn, d->q, d->q);
    for (int k = 0; k < 3; k++) {
        d->v[k] += change[3 + k];
        d->p[k] += change[6 + k];
    }
}

/** Motion of each frame since the oldest one. */
VF_FN void vf_mono_chain(struct vf_mono *s, const double gyro[3])
{
    const double bias[6] = {gyro[0], gyro[1], gyro[2], 0.0, 0.0, 0.0};
    struct vf_preintegral all, d;
    memset(&all, 0, sizeof all);
    all.q[0] = 1.0;
    for (uint32_t i = 0; i < s->frames; i++) {
        struct vf_mono_frame *f = &s->frame[i];
        if (i) {
            vf_mono_biased(&f->slot.motion, bias, &d);
            vf_mono_compose(&all, &d);
        }
        memcpy(f->q, all.q, sizeof f->q);
        memcpy(f->v, all.v, sizeof f->v);
        memcpy(f->p, all.p, sizeof f->p);
        f->T = all.dt_s;
    }
}

/** Camera 0 in a frame; g: gravity, across: how its direction changes. */
VF_FN void vf_mono_camera(const struct vf_mono *s, uint32_t i, const double g[3], const double across[6],
                          struct vf_mono_view *view)
{
    const struct vf_mono_frame *f = &s->frame[i];
    double R[9], arm[3];
    const double half = 0.5 * f->T * f->T;
    vf_quaternion_matrix(f->q, R);
    vf_relative_product(R, s->rig.R_imu_cam, view->C);
    vf_transform_double(R, s->rig.p_imu_cam_m, arm);
    memset(view->A, 0, sizeof view->A);
    for (int k = 0; k < 3; k++) {
        double *row = &view->A[VF_MONO_UNKNOWN * k];
        view->c[k] = half * g[k] + f->p[k] + arm[k];
        row[k] = f->T;
        for (int m = 0; m < 2; m++) row[3 + m] = half * across[2 * k + m];
    }
}

/** Direction of a sight in axes of the oldest frame. */
VF_FN void vf_mono_ray(const struct vf_mono *s, const struct vf_mono_point *l, uint32_t i, double d[3])
{
    const double b[3] = {(double)l->bearing[i][0], (double)l->bearing[i][1], (double)l->bearing[i][2]};
    vf_transform_double(s->view[i].C, b, d);
}

/** Adds what a point says of the unknowns; place: where its rays meet with the unknowns x. */
VF_FN void vf_mono_rays(const struct vf_mono *s, const struct vf_mono_point *l, const double *x, double range,
                        double *H, double *r, double place[3])
{
    enum { U = VF_MONO_UNKNOWN };
    double M[9], L[9], W[9], PA[3 * (U + 1)], d[3], sum[3 * (U + 1)];
    memset(M, 0, sizeof M);
    memset(sum, 0, sizeof sum);
    for (uint32_t i = 0; i < s->frames; i++) {
        if (!(l->seen >> i & 1)) continue;
        const double weight = 1.0 / ((double)l->sigma[i] * (double)l->sigma[i] * range * range);
        const double *c = s->view[i].c, *A = s->view[i].A;
        vf_mono_ray(s, l, i, d);
        for (int k = 0; k < 9; k++) {
            W[k] = weight * ((k % 4 ? 0.0 : 1.0) - d[k / 3] * d[k % 3]);
            M[k] += W[k];
        }
        for (int a = 0; a < 3; a++)
            for (int m = 0; m <= U; m++) {
                double all = 0.0;
                for (int b = 0; b < 3; b++) all += W[3 * a + b] * (m < U ? A[U * b + m] : c[b]);
                PA[(U + 1) * a + m] = all;
                sum[(U + 1) * a + m] += all;
            }
        for (int m = 0; m < U; m++)
            for (int b = 0; b < 3; b++) {
                for (int n = 0; n < U; n++) H[U * m + n] += A[U * b + m] * PA[(U + 1) * b + n];
                r[m] -= A[U * b + m] * PA[(U + 1) * b + U];
            }
    }
    vf_solve_factor(M, L, 3, 3, 1e-9);
    for (int m = 0; m <= U; m++) {
        double y[3] = {sum[m], sum[U + 1 + m], sum[2 * (U + 1) + m]};
        vf_solve_forward(L, y, 3, 3);
        for (int a = 0; a < 3; a++) PA[(U + 1) * a + m] = y[a];
    }
    for (int m = 0; m < U; m++)
        for (int a = 0; a < 3; a++) {
            for (int n = 0; n < U; n++) H[U * m + n] -= PA[(U + 1) * a + m] * PA[(U + 1) * a + n];
            r[m] += PA[(U + 1) * a + m] * PA[(U + 1) * a + U];
        }
    for (int a = 0; a < 3; a++) {
        place[a] = sum[(U + 1) * a + U];
        for (int m = 0; m < U; m++) place[a] += sum[(U + 1) * a + m] * x[m];
    }
    vf_solve_forward(L, place, 3, 3);
    vf_solve_back(L, place, 3, 3);
}

/** Unknowns about gravity g into s->guess, with the ranges that the points have, and the views of the frames. across:
 *  how g changes direction. */
VF_FN void vf_mono_round(struct vf_mono *s, const double g[3], double across[6])
{
    enum { U = VF_MONO_UNKNOWN };
    const double gravity = s->noise.gravity_m_s2;
    double H[U * U], r[U], place[3], up[3] = {-g[0] / gravity, -g[1] / gravity, -g[2] / gravity}, q[4], R[9];
    memset(H, 0, sizeof H);
    memset(r, 0, sizeof r);
    vf_start_upright(up, q);
    vf_quaternion_matrix(q, R);
    for (int k = 0; k < 3; k++)
        for (int m = 0; m < 2; m++) across[2 * k + m] = gravity * R[3 * m + k];
    for (int m = 0; m < U; m++) {
        const double sigma = m < 3 ? VF_START_ANY_MPS : VF_START_ANY_RAD;
        H[U * m + m] = 1.0 / (sigma * sigma);
    }
    memset(s->guess, 0, sizeof s->guess);
    for (uint32_t i = 0; i < s->frames; i++) vf_mono_camera(s, i, g, across, &s->view[i]);
    for (uint32_t i = 0; i < s->points; i++)
        vf_mono_rays(s, &s->point[i], s->guess, 1.0 / s->point[i].inverse, H, r, place);
    vf_solve_factor(H, H, U, U, 0.0);
    vf_solve_forward(H, r, U, U);
    vf_solve_back(H, r, U, U);
    memcpy(s->guess, r, sizeof s->guess);
}

/** Inverse ranges of the points, from their first frames, with the unknowns found. */
VF_FN void vf_mono_places(struct vf_mono *s)
{
    enum { U = VF_MONO_UNKNOWN };
    double H[U * U], r[U], place[3], d[3];
    for (uint32_t i = 0; i < s->points; i++) {
        struct vf_mono_point *l = &s->point[i];
        double range = 0.0;
        memset(H, 0, sizeof H);
        memset(r, 0, sizeof r);
        vf_mono_rays(s, l, s->guess, 1.0 / l->inverse, H, r, place);
        vf_mono_ray(s, l, (uint32_t)l->host, d);
        for (int k = 0; k < 3; k++) {
            double c = s->view[l->host].c[k];
            for (int m = 0; m < U; m++) c += s->view[l->host].A[U * k + m] * s->guess[m];
            range += (place[k] - c) * d[k];
        }
        l->inverse = range > 50.0 || !(range > 0.0) ? 0.02 : range < 0.2 ? 5.0 : 1.0 / range;
    }
}

/** Values of frames and points. */
VF_FN void vf_mono_guess(struct vf_mono *s)
{
    double gyro[3], g[3], across[6], q[4], R[9], up[3];
    const struct vf_mono_frame *end = &s->frame[s->frames - 1];
    const double gravity = s->noise.gravity_m_s2,
                 size = sqrt(end->v[0] * end->v[0] + end->v[1] * end->v[1] + end->v[2] * end->v[2]);
    vf_mono_gyro(s, gyro);
    vf_mono_chain(s, gyro);
    for (int k = 0; k < 3; k++) g[k] = -gravity * end->v[k] / (size > 0.0 ? size : 1.0);
    for (uint32_t i = 0; i < s->points; i++) {
        struct vf_mono_point *l = &s->point[i];
        l->inverse = VF_MONO_RANGE_MEAN;
        for (l->host = 0; l->host < VF_MONO_FRAMES - 1 && !(l->seen >> l->host & 1);) l->host++;
        for (int k = 0; k < 3; k++) l->b[k] = (double)l->bearing[l->host][k];
    }
    for (int round = 0; round < VF_MONO_ROUNDS; round++) {
        vf_mono_round(s, g, across);
        vf_mono_places(s);
        double square = 0.0;
        for (int k = 0; k < 3; k++) {
            g[k] += across[2 * k] * s->guess[3] + across[2 * k + 1] * s->guess[4];
            square += g[k] * g[k];
        }
        for (int k = 0; k < 3; k++) g[k] *= gravity / sqrt(square > 0.0 ? square : 1.0);
    }
    for (int k = 0; k < 3; k++) up[k] = -g[k];
    vf_start_upright(up, q);
    vf_quaternion_matrix(q, R);
    for (uint32_t i = 0; i < s->frames; i++) {
        struct vf_mono_frame *f = &s->frame[i];
        struct vf_window_value *x = &f->slot.value;
        double p[3], v[3];
        for (int k = 0; k < 3; k++) {
            p[k] = s->guess[k] * f->T + 0.5 * g[k] * f->T * f->T + f->p[k];
            v[k] = s->guess[k] + g[k] * f->T + f->v[k];
        }
        vf_transform_double(R, p, x->p);
        vf_transform_double(R, v, x->v);
        vf_quaternion_multiply(q, f->q, x->q);
        vf_quaternion_unit(x->q);
        memcpy(x->bias, gyro, sizeof gyro);
        memset(x->bias + 3, 0, 3 * sizeof *x->bias);
    }
}

#endif
