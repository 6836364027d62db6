/* SPDX-License-Identifier: MIT */
/* Initialization as one dense problem: residuals from their definitions, Jacobian by differences, Givens rotations over
 * all rows. Preintegrals, their derivatives by the time offset and motions are those of the library. */
#ifndef START_ORACLE_H
#define START_ORACLE_H

#include "start_draw.h"

enum { BATCH_FRAMES = 8, BATCH_COLUMNS = 15 * BATCH_FRAMES + 1, BATCH_ROWS = 21 * BATCH_FRAMES + 2 };

/** State of a frame. */
struct batch_state {
    double R[9], p[3], v[3], b[6];
};

/** r <- L^-1 r with L L' = P, where P is the upper left n x n block of rows of `width`. */
static inline void batch_whiten(const double *P, int n, int width, double *r)
{
    double L[81];
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            double a = P[i * width + j];
            for (int k = 0; k < j; k++) a -= L[i * n + k] * L[j * n + k];
            L[i * n + j] = i == j ? sqrt(a) : a / L[j * n + j];
        }
        for (int k = 0; k < i; k++) r[i] -= L[i * n + k] * r[k];
        r[i] /= L[i * n + i];
    }
}

/** Time offset [s]: of the residuals, and root of its mean square for their weights. */
struct batch_offset {
    double s, weight_s;
};

/** Whitened residuals of a preintegral at a time offset: rotation, velocity, position, biases. share: of m->shift, of
 *  rotation and of velocity and position. */
static inline void batch_imu(const struct vf_preintegral *d, const vfront_imu_noise_t *noise,
                             const struct vf_start_motion *m, const double share[2], const struct batch_offset *o,
                             const struct batch_state *a, const struct batch_state *b, double r[15])
{
    double P[81], change[9], D[9], expected[9], seen[9], u[3], q[9], shift[9];
    wide W[9];
    for (int i = 0; i < 9; i++) {
        change[i] = 0;
        for (int k = 0; k < 6; k++) change[i] += d->J[6 * i + k] * a->b[k];
        for (int k = 0; k < 9; k++) P[9 * i + k] = d->P[9 * i + k] + (i == k ? 1e-12 : 0);
        P[10 * i] += pow(o->weight_s * (i < 6 ? 1 : d->dt_s), 2) * share[i > 2] * m->shift_noise[i > 2];
        shift[i] = o->s * share[i > 2] * m->shift[i];
    }
    wide_matrix(d->q, W);
    for (int k = 0; k < 9; k++) q[k] = (double)W[k];
    rotation_of(shift, D);
    product(D, q, 0, q);
    rotation_of(change, D);
    product(D, q, 0, expected);
    for (int i = 0; i < 9; i++) {
        seen[i] = 0;
        for (int k = 0; k < 3; k++) seen[i] += a->R[3 * k + i / 3] * b->R[3 * k + i % 3];
    }
    rotation_between(seen, expected, r);
    for (int part = 0; part < 2; part++) {
        const double *by = part ? d->p : d->v;
        for (int k = 0; k < 3; k++) {
            const double g = k == 2 ? noise->gravity_m_s2 : 0;
            u[k] = part ? b->p[k] - a->p[k] - a->v[k] * d->dt_s + g * d->dt_s * d->dt_s / 2
                        : b->v[k] - a->v[k] + g * d->dt_s;
        }
        for (int k = 0; k < 3; k++)
            r[3 + 3 * part + k] = a->R[k] * u[0] + a->R[3 + k] * u[1] + a->R[6 + k] * u[2] - by[k] -
                                  change[3 + 3 * part + k] - shift[3 + 3 * part + k];
    }
    batch_whiten(P, 9, 9, r);
    for (int k = 0; k < 6; k++) {
        const double walk = k < 3 ? noise->gyro_walk : noise->accel_walk;
        r[9 + k] = (b->b[k] - a->b[k]) / sqrt(walk * walk * d->dt_s + 1e-12);
    }
}

