/* SPDX-License-Identifier: MIT */
/* The last state while there is no estimate: how it goes on, beside an integration in long double; when it does not;
 * and what of it the next estimate begins with. */
#include "nav/nav.h"
#include "tests/fixture/random.h"

#if VFRONT_VIO

#include "geometry/motion.h"
#include "supervised.h"
#include "tests/imu/imu_oracle.h"

enum { RUNS = 40, RATE = 200, SAMPLES = 60, FRAME_NS = 50000000, FROM_NS = 1100000000 };

static vfront_imu_t imu[SAMPLES];

/** A lost state at FROM_NS, a frame before the one that begins: drawn, with known tilt. */
static struct vf_nav_view draw_lost(void)
{
    struct vf_nav_view view = supervised_view();
    noise = any_noise(RATE);
    view.tuning.vio_imu_percent = 100;
    any_samples(imu, SAMPLES, RATE, 3, 1, 3, 0);
    params.frame = 9;
    params.dt_ns = FRAME_NS;
    nav.lost = 1;
    nav.own.last.t_ns = nav.observed_ns = nav.own.carried.t_ns = FROM_NS;
    for (int k = 0; k < 4; k++) nav.own.last.q_odom_imu[k] = normal();
    vf_quaternion_unit(nav.own.last.q_odom_imu);
    for (int k = 0; k < 6; k++) nav.own.carried.bias[k] = (k < 3 ? 0.02 : 0.1) * normal();
    for (int k = 0; k < 3; k++) {
        nav.own.last.position_m[k] = 10 * normal();
        nav.own.last.velocity_mps[k] = normal();
    }
    for (int k = 0; k < VF_NAV_ERRORS; k++)
        nav.own.last.covariance[vf_nav_index(k, k)] = k / 3 * 3 == VF_NAV_W ? 1e-4 : 0.04;
    return view;
}

/** Submits the frame after FROM_NS, with samples or without. */
static void submit(const struct vf_nav_view *view, int with_samples)
{
    const uint64_t to_ns = FROM_NS + FRAME_NS;
    vf_samples_append(&samples, &noise, imu, with_samples ? SAMPLES : 0, to_ns + VFRONT_IMU_AHEAD_NS, 1, 0);
    vf_samples_select(&samples, FROM_NS, to_ns);
    vf_nav_before_step(view);
    assert_int_equal(request.member[0].command, VF_VIO_NONE);
}

/** Attitude, velocity and position of nav.own.last beside those that follow from `last`: by the samples' rates, without
 *  samples 0; by their forces and gravity if level, else at a constant velocity. */
static void compare(const vfront_nav_t *last, int with_samples, int level, int run)
{
    struct wide_motion m = wide_start();
    const wide dt = 0.05L, g = level ? noise.gravity_m_s2 : 0;
    wide bias[6], R[9], expected[9], is[9], w[3];
    for (int k = 0; k < 6; k++) bias[k] = nav.own.next.bias[k];
    if (with_samples) wide_integrate(&m, imu, SAMPLES, FROM_NS, FROM_NS + FRAME_NS, bias, 0, 4);
    wide_matrix(last->q_odom_imu, R);
    wide_matrix(nav.own.last.q_odom_imu, is);
    for (int i = 0; i < 9; i++) {
        expected[i] = 0;
        for (int k = 0; k < 3; k++) expected[i] += R[i / 3 * 3 + k] * m.y[3 * k + i % 3];
    }
    wide_between(expected, is, w);
    for (int k = 0; k < 3; k++) {
        const wide down = k == 2 ? g : 0;
        wide v = last->velocity_mps[k] - down * dt,
             p = last->position_m[k] + last->velocity_mps[k] * dt - down * dt * dt / 2;
        for (int i = 0; i < 3 && level; i++) v += R[3 * k + i] * m.y[9 + i], p += R[3 * k + i] * m.y[12 + i];
        REQUIRE(fabsl(w[k]) < 1e-6L, "run %d: rotation off by %Lg rad\n", run, w[k]);
        REQUIRE(fabsl(v - nav.own.last.velocity_mps[k]) < 1e-5L, "run %d: velocity off by %Lg m/s\n", run,
                v - nav.own.last.velocity_mps[k]);
        REQUIRE(fabsl(p - nav.own.last.position_m[k]) < 1e-5L, "run %d: position off by %Lg m\n", run,
                p - nav.own.last.position_m[k]);
    }
}

/** A state goes on by samples; its velocity by forces only where the tilt is known and the forces are sound. Its age
 *  is the time since observations. */
