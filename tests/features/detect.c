/* SPDX-License-Identifier: MIT */
/* detect: the two best corners of every culling cell of every level, and the best of every cell on any level, by the
 * oracle of detect_oracle.h. Levels are filled independently of each other. */
#include "detect_oracle.h"
#include "features/detect.c"

/* ---- running the stage ------------------------------------------------------------------------------------------- */

static char what[300];

static void describe(const char *name)
{
    const vfront_tuning_t *t = &step.tuning;
    const struct vf_level *l = scale_of(0, 0);
    snprintf(
        what, sizeof what,
        "%s %dx%d, levels %d threshold %d low %d arc %d..%d score %d rank %d radius %d border %d room %d cells %dx%d "
        "culls %dx%d",
        name, l->width, l->height, t->detect_levels, t->detect_threshold, t->detect_threshold_low, 9,
        t->detect_arc_most, t->detect_score, t->detect_rank, t->detect_radius, t->detect_border_px, margin_of_level(),
        t->cell_width_px, t->cell_height_px, t->cull_width_px, t->cull_height_px);
}

/** Bytes of a camera's culling cells on the levels that are searched, and of its cells. */
static size_t best_bytes(int32_t camera) { return sizeof(uint64_t) * (size_t)(culls_of(camera) * searched()); }
static size_t corner_bytes(int32_t camera) { return sizeof(uint64_t) * (size_t)cells_of(camera); }

/** Grids of a camera in this frame, and those that it clears for the next one. */
static uint64_t *best_of(struct vf_memory *m, int32_t camera) { return m->detect.best[step.parity][camera]; }
static uint64_t *second_of(struct vf_memory *m, int32_t camera) { return m->detect.second[step.parity][camera]; }
static uint64_t *corner_of(struct vf_memory *m, int32_t camera) { return m->detect.corner[step.parity][camera]; }
static uint64_t *next_best_of(struct vf_memory *m, int32_t camera) { return m->detect.best[1 - step.parity][camera]; }
static uint64_t *next_second_of(struct vf_memory *m, int32_t camera)
{
    return m->detect.second[1 - step.parity][camera];
}
static uint64_t *next_corner_of(struct vf_memory *m, int32_t camera)
{
    return m->detect.corner[1 - step.parity][camera];
}

/** Clears the grids, as the previous frame does, and runs the stage. */
static void detect(void)
{
    for (int32_t camera = 0; camera < step.geometry.cameras; camera++) {
        memset(best_of(&memory, camera), 0, best_bytes(camera));
        memset(second_of(&memory, camera), 0, best_bytes(camera));
        memset(corner_of(&memory, camera), 0, corner_bytes(camera));
    }
    RUN(detect);
}

/** Fails unless a key is that of the expected corner, or of none. Level -1: any. */
static void compare_key(uint64_t key, struct candidate w, const char *grid, int32_t camera, int32_t level, int32_t cell)
{
    const struct vf_corner c = vf_detect_corner(key);
    REQUIRE(!key == !w.score, "%s: camera %d level %d %s %d: found %d, should have found %d", what, camera, level, grid,
            cell, !!key, !!w.score);
    if (!key) return;
    REQUIRE(c.x == w.x && c.y == w.y && c.level == w.level && c.score == w.score && c.high == w.high,
            "%s: camera %d %s %d: found %d,%d level %d score %u strong %d, should be %d,%d level %d score %u strong %d",
            what, camera, grid, cell, c.x, c.y, c.level, c.score, c.high, w.x, w.y, w.level, w.score, w.high);
}

/** Culling cells with two corners: both of the first threshold, both of the second, or one of each. */
static uint64_t pairs[3];

/** Compares the grids of all cameras. Returns the number of culling cells with corners. */
static int compare_cells(void)
{
    int corners = 0;
    for (int32_t camera = 0; camera < step.geometry.cameras; camera++) {
        const int32_t culls = culls_of(camera);
        for (int32_t i = 0; i < culls * searched(); i++) {
            compare_key(best_of(&memory, camera)[i], winner[camera][i], "culling cell", camera, i / culls, i % culls);
            compare_key(second_of(&memory, camera)[i], runner_up[camera][i], "second of culling cell", camera,
                        i / culls, i % culls);
            corners += winner[camera][i].score > 0;
            pairs[winner[camera][i].high + runner_up[camera][i].high] += runner_up[camera][i].score > 0;
        }
        for (int32_t i = 0; i < cells_of(camera); i++)
            compare_key(corner_of(&memory, camera)[i], cell_winner[camera][i], "cell", camera, -1, i);
    }
    return corners;
}

/** Runs stage and oracle, compares every cell of the grids; returns the number of culling cells with corners. */
static int run_and_compare(const char *name)
{
    describe(name);
    find_winners();
    detect();
    return compare_cells();
}

/* ---- images ------------------------------------------------------------------------------------------------------ */

enum fill { NOISE, SOFT, BINARY, EXTREME, BLACK, WHITE, CHECKER, TILES, DOTS, STEPS, BOXES, DISCS, FILLS };

struct canvas {
    int32_t camera, level, width, height;
};

static void put(const struct canvas *c, int32_t x, int32_t y, int grey)
{
    if (x >= 0 && y >= 0 && x < c->width && y < c->height) *pixel(c->camera, c->level, x, y) = (uint8_t)grey;
}

static void paint_noise(const struct canvas *c, enum fill fill)
{
    static const int extreme[] = {0, 1, 2, 127, 128, 253, 254, 255};
    const int side = between(1, 6), period_x = between(2, 7), period_y = between(2, 7);
    uint8_t tile[7][7];
    scribble(tile, sizeof tile);
    for (int32_t y = 0; y < c->height; y++)
        for (int32_t x = 0; x < c->width; x++) {
            int grey = 0;
            if (fill == NOISE) grey = roll(256);
            if (fill == SOFT) grey = between(100, 130);
            if (fill == BINARY) grey = roll(2) ? 255 : 0;
            if (fill == EXTREME) grey = extreme[roll(8)];
            if (fill == WHITE) grey = 255;
            if (fill == CHECKER) grey = (x / side + y / side) % 2 ? 255 : 0;
            if (fill == TILES) grey = tile[y % period_y][x % period_x];
            put(c, x, y, grey);
        }
}

/** Shape at a random position: a half plane, a box, a disc or, of radius 0, a single pixel. */
static void paint_shape(const struct canvas *c, enum fill fill, int grey)
{
    const int32_t x0 = roll(c->width), y0 = roll(c->height), w = between(1, 12), h = between(1, 12);
    const int32_t a = between(-3, 3), b = between(-3, 3);
    const int32_t radius = fill == DISCS ? between(1, 4) : 0;
    for (int32_t y = 0; y < c->height; y++)
        for (int32_t x = 0; x < c->width; x++) {
            const int in_box = x >= x0 && x < x0 + w && y >= y0 && y < y0 + h;
            const int in_half = a * (x - x0) + b * (y - y0) > 0;
            const int in_disc = (x - x0) * (x - x0) + (y - y0) * (y - y0) <= radius * radius;
            if (fill == BOXES ? in_box : fill == STEPS ? in_half : in_disc) put(c, x, y, grey);
        }
}

static void paint(int32_t camera, int32_t level, enum fill fill)
{
    const struct vf_level *l = scale_of(camera, level);
    const struct canvas c = {camera, level, l->width, l->height};
    const int extreme = roll(2);
    paint_noise(&c, fill < DOTS ? fill : BLACK);
    if (fill < DOTS) return;
    for (int i = c.width * c.height / 60; i >= 0; i--) paint_shape(&c, fill, extreme ? roll(2) * 255 : roll(256));
}

