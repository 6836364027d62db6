/* SPDX-License-Identifier: MIT */
/* nav: verdicts on frames that are put together by hand. Whether a contradiction between readings and the pictures'
 * motions counts against the readings; whether these motions may be a body's; and when bad sights end a state. Each
 * bound is met from both sides. */
#include "port/port.h"
#include "tests/fixture/random.h"

#if VFRONT_WINDOW

enum { FRAME_NS = 50000000 };

static struct vf_state state;
static struct vf_pinned pinned;
static vfront_result_t result;

/** State in flight; the next frame shows two good motions that agree with the readings, and many landmarks. */
static void begin(void)
{
    memset(&state, 0, sizeof state);
    memset(&pinned, 0, sizeof pinned);
    memset(&result, 0, sizeof result);
    state.pinned = &pinned;
    state.step[0].geometry.active = VF_BIT(window);
    state.nav.running = 1;
    state.nav.t_ns = state.nav.sighted_ns = state.nav.last.t_ns = 1000000000;
    pinned.params.frame = 1;
    pinned.given.command = VF_WINDOW_GO_ON;
    result.relative.state = result.metric.state = VFRONT_MOTION_GOOD;
    result.tracks_count = 100;
    result.nav.landmarks = result.nav.reserved = 60;
}

/** Frame after the last one, with what `result` says. */
static void step(void)
{
    static vfront_result_t r;
    r = result;
    state.nav.t_ns += FRAME_NS;
    r.nav.t_ns = state.nav.t_ns;
    vf_nav_take(&state, &r);
}

/** Both motions contradict the readings, and few landmarks agree with them. */
static void contradict(void)
{
    result.relative.flags = result.metric.flags = VFRONT_MOTION_PRIOR;
    result.nav.landmarks = VF_NAV_SIDE - 1;
}

/** A contradiction by one motion does not count where the other one is good and agrees, and readings are whole. */
static void denied(void **unused)
{
    (void)unused;
    for (int one = 0; one < 2; one++) {
        vfront_motion_t *motion = one ? &result.metric : &result.relative,
                        *other = one ? &result.relative : &result.metric;
        begin();
        result.nav.landmarks = 0;
        motion->flags = VFRONT_MOTION_PRIOR;
        for (int i = 0; i < 20; i++) {
            step();
            REQUIRE(!state.nav.against && !state.nav.undenied, "%d: denied, and counts in frame %d\n", one, i);
        }
        other->state = VFRONT_MOTION_ROTATION;
        step();
        REQUIRE(state.nav.against == VF_NAV_AGAINST_FRAMES && state.nav.undenied == VF_NAV_UNDENIED_FRAMES,
                "%d: the other motion is not good, and denies\n", one);
    }
    static const uint32_t torn[2] = {VFRONT_NAV_SATURATED, VFRONT_NAV_GAP};
    for (int i = 0; i < 2; i++) {
        begin();
        result.nav.landmarks = 0;
        result.relative.flags = VFRONT_MOTION_PRIOR;
        result.nav.flags = torn[i];
        step();
        REQUIRE(state.nav.against == VF_NAV_AGAINST_FRAMES, "flags %u: readings are sided with\n", torn[i]);
    }
    begin();
    contradict();
    step();
    REQUIRE(state.nav.against == VF_NAV_AGAINST_FRAMES, "both motions contradict, and it does not count\n");
    begin();
    contradict();
    pinned.params.rotation_own = 1;
    step();
    REQUIRE(!state.nav.against, "a prior that is not of readings counts against them\n");
}

/** Landmarks that agree with the readings are believed for some frames if they are many, and enough of all tracks. */
static void side(void **unused)
{
    (void)unused;
    const uint32_t most = VF_NAV_SIDE_SHARE * VF_NAV_SIDE;
    for (uint32_t more = 0; more < 2; more++) {
        begin();
        contradict();
        result.nav.landmarks = VF_NAV_SIDE;
        result.tracks_count = most + more;
        step();
        REQUIRE((state.nav.against > 0) == (more > 0), "%u tracks for %d landmarks: against %u\n", result.tracks_count,
                VF_NAV_SIDE, state.nav.against);
    }
    begin();
    contradict();
    result.tracks_count = VF_NAV_SIDE;
    step();
    REQUIRE(state.nav.against, "%u landmarks are believed\n", result.nav.landmarks);
    begin();
    contradict();
    result.nav.landmarks = 60;
    for (int i = 1; i <= VF_NAV_SIDE_FRAMES; i++) {
        step();
        REQUIRE(!state.nav.against, "frame %d of contradictions counts\n", i);
    }
    step();
    REQUIRE(state.nav.against, "contradictions in %d frames in a row do not count\n", VF_NAV_SIDE_FRAMES + 1);
}

/** Where the window sees a body beside the world, no contradiction counts, and motions may be that body's; not where
 *  this frame had no readings. */
static void beside(void **unused)
{
    (void)unused;
    begin();
    contradict();
    result.nav.landmarks = 0;
    result.nav.reserved |= VF_WINDOW_TOLD_BODY;
    for (int i = 0; i < 100; i++) {
        step();
        REQUIRE(!state.nav.against && vf_nav_sees_body(&state), "frame %d counts\n", i);
    }
    REQUIRE(state.nav.sighted_ns == state.nav.t_ns, "sights are not counted\n");
    result.nav.reserved = 0;
    step();
    REQUIRE(state.nav.against && !vf_nav_sees_body(&state), "a body that is gone\n");
    begin();
    contradict();
    result.nav.reserved |= VF_WINDOW_TOLD_BODY;
    state.nav.unread = 1;
    step();
    REQUIRE(state.nav.against && !vf_nav_sees_body(&state), "a body without readings\n");
}

