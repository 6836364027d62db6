/* SPDX-License-Identifier: MIT */
/* dense on the GPU: census words; path costs, two directions a launch, into a volume each; winners; median; speckles; the result.
 *
 * A warp goes along a line of the picture, a lane having 2, 4 or 8 disparities next to each other, so a pixel's costs are one run of bytes in a
 * volume. All lines of two directions are under way at once: a picture of 640x480 px is 1,120 or 1,280 warps that never wait for each other.
 * Diagonals that leave the picture on one side come in again on the other as new paths, so all are as long as the picture is high. What a
 * disparity costs is computed anew from the census words each time, so there is no third volume. Costs are less than 2^14 and lie two by two in
 * a register: those of disparities i and i + half of the lane's, so that the ones above and below lie in whole registers too. */
#include "kernel.cuh"

#if VFRONT_DENSE

static __device__ __forceinline__ const vf_level &picture(const vf_step &s) { return s.geometry.level[0][0]; }

/* ---- census ------------------------------------------------------------------------------------------------------------------ */

#define THREADS 256

/** A thread a pixel of both cameras. */
static __global__ void __launch_bounds__(THREADS) census_k(const vf_step s)
{
    vf_dense_passing &m = s.memory->dense_passing;
    const vf_level &l = picture(s);
    const int x = blockIdx.x * THREADS + threadIdx.x, y = blockIdx.y, camera = blockIdx.z, at = y * l.pitch + x;
    if (threadIdx.x == 0 && camera == 0 && x == 0 && y == 0) {
        vf_clock_start(s, VF_dense, 0);
        s.memory->dense.valid = 0;
    }
    if (x >= l.width) return;
    m.census[camera][at] = vf_dense_census(vf_level_pixels(&s, s.parity, camera, 0), &l, x, y);
    if (camera) m.back[at] = VF_NONE;
}

/* ---- paths ------------------------------------------------------------------------------------------------------------------- */

#define WARPS 4 /* of a block, for paths and winners: each on its own */
#define AHEAD 2 /* pixels of a path that are loaded before their turn */

/** A lane's costs in a volume, and what is done with them: bytes from halves of words, of disparities i and i + half; sums of bytes, none of which
 *  is over 255; a byte. */
