/* SPDX-License-Identifier: MIT */
/* detect on the GPU: one launch for all levels and cameras, one kernel from pixels to the best of each cell; NMS scores
 * stay in shared memory. A block owns a tile of one level:
 *   1. pixels of the tile and its margin to shared memory
 *   2. quick test, four pixels a thread, which every corner passes; the few pixels that pass are listed, so that
 *   3. segment test and score run with all lanes busy, and
 *   4. non-maximum suppression runs on corners only; local maxima are listed again, so that
 *   5. the Harris response takes one or two passes of the block, however many corners there are
 * Cells need not align with tiles: the best of a cell is a 64-bit atomic maximum in memory, and the lower of the two
 * keys of each such operation is raised into the second best. */
#include "kernels/kernel.cuh"

#include "features/detect.h"
#include "image/ingest.h"
#include "image/scale.h"

#ifndef VF_DETECT_OCCUPANCY
#define VF_DETECT_OCCUPANCY 1024 /* least threads resident on a multiprocessor, which bounds registers */
#endif
/** Columns of NMS scores of a tile, two warps wide; a margin of the NMS radius on each side is for neighbours only. */
#define TILE_X 64
/** Columns of pixels of a tile: those of the scores, the circle on both sides, and on the left up to 4 for
 *  alignment. */
#define PIXEL_X 76
/** Words of a row of pixels that can hold a scored pixel: all but the first and the last. */
#define WORDS_X 17

/** Search of one level of one camera, set up by the launcher. */
struct search {
    const uint8_t *pixels;
    int32_t pitch, height;
    vf_detect_limits limits;
    uint64_t *best, *second, *corner; /* keys of the level's culling cells, of the cells */
    int32_t camera, level;
    uint32_t step_q16;
    int32_t first_block, across; /* its tiles, row by row: block of the first, number in a row */
    uint32_t across_reciprocal;
};

/** All searches of a launch. */
struct searches {
    search picture[VFRONT_CAMERAS * VFRONT_SCALES];
    int32_t count;
    uint32_t cell_width, cell_height, cull_width, cull_height; /* their reciprocals, for divide() */
};

/** Division of a number below 2^16 by a size from 2 to 2^16, as a product with its reciprocal. Exact. */
static uint32_t reciprocal_of(int size) { return 0xffffffffu / (uint32_t)size + 1; }
static __device__ __forceinline__ int divide(int value, uint32_t reciprocal)
{
    return (int)__umulhi((uint32_t)value, reciprocal);
}

/** State of the quick test of the four pixels of a word. Of each of the eight pairs of opposite circle pixels, an arc
 *  of nine holds one. Grey levels are halved to 7 bits a byte, so that one addition compares four pixels: bit 7 of each
 *  byte is the result. Grey levels that differ by the threshold differ by at least half of it when halved, so no corner
 *  is lost; false positives fail the full test. */
struct quick_state {
    uint32_t above;        /* 128 less the least half that counts as brighter; at least 0 */
    uint32_t below;        /* 128 plus the most that counts as darker; at least 127 */
    uint32_t bright, dark; /* bit 7: every pair so far has a brighter, a darker pixel */
};
static __device__ __forceinline__ quick_state quick_state_of(uint32_t centre, int threshold)
{
    const uint32_t bit7 = 0x80808080u, least = (uint32_t)((threshold + 1) / 2) * 0x01010101u;
    const uint32_t over = centre + least, under = centre + (bit7 - least);
    const uint32_t none_above = (over >> 7 & 0x01010101u) * 255, none_below = (~under >> 7 & 0x01010101u) * 255;
    const quick_state v = {(bit7 - (over & ~none_above)) & ~none_above, (under & ~none_below) | (~bit7 & none_below),
                           bit7, bit7};
    return v;
}

/** Quick test of the four pixels of a word: a bit for each that may be a corner. Called by whole warps, which return
 *  early if two pairs of opposite pixels rule out all. */
