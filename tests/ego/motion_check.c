/* SPDX-License-Identifier: MIT */
/* ego, motion_check: motions that contradict each other or the rotation prior, by hand and against a comparison in
 * double precision; shares of inliers. */
#include "tests/fixture/rigid.h"
#include "tests/fixture/stage.h"

#include "ego/motion_check.h"

#if VFRONT_EGO

/* ---- motions ----------------------------------------------------------------------------------------------------- */

/** Rotation by w [rad], in single precision. */
static void single_rotation(const double w[3], float R[9])
{
    double exact[9];
    rotation_of(w, exact);
    for (int i = 0; i < 9; i++) R[i] = (float)exact[i];
}

/** Good motion with given standard deviations of each component of its translation and rotation. */
static vfront_motion_t motion_of(const double w[3], const double t[3], double sigma_t, double sigma_rad)
{
    static const int diagonal[6] = {0, 6, 11, 15, 18, 20};
    vfront_motion_t m;
    memset(&m, 0, sizeof m);
    m.state = VFRONT_MOTION_GOOD;
    m.pairs = 400;
    m.inliers = 300;
    m.rms_px = 0.3f;
    m.parallax_px = 4.0f;
    single_rotation(w, m.R);
    for (int i = 0; i < 3; i++) m.t[i] = (float)t[i];
    for (int i = 0; i < 6; i++) m.covariance[diagonal[i]] = (float)(i < 3 ? sigma_t * sigma_t : sigma_rad * sigma_rad);
    return m;
}

static const double none[3] = {0, 0, 0}, ahead[3] = {0, 0, 1}, metre[3] = {0, 0, 0.5};

static void is_invalidated(const vfront_motion_t *m, uint32_t flags)
{
    assert_int_equal(m->state, VFRONT_MOTION_UNSURE);
    assert_int_equal(m->flags, flags);
    for (int i = 0; i < 9; i++) assert_true(m->R[i] == (i % 4 == 0 ? 1.0f : 0.0f));
    for (int i = 0; i < 3; i++) assert_true(m->t[i] == 0.0f);
    for (int i = 0; i < 21; i++) assert_true(m->covariance[i] == 0.0f);
    assert_true(m->rms_px == 0.0f && m->parallax_px == 0.0f && m->others == 0 && m->pairs == 400);
}

/** Parameters of a frame whose rotation prior is w [rad], with a standard deviation about each axis [rad]. w: NULL: no
 *  prior. */
