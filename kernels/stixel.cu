/* SPDX-License-Identifier: MIT */
/* stixel on the GPU, in three launches. In the first a block reduces some rows to columns and counts their disparities. In the second a block
 * finds the best line of an angle, and the one that is done last the road. In the third a block cuts a column.
 *
 * Rows depend on one another, but only what a row may cost at best does, not what pairs of rows cost. So one warp, the front, finishes a tile of
 * rows one after the other without a barrier, a lane a row: what ends at a row is passed on by shuffles, and each later row of the tile takes
 * it if that is better. What that costs, but for what lies below, the other warps have worked out for the tile meanwhile (pair_up); so a row of the
 * front is a sum, a minimum and a shuffle for each thing that the next one has to know. Beginnings in a finished tile are offered to the tile at
 * the front by all warps (push_near), and to all that lie higher by the others while the front is at work (push_far): a warp takes a part of rows and
 * the beginnings of two tiles, a lane a beginning, makes the sums of the part's rows as it goes, and finds the least of its lanes. Two tiles at a
 * time, because sums cost as much as pairs; so a tile takes every other turn. Two barriers a tile, not one a row; within loops no branch, as one
 * keeps the loads of a pair of rows from overlapping with those of the next. */
#include "kernel.cuh"

#include "../src/stixel.h"

#if VFRONT_STIXELS

#define TILE VF_STIXEL_TILE

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

#define NEVER_MORE (VF_STIXEL_WORST + VF_STIXEL_WORST / 2) /* two of them may be added to VF_STIXEL_NEVER */

/** What it costs more to begin at a row, from the disparity of the road at the row before. */
static __device__ vf_change change_at(const vf_stixel_tables &t, int disparities, int horizon, int32_t ground_q8, int base)
{
    const int32_t most = disparities * VF_STIXEL_PX, above = ground_q8 + VF_ROAD_SLACK_Q8, below = ground_q8 - VF_ROAD_SLACK_Q8;
    const int32_t order = t.order[base], *logs = t.log_q16;
    if (base == 0) return vf_change{VF_STIXEL_NEVER, -1, 0, 0, vf_stixel_log(logs, (uint32_t)most), NEVER_MORE, NEVER_MORE, order};
    if (base - 1 >= horizon)
        return vf_change{VF_ROAD_SLACK_Q8, 0, vf_stixel_log(logs, (uint32_t)(most - VF_ROAD_SLACK_Q8)), NEVER_MORE, NEVER_MORE, VF_LN_2, VF_LN_2, order};
    const int32_t upper = vf_stixel_log(logs, (uint32_t)vf_max(most - above, 1)) + VF_LN_GRAVITY;
    const int32_t lower = vf_stixel_log(logs, (uint32_t)vf_max(below, 1)) + VF_LN_BELOW;
    return vf_change{above, below, upper + VF_LN_07, lower + VF_LN_07, VF_LN_ON_GROUND + VF_LN_07, VF_LN_07, VF_LN_03, order};
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
    vf_change *change = s.memory->stixel_work.change;
    if (threadIdx.x == 0) change[0] = change_at(m.tables, s.tuning.dense_disparities, horizon, 0, 0);
    for (int v = threadIdx.x; v < height && horizon >= 0; v += VOTERS) {
        m.ground[v] = vf_road_row(&s, &m.tables, &m.road, horizon, v);
        if (v + 1 < height) change[v + 1] = change_at(m.tables, s.tuning.dense_disparities, horizon, m.ground[v].at_q8, v + 1);
    }
}

/* ---- columns ------------------------------------------------------------------------------------------------------------------- */

#define SLOTS 4          /* tiles of which a block has sums of costs: two where objects begin, the one at the front, the one behind it */
#define BEGUN (SLOTS * TILE)
#define AHEAD 16         /* sums read at a time */
#define BATCH 2          /* rows of which a warp makes the sums at a time */
#define TRIANGLE (TILE * (TILE + 1) / 2)
#define PAIR_ROWS 4      /* rows whose pairs within a tile are worked out by a warp at a time */
#define PART VF_STIXEL_PART

VF_STATIC_ASSERT(TILE == VF_WARP && TILE % PART == 0 && TILE % PAIR_ROWS == 0 && PART % BATCH == 0, "a lane a row, and no part of anything left over");

/** A pair of rows of a tile: what their object costs after an object and after ground or sky, beside what these cost; its mean, and the range
 *  that it spans above that; what the next object above it costs more when it is nearer, and when it is farther. */
struct alignas(16) pair {
    int32_t object, other;
    uint16_t mean, range;
    int16_t upper, lower;
};
/** What ends at a row by an object: where the mean of the next one must lie, and what it costs then; what ground or sky begins at. */
struct ended {
    int32_t above, below, upper, lower, begins;
};
static __device__ __forceinline__ ended nothing_ended()
{
    return ended{VF_STIXEL_NEVER, -1, VF_STIXEL_NEVER, VF_STIXEL_NEVER, VF_STIXEL_NEVER};
}
/** What the front carries from row to row, the same in every lane: the object that ended, what ground or sky costs there, and where that began. */
struct front {
    ended object;
    int32_t other;
    vf_begun begun;
};

