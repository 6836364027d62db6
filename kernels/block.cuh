/* SPDX-License-Identifier: MIT */
/* What the threads of a whole block do together: count, and find the best so many of a list. */
#ifndef VF_BLOCK_CUH
#define VF_BLOCK_CUH

#include "kernel.cuh"

#define VF_BLOCK 1024 /* threads of the blocks that call these */
#define VF_WARPS (VF_BLOCK / VF_WARP)
#define VF_BINS 2048 /* of a histogram: eleven bits */
#define VF_FEW 64    /* keys that are compared with one another */

/** Number of true flags in threads before this one; *total: in the whole block. start: VF_WARPS + 1 numbers in shared memory. */
static __device__ __forceinline__ int vf_count_before(bool flag, int *start, int *total)
{
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP;
    const unsigned who = __ballot_sync(VF_ALL, flag);
    __syncthreads(); /* start may still be read from the call before */
    if (lane == 0) start[warp] = __popc(who);
    __syncthreads();
    if (warp == 0) {
        const int mine = start[lane];
        int upto = mine;
        for (int step = 1; step < VF_WARP; step *= 2) {
            const int other = __shfl_up_sync(VF_ALL, upto, step);
            upto += lane >= step ? other : 0;
        }
        start[lane] = upto - mine;
        if (lane == VF_WARP - 1) start[VF_WARPS] = upto;
    }
    __syncthreads();
    *total = start[VF_WARPS];
    return start[warp] + __popc(who & ((1u << lane) - 1));
}

/** The bin, counted from the top, in which the `left`-th key lies, how many lie above that bin, and in it. */
struct vf_bin {
    int chosen, above, here;
};

/** The bin of the left-th key, with left = left_of(all). Returns `all`, how many keys are in all bins; *found stays as it was when that is
 *  less than `left`. */
template <typename LeftOf>
static __device__ __forceinline__ int vf_find_bin(const int *bin, LeftOf left_of, vf_bin *found)
{
    VF_STATIC_ASSERT(VF_BINS == 2 * VF_BLOCK, "two bins a thread");
    __shared__ int whole[VF_WARPS];
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP, upper = VF_BINS - 1 - 2 * (int)threadIdx.x;
    const int first = bin[upper], second = bin[upper - 1];
    int upto = first + second;
    for (int step = 1; step < VF_WARP; step *= 2) {
        const int other = __shfl_up_sync(VF_ALL, upto, step);
        upto += lane >= step ? other : 0;
    }
    if (lane == VF_WARP - 1) whole[warp] = upto;
    __syncthreads();
    const int others = whole[lane], above = vf_warp_sum(lane < warp ? others : 0) + upto - first - second;
    const int all = vf_warp_sum(others), left = left_of(all);
    if (above < left && above + first >= left) *found = vf_bin{upper, above, first};
    if (above + first < left && above + first + second >= left) *found = vf_bin{upper - 1, above + first, second};
    __syncthreads();
    return all;
}

/** Adds one to a bin for each lane; digit -1: none. Called by whole warps. Lanes that agree with the first of them add up beforehand,
 *  because adding to one bin in turn takes long, and many scores are 1. */
static __device__ __forceinline__ void vf_add_to_bins(int *bin, int digit)
{
    const unsigned who = __ballot_sync(VF_ALL, digit >= 0);
    const int leader = who ? __ffs((int)who) - 1 : 0, leading = __shfl_sync(VF_ALL, digit, leader);
    const unsigned same = __ballot_sync(VF_ALL, digit == leading);
    if (digit >= 0 && digit != leading) atomicAdd(&bin[digit], 1);
    if (who && (int)(threadIdx.x % VF_WARP) == leader) atomicAdd(&bin[leading], __popc(same));
}

/** A number that rises with a key, of 11 bits: strong or not, and how large the score is, to 1/32 of it. */
static __device__ __forceinline__ int vf_rough(uint64_t key)
{
    const uint32_t score = (uint32_t)(key >> 29);
    const int exponent = 31 - __clz((int)(score ? score : 1));
    const uint32_t fraction = exponent >= 5 ? score >> (exponent - 5) : score << (5 - exponent);
    return (int)(key >> 61 & 1) << 10 | exponent << 5 | (int)(fraction & 31);
}

/** The least of the best keys of a list, all of which differ: of so many as wanted_of() says when told how many there are. 1 when that is
 *  more than there are, and more than any key when none is wanted. *found: how many keys there are. each_key(f) calls f(key) for
 *  every key of the thread, by whole warps; 0 is none.
 *  A histogram by rough size nearly always leaves few keys to choose from, which are compared with one another. Where it does not,
 *  a radix select goes on with what has that size, eleven bits at a time from the top. */
template <typename EachKey, typename WantedOf>
static __device__ __forceinline__ uint64_t vf_least_wanted(EachKey each_key, WantedOf wanted_of, int *found)
{
    __shared__ int bin[VF_BINS], listed;
    __shared__ vf_bin in;
    __shared__ uint64_t few[VF_FEW], chosen;
    const int thread = threadIdx.x;
    const auto count = [&](auto digit_of) {
        bin[thread] = bin[thread + VF_BLOCK] = 0;
        __syncthreads();
        each_key([&](uint64_t key) { vf_add_to_bins(bin, key ? digit_of(key) : -1); });
        __syncthreads();
    };
    if (thread == 0) listed = 0;
    count(vf_rough);
    *found = vf_find_bin(bin, wanted_of, &in);
    const int wanted = wanted_of(*found);
    if (!wanted) return ~0ull;
    if (*found < wanted) return 1;

    const int rough = in.chosen;
    int left = wanted - in.above, here = in.here,
        above = VF_KEY_BITS; /* of the `here` keys with this prefix `left` are wanted */
    uint64_t prefix = 0;
    const auto fits = [&](uint64_t key) { return key && vf_rough(key) == rough && key >> above == prefix; };
    while (here > VF_FEW) {
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
        if (fits(key)) few[atomicAdd(&listed, 1)] = key;
    });
    __syncthreads();
    if (thread < here) {
        int better = 0;
        for (int i = 0; i < here; i++) better += few[i] > few[thread];
        if (better == left - 1) chosen = few[thread];
    }
    __syncthreads();
    return chosen;
}

#endif
