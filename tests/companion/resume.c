/* SPDX-License-Identifier: MIT
 *
 * Pose that a first state goes on from (examples/companion/resume.h): the autopilot's at the state's time, the kept
 * one, zero, or none yet; with deviations that cover what may have been meanwhile.
 */
#include <math.h>
#include <string.h>

#include "examples/companion/resume.h"
#include "tests/fixture/random.h"

#define MS 1000000ull
#define STATE_NS (20000u * MS) /* time of the state */

static sender_t sender;
static peer_t peer[2];
static imu_buffer_t samples;
static vfront_nav_t nav;

static const checkpoint_t kept = {.t_ns = STATE_NS - 1000u * MS,
                                  .position_m = {1.0, 2.0, -3.0},
                                  .yaw_rad = 0.5,
                                  .sigma_m = {0.1, 0.1, 0.1},
                                  .sigma_yaw_rad = 0.01,
                                  .velocity_mps = {0.5, 0.0, -0.25}};

static void take(peer_t *p, mavlink_message_t *m, uint64_t now_ns)
{
    mavlink_message_t out[PEER_MESSAGES];
    m->system = m->component = 1;
    peer_receive(p, m, now_ns, &samples, out);
}

static void heartbeat(int is_armed)
{
    mavlink_message_t m = {.id = MAVLINK_HEARTBEAT};
    m.as.heartbeat.autopilot[0] = 3;
    m.as.heartbeat.base_mode[0] = is_armed ? 128 : 0;
    take(&peer[0], &m, STATE_NS);
}

/** Sender before its first state, an autopilot of which a heartbeat came. */
static void begin(int is_armed)
{
    memset(&sender, 0, sizeof sender);
    memset(peer, 0, sizeof peer);
    memset(&nav, 0, sizeof nav);
    for (int i = 0; i < 2; i++) peer[i].settings = (peer_settings_t){.system = 1, .component = 1};
    nav = (vfront_nav_t){.t_ns = STATE_NS, .state = VFRONT_NAV_GOOD, .q_odom_imu = {1.0}};
    heartbeat(is_armed);
}

/** Turned by `yaw` at a time, by `rate` about the body's z axis. */
static void attitude(peer_t *p, uint64_t t_ns, float yaw, float rate)
{
    mavlink_message_t m = {.id = MAVLINK_ATTITUDE};
    m.as.attitude.yaw[0] = yaw;
    m.as.attitude.yawspeed[0] = rate;
    take(p, &m, t_ns);
}

static void position(peer_t *p, uint64_t t_ns, float x, float vx)
{
    mavlink_message_t m = {.id = MAVLINK_LOCAL_POSITION_NED};
    m.as.local_position.x[0] = x;
    m.as.local_position.z[0] = -1.5f;
    m.as.local_position.vx[0] = vx;
    take(p, &m, t_ns);
}

static const odometry_start_t *resumed(resume_origin_t expected, const checkpoint_t *of)
{
    assert_int_equal(resume_sender(&sender, peer, 2, of, &nav), expected);
    return &sender.frame.start;
}

static int is_near(double a, double b) { return fabs(a - b) < 1e-6; }

