/* SPDX-License-Identifier: MIT */
/* select: key points of each picture, the best corners of its culling cells.
 *
 * In      the two best corners of every culling cell of every level (detect)
 * Out     keys of the key points, by rising level, then rising cell, the best corner of a cell before the second best
 * Rule    1. aggregation over levels, where select_window_px is above 1 (paper 004, II.C.2): corners whose centres lie
 *            in the same pixel of level 0 form an aggregate: a sum of scores and a number of levels. A corner is
 *            dropped if another pixel in the window around it has an aggregate with a higher sum and more levels
 *         2. of the rest the highest keys are kept, up to the quota of each group: of each level by its share of
 *            select_points, or of all levels together
 *         3. without aggregation, where strong corners do not fill the quota, it is filled up with the second best of
 *            the cells: vf_select_cut_of()
 *         Corners in one pixel of level 0 lie in one culling cell, so aggregates are computed by reading cells, and
 *         there is no plane of sums to clear and fill
 * Exact   integers
 * Shared  aggregation: vf_select_kept(); quotas and the order of key points. The selection of the highest keys is not:
 *         the host form runs a serial radix select (lowest_kept()), the kernel a histogram over a block
 *         (vf_kth_best_key() in kernels/block.cuh); all keys differ, so both give the same one
 * Memory  a bit a culling cell and level (kept by aggregation); 8 bytes a key point
 */
#ifndef VF_SELECT_H
#define VF_SELECT_H

#include "detect.h"
#include "image/scale.h"

struct vf_select_memory {
    uint64_t key[VFRONT_CAMERAS][VFRONT_KEYPOINTS]; /* those of a group from geometry.group_first on */
    /* a bit a culling cell and level: kept by aggregation. Not written without aggregation */
    uint32_t kept[VFRONT_CAMERAS][(VFRONT_SCALES * VFRONT_CULL_CELLS + 31) / 32];
    uint32_t count[VFRONT_CAMERAS][VFRONT_SCALES];   /* key points, by group */
    uint32_t dropped[VFRONT_CAMERAS][VFRONT_SCALES]; /* best corners of cells that are no key points, by group */
};

/* View of select: core/view.h. */
/* clang-format off */
#define VF_READS_select(X) X(detect)
#define VF_BEFORE_select(X)
#define VF_GEOMETRY_select(X)                                                                                          \
    X(cameras) X(searched) X(step_q16) X(culls_x) X(culls_y) X(culls) X(places) X(groups) X(group_first)
#define VF_TUNING_select(X) X(select_window_px) X(select_points) X(cull_width_px) X(cull_height_px)
/* clang-format on */
VF_GEOMETRY_OF(select);
VF_TUNING_OF(select);
struct vf_select_view {
    VF_VIEW(select);
    struct vf_select_tuning tuning;
};
VF_HOST_FORM(select);

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* A group is the levels that share one quota of key points: with select_share_percent each level is one, else all
 * levels are one. geometry.groups of them; the culling cells of the groups follow one another in detect.best,
 * geometry.places / geometry.groups in each; geometry.group_first is the index in key[] of the first key point of a
 * group, so the quota of group g is group_first[g + 1] - group_first[g]. */

/** Sum of the quotas of the levels before `level`, of `points` over `levels` levels. Each level has `percent` % of the
 *  share of the one before. Shares are in 1/2^16 of the first. */
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

/** Number of key points of a camera. count: by group. */
VF_FN uint32_t vf_keypoints(int32_t groups, const uint32_t count[VFRONT_SCALES])
{
    uint32_t all = 0;
    for (int32_t group = 0; group < VFRONT_SCALES; group++) all += group < groups ? count[group] : 0;
    return all;
}

/** Index in key[] of the i-th key point of a camera. group_first: of geometry; count: by group. */
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

/** Level 0 pixel that holds the centre of a corner. */
VF_FN struct vf_pixel_xy vf_corner_pixel(const uint32_t *step_q16, uint64_t key)
{
    const struct vf_corner c = vf_detect_corner(key);
    struct vf_pixel_xy p;
    p.x = vf_pixel0(c.x, step_q16[c.level]);
    p.y = vf_pixel0(c.y, step_q16[c.level]);
    return p;
}

