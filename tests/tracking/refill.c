/* SPDX-License-Identifier: MIT */
/* refill: live, ended and new features against a brute-force oracle over random states. The corner of every cell, of
 * any level, is compared with every feature and every other corner by distances in double precision, and the best are
 * found by sorting. */
#include "tests/fixture/stage.h"

/* ---- a state before the stage, kept apart from the arena --------------------------------------------------------- */

/** Corner, best first: first threshold before second, higher score, finer level, raster order. */
struct corner {
    int there, high, level, u, v; /* u, v: pixel of its level */
    uint32_t score;
    double x, y; /* level 0 [px] */
};
static struct corner corner[VFRONT_CELLS];
static struct vf_track_counts before;
static uint64_t frame;

static int better(const struct corner *a, const struct corner *b)
{
    if (a->high != b->high) return a->high > b->high;
    if (a->score != b->score) return a->score > b->score;
    if (a->level != b->level) return a->level < b->level;
    return a->v != b->v ? a->v < b->v : a->u < b->u;
}

static int32_t searched(void)
{
    return step.geometry.scales < step.tuning.detect_levels ? step.geometry.scales : step.tuning.detect_levels;
}

/** Cell of a level 0 position: that of the nearest pixel, halves up. */
static int32_t cell_of(double x, double y)
{
    const int32_t column = (int32_t)floor((floor(x + 0.5)) / step.tuning.cell_width_px);
    const int32_t row = (int32_t)floor((floor(y + 0.5)) / step.tuning.cell_height_px);
    return row * step.geometry.cells_x[0] + column;
}

/** Level 0 coordinate of the centre of a pixel of a level, down to 2^-16. */
static double centre_of(int u, int level) { return floor((u + 0.5) * step.geometry.step_q16[level]) / 65536.0 - 0.5; }

/** Replaces the corner of a cell by one at a pixel of a level. */
static void put_corner(int level, int u, int v, int high, uint32_t score)
{
    const struct corner c = {1, high, level, u, v, score, centre_of(u, level), centre_of(v, level)};
    const int32_t cell = cell_of(c.x, c.y);
    corner[cell] = c;
    memory.detect.corner[step.parity][0][cell] = vf_detect_key(high, score, level, u, v);
}

/** Key that the stage must not read: better than any corner. */
static uint64_t bait(void)
{
    return vf_detect_key(1, 4000000000u + (uint32_t)roll(1000), roll(VFRONT_SCALES), roll(16), roll(16));
}

/** No corners in the cells; bait after them, in the other camera's and the other parity's cells, and in culling
 *  cells. */
static void clear_corners(void)
{
    memset(corner, 0, sizeof corner);
    for (int32_t cell = 0; cell < VFRONT_CELLS && cell < cells_of(0) + 40; cell++) {
        uint64_t(*now)[VFRONT_CELLS] = memory.detect.corner[step.parity];
        now[0][cell] = cell < cells_of(0) ? 0 : bait();
        now[VFRONT_CAMERAS - 1][cell] = VFRONT_CAMERAS > 1 || cell >= cells_of(0) ? bait() : 0;
        for (int i = 0; i < VFRONT_CAMERAS; i++) memory.detect.corner[step.parity ^ 1][i][cell] = bait();
    }
    for (int32_t place = 0; place < VFRONT_SCALES * VFRONT_CULL_CELLS && place < 200; place++)
        memory.detect.best[step.parity][0][place] = bait();
}

/** Random corners of any searched level in about `percent` of the cells. Few different scores, so that many are
 *  equal. */
static void random_corners(int percent)
{
    const uint32_t scores = roll(2) ? 3 : roll(2) ? 4080 : 4294967295u;
    const struct vf_level *l0 = &step.geometry.scale[0][0];
    clear_corners();
    for (int32_t cell = 0; cell < cells_of(0); cell++) {
        const int32_t level = roll(2) ? 0 : roll(searched());
        const struct vf_level *l = scale_of(0, level);
        const double size = step.geometry.step_q16[level] / 65536.0;
        const int32_t x = cell % step.geometry.cells_x[0] * step.tuning.cell_width_px + roll(step.tuning.cell_width_px);
        const int32_t y = cell / step.geometry.cells_x[0] * step.tuning.cell_height_px +
                          roll(step.tuning.cell_height_px);
        const int32_t u = (int32_t)((x + 0.5) / size), v = (int32_t)((y + 0.5) / size);
        if (roll(100) >= percent || x >= l0->width || y >= l0->height || u >= l->width || v >= l->height) continue;
        put_corner(level, u, v, roll(4) > 0, 1 + (uint32_t)(roll64() >> 32) % scores);
    }
}

