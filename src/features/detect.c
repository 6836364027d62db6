/* SPDX-License-Identifier: MIT */
/* Host form of detect: row by row, with a ring buffer of the last 2 * radius + 1 rows of NMS scores. The segment test
 * of a row is plain code over bytes that compilers turn into vectors; the corners that it finds are scored in
 * batches. */
#include "detect.h"

#include "image/ingest.h"
#include "image/scale.h"

/** Pixels of a row that are tested together: at least as many as a vector register holds. */
#define CHUNK 32

/** Corners that are scored together: the grey levels of their circles and centres. */
#define BATCH 32
struct batch {
    uint8_t circle[16][BATCH], centre[BATCH];
};

/** Ring buffer of the rows around the one on which corners are suppressed, row y at row_slot(y): NMS scores, with a
 *  margin of zeros on both sides, and the columns of the corners. */
#define WINDOW (2 * VF_NMS_RADIUS_MAX + 1)
struct window {
    uint16_t nms[WINDOW][VFRONT_WIDTH + 2 * VF_NMS_RADIUS_MAX];
    uint16_t column[WINDOW][VFRONT_WIDTH];
    int32_t count[WINDOW];
    uint8_t corner[VFRONT_WIDTH + CHUNK]; /* 1: the pixel of the current row is a corner; read a chunk at a time */
    struct batch batch;                   /* of the current row; entries beyond its corners are stale and unused */
};

/** Search of one level of one camera. */
struct search {
    const struct vf_detect_view *step;
    struct window *window;
    const uint8_t *pixels;
    uint64_t *best, *second, *corner; /* keys of the level's culling cells, of the cells */
    int32_t camera, level, pitch, framed;
    uint32_t step_q16;
    struct vf_detect_limits limits;
};

/* Segment test without a branch. A pixel is a corner if some run of `arc` pixels of the circle is all brighter than
 * centre + threshold: if the maximum over runs of the minimum within the run (`darkest`) is; and likewise for dark runs
 * with the minimum of the maxima (`brightest`). Two runs that start side by side share all but their end pixels, so
 * eight inner parts, folded from runs of 2, 4 and 8 pixels, serve all sixteen runs, each with the better of its two
 * ends. */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define ODD(X) X(1) X(3) X(5) X(7) X(9) X(11) X(13) X(15)
#define TAKE(i, dx, dy) one[i] = c[(dy)*pitch + (dx)];
#define FOLD2(i) low2[i] = MIN(one[i], one[(i + 1) % 16]), high2[i] = MAX(one[i], one[(i + 1) % 16]);
#define FOLD4(i) low4[i] = MIN(low2[i], low2[(i + 2) % 16]), high4[i] = MAX(high2[i], high2[(i + 2) % 16]);
#define FOLD8(i) low8[i] = MIN(low4[i], low4[(i + 4) % 16]), high8[i] = MAX(high4[i], high4[(i + 4) % 16]);
#define FOLD_ENDS(low, high, a, b)                                                                                     \
    darkest = MAX(darkest, MIN(low, MAX(a, b))), brightest = MIN(brightest, MAX(high, MIN(a, b)));
#define FOLD_9(i) FOLD_ENDS(low8[i], high8[i], one[i - 1], one[(i + 8) % 16])
#define FOLD_10(i)                                                                                                     \
    FOLD_ENDS(MIN(low8[i], one[(i + 8) % 16]), MAX(high8[i], one[(i + 8) % 16]), one[i - 1], one[(i + 9) % 16])
#define FOLD_11(i)                                                                                                     \
    FOLD_ENDS(MIN(low8[i], low2[(i + 8) % 16]), MAX(high8[i], high2[(i + 8) % 16]), one[i - 1], one[(i + 10) % 16])
#define FOLD_12(i)                                                                                                     \
    FOLD_ENDS(MIN(MIN(low8[i], low2[(i + 8) % 16]), one[(i + 10) % 16]),                                               \
              MAX(MAX(high8[i], high2[(i + 8) % 16]), one[(i + 10) % 16]), one[i - 1], one[(i + 11) % 16])