/** A block's memory. */
struct column_memory {
    unsigned char *bytes; /* all of it */
    pair *tri;            /* [2][TRIANGLE] of the tile at the front and the one behind it */
    int4 *offer;          /* [2][TILE] what ground or sky costs more that begins at a row after an object, after ground; that ends there; at least, so far */
    int32_t *slot;        /* [SLOTS][TILE + 1][stride] costs of objects' rows below each row of a tile, by whole mean */
    int32_t *begun;       /* [9][BEGUN] entries of the rows of so many tiles */
    int32_t *room;        /* [warps][BATCH][means] */
    uint32_t *inverse;    /* [height + 1] */
    uint32_t *twice;      /* [rows + 1] sums below */
    int32_t *best;        /* [rows] cost and base of the best object that ends at a row */
    uint16_t *base, *valid, *whole, *from;
    int32_t *turn;        /* [2] work handed out */
    int32_t *plain, *end; /* global, of rows: sums below, as ground up to the horizon, as sky above it; what ground or sky costs that ends there */
    int stride;           /* of a row of a slot: odd, so that lanes of one mean and neighbouring rows read from different banks */
};
/** Rows are made up to whole tiles by such that have no disparity. They cost nothing, and what is found for them is not looked at. */
static __host__ __device__ int tiles_of(int height) { return (height + TILE - 1) / TILE; }
static __host__ __device__ size_t padded(int height) { return (size_t)tiles_of(height) * TILE + 4; }
static size_t block_bytes(int height, int disparities, int warps)
{
    return 2 * TRIANGLE * sizeof(pair) + 2 * TILE * sizeof(int4) + sizeof(int32_t) * (SLOTS * (TILE + 1) * (size_t)(disparities + 1) + 9 * BEGUN + 4)
           + sizeof(int32_t) * ((size_t)warps * BATCH * (size_t)disparities + 2 * padded(height) + (size_t)(height + 4)) + sizeof(uint16_t) * 4 * padded(height);
}
static __device__ column_memory lay_out(unsigned char *bytes, int height, int disparities, int warps)
{
    column_memory c;
    const size_t rows = padded(height);
    c.bytes = bytes;
    c.stride = disparities + 1;
    c.tri = reinterpret_cast<pair *>(bytes);
    c.offer = reinterpret_cast<int4 *>(c.tri + 2 * TRIANGLE);
    c.slot = reinterpret_cast<int32_t *>(c.offer + 2 * TILE);
    c.begun = c.slot + SLOTS * (TILE + 1) * c.stride;
    c.room = c.begun + 9 * BEGUN;
    c.inverse = reinterpret_cast<uint32_t *>(c.room + warps * BATCH * disparities);
    c.twice = c.inverse + height + 4;
    c.best = reinterpret_cast<int32_t *>(c.twice + rows);
    c.turn = c.best + rows;
    c.base = reinterpret_cast<uint16_t *>(c.turn + 4);
    c.valid = c.base + rows;
    c.whole = c.valid + rows;
    c.from = c.whole + rows;
    return c;
}
static __device__ __forceinline__ int32_t *slot_of(const column_memory &c, int tile) { return c.slot + tile % SLOTS * (TILE + 1) * c.stride; }

static __device__ __forceinline__ int place_of(const column_memory &c, const int32_t *p) { return (int)(reinterpret_cast<const unsigned char *>(p) - c.bytes); }
static __device__ __forceinline__ int32_t at(const column_memory &c, int place) { return *reinterpret_cast<const int32_t *>(c.bytes + place); }

/** Where `count` threads of the block meet. */
static __device__ __forceinline__ void meet(int count) { asm volatile("bar.sync 1, %0;" ::"r"(count) : "memory"); }

/** Least of a warp, in every lane. */
static __device__ __forceinline__ int32_t least(int32_t v)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(VF_ALL, v);
#else
    return (int32_t)(vf_warp_min((uint32_t)v ^ 0x80000000u) ^ 0x80000000u);
#endif
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

/* ---- a column's sums ----------------------------------------------------------------------------------------------------------- */

