/* SPDX-License-Identifier: MIT */
#include "core/stages.h"

VF_HOT static void halve_row(uint8_t *restrict to, const uint8_t *restrict upper, const uint8_t *restrict lower,
                             int32_t width)
{
    for (int32_t x = 0; x < width; x++)
        to[x] = vf_pyramid_mean(upper[2 * x], upper[2 * x + 1], lower[2 * x], lower[2 * x + 1]);
}

static void halve(const struct vf_step *s, int32_t camera, int32_t level)
{
    const struct vf_level *from = &s->geometry.level[camera][level - 1], *to = &s->geometry.level[camera][level];
    const uint8_t *source = vf_level_pixels(s, s->parity, camera, level - 1);
    uint8_t *target = vf_level_pixels(s, s->parity, camera, level);
    for (int32_t y = 0; y < to->height; y++)
        halve_row(target + (size_t)y * (size_t)to->pitch, source + (size_t)(2 * y) * (size_t)from->pitch,
                  source + (size_t)(2 * y + 1) * (size_t)from->pitch, to->width);
}

VF_HOT static void light_row(struct vf_light *light, const uint8_t *row, int32_t width)
{
    uint32_t sum = 0, dark = 0, bright = 0;
    for (int32_t x = 0; x < width; x++) {
        sum += row[x];
        dark += row[x] <= 5;
        bright += row[x] >= 250;
    }
    light->sum += sum;
    light->dark += dark;
    light->bright += bright;
}

VF_HOT static void light_edges(struct vf_light *light, const uint8_t *upper, const uint8_t *lower, int32_t quads)
{
    uint32_t edge = 0;
    for (int32_t x = 0; x < quads; x++)
        edge += vf_light_edge(upper[2 * x], upper[2 * x + 1], lower[2 * x], lower[2 * x + 1]);
    light->edge += edge;
}

static struct vf_light light_tile(const uint8_t *pixels, int32_t pitch, int32_t width, int32_t height)
{
    struct vf_light light = {0, 0, 0, 0};
    for (int32_t y = 0; y < height; y++) {
        const uint8_t *row = pixels + (size_t)y * (size_t)pitch;
        light_row(&light, row, width);
        if (y % 2 == 0 && y + 1 < height) light_edges(&light, row, row + pitch, width / 2);
    }
    return light;
}

static void pyramid_camera(const struct vf_step *s, int32_t camera)
{
    const struct vf_level *l = &s->geometry.level[camera][0];
    const uint8_t *pixels = vf_level_pixels(s, s->parity, camera, 0);
    struct vf_light *light = s->memory->pyramid.light[camera];
    for (int32_t y = 0; y < l->height; y += VF_TILE)
        for (int32_t x = 0; x < l->width; x += VF_TILE)
            *light++ = light_tile(pixels + (size_t)y * (size_t)l->pitch + x, l->pitch, vf_min(VF_TILE, l->width - x),
                                  vf_min(VF_TILE, l->height - y));
    for (int32_t level = 1; level < s->geometry.levels; level++) halve(s, camera, level);
}

void vf_pyramid_host(const struct vf_step *s)
{
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++) pyramid_camera(s, camera);
}
