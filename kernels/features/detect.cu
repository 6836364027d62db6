/* SPDX-License-Identifier: MIT */
/* detect on the GPU: one launch for all levels and cameras; response, suppression and best of cell in one kernel; the response
 * never leaves shared memory. A block owns a tile of one level:
 *   1. pixels of the tile and its margin to shared memory
 *   2. a test that every corner passes sifts the pixels, four a thread; the few that pass are listed, so that
 *   3. the full test and score run with all lanes busy, and
 *   4. suppression runs on corners only; what it leaves is listed again, so that
 *   5. the Harris response costs a turn or two of the block, however many corners there are
 * Cells and tiles have nothing to do with each other: the best of a cell is one 64-bit maximum in memory. */
#include "kernels/kernel.cuh"

#include "features/detect.h"

#ifndef VF_DETECT_OCCUPANCY
#define VF_DETECT_OCCUPANCY 1024 /* threads of a multiprocessor that registers are to suffice for */
#endif
#define RANK_X 64 /* ranks of a block: two warps wide; corners have a margin of the radius in it */
#define PIXEL_X                                                                                                        \
    76 /* columns of pixels: those of the ranks, the circle on both sides, and on the left up to 4 for alignment */
#define SIFT_X 17 /* words of a row that can hold a rank's pixel: all but the first and the last */

/** One level of one camera under search, laid out by the launcher. */
struct search {
    const uint8_t *pixels;
    int32_t pitch, height;
    int32_t x_first, x_last, y_first, y_last;
    uint64_t *best, *corner; /* of the level's culling cells, of the cells */
    int32_t camera, level;
    uint32_t step_q16;
    int32_t first_block, across; /* its blocks, row by row */
    uint32_t across_reciprocal;
};

struct searches {
    search picture[VFRONT_CAMERAS * VFRONT_SCALES];
    int32_t count;
    uint32_t cell_width, cell_height, cull_width, cull_height; /* reciprocals */
};

/** Division of what is below 2^16 by a size from 2 to 2^16, as a product with its reciprocal. Exact. */
static uint32_t reciprocal_of(int size) { return 0xffffffffu / (uint32_t)size + 1; }
static __device__ __forceinline__ int divide(int value, uint32_t reciprocal)
{
    return (int)__umulhi((uint32_t)value, reciprocal);
}

/** Which of four pixels may be corners: of each of the eight pairs of opposite pixels of the circle, an arc of nine holds one. Grey levels
 *  are halved, 7 bits a byte, so that one addition compares four pixels: bit 7 of a byte says which is more. What differs by the
 *  threshold differs by at least half of it when halved, so no corner is lost; what is let through in excess, the full test finds out. */
struct sieve {
    uint32_t above,
        below; /* 128 less the least half that may be brighter; 128 and the most that may be darker; at least 0 and 127 */
    uint32_t bright, dark; /* bit 7: a pixel of every pair so far may be */
};
static __device__ __forceinline__ sieve sieve_of(uint32_t centre, int threshold)
{
    const uint32_t bit7 = 0x80808080u, least = (uint32_t)((threshold + 1) / 2) * 0x01010101u;
    const uint32_t over = centre + least, under = centre + (bit7 - least);
    const uint32_t none_above = (over >> 7 & 0x01010101u) * 255, none_below = (~under >> 7 & 0x01010101u) * 255;
    const sieve v = {(bit7 - (over & ~none_above)) & ~none_above, (under & ~none_below) | (~bit7 & none_below), bit7,
                     bit7};
    return v;
}

