/* SPDX-License-Identifier: MIT */
/* Factors between two neighbouring states of the window: preintegral and random walks of the biases, as normal
 * equations.
 *
 * In      values of both states, and those at which derivatives are taken; the preintegral between them
 * Out     15 rows, whitened, of 30 columns: pose, velocity and biases of the first state, then of the second; cost
 * Exact   double precision in one order
 */
#ifndef VF_WINDOW_INERTIAL_H
#define VF_WINDOW_INERTIAL_H

#include "window_state.h"

/** Columns of a state's errors: as in vfront_nav_t. */
#define VF_INERTIAL_COLUMNS (2 * VF_NAV_ERRORS)

/** Least deviations of a preintegral, on each axis [rad, m/s, m], and of a bias' walk over it [rad/s, m/s^2]: those of
 *  an IMU said to be without noise. */
#define VF_INERTIAL_LEAST 1e-6

struct vf_inertial {
    double r[VF_NAV_ERRORS], J[VF_NAV_ERRORS][VF_INERTIAL_COLUMNS];
};

/** Rotation vector of a unit quaternion, to 1e-16 below 0.2 rad, to 2e-4 of it below 1 rad: 2 asin of its vector
 *  part. */
VF_FN void vf_window_logarithm(const double q[4], double w[3])
{
    const double s2 = q[1] * q[1] + q[2] * q[2] + q[3] * q[3], sign = q[0] < 0.0 ? -2.0 : 2.0;
    /* asin(s) / s, s^2 = x: sum of (2n)! / (4^n n!^2 (2n + 1)) x^n */
    double sum = 0.0, term[12];
    term[0] = 1.0;
    for (int n = 1; n < 12; n++)
        term[n] = term[n - 1] * ((2.0 * n - 1.0) * (2.0 * n - 1.0)) / ((2.0 * n) * (2.0 * n + 1.0));
    for (int n = 11; n >= 0; n--) sum = sum * s2 + term[n];
    for (int k = 0; k < 3; k++) w[k] = sign * sum * q[1 + k];
}

/** Quaternion of a rotation matrix: of four forms the one with the largest divisor. */
VF_FN void vf_window_quaternion(const double R[9], double q[4])
{
    const double square[4] = {1.0 + R[0] + R[4] + R[8], 1.0 + R[0] - R[4] - R[8], 1.0 - R[0] + R[4] - R[8],
                              1.0 - R[0] - R[4] + R[8]};
    const double a = R[7] - R[5], b = R[2] - R[6], c = R[3] - R[1], d = R[3] + R[1], e = R[2] + R[6], f = R[7] + R[5];
    const double form[4][4] = {{square[0], a, b, c}, {a, square[1], d, e}, {b, d, square[2], f}, {c, e, f, square[3]}};
    int most = 0;
    for (int k = 1; k < 4; k++)
        if (square[k] > square[most]) most = k;
    memcpy(q, form[most], sizeof form[most]);
    vf_quaternion_unit(q);
}

/** Rotation vector of a b^-1. */
VF_FN void vf_window_turn_between(const double a[4], const double b[4], double w[3])
{
    const double back[4] = {b[0], -b[1], -b[2], -b[3]};
    double q[4];
    vf_quaternion_multiply(a, back, q);
    vf_window_logarithm(q, w);
}

/** out = R' v. */
VF_FN void vf_transform_back(const double R[9], const double v[3], double out[3])
{
    for (int r = 0; r < 3; r++) out[r] = R[r] * v[0] + R[3 + r] * v[1] + R[6 + r] * v[2];
}

/** Corrections of a preintegral (w, v, p) by the change of the biases since it was made. */
VF_FN void vf_inertial_correct(const struct vf_window_slot *b, const double bias[6], double change[9])
{
    for (int i = 0; i < 9; i++) {
        change[i] = 0.0;
        for (int c = 0; c < 6; c++) change[i] += b->motion.J[6 * i + c] * (bias[c] - b->bias[c]);
    }
}

