/* SPDX-License-Identifier: MIT */
/* Rigid motions of a camera between two frames: product, update by a small rotation, validity. Host form and kernels
 * share all of it.
 *
 * Exact   single precision in one order; square roots and quotients correctly rounded
 */
#ifndef VF_POSE_H
#define VF_POSE_H

#include <math.h>

#include "vector.h"

/** Transform from the axes of the previous camera to those of the current camera: p_now = R p_before + t. */
struct vf_pose {
    float R[9]; /* row-major */
    float t[3];
};

/** Normalises v as vf_unit() does, but with one reciprocal instead of three quotients: one more rounding. */
VF_FN void vf_unit_reciprocal(float v[3])
{
    const float square = vf_dot(v, v), scale = square > 0.0f ? 1.0f / sqrtf(square) : 0.0f;
    for (int k = 0; k < 3; k++) v[k] *= scale;
}

/** out = M v. */
VF_FN void vf_transform(const float M[9], const float v[3], float out[3])
{
    for (int r = 0; r < 3; r++) out[r] = vf_dot(M + 3 * r, v);
}

/** out = A B. */
VF_FN void vf_matrix_product(const float A[9], const float B[9], float out[9])
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out[3 * r + c] = A[3 * r] * B[c] + A[3 * r + 1] * B[3 + c] + A[3 * r + 2] * B[6 + c];
}

/** Orthonormalises a rotation matrix with rounding errors, to single precision: R <- R - (R R^T - 1) R / 2. */
VF_FN void vf_pose_orthonormalise(float R[9])
{
    float error[9], change[9];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) error[3 * r + c] = 0.5f * (vf_dot(R + 3 * r, R + 3 * c) - (r == c ? 1.0f : 0.0f));
    vf_matrix_product(error, R, change);
    for (int k = 0; k < 9; k++) R[k] -= change[k];
}

/** Updates a rotation by a rotation vector: R <- exp(w) R. Vectors longer than 0.8 rad are shortened to 0.8 rad. */
VF_FN void vf_pose_rotate(float R[9], const float w[3])
{
    const float limit = 0.8f, length = sqrtf(vf_dot(w, w)), scale = length > limit ? limit / length : 1.0f;
    const float x = scale * w[0], y = scale * w[1], z = scale * w[2], q = x * x + y * y + z * z;
    /* Taylor series in q = angle^2: a = sin(angle) / angle, b = (1 - cos(angle)) / angle^2 */
    const float a = 1.0f - q * (1.0f / 6.0f - q * (1.0f / 120.0f - q * (1.0f / 5040.0f)));
    const float b = 0.5f - q * (1.0f / 24.0f - q * (1.0f / 720.0f - q * (1.0f / 40320.0f)));
    const float change[9] = {1.0f - b * (y * y + z * z), b * x * y - a * z,          b * x * z + a * y,
                             b * x * y + a * z,          1.0f - b * (x * x + z * z), b * y * z - a * x,
                             b * x * z - a * y,          b * y * z + a * x,          1.0f - b * (x * x + y * y)};
    float rotated[9];
    vf_matrix_product(change, R, rotated);
    for (int k = 0; k < 9; k++) R[k] = rotated[k];
    vf_pose_orthonormalise(R);
}

/** 1 if R is a rotation to 1e-3 and all elements are finite. */
VF_FN int vf_pose_valid(const struct vf_pose *pose)
{
    const float *R = pose->R, tolerance = 1e-3f;
    float third[3], zero = 0.0f; /* zero: becomes NaN if an element of t is not finite */
    vf_cross(R, R + 3, third);
    int valid = fabsf(vf_dot(R, R) - 1.0f) < tolerance && fabsf(vf_dot(R + 3, R + 3) - 1.0f) < tolerance &&
                fabsf(vf_dot(R, R + 3)) < tolerance;
    for (int k = 0; k < 3; k++) {
        valid &= fabsf(third[k] - R[6 + k]) < tolerance;
        zero += pose->t[k] * 0.0f;
    }
    return valid && zero == 0.0f;
}

#endif
