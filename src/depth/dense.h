/* SPDX-License-Identifier: MIT */
/* dense: the disparity of every pixel of camera 0, by semi-global matching (H. Hirschmueller, Stereo processing by semiglobal matching
 * and mutual information, 2008) of census words (R. Zabih, J. Woodfill, Non-parametric local transforms for computing visual
 * correspondence, 1994).
 *
 * In      level 0 of both cameras, row-aligned: rectified, or pinholes that stand side by side; masks
 * Out     disparity of every pixel of camera 0 in 1/16 px, or that it has none; how far it stands out; how many pixels have one
 * Rule    a pixel's census word says which of the 24 around it are brighter; beyond the border the nearest pixel stands. What a disparity
 *         costs is the number of bits in which the words differ; where it leads out of camera 1, the first of the row stands there, but it
 *         cannot win: so where pictures are flat nothing is cheaper, near the border neither. Along each of 4 or 8 directions costs add up as
 *         the pixels' disparities change: by nothing where they do not, dense_p1 for a change by 1, dense_p2 for any other, less the least
 *         that the pixel before had. The least sum over all directions wins, when it stands out from the next best that is no neighbour;
 *         between its neighbours' sums goes a V. It must be what camera 1 finds with the same sums; then it is replaced by the median of
 *         those around it, or what leads to camera 1's first column, if less; and segments of few pixels go
 *         A segment is made of neighbours along rows and columns whose disparities differ little. It goes when it has fewer than
 *         dense_speckle_px pixels, ends within one of the squares of VF_DENSE_SQUARE px that begin at every VF_DENSE_STRIDE-th pixel, and
 *         is seen to be one: every pixel has a number that rises along rows, then with them; VF_DENSE_SWEEPS times all pixels of
 *         every unbroken piece of a row, then of every piece of a column, take the least number among them; and then all have one. So the
 *         time is fixed, whatever the pictures are; a segment that winds more than that is larger than a speckle
 * Exact   integers; a path's costs are at most 24 + 39, so those of four fit a byte
 * Memory  3 bytes a pixel and 9 of pinned memory; 2 VFRONT_DISPARITIES + 21 bytes a pixel and 8 VFRONT_DISPARITIES a row while the stage runs: census
 *         words, path costs in two volumes of a byte, because two directions are under way at a time, and what filters have not seen yet
 */
#ifndef VF_DENSE_H
#define VF_DENSE_H

#include "core/vf.h"

/** Disparities are in 1/16 px: pixel (x, y) of camera 0 shows what camera 1 shows at (x - disparity / 16, y). Never negative. */
#define VF_DENSE_UNITS 16
/** A pixel without a disparity. */
#define VF_DENSE_NONE 0xffffu

/** Rows are s->geometry.level[0][0].pitch elements apart (elements, not bytes: pixel (x, y) is at y * pitch + x), of which the first
 *  level[0][0].width are pixels; what lies between width and pitch is not written. */
struct vf_dense_memory {
#if VFRONT_DENSE
    uint16_t disparity[VFRONT_PICTURE_BYTES]; /* [1/VF_DENSE_UNITS px], or VF_DENSE_NONE */
    uint8_t confidence[VFRONT_PICTURE_BYTES]; /* 1 (least) .. 255; 0 where there is none */
    uint32_t valid;                           /* pixels with a disparity */
#else
    uint64_t nothing;
#endif
};

/** Path costs of a pixel, and what stands before the first and behind the last. */
#define VF_DENSE_ROOM (VFRONT_DISPARITIES + 2)

