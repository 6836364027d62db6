/* SPDX-License-Identifier: MIT */
/* Host form of dense: census words of both cameras; a forward pass over the image, which adds the path costs of four
 * directions; a backward pass, which adds those of the opposite four and finds the winners row by row; median; speckle
 * filter; half-occluded pixels. */
#include "dense.h"

#include "image/ingest.h"

#if VFRONT_DENSE

enum { /* greatest value of each tuning parameter */
#define VF_MOST(name, standard, least, most, meaning) MOST_##name = (most),
       VFRONT_TUNING(VF_MOST)
#undef VF_MOST
};
VF_STATIC_ASSERT(4 * (VF_DENSE_CENSUS_BITS + MOST_dense_p2) <= 255,
                 "vfront: path costs along four directions fit a byte"); /* dense_p1, so that of edges, is no larger */
VF_STATIC_ASSERT(MOST_dense_least_px + VFRONT_DISPARITIES <= 0xfff && VFRONT_WIDTH <= 0x1000,
                 "vfront: disparities in 1/16 px fit 16 bits");

static struct vf_dense_scratch *scratch(const struct vf_dense_view *s) { return s->scratch; }
static const struct vf_level *picture(const struct vf_dense_view *s) { return &s->geometry.level[0][0]; }

/* ---- matching cost ----------------------------------------------------------------------------------------------- */

#define PIXEL(u, v) row[(v) + VF_DENSE_CENSUS_RADIUS][x + (u)]

/** Census words of a row from column VF_DENSE_CENSUS_RADIUS to before `end`, as three bytes each. row: pixels of the
 *  surrounding rows, from the top. */
static VF_HOT void census_row(const uint8_t *const row[2 * VF_DENSE_CENSUS_RADIUS + 1], int32_t end,
                              uint8_t *restrict high, uint8_t *restrict middle, uint8_t *restrict low)
{
#define BRIGHTER(bit, u, v, p, q) | (PIXEL(u, v) > PIXEL(p, q) + VF_DENSE_CENSUS_GREY) << (bit)
    for (int32_t x = VF_DENSE_CENSUS_RADIUS; x < end; x++) {
        high[x] = (uint8_t)(0 VF_DENSE_CENSUS_HIGH(BRIGHTER));
        middle[x] = (uint8_t)(0 VF_DENSE_CENSUS_MIDDLE(BRIGHTER));
        low[x] = (uint8_t)(0 VF_DENSE_CENSUS_LOW(BRIGHTER));
    }
#undef BRIGHTER
}

/** Edges of a row from column VF_DENSE_CENSUS_RADIUS to before `end`, without the bits of a census word below them. */
static VF_HOT void edge_row(const uint8_t *const row[2 * VF_DENSE_CENSUS_RADIUS + 1], int32_t end,
                            uint8_t *restrict edges)
{
#define DIFFERS(bit, u, v)                                                                                             \
    | ((PIXEL(u, v) > PIXEL(0, 0) + VF_DENSE_EDGE_GREY) | (PIXEL(0, 0) > PIXEL(u, v) + VF_DENSE_EDGE_GREY)) << (bit)
    for (int32_t x = VF_DENSE_CENSUS_RADIUS; x < end; x++) edges[x] = (uint8_t)(0 VF_DENSE_EDGES(DIFFERS));
#undef DIFFERS
}

#undef PIXEL

/** Computes the census words of a camera, and the edges of camera 0. The words of camera 1 are stored from right to
 *  left, so that rising disparities are consecutive. */
