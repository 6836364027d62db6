/* SPDX-License-Identifier: MIT */
/* refill: this frame's set of features: those still tracked, and new ones from detected corners (paper 000, III.D).
 *
 * In      track.moved; the best corner of every grid cell of camera 0 over all levels
 * Out     features of this frame and their counts; list of those that ended
 * Rule    - merge: of two features nearer than min(VF_MERGE_PX, track_distance_px) the younger ends, even if a third
 *           ends the older one
 *         - order: live features keep their order; new ones follow by rising cell
 *         - new feature: the corner of a cell without a feature. Within track_distance_px of it there is no feature and
 *           no better corner of another cell (non-maximum suppression). The best track_target - live of these corners
 *           are taken
 * Exact   integers
 * Memory  two sets of features, of this and the previous frame; a key per cell
 * Shared  everything but the selection of the best. refill.c searches the threshold key bit by bit, refill.cu by the
 *         block's radix select vf_kth_best_key(). refill.cu divides by cell sizes through reciprocals, with the same
 *         results
 */
#ifndef VF_REFILL_H
#define VF_REFILL_H

#include "base/view.h"
#include "feature.h"
#include "features/detect.h"

struct vf_refill_memory {
    struct vf_feature feature[2][VFRONT_TRACKS]; /* [parity]: features of the frame, by rising id */
    struct vf_track_counts counts[2];            /* [parity]: number of features of the frame, and last id */
    uint64_t candidate[VFRONT_CELLS];            /* [cell]: key of its corner if that may become a feature, else 0 */
    uint32_t lost[VFRONT_TRACKS];                /* indices into track.moved of the features that ended, rising */
    uint32_t ended[VFRONT_ENDS];                 /* [vfront_end_t]: number of features that ended for this reason */
    uint32_t followed;                           /* number of features still tracked */
    uint32_t born;                               /* number of new features */
    uint32_t lost_count;                         /* number of features that ended */
    /* number of suitable corners that were not taken, because track_target was reached */
    uint32_t overflow;
};

/* What refill reads: lists from which base/view.h makes the members of its view. */
/* clang-format off */
#define VF_READS_refill(X) X(ingest) X(track) X(detect)
#define VF_BEFORE_refill(X)
#define VF_GEOMETRY_refill(X) X(cells_x) X(cells_y) X(cells) X(step_q16)
#define VF_TUNING_refill(X)                                                                                            \
    X(track_target) X(track_refill_percent) X(track_distance_px) X(cell_width_px) X(cell_height_px) X(first_track_id)
/* clang-format on */
VF_GEOMETRY_OF(refill);
VF_TUNING_OF(refill);
struct vf_refill_view {
    VF_VIEW(refill);
    struct vf_refill_tuning tuning;
};
VF_HOST_FORM(refill);

/** Grid cell of camera 0 that contains a position of level 0; the nearest cell for positions outside the image. */
VF_FN int32_t vf_refill_cell(const struct vf_refill_geometry *g, const struct vf_refill_tuning *t, int32_t x_q16,
                             int32_t y_q16)
{
    const int32_t x = vf_clamp(vf_pixel(x_q16) / t->cell_width_px, 0, g->cells_x[0] - 1);
    const int32_t y = vf_clamp(vf_pixel(y_q16) / t->cell_height_px, 0, g->cells_y[0] - 1);
    return y * g->cells_x[0] + x;
}

/** Distance below which two features merge, so that the younger one ends [px]. */
#define VF_MERGE_PX 2

/** 1 if positions a and b are nearer than distance_px [px of level 0]. Positions are in 1/65536 px of level 0. Their
 *  differences are rounded down to 1/16 px, and squared only if less than distance_px, so that squares fit 32 bits. */
VF_FN int vf_refill_within(int32_t distance_px, int32_t ax_q16, int32_t ay_q16, int32_t bx_q16, int32_t by_q16)
{
    const int32_t limit = distance_px * 16;
    const int32_t dx = vf_abs(ax_q16 - bx_q16) >> 12, dy = vf_abs(ay_q16 - by_q16) >> 12;
    return dx < limit && dy < limit && dx * dx + dy * dy < limit * limit;
}

