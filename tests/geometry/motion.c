/* SPDX-License-Identifier: MIT */
/* motion: errors against triangulation and dense Gaussians in double precision, normal equations against numerical differentiation,
 * covariances against dense inverses and against how far noisy problems end from the truth.
 *
 * The oracle's triangulation turns a plane about the translation until both bearings lie closest to it, by golden section: that is the
 * least sum of squared angles over all points. */
#include "tests/fixture/rigid.h"

#define BOUND (1.5 / 800.0) /* angle of an inlier, in most tests [rad] */

/* ---- problems ---------------------------------------------------------------------------------------------------- */

static struct vf_sight sight_of(const double before[3], const double now[3], double bound_rad)
{
    struct vf_sight s;
    memset(&s, 0, sizeof s);
    for (int k = 0; k < 3; k++) {
        s.before[k] = (float)before[k];
        s.now[k] = (float)now[k];
    }
    s.weight = (float)(1.0 / sin(bound_rad));
    return s;
}

static struct vf_pose pose_of(const struct rigid *m)
{
    struct vf_pose p;
    for (int i = 0; i < 9; i++) p.R[i] = (float)m->R[i];
    for (int i = 0; i < 3; i++) p.t[i] = (float)m->t[i];
    return p;
}

/** What the code was given, as doubles. */
static struct rigid rigid_of(const struct vf_pose *p)
{
    struct rigid m;
    for (int i = 0; i < 9; i++) m.R[i] = (double)p->R[i];
    for (int i = 0; i < 3; i++) m.t[i] = (double)p->t[i];
    return m;
}

static void widen(const float f[3], double d[3])
{
    for (int k = 0; k < 3; k++) d[k] = (double)f[k];
}

/** A motion of up to 0.3 rad. */
static struct rigid any_motion(void)
{
    struct rigid m;
    any_rotation(real(0.0, 0.3), m.R);
    any_direction(m.t);
    return m;
}

/** A motion made a little different: turned, and its translation moved. */
static struct rigid moved(const struct rigid *m, const double step[6])
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
    double a[3], b[3]; /* the bearing before, in axes of now; the one now */
};
static struct pair pair_of(const struct rigid *m, const struct vf_sight *s)
{
    struct pair p;
    widen(s->before, p.a);
    widen(s->now, p.b);
    turn(m->R, p.a, p.a);
    return p;
}

/** Sum of the squared angles of both bearings to the plane about t that is turned by an angle from (side, up). */
static double off_plane(const struct pair *p, const double side[3], const double up[3], double angle)
{
    double n[3];
    for (int k = 0; k < 3; k++) n[k] = cos(angle) * side[k] + sin(angle) * up[k];
    const double x = asin(dot(n, p->a)), y = asin(dot(n, p->b));
    return x * x + y * y;
}

/** The best plane: its normal, and the sum of squares. */
static double best_plane(const double t[3], const struct pair *p, double n[3])
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

/** Distances along both rays, in the plane, to where they meet; sine of the angle between them. */
struct meeting {
    double first, second, sine;
};
static struct meeting meet(const double t[3], const struct pair *p, const double n[3])
{
    double a[3], b[3], c[3];
    for (int k = 0; k < 3; k++) {
        a[k] = p->a[k] - dot(n, p->a) * n[k];
        b[k] = p->b[k] - dot(n, p->b) * n[k];
    }
    unit(a);
    unit(b);
    cross(a, b, c); /* first a + t = second b; c is along n */
    double ta[3], tb[3];
    cross(t, b, tb);
    cross(t, a, ta);
    const double sine = dot(c, n);
    return (struct meeting){-dot(tb, n) / sine, -dot(ta, n) / sine, fabs(sine)};
}

static double turn_oracle(const struct pair *p)
{
    const double angle = angle_between(p->a, p->b);
    return 4.0 * sin(angle / 2) * sin(angle / 2); /* squared chord */
}

/** Points near the bound, at least `apart_rad` from the direction of t. Returns the largest difference, as a part of the error. */
static double relative_against_triangulation(double apart_rad, double bound_rad, int *in_front, int *behind)
{
    double worst = 0.0;
    for (int tries = 0; tries < 4000; tries++) {
        const struct vf_pose p = pose_of(&(struct rigid){{0}, {0}});
        struct vf_pose pose = p;
        struct rigid m = any_motion();
        double X[3], Y[3], n[3];
        pose = pose_of(&m);
        m = rigid_of(&pose);
        any_ahead(1.0, X);
        const double distance = exp(real(log(1.5), log(200.0)));
        turn(m.R, X, Y);
        for (int k = 0; k < 3; k++) Y[k] = distance * Y[k] + m.t[k];
        unit(Y);
        if (roll(4) == 0) { /* one that no point explains: the other side of where a far one would be */
            turn(m.R, X, Y);
            for (int k = 0; k < 3; k++) Y[k] -= m.t[k] * real(0.0, 1.2) * bound_rad;
            unit(Y);
        }
        shake_direction(X, 0.6 * bound_rad);
        shake_direction(Y, 0.6 * bound_rad);
        const struct vf_sight s = sight_of(X, Y, bound_rad);
        const struct pair q = pair_of(&m, &s);
        const double from_t = angle_between(q.a, m.t), to_t = angle_between(q.b, m.t), pi = acos(-1.0),
                     square = pow(sin(bound_rad), 2);
        if (fmin(fmin(from_t, pi - from_t), fmin(to_t, pi - to_t)) < apart_rad) continue;
        const double plane = best_plane(m.t, &q, n) / square,
                     apart = 0.5 * turn_oracle(&q) / square; /* both bearings share it */
        const struct meeting at = meet(m.t, &q, n);
        const int front = at.first > 0.0 && at.second > 0.0;
        const double should = front || apart < plane ? plane : apart, is = (double)vf_motion_relative_error(&pose, &s);
        if (at.sine < 0.02 * bound_rad)
            continue; /* which side of the infinitely far it meets is not to be said in single precision */
        if (should < 0.05 || should > 6.0) continue;
        *(front ? in_front : behind) += 1;
        worst = fmax(worst, fabs(is - should) / should);
    }
    return worst;
}

