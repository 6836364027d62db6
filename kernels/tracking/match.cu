/* SPDX-License-Identifier: MIT */
/* match on the GPU, four launches.
 *
 * expect_k  early, before this frame has key points: predictions for the previous frame's key points
 * search_k  one block per several key points of this frame (nearest.cuh): best candidates both ways, and second best
 *           distance of all key points with a best candidate
 * list_k    one block: cross-check, ratio test, roll of the image; first four members of each match
 * refine_k  one warp per match: its other members, subpixel position and link (src/tracking/match_refine.h) */
#include "kernels/block.cuh"
#include "kernels/features/nearest.cuh"
#include "patch.cuh"

#include "tracking/match.h"

#if VFRONT_MATCHES
#include "tracking/match_refine.h"

/** Number of key points of this frame. */
static __device__ __forceinline__ int count_now(const vf_match_view &s) { return (int)s.bearing->count[s.parity][0]; }
/** Number of key points of the previous frame; 0 in the first frame. */
static __device__ __forceinline__ int count_before(const vf_match_view &s)
{
    /* in the first frame the memory may hold another run's key points */
    return s.ingest->params.frame ? (int)s.bearing->count[s.parity ^ 1][0] : 0;
}

#define EXPECT_THREADS 64

static __global__ void __launch_bounds__(EXPECT_THREADS) expect_k(const VF_CONSTANT vf_match_view s)
{
    const int j = blockIdx.x * EXPECT_THREADS + threadIdx.x;
    const struct vf_match_bounds bounds = vf_match_bounds(&s);
    if (j < count_before(s)) vf_match_expect(&s, &bounds, (uint32_t)j);
}

#define ROWS 4 /* key points of this frame in a block */

/** Key points of this frame in a block (its rows), in registers. */
struct now_rows {
    float x[ROWS], y[ROWS], z[ROWS], /* bearings, unit vectors (x, y, z) */
        step;                        /* size of a pixel of their level [px of level 0] */
};
static __device__ __forceinline__ now_rows load_rows(const vf_match_view &s, const vf_nearest_rows &rows)
{
    now_rows now;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const vf_point &p = s.bearing->point[s.parity][0][rows.first + vf_min(r, rows.count - 1)];
        now.x[r] = p.bearing[0];
        now.y[r] = p.bearing[1];
        now.z[r] = p.bearing[2];
        now.step = p.step;
    }
    return now;
}

/** Tests which of a block's key points lie within the search radius around key point j of the previous frame, predicted
 *  for this frame: one bit per key point. e: predictions; now: bearings of the block's key points. */
static __device__ __forceinline__ uint32_t in_radii(const vf_match_expected &e, const struct vf_match_bounds &b,
                                                    const now_rows &now, int j)
{
    const float x = e.x[j], y = e.y[j], z = e.z[j], step = e.step[j];
    const float radius2 = vf_match_radius2(&b, now.step > step ? now.step : step, e.reach[j]);
    uint32_t bits = 0;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        bits |= (uint32_t)vf_match_in_radius(radius2, now.x[r] - x, now.y[r] - y, now.z[r] - z) << r;
    return bits;
}