static struct vf_params prior_of(const double *w, double sigma_rad)
{
    struct vf_params p;
    memset(&p, 0, sizeof p);
    p.rotation_given = w != NULL;
    single_rotation(w ? w : none, p.R);
    for (int k = 0; k < 6; k++) p.rotation_covariance[k] = k == 0 || k == 3 || k == 5 ? (float)pow(sigma_rad, 2) : 0.0f;
    return p;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void agreeing_motions_stay(void **state)
{
    (void)state;
    const double w[3] = {0.01, -0.03, 0.02};
    const struct vf_params without = prior_of(NULL, 0.0), prior = prior_of(w, 1e-3);
    vfront_motion_t relative = motion_of(w, ahead, 0.01, 1e-4), metric = motion_of(w, metre, 0.002, 1e-4);
    const vfront_motion_t was[2] = {relative, metric};
    for (int with_prior = 0; with_prior < 2; with_prior++) {
        vf_motion_check_compare(with_prior ? &prior : &without, &relative, &metric);
        assert_memory_equal(&relative, &was[0], sizeof relative);
        assert_memory_equal(&metric, &was[1], sizeof metric);
    }
}

/** The metric rotation is off by 20 mrad: the motion with the smaller share of inliers is invalidated. */
static void weaker_motion_is_invalidated(void **state)
{
    (void)state;
    const double off[3] = {0.0, 0.02, 0.0};
    const struct vf_params without = prior_of(NULL, 0.0);
    for (uint32_t inliers = 299; inliers <= 301; inliers++) {
        vfront_motion_t relative = motion_of(none, ahead, 0.01, 1e-4), metric = motion_of(off, metre, 0.002, 1e-4);
        relative.inliers = inliers;
        vf_motion_check_compare(&without, &relative, &metric);
        if (inliers < 300) is_invalidated(&relative, VFRONT_MOTION_CONTRADICTS);
        if (inliers >= 300) is_invalidated(&metric, VFRONT_MOTION_CONTRADICTS);
        const vfront_motion_t *other = inliers < 300 ? &metric : &relative;
        assert_true(other->state == VFRONT_MOTION_GOOD && other->flags == VFRONT_MOTION_CONTRADICTS);
    }
}

/** A metric motion of the wide bound is the weaker one for any number of inliers. It is checked against the running
 *  mean of the share, and does not change it. */
static void wide_motion_is_weaker(void **state)
{
    (void)state;
    const double off[3] = {0.0, 0.02, 0.0};
    const struct vf_params without = prior_of(NULL, 0.0);
    vfront_motion_t relative = motion_of(none, ahead, 0.01, 1e-4), metric = motion_of(off, metre, 0.002, 1e-4);
    relative.inliers = 100;
    metric.flags = VFRONT_MOTION_WIDE;
    vf_motion_check_compare(&without, &relative, &metric);
    is_invalidated(&metric, VFRONT_MOTION_CONTRADICTS);
    assert_int_equal(relative.state, VFRONT_MOTION_GOOD);
    const struct vf_mean_share running_means = {16, 800 << 8};
    for (uint32_t inliers = 127; inliers <= 128; inliers++) { /* 40 % of a mean share of 800 permille, of 400
                                                                 correspondences */
        metric = motion_of(none, metre, 0.002, 1e-4);
        metric.flags = VFRONT_MOTION_WIDE;
        metric.inliers = inliers;
        const struct vf_mean_share after = vf_motion_check_share(&metric, &running_means);
        assert_memory_equal(&after, &running_means, sizeof running_means);
        if (inliers == 127) is_invalidated(&metric, VFRONT_MOTION_OUTLIERS);
        if (inliers == 128) assert_true(metric.state == VFRONT_MOTION_GOOD && metric.flags == VFRONT_MOTION_WIDE);
    }
}

static void prior_decides(void **state)
{
    (void)state;
    const double off[3] = {0.0, 0.02, 0.0};
    const struct vf_params prior = prior_of(none, 1e-3);
    vfront_motion_t relative = motion_of(none, ahead, 0.01, 1e-4), metric = motion_of(off, metre, 0.002, 1e-4);
    relative.inliers = 100; /* fewer inliers, but it agrees with the prior */
    vf_motion_check_compare(&prior, &relative, &metric);
    is_invalidated(&metric, VFRONT_MOTION_CONTRADICTS | VFRONT_MOTION_PRIOR);
    assert_int_equal(relative.state, VFRONT_MOTION_GOOD);
    relative = motion_of(off, ahead, 0.01, 1e-4), metric = motion_of(off, metre, 0.002, 1e-4);
    vf_motion_check_compare(&prior, &relative, &metric); /* both contradict the prior, and agree */
    is_invalidated(&relative, VFRONT_MOTION_PRIOR);
    is_invalidated(&metric, VFRONT_MOTION_PRIOR);
}

/** The threshold is the quantile of the chi-square distribution with 3 degrees of freedom at 1e-6. */
static void threshold(void **state)
{
    (void)state;
    const double x = (double)VF_MOTION_CHECK_ROTATION_CHI2, pi = 3.14159265358979,
                 above = erfc(sqrt(x / 2)) + sqrt(2 * x / pi) * exp(-x / 2);
    REQUIRE(fabs(above / 1e-6 - 1) < 0.01, "probability %g", above);
}

/** Bounds of the prior by hand, sqrt(30.66) = 5.5372 standard deviations of prior and motion: about one axis; about two
 *  axes with a covariance between them, whose eigenvectors are the diagonals. */
static void bounds_of_the_prior(void **state)
{
    static const struct {
        double prior_rad, motion_rad, correlation, about[3], bound_rad;
    } variant[] = {{1e-3, 0.0, 0.0, {1, 0, 0}, 5.5372e-3},
                   {0.0, 1e-3, 0.0, {0, 1, 0}, 5.5372e-3},
                   {3e-3, 4e-3, 0.0, {0, 0, 1}, 27.686e-3},
                   {1e-3, 0.0, 0.0, {0.6, 0, 0.8}, 5.5372e-3},
                   {1e-3, 0.0, 0.96, {0.70710678, 0.70710678, 0}, 7.7520e-3},   /* sqrt(1.96) as far */
                   {1e-3, 0.0, 0.96, {0.70710678, -0.70710678, 0}, 1.1074e-3}}; /* sqrt(0.04) as far */
    (void)state;
    for (size_t i = 0; i < sizeof variant / sizeof *variant; i++)
        for (int side = -1; side <= 1; side += 2) {
            double seen[3];
            for (int k = 0; k < 3; k++) seen[k] = variant[i].about[k] * variant[i].bound_rad * (1.0 + 0.005 * side);
            struct vf_params prior = prior_of(none, variant[i].prior_rad);
            prior.rotation_covariance[1] = (float)variant[i].correlation * prior.rotation_covariance[0];
            const vfront_motion_t m = motion_of(seen, ahead, 0.01, variant[i].motion_rad);
            REQUIRE(vf_motion_check_prior_differs(&m, &prior) == (side > 0), "line %zu, side %d", i, side);
        }
}

/** Random covariance of three angles, upper triangle by rows. Deviations: 10 urad to 3 mrad. */
static void any_covariance(float out[6])
{
    double A[9] = {0};
    const double size = pow(10.0, -real(2.5, 5.0));
    for (int n = 0; n < 4; n++) {
        double v[3];
        for (int k = 0; k < 3; k++) v[k] = size * normal();
        for (int i = 0; i < 9; i++) A[i] += v[i / 3] * v[i % 3];
    }
    for (int r = 0, i = 0; r < 3; r++)
        for (int c = r; c < 3; c++, i++) out[i] = (float)A[3 * r + c];
}

/** Squared Mahalanobis distance by Cramer's rule. C: upper triangle by rows. */
static double distance2(const double w[3], const double C[6])
{
    const double S[3][3] = {{C[0], C[1], C[2]}, {C[1], C[3], C[4]}, {C[2], C[4], C[5]}};
    double y[3], column[3][3], inverse[3];
    for (int i = 0; i < 3; i++) cross(S[(i + 1) % 3], S[(i + 2) % 3], column[i]);
    for (int k = 0; k < 3; k++) y[k] = w[0] * column[0][k] + w[1] * column[1][k] + w[2] * column[2][k];
    for (int k = 0; k < 3; k++) inverse[k] = y[k] / dot(S[0], column[0]);
    return dot(w, inverse);
}

/** Two rotations contradict from the chi-square bound on, with the deviation that is added to both covariances. */
static void bound_between_motions(void **state)
{
    (void)state;
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side <= 1; side++) {
            double off[3] = {0, 0, 0};
            off[axis] = (side ? 1.01 : 0.99) * sqrt(30.66 * (1e-6 + 2.0 * 1e-4 * 1e-4));
            const vfront_motion_t relative = motion_of(none, ahead, 0.01, 1e-4),
                                  metric = motion_of(off, metre, 0.01, 1e-4);
            assert_int_equal(vf_motion_check_motions_differ(&relative, &metric), side);
        }
}