/** Score of a pixel at one threshold, by the host form for the first pixel of a chunk. */
static uint32_t score_at(const int32_t circle[16], int32_t centre, int32_t threshold, int32_t arc, int32_t most,
                         int32_t kind)
{
    uint8_t picture[2 * VF_CIRCLE_RADIUS + 1][CHUNK + 2 * VF_CIRCLE_RADIUS] = {{0}};
    uint8_t *at = &picture[VF_CIRCLE_RADIUS][VF_CIRCLE_RADIUS];
    uint16_t nms[CHUNK] = {0};
    const struct rule rule = {(uint8_t)threshold, (uint8_t)threshold, arc, most, kind};
    *at = (uint8_t)centre;
#define PUT(n, dx, dy) at[(dy) * (int32_t)sizeof *picture + (dx)] = (uint8_t)circle[n];
    VF_CIRCLE_PIXELS(PUT)
#undef PUT
    score_any(rule, nms, at, sizeof *picture);
    return nms[0] ? nms[0] - (uint32_t)VF_NMS_HIGH : 0;
}

/* ---- tests: the rule of one pixel -------------------------------------------------------------------------------- */

static void compare_rule(const int ring[16], int centre, int threshold)
{
    int32_t values[16];
    const int length = longest_arc(ring, centre, threshold).length;
    for (int i = 0; i < 16; i++) values[i] = ring[i];
    for (int arc = 9; arc <= 12; arc++)
        for (int kind = 0; kind < 3; kind++) {
            const int unbound = textbook_score(ring, centre, threshold, arc, 16, kind);
            for (int most = 9; most <= 16; most++) {
                const int is = (int)score_at(values, centre, threshold, arc, most, kind);
                const int should = length > most ? 0 : unbound;
                REQUIRE(is == should, "threshold %d arc %d..%d score %d: is %d, should be %d", threshold, arc, most,
                        kind, is, should);
            }
        }
}

/** Starts of runs in every mask of 16 bits, against a walk along it. */
static void every_run(void **state)
{
    (void)state;
    for (uint32_t mask = 0; mask < 65536; mask++)
        for (int arc = 9; arc <= 16; arc++) {
            uint32_t starts = 0;
            for (int i = 0; i < 16; i++) {
                int length = 0;
                while (length < 16 && mask >> (i + length) % 16 & 1) length++;
                starts |= (uint32_t)(length >= arc) << i;
            }
            assert_int_equal(vf_detect_runs(mask | mask << 16, arc), starts);
        }
}

/** All 65536 patterns of brighter or darker pixels among similar ones, and among ones of the other sign. */
static void every_labelling_of_the_circle(void **state)
{
    (void)state;
    shake(1);
    for (int placed = 0; placed < 65536; placed++) {
        const int threshold = between(1, 100), sign = roll(2) ? 1 : -1, others = roll(2), centre = between(120, 135);
        int ring[16];
        for (int i = 0; i < 16; i++) {
            const int beyond = threshold + between(1, 118 - threshold > 0 ? 118 - threshold : 1);
            const int there = others ? centre - sign * beyond : centre + between(-threshold, threshold);
            ring[i] = placed >> i & 1 ? centre + sign * beyond : there;
        }
        compare_rule(ring, centre, threshold);
    }
}

/** Differences at the threshold, one more and one less, for every threshold. */
static void every_threshold_at_its_limit(void **state)
{
    (void)state;
    shake(2);
    for (int threshold = 1; threshold <= 254; threshold++)
        for (int i = 0; i < 60; i++) {
            const int sign = roll(2) ? 1 : -1, from_end = roll(256 - threshold);
            const int centre = sign > 0 ? from_end : 255 - from_end;
            const int length = between(7, 16), first = roll(16);
            int ring[16];
            for (int k = 0; k < 16; k++) {
                const int far = threshold + (k < length ? 1 : 0) - (roll(24) == 0);
                const int grey = centre + sign * far;
                ring[(first + k) % 16] = grey < 0 ? 0 : grey > 255 ? 255 : grey;
            }
            compare_rule(ring, centre, threshold);
        }
}