/** Sums from the bottom of the column: within every tile at first, then what lies below the tile is added. best, base: room for that. */
static __device__ void sum_up(const vf_step &s, const vf_cut &cut, const column_memory &c, const uint16_t *column)
{
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP, warps = blockDim.x / VF_WARP, tiles = tiles_of(cut.height);
    const vf_ground *ground = s.memory->stixel.ground;
    int32_t *whole_twice = c.slot, *whole_plain = c.slot + tiles, *whole_valid = c.slot + 2 * tiles;
    for (int tile = warp; tile < tiles; tile += warps) {
        const int v = tile * TILE + lane;
        const uint32_t d = v < cut.height ? column[v] : VF_STIXEL_NONE;
        const int32_t plain = v >= cut.height ? 0 : v <= cut.horizon ? vf_stixel_ground(&ground[v], d, cut.outlier) : vf_stixel_sky(d, cut.outlier_sky);
        const int32_t twice = scan(d == VF_STIXEL_NONE ? 0 : 2 * (int32_t)d), upto = scan(plain), valid = scan(d != VF_STIXEL_NONE);
        c.twice[v + 1] = (uint32_t)twice;
        c.plain[v + 1] = upto;
        c.valid[v + 1] = (uint16_t)valid;
        c.whole[v] = (uint16_t)vf_stixel_whole(d, cut.disparities);
        if (lane == VF_WARP - 1) {
            whole_twice[tile] = twice;
            whole_plain[tile] = upto;
            whole_valid[tile] = valid;
        }
    }
    __syncthreads();
    for (int tile = warp; tile < tiles; tile += warps) {
        const int v = tile * TILE + lane;
        int32_t twice = 0, plain = 0, valid = 0;
        for (int below = lane; below < tile; below += VF_WARP) {
            twice += whole_twice[below];
            plain += whole_plain[below];
            valid += whole_valid[below];
        }
        twice = vf_warp_sum(twice);
        plain = vf_warp_sum(plain);
        valid = vf_warp_sum(valid);
        c.twice[v + 1] += (uint32_t)twice;
        c.plain[v + 1] += plain;
        c.valid[v + 1] = (uint16_t)(c.valid[v + 1] + valid);
    }
    for (int i = threadIdx.x; i <= cut.height; i += blockDim.x) c.inverse[i] = cut.tables->inverse[i];
    if (threadIdx.x == 0) {
        c.twice[0] = 0;
        c.plain[0] = 0;
        c.valid[0] = 0;
    }
    __syncthreads();
}

/** Sums of objects' costs below every part, by whole mean. */
template <int WIDE> static __device__ void sum_parts(const vf_step &s, const vf_cut &cut, const column_memory &c, int32_t *parts)
{
    const int means = WIDE * VF_WARP, count = tiles_of(cut.height) * TILE / PART;
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP, warps = blockDim.x / VF_WARP;
    const uint16_t *cost = s.memory->stixel.tables.cost + lane;
    for (int part = warp; part < count; part += warps) {
        int32_t sum[WIDE] = {};
#pragma unroll
        for (int r = 0; r < PART; r++) {
            const int whole = c.whole[part * PART + r];
#pragma unroll
            for (int k = 0; k < WIDE; k++) sum[k] += cost[whole * means + k * VF_WARP];
        }
#pragma unroll
        for (int k = 0; k < WIDE; k++) parts[part * means + k * VF_WARP + lane] = sum[k];
    }
    __syncthreads();
    for (int mean = threadIdx.x; mean < means; mean += blockDim.x) {
        int32_t below = 0, here[AHEAD];
        for (int k = 0; k < count; k += AHEAD) {
#pragma unroll
            for (int q = 0; q < AHEAD; q++) here[q] = parts[vf_min(k + q, count - 1) * means + mean];
#pragma unroll
            for (int q = 0; q < AHEAD; q++) {
                if (k + q < count) parts[(k + q) * means + mean] = below;
                below += here[q];
            }
        }
    }
    __syncthreads();
}

/** Makes the sums of a tile, by so many warps of which this is one: in eight units, of so many rows that it comes out even. */
template <int WIDE>
static __device__ __forceinline__ void build(const vf_step &s, const column_memory &c, const int32_t *parts, int tile, int warp, int warps)
{
    const int means = WIDE * VF_WARP, rows = 4 * WIDE;
    for (int unit = warp; unit < 8; unit += warps) {
        const int part = unit / WIDE, mean = unit % WIDE * VF_WARP + threadIdx.x % VF_WARP, first = tile * TILE + part * rows;
        const uint16_t *cost = s.memory->stixel.tables.cost + mean;
        int32_t sum = parts[first / PART * means + mean], *to = slot_of(c, tile) + part * rows * c.stride + mean, row[rows];
#pragma unroll
        for (int r = 0; r < rows; r++) row[r] = cost[c.whole[first + r] * means];
#pragma unroll
        for (int r = 0; r < rows; r++) {
            to[r * c.stride] = sum;
            sum += row[r];
        }
        if (part * rows + rows == TILE) to[rows * c.stride] = sum;
    }
}

/* ---- pairs --------------------------------------------------------------------------------------------------------------------- */

/** A beginning, of a lane. */
struct beginning {
    vf_entry entry;
    uint32_t twice, valid;
    int from; /* sums below it: bytes from the start of the block's memory, so that an address is one sum */
};
static __device__ __forceinline__ beginning begun_at(const column_memory &c, int tile)
{
    const int lane = threadIdx.x % VF_WARP, base = tile * TILE + lane;
    const int32_t *e = c.begun + base % BEGUN;
    beginning b;
    b.entry = vf_entry{e[0], e[BEGUN], e[2 * BEGUN], e[3 * BEGUN], e[4 * BEGUN], e[5 * BEGUN], e[6 * BEGUN], e[7 * BEGUN], e[8 * BEGUN]};
    b.twice = c.twice[base];
    b.valid = c.valid[base];
    b.from = place_of(c, slot_of(c, tile) + lane * c.stride);
    return b;
}

/** What an object costs that begins there and ends where these are the sums, with all that lies below it. HOLES: there may be no disparity in
 *  it. */
