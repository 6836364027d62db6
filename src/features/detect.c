/* SPDX-License-Identifier: MIT */
/* Host form of detect: row by row, with a window of the last 2 * radius + 1 rows of ranks. The segment test of a whole row is plain
 * code over bytes that compilers turn into vectors; the corners that it finds are ranked in batches. */
#include "core/stages.h"

/** Pixels that are sifted together: no less than a vector holds. */
#define STRETCH 32

/** Corners that are ranked together: their circles and centres. */
#define BATCH 32
struct batch {
    uint8_t circle[16][BATCH], centre[BATCH];
};

/** The rows around the one being decided, in turn: ranks, with a margin of zeros on both sides, and the columns of the corners. */
#define WINDOW (2 * VF_RADIUS_MAX + 1)
struct window {
    uint16_t rank[WINDOW][VFRONT_WIDTH + 2 * VF_RADIUS_MAX];
    uint16_t column[WINDOW][VFRONT_WIDTH];
    int32_t count[WINDOW];
    uint8_t corner[VFRONT_WIDTH + STRETCH]; /* of one row; read a stretch at a time */
    struct batch batch;                     /* of one row; what it does not fill is of another, and not looked at */
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
 * darkest, and the darkest of the brightest, say how far the centre may lie. Two runs that start side by side share all but their ends,
 * so every other inner part will do, folded from runs of 2, 4 and 8 pixels, with the better of the two ends. */
#define LESS(a, b) ((a) < (b) ? (a) : (b))
#define MORE(a, b) ((a) > (b) ? (a) : (b))
#define ODD(X) X(1) X(3) X(5) X(7) X(9) X(11) X(13) X(15)
#define TAKE(i, dx, dy) one[i] = c[(dy)*pitch + (dx)];
#define FOLD2(i) low2[i] = LESS(one[i], one[(i + 1) % 16]), high2[i] = MORE(one[i], one[(i + 1) % 16]);
#define FOLD4(i) low4[i] = LESS(low2[i], low2[(i + 2) % 16]), high4[i] = MORE(high2[i], high2[(i + 2) % 16]);
#define FOLD8(i) low8[i] = LESS(low4[i], low4[(i + 4) % 16]), high8[i] = MORE(high4[i], high4[(i + 4) % 16]);
#define FOLD_ENDS(low, high, a, b)                                                                                     \
    darkest = MORE(darkest, LESS(low, MORE(a, b))), brightest = LESS(brightest, MORE(high, LESS(a, b)));
#define FOLD_9(i) FOLD_ENDS(low8[i], high8[i], one[i - 1], one[(i + 8) % 16])
#define FOLD_10(i)                                                                                                     \
    FOLD_ENDS(LESS(low8[i], one[(i + 8) % 16]), MORE(high8[i], one[(i + 8) % 16]), one[i - 1], one[(i + 9) % 16])
#define FOLD_11(i)                                                                                                     \
    FOLD_ENDS(LESS(low8[i], low2[(i + 8) % 16]), MORE(high8[i], high2[(i + 8) % 16]), one[i - 1], one[(i + 10) % 16])
#define FOLD_12(i)                                                                                                     \
    FOLD_ENDS(LESS(LESS(low8[i], low2[(i + 8) % 16]), one[(i + 10) % 16]),                                             \
              MORE(MORE(high8[i], high2[(i + 8) % 16]), one[(i + 10) % 16]), one[i - 1], one[(i + 11) % 16])

/** Whether the pixels of a stretch are corners. Its length is fixed, so that nothing of it is left over for a loop without vectors. */
#define SEGMENT_TEST(arc)                                                                                              \
    VF_HOT static void test_##arc(uint8_t *restrict corner, const uint8_t *stretch, ptrdiff_t pitch,                   \
                                  uint8_t threshold)                                                                   \
    {                                                                                                                  \
        for (int32_t x = 0; x < STRETCH; x++) {                                                                        \
            const uint8_t *c = stretch + x;                                                                            \
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

/** Where the segment test may pass: of both pairs of opposite pixels on the axes, an arc of nine holds one. */
VF_HOT static void sift(uint8_t *restrict may, const uint8_t *row, ptrdiff_t pitch, int32_t first, int32_t last,
                        uint8_t threshold)
{
    for (int32_t x = first; x <= last; x++) {
        const uint8_t *c = row + x, n = c[-3 * pitch], s = c[3 * pitch], w = c[-3], e = c[3];
        const uint8_t darkest = LESS(MORE(n, s), MORE(w, e)), brightest = MORE(LESS(n, s), LESS(w, e));
        const uint8_t above = (uint8_t)(darkest > *c ? darkest - *c : 0),
                      below = (uint8_t)(*c > brightest ? *c - brightest : 0);
        may[x] = (uint8_t)((above > threshold) | (below > threshold));
    }
}

static int any(const uint8_t *may)
{
    uint64_t eight[STRETCH / 8];
    memcpy(eight, may, sizeof eight);
    return (eight[0] | eight[1] | eight[2] | eight[3]) != 0;
}

/** Sets corner[x] for the pixels of a row from the first to the last, and 0 behind. The last stretch ends with the row, even if it
 *  overlaps the one before; where the row is shorter than a stretch, what lies behind it on the level is tested as well. */
static void test_row(const struct search *q, uint8_t *corner, int32_t y)
{
    static void (*const test[])(uint8_t *, const uint8_t *, ptrdiff_t, uint8_t) = {test_9, test_10, test_11, test_12};
    const vfront_tuning_t *t = &q->step->tuning;
    const uint8_t threshold = (uint8_t)(t->detect_threshold_low ? t->detect_threshold_low : t->detect_threshold);
    const uint8_t *row = q->pixels + (ptrdiff_t)y * q->pitch;
    const int32_t last_stretch = vf_max(q->x_last + 1 - STRETCH, q->x_first);
    sift(corner, row, q->pitch, q->x_first, last_stretch + STRETCH - 1, threshold);
    for (int32_t x = q->x_first; x < last_stretch + STRETCH; x += STRETCH) {
        const int32_t from = vf_min(x, last_stretch);
        if (any(corner + from)) test[t->detect_arc - 9](corner + from, row + from, q->pitch, threshold);
    }
    memset(corner + q->x_last + 1, 0, STRETCH);
}

/* Corners are ranked a batch at a time, by plain loops over bytes. */

/** How far the pixels of each circle are brighter than the centre of a corner that is darker than its arc, or darker where it is brighter
 *  [grey levels]. Which of the two it is: an arc of nine holds a pixel of each pair of opposite ones, and both of one pair. */
VF_HOT static void turn_bright(uint8_t (*restrict far)[BATCH], const struct batch *restrict b)
{
    uint8_t darkest[BATCH], flip[BATCH];
    memset(darkest, 255, sizeof darkest);
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < BATCH; k++) darkest[k] = LESS(darkest[k], MORE(b->circle[i][k], b->circle[i + 8][k]));
    for (int k = 0; k < BATCH; k++) flip[k] = darkest[k] > b->centre[k] ? 0 : 255;
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < BATCH; k++) {
            const uint8_t at = b->circle[i][k] ^ flip[k], centre = b->centre[k] ^ flip[k];
            far[i][k] = (uint8_t)(at > centre ? at - centre : 0);
        }
}