static void census_transform(const struct vf_dense_view *s, int32_t camera)
{
    const struct vf_level *l = picture(s);
    const uint8_t *pixels = s->pictures.level0[s->parity][camera];
    const int32_t last = l->width - 1, end = l->width - VF_DENSE_CENSUS_RADIUS;
    uint8_t high[VFRONT_WIDTH], middle[VFRONT_WIDTH], low[VFRONT_WIDTH], edges[VFRONT_WIDTH] = {0};
    for (int32_t y = 0; y < l->height; y++) {
        uint32_t *to = (camera ? scratch(s)->census1[0] : scratch(s)->census0) + (size_t)y * (size_t)l->pitch;
        const uint8_t *row[2 * VF_DENSE_CENSUS_RADIUS + 1];
        for (int32_t v = 0; v <= 2 * VF_DENSE_CENSUS_RADIUS; v++)
            row[v] = pixels + vf_clamp(y + v - VF_DENSE_CENSUS_RADIUS, 0, l->height - 1) * l->pitch;
        census_row(row, end, high, middle, low);
        if (!camera) edge_row(row, end, edges);
        for (int32_t x = 0; x < l->width; x++) {
            const int inside = x >= VF_DENSE_CENSUS_RADIUS && x < end;
            to[camera ? last - x : x] = inside ? (uint32_t)edges[x] << VF_DENSE_CENSUS_BITS |
                                                     (uint32_t)(high[x] << 16 | middle[x] << 8 | low[x])
                                               : vf_dense_census(pixels, l, x, y) |
                                                     (camera ? 0 : vf_dense_edges(pixels, l, x, y));
        }
    }
}

/** Matching costs of `count` disparities: Hamming distances between a census word of camera 0 and each of the words
 *  `other` of camera 1. */
static VF_HOT void hamming_row(uint32_t word, const uint32_t *restrict other, int32_t count, uint8_t *restrict cost)
{
    for (int32_t i = 0; i < count; i++) {
        uint32_t w = word ^ other[i];
        w -= w >> 1 & 0x555555u;
        w = (w & 0x333333u) + (w >> 2 & 0x333333u);
        w = (w + (w >> 4)) & 0x0f0f0fu;
        cost[i] = (uint8_t)(w + (w >> 8) + (w >> 16));
    }
}

/** Matching costs of all disparities of a pixel. A match left of camera 1's first column has that column's cost. */
static void matching_costs(const struct vf_dense_view *s, int32_t x, int32_t y, uint8_t *cost)
{
    const struct vf_level *l = picture(s);
    const size_t row = (size_t)y * (size_t)l->pitch;
    const int32_t count = vf_max(vf_dense_candidates(&s->tuning, x), 0), all = s->tuning.dense_disparities;
    const uint32_t word = scratch(s)->census0[row + (size_t)x] & ((1u << VF_DENSE_CENSUS_BITS) - 1),
                   *first = scratch(s)->census1[0] + row + (l->width - 1); /* word of camera 1's first column */
    uint8_t outside;
    if (count) hamming_row(word, first - x + s->tuning.dense_least_px, count, cost);
    hamming_row(word, first, 1, &outside);
    memset(cost + count, outside, (size_t)(all - count));
}

/* ---- path costs -------------------------------------------------------------------------------------------------- */

static inline uint8_t min_u8(uint8_t a, uint8_t b) { return a < b ? a : b; }

/** Extends a path of semi-global matching to a pixel, for `count` disparities. before: path costs of the previous
 *  pixel, reduced by their minimum, at most the P2 of this step; before[-1] and before[count] are sentinels greater
 *  than any cost. Adds the path costs to `sum`. Writes them to `to`, reduced by their own minimum, at most p2, the P2
 *  of the next step. */
static VF_HOT void extend_path(const uint8_t *restrict before, const uint8_t *restrict cost, int32_t count, uint8_t p1,
                               uint8_t p2, uint8_t *restrict to, uint8_t *restrict sum)
{
    uint8_t least = 255;
    for (int32_t i = 0; i < count; i++) {
        const uint8_t near = (uint8_t)(min_u8(before[i - 1], before[i + 1]) + p1);
        const uint8_t l = (uint8_t)(cost[i] + min_u8(before[i], near));
        to[i] = l;
        sum[i] = (uint8_t)(sum[i] + l);
        least = min_u8(least, l);
    }
    for (int32_t i = 0; i < count; i++) to[i] = min_u8((uint8_t)(to[i] - least), p2);
}

