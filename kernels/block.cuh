/* SPDX-License-Identifier: MIT */
/* What the threads of a whole block do together: count, and find the best so many of a list. */
#ifndef VF_BLOCK_CUH
#define VF_BLOCK_CUH

#include "kernel.cuh"

#define VF_BLOCK 1024 /* threads of the blocks that call these */
#define VF_WARPS (VF_BLOCK / VF_WARP)
#define VF_BINS 256 /* of the radix select: eight bits */

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

/** By the first warp. */
static __device__ __forceinline__ void vf_find_bin(const int *bin, int left, vf_bin *found)
{
    enum { MINE = VF_BINS / VF_WARP };
    const int lane = threadIdx.x;
    int mine = 0;
    for (int i = 0; i < MINE; i++) mine += bin[lane * MINE + i];
    int from_here = mine; /* keys in this lane's bins and all higher ones */
    for (int step = 1; step < VF_WARP; step *= 2) {
        const int other = __shfl_down_sync(VF_ALL, from_here, step);
        from_here += lane + step < VF_WARP ? other : 0;
    }
    int more = from_here - mine;
    if (more >= left || from_here < left) return;
    for (int i = MINE - 1; i >= 0; i--) {
        const int here = bin[lane * MINE + i];
        if (more + here >= left) {
            *found = vf_bin{lane * MINE + i, more, here};
            return;
        }
        more += here;
    }
}

/** A number that the `wanted` best of a list of different keys reach and no others; more than `wanted` keys are there. A radix select,
 *  eight bits at a time from the top, until a bin is wanted whole. each_key(f) calls f(key) for every key of the thread; 0 is none. */
template <typename EachKey> static __device__ __forceinline__ uint64_t vf_least_wanted(EachKey each_key, int wanted)
{
    __shared__ int bin[VF_BINS];
    __shared__ vf_bin found;
    uint64_t prefix = 0;
    int left = wanted; /* of the keys that share the prefix, this many are wanted */
    for (int shift = (VF_KEY_BITS - 1) / 8 * 8; shift >= 0; shift -= 8) {
        if (threadIdx.x < VF_BINS) bin[threadIdx.x] = 0;
        __syncthreads();
        each_key([&](uint64_t key) {
            if (key && key >> (shift + 8) == prefix) atomicAdd(&bin[key >> shift & (VF_BINS - 1)], 1);
        });
        __syncthreads();
        if (threadIdx.x < VF_WARP) vf_find_bin(bin, left, &found);
        __syncthreads();
        prefix = prefix << 8 | (uint64_t)found.chosen;
        left -= found.above;
        if (found.here == left) return prefix << shift;
    }
    return prefix;
}

#endif