static void put_counts(uint64_t last_id, uint32_t count)
{
    before = (struct vf_track_counts){last_id, count, 0};
    memory.refill.counts[step.parity ^ 1] = before;
}

static void set_frame(uint64_t number)
{
    frame = number;
    memory.ingest.params.frame = number;
}

/** Features as input of the stage, each with its own template index, at multiples of `grid_q16`. */
static void random_features(uint32_t count, int ended_percent, int grid_q16)
{
    uint16_t template_index[VFRONT_TRACKS];
    const struct vf_level *l = &step.geometry.level[0][0];
    for (uint16_t i = 0; i < VFRONT_TRACKS; i++) template_index[i] = i;
    for (uint32_t i = 0; i < count; i++) {
        struct vf_feature *f = &memory.track.moved[i];
        const uint32_t other = i + (uint32_t)roll((int32_t)(VFRONT_TRACKS - i));
        const uint16_t chosen = template_index[other];
        template_index[other] = template_index[i];
        scribble(f, sizeof *f);
        f->id = 3 + 5 * (uint64_t)i + (uint64_t)roll(5);
        f->template_index = chosen;
        f->x_q16 = roll((l->width - 1) * 65536 / grid_q16 + 1) * grid_q16;
        f->y_q16 = roll((l->height - 1) * 65536 / grid_q16 + 1) * grid_q16;
        if (i > 0 && !roll(8)) { /* near another one */
            const struct vf_feature *near = &memory.track.moved[roll((int32_t)i)];
            f->x_q16 = vf_clamp(near->x_q16 + between(-2, 2) * 65536, 0, (l->width - 1) * 65536);
            f->y_q16 = vf_clamp(near->y_q16 + between(-2, 2) * 65536 + roll(2) * grid_q16, 0, (l->height - 1) * 65536);
        }
        f->end = (uint8_t)(roll(100) < ended_percent ? between(1, VFRONT_END_MERGED - 1) : 0);
    }
    put_counts(3 + 5 * (uint64_t)count + 100, count);
}

/* ---- oracle ------------------------------------------------------------------------------------------------------ */

static uint32_t alive[VFRONT_TRACKS], ended[VFRONT_TRACKS], alive_count, ended_count, merged_count;
static int32_t fit[VFRONT_CELLS], fit_count; /* cells whose corner may become a feature */

/** Distance test: differences along each axis are truncated to 1/16 px. */
static int nearer(double least_px, double ax, double ay, double bx, double by)
{
    const double least = least_px * 16.0, dx = floor(fabs(ax - bx) * 16.0), dy = floor(fabs(ay - by) * 16.0);
    return dx * dx + dy * dy < least * least;
}

static int too_near(double ax, double ay, double bx, double by)
{
    return nearer(step.tuning.track_distance_px, ax, ay, bx, by);
}

/** 1 if a live feature with a smaller id is nearer than 2 px, or than track_distance_px if that is less. */
static int is_merged(uint32_t count, uint32_t i)
{
    const struct vf_feature *f = memory.track.moved;
    const double least = step.tuning.track_distance_px < 2 ? step.tuning.track_distance_px : 2;
    for (uint32_t j = 0; j < count; j++)
        if (f[j].id < f[i].id && !f[j].end &&
            nearer(least, f[i].x_q16 / 65536.0, f[i].y_q16 / 65536.0, f[j].x_q16 / 65536.0, f[j].y_q16 / 65536.0))
            return 1;
    return 0;
}

static void split_features(void)
{
    const uint32_t count = frame ? before.count : 0;
    alive_count = ended_count = merged_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const int merged = !memory.track.moved[i].end && is_merged(count, i);
        merged_count += (uint32_t)merged;
        if (memory.track.moved[i].end || merged)
            ended[ended_count++] = i;
        else
            alive[alive_count++] = i;
    }
}

