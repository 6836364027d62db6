/* SPDX-License-Identifier: MIT
 *
 * The autopilot's side of a link (examples/companion/peer.h), played by this test: who is listened to, TIMESYNC both
 * ways, samples of HIGHRES_IMU and RAW_IMU on the companion's clock, when stamps can be related.
 */
#include <math.h>
#include <string.h>

#include "examples/companion/peer.h"
#include "tests/fixture/random.h"

#define MS 1000000ull
#define AHEAD_NS 70000000000u /* of the autopilot's clock */

static peer_t peer;
static imu_buffer_t samples;
static mavlink_message_t out[PEER_MESSAGES];

static void begin(int wants_imu)
{
    memset(&peer, 0, sizeof peer);
    memset(&samples, 0, sizeof samples);
    peer.settings = (peer_settings_t){
        .system = 1, .component = 1, .wants_imu = wants_imu, .imu_hz = 200.0, .imu_delay_s = -1.0, .answers = -1};
    peer.link.kind = LINK_UDP;
}

static mavlink_message_t from_autopilot(uint32_t id)
{
    mavlink_message_t m;
    memset(&m, 0, sizeof m);
    m.id = id;
    m.system = m.component = 1;
    return m;
}

static int take(const mavlink_message_t *m, uint64_t now_ns) { return peer_receive(&peer, m, now_ns, &samples, out); }

static void heartbeat(uint8_t autopilot, uint64_t now_ns)
{
    mavlink_message_t m = from_autopilot(MAVLINK_HEARTBEAT);
    m.as.heartbeat.autopilot[0] = autopilot;
    assert_int_equal(take(&m, now_ns), 0);
}

/** What is due, with answers of the autopilot after 1 ms each way. Returns the requests for samples. */
static int serve(uint64_t now_ns)
{
    int requests = 0;
    const int n = peer_tick(&peer, now_ns, out);
    mavlink_message_t sent[PEER_MESSAGES];
    memcpy(sent, out, sizeof sent);
    for (int i = 0; i < n; i++) {
        requests += sent[i].id == MAVLINK_COMMAND_LONG;
        if (sent[i].id != MAVLINK_TIMESYNC) continue;
        assert_true(sent[i].as.timesync.tc1[0] == 0);
        mavlink_message_t m = from_autopilot(MAVLINK_TIMESYNC);
        m.as.timesync.ts1[0] = sent[i].as.timesync.ts1[0];
        m.as.timesync.tc1[0] = (int64_t)(now_ns + AHEAD_NS + 1 * MS);
        assert_int_equal(take(&m, now_ns + 2 * MS), 0);
    }
    return requests;
}

/** Its attitude and position. */
static void move(uint64_t now_ns)
{
    const mavlink_message_t a = from_autopilot(MAVLINK_ATTITUDE), p = from_autopilot(MAVLINK_LOCAL_POSITION_NED);
    take(&a, now_ns);
    take(&p, now_ns);
}

/** Its request of a time, which is answered. */
static void ask(uint64_t now_ns)
{
    mavlink_message_t m = from_autopilot(MAVLINK_TIMESYNC);
    m.as.timesync.ts1[0] = 123456789;
    assert_int_equal(take(&m, now_ns), 1);
    assert_int_equal(out[0].id, MAVLINK_TIMESYNC);
    assert_true(out[0].as.timesync.tc1[0] == (int64_t)now_ns && out[0].as.timesync.ts1[0] == 123456789);
}

static void test_foreign_messages(void **state)
{
    mavlink_message_t m = from_autopilot(MAVLINK_HEARTBEAT);
    (void)state;
    begin(1);
    m.as.heartbeat.autopilot[0] = 12;
    m.system = 2; /* another vehicle */
    take(&m, 1000 * MS);
    m.system = 1;
    m.component = 190; /* a ground station on the same link */
    take(&m, 1000 * MS);
    assert_false(peer.has_autopilot);
    assert_int_equal(peer.foreign, 2);
    assert_false(peer.has_duplicate);
    m.component = PEER_COMPONENT;
    take(&m, 1000 * MS);
    assert_true(peer.has_duplicate);
    m = from_autopilot(MAVLINK_TIMESYNC);
    m.component = 190;
    assert_int_equal(take(&m, 1000 * MS), 0);              /* not answered */
    assert_int_equal(peer_tick(&peer, 2000 * MS, out), 0); /* nobody to ask */
}

