/* SPDX-License-Identifier: MIT
 *
 * Vehicle, pilot and judge of the closed loop (examples/hil), without pictures: the airframe against closed forms; the
 * pilot on messages that say the truth, that stop, that say failure, that lie; verdicts of flights that are made up.
 */
#include <math.h>
#include <string.h>

#include "examples/hil/airframe.h"
#include "examples/hil/autopilot.h"
#include "examples/hil/loop_rules.h"
#include "examples/common/pose.h"
#include "tests/fixture/random.h"

#define MS 1000000ull
#define FRAME_NS 33000000ull
#define DELAY_MAX 8

static airframe_t airframe;
static airframe_imu_t imu;
static pilot_t pilot;
static uint64_t now_ns;
static struct {
    uint64_t due_ns;
    mavlink_message_t m;
} waiting[DELAY_MAX];
static int waits;

/* ---- airframe ---------------------------------------------------------------------------------------------------- */

static void turns_by_torque(void **state)
{
    static const double inertia[3] = AIRFRAME_INERTIA, idle[4] = {0};
    (void)state;
    airframe_begin(&airframe, 0, 0, 1);
    airframe.p_m[2] = 100.0;
    airframe.rate_rad_s[2] = 3.0;
    for (int i = 0; i < 1000; i++) airframe_step(&airframe, idle);
    const double decay = 0.003 / inertia[2], rate = 3.0 * exp(-decay), angle = 3.0 / decay * (1.0 - exp(-decay));
    assert_true(fabs(airframe.rate_rad_s[2] - rate) < 1e-3);
    assert_true(fabs(airframe.R_world_body[0] - cos(angle)) < 2e-3);
    assert_true(fabs(airframe.R_world_body[3] - sin(angle)) < 2e-3);
    assert_true(pose_is_rotation(airframe.R_world_body));
    /* falls: gravity against drag, wind aside */
    const double time = 1.5 / 0.35, v = -9.81 * time * (1.0 - exp(-1.0 / time));
    assert_true(fabs(airframe.v_mps[2] - v) < 0.4);
}

static void stationary_imu_reads_gravity(void **state)
{
    static const double idle[4] = {0};
    double sum[6] = {0}, square = 0.0;
    vfront_imu_t r = {0}, before;
    (void)state;
    airframe_begin(&airframe, 1, 2, 7);
    airframe_imu_begin(&imu, 3);
    memset(imu.gyro_bias_rad_s, 0, sizeof imu.gyro_bias_rad_s);
    memset(imu.accel_bias_m_s2, 0, sizeof imu.accel_bias_m_s2);
    for (int i = 0; i < 3000; i++) {
        airframe_step(&airframe, idle);
        if (i % 5) continue;
        before = r;
        airframe_imu_read(&imu, &airframe, (uint64_t)i * MS, &r);
        for (int k = 0; k < 3; k++) {
            sum[k] += r.gyro_rad_s[k] / 600.0;
            sum[3 + k] += r.accel_m_s2[k] / 600.0;
        }
        square += pow(r.gyro_rad_s[0] - before.gyro_rad_s[0], 2.0) / 1200.0;
    }
    assert_true(airframe.is_on_floor && airframe.tilt_cosine_min > 0.999);
    assert_true(fabs(airframe.p_m[2] - (AIRFRAME_LEGS_M - 1.5 * 9.81 / 6000.0)) < 1e-3);
    assert_true(fabs(airframe.p_m[0] - 1.0) < 0.05 && fabs(airframe.p_m[1] - 2.0) < 0.05);
    for (int k = 0; k < 3; k++) {
        assert_true(fabs(sum[k]) < 2e-3);
        assert_true(fabs(sum[3 + k] - (k == 2 ? 9.81 : 0.0)) < 0.05);
    }
    const double noise = 1.7e-4 * sqrt(200.0); /* as its data sheet has it */
    assert_true(sqrt(square) > 0.8 * noise && sqrt(square) < 1.3 * noise);
}

/* ---- pilot ------------------------------------------------------------------------------------------------------- */

static double sigma_m; /* of the position, as messages say it */