static int is_fit(int32_t cell)
{
    const struct corner *c = &corner[cell];
    if (!c->there) return 0;
    for (uint32_t i = 0; i < alive_count; i++) {
        const struct vf_feature *f = &memory.track.moved[alive[i]];
        const double x = f->x_q16 / 65536.0, y = f->y_q16 / 65536.0;
        if (cell_of(x, y) == cell || too_near(x, y, c->x, c->y)) return 0;
    }
    for (int32_t other = 0; other < cells_of(0); other++)
        if (corner[other].there && better(&corner[other], c) && too_near(corner[other].x, corner[other].y, c->x, c->y))
            return 0;
    return 1;
}

static int best_first(const void *a, const void *b)
{
    const int32_t *p = a, *q = b;
    return better(&corner[*p], &corner[*q]) ? -1 : 1;
}

static int by_number(const void *a, const void *b)
{
    const int32_t *p = a, *q = b;
    return *p - *q;
}

/** Cells that give new features, rising. Returns their number. overflow: number of further ones. */
static uint32_t births(uint32_t *overflow)
{
    const double target = step.tuning.track_target;
    *overflow = 0;
    fit_count = 0;
    if (alive_count >= target * step.tuning.track_refill_percent / 100.0) return 0;
    for (int32_t cell = 0; cell < cells_of(0); cell++)
        if (is_fit(cell)) fit[fit_count++] = cell;
    const uint32_t room = (uint32_t)target - alive_count, found = (uint32_t)fit_count;
    qsort(fit, found, sizeof *fit, best_first);
    const uint32_t born = found < room ? found : room;
    qsort(fit, born, sizeof *fit, by_number);
    *overflow = found - born;
    return born;
}

/* ---- comparison -------------------------------------------------------------------------------------------------- */

static void compare_lists(void)
{
    const struct vf_refill_memory *r = &memory.refill;
    uint32_t by_end[VFRONT_ENDS] = {0};
    assert_int_equal(r->followed, alive_count);
    assert_int_equal(r->lost_count, ended_count);
    for (uint32_t i = 0; i < alive_count; i++)
        assert_memory_equal(&memory.refill.feature[step.parity][i], &memory.track.moved[alive[i]],
                            sizeof(struct vf_feature));
    for (uint32_t i = 0; i < ended_count; i++) {
        assert_int_equal(r->lost[i], ended[i]);
        by_end[memory.track.moved[ended[i]].end]++;
    }
    by_end[VFRONT_END_MERGED] += merged_count;
    by_end[0] -= merged_count;
    for (int i = 0; i < VFRONT_ENDS; i++) assert_int_equal(r->ended[i], by_end[i]);
}

static void compare_born(const struct vf_feature *f, const struct corner *c, uint64_t id)
{
    assert_int_equal(f->id, id);
    assert_true(f->x_q16 == c->x * 65536.0 && f->y_q16 == c->y * 65536.0);
    assert_int_equal(f->score, c->score);
    assert_int_equal(f->level, c->level);
    assert_int_equal(f->template_due, 1);
    assert_true(!f->dx_q16 && !f->dy_q16 && !f->alpha_q14 && !f->offset_q5 && !f->residual_q3 && !f->age && !f->end);
}

static void compare_slots(uint32_t count)
{
    uint8_t taken[VFRONT_TRACKS] = {0};
    for (uint32_t i = 0; i < count; i++) {
        const uint16_t index = memory.refill.feature[step.parity][i].template_index;
        REQUIRE(index < VFRONT_TRACKS && !taken[index], "template index %d of feature %u", index, i);
        taken[index] = 1;
    }
}

/** Id of the previous frame's last feature; in the first frame first_track_id - 1. */
static uint64_t last_id(void) { return frame ? before.last_id : (uint64_t)step.tuning.first_track_id - 1; }

static void compare_census(uint32_t born)
{
    const struct vf_track_counts *is = &memory.refill.counts[step.parity];
    assert_int_equal(memory.refill.born, born);
    assert_true(is->last_id == last_id() + born);
    assert_int_equal(is->count, alive_count + born);
    assert_int_equal(is->reserved, 0);
}