/** Segment test of a chunk: corner[x] = 1 or 0. The fixed length leaves no remainder for a scalar loop. */
#define SEGMENT_TEST(arc)                                                                                              \
    VF_HOT static void test_##arc(uint8_t *restrict corner, const uint8_t *chunk, ptrdiff_t pitch, uint8_t threshold)  \
    {                                                                                                                  \
        for (int32_t x = 0; x < CHUNK; x++) {                                                                          \
            const uint8_t *c = chunk + x;                                                                              \
            uint8_t one[16], low2[16], high2[16], low4[16], high4[16], low8[16], high8[16], darkest = 0,               \
                                                                                            brightest = 255;           \
            VF_CIRCLE_PIXELS(TAKE)                                                                                     \
            ODD(FOLD2)                                                                                                 \
            ODD(FOLD4)                                                                                                 \
            ODD(FOLD8)                                                                                                 \
            ODD(FOLD_##arc)                                                                                            \
            const uint8_t above = (uint8_t)(darkest > *c ? darkest - *c : 0);                                          \
            const uint8_t below = (uint8_t)(*c > brightest ? *c - brightest : 0);                                      \
            corner[x] = (uint8_t)((above > threshold) | (below > threshold));                                          \
        }                                                                                                              \
    }
SEGMENT_TEST(9)
SEGMENT_TEST(10)
SEGMENT_TEST(11)
SEGMENT_TEST(12)

/** Quick test: candidate[x] = 1 where the segment test may pass, for x = first..last. An arc of nine holds a pixel of
 *  both pairs of opposite pixels on the axes. */
VF_HOT static void quick_test(uint8_t *restrict candidate, const uint8_t *row, ptrdiff_t pitch, int32_t first,
                              int32_t last, uint8_t threshold)
{
    for (int32_t x = first; x <= last; x++) {
        const uint8_t *c = row + x, n = c[-3 * pitch], s = c[3 * pitch], w = c[-3], e = c[3];
        const uint8_t darkest = MIN(MAX(n, s), MAX(w, e)), brightest = MAX(MIN(n, s), MIN(w, e));
        const uint8_t above = (uint8_t)(darkest > *c ? darkest - *c : 0),
                      below = (uint8_t)(*c > brightest ? *c - brightest : 0);
        candidate[x] = (uint8_t)((above > threshold) | (below > threshold));
    }
}

/** 1 if a chunk holds any candidate. */
static int any(const uint8_t *candidate)
{
    uint64_t eight[CHUNK / 8];
    memcpy(eight, candidate, sizeof eight);
    return (eight[0] | eight[1] | eight[2] | eight[3]) != 0;
}

/** Set corner[x] for the pixels of row y within the limits, and 0 behind. The last chunk ends with the row, even if it
 *  overlaps the one before; in a row shorter than a chunk, pixels behind its end are tested as well. */
static void test_row(const struct search *q, uint8_t *corner, int32_t y)
{
    static void (*const test[])(uint8_t *, const uint8_t *, ptrdiff_t, uint8_t) = {test_9, test_10, test_11, test_12};
    const struct vf_detect_tuning *t = &q->step->tuning;
    const uint8_t threshold = (uint8_t)(t->detect_threshold_low ? t->detect_threshold_low : t->detect_threshold);
    const uint8_t *row = q->pixels + (ptrdiff_t)y * q->pitch;
    const int32_t last_chunk = vf_max(q->limits.x_last + 1 - CHUNK, q->limits.x_first);
    quick_test(corner, row, q->pitch, q->limits.x_first, last_chunk + CHUNK - 1, threshold);
    for (int32_t x = q->limits.x_first; x < last_chunk + CHUNK; x += CHUNK) {
        const int32_t from = vf_min(x, last_chunk);
        if (any(corner + from)) test[t->detect_arc - 9](corner + from, row + from, q->pitch, threshold);
    }
    memset(corner + q->limits.x_last + 1, 0, CHUNK);
}

/* ---- scores of a batch of corners, by plain loops over bytes ----------------------------------------------------- */

/** Contrast of each circle pixel to the centre in the sign of the arc, 0 if of the other sign [grey levels]. The arc is
 *  bright if the brighter pixel of every opposite pair is brighter than the centre: an arc of nine holds a pixel of
 *  each pair of opposite ones, and both of one. */
VF_HOT static void contrast_of(uint8_t (*restrict contrast)[BATCH], const struct batch *restrict b)
{
    uint8_t darkest[BATCH], flip[BATCH];
    memset(darkest, 255, sizeof darkest);
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < BATCH; k++) darkest[k] = MIN(darkest[k], MAX(b->circle[i][k], b->circle[i + 8][k]));
    for (int k = 0; k < BATCH; k++) flip[k] = darkest[k] > b->centre[k] ? 0 : 255;
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < BATCH; k++) {
            const uint8_t at = b->circle[i][k] ^ flip[k], centre = b->centre[k] ^ flip[k];
            contrast[i][k] = (uint8_t)(at > centre ? at - centre : 0);
        }
}