static __global__ void __launch_bounds__(VF_NEAREST_THREADS) search_k(const VF_CONSTANT vf_match_view s)
{
    __shared__ vf_nearest<ROWS> nearest;
    vf_match_memory &m = *s.match;
    const int thread = threadIdx.x, before = s.parity ^ 1, last = VFRONT_SCALES - 1;
    const vf_nearest_rows rows = vf_nearest_rows_of(s.bearing->first[s.parity][0], ROWS, blockIdx.x);
    if (thread == 0) vf_clock_start(s.clock, blockIdx.x);
    if (!rows.count) return;
    const struct vf_match_bounds bounds = vf_match_bounds(&s);
    const bool any = count_before(s) > 0;
    const uint32_t *first = s.bearing->first[before][0];
    const vf_nearest_others others = {s.bearing->point[before][0],
                                      s.describe->descriptor[before][0],
                                      any ? (int)first[vf_max(rows.level - bounds.levels, 0)] : 0,
                                      any ? (int)first[vf_min(rows.level + bounds.levels, last) + 1] : 0,
                                      bounds.distance,
                                      m.back[s.parity]};
    const now_rows now = load_rows(s, rows);
    const uint32_t all = (1u << rows.count) - 1;
    vf_find_nearest(
        nearest, rows, s.describe->descriptor[s.parity][0], others,
        [&](int j) { return bounds.guided ? in_radii(m.expected, bounds, now, j) & all : all; },
        [](int, int) { return true; });
    if (thread >= rows.count) return;
    const int i = rows.first + thread;
    m.found[s.parity][i] = nearest.best[thread];
    m.second[s.parity][i] = nearest.second[thread];
    vf_match_keep(NULL, m.before[s.parity][i]);
    m.link[s.parity][i] = vf_match_unlinked();
}

/** Possible match of a key point of this frame. */
struct pair {
    uint32_t before, /* index of the matched key point in the previous frame */
        distance,    /* Hamming distance of the two descriptors [bits] */
        second;      /* least distance of another candidate [bits] */
    uint32_t change; /* change of orientation between the frames, vf_match_orientation_change() */
    bool accepted;   /* the pair passes cross-check and ratio test */
};
/** Loads the pair of key point i. If the pair fails the cross-check, sets the second best distance in memory to 256,
 *  for none. count: number of key points. */
static __device__ __forceinline__ pair load_pair(const vf_match_view &s, int i, int count)
{
    vf_match_memory &m = *s.match;
    pair p = {};
    if (i >= count) return p;
    const uint32_t found = m.found[s.parity][i];
    if (found == VF_NONE) return p;
    p.before = found & 0xffff;
    p.distance = found >> 16;
    p.second = m.second[s.parity][i];
    p.change = vf_match_orientation_change(s.describe->angle[s.parity][0][i],
                                           s.describe->angle[s.parity ^ 1][0][p.before]);
    const bool mutual = vf_match_mutual(found, m.back[s.parity][p.before], (uint32_t)i);
    if (!mutual) m.second[s.parity][i] = 256;
    p.accepted = mutual && vf_ratio_test(s.tuning.match_ratio_percent, p.distance, p.second);
    return p;
}

/** Pairs of a batch per thread, of key points VF_BLOCK apart, so that their loads overlap. */
#define BATCH 2
struct batch {
    pair p[BATCH];
};
static __device__ __forceinline__ void load_batch(const vf_match_view &s, int first, int count, batch *b)
{
#pragma unroll
    for (int k = 0; k < BATCH; k++) b->p[k] = load_pair(s, first + k * VF_BLOCK + (int)threadIdx.x, count);
}

/** Roll of the image between the frames [bins], in every thread of the block: peak of the accepted pairs' changes of
 *  orientation. b: first batch of pairs, overwritten by later ones. */
static __device__ __forceinline__ int find_roll(const vf_match_view &s, int count, batch *b)
{
    __shared__ int bin[VF_ROLL_BINS];
    __shared__ uint32_t best;
    const int thread = threadIdx.x;
    if (thread < VF_ROLL_BINS) bin[thread] = 0;
    if (thread == 0) best = 0;
    __syncthreads();
    for (int first = 0; first < count; first += BATCH * VF_BLOCK) {
        if (first) load_batch(s, first, count, b);
#pragma unroll
        for (int k = 0; k < BATCH; k++) vf_add_to_bins(bin, b->p[k].accepted ? vf_match_roll_bin(b->p[k].change) : -1);
    }
    __syncthreads();
    if (thread < VF_ROLL_BINS) {
        const uint32_t most = ~vf_warp_min(~vf_match_roll_score(bin, thread));
        if (thread % VF_WARP == 0) atomicMax(&best, most);
    }
    __syncthreads();
    return vf_match_roll_peak(best);
}