/** The autopilot's own pose, whatever is kept: the sample nearest to the state, carried on. */
static void test_autopilot(void **state)
{
    (void)state;
    begin(1);
    peer[0].autopilot = 12;                  /* of PX4: at once for good */
    for (uint64_t t = 200; t > 0; t -= 50) { /* the state is older than the newest sample, and than the link is fast */
        attitude(&peer[0], STATE_NS - t * MS + 20u * MS, 1.0f - 0.001f * (float)t, 0.5f);
        position(&peer[0], STATE_NS - t * MS + 20u * MS, 5.0f - 0.001f * (float)t, 2.0f);
    }
    const odometry_start_t *s = resumed(RESUME_AUTOPILOT, &kept); /* of 30 ms before */
    assert_true(is_near(s->yaw_rad, 0.95 + 0.5 * 0.03) && is_near(s->position_m[0], 4.95 + 2.0 * 0.03));
    assert_true(is_near(s->position_m[2], -1.5));
    const double moved_m = 2.0 * 0.03 * 0.03 / 2.0; /* 0.1 m, 1 degree, 1 s without vision; stamps within 20 ms */
    assert_true(is_near(s->sigma_m[0], sqrt(0.1 * 0.1 + 0.015 * 0.015 + 0.04 * 0.04 + moved_m * moved_m)));
    assert_true(is_near(s->sigma_yaw_rad, sqrt(0.0175 * 0.0175 + 0.01 * 0.01 + moved_m * moved_m)));
    const double unknown_m = resumed(RESUME_AUTOPILOT, NULL)->sigma_m[1]; /* for how long: 5 s */
    assert_true(is_near(unknown_m, sqrt(0.1 * 0.1 + 0.375 * 0.375 + moved_m * moved_m)));
    checkpoint_t old = kept; /* of a time for which no autopilot flies without anything */
    old.t_ns = STATE_NS - 9000u * MS;
    assert_true(
        is_near(resumed(RESUME_AUTOPILOT, &old)->sigma_m[1], sqrt(0.01 + pow(0.015 * 81.0, 2.0) + moved_m * moved_m)));
    old.t_ns = STATE_NS - 15000u * MS;
    assert_true(is_near(resumed(RESUME_AUTOPILOT, &old)->sigma_m[1], sqrt(0.01 + 1.5 * 1.5 + moved_m * moved_m)));
    nav.t_ns += 33u * MS;
    assert_int_equal(resume_sender(&sender, peer, 2, &kept, &nav), RESUME_AUTOPILOT); /* as long as no state came */
    sender.frame.is_set = 1;
    assert_int_equal(resume_sender(&sender, peer, 2, &kept, &nav), RESUME_NOT_NEEDED);
    nav.state = VFRONT_NAV_LOST;
    sender.frame.is_set = 0;
    assert_int_equal(resume_sender(&sender, peer, 2, &kept, &nav), RESUME_NOT_NEEDED);
}

/** ArduPilot in flight: for half a second its own pose of a large deviation and the reset_counter that it knows, then
 *  the pose that it has by then. Without a checkpoint at once for good. */
static void test_converges(void **state)
{
    mavlink_message_t out[SENDER_MESSAGES];
    (void)state;
    begin(1);
    sender.settings = (sender_settings_t){.rate_hz = 50.0, .T_body_imu = pose_identity};
    sender_follow(&sender, 40);
    for (int i = 0; i < 15; i++) nav.covariance[odometry_index(15, i, i)] = 1e-6;
    for (int frame = 0; frame < 30; frame++, nav.t_ns += 50u * MS) {
        const int is_silent = frame > 8 && frame < 13; /* of an old pose: it is waited for, the kept one is older */
        if (!is_silent) attitude(&peer[0], nav.t_ns, 0.5f, 0.0f);
        if (!is_silent) position(&peer[0], nav.t_ns, frame < 5 ? 5.0f : 5.5f, 0.0f);
        nav.t_ns += is_silent ? 250u * MS : 0;
        const resume_origin_t origin = resume_sender(&sender, peer, 2, &kept, &nav);
        assert_int_equal(origin, frame == 0 || frame == 13 ? RESUME_AUTOPILOT : RESUME_NOT_NEEDED);
        assert_int_equal(sender_state(&sender, &nav, &samples, nav.t_ns, out), 1);
        const int has_converged = frame >= 13;
        assert_true(is_near((double)out[0].as.odometry.x[0], has_converged ? 5.5 : 5.0));
        assert_true(has_converged ? out[0].as.odometry.pose_covariance[0] < 1.0f
                                  : out[0].as.odometry.pose_covariance[0] > 99.0f);
        assert_int_equal(out[0].as.odometry.reset_counter[0], frame < 13 ? 40 : frame == 13 ? 41 : 42);
    }
    begin(1);
    attitude(&peer[0], STATE_NS, 0.5f, 0.0f);
    position(&peer[0], STATE_NS, 5.0f, 0.0f);
    assert_true(resumed(RESUME_AUTOPILOT, NULL)->sigma_m[0] < 1.0 && !sender.converged_ns);
    begin(0); /* on the ground nothing drifted */
    attitude(&peer[0], STATE_NS, 0.5f, 0.0f);
    position(&peer[0], STATE_NS, 5.0f, 0.0f);
    assert_true(resumed(RESUME_AUTOPILOT, &kept)->sigma_m[0] < 1.0 && !sender.converged_ns);
}

