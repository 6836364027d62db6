/* SPDX-License-Identifier: MIT
 *
 * Rules of the sender (examples/companion/sender.h), on states that are made up: what goes out when states come, stop,
 * are lost, begin anew, are late, or are no numbers.
 */
#include <math.h>
#include <string.h>

#include "examples/companion/sender.h"
#include "tests/fixture/random.h"

#define MS 1000000ull
#define LAG_NS (15u * MS) /* age of a state when it comes */

static sender_t sender;
static imu_buffer_t samples;
static mavlink_message_t out[SENDER_MESSAGES];
static uint64_t last_usec;

/** Sender of 50 Hz, IMU of 200 Hz at rest: x forward, y left, z up. */
static void begin(void)
{
    static const pose_t flu = {.R = {1, 0, 0, 0, -1, 0, 0, 0, -1}};
    memset(&sender, 0, sizeof sender);
    memset(&samples, 0, sizeof samples);
    last_usec = 0;
    sender.settings = (sender_settings_t){.rate_hz = 50.0, .carries_on = 1, .T_body_imu = flu};
    sender.settings.noise = (vfront_imu_noise_t){.gyro_density = 1e-3,
                                                 .accel_density = 1e-2,
                                                 .gyro_walk = 1e-5,
                                                 .accel_walk = 1e-4,
                                                 .gyro_limit_rad_s = 30.0,
                                                 .accel_limit_m_s2 = 150.0,
                                                 .rate_hz = 200.0,
                                                 .gravity_m_s2 = 9.81};
}

static void read_until(uint64_t t_ns)
{
    for (uint64_t t = samples.total * 5u * MS + 5u * MS; t <= t_ns; t += 5u * MS) {
        const vfront_imu_t r = {.t_ns = t, .accel_m_s2 = {0.0, 0.0, 9.81}};
        assert_true(imu_buffer_add(&samples, &r));
    }
}

static vfront_nav_t nav_at(uint64_t t_ns, uint32_t state)
{
    vfront_nav_t nav = {.t_ns = t_ns, .state = state, .quality = 80, .reset_counter = 1, .q_odom_imu = {1.0}};
    nav.velocity_mps[0] = 1.0;
    nav.position_m[0] = (double)t_ns * 1e-9;
    for (int i = 0; i < 15; i++) nav.covariance[odometry_index(15, i, i)] = 1e-4;
    return nav;
}

/** Every message that goes out is sound, and later than the one before. */
static int checked(int n)
{
    for (int i = 0; i < n; i++) {
        if (out[i].id != MAVLINK_ODOMETRY) continue;
        assert_true(out[i].as.odometry.time_usec[0] > last_usec);
        last_usec = out[i].as.odometry.time_usec[0];
        assert_int_equal(out[i].as.odometry.frame_id[0], 20);       /* LOCAL_FRD */
        assert_int_equal(out[i].as.odometry.child_frame_id[0], 12); /* BODY_FRD */
        assert_int_equal(out[i].as.odometry.estimator_type[0], 3);  /* VIO */
        assert_true(out[i].as.odometry.quality[0] != 0);
        for (int k = 0; k < 21; k++) {
            assert_true(isfinite(out[i].as.odometry.pose_covariance[k]));
            assert_true(isfinite(out[i].as.odometry.velocity_covariance[k]));
        }
    }
    return n;
}

/** State of a time, LAG_NS later. */
static int state_at(uint64_t t_ns, uint32_t state)
{
    const vfront_nav_t nav = nav_at(t_ns, state);
    read_until(t_ns + LAG_NS);
    return checked(sender_state(&sender, &nav, &samples, t_ns + LAG_NS, out));
}

/** Ticks of a millisecond from one time to another. Returns the number of messages. */
static int ticks(uint64_t from_ns, uint64_t to_ns)
{
    int n = 0;
    for (uint64_t t = from_ns; t < to_ns; t += MS) {
        read_until(t);
        if (t >= sender_next_ns(&sender)) n += checked(sender_tick(&sender, &samples, t, out));
    }
    return n;
}

/** Frames of some interval from 1 s on. Returns the number of messages over `frames` frames after the first three. */
static int fly(uint64_t interval_ns, int frames)
{
    int n = 0;
    for (int i = 0; i < frames + 3; i++) {
        const uint64_t t = 1000u * MS + (uint64_t)i * interval_ns;
        const int now = state_at(t, VFRONT_NAV_GOOD) + ticks(t + LAG_NS, t + LAG_NS + interval_ns);
        if (i >= 3) n += now;
    }
    return n;
}

/** What ArduPilot makes of it: the least of arrival less stamp over 100 messages, which has to be VISO_DELAY_MS,
 *  whatever the camera's rate and the age of its states are; and never two within 20 ms. */
