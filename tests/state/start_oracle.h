/* SPDX-License-Identifier: MIT */
/* A start as one dense problem: residuals from their definitions, derivatives by differences, Givens' rotations of all
 * rows at once. Its preintegrals and motions are those of the start. */
#ifndef START_ORACLE_H
#define START_ORACLE_H

#include "start_draw.h"

enum { WHOLE_FRAMES = 8, WHOLE_COLUMNS = 15 * WHOLE_FRAMES, WHOLE_ROWS = 21 * WHOLE_FRAMES };

/** State of a frame. */
struct whole_state {
    double R[9], p[3], v[3], b[6];
};

/** r <- L^-1 r, L L' = P, P n x n in the upper left of rows of `width`. */
static inline void whole_whiten(const double *P, int n, int width, double *r)
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

/** Residuals of a preintegral: rotation, velocity, position, biases; over their deviations. */
static inline void whole_imu(const struct vf_preintegral *d, const vfront_imu_noise_t *noise,
                             const struct whole_state *a, const struct whole_state *b, double r[15])
{
    double P[81], change[9], D[9], expected[9], seen[9], u[3], q[9];
    wide W[9];
    for (int i = 0; i < 9; i++) {
        change[i] = 0;
        for (int k = 0; k < 6; k++) change[i] += d->J[6 * i + k] * a->b[k];
        for (int k = 0; k < 9; k++) P[9 * i + k] = d->P[9 * i + k] + (i == k ? 1e-12 : 0);
    }
    wide_matrix(d->q, W);
    for (int k = 0; k < 9; k++) q[k] = (double)W[k];
    rotation_of(change, D);
    product(D, q, 0, expected);
    for (int i = 0; i < 9; i++) {
        seen[i] = 0;
        for (int k = 0; k < 3; k++) seen[i] += a->R[3 * k + i / 3] * b->R[3 * k + i % 3];
    }
    rotation_between(seen, expected, r);
    for (int m = 0; m < 2; m++) {
        const double *by = m ? d->p : d->v;
        for (int k = 0; k < 3; k++) {
            const double g = k == 2 ? noise->gravity_m_s2 : 0;
            u[k] = m ? b->p[k] - a->p[k] - a->v[k] * d->dt_s + g * d->dt_s * d->dt_s / 2
                     : b->v[k] - a->v[k] + g * d->dt_s;
        }
        for (int k = 0; k < 3; k++)
            r[3 + 3 * m + k] = a->R[k] * u[0] + a->R[3 + k] * u[1] + a->R[6 + k] * u[2] - by[k] - change[3 + 3 * m + k];
    }
    whole_whiten(P, 9, 9, r);
    for (int k = 0; k < 6; k++) {
        const double walk = k < 3 ? noise->gyro_walk : noise->accel_walk;
        r[9 + k] = (b->b[k] - a->b[k]) / sqrt(walk * walk * d->dt_s + 1e-12);
    }
}

/** Residuals of a motion: translation, rotation; over their deviations. */
static inline void whole_motion(const struct vf_window_rig *rig, const struct vf_start_motion *m,
                                const struct whole_state *a, const struct whole_state *b, double scale, double r[6])
{
    struct wide_motion y[2];
    double R[9], t[3];
    for (int k = 0; k < 9; k++) y[0].y[k] = a->R[k], y[1].y[k] = b->R[k];
    for (int k = 0; k < 3; k++) y[0].y[12 + k] = a->p[k], y[1].y[12 + k] = b->p[k];
    motion_of(rig, &y[0], &y[1], R, t);
    for (int k = 0; k < 3; k++) r[k] = t[k] - (1 + scale) * m->t[k];
    rotation_between(R, m->R, r + 3);
    whole_whiten(m->P, 6, 6, r);
}

