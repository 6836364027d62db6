/* SPDX-License-Identifier: MIT */
/* ego, agreement: motions that contradict one another or the rotation prior, by hand and against a comparison in double
 * precision; shares of inliers. */
#include "tests/fixture/rigid.h"
#include "tests/fixture/stage.h"

#include "geometry/ego_agreement.h"

#if VFRONT_EGO

/* ---- motions ----------------------------------------------------------------------------------------------------- */

/** Rotation by w [rad], in single precision. */
static void single_rotation(const double w[3], float R[9])
{
    double exact[9];
    rotation_of(w, exact);
    for (int i = 0; i < 9; i++) R[i] = (float)exact[i];
}

/** Good motion; deviations of each component of its translation and rotation. */
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

static void is_withdrawn(const vfront_motion_t *m, uint32_t flags)
{
    assert_int_equal(m->state, VFRONT_MOTION_UNSURE);
    assert_int_equal(m->flags, flags);
    for (int i = 0; i < 9; i++) assert_true(m->R[i] == (i % 4 == 0 ? 1.0f : 0.0f));
    for (int i = 0; i < 3; i++) assert_true(m->t[i] == 0.0f);
    for (int i = 0; i < 21; i++) assert_true(m->covariance[i] == 0.0f);
    assert_true(m->rms_px == 0.0f && m->parallax_px == 0.0f && m->others == 0 && m->pairs == 400);
}

