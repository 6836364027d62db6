/* SPDX-License-Identifier: MIT */
/* pyramid: image pyramid of 2x2 means, each level half the size of the one before; brightness and sharpness statistics.
 *
 * In      level 0
 * Out     levels 1 and up; statistics of level 0, one set per tile of 64x64 px
 * Rule    vf_pyramid_mean(): a pixel is the mean of 2x2 px of the level before, halves up. Sizes are halved and rounded
 *         down, so the last row or column of an odd size does not count
 * Exact   integers
 * Memory  two pyramids per camera, of this and the previous frame
 * Shared  vf_pyramid_mean(), vf_tile_dark(), vf_tile_bright(), vf_tile_edge(). Written twice: sums over a tile. Host:
 *         tile_sum_row() and tile_sum_edges() along rows, as vector code. Kernel: add_pixels(), 4x4 px a thread
 */
#ifndef VF_PYRAMID_H
#define VF_PYRAMID_H

#include "base/view.h"

/** Side of a tile of level 0 [px]: a square with its own statistics, and the work of one block in the kernel. */
#define VF_TILE 64
/** Number of tiles of the largest image. */
#define VF_TILES (((VFRONT_WIDTH + VF_TILE - 1) / VF_TILE) * ((VFRONT_HEIGHT + VF_TILE - 1) / VF_TILE))

/** Brightness and sharpness statistics of one tile of level 0. */
struct vf_tile_stats {
    uint32_t sum;    /* sum of grey levels */
    uint32_t dark;   /* number of pixels with a grey level <= 5 */
    uint32_t bright; /* number of pixels with a grey level >= 250 */
    uint32_t edge;   /* sum of gradient magnitudes, vf_tile_edge(), of the 2x2 blocks that lie wholly in the tile */
};

struct vf_pyramid_memory {
    /* [parity][camera]: pixels of levels 1 and up; vf_pyramid_pixels() finds a level. */
    uint8_t pixels[2][VFRONT_CAMERAS][(VFRONT_PYRAMID_BYTES - VFRONT_LEVEL_BYTES(0) + 127) / 64 * 64];
    struct vf_tile_stats tile[VFRONT_CAMERAS][VF_TILES]; /* statistics of the tiles of the actual image, row-major */
};

/* View of pyramid (base/view.h). */
/* clang-format off */
#define VF_READS_pyramid(X) X(ingest) X(rectify)
#define VF_BEFORE_pyramid(X)
#define VF_GEOMETRY_pyramid(X) X(cameras) X(levels) X(level)
#define VF_TUNING_pyramid(X)
/* clang-format on */
VF_GEOMETRY_OF(pyramid);
struct vf_pyramid_view {
    VF_VIEW(pyramid);
    struct vf_pictures pictures;
};
VF_HOST_FORM(pyramid);

/** First pixel of a pyramid level of a camera; level 0 is the image itself. l: geometry of the level. */
VF_FN const uint8_t *vf_pyramid_pixels(const struct vf_pyramid_memory *m, const struct vf_pictures *pictures,
                                       int32_t parity, int32_t camera, int32_t level, const struct vf_level *l)
{
    return level ? m->pixels[parity][camera] + l->offset : pictures->level0[parity][camera];
}

/** Mean of four grey levels, halves up. */
VF_FN uint8_t vf_pyramid_mean(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return (uint8_t)((a + b + c + d + 2) >> 2);
}

/** 1 if a pixel is dark; vf_tile_bright(): 1 if it is bright. */
VF_FN uint32_t vf_tile_dark(uint32_t grey) { return grey <= 5; }
VF_FN uint32_t vf_tile_bright(uint32_t grey) { return grey >= 250; }

/** Gradient magnitude of a 2x2 block (a b above c d): sum of its four absolute differences between neighbours. */
VF_FN uint32_t vf_tile_edge(int32_t a, int32_t b, int32_t c, int32_t d)
{
    return (uint32_t)(vf_abs(a - b) + vf_abs(c - d) + vf_abs(a - c) + vf_abs(b - d));
}

#endif
