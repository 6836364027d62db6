/* SPDX-License-Identifier: MIT */
/* stixel on the GPU, in three launches. In the first a block reduces some rows to columns and counts their disparities. In the second a block
 * finds the best line of an angle, and the one that is done last the road (road.cuh). In the third a block cuts a column.
 *
 * Rows depend on one another, but only what a row may cost at best does, not what pairs of rows cost. So one warp, the front, finishes a tile of
 * rows one after the other without a barrier, a lane a row: what ends at a row is passed on by shuffles, and each later row of the tile takes
 * it if that is better. What that costs, but for what lies below, the other warps have worked out for the tile meanwhile (pair_up); so a row of the
 * front is a sum, a minimum and a shuffle for each thing that the next one has to know. Objects that begin in the tile just finished are offered
 * to the next by all warps (push_near); those that begin in the tile before are offered by the other warps while the front is at work
 * (pull_near), and then those that begin lower still (pull_far), but not where no mean could make them better than what is there by now (bound): so
 * time depends on the picture, and is bounded by what it is where nothing can be ruled out.
 * A warp offers eight beginnings at a time, to a row a lane. Sums of costs, of which there would be one for every row and disparity, are made for three
 * tiles, and for eight rows wherever pull_far needs them; below every eighth row they are kept. */
#include "road.cuh"

#if VFRONT_STIXELS

/* ---- columns ----------------------------------------------------------------------------------------------------- */

#define WARPS 16 /* of a block at most */
#define TILE VF_STIXEL_TILE
#define NEAR_UNITS 16 /* of a tile's rows and the beginnings below it that a warp looks at in one go */
#define SLOTS                                                                                                          \
    3 /* tiles of which a block has sums of costs: the one at the front, the one behind it, the one before it */
#define RING                                                                                                           \
    3 /* tiles of which it has beginnings at hand: the one at the front, the one before it, the first of the next */
#define BOUNDS 4 /* parts of which a warp finds bounds together */
#define ROWS_APART                                                                                                     \
    (TILE + 1) /* two rows of the triangle, of which one is the longer by what the other is the shorter */
#define TRIANGLE (TILE / 2 * ROWS_APART)
#define PART VF_STIXEL_PART
#define PARTS (TILE / PART)      /* of a tile */
#define ABREAST (VF_WARP / PART) /* beginnings that a warp looks at together for each row of a part */
#define QUADS (TILE / ABREAST)   /* times that it does so for a tile */
#define PAIRINGS 10              /* two of these times each: what a tile's rows have below them in the tile */

VF_STATIC_ASSERT(TILE == VF_WARP && PARTS == 4 && ABREAST == 4, "a lane a row; PAIRINGS is 1 + 2 + 3 + 4");
VF_STATIC_ASSERT(offsetof(vf_stixel_tables, cost) % 8 == 0 && offsetof(vf_stixel_work, parts) % 16 == 0 &&
                     offsetof(vf_stixel_work, begun) % 16 == 0 && offsetof(vf_stixel_work, found) % 8 == 0,
                 "what a lane needs is read in one go");

/** A pair of rows of a tile: what their object costs after an object and after ground or sky, beside what these cost; its mean, and the range
 *  that it spans above that; what the next object above it costs more when it is nearer, and when it is farther. */