static void test_constant_lag(void **state)
{
    static const uint64_t interval[] = {66666667u, 50u * MS, 33333333u, 25u * MS, 16666667u};
    static const uint64_t lag[] = {4u * MS, 15u * MS, 35u * MS, 60u * MS};
    (void)state;
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 4; k++) {
            uint64_t least = UINT64_MAX, most = 0, last = 0, at = 1000u * MS + interval[i];
            int n = 0;
            begin();
            sender.settings.lag_ns = SENDER_LAG_NS;
            for (uint64_t t = 1000u * MS; t < 6000u * MS; t += MS) {
                int got = 0;
                read_until(t);
                if (t >= at + lag[k]) {
                    const vfront_nav_t nav = nav_at(at, VFRONT_NAV_GOOD);
                    got = checked(sender_state(&sender, &nav, &samples, t, out));
                    at += interval[i];
                }
                if (!got && t >= sender_next_ns(&sender)) got = checked(sender_tick(&sender, &samples, t, out));
                if (!got || t < 2000u * MS) continue;
                const uint64_t age = t - last_usec * 1000u;
                least = age < least ? age : least;
                most = age > most ? age : most;
                if (last) REQUIRE(t - last >= 20u * MS, "%d ms apart ", (int)((t - last) / MS));
                last = t;
                n++;
            }
            REQUIRE(least >= 9900000u && least <= 10100000u, "%.1f Hz, %d ms: %.2f ms ", 1e9 / (double)interval[i],
                    (int)(lag[k] / MS), 1e-6 * (double)least);
            REQUIRE(most <= 15100000u && n >= (i == 0 && k == 3 ? 115 : 130),
                    "%.1f Hz, %d ms: up to %.2f ms, %d messages ", 1e9 / (double)interval[i], (int)(lag[k] / MS),
                    1e-6 * (double)most, n);
            /* the position is that of the stamp: 1 m/s */
            assert_true(fabs(sender.last.position_m[0] - sender.last.velocity_mps[0] *
                                                             (double)(last_usec - (1000000u + interval[i] / 1000u)) *
                                                             1e-6) < 0.02);
        }
}

static void test_rates(void **state)
{
    (void)state;
    begin();
    assert_int_equal(fly(33333333u, 60), 60); /* 30 Hz: frames alone */
    assert_int_equal(sender.carried, 0);
    begin();
    assert_int_equal(fly(50u * MS, 60), 120); /* 20 Hz: one in between */
    assert_in_range(sender.carried, 60, 63);
    begin();
    assert_int_equal(fly(16666667u, 60), 30); /* 60 Hz: every second one */
    begin();
    sender.settings.carries_on = 0;
    assert_int_equal(fly(50u * MS, 60), 60);
}

/** A state that was carried on: of its own time, where it would be, less sure. */
static void test_carried(void **state)
{
    (void)state;
    begin();
    fly(50u * MS, 10);
    assert_int_equal(state_at(1650u * MS, VFRONT_NAV_GOOD), 1);
    const double own = (double)out[0].as.odometry.pose_covariance[0], x = (double)out[0].as.odometry.x[0];
    const uint64_t usec = out[0].as.odometry.time_usec[0];
    assert_int_equal(ticks(1665u * MS, 1685u * MS), 1);
    const double after_s = (double)(out[0].as.odometry.time_usec[0] - usec) * 1e-6;
    assert_true(fabs(after_s - 0.025) < 1e-5);
    assert_true(fabs((double)out[0].as.odometry.x[0] - x - after_s) < 1e-5); /* 1 m/s */
    assert_true((double)out[0].as.odometry.pose_covariance[0] > own);
}

/** Frames stop: carried on for 100 ms, one message of failure at 200 ms, and silence. */
static void test_stops(void **state)
{
    (void)state;
    begin();
    fly(33333333u, 30); /* last frame at 2.067 s */
    const uint64_t last_ns = sender.nav.t_ns;
    int carried = 0, failed = 0;
    for (uint64_t t = last_ns + LAG_NS + 34u * MS; t < last_ns + 3000u * MS; t += MS) {
        read_until(t);
        if (!checked(sender_tick(&sender, &samples, t, out))) continue;
        if (out[0].as.odometry.quality[0] < 0) {
            failed++;
            assert_in_range(t, last_ns + SENDER_STALE_NS, last_ns + SENDER_STALE_NS + 2u * MS);
            assert_true(out[0].as.odometry.pose_covariance[0] > 1e5f &&
                        out[0].as.odometry.velocity_covariance[20] > 1e5f);
        } else {
            assert_int_equal(failed, 0);
            assert_true(out[0].as.odometry.time_usec[0] * 1000u <= last_ns + SENDER_CARRY_NS);
            carried++;
        }
    }
    assert_in_range(carried, 1, 3);
    assert_int_equal(failed, 1);
    assert_int_equal(sender_next_ns(&sender), UINT64_MAX);
}

