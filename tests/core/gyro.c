/* SPDX-License-Identifier: MIT */
/* Errors of the gyro through the public interface, on a rendered flight at 10 frames/s: motions stay GOOD with a bias
 * that a calibration leaves out; a bias that jumps contradicts them, until it is learned anew; no error is learned from
 * a frame whose metric motion jumps. */
#include "tests/fixture/pair.h"

#include <math.h>

#include "examples/synthetic/synthetic.h"

#define WIDTH_PX 160
#define HEIGHT_PX 120
#define EVERY 3           /* of 30 frames/s: 10 frames/s */
#define AHEAD_NS 7000000u /* time by which the samples of a frame extend beyond it */

static synthetic_t *flight;
static uint32_t every = EVERY; /* frames of 30 frames/s from one step to the next */
static vfront_rig_t rig;

/** Frame of the flight, whose gyro has a bias [rad/s]. The next call overwrites it. */
static vfront_frame_t frame_at(uint32_t number, const double bias_radps[3])
{
    static uint8_t grey[VFRONT_CAMERAS][WIDTH_PX * HEIGHT_PX];
    static vfront_imu_t imu[VFRONT_IMU_SAMPLES];
    const uint32_t i = every * number;
    vfront_frame_t f;
    memset(&f, 0, sizeof f);
    f.t_ns = synthetic_time_ns(i);
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        synthetic_render(flight, i, c, grey[c], WIDTH_PX);
        f.picture[c] = (vfront_picture_t){.data = grey[c],
                                          .width_px = WIDTH_PX,
                                          .height_px = HEIGHT_PX,
                                          .pitch_bytes = WIDTH_PX,
                                          .format = VFRONT_GREY8};
    }
    const uint64_t from_ns = i ? synthetic_time_ns(i - every) + AHEAD_NS : f.t_ns - 20000000u;
    f.imu = imu;
    f.imu_count = synthetic_imu(from_ns, f.t_ns + AHEAD_NS, imu, VFRONT_IMU_SAMPLES);
    for (uint32_t n = 0; n < f.imu_count; n++)
        for (int k = 0; k < 3; k++) imu[n].gyro_rad_s[k] += bias_radps[k];
    return f;
}

static const vfront_result_t *step(uint32_t number, const double bias_radps[3])
{
    const vfront_frame_t f = frame_at(number, bias_radps);
    const vfront_result_t *r;
    const vfront_status_t status = vfront_step(&pair_vf, &f, &r);
    if (status) fail_msg("frame %u: %s: %s", number, vfront_status_name(status), vfront_detail(&pair_vf));
    return r;
}

static void start_with(const vfront_tuning_t *t)
{
    vfront_shutdown(&pair_vf);
    const vfront_status_t status = vfront_init(&pair_vf, &rig, t, VFRONT_PORT_HOST);
    if (status) fail_msg("%s: %s", vfront_status_name(status), vfront_detail(&pair_vf));
}

static void start(int vio)
{
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.vio = vio;
    start_with(&t);
}

/** A bias of 0.1 rad/s, about each axis and about none: every metric motion is GOOD, and no motion contradicts the
 *  prior. */
static void biased_gyro(void **state)
{
    (void)state;
    for (int axis = 0; axis < 4; axis++) {
        double bias[3] = {0, 0, 0};
        if (axis < 3) bias[axis] = 0.1;
        start(1);
        for (uint32_t i = 0; i < 40; i++) {
            const vfront_result_t *r = step(i, bias);
            if (!i) continue;
            if (r->metric.state != VFRONT_MOTION_GOOD)
                fail_msg("axis %d, frame %u: metric state %u, flags %u", axis, i, r->metric.state, r->metric.flags);
            assert_int_equal((r->metric.flags | r->relative.flags) & VFRONT_MOTION_PRIOR, 0);
            assert_int_equal(r->health.gyro_short, 0);
        }
    }
}

/** The bias jumps by 0.25 rad/s in frame 30: motions contradict the prior 64 times, and never after that. While the
 *  jump counts as a fault of the IMU's axes, there is no prior. `prior_rms_rad` follows: from 64 frames before the
 *  frame, less than a fifth of the bias of a frame. */
static void bias_that_jumps(void **state)
{
    int contradictions = 0;
    (void)state;
    start(1);
    for (uint32_t i = 0; i < 170; i++) {
        const double bias[3] = {0.02, -0.03, i < 30 ? 0.01 : 0.26};
        const vfront_result_t *r = step(i, bias);
        const uint32_t prior = r->metric.flags & VFRONT_MOTION_PRIOR;
        const uint32_t expected = prior ? VFRONT_MOTION_UNSURE : i ? VFRONT_MOTION_GOOD : VFRONT_MOTION_NONE;
        if (r->metric.state != expected || (prior && (i < 30 || contradictions == 64)))
            fail_msg("frame %u: metric state %u, flags %u", i, r->metric.state, r->metric.flags);
        contradictions += prior != 0;
        if (i == 29 || i == 169) assert_true(r->health.prior_rms_rad > 0.0f && r->health.prior_rms_rad < 0.012f);
    }
    assert_int_equal(contradictions, 64);
}

