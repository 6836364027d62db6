/* SPDX-License-Identifier: MIT */
/* detect: the best corner of every cell of two grids (paper 000, II.B to II.D; paper 001, 3; paper 004, II.A and II.C.1).
 *
 * In      levels 0 .. detect_levels-1 of VFRONT_SCALES, masks
 * Out     one key a culling cell and level, for key points, and one a cell, of whatever level, for tracks: score and position of the
 *         best corner, 0 without one
 * Rule    vf_detect_rank(): segment test and score. A corner is suppressed by a pixel within the radius on its level that has a
 *         higher rank, or the same rank and comes earlier in raster order; so of equal neighbours one stays. What stays is ranked
 *         anew with its Harris response, when the tuning says so. The best of a cell has the highest key
 * Exact   integers; a maximum does not depend on the order in which it is found
 * Memory  8 bytes a culling cell and level, 8 a cell
 */
#ifndef VF_DETECT_H
#define VF_DETECT_H

#include "image/smooth.h"

struct vf_detect_memory {
    uint64_t best[VFRONT_CAMERAS]
                 [VFRONT_SCALES * VFRONT_CULL_CELLS]; /* level by level, as many each as there are culling cells */
    uint64_t corner[VFRONT_CAMERAS][VFRONT_CELLS];
};

/** Largest suppression radius [px]; radius of the circle of the segment test; how far the Harris response sees. */
#define VF_RADIUS_MAX 4
#define VF_CIRCLE 3
#define VF_HARRIS 4

/** A rank is a corner score, plus this when the corner passes at the first threshold. 0 is no corner. */
#define VF_RANK_STRONG 0x2000

/* ---- segment test ------------------------------------------------------------------------------------------------ */

/** The circle of 16 pixels, clockwise from the top (paper 000, figure 3): X(number, x, y). */
/* clang-format off */
#define VF_CIRCLE_PIXELS(X) \
    X(0, 0, -3) X(1, 1, -3) X(2, 2, -2) X(3, 3, -1) X(4, 3, 0) X(5, 3, 1) X(6, 2, 2) X(7, 1, 3) \
    X(8, 0, 3) X(9, -1, 3) X(10, -2, 2) X(11, -3, 1) X(12, -3, 0) X(13, -3, -1) X(14, -2, -2) X(15, -1, -3)
/* clang-format on */

/** Where runs of at least `arc` (9..16) ones start in a circular mask of 16 bits: bit i for a run from i upwards. */
VF_FN uint32_t vf_detect_runs(uint32_t mask, int32_t arc)
{
    uint32_t m = mask | mask << 16;
    m &= m >> 1;
    m &= m >> 2;
    m &= m >> 4;
    m &= m >> (arc - 8);
    return m & 0xffff;
}

/** All bits of the runs that start at `starts`. Two runs of 9 or more overlap, so it is one arc; and there is no arc of the other
 *  sign beside it. */
VF_FN uint32_t vf_detect_arc(uint32_t starts, int32_t arc)
{
    uint32_t m = starts;
    m |= m << 1;
    m |= m << 2;
    m |= m << 4;
    m |= m << (arc - 8);
    return (m | m >> 16) & 0xffff;
}

/** Score of a corner from the 16 differences to its centre, their sign turned so that the arc is brighter. */
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

/** Where the arcs of a pixel start at one threshold, bit by bit; both 0 if it is no corner: when no arc of `arc` (9..12) pixels is brighter
 *  or darker, or one of more than `most` is. `circle` holds the 16 grey levels around `centre`. */
struct vf_arcs {
    uint32_t bright, dark;
};
VF_FN struct vf_arcs vf_detect_arcs(const int32_t circle[16], int32_t centre, int32_t threshold, int32_t arc,
                                    int32_t most)
{
    uint32_t bright = 0, dark = 0;
    for (int32_t i = 0; i < 16; i++) {
        bright |= (uint32_t)(circle[i] > centre + threshold) << i;
        dark |= (uint32_t)(circle[i] < centre - threshold) << i;
    }
    const uint32_t spot = most < 16 ? vf_detect_runs(bright, most + 1) | vf_detect_runs(dark, most + 1) : 0;
    const struct vf_arcs arcs = {spot ? 0 : vf_detect_runs(bright, arc), spot ? 0 : vf_detect_runs(dark, arc)};
    return arcs;
}

/** Score of a pixel with such arcs, 0 without. */
VF_FN uint32_t vf_detect_arcs_score(const int32_t circle[16], int32_t centre, struct vf_arcs arcs, int32_t arc,
                                    int32_t kind)
{
    int32_t difference[16];
    for (int32_t i = 0; i < 16; i++) difference[i] = arcs.bright ? circle[i] - centre : centre - circle[i];
    const uint32_t score = vf_detect_score(difference, arcs.bright | arcs.dark, arc, kind);
    return arcs.bright | arcs.dark ? score : 0;
}