/** By hand. Clockwise from the top, as in figure 3 of the paper. */
static void known_scores(void **state)
{
    static const struct {
        int32_t ring[16];
        int centre, threshold, arc, most;
        uint32_t sad_b, sad_a, mt;
    } known[] = {
        /* black circle around a white pixel, and the other way round: the most that a score can be, where blobs are let
         * through
         */
        {{0}, 255, 254, 12, 16, 4080, 4080, 254},
        {{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
         0,
         254,
         12,
         16,
         4080,
         4080,
         254},
        {{0}, 255, 254, 12, 15, 0, 0, 0},
        {{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, 0, 254, 9, 15, 0, 0, 0},
        /* an arc of 9 from pixel 12 over the top; 20 + 8 * 30 on it, 5 + 6 * 10 off it */
        {{130, 130, 130, 130, 130, 105, 110, 110, 110, 90, 90, 90, 120, 130, 130, 130}, 100, 10, 9, 16, 325, 260, 19},
        {{130, 130, 130, 130, 130, 105, 110, 110, 110, 90, 90, 90, 120, 130, 130, 130}, 100, 19, 9, 16, 325, 260, 19},
        {{130, 130, 130, 130, 130, 105, 110, 110, 110, 90, 90, 90, 120, 130, 130, 130}, 100, 20, 9, 16, 0, 0, 0},
        {{130, 130, 130, 130, 130, 105, 110, 110, 110, 90, 90, 90, 120, 130, 130, 130}, 100, 10, 10, 16, 0, 0, 0},
        {{130, 130, 130, 130, 130, 105, 110, 110, 110, 90, 90, 90, 120, 130, 130, 130}, 100, 10, 9, 9, 325, 260, 19},
        /* at a threshold of 4 the same arc reaches on over pixels 5 to 8, 13 in all; without pixel 5 no arc of 12 is
         * left */
        {{130, 130, 130, 130, 130, 105, 110, 110, 110, 90, 90, 90, 120, 130, 130, 130}, 100, 4, 9, 13, 325, 295, 19},
        {{130, 130, 130, 130, 130, 105, 110, 110, 110, 90, 90, 90, 120, 130, 130, 130}, 100, 4, 9, 12, 0, 0, 0},
        {{130, 130, 130, 130, 130, 105, 110, 110, 110, 90, 90, 90, 120, 130, 130, 130}, 100, 4, 12, 13, 325, 295, 4},
        {{130, 130, 130, 130, 130, 105, 110, 110, 110, 90, 90, 90, 120, 130, 130, 130}, 100, 5, 12, 13, 0, 0, 0},
        /* no arc can be longer than 12 and shorter than 10 */
        {{130, 130, 130, 130, 130, 130, 130, 130, 130, 130, 130, 130, 90, 90, 90, 90}, 100, 10, 12, 9, 0, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const int centre = known[i].centre, threshold = known[i].threshold, arc = known[i].arc, most = known[i].most;
        assert_int_equal(score_at(known[i].ring, centre, threshold, arc, most, VFRONT_SCORE_SAD_B), known[i].sad_b);
        assert_int_equal(score_at(known[i].ring, centre, threshold, arc, most, VFRONT_SCORE_SAD_A), known[i].sad_a);
        assert_int_equal(score_at(known[i].ring, centre, threshold, arc, most, VFRONT_SCORE_MT), known[i].mt);
    }
}

/** Sums over `count` random gradients: of any direction, of one, of two, of the largest there are. */
static struct sums random_sums(struct vf_harris *h, int count)
{
    const int32_t most = roll(3) ? 1 + roll(1020) : 1020, kind = roll(4), turn = roll(count + 1);
    struct sums sums = {0, 0, 0};
    *h = (struct vf_harris){0, 0, 0};
    for (int k = 0; k < count; k++) {
        int32_t gx = between(-most, most), gy = kind == 0   ? gx
                                                : kind == 1 ? (k < turn ? gx : -gx)
                                                            : between(-most, most);
        if (kind == 3) gx = most, gy = k < turn ? most : -most;
        vf_harris_add(h, gx, gy);
        sums.xx += gx * gx;
        sums.yy += gy * gy;
        sums.xy += gx * gy;
    }
    return sums;
}

/** Final score from sums of any 49 or 25 gradients and any corner score; the sums of the other window have no
 *  effect. */
static void ranking_of_any_gradients(void **state)
{
    uint32_t clamped[3] = {0, 0, 0}, largest[3] = {0, 0, 0};
    (void)state;
    shake(15);
    for (int i = 0; i < 300000; i++) {
        struct vf_harris h, other;
        const int32_t rank = step.tuning.detect_rank = between(1, 2), kind = step.tuning.detect_score = roll(3);
        const struct sums sums = random_sums(&h, rank == 1 ? 49 : 25);
        const int32_t top = kind == VFRONT_SCORE_MT ? 254 : 4080;
        const uint32_t corner_score = (uint32_t)(roll(4) ? between(1, top) : top);
        random_sums(&other, 49);
        const struct vf_detect_tuning t = {.detect_rank = rank, .detect_score = kind};
        const uint32_t is = vf_detect_final_score(&t, corner_score, rank == 1 ? h : other, rank == 1 ? other : h);
        const uint32_t should = textbook_final_score(sums, corner_score);
        REQUIRE(is == should, "rank %d, sums %d %d %d, corner score %u: is %u, should be %u", rank, h.xx, h.yy, h.xy,
                corner_score, is, should);
        clamped[rank] += is == 1;
        largest[rank] = is > largest[rank] ? is : largest[rank];
    }
    assert_true(clamped[1] > 20000 && clamped[1] < 100000 && clamped[2] > 20000 && clamped[2] < 100000);
    /* the most that there can be, 24 gradients of 1020 along one diagonal and 25 along the other: 25 * (49^2 - 1) -
     * 98^2 */
    assert_int_equal(largest[1], (uint32_t)(50396ull * 1020 * 1020 * 1020 * 1020 >> 24));
    /* 12 along one and 13 along the other: 25 * (25^2 - 1) - 50^2 = 13100; times 1020^4 / 2^14 * 255^2 / 2^24 */
    assert_int_equal(largest[2], 3354381918u);
}

/** Final scores by hand: which are clamped to 1, and which are more. */
static void known_rankings(void **state)
{
    static const struct {
        int32_t rank, kind;
        uint32_t corner_score;
        struct vf_harris sums;
        uint32_t score;
    } known[] = {
        {1, VFRONT_SCORE_SAD_A, 999, {0, 0, 0}, 1},
        {1, VFRONT_SCORE_SAD_A, 999, {50979600, 0, 0}, 1},           /* an edge: -trace^2 */
        {1, VFRONT_SCORE_MT, 99, {50979600, 50979600, 50979600}, 1}, /* an edge across */
        {1, VFRONT_SCORE_SAD_A, 999, {1000, 1000, 0}, 1},            /* 25e6 - 4e6 = 21e6: 2^24 once */
        {1, VFRONT_SCORE_SAD_B, 9, {1264, 1264, 0}, 1},              /* 21 * 1597696 = 33551616, 2^25 is 33554432 */
        {1, VFRONT_SCORE_SAD_A, 999, {1265, 1265, 0}, 2},            /* 21 * 1600225 = 33604725 */
        {1,
         VFRONT_SCORE_MT,
         9,
         {50979600, 50979600, 0},
         3253061290u},                                            /* 21 * 50979600^2 / 2^24, more than sums can be */
        {1, VFRONT_SCORE_SAD_A, 999, {20000, 10000, -5000}, 207}, /* 25 * (2e8 - 25e6) - 9e8 = 3475e6 */
        {1, VFRONT_SCORE_SAD_A, 999, {20000, 10000, 5000}, 207},
        {2, VFRONT_SCORE_SAD_A, 999, {0, 0, 0}, 1},
        {2, VFRONT_SCORE_SAD_A, 4080, {26010000, 0, 0}, 1},
        {2, VFRONT_SCORE_SAD_A, 1600, {20000, 10000, 5000}, 126}, /* 3475e6 / 2^14 = 212097.2; * 100^2 / 2^24 = 126.4 */
        {2, VFRONT_SCORE_SAD_A, 1615, {20000, 10000, 5000}, 126}, /* still 100 sixteenths */
        {2, VFRONT_SCORE_SAD_B, 1616, {20000, 10000, 5000}, 128}, /* 101^2: 128.96 */
        {2, VFRONT_SCORE_MT, 100, {20000, 10000, 5000}, 126},     /* MT counts as it is */
        {2, VFRONT_SCORE_MT, 1, {20000, 10000, 5000}, 1},
        {2, VFRONT_SCORE_MT, 8, {20000, 10000, 5000}, 1},  /* 0.81 */
        {2, VFRONT_SCORE_MT, 128, {362, 362, 0}, 1},       /* 21 * 362^2 / 2^14 = 167.96; * 2^14 / 2^24 = 0.16 */
        {2, VFRONT_SCORE_SAD_A, 2048, {1264, 1264, 0}, 1}, /* 2047.8 -> 2047; * 2^14 / 2^24 = 1.999 */
        {2, VFRONT_SCORE_SAD_A, 2048, {1265, 1265, 0}, 2}, /* 2051.1 */
        {2, VFRONT_SCORE_SAD_A, 4080, {26010000, 26010000, 0}, 3360783410u}, /* 21 * 26010000^2 / 2^14 * 255^2 / 2^24 */
    };
    static const struct vf_harris none = {0, 0, 0};
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const int seven = known[i].rank == 1;
        const struct vf_detect_tuning t = {.detect_rank = known[i].rank, .detect_score = known[i].kind};
        const struct vf_harris h = known[i].sums;
        const uint32_t is = vf_detect_final_score(&t, known[i].corner_score, seven ? h : none, seven ? none : h);
        REQUIRE(is == known[i].score, "known ranking %zu: is %u, should be %u", i, is, known[i].score);
    }
}

/* ---- tests: the stage -------------------------------------------------------------------------------------------- */

/** A stage of one camera and one level, no masks, border 3, one threshold, blobs let through, ranked by corner score,
 *  nothing described. */
static void set_up_plain(int32_t width, int32_t height)
{
    set_up(1, width, height, roll(2));
    set_cells_about(32, 32);
    memory.ingest.params.source[0].mask = NULL;
    step.tuning.detect_levels = 1;
    step.tuning.detect_border_px = 3;
    step.tuning.detect_threshold = 10;
    step.tuning.detect_threshold_low = 0;
    step.tuning.detect_arc_most = 16;
    step.tuning.detect_score = VFRONT_SCORE_SAD_B;
    step.tuning.detect_rank = 0;
    step.tuning.describe = 0;
}

/** Unmasks only every fourth pixel of every fourth row: a culling cell of 4x4 then gives the score of that pixel,
 *  whatever its neighbours, and 16 runs give all. */
static void mask_all_but(int32_t x0, int32_t y0)
{
    const struct vf_level *l = &step.geometry.level[0][0];
    step.geometry.masked[0] = 1;
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++)
            memory.ingest.mask_static[0][y * l->pitch + x] = x % 4 == x0 && y % 4 == y0;
}

static void compare_pixels_shown(int32_t x0, int32_t y0)
{
    const struct vf_level *l = &step.geometry.level[0][0];
    for (int32_t y = y0; y < l->height; y += 4)
        for (int32_t x = x0; x < l->width; x += 4) {
            const uint64_t key = best_of(&memory, 0)[y / 4 * step.geometry.culls_x[0] + x / 4];
            const struct vf_corner c = vf_detect_corner(key);
            const uint32_t is = key ? c.score : 0;
            REQUIRE(is == response[y][x].score && (!key || (c.x == x && c.y == y)),
                    "%s: score of %d,%d is %u, should be %u", what, x, y, is, response[y][x].score);
        }
}

static int compare_every_pixel(enum fill fill)
{
    const struct vf_level *l = &step.geometry.level[0][0];
    int corners = 0;
    paint(0, 0, fill);
    describe("every pixel");
    step.geometry.masked[0] = 0;
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            response[y][x] = respond(0, 0, x, y);
            corners += response[y][x].score > 0;
            if (response[y][x].score) response[y][x].score = final_score_of(0, response[y][x]);
        }
    for (int32_t i = 0; i < 16; i++) {
        mask_all_but(i % 4, i / 4);
        detect();
        compare_pixels_shown(i % 4, i / 4);
    }
    return corners;
}

