/* SPDX-License-Identifier: MIT */
/* bearing: bearing (unit vector in camera axes) of every key point.
 *
 * In      keys of the key points (select); bearing grid of the camera (camera/grid.h)
 * Out     every key point in the order of the result: bearing, and position and level for matching; index of the first
 *         key point of every level
 * Rule    vf_bearing_at(): cubic interpolation in the bearing grid
 * Exact   single precision in one order; roots and quotients correctly rounded
 * Shared  all arithmetic: vf_bearing_point(), vf_bearing_mark_level()
 * Memory  the grid, 16 bytes a node; 64 bytes a key point and camera
 */
#ifndef VF_BEARING_H
#define VF_BEARING_H

#include "camera/grid.h"
#include "base/prepare.h"
#include "base/view.h"
#include "select.h"

/** Key point as input of stereo and match. */
struct vf_point {
    /* Unit vector in camera axes. Uncalibrated camera: pinhole without distortion, focal length = image width. */
    float bearing[3];
    int32_t x_q16, y_q16; /* position [1/65536 px of level 0] */
    int16_t u, v;         /* column and row on its level [px] */
    int32_t level;
    float step; /* size of a pixel of the key point's level [px of level 0] */
};

struct vf_bearing_memory {
    /* Bearing grid, row by row, geometry.nodes_x in each row. Written once, by vfront_init(). */
    struct vf_node node[VFRONT_CAMERAS][VF_NODES(VFRONT_WIDTH) * VF_NODES(VFRONT_HEIGHT)];
    /* [parity][camera]: key points of this and of the previous frame, which match compares. */
    struct vf_point point[2][VFRONT_CAMERAS][VFRONT_KEYPOINTS];
    uint32_t count[2][VFRONT_CAMERAS];
    /* [parity][camera][level]: index of the level's first key point; last element: number of key points */
    uint32_t first[2][VFRONT_CAMERAS][VFRONT_SCALES + 1];
};

/* View of bearing (base/view.h). */
/* clang-format off */
#define VF_READS_bearing(X) X(select)
#define VF_BEFORE_bearing(X)
#define VF_GEOMETRY_bearing(X) X(cameras) X(nodes_x) X(step_q16) X(groups) X(group_first)
#define VF_TUNING_bearing(X) X(select_points)
/* clang-format on */
VF_GEOMETRY_OF(bearing);
VF_TUNING_OF(bearing);
struct vf_bearing_view {
    VF_VIEW(bearing);
    struct vf_bearing_tuning tuning;
};
VF_HOST_FORM(bearing);

/** Computes the bearing grids of all cameras. Called by vfront_init(). */
vfront_status_t vf_bearing_prepare(const struct vf_prepare *p, const struct vf_bearing_view *s);

/** Makes a key point from a corner's sort key. node: bearing grid of the camera. */
VF_FN struct vf_point vf_bearing_point(const struct vf_bearing_view *s, const struct vf_node *node, int32_t camera,
                                       uint64_t key)
{
    const struct vf_position_q16 at = vf_corner_position(s->geometry.step_q16, key);
    const struct vf_corner c = vf_detect_corner(key);
    struct vf_point p;
    vf_bearing_at(node, s->geometry.nodes_x[camera], at.x_q16, at.y_q16, p.bearing);
    p.x_q16 = at.x_q16;
    p.y_q16 = at.y_q16;
    p.u = (int16_t)c.x;
    p.v = (int16_t)c.y;
    p.level = c.level;
    p.step = (float)s->geometry.step_q16[c.level] * (1.0f / 65536.0f);
    return p;
}

/** Writes first[] of the levels that begin at key point i; the last key point also writes the levels after its own.
 *  Called once for each of `count` key points, sorted by level. previous: level of the key point before (any value for
 *  i = 0). */
VF_FN void vf_bearing_mark_level(uint32_t first[VFRONT_SCALES + 1], uint32_t i, uint32_t count, int32_t previous,
                                 int32_t level)
{
    for (int32_t l = i ? previous + 1 : 0; l <= level; l++) first[l] = i;
    for (int32_t l = level + 1; i + 1 == count && l <= VFRONT_SCALES; l++) first[l] = count;
}

/** Writes first[] for a camera without key points. */
VF_FN void vf_bearing_mark_empty(uint32_t first[VFRONT_SCALES + 1])
{
    for (int32_t l = 0; l <= VFRONT_SCALES; l++) first[l] = 0;
}

/** 1 if two key points are more than 4 px apart along an axis, in pixels of the coarser of their levels. The ratio test
 *  compares the best match with the best one that is apart from it. */
VF_FN int vf_points_apart(const struct vf_point *best, const struct vf_point *other)
{
    const float step = best->step > other->step ? best->step : other->step, near_q16 = 4.0f * 65536.0f * step;
    return (float)vf_abs(best->x_q16 - other->x_q16) > near_q16 || (float)vf_abs(best->y_q16 - other->y_q16) > near_q16;
}

#endif