/** Residuals (w, v, p; biases) of values a and b of neighbouring states, b's preintegral between them. */
VF_FN void vf_inertial_residual(const struct vf_window_slot *b, const struct vf_window_value *from,
                                const struct vf_window_value *to, double gravity, double r[VF_NAV_ERRORS])
{
    double R[9], change[9], turn[4], expected[4], between[4], v[3], p[3], turned[3];
    const double dt = b->motion.dt_s;
    vf_quaternion_matrix(from->q, R);
    vf_inertial_correct(b, from->bias, change);
    vf_quaternion_exponential(change, turn);
    vf_quaternion_multiply(turn, b->motion.q, expected);
    const double back[4] = {from->q[0], -from->q[1], -from->q[2], -from->q[3]};
    vf_quaternion_multiply(back, to->q, between);
    vf_window_turn_between(between, expected, r);
    for (int k = 0; k < 3; k++) {
        const double g = k == 2 ? -gravity : 0.0;
        v[k] = to->v[k] - from->v[k] - g * dt;
        p[k] = to->p[k] - from->p[k] - from->v[k] * dt - 0.5 * g * dt * dt;
    }
    vf_transform_back(R, v, turned);
    for (int k = 0; k < 3; k++) r[3 + k] = turned[k] - b->motion.v[k] - change[3 + k];
    vf_transform_back(R, p, turned);
    for (int k = 0; k < 3; k++) r[6 + k] = turned[k] - b->motion.p[k] - change[6 + k];
    for (int k = 0; k < 6; k++) r[9 + k] = to->bias[k] - from->bias[k];
}

/** Block of 3x3 written into rows `row`, columns `column` on: sign R' , or sign R' [x] of a vector x where given. */
VF_FN void vf_inertial_block(struct vf_inertial *f, int row, int column, const double R[9], const double *x,
                             double sign)
{
    for (int i = 0; i < 3; i++) {
        const double a = R[i], b = R[3 + i], c = R[6 + i]; /* row i of R' */
        f->J[row + i][column] = sign * (x ? b * x[2] - c * x[1] : a);
        f->J[row + i][column + 1] = sign * (x ? c * x[0] - a * x[2] : b);
        f->J[row + i][column + 2] = sign * (x ? a * x[1] - b * x[0] : c);
    }
}

/** Derivatives of the residuals, at values from and to. */
VF_FN void vf_inertial_derive(struct vf_inertial *f, const struct vf_window_slot *b, const struct vf_window_value *from,
                              const struct vf_window_value *to, double gravity)
{
    double R[9], v[3], p[3];
    const double dt = b->motion.dt_s;
    const int second = VF_NAV_ERRORS;
    vf_quaternion_matrix(from->q, R);
    for (int k = 0; k < 3; k++) {
        const double g = k == 2 ? -gravity : 0.0;
        v[k] = to->v[k] - from->v[k] - g * dt;
        p[k] = to->p[k] - from->p[k] - from->v[k] * dt - 0.5 * g * dt * dt;
    }
    vf_inertial_block(f, 0, VF_NAV_W, R, NULL, -1.0);
    vf_inertial_block(f, 0, second + VF_NAV_W, R, NULL, 1.0);
    vf_inertial_block(f, 3, VF_NAV_W, R, v, 1.0);
    vf_inertial_block(f, 3, VF_NAV_V, R, NULL, -1.0);
    vf_inertial_block(f, 3, second + VF_NAV_V, R, NULL, 1.0);
    vf_inertial_block(f, 6, VF_NAV_W, R, p, 1.0);
    vf_inertial_block(f, 6, VF_NAV_P, R, NULL, -1.0);
    vf_inertial_block(f, 6, VF_NAV_V, R, NULL, -dt);
    vf_inertial_block(f, 6, second + VF_NAV_P, R, NULL, 1.0);
    for (int i = 0; i < 9; i++)
        for (int c = 0; c < 6; c++) f->J[i][VF_NAV_GYRO + c] = -b->motion.J[6 * i + c];
    for (int c = 0; c < 6; c++) {
        f->J[9 + c][VF_NAV_GYRO + c] = -1.0;
        f->J[9 + c][second + VF_NAV_GYRO + c] = 1.0;
    }
}

