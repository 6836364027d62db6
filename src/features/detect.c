/* SPDX-License-Identifier: MIT */
/* Host form of detect: row by row, with a ring buffer of the last 2 * radius + 1 rows of NMS scores. Rows are searched
 * in chunks, by plain code over bytes and 16-bit integers that compilers vectorise: a quick test, scores of all pixels
 * of a chunk where any passes, local maxima. Only these are listed and ranked. */
#include "detect.h"

#include "image/ingest.h"
#include "image/scale.h"

/** Number of pixels of a row that are tested and scored together: the bytes of a vector register (AVX2 on x86-64).
 *  Chunks of twice as many need more registers than there are. */
#ifdef __x86_64__
#define CHUNK 32
#else
#define CHUNK 16
#endif

/** Number of rows of the ring buffer: the largest window of non-maximum suppression. */
#define RING_ROWS (2 * VF_NMS_RADIUS_MAX + 1)

/** Ring buffer of the rows around the row being suppressed. nms: scores for non-maximum suppression, row y at
 *  row_slot(y). Each row has a margin of zeros on both sides and room for the rest of a chunk. */
struct ring {
    uint16_t nms[RING_ROWS][VFRONT_WIDTH + CHUNK + 2 * VF_NMS_RADIUS_MAX];
    /* [column]: 1: the pixel may be a corner; after suppression, 1: local maximum */
    uint8_t flag[VFRONT_WIDTH + CHUNK];
    uint16_t column[VFRONT_WIDTH]; /* columns of a row's local maxima */
    /* [x]: grid column of the culling cell, and of the cell for new tracks, that pixel x lies in */
    uint16_t cull[VFRONT_WIDTH], cell[VFRONT_WIDTH];
};

/** Search of one level of one camera. */
struct search {
    const struct vf_detect_view *step;
    struct ring *ring;
    const uint8_t *pixels;
    /* keys of the level's culling cells: best, second; keys of the cells for new tracks: corner */
    uint64_t *best, *second, *corner;
    int32_t camera, level, pitch, framed;
    uint32_t step_q16;
    struct vf_detect_limits limits;
};

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* ---- quick test -------------------------------------------------------------------------------------------------- */

/** Quick test: candidate[x] = 1 where the segment test may pass, x = first..last. An arc of nine contains a pixel of
 *  each of the two pairs of opposite pixels on the axes. */
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

/** 1 if any of the CHUNK flags of a chunk is set. */
static inline int any(const uint8_t *flag)
{
    uint64_t eight[CHUNK / 8], all = 0;
    memcpy(eight, flag, sizeof eight);
    for (int i = 0; i < CHUNK / 8; i++) all |= eight[i];
    return all != 0;
}

/* ---- scores of the pixels of a chunk ----------------------------------------------------------------------------- */

/** Parameters of the corner score. first: the first, higher threshold; low: the second threshold, or the first if there
 *  is no second one. */
struct rule {
    uint8_t first, low;
    int32_t arc, arc_most, score;
};

/** Addresses of the circle pixels and of the centre, for a chunk of pixels. */
struct circles {
    const uint8_t *pixel[16], *centre; /* for the chunk's first pixel; those of its other pixels follow */
};
static inline struct circles circles_of(const uint8_t *centre, ptrdiff_t pitch)
{
#define AT(i, dx, dy) centre + (dy)*pitch + (dx),
    const struct circles c = {{VF_CIRCLE_PIXELS(AT)}, centre};
#undef AT
    return c;
}

/** Contrast of each circle pixel: difference to the centre in the sign of the arc, 0 in the other sign [grey levels].
 *  The arc is bright if the brighter pixel of every opposite pair exceeds the centre, because an arc of nine contains a
 *  pixel of each pair. */
static inline void contrast_of(uint8_t (*restrict contrast)[CHUNK], const struct circles *c)
{
    uint8_t darkest[CHUNK], flip[CHUNK];
    memset(darkest, 255, sizeof darkest);
    VF_UNROLL_FULL
    for (int i = 0; i < 8; i++) {
        VF_KEEP_LOOP
        for (int k = 0; k < CHUNK; k++) darkest[k] = MIN(darkest[k], MAX(c->pixel[i][k], c->pixel[i + 8][k]));
    }
    VF_KEEP_LOOP
    for (int k = 0; k < CHUNK; k++) flip[k] = darkest[k] > c->centre[k] ? 0 : 255;
    VF_UNROLL_FULL
    for (int i = 0; i < 16; i++) {
        VF_KEEP_LOOP
        for (int k = 0; k < CHUNK; k++) {
            const uint8_t at = c->pixel[i][k] ^ flip[k], centre = c->centre[k] ^ flip[k];
            contrast[i][k] = (uint8_t)(at > centre ? at - centre : 0);
        }
    }
}

