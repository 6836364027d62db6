/* SPDX-License-Identifier: MIT */
/* Information filter of a gyro's errors in long double: the oracle of gyro_errors.c. Inverses by Gauss and Jordan;
 * noise by its definition, a sum over all frames. */
#ifndef GYRO_ERRORS_ORACLE_H
#define GYRO_ERRORS_ORACLE_H

#include "tests/fixture/random.h"

#include <math.h>
#include <string.h>

#include "imu/gyro_errors.h"

#define N VF_GYRO_STATES

/** Standard deviation of an unknown error, and of its random walk in 1 s. */
static inline double prior_of(int i) { return i < 3 ? VF_GYRO_BIAS_RADPS : i == 3 ? VF_GYRO_OFFSET_S : VF_GYRO_SCALE; }
static inline double walk_of(int i)
{
    return i < 3 ? VF_GYRO_BIAS_WALK : i == 3 ? VF_GYRO_OFFSET_WALK : VF_GYRO_SCALE_WALK;
}

/** Inverse of a symmetric positive definite matrix by Gauss and Jordan, with pivots. Returns 0 if a pivot of L D L' is
 *  not positive. */
static inline int invert(int n, long double A[N][N], long double out[N][N])
{
    long double W[N][2 * N];
    for (int r = 0; r < n; r++)
        for (int c = 0; c < 2 * n; c++) W[r][c] = c < n ? A[r][c] : (long double)(c - n == r);
    for (int k = 0; k < n; k++) {
        const long double pivot = W[k][k];
        if (!(pivot > 0.0L)) return 0;
        for (int c = 0; c < 2 * n; c++) W[k][c] /= pivot;
        for (int r = 0; r < n; r++) {
            const long double f = W[r][k];
            for (int c = k; c < 2 * n && r != k; c++) W[r][c] -= f * W[k][c];
        }
    }
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++) out[r][c] = W[r][n + c];
    return 1;
}

#define FRAMES 40

/** Information filter: information Y of the state, and Y x. */
struct oracle {
    long double Y[N][N], y[N];
    int frames;
    double square[FRAMES], expected[FRAMES], variance[FRAMES], mean_noise[FRAMES]; /* of the innovations: the noise */
    double along[FRAMES], along_variance[FRAMES]; /* in units of a stamp's variance [s^2], for the stamps */
    double t_s;
};

/** Adds weight times exp(s w) by Rodrigues' formula. */
static inline void add_rotation(const double w[3], long double s, long double weight, long double J[3][3])
{
    const long double x = s * w[0], y = s * w[1], z = s * w[2], angle = sqrtl(x * x + y * y + z * z);
    const long double a = angle > 0.0L ? sinl(angle) / angle : 1.0L,
                      b = angle > 0.0L ? 2.0L * powl(sinl(angle / 2.0L) / angle, 2.0L) : 0.5L;
    const long double X[3][3] = {{0.0L, -z, y}, {z, 0.0L, -x}, {-y, x, 0.0L}};
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            long double square = 0.0L;
            for (int k = 0; k < 3; k++) square += X[r][k] * X[k][c];
            J[r][c] += weight * ((r == c) + a * X[r][c] + b * square);
        }
}

/** Measurement of a state, w = J (b dt + M turn), by samples at the state's offset, and its Jacobian: that of the
 *  offset is `change`. */
static inline void measurement(const struct vf_gyro_turn *turn, const long double x[N], long double h[3],
                               long double H[3][N])
{
    memset(H, 0, 3 * N * sizeof(long double));
    long double J[3][3] = {{0.0L}}; /* left Jacobian of SO(3), by Simpson's rule */
    for (int i = 0; i < 3; i++) add_rotation(turn->w, i / 2.0L, (i == 1 ? 4.0L : 1.0L) / 6.0L, J);
    for (int k = 0; k < 3; k++) {
        H[k][3] = (long double)turn->change_radps[k];
        for (int i = 0; i < 3; i++) H[k][i] = J[k][i] * (long double)turn->dt_s;
        for (int i = 0; i < 9; i++) H[k][4 + i] = J[k][i / 3] * (long double)turn->w[i % 3];
        h[k] = 0.0L;
        for (int i = 0; i < N; i++) h[k] += i == 3 ? 0.0L : H[k][i] * x[i];
    }
}

