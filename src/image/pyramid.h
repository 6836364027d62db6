/* SPDX-License-Identifier: MIT */
/* pyramid: image pyramid by 2x2 means, each level half the size of the one before; brightness and sharpness
 * statistics.
 *
 * In      level 0
 * Out     levels 1 and up; statistics of brightness and sharpness of level 0, one set per tile of 64x64 px
 * Rule    vf_pyramid_mean(): a pixel is the mean of 2x2 px of the level before, halves up. Sizes are halved rounding
 *         down, so every pixel is the mean of four real ones; the last row or column of an odd size enters no pixel
 *         of the next level
 * Exact   integers
 * Memory  two pyramids per camera: the current frame's and the previous frame's
 * Shared  vf_pyramid_mean(), vf_tile_dark(), vf_tile_bright(), vf_tile_edge(). Not the summation over a tile:
 *         tile_sum_row() and tile_sum_edges() in pyramid.c run along rows, for vector units; add_pixels() in
 *         pyramid.cu takes the 4x4 px of a thread
 */
#ifndef VF_PYRAMID_H
#define VF_PYRAMID_H

#include "core/view.h"

/** Side of a tile of level 0 [px]: a square with its own statistics, and the work of one thread block in the kernel. */
#define VF_TILE 64
/** Tiles of the largest picture. */
#define VF_TILES (((VFRONT_WIDTH + VF_TILE - 1) / VF_TILE) * ((VFRONT_HEIGHT + VF_TILE - 1) / VF_TILE))

/** Brightness and sharpness statistics of one tile of level 0. */
struct vf_tile_stats {
    uint32_t sum;    /* sum of grey levels */
    uint32_t dark;   /* number of pixels <= 5 */
    uint32_t bright; /* number of pixels >= 250 */
    uint32_t edge;   /* sum of vf_tile_edge() over the complete 2x2 blocks of the tile */
};

struct vf_pyramid_memory {
    /* Levels 1 and up by parity; see vf_pyramid_pixels(). */
    uint8_t pixels[2][VFRONT_CAMERAS][(VFRONT_PYRAMID_BYTES - VFRONT_LEVEL_BYTES(0) + 127) / 64 * 64];
    struct vf_tile_stats tile[VFRONT_CAMERAS][VF_TILES]; /* row-major over the tiles of the actual picture */
};

/* View of pyramid: core/view.h. */
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

/** Pixels of a level of a camera, by parity: level 0 is the picture, the others are the pyramid's. l: the level's
 *  geometry. */
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

/** 1 for a pixel that counts as dark, or bright; else 0. */
VF_FN uint32_t vf_tile_dark(uint32_t grey) { return grey <= 5; }
VF_FN uint32_t vf_tile_bright(uint32_t grey) { return grey >= 250; }

/** Gradient magnitude of a 2x2 block (a b above c d): sum of its four absolute differences between neighbours. */
VF_FN uint32_t vf_tile_edge(int32_t a, int32_t b, int32_t c, int32_t d)
{
    return (uint32_t)(vf_abs(a - b) + vf_abs(c - d) + vf_abs(a - c) + vf_abs(b - d));
}

#endif
