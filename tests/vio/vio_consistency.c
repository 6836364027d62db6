/* SPDX-License-Identifier: MIT */
/* Consistency test of the estimator, and information kept when the images end: gate level against its rule by counting;
 * simulated flights with a moving object and with images that end while all tracks are old; monocular rotation in
 * place, where the range prior must not determine the velocity. */
#include "simulation_vio.h"

/** The gate level is the lowest one that 1/4 of all observations, and at least eight, are within. Above the highest
 *  level there is no gate. */
static void level(void **state)
{
    (void)state;
    for (int run = 0; run < 20000; run++) {
        uint32_t within[VF_CONSISTENCY_LEVELS] = {0}, tested = (uint32_t)(257 * real(0, 1));
        double square[256], want = 0.0;
        const double size = exp(14 * real(0, 1) - 8);
        for (uint32_t i = 0; i < tested; i++) {
            square[i] = size * exp(4 * real(0, 1));
            double most = 1.0 / 64;
            for (int k = 0; k < VF_CONSISTENCY_LEVELS; k++, most *= 2) within[k] += square[i] <= most;
        }
        for (int k = VF_CONSISTENCY_LEVELS - 1; k >= 0; k--) {
            uint32_t count = 0;
            const double most = ldexp(1.0, k - 6);
            for (uint32_t i = 0; i < tested; i++) count += square[i] <= most;
            if (count >= 8 && count >= 0.25 * tested) want = 16 * most;
        }
        want = want > 16 ? 0 : want > 0 && want < 1 ? 1 : want;
        const double got = (double)vf_consistency_of(within, tested);
        REQUIRE(got == want, "gate %g, not %g, of %u observations\n", got, want, tested);
    }
}

/** 1 if the state reports a dispute after a frame with so many accepted and rejected observations. */
static int disputed(uint32_t taken, uint32_t refused)
{
    vfront_nav_t nav;
    vf_consistency_dispute(&window, taken, refused);
    vf_vio_nav(&window, &work, &nav);
    REQUIRE(nav.flags == 0 || nav.flags == VFRONT_NAV_DISPUTED, "flags %u\n", nav.flags);
    return nav.flags != 0;
}

/** A dispute starts with more than twice as many rejected as accepted observations, at least eight accepted. It
 *  continues regardless of the accepted number and ends 0.8 s after the last such frame. It does not start while
 *  samples are missing. */
static void dispute(void **state)
{
    (void)state;
    memset(&window, 0, sizeof window);
    window.slot[0].motion.dt_s = 0.1;
    window.rig.cameras = 1;
    assert_false(disputed(8, 150));
    window.rig.cameras = 2;
    assert_false(disputed(100, 200) || disputed(5, 10) || disputed(7, 150));
    window.slot[0].motion.flags = VFRONT_NAV_GAP;
    assert_false(disputed(8, 150));
    window.slot[0].motion.flags = 0;
    assert_true(disputed(8, 17));
    for (int i = 0; i < 20; i++) assert_true(disputed(0, 150));
    for (int i = 0; i < 7; i++) assert_true(disputed(100, 20));
    disputed(100, 20);
    assert_false(disputed(100, 20));
}

/** An observation is accepted from half a second after its landmark's first one. After three rejections the landmark is
 *  SPENT until it has agreed for half a second. */
