/* SPDX-License-Identifier: MIT */
/* lens: lens models against their definitions, written again in long double with the C library's functions: the pixel
 * of a ray, the range of the model, and the ray of a pixel. Random cameras of many kinds, from typical to extreme
 * coefficients. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "math/angle.h"
#include "camera/lens.h"
#include "tests/fixture/random.h"

typedef long double real;
#define PI_L 3.14159265358979323846264338327950288L

static double between(double least, double most) { return least + (most - least) * (double)(roll64() >> 11) * 0x1p-53; }

enum { LENSES = VFRONT_LENS_OMNI + 1 };

/* ---- cameras ----------------------------------------------------------------------------------------------------- */

enum kind {
    PINHOLE,
    EUROC,
    BARREL,
    PINCUSHION,
    DECENTRED,
    TELE,
    WILD_RADTAN,
    GOPRO,
    WILD_RATIONAL,
    KALIBR,
    FISHEYE,
    WILD_FISHEYE,
    SPHERES,
    WILD_SPHERES,
    EXTENDED,
    WILD_EXTENDED,
    OMNI,
    DECENTRED_OMNI,
    WILD_OMNI,
    KINDS
};
static const char *const kind_name[KINDS] = {"pinhole",   "euroc",        "barrel",    "pincushion",    "decentred",
                                             "tele",      "wild radtan",  "gopro",     "wild rational", "kalibr",
                                             "fisheye",   "wild fisheye", "ds",        "wild ds",       "eucm",
                                             "wild eucm", "omni",         "bent omni", "wild omni"};

/** Random coefficients first..last, of a magnitude up to `most`. */
static void coefficients(vfront_camera_t *c, int first, int last, double most)
{
    for (int i = first; i <= last; i++) c->distortion[i] = between(-most, most);
}

static void frame_of(vfront_camera_t *c, double focal_widths)
{
    c->width_px = (int32_t)between(160, 1920);
    c->height_px = (int32_t)(c->width_px * between(0.5, 0.8));
    c->fx_px = focal_widths * c->width_px;
    c->fy_px = c->fx_px * between(0.97, 1.03);
    c->cx_px = c->width_px * between(0.4, 0.6);
    c->cy_px = c->height_px * between(0.4, 0.6);
}

/** 0, 1, or a number between them. */
static double edge(double v) { return v < 0 ? 0 : v > 1 ? 1 : v; }

static vfront_camera_t camera_of(enum kind kind)
{
    vfront_camera_t c;
    memset(&c, 0, sizeof c);
    c.lens = kind < GOPRO      ? VFRONT_LENS_RADTAN
             : kind < KALIBR   ? VFRONT_LENS_RATIONAL
             : kind < SPHERES  ? VFRONT_LENS_EQUIDISTANT
             : kind < EXTENDED ? VFRONT_LENS_DS
             : kind < OMNI     ? VFRONT_LENS_EUCM
                               : VFRONT_LENS_OMNI;
    frame_of(&c, kind == TELE ? between(3, 40) : kind < KALIBR ? between(0.4, 0.9) : between(0.15, 0.5));
    double *k = c.distortion;
    switch (kind) {
    case EUROC:
        k[0] = between(-0.32, -0.24), k[1] = between(0.05, 0.1);
        coefficients(&c, 2, 3, 5e-4);
        break;
    case BARREL: k[0] = between(-0.6, -0.05), k[1] = between(-0.05, 0.02); break;
    case PINCUSHION: k[0] = between(0, 0.6), k[1] = between(-0.2, 0.3), k[4] = between(-0.05, 0.1); break;
    case DECENTRED:
        coefficients(&c, 0, 4, 0.1);
        coefficients(&c, 2, 3, 0.03);
        break;
    case TELE:
        coefficients(&c, 0, 4, 20);
        coefficients(&c, 2, 3, 0.02);
        break;
    case WILD_RADTAN:
        coefficients(&c, 0, 4, 1);
        coefficients(&c, 2, 3, between(-1, 1) < 0 ? 0 : 0.2);
        break;
    case GOPRO:
        k[0] = between(0.1, 1.5), k[1] = between(-0.1, 0.6), k[4] = between(0, 0.05);
        k[5] = k[0] + between(0.1, 0.5), k[6] = k[1] + between(0.02, 0.3), k[7] = k[4] + between(0.005, 0.05);
        coefficients(&c, 2, 3, 1e-3);
        break;
    case WILD_RATIONAL:
        coefficients(&c, 0, 7, 1);
        coefficients(&c, 2, 3, between(-1, 1) < 0 ? 0 : 0.05);
        break;
    case KALIBR: coefficients(&c, 0, 3, 0.02); break;
    case FISHEYE:
        k[0] = between(-0.1, 0.1), k[1] = between(-0.02, 0.02), k[2] = between(-4e-3, 4e-3),
        k[3] = between(-5e-4, 5e-4);
        break;
    case WILD_FISHEYE: coefficients(&c, 0, 3, 0.5); break;
    case SPHERES: k[0] = between(-0.35, 0.2), k[1] = between(0.45, 0.65); break;
    case WILD_SPHERES: k[0] = between(-0.99, 0.99), k[1] = edge(between(-0.3, 1.3)); break;
    case EXTENDED: k[0] = between(0.5, 0.75), k[1] = between(0.8, 1.3); break;
    case WILD_EXTENDED: k[0] = edge(between(-0.3, 1.3)), k[1] = pow(10, between(-2, 2)); break;
    case OMNI: k[0] = between(0.7, 2.5), k[1] = between(-0.25, 0.05), k[2] = between(-0.05, 0.2); break;
    case DECENTRED_OMNI:
        k[0] = between(0.7, 2.5), k[1] = between(-0.25, 0.05), k[2] = between(-0.05, 0.2);
        coefficients(&c, 3, 4, 0.01);
        break;
    case WILD_OMNI: k[0] = between(0, 1) < 0.5 ? between(-0.99, 1.5) : between(1, 99), k[1] = between(-1, 1); break;
    case PINHOLE:
    default: break;
    }
    return c;
}

/* ---- the definitions --------------------------------------------------------------------------------------------- */

/** 1: the argument of the radial function is the angle to the axis. */
static int by_angle(const vfront_camera_t *c) { return c->lens >= VFRONT_LENS_EQUIDISTANT; }

