/* SPDX-License-Identifier: MIT */
/* select: the key points of small images against paper 004, II.C.2. The oracle has the dense matrices of the paper: M
 * with the response of every level at every pixel of level 0, Kr with their sums, Kl with the number of levels. It
 * compares all q x q pixels around a key point. The best of each group are found by sorting: as many as each level, or
 * all levels together, have slots. Without a window the second best of the cells are sorted among them. Slots are those
 * of the fixture, computed in doubles. */
#include "tests/fixture/stage.h"

/* ---- corners, kept apart from the arena -------------------------------------------------------------------------- */

enum { WIDE = VFRONT_WIDTH < 320 ? VFRONT_WIDTH : 320, HIGH = VFRONT_HEIGHT < 320 ? VFRONT_HEIGHT : 320 };
enum { PLACES = VFRONT_SCALES * VFRONT_CULL_CELLS };

struct corner {
    int there, high;
    uint32_t score;
    int second;                      /* 1: second best of its cell */
    int32_t level, cell, u, v, x, y; /* cell: for culling; u, v: pixel of its level; x, y: of level 0 */
};
static struct corner corner[VFRONT_CAMERAS][VFRONT_SCALES][VFRONT_CULL_CELLS];
static struct corner second[VFRONT_CAMERAS][VFRONT_SCALES][VFRONT_CULL_CELLS];

/** Size of the pixels of a level [px of level 0], in 2^-16 as vfront.h says. */
static double size_of(int32_t level)
{
    return floor(pow((double)VFRONT_SCALE_NUM / VFRONT_SCALE_DEN, level) * 65536.0 + 0.5) / 65536.0;
}

/** Level 0 pixel on which a pixel of a level is centred: centres lie at (u + 1/2) s - 1/2, halves are rounded up. */
static int32_t pixel_of(int32_t u, int32_t level) { return (int32_t)floor((u + 0.5) * size_of(level) - 0.5 + 0.5); }

static int32_t levels_searched(void)
{
    return step.geometry.scales < step.tuning.detect_levels ? step.geometry.scales : step.tuning.detect_levels;
}

static int32_t cell_at(int32_t camera, int32_t x, int32_t y)
{
    return y / step.tuning.cull_height_px * step.geometry.culls_x[camera] + x / step.tuning.cull_width_px;
}

static int32_t places_of(int32_t camera) { return culls_of(camera) * levels_searched(); }

/** Keys of a camera's culling cells in this frame, level by level. */
static uint64_t *best_of(int32_t camera) { return memory.detect.best[step.parity][camera]; }
static uint64_t *second_of(int32_t camera) { return memory.detect.second[step.parity][camera]; }

/** Clears the cells of the searched levels; fills the cells after them with noise, which must not matter. */
static void clear_corners(void)
{
    for (int32_t camera = 0; camera < step.geometry.cameras; camera++) {
        const int32_t places = places_of(camera), behind = vf_min(PLACES - places, culls_of(camera) + 2048);
        memset(best_of(camera), 0, sizeof(uint64_t) * (size_t)places);
        scribble(best_of(camera) + places, sizeof(uint64_t) * (size_t)behind);
        memset(second_of(camera), 0, sizeof(uint64_t) * (size_t)places);
        scribble(second_of(camera) + places, sizeof(uint64_t) * (size_t)behind);
        for (int32_t level = 0; level < VFRONT_SCALES; level++) {
            memset(corner[camera][level], 0, sizeof(struct corner) * (size_t)culls_of(camera));
            memset(second[camera][level], 0, sizeof(struct corner) * (size_t)culls_of(camera));
        }
    }
}

static struct corner corner_at(int32_t camera, int32_t level, int32_t u, int32_t v, int high, uint32_t score)
{
    const int32_t x = pixel_of(u, level), y = pixel_of(v, level);
    return (struct corner){1, high, score, 0, level, cell_at(camera, x, y), u, v, x, y};
}

/** Replaces a corner at the position where the detector would put it. */
static void put(int32_t camera, int32_t level, int32_t u, int32_t v, int high, uint32_t score)
{
    const struct corner c = corner_at(camera, level, u, v, high, score);
    corner[camera][level][c.cell] = c;
    best_of(camera)[level * culls_of(camera) + c.cell] = vf_detect_key(high, score, level, u, v);
}

/** Puts a corner as the second best of its cell, unless it is better than the best; then it is omitted. */
static void put_second(int32_t camera, int32_t level, int32_t u, int32_t v, int high, uint32_t score)
{
    struct corner c = corner_at(camera, level, u, v, high, score);
    const uint64_t key = vf_detect_key(high, score, level, u, v);
    const int32_t place = level * culls_of(camera) + c.cell;
    if (key >= best_of(camera)[place]) return;
    c.second = 1;
    second[camera][level][c.cell] = c;
    second_of(camera)[place] = key;
}

/** Puts a corner of a level at the pixel that contains a pixel of level 0, if this keeps it in `cell`. */
static void put_near(int32_t camera, int32_t level, int32_t cell, int32_t x, int32_t y, int high, uint32_t score)
{
    const struct vf_level *l = &step.geometry.scale[camera][level];
    const int32_t u = (int32_t)floor((x + 0.5) / size_of(level)), v = (int32_t)floor((y + 0.5) / size_of(level));
    if (u >= l->width || v >= l->height || cell_at(camera, pixel_of(u, level), pixel_of(v, level)) != cell) return;
    put(camera, level, u, v, high, score);
    if (u + 1 < l->width && roll(2) && cell_at(camera, pixel_of(u + 1, level), pixel_of(v, level)) == cell)
        put_second(camera, level, u + 1, v, high && roll(2), (uint32_t)(1 + roll64() % score));
}

