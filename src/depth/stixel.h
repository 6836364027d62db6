/* SPDX-License-Identifier: MIT */
/* stixel: road and horizon, and a segmentation of every column of the picture into ground, objects and sky (paper 002;
 * terms and values are those of its authors' program).
 *
 * In      disparities and picture of camera 0; the road of the frame before; tables made in vfront_init()
 *         (stixel_tables.h)
 * Out     the road (road.h); of each column its segments from the bottom up (stixel_segment.h); the nearest obstacle in
 *         each of 72 directions
 * Rule    Columns are stixel_width_px wide; a row of a column has the mean, or the median, of its valid disparities:
 *         those of a confidence of VF_STIXEL_CONFIDENCE or more. A
 *         row without one costs nothing as ground or object. As sky it costs less than that: a little, more where no
 *         row above it has a disparity either, so that an object ends where its support does, and most where the
 *         picture is bright and without texture (blank). In blank rows the matcher carries on what is beside them: a
 *         small disparity there speaks for sky, a large one for a wall. A segmentation costs the data terms of its rows
 *         and a transition into every segment; the cheapest one is found row by row from the bottom (dynamic
 *         programming), and read back from the top. The data term of a row in an object takes the integer disparity of
 *         the row and the integer mean disparity of the segment; its sigma follows from the row's, not from the mean,
 *         as in the authors' program. An object nearer to infinity than one pixel is sky, if it begins above the
 *         horizon. Hidden rows are those in which the ground has no match because that lies left of camera 1's first
 *         column: what the matcher finds there is farther, and is left out. They are one unknown segment; and where
 *         something near may hide in a column, its direction is never free (vf_stixel_may_hide()).
 *         The minimum is over every pair of base and top row of an object: that is what the host form computes, pair by
 *         pair. The kernel leaves out groups of eight bases whose lower bound is above what is found already; the
 *         result is the same. The data terms of an object are the difference of two prefix sums. The host form has the
 *         whole table of them, for every integer disparity and row; the kernel makes tiles of VF_STIXEL_TILE rows of it
 *         when they are needed.
 *         A column has at most VFRONT_SEGMENTS segments. Where the optimum has more, every segment is made dearer, by
 *         the least quarter of a nat for which there are few enough: the result is the best of all segmentations with
 *         no more segments than it has
 * Exact   integers, costs in 1/4096 nat, disparities in 1/256 px; the road and the ground model in double precision
 *         with + - * / and roots
 * Shared  all arithmetic; loops are written twice (see road.h, stixel_segment.h)
 * Memory  a column's disparities, blank rows and segments; a bit a row and disparity; tables. Scratch: struct
 *         vf_stixel_scratch
 *
 * What is found is the cheapest segmentation of a model whose means, road and depth ranges are in 1/256 px, but for
 * rounding: it costs at most (rows + 4 segments) / 4096 nat more than the cheapest. The real-valued model may choose
 * another one that there costs several nat more: the transition into an object is a step function of its mean, and a
 * mean may be rounded over a step. Rows of columns count from the bottom of the picture, 0 to height - 1.
 *
 * D. Pfeiffer, U. Franke, Towards a global optimal multi-layer stixel representation of dense 3D data (2011).
 */
#ifndef VF_STIXEL_H
#define VF_STIXEL_H

#include "core/prepare.h"
#include "stixel_segment.h"
#include "stixel_result.h"

#if VFRONT_STIXELS

#define VF_STIXEL_TILE 32   /* rows that the kernel solves together: a warp */
#define VF_STIXEL_SUBTILE 8 /* rows of a tile below which the kernel keeps prefix sums of object costs */
#define VF_STIXEL_TILES ((VFRONT_HEIGHT + VF_STIXEL_TILE - 1) / VF_STIXEL_TILE)
#define VF_STIXEL_ROWS (VF_STIXEL_TILES * VF_STIXEL_TILE) /* of whole tiles */

/** Scratch: valid only while the stage runs. The first part is the kernel's, the second the host form's. */
struct vf_stixel_scratch {
    /* Kernel, of the frame. */
    VF_ALIGN(16) struct vf_transition transition[VFRONT_HEIGHT];
    /* Kernel, of each column. Prefix sums have one entry more than rows: [v] is over the rows below row v. */
    int32_t background_sum[VFRONT_COLUMNS][VF_STIXEL_ROWS + 1]; /* prefix sums of vf_background_data() */
    /* Least cost of all rows up to one that ends as ground or sky. */
    int32_t background_cost[VFRONT_COLUMNS][VF_STIXEL_ROWS];
    /* Prefix sums of object costs below each subtile, by integer mean: [subtile][dense_disparities]. */
    VF_ALIGN(16) int32_t subtile_sum[VFRONT_COLUMNS][VF_STIXEL_ROWS / VF_STIXEL_SUBTILE * VFRONT_DISPARITIES];
    /* Objects that begin at a row: vf_object_start in 9 words, then the sums below the row (column_memory.starts in
     * kernels/depth/stixel_column.cuh). */
    VF_ALIGN(16) int32_t start[VFRONT_COLUMNS][VF_STIXEL_ROWS + 1][12];
    uint64_t best_object[VFRONT_COLUMNS][VF_STIXEL_ROWS]; /* cost and base of the best object that ends at a row */
    /* Lower bound of object costs of the rows of a tile up to a row: sums of row_cost_min from the bottom of the row's
     * own tile, not of the column; [v + 1] ends with row v. */
    int32_t object_cost_min[VFRONT_COLUMNS][VF_STIXEL_ROWS + 1];
    /* Host form: the column at hand. Prefix sums as above. */
    int32_t object_sum[(VFRONT_HEIGHT + 1) * VFRONT_DISPARITIES]; /* of object costs: [row][dense_disparities] */
    uint32_t disparity_sum_twice[VFRONT_HEIGHT + 1];              /* of disparities, twice [px/256] */
    uint32_t valid[VFRONT_HEIGHT + 1];                            /* rows with a valid disparity */
    int32_t sum[VFRONT_HEIGHT + 1];                               /* of vf_background_data() */
    struct vf_object_start object_start[VFRONT_HEIGHT];
    int32_t object[VFRONT_HEIGHT], background[VFRONT_HEIGHT]; /* least cost of all rows up to one, by its class */
    uint16_t object_back[VFRONT_HEIGHT], background_back[VFRONT_HEIGHT]; /* back-pointers */
    uint16_t list[VFRONT_SEGMENTS];                                      /* segments from the top: vf_backtrack() */
};