/** The response of every pixel, for every threshold, arc and image; scores and bounds of the arc in turn. */
static void response_of_every_pixel(void **state)
{
    int corners = 0, corners_254 = 0;
    (void)state;
    shake(3);
    set_up_plain(25, 22);
    if (!set_culls(4, 4)) skip();
    for (int threshold = 1; threshold <= 254; threshold++)
        for (int fill = 0; fill < FILLS; fill++) {
            step.tuning.detect_threshold = threshold;
            step.tuning.detect_arc_most = roll(2) ? 16 : between(9, 15);
            step.tuning.detect_score = threshold % 3;
            const int found = compare_every_pixel((enum fill)fill);
            corners += found;
            corners_254 += threshold == 254 ? found : 0;
        }
    assert_true(corners > 10000 && corners_254 > 0);
}

/** Final score of every pixel that is a corner, in every image. */
static void ranking_of_every_pixel(void **state)
{
    int corners = 0;
    (void)state;
    shake(16);
    set_up_plain(28, 24);
    if (!set_culls(4, 4)) skip();
    for (int i = 0; i < 150; i++)
        for (int fill = 0; fill < FILLS; fill++) {
            step.tuning.detect_rank = between(1, 2);
            step.tuning.detect_threshold = i % 4 ? 1 : between(1, 80);
            step.tuning.detect_score = roll(3);
            corners += compare_every_pixel((enum fill)fill);
        }
    assert_true(corners > 10000);
}

static void random_masks(int32_t camera)
{
    const struct vf_level *l = &step.geometry.level[camera][0];
    const int32_t often = between(1, 8), band = between(1, 40);
    step.geometry.masked[camera] = roll(3) == 0;
    memory.ingest.params.source[camera].mask = roll(3) == 0 ? frame_mask_of(camera) : NULL;
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            memory.ingest.mask_static[camera][y * l->pitch + x] = roll(often) ? 255 : 0;
            frame_mask_of(camera)[y * l->pitch + x] = (x + y) / band % 2 ? 1 : 0;
        }
}

static void random_tuning(void)
{
    static const int32_t cell[][2] = {{4, 4}, {7, 13}, {32, 32}, {100, 3000}, {4096, 4}, {3, 64}, {16, 8}, {33, 31}};
    const int32_t c = roll(8), d = roll(8);
    vfront_tuning_t *t = &step.tuning;
    t->detect_levels = between(1, VFRONT_SCALES);
    t->detect_threshold = roll(3) ? between(1, 60) : between(1, 254);
    t->detect_threshold_low = roll(2) ? 0 : roll(t->detect_threshold);
    t->detect_arc_most = roll(2) ? 16 : between(9, 16);
    t->detect_score = roll(3);
    t->detect_rank = roll(3);
    t->describe = roll(2) && VFRONT_DESCRIPTORS;
    t->describe_margin_px = between(3, 18);
    t->select_points = roll(3) ? 1 : 0;
    t->detect_radius = between(1, 4);
    t->detect_border_px = roll(2) ? 3 : between(3, 24);
    set_cells_about(cell[c][0], cell[c][1]);
    set_culls_about(cell[d][0], cell[d][1]);
}

/** Random side of an image. Most are small, because the oracle is slow. */
static int32_t random_side(int32_t most)
{
    const int32_t side = between(16, roll(4) ? 50 : 150);
    return side < most ? side : most;
}

/** Cameras of any size; every level has its own image. */
static void set_up_random(void)
{
    set_up(between(1, VFRONT_CAMERAS), 16, 16, 0);
    for (int32_t camera = 0; camera < step.geometry.cameras; camera++)
        lay_out_levels(camera, random_side(VFRONT_WIDTH), random_side(VFRONT_HEIGHT), roll(3));
    random_tuning();
    step.geometry.rectified = VFRONT_RECTIFY && roll(4) == 0;
    for (int32_t camera = 0; camera < step.geometry.cameras; camera++) {
        random_masks(camera);
        for (int32_t level = 0; level < searched(); level++) paint(camera, level, (enum fill)roll(FILLS));
    }
}

static void random_cases(void **state)
{
    int corners = 0;
    (void)state;
    shake(4);
    scribble(&memory, sizeof memory);
    memset(pairs, 0, sizeof pairs);
    for (int i = 0; i < 4000; i++) {
        set_up_random();
        corners += run_and_compare("random");
    }
    print_message("         cells with a corner %d; with two, none strong %llu, one %llu, both %llu\n", corners,
                  (unsigned long long)pairs[0], (unsigned long long)pairs[1], (unsigned long long)pairs[2]);
    assert_true(corners > 1000 * VFRONT_SCALES || VFRONT_CELLS < 1000);
    assert_true(pairs[0] > 100 && pairs[1] > 100 && pairs[2] > 100);
}

static void blacken(int32_t level)
{
    const struct vf_level *l = scale_of(0, level);
    const struct canvas c = {0, level, l->width, l->height};
    paint_noise(&c, BLACK);
}

/** The largest image of the config, with the corner farthest to the lower right on every level. */
static void largest_picture(void **state)
{
    (void)state;
    shake(5);
    set_up_plain(VFRONT_WIDTH, VFRONT_HEIGHT);
    step.geometry.masked[0] = 0;
    step.tuning.detect_levels = VFRONT_SCALES;
    for (int32_t level = 0; level < step.geometry.scales; level++) {
        const struct vf_level *l = scale_of(0, level);
        const struct canvas c = {0, level, l->width, l->height};
        blacken(level);
        for (int i = 0; i < 20000; i++) put(&c, roll(c.width), roll(c.height), roll(256));
        for (int i = 0; i < 64; i++)
            put(&c, c.width - 1 - i % 8, c.height - 1 - i / 8, i % 8 == 3 && i / 8 == 3 ? 255 : 0);
    }
    assert_true(run_and_compare("largest") > 0);
    const struct vf_level *last = scale_of(0, step.geometry.scales - 1);
    assert_true(response[last->height - 4][last->width - 4].score > 0);
    for (int32_t rank = 1; rank <= 2; rank++) {
        step.tuning.detect_rank = rank;
        run_and_compare("largest, final_score_of anew");
    }
}

