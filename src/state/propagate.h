/* SPDX-License-Identifier: MIT */
/* A state carried over a preintegral: pose, velocity, and the covariance of all 15 errors. The order of the errors and
 * what they mean are those of vfront_nav_t.
 *
 * Rule    position, velocity and attitude by the preintegral and gravity. Covariance F P F' + G Q G': F from how the
 *         preintegral turns with the attitude and from its derivatives by the biases; Q its covariance. The biases walk
 *         by half before and by half after, which gives their correlation with the rest to first order
 * Exact   double precision in one order, roots and quotients correctly rounded
 * Cost    1 us on one core of a server
 */
#ifndef VF_PROPAGATE_H
#define VF_PROPAGATE_H

#include "preintegrate.h"

/** Time of one preintegral [ns]: a longer way is a chain of these, so that biases walk in small steps. */
#define VF_NAV_CHUNK_NS 100000000u

/** First of the three errors of each kind, in vfront_nav_t.covariance. */
enum { VF_NAV_P = 0, VF_NAV_W = 3, VF_NAV_V = 6, VF_NAV_GYRO = 9, VF_NAV_ACCEL = 12, VF_NAV_ERRORS = 15 };

/** Index of row i, column j of the upper triangle, i <= j. */
VF_FN int vf_nav_index(int i, int j) { return i * VF_NAV_ERRORS - i * (i - 1) / 2 + j - i; }

/** Covariance of a state, whole, of its upper triangle. */
VF_FN void vf_nav_whole(const double upper[120], double P[225])
{
    for (int i = 0, k = 0; i < VF_NAV_ERRORS; i++)
        for (int j = i; j < VF_NAV_ERRORS; j++, k++) P[i * VF_NAV_ERRORS + j] = P[j * VF_NAV_ERRORS + i] = upper[k];
}

/** Upper triangle of a covariance of a state. */
VF_FN void vf_nav_upper(const double P[225], double upper[120])
{
    for (int i = 0, k = 0; i < VF_NAV_ERRORS; i++)
        for (int j = i; j < VF_NAV_ERRORS; j++, k++) upper[k] = P[i * VF_NAV_ERRORS + j];
}

/** out = A B, of `rows` rows of A, its first `columns` columns and as many rows of B; B and out are 15 wide, A `width`.
 *  Each element is summed from 0 in the order of the columns of A; out may be A. */
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

/** Row of a preintegral's errors to which a row of a state's belongs: 0..8 of the former. */
VF_FN int vf_nav_row(int of_preintegral)
{
    return of_preintegral < VF_ROW_V   ? VF_NAV_W + of_preintegral
           : of_preintegral < VF_ROW_P ? VF_NAV_V + of_preintegral - VF_ROW_V
                                       : VF_NAV_P + of_preintegral - VF_ROW_P;
}

/** out = R B, of 3x3 blocks of matrices with rows of the given widths. */
VF_FN void vf_nav_turn(const double R[9], const double *B, int width, double *out, int out_width)
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out[r * out_width + c] = R[3 * r] * B[c] + R[3 * r + 1] * B[width + c] + R[3 * r + 2] * B[2 * width + c];
}

/** Block of a linear map: minus the cross product by v. */
VF_FN void vf_nav_cross(double *block, const double v[3])
{
    const double M[9] = {0.0, v[2], -v[1], -v[2], 0.0, v[0], v[1], -v[0], 0.0};
    for (int k = 0; k < 9; k++) block[k / 3 * VF_NAV_ERRORS + k % 3] = M[k];
}

