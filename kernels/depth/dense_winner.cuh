/* SPDX-License-Identifier: MIT */
/* dense: winners. A warp adds both cost volumes along WINNER_COLUMNS pixels of a row. It finds the best and second best
 * sum of each pixel of camera 0. It also finds the best key (sum, then disparity index) of each pixel of camera 1. */
#ifndef VF_DENSE_WINNER_CUH
#define VF_DENSE_WINNER_CUH

#include "dense_packed.cuh"

#define WINNER_COLUMNS 96 /* pixels of a row per warp */
#define WINNER_PREFETCH 4 /* pixels whose costs a warp loads ahead */

/** Path costs of a lane's disparities at a pixel: a from cost volume 0, b from cost volume 1. */
template <int COUNT> struct volume_bytes {
    typename lane_bytes<COUNT>::type a, b;
};
/** Addresses of a lane's path costs at a pixel: a in cost volume 0, b in cost volume 1. */
template <int COUNT> struct volume_cursor {
    const typename lane_bytes<COUNT>::type *a, *b;
};
/** Loads a lane's path costs i pixels after the pixel of `at`. */
template <int COUNT>
static __device__ __forceinline__ volume_bytes<COUNT> load_volumes(const volume_cursor<COUNT> &at, int i)
{
    return volume_bytes<COUNT>{at.a[i * VF_WARP], at.b[i * VF_WARP]};
}

/** Index of the lane's k-th disparity, 0 .. dense_disparities - 1. */
static __device__ __forceinline__ int disparity_index(int k)
{
    return k / 2 * DISPARITY_GROUP + (int)(threadIdx.x % VF_WARP) * 2 + k % 2;
}

#define NO_SUM 0x1000u            /* above any sum of a pixel's path costs */
#define SUM_BIAS (3 * NO_SUM)     /* offset in every sum; find_winner() removes it from sums that may be second best */
#define NO_CANDIDATE (4 * NO_SUM) /* flag in a sum: its disparity cannot win */

/** Sums of path costs at a lane's disparities of a pixel, 16 bits each, with SUM_BIAS added. Of every four sums, the
 *  first and third are in one word, the second and fourth in the next. */
template <int COUNT> struct packed_sums {
    uint32_t two[COUNT > 2 ? COUNT / 2 : 2];
};
template <int COUNT> static __device__ __forceinline__ packed_sums<COUNT> add_volumes(const volume_bytes<COUNT> &bytes)
{
    packed_sums<COUNT> s;
#pragma unroll
    for (int k = 0; k < COUNT; k += 4) {
        const uint32_t a = lane_bytes<COUNT>::word(bytes.a, k), b = lane_bytes<COUNT>::word(bytes.b, k),
                       bias = SUM_BIAS * BOTH_HALVES + (COUNT == 2 ? NO_CANDIDATE << 16 : 0);
        s.two[k / 2] = __byte_perm(a, 0, 0x4240) + __byte_perm(b, 0, 0x4240) + bias;
        s.two[k / 2 + 1] = __byte_perm(a, 0, 0x4341) + __byte_perm(b, 0, 0x4341) + bias;
    }
    return s;
}

/** Word of packed_sums that holds the lane's k-th sum. */
static __device__ __forceinline__ int word_of(int k) { return k / 4 * 2 + k % 2; }
/** Half of the word that holds the lane's k-th sum: 0 low, 1 high. */
static __device__ __forceinline__ int half_of(int k) { return k / 2 % 2; }

#define KEY_BIAS (SUM_BIAS << 8)          /* SUM_BIAS as part of a key, whose sum begins at bit 8 */
#define NO_KEY ((SUM_BIAS + NO_SUM) << 8) /* above the key, with KEY_BIAS, of any disparity that can win */

/** Keys vf_dense_key() (sum, then disparity index) of a lane's disparities, with KEY_BIAS added. */
template <int COUNT>
static __device__ __forceinline__ void make_keys(uint32_t (&key)[COUNT], const packed_sums<COUNT> &s)
{
#pragma unroll
    for (int k = 0; k < COUNT; k++)
        key[k] = __byte_perm(s.two[word_of(k)], disparity_index(k), half_of(k) ? 0x5324 : 0x5104);
}

/** Sets the flag NO_CANDIDATE in the sums of all disparities whose index is `candidates` or more. */
template <int COUNT> static __device__ __forceinline__ void mask_candidates(packed_sums<COUNT> &s, int candidates)
{
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        if (half_of(k)) continue;
        /* top bit of each half: 1 if the disparity index of its sum is at least `candidates` */
        const uint32_t beyond = (0x8000 + disparity_index(k)) * BOTH_HALVES + (DISPARITY_GROUP << 16) -
                                (uint32_t)vf_max(candidates, 0) * BOTH_HALVES;
        s.two[word_of(k)] |= (beyond >> 1) & (NO_CANDIDATE * BOTH_HALVES);
    }
}

