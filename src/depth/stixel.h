/* SPDX-License-Identifier: MIT */
/* stixel: road and horizon, and segmentation of every image column into ground, objects and sky (paper 002; terms and
 * values of its authors' program).
 *
 * In      disparities and image of camera 0; road of the previous frame; tables made by vfront_init() (stixel_tables.h)
 * Out     road (road.h); segments of each column from the bottom up (stixel_segment.h); nearest obstacle in each of 72
 *         directions
 * Rule    - columns: stixel_width_px wide. The disparity of a row is the mean of its pixels with confidence
 *           >= VF_STIXEL_CONFIDENCE
 *         - energy: data terms of all rows plus a transition into every segment, minimised by dynamic programming from
 *           the bottom, then read back from the top
 *         - row without disparity: costs 0 as ground or object and less as sky. The difference is small; larger in
 *           blank rows (bright, without texture), and if no row above has a disparity, so that an object ends where its
 *           disparities end. In blank rows a small disparity indicates sky and a large one a wall, because the matcher
 *           propagates what lies beside them
 *         - sky: no object above it, but where above_sky of the model is 1: blank rows below a roof belong to an object
 *         - ground: up to step_mm above the road where its surface is level; up to VF_ROAD_DROP times as far below it
 *         - object: the data term uses integer disparities of the row and of the segment's mean, with a sigma from the
 *           row. An object of less than 1 px disparity that begins above the horizon becomes sky,
 *           if no object is above it, or above_sky is 1
 *         - hidden rows: those where the ground's match lies left of camera 1's first column. Their disparities are
 *           ignored; they form one unknown segment. A direction that may hide something near is never free
 *           (vf_stixel_may_hide())
 *         - search: over every pair of base and top row of an object. Host form: all pairs. Kernel: groups of eight
 *           bases whose lower bound exceeds the best so far are skipped, with the same result. Object data terms are
 *           differences of prefix sums: a whole table on the host, tiles of VF_STIXEL_TILE rows in the kernel
 *         - limit: at most VFRONT_SEGMENTS segments. If the optimum has more, each segment costs extra, the least
 *           multiple of a quarter nat that suffices
 * Exact   integers, costs in 1/4096 nat, disparities in 1/256 px; road and ground model in double precision with + - *
 *         / and roots
 * Shared  all arithmetic; loops are written twice (road.h, stixel_segment.h)
 * Memory  a column's disparities, blank rows and segments; one bit a row and disparity; tables. Scratch: struct
 *         vf_stixel_scratch
 *
 * The result is the cheapest segmentation of a model with means, road and depth ranges in 1/256 px, up to rounding: at
 * most (rows + 4 segments) / 4096 nat above the minimum. Rows of columns count from the bottom of the image, 0 to
 * height - 1.
 *
 * D. Pfeiffer, U. Franke, Towards a global optimal multi-layer stixel representation of dense 3D data (2011).
 */
#ifndef VF_STIXEL_H
#define VF_STIXEL_H

#include "base/prepare.h"
#include "stixel_segment.h"
#include "stixel_result.h"

#if VFRONT_STIXELS

#define VF_STIXEL_TILE 32   /* number of rows that the kernel solves together, one per lane of a warp */
#define VF_STIXEL_SUBTILE 8 /* distance between prefix sums of object costs in the kernel [rows] */
#define VF_STIXEL_TILES ((VFRONT_HEIGHT + VF_STIXEL_TILE - 1) / VF_STIXEL_TILE)
#define VF_STIXEL_ROWS (VF_STIXEL_TILES * VF_STIXEL_TILE) /* largest number of image rows, rounded up to whole tiles */

/** Scratch, valid only while the stage runs: first the kernel's part, then the host form's. */
struct vf_stixel_scratch {
    /* Kernel: [row]: transition costs into a segment that begins at the row, the same in all columns. */
    VF_ALIGN(16) struct vf_transition transition[VFRONT_HEIGHT];
    /* Kernel: [column][v]: sum of vf_background_data() over the rows below row v. */
    int32_t background_sum[VFRONT_COLUMNS][VF_STIXEL_ROWS + 1];
    /* Kernel: [column][row]: least cost of all rows up to the row if the row is ground or sky. */
    int32_t background_cost[VFRONT_COLUMNS][VF_STIXEL_ROWS];
    /* Kernel: [column]: sums of object costs over the rows below each subtile, by integer mean disparity:
     * [subtile][dense_disparities]. */
    VF_ALIGN(16) int32_t subtile_sum[VFRONT_COLUMNS][VF_STIXEL_ROWS / VF_STIXEL_SUBTILE * VFRONT_DISPARITIES];
    /* Kernel: [column][row]: objects that begin at the row: vf_object_start in 9 words, then the sums below the row
     * (column_memory.starts in kernels/depth/stixel_column.cuh). */
    VF_ALIGN(16) int32_t start[VFRONT_COLUMNS][VF_STIXEL_ROWS + 1][12];
    /* Kernel: [column][row]: cost and base of the best object that ends at the row. */
    uint64_t best_object[VFRONT_COLUMNS][VF_STIXEL_ROWS];
    /* Kernel: [column][v + 1]: lower bound of object costs: sum of row_cost_min from the bottom row of v's tile up to
     * row v. */
    int32_t object_cost_min[VFRONT_COLUMNS][VF_STIXEL_ROWS + 1];
    /* Host form: [v][integer mean disparity]: sum of object costs over the rows below row v. */
    int32_t object_sum[(VFRONT_HEIGHT + 1) * VFRONT_DISPARITIES];
    /* Host form: [v]: twice the sum of disparities over the rows below row v [px/256]. */
    uint32_t disparity_sum_twice[VFRONT_HEIGHT + 1];
    uint32_t valid[VFRONT_HEIGHT + 1]; /* host form: [v]: number of valid rows below row v */
    int32_t sum[VFRONT_HEIGHT + 1];    /* host form: [v]: sum of vf_background_data() over the rows below row v */
    struct vf_object_start object_start[VFRONT_HEIGHT];
    /* Host form: [row]: least cost of all rows up to the row if an object ends there; if ground or sky ends there. */
    int32_t object[VFRONT_HEIGHT], background[VFRONT_HEIGHT];
    /* Host form: [row]: vf_back_pointer() of the object that ends at the row; of the ground or sky that ends there. */
    uint16_t object_back[VFRONT_HEIGHT], background_back[VFRONT_HEIGHT];
    uint16_t list[VFRONT_SEGMENTS]; /* host form: segments from the top, as listed by vf_backtrack() */
};

