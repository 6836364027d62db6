/* SPDX-License-Identifier: MIT */
/* All real roots of a polynomial, by interlacing: between two roots of the derivative there is one root or none.
 *
 * In      coefficients
 * Out     real roots, as quotients, so that one at infinity is no exception
 * Rule    the derivative of order degree - 1 has one root, which parts the line for the next one up, and so on. In each part where the
 *         ends have different signs Newton's method, kept within the ends and halved where it is slow, takes a fixed number of steps; where
 *         they have not, the end with the lesser value parts the line as well, which does no harm, so that a level has as many
 *         parts as its degree. Roots beyond -1..1 are those of the polynomial with its coefficients reversed, found side by side.
 *         Two complex roots that lie VF_CLOSE or less off the line are given as two real ones as far from each other: coefficients are
 *         not exact, and those of two close real roots may be by so much that they have none
 * Exact   single precision in one order, but for values at ends and in the last steps, which are double: in single precision a
 *         polynomial of degree 10 loses pairs of close roots, and so do its derivatives
 */
#ifndef VF_POLYNOMIAL_H
#define VF_POLYNOMIAL_H

#include <math.h>

#include "angle.h"
#include "team.h"

#define VF_DEGREE 10 /* at most */
#define VF_CLOSE 0.02f
#define VF_ROUGH_STEPS 8 /* of Newton's method, in single precision */
#define VF_SURE_STEPS 10 /* then, with values in double precision */

struct vf_polynomial_work {
    double c[VF_DEGREE + 1]; /* in: of powers of z, from 0 on; the greatest about 1 */
    double exact[2][VF_DEGREE + 1]
                [VF_DEGREE + 1]; /* by side and degree: derivatives, divided by the factorial of their order */
    float part[2][VF_DEGREE + 1][VF_DEGREE + 1]; /* the same, rounded */
    float end[2][2][VF_DEGREE + 2];              /* by side and degree % 2: -1, where the line is parted, 1 */
    float root[2 * VF_DEGREE][2];                /* out: z is the quotient of the two; 0 0: none here */
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

/** A polynomial, exact and rounded. */
struct vf_level_of {
    const double *exact;
    const float *part;
    int degree;
};

/** The root between two ends with different signs. */
VF_FN float vf_polynomial_between(struct vf_level_of p, float least, float most, int negative)
{
    struct vf_bracket b = vf_bracket(least, most, negative);
    float slope;
    VF_ROLL
    for (int k = 0; k < VF_ROUGH_STEPS && b.last > 0.0f; k++) {
        const float value = vf_polynomial_value(p.part, p.degree, b.at, &slope);
        vf_bracket_step(&b, value, slope);
    }
    const float at = b.at;
    b = vf_bracket(least, most, negative);
    b.at = at;
    VF_ROLL
    for (int k = 0; k < VF_SURE_STEPS && b.last > 0.0f; k++) {
        vf_polynomial_value(p.part, p.degree, b.at, &slope);
        vf_bracket_step(&b, (float)vf_polynomial_exact(p.exact, p.degree, b.at), slope);
    }
    return b.at;
}

/** Where an interval of a level parts the line for the next one up. */
VF_FN float vf_polynomial_part(struct vf_level_of p, float least, float most)
{
    if (!(least < most)) return least;
    const double first = vf_polynomial_exact(p.exact, p.degree, least),
                 last = vf_polynomial_exact(p.exact, p.degree, most);
    if ((first < 0.0) == (last < 0.0)) return fabs(first) < fabs(last) ? least : most;
    return vf_polynomial_between(p, least, most, first < 0.0);
}

/** Whether two complex roots lie close to an end where the polynomial has its least value: where the real one in this interval would be.
 *  half: a half of the second derivative. */
VF_FN int vf_polynomial_close(struct vf_level_of half, float end, float value, float inwards, float *root)
{
    float slope;
    const float square = value / vf_polynomial_value(half.part, half.degree, end, &slope);
    if (!(square >= 0.0f && square < VF_CLOSE * VF_CLOSE && fabsf(end) < 1.0f)) return 0;
    *root = end + inwards * sqrtf(square);
    return 1;
}

/** The root of the polynomial itself in such an interval; returns whether there is one. */
VF_FN int vf_polynomial_root(struct vf_level_of p, struct vf_level_of half, float least, float most, float *root)
{
    if (!(least < most)) return 0;
    const double first = vf_polynomial_exact(p.exact, p.degree, least),
                 last = vf_polynomial_exact(p.exact, p.degree, most);
    const int low = fabs(first) < fabs(last);
    if ((first < 0.0) == (last < 0.0))
        return vf_polynomial_close(half, low ? least : most, (float)(low ? first : last), low ? 1.0f : -1.0f, root);
    *root = vf_polynomial_between(p, least, most, first < 0.0);
    return 1;
}

/** The derivative of a degree. */
VF_FN struct vf_level_of vf_polynomial_level(const struct vf_polynomial_work *w, int side, int degree)
{
    const struct vf_level_of p = {w->exact[side][degree], w->part[side][degree], degree};
    return p;
}

/** All real roots of w->c. */
VF_FN void vf_polynomial_roots(struct vf_polynomial_work *w, int degree)
{
    VF_TEAM(k, 2 * (degree + 1))
    { /* one power of one side */
        const int side = k > degree, power = side ? k - degree - 1 : k;
        const double c = w->c[side ? degree - power : power];
        int choose = 1; /* `order` of `power` */
        for (int order = 0; order <= power; order++) {
            w->exact[side][degree - order][power - order] = (double)choose * c;
            w->part[side][degree - order][power - order] = (float)((double)choose * c);
            choose = choose * (power - order) / (order + 1);
        }
        if (power < 2) w->end[side][power][0] = -1.0f;
        if (power == 0) w->end[side][0][1] = 1.0f; /* degree 0 parts nothing */
    }
    VF_TEAM_SYNC();
    VF_UNROLL
    for (int d = 1; d < degree; d++) {
        VF_TEAM(k, 2 * d)
        {
            const int side = k >= d, i = side ? k - d : k;
            const float *end = w->end[side][(d - 1) % 2];
            w->end[side][d % 2][i + 1] = vf_polynomial_part(vf_polynomial_level(w, side, d), end[i], end[i + 1]);
            if (i == 0) w->end[side][d % 2][d + 1] = 1.0f;
        }
        VF_TEAM_SYNC();
    }
    VF_TEAM(k, 2 * degree)
    {
        const int side = k >= degree, i = side ? k - degree : k;
        const float *end = w->end[side][(degree - 1) % 2];
        float root = 0.0f;
        const int found = vf_polynomial_root(vf_polynomial_level(w, side, degree),
                                             vf_polynomial_level(w, side, degree - 2), end[i], end[i + 1], &root);
        w->root[k][0] = !found ? 0.0f : side ? 1.0f : root;
        w->root[k][1] = !found ? 0.0f : side ? root : 1.0f;
    }
    VF_TEAM_SYNC();
}

/* ---- cubic ------------------------------------------------------------------------------------------------------- */

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
    const double a = (double)(turned ? c[1] : c[2]) * inverse, b = (double)(turned ? c[2] : c[1]) * inverse,
                 d = (double)(turned ? c[3] : c[0]) * inverse;
    const double third = a * (1.0 / 3.0), p = (b - a * third) * (1.0 / 3.0),
                 q = 0.5 * d - 0.5 * b * third + third * third * third;
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
