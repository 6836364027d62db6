/* SPDX-License-Identifier: MIT */
/* stixel_column: memory of the block that segments a column of the image, and prefix sums over the rows of the column.
 * The entry of a row is the sum over all rows below it. Prefix sums of disparities and of background costs have entries
 * for all rows. Prefix sums of object costs have entries for the rows of SUM_TILES tiles (of 32 rows) at a time, and
 * for the lowest row of each subtile (8 rows). */
#ifndef VF_STIXEL_COLUMN_CUH
#define VF_STIXEL_COLUMN_CUH

#include "kernels/kernel.cuh"

#include "depth/stixel.h"

#if VFRONT_STIXELS

#define WARPS_MAX 16 /* most warps of a block of segment_k */
#define TILE VF_STIXEL_TILE
#define SUBTILE VF_STIXEL_SUBTILE
#define SUBTILES (TILE / SUBTILE) /* subtiles (SUBTILE rows) of a tile */
#define SUM_TILES 3   /* tiles (TILE rows) whose prefix sums of object costs are stored: previous, current, next */
#define START_TILES 3 /* tiles whose object starts are stored: previous, current, first row of the next */
/* length of a stored row of a tile's triangle of row pairs: a long and a short row of the triangle */
#define TRIANGLE_PITCH (TILE + 1)
#define TRIANGLE (TILE / 2 * TRIANGLE_PITCH) /* pairs of a base and a top row in one tile, base not above top */

VF_STATIC_ASSERT(TILE == VF_WARP && SUBTILES == 4, "a lane a row");
VF_STATIC_ASSERT(offsetof(vf_stixel_tables, object_cost) % 8 == 0 &&
                     offsetof(vf_stixel_scratch, subtile_sum) % 16 == 0 &&
                     offsetof(vf_stixel_scratch, start) % 16 == 0 && offsetof(vf_stixel_scratch, best_object) % 8 == 0,
                 "a lane reads its words at once");

/** Object whose base and top row lie in one tile. Costs [nat/4096]: data terms plus the transition into it, without the
 *  rows below. */
struct alignas(16) row_pair {
    int32_t object,         /* cost if another object lies below, without the transition that depends on both means */
        background;         /* cost if ground or sky lies below */
    uint32_t mean_range;    /* lower half: mean disparity of the object; upper half: its depth range [px/256] */
    int32_t nearer_farther; /* lower half: vf_object_nearer_cost(); upper half: vf_object_farther_cost() */
};

/** Memory of a block of segment_k. Shared, except pointers marked global, into the column's part of struct
 *  vf_stixel_scratch. Rows are padded to whole tiles by rows without a disparity, which cost nothing and whose results
 *  are not used. */
struct column_memory {
    unsigned char *bytes; /* start of the shared memory */
    /* [2][TILE + TRIANGLE] row pairs of the current and the next tile. The TILE entries before each triangle serve
     * reads of lanes without a pair. */
    row_pair *pairs;
    int4 *steps; /* [2][TILE] vf_background_step of the rows of the current and the next tile */
    /* [START_TILES][TILE][3] cost of beginning an object at a row, in 12 words: vf_object_start in 9; twice the sum of
     * disparities below the row; 4 times the number of valid rows below it; unused. */
    int4 *starts;
    /* [workspaces][workspace_words], one per worker warp. [SUBTILE][pitch] prefix sums of object costs below each row
     * of a subtile, by integer mean disparity; then [SUBTILE][3] int4, the subtile's object starts. */
    int32_t *workspace;
    /* [TILE] least cost of all rows up to a row of the current tile, if ground or sky ends there */
    int32_t *background;
    /* [2][2][TILE] keys (cost and base row) of the best objects that end at the rows of the current and the next tile.
     * [][0]: of objects that begin in the two tiles below; [][1]: of objects that begin lower. */
    unsigned long long *best;
    /* [subtiles] lower bound of the cost of all rows up to a subtile's top, if an object begins in the subtile and
     * reaches its top. */
    int32_t *start_min;
    int32_t *sums;         /* [SUM_TILES][TILE + 1][stride] prefix sums of object costs, by integer mean disparity */
    uint32_t *inverse_q31; /* [height + 1] copy of vf_stixel_tables.inverse_q31 */
    uint32_t *twice;       /* [rows + 1] twice the sum of the disparities below a row [px/256] */
    uint16_t *valid;       /* [rows + 1] number of rows with a disparity below a row */
    uint16_t *bin;         /* [rows] integer disparity of a row [px] */
    uint16_t *background_back; /* [rows] back-pointer of the ground or sky that ends at a row */
    int32_t *count;            /* number of segments of the column */