/** For each 16-bit half: a + offset - 0x4000, or 3 if that exceeds 3 or is negative. a + offset lies within 0x3f00 ..
 *  0x4200. */
static __device__ __forceinline__ uint32_t offset_or_3(uint32_t a, uint32_t offset)
{
#if VF_ARCH >= 900 && __CUDACC_VER_MAJOR__ >= 12
    return __viaddmin_u16x2(a, offset + 0xc000 * BOTH_HALVES, 3 * BOTH_HALVES);
#else
    return min_u16x2((a + offset) & (0x3fff * BOTH_HALVES), 3 * BOTH_HALVES);
#endif
}

/** Best and second best disparity of a pixel of camera 0. */
struct winner {
    uint32_t best, /* key of the best disparity, with KEY_BIAS */
        second;    /* least sum of a disparity not next to the best, in both halves; >= NO_SUM: none */
};
template <int COUNT>
static __device__ __forceinline__ winner find_winner(const uint32_t (&key)[COUNT], const packed_sums<COUNT> &s)
{
    winner w = {VF_NONE, NO_SUM * BOTH_HALVES};
#pragma unroll
    for (int k = 0; k < COUNT; k++) w.best = min(w.best, key[k]);
    w.best = vf_warp_min(w.best);
    /* In each half: 0x4001 + disparity index - best index, for the lane's first word of sums; `offset` more for another
     * word. offset_or_3() gives 0 .. 2 for the best disparity and its neighbours: their sums keep at least NO_SUM of
     * SUM_BIAS. It gives 3 for all others: their sums lose SUM_BIAS. */
    const uint32_t distance = (0x4001 + disparity_index(0)) * BOTH_HALVES + (DISPARITY_GROUP << 16) -
                              (w.best & 255) * BOTH_HALVES;
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        if (half_of(k)) continue;
        const uint32_t offset = (uint32_t)(k / 2 * DISPARITY_GROUP + k % 2) * BOTH_HALVES;
        w.second = min_u16x2(w.second, s.two[word_of(k)] - offset_or_3(distance, offset) * NO_SUM);
    }
    w.second = vf_warp_min(min_u16x2(w.second, __byte_perm(w.second, 0, 0x1032)));
    return w;
}

/** Sum of a pixel's path costs at disparity index `index`, from both cost volumes. at: element of the pixel, row *
 *  pitch + column. */
template <int COUNT> static __device__ __forceinline__ uint32_t sum_of(const vf_dense_view &s, int at, int index)
{
    const vf_dense_scratch &m = *s.scratch;
    const size_t byte = (size_t)at * (VF_WARP * COUNT) + index % DISPARITY_GROUP / 2 * COUNT +
                        index / DISPARITY_GROUP * 2 + index % 2;
    return m.cost_volume[0][byte] + m.cost_volume[1][byte];
}

/** Uniqueness test and subpixel disparity of a pixel, by one thread. x: column; at: element of the pixel, row * pitch +
 *  column; w: its best and second best disparity. */
template <int COUNT>
static __device__ __forceinline__ void store_winner(const vf_dense_view &s, int x, int at, const winner &w)
{
    vf_dense_scratch &m = *s.scratch;
    const vf_dense_tuning &t = s.tuning;
    const int candidates = vf_dense_candidates(&t, x), index = w.best & 255;
    const uint32_t best = (w.best - KEY_BIAS) >> 8;
    uint32_t margin = 0, disparity = VF_DENSE_NONE;
    if (candidates > 0)
        margin = vf_dense_margin(&t, best, w.second >= NO_SUM * BOTH_HALVES ? VF_NONE : w.second & 0xffff);
    if (margin) {
        const uint32_t before = index > 0 ? sum_of<COUNT>(s, at, index - 1) : VF_NONE;
        const uint32_t after = index + 1 < candidates ? sum_of<COUNT>(s, at, index + 1) : VF_NONE;
        disparity = vf_dense_disparity(&t, index, before, best, after);
    }
    m.winner[at] = (uint16_t)disparity;
    m.margin[at] = (uint8_t)margin;
}

/** Systolic minimum of the keys of camera 1's pixels. Pixel x - i of camera 1 matches pixel x of camera 0 at disparity
 *  index i, and the next pixel at index i + 1. Each key therefore moves by one index per pixel. best: a lane's least
 *  keys, with KEY_BIAS, updated and moved. Returns in the last lane the completed key, which had the last index. */
