/* SPDX-License-Identifier: MIT */
/* detect: best FAST corners of every cell of two grids (paper 000, II.B to II.D; paper 001, 3; paper 004, II.A and
 * II.C.1). Culling cells give key points, cells give new tracks.
 *
 * In      levels 0 .. detect_levels-1 of VFRONT_SCALES, masks
 * Out     keys (score and position; 0: no corner): the best and second best corner of each culling cell and level, for
 *         select; the best corner of each cell over all levels, for refill
 * Rule    1. segment test and corner score at two thresholds: vf_detect_runs(), vf_detect_score(),
 *            vf_detect_nms_score()
 *         2. non-maximum suppression: a corner is dropped if a pixel within the radius on its level has a higher NMS
 *            score, or an equal one and comes earlier in raster order; so one of several equal neighbours remains
 *         3. final score: corner score, or Harris response by detect_rank: vf_detect_final_score()
 *         4. highest key, vf_detect_key(), of each cell; second highest of each culling cell
 * Exact   integers; all keys differ, so highest and second highest do not depend on the order of the search
 * Shared  limits of the search, Sobel kernel, sums of gradient products, Harris response, final score, key. Written
 *         twice: segment test and corner score. The kernel (arc_starts() and arc_score() in detect.cu) compares four
 *         pixels of a circle at a time and continues with bit masks, one pixel a thread. The host form (score_chunk()
 *         in detect.c) computes minima, maxima and sums of bytes and 16-bit integers over 32 pixels, which compilers
 *         vectorise. In the kernel vf_detect_arcs_score() computes the scores SAD-B and MT
 * Memory  32 bytes a culling cell and level, 16 a cell
 */
#ifndef VF_DETECT_H
#define VF_DETECT_H

#include "base/view.h"

struct vf_detect_memory {
    /* Sort keys of corners, [parity][camera]; 0: no corner. A frame raises its own set from 0 and clears the other set
     * for the next frame. */
    /* best corner of each culling cell, level by level */
    uint64_t best[2][VFRONT_CAMERAS][VFRONT_SCALES * VFRONT_CULL_CELLS];
    uint64_t second[2][VFRONT_CAMERAS][VFRONT_SCALES * VFRONT_CULL_CELLS]; /* second best corner of each culling cell */
    uint64_t corner[2][VFRONT_CAMERAS][VFRONT_CELLS]; /* best corner over all levels of each cell for new tracks */
};

/* View of detect (base/view.h). */
/* clang-format off */
#define VF_READS_detect(X) X(ingest) X(rectify) X(scale)
#define VF_BEFORE_detect(X)
#define VF_GEOMETRY_detect(X)                                                                                          \
    X(cameras) X(searched) X(scale) X(step_q16) X(cells_x) X(culls_x) X(cells) X(culls) X(cull_slots)
#define VF_TUNING_detect(X)                                                                                            \
    X(detect_threshold) X(detect_threshold_low) X(detect_arc_most) X(detect_score) X(detect_rank)        \
    X(detect_radius) X(detect_border_px) X(cell_width_px) X(cell_height_px) X(cull_width_px) X(cull_height_px)         \
    X(describe) X(describe_margin_px) X(select_points)
/* clang-format on */
VF_GEOMETRY_OF(detect);
VF_TUNING_OF(detect);
struct vf_detect_view {
    VF_VIEW(detect);
    struct vf_detect_tuning tuning;
    struct vf_pictures pictures;
    struct vf_masks masks;
};
VF_HOST_FORM(detect);

#define VF_NMS_RADIUS_MAX 4 /* largest radius of non-maximum suppression [px of the level] */
#define VF_CIRCLE_RADIUS 3  /* radius of the circle of the segment test [px of the level] */
#define VF_HARRIS_RADIUS 4  /* radius of the pixels that the Harris response reads [px of the level] */

/** Added to the corner score of a corner that passes the first (higher) threshold. The sum is the score for non-maximum
 *  suppression; 0: no corner. Corner scores are below this value. */
#define VF_NMS_HIGH 0x2000

/* ---- segment test ------------------------------------------------------------------------------------------------ */

/** The circle of 16 pixels, clockwise from the top (paper 000, figure 3): X(number, x, y). */
/* clang-format off */
#define VF_CIRCLE_PIXELS(X)                                                                                            \
    X(0, 0, -3) X(1, 1, -3) X(2, 2, -2) X(3, 3, -1) X(4, 3, 0) X(5, 3, 1) X(6, 2, 2) X(7, 1, 3)                        \
    X(8, 0, 3) X(9, -1, 3) X(10, -2, 2) X(11, -3, 1) X(12, -3, 0) X(13, -3, -1) X(14, -2, -2) X(15, -1, -3)
/* clang-format on */

/** Starts of runs of at least `arc` (9..16) ones in a circular mask of 16 bits. twice: the mask in both halves. Bit i
 *  is set if bits i .. i + arc - 1 are. */
