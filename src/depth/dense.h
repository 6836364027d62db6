/* SPDX-License-Identifier: MIT */
/* dense: disparity of every pixel of camera 0, by semi-global matching (H. Hirschmueller, Stereo processing by
 * semiglobal matching and mutual information, 2008) of a census transform (R. Zabih, J. Woodfill, Non-parametric local
 * transforms for computing visual correspondence, 1994), half of it centre-symmetric (R. Spangenberg et al., Weighted
 * semi-global matching and center-symmetric census transform for robust driver assistance, 2013).
 *
 * In      level 0 of both cameras, row-aligned: rectified, or pinholes side by side; masks
 * Out     disparity of every pixel of camera 0 [1/16 px] or none; its confidence; number of pixels with a disparity
 * Rule    1. Census word, 24 bits, each 1 if one pixel is brighter than another by more than VF_DENSE_CENSUS_GREY: 12
 *            compare opposite pixels of 5x5; 12 compare every second border pixel of 7x7 with the centre. Outside the
 *            image the nearest pixel inside is used
 *         2. Matching cost of a disparity: Hamming distance between the census words of a pixel and its match. A match
 *            left of camera 1's first column costs as much as a match in that column, but cannot win, so that neither
 *            flat areas nor the border favour a disparity
 *         3. Path cost along 8 directions: L(p, d) = C(p, d) + min(L(q, d), L(q, d +- 1) + dense_p1, min L(q) +
 *            P2) - min L(q), with q the previous pixel of the path. P2 is dense_p2, but vf_dense_edge_p2() where the
 *            grey levels of p and q differ by more than VF_DENSE_EDGE_GREY: surfaces end at edges
 *         4. Winner: least sum of path costs over all directions, the smaller disparity among equals. It must pass the
 *            uniqueness test against the best disparity that is not its neighbour. Subpixel part: symmetric V through
 *            the sums of both neighbours
 *         5. Left-right check: the winner of the matching pixel of camera 1, found from the same sums, differs from the
 *            winner of camera 0's pixel by at most dense_back_px
 *         6. Median of 3x3 pixels, limited to the disparity of camera 1's first column. A pixel without a disparity is
 *            filled with the median, with confidence 1, if at least VF_DENSE_FILL_MIN neighbours have one and these
 *            span at most VF_DENSE_FILL_RANGE. Its match must lie in camera 1, and no mask may cover the pixel or its
 *            match. All medians are taken of the disparities after step 5
 *         7. Speckle filter. A segment consists of 4-connected pixels whose disparities differ by at most 1 px. It is
 *            removed if it has fewer than dense_speckle_px pixels, lies within a tile of VF_DENSE_TILE px (tiles begin
 *            every VF_DENSE_TILE_STRIDE px) and its labels converge: labels rise in raster order, and VF_DENSE_SWEEPS
 *            times each connected run of a row, then of a column, takes its least label. The time is thus the same for
 *            all images; a segment whose labels do not converge is kept, because it is too winding for a speckle
 *         8. Half-occluded pixels: a run of a row without disparities, between a farther surface on its left and one
 *            on its right that is nearer by 1 px or more. It takes the disparity on its left, with confidence 1, if it
 *            has at most 1 px more than the nearer surface hides of the farther one from camera 1; masks as in step 6
 * Exact   integers; a path cost is at most 24 + 39, so the sum of four fits a byte
 * Memory  3 bytes a pixel, and 9 of pinned memory. Scratch: 2 VFRONT_DISPARITIES + 21 bytes a pixel and 8
 *         VFRONT_DISPARITIES a row: census words, two volumes of summed path costs, a byte each (two because two
 *         directions run concurrently), disparities before the filters
 * Shared  the arithmetic of this file. Written twice (host form / kernel):
 *         - census_row() / census_k(): bytes of a whole row as vector code; words of four pixels a thread. The host
 *           form uses vf_dense_census() at the border. All three expand VF_DENSE_CENSUS_HIGH, _MIDDLE and _LOW;
 *           edge_row() / census_k(), vf_dense_edges() likewise VF_DENSE_EDGES
 *         - hamming_row() / matching_costs(): bit sums as vector code; the population count instruction
 *         - extend_path() / extend_path(): bytes, one disparity at a time; two 16-bit costs a register, over a warp
 *         - sum_volumes(), winner_of() / add_volumes(), find_winner(): loops over disparities; packed sums over a warp
 *         - median_columns() / vf_dense_smooth(): 64 columns at a time as vector code; one pixel a thread. Both expand
 *           VF_DENSE_NETWORK. Written twice: exchange, choice of the median, fill condition
 *         - fill_half_occluded() / fill_half_occluded(): from left to right; neighbours by ballots of a row's warps
 *         - speckle_filter() / speckle_k(): union-find over the image, then labels of small segments only; labels of
 *           all pixels of a tile in shared memory
 */
