/* SPDX-License-Identifier: MIT */
/* Independent form of motion for its test, in double precision: triangulation for relative errors, dense Gaussians for
 * metric ones, normal equations by numerical differentiation, Gauss-Newton steps by dense inverses.
 *
 * Triangulation rotates a plane about the translation until both bearings are closest to it, by golden section: the
 * least sum of squared angles over all points. */
#ifndef TEST_MOTION_ORACLE_H
#define TEST_MOTION_ORACLE_H

#include "tests/fixture/rigid.h"

#define BOUND (1.5 / 800.0) /* bound on the angle of an inlier, in most tests [rad] */

/* ---- problems ---------------------------------------------------------------------------------------------------- */

static inline struct vf_correspondence correspondence_of(const double before[3], const double now[3], double bound_rad)
{
    struct vf_correspondence s;
    memset(&s, 0, sizeof s);
    for (int k = 0; k < 3; k++) {
        s.before[k] = (float)before[k];
        s.now[k] = (float)now[k];
    }
    s.weight = (float)(1.0 / sin(bound_rad));
    return s;
}

static inline struct vf_pose pose_of(const struct rigid *m)
{
    struct vf_pose p;
    for (int i = 0; i < 9; i++) p.R[i] = (float)m->R[i];
    for (int i = 0; i < 3; i++) p.t[i] = (float)m->t[i];
    return p;
}

/** The motion in double precision, from the library's single precision. */
static inline struct rigid rigid_of(const struct vf_pose *p)
{
    struct rigid m;
    for (int i = 0; i < 9; i++) m.R[i] = (double)p->R[i];
    for (int i = 0; i < 3; i++) m.t[i] = (double)p->t[i];
    return m;
}

static inline void widen(const float f[3], double d[3])
{
    for (int k = 0; k < 3; k++) d[k] = (double)f[k];
}

/** Random motion with a rotation of up to 0.3 rad. */
static inline struct rigid any_motion(void)
{
    struct rigid m;
    any_rotation(real(0.0, 0.3), m.R);
    any_direction(m.t);
    return m;
}

