/* SPDX-License-Identifier: MIT */
/* What the public interface promises of key points, their partners and the motion that follows from them, on pictures
 * that are drawn. */
#include "tests/fixture/pair.h"

#include <math.h>
#include <stdio.h>

static const vfront_result_t *result;

/* ---- key points -------------------------------------------------------------------------------------------------- */

static uint8_t drawn[2][VFRONT_WIDTH * VFRONT_HEIGHT];
static vfront_result_t shot[6];

/** One camera of a size, and beside it the other of another, or none when its width is 0. */
static vfront_rig_t rig_of(int32_t width, int32_t height, int32_t other_width, int32_t other_height)
{
    const struct scene one = {width, height, 0, 0, 0}, two = {other_width, other_height, 0, 0, 0};
    vfront_rig_t rig = scene_rig(&one, 1);
    if (!other_width) return rig;
    rig.cameras = 2;
    rig.camera[1] = scene_rig(&two, 1).camera[0];
    return rig;
}

/** What follows from key points and partners, and is another without them. */
static void forget_motions(vfront_result_t *r)
{
    memset(&r->relative, 0, sizeof r->relative);
    memset(&r->metric, 0, sizeof r->metric);
    memset(&r->good, 0, sizeof r->good);
    r->health.disparity_offset_px = r->health.disparity_sigma_px = 0.0f;
    memset(&r->predicted, 0, sizeof r->predicted);
    for (uint32_t i = 0; i < r->tracks_count; i++) r->tracks[i].agrees = 0;
#if VFRONT_MATCHES
    for (uint32_t i = 0; i < r->matches_count; i++) r->matches[i].agrees = 0;
#endif
}

/** Room for key points up to the border, and cells enough to fill the list. */
static vfront_tuning_t dense_tuning(void)
{
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.detect_border_px = t.describe_margin_px = 4;
    t.cell_width_px = VFRONT_WIDTH / 8;
    t.cell_height_px = VFRONT_HEIGHT / 8;
    t.select_points = VFRONT_KEYPOINTS;
    return t;
}

/** The largest pictures the config knows, the same to both cameras. */
static void shoot_large(const vfront_tuning_t *t, enum scene_fill fill, int32_t side_px, vfront_result_t *r)
{
    const vfront_rig_t rig = rig_of(VFRONT_WIDTH, VFRONT_HEIGHT, VFRONT_WIDTH, VFRONT_HEIGHT);
    const uint8_t *const grey[] = {drawn[0], drawn[0]};
    scene_fill(drawn[0], VFRONT_WIDTH, VFRONT_HEIGHT, fill, side_px);
    pair_shot(&rig, t, grey, r);
}

static void nothing_there(const vfront_rig_t *rig, const vfront_result_t *r)
{
    for (int c = 0; c < rig->cameras; c++) {
        assert_int_equal(r->keypoints_count[c] + r->descriptors_count[c] + r->health.dropped[c], 0);
        assert_int_equal(r->health.starved[c], r->health.cells[c]);
    }
    assert_int_equal(r->tracks_count + r->lost_count + r->health.born + r->health.full + r->health.reset_counter, 0);
}

/** Pictures without a corner are good pictures: of one brightness, and with edges alone. */
static void no_corner(void **state)
{
    (void)state;
    static const uint8_t level[] = {0, 1, 128, 254, 255};
    const vfront_rig_t rig = rig_of(192, 144, 131, 67);
    const uint8_t *const grey[] = {drawn[0], drawn[1]};
    const vfront_tuning_t t = dense_tuning();
    for (size_t i = 0; i < sizeof level; i++) {
        memset(drawn, level[i], sizeof drawn);
        for (int k = 0; k < 3; k++) {
            pair_shot(k ? NULL : &rig, &t, grey, &shot[0]);
            nothing_there(&rig, &shot[0]);
        }
    }
    for (int32_t side = 1; side < 12; side++) {
        scene_fill(drawn[0], 192, 144, SCENE_STRIPES_Y, side);
        scene_fill(drawn[1], 131, 67, SCENE_STRIPES_X, side);
        pair_shot(&rig, &t, grey, &shot[0]);
        nothing_there(&rig, &shot[0]);
    }
}

