/* SPDX-License-Identifier: MIT */
/* Propagation of a state over a preintegral: pose, velocity and the covariance of all 15 errors. Order and meaning of
 * the errors are those of vfront_nav_t.
 *
 * Rule    position, velocity and attitude from the preintegral and gravity. Covariance F P F' + G Q G': F contains the
 *         effect of the attitude error and the bias Jacobian of the preintegral, Q is its covariance. Half of the bias
 *         random walk is added before the transition F and half after it, which gives the correlations of the random
 *         walk to first order.
 * Exact   double precision in one order, divisions and roots correctly rounded
 * Cost    1 us on one core of a server
 */
#ifndef VF_PROPAGATE_H
#define VF_PROPAGATE_H

#include "preintegrate.h"

/** Longest preintegral of a propagation [ns]. Longer intervals are split, so that the bias random walk is added in
 *  small steps. */
#define VF_NAV_PREINTEGRAL_NS 100000000u

/** Largest position [m] and velocity [m/s] of a state, on each axis; relative rounding of its covariance. */
#define VF_NAV_MAX_M 1e9
#define VF_NAV_MAX_MPS 1e5
#define VF_NAV_ROUNDING 1e-6

/** First row of each error in vfront_nav_t.covariance: position P, attitude W, velocity V, biases. VF_NAV_ERRORS:
 *  number of rows. */
enum { VF_NAV_P = 0, VF_NAV_W = 3, VF_NAV_V = 6, VF_NAV_GYRO = 9, VF_NAV_ACCEL = 12, VF_NAV_ERRORS = 15 };

/** Index of covariance element (i, j), i <= j, in the packed upper triangle. */
VF_FN int vf_nav_index(int i, int j) { return i * VF_NAV_ERRORS - i * (i - 1) / 2 + j - i; }

/** Full covariance from its upper triangle. */
VF_FN void vf_nav_unpack(const double upper[120], double P[225])
{
    for (int i = 0, k = 0; i < VF_NAV_ERRORS; i++)
        for (int j = i; j < VF_NAV_ERRORS; j++, k++) P[i * VF_NAV_ERRORS + j] = P[j * VF_NAV_ERRORS + i] = upper[k];
}

/** Upper triangle of a full covariance. */
VF_FN void vf_nav_pack(const double P[225], double upper[120])
{
    for (int i = 0, k = 0; i < VF_NAV_ERRORS; i++)
        for (int j = i; j < VF_NAV_ERRORS; j++, k++) upper[k] = P[i * VF_NAV_ERRORS + j];
}

/** out = A B with the first `rows` rows and `columns` columns of A, and the first `columns` rows of B. A has row stride
 *  `width`; B and out have 15 columns. Each sum starts at 0 and runs in column order of A; `out` may be A. */
VF_FN void vf_nav_product(const double *A, int width, int rows, int columns, const double *B, double *out)
{
    for (int r = 0; r < rows; r++) {
        double sum[VF_NAV_ERRORS];
        for (int c = 0; c < VF_NAV_ERRORS; c++) sum[c] = 0.0;
        for (int k = 0; k < columns; k++) {
            const double factor = A[r * width + k], *row = &B[k * VF_NAV_ERRORS];
            for (int c = 0; c < VF_NAV_ERRORS; c++) sum[c] += factor * row[c];
        }
        memcpy(&out[r * VF_NAV_ERRORS], sum, sizeof sum);
    }
}

/** Converts a row 0..8 of a preintegral's errors to the row of the same error among the 15 errors of a state. */
VF_FN int vf_nav_row_of(int of_preintegral)
{
    return of_preintegral < VF_ROW_V   ? VF_NAV_W + of_preintegral
           : of_preintegral < VF_ROW_P ? VF_NAV_V + of_preintegral - VF_ROW_V
                                       : VF_NAV_P + of_preintegral - VF_ROW_P;
}

/** out = R B for 3x3 blocks of matrices with the given row strides. */
VF_FN void vf_nav_rotate_block(const double R[9], const double *B, int width, double *out, int out_width)
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out[r * out_width + c] = R[3 * r] * B[c] + R[3 * r + 1] * B[width + c] + R[3 * r + 2] * B[2 * width + c];
}

/** Writes -[v], the negative cross-product matrix of v, as a 3x3 block of a 15x15 matrix. */
VF_FN void vf_nav_cross_block(double *block, const double v[3])
{
    const double M[9] = {0.0, v[2], -v[1], -v[2], 0.0, v[0], v[1], -v[0], 0.0};
    for (int k = 0; k < 9; k++) block[k / 3 * VF_NAV_ERRORS + k % 3] = M[k];
}

/** 15x15 error transition F of a state over preintegral d. R: attitude at the start of d; v, p: velocity and position
 *  of d, rotated by R. */
VF_FN void vf_nav_transition(double F[225], const struct vf_preintegral *d, const double R[9], const double v[3],
                             const double p[3])
{
    memset(F, 0, 225 * sizeof *F);
    for (int i = 0; i < VF_NAV_ERRORS; i++) F[i * VF_NAV_ERRORS + i] = 1.0;
    for (int k = 0; k < 3; k++) F[(VF_NAV_P + k) * VF_NAV_ERRORS + VF_NAV_V + k] = d->dt_s;
    vf_nav_cross_block(&F[VF_NAV_V * VF_NAV_ERRORS + VF_NAV_W], v);
    vf_nav_cross_block(&F[VF_NAV_P * VF_NAV_ERRORS + VF_NAV_W], p);
    for (int row = 0; row < 9; row += 3) {
        double *to = &F[vf_nav_row_of(row) * VF_NAV_ERRORS];
        vf_nav_rotate_block(R, &d->J[6 * row + VF_COLUMN_GYRO], 6, to + VF_NAV_GYRO, VF_NAV_ERRORS);
        vf_nav_rotate_block(R, &d->J[6 * row + VF_COLUMN_ACCEL], 6, to + VF_NAV_ACCEL, VF_NAV_ERRORS);
    }
}