static void begin(pilot_mission_t mission)
{
    memset(&pilot, 0, sizeof pilot);
    sigma_m = 0.0;
    waits = 0;
    now_ns = 1000u * MS;
    pilot.mission = mission;
    pilot.square_ns = now_ns + 6000u * MS;
    airframe_begin(&airframe, 0, 0, 5);
    airframe_imu_begin(&imu, 9);
}

/** ODOMETRY of the truth, in its axes: z down, y right. */
static mavlink_message_t truth(void)
{
    static const double flip[3] = {1.0, -1.0, -1.0};
    mavlink_message_t m = {.id = MAVLINK_ODOMETRY};
    double R[9], q[4], v[3] = {0};
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            R[3 * r + c] = flip[r] * airframe.R_world_body[3 * r + c] * flip[c];
            v[c] += airframe.R_world_body[3 * r + c] * airframe.v_mps[r];
        }
    pose_quaternion(R, q);
    m.as.odometry.time_usec[0] = now_ns / 1000u;
    m.as.odometry.x[0] = (float)airframe.p_m[0];
    m.as.odometry.y[0] = (float)-airframe.p_m[1];
    m.as.odometry.z[0] = (float)-airframe.p_m[2];
    m.as.odometry.q[0] = (float)q[3];
    for (int k = 0; k < 3; k++) m.as.odometry.q[1 + k] = (float)q[k];
    m.as.odometry.vx[0] = (float)v[0];
    m.as.odometry.vy[0] = (float)-v[1];
    m.as.odometry.vz[0] = (float)-v[2];
    m.as.odometry.quality[0] = 90;
    m.as.odometry.pose_covariance[0] = m.as.odometry.pose_covariance[6] = (float)(sigma_m * sigma_m);
    return m;
}

static void send(const mavlink_message_t *m)
{
    assert_true(waits < DELAY_MAX);
    waiting[waits].due_ns = now_ns + LOOP_DELAY_NS;
    waiting[waits++].m = *m;
}

/** A millisecond. 1: a frame is due. */
static int step(void)
{
    int kept = 0;
    vfront_imu_t r;
    airframe_step(&airframe, pilot.rotor_n);
    now_ns += MS;
    for (int i = 0; i < waits; i++) {
        if (waiting[i].due_ns <= now_ns)
            pilot_message(&pilot, &waiting[i].m, now_ns);
        else
            waiting[kept++] = waiting[i];
    }
    waits = kept;
    if (now_ns % (5u * MS) == 0) {
        airframe_imu_read(&imu, &airframe, now_ns, &r);
        pilot_imu(&pilot, &r);
    }
    return now_ns % FRAME_NS == 0;
}

static double error(void)
{
    double square = 0.0;
    for (int k = 0; k < 3; k++) {
        const double e = airframe.p_m[k] - pilot.home_m[k] - pilot.setpoint_m[k];
        square += e * e;
    }
    return pilot.phase == PILOT_FLIES ? sqrt(square) : 0.0;
}

/** Fly so long on the truth; the worst error, and how near it came to the corners of the square. */
static double fly(double seconds, double corner[4])
{
    static const double at[4][2] = {{2, 0}, {2, 2}, {0, 2}, {0, 0}};
    double worst = 0.0;
    for (int i = 0; i < (int)(seconds * 1000.0); i++) {
        if (step()) {
            const mavlink_message_t m = truth();
            send(&m);
        }
        worst = fmax(worst, error());
        for (int k = 0; corner && k < 4; k++)
            corner[k] = fmin(corner[k], hypot(airframe.p_m[0] - at[k][0], airframe.p_m[1] - at[k][1]));
    }
    return worst;
}

