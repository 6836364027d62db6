/* SPDX-License-Identifier: MIT */
/* Start: all errors of its frames together, by linear least squares in square-root form.
 *
 * In      frames with their preintegrals and motions, values of their states
 * Out     values moved by the solution; rows of the newest frame's errors and of the scale, of deviation 1
 * Exact   double precision in one order
 */
#ifndef VF_START_SOLVE_H
#define VF_START_SOLVE_H

#include "start.h"

/** Rows of a motion into s->factor and s->by_scale, divided by their deviations: translation, rotation; predicted -
 *  measured. */
VF_FN void vf_start_motion_rows(struct vf_start *s, const struct vf_start_motion *m, const struct vf_window_value *a,
                                const struct vf_window_value *b)
{
    struct vf_inertial *f = &s->factor;
    double A[9], B[9], W[9], lever[2][3], apart[3], arm[3], c[4], seen[4], r[6], back[4];
    memset(f, 0, sizeof *f);
    vf_quaternion_matrix(a->q, A);
    vf_quaternion_matrix(b->q, B);
    vf_relative_product(B, s->rig.R_imu_cam, W); /* from camera axes now to those of the world */
    vf_transform_double(A, s->rig.p_imu_cam_m, lever[0]);
    vf_transform_double(B, s->rig.p_imu_cam_m, lever[1]);
    for (int k = 0; k < 3; k++) {
        apart[k] = a->p[k] + lever[0][k] - b->p[k] - lever[1][k];
        arm[k] = apart[k] + lever[1][k];
    }
    vf_transform_back(W, apart, r);
    vf_window_quaternion(s->rig.R_imu_cam, c);
    vf_quaternion_multiply(b->q, c, back);
    for (int k = 1; k < 4; k++) back[k] = -back[k];
    vf_quaternion_multiply(a->q, c, seen);
    vf_quaternion_multiply(back, seen, seen);
    vf_window_turn_between(seen, m->q, r + 3);
    for (int k = 0; k < 3; k++) r[k] -= m->t[k];
    vf_inertial_block(f, 0, VF_NAV_P, W, NULL, 1.0);
    vf_inertial_block(f, 0, VF_NAV_ERRORS + VF_NAV_P, W, NULL, -1.0);
    vf_inertial_block(f, 0, VF_NAV_W, W, lever[0], -1.0);
    vf_inertial_block(f, 0, VF_NAV_ERRORS + VF_NAV_W, W, arm, 1.0);
    vf_inertial_block(f, 3, VF_NAV_W, W, NULL, 1.0);
    vf_inertial_block(f, 3, VF_NAV_ERRORS + VF_NAV_W, W, NULL, -1.0);
    for (int k = 0; k < 6; k++) s->by_scale[k] = k < 3 && m->metric ? -m->t[k] : 0.0;
    vf_solve_forward(m->L, r, 6, 6);
    vf_solve_forward(m->L, s->by_scale, 6, 6);
    memcpy(f->r, r, sizeof r);
    for (int c2 = 0; c2 < VF_INERTIAL_COLUMNS; c2++) {
        for (int k = 0; k < 6; k++) r[k] = f->J[k][c2];
        vf_solve_forward(m->L, r, 6, 6);
        for (int k = 0; k < 6; k++) f->J[k][c2] = r[k];
    }
}

/** Rows of s->factor into the elimination, from `first` on. */
VF_FN void vf_start_put(struct vf_start *s, int first, int rows, const double *by_scale)
{
    for (int r = 0; r < rows; r++) {
        memcpy(s->row[first + r], s->factor.J[r], sizeof s->factor.J[r]);
        s->row[first + r][VF_START_COLUMNS - 2] = by_scale ? by_scale[r] : 0.0;
        s->row[first + r][VF_START_COLUMNS - 1] = -s->factor.r[r];
    }
}

/** Rows of the first frame by what is known before. */
VF_FN void vf_start_first_rows(struct vf_start *s)
{
    const struct vf_window_value *x = &s->frame[0].value;
    memset(s->last, 0, sizeof s->last);
    for (int k = 0; k < VF_NAV_ERRORS; k++) {
        const int part = k % 3, held = k < VF_NAV_W || k == VF_NAV_W + 2;
        const double sigma = held               ? 1.0
                             : k < VF_NAV_V     ? VF_START_ANY_RAD
                             : k < VF_NAV_GYRO  ? VF_START_ANY_MPS
                             : k < VF_NAV_ACCEL ? VF_START_GYRO_RAD_S
                                                : VF_START_ACCEL_M_S2;
        const double off = k < VF_NAV_V ? 0.0 : k < VF_NAV_GYRO ? x->v[part] : x->bias[k - VF_NAV_GYRO];
        s->last[k][k] = 1.0 / sigma;
        s->last[k][VF_START_KEPT] = -off / sigma;
    }
}

/** Upper triangle of the rows, by Householder's reflections of all columns but the right side. */
VF_FN void vf_start_reflect(double row[VF_START_ROWS][VF_START_COLUMNS])
{
    for (int c = 0; c < VF_START_COLUMNS - 1; c++) {
        double sum = 0.0;
        for (int r = c; r < VF_START_ROWS; r++) sum += row[r][c] * row[r][c];
        const double head = row[c][c], length = sqrt(sum), alpha = head > 0.0 ? -length : length;
        const double scale = sum - head * alpha; /* half the square of the reflected vector */
        if (!(scale > 0.0)) continue;
        row[c][c] = head - alpha;
        for (int k = c + 1; k < VF_START_COLUMNS; k++) {
            double dot = 0.0;
            for (int r = c; r < VF_START_ROWS; r++) dot += row[r][c] * row[r][k];
            dot /= scale;
            for (int r = c; r < VF_START_ROWS; r++) row[r][k] -= dot * row[r][c];
        }
        row[c][c] = alpha;
        for (int r = c + 1; r < VF_START_ROWS; r++) row[r][c] = 0.0;
    }
}