static int is_sphere(const vfront_camera_t *c) { return c->lens > VFRONT_LENS_EQUIDISTANT; }

/** Radius in the plane of the sphere's image: ds by Usenko, Demmel, Cremers (2018), equations 40 to 42; eucm by
 *  Khomutenko, Garcia, Martinet (2016), equation 9; omni by Mei and Rives (2007), without distortion. below: the
 *  divisor. */
static real sphere_radius(const vfront_camera_t *c, real angle, real *below)
{
    const double *k = c->distortion;
    const real x = sinl(angle), z = cosl(angle);
    if (c->lens == VFRONT_LENS_EUCM)
        *below = k[0] * sqrtl(k[1] * x * x + z * z) + (1 - (real)k[0]) * z;
    else if (c->lens == VFRONT_LENS_DS)
        *below = k[1] * hypotl(x, k[0] + z) + (1 - (real)k[1]) * (k[0] + z);
    else
        *below = z + k[0];
    return x / *below;
}

/** Radial function by OpenCV's page on calibration, cv::projectPoints: r (1 + k1 r^2 + k2 r^4 + k3 r^6) / (1 + k4
 *  r^2 + k5 r^4 + k6 r^6); equidistant: by cv::fisheye. below: the denominator. */
static real radial(const vfront_camera_t *c, real r, real *below)
{
    const double *k = c->distortion;
    const real r2 = r * r, r4 = r2 * r2, r6 = r4 * r2;
    *below = 1;
    if (is_sphere(c)) {
        const real at = sphere_radius(c, r, below), at2 = at * at;
        return c->lens == VFRONT_LENS_OMNI ? at * (1 + k[1] * at2 + k[2] * at2 * at2) : at;
    }
    if (c->lens == VFRONT_LENS_EQUIDISTANT)
        return r + k[0] * r * r2 + k[1] * r * r4 + k[2] * r * r6 + k[3] * r * r2 * r6;
    if (c->lens == VFRONT_LENS_RATIONAL) *below = 1 + k[5] * r2 + k[6] * r4 + k[7] * r6;
    return r * (1 + k[0] * r2 + k[1] * r4 + k[4] * r6) / *below;
}

/** Brown's model: from the plane Z = 1, or that of omni, to the image [px]. */
static void brown(const vfront_camera_t *c, real x, real y, real px[2])
{
    const int omni = c->lens == VFRONT_LENS_OMNI;
    const real p1 = c->distortion[2 + omni], p2 = c->distortion[3 + omni], r = hypotl(x, y);
    real below;
    const real stretch = omni    ? 1 + c->distortion[1] * r * r + c->distortion[2] * r * r * r * r
                         : r > 0 ? radial(c, r, &below) / r
                                 : 1;
    px[0] = c->fx_px * (x * stretch + 2 * p1 * x * y + p2 * (r * r + 2 * x * x)) + c->cx_px;
    px[1] = c->fy_px * (y * stretch + p1 * (r * r + 2 * y * y) + 2 * p2 * x * y) + c->cy_px;
}

/** Point of a ray in the plane in which Brown's model bends the image: Z = 1, or that of omni. */
static void plane_of(const vfront_camera_t *c, const double ray[3], real at[2])
{
    const real length = hypotl(hypotl(ray[0], ray[1]), ray[2]);
    const real below = c->lens == VFRONT_LENS_OMNI ? ray[2] + c->distortion[0] * length : (real)ray[2];
    at[0] = ray[0] / below;
    at[1] = ray[1] / below;
}

static void project(const vfront_camera_t *c, const double ray[3], real px[2])
{
    if (!by_angle(c) || c->lens == VFRONT_LENS_OMNI) {
        real at[2];
        plane_of(c, ray, at);
        brown(c, at[0], at[1], px);
        return;
    }
    real below;
    const real across = hypotl(ray[0], ray[1]), d = radial(c, atan2l(across, ray[2]), &below);
    px[0] = c->fx_px * (across > 0 ? d * ray[0] / across : 0) + c->cx_px;
    px[1] = c->fy_px * (across > 0 ? d * ray[1] / across : 0) + c->cy_px;
}

static int decentred(const vfront_camera_t *c)
{
    const int omni = c->lens == VFRONT_LENS_OMNI;
    return (omni || !by_angle(c)) && (c->distortion[2 + omni] != 0 || c->distortion[3 + omni] != 0);
}

/** Smaller eigenvalue of the Jacobian of the distortion at a point of its plane, by finite differences; negative where
 *  the image is folded. */
static real least_stretch(const vfront_camera_t *c, real x, real y)
{
    const real h = 1e-5L;
    real a[2], b[2], J[4];
    brown(c, x + h, y, a), brown(c, x - h, y, b);
    J[0] = (a[0] - b[0]) / (2 * h * c->fx_px), J[2] = (a[1] - b[1]) / (2 * h * c->fy_px);
    brown(c, x, y + h, a), brown(c, x, y - h, b);
    J[1] = (a[0] - b[0]) / (2 * h * c->fx_px), J[3] = (a[1] - b[1]) / (2 * h * c->fy_px);
    const real mean = (J[0] + J[3]) / 2, half = (J[0] - J[3]) / 2, off = (J[1] + J[2]) / 2;
    return mean - sqrtl(half * half + off * off);
}

/** Its minimum on the line from the axis to the point. */
static real least_on_radius(const vfront_camera_t *c, real x, real y)
{
    real least = 1;
    for (int i = 0; i <= 24; i++) {
        const real s = least_stretch(c, x * i / 24, y * i / 24);
        if (s < least) least = s;
    }
    return least;
}

/** Arguments between which the radial function stops rising, found by sampling. */
struct range {
    real least, most;
    int doubtful; /* the slope is nearly 0, then grows again: the sampling may have missed a dip */
};
#define WALK 2000

