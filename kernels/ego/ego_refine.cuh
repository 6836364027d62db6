/* SPDX-License-Identifier: MIT */
/* ego on the GPU, refinement: a block finds one of the best hypotheses of a search and refines its motion. */
#ifndef VF_EGO_REFINE_CUH
#define VF_EGO_REFINE_CUH

#include "ego_sums.cuh"

#include "ego/ego_hypothesis.h"

/** vf_ego_rank_key() of the hypothesis with a given rank in a search, 0: best score. Returns 0 if there are fewer
 *  hypotheses. One warp searches, so that no barriers are needed between the ranks. */
static __device__ uint32_t find_rank(const vf_ego_view &s, int search, int rank)
{
    __shared__ uint32_t key[VFRONT_HYPOTHESES], found;
    const int all = vf_ego_hypotheses(&s, search);
    for (int h = threadIdx.x; h < all; h += VF_EGO_LANES) key[h] = vf_ego_rank_key(s.ego->score[search][h], h);
    __syncthreads();
    if (threadIdx.x < VF_WARP) {
        uint32_t best = VF_NONE;
        for (int r = 0; r <= rank; r++) {
            uint32_t mine = 0;
#pragma unroll 8
            for (int h = threadIdx.x; h < all; h += VF_WARP) mine = key[h] < best ? max(mine, key[h]) : mine;
            best = ~vf_warp_min(~mine);
        }
        if (threadIdx.x == 0) found = best;
    }
    __syncthreads();
    return found;
}

/** Refines the hypothesis of a given rank by Gauss-Newton steps: coarse steps on a subset of the correspondences, then
 *  full steps on all of them while the score rises. */
template <int KIND> static __device__ void refine(const vf_ego_view &s, int search, int rank)
{
    __shared__ vf_normal_equations sum;
    __shared__ vf_refined kept;
    __shared__ __align__(16) vf_pose pose; /* aligned, so that no vector load of it includes neighbouring words */
    __shared__ int32_t stop;
    vf_refined &f = s.ego->refined[search][rank];
    const uint32_t key = find_rank(s, search, rank);
    const int thread = threadIdx.x;
    const bool wide = search == VF_WIDE;
    vf_ego_copy(&kept, (const vf_refined *)NULL);
    if (key) vf_ego_copy(&pose, &s.ego->pose[search][vf_ego_rank_hypothesis(key)]);
    if (thread == 0) stop = !key;
    __syncthreads();
#pragma unroll 1
    for (int step = 0; step <= VF_EGO_COARSE_STEPS + VF_EGO_FULL_STEPS && !stop; step++) {
        const vf_pose p = pose;
        const bool coarse = step < VF_EGO_COARSE_STEPS;
        vf_ego_sum<KIND>(s, coarse ? VF_EGO_LANES : VFRONT_CORRESPONDENCES, &sum,
                         [&](const vf_correspondence &c, vf_normal_equations &to) {
                             const vf_correspondence bounded = wide ? vf_motion_widen(c) : c;
                             vf_motion_accumulate(KIND, &p, &bounded, &to);
                         });
        const bool better = sum.score > kept.sum.score;
        __syncthreads();
        if (better && !coarse) {
            vf_ego_copy(&kept.sum, &sum);
            if (thread == 0) kept.pose = p;
        }
        if (thread == 0)
            stop = step == VF_EGO_COARSE_STEPS + VF_EGO_FULL_STEPS || !(better || coarse) ||
                   !(vf_motion_step(KIND, &pose, sum.terms) || coarse);
        __syncthreads();
    }
    vf_ego_copy(&f, &kept);
}

/** Kernel: refines the hypothesis of rank blockIdx.x of search blockIdx.y. */
static __global__ void __launch_bounds__(VF_EGO_LANES) vf_ego_refine_k(const VF_CONSTANT vf_ego_view s)
{
    const int search = blockIdx.y, rank = blockIdx.x;
    if (rank >= vf_ego_refined(search)) return vf_ego_copy(&s.ego->refined[search][rank], (const vf_refined *)NULL);
    if (search == VF_RELATIVE) refine<VF_RELATIVE>(s, search, rank);
    if (search >= VF_METRIC) refine<VF_METRIC>(s, search, rank);
    if (search == VF_ROTATION_ONLY) refine<VF_ROTATION_ONLY>(s, search, rank);
}

/** Best refined motion of a search; the one of lowest rank among equal scores. Called by whole warps. */
static __device__ __forceinline__ const vf_refined &vf_ego_best(const vf_ego_view &s, int search)
{
    VF_STATIC_ASSERT(VF_EGO_REFINED <= VF_WARP, "a lane a refined motion");
    const vf_refined *f = s.ego->refined[search];
    const int lane = threadIdx.x % VF_WARP;
    const uint32_t key = lane < VF_EGO_REFINED ? (uint32_t)f[lane].sum.score << 5 | (uint32_t)(31 - lane) : 0;
    return f[31 - (~vf_warp_min(~key) & 31)];
}

#endif
