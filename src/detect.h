/* SPDX-License-Identifier: MIT */
/* detect: the best corner of every cell of a grid (paper 000, II.B to II.D).
 *
 * In      levels 0 .. detect_levels-1, masks
 * Out     one key a cell: rank and position of its best corner, 0 without one
 * Rule    vf_detect_rank(): segment test and score. A corner is suppressed by a pixel within the radius on its level that has a
 *         higher rank, or the same rank and comes earlier in raster order; so of equal neighbours one stays. The best of a cell
 *         has the highest key, whatever its level
 * Exact   integers; a maximum does not depend on the order in which it is found
 * Memory  8 bytes a cell
 */
#ifndef VF_DETECT_H
#define VF_DETECT_H

#include "vf.h"

struct vf_detect_memory {
    uint64_t best[VFRONT_CAMERAS][VFRONT_CELLS];
};

/** Largest suppression radius [px], and the radius of the circle of the segment test. */
#define VF_RADIUS_MAX 4
#define VF_CIRCLE 3

/** A rank is a score, plus this when the corner passes at the first threshold. 0 is no corner. */
#define VF_RANK_STRONG 0x2000

/* ---- segment test -------------------------------------------------------------------------------------------------------- */

/** The circle of 16 pixels, clockwise from the top (paper 000, figure 3): X(number, x, y). */
#define VF_CIRCLE_PIXELS(X)                                                                                                \
    X(0, 0, -3) X(1, 1, -3) X(2, 2, -2) X(3, 3, -1) X(4, 3, 0) X(5, 3, 1) X(6, 2, 2) X(7, 1, 3)                            \
    X(8, 0, 3) X(9, -1, 3) X(10, -2, 2) X(11, -3, 1) X(12, -3, 0) X(13, -3, -1) X(14, -2, -2) X(15, -1, -3)

/** Where runs of at least `arc` (9..12) ones start in a circular mask of 16 bits: bit i for a run from i upwards. */
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

/** Score of a pixel at one threshold, 0 if it is no corner. `circle` holds the 16 grey levels around `centre`. Without a branch on
 *  the pixels, so that the host form's loop over many of them becomes vector code. */
VF_FN uint32_t vf_detect_test(const int32_t circle[16], int32_t centre, int32_t threshold, int32_t arc, int32_t kind)
{
    uint32_t bright = 0, dark = 0;
    for (int32_t i = 0; i < 16; i++) {
        bright |= (uint32_t)(circle[i] > centre + threshold) << i;
        dark |= (uint32_t)(circle[i] < centre - threshold) << i;
    }
    const uint32_t bright_runs = vf_detect_runs(bright, arc), dark_runs = vf_detect_runs(dark, arc);
    int32_t difference[16];
    for (int32_t i = 0; i < 16; i++) difference[i] = bright_runs ? circle[i] - centre : centre - circle[i];
    const uint32_t score = vf_detect_score(difference, bright_runs | dark_runs, arc, kind);
    return bright_runs | dark_runs ? score : 0;
}

/** Rank of a pixel from its scores at the first and at the low threshold. */
VF_FN uint32_t vf_detect_rank(uint32_t strong, uint32_t weak) { return strong ? strong + VF_RANK_STRONG : weak; }

/* ---- grid ---------------------------------------------------------------------------------------------------------------- */

/** First and last pixel on a level, along one axis, that may be a corner. */
VF_FN int32_t vf_detect_first(int32_t level, int32_t border)
{
    const int32_t least = (2 * border + 1 + (1 << level) - 1) >> level;
    return vf_max(least >> 1, VF_CIRCLE);
}
VF_FN int32_t vf_detect_last(int32_t level, int32_t border, int32_t size, int32_t size0)
{
    const int32_t most = (2 * (size0 - 1 - border) + 1) >> level;
    return vf_min((most - 1) >> 1, size - 1 - VF_CIRCLE);
}

/** Level 0 pixel that a pixel of a level is centred on. */
VF_FN int32_t vf_detect_pixel0(int32_t u, int32_t level) { return (u << level) + ((1 << level) >> 1); }

/** Key of a corner: rank first, then finer level, then raster order. */
VF_FN uint64_t vf_detect_key(uint32_t rank, int32_t level, int32_t x, int32_t y)
{
    return (uint64_t)rank << 32 | (0x1fffffffu - ((uint32_t)level << 26 | (uint32_t)y << 13 | (uint32_t)x));
}

#define VF_KEY_BITS 46

/** A corner, from its key. */
struct vf_corner {
    int32_t x, y, level; /* pixel of its level */
    uint32_t rank;
};
VF_FN struct vf_corner vf_detect_corner(uint64_t key)
{
    const uint32_t place = 0x1fffffffu - (uint32_t)(key & 0x1fffffffu);
    struct vf_corner c;
    c.x = (int32_t)(place & 8191);
    c.y = (int32_t)(place >> 13 & 8191);
    c.level = (int32_t)(place >> 26);
    c.rank = (uint32_t)(key >> 32);
    return c;
}

#endif