static void test_lost(void **state)
{
    (void)state;
    begin();
    assert_int_equal(state_at(900u * MS, VFRONT_NAV_NONE), 0); /* silence before the first state */
    assert_int_equal(state_at(950u * MS, VFRONT_NAV_INITIALISING), 0);
    fly(33333333u, 10);
    const uint64_t t = sender.nav.t_ns;
    assert_int_equal(state_at(t + 33u * MS, VFRONT_NAV_LOST), 1);
    assert_int_equal(out[0].as.odometry.quality[0], -1);
    for (uint64_t i = 2; i < 40; i++) assert_int_equal(state_at(t + i * 33u * MS, VFRONT_NAV_LOST), 0);
    assert_int_equal(ticks(t + 1400u * MS, t + 2000u * MS), 0);
    vfront_nav_t nav = nav_at(t + 2000u * MS, VFRONT_NAV_GOOD); /* a state that began anew */
    nav.reset_counter = 2;
    read_until(t + 2015u * MS);
    assert_int_equal(checked(sender_state(&sender, &nav, &samples, t + 2015u * MS, out)), 1);
    assert_int_equal(out[0].as.odometry.quality[0], 80);
    assert_int_equal(out[0].as.odometry.reset_counter[0], 1);
    nav.t_ns += 33u * MS;
    assert_int_equal(checked(sender_state(&sender, &nav, &samples, nav.t_ns + LAG_NS, out)), 1);
    assert_int_equal(out[0].as.odometry.reset_counter[0], 1); /* once */
}

static void test_stale(void **state)
{
    (void)state;
    begin();
    fly(33333333u, 10);
    const vfront_nav_t nav = nav_at(sender.nav.t_ns + 33u * MS, VFRONT_NAV_GOOD);
    read_until(nav.t_ns + 250u * MS);
    assert_int_equal(checked(sender_state(&sender, &nav, &samples, nav.t_ns + 250u * MS, out)), 1);
    assert_int_equal(out[0].as.odometry.quality[0], -1);
    assert_int_equal(sender.stale, 1);
}

/** Values that are no numbers, variances that are none: a failure, never a message. */
static void test_unsound(void **state)
{
    (void)state;
    for (int kind = 0; kind < 6; kind++) {
        begin();
        fly(33333333u, 10);
        vfront_nav_t nav = nav_at(sender.nav.t_ns + 34u * MS, VFRONT_NAV_GOOD);
        switch (kind) {
        case 0: nav.position_m[1] = NAN; break;
        case 1: nav.velocity_mps[2] = INFINITY; break;
        case 2: nav.q_odom_imu[0] = NAN; break;
        case 3: nav.covariance[0] = NAN; break;
        case 4: nav.covariance[0] = -1.0; break;
        default: nav.position_m[0] = 1e39; break; /* no number in single precision */
        }
        read_until(nav.t_ns + LAG_NS);
        assert_int_equal(checked(sender_state(&sender, &nav, &samples, nav.t_ns + LAG_NS, out)), 1);
        assert_int_equal(out[0].as.odometry.quality[0], -1);
        assert_true(isfinite(out[0].as.odometry.x[0]) && isfinite(out[0].as.odometry.q[0]));
    }
}

static const odometry_start_t start = {{5.0, 6.0, -7.0}, 1.0, {0.1, 0.1, 0.1}, 0.05};

static void test_restart(void **state)
{
    const vfront_nav_t nav = nav_at(1000u * MS, VFRONT_NAV_GOOD), none = nav_at(1000u * MS, VFRONT_NAV_INITIALISING);
    (void)state;
    begin();
    sender_follow(&sender, 254);
    assert_false(sender_needs_start(&sender, &none));
    assert_true(sender_needs_start(&sender, &nav));
    sender_resume(&sender, &start, 0);
    assert_int_equal(state_at(1000u * MS, VFRONT_NAV_GOOD), 1);
    assert_int_equal(out[0].as.odometry.reset_counter[0], 255);
    assert_true(fabsf(out[0].as.odometry.x[0] - 5.0f) < 1e-6f && fabsf(out[0].as.odometry.z[0] + 7.0f) < 1e-6f);
    assert_true(fabs(2.0 * atan2((double)out[0].as.odometry.q[3], (double)out[0].as.odometry.q[0]) - 1.0) < 1e-6);
    assert_false(sender_needs_start(&sender, &nav));
    assert_int_equal(state_at(1010u * MS, VFRONT_NAV_GOOD), 1); /* at once, though 50 Hz are enough */
    assert_int_equal(out[0].as.odometry.reset_counter[0], 0);
    assert_int_equal(state_at(1020u * MS, VFRONT_NAV_GOOD), 0);
    sender_restart(&sender); /* the library was reset: a first state again, its number another one */
    assert_true(sender_needs_start(&sender, &nav));
    assert_int_equal(state_at(1033u * MS, VFRONT_NAV_GOOD), 1);
    assert_int_equal(out[0].as.odometry.reset_counter[0], 1);
}