/** Corners in about `percent` of the culling cells, and in some of these a second one. On many levels they lie around
 *  one pixel of the cell, with `scores` different scores. */
static void random_corners(int32_t camera, int percent, int together, uint64_t scores)
{
    const struct vf_level *l = &step.geometry.level[camera][0];
    for (int32_t cell = 0; cell < culls_of(camera); cell++) {
        const int32_t x0 = cell % step.geometry.culls_x[camera] * step.tuning.cull_width_px;
        const int32_t y0 = cell / step.geometry.culls_x[camera] * step.tuning.cull_height_px;
        const int32_t wide = vf_min(step.tuning.cull_width_px, l->width - x0);
        const int32_t high = vf_min(step.tuning.cull_height_px, l->height - y0);
        int32_t x = x0 + roll(wide), y = y0 + roll(high);
        for (int32_t level = 0; level < levels_searched(); level++) {
            if (roll(100) >= together) {
                x = x0 + roll(wide);
                y = y0 + roll(high);
            }
            if (roll(100) < percent)
                put_near(camera, level, cell, x, y, roll(4) > 0, (uint32_t)(1 + (roll64() >> 20) % scores));
        }
    }
}

/** Corners of an earlier frame after the last cell: at the pixels of the last level's, but with higher scores. */
static void stale_corners(int32_t camera)
{
    const int32_t levels = levels_searched(), cells = culls_of(camera);
    for (int32_t cell = 0; cell < cells && levels < VFRONT_SCALES; cell++) {
        const struct corner *c = &corner[camera][vf_max(levels - 1, 0)][cell];
        if (!c->there) continue;
        best_of(camera)[levels * cells + cell] = second_of(camera)[levels * cells + cell] = vf_detect_key(
            1, UINT32_MAX, c->level, c->u, c->v);
    }
}

/* ---- oracle: aggregation over levels ----------------------------------------------------------------------------- */

static uint32_t M[VFRONT_SCALES][HIGH][WIDE];
static uint64_t Kr[HIGH][WIDE];
static int Kl[HIGH][WIDE];

/** Copies responses to their projections, in matrices of zeros. */
static void project(int32_t camera)
{
    const struct vf_level *l = &step.geometry.level[camera][0];
    for (int32_t level = 0; level < levels_searched(); level++) {
        for (int32_t y = 0; y < l->height; y++) memset(M[level][y], 0, sizeof(uint32_t) * (size_t)l->width);
        for (int32_t cell = 0; cell < culls_of(camera); cell++) {
            const struct corner *c = &corner[camera][level][cell];
            if (c->there) M[level][c->y][c->x] = c->score;
        }
    }
}

static void sum_up(int32_t camera)
{
    const struct vf_level *l = &step.geometry.level[camera][0];
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            Kr[y][x] = 0;
            Kl[y][x] = 0;
            for (int32_t level = 0; level < levels_searched(); level++) {
                Kr[y][x] += M[level][y][x];
                Kl[y][x] += M[level][y][x] > 0;
            }
        }
}

/** 1 if a key point is dropped: both of its metrics are smaller than those of one in the window, which is centred on
 *  it. An even side therefore equals the next odd one. */
static int is_dropped(int32_t camera, const struct corner *c)
{
    const struct vf_level *l = &step.geometry.level[camera][0];
    const int32_t reach = step.tuning.select_aggregate_px / 2;
    for (int32_t y = vf_max(c->y - reach, 0); y <= vf_min(c->y + reach, l->height - 1); y++)
        for (int32_t x = vf_max(c->x - reach, 0); x <= vf_min(c->x + reach, l->width - 1); x++)
            if (Kr[c->y][c->x] < Kr[y][x] && Kl[c->y][c->x] < Kl[y][x]) return 1;
    return 0;
}

/* ---- oracle: the best -------------------------------------------------------------------------------------------- */

/** Order of corners: first threshold before second, best of their cells before second best, higher score, finer level,
 *  raster order on the level. */
static int by_rank(const void *a, const void *b)
{
    const struct corner *p = *(const struct corner *const *)a, *q = *(const struct corner *const *)b;
    if (p->high != q->high) return q->high - p->high;
    if (p->second != q->second) return p->second - q->second;
    if (p->score != q->score) return p->score < q->score ? 1 : -1;
    if (p->level != q->level) return p->level - q->level;
    return p->v != q->v ? p->v - q->v : p->u - q->u;
}

static int by_place(const void *a, const void *b)
{
    const struct corner *p = *(const struct corner *const *)a, *q = *(const struct corner *const *)b;
    if (p->level != q->level) return p->level - q->level;
    return p->cell != q->cell ? p->cell - q->cell : p->second - q->second;
}

static const struct corner *left[PLACES], *ranked[2 * PLACES];
static int32_t left_count, found_count; /* kept by aggregation; found at all */

/** Corners that aggregation keeps, by rising level, then cell. A window of one pixel keeps all. */
static void aggregate(int32_t camera)
{
    const int windowed = step.tuning.select_aggregate_px > 1;
    left_count = found_count = 0;
    if (windowed) project(camera);
    if (windowed) sum_up(camera);
    for (int32_t level = 0; level < levels_searched(); level++)
        for (int32_t cell = 0; cell < culls_of(camera); cell++) {
            const struct corner *c = &corner[camera][level][cell];
            found_count += c->there;
            if (c->there && !(windowed && is_dropped(camera, c))) left[left_count++] = c;
        }
}

static uint64_t key_of(const struct corner *c) { return vf_detect_key(c->high, c->score, c->level, c->u, c->v); }

