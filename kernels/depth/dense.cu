/* SPDX-License-Identifier: MIT */
/* dense on the GPU: census words; path costs, two directions a launch, into a volume each; winners; median; speckles; the result.
 *
 * A warp goes along a line of the picture, a lane having two disparities of every 64, 2, 4 or 8 of them next to each other in a volume: so warps read
 * words of camera 1 that lie side by side, and a pixel's costs are one run of bytes. All lines of two directions are under way at once: a picture of
 * 640x480 px is 1,120 or 1,280 warps that never wait for each other. Diagonals that leave the picture on one side come in again on the other as new
 * paths, so all are as long as the picture is high. What a disparity costs is computed anew from the census words each time, so there is no
 * third volume. Costs are less than 2^14 and lie two by two in a register: the k-th of a lane and the one half of all behind it, so that the ones
 * above and below, which neighbours have, lie so too. */
#include "kernels/kernel.cuh"

#if VFRONT_DENSE

static __device__ __forceinline__ const vf_level &picture(const vf_step &s) { return s.geometry.level[0][0]; }

/* ---- census ------------------------------------------------------------------------------------------------------ */

#define THREADS 256

/** Words of camera 1 lie where the first disparity leads to, in rows with room in front for where the others do: dense_disparities before the one that
 *  belongs to the first pixel of camera 0. They lie there twice, the second time a word further to the front, so that those of two disparities side by
 *  side are read in one go wherever they begin. */
static __host__ __device__ __forceinline__ int opposite_pitch(const vf_step &s)
{
    return s.geometry.level[0][0].pitch + s.tuning.dense_disparities;
}

