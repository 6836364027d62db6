/* SPDX-License-Identifier: MIT */
/* Promises of the public interface on key points, on drawn images. */
#include "tests/fixture/pair.h"

#include <math.h>
#include <stdio.h>

/* ---- key points -------------------------------------------------------------------------------------------------- */

static uint8_t drawn[2][VFRONT_WIDTH * VFRONT_HEIGHT];
static vfront_result_t shot[6];

/** One camera of a given size, and a second of another size, or none if its width is 0. */
static vfront_rig_t rig_of(int32_t width, int32_t height, int32_t other_width, int32_t other_height)
{
    const struct scene one = {width, height, 0, 0, 0}, two = {other_width, other_height, 0, 0, 0};
    vfront_rig_t rig = scene_rig(&one, 1);
    if (!other_width) return rig;
    rig.cameras = 2;
    rig.camera[1] = scene_rig(&two, 1).camera[0];
    return rig;
}

/** Tuning for key points up to the border, with enough cells to fill the list. */
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

/** Steps with the largest images of the config, the same for both cameras. */
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

/** Images without a corner are valid: uniform, and with edges only. */
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

/** A blob is no corner while the arc length is bounded, and one if it is not. */
static void blobs(void **state)
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

/** Corners everywhere: more than the list of each camera holds, and in every cell. */
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

/** Only the camera with a full list has the flag, and only in that frame. */
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

/** Checkers of any size, down to single pixels, are valid images. Their crossings are no corners; coarser levels may
 *  have some. */
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

/** Tracks enabled, but fewer than corners. */
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

/** Requires that `few` is a subset of `all`, and that the omitted key points of a level are not better. */
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

/** Beyond select_points the best are kept, and the others counted. Cells are so large that no list is full
 *  otherwise. */
static void best_stay(void **state)
{
    (void)state;
    static const int32_t points[] = {1, 2, 7, 19, 40};
    for (int variant = 0; variant < 16;
         variant++) { /* ranked by score or by Harris, one level or all, with and without descriptors, noise or tiles */
        const enum scene_fill fill = variant & 8 ? SCENE_TILES : SCENE_NOISE;
        vfront_tuning_t t = dense_tuning();
        t.cull_width_px = t.cull_height_px = 48;
        t.select_aggregate_px = 2; /* one corner per cell */
        t.detect_rank = variant & 1;
        t.detect_levels = variant & 2 ? VFRONT_SCALES : 1;
        t.describe = variant >> 2 & 1;
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

/** Levels for which an image is too small are absent; an image too small for any key point is still valid. */
static void small_pictures(void **state)
{
    (void)state;
    static const struct {
        int32_t width, height, other_width, other_height;
        int32_t levels, scales; /* number of levels by halves, and by 5/4, of at least 16 px */
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
            const int least = described ? 2 * 19 + 1 : 9; /* minimum for a key point: the margin on either side */
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

/** Only the searched levels are built. */
static void levels_searched(void **state)
{
    (void)state;
    for (int32_t levels = 1; levels <= VFRONT_SCALES; levels++) {
        vfront_info_t is;
        vfront_tuning_t t = dense_tuning();
        uint32_t seen = 0;
        t.detect_levels = levels;
        t.cell_width_px = t.cell_height_px = 48; /* so that all are kept */
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

/** Without key points there are tracks, the same ones if there is no margin for descriptors and no motion
 *  prediction. */
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
        pair_forget_motions(with);
        pair_forget_motions(without);
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

/** Without descriptors the key points are the same with the same margin, but have no angles. */
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
    assert_true(turned > 100 && differ > 100); /* else the comparison is void */
}

/** Without tracks the key points are the same. */
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

#define LONE(test) cmocka_unit_test_teardown(test, pair_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LONE(no_corner),       LONE(list_full),        LONE(one_list_full),  LONE(checkers),
        LONE(tracks_full),     LONE(best_stay),        LONE(small_pictures), LONE(blobs),
        LONE(levels_searched), LONE(no_points_wanted), LONE(not_described),  LONE(not_tracked),
    };
    return pair_run("points", tests, sizeof tests / sizeof *tests);
}
