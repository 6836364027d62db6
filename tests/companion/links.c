/* SPDX-License-Identifier: MIT
 *
 * All links together (examples/companion/links.h), at the end of one an autopilot that this test plays on a socket, by
 * a clock that it sets: what an operator is told.
 */
#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "examples/companion/clock.h"
#include "examples/companion/links.h"
#include "tests/fixture/random.h"

#define MS 1000000ull
#define AHEAD_NS 70000000000u /* of the autopilot's clock */
#define TEXTS 64

static links_t links;

/** Autopilot. */
static struct pilot {
    int fd;
    struct sockaddr_in peer;
    socklen_t peer_bytes;
    mavlink_parser_t parser;
    int kind, mode;    /* of its HEARTBEAT */
    uint64_t ahead_ns; /* of its clock */
    uint64_t trip_ns;  /* of TIMESYNC, there and back */
    int answers, asks; /* 1: TIMESYNC */
    int texts;
    char text[TEXTS][LINKS_TEXT];
    uint64_t text_ns[TEXTS];
    mavlink_message_t waiting[8]; /* its answers under way */
    uint64_t waiting_ns[8];
    int got[512];
    mavlink_message_t odometry;
    double wire_bytes_s;             /* of a slow line behind a bridge that takes all at once; 0: none */
    uint64_t wire_ns;                /* when its last byte is out */
    uint64_t back_ns;                /* time in queues of what it sends */
    uint64_t youngest_ns, oldest_ns; /* ages of ODOMETRY as it came */
    mavlink_message_t value, ack;    /* last PARAM_VALUE, COMMAND_ACK */
} pilot;

static void begin(int kind)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof a;
    char spec[64];
    const peer_settings_t settings = {.system = 1, .component = 1, .imu_hz = 200.0, .imu_delay_s = -1.0, .answers = -1};
    memset(&links, 0, sizeof links);
    memset(&pilot, 0, sizeof pilot);
    pilot.kind = kind;
    pilot.ahead_ns = AHEAD_NS;
    pilot.answers = pilot.asks = 1;
    pilot.trip_ns = 2 * MS;
    pilot.fd = socket(AF_INET, SOCK_DGRAM, 0);
    assert_true(pilot.fd >= 0 && bind(pilot.fd, (struct sockaddr *)&a, sizeof a) == 0);
    assert_true(getsockname(pilot.fd, (struct sockaddr *)&a, &bytes) == 0);
    snprintf(spec, sizeof spec, "udp:127.0.0.1:%u", ntohs(a.sin_port));
    assert_true(links_init(&links));
    assert_null(links_open(&links, spec, &settings));
}

static void end(void)
{
    links_stop(&links);
    close(pilot.fd);
}

static void pilot_sends(mavlink_message_t *m)
{
    uint8_t frame[MAVLINK_FRAME_MAX];
    if (!m->system) m->system = m->component = 1;
    const size_t bytes = mavlink_encode(frame, m);
    if (!pilot.peer_bytes) return;
    assert_true(sendto(pilot.fd, frame, bytes, 0, (struct sockaddr *)&pilot.peer, pilot.peer_bytes) > 0);
}

/** A message of the companion. Requests of TIMESYNC are answered after the round trip. */
static void pilot_takes(const mavlink_message_t *m, uint64_t now_ns)
{
    pilot.got[m->id]++;
    if (m->id == MAVLINK_ODOMETRY) {
        const uint64_t age_ns = now_ns - m->as.odometry.time_usec[0] * 1000u;
        pilot.odometry = *m;
        if (!pilot.youngest_ns || age_ns < pilot.youngest_ns) pilot.youngest_ns = age_ns;
        if (age_ns > pilot.oldest_ns) pilot.oldest_ns = age_ns;
    }
    if (m->id == MAVLINK_PARAM_VALUE) pilot.value = *m;
    if (m->id == MAVLINK_COMMAND_ACK) pilot.ack = *m;
    if (m->id == MAVLINK_STATUSTEXT && pilot.texts < TEXTS) {
        pilot.text_ns[pilot.texts] = now_ns;
        snprintf(pilot.text[pilot.texts++], LINKS_TEXT, "%.50s", m->as.text.text);
    }
    if (m->id != MAVLINK_TIMESYNC || m->as.timesync.tc1[0] || !pilot.answers) return;
    for (int i = 0; i < 8; i++) {
        if (pilot.waiting_ns[i]) continue;
        pilot.waiting[i] = *m;
        pilot.waiting[i].system = 0; /* it is from the autopilot */
        pilot.waiting[i].as.timesync.tc1[0] = (int64_t)(now_ns + pilot.ahead_ns + pilot.trip_ns / 2);
        pilot.waiting_ns[i] = now_ns + pilot.trip_ns + pilot.back_ns;
        return;
    }
}