/** PX4 needs 500 answers, ArduPilot none; both are forgotten when they are silent or begin anew. */
static void test_relate(void **state)
{
    (void)state;
    begin(0);
    assert_false(peer_takes_stamps(&peer, 1000 * MS));
    heartbeat(12, 1000 * MS);
    uint64_t t = 1000 * MS;
    for (int i = 0; i < 500; i++, t += 100 * MS) {
        assert_false(peer_takes_stamps(&peer, t));
        if (i % 10 == 0) heartbeat(12, t);
        serve(t);
        ask(t + 50 * MS);
    }
    assert_true(peer_takes_stamps(&peer, t));
    assert_false(peer_takes_stamps(&peer, t + PEER_SILENCE_NS + 1000 * MS));
    peer_tick(&peer, t + PEER_SILENCE_NS + 1000 * MS, out);
    assert_false(peer.has_autopilot);
    heartbeat(12, t + PEER_SILENCE_NS + 2000 * MS);
    assert_false(peer_takes_stamps(&peer, t + PEER_SILENCE_NS + 2000 * MS));
    begin(0);
    heartbeat(3, 1000 * MS);
    assert_true(peer_takes_stamps(&peer, 1000 * MS));
}

/** 500 answers at once are one, and answers of long ago are none. */
static void test_answers_count_by_time(void **state)
{
    (void)state;
    begin(0);
    heartbeat(12, 1000 * MS);
    for (uint64_t t = 1000 * MS; t < 3000 * MS; t += 100 * MS) serve(t);
    for (int i = 0; i < 600; i++) ask(3000 * MS + (uint64_t)i * 200);
    assert_int_equal(peer.answered, 1);
    assert_false(peer_takes_stamps(&peer, 3001 * MS));
    uint64_t t = 4000 * MS;
    for (int i = 0; i < 499; i++, t += 100 * MS) {
        assert_false(peer_takes_stamps(&peer, t));
        if (i % 10 == 0) heartbeat(12, t);
        serve(t);
        ask(t + 50 * MS);
    }
    assert_true(peer_takes_stamps(&peer, t));
    for (int i = 0; i < 31; i++, t += 1000 * MS) heartbeat(12, t); /* it asks no more */
    assert_false(peer_takes_stamps(&peer, t));
    char text[PEER_TEXT];
    assert_string_equal(peer_silence(&peer, t, text), "it asks for no TIMESYNC");
    ask(t);
    assert_true(peer_takes_stamps(&peer, t));
}

/** Round trips of 20 ms: PX4 takes none of them, and no answer counts. */
static void test_slow(void **state)
{
    (void)state;
    begin(0);
    heartbeat(12, 1000 * MS);
    for (uint64_t t = 1000 * MS; t < 5000 * MS; t += 100 * MS) {
        const int n = peer_tick(&peer, t, out);
        for (int i = 0; i < n; i++) {
            mavlink_message_t m = from_autopilot(MAVLINK_TIMESYNC);
            m.as.timesync.ts1[0] = out[i].as.timesync.ts1[0];
            m.as.timesync.tc1[0] = (int64_t)(t + AHEAD_NS + 10 * MS);
            take(&m, t + 20 * MS);
        }
        ask(t + 50 * MS);
    }
    assert_true(peer.sync.count > 30);
    assert_int_equal(peer.answered, 0);
}

/** An answer counts once, and only to a request of ours. */
static void test_answers(void **state)
{
    mavlink_message_t m = from_autopilot(MAVLINK_TIMESYNC);
    (void)state;
    begin(0);
    heartbeat(12, 1000 * MS);
    m.as.timesync.tc1[0] = 555;
    m.as.timesync.ts1[0] = 777; /* of another companion */
    assert_int_equal(take(&m, 1000 * MS), 0);
    assert_int_equal(peer.sync.count, 0);
    assert_int_equal(peer_tick(&peer, 1000 * MS, out), 4); /* the time comes first */
    m.as.timesync.ts1[0] = out[0].as.timesync.ts1[0];
    m.as.timesync.tc1[0] = (int64_t)(AHEAD_NS + 1001 * MS);
    take(&m, 1002 * MS);
    take(&m, 1003 * MS);
    assert_int_equal(peer.sync.count, 1);
}

