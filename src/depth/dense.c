/* SPDX-License-Identifier: MIT */
#include "core/stages.h"

#if VFRONT_DENSE

enum { /* the most that each tuning value may be */
#define VF_MOST(name, standard, least, most, meaning) MOST_##name = (most),
       VFRONT_TUNING(VF_MOST)
#undef VF_MOST
};
VF_STATIC_ASSERT(4 * (VF_DENSE_BITS + MOST_dense_p2) <= 255, "vfront: path costs along four directions fit a byte");
VF_STATIC_ASSERT(MOST_dense_least_px + VFRONT_DISPARITIES <= 0xfff && VFRONT_WIDTH <= 0x1000,
                 "vfront: disparities in 1/16 px fit 16 bits");

static struct vf_dense_passing *passing(const struct vf_step *s) { return &s->memory->dense_passing; }
static const struct vf_level *picture(const struct vf_step *s) { return &s->geometry.level[0][0]; }

/* ---- costs ------------------------------------------------------------------------------------------------------- */

/** Bits of the census words of a row, from column VF_DENSE_REACH on, in three bytes each. row: pixels of the five rows around it. */
static VF_HOT void compare(const uint8_t *const row[5], int32_t end, uint8_t *restrict high, uint8_t *restrict middle,
                           uint8_t *restrict low)
{
    const uint8_t *restrict a = row[0], *restrict b = row[1], *restrict c = row[2], *restrict d = row[3],
                            *restrict e = row[4];
    for (int32_t x = VF_DENSE_REACH; x < end; x++) {
        const uint8_t m = c[x];
        high[x] = (uint8_t)((a[x - 2] > m) << 7 | (a[x - 1] > m) << 6 | (a[x] > m) << 5 | (a[x + 1] > m) << 4 |
                            (a[x + 2] > m) << 3 | (b[x - 2] > m) << 2 | (b[x - 1] > m) << 1 | (b[x] > m));
        middle[x] = (uint8_t)((b[x + 1] > m) << 7 | (b[x + 2] > m) << 6 | (c[x - 2] > m) << 5 | (c[x - 1] > m) << 4 |
                              (c[x + 1] > m) << 3 | (c[x + 2] > m) << 2 | (d[x - 2] > m) << 1 | (d[x - 1] > m));
        low[x] = (uint8_t)((d[x] > m) << 7 | (d[x + 1] > m) << 6 | (d[x + 2] > m) << 5 | (e[x - 2] > m) << 4 |
                           (e[x - 1] > m) << 3 | (e[x] > m) << 2 | (e[x + 1] > m) << 1 | (e[x + 2] > m));
    }
}

/** Census words of a camera; those of camera 1 from right to left, so that rising disparities lie one after the other. */
static void take_census(const struct vf_step *s, int32_t camera)
{
    const struct vf_level *l = picture(s);
    const uint8_t *pixels = vf_level_pixels(s, s->parity, camera, 0);
    const int32_t last = l->width - 1, end = l->width - VF_DENSE_REACH;
    uint8_t high[VFRONT_WIDTH], middle[VFRONT_WIDTH], low[VFRONT_WIDTH];
    for (int32_t y = 0; y < l->height; y++) {
        uint32_t *to = (camera ? passing(s)->opposite[0] : passing(s)->census) + (size_t)y * (size_t)l->pitch;
        const uint8_t *row[5];
        for (int32_t v = 0; v < 5; v++) row[v] = pixels + vf_clamp(y + v - VF_DENSE_REACH, 0, l->height - 1) * l->pitch;
        compare(row, end, high, middle, low);
        for (int32_t x = 0; x < l->width; x++) {
            const int inside = x >= VF_DENSE_REACH && x < end;
            to[camera ? last - x : x] = inside ? (uint32_t)(high[x] << 16 | middle[x] << 8 | low[x])
                                               : vf_dense_census(pixels, l, x, y);
        }
    }
}