/** All residuals; returns their number. */
static inline int whole_rows(const struct vf_start *s, const struct whole_state *x, double scale, double *r)
{
    int n = 0;
    for (uint32_t i = 1; i < s->frames; i++) {
        whole_imu(&s->frame[i].motion, &s->noise, &x[i - 1], &x[i], r + n);
        n += 15;
        if (!s->motion[i].metric) continue;
        whole_motion(&s->rig, &s->motion[i], &x[i - 1], &x[i], scale, r + n);
        n += 6;
    }
    for (int k = 0; k < 3; k++) {
        r[n++] = x[0].v[k] / VF_START_ANY_MPS;
        r[n++] = x[0].b[k] / VF_START_GYRO_RAD_S;
        r[n++] = x[0].b[3 + k] / VF_START_ACCEL_M_S2;
    }
    return n;
}

/** State moved by errors, in the order of vfront_nav_t. */
static inline struct whole_state whole_moved(struct whole_state x, const double e[15])
{
    double E[9];
    rotation_of(e + 3, E);
    product(E, x.R, 0, x.R);
    for (int k = 0; k < 3; k++) x.p[k] += e[k], x.v[k] += e[6 + k];
    for (int k = 0; k < 6; k++) x.b[k] += e[9 + k];
    return x;
}

/** Columns that are free: all but position and yaw of the first frame. */
static inline int whole_free(int column) { return column == 3 || column == 4 || column > 5; }

/** Derivatives of all rows by all errors, with rows for the first tilt; column 0: by the scale; last: -residuals. */
static double whole_J[WHOLE_ROWS][WHOLE_COLUMNS + 2];

/** Fills them in; returns the number of rows. */
static inline int whole_derive(const struct vf_start *s, struct whole_state *x)
{
    static double r[3][WHOLE_ROWS];
    const int columns = 15 * (int)s->frames;
    int n = whole_rows(s, x, 0, r[2]);
    memset(whole_J, 0, sizeof whole_J);
    for (int c = 0; c < columns; c++) {
        const struct whole_state kept = x[c / 15];
        for (int side = 0; side < 2; side++) {
            double e[15] = {0};
            e[c % 15] = side ? 1e-6 : -1e-6;
            x[c / 15] = whole_moved(kept, e);
            whole_rows(s, x, 0, r[side]);
        }
        x[c / 15] = kept;
        for (int i = 0; i < n && whole_free(c); i++) whole_J[i][c + 1] = (r[1][i] - r[0][i]) / 2e-6;
    }
    whole_rows(s, x, 1e-3, r[1]);
    whole_rows(s, x, -1e-3, r[0]);
    for (int i = 0; i < n; i++) whole_J[i][0] = (r[1][i] - r[0][i]) / 2e-3, whole_J[i][WHOLE_COLUMNS + 1] = -r[2][i];
    for (int c = 3; c < 5; c++) whole_J[n++][c + 1] = 1 / VF_START_ANY_RAD;
    return n;
}

/** Triangle of the columns 1..columns, row c for column c + 1, by rotations of pairs of rows; columns that are not free
 *  have an element of 1. Returns the number of rows, which is larger by those. */
static inline int whole_triangle(int rows, int columns)
{
    for (int c = 0; c < columns; c++) {
        if (!whole_free(c)) { /* a row of its own goes in between */
            for (int i = rows++; i > c; i--) memcpy(whole_J[i], whole_J[i - 1], sizeof whole_J[i]);
            memset(whole_J[c], 0, sizeof whole_J[c]);
            whole_J[c][c + 1] = 1;
        }
        for (int i = c + 1; i < rows; i++) {
            const double a = whole_J[c][c + 1], b = whole_J[i][c + 1], h = hypot(a, b);
            for (int k = 0; k < WHOLE_COLUMNS + 2 && b != 0; k++) {
                const double u = whole_J[c][k], v = whole_J[i][k];
                whole_J[c][k] = (a * u + b * v) / h;
                whole_J[i][k] = (a * v - b * u) / h;
            }
        }
    }
    return rows;
}

/** Solution of the triangle with right side b. */
static inline void whole_back(int columns, const double *b, double *x)
{
    for (int r = columns - 1; r >= 0; r--) {
        x[r] = b[r];
        for (int c = r + 1; c < columns; c++) x[r] -= whole_J[r][c + 1] * x[c];
        x[r] /= whole_J[r][r + 1];
    }
}

