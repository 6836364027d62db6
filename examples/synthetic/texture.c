/* SPDX-License-Identifier: MIT
 *
 * Textures of the rendered flight: dead leaves, bricks and noise, with mip levels.
 */
#include "renderer.h"

/** Value noise, -1..1, periodic with the texture: random values on a lattice, 1 << step_log2 texels apart,
 *  interpolated. */
static double value_noise(int32_t x, int32_t y, int step_log2)
{
    const int32_t cells = TEXTURE_SIZE >> step_log2, mask = (1 << step_log2) - 1;
    const int32_t cx = x >> step_log2, cy = y >> step_log2;
    double fx = (double)(x & mask) / (mask + 1), fy = (double)(y & mask) / (mask + 1), corner[4];
    fx = fx * fx * (3.0 - 2.0 * fx);
    fy = fy * fy * (3.0 - 2.0 * fy);
    for (int i = 0; i < 4; i++) {
        const int32_t u = (cx + (i & 1)) & (cells - 1), v = (cy + (i >> 1)) & (cells - 1);
        corner[i] = uniform(STREAM_NOISE + step_log2, v * cells + u, -1.0, 1.0);
    }
    const double top = corner[0] + fx * (corner[1] - corner[0]), bottom = corner[2] + fx * (corner[3] - corner[2]);
    return top + fy * (bottom - top);
}

static uint8_t grey_of(double v) { return (uint8_t)(v < 0.0 ? 0.0 : v > 255.0 ? 255.0 : v); }

static uint8_t *texel(uint8_t *texture, int32_t x, int32_t y)
{
    return &texture[(size_t)(y & (TEXTURE_SIZE - 1)) * TEXTURE_SIZE + (size_t)(x & (TEXTURE_SIZE - 1))];
}

/** Add a noise tile to a texture. All textures share one tile, each shifted by another `shift` [texel]. */
static void add_noise_tile(uint8_t *texture, const int8_t *noise_tile, int32_t shift, int32_t strength_q8)
{
    for (int32_t y = 0; y < TEXTURE_SIZE; y++)
        for (int32_t x = 0; x < TEXTURE_SIZE; x++) {
            uint8_t *at = texel(texture, x, y);
            const int8_t g = noise_tile[(size_t)((y + shift) & (TEXTURE_SIZE - 1)) * TEXTURE_SIZE +
                                        (size_t)((x + 3 * shift) & (TEXTURE_SIZE - 1))];
            const int32_t v = *at + g * strength_q8 / 256;
            *at = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
        }
}

/** Noise tile [TEXTURE_SIZE][TEXTURE_SIZE], three octaves, [grey level]. */
static void make_noise_tile(int8_t *noise_tile)
{
    for (int32_t y = 0; y < TEXTURE_SIZE; y++)
        for (int32_t x = 0; x < TEXTURE_SIZE; x++)
            *noise_tile++ = (int8_t)(50.0 * value_noise(x, y, 6) + 36.0 * value_noise(x, y, 3) +
                                     30.0 * value_noise(x, y, 1));
}

/** Fill a rotated rectangle: centre and half sides [texel], angle [turn]. */
static void paint_rectangle(uint8_t *texture, const double centre[2], const double half[2], double turns, uint8_t grey)
{
    const double c = cosine(turns), s = sine(turns);
    const double reach = square_root(half[0] * half[0] + half[1] * half[1]);
    const int32_t r = (int32_t)reach + 1, x0 = (int32_t)centre[0], y0 = (int32_t)centre[1];
    for (int32_t y = y0 - r; y <= y0 + r; y++)
        for (int32_t x = x0 - r; x <= x0 + r; x++) {
            const double dx = x - centre[0], dy = y - centre[1];
            const double u = c * dx + s * dy, v = c * dy - s * dx;
            if (u > -half[0] && u < half[0] && v > -half[1] && v < half[1]) *texel(texture, x, y) = grey;
        }
}

/** Dead leaves model (Lee, Mumford and Huang 2001): overlapping rectangles whose number falls with the cube of their
 *  size have the scale invariance of natural pictures. `square` is the share of axis-aligned ones. Sizes [texel] and
 *  grey levels are least..most. */
static void paint_dead_leaves(uint8_t *texture, int32_t stream, int32_t count, const double size[2], double square,
                              const double grey[2])
{
    const double ratio = size[0] / size[1];
    for (int32_t i = 0; i < count; i++) {
        const double side = size[0] / square_root(1.0 - uniform(stream, 8 * i, 0, 1) * (1.0 - ratio * ratio));
        const double centre[2] = {uniform(stream, 8 * i + 1, 0, TEXTURE_SIZE),
                                  uniform(stream, 8 * i + 2, 0, TEXTURE_SIZE)};
        const double half[2] = {0.5 * side, 0.5 * side * uniform(stream, 8 * i + 3, 0.3, 1.0)};
        const double turns = uniform(stream, 8 * i + 4, 0, 1) < square ? 0.0 : uniform(stream, 8 * i + 5, 0, 1);
        paint_rectangle(texture, centre, half, turns, grey_of(uniform(stream, 8 * i + 6, grey[0], grey[1])));
    }
}