/** to[i] is the least of from[i] and from[i + step], around the circle. */
VF_HOT static void fold_least(uint8_t (*restrict to)[BATCH], uint8_t (*restrict from)[BATCH], int step)
{
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < BATCH; k++) to[i][k] = LESS(from[i][k], from[(i + step) % 16][k]);
}

/** The same of the most, and of from[i - step]. */
VF_HOT static void fold_most(uint8_t (*restrict to)[BATCH], uint8_t (*restrict from)[BATCH], int step)
{
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < BATCH; k++) to[i][k] = MORE(from[i][k], from[(i - step) & 15][k]);
}

VF_HOT static void most_of_all(uint8_t *restrict most, uint8_t (*restrict from)[BATCH])
{
    memset(most, 0, BATCH);
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < BATCH; k++) most[k] = MORE(most[k], from[i][k]);
}

/** Sum over the arc, which is all pixels of the runs whose least is above the threshold. */
VF_HOT static void sum_arc(uint16_t *restrict score, uint8_t (*restrict far)[BATCH], uint8_t (*restrict spread)[BATCH],
                           const uint8_t *restrict threshold)
{
    memset(score, 0, BATCH * sizeof *score);
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < BATCH; k++) {
            const uint8_t counted = spread[i][k] > threshold[k] ? 255 : 0;
            score[k] = (uint16_t)(score[k] + (counted & far[i][k]));
        }
}

