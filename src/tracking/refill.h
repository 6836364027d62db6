/* SPDX-License-Identifier: MIT */
/* refill: tracks ended, kept and born (paper 000, III.D).
 *
 * In      moved features, best corners of camera 0, of all levels
 * Out     the features of this frame; who ended
 * Rule    features that live keep their order and come first; new ones follow by rising cell. The best corner of a cell, of
 *         whatever level, becomes a feature when its cell holds none, none lies within track_distance_px, no better corner lies
 *         within it either, and it is among the best of those for which there is room
 * Exact   integers
 * Memory  a key a cell
 */
#ifndef VF_REFILL_H
#define VF_REFILL_H

#include "features/detect.h"
#include "track.h"

struct vf_refill_memory {
    uint64_t candidate[VFRONT_CELLS]; /* key of a cell's corner while it may be born, else 0 */
    uint32_t lost[VFRONT_TRACKS];     /* indices into track.moved of the features that ended */
    uint32_t ended[VFRONT_ENDS];
    uint32_t followed, born, lost_count, overflow;
};

/** Cell of camera 0 that a level 0 position lies in. */
VF_FN int32_t vf_refill_cell(const struct vf_geometry *g, const vfront_tuning_t *t, int32_t x_q16, int32_t y_q16)
{
    const int32_t x = vf_clamp(vf_pixel(x_q16) / t->cell_width_px, 0, g->cells_x[0] - 1);
    const int32_t y = vf_clamp(vf_pixel(y_q16) / t->cell_height_px, 0, g->cells_y[0] - 1);
    return y * g->cells_x[0] + x;
}

/** Whether two places are nearer than the tuning's least distance. Measured in 1/16 px; the squares fit 32 bits because nothing
 *  farther than the least distance along an axis is squared. */
VF_FN int vf_refill_near(const vfront_tuning_t *t, int32_t ax_q16, int32_t ay_q16, int32_t bx_q16, int32_t by_q16)
{
    const int32_t least = t->track_distance_px * 16;
    const int32_t dx = vf_abs(ax_q16 - bx_q16) >> 12, dy = vf_abs(ay_q16 - by_q16) >> 12;
    return dx < least && dy < least && dx * dx + dy * dy < least * least;
}

/** How many cells away a corner or a feature can still be too near. */
VF_FN int32_t vf_refill_reach(int32_t distance_px, int32_t cell_px) { return (distance_px + cell_px - 1) / cell_px; }

/** The cells within reach of a cell: first and last column and row. */
struct vf_window {
    int32_t x0, y0, x1, y1;
};
VF_FN struct vf_window vf_refill_window(const struct vf_geometry *g, const vfront_tuning_t *t, int32_t cell)
{
    const int32_t reach_x = vf_refill_reach(t->track_distance_px, t->cell_width_px);
    const int32_t reach_y = vf_refill_reach(t->track_distance_px, t->cell_height_px);
    const int32_t x = cell % g->cells_x[0], y = cell / g->cells_x[0];
    const struct vf_window w = {vf_max(x - reach_x, 0), vf_max(y - reach_y, 0), vf_min(x + reach_x, g->cells_x[0] - 1),
                                vf_min(y + reach_y, g->cells_y[0] - 1)};
    return w;
}

/** Features wanted in addition to the `live` ones. */
VF_FN int32_t vf_refill_wanted(const vfront_tuning_t *t, int32_t live)
{
    if (live * 100 >= t->track_target * t->track_refill_percent) return 0;
    return t->track_target - live;
}

/** The census that a step starts from: the last one's, or an empty one in the first frame. */
VF_FN struct vf_census vf_refill_before(uint64_t frame, const struct vf_census *last)
{
    const struct vf_census none = {0, 0, 0};
    return frame ? *last : none;
}

/** The census after a step: `live` features found again, `born` new ones. */
VF_FN struct vf_census vf_refill_census(const struct vf_census *before, uint32_t live, uint32_t born)
{
    struct vf_census c;
    c.ids = before->ids + born;
    c.count = live + born;
    c.losses = before->losses + (before->count > 0 && live == 0);
    return c;
}

/** A new feature. */
VF_FN struct vf_feature vf_refill_born(const struct vf_geometry *g, uint64_t key, uint64_t id, uint32_t slot)
{
    const struct vf_corner c = vf_detect_corner(key);
    const struct vf_place p = vf_detect_place(g, key);
    struct vf_feature f = {id, p.x_q16, p.y_q16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, {0, 0, 0}, {0, 0, 0}};
    f.slot = (uint16_t)slot;
    f.score = c.score;
    f.level = (uint8_t)c.level;
    return f;
}

#endif