/* A line behind a bridge: messages leave it one after the other, as slowly as it is. */
static mavlink_message_t on_wire[1024];
static uint64_t on_wire_ns[1024];
static size_t wire_in, wire_out;

static void wire_takes(const mavlink_message_t *m, size_t bytes, uint64_t now_ns)
{
    const uint64_t from_ns = pilot.wire_ns > now_ns ? pilot.wire_ns : now_ns;
    pilot.wire_ns = from_ns + (uint64_t)((double)bytes / pilot.wire_bytes_s * 1e9);
    assert_true(wire_in - wire_out < 1024);
    on_wire[wire_in % 1024] = *m;
    on_wire_ns[wire_in++ % 1024] = pilot.wire_ns;
}

static void wire_gives(uint64_t now_ns)
{
    for (; wire_out != wire_in && now_ns >= on_wire_ns[wire_out % 1024]; wire_out++)
        pilot_takes(&on_wire[wire_out % 1024], now_ns);
}

static void pilot_turns(uint64_t now_ns)
{
    uint8_t bytes[2048];
    mavlink_message_t m = {0};
    for (;;) {
        pilot.peer_bytes = sizeof pilot.peer;
        const ssize_t n = recvfrom(pilot.fd, bytes, sizeof bytes, MSG_DONTWAIT, (struct sockaddr *)&pilot.peer,
                                   &pilot.peer_bytes);
        if (n <= 0) break;
        const uint8_t *rest = bytes;
        for (size_t left = (size_t)n; mavlink_parse(&pilot.parser, &rest, &left, &m);) {
            if (pilot.wire_bytes_s > 0.0)
                wire_takes(&m, (size_t)n, now_ns);
            else
                pilot_takes(&m, now_ns);
        }
    }
    wire_gives(now_ns);
    if (!pilot.peer.sin_port) return;
    pilot.peer_bytes = sizeof pilot.peer;
    for (int i = 0; i < 8; i++) {
        if (!pilot.waiting_ns[i] || now_ns < pilot.waiting_ns[i]) continue;
        pilot.waiting_ns[i] = 0;
        pilot_sends(&pilot.waiting[i]);
    }
    if (now_ns / MS % 1000 == 0 && pilot.kind) {
        m = (mavlink_message_t){.id = MAVLINK_HEARTBEAT};
        m.as.heartbeat.autopilot[0] = (uint8_t)pilot.kind;
        m.as.heartbeat.base_mode[0] = (uint8_t)pilot.mode;
        pilot_sends(&m);
    }
    if (now_ns / MS % 100 == 50 && pilot.asks) {
        m = (mavlink_message_t){.id = MAVLINK_TIMESYNC};
        m.as.timesync.ts1[0] = (int64_t)(now_ns + pilot.ahead_ns);
        pilot_sends(&m);
    }
}

/** Milliseconds from one to another, each with a turn of both sides. */
static void pass(uint64_t from_ms, uint64_t to_ms)
{
    for (uint64_t ms = from_ms; ms < to_ms; ms++) {
        clock_set_ns(ms * MS);
        links_service(&links);
        pilot_turns(ms * MS);
    }
}

/** Times that a text was reported. */
static int count_of(const char *words)
{
    int times = 0;
    for (int i = 0; i < pilot.texts; i++) times += strstr(pilot.text[i], words) != NULL;
    return times;
}

/** Why an autopilot gets nothing is reported after 5 s and every minute: PX4 over a line whose round trips are too
 *  long, one that answers nothing, one that asks for nothing, one that is not there, one that needs more time. */