static void goes_on(void **unused)
{
    (void)unused;
    enum { LEVEL, TILTED, WITHOUT_GRAVITY, IN_G, NO_GRAVITY, NO_SAMPLES, CASES };
    shake(81);
    for (int run = 0; run < CASES * RUNS; run++) {
        const int is = run % CASES, with_samples = is != NO_SAMPLES;
        const struct vf_nav_view view = draw_lost();
        if (is == TILTED)
            nav.own.last.covariance[vf_nav_index(VF_NAV_W + run / CASES % 2, VF_NAV_W + run / CASES % 2)] = 0.02;
        if (is == WITHOUT_GRAVITY) nav.own.last.flags = VFRONT_NAV_NO_GRAVITY | VFRONT_NAV_SATURATED;
        if (is == IN_G) params.imu = VFRONT_IMU_IN_G;
        if (is == NO_GRAVITY) params.imu = VFRONT_IMU_NO_GRAVITY;
        const int ahead = run / CASES % 2; /* observations later than this state: as with a time offset that fell */
        if (ahead) nav.observed_ns = FROM_NS + 2 * FRAME_NS;
        const vfront_nav_t last = nav.own.last;
        submit(&view, with_samples);
        compare(&last, with_samples, is == LEVEL, run);
        assert_int_equal(nav.own.last.t_ns, FROM_NS + FRAME_NS);
        assert_int_equal(nav.own.carried.t_ns, FROM_NS + FRAME_NS);
        assert_int_equal(nav.own.last.age_ns, ahead ? 0 : FRAME_NS);
        assert_int_equal(nav.own.last.flags & ~(uint32_t)VFRONT_NAV_GAP, last.flags & VFRONT_NAV_NO_GRAVITY);
        for (int k = 0; k < VF_NAV_GYRO; k++)
            assert_true(nav.own.last.covariance[vf_nav_index(k, k)] > (k / 3 * 3 == VF_NAV_W ? 1e-4 : 0.04));
    }
}

/** A state stays as it is after a reset, in a frame that is no later, and where going on would take it beyond all
 *  measure. */
static void stays(void **unused)
{
    (void)unused;
    shake(82);
    for (int is = 0; is < 5; is++) {
        const struct vf_nav_view view = draw_lost();
        if (is == 0) nav.own.carried.t_ns = 0;
        if (is == 1) nav.own.carried.t_ns = FROM_NS + FRAME_NS;
        if (is == 2) nav.own.last.velocity_mps[1] = 1.01 * VF_NAV_MAX_MPS;
        if (is == 3) nav.own.last.covariance[vf_nav_index(1, 1)] = -1.0;
        if (is == 4) nav.own.last.position_m[2] = NAN;
        const vfront_nav_t last = nav.own.last;
        submit(&view, 1);
        if (memcmp(&nav.own.last, &last, sizeof last)) fail_msg("case %d: the state goes on", is);
    }
}

/** A clock of the camera that is set in flight: the state, running or lost, goes on for the time that the frames tell,
 *  on the new clock, earlier or later, at its velocity. Without such a time it stays. */
static void clock_set(void **unused)
{
    (void)unused;
    shake(85);
    for (int is = 0; is < 8; is++) {
        struct vf_nav_view view = draw_lost();
        const uint64_t to_ns = is & 1 ? 900 * 1000000000ull : 1000000000u;
        const int known = !(is & 2), away_ms = is & 1 ? 300 : 600;
        nav.running = is >> 2;
        nav.lost = !nav.running;
        params.frame = 0;
        params.dt_ns = 0;
        view.away_ns = known ? (uint64_t)away_ms * 1000000u : 0;
        const vfront_nav_t last = nav.own.last;
        vf_samples_select(&samples, to_ns, to_ns);
        vf_nav_before_step(&view);
        const struct vf_nav once = nav;
        vf_nav_before_step(&view); /* as after a GPU that failed in this step */
        assert_memory_equal(&nav.own, &once.own, sizeof nav.own);
        assert_int_equal(nav.time_lost, !known);
        const vfront_nav_t *now = &nav.own.last;
        assert_int_equal(nav.own.carried.t_ns, known ? to_ns : 0);
        assert_int_equal(now->t_ns, known ? to_ns : last.t_ns);
        assert_int_equal(now->age_ns, known ? view.away_ns : 0);
        assert_int_equal(nav.lost, 1);
        for (int k = 0; k < 3; k++) {
            const double moved = now->position_m[k] - last.position_m[k],
                         variance = now->covariance[vf_nav_index(k, k)];
            const double expected = known ? 1e-3 * away_ms * last.velocity_mps[k] : 0;
            REQUIRE(fabs(moved - expected) < 1e-9, "case %d: moved by %g m, not %g\n", is, moved, expected);
            REQUIRE(known ? variance > 0.04 * (1 + 1e-6 * away_ms * away_ms) : variance == 0.04,
                    "case %d: variance %g m^2\n", is, variance);
        }
    }
}