static void relative_errors(void **state)
{
    (void)state;
    int front = 0, behind = 0;
    shake(1);
    const double far = relative_against_triangulation(0.2, BOUND, &front, &behind);
    const double near = relative_against_triangulation(20 * BOUND, BOUND, &front, &behind);
    const double coarse = relative_against_triangulation(0.3, 10 * BOUND, &front, &behind);
    print_message(
        "off the triangulated error by %.4f %% at most, %.4f %% next to the epipole, %.4f %% with ten times the bound; "
        "%d in front, %d behind\n",
        100 * far, 100 * near, 100 * coarse, front, behind);
    REQUIRE(front > 5000 && behind > 500, "too little was tested: %d, %d", front, behind);
    REQUIRE(far < 0.005 && near < 0.02 && coarse < 0.03, "%g %g %g", far, near, coarse);
}

/** The first-order error at any place, also far from the bound and of wide lenses: how far now is off the plane, over how fast that changes with
 *  both bearings, by differences on the sphere. Behind either camera it is that of the turn, where that is more. */
static void relative_to_first_order(void **state)
{
    (void)state;
    double worst = 0.0;
    int behind[4] = {0}; /* behind neither, the first, the second, both */
    shake(23);
    for (int tries = 0; tries < 20000; tries++) {
        struct rigid m = any_motion();
        const struct vf_pose pose = pose_of(&m);
        double X[3], Y[3], n[3], off = 0.0, slope = 0.0;
        m = rigid_of(&pose);
        any_direction(X);
        any_direction(Y);
        if (roll(2)) { /* one that meets, on any side of either camera */
            turn(m.R, X, Y);
            const double first = real(-3, 3);
            for (int k = 0; k < 3; k++) Y[k] = (first * Y[k] + m.t[k]);
            unit(Y);
            for (int k = 0, flip = roll(2); k < 3; k++) Y[k] *= flip ? -1.0 : 1.0;
            shake_direction(Y, BOUND);
        }
        const struct vf_sight s = sight_of(X, Y, BOUND);
        const struct pair q = pair_of(&m, &s);
        for (int which = 0; which < 2; which++)
            for (int axis = 0; axis < 2; axis++) {
                const double *v = which ? q.b : q.a, e[3] = {fabs(v[0]) < 0.7, 0, fabs(v[0]) >= 0.7};
                double side[3], C[2];
                cross(v, e, side);
                unit(side);
                if (axis) cross(v, side, side);
                for (int sign = 0; sign < 2; sign++) {
                    struct pair moved_pair = q;
                    double *to = which ? moved_pair.b : moved_pair.a;
                    for (int k = 0; k < 3; k++) to[k] += (sign ? -1e-6 : 1e-6) * side[k];
                    unit(to);
                    cross(m.t, moved_pair.a, n);
                    C[sign] = dot(n, moved_pair.b);
                }
                slope += pow((C[0] - C[1]) / 2e-6, 2);
            }
        cross(m.t, q.a, n);
        off = dot(n, q.b);
        if (slope < 1e-4) continue;
        double ab[3], tb[3];
        cross(q.a, q.b, ab);
        cross(m.t, q.b, tb);
        const double w = 1.0 / sin(BOUND), plane = off * off / slope * w * w, apart = 0.5 * turn_oracle(&q) * w * w;
        const double second = -dot(n, ab),
                     first = -dot(tb, ab); /* signs of the distances to where the rays are nearest */
        if (fabs(second) < 1e-4 || fabs(first) < 1e-4) continue;
        behind[(first < 0) + 2 * (second < 0)]++;
        const double should = (first < 0 || second < 0) && apart > plane ? apart : plane,
                     is = (double)vf_motion_relative_error(&pose, &s);
        worst = fmax(worst, fabs(is - should) / (should + 0.1));
    }
    print_message("off by %.2g of the error at most; behind neither %d, the first %d, the second %d, both %d\n", worst,
                  behind[0], behind[1], behind[2], behind[3]);
    for (int k = 0; k < 4; k++) assert_true(behind[k] > 1000);
    assert_true(worst < 2e-3);
}

/** On the epipole any plane holds; no bearing may divide by 0. */
static void relative_at_the_epipole(void **state)
{
    (void)state;
    const struct rigid m = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 1}};
    const struct vf_pose p = pose_of(&m);
    const double ahead[3] = {0, 0, 1}, back[3] = {0, 0, -1}, side[3] = {1, 0, 0};
    struct vf_sight s = sight_of(ahead, ahead, BOUND);
    assert_true(vf_motion_relative_error(&p, &s) < 1e-6f);
    s = sight_of(ahead, back, BOUND);
    assert_true(isfinite(vf_motion_relative_error(&p, &s)));
    s = sight_of(side, ahead, BOUND); /* it can lie in the plane of both, before the camera reached it */
    assert_true(isfinite(vf_motion_relative_error(&p, &s)));
    s = sight_of(ahead, side, BOUND); /* it would have to be met behind */
    assert_true(vf_motion_relative_error(&p, &s) >= 0.0f);
}