static void test_highres(void **state)
{
    mavlink_message_t m = from_autopilot(MAVLINK_HIGHRES_IMU);
    uint64_t t = 1000 * MS;
    (void)state;
    begin(1);
    heartbeat(12, t);
    m.as.highres_imu.fields_updated[0] = 0x3f;
    m.as.highres_imu.time_usec[0] = (t + AHEAD_NS) / 1000;
    take(&m, t);
    assert_int_equal(samples.count, 0); /* its clock is not known yet */
    assert_int_equal(peer.unsynced, 1);
    for (int i = 0; i < 20; i++, t += 100 * MS) serve(t);
    m.as.highres_imu.time_usec[0] = (t - 10 * MS + AHEAD_NS) / 1000;
    m.as.highres_imu.xgyro[0] = 0.25f;
    m.as.highres_imu.zacc[0] = -9.75f;
    take(&m, t);
    assert_int_equal(samples.count, 1);
    assert_in_range(samples.sample[0].t_ns, t - 11 * MS, t - 9 * MS);
    assert_true(samples.sample[0].gyro_rad_s[0] == 0.25 && samples.sample[0].accel_m_s2[2] == -9.75);
    take(&m, t); /* twice the same */
    assert_int_equal(samples.count, 1);
    m.as.highres_imu.time_usec[0] += 5000;
    m.as.highres_imu.id[0] = 1; /* another IMU */
    take(&m, t);
    m.as.highres_imu.id[0] = 0;
    m.as.highres_imu.fields_updated[0] = 0x1c0; /* magnetometer alone */
    take(&m, t);
    m.as.highres_imu.fields_updated[0] = 0x3f;
    m.as.highres_imu.xacc[0] = NAN;
    take(&m, t);
    assert_int_equal(samples.count, 1);
    m.as.highres_imu.xacc[0] = 0.0f;
    m.as.highres_imu.time_usec[0] = UINT64_MAX;
    take(&m, t);
    m.as.highres_imu.time_usec[0] = (t + 10000 * MS + AHEAD_NS) / 1000; /* of the future */
    take(&m, t);
    assert_int_equal(samples.count, 1);
}

/** ArduPilot's samples, in mg and mrad/s, and the deviation of such steps. */
static void test_raw(void **state)
{
    mavlink_message_t m = from_autopilot(MAVLINK_RAW_IMU);
    vfront_imu_noise_t noise = {.gyro_density = 0.0, .accel_density = 3e-3, .rate_hz = 100.0};
    uint64_t t = 1000 * MS;
    (void)state;
    begin(1);
    heartbeat(3, t);
    assert_false(peer_knows_imu(&peer));
    for (int i = 0; i < 20; i++, t += 100 * MS) serve(t);
    m.as.raw_imu.time_usec[0] = (t + AHEAD_NS) / 1000 - 5000;
    m.as.raw_imu.zacc[0] = -1000;
    m.as.raw_imu.ygyro[0] = 250;
    take(&m, t);
    assert_true(peer_knows_clock(&peer, t) && !peer_knows_clock(&peer, t + 60000 * MS)); /* and no longer in silence */
    assert_int_equal(samples.count, 1);
    assert_true(fabs(samples.sample[0].accel_m_s2[2] + 9.80665) < 1e-9);
    assert_true(fabs(samples.sample[0].gyro_rad_s[1] - 0.25) < 1e-12);
    peer_add_resolution(&peer, &noise);
    assert_true(fabs(noise.gyro_density - 1e-3 / sqrt(12.0) / 10.0) < 1e-9);
    assert_true(noise.accel_density > 3e-3 && noise.accel_density < 3.1e-3);
    double sigma_s;
    assert_true(peer_knows_imu(&peer) && peer_delay_s(&peer, &sigma_s) == 11.25e-3 && sigma_s == 4e-3);
    const uint64_t filtered_ns = samples.sample[0].t_ns; /* dated back by the filter's delay, all else the same */
    peer.settings.imu_delay_s = 3e-3;
    memset(&samples, 0, sizeof samples);
    take(&m, t);
    assert_int_equal(samples.count, 1);
    assert_in_range(samples.sample[0].t_ns - filtered_ns, 8249 * MS / 1000, 8251 * MS / 1000);
    assert_true(peer_delay_s(&peer, &sigma_s) == 3e-3 && sigma_s == 0.0);
}