/** Rows carried from frame i - 1 into the elimination: its errors, the scale, the right side. */
VF_FN void vf_start_carry(struct vf_start *s)
{
    memset(s->row, 0, sizeof s->row);
    for (int r = 0; r < VF_START_KEPT; r++) {
        memcpy(s->row[r], s->last[r], VF_NAV_ERRORS * sizeof(double));
        s->row[r][VF_START_COLUMNS - 2] = s->last[r][VF_NAV_ERRORS];
        s->row[r][VF_START_COLUMNS - 1] = s->last[r][VF_START_KEPT];
    }
}

/** Elimination of all frames but the newest; returns the sum of squared residuals of the linear solution, with the
 *  scale that makes it least. */
VF_FN double vf_start_eliminate(struct vf_start *s)
{
    const int first = VF_START_KEPT;
    double chi2 = 0.0;
    vf_start_first_rows(s);
    for (uint32_t i = 1; i < s->frames; i++) {
        const struct vf_window_slot *a = &s->frame[i - 1], *b = a + 1;
        vf_start_carry(s);
        vf_inertial_of(&s->factor, a, b, &s->noise);
        vf_start_put(s, first, VF_NAV_ERRORS, NULL);
        if (s->motion[i].informs) {
            vf_start_motion_rows(s, &s->motion[i], &a->value, &b->value);
            vf_start_put(s, first + VF_NAV_ERRORS, 6, s->by_scale);
        }
        if (i == 1) /* position and yaw of the first frame have no error */
            for (int r = first; r < VF_START_ROWS; r++)
                s->row[r][0] = s->row[r][1] = s->row[r][2] = s->row[r][VF_NAV_W + 2] = 0.0;
        vf_start_reflect(s->row);
        memcpy(s->kept[i - 1], s->row, sizeof s->kept[i - 1]);
        for (int r = 0; r < VF_START_KEPT; r++)
            memcpy(s->last[r], &s->row[VF_NAV_ERRORS + r][VF_NAV_ERRORS], sizeof s->last[r]);
        for (int r = VF_START_COLUMNS - 1; r < VF_START_ROWS; r++)
            chi2 += s->row[r][VF_START_COLUMNS - 1] * s->row[r][VF_START_COLUMNS - 1];
    }
    return chi2;
}

/** Quaternion of a rotation vector, whose part beyond 1.5 rad is left out. */
VF_FN void vf_start_turn(const double w[3], double q[4])
{
    const double size = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]), part = size > 1.5 ? 1.5 / size : 1.0;
    const double v[3] = {part * w[0], part * w[1], part * w[2]};
    vf_quaternion_exponential(v, q);
}

/** Values moved by their errors. */
VF_FN void vf_start_move(struct vf_window_value *x, const double e[VF_NAV_ERRORS])
{
    double q[4];
    vf_start_turn(e + VF_NAV_W, q);
    vf_quaternion_multiply(q, x->q, x->q);
    vf_quaternion_unit(x->q);
    for (int k = 0; k < 3; k++) {
        x->p[k] += e[VF_NAV_P + k];
        x->v[k] += e[VF_NAV_V + k];
    }
    for (int k = 0; k < 6; k++) x->bias[k] += e[VF_NAV_GYRO + k];
}

/** Errors of all frames, from the newest to the oldest, that of the scale being 0; all are moved by them. Returns the
 *  square of the newest frame's move over its covariance. */
VF_FN double vf_start_back(struct vf_start *s)
{
    double e[2 * VF_NAV_ERRORS], size = 0.0; /* of a frame and the next one */
    const int n = VF_NAV_ERRORS;
    memset(e, 0, sizeof e);
    for (int i = (int)s->frames - 1; i >= 0; i--) {
        const int newest = i == (int)s->frames - 1;
        for (int r = n - 1; r >= 0; r--) {
            const double *row = newest ? s->last[r] : s->kept[i][r];
            double sum = row[newest ? VF_START_KEPT : VF_START_COLUMNS - 1];
            if (newest) size += sum * sum;
            for (int c = r + 1; c < (newest ? n : 2 * n); c++) sum -= row[c] * e[c];
            e[r] = sum / row[r];
        }
        vf_start_move(&s->frame[i].value, e);
        for (int r = 0; r < n; r++) e[n + r] = e[r];
    }
    return size;
}

/** Covariance of the newest frame's errors, row-major: S S' + g g', S the inverse of the triangle, g what a deviation
 *  of the scale does to them. */
VF_FN void vf_start_covariance(const struct vf_start *s, double P[225])
{
    enum { N = VF_NAV_ERRORS };
    double S[N * N], g[N];
    memset(S, 0, sizeof S);
    memset(g, 0, sizeof g);
    for (int c = 0; c < N; c++)
        for (int r = c; r >= 0; r--) {
            double sum = r == c ? 1.0 : 0.0;
            for (int k = r + 1; k <= c; k++) sum -= s->last[r][k] * S[N * k + c];
            S[N * r + c] = sum / s->last[r][r];
            g[r] += S[N * r + c] * s->last[c][N] * s->scale;
        }
    for (int i = 0; i < N; i++)
        for (int j = i; j < N; j++) {
            double sum = g[i] * g[j];
            for (int k = j; k < N; k++) sum += S[N * i + k] * S[N * j + k];
            P[N * i + j] = sum;
        }
    vf_imu_mirror(P, N);
}

#endif