/** Motions may be a body's in a dispute, unless one contradicted the readings lately that no other denied. */
static void body(void **unused)
{
    (void)unused;
    begin();
    step();
    REQUIRE(!vf_nav_sees_body(&state), "a body without a dispute\n");
    result.nav.flags = VFRONT_NAV_DISPUTED;
    result.relative.flags = VFRONT_MOTION_PRIOR; /* denied by the other one */
    step();
    REQUIRE(vf_nav_sees_body(&state), "a dispute, and no body\n");
    state.nav.running = 0;
    REQUIRE(!vf_nav_sees_body(&state), "a body without a state\n");
    state.nav.running = 1;
    result.metric.flags = VFRONT_MOTION_PRIOR;
    step();
    REQUIRE(!vf_nav_sees_body(&state), "a body behind a contradiction that no motion denies\n");
    result.metric.flags = result.relative.flags = 0;
    for (int i = 1; i <= VF_NAV_UNDENIED_FRAMES; i++) {
        REQUIRE(!vf_nav_sees_body(&state), "a body %d frames behind it\n", i - 1);
        step();
    }
    REQUIRE(vf_nav_sees_body(&state), "no body %d frames behind it\n", VF_NAV_UNDENIED_FRAMES);
}

/** Frames without readings that are there, of a body that gains speed along x and whose state is tilted about y. */
static void go_tilted(int frames, double tilt_rad, double gain_m_s2)
{
    static vfront_imu_t imu[4];
    begin();
    state.rig.imu.gravity_m_s2 = 9.81;
    state.nav.last.q_odom_imu[0] = 1.0;
    for (int i = 0; i < frames; i++) {
        const double f[3] = {gain_m_s2, 0.0, 9.81}; /* in axes of a body that is upright */
        state.nav.unread = 1;
        state.nav.readings = 4;
        for (int k = 0; k < 4; k++) {
            imu[k].t_ns = state.nav.t_ns + (uint64_t)(k + 1) * FRAME_NS / 4;
            for (int c = 0; c < 3; c++) imu[k].accel_m_s2[c] = f[c];
        }
        memcpy(state.nav.imu, imu, sizeof imu);
        result.nav.q_odom_imu[0] = cos(0.5 * tilt_rad);
        result.nav.q_odom_imu[2] = sin(0.5 * tilt_rad);
        result.nav.velocity_mps[0] = gain_m_s2 * 1e-9 * FRAME_NS * (i + 1);
        step();
        REQUIRE(state.nav.running, "lost in frame %d without readings\n", i);
    }
    state.nav.unread = 0;
    step();
}

/** A state that is not upright by the forces is lost when readings are used again, after ten frames without; one that
 *  gains speed is not tilted, nor one whose readings were stuck. */
static void upright(void **unused)
{
    (void)unused;
    go_tilted(30, 0.19, 0.0);
    REQUIRE(state.nav.running, "lost by a tilt of 0.19 rad\n");
    go_tilted(30, 0.22, 0.0);
    REQUIRE(!state.nav.running && state.nav.lost, "a tilt of 0.22 rad goes on\n");
    go_tilted(9, 0.5, 0.0);
    REQUIRE(state.nav.running, "lost after 9 frames\n");
    go_tilted(30, 0.0, 4.0);
    REQUIRE(state.nav.running, "lost by a gain of speed\n");
    begin();
    pinned.params.imu = VFRONT_IMU_STUCK;
    for (int i = 0; i < 30; i++) {
        state.nav.unread = 1;
        state.nav.readings = 1;
        state.nav.imu[0].t_ns = state.nav.t_ns + FRAME_NS;
        step();
    }
    REQUIRE(state.nav.gravity.frames == 0, "stuck readings tell of gravity\n");
}

/** Bad sights end a state if there are enough of them, for so many frames. */
static void poor(void **unused)
{
    (void)unused;
    for (uint32_t few = 0; few < 2; few++) {
        begin();
        result.nav.misfit = 1.01f * (float)VF_NAV_POOR_COST;
        result.nav.reserved = VF_NAV_POOR_LEAST - few;
        for (int i = 1; i < VF_NAV_POOR_FRAMES; i++) step();
        REQUIRE(state.nav.running && !state.nav.lost, "few %u: lost early\n", few);
        step();
        REQUIRE(state.nav.lost == !few, "%u sights, bad for %d frames: lost %u\n", result.nav.reserved,
                VF_NAV_POOR_FRAMES, state.nav.lost);
    }
}

#else

static void denied(void **unused) { (void)unused, skip(); }
static void side(void **unused) { (void)unused, skip(); }
static void beside(void **unused) { (void)unused, skip(); }
static void body(void **unused) { (void)unused, skip(); }
static void upright(void **unused) { (void)unused, skip(); }
static void poor(void **unused) { (void)unused, skip(); }

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(denied), cmocka_unit_test(side),    cmocka_unit_test(beside),
                                       cmocka_unit_test(body),   cmocka_unit_test(upright), cmocka_unit_test(poor)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