/** Random pairs of motions, and motions and priors, against the rule in double precision. */
static void random_contradictions(void **state)
{
    int differ = 0, near_bound = 0;
    (void)state;
    shake(5);
    for (int n = 0; n < 20000; n++) {
        double w[2][3], C[6], D[9], exact[2][9], size = pow(10.0, -real(1.0, 4.0));
        for (int k = 0; k < 3; k++) {
            w[0][k] = real(-0.1, 0.1);
            w[1][k] = w[0][k] + real(-size, size);
        }
        vfront_motion_t a = motion_of(w[0], ahead, 0.01, 0.0), b = motion_of(w[1], metre, 0.01, 0.0);
        any_covariance(a.covariance + 15);
        any_covariance(b.covariance + 15);
        for (int i = 0; i < 6; i++) C[i] = (double)a.covariance[15 + i] + (double)b.covariance[15 + i];
        for (int i = 0; i < 2; i++) rotation_of(w[i], exact[i]);
        product(exact[0], exact[1], 1, D);
        const double sine[3] = {(D[7] - D[5]) / 2, (D[2] - D[6]) / 2, (D[3] - D[1]) / 2}, d2 = distance2(sine, C);
        const int expected = d2 > 30.66;
        if (fabs(d2 / 30.66 - 1.0) < 0.05) {
            near_bound++;
            continue;
        }
        differ += expected;
        struct vf_params prior = prior_of(w[1], 0.0);
        memcpy(prior.rotation_covariance, b.covariance + 15, sizeof prior.rotation_covariance);
        REQUIRE(vf_motion_check_rotations_differ(a.R, a.covariance + 15, b.R, b.covariance + 15, 0.0f) == expected,
                "pair %d: %g", n, d2);
        REQUIRE(vf_motion_check_prior_differs(&a, &prior) == expected, "prior %d: %g", n, d2);
    }
    assert_true(differ > 1000 && differ < 19000 && near_bound < 4000);
}

