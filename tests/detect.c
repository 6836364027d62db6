/* SPDX-License-Identifier: MIT */
/* detect: the best corner of every cell against the textbook, pixel by pixel: the circle is every pixel whose distance
 * rounds to three, an arc is found by walking along it, the score MT by trying every threshold, the best of a cell by
 * looking at every pixel of every level (paper 000, II.C and II.D). Levels are filled independently of each other, which no
 * pyramid would do. */
#include "stand.h"

/* ---- oracle: segment test and scores --------------------------------------------------------------------------------- */

struct point {
    int32_t x, y;
};
static struct point circle[16];

static int by_angle(const void *a, const void *b)
{
    const struct point *p = a, *q = b;
    const double angle = atan2(p->y, p->x) - atan2(q->y, q->x);
    return (angle > 0) - (angle < 0);
}

static int make_circle(void **state)
{
    int count = 0;
    (void)state;
    for (int32_t y = -4; y <= 4; y++)
        for (int32_t x = -4; x <= 4; x++)
            if (floor(hypot(x, y) + 0.5) == 3.0) circle[count++ % 16] = (struct point){x, y};
    qsort(circle, 16, sizeof *circle, by_angle);
    return count == 16 ? 0 : -1;
}

enum label { SIMILAR, DARKER, BRIGHTER };

static enum label label(int pixel, int centre, int threshold)
{
    if (pixel < centre - threshold) return DARKER;
    return centre + threshold < pixel ? BRIGHTER : SIMILAR;
}

/** A walk along pixels that are all darker or all brighter. */
struct arc {
    int first, length; /* at most once around */
};

/** The longest arc of a circle; two of nine or more do not fit on it. */
static struct arc longest_arc(const int ring[16], int centre, int threshold)
{
    struct arc best = {0, 0}, arc = {0, 0};
    enum label last = SIMILAR;
    for (int i = 0; i < 32; i++) {
        const enum label l = label(ring[i % 16], centre, threshold);
        if (l != last || l == SIMILAR) arc = (struct arc){i, 0};
        last = l;
        if (l != SIMILAR && arc.length < 16) arc.length++;
        if (arc.length > best.length) best = arc;
    }
    return best;
}

static int differences(const int ring[16], int centre, struct arc arc)
{
    int sum = 0;
    for (int i = 0; i < arc.length; i++) sum += abs(ring[(arc.first + i) % 16] - centre);
    return sum;
}

/** Score of a pixel, 0 if it is no corner. */
static int textbook_score(const int ring[16], int centre, int threshold, int arc_least, int kind)
{
    const struct arc arc = longest_arc(ring, centre, threshold), whole = {0, 16};
    if (arc.length < arc_least) return 0;
    if (kind == VFRONT_SCORE_SAD_A) return differences(ring, centre, arc);
    if (kind == VFRONT_SCORE_SAD_B) return differences(ring, centre, whole);
    int most = 255;
    while (longest_arc(ring, centre, most).length < arc_least) most--;
    return most;
}

/* ---- oracle: response, suppression, cells ---------------------------------------------------------------------------- */

/** A pixel of a level, best first: strong before weak, higher score, finer level, raster order. score 0: no corner. */
struct candidate {
    int strong, score, level, x, y;
};

static int better(struct candidate a, struct candidate b)
{
    if (a.strong != b.strong) return a.strong > b.strong;
    if (a.score != b.score) return a.score > b.score;
    if (a.level != b.level) return a.level < b.level;
    return a.y != b.y ? a.y < b.y : a.x < b.x;
}

static uint8_t *pixel(int32_t camera, int32_t level, int32_t x, int32_t y)
{
    const struct vf_level *l = &step.geometry.level[camera][level];
    return &memory.pyramid.pixels[step.parity][camera][l->offset + (uint32_t)(y * l->pitch + x)];
}

/** Level 0 coordinate of the centre of a pixel of a level. */
static double centre_of(int32_t u, int32_t level) { return (u + 0.5) * (1 << level) - 0.5; }

/** Level 0 pixel that it is centred on, halves up. */
static int32_t pixel_of(int32_t u, int32_t level) { return (int32_t)floor(centre_of(u, level) + 0.5); }

