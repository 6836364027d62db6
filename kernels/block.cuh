/* SPDX-License-Identifier: MIT */
/* Operations of a whole block of threads: prefix counts, histograms, and the k-th greatest key of a list. */
#ifndef VF_BLOCK_CUH
#define VF_BLOCK_CUH

#include "kernel.cuh"

#include "base/vf.h"

#define VF_BLOCK 1024 /* threads of a block that calls the functions of this file */
#define VF_WARPS (VF_BLOCK / VF_WARP)
#define VF_BINS 2048     /* bins of a histogram, indexed by 11 bits of a key */
#define VF_SMALL_LIST 64 /* vf_kth_best_key() compares all pairs of at most this many keys */

/** Exclusive prefix counts of N flags per thread. before[k]: number of true flags ahead of this thread's flag k, where
 *  flag 0 of all threads comes before flag 1 of all threads. Returns the number of true flags of the block. start:
 *  VF_WARPS words of shared memory. Called by all threads of a block. */
template <int N>
static __device__ __forceinline__ int vf_counts_before(const bool (&flag)[N], int *start, int (&before)[N])
{
    VF_STATIC_ASSERT(N <= 2, "16 bits each");
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP;
    unsigned voted[N];
    int mine = 0, total = 0;
    for (int k = 0; k < N; k++) {
        voted[k] = __ballot_sync(VF_ALL, flag[k]);
        mine |= __popc(voted[k]) << 16 * k;
    }
    __syncthreads(); /* other warps may still read start from a previous call */
    if (lane == 0) start[warp] = mine;
    __syncthreads();
    const int others = start[lane], all = vf_warp_sum(others), above = vf_warp_sum(lane < warp ? others : 0);
    for (int k = 0; k < N; k++) {
        before[k] = total + (above >> 16 * k & 0xffff) + __popc(voted[k] & ((1u << lane) - 1));
        total += all >> 16 * k & 0xffff;
    }
    return total;
}

/** Exclusive prefix count: returns the number of true flags in threads of lower index. *total: number of true flags in
 *  the block. start: VF_WARPS words of shared memory. Called by all threads of a block. */
static __device__ __forceinline__ int vf_count_before(bool flag, int *start, int *total)
{
    const bool flags[1] = {flag};
    int before[1];
    *total = vf_counts_before(flags, start, before);
    return before[0];
}

/** Histogram bin that contains a wanted key. */
struct vf_bin {
    int chosen, /* index of the bin, 0 .. VF_BINS - 1 */
        above,  /* number of keys in bins of higher index */
        here;   /* number of keys in the bin */
};

/** Finds the histogram bin of the k-th greatest of n keys, k = k_of(n) >= 1. Returns n. bin: counts of the VF_BINS
 *  bins, in shared memory. *found: the bin, in shared memory, unchanged if n < k. Called by all threads of a block. */
template <typename KOf> static __device__ __forceinline__ int vf_find_bin(const int *bin, KOf k_of, vf_bin *found)
{
    VF_STATIC_ASSERT(VF_BINS == 2 * VF_BLOCK, "two bins a thread");
    __shared__ int warp_total[VF_WARPS];
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP, upper = VF_BINS - 1 - 2 * (int)threadIdx.x;
    const int first = bin[upper], second = bin[upper - 1];
    int sum = first + second;
    for (int step = 1; step < VF_WARP; step *= 2) {
        const int other = __shfl_up_sync(VF_ALL, sum, step);
        sum += lane >= step ? other : 0;
    }
    if (lane == VF_WARP - 1) warp_total[warp] = sum;
    __syncthreads();
    const int others = warp_total[lane], above = vf_warp_sum(lane < warp ? others : 0) + sum - first - second;
    const int all = vf_warp_sum(others), left = k_of(all);
    if (above < left && above + first >= left) *found = vf_bin{upper, above, first};
    if (above + first < left && above + first + second >= left) *found = vf_bin{upper - 1, above + first, second};
    __syncthreads();
    return all;
}

