/* SPDX-License-Identifier: MIT */
/* dense: disparity of every pixel of camera 0, by semi-global matching (H. Hirschmueller, Stereo processing by
 * semiglobal matching and mutual information, 2008) of a census transform (R. Zabih, J. Woodfill, Non-parametric local
 * transforms for computing visual correspondence, 1994), half of whose comparisons are of opposite pixels
 * (R. Spangenberg et al., Weighted semi-global matching and center-symmetric census transform for robust driver
 * assistance, 2013).
 *
 * In      level 0 of both cameras, row-aligned: rectified, or pinholes side by side; masks
 * Out     disparity of every pixel of camera 0 in 1/16 px, or none; its confidence; number of pixels with a disparity
 * Rule    1. Census word, 24 bits, each 1 where one pixel is brighter than another by more than VF_DENSE_CENSUS_GREY:
 *            12 compare the pixels of 5x5 with those opposite; 12 compare every second pixel around 7x7 with the middle
 *            one. Beyond the border the nearest pixel is taken.
 *         2. Matching cost of a disparity: Hamming distance of both census words. A disparity whose match lies left of
 *            camera 1's first column has the cost of that column, but cannot win: so no disparity is cheaper where
 *            pictures are flat, nor near the border.
 *         3. Path costs along 4 or 8 directions: the matching cost, plus the least of: the previous pixel's path cost
 *            of the same disparity; of a neighbouring one plus dense_p1; of any other plus dense_p2; minus the least
 *            path cost of the previous pixel.
 *         4. Winner: the disparity with the least sum of path costs over all directions, of equals the smaller, if it
 *            passes the uniqueness test against the best one that is not its neighbour. Subpixel part: a symmetric V
 *            through the sums of both neighbours.
 *         5. Left-right check: the winner of camera 1's pixel, from the same sums, differs by at most dense_back_px.
 *         6. Median of 3x3 pixels, limited to the disparity that leads to camera 1's first column. A pixel without a
 *            disparity takes it if VF_DENSE_FILL_LEAST or more of the eight around it have one, these span
 *            VF_DENSE_FILL_RANGE at most, its match lies in camera 1, and no mask is over either. All read the
 *            disparities before this step. Its confidence is 1.
 *         7. Speckle filter. A segment is a set of pixels connected along rows and columns, neighbours' disparities
 *            differing by at most dense_speckle_mpx. It is removed if it has fewer than dense_speckle_px pixels, lies
 *            within one of the tiles of VF_DENSE_TILE px that begin at every VF_DENSE_TILE_STRIDE-th pixel, and its
 *            labels converge: each pixel starts with a label that rises along rows, then from row to row;
 *            VF_DENSE_SWEEPS times each connected run of a row takes the least label in it, then each connected run of
 *            a column; and then all labels of the segment are equal. So the time is fixed, whatever the pictures are;
 *            a segment that winds more than that is larger than a speckle.
 * Exact   integers; a path cost is at most 24 + 39, so the sum of four fits a byte
 * Memory  3 bytes a pixel, and 9 of pinned memory. Scratch: 2 VFRONT_DISPARITIES + 21 bytes a pixel and
 *         8 VFRONT_DISPARITIES a row: census words, two volumes of summed path costs of a byte each, because two
 *         directions are under way at a time, and disparities before the filters
 * Shared  the arithmetic of this file, but for these pairs (host form / kernel), each in the form that is fast there:
 *         census_row() / census_k(): bytes of a whole row, for vector code; words of four pixels a thread. The host
 *             form takes vf_dense_census() at the border. All expand VF_DENSE_CENSUS_HIGH, _MIDDLE and _LOW
 *         hamming() / matching_costs(): bit sums in vector code; the population count instruction
 *         extend_path() / extend_path(): bytes, disparity by disparity; two 16-bit costs a register, over a warp
 *         sum_volumes(), winner_of() / add_volumes(), find_winner(): loops over disparities; packed sums over a warp
 *         median_columns() / vf_dense_smooth(): 64 columns at a time in vector code; a pixel a thread. Both expand
 *             VF_DENSE_NETWORK; what is written twice is the exchange, the choice of the middle one, and when a pixel
 *             without a disparity takes it
 *         speckle_filter() / speckle_k(): union-find over the picture, and labels of the small segments alone;
 *             labels of all pixels of a tile in shared memory */