/** A spot is no corner while an arc is bounded, and one when it is not. */
static void spots(void **state)
{
    (void)state;
    const vfront_rig_t rig = rig_of(192, 144, 0, 0);
    const uint8_t *const grey[] = {drawn[0]};
    vfront_tuning_t t = dense_tuning();
    t.detect_levels = 1;
    memset(drawn[0], 40, sizeof drawn[0]);
    for (int32_t i = 0; i < 64; i++) drawn[0][(i / 8 * 18 + 9) * 192 + i % 8 * 24 + 12] = 200;
    for (t.detect_arc_most = 13; t.detect_arc_most <= 16; t.detect_arc_most++) {
        pair_shot(&rig, &t, grey, &shot[0]);
        assert_int_equal(shot[0].keypoints_count[0], t.detect_arc_most < 16 ? 0 : 64);
    }
}

/** Corners everywhere: more than the list holds, of each camera, and every cell has one. */
static void list_full(void **state)
{
    (void)state;
    static const struct {
        enum scene_fill fill;
        int32_t side_px;
    } picture[] = {{SCENE_NOISE, 1}, {SCENE_NOISE, 2}, {SCENE_TILES, 6}, {SCENE_TILES, 7}};
    for (size_t i = 0; i < sizeof picture / sizeof *picture; i++)
        for (int described = 0; described < 2; described++) {
            vfront_tuning_t t = dense_tuning();
            t.describe = described;
            shoot_large(&t, picture[i].fill, picture[i].side_px, &shot[0]);
            for (int c = 0; c < VFRONT_CAMERAS; c++) {
                assert_in_range(shot[0].keypoints_count[c], 1, VFRONT_KEYPOINTS);
                assert_true(shot[0].health.dropped[c] > 0);
                assert_true(shot[0].health.full & (uint32_t)VFRONT_FULL_KEYPOINTS << c);
                assert_int_equal(shot[0].health.starved[c], 0);
            }
            pair_same_points(&shot[0], 0, &shot[0], VFRONT_CAMERAS - 1);
        }
}

/** Only the camera whose list is full is said to be; and the bit goes when the picture does. */
static void one_list_full(void **state)
{
    (void)state;
    const vfront_rig_t rig = rig_of(VFRONT_WIDTH, VFRONT_HEIGHT, VFRONT_WIDTH, VFRONT_HEIGHT);
    const vfront_tuning_t t = dense_tuning();
    scene_fill(drawn[0], VFRONT_WIDTH, VFRONT_HEIGHT, SCENE_NOISE, 1);
    memset(drawn[1], 99, sizeof drawn[1]);
    for (int camera = 0; camera < 2; camera++) {
        const uint8_t *const grey[] = {drawn[camera], drawn[!camera]}, *const dull[] = {drawn[1], drawn[1]};
        pair_shot(&rig, &t, grey, &shot[0]);
        assert_int_equal(shot[0].health.full & ~(uint32_t)VFRONT_FULL_TRACKS, VFRONT_FULL_KEYPOINTS << camera);
        assert_true(shot[0].health.dropped[camera] > 0 && shot[0].health.dropped[!camera] == 0);
        pair_shot(NULL, NULL, dull, &shot[0]);
        assert_int_equal(shot[0].health.full, 0);
    }
}

/** Checkers of any size, down to single pixels, are pictures like any other. Their crossings are no corners, what
 *  coarser levels make of them may be. */
static void checkers(void **state)
{
    (void)state;
    for (int32_t side = 1; side < 24; side++) {
        vfront_tuning_t t = dense_tuning();
        t.detect_arc_most = side % 2 ? 16 : 13;
        shoot_large(&t, SCENE_CHECKERS, side, &shot[0]);
        t.describe = 0;
        shoot_large(&t, SCENE_CHECKERS, side, &shot[1]);
        assert_int_equal(shot[0].keypoints_count[0], shot[1].keypoints_count[0]);
    }
}