template <int COUNT> struct lane_bytes;
template <> struct lane_bytes<2> {
    typedef uint16_t type;
    static __device__ __forceinline__ type pack(const uint32_t (&pair)[1]) { return (type)__byte_perm(pair[0], 0, 0x4420); }
    static __device__ __forceinline__ type add(type a, type b) { return (type)(a + b); }
    static __device__ __forceinline__ uint32_t one(type bytes, int k) { return (uint32_t)bytes >> (8 * k) & 255; }
};
template <> struct lane_bytes<4> {
    typedef uint32_t type;
    static __device__ __forceinline__ type pack(const uint32_t (&pair)[2]) { return __byte_perm(pair[0], pair[1], 0x6240); }
    static __device__ __forceinline__ type add(type a, type b) { return a + b; }
    static __device__ __forceinline__ uint32_t one(type bytes, int k) { return bytes >> (8 * k) & 255; }
};
template <> struct lane_bytes<8> {
    typedef uint2 type;
    static __device__ __forceinline__ type pack(const uint32_t (&pair)[4])
    {
        const uint32_t even = __byte_perm(pair[0], pair[1], 0x6240), odd = __byte_perm(pair[2], pair[3], 0x6240);
        return make_uint2(__byte_perm(even, odd, 0x5410), __byte_perm(even, odd, 0x7632));
    }
    static __device__ __forceinline__ type add(type a, type b) { return make_uint2(a.x + b.x, a.y + b.y); }
    static __device__ __forceinline__ uint32_t one(type bytes, int k) { return (k < 4 ? bytes.x >> (8 * k) : bytes.y >> (8 * k - 32)) & 255; }
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

/** Where a lane is on a path. */
template <int COUNT> struct walker {
    const uint32_t *left, *right; /* words of the pixel, and of where the lane's first disparity leads */
    typename lane_bytes<COUNT>::type *to;
    int x, dx, stride; /* pixels from step to step */
    bool starts;       /* a path, here */
};
template <int COUNT> static __device__ __forceinline__ walker<COUNT> walker_at(const vf_step &s, int which, int x, int y, int dx, int dy)
{
    typedef typename lane_bytes<COUNT>::type bytes;
    vf_dense_passing &m = s.memory->dense_passing;
    const int lane = threadIdx.x % VF_WARP, at = y * picture(s).pitch + x;
    bytes *to = reinterpret_cast<bytes *>(m.volume[which] + (size_t)at * (VF_WARP * COUNT)) + lane;
    const walker<COUNT> w = {m.census[0] + at, m.census[1] + at - s.tuning.dense_least_px - lane * COUNT, to, x, dx, dy * picture(s).pitch + dx, true};
    return w;
}
template <int COUNT> static __device__ __forceinline__ void move(walker<COUNT> &w, int pixels)
{
    w.left += pixels;
    w.right += pixels;
    w.to += pixels * VF_WARP;
}
template <int COUNT> static __device__ __forceinline__ void walk(walker<COUNT> &w, int width)
{
    w.x += w.dx;
    move(w, w.stride);
    w.starts = (unsigned)w.x >= (unsigned)width;
    if (!w.starts) return;
    const int around = w.x < 0 ? width : -width;
    w.x += around;
    move(w, around);
}

/** What a lane needs for a pixel. */
template <int COUNT> struct pixel {
    uint32_t left, right[COUNT];
    typename lane_bytes<COUNT>::type sum; /* of the directions before */
    typename lane_bytes<COUNT>::type *to;
    bool starts;
};

template <int COUNT, bool FIRST> static __device__ __forceinline__ void load(pixel<COUNT> &p, const walker<COUNT> &w, int least)
{
    const int first = least + (int)(threadIdx.x % VF_WARP) * COUNT;
    p.left = *w.left;
    if (w.x >= least + VF_WARP * COUNT - 1) { /* all in the picture */
#pragma unroll
        for (int k = 0; k < COUNT; k++) p.right[k] = w.right[-k];
    } else {
#pragma unroll
        for (int k = 0; k < COUNT; k++) p.right[k] = w.right[-vf_min(k, w.x - first)];
    }
    if (!FIRST) p.sum = *w.to;
    p.to = w.to;
    p.starts = w.starts;
}

/** A path reaches a pixel: from the costs of the one before, in pairs and each at most p2 above their least, to its own. */
template <int COUNT, bool FIRST>
static __device__ __forceinline__ void reach(uint32_t (&cost)[COUNT / 2], const pixel<COUNT> &p, uint32_t p1, uint32_t p2)
{
    constexpr int HALF = COUNT / 2;
    const uint32_t large = 0x10001000;
    const int lane = threadIdx.x % VF_WARP;
    uint32_t near[HALF], sum[HALF];
#pragma unroll
    for (int k = 0; k < HALF; k++) {
        if (p.starts) cost[k] = 0;
        near[k] = cost[k] + p1;
    }
    uint32_t above = __shfl_down_sync(VF_ALL, near[0], 1), below = __shfl_up_sync(VF_ALL, near[HALF - 1], 1);
    if (lane == VF_WARP - 1) above = large;
    if (lane == 0) below = large;
    uint32_t least = large;
#pragma unroll
    for (int k = 0; k < HALF; k++) {
        const uint32_t lower = k ? near[k > 0 ? k - 1 : 0] : __byte_perm(below, near[HALF - 1], 0x5432);
        const uint32_t upper = k < HALF - 1 ? near[k < HALF - 1 ? k + 1 : 0] : __byte_perm(near[0], above, 0x5432);
        const uint32_t bits = (uint32_t)__popc(p.left ^ p.right[k]) + ((uint32_t)__popc(p.left ^ p.right[k + HALF]) << 16);
        sum[k] = bits + lesser(cost[k], lesser(lower, upper));
        least = lesser(least, sum[k]);
    }
    const uint32_t all = vf_warp_min(min(least & 0xffff, least >> 16)) * 0x10001;
#pragma unroll
    for (int k = 0; k < HALF; k++) cost[k] = lesser(sum[k] - all, p2);
    const auto own = lane_bytes<COUNT>::pack(sum);
    *p.to = FIRST ? own : lane_bytes<COUNT>::add(p.sum, own);
}

/** A warp goes along a line of `count` pixels. */
template <int COUNT, bool FIRST> static __device__ __forceinline__ void go(const vf_step &s, walker<COUNT> w, int count)
{
    const int width = picture(s).width, least = s.tuning.dense_least_px;
    const uint32_t p1 = (uint32_t)s.tuning.dense_p1 * 0x10001, p2 = (uint32_t)s.tuning.dense_p2 * 0x10001;
    uint32_t cost[COUNT / 2];
    pixel<COUNT> ahead[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++) { /* a picture is at least 16 px wide and high */
        load<COUNT, FIRST>(ahead[k], w, least);
        walk(w, width);
    }
    for (int first = 0; first < count; first += AHEAD) {
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            if (first + k >= count) break;
            reach<COUNT, FIRST>(cost, ahead[k], p1, p2);
            if (first + k + AHEAD >= count) continue;
            load<COUNT, FIRST>(ahead[k], w, least);
            walk(w, width);
        }
    }
}

