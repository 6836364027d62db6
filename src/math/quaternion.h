/* SPDX-License-Identifier: MIT */
/* Unit quaternions (w, x, y, z) in double precision: product, rotation of a vector, matrix, exponential. Products and
 * sums in one order, roots correctly rounded; no libm except sqrt. tests/imu/preintegrate.c measures the errors. */
#ifndef VF_QUATERNION_H
#define VF_QUATERNION_H

#include <math.h>

#include "angle.h"

/** out = a x b; `out` must differ from a and b. */
VF_FN void vf_cross_double(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/** out = M v, M row-major; `out` must not be v. */
VF_FN void vf_transform_double(const double M[9], const double v[3], double out[3])
{
    for (int r = 0; r < 3; r++) out[r] = M[3 * r] * v[0] + M[3 * r + 1] * v[1] + M[3 * r + 2] * v[2];
}

/** out = a b: rotation b first, then a; `out` may be a or b. */
VF_FN void vf_quaternion_multiply(const double a[4], const double b[4], double out[4])
{
    const double w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    const double x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    const double y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
    const double z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
    out[0] = w, out[1] = x, out[2] = y, out[3] = z;
}

/** Normalises q, which must not be 0. */
VF_FN void vf_quaternion_unit(double q[4])
{
    const double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int k = 0; k < 4; k++) q[k] /= length;
}

/** Rotation matrix, row-major, of a unit quaternion. */
VF_FN void vf_quaternion_matrix(const double q[4], double R[9])
{
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    R[0] = 1.0 - 2.0 * (y * y + z * z), R[1] = 2.0 * (x * y - w * z), R[2] = 2.0 * (x * z + w * y);
    R[3] = 2.0 * (x * y + w * z), R[4] = 1.0 - 2.0 * (x * x + z * z), R[5] = 2.0 * (y * z - w * x);
    R[6] = 2.0 * (x * z - w * y), R[7] = 2.0 * (y * z + w * x), R[8] = 1.0 - 2.0 * (x * x + y * y);
}

/** Quaternion of a rotation vector [rad] shorter than 1.6 rad, error 4e-16. */
VF_FN void vf_quaternion_exponential(const double v[3], double q[4])
{
    const double half2 = 0.25 * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    double sine, versine;
    vf_sine_series(half2, &sine, &versine);
    q[0] = 1.0 - half2 * versine;
    for (int k = 0; k < 3; k++) q[1 + k] = 0.5 * sine * v[k];
}

/** Rotation vector of a unit quaternion [rad], 2 asin(|vector part|). Relative error 1e-16 below 0.2 rad, 2e-4 below 1
 *  rad. */
VF_FN void vf_quaternion_logarithm(const double q[4], double w[3])
{
    const double s2 = q[1] * q[1] + q[2] * q[2] + q[3] * q[3], sign = q[0] < 0.0 ? -2.0 : 2.0;
    /* series of asin(s) / s in s2 = s^2, with coefficients (2n)! / (4^n n!^2 (2n + 1)) */
    double sum = 0.0, term[12];
    term[0] = 1.0;
    for (int n = 1; n < 12; n++)
        term[n] = term[n - 1] * ((2.0 * n - 1.0) * (2.0 * n - 1.0)) / ((2.0 * n) * (2.0 * n + 1.0));
    for (int n = 11; n >= 0; n--) sum = sum * s2 + term[n];
    for (int k = 0; k < 3; k++) w[k] = sign * sum * q[1 + k];
}

/** Left Jacobian of SO(3), the mean of exp(s w) for s from 0 to 1, by Simpson's rule; error below |w|^4 / 2880. w:
 *  rotation vector [rad], shorter than 3.2. */
VF_FN void vf_quaternion_left_jacobian(const double w[3], double J[9])
{
    const double half[3] = {0.5 * w[0], 0.5 * w[1], 0.5 * w[2]};
    double q[4], middle[9], end[9];
    vf_quaternion_exponential(half, q);
    vf_quaternion_matrix(q, middle);
    vf_quaternion_multiply(q, q, q);
    vf_quaternion_matrix(q, end);
    for (int i = 0; i < 9; i++) J[i] = ((i % 4 == 0 ? 1.0 : 0.0) + 4.0 * middle[i] + end[i]) / 6.0;
}

#endif