/** Path costs before the first pixel of a path: all 0. */
static const uint8_t path_start[VF_DENSE_PADDED];

/** State of a pass over the image, forward or backward, which extends the paths of four of the eight directions. */
struct pass {
    const struct vf_dense_view *s;
    int32_t backward;
    /* path costs along the row, of the current and the previous pixel: by column % 2 */
    uint8_t horizontal[2][VF_DENSE_PADDED];
};

/** Path costs of a pixel in the current or the previous row of a pass. k: direction of the path: 0: down, 1: right and
 *  down, 2: left and down; opposite directions in the backward pass. */
static uint8_t *path_costs(const struct pass *p, int32_t k, int32_t x, int32_t y)
{
    return scratch(p->s)->path_row[3 * (y & 1) + k] + (size_t)x * VF_DENSE_PADDED + 1;
}

/** Extends the paths of a pass to a pixel. cost: its matching costs; sum: out, sums of its path costs over four
 *  directions. */
static void extend_paths(struct pass *p, int32_t x, int32_t y, const uint8_t *cost, uint8_t *sum)
{
    static const int32_t sideways[3] = {0, 1, -1};
    const struct vf_dense_tuning *t = &p->s->tuning;
    const struct vf_level *l = picture(p->s);
    const int32_t one = p->backward ? -1 : 1, count = t->dense_disparities;
    const uint8_t p1 = (uint8_t)t->dense_p1, p2[2] = {(uint8_t)t->dense_p2, (uint8_t)vf_dense_edge_p2(t)};
    const uint32_t edges = scratch(p->s)->census0[(size_t)y * (size_t)l->pitch + (size_t)x];
    const int first_column = x == (p->backward ? l->width - 1 : 0), first_row = y == (p->backward ? l->height - 1 : 0);
    memset(sum, 0, (size_t)count);
    extend_path(first_column ? path_start + 1 : p->horizontal[~x & 1] + 1, cost, count, p1,
                p2[(edges & vf_dense_edge_bit(one, 0)) != 0], p->horizontal[x & 1] + 1, sum);
    for (int32_t k = 0; k < 3; k++) {
        const int32_t from = x - one * sideways[k];
        const int starts = first_row || from < 0 || from >= l->width;
        extend_path(starts ? path_start + 1 : path_costs(p, k, from, y - one), cost, count, p1,
                    p2[(edges & vf_dense_edge_bit(one * sideways[k], one)) != 0], path_costs(p, k, x, y), sum);
    }
}

/** Writes a large value before and after the path costs of every pixel, so that extend_path() finds no cheaper
 *  disparity out of range. */
static void set_sentinels(struct pass *p)
{
    const int32_t count = p->s->tuning.dense_disparities;
    const uint8_t large = 255 - MOST_dense_p1;
    for (int32_t k = 0; k < 6; k++)
        for (int32_t x = 0; x < picture(p->s)->width; x++) {
            uint8_t *first = scratch(p->s)->path_row[k] + (size_t)x * VF_DENSE_PADDED;
            first[0] = first[count + 1] = large;
        }
    for (int32_t k = 0; k < 2; k++) p->horizontal[k][0] = p->horizontal[k][count + 1] = large;
}

static uint8_t *cost_volume(const struct vf_dense_view *s, int32_t which, int32_t x, int32_t y)
{
    return scratch(s)->cost_volume[which] +
           ((size_t)y * (size_t)picture(s)->pitch + (size_t)x) * (size_t)s->tuning.dense_disparities;
}