/** Perturbs a motion: rotates it, and shifts its translation. */
static inline struct rigid perturbed(const struct rigid *m, const double step[6])
{
    struct rigid n = *m;
    double D[9];
    rotation_of(step + 3, D);
    product(D, m->R, 0, n.R);
    for (int k = 0; k < 3; k++) n.t[k] += step[k];
    return n;
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

struct pair {
    double a[3], b[3]; /* previous bearing in current axes; current bearing */
};
static inline struct pair pair_of(const struct rigid *m, const struct vf_correspondence *s)
{
    struct pair p;
    widen(s->before, p.a);
    widen(s->now, p.b);
    rotate(m->R, p.a, p.a);
    return p;
}

/** Sum of the squared angles between both bearings and the plane through t rotated by `angle` from (side, up). */
static inline double off_plane(const struct pair *p, const double side[3], const double up[3], double angle)
{
    double n[3];
    for (int k = 0; k < 3; k++) n[k] = cos(angle) * side[k] + sin(angle) * up[k];
    const double x = asin(dot(n, p->a)), y = asin(dot(n, p->b));
    return x * x + y * y;
}

/** Finds the best epipolar plane: its normal, and the sum of squares. */
static inline double best_plane(const double t[3], const struct pair *p, double n[3])
{
    const double pi = acos(-1.0), golden = (sqrt(5.0) - 1.0) / 2.0;
    double e[3] = {1, 0, 0}, side[3], up[3], along[3], least = 1e300, at = 0.0;
    if (fabs(t[0]) > 0.7) e[0] = 0, e[1] = 1;
    memcpy(along, t, sizeof along);
    unit(along);
    cross(along, e, side);
    unit(side);
    cross(along, side, up);
    for (int k = 0; k < 720; k++) {
        const double sum = off_plane(p, side, up, k * pi / 720.0);
        if (sum < least) least = sum, at = k * pi / 720.0;
    }
    double low = at - pi / 720.0, high = at + pi / 720.0;
    for (int k = 0; k < 80; k++) {
        const double x = high - golden * (high - low), y = low + golden * (high - low);
        if (off_plane(p, side, up, x) < off_plane(p, side, up, y))
            high = y;
        else
            low = x;
    }
    for (int k = 0; k < 3; k++) n[k] = cos(low) * side[k] + sin(low) * up[k];
    return off_plane(p, side, up, low);
}

/** Distances along both rays, projected to the plane, to their intersection; sine of the angle between the rays. */
struct intersection {
    double first, second, sine;
};
static inline struct intersection intersect(const double t[3], const struct pair *p, const double n[3])
{
    double a[3], b[3], c[3];
    for (int k = 0; k < 3; k++) {
        a[k] = p->a[k] - dot(n, p->a) * n[k];
        b[k] = p->b[k] - dot(n, p->b) * n[k];
    }
    unit(a);
    unit(b);
    cross(a, b, c); /* first a + t = second b; c is parallel to n */
    double ta[3], tb[3];
    cross(t, b, tb);
    cross(t, a, ta);
    const double sine = dot(c, n);
    return (struct intersection){-dot(tb, n) / sine, -dot(ta, n) / sine, fabs(sine)};
}

static inline double rotation_oracle(const struct pair *p)
{
    const double angle = angle_between(p->a, p->b);
    return 4.0 * sin(angle / 2) * sin(angle / 2); /* squared chord */
}

/* ---- metric errors: a Gaussian of four dimensions ---------------------------------------------------------------- */

/** Predicts the observation of a point at a previous distance: current direction and inverse distance. */
static inline void predict(const struct rigid *m, const struct vf_correspondence *s, double range_m, double out[4])
{
    double y[3];
    widen(s->before, y);
    rotate(m->R, y, y);
    for (int k = 0; k < 3; k++) y[k] = range_m * y[k] + m->t[k];
    const double away = length(y);
    for (int k = 0; k < 3; k++) out[k] = y[k] / away;
    out[3] = 1.0 / away;
}

/** Residuals and inverse covariance in units of the bound, with an uncertain previous distance. Returns the number of
 *  residuals: 4, or 3 without a current distance. */
static inline int gaussian(const struct rigid *m, const struct vf_correspondence *s, double r[4], double inverse[16])
{
    const int n = s->inverse_depth_sigma_1pm > 0.0f ? 4 : 3;
    const double h = 1e-5 * (double)s->range_m, sigma = 1.0 / (3.0 * (double)s->weight),
                 is[4] = {(double)s->now[0], (double)s->now[1], (double)s->now[2], (double)s->inverse_depth_1pm};
    double should[4], more[4], less[4], C[16];
    predict(m, s, (double)s->range_m, should);
    predict(m, s, (double)s->range_m + h, more);
    predict(m, s, (double)s->range_m - h, less);
    for (int i = 0; i < n; i++) {
        r[i] = should[i] - is[i];
        for (int j = 0; j < n; j++) {
            const double noise = i == 3 ? pow((double)s->inverse_depth_sigma_1pm, 2) : sigma * sigma;
            const double g = (more[i] - less[i]) / (2 * h) * (double)s->range_sigma_m,
                         k = (more[j] - less[j]) / (2 * h) * (double)s->range_sigma_m;
            C[i * n + j] = 9.0 * ((i == j ? noise : 0.0) + g * k);
        }
    }
    invert(C, n, inverse);
    return n;
}

/** Logarithm of the determinant that the uncertain previous distance adds to the error; beyond 1 with the library's
 *  approximation. */
static inline double widening(const struct rigid *m, const struct vf_correspondence *s)
{
    const double h = 1e-5 * (double)s->range_m, sigma = 1.0 / (3.0 * (double)s->weight);
    double more[4], less[4], x = 0.0;
    predict(m, s, (double)s->range_m + h, more);
    predict(m, s, (double)s->range_m - h, less);
    for (int i = 0; i < (s->inverse_depth_sigma_1pm > 0.0f ? 4 : 3); i++)
        x += pow((more[i] - less[i]) / (2 * h) * (double)s->range_sigma_m /
                     (i == 3 ? (double)s->inverse_depth_sigma_1pm : sigma),
                 2);
    return (x <= 1.0 ? log1p(x) : x * (6 + x) / (6 + 4 * x)) / 9.0;
}

static inline double quadratic(const double *r, const double *A, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) sum += r[i] * A[i * n + j] * r[j];
    return sum;
}

/** Random correspondence with a distance. noise: factor on its standard deviations. */
static inline struct vf_correspondence any_metric_correspondence(const struct rigid *m, double noise)
{
    const double range = exp(real(log(1.0), log(40.0))), sigma = 0.004 * range * range, bound = BOUND * real(1.0, 3.0);
    double X[3], Y[3], out[4];
    any_ahead(0.7, X);
    struct vf_correspondence s = correspondence_of(X, X, bound);
    s.range_m = (float)range;
    s.range_sigma_m = (float)sigma;
    const double truth = fmax(0.2 * range, range + noise * sigma * normal());
    predict(m, &s, truth, out);
    memcpy(Y, out, sizeof Y);
    shake_direction(Y, noise * bound / 3.0);
    for (int k = 0; k < 3; k++) s.now[k] = (float)Y[k];
    if (roll(3)) {
        s.inverse_depth_sigma_1pm = (float)(0.004 * real(0.5, 2.0));
        s.inverse_depth_1pm = (float)(out[3] + noise * (double)s.inverse_depth_sigma_1pm * normal());
    }
    return s;
}