static struct range range_of(const vfront_camera_t *c)
{
    const real end = by_angle(c) ? PI_L : c->fx_px > 2.0 * c->width_px ? 1 : 8, h = end / WALK;
    struct range r = {end, end, 0};
    real before = 0, low = 1, below, unused;
    for (int i = 1; i <= WALK; i++) {
        const real v = radial(c, i * h, &below), slope = (v - before) / h;
        const int far = is_sphere(c) && sphere_radius(c, i * h, &unused) > 100;
        if (below <= 0 || slope <= 0 || far) {
            r.least = (i - 2) * h;
            r.most = i * h;
            return r;
        }
        r.doubtful |= low < 1e-3L && slope > low * 1.01L;
        if (slope < low) low = slope;
        before = v;
    }
    return r;
}

static void ray_of(const vfront_camera_t *c, double u, double turn, double length, double ray[3])
{
    const double x = cos(turn), y = sin(turn);
    const int angle = by_angle(c);
    ray[0] = length * x * (angle ? sin(u) : u);
    ray[1] = length * y * (angle ? sin(u) : u);
    ray[2] = length * (angle ? cos(u) : 1);
}

static real argument(const vfront_camera_t *c, const double ray[3])
{
    const real across = hypotl(ray[0], ray[1]);
    return by_angle(c) ? atan2l(across, ray[2]) : across / ray[2];
}

static int near_picture(const vfront_camera_t *c, const real px[2])
{
    return px[0] >= -0.5 * c->width_px && px[0] <= 1.5 * c->width_px && px[1] >= -0.5 * c->height_px &&
           px[1] <= 1.5 * c->height_px;
}

static real apart(const double a[3], const double b[3])
{
    const real la = sqrtl((real)a[0] * a[0] + (real)a[1] * a[1] + (real)a[2] * a[2]);
    const real lb = sqrtl((real)b[0] * b[0] + (real)b[1] * b[1] + (real)b[2] * b[2]);
    real d = 0;
    for (int i = 0; i < 3; i++) d += (a[i] / la - b[i] / lb) * (a[i] / la - b[i] / lb);
    return sqrtl(d);
}

/* ---- against the definitions ------------------------------------------------------------------------------------- */

#define CAMERAS 200 /* of each kind */
#define RAYS 60

struct figures {
    int rays, held, folded, pixels, seen, seen_outside, known, skipped;
    real project_px, round_px, bearing_rad;
};

static void most(real *to, real v)
{
    if (v > *to) *to = v;
}

static real distance(const double a[2], const real b[2]) { return hypotl(a[0] - b[0], a[1] - b[1]); }

/** 1: the range of the lens ends at a ray, to rounding. */
static int at_end(const vfront_camera_t *c, const struct vf_lens *l, const double ray[3])
{
    const real u = argument(c, ray);
    real at[2], below;
    plane_of(c, ray, at);
    const int turns = is_sphere(c) && sphere_radius(c, u + 1e-6L, &below) - sphere_radius(c, u, &below) < 1e-10L;
    const real radius = is_sphere(c) ? sphere_radius(c, u, &below) : u;
    return turns || radius > l->limit * (1 - 1e-9) ||
           ((c->lens == VFRONT_LENS_OMNI || !by_angle(c)) && least_stretch(c, at[0], at[1]) < 1e-4L);
}

/** A bearing of a pixel is a unit vector that projects to that pixel. */
static void check_bearing(const vfront_camera_t *c, const struct vf_lens *l, const double px[2],
                          const double bearing[3], struct figures *f)
{
    const double *b = bearing;
    const real length = sqrtl((real)b[0] * b[0] + (real)b[1] * b[1] + (real)b[2] * b[2]);
    real back[2];
    double again[2];
    REQUIRE(fabsl(length - 1) < 4e-16L, "a bearing's length is %.17Lg", length);
    project(c, bearing, back);
    most(&f->round_px, distance(px, back));
    REQUIRE(distance(px, back) <= 1e-6L, "pixel %.9f %.9f goes to %.9Lf %.9Lf", px[0], px[1], back[0], back[1]);
    if (vf_lens_project(l, bearing, again))
        REQUIRE(distance(again, back) <= 1e-6L, "forwards and backwards differ by %Lg px", distance(again, back));
    else
        REQUIRE(at_end(c, l, bearing), "no way back");
}

/** A ray well inside the range: its pixel has a bearing, which is this ray where the projection is one-to-one. */
static void check_inside(const vfront_camera_t *c, const struct vf_lens *l, const double ray[3], const double px[2],
                         real stretch, struct figures *f)
{
    double bearing[3];
    REQUIRE(vf_lens_bearing(l, px, bearing), "no bearing at %.9f %.9f for argument %Lg of %g, stretch %Lg", px[0],
            px[1], argument(c, ray), l->limit, stretch);
    f->known++;
    check_bearing(c, l, px, bearing, f);
    if (decentred(c) && stretch < 0.3L) return; /* other rays, beyond a fold, may project there, too */
    most(&f->bearing_rad, apart(ray, bearing) * stretch);
    REQUIRE(apart(ray, bearing) * stretch < 1e-11L, "another ray, %Lg rad off", apart(ray, bearing));
}

static void check_ray(const vfront_camera_t *c, const struct vf_lens *l, const struct range *range, struct figures *f)
{
    double ray[3], px[2] = {-7, -7};
    const double end = (double)range->most, u = between(0, 1) < 0.2 ? end * between(0.97, 1.01) : end * between(0, 1.1);
    if (by_angle(c) && u > 3.14159) return;
    ray_of(c, u, between(0, 6.2831853), between(0, 1) < 0.5 ? 1 : pow(10, between(-30, 30)), ray);
    const int holds = vf_lens_project(l, ray, px);
    real want[2], at[2];
    plane_of(c, ray, at);
    const real stretch = decentred(c) ? least_on_radius(c, at[0], at[1]) : 1;
    f->rays++;
    f->held += holds;
    if (!holds) REQUIRE(px[0] == -7 && px[1] == -7, "a ray that is not seen has a pixel");
    if (u < range->least && stretch > 1e-3L)
        REQUIRE(holds, "argument %g of %Lg is refused, limit %g", u, range->least, l->limit);
    if (u > range->most && range->most > range->least)
        REQUIRE(!holds, "argument %g of %Lg is taken, limit %g", u, range->most, l->limit);
    if (decentred(c) && u < range->least && least_stretch(c, at[0], at[1]) < -1e-3L) {
        REQUIRE(!holds, "folded, and taken");
        f->folded++;
    }
    if (!holds) return;
    project(c, ray, want);
    if (!near_picture(c, want)) return;
    most(&f->project_px, distance(px, want));
    REQUIRE(distance(px, want) <= 1e-9L, "%.12f %.12f, should be %.12Lf %.12Lf", px[0], px[1], want[0], want[1]);
    if (u < 0.98 * (double)range->least && stretch > 0.02L) {
        real below;
        real slope = decentred(c) ? stretch : (radial(c, u + 1e-6L, &below) - radial(c, u, &below)) / 1e-6L;
        if (decentred(c) && is_sphere(c))
            slope *= (sphere_radius(c, u + 1e-6L, &below) - sphere_radius(c, u, &below)) / 1e-6L;
        check_inside(c, l, ray, px, slope < 1 ? slope : 1, f);
    }
}

