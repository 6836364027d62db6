/* SPDX-License-Identifier: MIT */
/* detect: the best corner of every cell of every level against the textbook, pixel by pixel: the circle is every pixel whose distance
 * rounds to three, an arc is found by walking along it, the score MT by trying every threshold, the Harris response by summing Sobel
 * gradients in numbers that nothing is lost in, the best of a cell by looking at every pixel of its level (paper 000, II.C and II.D;
 * paper 001, 3; paper 004, II.C.1). Levels are filled independently of each other, which no picture would have them. */
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

/** Score of a pixel, 0 if it is no corner: its longest arc too short, or so long that it is a spot. */
static int textbook_score(const int ring[16], int centre, int threshold, int arc_least, int arc_most, int kind)
{
    const struct arc arc = longest_arc(ring, centre, threshold), whole = {0, 16};
    if (arc.length < arc_least || arc.length > arc_most) return 0;
    if (kind == VFRONT_SCORE_SAD_A) return differences(ring, centre, arc);
    if (kind == VFRONT_SCORE_SAD_B) return differences(ring, centre, whole);
    int most = 255;
    while (longest_arc(ring, centre, most).length < arc_least) most--;
    return most;
}

/* ---- oracle: Harris response ----------------------------------------------------------------------------------------- */

__extension__ typedef __int128 wide; /* nothing here comes near its limits */

/** det - 0.04 trace^2 of sums of products of gradients, times 25: a whole number. */
static wide harris_times_25(wide xx, wide yy, wide xy) { return 25 * (xx * yy - xy * xy) - (xx + yy) * (xx + yy); }

/** The score is 25 / 2^24 of the response, and 1 for all that is below. */
static uint32_t textbook_harris(int64_t xx, int64_t yy, int64_t xy)
{
    const wide one = (wide)1 << 24, response = harris_times_25(xx, yy, xy);
    const uint32_t score = response < one ? 1 : (uint32_t)(response / one);
    const long double trace = (long double)xx + yy, det = (long double)xx * yy - (long double)xy * xy;
    const long double by_formula = (det - 0.04L * trace * trace) * 25.0L / 16777216.0L;
    assert_true(by_formula < 1.0L ? score == 1 : fabsl(score - by_formula) < 1.0L);
    return score;
}

/* ---- oracle: response, suppression, cells ---------------------------------------------------------------------------- */

/** A pixel of a level, best first: strong before weak, higher score, finer level, raster order. score 0: no corner. */
struct candidate {
    int strong, level, x, y;
    uint32_t score;
};

static int better(struct candidate a, struct candidate b)
{
    if (a.strong != b.strong) return a.strong > b.strong;
    if (a.score != b.score) return a.score > b.score;
    if (a.level != b.level) return a.level < b.level;
    return a.y != b.y ? a.y < b.y : a.x < b.x;
}

/** A pixel of a level: level 0 is the pyramid's, the others have a memory of their own. */
static uint8_t *pixel(int32_t camera, int32_t level, int32_t x, int32_t y)
{
    const struct vf_level *l = scale_of(camera, level);
    uint8_t *start = level ? memory.scale.pixels[camera] : memory.pyramid.pixels[step.parity][camera];
    return start + l->offset + (uint32_t)(y * l->pitch + x);
}

static int32_t searched(void)
{
    return step.geometry.scales < step.tuning.detect_levels ? step.geometry.scales : step.tuning.detect_levels;
}

/** Level 0 coordinate of the centre of a pixel of a level, down to 2^-16. */
static double centre_of(int32_t u, int32_t level) { return floor((u + 0.5) * step.geometry.step_q16[level]) / 65536.0 - 0.5; }

/** Level 0 pixel that it is centred on, halves up. */
static int32_t pixel_of(int32_t u, int32_t level) { return (int32_t)floor(centre_of(u, level) + 0.5); }

/** Pixels of a level that are needed around a corner: for its circle, its gradients, its descriptor. */
static int32_t room(void)
{
    const vfront_tuning_t *t = &step.tuning;
    const int32_t own = t->detect_rank ? 4 : 3;
    const int described = VFRONT_DESCRIPTORS && t->describe && t->select_points > 0;
    return described && t->describe_margin_px > own ? t->describe_margin_px : own;
}

static int within(int32_t u, int32_t level, int32_t size, int32_t size0)
{
    const double centre = centre_of(u, level), border = step.tuning.detect_border_px;
    return u >= room() && u <= size - 1 - room() && centre >= border && centre <= size0 - 1 - border;
}

static int masked(int32_t camera, int32_t x, int32_t y)
{
    const int32_t at = y * step.geometry.level[camera][0].pitch + x;
    if (step.geometry.masked[camera] && memory.ingest.mask_static[camera][at] == 0) return 1;
    return memory.ingest.params.source[camera].mask && memory.ingest.mask_frame[camera][at] == 0;
}