/** Whitened residuals of a motion: translation, rotation. */
static inline void batch_motion(const struct vf_vio_rig *rig, const struct vf_start_motion *m,
                                const struct batch_state *a, const struct batch_state *b, double scale, double r[6])
{
    struct wide_motion y[2];
    double R[9], t[3];
    for (int k = 0; k < 9; k++) y[0].y[k] = a->R[k], y[1].y[k] = b->R[k];
    for (int k = 0; k < 3; k++) y[0].y[12 + k] = a->p[k], y[1].y[12 + k] = b->p[k];
    motion_of(rig, &y[0], &y[1], R, t);
    for (int k = 0; k < 3; k++) r[k] = t[k] - (1 + scale) * m->t[k];
    rotation_between(R, m->R, r + 3);
    batch_whiten(m->P, 6, 6, r);
}

/** Computes all residuals. Returns their number. */
static inline int batch_rows(const struct vf_start *s, const struct batch_state *x, double scale,
                             const struct batch_offset *o, double *r)
{
    int n = 0;
    for (uint32_t i = 1; i < s->frames; i++) {
        batch_imu(&s->frame[i].motion, &s->noise, &s->motion[i], s->shift_share, o, &x[i - 1], &x[i], r + n);
        n += 15;
        if (!s->motion[i].metric) continue;
        batch_motion(&s->rig, &s->motion[i], &x[i - 1], &x[i], scale, r + n);
        n += 6;
    }
    for (int k = 0; k < 3; k++) {
        r[n++] = x[0].v[k] / VF_START_PRIOR_MPS;
        r[n++] = x[0].b[k] / VF_START_GYRO_BIAS_RAD_S;
        r[n++] = x[0].b[3 + k] / VF_START_ACCEL_BIAS_M_S2;
    }
    r[n++] = o->s / VF_VIO_TIME_OFFSET_SIGMA_S;
    return n;
}

/** State incremented by errors, in the order of vfront_nav_t. */
static inline struct batch_state batch_apply_step(struct batch_state x, const double e[15])
{
    double E[9];
    rotation_of(e + 3, E);
    product(E, x.R, 0, x.R);
    for (int k = 0; k < 3; k++) x.p[k] += e[k], x.v[k] += e[6 + k];
    for (int k = 0; k < 6; k++) x.b[k] += e[9 + k];
    return x;
}

/** 1 if a column is free: all except position and yaw of the first frame. */
static inline int batch_free(int column) { return column == 3 || column == 4 || column > 5; }

/** Jacobian of all rows by all errors, then by the time offset, with rows for the initial tilt. Column 0: scale; last
 *  column: -residuals. */
static double batch_J[BATCH_ROWS][BATCH_COLUMNS + 2];

/** Fills batch_J. Returns the number of rows. */
static inline int batch_jacobian(const struct vf_start *s, struct batch_state *x, const struct batch_offset *o)
{
    static double r[3][BATCH_ROWS];
    const int columns = 15 * (int)s->frames;
    const struct batch_offset up = {o->s + 1e-5, o->weight_s}, down = {o->s - 1e-5, o->weight_s};
    int n = batch_rows(s, x, 0, o, r[2]);
    memset(batch_J, 0, sizeof batch_J);
    for (int c = 0; c < columns; c++) {
        const struct batch_state kept = x[c / 15];
        for (int side = 0; side < 2; side++) {
            double e[15] = {0};
            e[c % 15] = side ? 1e-6 : -1e-6;
            x[c / 15] = batch_apply_step(kept, e);
            batch_rows(s, x, 0, o, r[side]);
        }
        x[c / 15] = kept;
        for (int i = 0; i < n && batch_free(c); i++) batch_J[i][c + 1] = (r[1][i] - r[0][i]) / 2e-6;
    }
    batch_rows(s, x, 0, &up, r[1]);
    batch_rows(s, x, 0, &down, r[0]);
    for (int i = 0; i < n; i++) batch_J[i][columns + 1] = (r[1][i] - r[0][i]) / 2e-5;
    batch_rows(s, x, 1e-3, o, r[1]);
    batch_rows(s, x, -1e-3, o, r[0]);
    for (int i = 0; i < n; i++) batch_J[i][0] = (r[1][i] - r[0][i]) / 2e-3, batch_J[i][BATCH_COLUMNS + 1] = -r[2][i];
    for (int c = 3; c < 5; c++) batch_J[n++][c + 1] = 1 / VF_START_PRIOR_TILT_RAD;
    return n;
}