/** Noise by its definition: weighted mean of the excess of squared innovations, and 4 frames of 0.5 mrad [rad^2]. */
static inline double noise_by(const struct oracle *o)
{
    const double first = 5e-4 * 5e-4;
    double age = pow(63.0 / 64.0, o->frames), weights = age * 4.0 / first / first, sum = weights * first;
    for (int i = 0; i < o->frames; i++) {
        age = pow(63.0 / 64.0, o->frames - 1 - i);
        const double weight = age / pow(o->variance[i], 2.0);
        weights += weight;
        sum += weight * (o->square[i] - o->expected[i]) / 3.0;
    }
    return sum / weights;
}

/** Variance of the stamps by its definition: the same mean of the excess along the turn, and 4 frames of 1 ms [s^2]. */
static inline double stamp_by(const struct oracle *o)
{
    double age = pow(63.0 / 64.0, o->frames), weights = age * 4.0 / 1e-12, sum = weights * 1e-6;
    for (int i = 0; i < o->frames; i++) {
        age = pow(63.0 / 64.0, o->frames - 1 - i);
        const double weight = age / pow(o->along_variance[i], 2.0);
        weights += weight;
        sum += weight * o->along[i];
    }
    return sum / weights;
}

static inline double floored(double noise) { return fmax(noise, 1e-8); }

/** Noise of the next frame: more where the squares of the last innovations, of weights 1/8, 1/8 7/8, ..., are twice
 *  those that are expected. */
static inline double noise_now(const struct oracle *o)
{
    double recent = 0.0, by_all = 0.0;
    for (int i = 0; i < o->frames; i++) {
        const double weight = 0.125 * pow(0.875, o->frames - 1 - i);
        recent += weight * o->square[i] / 3.0;
        by_all += weight * (o->expected[i] / 3.0 + o->mean_noise[i]);
    }
    return floored(noise_by(o)) + (recent > 2.0 * by_all ? recent - by_all : 0.0);
}

/** Mean x and covariance P of the oracle's state. */
static inline void state_by(struct oracle *o, long double x[N], long double P[N][N])
{
    assert_true(invert(N, o->Y, P));
    for (int i = 0; i < N; i++) {
        x[i] = 0.0L;
        for (int j = 0; j < N; j++) x[i] += P[i][j] * o->y[j];
    }
}

/** Covariance H P H' of a rotation. */
static inline void covariance_by(long double P[N][N], long double H[3][N], long double S[N][N])
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            S[r][c] = 0.0L;
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) S[r][c] += H[r][i] * P[i][j] * H[c][j];
        }
}

static inline void begin_oracle(struct oracle *o)
{
    memset(o, 0, sizeof *o);
    for (int i = 0; i < N; i++) o->Y[i][i] = 1.0L / powl((long double)prior_of(i), 2.0L);
}

/** 1 if the camera turns by 0.1 rad/s. x: state. */
static inline int is_turning(const struct vf_gyro_turn *turn, const long double x[N])
{
    long double square = 0.0L;
    for (int k = 0; k < 3; k++) square += powl((long double)turn->w[k] / (long double)turn->dt_s + x[k], 2.0L);
    return square > 0.01L;
}

