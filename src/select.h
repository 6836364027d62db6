/* SPDX-License-Identifier: MIT */
/* select: the key points of each picture.
 *
 * In      best corner of every cell of every level
 * Out     keys of the key points, by rising level, then rising cell
 * Rule    aggregation over levels (paper 004, II.C.2): corners whose centres lie in the same pixel of level 0 add up, to a sum of scores
 *         and a number of levels. A corner is dropped when both are less than those of another pixel in the window around it.
 *         Of what is left the select_points highest keys stay. Corners in one pixel lie in one cell, so sums are had by looking into
 *         cells, and there is no plane of sums to clear, to fill or to race for
 * Exact   integers
 * Memory  8 bytes a cell and level for what aggregation leaves, a bit for whether it does, 8 bytes a key point
 */
#ifndef VF_SELECT_H
#define VF_SELECT_H

#include "detect.h"
#include "scale.h"

/** Places of the grid, one a level and cell, that are looked through together: what is left of them stands at the start of theirs. */
#define VF_CHUNK 1024
#define VF_CHUNKS ((VFRONT_SCALES * VFRONT_CELLS + VF_CHUNK - 1) / VF_CHUNK)

struct vf_select_memory {
    uint64_t candidate[VFRONT_CAMERAS][VF_CHUNKS][VF_CHUNK];
    uint64_t key[VFRONT_CAMERAS][VFRONT_KEYPOINTS];
    uint32_t stays[VFRONT_CAMERAS][VF_CHUNKS][VF_CHUNK / 32]; /* a bit a place: aggregation, where there is any, leaves its corner */
    uint32_t candidates[VFRONT_CAMERAS][VF_CHUNKS]; /* in each chunk */
    uint32_t occupied[VFRONT_CAMERAS][VF_CHUNKS];   /* cells of each chunk with a corner on any level */
    uint32_t count[VFRONT_CAMERAS];                 /* of keys */
    uint32_t dropped[VFRONT_CAMERAS];               /* candidates beyond select_points */
    uint32_t cells[VFRONT_CAMERAS];                 /* with a corner on any level */
    uint32_t arrived[VFRONT_CAMERAS];               /* blocks of the kernel that are done; 0 between steps */
};

/** Places of a camera's grid, on all levels that are searched. */
VF_FN int32_t vf_places(const struct vf_step *s, int32_t camera) { return vf_cells(&s->geometry, camera) * vf_scales(s); }

/** The best corner of a cell on any level. */
VF_FN uint64_t vf_best(const uint64_t *best, int32_t cell, int32_t cells, int32_t levels)
{
    uint64_t most = 0;
    for (int32_t level = 0; level < levels; level++) most = best[level * cells + cell] > most ? best[level * cells + cell] : most;
    return most;
}

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
VF_FN struct vf_column vf_select_column(const struct vf_geometry *g, const uint64_t *best, int32_t cell, int32_t cells, int32_t levels)
{
    struct vf_column c;
    uint64_t key[VFRONT_SCALES];
    for (int32_t level = 0; level < VFRONT_SCALES; level++) key[level] = level < levels ? best[level * cells + cell] : 0;
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
        const int near = c->score[level] && vf_abs(c->at[level].x - p.x) <= reach && vf_abs(c->at[level].y - p.y) <= reach;
        if (!near || (c->at[level].x == p.x && c->at[level].y == p.y)) continue;
        const struct vf_sum other = vf_select_sum(c, c->at[level]);
        beaten |= other.score > mine.score && other.levels > mine.levels;
    }
    return beaten;
}

/** Whether aggregation leaves a corner, the best of its level in its cell. `best`: of the camera. */
VF_FN int vf_select_stays(const struct vf_geometry *g, const vfront_tuning_t *t, const uint64_t *best, int32_t camera, uint64_t key)
{
    const int32_t reach = t->select_window_px / 2, across = g->cells_x[camera];
    const int32_t cells = vf_cells(g, camera), levels = vf_min(g->scales, t->detect_levels);
    const struct vf_pixel p = vf_select_pixel(g, key);
    const int32_t home = p.y / t->cell_height_px * across + p.x / t->cell_width_px;
    const struct vf_column own = vf_select_column(g, best, home, cells, levels);
    const struct vf_sum mine = vf_select_sum(&own, p);
    if (vf_select_beaten(&own, p, mine, reach)) return 0;
    const int32_t x0 = vf_max(p.x - reach, 0) / t->cell_width_px, x1 = vf_min((p.x + reach) / t->cell_width_px, across - 1);
    const int32_t y0 = vf_max(p.y - reach, 0) / t->cell_height_px;
    const int32_t y1 = vf_min((p.y + reach) / t->cell_height_px, g->cells_y[camera] - 1);
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

/** Key points over the limit; nothing is over a limit of 0, which asks for none. */
VF_FN uint32_t vf_select_dropped(const vfront_tuning_t *t, uint32_t candidates)
{
    const uint32_t most = (uint32_t)t->select_points;
    return most && candidates > most ? candidates - most : 0;
}

#endif