/** Rates are about the body's axes: in a bank of 60 degrees the pitch rate turns the nose. */
static void test_banked(void **state)
{
    mavlink_message_t m = {.id = MAVLINK_ATTITUDE};
    (void)state;
    begin(1);
    m.as.attitude.roll[0] = 1.0471976f;
    m.as.attitude.pitchspeed[0] = 0.8f;
    m.as.attitude.yawspeed[0] = 0.4f;
    take(&peer[0], &m, STATE_NS - 100u * MS);
    position(&peer[0], STATE_NS, 0.0f, 0.0f);
    assert_true(is_near(resumed(RESUME_AUTOPILOT, NULL)->yaw_rad, 0.1 * (0.8 * sin(1.0471976) + 0.4 * 0.5)));
}

/** Deviations that PX4 sends, as long as they are of late. */
static void test_accuracy(void **state)
{
    mavlink_message_t m = {.id = MAVLINK_ESTIMATOR_STATUS};
    (void)state;
    begin(1);
    attitude(&peer[1], STATE_NS, 0.0f, 0.0f); /* of the second link: the first has none */
    position(&peer[1], STATE_NS, 1.0f, 0.0f);
    m.as.estimator.pos_horiz_accuracy[0] = 0.75f;
    m.as.estimator.pos_vert_accuracy[0] = 0.001f;
    take(&peer[1], &m, STATE_NS - 1000u * MS);
    const odometry_start_t *s = resumed(RESUME_AUTOPILOT, NULL);
    assert_true(is_near(s->sigma_m[0], 0.75) && is_near(s->sigma_m[1], 0.75) && is_near(s->sigma_m[2], 0.05));
    take(&peer[1], &m, STATE_NS - PEER_ACCURACY_NS);
    assert_true(is_near(resumed(RESUME_AUTOPILOT, NULL)->sigma_m[0], hypot(0.1, 0.375)));
}

/** Without a position of the autopilot the kept one is carried on, with the yaw of ATTITUDE. */
static void test_kept(void **state)
{
    (void)state;
    begin(1);
    attitude(&peer[0], STATE_NS, 2.0f, 0.0f);
    position(&peer[0], STATE_NS - 300u * MS, 9.0f, 0.0f); /* too old */
    const odometry_start_t *s = resumed(RESUME_KEPT, &kept);
    assert_true(is_near(s->position_m[0], 1.5) && is_near(s->position_m[2], -3.25) && is_near(s->yaw_rad, 2.0));
    assert_true(is_near(s->sigma_m[1], hypot(0.1, 1.0)) && is_near(s->sigma_yaw_rad, 0.0175));
    begin(1); /* nothing of the autopilot: the kept yaw, too uncertain to be sent after a second */
    s = resumed(RESUME_KEPT, &kept);
    assert_true(is_near(s->yaw_rad, 0.5) && is_near(s->sigma_yaw_rad, hypot(0.01, 0.4)));
    assert_true(s->sigma_yaw_rad > ODOMETRY_YAW_SIGMA_MAX_RAD);
    sender.frame.is_set = 1;
    attitude(&peer[0], nav.t_ns += 500u * MS, 2.0f, 0.0f); /* it comes after all */
    assert_true(resumed(RESUME_KEPT, &kept)->sigma_yaw_rad < ODOMETRY_YAW_SIGMA_MAX_RAD);
    begin(0); /* on the ground the frame may begin anew, unless a kept yaw is still good */
    assert_true(resumed(RESUME_ZERO, &kept)->position_m[0] == 0.0 && sender.frame.start.sigma_yaw_rad == 0.0);
    nav.t_ns = kept.t_ns + 100u * MS;
    assert_true(is_near(resumed(RESUME_KEPT, &kept)->position_m[0], 1.05));
}

/** Without anything: on the ground zero; in flight ATTITUDE is waited for. */
static void test_nothing(void **state)
{
    (void)state;
    begin(0);
    const odometry_start_t *s = resumed(RESUME_ZERO, NULL);
    assert_true(s->yaw_rad == 0.0 && s->sigma_yaw_rad == 0.0 && s->sigma_m[0] == 0.0);
    attitude(&peer[0], STATE_NS, 2.0f, 0.0f); /* a compass: the local frame has its own heading */
    assert_true(resumed(RESUME_ZERO, NULL)->yaw_rad == 0.0);
    begin(1);
    assert_int_equal(resume_sender(&sender, peer, 2, NULL, &nav), RESUME_WAITS);
    assert_int_equal(resume_sender(&sender, peer, 0, NULL, &nav), RESUME_ZERO); /* no link but files */
    attitude(&peer[0], STATE_NS, 2.0f, 0.0f); /* it flies without a position of its own: none can be wrong */
    s = resumed(RESUME_ZERO, NULL);
    assert_true(is_near(s->yaw_rad, 2.0) && is_near(s->sigma_yaw_rad, 0.0175) && s->position_m[0] == 0.0);
}