    unsigned long long *best_object; /* global: [rows] key (cost and base row) of the best object that ends at a row */
    /* Global: [rows + 1] lower bound of the object costs of all rows from the bottom of a tile up to a row of it; entry
     * v + 1 includes row v. */
    int32_t *object_cost_min;
    int32_t *background_sum;  /* global: [rows + 1] cost of all rows below a row as ground or sky */
    int32_t *background_cost; /* global: [rows] least cost of all rows up to a row, if ground or sky ends there */
    /* global: [subtiles][dense_disparities] sum of object costs of all rows below a subtile, by integer mean */
    int32_t *subtile_sum;
    int4 *all_starts; /* global: [rows + 1][3] cost of beginning an object at a row, 3 int4 a row as in `starts` */

    int workspace_words, /* 32-bit words of a worker warp's workspace */
        workspaces;      /* number of worker warps that have a workspace */
    /* Words from one row to the next: `stride` in sums, `pitch` in a workspace. `stride` is odd, so that lanes that
     * read the sum of one mean in neighbouring rows use different banks. `pitch` spreads SUBTILE rows, read 16 bytes at
     * a time, over different banks. */
    int stride, pitch;
};

/** Number of tiles of a column of `height` rows, the last one padded to TILE rows. */
static __host__ __device__ int tiles_of(int height) { return (height + TILE - 1) / TILE; }
/** Length of an array over the rows of all tiles. The four more serve arrays with one entry more than rows. */
static __host__ __device__ size_t padded(int height) { return (size_t)tiles_of(height) * TILE + 4; }
/** Size of a worker warp's workspace [words]: prefix sums of a subtile and its object starts. */
static __host__ __device__ size_t workspace_size(int disparities)
{
    return (size_t)SUBTILE * (size_t)(disparities + 4) + 12 * SUBTILE;
}
/** Length of an array over the subtiles of a column. The four more serve an array with one entry more than subtiles. */
static __host__ __device__ size_t subtiles_of(int height) { return (size_t)tiles_of(height) * SUBTILES + 4; }

/** Shared memory of a block [bytes]. workspaces: number of worker warps that have a workspace. */
static size_t block_bytes(int height, int disparities, int workspaces)
{
    return 2 * (TILE + TRIANGLE) * sizeof(row_pair) + (2 + 3 * START_TILES) * TILE * sizeof(int4) +
           4 * TILE * sizeof(uint64_t) + TILE * sizeof(int32_t) +
           sizeof(int32_t) *
               ((size_t)workspaces * workspace_size(disparities) + SUM_TILES * (TILE + 1) * (size_t)(disparities + 1) +
                subtiles_of(height) + (size_t)(height + 4) + 4) +
           padded(height) * (sizeof(uint32_t) + 3 * sizeof(uint16_t));
}