/** Costs of `count` disparities: bits in which words differ. */
static VF_HOT void count_bits(uint32_t word, const uint32_t *restrict other, int32_t count, uint8_t *restrict cost)
{
    for (int32_t i = 0; i < count; i++) {
        uint32_t w = word ^ other[i];
        w -= w >> 1 & 0x555555u;
        w = (w & 0x333333u) + (w >> 2 & 0x333333u);
        w = (w + (w >> 4)) & 0x0f0f0fu;
        cost[i] = (uint8_t)(w + (w >> 8) + (w >> 16));
    }
}

static void fill_costs(const struct vf_step *s, int32_t x, int32_t y, uint8_t *cost)
{
    const struct vf_level *l = picture(s);
    const size_t row = (size_t)y * (size_t)l->pitch;
    const int32_t count = vf_max(vf_dense_candidates(&s->tuning, x), 0), all = s->tuning.dense_disparities;
    const uint32_t word = passing(s)->census[row + (size_t)x], *first = passing(s)->opposite[0] + row + (l->width - 1);
    uint8_t beyond;
    if (count) count_bits(word, first - x + s->tuning.dense_least_px, count, cost);
    count_bits(word, first, 1, &beyond);
    memset(cost + count, beyond, (size_t)(all - count));
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

static inline uint8_t lesser(uint8_t a, uint8_t b) { return a < b ? a : b; }

/** A pixel of a path: from the costs of the pixel before, each at most p2 above their least, to its own; adds these to a sum, before they
 *  are made so. Before the first and behind the last of `before` stands something larger than any. */
static VF_HOT void go_on(const uint8_t *restrict before, const uint8_t *restrict cost, int32_t count, uint8_t p1,
                         uint8_t p2, uint8_t *restrict to, uint8_t *restrict sum)
{
    uint8_t least = 255;
    for (int32_t i = 0; i < count; i++) {
        const uint8_t near = (uint8_t)(lesser(before[i - 1], before[i + 1]) + p1);
        const uint8_t l = (uint8_t)(cost[i] + lesser(before[i], near));
        to[i] = l;
        sum[i] = (uint8_t)(sum[i] + l);
        least = lesser(least, l);
    }
    for (int32_t i = 0; i < count; i++) to[i] = lesser((uint8_t)(to[i] - least), p2);
}

/** Where all costs of a path's first pixel come from. */
static const uint8_t fresh[VF_DENSE_ROOM];

/** Where paths come from, for half of all directions: in the order of the picture, or, with `back`, against it. */
struct sweep {
    const struct vf_step *s;
    int32_t back;
    uint8_t along[2][VF_DENSE_ROOM];
};

/** Path costs of a pixel of a row along direction k, 0: down, 1: and to the right, 2: and to the left (turned around when going back). */
static uint8_t *place(const struct sweep *w, int32_t k, int32_t x, int32_t y)
{
    return passing(w->s)->row[3 * (y & 1) + k] + (size_t)x * VF_DENSE_ROOM + 1;
}

/** All paths of a sweep reach a pixel. */
static void reach(struct sweep *w, int32_t x, int32_t y, const uint8_t *cost, uint8_t *sum)
{
    static const int32_t sideways[3] = {0, 1, -1};
    const vfront_tuning_t *t = &w->s->tuning;
    const struct vf_level *l = picture(w->s);
    const int32_t one = w->back ? -1 : 1, count = t->dense_disparities;
    const uint8_t p1 = (uint8_t)t->dense_p1, p2 = (uint8_t)t->dense_p2;
    const int first = x == (w->back ? l->width - 1 : 0), top = y == (w->back ? l->height - 1 : 0);
    memset(sum, 0, (size_t)count);
    go_on(first ? fresh + 1 : w->along[~x & 1] + 1, cost, count, p1, p2, w->along[x & 1] + 1, sum);
    for (int32_t k = 0; k < (t->dense_paths == 8 ? 3 : 1); k++) {
        const int32_t from = x - one * sideways[k];
        const int starts = top || from < 0 || from >= l->width;
        go_on(starts ? fresh + 1 : place(w, k, from, y - one), cost, count, p1, p2, place(w, k, x, y), sum);
    }
}

/** Puts what is larger than any cost before the first and behind the last of every pixel's. */
static void set_bounds(struct sweep *w)
{
    const int32_t count = w->s->tuning.dense_disparities;
    const uint8_t large = 255 - MOST_dense_p1;
    for (int32_t k = 0; k < 6; k++)
        for (int32_t x = 0; x < picture(w->s)->width; x++) {
            uint8_t *first = passing(w->s)->row[k] + (size_t)x * VF_DENSE_ROOM;
            first[0] = first[count + 1] = large;
        }
    for (int32_t k = 0; k < 2; k++) w->along[k][0] = w->along[k][count + 1] = large;
}

static uint8_t *volume(const struct vf_step *s, int32_t which, int32_t x, int32_t y)
{
    return passing(s)->volume[which] +
           ((size_t)y * (size_t)picture(s)->pitch + (size_t)x) * (size_t)s->tuning.dense_disparities;
}

/** Paths in the order of the picture: costs to one volume, their sums to the other. */
static void sweep_on(const struct vf_step *s)
{
    struct sweep w = {.s = s};
    set_bounds(&w);
    for (int32_t y = 0; y < picture(s)->height; y++)
        for (int32_t x = 0; x < picture(s)->width; x++) {
            fill_costs(s, x, y, volume(s, 1, x, y));
            reach(&w, x, y, volume(s, 1, x, y), volume(s, 0, x, y));
        }
}

/* ---- winner ------------------------------------------------------------------------------------------------------ */

/** Adds two sums, tells the pixels of camera 1 to which they lead, and returns the key of the best. */
static VF_HOT uint32_t add_up(const uint8_t *restrict a, const uint8_t *restrict b, int32_t count,
                              uint16_t *restrict sum, uint32_t *restrict back)
{
    uint32_t best = VF_NONE;
    for (int32_t i = 0; i < count; i++) {
        const uint32_t both = (uint32_t)(a[i] + b[i]), key = vf_dense_key(both, (uint32_t)i);
        sum[i] = (uint16_t)both;
        back[i] = key < back[i] ? key : back[i];
        best = key < best ? key : best;
    }
    return best;
}

static VF_HOT uint16_t least_of(const uint16_t *restrict sum, int32_t count)
{
    uint16_t least = 0xffff;
    for (int32_t i = 0; i < count; i++) least = sum[i] < least ? sum[i] : least;
    return least;
}

/** The disparity of a pixel that stands out, and by how much; `sum` has room for two in front. */
static uint16_t win(const vfront_tuning_t *t, uint16_t *sum, int32_t count, uint32_t best, uint8_t *margin)
{
    const int32_t at = (int32_t)(best & 255);
    const uint32_t before = at > 0 ? sum[at - 1] : VF_NONE, after = at + 1 < count ? sum[at + 1] : VF_NONE;
    for (int32_t i = vf_max(at - 1, 0); i < vf_min(at + 2, count); i++) sum[i] = 0xffff;
    const uint16_t second = least_of(sum, count);
    *margin = (uint8_t)vf_dense_margin(t, best >> 8, second == 0xffff ? VF_NONE : second);
    return (uint16_t)(*margin ? vf_dense_disparity(t, (uint32_t)at, before, best >> 8, after) : VF_DENSE_NONE);
}

/** Keys of camera 1's row, which lie from right to left, turned around. */
static void turn_around(uint32_t *row, int32_t count)
{
    for (int32_t x = 0; x < count / 2; x++) {
        const uint32_t first = row[x];
        row[x] = row[count - 1 - x];
        row[count - 1 - x] = first;
    }
}

/** Paths against the order of the picture, and what wins. */
static void sweep_back(const struct vf_step *s)
{
    const vfront_tuning_t *t = &s->tuning;
    const struct vf_level *l = picture(s);
    const int framed[2] = {vf_framed(s, 0), vf_framed(s, 1)};
    struct sweep w = {.s = s, .back = 1};
    uint8_t sum[VFRONT_DISPARITIES];
    uint16_t all[VFRONT_DISPARITIES];
    set_bounds(&w);
    for (int32_t y = l->height - 1; y >= 0; y--) {
        const size_t row = (size_t)y * (size_t)l->pitch;
        uint32_t *back = passing(s)->back + row;
        uint16_t *found = passing(s)->found + row;
        for (int32_t x = 0; x < l->width; x++) back[x] = VF_NONE;
        for (int32_t x = l->width - 1; x >= 0; x--) {
            const int32_t count = vf_dense_candidates(t, x);
            reach(&w, x, y, volume(s, 1, x, y), sum);
            found[x] = VF_DENSE_NONE;
            if (count <= 0) continue;
            const uint32_t best = add_up(volume(s, 0, x, y), sum, count, all,
                                         back + (l->width - 1 - x + t->dense_least_px));
            found[x] = win(t, all, count, best, passing(s)->margin + row + x);
        }
        turn_around(back, l->width);
        for (int32_t x = 0; x < l->width; x++) found[x] = (uint16_t)vf_dense_checked(s, framed, back, x, y, found[x]);
    }
}

/* ---- filters ----------------------------------------------------------------------------------------------------- */

#define STRETCH 64

/** Medians of a stretch of a row from column x0 on: v holds the nine pixels of each. */
static VF_HOT void take_medians(uint16_t v[9][STRETCH], int32_t x0, uint16_t *restrict to)
{
    uint16_t middle[STRETCH], before[STRETCH];
    for (int32_t x = 0; x < STRETCH; x++) {
        middle[x] = v[4][x];
        before[x] = 0;
        for (int32_t k = 0; k < 9; k++) before[x] = (uint16_t)(before[x] + (v[k][x] != VF_DENSE_NONE));
        before[x] = (uint16_t)((uint16_t)(before[x] - 1) >> 1);
    }
#define EXCHANGE(a, b)                                                                                                 \
    for (int32_t x = 0; x < STRETCH; x++) {                                                                            \
        const uint16_t p = v[a][x], q = v[b][x];                                                                       \
        v[a][x] = p < q ? p : q;                                                                                       \
        v[b][x] = p < q ? q : p;                                                                                       \
    }
    VF_DENSE_NETWORK(EXCHANGE)
#undef EXCHANGE
    for (int32_t x = 0; x < STRETCH; x++) {
        const uint16_t most = (uint16_t)((x0 + x) * VF_DENSE_UNITS);
        uint16_t median = v[0][x];
        for (uint16_t k = 1; k < 5; k++) median = before[x] >= k ? v[k][x] : median;
        median = median < most ? median : most;
        to[x] = middle[x] == VF_DENSE_NONE ? (uint16_t)VF_DENSE_NONE : median;
    }
}

/** A row of `found` as it is read for medians; outside of the picture there is nothing. */
static void gather(const struct vf_step *s, int32_t x0, int32_t y, uint16_t v[3][STRETCH])
{
    const struct vf_level *l = picture(s);
    const uint16_t *row = passing(s)->found + (size_t)vf_clamp(y, 0, l->height - 1) * (size_t)l->pitch;
    for (int32_t u = -1; u <= 1; u++)
        for (int32_t x = 0; x < STRETCH; x++) {
            const int32_t at = x0 + x + u;
            const int inside = y >= 0 && y < l->height && at >= 0 && at < l->width;
            v[u + 1][x] = inside ? row[at] : (uint16_t)VF_DENSE_NONE;
        }
}

static void smooth(const struct vf_step *s)
{
    const struct vf_level *l = picture(s);
    uint16_t v[9][STRETCH], median[STRETCH];
    for (int32_t y = 0; y < l->height; y++) {
        const size_t row = (size_t)y * (size_t)l->pitch;
        for (int32_t x0 = 0; x0 < l->width; x0 += STRETCH) {
            for (int32_t k = 0; k < 3; k++) gather(s, x0, y + k - 1, v + 3 * k);
            take_medians(v, x0, median);
            memcpy(passing(s)->smooth + row + x0, median, sizeof *median * (size_t)vf_min(STRETCH, l->width - x0));
        }
    }
}

/** Segments by union and find: what a pixel belongs to, named by the first pixel of it in the picture's order. The arrays lie where words and
 *  keys were. */
struct segments {
    uint32_t *name;  /* of each pixel, or VF_NONE */
    uint32_t *count; /* of the segment that a pixel names: its pixels */
    uint32_t *span;  /* first column << 16 | last column */
    uint16_t *last;  /* last row */
};
static struct segments segments_of(const struct vf_step *s)
{
    struct vf_dense_passing *m = passing(s);
    const struct segments g = {m->back, m->census, m->opposite[0], m->found};
    return g;
}

static uint32_t find(uint32_t *name, uint32_t at)
{
    while (name[at] != at) {
        name[at] = name[name[at]];
        at = name[at];
    }
    return at;
}

static void unite(uint32_t *name, uint32_t a, uint32_t b)
{
    a = find(name, a);
    b = find(name, b);
    name[a > b ? a : b] = a > b ? b : a;
}

static void join(const struct vf_step *s, const struct segments *g)
{
    const struct vf_level *l = picture(s);
    const uint16_t *v = passing(s)->smooth;
    const int32_t step = vf_dense_step(&s->tuning);
    const uint32_t pitch = (uint32_t)l->pitch;
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            const uint32_t at = (uint32_t)y * pitch + (uint32_t)x;
            const int left = x && vf_dense_joined(v[at - 1], v[at], step),
                      above = y && vf_dense_joined(v[at - pitch], v[at], step);
            g->name[at] = v[at] == VF_DENSE_NONE ? VF_NONE : left ? g->name[at - 1] : at;
            if (above) unite(g->name, at - pitch, g->name[at]);
        }
}