/** Two bearings and t at right angles, all three: there what is divided by is 0 but for rounding, and the error as large as can be. */
static void relative_at_right_angles(void **state)
{
    (void)state;
    shake(22);
    for (int k = 0; k < 20000; k++) {
        double R[9];
        struct rigid m = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
        any_rotation(real(0.0, 3.0), R);
        memcpy(m.t, R + 3, sizeof m.t);
        const struct vf_pose p = pose_of(&m);
        for (int i = 0; i < 3; i++) R[6 + i] *= k % 2 ? 1.0 : -1.0;
        const struct vf_sight s = sight_of(R, R + 6, BOUND);
        const float error = vf_motion_relative_error(&p, &s);
        REQUIRE(error > 1e3f && error <= VF_MOTION_FAR, "%g", (double)error);
        float terms[VF_TERMS] = {0};
        vf_motion_relative_terms(&p, &s, terms);
        for (int i = 0; i < VF_TERMS; i++) assert_false(isnan(terms[i]));
    }
}

/** What is opposite never agrees: that is how a place without a bearing is written down. */
static void opposite_never_agrees(void **state)
{
    (void)state;
    const double ahead[3] = {0, 0, 1}, back[3] = {0, 0, -1};
    shake(2);
    const struct vf_sight s = sight_of(ahead, back, BOUND);
    for (int k = 0; k < 2000; k++) {
        struct rigid m;
        any_rotation(real(0.0, 1.2), m.R);
        any_direction(m.t);
        const struct vf_pose p = pose_of(&m);
        assert_true(vf_motion_turn_error(&p, &s) > 1.0f);
        assert_true(vf_motion_metric_error(&p, &s) > 1.0f);
    }
}

static void turn_errors(void **state)
{
    (void)state;
    double worst = 0.0;
    shake(3);
    for (int k = 0; k < 4000; k++) {
        struct rigid m = any_motion();
        const struct vf_pose p = pose_of(&m);
        double X[3], Y[3];
        m = rigid_of(&p);
        any_ahead(1.0, X);
        turn(m.R, X, Y);
        shake_direction(Y, exp(real(log(0.1), log(100.0))) * BOUND);
        const struct vf_sight s = sight_of(X, Y, BOUND);
        const struct pair q = pair_of(&m, &s);
        const double should = turn_oracle(&q) / pow(sin(BOUND), 2), is = (double)vf_motion_turn_error(&p, &s);
        worst = fmax(worst, fabs(is - should) / (should + 0.1));
    }
    print_message("off by %.2g of the error at most\n", worst);
    assert_true(worst < 1e-3);
}

/* ---- metric errors: a Gaussian of four dimensions ---------------------------------------------------------------- */

/** What is measured of a point that was so far away: its direction now, one over how far away it is now. */
static void foresee(const struct rigid *m, const struct vf_sight *s, double range_m, double out[4])
{
    double y[3];
    widen(s->before, y);
    turn(m->R, y, y);
    for (int k = 0; k < 3; k++) y[k] = range_m * y[k] + m->t[k];
    const double away = length(y);
    for (int k = 0; k < 3; k++) out[k] = y[k] / away;
    out[3] = 1.0 / away;
}

/** Residuals, and the inverse of their covariance when the distance before is not exact, in units of an inlier's bound. Returns how many
 *  there are: 4, or 3 without the distance now. */
static int gaussian(const struct rigid *m, const struct vf_sight *s, double r[4], double inverse[16])
{
    const int n = s->near_sigma_1pm > 0.0f ? 4 : 3;
    const double h = 1e-5 * (double)s->range_m, sigma = 1.0 / (3.0 * (double)s->weight),
                 is[4] = {(double)s->now[0], (double)s->now[1], (double)s->now[2], (double)s->near_1pm};
    double should[4], more[4], less[4], C[16];
    foresee(m, s, (double)s->range_m, should);
    foresee(m, s, (double)s->range_m + h, more);
    foresee(m, s, (double)s->range_m - h, less);
    for (int i = 0; i < n; i++) {
        r[i] = should[i] - is[i];
        for (int j = 0; j < n; j++) {
            const double noise = i == 3 ? pow((double)s->near_sigma_1pm, 2) : sigma * sigma;
            const double g = (more[i] - less[i]) / (2 * h) * (double)s->range_sigma_m,
                         k = (more[j] - less[j]) / (2 * h) * (double)s->range_sigma_m;
            C[i * n + j] = 9.0 * ((i == j ? noise : 0.0) + g * k);
        }
    }
    invert(C, n, inverse);
    return n;
}

/** What the uncertain distance adds to the error beside that: how much wider it makes the errors lie, a logarithm but for its approximation. */
static double widening(const struct rigid *m, const struct vf_sight *s)
{
    const double h = 1e-5 * (double)s->range_m, sigma = 1.0 / (3.0 * (double)s->weight);
    double more[4], less[4], x = 0.0;
    foresee(m, s, (double)s->range_m + h, more);
    foresee(m, s, (double)s->range_m - h, less);
    for (int i = 0; i < (s->near_sigma_1pm > 0.0f ? 4 : 3); i++)
        x += pow(
            (more[i] - less[i]) / (2 * h) * (double)s->range_sigma_m / (i == 3 ? (double)s->near_sigma_1pm : sigma), 2);
    return (x <= 1.0 ? log1p(x) : x * (6 + x) / (6 + 4 * x)) / 9.0;
}

