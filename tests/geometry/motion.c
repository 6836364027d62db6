/* SPDX-License-Identifier: MIT */
/* motion: errors against triangulation and dense Gaussians in double precision, normal equations against numerical
 * differentiation, covariances against dense inverses and against the errors of noisy problems. Independent forms:
 * motion_oracle.h. */
#include "motion_oracle.h"

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/** Compares errors near the bound with triangulation, at least apart_rad from the direction of t. Returns the largest
 *  relative difference. */
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
        rotate(m.R, X, Y);
        for (int k = 0; k < 3; k++) Y[k] = distance * Y[k] + m.t[k];
        unit(Y);
        if (roll(4) == 0) { /* no intersection: beyond the point at infinity */
            rotate(m.R, X, Y);
            for (int k = 0; k < 3; k++) Y[k] -= m.t[k] * real(0.0, 1.2) * bound_rad;
            unit(Y);
        }
        shake_direction(X, 0.6 * bound_rad);
        shake_direction(Y, 0.6 * bound_rad);
        const struct vf_correspondence s = correspondence_of(X, Y, bound_rad);
        const struct pair q = pair_of(&m, &s);
        const double from_t = angle_between(q.a, m.t), to_t = angle_between(q.b, m.t), pi = acos(-1.0),
                     square = pow(sin(bound_rad), 2);
        if (fmin(fmin(from_t, pi - from_t), fmin(to_t, pi - to_t)) < apart_rad) continue;
        const double plane = best_plane(m.t, &q, n) / square,
                     apart = 0.5 * rotation_oracle(&q) / square; /* divided between both bearings */
        const struct intersection at = intersect(m.t, &q, n);
        const int front = at.first > 0.0 && at.second > 0.0;
        const double should = front || apart < plane ? plane : apart, is = (double)vf_motion_relative_error(&pose, &s);
        if (at.sine < 0.02 * bound_rad) continue; /* too close to infinity for single precision to decide on the side */
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

/** Sampson error far from the bound and for wide lenses: the epipolar constraint over its gradient by both bearings,
 *  from differences on the sphere. Behind either camera it is at least half of the rotation error. */
static void relative_to_first_order(void **state)
{
    (void)state;
    double worst = 0.0;
    int behind[4] = {0}; /* number of points behind: neither camera, the first, the second, both */
    shake(23);
    for (int tries = 0; tries < 20000; tries++) {
        struct rigid m = any_motion();
        const struct vf_pose pose = pose_of(&m);
        double X[3], Y[3], n[3], off = 0.0, slope = 0.0;
        m = rigid_of(&pose);
        any_direction(X);
        any_direction(Y);
        if (roll(2)) { /* rays that intersect, on any side of either camera */
            rotate(m.R, X, Y);
            const double first = real(-3, 3);
            for (int k = 0; k < 3; k++) Y[k] = (first * Y[k] + m.t[k]);
            unit(Y);
            for (int k = 0, flip = roll(2); k < 3; k++) Y[k] *= flip ? -1.0 : 1.0;
            shake_direction(Y, BOUND);
        }
        const struct vf_correspondence s = correspondence_of(X, Y, BOUND);
        const struct pair q = pair_of(&m, &s);
        for (int which = 0; which < 2; which++)
            for (int axis = 0; axis < 2; axis++) {
                const double *v = which ? q.b : q.a, e[3] = {fabs(v[0]) < 0.7, 0, fabs(v[0]) >= 0.7};
                double side[3], C[2];
                cross(v, e, side);
                unit(side);
                if (axis) cross(v, side, side);
                for (int sign = 0; sign < 2; sign++) {
                    struct pair shifted = q;
                    double *to = which ? shifted.b : shifted.a;
                    for (int k = 0; k < 3; k++) to[k] += (sign ? -1e-6 : 1e-6) * side[k];
                    unit(to);
                    cross(m.t, shifted.a, n);
                    C[sign] = dot(n, shifted.b);
                }
                slope += pow((C[0] - C[1]) / 2e-6, 2);
            }
        cross(m.t, q.a, n);
        off = dot(n, q.b);
        if (slope < 1e-4) continue;
        double ab[3], tb[3];
        cross(q.a, q.b, ab);
        cross(m.t, q.b, tb);
        const double w = 1.0 / sin(BOUND), plane = off * off / slope * w * w, apart = 0.5 * rotation_oracle(&q) * w * w;
        const double second = -dot(n, ab),
                     first = -dot(tb, ab); /* signs of the distances to the closest points of the rays */
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

/** At the epipole the constraint holds for any plane; no bearing may cause a division by 0. */
static void relative_at_the_epipole(void **state)
{
    (void)state;
    const struct rigid m = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 1}};
    const struct vf_pose p = pose_of(&m);
    const double ahead[3] = {0, 0, 1}, back[3] = {0, 0, -1}, side[3] = {1, 0, 0};
    struct vf_correspondence s = correspondence_of(ahead, ahead, BOUND);
    assert_true(vf_motion_relative_error(&p, &s) < 1e-6f);
    s = correspondence_of(ahead, back, BOUND);
    assert_true(isfinite(vf_motion_relative_error(&p, &s)));
    s = correspondence_of(side, ahead, BOUND); /* epipolar plane of both, point in front of the first camera position */
    assert_true(isfinite(vf_motion_relative_error(&p, &s)));
    s = correspondence_of(ahead, side, BOUND); /* point behind */
    assert_true(vf_motion_relative_error(&p, &s) >= 0.0f);
}

