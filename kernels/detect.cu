/* SPDX-License-Identifier: MIT */
/* detect on the GPU: one launch for all levels and cameras, response, suppression and best of cell in one kernel; the response
 * never leaves shared memory. A block owns a tile of one level:
 *   1. pixels of the tile and its margin to shared memory
 *   2. a test that every corner passes sifts the pixels; the few that pass are listed, so that
 *   3. the full test and score run with all lanes busy, and
 *   4. suppression runs on corners only
 * Cells and tiles have nothing to do with each other: the best of a cell is one 64-bit maximum in memory. */
#include "kernel.cuh"

#include "../src/detect.h"

#ifndef VF_DETECT_ROWS
#define VF_DETECT_ROWS 28
#endif
#define RANK_X 64 /* ranks of a block: two warps wide; corners have a margin of the radius in it */
#define RANK_Y VF_DETECT_ROWS
#define PIXEL_X 76 /* columns of pixels: those of the ranks, the circle on both sides, and up to 3 for alignment */
#define PIXEL_Y (RANK_Y + 2 * VF_CIRCLE)

/** One level of one camera under search, laid out by the launcher. */
struct search {
    const uint8_t *pixels;
    int32_t pitch, height;
    int32_t x_first, x_last, y_first, y_last;
    int32_t camera, level;
    int32_t first_block, across; /* its blocks, row by row */
    uint32_t across_reciprocal;
};

struct searches {
    search picture[VFRONT_CAMERAS * VFRONT_LEVELS];
    int32_t count;
    uint32_t cell_width, cell_height; /* reciprocals */
};

/** Division of what is below 2^16 by a size from 2 to 2^16, as a product with its reciprocal. Exact. */
static uint32_t reciprocal_of(int size) { return 0xffffffffu / (uint32_t)size + 1; }
static __device__ __forceinline__ int divide(int value, uint32_t reciprocal) { return (int)__umulhi((uint32_t)value, reciprocal); }

/** Whether a pixel may be a corner: of each of the eight pairs of opposite pixels of the circle, an arc of nine holds one. Two
 *  pairs often settle it for a whole warp. */
static __device__ __forceinline__ bool sift(const uint8_t *c, int threshold)
{
    const int above = *c + threshold, below = *c - threshold;
    int least = 255, most = 0;
#define PAIR(dx, dy)                                                          \
    {                                                                         \
        const int a = c[(dy)*PIXEL_X + (dx)], b = c[-(dy)*PIXEL_X - (dx)];        \
        least = min(least, max(a, b));                                        \
        most = max(most, min(a, b));                                          \
    }
    PAIR(0, -3) PAIR(3, 0)
    if (least <= above && most >= below) return false;
    PAIR(1, -3) PAIR(2, -2) PAIR(3, -1) PAIR(3, 1) PAIR(2, 2) PAIR(1, 3)
#undef PAIR
    return least > above || most < below;
}

/** Copies the pixels of a block to shared memory, zeros outside the picture; a warp a row. All loads are under way before the
 *  first is waited for. */
template <int WARPS> static __device__ __forceinline__ void load_pixels(uint8_t (*pixel)[PIXEL_X], const search &q, int x0, int y0)
{
    enum { TURNS = (PIXEL_Y + WARPS - 1) / WARPS };
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP, x = x0 + 4 * lane;
    const bool mine = lane < PIXEL_X / 4, inside = mine && x >= 0 && x < q.pitch;
    uint32_t word[TURNS];
#pragma unroll
    for (int k = 0; k < TURNS; k++) {
        const int y = y0 + warp + k * WARPS;
        word[k] = inside && y >= 0 && y < q.height ? *reinterpret_cast<const uint32_t *>(q.pixels + y * q.pitch + x) : 0;
    }
#pragma unroll
    for (int k = 0; k < TURNS; k++)
        if (mine && warp + k * WARPS < PIXEL_Y) reinterpret_cast<uint32_t *>(pixel[warp + k * WARPS])[lane] = word[k];
}

/** Whether a corner beats every rank within the radius. Of equals the first in raster order stays. Two ranks are compared at a time:
 *  they are below 2^15, so that in `mine - other`, with bit 15 set before, it stays set where mine is not less. */