/** Gives offset and matrix the mean and covariance again that they had before a frame: x, P. */
static inline void consider(struct oracle *o, const long double x[N], long double P[N][N])
{
    long double after[N], A[N][N];
    state_by(o, after, A);
    for (int i = 3; i < N; i++) {
        after[i] = x[i];
        for (int j = 3; j < N; j++) A[i][j] = P[i][j];
    }
    assert_true(invert(N, A, o->Y));
    for (int i = 0; i < N; i++) {
        o->y[i] = 0.0L;
        for (int j = 0; j < N; j++) o->y[i] += o->Y[i][j] * after[j];
    }
}

/** Adds a frame. out: squared norm of its innovation; covariance of the rotation with noise, before the frame is
 *  added. */
static inline void oracle_frame(struct oracle *o, const struct vf_gyro_turn *turn, const double z[3],
                                const float own[6], double t_s, double covariance[6])
{
    long double x[N], P[N][N], h[3], H[3][N], S[N][N], R[N][N], W[N][N], v[3];
    const double noise = noise_now(o), mean_noise = floored(noise_by(o)), stamp = fmax(stamp_by(o), 0.0);
    double axis[3], ends[2][3], along = 0.0, without = 0.0;
    state_by(o, x, P);
    measurement(turn, x, h, H);
    for (int i = 0; i < N; i++)
        P[i][i] += o->frames ? powl((long double)walk_of(i), 2.0L) * (long double)(t_s - o->t_s) : 0.0L;
    assert_true(invert(N, P, o->Y));
    for (int i = 0; i < N; i++) {
        o->y[i] = 0.0L;
        for (int j = 0; j < N; j++) o->y[i] += o->Y[i][j] * x[j];
    }
    covariance_by(P, H, S);
    for (int k = 0; k < 3; k++) {
        axis[k] = turn->w[k] + (double)x[k] * turn->dt_s;
        ends[0][k] = axis[k] / turn->dt_s - turn->change_radps[k] / 2;
        ends[1][k] = axis[k] / turn->dt_s + turn->change_radps[k] / 2;
        along += axis[k] * (z[k] - (double)h[k]);
    }
    double unit = 0.0; /* of a stamp's variance, along the turn */
    for (int i = 0; i < 2; i++) unit += pow(axis[0] * ends[i][0] + axis[1] * ends[i][1] + axis[2] * ends[i][2], 2.0);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            const double own_rc =
                (double)own[r < c ? 3 * r - r * (r - 1) / 2 + c - r : 3 * c - c * (c - 1) / 2 + r - c];
            without += axis[r] * ((double)S[r][c] + own_rc + (r == c ? noise : 0.0)) * axis[c];
        }
    double square = 0.0, expected = 0.0;
    for (int r = 0, i = 0; r < 3; r++) {
        v[r] = (long double)z[r] - h[r];
        square += (double)(v[r] * v[r]);
        for (int k = 0; k < N; k++) v[r] += H[r][k] * x[k];
        for (int c = r; c < 3; c++, i++) {
            const double by_stamps = stamp * (ends[0][r] * ends[0][c] + ends[1][r] * ends[1][c]);
            covariance[i] = (double)S[r][c] + by_stamps + (r == c ? noise : 0.0);
            R[r][c] = R[c][r] = (long double)(own[i] + by_stamps + (r == c ? noise : 0.0));
        }
        expected += (double)S[r][r] + (double)R[r][r] - noise;
    }
    assert_true(invert(3, R, W));
    for (int i = 0; i < N; i++)
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) {
                o->y[i] += H[r][i] * W[r][c] * v[c];
                for (int j = 0; j < N; j++) o->Y[i][j] += H[r][i] * W[r][c] * H[c][j];
            }
    if (!is_turning(turn, x)) consider(o, x, P);
    o->along[o->frames] = (along * along - without) / unit;
    o->along_variance[o->frames] = without / unit + stamp;
    o->square[o->frames] = square;
    o->expected[o->frames] = expected;
    o->mean_noise[o->frames] = mean_noise;
    o->variance[o->frames++] = expected / 3.0 + noise;
    o->t_s = t_s;
}

#endif