/** A thread a word. */
static __global__ void __launch_bounds__(THREADS) census_k(const vf_step s)
{
    vf_dense_passing &m = s.memory->dense_passing;
    const vf_level &l = picture(s);
    const int i = blockIdx.x * THREADS + threadIdx.x, y = blockIdx.y, camera = blockIdx.z, at = y * l.pitch + i;
    const uint8_t *pixels = vf_level_pixels(&s, s.parity, camera, 0);
    if (i == 0 && y == 0 && camera == 0) {
        vf_clock_start(s, VF_dense, 0);
        s.memory->dense.valid = 0;
    }
    if (i < l.width) {
        if (camera)
            m.back[at] = VF_NONE;
        else
            m.census[at] = vf_dense_census(pixels, &l, i, y);
    }
    if (camera && i < l.width + s.tuning.dense_disparities) {
        const int x = vf_max(i - s.tuning.dense_disparities - s.tuning.dense_least_px, 0);
        const uint32_t word = vf_dense_census(pixels, &l, x, y);
        m.opposite[0][y * opposite_pitch(s) + i] = word;
        if (i) m.opposite[1][y * opposite_pitch(s) + i - 1] = word;
    }
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

#ifndef VF_DENSE_AHEAD
#define VF_DENSE_AHEAD 16
#endif
/** Pixels of a path that are loaded before their turn: as many as a thread's registers hold, and an even number, since words of camera 1 come from both
 *  copies in turn. */
#define AHEAD(count) ((count) > 4 ? VF_DENSE_AHEAD / 2 : VF_DENSE_AHEAD)
VF_STATIC_ASSERT(VF_DENSE_AHEAD % 4 == 0, "an even number, and half of it too");

#define RUN (2 * VF_WARP) /* disparities of which each lane has two */

/** A lane's costs in a volume, and what is done with them: bytes from halves of words, the k-th and the one half of all behind it; sums of bytes,
 *  none of which is over 255; four of them. */
template <int COUNT> struct lane_bytes;
template <> struct lane_bytes<2> {
    typedef uint16_t type;
    static __device__ __forceinline__ type pack(const uint32_t (&pair)[1])
    {
        return (type)__byte_perm(pair[0], 0, 0x4420);
    }
    static __device__ __forceinline__ type add(type a, type b) { return (type)(a + b); }
    static __device__ __forceinline__ uint32_t word(type bytes, int) { return bytes; }
};
template <> struct lane_bytes<4> {
    typedef uint32_t type;
    static __device__ __forceinline__ type pack(const uint32_t (&pair)[2])
    {
        return __byte_perm(pair[0], pair[1], 0x6240);
    }
    static __device__ __forceinline__ type add(type a, type b) { return a + b; }
    static __device__ __forceinline__ uint32_t word(type bytes, int) { return bytes; }
};
template <> struct lane_bytes<8> {
    typedef uint2 type;
    static __device__ __forceinline__ type pack(const uint32_t (&pair)[4])
    {
        const uint32_t even = __byte_perm(pair[0], pair[1], 0x6240), odd = __byte_perm(pair[2], pair[3], 0x6240);
        return make_uint2(__byte_perm(even, odd, 0x5410), __byte_perm(even, odd, 0x7632));
    }
    static __device__ __forceinline__ type add(type a, type b) { return make_uint2(a.x + b.x, a.y + b.y); }
    static __device__ __forceinline__ uint32_t word(type bytes, int j) { return j ? bytes.y : bytes.x; }
};

/** Lesser halves of two words; each half is less than 2^14. */
static __device__ __forceinline__ uint32_t lesser(uint32_t a, uint32_t b)
{
#if __CUDA_ARCH__ >= 900
    return __vminu2(a, b);
#elif __CUDA_ARCH__ >= 800 /* as halves of 16-bit floating point numbers, which have the order of their bits */
    uint32_t least;
    asm("min.f16x2 %0, %1, %2;" : "=r"(least) : "r"(a), "r"(b));
    return least;
#else
    const uint32_t b_less = __byte_perm((a | 0x80008000u) - b, 0, 0xbb99); /* all ones where it is, or both are equal */
    return (b & b_less) | (a & ~b_less);
#endif
}

/** Lesser halves of a sum of two words and of another. */
static __device__ __forceinline__ uint32_t lesser_sum(uint32_t a, uint32_t b, uint32_t c)
{
#if __CUDA_ARCH__ >= 900 && __CUDACC_VER_MAJOR__ >= 12
    return __viaddmin_u16x2(a, b, c);
#else
    return lesser(a + b, c);
#endif
}

/** A lane's costs of the picture's first pixel. */
template <int COUNT>
static __device__ __forceinline__ typename lane_bytes<COUNT>::type *costs_of(const vf_step &s, int which)
{
    return reinterpret_cast<typename lane_bytes<COUNT>::type *>(s.memory->dense_passing.volume[which]) +
           threadIdx.x % VF_WARP;
}

/** Where a lane is: its words of both cameras, of camera 1 those of its last two disparities, and its costs. */
template <int COUNT> struct place {
    const uint32_t *left;
    const uint2 *right;
    typename lane_bytes<COUNT>::type *costs;
};
template <int COUNT> static __device__ __forceinline__ place<COUNT> place_of(const vf_step &s, int which, int x, int y)
{
    vf_dense_passing &m = s.memory->dense_passing;
    const int at = y * picture(s).pitch + x, lane = threadIdx.x % VF_WARP;
    const int last = at + (y + 1) * s.tuning.dense_disparities - (COUNT / 2 - 1) * RUN - 2 * lane -
                     1; /* odd where x is even: in a pair of the second */
    return place<COUNT>{m.census + at, reinterpret_cast<const uint2 *>(m.opposite[last % 2] + last / 2 * 2),
                        costs_of<COUNT>(s, which) + (size_t)at * VF_WARP};
}

/** Bytes from one pixel of a path to the next; among words of camera 1, which lie twice, from the first, third, .. and from the second, fourth, .. */
struct step {
    int64_t left, right[2], costs;
};
/** Goes on. The step is made a number that the compiler knows nothing of: else it keeps many multiples of it, one for each pixel loaded before its turn. */
template <typename T> static __device__ __forceinline__ void go_on(T *&p, int64_t &by)
{
    asm("" : "+l"(by));
    p = (T *)((const char *)p + by);
}

/** What a lane needs for a pixel. */
template <int COUNT> struct pixel {
    uint32_t left, right[COUNT];
    typename lane_bytes<COUNT>::type sum; /* of the directions before */
};
template <int COUNT, bool FIRST> static __device__ __forceinline__ void load(pixel<COUNT> &p, const place<COUNT> &at)
{
    p.left = *at.left;
#pragma unroll
    for (int k = 0; k < COUNT; k += 2) {
        const uint2 pair = at.right[(COUNT - 2 - k) / 2 * VF_WARP];
        p.right[k] = pair.y;
        p.right[k + 1] = pair.x;
    }
    if (!FIRST) p.sum = *at.costs;
}

/** What the disparities of a pixel cost, in pairs. */
template <int COUNT>
static __device__ __forceinline__ void count_bits(uint32_t (&bits)[COUNT / 2], const pixel<COUNT> &p)
{
#pragma unroll
    for (int k = 0; k < COUNT / 2; k++) {
        const uint32_t low = __popc(p.left ^ p.right[k]), high = __popc(p.left ^ p.right[k + COUNT / 2]);
        asm("mad.lo.u32 %0, %1, 0x10000, %2;"
            : "=r"(bits[k])
            : "r"(high), "r"(low)); /* as a sum it would be made by shift and or */
    }
}

#define LARGE 0x10001000u /* more than any cost, twice */

/** Costs of a pixel one disparity below and one above each: half of them are the lane's own, the others come from the lanes beside it. Below the first lane
 *  lies the last one's of the run before, above the last one the first one's of the next. */
template <int HALF>
static __device__ __forceinline__ void look_around(uint32_t (&lower)[HALF], uint32_t (&upper)[HALF],
                                                   const uint32_t (&cost)[HALF])
{
    const int lane = threadIdx.x % VF_WARP;
    const uint32_t below_first = lane ? 0x3210 : 0x1054, above_last = lane < VF_WARP - 1 ? 0x3210 : 0x5432;
    uint32_t below[HALF / 2], above[HALF / 2];
#pragma unroll
    for (int k = 0; k < HALF; k += 2) {
        below[k / 2] = __shfl_sync(VF_ALL, cost[k + 1], lane + VF_WARP - 1);
        above[k / 2] = __shfl_sync(VF_ALL, cost[k], lane + 1);
    }
#pragma unroll
    for (int k = 0; k < HALF; k += 2) {
        const uint32_t before = lane ? below[k / 2] : below[(k ? k : HALF) / 2 - 1];
        const uint32_t after = lane < VF_WARP - 1 ? above[k / 2] : above[k + 2 < HALF ? k / 2 + 1 : 0];
        lower[k] = k ? before : __byte_perm(before, LARGE, below_first);
        upper[k] = cost[k + 1];
        lower[k + 1] = cost[k];
        upper[k + 1] = k + 2 < HALF ? after : __byte_perm(after, LARGE, above_last);
    }
}
/** The same where a lane has two. What has none below or above looks the other way twice. */
static __device__ __forceinline__ void look_around(uint32_t (&lower)[1], uint32_t (&upper)[1],
                                                   const uint32_t (&cost)[1])
{
    const int lane = threadIdx.x % VF_WARP;
    const uint32_t below = __shfl_sync(VF_ALL, cost[0], lane + VF_WARP - 1),
                   above = __shfl_sync(VF_ALL, cost[0], lane + 1);
    lower[0] = __byte_perm(below, cost[0], lane ? 0x5432 : 0x5476);
    upper[0] = __byte_perm(cost[0], above, lane < VF_WARP - 1 ? 0x5432 : 0x1032);
}

/** A path reaches a pixel whose disparities cost `bits`: from the costs of the one before, in pairs, and the least of them, `all`, in both halves, to its
 *  own. Costs pass on to neighbours while the least is looked for, so what a pixel waits for is the longer of both. */
template <int COUNT>
static __device__ __forceinline__ void reach(uint32_t (&cost)[COUNT / 2], uint32_t &all,
                                             const uint32_t (&bits)[COUNT / 2], uint32_t p1, uint32_t p2)
{
    constexpr int HALF = COUNT / 2;
    uint32_t near[HALF], lower[HALF], upper[HALF], least = LARGE;
#pragma unroll
    for (int k = 0; k < HALF; k++) near[k] = cost[k] + p1;
    look_around(lower, upper, near);
#pragma unroll
    for (int k = 0; k < HALF; k++) {
        cost[k] = lesser_sum(all, p2, lesser(cost[k], lesser(lower[k], upper[k]))) + bits[k] - all;
        least = lesser(least, cost[k]);
    }
    all = vf_warp_min(lesser(least, __byte_perm(least, 0, 0x1032)));
}

/** A warp goes along a path of `count` pixels. What disparities of a pixel cost is counted while the path is at the one before. */
template <int COUNT, bool FIRST>
static __device__ __forceinline__ void go(const vf_step &s, place<COUNT> at, step each, int count)
{
    const uint32_t p1 = (uint32_t)s.tuning.dense_p1 * 0x10001, p2 = (uint32_t)s.tuning.dense_p2 * 0x10001;
    uint32_t cost[COUNT / 2], bits[COUNT / 2], all = 0;
    auto *to = at.costs;
    constexpr int MANY = AHEAD(COUNT);
    pixel<COUNT> ahead[MANY] = {};
    const auto load_next = [&](int k) {
        load<COUNT, FIRST>(ahead[k], at);
        go_on(at.left, each.left);
        go_on(at.right, each.right[k % 2]);
        if (!FIRST) go_on(at.costs, each.costs);
    };
    const auto advance = [&](int k) {
        uint32_t next[COUNT / 2];
        count_bits(next, ahead[(k + 1) % MANY]);
        reach<COUNT>(cost, all, bits, p1, p2);
        const auto own = lane_bytes<COUNT>::pack(cost);
        *to = FIRST ? own : lane_bytes<COUNT>::add(ahead[k].sum, own);
        go_on(to, each.costs);
#pragma unroll
        for (int i = 0; i < COUNT / 2; i++) bits[i] = next[i];
    };
#pragma unroll
    for (int k = 0; k < MANY; k++)
        if (k < count) load_next(k);
#pragma unroll
    for (int k = 0; k < COUNT / 2; k++) cost[k] = 0;
    count_bits(bits, ahead[0]);
    int left = count;
    for (; left >= 2 * MANY; left -= MANY) { /* as many are there, and as many are to be loaded */
#pragma unroll
        for (int k = 0; k < MANY; k++) {
            if (k % 2 == 0 && k >= left)
                return; /* never; but without it the compiler puts loads of many pixels last, what needs them first */
            advance(k);
            load_next(k);
        }
    }
    for (; left > 0; left -= MANY) {
#pragma unroll
        for (int k = 0; k < MANY; k++) {
            if (k >= left) break;
            advance(k);
            if (k + MANY < left) load_next(k);
        }
    }
}

/** Lines of a direction, to blocks: every `apart`-th block is on the same multiprocessor, if they are given out in turn, and has the next line but one. So
 *  what it reads of camera 1 has mostly been read for the one before, also from the same copy. The result is the same in any order. */
static __device__ __forceinline__ int neighbour(int block, int lines, int apart)
{
    const int turn = block % apart, line = turn * (lines / apart) + vf_min(turn, lines % apart) + block / apart,
              even = (lines + 1) / 2;
    return line < even ? 2 * line : 2 * (line - even) + 1;
}

/** Two directions: lines of the first are the first blocks, of a warp each, so that the compiler knows that its lanes stay together. 0: right, down.
 *  1: left, up. 2: right and down, left and down. 3: left and up, right and up. A diagonal that leaves the picture on one side comes in again on
 *  the other as a new path. */
template <int COUNT, bool FIRST>
static __global__ void __launch_bounds__(VF_WARP) paths_k(const vf_step s, int pair, int apart)
{
    const vf_level &l = picture(s);
    const int on = pair % 2 ? -1 : 1, rows = pair < 2 ? l.height : 0, line = blockIdx.x;
    const bool along = line < rows;
    const int which = !along && (pair < 2 || line >= l.width),
              sideways = along      ? on
                         : pair < 2 ? 0
                         : which    ? -on
                                    : on,
              down = along ? 0 : on;
    const int from_to = sideways + down * l.pitch;
    int x = along ? (on < 0 ? l.width - 1 : 0) : neighbour(line - (pair < 2 ? rows : which * l.width), l.width, apart);
    int y = along ? line : on < 0 ? l.height - 1 : 0;
    for (int left = along ? l.width : l.height; left > 0;) {
        const int room = sideways ? (sideways > 0 ? l.width - x : x + 1) : left, count = vf_min(room, left);
        const int right = (from_to + down * (VF_WARP * COUNT)) * 4,
                  other = sideways ? (int)sizeof s.memory->dense_passing.opposite[0] - 4 : 0;
        const int first = x % 2 ? other : -other; /* to the other copy of words and back */
        const step each = {from_to * 4, {right + first, right - first}, from_to * (VF_WARP * COUNT)};
        go<COUNT, FIRST>(s, place_of<COUNT>(s, which, x, y), each, count);
        x = sideways > 0 ? 0 : l.width - 1;
        y += on * count;
        left -= count;
    }
}

/* ---- winners ----------------------------------------------------------------------------------------------------- */

#define STRETCH 96 /* columns of a row that a warp has */
#define NEXT 4     /* pixels that are loaded before their turn */

/** A lane's sums of a pixel, of both volumes. */
template <int COUNT> struct both_bytes {
    typename lane_bytes<COUNT>::type a, b;
};
template <int COUNT> static __device__ __forceinline__ both_bytes<COUNT> load_both(const vf_step &s, int at)
{
    return both_bytes<COUNT>{costs_of<COUNT>(s, 0)[at * VF_WARP], costs_of<COUNT>(s, 1)[at * VF_WARP]};
}

/** The lane's k-th disparity. */
static __device__ __forceinline__ int index_of(int k) { return k / 2 * RUN + (int)(threadIdx.x % VF_WARP) * 2 + k % 2; }

#define GONE 0x1000u  /* more than any sum */
#define BOTH 0x10001u /* a number in both halves */

/** A lane's sums of a pixel, in halves of words, GONE beyond the last candidate: of each four the first and the third, then the others. */
template <int COUNT> struct sums {
    uint32_t two[COUNT > 2 ? COUNT / 2 : 2];
};
template <int COUNT> static __device__ __forceinline__ sums<COUNT> add_up(const both_bytes<COUNT> &bytes)
{
    sums<COUNT> s;
#pragma unroll
    for (int k = 0; k < COUNT; k += 4) {
        const uint32_t a = lane_bytes<COUNT>::word(bytes.a, k), b = lane_bytes<COUNT>::word(bytes.b, k),
                       none = COUNT == 2 ? GONE << 16 : 0;
        s.two[k / 2] = __byte_perm(a, 0, 0x4240) + __byte_perm(b, 0, 0x4240) + none;
        s.two[k / 2 + 1] = __byte_perm(a, 0, 0x4341) + __byte_perm(b, 0, 0x4341) + none;
    }
    return s;
}

/** Where the lane's k-th sum lies. */
static __device__ __forceinline__ int word_of(int k) { return k / 4 * 2 + k % 2; }
static __device__ __forceinline__ int half_of(int k) { return k / 2 % 2; }

/** Keys of a pixel: sums with their indices, as vf_dense_key(). */
template <int COUNT> static __device__ __forceinline__ void make_keys(uint32_t (&key)[COUNT], const sums<COUNT> &s)
{
#pragma unroll
    for (int k = 0; k < COUNT; k++) key[k] = __byte_perm(s.two[word_of(k)], index_of(k), half_of(k) ? 0x5324 : 0x5104);
}

/** Takes sums and keys beyond the last candidate away. */
template <int COUNT>
static __device__ __forceinline__ void leave_out(uint32_t (&key)[COUNT], sums<COUNT> &s, int candidates)
{
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        if (index_of(k) < candidates) continue;
        key[k] = VF_NONE;
        s.two[word_of(k)] |= GONE << 16 * half_of(k);
    }
}

