/* SPDX-License-Identifier: MIT */
/* pyramid on the GPU: one launch for all levels and cameras. A block computes the statistics of a tile of 64x64 px of
 * level 0, and its part of every level. It needs no pixel of other tiles. A thread computes 2x2 px of level 1 and one
 * pixel of level 2; the few pixels of coarser levels go through shared memory. */
#include "kernels/kernel.cuh"

#include "image/pyramid.h"

#define SIDE 16 /* threads along a side of a tile; each has 4x4 px */

/** Four pixels of level 0 from (x, y) on, one byte each; 0 beyond the image. */
static __device__ __forceinline__ uint32_t load_four(const uint8_t *pixels, const vf_level &l, int x, int y)
{
    if (y >= l.height || x >= l.width) return 0;
    const uint32_t four = *reinterpret_cast<const uint32_t *>(pixels + (size_t)y * l.pitch + x);
    return x + 4 <= l.width ? four : four & (0xffffffffu >> (8 * (x + 4 - l.width)));
}

/** Adds the 4x4 pixels of a thread to statistics of its tile. width, height: from its first pixel to the border of the
 *  image. */
static __device__ __forceinline__ void add_pixels(vf_tile_stats &t, const int v[4][4], int width, int height)
{
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++)
            if (x < width && y < height) {
                t.sum += v[y][x];
                t.dark += vf_tile_dark(v[y][x]);
                t.bright += vf_tile_bright(v[y][x]);
            }
    for (int y = 0; y < 4; y += 2)
        for (int x = 0; x < 4; x += 2)
            if (x + 1 < width && y + 1 < height)
                t.edge += vf_tile_edge(v[y][x], v[y][x + 1], v[y + 1][x], v[y + 1][x + 1]);
}

/** Adds the statistics of a warp to those of the tile, in shared memory. Called by whole warps. */
static __device__ __forceinline__ void add_stats(vf_tile_stats *tile, const vf_tile_stats &mine, int lane)
{
    const int sum = vf_warp_sum(mine.sum), dark = vf_warp_sum(mine.dark), bright = vf_warp_sum(mine.bright),
              edge = vf_warp_sum(mine.edge);
    if (lane) return;
    atomicAdd(&tile->sum, sum);
    atomicAdd(&tile->dark, dark);
    atomicAdd(&tile->bright, bright);
    atomicAdd(&tile->edge, edge);
}

/** Stores pixel (x, y) of a level if it lies inside the level. */
static __device__ __forceinline__ void store_pixel(const vf_pyramid_view &s, int camera, int level, int x, int y,
                                                   uint8_t grey)
{
    const vf_level &l = s.geometry.level[camera][level];
    if (x < l.width && y < l.height) (s.pyramid->pixels[s.parity][camera] + l.offset)[(size_t)y * l.pitch + x] = grey;
}

/** Statistics and pyramid of one tile per block. Grid: tiles along x, tiles along y, cameras. */
static __global__ void __launch_bounds__(SIDE *SIDE) pyramid_k(const VF_CONSTANT vf_pyramid_view s)
{
    __shared__ vf_tile_stats tile;
    __shared__ uint8_t coarse[2][SIDE][SIDE];
    const int camera = blockIdx.z, tx = threadIdx.x, ty = threadIdx.y, thread = ty * SIDE + tx;
    const vf_level &l = s.geometry.level[camera][0];
    const int x0 = blockIdx.x * VF_TILE, y0 = blockIdx.y * VF_TILE;
    if (thread == 0) {
        vf_clock_start(s.clock, blockIdx.x + blockIdx.y + camera);
        tile = vf_tile_stats{0, 0, 0, 0};
    }
    if (x0 >= l.width || y0 >= l.height) return; /* a whole block, because cameras may differ in image size */
    __syncthreads();

    const uint8_t *pixels = s.pictures.level0[s.parity][camera];
    int v[4][4];
    for (int r = 0; r < 4; r++) {
        const uint32_t four = load_four(pixels, l, x0 + 4 * tx, y0 + 4 * ty + r);
        for (int c = 0; c < 4; c++) v[r][c] = four >> (8 * c) & 255;
    }
    vf_tile_stats mine = {0, 0, 0, 0};
    add_pixels(mine, v, l.width - x0 - 4 * tx, l.height - y0 - 4 * ty);
    add_stats(&tile, mine, thread % VF_WARP);

    uint8_t half[2][2];
    for (int r = 0; r < 2; r++)
        for (int c = 0; c < 2; c++)
            half[r][c] = vf_pyramid_mean(v[2 * r][2 * c], v[2 * r][2 * c + 1], v[2 * r + 1][2 * c],
                                         v[2 * r + 1][2 * c + 1]);
    if (s.geometry.levels > 1)
        for (int r = 0; r < 2; r++)
            for (int c = 0; c < 2; c++) store_pixel(s, camera, 1, x0 / 2 + 2 * tx + c, y0 / 2 + 2 * ty + r, half[r][c]);

    uint8_t grey = vf_pyramid_mean(half[0][0], half[0][1], half[1][0], half[1][1]);
    int side = SIDE;
    for (int level = 2; level < s.geometry.levels; level++, side /= 2) {
        uint8_t(*from)[SIDE] = coarse[level % 2]; /* pixels of this level in the tile */
        if (tx < side && ty < side) {
            store_pixel(s, camera, level, (x0 >> level) + tx, (y0 >> level) + ty, grey);
            from[ty][tx] = grey;
        }
        __syncthreads();
        if (tx < side / 2 && ty < side / 2)
            grey = vf_pyramid_mean(from[2 * ty][2 * tx], from[2 * ty][2 * tx + 1], from[2 * ty + 1][2 * tx],
                                   from[2 * ty + 1][2 * tx + 1]);
    }
    __syncthreads();
    if (thread == 0) {
        const int tiles = (l.width + VF_TILE - 1) / VF_TILE;
        s.pyramid->tile[camera][blockIdx.y * tiles + blockIdx.x] = tile;
        vf_clock_end(s.clock);
    }
}

extern "C" cudaError_t vf_pyramid_cuda(const vf_pyramid_view *s, cudaStream_t stream)
{
    int width = 0, height = 0;
    for (int camera = 0; camera < s->geometry.cameras; camera++) {
        width = vf_max(width, s->geometry.level[camera][0].width);
        height = vf_max(height, s->geometry.level[camera][0].height);
    }
    const dim3 grid(vf_blocks(width, VF_TILE), vf_blocks(height, VF_TILE), s->geometry.cameras);
    pyramid_k<<<grid, dim3(SIDE, SIDE), 0, stream>>>(*s);
    return cudaGetLastError();
}