static struct candidate respond(int32_t camera, int32_t level, int32_t x, int32_t y)
{
    const struct vf_level *l = scale_of(camera, level), *l0 = scale_of(camera, 0);
    const vfront_tuning_t *t = &step.tuning;
    struct candidate c = {0, level, x, y, 0};
    int ring[16];
    if (!within(x, level, l->width, l0->width) || !within(y, level, l->height, l0->height)) return c;
    if (masked(camera, pixel_of(x, level), pixel_of(y, level))) return c;
    for (int i = 0; i < 16; i++) ring[i] = *pixel(camera, level, x + circle[i].x, y + circle[i].y);
    const int centre = *pixel(camera, level, x, y), arc = t->detect_arc, most = t->detect_arc_most;
    c.score = (uint32_t)textbook_score(ring, centre, t->detect_threshold, arc, most, t->detect_score);
    c.strong = c.score > 0;
    if (!c.score && t->detect_threshold_low)
        c.score = (uint32_t)textbook_score(ring, centre, t->detect_threshold_low, arc, most, t->detect_score);
    return c;
}

/** Sobel's gradient at a pixel along x, or turned along y. */
static int sobel(int32_t camera, int32_t level, int32_t x, int32_t y, int turned)
{
    static const int kernel[3][3] = {{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}};
    int sum = 0;
    for (int32_t j = 0; j < 3; j++)
        for (int32_t i = 0; i < 3; i++)
            sum += (turned ? kernel[i][j] : kernel[j][i]) * *pixel(camera, level, x + i - 1, y + j - 1);
    return sum;
}

static uint32_t harris_at(int32_t camera, int32_t level, int32_t x, int32_t y)
{
    int64_t xx = 0, yy = 0, xy = 0;
    for (int32_t j = y - 3; j <= y + 3; j++)
        for (int32_t i = x - 3; i <= x + 3; i++) {
            const int gx = sobel(camera, level, i, j, 0), gy = sobel(camera, level, i, j, 1);
            xx += gx * gx;
            yy += gy * gy;
            xy += gx * gy;
        }
    return textbook_harris(xx, yy, xy);
}

static struct candidate response[VFRONT_HEIGHT][VFRONT_WIDTH], winner[VFRONT_CAMERAS][VFRONT_SCALES * VFRONT_CELLS];

/** Neighbours are held against each other by their corner scores, whatever ranks those that stay. */
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
    const struct vf_level *l = scale_of(camera, level);
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) response[y][x] = respond(camera, level, x, y);
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            struct candidate c = response[y][x];
            if (!c.score || !stays(c, l->width, l->height)) continue;
            if (step.tuning.detect_rank) c.score = harris_at(camera, level, x, y);
            const int32_t row = pixel_of(y, level) / step.tuning.cell_height_px;
            const int32_t column = pixel_of(x, level) / step.tuning.cell_width_px;
            struct candidate *w = &winner[camera][level * cells_of(camera) + row * step.geometry.cells_x[camera] + column];
            if (!w->score || better(c, *w)) *w = c;
        }
}

static void find_winners(void)
{
    memset(winner, 0, sizeof winner);
    for (int32_t camera = 0; camera < step.geometry.cameras; camera++)
        for (int32_t level = 0; level < searched(); level++) look_at_level(camera, level);
}

/* ---- running the stage ----------------------------------------------------------------------------------------------- */

static char what[300];

static void describe(const char *name)
{
    const vfront_tuning_t *t = &step.tuning;
    const struct vf_level *l = scale_of(0, 0);
    snprintf(what, sizeof what,
             "%s %dx%d, levels %d threshold %d low %d arc %d..%d score %d rank %d radius %d border %d room %d cells %dx%d", name, l->width,
             l->height, t->detect_levels, t->detect_threshold, t->detect_threshold_low, t->detect_arc, t->detect_arc_most,
             t->detect_score, t->detect_rank, t->detect_radius, t->detect_border_px, room(), t->cell_width_px, t->cell_height_px);
}

/** Empties the cells of the levels that are searched, as ingest does, and runs the stage. */
static void detect(void)
{
    for (int32_t camera = 0; camera < step.geometry.cameras; camera++)
        memset(memory.detect.best[camera], 0, sizeof(uint64_t) * (size_t)(cells_of(camera) * searched()));
    vf_detect_host(&step);
}