static void test_silence(void **state)
{
    (void)state;
    begin(12);
    pilot.trip_ns = 14 * MS;
    pass(1000, 128000);
    REQUIRE(count_of("link 1 silent: round trips 15 ms > 10") >= 2, "%d times, first text: %s ",
            count_of("link 1 silent: round trips 15 ms > 10"), pilot.text[0]);
    assert_in_range(pilot.text_ns[0], 5900 * MS, 6100 * MS);
    assert_in_range(pilot.text_ns[1], 65900 * MS, 66100 * MS);
    end();
    begin(12);
    pilot.answers = 0;
    pass(1000, 8000);
    assert_int_equal(count_of("link 1 silent: TIMESYNC is not answered"), 1);
    end();
    begin(12);
    pilot.asks = 0;
    pass(1000, 8000);
    assert_int_equal(count_of("link 1 silent: it asks for no TIMESYNC"), 1);
    end();
    begin(0);
    pass(1000, 8000);
    assert_int_equal(count_of("link 1 silent: no heartbeat"), 1);
    end();
    begin(12);
    pass(1000, 70000);
    assert_int_equal(count_of("of 500 answers"), 1);
    assert_int_equal(count_of("stamps can be related"), 1); /* and then no word of silence */
    assert_int_equal(count_of("silent"), 1);
    end();
}

/** A clock that jumps is reported, and taken after 30 answers; five forged answers are reported and move nothing. */
static void test_jump(void **state)
{
    (void)state;
    begin(12);
    pass(1000, 10000);
    const int64_t base_ns = links.peer[0].sync.base_ns;
    pilot.ahead_ns += 400 * MS;
    pass(10000, 10600);
    pilot.ahead_ns -= 400 * MS;
    pass(10600, 20000);
    assert_int_equal(count_of("link 1: contrary TIMESYNC, not taken"), 1);
    assert_true(links.peer[0].sync.base_ns == base_ns && !links.peer[0].sync.resets);
    pilot.ahead_ns += 2500 * MS;
    pass(20000, 24000);
    assert_int_equal(count_of("link 1: clock set by 2.5 s"), 1);
    assert_int_equal(links.peer[0].sync.resets, 1);
    end();
}

/** A state that changes with every frame, among other texts: what is worse comes at once, the rest one in 2 s, and
 *  never what is no longer so. */
static void test_texts(void **state)
{
    (void)state;
    begin(3);
    pass(1000, 3000);
    pilot.texts = 0;
    for (uint64_t ms = 3000; ms < 23000; ms += 50) {
        const int is_good = ms / 50 % 2;
        links_report(&links, NOTICE_STATE, is_good ? SEVERITY_INFO : SEVERITY_WARNING,
                     is_good ? "vision: good" : "vision: coasting");
        if (ms == 9000) links_report(&links, NOTICE_HEALTH, SEVERITY_WARNING, "vision: camera 0 dark");
        if (ms == 9000) links_report(&links, NOTICE_TRUST, SEVERITY_INFO, "vision: trusted again");
        pass(ms, ms + 50);
    }
    REQUIRE(pilot.texts <= 22 && count_of("camera 0 dark") == 1 && count_of("trusted again") == 1, "%d texts ",
            pilot.texts);
    assert_true(count_of("coasting") >= 5);
    pass(23000, 26000);
    assert_string_equal(pilot.text[pilot.texts - 1], "vision: good"); /* as it ended */
    for (int i = 1; i < pilot.texts; i++)
        if (strstr(pilot.text[i], "good") || strstr(pilot.text[i], "trusted"))
            assert_true(pilot.text_ns[i] >= pilot.text_ns[i - 1] + NOTICE_NS - 2 * MS);
        else
            REQUIRE(!strstr(pilot.text[i], "dark") || pilot.text_ns[i] < 9003 * MS, "%d ", i);
    end();
}

static mavlink_message_t setting_of(const char *name, float value)
{
    mavlink_message_t m = {.id = MAVLINK_PARAM_SET};
    m.as.param_set.target_system[0] = 1;
    m.as.param_set.target_component[0] = PEER_COMPONENT;
    m.as.param_set.param_value[0] = value;
    memcpy(m.as.param_set.param_id, name, strlen(name)); /* up to 16 bytes */
    return m;
}

/** Sets a setting and takes the answer. Returns the value in force; -1000: no answer. */
static float set_to(const char *name, float value, uint8_t system, uint64_t *ms)
{
    mavlink_message_t m = setting_of(name, value);
    m.system = m.component = system;
    pilot.got[MAVLINK_PARAM_VALUE] = 0;
    pilot_sends(&m);
    pass(*ms, *ms + 50);
    *ms += 50;
    if (!pilot.got[MAVLINK_PARAM_VALUE]) return -1000.0f;
    assert_int_equal(strncmp(pilot.value.as.param_value.param_id, name, 16), 0);
    return pilot.value.as.param_value.param_value[0];
}

