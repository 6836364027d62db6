/* SPDX-License-Identifier: MIT */
/* match on the GPU, four launches. In the first, blocks compare some points of this frame, in shared memory, with some of the frame
 * before, two of them in the registers of each thread: so each pair is compared once, for both. A thread knows the best for its own
 * two; for the others a warp agrees on one, and since few pairs are close enough, it seldom has to. The second does the same for the
 * points that found each other, and looks for the next best, which cannot be known before the best is. In the third one block finds out
 * how the picture turned and lists the pairs. In the last a warp has a match, and finds its place. */
#include "kernels/block.cuh"
#include "patch.cuh"

#include "tracking/match_flow.h"

#if VFRONT_MATCHES

#define THREADS 128
#define OWN 2 /* points of the frame before that a thread has */
#define CHUNK (OWN * THREADS)
/** Points of this frame that a block has. Where the multiprocessors hold all blocks at once, few end sooner; else many do less in all. */
#ifndef VF_MATCH_FEW
#define VF_MATCH_FEW 8
#define VF_MATCH_MANY 32
#endif

/** Bits of a descriptor. */
struct bits {
    uint4 low, high;
};
static __device__ __forceinline__ bits load_bits(const vfront_descriptor_t &d)
{
    VF_STATIC_ASSERT(sizeof(vfront_descriptor_t) == 32 && offsetof(vf_describe_memory, descriptor) % 16 == 0,
                     "read in sixteens");
    const uint4 *at = reinterpret_cast<const uint4 *>(&d);
    return bits{at[0], at[1]};
}

static __device__ __forceinline__ int popc(uint32_t w) { return __popc(w); }

/** Bits in which two differ. Triples of words are added bit by bit first, because counting bits is slow. */
static __device__ __forceinline__ uint32_t apart(const bits &a, const bits &b)
{
    const uint32_t x0 = a.low.x ^ b.low.x, x1 = a.low.y ^ b.low.y, x2 = a.low.z ^ b.low.z, x3 = a.low.w ^ b.low.w;
    const uint32_t x4 = a.high.x ^ b.high.x, x5 = a.high.y ^ b.high.y, x6 = a.high.z ^ b.high.z,
                   x7 = a.high.w ^ b.high.w;
    const uint32_t ones0 = x0 ^ x1 ^ x2, twos0 = (x0 & x1) | (x0 & x2) | (x1 & x2);
    const uint32_t ones1 = x3 ^ x4 ^ x5, twos1 = (x3 & x4) | (x3 & x5) | (x4 & x5);
    return (uint32_t)(popc(ones0) + popc(ones1) + popc(x6) + popc(x7) + 2 * (popc(twos0) + popc(twos1)));
}

/** A point of the frame before, in registers. A level that no partner has: there is no point. */
struct candidate {
    bits word;
    float x, y, z, reach;
    int level;
};
static __device__ __forceinline__ candidate load_candidate(const vf_step &s, const struct vf_match_bounds &b, int j,
                                                           int count)
{
    candidate c = {};
    c.level = 1000;
    if (j >= count) return c;
    const vf_point p = s.memory->bearing.point[s.parity ^ 1][0][j];
    float at[3];
    vf_match_expect(&s.memory->ingest.params, p.bearing, s.memory->match.expected[s.parity ^ 1][j], at);
    c.word = load_bits(s.memory->describe.descriptor[s.parity ^ 1][0][j]);
    c.x = at[0];
    c.y = at[1];
    c.z = at[2];
    c.reach = vf_match_reach(b.window, p.step);
    c.level = p.level;
    return c;
}

/** A point of this frame, in shared memory. */
struct point {
    bits word;
    float x, y, z, reach;
    int level, index, reserved[2];
};
static __device__ __forceinline__ point load_point(const vf_step &s, const struct vf_match_bounds &b, int i)
{
    const vf_point p = s.memory->bearing.point[s.parity][0][i];
    const float reach = vf_match_reach(b.window, p.step);
    return point{load_bits(s.memory->describe.descriptor[s.parity][0][i]),
                 p.bearing[0],
                 p.bearing[1],
                 p.bearing[2],
                 reach,
                 p.level,
                 i,
                 {0, 0}};
}