/** Halves of a word less 0x4000, but 3 where that is more, or less than nothing. */
static __device__ __forceinline__ uint32_t at_most_3(uint32_t a)
{
#if __CUDA_ARCH__ >= 900 && __CUDACC_VER_MAJOR__ >= 12
    return __viaddmin_u16x2(a, 0xc000 * BOTH, 3 * BOTH);
#else
    return lesser(a & 0x3fff * BOTH, 3 * BOTH);
#endif
}

/** What a warp finds for a pixel: a key, and the least sum that is no neighbour of it, in both halves; or GONE or more. */
struct winner {
    uint32_t best, second;
};
template <int COUNT>
static __device__ __forceinline__ winner find_winner(const uint32_t (&key)[COUNT], const sums<COUNT> &s)
{
    winner w = {VF_NONE, GONE * BOTH};
#pragma unroll
    for (int k = 0; k < COUNT; k++) w.best = min(w.best, key[k]);
    w.best = vf_warp_min(w.best);
    const uint32_t index = w.best & 255;
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        if (half_of(k)) continue;
        const uint32_t after = (0x4001 + index_of(k)) * BOTH + (RUN << 16) -
                               index * BOTH; /* how far behind the best: 0x4000, .. 0x4002: neighbours */
        w.second = lesser(w.second, s.two[word_of(k)] | (3 * GONE * BOTH - at_most_3(after) * GONE));
    }
    w.second = vf_warp_min(lesser(w.second, __byte_perm(w.second, 0, 0x1032)));
    return w;
}