/** to[i] = minimum of from[i] and from[i + step], around the circle. */
VF_HOT static void fold_min(uint8_t (*restrict to)[BATCH], uint8_t (*restrict from)[BATCH], int step)
{
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < BATCH; k++) to[i][k] = MIN(from[i][k], from[(i + step) % 16][k]);
}

/** to[i] = maximum of from[i] and from[i - step], around the circle. */
VF_HOT static void fold_max(uint8_t (*restrict to)[BATCH], uint8_t (*restrict from)[BATCH], int step)
{
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < BATCH; k++) to[i][k] = MAX(from[i][k], from[(i - step) & 15][k]);
}

/** Maximum over the circle. */
VF_HOT static void max_of_circle(uint8_t *restrict most, uint8_t (*restrict from)[BATCH])
{
    memset(most, 0, BATCH);
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < BATCH; k++) most[k] = MAX(most[k], from[i][k]);
}

/** SAD-A: sum of contrasts over the arc, which is all pixels of the runs whose minimum contrast is above the threshold.
 *  run_best: for each pixel, the largest such minimum of the runs that it is part of. */
VF_HOT static void sum_arc(uint16_t *restrict score, uint8_t (*restrict contrast)[BATCH],
                           uint8_t (*restrict run_best)[BATCH], const uint8_t *restrict threshold)
{
    memset(score, 0, BATCH * sizeof *score);
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < BATCH; k++) {
            const uint8_t counted = run_best[i][k] > threshold[k] ? 255 : 0;
            score[k] = (uint16_t)(score[k] + (counted & contrast[i][k]));
        }
}

/** SAD-B: sum of absolute differences over the circle. */
VF_HOT static void sum_circle(uint16_t *restrict score, const struct batch *restrict b)
{
    memset(score, 0, BATCH * sizeof *score);
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < BATCH; k++) {
            const uint8_t at = b->circle[i][k], centre = b->centre[k];
            score[k] = (uint16_t)(score[k] + (at > centre ? at - centre : centre - at));
        }
}

/** NMS scores from corner scores, in place. Some arc is long enough at every threshold below `reach`, and too long
 *  below `spot`. */
VF_HOT static void nms_scores(uint16_t *restrict score, const uint8_t *restrict reach, const uint8_t *restrict spot,
                              uint8_t first, uint8_t low)
{
    for (int k = 0; k < BATCH; k++) {
        const int strong = (reach[k] > first) & (spot[k] <= first), weak = (reach[k] > low) & (spot[k] <= low);
        score[k] = (uint16_t)(strong ? score[k] + VF_NMS_STRONG : weak ? score[k] : 0);
    }
}

/** In place, from the minimum of the run of `arc` pixels that starts at each pixel to the largest minimum of the runs
 *  that the pixel is part of. other: scratch. */
static void spread_to_arc(uint8_t (*run)[BATCH], uint8_t (*other)[BATCH], int32_t arc)
{
    fold_max(other, run, 1);
    fold_max(run, other, 2);
    fold_max(other, run, 4);
    fold_max(run, other, arc - 8);
}

/** NMS scores, as vf_detect_nms_score(), of a batch of pixels that all pass the segment test at the low threshold
 *  without its upper bound on the arc. */
static void score_batch(const struct vf_detect_tuning *t, uint16_t *score, const struct batch *b)
{
    const uint8_t first = (uint8_t)t->detect_threshold,
                  low = (uint8_t)(t->detect_threshold_low ? t->detect_threshold_low : first);
    uint8_t contrast[16][BATCH], one[16][BATCH], two[16][BATCH], reach[BATCH], spot[BATCH] = {0}, threshold[BATCH];
    contrast_of(contrast, b);
    fold_min(one, contrast, 1);
    fold_min(two, one, 2);
    fold_min(one, two, 4);
    if (t->detect_arc_most < 16) {
        fold_min(two, one, t->detect_arc_most - 7);
        max_of_circle(spot, two);
    }
    fold_min(two, one, t->detect_arc - 8);
    max_of_circle(reach, two);
    if (t->detect_score == VFRONT_SCORE_SAD_A) {
        for (int k = 0; k < BATCH; k++) threshold[k] = reach[k] > first && spot[k] <= first ? first : low;
        spread_to_arc(two, one, t->detect_arc);
        sum_arc(score, contrast, two, threshold);
    } else if (t->detect_score == VFRONT_SCORE_SAD_B) {
        sum_circle(score, b);
    } else {
        for (int k = 0; k < BATCH; k++) score[k] = (uint16_t)(reach[k] - 1);
    }
    nms_scores(score, reach, spot, first, low);
}