/** Adds one to bin[digit] for each lane whose digit is not -1. Called by whole warps. One atomic serves all lanes with
 *  the digit of the first valid lane: atomics on one bin are serial, and many corner scores are 1. */
static __device__ __forceinline__ void vf_add_to_bins(int *bin, int digit)
{
    const unsigned voted = __ballot_sync(VF_ALL, digit >= 0);
    const int leader = voted ? __ffs((int)voted) - 1 : 0, leading = __shfl_sync(VF_ALL, digit, leader);
    const unsigned same = __ballot_sync(VF_ALL, digit == leading);
    if (digit >= 0 && digit != leading) atomicAdd(&bin[digit], 1);
    if (voted && (int)(threadIdx.x % VF_WARP) == leader) atomicAdd(&bin[leading], __popc(same));
}

/** Histogram bin of a corner's key, 0 .. VF_BINS - 1, monotonic. Bit 10: bit 61 of the key (corner above the first
 *  threshold). Below it: corner score as a float with 5 bits of exponent and 5 bits of fraction. */
static __device__ __forceinline__ int vf_coarse_bin(uint64_t key)
{
    const uint32_t score = (uint32_t)(key >> 29);
    const int exponent = 31 - __clz((int)(score ? score : 1));
    const uint32_t fraction = exponent >= 5 ? score >> (exponent - 5) : score << (5 - exponent);
    return (int)(key >> 61 & 1) << 10 | exponent << 5 | (int)(fraction & 31);
}

/** Returns to all threads the k-th greatest key of a list, k = k_of(n), n = *found = number of keys. Returns 1 if n <
 *  k, and a value above all keys if k is 0. All keys differ. each_key(f) calls f(key) for every key of the thread, by
 *  whole warps; key 0 is skipped. Called by all threads of a block. The bin of the result, in a histogram of coarse
 *  bins, usually holds few keys, which are ranked by comparing all pairs. Otherwise a radix select continues on the
 *  keys of that bin, 11 bits at a time from the top. */
template <typename EachKey, typename KOf>
static __device__ __forceinline__ uint64_t vf_kth_best_key(EachKey each_key, KOf k_of, int *found)
{
    __shared__ int bin[VF_BINS], listed;
    __shared__ vf_bin in;
    __shared__ uint64_t small[VF_SMALL_LIST], chosen;
    const int thread = threadIdx.x;
    const auto count = [&](auto digit_of) {
        bin[thread] = bin[thread + VF_BLOCK] = 0;
        __syncthreads();
        each_key([&](uint64_t key) { vf_add_to_bins(bin, key ? digit_of(key) : -1); });
        __syncthreads();
    };
    if (thread == 0) listed = 0;
    count(vf_coarse_bin);
    *found = vf_find_bin(bin, k_of, &in);
    const int k = k_of(*found);
    if (!k) return ~0ull;
    if (*found < k) return 1;

    const int coarse = in.chosen;
    /* The result is the `left`-th greatest of `here` remaining keys: those of its coarse bin whose bits from bit
     * `above` up equal `prefix`. */
    int left = k - in.above, here = in.here, above = VF_KEY_BITS;
    uint64_t prefix = 0;
    const auto fits = [&](uint64_t key) { return key && vf_coarse_bin(key) == coarse && key >> above == prefix; };
    while (here > VF_SMALL_LIST) {
        const int shift = vf_max(above - 11, 0);
        count([&](uint64_t key) { return fits(key) ? (int)(key >> shift & ((1u << (above - shift)) - 1)) : -1; });
        vf_find_bin(
            bin, [=](int) { return left; }, &in);
        prefix = prefix << (above - shift) | (uint64_t)in.chosen;
        above = shift;
        left -= in.above;
        here = in.here;
    }
    each_key([&](uint64_t key) {
        if (fits(key)) small[atomicAdd(&listed, 1)] = key;
    });
    __syncthreads();
    if (thread < here) {
        int better = 0;
        for (int i = 0; i < here; i++) better += small[i] > small[thread];
        if (better == left - 1) chosen = small[thread];
    }
    __syncthreads();
    return chosen;
}

#endif