static void compare_place(int32_t camera, int32_t place)
{
    const uint64_t key = memory.detect.best[camera][place];
    const struct candidate *w = &winner[camera][place];
    const struct vf_corner c = vf_detect_corner(key);
    REQUIRE(!key == !w->score, "%s: camera %d level %d cell %d: found %d, should have found %d", what, camera, place / cells_of(camera),
            place % cells_of(camera), !!key, !!w->score);
    if (!key) return;
    REQUIRE(c.x == w->x && c.y == w->y && c.level == w->level && c.score == w->score && c.strong == w->strong,
            "%s: camera %d place %d: found %d,%d level %d score %u strong %d, should be %d,%d level %d score %u strong %d", what, camera,
            place, c.x, c.y, c.level, c.score, c.strong, w->x, w->y, w->level, w->score, w->strong);
}

static int compare_cells(void)
{
    int corners = 0;
    for (int32_t camera = 0; camera < step.geometry.cameras; camera++)
        for (int32_t place = 0; place < cells_of(camera) * searched(); place++) {
            compare_place(camera, place);
            corners += winner[camera][place].score > 0;
        }
    return corners;
}

/** Runs stage and oracle, compares every cell of every level; returns the number of corners. */
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
    const struct vf_level *l = scale_of(camera, level);
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
    const int length = longest_arc(ring, centre, threshold).length;
    for (int i = 0; i < 16; i++) values[i] = ring[i];
    for (int arc = 9; arc <= 12; arc++)
        for (int kind = 0; kind < 3; kind++) {
            const int unbound = textbook_score(ring, centre, threshold, arc, 16, kind);
            for (int most = 9; most <= 16; most++) {
                const int is = (int)vf_detect_test(values, centre, threshold, arc, most, kind);
                const int should = length > most ? 0 : unbound;
                REQUIRE(is == should, "threshold %d arc %d..%d score %d: is %d, should be %d", threshold, arc, most, kind, is, should);
            }
        }
}

/** Every mask of 16 bits: where runs start, found by going along it. */
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
            assert_int_equal(vf_detect_runs(mask, arc), starts);
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
        int centre, threshold, arc, most;
        uint32_t sad_b, sad_a, mt;
    } known[] = {
        /* black circle around a white pixel, and the other way round: the most that a score can be, where spots are let through */
        {{0}, 255, 254, 12, 16, 4080, 4080, 254},
        {{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, 0, 254, 12, 16, 4080, 4080, 254},
        {{0}, 255, 254, 12, 15, 0, 0, 0},
        {{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, 0, 254, 9, 15, 0, 0, 0},
        /* an arc of 9 from pixel 12 over the top; 20 + 8 * 30 on it, 5 + 6 * 10 off it */
        {{130, 130, 130, 130, 130, 105, 110, 110, 110, 90, 90, 90, 120, 130, 130, 130}, 100, 10, 9, 16, 325, 260, 19},
        {{130, 130, 130, 130, 130, 105, 110, 110, 110, 90, 90, 90, 120, 130, 130, 130}, 100, 19, 9, 16, 325, 260, 19},
        {{130, 130, 130, 130, 130, 105, 110, 110, 110, 90, 90, 90, 120, 130, 130, 130}, 100, 20, 9, 16, 0, 0, 0},
        {{130, 130, 130, 130, 130, 105, 110, 110, 110, 90, 90, 90, 120, 130, 130, 130}, 100, 10, 10, 16, 0, 0, 0},
        {{130, 130, 130, 130, 130, 105, 110, 110, 110, 90, 90, 90, 120, 130, 130, 130}, 100, 10, 9, 9, 325, 260, 19},
        /* at a threshold of 4 the same arc reaches on over pixels 5 to 8, 13 in all; without pixel 5 no arc of 12 is left */
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
        assert_int_equal(vf_detect_test(known[i].ring, centre, threshold, arc, most, VFRONT_SCORE_SAD_B), known[i].sad_b);
        assert_int_equal(vf_detect_test(known[i].ring, centre, threshold, arc, most, VFRONT_SCORE_SAD_A), known[i].sad_a);
        assert_int_equal(vf_detect_test(known[i].ring, centre, threshold, arc, most, VFRONT_SCORE_MT), known[i].mt);
    }
}

/** The Harris response of any gradients, of the largest there are, and of those that nearly cancel. */
static void harris_of_any_gradients(void **state)
{
    uint32_t clamped = 0, largest = 0;
    (void)state;
    shake(15);
    for (int i = 0; i < 200000; i++) {
        struct vf_harris h = {0, 0, 0};
        int64_t xx = 0, yy = 0, xy = 0;
        const int32_t most = i % 3 ? 1 + roll(1020) : 1020, kind = roll(4), turn = roll(50);
        for (int k = 0; k < 49; k++) {
            int32_t gx = between(-most, most), gy = kind == 0 ? gx : kind == 1 ? (k < turn ? gx : -gx) : between(-most, most);
            if (kind == 3) gx = most, gy = k < turn ? most : -most;
            vf_harris_add(&h, gx, gy);
            xx += gx * gx;
            yy += gy * gy;
            xy += gx * gy;
        }
        const uint32_t is = vf_harris_score(h), should = textbook_harris(xx, yy, xy);
        REQUIRE(is == should, "sums %d %d %d: is %u, should be %u", h.xx, h.yy, h.xy, is, should);
        clamped += is == 1;
        largest = is > largest ? is : largest;
    }
    assert_true(clamped > 40000 && clamped < 150000);
    /* the most that there can be, 24 gradients of 1020 along one diagonal and 25 along the other: 25 * (49^2 - 1) - 98^2 */
    assert_int_equal(largest, (uint32_t)(50396ull * 1020 * 1020 * 1020 * 1020 >> 24));
}

/** By hand: what a score of 1 is made of, and what is more. */
static void known_harris_scores(void **state)
{
    static const struct {
        struct vf_harris sums;
        uint32_t score;
    } known[] = {
        {{0, 0, 0}, 1},
        {{50979600, 0, 0}, 1},                    /* an edge: -trace^2 */
        {{50979600, 50979600, 50979600}, 1},      /* an edge across */
        {{1000, 1000, 0}, 1},                     /* 25e6 - 4e6 = 21e6: 2^24 once */
        {{1264, 1264, 0}, 1},                     /* 21 * 1597696 = 33551616, under twice 2^24 = 33554432 */
        {{1265, 1265, 0}, 2},                     /* 21 * 1600225 = 33604725 */
        {{50979600, 50979600, 0}, 3253061290u},   /* 21 * 50979600^2 / 2^24, more than sums can be */
        {{20000, 10000, -5000}, 207},             /* 25 * (2e8 - 25e6) - 9e8 = 3475e6 */
        {{20000, 10000, 5000}, 207},
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) assert_int_equal(vf_harris_score(known[i].sums), known[i].score);
}

/* ---- tests: the stage ------------------------------------------------------------------------------------------------ */

/** A stage of one camera and one level, no masks, border 3, spots let through, ranked by corner score, nothing described. */
static void set_up_plain(int32_t width, int32_t height)
{
    set_up(1, width, height, roll(2));
    memory.ingest.params.source[0].mask = NULL;
    step.tuning.detect_levels = 1;
    step.tuning.detect_border_px = 3;
    step.tuning.detect_arc_most = 16;
    step.tuning.detect_score = VFRONT_SCORE_SAD_B;
    step.tuning.detect_rank = 0;
    step.tuning.describe = 0;
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
            if (response[y][x].score && step.tuning.detect_rank) response[y][x].score = harris_at(0, 0, x, y);
        }
    for (int32_t i = 0; i < 16; i++) {
        mask_all_but(i % 4, i / 4);
        detect();
        compare_pixels_shown(i % 4, i / 4);
    }
    return corners;
}