/** Defines a function for minima (LEAST is MIN) or maxima (MAX) of eight circle pixels: eight[j] is that of pixels 2 j
 *  + 1 .. 2 j + 8. */
#define EIGHTS(name, LEAST)                                                                                            \
    static inline void name(uint8_t(*restrict eight)[CHUNK], uint8_t(*restrict of)[CHUNK])                             \
    {                                                                                                                  \
        uint8_t two[8][CHUNK], four[8][CHUNK];                                                                         \
        VF_UNROLL_FULL                                                                                                 \
        for (int j = 0; j < 8; j++) {                                                                                  \
            VF_KEEP_LOOP                                                                                               \
            for (int k = 0; k < CHUNK; k++) two[j][k] = LEAST(of[2 * j + 1][k], of[(2 * j + 2) & 15][k]);              \
        }                                                                                                              \
        VF_UNROLL_FULL                                                                                                 \
        for (int j = 0; j < 8; j++) {                                                                                  \
            VF_KEEP_LOOP                                                                                               \
            for (int k = 0; k < CHUNK; k++) four[j][k] = LEAST(two[j][k], two[(j + 1) & 7][k]);                        \
        }                                                                                                              \
        VF_UNROLL_FULL                                                                                                 \
        for (int j = 0; j < 8; j++) {                                                                                  \
            VF_KEEP_LOOP                                                                                               \
            for (int k = 0; k < CHUNK; k++) eight[j][k] = LEAST(four[j][k], four[(j + 2) & 7][k]);                     \
        }                                                                                                              \
    }
EIGHTS(least_of_eights, MIN)
EIGHTS(most_of_eights, MAX)

/** Extends both[j], the minimum of the 8 circle pixels from 2 j + 1 on, to arc - 1 pixels (8..15). Two runs of `arc`
 *  pixels contain these pixels: from 2 j on, and from 2 j + 1 on. */
static inline void least_of_both(uint8_t (*restrict both)[CHUNK], uint8_t (*restrict contrast)[CHUNK], int32_t arc)
{
    for (int32_t i = 9; i < arc; i++)
        for (int j = 0; j < 8; j++) {
            VF_KEEP_LOOP
            for (int k = 0; k < CHUNK; k++) both[j][k] = MIN(both[j][k], contrast[(2 * j + i) & 15][k]);
        }
}

/** Largest minimum contrast of a run of `arc` contiguous circle pixels. both: result of least_of_both(). */
static inline void best_run(uint8_t *restrict best, uint8_t (*restrict both)[CHUNK],
                            uint8_t (*restrict contrast)[CHUNK], int32_t arc)
{
    memset(best, 0, CHUNK);
    VF_UNROLL_FULL
    for (int j = 0; j < 8; j++) {
        VF_KEEP_LOOP
        for (int k = 0; k < CHUNK; k++) {
            const uint8_t end = MAX(contrast[2 * j][k], contrast[(2 * j + arc) & 15][k]);
            best[k] = MAX(best[k], MIN(both[j][k], end));
        }
    }
}

/** For each circle pixel, the largest minimum contrast of the runs of `arc` pixels that contain it. */
static inline void best_runs(uint8_t (*restrict best)[CHUNK], uint8_t (*restrict both)[CHUNK],
                             uint8_t (*restrict contrast)[CHUNK], int32_t arc)
{
    /* minimum contrast of the run that starts at each pixel; greatest of eight of these */
    uint8_t least[16][CHUNK], eight[8][CHUNK];
    VF_UNROLL_FULL
    for (int j = 0; j < 8; j++) {
        VF_KEEP_LOOP
        for (int k = 0; k < CHUNK; k++) {
            least[2 * j][k] = MIN(both[j][k], contrast[2 * j][k]);
            least[2 * j + 1][k] = MIN(both[j][k], contrast[(2 * j + arc) & 15][k]);
        }
    }
    most_of_eights(eight, least);
    for (int32_t i = 8; i < arc - 1; i++)
        for (int j = 0; j < 8; j++) {
            VF_KEEP_LOOP
            for (int k = 0; k < CHUNK; k++)
                eight[(j + 4) & 7][k] = MAX(eight[(j + 4) & 7][k], least[(2 * j - i) & 15][k]);
        }
    VF_UNROLL_FULL
    for (int j = 0; j < 8; j++) {
        VF_KEEP_LOOP
        for (int k = 0; k < CHUNK; k++) {
            best[2 * j][k] = MAX(eight[(j + 4) & 7][k], least[(2 * j - arc + 1) & 15][k]);
            best[2 * j + 1][k] = MAX(eight[(j + 4) & 7][k], least[2 * j + 1][k]);
        }
    }
}