/** What holds nothing before the stage and after it. Its content may differ from port to port. */
struct vf_dense_passing {
#if VFRONT_DENSE
    uint32_t census[VFRONT_PICTURE_BYTES]; /* of camera 0 */
    uint32_t opposite[2][VFRONT_PICTURE_BYTES +
                         VFRONT_HEIGHT *
                             VFRONT_DISPARITIES]; /* of camera 1; ports have them in different orders, CUDA twice */
    VF_LINE uint8_t
        volume[2][(size_t)VFRONT_PICTURE_BYTES * VFRONT_DISPARITIES]; /* pixel by pixel, dense_disparities of each */
    uint32_t back[VFRONT_PICTURE_BYTES];   /* of each pixel of camera 1: sum and index of the best that leads to it */
    uint16_t found[VFRONT_PICTURE_BYTES];  /* disparities that stand out */
    uint16_t smooth[VFRONT_PICTURE_BYTES]; /* those that camera 1 finds too, after the median */
    uint8_t margin[VFRONT_PICTURE_BYTES];  /* by how much they stand out */
    uint8_t
        row[6][VFRONT_WIDTH *
               VF_DENSE_ROOM]; /* of the host form: path costs of a row and of the one before, along three directions */
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

/** Whether the stage has anything to do: else its memory holds nothing. */
VF_FN int vf_dense_on(const struct vf_step *s) { return VFRONT_DENSE && s->tuning.dense; }

/* ---- costs ------------------------------------------------------------------------------------------------------- */

#define VF_DENSE_REACH 2 /* of a census window, to each side [px] */
#define VF_DENSE_BITS 24 /* of a census word, and the most that a disparity costs */
VF_STATIC_ASSERT((2 * VF_DENSE_REACH + 1) * (2 * VF_DENSE_REACH + 1) - 1 == VF_DENSE_BITS,
                 "vfront: a bit for each pixel around");

/** A pixel's census word: bit by bit from the upper left pixel around it, row by row, the last one lowest. */
VF_FN uint32_t vf_dense_census(const uint8_t *pixels, const struct vf_level *l, int32_t x, int32_t y)
{
    const uint8_t middle = pixels[y * l->pitch + x];
    uint32_t word = 0;
    for (int32_t v = -VF_DENSE_REACH; v <= VF_DENSE_REACH; v++) {
        const uint8_t *row = pixels + vf_clamp(y + v, 0, l->height - 1) * l->pitch;
        for (int32_t u = -VF_DENSE_REACH; u <= VF_DENSE_REACH; u++)
            if (u || v) word = word << 1 | (row[vf_clamp(x + u, 0, l->width - 1)] > middle);
    }
    return word;
}

/* ---- winner ------------------------------------------------------------------------------------------------------ */

/** Sum of path costs and index of a disparity, as one number, the least of which wins; of equals the smaller disparity. */
VF_FN uint32_t vf_dense_key(uint32_t sum, uint32_t index) { return sum << 8 | index; }

/** Disparities that lead a pixel of column x into camera 1: dense_least_px and so many less one above it. May be negative: none. */
VF_FN int32_t vf_dense_candidates(const vfront_tuning_t *t, int32_t x)
{
    return vf_min(t->dense_disparities, x - t->dense_least_px + 1);
}

/** How far the best sum stands out from the next best that is no neighbour of it, 1..255; 0: not far enough. Where there is no next best,
 *  it does not. */
VF_FN uint32_t vf_dense_margin(const vfront_tuning_t *t, uint32_t best, uint32_t second)
{
    if (second == VF_NONE || (100 - (uint32_t)t->dense_unique_percent) * second <= 100 * best) return 0;
    const uint32_t margin = (second - best) * 255 / second;
    return margin ? margin : 1;
}

/** Disparity in units, when the best is `index` and its neighbours' sums are known; VF_NONE: it has none on that side. */
VF_FN uint32_t vf_dense_disparity(const vfront_tuning_t *t, uint32_t index, uint32_t before, uint32_t best,
                                  uint32_t after)
{
    const uint32_t whole = ((uint32_t)t->dense_least_px + index) * VF_DENSE_UNITS;
    if (before == VF_NONE || after == VF_NONE) return whole;
    const uint32_t steep = (before > after ? before : after) - best;
    if (!steep) return whole;
    const uint32_t half = VF_DENSE_UNITS /
                          2; /* the V's valley lies up to half a pixel away; to the nearest unit, halves up */
    return whole - half + (VF_DENSE_UNITS * (before + steep - after) + steep) / (2 * steep);
}

/** Columns between a pixel and the one of camera 1 to which a disparity leads. */
VF_FN int32_t vf_dense_px(uint32_t disparity) { return (int32_t)((disparity + VF_DENSE_UNITS / 2) / VF_DENSE_UNITS); }

/** Whether camera 1 finds the same disparity, near enough. back: the key of its best where the disparity leads to. */
VF_FN int vf_dense_agrees(const vfront_tuning_t *t, uint32_t disparity, uint32_t back)
{
    return vf_abs(vf_dense_px(disparity) - t->dense_least_px - (int32_t)(back & 255)) <= t->dense_back_px;
}

/* ---- filters ----------------------------------------------------------------------------------------------------- */

/** A network that sorts nine: 25 exchanges (R. Floyd, after D. E. Knuth, The art of computer programming 3, 5.3.4). */
/* clang-format off */
#define VF_DENSE_NETWORK(EXCHANGE) \
    EXCHANGE(0, 1) EXCHANGE(3, 4) EXCHANGE(6, 7) EXCHANGE(1, 2) EXCHANGE(4, 5) \
    EXCHANGE(7, 8) EXCHANGE(0, 1) EXCHANGE(3, 4) EXCHANGE(6, 7) EXCHANGE(0, 3) \
    EXCHANGE(3, 6) EXCHANGE(0, 3) EXCHANGE(1, 4) EXCHANGE(4, 7) EXCHANGE(1, 4) \
    EXCHANGE(2, 5) EXCHANGE(5, 8) EXCHANGE(2, 5) EXCHANGE(1, 3) EXCHANGE(5, 7) \
    EXCHANGE(2, 6) EXCHANGE(4, 6) EXCHANGE(2, 4) EXCHANGE(2, 3) EXCHANGE(5, 6)
/* clang-format on */

/** Median of those of nine that are not VF_DENSE_NONE, of an even number the lower of both in the middle. Sorts them: what is none comes
 *  last. */
VF_FN uint32_t vf_dense_median(uint32_t v[9])
{
    uint32_t there = 0, median = VF_DENSE_NONE;
    for (int k = 0; k < 9; k++) there += v[k] != VF_DENSE_NONE;
#define VF_EXCHANGE(a, b)                                                                                              \
    {                                                                                                                  \
        const uint32_t more = v[a] > v[b] ? v[a] : v[b];                                                               \
        v[a] = v[a] > v[b] ? v[b] : v[a];                                                                              \
        v[b] = more;                                                                                                   \
    }
    VF_DENSE_NETWORK(VF_EXCHANGE)
#undef VF_EXCHANGE
    for (uint32_t k = 0; k < 5; k++) median = there && k == (there - 1) / 2 ? v[k] : median;
    return median;
}

#define VF_DENSE_SQUARE 64
#define VF_DENSE_STRIDE 32
#define VF_DENSE_SWEEPS 8

/** Most by which the disparities of neighbours in a segment differ [units]. */
VF_FN int32_t vf_dense_step(const vfront_tuning_t *t) { return t->dense_speckle_mpx * VF_DENSE_UNITS / 1000; }

/** Whether two neighbours belong to a segment. */
VF_FN int vf_dense_joined(uint32_t a, uint32_t b, int32_t step)
{
    return a != VF_DENSE_NONE && b != VF_DENSE_NONE && vf_abs((int32_t)a - (int32_t)b) <= step;
}

#endif
