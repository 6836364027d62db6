/* SPDX-License-Identifier: MIT */
/* Stage nav: decisions on hand-made frames. Whether a disagreement between IMU and image motions counts against the
 * IMU; whether these motions may belong to a moving object; when bad observations, or a state beyond all measure, end
 * an estimate; what begins anew before there is one. Each bound is tested from both sides. */
#include "nav/nav.h"
#include "tests/fixture/random.h"

#if VFRONT_VIO

#include "supervised.h"

enum { FRAME_NS = 50000000 };

static struct vf_nav_view view;
static vfront_result_t result;
static vfront_innovation_t innovation[VFRONT_TESTS];

/** Starts with a running estimate; the next frame has two good motions that agree with the IMU, and many landmarks. */
static void begin(void)
{
    memset(&result, 0, sizeof result);
    view = supervised_view();
    nav.running = 1;
    nav.t_ns = nav.observed_ns = nav.own.last.t_ns = 1000000000;
    params.frame = 1;
    request.member[0].command = VF_VIO_CONTINUE;
    result.relative.state = result.metric.state = VFRONT_MOTION_GOOD;
    result.tracks_count = 100;
    result.nav.landmarks = report.summary[0].accepted = 60;
}

/** Submits the next frame with the values of `result`. Returns its state. */
static const vfront_nav_t *step(void)
{
    static vfront_result_t r;
    r = result;
    nav.t_ns += FRAME_NS;
    r.nav.t_ns = nav.t_ns;
    vf_nav_after_step(&view, &r, &r.nav, innovation);
    return &r.nav;
}

/** Makes both motions disagree with the IMU, with few landmarks that agree. */
static void contradict(void)
{
    result.relative.flags = result.metric.flags = VFRONT_MOTION_PRIOR;
    result.nav.landmarks = VF_NAV_AGREE_LANDMARKS - 1;
}

/** A disagreement of one motion does not count if the other is good and agrees, and no sample is missing. */
static void refuted(void **unused)
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
            REQUIRE(!nav.imu_rejected && !nav.unrefuted, "%d: denied, and counts in frame %d\n", one, i);
        }
        other->state = VFRONT_MOTION_ROTATION;
        step();
        REQUIRE(nav.imu_rejected == VF_NAV_IMU_REJECTED_FRAMES && nav.unrefuted == VF_NAV_UNREFUTED_FRAMES,
                "%d: the other motion is not good, and denies\n", one);
    }
    static const uint32_t torn[2] = {VFRONT_NAV_SATURATED, VFRONT_NAV_GAP};
    for (int i = 0; i < 2; i++) {
        begin();
        result.nav.landmarks = 0;
        result.relative.flags = VFRONT_MOTION_PRIOR;
        result.nav.flags = torn[i];
        step();
        REQUIRE(nav.imu_rejected == VF_NAV_IMU_REJECTED_FRAMES, "flags %u: the IMU is not rejected\n", torn[i]);
    }
    begin();
    contradict();
    step();
    REQUIRE(nav.imu_rejected == VF_NAV_IMU_REJECTED_FRAMES, "both motions contradict, and it does not count\n");
    begin();
    contradict();
    params.rotation_explicit = 1;
    step();
    REQUIRE(!nav.imu_rejected, "a prior that is not from the IMU counts against it\n");
}

/** Landmarks that agree with the IMU outweigh the motions for some frames, if they are many and a large share of all
 *  tracks. */