static double quadratic(const double *r, const double *A, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) sum += r[i] * A[i * n + j] * r[j];
    return sum;
}

/** A point with a distance, seen with noise so many times as large as said. */
static struct vf_sight any_metric_sight(const struct rigid *m, double noise)
{
    const double range = exp(real(log(1.0), log(40.0))), sigma = 0.004 * range * range, bound = BOUND * real(1.0, 3.0);
    double X[3], Y[3], out[4];
    any_ahead(0.7, X);
    struct vf_sight s = sight_of(X, X, bound);
    s.range_m = (float)range;
    s.range_sigma_m = (float)sigma;
    const double truth = fmax(0.2 * range, range + noise * sigma * normal());
    foresee(m, &s, truth, out);
    memcpy(Y, out, sizeof Y);
    shake_direction(Y, noise * bound / 3.0);
    for (int k = 0; k < 3; k++) s.now[k] = (float)Y[k];
    if (roll(3)) {
        s.near_sigma_1pm = (float)(0.004 * real(0.5, 2.0));
        s.near_1pm = (float)(out[3] + noise * (double)s.near_sigma_1pm * normal());
    }
    return s;
}

static struct rigid any_metric_motion(void)
{
    struct rigid m;
    any_rotation(real(0.0, 0.2), m.R);
    any_direction(m.t);
    for (int k = 0; k < 3; k++) m.t[k] *= real(0.0, 0.6);
    return m;
}

static void metric_errors(void **state)
{
    (void)state;
    double worst = 0.0;
    int with = 0, without = 0;
    shake(4);
    for (int tries = 0; tries < 4000; tries++) {
        struct rigid m = any_metric_motion();
        const struct vf_pose p = pose_of(&m);
        double r[4], inverse[16];
        m = rigid_of(&p);
        const struct vf_sight s = any_metric_sight(&m, real(0.5, 2.0));
        const int n = gaussian(&m, &s, r, inverse);
        const double should = quadratic(r, inverse, n) + widening(&m, &s), is = (double)vf_motion_metric_error(&p, &s);
        if (should < 0.05 || should > 4.0) continue;
        n == 4 ? with++ : without++;
        worst = fmax(worst, fabs(is - should) / should);
    }
    print_message("off by %.2g of the error at most; %d with a distance now, %d without\n", worst, with, without);
    assert_true(with > 800 && without > 400 && worst < 1e-2);
    for (double x = 0.0; x < 1e4; x = 1.1 * x + 1e-3) {
        const double is = (double)vf_motion_log1p((float)x), should = log1p(x);
        assert_true(is >= should * 0.999 && (x > 1.0 || is <= should * 1.01));
    }
}

/** Pairs of nonsense: what their errors have in common with how uncertain the distance is must not be lost in rounding, since an error that
 *  comes out too small, or below 0, makes them inliers. */
static void metric_nonsense(void **state)
{
    (void)state;
    double worst = 0.0;
    int tested = 0, agree = 0;
    shake(21);
    for (int tries = 0; tries < 20000; tries++) {
        struct rigid m = any_metric_motion();
        double X[3], Y[3], r[4], inverse[16], out[4];
        for (int k = 0; k < 3; k++) m.t[k] *= roll(2) ? 1.0 : 30.0;
        const struct vf_pose p = pose_of(&m);
        m = rigid_of(&p);
        any_direction(X);
        any_direction(Y);
        struct vf_sight s = sight_of(X, Y, BOUND);
        s.range_m = (float)exp(real(log(0.3), log(100.0)));
        s.range_sigma_m = s.range_m * (float)exp(real(log(0.01), log(3.0)));
        if (roll(2))
            s.near_1pm = (float)exp(real(log(0.01), log(3.0))),
            s.near_sigma_1pm = s.near_1pm * (float)exp(real(log(0.01), log(1.0)));
        const int n = gaussian(&m, &s, r, inverse);
        foresee(&m, &s, (double)s.range_m, out);
        const double should = quadratic(r, inverse, n) + widening(&m, &s), is = (double)vf_motion_metric_error(&p, &s);
        if (dot(out, Y) < 1e-3) continue; /* behind, or nearly */
        worst = fmax(worst, fabs(is - should) / (1.0 + should));
        agree += should < 1.0;
        tested++;
    }
    for (int tries = 0; tries < 2000; tries++) { /* the camera comes to be where the point is */
        struct rigid m = any_metric_motion();
        struct vf_sight s = any_metric_sight(&m, 1.0);
        double X[3];
        widen(s.before, X);
        turn(m.R, X, X);
        s.range_sigma_m = (float)exp(real(log(1e-3), log(1e3)));
        for (int k = 0; k < 3; k++) m.t[k] = -(double)s.range_m * X[k] * (1.0 + real(-1, 1) * pow(10.0, -roll(9)));
        const struct vf_pose p = pose_of(&m);
        const float error = vf_motion_metric_error(&p, &s);
        REQUIRE(error >= 0.0f && error <= VF_MOTION_FAR, "%g", (double)error);
    }
    print_message("off by %.2g of the error at most; %d, of which %d agree\n", worst, tested, agree);
    assert_true(tested > 8000 && worst < 0.02);
}