template <int COUNT>
static __device__ __forceinline__ uint32_t shift_back_keys(uint32_t (&best)[COUNT], const uint32_t (&key)[COUNT])
{
    const int lane = threadIdx.x;
    uint32_t from[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        best[k] = min(best[k], key[k]);
        from[k] = k % 2 ? __shfl_sync(VF_ALL, best[k], lane + VF_WARP - 1) : best[k];
    }
    const uint32_t complete = best[COUNT - 1];
#pragma unroll
    for (int k = 0; k < COUNT; k += 2) {
        best[k] = lane ? from[k + 1] : k ? from[k > 0 ? k - 1 : 0] : VF_NONE;
        best[k + 1] = from[k];
    }
    return complete;
}

/** Finds the winners of WINNER_COLUMNS pixels of a row and the best keys of their matches in camera 1. A block is one
 *  warp, and handles VF_WARP pixels at a time. */
template <int COUNT> static __global__ void __launch_bounds__(VF_WARP) winners_k(const VF_CONSTANT vf_dense_view s)
{
    __shared__ winner found[VF_WARP];
    __shared__ uint32_t complete[VF_WARP];
    const vf_level &l = picture(s);
    const int lane = threadIdx.x, least = s.tuning.dense_least_px, row = blockIdx.y * l.pitch;
    const int x0 = blockIdx.x * WINNER_COLUMNS, end = vf_min(x0 + WINNER_COLUMNS, l.width);
    uint32_t *back = s.scratch->back_key + row, best[COUNT];
    volume_cursor<COUNT> at = {lane_costs<COUNT>(s, 0) + (size_t)(row + x0) * VF_WARP,
                               lane_costs<COUNT>(s, 1) + (size_t)(row + x0) * VF_WARP};
    volume_bytes<COUNT> ahead[WINNER_PREFETCH];
    const auto update_back = [&](int match, uint32_t key) {
        if (match >= 0 && key < NO_KEY) atomicMin(&back[match], key - KEY_BIAS);
    };
    const auto process = [&](int i, int from, int candidates, bool loads) {
        uint32_t key[COUNT];
        packed_sums<COUNT> sums = add_volumes(ahead[i]);
        if (candidates < VF_WARP * COUNT) mask_candidates(sums, candidates);
        make_keys(key, sums);
        if (loads) ahead[i] = load_volumes(at, i);
        found[from + i] = find_winner(key, sums);
        const uint32_t last = shift_back_keys(best, key);
        if (lane == VF_WARP - 1) complete[from + i] = last;
    };
    /* moves the load addresses by WINNER_PREFETCH pixels, unless the pixels at x are the last of the row segment */
    const auto move_on = [&](int x) {
        const int step = x + WINNER_PREFETCH < end ? WINNER_PREFETCH * VF_WARP : 0;
        at.a += step;
        at.b += step;
    };
#pragma unroll
    for (int k = 0; k < WINNER_PREFETCH; k++) ahead[k] = load_volumes(at, vf_min(k, end - x0 - 1));
#pragma unroll
    for (int k = 0; k < COUNT; k++) best[k] = VF_NONE;
    for (int begin = x0; begin < end; begin += VF_WARP) {
        const int candidates = vf_dense_candidates(&s.tuning, begin), rest = end - begin;
        /* the next 32 pixels, and those loaded ahead of them, need no test against the end */
        const bool whole = rest == VF_WARP || rest >= VF_WARP + WINNER_PREFETCH;
        if (whole && candidates == VF_WARP * COUNT) {
            for (int from = 0; from < VF_WARP; from += WINNER_PREFETCH) {
                move_on(begin + from);
#pragma unroll
                for (int i = 0; i < WINNER_PREFETCH; i++) process(i, from, VF_WARP * COUNT, true);
            }
        } else if (whole) {
            for (int from = 0; from < VF_WARP; from += WINNER_PREFETCH) {
                move_on(begin + from);
#pragma unroll
                for (int i = 0; i < WINNER_PREFETCH; i++)
                    process(i, from, vf_dense_candidates(&s.tuning, begin + from + i), true);
            }
        } else {
            for (int from = 0; from < vf_min(rest, VF_WARP); from += WINNER_PREFETCH) {
                move_on(begin + from);
#pragma unroll
                for (int i = 0; i < WINNER_PREFETCH; i++) {
                    const int x = begin + from + i;
                    if (x >= end) break;
                    process(i, from, vf_dense_candidates(&s.tuning, x), x + WINNER_PREFETCH < end);
                }
            }
        }
        __syncwarp();
        const int x = begin + lane;
        if (x < end) {
            store_winner<COUNT>(s, x, row + x, found[lane]);
            update_back(x - least - (VF_WARP * COUNT - 1), complete[lane]);
        }
        __syncwarp();
    }
#pragma unroll
    for (int k = 0; k < COUNT; k++) update_back(end - least - disparity_index(k), best[k]);
}

#endif
