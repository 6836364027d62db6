/* SPDX-License-Identifier: MIT */
/* Monocular initialization: motion between keyframes, and a first approximation by linear least squares.
 *
 * In      preintegrals, image rotations, observations
 * Out     values of the frames; positions of the points
 * Rule    axes: the IMU's at the oldest frame. Unknowns: velocity at that frame, and gravity direction, refined in
 *         steps from the mean force. A point is the least-squares intersection of its rays for any value of the
 *         unknowns, and is eliminated. The accelerometer bias is not an unknown: it could cancel the forces that
 *         determine the scale, because ray noise is smaller for smaller trajectories.
 * Exact   double precision in one order
 */
#ifndef VF_MONO_GUESS_H
#define VF_MONO_GUESS_H

#include "guess.h"
#include "mono.h"

#define VF_MONO_GUESS_ITERATIONS VF_START_ITERATIONS

/** Appends the preintegral b to the preintegral a. Errors of the result are in the IMU axes at the start of a. */
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
    /* block -[u]: effect of the rotation error of a on the vector u, the velocity (m 0) or position (m 1) of b */
    for (int m = 0; m < 2; m++) {
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

/** Adds a frame to the normal equations t of the gyro bias. Residual: rotation from the image rotation in `relative` to
 *  the IMU rotation in `motion`. */
VF_FN void vf_mono_add_rotation(struct vf_mono_bias_system *t, const struct vf_vio_rig *rig,
                                const struct vf_preintegral *motion, const vfront_motion_t *relative)
{
    double R[9], q[4], c[4], back[4], e[3], variance = 0.0;
    for (int k = 0; k < 9; k++) R[k] = (double)relative->R[k];
    for (int k = 0, at = 15; k < 3; at += 3 - k, k++) variance += (double)relative->covariance[at] / 3.0;
    vf_quaternion_of_matrix(R, q);
    vf_quaternion_of_matrix(rig->R_imu_cam, c);
    for (int k = 1; k < 4; k++) q[k] = -q[k];
    for (int k = 0; k < 4; k++) back[k] = k ? -c[k] : c[k];
    vf_quaternion_multiply(c, q, q);
    vf_quaternion_multiply(q, back, q);
    vf_quaternion_difference(q, motion->q, e);
    const double weight = 1.0 / (variance + VF_IMU_TURN_RAD * VF_IMU_TURN_RAD);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            t->r[i] += weight * motion->J[6 * k + i] * e[k];
            for (int j = 0; j < 3; j++) t->N[3 * i + j] += weight * motion->J[6 * k + i] * motion->J[6 * k + j];
        }
}

/** Computes the gyro bias [rad/s]: solves the sum of all frames' normal equations with a prior about 0. */
VF_FN void vf_mono_gyro_bias(const struct vf_mono *s, double bias[3])
{
    double N[9], L[9];
    memset(N, 0, sizeof N);
    memset(bias, 0, 3 * sizeof *bias);
    for (uint32_t i = 1; i < s->frames; i++) {
        for (int k = 0; k < 9; k++) N[k] += s->frame[i].bias_system.N[k];
        for (int k = 0; k < 3; k++) bias[k] += s->frame[i].bias_system.r[k];
    }
    for (int k = 0; k < 3; k++) N[4 * k] += 1.0 / (VF_START_GYRO_BIAS_RAD_S * VF_START_GYRO_BIAS_RAD_S);
    vf_solve_cholesky(N, L, 3, 3, 0.0);
    vf_solve_forward(L, bias, 3, 3);
    vf_solve_back(L, bias, 3, 3);
}

/** Writes to d the preintegral `motion`, made without biases, after a first-order correction by `bias` [rad/s,
 *  m/s^2]. */
VF_FN void vf_mono_correct_bias(const struct vf_preintegral *motion, const double bias[6], struct vf_preintegral *d)
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

/** Computes the motion of each frame since the oldest one, from preintegrals corrected by the gyro bias [rad/s]. */
VF_FN void vf_mono_chain(struct vf_mono *s, const double gyro[3])
{
    const double bias[6] = {gyro[0], gyro[1], gyro[2], 0.0, 0.0, 0.0};
    struct vf_preintegral all, d;
    memset(&all, 0, sizeof all);
    all.q[0] = 1.0;
    for (uint32_t i = 0; i < s->frames; i++) {
        struct vf_mono_frame *f = &s->frame[i];
        if (i) {
            vf_mono_correct_bias(&f->slot.motion, bias, &d);
            vf_mono_compose(&all, &d);
        }
        memcpy(f->q, all.q, sizeof f->q);
        memcpy(f->v, all.v, sizeof f->v);
        memcpy(f->p, all.p, sizeof f->p);
        f->T = all.dt_s;
    }
}

/** Computes camera 0 of frame i, its position as a linear function of the unknowns. g: gravity [m/s^2]; tangent:
 *  derivative of g by the two unknowns of its direction. */
VF_FN void vf_mono_view_of(const struct vf_mono *s, uint32_t i, const double g[3], const double tangent[6],
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
        double *row = &view->A[VF_MONO_GUESS_UNKNOWNS * k];
        view->c[k] = half * g[k] + f->p[k] + arm[k];
        row[k] = f->T;
        for (int m = 0; m < 2; m++) row[3 + m] = half * tangent[2 * k + m];
    }
}

/** Computes the unit direction of the observation of point l in frame i, in IMU axes of the oldest frame. */
VF_FN void vf_mono_ray(const struct vf_mono *s, const struct vf_mono_point *l, uint32_t i, double d[3])
{
    const double b[3] = {(double)l->bearing[i][0], (double)l->bearing[i][1], (double)l->bearing[i][2]};
    vf_transform_double(s->view[i].C, b, d);
}

