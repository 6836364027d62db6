/* SPDX-License-Identifier: MIT */
/* detect on the GPU: one launch for all levels and cameras, response, suppression and best of cell in one kernel; the response
 * never leaves shared memory. A block owns a tile of one level:
 *   1. pixels of the tile and its margin to shared memory
 *   2. a test that every corner passes sifts the pixels; the few that pass are listed, so that
 *   3. the full test and score run with all lanes busy, and
 *   4. suppression runs on corners only: its cost hardly depends on the radius
 * Cells and tiles have nothing to do with each other: the best of a cell is one 64-bit maximum in memory. */
#include "kernel.cuh"

#include "../src/detect.h"

#define TILE_X 64
#ifndef VF_DETECT_ROWS
#define VF_DETECT_ROWS 16
#endif
#define TILE_Y VF_DETECT_ROWS
#ifndef VF_DETECT_THREADS
#define VF_DETECT_THREADS 256
#endif
#define THREADS VF_DETECT_THREADS
#define EDGE 8 /* columns to the left of the tile that are loaded: at least radius + circle, a multiple of 4 */
#define WIDTH (TILE_X + 2 * EDGE)

/** Where the tiles of each picture start in the grid of blocks. */
struct tiling {
    int32_t first[VFRONT_CAMERAS * VFRONT_LEVELS + 1];
    int32_t levels; /* searched, of each camera */
};

/** A level under search. */
struct search {
    const uint8_t *pixels;
    int32_t pitch, height;
    int32_t camera, level;
    int32_t x_first, x_last, y_first, y_last;
    int32_t x0, y0; /* of the tile */
};

static __device__ __forceinline__ search find_search(const vf_step &s, const tiling &t)
{
    int i = 0;
    while ((int)blockIdx.x >= t.first[i + 1]) i++;
    search q;
    q.camera = i / t.levels;
    q.level = i % t.levels;
    const vf_level &l = s.geometry.level[q.camera][q.level], &l0 = s.geometry.level[q.camera][0];
    const int border = s.tuning.detect_border_px, tile = blockIdx.x - t.first[i], across = (l.width + TILE_X - 1) / TILE_X;
    q.pixels = vf_level_pixels(&s, s.parity, q.camera, q.level);
    q.pitch = l.pitch;
    q.height = l.height;
    q.x_first = q.y_first = vf_detect_first(q.level, border);
    q.x_last = vf_detect_last(q.level, border, l.width, l0.width);
    q.y_last = vf_detect_last(q.level, border, l.height, l0.height);
    q.x0 = tile % across * TILE_X;
    q.y0 = tile / across * TILE_Y;
    return q;
}

/** Whether a pixel may be a corner: of each of the eight pairs of opposite pixels of the circle, an arc of nine holds one. Two
 *  pairs often settle it for a whole warp. */
static __device__ __forceinline__ bool sift(const uint8_t *c, int threshold)
{
    const int above = *c + threshold, below = *c - threshold;
    int least = 255, most = 0;
#define PAIR(dx, dy)                                                          \
    {                                                                         \
        const int a = c[(dy)*WIDTH + (dx)], b = c[-(dy)*WIDTH - (dx)];        \
        least = min(least, max(a, b));                                        \
        most = max(most, min(a, b));                                          \
    }
    PAIR(0, -3) PAIR(3, 0)
    if (least <= above && most >= below) return false;
    PAIR(1, -3) PAIR(2, -2) PAIR(3, -1) PAIR(3, 1) PAIR(2, 2) PAIR(1, 3)
#undef PAIR
    return least > above || most < below;
}

/** Appends `item` to a list in shared memory for the lanes that have one. */
static __device__ __forceinline__ void append(uint16_t *list, int *count, bool has, int item)
{
    const unsigned who = __ballot_sync(VF_ALL, has);
    if (!who) return;
    const int lane = threadIdx.x % VF_WARP;
    int at = 0;
    if (lane == 0) at = atomicAdd(count, __popc(who));
    at = __shfl_sync(VF_ALL, at, 0) + __popc(who & ((1u << lane) - 1));
    if (has) list[at] = (uint16_t)item;
}

