/* SPDX-License-Identifier: MIT */
/* Samples that are wrong while a state is good, through the public interface: about other axes, in degrees, of another
 * time, stuck, all 0. Each is named, the state goes on by two cameras or ends; with right samples it is good again.
 * A camera that sways in the hall of the rendered flight. Host port. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "examples/synthetic/synthetic.h"
#include "tests/fixture/rigid.h"

#define WIDTH 320
#define HEIGHT 240
#define FRAMES 130
#define FRAME_NS 50000000u
#define SAMPLE_NS 5000000u
#define SAMPLES (FRAMES * 10 + 400)
#define START_NS 2000000000ull
#define WRONG 30    /* first frame with wrong samples */
#define ERROR_M 0.5 /* of a state whose samples went wrong, before they are named and after */

static uint8_t picture[FRAMES][2][HEIGHT * WIDTH];
static vfront_rig_t rig;
static vfront_t vf;
static vfront_imu_t correct[SAMPLES], given[SAMPLES];

/** Pose of the body in the hall. */
static void body_at(double t, double R[9], double p[3])
{
    const double w[3][3] = {
        {0, 0, 1.57 + 0.3 * sin(2.1 * t + 0.3)}, {0, 0.2 * sin(2.9 * t), 0}, {0.2 * sin(2.5 * t + 1), 0, 0}};
    double turn[9];
    rotation_of(w[0], R);
    for (int k = 1; k < 3; k++) {
        rotation_of(w[k], turn);
        product(R, turn, 0, R);
    }
    p[0] = 4.1 + 0.4 * sin(1.3 * t);
    p[1] = 0.3 * sin(1.7 * t + 0.5);
    p[2] = 2.4 + 0.2 * sin(1.1 * t + 1);
}

static void draw_samples(void)
{
    const double h = 1e-4;
    shake(7);
    for (int i = 0; i < SAMPLES; i++) {
        const double t = (i - 200) * (SAMPLE_NS * 1e-9);
        double R[3][9], p[3][3], w[3], force[3];
        for (int k = 0; k < 3; k++) body_at(t + (k - 1) * h, R[k], p[k]);
        double back[2][9];
        for (int k = 0; k < 9; k++) {
            back[0][k] = R[0][k % 3 * 3 + k / 3];
            back[1][k] = R[2][k % 3 * 3 + k / 3];
        }
        rotation_between(back[0], back[1], w); /* of R0' R2 */
        for (int k = 0; k < 3; k++)
            force[k] = (p[0][k] - 2 * p[1][k] + p[2][k]) / (h * h) + (k == 2 ? rig.imu.gravity_m_s2 : 0);
        correct[i].t_ns = START_NS + (uint64_t)((int64_t)(i - 200) * SAMPLE_NS);
        for (int k = 0; k < 3; k++) {
            correct[i].gyro_rad_s[k] = w[k] / (2 * h) + 0.01 * (k - 1) + 1.7e-4 * sqrt(200) * normal();
            correct[i].accel_m_s2[k] = R[1][k] * force[0] + R[1][3 + k] * force[1] + R[1][6 + k] * force[2] +
                                       2e-3 * sqrt(200) * normal();
        }
    }
}

static int draw(void **state)
{
    (void)state;
    synthetic_t *hall = synthetic_open(WIDTH, HEIGHT);
    if (!hall) return -1;
    synthetic_rig(hall, &rig);
    synthetic_imu_noise(&rig.imu);
    for (uint32_t i = 0; i < FRAMES; i++) {
        double R[9], p[3], Rc[9];
        body_at(i * (FRAME_NS * 1e-9), R, p);
        product(R, rig.camera[0].R_cam_imu, 1, Rc);
        for (int32_t c = 0; c < 2; c++) synthetic_render_from(hall, i, Rc, p, c, picture[i][c], WIDTH);
    }
    synthetic_close(hall);
    draw_samples();
    return 0;
}