/** Distances that cannot be, and a point that would be seen behind: no inlier, and nothing that is not finite. */
static void metric_absurd(void **state)
{
    (void)state;
    const struct rigid m = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, -3}};
    const struct vf_pose p = pose_of(&m);
    const double ahead[3] = {0, 0, 1}, back[3] = {0, 0, -1};
    struct vf_sight s = sight_of(ahead, ahead, BOUND);
    s.range_m = 2.0f; /* the camera went past it */
    assert_true(vf_motion_metric_error(&p, &s) == VF_MOTION_FAR);
    s = sight_of(ahead, back, BOUND);
    s.range_m = 2.0f;
    assert_true(vf_motion_metric_error(&p, &s) < 1.0f); /* and there it is */
    s.range_m = 3.0f;                                   /* at the camera: no direction */
    assert_true(vf_motion_metric_error(&p, &s) == VF_MOTION_FAR);
    static const float odd[] = {NAN, INFINITY, -INFINITY, 1e30f, 1e-30f, 0.0f, -1.0f};
    for (int field = 0; field < 10; field++)
        for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
            s = sight_of(ahead, ahead, BOUND);
            s.range_m = 10.0f;
            s.range_sigma_m = 0.1f;
            s.near_1pm = 1.0f / 7.0f;
            s.near_sigma_1pm = 0.01f;
            float *const at[] = {&s.range_m,   &s.range_sigma_m, &s.near_1pm, &s.near_sigma_1pm, &s.before[0],
                                 &s.before[2], &s.now[0],        &s.now[2],   &s.weight,         &s.before[1]};
            *at[field] = odd[k];
            const float error = vf_motion_metric_error(&p, &s), turned = vf_motion_turn_error(&p, &s),
                        plane = vf_motion_relative_error(&p, &s);
            REQUIRE(!isnan(error) && error <= VF_MOTION_FAR && !isnan(turned) && !isnan(plane),
                    "field %d, value %d: %g %g %g", field, (int)k, (double)error, (double)turned, (double)plane);
            if (isnan(odd[k]) && field != 2 && field != 3) /* the distance now: unknown when its deviation is NaN */
                REQUIRE(vf_motion_worth(error) == 0, "field %d: worth %d", field, vf_motion_worth(error));
        }
}

static void worth(void **state)
{
    (void)state;
    assert_int_equal(vf_motion_worth(0.0f), 255);
    assert_int_equal(vf_motion_worth(1.0f), 0);
    assert_int_equal(vf_motion_worth(nextafterf(1.0f, 0.0f)), 1);
    assert_int_equal(vf_motion_worth(VF_MOTION_FAR), 0);
    assert_int_equal(vf_motion_worth(NAN), 0);
    for (int k = 0; k < 1000; k++) {
        const int should = 1 + (int)floor((1.0 - k / 1000.0) * 254.0), is = vf_motion_worth((float)k / 1000.0f);
        REQUIRE(abs(is - should) <= 1, "%d: %d, should be %d", k, is, should);
    }
}

/* ---- normal equations -------------------------------------------------------------------------------------------- */

/** What a problem of many sights adds up to, and the residuals of one of them with what weighs them, held where it is. */
struct row {
    int n;
    double r[4], weight[16];
};
static struct row row_of(int kind, const struct rigid *m, const struct rigid *held, const struct vf_sight *s)
{
    struct row row = {0, {0}, {0}};
    double inverse[16], n[3];
    const double w = (double)s->weight;
    const struct pair q = pair_of(m, s);
    if (kind == VF_METRIC) {
        double still[4];
        row.n = gaussian(m, s, row.r, inverse);
        gaussian(held, s, still, row.weight);
    } else if (kind == VF_TURN) {
        row.n = 3;
        for (int k = 0; k < 3; k++) {
            row.r[k] = w * (q.a[k] - q.b[k]);
            row.weight[4 * k] = 1.0;
        }
    } else { /* the plane that the turned bearing spans with t, and how far both lie off it */
        double v[3];
        cross(m->t, q.a, n);
        cross(m->t, q.b, v);
        row.n = 1;
        row.r[0] = w * dot(n, q.b) /
                   sqrt(dot(n, n) + dot(v, v) - 2.0 * pow(dot(n, q.b), 2) +
                        pow(100.0 / w, 2)); /* it counts for less where the plane is uncertain */
        row.weight[0] = 1.0;
    }
    return row;
}

