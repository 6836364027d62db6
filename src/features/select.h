/* SPDX-License-Identifier: MIT */
/* select: key points of each image, from the best corners of its culling cells.
 *
 * In      the two best corners of every culling cell of every level (detect)
 * Out     keys of the key points, by rising level, then rising cell, best before second best
 * Rule    1. aggregation over levels if select_aggregate_px > 1 (paper 004, II.C.2): corners with centres in the same
 *            level 0 pixel form an aggregate, with a sum of scores and a number of levels. A corner is dropped if
 *            another pixel of the window around it has an aggregate with both a higher sum and more levels
 *         2. of the remaining corners the highest keys are kept, up to the quota of each group: one group per level by
 *            its share of select_points, or one group of all levels
 *         3. without aggregation, a quota that corners of the first threshold do not fill is filled with second best
 *            corners: vf_select_cut_of()
 *         - Corners in one level 0 pixel lie in one culling cell, so aggregates are computed from cells, without an
 *           image of sums
 * Exact   integers
 * Shared  aggregation, vf_select_kept(); quotas; the order of key points. Written twice: the selection of the highest
 *         keys. Host: serial radix select (lowest_kept()). Kernel: histogram over a block (vf_kth_best_key() in
 *         kernels/block.cuh). All keys differ, so both methods select the same ones
 * Memory  one bit a culling cell and level (kept by aggregation); 8 bytes a key point
 */
#ifndef VF_SELECT_H
#define VF_SELECT_H

#include "detect.h"
#include "image/scale.h"

struct vf_select_memory {
    /* sort keys of the key points; those of a group start at geometry.group_first */
    uint64_t key[VFRONT_CAMERAS][VFRONT_KEYPOINTS];
    /* One bit per culling cell and level: kept by aggregation. Not written without aggregation. */
    uint32_t kept[VFRONT_CAMERAS][(VFRONT_SCALES * VFRONT_CULL_CELLS + 31) / 32];
    uint32_t count[VFRONT_CAMERAS][VFRONT_SCALES]; /* number of key points of each group */
    /* number of corners of each group that are the best of their culling cell, but exceed the quota of key points */
    uint32_t dropped[VFRONT_CAMERAS][VFRONT_SCALES];
};

/* View of select (base/view.h). */
/* clang-format off */
#define VF_READS_select(X) X(detect)
#define VF_BEFORE_select(X)
#define VF_GEOMETRY_select(X)                                                                                          \
    X(cameras) X(searched) X(step_q16) X(culls_x) X(culls_y) X(culls) X(cull_slots) X(groups) X(group_first)
#define VF_TUNING_select(X) X(select_aggregate_px) X(select_points) X(cull_width_px) X(cull_height_px)
/* clang-format on */
VF_GEOMETRY_OF(select);
VF_TUNING_OF(select);
struct vf_select_view {
    VF_VIEW(select);
    struct vf_select_tuning tuning;
};
VF_HOST_FORM(select);

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* A group is the levels that share one quota of key points: each level with select_share_percent, else all levels.
 * geometry.groups is the number of groups. Their culling cells follow one another in detect.best, with the same number
 * each. geometry.group_first is the index in key[] of a group's first key point; the quota of group g is group_first[g
 * + 1] - group_first[g]. */

/** Sum of the quotas of the levels before `level`, when `points` are distributed over `levels` levels. Each level's
 *  share is `percent` % of the previous one. Shares are relative to that of the first level [1/65536]. */
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

/** Number of key points of a camera. count: number in each group. */
VF_FN uint32_t vf_keypoints(int32_t groups, const uint32_t count[VFRONT_SCALES])
{
    uint32_t all = 0;
    for (int32_t group = 0; group < VFRONT_SCALES; group++) all += group < groups ? count[group] : 0;
    return all;
}

/** Index in key[] of the i-th key point of a camera. group_first: vf_geometry.group_first; count: number of key points
 *  in each group. */
VF_FN int32_t vf_keypoint_index(int32_t groups, const int32_t *group_first, const uint32_t count[VFRONT_SCALES],
                                int32_t i)
{
    int32_t group = 0;
    for (; group < groups - 1 && i >= (int32_t)count[group]; group++) i -= (int32_t)count[group];
    return group_first[group] + i;
}

/* ---- aggregation ------------------------------------------------------------------------------------------------- */

/** Pixel of level 0. */
struct vf_pixel_xy {
    int32_t x, y;
};

/** Level 0 pixel that contains the centre of a corner. */
VF_FN struct vf_pixel_xy vf_corner_pixel(const uint32_t *step_q16, uint64_t key)
{
    const struct vf_corner c = vf_detect_corner(key);
    struct vf_pixel_xy p;
    p.x = vf_pixel0(c.x, step_q16[c.level]);
    p.y = vf_pixel0(c.y, step_q16[c.level]);
    return p;
}

/** Corners of a culling cell, the best of each level. Loops over the levels have a fixed length, so that the struct
 *  stays in registers. */
struct vf_cell_corners {
    struct vf_pixel_xy at[VFRONT_SCALES];
    uint32_t score[VFRONT_SCALES]; /* 0: no corner on that level */
};

/** Reads the corners of a culling cell. best: detect.best of the camera; cells: number of culling cells of a level;
 *  levels: number of levels searched. */