/** Two cameras alone begin at the pose of the last state. Its errors are added, but not after a reset, since when they
 *  are not known. */
static void begins_without_gravity(void **unused)
{
    (void)unused;
    shake(83);
    for (int reset = 0; reset < 2; reset++) {
        const struct vf_nav_view view = draw_lost();
        if (reset) nav.own.carried.t_ns = 0;
        nav.next_origin.known = 1;
        nav.stereo.dt_s = 0.05;
        for (int k = 0; k < 3; k++) nav.stereo.velocity_mps[k] = normal(), nav.stereo.P[4 * k] = 0.01;
        vf_samples_select(&samples, FROM_NS, FROM_NS + FRAME_NS);
        vf_nav_before_step(&view);
        assert_int_equal(request.member[0].command, VF_VIO_BEGIN);
        assert_int_equal(nav.next_origin.known, !reset);
        if (reset) {
            assert_memory_equal(request.first.position_m, nav.own.last.position_m, sizeof nav.own.last.position_m);
            assert_memory_equal(request.first.q_odom_imu, nav.own.last.q_odom_imu, sizeof nav.own.last.q_odom_imu);
        }
    }
}

/** Submits a frame at rest of a level IMU, 50 ms after the one before, and its motion. */
static void rest(struct vf_nav_view *view, uint32_t frame)
{
    static vfront_result_t r;
    static vfront_imu_t more[FRAME_NS / 5000000];
    const uint64_t to_ns = FROM_NS + (uint64_t)frame * FRAME_NS;
    enum { COUNT = sizeof more / sizeof *more };
    for (uint32_t i = 0; i < COUNT; i++) {
        memset(&more[i], 0, sizeof more[i]);
        more[i].t_ns = to_ns - (COUNT - 2 - i) * 5000000u; /* the last one is 5 ms later than the frame */
        for (int k = 0; k < 3; k++) {
            more[i].gyro_rad_s[k] = (float)(0.5 * noise.gyro_density * sqrt(RATE) * normal());
            more[i].accel_m_s2[k] = (float)(9.81 * (k == 2) + 0.5 * noise.accel_density * sqrt(RATE) * normal());
        }
    }
    memset(&r, 0, sizeof r);
    r.metric.state = VFRONT_MOTION_GOOD;
    r.metric.flags = VFRONT_MOTION_STILL;
    for (int k = 0; k < 9; k++) r.metric.R[k] = k % 4 == 0;
    for (int k = 0; k < 6; k++) r.metric.covariance[vf_motion_index(k, k)] = 1e-7f;
    params.frame = frame;
    params.dt_ns = frame ? FRAME_NS : 0;
    vf_samples_append(&samples, &noise, more, COUNT, to_ns + VFRONT_IMU_AHEAD_NS, 1, !frame);
    vf_samples_select(&samples, frame ? to_ns - FRAME_NS : to_ns, to_ns);
    vf_nav_before_step(view);
    assert_int_equal(request.member[0].command, VF_VIO_NONE);
    vf_nav_after_step(view, &r, &r.nav, r.innovation);
    vf_samples_keep(&samples);
}

/** A state found at rest corrects the last one, whose position has errors in common with its velocity: unless that one
 *  had no gravity, and so knows neither tilt nor velocity in these axes. */
static void begins_at_rest(void **unused)
{
    (void)unused;
    shake(84);
    for (int no_gravity = 0; no_gravity < 2; no_gravity++) {
        struct vf_nav_view view = draw_lost();
        const vfront_nav_t last = nav.own.last;
        uint32_t frame = 0;
        view.geometry.pair.placed = 1;
        for (int c = 0; c < VFRONT_CAMERAS; c++) {
            camera[c].fx_px = 100;
            for (int k = 0; k < 9; k++) camera[c].R_cam_imu[k] = k % 4 == 0;
        }
        rest(&view, frame++);
        nav.own.last = last;
        if (no_gravity) nav.own.last.flags = VFRONT_NAV_NO_GRAVITY;
        nav.own.carried.t_ns = nav.t_ns;
        while (!nav.first.t_ns && frame < 20) rest(&view, frame++);
        assert_true(nav.first.t_ns && nav.next_origin.known);
        double moved = 0;
        for (int k = 0; k < 3; k++) moved += fabs(nav.first.position_m[k] - nav.own.last.position_m[k]);
        REQUIRE(no_gravity ? moved == 0 : moved > 1e-3, "no gravity %d: position corrected by %g m\n", no_gravity,
                moved);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(goes_on), cmocka_unit_test(stays), cmocka_unit_test(clock_set),
                                       cmocka_unit_test(begins_without_gravity), cmocka_unit_test(begins_at_rest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    puts("[  SKIPPED ] 1 test(s), no estimator in this config");
    return 77;
}
#endif