/** J^T J, J^T r and r^T r by central differences. */
static void differentiate(int kind, const struct rigid *m, const struct vf_sight *s, double A[36], double g[6],
                          double *e)
{
    double J[4][6];
    const struct row here = row_of(kind, m, m, s);
    const int n = here.n;
    for (int i = 0; i < 6; i++) {
        const double h = 1e-6;
        double step[6] = {0};
        step[i] = kind == VF_TURN && i < 3 ? 0.0 : h;
        const struct rigid more = moved(m, step);
        step[i] = -step[i];
        const struct rigid less = moved(m, step);
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

/** A sight near the truth for a kind. */
static struct vf_sight any_sight(int kind, const struct rigid *m, double noise)
{
    double X[3], Y[3];
    if (kind == VF_METRIC) return any_metric_sight(m, noise);
    any_ahead(0.7, X);
    turn(m->R, X, Y);
    const double inverse = kind == VF_TURN ? 0.0 : exp(real(log(0.01), log(0.3)));
    for (int k = 0; k < 3; k++) Y[k] += inverse * m->t[k];
    unit(Y);
    shake_direction(
        X, kind == VF_TURN ? 0.0 : noise * BOUND / 3.0); /* of a turn, all noise is now's: its rows are a minus b */
    shake_direction(Y, noise * BOUND / 3.0);
    return sight_of(X, Y, BOUND);
}

static struct rigid any_of(int kind) { return kind == VF_METRIC ? any_metric_motion() : any_motion(); }

static const char *const kind_name[VF_KINDS] = {"relative", "turn", "metric"};

static void normal_equations(void **state)
{
    (void)state;
    for (int kind = 0; kind < VF_KINDS; kind++) {
        double worst = 0.0;
        shake(5 + (uint64_t)kind);
        for (int tries = 0; tries < 500; tries++) {
            struct rigid m = any_of(kind);
            const struct vf_pose p = pose_of(&m);
            double A[36] = {0}, g[6] = {0}, e = 0.0;
            float terms[VF_TERMS] = {0};
            m = rigid_of(&p);
            for (int k = tries % 4 ? 1 : 30; k > 0; k--) {
                const struct vf_sight s = any_sight(kind, &m, 2.0);
                vf_motion_terms(kind, &p, &s, terms);
                differentiate(kind, &m, &s, A, g, &e);
            }
            for (int i = 0, n = 0; i < 6; i++) {
                for (int j = i; j < 6; j++, n++)
                    worst = fmax(worst, fabs((double)terms[n] - A[6 * i + j]) /
                                            (sqrt(A[7 * i] * A[7 * j]) + 1e-4 * sqrt(A[35] + A[28] + A[21])));
                worst = fmax(worst, fabs((double)terms[VF_TERM_G + i] - g[i]) / (sqrt(A[7 * i] * (e + 1e-2)) + 1e-3));
            }
            worst = fmax(worst, fabs((double)terms[VF_TERM_E] - e) / (e + 1e-2));
        }
        print_message("%s: off by %.2g at most\n", kind_name[kind], worst);
        REQUIRE(worst < 5e-3, "%s: %g", kind_name[kind], worst);
    }
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

#define SIGHTS 400
static struct vf_sight sights[SIGHTS];

/** Sights of a motion, with noise so many times as large as the bounds say. */
static void any_sights(int kind, const struct rigid *m, int count, double noise)
{
    for (int k = 0; k < count; k++) sights[k] = any_sight(kind, m, noise);
}

static void sum_up(int kind, const struct vf_pose *p, int count, float sums[VF_TERMS])
{
    memset(sums, 0, VF_TERMS * sizeof *sums);
    for (int k = 0; k < count; k++) vf_motion_terms(kind, p, &sights[k], sums);
}

static int unknowns_of(int kind) { return kind == VF_METRIC ? 6 : kind == VF_TURN ? 3 : 5; }

/** Directions in which a motion of a kind can go, one after the other: 6 numbers each. */
static void basis_of(int kind, const struct rigid *m, double B[6][6])
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
static void restrict_to(const double A[36], double B[6][6], int n, double out[36])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            out[i * n + j] = 0.0;
            for (int k = 0; k < 6; k++)
                for (int l = 0; l < 6; l++) out[i * n + j] += B[i][k] * A[6 * k + l] * B[j][l];
        }
}

/** The sum of squares, with everything that it depends on. */
static double whole_error(int kind, const struct rigid *m, int count)
{
    double e = 0.0;
    for (int k = 0; k < count; k++) {
        const struct row row = row_of(kind, m, m, &sights[k]);
        e += quadratic(row.r, row.weight, row.n);
    }
    return e;
}

/** Where steps in double precision end. `held`: what residuals are divided by counts as fixed, as in the code; else slopes are
 *  differences of the whole sum, and steps are halved until they help. */
static struct rigid optimum(int kind, struct rigid m, int count, int held)
{
    const int n = unknowns_of(kind);
    for (int round = 0; round < 12; round++) {
        double A[36] = {0}, g[6] = {0}, e = 0.0, B[6][6], N[36], inverse[36], slope[6], step[6] = {0};
        for (int k = 0; k < count; k++) differentiate(kind, &m, &sights[k], A, g, &e);
        basis_of(kind, &m, B);
        restrict_to(A, B, n, N);
        invert(N, n, inverse);
        for (int i = 0; i < n; i++) {
            double there[6], back[6];
            slope[i] = 0.0;
            for (int k = 0; k < 6; k++) there[k] = 1e-6 * B[i][k], back[k] = -there[k], slope[i] += B[i][k] * g[k];
            const struct rigid more = moved(&m, there), less = moved(&m, back);
            if (!held) slope[i] = (whole_error(kind, &more, count) - whole_error(kind, &less, count)) / 4e-6;
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                for (int k = 0; k < 6; k++) step[k] -= B[i][k] * inverse[i * n + j] * slope[j];
        for (int half = 0; half < 20; half++) {
            struct rigid next = moved(&m, step);
            if (kind == VF_RELATIVE) unit(next.t);
            if (held || whole_error(kind, &next, count) < e) {
                m = next;
                break;
            }
            for (int k = 0; k < 6; k++) step[k] /= 2;
        }
    }
    return m;
}

/** From a to b: translation, then rotation vector. */
static void from_to(const struct rigid *a, const struct rigid *b, double out[6])
{
    for (int k = 0; k < 3; k++) out[k] = b->t[k] - a->t[k];
    rotation_between(b->R, a->R, out + 3);
}

/** How far b is from a in the measure of the normal equations there: squared standard deviations, if those of the sights are as said. */
static double far_from(int kind, const struct rigid *a, const struct rigid *b, int count)
{
    double A[36] = {0}, g[6] = {0}, e = 0.0, off[6];
    for (int k = 0; k < count; k++) differentiate(kind, a, &sights[k], A, g, &e);
    from_to(a, b, off);
    return quadratic(off, A, 6) * 9.0;
}

/** Steps from a wrong motion lead to the optimum, and the first makes the sum less. */
static void steps_converge(void **state)
{
    (void)state;
    for (int kind = 0; kind < VF_KINDS; kind++) {
        double worst = 0.0, aside = 0.0, between_these = 0.0, from_truth = 0.0;
        int farthest = 0;
        shake(10 + (uint64_t)kind);
        for (int tries = 0; tries < 40; tries++) {
            const struct rigid truth = any_of(kind);
            const double off_deg = tries % 2 ? 10.0 : 2.0;
            struct rigid start = truth;
            double D[9];
            any_sights(kind, &truth, 200, 1.0);
            any_rotation(off_deg * acos(-1.0) / 180.0, D);
            turn(D, start.t, start.t);
            any_rotation(0.01, D);
            product(D, start.R, 0, start.R);
            struct vf_pose p = pose_of(&start);
            float sums[VF_TERMS];
            sum_up(kind, &p, 200, sums);
            double last = (double)sums[VF_TERM_E];
            int steps = 0;
            for (; steps < 20; steps++) {
                const struct vf_pose before = p;
                REQUIRE(vf_motion_step(kind, &p, sums), "%s, %d: no step", kind_name[kind], tries);
                sum_up(kind, &p, 200, sums);
                if (steps == 0)
                    REQUIRE((double)sums[VF_TERM_E] < last, "%s, %d: from %g to %g", kind_name[kind], tries, last,
                            (double)sums[VF_TERM_E]);
                const struct rigid a = rigid_of(&before), b = rigid_of(&p);
                if (far_from(kind, &b, &a, 200) < 1e-3) break;
            }
            if (kind == VF_RELATIVE)
                assert_true(fabs(length((double[3]){(double)p.t[0], (double)p.t[1], (double)p.t[2]}) - 1.0) < 1e-6);
            const struct rigid is = rigid_of(&p), should = optimum(kind, truth, 200, 1),
                               best = optimum(kind, truth, 200, 0);
            worst = fmax(worst, sqrt(far_from(kind, &should, &is, 200)));
            aside = fmax(aside, sqrt(far_from(kind, &best, &is, 200)));
            between_these += sqrt(far_from(kind, &best, &is, 200)) / 40;
            from_truth += sqrt(far_from(kind, &best, &truth, 200)) / 40;
            farthest = vf_max(farthest, steps);
        }
        print_message("%s: within %.2g standard deviations of where steps in double precision end, after %d steps at "
                      "most; %.2g of the least sum, "
                      "on average %.2g, when that is %.2g from the truth\n",
                      kind_name[kind], worst, farthest + 1, aside, between_these, from_truth);
        REQUIRE(worst < 0.05 && farthest < 8 && aside < (kind == VF_METRIC ? 0.3 : 0.01), "%s", kind_name[kind]);
    }
}

/** Where nothing is known there is no step and no covariance, and the motion stays. */
static void no_step(void **state)
{
    (void)state;
    const struct rigid m = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 1}};
    for (int kind = 0; kind < VF_KINDS; kind++)
        for (int way = 0; way < 4; way++) {
            struct vf_pose p = pose_of(&m);
            const struct vf_pose was = p;
            float sums[VF_TERMS] = {0}, covariance[21];
            shake(20);
            struct vf_sight s = any_sight(kind, &m, 1.0);
            if (way == 1) vf_motion_terms(kind, &p, &s, sums);                            /* one sight */
            for (int k = 0; k < 50 && way == 2; k++) vf_motion_terms(kind, &p, &s, sums); /* one, again and again */
            for (int k = 0; k < VF_TERMS && way == 3; k++) sums[k] = NAN;
            REQUIRE(!vf_motion_step(kind, &p, sums), "%s, %d", kind_name[kind], way);
            assert_memory_equal(&p, &was, sizeof p);
            REQUIRE(!vf_motion_covariance(kind, &p, sums, sums, covariance), "%s, %d", kind_name[kind], way);
        }
}