static __device__ __forceinline__ uint32_t quick_test(const uint8_t *at, int threshold)
{
    const auto word = [at](int dy, int k) { return reinterpret_cast<const uint32_t *>(at + dy * PIXEL_X)[k]; };
    const auto shifted = [word](int dx, int dy) {
        return dx < 0   ? __funnelshift_r(word(dy, -1), word(dy, 0), 32 + 8 * dx)
               : dx > 0 ? __funnelshift_r(word(dy, 0), word(dy, 1), 8 * dx)
                        : word(dy, 0);
    };
    quick_state v = quick_state_of(word(0, 0), threshold);
#define PAIR(dx, dy)                                                                                                   \
    {                                                                                                                  \
        const uint32_t a = shifted(dx, dy), b = shifted(-(dx), -(dy));                                                 \
        v.bright &= (v.above + a) | (v.above + b);                                                                     \
        v.dark &= (v.below - a) | (v.below - b);                                                                       \
    }
    PAIR(0, -3);
    PAIR(3, 0);
    if (!__any_sync(VF_ALL, ((v.bright | v.dark) & 0x80808080u) != 0)) return 0;
    PAIR(1, -3);
    PAIR(2, -2);
    PAIR(3, -1);
    PAIR(3, 1);
    PAIR(2, 2);
    PAIR(1, 3);
#undef PAIR
    return ((v.bright | v.dark) >> 7 & 0x01010101u) * 0x01020408u >> 24;
}

/** Copy the pixels of a tile to shared memory, zeros outside the picture, and their halves; a warp a row. All loads are
 *  issued before the first result is used. */
template <int WARPS, int PIXEL_Y>
static __device__ __forceinline__ void load_pixels(uint8_t (*pixel)[PIXEL_X], uint8_t (*half)[PIXEL_X], const search &q,
                                                   int x0, int y0)
{
    enum { STEPS = (PIXEL_Y + WARPS - 1) / WARPS };
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP, x = x0 + 4 * lane;
    const bool own = lane < PIXEL_X / 4, inside = own && x >= 0 && x < q.pitch;
    uint32_t word[STEPS];
#pragma unroll
    for (int k = 0; k < STEPS; k++) {
        const int y = y0 + warp + k * WARPS;
        word[k] = inside && y >= 0 && y < q.height ? *reinterpret_cast<const uint32_t *>(q.pixels + y * q.pitch + x)
                                                   : 0;
    }
#pragma unroll
    for (int k = 0; k < STEPS; k++)
        if (own && warp + k * WARPS < PIXEL_Y) {
            reinterpret_cast<uint32_t *>(pixel[warp + k * WARPS])[lane] = word[k];
            reinterpret_cast<uint32_t *>(half[warp + k * WARPS])[lane] = word[k] >> 1 & 0x7f7f7f7fu;
        }
}

/** True if the corner at i is a local maximum: no NMS score within radius R is higher, and none that is earlier in
 *  raster order is equal. Two scores are compared at a time: they are below 2^15, so that bit 15, set in `own`
 *  beforehand, is still set in `own - other` where own is not less. */
template <int R> static __device__ __forceinline__ bool is_local_maximum(const uint16_t *nms, int i)
{
    enum { WORDS = R + 1 };
    const uint32_t own = nms[i] * 0x10001u, later = own | 0x80008000u, earlier = (own - 0x10001u) | 0x80008000u;
    const int x = i % TILE_X, first = (x - R) & ~1; /* words: one score too many, on one of the two sides */
    const uint32_t *row = reinterpret_cast<const uint32_t *>(nms + i - x + first) - R * (TILE_X / 2);
    const int centre = (x - first) / 2;
    uint32_t at_least[WORDS];
#pragma unroll
    for (int w = 0; w < WORDS; w++) at_least[w] = 0x80008000u;
#pragma unroll
    for (int dy = -R; dy <= R; dy++, row += TILE_X / 2) {
#pragma unroll
        for (int w = 0; w < WORDS; w++) {
            uint32_t than = dy < 0 ? earlier : later;
            if (dy == 0 && w < centre) than = earlier;
            if (dy == 0 && w == centre && x & 1) than = (later & 0xffff0000u) | (earlier & 0xffffu);
            at_least[w] &= than - row[w];
        }
    }
    at_least[(x - R) & 1 ? 0 : WORDS - 1] |= (x - R) & 1 ? 0x8000u : 0x80000000u; /* ignore the one too many */
    uint32_t all = 0x80008000u;
#pragma unroll
    for (int w = 0; w < WORDS; w++) all &= at_least[w];
    return all == 0x80008000u;
}

/** Load nine pixels of a row, the first at any alignment. */
static __device__ __forceinline__ void load_nine(int32_t *to, const uint8_t *from)
{
    const unsigned off = (unsigned)(reinterpret_cast<uintptr_t>(from) & 3);
    const uint32_t *word = reinterpret_cast<const uint32_t *>(from - off);
    const uint32_t a = word[0], b = word[1], c = word[2];
    const uint32_t first = __funnelshift_r(a, b, 8 * off), second = __funnelshift_r(b, c, 8 * off),
                   last = c >> (8 * off);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        to[i] = first >> (8 * i) & 255;
        to[4 + i] = second >> (8 * i) & 255;
    }
    to[8] = last & 255;
}

