/* SPDX-License-Identifier: MIT */
/* Steps without a corner search, because neither tracks nor key points are enabled. detect and scale are left out,
 * their outputs are defined, and the other stages give the same results. */
#include "tests/fixture/pair.h"

#include <stdlib.h>

#define FRAMES 4

/** Starts the front end with the cameras of the drawn images. */
static void start(const vfront_tuning_t *t)
{
    const vfront_rig_t rig = pair_cameras();
    const vfront_status_t status = vfront_init(&pair_vf, &rig, t, pair_port);
    if (status) fail_msg("%s: %s", vfront_status_name(status), vfront_detail(&pair_vf));
}

static const vfront_result_t *step(uint64_t number)
{
    const vfront_frame_t f = pair_frame(number);
    const vfront_result_t *r;
    assert_int_equal(vfront_step(&pair_vf, &f, &r), VFRONT_OK);
    return r;
}

/** Tuning without tracks and key points, but with all other stages of the build. */
static vfront_tuning_t nothing_wanted(void)
{
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.track_target = t.select_points = 0;
    t.rectify = VFRONT_RECTIFY && VFRONT_DENSE;
    t.dense = VFRONT_DENSE;
    return t;
}

/** Requires a result without corners, features and motions. Grid cells are reported, though none is searched. */
static void expect_idle(const vfront_result_t *r, uint64_t number)
{
    const vfront_health_t *h = &r->health;
    vfront_info_t info;
    assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_OK);
    assert_true(r->timing.stage_us[VFRONT_STAGE_detect] == 0.0f && r->timing.stage_us[VFRONT_STAGE_scale] == 0.0f);
    assert_true(r->tracks_count == 0 && r->lost_count == 0 && r->depths_count == 0 && r->matches_count == 0);
    assert_true(h->born == 0 && h->followed == 0 && h->overflow == 0 && h->full == 0 && h->quality == 100);
    assert_int_equal(h->state, number ? VFRONT_TRACKING : VFRONT_STARTING);
    assert_true(r->relative.state != VFRONT_MOTION_GOOD && r->metric.state != VFRONT_MOTION_GOOD);
    for (int i = 0; i < 2; i++) {
        assert_true(r->keypoints_count[i] == 0 && r->descriptors_count[i] == 0 && h->dropped[i] == 0);
        assert_int_equal(h->cells[i], info.cells[i]);
        assert_int_equal(h->starved[i], 0);
    }
}

/** Across a reset, and with tracks before and after: data of earlier runs has no effect. */
static void no_corners(void **state)
{
    const vfront_tuning_t idle = nothing_wanted();
    vfront_tuning_t busy;
    (void)state;
    vfront_tuning_default(&busy);
    for (int round = 0; round < 2; round++) {
        start(&busy);
        for (uint64_t i = 0; i < FRAMES; i++) step(i);
        const vfront_result_t *r = step(FRAMES);
        assert_true(r->tracks_count > 0 && r->health.starved[0] < r->health.cells[0]);
        vfront_shutdown(&pair_vf);
        start(&idle);
        for (uint64_t i = 0; i < FRAMES; i++) expect_idle(step(i), i);
        assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
        for (uint64_t i = 0; i < FRAMES; i++) expect_idle(step(i), i);
        vfront_shutdown(&pair_vf);
    }
}

#if VFRONT_DENSE
/** Disparities without corners equal those with tracks and key points. */
static void same_disparities(void **state)
{
    static uint16_t kept[FRAMES][VFRONT_PICTURE_BYTES];
    vfront_tuning_t t = nothing_wanted();
    (void)state;
    for (int wanted = 0; wanted < 2; wanted++) {
        if (wanted) t.track_target = VFRONT_TRACKS / 2, t.select_points = VFRONT_KEYPOINTS;
        start(&t);
        for (int i = 0; i < FRAMES; i++) {
            const vfront_result_t *r = step((uint64_t)i);
            const vfront_disparity_t *d = &r->disparity;
            assert_true(d->valid > 0 && (r->tracks_count > 0) == wanted);
            for (int32_t y = 0; y < d->height_px; y++) {
                uint16_t *row = &kept[i][y * d->width_px];
                const uint16_t *found = &d->px16[y * d->pitch];
                const size_t bytes = (size_t)d->width_px * sizeof *row;
                if (wanted)
                    assert_memory_equal(row, found, bytes);
                else
                    memcpy(row, found, bytes);
            }
        }
        vfront_shutdown(&pair_vf);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(no_corners, pair_end),
#if VFRONT_DENSE
        cmocka_unit_test_teardown(same_disparities, pair_end),
#endif
    };
    return pair_run("idle", tests, sizeof tests / sizeof *tests);
}