/** Forward pass over the image. Writes sums of path costs to cost volume 0, matching costs to cost volume 1. */
static void pass_forward(const struct vf_dense_view *s)
{
    struct pass p = {.s = s};
    set_sentinels(&p);
    for (int32_t y = 0; y < picture(s)->height; y++)
        for (int32_t x = 0; x < picture(s)->width; x++) {
            matching_costs(s, x, y, cost_volume(s, 1, x, y));
            extend_paths(&p, x, y, cost_volume(s, 1, x, y), cost_volume(s, 0, x, y));
        }
}

/* ---- winner ------------------------------------------------------------------------------------------------------ */

/** Adds the path cost sums a and b of both passes. Returns the key, vf_dense_key(), of the best disparity. back[i]:
 *  best key of the camera 1 pixel that disparity index i matches, lowered if the new key is less. */
static VF_HOT uint32_t sum_volumes(const uint8_t *restrict a, const uint8_t *restrict b, int32_t count,
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

static VF_HOT uint16_t least_sum(const uint16_t *restrict sum, int32_t count)
{
    uint16_t least = 0xffff;
    for (int32_t i = 0; i < count; i++) least = sum[i] < least ? sum[i] : least;
    return least;
}

/** Disparity of a pixel from its path cost sums; VF_DENSE_NONE if it fails the uniqueness test. best: key of the best
 *  disparity; margin: out, uniqueness margin. Overwrites the sums of the best disparity and its neighbours. */
static uint16_t winner_of(const struct vf_dense_tuning *t, uint16_t *sum, int32_t count, uint32_t best, uint8_t *margin)
{
    const int32_t at = (int32_t)(best & 255);
    const uint32_t before = at > 0 ? sum[at - 1] : VF_NONE, after = at + 1 < count ? sum[at + 1] : VF_NONE;
    for (int32_t i = vf_max(at - 1, 0); i < vf_min(at + 2, count); i++) sum[i] = 0xffff;
    const uint16_t second = least_sum(sum, count);
    *margin = (uint8_t)vf_dense_margin(t, best >> 8, second == 0xffff ? VF_NONE : second);
    return (uint16_t)(*margin ? vf_dense_disparity(t, (uint32_t)at, before, best >> 8, after) : VF_DENSE_NONE);
}

/** Reverses a row of keys: from right-to-left order to left-to-right order. */
static void reverse_row(uint32_t *row, int32_t count)
{
    for (int32_t x = 0; x < count / 2; x++) {
        const uint32_t first = row[x];
        row[x] = row[count - 1 - x];
        row[count - 1 - x] = first;
    }
}

/** Backward pass over the image: completes the path cost sums, selects the best disparities, applies the left-right
 *  check row by row. */
static void pass_backward(const struct vf_dense_view *s)
{
    const struct vf_dense_tuning *t = &s->tuning;
    const struct vf_level *l = picture(s);
    const int framed[2] = {vf_framed(&s->ingest->params, 0), vf_framed(&s->ingest->params, 1)};
    struct pass p = {.s = s, .backward = 1};
    uint8_t backward_sum[VFRONT_DISPARITIES];
    uint16_t sum[VFRONT_DISPARITIES];
    set_sentinels(&p);
    for (int32_t y = l->height - 1; y >= 0; y--) {
        const size_t row = (size_t)y * (size_t)l->pitch;
        uint32_t *back = scratch(s)->back_key + row;
        uint16_t *winner = scratch(s)->winner + row;
        for (int32_t x = 0; x < l->width; x++) back[x] = VF_NONE;
        for (int32_t x = l->width - 1; x >= 0; x--) {
            const int32_t count = vf_dense_candidates(t, x);
            extend_paths(&p, x, y, cost_volume(s, 1, x, y), backward_sum);
            winner[x] = VF_DENSE_NONE;
            if (count <= 0) continue;
            const uint32_t best = sum_volumes(cost_volume(s, 0, x, y), backward_sum, count, sum,
                                              back + (l->width - 1 - x + t->dense_least_px));
            winner[x] = winner_of(t, sum, count, best, scratch(s)->margin + row + x);
        }
        reverse_row(back, l->width);
        for (int32_t x = 0; x < l->width; x++) winner[x] = (uint16_t)vf_dense_checked(s, framed, back, x, y, winner[x]);
    }
}

/* ---- median ------------------------------------------------------------------------------------------------------ */

#define MEDIAN_COLUMNS 64 /* number of columns that are filtered together, as vector code */

/** Median filter, vf_dense_smooth(), for MEDIAN_COLUMNS pixels of a row from column x0 on. v: the nine pixels of each
 *  window, sorted in place. */
static VF_HOT void median_columns(uint16_t v[9][MEDIAN_COLUMNS], int32_t x0, uint16_t *restrict to)
{
    uint16_t middle[MEDIAN_COLUMNS], rank[MEDIAN_COLUMNS], last[MEDIAN_COLUMNS];
    for (int32_t x = 0; x < MEDIAN_COLUMNS; x++) {
        middle[x] = v[4][x];
        rank[x] = 0;
        for (int32_t k = 0; k < 9; k++) rank[x] = (uint16_t)(rank[x] + (v[k][x] != VF_DENSE_NONE));
        rank[x] = (uint16_t)((uint16_t)(rank[x] - 1) >> 1);
    }
#define EXCHANGE(a, b)                                                                                                 \
    for (int32_t x = 0; x < MEDIAN_COLUMNS; x++) {                                                                     \
        const uint16_t p = v[a][x], q = v[b][x];                                                                       \
        v[a][x] = p < q ? p : q;                                                                                       \
        v[b][x] = p < q ? q : p;                                                                                       \
    }
    VF_DENSE_NETWORK(EXCHANGE)
#undef EXCHANGE
    for (int32_t x = 0; x < MEDIAN_COLUMNS; x++) {
        uint16_t most = 0;
        for (int32_t k = VF_DENSE_FILL_MIN - 1; k < 8; k++) most = v[k][x] != VF_DENSE_NONE ? v[k][x] : most;
        last[x] = most;
    }
    for (int32_t x = 0; x < MEDIAN_COLUMNS; x++) {
        const uint16_t most = (uint16_t)((x0 + x) * VF_DENSE_UNITS), least = v[0][x];
        uint16_t median = least;
        for (uint16_t k = 1; k < 5; k++) median = rank[x] >= k ? v[k][x] : median;
        const int fill = v[VF_DENSE_FILL_MIN - 1][x] != VF_DENSE_NONE && last[x] - least <= VF_DENSE_FILL_RANGE &&
                         median <= most;
        median = median < most ? median : most;
        to[x] = ((middle[x] == VF_DENSE_NONE) & !fill) ? (uint16_t)VF_DENSE_NONE : median;
    }
}

/** Loads the disparities of row y for MEDIAN_COLUMNS columns from x0 on. v[1]: in the column itself; v[0]: one pixel
 *  left of it; v[2]: one pixel right of it. VF_DENSE_NONE outside the image. */
static void load_neighbours(const struct vf_dense_view *s, int32_t x0, int32_t y, uint16_t v[3][MEDIAN_COLUMNS])
{
    const struct vf_level *l = picture(s);
    const uint16_t *row = scratch(s)->winner + (size_t)vf_clamp(y, 0, l->height - 1) * (size_t)l->pitch;
    for (int32_t u = -1; u <= 1; u++)
        for (int32_t x = 0; x < MEDIAN_COLUMNS; x++) {
            const int32_t at = x0 + x + u;
            const int inside = y >= 0 && y < l->height && at >= 0 && at < l->width;
            v[u + 1][x] = inside ? row[at] : (uint16_t)VF_DENSE_NONE;
        }
}

/** Checks the pixels of row y that the median has filled. Removes the disparity if a mask covers the pixel or its
 *  match; else sets its margin to VF_DENSE_FILLED. */
static void check_filled(const struct vf_dense_view *s, const int framed[2], int32_t y)
{
    const struct vf_level *l = picture(s);
    const size_t row = (size_t)y * (size_t)l->pitch;
    const uint16_t *winner = scratch(s)->winner + row;
    uint16_t *median = scratch(s)->median + row;
    for (int32_t x = 0; x < l->width; x++) {
        if (winner[x] != VF_DENSE_NONE || median[x] == VF_DENSE_NONE) continue;
        if (vf_dense_usable(s, framed, x, y, median[x]))
            scratch(s)->margin[row + (size_t)x] = VF_DENSE_FILLED;
        else
            median[x] = VF_DENSE_NONE;
    }
}

static void median_filter(const struct vf_dense_view *s)
{
    const struct vf_level *l = picture(s);
    const int framed[2] = {vf_framed(&s->ingest->params, 0), vf_framed(&s->ingest->params, 1)};
    uint16_t v[9][MEDIAN_COLUMNS], median[MEDIAN_COLUMNS];
    for (int32_t y = 0; y < l->height; y++) {
        const size_t row = (size_t)y * (size_t)l->pitch;
        for (int32_t x0 = 0; x0 < l->width; x0 += MEDIAN_COLUMNS) {
            for (int32_t k = 0; k < 3; k++) load_neighbours(s, x0, y + k - 1, v + 3 * k);
            median_columns(v, x0, median);
            memcpy(scratch(s)->median + row + x0, median,
                   sizeof *median * (size_t)vf_min(MEDIAN_COLUMNS, l->width - x0));
        }
        check_filled(s, framed, y);
    }
}

/* ---- speckle filter ---------------------------------------------------------------------------------------------- */

/** Segments of connected pixels, found by union-find. A segment's root is its first pixel in raster order. A pixel
 *  index is y * pitch + x. The arrays reuse scratch memory of earlier steps. */
struct segments {
    uint32_t *parent;   /* [pixel]: parent in the union-find tree; VF_NONE: no disparity */
    uint32_t *count;    /* [root]: number of pixels of the segment */
    uint32_t *columns;  /* [root]: columns of the segment: first << 16 | last */
    uint16_t *last_row; /* [root]: last row of the segment; its first row is the root's */
};
static struct segments segments_of(const struct vf_dense_view *s)
{
    struct vf_dense_scratch *m = scratch(s);
    const struct segments g = {m->back_key, m->census0, m->census1[0], m->winner};
    return g;
}

/** Root of a pixel's segment, with path halving. */
static uint32_t find(uint32_t *parent, uint32_t at)
{
    while (parent[at] != at) {
        parent[at] = parent[parent[at]];
        at = parent[at];
    }
    return at;
}

static void unite(uint32_t *parent, uint32_t a, uint32_t b)
{
    a = find(parent, a);
    b = find(parent, b);
    parent[a > b ? a : b] = a > b ? b : a;
}

/** Unites each pixel with its left and upper neighbour if they belong to one segment. */
static void unite_segments(const struct vf_dense_view *s, const struct segments *g)
{
    const struct vf_level *l = picture(s);
    const uint16_t *v = scratch(s)->median;
    const uint32_t pitch = (uint32_t)l->pitch;
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            const uint32_t at = (uint32_t)y * pitch + (uint32_t)x;
            const int left = x && vf_dense_connected(v[at - 1], v[at]),
                      above = y && vf_dense_connected(v[at - pitch], v[at]);
            g->parent[at] = v[at] == VF_DENSE_NONE ? VF_NONE : left ? g->parent[at - 1] : at;
            if (above) unite(g->parent, at - pitch, g->parent[at]);
        }
}