static void order(uint16_t command, uint8_t system, uint64_t *ms)
{
    mavlink_message_t m = {.id = MAVLINK_COMMAND_LONG, .system = system, .component = system};
    m.as.command.command[0] = command;
    m.as.command.target_system[0] = 1;
    m.as.command.target_component[0] = PEER_COMPONENT;
    pilot_sends(&m);
    pass(*ms, *ms + 50);
    *ms += 50;
}

/** Settings as parameters, and a reset: from the autopilot alone, in flight none but the reset. */
static void test_orders(void **state)
{
    uint64_t ms = 3000;
    (void)state;
    begin(3);
    links.control.value[CONTROL_RATE] = 50.0;
    links.control.value[CONTROL_IMU_HZ] = 200.0;
    pass(1000, 3000);
    mavlink_message_t list = {.id = MAVLINK_PARAM_REQUEST_LIST};
    list.as.param_list.target_system[0] = 1;
    pilot_sends(&list);
    pass(ms, ms + 100);
    ms += 100;
    assert_int_equal(pilot.got[MAVLINK_PARAM_VALUE], CONTROL_SETTINGS);
    assert_int_equal(pilot.value.as.param_value.param_count[0], CONTROL_SETTINGS);
    assert_true(set_to("VF_RATE", 30.0f, 1, &ms) == 30.0f && links.sender.settings.rate_hz == 30.0);
    assert_int_equal(count_of("VF_RATE is 30"), 1);
    assert_true(set_to("VF_RATE", 0.0f, 1, &ms) == 30.0f && count_of("VF_RATE refused: out of range") == 1);
    assert_true(set_to("VF_CARRY", 0.5f, 1, &ms) == 0.0f);
    assert_true(set_to("VF_OBSTACLES_M", 2.0f, 1, &ms) == 0.0f); /* without disparities */
    assert_true(set_to("VF_NOTHING", 1.0f, 1, &ms) == -1000.0f);
    assert_true(set_to("VF_RATE", 20.0f, 255, &ms) == -1000.0f && links.sender.settings.rate_hz == 30.0);
    assert_true(set_to("VF_ORIGIN_LAT", 47.5f, 1, &ms) == 47.5f && links.origin.latitude_e7 == 475000000);
    order(CONTROL_RESET, 255, &ms);
    assert_int_equal(pilot.ack.as.ack.result[0], 2);
    assert_int_equal(links_take_reset(&links), 0);
    order(246, 1, &ms); /* a reboot is none of its commands */
    assert_int_equal(pilot.ack.as.ack.result[0], 3);
    pilot.mode = 128;
    pass(ms, ms + 1100);
    ms += 1100;
    assert_true(set_to("VF_RATE", 20.0f, 1, &ms) == 30.0f && count_of("VF_RATE refused: in flight") == 1);
    order(CONTROL_RESET, 1, &ms);
    assert_true(pilot.ack.as.ack.result[0] == 0 && pilot.ack.as.ack.command[0] == CONTROL_RESET);
    assert_int_equal(links_take_reset(&links), 1);
    assert_int_equal(links_take_reset(&links), 0);
    mavlink_message_t m = setting_of("VF_RATE", 25.0f); /* a ground station's that is signed, on the ground */
    const control_sender_t sender = {.system = 1};
    control_setting_t setting;
    mavlink_message_t out[CONTROL_MESSAGES];
    int n;
    m.system = 255;
    assert_int_equal(control_receive(&links.control, &m, &sender, out, &n, &setting), CONTROL_NOTHING);
    m.is_signed = 1;
    assert_int_equal(control_receive(&links.control, &m, &sender, out, &n, &setting), CONTROL_CHANGED);
    assert_true(n == 1 && setting == CONTROL_RATE && links.control.value[CONTROL_RATE] == 25.0);
    end();
}

/** The origin, which an autopilot that has just begun does not take: three times, then rarely, until it is armed. */
static void test_origin(void **state)
{
    (void)state;
    begin(3);
    links.origin = (links_origin_t){.is_set = 1, .latitude_e7 = 474000000};
    pass(1000, 6000);
    assert_int_equal(pilot.got[MAVLINK_SET_GPS_GLOBAL_ORIGIN], 3);
    pass(6000, 33000);
    assert_int_equal(pilot.got[MAVLINK_SET_GPS_GLOBAL_ORIGIN], 6);
    pilot.mode = 128;
    pass(33000, 60000);
    assert_int_equal(pilot.got[MAVLINK_SET_GPS_GLOBAL_ORIGIN], 6);
    end();
}