/** The response of every pixel, for every threshold, arc and picture; scores and bounds of the arc in turn. */
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
            step.tuning.detect_arc_most = roll(2) ? 16 : between(step.tuning.detect_arc, 15);
            step.tuning.detect_score = threshold % 3;
            const int found = compare_every_pixel((enum fill)fill);
            corners += found;
            corners_254 += threshold == 254 ? found : 0;
        }
    assert_true(corners > 10000 && corners_254 > 0);
}

/** The Harris response of every pixel that is a corner, in every picture. */
static void harris_of_every_pixel(void **state)
{
    int corners = 0;
    (void)state;
    shake(16);
    set_up_plain(28, 24);
    if (!set_cells(4, 4)) skip();
    step.tuning.detect_rank = 1;
    for (int i = 0; i < 100; i++)
        for (int fill = 0; fill < FILLS; fill++) {
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
    memory.ingest.params.source[camera].mask = roll(3) == 0 ? memory.ingest.mask_frame[camera] : NULL;
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            memory.ingest.mask_static[camera][y * l->pitch + x] = roll(often) ? 255 : 0;
            memory.ingest.mask_frame[camera][y * l->pitch + x] = (x + y) / band % 2 ? 1 : 0;
        }
}

static void random_tuning(void)
{
    static const int32_t cell[][2] = {{4, 4}, {7, 13}, {32, 32}, {100, 3000}, {4096, 4}, {3, 64}, {16, 8}, {33, 31}};
    const int32_t c = roll(8);
    vfront_tuning_t *t = &step.tuning;
    t->detect_levels = between(1, VFRONT_SCALES);
    t->detect_threshold = roll(3) ? between(1, 60) : between(1, 254);
    t->detect_threshold_low = roll(2) ? 0 : roll(t->detect_threshold);
    t->detect_arc = between(9, 12);
    t->detect_arc_most = roll(2) ? 16 : between(9, 16);
    t->detect_score = roll(3);
    t->detect_rank = roll(2);
    t->describe = roll(2) && VFRONT_DESCRIPTORS;
    t->describe_margin_px = between(3, 18);
    t->select_points = roll(3) ? 1 : 0;
    t->detect_radius = between(1, 4);
    t->detect_border_px = roll(2) ? 3 : between(3, 24);
    set_cells_about(cell[c][0], cell[c][1]);
}