/** Two directions: lines of the first are the first warps. 0: right, down. 1: left, up. 2: right and down, left and down. 3: left and up, right
 *  and up. */
template <int COUNT, bool FIRST> static __global__ void __launch_bounds__(WARPS *VF_WARP) paths_k(const vf_step s, int pair)
{
    const vf_level &l = picture(s);
    const int on = pair % 2 ? -1 : 1, rows = pair < 2 ? l.height : 0, line = blockIdx.x * WARPS + threadIdx.x / VF_WARP;
    if (line < rows) {
        go<COUNT, FIRST>(s, walker_at<COUNT>(s, 0, on < 0 ? l.width - 1 : 0, line, on, 0), l.width);
        return;
    }
    const int which = pair < 2 || line >= l.width, column = line - (pair < 2 ? rows : which * l.width);
    const int sideways = pair < 2 ? 0 : which ? -on : on;
    if (column < l.width) go<COUNT, FIRST>(s, walker_at<COUNT>(s, which, column, on < 0 ? l.height - 1 : 0, sideways, on), l.height);
}

/* ---- winners ----------------------------------------------------------------------------------------------------------------- */

#define STRETCH 64 /* columns of a row that a warp has */

/** Keys of a pixel: sums of both volumes with their indices; VF_NONE beyond the last candidate. */
template <int COUNT> static __device__ __forceinline__ void load_keys(uint32_t (&key)[COUNT], const vf_step &s, int x, int at, int candidates)
{
    typedef typename lane_bytes<COUNT>::type bytes;
    vf_dense_passing &m = s.memory->dense_passing;
    const int lane = threadIdx.x % VF_WARP;
    const bytes a = reinterpret_cast<const bytes *>(m.volume[0] + (size_t)at * (VF_WARP * COUNT))[lane];
    const bytes b = reinterpret_cast<const bytes *>(m.volume[1] + (size_t)at * (VF_WARP * COUNT))[lane];
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        const int index = lane * COUNT + k;
        key[k] = index < candidates ? vf_dense_key(lane_bytes<COUNT>::one(a, k) + lane_bytes<COUNT>::one(b, k), index) : VF_NONE;
    }
}

