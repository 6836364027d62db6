/* SPDX-License-Identifier: MIT */
/* ego on the GPU, the lists: a counting sort, in which each block counts all candidates and lists its own. */
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

/** 1 if a candidate that is listed is in the second list, too: it has a distance in the frame before. */
static __device__ __forceinline__ bool is_ranged(const vf_ego_view &s, int candidate)
{
#if VFRONT_MATCHES
    if (candidate >= VFRONT_TRACKS && vf_ego_metric_on(&s))
        return vf_stereo_range(s.stereo, s.parity ^ 1, s.match->match[candidate - VFRONT_TRACKS].before).m > 0.0f;
#endif
    (void)s, (void)candidate;
    return false;
}

/** Candidates that follow one another and are counted by one warp: the order within a rank is that of these parts, then
 *  of the candidates in each. A block lists VF_EGO_LIST_OWN of the parts: with 16 blocks all are at work at once on 8
 *  multiprocessors. */
#define VF_EGO_LIST_PART ((VFRONT_CORRESPONDENCES + VF_WARPS - 1) / VF_WARPS)
#define VF_EGO_LIST_BLOCKS 16
#define VF_EGO_LIST_OWN (VF_WARPS / VF_EGO_LIST_BLOCKS)

/** A candidate: its rank, VF_EGO_RANKS if it is none, and whether it is in the second list. */
struct ranked {
    uint16_t rank : 15, ranged : 1;
};
static __device__ __forceinline__ ranked ranked_of(const vf_ego_view &s, int candidate)
{
    const uint32_t key = candidate < VFRONT_CORRESPONDENCES ? key_of(s, candidate) : VF_NONE;
    ranked r = {VF_EGO_RANKS, 0};
    if (key == VF_NONE) return r;
    r.rank = (uint16_t)(key >> 16 & 0x7fff);
    r.ranged = is_ranged(s, candidate);
    return r;
}

/** Counts of both lists in a word: the first one's, and VF_EGO_LIST_SECOND times the second one's. */
#define VF_EGO_LIST_SECOND (1u << 16)
VF_STATIC_ASSERT(VFRONT_CORRESPONDENCES < (1 << 16), "two counts a word");
static __device__ __forceinline__ uint32_t both_counts(int first, int second)
{
    return (uint32_t)first + (uint32_t)second * VF_EGO_LIST_SECOND;
}

/** Memory of a block. */
struct list_work {
    uint32_t count[VF_WARPS][VF_EGO_RANKS]; /* of each part and rank */
    uint32_t first[VF_EGO_RANKS];           /* places of the block's first candidate of each rank in both lists */
    ranked own[VF_EGO_LIST_OWN * VF_EGO_LIST_PART];
    uint32_t warp_total[VF_WARPS];
};

/** Count the candidates of all parts, a warp a part, and keep those of this block. */
static __device__ void count_ranks(const vf_ego_view &s, list_work &w)
{
    enum { AHEAD = 4 }; /* candidates that a thread looks up before it counts the first */
    const int warp = threadIdx.x / VF_WARP, lane = threadIdx.x % VF_WARP, end = (warp + 1) * VF_EGO_LIST_PART,
              own = (int)blockIdx.x * VF_EGO_LIST_OWN * VF_EGO_LIST_PART;
    for (int first = warp * VF_EGO_LIST_PART; first < end; first += AHEAD * VF_WARP) {
        ranked r[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int candidate = first + k * VF_WARP + lane;
            r[k] = ranked_of(s, candidate < end ? candidate : VFRONT_CORRESPONDENCES);
            if (warp / VF_EGO_LIST_OWN == (int)blockIdx.x && candidate < end) w.own[candidate - own] = r[k];
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const unsigned same = lanes_with_same(r[k].rank), second = __ballot_sync(VF_ALL, r[k].ranged);
            if (r[k].rank < VF_EGO_RANKS && lane == __ffs((int)same) - 1)
                w.count[warp][r[k].rank] += both_counts(__popc(same), __popc(same & second));
            __syncwarp();
        }
    }
}