/** Triangularizes columns 1..columns by Givens rotations; row c belongs to column c + 1. A fixed column gets a row with
 *  element 1. Returns the number of rows, which includes those. */
static inline int batch_triangle(int rows, int columns)
{
    for (int c = 0; c < columns; c++) {
        if (!batch_free(c)) { /* inserts the row of a fixed column */
            for (int i = rows++; i > c; i--) memcpy(batch_J[i], batch_J[i - 1], sizeof batch_J[i]);
            memset(batch_J[c], 0, sizeof batch_J[c]);
            batch_J[c][c + 1] = 1;
        }
        for (int i = c + 1; i < rows; i++) {
            const double a = batch_J[c][c + 1], b = batch_J[i][c + 1], h = hypot(a, b);
            for (int k = 0; k < BATCH_COLUMNS + 2 && b != 0; k++) {
                const double u = batch_J[c][k], v = batch_J[i][k];
                batch_J[c][k] = (a * u + b * v) / h;
                batch_J[i][k] = (a * v - b * u) / h;
            }
        }
    }
    return rows;
}

/** Solves the triangular system with right side b. */
static inline void batch_back_substitute(int columns, const double *b, double *x)
{
    for (int r = columns - 1; r >= 0; r--) {
        x[r] = b[r];
        for (int c = r + 1; c < columns; c++) x[r] -= batch_J[r][c + 1] * x[c];
        x[r] /= batch_J[r][r + 1];
    }
}

/** Covariance of the newest frame's errors: from the triangle, the scale, and the error common to the motions. Returns
 *  the variance of the time offset. */
static inline double batch_covariance(const struct vf_start *s, const struct batch_state *newest, double P[225])
{
    const int columns = 15 * (int)s->frames + 1, last = columns - 16;
    double b[BATCH_COLUMNS], x[BATCH_COLUMNS], along = 0, square = 0, C[9], variance = 0;
    memset(P, 0, 225 * sizeof *P);
    for (int c = 0; c < columns; c++) { /* columns of the inverse */
        memset(b, 0, sizeof b);
        b[c] = 1;
        batch_back_substitute(columns, b, x);
        for (int k = 0; k < 225; k++) P[k] += x[last + k / 15] * x[last + k % 15];
        variance += x[columns - 1] * x[columns - 1];
    }
    product(newest->R, s->rig.R_imu_cam, 0, C);
    for (uint32_t i = 1; i < s->frames; i++) {
        const struct vf_start_motion *m = &s->motion[i];
        if (!m->metric) continue;
        const double dt = s->frame[i].motion.dt_s, n = dot(m->t, m->t);
        double count = 0;
        for (uint32_t k = 1; k < s->frames; k++) count += s->motion[k].metric;
        square += n;
        for (int k = 0; k < 9; k++) along += m->t[k / 3] * m->t[k % 3] * m->P[6 * (k / 3) + k % 3] / n;
        for (int k = 0; k < 81; k++) {
            const int r = k / 27, c = k / 9 % 3, u = k / 3 % 3, v = k % 3;
            P[15 * (6 + r) + 6 + c] += C[3 * r + u] * m->P[6 * u + v] * C[3 * c + v] / (dt * dt * count);
            P[15 * (9 + r) + 9 + c] += s->rig.R_imu_cam[3 * r + u] * m->P[6 * (3 + u) + 3 + v] *
                                       s->rig.R_imu_cam[3 * c + v] / (dt * dt * count);
        }
    }
    for (int c = 0; c < columns; c++) b[c] = batch_J[c][0];
    batch_back_substitute(columns, b, x);
    for (int k = 0; k < 225; k++) P[k] += 4 * along / square * x[last + k / 15] * x[last + k % 15];
    return variance + 4 * along / square * x[columns - 1] * x[columns - 1];
}