/** More than a radian is no step, and what is more than 0.8 rad is cut to that. */
static void no_leap(void **state)
{
    (void)state;
    const struct rigid m = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 1}};
    static const float leap[] = {0.1f, 0.79f, 0.99f, 1.01f, 1e30f};
    static const double turned[] = {0.1, 0.79, 0.8, 0.0, 0.0};
    for (int axis = 0; axis < 3; axis++)
        for (int k = 0; k < 5; k++) {
            struct vf_pose p = pose_of(&m);
            float sums[VF_TERMS] = {0};
            double step[6] = {0};
            for (int i = 0, n = 0; i < 6; i++)
                for (int j = i; j < 6; j++, n++) sums[n] = i == j ? 1.0f : 0.0f;
            sums[VF_TERM_G + 3 + axis] = leap[k];
            assert_int_equal(vf_motion_step(VF_METRIC, &p, sums), k < 3);
            step[3 + axis] = -turned[k];
            const struct rigid is = rigid_of(&p), should = moved(&m, step);
            for (int i = 0; i < 9; i++)
                REQUIRE(fabs(is.R[i] - should.R[i]) < 1e-5, "%g: %g, should be %g", (double)leap[k], is.R[i],
                        should.R[i]);
        }
}

/* ---- covariance -------------------------------------------------------------------------------------------------- */

