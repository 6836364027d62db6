/* SPDX-License-Identifier: MIT */
#include "lens.h"

#include <math.h> /* sqrt: one instruction, correctly rounded */

#include "math/angle.h"

#define PI 3.1415926535897931
#define RADIUS_MAX 1e4                 /* largest tangent of a ray's angle to the optical axis: 90 - 0.006 degrees */
#define PLANE_MAX 100.0                /* largest radius in the plane of a sphere's image: at most 40 in a picture */
#define DEGREE 9                       /* largest degree of a polynomial */
#define ROOT_STEPS 128                 /* most iterations of a root search */
#define NEWTON_STEPS 60                /* most Newton steps when decentering is inverted */
#define HALVINGS 24                    /* most halvings of a Newton step */
#define ROUNDING 2.220446049250313e-16 /* relative rounding of a double: 2^-52 */
#define TOLERANCE 1e-13                /* largest residual of inverted distortion, relative to 1 + image radius */

static int finite_number(double v) { return v - v == 0.0; }

/* ---- polynomials, coefficients from the constant term ------------------------------------------------------------ */

static double evaluate(const double *c, int degree, double x)
{
    double v = c[degree];
    for (int i = degree - 1; i >= 0; i--) v = v * x + c[i];
    return v;
}

static void derive(double *out, const double *c, int degree)
{
    for (int i = 1; i <= degree; i++) out[i - 1] = i * c[i];
}

/** Degree of polynomial c, at most `most`, without leading coefficients that are 0. */
static int degree_of(const double *c, int most)
{
    while (most > 0 && c[most] == 0.0) most--;
    return most;
}

/** Root of polynomial c in low..high, low >= 0, if the signs at both ends differ. Safeguarded Newton iteration from
 *  `start`: a step that leaves the bracket or exceeds half of the previous step is replaced by bisection. */
