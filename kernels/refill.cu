/* SPDX-License-Identifier: MIT */
/* refill on the GPU: one block, a few hundred items each of which asks all others. */
#include "kernel.cuh"

#include "../src/refill.h"

#define THREADS 1024
#define WARPS (THREADS / VF_WARP)
#define BINS 256 /* of the radix select: eight bits */

/** Number of true flags in threads before this one; *total: in the whole block. All threads call it. */
static __device__ int count_before(bool flag, int *warp_count, int *total)
{
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP;
    const unsigned who = __ballot_sync(VF_ALL, flag);
    __syncthreads(); /* warp_count may still be read from the call before */
    if (lane == 0) warp_count[warp] = __popc(who);
    __syncthreads();
    int before = 0, all = 0;
    for (int w = 0; w < WARPS; w++) {
        before += w < warp ? warp_count[w] : 0;
        all += warp_count[w];
    }
    *total = all;
    return before + __popc(who & ((1u << lane) - 1));
}

/** Live features, as far as corners ask for them. */
struct live_features {
    int32_t x_q16[VFRONT_TRACKS], y_q16[VFRONT_TRACKS];
    uint32_t occupied[(VFRONT_CELLS + 31) / 32]; /* a bit a cell */
    uint16_t free_slot[VFRONT_TRACKS];
    uint8_t used[VFRONT_TRACKS];
    int count;
};

/** Splits the moved features as the host form does. */
static __device__ void part(const vf_step &s, int count, live_features &live, int *warp_count)
{
    vf_track_memory &m = s.memory->track;
    vf_refill_memory &r = s.memory->refill;
    const int i = threadIdx.x;
    if (i < VFRONT_TRACKS) live.used[i] = 0;
    for (int w = i; w < (VFRONT_CELLS + 31) / 32; w += THREADS) live.occupied[w] = 0;
    if (i < VFRONT_ENDS) r.ended[i] = 0;
    const int end = i < count ? m.moved[i].end : 0;
    int alive_total, ended_total;
    const int alive_before = count_before(i < count && !end, warp_count, &alive_total);
    const int ended_before = count_before(end != 0, warp_count, &ended_total);
    if (i < count && end) {
        r.lost[ended_before] = i;
        atomicAdd(&r.ended[end], 1u);
    } else if (i < count) {
        const vf_feature f = m.moved[i];
        m.feature[s.parity][alive_before] = f;
        live.x_q16[alive_before] = f.x_q16;
        live.y_q16[alive_before] = f.y_q16;
        const int cell = vf_refill_cell(&s.geometry, &s.tuning, f.x_q16, f.y_q16);
        atomicOr(&live.occupied[cell / 32], 1u << cell % 32);
        live.used[f.slot] = 1;
    }
    if (i == 0) {
        live.count = alive_total;
        r.lost_count = ended_total;
        r.followed = alive_total;
    }
    __syncthreads();
}

static __device__ bool clear_of_features(const vf_step &s, const live_features &live, const vf_place &p)
{
    bool clear = true;
    for (int i = 0; i < live.count; i++)
        clear = clear && !vf_refill_near(&s.tuning, live.x_q16[i], live.y_q16[i], p.x_q16, p.y_q16);
    return clear;
}

static __device__ bool clear_of_corners(const vf_step &s, const vf_place &p, uint64_t key)
{
    const vf_geometry &g = s.geometry;
    const int reach_x = vf_refill_reach(s.tuning.track_distance_px, s.tuning.cell_width_px);
    const int reach_y = vf_refill_reach(s.tuning.track_distance_px, s.tuning.cell_height_px);
    const int cx = p.cell % g.cells_x[0], cy = p.cell / g.cells_x[0];
    for (int y = vf_max(cy - reach_y, 0); y <= vf_min(cy + reach_y, g.cells_y[0] - 1); y++)
        for (int x = vf_max(cx - reach_x, 0); x <= vf_min(cx + reach_x, g.cells_x[0] - 1); x++) {
            const uint64_t other = s.memory->detect.best[0][y * g.cells_x[0] + x];
            if (other <= key) continue;
            const vf_place q = vf_refill_place(&g, &s.tuning, vf_detect_corner(other));
            if (vf_refill_near(&s.tuning, q.x_q16, q.y_q16, p.x_q16, p.y_q16)) return false;
        }
    return true;
}

/** By the first warp: the bin, counted from the top, in which the `left`-th key lies, and how many lie above that bin. */
static __device__ void find_bin(const int *bin, int left, int *chosen, int *above)
{
    enum { MINE = BINS / VF_WARP };
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
            *chosen = lane * MINE + i;
            *above = more;
            return;
        }
        more += here;
    }
}

