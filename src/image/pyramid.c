/* SPDX-License-Identifier: MIT */
/* Host form of pyramid: tile statistics of level 0, then level by level. */
#include "pyramid.h"

/** Makes a row of a pyramid level, `width` px, from two rows of the next finer level. */
VF_HOT static void halve_row(uint8_t *restrict to, const uint8_t *restrict upper, const uint8_t *restrict lower,
                             int32_t width)
{
    for (int32_t x = 0; x < width; x++)
        to[x] = vf_pyramid_mean(upper[2 * x], upper[2 * x + 1], lower[2 * x], lower[2 * x + 1]);
}

/** Makes pyramid level `level`, 1 and up, from the next finer level. */
static void halve(const struct vf_pyramid_view *s, int32_t camera, int32_t level)
{
    const struct vf_level *from = &s->geometry.level[camera][level - 1], *to = &s->geometry.level[camera][level];
    const uint8_t *source = vf_pyramid_pixels(s->pyramid, &s->pictures, s->parity, camera, level - 1, from);
    uint8_t *target = s->pyramid->pixels[s->parity][camera] + to->offset;
    for (int32_t y = 0; y < to->height; y++)
        halve_row(target + (size_t)y * (size_t)to->pitch, source + (size_t)(2 * y) * (size_t)from->pitch,
                  source + (size_t)(2 * y + 1) * (size_t)from->pitch, to->width);
}

/** Adds a row of a tile to the grey level statistics. */
VF_HOT static void tile_sum_row(struct vf_tile_stats *t, const uint8_t *row, int32_t width)
{
    uint32_t sum = 0, dark = 0, bright = 0;
    for (int32_t x = 0; x < width; x++) {
        sum += row[x];
        dark += vf_tile_dark(row[x]);
        bright += vf_tile_bright(row[x]);
    }
    t->sum += sum;
    t->dark += dark;
    t->bright += bright;
}

/** Adds the gradients of `blocks` blocks of 2x2 px in two rows of a tile to its statistics. */
VF_HOT static void tile_sum_edges(struct vf_tile_stats *t, const uint8_t *upper, const uint8_t *lower, int32_t blocks)
{
    uint32_t edge = 0;
    for (int32_t x = 0; x < blocks; x++)
        edge += vf_tile_edge(upper[2 * x], upper[2 * x + 1], lower[2 * x], lower[2 * x + 1]);
    t->edge += edge;
}

/** Statistics of the tile whose first pixel is `pixels`. Tiles at the right and lower border are smaller. */
static struct vf_tile_stats tile_stats(const uint8_t *pixels, int32_t pitch, int32_t width, int32_t height)
{
    struct vf_tile_stats t = {0, 0, 0, 0};
    for (int32_t y = 0; y < height; y++) {
        const uint8_t *row = pixels + (size_t)y * (size_t)pitch;
        tile_sum_row(&t, row, width);
        if (y % 2 == 0 && y + 1 < height) tile_sum_edges(&t, row, row + pitch, width / 2);
    }
    return t;
}

static void pyramid_camera(const struct vf_pyramid_view *s, int32_t camera)
{
    const struct vf_level *l = &s->geometry.level[camera][0];
    const uint8_t *pixels = s->pictures.level0[s->parity][camera];
    struct vf_tile_stats *tile = s->pyramid->tile[camera];
    for (int32_t y = 0; y < l->height; y += VF_TILE)
        for (int32_t x = 0; x < l->width; x += VF_TILE)
            *tile++ = tile_stats(pixels + (size_t)y * (size_t)l->pitch + x, l->pitch, vf_min(VF_TILE, l->width - x),
                                 vf_min(VF_TILE, l->height - y));
    /* limited by a constant, so that compilers know the bound of the loop */
    const int32_t levels = vf_min(s->geometry.levels, VFRONT_LEVELS);
    for (int32_t level = 1; level < levels; level++) halve(s, camera, level);
}

void vf_pyramid_host(const struct vf_pyramid_view *s)
{
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++) pyramid_camera(s, camera);
}