/** What a warp finds for a pixel. */
struct winner {
    uint32_t best, second, beside; /* keys; sums of the disparities before and after it: lower and upper half */
};
template <int COUNT> static __device__ __forceinline__ winner find_winner(const uint32_t (&key)[COUNT])
{
    winner w = {VF_NONE, VF_NONE, 0};
    const int first = threadIdx.x % VF_WARP * COUNT;
#pragma unroll
    for (int k = 0; k < COUNT; k++) w.best = min(w.best, key[k]);
    w.best = vf_warp_min(w.best);
    const int to_it = (int)(w.best & 255) - first;
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        if (k < to_it - 1 || k > to_it + 1) w.second = min(w.second, key[k]);
        if (k == to_it - 1) w.beside += key[k] >> 8;
        if (k == to_it + 1) w.beside += key[k] >> 8 << 16;
    }
    w.second = vf_warp_min(w.second);
    w.beside = (uint32_t)vf_warp_sum((int32_t)w.beside);
    return w;
}

static __device__ __forceinline__ void put_winner(const vf_step &s, int x, int at, const winner &w)
{
    vf_dense_passing &m = s.memory->dense_passing;
    const vfront_tuning_t &t = s.tuning;
    const int candidates = vf_dense_candidates(&t, x), index = w.best & 255;
    uint32_t margin = 0, disparity = VF_DENSE_NONE;
    if (candidates > 0) margin = vf_dense_margin(&t, w.best >> 8, w.second == VF_NONE ? VF_NONE : w.second >> 8);
    if (margin)
        disparity = vf_dense_disparity(&t, index, index > 0 ? w.beside & 0xffff : VF_NONE, w.best >> 8,
                                       index + 1 < candidates ? w.beside >> 16 : VF_NONE);
    m.found[at] = (uint16_t)disparity;
    m.margin[at] = (uint8_t)margin;
}

/** A warp has a stretch of a row. Pixel x - i of camera 1 is disparity i of pixel x, and i + 1 of the next: so keys of its pixels wander from
 *  disparity to disparity, and are told to memory as they leave. */
template <int COUNT> static __global__ void __launch_bounds__(WARPS *VF_WARP) winners_k(const vf_step s)
{
    const vf_level &l = picture(s);
    const int lane = threadIdx.x % VF_WARP, first = lane * COUNT, y = blockIdx.y, row = y * l.pitch;
    const int x0 = (blockIdx.x * WARPS + threadIdx.x / VF_WARP) * STRETCH, end = vf_min(x0 + STRETCH, l.width);
    uint32_t *back = s.memory->dense_passing.back + row, best[COUNT], key[COUNT];
    const auto tell = [&](int there, uint32_t mine) {
        if (there >= 0 && mine != VF_NONE) atomicMin(&back[there], mine);
    };
    if (x0 >= end) return;
#pragma unroll
    for (int k = 0; k < COUNT; k++) best[k] = VF_NONE;
    winner mine = {VF_NONE, VF_NONE, 0};
    for (int x = x0; x < end; x++) {
        load_keys(key, s, x, row + x, vf_dense_candidates(&s.tuning, x));
        const winner w = find_winner(key);
        if ((x - x0) % VF_WARP == lane) mine = w;
#pragma unroll
        for (int k = 0; k < COUNT; k++) best[k] = min(best[k], key[k]);
        if (lane == VF_WARP - 1) tell(x - s.tuning.dense_least_px - first - (COUNT - 1), best[COUNT - 1]);
        const uint32_t below = __shfl_up_sync(VF_ALL, best[COUNT - 1], 1);
#pragma unroll
        for (int k = COUNT - 1; k > 0; k--) best[k] = best[k - 1];
        best[0] = lane ? below : VF_NONE;
        if ((x - x0) % VF_WARP == VF_WARP - 1 || x == end - 1) {
            const int column = x0 + (x - x0) / VF_WARP * VF_WARP + lane;
            if (column < end) put_winner(s, column, row + column, mine);
        }
    }
#pragma unroll
    for (int k = 0; k < COUNT; k++) tell(end - s.tuning.dense_least_px - first - k, best[k]);
}