/** Sum over the whole circle. */
VF_HOT static void sum_circle(uint16_t *restrict score, const struct batch *restrict b)
{
    memset(score, 0, BATCH * sizeof *score);
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < BATCH; k++) {
            const uint8_t at = b->circle[i][k], centre = b->centre[k];
            score[k] = (uint16_t)(score[k] + (at > centre ? at - centre : centre - at));
        }
}

/** Ranks from scores. At all thresholds below `reach` some arc is long enough, and below `spot` too long. */
VF_HOT static void rank_scores(uint16_t *restrict rank, const uint8_t *restrict reach, const uint8_t *restrict spot,
                               uint8_t first, uint8_t low)
{
    for (int k = 0; k < BATCH; k++) {
        const int strong = (reach[k] > first) & (spot[k] <= first), weak = (reach[k] > low) & (spot[k] <= low);
        rank[k] = (uint16_t)(strong ? rank[k] + VF_RANK_STRONG : weak ? rank[k] : 0);
    }
}

/** Gives each pixel the best of the runs that it is part of, from that of the run that starts with it. */
static void spread_runs(uint8_t (*run)[BATCH], uint8_t (*other)[BATCH], int32_t arc)
{
    fold_most(other, run, 1);
    fold_most(run, other, 2);
    fold_most(other, run, 4);
    fold_most(run, other, arc - 8);
}

/** vf_detect_rank(), of a batch of pixels of which each passes the segment test at the low threshold, but may be a spot. */
static void rank_batch(const vfront_tuning_t *t, uint16_t *rank, const struct batch *b)
{
    const uint8_t first = (uint8_t)t->detect_threshold,
                  low = (uint8_t)(t->detect_threshold_low ? t->detect_threshold_low : first);
    uint8_t far[16][BATCH], one[16][BATCH], two[16][BATCH], reach[BATCH], spot[BATCH] = {0}, threshold[BATCH];
    turn_bright(far, b);
    fold_least(one, far, 1);
    fold_least(two, one, 2);
    fold_least(one, two, 4);
    if (t->detect_arc_most < 16) {
        fold_least(two, one, t->detect_arc_most - 7);
        most_of_all(spot, two);
    }
    fold_least(two, one, t->detect_arc - 8);
    most_of_all(reach, two);
    if (t->detect_score == VFRONT_SCORE_SAD_A) {
        for (int k = 0; k < BATCH; k++) threshold[k] = reach[k] > first && spot[k] <= first ? first : low;
        spread_runs(two, one, t->detect_arc);
        sum_arc(rank, far, two, threshold);
    } else if (t->detect_score == VFRONT_SCORE_SAD_B) {
        sum_circle(rank, b);
    } else {
        for (int k = 0; k < BATCH; k++) rank[k] = (uint16_t)(reach[k] - 1);
    }
    rank_scores(rank, reach, spot, first, low);
}

/** Fills a batch with the corners at the columns x[0..count) of row y. */
static void fill_batch(struct batch *b, const struct search *q, const uint16_t *x, int32_t count, int32_t y)
{
    const uint8_t *row[2 * VF_CIRCLE + 1];
    for (int32_t k = -VF_CIRCLE; k <= VF_CIRCLE; k++) row[k + VF_CIRCLE] = q->pixels + (ptrdiff_t)(y + k) * q->pitch;
    for (int32_t k = 0; k < count; k++) {
#define PUT(i, dx, dy) b->circle[i][k] = row[(dy) + VF_CIRCLE][x[k] + (dx)];
        VF_CIRCLE_PIXELS(PUT)
#undef PUT
        b->centre[k] = row[VF_CIRCLE][x[k]];
    }
}