template <bool HOLES>
static __device__ __forceinline__ int32_t pair_cost(const column_memory &c, const beginning &b, uint32_t twice_one, uint32_t valid, int upto)
{
    const uint32_t inverse = c.inverse[valid - b.valid], mean = (uint32_t)vf_stixel_mean(twice_one - b.twice, inverse);
    const int whole = (int)(mean / VF_STIXEL_PX);
    const int32_t cost = vf_entry_cost(&b.entry, (int32_t)mean) + at(c, upto + 4 * whole) - at(c, b.from + 4 * whole);
    return HOLES ? vf_max(cost, inverse ? INT32_MIN : VF_STIXEL_WORST) : cost; /* which needs no branch */
}

/** What the object from the bottom costs more, a lane a base. */
static __device__ __forceinline__ int32_t bottom_cost(const vf_cut &cut, int base, int top) { return base == 0 ? vf_stixel_first_top(&cut, top) : 0; }

/** Keeps the best of the objects that end at a row, when it is better than those before; a lane a base of two tiles. */
static __device__ __forceinline__ void keep_best(const column_memory &c, int v, int32_t one, int lower, int32_t other, int upper)
{
    const int32_t best = least(vf_min(one, other));
    if (best >= c.best[v]) return; /* all lanes alike */
    const unsigned lows = __ballot_sync(VF_ALL, one == best), highs = __ballot_sync(VF_ALL, other == best);
    if (threadIdx.x % VF_WARP) return;
    c.best[v] = best;
    c.base[v] = (uint16_t)((lows ? lower : upper) * TILE + __ffs((int)(lows ? lows : highs)) - 1);
}

/** Offers the beginnings of the tile below to the rows of a tile, by all warps: as many rows at a time as a warp has when there are WARPS. */
static __device__ __forceinline__ void push_near(const vf_cut &cut, const column_memory &c, int tile)
{
    const int lane = threadIdx.x % VF_WARP, warps = blockDim.x / VF_WARP, below = tile - 1;
    const beginning b = begun_at(c, below);
    const int upto = place_of(c, slot_of(c, tile) + c.stride);
    for (int first = threadIdx.x / VF_WARP; first < TILE; first += 2 * warps) {
        int32_t cost[2];
#pragma unroll
        for (int q = 0; q < 2; q++) {
            const int r = vf_min(first + q * warps, TILE - 1), v = tile * TILE + r;
            cost[q] = pair_cost<true>(c, b, c.twice[v + 1] + 1, c.valid[v + 1], upto + 4 * r * c.stride) + bottom_cost(cut, below * TILE + lane, v);
        }
#pragma unroll
        for (int q = 0; q < 2; q++)
            if (first + q * warps < TILE) keep_best(c, tile * TILE + first + q * warps, cost[q], below, cost[q], below);
    }
}

/** Offers the beginnings of two tiles, or of one, to the rows of a part that lies higher, by one warp, which makes the sums of its rows as it
 *  goes. */
template <int WIDE, bool HOLES>
static __device__ __forceinline__ void push_far(const vf_step &s, const vf_cut &cut, const column_memory &c, const int32_t *parts, int lower, int upper, int first)
{
    const int means = WIDE * VF_WARP, lane = threadIdx.x % VF_WARP;
    const uint16_t *cost = s.memory->stixel.tables.cost + lane;
    asm volatile("" : "+l"(cost)); /* one address a row, not one a mean */
    const beginning low = begun_at(c, lower);
    beginning high = begun_at(c, upper);
    int32_t *room = c.room + threadIdx.x / VF_WARP * BATCH * means;
    const int upto = place_of(c, room);
    int sum[WIDE], next[BATCH][WIDE], whole[BATCH];
    if (lower == upper) high.entry = vf_entry{VF_STIXEL_NEVER, -1, 0, 0, VF_STIXEL_NEVER, VF_STIXEL_NEVER, -1, 0, 0};
    const auto fetch = [&](int r) { /* costs of rows of which it is known where they are, and then where those of the next are */
#pragma unroll
        for (int q = 0; q < BATCH; q++) {
#pragma unroll
            for (int k = 0; k < WIDE; k++) {
                next[q][k] = cost[whole[q] * means + k * VF_WARP];
                asm volatile("" : "+r"(next[q][k])); /* of 32 bits from here on */
            }
            whole[q] = c.whole[first + vf_min(r, PART - BATCH) + q];
        }
    };
#pragma unroll
    for (int q = 0; q < BATCH; q++) whole[q] = c.whole[first + q];
    fetch(BATCH);
#pragma unroll
    for (int k = 0; k < WIDE; k++) sum[k] = parts[first / PART * means + k * VF_WARP + lane];
#pragma unroll 1
    for (int r = 0; r < PART; r += BATCH) {
        int32_t one[BATCH], other[BATCH];
#pragma unroll
        for (int q = 0; q < BATCH; q++)
#pragma unroll
            for (int k = 0; k < WIDE; k++) {
                sum[k] += next[q][k];
                room[q * means + k * VF_WARP + lane] = sum[k];
            }
        fetch(r + 2 * BATCH);
        __syncwarp();
#pragma unroll
        for (int q = 0; q < BATCH; q++) {
            const int v = first + r + q;
            const uint32_t twice_one = c.twice[v + 1] + 1, valid = c.valid[v + 1];
            one[q] = pair_cost<HOLES>(c, low, twice_one, valid, upto + 4 * q * means) + bottom_cost(cut, lower * TILE + lane, v);
            other[q] = pair_cost<HOLES>(c, high, twice_one, valid, upto + 4 * q * means);
        }
#pragma unroll
        for (int q = 0; q < BATCH; q++) keep_best(c, first + r + q, one[q], lower, other[q], upper);
        __syncwarp();
    }
}

