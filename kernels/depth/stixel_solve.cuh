/* SPDX-License-Identifier: MIT */
/* stixel_solve: the dynamic programme of a column, tile by tile. Warp 0, the serial warp, finishes the rows of the
 * current tile one after the other; the other warps, the workers, prepare the next tile meanwhile.
 *
 * A row depends on the row below through the least costs there, not through the costs of pairs of rows. So the serial
 * warp needs no barrier within a tile: it has a lane a row, the costs of what ends at a row are passed on by shuffles,
 * and each later row of the tile takes them if they are better. Costs of pairs, but for what lies below, are worked out
 * by the workers (make_pairs); so a row of the serial warp is two selections, two minima, a comparison and a shuffle
 * for each of the four values that the next row needs.
 *
 * Bases in the tile just finished are tried for the next by all warps (try_tile_below); those in the tile before it by
 * the workers while the serial warp runs (try_near_subtile), and then those that lie lower (try_far_subtile), unless
 * their lower bound is above the cost of the best object found by now (lower_bound). The subtile in which the best
 * object of a lower tile began is tried first of all: where that object goes on, hardly another one is tried. So the
 * time depends on the picture, and is bounded by the time of a picture in which no base can be ruled out. */
#ifndef VF_STIXEL_SOLVE_CUH
#define VF_STIXEL_SOLVE_CUH

#include "stixel_objects.cuh"
#include "stixel_result.cuh"

#if VFRONT_STIXELS

#define BOUNDS_AT_ONCE 4 /* subtiles whose lower bounds a warp computes together */
#define PREFETCH 3       /* rows ahead of which the serial warp reads */
/* In place of a transition that does not exist: with it a cost is above VF_STIXEL_COST_MAX, and with
 * VF_STIXEL_IMPOSSIBLE and VF_STIXEL_FORBIDDEN as well it still fits 32 bits. */
#define NEITHER (1 << 29)

/** vf_object_end in which both transitions are packed as in row_pair, without the cost of the rows up to the object's
 *  top: one value less to pass on. */
struct packed_end {
    int32_t nearer_q8, farther_q8, nearer_farther, background_cost;
};
static __device__ __forceinline__ packed_end packed_end_none()
{
    return packed_end{VF_STIXEL_IMPOSSIBLE, -1, 0, VF_STIXEL_IMPOSSIBLE};
}
/** Arguments as vf_object_end_at(). */
static __device__ __forceinline__ packed_end packed_end_at(const vf_column_model &model, int32_t cost, int32_t mean)
{
    const int32_t range = model.tables->object_range_q8[(uint32_t)mean / VF_STIXEL_PX];
    return packed_end{mean + range, mean - range, nearer_farther_costs(model, mean, range),
                      cost < VF_STIXEL_COST_MAX ? cost : VF_STIXEL_IMPOSSIBLE};
}
static __device__ __forceinline__ int32_t nearer_of(int32_t nearer_farther) { return (int16_t)nearer_farther; }
static __device__ __forceinline__ int32_t farther_of(int32_t nearer_farther) { return nearer_farther >> 16; }
static __device__ __forceinline__ vf_object_end unpacked(const packed_end &e)
{
    return vf_object_end{e.nearer_q8, e.farther_q8, e.background_cost + nearer_of(e.nearer_farther),
                         e.background_cost + farther_of(e.nearer_farther), e.background_cost};
}

/** State that the serial warp carries from row to row, the same in every lane. */
struct serial_state {
    packed_end object;             /* best object that ended at the row before */
    int32_t background;            /* least cost of all rows up to the row before that ends as ground or sky */
    int32_t open, background_back; /* open segment of ground or sky: vf_background_open(), and its back-pointer */
};

/** Row of the background recursion in one load. */
static __device__ __forceinline__ vf_background_step step_of(const int4 &four)
{
    return vf_background_step{four.x, four.y, four.z, four.w};
}

/** Rows of a tile of the background recursion, by one warp, a lane a row. */
static __device__ __forceinline__ void make_steps(const vf_stixel_view &s, const vf_column_model &model,
                                                  const column_memory &c, int tile)
{
    const int v = tile * TILE + threadIdx.x % VF_WARP;
    const vf_transition b = s.scratch->transition[vf_min(v, model.height - 1)];
    const vf_background_step step = vf_background_step_at(&model, &b, v, c.background_sum[v], c.background_sum[v + 1]);
    c.steps[tile % 2 * TILE + v % TILE] = make_int4(step.after_object, step.after_ground, step.sum, step.reset);
}