/** Runs stage and oracle and compares. Returns the number of new features. */
static uint32_t run_and_compare(void)
{
    uint32_t overflow;
    split_features();
    const uint32_t born = births(&overflow);
    RUN(refill);
    compare_lists();
    compare_census(born);
    assert_int_equal(memory.refill.overflow, overflow);
    for (uint32_t i = 0; i < born; i++)
        compare_born(&memory.refill.feature[step.parity][alive_count + i], &corner[fit[i]], last_id() + i + 1);
    compare_slots(alive_count + born);
    return born;
}

/* ---- random states ----------------------------------------------------------------------------------------------- */

static void random_tuning(void)
{
    static const int32_t cell[][2] = {{4, 4}, {7, 13}, {32, 32}, {100, 3000}, {16, 8}, {33, 31}, {12, 12}};
    static const int32_t distance[] = {0, 1, 4, 7, 12, 13, 40, 256}, percent[] = {0, 1, 30, 50, 99, 100, 100, 100};
    const int32_t c = roll(7), d = distance[roll(8)];
    step.tuning.track_refill_percent = percent[roll(8)];
    step.tuning.track_target = roll(3) ? between(1, VFRONT_TRACKS) : between(1, 20);
    step.tuning.first_track_id = roll(2) ? 1 : between(1, 1 << 30);
    step.tuning.detect_levels = between(1, VFRONT_SCALES);
    set_cells_about(cell[c][0], cell[c][1]);
    const int32_t least = step.tuning.cell_width_px < step.tuning.cell_height_px ? step.tuning.cell_width_px
                                                                                 : step.tuning.cell_height_px;
    step.tuning.track_distance_px = d < 4 * least ? d : 4 * least; /* the range that vfront_init() accepts */
}

static void random_state(int32_t widest, int32_t highest, int grid_q16)
{
    set_up(1, between(16, widest < VFRONT_WIDTH ? widest : VFRONT_WIDTH),
           between(16, highest < VFRONT_HEIGHT ? highest : VFRONT_HEIGHT), 0);
    random_tuning();
    random_corners(roll(3) ? 100 : roll(101));
    const uint32_t most = (uint32_t)step.tuning.track_target;
    const uint32_t count = roll(4) ? (uint32_t)roll((int32_t)most / (roll(2) ? 1 : 8) + 1) : most;
    random_features(count, roll(3) ? roll(40) : roll(101), grid_q16);
    set_frame(roll(8) ? (uint64_t)between(1, 1000) : 0);
}

static void random_states(void **state)
{
    uint32_t born = 0, overflows = 0, kept = 0, merged = 0;
    (void)state;
    shake(1);
    for (int i = 0; i < 8000; i++) {
        random_state(roll(8) ? 160 : 700, roll(8) ? 120 : 500, roll(2) ? 4096 : 1);
        born += run_and_compare();
        kept += alive_count;
        overflows += memory.refill.overflow > 0;
        merged += merged_count;
    }
    assert_true(VFRONT_CELLS < 64 || (born > 1000 && kept > 1000 && overflows > 100));
    assert_true(VFRONT_TRACKS < 64 || merged > 1000);
}

/** Positions finer than the distance test (1/16 px). Checks what holds with any rounding: no new feature is clearly too
 *  near, and no corner that clearly fits is left out while features are wanted. */
static void any_position(void **state)
{
    uint32_t near = 0;
    (void)state;
    shake(2);
    for (int i = 0; i < 3000; i++) {
        random_state(160, 120, 1);
        RUN(refill);
        split_features();
        const struct vf_feature *born = &memory.refill.feature[step.parity][alive_count];
        for (uint32_t b = 0; b < memory.refill.born; b++)
            for (uint32_t k = 0; k < alive_count; k++) {
                const struct vf_feature *f = &memory.track.moved[alive[k]];
                const double distance = hypot(f->x_q16 - born[b].x_q16, f->y_q16 - born[b].y_q16) / 65536.0;
                REQUIRE(distance > step.tuning.track_distance_px - 0.125, "born at a distance of %g", distance);
                near += distance < step.tuning.track_distance_px + 0.125;
            }
        const int full = memory.refill.overflow > 0 || !memory.refill.born;
        for (int32_t cell = 0; !full && cell < cells_of(0); cell++) {
            step.tuning.track_distance_px++;
            const int surely_fit = is_fit(cell);
            step.tuning.track_distance_px--;
            int there = 0;
            for (uint32_t b = 0; b < memory.refill.born; b++)
                there |= born[b].x_q16 == corner[cell].x * 65536.0 && born[b].y_q16 == corner[cell].y * 65536.0;
            REQUIRE(there || !surely_fit, "cell %d gave no birth", cell);
        }
    }
    assert_true(VFRONT_CELLS < 64 || near > 0);
}