/** Differences of tilt, velocity and biases between a reported state and x. */
static inline void batch_error(const vfront_nav_t *nav, const struct batch_state *x, double e[11])
{
    wide R[9];
    double w[3];
    for (int k = 0; k < 9; k++) R[k] = x->R[k];
    state_error(nav, R, x->v, w, e + 2);
    e[0] = w[0], e[1] = w[1];
    for (int k = 0; k < 3; k++) {
        e[5 + k] = x->b[k] - nav->gyro_bias_rad_s[k];
        e[8 + k] = x->b[3 + k] - nav->accel_bias_m_s2[k];
    }
}

/** Differences of the library's state from the dense solution in tilt, velocity and biases, and the dense
 *  covariance. offset: out, difference of the time offset [s], and its dense deviation [s]. */
static inline void batch_start(const struct vf_start *s, double e[11], double P[121], double offset[2])
{
    struct batch_state x[BATCH_FRAMES];
    double b[BATCH_COLUMNS], step[BATCH_COLUMNS], full[225], F[11][15], sides[2][11];
    double aa = 0, ab = 0, bb = 0; /* products of the projected scale column and residuals */
    const int columns = 15 * (int)s->frames + 1, newest = (int)s->frames - 1;
    struct batch_offset o = {0, VF_VIO_TIME_OFFSET_SIGMA_S};
    memset(x, 0, sizeof x);
    for (int i = 0; i <= newest; i++) { /* starts with an error of 0.05 in every component */
        wide R[9];
        double off[15];
        wide_matrix(s->frame[i].value.q, R);
        for (int k = 0; k < 9; k++) x[i].R[k] = (double)R[k];
        for (int k = 0; k < 3; k++) x[i].p[k] = s->frame[i].value.p[k], x[i].v[k] = s->frame[i].value.v[k];
        for (int k = 0; k < 15; k++) off[k] = batch_free(15 * i + k) ? 0.05 * normal() : 0;
        x[i] = batch_apply_step(x[i], off);
    }
    for (int round = 0; round < 8; round++) {
        const int rows = batch_triangle(batch_jacobian(s, x, &o), columns);
        aa = ab = bb = 0;
        for (int i = columns; i < rows; i++) {
            const double u = batch_J[i][0], v = batch_J[i][BATCH_COLUMNS + 1];
            aa += u * u, ab += u * v, bb += v * v;
        }
        for (int c = 0; c < columns; c++) b[c] = batch_J[c][BATCH_COLUMNS + 1];
        batch_back_substitute(columns, b, step);
        for (int i = 0; i <= newest; i++) x[i] = batch_apply_step(x[i], step + 15 * i);
        o.s += step[columns - 1];
        o.weight_s = hypot(o.s, 1 / batch_J[columns - 1][columns]);
    }
    const double chi2 = bb - ab * ab / aa;
    const double ratio = chi2 > s->dof ? chi2 / s->dof : 1, variance = batch_covariance(s, &x[newest], full);
    offset[0] = o.s - s->nav.offset_s;
    offset[1] = sqrt(ratio * variance);
    batch_error(&s->nav, &x[newest], e);
    for (int c = 0; c < 15; c++) {
        for (int side = 0; side < 2; side++) {
            double by[15] = {0};
            by[c] = side ? 1e-6 : -1e-6;
            const struct batch_state moved = batch_apply_step(x[newest], by);
            batch_error(&s->nav, &moved, sides[side]);
        }
        for (int k = 0; k < 11; k++) F[k][c] = (sides[1][k] - sides[0][k]) / 2e-6;
    }
    for (int k = 0; k < 121; k++) {
        P[k] = 0;
        for (int i = 0; i < 225; i++) P[k] += F[k / 11][i / 15] * full[i] * F[k % 11][i % 15];
        P[k] *= ratio;
    }
}

#endif
