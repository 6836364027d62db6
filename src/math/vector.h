/* SPDX-License-Identifier: MIT */
/* Vectors of three floats: products and normalisation. Single precision in one order; roots and quotients correctly
 * rounded. */
#ifndef VF_VECTOR_H
#define VF_VECTOR_H

#include <math.h>

#include "base/vf.h"

enum { VF_AXES = 3, VF_QUATERNION = 4 }; /* elements of a vector, of a quaternion w x y z */

VF_FN float vf_dot(const float a[3], const float b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/** out = a x b; `out` must differ from a and b. */
VF_FN void vf_cross(const float a[3], const float b[3], float out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/** Normalises v; the zero vector stays zero. */
VF_FN void vf_unit(float v[3])
{
    const float length = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int k = 0; k < 3; k++) v[k] = length > 0.0f ? v[k] / length : 0.0f;
}

#endif