static void trial(void **state)
{
    (void)state;
    struct vf_landmark *l = &window.landmark[0];
    memset(&window, 0, sizeof window);
    window.rig.cameras = 2;
    window.newest = 1;
    window.slot[0].t_ns = 1000000000u;
    l->observation[1].weight = 1.0f;
    window.slot[1].t_ns = 1499999999u;
    assert_int_equal(vf_consistency_decide(&window, l, 0.0f, 0.0f, 0.0f), VF_CONSISTENCY_ON_TRIAL);
    window.slot[1].t_ns = 1500000000u;
    assert_int_equal(vf_consistency_decide(&window, l, 0.0f, 0.0f, 0.0f), VF_CONSISTENCY_TAKEN);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(l->refused, i);
        assert_int_equal(vf_consistency_decide(&window, l, 1e6f, 0.0f, 0.0f), VF_CONSISTENCY_REFUSED);
    }
    assert_int_equal(vf_consistency_decide(&window, l, 0.0f, 0.0f, 0.0f), VF_CONSISTENCY_SPENT);
    window.slot[1].t_ns += 499999999u;
    assert_int_equal(vf_consistency_decide(&window, l, 0.0f, 0.0f, 0.0f), VF_CONSISTENCY_SPENT);
    assert_int_equal(vf_consistency_decide(&window, l, 1e6f, 0.0f, 0.0f), VF_CONSISTENCY_REFUSED);
    window.slot[1].t_ns += 1;
    assert_int_equal(vf_consistency_decide(&window, l, 0.0f, 0.0f, 0.0f), VF_CONSISTENCY_SPENT);
    window.slot[1].t_ns += 499999999u;
    assert_int_equal(vf_consistency_decide(&window, l, 0.0f, 0.0f, 0.0f), VF_CONSISTENCY_TAKEN);
    assert_int_equal(l->refused, 0);
}

/** During a dispute a gate is tighter, except for landmarks of a second and more without a rejection. */
static void steady(void **state)
{
    (void)state;
    struct vf_landmark *l = &window.landmark[0];
    for (int i = 0; i < 16; i++) {
        const int dispute = i & 1, young = i >> 1 & 1, refused = i >> 2 & 1, lately = i >> 3 & 1;
        memset(&window, 0, sizeof window);
        window.rig.cameras = 2;
        window.newest = 1;
        window.slot[0].t_ns = 1000000000u;
        window.slot[1].t_ns = 2000000000u - (uint64_t)young;
        window.dispute_s = dispute ? 0.5 : 0.0;
        l->observation[1].weight = 1.0f;
        l->refused = (uint32_t)refused;
        l->refused_ns = window.slot[1].t_ns - 500000000u + (uint64_t)lately;
        assert_int_equal(vf_consistency_decide(&window, l, 0.0f, 0.0f, 0.0f), VF_CONSISTENCY_TAKEN);
        const float own = vf_consistency_own(&window, l, 0.0f), wide = 9.0f * 2.25f, tight = 9.0f;
        assert_true(own == (dispute && (young || (refused && lately)) ? tight : wide));
    }
}

/** Moving-object decision for a frame: `old` landmarks past their trial, `close` of them near the prediction, the
 *  others on trial; `refused` of all, from the last one on. */
static uint32_t has_moving_object(int observations, int old, int close, int refused)
{
    memset(&window, 0, sizeof window);
    window.rig.cameras = 2;
    window.newest = 2;
    window.slot[0].t_ns = 1000000000u;
    window.slot[1].t_ns = 1500000000u;
    window.slot[2].t_ns = 1999999999u;
    for (int i = 0; i < VF_VIO_OBSERVATIONS; i++) {
        work.landmark_of[i] = i < observations ? i : -1;
        work.square[i] = i < observations ? i < close ? 4.0f : 4.1f : -1.0f;
        work.decision[i] = i < observations && i >= observations - refused
                               ? i % 2 ? VF_CONSISTENCY_REFUSED : VF_CONSISTENCY_SPENT
                               : VF_CONSISTENCY_TAKEN;
        window.landmark[i].anchor = i < old ? 0 : 1;
        window.landmark[i].refused = i >= observations - refused ? VF_CONSISTENCY_REFUSALS
                                                                 : VF_CONSISTENCY_REFUSALS - 1;
    }
    vf_consistency_least(&window, &work, VF_VIO_OBSERVATIONS);
    return window.moving_object;
}

/** A moving object is detected if at least eight and half of the old landmarks are close, and 1/4 of all observations
 *  is rejected. */
static void moving_objects(void **state)
{
    (void)state;
    assert_int_equal(has_moving_object(100, 40, 20, 25), 1);
    assert_int_equal(has_moving_object(100, 40, 20, 24), 0);
    assert_int_equal(has_moving_object(100, 40, 19, 25), 0);
    assert_int_equal(has_moving_object(40, 12, 8, 10), 1);
    assert_int_equal(has_moving_object(40, 12, 7, 10), 0);
    assert_int_equal(has_moving_object(100, 100, 38, 25), 1); /* SPENT ones are not old: 75 are */
    assert_int_equal(has_moving_object(100, 100, 37, 25), 0);
    window.slot[2].motion.flags = VFRONT_NAV_GAP;
    assert_true(has_moving_object(100, 40, 20, 25) == 1 && window.slot[2].motion.flags == 0);
    window.rig.cameras = 1;
    assert_int_equal(vf_consistency_moving_object(&window, &work), 0);
}