/** Sum of a disparity, from memory. */
template <int COUNT> static __device__ __forceinline__ uint32_t sum_of(const vf_step &s, int at, int index)
{
    const vf_dense_passing &m = s.memory->dense_passing;
    const size_t byte = (size_t)at * (VF_WARP * COUNT) + index % RUN / 2 * COUNT + index / RUN * 2 + index % 2;
    return m.volume[0][byte] + m.volume[1][byte];
}

template <int COUNT> static __device__ __forceinline__ void put_winner(const vf_step &s, int x, int at, const winner &w)
{
    vf_dense_passing &m = s.memory->dense_passing;
    const vfront_tuning_t &t = s.tuning;
    const int candidates = vf_dense_candidates(&t, x), index = w.best & 255;
    uint32_t margin = 0, disparity = VF_DENSE_NONE;
    if (candidates > 0)
        margin = vf_dense_margin(&t, w.best >> 8, w.second >= GONE * BOTH ? VF_NONE : w.second & 0xffff);
    if (margin) {
        const uint32_t before = index > 0 ? sum_of<COUNT>(s, at, index - 1) : VF_NONE;
        const uint32_t after = index + 1 < candidates ? sum_of<COUNT>(s, at, index + 1) : VF_NONE;
        disparity = vf_dense_disparity(&t, index, before, w.best >> 8, after);
    }
    m.found[at] = (uint16_t)disparity;
    m.margin[at] = (uint8_t)margin;
}