template <int R> static __device__ __forceinline__ bool beats(const uint16_t *rank, int i)
{
    enum { WORDS = R + 1 };
    const uint32_t mine = rank[i] * 0x10001u, later = mine | 0x80008000u, earlier = (mine - 0x10001u) | 0x80008000u;
    const int x = i % RANK_X, first = (x - R) & ~1; /* one rank more than asked for, on one of the two sides */
    const uint32_t *row = reinterpret_cast<const uint32_t *>(rank + i - x + first) - R * (RANK_X / 2);
    const int centre = (x - first) / 2;
    uint32_t not_less[WORDS];
#pragma unroll
    for (int w = 0; w < WORDS; w++) not_less[w] = 0x80008000u;
#pragma unroll
    for (int dy = -R; dy <= R; dy++, row += RANK_X / 2) {
#pragma unroll
        for (int w = 0; w < WORDS; w++) {
            uint32_t than = dy < 0 ? earlier : later;
            if (dy == 0 && w < centre) than = earlier;
            if (dy == 0 && w == centre && x & 1) than = (later & 0xffff0000u) | (earlier & 0xffffu);
            not_less[w] &= than - row[w];
        }
    }
    not_less[(x - R) & 1 ? 0 : WORDS - 1] |= (x - R) & 1 ? 0x8000u : 0x80000000u; /* the one too many */
    uint32_t all = 0x80008000u;
#pragma unroll
    for (int w = 0; w < WORDS; w++) all &= not_less[w];
    return all == 0x80008000u;
}

