/* SPDX-License-Identifier: MIT */
/* Host form of detect: row by row, with a window of the last 2 * radius + 1 rows of ranks. The segment test of a whole row is plain
 * code over bytes that compilers turn into vectors; only the corners that it finds are ranked one by one. */
#include "stages.h"

/** Pixels that are sifted together: no less than a vector holds. */
#define STRETCH 32

/** The rows around the one being decided, in turn: ranks, with a margin of zeros on both sides, and the columns of the corners. */
#define WINDOW (2 * VF_RADIUS_MAX + 1)
struct window {
    uint16_t rank[WINDOW][VFRONT_WIDTH + 2 * VF_RADIUS_MAX];
    uint16_t column[WINDOW][VFRONT_WIDTH];
    int32_t count[WINDOW];
    uint8_t corner[VFRONT_WIDTH + STRETCH]; /* of one row; read a stretch at a time */
};

/** Corners that are ranked together: their circles and centres. */
#define BATCH 32
struct batch {
    uint8_t circle[16][BATCH], centre[BATCH];
};

/** One level of one camera under search. */
struct search {
    const struct vf_step *step;
    struct window *window;
    const uint8_t *pixels;
    uint64_t *best, *corner; /* of the level's culling cells, of the cells */
    int32_t camera, level, pitch, framed;
    uint32_t step_q16;
    int32_t x_first, x_last, y_first, y_last;
};

/* The segment test without a branch: of each run of `arc` pixels of the circle, the darkest and the brightest; the brightest of the
 * darkest, and the darkest of the brightest, say how far the centre may lie. Runs of 2, 4 and 8 pixels are folded from one another,
 * and a run of 9 to 12 from one of 8 and one of its last. */
#define LESS(a, b) ((a) < (b) ? (a) : (b))
#define MORE(a, b) ((a) > (b) ? (a) : (b))
#define SIXTEEN(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define TAKE(i, dx, dy) one[i] = c[(dy)*pitch + (dx)];
#define FOLD2(i) low2[i] = LESS(one[i], one[(i + 1) % 16]), high2[i] = MORE(one[i], one[(i + 1) % 16]);
#define FOLD4(i) low4[i] = LESS(low2[i], low2[(i + 2) % 16]), high4[i] = MORE(high2[i], high2[(i + 2) % 16]);
#define FOLD8(i) low8[i] = LESS(low4[i], low4[(i + 4) % 16]), high8[i] = MORE(high4[i], high4[(i + 4) % 16]);
#define FOLD_LAST(i, low_last, high_last)                                                                        \
    darkest = MORE(darkest, LESS(low8[i], low_last)), brightest = LESS(brightest, MORE(high8[i], high_last));