/** Memory of the stage. Tables are constant and the road is carried over; the rest is written in every frame. */
struct vf_stixel_memory {
    struct vf_stixel_tables tables;
    /* v-disparity mask, the bins that vote: [row from the top][dense_disparities], a bit a bin. */
    uint32_t voters[VFRONT_HEIGHT * VFRONT_DISPARITIES / 32];
    uint32_t blocks_done; /* kernel: blocks of road_k that have finished; 0 between frames */
    uint64_t line;        /* kernel: key of the strongest line so far; 0 between frames */
    struct vf_road road;
    int32_t horizon; /* row from the bottom, 0 .. height; -1: there is no road, and columns have no segments */
    struct vf_ground_model ground[VFRONT_HEIGHT];   /* by row from the bottom */
    uint16_t column[VFRONT_COLUMNS][VFRONT_HEIGHT]; /* disparities from the bottom [1/256 px], or VF_STIXEL_NONE */
    uint8_t blank[VFRONT_COLUMNS][VFRONT_HEIGHT];   /* 1: the row is bright and without texture: vf_stixel_blank() */
    uint16_t segments[VFRONT_COLUMNS];              /* number of segments of each column */
    uint16_t crowded[VFRONT_COLUMNS];               /* 1: the optimum has more than VFRONT_SEGMENTS segments */
    struct vf_segment segment[VFRONT_COLUMNS][VFRONT_SEGMENTS]; /* from the bottom */
    /* Distance of the nearest obstacle by direction [cm]; vf_stixel_free_cm(): none in reach; VF_NONE: no data. */
    uint32_t nearest_cm[VFRONT_OBSTACLE_BINS];
};
#else
struct vf_stixel_scratch {
    uint64_t nothing;
};
struct vf_stixel_memory {
    uint64_t nothing;
};
#endif

/** Tables in fixed point: stixel_tables.h. */
vfront_status_t vf_stixel_prepare(const struct vf_prepare *p, const struct vf_stixel_view *s);

#if VFRONT_STIXELS

/** Number of columns; pixels right of the last whole one are left out. */
VF_FN int32_t vf_stixel_columns(const struct vf_stixel_geometry *g, const struct vf_stixel_tuning *t)
{
    return g->level[0][0].width / t->stixel_width_px;
}

/** Disparity of a row of a column [1/256 px], the mean or the median of those of its `width` pixels that count, or
 *  VF_STIXEL_NONE. confidence: of these pixels; units: of a pixel's disparity in one pixel; disparities: the result is
 *  less than that many pixels. */
VF_FN uint32_t vf_stixel_reduce(const uint16_t *pixel, const uint8_t *confidence, int32_t width, int32_t median,
                                uint32_t units, int32_t disparities)
{
    uint32_t sum = 0, count = 0, middle = 0;
    for (int32_t i = 0; i < width; i++) {
        if (!vf_stixel_counts(pixel[i], confidence[i])) continue;
        sum += pixel[i];
        count++;
    }
    if (!count) return VF_STIXEL_NONE;
    for (int32_t i = 0; i < width && median;
         i++) { /* fewer than half lie below the median; with its equals at least half */
        uint32_t below = 0, upto = 0;
        for (int32_t k = 0; k < width; k++) {
            if (!vf_stixel_counts(pixel[k], confidence[k])) continue;
            below += pixel[k] < pixel[i];
            upto += pixel[k] <= pixel[i];
        }
        if (vf_stixel_counts(pixel[i], confidence[i]) && 2 * below < count && 2 * upto >= count) middle = pixel[i];
    }
    const uint32_t divisor = (median ? 1 : count) * units,
                   value = (2 * (median ? middle : sum) * VF_STIXEL_PX + divisor) / (2 * divisor);
    const uint32_t most = (uint32_t)disparities * VF_STIXEL_PX - 1;
    return value < most ? value : most == VF_STIXEL_NONE ? most - 1 : most;
}

/** 1 if a row of a column, and a pixel on either side of it, is bright and without texture, as sky is. pixel: row of
 *  the picture, from its first pixel. */
VF_FN int32_t vf_stixel_blank(const uint8_t *pixel, int32_t left, int32_t width, int32_t picture_width, int32_t grey)
{
    const int32_t first = vf_max(left - 1, 0), last = vf_min(left + width, picture_width - 1);
    int32_t least = 255, most = 0;
    for (int32_t x = first; x <= last; x++) {
        least = vf_min(least, pixel[x]);
        most = vf_max(most, pixel[x]);
    }
    return least >= grey && most - least <= VF_STIXEL_BLANK_GREY;
}

/** Segment one column: host form. Its disparities, the horizon and the ground model must be there. */
void vf_stixel_segment_column(const struct vf_stixel_view *s, int32_t column);

#endif

#endif