static inline struct rigid any_metric_motion(void)
{
    struct rigid m;
    any_rotation(real(0.0, 0.2), m.R);
    any_direction(m.t);
    for (int k = 0; k < 3; k++) m.t[k] *= real(0.0, 0.6);
    return m;
}

/* ---- normal equations -------------------------------------------------------------------------------------------- */

/** Residuals of a correspondence, and their weight matrix evaluated at the motion `held`. */
struct row {
    int n;
    double r[4], weight[16];
};
static inline struct row row_of(int kind, const struct rigid *m, const struct rigid *held,
                                const struct vf_correspondence *s)
{
    struct row row = {0, {0}, {0}};
    double inverse[16], n[3];
    const double w = (double)s->weight;
    const struct pair q = pair_of(m, s);
    if (kind == VF_METRIC) {
        double still[4];
        row.n = gaussian(m, s, row.r, inverse);
        gaussian(held, s, still, row.weight);
    } else if (kind == VF_ROTATION_ONLY) {
        row.n = 3;
        for (int k = 0; k < 3; k++) {
            row.r[k] = w * (q.a[k] - q.b[k]);
            row.weight[4 * k] = 1.0;
        }
    } else { /* relative: epipolar constraint over its gradient */
        double v[3];
        cross(m->t, q.a, n);
        cross(m->t, q.b, v);
        row.n = 1;
        row.r[0] = w * dot(n, q.b) /
                   sqrt(dot(n, n) + dot(v, v) - 2.0 * pow(dot(n, q.b), 2) +
                        pow(100.0 / w, 2)); /* lower weight near the epipole */
        row.weight[0] = 1.0;
    }
    return row;
}

/** J^T J, J^T r and r^T r by central differences. */
static inline void differentiate(int kind, const struct rigid *m, const struct vf_correspondence *s, double A[36],
                                 double g[6], double *e)
{
    double J[4][6];
    const struct row here = row_of(kind, m, m, s);
    const int n = here.n;
    for (int i = 0; i < 6; i++) {
        const double h = 1e-6;
        double step[6] = {0};
        step[i] = kind == VF_ROTATION_ONLY && i < 3 ? 0.0 : h;
        const struct rigid more = perturbed(m, step);
        step[i] = -step[i];
        const struct rigid less = perturbed(m, step);
        const struct row a = row_of(kind, &more, m, s), b = row_of(kind, &less, m, s);
        for (int k = 0; k < n; k++) J[k][i] = (a.r[k] - b.r[k]) / (2 * h);
    }
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < n; k++)
            for (int l = 0; l < n; l++) {
                g[i] += J[k][i] * here.weight[k * n + l] * here.r[l];
                for (int j = 0; j < 6; j++) A[6 * i + j] += J[k][i] * here.weight[k * n + l] * J[l][j];
            }
    *e += quadratic(here.r, here.weight, n);
}

/** Random correspondence near the truth. */
static inline struct vf_correspondence any_correspondence(int kind, const struct rigid *m, double noise)
{
    double X[3], Y[3];
    if (kind == VF_METRIC) return any_metric_correspondence(m, noise);
    any_ahead(0.7, X);
    rotate(m->R, X, Y);
    const double inverse = kind == VF_ROTATION_ONLY ? 0.0 : exp(real(log(0.01), log(0.3)));
    for (int k = 0; k < 3; k++) Y[k] += inverse * m->t[k];
    unit(Y);
    shake_direction(X, kind == VF_ROTATION_ONLY
                           ? 0.0
                           : noise * BOUND /
                                 3.0); /* a rotation has all noise in the current bearing: its residuals are a - b */
    shake_direction(Y, noise * BOUND / 3.0);
    return correspondence_of(X, Y, BOUND);
}

static inline struct rigid any_of(int kind) { return kind == VF_METRIC ? any_metric_motion() : any_motion(); }

static const char *const kind_name[VF_KINDS] = {"relative", "rotation", "metric"};

/* ---- steps ------------------------------------------------------------------------------------------------------- */

#define CORRESPONDENCES 400
static struct vf_correspondence correspondences[CORRESPONDENCES];

/** Random correspondences of a motion. noise: factor on their standard deviations. */
static inline void any_correspondences(int kind, const struct rigid *m, int count, double noise)
{
    for (int k = 0; k < count; k++) correspondences[k] = any_correspondence(kind, m, noise);
}