/** A side of a picture. Most are small, because the oracle is slow. */
static int32_t random_side(int32_t most)
{
    const int32_t side = between(16, roll(4) ? 50 : 150);
    return side < most ? side : most;
}

/** Cameras of any size; every level has a picture of its own. */
static void set_up_random(void)
{
    set_up(between(1, VFRONT_CAMERAS), 16, 16, 0);
    for (int32_t camera = 0; camera < step.geometry.cameras; camera++)
        lay_out_levels(camera, random_side(VFRONT_WIDTH), random_side(VFRONT_HEIGHT), roll(3));
    random_tuning();
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
    for (int i = 0; i < 4000; i++) {
        set_up_random();
        corners += run_and_compare("random");
    }
    assert_true(corners > 1000 * VFRONT_SCALES || VFRONT_CELLS < 1000);
}

static void blacken(int32_t level)
{
    const struct vf_level *l = scale_of(0, level);
    const struct canvas c = {0, level, l->width, l->height};
    paint_noise(&c, BLACK);
}

/** The largest picture of the config, with a corner as far to the lower right on every level as there can be one. */
static void largest_picture(void **state)
{
    (void)state;
    shake(5);
    set_up_plain(VFRONT_WIDTH, VFRONT_HEIGHT);
    step.geometry.masked[0] = 0;
    step.tuning.detect_levels = VFRONT_SCALES;
    set_cells_about(32, 32);
    for (int32_t level = 0; level < step.geometry.scales; level++) {
        const struct vf_level *l = scale_of(0, level);
        const struct canvas c = {0, level, l->width, l->height};
        blacken(level);
        for (int i = 0; i < 20000; i++) put(&c, roll(c.width), roll(c.height), roll(256));
        for (int i = 0; i < 8; i++) put(&c, c.width - 1 - i, c.height - 4, i == 3 ? 255 : 0);
    }
    assert_true(run_and_compare("largest") > 0);
    const struct vf_level *last = scale_of(0, step.geometry.scales - 1);
    assert_true(response[last->height - 4][last->width - 4].score > 0);
    step.tuning.detect_rank = 1;
    run_and_compare("largest, Harris");
}

/** Nothing but the cells of the levels searched changes, and of those only the ones there are. */
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
        for (int32_t camera = 0; camera < step.geometry.cameras; camera++)
            memcpy(expected.detect.best[camera], memory.detect.best[camera],
                   sizeof(uint64_t) * (size_t)(cells_of(camera) * searched()));
        same_arena(what);
    }
}

/* ---- tests: by hand -------------------------------------------------------------------------------------------------- */

/** Cells with a corner, each level's counted by itself. */
static int count_found(void)
{
    int count = 0;
    detect();
    for (int32_t place = 0; place < cells_of(0) * searched(); place++) count += memory.detect.best[0][place] != 0;
    return count;
}

/** Fails unless cell `cell` of a level holds a strong corner at x, y of the level with a score. */
static void holds(int32_t cell, int32_t x, int32_t y, int32_t level, uint32_t score)
{
    const uint64_t key = memory.detect.best[0][level * cells_of(0) + cell];
    const struct vf_corner c = vf_detect_corner(key);
    REQUIRE(key, "cell %d of level %d is empty", cell, level);
    REQUIRE(c.x == x && c.y == y && c.level == level && c.strong && c.score == score, "cell %d holds %d,%d level %d score %u strong %d",
            cell, c.x, c.y, c.level, c.score, c.strong);
}

/** The corner of a large white square sees 11 dark pixels in a row: a corner up to an arc of 11, and no spot from there on. An edge is
 *  none. */
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
        step.tuning.detect_arc_most = 11;
        assert_int_equal(count_found(), arc < 12);
        step.tuning.detect_arc_most = 10; /* now the corner is a spot; next to it along the edge, 10 are dark */
        assert_int_equal(count_found(), arc < 11);
        if (arc < 11) holds(0, 25, 20, 0, 10 * 200);
        step.tuning.detect_arc_most = 9;
        assert_int_equal(count_found(), arc < 10);
        if (arc < 10) holds(0, 26, 20, 0, 9 * 200);
        step.tuning.detect_arc_most = 16;
        step.tuning.detect_threshold = 200;
        assert_int_equal(count_found(), 0);
    }
}