/** F: errors after a preintegral by those before it. R: attitude before it; v, p: the preintegral's, turned by R. */
VF_FN void vf_nav_map(double F[225], const struct vf_preintegral *d, const double R[9], const double v[3],
                      const double p[3])
{
    memset(F, 0, 225 * sizeof *F);
    for (int i = 0; i < VF_NAV_ERRORS; i++) F[i * VF_NAV_ERRORS + i] = 1.0;
    for (int k = 0; k < 3; k++) F[(VF_NAV_P + k) * VF_NAV_ERRORS + VF_NAV_V + k] = d->dt_s;
    vf_nav_cross(&F[VF_NAV_V * VF_NAV_ERRORS + VF_NAV_W], v);
    vf_nav_cross(&F[VF_NAV_P * VF_NAV_ERRORS + VF_NAV_W], p);
    for (int row = 0; row < 9; row += 3) {
        double *to = &F[vf_nav_row(row) * VF_NAV_ERRORS];
        vf_nav_turn(R, &d->J[6 * row + VF_COLUMN_GYRO], 6, to + VF_NAV_GYRO, VF_NAV_ERRORS);
        vf_nav_turn(R, &d->J[6 * row + VF_COLUMN_ACCEL], 6, to + VF_NAV_ACCEL, VF_NAV_ERRORS);
    }
}

/** Variance of the biases' walk over a time, added to a covariance. */
VF_FN void vf_nav_walk(double P[225], const vfront_imu_noise_t *noise, double dt_s)
{
    for (int k = 0; k < 3; k++) {
        P[(VF_NAV_GYRO + k) * (VF_NAV_ERRORS + 1)] += noise->gyro_walk * noise->gyro_walk * dt_s;
        P[(VF_NAV_ACCEL + k) * (VF_NAV_ERRORS + 1)] += noise->accel_walk * noise->accel_walk * dt_s;
    }
}

/** Variance that comes out below 0: set to 0 if rounding can have done that, which is 1e-6 of the largest variance that
 *  errors of these deviations can add up to. Returns 0 if it cannot. before: diagonal of the covariance before; row: of
 *  F. */
VF_FN int vf_nav_mend(double *variance, const double before[15], const double row[15])
{
    double most = 0.0;
    if (*variance >= 0.0) return 1;
    for (int k = 0; k < VF_NAV_ERRORS; k++) most += (row[k] < 0.0 ? -row[k] : row[k]) * sqrt(before[k]);
    const int good = *variance >= -1e-6 * most * most;
    *variance = 0.0;
    return good;
}

/** P <- F P F'. Rows of the biases are those of the identity. Returns 0 if P was no covariance. */
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
    for (int i = 0; i < VF_NAV_GYRO; i++) good &= vf_nav_mend(&P[i * n + i], before, &F[i * n]);
    vf_imu_mirror(P, n);
    return good;
}

/** Covariance of a preintegral, turned by R, added to that of a state. */
VF_FN void vf_nav_add(double P[225], const struct vf_preintegral *d, const double R[9])
{
    double half[81], turned[81];
    for (int row = 0; row < 9; row += 3)
        for (int column = 0; column < 9; column += 3) {
            vf_nav_turn(R, &d->P[9 * row + column], 9, &half[9 * row + column], 9);
            for (int r = 0; r < 3; r++) /* times R transposed: the columns as rows */
                for (int c = 0; c < 3; c++)
                    turned[9 * (row + r) + column + c] = half[9 * (row + r) + column] * R[3 * c] +
                                                         half[9 * (row + r) + column + 1] * R[3 * c + 1] +
                                                         half[9 * (row + r) + column + 2] * R[3 * c + 2];
        }
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++) P[vf_nav_row(i) * VF_NAV_ERRORS + vf_nav_row(j)] += turned[9 * i + j];
}

/** State carried over a preintegral, made with its biases; the time is not touched. Returns 0 if its covariance was
 *  none. */
VF_FN int vf_nav_advance(vfront_nav_t *nav, const vfront_imu_noise_t *noise, const struct vf_preintegral *d)
{
    double R[9], v[3], p[3], F[225], P[225];
    const double dt = d->dt_s;
    vf_quaternion_matrix(nav->q_odom_imu, R);
    vf_transform_double(R, d->v, v);
    vf_transform_double(R, d->p, p);
    vf_nav_whole(nav->covariance, P);
    vf_nav_map(F, d, R, v, p);
    vf_nav_walk(P, noise, 0.5 * dt);
    const int good = vf_nav_transform(P, F);
    vf_nav_walk(P, noise, 0.5 * dt);
    vf_nav_add(P, d, R);
    vf_nav_upper(P, nav->covariance);
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