static void flies_a_square(void **state)
{
    double corner[4] = {9, 9, 9, 9};
    (void)state;
    begin(PILOT_SQUARE);
    const double worst = fly(28.0, corner);
    print_message("worst %.3f m, corners %.2f %.2f %.2f %.2f m\n", worst, corner[0], corner[1], corner[2], corner[3]);
    assert_true(worst < 0.5);
    for (int k = 0; k < 4; k++) assert_true(corner[k] < 0.2);
    assert_true(pilot.phase == PILOT_FLIES && pilot.takeoffs == 1 && airframe.tilt_cosine_min > 0.8);
    for (int k = 0; k < 3; k++) assert_true(fabs(pilot.gyro_bias_rad_s[k] - imu.gyro_bias_rad_s[k]) < 0.01);
}

/** A position that has grown uncertain over a long time without pictures takes nothing from velocity and attitude. */
static void flies_on_velocity(void **state)
{
    (void)state;
    begin(PILOT_SQUARE);
    sigma_m = 4.0;
    const double worst = fly(28.0, NULL);
    print_message("worst %.3f m\n", worst);
    assert_true(worst < 0.7 && pilot.takeoffs == 1);
}

static void waits_for_messages(void **state)
{
    (void)state;
    begin(PILOT_SQUARE);
    for (int i = 0; i < 3000; i++) step();
    assert_true(pilot.phase == PILOT_WAITS && airframe.p_m[2] < 0.13);
}

static void survives_a_gap_and_no_more(void **state)
{
    (void)state;
    begin(PILOT_SQUARE);
    fly(5.0, NULL);
    for (int i = 0; i < 900; i++) step();
    assert_int_equal(pilot.phase, PILOT_FLIES);
    assert_true(fly(2.0, NULL) < 0.5);
    for (int i = 0; i < 1100; i++) step();
    assert_int_equal(pilot.phase, PILOT_BLIND);
}

static void come_down(uint64_t seed)
{
    begin(PILOT_SQUARE);
    airframe_begin(&airframe, 0, 0, seed);
    airframe_imu_begin(&imu, seed + 50);
    pilot.square_ns = UINT64_MAX;
    fly(6.0, NULL);
    for (int i = 0; i < 9000; i++) {
        mavlink_message_t m = truth();
        m.as.odometry.quality[0] = -1;
        if (step()) send(&m);
        if (i == 900) assert_int_equal(pilot.phase, PILOT_FLIES);
        if (i == 1100) assert_int_equal(pilot.phase, PILOT_BLIND);
    }
    assert_true(pilot.phase == PILOT_WAITS && airframe.is_on_floor);
    assert_true(airframe.touch_mps > 0.1 && airframe.touch_mps < LOOP_TOUCH_MPS);
    fly(5.0, NULL);
    assert_true(pilot.phase == PILOT_FLIES && pilot.takeoffs == 2);
    const double worst = fly(2.0, NULL);
    print_message("wind %d: touch-down %.2f m/s, %.2f m from where it took off, then %.3f m off\n", (int)seed,
                  airframe.touch_mps, hypot(airframe.p_m[0], airframe.p_m[1]), worst);
    assert_true(worst < 0.5);
}

/** Quality -1 is no measurement; in 20 kinds of wind. */
static void descends_on_failure_and_resumes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) come_down(seed);
}

/** A sender that mixes up left and right, as users do: the loop does not close. */
static void falls_for_a_lie(void **state)
{
    double worst = 0.0;
    (void)state;
    begin(PILOT_SQUARE);
    for (int i = 0; i < 15000; i++) {
        if (step()) {
            mavlink_message_t m = truth();
            m.as.odometry.vy[0] = -m.as.odometry.vy[0];
            m.as.odometry.y[0] = -m.as.odometry.y[0];
            send(&m);
        }
        worst = fmax(worst, fabs(airframe.p_m[1]));
    }
    assert_true(worst > LOOP_MAX_M);
}

static void stops_before_a_wall(void **state)
{
    (void)state;
    for (int is_known = 0; is_known < 2; is_known++) {
        begin(PILOT_AHEAD);
        for (int i = 0; i < 20000; i++) {
            if (!step()) continue;
            const mavlink_message_t m = truth();
            mavlink_message_t o = {.id = MAVLINK_OBSTACLE_DISTANCE};
            for (int k = 0; k < 72; k++) o.as.obstacles.distances[k] = 65535;
            for (int k = -5; k <= 5; k++)
                if (is_known) o.as.obstacles.distances[(k + 72) % 72] = (uint16_t)(100.0 * (6.0 - airframe.p_m[0]));
            send(&m);
            send(&o);
        }
        const double left = 6.0 - airframe.p_m[0];
        print_message("%s: %.2f m from the wall\n", is_known ? "distances" : "nothing known", left);
        assert_true(is_known ? left > LOOP_NEAR_M && left < LOOP_FAR_M : left > 5.5);
    }
}

