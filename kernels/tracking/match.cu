/* SPDX-License-Identifier: MIT */
/* match on the GPU, four launches.
 *
 * search_k  Compares a tile of this frame's key points, in shared memory, with CHUNK key points of the previous frame,
 *           OWN in the registers of each thread: each pair is compared once, for both directions. A thread keeps the
 *           best for its own; for the tile's a warp reduces its lanes' candidates, which is seldom needed, since few
 *           pairs are close enough
 * second_k  Does the same for the key points that pass the cross-check, and finds the second best, which cannot be
 *           known before the best
 * list_k    One block: roll of the picture, match list, what the next frame's prediction needs
 * settle_k  A warp a match: sub-pixel position and link, see src/tracking/match_flow.h */
#include "kernels/block.cuh"
#include "patch.cuh"

#include "tracking/match_flow.h"

#if VFRONT_MATCHES

#define THREADS 128
#define OWN 2 /* key points of the previous frame that a thread has */
#define CHUNK (OWN * THREADS)
/** Tile sizes: key points of this frame that a block has. The small one, with more blocks, is faster where the
 *  multiprocessors hold all blocks at once; the large one does less work in total. */
#ifndef VF_MATCH_TILE_SMALL
#define VF_MATCH_TILE_SMALL 8
#define VF_MATCH_TILE_LARGE 32
#endif

/** Descriptor: 256 bits. */
struct descriptor {
    uint4 low, high;
};
static __device__ __forceinline__ descriptor load_descriptor(const vfront_descriptor_t &d)
{
    VF_STATIC_ASSERT(sizeof(vfront_descriptor_t) == 32 && offsetof(vf_describe_memory, descriptor) % 16 == 0,
                     "read as 16-byte words");
    const uint4 *at = reinterpret_cast<const uint4 *>(&d);
    return descriptor{at[0], at[1]};
}

static __device__ __forceinline__ int popc(uint32_t w) { return __popc(w); }

/** Hamming distance of two descriptors. Full adders add triples of words bit by bit first, because population counts
 *  are slow. */
static __device__ __forceinline__ uint32_t hamming(const descriptor &a, const descriptor &b)
{
    const uint32_t x0 = a.low.x ^ b.low.x, x1 = a.low.y ^ b.low.y, x2 = a.low.z ^ b.low.z, x3 = a.low.w ^ b.low.w;
    const uint32_t x4 = a.high.x ^ b.high.x, x5 = a.high.y ^ b.high.y, x6 = a.high.z ^ b.high.z,
                   x7 = a.high.w ^ b.high.w;
    const uint32_t ones0 = x0 ^ x1 ^ x2, twos0 = (x0 & x1) | (x0 & x2) | (x1 & x2);
    const uint32_t ones1 = x3 ^ x4 ^ x5, twos1 = (x3 & x4) | (x3 & x5) | (x4 & x5);
    return (uint32_t)(popc(ones0) + popc(ones1) + popc(x6) + popc(x7) + 2 * (popc(twos0) + popc(twos1)));
}

#define NO_LEVEL 1000
/** Key point of the previous frame, in registers, with its predicted bearing. Level NO_LEVEL: there is none. */
struct candidate {
    descriptor word;
    float x, y, z, step, reach;
    int level;
};
static __device__ __forceinline__ candidate load_candidate(const vf_match_view &s, const struct vf_match_bounds &b,
                                                           int j, int count)
{
    candidate c = {};
    c.level = NO_LEVEL;
    if (j >= count) return c;
    const vf_point p = s.bearing->point[s.parity ^ 1][0][j];
    const vf_match_place place = vf_match_predict(&s, &b, j, p.bearing);
    c.word = load_descriptor(s.describe->descriptor[s.parity ^ 1][0][j]);
    c.x = place.bearing[0];
    c.y = place.bearing[1];
    c.z = place.bearing[2];
    c.step = p.step;
    c.reach = place.reach;
    c.level = p.level;
    return c;
}

/** Key point of this frame, in shared memory. */
struct point {
    descriptor word;
    float x, y, z, step;
    int level, index, reserved[2];
};
static __device__ __forceinline__ point load_point(const vf_match_view &s, int i)
{
    const vf_point p = s.bearing->point[s.parity][0][i];
    return point{load_descriptor(s.describe->descriptor[s.parity][0][i]),
                 p.bearing[0],
                 p.bearing[1],
                 p.bearing[2],
                 p.step,
                 p.level,
                 i,
                 {0, 0}};
}