static int within(int32_t u, int32_t level, int32_t size, int32_t size0)
{
    const double centre = centre_of(u, level), border = step.tuning.detect_border_px;
    return u >= 3 && u <= size - 4 && centre >= border && centre <= size0 - 1 - border;
}

static int masked(int32_t camera, int32_t x, int32_t y)
{
    const int32_t at = y * step.geometry.level[camera][0].pitch + x;
    if (step.geometry.masked[camera] && memory.ingest.mask_static[camera][at] == 0) return 1;
    return memory.ingest.params.source[camera].mask && memory.ingest.mask_frame[camera][at] == 0;
}

static struct candidate respond(int32_t camera, int32_t level, int32_t x, int32_t y)
{
    const struct vf_level *l = &step.geometry.level[camera][level], *l0 = &step.geometry.level[camera][0];
    const vfront_tuning_t *t = &step.tuning;
    struct candidate c = {0, 0, level, x, y};
    int ring[16];
    if (!within(x, level, l->width, l0->width) || !within(y, level, l->height, l0->height)) return c;
    if (masked(camera, pixel_of(x, level), pixel_of(y, level))) return c;
    for (int i = 0; i < 16; i++) ring[i] = *pixel(camera, level, x + circle[i].x, y + circle[i].y);
    const int centre = *pixel(camera, level, x, y);
    c.score = textbook_score(ring, centre, t->detect_threshold, t->detect_arc, t->detect_score);
    c.strong = c.score > 0;
    if (!c.score && t->detect_threshold_low)
        c.score = textbook_score(ring, centre, t->detect_threshold_low, t->detect_arc, t->detect_score);
    return c;
}

static struct candidate response[VFRONT_HEIGHT][VFRONT_WIDTH], winner[VFRONT_CAMERAS][VFRONT_CELLS];

static int stays(struct candidate c, int32_t width, int32_t height)
{
    const int32_t r = step.tuning.detect_radius;
    for (int32_t y = c.y - r; y <= c.y + r; y++)
        for (int32_t x = c.x - r; x <= c.x + r; x++)
            if (x >= 0 && y >= 0 && x < width && y < height && response[y][x].score && better(response[y][x], c)) return 0;
    return 1;
}

static void look_at_level(int32_t camera, int32_t level)
{
    const struct vf_level *l = &step.geometry.level[camera][level];
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) response[y][x] = respond(camera, level, x, y);
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            const struct candidate c = response[y][x];
            if (!c.score || !stays(c, l->width, l->height)) continue;
            const int32_t row = pixel_of(y, level) / step.tuning.cell_height_px;
            const int32_t column = pixel_of(x, level) / step.tuning.cell_width_px;
            struct candidate *w = &winner[camera][row * step.geometry.cells_x[camera] + column];
            if (!w->score || better(c, *w)) *w = c;
        }
}

static void find_winners(void)
{
    const int32_t levels =
        step.geometry.levels < step.tuning.detect_levels ? step.geometry.levels : step.tuning.detect_levels;
    memset(winner, 0, sizeof winner);
    for (int32_t camera = 0; camera < step.geometry.cameras; camera++)
        for (int32_t level = 0; level < levels; level++) look_at_level(camera, level);
}

/* ---- running the stage ----------------------------------------------------------------------------------------------- */

static char what[200];

static void describe(const char *name)
{
    const vfront_tuning_t *t = &step.tuning;
    const struct vf_level *l = &step.geometry.level[0][0];
    snprintf(what, sizeof what, "%s %dx%d, levels %d threshold %d low %d arc %d score %d radius %d border %d cells %dx%d",
             name, l->width, l->height, t->detect_levels, t->detect_threshold, t->detect_threshold_low, t->detect_arc,
             t->detect_score, t->detect_radius, t->detect_border_px, t->cell_width_px, t->cell_height_px);
}

/** Empties the cells, as ingest does, and runs the stage. */
static void detect(void)
{
    for (int32_t camera = 0; camera < step.geometry.cameras; camera++)
        memset(memory.detect.best[camera], 0, sizeof(uint64_t) * (size_t)cells_of(camera));
    vf_detect_host(&step);
}

