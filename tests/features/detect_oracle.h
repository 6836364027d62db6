/* SPDX-License-Identifier: MIT */
/* Oracle of detect, pixel by pixel as in the papers (paper 000, II.C and II.D; paper 001, 3; paper 004, II.C.1). The
 * circle is every pixel whose distance rounds to three. An arc is found by walking along it, the score MT by trying
 * every threshold. The Harris response sums Sobel gradients without loss. The best of a cell is found by visiting every
 * pixel of its levels. Works on the globals of tests/fixture/stage.h; shares no arithmetic with the library. */
#ifndef DETECT_ORACLE_H
#define DETECT_ORACLE_H

#include "tests/fixture/stage.h"

/* ---- oracle: segment test and scores ----------------------------------------------------------------------------- */

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

/** Run of circle pixels that are all darker or all brighter. */
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

/** Score of a pixel, 0 if it is no corner: its longest arc is too short, or so long that it is a blob. */
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

/* ---- oracle: final score of a corner ----------------------------------------------------------------------------- */

__extension__ typedef __int128 wide; /* nothing here comes near its limits */

/** Sums of products of gradients. */
struct sums {
    wide xx, yy, xy;
};

/** det - 0.04 trace^2, times 25: a whole number. */
static wide harris_times_25(struct sums h) { return 25 * (h.xx * h.yy - h.xy * h.xy) - (h.xx + h.yy) * (h.xx + h.yy); }

/** Harris response times 25, by its formula in reals. */
static long double harris_by_formula(struct sums h)
{
    const long double xx = (long double)h.xx, yy = (long double)h.yy, xy = (long double)h.xy;
    return (xx * yy - xy * xy - 0.04L * (xx + yy) * (xx + yy)) * 25.0L;
}

/** A corner score in grey levels: those of sums over the circle by its 16 pixels. */
static uint32_t score_of_a_pixel(uint32_t corner_score)
{
    return step.tuning.detect_score == VFRONT_SCORE_MT ? corner_score : corner_score / 16;
}

/** value / 2^bits, rounded down; 0 if negative. */
static wide in_units(wide value, int bits) { return value < 0 ? 0 : value / ((wide)1 << bits); }

/** Final score by detect_rank: 1 from sums over 7x7 px, 2 from sums over 5x5 px and the corner score; at least 1. */
static uint32_t textbook_final_score(struct sums h, uint32_t corner_score)
{
    const wide f = score_of_a_pixel(corner_score), weight = step.tuning.detect_rank == 2 ? f * f : 1;
    const int before = step.tuning.detect_rank == 2 ? 14 : 0;
    const wide score = in_units(in_units(harris_times_25(h), before) * weight, 24);
    const long double by_formula = harris_by_formula(h) * (long double)weight / ldexpl(1.0L, before + 24);
    assert_true(score >> 32 == 0);
    assert_true(by_formula < 1.0L ? score <= 1
                                  : fabsl((long double)score - by_formula) < 1.0L + 65025.0L / 16777216.0L);
    return score < 1 ? 1 : (uint32_t)score;
}

/* ---- oracle: response, suppression, cells ------------------------------------------------------------------------ */

/** Corner candidate: a pixel of a level. Order: first threshold before second, higher score, finer level, raster order.
 *  score 0: no corner. */
struct candidate {
    int high, level, x, y;
    uint32_t score;
};

static int better(struct candidate a, struct candidate b)
{
    if (a.high != b.high) return a.high > b.high;
    if (a.score != b.score) return a.score > b.score;
    if (a.level != b.level) return a.level < b.level;
    return a.y != b.y ? a.y < b.y : a.x < b.x;
}

/** Level 0: the raw or the rectified image. */
static uint8_t *level0_of(int32_t camera)
{
#if VFRONT_RECTIFY
    if (step.geometry.rectified) return memory.rectify.picture[step.parity][camera];
#endif
    return memory.ingest.picture[step.parity][camera];
}

/** Mask of the frame, which is rectified with the image. */
static uint8_t *frame_mask_of(int32_t camera)
{
#if VFRONT_RECTIFY
    if (step.geometry.rectified) return memory.rectify.mask[camera];
#endif
    return memory.ingest.mask_frame[camera];
}

/** Address of a pixel of a level: level 0 is the image, the others are in the memory of scale. */
static uint8_t *pixel(int32_t camera, int32_t level, int32_t x, int32_t y)
{
    const struct vf_level *l = scale_of(camera, level);
    if (level == 0) return level0_of(camera) + y * l->pitch + x;
    return memory.scale.pixels[camera] + l->offset + (uint32_t)(y * l->pitch + x);
}

static int32_t searched(void)
{
    return step.geometry.scales < step.tuning.detect_levels ? step.geometry.scales : step.tuning.detect_levels;
}

/** Level 0 coordinate of the centre of a pixel of a level, down to 2^-16. */
static double centre_of(int32_t u, int32_t level)
{
    return floor((u + 0.5) * step.geometry.step_q16[level]) / 65536.0 - 0.5;
}

/** Level 0 pixel that contains that centre, halves up. */
static int32_t pixel_of(int32_t u, int32_t level) { return (int32_t)floor(centre_of(u, level) + 0.5); }

/** Margin of a level: pixels around a corner that circle, gradients and descriptor read. */
static int32_t margin_of_level(void)
{
    const vfront_tuning_t *t = &step.tuning;
    const int32_t own = t->detect_rank ? 4 : 3;
    const int described = VFRONT_DESCRIPTORS && t->describe && t->select_points > 0;
    return described && t->describe_margin_px > own ? t->describe_margin_px : own;
}