/** Sums for the Harris response of a pixel of the tile, over 7x7 px and over the inner 5x5. The 1D kernels -1 0 1 and 1
 *  2 1 are applied once to each row, and their results kept for three rows, in registers (paper 001, 5.2). During the
 *  loop `seven` is the ring around `five`. */
struct harris_sums {
    vf_harris seven, five;
};
static __device__ __forceinline__ harris_sums harris_around(const uint8_t *centre)
{
    int32_t across[3][7], along[3][7];
    harris_sums h = {{0, 0, 0}, {0, 0, 0}};
#pragma unroll
    for (int r = 0; r < 9; r++) {
        int32_t row[9];
        load_nine(row, centre + (r - VF_HARRIS_RADIUS) * PIXEL_X - VF_HARRIS_RADIUS);
#pragma unroll
        for (int k = 0; k < 7; k++) {
            across[r % 3][k] = row[k + 2] - row[k];
            along[r % 3][k] = vf_sobel_smooth(row[k], row[k + 1], row[k + 2]);
            if (r < 2) continue;
            const bool inner = k >= 1 && k <= 5 && r >= 3 && r <= 7;
            vf_harris_add(inner ? &h.five : &h.seven,
                          vf_sobel_smooth(across[(r + 1) % 3][k], across[(r + 2) % 3][k], across[r % 3][k]),
                          along[r % 3][k] - along[(r + 1) % 3][k]);
        }
    }
    h.seven.xx += h.five.xx;
    h.seven.yy += h.five.yy;
    h.seven.xy += h.five.xy;
    return h;
}

/** Raise the best key of a cell. Returns it as it was. */
static __device__ __forceinline__ uint64_t raise_key(uint64_t *best, uint64_t key)
{
    return atomicMax((unsigned long long *)best, (unsigned long long)key);
}

/** Clears the keys of the next step: every `step`-th one from `first` on. */
static __device__ __forceinline__ void clear_next(const vf_detect_view &s, int first, int step)
{
    for (int camera = 0; camera < s.geometry.cameras; camera++) {
        for (int i = first; i < s.geometry.places[camera]; i += step)
            s.detect->best[s.parity ^ 1][camera][i] = s.detect->second[s.parity ^ 1][camera][i] = 0;
        for (int i = first; i < s.geometry.cells[camera]; i += step) s.detect->corner[s.parity ^ 1][camera][i] = 0;
    }
}