/** Tracks wanted, but fewer than there are corners for. */
static void tracks_full(void **state)
{
    (void)state;
    vfront_tuning_t t = dense_tuning();
    t.track_target = 5;
    shoot_large(&t, SCENE_NOISE, 1, &shot[0]);
    assert_int_equal(shot[0].tracks_count, 5);
    assert_true(shot[0].health.overflow > 0);
    assert_true(shot[0].health.full & VFRONT_FULL_TRACKS);
}

/** `few` holds nothing that `all` does not, and what it lacks of a level is not better than what it has of it. */
static void best_of(const vfront_result_t *few, const vfront_result_t *all, int c)
{
    uint32_t least[VFRONT_SCALES], k = 0;
    memset(least, 0xff, sizeof least);
    for (uint32_t i = 0; i < few->keypoints_count[c]; i++) {
        const vfront_keypoint_t *p = &few->keypoints[c][i];
        if (p->score < least[p->level]) least[p->level] = p->score;
    }
    for (uint32_t i = 0; i < all->keypoints_count[c]; i++) {
        const vfront_keypoint_t *p = &all->keypoints[c][i];
        if (k < few->keypoints_count[c] && !memcmp(p, &few->keypoints[c][k], sizeof *p)) {
            if (few->descriptors_count[c])
                assert_memory_equal(&few->descriptors[c][k], &all->descriptors[c][i], sizeof **few->descriptors);
            k++;
        } else {
            assert_true(p->score <= least[p->level]);
        }
    }
    assert_int_equal(k, few->keypoints_count[c]);
}

/** Beyond select_points the best stay, and what goes is counted. Cells so large that no list is full otherwise. */
static void best_stay(void **state)
{
    (void)state;
    static const int32_t points[] = {1, 2, 7, 19, 40};
    for (int way = 0; way < 16;
         way++) { /* ranked by score or by Harris, one level or all, described or not, noise or tiles */
        const enum scene_fill fill = way & 8 ? SCENE_TILES : SCENE_NOISE;
        vfront_tuning_t t = dense_tuning();
        t.cull_width_px = t.cull_height_px = 48;
        t.select_window_px = 2; /* one corner a cell */
        t.detect_rank = way & 1;
        t.detect_levels = way & 2 ? VFRONT_SCALES : 1;
        t.describe = way >> 2 & 1;
        shoot_large(&t, fill, 7, &shot[0]);
        assert_int_equal(shot[0].health.dropped[0] + shot[0].health.dropped[VFRONT_CAMERAS - 1], 0);
        for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
            t.select_points = points[i];
            shoot_large(&t, fill, 7, &shot[1]);
            for (int c = 0; c < VFRONT_CAMERAS; c++) {
                const uint32_t there = shot[0].keypoints_count[c], kept = shot[1].keypoints_count[c];
                assert_true(there > 8 && kept > 0);
                assert_true(there <= (uint32_t)points[i] || shot[1].health.dropped[c] > 0);
                assert_int_equal(kept + shot[1].health.dropped[c], there);
                best_of(&shot[1], &shot[0], c);
            }
        }
    }
}

/** Levels that a picture is too small for are not there; one that is too small for any key point is a good picture all
 *  the same. */