#ifndef VF_DENSE_H
#define VF_DENSE_H

#include "core/view.h"

/** Units of a disparity in a pixel: (x, y) of camera 0 matches (x - disparity / 16, y) of camera 1. Never negative. */
#define VF_DENSE_UNITS 16
/** Disparity of a pixel that has none. */
#define VF_DENSE_NONE 0xffffu

/** Result of the stage. Rows are s->geometry.level[0][0].pitch elements apart (elements, not bytes: pixel (x, y) is at
 *  y * pitch + x), of which the first level[0][0].width are pixels; those between width and pitch are not written. */
struct vf_dense_memory {
#if VFRONT_DENSE
    uint16_t disparity[VFRONT_PICTURE_BYTES]; /* [1/VF_DENSE_UNITS px], or VF_DENSE_NONE */
    uint8_t confidence[VFRONT_PICTURE_BYTES]; /* 1 (least) .. 255; 0 without a disparity */
    uint32_t valid;                           /* pixels with a disparity */
#else
    uint64_t nothing;
#endif
};

/** Elements of a pixel's path costs, with a sentinel before the first and one behind the last. */
#define VF_DENSE_PADDED (VFRONT_DISPARITIES + 2)

/** Scratch: valid only while the stage runs. Its content may differ from port to port. */
struct vf_dense_scratch {
#if VFRONT_DENSE
    /* census words of camera 0 and of camera 1; ports order those of camera 1 differently, and CUDA keeps two copies */
    uint32_t census0[VFRONT_PICTURE_BYTES];
    uint32_t census1[2][VFRONT_PICTURE_BYTES + VFRONT_HEIGHT * VFRONT_DISPARITIES];
    /* sums of path costs, each of half of all directions: dense_disparities of each pixel, pixel by pixel, in the
     * port's order. In the host form the second holds matching costs */
    VF_LINE uint8_t cost_volume[2][(size_t)VFRONT_PICTURE_BYTES * VFRONT_DISPARITIES];
    uint32_t back_key[VFRONT_PICTURE_BYTES]; /* of each pixel of camera 1: vf_dense_key() of its best disparity */
    /* disparities that pass the uniqueness test; in the host form the left-right check too */
    uint16_t winner[VFRONT_PICTURE_BYTES];
    uint16_t median[VFRONT_PICTURE_BYTES]; /* disparities after the left-right check and the median */
    uint8_t margin[VFRONT_PICTURE_BYTES];  /* vf_dense_margin() of the winners; 1 where the median filled in */
    /* host form: path costs of a row and of the one before it in the pass, along three directions each */
    uint8_t path_row[6][VFRONT_WIDTH * VF_DENSE_PADDED];
#else
    uint64_t nothing;
#endif
};

/** Disparities on the host, as in vfront_disparity_t. */
struct vf_dense_copy {
#if VFRONT_DENSE
    VF_LINE uint16_t disparity[VFRONT_PICTURE_BYTES];
    VF_LINE uint8_t confidence[VFRONT_PICTURE_BYTES];
#else
    uint64_t nothing;
#endif
};

/* View of dense: core/view.h. scratch: valid while the stage runs; copy: disparities on the host, of each of three
 * results in turn. */
/* clang-format off */
#define VF_READS_dense(X) X(ingest) X(rectify)
#define VF_BEFORE_dense(X)
#define VF_GEOMETRY_dense(X) X(level)
#define VF_TUNING_dense(X)                                                                                             \
    X(dense_paths) X(dense_disparities) X(dense_least_px) X(dense_p1) X(dense_p2) X(dense_unique_percent)              \
    X(dense_back_px) X(dense_median) X(dense_speckle_px) X(dense_speckle_mpx) X(dense_copy)
/* clang-format on */
VF_GEOMETRY_OF(dense);
VF_TUNING_OF(dense);
struct vf_dense_view {
    VF_VIEW(dense);
    struct vf_dense_tuning tuning;
    struct vf_pictures pictures;
    struct vf_masks masks;
    struct vf_dense_scratch *scratch;
    struct vf_dense_copy *copy;
};
VF_HOST_FORM(dense);