/** Both bearings and t mutually orthogonal: the gradient is 0 up to rounding, and the error as large as possible. */
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
        const struct vf_correspondence s = correspondence_of(R, R + 6, BOUND);
        const float error = vf_motion_relative_error(&p, &s);
        REQUIRE(error > 1e3f && error <= VF_MOTION_ERROR_MAX, "%g", (double)error);
        float terms[VF_TERMS] = {0};
        vf_motion_relative_terms(&p, &s, terms);
        for (int i = 0; i < VF_TERMS; i++) assert_false(isnan(terms[i]));
    }
}

/** Opposite bearings, which mark an invalid correspondence, are never an inlier. */
static void opposite_is_outlier(void **state)
{
    (void)state;
    const double ahead[3] = {0, 0, 1}, back[3] = {0, 0, -1};
    shake(2);
    const struct vf_correspondence s = correspondence_of(ahead, back, BOUND);
    for (int k = 0; k < 2000; k++) {
        struct rigid m;
        any_rotation(real(0.0, 1.2), m.R);
        any_direction(m.t);
        const struct vf_pose p = pose_of(&m);
        assert_true(vf_motion_rotation_error(&p, &s) > 1.0f);
        assert_true(vf_motion_metric_error(&p, &s) > 1.0f);
    }
}

static void rotation_errors(void **state)
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
        rotate(m.R, X, Y);
        shake_direction(Y, exp(real(log(0.1), log(100.0))) * BOUND);
        const struct vf_correspondence s = correspondence_of(X, Y, BOUND);
        const struct pair q = pair_of(&m, &s);
        const double should = rotation_oracle(&q) / pow(sin(BOUND), 2), is = (double)vf_motion_rotation_error(&p, &s);
        worst = fmax(worst, fabs(is - should) / (should + 0.1));
    }
    print_message("off by %.2g of the error at most\n", worst);
    assert_true(worst < 1e-3);
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
        const struct vf_correspondence s = any_metric_correspondence(&m, real(0.5, 2.0));
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

/** Random correspondences: rounding must not lose the part of the error explained by the uncertain distance. An error
 *  that is too small or negative makes an inlier. */
static void metric_random(void **state)
{
    (void)state;
    double worst = 0.0;
    int tested = 0, inliers = 0;
    shake(21);
    for (int tries = 0; tries < 20000; tries++) {
        struct rigid m = any_metric_motion();
        double X[3], Y[3], r[4], inverse[16], out[4];
        for (int k = 0; k < 3; k++) m.t[k] *= roll(2) ? 1.0 : 30.0;
        const struct vf_pose p = pose_of(&m);
        m = rigid_of(&p);
        any_direction(X);
        any_direction(Y);
        struct vf_correspondence s = correspondence_of(X, Y, BOUND);
        s.range_m = (float)exp(real(log(0.3), log(100.0)));
        s.range_sigma_m = s.range_m * (float)exp(real(log(0.01), log(3.0)));
        if (roll(2))
            s.inverse_depth_1pm = (float)exp(real(log(0.01), log(3.0))),
            s.inverse_depth_sigma_1pm = s.inverse_depth_1pm * (float)exp(real(log(0.01), log(1.0)));
        const int n = gaussian(&m, &s, r, inverse);
        predict(&m, &s, (double)s.range_m, out);
        const double should = quadratic(r, inverse, n) + widening(&m, &s), is = (double)vf_motion_metric_error(&p, &s);
        if (dot(out, Y) < 1e-3) continue; /* behind the camera, or nearly so */
        worst = fmax(worst, fabs(is - should) / (1.0 + should));
        inliers += should < 1.0;
        tested++;
    }
    for (int tries = 0; tries < 2000; tries++) { /* camera at the point */
        struct rigid m = any_metric_motion();
        struct vf_correspondence s = any_metric_correspondence(&m, 1.0);
        double X[3];
        widen(s.before, X);
        rotate(m.R, X, X);
        s.range_sigma_m = (float)exp(real(log(1e-3), log(1e3)));
        for (int k = 0; k < 3; k++) m.t[k] = -(double)s.range_m * X[k] * (1.0 + real(-1, 1) * pow(10.0, -roll(9)));
        const struct vf_pose p = pose_of(&m);
        const float error = vf_motion_metric_error(&p, &s);
        REQUIRE(error >= 0.0f && error <= VF_MOTION_ERROR_MAX, "%g", (double)error);
    }
    print_message("off by %.2g of the error at most; %d, of which %d inliers\n", worst, tested, inliers);
    assert_true(tested > 8000 && worst < 0.02);
}