/** Lays out the shared memory of a block. segment_k sets the global pointers. */
static __device__ column_memory lay_out(unsigned char *bytes, int height, int disparities, int workspaces)
{
    column_memory c;
    const size_t rows = padded(height);
    c.bytes = bytes;
    c.stride = disparities + 1;
    c.pitch = disparities + 4;
    c.workspace_words = (int)workspace_size(disparities);
    c.workspaces = workspaces;
    c.pairs = reinterpret_cast<row_pair *>(bytes);
    c.steps = reinterpret_cast<int4 *>(c.pairs + 2 * (TILE + TRIANGLE));
    c.starts = c.steps + 2 * TILE;
    c.best = reinterpret_cast<unsigned long long *>(c.starts + 3 * START_TILES * TILE);
    c.workspace = reinterpret_cast<int32_t *>(c.best + 4 * TILE);
    c.background = c.workspace + c.workspaces * c.workspace_words;
    c.sums = c.background + TILE;
    c.start_min = c.sums + SUM_TILES * (TILE + 1) * c.stride;
    c.inverse_q31 = reinterpret_cast<uint32_t *>(c.start_min + subtiles_of(height));
    c.twice = c.inverse_q31 + height + 4;
    c.count = reinterpret_cast<int32_t *>(c.twice + rows);
    c.valid = reinterpret_cast<uint16_t *>(c.count + 4);
    c.bin = c.valid + rows;
    c.background_back = c.bin + rows;
    return c;
}

/** Prefix sums of object costs of a tile, in their ring buffer of SUM_TILES tiles. */
static __device__ __forceinline__ int32_t *sums_of(const column_memory &c, int tile)
{
    return c.sums + tile % SUM_TILES * (TILE + 1) * c.stride;
}
/** Triangle of row pairs of a tile, in a ring buffer of two tiles. */
static __device__ __forceinline__ row_pair *pairs_of(const column_memory &c, int tile)
{
    return c.pairs + tile % 2 * (TILE + TRIANGLE) + TILE;
}
/** Object starts of a tile, in their ring buffer of START_TILES tiles. */
static __device__ __forceinline__ int4 *starts_of(const column_memory &c, int tile)
{
    return c.starts + tile % START_TILES * (3 * TILE);
}
/** Keys of the best objects that end at the rows of a tile and begin in one of the two tiles below it. */
static __device__ __forceinline__ unsigned long long *near_best_of(const column_memory &c, int tile)
{
    return c.best + tile % 2 * 2 * TILE;
}
/** Keys of the best objects that end at the rows of a tile and begin more than two tiles below it. */
static __device__ __forceinline__ unsigned long long *far_best_of(const column_memory &c, int tile)
{
    return near_best_of(c, tile) + TILE;
}

/** Position of *p as a byte offset from the start of the block's shared memory. With such offsets, each address costs
 *  one addition. */
template <typename Word> static __device__ __forceinline__ int offset_of(const column_memory &c, const Word *p)
{
    return (int)(reinterpret_cast<const unsigned char *>(p) - c.bytes);
}
/** Word at a byte offset from the start of the block's shared memory. */
static __device__ __forceinline__ int32_t word_at(const column_memory &c, int offset)
{
    return *reinterpret_cast<const int32_t *>(c.bytes + offset);
}

/** Key of an object from its cost and base row. The least key is the cheapest object, the one with the lowest base
 *  among equals. */
static __device__ __forceinline__ unsigned long long best_key(int32_t cost, int base)
{
    return (unsigned long long)((uint32_t)cost ^ 0x80000000u) << 32 | (uint32_t)base;
}
static __device__ __forceinline__ int32_t key_cost(unsigned long long key)
{
    return (int32_t)((uint32_t)(key >> 32) ^ 0x80000000u);
}
static __device__ __forceinline__ int key_base(unsigned long long key) { return (int)(uint32_t)key; }

/** Barrier of the worker warps only, `count` threads. */
static __device__ __forceinline__ void worker_barrier(int count)
{
    asm volatile("bar.sync 1, %0;" ::"r"(count) : "memory");
}

/** Inclusive prefix sum over a warp. */
static __device__ __forceinline__ int32_t warp_prefix_sum(int32_t v)
{
    const int lane = threadIdx.x % VF_WARP;
#pragma unroll
    for (int step = 1; step < VF_WARP; step *= 2) {
        const int32_t other = __shfl_up_sync(VF_ALL, v, step);
        v += lane >= step ? other : 0;
    }
    return v;
}