/** Fill a batch with the corners at the columns x[0..count) of row y. */
static void fill_batch(struct batch *b, const struct search *q, const uint16_t *x, int32_t count, int32_t y)
{
    const uint8_t *row[2 * VF_CIRCLE_RADIUS + 1];
    for (int32_t k = -VF_CIRCLE_RADIUS; k <= VF_CIRCLE_RADIUS; k++)
        row[k + VF_CIRCLE_RADIUS] = q->pixels + (ptrdiff_t)(y + k) * q->pitch;
    for (int32_t k = 0; k < count; k++) {
#define PUT(i, dx, dy) b->circle[i][k] = row[(dy) + VF_CIRCLE_RADIUS][x[k] + (dx)];
        VF_CIRCLE_PIXELS(PUT)
#undef PUT
        b->centre[k] = row[VF_CIRCLE_RADIUS][x[k]];
    }
}

/** NMS scores of the corners at the columns x[0..count) of row y, 0 under a mask. */
static void score_corners(const struct search *q, uint16_t *score, const uint16_t *x, int32_t count, int32_t y)
{
    const int masked = q->framed || q->step->masks.fixed[q->camera];
    const int32_t pitch0 = q->step->geometry.scale[q->camera][0].pitch, y0 = vf_pixel0(y, q->step_q16);
    uint16_t found[BATCH];
    fill_batch(&q->window->batch, q, x, count, y);
    score_batch(&q->step->tuning, found, &q->window->batch);
    for (int32_t k = 0; k < count; k++)
        if (!masked || vf_usable(&q->step->masks, q->camera, q->framed, y0 * pitch0 + vf_pixel0(x[k], q->step_q16)))
            score[x[k]] = found[k];
}

/** Index of row y in the ring buffer; y may be -1. */
static int32_t row_slot(int32_t y) { return (y + VF_NMS_RADIUS_MAX) % WINDOW; }

/** NMS scores of row y, from column 0. */
static uint16_t *window_row(const struct search *q, int32_t y)
{
    return q->window->nms[row_slot(y)] + VF_NMS_RADIUS_MAX;
}

/** List the columns of a row where corner[] is 1; it must be 0 behind `last`. Returns their number. First come the
 *  groups of eight columns that hold any; few do and branches on them would be mispredicted, so there are none. */
static int32_t list_corners(const uint8_t *corner, int32_t first, int32_t last, uint16_t *column)
{
    uint16_t group[VFRONT_WIDTH / 8 + 1];
    int32_t groups = 0, count = 0;
    for (int32_t x = first; x <= last; x += 8) {
        uint64_t eight;
        memcpy(&eight, corner + x, sizeof eight);
        group[groups] = (uint16_t)x;
        groups += eight != 0;
    }
    for (int32_t i = 0; i < groups; i++)
        for (int32_t k = 0; k < 8; k++) {
            column[count] = (uint16_t)(group[i] + k);
            count += corner[group[i] + k];
        }
    return count;
}

/** NMS scores of row y, zeros outside the limits. */
static void score_row(const struct search *q, int32_t y)
{
    uint16_t *nms = window_row(q, y);
    int32_t *count = &q->window->count[row_slot(y)];
    *count = 0;
    memset(nms - VF_NMS_RADIUS_MAX, 0, sizeof *nms * (size_t)(q->limits.x_last + 1 + 2 * VF_NMS_RADIUS_MAX));
    if (y < q->limits.y_first || y > q->limits.y_last) return;
    uint8_t *corner = q->window->corner;
    test_row(q, corner, y);
    uint16_t *column = q->window->column[row_slot(y)];
    *count = list_corners(corner, q->limits.x_first, q->limits.x_last, column);
    for (int32_t k = 0; k < *count; k += BATCH) score_corners(q, nms, column + k, vf_min(*count - k, BATCH), y);
}