/** The stage writes only its own memory, and features and counts of this frame up to their counts. */
static void all_else_stays(void **state)
{
    (void)state;
    shake(3);
    scribble_arena();
    for (int i = 0; i < 24; i++) {
        random_state(300, 200, 4096);
        memcpy(&expected, &memory, sizeof memory);
        RUN(refill);
        const size_t count = memory.refill.counts[step.parity].count;
        memcpy(expected.refill.feature[step.parity], memory.refill.feature[step.parity],
               count * sizeof(struct vf_feature));
        expected.refill.counts[step.parity] = memory.refill.counts[step.parity];
        memcpy(expected.refill.candidate, memory.refill.candidate, sizeof(uint64_t) * (size_t)cells_of(0));
        memcpy(expected.refill.lost, memory.refill.lost, sizeof(uint32_t) * memory.refill.lost_count);
        memcpy(expected.refill.ended, memory.refill.ended, sizeof memory.refill.ended);
        expected.refill.followed = memory.refill.followed;
        expected.refill.born = memory.refill.born;
        expected.refill.lost_count = memory.refill.lost_count;
        expected.refill.overflow = memory.refill.overflow;
        same_arena("refill");
    }
}

/** With track_target 0 neither refill nor track reads or writes anything. */
static void nothing_is_tracked(void **state)
{
    (void)state;
    shake(12);
    scribble_arena();
    for (int i = 0; i < 8; i++) {
        random_state(160, 120, 1);
        step.tuning.track_target = 0;
        memcpy(&expected, &memory, sizeof memory);
        RUN(track);
        RUN(refill);
        same_arena("no target");
    }
}

/** The distance test, over the widest image of any config, mostly near the limit. */
static void distances(void **state)
{
    int near = 0;
    (void)state;
    shake(11);
    memset(&step, 0, sizeof step);
    for (int i = 0; i < 300000; i++) {
        const int32_t ax = roll(4096 * 16), ay = roll(4096 * 16), d = roll(257);
        const double angle = roll(6284) / 1000.0, length = 16 * d + between(-20, 20);
        const int32_t bx = roll(8) ? ax + (int32_t)floor(length * cos(angle)) : roll(4096 * 16);
        const int32_t by = roll(8) ? ay + (int32_t)floor(length * sin(angle)) : roll(4096 * 16);
        step.tuning.track_distance_px = d;
        const struct vf_refill_tuning t = {.track_distance_px = d};
        const int is = vf_refill_near(&t, ax * 4096, ay * 4096, bx * 4096, by * 4096);
        const int should = too_near(ax / 16.0, ay / 16.0, bx / 16.0, by / 16.0);
        REQUIRE(is == should, "distance of %d,%d and %d,%d [1/16 px] is %sless than %d px", ax, ay, bx, by,
                should ? "" : "not ", d);
        near += should;
    }
    assert_true(near > 50000 && near < 250000);
}

/* ---- by hand ----------------------------------------------------------------------------------------------------- */

/** Grid of 4x4 px cells on 64x64 px with a corner of score 100 + cell in each, at its pixel 1,1; nothing is too
 *  near. */
static int set_up_full_grid(void)
{
    if (!fits(64, 64, 0)) return 0;
    set_up(1, 64, 64, 0);
    if (!set_cells(4, 4)) return 0;
    step.tuning.track_distance_px = 0;
    clear_corners();
    for (int32_t cell = 0; cell < 256; cell++)
        put_corner(0, cell % 16 * 4 + 1, cell / 16 * 4 + 1, 1, 100 + (uint32_t)cell);
    set_frame(5);
    return 1;
}

