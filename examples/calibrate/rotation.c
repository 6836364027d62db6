/* SPDX-License-Identifier: MIT */
#include "rotation.h"

#include <math.h>

#include "examples/common/pose.h"

double rotation_dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

double rotation_length(const double v[3]) { return sqrt(rotation_dot(v, v)); }

void rotation_cross(const double a[3], const double b[3], double c[3])
{
    for (int i = 0; i < 3; i++) c[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

void rotation_of(const double w[3], double R[9])
{
    const double angle = rotation_length(w), s = angle > 1e-9 ? sin(0.5 * angle) / angle : 0.5;
    const double q[4] = {s * w[0], s * w[1], s * w[2], cos(0.5 * angle)};
    pose_rotation(R, q);
}

void rotation_vector(const double R[9], double w[3])
{
    double q[4];
    pose_quaternion(R, q);
    const double s = rotation_length(q), by = s > 1e-9 ? 2.0 * atan2(s, q[3]) / s : 2.0;
    for (int i = 0; i < 3; i++) w[i] = by * q[i];
}

void rotation_multiply(const double a[9], const double b[9], double c[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) c[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}

void rotation_transpose(const double a[9], double c[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) c[3 * i + j] = a[3 * j + i];
}

void rotation_between(const double a[9], const double b[9], double c[9])
{
    double back[9];
    rotation_transpose(a, back);
    rotation_multiply(back, b, c);
}

void rotation_apply(const double R[9], const double v[3], double to[3])
{
    for (int i = 0; i < 3; i++) to[i] = rotation_dot(&R[3 * i], v);
}