/** Differences up to half a turn are exact rotation vectors: their angle to single precision, their direction to that
 *  over the sine of the angle. Half a turn, whose sine is 0, is a difference too. */
static void large_differences(void **state)
{
    (void)state;
    shake(17);
    for (int run = 0; run < 2000; run++) {
        const double angle = real(0, 3.14159), turn[3] = {normal(), normal(), normal()};
        double axis[3], w[3], R[9], S[9], T[9], off = 0;
        float A[9], B[9], d[3];
        any_direction(axis);
        for (int k = 0; k < 3; k++) w[k] = angle * axis[k];
        rotation_of(w, R);
        rotation_of(turn, S);
        product(R, S, 0, T);
        for (int k = 0; k < 9; k++) A[k] = (float)T[k], B[k] = (float)S[k];
        vf_motion_check_difference(A, B, d);
        for (int k = 0; k < 3; k++) off += pow((double)d[k] - w[k], 2);
        REQUIRE(fabs(sqrt((double)vf_dot(d, d)) - angle) < 1e-6, "angle %g", angle);
        REQUIRE(sqrt(off) < 1e-6 * (1 + angle / sin(angle)), "angle %g: off by %g", angle, sqrt(off));
    }
    for (double angle = 0.05; angle <= 3.1415; angle += 0.05) {
        const double w[3] = {0.0, angle, 0.0};
        const vfront_motion_t a = motion_of(none, ahead, 0.01, 1e-4), b = motion_of(w, metre, 0.01, 1e-4);
        assert_true(vf_motion_check_rotations_differ(a.R, a.covariance + 15, b.R, b.covariance + 15, 0.0f));
    }
}