/** With north PX4 gets LOCAL_NED, beside which it fuses GPS; ArduPilot, which takes nothing else, LOCAL_FRD, and every
 *  message 10 ms old. */
static void test_frames(void **state)
{
    static const int kind[] = {12, 3}, frame[] = {1, 20};
    (void)state;
    for (int i = 0; i < 2; i++) {
        begin(kind[i]);
        links.peer[0].settings.answers = 0;
        links.sender.settings = (sender_settings_t){.rate_hz = 50.0, .carries_on = 1, .T_body_imu = pose_identity};
        links.sender.settings.stamp_sigma_s = 1e-3;
        links.sender.settings.is_north = 1;
        links.sender.settings.noise = (vfront_imu_noise_t){.gyro_density = 1e-3,
                                                           .accel_density = 1e-2,
                                                           .gyro_walk = 1e-5,
                                                           .accel_walk = 1e-4,
                                                           .gyro_limit_rad_s = 30.0,
                                                           .accel_limit_m_s2 = 150.0,
                                                           .rate_hz = 200.0,
                                                           .gravity_m_s2 = 9.81};
        for (uint64_t ms = 1000; ms < 4000; ms++) {
            pass(ms, ms + 1);
            if (ms % 50 == 0) {
                mavlink_message_t m = {.id = MAVLINK_ATTITUDE};
                m.as.attitude.yaw[0] = 0.75f;
                pilot_sends(&m);
            }
            const vfront_imu_t sample = {.t_ns = ms * MS, .accel_m_s2 = {0.0, 0.0, 9.81}};
            if (ms % 5 == 0) links_add_sample(&links, &sample);
            vfront_nav_t nav = {
                .t_ns = ms * MS - 35 * MS, .state = VFRONT_NAV_GOOD, .quality = 80, .q_odom_imu = {1.0}};
            for (int k = 0; k < 15; k++) nav.covariance[odometry_index(15, k, k)] = 1e-4;
            if (ms > 1500 && ms % 33 == 0) links_state(&links, &nav);
        }
        assert_true(pilot.got[MAVLINK_ODOMETRY] > 60);
        assert_int_equal(pilot.odometry.as.odometry.frame_id[0], frame[i]);
        const float *q = pilot.odometry.as.odometry.q; /* x forward, y right, z down of the mount: as it is */
        assert_true(fabs(2.0 * atan2((double)q[3], (double)q[0]) - 0.75) < 1e-3 ||
                    fabs(2.0 * atan2((double)q[2], (double)q[1]) - 0.75) < 1e-3);
        REQUIRE(kind[i] == 12 || (pilot.youngest_ns >= 9 * MS && pilot.oldest_ns <= 16 * MS), "%.1f to %.1f ms ",
                1e-6 * (double)pilot.youngest_ns, 1e-6 * (double)pilot.oldest_ns);
        end();
    }
}

static void estimator_reports(float ratio, uint16_t flags)
{
    mavlink_message_t m = {.id = MAVLINK_EKF_STATUS_REPORT};
    m.as.ekf.pos_horiz_variance[0] = 0.125f;
    m.as.ekf.velocity_variance[0] = ratio;
    m.as.ekf.flags[0] = flags;
    pilot_sends(&m);
}

/** The first line of console and page: what the autopilot gets, and what its own estimator makes of it. */
static void test_summary(void **state)
{
    char text[LINKS_SUMMARY];
    (void)state;
    begin(3);
    pass(1000, 1100);
    links_summary(&links, text);
    assert_string_equal(text, "link 1: ArduPilot: rate not known yet");
    pass(1100, 7000);
    links_summary(&links, text);
    assert_string_equal(text, "link 1: ArduPilot gets nothing: no state is sent");
    for (uint64_t ms = 7000; ms < 17000; ms += 25) {
        mavlink_message_t m = {.id = MAVLINK_ODOMETRY};
        m.as.odometry.time_usec[0] = ms * 1000u - 12000u;
        links_send(&links, &m);
        pass(ms, ms + 25);
    }
    links_summary(&links, text);
    assert_string_equal(text, "link 1: ArduPilot gets 40 of 40 Hz, 11 ms old; its estimator is not heard");
    estimator_reports(0.25f, 1 | 8);
    pass(17000, 17010);
    links_summary(&links, text);
    assert_non_null(strstr(text, "11 ms old; accepted, 0.25 gates off at most"));
    estimator_reports(1.5f, 1 | 8);
    pass(17010, 17020);
    links_summary(&links, text);
    assert_non_null(strstr(text, "; its estimator refuses velocity: 1.5 gates off"));
    estimator_reports(0.0f, 1 | 8 | 128);
    pass(17020, 17030);
    links_summary(&links, text);
    assert_non_null(strstr(text, "; its estimator has no position"));
    pilot.kind = 0; /* its heartbeats stop */
    pass(17030, 24000);
    links_summary(&links, text);
    assert_non_null(strstr(text, "gets nothing: no heartbeat"));
    end();
}