/** Prior of a rotation by w, after one by `before`. */
static struct vf_prior prior_of(const double w[3], const double before[3], float R[9])
{
    const float turn[3] = {(float)w[0], (float)w[1], (float)w[2]},
                was[3] = {(float)before[0], (float)before[1], (float)before[2]};
    single_rotation(w, R);
    const struct vf_usual_prior unknown = {0, 0, 0, {0, 0, 0}, 0, 0};
    return vf_agreement_prior(R, turn, was, &unknown, 0.05f);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void agreeing_motions_stay(void **state)
{
    (void)state;
    const double w[3] = {0.01, -0.03, 0.02};
    float R[9];
    const struct vf_prior prior = prior_of(w, w, R);
    vfront_motion_t relative = motion_of(w, ahead, 0.01, 1e-4), metric = motion_of(w, metre, 0.002, 1e-4);
    const vfront_motion_t was[2] = {relative, metric};
    for (int with_prior = 0; with_prior < 2; with_prior++) {
        vf_agreement_compare(with_prior ? &prior : NULL, &relative, &metric);
        assert_memory_equal(&relative, &was[0], sizeof relative);
        assert_memory_equal(&metric, &was[1], sizeof metric);
    }
}

/** The metric rotation is off by 20 mrad: whose share of inliers is the smaller one is withdrawn. */
static void weaker_motion_is_withdrawn(void **state)
{
    (void)state;
    const double off[3] = {0.0, 0.02, 0.0};
    for (uint32_t inliers = 299; inliers <= 301; inliers++) {
        vfront_motion_t relative = motion_of(none, ahead, 0.01, 1e-4), metric = motion_of(off, metre, 0.002, 1e-4);
        relative.inliers = inliers;
        vf_agreement_compare(NULL, &relative, &metric);
        if (inliers < 300) is_withdrawn(&relative, VFRONT_MOTION_CONTRADICTS);
        if (inliers >= 300) is_withdrawn(&metric, VFRONT_MOTION_CONTRADICTS);
        const vfront_motion_t *other = inliers < 300 ? &metric : &relative;
        assert_true(other->state == VFRONT_MOTION_GOOD && other->flags == VFRONT_MOTION_CONTRADICTS);
    }
}

/** A metric motion of the wide bound is the weaker one, however many its inliers; it is held against the usual share,
 *  and does not change it. */
static void wide_motion_is_weaker(void **state)
{
    (void)state;
    const double off[3] = {0.0, 0.02, 0.0};
    vfront_motion_t relative = motion_of(none, ahead, 0.01, 1e-4), metric = motion_of(off, metre, 0.002, 1e-4);
    relative.inliers = 100;
    metric.flags = VFRONT_MOTION_WIDE;
    vf_agreement_compare(NULL, &relative, &metric);
    is_withdrawn(&metric, VFRONT_MOTION_CONTRADICTS);
    assert_int_equal(relative.state, VFRONT_MOTION_GOOD);
    const struct vf_usual_share usual = {16, 800 << 8};
    for (uint32_t inliers = 127; inliers <= 128; inliers++) { /* 40 % of 800 permille of 400 */
        metric = motion_of(none, metre, 0.002, 1e-4);
        metric.flags = VFRONT_MOTION_WIDE;
        metric.inliers = inliers;
        const struct vf_usual_share after = vf_agreement_share(&metric, &usual);
        assert_memory_equal(&after, &usual, sizeof usual);
        if (inliers == 127) is_withdrawn(&metric, VFRONT_MOTION_OUTLIERS);
        if (inliers == 128) assert_true(metric.state == VFRONT_MOTION_GOOD && metric.flags == VFRONT_MOTION_WIDE);
    }
}

static void prior_decides(void **state)
{
    (void)state;
    const double off[3] = {0.0, 0.02, 0.0};
    float R[9];
    const struct vf_prior prior = prior_of(none, none, R);
    vfront_motion_t relative = motion_of(none, ahead, 0.01, 1e-4), metric = motion_of(off, metre, 0.002, 1e-4);
    relative.inliers = 100; /* fewer, but the prior says it is right */
    vf_agreement_compare(&prior, &relative, &metric);
    is_withdrawn(&metric, VFRONT_MOTION_CONTRADICTS | VFRONT_MOTION_PRIOR);
    assert_int_equal(relative.state, VFRONT_MOTION_GOOD);
    relative = motion_of(off, ahead, 0.01, 1e-4), metric = motion_of(off, metre, 0.002, 1e-4);
    vf_agreement_compare(&prior, &relative, &metric); /* both contradict it and agree */
    is_withdrawn(&relative, VFRONT_MOTION_PRIOR);
    is_withdrawn(&metric, VFRONT_MOTION_PRIOR);
}

/** Bounds of the prior: 5 mrad, 5 % of its angle, a quarter of its change, 5 sigma. */
static void bounds_of_the_prior(void **state)
{
    static const struct {
        double turn, before, sigma_rad, bound;
    } way[] = {{0.0, 0.0, 0.0, 5e-3},
               {0.2, 0.2, 0.0, 0.0111803},  /* sqrt(0.005^2 + 0.01^2) */
               {0.02, 0.0, 0.0, 0.0071414}, /* sqrt(0.005^2 + 0.001^2 + 0.005^2) */
               {0.0, 0.0, 1e-3, 0.01}};     /* sqrt(0.005^2 + 3 * 0.005^2) */
    (void)state;
    for (size_t i = 0; i < sizeof way / sizeof *way; i++)
        for (int side = -1; side <= 1; side += 2) {
            float R[9];
            const double turn[3] = {way[i].turn, 0, 0}, before[3] = {way[i].before, 0, 0},
                         seen[3] = {way[i].turn + way[i].bound * (1.0 + 0.01 * side), 0, 0};
            const struct vf_prior prior = prior_of(turn, before, R);
            const vfront_motion_t m = motion_of(seen, ahead, 0.01, way[i].sigma_rad);
            REQUIRE(vf_agreement_prior_differs(&m, &prior) == (side > 0), "line %zu, side %d", i, side);
        }
}

/** Random pairs of motions against the rule in double precision. */
static void random_contradictions(void **state)
{
    int differ = 0, near_bound = 0;
    (void)state;
    shake(5);
    for (int n = 0; n < 20000; n++) {
        double w[2][3], sigma[2], angle2 = 0.0;
        const double size = pow(10.0, -real(1.0, 4.0));
        for (int k = 0; k < 3; k++) {
            w[0][k] = real(-0.1, 0.1);
            w[1][k] = w[0][k] + real(-size, size);
        }
        for (int i = 0; i < 2; i++) sigma[i] = pow(10.0, -real(2.5, 5.0));
        const vfront_motion_t a = motion_of(w[0], ahead, 0.01, sigma[0]), b = motion_of(w[1], metre, 0.01, sigma[1]);
        double trace = 0.0;
        for (int k = 0; k < 9; k++) trace += (double)a.R[k] * (double)b.R[k];
        angle2 = pow(acos(fmin(1.0, (trace - 1.0) / 2.0)), 2.0);
        const double bound2 = 25.0 * (3.0 * (sigma[0] * sigma[0] + sigma[1] * sigma[1]) + 1e-6);
        if (fabs(angle2 / bound2 - 1.0) < 0.05) {
            near_bound++;
            continue;
        }
        differ += angle2 > bound2;
        REQUIRE(vf_agreement_rotations_differ(&a, &b) == (angle2 > bound2), "pair %d: %g of %g", n, angle2, bound2);
    }
    assert_true(differ > 1000 && differ < 19000 && near_bound < 4000);
}

/** A large difference is one, too: half a turn has no sine. */
static void large_differences(void **state)
{
    (void)state;
    for (double angle = 0.05; angle <= 3.1415; angle += 0.05) {
        const double w[3] = {0.0, angle, 0.0};
        const vfront_motion_t a = motion_of(none, ahead, 0.01, 1e-4), b = motion_of(w, metre, 0.01, 1e-4);
        assert_true(vf_agreement_rotations_differ(&a, &b));
    }
}

static void directions(void **state)
{
    static const struct {
        double t[3], sigma_t;
        uint32_t flags;
        int differ;
    } way[] = {
        {{0.02, 0, 0.5}, 0.002, 0, 0},                     /* 0.04 rad aside */
        {{0.1, 0, 0.5}, 0.002, 0, 1},                      /* 0.2 rad */
        {{0, 0, -0.5}, 0.002, 0, 1},                       /* backwards */
        {{0.1, 0, 0.5}, 0.05, 0, 0},                       /* within its deviation */
        {{0.5, 0, 0}, 0.1, 0, 0},                          /* no translation beyond its deviation */
        {{0.1, 0, 0.5}, 0.002, VFRONT_MOTION_PLANE, 0},    /* the relative one is ambiguous */
        {{0.1, 0, 0.5}, 0.002, VFRONT_MOTION_PARALLAX, 0}, /* or weak */
        {{0.1, 0, 0.5}, 0.002, VFRONT_MOTION_STILL, 0},    /* or none */
    };
    (void)state;
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        vfront_motion_t relative = motion_of(none, ahead, 0.01, 1e-4),
                        metric = motion_of(none, way[i].t, way[i].sigma_t, 1e-4);
        relative.flags = way[i].flags;
        REQUIRE(vf_agreement_directions_differ(&relative, &metric) == way[i].differ, "line %zu", i);
    }
}

