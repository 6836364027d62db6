/* SPDX-License-Identifier: MIT */
/* select: the key points of each picture.
 *
 * In      best corner of every culling cell of every level
 * Out     keys of the key points, by rising level, then rising cell
 * Rule    aggregation over levels (paper 004, II.C.2): corners whose centres lie in the same pixel of level 0 add up, to a sum of scores
 *         and a number of levels. A corner is dropped when both are less than those of another pixel in the window around it.
 *         Of what is left the highest keys stay: as many of each level as its share of select_points is, or select_points of all
 *         levels together. Corners in one pixel lie in one cell, so sums are had by looking into cells, and there is no plane of
 *         sums to clear, to fill or to race for
 * Exact   integers
 * Memory  a bit a culling cell and level for whether aggregation leaves it, 8 bytes a key point
 */
#ifndef VF_SELECT_H
#define VF_SELECT_H

#include "detect.h"
#include "image/scale.h"

struct vf_select_memory {
    uint64_t key[VFRONT_CAMERAS][VFRONT_KEYPOINTS]; /* in slots: those of a group from vf_first_slot() on */
    uint32_t stays[VFRONT_CAMERAS]
                  [(VFRONT_SCALES * VFRONT_CULL_CELLS + 31) / 32]; /* a bit a place, where there is aggregation */
    uint32_t count[VFRONT_CAMERAS][VFRONT_SCALES];                 /* of keys, by group */
    uint32_t dropped[VFRONT_CAMERAS][VFRONT_SCALES];               /* corners beyond the group's slots */
};

/** Places of a camera's grid, on all levels that are searched. */
VF_FN int32_t vf_places(const struct vf_step *s, int32_t camera)
{
    return vf_culls(&s->geometry, camera) * vf_scales(s);
}

/* ---- groups: what key points are the best of; levels, or all levels together ------------------------------------- */

VF_FN int32_t vf_groups(const struct vf_step *s) { return s->tuning.select_share_percent ? vf_scales(s) : 1; }

/** Places of a group. Those of the groups follow one another. */
VF_FN int32_t vf_group_places(const struct vf_step *s, int32_t camera) { return vf_places(s, camera) / vf_groups(s); }

/** First slot of a group; of the group behind the last: the slots of all. */
VF_FN int32_t vf_first_slot(const struct vf_step *s, int32_t group)
{
    return s->tuning.select_share_percent ? s->geometry.share[group] : group * s->tuning.select_points;
}

/** Key points that levels before `level` of `levels` may have of `points`. Shares are in 1/2^16 of the first's. */
VF_FN int32_t vf_select_share(int32_t points, int32_t percent, int32_t level, int32_t levels)
{
    uint64_t share = 65536, before = 0, all = 0;
    for (int32_t i = 0; i < levels; i++) {
        before += i < level ? share : 0;
        all += share;
        share = (share * (uint64_t)percent + 50) / 100;
    }
    return (int32_t)((uint64_t)points * before / all);
}

/** Key points of a camera. */
VF_FN uint32_t vf_keypoints(const struct vf_step *s, const uint32_t count[VFRONT_SCALES])
{
    uint32_t all = 0;
    for (int32_t group = 0; group < VFRONT_SCALES; group++) all += group < vf_groups(s) ? count[group] : 0;
    return all;
}

/** Slot of the i-th key point of a camera. */
VF_FN int32_t vf_slot(const struct vf_step *s, const uint32_t count[VFRONT_SCALES], int32_t i)
{
    int32_t group = 0;
    for (; group < vf_groups(s) - 1 && i >= (int32_t)count[group]; group++) i -= (int32_t)count[group];
    return vf_first_slot(s, group) + i;
}

/* ---- aggregation ------------------------------------------------------------------------------------------------- */

/** Level 0 pixel of a corner. */
struct vf_pixel {
    int32_t x, y;
};
VF_FN struct vf_pixel vf_select_pixel(const struct vf_geometry *g, uint64_t key)
{
    const struct vf_corner c = vf_detect_corner(key);
    struct vf_pixel p;
    p.x = vf_pixel0(c.x, g->step_q16[c.level]);
    p.y = vf_pixel0(c.y, g->step_q16[c.level]);
    return p;
}

/** The corners of a cell, one a level: where on level 0, with what score, 0 without one. Loops over it have a fixed length, so that all of
 *  it can stay in registers. */