#ifndef VF_DENSE_H
#define VF_DENSE_H

#include "base/view.h"

/** Disparity units per pixel: (x, y) of camera 0 matches (x - disparity / 16, y) of camera 1. A disparity is never
 *  negative. */
#define VF_DENSE_UNITS 16
/** Value of vf_dense_memory.disparity for a pixel without a disparity. */
#define VF_DENSE_NONE 0xffffu

/** Result of the stage. Pixel (x, y) is element y * pitch + x, with pitch = geometry.level[0][0].pitch elements (not
 *  bytes). Elements between width and pitch are not written. */
struct vf_dense_memory {
#if VFRONT_DENSE
    uint16_t disparity[VFRONT_PICTURE_BYTES]; /* disparity [1/VF_DENSE_UNITS px], or VF_DENSE_NONE */
    uint8_t confidence[VFRONT_PICTURE_BYTES]; /* confidence, 1 (least) .. 255; 0 without a disparity */
    uint32_t valid;                           /* number of pixels with a disparity */
#else
    uint64_t nothing;
#endif
};

/** Number of elements for the path costs of a pixel along one direction, with a sentinel before the first and after the
 *  last. */
#define VF_DENSE_PADDED (VFRONT_DISPARITIES + 2)

/** Scratch, valid only while the stage runs. The content may differ between ports. */
struct vf_dense_scratch {
#if VFRONT_DENSE
    /* Census words of cameras 0, with edges (vf_dense_edges()), and 1. Host form and kernel order the words of camera 1
     * differently; the kernel stores two copies. */
    uint32_t census0[VFRONT_PICTURE_BYTES];
    uint32_t census1[2][VFRONT_PICTURE_BYTES + VFRONT_HEIGHT * VFRONT_DISPARITIES];
    /* Sums of path costs, each volume over four of the eight directions: dense_disparities values per pixel, in the
     * order of the port. In the host form the second volume holds matching costs. */
    VF_CACHE_LINE uint8_t cost_volume[2][(size_t)VFRONT_PICTURE_BYTES * VFRONT_DISPARITIES];
    uint32_t back_key[VFRONT_PICTURE_BYTES]; /* vf_dense_key() of the best disparity of each pixel of camera 1 */
    /* Best disparities that pass the uniqueness test, in the host form also the left-right check [1/VF_DENSE_UNITS
     * px]. */
    uint16_t winner[VFRONT_PICTURE_BYTES];
    uint16_t median[VFRONT_PICTURE_BYTES]; /* disparities after left-right check and median */
    /* uniqueness margin of the best disparity, vf_dense_margin(); 1 for filled pixels */
    uint8_t margin[VFRONT_PICTURE_BYTES];
    /* Host form: path costs along three directions, of the current and of the previous row of the pass. */
    uint8_t path_row[6][VFRONT_WIDTH * VF_DENSE_PADDED];
#else
    uint64_t nothing;
#endif
};

/** Disparities in host memory, as in vfront_disparity_t. */
struct vf_dense_copy {
#if VFRONT_DENSE
    VF_CACHE_LINE uint16_t disparity[VFRONT_PICTURE_BYTES];
    VF_CACHE_LINE uint8_t confidence[VFRONT_PICTURE_BYTES];
#else
    uint64_t nothing;
#endif
};