/** Candidate test of two key points, descriptors not counted. */
template <bool GUIDED>
static __device__ __forceinline__ bool is_candidate(const struct vf_match_bounds &b, const point &p, const candidate &c)
{
    if (vf_abs(p.level - c.level) > b.levels) return false;
    return !GUIDED || vf_match_in_window(vf_match_radius2(&b, p.step > c.step ? p.step : c.step, c.reach), p.x - c.x,
                                         p.y - c.y, p.z - c.z);
}

/** Numbers of key points of this frame and of the previous one. */
static __device__ __forceinline__ int count_now(const vf_match_view &s) { return (int)s.bearing->count[s.parity][0]; }
static __device__ __forceinline__ int count_before(const vf_match_view &s)
{
    /* first frame: the memory holds another run's key points */
    return s.ingest->params.frame ? (int)s.bearing->count[s.parity ^ 1][0] : 0;
}

/** Level test of a tile against a chunk: 1 if any levels are within match_levels. Key points are in the order of their
 *  levels. */
static __device__ __forceinline__ bool levels_overlap(const vf_match_view &s, int from, int count, int first,
                                                      int before)
{
    const vf_point *now = s.bearing->point[s.parity][0], *old = s.bearing->point[s.parity ^ 1][0];
    const int last = vf_min(first + CHUNK, before) - 1, levels = s.tuning.match_levels;
    return now[from].level <= old[last].level + levels && old[first].level <= now[from + count - 1].level + levels;
}

/** Best candidates both ways. Block (x, y) compares chunk x of the previous frame with tile y of this frame. */
template <bool GUIDED, int TILE>
static __global__ void __launch_bounds__(THREADS) search_k(const VF_CONSTANT vf_match_view s)
{
    __shared__ point tile[TILE];
    __shared__ uint32_t found[TILE];
    vf_match_memory &m = *s.match;
    const int thread = threadIdx.x, first = blockIdx.x * CHUNK, from = blockIdx.y * TILE, before = count_before(s);
    const int count = vf_min(count_now(s) - from, TILE);
    if (thread == 0) vf_clock_start(s.clock, blockIdx.x + blockIdx.y);
    if (first >= before || count <= 0 || !levels_overlap(s, from, count, first, before)) return;
    const struct vf_match_bounds bounds = vf_match_bounds(&s);
    if (thread < count) {
        tile[thread] = load_point(s, from + thread);
        found[thread] = VF_NONE;
    }
    candidate own[OWN];
    uint32_t back[OWN];
#pragma unroll
    for (int k = 0; k < OWN; k++) {
        own[k] = load_candidate(s, bounds, first + k * THREADS + thread, before);
        back[k] = VF_NONE;
    }
    __syncthreads();
    for (int i = 0; i < count; i++) {
        uint32_t best = VF_NONE;
#pragma unroll
        for (int k = 0; k < OWN; k++) {
            if (!is_candidate<GUIDED>(bounds, tile[i], own[k])) continue;
            const uint32_t distance = hamming(tile[i].word, own[k].word);
            if (distance > bounds.distance) continue;
            back[k] = min(back[k], vf_packed_match(distance, from + i));
            best = min(best, vf_packed_match(distance, first + k * THREADS + thread));
        }
        if (!__any_sync(VF_ALL, best != VF_NONE)) continue;
        best = vf_warp_min(best);
        if (thread % VF_WARP == 0) atomicMin(&found[i], best);
    }
#pragma unroll
    for (int k = 0; k < OWN; k++)
        if (back[k] != VF_NONE) atomicMin(&m.back[s.parity][first + k * THREADS + thread], back[k]);
    __syncthreads();
    if (thread < count && found[thread] != VF_NONE) atomicMin(&m.found[s.parity][from + thread], found[thread]);
}

/** Cross-check of key point i of this frame. */
static __device__ __forceinline__ bool mutual(const vf_match_view &s, int i)
{
    const uint32_t found = s.match->found[s.parity][i];
    return found != VF_NONE && vf_match_mutual(found, s.match->back[s.parity][found & 0xffff], i);
}

/** Lists the key points of a tile that pass the cross-check, and their best candidates; by one warp. Returns how
 *  many. */