/** A pixel alone, brighter or darker than all 16 around, is a spot as soon as there is a bound; the end of a line, at a bound of 14. */
static void known_spots(void **state)
{
    (void)state;
    shake(17);
    for (int most = 9; most <= 16; most++)
        for (int32_t dark = 0; dark < 2; dark++)
            for (int32_t line = 0; line < 2; line++) {
                set_up_plain(40, 40);
                set_cells_about(40, 40);
                step.tuning.detect_arc_most = most;
                step.tuning.detect_threshold_low = roll(2) ? 5 : 0;
                for (int32_t i = 0; i < 40 * 40; i++) *pixel(0, 0, i % 40, i / 40) = dark ? 200 : 50;
                for (int32_t x = 20; x < (line ? 40 : 21); x++) *pixel(0, 0, x, 20) = dark ? 50 : 200;
                assert_int_equal(count_found(), most >= (line ? 15 : 16));
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
            if (best.score) holds(0, best.x, best.y, 0, best.score);
        }
    }
}

/** Every level has cells of its own. Of equal corners on two levels the finer one is the best; a better coarse one goes before it. */
static void known_levels(void **state)
{
    (void)state;
    if (VFRONT_SCALES < 2 || !fits(64, 64, 0)) skip();
    shake(11);
    for (int more = 0; more < 2; more++) {
        set_up_plain(64, 64);
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
        assert_int_equal(vf_detect_corner(vf_best(memory.detect.best[0], 0, 1, 2)).level, more);
        assert_int_equal(vf_detect_corner(vf_best(memory.detect.best[0], 0, 1, 1)).level, 0);
        step.tuning.detect_levels = 1;
        assert_int_equal(count_found(), 1);
        holds(0, 40, 41, 0, 16 * 100);
    }
}

/** A corner of a level lies in the cell, and under the mask, of the pixel of level 0 in which its centre lies. */
static void cell_and_mask_of_the_centre(void **state)
{
    int32_t cells[2] = {0, 0};
    (void)state;
    if (!fits(64, 64, 0)) skip();
    shake(18);
    for (int i = 0; i < 400; i++) {
        set_up_plain(64, 64);
        if (!set_cells(between(3, 20), between(3, 20))) continue;
        const int32_t level = roll(step.geometry.scales), pitch = step.geometry.level[0][0].pitch;
        const struct vf_level *l = scale_of(0, level);
        const int32_t u = between(3, l->width - 4), v = between(3, l->height - 4), x = pixel_of(u, level), y = pixel_of(v, level);
        const int32_t cell = y / step.tuning.cell_height_px * step.geometry.cells_x[0] + x / step.tuning.cell_width_px;
        const int32_t place = level * cells_of(0) + cell;
        step.tuning.detect_levels = VFRONT_SCALES;
        for (int32_t k = 0; k < step.geometry.scales; k++) blacken(k);
        *pixel(0, level, u, v) = 90;
        for (int32_t shown = 0; shown < 2; shown++) {
            step.geometry.masked[0] = 1;
            for (int32_t k = 0; k < 64 * pitch; k++) memory.ingest.mask_static[0][k] = !shown;
            memory.ingest.mask_static[0][y * pitch + x] = (uint8_t)shown;
            assert_int_equal(count_found(), shown);
            assert_int_equal(memory.detect.best[0][place] != 0, shown);
            cells[shown]++;
        }
    }
    assert_true(cells[1] > 50 || VFRONT_CELLS < 64);
}

/** What Harris makes of a pixel alone, of grey v on black: 12 v^2, 12 v^2, 0, so (25 * 144 - 24^2) v^4 / 2^24; and of edges. */
static void known_harris(void **state)
{
    static const struct {
        int grey;
        uint32_t score;
    } known[] = {{255, 762118}, {77, 6336}, {100, 18024}};
    (void)state;
    shake(19);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        set_up_plain(40, 40);
        set_cells_about(40, 40);
        step.tuning.detect_rank = 1;
        blacken(0);
        *pixel(0, 0, 20, 21) = (uint8_t)known[i].grey;
        assert_int_equal(count_found(), 1);
        holds(0, 20, 21, 0, known[i].score);
        for (int32_t x = 0; x < 40; x++) *pixel(0, 0, x, 21) = (uint8_t)known[i].grey;
        assert_int_equal(count_found(), 0); /* a line, which has gradients across alone */
        assert_int_equal(harris_at(0, 0, 8, 21), 1);
    }
}

