/* SPDX-License-Identifier: MIT */
/* Promises of the public interface on depths, matches and motions, on drawn images. */
#include "tests/fixture/pair.h"

#include <math.h>

static const vfront_result_t *result;
static uint8_t drawn[2][VFRONT_WIDTH * VFRONT_HEIGHT];
static vfront_result_t shot[6];

/* ---- depths and matches ------------------------------------------------------------------------------------------ */

#if VFRONT_STEREO && VFRONT_MATCHES
/** Steps with the images of a pair. rig: starts the front end anew; NULL: continues. */
static void shoot(const vfront_rig_t *rig, const vfront_tuning_t *t, int number, vfront_result_t *r)
{
    const uint8_t *const grey[] = {pair_grey[number], pair_right[number]};
    pair_shot(rig, t, grey, r);
}

/** Steps through `frames` frames of a pair. */
static void shoot_all(const vfront_rig_t *rig, const vfront_tuning_t *t, vfront_result_t *r, int frames)
{
    for (int i = 0; i < frames; i++) shoot(i ? NULL : rig, t, i, &r[i]);
}

/** Requires that most depths are right: the disparity is that of a pinhole, up to lens distortion. */
static void depths_right(const vfront_result_t *r, double disparity_px)
{
    const double want_m = 160 * SCENE_BASELINE_M / disparity_px;
    uint32_t right = 0;
    for (uint32_t i = 0; i < r->depths_count; i++) {
        const vfront_depth_t *d = &r->depths[i];
        right += fabs(d->depth_m - want_m) < 0.15 * want_m &&
                 fabs(r->keypoints[0][d->keypoint].x_px - d->x_px - disparity_px) < 0.5;
        assert_true(d->sigma_m > 0 && d->sigma_m < d->depth_m);
    }
    if (r->depths_count < 15 || right * 10 < r->depths_count * 9)
        fail_msg("of %u depths %u are right", r->depths_count, right);
}

/** Requires that most matches are right: the image moves by (x_px, y_px) per frame. */
static void matches_right(const vfront_result_t *before, const vfront_result_t *r, double x_px, double y_px)
{
    uint32_t right = 0;
    for (uint32_t i = 0; i < r->matches_count; i++) {
        assert_true(r->matches[i].before < before->keypoints_count[0]);
        const vfront_keypoint_t *now = &r->keypoints[0][r->matches[i].keypoint],
                                *then = &before->keypoints[0][r->matches[i].before];
        const double within = 1.2 * pow((double)VFRONT_SCALE_NUM / VFRONT_SCALE_DEN,
                                        now->level > then->level ? now->level : then->level);
        right += fabs(now->x_px - then->x_px - x_px) < within && fabs(now->y_px - then->y_px - y_px) < within;
    }
    if (r->matches_count < 15 || right * 5 < r->matches_count * 4)
        fail_msg("of %u matches %u are right", r->matches_count, right);
}
#define STEP_X_PX (pair_scene.step_x_q4 / 16.0)
#define STEP_Y_PX (pair_scene.step_y_q4 / 16.0)

/** Depths in every frame, matches from the second on; the same after a reset. */
static void partners(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_cameras();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
            shoot(round || i ? NULL : &rig, NULL, i, &shot[i]);
            depths_right(&shot[i], DISPARITY_PX);
            if (i) matches_right(&shot[i - 1], &shot[i], STEP_X_PX, STEP_Y_PX);
            assert_true(i || shot[i].matches_count == 0);
        }
        assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
    }
}

/** Parts of a rig needed for depths. Matches and everything else need none of them. */
static void partners_of_rigs(void **state)
{
    (void)state;
    enum { LEFT_OPEN, RIGHT_OPEN, BOTH_OPEN, ONE_PLACE, TURNED_ONLY, ALONE, VARIANTS };
    for (int variant = 0; variant < VARIANTS; variant++) {
        vfront_rig_t rig = pair_cameras();
        if (variant == LEFT_OPEN || variant == BOTH_OPEN) rig.camera[0].fx_px = rig.camera[0].fy_px = 0;
        if (variant == RIGHT_OPEN || variant == BOTH_OPEN) rig.camera[1].fx_px = rig.camera[1].fy_px = 0;
        if (variant == ONE_PLACE || variant == TURNED_ONLY) rig.camera[1].t_cam_imu_m[0] = 0;
        if (variant == TURNED_ONLY)
            rig.camera[1].R_cam_imu[1] = -1, rig.camera[1].R_cam_imu[3] = rig.camera[1].R_cam_imu[8] = 1;
        if (variant == ALONE) rig.cameras = 1;
        shoot_all(&rig, NULL, shot, 3);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(shot[i].depths_count, 0);
            if (i) matches_right(&shot[i - 1], &shot[i], STEP_X_PX, STEP_Y_PX);
        }
        assert_int_equal(shot[0].matches_count, 0);
    }
}

