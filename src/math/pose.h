/* SPDX-License-Identifier: MIT */
/* How a camera moved, and small steps of it. Single precision in one order; roots and quotients correctly rounded. */
#ifndef VF_POSE_H
#define VF_POSE_H

#include <math.h>

#include "features/bearing.h"

/** Takes axes of the camera before to axes of the camera now: p_now = R p_before + t. */
struct vf_pose {
    float R[9]; /* row-major */
    float t[3];
};

/** As vf_unit(), with one quotient instead of three, and so a rounding more. */
VF_FN void vf_pose_unit(float v[3])
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
VF_FN void vf_product(const float A[9], const float B[9], float out[9])
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out[3 * r + c] = A[3 * r] * B[c] + A[3 * r + 1] * B[3 + c] + A[3 * r + 2] * B[6 + c];
}

/** Makes of a matrix that is a rotation but for rounding one to single precision: R <- R - (R R^T - 1) R / 2. */
VF_FN void vf_pose_straighten(float R[9])
{
    float off[9], change[9];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) off[3 * r + c] = 0.5f * (vf_dot(R + 3 * r, R + 3 * c) - (r == c ? 1.0f : 0.0f));
    vf_product(off, R, change);
    for (int k = 0; k < 9; k++) R[k] -= change[k];
}

/** R <- exp(w) R for a rotation vector below 0.8 rad; a longer one is cut to that. */
VF_FN void vf_pose_turn(float R[9], const float w[3])
{
    const float most = 0.8f, length = sqrtf(vf_dot(w, w)), cut = length > most ? most / length : 1.0f;
    const float x = cut * w[0], y = cut * w[1], z = cut * w[2], q = x * x + y * y + z * z;
    const float a = 1.0f - q * (1.0f / 6.0f - q * (1.0f / 120.0f - q * (1.0f / 5040.0f))); /* sin(angle) / angle */
    const float b = 0.5f -
                    q * (1.0f / 24.0f - q * (1.0f / 720.0f - q * (1.0f / 40320.0f))); /* (1 - cos(angle)) / angle^2 */
    const float turn[9] = {1.0f - b * (y * y + z * z), b * x * y - a * z,          b * x * z + a * y,
                           b * x * y + a * z,          1.0f - b * (x * x + z * z), b * y * z - a * x,
                           b * x * z - a * y,          b * y * z + a * x,          1.0f - b * (x * x + y * y)};
    float turned[9];
    vf_product(turn, R, turned);
    for (int k = 0; k < 9; k++) R[k] = turned[k];
    vf_pose_straighten(R);
}

/** Whether it is a pose: a rotation to a thousandth, and finite. */
VF_FN int vf_pose_valid(const struct vf_pose *pose)
{
    const float *R = pose->R, most = 1e-3f;
    float across[3], none = 0.0f; /* what is not finite leaves something else */
    vf_cross(R, R + 3, across);
    int valid = fabsf(vf_dot(R, R) - 1.0f) < most && fabsf(vf_dot(R + 3, R + 3) - 1.0f) < most &&
                fabsf(vf_dot(R, R + 3)) < most;
    for (int k = 0; k < 3; k++) {
        valid &= fabsf(across[k] - R[6 + k]) < most;
        none += pose->t[k] * 0.0f;
    }
    return valid && none == 0.0f;
}

#endif