static void small_pictures(void **state)
{
    (void)state;
    static const struct {
        int32_t width, height, other_width, other_height;
        int32_t levels, scales; /* halves, and steps of 5/4, that leave 16 px */
    } size[] = {
        {16, 16, 0, 0, 1, 1},     {17, 31, 0, 0, 1, 1},     {31, 17, 16, 16, 1, 1}, {21, 26, 0, 0, 1, 2},
        {32, 33, 0, 0, 2, 4},     {192, 16, 0, 0, 1, 1},    {16, 144, 0, 0, 1, 1},  {192, 144, 17, 31, 1, 1},
        {17, 31, 192, 144, 1, 1}, {192, 144, 21, 26, 1, 2}, {64, 64, 0, 0, 3, 5},   {192, 144, 192, 144, 3, 5},
    };
    uint32_t found = 0;
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        for (int described = 0; described < 2; described++) {
            const vfront_rig_t rig = rig_of(size[i].width, size[i].height, size[i].other_width, size[i].other_height);
            const uint8_t *const grey[] = {drawn[0], drawn[1]};
            const int least = described ? 2 * 19 + 1 : 9; /* for a key point: the margin at either side */
            vfront_info_t is;
            vfront_tuning_t t;
            vfront_tuning_default(&t);
            t.describe = described;
            t.detect_border_px = 3;
            for (int k = 0; k < 3; k++) {
                for (int c = 0; c < rig.cameras; c++)
                    scene_fill(drawn[c], rig.camera[c].width_px, rig.camera[c].height_px, SCENE_NOISE, 1 + k);
                pair_shot(k ? NULL : &rig, &t, grey, &shot[0]);
                for (int c = 0; c < rig.cameras; c++) {
                    found += shot[0].keypoints_count[c];
                    if (rig.camera[c].width_px < least || rig.camera[c].height_px < least)
                        assert_int_equal(shot[0].keypoints_count[c], 0);
                    for (uint32_t p = 0; p < shot[0].keypoints_count[c]; p++)
                        assert_true(shot[0].keypoints[c][p].level < size[i].scales);
                }
            }
            assert_int_equal(vfront_info(&pair_vf, &is), VFRONT_OK);
            assert_int_equal(is.levels, size[i].levels);
            assert_int_equal(is.scales, size[i].scales);
        }
    assert_true(found > 1000);
}

/** Only the levels that are searched are built. */
static void levels_searched(void **state)
{
    (void)state;
    for (int32_t levels = 1; levels <= VFRONT_SCALES; levels++) {
        vfront_info_t is;
        vfront_tuning_t t = dense_tuning();
        uint32_t seen = 0;
        t.detect_levels = levels;
        t.cell_width_px = t.cell_height_px = 48; /* so that all stay */
        shoot_large(&t, SCENE_NOISE, 1, &shot[0]);
        assert_int_equal(vfront_info(&pair_vf, &is), VFRONT_OK);
        assert_int_equal(is.scales, levels);
        for (uint32_t i = 0; i < shot[0].keypoints_count[0]; i++) seen |= 1u << shot[0].keypoints[0][i].level;
        assert_int_equal(seen, (1u << levels) - 1);
    }
}

/** Three frames of the scene, for both cameras. */
static void fly(const vfront_tuning_t *t, vfront_result_t r[3])
{
    const vfront_rig_t rig = pair_unplaced();
    for (int i = 0; i < 3; i++) {
        const uint8_t *const grey[] = {pair_grey[i], pair_grey[i + 3]};
        pair_shot(i ? NULL : &rig, t, grey, &r[i]);
    }
}

/** Without key points there are tracks, the same ones where no margin is kept for descriptors and no motion guides
 *  them. */
static void no_points_wanted(void **state)
{
    (void)state;
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.describe_margin_px = 4;
    t.track_prior = VFRONT_PRIOR_NONE;
    fly(&t, shot);
    t.select_points = 0;
    fly(&t, shot + 3);
    for (int i = 0; i < 3; i++) {
        vfront_result_t *with = &shot[i], *without = &shot[i + 3];
        assert_true(with->keypoints_count[0] > 0 && with->tracks_count > 0);
        forget_motions(with);
        forget_motions(without);
        for (int c = 0; c < VFRONT_CAMERAS; c++) {
            assert_int_equal(without->keypoints_count[c] + without->descriptors_count[c] + without->health.dropped[c],
                             0);
            assert_int_equal(without->health.starved[c], with->health.starved[c]);
        }
        assert_int_equal(without->health.full & ~(uint32_t)VFRONT_FULL_TRACKS, 0);
        assert_int_equal(without->tracks_count, with->tracks_count);
        assert_int_equal(without->lost_count, with->lost_count);
        assert_memory_equal(without->tracks, with->tracks, with->tracks_count * sizeof *with->tracks);
    }
}