/** The least key among the `wanted` best candidates: a radix select, eight bits at a time from the top. */
static __device__ uint64_t least_wanted(const vf_step &s, int cells, int wanted)
{
    __shared__ int bin[BINS];
    __shared__ int chosen, above;
    uint64_t prefix = 0;
    int left = wanted; /* of the keys that share the prefix, this many are wanted */
    for (int shift = (VF_KEY_BITS - 1) / 8 * 8; shift >= 0; shift -= 8) {
        if (threadIdx.x < BINS) bin[threadIdx.x] = 0;
        __syncthreads();
        for (int cell = threadIdx.x; cell < cells; cell += THREADS) {
            const uint64_t key = s.memory->refill.candidate[cell];
            if (key && key >> (shift + 8) == prefix) atomicAdd(&bin[key >> shift & (BINS - 1)], 1);
        }
        __syncthreads();
        if (threadIdx.x < VF_WARP) find_bin(bin, left, &chosen, &above);
        __syncthreads();
        prefix = prefix << 8 | (uint64_t)chosen;
        left -= above;
    }
    return prefix;
}

/** Lists the cells that have a corner and no feature, so that what follows keeps its lanes busy. Others are no candidates. */
static __device__ int list_cells(const vf_step &s, const live_features &live, int cells, uint16_t *list, int *warp_count)
{
    int listed = 0;
    for (int first = 0; first < cells; first += THREADS) {
        const int cell = first + threadIdx.x;
        const bool has = cell < cells && s.memory->detect.best[0][cell] && !(live.occupied[cell / 32] >> cell % 32 & 1);
        int total;
        const int at = listed + count_before(has, warp_count, &total);
        if (has)
            list[at] = (uint16_t)cell;
        else if (cell < cells)
            s.memory->refill.candidate[cell] = 0;
        listed += total;
    }
    __syncthreads();
    return listed;
}

static __global__ void __launch_bounds__(THREADS) refill_k(const vf_step s)
{
    __shared__ live_features live;
    __shared__ int warp_count[WARPS];
    __shared__ uint16_t list[VFRONT_CELLS];
    __shared__ int found;
    vf_track_memory &m = s.memory->track;
    vf_refill_memory &r = s.memory->refill;
    const int thread = threadIdx.x, cells = s.geometry.cells_x[0] * s.geometry.cells_y[0];
    if (thread == 0) {
        vf_clock_start(s, VF_refill, 0);
        found = 0;
    }
    const vf_census before = vf_refill_before(s.memory->ingest.params.frame, &m.census[s.parity ^ 1]);
    part(s, before.count, live, warp_count);

    const int wanted = vf_refill_wanted(&s.tuning, live.count);
    const int listed = wanted ? list_cells(s, live, cells, list, warp_count) : 0;
    for (int i = thread; i < listed; i += THREADS) {
        const int cell = list[i];
        const uint64_t key = s.memory->detect.best[0][cell];
        const vf_place p = vf_refill_place(&s.geometry, &s.tuning, vf_detect_corner(key));
        const bool fit = clear_of_features(s, live, p) && clear_of_corners(s, p, key);
        r.candidate[cell] = fit ? key : 0;
        if (fit) atomicAdd(&found, 1);
    }
    __syncthreads();

    const uint64_t least = found > wanted ? least_wanted(s, cells, wanted) : 1;
    int slots, born = 0;
    const bool is_free = thread < VFRONT_TRACKS && !live.used[thread];
    const int free_before = count_before(is_free, warp_count, &slots);
    if (is_free) live.free_slot[free_before] = (uint16_t)thread;
    for (int first = 0; found && first < cells; first += THREADS) {
        const int cell = first + thread;
        const uint64_t key = cell < cells ? r.candidate[cell] : 0;
        int total;
        const int nth = born + count_before(key && key >= least, warp_count, &total);
        if (key && key >= least)
            m.feature[s.parity][live.count + nth] =
                vf_refill_born(&s.geometry, &s.tuning, key, before.ids + nth + 1, live.free_slot[nth]);
        born += total;
    }
    if (thread == 0) {
        r.born = born;
        r.overflow = found > wanted ? found - wanted : 0;
        m.census[s.parity] = vf_refill_census(&before, live.count, born);
        vf_clock_end(s, VF_refill);
    }
}

extern "C" cudaError_t vf_refill_cuda(const vf_step *s, cudaStream_t stream)
{
    refill_k<<<1, THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
}