/** Order of slots for new landmarks: empty; ended tracks observed once or twice; landmarks on trial; other ended
 *  tracks, fewer frames first. Landmarks that the newest frame observes keep their slots, as do those that were
 *  rejected. */
static void slot_order(void **state)
{
    (void)state;
    static const uint32_t seen[4] = {0x1f, 0x7, 0x1, 0x3}; /* of ended tracks */
    memset(&window, 0, sizeof window);
    window.newest = 5;
    for (int i = 0; i < VF_VIO_OBSERVATIONS; i++) work.landmark_of[i] = i < 150 ? i : i % 2 ? -1 : -2;
    for (int i = 0; i < VF_VIO_LANDMARKS; i++) {
        window.landmark[i].id = i < 250 ? (uint32_t)i + 1 : 0;
        window.landmark[i].seen = i < 50 ? 0x21 : i < 150 ? 0x1 : i < 250 ? seen[i / 25 - 6] : 0;
        window.landmark[i].refused = i >= 100 && i < 150;
    }
    vf_vio_slot_order(&window, &work, VF_VIO_OBSERVATIONS);
    assert_int_equal(work.slots, 6 + 25 + 25 + 50 + 25 + 25);
    static const int first[6] = {250, 200, 225, 50, 175, 150}, from[7] = {0, 6, 31, 56, 106, 131, 156};
    for (int kind = 0; kind < 6; kind++)
        for (int i = from[kind]; i < from[kind + 1]; i++) assert_int_equal(work.order[i], first[kind] + i - from[kind]);
}

/** The first accepted observation of a landmark makes its earlier ones on trial count, unless their frame was
 *  dropped. */
static void tried(void **state)
{
    (void)state;
    struct vf_landmark *l = &window.landmark[0];
    memset(&window, 0, sizeof window);
    l->seen = 0x1;
    for (uint32_t f = 1; f < 5; f++) {
        l->seen |= 1u << f;
        vf_consistency_take(l, 1u << f, f == 3 ? VF_CONSISTENCY_REFUSED : VF_CONSISTENCY_ON_TRIAL,
                            VF_CONSISTENCY_ON_TRIAL);
        assert_int_equal(l->seen, 0x1);
    }
    assert_int_equal(l->tried, 0x16);
    l->id = 1;
    work.marg_frames = 0x2;
    work.marg_keyframe = -1;
    work.marg_state = 1;
    work.collapses = work.stationary.begins = 0;
    vf_vio_clear_dropped(&window, &work);
    l->seen |= 0x20;
    vf_consistency_take(l, 0x20, VF_CONSISTENCY_TAKEN, VF_CONSISTENCY_ON_TRIAL);
    assert_int_equal(l->seen, 0x35);
    assert_int_equal(l->tried, 0);
    l->seen |= 0x40;
    vf_consistency_take(l, 0x40, VF_CONSISTENCY_ON_TRIAL, VF_CONSISTENCY_SPENT); /* others are few */
    assert_true(l->seen == 0x75 && l->tried == 0);
}

/** A residual along the direction of a range change is explained, the more the less the range is known; one across it
 *  is not. An explained observation is neither accepted nor rejected. */
