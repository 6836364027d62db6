/* SPDX-License-Identifier: MIT */
#include "lens.h"

#include <math.h> /* sqrt, which is an instruction, correctly rounded */

#include "math/angle.h"

#define PI 3.1415926535897931
#define RADIUS_MOST 1e4 /* 0.006 degrees off sideways */
#define DEGREE 9        /* of the polynomials here, at most */
#define ROOT_STEPS 128
#define PLANE_STEPS 60
#define HALVINGS 24
#define ROUNDING 2.220446049250313e-16 /* 2^-52 */
#define CLOSE 1e-13                    /* what may be left of a point's distance from where it should be */

static int finite_number(double v) { return v - v == 0.0; }

/* ---- polynomials, the constant term first ------------------------------------------------------------------------ */

static double value_at(const double *c, int degree, double x)
{
    double v = c[degree];
    for (int i = degree - 1; i >= 0; i--) v = v * x + c[i];
    return v;
}

static void derive(double *out, const double *c, int degree)
{
    for (int i = 1; i <= degree; i++) out[i - 1] = i * c[i];
}

static int degree_of(const double *c, int most)
{
    while (most > 0 && c[most] == 0.0) most--;
    return most;
}

/**
 * A zero between two places where the polynomial differs in sign, x >= 0. Newton's steps as long as each is at most half as long as
 * the one before and stays between the bounds, else their middle.
 */
static double zero_between(const double *c, int degree, double low, double high, double start)
{
    const int rises = value_at(c, degree, high) > 0.0;
    double x = start, last = high - low;
    for (int i = 0; i < ROOT_STEPS; i++) {
        double value = c[degree], slope = 0.0, size = value < 0.0 ? -value : value;
        for (int k = degree - 1; k >= 0; k--) {
            slope = slope * x + value;
            value = value * x + c[k];
            size = size * x + (c[k] < 0.0 ? -c[k] : c[k]);
        }
        const double rest = value < 0.0 ? -value : value;
        if (rest <= ROUNDING * size) break; /* the terms' own rounding: there is no more to know */
        if ((value > 0.0) == rises)
            high = x;
        else
            low = x;
        double next = x - value / slope;
        const double step = next < x ? x - next : next - x;
        if (!(next > low && next < high && step <= 0.5 * last)) next = low + 0.5 * (high - low);
        last = next < x ? x - next : next - x;
        if (last == 0.0) break;
        x = next;
    }
    return x;
}

/** The smallest zero in 0..most of a polynomial that is positive at 0, or `most`. Between two zeros of its derivative a polynomial has one
 *  at most: so from the highest derivative, which is a line, to the polynomial itself. */
static double first_zero(const double *c, int degree, double most)
{
    double derivative[DEGREE + 1][DEGREE + 1], cut[DEGREE + 1];
    int cuts = 0;
    memcpy(derivative[0], c, ((size_t)degree + 1) * sizeof *c);
    for (int i = 1; i < degree; i++) derive(derivative[i], derivative[i - 1], degree - i + 1);
    for (int i = degree - 1; i >= 0; i--) {
        double found[DEGREE + 1], low = 0.0;
        int n = 0;
        for (int k = 0; k <= cuts; k++) {
            const double high = k < cuts ? cut[k] : most;
            if ((value_at(derivative[i], degree - i, low) < 0.0) != (value_at(derivative[i], degree - i, high) < 0.0))
                found[n++] = zero_between(derivative[i], degree - i, low, high, 0.5 * (low + high));
            low = high;
        }
        memcpy(cut, found, (size_t)n * sizeof *cut);
        cuts = n;
    }
    return cuts ? cut[0] : most;
}

/* ---- the radial function ----------------------------------------------------------------------------------------- */

