/* SPDX-License-Identifier: MIT */
/* Names of statuses and stages, vfront_info() and the stage times of a result, with stages disabled by rig and
 * tuning. */
#include "tests/fixture/pair.h"

#include <math.h>
#include <stdio.h>

static vfront_result_t shot;

/* ---- names ------------------------------------------------------------------------------------------------------- */

static void names(void **state)
{
    (void)state;
    static const struct {
        vfront_status_t status;
        int number;
        const char *name;
    } status[] = {
#define STATUS(s, number) {s, number, #s},
        STATUS(VFRONT_OK, 0) STATUS(VFRONT_E_NULL, -1) STATUS(VFRONT_E_STATE, -2) STATUS(VFRONT_E_BUSY, -3)
            STATUS(VFRONT_E_CONFIG, -4) STATUS(VFRONT_E_SIZE, -5) STATUS(VFRONT_E_PITCH, -6) STATUS(VFRONT_E_ALIGN, -7)
                STATUS(VFRONT_E_FORMAT, -8) STATUS(VFRONT_E_MEMORY_KIND, -9) STATUS(VFRONT_E_MASK, -10)
                    STATUS(VFRONT_E_TIME, -11) STATUS(VFRONT_E_CALIBRATION, -12) STATUS(VFRONT_E_TUNING, -13)
                        STATUS(VFRONT_E_GYRO, -14) STATUS(VFRONT_E_PRIOR, -15) STATUS(VFRONT_E_PORT, -16)
                            STATUS(VFRONT_E_NO_DEVICE, -17) STATUS(VFRONT_E_DRIVER, -18)
                                STATUS(VFRONT_E_DEVICE_MEMORY, -19) STATUS(VFRONT_E_DEVICE, -20)
                                    STATUS(VFRONT_E_TIMEOUT, -21) STATUS(VFRONT_E_ABANDONED, -22)
                                        STATUS(VFRONT_E_STICKY, -23) STATUS(VFRONT_E_IMU, -24) STATUS(VFRONT_E_NAV, -25)
                                            STATUS(VFRONT_E_MAP, -26) STATUS(VFRONT_E_MAP_OTHER, -27)
                                                STATUS(VFRONT_E_MAP_TWICE, -28)
#undef STATUS
    };
    for (size_t i = 0; i < sizeof status / sizeof *status; i++) {
        assert_int_equal(status[i].status, status[i].number); /* numbers are the same in all versions */
        assert_string_equal(vfront_status_name(status[i].status), status[i].name);
    }
    assert_string_equal(vfront_status_name((vfront_status_t)1), "unknown status");
    assert_string_equal(vfront_status_name((vfront_status_t)-29), "unknown status");
    static const char *const stage[] = {
#define VF_STAGE(name, needs, what) #name,
#include "stages.def"
#undef VF_STAGE
    };
    assert_int_equal(sizeof stage / sizeof *stage, VFRONT_STAGES);
    for (size_t i = 0; i < VFRONT_STAGES; i++) assert_string_equal(vfront_stage_name(i), stage[i]);
    assert_null(vfront_stage_name(VFRONT_STAGES));
    assert_null(vfront_stage_name(SIZE_MAX));
}

static void info(void **state)
{
    (void)state;
    vfront_info_t i;
    assert_int_equal(vfront_info(&pair_vf, &i), VFRONT_OK);
    assert_int_equal(i.port, pair_port);
    assert_true(i.device[0] && memchr(i.device, 0, sizeof i.device));
    assert_true(i.host_bytes == sizeof(vfront_t));
    assert_int_equal(i.levels, 3);       /* 160x120: 40x30 is the third level */
    assert_int_equal(i.cells[0], 7 * 5); /* cells of 24 px, because cells of 12 px would exceed VFRONT_CELLS */
    assert_true((i.device_bytes > 0) == (pair_port == VFRONT_PORT_CUDA));
    assert_true((i.pinned_bytes > 0) == (pair_port == VFRONT_PORT_CUDA));
}