/** The mean of the object between two rows; *none: it has no valid disparity. */
static __device__ __forceinline__ int32_t mean_between(const column_memory &c, int base, int top, bool *none)
{
    const uint32_t inverse = c.inverse[c.valid[top + 1] - c.valid[base]];
    *none = inverse == 0;
    return vf_stixel_mean(c.twice[top + 1] + 1 - c.twice[base], inverse);
}

/** What the object above one of that mean and range costs more, when it is nearer and when it is farther. */
static __device__ __forceinline__ int32_t upper_of(const vf_cut &cut, int32_t mean, int32_t range)
{
    return vf_stixel_log(cut.tables->log_q16, (uint32_t)vf_max(cut.disparities * VF_STIXEL_PX - mean - range, 1)) + VF_LN_ORDER;
}
static __device__ __forceinline__ int32_t lower_of(const vf_cut &cut, int32_t mean, int32_t range)
{
    return vf_stixel_log(cut.tables->log_q16, (uint32_t)vf_max(mean - range, 1)) + VF_LN_NOT_ORDER;
}

static __device__ __forceinline__ int row_of_triangle(int j) { return TILE * j - j * (j - 1) / 2 - j; }

/** Works out pairs within a tile, so many beginnings from the first; and what these rows offer to ground and sky. */
static __device__ __forceinline__ void pair_up(const vf_step &s, const vf_cut &cut, const column_memory &c, int tile, int first)
{
    const int lane = threadIdx.x % VF_WARP, top = tile * TILE + lane, last = cut.height - 1;
    const int32_t *slot = slot_of(c, tile), *upto = slot + (lane + 1) * c.stride;
    const vf_change *change = s.memory->stixel_work.change;
    const uint32_t twice_one = c.twice[top + 1] + 1, valid = c.valid[top + 1];
    pair *to = c.tri + tile % 2 * TRIANGLE + lane;
#pragma unroll 4
    for (int j = first; j < first + PAIR_ROWS; j++) {
        const int base = tile * TILE + j;
        const vf_change b = change[vf_min(base, last)];
        const uint32_t inverse = c.inverse[lane >= j ? valid - c.valid[base] : 0], mean = (uint32_t)vf_stixel_mean(twice_one - c.twice[base], inverse);
        const uint32_t whole = mean / VF_STIXEL_PX;
        const int32_t range = cut.tables->range_q8[whole], is = (int32_t)mean, none = inverse ? INT32_MIN : NEVER_MORE;
        const int32_t data = upto[whole] - slot[j * c.stride + whole] + b.order + cut.price + bottom_cost(cut, base, top);
        pair p;
        p.mean = (uint16_t)mean;
        p.range = (uint16_t)range;
        p.object = vf_max(data + b.object, none);
        p.other = vf_max(data + (is > b.above ? b.upper : is < b.below ? b.lower : b.between), none);
        p.upper = (int16_t)upper_of(cut, is, range);
        p.lower = (int16_t)lower_of(cut, is, range);
        asm volatile("" ::"r"((int)p.upper), "r"((int)p.lower), "r"(p.object), "r"(p.other)); /* not within the branch, so that rows overlap */
        if (lane >= j) to[row_of_triangle(j)] = p;
    }
    const int here = tile * TILE + first + lane % PAIR_ROWS;
    const vf_change b = change[vf_min(here, last)];
    const int32_t begin = b.begin + b.order + cut.price - c.plain[here], at_horizon = here == cut.horizon ? NEVER_MORE : 0;
    if (lane < PAIR_ROWS)
        c.offer[tile % 2 * TILE + first + lane] = make_int4(begin, here <= cut.horizon ? begin : NEVER_MORE, at_horizon ? at_horizon : c.plain[here + 1],
                                                            here == cut.horizon + 1 ? VF_STIXEL_NEVER : INT32_MIN);
}

/* ---- the front ----------------------------------------------------------------------------------------------------------------- */

/** Begins objects at a row, when it is known what ends below it. */
static __device__ __forceinline__ void begin_objects(const column_memory &c, const vf_change &b, int32_t price, int base, const ended &object, int32_t other)
{
    const int32_t before = other + b.order + price, more = b.order + price + b.object;
    int32_t *e = c.begun + base % BEGUN;
    e[0] = b.above;
    e[BEGUN] = b.below;
    e[2 * BEGUN] = before + b.upper;
    e[3 * BEGUN] = before + b.lower;
    e[4 * BEGUN] = before + b.between;
    e[5 * BEGUN] = object.above;
    e[6 * BEGUN] = object.below;
    e[7 * BEGUN] = object.upper + more;
    e[8 * BEGUN] = object.lower + more;
}

