/* SPDX-License-Identifier: MIT */
/* stixel on the GPU, in three launches. In the first a block reduces some rows to columns and counts their disparities. In the second a block
 * finds the best line of an angle, and the one that is done last the road. In the third a block cuts a column.
 *
 * Rows depend on one another, but only what a row may cost at best does, not what pairs of rows cost. So one warp, the front, finishes a tile of
 * rows one after the other without a barrier, a lane a row: what a row cost is passed on by shuffles, and each later row of the tile takes
 * it if it is better. Pairs within the tile, and pairs with the tiles right below, are worked out by all warps just before; pairs
 * of rows that are farther apart by the other warps meanwhile, GROUP tiles of beginnings at a time, so that the sums of costs of the tile where they
 * end are made once for so many. Three barriers a tile, not one a row. */
#include "kernel.cuh"

#include "../src/stixel.h"

#if VFRONT_STIXELS

#define TILE VF_STIXEL_TILE
#define FAR 8 /* warps beside the front */
#define THREADS ((FAR + 1) * VF_WARP)
#define BUILDERS (FAR * VF_WARP)

/* ---- reduction ----------------------------------------------------------------------------------------------------------------- */

#define ROWS 4
#define REDUCERS 256

static __global__ void __launch_bounds__(REDUCERS) reduce_k(const vf_step s)
{
    __shared__ uint32_t count[ROWS][VFRONT_DISPARITIES];
    vf_stixel_memory &m = s.memory->stixel;
    const vf_level &l = s.geometry.level[0][0];
    const int disparities = s.tuning.dense_disparities, columns = vf_stixel_columns(&s), width = s.tuning.stixel_width_px, thread = threadIdx.x;
    const int y0 = blockIdx.x * ROWS, rows = vf_min(ROWS, l.height - y0);
    const uint16_t *from = s.memory->dense.disparity + (size_t)y0 * l.pitch;
    if (thread == 0) vf_clock_start(s, VF_stixel, blockIdx.x);
    for (int i = thread; i < ROWS * VFRONT_DISPARITIES; i += REDUCERS) count[i / VFRONT_DISPARITIES][i % VFRONT_DISPARITIES] = 0;
    __syncthreads();
    for (int r = 0; r < rows; r++)
        for (int x = thread; x < l.width; x += REDUCERS) {
            const int bin = vf_road_bin(from[r * l.pitch + x], disparities);
            if (bin) atomicAdd(&count[r][bin], 1u);
        }
    for (int i = thread; i < columns * ROWS; i += REDUCERS) {
        const int r = i % ROWS, column = i / ROWS;
        if (r >= rows) continue;
        const uint32_t value = vf_stixel_reduce(from + r * l.pitch + column * width, width, s.tuning.stixel_median, VF_DENSE_UNITS, disparities);
        m.column[column][l.height - 1 - y0 - r] = (uint16_t)value;
    }
    __syncthreads();
    const int r = thread / VF_WARP, lane = thread % VF_WARP;
    if (r >= rows) return;
    uint32_t most = 0; /* of the warp's row; none are counted at 0 */
    for (int d = lane; d < disparities; d += VF_WARP) most = max(most, count[r][d]);
    most = ~vf_warp_min(~most);
    for (int first = 0; first < disparities; first += VF_WARP) {
        const uint32_t voters = __ballot_sync(VF_ALL, vf_road_votes(count[r][first + lane], most, l.width));
        if (lane == 0) m.voter[((y0 + r) * disparities + first) / 32] = voters;
    }
}

/* ---- road ------------------------------------------------------------------------------------------------------------------------ */

#define VOTERS 512

/** Calls work(bin, row) for the cells of the thread that vote. */
template <typename Work> static __device__ __forceinline__ void each_voter(const vf_step &s, Work work)
{
    const vf_stixel_memory &m = s.memory->stixel;
    const int disparities = s.tuning.dense_disparities, words = disparities * s.geometry.level[0][0].height / 32;
    for (int i = threadIdx.x; i < words; i += VOTERS)
        for (uint32_t left = m.voter[i]; left; left &= left - 1) {
            const int at = i * 32 + __ffs((int)left) - 1;
            work(at % disparities, at / disparities);
        }
}

