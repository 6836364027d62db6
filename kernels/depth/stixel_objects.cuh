/* SPDX-License-Identifier: MIT */
/* stixel_objects: objects as pairs of base and top row. For the top rows of a tile, lower base rows are tried with one
 * lane per top. These are all rows of the two tiles below, and of lower subtiles (8 rows) whose lower bound allows a
 * better object. Pairs within a tile are computed in advance, without the cost of the rows below, which only
 * solve_tile() has. */
#ifndef VF_STIXEL_OBJECTS_CUH
#define VF_STIXEL_OBJECTS_CUH

#include "stixel_column.cuh"

#if VFRONT_STIXELS

/* base rows of objects that a warp tries together, each for SUBTILE top rows */
#define STARTS_AT_ONCE (VF_WARP / SUBTILE)
#define STEPS_OF_TILE (TILE / STARTS_AT_ONCE) /* steps of STARTS_AT_ONCE base rows that cover a tile */
#define NEAR_TASKS 16 /* tasks of try_tile_below(), each with SUBTILE top rows and several base rows */
#define PAIR_TASKS 10 /* tasks of make_pairs(), each with SUBTILE top rows and two steps of STARTS_AT_ONCE base rows */

VF_STATIC_ASSERT(STARTS_AT_ONCE == 4, "PAIR_TASKS is 1 + 2 + 3 + 4");

/** Top row of the objects that a lane tries, with what every base needs of it. */
struct object_top {
    uint32_t twice_one; /* twice the sum of the disparities of all rows up to the top, plus one */
    int inverse,        /* byte offset in column_memory of inverse_q31[valid rows up to the top] */
        sums; /* byte offset in column_memory of the object costs of all rows up to the top, by integer mean */
    int32_t bottom_prior; /* vf_stixel_bottom_prior(): extra cost of an object that begins on the bottom row */
};
/** object_top of row v. through: prefix sums of object costs up to row v, by integer mean disparity. */
static __device__ __forceinline__ object_top object_top_at(const vf_column_model &model, const column_memory &c, int v,
                                                           const int32_t *through)
{
    return object_top{c.twice[v + 1] + 1, offset_of(c, c.inverse_q31) + 4 * c.valid[v + 1], offset_of(c, through),
                      vf_stixel_bottom_prior(&model, v)};
}

/** Best object so far that ends at a lane's top row. */
struct candidate {
    int32_t cost;
    int base;
};

/* ---- bases below a tile ------------------------------------------------------------------------------------------ */

/** Tries one base row for the top of a lane; among equal costs the earlier candidate stays. start: object start of the
 *  base; sums: byte offset of the prefix sums below the base; more: extra cost. HOLES: there may be no valid disparity
 *  between base and top. */
template <bool HOLES>
static __device__ __forceinline__ void try_start(const column_memory &c, candidate *best, const object_top &top,
                                                 const int4 *start, int sums, int base, int32_t more)
{
    const int4 one = start[0], two = start[1], three = start[2];
    const vf_object_start object = {one.x, one.y, one.z, one.w, two.x, two.y, two.z, two.w, three.x};
    const uint32_t inverse = (uint32_t)word_at(c, top.inverse - three.z);
    const int32_t mean = vf_stixel_mean(top.twice_one - (uint32_t)three.y, inverse);
    const int bin = (int)((uint32_t)mean / VF_STIXEL_PX) * 4;
    int32_t cost = vf_object_start_cost(&object, mean) + word_at(c, top.sums + bin) - word_at(c, sums + bin) + more;
    /* an object without a valid disparity is impossible; selected without a branch */
    if (HOLES) cost = vf_max(cost, inverse ? INT32_MIN : VF_STIXEL_COST_MAX);
    const bool better = cost < best->cost;
    best->cost = better ? cost : best->cost;
    best->base = better ? base : best->base;
}

/** Tries rows of a tile as bases of objects with SUBTILE top rows: COUNT steps of STARTS_AT_ONCE bases, from step
 *  `first` on. The tile's prefix sums are in c.sums. A lane has one top and every fourth base. to: key of the best
 *  object of the lane's top, lowered. */