/** Without descriptors there are the same key points, where the margin is the same; but no angles. */
static void not_described(void **state)
{
    (void)state;
    vfront_tuning_t t = dense_tuning();
    uint32_t turned = 0, differ = 0;
    fly(&t, shot);
    t.describe = 0;
    fly(&t, shot + 3);
    for (int i = 0; i < 3; i++)
        for (int c = 0; c < VFRONT_CAMERAS; c++) {
            const vfront_result_t *with = &shot[i], *without = &shot[i + 3];
            assert_true(with->keypoints_count[c] > 20);
            assert_int_equal(with->descriptors_count[c], with->keypoints_count[c]);
            assert_int_equal(without->descriptors_count[c], 0);
            assert_int_equal(without->keypoints_count[c], with->keypoints_count[c]);
            for (uint32_t k = 0; k < with->keypoints_count[c]; k++) {
                vfront_keypoint_t a = with->keypoints[c][k];
                turned += a.angle_rad != 0;
                differ += k &&
                          memcmp(&with->descriptors[c][k], &with->descriptors[c][k - 1], sizeof **with->descriptors);
                assert_true(without->keypoints[c][k].angle_rad == 0);
                a.angle_rad = without->keypoints[c][k].angle_rad;
                assert_memory_equal(&a, &without->keypoints[c][k], sizeof a);
            }
        }
    assert_true(turned > 100 && differ > 100); /* or the comparison says nothing */
}

/** Without tracks there are the same key points, and nothing is wrong. */
static void not_tracked(void **state)
{
    (void)state;
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    fly(&t, shot);
    t.track_target = 0;
    fly(&t, shot + 3);
    for (int i = 0; i < 3; i++) {
        const vfront_result_t *r = &shot[i + 3];
        assert_true(shot[i].tracks_count > 0 && r->keypoints_count[0] > 0);
        assert_int_equal(r->tracks_count + r->lost_count, 0);
        assert_int_equal(r->health.followed + r->health.born + r->health.overflow + r->health.reset_counter, 0);
        assert_int_equal(r->health.quality, 100);
        assert_int_equal(r->health.state, i ? VFRONT_TRACKING : VFRONT_STARTING);
        assert_int_equal(r->health.full & VFRONT_FULL_TRACKS, 0);
        for (int c = 0; c < VFRONT_CAMERAS; c++) pair_same_points(r, c, &shot[i], c);
    }
}

/* ---- partners: depths and matches -------------------------------------------------------------------------------- */

#if VFRONT_STEREO && VFRONT_MATCHES
/** A step with the pictures of a pair. With a rig the front end starts anew. */
static void shoot(const vfront_rig_t *rig, const vfront_tuning_t *t, int number, vfront_result_t *r)
{
    const uint8_t *const grey[] = {pair_grey[number], pair_right[number]};
    pair_shot(rig, t, grey, r);
}

/** As many frames of a pair, one after the other. */
static void shoot_all(const vfront_rig_t *rig, const vfront_tuning_t *t, vfront_result_t *r, int frames)
{
    for (int i = 0; i < frames; i++) shoot(i ? NULL : rig, t, i, &r[i]);
}

/** Most depths are right: the disparity is that of a pinhole, but for what the lenses bend. */
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

/** Most matches are right: the picture moves by so many pixels a frame. */
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

/** Depths in every frame, matches from the second on, and after a reset likewise. */
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