/** The best line of the block's angle. */
static __device__ uint64_t best_line(const vf_step &s)
{
    __shared__ int votes[VFRONT_HEIGHT + VFRONT_DISPARITIES + 2];
    __shared__ unsigned long long best;
    const vf_stixel_tables &t = s.memory->stixel.tables;
    const int disparities = s.tuning.dense_disparities, all = s.geometry.level[0][0].height + disparities + 2, angle = blockIdx.x;
    const double sine = t.sine[angle], cosine = t.cosine[angle];
    for (int i = threadIdx.x; i < all; i += VOTERS) votes[i] = 0;
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    each_voter(s, [&](int bin, int row) {
        atomicAdd(&votes[vf_road_distance(sine, cosine, bin, row, disparities)], 1);
    });
    __syncthreads();
    for (int i = threadIdx.x; i < all; i += VOTERS)
        if (votes[i] > VF_ROAD_VOTES && vf_road_fits(&s, (i - disparities) / sine, -sine / cosine))
            atomicMax(&best, (unsigned long long)vf_road_line(votes[i], angle, i));
    __syncthreads();
    return best;
}

/** Sums over what is near a line, in shared memory. */
static __device__ void sum_near(const vf_step &s, uint64_t line, unsigned long long sum[6])
{
    const vf_stixel_tables &t = s.memory->stixel.tables;
    const int angle = vf_road_angle(line), distance = vf_road_away(line), disparities = s.tuning.dense_disparities;
    struct vf_road_sums mine = {0, 0, 0, 0, 0, 0};
    if (threadIdx.x < 6) sum[threadIdx.x] = 0;
    __syncthreads();
    if (line)
        each_voter(s, [&](int bin, int row) {
            vf_road_add(&mine, vf_road_distance(t.sine[angle], t.cosine[angle], bin, row, disparities) - distance, bin, row);
        });
    if (mine.all) {
        atomicAdd(&sum[0], (unsigned long long)mine.n);
        atomicAdd(&sum[1], (unsigned long long)mine.x);
        atomicAdd(&sum[2], (unsigned long long)mine.y);
        atomicAdd(&sum[3], (unsigned long long)mine.xy);
        atomicAdd(&sum[4], (unsigned long long)mine.yy);
        atomicAdd(&sum[5], (unsigned long long)mine.all);
    }
    __syncthreads();
}

/** Follows the road, by one thread. */
static __device__ void follow(const vf_step &s, uint64_t line, const unsigned long long sum[6])
{
    vf_stixel_memory &m = s.memory->stixel;
    const struct vf_road_sums sums = {(int64_t)sum[0], (int64_t)sum[1], (int64_t)sum[2], (int64_t)sum[3], (int64_t)sum[4], (int64_t)sum[5]};
    double horizon_px = 0.0, slope = 0.0;
    if (s.geometry.road_slope > 0.0f) {
        vf_road_given(&s, &m.road);
    } else {
        const int seen = line && vf_road_fit(&s, &sums, &horizon_px, &slope);
        vf_road_follow(&m.road, s.memory->ingest.params.frame == 0, seen, horizon_px, slope, (uint32_t)(line >> 32));
    }
    m.horizon = vf_road_horizon(&m.road, s.geometry.level[0][0].height);
}

static __global__ void __launch_bounds__(VOTERS) road_k(const vf_step s)
{
    __shared__ unsigned long long sum[6], line;
    __shared__ uint32_t before;
    vf_stixel_memory &m = s.memory->stixel;
    const bool given = s.geometry.road_slope > 0.0f;
    const uint64_t mine = given ? 0 : best_line(s);
    if (threadIdx.x == 0) {
        if (mine) atomicMax((unsigned long long *)&m.line, (unsigned long long)mine);
        __threadfence();
        before = atomicAdd(&m.arrived, 1u);
    }
    __syncthreads();
    if (before + 1 < gridDim.x) return;
    if (threadIdx.x == 0) line = atomicMax((unsigned long long *)&m.line, 0ull);
    __syncthreads();
    sum_near(s, line, sum);
    if (threadIdx.x == 0) {
        follow(s, line, sum);
        m.arrived = 0;
        m.line = 0;
    }
    for (int i = threadIdx.x; i < VFRONT_OBSTACLE_BINS; i += VOTERS) m.nearest_cm[i] = VF_NONE;
    __syncthreads();
    const int height = s.geometry.level[0][0].height, horizon = m.horizon;
    for (int v = threadIdx.x; v < height && horizon >= 0; v += VOTERS) m.ground[v] = vf_road_row(&s, &m.tables, &m.road, horizon, v);
}

