/* SPDX-License-Identifier: MIT */
/* polynomial: all real roots of a polynomial, isolated by the roots of its derivatives. Also the real roots of a cubic
 * in closed form.
 *
 * In      coefficients
 * Out     real roots, each as a quotient of two numbers, so that a root at infinity needs no special case
 * Rule    - Between two neighbouring roots of its derivative a polynomial has at most one root. Starting with the
 *           linear derivative, the roots of each derivative are knots that divide -1..1 into intervals for the next
 *           one. If the signs at the ends of an interval differ, a fixed number of safeguarded Newton steps finds the
 *           root. If they are equal, the end of smaller absolute value becomes a knot, so that each derivative has as
 *           many intervals as its degree
 *         - Roots outside -1..1 are the inverse roots of the polynomial with reversed coefficients; both are searched
 *           in parallel. A complex pair with imaginary parts of at most VF_ROOT_IMAGINARY gives two real roots, real
 *           plus and minus imaginary part. Rounding may turn two close real roots into such a pair
 * Exact   Single precision in one order. Values at knots and in the last Newton steps are double, because single
 *         precision loses pairs of close roots at degree 10.
 * Shared  host form and kernels share all of it, except roots of many polynomials on the host (roots.h); a team
 *         (team.h) works on the intervals of a derivative in parallel
 */
#ifndef VF_POLYNOMIAL_H
#define VF_POLYNOMIAL_H

#include <math.h>

#include "angle.h"
#include "team.h"

#define VF_POLYNOMIAL_DEGREE 10 /* largest degree of a polynomial */
#define VF_ROOT_IMAGINARY 0.02f /* largest imaginary part of a complex pair that is returned as two real roots */
#define VF_ROOT_STEPS_FLOAT 8   /* number of Newton steps of a root in single precision */
#define VF_ROOT_STEPS_DOUBLE 10 /* number of further Newton steps of a root in double precision */

/* Scratch of the search. Index `side`: 0: the polynomial as given; 1: with reversed coefficients, for roots outside
 * -1..1. */
struct vf_polynomial_scratch {
    double c[VF_POLYNOMIAL_DEGREE + 1]; /* in: coefficients of z^0, z^1, ...; largest absolute value about 1 */
    /* [side][degree][power]: coefficients of the derivatives, each derivative divided by the factorial of its order */
    double exact[2][VF_POLYNOMIAL_DEGREE + 1][VF_POLYNOMIAL_DEGREE + 1];
    float rounded[2][VF_POLYNOMIAL_DEGREE + 1][VF_POLYNOMIAL_DEGREE + 1]; /* `exact`, rounded to single precision */
    /* [side][degree % 2]: ends of the search intervals in rising order: -1, roots of the derivative of this degree,
     * 1 */
    float knot[2][2][VF_POLYNOMIAL_DEGREE + 2];
    float root[2 * VF_POLYNOMIAL_DEGREE][2]; /* out: root k is the quotient root[k][0] / root[k][1]; 0 / 0: no root */
};

/** Value and slope at x of the polynomial with coefficients c, by Horner's rule in single precision. */
VF_FN float vf_polynomial_value(const float *c, int degree, float x, float *slope)
{
    float p = c[degree], q = 0.0f;
    for (int i = degree - 1; i >= 0; i--) {
        q = q * x + p;
        p = p * x + c[i];
    }
    *slope = q;
    return p;
}

/** Value of the polynomial with coefficients c, by Horner's rule in double precision. */
VF_FN double vf_polynomial_value_double(const double *c, int degree, float at)
{
    const double x = (double)at;
    double p = c[degree];
    for (int i = degree - 1; i >= 0; i--) p = p * x + c[i];
    return p;
}

/** Bracket of a root: an interval whose ends differ in the sign of the polynomial. */
struct vf_root_bracket {
    float low, high;
    float x;         /* current estimate of the root */
    float last_step; /* length of the previous step */
    int negative;    /* 1: the polynomial is negative at `low` */
};
VF_FN struct vf_root_bracket vf_root_bracket_start(float low, float high, int negative)
{
    struct vf_root_bracket b;
    b.low = low;
    b.high = high;
    b.x = 0.5f * (low + high);
    b.last_step = high - low;
    b.negative = negative;
    return b;
}

/** Approximate reciprocal, relative error 1e-3: enough for a safeguarded Newton step, without the latency of a
 *  division. Integer subtraction negates the exponent; two Newton steps follow (J. Blinn, Floating-point tricks, 1997).
 *  Undefined for 0. */
VF_FN float vf_reciprocal_approx(float v)
{
    uint32_t bits;
    float r;
    memcpy(&bits, &v, sizeof bits);
    bits = 0x7ef311c7u - bits;
    memcpy(&r, &bits, sizeof r);
    r = r * (2.0f - v * r);
    return r * (2.0f - v * r);
}

/** Narrows a bracket by a Newton step, or by bisection if Newton leaves the bracket or does not halve the previous
 *  step. After a step of length 0 all further steps are 0, so that stopping early gives the same bits. */