/** Keys of camera 1's pixels on their way: pixel x - i of it is disparity i of pixel x, and i + 1 of the next. Returns, in the last lane, the one that
 *  leaves at the last disparity. */
template <int COUNT>
static __device__ __forceinline__ uint32_t wander(uint32_t (&best)[COUNT], const uint32_t (&key)[COUNT])
{
    const int lane = threadIdx.x;
    uint32_t from[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        best[k] = min(best[k], key[k]);
        from[k] = k % 2 ? __shfl_sync(VF_ALL, best[k], lane + VF_WARP - 1) : best[k];
    }
    const uint32_t leaves = best[COUNT - 1];
#pragma unroll
    for (int k = 0; k < COUNT; k += 2) {
        best[k] = lane ? from[k + 1] : k ? from[k > 0 ? k - 1 : 0] : VF_NONE;
        best[k + 1] = from[k];
    }
    return leaves;
}

/** A warp has a stretch of a row, which it goes along in turns of as many columns as it has lanes. */
template <int COUNT> static __global__ void __launch_bounds__(VF_WARP) winners_k(const vf_step s)
{
    __shared__ winner found[VF_WARP];
    __shared__ uint32_t left[VF_WARP];
    const vf_level &l = picture(s);
    const int lane = threadIdx.x, least = s.tuning.dense_least_px, row = blockIdx.y * l.pitch;
    const int x0 = blockIdx.x * STRETCH, end = vf_min(x0 + STRETCH, l.width);
    uint32_t *back = s.memory->dense_passing.back + row, best[COUNT];
    both_bytes<COUNT> ahead[NEXT];
    const auto tell = [&](int there, uint32_t mine) {
        if (there >= 0 && mine != VF_NONE) atomicMin(&back[there], mine);
    };
    const auto pass = [&](int x, int i, int from, int candidates) {
        uint32_t key[COUNT];
        sums<COUNT> both = add_up(ahead[i]);
        make_keys(key, both);
        if (candidates < VF_WARP * COUNT) leave_out(key, both, candidates);
        ahead[i] = load_both<COUNT>(s, row + vf_min(x + i + NEXT, end - 1)); /* beyond the stretch none is used */
        found[from + i] = find_winner(key, both);
        const uint32_t leaves = wander(best, key);
        if (lane == VF_WARP - 1) left[from + i] = leaves;
    };
#pragma unroll
    for (int k = 0; k < NEXT; k++) ahead[k] = load_both<COUNT>(s, row + vf_min(x0 + k, end - 1));
#pragma unroll
    for (int k = 0; k < COUNT; k++) best[k] = VF_NONE;
    for (int turn = x0; turn < end; turn += VF_WARP) {
        if (turn + VF_WARP <= end && vf_dense_candidates(&s.tuning, turn) == VF_WARP * COUNT) {
            for (int from = 0; from < VF_WARP; from += NEXT)
#pragma unroll
                for (int i = 0; i < NEXT; i++) pass(turn + from, i, from, VF_WARP * COUNT);
        } else {
            for (int from = 0; turn + from < vf_min(turn + VF_WARP, end); from += NEXT)
#pragma unroll
                for (int i = 0; i < NEXT; i++) {
                    if (turn + from + i >= end) break;
                    pass(turn + from, i, from, vf_dense_candidates(&s.tuning, turn + from + i));
                }
        }
        __syncwarp();
        const int x = turn + lane;
        if (x < end) {
            put_winner<COUNT>(s, x, row + x, found[lane]);
            tell(x - least - (VF_WARP * COUNT - 1), left[lane]);
        }
        __syncwarp();
    }
#pragma unroll
    for (int k = 0; k < COUNT; k++) tell(end - least - index_of(k), best[k]);
}

/* ---- median ------------------------------------------------------------------------------------------------------ */

#define WIDE 32
#define HIGH 8