static void unfold(const float upper[21], double full[36])
{
    for (int i = 0, n = 0; i < 6; i++)
        for (int j = i; j < 6; j++, n++) full[6 * i + j] = full[6 * j + i] = (double)upper[n];
}

/** The covariance for errors of a variance. */
static int covariance_of(int kind, const struct vf_pose *p, const float sums[VF_TERMS], float variance,
                         float covariance[21])
{
    float B[21];
    for (int i = 0; i < 21; i++) B[i] = variance * sums[i];
    return vf_motion_covariance(kind, p, sums, B, covariance);
}

/** Against the dense inverse of the same sums, on the directions that there are. */
static void covariances(void **state)
{
    (void)state;
    for (int kind = 0; kind < VF_KINDS; kind++) {
        const int n = unknowns_of(kind);
        double worst = 0.0, along = 0.0;
        shake(30 + (uint64_t)kind);
        for (int tries = 0; tries < 200; tries++) {
            struct rigid m = any_of(kind);
            struct vf_pose p = pose_of(&m);
            float sums[VF_TERMS], covariance[21];
            double A[36], B[6][6], N[36], inverse[36], is[36];
            m = rigid_of(&p);
            any_sights(kind, &m, 100, 1.0);
            sum_up(kind, &p, 100, sums);
            assert_true(covariance_of(kind, &p, sums, 2.5f, covariance));
            unfold(sums, A);
            unfold(covariance, is);
            basis_of(kind, &m, B);
            restrict_to(A, B, n, N);
            invert(N, n, inverse);
            for (int i = 0; i < 6; i++)
                for (int j = 0; j < 6; j++) {
                    double should = 0.0, a = 0.0, b = 0.0;
                    for (int k = 0; k < n; k++)
                        for (int l = 0; l < n; l++) {
                            should += 2.5 * B[k][i] * inverse[k * n + l] * B[l][j];
                            a += 2.5 * B[k][i] * inverse[k * n + l] * B[l][i];
                            b += 2.5 * B[k][j] * inverse[k * n + l] * B[l][j];
                        }
                    worst = fmax(worst, fabs(is[6 * i + j] - should) / fmax(sqrt(a * b), 1e-12));
                }
            double t[6] = {m.t[0], m.t[1], m.t[2]}, most = 0.0;
            for (int k = 0; k < 3; k++) most = fmax(most, is[7 * k]);
            if (kind == VF_RELATIVE) along = fmax(along, fabs(quadratic(t, is, 6)) / most);
        }
        print_message("%s: off by %.2g at most; variance along t %.2g of the largest\n", kind_name[kind], worst, along);
        REQUIRE(worst < 0.01 && along < 1e-4, "%s: %g %g", kind_name[kind], worst, along);
    }
}

/** Normalised error squared of many noisy problems, each solved by steps from the truth: its mean, by dimension. */
static double consistency(int kind, int problems, int count, double noise)
{
    const int n = unknowns_of(kind);
    double sum = 0.0;
    for (int tries = 0; tries < problems; tries++) {
        const struct rigid truth = any_of(kind);
        struct vf_pose p = pose_of(&truth);
        float sums[VF_TERMS], covariance[21];
        double C[36], B[6][6], N[36], inverse[36], off[6], e[6] = {0};
        uint32_t rows = 0;
        any_sights(kind, &truth, count, noise);
        for (int k = 0; k < count; k++)
            rows += kind == VF_RELATIVE ? 1 : kind == VF_METRIC && sights[k].near_sigma_1pm > 0.0f ? 3 : 2;
        for (int step = 0; step < 5; step++) {
            sum_up(kind, &p, count, sums);
            if (step < 4) assert_true(vf_motion_step(kind, &p, sums));
        }
        assert_true(covariance_of(kind, &p, sums, sums[VF_TERM_E] / (float)(rows - (uint32_t)n), covariance));
        const struct rigid m = rigid_of(&p);
        unfold(covariance, C);
        basis_of(kind, &m, B);
        restrict_to(C, B, n, N);
        invert(N, n, inverse);
        from_to(&m, &truth, off);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 6; k++) e[i] += B[i][k] * off[k];
        sum += quadratic(e, inverse, n) / n;
    }
    return sum / problems;
}

static void consistent(void **state)
{
    (void)state;
    for (int kind = 0; kind < VF_KINDS; kind++) {
        shake(40 + (uint64_t)kind);
        const double as_said = consistency(kind, 3000, 100, 1.0), less = consistency(kind, 1000, 100, 0.4);
        print_message("%s: normalised error squared %.3f a dimension, %.3f with less noise than said\n",
                      kind_name[kind], as_said, less);
        REQUIRE(as_said > 0.9 && as_said < 1.1 && less > 0.88 && less < 1.12, "%s: %g %g", kind_name[kind], as_said,
                less);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relative_errors),
        cmocka_unit_test(relative_to_first_order),
        cmocka_unit_test(relative_at_the_epipole),
        cmocka_unit_test(opposite_never_agrees),
        cmocka_unit_test(relative_at_right_angles),
        cmocka_unit_test(turn_errors),
        cmocka_unit_test(metric_errors),
        cmocka_unit_test(metric_nonsense),
        cmocka_unit_test(metric_absurd),
        cmocka_unit_test(worth),
        cmocka_unit_test(normal_equations),
        cmocka_unit_test(steps_converge),
        cmocka_unit_test(no_step),
        cmocka_unit_test(no_leap),
        cmocka_unit_test(covariances),
        cmocka_unit_test(consistent),
    };
    return cmocka_run_group_tests_name("motion", tests, NULL, NULL);
}