/* ---- median ------------------------------------------------------------------------------------------------------------------ */

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

/* ---- speckles ---------------------------------------------------------------------------------------------------------------- */

#define SIDE VF_DENSE_SQUARE
#define ROOM (SIDE + 2) /* of a row in shared memory: an odd number of words, so that rows begin in different banks */
#define PART 16         /* numbers of a row or column that a thread holds at a time */
#define OPEN 0x80000000u

/** Lets all of every unbroken piece of a row or column take its least number. joined: bit k is set where k belongs with k - 1. */
static __device__ __forceinline__ void level_out(uint16_t *number, int apart, uint64_t joined)
{
    uint32_t carried = 0, part[PART];
    for (int first = 0; first < SIDE; first += PART) {
#pragma unroll
        for (int k = 0; k < PART; k++) part[k] = number[(first + k) * apart];
#pragma unroll
        for (int k = 0; k < PART; k++) {
            if (joined >> (first + k) & 1) part[k] = min(part[k], carried);
            carried = part[k];
            number[(first + k) * apart] = (uint16_t)part[k];
        }
    }
    for (int first = SIDE - PART; first >= 0; first -= PART) {
#pragma unroll
        for (int k = 0; k < PART; k++) part[k] = number[(first + k) * apart];
#pragma unroll
        for (int k = PART - 1; k >= 0; k--) {
            if (first + k + 1 < SIDE && (joined >> (first + k + 1) & 1)) part[k] = carried;
            carried = part[k];
            number[(first + k) * apart] = (uint16_t)part[k];
        }
    }
}

/** A block has a square, a thread a row of it and then a column. */
static __global__ void __launch_bounds__(SIDE) speckle_k(const vf_step s)
{
    __shared__ uint16_t value[SIDE][ROOM], number[SIDE][ROOM];
    __shared__ uint32_t count[SIDE * SIDE]; /* of the pixels with a number; OPEN: there are more elsewhere */
    const vf_level &l = picture(s);
    const uint16_t *smooth = s.memory->dense_passing.smooth;
    const int x0 = blockIdx.x * VF_DENSE_STRIDE, y0 = blockIdx.y * VF_DENSE_STRIDE, step = vf_dense_step(&s.tuning), mine = threadIdx.x;
    const auto at = [&](int x, int y) -> uint32_t {
        return x >= 0 && y >= 0 && x < l.width && y < l.height ? smooth[y * l.pitch + x] : VF_DENSE_NONE;
    };
    for (int y = 0; y < SIDE; y++) {
        value[y][mine] = (uint16_t)at(x0 + mine, y0 + y);
        number[y][mine] = (uint16_t)(y * SIDE + mine);
        count[y * SIDE + mine] = 0;
    }
    __syncthreads();
    uint64_t along = 0, down = 0;
    for (int k = 1; k < SIDE; k++) {
        along |= (uint64_t)vf_dense_joined(value[mine][k - 1], value[mine][k], step) << k;
        down |= (uint64_t)vf_dense_joined(value[k - 1][mine], value[k][mine], step) << k;
    }
    for (int sweep = 0; sweep < VF_DENSE_SWEEPS; sweep++) {
        level_out(number[mine], 1, along);
        __syncthreads();
        level_out(number[0] + mine, ROOM, down);
        __syncthreads();
    }
    for (int k = 0, pixels = 0; k < SIDE; k++) {
        pixels++;
        if (k < SIDE - 1 && (down >> (k + 1) & 1)) continue;
        atomicAdd(&count[number[k][mine]], (uint32_t)pixels);
        pixels = 0;
    }
    __syncthreads();
    for (int k = 1; k < SIDE; k++)
        if ((along >> k & 1) && number[mine][k - 1] != number[mine][k]) {
            atomicOr(&count[number[mine][k - 1]], OPEN);
            atomicOr(&count[number[mine][k]], OPEN);
        }
    if (vf_dense_joined(at(x0 - 1, y0 + mine), value[mine][0], step)) atomicOr(&count[number[mine][0]], OPEN);
    if (vf_dense_joined(at(x0 + SIDE, y0 + mine), value[mine][SIDE - 1], step)) atomicOr(&count[number[mine][SIDE - 1]], OPEN);
    if (vf_dense_joined(at(x0 + mine, y0 - 1), value[0][mine], step)) atomicOr(&count[number[0][mine]], OPEN);
    if (vf_dense_joined(at(x0 + mine, y0 + SIDE), value[SIDE - 1][mine], step)) atomicOr(&count[number[SIDE - 1][mine]], OPEN);
    __syncthreads();
    for (int y = 0; y < SIDE; y++)
        if (value[y][mine] != VF_DENSE_NONE && count[number[y][mine]] < (uint32_t)s.tuning.dense_speckle_px)
            s.memory->dense.disparity[(y0 + y) * l.pitch + x0 + mine] = VF_DENSE_NONE;
}