/** Whatever number a process before sent last, a change is seen in the first two messages, and none after. */
static void test_follows_any(void **state)
{
    (void)state;
    for (int before = 0; before < 256; before++)
        for (int guess = 0; guess < 256; guess++) {
            int seen = before, changes = 0;
            begin();
            sender_follow(&sender, (uint8_t)guess);
            for (uint64_t i = 0; i < 4; i++) {
                const vfront_nav_t nav = nav_at((1000u + 33u * i) * MS, VFRONT_NAV_GOOD);
                assert_int_equal(sender_state(&sender, &nav, &samples, nav.t_ns, out), 1);
                const int number = out[0].as.odometry.reset_counter[0];
                if (i < 2)
                    changes += number != seen;
                else
                    assert_int_equal(number, seen);
                seen = number;
            }
            assert_true(changes >= 1);
        }
}

/** While the yaw is uncertain one message of failure, with the number of the process before, and silence. */
static void test_uncertain_yaw(void **state)
{
    odometry_start_t unsure = start;
    (void)state;
    unsure.sigma_yaw_rad = 1.01 * ODOMETRY_YAW_SIGMA_MAX_RAD;
    begin();
    sender_follow(&sender, 7);
    sender_resume(&sender, &unsure, 0);
    assert_int_equal(state_at(1000u * MS, VFRONT_NAV_GOOD), 1);
    assert_int_equal(out[0].as.odometry.quality[0], -1);
    assert_int_equal(out[0].as.odometry.reset_counter[0], 7);
    assert_true(out[0].as.odometry.pose_covariance[20] > 1e5f);
    for (uint64_t i = 1; i < 20; i++) {
        const vfront_nav_t nav = nav_at((1000u + 33u * i) * MS, VFRONT_NAV_GOOD);
        assert_true(sender_needs_start(&sender, &nav));
        assert_int_equal(state_at(nav.t_ns, VFRONT_NAV_GOOD) + ticks(nav.t_ns + LAG_NS, nav.t_ns + 33u * MS), 0);
    }
    sender_resume(&sender, &start, 0);
    assert_int_equal(state_at(2000u * MS, VFRONT_NAV_GOOD), 1);
    assert_int_equal(out[0].as.odometry.quality[0], 80);
    assert_int_equal(out[0].as.odometry.reset_counter[0], 8);
}

static void test_vision_position(void **state)
{
    (void)state;
    begin();
    sender.settings.has_vision_position = 1;
    fly(33333333u, 5);
    assert_int_equal(state_at(sender.nav.t_ns + 34u * MS, VFRONT_NAV_GOOD), 2);
    assert_int_equal(out[1].id, MAVLINK_VISION_POSITION_ESTIMATE);
    assert_int_equal(out[1].as.vision_position.usec[0], out[0].as.odometry.time_usec[0]);
    assert_memory_equal(out[1].as.vision_position.covariance, out[0].as.odometry.pose_covariance, 84);
    assert_int_equal(state_at(sender.nav.t_ns + 34u * MS, VFRONT_NAV_LOST), 1); /* it has no way to say so */
    assert_int_equal(out[0].id, MAVLINK_ODOMETRY);
}

/** States, times and samples at random: whatever goes out keeps the rules of `checked`. */
static void test_random(void **state)
{
    (void)state;
    shake(11);
    for (int round = 0; round < 200; round++) {
        uint64_t now = 1000u * MS;
        begin();
        for (int i = 0; i < 300; i++) {
            now += (roll64() % 40u) * MS;
            if (roll64() % 4) read_until(now);
            if (roll64() % 2) {
                vfront_nav_t nav = nav_at(now - (roll64() % 300u) * MS, (uint32_t)(roll64() % 7u));
                nav.reset_counter = (uint32_t)(roll64() % 3u);
                nav.quality = (uint32_t)(roll64() % 200u);
                checked(sender_state(&sender, &nav, &samples, now, out));
            } else {
                checked(sender_tick(&sender, &samples, now, out));
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rates),       cmocka_unit_test(test_constant_lag),
                                       cmocka_unit_test(test_carried),     cmocka_unit_test(test_stops),
                                       cmocka_unit_test(test_lost),        cmocka_unit_test(test_stale),
                                       cmocka_unit_test(test_unsound),     cmocka_unit_test(test_restart),
                                       cmocka_unit_test(test_follows_any), cmocka_unit_test(test_uncertain_yaw),
                                       cmocka_unit_test(test_random),      cmocka_unit_test(test_vision_position)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