/** A bit for each of the four pixels of a word that may be a corner. Called by whole warps: two pairs often settle it for all. */
static __device__ __forceinline__ uint32_t sift(const uint8_t *at, int threshold)
{
    const auto word = [at](int dy, int k) { return reinterpret_cast<const uint32_t *>(at + dy * PIXEL_X)[k]; };
    const auto shifted = [word](int dx, int dy) {
        return dx < 0   ? __funnelshift_r(word(dy, -1), word(dy, 0), 32 + 8 * dx)
               : dx > 0 ? __funnelshift_r(word(dy, 0), word(dy, 1), 8 * dx)
                        : word(dy, 0);
    };
    sieve v = sieve_of(word(0, 0), threshold);
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

/** Copies the pixels of a block to shared memory, zeros outside the picture, and halves of them; a warp a row. All loads are under way
 *  before the first is waited for. */
template <int WARPS, int PIXEL_Y>
static __device__ __forceinline__ void load_pixels(uint8_t (*pixel)[PIXEL_X], uint8_t (*half)[PIXEL_X], const search &q,
                                                   int x0, int y0)
{
    enum { TURNS = (PIXEL_Y + WARPS - 1) / WARPS };
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP, x = x0 + 4 * lane;
    const bool mine = lane < PIXEL_X / 4, inside = mine && x >= 0 && x < q.pitch;
    uint32_t word[TURNS];
#pragma unroll
    for (int k = 0; k < TURNS; k++) {
        const int y = y0 + warp + k * WARPS;
        word[k] = inside && y >= 0 && y < q.height ? *reinterpret_cast<const uint32_t *>(q.pixels + y * q.pitch + x)
                                                   : 0;
    }
#pragma unroll
    for (int k = 0; k < TURNS; k++)
        if (mine && warp + k * WARPS < PIXEL_Y) {
            reinterpret_cast<uint32_t *>(pixel[warp + k * WARPS])[lane] = word[k];
            reinterpret_cast<uint32_t *>(half[warp + k * WARPS])[lane] = word[k] >> 1 & 0x7f7f7f7fu;
        }
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

/** Nine pixels of a row, from one of any alignment on. */
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

/** Sums for the Harris response of a pixel of the block, over 7x7 px and over the inner 5x5. Of each row the differences across and the
 *  sums along are had once and kept for three rows, in registers (paper 001, 5.2). */
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
        load_nine(row, centre + (r - VF_HARRIS) * PIXEL_X - VF_HARRIS);
#pragma unroll
        for (int k = 0; k < 7; k++) {
            across[r % 3][k] = row[k + 2] - row[k];
            along[r % 3][k] = row[k] + 2 * row[k + 1] + row[k + 2];
            if (r < 2) continue;
            const bool inner = k >= 1 && k <= 5 && r >= 3 && r <= 7;
            vf_harris_add(inner ? &h.five : &h.seven,
                          across[(r + 1) % 3][k] + 2 * across[(r + 2) % 3][k] + across[r % 3][k],
                          along[r % 3][k] - along[(r + 1) % 3][k]);
        }
    }
    h.seven.xx += h.five.xx;
    h.seven.yy += h.five.yy;
    h.seven.xy += h.five.xy;
    return h;
}

static __device__ __forceinline__ void keep(uint64_t *best, uint64_t key)
{
    atomicMax((unsigned long long *)best, (unsigned long long)key);
}