/** Expected bits of the culling cells whose corners are kept, in words of 32; only where there is a window. */
static void expect_stays(int32_t camera)
{
    if (step.tuning.select_aggregate_px < 2) return;
    for (int32_t place = 0; place < places_of(camera); place += 32) expected.select.kept[camera][place / 32] = 0;
    for (int32_t i = 0; i < left_count; i++) {
        const int32_t place = left[i]->level * culls_of(camera) + left[i]->cell;
        expected.select.kept[camera][place / 32] |= 1u << place % 32;
    }
}

/** Number of groups, i.e. levels that share a quota: one per level if there are shares. */
static int32_t groups(void) { return step.tuning.select_share_percent > 0 ? levels_searched() : 1; }
static int32_t group_of(const struct corner *c) { return groups() > 1 ? c->level : 0; }
static int32_t first_slot(int32_t group)
{
    return step.tuning.select_share_percent > 0 ? step.geometry.share[group] : 0;
}
static int32_t slots_of(int32_t group)
{
    const int32_t *share = step.geometry.share;
    return step.tuning.select_share_percent > 0 ? share[group + 1] - share[group] : step.tuning.select_points;
}

/** Fills ranked[] with a group's `of` corners, and without a window with the second best of all cells of the group.
 *  Returns their number. */
static int32_t rank_group(int32_t camera, int32_t group, const struct corner *const *best, int32_t of)
{
    int32_t all = of;
    memcpy(ranked, best, sizeof *best * (size_t)of);
    for (int32_t level = 0; step.tuning.select_aggregate_px < 2 && level < levels_searched(); level++)
        for (int32_t cell = 0; cell < culls_of(camera); cell++) {
            const struct corner *c = &second[camera][level][cell];
            if (c->there && group_of(c) == group) ranked[all++] = c;
        }
    qsort(ranked, (size_t)all, sizeof *ranked, by_rank);
    return all;
}

/** Writes the first of a group's corners by rank, in the order of cells, the best of a cell first. */
static void expect_group(int32_t camera, int32_t group, const struct corner *const *best, int32_t of)
{
    struct vf_select_memory *m = &expected.select;
    const int32_t all = rank_group(camera, group, best, of), count = vf_min(all, slots_of(group));
    m->count[camera][group] = (uint32_t)count;
    m->dropped[camera][group] = (uint32_t)of;
    for (int32_t i = 0; i < count; i++) m->dropped[camera][group] -= !ranked[i]->second;
    qsort(ranked, (size_t)count, sizeof *ranked, by_place);
    for (int32_t i = 0; i < count; i++) m->key[camera][first_slot(group) + i] = key_of(ranked[i]);
}

/** Writes the expected output of the stage to `expected`. */
static void expect(int32_t camera)
{
    aggregate(camera);
    expect_stays(camera);
    for (int32_t group = 0, first = 0; group < groups(); group++) {
        int32_t of = 0;
        while (first + of < left_count && group_of(left[first + of]) == group) of++;
        expect_group(camera, group, left + first, of);
        first += of;
    }
}

/* ---- running the stage ------------------------------------------------------------------------------------------- */

static char what[200];

static void name_case(const char *name)
{
    const vfront_tuning_t *t = &step.tuning;
    const struct vf_level *l = &step.geometry.level[0][0];
    snprintf(what, sizeof what, "%s %dx%d, levels %d cells %dx%d window %d points %d percent %d", name, l->width,
             l->height, levels_searched(), t->cull_width_px, t->cull_height_px, t->select_aggregate_px,
             t->select_points, t->select_share_percent);
}

static void same_keys(int32_t camera, int32_t group)
{
    const struct vf_select_memory *is = &memory.select, *should = &expected.select;
    const uint32_t count = is->count[camera][group], dropped = is->dropped[camera][group];
    REQUIRE(count == should->count[camera][group], "%s: camera %d group %d: %u keys, should be %u", what, camera, group,
            count, should->count[camera][group]);
    REQUIRE(dropped == should->dropped[camera][group], "%s: camera %d group %d: %u dropped, should be %u", what, camera,
            group, dropped, should->dropped[camera][group]);
    for (int32_t slot = first_slot(group); slot < first_slot(group) + (int32_t)count; slot++) {
        const struct vf_corner a = vf_detect_corner(is->key[camera][slot]),
                               b = vf_detect_corner(should->key[camera][slot]);
        REQUIRE(is->key[camera][slot] == should->key[camera][slot],
                "%s: camera %d: key in slot %d is %d,%d level %d score %u, should be %d,%d level %d score %u", what,
                camera, slot, a.x, a.y, a.level, a.score, b.x, b.y, b.level, b.score);
    }
}

/** The key points of a camera in the order of `report`: by rising level, then cell, best before second best. */
static uint64_t seconds; /* second best corners among the key points so far */
static void in_order(int32_t camera)
{
    const uint32_t *count = memory.select.count[camera];
    const struct vf_select_geometry *g = &VIEW(select)->geometry;
    int32_t i = 0, place = -1;
    for (int32_t group = 0; group < groups(); group++)
        for (int32_t k = 0; k < (int32_t)count[group]; k++) {
            const int32_t slot = first_slot(group) + k;
            REQUIRE(vf_keypoint_index(g->groups, g->group_first, count, i) == slot,
                    "%s: camera %d: key point %d is not in slot %d", what, camera, i, slot);
            i++;
            const struct vf_corner c = vf_detect_corner(memory.select.key[camera][slot]);
            const int32_t next = c.level * culls_of(camera) +
                                 cell_at(camera, pixel_of(c.x, c.level), pixel_of(c.y, c.level));
            const int is_second = second_of(camera)[next] == memory.select.key[camera][slot];
            REQUIRE(next > place || (next == place && is_second), "%s: camera %d: slot %d is out of order", what,
                    camera, slot);
            place = next;
            seconds += (uint64_t)is_second;
        }
    assert_int_equal(vf_keypoints(g->groups, count), i);
    assert_true(i <= step.tuning.select_points);
}