/* ---- serial warp ------------------------------------------------------------------------------------------------- */

/** Lower bound of the object costs of the rows from a base up to the top of its subtile. */
static __device__ __forceinline__ int32_t rest_of_subtile_min(const column_memory &c, int base, int rows)
{
    const int32_t through = c.object_cost_min[vf_min((base / SUBTILE + 1) * SUBTILE, rows)];
    return through - (base % TILE ? c.object_cost_min[base] : 0);
}

/** Writes the object start of a row, in a lane; rest_min: rest_of_subtile_min(); other arguments as
 *  vf_object_start_at(). */
static __device__ __forceinline__ void write_start(const column_memory &c, const vf_transition &b, int32_t segment_cost,
                                                   int base, const vf_object_end &end, int32_t background,
                                                   int32_t rest_min)
{
    const vf_object_start o = vf_object_start_at(&b, segment_cost, &end, background);
    const int4 one = make_int4(o.above_q8, o.below_q8, o.above_cost, o.below_cost);
    const int4 two = make_int4(o.between_cost, o.nearer_q8, o.farther_q8, o.nearer_cost);
    const int4 three = make_int4(o.farther_cost, (int32_t)c.twice[base], 4 * c.valid[base], 0);
    int4 *near = starts_of(c, base / TILE) + 3 * (base % TILE), *all = c.all_starts + 3 * base;
    near[0] = all[0] = one;
    near[1] = all[1] = two;
    near[2] = all[2] = three;
    const int32_t least = vf_min(vf_min(vf_min(one.z, one.w), vf_min(two.x, two.w)), three.x);
    atomicMin(&c.start_min[base / SUBTILE], least + rest_min);
}

/** Back-pointer of the ground or sky that ends at the row of a lane, from the costs that the serial warp found. before:
 *  state below the tile; object, background: cost of what ends at the row, as in serial_state. Leaves the topmost row's
 *  in f for the next tile. */
static __device__ __forceinline__ int32_t find_background_back(serial_state *f, const serial_state &before, int v,
                                                               int4 four, int32_t object, int32_t background)
{
    const int lane = threadIdx.x % VF_WARP;
    const vf_background_step step = step_of(four);
    const int32_t open = background - step.sum, open_below = __shfl_up_sync(VF_ALL, open, 1),
                  object_below = __shfl_up_sync(VF_ALL, object, 1),
                  background_below = __shfl_up_sync(VF_ALL, background, 1);
    const int type = vf_background_predecessor(&step, lane ? open_below : before.open,
                                               lane ? object_below : before.object.background_cost,
                                               lane ? background_below : before.background);
    const unsigned begun = __ballot_sync(VF_ALL, type >= 0) & (2u << lane) - 1;
    const int32_t here = __shfl_sync(VF_ALL, vf_back_pointer(v, type), 31 - __clz((int)begun)),
                  back = begun ? here : before.background_back;
    f->background_back = __shfl_sync(VF_ALL, back, VF_WARP - 1);
    return back;
}

/** Finishes the rows of a tile one after the other, by the serial warp. Every instruction of the loop counts: all else
 *  waits for it. */