static void measure(const struct vf_step *s, const struct segments *g)
{
    const struct vf_level *l = picture(s);
    for (uint32_t y = 0; y < (uint32_t)l->height; y++)
        for (uint32_t x = 0; x < (uint32_t)l->width; x++) {
            const uint32_t at = y * (uint32_t)l->pitch + x;
            if (g->name[at] == VF_NONE) continue; /* the first pixel of a segment comes before its others */
            const uint32_t name = g->name[at] = find(g->name, at);
            if (name == at) {
                g->count[at] = 0;
                g->span[at] = x << 16 | x;
            }
            const uint32_t first = g->span[name] >> 16, last = g->span[name] & 0xffff;
            g->span[name] = (x < first ? x : first) << 16 | (x > last ? x : last);
            g->count[name]++;
            g->last[name] = (uint16_t)y;
        }
}

/** What surrounds a segment: at most a square. */
struct box {
    uint32_t name;
    int32_t x, y, width, height;
};

/** Pixels of a box along a row or a column: those that follow each other in the segment take the least number among them. `apart`: from pixel
 *  to pixel of the picture. */
static void level_out(const struct vf_step *s, const struct segments *g, uint32_t name, uint32_t at, uint32_t apart,
                      uint16_t *number, int32_t number_apart, int32_t count)
{
    const uint16_t *v = passing(s)->smooth;
    const int32_t step = vf_dense_step(&s->tuning);
    int32_t first = 0;
    for (int32_t i = 0; i < count; i = first) {
        uint16_t least = number[i * number_apart];
        for (first = i + 1; first < count; first++) {
            const uint32_t here = at + (uint32_t)first * apart;
            if (g->name[here] != name || !vf_dense_joined(v[here - apart], v[here], step)) break;
            least = number[first * number_apart] < least ? number[first * number_apart] : least;
        }
        for (int32_t k = i; k < first; k++) number[k * number_apart] = least;
    }
}