/** 40 states a second to ArduPilot, from one time to another [ms]. */
static void send_states(uint64_t from_ms, uint64_t to_ms)
{
    for (uint64_t ms = from_ms; ms < to_ms; ms += 25) {
        mavlink_message_t m = {.id = MAVLINK_ODOMETRY};
        m.as.odometry.time_usec[0] = ms * 1000u - 12000u;
        m.as.odometry.pose_covariance[20] = m.as.odometry.velocity_covariance[20] = 1.0f;
        m.as.odometry.quality[0] = 80; /* a whole message: 244 bytes */
        links_send(&links, &m);
        pass(ms, ms + 25);
    }
}

/** A line of 57,600 baud behind a bridge, whose queue this machine does not see: fewer states go, so that none is old,
 *  and that is reported. A queue on the way back alone, or a fast line, holds nothing back. */
static void test_bridge(void **state)
{
    char text[LINKS_SUMMARY];
    (void)state;
    begin(3);
    wire_in = wire_out = 0;
    pilot.wire_bytes_s = 5760.0;
    pass(1000, 4000);
    send_states(4000, 6000);
    pilot.oldest_ns = 0;
    pilot.got[MAVLINK_ODOMETRY] = 0;
    send_states(6000, 36000);
    print_message("57,600 baud behind a bridge: %.1f of 40 Hz, %.0f ms old at most\n",
                  pilot.got[MAVLINK_ODOMETRY] / 30.0, 1e-6 * (double)pilot.oldest_ns);
    REQUIRE(pilot.oldest_ns < 350 * MS && pilot.got[MAVLINK_ODOMETRY] >= 30 * 12, "%.0f ms old at most, %.1f Hz ",
            1e-6 * (double)pilot.oldest_ns, pilot.got[MAVLINK_ODOMETRY] / 30.0);
    assert_int_equal(count_of("link 1: "), 1); /* "10 of 16 Hz": of 5 s in which states began */
    links_summary(&links, text);
    assert_non_null(strstr(text, "of 40 Hz"));
    mavlink_message_t failure = {.id = MAVLINK_ODOMETRY};
    failure.as.odometry.quality[0] = -1;
    failure.as.odometry.time_usec[0] = 36000000u;
    links.peer[0].uplink.credit = 0.0;
    const int got = pilot.got[MAVLINK_ODOMETRY];
    links_send(&links, &failure);
    pass(36000, 36500);
    assert_true(pilot.got[MAVLINK_ODOMETRY] > got && pilot.odometry.as.odometry.quality[0] == -1);
    pilot.wire_bytes_s = 92160.0; /* the line is a fast one again */
    send_states(36500, 60000);
    pilot.got[MAVLINK_ODOMETRY] = 0;
    send_states(60000, 65000);
    assert_in_range(pilot.got[MAVLINK_ODOMETRY], 190, 201);
    end();
    begin(3);
    wire_in = wire_out = 0;
    pilot.wire_bytes_s = 92160.0;
    pass(1000, 4000);
    send_states(4000, 10000);
    pilot.back_ns = 400 * MS; /* its own streams fill the way back */
    pilot.got[MAVLINK_ODOMETRY] = 0;
    send_states(10000, 40000);
    assert_in_range(pilot.got[MAVLINK_ODOMETRY], 1150, 1201);
    assert_int_equal(count_of(" Hz"), 0);
    links.peer[0].uplink.frame_s = 0.08; /* as on a slow serial line of this machine: TIMESYNC waits for a state */
    links.peer[0].uplink.queue_s = 0.0;
    pilot.back_ns = 0;
    pilot.got[MAVLINK_ODOMETRY] = 0;
    for (uint64_t ms = 40000; ms < 50000; ms += 25) {
        if (ms % 500 == 0) pilot.wire_ns = (ms + 70) * MS;
        send_states(ms, ms + 25);
    }
    assert_in_range(pilot.got[MAVLINK_ODOMETRY], 380, 401);
    end();
}