/* ---- columns ------------------------------------------------------------------------------------------------------------------- */

/** A beginning: what it costs, and what lies below it. */
struct alignas(16) beginning {
    vf_entry entry;
    uint32_t twice, valid;
    int32_t reserved;
};
/** A pair of rows: what their object costs and its mean, and what the next segment above it would cost by that. */
struct alignas(16) pair {
    int32_t data, mean, upper, lower;
};
/** What a row of the tile at the front adds. */
struct alignas(16) row {
    int32_t order, above, below, upper, lower;
    int32_t ground_below, sky_below, ground_upto, sky_upto;
    int32_t reserved[3];
};

/** A block's memory: first by fixed size, then by rows, then the slots of sums of costs. */
struct fixed_memory {
    pair tri[TILE][TILE];
    beginning begun[4][TILE];
    row rows[TILE];
    int32_t count;
};
struct column_memory {
    fixed_memory *fixed;
    vf_done *done;              /* [height], object costs in key */
    unsigned long long *key;    /* cost and base of the best object that ends at a row */
    uint32_t *twice;            /* [height + 1] */
    int32_t *ground, *sky;      /* [height + 1] */
    uint16_t *valid, *whole, *ground_from, *sky_from; /* [height + 2] */
    int32_t *slot;
    int stride;                 /* of a row of a slot: odd, so that lanes of one mean and neighbouring rows read from different banks */
};
static __host__ __device__ size_t slot_words(int disparities) { return (size_t)(TILE + 1) * (disparities + 1); }
static __host__ __device__ size_t rows_bytes(int height) { return (size_t)(height + 4) / 4 * 4 * (sizeof(vf_done) + 8 + 3 * 4 + 4 * 2); }
static size_t block_bytes(int height, int disparities, int group)
{
    return sizeof(fixed_memory) + rows_bytes(height) + (2 * group + 2) * slot_words(disparities) * 4;
}

static __device__ column_memory lay_out(unsigned char *bytes, int height, int disparities)
{
    column_memory c;
    const int rows = (height + 4) / 4 * 4;
    c.fixed = reinterpret_cast<fixed_memory *>(bytes);
    c.done = reinterpret_cast<vf_done *>(bytes + sizeof(fixed_memory));
    c.key = reinterpret_cast<unsigned long long *>(c.done + rows);
    c.twice = reinterpret_cast<uint32_t *>(c.key + rows);
    c.ground = reinterpret_cast<int32_t *>(c.twice + rows);
    c.sky = c.ground + rows;
    c.valid = reinterpret_cast<uint16_t *>(c.sky + rows);
    c.whole = c.valid + rows;
    c.ground_from = c.whole + rows;
    c.sky_from = c.ground_from + rows;
    c.slot = reinterpret_cast<int32_t *>(c.sky_from + rows);
    c.stride = disparities + 1;
    return c;
}

static __device__ __forceinline__ int32_t scan(int32_t v)
{
    const int lane = threadIdx.x % VF_WARP;
#pragma unroll
    for (int step = 1; step < VF_WARP; step *= 2) {
        const int32_t other = __shfl_up_sync(VF_ALL, v, step);
        v += lane >= step ? other : 0;
    }
    return v;
}