/** Samples are asked for until they come: HIGHRES_IMU of PX4, RAW_IMU of ArduPilot and of those that refuse. */
static void test_requests(void **state)
{
    uint64_t t = 1000 * MS;
    (void)state;
    begin(1);
    heartbeat(12, t);
    assert_int_equal(peer_tick(&peer, t, out), 5); /* TIMESYNC, samples, attitude, position, accuracy */
    assert_int_equal(out[1].id, MAVLINK_COMMAND_LONG);
    assert_int_equal(out[1].as.command.command[0], 511);
    assert_true(out[2].as.command.param1[0] == 30.0f && out[2].as.command.param2[0] == 50000.0f);
    assert_true(out[3].as.command.param1[0] == 32.0f && out[4].as.command.param1[0] == 230.0f);
    move(t);
    assert_true(out[1].as.command.param1[0] == 105.0f && out[1].as.command.param2[0] == 5000.0f);
    int requests = 0;
    for (int i = 0; i < 45; i++) {
        t += 100 * MS;
        move(t);
        if (i % 10 == 0) heartbeat(12, t);
        requests += serve(t);
    }
    assert_int_equal(requests, 4); /* one a second */
    mavlink_message_t ack = from_autopilot(MAVLINK_COMMAND_ACK);
    ack.as.ack.command[0] = 511;
    ack.as.ack.result[0] = 3; /* unsupported */
    for (int i = 0; i < 3; i++) take(&ack, t);
    move(t + 1000 * MS);
    assert_int_equal(peer_tick(&peer, t + 1000 * MS, out), 2);
    assert_true(out[1].as.command.param1[0] == 27.0f);
    mavlink_message_t m = from_autopilot(MAVLINK_RAW_IMU);
    m.as.raw_imu.time_usec[0] = (t + AHEAD_NS) / 1000;
    t += 1900 * MS;
    heartbeat(12, t);
    take(&m, t);
    move(t);
    for (int i = 0; i < 9; i++) assert_int_equal(serve(t + (uint64_t)i * 100 * MS), 0);
    begin(1);
    heartbeat(3, t);
    assert_int_equal(peer_tick(&peer, t, out), 5);
    assert_true(out[1].as.command.param1[0] == 27.0f);
    begin(0);
    heartbeat(3, t);
    assert_int_equal(peer_tick(&peer, t, out), 4); /* of ArduPilot EKF_STATUS_REPORT */
    move(t + 500 * MS);
    for (int i = 6; i < 14; i++) assert_int_equal(serve(t + (uint64_t)i * 100 * MS), 0);
    assert_int_equal(serve(t + 1600 * MS), 3); /* a second of silence */
}

/** Its heartbeat is asked for, ten times a second, while other messages of it come before. */
static void test_heartbeat(void **state)
{
    uint64_t t = 1000 * MS;
    int requests = 0;
    (void)state;
    begin(0);
    assert_int_equal(peer_tick(&peer, t, out), 0); /* nothing is heard */
    mavlink_message_t other = from_autopilot(MAVLINK_ATTITUDE);
    other.system = 2;
    take(&other, t);
    assert_int_equal(peer_tick(&peer, t, out), 0);
    for (int i = 0; i < 25; i++, t += 20 * MS) {
        move(t);
        if (!peer_tick(&peer, t, out)) continue;
        assert_true(out[0].id == MAVLINK_COMMAND_LONG && out[0].as.command.command[0] == 512);
        assert_true(out[0].as.command.param1[0] == 0.0f && out[0].as.command.param2[0] == 0.0f);
        assert_true(out[0].as.command.target_system[0] == 1 && out[0].as.command.target_component[0] == 1);
        requests++;
    }
    assert_int_equal(requests, 5);
    assert_int_equal(peer_tick(&peer, t + 1000 * MS, out), 1); /* for what came after the last request */
    assert_int_equal(peer_tick(&peer, t + 2000 * MS, out), 0);
    heartbeat(3, t);
    for (int i = 0; i < 20; i++, t += 50 * MS) {
        move(t);
        for (int k = peer_tick(&peer, t, out); k > 0; k--) assert_int_not_equal(out[k - 1].as.command.command[0], 512);
    }
}

static void test_motion(void **state)
{
    mavlink_message_t m = from_autopilot(MAVLINK_ATTITUDE);
    (void)state;
    begin(0);
    assert_null(peer_motion(&peer.attitude, 5 * MS));
    m.as.attitude.roll[0] = 0.5f;
    m.as.attitude.yawspeed[0] = 0.25f;
    take(&m, 5 * MS);
    const peer_motion_t *a = peer_motion(&peer.attitude, UINT64_MAX);
    assert_true(a->t_ns == 5 * MS && a->value[0] == 0.5 && a->rate[2] == 0.25 && a->stamp_sigma_s == 0.02);
    m = from_autopilot(MAVLINK_LOCAL_POSITION_NED);
    m.as.local_position.z[0] = -1.5f;
    take(&m, 6 * MS);
    m.as.local_position.z[0] = NAN;
    take(&m, 7 * MS);
    a = peer_motion(&peer.position, UINT64_MAX);
    assert_true(peer.position.count == 1 && a->t_ns == 6 * MS && a->value[2] == -1.5);
    for (int i = 0; i < 40; i++) { /* the nearest of those of late, whatever the order they came in */
        m.as.local_position.z[0] = (float)i;
        take(&m, (uint64_t)(100 + 10 * i) * MS);
    }
    assert_true(peer_motion(&peer.position, 414 * MS)->value[2] == 31.0);
    assert_true(peer_motion(&peer.position, 416 * MS)->value[2] == 32.0);
    assert_true(peer_motion(&peer.position, 900 * MS)->value[2] == 39.0);
    assert_true(peer_motion(&peer.position, 0)->value[2] == 24.0); /* older ones are gone */
}