/** Corner score SAD-A: sum of contrasts over the arc, that is over all pixels in a run whose minimum contrast exceeds
 *  the threshold. best: result of best_runs(). */
static inline void sum_arc(uint16_t *restrict score, uint8_t (*restrict contrast)[CHUNK],
                           uint8_t (*restrict best)[CHUNK], const uint8_t *restrict threshold)
{
    memset(score, 0, CHUNK * sizeof *score);
    VF_UNROLL_FULL
    for (int i = 0; i < 16; i++) {
        VF_KEEP_LOOP
        for (int k = 0; k < CHUNK; k++) {
            const uint8_t counted = best[i][k] > threshold[k] ? 255 : 0;
            score[k] = (uint16_t)(score[k] + (counted & contrast[i][k]));
        }
    }
}

/** Corner score SAD-B: sum of absolute differences to the centre over the circle. */
static inline void sum_circle(uint16_t *restrict score, const struct circles *c)
{
    memset(score, 0, CHUNK * sizeof *score);
    for (int i = 0; i < 16; i++) {
        VF_KEEP_LOOP
        for (int k = 0; k < CHUNK; k++) {
            const uint8_t at = c->pixel[i][k], centre = c->centre[k];
            score[k] = (uint16_t)(score[k] + (at > centre ? at - centre : centre - at));
        }
    }
}

/** Scores for non-maximum suppression, as vf_detect_nms_score(), from corner scores. At thresholds below reach[k],
 *  pixel k has an arc of at least `arc` pixels; at thresholds below blob[k], an arc of more than arc_most pixels. */
static inline void nms_scores(uint16_t *restrict nms, const uint16_t *restrict score, const uint8_t *restrict reach,
                              const uint8_t *restrict blob, uint8_t first, uint8_t low)
{
    VF_KEEP_LOOP
    for (int k = 0; k < CHUNK; k++) {
        const int high = (reach[k] > first) & (blob[k] <= first), low_only = (reach[k] > low) & (blob[k] <= low);
        const uint16_t corner = score[k];
        nms[k] = (uint16_t)(high ? corner + VF_NMS_HIGH : low_only ? corner : 0);
    }
}

/** Computes the scores of a chunk for non-maximum suppression. Leaves nms[] at 0 if no pixel is a corner. */
static inline void score_chunk(struct rule rule, uint16_t *restrict nms, const uint8_t *centre, ptrdiff_t pitch)
{
    const struct circles circles = circles_of(centre, pitch);
    uint8_t contrast[16][CHUNK], both[8][CHUNK], best[16][CHUNK], reach[CHUNK], blob[CHUNK] = {0};
    uint8_t corner[CHUNK], threshold[CHUNK];
    uint16_t score[CHUNK];
    contrast_of(contrast, &circles);
    if (rule.arc_most < 16) {
        least_of_eights(both, contrast);
        least_of_both(both, contrast, rule.arc_most + 1);
        best_run(blob, both, contrast, rule.arc_most + 1);
    }
    least_of_eights(both, contrast);
    least_of_both(both, contrast, rule.arc);
    best_run(reach, both, contrast, rule.arc);
    VF_KEEP_LOOP
    for (int k = 0; k < CHUNK; k++) corner[k] = reach[k] > rule.low;
    if (!any(corner)) return;
    VF_KEEP_LOOP
    for (int k = 0; k < CHUNK; k++)
        threshold[k] = ((reach[k] > rule.first) & (blob[k] <= rule.first)) ? rule.first : rule.low;
    if (rule.score == VFRONT_SCORE_SAD_A) {
        best_runs(best, both, contrast, rule.arc);
        sum_arc(score, contrast, best, threshold);
    } else if (rule.score == VFRONT_SCORE_SAD_B) {
        sum_circle(score, &circles);
    } else {
        VF_KEEP_LOOP
        for (int k = 0; k < CHUNK; k++) score[k] = (uint16_t)(reach[k] - 1);
    }
    nms_scores(nms, score, reach, blob, rule.first, rule.low);
}