/** Whether a segment is seen to be one. */
static int is_one(const struct vf_step *s, const struct segments *g, const struct box *b)
{
    uint16_t number[VF_DENSE_SQUARE * VF_DENSE_SQUARE];
    const uint32_t pitch = (uint32_t)picture(s)->pitch, at = (uint32_t)b->y * pitch + (uint32_t)b->x;
    for (int32_t i = 0; i < b->width * b->height; i++) number[i] = (uint16_t)i;
    for (int32_t k = 0; k < VF_DENSE_SWEEPS; k++) {
        for (int32_t y = 0; y < b->height; y++)
            level_out(s, g, b->name, at + (uint32_t)y * pitch, 1, number + y * b->width, 1, b->width);
        for (int32_t x = 0; x < b->width; x++)
            level_out(s, g, b->name, at + (uint32_t)x, pitch, number + x, b->width, b->height);
    }
    int one = 1;
    for (int32_t y = 0; y < b->height; y++)
        for (int32_t x = 0; x < b->width; x++)
            one &= g->name[at + (uint32_t)y * pitch + (uint32_t)x] != b->name ||
                   number[y * b->width + x] == number[b->name - at];
    return one;
}

/** Takes a segment off when it is a speckle. */
static void judge(const struct vf_step *s, const struct segments *g, uint32_t name)
{
    const uint32_t pitch = (uint32_t)picture(s)->pitch;
    const int32_t x0 = (int32_t)(g->span[name] >> 16), x1 = (int32_t)(g->span[name] & 0xffff);
    const int32_t y0 = (int32_t)(name / pitch), y1 = (int32_t)g->last[name];
    const struct box b = {name, x0, y0, x1 - x0 + 1, y1 - y0 + 1};
    if (g->count[name] >= (uint32_t)s->tuning.dense_speckle_px) return;
    if (x1 - x0 / VF_DENSE_STRIDE * VF_DENSE_STRIDE >= VF_DENSE_SQUARE ||
        y1 - y0 / VF_DENSE_STRIDE * VF_DENSE_STRIDE >= VF_DENSE_SQUARE)
        return;
    if (!is_one(s, g, &b)) return;
    for (int32_t y = y0; y <= y1; y++)
        for (int32_t x = x0; x <= x1; x++) {
            const uint32_t at = (uint32_t)y * pitch + (uint32_t)x;
            if (g->name[at] == name) s->memory->dense.disparity[at] = VF_DENSE_NONE;
        }
}