static void range(void **state)
{
    (void)state;
    struct vf_landmark *l = &window.landmark[0];
    memset(&window, 0, sizeof window);
    memset(&work, 0, sizeof work);
    window.newest = 1;
    l->seen = 0x3;
    l->bearing[2] = l->observation[1].bearing[2] = 1.0f;
    l->observation[1].weight = 1000.0f;
    l->inverse = 0.2f;
    for (int k = 0; k < 3; k++) work.anchor[0].pose[1].R[4 * k] = 1.0f;
    window.rig.cameras = 2;
    assert_int_equal(vf_consistency_decide(&window, l, 21.0f, 0.0f, 0.5f),
                     VF_CONSISTENCY_REFUSED); /* the gate is 9 times 2.25 */
    assert_int_equal(l->refused, 1);
    assert_int_equal(vf_consistency_decide(&window, l, 21.0f, 0.0f, 1.0f), VF_CONSISTENCY_SPENT);
    assert_int_equal(l->refused, 1);
    for (int run = 0; run < 4; run++) { /* 4 mrad on an axis; camera motion 0.1 m along it, or across */
        const float along = run & 1 ? 0.1f : 0.0f, across = run & 1 ? 0.0f : 0.1f, known = run & 2 ? 25.0f : 2500.0f;
        work.anchor[0].pose[1].t[0] = along;
        work.anchor[0].pose[1].t[1] = across;
        work.range_information[0] = known;
        l->observation[1].bearing[0] = 0.2f * along + 0.004f;
        l->observation[1].bearing[1] = 0.2f * across;
        float explained;
        const float all = vf_consistency_square(&window, &work, 0, &explained);
        const double whole = sqrt(1 + 4e-4), square = (double)(all - explained);
        const double want = run & 1 ? 16.0 * (1.0 - 1e4 / (1e4 + (double)known)) : 16.0;
        REQUIRE(fabs(square - want) < 0.05 * want * whole, "run %d: %g, not %g\n", run, square, want);
        REQUIRE(fabs((double)all - 16.0) < 0.5, "run %d: %g in all\n", run, (double)all);
    }
}

/** Lowest rejected decision for a frame of 40 observations, of which the first `old` are accepted. ranged 1: all have a
 *  range. */
static int least(int old, int ranged)
{
    for (int i = 0; i < 40; i++) {
        work.landmark_of[i] = i;
        work.square[i] = i == 39 ? -1.0f : 0.0f;
        work.decision[i] = i < old ? VF_CONSISTENCY_TAKEN : i % 2 ? VF_CONSISTENCY_ON_TRIAL : VF_CONSISTENCY_REFUSED;
        window.landmark[i].observation[0].stereo_weight = ranged ? 1.0f : 0.0f;
    }
    vf_consistency_least(&window, &work, 40);
    return work.least_rejected;
}

/** Landmarks on trial count if fewer than 24 others with known range do, except in a dispute and where one begins. They
 *  also count while samples are missing, because the test cannot tell them from others then. */
static void proven(void **state)
{
    (void)state;
    memset(&window, 0, sizeof window);
    window.rig.cameras = 2;
    assert_int_equal(least(23, 1), VF_CONSISTENCY_SPENT);
    assert_int_equal(window.proven, 23);
    assert_int_equal(work.contrary, 8);
    assert_int_equal(least(24, 1), VF_CONSISTENCY_ON_TRIAL);
    assert_int_equal(least(40, 0), VF_CONSISTENCY_SPENT);
    for (uint32_t refused = 26; refused <= 27; refused++) { /* a dispute begins above twice 13 */
        (void)least(0, 1);
        for (uint32_t i = 0; i < 40; i++)
            work.decision[i] = i < refused ? VF_CONSISTENCY_REFUSED : VF_CONSISTENCY_ON_TRIAL;
        vf_consistency_least(&window, &work, 40);
        assert_int_equal(work.least_rejected, refused > 26 ? VF_CONSISTENCY_ON_TRIAL : VF_CONSISTENCY_SPENT);
    }
    window.dispute_s = 0.5;
    assert_int_equal(least(0, 1), VF_CONSISTENCY_ON_TRIAL);
    window.slot[0].motion.flags = VFRONT_NAV_GAP;
    assert_int_equal(least(24, 1), VF_CONSISTENCY_SPENT);
}

/** Rejected observations of landmarks without a range count against the IMU if the frame has any observation of camera
 *  1, which continues to give ranges. */
static void contrary_observations(void **state)
{
    (void)state;
    memset(&window, 0, sizeof window);
    window.rig.cameras = 2;
    window.newest = 1;
    (void)least(10, 1);
    assert_int_equal(work.contrary, 15);
    (void)least(10, 0);
    assert_int_equal(work.contrary, 0);
    window.landmark[39].observation[1].stereo_weight = 1.0f;
    (void)least(10, 0);
    assert_int_equal(work.contrary, 15);
}