/** Tracks with a partner in camera 1 [1/1000]. */
static uint32_t permille_of_tracks(const vfront_result_t *r)
{
    uint32_t partners = 0;
    for (uint32_t i = 0; i < r->tracks_count; i++) partners += r->tracks[i].depth_sigma_m > 0.0f;
    return 1000 * partners / r->tracks_count;
}

/** Results disabled by the tuning are absent, and nothing else is. Without motions, which guide the search for
 *  matches. */
static void partners_off(void **state)
{
    (void)state;
    enum { NO_STEREO, NO_MATCH, NO_DESCRIBE, NO_POINTS, VARIANTS };
    static const int has_depths[VARIANTS] = {0, 1, 0, 0}, has_matches[VARIANTS] = {1, 0, 0, 0};
    const vfront_rig_t rig = pair_cameras();
    for (int variant = 0; variant < VARIANTS; variant++)
        for (int rectify = 0; rectify < 2; rectify++) {
            vfront_tuning_t t;
            vfront_tuning_default(&t);
            t.rectify = rectify;
            t.ego = 0;
            t.describe_margin_px = 4; /* so that tracks start at the same corners */
            shoot_all(&rig, &t, shot, 3);
            if (variant == NO_STEREO) t.stereo = 0;
            if (variant == NO_MATCH) t.match = 0;
            if (variant == NO_DESCRIBE) t.describe = 0;
            if (variant == NO_POINTS) t.select_points = 0;
            shoot_all(&rig, &t, shot + 3, 3);
            for (int i = 0; i < 3; i++) {
                vfront_result_t *with = &shot[i], *without = &shot[i + 3];
                assert_true(with->depths_count > 0 && (i == 0 || with->matches_count > 0));
                if (!has_depths[variant]) {
                    assert_int_equal(without->depths_count, 0);
                    assert_int_equal(without->health.stereo, VFRONT_STEREO_GOOD); /* by the tracks */
                    assert_int_equal(without->health.stereo_permille, permille_of_tracks(without));
                    assert_true(with->health.stereo == VFRONT_STEREO_GOOD && with->health.stereo_permille > 0);
                    with->depths_count = 0;
                    with->health.stereo_permille = without->health.stereo_permille;
                    with->health.stereo_offset_px = with->health.epipolar_offset_px = 0.0f;
                    with->health.epipolar_sigma_px = without->health.epipolar_sigma_px;
                }
                if (!has_matches[variant]) assert_int_equal(without->matches_count, 0), with->matches_count = 0;
                pair_forget_motions(with);
                pair_forget_motions(without);
                pair_same_partners(with, without);
                if (variant <= NO_MATCH) assert_true(vfront_digest(with) == vfront_digest(without));
            }
        }
}

/** Cameras of two sizes match points in their common field of view. The image of the smaller one is part of the
 *  other's. */
static void partners_of_two_sizes(void **state)
{
    (void)state;
    static const struct scene narrow = {131, 97, 0, 0, 0};
    for (int swapped = 0; swapped < 2; swapped++)
        for (int rectify = 0; rectify < 2; rectify++) {
            vfront_rig_t rig = scene_pair(&pair_scene, &narrow);
            vfront_tuning_t t;
            vfront_tuning_default(&t);
            t.rectify = rectify;
            if (swapped) { /* the small one as the left camera */
                rig.camera[0].width_px = narrow.width_px;
                rig.camera[0].height_px = narrow.height_px;
                rig.camera[1].width_px = pair_scene.width_px;
                rig.camera[1].height_px = pair_scene.height_px;
            }
            for (int i = 0; i < 3; i++) {
                const uint8_t *const grey[] = {drawn[0], drawn[1]};
                for (int c = 0; c < 2; c++)
                    for (int32_t y = 0; y < rig.camera[c].height_px; y++)
                        memcpy(drawn[c] + y * rig.camera[c].width_px,
                               (c ? pair_right : pair_grey)[i] + y * pair_scene.width_px,
                               (size_t)rig.camera[c].width_px);
                pair_shot(i ? NULL : &rig, &t, grey, &shot[i]);
                assert_true(shot[i].depths_count >= 10);
                if (!rectify) depths_right(&shot[i], DISPARITY_PX);
                if (i) matches_right(&shot[i - 1], &shot[i], STEP_X_PX, STEP_Y_PX);
            }
        }
}