/** The best object so far that ends at a row, in a lane; can: ground may follow it, whatever its mean is. */
static __device__ __forceinline__ ended end_object(const vf_cut &cut, const column_memory &c, int v, bool can)
{
    bool none;
    const int32_t cost = c.best[v] < VF_STIXEL_WORST ? c.best[v] : VF_STIXEL_NEVER;
    const int32_t mean = mean_between(c, c.base[v], v, &none), range = cut.tables->range_q8[(uint32_t)mean / VF_STIXEL_PX];
    return ended{mean + range, mean - range, cost + upper_of(cut, mean, range), cost + lower_of(cut, mean, range),
                 can || mean >= VF_ROAD_SLACK_Q8 ? cost : VF_STIXEL_NEVER};
}

/** Begins ground, or sky above the horizon, at a row. Returns what it costs when it ends there too. */
static __device__ __forceinline__ int32_t begin_other(front *f, int here, int4 offer)
{
    const int32_t after_object = f->object.begins + offer.x, after_ground = f->other + offer.y, so_far = vf_max(f->begun.cost, offer.w);
    const int32_t best = vf_min(so_far, after_object);
    f->begun.from = after_object < so_far ? here * 4 + VF_OBJECT : f->begun.from;
    f->begun.from = after_ground < best ? here * 4 + VF_GROUND : f->begun.from;
    f->begun.cost = vf_min(best, after_ground);
    return f->begun.cost + offer.z;
}

/** Finishes the rows of a tile one after the other, by one warp. */
static __device__ __forceinline__ void finish(const vf_step &s, const vf_cut &cut, const column_memory &c, int tile, front *f)
{
    const int lane = threadIdx.x % VF_WARP, first = tile * TILE, v = first + lane;
    const pair *tri = c.tri + tile % 2 * TRIANGLE + lane;
    const int4 *offer = c.offer + tile % 2 * TILE;
    const vf_change above = s.memory->stixel_work.change[vf_min(v + 1, cut.height - 1)];
    const bool can = v < cut.horizon;
    int32_t best = c.best[v], base = c.base[v], other = VF_STIXEL_NEVER, from = -1;
    ended mine = end_object(cut, c, v, can);
    pair next = tri[0];
    int4 next_offer = offer[0];
#pragma unroll 8
    for (int j = 0; j < TILE; j++) {
        const pair p = next;
        const int32_t ends = begin_other(f, first + j, next_offer);
        const int after = vf_min(j + 1, TILE - 1), mean = p.mean, range = p.range;
        next = tri[row_of_triangle(after) + vf_max(after - lane, 0)]; /* of lanes below it, any */
        next_offer = offer[after];
        const int32_t object = mean > f->object.above ? f->object.upper : mean < f->object.below ? f->object.lower : VF_STIXEL_NEVER;
        const int32_t cost = vf_min(object + p.object, f->other + p.other);
        const bool better = lane >= j && cost < best, here = lane == j; /* each by itself, without a branch */
        best = better ? cost : best;
        base = better ? first + j : base;
        mine.above = better ? mean + range : mine.above;
        mine.below = better ? mean - range : mine.below;
        mine.upper = better ? cost + p.upper : mine.upper;
        mine.lower = better ? cost + p.lower : mine.lower;
        mine.begins = better ? (can || mean >= VF_ROAD_SLACK_Q8 ? cost : VF_STIXEL_NEVER) : mine.begins;
        other = here ? ends : other;
        from = here ? f->begun.from : from;
        f->other = ends;
        f->object.above = __shfl_sync(VF_ALL, mine.above, j);
        f->object.below = __shfl_sync(VF_ALL, mine.below, j);
        f->object.upper = __shfl_sync(VF_ALL, mine.upper, j);
        f->object.lower = __shfl_sync(VF_ALL, mine.lower, j);
        f->object.begins = __shfl_sync(VF_ALL, mine.begins, j);
    }
    c.best[v] = best;
    c.base[v] = (uint16_t)base;
    c.end[v] = other;
    c.from[v] = (uint16_t)from;
    begin_objects(c, above, cut.price, v + 1, mine, other);
}

/* ---- the column ---------------------------------------------------------------------------------------------------------------- */

/** What is done beside the front, by the other warps: the tile behind it is made ready, and beginnings are offered to half of the parts above, to
 *  the other half of them with the next tile's; so every part takes the beginnings of two tiles at a time. */