/** Number of pixels with a disparity; active: of geometry. */
VF_FN uint32_t vf_dense_valid(const struct vf_dense_memory *m, uint32_t active)
{
#if VFRONT_DENSE
    if (active & VF_BIT(dense)) return m->valid;
#endif
    (void)m, (void)active;
    return 0;
}

/* ---- matching cost ----------------------------------------------------------------------------------------------- */

#define VF_DENSE_CENSUS_RADIUS 3 /* of the census window [px] */
#define VF_DENSE_CENSUS_BITS 24  /* of a census word, and the largest matching cost */
#define VF_DENSE_CENSUS_GREY 1   /* smaller differences are noise, or the steps of a smooth shade [grey levels] */

/** Comparisons of a census word, a byte each. BRIGHTER(bit, u, v, p, q): bit of the byte; 1 if the pixel (u, v) from
 *  the middle is brighter than (p, q). */
/* clang-format off */
#define VF_DENSE_CENSUS_HIGH(BRIGHTER)                                                                                 \
    BRIGHTER(7, -2, -2, 2, 2) BRIGHTER(6, -1, -2, 1, 2) BRIGHTER(5, 0, -2, 0, 2) BRIGHTER(4, 1, -2, -1, 2)             \
    BRIGHTER(3, 2, -2, -2, 2) BRIGHTER(2, -2, -1, 2, 1) BRIGHTER(1, -1, -1, 1, 1) BRIGHTER(0, 0, -1, 0, 1)
#define VF_DENSE_CENSUS_MIDDLE(BRIGHTER)                                                                               \
    BRIGHTER(7, 1, -1, -1, 1) BRIGHTER(6, 2, -1, -2, 1) BRIGHTER(5, -2, 0, 2, 0) BRIGHTER(4, -1, 0, 1, 0)              \
    BRIGHTER(3, -3, -3, 0, 0) BRIGHTER(2, -1, -3, 0, 0) BRIGHTER(1, 1, -3, 0, 0) BRIGHTER(0, 3, -3, 0, 0)
#define VF_DENSE_CENSUS_LOW(BRIGHTER)                                                                                  \
    BRIGHTER(7, -3, -1, 0, 0) BRIGHTER(6, 3, -1, 0, 0) BRIGHTER(5, -3, 1, 0, 0) BRIGHTER(4, 3, 1, 0, 0)                \
    BRIGHTER(3, -3, 3, 0, 0) BRIGHTER(2, -1, 3, 0, 0) BRIGHTER(1, 1, 3, 0, 0) BRIGHTER(0, 3, 3, 0, 0)
/* clang-format on */

/** Census word of a pixel. */
VF_FN uint32_t vf_dense_census(const uint8_t *pixels, const struct vf_level *l, int32_t x, int32_t y)
{
    enum { RADIUS = VF_DENSE_CENSUS_RADIUS };
    const uint8_t *row[2 * RADIUS + 1];
    int32_t column[2 * RADIUS + 1];
    uint32_t high = 0, middle = 0, low = 0;
    for (int32_t k = -RADIUS; k <= RADIUS; k++) {
        row[k + RADIUS] = pixels + vf_clamp(y + k, 0, l->height - 1) * l->pitch;
        column[k + RADIUS] = vf_clamp(x + k, 0, l->width - 1);
    }
#define VF_PIXEL(u, v) row[(v) + RADIUS][column[(u) + RADIUS]]
#define VF_BRIGHTER(bit, u, v, p, q) | (uint32_t)(VF_PIXEL(u, v) > VF_PIXEL(p, q) + VF_DENSE_CENSUS_GREY) << (bit)
    high = high VF_DENSE_CENSUS_HIGH(VF_BRIGHTER);
    middle = middle VF_DENSE_CENSUS_MIDDLE(VF_BRIGHTER);
    low = low VF_DENSE_CENSUS_LOW(VF_BRIGHTER);
#undef VF_BRIGHTER
#undef VF_PIXEL
    return high << 16 | middle << 8 | low;
}

/* ---- winner ------------------------------------------------------------------------------------------------------ */

/** Sort key of a disparity: sum of its path costs, then its index. The least key wins; of equal sums the smaller
 *  disparity. index: disparity [px] less dense_least_px, 0 .. 255. */
VF_FN uint32_t vf_dense_key(uint32_t sum, uint32_t index) { return sum << 8 | index; }