/* ---- the map's link ---------------------------------------------------------------------------------------------- */

/** A turn about z by an angle. */
static void about_z(double R[9], double angle)
{
    const double by[9] = {cos(angle), -sin(angle), 0.0, sin(angle), cos(angle), 0.0, 0.0, 0.0, 1.0};
    memcpy(R, by, sizeof by);
}

static double draw(void) { return 10.0 * ((double)(roll64() >> 11) / 9007199254740992.0 - 0.5); }

/** A local frame and a map of chance; whether both take a point of the odometry frame to the same place. */
static void check_place(const map_frame_t *f, const odometry_frame_t *local, const vfront_map_t *map)
{
    double turn[9], odom[3], at_local[3], at_map[3], R_map[9];
    about_z(R_map, 2.0 * atan2(map->q_map_odom[3], map->q_map_odom[0]));
    about_z(turn, f->euler_rad[2]);
    for (int i = 0; i < 3; i++) odom[i] = draw();
    for (int i = 0; i < 3; i++) {
        at_local[i] = local->start.position_m[i];
        at_map[i] = map->t_map_odom_m[i];
        for (int k = 0; k < 3; k++) {
            at_local[i] += local->R_local_odom[3 * i + k] * (odom[k] - local->first_m[k]);
            at_map[i] += R_map[3 * i + k] * odom[k];
        }
    }
    for (int i = 0; i < 3; i++) {
        double place = f->position_m[i];
        for (int k = 0; k < 3; k++) place += turn[3 * i + k] * at_local[k];
        assert_true(fabs(place - (i ? -1.0 : 1.0) * at_map[i]) < 1e-9);
    }
    assert_true(fabs(f->euler_rad[0]) < 1e-9 && fabs(f->euler_rad[1]) < 1e-9);
}

static void draw_frames(odometry_frame_t *local, vfront_map_t *map)
{
    const double yaw = draw(), half = draw(), c = cos(yaw), s = sin(yaw);
    const double R[9] = {c, -s, 0.0, -s, -c, 0.0, 0.0, 0.0, -1.0};
    memset(local, 0, sizeof *local);
    memset(map, 0, sizeof *map);
    local->is_set = 1;
    memcpy(local->R_local_odom, R, sizeof R);
    for (int i = 0; i < 3; i++) {
        local->start.position_m[i] = draw();
        local->first_m[i] = draw();
        map->t_map_odom_m[i] = draw();
    }
    map->q_map_odom[0] = cos(half);
    map->q_map_odom[3] = sin(half);
    map->state = VFRONT_MAP_GOOD;
}

static int map_got[512];
static mavlink_message_t map_offset;