/** A block: one tile of one level of one camera. R: NMS radius; TILE_Y: rows of NMS scores of a tile. */
template <int R, int THREADS, int TILE_Y>
static __global__ void __launch_bounds__(THREADS, VF_DETECT_OCCUPANCY / THREADS)
    detect_k(const VF_CONSTANT vf_detect_view s, const searches all)
{
    enum { WARPS = THREADS / VF_WARP, PIXEL_Y = TILE_Y + 2 * VF_CIRCLE_RADIUS };
    __shared__ __align__(16) uint8_t pixel[PIXEL_Y][PIXEL_X], half[PIXEL_Y][PIXEL_X];
    __shared__ __align__(16) uint16_t nms[TILE_Y * TILE_X];
    __shared__ uint16_t list[TILE_Y * TILE_X];
    __shared__ uint16_t maxima[TILE_Y * TILE_X / 4]; /* of 2x2 pixels at most one is a local maximum */
    __shared__ int listed, maxima_count;
    const int thread = threadIdx.x, lane = thread % VF_WARP;
    int p = 0;
    while (p + 1 < all.count && (int)blockIdx.x >= all.picture[p + 1].first_block) p++;
    const search &q = all.picture[p];
    const int block = blockIdx.x - q.first_block, row = q.across > 1 ? divide(block, q.across_reciprocal) : block;
    const int x0 = (block - row * q.across) * (TILE_X - 2 * R) - R, y0 = row * (TILE_Y - 2 * R) - R; /* of the scores */
    const int left = (x0 - VF_CIRCLE_RADIUS - 1) & ~3, shift = x0 - left;                            /* 4..7 */

    if (thread == 0) {
        vf_clock_start(s.clock, blockIdx.x);
        listed = maxima_count = 0;
    }
    /* read here, in parallel with the pixels, because it takes as long */
    const int framed = vf_framed(&s.ingest->params, q.camera), pitch0 = s.geometry.scale[q.camera][0].pitch;
    load_pixels<WARPS, PIXEL_Y>(pixel, half, q, left, y0 - VF_CIRCLE_RADIUS);
    for (int i = thread; i < TILE_Y * TILE_X / 8; i += THREADS)
        reinterpret_cast<uint4 *>(nms)[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();

    const int low = s.tuning.detect_threshold_low;
    const int threshold = low ? low : s.tuning.detect_threshold;
    /* limits, as columns of pixels and rows of scores of the tile */
    const int first_x = vf_max(0, q.limits.x_first - x0) + shift,
              last_x = vf_min(TILE_X - 1, q.limits.x_last - x0) + shift;
    const int first_y = vf_max(0, q.limits.y_first - y0), last_y = vf_min(TILE_Y - 1, q.limits.y_last - y0);
    for (int i = thread; i < (TILE_Y * WORDS_X + VF_WARP - 1) / VF_WARP * VF_WARP; i += THREADS) {
        const int ry = i / WORDS_X, column = 4 * (1 + i - ry * WORDS_X);
        uint32_t own = quick_test(&half[ry + VF_CIRCLE_RADIUS][column], threshold); /* a bit for each candidate */
        own &= 15u << vf_clamp(first_x - column, 0, 4) & 15u >> vf_clamp(column + 3 - last_x, 0, 4);
        if (ry < first_y || ry > last_y) own = 0;
        uint32_t voted[4];
        int passed = 0;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            voted[k] = __ballot_sync(VF_ALL, own >> k & 1);
            passed += __popc(voted[k]);
        }
        if (!passed) continue;
        int at = 0;
        if (lane == 0) at = atomicAdd(&listed, passed);
        at = __shfl_sync(VF_ALL, at, 0);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (own >> k & 1)
                list[at + __popc(voted[k] & ((1u << lane) - 1))] = (uint16_t)(ry * TILE_X + column + k - shift);
            at += __popc(voted[k]);
        }
    }
    __syncthreads();

    const int candidates = listed;
    for (int k = thread; k < candidates; k += THREADS) {
        const int i = list[k], rx = i % TILE_X, ry = i / TILE_X;
        const uint8_t *c = &pixel[ry + VF_CIRCLE_RADIUS][rx + shift];
        int32_t circle[16];
#define LOAD(n, dx, dy) circle[n] = c[(dy)*PIXEL_X + (dx)];
        VF_CIRCLE_PIXELS(LOAD)
#undef LOAD
        const int arc = s.tuning.detect_arc, most = s.tuning.detect_arc_most, kind = s.tuning.detect_score;
        vf_arcs arcs = vf_detect_arcs(circle, *c, s.tuning.detect_threshold, arc, most);
        const bool strong = arcs.bright | arcs.dark;
        if (!strong && low) arcs = vf_detect_arcs(circle, *c, low, arc, most);
        const uint32_t score = vf_detect_arcs_score(circle, *c, arcs, arc, kind),
                       found = vf_detect_nms_score(strong ? score : 0, strong ? 0 : score);
        if (found && vf_usable(&s.masks, q.camera, framed,
                               vf_pixel0(y0 + ry, q.step_q16) * pitch0 + vf_pixel0(x0 + rx, q.step_q16)))
            nms[i] = (uint16_t)found;
    }
    __syncthreads();

    for (int k = thread; k < candidates; k += THREADS) {
        const int i = list[k], rx = i % TILE_X, ry = i / TILE_X;
        const bool inner = rx >= R && rx < TILE_X - R && ry >= R && ry < TILE_Y - R;
        if (inner && nms[i] && is_local_maximum<R>(nms, i)) maxima[atomicAdd(&maxima_count, 1)] = (uint16_t)i;
    }
    __syncthreads();

    const int corners = maxima_count, harris = s.tuning.detect_rank;
    for (int k = thread; k < corners; k += THREADS) {
        const int i = maxima[k], rx = i % TILE_X, ry = i / TILE_X, x = x0 + rx, y = y0 + ry;
        uint32_t score = nms[i] % VF_NMS_STRONG;
        if (harris) {
            const harris_sums h = harris_around(&pixel[ry + VF_CIRCLE_RADIUS][rx + shift]);
            score = vf_detect_final_score(&s.tuning, score, h.seven, h.five);
        }
        const uint64_t key = vf_detect_key(nms[i] >= VF_NMS_STRONG, score, q.level, x, y);
        const int x_px = vf_pixel0(x, q.step_q16), y_px = vf_pixel0(y, q.step_q16); /* of level 0 */
        raise_key(q.corner + divide(y_px, all.cell_height) * s.geometry.cells_x[q.camera] +
                      divide(x_px, all.cell_width),
                  key);
        const int cull = divide(y_px, all.cull_height) * s.geometry.culls_x[q.camera] + divide(x_px, all.cull_width);
        const uint64_t before = raise_key(q.best + cull, key);
        if (before) raise_key(q.second + cull, before < key ? before : key);
    }
    clear_next(s, blockIdx.x * THREADS + thread, gridDim.x * THREADS);
    if (thread == 0) vf_clock_end(s.clock);
}