/** A thread a pixel; a block's pixels and those around them are checked once. */
static __global__ void __launch_bounds__(WIDE *HIGH) smooth_k(const vf_step s)
{
    __shared__ uint16_t checked[HIGH + 2][WIDE + 2];
    vf_dense_passing &m = s.memory->dense_passing;
    const vf_level &l = picture(s);
    const int x0 = blockIdx.x * WIDE, y0 = blockIdx.y * HIGH, framed[2] = {vf_framed(&s, 0), vf_framed(&s, 1)};
    for (int i = threadIdx.x; i < (HIGH + 2) * (WIDE + 2); i += WIDE * HIGH) {
        const int x = x0 + i % (WIDE + 2) - 1, y = y0 + i / (WIDE + 2) - 1, row = y * l.pitch;
        const bool inside = x >= 0 && y >= 0 && x < l.width && y < l.height;
        checked[i / (WIDE + 2)][i % (WIDE + 2)] =
            (uint16_t)(inside ? vf_dense_checked(&s, framed, m.back + row, x, y, m.found[row + x]) : VF_DENSE_NONE);
    }
    __syncthreads();
    const int u = threadIdx.x % WIDE, v = threadIdx.x / WIDE, x = x0 + u, y = y0 + v;
    if (x >= l.width || y >= l.height) return;
    uint32_t disparity = checked[v + 1][u + 1], nine[9];
    if (s.tuning.dense_median && disparity != VF_DENSE_NONE) {
#pragma unroll
        for (int k = 0; k < 9; k++) nine[k] = checked[v + k / 3][u + k % 3];
        disparity = min(vf_dense_median(nine), (uint32_t)x * VF_DENSE_UNITS);
    }
    m.smooth[y * l.pitch + x] = s.memory->dense.disparity[y * l.pitch + x] = (uint16_t)disparity;
}

/* ---- speckles ---------------------------------------------------------------------------------------------------- */

#define SIDE VF_DENSE_SQUARE
#define ROOM (SIDE + 2) /* of a row in shared memory: an odd number of words, so that rows begin in different banks */
#define PART 16         /* pixels of a row or column that a thread has; lanes side by side have the parts of one */
#define PARTS (SIDE / PART)
#define SPECKLERS (SIDE / 2 * PARTS)
#define OPEN 0x80000000u
#define BEYOND 0x3fffu /* more than any number, and of 14 bits as lesser() asks */

/** A thread's parts of two rows or of two columns: numbers of both lie in halves of a word. */
struct parts {
    uint32_t apart
        [PART +
         1]; /* BEYOND where pixel k does not belong with k - 1; the first and the last: with the part before and the next */
    uint32_t broken; /* BEYOND where there is more than one piece */
};

/** Lets all of every unbroken piece take its least number. */
static __device__ __forceinline__ void level_out(uint32_t (&v)[PART], const parts &p)
{
    uint32_t from_left = BEYOND * BOTH, from_right = BEYOND * BOTH, passes[PART];
#pragma unroll
    for (int k = 1; k < PART; k++) v[k] = lesser(v[k], v[k - 1] | p.apart[k]);
#pragma unroll
    for (int k = PART - 2; k >= 0; k--) v[k] = lesser(v[k], v[k + 1] | p.apart[k + 1]);
#pragma unroll
    for (int k = 1; k < PARTS; k++) {
        const uint32_t left = __shfl_up_sync(VF_ALL, lesser(v[PART - 1], from_left | p.broken), 1, PARTS);
        const uint32_t right = __shfl_down_sync(VF_ALL, lesser(v[0], from_right | p.broken), 1, PARTS);
        from_left = left | p.apart[0];
        from_right = right | p.apart[PART];
    }
#pragma unroll
    for (int k = 0; k < PART; k++) {
        if (k) from_left |= p.apart[k];
        passes[k] = from_left;
    }
#pragma unroll
    for (int k = PART - 1; k >= 0; k--) {
        if (k < PART - 1) from_right |= p.apart[k + 1];
        v[k] = lesser(v[k], lesser(passes[k], from_right));
    }
}

/** Two words of numbers, of rows one below the other, to those of columns, or back. */
static __device__ __forceinline__ void turn(uint32_t &a, uint32_t &b)
{
    const uint32_t first = __byte_perm(a, b, 0x5410);
    b = __byte_perm(a, b, 0x7632);
    a = first;
}

typedef uint16_t square[SIDE][ROOM];

/** A thread's part of row y and of that half a square below. */
static __device__ __forceinline__ void level_rows(square &number, int x, int y, const parts &p)
{
    uint32_t v[PART], *upper = reinterpret_cast<uint32_t *>(&number[y][x]),
                      *lower = reinterpret_cast<uint32_t *>(&number[y + SIDE / 2][x]);
#pragma unroll
    for (int k = 0; k < PART; k += 2) {
        v[k] = upper[k / 2];
        v[k + 1] = lower[k / 2];
        turn(v[k], v[k + 1]);
    }
    level_out(v, p);
#pragma unroll
    for (int k = 0; k < PART; k += 2) {
        turn(v[k], v[k + 1]);
        upper[k / 2] = v[k];
        lower[k / 2] = v[k + 1];
    }
}

/** A thread's part of column x and of the next. */
static __device__ __forceinline__ void level_columns(square &number, int x, int y, const parts &p)
{
    uint32_t v[PART], *first = reinterpret_cast<uint32_t *>(&number[y][x]);
#pragma unroll
    for (int k = 0; k < PART; k++) v[k] = first[k * (ROOM / 2)];
    level_out(v, p);
#pragma unroll
    for (int k = 0; k < PART; k++) first[k * (ROOM / 2)] = v[k];
}

