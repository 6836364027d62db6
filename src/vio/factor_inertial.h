/* SPDX-License-Identifier: MIT */
/* Inertial factor between consecutive states: preintegral and random walks of the biases.
 *
 * In      values and linearization points of both states; the preintegral between them
 * Out     15 whitened rows of 30 columns: pose, velocity and biases of the first state, then of the second; residuals
 * Exact   double precision in one order
 */
#ifndef VF_VIO_FACTOR_INERTIAL_H
#define VF_VIO_FACTOR_INERTIAL_H

#include "window.h"

/** Number of columns of the Jacobian: errors of the earlier and the later state, each in the order of vfront_nav_t. */
#define VF_INERTIAL_COLUMNS (2 * VF_NAV_ERRORS)

/** Lower bound on the standard deviation of a preintegral on each axis [rad, m/s, m] and of a bias walk [rad/s, m/s^2].
 *  It keeps the whitening finite for an IMU with stated noise 0. */
#define VF_INERTIAL_MIN_SIGMA 1e-6

struct vf_inertial {
    double r[VF_NAV_ERRORS], J[VF_NAV_ERRORS][VF_INERTIAL_COLUMNS];
};

/** Quaternion of a rotation matrix: of four multiples of the quaternion, the longest one is normalized. */
VF_FN void vf_quaternion_of_matrix(const double R[9], double q[4])
{
    const double square[4] = {1.0 + R[0] + R[4] + R[8], 1.0 + R[0] - R[4] - R[8], 1.0 - R[0] + R[4] - R[8],
                              1.0 - R[0] - R[4] + R[8]};
    const double a = R[7] - R[5], b = R[2] - R[6], c = R[3] - R[1], d = R[3] + R[1], e = R[2] + R[6], f = R[7] + R[5];
    const double form[4][4] = {{square[0], a, b, c}, {a, square[1], d, e}, {b, d, square[2], f}, {c, e, f, square[3]}};
    int largest = 0;
    for (int k = 1; k < 4; k++)
        if (square[k] > square[largest]) largest = k;
    memcpy(q, form[largest], sizeof form[largest]);
    vf_quaternion_unit(q);
}

/** Rotation vector of the quaternion product a b^-1 [rad]. */
VF_FN void vf_quaternion_difference(const double a[4], const double b[4], double w[3])
{
    const double back[4] = {b[0], -b[1], -b[2], -b[3]};
    double q[4];
    vf_quaternion_multiply(a, back, q);
    vf_quaternion_logarithm(q, w);
}

/** out = R' v. */
VF_FN void vf_transform_transposed(const double R[9], const double v[3], double out[3])
{
    for (int r = 0; r < 3; r++) out[r] = R[r] * v[0] + R[3 + r] * v[1] + R[6 + r] * v[2];
}

/** Change of a preintegral (rotation, velocity, position) by the bias change since its preintegration, to first order.
 *  b: slot with the preintegral. */
VF_FN void vf_inertial_bias_correction(const struct vf_vio_slot *b, const double bias[6], double change[9])
{
    for (int i = 0; i < 9; i++) {
        change[i] = 0.0;
        for (int c = 0; c < 6; c++) change[i] += b->motion.J[6 * i + c] * (bias[c] - b->bias[c]);
    }
}

/** Residuals (rotation, velocity, position, biases) between the states `from` and `to`. b: slot of the later state,
 *  with the preintegral between both. */
VF_FN void vf_inertial_residual(const struct vf_vio_slot *b, const struct vf_vio_state *from,
                                const struct vf_vio_state *to, double gravity, double r[VF_NAV_ERRORS])
{
    double R[9], change[9], turn[4], expected[4], between[4], v[3], p[3], rotated[3];
    const double dt = b->motion.dt_s;
    vf_quaternion_matrix(from->q, R);
    vf_inertial_bias_correction(b, from->bias, change);
    vf_quaternion_exponential(change, turn);
    vf_quaternion_multiply(turn, b->motion.q, expected);
    const double back[4] = {from->q[0], -from->q[1], -from->q[2], -from->q[3]};
    vf_quaternion_multiply(back, to->q, between);
    vf_quaternion_difference(between, expected, r);
    for (int k = 0; k < 3; k++) {
        const double g = k == 2 ? -gravity : 0.0;
        v[k] = to->v[k] - from->v[k] - g * dt;
        p[k] = to->p[k] - from->p[k] - from->v[k] * dt - 0.5 * g * dt * dt;
    }
    vf_transform_transposed(R, v, rotated);
    for (int k = 0; k < 3; k++) r[3 + k] = rotated[k] - b->motion.v[k] - change[3 + k];
    vf_transform_transposed(R, p, rotated);
    for (int k = 0; k < 3; k++) r[6 + k] = rotated[k] - b->motion.p[k] - change[6 + k];
    for (int k = 0; k < 6; k++) r[9 + k] = to->bias[k] - from->bias[k];
}