static void first_frame_knows_nothing(void **state)
{
    (void)state;
    shake(4);
    if (!set_up_full_grid()) skip();
    random_features(VFRONT_TRACKS, 0, 65536);
    set_frame(0);
    step.tuning.track_target = 10;
    assert_int_equal(run_and_compare(), 10);
    assert_int_equal(memory.refill.feature[step.parity][0].id, 1);
    assert_int_equal(memory.refill.feature[step.parity][0].score, 100 + 246);
    assert_int_equal(memory.refill.feature[step.parity][9].id, 10);
    assert_int_equal(memory.refill.feature[step.parity][9].score, 100 + 255);
    assert_int_equal(memory.refill.overflow, 246);
}

static void no_room(void **state)
{
    (void)state;
    shake(5);
    if (!set_up_full_grid()) skip();
    step.tuning.track_target = VFRONT_TRACKS;
    random_features(VFRONT_TRACKS, 0, 65536);
    assert_int_equal(run_and_compare(), 0);
    assert_int_equal(memory.refill.counts[step.parity].count, VFRONT_TRACKS);
}

/** One feature of a full set ends: its template index is the only free one, and one free cell gives a new feature. */
static void room_for_one(void **state)
{
    (void)state;
    shake(6);
    if (!set_up_full_grid()) skip();
    step.tuning.track_target = VFRONT_TRACKS;
    for (int i = 0; i < 20; i++) {
        random_features(VFRONT_TRACKS, 0, 65536);
        for (int k = 0; k < VFRONT_TRACKS; k++) memory.track.moved[k].x_q16 = memory.track.moved[k].y_q16 = 9 * 65536;
        const int32_t who = roll(VFRONT_TRACKS);
        memory.track.moved[who].end = VFRONT_END_RESIDUAL;
        assert_int_equal(run_and_compare(), 1);
        assert_int_equal(memory.refill.feature[step.parity][VFRONT_TRACKS - 1].template_index,
                         memory.track.moved[who].template_index);
        assert_int_equal(memory.refill.lost[0], who);
        assert_int_equal(memory.refill.ended[VFRONT_END_RESIDUAL], 1);
    }
}

static void all_end_at_once(void **state)
{
    (void)state;
    shake(7);
    if (!set_up_full_grid()) skip();
    step.tuning.track_target = 30;
    random_features(30, 100, 65536);
    put_counts(77, 30);
    assert_int_equal(run_and_compare(), 30);
    assert_int_equal(memory.refill.lost_count, 30);
    assert_int_equal(memory.refill.feature[step.parity][0].id, 78);
    clear_corners();
    assert_int_equal(run_and_compare(), 0);
    assert_int_equal(memory.refill.counts[step.parity].count, 0);
}

/** Ids begin at first_track_id, rise by one, and exceed 32 bits. */
static void ids(void **state)
{
    static const int32_t first[] = {1, 2, 1000, INT32_MAX};
    (void)state;
    shake(9);
    if (!set_up_full_grid()) skip();
    step.tuning.track_target = 10;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        step.tuning.first_track_id = first[i];
        random_features(VFRONT_TRACKS, 0, 65536);
        set_frame(0);
        assert_int_equal(run_and_compare(), 10);
        assert_true(memory.refill.feature[step.parity][0].id == (uint64_t)first[i]);
        assert_true(memory.refill.counts[step.parity].last_id == (uint64_t)first[i] + 9);
    }
    random_features(30, 100, 65536);
    put_counts(UINT32_MAX, 30);
    set_frame(7);
    assert_int_equal(run_and_compare(), 10);
    assert_true(memory.refill.feature[step.parity][0].id == 1ull << 32);
}

/** 40 % of 10: with 4 alive nothing is added, with 3 the set is filled up to 10. */
static void share_of_the_target(void **state)
{
    (void)state;
    shake(8);
    if (!set_up_full_grid()) skip();
    step.tuning.track_target = 10;
    step.tuning.track_refill_percent = 40;
    random_features(4, 0, 65536);
    assert_int_equal(run_and_compare(), 0);
    assert_int_equal(memory.refill.overflow, 0);
    random_features(3, 0, 65536);
    assert_int_equal(run_and_compare(), 7);
    step.tuning.track_refill_percent = 0;
    random_features(0, 0, 65536);
    assert_int_equal(run_and_compare(), 0);
}