/** Only keys of existing cells, and of culling cells of the searched levels, change: found in this frame's grids,
 *  cleared in the next one's. */
static void all_else_stays(void **state)
{
    (void)state;
    shake(6);
    scribble_arena();
    for (int i = 0; i < 24; i++) {
        set_up_random();
        step.tuning.detect_border_px = 3;
        memcpy(&expected, &memory, sizeof memory);
        run_and_compare("all else");
        for (int32_t camera = 0; camera < step.geometry.cameras; camera++) {
            memcpy(best_of(&expected, camera), best_of(&memory, camera), best_bytes(camera));
            memcpy(second_of(&expected, camera), second_of(&memory, camera), best_bytes(camera));
            memcpy(corner_of(&expected, camera), corner_of(&memory, camera), corner_bytes(camera));
            memset(next_best_of(&expected, camera), 0, best_bytes(camera));
            memset(next_second_of(&expected, camera), 0, best_bytes(camera));
            memset(next_corner_of(&expected, camera), 0, corner_bytes(camera));
        }
        same_arena(what);
    }
}

/* ---- tests: by hand ---------------------------------------------------------------------------------------------- */

/** Runs the stage; returns the number of culling cells with a corner, over all levels. */
static int count_found(void)
{
    int count = 0;
    detect();
    for (int32_t place = 0; place < culls_of(0) * searched(); place++) count += best_of(&memory, 0)[place] != 0;
    return count;
}

/** Fails unless a key is that of a corner of the first threshold at x, y of a level with a score. */
static void names(uint64_t key, const char *grid, int32_t cell, int32_t x, int32_t y, int32_t level, uint32_t score)
{
    const struct vf_corner c = vf_detect_corner(key);
    REQUIRE(key, "%s %d is empty, should hold a corner of level %d", grid, cell, level);
    REQUIRE(c.x == x && c.y == y && c.level == level && c.high && c.score == score,
            "%s %d holds %d,%d level %d score %u strong %d", grid, cell, c.x, c.y, c.level, c.score, c.high);
}

/** Fails unless a culling cell of a level, or a cell, contains such a corner. */
static void holds(int32_t cull, int32_t x, int32_t y, int32_t level, uint32_t score)
{
    const int32_t place = level * culls_of(0) + cull;
    names(place < VFRONT_SCALES * VFRONT_CULL_CELLS ? best_of(&memory, 0)[place] : 0, "culling cell", cull, x, y, level,
          score);
}
static void leads(int32_t cell, int32_t x, int32_t y, int32_t level, uint32_t score)
{
    names(cell < VFRONT_CELLS ? corner_of(&memory, 0)[cell] : 0, "cell", cell, x, y, level, score);
}

/** The corner of a large white square sees 11 dark pixels in a row: a corner, and no blob where 11 may be. An edge is
 *  none. */
static void known_square(void **state)
{
    (void)state;
    shake(7);
    set_up_plain(48, 40);
    set_culls_about(48, 40);
    blacken(0);
    for (int32_t y = 20; y < 40; y++)
        for (int32_t x = 24; x < 48; x++) *pixel(0, 0, x, y) = 200;
    step.tuning.detect_threshold = 199;
    step.tuning.detect_score = VFRONT_SCORE_SAD_A;
    assert_int_equal(count_found(), 1);
    holds(0, 24, 20, 0, 11 * 200);
    step.tuning.detect_arc_most = 11;
    assert_int_equal(count_found(), 1);
    step.tuning.detect_arc_most = 10; /* now the corner is a blob; next to it along the edge, 10 are dark */
    assert_int_equal(count_found(), 1);
    holds(0, 25, 20, 0, 10 * 200);
    step.tuning.detect_arc_most = 9;
    assert_int_equal(count_found(), 1);
    holds(0, 26, 20, 0, 9 * 200);
    step.tuning.detect_arc_most = 16;
    step.tuning.detect_threshold = 200;
    assert_int_equal(count_found(), 0);
}

/** A pixel alone, brighter or darker than all 16 around, is a blob as soon as there is a bound; the end of a line, at a
 *  bound of 14. */
static void known_blobs(void **state)
{
    (void)state;
    shake(17);
    for (int most = 9; most <= 16; most++)
        for (int32_t dark = 0; dark < 2; dark++)
            for (int32_t line = 0; line < 2; line++) {
                set_up_plain(40, 40);
                set_culls_about(40, 40);
                step.tuning.detect_arc_most = most;
                step.tuning.detect_threshold_low = roll(2) ? 5 : 0;
                for (int32_t i = 0; i < 40 * 40; i++) *pixel(0, 0, i % 40, i / 40) = dark ? 200 : 50;
                for (int32_t x = 20; x < (line ? 40 : 21); x++) *pixel(0, 0, x, 20) = dark ? 50 : 200;
                assert_int_equal(count_found(), most >= (line ? 15 : 16));
            }
}

/** Two pixels of equal score: the first in raster order remains, the other one only beyond the radius. */
static void known_neighbours(void **state)
{
    static const struct point beside[] = {{4, 0},  {-4, 0},  {0, 4}, {0, -4}, {4, 4}, {-4, 4},
                                          {4, -4}, {-4, -4}, {5, 0}, {5, 4},  {4, 5}};
    (void)state;
    shake(8);
    set_up_plain(40, 40);
    if (!set_culls(4, 4)) skip();
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        for (int32_t radius = 1; radius <= 4; radius++) {
            const int32_t x = 20 + beside[i].x, y = 20 + beside[i].y;
            const int near = abs(beside[i].x) <= radius && abs(beside[i].y) <= radius;
            const int is_first = y > 20 || (y == 20 && x > 20);
            blacken(0);
            *pixel(0, 0, 20, 20) = *pixel(0, 0, x, y) = 77;
            step.tuning.detect_radius = radius;
            assert_int_equal(count_found(), near ? 1 : 2);
            if (!near || is_first) holds(20 / 4 * 10 + 20 / 4, 20, 20, 0, 16 * 77);
            if (!near || !is_first) holds(y / 4 * 10 + x / 4, x, y, 0, 16 * 77);
        }
}

/** A better neighbour suppresses whatever the order. */
static void known_better_neighbour(void **state)
{
    (void)state;
    shake(9);
    set_up_plain(40, 40);
    if (!set_culls(4, 4)) skip();
    step.tuning.detect_radius = 4;
    for (int i = 0; i < 2; i++) {
        blacken(0);
        *pixel(0, 0, 16, 20) = (uint8_t)(i ? 78 : 77);
        *pixel(0, 0, 20, 20) = (uint8_t)(i ? 77 : 78);
        assert_int_equal(count_found(), 1);
        holds(20 / 4 * 10 + (i ? 16 : 20) / 4, i ? 16 : 20, 20, 0, 16 * 78);
    }
}