/** What of a rig must be known for depths. Matches and all else need none of it. */
static void partners_of_rigs(void **state)
{
    (void)state;
    enum { LEFT_OPEN, RIGHT_OPEN, BOTH_OPEN, ONE_PLACE, TURNED_ONLY, ALONE, WAYS };
    for (int way = 0; way < WAYS; way++) {
        vfront_rig_t rig = pair_cameras();
        if (way == LEFT_OPEN || way == BOTH_OPEN) rig.camera[0].fx_px = rig.camera[0].fy_px = 0;
        if (way == RIGHT_OPEN || way == BOTH_OPEN) rig.camera[1].fx_px = rig.camera[1].fy_px = 0;
        if (way == ONE_PLACE || way == TURNED_ONLY) rig.camera[1].t_cam_imu_m[0] = 0;
        if (way == TURNED_ONLY)
            rig.camera[1].R_cam_imu[1] = -1, rig.camera[1].R_cam_imu[3] = rig.camera[1].R_cam_imu[8] = 1;
        if (way == ALONE) rig.cameras = 1;
        shoot_all(&rig, NULL, shot, 3);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(shot[i].depths_count, 0);
            if (i) matches_right(&shot[i - 1], &shot[i], STEP_X_PX, STEP_Y_PX);
        }
        assert_int_equal(shot[0].matches_count, 0);
    }
}

/** What the tuning turns off is off, and nothing else is. Without motions, by whose prediction matches are searched. */
static void partners_off(void **state)
{
    (void)state;
    enum { NO_STEREO, NO_MATCH, NO_DESCRIBE, NO_POINTS, WAYS };
    static const int has_depths[WAYS] = {0, 1, 0, 0}, has_matches[WAYS] = {1, 0, 0, 0};
    const vfront_rig_t rig = pair_cameras();
    for (int way = 0; way < WAYS; way++)
        for (int rectify = 0; rectify < 2; rectify++) {
            vfront_tuning_t t;
            vfront_tuning_default(&t);
            t.rectify = rectify;
            t.ego = 0;
            t.describe_margin_px = 4; /* so that tracks begin in the same corners */
            shoot_all(&rig, &t, shot, 3);
            if (way == NO_STEREO) t.stereo = 0;
            if (way == NO_MATCH) t.match = 0;
            if (way == NO_DESCRIBE) t.describe = 0;
            if (way == NO_POINTS) t.select_points = 0;
            shoot_all(&rig, &t, shot + 3, 3);
            for (int i = 0; i < 3; i++) {
                vfront_result_t *with = &shot[i], *without = &shot[i + 3];
                assert_true(with->depths_count > 0 && (i == 0 || with->matches_count > 0));
                if (!has_depths[way]) {
                    assert_int_equal(without->depths_count, 0);
                    assert_int_equal(without->health.stereo, VFRONT_STEREO_NONE);
                    assert_true(with->health.stereo == VFRONT_STEREO_GOOD && with->health.stereo_permille > 0);
                    with->depths_count = 0;
                    with->health.stereo = with->health.stereo_permille = 0;
                    with->health.stereo_offset_px = with->health.rows_offset_px = 0.0f;
                    with->health.rows_sigma_px = without->health.rows_sigma_px;
                }
                if (!has_matches[way]) assert_int_equal(without->matches_count, 0), with->matches_count = 0;
                forget_motions(with);
                forget_motions(without);
                pair_same_partners(with, without);
                if (way <= NO_MATCH) assert_true(vfront_digest(with) == vfront_digest(without));
            }
        }
}