/* View of dense (base/view.h). scratch: valid only while the stage runs; copy: three copies of the disparities in host
 * memory, used in turn. */
/* clang-format off */
#define VF_READS_dense(X) X(ingest) X(rectify)
#define VF_BEFORE_dense(X)
#define VF_GEOMETRY_dense(X) X(level)
#define VF_TUNING_dense(X)                                                                                             \
    X(dense_disparities) X(dense_least_px) X(dense_p1) X(dense_p2) X(dense_unique_percent)              \
    X(dense_back_px) X(dense_speckle_px) X(dense)
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

/** Number of pixels with a disparity; 0 if the stage dense has no work. active: vf_geometry.active. */
VF_FN uint32_t vf_dense_valid(const struct vf_dense_memory *m, uint32_t active)
{
#if VFRONT_DENSE
    if (active & VF_BIT(dense)) return m->valid;
#endif
    (void)m, (void)active;
    return 0;
}

/* ---- matching cost ----------------------------------------------------------------------------------------------- */

#define VF_DENSE_CENSUS_RADIUS 3 /* radius of the census window [px] */
#define VF_DENSE_CENSUS_BITS 24  /* number of bits of a census word, which is also the largest matching cost */
#define VF_DENSE_CENSUS_GREY 1   /* a pixel is brighter only if it exceeds the other by more than this [grey levels] */

/** Comparisons of a census word, eight for each of its three bytes. BRIGHTER(bit, u, v, p, q): bit of the byte; 1 if
 *  the pixel at offset (u, v) from the centre is brighter than the pixel at offset (p, q). */
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

/** Census word of a pixel. Outside the image the nearest pixel inside is used. */
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

/* ---- edges ------------------------------------------------------------------------------------------------------- */

/** Largest difference of grey levels between neighbours on one surface: over 2 deviations where each pixel has noise of
 *  5 [grey levels]. */
#define VF_DENSE_EDGE_GREY 16

/** Neighbours of a pixel, a bit of a byte each. DIFFERS(bit, u, v): 1 if the grey level at offset (u, v) and that of
 *  the pixel differ by more than VF_DENSE_EDGE_GREY. */
/* clang-format off */
#define VF_DENSE_EDGES(DIFFERS)                                                                                        \
    DIFFERS(0, -1, -1) DIFFERS(1, 0, -1) DIFFERS(2, 1, -1) DIFFERS(3, -1, 0)                                           \
    DIFFERS(4, 1, 0) DIFFERS(5, -1, 1) DIFFERS(6, 0, 1) DIFFERS(7, 1, 1)
/* clang-format on */

/** Bit of a camera 0 word that marks an edge between a pixel and its neighbour at offset (u, v). */
VF_FN uint32_t vf_dense_edge_bit(int32_t u, int32_t v)
{
    const int32_t at = 3 * (v + 1) + u + 1;
    return 1u << (VF_DENSE_CENSUS_BITS + at - (at > 4));
}

/** Edges of a pixel, above the bits of its census word. Outside the image the nearest pixel inside is used. */
VF_FN uint32_t vf_dense_edges(const uint8_t *pixels, const struct vf_level *l, int32_t x, int32_t y)
{
    const int32_t own = pixels[y * l->pitch + x];
    uint32_t edges = 0;
#define VF_GREY(u, v) pixels[vf_clamp(y + (v), 0, l->height - 1) * l->pitch + vf_clamp(x + (u), 0, l->width - 1)]
#define VF_DIFFERS(bit, u, v) | (uint32_t)(vf_abs(VF_GREY(u, v) - own) > VF_DENSE_EDGE_GREY) << (bit)
    edges = edges VF_DENSE_EDGES(VF_DIFFERS);
#undef VF_DIFFERS
#undef VF_GREY
    return edges << VF_DENSE_CENSUS_BITS;
}

/** Penalty of a change of disparity by more than 1 px across an edge. */
VF_FN int32_t vf_dense_edge_p2(const struct vf_dense_tuning *t) { return vf_max(t->dense_p1, t->dense_p2 / 3); }

