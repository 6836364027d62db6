/* SPDX-License-Identifier: MIT */
/* Rigid motions in double precision, as textbooks have them: what tests of motions share, beside the stand. No arithmetic of the library's. */
#ifndef RIGID_H
#define RIGID_H

#include "stand.h"

/** p_now = R p_before + t. */
struct rigid {
    double R[9], t[3];
};

static inline double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static inline double length(const double v[3]) { return sqrt(dot(v, v)); }

static inline void cross(const double a[3], const double b[3], double out[3])
{
    const double c[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    memcpy(out, c, sizeof c);
}

static inline void unit(double v[3])
{
    const double n = length(v);
    for (int k = 0; k < 3; k++) v[k] /= n;
}

static inline void turn(const double R[9], const double v[3], double out[3])
{
    const double u[3] = {dot(R, v), dot(R + 3, v), dot(R + 6, v)};
    memcpy(out, u, sizeof u);
}

/** Angle between two directions, also where it is small. */
static inline double angle_between(const double a[3], const double b[3])
{
    double c[3];
    cross(a, b, c);
    return atan2(length(c), dot(a, b));
}

/** exp([w]) (Rodrigues). */
static inline void rotation_of(const double w[3], double R[9])
{
    const double angle = length(w), c = cos(angle), s = sin(angle);
    for (int i = 0; i < 9; i++) R[i] = i % 4 == 0;
    if (angle == 0.0) return;
    const double k[3] = {w[0] / angle, w[1] / angle, w[2] / angle}, skew[9] = {0, -k[2], k[1], k[2], 0, -k[0], -k[1], k[0], 0};
    for (int i = 0; i < 9; i++) R[i] = (i % 4 == 0 ? c : 0.0) + s * skew[i] + (1.0 - c) * k[i / 3] * k[i % 3];
}

/** A B, or A B^T. */
static inline void product(const double A[9], const double B[9], int transposed, double out[9])
{
    double C[9];
    for (int i = 0; i < 9; i++) {
        C[i] = 0.0;
        for (int k = 0; k < 3; k++) C[i] += A[i / 3 * 3 + k] * (transposed ? B[i % 3 * 3 + k] : B[3 * k + i % 3]);
    }
    memcpy(out, C, sizeof C);
}

/** log(A B^T): the rotation vector that takes B to A; angles well below a half turn. */
static inline void rotation_between(const double A[9], const double B[9], double w[3])
{
    double D[9];
    product(A, B, 1, D);
    const double v[3] = {(D[7] - D[5]) / 2, (D[2] - D[6]) / 2, (D[3] - D[1]) / 2}, s = length(v), c = (D[0] + D[4] + D[8] - 1) / 2;
    for (int k = 0; k < 3; k++) w[k] = s > 0.0 ? v[k] / s * atan2(s, c) : 0.0;
}

/** Inverse of an n x n matrix by Gauss and Jordan, with pivots. */
static inline void invert(const double *A, int n, double *out)
{
    double M[12][24];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 2 * n; j++) M[i][j] = j < n ? A[i * n + j] : j - n == i;
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k; i < n; i++)
            if (fabs(M[i][k]) > fabs(M[best][k])) best = i;
        for (int j = 0; j < 2 * n; j++) {
            const double swap = M[k][j];
            M[k][j] = M[best][j];
            M[best][j] = swap;
        }
        REQUIRE(M[k][k] != 0.0, "the test's own matrix has no inverse");
        for (int j = 2 * n; j-- > k;) M[k][j] /= M[k][k];
        for (int i = 0; i < n; i++)
            for (int j = 2 * n; i != k && j-- > k;) M[i][j] -= M[i][k] * M[k][j];
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) out[i * n + j] = M[i][n + j];
}

/* ---- chance ---------------------------------------------------------------------------------------------------------------- */

static inline double real(double least, double most) { return least + (most - least) * (double)(roll64() >> 11) * 0x1p-53; }

/** Normally distributed, standard deviation 1 (Box and Muller). */
static inline double normal(void) { return sqrt(-2.0 * log(real(1e-300, 1.0))) * cos(real(0.0, 6.283185307179586)); }

static inline void any_direction(double v[3])
{
    do
        for (int k = 0; k < 3; k++) v[k] = real(-1, 1);
    while (length(v) > 1.0 || length(v) < 0.1);
    unit(v);
}

/** A direction within a cone about the z axis. */
static inline void any_ahead(double most_rad, double v[3])
{
    do {
        v[0] = real(-tan(most_rad), tan(most_rad));
        v[1] = real(-tan(most_rad), tan(most_rad));
        v[2] = 1.0;
        unit(v);
    } while (acos(v[2]) > most_rad);
}

/** A rotation about any axis, by so much. */
static inline void any_rotation(double angle_rad, double R[9])
{
    double w[3];
    any_direction(w);
    for (int k = 0; k < 3; k++) w[k] *= angle_rad;
    rotation_of(w, R);
}

/** A direction moved by noise of a standard deviation along both axes across it. */
static inline void shake_direction(double v[3], double sigma_rad)
{
    double e[3], side[3], up[3];
    any_direction(e);
    cross(v, e, side);
    unit(side);
    cross(v, side, up);
    const double a = sigma_rad * normal(), b = sigma_rad * normal();
    for (int k = 0; k < 3; k++) v[k] += a * side[k] + b * up[k];
    unit(v);
}

#endif