#define FOLD_9(i) FOLD_LAST(i, one[(i + 8) % 16], one[(i + 8) % 16])
#define FOLD_10(i) FOLD_LAST(i, low2[(i + 8) % 16], high2[(i + 8) % 16])
#define FOLD_11(i) FOLD_LAST(i, low4[(i + 7) % 16], high4[(i + 7) % 16])
#define FOLD_12(i) FOLD_LAST(i, low4[(i + 8) % 16], high4[(i + 8) % 16])
#define SEGMENT_TEST(arc)                                                                            \
    VF_HOT static void test_row_##arc(uint8_t *restrict corner, const uint8_t *row, ptrdiff_t pitch, int32_t first,         \
                                      int32_t last, uint8_t threshold)                                                       \
    {                                                                                                                        \
        for (int32_t x = first; x <= last; x++) {                                                                            \
            const uint8_t *c = row + x;                                                                                      \
            uint8_t one[16], low2[16], high2[16], low4[16], high4[16], low8[16], high8[16], darkest = 0, brightest = 255;    \
            VF_CIRCLE_PIXELS(TAKE)                                                                                           \
            SIXTEEN(FOLD2)                                                                                                   \
            SIXTEEN(FOLD4)                                                                                                   \
            SIXTEEN(FOLD8)                                                                                                   \
            SIXTEEN(FOLD_##arc)                                                                                              \
            const uint8_t above = (uint8_t)(darkest > *c ? darkest - *c : 0);                                                \
            const uint8_t below = (uint8_t)(*c > brightest ? *c - brightest : 0);                                            \
            corner[x] = (uint8_t)((above > threshold) | (below > threshold));                                                \
        }                                                                                                                    \
    }
SEGMENT_TEST(9)
SEGMENT_TEST(10)
SEGMENT_TEST(11)
SEGMENT_TEST(12)

/** Where the segment test may pass: of both pairs of opposite pixels on the axes, an arc of nine holds one. */
VF_HOT static void sift_row(uint8_t *restrict may, const uint8_t *row, ptrdiff_t pitch, int32_t first, int32_t last, uint8_t threshold)
{
    for (int32_t x = first; x <= last; x++) {
        const uint8_t *c = row + x, n = c[-3 * pitch], s = c[3 * pitch], w = c[-3], e = c[3];
        const uint8_t darkest = LESS(MORE(n, s), MORE(w, e)), brightest = MORE(LESS(n, s), LESS(w, e));
        const uint8_t above = (uint8_t)(darkest > *c ? darkest - *c : 0), below = (uint8_t)(*c > brightest ? *c - brightest : 0);
        may[x] = (uint8_t)((above > threshold) | (below > threshold));
    }
}

static int any_may(const uint8_t *may)
{
    uint64_t eight[STRETCH / 8];
    memcpy(eight, may, sizeof eight);
    return (eight[0] | eight[1] | eight[2] | eight[3]) != 0;
}

/** Scores of a batch at one threshold, by a loop for each kind of score that compilers turn into vectors. */
#define SCORE_BATCH(name, kind)                                                                                              \
    VF_HOT static void name(uint16_t *restrict score, const struct batch *restrict b, int32_t threshold, int32_t arc,       \
                            int32_t most)                                                                                    \
    {                                                                                                                        \
        for (int32_t k = 0; k < BATCH; k++) {                                                                                \
            const int32_t circle[16] = {SIXTEEN(OF_BATCH)};                                                                  \
            score[k] = (uint16_t)vf_detect_test(circle, b->centre[k], threshold, arc, most, kind);                           \
        }                                                                                                                    \
    }
#define OF_BATCH(i) b->circle[i][k],
SCORE_BATCH(score_sad_b, VFRONT_SCORE_SAD_B)
SCORE_BATCH(score_sad_a, VFRONT_SCORE_SAD_A)
SCORE_BATCH(score_mt, VFRONT_SCORE_MT)

/** Ranks the corners at the columns x[0..count) of row y. */
static void rank_corners(const struct search *q, uint16_t *rank, const uint16_t *x, int32_t count, int32_t y)
{
    static void (*const score[])(uint16_t *, const struct batch *, int32_t, int32_t, int32_t) = {score_sad_b, score_sad_a, score_mt};
    const vfront_tuning_t *t = &q->step->tuning;
    struct batch b;
    uint16_t strong[BATCH], weak[BATCH] = {0};
    for (int32_t k = 0; k < BATCH; k++) {
        const uint8_t *c = q->pixels + (ptrdiff_t)y * q->pitch + x[k < count ? k : 0];
#define PUT(i, dx, dy) b.circle[i][k] = c[(dy)*q->pitch + (dx)];
        VF_CIRCLE_PIXELS(PUT)
#undef PUT
        b.centre[k] = *c;
    }
    score[t->detect_score](strong, &b, t->detect_threshold, t->detect_arc, t->detect_arc_most);
    int missed = 0;
    for (int32_t k = 0; k < count; k++) missed |= !strong[k];
    if (t->detect_threshold_low && missed) score[t->detect_score](weak, &b, t->detect_threshold_low, t->detect_arc, t->detect_arc_most);
    for (int32_t k = 0; k < count; k++)
        if (vf_usable(q->step, q->camera, q->framed, vf_pixel0(x[k], q->step_q16), vf_pixel0(y, q->step_q16)))
            rank[x[k]] = (uint16_t)vf_detect_rank(strong[k], weak[k]);
}

/** Where a row's ranks and corners stand in the window. */
static int32_t turn(int32_t y)
{
    return (y + VF_RADIUS_MAX) % WINDOW; /* y may be -1 */
}
static uint16_t *window_row(const struct search *q, int32_t y) { return q->window->rank[turn(y)] + VF_RADIUS_MAX; }

/** Columns where corner[] is 1; returns how many. */
static int32_t list_corners(const uint8_t *corner, int32_t first, int32_t last, uint16_t *column)
{
    int32_t count = 0;
    for (int32_t x = first; x <= last; x += 8) {
        uint64_t eight;
        memcpy(&eight, corner + x, sizeof eight);
        if (!eight) continue;
        for (int32_t k = x; k <= last && k < x + 8; k++) {
            column[count] = (uint16_t)k;
            count += corner[k];
        }
    }
    return count;
}

/** Ranks of row y, zeros outside the search. */
static void rank_row(const struct search *q, int32_t y)
{
    uint16_t *rank = window_row(q, y);
    int32_t *count = &q->window->count[turn(y)];
    *count = 0;
    memset(rank - VF_RADIUS_MAX, 0, sizeof *rank * (size_t)(q->x_last + 1 + 2 * VF_RADIUS_MAX));
    if (y < q->y_first || y > q->y_last) return;
    static void (*const test_row[])(uint8_t *, const uint8_t *, ptrdiff_t, int32_t, int32_t, uint8_t) = {test_row_9, test_row_10,
                                                                                                       test_row_11, test_row_12};
    const vfront_tuning_t *t = &q->step->tuning;
    const int32_t threshold = t->detect_threshold_low ? t->detect_threshold_low : t->detect_threshold;
    uint8_t *corner = q->window->corner;
    const uint8_t *pixels = q->pixels + (ptrdiff_t)y * q->pitch;
    sift_row(corner, pixels, q->pitch, q->x_first, q->x_last, (uint8_t)threshold);
    memset(corner + q->x_last + 1, 0, STRETCH);
    for (int32_t x = q->x_first; x <= q->x_last; x += STRETCH)
        if (any_may(corner + x))
            test_row[t->detect_arc - 9](corner, pixels, q->pitch, x, vf_min(x + STRETCH - 1, q->x_last), (uint8_t)threshold);
    uint16_t *column = q->window->column[turn(y)];
    *count = list_corners(corner, q->x_first, q->x_last, column);
    for (int32_t k = 0; k < *count; k += BATCH) rank_corners(q, rank, column + k, vf_min(*count - k, BATCH), y);
}

static int suppressed(const struct search *q, int32_t x, int32_t y, uint32_t rank)
{
    const int32_t r = q->step->tuning.detect_radius;
    for (int32_t dy = -r; dy <= r; dy++) {
        const uint16_t *row = window_row(q, y + dy) + x;
        const int earlier = dy < 0;
        for (int32_t dx = -r; dx <= r; dx++)
            if (row[dx] > rank || (row[dx] == rank && (earlier || (dy == 0 && dx < 0)))) return 1;
    }
    return 0;
}

/** A loop of its own, because compilers know this one by heart. */
static inline struct vf_harris add_products(const int16_t *gx, const int16_t *gy)
{
    int32_t xx = 0, yy = 0, xy = 0;
    for (int i = 0; i < 7 * 8; i++) {
        xx += gx[i] * gx[i];
        yy += gy[i] * gy[i];
        xy += gx[i] * gy[i];
    }
    const struct vf_harris h = {xx, yy, xy};
    return h;
}

/** Ranks a corner anew by the Harris response around it. Rows are worked on eight columns at a time, which is what vectors are made of;
 *  columns and rows that do not count are taken out before the products are added up. */
VF_HOT static uint32_t harris_ranking(const vfront_tuning_t *t, uint32_t corner_score, const uint8_t *centre, ptrdiff_t pitch)
{
    static const int16_t counts[2][8] = {{1, 1, 1, 1, 1, 1, 1, 0}, {0, 1, 1, 1, 1, 1, 0, 0}};
    const int inner = t->detect_rank == 2;
    int16_t across[9][8], along[9][8]; /* of each row: difference of the neighbours, and their weighted sum */
    int16_t gx[7 * 8], gy[7 * 8];
    for (int r = 0; r < 9; r++) {
        uint8_t row[16] = {0};
        memcpy(row, centre + (r - VF_HARRIS) * pitch - VF_HARRIS, 9);
        for (int k = 0; k < 8; k++) {
            across[r][k] = (int16_t)(row[k + 2] - row[k]);
            along[r][k] = (int16_t)(row[k] + 2 * row[k + 1] + row[k + 2]);
        }
    }
    for (int r = 0; r < 7; r++) {
        const int16_t row_counts = !inner || (r > 0 && r < 6);
        for (int k = 0; k < 8; k++) {
            const int16_t count = (int16_t)(row_counts * counts[inner][k]);
            gx[8 * r + k] = (int16_t)(count * (across[r][k] + 2 * across[r + 1][k] + across[r + 2][k]));
            gy[8 * r + k] = (int16_t)(count * (along[r + 2][k] - along[r][k]));
        }
    }
    const struct vf_harris h = add_products(gx, gy);
    return vf_detect_ranking(t, corner_score, h, h);
}

static void keep(uint64_t *best, uint64_t key)
{
    if (key > *best) *best = key;
}

static void keep_row(const struct search *q, int32_t y)
{
    const struct vf_geometry *g = &q->step->geometry;
    const vfront_tuning_t *t = &q->step->tuning;
    const int32_t y0 = vf_pixel0(y, q->step_q16);
    uint64_t *best = q->best + y0 / t->cull_height_px * g->culls_x[q->camera];
    uint64_t *corner = q->corner + y0 / t->cell_height_px * g->cells_x[q->camera];
    const uint16_t *rank = window_row(q, y), *column = q->window->column[turn(y)];
    for (int32_t k = 0; k < q->window->count[turn(y)]; k++) {
        const int32_t x = column[k];
        if (!rank[x] || suppressed(q, x, y, rank[x])) continue;
        uint32_t score = rank[x] % VF_RANK_STRONG;
        if (t->detect_rank) score = harris_ranking(t, score, q->pixels + (ptrdiff_t)y * q->pitch + x, q->pitch);
        const uint64_t key = vf_detect_key(rank[x] >= VF_RANK_STRONG, score, q->level, x, y);
        const int32_t x0 = vf_pixel0(x, q->step_q16);
        keep(best + x0 / t->cull_width_px, key);
        keep(corner + x0 / t->cell_width_px, key);
    }
}

static void search_level(const struct vf_step *s, struct window *window, int32_t camera, int32_t level)
{
    const struct vf_level *l = &s->geometry.scale[camera][level], *l0 = &s->geometry.scale[camera][0];
    const int32_t border = s->tuning.detect_border_px, r = s->tuning.detect_radius, margin = vf_detect_margin(&s->tuning);
    const uint32_t step_q16 = s->geometry.step_q16[level];
    const struct search q = {
        .step = s,
        .window = window,
        .pixels = vf_scale_pixels(s, camera, level),
        .best = s->memory->detect.best[camera] + level * vf_culls(&s->geometry, camera),
        .corner = s->memory->detect.corner[camera],
        .camera = camera,
        .level = level,
        .pitch = l->pitch,
        .framed = vf_framed(s, camera),
        .step_q16 = step_q16,
        .x_first = vf_detect_first(step_q16, border, margin),
        .x_last = vf_detect_last(step_q16, border, margin, l->width, l0->width),
        .y_first = vf_detect_first(step_q16, border, margin),
        .y_last = vf_detect_last(step_q16, border, margin, l->height, l0->height),
    };
    if (q.x_first > q.x_last || q.y_first > q.y_last) return;
    for (int32_t y = q.y_first - r; y <= q.y_last + r; y++) {
        rank_row(&q, y);
        if (y - r >= q.y_first) keep_row(&q, y - r);
    }
}

void vf_detect_host(const struct vf_step *s)
{
    struct window window;
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++)
        for (int32_t level = 0; level < vf_scales(s); level++) search_level(s, &window, camera, level);
}