static __device__ __forceinline__ void solve_tile(const vf_stixel_view &s, const vf_column_model &model,
                                                  const column_memory &c, int tile, serial_state *f)
{
    const int lane = threadIdx.x % VF_WARP, v = tile * TILE + lane;
    const row_pair *pairs = pairs_of(c, tile) + lane;
    const int4 *steps = c.steps + tile % 2 * TILE;
    const vf_transition above = s.scratch->transition[vf_min(v + 1, model.height - 1)];
    const serial_state before = *f;
    unsigned long long *near = near_best_of(c, tile) + lane, *far = far_best_of(c, tile) + lane,
                       key = *far < *near ? *far : *near;
    *near = *far = best_key(VF_STIXEL_COST_MAX, 0); /* for the tile after the next */
    packed_end mine = packed_end_at(model, key_cost(key), mean_between(c, key_base(key), v));
    int32_t limit = key_cost(key); /* cost that an object must be below; of finished rows INT32_MIN */
    int base = -1;                 /* of the best object, a row of the tile; -1: below the tile, as in key */
    row_pair next_pair[PREFETCH];
    int4 next_step[PREFETCH];
#pragma unroll
    for (int j = 0; j < PREFETCH; j++) {
        next_pair[j] = pairs[triangle_row(j)];
        next_step[j] = steps[j];
    }
#pragma unroll
    for (int j = 0; j < TILE; j++) {
        const row_pair p = next_pair[j % PREFETCH];
        const vf_background_step step = step_of(next_step[j % PREFETCH]);
        if (j + PREFETCH < TILE) { /* lanes below the row read anything, and do not use it */
            next_pair[j % PREFETCH] = pairs[triangle_row(j + PREFETCH)];
            next_step[j % PREFETCH] = steps[j + PREFETCH];
        }
        const int32_t background = f->background; /* that ends below the row */
        f->open = vf_background_open(&step, f->open, f->object.background_cost, background);
        f->background = f->open + step.sum;
        if (lane == 0) c.background[j] = f->background;
        const int mean = (int)(p.mean_range & 0xffff), range = (int)(p.mean_range >> 16);
        /* Of both transitions at most one exists. Two selections side by side, not one after the other. */
        const int32_t data = f->object.background_cost + p.object,
                      nearer = mean > f->object.nearer_q8 ? nearer_of(f->object.nearer_farther) : NEITHER,
                      farther = mean < f->object.farther_q8 ? farther_of(f->object.nearer_farther) : NEITHER;
        const int32_t cost = vf_min(nearer + data, vf_min(farther + data, background + p.background));
        const bool better = cost < limit; /* selections one by one, without a branch */
        base = better ? j : base;
        limit = better ? cost : limit;
        limit = lane == j ? INT32_MIN : limit;
        mine.background_cost = better ? cost : mine.background_cost;
        mine.nearer_q8 = better ? mean + range : mine.nearer_q8;
        mine.farther_q8 = better ? mean - range : mine.farther_q8;
        mine.nearer_farther = better ? p.nearer_farther : mine.nearer_farther;
        f->object.nearer_q8 = __shfl_sync(VF_ALL, mine.nearer_q8, j);
        f->object.farther_q8 = __shfl_sync(VF_ALL, mine.farther_q8, j);
        f->object.background_cost = __shfl_sync(VF_ALL, mine.background_cost, j);
        f->object.nearer_farther = __shfl_sync(VF_ALL, mine.nearer_farther, j);
    }
    const int32_t rest_min = rest_of_subtile_min(c, v + 1, tiles_of(model.height) * TILE);
    __syncwarp();
    const int32_t background = c.background[lane];
    c.background_back[v] = (uint16_t)find_background_back(f, before, v, steps[lane], mine.background_cost, background);
    c.background_cost[v] = background;
    c.best_object[v] = base >= 0 ? best_key(mine.background_cost, tile * TILE + base) : key;
    write_start(c, above, model.segment_cost, v + 1, unpacked(mine), background, rest_min);
    __syncwarp(); /* before the next tile's costs take the place of these */
}

/* ---- workers ----------------------------------------------------------------------------------------------------- */

/** Cost of the best object found by now that ends at the row of a lane, of all that are tried below the tile. Another
 *  warp may be about to find a better one. */
static __device__ __forceinline__ int32_t best_cost_of(const column_memory &c, int tile)
{
    const volatile unsigned long long *near = near_best_of(c, tile), *far = far_best_of(c, tile);
    const int lane = threadIdx.x % VF_WARP;
    return vf_min(key_cost(near[lane]), key_cost(far[lane]));
}

/** Prepares the tile above the current one, by the workers: bases two tiles below it, pairs within it and rows of the
 *  background recursion; then of the lower subtiles those whose lower bound allows a better object; then the sums of
 *  the tile after it. */