/** Its largest argument: up to where its derivative, the sum of (1 + 2i - 2j) n_i d_j u^2(i + j) over D^2, is 0, or to its first pole. */
static double limit_of(const struct vf_lens *l)
{
    const double most = l->equidistant ? PI * PI : RADIUS_MOST * RADIUS_MOST;
    double slope[8] = {0};
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 4 && i + j < 8; j++) slope[i + j] += (1 + 2 * i - 2 * j) * l->n[i] * l->d[j];
    const double top = first_zero(slope, degree_of(slope, 7), most), pole = first_zero(l->d, degree_of(l->d, 3), most);
    const double first = top < pole ? top : pole;
    return first < most ? sqrt(first) * (1.0 - 1e-12)
                        : sqrt(most); /* a little before, so that rounding does not reach beyond */
}

/** N / D, and its derivative by u^2. */
static double factor_at(const struct vf_lens *l, double u2, double *slope)
{
    double n = l->n[4], dn = 0.0, d = l->d[3], dd = 0.0;
    for (int i = 3; i >= 0; i--) {
        dn = dn * u2 + n;
        n = n * u2 + l->n[i];
    }
    for (int i = 2; i >= 0; i--) {
        dd = dd * u2 + d;
        d = d * u2 + l->d[i];
    }
    *slope = (dn * d - n * dd) / (d * d);
    return n / d;
}

/** The argument in 0..limit at which the radial function is v, which is at most its reach: where u N(u^2) - v D(u^2) is 0. */
static double argument_of(const struct vf_lens *l, double v)
{
    double c[DEGREE + 1];
    for (int i = 0; i < 5; i++) {
        c[2 * i] = i < 4 ? -v * l->d[i] : 0.0;
        c[2 * i + 1] = l->n[i];
    }
    return zero_between(c, degree_of(c, DEGREE), 0.0, l->limit, v < l->limit ? v : l->limit);
}

/* ---- Brown's lenses: from the plane Z = 1 to the plane of the picture -------------------------------------------- */

/** Where a point goes, how far that is from where it should, and the derivative, a symmetric matrix. */
struct bent {
    double x, y;       /* from */
    double to_x, to_y; /* to */
    double xx, xy, yy;
    double off_x, off_y, off; /* to less what it should be; squared length */
};

/** Returns 0 where the lens does not hold: beyond its limit, or where the picture folds. */
static int bend(struct bent *b, const struct vf_lens *l, double x, double y)
{
    const double r2 = x * x + y * y;
    if (!(sqrt(r2) <= l->limit)) return 0;
    double slope;
    const double q = factor_at(l, r2, &slope);
    b->x = x;
    b->y = y;
    b->to_x = x * q + 2.0 * l->p1 * x * y + l->p2 * (r2 + 2.0 * x * x);
    b->to_y = y * q + l->p1 * (r2 + 2.0 * y * y) + 2.0 * l->p2 * x * y;
    if (l->p1 == 0.0 && l->p2 == 0.0) return 1; /* the limit says all */
    b->xx = q + 2.0 * x * x * slope + 2.0 * l->p1 * y + 6.0 * l->p2 * x;
    b->xy = 2.0 * x * y * slope + 2.0 * l->p1 * x + 2.0 * l->p2 * y;
    b->yy = q + 2.0 * y * y * slope + 6.0 * l->p1 * y + 2.0 * l->p2 * x;
    return b->xx > 0.0 && b->xx * b->yy - b->xy * b->xy > 0.0;
}

static int try_point(struct bent *b, const struct vf_lens *l, double x, double y, const double m[2])
{
    if (!bend(b, l, x, y)) return 0;
    b->off_x = b->to_x - m[0];
    b->off_y = b->to_y - m[1];
    b->off = b->off_x * b->off_x + b->off_y * b->off_y;
    return 1;
}