/** Angle to the axis of a pixel [rad], by bisection of the radial function; without decentering only. */
static real angle_of(const vfront_camera_t *c, const struct range *range, const double px[2])
{
    const real want = hypotl((px[0] - (real)c->cx_px) / c->fx_px, (px[1] - (real)c->cy_px) / c->fy_px);
    real low = 0, high = range->least, below;
    if (radial(c, high, &below) < want) return -1;
    for (int i = 0; i < 80; i++) {
        const real middle = (low + high) / 2;
        if (radial(c, middle, &below) < want)
            low = middle;
        else
            high = middle;
    }
    return by_angle(c) ? low : atanl(low);
}

static void check_pixel(const vfront_camera_t *c, const struct vf_lens *l, const struct range *range, struct figures *f)
{
    const double px[2] = {c->width_px * between(-0.5, 1.5), c->height_px * between(-0.5, 1.5)};
    double bearing[3] = {-7, -7, -7};
    const int seen = vf_lens_bearing(l, px, bearing);
    f->pixels++;
    f->seen += seen;
    if (!seen)
        REQUIRE(bearing[0] == -7 && bearing[1] == -7 && bearing[2] == -7, "a pixel that sees nothing has a bearing");
    if (seen) check_bearing(c, l, px, bearing, f);
    if (decentred(c)) return;
    const real angle = angle_of(c, range, px);
    if (angle >= 0) {
        REQUIRE(seen, "pixel %.3f %.3f has no bearing, and should have one at %Lg rad", px[0], px[1], angle);
        const real got = atan2l(hypotl(bearing[0], bearing[1]), bearing[2]);
        real below;
        const real u = by_angle(c) ? angle : tanl(angle),
                   slope = (radial(c, u + 1e-7L, &below) - radial(c, u - 1e-7L, &below)) / 2e-7L;
        most(&f->bearing_rad, fabsl(got - angle) * (slope < 1 ? slope : 1));
        REQUIRE(fabsl(got - angle) * (slope < 1 ? slope : 1) < 1e-11L, "angle %.15Lg, should be %.15Lg", got, angle);
    } else if (range->most > range->least && seen) {
        REQUIRE(argument(c, bearing) <= range->most, "a ray from beyond the range");
        f->seen_outside++;
    }
}

static void definitions(void **state)
{
    (void)state;
    shake(88172645463325252ull);
    print_message("%-14s %7s %7s %7s %7s %7s %7s %7s %10s %10s %10s\n", "lens", "rays", "held", "folded", "inverted",
                  "pixels", "seen", "skipped", "project px", "round px", "ray rad");
    for (int kind = 0; kind < KINDS; kind++) {
        struct figures f = {0};
        for (int i = 0; i < CAMERAS; i++) {
            const vfront_camera_t c = camera_of((enum kind)kind);
            const struct range range = range_of(&c);
            struct vf_lens l;
            if (range.doubtful && ++f.skipped) continue;
            vf_lens_make(&l, &c);
            for (int k = 0; k < RAYS; k++) check_ray(&c, &l, &range, &f);
            for (int k = 0; k < RAYS; k++) check_pixel(&c, &l, &range, &f);
        }
        print_message("%-14s %7d %7d %7d %7d %7d %7d %7d %10.2Lg %10.2Lg %10.2Lg\n", kind_name[kind], f.rays, f.held,
                      f.folded, f.known, f.pixels, f.seen, f.skipped, f.project_px, f.round_px, f.bearing_rad);
        assert_true(f.held > f.rays / 20 && f.known > f.rays / 50 && f.seen > f.pixels / 50 &&
                    f.skipped < CAMERAS / 10);
    }
}

/* ---- near the end of the range ----------------------------------------------------------------------------------- */

/** At the maximum of the radial function its inverse has an infinite slope; the bearing of a pixel must still
 *  project to that pixel. */
static void ends(void **state)
{
    (void)state;
    shake(1234567);
    real worst = 0;
    int seen = 0;
    for (int i = 0; i < 2000; i++) {
        vfront_camera_t c = camera_of(i % 3 == 0 ? BARREL : i % 3 == 1 ? WILD_FISHEYE : WILD_RADTAN);
        if (c.lens == VFRONT_LENS_RADTAN) c.distortion[2] = c.distortion[3] = 0;
        struct vf_lens l;
        vf_lens_make(&l, &c);
        if (l.limit > (c.lens == VFRONT_LENS_EQUIDISTANT ? 3.14 : 5)) continue;
        for (double gap = 1e-1; gap > 1e-14; gap *= 0.1) {
            double ray[3], px[2], back[3];
            const double u = l.limit * (1 - 1e-11) * (1 - gap), turn = between(0, 6.28);
            ray_of(&c, u, turn, 1, ray);
            REQUIRE(vf_lens_project(&l, ray, px), "%g before its end the lens does not hold", gap);
            if (!vf_lens_bearing(&l, px, back)) {
                REQUIRE(gap < 1e-6, "%g before its end no pixel has a ray", gap);
                continue;
            }
            real want[2];
            project(&c, back, want);
            most(&worst, distance(px, want));
            REQUIRE(distance(px, want) <= 1e-6L, "%g before its end: %Lg px", gap, distance(px, want));
            seen++;
            ray_of(&c, l.limit * (1 + 1e-11) * (1 + gap), turn, 1, ray);
            if (c.lens != VFRONT_LENS_EQUIDISTANT)
                REQUIRE(!vf_lens_project(&l, ray, px), "%g behind its end the lens holds", gap);
        }
    }
    print_message("ends: %d pixels, %.2Lg px\n", seen, worst);
    assert_true(seen > 10000);
}