/** Ranks the corners at the columns x[0..count) of row y. */
static void rank_corners(const struct search *q, uint16_t *rank, const uint16_t *x, int32_t count, int32_t y)
{
    const int masked = q->framed || q->step->geometry.masked[q->camera];
    uint16_t found[BATCH];
    fill_batch(&q->window->batch, q, x, count, y);
    rank_batch(&q->step->tuning, found, &q->window->batch);
    for (int32_t k = 0; k < count; k++)
        if (!masked ||
            vf_usable(q->step, q->camera, q->framed, vf_pixel0(x[k], q->step_q16), vf_pixel0(y, q->step_q16)))
            rank[x[k]] = found[k];
}

/** Where a row's ranks and corners stand in the window. */
static int32_t turn(int32_t y) { return (y + VF_RADIUS_MAX) % WINDOW; /* y may be -1 */ }
static uint16_t *window_row(const struct search *q, int32_t y) { return q->window->rank[turn(y)] + VF_RADIUS_MAX; }

/** Columns where corner[] is 1, which it is not behind the last; returns how many. First those of eight that hold one: few do, and which
 *  is hard to guess, so nothing is branched on. */
static int32_t list_corners(const uint8_t *corner, int32_t first, int32_t last, uint16_t *column)
{
    uint16_t some[VFRONT_WIDTH / 8 + 1];
    int32_t somes = 0, count = 0;
    for (int32_t x = first; x <= last; x += 8) {
        uint64_t eight;
        memcpy(&eight, corner + x, sizeof eight);
        some[somes] = (uint16_t)x;
        somes += eight != 0;
    }
    for (int32_t i = 0; i < somes; i++)
        for (int32_t k = 0; k < 8; k++) {
            column[count] = (uint16_t)(some[i] + k);
            count += corner[some[i] + k];
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
    uint8_t *corner = q->window->corner;
    test_row(q, corner, y);
    uint16_t *column = q->window->column[turn(y)];
    *count = list_corners(corner, q->x_first, q->x_last, column);
    for (int32_t k = 0; k < *count; k += BATCH) rank_corners(q, rank, column + k, vf_min(*count - k, BATCH), y);
}

/** Whether a pixel within radius r has a higher rank than that in the middle of these rows, or the same and comes earlier. Without a
 *  branch on ranks: they are hard to guess. */
static inline int suppressed(const uint16_t *const row[WINDOW], int32_t x, int32_t r)
{
    uint16_t earlier = 0, later = 0;
    for (int32_t dy = -r; dy <= r; dy++)
        for (int32_t dx = -r; dx <= r; dx++) {
            const uint16_t rank = row[dy + r][x + dx];
            if (dy < 0 || (dy == 0 && dx < 0)) earlier = MORE(earlier, rank);
            if (dy > 0 || (dy == 0 && dx > 0)) later = MORE(later, rank);
        }
    return (earlier >= row[r][x]) | (later > row[r][x]);
}

/** Leaves those of a row's columns whose corners stay; returns how many. The smallest radius, which is standard, has code of its own.
 *  A rank of 0 does not stay: nothing earlier is less. */
static int32_t leave_best(const struct search *q, int32_t y)
{
    const int32_t count = q->window->count[turn(y)], r = q->step->tuning.detect_radius;
    uint16_t *column = q->window->column[turn(y)];
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

/** A loop of its own, because compilers know this one by heart. */
static inline struct vf_harris add_products(const int16_t *gx, const int16_t *gy, int32_t count)
{
    int32_t xx = 0, yy = 0, xy = 0;
    for (int i = 0; i < count; i++) {
        xx += gx[i] * gx[i];
        yy += gy[i] * gy[i];
        xy += gx[i] * gy[i];
    }
    const struct vf_harris h = {xx, yy, xy};
    return h;
}

/** Sums over side x side pixels, side 5 or 7. `first` is the pixel before them on the row before them. Rows are worked on eight columns
 *  at a time, which is what vectors are made of: ten pixels of a row are read, and what does not count is taken out. */
VF_HOT static struct vf_harris sum_gradients(const uint8_t *first, ptrdiff_t pitch, int32_t side)
{
    static const int16_t counts[2][8] = {{1, 1, 1, 1, 1, 0, 0, 0}, {1, 1, 1, 1, 1, 1, 1, 0}};
    const int16_t *count = counts[side == 7];
    int16_t across[9][8], along[9][8]; /* of each row: difference of the neighbours, and their weighted sum */
    int16_t gx[7 * 8], gy[7 * 8];
    for (int r = 0; r < side + 2; r++) {
        const uint8_t *row = first + r * pitch;
        for (int k = 0; k < 8; k++) {
            across[r][k] = (int16_t)(count[k] * (row[k + 2] - row[k]));
            along[r][k] = (int16_t)(count[k] * (row[k] + 2 * row[k + 1] + row[k + 2]));
        }
    }
    for (int r = 0; r < side; r++)
        for (int k = 0; k < 8; k++) {
            gx[8 * r + k] = (int16_t)(across[r][k] + 2 * across[r + 1][k] + across[r + 2][k]);
            gy[8 * r + k] = (int16_t)(along[r + 2][k] - along[r][k]);
        }
    return add_products(gx, gy, 8 * side);
}

/** Copied, because what is read beyond the pixels that count may not lie on the level: corners are VF_HARRIS from its edges. */
static struct vf_harris sum_gradients_7(const uint8_t *centre, ptrdiff_t pitch)
{
    uint8_t room[9][16] = {{0}};
    for (int r = 0; r < 9; r++) memcpy(room[r], centre + (r - VF_HARRIS) * pitch - VF_HARRIS, 9);
    return sum_gradients(*room, 16, 7);
}

/** Ranks a corner anew by the Harris response around it. */
static uint32_t harris_ranking(const vfront_tuning_t *t, uint32_t corner_score, const uint8_t *centre, ptrdiff_t pitch)
{
    struct vf_harris seven = {0, 0, 0}, five = {0, 0, 0};
    if (t->detect_rank == 1)
        seven = sum_gradients_7(centre, pitch);
    else
        five = sum_gradients(centre - 3 * pitch - 3, pitch, 5);
    return vf_detect_ranking(t, corner_score, seven, five);
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
    const int32_t left = leave_best(q, y);
    for (int32_t k = 0; k < left; k++) {
        const int32_t x = column[k], x0 = vf_pixel0(x, q->step_q16), strong = rank[x] >= VF_RANK_STRONG;
        uint64_t *cull = best + x0 / t->cull_width_px, *cell = corner + x0 / t->cell_width_px;
        const uint64_t most = vf_detect_key(strong, 0xffffffffu, 0, 0, 0);
        if (*cull > most && *cell > most) continue; /* a weak corner, where strong ones have been found */
        uint32_t score = rank[x] % VF_RANK_STRONG;
        if (t->detect_rank) score = harris_ranking(t, score, q->pixels + (ptrdiff_t)y * q->pitch + x, q->pitch);
        const uint64_t key = vf_detect_key(strong, score, q->level, x, y);
        keep(cull, key);
        keep(cell, key);
    }
}

static void search_level(const struct vf_step *s, struct window *window, int32_t camera, int32_t level)
{
    const struct vf_level *l = &s->geometry.scale[camera][level], *l0 = &s->geometry.scale[camera][0];
    const int32_t border = s->tuning.detect_border_px, r = s->tuning.detect_radius,
                  margin = vf_detect_margin(&s->tuning);
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
    memset(&window.batch, 0, sizeof window.batch);
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++)
        for (int32_t level = 0; level < vf_scales(s); level++) search_level(s, &window, camera, level);
}