struct vf_column {
    struct vf_pixel at[VFRONT_SCALES];
    uint32_t score[VFRONT_SCALES];
};
VF_FN struct vf_column vf_select_column(const struct vf_geometry *g, const uint64_t *best, int32_t cell, int32_t cells,
                                        int32_t levels)
{
    struct vf_column c;
    uint64_t key[VFRONT_SCALES];
    for (int32_t level = 0; level < VFRONT_SCALES; level++)
        key[level] = level < levels ? best[level * cells + cell] : 0;
    for (int32_t level = 0; level < VFRONT_SCALES; level++) {
        const struct vf_corner corner = vf_detect_corner(key[level]);
        c.at[level].x = vf_pixel0(corner.x, g->step_q16[level]);
        c.at[level].y = vf_pixel0(corner.y, g->step_q16[level]);
        c.score[level] = key[level] ? corner.score : 0;
    }
    return c;
}

/** What the corners in one pixel of level 0 add up to. */
struct vf_sum {
    uint64_t score;
    int32_t levels;
};
VF_FN struct vf_sum vf_select_sum(const struct vf_column *c, struct vf_pixel p)
{
    struct vf_sum sum = {0, 0};
    for (int32_t level = 0; level < VFRONT_SCALES; level++) {
        const int here = c->score[level] && c->at[level].x == p.x && c->at[level].y == p.y;
        sum.score += here ? c->score[level] : 0;
        sum.levels += here;
    }
    return sum;
}

/** Whether any corner of a cell, within `reach` px of pixel p, has more than `mine` both in score and in levels. */
VF_FN int vf_select_beaten(const struct vf_column *c, struct vf_pixel p, struct vf_sum mine, int32_t reach)
{
    int beaten = 0;
    for (int32_t level = 0; level < VFRONT_SCALES; level++) {
        const int near = c->score[level] && vf_abs(c->at[level].x - p.x) <= reach &&
                         vf_abs(c->at[level].y - p.y) <= reach;
        if (!near || (c->at[level].x == p.x && c->at[level].y == p.y)) continue;
        const struct vf_sum other = vf_select_sum(c, c->at[level]);
        beaten |= other.score > mine.score && other.levels > mine.levels;
    }
    return beaten;
}

/** Whether aggregation leaves a corner, the best of its level in its cell. `best`: of the camera. */
VF_FN int vf_select_stays(const struct vf_geometry *g, const vfront_tuning_t *t, const uint64_t *best, int32_t camera,
                          uint64_t key)
{
    const int32_t reach = t->select_window_px / 2, across = g->culls_x[camera];
    const int32_t cells = vf_culls(g, camera), levels = vf_min(g->scales, t->detect_levels);
    const struct vf_pixel p = vf_select_pixel(g, key);
    const int32_t home = p.y / t->cull_height_px * across + p.x / t->cull_width_px;
    const struct vf_column own = vf_select_column(g, best, home, cells, levels);
    const struct vf_sum mine = vf_select_sum(&own, p);
    if (vf_select_beaten(&own, p, mine, reach)) return 0;
    const int32_t x0 = vf_max(p.x - reach, 0) / t->cull_width_px,
                  x1 = vf_min((p.x + reach) / t->cull_width_px, across - 1);
    const int32_t y0 = vf_max(p.y - reach, 0) / t->cull_height_px;
    const int32_t y1 = vf_min((p.y + reach) / t->cull_height_px, g->culls_y[camera] - 1);
    for (int32_t y = y0; y <= y1; y++)
        for (int32_t x = x0; x <= x1; x++) {
            if (y * across + x == home) continue;
            const struct vf_column column = vf_select_column(g, best, y * across + x, cells, levels);
            if (vf_select_beaten(&column, p, mine, reach)) return 0;
        }
    return 1;
}

/** Whether there is any aggregation: in a window of one pixel nothing can be beaten. */
VF_FN int vf_aggregated(const vfront_tuning_t *t) { return t->select_window_px > 1; }

/** Corners of a group beyond its slots; but none where no key points are asked for. */
VF_FN uint32_t vf_select_dropped(const vfront_tuning_t *t, uint32_t corners, uint32_t slots)
{
    return t->select_points && corners > slots ? corners - slots : 0;
}

#endif