/** With a bound on the camera's acceleration that the flight exceeds, some metric motions jump, while the relative ones
 *  stay GOOD. `prior_rms_rad`, the mean length of the differences that the gyro's errors are learned from, is that
 *  before the frame: a frame whose metric motion jumps does not change it, every other one does. */
static void jumps_are_not_learned(void **state)
{
    const double bias[3] = {0.02, -0.03, 0.01};
    int jumps = 0, jumped = 0;
    float before_rad = 0.0f;
    vfront_tuning_t t;
    (void)state;
    vfront_tuning_default(&t);
    t.ego_jump_mmps2 = 1;
    every = 5; /* 6 frames/s: the metric motions are long beside their deviations */
    start_with(&t);
    for (uint32_t i = 0; i < 60; i++) {
        const vfront_result_t *r = step(i, bias);
        const float rms_rad = r->health.prior_rms_rad;
        if (i > 1 && (rms_rad == before_rad) != jumped)
            fail_msg("frame %u: mean difference %g, before %g rad, after a jump: %d", i, (double)rms_rad,
                     (double)before_rad, jumped);
        jumped = (r->metric.flags & VFRONT_MOTION_JUMP) != 0;
        if (i) assert_int_equal(r->relative.state, VFRONT_MOTION_GOOD);
        if (i) assert_int_equal(r->metric.state, jumped ? VFRONT_MOTION_UNSURE : VFRONT_MOTION_GOOD);
        before_rad = rms_rad;
        jumps += jumped;
    }
    every = EVERY;
    assert_true(jumps >= 2);
}

/** Angle between a rotation and that of the flight over the last frames [rad]. */
static double angle_to_truth(const float R[9], uint32_t number, uint32_t frames)
{
    double T[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, trace = 0.0;
    for (uint32_t i = EVERY * (number - frames) + 1; i <= EVERY * number; i++) {
        double step[9], product[9];
        synthetic_rotation(i, step);
        for (int k = 0; k < 9; k++)
            product[k] = step[k / 3 * 3] * T[k % 3] + step[k / 3 * 3 + 1] * T[3 + k % 3] +
                         step[k / 3 * 3 + 2] * T[6 + k % 3];
        memcpy(T, product, sizeof T);
    }
    for (int k = 0; k < 9; k++) trace += (double)R[k] * T[k];
    return acos(fmin(1.0, (trace - 1.0) / 2.0));
}

/** Every fourth and fifth frame is without images: its rotation is none, also with a known bias. That over the gap of
 *  three intervals is corrected by all of the bias, 37 mrad. Without an estimator, whose prediction would replace the
 *  rotation. */
static void missing_pictures(void **state)
{
    const double bias[3] = {0.05, -0.1, 0.05};
    (void)state;
    start(0);
    for (uint32_t i = 0; i < 60; i++) {
        const int missing = i % 5 > 2, after = i && i % 5 == 0;
        vfront_frame_t f = frame_at(i, bias);
        const vfront_result_t *r;
        for (int c = 0; c < VFRONT_CAMERAS && missing; c++) f.picture[c].format = VFRONT_NO_PICTURE;
        assert_int_equal(vfront_step(&pair_vf, &f, &r), VFRONT_OK);
        if (!i) continue;
        const uint32_t expected = missing || after ? VFRONT_MOTION_FROZEN : VFRONT_MOTION_GOOD;
        if (r->metric.state != expected)
            fail_msg("frame %u: metric state %u, flags %u", i, r->metric.state, r->metric.flags);
        assert_int_equal(r->predicted.source & VFRONT_PREDICT_ROTATION, VFRONT_PREDICT_ROTATION);
        for (int k = 0; k < 9 && missing; k++) assert_true(r->predicted.R[k] == (k % 4 ? 0.0f : 1.0f));
        if (missing || i < 30) continue;
        const double angle = angle_to_truth(r->predicted.R, i, after ? 3 : 1);
        if (angle > (after ? 6e-3 : 4e-3)) fail_msg("frame %u: rotation off by %g rad", i, angle);
    }
}

static int end(void **state)
{
    (void)state;
    vfront_shutdown(&pair_vf);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(biased_gyro, end), cmocka_unit_test_teardown(bias_that_jumps, end),
        cmocka_unit_test_teardown(jumps_are_not_learned, end), cmocka_unit_test_teardown(missing_pictures, end)};
    flight = synthetic_open(WIDTH_PX, HEIGHT_PX);
    if (!flight) return 1;
    synthetic_rig(flight, &rig);
    synthetic_imu_noise(&rig.imu);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    synthetic_close(flight);
    return failed;
}