/** Lower factor of the covariance of a preintegral, L L' = P; over: 1 over its diagonal. */
VF_FN void vf_inertial_factor(const double P[81], double L[81], double over[9])
{
    const double least = VF_INERTIAL_LEAST * VF_INERTIAL_LEAST * 1e-3;
    for (int i = 0; i < 9; i++)
        for (int j = 0; j <= i; j++) {
            double sum = P[9 * i + j] + (i == j ? VF_INERTIAL_LEAST * VF_INERTIAL_LEAST : 0.0);
            for (int k = 0; k < j; k++) sum -= L[9 * i + k] * L[9 * j + k];
            L[9 * i + j] = i == j ? sqrt(sum > least ? sum : least) : sum * over[j];
            if (i == j) over[i] = 1.0 / L[9 * i + i];
        }
}

VF_FN void vf_inertial_scale_of(struct vf_inertial_scale *scale, const struct vf_preintegral *motion,
                                const vfront_imu_noise_t *noise)
{
    vf_inertial_factor(motion->P, scale->L, scale->over);
    for (int k = 0; k < 2; k++) {
        const double walk = k ? noise->accel_walk : noise->gyro_walk;
        scale->over_walk[k] = 1.0 / sqrt(walk * walk * motion->dt_s + VF_INERTIAL_LEAST * VF_INERTIAL_LEAST);
    }
}

/** A column of the rows divided by their deviations: column c of J, or, behind them, the residuals. */
VF_FN void vf_inertial_whiten(struct vf_inertial *f, const struct vf_inertial_scale *scale, int c)
{
    double x[VF_NAV_ERRORS];
    for (int i = 0; i < VF_NAV_ERRORS; i++) x[i] = c < VF_INERTIAL_COLUMNS ? f->J[i][c] : f->r[i];
    for (int i = 0; i < 9; i++) {
        for (int k = 0; k < i; k++) x[i] -= scale->L[9 * i + k] * x[k];
        x[i] *= scale->over[i];
    }
    for (int i = 9; i < VF_NAV_ERRORS; i++) x[i] *= scale->over_walk[i >= 12];
    for (int i = 0; i < VF_NAV_ERRORS; i++) {
        if (c < VF_INERTIAL_COLUMNS)
            f->J[i][c] = x[i];
        else
            f->r[i] = x[i];
    }
}

/** Derivatives of the residuals between states a and b, the next one, where the window takes them. At rest that is
 *  where b is at the place of a and neither has a velocity: of b there may be the estimate, of a the first one, and
 *  these differ by more than the places; tilt would seem to be told from the accelerometer's bias. */
VF_FN void vf_inertial_derive_at(struct vf_inertial *f, const struct vf_window_slot *a, const struct vf_window_slot *b,
                                 const vfront_imu_noise_t *noise)
{
    struct vf_window_value from = a->prior ? a->first : a->value, to = b->prior ? b->first : b->value;
    for (int k = 0; k < 3 && b->rest; k++) {
        to.p[k] = from.p[k];
        to.v[k] = from.v[k] = 0.0;
    }
    vf_inertial_derive(f, b, &from, &to, noise->gravity_m_s2);
}

/** Rows between states a and b, the next one, not whitened yet. */
VF_FN void vf_inertial_rows(struct vf_inertial *f, const struct vf_window_slot *a, const struct vf_window_slot *b,
                            const vfront_imu_noise_t *noise)
{
    memset(f, 0, sizeof *f);
    vf_inertial_residual(b, &a->value, &b->value, noise->gravity_m_s2, f->r);
    vf_inertial_derive_at(f, a, b, noise);
}

/** Factor between states a and b, the next one. */
VF_FN void vf_inertial_of(struct vf_inertial *f, const struct vf_window_slot *a, const struct vf_window_slot *b,
                          const vfront_imu_noise_t *noise)
{
    struct vf_inertial_scale scale;
    vf_inertial_rows(f, a, b, noise);
    vf_inertial_scale_of(&scale, &b->motion, noise);
    for (int c = 0; c <= VF_INERTIAL_COLUMNS; c++) vf_inertial_whiten(f, &scale, c);
}

#endif