/** The disparities that stay. */
static void filter(const struct vf_step *s)
{
    const struct vf_level *l = picture(s);
    const struct segments g = segments_of(s);
    struct vf_dense_memory *m = &s->memory->dense;
    for (int32_t y = 0; y < l->height; y++) {
        const size_t row = (size_t)y * (size_t)l->pitch;
        memcpy(m->disparity + row, passing(s)->smooth + row, sizeof *m->disparity * (size_t)l->width);
    }
    if (!s->tuning.dense_speckle_px) return;
    join(s, &g);
    measure(s, &g);
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            const uint32_t at = (uint32_t)(y * l->pitch + x);
            if (g.name[at] == at) judge(s, &g, at);
        }
}

static void finish(const struct vf_step *s)
{
    const struct vf_level *l = picture(s);
    struct vf_dense_memory *m = &s->memory->dense;
    struct vf_dense_copy *copy = &s->pinned->dense[s->memory->ingest.params.result];
    m->valid = 0;
    for (int32_t y = 0; y < l->height; y++) {
        const size_t row = (size_t)y * (size_t)l->pitch;
        uint32_t valid = 0;
        for (size_t at = row; at < row + (size_t)l->width; at++) {
            const int there = m->disparity[at] != VF_DENSE_NONE;
            m->confidence[at] = there ? passing(s)->margin[at] : 0;
            valid += (uint32_t)there;
        }
        m->valid += valid;
        if (!s->tuning.dense_copy) continue;
        memcpy(copy->disparity + row, m->disparity + row, sizeof *m->disparity * (size_t)l->width);
        memcpy(copy->confidence + row, m->confidence + row, (size_t)l->width);
    }
}

void vf_dense_host(const struct vf_step *s)
{
    if (!vf_dense_on(s)) return;
    take_census(s, 0);
    take_census(s, 1);
    sweep_on(s);
    sweep_back(s);
    if (s->tuning.dense_median)
        smooth(s);
    else
        memcpy(passing(s)->smooth, passing(s)->found,
               sizeof *passing(s)->found * (size_t)(picture(s)->pitch * picture(s)->height));
    filter(s);
    finish(s);
}

#else

void vf_dense_host(const struct vf_step *s) { (void)s; }

#endif