static __device__ __forceinline__ int list_mutual(const vf_match_view &s, int from, int count, point *tile,
                                                  vf_point *best)
{
    const int lane = threadIdx.x, i = from + lane;
    const bool listed = lane < count && mutual(s, i);
    const uint32_t lanes = __ballot_sync(VF_ALL, listed);
    const int at = __popc(lanes & ((1u << lane) - 1));
    if (listed) {
        tile[at] = load_point(s, i);
        best[at] = s.bearing->point[s.parity ^ 1][0][s.match->found[s.parity][i] & 0xffff];
    }
    return __popc(lanes);
}

/** Second best of the key points that pass the cross-check. Blocks as in search_k. */
template <bool GUIDED, int TILE>
static __global__ void __launch_bounds__(THREADS) second_k(const VF_CONSTANT vf_match_view s)
{
    VF_STATIC_ASSERT(TILE <= VF_WARP, "a lane for each key point");
    __shared__ point tile[TILE];
    __shared__ vf_point best[TILE];
    __shared__ uint32_t second[TILE];
    __shared__ int listed;
    const int thread = threadIdx.x, first = blockIdx.x * CHUNK, from = blockIdx.y * TILE, before = count_before(s);
    const int count = vf_min(count_now(s) - from, TILE);
    if (first >= before || count <= 0 || !levels_overlap(s, from, count, first, before)) return;
    const struct vf_match_bounds bounds = vf_match_bounds(&s);
    if (thread < VF_WARP) {
        const int pairs = list_mutual(s, from, count, tile, best);
        if (thread == 0) listed = pairs;
        if (thread < TILE) second[thread] = 256;
    }
    candidate own[OWN];
    vf_point place[OWN];
#pragma unroll
    for (int k = 0; k < OWN; k++) {
        const int j = first + k * THREADS + thread;
        own[k] = load_candidate(s, bounds, j, before);
        place[k] = s.bearing->point[s.parity ^ 1][0][vf_min(j, before - 1)];
    }
    __syncthreads();
    for (int i = 0; i < listed; i++) {
        uint32_t least = 256;
#pragma unroll
        for (int k = 0; k < OWN; k++)
            if (is_candidate<GUIDED>(bounds, tile[i], own[k]) && vf_points_apart(&best[i], &place[k]))
                least = min(least, hamming(tile[i].word, own[k].word));
        if (!__any_sync(VF_ALL, least < 256)) continue;
        least = vf_warp_min(least);
        if (thread % VF_WARP == 0) atomicMin(&second[i], least);
    }
    __syncthreads();
    if (thread < listed && second[thread] < 256)
        atomicMin(&s.match->second[s.parity][tile[thread].index], second[thread]);
}

/** Possible match of a key point of this frame. */
struct pair {
    uint32_t before, distance, second; /* index in the previous frame, Hamming distances */
    uint32_t change;                   /* difference of orientation, see vf_match_orientation_change() */
    bool accepted;                     /* passes cross-check and ratio test */
};
static __device__ __forceinline__ pair load_pair(const vf_match_view &s, int i, int count)
{
    const vf_match_memory &m = *s.match;
    pair p = {};
    if (i >= count || !mutual(s, i)) return p;
    p.before = m.found[s.parity][i] & 0xffff;
    p.distance = m.found[s.parity][i] >> 16;
    p.second = m.second[s.parity][i];
    p.accepted = vf_ratio_test(s.tuning.match_ratio_percent, p.distance, p.second);
    p.change = vf_match_orientation_change(s.describe->angle[s.parity][0][i],
                                           s.describe->angle[s.parity ^ 1][0][p.before]);
    return p;
}

/** Batch of pairs of a thread, of key points VF_BLOCK apart, whose loads overlap. */
#ifndef VF_MATCH_BATCH
#define VF_MATCH_BATCH 4
#endif
#define BATCH VF_MATCH_BATCH
struct batch {
    pair p[BATCH];
};
static __device__ __forceinline__ void load_batch(const vf_match_view &s, int first, int count, batch *b)
{
#pragma unroll
    for (int k = 0; k < BATCH; k++) b->p[k] = load_pair(s, first + k * VF_BLOCK + (int)threadIdx.x, count);
}

/** Roll of the picture [bins], in every thread of the block. b: the first batch, loaded; overwritten unless it is the
 *  only one. */
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