struct alignas(16) pair {
    int32_t object, other;
    uint32_t mean_range; /* of 16 bits each, the first below the second */
    int32_t upper_lower;
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
    pair *
        tri; /* [2][TILE + TRIANGLE] of the tile at the front and the one behind it; in front of each room for what is read of no use */
    int4 *
        offer; /* [2][TILE] what ground or sky costs more that begins at a row after an object, after ground; that ends there; at least, so far */
    int4 *begun; /* [RING][TILE][3] beginnings */
    int32_t *
        room; /* [rooms][apart] costs of objects' rows below each row of a part, by whole mean: [PART][pitch]; beginnings: [PART][3] of int4 */
    int32_t *done; /* [TILE] what ground or sky costs that ends at each row of the tile at the front */
    unsigned long long *
        best; /* [2][2][TILE] the best objects that end at the rows of the tile at the front and of the one behind it: their costs and bases;
                                 those that begin in the two tiles below, and others */
    int32_t *least;    /* [parts] what it costs at least to begin an object in a part, with all below it */
    int32_t *slot;     /* [SLOTS][TILE + 1][stride] costs below each row of a tile */
    uint32_t *inverse; /* [height + 1] */
    uint32_t *twice;   /* [rows + 1] sums below */
    uint16_t *valid, *whole, *from;
    int32_t *count;            /* how many segments there are */
    unsigned long long *found; /* global: [rows] the best object that ends at a row */
    int32_t *cheapest;         /* global: [rows + 1] sums below of what a row costs at least in an object */
    int32_t *plain,
        *end; /* global, of rows: sums below, as ground up to the horizon, as sky above it; what ground or sky costs that ends there */
    int32_t *parts;   /* global: [parts][means] costs below each part */
    int4 *begun_all;  /* global: [rows + 1][3] beginnings */
    int apart, rooms; /* words from a room to the next; as many of the workers have one */
    int stride,
        pitch; /* odd, so that lanes of one mean and neighbouring rows read from different banks; PART of these, too, and 16 bytes at a time */
};
/** Rows are made up to whole tiles by such that have no disparity. They cost nothing, and what is found for them is not looked at. */
static __host__ __device__ int tiles_of(int height) { return (height + TILE - 1) / TILE; }
static __host__ __device__ size_t padded(int height) { return (size_t)tiles_of(height) * TILE + 4; }
/** Words of a warp's room: sums of a part of rows, and as many beginnings. */
static __host__ __device__ size_t room_size(int disparities)
{
    return (size_t)PART * (size_t)(disparities + 4) + 12 * PART;
}
static __host__ __device__ size_t parts_of(int height) { return (size_t)tiles_of(height) * PARTS + 4; }
static size_t block_bytes(int height, int disparities, int rooms)
{
    return 2 * (TILE + TRIANGLE) * sizeof(pair) + (2 + 3 * RING) * TILE * sizeof(int4) + 4 * TILE * sizeof(uint64_t) +
           TILE * sizeof(int32_t) +
           sizeof(int32_t) * ((size_t)rooms * room_size(disparities) + SLOTS * (TILE + 1) * (size_t)(disparities + 1) +
                              parts_of(height) + (size_t)(height + 4) + 4) +
           padded(height) * (sizeof(uint32_t) + 3 * sizeof(uint16_t));
}
static __device__ column_memory lay_out(unsigned char *bytes, int height, int disparities, int rooms)
{
    column_memory c;
    const size_t rows = padded(height);
    c.bytes = bytes;
    c.stride = disparities + 1;
    c.pitch = disparities + 4;
    c.apart = (int)room_size(disparities);
    c.rooms = rooms;
    c.tri = reinterpret_cast<pair *>(bytes);
    c.offer = reinterpret_cast<int4 *>(c.tri + 2 * (TILE + TRIANGLE));
    c.begun = c.offer + 2 * TILE;
    c.best = reinterpret_cast<unsigned long long *>(c.begun + 3 * RING * TILE);
    c.room = reinterpret_cast<int32_t *>(c.best + 4 * TILE);
    c.done = c.room + c.rooms * c.apart;
    c.slot = c.done + TILE;
    c.least = c.slot + SLOTS * (TILE + 1) * c.stride;
    c.inverse = reinterpret_cast<uint32_t *>(c.least + parts_of(height));
    c.twice = c.inverse + height + 4;
    c.count = reinterpret_cast<int32_t *>(c.twice + rows);
    c.valid = reinterpret_cast<uint16_t *>(c.count + 4);
    c.whole = c.valid + rows;
    c.from = c.whole + rows;
    return c;
}
static __device__ __forceinline__ int32_t *slot_of(const column_memory &c, int tile)
{
    return c.slot + tile % SLOTS * (TILE + 1) * c.stride;
}
static __device__ __forceinline__ pair *triangle_of(const column_memory &c, int tile)
{
    return c.tri + tile % 2 * (TILE + TRIANGLE) + TILE;
}
static __device__ __forceinline__ int4 *begun_of(const column_memory &c, int tile)
{
    return c.begun + tile % RING * (3 * TILE);
}

/** Places are bytes from the start of the block's memory, so that an address is one sum. */
template <typename Word> static __device__ __forceinline__ int place_of(const column_memory &c, const Word *p)
{
    return (int)(reinterpret_cast<const unsigned char *>(p) - c.bytes);
}
static __device__ __forceinline__ int32_t at(const column_memory &c, int place)
{
    return *reinterpret_cast<const int32_t *>(c.bytes + place);
}

/** Costs and bases as one number, so that the least is the cheapest, of these the longest. */
static __device__ __forceinline__ unsigned long long found(int32_t cost, int base)
{
    return (unsigned long long)((uint32_t)cost ^ 0x80000000u) << 32 | (uint32_t)base;
}
static __device__ __forceinline__ int32_t cost_of(unsigned long long number)
{
    return (int32_t)((uint32_t)(number >> 32) ^ 0x80000000u);
}
static __device__ __forceinline__ int base_of(unsigned long long number) { return (int)(uint32_t)number; }
/** The best objects of a tile: those that begin in the two tiles below; of all others. */
static __device__ __forceinline__ unsigned long long *near_of(const column_memory &c, int tile)
{
    return c.best + tile % 2 * 2 * TILE;
}
static __device__ __forceinline__ unsigned long long *far_of(const column_memory &c, int tile)
{
    return near_of(c, tile) + TILE;
}

/** Where `count` threads of the block meet. */
static __device__ __forceinline__ void meet(int count) { asm volatile("bar.sync 1, %0;" ::"r"(count) : "memory"); }

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

/* ---- a column's sums --------------------------------------------------------------------------------------------- */