/** Plain rig: stages see it unchanged. */
static void info_plain(void **state)
{
    (void)state;
    static const uint8_t dark[VFRONT_WIDTH * VFRONT_HEIGHT];
    vfront_info_t i;
    vfront_rig_t rig = pair_cameras();
    rig.camera[0].mask = dark;
    rig.camera[0].mask_pitch_bytes = 160;
    rig.camera[VFRONT_CAMERAS - 1].width_px = 131;
    assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_OK);
    assert_int_equal(vfront_info(&pair_vf, &i), VFRONT_OK);
    assert_int_equal(i.rectified, 0);
    rig.camera[0].mask = NULL;
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        const int32_t all[4] = {0, 0, rig.camera[c].width_px, rig.camera[c].height_px};
        assert_memory_equal(&i.camera[c], &rig.camera[c], sizeof rig.camera[c]);
        assert_memory_equal(i.valid_px[c], all, sizeof all);
        assert_int_equal(i.blind_px[c], 0);
    }
}

/** A lens model valid in a disc is blind outside, and nothing is found there. */
static void info_blind(void **state)
{
    (void)state;
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        vfront_rig_t rig = pair_unplaced();
        vfront_info_t i;
        rig.camera[c].fx_px = rig.camera[c].fy_px = 160;
        rig.camera[c].distortion[0] = -3; /* folds over at r = 1/3, which is seen at 2/9: 35.6 px */
        const uint8_t *const grey[] = {pair_grey[0], pair_grey[0]};
        pair_shot(&rig, NULL, grey, &shot);
        assert_int_equal(vfront_info(&pair_vf, &i), VFRONT_OK);
        const double seen = 160 * 120 - (double)i.blind_px[c], disc = 3.14159 * 35.56 * 35.56,
                     least = 3.14159 * 12.9 * 12.9;
        if (!(seen < disc && seen > least))
            fail_msg("%g px are seen of %g", seen,
                     disc); /* smaller by up to two nodes of the bearing grid along both axes */
        assert_int_equal(i.blind_px[1 - c], 0);
        assert_true(shot.keypoints_count[c] > 0 && shot.keypoints_count[1 - c] > shot.keypoints_count[c]);
        for (uint32_t k = 0; k < shot.keypoints_count[c]; k++)
            assert_true(hypot((double)shot.keypoints[c][k].x_px - 80, (double)shot.keypoints[c][k].y_px - 60) < 36);
    }
}

#if VFRONT_RECTIFY
/** Rectified rig: two pinholes side by side, with the same baseline. */
static void info_rectified(void **state)
{
    (void)state;
    static const struct scene narrow = {131, 97, 0, 0, 0};
    const vfront_rig_t rig = scene_pair(&pair_scene, &narrow);
    vfront_tuning_t t;
    vfront_info_t i;
    vfront_tuning_default(&t);
    t.rectify = 1;
    for (t.rectify_focal_percent = 60; t.rectify_focal_percent <= 160; t.rectify_focal_percent += 20) {
        assert_int_equal(vfront_init(&pair_vf, &rig, &t, pair_port), VFRONT_OK);
        assert_int_equal(vfront_info(&pair_vf, &i), VFRONT_OK);
        assert_int_equal(i.rectified, 1);
        for (int c = 0; c < 2; c++) {
            const vfront_camera_t *s = &i.camera[c];
            const int32_t *v = i.valid_px[c];
            assert_true(s->width_px == 160 && s->height_px == 120 && s->lens == VFRONT_LENS_RADTAN && !s->mask);
            assert_true(fabs(s->fx_px - 1.6 * t.rectify_focal_percent) < 1e-9 && s->fy_px == s->fx_px);
            for (int k = 0; k < 8; k++) assert_true(s->distortion[k] == 0);
            assert_true(v[0] >= 0 && v[1] >= 0 && v[0] + v[2] <= 160 && v[1] + v[3] <= 120);
            assert_true(v[0] <= 80 && v[1] <= 60 && v[0] + v[2] > 80 && v[1] + v[3] > 60);
            assert_int_equal(i.blind_px[c], 0); /* a pinhole has no blind pixels; parts not seen by the camera are
                                                   masked */
        }
        assert_memory_equal(i.camera[0].R_cam_imu, i.camera[1].R_cam_imu, sizeof i.camera[0].R_cam_imu);
        assert_true(i.camera[0].cx_px == i.camera[1].cx_px && i.camera[0].cy_px == i.camera[1].cy_px);
        assert_true(fabs(i.camera[0].t_cam_imu_m[0] - i.camera[1].t_cam_imu_m[0] - SCENE_BASELINE_M) < 1e-12);
        for (int k = 1; k < 3; k++) assert_true(fabs(i.camera[0].t_cam_imu_m[k] - i.camera[1].t_cam_imu_m[k]) < 1e-12);
        assert_true(i.valid_px[1][2] * i.valid_px[1][3] < i.valid_px[0][2] * i.valid_px[0][3] ||
                    t.rectify_focal_percent > 120);
        vfront_shutdown(&pair_vf);
    }
}
#endif