/* ---- winner ------------------------------------------------------------------------------------------------------ */

/** Key of a disparity: sum of its path costs, then its index. Least is best, so equal sums prefer the smaller
 *  disparity. index: disparity [px] minus dense_least_px, 0 .. 255. */
VF_FN uint32_t vf_dense_key(uint32_t sum, uint32_t index) { return sum << 8 | index; }

/** Number of disparities from dense_least_px on whose match for column x lies within camera 1's image. <= 0: none. */
VF_FN int32_t vf_dense_candidates(const struct vf_dense_tuning *t, int32_t x)
{
    return vf_min(t->dense_disparities, x - t->dense_least_px + 1);
}

#define VF_DENSE_UNIQUE_BITS 8 /* mean path cost at which dense_unique_percent is the exact threshold [bits] */
#define VF_DENSE_PATHS 8u      /* number of directions of the paths: with 4, a disparity is wrong more often */

/** Uniqueness margin of the best disparity: (second - best) / second * VF_DENSE_UNIQUE_BITS / mean path cost, 1 .. 255
 *  [1/255]. best: its sum of path costs; second: least sum of a disparity that is not its neighbour. Division by the
 *  path cost makes margins in noise count less. 0: the margin is at most dense_unique_percent, or second is VF_NONE. */
VF_FN uint32_t vf_dense_margin(const struct vf_dense_tuning *t, uint32_t best, uint32_t second)
{
    const uint32_t scale = VF_DENSE_UNIQUE_BITS * VF_DENSE_PATHS;
    if (second == VF_NONE || second <= best) return 0;
    if (100 * scale * (second - best) <= (uint32_t)t->dense_unique_percent * second * best) return 0;
    const uint32_t least = second * best, margin = least ? 255 * scale * (second - best) / least : 255;
    return margin > 255 ? 255 : margin ? margin : 1;
}

/** Disparity with subpixel part [1/VF_DENSE_UNITS px], rounded to nearest, halves up. Subpixel part, within half a
 *  pixel: minimum of a symmetric V through the path cost sums of the best index and both neighbours. before, after:
 *  sums of the neighbours; VF_NONE: no such neighbour, no subpixel part. */
VF_FN uint32_t vf_dense_disparity(const struct vf_dense_tuning *t, uint32_t index, uint32_t before, uint32_t best,
                                  uint32_t after)
{
    const uint32_t whole = ((uint32_t)t->dense_least_px + index) * VF_DENSE_UNITS, half = VF_DENSE_UNITS / 2;
    if (before == VF_NONE || after == VF_NONE) return whole;
    const uint32_t slope = (before > after ? before : after) - best;
    if (!slope) return whole;
    return whole - half + (VF_DENSE_UNITS * (before + slope - after) + slope) / (2 * slope);
}

/** Disparity rounded to whole pixels, halves up: columns between a pixel and its match [px]. */
VF_FN int32_t vf_dense_px(uint32_t disparity) { return (int32_t)((disparity + VF_DENSE_UNITS / 2) / VF_DENSE_UNITS); }

/** Left-right check: 1 if the best disparity of the match in camera 1 differs from `disparity` by at most
 *  dense_back_px. back: vf_dense_key() of that best disparity. */
VF_FN int vf_dense_consistent(const struct vf_dense_tuning *t, uint32_t disparity, uint32_t back)
{
    return vf_abs(vf_dense_px(disparity) - t->dense_least_px - (int32_t)(back & 255)) <= t->dense_back_px;
}

#if VFRONT_DENSE
/** 1 if no mask covers a pixel or its match. framed: 1 for each camera whose frame has a mask. */
VF_FN int vf_dense_usable(const struct vf_dense_view *s, const int framed[2], int32_t x, int32_t y, uint32_t disparity)
{
    const int32_t match = x - vf_dense_px(disparity), row0 = y * s->geometry.level[0][0].pitch,
                  row1 = y * s->geometry.level[VFRONT_CAMERAS - 1][0].pitch;
    return vf_usable(&s->masks, 0, framed[0], row0 + x) && vf_usable(&s->masks, 1, framed[1], row1 + match);
}