static int within(int32_t u, int32_t level, int32_t size, int32_t size0)
{
    const double centre = centre_of(u, level), border = step.tuning.detect_border_px;
    return u >= margin_of_level() && u <= size - 1 - margin_of_level() && centre >= border &&
           centre <= size0 - 1 - border;
}

static int masked(int32_t camera, int32_t x, int32_t y)
{
    const int32_t at = y * step.geometry.level[camera][0].pitch + x;
    if (step.geometry.masked[camera] && memory.ingest.mask_static[camera][at] == 0) return 1;
    return memory.ingest.params.source[camera].mask && frame_mask_of(camera)[at] == 0;
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
    const int centre = *pixel(camera, level, x, y), arc = 9, most = t->detect_arc_most;
    c.score = (uint32_t)textbook_score(ring, centre, t->detect_threshold, arc, most, t->detect_score);
    c.high = c.score > 0;
    if (!c.score && t->detect_threshold_low)
        c.score = (uint32_t)textbook_score(ring, centre, t->detect_threshold_low, arc, most, t->detect_score);
    return c;
}

/** Sobel gradient at a pixel along x; along y if `turned`. */
static int sobel(int32_t camera, int32_t level, int32_t x, int32_t y, int turned)
{
    static const int kernel[3][3] = {{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}};
    int sum = 0;
    for (int32_t j = 0; j < 3; j++)
        for (int32_t i = 0; i < 3; i++)
            sum += (turned ? kernel[i][j] : kernel[j][i]) * *pixel(camera, level, x + i - 1, y + j - 1);
    return sum;
}

/** Final score of a corner by detect_rank; its corner score for detect_rank 0. */
static uint32_t final_score_of(int32_t camera, struct candidate c)
{
    const int32_t rank = step.tuning.detect_rank, reach = rank == 1 ? 3 : 2;
    struct sums h = {0, 0, 0};
    if (rank == 0) return c.score;
    for (int32_t j = c.y - reach; j <= c.y + reach; j++)
        for (int32_t i = c.x - reach; i <= c.x + reach; i++) {
            const int gx = sobel(camera, c.level, i, j, 0), gy = sobel(camera, c.level, i, j, 1);
            h.xx += gx * gx;
            h.yy += gy * gy;
            h.xy += gx * gy;
        }
    return textbook_final_score(h, c.score);
}

/** Final score of a pixel of camera 0 with a corner score. */
static uint32_t final_score_at(int32_t x, int32_t y, uint32_t corner_score)
{
    return final_score_of(0, (struct candidate){1, 0, x, y, corner_score});
}

static struct candidate response[VFRONT_HEIGHT][VFRONT_WIDTH];
static struct candidate winner[VFRONT_CAMERAS][VFRONT_SCALES * VFRONT_CULL_CELLS]; /* of each level and culling cell */
static struct candidate runner_up[VFRONT_CAMERAS][VFRONT_SCALES * VFRONT_CULL_CELLS];
static struct candidate cell_winner[VFRONT_CAMERAS][VFRONT_CELLS]; /* of each cell, on any level */

/** Non-maximum suppression: 1 if no neighbour within the radius has a better corner score, whatever the final
 *  scores. */
static int stays(struct candidate c, int32_t width, int32_t height)
{
    const int32_t r = step.tuning.detect_radius;
    for (int32_t y = c.y - r; y <= c.y + r; y++)
        for (int32_t x = c.x - r; x <= c.x + r; x++)
            if (x >= 0 && y >= 0 && x < width && y < height && response[y][x].score && better(response[y][x], c))
                return 0;
    return 1;
}

static void enter(struct candidate *best, struct candidate c)
{
    if (!best->score || better(c, *best)) *best = c;
}

/** The two best. */
static void enter_two(struct candidate *best, struct candidate *second, struct candidate c)
{
    enter(second, better(c, *best) ? *best : c);
    enter(best, c);
}

/** Enters a corner for its culling cell and for its cell. */
static void enter_both(int32_t camera, struct candidate c)
{
    const vfront_tuning_t *t = &step.tuning;
    const struct vf_geometry *g = &step.geometry;
    const int32_t x = pixel_of(c.x, c.level), y = pixel_of(c.y, c.level);
    const int32_t cull = y / t->cull_height_px * g->culls_x[camera] + x / t->cull_width_px;
    const int32_t place = c.level * culls_of(camera) + cull;
    enter_two(&winner[camera][place], &runner_up[camera][place], c);
    enter(&cell_winner[camera][y / t->cell_height_px * g->cells_x[camera] + x / t->cell_width_px], c);
}

static void search_plainly(int32_t camera, int32_t level)
{
    const struct vf_level *l = scale_of(camera, level);
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) response[y][x] = respond(camera, level, x, y);
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            struct candidate c = response[y][x];
            if (!c.score || !stays(c, l->width, l->height)) continue;
            c.score = final_score_of(camera, c);
            enter_both(camera, c);
        }
}

static void find_winners(void)
{
    for (int32_t camera = 0; camera < step.geometry.cameras; camera++) {
        memset(winner[camera], 0, sizeof **winner * (size_t)(culls_of(camera) * searched()));
        memset(runner_up[camera], 0, sizeof **runner_up * (size_t)(culls_of(camera) * searched()));
        memset(cell_winner[camera], 0, sizeof **cell_winner * (size_t)cells_of(camera));
        for (int32_t level = 0; level < searched(); level++) search_plainly(camera, level);
    }
}

#endif
