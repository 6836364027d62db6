/* SPDX-License-Identifier: MIT */
/* Gate of the window and what is kept when pictures end: the level of the gate against its rule by counting; simulated
 * flights with a body that moves before the cameras, and with pictures that end while tracks are old; and a turn on the
 * spot with one camera, where what is told of ranges beforehand must not tell the velocity. */
#include "simulation_window.h"

#include "state/window_step.h"

/** The level is the least one that a quarter of all sights, and eight, are within; there is no gate above its most. */
static void level(void **state)
{
    (void)state;
    for (int run = 0; run < 20000; run++) {
        uint32_t within[VF_GATE_LEVELS] = {0}, tested = (uint32_t)(257 * real(0, 1));
        double square[256], want = 0.0;
        const double size = exp(14 * real(0, 1) - 8);
        for (uint32_t i = 0; i < tested; i++) {
            square[i] = size * exp(4 * real(0, 1));
            double most = 1.0 / 64;
            for (int k = 0; k < VF_GATE_LEVELS; k++, most *= 2) within[k] += square[i] <= most;
        }
        for (int k = VF_GATE_LEVELS - 1; k >= 0; k--) {
            uint32_t count = 0;
            const double most = ldexp(1.0, k - 6);
            for (uint32_t i = 0; i < tested; i++) count += square[i] <= most;
            if (count >= 8 && count >= 0.25 * tested) want = 16 * most;
        }
        want = want > 16 ? 0 : want > 0 && want < 1 ? 1 : want;
        const double got = (double)vf_gate_of(within, tested);
        REQUIRE(got == want, "gate %g, not %g, of %u sights\n", got, want, tested);
    }
}

/** 1 if a state says that readings and pictures are in dispute, after a frame with so many sights taken and refused. */
static int disputed(uint32_t taken, uint32_t refused)
{
    vfront_nav_t nav;
    vf_gate_dispute(&window, taken, refused);
    vf_window_nav(&window, &work, &nav);
    REQUIRE(nav.flags == 0 || nav.flags == VFRONT_NAV_DISPUTED, "flags %u\n", nav.flags);
    return nav.flags != 0;
}

/** A dispute begins with twice as many sights refused as taken, eight of these at least, goes on whatever is taken, and
 *  lasts for 0.8 s from the last such frame on; it does not begin where readings are missing. */
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

/** A sight is taken from half a second behind its landmark's first one on; one that is refused three times is spent
 *  until it has agreed for half a second. */
static void trial(void **state)
{
    (void)state;
    struct vf_landmark *l = &window.landmark[0];
    memset(&window, 0, sizeof window);
    window.rig.cameras = 2;
    window.newest = 1;
    window.slot[0].t_ns = 1000000000u;
    l->sight[1].weight = 1.0f;
    window.slot[1].t_ns = 1499999999u;
    assert_int_equal(vf_gate_verdict(&window, l, 0.0f, 0.0f, 0.0f), VF_GATE_ON_TRIAL);
    window.slot[1].t_ns = 1500000000u;
    assert_int_equal(vf_gate_verdict(&window, l, 0.0f, 0.0f, 0.0f), VF_GATE_TAKEN);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(l->refused, i);
        assert_int_equal(vf_gate_verdict(&window, l, 1e6f, 0.0f, 0.0f), VF_GATE_REFUSED);
    }
    assert_int_equal(vf_gate_verdict(&window, l, 0.0f, 0.0f, 0.0f), VF_GATE_SPENT);
    window.slot[1].t_ns += 499999999u;
    assert_int_equal(vf_gate_verdict(&window, l, 0.0f, 0.0f, 0.0f), VF_GATE_SPENT);
    assert_int_equal(vf_gate_verdict(&window, l, 1e6f, 0.0f, 0.0f), VF_GATE_REFUSED);
    window.slot[1].t_ns += 1;
    assert_int_equal(vf_gate_verdict(&window, l, 0.0f, 0.0f, 0.0f), VF_GATE_SPENT);
    window.slot[1].t_ns += 499999999u;
    assert_int_equal(vf_gate_verdict(&window, l, 0.0f, 0.0f, 0.0f), VF_GATE_TAKEN);
    assert_int_equal(l->refused, 0);
}