/** A step of Newton's, shortened until it brings the point closer and stays where the lens holds. Returns 0: there is none. */
static int step_closer(struct bent *b, const struct vf_lens *l, const double m[2])
{
    const double determinant = b->xx * b->yy - b->xy * b->xy;
    const double step_x = (b->yy * b->off_x - b->xy * b->off_y) / determinant,
                 step_y = (b->xx * b->off_y - b->xy * b->off_x) / determinant;
    double share = 1.0;
    for (int i = 0; i < HALVINGS; i++, share *= 0.5) {
        struct bent next;
        if (!try_point(&next, l, b->x - share * step_x, b->y - share * step_y, m) || !(next.off < b->off)) continue;
        *b = next;
        return 1;
    }
    return 0;
}

/** The point that goes to m, when the decentering terms play a part: from where it would be without them, or from further inside. */
static int unbend_all(double p[2], const struct vf_lens *l, const double m[2])
{
    const double length = sqrt(m[0] * m[0] + m[1] * m[1]), least = ROUNDING * (1.0 + length),
                 most = CLOSE * (1.0 + length);
    double share = length > 0.0 ? argument_of(l, length < 0.9 * l->reach ? length : 0.9 * l->reach) / length : 0.0;
    struct bent b;
    int holds = 0;
    for (int i = 0; i < HALVINGS && !holds; i++, share *= 0.5) holds = try_point(&b, l, share * m[0], share * m[1], m);
    if (!holds) return 0;
    for (int i = 0; i < PLANE_STEPS && b.off > least * least && step_closer(&b, l, m); i++) continue;
    p[0] = b.x;
    p[1] = b.y;
    return b.off <= most * most;
}

/** The argument of the radial function that gives the length of m; negative: there is none. */
static double unbend_length(const struct vf_lens *l, double length)
{
    if (!(length <= l->reach)) return -1.0;
    double slope;
    const double u = argument_of(l, length), off = u * factor_at(l, u * u, &slope) - length,
                 most = CLOSE * (1.0 + length);
    return off <= most && -off <= most ? u : -1.0;
}

static int unbend(double p[2], const struct vf_lens *l, const double m[2])
{
    if (l->p1 != 0.0 || l->p2 != 0.0) return unbend_all(p, l, m);
    const double length = sqrt(m[0] * m[0] + m[1] * m[1]), u = unbend_length(l, length);
    p[0] = length > 0.0 ? m[0] * (u / length) : 0.0;
    p[1] = length > 0.0 ? m[1] * (u / length) : 0.0;
    return u >= 0.0;
}

static int plane_project(const struct vf_lens *l, const double ray[3], double m[2])
{
    struct bent b;
    if (!(ray[2] > 0.0) || !bend(&b, l, ray[0] / ray[2], ray[1] / ray[2])) return 0;
    m[0] = b.to_x;
    m[1] = b.to_y;
    return 1;
}

static int plane_bearing(const struct vf_lens *l, const double m[2], double bearing[3])
{
    double p[2];
    if (!unbend(p, l, m)) return 0;
    const double length = sqrt(p[0] * p[0] + p[1] * p[1] + 1.0);
    bearing[0] = p[0] / length;
    bearing[1] = p[1] / length;
    bearing[2] = 1.0 / length;
    return 1;
}

/* ---- the equidistant fisheye: from the angle to the axis to the radius in the picture ---------------------------- */

static int angle_project(const struct vf_lens *l, const double ray[3], double m[2])
{
    double most = 0.0, slope;
    for (int i = 0; i < 3; i++) {
        const double size = ray[i] < 0.0 ? -ray[i] : ray[i];
        if (size > most) most = size;
    }
    if (most == 0.0) return 0;
    const double x = ray[0] / most, y = ray[1] / most,
                 z = ray[2] / most; /* or their squares are too large, or too small */
    const double across = sqrt(x * x + y * y), angle = vf_atan2(across, z);
    if (!(angle <= l->limit) || (across == 0.0 && z < 0.0)) return 0;
    const double radius = angle * factor_at(l, angle * angle, &slope);
    m[0] = across > 0.0 ? radius * (x / across) : 0.0;
    m[1] = across > 0.0 ? radius * (y / across) : 0.0;
    return 1;
}