/** Whether two may be partners, their descriptors apart. */
template <bool GUIDED>
static __device__ __forceinline__ bool may(const struct vf_match_bounds &b, const point &p, const candidate &c)
{
    if (vf_abs(p.level - c.level) > b.levels) return false;
    return !GUIDED || vf_match_near(p.reach > c.reach ? p.reach : c.reach, p.x - c.x, p.y - c.y, p.z - c.z);
}

/** Points of this frame and of the one before. */
static __device__ __forceinline__ int count_now(const vf_step &s) { return (int)s.memory->bearing.count[s.parity][0]; }
static __device__ __forceinline__ int count_before(const vf_step &s)
{
    return s.memory->ingest.params.frame ? (int)s.memory->bearing.count[s.parity ^ 1][0]
                                         : 0; /* what lies there is from before the reset */
}

/** Whether any of some points of this frame and some of the frame before are near enough in level. Points are by rising level. */
static __device__ __forceinline__ bool any_level(const vf_step &s, int from, int count, int first, int before)
{
    const vf_point *now = s.memory->bearing.point[s.parity][0], *old = s.memory->bearing.point[s.parity ^ 1][0];
    const int last = vf_min(first + CHUNK, before) - 1, levels = s.tuning.match_levels;
    return now[from].level <= old[last].level + levels && old[first].level <= now[from + count - 1].level + levels;
}

template <bool GUIDED, int TILE> static __global__ void __launch_bounds__(THREADS) search_k(const vf_step s)
{
    __shared__ point tile[TILE];
    __shared__ uint32_t found[TILE];
    vf_match_memory &m = s.memory->match;
    const int thread = threadIdx.x, first = blockIdx.x * CHUNK, from = blockIdx.y * TILE, before = count_before(s);
    const int count = vf_min(count_now(s) - from, TILE);
    if (thread == 0) vf_clock_start(s, VF_match, blockIdx.x + blockIdx.y);
    if (first >= before || count <= 0 || !any_level(s, from, count, first, before)) return;
    const struct vf_match_bounds bounds = vf_match_bounds(&s);
    if (thread < count) {
        tile[thread] = load_point(s, bounds, from + thread);
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
            if (!may<GUIDED>(bounds, tile[i], own[k])) continue;
            const uint32_t distance = apart(tile[i].word, own[k].word);
            if (distance > bounds.distance) continue;
            back[k] = min(back[k], vf_partner(distance, from + i));
            best = min(best, vf_partner(distance, first + k * THREADS + thread));
        }
        if (!__any_sync(VF_ALL, best != VF_NONE)) continue;
        best = vf_warp_min(best);
        if (thread % VF_WARP == 0) atomicMin(&found[i], best);
    }
#pragma unroll
    for (int k = 0; k < OWN; k++)
        if (back[k] != VF_NONE) atomicMin(&m.back[first + k * THREADS + thread], back[k]);
    __syncthreads();
    if (thread < count && found[thread] != VF_NONE) atomicMin(&m.found[from + thread], found[thread]);
}

/** Whether a point and what it found found each other. */
static __device__ __forceinline__ bool mutual(const vf_match_memory &m, int i)
{
    const uint32_t found = m.found[i];
    return found != VF_NONE && vf_match_mutual(found, m.back[found & 0xffff], i);
}

/** Lists those points of a tile that found each other with another one, and these; by one warp. Returns how many. */
static __device__ __forceinline__ int list_mutual(const vf_step &s, const struct vf_match_bounds &b, int from,
                                                  int count, point *tile, vf_point *best)
{
    const int lane = threadIdx.x, i = from + lane;
    const bool listed = lane < count && mutual(s.memory->match, i);
    const uint32_t who = __ballot_sync(VF_ALL, listed);
    const int at = __popc(who & ((1u << lane) - 1));
    if (listed) {
        tile[at] = load_point(s, b, i);
        best[at] = s.memory->bearing.point[s.parity ^ 1][0][s.memory->match.found[i] & 0xffff];
    }
    return __popc(who);
}

