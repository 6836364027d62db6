/* SPDX-License-Identifier: MIT */
/* bearing: where every key point lies from its camera.
 *
 * In      keys of the key points; bearings of a grid of places, made in vfront_init() from the lens (lens.h)
 * Out     a bearing and what else matching needs of every key point, in the order of the result; empty lists of who looked at them
 * Rule    cubic between 4x4 places of the grid along both axes (Lagrange), made a unit vector again. With places 8 px apart that is
 *         2e-5 px from the lens on average, about what single precision can tell apart, and below 1e-3 px in the corners of wide lenses;
 *         more, up to 1/5 px, only where a lens is about to fold
 * Exact   single precision in one order; roots and quotients correctly rounded
 * Memory  16 bytes for each place of the grid, 64 bytes a key point and camera
 */
#ifndef VF_BEARING_H
#define VF_BEARING_H

#include <math.h>

#include "camera/lens.h"
#include "select.h"

/** Places of the grid are so far apart, along both axes, and this many lie before the first pixel [px]. */
#define VF_NODE_PX 8
#define VF_NODES_BEFORE 2
VF_FN int32_t vf_nodes(int32_t size_px) { return (size_px + 15) / VF_NODE_PX + 4; }
#define VF_NODES(size_px) (((size_px) + 15) / VF_NODE_PX + 4)

struct vf_node {
    float x, y, z;
    int32_t holds; /* 0: the lens has no bearing there */
};

/** A key point, as matching sees it. */
struct vf_point {
    float bearing[3]; /* of a camera that is not calibrated: as if it had no lens and its width as focal length */
    int32_t x_q16, y_q16;
    int16_t u, v; /* pixel of its level */
    int32_t level;
    float step; /* size of that pixel [px of level 0] */
};

struct vf_bearing_memory {
    struct vf_node node[VFRONT_CAMERAS]
                       [VF_NODES(VFRONT_WIDTH) * VF_NODES(VFRONT_HEIGHT)]; /* row by row, nodes_x in each */
    struct vf_point point[2][VFRONT_CAMERAS][VFRONT_KEYPOINTS]; /* by parity, so that the frame before has its own */
    uint32_t count[2][VFRONT_CAMERAS];
    uint32_t first[2][VFRONT_CAMERAS][VFRONT_SCALES + 1]; /* of each level, and behind the last */
};

/** Weights of four places in a row, t of the way from the second to the third. */
VF_FN void vf_bearing_weights(float t, float w[4])
{
    const float a = t + 1.0f, b = t - 1.0f, c = t - 2.0f;
    w[0] = t * b * c * (-1.0f / 6.0f);
    w[1] = a * b * c * 0.5f;
    w[2] = a * t * c * -0.5f;
    w[3] = a * t * b * (1.0f / 6.0f);
}

VF_FN float vf_dot(const float a[3], const float b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
VF_FN void vf_cross(const float a[3], const float b[3], float out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/** A unit vector in its direction; 0 stays 0. */
VF_FN void vf_unit(float v[3])
{
    const float length = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int k = 0; k < 3; k++) v[k] = length > 0.0f ? v[k] / length : 0.0f;
}

/** Bearing of a place of level 0; 0 0 0 where the lens has none. */
VF_FN void vf_bearing_at(const struct vf_step *s, const struct vf_node *node, int32_t camera, int32_t x_q16,
                         int32_t y_q16, float bearing[3])
{
    const int32_t across = s->geometry.nodes_x[camera], shift = 16 + 3, before = VF_NODES_BEFORE * VF_NODE_PX << 16;
    const int32_t i = (x_q16 + before) >> shift, j = (y_q16 + before) >> shift, part = (1 << shift) - 1;
    const struct vf_node *first = node + (j - 1) * across + i - 1;
    float wx[4], wy[4];
    int32_t holds = 1;
    vf_bearing_weights((float)((x_q16 + before) & part) * (1.0f / 524288.0f), wx);
    vf_bearing_weights((float)((y_q16 + before) & part) * (1.0f / 524288.0f), wy);
    bearing[0] = bearing[1] = bearing[2] = 0.0f;
    for (int r = 0; r < 4; r++, first += across) {
        bearing[0] += wy[r] * (wx[0] * first[0].x + wx[1] * first[1].x + wx[2] * first[2].x + wx[3] * first[3].x);
        bearing[1] += wy[r] * (wx[0] * first[0].y + wx[1] * first[1].y + wx[2] * first[2].y + wx[3] * first[3].y);
        bearing[2] += wy[r] * (wx[0] * first[0].z + wx[1] * first[1].z + wx[2] * first[2].z + wx[3] * first[3].z);
        holds &= first[0].holds & first[1].holds & first[2].holds & first[3].holds;
    }
    for (int k = 0; k < 3 && !holds; k++) bearing[k] = 0.0f;
    vf_unit(bearing);
}

/** A key point. */
VF_FN struct vf_point vf_bearing_point(const struct vf_step *s, const struct vf_node *node, int32_t camera,
                                       uint64_t key)
{
    const struct vf_place at = vf_detect_place(&s->geometry, key);
    const struct vf_corner c = vf_detect_corner(key);
    struct vf_point p;
    vf_bearing_at(s, node, camera, at.x_q16, at.y_q16, p.bearing);
    p.x_q16 = at.x_q16;
    p.y_q16 = at.y_q16;
    p.u = (int16_t)c.x;
    p.v = (int16_t)c.y;
    p.level = c.level;
    p.step = (float)s->geometry.step_q16[c.level] * (1.0f / 65536.0f);
    return p;
}

/** Notes where levels begin: called for each of `count` points with its level and that of the point before, 0 for the first. */
VF_FN void vf_bearing_begin(uint32_t first[VFRONT_SCALES + 1], uint32_t i, uint32_t count, int32_t before,
                            int32_t level)
{
    for (int32_t l = i ? before + 1 : 0; l <= level; l++) first[l] = i;
    for (int32_t l = level + 1; i + 1 == count && l <= VFRONT_SCALES; l++) first[l] = count;
}

/** The same without any point. */
VF_FN void vf_bearing_none(uint32_t first[VFRONT_SCALES + 1])
{
    for (int32_t l = 0; l <= VFRONT_SCALES; l++) first[l] = 0;
}

/** Whether a point lies somewhere else than the best partner: not within 4 px of the coarser of their levels. */
VF_FN int vf_elsewhere(const struct vf_point *best, const struct vf_point *other)
{
    const float step = best->step > other->step ? best->step : other->step, near_q16 = 4.0f * 65536.0f * step;
    return (float)vf_abs(best->x_q16 - other->x_q16) > near_q16 || (float)vf_abs(best->y_q16 - other->y_q16) > near_q16;
}

/* ---- made in vfront_init() --------------------------------------------------------------------------------------- */

/** Row j of the grid. */
void vf_bearing_row(struct vf_node *row, int32_t nodes, const struct vf_lens *lens, int32_t j);

/** Clears the pixels of a mask at any place of which the grid cannot say the bearing; without a mask, only counts them. Returns how many
 *  there are. */
uint32_t vf_bearing_blind(uint8_t *mask, size_t pitch, int32_t width, int32_t height, const struct vf_lens *lens);

#endif
