/* SPDX-License-Identifier: MIT */
/* select on the GPU. Aggregation, where it is asked for, is a launch of its own, of small blocks, because it has a lot to do for each corner.
 * In the other a block has a group, whose corners its threads mostly hold in registers. */
#include "kernels/block.cuh"

#include "features/select.h"

#define AGGREGATE_THREADS 64

static __global__ void __launch_bounds__(AGGREGATE_THREADS) aggregate_k(const vf_step s)
{
    const int camera = blockIdx.y, place = blockIdx.x * AGGREGATE_THREADS + threadIdx.x, places = vf_places(&s, camera);
    const uint64_t *best = s.memory->detect.best[camera];
    if (threadIdx.x == 0) vf_clock_start(s, VF_select, blockIdx.x + camera);
    const uint64_t key = place < places ? best[place] : 0;
    const bool stays = key && vf_select_stays(&s.geometry, &s.tuning, best, camera, key);
    const uint32_t bits = __ballot_sync(VF_ALL, stays);
    if (threadIdx.x % VF_WARP == 0 && place < places) s.memory->select.stays[camera][place / 32] = bits;
}

/** A group of a camera: its places from `first` on, and its slots. */
struct group {
    int camera, number, first, places, slot, slots;
};
static __device__ __forceinline__ group group_of(const vf_step &s, int camera, int number)
{
    const int slot = vf_first_slot(&s, number), places = vf_group_places(&s, camera);
    const group g = {camera, number, number * places, places, slot, vf_first_slot(&s, number + 1) - slot};
    return g;
}

/** Some of a group's corners that aggregation leaves, eight a thread: of places a block apart, all of them on their way at once. */
#define HANDFUL 8
struct handful {
    uint64_t key[HANDFUL];
};
static __device__ __forceinline__ handful load_handful(const vf_step &s, const group &g, int first)
{
    const uint64_t *best = s.memory->detect.best[g.camera] + g.first;
    const uint32_t *stays = s.memory->select.stays[g.camera];
    const bool aggregated = vf_aggregated(&s.tuning);
    handful h;
#pragma unroll
    for (int k = 0; k < HANDFUL; k++) {
        const int i = first + k * VF_BLOCK + (int)threadIdx.x;
        h.key[k] = i < g.places ? best[i] : 0;
        if (aggregated && h.key[k] && !(stays[(g.first + i) / 32] >> (g.first + i) % 32 & 1)) h.key[k] = 0;
    }
    return h;
}

/** Writes the keys of a handful that reach `least`, in order. Returns how many. */
static __device__ int put_handful(uint64_t *to, const handful &h, uint64_t least)
{
    __shared__ int start[HANDFUL][VF_WARPS], whole[HANDFUL];
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP;
    unsigned who[HANDFUL];
    __syncthreads(); /* start may still be read for the handful before */
#pragma unroll
    for (int k = 0; k < HANDFUL; k++) {
        who[k] = __ballot_sync(VF_ALL, h.key[k] >= least);
        if (lane == 0) start[k][warp] = __popc(who[k]);
    }
    __syncthreads();
    if (warp < HANDFUL) {
        const int mine = start[warp][lane];
        int upto = mine;
        for (int step = 1; step < VF_WARP; step *= 2) {
            const int other = __shfl_up_sync(VF_ALL, upto, step);
            upto += lane >= step ? other : 0;
        }
        start[warp][lane] = upto - mine;
        if (lane == VF_WARP - 1) whole[warp] = upto;
    }
    __syncthreads();
    int before = 0;
#pragma unroll
    for (int k = 0; k < HANDFUL; k++) {
        if (h.key[k] >= least) to[before + start[k][warp] + __popc(who[k] & ((1u << lane) - 1))] = h.key[k];
        before += whole[k];
    }
    return before;
}

static __global__ void __launch_bounds__(VF_BLOCK) select_k(const vf_step s)
{
    vf_select_memory &m = s.memory->select;
    const group g = group_of(s, blockIdx.y, blockIdx.x);
    const bool one_handful = g.places <= HANDFUL * VF_BLOCK;
    if (threadIdx.x == 0 && !vf_aggregated(&s.tuning)) vf_clock_start(s, VF_select, g.number + g.camera);
    handful h = load_handful(s, g, 0);
    const auto each_key = [&](auto work) {
        for (int first = 0; first < g.places; first += HANDFUL * VF_BLOCK) {
            if (!one_handful) h = load_handful(s, g, first);
#pragma unroll
            for (int k = 0; k < HANDFUL; k++) work(h.key[k]);
        }
    };
    int found, count = 0;
    const uint64_t least = vf_least_wanted(
        each_key, [=](int) { return g.slots; }, &found);
    for (int first = 0; first < g.places && g.slots; first += HANDFUL * VF_BLOCK) {
        if (!one_handful) h = load_handful(s, g, first);
        count += put_handful(m.key[g.camera] + g.slot + count, h, least);
    }
    if (threadIdx.x) return;
    m.count[g.camera][g.number] = count;
    m.dropped[g.camera][g.number] = vf_select_dropped(&s.tuning, found, g.slots);
    vf_clock_end(s, VF_select);
}

extern "C" cudaError_t vf_select_cuda(const vf_step *s, cudaStream_t stream)
{
    int places = 0;
    for (int camera = 0; camera < s->geometry.cameras; camera++) places = vf_max(places, vf_places(s, camera));
    if (vf_aggregated(&s->tuning))
        aggregate_k<<<dim3(vf_blocks(places, AGGREGATE_THREADS), s->geometry.cameras), AGGREGATE_THREADS, 0, stream>>>(
            *s);
    select_k<<<dim3(vf_groups(s), s->geometry.cameras), VF_BLOCK, 0, stream>>>(*s);
    return cudaGetLastError();
}