/** In a dispute a gate is tighter, but for landmarks of a second and more without a refusal. */
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
        l->sight[1].weight = 1.0f;
        l->refused = (uint32_t)refused;
        l->refused_ns = window.slot[1].t_ns - 500000000u + (uint64_t)lately;
        assert_int_equal(vf_gate_verdict(&window, l, 0.0f, 0.0f, 0.0f), VF_GATE_TAKEN);
        const float own = vf_gate_own(&window, l, 0.0f), wide = 9.0f * 2.25f, tight = 9.0f;
        assert_true(own == (dispute && (young || (refused && lately)) ? tight : wide));
    }
}

/** 1 if a frame of so many sights of landmarks has a body beside the world: old ones, of which so many are close, the
 *  others on trial; refused: of both kinds, from the last one on. */
static uint32_t beside(int sights, int old, int close, int refused)
{
    memset(&window, 0, sizeof window);
    window.rig.cameras = 2;
    window.newest = 2;
    window.slot[0].t_ns = 1000000000u;
    window.slot[1].t_ns = 1500000000u;
    window.slot[2].t_ns = 1999999999u;
    for (int i = 0; i < VF_WINDOW_SIGHTS; i++) {
        work.landmark_of[i] = i < sights ? i : -1;
        work.square[i] = i < sights ? i < close ? 4.0f : 4.1f : -1.0f;
        work.off_sight[i] = i < sights && i >= sights - refused ? i % 2 ? VF_GATE_REFUSED : VF_GATE_SPENT
                                                                : VF_GATE_TAKEN;
        window.landmark[i].host = i < old ? 0 : 1;
        window.landmark[i].refused = i >= sights - refused ? VF_GATE_REFUSALS : VF_GATE_REFUSALS - 1;
    }
    vf_gate_least(&window, &work, VF_WINDOW_SIGHTS);
    return window.body;
}

/** There is a body where sixteen old landmarks and half of these are close, and a quarter of all sights is refused. */
static void bodies(void **state)
{
    (void)state;
    assert_int_equal(beside(100, 40, 20, 25), 1);
    assert_int_equal(beside(100, 40, 20, 24), 0);
    assert_int_equal(beside(100, 40, 19, 25), 0);
    assert_int_equal(beside(40, 20, 16, 10), 1);
    assert_int_equal(beside(40, 20, 15, 10), 0);
    assert_int_equal(beside(100, 100, 38, 25), 1); /* spent ones are not old: 75 are */
    assert_int_equal(beside(100, 100, 37, 25), 0);
    window.slot[2].motion.flags = VFRONT_NAV_GAP;
    assert_true(beside(100, 40, 20, 25) == 1 && window.slot[2].motion.flags == 0);
    window.rig.cameras = 1;
    assert_int_equal(vf_gate_sees_body(&window, &work), 0);
}

/** Slots for new landmarks: empty ones; those of tracks that have ended, seen once or twice; of landmarks on trial; of
 *  ended tracks again, the fewer frames the earlier. Landmarks that the newest frame sees keep theirs, and those that
 *  the gate has refused. */
static void keeps(void **state)
{
    (void)state;
    static const uint32_t seen[4] = {0x1f, 0x7, 0x1, 0x3}; /* of ended tracks */
    memset(&window, 0, sizeof window);
    window.newest = 5;
    for (int i = 0; i < VF_WINDOW_SIGHTS; i++) work.landmark_of[i] = i < 150 ? i : i % 2 ? -1 : -2;
    for (int i = 0; i < VF_WINDOW_LANDMARKS; i++) {
        window.landmark[i].id = i < 250 ? (uint32_t)i + 1 : 0;
        window.landmark[i].seen = i < 50 ? 0x21 : i < 150 ? 0x1 : i < 250 ? seen[i / 25 - 6] : 0;
        window.landmark[i].refused = i >= 100 && i < 150;
    }
    vf_window_order(&window, &work, VF_WINDOW_SIGHTS);
    assert_int_equal(work.slots, 6 + 25 + 25 + 50 + 25 + 25);
    static const int first[6] = {250, 200, 225, 50, 175, 150}, from[7] = {0, 6, 31, 56, 106, 131, 156};
    for (int kind = 0; kind < 6; kind++)
        for (int i = from[kind]; i < from[kind + 1]; i++) assert_int_equal(work.order[i], first[kind] + i - from[kind]);
}