static void agreeing(void **unused)
{
    (void)unused;
    const uint32_t max_tracks = VF_NAV_AGREE_TRACKS * VF_NAV_AGREE_LANDMARKS;
    for (uint32_t more = 0; more < 2; more++) {
        begin();
        contradict();
        result.nav.landmarks = VF_NAV_AGREE_LANDMARKS;
        result.tracks_count = max_tracks + more;
        step();
        REQUIRE((nav.imu_rejected > 0) == (more > 0), "%u tracks for %d landmarks: against %u\n", result.tracks_count,
                VF_NAV_AGREE_LANDMARKS, nav.imu_rejected);
    }
    begin();
    contradict();
    result.tracks_count = VF_NAV_AGREE_LANDMARKS;
    step();
    REQUIRE(nav.imu_rejected, "%u landmarks outweigh the motions\n", result.nav.landmarks);
    begin();
    contradict();
    result.nav.landmarks = 60;
    for (int i = 1; i <= VF_NAV_AGREE_FRAMES; i++) {
        step();
        REQUIRE(!nav.imu_rejected, "frame %d of contradictions counts\n", i);
    }
    step();
    REQUIRE(nav.imu_rejected, "contradictions in %d frames in a row do not count\n", VF_NAV_AGREE_FRAMES + 1);
}

/** With a detected moving object no disagreement counts, and the motions may be the object's. This does not hold for a
 *  frame without IMU samples. */
static void with_moving_object(void **unused)
{
    (void)unused;
    begin();
    contradict();
    result.nav.landmarks = 0;
    report.summary[0].moving_object = 1;
    for (int i = 0; i < 100; i++) {
        step();
        REQUIRE(!nav.imu_rejected && vf_nav_sees_moving_object(&nav), "frame %d counts\n", i);
    }
    REQUIRE(nav.observed_ns == nav.t_ns, "observations are not counted\n");
    memset(&report.summary[0], 0, sizeof report.summary[0]);
    step();
    REQUIRE(nav.imu_rejected && !vf_nav_sees_moving_object(&nav), "a moving object that is gone\n");
    begin();
    contradict();
    report.summary[0].moving_object = 1;
    nav.vision_only = 1;
    step();
    REQUIRE(nav.imu_rejected && !vf_nav_sees_moving_object(&nav), "a moving object without samples\n");
}

/** During a dispute the motions may be a moving object's, unless one disagreed with the IMU recently and no other
 *  motion denied that. */
static void motion_of_object(void **unused)
{
    (void)unused;
    begin();
    step();
    REQUIRE(!vf_nav_sees_moving_object(&nav), "a moving object without a dispute\n");
    result.nav.flags = VFRONT_NAV_DISPUTED;
    result.relative.flags = VFRONT_MOTION_PRIOR; /* denied by the other motion */
    step();
    REQUIRE(vf_nav_sees_moving_object(&nav), "a dispute, and no moving object\n");
    nav.running = 0;
    REQUIRE(!vf_nav_sees_moving_object(&nav), "a moving object without an estimate\n");
    nav.running = 1;
    result.metric.flags = VFRONT_MOTION_PRIOR;
    step();
    REQUIRE(!vf_nav_sees_moving_object(&nav), "a moving object after an undenied disagreement\n");
    result.metric.flags = result.relative.flags = 0;
    for (int i = 1; i <= VF_NAV_UNREFUTED_FRAMES; i++) {
        REQUIRE(!vf_nav_sees_moving_object(&nav), "a moving object %d frames after it\n", i - 1);
        step();
    }
    REQUIRE(vf_nav_sees_moving_object(&nav), "no moving object %d frames after it\n", VF_NAV_UNREFUTED_FRAMES);
}

/** Flies `frames` frames whose samples are measured but not used, then one that uses them. The samples are of an
 *  upright body that accelerates along x; the state is tilted about y. */
static void fly_tilted(int frames, double tilt_rad, double gain_m_s2)
{
    static vfront_imu_t imu[4];
    begin();
    noise.gravity_m_s2 = 9.81;
    nav.own.last.q_odom_imu[0] = 1.0;
    for (int i = 0; i < frames; i++) {
        const double f[3] = {gain_m_s2, 0.0, 9.81}; /* axes of the upright body */
        nav.vision_only = 1;
        nav.imu = imu;
        nav.samples = 4;
        for (int k = 0; k < 4; k++) {
            imu[k].t_ns = nav.t_ns + (uint64_t)(k + 1) * FRAME_NS / 4;
            for (int c = 0; c < 3; c++) imu[k].accel_m_s2[c] = f[c];
        }
        result.nav.q_odom_imu[0] = cos(0.5 * tilt_rad);
        result.nav.q_odom_imu[2] = sin(0.5 * tilt_rad);
        result.nav.velocity_mps[0] = gain_m_s2 * 1e-9 * FRAME_NS * (i + 1);
        step();
        REQUIRE(nav.running, "lost in frame %d without samples\n", i);
    }
    nav.vision_only = 0;
    step();
}

