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

#endif