template <int R, int THREADS, int RANK_Y>
static __global__ void __launch_bounds__(THREADS, VF_DETECT_OCCUPANCY / THREADS)
    detect_k(const vf_step s, const searches all)
{
    enum { WARPS = THREADS / VF_WARP, PIXEL_Y = RANK_Y + 2 * VF_CIRCLE };
    __shared__ __align__(16) uint8_t pixel[PIXEL_Y][PIXEL_X], half[PIXEL_Y][PIXEL_X];
    __shared__ __align__(16) uint16_t rank[RANK_Y * RANK_X];
    __shared__ uint16_t list[RANK_Y * RANK_X], kept[RANK_Y * RANK_X / 4]; /* of four neighbours at most one is kept */
    __shared__ int listed, kept_count;
    const int thread = threadIdx.x, lane = thread % VF_WARP;
    int p = 0;
    while (p + 1 < all.count && (int)blockIdx.x >= all.picture[p + 1].first_block) p++;
    const search &q = all.picture[p];
    const int block = blockIdx.x - q.first_block, row = q.across > 1 ? divide(block, q.across_reciprocal) : block;
    const int x0 = (block - row * q.across) * (RANK_X - 2 * R) - R, y0 = row * (RANK_Y - 2 * R) - R; /* of the ranks */
    const int left = (x0 - VF_CIRCLE - 1) & ~3, shift = x0 - left;                                   /* 4..7 */

    if (thread == 0) {
        vf_clock_start(s, VF_detect, blockIdx.x);
        listed = kept_count = 0;
    }
    const int framed = vf_framed(&s,
                                 q.camera); /* read here, while the pixels are under way, because it takes as long */
    load_pixels<WARPS, PIXEL_Y>(pixel, half, q, left, y0 - VF_CIRCLE);
    for (int i = thread; i < RANK_Y * RANK_X / 8; i += THREADS)
        reinterpret_cast<uint4 *>(rank)[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();

    const int low = s.tuning.detect_threshold_low;
    const int threshold = low ? low : s.tuning.detect_threshold;
    const int first_x = vf_max(0, q.x_first - x0) + shift,
              last_x = vf_min(RANK_X - 1, q.x_last - x0) + shift; /* columns of pixels */
    const int first_y = vf_max(0, q.y_first - y0), last_y = vf_min(RANK_Y - 1, q.y_last - y0);
    for (int i = thread; i < (RANK_Y * SIFT_X + VF_WARP - 1) / VF_WARP * VF_WARP; i += THREADS) {
        const int ry = i / SIFT_X, column = 4 * (1 + i - ry * SIFT_X);
        uint32_t mine = sift(&half[ry + VF_CIRCLE][column], threshold); /* a bit a pixel that may be a corner */
        mine &= 15u << vf_clamp(first_x - column, 0, 4) & 15u >> vf_clamp(column + 3 - last_x, 0, 4);
        if (ry < first_y || ry > last_y) mine = 0;
        uint32_t who[4];
        int passed = 0;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            who[k] = __ballot_sync(VF_ALL, mine >> k & 1);
            passed += __popc(who[k]);
        }
        if (!passed) continue;
        int at = 0;
        if (lane == 0) at = atomicAdd(&listed, passed);
        at = __shfl_sync(VF_ALL, at, 0);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (mine >> k & 1)
                list[at + __popc(who[k] & ((1u << lane) - 1))] = (uint16_t)(ry * RANK_X + column + k - shift);
            at += __popc(who[k]);
        }
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
        const int arc = s.tuning.detect_arc, most = s.tuning.detect_arc_most, kind = s.tuning.detect_score;
        vf_arcs arcs = vf_detect_arcs(circle, *c, s.tuning.detect_threshold, arc, most);
        const bool strong = arcs.bright | arcs.dark;
        if (!strong && low) arcs = vf_detect_arcs(circle, *c, low, arc, most);
        const uint32_t score = vf_detect_arcs_score(circle, *c, arcs, arc, kind),
                       found = vf_detect_rank(strong ? score : 0, strong ? 0 : score);
        if (found && vf_usable(&s, q.camera, framed, vf_pixel0(x0 + rx, q.step_q16), vf_pixel0(y0 + ry, q.step_q16)))
            rank[i] = (uint16_t)found;
    }
    __syncthreads();

    for (int k = thread; k < candidates; k += THREADS) {
        const int i = list[k], rx = i % RANK_X, ry = i / RANK_X;
        const bool inner = rx >= R && rx < RANK_X - R && ry >= R && ry < RANK_Y - R;
        if (inner && rank[i] && beats<R>(rank, i)) kept[atomicAdd(&kept_count, 1)] = (uint16_t)i;
    }
    __syncthreads();

    const int corners = kept_count, harris = s.tuning.detect_rank;
    for (int k = thread; k < corners; k += THREADS) {
        const int i = kept[k], rx = i % RANK_X, ry = i / RANK_X, x = x0 + rx, y = y0 + ry;
        uint32_t score = rank[i] % VF_RANK_STRONG;
        if (harris) {
            const harris_sums h = harris_around(&pixel[ry + VF_CIRCLE][rx + shift]);
            score = vf_detect_ranking(&s.tuning, score, h.seven, h.five);
        }
        const uint64_t key = vf_detect_key(rank[i] >= VF_RANK_STRONG, score, q.level, x, y);
        const int x_px = vf_pixel0(x, q.step_q16), y_px = vf_pixel0(y, q.step_q16); /* of level 0 */
        keep(q.best + divide(y_px, all.cull_height) * s.geometry.culls_x[q.camera] + divide(x_px, all.cull_width), key);
        keep(q.corner + divide(y_px, all.cell_height) * s.geometry.cells_x[q.camera] + divide(x_px, all.cell_width),
             key);
    }
    if (thread == 0) vf_clock_end(s, VF_detect);
}