/** Rows of bricks or tiles with joints, each with its own grey level; every second row is shifted by half a brick. */
static void paint_bricks(uint8_t *texture, int32_t stream, const int32_t size[2], int32_t joint, const double grey[2])
{
    for (int32_t y = 0; y < TEXTURE_SIZE; y++)
        for (int32_t x = 0; x < TEXTURE_SIZE; x++) {
            const int32_t row = y / size[1], shifted = (x + (row & 1) * size[0] / 2) & (TEXTURE_SIZE - 1);
            const int32_t column = shifted / size[0];
            const int in_joint = y % size[1] < joint || shifted % size[0] < joint;
            const int32_t number = row * TEXTURE_SIZE + column;
            *texel(texture, x, y) = grey_of(in_joint ? 0.6 * grey[0] : uniform(stream, number, grey[0], grey[1]));
        }
}

/** Blur with weights 1 2 1 in both directions: limits the sharpness of edges to that of a camera picture. */
static void blur(uint8_t *texture, uint8_t *copy)
{
    memcpy(copy, texture, (size_t)TEXTURE_SIZE * TEXTURE_SIZE);
    for (int32_t y = 0; y < TEXTURE_SIZE; y++)
        for (int32_t x = 0; x < TEXTURE_SIZE; x++) {
            int32_t sum = 8;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) sum += (2 - dx * dx) * (2 - dy * dy) * *texel(copy, x + dx, y + dy);
            *texel(texture, x, y) = (uint8_t)(sum >> 4);
        }
}

/** Mip levels 1 and up, each of half the size of the level before: means of 2 x 2 texels. */
static void make_mip_levels(uint8_t *texture, const uint32_t offset[TEXTURE_LEVELS])
{
    for (int level = 1; level < TEXTURE_LEVELS; level++) {
        const uint8_t *from = texture + offset[level - 1];
        uint8_t *to = texture + offset[level];
        const size_t size = (size_t)TEXTURE_SIZE >> level;
        for (size_t y = 0; y < size; y++)
            for (size_t x = 0; x < size; x++) {
                const uint8_t *f = &from[2 * y * 2 * size + 2 * x];
                to[y * size + x] = (uint8_t)((f[0] + f[1] + f[2 * size] + f[2 * size + 1] + 2) >> 2);
            }
    }
}

void synthetic_make_textures(synthetic_t *f, uint8_t *scratch)
{
    static const double stain[2] = {10, 90}, leaf[2] = {14, 320}, sign[2] = {22, 260};
    static const double floor_grey[2] = {105, 150}, brick_grey[2] = {95, 165}, mark_grey[2] = {50, 220};
    static const double leaf_grey[2] = {25, 230}, sign_grey[2] = {15, 245};
    static const int32_t tile[2] = {128, 128}, brick[2] = {64, 32};
    int8_t *noise_tile = (int8_t *)scratch;
    make_noise_tile(noise_tile);

    paint_bricks(f->texture[FLOOR], STREAM_TILES, tile, 3, floor_grey);
    paint_dead_leaves(f->texture[FLOOR], STREAM_TILE_MARKS, 700, stain, 0.3, mark_grey);
    add_noise_tile(f->texture[FLOOR], noise_tile, 0, 110);
    paint_bricks(f->texture[BRICK], STREAM_BRICKS, brick, 4, brick_grey);
    paint_dead_leaves(f->texture[BRICK], STREAM_BRICK_MARKS, 60, stain, 1.0, mark_grey);
    add_noise_tile(f->texture[BRICK], noise_tile, 301, 100);
    paint_dead_leaves(f->texture[CRATE], STREAM_CRATE, 5200, leaf, 0.4, leaf_grey);
    add_noise_tile(f->texture[CRATE], noise_tile, 502, 90);
    memset(f->texture[POSTER], 215, (size_t)TEXTURE_SIZE * TEXTURE_SIZE);
    paint_dead_leaves(f->texture[POSTER], STREAM_POSTER, 900, sign, 0.7, sign_grey);
    add_noise_tile(f->texture[POSTER], noise_tile, 703, 30);

    for (int i = 0; i < TEXTURES; i++) {
        blur(f->texture[i], scratch + (size_t)TEXTURE_SIZE * TEXTURE_SIZE);
        make_mip_levels(f->texture[i], f->level_offset);
    }
}