/** Sights of a trial count with the first one behind it, unless their frame has left. */
static void tried(void **state)
{
    (void)state;
    struct vf_landmark *l = &window.landmark[0];
    memset(&window, 0, sizeof window);
    l->seen = 0x1;
    for (uint32_t f = 1; f < 5; f++) {
        l->seen |= 1u << f;
        vf_gate_take(l, 1u << f, f == 3 ? VF_GATE_REFUSED : VF_GATE_ON_TRIAL, VF_GATE_ON_TRIAL);
        assert_int_equal(l->seen, 0x1);
    }
    assert_int_equal(l->tried, 0x16);
    l->id = 1;
    work.leaving = 0x2;
    work.key = -1;
    work.leaves = 1;
    work.folds = work.rest.begins = 0;
    vf_window_forget(&window, &work);
    l->seen |= 0x20;
    vf_gate_take(l, 0x20, VF_GATE_TAKEN, VF_GATE_ON_TRIAL);
    assert_int_equal(l->seen, 0x35);
    assert_int_equal(l->tried, 0);
    l->seen |= 0x40;
    vf_gate_take(l, 0x40, VF_GATE_ON_TRIAL, VF_GATE_SPENT); /* where others are few */
    assert_true(l->seen == 0x75 && l->tried == 0);
}

/** A residual along the line on which a landmark moves as its range changes is explained, the more the less is known of
 *  the range; one across that line is not. A sight so explained is neither taken nor refused. */
static void range(void **state)
{
    (void)state;
    struct vf_landmark *l = &window.landmark[0];
    memset(&window, 0, sizeof window);
    memset(&work, 0, sizeof work);
    window.newest = 1;
    l->seen = 0x3;
    l->bearing[2] = l->sight[1].bearing[2] = 1.0f;
    l->sight[1].weight = 1000.0f;
    l->inverse = 0.2f;
    for (int k = 0; k < 3; k++) work.host[0].pose[1].R[4 * k] = 1.0f;
    window.rig.cameras = 2;
    assert_int_equal(vf_gate_verdict(&window, l, 21.0f, 0.0f, 0.5f), VF_GATE_REFUSED); /* 9 times 2.25 is the gate */
    assert_int_equal(l->refused, 1);
    assert_int_equal(vf_gate_verdict(&window, l, 21.0f, 0.0f, 1.0f), VF_GATE_SPENT);
    assert_int_equal(l->refused, 1);
    for (int run = 0; run < 4; run++) { /* 4 mrad on an axis; the camera moved by 0.1 m along it, or across */
        const float along = run & 1 ? 0.1f : 0.0f, across = run & 1 ? 0.0f : 0.1f, known = run & 2 ? 25.0f : 2500.0f;
        work.host[0].pose[1].t[0] = along;
        work.host[0].pose[1].t[1] = across;
        work.known_range[0] = known;
        l->sight[1].bearing[0] = 0.2f * along + 0.004f;
        l->sight[1].bearing[1] = 0.2f * across;
        float explained;
        const float all = vf_gate_square(&window, &work, 0, &explained);
        const double whole = sqrt(1 + 4e-4), square = (double)(all - explained);
        const double want = run & 1 ? 16.0 * (1.0 - 1e4 / (1e4 + (double)known)) : 16.0;
        REQUIRE(fabs(square - want) < 0.05 * want * whole, "run %d: %g, not %g\n", run, square, want);
        REQUIRE(fabs((double)all - 16.0) < 0.5, "run %d: %g in all\n", run, (double)all);
    }
}

/** What is not taken, with so many sights of old landmarks and as many of new ones, of 40. */
static int least(int old, int ranged)
{
    for (int i = 0; i < 40; i++) {
        work.landmark_of[i] = i;
        work.square[i] = i == 39 ? -1.0f : 0.0f;
        work.off_sight[i] = i < old ? VF_GATE_TAKEN : i % 2 ? VF_GATE_ON_TRIAL : VF_GATE_REFUSED;
        window.landmark[i].sight[0].other_weight = ranged ? 1.0f : 0.0f;
    }
    vf_gate_least(&window, &work, 40);
    return work.least_off;
}

/** Landmarks on trial count where fewer than 24 others whose ranges are known do, but in no dispute; and where readings
 *  are missing, since nothing tells them from others then. */