template <int WIDE> static __device__ __forceinline__ void prepare(const vf_step &s, const vf_cut &cut, const column_memory &c, const int32_t *parts, int tile)
{
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP, others = blockDim.x - VF_WARP, behind = tile + 1;
    const int tile_parts = TILE / PART, pairs = TILE / PAIR_ROWS;
    if (behind * TILE >= cut.height) return;
    build<WIDE>(s, c, parts, behind, warp - 1, others / VF_WARP);
    meet(others);
    for (;;) {
        int turn = lane == 0 ? atomicAdd(&c.turn[tile % 2], 1) : 0;
        turn = __shfl_sync(VF_ALL, turn, 0);
        if (turn < pairs) {
            pair_up(s, cut, c, behind, turn * PAIR_ROWS);
            continue;
        }
        turn -= pairs;
        const int first = (behind + turn / tile_parts * 2) * TILE + turn % tile_parts * PART;
        if (first >= tiles_of(cut.height) * TILE || tile == 0) return;
        if (c.valid[first + 1] == c.valid[tile * TILE - 1]) push_far<WIDE, true>(s, cut, c, parts, vf_max(tile - 2, 0), tile - 1, first);
        else push_far<WIDE, false>(s, cut, c, parts, vf_max(tile - 2, 0), tile - 1, first);
    }
}

/** What is known when the rows up to one are done. */
static __device__ __forceinline__ vf_done done_at(const vf_cut &cut, const column_memory &c, int v)
{
    bool none;
    const bool there = c.best[v] < VF_STIXEL_WORST;
    vf_done d;
    d.cost[VF_GROUND] = v < cut.horizon ? c.end[v] : VF_STIXEL_NEVER;
    d.cost[VF_OBJECT] = there ? c.best[v] : VF_STIXEL_NEVER;
    d.cost[VF_SKY] = v < cut.horizon ? VF_STIXEL_NEVER : c.end[v];
    d.mean_q8 = there ? mean_between(c, c.base[v], v, &none) : -1;
    return d;
}

static __device__ __forceinline__ int32_t cost_at(const vf_cut &cut, const column_memory &c, int v, int type)
{
    const vf_done d = done_at(cut, c, v);
    return type == VF_GROUND ? d.cost[VF_GROUND] : type == VF_OBJECT ? d.cost[VF_OBJECT] : d.cost[VF_SKY];
}

/** Replaces the base of the object that ends at each row by that and the class below it, as in vf_begun; by all threads. */
static __device__ __forceinline__ void link_objects(const vf_step &s, const vf_cut &cut, const column_memory &c, uint16_t *link)
{
    for (int v = threadIdx.x; v < cut.height; v += blockDim.x) {
        const int base = c.base[v];
        vf_entry e = vf_stixel_first(&cut);
        if (base) {
            const vf_done before = done_at(cut, c, base - 1);
            e = vf_stixel_entry(&cut, &before, s.memory->stixel.ground[base - 1].at_q8, base);
        }
        const vf_back back = vf_stixel_back(VF_OBJECT, base, 0, 0, &e, done_at(cut, c, v).mean_q8, cut.horizon);
        link[v] = (uint16_t)(base * 4 + back.type);
    }
}

/** Follows the links from the top: lists tops and classes of segments. Returns how many there are. */
static __device__ int follow_links(const vf_cut &cut, const column_memory &c, const uint16_t *link, uint16_t *list)
{
    const vf_done last = done_at(cut, c, cut.height - 1);
    int count = 0, type = last.cost[VF_GROUND] < last.cost[VF_OBJECT] ? VF_GROUND : VF_OBJECT; /* as vf_stixel_last() */
    if (last.cost[VF_SKY] < vf_min(last.cost[VF_GROUND], last.cost[VF_OBJECT])) type = VF_SKY;
    for (int top = cut.height - 1; top >= 0; count++) {
        const int back = type == VF_OBJECT ? link[top] : c.from[top];
        if (count < VFRONT_SEGMENTS) list[count] = (uint16_t)(top * 4 + type);
        type = back & 3;
        top = (back >> 2) - 1;
    }
    return count;
}

/** Writes the segments, and what they say of obstacles, a thread each. */
static __device__ void write_segments(const vf_step &s, const vf_cut &cut, const column_memory &c, int column, int count, const uint16_t *link,
                                      const uint16_t *list)
{
    vf_stixel_memory &m = s.memory->stixel;
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        const int top = list[i] >> 2, type = list[i] & 3, back = type == VF_OBJECT ? link[top] : c.from[top], base = back >> 2;
        const int32_t below = base ? cost_at(cut, c, base - 1, back & 3) : 0;
        const vf_segment segment = vf_stixel_segment(&cut, type, base, top, c.twice[top + 1] - c.twice[base], (uint32_t)(c.valid[top + 1] - c.valid[base]),
                                                     cost_at(cut, c, top, type) - below);
        m.segment[column][count - 1 - i] = segment;
        atomicMin(&m.nearest_cm[m.tables.bin[column]], vf_stixel_cm(&s, m.tables.secant[column], &segment));
    }
    if (threadIdx.x == 0) m.segments[column] = (uint16_t)count;
}