/* ---- prefix sums of rows ----------------------------------------------------------------------------------------- */

/** Prefix sums of disparities, valid rows and background costs, by all threads: first within each tile, then the sum of
 *  the tiles below is added. Also sets model.support. */
static __device__ void sum_rows(const vf_stixel_view &s, vf_column_model &model, const column_memory &c, int column)
{
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP, warps = blockDim.x / VF_WARP,
              tiles = tiles_of(model.height);
    const vf_ground_model *ground = s.stixel->ground;
    /* sums of each tile, in c.sums, which nothing else uses yet */
    int32_t *tile_twice = c.sums, *tile_background = c.sums + tiles, *tile_valid = c.sums + 2 * tiles;
    if (threadIdx.x == 0) *c.count = 0;
    __syncthreads();
    for (int v = model.hidden + threadIdx.x; v < model.height; v += blockDim.x)
        if (s.stixel->column[column][v] != VF_STIXEL_NONE) atomicMax(c.count, v + 1);
    __syncthreads();
    model.support = *c.count;
    for (int tile = warp; tile < tiles; tile += warps) {
        const int v = tile * TILE + lane;
        const uint32_t d = v < model.height ? vf_stixel_seen(&model, v, s.stixel->column[column][v]) : VF_STIXEL_NONE;
        const int32_t cost = v < model.height ? vf_background_data(&model, ground, s.stixel->column[column], v,
                                                                   s.stixel->blank[column][v])
                                              : 0;
        const int bin = vf_stixel_bin(d, model.disparities);
        const int32_t twice = warp_prefix_sum(d == VF_STIXEL_NONE ? 0 : 2 * (int32_t)d),
                      background = warp_prefix_sum(cost), valid = warp_prefix_sum(d != VF_STIXEL_NONE);
        const int32_t object_cost_min = warp_prefix_sum(model.tables->row_cost_min[bin]);
        c.twice[v + 1] = (uint32_t)twice;
        c.background_sum[v + 1] = background;
        c.valid[v + 1] = (uint16_t)valid;
        c.bin[v] = (uint16_t)bin;
        /* a sum within the tile; the sums of the tiles below are not added */
        c.object_cost_min[v + 1] = object_cost_min;
        if (lane == VF_WARP - 1) {
            tile_twice[tile] = twice;
            tile_background[tile] = background;
            tile_valid[tile] = valid;
        }
    }
    __syncthreads();
    for (int tile = warp; tile < tiles; tile += warps) {
        const int v = tile * TILE + lane;
        int32_t twice = 0, background = 0, valid = 0;
        for (int below = lane; below < tile; below += VF_WARP) {
            twice += tile_twice[below];
            background += tile_background[below];
            valid += tile_valid[below];
        }
        twice = vf_warp_sum(twice);
        background = vf_warp_sum(background);
        valid = vf_warp_sum(valid);
        c.twice[v + 1] += (uint32_t)twice;
        c.background_sum[v + 1] += background;
        c.valid[v + 1] = (uint16_t)(c.valid[v + 1] + valid);
    }
    for (int i = threadIdx.x; i <= model.height; i += blockDim.x) c.inverse_q31[i] = model.tables->inverse_q31[i];
    if (threadIdx.x == 0) {
        c.twice[0] = 0;
        c.background_sum[0] = 0;
        c.valid[0] = 0;
    }
    __syncthreads();
}

/* ---- prefix sums of object costs, by integer mean ---------------------------------------------------------------- */

/** Sums of object costs for a lane's integer mean disparities: WIDE = dense_disparities / 32 means, in RUNS runs of
 *  EACH neighbours, so that a lane reads 8 or 16 bytes at once. */