static void proven(void **state)
{
    (void)state;
    memset(&window, 0, sizeof window);
    window.rig.cameras = 2;
    assert_int_equal(least(23, 1), VF_GATE_SPENT);
    assert_int_equal(window.proven, 23);
    assert_int_equal(work.contrary, 8);
    assert_int_equal(least(24, 1), VF_GATE_ON_TRIAL);
    assert_int_equal(least(40, 0), VF_GATE_SPENT);
    window.dispute_s = 0.5;
    assert_int_equal(least(0, 1), VF_GATE_ON_TRIAL);
    window.slot[0].motion.flags = VFRONT_NAV_GAP;
    assert_int_equal(least(24, 1), VF_GATE_SPENT);
}

/** Refused sights of landmarks without a range contradict the readings where any sight of the frame is one of camera 1,
 *  too, which goes on to tell ranges. */
static void contrary(void **state)
{
    (void)state;
    memset(&window, 0, sizeof window);
    window.rig.cameras = 2;
    window.newest = 1;
    (void)least(10, 1);
    assert_int_equal(work.contrary, 15);
    (void)least(10, 0);
    assert_int_equal(work.contrary, 0);
    window.landmark[39].sight[1].other_weight = 1.0f;
    (void)least(10, 0);
    assert_int_equal(work.contrary, 15);
}

/* ---- flights ----------------------------------------------------------------------------------------------------- */

/** What came of a flight. */
struct flown {
    double drift_m; /* largest error in position */
    double jump;    /* largest change of that from a frame to the next, in deviations of the frame before, on an axis */
    double square;  /* mean of e' P^-1 e of the position */
    int bodies;     /* frames with a body beside the world */
    uint32_t refused; /* most landmarks in the window that were refused */
};

/** Adds a frame's errors; before: those of the frame before, and its deviations. */
static void judge(struct flown *f, const vfront_nav_t *nav, double before[6], int k)
{
    double e[15], P[9];
    uint32_t refused = 0;
    sim_errors(&sim, nav, e);
    sim_block(nav, 0, 3, P);
    f->square += sim_square(P, e, 3) / sim.frames;
    f->drift_m = fmax(f->drift_m, length(e));
    for (int i = 0; i < 3; i++) {
        if (k > 5) f->jump = fmax(f->jump, fabs(e[i] - before[i]) / before[3 + i]);
        before[i] = e[i];
        before[3 + i] = sqrt(P[4 * i]);
    }
    for (int i = 0; i < VF_WINDOW_LANDMARKS; i++)
        refused += window.landmark[i].id && window.landmark[i].refused >= VF_GATE_REFUSALS;
    f->refused = refused > f->refused ? refused : f->refused;
    f->bodies += window.body != 0;
}

/** Readings that turn wrong. */
enum wrong { RIGHT, AXES, BIAS, DEGREES };

/** Readings of the gyro are wrong from a time on [s]. */
static void make_wrong(enum wrong wrong, double from_s)
{
    for (uint32_t i = 0; i < sim.readings; i++) {
        double *w = sim.imu[i].gyro_rad_s, first = w[0];
        if (!wrong || sim.imu[i].t_ns < SIM_START_NS + (uint64_t)(1e9 * from_s)) continue;
        for (int k = 0; k < 3; k++) {
            if (wrong == AXES) w[k] = k < 2 ? w[k + 1] : first;
            if (wrong == BIAS) w[k] += 0.3;
            if (wrong == DEGREES) w[k] *= 57.3;
        }
    }
}

/** A flight, readings wrong from 3 s on. as_nav: 1: errors are told as nav.c tells them: readings with five times the
 *  noise, sights with three times the scatter. */
static struct flown fly_wrong(const struct sim_options *o, int as_nav, enum wrong wrong)
{
    struct flown f = {0};
    vfront_nav_t nav;
    double before[6] = {0};
    assert_true(sim_start(&sim, o));
    make_wrong(wrong, 3.0);
    struct vf_window_rig rig = sim_rig(0);
    rig.scatter = as_nav ? 1.0 / 3.0 : 0.0;
    sim.noise.gyro_density *= as_nav ? 5.0 : 1.0;
    sim.noise.accel_density *= as_nav ? 5.0 : 1.0;
    sim_first(&sim, &nav);
    vf_window_start(&window, &rig, &sim.noise, &nav);
    for (int k = 0; k < sim.frames; k++) {
        sim_step(k, as_nav ? 3.0 : 1.0, &nav);
        judge(&f, &nav, before, k);
    }
    print_message("%s, life %.0f: drift %.2f cm, %.2f deviations at once, position %.2f of 3, %u refused, a body in "
                  "%d of %d frames\n",
                  o->path, o->life, 100 * f.drift_m, f.jump, f.square, f.refused, f.bodies, sim.frames);
    return f;
}