/** Disparity of a pixel after masks and left-right check, or VF_DENSE_NONE. framed: 1 for each camera whose frame has a
 *  mask; back: vf_dense_scratch.back_key of row y. */
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

/** Sorting network of nine elements, 25 exchanges (R. Floyd, after D. E. Knuth, The art of computer programming 3,
 *  5.3.4). EXCHANGE(a, b) moves the lesser of elements a and b to a, the greater to b. */
/* clang-format off */
#define VF_DENSE_NETWORK(EXCHANGE)                                                                                     \
    EXCHANGE(0, 1) EXCHANGE(3, 4) EXCHANGE(6, 7) EXCHANGE(1, 2) EXCHANGE(4, 5) EXCHANGE(7, 8)                          \
    EXCHANGE(0, 1) EXCHANGE(3, 4) EXCHANGE(6, 7) EXCHANGE(0, 3) EXCHANGE(3, 6) EXCHANGE(0, 3)                          \
    EXCHANGE(1, 4) EXCHANGE(4, 7) EXCHANGE(1, 4) EXCHANGE(2, 5) EXCHANGE(5, 8) EXCHANGE(2, 5)                          \
    EXCHANGE(1, 3) EXCHANGE(5, 7) EXCHANGE(2, 6) EXCHANGE(4, 6) EXCHANGE(2, 4) EXCHANGE(2, 3)                          \
    EXCHANGE(5, 6)
/* clang-format on */

/** 1 if camera 1 cannot see a run of `count` pixels without a disparity: the nearer surface on its right hides it.
 *  before, after: disparities of the pixels on its left and right. */
VF_FN int vf_dense_half_occluded(uint32_t before, uint32_t after, int32_t count)
{
    const int32_t nearer = (int32_t)after - (int32_t)before; /* pixels that are hidden [1/VF_DENSE_UNITS px] */
    return nearer >= VF_DENSE_UNITS && (count - 1) * VF_DENSE_UNITS <= nearer;
}

/* least number of neighbours with a disparity for a pixel to be filled */
#define VF_DENSE_FILL_MIN 4
/* largest range of the neighbours' disparities for a pixel to be filled [1/VF_DENSE_UNITS px] */
#define VF_DENSE_FILL_RANGE (2 * VF_DENSE_UNITS)
#define VF_DENSE_FILLED 1 /* confidence of a filled pixel */

/** Median of the valid disparities among nine, limited to `most`. For an even number, the lower of the two middle ones.
 *  If the centre v[4] has no disparity: VF_DENSE_NONE, unless the pixel is to be filled. Sorts v, VF_DENSE_NONE last.
 *  most: disparity whose match lies in camera 1's first column. */
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
    for (uint32_t k = VF_DENSE_FILL_MIN - 1; k < 8; k++) last = v[k] != VF_DENSE_NONE ? v[k] : last;
    const int fill = count >= VF_DENSE_FILL_MIN && last - v[0] <= VF_DENSE_FILL_RANGE && median <= most;
    if (hole && !fill) return VF_DENSE_NONE;
    return median < most ? median : most;
}

#define VF_DENSE_TILE 64        /* side of a tile of the speckle filter [px] */
#define VF_DENSE_TILE_STRIDE 32 /* distance between tiles of the speckle filter [px] */
#define VF_DENSE_SWEEPS 8       /* number of sweeps of label propagation along rows and columns of a tile */

/** Largest difference of neighbouring disparities in a segment: 1 px, as disparities of one surface differ less. */
#define VF_DENSE_SPECKLE_RANGE VF_DENSE_UNITS

/** 1 if neighbouring pixels of disparities a and b belong to one segment. */
VF_FN int vf_dense_connected(uint32_t a, uint32_t b)
{
    return a != VF_DENSE_NONE && b != VF_DENSE_NONE && vf_abs((int32_t)a - (int32_t)b) <= VF_DENSE_SPECKLE_RANGE;
}

#endif