/** Sets the parent of every pixel to its root, and finds number of pixels, columns and last row of every segment. */
static void measure_segments(const struct vf_dense_view *s, const struct segments *g)
{
    const struct vf_level *l = picture(s);
    for (uint32_t y = 0; y < (uint32_t)l->height; y++)
        for (uint32_t x = 0; x < (uint32_t)l->width; x++) {
            const uint32_t at = y * (uint32_t)l->pitch + x;
            if (g->parent[at] == VF_NONE) continue;
            const uint32_t root = g->parent[at] = find(g->parent, at);
            if (root == at) { /* the root precedes all other pixels of the segment */
                g->count[at] = 0;
                g->columns[at] = x << 16 | x;
            }
            const uint32_t first = g->columns[root] >> 16, last = g->columns[root] & 0xffff;
            g->columns[root] = (x < first ? x : first) << 16 | (x > last ? x : last);
            g->count[root]++;
            g->last_row[root] = (uint16_t)y;
        }
}

/** Bounding box of a segment, at most as large as a tile of the speckle filter. */
struct box {
    uint32_t root;
    int32_t x, y, width, height;
};

/** Propagates labels along a row or column of a box: each run of connected pixels takes its least label. at: first
 *  pixel; stride, label_stride: step between pixels in the image and in the box; count: number of pixels. */