/** A state is abandoned when samples are used again, if the measured force shows a tilt above 0.2 rad. That needs at
 *  least ten frames without samples. Acceleration is no tilt, and stuck samples do not count. */
static void upright(void **unused)
{
    (void)unused;
    fly_tilted(30, 0.19, 0.0);
    REQUIRE(nav.running, "lost by a tilt of 0.19 rad\n");
    fly_tilted(30, 0.22, 0.0);
    REQUIRE(!nav.running && nav.lost, "a tilt of 0.22 rad is kept\n");
    fly_tilted(9, 0.5, 0.0);
    REQUIRE(nav.running, "lost after 9 frames\n");
    fly_tilted(30, 0.0, 4.0);
    REQUIRE(nav.running, "lost by a gain of speed\n");
    begin();
    static vfront_imu_t stuck;
    params.imu = VFRONT_IMU_STUCK;
    for (int i = 0; i < 30; i++) {
        nav.vision_only = 1;
        nav.imu = &stuck;
        nav.samples = 1;
        stuck.t_ns = nav.t_ns + FRAME_NS;
        step();
    }
    REQUIRE(nav.gravity.frames == 0, "stuck samples count for gravity\n");
}

/** Enough bad observations over enough frames end an estimate. */
static void diverged(void **unused)
{
    (void)unused;
    for (uint32_t few = 0; few < 2; few++) {
        begin();
        result.nav.residual_mean_square = 1.01f * (float)VF_NAV_DIVERGED_COST;
        report.summary[0].accepted = VF_NAV_DIVERGED_LANDMARKS - few;
        for (int i = 1; i < VF_NAV_DIVERGED_FRAMES; i++) step();
        REQUIRE(nav.running && !nav.lost, "few %u: lost early\n", few);
        step();
        REQUIRE(nav.lost == !few, "%u observations, bad for %d frames: lost %u\n", report.summary[0].accepted,
                VF_NAV_DIVERGED_FRAMES, nav.lost);
    }
}

/** A state beyond all measure ends an estimate, and the one before remains the last. */
static void beyond_measure(void **unused)
{
    (void)unused;
    for (int i = 0; i < 7; i++) {
        begin();
        step();
        const uint64_t last_ns = nav.own.last.t_ns;
        assert_true(nav.running && last_ns == nav.t_ns);
        if (i == 0) result.nav.position_m[2] = NAN;
        if (i == 1) result.nav.position_m[0] = -1.01 * VF_NAV_MAX_M;
        if (i == 2) result.nav.velocity_mps[1] = NAN;
        if (i == 3) result.nav.velocity_mps[2] = 1.01 * VF_NAV_MAX_MPS;
        if (i == 4) result.nav.covariance[vf_nav_index(0, 0)] = NAN;
        if (i == 5) result.nav.covariance[vf_nav_index(14, 14)] = -1e-9;
        if (i == 6) result.nav.covariance[vf_nav_index(7, 7)] = 1.01 * VF_NAV_MAX_M * VF_NAV_MAX_M;
        step();
        REQUIRE(nav.lost && !nav.running && nav.own.last.t_ns == last_ns, "case %d: the estimate goes on\n", i);
    }
}

/** Samples that are wrong before there is a state start both initializations anew, with one camera that in motion
 *  too. */