/** Shares of inliers by hand: sixteen motions make the usual share; one of less than 40 % of it is withdrawn; a lasting
 *  change is followed. */
static void shares_of_inliers(void **state)
{
    struct vf_usual_share usual = {0, 0};
    vfront_motion_t m;
    int withdrawn = 0;
    (void)state;
    for (int i = 0; i < 16; i++) {
        m = motion_of(none, ahead, 0.01, 1e-4);
        m.inliers = i < 15 ? 320 : 100; /* of 400: nothing is usual before there are 16 */
        usual = vf_agreement_share(&m, &usual);
        assert_int_equal(m.state, VFRONT_MOTION_GOOD);
    }
    for (int i = 0; i < 200; i++) {
        m = motion_of(none, ahead, 0.01, 1e-4);
        m.inliers = 100;
        usual = vf_agreement_share(&m, &usual);
        if (m.state == VFRONT_MOTION_GOOD) break;
        is_withdrawn(&m, VFRONT_MOTION_OUTLIERS);
        withdrawn++;
    }
    REQUIRE(withdrawn > 10 && withdrawn < 100, "%d motions withdrawn", withdrawn);
    m = motion_of(none, ahead, 0.01, 1e-4);
    m.state = VFRONT_MOTION_FEW;
    m.inliers = 0;
    const struct vf_usual_share before = usual;
    usual = vf_agreement_share(&m, &usual);
    assert_memory_equal(&usual, &before, sizeof usual);
}

/* ---- steps in a row ---------------------------------------------------------------------------------------------- */

/** A flight of frames 50 ms apart through vf_agreement_assess(). */
static struct {
    struct vf_params params;
    struct vf_usual usual[2];
    vfront_motion_t relative, metric;
    uint64_t n;
} flight;

static void begin_flight(void)
{
    memset(&flight, 0, sizeof flight);
    flight.params.t_ns = 1000000000;
    flight.params.dt_ns = 50000000;
}

/** A step: rotation w and translation t of the pictures, rotation of the prior; NULL: none. Returns the flags of the
 *  metric motion if it was withdrawn, else 0. */