/** Where parts of two lines are broken: (dx, dy) leads along them, and (x1, y1) lies in the second as (x0, y0) in the first. */
static __device__ __forceinline__ parts parts_of(const square &value, int x0, int y0, int x1, int y1, int dx, int dy,
                                                 int step)
{
    parts p;
    p.broken = 0;
#pragma unroll
    for (int k = 0; k <= PART; k++) {
        const int i = (dx ? x0 : y0) + k;
        const bool inside = i > 0 && i < SIDE;
        const bool first = inside && vf_dense_joined(value[y0 + (k - 1) * dy][x0 + (k - 1) * dx],
                                                     value[y0 + k * dy][x0 + k * dx], step);
        const bool second = inside && vf_dense_joined(value[y1 + (k - 1) * dy][x1 + (k - 1) * dx],
                                                      value[y1 + k * dy][x1 + k * dx], step);
        p.apart[k] = (first ? 0 : BEYOND) | (second ? 0 : BEYOND << 16);
        if (k > 0 && k < PART) p.broken |= p.apart[k];
    }
    return p;
}

/** Counts pixels of a part of a column. */
static __device__ __forceinline__ void count_part(uint32_t *count, const square &value, const square &number, int x,
                                                  int y)
{
    uint32_t named = 0, pixels = 0; /* a number, and how many of the part's pixels had it up to here */
    for (int k = 0; k < PART; k++) {
        if (value[y + k][x] == VF_DENSE_NONE) continue;
        const uint32_t name = number[y + k][x];
        if (pixels && name != named) {
            atomicAdd(&count[named], pixels);
            pixels = 0;
        }
        named = name;
        pixels++;
    }
    const uint32_t first = vf_warp_min(pixels ? named : VF_NONE), all = (uint32_t)vf_warp_sum((int32_t)pixels);
    if (!__all_sync(VF_ALL, !pixels || named == first)) {
        if (pixels) atomicAdd(&count[named], pixels);
    } else if (all && threadIdx.x % VF_WARP ==
                          0) { /* mostly a warp's are of one segment: one after the other they would take long */
        atomicAdd(&count[first], all);
    }
}

/** A block has a square, a thread a part of two rows of it and one of two columns. */
static __global__ void __launch_bounds__(SPECKLERS) speckle_k(const vf_step s)
{
    __shared__ __align__(4) square value, number;
    __shared__ uint32_t count[SIDE * SIDE]; /* of the pixels with a number; OPEN: there are more elsewhere */
    const vf_level &l = picture(s);
    const uint16_t *smooth = s.memory->dense_passing.smooth;
    const int x0 = blockIdx.x * VF_DENSE_STRIDE, y0 = blockIdx.y * VF_DENSE_STRIDE, step = vf_dense_step(&s.tuning);
    const int row = threadIdx.x / PARTS, column = 2 * row,
              begin = threadIdx.x % PARTS * PART; /* the first of both; where parts begin */
    const auto at = [&](int x, int y) -> uint32_t {
        return x >= 0 && y >= 0 && x < l.width && y < l.height ? smooth[y * l.pitch + x] : VF_DENSE_NONE;
    };
    uint32_t read[SIDE * SIDE / SPECKLERS]; /* all of them at once */
#pragma unroll
    for (int k = 0; k < SIDE * SIDE / SPECKLERS; k++)
        read[k] = at(x0 + threadIdx.x % SIDE, y0 + threadIdx.x / SIDE + k * (SPECKLERS / SIDE));
#pragma unroll
    for (int k = 0; k < SIDE * SIDE / SPECKLERS; k++) {
        const int i = k * SPECKLERS + threadIdx.x;
        value[i / SIDE][i % SIDE] = (uint16_t)read[k];
        number[i / SIDE][i % SIDE] = (uint16_t)i;
        count[i] = 0;
    }
    __syncthreads();
    const parts along = parts_of(value, begin, row, begin, row + SIDE / 2, 1, 0, step);
    const parts down = parts_of(value, column, begin, column + 1, begin, 0, 1, step);
    for (int sweep = 0; sweep < VF_DENSE_SWEEPS; sweep++) {
        level_rows(number, begin, row, along);
        __syncthreads();
        level_columns(number, column, begin, down);
        __syncthreads();
    }
    count_part(count, value, number, column, begin);
    count_part(count, value, number, column + 1, begin);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < PART; k++)
        for (int second = 0; second < 2; second++) {
            if (along.apart[k] >> 16 * second & 1) continue;
            const uint16_t *pixel = &number[row + second * (SIDE / 2)][begin + k];
            if (pixel[-1] == pixel[0]) continue;
            atomicOr(&count[pixel[-1]], OPEN);
            atomicOr(&count[pixel[0]], OPEN);
        }
    for (int border = threadIdx.x; border < 4 * SIDE;
         border += SPECKLERS) { /* around the square: who belongs with what lies beyond it */
        const int side = border / SIDE, i = border % SIDE, far = side % 2 ? SIDE - 1 : 0, out = side % 2 ? SIDE : -1;
        const int x = side < 2 ? far : i, y = side < 2 ? i : far;
        if (vf_dense_joined(at(x0 + (side < 2 ? out : i), y0 + (side < 2 ? i : out)), value[y][x], step))
            atomicOr(&count[number[y][x]], OPEN);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < SIDE * SIDE; i += SPECKLERS) {
        const int x = i % SIDE, y = i / SIDE;
        if (value[y][x] != VF_DENSE_NONE && count[number[y][x]] < (uint32_t)s.tuning.dense_speckle_px)
            s.memory->dense.disparity[(y0 + y) * l.pitch + x0 + x] = VF_DENSE_NONE;
    }
}