/** Memory of the stage. Tables are constant, the road is carried over, the rest is written in every frame. */
struct vf_stixel_memory {
    struct vf_stixel_tables tables;
    /* v-disparity bins that vote for the road: [row from the top][dense_disparities], one bit per bin. */
    uint32_t voters[VFRONT_HEIGHT * VFRONT_DISPARITIES / 32];
    uint32_t blocks_done; /* kernel: number of blocks of road_k that have finished; 0 between frames */
    uint64_t line;        /* kernel: key of the strongest road line so far; 0 between frames */
    struct vf_road road;
    int32_t horizon; /* row of the horizon from the bottom, 0 .. height; -1: no road and no segments */
    struct vf_ground_model ground[VFRONT_HEIGHT]; /* [row from the bottom]: data term as ground */
    /* [column][row from the bottom]: disparity [1/256 px], or VF_STIXEL_NONE */
    uint16_t column[VFRONT_COLUMNS][VFRONT_HEIGHT];
    uint8_t blank[VFRONT_COLUMNS][VFRONT_HEIGHT]; /* [column][row from the bottom]: 1: bright and without texture */
    uint16_t segments[VFRONT_COLUMNS];            /* number of segments of each column */
    uint16_t crowded[VFRONT_COLUMNS]; /* 1: the optimum of the column has more than VFRONT_SEGMENTS segments */
    struct vf_segment segment[VFRONT_COLUMNS][VFRONT_SEGMENTS]; /* segments of each column from the bottom up */
    /* [direction]: distance of the nearest obstacle [cm]; vf_stixel_free_cm(): none in range; VF_NONE: no data. */
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

/** Makes the tables of stixel_tables.h. Called by vfront_init(). */
vfront_status_t vf_stixel_prepare(const struct vf_prepare *p, const struct vf_stixel_view *s);

#if VFRONT_STIXELS

/** Number of stixel columns of the image. Pixels right of the last whole column are ignored. */
VF_FN int32_t vf_stixel_columns(const struct vf_stixel_geometry *g, const struct vf_stixel_tuning *t)
{
    return g->level[0][0].width / t->stixel_width_px;
}

/** Disparity of a row of a column [1/256 px]: mean of those of its `width` pixels that stixels use, or VF_STIXEL_NONE.
 *  confidence: of these pixels; units: units of `pixel` per px of disparity; disparities: upper limit of the result
 *  [px]. */
VF_FN uint32_t vf_stixel_reduce(const uint16_t *pixel, const uint8_t *confidence, int32_t width, uint32_t units,
                                int32_t disparities)
{
    uint32_t sum = 0, count = 0;
    for (int32_t i = 0; i < width; i++) {
        if (!vf_stixel_counts(pixel[i], confidence[i])) continue;
        sum += pixel[i];
        count++;
    }
    if (!count) return VF_STIXEL_NONE;
    const uint32_t divisor = count * units, value = (2 * sum * VF_STIXEL_PX + divisor) / (2 * divisor);
    const uint32_t most = (uint32_t)disparities * VF_STIXEL_PX - 1;
    return value < most ? value : most == VF_STIXEL_NONE ? most - 1 : most;
}

/** Least brightness of a blank row [grey levels]: sky is brighter than shadow without texture. */
#define VF_STIXEL_SKY_GREY 100

/** 1 if a row of a column, with one pixel on either side, is bright and without texture, as sky. pixel: the image row,
 *  from its first pixel; left: first pixel of the column. */
VF_FN int32_t vf_stixel_blank(const uint8_t *pixel, int32_t left, int32_t width, int32_t picture_width)
{
    const int32_t first = vf_max(left - 1, 0), last = vf_min(left + width, picture_width - 1);
    int32_t least = 255, most = 0;
    for (int32_t x = first; x <= last; x++) {
        least = vf_min(least, pixel[x]);
        most = vf_max(most, pixel[x]);
    }
    return least >= VF_STIXEL_SKY_GREY && most - least <= VF_STIXEL_BLANK_GREY;
}

/** Host form: segments one column. Requires its disparities, the horizon and the ground model. */
void vf_stixel_segment_column(const struct vf_stixel_view *s, int32_t column);

#endif

#endif