static uint32_t fly(const double w[3], const double t[3], const double *prior, uint32_t repeated, double jump)
{
    const struct vf_agreement_input input = {&flight.params, repeated, (float)jump};
    flight.params.frame = flight.n;
    flight.params.t_ns += 50000000;
    flight.params.rotation_given = prior != NULL;
    single_rotation(prior ? prior : none, flight.params.R);
    const double length = sqrt(t[0] * t[0] + t[1] * t[1] + t[2] * t[2]),
                 along[3] = {length > 0 ? t[0] / length : 0, 0, length > 0 ? t[2] / length : 1};
    flight.relative = motion_of(w, along, 0.01, 1e-5);
    flight.metric = motion_of(w, t, 1e-4, 1e-5);
    vf_agreement_assess(&input, &flight.relative, &flight.metric, &flight.usual[flight.n % 2],
                        &flight.usual[1 - flight.n % 2]);
    flight.n++;
    if (flight.metric.state == VFRONT_MOTION_GOOD) return 0;
    assert_int_equal(flight.metric.state, VFRONT_MOTION_UNSURE);
    return flight.metric.flags;
}

/** A gyro with a bias of 3 mrad a frame and noise: known after 16 frames. From then on a motion is withdrawn that is
 *  off by less than the general bound, and the one behind it; a gyro whose bias has changed is believed again in the
 *  end. */
static void usual_difference_to_the_prior(void **state)
{
    (void)state;
    shake(12);
    for (int off_at = 10; off_at <= 40; off_at += 30) {
        begin_flight();
        for (int i = 0; i < 60; i++) {
            const double off = i == off_at ? 1.5e-3 : 0.0, w[3] = {0.01, 0.02 * sin(0.2 * i), 0.005},
                         prior[3] = {w[0] + 3e-3 + off + real(-5e-5, 5e-5), w[1] + real(-5e-5, 5e-5), w[2]};
            const uint32_t flags = fly(w, metre, prior, 0, 0), wanted = off_at > 16 && i >= off_at && i <= off_at + 1;
            REQUIRE(flags == (wanted ? VFRONT_MOTION_PRIOR : 0u), "off in frame %d: flags %u in frame %d", off_at,
                    flags, i);
            if (flags) is_withdrawn(&flight.relative, VFRONT_MOTION_PRIOR);
        }
    }
    const struct vf_usual_prior *u = &flight.usual[(flight.n - 1) % 2].prior;
    assert_true(fabs((double)u->rate_radps[0] + 3e-3 / 0.05) < 1e-3 && (double)u->square < 1e-8 && u->frames == 16);
    int withdrawn = 0;
    for (int i = 0; i < 80; i++) {
        const double prior[3] = {1e-3, 0, 0};
        withdrawn += fly(none, metre, prior, 0, 0) != 0;
    }
    assert_int_equal(withdrawn, 64);
}

/** One of two motions contradicts the prior: nothing is wrong with that, and the next frame is not in doubt. */
static void other_motion_keeps_the_prior(void **state)
{
    const double off[3] = {0, 0.02, 0};
    const struct vf_agreement_input input = {&flight.params, 0, 0};
    (void)state;
    begin_flight();
    for (int i = 0; i < 30; i++) {
        assert_int_equal(fly(none, metre, none, 0, 0), 0);
        if (i != 20) continue;
        flight.params.frame = flight.n;
        flight.relative = motion_of(off, ahead, 0.01, 1e-5);
        flight.metric = motion_of(none, metre, 1e-4, 1e-5);
        vf_agreement_assess(&input, &flight.relative, &flight.metric, &flight.usual[flight.n % 2],
                            &flight.usual[1 - flight.n % 2]);
        flight.n++;
        is_withdrawn(&flight.relative, VFRONT_MOTION_CONTRADICTS | VFRONT_MOTION_PRIOR);
        assert_int_equal(flight.metric.state, VFRONT_MOTION_GOOD);
    }
}

/** Pictures three frames late from frame 10 on, and timely again from `end` on: motions of frames 10 to `end` are
 *  withdrawn. By translation, by rotation alone; at rest nothing tells, and 64 frames are waited. */