template <int WIDE>
static __device__ __forceinline__ void prepare_next_tile(const vf_stixel_view &s, const vf_column_model &model,
                                                         const column_memory &c, int tile)
{
    const int lane = threadIdx.x % VF_WARP, worker = threadIdx.x / VF_WARP - 1, workers = blockDim.x / VF_WARP - 1,
              next = tile + 1;
    const int near_subtiles = tile ? SUBTILES : 0, far_subtiles = vf_max(tile - 1, 0) * SUBTILES;
    if (next >= tiles_of(model.height)) return;
    const int likely = tile ? key_base(c.best_object[tile * TILE - 1]) / SUBTILE : 0; /* a long one may go on */
    if (worker == 0 && likely < far_subtiles) try_far_subtile<WIDE>(s, model, c, next, likely);
    /* Worker 0 comes last: of 15 workers it has one short task. */
    for (int task = worker ? worker - 1 : workers - 1; task <= near_subtiles + PAIR_TASKS; task += workers) {
        if (task < near_subtiles)
            try_near_subtile(model, c, next, tile * SUBTILES - 1 - task);
        else if (task < near_subtiles + PAIR_TASKS)
            make_pairs(s, model, c, next, task - near_subtiles);
        else
            make_steps(s, model, c, next);
    }
    lane_means<WIDE> above;
    above.load(c.subtile_sum + next * SUBTILES * WIDE * VF_WARP);
    const int32_t rows_min = c.object_cost_min[next * TILE + lane + 1]; /* of the tile's rows up to the lane's */
    int32_t bounds[BOUNDS_AT_ONCE];
    const auto find_bounds = [&](int first) {
#pragma unroll
        for (int k = 0; k < BOUNDS_AT_ONCE; k++)
            bounds[k] = lower_bound<WIDE>(c, above, vf_max(first - k * c.workspaces, 0));
    };
    int first = worker < c.workspaces ? far_subtiles - 1 - worker : -1;
    if (first >= 0) find_bounds(first);
    worker_barrier(workers * VF_WARP);
    for (; first >= 0; first -= BOUNDS_AT_ONCE * c.workspaces) {
#pragma unroll 1
        for (int k = 0; k < BOUNDS_AT_ONCE && first - k * c.workspaces >= 0; k++) {
            const int32_t least = k == 0 ? bounds[0] : k == 1 ? bounds[1] : k == 2 ? bounds[2] : bounds[3];
            const int subtile = first - k * c.workspaces;
            if (subtile != likely && __any_sync(VF_ALL, least + rows_min <= best_cost_of(c, next)))
                try_far_subtile<WIDE>(s, model, c, next, subtile);
        }
        if (first >= BOUNDS_AT_ONCE * c.workspaces) find_bounds(first - BOUNDS_AT_ONCE * c.workspaces);
    }
    if (next + 1 < tiles_of(model.height)) make_tile_sums<WIDE>(s, c, next + 1, workers - 1 - worker, workers);
}

/* ---- column ------------------------------------------------------------------------------------------------------ */

/** Solves the column with the extra cost of a segment in model, by all threads. Returns, in every thread, the number of
 *  segments, whose tops and classes are listed. */
template <int WIDE>
static __device__ int solve_column(const vf_stixel_view &s, const vf_column_model &model, const column_memory &c,
                                   uint16_t *object_back, uint16_t *list)
{
    const int warp = threadIdx.x / VF_WARP, warps = blockDim.x / VF_WARP, tiles = tiles_of(model.height);
    serial_state f = {packed_end_none(), 0, vf_background_at_bottom(&model), 0};
    __syncthreads();
    for (int i = threadIdx.x; i < 4 * TILE; i += blockDim.x) c.best[i] = best_key(VF_STIXEL_COST_MAX, 0);
    for (int i = threadIdx.x; i <= tiles * SUBTILES; i += blockDim.x) c.start_min[i] = INT32_MAX;
    __syncthreads();
    if (threadIdx.x == 0)
        write_start(c, s.scratch->transition[0], model.segment_cost, 0, vf_object_end_none(), 0,
                    rest_of_subtile_min(c, 0, tiles * TILE));
    for (int tile = 0; tile < vf_min(2, tiles); tile++)
        make_tile_sums<WIDE>(s, c, tile, (warp + tile * SUBTILES) % warps, warps);
    if (warp == warps - 1) make_steps(s, model, c, 0);
    __syncthreads();
    for (int task = warp; task < PAIR_TASKS; task += warps) make_pairs(s, model, c, 0, task);
    for (int tile = 0; tile < tiles; tile++) {
        __syncthreads();
        if (tile) try_tile_below(model, c, tile);
        __syncthreads();
        if (warp == 0)
            solve_tile(s, model, c, tile, &f);
        else
            prepare_next_tile<WIDE>(s, model, c, tile);
    }
    __syncthreads();
    link_objects(model, c, object_back);
    __syncthreads();
    if (threadIdx.x == 0) *c.count = backtrack(model, c, object_back, list);
    __syncthreads();
    return *c.count;
}

#endif

#endif
