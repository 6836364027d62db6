/* SPDX-License-Identifier: MIT */
/* All real roots of a polynomial, by interlacing: between two roots of the derivative there is one root or none.
 *
 * In      coefficients
 * Out     real roots, as quotients, so that one at infinity is no exception
 * Rule    the derivative of order degree - 1 has one root, which parts the line for the next one up, and so on. In each part where the
 *         ends have different signs Newton's method, kept within the ends and halved where it is slow, takes a fixed number of steps; where
 *         they have not, the end with the lesser value parts the line as well, which does no harm, so that a level has as many
 *         parts as its degree. Roots beyond -1..1 are those of the polynomial with its coefficients reversed, found side by side
 * Exact   single precision in one order, but for the values of the polynomial itself, which are double: in single precision a
 *         polynomial of degree 10 loses pairs of close roots
 */
#ifndef VF_POLYNOMIAL_H
#define VF_POLYNOMIAL_H

#include <math.h>

#include "angle.h"
#include "team.h"

#define VF_DEGREE 10      /* at most */
#define VF_PART_STEPS 16  /* of Newton's method in derivatives; 12 lose 1 problem of 1,000 more, 20 none less */
#define VF_ROUGH_STEPS 12 /* in the polynomial, in single precision */
#define VF_SURE_STEPS 10  /* then with its values in double precision */

struct vf_polynomial_work {
    double c[VF_DEGREE + 1];                           /* in: of powers of z, from 0 on; the greatest about 1 */
    float part[2][VF_DEGREE + 1][VF_DEGREE + 1];       /* by side and degree: derivatives, divided by the factorial of their order */
    float end[2][2][VF_DEGREE + 2];                    /* by side and degree % 2: -1, where the line is parted, 1 */
    float root[2 * VF_DEGREE][2];                      /* out: z is the quotient of the two; 0 0: none here */
};

/** Value and slope. */
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

/** Value in double precision. */
VF_FN double vf_polynomial_exact(const double *c, int degree, float at)
{
    const double x = (double)at;
    double p = c[degree];
    for (int i = degree - 1; i >= 0; i--) p = p * x + c[i];
    return p;
}

/** A root is looked for between two ends, at the first of which the polynomial is negative, or is not. */
struct vf_bracket {
    float least, most, at, last; /* last: length of the step before */
    int negative;
};
VF_FN struct vf_bracket vf_bracket(float least, float most, int negative)
{
    struct vf_bracket b;
    b.least = least;
    b.most = most;
    b.at = 0.5f * (least + most);
    b.last = most - least;
    b.negative = negative;
    return b;
}

/** One over a number to 1 in 1,000: enough for a step that is tested, without a division's wait. From the exponent turned round, and two
 *  steps of Newton's method (J. Blinn, Floating-point tricks, 1997). Of 0 it is nothing of use. */
VF_FN float vf_rough_inverse(float v)
{
    uint32_t bits;
    float r;
    memcpy(&bits, &v, sizeof bits);
    bits = 0x7ef311c7u - bits;
    memcpy(&r, &bits, sizeof r);
    r = r * (2.0f - v * r);
    return r * (2.0f - v * r);
}

/** One step of Newton's method, or to the middle where that leads out of the ends or does not halve the step before. A step of length 0 is
 *  repeated for ever, so that whoever stops there has the same bits. */
VF_FN void vf_bracket_step(struct vf_bracket *b, float value, float slope)
{
    const float tiny = 1e-6f;
    const int below = (value < 0.0f) == b->negative;
    b->least = below ? b->at : b->least;
    b->most = below ? b->most : b->at;
    const float newton = b->at - value * vf_rough_inverse(slope), step = fabsf(newton - b->at);
    const int take = (newton >= b->least) & (newton <= b->most) & ((step <= 0.5f * b->last) | (step < tiny));
    const float next = take ? newton : 0.5f * (b->least + b->most);
    b->last = fabsf(next - b->at);
    b->at = next;
}

/** Where interval i of a level parts the line for the next one up. */
VF_FN float vf_polynomial_part(const float *c, int degree, float least, float most)
{
    float slope;
    if (!(least < most)) return least;
    const float first = vf_polynomial_value(c, degree, least, &slope), last = vf_polynomial_value(c, degree, most, &slope);
    if ((first < 0.0f) == (last < 0.0f)) return fabsf(first) < fabsf(last) ? least : most;
    struct vf_bracket b = vf_bracket(least, most, first < 0.0f);
    for (int k = 0; k < VF_PART_STEPS && b.last > 0.0f; k++) {
        const float value = vf_polynomial_value(c, degree, b.at, &slope);
        vf_bracket_step(&b, value, slope);
    }
    return b.at;
}