/** Places of the block's first candidate of each rank: behind all of lower ranks, and those of its rank in earlier
 *  parts. Returns the lengths of both lists. */
static __device__ uint32_t find_places(list_work &w)
{
    const int rank = threadIdx.x, lane = rank % VF_WARP, warp = rank / VF_WARP;
    uint32_t all = 0, earlier = 0;
    if (rank < VF_EGO_RANKS) {
#pragma unroll
        for (int part = 0; part < VF_WARPS; part++) {
            earlier = part == (int)blockIdx.x * VF_EGO_LIST_OWN ? all : earlier;
            all += w.count[part][rank];
        }
    }
    uint32_t upto = all;
    for (int step = 1; step < VF_WARP; step *= 2) {
        const uint32_t other = __shfl_up_sync(VF_ALL, upto, step);
        upto += lane >= step ? other : 0;
    }
    if (lane == VF_WARP - 1) w.warp_total[warp] = upto;
    __syncthreads();
    const uint32_t total = w.warp_total[lane],
                   before = (uint32_t)vf_warp_sum(lane < warp ? (int)total : 0) + upto - all;
    if (rank < VF_EGO_RANKS) w.first[rank] = before + earlier;
    __syncthreads();
    return (uint32_t)vf_warp_sum((int)total);
}

/** Write the block's own correspondence i to both lists. */
static __device__ void list_own(const vf_ego_view &s, const list_work &w, int i)
{
    const ranked mine = w.own[i];
    const int candidate = (int)blockIdx.x * VF_EGO_LIST_OWN * VF_EGO_LIST_PART + i;
    if (mine.rank == VF_EGO_RANKS) return;
    uint32_t place = w.first[mine.rank];
#pragma unroll 8
    for (int k = 0; k < i; k++) place += w.own[k].rank == mine.rank ? both_counts(1, w.own[k].ranged) : 0;
    const vf_correspondence c = correspondence_of(s, candidate);
    vf_ego_store(&s.ego->list[0], (int)(place % VF_EGO_LIST_SECOND), &c, candidate);
    if (!mine.ranged) return;
    const vf_correspondence metric = vf_ego_metric_correspondence(&s, c);
    vf_ego_store(&s.ego->list[1], (int)(place / VF_EGO_LIST_SECOND), &metric, candidate);
}

/** Kernel: both lists. Each of VF_EGO_LIST_BLOCKS blocks counts all candidates, so that none waits for another, and
 *  lists its own. */
static __global__ void __launch_bounds__(VF_BLOCK) vf_ego_list_k(const VF_CONSTANT vf_ego_view s)
{
    VF_STATIC_ASSERT(VF_EGO_RANKS <= VF_BLOCK, "a thread a rank");
    __shared__ list_work w;
    vf_ego_memory &m = *s.ego;
    const int thread = threadIdx.x;
    if (thread == 0) vf_clock_start(s.clock, blockIdx.x);
    for (int i = thread; i < VF_WARPS * VF_EGO_RANKS; i += VF_BLOCK) w.count[i / VF_EGO_RANKS][i % VF_EGO_RANKS] = 0;
    for (int i = blockIdx.x * VF_BLOCK + thread; i < VF_EGO_MASKS / 4; i += VF_EGO_LIST_BLOCKS * VF_BLOCK) {
        for (int kind = 0; kind < VF_KINDS; kind++) reinterpret_cast<uint32_t *>(m.inlier[kind])[i] = 0;
        reinterpret_cast<uint32_t *>(m.inlier_mask)[i] = 0;
    }
    __syncthreads();
    count_ranks(s, w);
    __syncthreads();
    const uint32_t counts = find_places(w);
    for (int i = thread; i < VF_EGO_LIST_OWN * VF_EGO_LIST_PART; i += VF_BLOCK) list_own(s, w, i);
    if (thread || blockIdx.x) return;
    m.count[0] = counts % VF_EGO_LIST_SECOND;
    m.count[1] = counts / VF_EGO_LIST_SECOND;
}

#endif