/** North: on the ground the first state waits for ATTITUDE and has its yaw, from zero; a later one is none. */
static void test_north(void **state)
{
    (void)state;
    begin(0);
    sender.settings.is_north = 1;
    assert_int_equal(resume_sender(&sender, peer, 2, NULL, &nav), RESUME_WAITS);
    attitude(&peer[0], STATE_NS, 1.25f, 0.0f);
    assert_int_equal(resume_sender(&sender, peer, 2, NULL, &nav), RESUME_ZERO);
    assert_true(fabs(sender.frame.start.yaw_rad - 1.25) < 1e-6 && sender.frame.start.position_m[0] == 0.0);
    sender.frame.is_set = 1; /* a state went: its yaw is never taken again */
    attitude(&peer[0], STATE_NS, 0.5f, 0.0f);
    assert_int_equal(resume_sender(&sender, peer, 2, NULL, &nav), RESUME_NOT_NEEDED);
    assert_true(fabs(sender.frame.start.yaw_rad - 1.25) < 1e-6);
    begin(0); /* without it the frame begins along the nose */
    attitude(&peer[0], STATE_NS, 1.25f, 0.0f);
    assert_int_equal(resume_sender(&sender, peer, 2, NULL, &nav), RESUME_ZERO);
    assert_true(sender.frame.start.yaw_rad == 0.0);
}

/** What is kept of the last message, and comes back. */
static void test_checkpoint(void **state)
{
    static const pose_t flu = {.R = {1, 0, 0, 0, -1, 0, 0, 0, -1}};
    const odometry_start_t start = {{3.0, 4.0, -5.0}, 1.5707963267948966, {0.3, 0.2, 0.1}, 0.05};
    mavlink_message_t out[SENDER_MESSAGES];
    checkpoint_t k = {.restarts = 7};
    (void)state;
    begin(1);
    memset(&samples, 0, sizeof samples);
    sender.settings = (sender_settings_t){.rate_hz = 50.0, .T_body_imu = flu};
    assert_false(resume_checkpoint(&k, &sender));
    sender_follow(&sender, 40);
    sender_resume(&sender, &start, 0);
    for (int i = 0; i < 15; i++) nav.covariance[odometry_index(15, i, i)] = 1e-6;
    nav.velocity_mps[0] = 1.0; /* forward, while it turns to the right */
    const vfront_imu_t turn = {.t_ns = STATE_NS, .gyro_rad_s = {0.0, 0.0, -0.7}, .accel_m_s2 = {0.0, 0.0, 9.81}};
    assert_true(imu_buffer_add(&samples, &turn));
    assert_int_equal(sender_state(&sender, &nav, &samples, STATE_NS, out), 1);
    assert_true(resume_checkpoint(&k, &sender));
    assert_true(k.t_ns == STATE_NS && k.reset_counter == 41 && k.restarts == 7);
    assert_true(is_near(k.position_m[0], 3.0) && is_near(k.position_m[2], -5.0) && is_near(k.yaw_rad, start.yaw_rad));
    assert_true(is_near(k.velocity_mps[0], 0.0) && is_near(k.velocity_mps[1], 1.0)); /* it looks to the right */
    assert_true(is_near(k.yaw_rate_rad_s, 0.7));
    assert_true(fabs(k.sigma_m[0] - 0.3) < 1e-4 && fabs(k.sigma_yaw_rad - 0.05) < 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_autopilot), cmocka_unit_test(test_converges),
                                       cmocka_unit_test(test_banked),    cmocka_unit_test(test_accuracy),
                                       cmocka_unit_test(test_kept),      cmocka_unit_test(test_nothing),
                                       cmocka_unit_test(test_north),     cmocka_unit_test(test_checkpoint)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