/** In any image the best pixel (the first of equals) is the best of the only cell, at any radius. */
static void best_pixel_is_never_lost(void **state)
{
    (void)state;
    shake(10);
    for (int i = 0; i < 600; i++) {
        struct candidate best = {0, 0, 0, 0, 0};
        set_up_plain(between(16, 48), between(16, 48));
        step.geometry.masked[0] = 0;
        set_culls_about(64, 64);
        step.tuning.detect_threshold = between(1, 40);
        step.tuning.detect_score = roll(3);
        paint(0, 0, (enum fill)(i % FILLS));
        for (int32_t y = 0; y < step.geometry.level[0][0].height; y++)
            for (int32_t x = 0; x < step.geometry.level[0][0].width; x++) {
                const struct candidate c = respond(0, 0, x, y);
                if (c.score && (!best.score || better(c, best))) best = c;
            }
        for (int32_t radius = 1; radius <= 4; radius++) {
            step.tuning.detect_radius = radius;
            assert_int_equal(count_found(), best.score > 0);
            if (best.score) holds(0, best.x, best.y, 0, best.score);
        }
    }
}

/** Every level has its own culling cells; a cell has one corner of all levels. Of equal corners on two levels the finer
 *  is best; a better coarse one precedes it. */
static void known_levels(void **state)
{
    (void)state;
    if (VFRONT_SCALES < 2 || !fits(64, 64, 0)) skip();
    shake(11);
    for (int more = 0; more < 2; more++) {
        set_up_plain(64, 64);
        set_culls_about(64, 64);
        set_cells_about(64, 64);
        if (step.geometry.scales < 2) skip();
        step.tuning.detect_levels = 2;
        blacken(0);
        blacken(1);
        *pixel(0, 0, 40, 41) = 100;
        *pixel(0, 1, 10, 9) = (uint8_t)(100 + more);
        assert_int_equal(count_found(), 2);
        holds(0, 10, 9, 1, 16u * (100 + (uint32_t)more));
        holds(0, 40, 41, 0, 16 * 100);
        if (more) leads(0, 10, 9, 1, 16 * 101);
        if (!more) leads(0, 40, 41, 0, 16 * 100);
        step.tuning.detect_levels = 1;
        assert_int_equal(count_found(), 1);
        holds(0, 40, 41, 0, 16 * 100);
        leads(0, 40, 41, 0, 16 * 100);
    }
}

/** The two grids are independent: corners in culling cells of 8x4 px, and the best of them in cells of 20x40. */
static void known_grids(void **state)
{
    static const struct {
        int32_t x, y, grey, cull;
    } shown_pixel[] = {
        {10, 6, 50, 1 * 5 + 1}, {16, 6, 60, 1 * 5 + 2},  {10, 24, 70, 6 * 5 + 1},
        {33, 6, 40, 1 * 5 + 4}, {24, 30, 40, 7 * 5 + 3},
    };
    (void)state;
    shake(26);
    set_up_plain(40, 40);
    if (!set_culls(8, 4) || !set_cells(20, 40)) skip();
    blacken(0);
    for (int i = 0; i < 5; i++) *pixel(0, 0, shown_pixel[i].x, shown_pixel[i].y) = (uint8_t)shown_pixel[i].grey;
    assert_int_equal(count_found(), 5);
    for (int i = 0; i < 5; i++)
        holds(shown_pixel[i].cull, shown_pixel[i].x, shown_pixel[i].y, 0, 16 * (uint32_t)shown_pixel[i].grey);
    leads(0, 10, 24, 0, 16 * 70);
    leads(1, 33, 6, 0, 16 * 40); /* the first of equals */
    set_cells(40, 40);
    set_culls(40, 40);
    assert_int_equal(count_found(), 1);
    holds(0, 10, 24, 0, 16 * 70);
    leads(0, 10, 24, 0, 16 * 70);
    set_cells(5, 6);
    assert_int_equal(count_found(), 1);
    holds(0, 10, 24, 0, 16 * 70);
    for (int i = 0; i < 5; i++)
        leads(shown_pixel[i].y / 6 * 8 + shown_pixel[i].x / 5, shown_pixel[i].x, shown_pixel[i].y, 0,
              16 * (uint32_t)shown_pixel[i].grey);
}

/** Blackens all levels but for a pixel; only the pixel of level 0 that it is centred on is shown, or all but that. */
static void set_up_pixel(int32_t level, int32_t u, int32_t v, int32_t shown)
{
    const int32_t pitch = step.geometry.level[0][0].pitch;
    for (int32_t k = 0; k < step.geometry.scales; k++) blacken(k);
    *pixel(0, level, u, v) = 90;
    step.geometry.masked[0] = 1;
    for (int32_t k = 0; k < 64 * pitch; k++) memory.ingest.mask_static[0][k] = !shown;
    memory.ingest.mask_static[0][pixel_of(v, level) * pitch + pixel_of(u, level)] = (uint8_t)shown;
}

/** A corner of a level lies in the cells, and under the mask, of the pixel of level 0 in which its centre lies. */
static void cells_and_mask_of_the_centre(void **state)
{
    int32_t cells = 0;
    (void)state;
    if (!fits(64, 64, 0)) skip();
    shake(18);
    for (int i = 0; i < 800; i++) {
        set_up_plain(64, 64);
        set_cells_about(between(3, 20), between(3, 20));
        if (!set_culls(between(3, 20), between(3, 20))) continue;
        const struct vf_geometry *g = &step.geometry;
        const vfront_tuning_t *t = &step.tuning;
        const int32_t level = roll(g->scales), shown = i % 2;
        const struct vf_level *l = scale_of(0, level);
        const int32_t u = between(3, l->width - 4), v = between(3, l->height - 4), x = pixel_of(u, level),
                      y = pixel_of(v, level);
        step.tuning.detect_levels = VFRONT_SCALES;
        set_up_pixel(level, u, v, shown);
        assert_int_equal(count_found(), shown);
        if (!shown) continue;
        holds(y / t->cull_height_px * g->culls_x[0] + x / t->cull_width_px, u, v, level, 16 * 90);
        leads(y / t->cell_height_px * g->cells_x[0] + x / t->cell_width_px, u, v, level, 16 * 90);
        cells++;
    }
    assert_true(cells > 100 || VFRONT_CULL_CELLS < 64);
}

/** Final score of a single pixel of grey v on black: its sums are 12 v^2, 12 v^2, 0, over 5x5 and over 7x7; so (25 *
 *  144 - 24^2) v^4 / 2^24, or that / 2^14 times v^2 / 2^24, with (v - 1)^2 for MT. An edge is no corner. */
static void known_pixel_alone(void **state)
{
    static const struct {
        int grey;
        uint32_t seven, five, five_mt;
    } known[] = {{255, 762118, 3024705, 3001028}, {77, 6336, 2292, 2233}, {100, 18024, 11001, 10782}};
    (void)state;
    shake(19);
    for (size_t i = 0; i < 3 * sizeof known / sizeof *known; i++) {
        const int grey = known[i / 3].grey;
        set_up_plain(40, 40);
        set_culls_about(40, 40);
        step.tuning.detect_rank = i % 3 ? 2 : 1;
        step.tuning.detect_score = i % 3 == 2 ? VFRONT_SCORE_MT : VFRONT_SCORE_SAD_A;
        blacken(0);
        *pixel(0, 0, 20, 21) = (uint8_t)grey;
        assert_int_equal(count_found(), 1);
        holds(0, 20, 21, 0, i % 3 == 2 ? known[i / 3].five_mt : i % 3 ? known[i / 3].five : known[i / 3].seven);
        for (int32_t x = 0; x < 40; x++) *pixel(0, 0, x, 21) = (uint8_t)grey;
        assert_int_equal(count_found(), 0); /* a line, which has gradients across alone */
        assert_int_equal(final_score_at(8, 21, 4080), 1);
    }
}