/* ---- judge ------------------------------------------------------------------------------------------------------- */

static loop_frame_t frame[1400];
static loop_t made;
static loop_evaluation_t evaluation;

/** A flight that is all right, its fault from 180 on for 20 s. */
static void make_good(uint32_t frames)
{
    memset(&made, 0, sizeof made);
    memset(frame, 0, sizeof frame);
    made = (loop_t){.frame = frame, .frames = frames, .room = frames, .tilt_cosine_min = 1.0};
    for (uint32_t i = 0; i < frames; i++) {
        frame[i].t_ns = (uint64_t)i * LOOP_FRAME_NS;
        frame[i].phase = i < 40 ? PILOT_WAITS : PILOT_FLIES;
        frame[i].has_fault = i >= 180 && i < 780;
        frame[i].is_finite = 1;
        frame[i].error_m = i < 40 ? 0.0 : 0.3;
        frame[i].ahead_m = 1.5;
    }
}

/** Lost at frame 300, on the floor from 400 on, off again at `again`. */
static void lose(uint32_t again)
{
    for (uint32_t i = 300; i < made.frames; i++) {
        frame[i].phase = i < 400 ? PILOT_BLIND : i < again ? PILOT_WAITS : PILOT_FLIES;
        if (i < again) frame[i].error_m = 0.0;
    }
}

static uint32_t away_ms; /* of the board, in a restart */

static const char *evaluated(int cannot_survive, int has_wall)
{
    const loop_rule_t rule = {"made up", "both black", 0, 0, cannot_survive, has_wall, {.away_ms = away_ms}};
    loop_evaluate(&evaluation, &rule, &made);
    assert_int_equal(evaluation.passed, !*evaluation.why);
    return evaluation.why;
}

static void evaluates(void **state)
{
    (void)state;
    make_good(900);
    assert_string_equal(evaluated(0, 0), "");
    assert_true(fabs(evaluation.worst_m - 0.3) < 1e-9 && !evaluation.was_lost);
    frame[500].error_m = 1.01;
    assert_non_null(strstr(evaluated(0, 0), "beyond 1 m"));
    make_good(900);
    frame[500].is_finite = 0;
    assert_non_null(strstr(evaluated(0, 0), "not finite"));
    make_good(900);
    made.has_crashed = 1;
    assert_non_null(strstr(evaluated(0, 0), "crashes"));
    make_good(900);
    made.frames = 600;
    assert_non_null(strstr(evaluated(0, 0), "ends early"));
    make_good(1260);
    lose(820);
    assert_non_null(strstr(evaluated(0, 0), "is lost"));
    assert_string_equal(evaluated(1, 0), "");
    assert_true(fabs(evaluation.lost_after_s - 4.0) < 0.1 && fabs(evaluation.recovery_s - 1.37) < 0.1);
    frame[299].error_m = 1.2;
    assert_non_null(strstr(evaluated(1, 0), "beyond 1 m, and not reported"));
    make_good(1260);
    lose(820);
    frame[1259].error_m = 1.2;
    assert_non_null(strstr(evaluated(1, 0), "not there at the end"));
    make_good(1260);
    lose(1250);
    assert_non_null(strstr(evaluated(1, 0), "does not fly at the end"));
    make_good(1260);
    lose(820);
    made.touch_mps = 2.0;
    assert_non_null(strstr(evaluated(1, 0), "hard landing"));
    make_good(900);
    assert_string_equal(evaluated(0, 1), "");
    frame[899].ahead_m = 0.5;
    assert_non_null(strstr(evaluated(0, 1), "does not stop"));
    make_good(900);
    frame[890].speed_mps = 0.5;
    assert_non_null(strstr(evaluated(0, 1), "not at rest"));
    make_good(900);
    made.frames = 0;
    assert_non_null(strstr(evaluated(0, 0), "ends early"));
}