template <int WIDE> struct lane_means {
    static constexpr int EACH = WIDE < 4 ? WIDE : 4, RUNS = WIDE / EACH;
    int32_t sum[WIDE];

    /** First integer mean disparity of the lane's run, 0 .. RUNS - 1. */
    static __device__ __forceinline__ int first(int run)
    {
        return (run * VF_WARP + (int)(threadIdx.x % VF_WARP)) * EACH;
    }
    /** Adds the object costs of an image row for the lane's means, packed two to a word. */
    __device__ __forceinline__ void add(const uint32_t (&word)[WIDE / 2])
    {
#pragma unroll
        for (int k = 0; k < WIDE / 2; k++) {
#if VF_ARCH >= 610
            sum[2 * k] = (int32_t)__dp2a_lo(word[k], 0x001u, (uint32_t)sum[2 * k]);
            sum[2 * k + 1] = (int32_t)__dp2a_lo(word[k], 0x100u, (uint32_t)sum[2 * k + 1]);
#else
            sum[2 * k] += (int32_t)(word[k] & 0xffff);
            sum[2 * k + 1] += (int32_t)(word[k] >> 16);
#endif
        }
    }
    /** Reads the lane's part of a row of sums. `from`: the row, aligned to 4 * EACH bytes. */
    __device__ __forceinline__ void load(const int32_t *from)
    {
#pragma unroll
        for (int run = 0; run < RUNS; run++) {
            if (EACH == 4) {
                const int4 four = *reinterpret_cast<const int4 *>(from + first(run));
                sum[run * 4] = four.x;
                sum[run * 4 + 1] = four.y;
                sum[run * 4 + 2 % EACH] = four.z;
                sum[run * 4 + 3 % EACH] = four.w;
            } else {
                const int2 two = *reinterpret_cast<const int2 *>(from + first(run));
                sum[0] = two.x;
                sum[1] = two.y;
            }
        }
    }
    /** Writes the lane's part of a row of sums. `to`: the row, aligned to 4 * EACH bytes. */
    __device__ __forceinline__ void store(int32_t *to) const
    {
#pragma unroll
        for (int run = 0; run < RUNS; run++) {
            if (EACH == 4)
                *reinterpret_cast<int4 *>(to + first(run)) = make_int4(
                    sum[run * 4], sum[run * 4 + 1], sum[run * 4 + 2 % EACH], sum[run * 4 + 3 % EACH]);
            else
                *reinterpret_cast<int2 *>(to + first(run)) = make_int2(sum[0], sum[1]);
        }
    }
    /** Writes the lane's part of a row of sums word by word, for rows that are not aligned. */
    __device__ __forceinline__ void store_unaligned(int32_t *to) const
    {
#pragma unroll
        for (int k = 0; k < WIDE; k++) to[first(k / EACH) + k % EACH] = sum[k];
    }
};

/** Object costs of the rows of a subtile for the integer means of a lane, two per word. */
template <int WIDE> struct subtile_costs {
    uint32_t word[SUBTILE][WIDE / 2];

    __device__ __forceinline__ void load(const vf_stixel_view &s, const column_memory &c, int subtile)
    {
        const uint16_t *cost = s.stixel->tables.object_cost;
        typedef lane_means<WIDE> means;
#pragma unroll
        for (int r = 0; r < SUBTILE; r++) {
            const uint16_t *row = cost + c.bin[subtile * SUBTILE + r] * (WIDE * VF_WARP);
#pragma unroll
            for (int run = 0; run < means::RUNS; run++) {
                if (means::EACH == 4) {
                    const uint2 two = *reinterpret_cast<const uint2 *>(row + means::first(run));
                    word[r][2 * run] = two.x;
                    word[r][(2 * run + 1) % (WIDE / 2)] = two.y;
                } else {
                    word[r][run] = *reinterpret_cast<const uint32_t *>(row + means::first(run));
                }
            }
        }
    }
};