static void propagate_labels(const struct vf_dense_view *s, const struct segments *g, uint32_t root, uint32_t at,
                             uint32_t stride, uint16_t *label, int32_t label_stride, int32_t count)
{
    const uint16_t *v = scratch(s)->median;
    int32_t end = 0;
    for (int32_t i = 0; i < count; i = end) {
        uint16_t least = label[i * label_stride];
        for (end = i + 1; end < count; end++) {
            const uint32_t here = at + (uint32_t)end * stride;
            if (g->parent[here] != root || !vf_dense_connected(v[here - stride], v[here])) break;
            least = label[end * label_stride] < least ? label[end * label_stride] : least;
        }
        for (int32_t k = i; k < end; k++) label[k * label_stride] = least;
    }
}

/** 1 if all pixels of a segment have one label after VF_DENSE_SWEEPS sweeps of label propagation along rows and columns
 *  of its box. */
static int labels_converge(const struct vf_dense_view *s, const struct segments *g, const struct box *b)
{
    uint16_t label[VF_DENSE_TILE * VF_DENSE_TILE];
    const uint32_t pitch = (uint32_t)picture(s)->pitch, at = (uint32_t)b->y * pitch + (uint32_t)b->x;
    for (int32_t i = 0; i < b->width * b->height; i++) label[i] = (uint16_t)i;
    for (int32_t k = 0; k < VF_DENSE_SWEEPS; k++) {
        for (int32_t y = 0; y < b->height; y++)
            propagate_labels(s, g, b->root, at + (uint32_t)y * pitch, 1, label + y * b->width, 1, b->width);
        for (int32_t x = 0; x < b->width; x++)
            propagate_labels(s, g, b->root, at + (uint32_t)x, pitch, label + x, b->width, b->height);
    }
    int equal = 1;
    for (int32_t y = 0; y < b->height; y++)
        for (int32_t x = 0; x < b->width; x++)
            equal &= g->parent[at + (uint32_t)y * pitch + (uint32_t)x] != b->root ||
                     label[y * b->width + x] == label[b->root - at];
    return equal;
}