#define BIT(stage) (1u << VFRONT_STAGE_##stage)

/** Frames with a tuning that leaves out some stages: their times are 0 whatever was there before; those of the others
 *  are not all 0. */
static void times_with(const vfront_tuning_t *t, uint32_t left_out)
{
    const vfront_rig_t rig = pair_with_imu();
    const vfront_result_t *r;
    assert_int_equal(vfront_init(&pair_vf, &rig, t, pair_port), VFRONT_OK);
    for (uint64_t i = 0; i < 4; i++) { /* each result buffer, and the first one again */
        const vfront_frame_t f = pair_frame(i);
        float sum_us = 0.0f;
        assert_int_equal(vfront_step(&pair_vf, &f, &r), VFRONT_OK);
        for (size_t k = 0; k < VFRONT_STAGES; k++) {
            const float us = r->timing.stage_us[k];
            sum_us += us;
            if (left_out >> k & 1 ? us != 0.0f
                                  : us < 0.0f || (pair_fake() && us == 0.0f)) /* its clock advances at every read */
                fail_msg("%s took %g us", vfront_stage_name(k), (double)us);
            assert_true(us <= r->timing.device_us);
        }
        assert_true(sum_us > 0.0f && r->timing.device_us > 0.0f && r->timing.step_us > 0.0f);
    }
    vfront_shutdown(&pair_vf);
}

static void times_of_stages(void **state)
{
    (void)state;
    const uint32_t map = BIT(recall) | BIT(relpose) | BIT(keyframe) | BIT(loop) | BIT(map),
                   more = BIT(dense) | BIT(stixel) | BIT(rectify) | BIT(observe) | BIT(vio) | map,
                   partners = BIT(stereo) | BIT(epipolar) | BIT(match),
                   tracks = BIT(track) | BIT(refill) | BIT(partner);
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.rectify = VFRONT_RECTIFY;
    t.dense = VFRONT_DENSE;
    t.stixel = VFRONT_STIXELS;
    t.vio = VFRONT_VIO;
    t.map = VFRONT_MAP;
    times_with(&t, (VFRONT_RECTIFY ? 0 : BIT(rectify)) | (VFRONT_DENSE ? 0 : BIT(dense)) |
                       (VFRONT_STIXELS ? 0 : BIT(stixel)) | (VFRONT_VIO ? 0 : BIT(observe) | BIT(vio)) |
                       (VFRONT_MAP ? 0 : map));
    vfront_tuning_default(&t);
    times_with(&t, more);
    t.track_target = 0;
    times_with(&t, more | tracks);
    t.stereo = 0;
    times_with(&t, more | tracks | BIT(stereo) | BIT(epipolar));
    vfront_tuning_default(&t);
    t.track_stereo = 0;
    times_with(&t, more | BIT(partner));
    vfront_tuning_default(&t);
    t.describe = 0;
    times_with(&t, more | BIT(smooth) | BIT(describe) | partners);
    t.ego = 0;
    times_with(&t, more | BIT(smooth) | BIT(describe) | partners | BIT(ego));
    t.select_points = 0;
    t.detect_levels = 1;
    times_with(&t, more | BIT(smooth) | BIT(describe) | partners | BIT(ego) | BIT(scale) | BIT(select) | BIT(bearing));
}

#define PAIR(test) cmocka_unit_test_setup_teardown(test, pair_start, pair_end)
#define LONE(test) cmocka_unit_test_teardown(test, pair_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LONE(names),
        PAIR(info),
        LONE(info_plain),
        LONE(info_blind),
        LONE(times_of_stages),
#if VFRONT_RECTIFY
        LONE(info_rectified),
#endif
    };
    return pair_run("info", tests, sizeof tests / sizeof *tests);
}