/** Set up the search of a level; returns the block after its last. */
static int set_up(const vf_detect_view *s, search *q, int camera, int level, int rows, int block)
{
    const vf_level &l = s->geometry.scale[camera][level];
    const int radius = s->tuning.detect_radius;
    q->pixels = vf_scale_pixels(s->scale, s->pictures.level0[s->parity][camera], camera, level, &l);
    q->best = s->detect->best[s->parity][camera] + level * s->geometry.culls[camera];
    q->second = s->detect->second[s->parity][camera] + level * s->geometry.culls[camera];
    q->corner = s->detect->corner[s->parity][camera];
    q->step_q16 = s->geometry.step_q16[level];
    q->pitch = l.pitch;
    q->height = l.height;
    q->limits = vf_detect_limits_of(&s->geometry, &s->tuning, camera, level);
    q->camera = camera;
    q->level = level;
    q->first_block = block;
    q->across = (int32_t)vf_blocks(l.width, TILE_X - 2 * radius);
    q->across_reciprocal = reciprocal_of(q->across);
    return block + q->across * (int)vf_blocks(l.height, rows - 2 * radius);
}

/** Set up all searches; returns the number of blocks. */
static int set_up_all(const vf_detect_view *s, searches *all, int rows)
{
    int blocks = 0;
    memset(all, 0, sizeof *all);
    for (int camera = 0; camera < s->geometry.cameras; camera++)
        for (int level = 0; level < s->geometry.searched; level++)
            blocks = set_up(s, &all->picture[all->count++], camera, level, rows, blocks);
    all->cell_width = reciprocal_of(s->tuning.cell_width_px);
    all->cell_height = reciprocal_of(s->tuning.cell_height_px);
    all->cull_width = reciprocal_of(s->tuning.cull_width_px);
    all->cull_height = reciprocal_of(s->tuning.cull_height_px);
    return blocks;
}

/** Launch with tiles of ROWS rows of scores. */
template <int THREADS, int ROWS> static void launch(const vf_detect_view *s, cudaStream_t stream)
{
    searches all;
    const int blocks = set_up_all(s, &all, ROWS);
    switch (s->tuning.detect_radius) {
    case 1: detect_k<1, THREADS, ROWS><<<blocks, THREADS, 0, stream>>>(*s, all); break;
    case 2: detect_k<2, THREADS, ROWS><<<blocks, THREADS, 0, stream>>>(*s, all); break;
    case 3: detect_k<3, THREADS, ROWS><<<blocks, THREADS, 0, stream>>>(*s, all); break;
    default: detect_k<4, THREADS, ROWS><<<blocks, THREADS, 0, stream>>>(*s, all); break;
    }
}

/** Threads of a block and rows of scores of its tile. If nearly all blocks are resident at once, many threads on few
 *  rows finish sooner; else few threads on many rows have less overlap of tiles and less time at barriers. (H200,
 *  752x480, 8 levels, radius 1, 256 threads: 13.9 us with 32 rows, 14.5 with 44; two such pictures 23.3 and 22.4; one
 *  on 8 multiprocessors 134 and 123.) */
#ifndef VF_DETECT_FEW_ROWS
#define VF_DETECT_FEW_THREADS 256
#define VF_DETECT_FEW_ROWS 32
#define VF_DETECT_MANY_THREADS 128
#define VF_DETECT_MANY_ROWS 44
#endif

extern "C" cudaError_t vf_detect_cuda(const vf_detect_view *s, cudaStream_t stream)
{
    searches all;
    if (set_up_all(s, &all, VF_DETECT_FEW_ROWS) <= 8 * vf_multiprocessors())
        launch<VF_DETECT_FEW_THREADS, VF_DETECT_FEW_ROWS>(s, stream);
    else
        launch<VF_DETECT_MANY_THREADS, VF_DETECT_MANY_ROWS>(s, stream);
    return cudaGetLastError();
}