static void directions(void **state)
{
    static const struct {
        double t[3], sigma_t;
        uint32_t flags;
        int differ;
    } variant[] = {
        {{0.02, 0, 0.5}, 0.002, 0, 0},                     /* 0.04 rad aside */
        {{0.1, 0, 0.5}, 0.002, 0, 1},                      /* 0.2 rad */
        {{0, 0, -0.5}, 0.002, 0, 1},                       /* backwards */
        {{0.1, 0, 0.5}, 0.05, 0, 0},                       /* within its deviation */
        {{0.5, 0, 0}, 0.1, 0, 0},                          /* translation within its standard deviation */
        {{0.1, 0, 0.5}, 0.002, VFRONT_MOTION_PLANE, 0},    /* the relative one is ambiguous */
        {{0.1, 0, 0.5}, 0.002, VFRONT_MOTION_PARALLAX, 0}, /* or weak */
        {{0.1, 0, 0.5}, 0.002, VFRONT_MOTION_STILL, 0},    /* or none */
    };
    (void)state;
    for (size_t i = 0; i < sizeof variant / sizeof *variant; i++) {
        vfront_motion_t relative = motion_of(none, ahead, 0.01, 1e-4),
                        metric = motion_of(none, variant[i].t, variant[i].sigma_t, 1e-4);
        relative.flags = variant[i].flags;
        REQUIRE(vf_motion_check_directions_differ(&relative, &metric) == variant[i].differ, "line %zu", i);
    }
}

/** Shares of inliers by hand: sixteen motions give the running mean; a share below 40 % of it is invalidated; a lasting
 *  change is followed. */
static void shares_of_inliers(void **state)
{
    struct vf_mean_share running_means = {0, 0};
    vfront_motion_t m;
    int invalidated = 0;
    (void)state;
    for (int i = 0; i < 16; i++) {
        m = motion_of(none, ahead, 0.01, 1e-4);
        m.inliers = i < 15 ? 320 : 100; /* of 400: no running mean before 16 motions */
        running_means = vf_motion_check_share(&m, &running_means);
        assert_int_equal(m.state, VFRONT_MOTION_GOOD);
    }
    for (int i = 0; i < 200; i++) {
        m = motion_of(none, ahead, 0.01, 1e-4);
        m.inliers = 100;
        running_means = vf_motion_check_share(&m, &running_means);
        if (m.state == VFRONT_MOTION_GOOD) break;
        is_invalidated(&m, VFRONT_MOTION_OUTLIERS);
        invalidated++;
    }
    REQUIRE(invalidated > 10 && invalidated < 100, "%d motions withdrawn", invalidated);
    m = motion_of(none, ahead, 0.01, 1e-4);
    m.state = VFRONT_MOTION_FEW;
    m.inliers = 0;
    const struct vf_mean_share before = running_means;
    running_means = vf_motion_check_share(&m, &running_means);
    assert_memory_equal(&running_means, &before, sizeof running_means);
}

/* ---- sequences --------------------------------------------------------------------------------------------------- */

/** Flight of frames 50 ms apart through vf_motion_check_assess(). */
static struct {
    struct vf_params params;
    struct vf_running_means running_means[2];
    vfront_motion_t relative, metric;
    double sigma_rad; /* of both motions' rotation about each axis */
    uint64_t n;
} flight;

static void begin_flight(void)
{
    memset(&flight, 0, sizeof flight);
    flight.params.t_ns = 1000000000;
    flight.params.dt_ns = 50000000;
    flight.sigma_rad = 1e-5;
}

/** One frame: rotation w and translation t of the images, rotation of the prior; NULL: none. Returns the flags of the
 *  metric motion if it was invalidated, else 0. */
static uint32_t fly(const double w[3], const double t[3], const double *prior, uint32_t repeated, double jump)
{
    const struct vf_motion_check_input input = {&flight.params, repeated, (float)jump};
    flight.params.frame = flight.n;
    flight.params.t_ns += 50000000;
    flight.params.rotation_given = prior != NULL;
    for (int k = 0; k < 6; k++) flight.params.rotation_covariance[k] = k == 0 || k == 3 || k == 5 ? 1e-6f : 0.0f;
    single_rotation(prior ? prior : none, flight.params.R);
    const double length = sqrt(t[0] * t[0] + t[1] * t[1] + t[2] * t[2]),
                 along[3] = {length > 0 ? t[0] / length : 0, 0, length > 0 ? t[2] / length : 1};
    flight.relative = motion_of(w, along, 0.01, flight.sigma_rad);
    flight.metric = motion_of(w, t, 1e-4, flight.sigma_rad);
    vf_motion_check_assess(&input, &flight.relative, &flight.metric, &flight.running_means[flight.n % 2],
                           &flight.running_means[1 - flight.n % 2]);
    flight.n++;
    if (flight.metric.state == VFRONT_MOTION_GOOD) return 0;
    assert_int_equal(flight.metric.state, VFRONT_MOTION_UNSURE);
    return flight.metric.flags;
}