/** Cameras of two sizes see each other's points where both look. The smaller one's picture is part of the other's. */
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
            if (swapped) { /* the small one on the left */
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

/** Where there is nothing to see there are no partners: not in the other camera's blank picture, nor before or after
 *  one. */
static void partners_in_the_dark(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_cameras();
    enum { SIGHT, DARK, LEFT_DARK, RIGHT_DARK };
    static const int frame[] = {DARK,      DARK,  SIGHT, SIGHT, RIGHT_DARK, SIGHT,
                                LEFT_DARK, SIGHT, SIGHT, DARK,  SIGHT,      SIGHT};
    memset(drawn[0], 0, sizeof drawn[0]);
    for (int i = 0; i < (int)(sizeof frame / sizeof *frame); i++) {
        const int left = frame[i] == SIGHT || frame[i] == RIGHT_DARK,
                  right = frame[i] == SIGHT || frame[i] == LEFT_DARK;
        const int before = i && (frame[i - 1] == SIGHT || frame[i - 1] == RIGHT_DARK);
        const uint8_t *const grey[] = {left ? pair_grey[i % 2] : drawn[0], right ? pair_right[i % 2] : drawn[0]};
        pair_shot(i ? NULL : &rig, NULL, grey, &shot[0]);
        assert_int_equal(shot[0].depths_count > 0, left && right);
        assert_int_equal(shot[0].matches_count > 0, left && before);
    }
}

/** A frame that lacks the second camera's picture is refused, and the next one's partners are as if it had never been.
 *  */
static void picture_missing(void **state)
{
    (void)state;
    vfront_frame_t f;
    shot[0] = *pair_step();
    for (int i = 1; i < 4; i++) {
        f = pair_frame((uint64_t)i + 3); /* other pictures, of which nothing may stay */
        f.t_ns = shot[0].t_ns + 1;
        f.picture[VFRONT_CAMERAS - 1].data = NULL;
        pair_refused(vfront_step(&pair_vf, &f, &result), VFRONT_E_NULL, "frame.picture[1].data");
        shot[1] = *pair_step();
        depths_right(&shot[1], DISPARITY_PX);
        matches_right(&shot[0], &shot[1], STEP_X_PX, STEP_Y_PX);
        shot[0] = shot[1];
    }
}

/** Rectified, partners lie in one row, and depth follows from disparity as the interface says that it does. */
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
            const double want_m = is.seen[0].fx_px * SCENE_BASELINE_M / ((double)p->x_px - (double)d->x_px);
            right += fabs((double)d->y_px - (double)p->y_px) < 0.01 && fabs(d->depth_m - want_m) < 1e-3 * want_m;
        }
        assert_true(shot[i].depths_count >= 15);
        assert_int_equal(right, shot[i].depths_count);
        if (i) matches_right(&shot[i - 1], &shot[i], STEP_X_PX, STEP_Y_PX);
    }
}
#endif

/* ---- motions ----------------------------------------------------------------------------------------------------- */

/** A motion of which nothing was asked. */
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
/** Frames of the drawn pictures; camera 0 of a rig has some motion from the second on, and none again after a reset. */
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

/** The last good motion stays through frames without any, and says when it was. */
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
        black[i] = 1; /* else the picture would be frozen, which it is in the last frame */
        if (i == 4) black[i] = 0;
        pair_shot(NULL, NULL, dark, &shot[0]);
        assert_int_equal(shot[0].relative.state, i < 4 ? VFRONT_MOTION_FEW : VFRONT_MOTION_FROZEN);
        assert_int_equal(shot[0].health.frozen[0], i == 4);
        assert_int_equal(shot[0].relative.frame, 3 + (uint64_t)i);
        assert_memory_equal(&shot[0].good, &good, sizeof good);
    }
}

/** What leaves no motion: no calibration, or the tuning. */
static void motions_off(void **state)
{
    (void)state;
    enum { UNCALIBRATED, OFF, NO_METRIC, NO_PAIRS, WAYS };
    for (int way = 0; way < WAYS; way++) {
        vfront_rig_t rig = pair_cameras();
        vfront_tuning_t t;
        vfront_tuning_default(&t);
        if (way == UNCALIBRATED) rig.camera[0].fx_px = rig.camera[0].fy_px = 0;
        if (way == OFF) t.ego = 0;
        if (way == NO_METRIC) t.ego_metric_hypotheses = 0;
        if (way == NO_PAIRS) t.ego_tracks = t.ego_matches = 0;
        for (int i = 0; i < 3; i++) {
            const uint8_t *const grey[] = {pair_grey[i], pair_right[i]};
            pair_shot(i ? NULL : &rig, &t, grey, &shot[0]);
            if (way <= OFF) no_motions(&shot[0]);
            no_motion(&shot[0].metric);
            if (i && way == NO_METRIC)
                assert_true(shot[0].relative.state == VFRONT_MOTION_GOOD ||
                            shot[0].relative.state == VFRONT_MOTION_ROTATION);
            if (i && way == NO_PAIRS) assert_int_equal(shot[0].relative.state, VFRONT_MOTION_FEW);
        }
    }
}