template <bool HOLES, int COUNT>
static __device__ __forceinline__ void try_starts(const column_memory &c, const object_top &top, unsigned long long *to,
                                                  int tile, int first)
{
    const int group = threadIdx.x % VF_WARP / SUBTILE, j = first * STARTS_AT_ONCE + group,
              step = STARTS_AT_ONCE * c.stride * 4;
    const int4 *start = starts_of(c, tile) + 3 * j;
    int sums = offset_of(c, sums_of(c, tile) + j * c.stride);
    candidate best = {VF_STIXEL_COST_MAX, 0};
#pragma unroll 4
    for (int i = 0; i < COUNT; i++) {
        const int base = tile * TILE + j + i * STARTS_AT_ONCE;
        try_start<HOLES>(c, &best, top, start + 3 * i * STARTS_AT_ONCE, sums + i * step, base,
                         i == 0 && base == 0 ? top.bottom_prior : 0);
    }
#pragma unroll
    for (int apart = SUBTILE; apart < VF_WARP; apart *= 2) {
        const candidate other = {__shfl_xor_sync(VF_ALL, best.cost, apart), __shfl_xor_sync(VF_ALL, best.base, apart)};
        if (other.cost < best.cost || (other.cost == best.cost && other.base < best.base)) best = other;
    }
    if (group == 0) atomicMin(to, best_key(best.cost, best.base));
}

/** Tries all rows of the tile just below as bases of objects that end in `tile`, by all warps of the block. */
static __device__ __forceinline__ void try_tile_below(const vf_column_model &model, const column_memory &c, int tile)
{
    for (int task = threadIdx.x / VF_WARP; task < NEAR_TASKS; task += blockDim.x / VF_WARP) {
        const int r = task % SUBTILES * SUBTILE + threadIdx.x % SUBTILE, v = tile * TILE + r;
        try_starts<true, STEPS_OF_TILE * SUBTILES / NEAR_TASKS>(
            c, object_top_at(model, c, v, sums_of(c, tile) + (r + 1) * c.stride), near_best_of(c, tile) + r, tile - 1,
            task / SUBTILES * (STEPS_OF_TILE * SUBTILES / NEAR_TASKS));
    }
}

/** 1 if every object with its base at most at row last_below and its top at least at row first_above has a valid
 *  disparity. */
static __device__ __forceinline__ bool always_valid(const column_memory &c, int last_below, int first_above)
{
    return c.valid[first_above + 1] != c.valid[last_below];
}

/** Tries the rows of a subtile as bases of objects that end in a higher tile, one lane per top row. start: object
 *  starts of the subtile's rows; sums: byte offset of the prefix sums below its first row; words: from the sums of one
 *  row to the next; to: key of the best object of the lane's top, lowered. */
template <bool HOLES>
static __device__ __forceinline__ void try_subtile(const column_memory &c, const object_top &top,
                                                   unsigned long long *to, int subtile, const int4 *start, int sums,
                                                   int words)
{
    candidate best = {VF_STIXEL_COST_MAX, 0};
#pragma unroll 4
    for (int i = 0; i < SUBTILE; i++)
        try_start<HOLES>(c, &best, top, start + 3 * i, sums + i * words * 4, subtile * SUBTILE + i,
                         i == 0 && subtile == 0 ? top.bottom_prior : 0);
    atomicMin(to, best_key(best.cost, best.base));
}

/** Tries the rows of a subtile two tiles below `tile` as bases of objects that end in `tile`. Its prefix sums are in
 *  c.sums. */
static __device__ __forceinline__ void try_near_subtile(const vf_column_model &model, const column_memory &c, int tile,
                                                        int subtile)
{
    const int lane = threadIdx.x % VF_WARP, below = subtile / SUBTILES, r = subtile % SUBTILES * SUBTILE;
    const object_top top = object_top_at(model, c, tile * TILE + lane, sums_of(c, tile) + (lane + 1) * c.stride);
    try_subtile<true>(c, top, near_best_of(c, tile) + lane, subtile, starts_of(c, below) + 3 * r,
                      offset_of(c, sums_of(c, below) + r * c.stride), c.stride);
}

/** Tries the rows of a subtile more than two tiles below `tile` as bases of objects that end in `tile`. Makes its
 *  prefix sums and loads its object starts in the warp's workspace. */
template <int WIDE>
static __device__ __forceinline__ void try_far_subtile(const vf_stixel_view &s, const vf_column_model &model,
                                                       const column_memory &c, int tile, int subtile)
{
    const int lane = threadIdx.x % VF_WARP;
    const int4 one = c.all_starts[3 * subtile * SUBTILE + vf_min(lane, 3 * SUBTILE - 1)];
    int32_t *workspace = make_subtile_sums<WIDE>(s, c, subtile);
    int4 *start = reinterpret_cast<int4 *>(workspace + SUBTILE * c.pitch);
    if (lane < 3 * SUBTILE) start[lane] = one;
    const object_top top = object_top_at(model, c, tile * TILE + lane, sums_of(c, tile) + (lane + 1) * c.stride);
    unsigned long long *to = far_best_of(c, tile) + lane;
    __syncwarp();
    if (always_valid(c, subtile * SUBTILE + SUBTILE - 1, tile * TILE))
        try_subtile<false>(c, top, to, subtile, start, offset_of(c, workspace), c.pitch);
    else
        try_subtile<true>(c, top, to, subtile, start, offset_of(c, workspace), c.pitch);
}