/** Runs the stage and compares all that it keeps with the oracle; with select_points 0 it does nothing. Returns the
 *  number of key points of camera 0. */
static uint32_t run_and_compare(const char *name)
{
    share_out();
    name_case(name);
    memcpy(&expected.select, &memory.select, sizeof memory.select);
    const int32_t cameras = step.tuning.select_points ? step.geometry.cameras : 0;
    uint32_t keys = 0;
    for (int32_t camera = 0; camera < cameras; camera++) expect(camera);
    RUN(select);
    for (int32_t camera = 0; camera < cameras; camera++) {
        for (int32_t group = 0; group < groups(); group++) same_keys(camera, group);
        in_order(camera);
    }
    for (int32_t group = 0; cameras && group < groups(); group++) keys += memory.select.count[0][group];
    REQUIRE(memcmp(&memory.select, &expected.select, sizeof memory.select) == 0, "%s: what it keeps differs", what);
    return keys;
}

/** Number of corners of a camera beyond its quotas. */
static uint32_t dropped_of(int32_t camera)
{
    uint32_t all = 0;
    for (int32_t group = 0; group < groups(); group++) all += memory.select.dropped[camera][group];
    return all;
}

/** Frame without corners, all levels together. Returns 0 if the config has no room for it. */
static int set_up_grid(int32_t cameras, int32_t width, int32_t height, int32_t cell_width, int32_t cell_height)
{
    if (width > WIDE || height > HIGH) return 0;
    set_up(cameras, width, height, 0);
    if (!set_culls(cell_width, cell_height)) return 0;
    step.tuning.detect_levels = VFRONT_SCALES;
    step.tuning.select_aggregate_px = 0;
    step.tuning.select_points = VFRONT_KEYPOINTS;
    step.tuning.select_share_percent = 0;
    clear_corners();
    return 1;
}

/* ---- tests: random ----------------------------------------------------------------------------------------------- */

static int32_t random_aggregate_px(void)
{
    static const int32_t aggregate_px[] = {0, 1, 2, 3, 4, 5, 7, 9, 16, 63};
    return roll(4) ? aggregate_px[roll(10)] : roll(64);
}

static int32_t random_percent(void)
{
    static const int32_t percent[] = {0, 0, 0, 1, 50, 83, 91, 91, 100, 100};
    return roll(5) ? percent[roll(10)] : roll(101);
}

/** select_points for which some level has as large a quota as aggregation keeps corners there, or one more or less. */
static int32_t limit_of_a_level(void)
{
    const int32_t level = roll(groups());
    int32_t wanted = between(-1, 1);
    for (int32_t i = 0; i < left_count; i++) wanted += group_of(left[i]) == level;
    for (step.tuning.select_points = 0; step.tuning.select_points < VFRONT_KEYPOINTS; step.tuning.select_points++) {
        share_out();
        if (slots_of(level) >= wanted) break;
    }
    return step.tuning.select_points;
}

/** select_points around the number of corners kept: the same, one more or less, one, none, fewer than levels, any. */
static int32_t random_limit(void)
{
    aggregate(0);
    if (groups() > 1 && roll(2)) return limit_of_a_level();
    const int32_t limit[] = {left_count,           left_count - 1,           left_count + 1,     0, 1, VFRONT_KEYPOINTS,
                             roll(left_count + 1), roll(2 * left_count + 1), roll(VFRONT_SCALES)};
    return vf_clamp(limit[roll(9)], 0, VFRONT_KEYPOINTS);
}

/** Cameras of different sizes, culling cells of one. */
static void random_grid(void)
{
    static const int32_t cell[][2] = {{3, 3},   {4, 4},   {7, 5},       {3, 40}, {8, 8},
                                      {16, 16}, {32, 32}, {4096, 4096}, {33, 9}};
    const int32_t c = roll(9), small = vf_min(cell[c][0], cell[c][1]) < 5 && roll(8);
    const int32_t most = roll(4) ? small ? 70 : 200 : 32;
    const int32_t wide = vf_min(WIDE, most), high = vf_min(HIGH, most);
    set_up(between(1, VFRONT_CAMERAS), between(16, wide), between(16, high), roll(2));
    if (step.geometry.cameras > 1) lay_out_levels(VFRONT_CAMERAS - 1, between(16, wide), between(16, high), 0);
    set_cells_about(between(3, 70), between(3, 70)); /* must not matter */
    set_culls_about(cell[c][0], cell[c][1]);
    step.tuning.select_share_percent = random_percent();
}

/** Number of groups whose quota was larger than, equal to, smaller than their corners; and of those with a quota of 0
 *  and corners. */
static uint64_t slack, exact, cut, barred;

static void count_groups(int32_t camera)
{
    for (int32_t group = 0; group < groups(); group++) {
        const uint32_t count = memory.select.count[camera][group], dropped = memory.select.dropped[camera][group];
        slack += (int32_t)count < slots_of(group);
        exact += count && !dropped && (int32_t)count == slots_of(group);
        cut += count && dropped;
        barred += !count && dropped;
    }
}