/** Lays out the search of a level and returns the block after its last. */
static int lay_out(const vf_step *s, search *q, int camera, int level, int rows, int block)
{
    const vf_level &l = s->geometry.scale[camera][level], &l0 = s->geometry.scale[camera][0];
    const int border = s->tuning.detect_border_px, radius = s->tuning.detect_radius,
              margin = vf_detect_margin(&s->tuning);
    q->pixels = vf_scale_pixels(s, camera, level);
    q->best = s->memory->detect.best[camera] + level * vf_culls(&s->geometry, camera);
    q->corner = s->memory->detect.corner[camera];
    q->step_q16 = s->geometry.step_q16[level];
    q->pitch = l.pitch;
    q->height = l.height;
    q->x_first = q->y_first = vf_detect_first(q->step_q16, border, margin);
    q->x_last = vf_detect_last(q->step_q16, border, margin, l.width, l0.width);
    q->y_last = vf_detect_last(q->step_q16, border, margin, l.height, l0.height);
    q->camera = camera;
    q->level = level;
    q->first_block = block;
    q->across = (int32_t)vf_blocks(l.width, RANK_X - 2 * radius);
    q->across_reciprocal = reciprocal_of(q->across);
    return block + q->across * (int)vf_blocks(l.height, rows - 2 * radius);
}

/** Lays out all searches; returns the number of blocks. */
static int lay_out_all(const vf_step *s, searches *all, int rows)
{
    int blocks = 0;
    memset(all, 0, sizeof *all);
    for (int camera = 0; camera < s->geometry.cameras; camera++)
        for (int level = 0; level < vf_scales(s); level++)
            blocks = lay_out(s, &all->picture[all->count++], camera, level, rows, blocks);
    all->cell_width = reciprocal_of(s->tuning.cell_width_px);
    all->cell_height = reciprocal_of(s->tuning.cell_height_px);
    all->cull_width = reciprocal_of(s->tuning.cull_width_px);
    all->cull_height = reciprocal_of(s->tuning.cull_height_px);
    return blocks;
}

template <int THREADS, int ROWS> static void launch(const vf_step *s, cudaStream_t stream)
{
    searches all;
    const int blocks = lay_out_all(s, &all, ROWS);
    switch (s->tuning.detect_radius) {
    case 1: detect_k<1, THREADS, ROWS><<<blocks, THREADS, 0, stream>>>(*s, all); break;
    case 2: detect_k<2, THREADS, ROWS><<<blocks, THREADS, 0, stream>>>(*s, all); break;
    case 3: detect_k<3, THREADS, ROWS><<<blocks, THREADS, 0, stream>>>(*s, all); break;
    default: detect_k<4, THREADS, ROWS><<<blocks, THREADS, 0, stream>>>(*s, all); break;
    }
}

/** Threads of a block and its rows of ranks. Where the multiprocessors hold nearly all blocks at once, many threads on few rows end
 *  sooner; else few threads on many rows do less twice and wait less for each other. (H200, 752x480, 8 levels, radius 1, 256 threads:
 *  13.9 us with 32 rows, 14.5 with 44; two such pictures 23.3 and 22.4; one on 8 multiprocessors 134 and 123.) */
#ifndef VF_DETECT_FEW_ROWS
#define VF_DETECT_FEW_THREADS 256
#define VF_DETECT_FEW_ROWS 32
#define VF_DETECT_MANY_THREADS 128
#define VF_DETECT_MANY_ROWS 44
#endif

extern "C" cudaError_t vf_detect_cuda(const vf_step *s, cudaStream_t stream)
{
    searches all;
    if (lay_out_all(s, &all, VF_DETECT_FEW_ROWS) <= 8 * vf_multiprocessors())
        launch<VF_DETECT_FEW_THREADS, VF_DETECT_FEW_ROWS>(s, stream);
    else
        launch<VF_DETECT_MANY_THREADS, VF_DETECT_MANY_ROWS>(s, stream);
    return cudaGetLastError();
}