static void compare_cell(int32_t camera, int32_t cell)
{
    const uint64_t key = memory.detect.best[camera][cell];
    const struct candidate *w = &winner[camera][cell];
    const struct vf_corner c = vf_detect_corner(key);
    REQUIRE(!key == !w->score, "%s: camera %d cell %d: found %d, should have found %d", what, camera, cell, !!key,
            !!w->score);
    if (!key) return;
    const int score = (int)(c.rank % VF_RANK_STRONG), strong = c.rank >= VF_RANK_STRONG;
    REQUIRE(c.x == w->x && c.y == w->y && c.level == w->level && score == w->score && strong == w->strong,
            "%s: camera %d cell %d: found %d,%d level %d score %d strong %d, should be %d,%d level %d score %d strong %d",
            what, camera, cell, c.x, c.y, c.level, score, strong, w->x, w->y, w->level, w->score, w->strong);
}

static int compare_cells(void)
{
    int corners = 0;
    for (int32_t camera = 0; camera < step.geometry.cameras; camera++)
        for (int32_t cell = 0; cell < cells_of(camera); cell++) {
            compare_cell(camera, cell);
            corners += winner[camera][cell].score > 0;
        }
    return corners;
}

/** Runs stage and oracle, compares every cell; returns the number of corners. */
static int run_and_compare(const char *name)
{
    describe(name);
    find_winners();
    detect();
    return compare_cells();
}

/* ---- pictures -------------------------------------------------------------------------------------------------------- */

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

/** A shape at a random place: a half plane, a box, a disc or, of radius 0, a single pixel. */
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
    const struct vf_level *l = &step.geometry.level[camera][level];
    const struct canvas c = {camera, level, l->width, l->height};
    const int extreme = roll(2);
    paint_noise(&c, fill < DOTS ? fill : BLACK);
    if (fill < DOTS) return;
    for (int i = c.width * c.height / 60; i >= 0; i--) paint_shape(&c, fill, extreme ? roll(2) * 255 : roll(256));
}

/* ---- tests: the rule of one pixel ------------------------------------------------------------------------------------ */

static void compare_rule(const int ring[16], int centre, int threshold)
{
    int32_t values[16];
    for (int i = 0; i < 16; i++) values[i] = ring[i];
    for (int arc = 9; arc <= 12; arc++)
        for (int kind = 0; kind < 3; kind++) {
            const int is = (int)vf_detect_test(values, centre, threshold, arc, kind);
            const int should = textbook_score(ring, centre, threshold, arc, kind);
            REQUIRE(is == should, "threshold %d arc %d score %d: is %d, should be %d", threshold, arc, kind, is, should);
        }
}

/** All 65536 ways to place brighter or darker pixels among similar ones, and among ones of the other label. */
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