/** The root of the polynomial itself in such an interval; returns whether there is one. */
VF_FN int vf_polynomial_root(const float *c, const double *exact, int degree, float least, float most, float *root)
{
    float slope;
    if (!(least < most)) return 0;
    const int negative = vf_polynomial_exact(exact, degree, least) < 0.0;
    if (negative == (vf_polynomial_exact(exact, degree, most) < 0.0)) return 0;
    struct vf_bracket b = vf_bracket(least, most, negative);
    for (int k = 0; k < VF_ROUGH_STEPS && b.last > 0.0f; k++) {
        const float value = vf_polynomial_value(c, degree, b.at, &slope);
        vf_bracket_step(&b, value, slope);
    }
    const float at = b.at;
    b = vf_bracket(least, most, negative);
    b.at = at;
    for (int k = 0; k < VF_SURE_STEPS && b.last > 0.0f; k++) {
        vf_polynomial_value(c, degree, b.at, &slope);
        vf_bracket_step(&b, (float)vf_polynomial_exact(exact, degree, b.at), slope);
    }
    *root = b.at;
    return 1;
}

/** All real roots of w->c. */
VF_FN void vf_polynomial_roots(struct vf_polynomial_work *w, int degree)
{
    VF_TEAM (k, 2 * (degree + 1)) { /* one power of one side */
        const int side = k > degree, power = side ? k - degree - 1 : k;
        const float c = (float)w->c[side ? degree - power : power];
        int choose = 1; /* `order` of `power` */
        VF_UNROLL
        for (int order = 0; order <= degree; order++) {
            if (order <= power) w->part[side][degree - order][power - order] = (float)choose * c;
            choose = choose * (power - order) / (order + 1);
        }
        if (power < 2) w->end[side][power][0] = -1.0f;
        if (power == 0) w->end[side][0][1] = 1.0f; /* degree 0 parts nothing */
    }
    VF_TEAM_SYNC();
    VF_UNROLL
    for (int d = 1; d < degree; d++) {
        VF_TEAM (k, 2 * d) {
            const int side = k >= d, i = side ? k - d : k;
            const float *end = w->end[side][(d - 1) % 2];
            w->end[side][d % 2][i + 1] = vf_polynomial_part(w->part[side][d], d, end[i], end[i + 1]);
            if (i == 0) w->end[side][d % 2][d + 1] = 1.0f;
        }
        VF_TEAM_SYNC();
    }
    VF_TEAM (k, 2 * degree) {
        const int side = k >= degree, i = side ? k - degree : k;
        const float *end = w->end[side][(degree - 1) % 2];
        double exact[VF_DEGREE + 1];
        float root = 0.0f;
        for (int m = 0; m <= degree; m++) exact[m] = w->c[side ? degree - m : m];
        const int found = vf_polynomial_root(w->part[side][degree], exact, degree, end[i], end[i + 1], &root);
        w->root[k][0] = !found ? 0.0f : side ? 1.0f : root;
        w->root[k][1] = !found ? 0.0f : side ? root : 1.0f;
    }
    VF_TEAM_SYNC();
}

/* ---- cubic ------------------------------------------------------------------------------------------------------------------------- */

/** Cube root, to single precision: the exponent is divided by three, which is right to 6 %, and Newton's method does the rest. */
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

/** Real roots of c[0] + c[1] z + c[2] z^2 + c[3] z^3, each the quotient of the two numbers of root[k], by Cardano's formula; returns how
 *  many: one or three, 0 for a polynomial that is none. In 1 / z where the last coefficient is the lesser one, so that no root is far. */
VF_FN int vf_cubic_roots(const float c[4], float root[3][2])
{
    const int turned = fabsf(c[0]) > fabsf(c[3]);
    const double lead = (double)(turned ? c[0] : c[3]), inverse = 1.0 / lead;
    const double a = (double)(turned ? c[1] : c[2]) * inverse, b = (double)(turned ? c[2] : c[1]) * inverse, d = (double)(turned ? c[3] : c[0]) * inverse;
    const double third = a * (1.0 / 3.0), p = (b - a * third) * (1.0 / 3.0), q = 0.5 * d - 0.5 * b * third + third * third * third;
    const double discriminant = q * q + p * p * p; /* of t^3 + 3 p t + 2 q, with z = t - a / 3 */
    if (!(lead != 0.0 && discriminant * 0.0 == 0.0)) return 0;
    float t[3];
    const float root_d = sqrtf((float)fabs(discriminant)), fq = (float)q, fp = (float)p;
    if (discriminant > 0.0) {
        const float u = vf_cube_root(fq > 0.0f ? -fq - root_d : -fq + root_d);
        t[0] = t[1] = t[2] = u == 0.0f ? 0.0f : u - fp / u;
    } else {
        const double angle = (double)(vf_angle(root_d, -fq) * (1.0f / 3.0f));
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
        root[k][0] = turned ? 1.0f : (float)z;
        root[k][1] = turned ? (float)z : 1.0f;
    }
    return discriminant > 0.0 ? 1 : 3;
}

#endif
