/* SPDX-License-Identifier: MIT */
/* refill: makes this frame's set of features: those still tracked, and new ones from detected corners (paper 000,
 * III.D).
 *
 * In      track.moved, the best corner of every cell of camera 0 over all levels
 * Out     the features of this frame and their counts; list of those that ended
 * Rule    of two features that have run together, nearer than VF_MERGE_PX (track_distance_px, where that is less), the
 *         younger ends, whether the older one is itself ended by a third or not. Features alive keep their order and
 *         come first; new ones follow by rising cell. The corner of a cell becomes
 *         a feature when its cell contains no feature, no feature lies within track_distance_px of it, no better corner
 *         of another cell does either (non-maximum suppression), and it is among the best of as many as track_target
 *         leaves free
 * Exact   integers
 * Memory  two sets of features, this frame's and the previous frame's; a key for each cell
 * Shared  everything but the selection of the best: refill.c searches the threshold key bit by bit, refill.cu by the
 *         block's radix select vf_kth_best_key(). refill.cu replaces divisions by cell sizes by products with
 *         reciprocals, with the same results */
#ifndef VF_REFILL_H
#define VF_REFILL_H

#include "core/view.h"
#include "feature.h"
#include "features/detect.h"

struct vf_refill_memory {
    struct vf_feature feature[2][VFRONT_TRACKS]; /* [parity], by rising id */
    struct vf_track_counts counts[2];            /* [parity] */
    uint64_t candidate[VFRONT_CELLS];            /* key of a cell's corner if it may become a feature, else 0 */
    uint32_t lost[VFRONT_TRACKS];                /* indices into track.moved of the features that ended, rising */
    uint32_t ended[VFRONT_ENDS];                 /* how many ended, by reason */
    uint32_t followed;                           /* features still tracked */
    uint32_t born;                               /* new features */
    uint32_t lost_count;                         /* features that ended */
    uint32_t overflow;                           /* candidates beyond track_target */
};

/* View of refill: core/view.h. */
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

/** Cell of camera 0 that contains a position of level 0; the nearest cell for positions outside the picture. */
VF_FN int32_t vf_refill_cell(const struct vf_refill_geometry *g, const struct vf_refill_tuning *t, int32_t x_q16,
                             int32_t y_q16)
{
    const int32_t x = vf_clamp(vf_pixel(x_q16) / t->cell_width_px, 0, g->cells_x[0] - 1);
    const int32_t y = vf_clamp(vf_pixel(y_q16) / t->cell_height_px, 0, g->cells_y[0] - 1);
    return y * g->cells_x[0] + x;
}

/** Distance below which two features are one [px]. */
#define VF_MERGE_PX 2

/** Distance test: 1 if two positions are nearer than distance_px. Computed in 1/16 px; the squares fit 32 bits because
 *  only differences below that distance are squared. */
VF_FN int vf_refill_within(int32_t distance_px, int32_t ax_q16, int32_t ay_q16, int32_t bx_q16, int32_t by_q16)
{
    const int32_t limit = distance_px * 16;
    const int32_t dx = vf_abs(ax_q16 - bx_q16) >> 12, dy = vf_abs(ay_q16 - by_q16) >> 12;
    return dx < limit && dy < limit && dx * dx + dy * dy < limit * limit;
}

/** 1 if two positions are too near for two features to begin there. */
VF_FN int vf_refill_near(const struct vf_refill_tuning *t, int32_t ax_q16, int32_t ay_q16, int32_t bx_q16,
                         int32_t by_q16)
{
    return vf_refill_within(t->track_distance_px, ax_q16, ay_q16, bx_q16, by_q16);
}

/** 1 if two positions are those of one feature. */
VF_FN int vf_refill_same(const struct vf_refill_tuning *t, int32_t ax_q16, int32_t ay_q16, int32_t bx_q16,
                         int32_t by_q16)
{
    return vf_refill_within(vf_min(t->track_distance_px, VF_MERGE_PX), ax_q16, ay_q16, bx_q16, by_q16);
}

/** Distance in cells at which a corner or a feature can still be too near. */
VF_FN int32_t vf_refill_reach(int32_t distance_px, int32_t cell_px) { return (distance_px + cell_px - 1) / cell_px; }

/** Rectangle of cells: first and last column and row. */
struct vf_cell_range {
    int32_t x0, y0, x1, y1;
};
/** Cells within reach of a cell, itself included. */
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

/** Features wanted in addition to the `live` ones; 0 while track_refill_percent of track_target are alive. */
VF_FN int32_t vf_refill_wanted(const struct vf_refill_tuning *t, int32_t live)
{
    if (live * 100 >= t->track_target * t->track_refill_percent) return 0;
    return t->track_target - live;
}

/** Counts of the previous frame; in the first frame there are no features, and the id before first_track_id. */
VF_FN struct vf_track_counts vf_refill_counts_before(const struct vf_refill_tuning *t, uint64_t frame,
                                                     const struct vf_track_counts *last)
{
    const struct vf_track_counts none = {(uint64_t)t->first_track_id - 1, 0, 0};
    return frame ? *last : none;
}

/** Counts of this frame: `live` features still tracked, `born` new ones. */
VF_FN struct vf_track_counts vf_refill_counts(const struct vf_track_counts *before, uint32_t live, uint32_t born)
{
    struct vf_track_counts c;
    c.last_id = before->last_id + born;
    c.count = live + born;
    c.reserved = 0;
    return c;
}

/** Makes a feature of the corner with this key. */
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