/** Stamps of its clock, once that is known; accuracies of PX4; armed or not. */
static void test_motion_stamps(void **state)
{
    mavlink_message_t m = from_autopilot(MAVLINK_ATTITUDE);
    uint64_t t = 1000 * MS;
    (void)state;
    begin(0);
    heartbeat(12, t);
    for (int i = 0; i < 30; i++, t += 100 * MS) {
        if (i % 10 == 0) heartbeat(12, t);
        serve(t);
    }
    m.as.attitude.time_boot_ms[0] = (uint32_t)((t + AHEAD_NS) / MS - 80); /* 80 ms under way */
    take(&m, t);
    const peer_motion_t *a = peer_motion(&peer.attitude, UINT64_MAX);
    assert_in_range(a->t_ns, t - 82 * MS, t - 78 * MS);
    assert_true(a->stamp_sigma_s < 3e-3);
    m.as.attitude.time_boot_ms[0] = 17; /* it cannot be: the time of arrival, less sure */
    take(&m, t + 10 * MS);
    a = peer_motion(&peer.attitude, UINT64_MAX);
    assert_true(a->t_ns == t + 10 * MS && a->stamp_sigma_s == 0.02);
    m.as.attitude.time_boot_ms[0] = (uint32_t)((t + AHEAD_NS) / MS + 90000); /* of the future, likewise */
    take(&m, t + 11 * MS);
    a = peer_motion(&peer.attitude, UINT64_MAX);
    assert_true(a->t_ns == t + 11 * MS && a->stamp_sigma_s == 0.02);
    m = from_autopilot(MAVLINK_ESTIMATOR_STATUS);
    m.as.estimator.pos_horiz_accuracy[0] = 0.5f;
    take(&m, t);
    assert_true(peer.accuracy_ns == 0); /* one of them is missing */
    m.as.estimator.pos_vert_accuracy[0] = 0.25f;
    take(&m, t);
    assert_true(peer.accuracy_ns == t && peer.accuracy_m[0] == 0.5 && peer.accuracy_m[1] == 0.25);
    m = from_autopilot(MAVLINK_HEARTBEAT);
    m.as.heartbeat.autopilot[0] = 12;
    assert_false(peer.is_armed);
    m.as.heartbeat.base_mode[0] = 128 | 16;
    take(&m, t);
    assert_true(peer.is_armed);
}

/** Messages whose fields are all random, of any sender. */
static void test_random(void **state)
{
    static const uint32_t ids[] = {0, 27, 30, 32, 48, 76, 77, 102, 105, 111, 230, 253, 330, 331, 9999};
    uint64_t now = 1000 * MS;
    (void)state;
    shake(9);
    begin(1);
    for (int i = 0; i < 300000; i++) {
        mavlink_message_t m;
        uint64_t *words = (uint64_t *)(void *)&m.as;
        for (size_t k = 0; k < sizeof m.as / 8; k++) words[k] = roll64();
        m.id = ids[roll64() % 15];
        m.sequence = 0;
        m.system = (uint8_t)(roll64() % 16 ? 1 : roll64());
        m.component = (uint8_t)(roll64() % 16 ? 1 : roll64());
        const int n = take(&m, now += roll64() % (10 * MS));
        assert_in_range(n, 0, PEER_MESSAGES);
        assert_in_range(peer_tick(&peer, now, out), 0, PEER_MESSAGES);
        if (i % 1000 == 0) begin(1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_foreign_messages),
                                       cmocka_unit_test(test_relate),
                                       cmocka_unit_test(test_slow),
                                       cmocka_unit_test(test_answers_count_by_time),
                                       cmocka_unit_test(test_answers),
                                       cmocka_unit_test(test_highres),
                                       cmocka_unit_test(test_raw),
                                       cmocka_unit_test(test_requests),
                                       cmocka_unit_test(test_heartbeat),
                                       cmocka_unit_test(test_motion),
                                       cmocka_unit_test(test_motion_stamps),
                                       cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
