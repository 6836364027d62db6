/* SPDX-License-Identifier: MIT */
/* Sine, cosine and arc tangent with the same bits on every system; C libraries differ in their last bits. */
#ifndef VF_ANGLE_H
#define VF_ANGLE_H

#include "base/vf.h"

/** Angle of (x, y) from the x axis towards the y axis [rad], -pi..pi, error 5e-7; 0 for (0, 0). Minimax odd polynomial
 *  of degree 15 for the arc tangent on 0..1; elsewhere by symmetry. */
VF_FN float vf_atan2f(float y, float x)
{
    const float ax = x < 0.0f ? -x : x, ay = y < 0.0f ? -y : y;
    const float larger = ax > ay ? ax : ay, smaller = ax > ay ? ay : ax;
    if (larger == 0.0f) return 0.0f;
    const float t = smaller / larger, s = t * t;
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

/** Angle of (x, y) from the x axis towards the y axis [rad], -pi..pi, error 1e-15; 0 for (0, 0). |x| and |y| are below
 *  1e300. The quotient of the smaller and the larger coordinate is reduced to the nearest multiple of 1/4, whose arc
 *  tangent is in a table; a Taylor series gives the rest. */
VF_FN double vf_atan2(double y, double x)
{
    const double table[5] = {0.0, 0.24497866312686414, 0.46364760900080609, 0.64350110879328437, 0.78539816339744828};
    const double ax = x < 0.0 ? -x : x, ay = y < 0.0 ? -y : y;
    const double larger = ax > ay ? ax : ay, smaller = ax > ay ? ay : ax;
    if (larger == 0.0) return 0.0;
    int k = 0;
    while (k < 4 && smaller > (0.25 * k + 0.125) * larger) k++;
    const double t = (smaller - 0.25 * k * larger) / (larger + 0.25 * k * smaller), s = t * t;
    double p = 0.0;
    for (int i = 17; i > 0; i -= 2) p = 1.0 / i - s * p;
    p = table[k] + t * p;
    p = ay > ax ? 1.5707963267948966 - p : p;
    p = x < 0.0 ? 3.1415926535897931 - p : p;
    return y < 0.0 ? -p : p;
}

/** sin(x) / x and (1 - cos(x)) / x^2 from q = x^2, by Taylor series: exact to double rounding for |x| < 0.8. */
VF_FN void vf_sine_series(double q, double *sine, double *versine)
{
    double a = 1.0, b = 0.5, term_a = 1.0, term_b = 0.5;
    for (int k = 1; k <= 7; k++) {
        term_a *= -q / (double)((2 * k) * (2 * k + 1));
        term_b *= -q / (double)((2 * k + 1) * (2 * k + 2));
        a += term_a;
        b += term_b;
    }
    *sine = a;
    *versine = b;
}

/** Sine and cosine of an angle in -pi..pi [rad], to 1e-15. Subtracts the nearest multiple of pi / 2, which is stored as
 *  the sum of two doubles; Taylor series give the rest. */
VF_FN void vf_sincos(double angle, double *sine, double *cosine)
{
    const int quarter = (int)(angle * 0.63661977236758138 + (angle < 0.0 ? -0.5 : 0.5));
    const double x = angle - quarter * 1.5707963267948966 - quarter * 6.123233995736766e-17, q = x * x;
    double s, c;
    vf_sine_series(q, &s, &c);
    s = x * s;
    c = 1.0 - q * c;
    *sine = quarter % 2 ? (quarter > 0 ? c : -c) : quarter ? -s : s;
    *cosine = quarter % 2 ? (quarter > 0 ? -s : s) : quarter ? -c : c;
}

#endif
