/* SPDX-License-Identifier: MIT */
/* stixel_solve: dynamic programming of a column, tile by tile (32 rows). Warp 0, the serial warp, solves the rows of
 * the current tile in order, while the other warps, the workers, prepare the next tile.
 *
 * The serial warp has one lane per row of the tile, and needs no barrier within the tile. It takes each row in turn as
 * the base of objects, whose top rows are the rows of the lanes. Workers have prepared the cost of each such object
 * without the rows below its base (make_pairs()). Each lane adds the least cost of the rows below the base, and keeps
 * the object if it is the cheapest so far. Then shuffles pass the best object that ends at the base row to all lanes.
 *
 * An object that ends in a tile may also begin below that tile. All warps try the base rows in the first tile below it,
 * once that tile is solved (try_tile_below()). While that tile is being solved, workers try the base rows in the second
 * tile below (try_near_subtile()) and in all lower tiles (try_far_subtile()). They work by subtiles (8 rows). A subtile
 * of the lower tiles is skipped if its lower bound exceeds the cost of the best object so far (lower_bound()). The
 * first of these subtiles is where the best object begins that ends just below the tile being solved. That object may
 * continue, and then its cost excludes most other subtiles. The time depends on the image, and is longest if no subtile
 * is skipped. */
#ifndef VF_STIXEL_SOLVE_CUH
#define VF_STIXEL_SOLVE_CUH

#include "stixel_objects.cuh"
#include "stixel_result.cuh"

#if VFRONT_STIXELS

#define BOUNDS_AT_ONCE 4 /* subtiles whose lower bounds a warp computes together */
#define PREFETCH 3       /* rows whose input the serial warp loads ahead */
/* Cost of a transition to an object that does not exist. Sums with it exceed VF_STIXEL_COST_MAX, and fit 32 bits even
 * with VF_STIXEL_IMPOSSIBLE and VF_STIXEL_FORBIDDEN added. */
#define NEITHER (1 << 29)

/** vf_object_end in four words instead of five. Both transition costs are packed as in row_pair, without the cost of
 *  the rows up to the object's top. One value less is thus passed from row to row. */
struct packed_end {
    int32_t nearer_q8, farther_q8, nearer_farther, background_cost;
};
static __device__ __forceinline__ packed_end packed_end_none()
{
    return packed_end{VF_STIXEL_IMPOSSIBLE, -1, 0, VF_STIXEL_IMPOSSIBLE};
}
/** vf_object_end_at() in packed form, with the same arguments. */
static __device__ __forceinline__ packed_end packed_end_at(const vf_column_model &model, int32_t cost, int32_t mean)
{
    const int32_t range = model.tables->object_range_q8[(uint32_t)mean / VF_STIXEL_PX];
    return packed_end{mean + range, mean - range, nearer_farther_costs(model, mean, range),
                      cost < VF_STIXEL_COST_MAX ? cost : VF_STIXEL_IMPOSSIBLE};
}
/** Cost of the transition to a nearer object, from row_pair.nearer_farther. */
static __device__ __forceinline__ int32_t nearer_of(int32_t nearer_farther) { return (int16_t)nearer_farther; }
/** Cost of the transition to a farther object, from row_pair.nearer_farther. */
static __device__ __forceinline__ int32_t farther_of(int32_t nearer_farther) { return nearer_farther >> 16; }
static __device__ __forceinline__ vf_object_end unpacked(const packed_end &e)
{
    return vf_object_end{e.nearer_q8, e.farther_q8, e.background_cost + nearer_of(e.nearer_farther),
                         e.background_cost + farther_of(e.nearer_farther), e.background_cost};
}

/** State of the serial warp from row to row, equal in every lane. */
struct serial_state {
    packed_end object;   /* best object that ends at the previous row */
    int32_t background;  /* least cost of all rows up to the previous row, if that row ends ground or sky */
    int32_t open,        /* vf_background_open() of the ground or sky that continues at the previous row */
        background_back; /* back-pointer of that ground or sky: its base row and the class below it */
};

/** vf_background_step from its four words in column_memory.steps. */
static __device__ __forceinline__ vf_background_step step_of(const int4 &four)
{
    return vf_background_step{four.x, four.y, four.z, four.w};
}

/** Makes the steps of the background recursion (ground and sky) for the rows of a tile, by one warp, one lane per
 *  row. */
static __device__ __forceinline__ void make_steps(const vf_stixel_view &s, const vf_column_model &model,
                                                  const column_memory &c, int tile)
{
    const int v = tile * TILE + threadIdx.x % VF_WARP;
    const vf_transition b = s.scratch->transition[vf_min(v, model.height - 1)];
    const vf_background_step step = vf_background_step_at(&model, &b, v, c.background_sum[v], c.background_sum[v + 1]);
    c.steps[tile % 2 * TILE + v % TILE] = make_int4(step.after_object, step.after_ground, step.sum, step.reset);
}

/* ---- serial warp ------------------------------------------------------------------------------------------------- */