/* ---- flights ----------------------------------------------------------------------------------------------------- */

/** Result of a flight. */
struct flight_result {
    double drift_m; /* largest position error */
    double jump;    /* largest change of the error between frames, in standard deviations of the previous frame, on one
                     * axis */
    double square;  /* mean of e' P^-1 e of the position */
    int moving_objects; /* frames with a detected moving object */
    uint32_t refused;   /* most landmarks with rejections at a time */
};

/** Adds a frame's errors. before: those of the previous frame, and its standard deviations. */
static void add_errors(struct flight_result *f, const vfront_nav_t *nav, double before[6], int k)
{
    double e[15], P[9];
    uint32_t refused = 0;
    sim_errors(&sim, nav, e);
    sim_block(nav, 0, 3, P);
    f->square += sim_nees(P, e, 3) / sim.frames;
    f->drift_m = fmax(f->drift_m, length(e));
    for (int i = 0; i < 3; i++) {
        if (k > 5) f->jump = fmax(f->jump, fabs(e[i] - before[i]) / before[3 + i]);
        before[i] = e[i];
        before[3 + i] = sqrt(P[4 * i]);
    }
    for (int i = 0; i < VF_VIO_LANDMARKS; i++)
        refused += window.landmark[i].id && window.landmark[i].refused >= VF_CONSISTENCY_REFUSALS;
    f->refused = refused > f->refused ? refused : f->refused;
    f->moving_objects += window.moving_object != 0;
}

/** Fault of the gyro samples. */
enum wrong { RIGHT, AXES, BIAS, DEGREES };

/** Applies a fault to the gyro samples from a time on [s]. */
static void make_wrong(enum wrong wrong, double from_s)
{
    for (uint32_t i = 0; i < sim.samples; i++) {
        double *w = sim.imu[i].gyro_rad_s, first = w[0];
        if (!wrong || sim.imu[i].t_ns < SIM_START_NS + (uint64_t)(1e9 * from_s)) continue;
        for (int k = 0; k < 3; k++) {
            if (wrong == AXES) w[k] = k < 2 ? w[k + 1] : first;
            if (wrong == BIAS) w[k] += 0.3;
            if (wrong == DEGREES) w[k] *= 57.3;
        }
    }
}

/** Flies with a gyro fault from 3 s on. nav_noise 1: noise as nav.c states it, five times for the IMU and three times
 *  for observations. */
static struct flight_result fly_wrong(const struct sim_options *o, int nav_noise, enum wrong wrong)
{
    struct flight_result f = {0};
    vfront_nav_t nav;
    double before[6] = {0};
    assert_true(sim_start(&sim, o));
    make_wrong(wrong, 3.0);
    struct vf_vio_rig rig = sim_rig(0);
    rig.noise_scale = nav_noise ? 1.0 / 3.0 : 0.0;
    sim.noise.gyro_density *= nav_noise ? 5.0 : 1.0;
    sim.noise.accel_density *= nav_noise ? 5.0 : 1.0;
    sim_first(&sim, &nav);
    vf_vio_start(&window, &rig, &sim.noise, &nav);
    for (int k = 0; k < sim.frames; k++) {
        sim_step(k, nav_noise ? 3.0 : 1.0, &nav);
        add_errors(&f, &nav, before, k);
    }
    print_message(
        "%s, life %.0f: drift %.2f cm, %.2f deviations at once, position %.2f of 3, %u refused, a moving object in "
        "%d of %d frames\n",
        o->trajectory, o->life, 100 * f.drift_m, f.jump, f.square, f.refused, f.moving_objects, sim.frames);
    return f;
}

static struct flight_result fly(const struct sim_options *o, int nav_noise) { return fly_wrong(o, nav_noise, RIGHT); }