/** What comes after a restart is near the truth, as near as it says, and has another number. */
static void evaluates_restarts(void **state)
{
    (void)state;
    away_ms = 1000;
    make_good(900);
    assert_non_null(strstr(evaluated(0, 0), "no message after the restart"));
    made.after = (truth_errors_t){.messages = 100, .worst_m = 0.29, .worst_rad = 0.05, .worst_sigmas = 2.9};
    assert_string_equal(evaluated(0, 0), "");
    made.after.worst_sigmas = 3.1;
    assert_non_null(strstr(evaluated(0, 0), "more than it reports"));
    made.after.worst_sigmas = 2.9;
    made.after.worst_m = 0.31;
    assert_non_null(strstr(evaluated(0, 0), "wrong pose"));
    made.after.worst_m = 0.29;
    made.after.worst_rad = 0.053;
    assert_non_null(strstr(evaluated(0, 0), "wrong pose"));
    made.after.worst_rad = 0.05;
    made.has_same_counter = 1;
    assert_non_null(strstr(evaluated(0, 0), "reset_counter"));
    away_ms = 0;
    assert_string_equal(evaluated(0, 0), "");
}

/** Messages of the pilot's pose beside the truth: the pilot's frame is the world's. */
static void pilot_reports_its_pose(void **state)
{
    mavlink_message_t m[AUTOPILOT_MESSAGES];
    vfront_imu_t sample;
    (void)state;
    begin(PILOT_SQUARE);
    fly(12.0, NULL); /* on its way */
    const double *R = airframe.R_world_body, yaw = atan2(R[3], R[0]);
    airframe_imu_read(&imu, &airframe, now_ns, &sample);
    assert_int_equal(autopilot_messages(&pilot, &sample, 0, m), 1);
    assert_int_equal(autopilot_messages(&pilot, &sample, 1, m), 3);
    assert_int_equal(m[0].as.heartbeat.base_mode[0], 128);
    const mavlink_message_t o = truth();
    assert_true(fabsf(m[2].as.local_position.x[0] - o.as.odometry.x[0]) < 0.1f);
    assert_true(fabsf(m[2].as.local_position.y[0] - o.as.odometry.y[0]) < 0.1f);
    assert_true(fabsf(m[2].as.local_position.z[0] - o.as.odometry.z[0]) < 0.1f);
    assert_true(fabs((double)m[1].as.attitude.yaw[0] + yaw) < 0.03 && m[2].as.local_position.z[0] < -1.0f);
    assert_true(fabs((double)m[1].as.attitude.roll[0] - atan2(R[7], R[8])) < 0.03);
    assert_true(fabs((double)m[1].as.attitude.pitch[0] - asin(R[6])) < 0.03);
    assert_true(fabs((double)m[1].as.attitude.yawspeed[0] + airframe.rate_rad_s[2]) < 0.1);
}