/** Lower bound of the object costs of the rows from `base` to the top of its subtile. rows: number of rows in all
 *  tiles. */
static __device__ __forceinline__ int32_t rest_of_subtile_min(const column_memory &c, int base, int rows)
{
    const int32_t through = c.object_cost_min[vf_min((base / SUBTILE + 1) * SUBTILE, rows)];
    return through - (base % TILE ? c.object_cost_min[base] : 0);
}

/** Writes the object start (costs of beginning an object) of row `base`, by one lane. rest_min: rest_of_subtile_min()
 *  of the row; other arguments as of vf_object_start_at(). */
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

/** Finds the back-pointer of the ground or sky that ends at the row of a lane, from the costs of the serial warp. four:
 *  words of the row's vf_background_step; before: state below the tile; object: least cost of all rows up to the lane's
 *  row, if an object ends there; background: if ground or sky ends there. Stores the topmost row's back-pointer in f
 *  for the next tile. */
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

/** Solves the rows of a tile in order, by the serial warp. Every instruction of its loop counts, because all other
 *  warps wait for it. */
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
    *near = *far = best_key(VF_STIXEL_COST_MAX, 0); /* reset for the tile after the next, which uses the same entries */
    packed_end mine = packed_end_at(model, key_cost(key), mean_between(c, key_base(key), v));
    int32_t limit = key_cost(key); /* cost that a new object must undercut; INT32_MIN in lanes of solved rows */
    int base = -1; /* base of the best object, if it lies in the tile, 0 .. TILE - 1; -1: below the tile, as in key */
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
        if (j + PREFETCH < TILE) { /* lanes whose row lies below read values that they do not use */
            next_pair[j % PREFETCH] = pairs[triangle_row(j + PREFETCH)];
            next_step[j % PREFETCH] = steps[j + PREFETCH];
        }
        /* least cost of all rows below this row, if ground or sky ends there */
        const int32_t background = f->background;
        f->open = vf_background_open(&step, f->open, f->object.background_cost, background);
        f->background = f->open + step.sum;
        if (lane == 0) c.background[j] = f->background;
        const int mean = (int)(p.mean_range & 0xffff), range = (int)(p.mean_range >> 16);
        /* At most one of two transitions exists, to a nearer or to a farther object. Their selections are independent,
         * so that they overlap. */
        const int32_t data = f->object.background_cost + p.object,
                      nearer = mean > f->object.nearer_q8 ? nearer_of(f->object.nearer_farther) : NEITHER,
                      farther = mean < f->object.farther_q8 ? farther_of(f->object.nearer_farther) : NEITHER;
        const int32_t cost = vf_min(nearer + data, vf_min(farther + data, background + p.background));
        const bool better = cost < limit; /* separate selections follow, without a branch */
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
    __syncwarp(); /* all lanes have read c.background, which the next tile overwrites */
}

/* ---- workers ----------------------------------------------------------------------------------------------------- */

/** Cost of the best object so far that ends at a lane's row of the tile. It may be too high, because other warps lower
 *  it meanwhile; then at most a subtile is tried in vain. */
static __device__ __forceinline__ int32_t best_cost_of(const column_memory &c, int tile)
{
    const volatile unsigned long long *near = near_best_of(c, tile), *far = far_best_of(c, tile);
    const int lane = threadIdx.x % VF_WARP;
    return vf_min(key_cost(near[lane]), key_cost(far[lane]));
}

/** Prepares the tile above the current one, by the workers. First: objects that begin two tiles below it, row pairs
 *  within it, and steps of the background recursion. Then: objects that begin in lower subtiles whose lower bound
 *  allows a better one. Last: prefix sums of object costs of the tile after it. tile: the current tile. */
template <int WIDE>
static __device__ __forceinline__ void prepare_next_tile(const vf_stixel_view &s, const vf_column_model &model,
                                                         const column_memory &c, int tile)
{
    const int lane = threadIdx.x % VF_WARP, worker = threadIdx.x / VF_WARP - 1, workers = blockDim.x / VF_WARP - 1,
              next = tile + 1;
    const int near_subtiles = tile ? SUBTILES : 0, far_subtiles = vf_max(tile - 1, 0) * SUBTILES;
    if (next >= tiles_of(model.height)) return;
    /* subtile where the best object below the tile begins; a long object may continue */
    const int likely = tile ? key_base(c.best_object[tile * TILE - 1]) / SUBTILE : 0;
    if (worker == 0 && likely < far_subtiles) try_far_subtile<WIDE>(s, model, c, next, likely);
    /* Worker 0 takes its tasks last: of 15 workers, it gets only make_steps(), which is short. */
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
    /* lower bound of the object costs of the next tile's rows up to the lane's row */
    const int32_t rows_min = c.object_cost_min[next * TILE + lane + 1];
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

/** Solves the column with the extra cost model.segment_cost of each segment, by all threads. Lists tops and classes of
 *  the segments, and returns their number to every thread. */
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