/** Invalid distances and points behind the camera: no inlier, and always a finite error. */
static void metric_invalid(void **state)
{
    (void)state;
    const struct rigid m = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, -3}};
    const struct vf_pose p = pose_of(&m);
    const double ahead[3] = {0, 0, 1}, back[3] = {0, 0, -1};
    struct vf_correspondence s = correspondence_of(ahead, ahead, BOUND);
    s.range_m = 2.0f; /* point behind the camera */
    assert_true(vf_motion_metric_error(&p, &s) == VF_MOTION_ERROR_MAX);
    s = correspondence_of(ahead, back, BOUND);
    s.range_m = 2.0f;
    assert_true(vf_motion_metric_error(&p, &s) < 1.0f); /* and seen behind the camera */
    s.range_m = 3.0f;                                   /* camera at the point: direction undefined */
    assert_true(vf_motion_metric_error(&p, &s) == VF_MOTION_ERROR_MAX);
    static const float odd[] = {NAN, INFINITY, -INFINITY, 1e30f, 1e-30f, 0.0f, -1.0f};
    for (int field = 0; field < 10; field++)
        for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
            s = correspondence_of(ahead, ahead, BOUND);
            s.range_m = 10.0f;
            s.range_sigma_m = 0.1f;
            s.inverse_depth_1pm = 1.0f / 7.0f;
            s.inverse_depth_sigma_1pm = 0.01f;
            float *const at[] = {&s.range_m,
                                 &s.range_sigma_m,
                                 &s.inverse_depth_1pm,
                                 &s.inverse_depth_sigma_1pm,
                                 &s.before[0],
                                 &s.before[2],
                                 &s.now[0],
                                 &s.now[2],
                                 &s.weight,
                                 &s.before[1]};
            *at[field] = odd[k];
            const float error = vf_motion_metric_error(&p, &s), turned = vf_motion_rotation_error(&p, &s),
                        plane = vf_motion_relative_error(&p, &s);
            REQUIRE(!isnan(error) && error <= VF_MOTION_ERROR_MAX && !isnan(turned) && !isnan(plane),
                    "field %d, value %d: %g %g %g", field, (int)k, (double)error, (double)turned, (double)plane);
            if (isnan(odd[k]) && field != 2 &&
                field != 3) /* current distance: unknown if its standard deviation is NaN */
                REQUIRE(vf_motion_inlier_score(error) == 0, "field %d: score %d", field, vf_motion_inlier_score(error));
        }
}

static void inlier_scores(void **state)
{
    (void)state;
    assert_int_equal(vf_motion_inlier_score(0.0f), 255);
    assert_int_equal(vf_motion_inlier_score(1.0f), 0);
    assert_int_equal(vf_motion_inlier_score(nextafterf(1.0f, 0.0f)), 1);
    assert_int_equal(vf_motion_inlier_score(VF_MOTION_ERROR_MAX), 0);
    assert_int_equal(vf_motion_inlier_score(NAN), 0);
    for (int k = 0; k < 1000; k++) {
        const int should = 1 + (int)floor((1.0 - k / 1000.0) * 254.0), is = vf_motion_inlier_score((float)k / 1000.0f);
        REQUIRE(abs(is - should) <= 1, "%d: %d, should be %d", k, is, should);
    }
}

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
                const struct vf_correspondence s = any_correspondence(kind, &m, 2.0);
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