/** A fault of a sample. */
typedef void fault_of(vfront_imu_t *);
static void none(vfront_imu_t *r) { (void)r; }
static void turned(vfront_imu_t *r)
{
    const vfront_imu_t was = *r;
    for (int k = 0; k < 3; k++) {
        r->gyro_rad_s[k] = k == 2 ? was.gyro_rad_s[2] : k ? was.gyro_rad_s[0] : -was.gyro_rad_s[1];
        r->accel_m_s2[k] = k == 2 ? was.accel_m_s2[2] : k ? was.accel_m_s2[0] : -was.accel_m_s2[1];
    }
}
static void in_degrees(vfront_imu_t *r)
{
    for (int k = 0; k < 3; k++) r->gyro_rad_s[k] *= 57.29578;
}
static void late(vfront_imu_t *r) { r->t_ns += 100000000u; }
static void stuck(vfront_imu_t *r)
{
    memcpy(r->gyro_rad_s, correct[300].gyro_rad_s, sizeof r->gyro_rad_s);
    memcpy(r->accel_m_s2, correct[300].accel_m_s2, sizeof r->accel_m_s2);
}
static void zero(vfront_imu_t *r)
{
    memset(r->gyro_rad_s, 0, sizeof r->gyro_rad_s);
    memset(r->accel_m_s2, 0, sizeof r->accel_m_s2);
}

/** Reports of a flight. */
struct flown {
    int first, named, again; /* frame of the first state; in which the fault is named; good again */
    int32_t late_us;         /* last imu_late_us */
    uint32_t seen, others; /* states of frames, a bit each, behind WRONG; bits of health.imu that are not the fault's */
    int motions;           /* GOOD metric motions behind the naming */
    double worst;          /* largest error of position since the first state, in deviations */
    double error_m;        /* the same [m] */
};

static const vfront_result_t *take(int i, int *from, int to)
{
    vfront_frame_t f = {.t_ns = START_NS + (uint64_t)i * FRAME_NS};
    const vfront_result_t *r;
    for (int c = 0; c < 2; c++) {
        f.picture[c].data = picture[i][c];
        f.picture[c].width_px = WIDTH;
        f.picture[c].height_px = HEIGHT;
        f.picture[c].pitch_bytes = WIDTH;
        f.picture[c].format = VFRONT_GREY8;
    }
    while (to < SAMPLES && given[to].t_ns <= f.t_ns + 7000000u) to++;
    if (to > *from) {
        f.imu = &given[*from];
        f.imu_count = (uint32_t)(to - *from);
    }
    *from = to;
    const vfront_status_t status = vfront_step(&vf, &f, &r);
    if (status) fail_msg("frame %d: %s: %s", i, vfront_status_name(status), vfront_detail(&vf));
    return r;
}

/** Distance of a state from the truth, both turned about z and moved to where the first state was. */
static double error_of(const vfront_nav_t *n, const vfront_nav_t *first)
{
    double R[9], p[3], p0[3], R0[9], sine, cosine, e[3];
    const double w = first->q_odom_imu[0], x = first->q_odom_imu[1], y = first->q_odom_imu[2], z = first->q_odom_imu[3];
    const double own[4] = {1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * y - w * z), 1 - 2 * (x * x + z * z)};
    body_at((double)(int64_t)(n->t_ns - START_NS) * 1e-9, R, p);
    body_at((double)(int64_t)(first->t_ns - START_NS) * 1e-9, R0, p0);
    sine = own[1] * R0[0] - own[0] * R0[3] + own[3] * R0[1] - own[2] * R0[4];
    cosine = own[0] * R0[0] + own[1] * R0[3] + own[2] * R0[1] + own[3] * R0[4];
    const double length2 = sqrt(sine * sine + cosine * cosine), s = sine / length2, c = cosine / length2;
    e[0] = c * (p[0] - p0[0]) - s * (p[1] - p0[1]) + first->position_m[0] - n->position_m[0];
    e[1] = s * (p[0] - p0[0]) + c * (p[1] - p0[1]) + first->position_m[1] - n->position_m[1];
    e[2] = p[2] - p0[2] + first->position_m[2] - n->position_m[2];
    return sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]);
}