/** Sums from the bottom of the column, one of them a warp. */
static __device__ void sum_up(const vf_step &s, const vf_cut &cut, const column_memory &c, const uint16_t *column)
{
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP;
    const vf_ground *ground = s.memory->stixel.ground;
    int32_t upto = 0;
    if (warp == 4) {
        for (int v = lane; v < cut.height; v += VF_WARP) c.whole[v] = (uint16_t)vf_stixel_whole(column[v], cut.disparities);
    }
    if (warp > 3) return;
    for (int first = 0; first < cut.height; first += VF_WARP) {
        const int v = first + lane;
        int32_t value = 0;
        if (v < cut.height) {
            const uint32_t d = column[v];
            value = warp == 0   ? (d == VF_STIXEL_NONE ? 0 : 2 * (int32_t)d)
                    : warp == 1 ? d != VF_STIXEL_NONE
                    : warp == 2 ? vf_stixel_ground(&ground[v], d, cut.outlier)
                                : vf_stixel_sky(d, cut.outlier_sky);
        }
        const int32_t sum = upto + scan(value);
        if (v < cut.height) {
            if (warp == 0) c.twice[v + 1] = (uint32_t)sum;
            if (warp == 1) c.valid[v + 1] = (uint16_t)sum;
            if (warp == 2) c.ground[v + 1] = sum;
            if (warp == 3) c.sky[v + 1] = sum;
        }
        upto = __shfl_sync(VF_ALL, sum, VF_WARP - 1);
    }
    if (lane == 0) {
        if (warp == 0) c.twice[0] = 0;
        if (warp == 1) c.valid[0] = 0;
        if (warp == 2) c.ground[0] = 0;
        if (warp == 3) c.sky[0] = 0;
    }
}

/** Rows of which a builder makes the sums. */
static __device__ __forceinline__ int part_rows(int disparities) { return TILE * disparities / BUILDERS; }

/** Sums of objects' costs below every part of a tile, by whole mean. */
static __device__ void sum_parts(const vf_step &s, const vf_cut &cut, const column_memory &c, int32_t *parts)
{
    const uint16_t *cost = s.memory->stixel.tables.cost;
    const int rows = part_rows(cut.disparities), count = (cut.height + rows - 1) / rows, all = cut.disparities;
    for (int i = threadIdx.x; i < count * all; i += THREADS) {
        const int mean = i % all, first = i / all * rows;
        int32_t sum = 0;
        for (int v = first; v < vf_min(first + rows, cut.height); v++) sum += cost[c.whole[v] * all + mean];
        parts[i] = sum;
    }
    __syncthreads();
    for (int mean = threadIdx.x; mean < all; mean += THREADS) {
        int32_t below = 0;
#pragma unroll 8
        for (int k = 0; k < count; k++) {
            const int32_t here = parts[k * all + mean];
            parts[k * all + mean] = below;
            below += here;
        }
    }
    __syncthreads();
}

/** Makes the sums of objects' costs below each row of a tile, and below the next, by so many threads. */
static __device__ __forceinline__ void build(const vf_step &s, const vf_cut &cut, const column_memory &c, const int32_t *parts, int tile, int32_t *slot)
{
    const int thread = threadIdx.x - VF_WARP, all = cut.disparities, rows = part_rows(all), mean = thread % all, part = thread / all;
    const uint16_t *cost = s.memory->stixel.tables.cost + mean;
    const int first = tile * TILE + part * rows;
    if (first >= cut.height) return;
    int32_t sum = parts[first / rows * all + mean];
    int32_t *to = slot + part * rows * c.stride + mean;
#pragma unroll 8
    for (int r = 0; r < rows; r++) {
        to[r * c.stride] = sum;
        if (first + r < cut.height) sum += cost[c.whole[first + r] * all];
    }
    if (part * rows + rows == TILE || first + rows >= cut.height) to[rows * c.stride] = sum;
}

/** The mean of the object between two rows; *none: it has no valid disparity. */
static __device__ __forceinline__ int32_t mean_between(const vf_cut &cut, uint32_t twice_one, uint32_t valid, uint32_t twice, uint32_t below, bool *none)
{
    const uint32_t inverse = cut.tables->inverse[valid - below];
    *none = inverse == 0;
    return vf_stixel_mean(twice_one - twice, inverse);
}

/** A row where objects end, of a lane: the sums upto it, and the best object so far. */
struct ending {
    int row;
    uint32_t twice_one, valid;
    int32_t best, base;
};
static __device__ __forceinline__ ending end_at(const vf_cut &cut, const column_memory &c, int tile)
{
    const int v = tile * TILE + threadIdx.x % VF_WARP, known = vf_min(v, cut.height - 1);
    return ending{v, c.twice[known + 1] + 1, c.valid[known + 1], VF_STIXEL_WORST, 0};
}