/** Angle at which the radial function of ds, eucm or omni turns, by bisection of its slope; 0: it does not. */
static real turn_of(const vfront_camera_t *c)
{
    const struct range range = range_of(c);
    real low = range.least, high = range.most, below;
    if (range.least == range.most || radial(c, high, &below) > radial(c, low, &below) || below <= 0) return 0;
    for (int i = 0; i < 60; i++) {
        const real middle = (low + high) / 2;
        if (radial(c, middle + 1e-8L, &below) > radial(c, middle - 1e-8L, &below))
            low = middle;
        else
            high = middle;
    }
    return low;
}

/** The same of ds, eucm and omni, whose images turn back at an angle. */
static void sphere_ends(void **state)
{
    (void)state;
    shake(7654321);
    real worst = 0;
    int seen = 0, unseen = 0;
    for (int i = 0; i < 500; i++) {
        static const enum kind kinds[] = {SPHERES, WILD_SPHERES, EXTENDED, WILD_EXTENDED, OMNI, WILD_OMNI};
        const vfront_camera_t c = camera_of(kinds[i % 6]);
        const real end = turn_of(&c);
        if (end == 0) continue;
        for (double gap = 1e-1; gap > 1e-7; gap *= 0.1) {
            double ray[3], px[2], back[3];
            const double turn = between(0, 6.28);
            real want[2];
            ray_of(&c, (double)end * (1 - gap), turn, 1, ray);
            REQUIRE(vfront_lens_project(&c, ray, px), "%g before its end the lens does not hold", gap);
            REQUIRE(vfront_lens_bearing(&c, px, back), "%g before its end no pixel has a ray", gap);
            project(&c, back, want);
            most(&worst, distance(px, want));
            REQUIRE(distance(px, want) <= 1e-6L, "%g before its end: %Lg px", gap, distance(px, want));
            seen++;
            if ((double)end * (1 + gap) > 3.14) continue;
            ray_of(&c, (double)end * (1 + gap), turn, 1, ray);
            REQUIRE(!vfront_lens_project(&c, ray, px), "%g behind its end the lens holds", gap);
            unseen++;
        }
    }
    print_message("ends of spheres: %d pixels, %d rays, %.2Lg px\n", seen, unseen, worst);
    assert_true(seen > 1000 && unseen > 1000);
}

/* ---- known answers ----------------------------------------------------------------------------------------------- */

static vfront_camera_t plain(vfront_lens_t lens)
{
    vfront_camera_t c = {
        .width_px = 640, .height_px = 480, .fx_px = 300, .fy_px = 320, .cx_px = 320.5, .cy_px = 239.25};
    c.lens = lens;
    if (lens == VFRONT_LENS_EUCM) c.distortion[1] = 1;
    return c;
}

static void sees(const vfront_camera_t *c, double x, double y, double z, double px_x, double px_y)
{
    const double ray[3] = {x, y, z};
    double px[2], back[3];
    assert_int_equal(vfront_lens_project(c, ray, px), 1);
    REQUIRE(fabs(px[0] - px_x) < 1e-12 * 640 && fabs(px[1] - px_y) < 1e-12 * 640, "%g %g %g at %.15g %.15g", x, y, z,
            px[0], px[1]);
    assert_int_equal(vfront_lens_bearing(c, px, back), 1);
    assert_true(apart(ray, back) < 1e-12L);
}

static void sees_not(const vfront_camera_t *c, double x, double y, double z)
{
    const double ray[3] = {x, y, z};
    double px[2] = {-7, -8};
    assert_int_equal(vfront_lens_project(c, ray, px), 0);
    assert_true(px[0] == -7 && px[1] == -8);
}

static void no_ray_at(const vfront_camera_t *c, double x, double y)
{
    const double px[2] = {x, y};
    double bearing[3] = {-7, -8, -9};
    assert_int_equal(vfront_lens_bearing(c, px, bearing), 0);
    assert_true(bearing[0] == -7 && bearing[1] == -8 && bearing[2] == -9);
}

static void known_answers(void **state)
{
    (void)state;
    vfront_camera_t c = plain(VFRONT_LENS_RADTAN);
    sees(&c, 0.5, -0.25, 1, 470.5, 159.25);
    sees(&c, 50, -25, 100, 470.5, 159.25);
    sees(&c, 5e-200, -2.5e-200, 1e-199, 470.5, 159.25);
    c.distortion[0] = 0.1, c.distortion[2] = 0.01, c.distortion[3] = -0.02; /* r^2 = 1/4 + 1 = 5/4 */
    sees(&c, 0.5, 1, 1, 320.5 + 300 * (0.5 * 1.125 + 0.01 - 0.02 * 1.75), 239.25 + 320 * (1.125 + 0.01 * 3.25 - 0.02));
    c = plain(VFRONT_LENS_RATIONAL);
    c.distortion[0] = 1, c.distortion[5] = 0.5;
    sees(&c, 1, 0, 1, 320.5 + 300 * 2 / 1.5, 239.25);
    c.distortion[0] = 0, c.distortion[5] = -1; /* r / (1 - r^2), with a pole at 1 */
    sees(&c, 0.5, 0, 1, 320.5 + 200, 239.25);
    sees(&c, 0, 0.99, 1, 320.5, 239.25 + 320 * 0.99 / (1 - 0.99 * 0.99));
    sees_not(&c, 0, 1.01, 1);
    sees_not(&c, 0, 1, 1);
    const double pi = 3.14159265358979323846;
    c = plain(VFRONT_LENS_EQUIDISTANT);
    sees(&c, 1, 0, 1, 320.5 + 300 * pi / 4, 239.25);
    sees(&c, 0, -1, 0, 320.5, 239.25 - 320 * pi / 2);
    sees(&c, 1e-3, 0, -1e-3, 320.5 + 300 * 3 * pi / 4, 239.25);
    sees(&c, -3e250, 4e250, 0, 320.5 - 180 * pi / 2, 239.25 + 256 * pi / 2);
    sees(&c, 1e-9, 0, -1, 320.5 + 300 * (pi - 1e-9), 239.25);
    sees_not(&c, 0, 0, -1);
    no_ray_at(&c, 320.5 + 300 * 3.15, 239.25);
}