static void late_pictures(void **state)
{
    static const struct {
        double speed, turn;
        int end, withdrawn;
    } way[] = {{0.05, 0, 20, 11}, {0, 0.02, 20, 11}, {0.05, 0.02, 13, 4}, {0, 0, 20, 66}, {0.05, 0, 200, 66}};
    (void)state;
    for (size_t n = 0; n < sizeof way / sizeof *way; n++) {
        int withdrawn = 0;
        begin_flight();
        for (int i = 0; i < 150; i++) {
            const double times = i == 10           ? -2
                                 : i == way[n].end ? 4
                                                   : 1,
                         w[3] = {0, way[n].turn * times, 0}, t[3] = {0, 0, way[n].speed * times};
            const uint32_t flags = fly(w, t, NULL, i >= 10 && i < 13 ? 3 : 0, 0),
                           late = flight.usual[(flight.n - 1) % 2].late;
            assert_true(!flags || flags == VFRONT_MOTION_LATE);
            assert_true(flags == (i >= 10 && i < 10 + way[n].withdrawn ? (uint32_t)VFRONT_MOTION_LATE : 0u));
            assert_true(late == 0 || late == 3);
            withdrawn += flags != 0;
            if (flags) is_withdrawn(&flight.relative, VFRONT_MOTION_LATE);
        }
        assert_int_equal(withdrawn, way[n].withdrawn);
    }
}

/** Rates of pictures that are late are of another time: not held against those of the readings. late: by how many
 *  frames they are; 0: the same pictures, not known to be late. */
static void late_rates(void **state)
{
    (void)state;
    for (int late = 0; late <= 3; late += 3) {
        uint32_t said = 0;
        begin_flight();
        for (int i = 0; i < 90; i++) {
            const int fault = i >= 40 && i < 70, then = fault ? i + 17 : i;
            const double w[3] = {0.03 * sin(0.4 * then), 0.03 * sin(0.9 * then), 0}, t[3] = {0, 0, 0.05};
            flight.params.rate_known = 1;
            flight.params.rate_radps[0] = (float)(0.03 * sin(0.4 * i) / 0.05);
            flight.params.rate_radps[1] = (float)(0.03 * sin(0.9 * i) / 0.05);
            (void)fly(w, t, NULL, fault ? (uint32_t)late : 0, 0);
            said |= flight.usual[(flight.n - 1) % 2].turns.said;
        }
        assert_int_equal(said, late ? 0 : VFRONT_IMU_AXES);
    }
}

/** Acceleration from one step to the next, by default 50 m/s^2 times 50 ms times 50 ms, 0.125 m: one motion that is off
 *  is withdrawn, of two the first, and that which goes back. A turn of the camera is no acceleration. */
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

/** Usual values begin anew in frame 0; the prior's rotation is kept for the next frame. */
static void frames(void **state)
{
    const double w[3] = {0.0, 0.1, 0.0};
    struct vf_params params;
    struct vf_usual usual[2];
    const struct vf_agreement_input input = {&params, 0, 0};
    (void)state;
    memset(&params, 0, sizeof params);
    memset(usual, 0x11, sizeof usual);
    single_rotation(none, params.R);
    for (int i = 0; i < 4; i++) {
        vfront_motion_t relative = motion_of(w, ahead, 0.01, 1e-4), metric = motion_of(w, metre, 0.002, 1e-4);
        params.frame = i == 3 ? 0 : (uint64_t)i;
        if (i == 1) single_rotation(w, params.R), params.rotation_given = 1;
        vf_agreement_assess(&input, &relative, &metric, &usual[i % 2], &usual[1 - i % 2]);
        assert_int_equal(usual[i % 2].share[0].frames, i == 3 ? 1 : i + 1);
        assert_int_equal(relative.state, VFRONT_MOTION_GOOD);
        assert_true(fabs((double)usual[i % 2].turn[1] - (i ? sin(0.1) : 0.0)) < 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agreeing_motions_stay),
        cmocka_unit_test(weaker_motion_is_withdrawn),
        cmocka_unit_test(wide_motion_is_weaker),
        cmocka_unit_test(prior_decides),
        cmocka_unit_test(bounds_of_the_prior),
        cmocka_unit_test(random_contradictions),
        cmocka_unit_test(large_differences),
        cmocka_unit_test(directions),
        cmocka_unit_test(shares_of_inliers),
        cmocka_unit_test(frames),
        cmocka_unit_test(usual_difference_to_the_prior),
        cmocka_unit_test(other_motion_keeps_the_prior),
        cmocka_unit_test(late_pictures),
        cmocka_unit_test(late_rates),
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