static struct flown fly(const struct sim_options *o, int as_nav) { return fly_wrong(o, as_nav, RIGHT); }

/** A body that moves and covers three fifths of the picture does not take a camera that hovers with it. */
static void body(void **state)
{
    (void)state;
    struct sim_options o = sim_path("hover", 8, 30, 1);
    o.body[0] = 3, o.body[1] = 7;
    const struct flown f = fly(&o, 0);
    REQUIRE(f.drift_m < 0.03 && f.square < 9 && f.jump < 3, "drift %g m\n", f.drift_m);
    REQUIRE(f.refused > 50 && f.bodies > 60, "%u refused, a body in %d frames\n", f.refused, f.bodies);
}

/** Nor does one that is so slow that each frame's sights agree with the readings: these tell by its gain of speed. Four
 *  flights at each speed. */
static void slow(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        double drift_m = 0.0;
        int bodies = 0;
        for (int run = 0; run < 4; run++) {
            struct sim_options o = sim_path("hover", 8, 30, 1 + run);
            o.body[0] = 3, o.body[1] = 7;
            o.body_mps = 0.05 + 0.1 * i;
            const struct flown f = fly(&o, 1);
            REQUIRE(f.square < 9, "%g m/s: position %g of 3\n", o.body_mps, f.square);
            drift_m += f.drift_m / 4;
            bodies += f.bodies;
        }
        REQUIRE(drift_m < 0.075 / (1 + i), "%g m/s: drift %g m\n", 0.05 + 0.1 * i, drift_m);
        REQUIRE(!i || bodies > 200, "%g m/s: a body in %d frames\n", 0.05 + 0.1 * i, bodies);
    }
}

/** Readings that turn wrong are no body. */
static void wrong(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++) {
        struct sim_options o = sim_path(i % 4 / 2 ? "hover" : "eight", 8, i % 2 ? 30 : 100, 1 + i);
        const struct flown f = fly_wrong(&o, 1, (enum wrong)(1 + i / 4));
        REQUIRE(f.bodies == 0, "readings wrong in way %d are a body's in %d frames\n", 1 + i / 4, f.bodies);
    }
}

/** Where all pictures are good hardly anything is refused. */
static void clear(void **state)
{
    (void)state;
    const struct sim_options o = sim_path("eight", 5, 30, 1);
    const struct flown f = fly(&o, 0);
    REQUIRE(f.refused < 40 && f.bodies == 0, "%u refused, a body in %d frames\n", f.refused, f.bodies);
}

/** Pictures end for half a second while all tracks are old, so that no frame of late hosts landmarks: the state goes on
 *  without a jump, and as good as its covariance says. */
static void black(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct sim_options o = sim_path(i ? "hover" : "eight", 6, 400, 1);
        o.black[0] = 3, o.black[1] = 3.5;
        const struct flown f = fly(&o, 0);
        REQUIRE(f.drift_m < 0.05 && f.square < 9 && f.jump < 3, "drift %g m, %g deviations\n", f.drift_m, f.jump);
    }
}

/** A turn on the spot with one camera, behind a start of which the velocity is known: ranges are hardly seen, and the
 *  position is as good as its covariance says. */
static void turn(void **state)
{
    (void)state;
    double square = 0.0;
    for (int i = 0; i < 6; i++) {
        struct sim_options o = sim_path("turn", 3, 15, 1);
        snprintf(o.rig, sizeof o.rig, "mono");
        o.first[2] = 0.02, o.first[3] = 0.002;
        o.seed = 1 + i;
        square += fly(&o, 0).square / 6;
    }
    REQUIRE(square < 6, "position %.2f of 3\n", square);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(level),  cmocka_unit_test(dispute), cmocka_unit_test(trial),    cmocka_unit_test(steady),
        cmocka_unit_test(bodies), cmocka_unit_test(keeps),   cmocka_unit_test(tried),    cmocka_unit_test(range),
        cmocka_unit_test(wrong),  cmocka_unit_test(proven),  cmocka_unit_test(contrary), cmocka_unit_test(body),
        cmocka_unit_test(slow),   cmocka_unit_test(clear),   cmocka_unit_test(black),    cmocka_unit_test(turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