/** Lens through a sphere, with coefficients. */
static vfront_camera_t sphere(vfront_lens_t lens, double k0, double k1)
{
    vfront_camera_t c = plain(lens);
    c.distortion[0] = k0;
    c.distortion[1] = k1;
    return c;
}

static void known_spheres(void **state)
{
    (void)state;
    vfront_camera_t c = sphere(VFRONT_LENS_DS, 0, 0); /* a pinhole */
    sees(&c, 0.5, -0.25, 1, 470.5, 159.25);
    sees_not(&c, 1, 0, 0);
    c = sphere(VFRONT_LENS_DS, 0, 0.5); /* 2 tan(angle / 2) */
    sees(&c, 1, 0, 0, 320.5 + 600, 239.25);
    sees(&c, 0, 3e200, -4e200, 320.5, 239.25 + 320 * 6);
    sees_not(&c, 0, 0, -1);
    c = sphere(VFRONT_LENS_DS, -0.55, 0.5); /* z = 4 - 0.55 * 5 = 1.25, d = 3.25 */
    sees(&c, 3, 0, 4, 320.5 + 300 * 3 / 2.25, 239.25);
    c = sphere(VFRONT_LENS_EUCM, 1, 4);
    sees(&c, 3, 0, 8, 320.5 + 300 * 0.3, 239.25);
    sees_not(&c, 3, 0, 0);
    c = sphere(VFRONT_LENS_EUCM, 0.8, 1); /* turns at a cosine of -1/4 and a radius of 1 / sqrt(0.6) */
    sees(&c, sqrt(1 - 0.24 * 0.24), 0, -0.24, 320.5 + 300 * sqrt(1 - 0.24 * 0.24) / (0.8 - 0.2 * 0.24), 239.25);
    sees_not(&c, sqrt(1 - 0.26 * 0.26), 0, -0.26);
    no_ray_at(&c, 320.5 + 300 * (1 + 1e-9) / sqrt(0.6), 239.25);
    c = sphere(VFRONT_LENS_OMNI, 1, 0); /* tan(angle / 2) */
    sees(&c, 1, 0, 0, 320.5 + 300, 239.25);
    sees(&c, 0, 3, -4, 320.5, 239.25 + 320 * 3);
    c.distortion[1] = 0.1, c.distortion[2] = 0.01, c.distortion[3] = 0.01, c.distortion[4] = -0.02;
    sees(&c, 1, 0, 0, 320.5 + 300 * 1.05, 239.25 + 320 * 0.01);
    c = sphere(VFRONT_LENS_OMNI, 0.5, 0); /* a pole at a cosine of -1/2 */
    sees(&c, sqrt(1 - 0.49 * 0.49), 0, -0.49, 320.5 + 300 * sqrt(1 - 0.49 * 0.49) / 0.01, 239.25);
    sees_not(&c, sqrt(1 - 0.51 * 0.51), 0, -0.51);
    c = sphere(VFRONT_LENS_OMNI, 2, 0); /* turns there, at a radius of 1 / sqrt(3) */
    sees(&c, sqrt(1 - 0.49 * 0.49), 0, -0.49, 320.5 + 300 * sqrt(1 - 0.49 * 0.49) / 1.51, 239.25);
    sees_not(&c, sqrt(1 - 0.51 * 0.51), 0, -0.51);
    no_ray_at(&c, 320.5 + 300 * (1 + 1e-9) / sqrt(3), 239.25);
}

/** Focal lengths at the axis: pixels a radian, from rays beside it. */
static void axis_focal(void **state)
{
    (void)state;
    shake(31337);
    for (int i = 0; i < 20 * KINDS; i++) {
        const vfront_camera_t c = camera_of((enum kind)(i % KINDS));
        const double x[3] = {1e-9, 0, 1}, y[3] = {0, 1e-9, 1};
        double focal[2];
        real at_x[2], at_y[2];
        project(&c, x, at_x);
        project(&c, y, at_y);
        vf_lens_focal(focal, &c);
        REQUIRE(fabsl((at_x[0] - c.cx_px) * 1e9L / focal[0] - 1) < 1e-6L, "%s: x %g", kind_name[i % KINDS], focal[0]);
        REQUIRE(fabsl((at_y[1] - c.cy_px) * 1e9L / focal[1] - 1) < 1e-6L, "%s: y %g", kind_name[i % KINDS], focal[1]);
    }
}

/** Coefficients beyond their range leave no lens; those at its ends do. */
static void sphere_ranges(void **state)
{
    (void)state;
    static const struct {
        vfront_lens_t lens;
        int k;
        double least, most;
    } range[] = {{VFRONT_LENS_DS, 0, -0.99, 0.99}, {VFRONT_LENS_DS, 1, 0, 1},        {VFRONT_LENS_EUCM, 0, 0, 1},
                 {VFRONT_LENS_EUCM, 1, 0.01, 100}, {VFRONT_LENS_OMNI, 0, -0.99, 99}, {VFRONT_LENS_OMNI, 4, -1, 1}};
    for (size_t i = 0; i < sizeof range / sizeof *range; i++) {
        const double bad[] = {range[i].least - 1e-9, range[i].most + 1e-9, NAN, INFINITY};
        vfront_camera_t c = plain(range[i].lens);
        const double ray[3] = {0, 0, 1};
        double px[2];
        for (int k = 0; k < 4; k++) {
            c.distortion[range[i].k] = bad[k];
            assert_int_equal(vfront_lens_project(&c, ray, px), 0);
        }
        c.distortion[range[i].k] = range[i].least;
        assert_int_equal(vfront_lens_project(&c, ray, px), 1);
        c.distortion[range[i].k] = range[i].most;
        assert_int_equal(vfront_lens_project(&c, ray, px), 1);
    }
}

