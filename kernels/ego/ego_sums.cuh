/* SPDX-License-Identifier: MIT */
/* ego on the GPU, functions of blocks of VF_EGO_LANES threads: sums of normal equations, with one thread for each lane
 * of ego.h and in the order given there; maxima; copies. */
#ifndef VF_EGO_SUMS_CUH
#define VF_EGO_SUMS_CUH

#include "kernels/kernel.cuh"

#include "ego/ego.h"

#define VF_EGO_WARPS (VF_EGO_LANES / VF_WARP)

/** Maximum of v over a block, in every thread. warp_best: VF_EGO_WARPS words of shared memory. */
static __device__ __forceinline__ uint32_t vf_ego_block_max(uint32_t v, uint32_t *warp_best)
{
    v = ~vf_warp_min(~v);
    __syncthreads();
    if (threadIdx.x % VF_WARP == 0) warp_best[threadIdx.x / VF_WARP] = v;
    __syncthreads();
    for (int w = 0; w < VF_EGO_WARPS; w++) v = max(v, warp_best[w]);
    return v;
}

/** Sums 32 numbers of every lane over the warp: lane k gets the sum of the k-th number in v[0]. Lanes are added by
 *  halves: first lanes 16 apart, each of which keeps the sums of half of the numbers. */
template <int STEP> static __device__ __forceinline__ void add_halves(float (&v)[VF_WARP])
{
    const bool upper = threadIdx.x & STEP;
#pragma unroll
    for (int k = 0; k < STEP; k++) {
        const float low = v[k], high = v[k + STEP], sent = upper ? low : high, kept = upper ? high : low;
        v[k] = kept + __shfl_xor_sync(VF_ALL, sent, STEP);
    }
    add_halves<STEP / 2>(v);
}
template <> __device__ __forceinline__ void add_halves<0>(float (&)[VF_WARP]) {}

/** Sums the normal equations `mine` over the threads of a block into *out. */
static __device__ __forceinline__ void add_lanes(const vf_normal_equations &mine, vf_normal_equations *out)
{
    VF_STATIC_ASSERT(VF_TERMS < VF_WARP, "a lane a term");
    __shared__ float part[VF_EGO_WARPS][VF_WARP];
    __shared__ int32_t count[3][VF_EGO_WARPS];
    const int thread = threadIdx.x, lane = thread % VF_WARP, warp = thread / VF_WARP;
    const int counts[3] = {vf_warp_sum(mine.score), vf_warp_sum((int)mine.inliers), vf_warp_sum((int)mine.residuals)};
    float v[VF_WARP];
#pragma unroll
    for (int k = 0; k < VF_WARP; k++) v[k] = k < VF_TERMS ? mine.terms[k < VF_TERMS ? k : 0] : 0.0f;
    add_halves<VF_WARP / 2>(v);
    part[warp][lane] = v[0];
#pragma unroll
    for (int k = 0; k < 3; k++)
        if (lane == 0) count[k][warp] = counts[k];
    __syncthreads();
    if (thread < VF_TERMS) {
        float all[VF_EGO_WARPS];
#pragma unroll
        for (int w = 0; w < VF_EGO_WARPS; w++) all[w] = part[w][thread];
#pragma unroll
        for (int step = VF_EGO_WARPS / 2; step; step /= 2)
            for (int w = 0; w < step; w++) all[w] += all[w + step];
        out->terms[thread] = all[0];
    } else if (thread >= VF_WARP && thread < VF_WARP + 3) {
        int all = 0;
        for (int w = 0; w < VF_EGO_WARPS; w++) all += count[thread - VF_WARP][w];
        if (thread == VF_WARP) out->score = all;
        if (thread == VF_WARP + 1) out->inliers = (uint32_t)all;
        if (thread == VF_WARP + 2) out->residuals = (uint32_t)all;
    }
    __syncthreads();
}

/** Sums normal equations over all correspondences of a kind of motion, or over an evenly spaced subset of `most`.
 *  work(correspondence, sum) adds one correspondence to sum. */
template <int KIND, typename Work>
static __device__ __forceinline__ void vf_ego_sum(const vf_ego_view &s, int most, vf_normal_equations *out, Work work)
{
    const vf_correspondences &list = s.ego->list[vf_ego_list(KIND)];
    const int count = s.ego->count[vf_ego_list(KIND)], used = vf_ego_subset_count(count, most);
    const auto load = [&](int i) {
        return vf_ego_load(&list, most == VF_EGO_LANES ? vf_ego_subset_index(count, VF_EGO_LANES, i) : i);
    };
    vf_normal_equations mine = {};
    vf_correspondence next = {}; /* correspondence loaded while the previous one is processed */
    if ((int)threadIdx.x < used) next = load(threadIdx.x);
    for (int i = threadIdx.x; i < used; i += VF_EGO_LANES) {
        const vf_correspondence c = next;
        if (i + VF_EGO_LANES < used) next = load(i + VF_EGO_LANES);
        work(c, mine);
    }
    add_lanes(mine, out);
}

/** Copies *from to *to word by word, with VF_EGO_LANES threads of a block. from NULL: fills *to with zeros. */
template <typename T> static __device__ __forceinline__ void vf_ego_copy(T *to, const T *from)
{
    VF_STATIC_ASSERT(sizeof(T) % 4 == 0, "whole words");
    for (int i = threadIdx.x; i < (int)(sizeof(T) / 4); i += VF_EGO_LANES)
        reinterpret_cast<uint32_t *>(to)[i] = from ? reinterpret_cast<const uint32_t *>(from)[i] : 0;
}

#endif