/** Flies with a fault from frame `from` to frame `to`. */
static struct flown fly(fault_of *of, int from, int to, uint32_t bit)
{
    struct flown f = {.first = -1, .named = -1, .again = -1};
    vfront_tuning_t t;
    vfront_nav_t first = {0};
    int at = 150;
    memcpy(given, correct, sizeof given);
    for (int i = 0; i < SAMPLES; i++)
        if (correct[i].t_ns >= START_NS + (uint64_t)from * FRAME_NS &&
            correct[i].t_ns < START_NS + (uint64_t)to * FRAME_NS)
            of(&given[i]);
    for (int i = 1; i < SAMPLES; i++) /* a time that went on is not given again */
        if (given[i].t_ns <= given[i - 1].t_ns) given[i].t_ns = given[i - 1].t_ns + 1;
    vfront_tuning_default(&t);
    t.vio = 1;
    vfront_shutdown(&vf);
    if (vfront_init(&vf, &rig, &t, VFRONT_PORT_HOST)) fail_msg("%s", vfront_detail(&vf));
    for (int i = 0; i < FRAMES; i++) {
        const vfront_result_t *r = take(i, &at, at);
        const vfront_nav_t *n = &r->nav;
        const int has_state = n->state == VFRONT_NAV_GOOD || n->state == VFRONT_NAV_COASTING ||
                              n->state == VFRONT_NAV_STEREO_ONLY;
        if (has_state && f.first < 0) f.first = i, first = *n;
        if (i >= from) f.seen |= 1u << n->state;
        if (bit && r->health.imu & bit && f.named < 0) f.named = i;
        f.others |= r->health.imu & ~bit;
        f.motions += f.named >= 0 && r->metric.state == VFRONT_MOTION_GOOD;
        if (r->health.imu_late_us) f.late_us = r->health.imu_late_us;
        if (i >= to && n->state == VFRONT_NAV_GOOD && f.again < 0) f.again = i;
        if (has_state && n->reset_counter == 0) {
            const double e = error_of(n, &first), S = n->covariance[0] + n->covariance[15] + n->covariance[29];
            f.error_m = fmax(f.error_m, e);
            f.worst = fmax(f.worst, e / sqrt(S));
        }
    }
    print_message(
        "first %d, named %d, again %d; states %x, other bits %x; late %d us; %d motions; worst %.1f, %.3f m\n", f.first,
        f.named, f.again, f.seen, f.others, f.late_us, f.motions, f.worst, f.error_m);
    return f;
}

/** Samples that are right are not named. */
static void correct_samples(void **state)
{
    (void)state;
    const struct flown f = fly(none, FRAMES, FRAMES, 0);
    assert_true(f.first >= 3 && f.first < 20 && f.others == 0 && f.late_us == 0 && f.worst < 4);
}

/** States that a frame may have behind a fault. */
#define BY_STEREO (1u << VFRONT_NAV_STEREO_ONLY)
#define BY_SAMPLES (1u << VFRONT_NAV_GOOD)

/** About other axes, in degrees: named, and left out. */
static void axes_and_degrees(void **state)
{
    (void)state;
    static const struct {
        fault_of *of;
        uint32_t bit;
    } one[] = {{turned, VFRONT_IMU_AXES}, {in_degrees, VFRONT_IMU_IN_DEGREES}};
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        const struct flown f = fly(one[i].of, WRONG, FRAMES, one[i].bit);
        assert_true(f.first < WRONG && f.named > WRONG && f.named < WRONG + 50);
        assert_true(f.seen & BY_STEREO);
        assert_true(f.motions >= FRAMES - f.named - 2); /* by the pictures alone */
        REQUIRE(f.error_m < ERROR_M, "%g m\n", f.error_m);
    }
}

/** From the first frame on: no state by them. */
static void from_first_frame(void **state)
{
    (void)state;
    const struct flown f = fly(turned, 0, FRAMES, VFRONT_IMU_AXES);
    assert_true(f.named > 0 && f.named < 80 && !(f.seen & BY_SAMPLES));
}

/** Of 100 ms later: named, with the time. */
static void late_samples(void **state)
{
    (void)state;
    const struct flown f = fly(late, 0, FRAMES, VFRONT_IMU_CLOCK);
    assert_true(f.named > 0 && f.named < 80 && !(f.seen & BY_SAMPLES));
    assert_true(f.late_us > 85000 && f.late_us < 115000);
}

/** Stuck, all 0, for a while: named at once, and soon after they are right the state is good again, where it was. */
static void dead(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct flown f = fly(i ? zero : stuck, WRONG, WRONG + 30, VFRONT_IMU_STUCK | VFRONT_IMU_ZERO);
        assert_true(f.named >= WRONG && f.named <= WRONG + 2 && f.others == 0 && f.late_us == 0);
        assert_true(f.seen == (BY_STEREO | BY_SAMPLES) && f.again >= WRONG + 30 && f.again < WRONG + 45);
        REQUIRE(f.worst < 6 && f.error_m < 0.3, "%g, %g m\n", f.worst, f.error_m);
    }
}

int main(void)
{
    const struct CMUnitTest test[] = {cmocka_unit_test(correct_samples), cmocka_unit_test(axes_and_degrees),
                                      cmocka_unit_test(from_first_frame), cmocka_unit_test(late_samples),
                                      cmocka_unit_test(dead)};
    return cmocka_run_group_tests_name("imu_fault", test, draw, NULL);
}