/** A radial function that falls and rises again: its range ends at the first maximum. */
static void first_turn(void **state)
{
    (void)state;
    vfront_camera_t c = plain(VFRONT_LENS_RADTAN);
    c.distortion[0] = -1, c.distortion[1] = 0.3; /* 1 - 3 s + 1.5 s^2 is 0 at s = 1 - sqrt(1/3) and 1 + sqrt(1/3) */
    const double turn = sqrt(1 - sqrt(1.0 / 3)), top = turn * (1 - turn * turn + 0.3 * turn * turn * turn * turn);
    struct vf_lens l;
    vf_lens_make(&l, &c);
    assert_true(fabs(l.limit - turn) < 1e-10);
    sees(&c, 0.99 * turn, 0, 1,
         320.5 + 300 * 0.99 * turn * (1 - 0.9801 * turn * turn + 0.3 * 0.9801 * 0.9801 * turn * turn * turn * turn),
         239.25);
    sees_not(&c, turn * (1 + 1e-9), 0, 1);
    sees_not(&c, 0.8, 0, 1);
    sees_not(&c, 2, 0, 1);
    no_ray_at(&c, 320.5 + 300 * top * (1 + 1e-9), 239.25);
    no_ray_at(&c, 320.5 + 300 * 3.6, 239.25); /* where the second rise leads */
    c.lens = VFRONT_LENS_EQUIDISTANT;
    vf_lens_make(&l, &c);
    assert_true(fabs(l.limit - turn) < 1e-10);
    c.distortion[0] = -0.4, c.distortion[1] = 0; /* turns at sqrt(1 / 1.2) */
    vf_lens_make(&l, &c);
    assert_true(fabs(l.limit - sqrt(1 / 1.2)) < 1e-10);
    c = plain(VFRONT_LENS_RATIONAL);
    c.distortion[5] = 1; /* r / (1 + r^2) turns at 1 */
    vf_lens_make(&l, &c);
    assert_true(fabs(l.limit - 1) < 1e-10);
    sees_not(&c, 1.001, 0, 1);
}

/** Dominant decentering: the image folds over along one axis, then along both. */
static void folds(void **state)
{
    (void)state;
    vfront_camera_t c = plain(VFRONT_LENS_RADTAN);
    c.distortion[3] = 0.2; /* x + 0.6 x^2, (1 + 0.4 x) y: they turn at x = -1 / 1.2 and x = -2.5 */
    sees(&c, 3, 0, 1, 320.5 + 300 * (3 + 0.6 * 9), 239.25);
    sees(&c, -0.83, 0, 1, 320.5 + 300 * (-0.83 + 0.6 * 0.83 * 0.83), 239.25);
    sees_not(&c, -0.84, 0, 1);
    sees_not(&c, -2.4, 0, 1);
    sees_not(&c, -5, 0, 1);
    no_ray_at(&c, 320.5 - 300 * 0.4167, 239.25); /* the turn is at 1 / 2.4 */
}

/** Coefficients that a lens does not have are ignored. */
static void other_coefficients(void **state)
{
    (void)state;
    for (int lens = 0; lens < LENSES; lens++) {
        vfront_camera_t c = plain((vfront_lens_t)lens);
        const double ray[3] = {0.4, 0.3, 1};
        double a[2], b[2];
        for (int i = 0; i < 8; i++) {
            assert_int_equal(vfront_lens_project(&c, ray, a), 1);
            c.distortion[i] = 0.02;
            assert_int_equal(vfront_lens_project(&c, ray, b), 1);
            assert_int_equal(a[0] == b[0] && a[1] == b[1], i >= vf_lens_model((vfront_lens_t)lens)->coefficients);
        }
    }
}

/** Pixels at which a plain Newton iteration, kept inside the bracket, is periodic. */
static void newton_cycles(void **state)
{
    (void)state;
    const vfront_camera_t radtan = {
        .fx_px = 757.45990814498373,
        .fy_px = 757.03038563415691,
        .cx_px = 995.61333497771977,
        .cy_px = 557.44424014321555,
        .distortion = {0.58308541491112276, 0.011542370580194472, 0, 0, -0.04654629902473368}};
    const vfront_camera_t fisheye = {
        .fx_px = 698.16496294868386,
        .fy_px = 714.48561633606244,
        .cx_px = 718.7987870201116,
        .cy_px = 615.74634721621749,
        .lens = VFRONT_LENS_EQUIDISTANT,
        .distortion = {0.043521878095655081, 0.014542843164780699, 0.00061209764729006685, -0.00047246532718339343}};
    const double px[2][2] = {{1721.9039690609266, -381.24077770224261}, {2131.6464236309776, -301.53131993125368}};
    for (int i = 0; i < 2; i++) {
        const vfront_camera_t *c = i ? &fisheye : &radtan;
        double bearing[3];
        real back[2];
        assert_int_equal(vfront_lens_bearing(c, px[i], bearing), 1);
        project(c, bearing, back);
        assert_true(distance(px[i], back) < 1e-9L);
    }
}

/** The optical axis, projected and back. */
static void axis(void **state)
{
    (void)state;
    shake(4711);
    for (int i = 0; i < 40 * KINDS; i++) {
        const vfront_camera_t c = camera_of((enum kind)(i % KINDS));
        const double ray[3] = {0, 0, 3}, at[2] = {c.cx_px, c.cy_px};
        double px[2], bearing[3];
        assert_int_equal(vfront_lens_project(&c, ray, px), 1);
        assert_true(px[0] == c.cx_px && px[1] == c.cy_px);
        assert_int_equal(vfront_lens_bearing(&c, at, bearing), 1);
        assert_true(bearing[0] == 0 && bearing[1] == 0 && bearing[2] == 1);
    }
}

static void no_rays(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int lens = 0; lens < LENSES; lens++) {
        const vfront_camera_t c = plain((vfront_lens_t)lens);
        sees_not(&c, 0, 0, 0);
        sees_not(&c, 0, 0, -1);
        for (int i = 0; i < 3; i++) {
            sees_not(&c, bad[i], 0, 1);
            sees_not(&c, 0, bad[i], 1);
            sees_not(&c, 0.1, 0, bad[i]);
            sees_not(&c, bad[i], bad[i], bad[i]);
            no_ray_at(&c, bad[i], 100);
            no_ray_at(&c, 100, bad[i]);
        }
        no_ray_at(&c, 1e308, 0);
        no_ray_at(&c, 0, -1e308);
        vfront_camera_t bent = c;
        bent.distortion[lens < VFRONT_LENS_DS ? 2 : lens < VFRONT_LENS_OMNI ? 0 : 3] = 0.001;
        no_ray_at(&bent, 1e302, 0);
        no_ray_at(&bent, 1e150, 1e150);
        if (lens == VFRONT_LENS_EQUIDISTANT) continue;
        sees_not(&c, 1, 0, 0);
        sees_not(&c, 0.1, 0.1, -1);
        sees_not(&c, 1e300, 0, 1e-300);
    }
}