/** Removes the disparities of a segment that is a speckle: few pixels, within a tile, one label after propagation. */
static void remove_speckle(const struct vf_dense_view *s, const struct segments *g, uint32_t root)
{
    const uint32_t pitch = (uint32_t)picture(s)->pitch;
    const int32_t x0 = (int32_t)(g->columns[root] >> 16), x1 = (int32_t)(g->columns[root] & 0xffff);
    const int32_t y0 = (int32_t)(root / pitch), y1 = (int32_t)g->last_row[root];
    const struct box b = {root, x0, y0, x1 - x0 + 1, y1 - y0 + 1};
    if (g->count[root] >= (uint32_t)s->tuning.dense_speckle_px) return;
    if (x1 - x0 / VF_DENSE_TILE_STRIDE * VF_DENSE_TILE_STRIDE >= VF_DENSE_TILE ||
        y1 - y0 / VF_DENSE_TILE_STRIDE * VF_DENSE_TILE_STRIDE >= VF_DENSE_TILE)
        return; /* no tile of the speckle filter contains the segment */
    if (!labels_converge(s, g, &b)) return;
    for (int32_t y = y0; y <= y1; y++)
        for (int32_t x = x0; x <= x1; x++) {
            const uint32_t at = (uint32_t)y * pitch + (uint32_t)x;
            if (g->parent[at] == root) s->dense->disparity[at] = VF_DENSE_NONE;
        }
}