/** Number of disparities, from dense_least_px on, whose match of a pixel of column x lies within camera 1. 0 or
 *  negative: none. */
VF_FN int32_t vf_dense_candidates(const struct vf_dense_tuning *t, int32_t x)
{
    return vf_min(t->dense_disparities, x - t->dense_least_px + 1);
}

#define VF_DENSE_UNIQUE_BITS 8 /* mean cost of a path at which dense_unique_percent is the least margin [bits] */

/** Uniqueness test: difference of the best sum and the second best that is not its neighbour, relative to the second,
 *  and over the mean cost of a path in VF_DENSE_UNIQUE_BITS: where nothing matches well, as in noise, the same margin
 *  says less. [1/255], 1 .. 255. 0: less than dense_unique_percent, not above the best, or no second (VF_NONE). */
VF_FN uint32_t vf_dense_margin(const struct vf_dense_tuning *t, uint32_t best, uint32_t second)
{
    const uint32_t scale = VF_DENSE_UNIQUE_BITS * (uint32_t)t->dense_paths;
    if (second == VF_NONE || second <= best) return 0;
    if (100 * scale * (second - best) <= (uint32_t)t->dense_unique_percent * second * best) return 0;
    const uint32_t least = second * best, margin = least ? 255 * scale * (second - best) / least : 255;
    return margin > 255 ? 255 : margin ? margin : 1;
}

/** Disparity [1/VF_DENSE_UNITS px] with its subpixel part: valley of a symmetric V through the sums of the best index
 *  and of both its neighbours, at most half a pixel away, rounded to the nearest unit, halves up. before, after: sums
 *  of the neighbours; VF_NONE where there is none: no subpixel part. */
VF_FN uint32_t vf_dense_disparity(const struct vf_dense_tuning *t, uint32_t index, uint32_t before, uint32_t best,
                                  uint32_t after)
{
    const uint32_t whole = ((uint32_t)t->dense_least_px + index) * VF_DENSE_UNITS, half = VF_DENSE_UNITS / 2;
    if (before == VF_NONE || after == VF_NONE) return whole;
    const uint32_t slope = (before > after ? before : after) - best;
    if (!slope) return whole;
    return whole - half + (VF_DENSE_UNITS * (before + slope - after) + slope) / (2 * slope);
}

/** Disparity rounded to whole pixels, halves up: columns between a pixel and its match in camera 1 [px]. */
VF_FN int32_t vf_dense_px(uint32_t disparity) { return (int32_t)((disparity + VF_DENSE_UNITS / 2) / VF_DENSE_UNITS); }

/** Left-right check: 1 if the best disparity of the match in camera 1 differs by at most dense_back_px. back: back_key
 *  of the match. */
VF_FN int vf_dense_consistent(const struct vf_dense_tuning *t, uint32_t disparity, uint32_t back)
{
    return vf_abs(vf_dense_px(disparity) - t->dense_least_px - (int32_t)(back & 255)) <= t->dense_back_px;
}

#if VFRONT_DENSE
/** 1 if no mask is over a pixel and over its match. framed: cameras whose frame has a mask. */
VF_FN int vf_dense_usable(const struct vf_dense_view *s, const int framed[2], int32_t x, int32_t y, uint32_t disparity)
{
    const int32_t match = x - vf_dense_px(disparity), row0 = y * s->geometry.level[0][0].pitch,
                  row1 = y * s->geometry.level[VFRONT_CAMERAS - 1][0].pitch;
    return vf_usable(&s->masks, 0, framed[0], row0 + x) && vf_usable(&s->masks, 1, framed[1], row1 + match);
}

/** Disparity of a pixel after the masks of both cameras and the left-right check, or VF_DENSE_NONE. framed: cameras
 *  whose frame has a mask; back: keys of camera 1's row. */
VF_FN uint32_t vf_dense_checked(const struct vf_dense_view *s, const int framed[2], const uint32_t *back, int32_t x,
                                int32_t y, uint32_t disparity)
{
    if (disparity == VF_DENSE_NONE) return VF_DENSE_NONE;
    const int fine = vf_dense_consistent(&s->tuning, disparity, back[x - vf_dense_px(disparity)]) &&
                     vf_dense_usable(s, framed, x, y, disparity);
    return fine ? disparity : VF_DENSE_NONE;
}
#endif