template <bool GUIDED, int TILE> static __global__ void __launch_bounds__(THREADS) second_k(const vf_step s)
{
    VF_STATIC_ASSERT(TILE <= VF_WARP, "a lane a point");
    __shared__ point tile[TILE];
    __shared__ vf_point best[TILE];
    __shared__ uint32_t second[TILE];
    __shared__ int listed;
    const int thread = threadIdx.x, first = blockIdx.x * CHUNK, from = blockIdx.y * TILE, before = count_before(s);
    const int count = vf_min(count_now(s) - from, TILE);
    if (first >= before || count <= 0 || !any_level(s, from, count, first, before)) return;
    const struct vf_match_bounds bounds = vf_match_bounds(&s);
    if (thread < VF_WARP) {
        const int pairs = list_mutual(s, bounds, from, count, tile, best);
        if (thread == 0) listed = pairs;
        if (thread < TILE) second[thread] = 256;
    }
    candidate own[OWN];
    vf_point place[OWN];
#pragma unroll
    for (int k = 0; k < OWN; k++) {
        const int j = first + k * THREADS + thread;
        own[k] = load_candidate(s, bounds, j, before);
        place[k] = s.memory->bearing.point[s.parity ^ 1][0][vf_min(j, before - 1)];
    }
    __syncthreads();
    for (int i = 0; i < listed; i++) {
        uint32_t least = 256;
#pragma unroll
        for (int k = 0; k < OWN; k++)
            if (may<GUIDED>(bounds, tile[i], own[k]) && vf_elsewhere(&best[i], &place[k]))
                least = min(least, apart(tile[i].word, own[k].word));
        if (!__any_sync(VF_ALL, least < 256)) continue;
        least = vf_warp_min(least);
        if (thread % VF_WARP == 0) atomicMin(&second[i], least);
    }
    __syncthreads();
    if (thread < listed && second[thread] < 256) atomicMin(&s.memory->match.second[tile[thread].index], second[thread]);
}

/** A point of this frame and what it found. */
struct pair {
    uint32_t partner, distance, second, turned;
    bool stands; /* its turn apart, that is its partner */
};
static __device__ __forceinline__ pair load_pair(const vf_step &s, int i, int count)
{
    const vf_match_memory &m = s.memory->match;
    pair p = {};
    if (i >= count || !mutual(m, i)) return p;
    p.partner = m.found[i] & 0xffff;
    p.distance = m.found[i] >> 16;
    p.second = m.second[i];
    p.stands = vf_stands_out(&s.tuning, p.distance, p.second);
    p.turned = vf_match_turned(s.memory->describe.angle[s.parity][0][i],
                               s.memory->describe.angle[s.parity ^ 1][0][p.partner]);
    return p;
}

/** Some pairs a thread, of points a block apart, all of them on their way at once. */
#ifndef VF_MATCH_HANDFUL
#define VF_MATCH_HANDFUL 4
#endif
#define HANDFUL VF_MATCH_HANDFUL
struct handful {
    pair p[HANDFUL];
};
static __device__ __forceinline__ void load_handful(const vf_step &s, int first, int count, handful *h)
{
#pragma unroll
    for (int k = 0; k < HANDFUL; k++) h->p[k] = load_pair(s, first + k * VF_BLOCK + (int)threadIdx.x, count);
}

/** By how many bins the picture turned, in every thread of the block. h: the first handful; left alone when it is the only one. */
static __device__ __forceinline__ int turn_of_all(const vf_step &s, int count, handful *h)
{
    __shared__ int bin[VF_TURNS];
    __shared__ uint32_t best;
    const int thread = threadIdx.x;
    if (thread < VF_TURNS) bin[thread] = 0;
    if (thread == 0) best = 0;
    __syncthreads();
    for (int first = 0; first < count; first += HANDFUL * VF_BLOCK) {
        if (first) load_handful(s, first, count, h);
#pragma unroll
        for (int k = 0; k < HANDFUL; k++) vf_add_to_bins(bin, h->p[k].stands ? vf_match_bin(h->p[k].turned) : -1);
    }
    __syncthreads();
    if (thread < VF_TURNS) {
        const uint32_t most = ~vf_warp_min(~vf_match_tent(bin, thread));
        if (thread % VF_WARP == 0) atomicMax(&best, most);
    }
    __syncthreads();
    return vf_match_top(best);
}