/** 1 if a pixel within radius r of the middle row's pixel x has a higher NMS score, or the same one and comes earlier
 *  in raster order. No branch depends on scores: it would be mispredicted. */
static inline int suppressed(const uint16_t *const row[WINDOW], int32_t x, int32_t r)
{
    uint16_t earlier = 0, later = 0;
    for (int32_t dy = -r; dy <= r; dy++)
        for (int32_t dx = -r; dx <= r; dx++) {
            const uint16_t nms = row[dy + r][x + dx];
            if (dy < 0 || (dy == 0 && dx < 0)) earlier = MAX(earlier, nms);
            if (dy > 0 || (dy == 0 && dx > 0)) later = MAX(later, nms);
        }
    return (earlier >= row[r][x]) | (later > row[r][x]);
}

/** Non-maximum suppression of row y: keep in its list the columns of the local maxima; returns their number. The
 *  smallest radius, which is the default, has code of its own. A score of 0 is never kept: no earlier one is less. */
static int32_t suppress_row(const struct search *q, int32_t y)
{
    const int32_t count = q->window->count[row_slot(y)], r = q->step->tuning.detect_radius;
    uint16_t *column = q->window->column[row_slot(y)];
    const uint16_t *row[WINDOW];
    int32_t left = 0;
    for (int32_t dy = -r; dy <= r; dy++) row[dy + r] = window_row(q, y + dy);
    for (int32_t k = 0; k < count; k++) {
        const uint16_t x = column[k];
        column[left] = x;
        left += !(r == 1 ? suppressed(row, x, 1) : suppressed(row, x, r));
    }
    return left;
}

/** Sums of products of gradients. On its own because compilers recognise this loop and vectorise it. */
static inline struct vf_harris add_products(const int16_t *gx, const int16_t *gy, int32_t count)
{
    struct vf_harris h = {0, 0, 0};
    for (int i = 0; i < count; i++) vf_harris_add(&h, gx[i], gy[i]);
    return h;
}

/** Sums over a window of side x side pixels, side 5 or 7. `first`: the pixel above and left of the window. Rows are
 *  processed as eight columns, a whole vector: ten pixels of a row are read, and gradients outside the window are set
 *  to 0. */
VF_HOT static struct vf_harris sum_gradients(const uint8_t *first, ptrdiff_t pitch, int32_t side)
{
    static const int16_t counts[2][8] = {{1, 1, 1, 1, 1, 0, 0, 0}, {1, 1, 1, 1, 1, 1, 1, 0}};
    const int16_t *count = counts[side == 7];
    int16_t across[9][8], along[9][8]; /* rows of pixels after the 1D kernels -1 0 1 and 1 2 1 */
    int16_t gx[7 * 8], gy[7 * 8];
    for (int r = 0; r < side + 2; r++) {
        const uint8_t *row = first + r * pitch;
        for (int k = 0; k < 8; k++) {
            across[r][k] = (int16_t)(count[k] * (row[k + 2] - row[k]));
            along[r][k] = (int16_t)(count[k] * vf_sobel_smooth(row[k], row[k + 1], row[k + 2]));
        }
    }
    for (int r = 0; r < side; r++)
        for (int k = 0; k < 8; k++) {
            gx[8 * r + k] = (int16_t)vf_sobel_smooth(across[r][k], across[r + 1][k], across[r + 2][k]);
            gy[8 * r + k] = (int16_t)(along[r + 2][k] - along[r][k]);
        }
    return add_products(gx, gy, 8 * side);
}

/** Sums over 7x7 px. From a copy, because sum_gradients() reads one column more than the VF_HARRIS_RADIUS around a
 *  corner that the level is sure to have. */
static struct vf_harris sum_gradients_7(const uint8_t *centre, ptrdiff_t pitch)
{
    uint8_t copy[9][16] = {{0}};
    for (int r = 0; r < 9; r++) memcpy(copy[r], centre + (r - VF_HARRIS_RADIUS) * pitch - VF_HARRIS_RADIUS, 9);
    return sum_gradients(*copy, 16, 7);
}

/** Final score of a corner from the Harris response around it. */
static uint32_t harris_score(const struct vf_detect_tuning *t, uint32_t corner_score, const uint8_t *centre,
                             ptrdiff_t pitch)
{
    struct vf_harris seven = {0, 0, 0}, five = {0, 0, 0};
    if (t->detect_rank == 1)
        seven = sum_gradients_7(centre, pitch);
    else
        five = sum_gradients(centre - 3 * pitch - 3, pitch, 5);
    return vf_detect_final_score(t, corner_score, seven, five);
}