static void random_cases(void **state)
{
    static const uint64_t scores[] = {1, 3, 254, 4080, UINT32_MAX};
    uint64_t found = 0, aggregated = 0, keys = 0;
    (void)state;
    shake(1);
    scribble_arena();
    slack = exact = cut = barred = seconds = 0;
    for (int i = 0; i < 1200; i++) {
        const int percent = between(0, 100), together = between(0, 100);
        random_grid();
        step.tuning.detect_levels = between(1, VFRONT_SCALES);
        step.tuning.select_aggregate_px = random_aggregate_px();
        clear_corners();
        for (int32_t camera = 0; camera < step.geometry.cameras; camera++) {
            random_corners(camera, percent, together, scores[roll(5)]);
            stale_corners(camera);
        }
        step.tuning.select_points = random_limit();
        found += (uint64_t)found_count;
        aggregated += (uint64_t)left_count;
        keys += run_and_compare("random");
        for (int32_t camera = 0; step.tuning.select_points && camera < step.geometry.cameras; camera++)
            count_groups(camera);
    }
    print_message("         corners %llu, left %llu, key points %llu\n", (unsigned long long)found,
                  (unsigned long long)aggregated, (unsigned long long)keys);
    print_message("         key points that are the second best of their cells %llu\n", (unsigned long long)seconds);
    print_message("         groups with slots left %llu, just full %llu, too full %llu, barred %llu\n",
                  (unsigned long long)slack, (unsigned long long)exact, (unsigned long long)cut,
                  (unsigned long long)barred);
    if (VFRONT_KEYPOINTS < 64 || VFRONT_SCALES < 3) return;
    assert_true(found > 20000 && aggregated < found - found / 20 && keys < aggregated);
    assert_true(slack > 200 && exact > 100 && cut > 200 && barred > 50 && seconds > 1000);
}

/** Every culling cell with a corner, where levels have a pixel there, and none at all: grids of whole chunks, and
 *  more. */
static void full_and_empty(void **state)
{
    static const int32_t grid[][4] = {{96, 96, 3, 3},       {93, 99, 3, 3},     {96, 99, 3, 3},  {64, 64, 64, 64},
                                      {64, 48, 4096, 4096}, {256, 256, 4, 4},   {192, 96, 3, 3}, {300, 200, 300, 200},
                                      {16, 16, 16, 16},     {128, 64, 2048, 4}, {123, 75, 3, 3}, {192, 99, 3, 3}};
    int cases = 0;
    (void)state;
    shake(2);
    scribble(&memory.select, sizeof memory.select);
    for (size_t i = 0; i < sizeof grid / sizeof *grid; i++)
        for (int variant = 0; variant < 6; variant++) {
            if (!set_up_grid(VFRONT_CAMERAS, grid[i][0], grid[i][1], grid[i][2], grid[i][3])) continue;
            step.tuning.select_aggregate_px = variant & 1 ? 5 : 0;
            step.tuning.select_share_percent = variant / 2 == 0 ? 0 : variant / 2 == 1 ? 91 : 100;
            assert_int_equal(run_and_compare("none"), 0);
            assert_int_equal(dropped_of(0), 0);
            for (int32_t camera = 0; camera < VFRONT_CAMERAS; camera++) random_corners(camera, 100, 50, 5);
            run_and_compare("all");
            step.tuning.select_points = 1;
            assert_true(run_and_compare("best of all") == 1 || step.tuning.select_share_percent);
            cases++;
        }
    if (!cases) skip();
}

/** The largest image, full of corners on every level: with shares and without, and as many key points as there can
 *  be. */
static void largest_picture(void **state)
{
    static const int32_t percent[] = {0, 1, 91};
    (void)state;
    shake(11);
    scribble(&memory.select, sizeof memory.select);
    set_up(VFRONT_CAMERAS, VFRONT_WIDTH, VFRONT_HEIGHT, 0);
    set_culls_about(3, 3);
    step.tuning.detect_levels = VFRONT_SCALES;
    step.tuning.select_aggregate_px = 1;
    clear_corners();
    for (int32_t camera = 0; camera < VFRONT_CAMERAS; camera++) random_corners(camera, 90, 50, 1000);
    for (size_t i = 0; i < sizeof percent / sizeof *percent; i++)
        for (int32_t points = VFRONT_KEYPOINTS; points >= 0; points -= 1 + VFRONT_KEYPOINTS / 3) {
            step.tuning.select_share_percent = percent[i];
            step.tuning.select_points = points;
            run_and_compare("largest");
        }
}

/** No other byte of the arena changes: neither unused entries of key[], nor words of bits without a cell, nor an absent
 *  group or camera. */
static void all_else_stays(void **state)
{
    (void)state;
    shake(3);
    scribble_arena();
    for (int i = 0; i < 16; i++) {
        random_grid();
        step.tuning.select_aggregate_px = random_aggregate_px();
        step.tuning.select_points = i % 4 ? roll(VFRONT_KEYPOINTS + 1) : 0;
        step.tuning.describe = roll(VFRONT_DESCRIPTORS + 1);
        share_out();
        clear_corners();
        for (int32_t camera = 0; camera < step.geometry.cameras; camera++) random_corners(camera, 60, 60, 3);
        memcpy(&expected, &memory, sizeof memory);
        for (int32_t camera = 0; step.tuning.select_points && camera < step.geometry.cameras; camera++) expect(camera);
        RUN(select);
        name_case("all else");
        same_arena(what);
    }
}

/* ---- tests: shares ----------------------------------------------------------------------------------------------- */

/** Quotas before a level: against those of the fixture exactly, and near those of a geometric series of reals;
 *  shares are rounded to 1/2^16 of the first. */
static void shares_of_all_percents(void **state)
{
    const int32_t limit[] = {0, 1, 2, 3, 5, 7, 8, 9, 100, 500, 1000, 2047, VFRONT_KEYPOINTS - 1, VFRONT_KEYPOINTS};
    (void)state;
    for (int32_t percent = 1; percent <= 100; percent++)
        for (int32_t levels = 1; levels <= VFRONT_SCALES; levels++)
            for (size_t i = 0; i < sizeof limit / sizeof *limit; i++) {
                double before = 0.0, all = 0.0;
                memset(&step, 0, sizeof step);
                step.geometry.scales = step.tuning.detect_levels = levels;
                step.tuning.select_share_percent = percent;
                step.tuning.select_points = limit[i];
                share_out();
                for (int32_t k = 0; k < levels; k++) all += pow(percent / 100.0, k);
                for (int32_t k = 0; k <= levels; before += pow(percent / 100.0, k), k++) {
                    const int32_t is = vf_select_share(limit[i], percent, k, levels), should = step.geometry.share[k];
                    const double real = limit[i] * before / all;
                    REQUIRE(is == should && fabs(is - real) < 1.0 + limit[i] / 8192.0,
                            "%d %% of %d, level %d of %d: %d, should be %d, about %f", percent, limit[i], k, levels, is,
                            should, real);
                }
                assert_int_equal(step.geometry.share[0], 0);
                assert_int_equal(step.geometry.share[levels], limit[i]);
            }
}