/** Lists a block's pairs, if they turned with the picture, from match[listed] on, and says where its points go. Returns how many. */
static __device__ __forceinline__ int list_pairs(const vf_step &s, const pair &p, int i, int count, int top, int listed)
{
    __shared__ int start[VF_WARPS + 1];
    vf_match_memory &m = s.memory->match;
    const vf_point *now = s.memory->bearing.point[s.parity][0], *before = s.memory->bearing.point[s.parity ^ 1][0];
    const bool kept = p.stands && vf_match_turns(&s.tuning, p.turned, top);
    int more;
    const int at = listed + vf_count_before(kept, start, &more);
    if (i < count) vf_match_go_on(now[i].bearing, kept ? before[p.partner].bearing : NULL, m.expected[s.parity][i]);
    if (kept) m.match[at] = vf_match_of(i, vf_partner(p.distance, p.partner), p.second);
    return more;
}

static __global__ void __launch_bounds__(VF_BLOCK) list_k(const vf_step s)
{
    const int count = count_now(s), thread = threadIdx.x;
    handful h;
    load_handful(s, 0, count, &h);
    const int top = turn_of_all(s, count, &h);
    int listed = 0;
    for (int first = 0; first < count; first += HANDFUL * VF_BLOCK) {
        if (count > HANDFUL * VF_BLOCK) load_handful(s, first, count, &h);
#pragma unroll
        for (int k = 0; k < HANDFUL; k++) {
            const int i = first + k * VF_BLOCK;
            if (i < count) listed += list_pairs(s, h.p[k], i + thread, count, top, listed);
        }
    }
    if (thread == 0) s.memory->match.count = listed;
}

#ifndef VF_MATCH_WARPS
#define VF_MATCH_WARPS 1 /* matches a block */
#endif

static __global__ void __launch_bounds__(VF_WARP *VF_MATCH_WARPS) settle_k(const vf_step s)
{
    vf_match_memory &m = s.memory->match;
    const int i = blockIdx.x * VF_MATCH_WARPS + threadIdx.x / VF_WARP;
    if (i < (int)m.count) {
        vf_patch patch;
        const vfront_match_t settled = vf_match_settle(&patch, &s, m.match[i]);
        __syncwarp(); /* all lanes have read it */
        if (threadIdx.x % VF_WARP == 0) m.match[i] = settled;
    }
    if (threadIdx.x % VF_WARP == 0) vf_clock_end(s, VF_match);
}

template <bool GUIDED, int TILE> static void compare(const vf_step *s, int points, cudaStream_t stream)
{
    const dim3 grid(vf_blocks(points, CHUNK), vf_blocks(points, TILE));
    search_k<GUIDED, TILE><<<grid, THREADS, 0, stream>>>(*s);
    second_k<GUIDED, TILE><<<grid, THREADS, 0, stream>>>(*s);
}

#endif

extern "C" cudaError_t vf_match_cuda(const vf_step *s, cudaStream_t stream)
{
#if VFRONT_MATCHES
    if (!vf_match_on(s)) return cudaSuccess;
    const int points = vf_max(s->tuning.select_points, 1);
    const bool few = vf_blocks(points, CHUNK) * vf_blocks(points, VF_MATCH_FEW) <=
                     2048 / THREADS * (unsigned)vf_multiprocessors();
    if (s->tuning.match_guided)
        few ? compare<true, VF_MATCH_FEW>(s, points, stream) : compare<true, VF_MATCH_MANY>(s, points, stream);
    else
        few ? compare<false, VF_MATCH_FEW>(s, points, stream) : compare<false, VF_MATCH_MANY>(s, points, stream);
    list_k<<<1, VF_BLOCK, 0, stream>>>(*s);
    settle_k<<<vf_blocks(vf_min(points, VFRONT_KEYPOINTS), VF_MATCH_WARPS), VF_WARP * VF_MATCH_WARPS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