/** Offers beginnings first, first + step, ... of a tile below to the rows of a tile. */
static __device__ __forceinline__ void push(const vf_cut &cut, const column_memory &c, const beginning *begun, const int32_t *from, const int32_t *to, int below,
                                            int first, int step, ending *e)
{
    const int lane = threadIdx.x % VF_WARP;
    const int32_t *upto = to + (lane + 1) * c.stride;
#pragma unroll 4
    for (int j = first; j < TILE; j += step) {
        const beginning b = begun[j];
        bool none;
        const int32_t mean = mean_between(cut, e->twice_one, e->valid, b.twice, b.valid, &none), whole = mean / VF_STIXEL_PX;
        int32_t cost = vf_entry_cost(&b.entry, mean) + upto[whole] - from[j * c.stride + whole];
        if (below == 0 && j == 0) cost += vf_stixel_first_top(&cut, e->row);
        if (cost < e->best && !none) {
            e->best = cost;
            e->base = below * TILE + j;
        }
    }
}

#define NO_KEY (~0ull)
/** Cost and base as one number, the least of which is the best. */
static __device__ __forceinline__ void keep(const vf_cut &cut, const column_memory &c, const ending &e)
{
    if (e.row < cut.height && e.best < VF_STIXEL_WORST)
        atomicMin(&c.key[e.row], (unsigned long long)(uint32_t)(e.best + VF_STIXEL_WORST) << 16 | (unsigned)e.base);
}

/** Works out pairs within a tile, beginnings first, first + step, ... */
static __device__ __forceinline__ void pair_up(const vf_cut &cut, const column_memory &c, const int32_t *slot, int tile, int first, int step)
{
    const int lane = threadIdx.x % VF_WARP, top = tile * TILE + lane, most = cut.disparities * VF_STIXEL_PX;
    const ending e = end_at(cut, c, tile);
    for (int j = first; j < TILE; j += step) {
        const int base = tile * TILE + j;
        if (base >= cut.height || lane < j || top >= cut.height) continue;
        bool none;
        pair p;
        p.mean = mean_between(cut, e.twice_one, e.valid, c.twice[base], c.valid[base], &none);
        const int32_t whole = p.mean / VF_STIXEL_PX, range = cut.tables->range_q8[whole];
        p.data = none ? VF_STIXEL_NEVER / 2 : slot[(lane + 1) * c.stride + whole] - slot[j * c.stride + whole];
        if (base == 0) p.data += vf_stixel_first_top(&cut, top);
        p.upper = vf_stixel_log(cut.tables->log_q16, (uint32_t)vf_max(most - p.mean - range, 1)) + VF_LN_ORDER;
        p.lower = vf_stixel_log(cut.tables->log_q16, (uint32_t)vf_max(p.mean - range, 1)) + VF_LN_NOT_ORDER;
        c.fixed->tri[j][lane] = p;
    }
}

/** What the front carries from tile to tile: the same in every lane. */
struct front {
    vf_begun ground, sky;
    int32_t cost_ground, cost_sky; /* of the row before */
    int32_t cost_object, mean, upper, lower;
};

/** What each row of a tile adds, a lane a row. */
static __device__ __forceinline__ void fill_rows(const vf_step &s, const vf_cut &cut, const column_memory &c, int tile)
{
    const int lane = threadIdx.x % VF_WARP, v = tile * TILE + lane, most = cut.disparities * VF_STIXEL_PX, slack = VF_ROAD_SLACK_Q8;
    const int32_t *logs = cut.tables->log_q16;
    if (v < cut.height) {
        row r = {};
        r.order = cut.tables->order[v] + cut.price;
        const int32_t ground_q8 = v ? s.memory->stixel.ground[v - 1].at_q8 : 0;
        r.above = ground_q8 + slack;
        r.below = ground_q8 - slack;
        r.upper = vf_stixel_log(logs, (uint32_t)vf_max(most - r.above, 1)) + VF_LN_GRAVITY;
        r.lower = vf_stixel_log(logs, (uint32_t)vf_max(r.below, 1)) + VF_LN_BELOW;
        r.ground_below = c.ground[v];
        r.sky_below = c.sky[v];
        r.ground_upto = c.ground[v + 1];
        r.sky_upto = c.sky[v + 1];
        c.fixed->rows[lane] = r;
    }
    __syncwarp();
}