/** Rank of a pixel from its scores at the first and at the low threshold. */
VF_FN uint32_t vf_detect_rank(uint32_t strong, uint32_t weak) { return strong ? strong + VF_RANK_STRONG : weak; }

/* ---- Harris response (paper 001, 3.2, with k = 0.04) ------------------------------------------------------------- */

/** Sums of products of gradients over a window of at most 7x7 px; a gradient is a 3x3 Sobel sum, within +-1020. */
struct vf_harris {
    int32_t xx, yy, xy;
};
VF_FN void vf_harris_add(struct vf_harris *h, int32_t gx, int32_t gy)
{
    h->xx += gx * gx;
    h->yy += gy * gy;
    h->xy += gx * gy;
}

/** det - 0.04 trace^2, times 25. The sums are below 2^26, so nothing overflows; it is at most 21 times the square of one of them. */
VF_FN int64_t vf_harris_response(struct vf_harris h)
{
    const int64_t trace = (int64_t)h.xx + h.yy;
    return 25 * ((int64_t)h.xx * h.yy - (int64_t)h.xy * h.xy) - trace * trace;
}

/** What ranks a corner, from its corner score and the sums over 7x7 and over 5x5 px: see vfront_keypoint_t. */
VF_FN uint32_t vf_detect_ranking(const vfront_tuning_t *t, uint32_t corner_score, struct vf_harris seven,
                                 struct vf_harris five)
{
    const uint32_t f = t->detect_score == VFRONT_SCORE_MT ? corner_score : corner_score >> 4; /* below 2^8 */
    const int64_t r = t->detect_rank == 1 ? vf_harris_response(seven)
                                          : (vf_harris_response(five) >> 14) * (int64_t)(f * f);
    return r < 1 << 24
               ? 1
               : (uint32_t)(r >> 24); /* below 2^32: 21 (49 1020^2)^2 2^-24, and 21 (25 1020^2)^2 2^-14 255^2 2^-24 */
}

/* ---- grid -------------------------------------------------------------------------------------------------------- */

/** Pixels at the border of a level that are not searched: the segment test, the Harris response, and descriptors need some room. */
VF_FN int32_t vf_detect_margin(const vfront_tuning_t *t)
{
    const int32_t least = t->detect_rank ? VF_HARRIS : VF_CIRCLE;
    return vf_described(t) ? vf_max(least, t->describe_margin_px) : least;
}

/** First and last pixel along one axis of a level that may be a corner: `border` px of level 0 and `margin` px of the level from the
 *  edges. The last is before the first where there is none. */
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

/** Key of a corner: strong before weak, then score, then finer level, then raster order. */
VF_FN uint64_t vf_detect_key(int32_t strong, uint32_t score, int32_t level, int32_t x, int32_t y)
{
    return (uint64_t)(strong != 0) << 61 | (uint64_t)score << 29 |
           (0x1fffffffu - ((uint32_t)level << 26 | (uint32_t)y << 13 | (uint32_t)x));
}

#define VF_KEY_BITS 62

/** A corner, from its key. */
struct vf_corner {
    int32_t x, y, level; /* pixel of its level */
    int32_t strong;
    uint32_t score;
};
VF_FN struct vf_corner vf_detect_corner(uint64_t key)
{
    const uint32_t place = 0x1fffffffu - (uint32_t)(key & 0x1fffffffu);
    struct vf_corner c;
    c.x = (int32_t)(place & 8191);
    c.y = (int32_t)(place >> 13 & 8191);
    c.level = (int32_t)(place >> 26);
    c.strong = (int32_t)(key >> 61 & 1);
    c.score = (uint32_t)(key >> 29);
    return c;
}

/** Cells of a camera's grid, and culling cells. */
VF_FN int32_t vf_cells(const struct vf_geometry *g, int32_t camera) { return g->cells_x[camera] * g->cells_y[camera]; }
VF_FN int32_t vf_culls(const struct vf_geometry *g, int32_t camera) { return g->culls_x[camera] * g->culls_y[camera]; }

/** Level 0 place of a corner. */
struct vf_place {
    int32_t x_q16, y_q16;
};
VF_FN struct vf_place vf_detect_place(const struct vf_geometry *g, uint64_t key)
{
    const struct vf_corner c = vf_detect_corner(key);
    struct vf_place p;
    p.x_q16 = vf_centre_q16(c.x, g->step_q16[c.level]);
    p.y_q16 = vf_centre_q16(c.y, g->step_q16[c.level]);
    return p;
}

#endif