VF_FN void vf_root_bracket_step(struct vf_root_bracket *b, float value, float slope)
{
    const float tiny = 1e-6f;
    const int below = (value < 0.0f) == b->negative;
    b->low = below ? b->x : b->low;
    b->high = below ? b->high : b->x;
    const float newton = b->x - value * vf_reciprocal_approx(slope), step = fabsf(newton - b->x);
    const int use_newton = (newton >= b->low) & (newton <= b->high) & ((step <= 0.5f * b->last_step) | (step < tiny));
    const float next = use_newton ? newton : 0.5f * (b->low + b->high);
    b->last_step = fabsf(next - b->x);
    b->x = next;
}

/** Coefficients of a polynomial or derivative: in double precision, and rounded to single. */
struct vf_polynomial {
    const double *exact;
    const float *rounded;
    int degree;
};

/** Root in an interval whose ends differ in sign. negative: 1 if the polynomial is negative at `low`. */
VF_FN float vf_polynomial_bracketed_root(struct vf_polynomial p, float low, float high, int negative)
{
    struct vf_root_bracket b = vf_root_bracket_start(low, high, negative);
    float slope;
    VF_NO_UNROLL
    for (int k = 0; k < VF_ROOT_STEPS_FLOAT && b.last_step > 0.0f; k++) {
        const float value = vf_polynomial_value(p.rounded, p.degree, b.x, &slope);
        vf_root_bracket_step(&b, value, slope);
    }
    const float at = b.x;
    b = vf_root_bracket_start(low, high, negative);
    b.x = at;
    VF_NO_UNROLL
    for (int k = 0; k < VF_ROOT_STEPS_DOUBLE && b.last_step > 0.0f; k++) {
        vf_polynomial_value(p.rounded, p.degree, b.x, &slope);
        vf_root_bracket_step(&b, (float)vf_polynomial_value_double(p.exact, p.degree, b.x), slope);
    }
    return b.x;
}

/** Point of the interval low..high that divides -1..1 for the next degree: the root of derivative p in the interval. If
 *  p has no root there, the end at which |p| is smaller. */
VF_FN float vf_polynomial_knot(struct vf_polynomial p, float low, float high)
{
    if (!(low < high)) return low;
    const double first = vf_polynomial_value_double(p.exact, p.degree, low),
                 last = vf_polynomial_value_double(p.exact, p.degree, high);
    if ((first < 0.0) == (last < 0.0)) return fabs(first) < fabs(last) ? low : high;
    return vf_polynomial_bracketed_root(p, low, high, first < 0.0);
}

/** Finds a complex pair of roots with a small imaginary part near `end`, an extremum with the given value. If the
 *  imaginary part is below VF_ROOT_IMAGINARY, returns 1 and the root of this interval: `end` moved inwards by that
 *  part. half: half of the second derivative; inwards: +1 or -1, direction from `end` into the interval. */
VF_FN int vf_polynomial_double_root(struct vf_polynomial half, float end, float value, float inwards, float *root)
{
    float slope;
    const float square = value / vf_polynomial_value(half.rounded, half.degree, end, &slope);
    if (!(square >= 0.0f && square < VF_ROOT_IMAGINARY * VF_ROOT_IMAGINARY && fabsf(end) < 1.0f)) return 0;
    *root = end + inwards * sqrtf(square);
    return 1;
}

/** Finds the root of polynomial p in the interval low..high. Returns 1 if there is one. half: half of the second
 *  derivative of p. */
VF_FN int vf_polynomial_root(struct vf_polynomial p, struct vf_polynomial half, float low, float high, float *root)
{
    if (!(low < high)) return 0;
    const double first = vf_polynomial_value_double(p.exact, p.degree, low),
                 last = vf_polynomial_value_double(p.exact, p.degree, high);
    const int at_low = fabs(first) < fabs(last);
    if ((first < 0.0) == (last < 0.0))
        return vf_polynomial_double_root(half, at_low ? low : high, (float)(at_low ? first : last),
                                         at_low ? 1.0f : -1.0f, root);
    *root = vf_polynomial_bracketed_root(p, low, high, first < 0.0);
    return 1;
}

/** Derivative of w->c that has the given degree. side: 0: of the polynomial as given; 1: of the polynomial with
 *  reversed coefficients. */
VF_FN struct vf_polynomial vf_polynomial_derivative(const struct vf_polynomial_scratch *w, int side, int degree)
{
    const struct vf_polynomial p = {w->exact[side][degree], w->rounded[side][degree], degree};
    return p;
}