/** As vf_stixel_entry(), from what the front has worked out before. */
static __device__ __forceinline__ vf_entry enter(const vf_cut &cut, const row &r, const front &f, int base, int32_t sky_upper)
{
    const bool below = base - 1 < cut.horizon;
    const int32_t other = (below ? f.cost_ground + VF_LN_07 : f.cost_sky) + r.order;
    const int32_t object = f.cost_object + r.order + (below ? VF_LN_07 : VF_LN_2), mean = vf_max(f.mean, 0), range = cut.tables->range_q8[mean / VF_STIXEL_PX];
    vf_entry e;
    e.above = below ? r.above : VF_ROAD_SLACK_Q8;
    e.below = below ? r.below : 0;
    e.upper = other + (below ? r.upper : sky_upper);
    e.lower = below ? other + r.lower : VF_STIXEL_NEVER;
    e.between = below ? other + VF_LN_ON_GROUND : VF_STIXEL_NEVER;
    e.object_above = mean + range;
    e.object_below = mean - range;
    e.object_upper = object + f.upper;
    e.object_lower = object + f.lower;
    return e;
}

/** Finishes the rows of a tile one after the other, by one warp. */
static __device__ void finish(const vf_step &s, const vf_cut &cut, const column_memory &c, int tile, beginning *begun, front *f)
{
    const int lane = threadIdx.x % VF_WARP, v = tile * TILE + lane, rows = vf_min(TILE, cut.height - tile * TILE), most = cut.disparities * VF_STIXEL_PX;
    const int32_t *logs = cut.tables->log_q16, sky_upper = vf_stixel_log(logs, (uint32_t)(most - VF_ROAD_SLACK_Q8));
    fill_rows(s, cut, c, tile);
    int32_t best = VF_STIXEL_WORST, base = 0, mean = -1, upper = 0, lower = 0;
    if (v < cut.height && c.key[v] != NO_KEY) {
        bool none;
        best = (int32_t)(uint32_t)(c.key[v] >> 16) - VF_STIXEL_WORST;
        base = (int32_t)(c.key[v] & 0xffff);
        mean = mean_between(cut, c.twice[v + 1] + 1, c.valid[v + 1], c.twice[base], c.valid[base], &none);
        const int32_t range = cut.tables->range_q8[mean / VF_STIXEL_PX];
        upper = vf_stixel_log(logs, (uint32_t)vf_max(most - mean - range, 1)) + VF_LN_ORDER;
        lower = vf_stixel_log(logs, (uint32_t)vf_max(mean - range, 1)) + VF_LN_NOT_ORDER;
    }
    vf_done done = {};
    int32_t ground_from = -1, sky_from = -1;
    for (int j = 0; j < rows; j++) {
        const int here = tile * TILE + j;
        const row r = c.fixed->rows[j];
        const pair p = c.fixed->tri[j][lane];
        vf_entry e;
        if (here == 0) {
            e = vf_stixel_first(&cut);
        } else {
            vf_done before;
            before.cost[VF_GROUND] = f->cost_ground;
            before.cost[VF_OBJECT] = f->cost_object;
            before.cost[VF_SKY] = f->cost_sky;
            before.mean_q8 = f->mean;
            e = enter(cut, r, *f, here, sky_upper);
            vf_stixel_begin(&cut, &before, here, r.ground_below, r.sky_below, &f->ground, &f->sky);
        }
        if (lane >= j && v < cut.height) {
            const int32_t cost = vf_entry_cost(&e, p.mean) + p.data;
            if (cost < best) {
                best = cost;
                base = here;
                mean = p.mean;
                upper = p.upper;
                lower = p.lower;
            }
        }
        f->cost_ground = vf_stixel_ground_cost(&cut, &f->ground, here, r.ground_upto);
        f->cost_sky = vf_stixel_sky_cost(&f->sky, r.sky_upto);
        const int32_t ended = __shfl_sync(VF_ALL, best, j);
        f->cost_object = ended < VF_STIXEL_WORST ? ended : VF_STIXEL_NEVER;
        f->mean = __shfl_sync(VF_ALL, mean, j);
        f->upper = __shfl_sync(VF_ALL, upper, j);
        f->lower = __shfl_sync(VF_ALL, lower, j);
        if (lane == j) {
            done.cost[VF_GROUND] = f->cost_ground;
            done.cost[VF_OBJECT] = f->cost_object;
            done.cost[VF_SKY] = f->cost_sky;
            done.mean_q8 = f->mean;
            ground_from = f->ground.from;
            sky_from = f->sky.from;
            begun[j] = beginning{e, c.twice[here], c.valid[here], 0};
        }
    }
    if (v >= cut.height) return;
    c.done[v] = done;
    c.key[v] = (unsigned long long)base;
    c.ground_from[v] = (uint16_t)ground_from;
    c.sky_from[v] = (uint16_t)sky_from;
}