/** Writes the disparities of the result: those after the median filter, without speckles. */
static void speckle_filter(const struct vf_dense_view *s)
{
    const struct vf_level *l = picture(s);
    const struct segments g = segments_of(s);
    struct vf_dense_memory *m = s->dense;
    for (int32_t y = 0; y < l->height; y++) {
        const size_t row = (size_t)y * (size_t)l->pitch;
        memcpy(m->disparity + row, scratch(s)->median + row, sizeof *m->disparity * (size_t)l->width);
    }
    if (!s->tuning.dense_speckle_px) return;
    unite_segments(s, &g);
    measure_segments(s, &g);
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            const uint32_t at = (uint32_t)(y * l->pitch + x);
            if (g.parent[at] == at) remove_speckle(s, &g, at);
        }
}

/* ---- result ------------------------------------------------------------------------------------------------------ */

/** Gives the half-occluded pixels of row y the disparity on their left. */
static void fill_half_occluded(const struct vf_dense_view *s, const int framed[2], int32_t y)
{
    const struct vf_level *l = picture(s);
    const size_t row = (size_t)y * (size_t)l->pitch;
    uint16_t *disparity = s->dense->disparity + row;
    int32_t last = -1; /* last column with a disparity */
    for (int32_t x = 0; x < l->width; x++) {
        if (disparity[x] == VF_DENSE_NONE) continue;
        const int hidden = last >= 0 && vf_dense_half_occluded(disparity[last], disparity[x], x - last - 1);
        for (int32_t u = last + 1; hidden && u < x; u++) {
            if (!vf_dense_usable(s, framed, u, y, disparity[last])) continue;
            disparity[u] = disparity[last];
            scratch(s)->margin[row + (size_t)u] = VF_DENSE_FILLED;
        }
        last = x;
    }
}

/** Fills half-occluded pixels. Writes confidences, the number of pixels with a disparity, and the copy of the result in
 *  host memory. */
static void finish(const struct vf_dense_view *s)
{
    const struct vf_level *l = picture(s);
    struct vf_dense_memory *m = s->dense;
    struct vf_dense_copy *copy = &s->copy[s->ingest->params.result];
    const int framed[2] = {vf_framed(&s->ingest->params, 0), vf_framed(&s->ingest->params, 1)};
    m->valid = 0;
    for (int32_t y = 0; y < l->height; y++) {
        const size_t row = (size_t)y * (size_t)l->pitch;
        uint32_t valid = 0;
        fill_half_occluded(s, framed, y);
        for (size_t at = row; at < row + (size_t)l->width; at++) {
            const int is_valid = m->disparity[at] != VF_DENSE_NONE;
            m->confidence[at] = is_valid ? scratch(s)->margin[at] : 0;
            valid += (uint32_t)is_valid;
        }
        m->valid += valid;
        if (s->tuning.dense == VFRONT_DENSE_DEVICE) continue;
        memcpy(copy->disparity + row, m->disparity + row, sizeof *m->disparity * (size_t)l->width);
        memcpy(copy->confidence + row, m->confidence + row, (size_t)l->width);
    }
}

void vf_dense_host(const struct vf_dense_view *s)
{
    census_transform(s, 0);
    census_transform(s, 1);
    pass_forward(s);
    pass_backward(s);
    median_filter(s);
    speckle_filter(s);
    finish(s);
}

#else

void vf_dense_host(const struct vf_dense_view *s) { (void)s; }

#endif