/** Lower bound of the cost of an object that begins in a subtile and reaches the bottom of a higher tile. It is
 *  start_min of the subtile, plus the cost of the rows between subtile and tile at the cheapest integer mean. above:
 *  prefix sums of object costs below the tile. */
template <int WIDE>
static __device__ __forceinline__ int32_t lower_bound(const column_memory &c, const lane_means<WIDE> &above,
                                                      int subtile)
{
    lane_means<WIDE> below;
    int32_t least = INT32_MAX;
    below.load(c.subtile_sum + (subtile + 1) * WIDE * VF_WARP);
#pragma unroll
    for (int k = 0; k < WIDE; k++) least = vf_min(least, above.sum[k] - below.sum[k]);
    return c.start_min[subtile] + (int32_t)vf_warp_min((uint32_t)least);
}

/* ---- pairs within a tile ----------------------------------------------------------------------------------------- */

/** Offset in a tile's triangle of row pairs: the pair of base row j and top row r >= j is at triangle_row(j) + r, rows
 *  0 .. TILE - 1 of the tile. Pairs of a base in the upper half fill up those of a base in the lower half. */
static __device__ __forceinline__ int triangle_row(int j)
{
    return j < TILE / 2 ? j * TRIANGLE_PITCH + 1 : (TILE - 1 - j) * TRIANGLE_PITCH - j;
}

/** Transition costs from an object to a nearer (lower half of the result) and to a farther object (upper half) above
 *  it. mean, range: mean disparity and depth range of the lower object [px/256]. */
static __device__ __forceinline__ int32_t nearer_farther_costs(const vf_column_model &model, int32_t mean,
                                                               int32_t range)
{
    return (int32_t)__byte_perm((uint32_t)vf_object_nearer_cost(&model, mean, range),
                                (uint32_t)vf_object_farther_cost(&model, mean, range), 0x5410);
}

/** Computes row pairs within a tile, one lane per pair at a time: two steps of STARTS_AT_ONCE base rows with the top
 *  rows of a subtile. task: 0 .. PAIR_TASKS - 1, chooses base and top rows. */
static __device__ __forceinline__ void make_pairs(const vf_stixel_view &s, const vf_column_model &model,
                                                  const column_memory &c, int tile, int task)
{
    const int subtile = (task >= 1) + (task >= 3) + (task >= 6), first = 2 * (task - subtile * (subtile + 1) / 2),
              lane = threadIdx.x % VF_WARP;
    const int row = subtile * SUBTILE + lane % SUBTILE, top = tile * TILE + row, last = model.height - 1;
    const int32_t *sums = sums_of(c, tile), *through = sums + (row + 1) * c.stride;
    const vf_transition *transition = s.scratch->transition;
    const uint32_t twice_one = c.twice[top + 1] + 1, valid = c.valid[top + 1];
    row_pair *to = pairs_of(c, tile) + row;
#pragma unroll
    for (int i = first; i < first + 2; i++) {
        const int j = i * STARTS_AT_ONCE + lane / SUBTILE, base = tile * TILE + j;
        const vf_transition b = transition[vf_min(base, last)];
        const uint32_t inverse = c.inverse_q31[row >= j ? valid - c.valid[base] : 0],
                       mean = (uint32_t)vf_stixel_mean(twice_one - c.twice[base], inverse);
        const uint32_t bin = mean / VF_STIXEL_PX;
        const int32_t range = model.tables->object_range_q8[bin], is = (int32_t)mean,
                      none = inverse ? INT32_MIN : VF_STIXEL_FORBIDDEN;
        const int32_t data = through[bin] - sums[j * c.stride + bin] + b.length_cost + model.segment_cost +
                             (base ? 0 : vf_stixel_bottom_prior(&model, top));
        row_pair p;
        p.object = vf_max(data + b.object_cost, none);
        p.background = vf_max(data + (is > b.above_q8   ? b.above_cost
                                      : is < b.below_q8 ? b.below_cost
                                                        : b.between_cost),
                              none);
        p.mean_range = __byte_perm(mean, (uint32_t)range, 0x5410);
        p.nearer_farther = nearer_farther_costs(model, is, range);
        /* Keeps the computation out of the branch below, so that both iterations of the loop overlap. */
        asm volatile("" ::"r"(p.nearer_farther), "r"(p.object), "r"(p.background));
        if (row >= j) to[triangle_row(j)] = p;
    }
}

#endif

#endif
