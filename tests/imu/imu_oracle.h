/* SPDX-License-Identifier: MIT */
/* Reference integration of IMU samples in long double: fourth-order Runge-Kutta in fine steps, on a rotation matrix. It
 * shares no arithmetic with the library. */
#ifndef IMU_ORACLE_H
#define IMU_ORACLE_H

#include <math.h>
#include <string.h>

#include "tests/fixture/rigid.h"

typedef long double wide;

/** Motion of the IMU: y[0..8] rotation matrix, row-major; y[9..11] velocity; y[12..14] position. Axes: those at the
 *  start, or the world's. */
struct wide_motion {
    wide y[15];
};

/** Time derivative of a motion for angular rate w and specific force f in IMU axes; gravity g along -z. */
static inline void wide_slope(const wide y[15], const wide w[3], const wide f[3], wide g, wide out[15])
{
    for (int r = 0; r < 3; r++) { /* R [w] */
        out[3 * r] = y[3 * r + 1] * w[2] - y[3 * r + 2] * w[1];
        out[3 * r + 1] = y[3 * r + 2] * w[0] - y[3 * r] * w[2];
        out[3 * r + 2] = y[3 * r] * w[1] - y[3 * r + 1] * w[0];
        out[9 + r] = y[3 * r] * f[0] + y[3 * r + 1] * f[1] + y[3 * r + 2] * f[2] - (r == 2 ? g : 0);
        out[12 + r] = y[9 + r];
    }
}

/** Integrates an interval in `steps` steps; rate and force change linearly between the two given values. */
static inline void wide_interval(struct wide_motion *m, const wide w[2][3], const wide f[2][3], wide dt, wide g,
                                 int steps)
{
    const wide h = dt / steps;
    for (int i = 0; i < steps; i++) {
        wide k[4][15], y[15], sum[15] = {0};
        for (int s = 0; s < 4; s++) {
            const wide at = (i + (s == 0 ? 0.0L : s == 3 ? 1.0L : 0.5L)) / steps, by = s == 3 ? h : h / 2;
            wide rate[3], force[3];
            for (int c = 0; c < 3; c++) {
                rate[c] = w[0][c] + at * (w[1][c] - w[0][c]);
                force[c] = f[0][c] + at * (f[1][c] - f[0][c]);
            }
            for (int c = 0; c < 15; c++) y[c] = m->y[c] + (s ? by * k[s - 1][c] : 0);
            wide_slope(y, rate, force, g, k[s]);
            for (int c = 0; c < 15; c++) sum[c] += (s == 1 || s == 2 ? 2 : 1) * k[s][c];
        }
        for (int c = 0; c < 15; c++) m->y[c] += h / 6 * sum[c];
    }
}

/** Rate and force at a time: linear between samples, constant outside. */
static inline void wide_signal(const vfront_imu_t *imu, uint32_t n, uint64_t t_ns, wide w[3], wide f[3])
{
    uint32_t i = 0;
    while (i < n && imu[i].t_ns <= t_ns) i++;
    const vfront_imu_t *a = &imu[i ? i - 1 : 0], *b = &imu[i < n ? i : n - 1];
    const wide part = b == a ? 0 : (wide)(t_ns - a->t_ns) / (wide)(b->t_ns - a->t_ns);
    for (int c = 0; c < 3; c++) {
        w[c] = (1 - part) * a->gyro_rad_s[c] + part * b->gyro_rad_s[c];
        f[c] = (1 - part) * a->accel_m_s2[c] + part * b->accel_m_s2[c];
    }
}

/** Integrates the samples over from_ns..to_ns, biases b (gyro, accelerometer) subtracted. */
static inline void wide_integrate(struct wide_motion *m, const vfront_imu_t *imu, uint32_t n, uint64_t from_ns,
                                  uint64_t to_ns, const wide b[6], wide g, int steps)
{
    wide w[2][3], f[2][3];
    uint64_t at = from_ns;
    for (uint32_t i = 0; i <= n && at < to_ns; i++) {
        const uint64_t next = i < n && imu[i].t_ns < to_ns ? imu[i].t_ns : to_ns;
        if (next <= at) continue;
        wide_signal(imu, n, at, w[0], f[0]);
        wide_signal(imu, n, next, w[1], f[1]);
        for (int c = 0; c < 6; c++) {
            w[c / 3][c % 3] -= b[c % 3];
            f[c / 3][c % 3] -= b[3 + c % 3];
        }
        wide_interval(m, w, f, (wide)(next - at) * 1e-9L, g, steps);
        at = next;
    }
}

/** Motion at rest at the origin. */
static inline struct wide_motion wide_start(void)
{
    struct wide_motion m;
    for (int i = 0; i < 15; i++) m.y[i] = i == 0 || i == 4 || i == 8;
    return m;
}