/** Adds a point's equations on the unknowns to H and r, after elimination of the point. range: assumed range for the
 *  weights [m]. position: out, least-squares intersection of the point's rays [m], at the unknowns x. */
VF_FN void vf_mono_triangulate(const struct vf_mono *s, const struct vf_mono_point *l, const double *x, double range,
                               double *H, double *r, double position[3])
{
    enum { U = VF_MONO_GUESS_UNKNOWNS };
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
    vf_solve_cholesky(M, L, 3, 3, VF_SOLVE_ROUNDING);
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
        position[a] = sum[(U + 1) * a + U];
        for (int m = 0; m < U; m++) position[a] += sum[(U + 1) * a + m] * x[m];
    }
    vf_solve_forward(L, position, 3, 3);
    vf_solve_back(L, position, 3, 3);
}

/** Computes the cameras s->view at gravity g, and solves for the unknowns s->guess with the current ranges of the
 *  points. tangent: out, derivative of g by the two unknowns of its direction. */
VF_FN void vf_mono_guess_iteration(struct vf_mono *s, const double g[3], double tangent[6])
{
    enum { U = VF_MONO_GUESS_UNKNOWNS };
    const double gravity = s->noise.gravity_m_s2;
    double H[U * U], r[U], position[3], up[3] = {-g[0] / gravity, -g[1] / gravity, -g[2] / gravity}, q[4], R[9];
    memset(H, 0, sizeof H);
    memset(r, 0, sizeof r);
    vf_start_align_up(up, q);
    vf_quaternion_matrix(q, R);
    for (int k = 0; k < 3; k++)
        for (int m = 0; m < 2; m++) tangent[2 * k + m] = gravity * R[3 * m + k];
    for (int m = 0; m < U; m++) {
        const double sigma = m < 3 ? VF_START_PRIOR_MPS : VF_START_PRIOR_TILT_RAD;
        H[U * m + m] = 1.0 / (sigma * sigma);
    }
    memset(s->guess, 0, sizeof s->guess);
    for (uint32_t i = 0; i < s->frames; i++) vf_mono_view_of(s, i, g, tangent, &s->view[i]);
    for (uint32_t i = 0; i < s->points; i++)
        vf_mono_triangulate(s, &s->point[i], s->guess, 1.0 / s->point[i].inverse_range, H, r, position);
    vf_solve_cholesky(H, H, U, U, 0.0);
    vf_solve_forward(H, r, U, U);
    vf_solve_back(H, r, U, U);
    memcpy(s->guess, r, sizeof s->guess);
}

/** Updates the points' inverse ranges from their anchor frames, with the cameras at the unknowns s->guess. */
VF_FN void vf_mono_guess_ranges(struct vf_mono *s)
{
    enum { U = VF_MONO_GUESS_UNKNOWNS };
    double H[U * U], r[U], position[3], d[3];
    for (uint32_t i = 0; i < s->points; i++) {
        struct vf_mono_point *l = &s->point[i];
        double range = 0.0;
        memset(H, 0, sizeof H);
        memset(r, 0, sizeof r);
        vf_mono_triangulate(s, l, s->guess, 1.0 / l->inverse_range, H, r, position);
        vf_mono_ray(s, l, (uint32_t)l->anchor, d);
        for (int k = 0; k < 3; k++) {
            double c = s->view[l->anchor].c[k];
            for (int m = 0; m < U; m++) c += s->view[l->anchor].A[U * k + m] * s->guess[m];
            range += (position[k] - c) * d[k];
        }
        l->inverse_range = range > 0.5 ? 1.0 / range : range > 0.0 ? 2.0 : 0.0;
    }
}

/** Computes the first approximation of all frames and points. */
VF_FN void vf_mono_guess(struct vf_mono *s)
{
    double gyro[3], g[3], tangent[6], q[4], R[9], up[3];
    const struct vf_mono_frame *end = &s->frame[s->frames - 1];
    const double gravity = s->noise.gravity_m_s2,
                 size = sqrt(end->v[0] * end->v[0] + end->v[1] * end->v[1] + end->v[2] * end->v[2]);
    vf_mono_gyro_bias(s, gyro);
    vf_mono_chain(s, gyro);
    for (int k = 0; k < 3; k++) g[k] = -gravity * end->v[k] / (size > 0.0 ? size : 1.0);
    for (uint32_t i = 0; i < s->points; i++) {
        struct vf_mono_point *l = &s->point[i];
        l->inverse_range = VF_MONO_RANGE_MEAN;
        for (l->anchor = 0; l->anchor < VF_MONO_FRAMES - 1 && !(l->seen >> l->anchor & 1);) l->anchor++;
        for (int k = 0; k < 3; k++) l->b[k] = (double)l->bearing[l->anchor][k];
    }
    for (int iteration = 0; iteration < VF_MONO_GUESS_ITERATIONS; iteration++) {
        vf_mono_guess_iteration(s, g, tangent);
        vf_mono_guess_ranges(s);
        double square = 0.0;
        for (int k = 0; k < 3; k++) {
            g[k] += tangent[2 * k] * s->guess[3] + tangent[2 * k + 1] * s->guess[4];
            square += g[k] * g[k];
        }
        for (int k = 0; k < 3; k++) g[k] *= gravity / sqrt(square > 0.0 ? square : 1.0);
    }
    for (int k = 0; k < 3; k++) up[k] = -g[k];
    vf_start_align_up(up, q);
    vf_quaternion_matrix(q, R);
    for (uint32_t i = 0; i < s->frames; i++) {
        struct vf_mono_frame *f = &s->frame[i];
        struct vf_vio_state *x = &f->slot.value;
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