/** What a row's segment comes from. */
static __device__ __forceinline__ vf_back back_from(const vf_step &s, const vf_cut &cut, const column_memory &c, int type, int top)
{
    const int base = (int)c.key[top];
    vf_entry e = {};
    if (type == VF_OBJECT) e = base ? vf_stixel_entry(&cut, &c.done[base - 1], s.memory->stixel.ground[base - 1].at_q8, base) : vf_stixel_first(&cut);
    return vf_stixel_back(type, base, c.ground_from[top], c.sky_from[top], &e, c.done[top].mean_q8, cut.horizon);
}

/** Segments of the column, by one thread. */
static __device__ int count_segments(const vf_step &s, const vf_cut &cut, const column_memory &c)
{
    int count = 0, type = vf_stixel_last(&c.done[cut.height - 1]);
    for (int top = cut.height - 1; top >= 0; count++) {
        const vf_back back = back_from(s, cut, c, type, top);
        type = back.type;
        top = back.base - 1;
    }
    return count;
}

/** Writes them, and what they say of obstacles. */
static __device__ void write_segments(const vf_step &s, const vf_cut &cut, const column_memory &c, int column, int count)
{
    vf_stixel_memory &m = s.memory->stixel;
    int type = vf_stixel_last(&c.done[cut.height - 1]), top = cut.height - 1;
    uint32_t nearest = VF_NONE;
    for (int i = count - 1; i >= 0; i--) {
        const vf_back back = back_from(s, cut, c, type, top);
        const int32_t below = back.base ? c.done[back.base - 1].cost[back.type] : 0;
        const vf_segment segment = vf_stixel_segment(&cut, type, back.base, top, c.twice[top + 1] - c.twice[back.base],
                                                     (uint32_t)(c.valid[top + 1] - c.valid[back.base]), c.done[top].cost[type] - below);
        m.segment[column][i] = segment;
        nearest = min(nearest, vf_stixel_cm(&s, m.tables.secant[column], &segment));
        type = back.type;
        top = back.base - 1;
    }
    m.segments[column] = (uint16_t)count;
    atomicMin(&m.nearest_cm[m.tables.bin[column]], nearest);
}