/** A black image of one culling cell in which two pixels are let through the mask. */
static void set_up_two(int32_t rank, struct point a, struct point b)
{
    set_up_plain(40, 40);
    set_culls_about(40, 40);
    const int32_t pitch = step.geometry.level[0][0].pitch;
    step.tuning.detect_rank = rank;
    step.geometry.masked[0] = 1;
    for (int32_t i = 0; i < 40 * pitch; i++) memory.ingest.mask_static[0][i] = 0;
    memory.ingest.mask_static[0][a.y * pitch + a.x] = memory.ingest.mask_static[0][b.y * pitch + b.x] = 1;
    blacken(0);
}

/** A pixel alone at 12,12, of grey 200, and at 28,28 the middle of a darker blob of 3x3, whose sums are 144 grey^2, 144
 *  grey^2, 0. */
static void set_up_blob(int32_t rank, int grey)
{
    set_up_two(rank, (struct point){12, 12}, (struct point){28, 28});
    *pixel(0, 0, 12, 12) = 200;
    for (int32_t k = -1; k <= 1; k++)
        for (int32_t i = -1; i <= 1; i++) *pixel(0, 0, 28 + i, 28 + k) = (uint8_t)grey;
    assert_int_equal(count_found(), 1);
}

/** The higher corner score at 12,12 wins without Harris, the larger blob at 28,28 with it, by 144 times. A blob of grey
 *  70 has 2.2 times the response of the pixel, but 0.26 times as much when the squared corner score counts. */
static void harris_decides_within_a_cell(void **state)
{
    (void)state;
    shake(20);
    set_up_blob(0, 180);
    holds(0, 12, 12, 0, 16 * 200);
    set_up_blob(1, 180);
    holds(0, 28, 28, 0, 27246730); /* 435456 * 180^4 / 2^24 */
    set_up_blob(2, 180);
    holds(0, 28, 28, 0, 53881474); /* 27900652500 * 180^2 / 2^24 */
    set_up_blob(0, 70);
    holds(0, 12, 12, 0, 16 * 200);
    set_up_blob(1, 70);
    holds(0, 28, 28, 0, 623184); /* 435456 * 70^4 / 2^24 */
    set_up_blob(2, 70);
    holds(0, 12, 12, 0, 704079); /* 3024 * 200^4 / 2^14 * 200^2 / 2^24 */
}

/** A pixel 4 px from a corner is in the window of 7x7 px but not in that of 5x5: it reverses the order of two nearly
 *  equal pixels. */
static void five_see_less_than_seven(void **state)
{
    (void)state;
    shake(27);
    for (int32_t rank = 0; rank <= 2; rank++) {
        set_up_two(rank, (struct point){12, 12}, (struct point){28, 28});
        *pixel(0, 0, 12, 12) = 100;
        *pixel(0, 0, 28, 28) = 99;
        *pixel(0, 0, 32, 28) = 255;
        assert_int_equal(count_found(), 1);
        if (rank == 0) holds(0, 12, 12, 0, 1600);
        if (rank == 1) holds(0, 28, 28, 0, 153372); /* sums 12 * 99^2 + 6 * 255^2, 12 * 99^2 + 2 * 255^2, 0 */
        if (rank == 2) holds(0, 12, 12, 0, 11001);
        if (rank == 2) assert_int_equal(final_score_at(28, 28, 1584), 10357);
    }
}

/** Non-maximum suppression compares corner scores, even if the final score is a Harris response: the darker of two
 *  pixels has the higher response, because of the pixel next to it. */
static void corner_score_decides_between_neighbours(void **state)
{
    (void)state;
    shake(21);
    for (int32_t rank = 1; rank <= 2; rank++) {
        set_up_two(rank, (struct point){16, 20}, (struct point){20, 20});
        *pixel(0, 0, 16, 20) = 100;
        *pixel(0, 0, 20, 20) = 99;
        *pixel(0, 0, 22, 21) = 99;
        const uint32_t better_score = final_score_at(20, 20, 16 * 99), own = final_score_at(16, 20, 16 * 100);
        assert_true(better_score > own);
        step.tuning.detect_radius = 4;
        assert_int_equal(count_found(), 1);
        holds(0, 16, 20, 0, own);
        step.tuning.detect_radius = 3;
        assert_int_equal(count_found(), 1);
        holds(0, 20, 20, 0, better_score);
    }
}

/** Unmasks two pixels. At 12,12: an arc of nine that is `low` brighter, the rest 200 darker, so that SAD-B scores it
 *  high. At 28,28: an arc of nine that is `high` brighter, the rest similar. */
static void set_up_pair(int low, int high)
{
    set_up_two(0, (struct point){12, 12}, (struct point){28, 28});
    for (int32_t i = 0; i < 40 * 40; i++) *pixel(0, 0, i % 40, i / 40) = 200;
    for (int i = 0; i < 16; i++) {
        *pixel(0, 0, 12 + circle[i].x, 12 + circle[i].y) = (uint8_t)(i < 9 ? 200 + low : 0);
        *pixel(0, 0, 28 + circle[i].x, 28 + circle[i].y) = (uint8_t)(i < 9 ? 200 + high : 200);
    }
    step.tuning.detect_threshold = 50;
    step.tuning.detect_threshold_low = 49;
    step.tuning.detect_score = VFRONT_SCORE_SAD_B;
}

/** A corner of the first threshold precedes one of the second in its cell, whatever the scores; one of the second is
 *  better than none. */
static void high_before_low(void **state)
{
    (void)state;
    shake(12);
    set_up_pair(50, 51);
    assert_int_equal(count_found(), 1);
    holds(0, 28, 28, 0, 9 * 51);
    set_up_pair(50, 50);
    assert_int_equal(count_found(), 1);
    const struct vf_corner low = vf_detect_corner(*best_of(&memory, 0));
    assert_true(low.x == 12 && low.y == 12 && !low.high && low.score == 9 * 50 + 7 * 200);
    set_up_pair(51, 51);
    assert_int_equal(count_found(), 1);
    holds(0, 12, 12, 0, 9 * 51 + 7 * 200);
    set_up_pair(49, 49);
    assert_int_equal(count_found(), 0);
    set_up_pair(50, 50);
    step.tuning.detect_threshold_low = 0;
    assert_int_equal(count_found(), 0);
    for (int32_t rank = 1; rank <= 2; rank++) {
        set_up_pair(50, 51);
        step.tuning.detect_rank = rank;
        assert_true(final_score_at(12, 12, 9 * 50 + 7 * 200) > final_score_at(28, 28, 9 * 51));
        assert_int_equal(count_found(), 1);
        holds(0, 28, 28, 0, final_score_at(28, 28, 9 * 51));
        leads(0, 28, 28, 0, final_score_at(28, 28, 9 * 51));
    }
}

/** A corner right on the border counts, one pixel nearer to the edge of the image does not; on every side. */
static void known_border(void **state)
{
    (void)state;
    shake(13);
    for (int32_t border = 3; border <= 12; border++)
        for (int32_t side = 0; side < 4; side++)
            for (int32_t out = 0; out < 2; out++) {
                set_up_plain(45, 39);
                set_culls_about(45, 39);
                step.tuning.detect_border_px = border;
                const int32_t in = border - out;
                const int32_t x = side == 0   ? in
                                  : side == 1 ? 44 - in
                                              : 20,
                              y = side == 2   ? in
                                  : side == 3 ? 38 - in
                                              : 20;
                blacken(0);
                *pixel(0, 0, x, y) = 99;
                assert_int_equal(count_found(), !out);
                if (!out) holds(0, x, y, 0, 16 * 99);
            }
}