/** Sums from the bottom of the column: within every tile at first, then what lies below the tile is added. */
static __device__ void sum_up(const vf_step &s, const vf_cut &cut, const column_memory &c, const uint16_t *column)
{
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP, warps = blockDim.x / VF_WARP,
              tiles = tiles_of(cut.height);
    const vf_ground *ground = s.memory->stixel.ground;
    int32_t *whole_twice = c.slot, *whole_plain = c.slot + tiles, *whole_valid = c.slot + 2 * tiles;
    for (int tile = warp; tile < tiles; tile += warps) {
        const int v = tile * TILE + lane;
        const uint32_t d = v < cut.height ? column[v] : VF_STIXEL_NONE;
        const int32_t plain = v >= cut.height    ? 0
                              : v <= cut.horizon ? vf_stixel_ground(&ground[v], d, cut.outlier)
                                                 : vf_stixel_sky(d, cut.outlier_sky);
        const int whole = vf_stixel_whole(d, cut.disparities);
        const int32_t twice = scan(d == VF_STIXEL_NONE ? 0 : 2 * (int32_t)d), upto = scan(plain),
                      valid = scan(d != VF_STIXEL_NONE);
        const int32_t cheapest = scan(cut.tables->least[whole]);
        c.twice[v + 1] = (uint32_t)twice;
        c.plain[v + 1] = upto;
        c.valid[v + 1] = (uint16_t)valid;
        c.whole[v] = (uint16_t)whole;
        c.cheapest[v + 1] = cheapest; /* of the tile alone, which is what is asked for */
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

/** A lane's means: EACH that lie side by side, in each of RUNS of the warp's. */
template <int WIDE> struct lane_means {
    static constexpr int EACH = WIDE < 4 ? WIDE : 4, RUNS = WIDE / EACH;
    int32_t sum[WIDE];

    static __device__ __forceinline__ int first(int run)
    {
        return (run * VF_WARP + (int)(threadIdx.x % VF_WARP)) * EACH;
    }
    /** Adds what a row costs: two costs a word. */
    __device__ __forceinline__ void add(const uint32_t (&word)[WIDE / 2])
    {
#pragma unroll
        for (int k = 0; k < WIDE / 2; k++) {
            sum[2 * k] = (int32_t)__dp2a_lo(word[k], 0x001u, (uint32_t)sum[2 * k]);
            sum[2 * k + 1] = (int32_t)__dp2a_lo(word[k], 0x100u, (uint32_t)sum[2 * k + 1]);
        }
    }
    /** from, to: so that a lane's means are one word of 8 or 16 bytes. */
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
    __device__ __forceinline__ void store_anywhere(int32_t *to) const
    {
#pragma unroll
        for (int k = 0; k < WIDE; k++) to[first(k / EACH) + k % EACH] = sum[k];
    }
};

/** What the rows of a part cost, of a lane's means. */
template <int WIDE> struct part_costs {
    uint32_t word[PART][WIDE / 2];

    __device__ __forceinline__ void load(const vf_step &s, const column_memory &c, int part)
    {
        const uint16_t *cost = s.memory->stixel.tables.cost;
        typedef lane_means<WIDE> means;
#pragma unroll
        for (int r = 0; r < PART; r++) {
            const uint16_t *row = cost + c.whole[part * PART + r] * (WIDE * VF_WARP);
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

/** Sums of objects' costs below every part, by whole mean: a warp has parts side by side. */
template <int WIDE> static __device__ void sum_parts(const vf_step &s, const vf_cut &cut, const column_memory &c)
{
    const int means = WIDE * VF_WARP, count = tiles_of(cut.height) * PARTS, warp = threadIdx.x / VF_WARP,
              warps = blockDim.x / VF_WARP;
    const int each = (count + warps - 1) / warps, begin = vf_min(warp * each, count), end = vf_min(begin + each, count);
    int32_t *total = c.room; /* [warps][means] */
    lane_means<WIDE> sums = {};
    part_costs<WIDE> costs;
    for (int part = begin; part < end; part++) {
        costs.load(s, c, part);
        sums.store(c.parts + part * means);
#pragma unroll
        for (int r = 0; r < PART; r++) sums.add(costs.word[r]);
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
    for (int part = begin; part < end; part++) {
        more.load(c.parts + part * means);
#pragma unroll
        for (int k = 0; k < WIDE; k++) more.sum[k] += below.sum[k];
        more.store(c.parts + part * means);
    }
    __syncthreads();
}

/** Makes the sums of a tile, by so many warps of which this is one. */
template <int WIDE>
static __device__ __forceinline__ void build(const vf_step &s, const column_memory &c, int tile, int warp, int warps)
{
    for (int part = warp; part < PARTS; part += warps) {
        int32_t *to = slot_of(c, tile) + part * PART * c.stride;
        part_costs<WIDE> costs;
        lane_means<WIDE> sums;
        costs.load(s, c, tile * PARTS + part);
        sums.load(c.parts + (tile * PARTS + part) * WIDE * VF_WARP);
#pragma unroll
        for (int r = 0; r < PART; r++) {
            sums.store_anywhere(to + r * c.stride);
            sums.add(costs.word[r]);
        }
        if (part == PARTS - 1) sums.store_anywhere(to + PART * c.stride);
    }
}

/** Makes the sums below each row of a part in the warp's room. */
template <int WIDE>
static __device__ __forceinline__ int32_t *make_room(const vf_step &s, const column_memory &c, int part)
{
    int32_t *room = c.room + (threadIdx.x / VF_WARP - 1) * c.apart;
    part_costs<WIDE> costs;
    lane_means<WIDE> sums;
    costs.load(s, c, part);
    sums.load(c.parts + part * WIDE * VF_WARP);
    __syncwarp();
#pragma unroll
    for (int r = 0; r < PART; r++) {
        sums.store(room + r * c.pitch);
        sums.add(costs.word[r]);
    }
    return room;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

/** A row at which objects may end, of a lane: sums up to it, and where its sums of costs and the inverse of the number of its valid disparities
 *  are; what an object from the bottom costs more that ends there. */
struct ending {
    uint32_t twice_one;
    int inverse, upto;
    int32_t from_bottom;
};
static __device__ __forceinline__ ending ending_at(const vf_cut &cut, const column_memory &c, int v,
                                                   const int32_t *upto)
{
    return ending{c.twice[v + 1] + 1, place_of(c, c.inverse) + 4 * c.valid[v + 1], place_of(c, upto),
                  vf_stixel_first_top(&cut, v)};
}

/** The best object so far that ends at a lane's row. */
struct candidate {
    int32_t cost;
    int base;
};

/** Offers a beginning to a lane's row, as vf_stixel_entry() has it, whose sums of costs lie there; a tie keeps what is there. HOLES: there may be no
 *  disparity between. */
template <bool HOLES>
static __device__ __forceinline__ void offer(const column_memory &c, candidate *best, const ending &e,
                                             const int4 *begun, int from, int base, int32_t more)
{
    const int4 one = begun[0], two = begun[1], three = begun[2];
    const vf_entry entry = {one.x, one.y, one.z, one.w, two.x, two.y, two.z, two.w, three.x};
    const uint32_t inverse = (uint32_t)at(c, e.inverse - three.z);
    const int32_t mean = vf_stixel_mean(e.twice_one - (uint32_t)three.y, inverse);
    const int whole = (int)((uint32_t)mean / VF_STIXEL_PX) * 4;
    int32_t cost = vf_entry_cost(&entry, mean) + at(c, e.upto + whole) - at(c, from + whole) + more;
    if (HOLES) cost = vf_max(cost, inverse ? INT32_MIN : VF_STIXEL_WORST); /* which needs no branch */
    const bool better = cost < best->cost;
    best->cost = better ? cost : best->cost;
    best->base = better ? base : best->base;
}

/** Offers beginnings of a tile with a slot to a part of rows: so many quads of them, a lane a row and every fourth. */
template <bool HOLES, int COUNT>
static __device__ __forceinline__ void offer_quads(const column_memory &c, const ending &e, unsigned long long *to,
                                                   int tile, int first)
{
    const int group = threadIdx.x % VF_WARP / PART, j = first * ABREAST + group, step = ABREAST * c.stride * 4;
    const int4 *begun = begun_of(c, tile) + 3 * j;
    int from = place_of(c, slot_of(c, tile) + j * c.stride);
    candidate best = {VF_STIXEL_WORST, 0};
#pragma unroll 4
    for (int i = 0; i < COUNT; i++) {
        const int base = tile * TILE + j + i * ABREAST;
        offer<HOLES>(c, &best, e, begun + 3 * i * ABREAST, from + i * step, base,
                     i == 0 && base == 0 ? e.from_bottom : 0);
    }
#pragma unroll
    for (int apart = PART; apart < VF_WARP; apart *= 2) {
        const candidate other = {__shfl_xor_sync(VF_ALL, best.cost, apart), __shfl_xor_sync(VF_ALL, best.base, apart)};
        if (other.cost < best.cost || (other.cost == best.cost && other.base < best.base)) best = other;
    }
    if (group == 0) atomicMin(to, found(best.cost, best.base));
}

/** Offers the beginnings of the tile below to the rows of a tile, by all warps. */
static __device__ __forceinline__ void push_near(const vf_cut &cut, const column_memory &c, int tile)
{
    for (int unit = threadIdx.x / VF_WARP; unit < NEAR_UNITS; unit += blockDim.x / VF_WARP) {
        const int r = unit % PARTS * PART + threadIdx.x % PART, v = tile * TILE + r;
        offer_quads<true, QUADS * PARTS / NEAR_UNITS>(c, ending_at(cut, c, v, slot_of(c, tile) + (r + 1) * c.stride),
                                                      near_of(c, tile) + r, tile - 1,
                                                      unit / PARTS * (QUADS * PARTS / NEAR_UNITS));
    }
}

/** Whether there is a disparity between every row of one tile or part and every row of another above it. */
static __device__ __forceinline__ bool never_empty(const column_memory &c, int last_below, int first_above)
{
    return c.valid[first_above + 1] != c.valid[last_below];
}

/** Offers the beginnings of a part, of which all is at hand, to the rows of a tile with a slot that lies higher, a lane a row. from: sums below the part's
 *  rows, so many words apart; to: the lane's best. */
template <bool HOLES>
static __device__ __forceinline__ void offer_part(const column_memory &c, const ending &e, unsigned long long *to,
                                                  int part, const int4 *begun, int from, int words)
{
    candidate best = {VF_STIXEL_WORST, 0};
#pragma unroll 4
    for (int i = 0; i < PART; i++)
        offer<HOLES>(c, &best, e, begun + 3 * i, from + i * words * 4, part * PART + i,
                     i == 0 && part == 0 ? e.from_bottom : 0);
    atomicMin(to, found(best.cost, best.base));
}

/** Offers the beginnings of a part of the tile before the front to the tile behind it. */
static __device__ __forceinline__ void pull_near(const vf_cut &cut, const column_memory &c, int tile, int part)
{
    const int lane = threadIdx.x % VF_WARP, below = part / PARTS, r = part % PARTS * PART;
    const ending e = ending_at(cut, c, tile * TILE + lane, slot_of(c, tile) + (lane + 1) * c.stride);
    offer_part<true>(c, e, near_of(c, tile) + lane, part, begun_of(c, below) + 3 * r,
                     place_of(c, slot_of(c, below) + r * c.stride), c.stride);
}

/** Offers those of a part that lies lower. */
template <int WIDE>
static __device__ __forceinline__ void pull_far(const vf_step &s, const vf_cut &cut, const column_memory &c, int tile,
                                                int part)
{
    const int lane = threadIdx.x % VF_WARP;
    const int4 one = c.begun_all[3 * part * PART + vf_min(lane, 3 * PART - 1)];
    int32_t *room = make_room<WIDE>(s, c, part);
    int4 *begun = reinterpret_cast<int4 *>(room + PART * c.pitch);
    if (lane < 3 * PART) begun[lane] = one;
    const ending e = ending_at(cut, c, tile * TILE + lane, slot_of(c, tile) + (lane + 1) * c.stride);
    unsigned long long *to = far_of(c, tile) + lane;
    __syncwarp();
    if (never_empty(c, part * PART + PART - 1, tile * TILE))
        offer_part<false>(c, e, to, part, begun, place_of(c, room), c.pitch);
    else
        offer_part<true>(c, e, to, part, begun, place_of(c, room), c.pitch);
}

/** What an object costs at least that begins in a part and ends in a tile that lies higher, at its bottom: what it costs to begin, and what the rows
 *  between cost whose mean is the best for them. above: sums of costs below the tile. */
template <int WIDE>
static __device__ __forceinline__ int32_t bound(const column_memory &c, const lane_means<WIDE> &above, int part)
{
    lane_means<WIDE> below;
    int32_t least = INT32_MAX;
    below.load(c.parts + (part + 1) * WIDE * VF_WARP);
#pragma unroll
    for (int k = 0; k < WIDE; k++) least = vf_min(least, above.sum[k] - below.sum[k]);
    return c.least[part] + (int32_t)vf_warp_min((uint32_t)least);
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
    return vf_stixel_log(cut.tables->log_q16, (uint32_t)vf_max(cut.disparities * VF_STIXEL_PX - mean - range, 1)) +
           VF_LN_ORDER;
}
static __device__ __forceinline__ int32_t lower_of(const vf_cut &cut, int32_t mean, int32_t range)
{
    return vf_stixel_log(cut.tables->log_q16, (uint32_t)vf_max(mean - range, 1)) + VF_LN_NOT_ORDER;
}

/** Where the pairs of a beginning are, by row: the second half of the beginnings fills up the rows of the first. */
static __device__ __forceinline__ int row_of_triangle(int j)
{
    return j < TILE / 2 ? j * ROWS_APART + 1 : (TILE - 1 - j) * ROWS_APART - j;
}

/** Works out pairs within a tile: two quads of beginnings with a part of the rows. */
static __device__ __forceinline__ void pair_up(const vf_step &s, const vf_cut &cut, const column_memory &c, int tile,
                                               int number)
{
    const int part = (number >= 1) + (number >= 3) + (number >= 6), first = 2 * (number - part * (part + 1) / 2),
              lane = threadIdx.x % VF_WARP;
    const int row = part * PART + lane % PART, top = tile * TILE + row, last = cut.height - 1;
    const int32_t *slot = slot_of(c, tile), *upto = slot + (row + 1) * c.stride;
    const vf_change *change = s.memory->stixel_work.change;
    const uint32_t twice_one = c.twice[top + 1] + 1, valid = c.valid[top + 1];
    pair *to = triangle_of(c, tile) + row;
#pragma unroll
    for (int i = first; i < first + 2; i++) {
        const int j = i * ABREAST + lane / PART, base = tile * TILE + j;
        const vf_change b = change[vf_min(base, last)];
        const uint32_t inverse = c.inverse[row >= j ? valid - c.valid[base] : 0],
                       mean = (uint32_t)vf_stixel_mean(twice_one - c.twice[base], inverse);
        const uint32_t whole = mean / VF_STIXEL_PX;
        const int32_t range = cut.tables->range_q8[whole], is = (int32_t)mean, none = inverse ? INT32_MIN : NEVER_MORE;
        const int32_t data = upto[whole] - slot[j * c.stride + whole] + b.order + cut.price +
                             (base ? 0 : vf_stixel_first_top(&cut, top));
        pair p;
        p.object = vf_max(data + b.object, none);
        p.other = vf_max(data + (is > b.above ? b.upper : is < b.below ? b.lower : b.between), none);
        p.mean_range = __byte_perm(mean, (uint32_t)range, 0x5410);
        p.upper_lower = (int32_t)__byte_perm((uint32_t)upper_of(cut, is, range), (uint32_t)lower_of(cut, is, range),
                                             0x5410);
        asm volatile("" ::"r"(p.upper_lower), "r"(p.object),
                     "r"(p.other)); /* not within the branch, so that both overlap */
        if (row >= j) to[row_of_triangle(j)] = p;
    }
}

/** What the rows of a tile offer to ground and sky, a lane a row. */
static __device__ __forceinline__ void offer_others(const vf_step &s, const vf_cut &cut, const column_memory &c,
                                                    int tile)
{
    const int here = tile * TILE + threadIdx.x % VF_WARP;
    const vf_change b = s.memory->stixel_work.change[vf_min(here, cut.height - 1)];
    const int32_t begin = b.begin + b.order + cut.price - c.plain[here],
                  at_horizon = here == cut.horizon ? NEVER_MORE : 0;
    c.offer[tile % 2 * TILE + here % TILE] = make_int4(begin, here <= cut.horizon ? begin : NEVER_MORE,
                                                       at_horizon ? at_horizon : c.plain[here + 1],
                                                       here == cut.horizon + 1 ? VF_STIXEL_NEVER : INT32_MIN);
}

/* ---- the front --------------------------------------------------------------------------------------------------- */

/** Begins objects at a row, when it is known what ends below it. */
static __device__ __forceinline__ void begin_objects(const column_memory &c, const vf_change &b, int32_t price,
                                                     int base, const ended &object, int32_t other)
{
    const int32_t before = other + b.order + price, more = b.order + price + b.object;
    const int4 one = make_int4(b.above, b.below, before + b.upper, before + b.lower);
    const int4 two = make_int4(before + b.between, object.above, object.below, object.upper + more);
    const int4 three = make_int4(object.lower + more, (int32_t)c.twice[base], 4 * c.valid[base], 0);
    int4 *near = begun_of(c, base / TILE) + 3 * (base % TILE), *all = c.begun_all + 3 * base;
    near[0] = all[0] = one;
    near[1] = all[1] = two;
    near[2] = all[2] = three;
    const int32_t least = vf_min(vf_min(vf_min(one.z, one.w), vf_min(two.x, two.w)), three.x);
    atomicMin(&c.least[base / PART], least);
}

/** The best object so far that ends at a row, in a lane; can: ground may follow it, whatever its mean is. */
static __device__ __forceinline__ ended end_object(const vf_cut &cut, const column_memory &c, int v,
                                                   const candidate &best, bool can)
{
    bool none;
    const int32_t cost = best.cost < VF_STIXEL_WORST ? best.cost : VF_STIXEL_NEVER;
    const int32_t mean = mean_between(c, best.base, v, &none),
                  range = cut.tables->range_q8[(uint32_t)mean / VF_STIXEL_PX];
    return ended{mean + range, mean - range, cost + upper_of(cut, mean, range), cost + lower_of(cut, mean, range),
                 can || mean >= VF_ROAD_SLACK_Q8 ? cost : VF_STIXEL_NEVER};
}

#define SOON 3 /* rows of which the front reads what it needs before their turn */

/** Where ground or sky began that ends at a lane's row, from what the front found: what the object and the ground or sky below each row cost, before
 *  being that of the row below the tile. Leaves the topmost row's for the next tile. */
static __device__ __forceinline__ int32_t began(front *f, const front &before, int v, int4 offer, int32_t begins,
                                                int32_t ends)
{
    const int lane = threadIdx.x % VF_WARP;
    const int32_t cost = ends - offer.z, cost_below = __shfl_up_sync(VF_ALL, cost, 1),
                  begins_below = __shfl_up_sync(VF_ALL, begins, 1);
    const int32_t ends_below = __shfl_up_sync(VF_ALL, ends, 1),
                  so_far = vf_max(lane ? cost_below : before.begun.cost, offer.w);
    const int32_t after_object = (lane ? begins_below : before.object.begins) + offer.x,
                  after_ground = (lane ? ends_below : before.other) + offer.y;
    const bool object = after_object < so_far, ground = after_ground < vf_min(so_far, after_object);
    const unsigned changed = __ballot_sync(VF_ALL, object || ground) & (2u << lane) - 1;
    const int32_t here = __shfl_sync(VF_ALL, v * 4 + (ground ? VF_GROUND : VF_OBJECT), 31 - __clz((int)changed)),
                  from = changed ? here : before.begun.from;
    f->begun.from = __shfl_sync(VF_ALL, from, VF_WARP - 1);
    return from;
}

/** Finishes the rows of a tile one after the other, by one warp. Every instruction of the loop counts: all else waits for it. */
static __device__ __forceinline__ void finish(const vf_step &s, const vf_cut &cut, const column_memory &c, int tile,
                                              front *f)
{
    const int lane = threadIdx.x % VF_WARP, v = tile * TILE + lane;
    const pair *tri = triangle_of(c, tile) + lane;
    const int4 *offer = c.offer + tile % 2 * TILE;
    const vf_change above = s.memory->stixel_work.change[vf_min(v + 1, cut.height - 1)];
    const bool can = v < cut.horizon;
    const front before = *f;
    unsigned long long *near = near_of(c, tile) + lane, *far = far_of(c, tile) + lane,
                       number = *far < *near ? *far : *near;
    *near = *far = found(VF_STIXEL_WORST, 0); /* for the tile after the next */
    candidate best = {cost_of(number), -1};
    ended mine = end_object(cut, c, v, candidate{best.cost, base_of(number)}, can);
    pair soon[SOON];
    int4 soon_offer[SOON];
#pragma unroll
    for (int j = 0; j < SOON; j++) {
        soon[j] = tri[row_of_triangle(j)];
        soon_offer[j] = offer[j];
    }
#pragma unroll
    for (int j = 0; j < TILE; j++) {
        const pair p = soon[j % SOON];
        const int4 o = soon_offer[j % SOON];
        if (j + SOON < TILE) { /* of lanes below it, anything */
            soon[j % SOON] = tri[row_of_triangle(j + SOON)];
            soon_offer[j % SOON] = offer[j + SOON];
        }
        const int32_t other = f->other; /* which ends below the row */
        f->begun.cost = vf_min(f->object.begins + o.x, vf_min(vf_max(f->begun.cost, o.w), other + o.y));
        f->other = f->begun.cost + o.z;
        if (lane == 0) c.done[j] = f->other;
        const int mean = (int)(p.mean_range & 0xffff), range = (int)(p.mean_range >> 16);
        const int32_t object = mean > f->object.above   ? f->object.upper
                               : mean < f->object.below ? f->object.lower
                                                        : VF_STIXEL_NEVER;
        const int32_t cost = vf_min(object + p.object, other + p.other);
        const bool better = lane >= j && cost < best.cost; /* each by itself, without a branch */
        best.cost = better ? cost : best.cost;
        best.base = better ? j : best.base;
        mine.begins = better ? (can || mean >= VF_ROAD_SLACK_Q8 ? cost : VF_STIXEL_NEVER) : mine.begins;
        mine.above = better ? mean + range : mine.above;
        mine.below = better ? mean - range : mine.below;
        mine.upper = better ? cost + (int16_t)p.upper_lower : mine.upper;
        mine.lower = better ? cost + (int16_t)(p.upper_lower >> 16) : mine.lower;
        f->object.begins = __shfl_sync(VF_ALL, mine.begins, j);
        f->object.above = __shfl_sync(VF_ALL, mine.above, j);
        f->object.below = __shfl_sync(VF_ALL, mine.below, j);
        f->object.upper = __shfl_sync(VF_ALL, mine.upper, j);
        f->object.lower = __shfl_sync(VF_ALL, mine.lower, j);
    }
    __syncwarp();
    const int32_t ends = c.done[lane];
    c.from[v] = (uint16_t)began(f, before, v, offer[lane], mine.begins, ends);
    c.end[v] = ends;
    c.found[v] = best.base >= 0 ? found(best.cost, tile * TILE + best.base) : number;
    begin_objects(c, above, cut.price, v + 1, mine, ends);
    __syncwarp(); /* before the next tile's costs take the place of these */
}

/* ---- the column -------------------------------------------------------------------------------------------------- */

/** What is done beside the front, by the other warps: the tile behind it is made ready, and offered what begins below the front: first what begins in the
 *  tile before the front, and then of what begins lower that which can be better. */
template <int WIDE>
static __device__ __forceinline__ void prepare(const vf_step &s, const vf_cut &cut, const column_memory &c, int tile)
{
    const int lane = threadIdx.x % VF_WARP, worker = threadIdx.x / VF_WARP - 1, workers = blockDim.x / VF_WARP - 1,
              behind = tile + 1;
    const int nearest = tile ? PARTS : 0, parts = vf_max(tile - 1, 0) * PARTS;
    if (behind >= tiles_of(cut.height)) return;
    for (int turn = worker; turn <= nearest + PAIRINGS; turn += workers) {
        if (turn < nearest)
            pull_near(cut, c, behind, tile * PARTS - 1 - turn);
        else if (turn < nearest + PAIRINGS)
            pair_up(s, cut, c, behind, turn - nearest);
        else
            offer_others(s, cut, c, behind);
    }
    lane_means<WIDE> above;
    above.load(c.parts + behind * PARTS * WIDE * VF_WARP);
    const int32_t rows = c.cheapest[behind * TILE + lane + 1];
    int32_t bounds[BOUNDS];
    const auto find_bounds = [&](int first) {
#pragma unroll
        for (int k = 0; k < BOUNDS; k++) bounds[k] = bound<WIDE>(c, above, vf_max(first - k * c.rooms, 0));
    };
    int first = worker < c.rooms ? parts - 1 - worker : -1;
    if (first >= 0) find_bounds(first);
    meet(workers * VF_WARP);
    const int32_t best = cost_of(near_of(c, behind)[lane]);
    for (; first >= 0; first -= BOUNDS * c.rooms) {
#pragma unroll 1
        for (int k = 0; k < BOUNDS && first - k * c.rooms >= 0; k++) {
            const int32_t least = k == 0 ? bounds[0] : k == 1 ? bounds[1] : k == 2 ? bounds[2] : bounds[3];
            if (__any_sync(VF_ALL, least + rows <= best)) pull_far<WIDE>(s, cut, c, behind, first - k * c.rooms);
        }
        if (first >= BOUNDS * c.rooms) find_bounds(first - BOUNDS * c.rooms);
    }
    if (behind + 1 < tiles_of(cut.height)) build<WIDE>(s, c, behind + 1, workers - 1 - worker, workers);
}

/** What is known when the rows up to one are done. */
static __device__ __forceinline__ vf_done done_at(const vf_cut &cut, const column_memory &c, int v)
{
    bool none;
    const int32_t best = cost_of(c.found[v]);
    const bool there = best < VF_STIXEL_WORST;
    vf_done d;
    d.cost[VF_GROUND] = v < cut.horizon ? c.end[v] : VF_STIXEL_NEVER;
    d.cost[VF_OBJECT] = there ? best : VF_STIXEL_NEVER;
    d.cost[VF_SKY] = v < cut.horizon ? VF_STIXEL_NEVER : c.end[v];
    d.mean_q8 = there ? mean_between(c, base_of(c.found[v]), v, &none) : -1;
    return d;
}

static __device__ __forceinline__ int32_t cost_at(const vf_cut &cut, const column_memory &c, int v, int type)
{
    const vf_done d = done_at(cut, c, v);
    return type == VF_GROUND ? d.cost[VF_GROUND] : type == VF_OBJECT ? d.cost[VF_OBJECT] : d.cost[VF_SKY];
}

/** Replaces the base of the object that ends at each row by that and the class below it, as in vf_begun; by all threads. */
static __device__ __forceinline__ void link_objects(const vf_step &s, const vf_cut &cut, const column_memory &c,
                                                    uint16_t *link)
{
    for (int v = threadIdx.x; v < cut.height; v += blockDim.x) {
        const int base = base_of(c.found[v]);
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
static __device__ void write_segments(const vf_step &s, const vf_cut &cut, const column_memory &c, int column,
                                      int count, const uint16_t *link, const uint16_t *list)
{
    vf_stixel_memory &m = s.memory->stixel;
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        const int top = list[i] >> 2, type = list[i] & 3, back = type == VF_OBJECT ? link[top] : c.from[top],
                  base = back >> 2;
        const int32_t below = base ? cost_at(cut, c, base - 1, back & 3) : 0;
        const vf_segment segment = vf_stixel_segment(&cut, type, base, top, c.twice[top + 1] - c.twice[base],
                                                     (uint32_t)(c.valid[top + 1] - c.valid[base]),
                                                     cost_at(cut, c, top, type) - below);
        m.segment[column][count - 1 - i] = segment;
        atomicMin(&m.nearest_cm[m.tables.bin[column]], vf_stixel_cm(&s, m.tables.secant[column], &segment));
    }
    if (threadIdx.x == 0) m.segments[column] = (uint16_t)count;
}

/** Cuts the column once. Returns, in every thread, how many segments it has. */
template <int WIDE>
static __device__ int programme(const vf_step &s, const vf_cut &cut, const column_memory &c, uint16_t *link,
                                uint16_t *list)
{
    const int warp = threadIdx.x / VF_WARP, warps = blockDim.x / VF_WARP, tiles = tiles_of(cut.height);
    front f = {nothing_ended(), 0, vf_stixel_ground_begun(&cut)};
    __syncthreads();
    for (int i = threadIdx.x; i < 4 * TILE; i += blockDim.x) c.best[i] = found(VF_STIXEL_WORST, 0);
    for (int i = threadIdx.x; i <= tiles * PARTS; i += blockDim.x) c.least[i] = INT32_MAX;
    __syncthreads();
    if (threadIdx.x == 0) begin_objects(c, s.memory->stixel_work.change[0], cut.price, 0, f.object, 0);
    for (int tile = 0; tile < vf_min(2, tiles); tile++) build<WIDE>(s, c, tile, (warp + tile * PARTS) % warps, warps);
    if (warp == warps - 1) offer_others(s, cut, c, 0);
    __syncthreads();
    for (int number = warp; number < PAIRINGS; number += warps) pair_up(s, cut, c, 0, number);
    for (int tile = 0; tile < tiles; tile++) {
        __syncthreads();
        if (tile) push_near(cut, c, tile);
        __syncthreads();
        if (warp == 0)
            finish(s, cut, c, tile, &f);
        else
            prepare<WIDE>(s, cut, c, tile);
    }
    __syncthreads();
    link_objects(s, cut, c, link);
    __syncthreads();
    if (threadIdx.x == 0) *c.count = follow_links(cut, c, link, list);
    __syncthreads();
    return *c.count;
}

template <int WIDE> static __global__ void __launch_bounds__(WARPS *VF_WARP) segment_k(const vf_step s, int rooms)
{
    extern __shared__ __align__(16) unsigned char bytes[];
    vf_stixel_memory &m = s.memory->stixel;
    const int column = blockIdx.x;
    vf_cut cut = vf_stixel_cut(&s, &m);
    column_memory c = lay_out(bytes, cut.height, cut.disparities, rooms);
    uint16_t *link = reinterpret_cast<uint16_t *>(c.slot),
             *list = link + padded(cut.height); /* when the slots are done with */
    c.parts = s.memory->stixel_work.parts[column];
    c.begun_all = reinterpret_cast<int4 *>(s.memory->stixel_work.begun[column]);
    c.found = reinterpret_cast<unsigned long long *>(s.memory->stixel_work.found[column]);
    c.cheapest = s.memory->stixel_work.cheapest[column];
    c.plain = s.memory->stixel_work.plain[column];
    c.end = s.memory->stixel_work.end[column];
    if (cut.horizon >= 0) sum_up(s, cut, c, m.column[column]);
    int count = 0, crowded = 0;
    if (cut.horizon >= 0 && c.valid[cut.height]) {
        sum_parts<WIDE>(s, cut, c);
        int too_low = 0, bit = VF_STIXEL_PRICES,
            price = 0; /* the least price is looked for, bit by bit from the highest */
        for (;; price = bit < 0 ? too_low + 1 : too_low + (1 << bit)) {
            cut.price = vf_stixel_price(price);
            count = programme<WIDE>(s, cut, c, link, list);
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
    return cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetAttribute(&bytes, which, device) == cudaSuccess
               ? (size_t)bytes
               : 0;
}

/** Warps of a block, and how many of them have a room. */
struct block_size {
    int warps, rooms;
};
static const block_size large = {WARPS, WARPS - 1}, small = {WARPS / 2, 4}, least = {WARPS / 2, 1};
VF_STATIC_ASSERT(WARPS / 2 <= PART, "a row of a room a warp, for sum_parts()");

/** A multiprocessor has one large block, or two small ones where there are more columns than multiprocessors and both fit. */
static block_size size_for(int height, int disparities, int columns)
{
    const size_t reserved = 1024; /* of each block's, by the system */
    const size_t block = shared_bytes(cudaDevAttrMaxSharedMemoryPerBlockOptin),
                 both = shared_bytes(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    if (columns > vf_multiprocessors() && 2 * (block_bytes(height, disparities, small.rooms) + reserved) <= both)
        return small;
    if (block_bytes(height, disparities, large.rooms) <= block) return large;
    return block_bytes(height, disparities, small.rooms) <= block ? small : least;
}

template <int WIDE> static cudaError_t segment(const vf_step *s, cudaStream_t stream)
{
    const int height = s->geometry.level[0][0].height, disparities = s->tuning.dense_disparities,
              columns = vf_stixel_columns(s);
    const block_size size = size_for(height, disparities, columns);
    const size_t bytes = block_bytes(height, disparities, size.rooms);
    const cudaError_t error = cudaFuncSetAttribute(segment_k<WIDE>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                   (int)bytes);
    if (error != cudaSuccess) return error;
    segment_k<WIDE><<<columns, size.warps * VF_WARP, bytes, stream>>>(*s, size.rooms);
    return cudaGetLastError();
}

#endif

extern "C" size_t vf_stixel_shared(const vf_step *s)
{
#if VFRONT_STIXELS
    if (vf_stixel_on(s)) return block_bytes(s->geometry.level[0][0].height, s->tuning.dense_disparities, least.rooms);
#endif
    return (void)s, 0;
}

extern "C" cudaError_t vf_stixel_cuda(const vf_step *s, cudaStream_t stream)
{
#if VFRONT_STIXELS
    if (!vf_stixel_on(s)) return cudaSuccess;
    const int height = s->geometry.level[0][0].height, disparities = s->tuning.dense_disparities;
    reduce_k<<<vf_blocks(height, ROWS), REDUCERS, 0, stream>>>(*s);
    road_k < < <s->geometry.road_slope> 0.0f ? 1 : VF_ROAD_ANGLES, VOTERS, 0, stream >>> (*s);
    return disparities == 64    ? segment<2>(s, stream)
           : disparities == 128 ? segment<4>(s, stream)
                                : segment<8>(s, stream);
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