/** Calls score_chunk() for any rule. score_standard(): for the default rule, whose constant arc length removes computed
 *  indices. */
VF_HOT_FLAT static void score_any(struct rule rule, uint16_t *restrict nms, const uint8_t *centre, ptrdiff_t pitch)
{
    score_chunk(rule, nms, centre, pitch);
}
VF_HOT_FLAT static void score_standard(struct rule rule, uint16_t *restrict nms, const uint8_t *centre, ptrdiff_t pitch)
{
    const struct rule standard = {rule.first, rule.low, 9, 16, VFRONT_SCORE_SAD_A};
    score_chunk(standard, nms, centre, pitch);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/** Index of row y in the ring buffer; y may be -1. */
static int32_t row_slot(int32_t y) { return (y + VF_NMS_RADIUS_MAX) % RING_ROWS; }

/** Scores of row y in the ring buffer, from column 0 on. */
static uint16_t *ring_row(const struct search *q, int32_t y) { return q->ring->nms[row_slot(y)] + VF_NMS_RADIUS_MAX; }

static struct rule rule_of(const struct vf_detect_tuning *t)
{
    const struct rule rule = {(uint8_t)t->detect_threshold,
                              (uint8_t)(t->detect_threshold_low ? t->detect_threshold_low : t->detect_threshold),
                              VF_DETECT_ARC, t->detect_arc_most, t->detect_score};
    return rule;
}

/** Writes the scores of row y within the limits of the search. The last chunk ends with the row, even if it overlaps
 *  the chunk before. In a row shorter than a chunk, pixels after its end are scored as well. */
static void score_chunks(const struct search *q, uint16_t *nms, int32_t y)
{
    const struct rule rule = rule_of(&q->step->tuning);
    const int standard = rule.arc == 9 && rule.arc_most == 16 && rule.score == VFRONT_SCORE_SAD_A;
    const uint8_t *row = q->pixels + (ptrdiff_t)y * q->pitch;
    const int32_t last_chunk = vf_max(q->limits.x_last + 1 - CHUNK, q->limits.x_first);
    uint8_t *candidate = q->ring->flag;
    quick_test(candidate, row, q->pitch, q->limits.x_first, last_chunk + CHUNK - 1, rule.low);
    for (int32_t x = q->limits.x_first; x < last_chunk + CHUNK; x += CHUNK) {
        const int32_t from = vf_min(x, last_chunk);
        if (any(candidate + from)) (standard ? score_standard : score_any)(rule, nms + from, row + from, q->pitch);
    }
}

/** Clears the scores of masked pixels of row y. */
static void mask_row(const struct search *q, uint16_t *nms, int32_t y)
{
    const int32_t pitch0 = q->step->geometry.scale[q->camera][0].pitch, y0 = vf_pixel0(y, q->step_q16);
    if (!q->framed && !q->step->masks.fixed[q->camera]) return;
    for (int32_t x = q->limits.x_first; x <= q->limits.x_last; x++)
        if (nms[x] && !vf_usable(&q->step->masks, q->camera, q->framed, y0 * pitch0 + vf_pixel0(x, q->step_q16)))
            nms[x] = 0;
}

/** Writes row y of the ring buffer: scores for non-maximum suppression, zeros outside the limits of the search. */
static void score_row(const struct search *q, int32_t y)
{
    uint16_t *nms = ring_row(q, y), *behind = nms + q->limits.x_last + 1;
    memset(nms - VF_NMS_RADIUS_MAX, 0, sizeof *nms * (size_t)(q->limits.x_last + 1 + VF_NMS_RADIUS_MAX));
    if (y >= q->limits.y_first && y <= q->limits.y_last) {
        score_chunks(q, nms, y);
        mask_row(q, nms, y);
    }
    memset(behind, 0, sizeof *nms * (CHUNK + VF_NMS_RADIUS_MAX));
}

/** Local maxima of a chunk: 1 where no pixel within radius r has a higher score for non-maximum suppression, or an
 *  equal score earlier in raster order. A score of 0 is never a maximum, since no earlier one is less. row: the 2 * r +
 *  1 rows around the chunk. */
static inline void find_maxima(uint8_t *restrict maximum, const uint16_t *const row[RING_ROWS], int32_t x, int32_t r)
{
    uint16_t earlier[CHUNK] = {0}, later[CHUNK] = {0};
    for (int32_t dy = -r; dy <= r; dy++)
        for (int32_t dx = -r; dx <= r; dx++) {
            const uint16_t *nms = row[dy + r] + x + dx;
            uint16_t *most = dy < 0 || (dy == 0 && dx < 0) ? earlier : later;
            if (dx == 0 && dy == 0) continue;
            VF_KEEP_LOOP
            for (int k = 0; k < CHUNK; k++) most[k] = MAX(most[k], nms[k]);
        }
    VF_KEEP_LOOP
    for (int k = 0; k < CHUNK; k++) maximum[k] = (earlier[k] < row[r][x + k]) & (later[k] <= row[r][x + k]);
}

/** Calls find_maxima() along a row for any radius. find_maxima_1(): for radius 1, the default, with unrolled loops. */
VF_HOT_FLAT static void find_maxima_any(uint8_t *restrict maximum, const uint16_t *const row[RING_ROWS], int32_t first,
                                        int32_t last, int32_t r)
{
    for (int32_t x = first; x <= last; x += CHUNK) find_maxima(maximum + x, row, x, r);
}
VF_HOT_FLAT static void find_maxima_1(uint8_t *restrict maximum, const uint16_t *const row[RING_ROWS], int32_t first,
                                      int32_t last)
{
    for (int32_t x = first; x <= last; x += CHUNK) find_maxima(maximum + x, row, x, 1);
}

/** Lists the columns of a row whose flag is set; flags after `last` must be 0. Returns their number. It first lists
 *  groups of eight columns with any flag, without branches, which would be mispredicted. */
static int32_t list_columns(const uint8_t *flag, int32_t first, int32_t last, uint16_t *column)
{
    uint16_t group[VFRONT_WIDTH / 8 + 1];
    int32_t groups = 0, count = 0;
    for (int32_t x = first; x <= last; x += 8) {
        uint64_t eight;
        memcpy(&eight, flag + x, sizeof eight);
        group[groups] = (uint16_t)x;
        groups += eight != 0;
    }
    for (int32_t i = 0; i < groups; i++)
        for (int32_t k = 0; k < 8; k++) {
            column[count] = (uint16_t)(group[i] + k);
            count += flag[group[i] + k];
        }
    return count;
}

/** Non-maximum suppression of row y: lists the columns of the local maxima. Returns their number. */
static int32_t suppress_row(const struct search *q, int32_t y)
{
    const int32_t first = q->limits.x_first, last = q->limits.x_last, r = q->step->tuning.detect_radius;
    uint8_t *maximum = q->ring->flag;
    const uint16_t *row[RING_ROWS];
    for (int32_t dy = -r; dy <= r; dy++) row[dy + r] = ring_row(q, y + dy);
    if (r == 1)
        find_maxima_1(maximum, row, first, last);
    else
        find_maxima_any(maximum, row, first, last, r);
    return list_columns(maximum, first, last, q->ring->column);
}

/* ---- rank and cells ---------------------------------------------------------------------------------------------- */

/** Sums the products of `count` gradients, in a separate loop that compilers vectorise. */
static inline struct vf_harris add_products(const int16_t *gx, const int16_t *gy, int32_t count)
{
    struct vf_harris h = {0, 0, 0};
    for (int i = 0; i < count; i++) vf_harris_add(&h, gx[i], gy[i]);
    return h;
}

/** Sums of gradient products over a window of side x side pixels, side 5 or 7. first: the pixel above and left of the
 *  window. Eight columns are processed, a whole vector: ten pixels of a row are read, and gradients outside the window
 *  are 0. */
VF_HOT static struct vf_harris sum_gradients(const uint8_t *first, ptrdiff_t pitch, int32_t side)
{
    static const int16_t counts[2][8] = {{1, 1, 1, 1, 1, 0, 0, 0}, {1, 1, 1, 1, 1, 1, 1, 0}};
    const int16_t *count = counts[side == 7];
    int16_t across[9][8], along[9][8]; /* rows after the 1D kernels -1 0 1 and 1 2 1 */
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

/** Sums of gradient products over 7x7 px, from a copy of the pixels, because sum_gradients() reads one column beyond
 *  VF_HARRIS_RADIUS. */
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

/** Raises the best key of a cell. Returns the lower of the old best and the new key. Writes *best in either case,
 *  because a branch would be mispredicted. */
static uint64_t raise_key(uint64_t *best, uint64_t key)
{
    const uint64_t so_far = *best, higher = key > so_far ? key : so_far, lower = key > so_far ? so_far : key;
    *best = higher;
    return lower;
}

/** Suppresses non-maxima of row y, scores the corners left, and raises the keys of their cells. */
static void collect_row(const struct search *q, int32_t y)
{
    const struct vf_detect_geometry *g = &q->step->geometry;
    const struct vf_detect_tuning *t = &q->step->tuning;
    const int32_t y0 = vf_pixel0(y, q->step_q16);
    const ptrdiff_t row = (ptrdiff_t)(y0 / t->cull_height_px) * g->culls_x[q->camera];
    uint64_t *corner = q->corner + y0 / t->cell_height_px * g->cells_x[q->camera];
    const uint16_t *nms = ring_row(q, y), *column = q->ring->column;
    const int32_t left = suppress_row(q, y);
    for (int32_t k = 0; k < left; k++) {
        const int32_t x = column[k], high = nms[x] >= VF_NMS_HIGH;
        const ptrdiff_t cull = row + q->ring->cull[x];
        uint64_t *best = q->best + cull, *second = q->second + cull, *cell = corner + q->ring->cell[x];
        const uint64_t most = vf_detect_key(high, 0xffffffffu, 0, 0, 0);
        /* a corner of the second threshold cannot replace keys that all pass the first threshold */
        if (*second > most && *cell > most) continue;
        uint32_t score = nms[x] % VF_NMS_HIGH;
        if (t->detect_rank) score = harris_score(t, score, q->pixels + (ptrdiff_t)y * q->pitch + x, q->pitch);
        const uint64_t key = vf_detect_key(high, score, q->level, x, y);
        raise_key(second, raise_key(best, key));
        raise_key(cell, key);
    }
}

/** Finds the culling cell, and the cell for new tracks, of each column of a level. */
static void find_cells(const struct search *q)
{
    const struct vf_detect_tuning *t = &q->step->tuning;
    for (int32_t x = q->limits.x_first; x <= q->limits.x_last; x++) {
        const int32_t x0 = vf_pixel0(x, q->step_q16);
        q->ring->cull[x] = (uint16_t)(x0 / t->cull_width_px);
        q->ring->cell[x] = (uint16_t)(x0 / t->cell_width_px);
    }
}

/** Searches one level of one camera. */
static void search_level(const struct vf_detect_view *s, struct ring *ring, int32_t camera, int32_t level)
{
    const int32_t r = s->tuning.detect_radius;
    const struct search q = {
        .step = s,
        .ring = ring,
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
    find_cells(&q);
    for (int32_t y = q.limits.y_first - r; y <= q.limits.y_last + r; y++) {
        score_row(&q, y);
        if (y - r >= q.limits.y_first) collect_row(&q, y - r);
    }
}

/** Clears the keys of a camera for the next frame. */
static void clear_next(const struct vf_detect_view *s, int32_t camera)
{
    const size_t bytes = sizeof(uint64_t) * (size_t)s->geometry.cull_slots[camera];
    memset(s->detect->best[s->parity ^ 1][camera], 0, bytes);
    memset(s->detect->second[s->parity ^ 1][camera], 0, bytes);
    memset(s->detect->corner[s->parity ^ 1][camera], 0, sizeof(uint64_t) * (size_t)s->geometry.cells[camera]);
}

void vf_detect_host(const struct vf_detect_view *s)
{
    struct ring ring;
    /* limited by a constant, so that compilers know the bound of the loop */
    const int32_t levels = vf_min(s->geometry.searched, VFRONT_SCALES);
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++) {
        clear_next(s, camera);
        for (int32_t level = 0; level < levels; level++) search_level(s, &ring, camera, level);
    }
}