template <int R> static __global__ void __launch_bounds__(THREADS) detect_k(const vf_step s, const tiling t)
{
    enum { RANK_X = TILE_X + 2 * R, RANK_Y = TILE_Y + 2 * R, RANKS = RANK_X * RANK_Y, ROWS = RANK_Y + 2 * VF_CIRCLE };
    __shared__ __align__(16) uint8_t pixel[ROWS][WIDTH];
    __shared__ uint16_t rank[RANK_Y][RANK_X];
    __shared__ uint16_t list[RANKS], corner[RANKS];
    __shared__ int listed, corners;
    const int thread = threadIdx.x;
    const search q = find_search(s, t);

    if (thread == 0) {
        vf_clock_start(s, VF_detect, blockIdx.x);
        listed = corners = 0;
    }
    for (int i = thread; i < ROWS * (WIDTH / 4); i += THREADS) {
        const int row = i / (WIDTH / 4), word = i % (WIDTH / 4);
        const int x = q.x0 - EDGE + 4 * word, y = q.y0 - R - VF_CIRCLE + row;
        const bool inside = x >= 0 && x < q.pitch && y >= 0 && y < q.height;
        reinterpret_cast<uint32_t *>(pixel[row])[word] = inside ? *reinterpret_cast<const uint32_t *>(q.pixels + (size_t)y * q.pitch + x) : 0;
    }
    __syncthreads();

    const int low = s.tuning.detect_threshold_low;
    const int threshold = low ? low : s.tuning.detect_threshold;
    for (int i = thread; i < (RANKS + THREADS - 1) / THREADS * THREADS; i += THREADS) {
        const int rx = i % RANK_X, ry = i / RANK_X, x = q.x0 - R + rx, y = q.y0 - R + ry;
        const bool may = i < RANKS && x >= q.x_first && x <= q.x_last && y >= q.y_first && y <= q.y_last
                         && sift(&pixel[ry + VF_CIRCLE][rx + EDGE - R], threshold);
        if (i < RANKS) rank[0][i] = 0;
        append(list, &listed, may, i);
    }
    __syncthreads();

    const int candidates = listed;
    for (int k = thread; k < (candidates + VF_WARP - 1) / VF_WARP * VF_WARP; k += THREADS) {
        const bool there = k < candidates;
        const int i = there ? list[k] : 0, rx = i % RANK_X, ry = i / RANK_X;
        const uint8_t *c = &pixel[ry + VF_CIRCLE][rx + EDGE - R];
        int32_t circle[16];
#define LOAD(n, dx, dy) circle[n] = c[(dy)*WIDTH + (dx)];
        VF_CIRCLE_PIXELS(LOAD)
#undef LOAD
        uint32_t found = there ? vf_detect_rank(circle, *c, &s.tuning) : 0;
        if (found && !vf_usable(&s, q.camera, vf_detect_pixel0(q.x0 - R + rx, q.level), vf_detect_pixel0(q.y0 - R + ry, q.level)))
            found = 0;
        if (found) rank[ry][rx] = (uint16_t)found;
        append(corner, &corners, found && rx >= R && rx < R + TILE_X && ry >= R && ry < R + TILE_Y, i);
    }
    __syncthreads();

    for (int k = thread; k < corners; k += THREADS) {
        const int i = corner[k], rx = i % RANK_X, ry = i / RANK_X;
        const int mine = rank[ry][rx];
        bool stays = true;
        for (int dy = -R; dy <= R && stays; dy++)
            for (int dx = -R; dx <= R; dx++) {
                const int other = rank[ry + dy][rx + dx];
                const bool earlier = dy < 0 || (dy == 0 && dx < 0);
                stays = stays && (other < mine || (other == mine && !earlier));
            }
        if (!stays) continue;
        const int x = q.x0 - R + rx, y = q.y0 - R + ry;
        const int cell = vf_detect_pixel0(y, q.level) / s.tuning.cell_height_px * s.geometry.cells_x[q.camera]
                         + vf_detect_pixel0(x, q.level) / s.tuning.cell_width_px;
        atomicMax((unsigned long long *)&s.memory->detect.best[q.camera][cell], (unsigned long long)vf_detect_key(mine, q.level, x, y));
    }
    if (thread == 0) vf_clock_end(s, VF_detect);
}

extern "C" cudaError_t vf_detect_cuda(const vf_step *s, cudaStream_t stream)
{
    tiling t;
    t.levels = vf_min(s->geometry.levels, s->tuning.detect_levels);
    t.first[0] = 0;
    const int pictures = s->geometry.cameras * t.levels;
    for (int i = 0; i < pictures; i++) {
        const vf_level &l = s->geometry.level[i / t.levels][i % t.levels];
        t.first[i + 1] = t.first[i] + (int32_t)(vf_blocks(l.width, TILE_X) * vf_blocks(l.height, TILE_Y));
    }
    const unsigned blocks = (unsigned)t.first[pictures];
    switch (s->tuning.detect_radius) {
    case 1: detect_k<1><<<blocks, THREADS, 0, stream>>>(*s, t); break;
    case 2: detect_k<2><<<blocks, THREADS, 0, stream>>>(*s, t); break;
    case 3: detect_k<3><<<blocks, THREADS, 0, stream>>>(*s, t); break;
    default: detect_k<4><<<blocks, THREADS, 0, stream>>>(*s, t); break;
    }
    return cudaGetLastError();
}