/** Differences right at the threshold, one more and one less, for every threshold. */
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
        int centre, threshold, arc;
        uint32_t sad_b, sad_a, mt;
    } known[] = {
        /* black circle around a white pixel, and the other way round: the most that a score can be */
        {{0}, 255, 254, 12, 4080, 4080, 254},
        {{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, 0, 254, 12, 4080, 4080, 254},
        /* an arc of 9 from pixel 12 over the top; 20 + 8 * 30 on it, 5 + 6 * 10 off it */
        {{130, 130, 130, 130, 130, 105, 110, 110, 110, 90, 90, 90, 120, 130, 130, 130}, 100, 10, 9, 325, 260, 19},
        {{130, 130, 130, 130, 130, 105, 110, 110, 110, 90, 90, 90, 120, 130, 130, 130}, 100, 19, 9, 325, 260, 19},
        {{130, 130, 130, 130, 130, 105, 110, 110, 110, 90, 90, 90, 120, 130, 130, 130}, 100, 20, 9, 0, 0, 0},
        {{130, 130, 130, 130, 130, 105, 110, 110, 110, 90, 90, 90, 120, 130, 130, 130}, 100, 10, 10, 0, 0, 0},
        /* at a threshold of 4 the same arc reaches on over pixels 5 to 8; without pixel 5 no arc of 12 is left */
        {{130, 130, 130, 130, 130, 105, 110, 110, 110, 90, 90, 90, 120, 130, 130, 130}, 100, 4, 9, 325, 295, 19},
        {{130, 130, 130, 130, 130, 105, 110, 110, 110, 90, 90, 90, 120, 130, 130, 130}, 100, 4, 12, 325, 295, 4},
        {{130, 130, 130, 130, 130, 105, 110, 110, 110, 90, 90, 90, 120, 130, 130, 130}, 100, 5, 12, 0, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const int threshold = known[i].threshold, arc = known[i].arc;
        assert_int_equal(vf_detect_test(known[i].ring, known[i].centre, threshold, arc, VFRONT_SCORE_SAD_B),
                         known[i].sad_b);
        assert_int_equal(vf_detect_test(known[i].ring, known[i].centre, threshold, arc, VFRONT_SCORE_SAD_A),
                         known[i].sad_a);
        assert_int_equal(vf_detect_test(known[i].ring, known[i].centre, threshold, arc, VFRONT_SCORE_MT), known[i].mt);
    }
}

/* ---- tests: the stage ------------------------------------------------------------------------------------------------ */

/** A stage of one camera and one level, no masks, border 3. */
static void set_up_plain(int32_t width, int32_t height)
{
    set_up(1, width, height, roll(2));
    memory.ingest.params.source[0].mask = NULL;
    step.tuning.detect_levels = 1;
    step.tuning.detect_border_px = 3;
}

/** Lets only every fourth pixel of every fourth row through the static mask: then a cell of 4x4 shows the score of that
 *  pixel, whatever its neighbours are, and 16 runs show all. */
static void mask_all_but(int32_t x0, int32_t y0)
{
    const struct vf_level *l = &step.geometry.level[0][0];
    step.geometry.masked[0] = 1;
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) memory.ingest.mask_static[0][y * l->pitch + x] = x % 4 == x0 && y % 4 == y0;
}

static void compare_pixels_shown(int32_t x0, int32_t y0)
{
    const struct vf_level *l = &step.geometry.level[0][0];
    for (int32_t y = y0; y < l->height; y += 4)
        for (int32_t x = x0; x < l->width; x += 4) {
            const uint64_t key = memory.detect.best[0][y / 4 * step.geometry.cells_x[0] + x / 4];
            const struct vf_corner c = vf_detect_corner(key);
            const int is = key ? (int)(c.rank % VF_RANK_STRONG) : 0;
            REQUIRE(is == response[y][x].score && (!key || (c.x == x && c.y == y)),
                    "%s: score of %d,%d is %d, should be %d", what, x, y, is, response[y][x].score);
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
        }
    for (int32_t i = 0; i < 16; i++) {
        mask_all_but(i % 4, i / 4);
        detect();
        compare_pixels_shown(i % 4, i / 4);
    }
    return corners;
}

/** The response of every pixel, for every threshold, arc and picture; scores in turn. */
static void response_of_every_pixel(void **state)
{
    int corners = 0, corners_254 = 0;
    (void)state;
    shake(3);
    set_up_plain(25, 22);
    if (!set_cells(4, 4)) skip();
    for (int threshold = 1; threshold <= 254; threshold++)
        for (int fill = 0; fill < FILLS; fill++) {
            step.tuning.detect_threshold = threshold;
            step.tuning.detect_arc = 9 + (threshold / 3 + fill) % 4;
            step.tuning.detect_score = threshold % 3;
            const int found = compare_every_pixel((enum fill)fill);
            corners += found;
            corners_254 += threshold == 254 ? found : 0;
        }
    assert_true(corners > 10000 && corners_254 > 0);
}

static void random_masks(int32_t camera)
{
    const struct vf_level *l = &step.geometry.level[camera][0];
    const int32_t often = between(1, 8), band = between(1, 40);
    step.geometry.masked[camera] = roll(3) == 0;
    memory.ingest.params.source[camera].mask = roll(3) == 0 ? memory.ingest.mask_frame[camera] : NULL;
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            memory.ingest.mask_static[camera][y * l->pitch + x] = roll(often) ? 255 : 0;
            memory.ingest.mask_frame[camera][y * l->pitch + x] = (x + y) / band % 2 ? 1 : 0;
        }
}