/** Quotas by hand: sum before each level and of all. */
static void known_slots(void **state)
{
    static const struct {
        int32_t points, percent, levels, share[9];
    } known[] = {
        {8, 100, 8, {0, 1, 2, 3, 4, 5, 6, 7, 8}},
        {4, 100, 8, {0, 0, 1, 1, 2, 2, 3, 3, 4}},
        {7, 50, 3, {0, 4, 6, 7}},
        {6, 50, 3, {0, 3, 5, 6}},
        {1, 50, 2, {0, 0, 1}},
        {1, 91, 1, {0, 1}},
        {10000, 1, 3, {0, 9899, 9998, 10000}},
        {101, 1, 2, {0, 100, 101}}, /* 655 / 65536 is less than 1 % */
        {1000, 91, 2, {0, 523, 1000}},
        {30000, 83, 3, {0, 11909, 21795, 30000}},
        {0, 91, 4, {0, 0, 0, 0, 0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int32_t level = 0; level <= known[i].levels; level++) {
            const int32_t is = vf_select_share(known[i].points, known[i].percent, level, known[i].levels);
            REQUIRE(is == known[i].share[level], "line %zu level %d: %d", i, level, is);
        }
}

/** By hand: two levels, the second with half the quota. Scores are compared within a level, and unused quota is not
 *  passed to the other level. */
static void known_shares(void **state)
{
    static const struct {
        int32_t points, percent, of[2]; /* corners of a level: the second level's all score more */
        uint32_t count[2], dropped[2];
        int32_t second; /* its first slot */
    } known[] = {
        {3, 50, {3, 3}, {2, 1}, {1, 2}, 2}, {3, 50, {1, 3}, {1, 1}, {0, 2}, 2}, {3, 50, {3, 0}, {2, 0}, {1, 0}, 2},
        {3, 50, {0, 3}, {0, 1}, {0, 2}, 2}, {1, 50, {3, 3}, {0, 1}, {3, 2}, 0}, {2, 100, {3, 3}, {1, 1}, {2, 2}, 1},
        {6, 50, {3, 3}, {3, 2}, {0, 1}, 4}, {9, 50, {3, 3}, {3, 3}, {0, 0}, 6},
    };
    (void)state;
    shake(12);
    if (VFRONT_SCALES < 2 || VFRONT_KEYPOINTS < 9 || !set_up_grid(1, 64, 64, 8, 8)) skip();
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        step.tuning.detect_levels = 2;
        step.tuning.select_points = known[i].points;
        step.tuning.select_share_percent = known[i].percent;
        clear_corners();
        for (int32_t level = 0; level < 2; level++) /* the later, the better */
            for (int32_t k = 0; k < known[i].of[level]; k++)
                put(0, level, 10 + 10 * k, 12, 1, (uint32_t)(1 + k + 10 * level));
        run_and_compare("shares");
        for (int32_t level = 0; level < 2 && level < VFRONT_SCALES; level++) {
            const uint32_t count = memory.select.count[0][level];
            REQUIRE(count == known[i].count[level] && memory.select.dropped[0][level] == known[i].dropped[level],
                    "line %zu", i);
            for (uint32_t k = 0; k < count; k++) {
                const struct vf_corner c = vf_detect_corner(
                    memory.select.key[0][(level ? known[i].second : 0) + (int32_t)k]);
                const int32_t x = 10 + 10 * (known[i].of[level] - (int32_t)(count - k));
                REQUIRE(c.level == level && c.x == x, "line %zu level %d", i, level);
            }
        }
    }
}

/* ---- tests: by hand ---------------------------------------------------------------------------------------------- */

/** The pixel of a level that is centred on pixel x of level 0, or -1. */
static int32_t centred_on(int32_t x, int32_t level)
{
    const int32_t u = (int32_t)floor((x + 0.5) / size_of(level));
    return pixel_of(u, level) == x ? u : -1;
}

/** A pixel of level 0 that starts a cell of 3 px, and on which pixels of the levels are centred whose bits are in
 *  `levels`; the pixel `apart` before it is the same for the levels in `before`. -1: there is none. */
static int32_t find_pixel(uint32_t levels, int32_t apart, uint32_t before)
{
    for (int32_t x = 30; x < 120; x += 3) {
        int good = 1;
        for (int32_t level = 0; level < 8; level++) {
            if (levels >> level & 1) good &= centred_on(x, level) >= 0;
            if (before >> level & 1) good &= centred_on(x - apart, level) >= 0;
        }
        if (good) return x;
    }
    return -1;
}

/** Puts corners at a pixel of level 0, on levels 0, 1... with these scores; 0: none there. */
static void put_column(int32_t x, int32_t y, const uint32_t score[3])
{
    for (int32_t level = 0; level < 3; level++)
        if (score[level]) put(0, level, centred_on(x, level), centred_on(y, level), 1, score[level]);
}

/** 1 if there is a key point of a level at a pixel of level 0. */
static int is_key(int32_t level, int32_t x, int32_t y)
{
    const uint64_t place = vf_detect_key(1, 0, level, centred_on(x, level), centred_on(y, level)) & 0x1fffffff;
    for (uint32_t i = 0; i < memory.select.count[0][0]; i++)
        if ((memory.select.key[0][i] & 0x1fffffff) == place) return 1;
    return 0;
}

/** Two adjacent corners, in separate cells, on one to three of three levels: the result of the paper's rule for the
 *  first. */
static void known_sums(void **state)
{
    static const struct {
        uint32_t first[3], second[3];
        int first_stays;
    } known[] = {
        {{100, 0, 0}, {60, 60, 0}, 0}, /* fewer levels and a smaller sum */
        {{120, 0, 0}, {60, 60, 0}, 1}, /* the sum is equal */
        {{121, 0, 0}, {60, 60, 0}, 1}, /* fewer levels, but a larger sum */
        {{100, 0, 0}, {101, 0, 0}, 1}, /* as many levels */
        {{100, 0, 0}, {0, 101, 0}, 1}, /* as many, not the same */
        {{0, 100, 0}, {99, 2, 0}, 0},
        {{0, 100, 0}, {98, 2, 0}, 1},
        {{50, 49, 0}, {60, 40, 0}, 1},
        {{50, 49, 0}, {60, 39, 1}, 0},
        {{50, 50, 0}, {60, 39, 1}, 1},
        {{50, 0, 49}, {1, 98, 1}, 0},
        {{0, 0, 1}, {0, 1, 1}, 0},
        {{0, 1, 1}, {1, 1, 1}, 0},
        {{1, 1, 1}, {90, 90, 90}, 1},                  /* on all levels */
        {{4000000000u, 0, 0}, {4000000000u, 0, 1}, 0}, /* sums are wider than scores */
        {{4000000000u, 0, 0}, {2000000000u, 2000000000u, 0}, 1},
        {{3999999999u, 0, 0}, {2000000000u, 2000000000u, 0}, 0},
        {{UINT32_MAX, UINT32_MAX - 1, 0}, {UINT32_MAX, UINT32_MAX, 1}, 0},
    };
    (void)state;
    shake(4);
    if (VFRONT_SCALES < 3 || find_pixel(7, 1, 7) < 0 || !set_up_grid(1, 128, 128, 3, 3)) skip();
    const int32_t x = find_pixel(7, 1, 7), y = find_pixel(7, 0, 0);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        step.tuning.detect_levels = 3;
        step.tuning.select_aggregate_px = 3;
        clear_corners();
        put_column(x - 1, y, known[i].first);
        put_column(x, y, known[i].second);
        run_and_compare("sums");
        for (int32_t level = 0; level < 3; level++)
            REQUIRE(is_key(level, x - 1, y) == (known[i].first[level] && known[i].first_stays), "line %zu level %d", i,
                    level);
    }
}