VF_FN struct vf_cell_corners vf_select_cell_corners(const struct vf_select_geometry *g, const uint64_t *best,
                                                    int32_t cell, int32_t cells, int32_t levels)
{
    struct vf_cell_corners c;
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

/** Aggregate of the corners in a level 0 pixel: sum of scores, number of levels. */
struct vf_aggregate {
    uint64_t score;
    int32_t levels;
};

/** Aggregate of the corners in level 0 pixel p. c: corners of the culling cell that p lies in. */
VF_FN struct vf_aggregate vf_select_aggregate(const struct vf_cell_corners *c, struct vf_pixel_xy p)
{
    struct vf_aggregate sum = {0, 0};
    for (int32_t level = 0; level < VFRONT_SCALES; level++) {
        const int here = c->score[level] && c->at[level].x == p.x && c->at[level].y == p.y;
        sum.score += here ? c->score[level] : 0;
        sum.levels += here;
    }
    return sum;
}

/** 1 if another pixel of the culling cell, within `reach` px of p, has an aggregate greater than `mine` in both score
 *  and levels. */
VF_FN int vf_select_dominated(const struct vf_cell_corners *c, struct vf_pixel_xy p, struct vf_aggregate mine,
                              int32_t reach)
{
    int dominated = 0;
    for (int32_t level = 0; level < VFRONT_SCALES; level++) {
        const int near = c->score[level] && vf_abs(c->at[level].x - p.x) <= reach &&
                         vf_abs(c->at[level].y - p.y) <= reach;
        if (!near || (c->at[level].x == p.x && c->at[level].y == p.y)) continue;
        const struct vf_aggregate other = vf_select_aggregate(c, c->at[level]);
        dominated |= other.score > mine.score && other.levels > mine.levels;
    }
    return dominated;
}

/** 1 if aggregation over levels keeps a corner, which is the best of its level in its culling cell. best: detect.best
 *  of the camera. */
VF_FN int vf_select_kept(const struct vf_select_geometry *g, const struct vf_select_tuning *t, const uint64_t *best,
                         int32_t camera, uint64_t key)
{
    const int32_t reach = t->select_aggregate_px / 2, across = g->culls_x[camera];
    const int32_t cells = g->culls[camera], levels = g->searched;
    const struct vf_pixel_xy p = vf_corner_pixel(g->step_q16, key);
    const int32_t home = p.y / t->cull_height_px * across + p.x / t->cull_width_px;
    const struct vf_cell_corners own = vf_select_cell_corners(g, best, home, cells, levels);
    const struct vf_aggregate mine = vf_select_aggregate(&own, p);
    if (vf_select_dominated(&own, p, mine, reach)) return 0;
    const int32_t x0 = vf_max(p.x - reach, 0) / t->cull_width_px,
                  x1 = vf_min((p.x + reach) / t->cull_width_px, across - 1);
    const int32_t y0 = vf_max(p.y - reach, 0) / t->cull_height_px;
    const int32_t y1 = vf_min((p.y + reach) / t->cull_height_px, g->culls_y[camera] - 1);
    for (int32_t y = y0; y <= y1; y++)
        for (int32_t x = x0; x <= x1; x++) {
            if (y * across + x == home) continue;
            const struct vf_cell_corners corners = vf_select_cell_corners(g, best, y * across + x, cells, levels);
            if (vf_select_dominated(&corners, p, mine, reach)) return 0;
        }
    return 1;
}

/** 1 if aggregation is on: a window of more than one pixel. */
VF_FN int vf_aggregated(const struct vf_select_tuning *t) { return t->select_aggregate_px > 1; }

/* ---- which corners of a group are key points --------------------------------------------------------------------- */

/** Numbers of corners in the culling cells of a group. high: best of their cell, above the first threshold; best: best
 *  of their cell, above either threshold; high_second: second best of their cell, above the first threshold. */
struct vf_group_corners {
    uint32_t high, best, high_second;
};

/** Thresholds of key points in a group: best corners with key >= `best`, second best corners with key >= `second`. One
 *  of these is still to be computed: the lowest of the `rank` highest keys of its corners, 1 if there are fewer, above
 *  all keys if rank is 0. */
struct vf_select_cut {
    uint64_t best, second;
    int32_t of_second; /* threshold that is still to be computed: 1: `second`; 0: `best` */
    uint32_t rank;
};

#define VF_KEY_HIGH ((uint64_t)1 << 61) /* lowest key of a corner that passes the first threshold */
#define VF_KEY_NONE (~(uint64_t)0)      /* value above all keys */

/** 1 if second best corners may become key points: no aggregation, and fewer best corners of the first threshold than
 *  the quota. high: number of best corners of the first threshold. */
VF_FN int vf_select_filled(const struct vf_select_tuning *t, uint32_t high, uint32_t quota)
{
    return !vf_aggregated(t) && high < quota;
}

/** Thresholds that fill the quota in this order: best corners of the first threshold, second best of the first
 *  threshold, best of the second threshold, second best of the second threshold. Of each kind the highest keys come
 *  first. filled: vf_select_filled(). */
VF_FN struct vf_select_cut vf_select_cut_of(struct vf_group_corners n, int filled, uint32_t quota)
{
    struct vf_select_cut cut = {VF_KEY_NONE, VF_KEY_NONE, 0, quota};
    if (!filled) return cut;
    if (n.high + n.high_second >= quota) {
        cut.best = VF_KEY_HIGH;
        cut.of_second = 1;
        cut.rank = quota - n.high;
    } else if (n.best + n.high_second >= quota) {
        cut.second = VF_KEY_HIGH;
        cut.rank = quota - n.high_second;
    } else {
        cut.best = 1;
        cut.of_second = 1;
        cut.rank = quota - n.best;
    }
    return cut;
}

/** Number of best corners that are not key points; 0 if select_points is 0. taken: number of best corners that are key
 *  points. */
VF_FN uint32_t vf_select_dropped(const struct vf_select_tuning *t, uint32_t corners, uint32_t taken)
{
    return t->select_points ? corners - taken : 0;
}

#endif