/** Margins of a level: 3 px for the circle, 4 with Harris, more when key points are described; one nearer there is no
 *  corner. */
static void known_margins(void **state)
{
    (void)state;
    shake(22);
    for (int i = 0; i < 600; i++) {
        set_up_plain(64, 60);
        set_culls_about(64, 60);
        vfront_tuning_t *t = &step.tuning;
        t->detect_levels = VFRONT_SCALES;
        t->detect_rank = roll(3);
        t->describe = roll(2) && VFRONT_DESCRIPTORS;
        t->select_points = roll(2);
        t->describe_margin_px = between(3, 6);
        const int32_t own = t->detect_rank ? 4 : 3, described = t->describe && t->select_points;
        const int32_t margin = described && t->describe_margin_px > own ? t->describe_margin_px : own;
        const int32_t level = roll(step.geometry.scales), out = roll(2), side = roll(4), in = margin - out;
        const struct vf_level *l = scale_of(0, level);
        const int32_t x = side == 0 ? in : side == 1 ? l->width - 1 - in : l->width / 2;
        const int32_t y = side == 2 ? in : side == 3 ? l->height - 1 - in : l->height / 2;
        assert_int_equal(vf_detect_margin(&VIEW(detect)->tuning), margin);
        for (int32_t k = 0; k < step.geometry.scales; k++) blacken(k);
        *pixel(0, level, x, y) = 99;
        REQUIRE(count_found() == !out, "level %d side %d, %d px in, margin %d", level, side, in, margin);
    }
}

/** First and last pixel of every level against a test of each pixel, for any border and margin. */
static void limits_of_the_search(void **state)
{
    int none = 0;
    (void)state;
    shake(23);
    for (int i = 0; i < 3000; i++) {
        set_up_plain(between(16, VFRONT_WIDTH), between(16, VFRONT_HEIGHT));
        step.tuning.detect_border_px = roll(3) ? between(3, 40) : between(3, 512);
        step.tuning.detect_rank = roll(3);
        step.tuning.describe = roll(2) && VFRONT_DESCRIPTORS;
        step.tuning.describe_margin_px = between(3, 64);
        const int32_t border = step.tuning.detect_border_px;
        for (int32_t level = 0; level < step.geometry.scales; level++) {
            const int32_t size = scale_of(0, level)->width, size0 = scale_of(0, 0)->width;
            const uint32_t step_q16 = step.geometry.step_q16[level];
            const int32_t is_first = vf_detect_first(step_q16, border, margin_of_level());
            const int32_t is_last = vf_detect_last(step_q16, border, margin_of_level(), size, size0);
            int32_t first = -1, last = -1;
            for (int32_t u = 0; u < size; u++)
                if (within(u, level, size, size0)) {
                    first = first < 0 ? u : first;
                    last = u;
                }
            if (first < 0) assert_true(is_last < is_first);
            if (first >= 0) assert_true(is_first == first && is_last == last);
            none += first < 0;
        }
    }
    assert_true(none > 0);
}

/** Centres of all pixels of all levels against the true ratio of the levels: within the rounding of the step and of the
 *  position to 2^-16, and never outside the image. */
static void places_of_pixels(void **state)
{
    (void)state;
    shake(24);
    set_up_plain(VFRONT_WIDTH, VFRONT_HEIGHT);
    for (int32_t level = 0; level < step.geometry.scales; level++) {
        const struct vf_level *l = scale_of(0, level);
        const uint32_t step_q16 = step.geometry.step_q16[level];
        for (int32_t u = 0; u < l->width; u++) {
            const long double exact = ((u + 0.5L) * scale_ratio(level) - 0.5L) * 65536.0L;
            const int32_t is = vf_centre_q16(u, step_q16), v = u % l->height;
            const struct vf_position_q16 p = vf_corner_position(step.geometry.step_q16,
                                                                vf_detect_key(1, 7, level, u, v));
            assert_true(is <= exact + (u + 0.5L) / 2 + 1e-6L && is > exact - (u + 0.5L) / 2 - 1.0L);
            assert_true(is == centre_of(u, level) * 65536.0);
            assert_true(vf_pixel0(u, step_q16) == pixel_of(u, level) && vf_pixel0(u, step_q16) == vf_pixel(is));
            assert_true(vf_pixel0(u, step_q16) >= 0 && vf_pixel0(u, step_q16) < VFRONT_WIDTH);
            assert_true(p.x_q16 == is && p.y_q16 == vf_centre_q16(v, step_q16));
            assert_true(level > 0 || is == u * 65536);
        }
    }
}

/** The order of keys is the order of corners, and a key gives back what it was made of. */
static void keys_are_in_order(void **state)
{
    (void)state;
    shake(14);
    for (int i = 0; i < 200000; i++) {
        struct candidate c[2];
        uint64_t key[2];
        for (int k = 0; k < 2; k++) {
            const int close = k && roll(2);
            c[k].high = roll(2);
            c[k].score = close ? c[0].score : roll(2) ? (uint32_t)between(1, 4080) : (uint32_t)roll64() | 1;
            c[k].level = close && roll(2) ? c[0].level : roll(8);
            c[k].y = close && roll(2) ? c[0].y : roll(4097);
            c[k].x = roll(4097);
            key[k] = vf_detect_key(c[k].high ? roll(2) + 1 : 0, c[k].score, c[k].level, c[k].x, c[k].y);
            const struct vf_corner back = vf_detect_corner(key[k]);
            assert_true(back.score == c[k].score && back.high == c[k].high);
            assert_true(back.level == c[k].level && back.x == c[k].x && back.y == c[k].y);
            assert_true(key[k] > 0 && key[k] >> VF_KEY_BITS == 0);
        }
        const int differ = better(c[0], c[1]) || better(c[1], c[0]);
        assert_int_equal(key[0] > key[1], better(c[0], c[1]));
        assert_int_equal(key[0] != key[1], differ);
    }
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(every_run),
        cmocka_unit_test(every_labelling_of_the_circle),
        cmocka_unit_test(every_threshold_at_its_limit),
        cmocka_unit_test(known_scores),
        cmocka_unit_test(ranking_of_any_gradients),
        cmocka_unit_test(known_rankings),
        cmocka_unit_test(response_of_every_pixel),
        cmocka_unit_test(ranking_of_every_pixel),
        cmocka_unit_test(random_cases),
        cmocka_unit_test(largest_picture),
        cmocka_unit_test(all_else_stays),
        cmocka_unit_test(known_square),
        cmocka_unit_test(known_blobs),
        cmocka_unit_test(known_neighbours),
        cmocka_unit_test(known_better_neighbour),
        cmocka_unit_test(best_pixel_is_never_lost),
        cmocka_unit_test(known_levels),
        cmocka_unit_test(known_grids),
        cmocka_unit_test(cells_and_mask_of_the_centre),
        cmocka_unit_test(known_pixel_alone),
        cmocka_unit_test(harris_decides_within_a_cell),
        cmocka_unit_test(five_see_less_than_seven),
        cmocka_unit_test(corner_score_decides_between_neighbours),
        cmocka_unit_test(high_before_low),
        cmocka_unit_test(known_border),
        cmocka_unit_test(known_margins),
        cmocka_unit_test(limits_of_the_search),
        cmocka_unit_test(places_of_pixels),
        cmocka_unit_test(keys_are_in_order),
    };
    return cmocka_run_group_tests_name("detect", test, make_circle, NULL);
}
