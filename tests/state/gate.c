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

/** A sight is taken from half a second behind its landmark's first one on; one that is refused three times is spent,
 *  whatever it does later. */
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
    assert_int_equal(vf_gate_verdict(&window, l, 0.0f, 0.0f), VF_GATE_ON_TRIAL);
    window.slot[1].t_ns = 1500000000u;
    assert_int_equal(vf_gate_verdict(&window, l, 0.0f, 0.0f), VF_GATE_TAKEN);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(l->refused, i);
        assert_int_equal(vf_gate_verdict(&window, l, 1e6f, 0.0f), VF_GATE_REFUSED);
    }
    assert_int_equal(vf_gate_verdict(&window, l, 0.0f, 0.0f), VF_GATE_SPENT);
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
    int disputed;   /* frames in dispute */
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
}

/** A flight. as_nav: 1: errors are told as nav.c tells them: readings with five times the noise, sights with three
 *  times the scatter. */
static struct flown fly(const struct sim_options *o, int as_nav)
{
    struct flown f = {0};
    vfront_nav_t nav;
    double before[6] = {0};
    assert_true(sim_start(&sim, o));
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
    print_message("%s, life %.0f: drift %.2f cm, %.2f deviations at once, position %.2f of 3, %u refused\n", o->path,
                  o->life, 100 * f.drift_m, f.jump, f.square, f.refused);
    return f;
}

/** A body that moves and covers three fifths of the picture does not take a camera that hovers with it. */
static void body(void **state)
{
    (void)state;
    struct sim_options o = sim_path("hover", 8, 30, 1);
    o.body[0] = 3, o.body[1] = 7;
    const struct flown f = fly(&o, 0);
    REQUIRE(f.drift_m < 0.03 && f.square < 9 && f.jump < 3, "drift %g m\n", f.drift_m);
    REQUIRE(f.refused > 50, "%u refused\n", f.refused);
}

/** Nor does one that is so slow that each frame's sights agree with the readings: these tell by its gain of speed. */
static void slow(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct sim_options o = sim_path("hover", 8, 30, 1);
        o.body[0] = 3, o.body[1] = 7;
        o.body_mps = 0.05 + 0.1 * i;
        const struct flown f = fly(&o, 1);
        REQUIRE(f.drift_m < 0.05 && f.square < 9, "%g m/s: drift %g m\n", o.body_mps, f.drift_m);
    }
}

/** Where all pictures are good hardly anything is refused. */
static void clear(void **state)
{
    (void)state;
    const struct sim_options o = sim_path("eight", 5, 30, 1);
    const struct flown f = fly(&o, 0);
    REQUIRE(f.refused < 40, "%u refused\n", f.refused);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(level),  cmocka_unit_test(dispute),  cmocka_unit_test(trial),
                                       cmocka_unit_test(proven), cmocka_unit_test(contrary), cmocka_unit_test(body),
                                       cmocka_unit_test(slow),   cmocka_unit_test(clear),    cmocka_unit_test(black),
                                       cmocka_unit_test(turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