/** Cuts the column once. Returns, in every thread, how many segments it has. */
template <int WIDE> static __device__ int programme(const vf_step &s, const vf_cut &cut, const column_memory &c, const int32_t *parts, uint16_t *link, uint16_t *list)
{
    const int warp = threadIdx.x / VF_WARP, warps = blockDim.x / VF_WARP, tiles = tiles_of(cut.height);
    front f = {nothing_ended(), 0, vf_stixel_ground_begun(&cut)};
    __syncthreads();
    for (int v = threadIdx.x; v < tiles * TILE; v += blockDim.x) {
        c.best[v] = VF_STIXEL_WORST;
        c.base[v] = 0;
    }
    if (threadIdx.x == 0) {
        begin_objects(c, s.memory->stixel_work.change[0], cut.price, 0, f.object, 0);
        c.turn[0] = c.turn[1] = 0;
    }
    build<WIDE>(s, c, parts, 0, warp, warps);
    __syncthreads();
    for (int first = warp * PAIR_ROWS; first < TILE; first += warps * PAIR_ROWS) pair_up(s, cut, c, 0, first);
    for (int tile = 0; tile < tiles; tile++) {
        __syncthreads();
        if (tile) push_near(cut, c, tile);
        if (threadIdx.x == 0) c.turn[(tile + 1) % 2] = 0;
        __syncthreads();
        if (warp == 0) finish(s, cut, c, tile, &f);
        else prepare<WIDE>(s, cut, c, parts, tile);
    }
    __syncthreads();
    link_objects(s, cut, c, link);
    __syncthreads();
    if (threadIdx.x == 0) c.turn[0] = follow_links(cut, c, link, list);
    __syncthreads();
    return c.turn[0];
}

#define WARPS 16 /* of a block at most */

template <int WIDE> static __global__ void __launch_bounds__(WARPS *VF_WARP) segment_k(const vf_step s)
{
    extern __shared__ __align__(16) unsigned char bytes[];
    vf_stixel_memory &m = s.memory->stixel;
    const int column = blockIdx.x;
    vf_cut cut = vf_stixel_cut(&s, &m);
    column_memory c = lay_out(bytes, cut.height, cut.disparities, blockDim.x / VF_WARP);
    int32_t *parts = s.memory->stixel_work.parts[column];
    uint16_t *link = reinterpret_cast<uint16_t *>(c.slot), *list = link + padded(cut.height); /* when the slots are done with */
    c.plain = s.memory->stixel_work.plain[column];
    c.end = s.memory->stixel_work.end[column];
    if (cut.horizon >= 0) sum_up(s, cut, c, m.column[column]);
    int count = 0, crowded = 0;
    if (cut.horizon >= 0 && c.valid[cut.height]) {
        sum_parts<WIDE>(s, cut, c, parts);
        int too_low = 0, bit = VF_STIXEL_PRICES, price = 0; /* the least price is looked for, bit by bit from the highest */
        for (;; price = bit < 0 ? too_low + 1 : too_low + (1 << bit)) {
            cut.price = vf_stixel_price(price);
            count = programme<WIDE>(s, cut, c, parts, link, list);
            if (bit < 0 || (bit == VF_STIXEL_PRICES && count <= VFRONT_SEGMENTS)) break;
            crowded = 1;
            if (count > VFRONT_SEGMENTS) too_low = price;
            bit--;
        }
        write_segments(s, cut, c, column, count, link, list);
    }
    if (threadIdx.x) return;
    m.crowded[column] = (uint16_t)crowded;
    if (!count) m.segments[column] = 0;
    vf_clock_end(s, VF_stixel);
}

/** Bytes of shared memory that a block may have, and a multiprocessor has. */
static size_t shared_bytes(cudaDeviceAttr which)
{
    int device, bytes;
    return cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetAttribute(&bytes, which, device) == cudaSuccess ? (size_t)bytes : 0;
}

/** A multiprocessor has one large block, or two small ones where there are more columns than multiprocessors and both fit. */
template <int WIDE> static cudaError_t segment(const vf_step *s, cudaStream_t stream)
{
    const int height = s->geometry.level[0][0].height, disparities = s->tuning.dense_disparities, columns = vf_stixel_columns(s);
    const size_t small = block_bytes(height, disparities, WARPS / 2), large = block_bytes(height, disparities, WARPS);
    const size_t reserved = 1024; /* of each block's, by the system */
    const bool two = columns > vf_multiprocessors() && 2 * (small + reserved) <= shared_bytes(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    const bool fits = large <= shared_bytes(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    const int warps = two || !fits ? WARPS / 2 : WARPS;
    const size_t bytes = warps == WARPS ? large : small;
    const cudaError_t error = cudaFuncSetAttribute(segment_k<WIDE>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess) return error;
    segment_k<WIDE><<<columns, warps * VF_WARP, bytes, stream>>>(*s);
    return cudaGetLastError();
}

#endif

extern "C" cudaError_t vf_stixel_cuda(const vf_step *s, cudaStream_t stream)
{
#if VFRONT_STIXELS
    if (!vf_stixel_on(s)) return cudaSuccess;
    const int height = s->geometry.level[0][0].height, disparities = s->tuning.dense_disparities;
    reduce_k<<<vf_blocks(height, ROWS), REDUCERS, 0, stream>>>(*s);
    road_k<<<s->geometry.road_slope > 0.0f ? 1 : VF_ROAD_ANGLES, VOTERS, 0, stream>>>(*s);
    return disparities == 64 ? segment<2>(s, stream) : disparities == 128 ? segment<4>(s, stream) : segment<8>(s, stream);
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
