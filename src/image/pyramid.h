/* SPDX-License-Identifier: MIT */
/* pyramid: each level is half the size of the one before.
 *
 * In      level 0
 * Out     levels 1 and up; sums for brightness and sharpness, one set a tile of 64x64 px
 * Rule    vf_pyramid_mean(): a pixel is the mean of the 2x2 below it, halves up. Sizes are halved rounding down, so every pixel
 *         is the mean of four real ones; the last row or column of an odd size has no pixel above it
 * Exact   integers
 * Memory  two pyramids a camera: this frame's and the frame's before
 */
#ifndef VF_PYRAMID_H
#define VF_PYRAMID_H

#include "core/vf.h"

/** Side of the square of level 0 that one block of the kernel turns into all its levels [px]. */
#define VF_TILE 64
#define VF_TILES (((VFRONT_WIDTH + VF_TILE - 1) / VF_TILE) * ((VFRONT_HEIGHT + VF_TILE - 1) / VF_TILE))

/** Sums over one tile of level 0. */
struct vf_light {
    uint32_t sum;    /* of grey levels */
    uint32_t dark;   /* pixels <= 5 */
    uint32_t bright; /* pixels >= 250 */
    uint32_t edge;   /* of the four absolute differences within each whole 2x2 of the tile */
};

struct vf_pyramid_memory {
    uint8_t pixels[2][VFRONT_CAMERAS][(VFRONT_PYRAMID_BYTES + 63) / 64 * 64];
    struct vf_light light[VFRONT_CAMERAS][VF_TILES]; /* row-major over the tiles of the actual picture */
};

VF_FN uint8_t vf_pyramid_mean(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return (uint8_t)((a + b + c + d + 2) >> 2);
}

/** Adds a pixel of level 0 to the sums. */
VF_FN void vf_light_pixel(struct vf_light *light, uint32_t grey)
{
    light->sum += grey;
    light->dark += grey <= 5;
    light->bright += grey >= 250;
}

/** Absolute differences within a 2x2. */
VF_FN uint32_t vf_light_edge(int32_t a, int32_t b, int32_t c, int32_t d)
{
    return (uint32_t)(vf_abs(a - b) + vf_abs(c - d) + vf_abs(a - c) + vf_abs(b - d));
}

#endif