/** A pixel alone at 12,12, and at 28,28 the middle of a somewhat darker blob of 3x3, which has more gradients; the mask hides all else. */
static void set_up_blob(int32_t rank)
{
    set_up_plain(40, 40);
    set_cells_about(40, 40);
    step.tuning.detect_rank = rank;
    step.geometry.masked[0] = 1;
    for (int32_t i = 0; i < 40 * step.geometry.level[0][0].pitch; i++) memory.ingest.mask_static[0][i] = 0;
    memory.ingest.mask_static[0][12 * step.geometry.level[0][0].pitch + 12] = 1;
    memory.ingest.mask_static[0][28 * step.geometry.level[0][0].pitch + 28] = 1;
    blacken(0);
    *pixel(0, 0, 12, 12) = 200;
    for (int32_t k = -1; k <= 1; k++)
        for (int32_t i = -1; i <= 1; i++) *pixel(0, 0, 28 + i, 28 + k) = 180;
}

/** The higher corner score at 12,12 wins without Harris, the larger blob at 28,28 with it. */
static void harris_decides_within_a_cell(void **state)
{
    (void)state;
    shake(20);
    set_up_blob(0);
    assert_int_equal(count_found(), 1);
    holds(0, 12, 12, 0, 16 * 200);
    set_up_blob(1);
    assert_int_equal(count_found(), 1);
    holds(0, 28, 28, 0, harris_at(0, 0, 28, 28));
    assert_true(harris_at(0, 0, 28, 28) > harris_at(0, 0, 12, 12));
}

/** Who of two neighbours stays is for the corner score to say, even where Harris ranks what stays: here the darker of the two has the
 *  higher response, for the pixel beside it. */