/** Computes all real roots of w->c into w->root. */
VF_FN void vf_polynomial_roots(struct vf_polynomial_scratch *w, int degree)
{
    VF_TEAM(k, 2 * (degree + 1))
    { /* item k: a coefficient of the polynomial, or of the polynomial with reversed coefficients */
        const int side = k > degree, power = side ? k - degree - 1 : k;
        const double c = w->c[side ? degree - power : power];
        int choose = 1; /* binomial coefficient: power over order */
        for (int order = 0; order <= power; order++) {
            w->exact[side][degree - order][power - order] = (double)choose * c;
            w->rounded[side][degree - order][power - order] = (float)((double)choose * c);
            choose = choose * (power - order) / (order + 1);
        }
        if (power < 2) w->knot[side][power][0] = -1.0f;
        if (power == 0) w->knot[side][0][1] = 1.0f; /* a constant has no root, so that the only interval is -1..1 */
    }
    VF_TEAM_SYNC();
    VF_UNROLL
    for (int d = 1; d < degree; d++) {
        VF_TEAM(k, 2 * d)
        {
            const int side = k >= d, i = side ? k - d : k;
            const float *knot = w->knot[side][(d - 1) % 2];
            w->knot[side][d % 2][i + 1] = vf_polynomial_knot(vf_polynomial_derivative(w, side, d), knot[i],
                                                             knot[i + 1]);
            if (i == 0) w->knot[side][d % 2][d + 1] = 1.0f;
        }
        VF_TEAM_SYNC();
    }
    VF_TEAM(k, 2 * degree)
    {
        const int side = k >= degree, i = side ? k - degree : k;
        const float *knot = w->knot[side][(degree - 1) % 2];
        float root = 0.0f;
        const int found = vf_polynomial_root(vf_polynomial_derivative(w, side, degree),
                                             vf_polynomial_derivative(w, side, degree - 2), knot[i], knot[i + 1],
                                             &root);
        w->root[k][0] = !found ? 0.0f : side ? 1.0f : root;
        w->root[k][1] = !found ? 0.0f : side ? root : 1.0f;
    }
    VF_TEAM_SYNC();
}

/* ---- cubic ------------------------------------------------------------------------------------------------------- */

/** Cube root in single precision: 0 if |v| is outside 1e-30..1e30. A division of the exponent by 3 gives an initial
 *  value within 6 %; four Newton steps follow. */
VF_FN float vf_cube_root(float v)
{
    const float a = fabsf(v);
    if (!(a > 1e-30f && a < 1e30f)) return 0.0f;
    uint32_t bits;
    float y;
    memcpy(&bits, &a, sizeof bits);
    bits = bits / 3 + 0x2a5137a0u;
    memcpy(&y, &bits, sizeof y);
    for (int k = 0; k < 4; k++) y = y - (y - a / (y * y)) * (1.0f / 3.0f);
    return v < 0.0f ? -y : y;
}

/** Real roots of c[0] + c[1] z + c[2] z^2 + c[3] z^3 by Cardano's formula, then three Newton steps. Root k is
 *  root[k][0] / root[k][1]. Returns their number: 1 or 3; 0 if c[0] and c[3] are zero or a value is not finite. Solved
 *  for 1 / z if |c[3]| < |c[0]|, so that roots stay small. */
VF_FN int vf_cubic_roots(const float c[4], float root[3][2])
{
    const int reversed = fabsf(c[0]) > fabsf(c[3]);
    const double lead = (double)(reversed ? c[0] : c[3]), inverse = 1.0 / lead;
    const double a = (double)(reversed ? c[1] : c[2]) * inverse, b = (double)(reversed ? c[2] : c[1]) * inverse,
                 d = (double)(reversed ? c[3] : c[0]) * inverse;
    const double third = a * (1.0 / 3.0), p = (b - a * third) * (1.0 / 3.0),
                 q = 0.5 * d - 0.5 * b * third + third * third * third;
    const double discriminant = q * q + p * p * p; /* discriminant of t^3 + 3 p t + 2 q, where t = z + a / 3 */
    if (!(lead != 0.0 && discriminant * 0.0 == 0.0)) return 0;
    float t[3];
    const float sqrt_d = sqrtf((float)fabs(discriminant)), fq = (float)q, fp = (float)p;
    if (discriminant > 0.0) {
        const float u = vf_cube_root(fq > 0.0f ? -fq - sqrt_d : -fq + sqrt_d);
        t[0] = t[1] = t[2] = u == 0.0f ? 0.0f : u - fp / u;
    } else {
        const double angle = (double)(vf_atan2f(sqrt_d, -fq) * (1.0f / 3.0f));
        const float size = 2.0f * sqrtf(fp < 0.0f ? -fp : 0.0f);
        for (int k = 0; k < 3; k++) {
            double sine, cosine;
            vf_sincos(angle + (k == 0 ? 0.0 : k == 1 ? 2.0943951023931953 : -2.0943951023931953), &sine, &cosine);
            t[k] = size * (float)cosine;
        }
    }
    for (int k = 0; k < 3; k++) {
        double z = (double)t[k] - third;
        for (int step = 0; step < 3; step++) {
            const double value = ((z + a) * z + b) * z + d;
            const float slope = (float)((3.0 * z + 2.0 * a) * z + b), change = (float)value / slope;
            z -= fabsf(change) < 1.0f ? (double)change : 0.0;
        }
        root[k][0] = reversed ? 1.0f : (float)z;
        root[k][1] = reversed ? (float)z : 1.0f;
    }
    return discriminant > 0.0 ? 1 : 3;
}

#endif