/** No matches with a blank image: of the other camera, or of the frame before or after. */
static void partners_in_the_dark(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_cameras();
    enum { OBSERVED, DARK, LEFT_DARK, RIGHT_DARK };
    static const int frame[] = {DARK,      DARK,     OBSERVED, OBSERVED, RIGHT_DARK, OBSERVED,
                                LEFT_DARK, OBSERVED, OBSERVED, DARK,     OBSERVED,   OBSERVED};
    memset(drawn[0], 0, sizeof drawn[0]);
    for (int i = 0; i < (int)(sizeof frame / sizeof *frame); i++) {
        const int left = frame[i] == OBSERVED || frame[i] == RIGHT_DARK,
                  right = frame[i] == OBSERVED || frame[i] == LEFT_DARK;
        const int before = i && (frame[i - 1] == OBSERVED || frame[i - 1] == RIGHT_DARK);
        const uint8_t *const grey[] = {left ? pair_grey[i % 2] : drawn[0], right ? pair_right[i % 2] : drawn[0]};
        pair_shot(i ? NULL : &rig, NULL, grey, &shot[0]);
        assert_int_equal(shot[0].depths_count > 0, left && right);
        assert_int_equal(shot[0].matches_count > 0, left && before);
    }
}

/** A frame without the second camera's image is refused, and the next one's depths and matches are unaffected. */
static void picture_missing(void **state)
{
    (void)state;
    vfront_frame_t f;
    shot[0] = *pair_step();
    for (int i = 1; i < 4; i++) {
        f = pair_frame((uint64_t)i + 3); /* other images, which must leave no trace */
        f.t_ns = shot[0].t_ns + 1;
        f.picture[VFRONT_CAMERAS - 1].data = NULL;
        pair_refused(vfront_step(&pair_vf, &f, &result), VFRONT_E_NULL, "frame.picture[1].data");
        shot[1] = *pair_step();
        depths_right(&shot[1], DISPARITY_PX);
        matches_right(&shot[0], &shot[1], STEP_X_PX, STEP_Y_PX);
        shot[0] = shot[1];
    }
}

/** In rectified images matches lie in one row, and depth follows from disparity as the interface states. */
static void partners_rectified(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_cameras();
    vfront_tuning_t t;
    vfront_info_t is;
    vfront_tuning_default(&t);
    t.rectify = 1;
    for (int i = 0; i < 3; i++) {
        uint32_t right = 0;
        shoot(i ? NULL : &rig, &t, i, &shot[i]);
        assert_int_equal(vfront_info(&pair_vf, &is), VFRONT_OK);
        for (uint32_t k = 0; k < shot[i].depths_count; k++) {
            const vfront_depth_t *d = &shot[i].depths[k];
            const vfront_keypoint_t *p = &shot[i].keypoints[0][d->keypoint];
            const double want_m = is.camera[0].fx_px * SCENE_BASELINE_M / ((double)p->x_px - (double)d->x_px);
            right += fabs((double)d->y_px - (double)p->y_px) < 0.01 && fabs(d->depth_m - want_m) < 1e-3 * want_m;
        }
        assert_true(shot[i].depths_count >= 15);
        assert_int_equal(right, shot[i].depths_count);
        if (i) matches_right(&shot[i - 1], &shot[i], STEP_X_PX, STEP_Y_PX);
    }
}
#endif

/* ---- motions ----------------------------------------------------------------------------------------------------- */

