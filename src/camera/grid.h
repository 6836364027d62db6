/* SPDX-License-Identifier: MIT */
/* Bearing grid: table of a camera's inverse lens model, one node every VF_GRID_PX pixels of level 0, interpolated in
 * between.
 *
 * Made by   vfront_init(), from the lens (lens.h), in double precision on the host: vf_grid_row(), vf_grid_blind()
 * Read by   bearing, match, stereo, ego and report, in every frame: vf_bearing_at()
 * Rule    cubic Lagrange interpolation over 4x4 nodes, along x, then y; the result is normalised. With nodes 8 px apart
 *         the error is 2e-5 px on average, the resolution of single precision. In the corners of wide lenses it is
 *         below 1e-3 px, and up to 1/5 px only near the limit of the lens model
 * Exact   single precision in one order; roots and quotients correctly rounded
 * Shared  vf_bearing_at()
 * Memory  16 bytes a node, in struct vf_bearing_memory
 */
#ifndef VF_GRID_H
#define VF_GRID_H

#include <stddef.h>

#include "camera/lens.h"
#include "math/vector.h"

/** Distance of neighbouring nodes along both axes [px of level 0]. */
#define VF_GRID_PX 8

/** Number of nodes left of (above) pixel 0. Node (i, j) lies at pixel VF_GRID_PX * (i - VF_GRID_MARGIN), VF_GRID_PX *
 *  (j - VF_GRID_MARGIN). */
#define VF_GRID_MARGIN 2

/** Number of nodes along an axis of an image of size_px, as a constant and as a function. */
#define VF_NODES(size_px) (((size_px) + 15) / VF_GRID_PX + 4)
VF_FN int32_t vf_nodes(int32_t size_px) { return VF_NODES(size_px); }

/** Node of the grid: a unit vector in camera axes. */
struct vf_node {
    float x, y, z;
    int32_t valid; /* 0: the lens has no bearing at this pixel; the vector is zero */
};

/** Cubic Lagrange weights of four equidistant nodes at -1, 0, 1, 2 for a point at t, 0 <= t < 1. */
VF_FN void vf_grid_weights(float t, float w[4])
{
    const float a = t + 1.0f, b = t - 1.0f, c = t - 2.0f;
    w[0] = t * b * c * (-1.0f / 6.0f);
    w[1] = a * b * c * 0.5f;
    w[2] = a * t * c * -0.5f;
    w[3] = a * t * b * (1.0f / 6.0f);
}

/** Bearing at a position inside the image [1/65536 px of level 0]: a unit vector in camera axes; 0 0 0 if one of the
 *  4x4 nodes around it is not valid. node: bearing grid of the camera, row by row; across: number of nodes per row. */
VF_FN void vf_bearing_at(const struct vf_node *node, int32_t across, int32_t x_q16, int32_t y_q16, float bearing[3])
{
    const int32_t shift = 16 + 3, before = VF_GRID_MARGIN * VF_GRID_PX << 16;
    const int32_t i = (x_q16 + before) >> shift, j = (y_q16 + before) >> shift, part = (1 << shift) - 1;
    const struct vf_node *first = node + (j - 1) * across + i - 1;
    float wx[4], wy[4];
    int32_t valid = 1;
    vf_grid_weights((float)((x_q16 + before) & part) * (1.0f / 524288.0f), wx);
    vf_grid_weights((float)((y_q16 + before) & part) * (1.0f / 524288.0f), wy);
    bearing[0] = bearing[1] = bearing[2] = 0.0f;
    for (int r = 0; r < 4; r++, first += across) {
        bearing[0] += wy[r] * (wx[0] * first[0].x + wx[1] * first[1].x + wx[2] * first[2].x + wx[3] * first[3].x);
        bearing[1] += wy[r] * (wx[0] * first[0].y + wx[1] * first[1].y + wx[2] * first[2].y + wx[3] * first[3].y);
        bearing[2] += wy[r] * (wx[0] * first[0].z + wx[1] * first[1].z + wx[2] * first[2].z + wx[3] * first[3].z);
        valid &= first[0].valid & first[1].valid & first[2].valid & first[3].valid;
    }
    for (int k = 0; k < 3 && !valid; k++) bearing[k] = 0.0f;
    vf_unit(bearing);
}

/* ---- made in vfront_init() --------------------------------------------------------------------------------------- */

/** Fills row j of the grid, `nodes` nodes, from the lens. */
void vf_grid_row(struct vf_node *row, int32_t nodes, const struct vf_lens *lens, int32_t j);

/** Clears the pixels of a mask, rows of `pitch` bytes, that contain a position without a bearing; mask NULL: only
 *  counts. Returns the number of these pixels. */
uint32_t vf_grid_blind(uint8_t *mask, size_t pitch, int32_t width, int32_t height, const struct vf_lens *lens);

#endif