static void wrong_before_a_state(void **unused)
{
    (void)unused;
    for (int cameras = 1; cameras <= 2; cameras++)
        for (uint32_t bit = 1; bit < 1u << 16; bit <<= 1) {
            const uint32_t wrong = VFRONT_IMU_STUCK | VFRONT_IMU_ZERO | VFRONT_IMU_IN_G | VFRONT_IMU_NO_GRAVITY |
                                   VFRONT_IMU_AXES | VFRONT_IMU_IN_DEGREES | VFRONT_IMU_CLOCK;
            begin();
            noise.gravity_m_s2 = 9.81;
            nav.running = 0;
            request.member[0].command = VF_VIO_NONE;
            nav.start.rig.cameras = cameras;
            nav.start.frames = nav.mono.keyframes = 3;
            result.health.imu = bit & wrong;
            if (!result.health.imu) continue;
            step();
            REQUIRE(nav.start.frames == 0 && nav.start.rig.cameras == cameras, "fault %u: goes on\n", bit);
            assert_int_equal(nav.mono.keyframes, cameras == 1 ? 0 : 3);
        }
}

/** A missing picture of camera 0, or a frozen one, is none from which the next motion is predicted. */
static void new_pictures(void **unused)
{
    (void)unused;
    for (uint32_t missing = 0; missing < 4; missing++)
        for (uint32_t frozen = 0; frozen < 2; frozen++) {
            begin();
            result.health.missing = missing;
            result.health.frozen[0] = frozen;
            step();
            assert_int_equal(nav.new_picture, !(missing & 1) && !frozen);
        }
}

/** A state is disputed from a frame on whose motion contradicts the predicted one by more than five deviations, which
 *  probability 1e-6 is, and for some frames; what is predicted next does not know of that. */
static void contradicted_prediction(void **unused)
{
    (void)unused;
    const float sigma_m = 1e-3f, most_m = sigma_m * (float)sqrt(2.0 * VF_NAV_PREDICT_CHI2);
    for (int beyond = 0; beyond < 2; beyond++) {
        begin();
        nav.expected.source = VFRONT_PREDICT_STATE;
        for (int i = 0; i < 9; i++) nav.expected.R[i] = result.metric.R[i] = i % 4 == 0;
        for (int i = 0; i < 6; i++)
            nav.expected.covariance[vf_motion_index(i, i)] = result.metric.covariance[vf_motion_index(i, i)] = sigma_m *
                                                                                                               sigma_m;
        result.metric.t[1] = most_m * (beyond ? 1.01f : 0.99f);
        for (int i = 0; i <= VF_NAV_PREDICT_OFF_FRAMES; i++) {
            const vfront_nav_t *reported = step();
            const int disputed = beyond && i < VF_NAV_PREDICT_OFF_FRAMES;
            REQUIRE(reported->state == (disputed ? VFRONT_NAV_COASTING : VFRONT_NAV_GOOD), "%d: %u in frame %d\n",
                    beyond, reported->state, i);
            REQUIRE(!(reported->flags & VFRONT_NAV_DISPUTED) == !disputed && (reported->quality <= 50) == disputed,
                    "%d: flags %u, quality %u in frame %d\n", beyond, reported->flags, reported->quality, i);
            REQUIRE(!(nav.own.last.flags & VFRONT_NAV_DISPUTED), "%d: kept in frame %d\n", beyond, i);
            const vfront_innovation_t *test = &innovation[VFRONT_TEST_MOTION];
            const double ratio = i ? 0.0 : beyond ? 1.01 * 1.01 : 0.99 * 0.99;
            REQUIRE(fabs(test->test_ratio - ratio) < 1e-5, "%d: ratio %g in frame %d\n", beyond, test->test_ratio, i);
            if (!i) assert_true(test->value[1] == (double)result.metric.t[1] && test->value[0] == 0.0);
            if (!i) assert_true(test->variance[0] > 0.0 && test->variance[6] == 0.0);
            assert_true(innovation[VFRONT_TESTS - 1].test_ratio == 0.0); /* no member but the accepted one */
            nav.expected.source = 0;
        }
    }
}