/** Writes a 3x3 block of the Jacobian at (row, column): sign R', or sign R' [x] if a vector x is given. */
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

/** Computes the Jacobian of the residuals at the states `from` and `to`, not whitened. */
VF_FN void vf_inertial_jacobian(struct vf_inertial *f, const struct vf_vio_slot *b, const struct vf_vio_state *from,
                                const struct vf_vio_state *to, double gravity)
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

/** Computes the Cholesky factor L of a preintegral's covariance P, L L' = P + VF_INERTIAL_MIN_SIGMA^2 I, and 1 /
 *  diagonal of L. */
VF_FN void vf_inertial_cholesky(const double P[81], double L[81], double inverse_diagonal[9])
{
    const double min_variance = 0.5 * VF_INERTIAL_MIN_SIGMA * VF_INERTIAL_MIN_SIGMA;
    for (int i = 0; i < 9; i++)
        for (int j = 0; j <= i; j++) {
            double sum = P[9 * i + j] + (i == j ? VF_INERTIAL_MIN_SIGMA * VF_INERTIAL_MIN_SIGMA : 0.0);
            for (int k = 0; k < j; k++) sum -= L[9 * i + k] * L[9 * j + k];
            L[9 * i + j] = i == j ? sqrt(sum > min_variance ? sum : min_variance) : sum * inverse_diagonal[j];
            if (i == j) inverse_diagonal[i] = 1.0 / L[9 * i + i];
        }
}

VF_FN void vf_inertial_whitening_of(struct vf_inertial_whitening *whitening, const struct vf_preintegral *motion,
                                    const vfront_imu_noise_t *noise)
{
    vf_inertial_cholesky(motion->P, whitening->L, whitening->inverse_diagonal);
    for (int k = 0; k < 2; k++) {
        const double walk = k ? noise->accel_walk : noise->gyro_walk;
        whitening->inverse_walk[k] = 1.0 /
                                     sqrt(walk * walk * motion->dt_s + VF_INERTIAL_MIN_SIGMA * VF_INERTIAL_MIN_SIGMA);
    }
}

/** Whitens column c of the Jacobian; c = VF_INERTIAL_COLUMNS: the residuals. */
VF_FN void vf_inertial_whiten(struct vf_inertial *f, const struct vf_inertial_whitening *whitening, int c)
{
    double x[VF_NAV_ERRORS];
    for (int i = 0; i < VF_NAV_ERRORS; i++) x[i] = c < VF_INERTIAL_COLUMNS ? f->J[i][c] : f->r[i];
    for (int i = 0; i < 9; i++) {
        for (int k = 0; k < i; k++) x[i] -= whitening->L[9 * i + k] * x[k];
        x[i] *= whitening->inverse_diagonal[i];
    }
    for (int i = 9; i < VF_NAV_ERRORS; i++) x[i] *= whitening->inverse_walk[i >= 12];
    for (int i = 0; i < VF_NAV_ERRORS; i++) {
        if (c < VF_INERTIAL_COLUMNS)
            f->J[i][c] = x[i];
        else
            f->r[i] = x[i];
    }
}

/** Computes the Jacobian between consecutive states a and b at their linearization points. In a stationary interval,
 *  both positions are set equal and both velocities to 0, so that tilt does not become observable through the
 *  accelerometer bias. */
VF_FN void vf_inertial_linearize(struct vf_inertial *f, const struct vf_vio_slot *a, const struct vf_vio_slot *b,
                                 const vfront_imu_noise_t *noise)
{
    struct vf_vio_state from = a->prior ? a->first : a->value, to = b->prior ? b->first : b->value;
    for (int k = 0; k < 3 && b->stationary; k++) {
        to.p[k] = from.p[k];
        to.v[k] = from.v[k] = 0.0;
    }
    vf_inertial_jacobian(f, b, &from, &to, noise->gravity_m_s2);
}

/** Computes residuals and Jacobian between consecutive states a and b, not whitened. */
VF_FN void vf_inertial_evaluate(struct vf_inertial *f, const struct vf_vio_slot *a, const struct vf_vio_slot *b,
                                const vfront_imu_noise_t *noise)
{
    memset(f, 0, sizeof *f);
    vf_inertial_residual(b, &a->value, &b->value, noise->gravity_m_s2, f->r);
    vf_inertial_linearize(f, a, b, noise);
}

/** Computes whitened residuals and whitened Jacobian between consecutive states a and b. */
VF_FN void vf_inertial_whitened(struct vf_inertial *f, const struct vf_vio_slot *a, const struct vf_vio_slot *b,
                                const vfront_imu_noise_t *noise)
{
    struct vf_inertial_whitening whitening;
    vf_inertial_evaluate(f, a, b, noise);
    vf_inertial_whitening_of(&whitening, &b->motion, noise);
    for (int c = 0; c <= VF_INERTIAL_COLUMNS; c++) vf_inertial_whiten(f, &whitening, c);
}

#endif