static void random_tuning(void)
{
    static const int32_t cell[][2] = {{4, 4}, {7, 13}, {32, 32}, {100, 3000}, {4096, 4}, {5, 64}, {16, 8}, {33, 31}};
    const int32_t c = roll(8);
    vfront_tuning_t *t = &step.tuning;
    t->detect_levels = between(1, VFRONT_LEVELS);
    t->detect_threshold = roll(3) ? between(1, 60) : between(1, 254);
    t->detect_threshold_low = roll(2) ? 0 : roll(t->detect_threshold);
    t->detect_arc = between(9, 12);
    t->detect_score = roll(3);
    t->detect_radius = between(1, 4);
    t->detect_border_px = roll(2) ? 3 : between(3, 24);
    set_cells_about(cell[c][0], cell[c][1]);
}

/** One random case. Most are small, because the oracle is slow; every level has a picture of its own. */
static int random_case(void)
{
    const int32_t cameras = between(1, VFRONT_CAMERAS);
    int32_t width = between(16, roll(4) ? 50 : 150), height = between(16, roll(4) ? 50 : 150);
    if (width > VFRONT_WIDTH) width = VFRONT_WIDTH;
    if (height > VFRONT_HEIGHT) height = VFRONT_HEIGHT;
    set_up(cameras, width, height, roll(2));
    if (cameras > 1) lay_out_levels(1, height < VFRONT_WIDTH ? height : width, width < VFRONT_HEIGHT ? width : height, 0);
    random_tuning();
    for (int32_t camera = 0; camera < cameras; camera++) {
        random_masks(camera);
        for (int32_t level = 0; level < step.geometry.levels; level++) paint(camera, level, (enum fill)roll(FILLS));
    }
    return run_and_compare("random");
}

static void random_cases(void **state)
{
    int corners = 0;
    (void)state;
    shake(4);
    scribble(memory.pyramid.pixels, sizeof memory.pyramid.pixels);
    for (int i = 0; i < 8000; i++) corners += random_case();
    assert_true(corners > 20000 || VFRONT_CELLS < 1000);
}

/** The largest picture of the config, with a corner as far to the lower right as there can be one. */
static void largest_picture(void **state)
{
    (void)state;
    shake(5);
    set_up_plain(VFRONT_WIDTH, VFRONT_HEIGHT);
    step.geometry.masked[0] = 0;
    step.tuning.detect_levels = 1;
    set_cells_about(32, 32);
    const struct canvas c = {0, 0, VFRONT_WIDTH, VFRONT_HEIGHT};
    paint_noise(&c, BLACK);
    for (int i = 0; i < 20000; i++) put(&c, roll(c.width), roll(c.height), roll(256));
    put(&c, c.width - 4, c.height - 4, 255);
    assert_true(run_and_compare("largest") > 0);
}

/** Nothing but the cells changes, and of those only the ones there are. */
static void all_else_stays(void **state)
{
    (void)state;
    shake(6);
    scribble_arena();
    for (int i = 0; i < 8; i++) {
        const int32_t cameras = between(1, VFRONT_CAMERAS);
        set_up(cameras, between(16, 64), between(16, 64), 0);
        random_tuning();
        step.tuning.detect_border_px = 3;
        for (int32_t camera = 0; camera < cameras; camera++) {
            random_masks(camera);
            for (int32_t level = 0; level < step.geometry.levels; level++) paint(camera, level, NOISE);
        }
        memcpy(&expected, &memory, sizeof memory);
        run_and_compare("all else");
        for (int32_t camera = 0; camera < cameras; camera++)
            memcpy(expected.detect.best[camera], memory.detect.best[camera], sizeof(uint64_t) * (size_t)cells_of(camera));
        same_arena(what);
    }
}

/* ---- tests: by hand -------------------------------------------------------------------------------------------------- */

static void blacken(int32_t level)
{
    const struct vf_level *l = &step.geometry.level[0][level];
    const struct canvas c = {0, level, l->width, l->height};
    paint_noise(&c, BLACK);
}

static int count_found(void)
{
    int count = 0;
    detect();
    for (int32_t cell = 0; cell < cells_of(0); cell++) count += memory.detect.best[0][cell] != 0;
    return count;
}