static int angle_bearing(const struct vf_lens *l, const double m[2], double bearing[3])
{
    const double radius = sqrt(m[0] * m[0] + m[1] * m[1]), angle = unbend_length(l, radius);
    if (angle < 0.0) return 0;
    double sine;
    vf_sincos(angle, &sine, &bearing[2]);
    bearing[0] = radius > 0.0 ? sine * (m[0] / radius) : 0.0;
    bearing[1] = radius > 0.0 ? sine * (m[1] / radius) : 0.0;
    return 1;
}

/* ---- all lenses -------------------------------------------------------------------------------------------------- */

int vf_lens_numbers(vfront_lens_t lens)
{
    switch (lens) {
    case VFRONT_LENS_RADTAN: return 5;
    case VFRONT_LENS_RATIONAL: return 8;
    case VFRONT_LENS_EQUIDISTANT: return 4;
    }
    return 0;
}

void vf_lens_make(struct vf_lens *l, const vfront_camera_t *c)
{
    const double *k = c->distortion;
    const int numbers = vf_lens_numbers(c->lens);
    int good = numbers && c->fx_px > 0.0 && c->fy_px > 0.0;
    for (int i = 0; i < numbers; i++) good = good && finite_number(k[i]);
    memset(l, 0, sizeof *l);
    l->fx_px = c->fx_px;
    l->fy_px = c->fy_px;
    l->cx_px = c->cx_px;
    l->cy_px = c->cy_px;
    l->equidistant = c->lens == VFRONT_LENS_EQUIDISTANT;
    l->n[0] = l->d[0] = 1.0;
    l->n[1] = k[0];
    l->n[2] = k[1];
    l->n[3] = l->equidistant ? k[2] : k[4];
    l->n[4] = l->equidistant ? k[3] : 0.0;
    l->p1 = l->equidistant ? 0.0 : k[2];
    l->p2 = l->equidistant ? 0.0 : k[3];
    for (int i = 1; i < 4 && c->lens == VFRONT_LENS_RATIONAL; i++) l->d[i] = k[4 + i];
    l->limit = good ? limit_of(l) : -1.0;
    double slope;
    l->reach = good ? l->limit * factor_at(l, l->limit * l->limit, &slope) : -1.0;
}

int vf_lens_project(const struct vf_lens *l, const double ray[3], double px[2])
{
    double m[2];
    if (!finite_number(ray[0]) || !finite_number(ray[1]) || !finite_number(ray[2])) return 0;
    if (!(l->equidistant ? angle_project(l, ray, m) : plane_project(l, ray, m))) return 0;
    const double x = l->fx_px * m[0] + l->cx_px, y = l->fy_px * m[1] + l->cy_px;
    if (!finite_number(x) || !finite_number(y)) return 0;
    px[0] = x;
    px[1] = y;
    return 1;
}

int vf_lens_bearing(const struct vf_lens *l, const double px[2], double bearing[3])
{
    if (l->limit < 0.0) return 0;
    const double m[2] = {(px[0] - l->cx_px) / l->fx_px, (px[1] - l->cy_px) / l->fy_px};
    if (!finite_number(m[0] * m[0] + m[1] * m[1])) return 0; /* or so far away that nothing can be said of it */
    return l->equidistant ? angle_bearing(l, m, bearing) : plane_bearing(l, m, bearing);
}

int vfront_lens_project(const vfront_camera_t *camera, const double ray[3], double px[2])
{
    if (!camera || !ray || !px) return 0;
    struct vf_lens lens;
    vf_lens_make(&lens, camera);
    return vf_lens_project(&lens, ray, px);
}

int vfront_lens_bearing(const vfront_camera_t *camera, const double px[2], double bearing[3])
{
    if (!camera || !px || !bearing) return 0;
    struct vf_lens lens;
    vf_lens_make(&lens, camera);
    return vf_lens_bearing(&lens, px, bearing);
}
