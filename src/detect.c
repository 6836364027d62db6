/* SPDX-License-Identifier: MIT */
/* Host form of detect: row by row, with a window of the last 2 * radius + 1 rows of ranks. A row is first sifted by a test that
 * vectorises and that every corner passes; what is left, a few percent, gets the full one. */
#include "stages.h"

/** Ranks of the rows around the one being decided, with a margin of zeros on both sides. */
struct window {
    uint16_t rank[2 * VF_RADIUS_MAX + 1][VFRONT_WIDTH + 2 * VF_RADIUS_MAX];
    uint8_t sieve[VFRONT_WIDTH];
};

/** One level of one camera under search. */
struct search {
    const struct vf_step *step;
    struct window *window;
    const uint8_t *pixels;
    int32_t camera, level, pitch;
    int32_t x_first, x_last, y_first, y_last;
};

/** sieve[x] = 0 where the pixel cannot be a corner: of each of the eight pairs of opposite pixels of the circle, an arc of nine
 *  holds at least one. */
VF_HOT static void sift_row(uint8_t *restrict sieve, const uint8_t *row, ptrdiff_t pitch, int32_t first, int32_t last, int32_t threshold)
{
    const uint8_t t = (uint8_t)threshold;
    for (int32_t x = first; x <= last; x++) {
        const uint8_t *c = row + x;
        uint8_t least = 255, most = 0;
#define PAIR(ax, ay)                                                             \
    {                                                                            \
        const uint8_t a = c[(ay)*pitch + (ax)], b = c[-((ay)*pitch) - (ax)];     \
        const uint8_t high = a > b ? a : b, low = a > b ? b : a;                 \
        least = high < least ? high : least;                                     \
        most = low > most ? low : most;                                          \
    }
        PAIR(0, -3) PAIR(1, -3) PAIR(2, -2) PAIR(3, -1) PAIR(3, 0) PAIR(3, 1) PAIR(2, 2) PAIR(1, 3)
#undef PAIR
        const uint8_t above = (uint8_t)(least > *c ? least - *c : 0), below = (uint8_t)(*c > most ? *c - most : 0);
        sieve[x] = (uint8_t)((above > t) | (below > t));
    }
}

static uint32_t rank_pixel(const struct search *q, int32_t x, int32_t y)
{
    const uint8_t *c = q->pixels + (ptrdiff_t)y * q->pitch + x;
    int32_t circle[16];
#define LOAD(i, dx, dy) circle[i] = c[(ptrdiff_t)(dy)*q->pitch + (dx)];
    VF_CIRCLE_PIXELS(LOAD)
#undef LOAD
    const uint32_t rank = vf_detect_rank(circle, *c, &q->step->tuning);
    if (!rank) return 0;
    return vf_usable(q->step, q->camera, vf_detect_pixel0(x, q->level), vf_detect_pixel0(y, q->level)) ? rank : 0;
}

static uint16_t *window_row(const struct search *q, int32_t y)
{
    return q->window->rank[(y + VF_RADIUS_MAX) % (2 * VF_RADIUS_MAX + 1)] + VF_RADIUS_MAX; /* y may be -1 */
}

/** Ranks of row y, zeros outside the search. */
static void rank_row(const struct search *q, int32_t y)
{
    uint16_t *rank = window_row(q, y);
    memset(rank - VF_RADIUS_MAX, 0, sizeof q->window->rank[0]);
    if (y < q->y_first || y > q->y_last) return;
    const vfront_tuning_t *t = &q->step->tuning;
    const int32_t threshold = t->detect_threshold_low ? vf_min(t->detect_threshold_low, t->detect_threshold) : t->detect_threshold;
    uint8_t *sieve = q->window->sieve;
    sift_row(sieve, q->pixels + (ptrdiff_t)y * q->pitch, q->pitch, q->x_first, q->x_last, threshold);
    for (int32_t x = q->x_first; x <= q->x_last; x++)
        if (sieve[x]) rank[x] = (uint16_t)rank_pixel(q, x, y);
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

static void keep_row(const struct search *q, int32_t y)
{
    const struct vf_geometry *g = &q->step->geometry;
    const vfront_tuning_t *t = &q->step->tuning;
    uint64_t *best = q->step->memory->detect.best[q->camera]
                     + vf_detect_pixel0(y, q->level) / t->cell_height_px * g->cells_x[q->camera];
    const uint16_t *rank = window_row(q, y);
    for (int32_t x = q->x_first; x <= q->x_last; x++) {
        if (!rank[x] || suppressed(q, x, y, rank[x])) continue;
        uint64_t *cell = best + vf_detect_pixel0(x, q->level) / t->cell_width_px;
        const uint64_t key = vf_detect_key(rank[x], q->level, x, y);
        if (key > *cell) *cell = key;
    }
}

static void search_level(const struct vf_step *s, struct window *window, int32_t camera, int32_t level)
{
    const struct vf_level *l = &s->geometry.level[camera][level], *l0 = &s->geometry.level[camera][0];
    const int32_t border = s->tuning.detect_border_px, r = s->tuning.detect_radius;
    const struct search q = {
        .step = s,
        .window = window,
        .pixels = vf_level_pixels(s, s->parity, camera, level),
        .camera = camera,
        .level = level,
        .pitch = l->pitch,
        .x_first = vf_detect_first(level, border),
        .x_last = vf_detect_last(level, border, l->width, l0->width),
        .y_first = vf_detect_first(level, border),
        .y_last = vf_detect_last(level, border, l->height, l0->height),
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
        for (int32_t level = 0; level < vf_min(s->geometry.levels, s->tuning.detect_levels); level++)
            search_level(s, &window, camera, level);
}