/** Steps from a wrong motion converge to the optimum, and the first step lowers the sum. */
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
            any_correspondences(kind, &truth, 200, 1.0);
            any_rotation(off_deg * acos(-1.0) / 180.0, D);
            rotate(D, start.t, start.t);
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
                if (mahalanobis(kind, &b, &a, 200) < 1e-3) break;
            }
            if (kind == VF_RELATIVE)
                assert_true(fabs(length((double[3]){(double)p.t[0], (double)p.t[1], (double)p.t[2]}) - 1.0) < 1e-6);
            const struct rigid is = rigid_of(&p), should = optimum(kind, truth, 200, 1),
                               best = optimum(kind, truth, 200, 0);
            worst = fmax(worst, sqrt(mahalanobis(kind, &should, &is, 200)));
            aside = fmax(aside, sqrt(mahalanobis(kind, &best, &is, 200)));
            between_these += sqrt(mahalanobis(kind, &best, &is, 200)) / 40;
            from_truth += sqrt(mahalanobis(kind, &best, &truth, 200)) / 40;
            farthest = vf_max(farthest, steps);
        }
        print_message("%s: within %.2g standard deviations of where steps in double precision end, after %d steps at "
                      "most; %.2g of the least sum, "
                      "on average %.2g, when that is %.2g from the truth\n",
                      kind_name[kind], worst, farthest + 1, aside, between_these, from_truth);
        REQUIRE(worst < 0.05 && farthest < 8 && aside < (kind == VF_METRIC ? 0.3 : 0.01), "%s", kind_name[kind]);
    }
}

/** Without information there is no step and no covariance, and the motion is unchanged. */
static void no_step(void **state)
{
    (void)state;
    const struct rigid m = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 1}};
    for (int kind = 0; kind < VF_KINDS; kind++)
        for (int variant = 0; variant < 4; variant++) {
            struct vf_pose p = pose_of(&m);
            const struct vf_pose was = p;
            float sums[VF_TERMS] = {0}, covariance[21];
            shake(20);
            struct vf_correspondence s = any_correspondence(kind, &m, 1.0);
            if (variant == 1) vf_motion_terms(kind, &p, &s, sums); /* a single correspondence */
            for (int k = 0; k < 50 && variant == 2; k++)
                vf_motion_terms(kind, &p, &s, sums); /* the same correspondence
                                                                                                 repeated */
            for (int k = 0; k < VF_TERMS && variant == 3; k++) sums[k] = NAN;
            REQUIRE(!vf_motion_step(kind, &p, sums), "%s, %d", kind_name[kind], variant);
            assert_memory_equal(&p, &was, sizeof p);
            REQUIRE(!vf_motion_covariance(kind, &p, sums, sums, covariance), "%s, %d", kind_name[kind], variant);
        }
}

/** A step that rotates by a radian or more is refused; one of more than 0.8 rad is shortened to 0.8 rad. */
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
            const struct rigid is = rigid_of(&p), should = perturbed(&m, step);
            for (int i = 0; i < 9; i++)
                REQUIRE(fabs(is.R[i] - should.R[i]) < 1e-5, "%g: %g, should be %g", (double)leap[k], is.R[i],
                        should.R[i]);
        }
}

/* ---- covariance -------------------------------------------------------------------------------------------------- */

/** Covariance for residuals of a given variance. */
static int covariance_of(int kind, const struct vf_pose *p, const float sums[VF_TERMS], float variance,
                         float covariance[21])
{
    float B[21];
    for (int i = 0; i < 21; i++) B[i] = variance * sums[i];
    return vf_motion_covariance(kind, p, sums, B, covariance);
}

/** Covariance against the dense inverse of the same sums, in the basis of the unknowns. */
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
            any_correspondences(kind, &m, 100, 1.0);
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

/** Mean normalised squared error per dimension of many noisy problems, each solved by steps from the truth. */
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
        any_correspondences(kind, &truth, count, noise);
        for (int k = 0; k < count; k++)
            rows += kind == VF_RELATIVE                                                      ? 1
                    : kind == VF_METRIC && correspondences[k].inverse_depth_sigma_1pm > 0.0f ? 3
                                                                                             : 2;
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
        difference(&m, &truth, off);
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
        const double as_calibrated = consistency(kind, 3000, 100, 1.0), less = consistency(kind, 1000, 100, 0.4);
        print_message("%s: normalised error squared %.3f a dimension, %.3f with less noise than said\n",
                      kind_name[kind], as_calibrated, less);
        REQUIRE(as_calibrated > 0.9 && as_calibrated < 1.1 && less > 0.88 && less < 1.12, "%s: %g %g", kind_name[kind],
                as_calibrated, less);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relative_errors),
        cmocka_unit_test(relative_to_first_order),
        cmocka_unit_test(relative_at_the_epipole),
        cmocka_unit_test(opposite_is_outlier),
        cmocka_unit_test(relative_at_right_angles),
        cmocka_unit_test(rotation_errors),
        cmocka_unit_test(metric_errors),
        cmocka_unit_test(metric_random),
        cmocka_unit_test(metric_invalid),
        cmocka_unit_test(inlier_scores),
        cmocka_unit_test(normal_equations),
        cmocka_unit_test(steps_converge),
        cmocka_unit_test(no_step),
        cmocka_unit_test(no_leap),
        cmocka_unit_test(covariances),
        cmocka_unit_test(consistent),
    };
    return cmocka_run_group_tests_name("motion", tests, NULL, NULL);
}