/** Fails unless cell `cell` holds a strong corner at x, y of a level with a score. */
static void holds(int32_t cell, int32_t x, int32_t y, int32_t level, uint32_t score)
{
    const struct vf_corner c = vf_detect_corner(memory.detect.best[0][cell]);
    REQUIRE(memory.detect.best[0][cell], "cell %d is empty", cell);
    REQUIRE(c.x == x && c.y == y && c.level == level && c.rank == VF_RANK_STRONG + score,
            "cell %d holds %d,%d level %d rank %u", cell, c.x, c.y, c.level, c.rank);
}

/** The corner of a large white square sees 11 dark pixels in a row: a corner up to an arc of 11. An edge is none. */
static void known_square(void **state)
{
    (void)state;
    shake(7);
    for (int arc = 9; arc <= 12; arc++) {
        set_up_plain(48, 40);
        set_cells_about(48, 40);
        blacken(0);
        for (int32_t y = 20; y < 40; y++)
            for (int32_t x = 24; x < 48; x++) *pixel(0, 0, x, y) = 200;
        step.tuning.detect_arc = arc;
        step.tuning.detect_threshold = 199;
        step.tuning.detect_score = VFRONT_SCORE_SAD_A;
        assert_int_equal(count_found(), arc < 12);
        if (arc < 12) holds(0, 24, 20, 0, 11 * 200);
        step.tuning.detect_threshold = 200;
        assert_int_equal(count_found(), 0);
    }
}

/** Two pixels of equal score: the one that comes first in raster order stays, the other only beyond the radius. */
static void known_neighbours(void **state)
{
    static const struct point beside[] = {{4, 0},  {-4, 0}, {0, 4},   {0, -4}, {4, 4}, {-4, 4},
                                          {4, -4}, {-4, -4}, {5, 0}, {5, 4},  {4, 5}};
    (void)state;
    shake(8);
    set_up_plain(40, 40);
    if (!set_cells(4, 4)) skip();
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
    if (!set_cells(4, 4)) skip();
    step.tuning.detect_radius = 4;
    for (int i = 0; i < 2; i++) {
        blacken(0);
        *pixel(0, 0, 16, 20) = (uint8_t)(i ? 78 : 77);
        *pixel(0, 0, 20, 20) = (uint8_t)(i ? 77 : 78);
        assert_int_equal(count_found(), 1);
        holds(20 / 4 * 10 + (i ? 16 : 20) / 4, i ? 16 : 20, 20, 0, 16 * 78);
    }
}

/** Whatever the picture, its best pixel, of equals the first, is the best of the only cell, and no radius changes that. */
static void best_pixel_is_never_lost(void **state)
{
    (void)state;
    shake(10);
    for (int i = 0; i < 600; i++) {
        struct candidate best = {0, 0, 0, 0, 0};
        set_up_plain(between(16, 48), between(16, 48));
        step.geometry.masked[0] = 0;
        set_cells_about(64, 64);
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
            if (best.score) holds(0, best.x, best.y, 0, (uint32_t)best.score);
        }
    }
}

/** Of equal corners on two levels the finer one is the cell's; a better coarse one goes before it. */
static void known_levels(void **state)
{
    (void)state;
    if (!HALF || !fits(64, 64, 0)) skip();
    shake(11);
    for (int more = 0; more < 2; more++) {
        set_up_plain(64, 64);
        set_cells_about(64, 64);
        step.tuning.detect_levels = 2;
        blacken(0);
        blacken(HALF);
        *pixel(0, 0, 40, 41) = 100;
        *pixel(0, HALF, 10, 9) = (uint8_t)(100 + more);
        assert_int_equal(count_found(), 1);
        if (more) holds(0, 10, 9, 1, 16 * 101);
        if (!more) holds(0, 40, 41, 0, 16 * 100);
        step.tuning.detect_levels = 1;
        assert_int_equal(count_found(), 1);
        holds(0, 40, 41, 0, 16 * 100);
    }
}

/** Lets two pixels through the mask: at 12,12 one with an arc of nine that is `weak` brighter and a rest 200 darker, so
 *  that SAD-B scores it high; at 28,28 one with an arc of nine that is `strong` brighter and a rest that is similar. */