/** Of a relative motion alone the rotation is compared, not the direction of the translation. */
static void compared_rotation(void **unused)
{
    (void)unused;
    begin();
    nav.expected.source = VFRONT_PREDICT_STATE;
    result.metric.state = VFRONT_MOTION_NONE;
    result.relative.t[2] = 1.0f;
    for (int i = 0; i < 9; i++) nav.expected.R[i] = result.relative.R[i] = i % 4 == 0;
    result.relative.R[1] = -2e-3f;
    result.relative.R[3] = 2e-3f;
    for (int i = 0; i < 6; i++) nav.expected.covariance[vf_motion_index(i, i)] = 1e-6f;
    (void)step();
    const vfront_innovation_t *test = &innovation[VFRONT_TEST_MOTION];
    for (int k = 0; k < 9; k++) assert_true((test->variance[k] > 0.0) == (k >= 3 && k < 6));
    assert_true(test->value[2] == 0.0 && fabs(test->value[5] - 2e-3) < 1e-9);
    assert_true(fabs(test->test_ratio - 4.0 / VF_NAV_PREDICT_CHI2) < 1e-4);
}

/** Biases of an IMU whose samples are ignored are unknown when it returns: they walk by as much as an IMU's biases may
 *  be, once. Samples that are missing leave them known. */
static void unknown_biases(void **unused)
{
    (void)unused;
    for (int faulty = 0; faulty < 2; faulty++) {
        begin();
        noise = (vfront_imu_noise_t){.gyro_walk = 1e-5, .accel_walk = 1e-4, .rate_hz = 200.0, .gravity_m_s2 = 9.81};
        view.geometry.pair.placed = 1;
        nav.own.last.q_odom_imu[0] = 1.0;
        nav.own.carried.t_ns = nav.t_ns;
        view.imu_fault = faulty ? VFRONT_IMU_CLOCK : 0;
        view.tuning.vio_imu_percent = 100;
        for (int i = 0; i < 3; i++) {
            samples.to_ns = nav.t_ns + FRAME_NS;
            vf_nav_before_step(&view);
            const double gyro = 1.0 / request.member[0].motion.whitening.inverse_walk[0],
                         accel = 1.0 / request.member[0].motion.whitening.inverse_walk[1];
            const int unknown = faulty && !i;
            REQUIRE(unknown ? fabs(gyro - VF_IMU_GYRO_BIAS_RAD_S) < 1e-12 : gyro < 1e-4, "%d: %g rad/s in frame %d\n",
                    faulty, gyro, i);
            REQUIRE(unknown ? fabs(accel - VF_IMU_ACCEL_BIAS_M_S2) < 1e-12 : accel < 1e-3, "%d: %g m/s^2 in frame %d\n",
                    faulty, accel, i);
            nav.t_ns = samples.to_ns - FRAME_NS;
            (void)step();
        }
    }
}

#else

static void refuted(void **unused) { (void)unused, skip(); }
static void agreeing(void **unused) { (void)unused, skip(); }
static void with_moving_object(void **unused) { (void)unused, skip(); }
static void motion_of_object(void **unused) { (void)unused, skip(); }
static void upright(void **unused) { (void)unused, skip(); }
static void diverged(void **unused) { (void)unused, skip(); }
static void beyond_measure(void **unused) { (void)unused, skip(); }
static void wrong_before_a_state(void **unused) { (void)unused, skip(); }
static void new_pictures(void **unused) { (void)unused, skip(); }
static void contradicted_prediction(void **unused) { (void)unused, skip(); }
static void unknown_biases(void **unused) { (void)unused, skip(); }

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(refuted),
                                       cmocka_unit_test(agreeing),
                                       cmocka_unit_test(with_moving_object),
                                       cmocka_unit_test(motion_of_object),
                                       cmocka_unit_test(upright),
                                       cmocka_unit_test(diverged),
                                       cmocka_unit_test(beyond_measure),
                                       cmocka_unit_test(wrong_before_a_state),
                                       cmocka_unit_test(new_pictures),
                                       cmocka_unit_test(contradicted_prediction),
                                       cmocka_unit_test(compared_rotation),
                                       cmocka_unit_test(unknown_biases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