/** Requires a motion that was not requested. */
static void no_motion(const vfront_motion_t *m)
{
    vfront_motion_t none;
    memset(&none, 0, sizeof none);
    none.R[0] = none.R[4] = none.R[8] = 1.0f;
    assert_memory_equal(m, &none, sizeof none);
}

static void no_motions(const vfront_result_t *r)
{
    no_motion(&r->relative);
    no_motion(&r->metric);
    no_motion(&r->good);
    for (uint32_t i = 0; i < r->tracks_count; i++) assert_int_equal(r->tracks[i].agrees, 0);
}

#if VFRONT_EGO
/** Frames of the drawn images: camera 0 of a rig has a motion from the second on, and none again after a reset. */
static void motions(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_cameras();
    const uint8_t *const grey[] = {pair_grey[0], pair_right[0]};
    for (int i = 0; i < 3; i++) {
        const uint8_t *const next[] = {pair_grey[i], pair_right[i]};
        pair_shot(i ? NULL : &rig, NULL, next, &shot[i]);
        if (i == 0) no_motions(&shot[i]);
        assert_int_equal(shot[i].relative.state == VFRONT_MOTION_NONE, i == 0);
        assert_int_equal(shot[i].metric.state == VFRONT_MOTION_NONE, i == 0 || !VFRONT_STEREO);
    }
    assert_int_equal(shot[2].good.state, VFRONT_MOTION_GOOD);
    assert_int_equal(shot[2].good.frame, 2);
    assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
    pair_shot(NULL, NULL, grey, &shot[3]);
    no_motions(&shot[3]);
    assert_int_equal(shot[3].frame, 0);
}

/** The last good motion is kept through frames without any, with its time. */
static void good_motion_stays(void **state)
{
    (void)state;
    static uint8_t black[VFRONT_WIDTH * VFRONT_HEIGHT];
    const vfront_rig_t rig = pair_cameras();
    const uint8_t *const dark[] = {black, black};
    memset(black, 0, sizeof black);
    for (int i = 0; i < 3; i++) {
        const uint8_t *const grey[] = {pair_grey[i], pair_right[i]};
        pair_shot(i ? NULL : &rig, NULL, grey, &shot[0]);
    }
    const vfront_motion_t good = shot[0].good;
    assert_int_equal(good.state, VFRONT_MOTION_GOOD);
    for (int i = 0; i < 5; i++) {
        black[i] = 1; /* else the image would be frozen, as it is in the last frame */
        if (i == 4) black[i] = 0;
        pair_shot(NULL, NULL, dark, &shot[0]);
        assert_int_equal(shot[0].relative.state, i < 4 ? VFRONT_MOTION_FEW : VFRONT_MOTION_FROZEN);
        assert_int_equal(shot[0].health.frozen[0], i == 4);
        assert_int_equal(shot[0].relative.frame, 3 + (uint64_t)i);
        assert_memory_equal(&shot[0].good, &good, sizeof good);
    }
}

/** No motion without calibration, or if disabled. */
static void motions_off(void **state)
{
    (void)state;
    enum { UNCALIBRATED, OFF, NO_METRIC, NO_PAIRS, VARIANTS };
    for (int variant = 0; variant < VARIANTS; variant++) {
        vfront_rig_t rig = pair_cameras();
        vfront_tuning_t t;
        vfront_tuning_default(&t);
        if (variant == UNCALIBRATED) rig.camera[0].fx_px = rig.camera[0].fy_px = 0;
        if (variant == OFF) t.ego = 0;
        if (variant == NO_METRIC) t.ego_metric_hypotheses = 0;
        if (variant == NO_PAIRS) t.track_target = 0, t.ego = VFRONT_EGO_TRACKS;
        for (int i = 0; i < 3; i++) {
            const uint8_t *const grey[] = {pair_grey[i], pair_right[i]};
            pair_shot(i ? NULL : &rig, &t, grey, &shot[0]);
            if (variant <= OFF) no_motions(&shot[0]);
            no_motion(&shot[0].metric);
            if (i && variant == NO_METRIC)
                assert_true(shot[0].relative.state == VFRONT_MOTION_GOOD ||
                            shot[0].relative.state == VFRONT_MOTION_ROTATION);
            if (i && variant == NO_PAIRS) assert_int_equal(shot[0].relative.state, VFRONT_MOTION_FEW);
        }
    }
}