/** Cuts the column once. Returns, in every thread, how many segments it has. */
template <int GROUP> static __device__ int programme(const vf_step &s, const vf_cut &cut, const column_memory &c, const int32_t *parts)
{
    const int warp = threadIdx.x / VF_WARP, tiles = (cut.height + TILE - 1) / TILE;
    const size_t words = slot_words(cut.disparities);
    const auto slot = [&](int tile) { return c.slot + (size_t)(tile % (2 * GROUP)) * words; };
    const auto begun = [&](int tile) { return c.fixed->begun[tile % (2 * GROUP)]; };
    front f = {};
    f.ground = vf_stixel_ground_begun(&cut);
    f.sky = vf_stixel_not_begun();
    for (int v = threadIdx.x; v < cut.height; v += THREADS) c.key[v] = NO_KEY;
    for (int tile = 0; tile < tiles; tile++) {
        const int group = tile / GROUP, near = vf_max(group - 1, 0) * GROUP;
        __syncthreads();
        if (warp) build(s, cut, c, parts, tile, slot(tile));
        __syncthreads();
        ending e = end_at(cut, c, tile);
        for (int below = near; below < tile; below++) push(cut, c, begun(below), slot(below), slot(tile), below, warp, FAR + 1, &e);
        keep(cut, c, e);
        pair_up(cut, c, slot(tile), tile, warp, FAR + 1);
        __syncthreads();
        if (warp == 0) {
            finish(s, cut, c, tile, begun(tile), &f);
        } else if (group) {
            int turn = 0;
            for (int to = (group + 1) * GROUP + tile % GROUP; to < tiles; to += GROUP, turn ^= 1) {
                int32_t *room = c.slot + (size_t)(2 * GROUP + turn) * words;
                build(s, cut, c, parts, to, room);
                asm volatile("bar.sync 1, %0;" ::"n"(BUILDERS) : "memory");
                ending far = end_at(cut, c, to);
                for (int k = 0; k < GROUP; k++) {
                    const int below = (group - 1) * GROUP + k;
                    push(cut, c, begun(below), slot(below), room, below, warp - 1, FAR, &far);
                }
                keep(cut, c, far);
            }
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) c.fixed->count = count_segments(s, cut, c);
    __syncthreads();
    return c.fixed->count;
}

template <int GROUP> static __global__ void __launch_bounds__(THREADS) segment_k(const vf_step s)
{
    extern __shared__ unsigned char bytes[];
    vf_stixel_memory &m = s.memory->stixel;
    const int column = blockIdx.x;
    vf_cut cut = vf_stixel_cut(&s, &m);
    const column_memory c = lay_out(bytes, cut.height, cut.disparities);
    int32_t *parts = s.memory->stixel_work.parts[column];
    if (cut.horizon >= 0) sum_up(s, cut, c, m.column[column]);
    __syncthreads();
    int count = 0, crowded = 0;
    if (cut.horizon >= 0 && c.valid[cut.height]) {
        sum_parts(s, cut, c, parts);
        count = programme<GROUP>(s, cut, c, parts);
        crowded = count > VFRONT_SEGMENTS;
        if (crowded) {
            int price = 0; /* too low */
            for (int bit = VF_STIXEL_PRICES - 1; bit >= 0; bit--) {
                cut.price = vf_stixel_price(price + (1 << bit));
                if (programme<GROUP>(s, cut, c, parts) > VFRONT_SEGMENTS) price += 1 << bit;
            }
            cut.price = vf_stixel_price(price + 1);
            count = programme<GROUP>(s, cut, c, parts);
        }
    }
    if (threadIdx.x) return;
    m.crowded[column] = (uint16_t)crowded;
    if (count) write_segments(s, cut, c, column, count);
    else m.segments[column] = 0;
    vf_clock_end(s, VF_stixel);
}

/** Most shared memory that a block may have. */
static size_t most_shared()
{
    int device, bytes;
    if (cudaGetDevice(&device) != cudaSuccess || cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess) return 0;
    return (size_t)bytes;
}

template <int GROUP> static cudaError_t segment(const vf_step *s, size_t bytes, cudaStream_t stream)
{
    const cudaError_t error = cudaFuncSetAttribute(segment_k<GROUP>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess) return error;
    segment_k<GROUP><<<vf_stixel_columns(s), THREADS, bytes, stream>>>(*s);
    return cudaGetLastError();
}

#endif

extern "C" cudaError_t vf_stixel_cuda(const vf_step *s, cudaStream_t stream)
{
#if VFRONT_STIXELS
    if (!vf_stixel_on(s)) return cudaSuccess;
    const int height = s->geometry.level[0][0].height, disparities = s->tuning.dense_disparities;
    const size_t one = block_bytes(height, disparities, 1), two = block_bytes(height, disparities, 2), most = most_shared();
    reduce_k<<<vf_blocks(height, ROWS), REDUCERS, 0, stream>>>(*s);
    road_k<<<s->geometry.road_slope > 0.0f ? 1 : VF_ROAD_ANGLES, VOTERS, 0, stream>>>(*s);
    return two <= most ? segment<2>(s, two, stream) : segment<1>(s, one, stream);
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