/** ODOMETRY beside the truth, in local axes that are turned by 2 rad. */
static void odometry_beside_the_truth(void **state)
{
    static truth_t beside;
    truth_errors_t errors = {0};
    mavlink_message_t o = {.id = MAVLINK_ODOMETRY};
    (void)state;
    memset(&beside, 0, sizeof beside);
    begin(PILOT_SQUARE);
    /* the local frame begins at the first message: level, 2 rad to the left, where the body was */
    const double c = cos(2.0), s = sin(2.0), forward_m = 3.0, left_m = 0.5;
    airframe_begin(&airframe, 4.0, -5.0, 1);
    const double turned[9] = {c, -s, 0, s, c, 0, 0, 0, 1};
    memcpy(airframe.R_world_body, turned, sizeof turned);
    truth_add(&beside, &airframe, now_ns);
    o.as.odometry.quality[0] = 90;
    o.as.odometry.q[0] = 1.0f;
    o.as.odometry.time_usec[0] = now_ns / 1000u;
    for (int k = 0; k < 21; k++) o.as.odometry.pose_covariance[k] = 0.01f;
    truth_compare(&beside, &o, &errors);
    assert_true(errors.messages == 1 && errors.worst_m < 1e-6 && errors.worst_rad < 1e-6);
    airframe.p_m[0] += c * forward_m - s * left_m;
    airframe.p_m[1] += s * forward_m + c * left_m;
    airframe.p_m[2] += 1.0;
    truth_add(&beside, &airframe, now_ns + 5u * MS);
    o.as.odometry.time_usec[0] += 5000u;
    o.as.odometry.x[0] = 3.0f;
    o.as.odometry.y[0] = -0.5f;
    o.as.odometry.z[0] = -1.0f;
    truth_compare(&beside, &o, &errors);
    assert_true(errors.messages == 2 && errors.worst_m < 1e-6 && errors.worst_rad < 1e-6);
    const double further[9] = {cos(2.5), -sin(2.5), 0, sin(2.5), cos(2.5), 0, 0, 0, 1}; /* 0.5 rad to the left */
    memcpy(airframe.R_world_body, further, sizeof further);
    truth_add(&beside, &airframe, now_ns + 10u * MS);
    o.as.odometry.time_usec[0] += 5000u;
    o.as.odometry.q[0] = (float)cos(0.25);
    o.as.odometry.q[3] = (float)-sin(0.25);
    truth_compare(&beside, &o, &errors);
    assert_true(errors.messages == 3 && errors.worst_m < 1e-6 && errors.worst_rad < 1e-6);
    o.as.odometry.y[0] = -0.25f;
    o.as.odometry.q[0] = (float)cos(0.2);
    o.as.odometry.q[3] = (float)-sin(0.2);
    truth_compare(&beside, &o, &errors);
    assert_true(fabs(errors.worst_m - 0.25) < 1e-6 && fabs(errors.worst_rad - 0.1) < 1e-6);
    assert_true(fabs(errors.worst_sigmas - 2.5) < 1e-5);
}

/** Every row's script is one, and touches the frames that it should. */
static void scripts_are_right(void **state)
{
    static char text[1 << 16];
    const loop_rule_t *rule;
    size_t rows = 0, lost = 0;
    (void)state;
    for (; (rule = loop_row(rows)) != NULL; rows++) {
        fault_script_t script = {0};
        uint32_t touched = 0;
        assert_true(loop_script(rule, 20, text, sizeof text));
        lost += rule->cannot_survive != 0;
        if (!rule->fault) continue;
        assert_null(fault_script_parse(&script, rule->name, text, strlen(text)));
        for (uint32_t f = 0; f < loop_frames(rule, 20); f++) {
            int active = 0;
            for (uint32_t i = 0; i < script.count; i++) active |= fault_active(&script.fault[i], f, 0, 0);
            assert_true(!active || (f >= LOOP_FAULT_FRAME && f < LOOP_FAULT_FRAME + 600));
            touched += (uint32_t)active;
        }
        assert_int_equal(touched, rule->of ? 600 / rule->of * rule->on + (600 % rule->of ? rule->on : 0) : 600);
        fault_script_free(&script);
    }
    assert_true(rows >= 40 && lost < rows / 2);
    assert_false(loop_script(loop_row(3), 3600, text, 100));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_by_torque),
        cmocka_unit_test(stationary_imu_reads_gravity),
        cmocka_unit_test(flies_a_square),
        cmocka_unit_test(flies_on_velocity),
        cmocka_unit_test(waits_for_messages),
        cmocka_unit_test(survives_a_gap_and_no_more),
        cmocka_unit_test(descends_on_failure_and_resumes),
        cmocka_unit_test(falls_for_a_lie),
        cmocka_unit_test(stops_before_a_wall),
        cmocka_unit_test(evaluates),
        cmocka_unit_test(evaluates_restarts),
        cmocka_unit_test(pilot_reports_its_pose),
        cmocka_unit_test(odometry_beside_the_truth),
        cmocka_unit_test(scripts_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