/** A moving object over 3/5 of the image does not carry a hovering camera along. */
static void moving_object(void **state)
{
    (void)state;
    struct sim_options o = sim_drawn_options("hover", 8, 30, 1);
    o.moving_object[0] = 3, o.moving_object[1] = 7;
    const struct flight_result f = fly(&o, 0);
    REQUIRE(f.drift_m < 0.03 && f.square < 9 && f.jump < 3, "drift %g m\n", f.drift_m);
    REQUIRE(f.refused > 50 && f.moving_objects > 60, "%u refused, a moving object in %d frames\n", f.refused,
            f.moving_objects);
}

/** Likewise for an object so slow that each frame's observations agree with the IMU: the IMU contradicts its
 *  acceleration. Four flights per speed. */
static void slow(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        double drift_m = 0.0;
        int moving_objects = 0;
        for (int run = 0; run < 4; run++) {
            struct sim_options o = sim_drawn_options("hover", 8, 30, 1 + run);
            o.moving_object[0] = 3, o.moving_object[1] = 7;
            o.object_mps = 0.05 + 0.1 * i;
            const struct flight_result f = fly(&o, 1);
            REQUIRE(f.square < 9, "%g m/s: position %g of 3\n", o.object_mps, f.square);
            drift_m += f.drift_m / 4;
            moving_objects += f.moving_objects;
        }
        REQUIRE(drift_m < 0.075 / (1 + i), "%g m/s: drift %g m\n", 0.05 + 0.1 * i, drift_m);
        REQUIRE(!i || moving_objects > 200, "%g m/s: a moving object in %d frames\n", 0.05 + 0.1 * i, moving_objects);
    }
}

/** A gyro fault is not detected as a moving object. */
static void wrong(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++) {
        struct sim_options o = sim_drawn_options(i % 4 / 2 ? "hover" : "eight", 8, i % 2 ? 30 : 100, 1 + i);
        const struct flight_result f = fly_wrong(&o, 1, (enum wrong)(1 + i / 4));
        REQUIRE(f.moving_objects == 0, "gyro fault %d is a moving object in %d frames\n", 1 + i / 4, f.moving_objects);
    }
}

/** With good images hardly any observation is rejected. */
static void clear(void **state)
{
    (void)state;
    const struct sim_options o = sim_drawn_options("eight", 5, 30, 1);
    const struct flight_result f = fly(&o, 0);
    REQUIRE(f.refused < 40 && f.moving_objects == 0, "%u refused, a moving object in %d frames\n", f.refused,
            f.moving_objects);
}

/** Images end for half a second while all tracks are old, so that no recent frame is an anchor: the state continues
 *  without a jump, consistent with its covariance. */
static void black(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct sim_options o = sim_drawn_options(i ? "hover" : "eight", 6, 400, 1);
        o.black[0] = 3, o.black[1] = 3.5;
        const struct flight_result f = fly(&o, 0);
        REQUIRE(f.drift_m < 0.05 && f.square < 9 && f.jump < 3, "drift %g m, %g deviations\n", f.drift_m, f.jump);
    }
}

/** Monocular rotation in place after an initialization with known velocity: ranges are hardly observable, and the
 *  position is consistent with its covariance. */
static void turn(void **state)
{
    (void)state;
    double square = 0.0;
    for (int i = 0; i < 6; i++) {
        struct sim_options o = sim_drawn_options("turn", 3, 15, 1);
        snprintf(o.rig, sizeof o.rig, "mono");
        o.first[2] = 0.02, o.first[3] = 0.002;
        o.seed = 1 + i;
        square += fly(&o, 0).square / 6;
    }
    REQUIRE(square < 6, "position %.2f of 3\n", square);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(level),
                                       cmocka_unit_test(dispute),
                                       cmocka_unit_test(trial),
                                       cmocka_unit_test(steady),
                                       cmocka_unit_test(moving_objects),
                                       cmocka_unit_test(slot_order),
                                       cmocka_unit_test(tried),
                                       cmocka_unit_test(range),
                                       cmocka_unit_test(wrong),
                                       cmocka_unit_test(proven),
                                       cmocka_unit_test(contrary_observations),
                                       cmocka_unit_test(moving_object),
                                       cmocka_unit_test(slow),
                                       cmocka_unit_test(clear),
                                       cmocka_unit_test(black),
                                       cmocka_unit_test(turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