/** Corners of a culling cell, the best of each level. Loops over it have a fixed length, so that it can stay in
 *  registers. */
struct vf_cell_corners {
    struct vf_pixel_xy at[VFRONT_SCALES];
    uint32_t score[VFRONT_SCALES]; /* 0: no corner on that level */
};

/** Read them. best: detect.best of the camera; cells: culling cells of a level; levels: levels that are searched. */
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

/** Aggregate of the corners in one pixel of level 0: sum of their scores and number of levels. */
struct vf_aggregate {
    uint64_t score;
    int32_t levels;
};

/** Aggregate of pixel p, which must lie in the cell of `c`. */
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

/** 1 if a pixel of this cell, other than p and within `reach` px of it, has an aggregate with more than `mine` both in
 *  score and in levels. */
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

/** 1 if aggregation keeps a corner, which is the best of its level in its cell. best: detect.best of the camera. */
VF_FN int vf_select_kept(const struct vf_select_geometry *g, const struct vf_select_tuning *t, const uint64_t *best,
                         int32_t camera, uint64_t key)
{
    const int32_t reach = t->select_window_px / 2, across = g->culls_x[camera];
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

/** 1 if there is aggregation: in a window of one pixel there is no other pixel. */
VF_FN int vf_aggregated(const struct vf_select_tuning *t) { return t->select_window_px > 1; }

/* ---- which corners of a group are key points --------------------------------------------------------------------- */

/** Corners of a group: strong ones and all that are the best of their culling cells; strong ones that are the second
 *  best. */
struct vf_group_corners {
    uint32_t strong, best, strong_second;
};

/** Cut through the corners of a group: key points are the best of cells with keys of at least `best`, and the second
 *  best with keys of at least `second`. One of these two is still to be found: it is the lowest of the `rank` highest
 *  keys of its list, 1 if there are fewer, above all keys if rank is 0. */
struct vf_select_cut {
    uint64_t best, second;
    int32_t of_second; /* 1: `second` is to be found, 0: `best` is */
    uint32_t rank;
};

/** Lowest key of a strong corner; above all keys. */
#define VF_KEY_STRONG ((uint64_t)1 << 61)
#define VF_KEY_NONE (~(uint64_t)0)

/** 1 if the second best corners of cells may become key points: not if aggregation keeps but the strongest of a window,
 *  nor where strong corners that are the best of their cells fill the quota. strong: number of these. */
VF_FN int vf_select_filled(const struct vf_select_tuning *t, uint32_t strong, uint32_t quota)
{
    return !vf_aggregated(t) && strong < quota;
}

/** Cut that fills the quota in this order: strong corners that are the best of their cells, strong ones that are the
 *  second best, weak ones that are the best, weak ones that are the second best; of each the highest keys. filled: of
 *  vf_select_filled(). */
VF_FN struct vf_select_cut vf_select_cut_of(struct vf_group_corners n, int filled, uint32_t quota)
{
    struct vf_select_cut cut = {VF_KEY_NONE, VF_KEY_NONE, 0, quota};
    if (!filled) return cut;
    if (n.strong + n.strong_second >= quota) {
        cut.best = VF_KEY_STRONG;
        cut.of_second = 1;
        cut.rank = quota - n.strong;
    } else if (n.best + n.strong_second >= quota) {
        cut.second = VF_KEY_STRONG;
        cut.rank = quota - n.strong_second;
    } else {
        cut.best = 1;
        cut.of_second = 1;
        cut.rank = quota - n.best;
    }
    return cut;
}

/** Number of best corners of cells that are no key points; 0 if select_points is 0. taken: number of those that are. */
VF_FN uint32_t vf_select_dropped(const struct vf_select_tuning *t, uint32_t corners, uint32_t taken)
{
    return t->select_points ? corners - taken : 0;
}

#endif