/** Lists the pairs of a batch that agree with the roll of the image, from match[listed] on. Returns their number. */
static __device__ __forceinline__ int list_batch(const vf_match_view &s, const batch &b, int first, int roll,
                                                 int listed)
{
    __shared__ int start[VF_WARPS]; /* scratch of vf_counts_before() */
    vfront_match_t *match = s.match->match + listed;
    bool kept[BATCH];
    int at[BATCH];
#pragma unroll
    for (int k = 0; k < BATCH; k++) kept[k] = b.p[k].accepted && vf_match_roll_agrees(&s.tuning, b.p[k].change, roll);
    const int more = vf_counts_before(kept, start, at);
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
        if (!kept[k]) continue;
        vfront_match_t &m = match[at[k]];
        m.keypoint = (uint16_t)(first + k * VF_BLOCK + (int)threadIdx.x);
        m.before = (uint16_t)b.p[k].before;
        m.distance = (uint16_t)b.p[k].distance;
        m.second = (uint16_t)b.p[k].second;
    }
    return more;
}

/** Finds the roll of the image and lists the matches, by one block. */
static __global__ void __launch_bounds__(VF_BLOCK) list_k(const VF_CONSTANT vf_match_view s)
{
    const int count = count_now(s);
    batch b;
    load_batch(s, 0, count, &b);
    const int roll = find_roll(s, count, &b);
    int listed = 0;
    for (int first = 0; first < count; first += BATCH * VF_BLOCK) {
        if (count > BATCH * VF_BLOCK) load_batch(s, first, count, &b);
        listed += list_batch(s, b, first, roll, listed);
    }
    if (threadIdx.x == 0) s.match->count = listed;
}

#ifndef VF_MATCH_WARPS
#define VF_MATCH_WARPS 4 /* matches of a block, a warp each */
#endif

/** Completes the matches by tracking and position, one warp each; clears the candidates of the next frame. */
static __global__ void __launch_bounds__(VF_WARP *VF_MATCH_WARPS, 28 / VF_MATCH_WARPS)
    refine_k(const VF_CONSTANT vf_match_view s)
{
    vf_match_memory &m = *s.match;
    const int i = blockIdx.x * VF_MATCH_WARPS + threadIdx.x / VF_WARP;
    vf_match_clear(&m, s.parity ^ 1, blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x);
    if (i < (int)m.count) {
        vf_patch patch;
        vf_match_link link;
        const vfront_match_t listed = m.match[i];
        const vfront_match_t made = vf_match_make(&s, listed.keypoint, vf_packed_match(listed.distance, listed.before),
                                                  listed.second);
        const vfront_match_t refined = vf_match_refine(&patch, &s, made, &link);
        __syncwarp(); /* all lanes have read the match, which the first lane overwrites */
        if (threadIdx.x % VF_WARP == 0) {
            m.match[i] = refined;
            m.link[s.parity][refined.keypoint] = link;
            vf_match_keep(s.bearing->point[s.parity ^ 1][0][refined.before].bearing,
                          m.before[s.parity][refined.keypoint]);
        }
    }
    if (threadIdx.x % VF_WARP == 0) vf_clock_end(s.clock);
}

#endif

extern "C" cudaError_t vf_match_early_cuda(const vf_match_view *s, cudaStream_t stream)
{
#if VFRONT_MATCHES
    expect_k<<<vf_blocks(vf_max(s->tuning.select_points, 1), EXPECT_THREADS), EXPECT_THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}

extern "C" cudaError_t vf_match_cuda(const vf_match_view *s, cudaStream_t stream)
{
#if VFRONT_MATCHES
    const int points = vf_max(s->tuning.select_points, 1);
    search_k<<<vf_nearest_blocks(points, ROWS), VF_NEAREST_THREADS, 0, stream>>>(*s);
    list_k<<<1, VF_BLOCK, 0, stream>>>(*s);
    refine_k<<<vf_blocks(vf_min(points, VFRONT_KEYPOINTS), VF_MATCH_WARPS), VF_WARP * VF_MATCH_WARPS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