static void corner_score_decides_between_neighbours(void **state)
{
    (void)state;
    shake(21);
    set_up_plain(40, 40);
    set_cells_about(40, 40);
    step.tuning.detect_rank = 1;
    step.geometry.masked[0] = 1;
    for (int32_t i = 0; i < 40 * step.geometry.level[0][0].pitch; i++) memory.ingest.mask_static[0][i] = 0;
    memory.ingest.mask_static[0][20 * step.geometry.level[0][0].pitch + 16] = 1;
    memory.ingest.mask_static[0][20 * step.geometry.level[0][0].pitch + 20] = 1;
    blacken(0);
    *pixel(0, 0, 16, 20) = 100;
    *pixel(0, 0, 20, 20) = 99;
    *pixel(0, 0, 22, 21) = 99;
    const uint32_t better_score = harris_at(0, 0, 20, 20), own = harris_at(0, 0, 16, 20);
    assert_true(better_score > own);
    step.tuning.detect_radius = 4;
    assert_int_equal(count_found(), 1);
    holds(0, 16, 20, 0, own);
    step.tuning.detect_radius = 3;
    assert_int_equal(count_found(), 1);
    holds(0, 20, 20, 0, better_score);
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
    for (int32_t i = 0; i < 40 * 40; i++) *pixel(0, 0, i % 40, i / 40) = 200;
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
    assert_true(weak.x == 12 && weak.y == 12 && !weak.strong && weak.score == 9 * 50 + 7 * 200);
    set_up_pair(51, 51);
    assert_int_equal(count_found(), 1);
    holds(0, 12, 12, 0, 9 * 51 + 7 * 200);
    set_up_pair(49, 49);
    assert_int_equal(count_found(), 0);
    set_up_pair(50, 50);
    step.tuning.detect_threshold_low = 0;
    assert_int_equal(count_found(), 0);
    set_up_pair(50, 51);
    step.tuning.detect_rank = 1;
    assert_true(harris_at(0, 0, 12, 12) > harris_at(0, 0, 28, 28));
    assert_int_equal(count_found(), 1);
    holds(0, 28, 28, 0, harris_at(0, 0, 28, 28));
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

/** Margins of a level: 3 px for the circle, 4 with Harris, more when key points are described; one nearer there is no corner. */
static void known_margins(void **state)
{
    (void)state;
    shake(22);
    for (int i = 0; i < 600; i++) {
        set_up_plain(64, 60);
        set_cells_about(64, 60);
        vfront_tuning_t *t = &step.tuning;
        t->detect_levels = VFRONT_SCALES;
        t->detect_rank = roll(2);
        t->describe = roll(2) && VFRONT_DESCRIPTORS;
        t->select_points = roll(2);
        t->describe_margin_px = between(3, 6);
        const int32_t margin = t->describe && t->select_points && t->describe_margin_px > 3 + t->detect_rank ? t->describe_margin_px
                                                                                                              : 3 + t->detect_rank;
        const int32_t level = roll(step.geometry.scales), out = roll(2), side = roll(4), in = margin - out;
        const struct vf_level *l = scale_of(0, level);
        const int32_t x = side == 0 ? in : side == 1 ? l->width - 1 - in : l->width / 2;
        const int32_t y = side == 2 ? in : side == 3 ? l->height - 1 - in : l->height / 2;
        assert_int_equal(vf_detect_margin(t), margin);
        for (int32_t k = 0; k < step.geometry.scales; k++) blacken(k);
        *pixel(0, level, x, y) = 99;
        REQUIRE(count_found() == !out, "level %d side %d, %d px in, margin %d", level, side, in, margin);
    }
}

/** First and last pixel of every level against a look at each, for any border and margin. */
static void limits_of_the_search(void **state)
{
    int none = 0;
    (void)state;
    shake(23);
    for (int i = 0; i < 3000; i++) {
        set_up_plain(between(16, VFRONT_WIDTH), between(16, VFRONT_HEIGHT));
        step.tuning.detect_border_px = roll(3) ? between(3, 40) : between(3, 512);
        step.tuning.detect_rank = roll(2);
        step.tuning.describe = roll(2) && VFRONT_DESCRIPTORS;
        step.tuning.describe_margin_px = between(3, 64);
        const int32_t border = step.tuning.detect_border_px;
        for (int32_t level = 0; level < step.geometry.scales; level++) {
            const int32_t size = scale_of(0, level)->width, size0 = scale_of(0, 0)->width;
            const uint32_t step_q16 = step.geometry.step_q16[level];
            const int32_t is_first = vf_detect_first(step_q16, border, room());
            const int32_t is_last = vf_detect_last(step_q16, border, room(), size, size0);
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

/** Centres of all pixels of all levels against the true ratio of the levels: as far off as the step is rounded to 2^-16 and the place to
 *  2^-16, and never outside the picture. */
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
            const struct vf_place p = vf_detect_place(&step.geometry, vf_detect_key(1, 7, level, u, v));
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
            c[k].strong = roll(2);
            c[k].score = close ? c[0].score : roll(2) ? (uint32_t)between(1, 4080) : (uint32_t)roll64() | 1;
            c[k].level = close && roll(2) ? c[0].level : roll(8);
            c[k].y = close && roll(2) ? c[0].y : roll(4097);
            c[k].x = roll(4097);
            key[k] = vf_detect_key(c[k].strong ? roll(2) + 1 : 0, c[k].score, c[k].level, c[k].x, c[k].y);
            const struct vf_corner back = vf_detect_corner(key[k]);
            assert_true(back.score == c[k].score && back.strong == c[k].strong);
            assert_true(back.level == c[k].level && back.x == c[k].x && back.y == c[k].y);
            assert_true(key[k] > 0 && key[k] >> VF_KEY_BITS == 0);
        }
        const int differ = better(c[0], c[1]) || better(c[1], c[0]);
        assert_int_equal(key[0] > key[1], better(c[0], c[1]));
        assert_int_equal(key[0] != key[1], differ);
    }
}

/** The best of a cell on any level, of any layout. */
static void best_of_all_levels(void **state)
{
    static uint64_t best[VFRONT_SCALES * 16];
    (void)state;
    shake(25);
    for (int i = 0; i < 5000; i++) {
        const int32_t cells = between(1, 16), levels = between(1, VFRONT_SCALES), cell = roll(cells);
        uint64_t most = 0;
        for (int32_t place = 0; place < cells * VFRONT_SCALES; place++) {
            best[place] = roll(2) ? roll64() >> (64 - VF_KEY_BITS) : 0;
            if (place % cells == cell && place / cells < levels && best[place] > most) most = best[place];
        }
        assert_true(vf_best(best, cell, cells, levels) == most);
    }
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(every_run),
        cmocka_unit_test(every_labelling_of_the_circle),
        cmocka_unit_test(every_threshold_at_its_limit),
        cmocka_unit_test(known_scores),
        cmocka_unit_test(harris_of_any_gradients),
        cmocka_unit_test(known_harris_scores),
        cmocka_unit_test(response_of_every_pixel),
        cmocka_unit_test(harris_of_every_pixel),
        cmocka_unit_test(random_cases),
        cmocka_unit_test(largest_picture),
        cmocka_unit_test(all_else_stays),
        cmocka_unit_test(known_square),
        cmocka_unit_test(known_spots),
        cmocka_unit_test(known_neighbours),
        cmocka_unit_test(known_better_neighbour),
        cmocka_unit_test(best_pixel_is_never_lost),
        cmocka_unit_test(known_levels),
        cmocka_unit_test(cell_and_mask_of_the_centre),
        cmocka_unit_test(known_harris),
        cmocka_unit_test(harris_decides_within_a_cell),
        cmocka_unit_test(corner_score_decides_between_neighbours),
        cmocka_unit_test(strong_before_weak),
        cmocka_unit_test(known_border),
        cmocka_unit_test(known_margins),
        cmocka_unit_test(limits_of_the_search),
        cmocka_unit_test(places_of_pixels),
        cmocka_unit_test(keys_are_in_order),
        cmocka_unit_test(best_of_all_levels),
    };
    return cmocka_run_group_tests_name("detect", test, make_circle, NULL);
}