static inline void sum_up(int kind, const struct vf_pose *p, int count, float sums[VF_TERMS])
{
    memset(sums, 0, VF_TERMS * sizeof *sums);
    for (int k = 0; k < count; k++) vf_motion_terms(kind, p, &correspondences[k], sums);
}

static inline int unknowns_of(int kind) { return kind == VF_METRIC ? 6 : kind == VF_ROTATION_ONLY ? 3 : 5; }

/** Basis of the unknowns of a kind: one direction of 6 numbers each. */
static inline void basis_of(int kind, const struct rigid *m, double B[6][6])
{
    double e[3], side[3], up[3];
    memset(B, 0, 36 * sizeof B[0][0]);
    for (int k = 0; k < 3; k++) B[k][3 + k] = 1.0;
    for (int k = 0; k < 3; k++) B[3 + k][k] = 1.0;
    if (kind != VF_RELATIVE) return;
    any_direction(e);
    cross(m->t, e, side);
    unit(side);
    cross(m->t, side, up);
    unit(up);
    memset(B[3], 0, 18 * sizeof B[0][0]);
    memcpy(B[3], side, sizeof side);
    memcpy(B[4], up, sizeof up);
}

/** B^T A B. */
static inline void restrict_to(const double A[36], double B[6][6], int n, double out[36])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            out[i * n + j] = 0.0;
            for (int k = 0; k < 6; k++)
                for (int l = 0; l < 6; l++) out[i * n + j] += B[i][k] * A[6 * k + l] * B[j][l];
        }
}

/** Sum of squares, weights included. */
static inline double sum_of_squares(int kind, const struct rigid *m, int count)
{
    double e = 0.0;
    for (int k = 0; k < count; k++) {
        const struct row row = row_of(kind, m, m, &correspondences[k]);
        e += quadratic(row.r, row.weight, row.n);
    }
    return e;
}

/** Optimum by Gauss-Newton steps in double precision. held: 1: weights count as constant, as in the library; 0:
 *  gradients are differences of the whole sum, and steps are halved until they lower it. */
static inline struct rigid optimum(int kind, struct rigid m, int count, int held)
{
    const int n = unknowns_of(kind);
    for (int round = 0; round < 12; round++) {
        double A[36] = {0}, g[6] = {0}, e = 0.0, B[6][6], N[36], inverse[36], slope[6], step[6] = {0};
        for (int k = 0; k < count; k++) differentiate(kind, &m, &correspondences[k], A, g, &e);
        basis_of(kind, &m, B);
        restrict_to(A, B, n, N);
        invert(N, n, inverse);
        for (int i = 0; i < n; i++) {
            double there[6], back[6];
            slope[i] = 0.0;
            for (int k = 0; k < 6; k++) there[k] = 1e-6 * B[i][k], back[k] = -there[k], slope[i] += B[i][k] * g[k];
            const struct rigid more = perturbed(&m, there), less = perturbed(&m, back);
            if (!held) slope[i] = (sum_of_squares(kind, &more, count) - sum_of_squares(kind, &less, count)) / 4e-6;
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                for (int k = 0; k < 6; k++) step[k] -= B[i][k] * inverse[i * n + j] * slope[j];
        for (int half = 0; half < 20; half++) {
            struct rigid next = perturbed(&m, step);
            if (kind == VF_RELATIVE) unit(next.t);
            if (held || sum_of_squares(kind, &next, count) < e) {
                m = next;
                break;
            }
            for (int k = 0; k < 6; k++) step[k] /= 2;
        }
    }
    return m;
}

/** Difference from a to b: translation, then rotation vector. */
static inline void difference(const struct rigid *a, const struct rigid *b, double out[6])
{
    for (int k = 0; k < 3; k++) out[k] = b->t[k] - a->t[k];
    rotation_between(b->R, a->R, out + 3);
}

/** Squared Mahalanobis distance between a and b, by the normal equations at a. */
static inline double mahalanobis(int kind, const struct rigid *a, const struct rigid *b, int count)
{
    double A[36] = {0}, g[6] = {0}, e = 0.0, off[6];
    for (int k = 0; k < count; k++) differentiate(kind, a, &correspondences[k], A, g, &e);
    difference(a, b, off);
    return quadratic(off, A, 6) * 9.0;
}

static inline void unfold(const float upper[21], double full[36])
{
    for (int i = 0, n = 0; i < 6; i++)
        for (int j = i; j < 6; j++, n++) full[6 * i + j] = full[6 * j + i] = (double)upper[n];
}

#endif