/** A single feature and a corner at exactly the distance limit (3, 4, 5), and half a pixel nearer and farther. */
static void exact_distance(void **state)
{
    (void)state;
    if (!fits(64, 64, 0)) skip();
    shake(9);
    set_up(1, 64, 64, 0);
    if (!set_cells(4, 4)) skip();
    step.tuning.track_distance_px = 5;
    for (int i = 0; i < 12; i++) {
        const int sign_x = i & 1 ? 1 : -1, sign_y = i & 2 ? 1 : -1, halves_nearer = i / 4 - 1;
        clear_corners();
        put_corner(0, 32 + 3 * sign_x, 32 + 4 * sign_y, 1, 50);
        random_features(1, 0, 65536);
        memory.track.moved[0].x_q16 = 32 * 65536;
        memory.track.moved[0].y_q16 = 32 * 65536 + sign_y * halves_nearer * 32768;
        set_frame(1);
        assert_int_equal(run_and_compare(), halves_nearer > 0 ? 0 : 1);
    }
}

/** Of three corners in a row, each too near the next, the first suppresses the second and the second the third: a
 *  corner that suppresses need not become a feature itself. */
static void chain_of_corners(void **state)
{
    (void)state;
    shake(10);
    if (!set_up_full_grid()) skip();
    clear_corners();
    step.tuning.track_distance_px = 12;
    put_corner(0, 10, 30, 1, 300);
    put_corner(0, 20, 30, 1, 200);
    put_corner(0, 30, 30, 1, 100);
    random_features(0, 0, 65536);
    assert_int_equal(run_and_compare(), 1);
    put_corner(0, 20, 30, 0, 200); /* second threshold: suppressed by both */
    assert_int_equal(run_and_compare(), 2);
}

/** Level 2 for the test by hand; 0 if the config has none, and the test is skipped. */
enum { COARSE = VFRONT_SCALES > 2 ? 2 : 0 };

/** A cell's corner of any level becomes a feature, at the centre of the level's pixel. Of two corners with the same
 *  score that are too near each other, the finer one does. */
static void corners_of_any_level(void **state)
{
    (void)state;
    shake(13);
    if (VFRONT_SCALES < 3 || !fits(64, 64, 0)) skip();
    for (int i = 0; i < 4; i++) {
        set_up(1, 64, 64, 0);
        const int level = i & 1 ? COARSE : 1, more = i >> 1;
        if (!set_cells(32, 32) || step.geometry.scales < 3) skip();
        const double size = step.geometry.step_q16[level] / 65536.0;
        const int u = (int)(36 / size), v = (int)(12 / size);
        clear_corners();
        put_corner(level, u, v, 1, 500 + (uint32_t)more);
        put_corner(0, 30, 12, 1, 500);
        random_features(0, 0, 65536);
        set_frame(1);
        step.tuning.track_distance_px = 12;
        assert_int_equal(run_and_compare(), 1);
        const struct vf_feature *f = memory.refill.feature[step.parity];
        assert_int_equal(f->level, more ? level : 0);
        assert_int_equal(f->score, 500 + more);
        assert_true(f->x_q16 == (more ? centre_of(u, level) * 65536.0 : 30 * 65536));
        assert_true(f->y_q16 == (more ? centre_of(v, level) * 65536.0 : 12 * 65536));
    }
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(random_states),
        cmocka_unit_test(any_position),
        cmocka_unit_test(all_else_stays),
        cmocka_unit_test(nothing_is_tracked),
        cmocka_unit_test(distances),
        cmocka_unit_test(first_frame_knows_nothing),
        cmocka_unit_test(no_room),
        cmocka_unit_test(room_for_one),
        cmocka_unit_test(all_end_at_once),
        cmocka_unit_test(ids),
        cmocka_unit_test(share_of_the_target),
        cmocka_unit_test(exact_distance),
        cmocka_unit_test(chain_of_corners),
        cmocka_unit_test(corners_of_any_level),
    };
    return cmocka_run_group_tests_name("refill", test, NULL, NULL);
}