VF_FN uint32_t vf_detect_runs(uint32_t twice, int32_t arc)
{
    uint32_t m = twice & twice >> 1;
    m &= m >> 2;
    m &= m >> 4;
    m &= m >> (arc - 8);
    return m & 0xffff;
}

/** Least number of contiguous pixels of the circle of 16 that make a corner: FAST-9, the most repeatable (E. Rosten,
 *  T. Drummond, 2006). */
#define VF_DETECT_ARC 9

/** Bits of the arc formed by the runs of `arc` ones that start at `starts`. Runs of 9 or more overlap, so there is one
 *  arc, and no arc of the other sign. */
VF_FN uint32_t vf_detect_arc(uint32_t starts, int32_t arc)
{
    uint32_t m = starts;
    m |= m << 1;
    m |= m << 2;
    m |= m << 4;
    m |= m << (arc - 8);
    return (m | m >> 16) & 0xffff;
}

/** Corner score of a pixel, by `kind`. VFRONT_SCORE_SAD_B: sum of absolute differences over the circle of 16 pixels.
 *  VFRONT_SCORE_SAD_A: the sum over the pixels of the arc only. VFRONT_SCORE_MT: largest threshold at which the pixel
 *  is a corner. difference[i]: circle pixel i minus centre, negated if the arc is darker than the centre. starts: bit i
 *  is set if the `arc` circle pixels from i on belong to the arc (vf_detect_runs()). */
VF_FN uint32_t vf_detect_score(const int32_t difference[16], uint32_t starts, int32_t arc, int32_t kind)
{
    if (kind == VFRONT_SCORE_MT) {
        int32_t best = 0;
        for (int32_t i = 0; i < 16; i++) {
            int32_t least = difference[i];
            for (int32_t k = 1; k < 9; k++) least = vf_min(least, difference[(i + k) & 15]);
            for (int32_t k = 9; k < 12; k++) least = k < arc ? vf_min(least, difference[(i + k) & 15]) : least;
            best = vf_max(best, least);
        }
        return (uint32_t)(best - 1);
    }
    const uint32_t counted = kind == VFRONT_SCORE_SAD_A ? vf_detect_arc(starts, arc) : 0xffffu;
    int32_t sum = 0;
    for (int32_t i = 0; i < 16; i++) sum += (int32_t)(counted >> i & 1) * vf_abs(difference[i]);
    return (uint32_t)sum;
}

/** Result of the segment test at one threshold: starts of the runs of brighter and of darker circle pixels, as of
 *  vf_detect_runs(). A corner has an arc of at least detect_arc (9..12) pixels brighter than centre + threshold, or
 *  darker than centre - threshold. Arcs of more than detect_arc_most pixels are blobs, not corners. Both 0: no
 *  corner. */
struct vf_arcs {
    uint32_t bright, dark;
};

/** Corner score of a pixel from the result of the segment test; 0: no corner. kind: VFRONT_SCORE_*. */
VF_FN uint32_t vf_detect_arcs_score(const int32_t circle[16], int32_t centre, struct vf_arcs arcs, int32_t arc,
                                    int32_t kind)
{
    int32_t difference[16];
    for (int32_t i = 0; i < 16; i++) difference[i] = arcs.bright ? circle[i] - centre : centre - circle[i];
    const uint32_t score = vf_detect_score(difference, arcs.bright | arcs.dark, arc, kind);
    return arcs.bright | arcs.dark ? score : 0;
}

/** Score for non-maximum suppression, from the corner scores at the first (higher) and at the second threshold; 0: no
 *  corner. */
VF_FN uint32_t vf_detect_nms_score(uint32_t high, uint32_t low) { return high ? high + VF_NMS_HIGH : low; }

/* ---- Harris response (paper 001, 3.2, with k = 0.04) ------------------------------------------------------------- */

/** 1D kernel 1 2 1. A Sobel gradient is this kernel along one axis and a central difference along the other. */
VF_FN int32_t vf_sobel_smooth(int32_t a, int32_t b, int32_t c) { return a + 2 * b + c; }

/** Structure tensor: sums of gradient products over a window of at most 7x7 px. Gradients are 3x3 Sobel sums within
 *  +-1020. */
struct vf_harris {
    int32_t xx, yy, xy;
};

/** Adds the products of a pixel's gradient (gx, gy) to the structure tensor. */
VF_FN void vf_harris_add(struct vf_harris *h, int32_t gx, int32_t gy)
{
    h->xx += gx * gx;
    h->yy += gy * gy;
    h->xy += gx * gy;
}

/** Harris response det - 0.04 trace^2, times 25. The sums are below 2^26, so 64 bits suffice; the result is at most 21
 *  times the square of one sum. */
VF_FN int64_t vf_harris_response(struct vf_harris h)
{
    const int64_t trace = (int64_t)h.xx + h.yy;
    return 25 * ((int64_t)h.xx * h.yy - (int64_t)h.xy * h.xy) - trace * trace;
}