template <int R, int THREADS> static __global__ void __launch_bounds__(THREADS) detect_k(const vf_step s, const searches all)
{
    enum { WARPS = THREADS / VF_WARP, SEGMENTS = RANK_Y * RANK_X / VF_WARP / WARPS }; /* a segment: 32 pixels that a warp sifts */
    __shared__ __align__(16) uint8_t pixel[PIXEL_Y][PIXEL_X];
    __shared__ __align__(16) uint16_t rank[RANK_Y * RANK_X];
    __shared__ uint16_t list[RANK_Y * RANK_X];
    __shared__ int listed;
    const int thread = threadIdx.x, warp = thread / VF_WARP, lane = thread % VF_WARP;
    int p = 0;
    while (p + 1 < all.count && (int)blockIdx.x >= all.picture[p + 1].first_block) p++;
    const search &q = all.picture[p];
    const int block = blockIdx.x - q.first_block, row = q.across > 1 ? divide(block, q.across_reciprocal) : block;
    const int x0 = (block - row * q.across) * (RANK_X - 2 * R) - R, y0 = row * (RANK_Y - 2 * R) - R; /* of the ranks */
    const int left = (x0 - VF_CIRCLE) & ~3, shift = x0 - left;

    if (thread == 0) {
        vf_clock_start(s, VF_detect, blockIdx.x);
        listed = 0;
    }
    const int framed = vf_framed(&s, q.camera); /* read here, while the pixels are under way, because it takes as long */
    load_pixels<WARPS>(pixel, q, left, y0 - VF_CIRCLE);
    for (int i = thread; i < RANK_Y * RANK_X / 8; i += THREADS) reinterpret_cast<uint4 *>(rank)[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();

    const int low = s.tuning.detect_threshold_low;
    const int threshold = low ? low : s.tuning.detect_threshold;
    uint32_t mine = 0; /* a bit a segment: this lane's pixel may be a corner */
    int passed = 0;    /* of the warp */
    for (int k = 0; k < SEGMENTS; k++) {
        const int i = (k * WARPS + warp) * VF_WARP + lane, rx = i % RANK_X, ry = i / RANK_X;
        bool may = x0 + rx >= q.x_first && x0 + rx <= q.x_last && y0 + ry >= q.y_first && y0 + ry <= q.y_last;
        may = may && sift(&pixel[ry + VF_CIRCLE][rx + shift], threshold);
        mine |= (uint32_t)may << k;
        passed += __popc(__ballot_sync(VF_ALL, may));
    }
    int at = 0;
    if (lane == 0 && passed) at = atomicAdd(&listed, passed);
    at = __shfl_sync(VF_ALL, at, 0);
    for (int k = 0; k < SEGMENTS && passed; k++) {
        const unsigned who = __ballot_sync(VF_ALL, mine >> k & 1);
        if (mine >> k & 1) list[at + __popc(who & ((1u << lane) - 1))] = (uint16_t)((k * WARPS + warp) * VF_WARP + lane);
        at += __popc(who);
    }
    __syncthreads();

    const int candidates = listed;
    for (int k = thread; k < candidates; k += THREADS) {
        const int i = list[k], rx = i % RANK_X, ry = i / RANK_X;
        const uint8_t *c = &pixel[ry + VF_CIRCLE][rx + shift];
        int32_t circle[16];
#define LOAD(n, dx, dy) circle[n] = c[(dy)*PIXEL_X + (dx)];
        VF_CIRCLE_PIXELS(LOAD)
#undef LOAD
        const int arc = s.tuning.detect_arc, kind = s.tuning.detect_score;
        const uint32_t strong = vf_detect_test(circle, *c, s.tuning.detect_threshold, arc, kind);
        const uint32_t found = vf_detect_rank(strong, low && !strong ? vf_detect_test(circle, *c, low, arc, kind) : 0);
        if (found && vf_usable(&s, q.camera, framed, vf_detect_pixel0(x0 + rx, q.level), vf_detect_pixel0(y0 + ry, q.level)))
            rank[i] = (uint16_t)found;
    }
    __syncthreads();

    for (int k = thread; k < candidates; k += THREADS) {
        const int i = list[k], rx = i % RANK_X, ry = i / RANK_X;
        const bool inner = rx >= R && rx < RANK_X - R && ry >= R && ry < RANK_Y - R;
        if (!inner || !rank[i] || !beats<R>(rank, i)) continue;
        const int cell = divide(vf_detect_pixel0(y0 + ry, q.level), all.cell_height) * s.geometry.cells_x[q.camera]
                         + divide(vf_detect_pixel0(x0 + rx, q.level), all.cell_width);
        atomicMax((unsigned long long *)&s.memory->detect.best[q.camera][cell],
                  (unsigned long long)vf_detect_key(rank[i], q.level, x0 + rx, y0 + ry));
    }
    if (thread == 0) vf_clock_end(s, VF_detect);
}

/** Lays out the search of a level and returns the block after its last. */
static int lay_out(const vf_step *s, search *q, int camera, int level, int block)
{
    const vf_level &l = s->geometry.level[camera][level], &l0 = s->geometry.level[camera][0];
    const int border = s->tuning.detect_border_px, radius = s->tuning.detect_radius;
    q->pixels = vf_level_pixels(s, s->parity, camera, level);
    q->pitch = l.pitch;
    q->height = l.height;
    q->x_first = q->y_first = vf_detect_first(level, border);
    q->x_last = vf_detect_last(level, border, l.width, l0.width);
    q->y_last = vf_detect_last(level, border, l.height, l0.height);
    q->camera = camera;
    q->level = level;
    q->first_block = block;
    q->across = (int32_t)vf_blocks(l.width, RANK_X - 2 * radius);
    q->across_reciprocal = reciprocal_of(q->across);
    return block + q->across * (int)vf_blocks(l.height, RANK_Y - 2 * radius);
}

template <int THREADS> static void launch(const vf_step *s, const searches &all, int blocks, cudaStream_t stream)
{
    switch (s->tuning.detect_radius) {
    case 1: detect_k<1, THREADS><<<blocks, THREADS, 0, stream>>>(*s, all); break;
    case 2: detect_k<2, THREADS><<<blocks, THREADS, 0, stream>>>(*s, all); break;
    case 3: detect_k<3, THREADS><<<blocks, THREADS, 0, stream>>>(*s, all); break;
    default: detect_k<4, THREADS><<<blocks, THREADS, 0, stream>>>(*s, all); break;
    }
}

/** Large blocks end sooner where there are more multiprocessors than blocks to fill them; small blocks wait less for each other where
 *  there are few, as on a Jetson. (H200, 752x480, radius 1, 24 rows of ranks: 6.5 us with 256 threads, 8.3 with 128; on 8 multiprocessors 56 and
 *  45.) The result is the same. */
static bool many_multiprocessors()
{
#ifdef VF_DETECT_THREADS
    return VF_DETECT_THREADS > 128;
#else
    int device, count;
    if (cudaGetDevice(&device) != cudaSuccess || cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
        return false;
    return count > 32;
#endif
}

extern "C" cudaError_t vf_detect_cuda(const vf_step *s, cudaStream_t stream)
{
    searches all = {};
    int blocks = 0;
    for (int camera = 0; camera < s->geometry.cameras; camera++)
        for (int level = 0; level < vf_min(s->geometry.levels, s->tuning.detect_levels); level++)
            blocks = lay_out(s, &all.picture[all.count++], camera, level, blocks);
    all.cell_width = reciprocal_of(s->tuning.cell_width_px);
    all.cell_height = reciprocal_of(s->tuning.cell_height_px);
    if (many_multiprocessors())
        launch<256>(s, all, blocks, stream);
    else
        launch<128>(s, all, blocks, stream);
    return cudaGetLastError();
}