/** One of two motions contradicts the prior: only that one is invalidated, and no motion of the next frame. */
static void other_motion_keeps_the_prior(void **state)
{
    const double off[3] = {0, 0.02, 0};
    const struct vf_motion_check_input input = {&flight.params, 0, 0};
    (void)state;
    begin_flight();
    for (int i = 0; i < 30; i++) {
        assert_int_equal(fly(none, metre, none, 0, 0), 0);
        if (i != 20) continue;
        flight.params.frame = flight.n;
        flight.relative = motion_of(off, ahead, 0.01, 1e-5);
        flight.metric = motion_of(none, metre, 1e-4, 1e-5);
        vf_motion_check_assess(&input, &flight.relative, &flight.metric, &flight.running_means[flight.n % 2],
                               &flight.running_means[1 - flight.n % 2]);
        flight.n++;
        is_invalidated(&flight.relative, VFRONT_MOTION_CONTRADICTS | VFRONT_MOTION_PRIOR);
        assert_int_equal(flight.metric.state, VFRONT_MOTION_GOOD);
    }
}

/** Images three frames late from frame 10 on, and timely again from `end` on: motions of frames 10 to `end` are
 *  invalidated. By translation, and by rotation alone. A stationary camera shows nothing, so that 64 frames pass. */
static void late_pictures(void **state)
{
    static const struct {
        double speed, turn;
        int end, invalidated;
    } variant[] = {{0.05, 0, 20, 11}, {0, 0.02, 20, 11}, {0.05, 0.02, 13, 4}, {0, 0, 20, 66}, {0.05, 0, 200, 66}};
    (void)state;
    for (size_t n = 0; n < sizeof variant / sizeof *variant; n++) {
        int invalidated = 0;
        begin_flight();
        for (int i = 0; i < 150; i++) {
            const double times = i == 10               ? -2
                                 : i == variant[n].end ? 4
                                                       : 1,
                         w[3] = {0, variant[n].turn * times, 0}, t[3] = {0, 0, variant[n].speed * times};
            const uint32_t flags = fly(w, t, NULL, i >= 10 && i < 13 ? 3 : 0, 0),
                           late = flight.running_means[(flight.n - 1) % 2].late;
            assert_true(!flags || flags == VFRONT_MOTION_LATE);
            assert_true(flags == (i >= 10 && i < 10 + variant[n].invalidated ? (uint32_t)VFRONT_MOTION_LATE : 0u));
            assert_true(late == 0 || late == 3);
            invalidated += flags != 0;
            if (flags) is_invalidated(&flight.relative, VFRONT_MOTION_LATE);
        }
        assert_int_equal(invalidated, variant[n].invalidated);
    }
}

/** Rates of late images are of another time, and are not compared with those of the samples. late: number of frames; 0:
 *  the same images, not known to be late. */
static void late_rates(void **state)
{
    (void)state;
    for (int late = 0; late <= 3; late += 3) {
        uint32_t reported = 0;
        begin_flight();
        for (int i = 0; i < 90; i++) {
            const int fault = i >= 40 && i < 70, then = fault ? i + 17 : i;
            const double w[3] = {0.03 * sin(0.4 * then), 0.03 * sin(0.9 * then), 0}, t[3] = {0, 0, 0.05};
            flight.params.rate_known = 1;
            flight.params.rate_radps[0] = (float)(0.03 * sin(0.4 * i) / 0.05);
            flight.params.rate_radps[1] = (float)(0.03 * sin(0.9 * i) / 0.05);
            (void)fly(w, t, NULL, fault ? (uint32_t)late : 0, 0);
            reported |= flight.running_means[(flight.n - 1) % 2].rates.reported;
        }
        assert_int_equal(reported, late ? 0 : VFRONT_IMU_AXES);
    }
}

