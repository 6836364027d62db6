/* SPDX-License-Identifier: MIT */
/* IMU samples on their way through the parts of replay: faults of the gyro, the queue of frames that were not taken,
 * and the files that say how much noise an IMU has and where it sits. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "examples/replay/calibration.h"
#include "examples/replay/fault_apply.h"
#include "examples/replay/gyro_queue.h"

#define SIDE 16
#define STEP_NS 50000000u
#define START_NS 7000000000u
#define SAMPLES 10 /* of a frame: every 5 ms, the last one at its stamp */

static uint8_t pixels[SIDE * SIDE];
static vfront_imu_t samples[SAMPLES];

static double rate_of(uint32_t index, uint32_t sample, int axis) { return 0.1 * index + 0.013 * sample - 0.4 * axis; }

static vfront_frame_t source(uint32_t index)
{
    vfront_frame_t f = {.t_ns = START_NS + (uint64_t)index * STEP_NS, .imu = samples, .imu_count = SAMPLES};
    for (int i = 0; i < VFRONT_CAMERAS; i++)
        f.picture[i] = (vfront_picture_t){
            .data = pixels, .width_px = SIDE, .height_px = SIDE, .pitch_bytes = SIDE, .format = VFRONT_GREY8};
    for (uint32_t i = 0; i < SAMPLES; i++) {
        samples[i].t_ns = f.t_ns - (SAMPLES - 1 - i) * 5000000u;
        for (int k = 0; k < 3; k++) {
            samples[i].gyro_rad_s[k] = rate_of(index, i, k);
            samples[i].accel_m_s2[k] = 9.0 + rate_of(index, i, k);
        }
    }
    return f;
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

typedef double rate_rule_t(uint32_t index, uint32_t sample, int axis);

static double stuck(uint32_t index, uint32_t sample, int axis)
{
    (void)index, (void)sample;
    return rate_of(2, SAMPLES - 1, axis);
}
static double saturated(uint32_t index, uint32_t sample, int axis)
{
    return fmax(-0.35, fmin(0.35, rate_of(index, sample, axis)));
}
static double biased(uint32_t index, uint32_t sample, int axis)
{
    return rate_of(index, sample, axis) + (axis == 0 ? 0.5 : axis == 2 ? -2.0 : 0.0);
}
static double exchanged(uint32_t index, uint32_t sample, int axis) { return rate_of(index, sample, 2 - axis); }

/** A fault of the gyro in frames 3 to 5: rates are those of the rule; forces, times, other frames as they were. */
static void check(const char *kind, uint32_t count, rate_rule_t *rule)
{
    const vfront_rig_t rig = {.cameras = 1, .camera[0] = {.width_px = SIDE, .height_px = SIDE}};
    fault_script_t script;
    fault_injector_t *injector;
    char text[80];
    snprintf(text, sizeof text, "3-5 gyro %s", kind);
    assert_null(fault_script_parse(&script, "s.txt", text, strlen(text)));
    assert_null(fault_open(&injector, &script, "s.txt", &rig));
    for (uint32_t i = 0; i < 8; i++) {
        const int active = i >= 3 && i <= 5;
        vfront_frame_t f = source(i);
        assert_int_equal(fault_apply(injector, &f), 1);
        assert_true(f.imu && f.imu != samples && !f.gyro && !f.gyro_count);
        assert_int_equal(f.imu_count, active ? count : SAMPLES);
        for (uint32_t k = 0; k < f.imu_count; k++) {
            assert_true(f.imu[k].t_ns == samples[k].t_ns);
            assert_memory_equal(f.imu[k].accel_m_s2, samples[k].accel_m_s2, sizeof samples->accel_m_s2);
            for (int a = 0; a < 3; a++)
                if (f.imu[k].gyro_rad_s[a] != (active ? rule : rate_of)(i, k, a))
                    fail_msg("%s: frame %u, sample %u, axis %d", text, i, k, a);
        }
    }
    vfront_frame_t bad = source(8);
    bad.imu_count = VFRONT_IMU_SAMPLES + 1;
    assert_int_equal(fault_apply(injector, &bad), -1);
    bad = source(8);
    bad.imu = NULL;
    assert_int_equal(fault_apply(injector, &bad), -1);
    fault_close(injector);
    fault_script_free(&script);
}

static void faults(void **state)
{
    (void)state;
    check("gap", 0, rate_of);
    check("gap 40", 6, rate_of);
    check("stuck", SAMPLES, stuck);
    check("saturated 0.35", SAMPLES, saturated);
    check("bias 0.5 0 -2", SAMPLES, biased);
    check("swapped xz", SAMPLES, exchanged);
}

/** Samples of frames that were not taken come with the next, each once and in order, the newest where there are too
 *  many. */
static void queue(void **state)
{
    static gyro_queue_t waiting;
    (void)state;
    memset(&waiting, 0, sizeof waiting);
    vfront_frame_t f = source(0);
    f.imu = NULL;
    f.imu_count = 0;
    gyro_queue_add(&waiting, &f);
    assert_true(!f.imu && !f.imu_count && !f.gyro); /* no IMU */
    f = source(1);
    f.imu_count = 0;
    gyro_queue_add(&waiting, &f);
    assert_true(f.imu && !f.imu_count && !f.gyro); /* an IMU without a sample */
    for (uint32_t i = 1; i < 3; i++) {
        f = source(i);
        gyro_queue_add(&waiting, &f);
        gyro_queue_add(&waiting, &f); /* nothing twice */
        assert_int_equal(f.imu_count, i * SAMPLES);
    }
    assert_true(f.imu[0].t_ns == START_NS + 5000000u && f.imu[19].t_ns == START_NS + 2 * STEP_NS);
    gyro_queue_clear(&waiting);
    for (uint32_t i = 3; i < 200; i++) {
        f = source(i);
        gyro_queue_add(&waiting, &f);
    }
    assert_int_equal(f.imu_count, VFRONT_IMU_SAMPLES - 2 < 1970 ? VFRONT_IMU_SAMPLES - 2 : 1970);
    assert_true(f.imu[f.imu_count - 1].t_ns == START_NS + (uint64_t)199 * STEP_NS);
    for (uint32_t i = 1; i < f.imu_count; i++) assert_true(f.imu[i].t_ns == f.imu[i - 1].t_ns + 5000000u);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static char folder[] = P_tmpdir "/vfront-samples-XXXXXX";

static const char *put(const char *name, const char *content)
{
    static char path[4][80];
    static int turn;
    char *to = path[turn = (turn + 1) % 4];
    snprintf(to, sizeof path[0], "%s/%s", folder, name);
    FILE *f = fopen(to, "w");
    assert_non_null(f);
    assert_int_equal(fputs(content, f) < 0, 0);
    assert_int_equal(fclose(f), 0);
    return to;
}

static void same_noise(const vfront_imu_noise_t *n)
{
    assert_true(n->gyro_density == 1.5e-4 && n->accel_density == 0.002 && n->gyro_walk == 2e-5 &&
                n->accel_walk == 3e-3);
    assert_true(n->rate_hz == 250.0 && n->gravity_m_s2 == 9.81);
    assert_true(n->gyro_limit_rad_s == VFRONT_GYRO_MOST_RAD_S && n->accel_limit_m_s2 == VFRONT_ACCEL_MOST_M_S2);
}

#define NOISE(indent)                                                                                                  \
    indent "gyroscope_noise_density: 1.5e-4\n" indent "accelerometer_noise_density: 0.002\n" indent                    \
           "gyroscope_random_walk: 2.0e-05\n" indent "accelerometer_random_walk: 3e-3\n" indent

static void noise(void **state)
{
    (void)state;
    if (!calibration_reads_yaml()) {
        printf("skipped: this build has no libyaml\n");
        skip();
    }
    static const char eye[] = "T_BS: [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]\n";
    char text[800];
    vfront_imu_noise_t n;
    assert_null(calibration_imu(&n, put("a", NOISE("") "update_rate: 250\n")));
    same_noise(&n);
    assert_null(calibration_imu(&n, put("a", "imu0:\n" NOISE("  ") "update_rate: 250.0\n")));
    same_noise(&n);
    snprintf(text, sizeof text, "sensor_type: imu\n%s" NOISE("") "rate_hz: 250\n", eye);
    const char *imu = put("i", text);
    assert_null(calibration_imu(&n, imu));
    same_noise(&n);
    snprintf(text, sizeof text,
             "sensor_type: camera\n%scamera_model: pinhole\nintrinsics: [9, 9, 8, 8]\nresolution: [16, 16]\n"
             "distortion_model: none\n",
             eye);
    const char *camera = put("c", text);
    vfront_rig_t rig = {.cameras = 1};
    assert_null(calibration_euroc(&rig, &camera, imu)); /* with the place of the IMU */
    same_noise(&rig.imu);
    rig.imu_offset_ns = 5;
    assert_null(calibration_euroc(&rig, &camera, NULL)); /* nothing stays from before */
    assert_true(rig.imu.rate_hz == 0.0 && rig.imu.gyro_density == 0.0 && rig.imu_offset_ns == 0);
    vfront_rig_t before = rig;
    snprintf(text, sizeof text, "sensor_type: imu\n%s" NOISE("") "rate_hz: 9\n", eye);
    assert_non_null(calibration_euroc(&rig, &camera, put("i", text)));
    assert_memory_equal(&rig, &before, sizeof rig);
    unlink(camera);
    unlink(put("a", ""));
    unlink(put("i", ""));
}

/** timeshift_cam_imu of a camchain [s], either way. */
static void time_offset(void **state)
{
    (void)state;
    if (!calibration_reads_yaml()) {
        printf("skipped: this build has no libyaml\n");
        skip();
    }
    static const double shift_s[] = {0.0, 0.0123456789, -0.25, 1.0};
    for (size_t i = 0; i < sizeof shift_s / sizeof *shift_s; i++) {
        char text[400];
        vfront_rig_t rig = {.cameras = 1};
        snprintf(
            text, sizeof text,
            "cam0: {camera_model: pinhole, intrinsics: [9, 9, 8, 8], resolution: [16, 16], distortion_model: none, "
            "timeshift_cam_imu: %.12g}\n",
            shift_s[i]);
        assert_null(calibration_kalibr(&rig, put("a", text)));
        assert_true(rig.imu_offset_ns == (int64_t)(shift_s[i] * 1e9 + (shift_s[i] < 0 ? -0.5 : 0.5)));
    }
    unlink(put("a", ""));
}

/** T_cam0_imu.txt: points of the IMU into both cameras, by the numbers of the files. */
static void place(void **state)
{
    (void)state;
    vfront_rig_t rig = {.cameras = VFRONT_CAMERAS < 2 ? 1 : 2};
    const double p[3] = {1, 2, 4}, seen[3] = {-2 + 0.5, -4 + 0.25, 1 + 0.125}; /* in camera 0 */
    const char *calib = put("a", "P0: 8 0 8 0 0 8 8 0 0 0 1 0\nP1: 8 0 8 -4 0 8 8 0 0 0 1 0\n");
    assert_null(calibration_kitti(&rig, calib));
    const char *pose = put("i", "# rows\n0 -1 0 0.5\n0 0 -1 0.25\n1 0 0 0.125\n0 0 0 1\n");
    assert_null(calibration_kitti_imu(&rig, pose));
    for (int32_t c = 0; c < rig.cameras; c++)
        for (int i = 0; i < 3; i++) {
            const double *R = &rig.camera[c].R_cam_imu[3 * i],
                         at = R[0] * p[0] + R[1] * p[1] + R[2] * p[2] + rig.camera[c].t_cam_imu_m[i];
            assert_true(at == seen[i] - (c && !i ? 0.5 : 0.0)); /* camera 1 is 0.5 m to the right */
        }
    const vfront_rig_t before = rig;
    assert_non_null(calibration_kitti_imu(&rig, calib));
    assert_memory_equal(&rig, &before, sizeof rig);
    unlink(calib);
    unlink(pose);
}

static int start(void **state)
{
    (void)state;
    return !mkdtemp(folder);
}

static int end(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(faults), cmocka_unit_test(queue), cmocka_unit_test(noise),
                                       cmocka_unit_test(time_offset), cmocka_unit_test(place)};
    return cmocka_run_group_tests_name("imu_samples", tests, start, end);
}