/** From 5, from 7 and from 8 pairs there are motions, with any seed, on which nearly all agree. */
static void motions_from_points(void **state)
{
    (void)state;
    static const int32_t points[] = {5, 7, 8}, seed[] = {0, 1, INT32_MAX};
    const vfront_rig_t rig = pair_cameras();
    for (int way = 0; way < 9; way++) {
        vfront_tuning_t t;
        vfront_tuning_default(&t);
        t.ego_points = points[way / 3];
        t.ego_seed = seed[way % 3];
        for (int i = 0; i < 3; i++) {
            const uint8_t *const grey[] = {pair_grey[i], pair_right[i]};
            pair_shot(i ? NULL : &rig, &t, grey, &shot[0]);
        }
        assert_true(shot[0].relative.state == VFRONT_MOTION_GOOD || shot[0].relative.state == VFRONT_MOTION_ROTATION);
        assert_true(shot[0].relative.inliers * 10 > shot[0].relative.pairs * 8);
    }
}

#if VFRONT_STEREO && VFRONT_MATCHES
/** Everything in the pictures lies in one plane, which moves to the side: so does the camera, the other way. */
static void metric_motion(void **state)
{
    (void)state;
    vfront_rig_t rig = pair_cameras();
    const double far_m = 160 * SCENE_BASELINE_M / DISPARITY_PX;
    for (int c = 0; c < 2;
         c++) { /* pictures that move as they are drawn, without a lens: with one, no plane would look so */
        rig.camera[c].lens = VFRONT_LENS_RADTAN;
        memset(rig.camera[c].distortion, 0, sizeof rig.camera[c].distortion);
    }
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.detect_levels = 1; /* whose pixels the movement is a whole number of */
    for (int i = 0; i < 6; i++) {
        shoot(i ? NULL : &rig, &t, i, &shot[0]);
        if (i == 0) continue;
        const vfront_motion_t *m = &shot[0].metric;
        const double want_m[3] = {STEP_X_PX / 160 * far_m, STEP_Y_PX / 160 * far_m, 0};
        assert_int_equal(m->state, VFRONT_MOTION_GOOD);
        assert_memory_equal(m, &shot[0].good, sizeof *m);
        print_message(
            "t %.4f %.4f %.4f, should be %.4f %.4f 0; turned %.4f %.4f %.4f; standard deviations %.4f %.4f %.4f m\n",
            (double)m->t[0], (double)m->t[1], (double)m->t[2], want_m[0], want_m[1], (double)m->R[7], (double)m->R[2],
            (double)m->R[3], sqrt((double)m->covariance[0]), sqrt((double)m->covariance[6]),
            sqrt((double)m->covariance[11]));
        for (int k = 0; k < 3; k++) /* its turn makes up for some of it: both move the picture to the side */
            assert_true(fabs(m->t[k] - want_m[k]) < 0.01 * far_m + 4 * sqrt((double)m->covariance[k == 0   ? 0
                                                                                                  : k == 1 ? 6
                                                                                                           : 11]));
    }
}
#endif
#endif

#define PAIR(test) cmocka_unit_test_setup_teardown(test, pair_start, pair_end)
#define LONE(test) cmocka_unit_test_teardown(test, pair_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LONE(no_corner),
        LONE(list_full),
        LONE(one_list_full),
        LONE(checkers),
        LONE(tracks_full),
        LONE(best_stay),
        LONE(small_pictures),
        LONE(spots),
        LONE(levels_searched),
        LONE(no_points_wanted),
        LONE(not_described),
        LONE(not_tracked),
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
    return pair_run("points", tests, sizeof tests / sizeof *tests);
}