/** Reach of the window, in every direction and across cells: none of sides 0 and 1, 1 px of 2 and 3, 31 px of 62 and
 *  63. */
static void known_aggregates(void **state)
{
    static const uint32_t one[3] = {10, 0, 0}, two[3] = {10, 10, 0};
    (void)state;
    shake(5);
    if (VFRONT_SCALES < 2 || !set_up_grid(1, 102, 102, 3, 3)) skip();
    int32_t x = 51;
    while (centred_on(x, 1) < 0) x++;
    const int32_t y = x;
    step.tuning.detect_levels = vf_min(VFRONT_SCALES, 3);
    for (int32_t apart = 1; apart <= 33; apart++)
        for (int32_t variant = 0; variant < 24; variant++) {
            const int32_t aside = variant < 8 ? apart
                                              : roll(apart + 1); /* straight or diagonal, then anything between */
            const int32_t along = variant & 1 ? -apart : apart, across = variant & 2 ? -aside : variant < 4 ? 0 : aside;
            const int32_t ax = x + (variant & 4 ? along : across), ay = y + (variant & 4 ? across : along);
            if (cell_at(0, ax, ay) == cell_at(0, x, y)) continue;
            clear_corners();
            put_column(x, y, two);
            put_column(ax, ay, one);
            for (int32_t aggregate_px = 0; aggregate_px <= 63; aggregate_px++) {
                step.tuning.select_aggregate_px = aggregate_px;
                RUN(select);
                REQUIRE(is_key(0, ax, ay) == (apart > aggregate_px / 2), "%d,%d away, window %d", ax - x, ay - y,
                        aggregate_px);
                assert_true(is_key(0, x, y) && is_key(1, x, y));
            }
        }
}

/** A dropped corner still drops its neighbour: the matrices before aggregation are compared. Both are dropped. */
static void known_chain(void **state)
{
    static const uint32_t one[3] = {10, 0, 0}, two[3] = {0, 10, 10}, three[3] = {10, 10, 10};
    (void)state;
    shake(6);
    if (VFRONT_SCALES < 3 || find_pixel(7, 1, 6) < 0 || !set_up_grid(1, 128, 128, 3, 3)) skip();
    const int32_t x = find_pixel(7, 1, 6), y = find_pixel(7, 0, 0);
    step.tuning.select_aggregate_px = 3;
    put_column(x - 2, y, one);
    assert_int_equal(run_and_compare("chain of one"), 1);
    put_column(x - 1, y, two);
    assert_int_equal(run_and_compare("chain of two"), 2);
    assert_true(!is_key(0, x - 2, y) && is_key(1, x - 1, y) && is_key(2, x - 1, y));
    put_column(x, y, three);
    assert_int_equal(run_and_compare("chain of three"), 3);
    assert_true(is_key(0, x, y) && is_key(1, x, y) && is_key(2, x, y));
}

/** Of equal scores finer levels come first, then upper rows, then left columns; corners of the second threshold come
 *  last, whatever their score. The list is ordered by level and cell. */