/** Prefix sums of object costs below every subtile, by integer mean disparity, by all threads. A warp handles
 *  neighbouring subtiles; then it adds the totals of lower warps. */
template <int WIDE>
static __device__ void sum_subtiles(const vf_stixel_view &s, const vf_column_model &model, const column_memory &c)
{
    const int means = WIDE * VF_WARP, count = tiles_of(model.height) * SUBTILES, warp = threadIdx.x / VF_WARP,
              warps = blockDim.x / VF_WARP;
    const int each = (count + warps - 1) / warps, begin = vf_min(warp * each, count), end = vf_min(begin + each, count);
    int32_t *total = c.workspace; /* [warps][means] total of each warp's subtiles, in the unused workspace */
    lane_means<WIDE> sums = {};
    subtile_costs<WIDE> costs;
    for (int subtile = begin; subtile < end; subtile++) {
        costs.load(s, c, subtile);
        sums.store(c.subtile_sum + subtile * means);
#pragma unroll
        for (int r = 0; r < SUBTILE; r++) sums.add(costs.word[r]);
    }
    sums.store(total + warp * means);
    __syncthreads();
    lane_means<WIDE> below = {}, more;
    for (int w = 0; w < warp; w++) {
        more.load(total + w * means);
#pragma unroll
        for (int k = 0; k < WIDE; k++) below.sum[k] += more.sum[k];
    }
#pragma unroll 4
    for (int subtile = begin; subtile < end; subtile++) {
        more.load(c.subtile_sum + subtile * means);
#pragma unroll
        for (int k = 0; k < WIDE; k++) more.sum[k] += below.sum[k];
        more.store(c.subtile_sum + subtile * means);
    }
    __syncthreads();
}

/** Prefix sums of object costs below each row of a tile, by `warps` warps. warp: index of the calling warp. */
template <int WIDE>
static __device__ __forceinline__ void make_tile_sums(const vf_stixel_view &s, const column_memory &c, int tile,
                                                      int warp, int warps)
{
    for (int subtile = warp; subtile < SUBTILES; subtile += warps) {
        int32_t *to = sums_of(c, tile) + subtile * SUBTILE * c.stride;
        subtile_costs<WIDE> costs;
        lane_means<WIDE> sums;
        costs.load(s, c, tile * SUBTILES + subtile);
        sums.load(c.subtile_sum + (tile * SUBTILES + subtile) * WIDE * VF_WARP);
#pragma unroll
        for (int r = 0; r < SUBTILE; r++) {
            sums.store_unaligned(to + r * c.stride);
            sums.add(costs.word[r]);
        }
        if (subtile == SUBTILES - 1) sums.store_unaligned(to + SUBTILE * c.stride);
    }
}

/** Prefix sums of object costs below each row of a subtile, in the workspace of the calling worker warp. Returns the
 *  workspace. */
template <int WIDE>
static __device__ __forceinline__ int32_t *make_subtile_sums(const vf_stixel_view &s, const column_memory &c,
                                                             int subtile)
{
    int32_t *workspace = c.workspace + (threadIdx.x / VF_WARP - 1) * c.workspace_words;
    subtile_costs<WIDE> costs;
    lane_means<WIDE> sums;
    costs.load(s, c, subtile);
    sums.load(c.subtile_sum + subtile * WIDE * VF_WARP);
    __syncwarp();
#pragma unroll
    for (int r = 0; r < SUBTILE; r++) {
        sums.store(workspace + r * c.pitch);
        sums.add(costs.word[r]);
    }
    return workspace;
}

/** Mean disparity of an object from row `base` to row `top` [px/256]; 0 without a valid disparity. */
static __device__ __forceinline__ int32_t mean_between(const column_memory &c, int base, int top)
{
    const uint32_t inverse = c.inverse_q31[c.valid[top + 1] - c.valid[base]];
    return vf_stixel_mean(c.twice[top + 1] + 1 - c.twice[base], inverse);
}

#endif

#endif