static void set_up_pair(int weak, int strong)
{
    set_up_plain(40, 40);
    set_cells_about(40, 40);
    step.geometry.masked[0] = 1;
    for (int32_t i = 0; i < 40 * step.geometry.level[0][0].pitch; i++) memory.ingest.mask_static[0][i] = 0;
    memory.ingest.mask_static[0][12 * step.geometry.level[0][0].pitch + 12] = 1;
    memory.ingest.mask_static[0][28 * step.geometry.level[0][0].pitch + 28] = 1;
    *pixel(0, 0, 12, 12) = *pixel(0, 0, 28, 28) = 200;
    for (int i = 0; i < 16; i++) {
        *pixel(0, 0, 12 + circle[i].x, 12 + circle[i].y) = (uint8_t)(i < 9 ? 200 + weak : 0);
        *pixel(0, 0, 28 + circle[i].x, 28 + circle[i].y) = (uint8_t)(i < 9 ? 200 + strong : 200);
    }
    step.tuning.detect_arc = 9;
    step.tuning.detect_threshold = 50;
    step.tuning.detect_threshold_low = 49;
    step.tuning.detect_score = VFRONT_SCORE_SAD_B;
}

/** A strong corner goes before a weak one in its cell, whatever the scores; a weak one is better than none. */
static void strong_before_weak(void **state)
{
    (void)state;
    shake(12);
    set_up_pair(50, 51);
    assert_int_equal(count_found(), 1);
    holds(0, 28, 28, 0, 9 * 51);
    set_up_pair(50, 50);
    assert_int_equal(count_found(), 1);
    const struct vf_corner weak = vf_detect_corner(memory.detect.best[0][0]);
    assert_true(weak.x == 12 && weak.y == 12 && weak.rank == 9 * 50 + 7 * 200);
    set_up_pair(51, 51);
    assert_int_equal(count_found(), 1);
    holds(0, 12, 12, 0, 9 * 51 + 7 * 200);
    set_up_pair(49, 49);
    assert_int_equal(count_found(), 0);
    set_up_pair(50, 50);
    step.tuning.detect_threshold_low = 0;
    assert_int_equal(count_found(), 0);
}

/** A corner right on the border counts, one pixel nearer to the edge of the picture does not; on every side. */
static void known_border(void **state)
{
    (void)state;
    shake(13);
    for (int32_t border = 3; border <= 12; border++)
        for (int32_t side = 0; side < 4; side++)
            for (int32_t out = 0; out < 2; out++) {
                set_up_plain(45, 39);
                set_cells_about(45, 39);
                step.tuning.detect_border_px = border;
                const int32_t in = border - out;
                const int32_t x = side == 0 ? in : side == 1 ? 44 - in : 20, y = side == 2 ? in : side == 3 ? 38 - in : 20;
                blacken(0);
                *pixel(0, 0, x, y) = 99;
                assert_int_equal(count_found(), !out);
                if (!out) holds(0, x, y, 0, 16 * 99);
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
            c[k].strong = roll(2);
            c[k].score = close ? c[0].score : between(1, 4080);
            c[k].level = close ? c[0].level : roll(6);
            c[k].y = close && roll(2) ? c[0].y : roll(4096);
            c[k].x = roll(4096);
            const uint32_t rank = (uint32_t)c[k].score + (c[k].strong ? VF_RANK_STRONG : 0);
            key[k] = vf_detect_key(rank, c[k].level, c[k].x, c[k].y);
            const struct vf_corner back = vf_detect_corner(key[k]);
            assert_true(back.rank == rank && back.level == c[k].level && back.x == c[k].x && back.y == c[k].y);
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
        cmocka_unit_test(every_labelling_of_the_circle),
        cmocka_unit_test(every_threshold_at_its_limit),
        cmocka_unit_test(known_scores),
        cmocka_unit_test(response_of_every_pixel),
        cmocka_unit_test(random_cases),
        cmocka_unit_test(largest_picture),
        cmocka_unit_test(all_else_stays),
        cmocka_unit_test(known_square),
        cmocka_unit_test(known_neighbours),
        cmocka_unit_test(known_better_neighbour),
        cmocka_unit_test(best_pixel_is_never_lost),
        cmocka_unit_test(known_levels),
        cmocka_unit_test(strong_before_weak),
        cmocka_unit_test(known_border),
        cmocka_unit_test(keys_are_in_order),
    };
    return cmocka_run_group_tests_name("detect", test, make_circle, NULL);
}