/** Raise the best key of a cell. Returns the lower of the best so far and the new key. */
static uint64_t raise_key(uint64_t *best, uint64_t key)
{
    const uint64_t lower = key < *best ? key : *best;
    if (key > *best) *best = key;
    return lower;
}

/** Suppress and score row y, and raise the best keys of its cells. */
static void collect_row(const struct search *q, int32_t y)
{
    const struct vf_detect_geometry *g = &q->step->geometry;
    const struct vf_detect_tuning *t = &q->step->tuning;
    const int32_t y0 = vf_pixel0(y, q->step_q16);
    const ptrdiff_t row = (ptrdiff_t)(y0 / t->cull_height_px) * g->culls_x[q->camera];
    uint64_t *corner = q->corner + y0 / t->cell_height_px * g->cells_x[q->camera];
    const uint16_t *nms = window_row(q, y), *column = q->window->column[row_slot(y)];
    const int32_t left = suppress_row(q, y);
    for (int32_t k = 0; k < left; k++) {
        const int32_t x = column[k], x0 = vf_pixel0(x, q->step_q16), strong = nms[x] >= VF_NMS_STRONG;
        const ptrdiff_t cull = row + x0 / t->cull_width_px;
        uint64_t *best = q->best + cull, *second = q->second + cull, *cell = corner + x0 / t->cell_width_px;
        const uint64_t most = vf_detect_key(strong, 0xffffffffu, 0, 0, 0);
        if (*second > most && *cell > most) continue; /* weak; the cells have two strong corners, and one */
        uint32_t score = nms[x] % VF_NMS_STRONG;
        if (t->detect_rank) score = harris_score(t, score, q->pixels + (ptrdiff_t)y * q->pitch + x, q->pitch);
        const uint64_t key = vf_detect_key(strong, score, q->level, x, y);
        raise_key(second, raise_key(best, key));
        raise_key(cell, key);
    }
}

/** Search one level of one camera. */
static void search_level(const struct vf_detect_view *s, struct window *window, int32_t camera, int32_t level)
{
    const int32_t r = s->tuning.detect_radius;
    const struct search q = {
        .step = s,
        .window = window,
        .pixels = vf_scale_pixels(s->scale, s->pictures.level0[s->parity][camera], camera, level,
                                  &s->geometry.scale[camera][level]),
        .best = s->detect->best[s->parity][camera] + level * s->geometry.culls[camera],
        .second = s->detect->second[s->parity][camera] + level * s->geometry.culls[camera],
        .corner = s->detect->corner[s->parity][camera],
        .camera = camera,
        .level = level,
        .pitch = s->geometry.scale[camera][level].pitch,
        .framed = vf_framed(&s->ingest->params, camera),
        .step_q16 = s->geometry.step_q16[level],
        .limits = vf_detect_limits_of(&s->geometry, &s->tuning, camera, level),
    };
    if (q.limits.x_first > q.limits.x_last || q.limits.y_first > q.limits.y_last) return;
    for (int32_t y = q.limits.y_first - r; y <= q.limits.y_last + r; y++) {
        score_row(&q, y);
        if (y - r >= q.limits.y_first) collect_row(&q, y - r);
    }
}

/** Clears the keys of a camera for the next step. */
static void clear_next(const struct vf_detect_view *s, int32_t camera)
{
    const size_t bytes = sizeof(uint64_t) * (size_t)s->geometry.places[camera];
    memset(s->detect->best[s->parity ^ 1][camera], 0, bytes);
    memset(s->detect->second[s->parity ^ 1][camera], 0, bytes);
    memset(s->detect->corner[s->parity ^ 1][camera], 0, sizeof(uint64_t) * (size_t)s->geometry.cells[camera]);
}

void vf_detect_host(const struct vf_detect_view *s)
{
    struct window window;
    const int32_t levels = vf_min(s->geometry.searched, VFRONT_SCALES); /* a bound that compilers can see */
    memset(&window.batch, 0, sizeof window.batch);
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++) {
        clear_next(s, camera);
        for (int32_t level = 0; level < levels; level++) search_level(s, &window, camera, level);
    }
}