static void known_limits(void **state)
{
    static const struct {
        int32_t level, u, v, high;
        uint32_t score;
    } rank[] = {{1, 20, 20, 1, 9}, {0, 45, 3, 1, 8}, {0, 2, 33, 1, 8},  {0, 33, 33, 1, 8},
                {1, 30, 2, 1, 8},  {1, 2, 30, 1, 8}, {0, 20, 20, 0, 99}};
    static const int place[] = {1, 6, 2, 3, 4, 0, 5}; /* index of each rank */
    enum { RANKS = sizeof rank / sizeof *rank };
    (void)state;
    shake(7);
    if (VFRONT_SCALES < 2 || VFRONT_KEYPOINTS < RANKS || !set_up_grid(1, 48, 48, 16, 16)) skip();
    if (size_of(1) > 1.5) skip(); /* the positions are those of levels 6/5 apart */
    for (int wanted = 1; wanted <= RANKS + 1 && wanted <= VFRONT_KEYPOINTS; wanted++) {
        clear_corners();
        for (int i = 0; i < RANKS; i++) put(0, rank[i].level, rank[i].u, rank[i].v, rank[i].high, rank[i].score);
        step.tuning.select_points = wanted;
        const int count = wanted < RANKS ? wanted : RANKS;
        assert_int_equal(run_and_compare("limits"), count);
        assert_int_equal(memory.select.dropped[0][0], RANKS - count);
        uint32_t k = 0;
        for (int i = 0; i < RANKS; i++) {
            const int r = place[i];
            if (r >= wanted) continue;
            const struct vf_corner c = vf_detect_corner(memory.select.key[0][k++]);
            REQUIRE(c.x == rank[r].u && c.y == rank[r].v && c.level == rank[r].level, "of %d the one of rank %d",
                    wanted, r);
        }
    }
}

/** Every bit of a key counts: of two corners whose keys differ in one bit, the greater is the best, in either cell. */
static void every_bit_of_a_key(void **state)
{
    (void)state;
    shake(10);
    for (int bit = 0; bit < 62; bit++)
        for (int variant = 0; variant < 4; variant++) {
            const int last = variant & 1;
            if (!set_up_grid(1, 64, 32, 32, 32)) skip();
            const uint64_t key = (roll64() >> 2 | 1ull << 28 | 1ull << 40) & ~(1ull << bit), more = key | 1ull << bit;
            best_of(0)[last] = more;
            best_of(0)[!last] = key;
            step.tuning.select_points = step.tuning.detect_levels = 1;
            step.tuning.select_share_percent = variant & 2 ? 91 : 0;
            share_out();
            RUN(select);
            assert_true(memory.select.count[0][0] == 1 && memory.select.dropped[0][0] == 1);
            REQUIRE(memory.select.key[0][0] == more, "bit %d", bit);
        }
}

/** Levels beyond detect_levels, and beyond those that the image has, add nothing. */
static void unsearched_levels(void **state)
{
    static const uint32_t one[3] = {10, 0, 0}, two[3] = {10, 10, 0};
    (void)state;
    shake(8);
    if (VFRONT_SCALES < 3 || find_pixel(7, 1, 7) < 0 || !set_up_grid(1, 128, 128, 3, 3)) skip();
    const int32_t x = find_pixel(7, 1, 7), y = find_pixel(7, 0, 0);
    for (int32_t searched = 1; searched <= 2; searched++)
        for (int tuned = 0; tuned < 2; tuned++) {
            if (!set_up_grid(1, 128, 128, 3, 3)) skip();
            if (tuned) step.tuning.detect_levels = searched;
            if (!tuned) step.geometry.scales = searched;
            step.tuning.select_aggregate_px = 3;
            clear_corners();
            put_column(x - 1, y, one);
            put_column(x, y, two);
            assert_int_equal(run_and_compare("unsearched"), 2);
            assert_int_equal(is_key(0, x - 1, y), searched == 1);
        }
}

/** At the far end of the largest image. */
static void far_corner(void **state)
{
    (void)state;
    shake(9);
    if (VFRONT_SCALES < 2) skip();
    set_up(1, VFRONT_WIDTH, VFRONT_HEIGHT, 0);
    set_culls_about(32, 32);
    step.tuning.select_share_percent = 0;
    const struct vf_level *l = &step.geometry.scale[0][1];
    const int32_t u = l->width - 1, v = l->height - 1, x = pixel_of(u, 1), y = pixel_of(v, 1);
    for (int32_t apart = 0; apart <= 40; apart++) {
        step.tuning.select_aggregate_px = 63;
        clear_corners();
        put(0, 0, x, y, 1, 5);
        put(0, 1, u, v, 1, 6);
        put(0, 0, x - apart, y - (apart + 32) % 41, 1, 7);
        const int same_cell = cell_at(0, x - apart, y - (apart + 32) % 41) == cell_at(0, x, y);
        const int32_t away = vf_max(apart, (apart + 32) % 41);
        RUN(select);
        REQUIRE(memory.select.count[0][0] == (same_cell || away <= 31 ? 2 : 3), "%d away: %u", away,
                memory.select.count[0][0]);
    }
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(random_cases),           cmocka_unit_test(full_and_empty),
        cmocka_unit_test(largest_picture),        cmocka_unit_test(all_else_stays),
        cmocka_unit_test(shares_of_all_percents), cmocka_unit_test(known_slots),
        cmocka_unit_test(known_shares),           cmocka_unit_test(known_sums),
        cmocka_unit_test(known_aggregates),       cmocka_unit_test(known_chain),
        cmocka_unit_test(known_limits),           cmocka_unit_test(every_bit_of_a_key),
        cmocka_unit_test(unsearched_levels),      cmocka_unit_test(far_corner),
    };
    return cmocka_run_group_tests_name("select", test, NULL, NULL);
}