/** Lists those of a block's pairs that agree with the roll, from match[listed] on, and keeps the bearings that its key
 *  points come from. Returns how many matches. */
static __device__ __forceinline__ int list_pairs(const vf_match_view &s, const pair &p, int i, int count, int roll,
                                                 int listed)
{
    __shared__ int start[VF_WARPS + 1]; /* scratch of vf_count_before() */
    vf_match_memory &m = *s.match;
    const vf_point *before = s.bearing->point[s.parity ^ 1][0];
    const bool kept = p.accepted && vf_match_roll_agrees(&s.tuning, p.change, roll);
    int more;
    const int at = listed + vf_count_before(kept, start, &more);
    if (i < count) {
        vf_match_keep(kept ? before[p.before].bearing : NULL, m.before[s.parity][i]);
        m.link[s.parity][i] = vf_match_unlinked();
    }
    if (kept) m.match[at] = vf_match_make(&s, i, vf_packed_match(p.distance, p.before), p.second);
    return more;
}

/** Roll and match list; one block. */
static __global__ void __launch_bounds__(VF_BLOCK) list_k(const VF_CONSTANT vf_match_view s)
{
    const int count = count_now(s), thread = threadIdx.x;
    batch b;
    load_batch(s, 0, count, &b);
    const int roll = find_roll(s, count, &b);
    int listed = 0;
    for (int first = 0; first < count; first += BATCH * VF_BLOCK) {
        if (count > BATCH * VF_BLOCK) load_batch(s, first, count, &b);
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            const int i = first + k * VF_BLOCK;
            if (i < count) listed += list_pairs(s, b.p[k], i + thread, count, roll, listed);
        }
    }
    if (thread == 0) s.match->count = listed;
}

#ifndef VF_MATCH_WARPS
#define VF_MATCH_WARPS 1 /* matches of a block */
#endif

/** Positions of the matches, a warp each; and clears the candidates of the next step. */
static __global__ void __launch_bounds__(VF_WARP *VF_MATCH_WARPS) settle_k(const VF_CONSTANT vf_match_view s)
{
    vf_match_memory &m = *s.match;
    const int i = blockIdx.x * VF_MATCH_WARPS + threadIdx.x / VF_WARP;
    vf_match_clear(&m, s.parity ^ 1, blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x);
    if (i < (int)m.count) {
        vf_patch patch;
        vf_match_link link;
        const vfront_match_t settled = vf_match_settle(&patch, &s, m.match[i], &link);
        __syncwarp(); /* all lanes have read it */
        if (threadIdx.x % VF_WARP == 0) {
            m.match[i] = settled;
            m.link[s.parity][settled.keypoint] = link;
        }
    }
    if (threadIdx.x % VF_WARP == 0) vf_clock_end(s.clock);
}

template <bool GUIDED, int TILE> static void launch_search(const vf_match_view *s, int points, cudaStream_t stream)
{
    const dim3 grid(vf_blocks(points, CHUNK), vf_blocks(points, TILE));
    search_k<GUIDED, TILE><<<grid, THREADS, 0, stream>>>(*s);
    second_k<GUIDED, TILE><<<grid, THREADS, 0, stream>>>(*s);
}

#endif

extern "C" cudaError_t vf_match_cuda(const vf_match_view *s, cudaStream_t stream)
{
#if VFRONT_MATCHES
    const int points = vf_max(s->tuning.select_points, 1);
    const bool small = vf_blocks(points, CHUNK) * vf_blocks(points, VF_MATCH_TILE_SMALL) <=
                       2048 / THREADS * (unsigned)vf_multiprocessors();
    if (s->tuning.match_guided)
        small ? launch_search<true, VF_MATCH_TILE_SMALL>(s, points, stream)
              : launch_search<true, VF_MATCH_TILE_LARGE>(s, points, stream);
    else
        small ? launch_search<false, VF_MATCH_TILE_SMALL>(s, points, stream)
              : launch_search<false, VF_MATCH_TILE_LARGE>(s, points, stream);
    list_k<<<1, VF_BLOCK, 0, stream>>>(*s);
    settle_k<<<vf_blocks(vf_min(points, VFRONT_KEYPOINTS), VF_MATCH_WARPS), VF_WARP * VF_MATCH_WARPS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