/* ---- result ------------------------------------------------------------------------------------------------------------------ */

#define GROUP 8 /* pixels of a thread: 16 bytes of disparities */

/** Confidences, and copies on the host. */
static __global__ void __launch_bounds__(THREADS) finish_k(const vf_step s)
{
    vf_dense_memory &m = s.memory->dense;
    vf_dense_copy &copy = s.pinned->dense[s.memory->ingest.params.result];
    const vf_level &l = picture(s);
    const int groups = l.pitch / GROUP, group = blockIdx.x * THREADS + threadIdx.x;
    const int x = group % groups * GROUP, y = group / groups, at = y * l.pitch + x, count = y < l.height ? vf_min(GROUP, l.width - x) : 0;
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
        if (disparity.one[k] == VF_DENSE_NONE) confidence.one[k] = 0;
        else valid++;
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

/* ---- launch ------------------------------------------------------------------------------------------------------------------ */

template <int COUNT> static void find_disparities(const vf_step &s, cudaStream_t stream)
{
    const vf_level &l = s.geometry.level[0][0];
    for (int pair = 0; pair < s.tuning.dense_paths / 2; pair++) {
        const unsigned blocks = vf_blocks((pair < 2 ? l.height : l.width) + l.width, WARPS);
        if (pair)
            paths_k<COUNT, false><<<blocks, WARPS * VF_WARP, 0, stream>>>(s, pair);
        else
            paths_k<COUNT, true><<<blocks, WARPS * VF_WARP, 0, stream>>>(s, pair);
    }
    winners_k<COUNT><<<dim3(vf_blocks(l.width, WARPS * STRETCH), l.height), WARPS * VF_WARP, 0, stream>>>(s);
}

/** Squares along one axis: as many as leave no pixel out. */
static unsigned squares(int size) { return (unsigned)vf_max((size + VF_DENSE_STRIDE - 1) / VF_DENSE_STRIDE - 1, 1); }

#endif

extern "C" cudaError_t vf_dense_cuda(const vf_step *s, cudaStream_t stream)
{
#if VFRONT_DENSE
    VF_STATIC_ASSERT(offsetof(vf_dense_memory, confidence) % GROUP == 0 && offsetof(vf_dense_passing, margin) % GROUP == 0 && VFRONT_PITCH(1) % GROUP == 0,
                     "a group is read in one go");
    VF_STATIC_ASSERT(offsetof(vf_dense_passing, volume) % 8 == 0, "a lane's costs are read in one go");
    if (!vf_dense_on(s)) return cudaSuccess;
    const vf_level &l = s->geometry.level[0][0];
    census_k<<<dim3(vf_blocks(l.width, THREADS), l.height, 2), THREADS, 0, stream>>>(*s);
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
    if (s->tuning.dense_speckle_px) speckle_k<<<dim3(squares(l.width), squares(l.height)), SIDE, 0, stream>>>(*s);
    finish_k<<<vf_blocks(l.pitch / GROUP * l.height, THREADS), THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