/** Final score of a corner for detect_rank 1 or 2, at least 1 (see vfront_keypoint_t). seven, five: structure tensors
 *  over 7x7 and 5x5 px around the corner. */
VF_FN uint32_t vf_detect_final_score(const struct vf_detect_tuning *t, uint32_t corner_score, struct vf_harris seven,
                                     struct vf_harris five)
{
    const uint32_t f = t->detect_score == VFRONT_SCORE_MT ? corner_score : corner_score >> 4; /* f is below 2^8 */
    const int64_t r = t->detect_rank == 1 ? vf_harris_response(seven)
                                          : (vf_harris_response(five) >> 14) * (int64_t)(f * f);
    /* r >> 24 is below 2^32: at most 21 (49 1020^2)^2 2^-24 for 7x7 px, 21 (25 1020^2)^2 2^-14 255^2 2^-24 for 5x5
     * px */
    return r < 1 << 24 ? 1 : (uint32_t)(r >> 24);
}

/* ---- grid -------------------------------------------------------------------------------------------------------- */

/** Margin of a level without corners [px of the level]: the radius that segment test, Harris response and descriptors
 *  read. */
VF_FN int32_t vf_detect_margin(const struct vf_detect_tuning *t)
{
    const int32_t least = t->detect_rank ? VF_HARRIS_RADIUS : VF_CIRCLE_RADIUS;
    return t->describe && t->select_points ? vf_max(least, t->describe_margin_px) : least;
}

/** First and last pixel along an axis that may be a corner: at least `border` px of level 0 and `margin` px of the
 *  level from the edges. size, size0: size of the level and of level 0 [px]. If last < first, no pixel may be a
 *  corner. */
VF_FN int32_t vf_detect_first(uint32_t step_q16, int32_t border, int32_t margin)
{
    int32_t u = margin;
    while (vf_centre_q16(u, step_q16) < border * 65536) u++;
    return u;
}
VF_FN int32_t vf_detect_last(uint32_t step_q16, int32_t border, int32_t margin, int32_t size, int32_t size0)
{
    int32_t u = size - 1 - margin;
    while (u >= 0 && vf_centre_q16(u, step_q16) > (size0 - 1 - border) * 65536) u--;
    return u;
}

/** Limits of the search on a level, inclusive [px of the level]. */
struct vf_detect_limits {
    int32_t x_first, x_last, y_first, y_last;
};
VF_FN struct vf_detect_limits vf_detect_limits_of(const struct vf_detect_geometry *g, const struct vf_detect_tuning *t,
                                                  int32_t camera, int32_t level)
{
    const struct vf_level *l = &g->scale[camera][level], *l0 = &g->scale[camera][0];
    const int32_t border = t->detect_border_px, margin = vf_detect_margin(t);
    const uint32_t step_q16 = g->step_q16[level];
    struct vf_detect_limits limits;
    limits.x_first = limits.y_first = vf_detect_first(step_q16, border, margin);
    limits.x_last = vf_detect_last(step_q16, border, margin, l->width, l0->width);
    limits.y_last = vf_detect_last(step_q16, border, margin, l->height, l0->height);
    return limits;
}

/** Key of a corner at pixel (x, y) of a level. Greater is better: first threshold before second, then score, finer
 *  level, raster order. Bit 61: first threshold; 29..60: score; 26..28: 7 - level; 13..25, 0..12: complements of y and
 *  x. */
VF_FN uint64_t vf_detect_key(int32_t high, uint32_t score, int32_t level, int32_t x, int32_t y)
{
    return (uint64_t)(high != 0) << 61 | (uint64_t)score << 29 |
           (0x1fffffffu - ((uint32_t)level << 26 | (uint32_t)y << 13 | (uint32_t)x));
}

/** Corner unpacked from its key. high: 1, passes the first threshold. */
struct vf_corner {
    int32_t x, y, level; /* column and row on its level [px], and the level */
    int32_t high;
    uint32_t score;
};
VF_FN struct vf_corner vf_detect_corner(uint64_t key)
{
    const uint32_t position = 0x1fffffffu - (uint32_t)(key & 0x1fffffffu);
    struct vf_corner c;
    c.x = (int32_t)(position & 8191);
    c.y = (int32_t)(position >> 13 & 8191);
    c.level = (int32_t)(position >> 26);
    c.high = (int32_t)(key >> 61 & 1);
    c.score = (uint32_t)(key >> 29);
    return c;
}

/** Position of the centre of a corner's pixel [1/65536 px of level 0]. step_q16: vf_geometry.step_q16. */
struct vf_position_q16 {
    int32_t x_q16, y_q16;
};
VF_FN struct vf_position_q16 vf_corner_position(const uint32_t *step_q16, uint64_t key)
{
    const struct vf_corner c = vf_detect_corner(key);
    struct vf_position_q16 p;
    p.x_q16 = vf_centre_q16(c.x, step_q16[c.level]);
    p.y_q16 = vf_centre_q16(c.y, step_q16[c.level]);
    return p;
}

#endif