/** Adds the variance of the bias random walk over dt_s to covariance P. */
VF_FN void vf_nav_add_bias_walk(double P[225], const vfront_imu_noise_t *noise, double dt_s)
{
    for (int k = 0; k < 3; k++) {
        P[(VF_NAV_GYRO + k) * (VF_NAV_ERRORS + 1)] += noise->gyro_walk * noise->gyro_walk * dt_s;
        P[(VF_NAV_ACCEL + k) * (VF_NAV_ERRORS + 1)] += noise->accel_walk * noise->accel_walk * dt_s;
    }
}

/** Sets a negative variance to 0. Returns 0 if it is too negative for a rounding error: below -1e-6 times the largest
 *  variance that the transition can give. before: variances before the transition; row: row of the transition for this
 *  variance. */
VF_FN int vf_nav_clamp_variance(double *variance, const double before[15], const double row[15])
{
    double bound = 0.0;
    if (*variance >= 0.0) return 1;
    for (int k = 0; k < VF_NAV_ERRORS; k++) bound += (row[k] < 0.0 ? -row[k] : row[k]) * sqrt(before[k]);
    const int good = *variance >= -VF_NAV_ROUNDING * bound * bound;
    *variance = 0.0;
    return good;
}

/** Propagates covariance P of a state: P <- F P F'. The bias rows of F are those of the identity. Returns 0 if P was
 *  not positive semidefinite. */
VF_FN int vf_nav_transform(double P[225], const double F[225])
{
    double M[225], turned[225], before[15];
    int good = 1;
    const int n = VF_NAV_ERRORS;
    for (int i = 0; i < n; i++) before[i] = P[i * n + i];
    vf_nav_product(F, n, VF_NAV_GYRO, n, P, M);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) turned[i * n + j] = F[j * n + i];
    for (int i = 0; i < VF_NAV_GYRO; i++)
        for (int j = VF_NAV_GYRO; j < n; j++) P[i * n + j] = M[i * n + j];
    vf_nav_product(M, n, VF_NAV_GYRO, n, turned, M);
    for (int i = 0; i < VF_NAV_GYRO; i++)
        for (int j = i; j < VF_NAV_GYRO; j++) P[i * n + j] = M[i * n + j];
    for (int i = 0; i < VF_NAV_GYRO; i++) good &= vf_nav_clamp_variance(&P[i * n + i], before, &F[i * n]);
    vf_imu_symmetrize(P, n);
    return good;
}

/** Adds the covariance of preintegral d, rotated by attitude R, to covariance P of a state. */
VF_FN void vf_nav_add_noise(double P[225], const struct vf_preintegral *d, const double R[9])
{
    double half[81], turned[81];
    for (int row = 0; row < 9; row += 3)
        for (int column = 0; column < 9; column += 3) {
            vf_nav_rotate_block(R, &d->P[9 * row + column], 9, &half[9 * row + column], 9);
            for (int r = 0; r < 3; r++) /* times R', whose columns are the rows of R */
                for (int c = 0; c < 3; c++)
                    turned[9 * (row + r) + column + c] = half[9 * (row + r) + column] * R[3 * c] +
                                                         half[9 * (row + r) + column + 1] * R[3 * c + 1] +
                                                         half[9 * (row + r) + column + 2] * R[3 * c + 2];
        }
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++) P[vf_nav_row_of(i) * VF_NAV_ERRORS + vf_nav_row_of(j)] += turned[9 * i + j];
}

/** Propagates a state over a preintegral made with the state's biases; t_ns is unchanged. Returns 0 if the state's
 *  covariance was not positive semidefinite. */
VF_FN int vf_nav_propagate(vfront_nav_t *nav, const vfront_imu_noise_t *noise, const struct vf_preintegral *d)
{
    double R[9], v[3], p[3], F[225], P[225];
    const double dt = d->dt_s;
    vf_quaternion_matrix(nav->q_odom_imu, R);
    vf_transform_double(R, d->v, v);
    vf_transform_double(R, d->p, p);
    vf_nav_unpack(nav->covariance, P);
    vf_nav_transition(F, d, R, v, p);
    vf_nav_add_bias_walk(P, noise, 0.5 * dt);
    const int good = vf_nav_transform(P, F);
    vf_nav_add_bias_walk(P, noise, 0.5 * dt);
    vf_nav_add_noise(P, d, R);
    vf_nav_pack(P, nav->covariance);
    for (int k = 0; k < 3; k++) {
        const double gravity = k == 2 ? -noise->gravity_m_s2 : 0.0;
        nav->position_m[k] += nav->velocity_mps[k] * dt + 0.5 * gravity * dt * dt + p[k];
        nav->velocity_mps[k] += gravity * dt + v[k];
    }
    vf_quaternion_multiply(nav->q_odom_imu, d->q, nav->q_odom_imu);
    vf_quaternion_unit(nav->q_odom_imu);
    nav->flags |= d->flags;
    return good;
}

#endif