/** 1 if positions a and b are nearer than track_distance_px, too near for a new feature beside another one. */
VF_FN int vf_refill_near(const struct vf_refill_tuning *t, int32_t ax_q16, int32_t ay_q16, int32_t bx_q16,
                         int32_t by_q16)
{
    return vf_refill_within(t->track_distance_px, ax_q16, ay_q16, bx_q16, by_q16);
}

/** 1 if two features at positions a and b are so near that the younger one ends. */
VF_FN int vf_refill_same(const struct vf_refill_tuning *t, int32_t ax_q16, int32_t ay_q16, int32_t bx_q16,
                         int32_t by_q16)
{
    return vf_refill_within(vf_min(t->track_distance_px, VF_MERGE_PX), ax_q16, ay_q16, bx_q16, by_q16);
}

/** Distance distance_px in whole cells of size cell_px, rounded up. */
VF_FN int32_t vf_refill_reach(int32_t distance_px, int32_t cell_px) { return (distance_px + cell_px - 1) / cell_px; }

/** Rectangle of grid cells: columns x0 .. x1, rows y0 .. y1. */
struct vf_cell_range {
    int32_t x0, y0, x1, y1;
};
/** Cells that can contain a point within track_distance_px of a point in the given cell, that cell included. */
VF_FN struct vf_cell_range vf_refill_neighbours(const struct vf_refill_geometry *g, const struct vf_refill_tuning *t,
                                                int32_t cell)
{
    const int32_t reach_x = vf_refill_reach(t->track_distance_px, t->cell_width_px);
    const int32_t reach_y = vf_refill_reach(t->track_distance_px, t->cell_height_px);
    const int32_t x = cell % g->cells_x[0], y = cell / g->cells_x[0];
    const struct vf_cell_range w = {vf_max(x - reach_x, 0), vf_max(y - reach_y, 0),
                                    vf_min(x + reach_x, g->cells_x[0] - 1), vf_min(y + reach_y, g->cells_y[0] - 1)};
    return w;
}

/** Number of new features wanted. live: number of live ones; 0 while they are at least track_refill_percent of
 *  track_target. */
VF_FN int32_t vf_refill_wanted(const struct vf_refill_tuning *t, int32_t live)
{
    if (live * 100 >= t->track_target * t->track_refill_percent) return 0;
    return t->track_target - live;
}

/** Counts of the previous frame's features. In the first frame: no features, and last id first_track_id - 1. */
VF_FN struct vf_track_counts vf_refill_counts_before(const struct vf_refill_tuning *t, uint64_t frame,
                                                     const struct vf_track_counts *last)
{
    const struct vf_track_counts none = {(uint64_t)t->first_track_id - 1, 0, 0};
    return frame ? *last : none;
}

/** Counts of this frame's features: `live` ones still tracked, `born` new ones. */
VF_FN struct vf_track_counts vf_refill_counts(const struct vf_track_counts *before, uint32_t live, uint32_t born)
{
    struct vf_track_counts c;
    c.last_id = before->last_id + born;
    c.count = live + born;
    c.reserved = 0;
    return c;
}

/** Makes a new feature at the corner with key `key`. step_q16: pixel size of each level. */
VF_FN struct vf_feature vf_refill_born(const uint32_t *step_q16, uint64_t key, uint64_t id, uint32_t template_index)
{
    const struct vf_corner c = vf_detect_corner(key);
    const struct vf_position_q16 p = vf_corner_position(step_q16, key);
    struct vf_feature f = {id, p.x_q16, p.y_q16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, {0, 0, 0}, {0, 0, 0}};
    f.template_index = (uint16_t)template_index;
    f.score = c.score;
    f.level = (uint8_t)c.level;
    return f;
}

#endif
