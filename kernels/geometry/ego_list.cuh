/* SPDX-License-Identifier: MIT */
/* ego on the GPU, the list: a counting sort by one block, in which each warp has VF_EGO_LIST_SHARE candidates that
 * follow one another. */
#ifndef VF_EGO_LIST_CUH
#define VF_EGO_LIST_CUH

#include "kernels/block.cuh"

#include "geometry/ego_list.h"

/** Sort key of a candidate; VF_NONE: no correspondence. */
static __device__ __forceinline__ uint32_t key_of(const vf_ego_view &s, int candidate)
{
    const vf_refill_memory &t = *s.refill;
    if (candidate < VFRONT_TRACKS)
        return candidate < (int)t.counts[s.parity].count
                   ? vf_ego_key(&s.tuning, &t.feature[s.parity][candidate], NULL, candidate)
                   : VF_NONE;
#if VFRONT_MATCHES
    const int i = candidate - VFRONT_TRACKS;
    if (i < (int)vf_match_count(s.match, s.geometry.active))
        return vf_ego_key(&s.tuning, NULL, &s.match->match[i], candidate);
#endif
    return VF_NONE;
}

static __device__ __forceinline__ vf_correspondence correspondence_of(const vf_ego_view &s, int candidate)
{
    const vf_bearing_memory &b = *s.bearing;
#if VFRONT_MATCHES
    if (candidate >= VFRONT_TRACKS) {
        const vfront_match_t m = s.match->match[candidate - VFRONT_TRACKS];
        const bool metric = vf_ego_metric_on(&s);
        return vf_ego_from_match(&s, &m, &b.point[s.parity ^ 1][0][m.before], &b.point[s.parity][0][m.keypoint],
                                 metric ? vf_stereo_range(s.stereo, s.parity ^ 1, m.before) : vf_range_unknown(),
                                 metric ? vf_stereo_range(s.stereo, s.parity, m.keypoint) : vf_range_unknown());
    }
#endif
    return vf_ego_from_track(&s, b.node[0], &s.refill->feature[s.parity][candidate]);
}

/** Mask of the lanes of a warp that have the same number as this one. */
static __device__ __forceinline__ unsigned lanes_with_same(int number)
{
#if VF_ARCH >= 700
    return __match_any_sync(VF_ALL, number);
#else
    unsigned same = 0;
    for (int lane = 0; lane < VF_WARP; lane++) {
        const int other = __shfl_sync(VF_ALL, number, lane);
        same |= (unsigned)(other == number) << lane;
    }
    return same;
#endif
}

/** Candidates of a warp: consecutive, so that the order within a rank is that of the warps, then of the candidates in
 *  each. */
#define VF_EGO_LIST_SHARE ((VFRONT_CORRESPONDENCES + VF_WARPS - 1) / VF_WARPS)

/** Call work(candidate, its rank or -1) for the candidates of a warp, 32 at a time. */
template <typename Work> static __device__ __forceinline__ void each_candidate(const vf_ego_view &s, Work work)
{
    const int first = (int)threadIdx.x / VF_WARP * VF_EGO_LIST_SHARE, lane = threadIdx.x % VF_WARP;
    for (int k = lane; k < VF_EGO_LIST_SHARE + lane; k += VF_WARP) {
        const int c = first + k;
        const uint32_t key = k < VF_EGO_LIST_SHARE && c < VFRONT_CORRESPONDENCES ? key_of(s, c) : VF_NONE;
        work(c, key == VF_NONE ? -1 : (int)(key >> 16));
    }
}

/** Exclusive prefix sum over ranks, then warps: turns the count of each warp and rank into the place of its first
 *  candidate. Returns the total. */
static __device__ int scan_counts(uint16_t (*start)[VF_EGO_RANKS])
{
    __shared__ int warp_total[VF_WARPS];
    const int rank = threadIdx.x, lane = rank % VF_WARP, warp = rank / VF_WARP;
    int all = 0;
    for (int w = 0; w < VF_WARPS && rank < VF_EGO_RANKS; w++) {
        const int here = start[w][rank];
        start[w][rank] = (uint16_t)all;
        all += here;
    }
    int upto = all;
    for (int step = 1; step < VF_WARP; step *= 2) {
        const int other = __shfl_up_sync(VF_ALL, upto, step);
        upto += lane >= step ? other : 0;
    }
    if (lane == VF_WARP - 1) warp_total[warp] = upto;
    __syncthreads();
    const int before = vf_warp_sum(lane < warp ? warp_total[lane] : 0) + upto - all;
    for (int w = 0; w < VF_WARPS && rank < VF_EGO_RANKS; w++) start[w][rank] = (uint16_t)(start[w][rank] + before);
    const int total = vf_warp_sum(warp_total[lane]);
    __syncthreads();
    return total;
}

/** Copy the correspondences with a distance, in their order, to the second list. */
static __device__ void list_metric(const vf_ego_view &s, vf_ego_memory &m, int count)
{
    __shared__ int scan[VF_WARPS + 1];
    int listed = 0;
    for (int first = 0; first < count; first += VF_BLOCK) {
        const int i = first + (int)threadIdx.x;
        const bool ranged = i < count && m.list[0].range_m[i] > 0.0f;
        int more;
        const int at = listed + vf_count_before(ranged, scan, &more);
        if (ranged) {
            const vf_correspondence c = vf_ego_metric_correspondence(&s, vf_ego_load(&m.list[0], i));
            vf_ego_store(&m.list[1], at, &c, m.list[0].candidate[i]);
        }
        listed += more;
    }
    if (threadIdx.x == 0) m.count[1] = listed;
}

/** Kernel: both lists. One block. */
static __global__ void __launch_bounds__(VF_BLOCK) vf_ego_list_k(const VF_CONSTANT vf_ego_view s)
{
    VF_STATIC_ASSERT(VF_EGO_RANKS <= VF_BLOCK, "a thread a rank");
    __shared__ uint16_t start[VF_WARPS][VF_EGO_RANKS];
    vf_ego_memory &m = *s.ego;
    const int thread = threadIdx.x, lane = thread % VF_WARP, warp = thread / VF_WARP;
    if (thread == 0) vf_clock_start(s.clock, 0);
    for (int i = thread; i < VF_WARPS * VF_EGO_RANKS; i += VF_BLOCK) start[i / VF_EGO_RANKS][i % VF_EGO_RANKS] = 0;
    for (int i = thread; i < VFRONT_CORRESPONDENCES; i += VF_BLOCK) m.inlier_mask[i] = 0;
    __syncthreads();
    each_candidate(s, [&](int, int rank) {
        const unsigned same = lanes_with_same(rank);
        if (rank >= 0 && lane == __ffs((int)same) - 1) start[warp][rank] = (uint16_t)(start[warp][rank] + __popc(same));
        __syncwarp();
    });
    __syncthreads();
    const int count = scan_counts(start);
    each_candidate(s, [&](int candidate, int rank) {
        const unsigned same = lanes_with_same(rank);
        const int at = rank >= 0 ? start[warp][rank] + __popc(same & ((1u << lane) - 1)) : 0;
        __syncwarp();
        if (rank >= 0 && lane == __ffs((int)same) - 1) start[warp][rank] = (uint16_t)(start[warp][rank] + __popc(same));
        __syncwarp();
        if (rank < 0) return;
        const vf_correspondence c = correspondence_of(s, candidate);
        vf_ego_store(&m.list[0], at, &c, candidate);
    });
    if (thread == 0) m.count[0] = count;
    __syncthreads();
    list_metric(s, m, count);
}

#endif
