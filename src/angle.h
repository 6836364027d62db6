/* SPDX-License-Identifier: MIT */
/* The project's own arc tangent: the C library's differs in its last bits from system to system. */
#ifndef VF_ANGLE_H
#define VF_ANGLE_H

#include "vf.h"

/** Angle of (x, y) from the x axis towards the y axis, -pi..pi, to 5e-7; 0 for (0, 0). An odd polynomial of degree 15, fitted to the arc
 *  tangent on 0..1 for the least largest error; elsewhere by symmetry. */
VF_FN float vf_angle(float y, float x)
{
    const float ax = x < 0.0f ? -x : x, ay = y < 0.0f ? -y : y;
    const float most = ax > ay ? ax : ay, least = ax > ay ? ay : ax;
    if (most == 0.0f) return 0.0f;
    const float t = least / most, s = t * t;
    float p = -0.004054561257f;
    p = p * s + 0.02186293714f;
    p = p * s - 0.05591229722f;
    p = p * s + 0.09642194957f;
    p = p * s - 0.1390862912f;
    p = p * s + 0.1994656622f;
    p = p * s - 0.3332985938f;
    p = p * s + 0.9999993443f;
    p = p * t;
    p = ay > ax ? 1.570796327f - p : p;
    p = x < 0.0f ? 3.141592654f - p : p;
    return y < 0.0f ? -p : p;
}

#endif