/** Minimal samples of 5, 7 and 8 pairs give motions with nearly all pairs as inliers. */
static void motions_from_points(void **state)
{
    (void)state;
    static const int32_t points[] = {5, 7, 8};
    const vfront_rig_t rig = pair_cameras();
    for (int variant = 0; variant < 3; variant++) {
        vfront_tuning_t t;
        vfront_tuning_default(&t);
        t.ego_points = points[variant];
        for (int i = 0; i < 3; i++) {
            const uint8_t *const grey[] = {pair_grey[i], pair_right[i]};
            pair_shot(i ? NULL : &rig, &t, grey, &shot[0]);
        }
        assert_true(shot[0].relative.state == VFRONT_MOTION_GOOD || shot[0].relative.state == VFRONT_MOTION_ROTATION);
        assert_true(shot[0].relative.inliers * 10 > shot[0].relative.pairs * 8);
    }
}

#if VFRONT_STEREO && VFRONT_MATCHES
/** The scene is a plane that moves sideways: the camera moves the opposite way. off: a tuning value that is 0; NULL:
 *  none. Without matches, descriptors or key points depths are those of tracks. */
static void metric_motion_with(const char *off)
{
    vfront_rig_t rig = pair_cameras();
    const double far_m = 160 * SCENE_BASELINE_M / DISPARITY_PX;
    for (int c = 0; c < 2; c++) { /* images move as drawn only without lens distortion */
        rig.camera[c].lens = VFRONT_LENS_RADTAN;
        memset(rig.camera[c].distortion, 0, sizeof rig.camera[c].distortion);
    }
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.detect_levels = 1; /* a level whose pixels divide the movement */
    if (off) assert_int_equal(vfront_tuning_set(&t, off, 0), VFRONT_OK);
    for (int i = 0; i < 6; i++) {
        shoot(i ? NULL : &rig, &t, i, &shot[0]);
        if (i == 0) continue;
        const vfront_motion_t *m = &shot[0].metric;
        const double want_m[3] = {STEP_X_PX / 160 * far_m, STEP_Y_PX / 160 * far_m, 0};
        assert_int_equal(m->state, VFRONT_MOTION_GOOD);
        assert_memory_equal(m, &shot[0].good, sizeof *m);
        print_message("%s: t %.4f %.4f %.4f, should be %.4f %.4f 0; turned %.4f %.4f %.4f; standard deviations %.4f "
                      "%.4f %.4f m\n",
                      off ? off : "all", (double)m->t[0], (double)m->t[1], (double)m->t[2], want_m[0], want_m[1],
                      (double)m->R[7], (double)m->R[2], (double)m->R[3], sqrt((double)m->covariance[0]),
                      sqrt((double)m->covariance[6]), sqrt((double)m->covariance[11]));
        for (int k = 0; k < 3; k++) /* rotation compensates part of it: both move the image sideways */
            assert_true(fabs(m->t[k] - want_m[k]) < 0.01 * far_m + 4 * sqrt((double)m->covariance[k == 0   ? 0
                                                                                                  : k == 1 ? 6
                                                                                                           : 11]));
    }
}

static void metric_motion(void **state)
{
    (void)state;
    static const char *const off[] = {NULL, "stereo", "match", "describe", "select_points"};
    for (size_t k = 0; k < sizeof off / sizeof *off; k++) metric_motion_with(off[k]);
}
#endif
#endif

#define PAIR(test) cmocka_unit_test_setup_teardown(test, pair_start, pair_end)
#define LONE(test) cmocka_unit_test_teardown(test, pair_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
#if VFRONT_STEREO && VFRONT_MATCHES
        LONE(partners),
        LONE(partners_of_rigs),
        LONE(partners_off),
        LONE(partners_of_two_sizes),
        LONE(partners_in_the_dark),
        PAIR(picture_missing),
        LONE(partners_rectified),
#endif
#if VFRONT_EGO
        LONE(motions),
        LONE(good_motion_stays),
        LONE(motions_off),
        LONE(motions_from_points),
#if VFRONT_STEREO && VFRONT_MATCHES
        LONE(metric_motion),
#endif
#endif
    };
    return pair_run("partners", tests, sizeof tests / sizeof *tests);
}