/* ---- filters ----------------------------------------------------------------------------------------------------- */

/** Sorting network of nine elements: 25 exchanges (R. Floyd, after D. E. Knuth, The art of computer programming 3,
 *  5.3.4). EXCHANGE(a, b) puts the lesser of elements a and b to a, the greater to b. */
/* clang-format off */
#define VF_DENSE_NETWORK(EXCHANGE)                                                                                     \
    EXCHANGE(0, 1) EXCHANGE(3, 4) EXCHANGE(6, 7) EXCHANGE(1, 2) EXCHANGE(4, 5) EXCHANGE(7, 8)                          \
    EXCHANGE(0, 1) EXCHANGE(3, 4) EXCHANGE(6, 7) EXCHANGE(0, 3) EXCHANGE(3, 6) EXCHANGE(0, 3)                          \
    EXCHANGE(1, 4) EXCHANGE(4, 7) EXCHANGE(1, 4) EXCHANGE(2, 5) EXCHANGE(5, 8) EXCHANGE(2, 5)                          \
    EXCHANGE(1, 3) EXCHANGE(5, 7) EXCHANGE(2, 6) EXCHANGE(4, 6) EXCHANGE(2, 4) EXCHANGE(2, 3)                          \
    EXCHANGE(5, 6)
/* clang-format on */

#define VF_DENSE_FILL_LEAST 4 /* pixels of 3x3 with a disparity, for one that has none to be filled */
#define VF_DENSE_FILL_RANGE (2 * VF_DENSE_UNITS) /* most that these differ [1/VF_DENSE_UNITS px] */
#define VF_DENSE_FILLED 1                        /* confidence of a filled pixel */

/** Median of those of nine disparities that are not VF_DENSE_NONE, of an even number the lower of both in the middle,
 *  at most `most`. Without a disparity in the middle one, v[4]: VF_DENSE_NONE, unless it is to be filled. Sorts the
 *  nine, VF_DENSE_NONE last. most: disparity that leads to camera 1's first column. */
VF_FN uint32_t vf_dense_smooth(uint32_t v[9], uint32_t most)
{
    const int hole = v[4] == VF_DENSE_NONE;
    uint32_t count = 0, median = VF_DENSE_NONE, last = 0;
    for (int k = 0; k < 9; k++) count += v[k] != VF_DENSE_NONE;
#define VF_EXCHANGE(a, b)                                                                                              \
    {                                                                                                                  \
        const uint32_t more = v[a] > v[b] ? v[a] : v[b];                                                               \
        v[a] = v[a] > v[b] ? v[b] : v[a];                                                                              \
        v[b] = more;                                                                                                   \
    }
    VF_DENSE_NETWORK(VF_EXCHANGE)
#undef VF_EXCHANGE
    for (uint32_t k = 0; k < 5; k++) median = count && k == (count - 1) / 2 ? v[k] : median;
    for (uint32_t k = VF_DENSE_FILL_LEAST - 1; k < 8; k++) last = v[k] != VF_DENSE_NONE ? v[k] : last;
    const int fill = count >= VF_DENSE_FILL_LEAST && last - v[0] <= VF_DENSE_FILL_RANGE && median <= most;
    if (hole && !fill) return VF_DENSE_NONE;
    return median < most ? median : most;
}

/* Speckle filter: side of a tile, distance of tiles [px]; sweeps along rows and columns until labels must be equal */
#define VF_DENSE_TILE 64
#define VF_DENSE_TILE_STRIDE 32
#define VF_DENSE_SWEEPS 8

/** Largest difference of neighbours' disparities within a segment [1/VF_DENSE_UNITS px]. */
VF_FN int32_t vf_dense_speckle_range(const struct vf_dense_tuning *t)
{
    return t->dense_speckle_mpx * VF_DENSE_UNITS / 1000;
}

/** 1 if two neighbouring pixels of disparities a and b belong to one segment. range: vf_dense_speckle_range(). */
VF_FN int vf_dense_connected(uint32_t a, uint32_t b, int32_t range)
{
    return a != VF_DENSE_NONE && b != VF_DENSE_NONE && vf_abs((int32_t)a - (int32_t)b) <= range;
}

#endif