/* ---- result ------------------------------------------------------------------------------------------------------ */

#define GROUP 8 /* pixels of a thread: 16 bytes of disparities */

/** Confidences, and copies on the host. */
static __global__ void __launch_bounds__(THREADS) finish_k(const vf_step s)
{
    vf_dense_memory &m = s.memory->dense;
    vf_dense_copy &copy = s.pinned->dense[s.memory->ingest.params.result];
    const vf_level &l = picture(s);
    const int groups = l.pitch / GROUP, group = blockIdx.x * THREADS + threadIdx.x;
    const int x = group % groups * GROUP, y = group / groups, at = y * l.pitch + x,
              count = y < l.height ? vf_min(GROUP, l.width - x) : 0;
    const uint8_t *margin = s.memory->dense_passing.margin + at;
    union {
        uint4 all;
        uint16_t one[GROUP];
    } disparity;
    union {
        uint2 all;
        uint8_t one[GROUP];
    } confidence;
    int valid = 0;
    if (count == GROUP) {
        disparity.all = *reinterpret_cast<const uint4 *>(m.disparity + at);
        confidence.all = *reinterpret_cast<const uint2 *>(margin);
    }
#pragma unroll
    for (int k = 0; k < GROUP; k++) {
        if (count < GROUP) {
            disparity.one[k] = k < count ? m.disparity[at + k] : VF_DENSE_NONE;
            confidence.one[k] = k < count ? margin[k] : 0;
        }
        if (disparity.one[k] == VF_DENSE_NONE)
            confidence.one[k] = 0;
        else
            valid++;
        if (k >= count || count == GROUP) continue;
        m.confidence[at + k] = confidence.one[k];
        if (!s.tuning.dense_copy) continue;
        copy.disparity[at + k] = disparity.one[k];
        copy.confidence[at + k] = confidence.one[k];
    }
    if (count == GROUP) {
        *reinterpret_cast<uint2 *>(m.confidence + at) = confidence.all;
        if (s.tuning.dense_copy) {
            *reinterpret_cast<uint4 *>(copy.disparity + at) = disparity.all;
            *reinterpret_cast<uint2 *>(copy.confidence + at) = confidence.all;
        }
    }
    valid = vf_warp_sum(valid);
    if (threadIdx.x % VF_WARP == 0 && valid) atomicAdd(&m.valid, (uint32_t)valid);
    if (threadIdx.x == 0) vf_clock_end(s, VF_dense);
}

/* ---- launch ------------------------------------------------------------------------------------------------------ */

template <int COUNT> static void find_disparities(const vf_step &s, cudaStream_t stream)
{
    const vf_level &l = s.geometry.level[0][0];
    const int apart = vf_multiprocessors();
    for (int pair = 0; pair < s.tuning.dense_paths / 2; pair++) {
        const int lines = (pair < 2 ? l.height : l.width) + l.width;
        if (pair)
            paths_k<COUNT, false><<<lines, VF_WARP, 0, stream>>>(s, pair, apart);
        else
            paths_k<COUNT, true><<<lines, VF_WARP, 0, stream>>>(s, pair, apart);
    }
    winners_k<COUNT><<<dim3(vf_blocks(l.width, STRETCH), l.height), VF_WARP, 0, stream>>>(s);
}

/** Squares along one axis: as many as leave no pixel out. */
static unsigned squares(int size) { return (unsigned)vf_max((size + VF_DENSE_STRIDE - 1) / VF_DENSE_STRIDE - 1, 1); }

#endif

extern "C" cudaError_t vf_dense_cuda(const vf_step *s, cudaStream_t stream)
{
#if VFRONT_DENSE
    VF_STATIC_ASSERT(offsetof(vf_dense_memory, confidence) % GROUP == 0 &&
                         offsetof(vf_dense_passing, margin) % GROUP == 0 && VFRONT_PITCH(1) % GROUP == 0,
                     "a group is read in one go");
    VF_STATIC_ASSERT(offsetof(vf_dense_passing, volume) % 8 == 0, "a lane's costs are read in one go");
    if (!vf_dense_on(s)) return cudaSuccess;
    const vf_level &l = s->geometry.level[0][0];
    census_k<<<dim3(vf_blocks(l.width + s->tuning.dense_disparities, THREADS), l.height, 2), THREADS, 0, stream>>>(*s);
    switch (s->tuning.dense_disparities) {
    case 64: find_disparities<2>(*s, stream); break;
#if VFRONT_DISPARITIES >= 128
    case 128: find_disparities<4>(*s, stream); break;
#endif
#if VFRONT_DISPARITIES >= 256
    case 256: find_disparities<8>(*s, stream); break;
#endif
    default: return cudaErrorInvalidValue;
    }
    smooth_k<<<dim3(vf_blocks(l.width, WIDE), vf_blocks(l.height, HIGH)), WIDE * HIGH, 0, stream>>>(*s);
    if (s->tuning.dense_speckle_px) speckle_k<<<dim3(squares(l.width), squares(l.height)), SPECKLERS, 0, stream>>>(*s);
    finish_k<<<vf_blocks(l.pitch / GROUP * l.height, THREADS), THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