static double find_root(const double *c, int degree, double low, double high, double start)
{
    const int rises = evaluate(c, degree, high) > 0.0;
    double x = start, last = high - low;
    for (int i = 0; i < ROOT_STEPS; i++) {
        double value = c[degree], slope = 0.0, magnitude = value < 0.0 ? -value : value;
        for (int k = degree - 1; k >= 0; k--) {
            slope = slope * x + value;
            value = value * x + c[k];
            magnitude = magnitude * x + (c[k] < 0.0 ? -c[k] : c[k]);
        }
        const double residual = value < 0.0 ? -value : value;
        if (residual <= ROUNDING * magnitude) break; /* the value is within the rounding of its terms */
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

/** Smallest root in 0..most of a polynomial that is positive at 0; `most` if there is none. A polynomial has at most
 *  one root between neighbouring roots of its derivative. These brackets are found from the highest derivative, a line,
 *  down to the polynomial. */
static double smallest_root(const double *c, int degree, double most)
{
    /* root: roots of the derivative one degree lower, ascending */
    double derivative[DEGREE + 1][DEGREE + 1], root[DEGREE + 1];
    int roots = 0;
    memcpy(derivative[0], c, ((size_t)degree + 1) * sizeof *c);
    for (int i = 1; i < degree; i++) derive(derivative[i], derivative[i - 1], degree - i + 1);
    for (int i = degree - 1; i >= 0; i--) {
        double found[DEGREE + 1], low = 0.0;
        int n = 0;
        for (int k = 0; k <= roots; k++) {
            const double high = k < roots ? root[k] : most;
            if ((evaluate(derivative[i], degree - i, low) < 0.0) != (evaluate(derivative[i], degree - i, high) < 0.0))
                found[n++] = find_root(derivative[i], degree - i, low, high, 0.5 * (low + high));
            low = high;
        }
        memcpy(root, found, (size_t)n * sizeof *root);
        roots = n;
    }
    return roots ? root[0] : most;
}

/* ---- the radial function ----------------------------------------------------------------------------------------- */

/** Largest argument u up to which the radial function u N(u^2) / D(u^2) rises: its first pole or the first root of its
 *  derivative. Numerator of the derivative: sum of (1 + 2i - 2j) n_i d_j u^(2i + 2j). */
static double find_limit(const struct vf_lens *l)
{
    const double most = l->model->argument2_max;
    double slope[8] = {0};
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 4 && i + j < 8; j++) slope[i + j] += (1 + 2 * i - 2 * j) * l->n[i] * l->d[j];
    const double peak = smallest_root(slope, degree_of(slope, 7), most),
                 pole = smallest_root(l->d, degree_of(l->d, 3), most);
    const double first = peak < pole ? peak : pole;
    /* Slightly less than the root, so that rounding does not exceed it. */
    return first < most ? sqrt(first) * (1.0 - 1e-12) : sqrt(most);
}

/** Ratio N / D of the two polynomials of the radial function, at u2 = u^2. *slope: its derivative with respect to
 *  u^2. */
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

/** Argument u in 0..limit at which the radial function u N(u^2) / D(u^2) is v, 0 <= v <= limit_value: a root of u
 *  N(u^2) - v D(u^2). */
static double invert_radial(const struct vf_lens *l, double v)
{
    double c[DEGREE + 1];
    for (int i = 0; i < 5; i++) {
        c[2 * i] = i < 4 ? -v * l->d[i] : 0.0;
        c[2 * i + 1] = l->n[i];
    }
    return find_root(c, degree_of(c, DEGREE), 0.0, l->limit, v < l->limit ? v : l->limit);
}

/* ---- radtan and rational: Brown's model, from the plane Z = 1 to normalised image coordinates -------------------- */

/** Point, its distorted image point, and the residual of that in a search for the inverse of the distortion. */
struct distorted {
    double x, y;                 /* undistorted point, in the plane Z = 1 */
    double to_x, to_y;           /* distorted point, normalised image coordinates */
    double xx, xy, yy;           /* Jacobian of the distortion, a symmetric matrix; 0 without decentering */
    double res_x, res_y, res_sq; /* residual: distorted point minus given point; its squared length */
};

/** Distorts a point of the plane Z = 1. Returns 0 outside the range of the model: beyond the limit, or where the
 *  Jacobian is not positive definite, so that the image folds over. */
static int distort(struct distorted *b, const struct vf_lens *l, double x, double y)
{
    const double r2 = x * x + y * y;
    if (!(sqrt(r2) <= l->limit)) return 0;
    double slope;
    const double q = factor_at(l, r2, &slope);
    b->x = x;
    b->y = y;
    b->to_x = x * q + 2.0 * l->p1 * x * y + l->p2 * (r2 + 2.0 * x * x);
    b->to_y = y * q + l->p1 * (r2 + 2.0 * y * y) + 2.0 * l->p2 * x * y;
    b->xx = b->xy = b->yy = 0.0;
    if (l->p1 == 0.0 && l->p2 == 0.0) return 1; /* radial distortion alone is in range up to the limit */
    b->xx = q + 2.0 * x * x * slope + 2.0 * l->p1 * y + 6.0 * l->p2 * x;
    b->xy = 2.0 * x * y * slope + 2.0 * l->p1 * x + 2.0 * l->p2 * y;
    b->yy = q + 2.0 * y * y * slope + 6.0 * l->p1 * y + 2.0 * l->p2 * x;
    return b->xx > 0.0 && b->xx * b->yy - b->xy * b->xy > 0.0;
}

/** Distorts point (x, y) of the plane Z = 1 and computes its residual to image point m. Returns 0 outside the range of
 *  the model. */
static int try_point(struct distorted *b, const struct vf_lens *l, double x, double y, const double m[2])
{
    if (!distort(b, l, x, y)) return 0;
    b->res_x = b->to_x - m[0];
    b->res_y = b->to_y - m[1];
    b->res_sq = b->res_x * b->res_x + b->res_y * b->res_y;
    return 1;
}

/** Newton step towards the undistorted point of m, halved until the residual falls and the point lies in the range of
 *  the model. Returns 0 if no halved step does. */
static int newton_step(struct distorted *b, const struct vf_lens *l, const double m[2])
{
    const double determinant = b->xx * b->yy - b->xy * b->xy;
    const double step_x = (b->yy * b->res_x - b->xy * b->res_y) / determinant,
                 step_y = (b->xx * b->res_y - b->xy * b->res_x) / determinant;
    double scale = 1.0;
    for (int i = 0; i < HALVINGS; i++, scale *= 0.5) {
        struct distorted next;
        if (!try_point(&next, l, b->x - scale * step_x, b->y - scale * step_y, m) || !(next.res_sq < b->res_sq))
            continue;
        *b = next;
        return 1;
    }
    return 0;
}

/** Undistorted point p of image point m for a lens with decentering. Newton iteration from the solution without
 *  decentering, or from a point nearer to the axis. Returns 0 if it finds none. */
static int undistort_decentred(double p[2], const struct vf_lens *l, const double m[2])
{
    const double length = sqrt(m[0] * m[0] + m[1] * m[1]), least = ROUNDING * (1.0 + length),
                 most = TOLERANCE * (1.0 + length);
    double scale = length > 0.0
                       ? invert_radial(l, length < 0.9 * l->limit_value ? length : 0.9 * l->limit_value) / length
                       : 0.0;
    struct distorted b;
    int in_range = 0;
    for (int i = 0; i < HALVINGS && !in_range; i++, scale *= 0.5)
        in_range = try_point(&b, l, scale * m[0], scale * m[1], m);
    if (!in_range) return 0;
    for (int i = 0; i < NEWTON_STEPS && b.res_sq > least * least && newton_step(&b, l, m); i++) continue;
    p[0] = b.x;
    p[1] = b.y;
    return b.res_sq <= most * most;
}

/** Argument u at which the radial function is `length`; negative if there is none. */
static double undistort_radius(const struct vf_lens *l, double length)
{
    if (!(length <= l->limit_value)) return -1.0;
    double slope;
    const double u = invert_radial(l, length), residual = u * factor_at(l, u * u, &slope) - length,
                 most = TOLERANCE * (1.0 + length);
    return residual <= most && -residual <= most ? u : -1.0;
}

/** Undistorted point p, in the plane Z = 1, of image point m. Returns 0 if there is none. */
static int undistort(double p[2], const struct vf_lens *l, const double m[2])
{
    if (l->p1 != 0.0 || l->p2 != 0.0) return undistort_decentred(p, l, m);
    const double length = sqrt(m[0] * m[0] + m[1] * m[1]), u = undistort_radius(l, length);
    p[0] = length > 0.0 ? m[0] * (u / length) : 0.0;
    p[1] = length > 0.0 ? m[1] * (u / length) : 0.0;
    return u >= 0.0;
}

/** Normalised image coordinates m of a ray. Returns 0 outside the range of the model. */
static int brown_project(const struct vf_lens *l, const double ray[3], double m[2])
{
    struct distorted b;
    if (!(ray[2] > 0.0) || !distort(&b, l, ray[0] / ray[2], ray[1] / ray[2])) return 0;
    m[0] = b.to_x;
    m[1] = b.to_y;
    return 1;
}

/** Unit vector of normalised image coordinates m. Returns 0 if there is none. */
static int brown_bearing(const struct vf_lens *l, const double m[2], double bearing[3])
{
    double p[2];
    if (!undistort(p, l, m)) return 0;
    const double length = sqrt(p[0] * p[0] + p[1] * p[1] + 1.0);
    bearing[0] = p[0] / length;
    bearing[1] = p[1] / length;
    bearing[2] = 1.0 / length;
    return 1;
}

/* ---- equidistant: fisheye, from the angle to the axis to the image radius ---------------------------------------- */

/** Ray scaled so that squares neither overflow nor underflow. Returns 0 for a ray of length 0. */
static int scale_ray(double to[3], const double ray[3])
{
    double most = 0.0;
    for (int i = 0; i < 3; i++) {
        const double size = ray[i] < 0.0 ? -ray[i] : ray[i];
        if (size > most) most = size;
    }
    for (int i = 0; i < 3 && most > 0.0; i++) to[i] = ray[i] / most;
    return most > 0.0;
}

/** Normalised image coordinates m of a ray. Returns 0 outside the range of the model. */
static int equidistant_project(const struct vf_lens *l, const double ray[3], double m[2])
{
    double v[3], slope;
    if (!scale_ray(v, ray)) return 0;
    const double x = v[0], y = v[1], z = v[2];
    const double across = sqrt(x * x + y * y), angle = vf_atan2(across, z);
    if (!(angle <= l->limit) || (across == 0.0 && z < 0.0)) return 0;
    const double radius = angle * factor_at(l, angle * angle, &slope);
    m[0] = across > 0.0 ? radius * (x / across) : 0.0;
    m[1] = across > 0.0 ? radius * (y / across) : 0.0;
    return 1;
}

/** Unit vector of normalised image coordinates m. Returns 0 if there is none. */
static int equidistant_bearing(const struct vf_lens *l, const double m[2], double bearing[3])
{
    const double radius = sqrt(m[0] * m[0] + m[1] * m[1]), angle = undistort_radius(l, radius);
    if (angle < 0.0) return 0;
    double sine;
    vf_sincos(angle, &sine, &bearing[2]);
    bearing[0] = radius > 0.0 ? sine * (m[0] / radius) : 0.0;
    bearing[1] = radius > 0.0 ? sine * (m[1] / radius) : 0.0;
    return 1;
}

/* ---- ds, eucm, omni: through a unit sphere, seen from a second centre -------------------------------------------- */

/* Usenko, Demmel, Cremers (2018); Khomutenko, Garcia, Martinet (2016); Mei and Rives (2007). One form holds all three:
 * a ray of length 1 is moved by xi along z; its point of the plane is x, y over alpha d + (1 - alpha) z with
 * d^2 = beta (x^2 + y^2) + z^2; then Brown's distortion. */

/** Normalised image coordinates m of a ray. Returns 0 outside the range of the model. */
static int sphere_project(const struct vf_lens *l, const double ray[3], double m[2])
{
    double v[3];
    struct distorted b;
    if (!scale_ray(v, ray)) return 0;
    const double across2 = v[0] * v[0] + v[1] * v[1], length = sqrt(across2 + v[2] * v[2]), z = v[2] + l->xi * length,
                 second = sqrt(l->beta * across2 + z * z), below = l->alpha * second + (1.0 - l->alpha) * z;
    if (!(z > -l->turn * second) || !(length + l->xi * v[2] > 0.0)) return 0;
    if (!distort(&b, l, v[0] / below, v[1] / below)) return 0;
    m[0] = b.to_x;
    m[1] = b.to_y;
    return 1;
}

/** Unit vector of normalised image coordinates m. Returns 0 if there is none. The point of the plane gives a ray from
 *  the second centre, which meets the unit sphere. */
static int sphere_bearing(const struct vf_lens *l, const double m[2], double bearing[3])
{
    double p[2];
    if (!undistort(p, l, m)) return 0;
    const double r2 = p[0] * p[0] + p[1] * p[1], root2 = 1.0 - (2.0 * l->alpha - 1.0) * l->beta * r2;
    if (!(root2 > 0.0)) return 0;
    const double z = (1.0 - l->alpha * l->alpha * l->beta * r2) / (l->alpha * sqrt(root2) + 1.0 - l->alpha),
                 meet2 = z * z + (1.0 - l->xi * l->xi) * r2;
    if (!(meet2 >= 0.0)) return 0;
    const double scale = (l->xi * z + sqrt(meet2)) / (z * z + r2), x = scale * p[0], y = scale * p[1],
                 along = scale * z - l->xi, length = sqrt(x * x + y * y + along * along);
    bearing[0] = x / length;
    bearing[1] = y / length;
    bearing[2] = along / length;
    return 1;
}

/* ---- table of models --------------------------------------------------------------------------------------------- */

/** Sets the lens from radtan coefficients k: k1 k2 p1 p2 k3. */
static void set_radtan(struct vf_lens *l, const double k[8])
{
    l->n[1] = k[0];
    l->n[2] = k[1];
    l->n[3] = k[4];
    l->p1 = k[2];
    l->p2 = k[3];
}

/** Sets the lens from rational coefficients k: k1 k2 p1 p2 k3, and k4 k5 k6 of the denominator. */
static void set_rational(struct vf_lens *l, const double k[8])
{
    set_radtan(l, k);
    for (int i = 1; i < 4; i++) l->d[i] = k[4 + i];
}

/** Sets the lens from equidistant coefficients k: k1 k2 k3 k4. */
static void set_equidistant(struct vf_lens *l, const double k[8])
{
    for (int i = 0; i < 4; i++) l->n[1 + i] = k[i];
}

/** Sets the sphere of a lens. Beyond a cosine of -turn at the second centre the image turns back, or has a pole. */
static void set_sphere(struct vf_lens *l, double xi, double alpha, double beta)
{
    l->xi = xi;
    l->alpha = alpha;
    l->beta = beta;
    l->turn = alpha <= 0.5 ? alpha / (1.0 - alpha) : (1.0 - alpha) / alpha;
}

/** Sets the lens from double sphere coefficients k: xi alpha. */
static void set_double_sphere(struct vf_lens *l, const double k[8]) { set_sphere(l, k[0], k[1], 1.0); }

/** Sets the lens from extended unified coefficients k: alpha beta. */
static void set_extended(struct vf_lens *l, const double k[8]) { set_sphere(l, 0.0, k[0], k[1]); }

/** Sets the lens from omni coefficients k: xi k1 k2 p1 p2. */
static void set_omni(struct vf_lens *l, const double k[8])
{
    set_sphere(l, k[0], 0.0, 1.0);
    l->n[1] = k[1];
    l->n[2] = k[2];
    l->p1 = k[3];
    l->p2 = k[4];
}

#define ABSURD "calibration is not finite or absurd: rig.camera[%d%s"
#define COEFFICIENT                                                                                                    \
    {                                                                                                                  \
        -1e6, 1e6, ABSURD                                                                                              \
    }
#define DECENTERING                                                                                                    \
    {                                                                                                                  \
        -1.0, 1.0, ABSURD                                                                                              \
    }
#define ALPHA                                                                                                          \
    {                                                                                                                  \
        0.0, 1.0, "alpha is not in 0..1: rig.camera[%d%s"                                                              \
    }

static const struct vf_lens_model models[] = {
    [VFRONT_LENS_RADTAN] = {.name = "radtan",
                            .coefficients = 5,
                            .range = {COEFFICIENT, COEFFICIENT, DECENTERING, DECENTERING, COEFFICIENT},
                            .argument2_max = RADIUS_MAX * RADIUS_MAX,
                            .is_central = 1,
                            .set = set_radtan,
                            .project = brown_project,
                            .bearing = brown_bearing},
    [VFRONT_LENS_RATIONAL] = {.name = "rational",
                              .coefficients = 8,
                              .range = {COEFFICIENT, COEFFICIENT, DECENTERING, DECENTERING, COEFFICIENT, COEFFICIENT,
                                        COEFFICIENT, COEFFICIENT},
                              .argument2_max = RADIUS_MAX * RADIUS_MAX,
                              .is_central = 1,
                              .set = set_rational,
                              .project = brown_project,
                              .bearing = brown_bearing},
    [VFRONT_LENS_EQUIDISTANT] = {.name = "equidistant",
                                 .coefficients = 4,
                                 .range = {COEFFICIENT, COEFFICIENT, COEFFICIENT, COEFFICIENT},
                                 .argument2_max = PI * PI,
                                 .is_central = 0,
                                 .set = set_equidistant,
                                 .project = equidistant_project,
                                 .bearing = equidistant_bearing},
    [VFRONT_LENS_DS] = {.name = "ds",
                        .coefficients = 2,
                        .range = {{-0.99, 0.99, "xi is not in -0.99..0.99: rig.camera[%d%s"}, ALPHA},
                        .argument2_max = PLANE_MAX * PLANE_MAX,
                        .is_central = 1,
                        .set = set_double_sphere,
                        .project = sphere_project,
                        .bearing = sphere_bearing},
    [VFRONT_LENS_EUCM] = {.name = "eucm",
                          .coefficients = 2,
                          .range = {ALPHA, {0.01, 100.0, "beta is not in 0.01..100: rig.camera[%d%s"}},
                          .argument2_max = PLANE_MAX * PLANE_MAX,
                          .is_central = 0,
                          .set = set_extended,
                          .project = sphere_project,
                          .bearing = sphere_bearing},
    [VFRONT_LENS_OMNI] = {.name = "omni",
                          .coefficients = 5,
                          .range = {{-0.99, 99.0, "xi is not in -0.99..99: rig.camera[%d%s"},
                                    COEFFICIENT,
                                    COEFFICIENT,
                                    DECENTERING,
                                    DECENTERING},
                          .argument2_max = PLANE_MAX * PLANE_MAX,
                          .is_central = 1,
                          .set = set_omni,
                          .project = sphere_project,
                          .bearing = sphere_bearing},
};

const struct vf_lens_model *vf_lens_model(vfront_lens_t lens)
{
    return (size_t)lens < sizeof models / sizeof *models ? &models[lens] : NULL;
}

const char *vfront_lens_name(vfront_lens_t lens)
{
    const struct vf_lens_model *model = vf_lens_model(lens);
    return model ? model->name : NULL;
}

/* ---- all lenses -------------------------------------------------------------------------------------------------- */

void vf_lens_make(struct vf_lens *l, const vfront_camera_t *c)
{
    const struct vf_lens_model *model = vf_lens_model(c->lens);
    int valid = model && c->fx_px > 0.0 && c->fy_px > 0.0;
    for (int i = 0; valid && i < model->coefficients; i++)
        valid = c->distortion[i] >= model->range[i].least && c->distortion[i] <= model->range[i].most;
    memset(l, 0, sizeof *l);
    l->model = model;
    l->fx_px = c->fx_px;
    l->fy_px = c->fy_px;
    l->cx_px = c->cx_px;
    l->cy_px = c->cy_px;
    l->n[0] = l->d[0] = 1.0;
    if (valid) model->set(l, c->distortion);
    l->limit = valid ? find_limit(l) : -1.0;
    double slope;
    l->limit_value = valid ? l->limit * factor_at(l, l->limit * l->limit, &slope) : -1.0;
}

int vf_lens_project(const struct vf_lens *l, const double ray[3], double px[2])
{
    double m[2];
    if (!finite_number(ray[0]) || !finite_number(ray[1]) || !finite_number(ray[2])) return 0;
    if (!l->model || !l->model->project(l, ray, m)) return 0;
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
    if (!finite_number(m[0] * m[0] + m[1] * m[1])) return 0; /* m or its square is not finite */
    return l->model->bearing(l, m, bearing);
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

struct vf_lens vf_lens_of(const vfront_camera_t *c)
{
    vfront_camera_t camera = *c;
    struct vf_lens lens;
    if (camera.fx_px == 0.0) {
        camera.fx_px = camera.fy_px = camera.width_px;
        camera.cx_px = 0.5 * (camera.width_px - 1);
        camera.cy_px = 0.5 * (camera.height_px - 1);
        camera.lens = VFRONT_LENS_RADTAN;
        memset(camera.distortion, 0, sizeof camera.distortion);
    }
    vf_lens_make(&lens, &camera);
    return lens;
}

void vf_lens_focal(double focal_px[2], const vfront_camera_t *c)
{
    const struct vf_lens_model *model = vf_lens_model(c->lens);
    struct vf_lens lens;
    memset(&lens, 0, sizeof lens);
    if (model) model->set(&lens, c->distortion);
    focal_px[0] = c->fx_px / (1.0 + lens.xi);
    focal_px[1] = c->fy_px / (1.0 + lens.xi);
}
