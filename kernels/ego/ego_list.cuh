/* SPDX-License-Identifier: MIT */
/* ego on the GPU, lists of correspondences for the motion estimates: a counting sort in which each block counts all
 * candidates and lists its own. */
#ifndef VF_EGO_LIST_CUH
#define VF_EGO_LIST_CUH

#include "kernels/block.cuh"

#include "ego/ego_list.h"

/** Sort key of a candidate: a track below VFRONT_TRACKS, else a match. VF_NONE: it is no correspondence. */
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
        return vf_ego_from_match(&s, &m, &b.point[s.parity ^ 1][0][m.before], &b.point[s.parity][0][m.keypoint],
                                 vf_ego_match_range(&s, s.parity ^ 1, m.before),
                                 vf_ego_match_range(&s, s.parity, m.keypoint));
    }
#endif
    return vf_ego_from_track(&s, b.node[0], &s.refill->feature[s.parity][candidate]);
}

/** Mask of the lanes of a warp that have the same number as the calling lane. */
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

/** 1 if a listed candidate has a distance in the previous frame, for the second list, of metric motions. */
static __device__ __forceinline__ bool is_ranged(const vf_ego_view &s, int candidate)
{
    if (candidate < VFRONT_TRACKS) return vf_ego_track_range(&s, &s.refill->feature[s.parity][candidate]).m > 0.0f;
#if VFRONT_MATCHES
    return vf_ego_match_range(&s, s.parity ^ 1, s.match->match[candidate - VFRONT_TRACKS].before).m > 0.0f;
#else
    return false;
#endif
}

/** Consecutive candidates that one warp counts: a part. In the lists, candidates of one rank are in the order of their
 *  index. */
#define VF_EGO_LIST_PART ((VFRONT_CORRESPONDENCES + VF_WARPS - 1) / VF_WARPS)
#define VF_EGO_LIST_BLOCKS 16 /* blocks of vf_ego_list_k(): 16 fit 8 multiprocessors at once */
#define VF_EGO_LIST_OWN (VF_WARPS / VF_EGO_LIST_BLOCKS) /* parts that a block lists */

/** Place of a candidate in the lists. */
struct ranked {
    uint16_t rank : 15, /* rank of its sort key; VF_EGO_RANKS: not listed */
        ranged : 1;     /* 1: it has a distance */
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

/** Counts of two lists in one word: count of the first list + VF_EGO_LIST_SECOND * count of the candidates with a
 *  distance, which the second list has, with or without tracks. */
#define VF_EGO_LIST_SECOND (1u << 16)
VF_STATIC_ASSERT(VFRONT_CORRESPONDENCES < (1 << 16), "two counts a word");
static __device__ __forceinline__ uint32_t both_counts(int first, int second)
{
    return (uint32_t)first + (uint32_t)second * VF_EGO_LIST_SECOND;
}

/** Shared memory of a block of vf_ego_list_k(). */
struct list_work {
    /* number of candidates of a part and rank in both lists, as both_counts() */
    uint32_t count[VF_WARPS][VF_EGO_RANKS];
    uint32_t first[VF_EGO_RANKS]; /* indices in both lists of the block's first candidate of a rank, as both_counts() */
    ranked own[VF_EGO_LIST_OWN * VF_EGO_LIST_PART]; /* places of the block's own candidates */
    uint32_t warp_total[VF_WARPS];
    uint32_t tracks; /* number of tracks with a distance */
};

/** Counts the candidates of all parts by rank, one part per warp. Stores rank and list of the block's own candidates in
 *  w.own. */
static __device__ void count_ranks(const vf_ego_view &s, list_work &w)
{
    enum { AHEAD = 4 }; /* candidates that a thread loads before it counts the first */
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

/** Computes the list indices of the block's first candidate of each rank: number of candidates of lower ranks, plus
 *  number of candidates of its rank in earlier parts. Returns the lengths of both lists, as both_counts(). */
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
    if (rank == VF_EGO_TRACK_RANKS) w.tracks = before / VF_EGO_LIST_SECOND;
    __syncthreads();
    return (uint32_t)vf_warp_sum((int)total);
}

/** Writes candidate i of the block's own ones to the first list, and to the second if it has a distance. without:
 *  number of tracks with a distance that the second list leaves out: all or none. */
static __device__ void list_own(const vf_ego_view &s, const list_work &w, int i, uint32_t without)
{
    const ranked mine = w.own[i];
    const int candidate = (int)blockIdx.x * VF_EGO_LIST_OWN * VF_EGO_LIST_PART + i;
    if (mine.rank == VF_EGO_RANKS) return;
    uint32_t place = w.first[mine.rank];
#pragma unroll 8
    for (int k = 0; k < i; k++) place += w.own[k].rank == mine.rank ? both_counts(1, w.own[k].ranged) : 0;
    const vf_correspondence c = correspondence_of(s, candidate);
    vf_ego_store(&s.ego->list[0], (int)(place % VF_EGO_LIST_SECOND), &c, candidate);
    if (!mine.ranged || (without && candidate < VFRONT_TRACKS)) return;
    const vf_correspondence metric = vf_ego_metric_correspondence(&s, c);
    vf_ego_store(&s.ego->list[1], (int)(place / VF_EGO_LIST_SECOND - without), &metric, candidate);
}

/** Writes both lists. Each of VF_EGO_LIST_BLOCKS blocks counts all candidates, so that no block waits for another, and
 *  lists those of its own parts. */
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
    const uint32_t counts = find_places(w), ranged = counts / VF_EGO_LIST_SECOND,
                   without = vf_ego_uses_track_ranges(w.tracks, ranged - w.tracks) ? 0 : w.tracks;
    for (int i = thread; i < VF_EGO_LIST_OWN * VF_EGO_LIST_PART; i += VF_BLOCK) list_own(s, w, i, without);
    if (thread || blockIdx.x) return;
    m.count[0] = counts % VF_EGO_LIST_SECOND;
    m.count[1] = ranged - without;
}

#endif