static void no_lens(void **state)
{
    (void)state;
    const double ray[3] = {0, 0, 1}, px[2] = {320, 240};
    double bearing[3] = {-7, -7, -7}, to[2] = {-7, -7};
    vfront_camera_t c = plain(VFRONT_LENS_RADTAN);
    assert_int_equal(
        vfront_lens_project(NULL, ray, to) | vfront_lens_project(&c, NULL, to) | vfront_lens_project(&c, ray, NULL), 0);
    assert_int_equal(vfront_lens_bearing(NULL, px, bearing) | vfront_lens_bearing(&c, NULL, bearing) |
                         vfront_lens_bearing(&c, px, NULL),
                     0);
    for (int i = 0; i < 6; i++) {
        c = plain((vfront_lens_t)(i % 3));
        if (i == 0) c.fx_px = c.fy_px = 0;
        if (i == 1) c.fx_px = NAN;
        if (i == 2) c.lens = (vfront_lens_t)LENSES;
        if (i == 3) c.distortion[0] = NAN;
        if (i == 4) c.cx_px = INFINITY;
        if (i == 5) c.distortion[3] = INFINITY;
        assert_int_equal(vfront_lens_project(&c, ray, to) | vfront_lens_bearing(&c, px, bearing), 0);
        assert_true(to[0] == -7 && to[1] == -7 && bearing[0] == -7 && bearing[1] == -7 && bearing[2] == -7);
    }
}

/** Public and internal functions give the same bits. */
static void one_and_many(void **state)
{
    (void)state;
    shake(99);
    for (int i = 0; i < 100 * KINDS; i++) {
        const vfront_camera_t c = camera_of((enum kind)(i % KINDS));
        const double px[2] = {c.width_px * between(-0.2, 1.2), c.height_px * between(-0.2, 1.2)};
        double a[3] = {0, 0, 0}, b[3] = {0, 0, 0}, to_a[2] = {0, 0}, to_b[2] = {0, 0};
        struct vf_lens l;
        vf_lens_make(&l, &c);
        assert_int_equal(vf_lens_bearing(&l, px, a), vfront_lens_bearing(&c, px, b));
        assert_memory_equal(a, b, sizeof a);
        assert_int_equal(vf_lens_project(&l, a, to_a), vfront_lens_project(&c, a, to_b));
        assert_memory_equal(to_a, to_b, sizeof to_a);
    }
}

/* ---- sine, cosine, arc tangent ----------------------------------------------------------------------------------- */

static void angles(void **state)
{
    (void)state;
    real sine_off = 0, angle_off = 0;
    for (int i = -200000; i <= 200000; i++) {
        const double a = i * (3.1415926535897931 / 200000), size = pow(10, i % 7 * 20);
        double s, c;
        vf_sincos(a, &s, &c);
        most(&sine_off, fabsl(s - sinl(a)));
        most(&sine_off, fabsl(c - cosl(a)));
        most(&angle_off, fabsl(vf_atan2(size * s, size * c) - atan2l(size * s, size * c)));
    }
    print_message("sine and cosine %.2Lg, arc tangent %.2Lg\n", sine_off, angle_off);
    assert_true(sine_off < 5e-16L && angle_off < 6e-16L);
    for (int i = 1; i < 300; i++) { /* small angles keep their digits */
        const double t = pow(10, -i);
        double s, c;
        vf_sincos(t, &s, &c);
        assert_true(fabsl(s - sinl(t)) <= 4e-16L * t && fabsl(vf_atan2(t, 1) - atan2l(t, 1)) <= 4e-16L * t &&
                    vf_atan2(-t, 1) == -vf_atan2(t, 1));
    }
    double s, c;
    vf_sincos(1.5707963267948966, &s, &c); /* these doubles are not pi / 2 and pi */
    assert_true(s == 1 && c == 6.123233995736766e-17);
    vf_sincos(-3.1415926535897931, &s, &c);
    assert_true(s == -1.2246467991473532e-16 && c == -1);
    assert_true(vf_atan2(0, 0) == 0 && vf_atan2(0, 5) == 0 && vf_atan2(5, 0) == 1.5707963267948966 &&
                vf_atan2(0, -5) == 3.1415926535897931);
}

/** Names: one for each lens model, none twice, NULL for any other number. */
static void names(void **state)
{
    (void)state;
    int known = 0;
    for (int lens = -2; lens < 40; lens++) {
        const char *name = vfront_lens_name((vfront_lens_t)lens);
        assert_int_equal(name != NULL, vf_lens_model((vfront_lens_t)lens) != NULL);
        assert_int_equal(name != NULL, lens >= VFRONT_LENS_RADTAN && lens <= VFRONT_LENS_OMNI);
        for (int other = 0; name && other < lens; other++)
            assert_string_not_equal(name, vfront_lens_name((vfront_lens_t)other));
        known += name != NULL;
    }
    assert_int_equal(known, LENSES);
    assert_string_equal(vfront_lens_name(VFRONT_LENS_RADTAN), "radtan");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),         cmocka_unit_test(angles),
        cmocka_unit_test(known_answers), cmocka_unit_test(first_turn),
        cmocka_unit_test(folds),         cmocka_unit_test(newton_cycles),
        cmocka_unit_test(axis),          cmocka_unit_test(other_coefficients),
        cmocka_unit_test(no_rays),       cmocka_unit_test(no_lens),
        cmocka_unit_test(one_and_many),  cmocka_unit_test(definitions),
        cmocka_unit_test(ends),          cmocka_unit_test(sphere_ends),
        cmocka_unit_test(known_spheres), cmocka_unit_test(sphere_ranges),
        cmocka_unit_test(axis_focal),
    };
    return cmocka_run_group_tests_name("lens", tests, NULL, NULL);
}