static void mission_turns(int fd, mavlink_parser_t *parser)
{
    uint8_t bytes[2048];
    mavlink_message_t m;
    for (ssize_t n; (n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0;) {
        const uint8_t *rest = bytes;
        for (size_t left = (size_t)n; mavlink_parse(parser, &rest, &left, &m);) {
            map_got[m.id]++;
            if (m.id == MAVLINK_LOCAL_POSITION_NED_SYSTEM_GLOBAL_OFFSET) map_offset = m;
        }
    }
}

/** Where the local frame lies in the map: to its own link alone, five times a second and at a jump; nothing else goes
 *  there but signs of life and texts, and nothing that comes from there is taken. */
static void test_map(void **state)
{
    const peer_settings_t settings = {.system = 1, .component = 1, .is_map = 1};
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, back;
    socklen_t bytes = sizeof a;
    static mavlink_parser_t parser;
    uint8_t frame[MAVLINK_FRAME_MAX];
    vfront_map_t map;
    map_frame_t f;
    char spec[64], text[LINKS_SUMMARY];
    (void)state;
    memset(map_got, 0, sizeof map_got);
    begin(3);
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0);
    assert_true(getsockname(fd, (struct sockaddr *)&a, &bytes) == 0);
    snprintf(spec, sizeof spec, "udp:127.0.0.1:%u", ntohs(a.sin_port));
    assert_null(links_open(&links, spec, &settings));
    pass(1000, 1500);
    bytes = sizeof back;
    assert_true(recvfrom(fd, frame, sizeof frame, 0, (struct sockaddr *)&back, &bytes) > 0);
    assert_int_equal(links_map(&links, &map, 0, &f), 0); /* no local frame yet */
    for (int i = 0; i < 1000; i++) {
        draw_frames(&links.sender.frame, &map);
        assert_int_equal(links_map(&links, &map, 1500 * MS, &f), 1);
        check_place(&f, &links.sender.frame, &map);
    }
    pass(1500, 2000);
    mission_turns(fd, &parser);
    memset(map_got, 0, sizeof map_got);
    for (uint64_t ms = 2000; ms < 12000; ms++) {
        mavlink_message_t m = {.id = ms % 2 ? MAVLINK_HEARTBEAT : MAVLINK_ATTITUDE, .system = 1, .component = 1};
        if (ms % 2) m.as.heartbeat.autopilot[0] = 12;
        if (ms % 10 < 2)
            assert_true(sendto(fd, frame, mavlink_encode(frame, &m), 0, (struct sockaddr *)&back, bytes) > 0);
        if (ms % 33 == 0) links_map(&links, &map, ms * MS, &f);
        if (ms % 25 == 0) {
            m = (mavlink_message_t){.id = MAVLINK_ODOMETRY};
            m.as.odometry.time_usec[0] = ms * 1000u - 12000u;
            links_send(&links, &m);
        }
        pass(ms, ms + 1);
        mission_turns(fd, &parser);
    }
    REQUIRE(map_got[MAVLINK_LOCAL_POSITION_NED_SYSTEM_GLOBAL_OFFSET] >= 40 &&
                map_got[MAVLINK_LOCAL_POSITION_NED_SYSTEM_GLOBAL_OFFSET] <= 51,
            "%d times ", map_got[MAVLINK_LOCAL_POSITION_NED_SYSTEM_GLOBAL_OFFSET]);
    assert_true(fabs((double)map_offset.as.frame_offset.x[0] - f.position_m[0]) < 1e-5);
    assert_true(fabs((double)map_offset.as.frame_offset.yaw[0] - f.euler_rad[2]) < 1e-5);
    assert_true(map_got[MAVLINK_HEARTBEAT] >= 9 && map_got[MAVLINK_ODOMETRY] == 0 && map_got[MAVLINK_TIMESYNC] == 0 &&
                map_got[MAVLINK_COMMAND_LONG] == 0);
    assert_true(pilot.got[MAVLINK_LOCAL_POSITION_NED_SYSTEM_GLOBAL_OFFSET] == 0 && pilot.got[MAVLINK_ODOMETRY] > 300);
    assert_true(!links.peer[1].has_autopilot && links.peer[1].attitude.count == 0 && count_of("link 2") == 0);
    links_summary(&links, text);
    assert_non_null(strstr(text, "link 2: gets the place in the map"));
    map_got[MAVLINK_LOCAL_POSITION_NED_SYSTEM_GLOBAL_OFFSET] = 0;
    map.t_map_odom_m[1] += 0.5; /* a loop moved it: at once */
    links_map(&links, &map, 12001 * MS, &f);
    map.t_map_odom_m[1] += 0.5;
    links_map(&links, &map, 12002 * MS, &f);
    links_map(&links, &map, 12003 * MS, &f);
    pass(12000, 12010);
    mission_turns(fd, &parser);
    assert_in_range(map_got[MAVLINK_LOCAL_POSITION_NED_SYSTEM_GLOBAL_OFFSET], 1, 2);
    assert_true(fabs((double)map_offset.as.frame_offset.y[0] - f.position_m[1]) < 1e-5);
    map.state = VFRONT_MAP_LOST;
    assert_int_equal(links_map(&links, &map, 12010 * MS, &f), 0);
    links_summary(&links, text);
    assert_non_null(strstr(text, "link 2: not located in the map"));
    close(fd);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_silence), cmocka_unit_test(test_jump),   cmocka_unit_test(test_texts),
        cmocka_unit_test(test_orders),  cmocka_unit_test(test_origin), cmocka_unit_test(test_frames),
        cmocka_unit_test(test_summary), cmocka_unit_test(test_map),    cmocka_unit_test(test_bridge)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