/** A rate that the images do not know to 0.1 rad/s, over three axes, is not compared with that of the samples. */
static void vague_rates(void **state)
{
    (void)state;
    for (int vague = 0; vague < 2; vague++) {
        begin_flight();
        flight.params.rate_known = 1;
        flight.sigma_rad = 0.1 * 0.05 / sqrt(3.0) * (vague ? 1.01 : 0.99);
        (void)fly(none, metre, NULL, 0, 0);
        assert_int_equal(flight.running_means[0].rates.known & 1, !vague);
    }
}

/** Acceleration between frames, by default 50 m/s^2 times 50 ms times 50 ms, 0.125 m: a single wrong motion is
 *  invalidated; of two, the first, and the motion back. A rotation of the camera is no acceleration. */
static void jumps(void **state)
{
    (void)state;
    for (int length = 1; length <= 2; length++)
        for (int side = -1; side <= 1; side += 2) {
            begin_flight();
            for (int i = 0; i < 20; i++) {
                const int off = i >= 10 && i < 10 + length;
                const double size = length == 2 && side > 0 ? 0.4 : 0.126 + 0.015 * side;
                const double t[3] = {0.3 * cos(0.2 * i), 0, 0.3 * sin(0.2 * i) + (off ? size : 0)}, w[3] = {0, -0.2, 0};
                const uint32_t flags = fly(w, t, NULL, 0, 50);
                const int wanted = side > 0 && (i == 10 || (length == 2 && i == 12));
                REQUIRE(flags == (wanted ? VFRONT_MOTION_JUMP : 0u), "length %d, side %d: flags %u in frame %d", length,
                        side, flags, i);
                assert_int_equal(flight.relative.state, VFRONT_MOTION_GOOD);
            }
        }
}

/** Running means restart in frame 0. */
static void frames(void **state)
{
    const double w[3] = {0.0, 0.1, 0.0};
    struct vf_params params;
    struct vf_running_means running_means[2];
    const struct vf_motion_check_input input = {&params, 0, 0};
    (void)state;
    memset(&params, 0, sizeof params);
    memset(running_means, 0x11, sizeof running_means);
    single_rotation(none, params.R);
    for (int i = 0; i < 4; i++) {
        vfront_motion_t relative = motion_of(w, ahead, 0.01, 1e-4), metric = motion_of(w, metre, 0.002, 1e-4);
        params.frame = i == 3 ? 0 : (uint64_t)i;
        vf_motion_check_assess(&input, &relative, &metric, &running_means[i % 2], &running_means[1 - i % 2]);
        assert_int_equal(running_means[i % 2].share[0].frames, i == 3 ? 1 : i + 1);
        assert_int_equal(relative.state, VFRONT_MOTION_GOOD);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agreeing_motions_stay),
        cmocka_unit_test(weaker_motion_is_invalidated),
        cmocka_unit_test(wide_motion_is_weaker),
        cmocka_unit_test(prior_decides),
        cmocka_unit_test(threshold),
        cmocka_unit_test(bounds_of_the_prior),
        cmocka_unit_test(bound_between_motions),
        cmocka_unit_test(random_contradictions),
        cmocka_unit_test(large_differences),
        cmocka_unit_test(directions),
        cmocka_unit_test(shares_of_inliers),
        cmocka_unit_test(frames),
        cmocka_unit_test(other_motion_keeps_the_prior),
        cmocka_unit_test(late_pictures),
        cmocka_unit_test(late_rates),
        cmocka_unit_test(vague_rates),
        cmocka_unit_test(jumps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    puts("[  SKIPPED ] 1 test(s), no motions in this config");
    return 77;
}
#endif