/** Covariance of the newest frame's errors: of the triangle, of the scale, of what the motions share. */
static inline void whole_covariance(const struct vf_start *s, const struct whole_state *newest, double P[225])
{
    const int columns = 15 * (int)s->frames, last = columns - 15;
    double b[WHOLE_COLUMNS], x[WHOLE_COLUMNS], along = 0, square = 0, C[9];
    memset(P, 0, 225 * sizeof *P);
    for (int c = 0; c < columns; c++) { /* columns of the inverse */
        memset(b, 0, sizeof b);
        b[c] = 1;
        whole_back(columns, b, x);
        for (int k = 0; k < 225; k++) P[k] += x[last + k / 15] * x[last + k % 15];
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
    for (int c = 0; c < columns; c++) b[c] = whole_J[c][0];
    whole_back(columns, b, x);
    for (int k = 0; k < 225; k++) P[k] += 4 * along / square * x[last + k / 15] * x[last + k % 15];
}

/** Errors of tilt, velocity and biases of a state, from what a start told. */
static inline void whole_apart(const vfront_nav_t *nav, const struct whole_state *x, double e[11])
{
    wide R[9];
    double w[3];
    for (int k = 0; k < 9; k++) R[k] = x->R[k];
    apart(nav, R, x->v, w, e + 2);
    e[0] = w[0], e[1] = w[1];
    for (int k = 0; k < 3; k++) {
        e[5 + k] = x->b[k] - nav->gyro_bias_rad_s[k];
        e[8 + k] = x->b[3 + k] - nav->accel_bias_m_s2[k];
    }
}

/** Errors of a start's state from the whole solution, tilt, velocity, biases; and the whole solution's covariance. */
static inline void whole_start(const struct vf_start *s, double e[11], double P[121])
{
    struct whole_state x[WHOLE_FRAMES];
    double b[WHOLE_COLUMNS], step[WHOLE_COLUMNS], full[225], F[11][15], sides[2][11];
    double aa = 0, ab = 0, bb = 0; /* products of what is left of the scale's column and of the residuals */
    const int columns = 15 * (int)s->frames, newest = (int)s->frames - 1;
    memset(x, 0, sizeof x);
    for (int i = 0; i <= newest; i++) { /* begins off by 0.05 in everything */
        wide R[9];
        double off[15];
        wide_matrix(s->frame[i].value.q, R);
        for (int k = 0; k < 9; k++) x[i].R[k] = (double)R[k];
        for (int k = 0; k < 3; k++) x[i].p[k] = s->frame[i].value.p[k], x[i].v[k] = s->frame[i].value.v[k];
        for (int k = 0; k < 15; k++) off[k] = whole_free(15 * i + k) ? 0.05 * normal() : 0;
        x[i] = whole_moved(x[i], off);
    }
    for (int round = 0; round < 8; round++) {
        const int rows = whole_triangle(whole_derive(s, x), columns);
        aa = ab = bb = 0;
        for (int i = columns; i < rows; i++) {
            const double u = whole_J[i][0], v = whole_J[i][WHOLE_COLUMNS + 1];
            aa += u * u, ab += u * v, bb += v * v;
        }
        for (int c = 0; c < columns; c++) b[c] = whole_J[c][WHOLE_COLUMNS + 1];
        whole_back(columns, b, step);
        for (int i = 0; i <= newest; i++) x[i] = whole_moved(x[i], step + 15 * i);
    }
    const double chi2 = bb - ab * ab / aa;
    whole_covariance(s, &x[newest], full);
    whole_apart(&s->nav, &x[newest], e);
    for (int c = 0; c < 15; c++) {
        for (int side = 0; side < 2; side++) {
            double by[15] = {0};
            by[c] = side ? 1e-6 : -1e-6;
            const struct whole_state moved = whole_moved(x[newest], by);
            whole_apart(&s->nav, &moved, sides[side]);
        }
        for (int k = 0; k < 11; k++) F[k][c] = (sides[1][k] - sides[0][k]) / 2e-6;
    }
    for (int k = 0; k < 121; k++) {
        P[k] = 0;
        for (int i = 0; i < 225; i++) P[k] += F[k / 11][i / 15] * full[i] * F[k % 11][i % 15];
        P[k] *= chi2 > s->freedom ? chi2 / s->freedom : 1;
    }
}

#endif