/** Rotation matrix of a quaternion w x y z, from the rotated axes q e q*. */
static inline void wide_matrix(const double q[4], wide R[9])
{
    for (int c = 0; c < 3; c++) {
        const wide e[3] = {c == 0, c == 1, c == 2};
        wide t[3], u[3];
        for (int k = 0; k < 3; k++)
            t[k] = 2 * (q[1 + (k + 1) % 3] * e[(k + 2) % 3] - q[1 + (k + 2) % 3] * e[(k + 1) % 3]);
        for (int k = 0; k < 3; k++) u[k] = q[1 + (k + 1) % 3] * t[(k + 2) % 3] - q[1 + (k + 2) % 3] * t[(k + 1) % 3];
        for (int k = 0; k < 3; k++) R[3 * k + c] = e[k] + q[0] * t[k] + u[k];
    }
}

/** Rotation vector log(A B'), A and B row-major. */
static inline void wide_between(const wide A[9], const wide B[9], wide w[3])
{
    wide D[9];
    for (int i = 0; i < 9; i++) {
        D[i] = 0;
        for (int k = 0; k < 3; k++) D[i] += A[i / 3 * 3 + k] * B[i % 3 * 3 + k];
    }
    const wide v[3] = {(D[7] - D[5]) / 2, (D[2] - D[6]) / 2, (D[3] - D[1]) / 2};
    const wide s = sqrtl(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]), c = (D[0] + D[4] + D[8] - 1) / 2;
    for (int k = 0; k < 3; k++) w[k] = s > 0 ? v[k] / s * atan2l(s, c) : 0;
}

/** Errors true - estimated of (w, v, p): `truth` minus quaternion q, velocity v, position p. */
static inline void wide_errors(const struct wide_motion *truth, const double q[4], const double v[3], const double p[3],
                               double e[9])
{
    wide R[9], w[3];
    wide_matrix(q, R);
    wide_between(truth->y, R, w);
    for (int k = 0; k < 3; k++) {
        e[k] = (double)w[k];
        e[3 + k] = (double)(truth->y[9 + k] - v[k]);
        e[6 + k] = (double)(truth->y[12 + k] - p[k]);
    }
}

/** Samples of a shaken IMU: sums of sines up to `hz` about a mean, at `rate` samples per second. jitter 1: sample times
 *  vary by 1/10 of the interval. gyro, accel: root mean square per axis. */
static inline void any_samples(vfront_imu_t *imu, uint32_t n, double rate, double hz, double gyro, double accel,
                               int jitter)
{
    double amplitude[6][4], frequency[6][4], phase[6][4], mean[6];
    for (int c = 0; c < 6; c++) {
        mean[c] = (c < 3 ? 0.3 * gyro : accel) * normal() + (c == 5 ? 9.8 : 0);
        for (int k = 0; k < 4; k++) {
            amplitude[c][k] = (c < 3 ? gyro : accel) * normal() / sqrt(2.0);
            frequency[c][k] = 6.283185307179586 * real(0.1 * hz, hz);
            phase[c][k] = real(0, 6.283185307179586);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        const double t = (i + (jitter ? real(-0.1, 0.1) : 0)) / rate;
        imu[i].t_ns = 1000000000u + (uint64_t)(t * 1e9 + 0.5);
        for (int c = 0; c < 6; c++) {
            double value = mean[c];
            for (int k = 0; k < 4; k++) value += amplitude[c][k] * sin(frequency[c][k] * t + phase[c][k]);
            *(c < 3 ? &imu[i].gyro_rad_s[c] : &imu[i].accel_m_s2[c - 3]) = value;
        }
    }
}

/** Noise of an IMU between a phone's and a drone's, with limits that no test reaches. */
static inline vfront_imu_noise_t any_noise(double rate)
{
    const vfront_imu_noise_t noise = {.gyro_density = 1.7e-3,
                                      .accel_density = 2e-2,
                                      .gyro_walk = 2e-4,
                                      .accel_walk = 3e-3,
                                      .gyro_limit_rad_s = 90,
                                      .accel_limit_m_s2 = 900,
                                      .rate_hz = rate,
                                      .gravity_m_s2 = 9.81};
    return noise;
}

/** b' A^-1 b for a symmetric positive definite A, n at most 15, by Cholesky factorization. */
static inline double chi_squared(const double *A, const double *b, int n)
{
    double L[225], y[15], sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double a = A[i * n + j];
            for (int k = 0; k < j; k++) a -= L[i * n + k] * L[j * n + k];
            REQUIRE(i != j || a > 0, "no covariance: pivot %d is %g\n", i, a);
            L[i * n + j] = i == j ? sqrt(a) : a / L[j * n + j];
        }
    for (int i = 0; i < n; i++) {
        y[i] = b[i];
        for (int k = 0; k < i; k++) y[i] -= L[i * n + k] * y[k];
        y[i] /= L[i * n + i];
        sum += y[i] * y[i];
    }
    return sum;
}

#endif
