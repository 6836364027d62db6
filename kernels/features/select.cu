/* SPDX-License-Identifier: MIT */
/* select on the GPU. Aggregation, where the tuning asks for it, is a launch of its own, in small blocks, because each
 * corner takes long. The selection is one block for each group; its threads mostly hold all of the group's corners in
 * registers. */
#include "kernels/block.cuh"

#include "features/select.h"

#define AGGREGATE_THREADS 64

/** Sets the bits of the culling cells whose corners aggregation keeps; a thread a cell. */
static __global__ void __launch_bounds__(AGGREGATE_THREADS) aggregate_k(const VF_CONSTANT vf_select_view s)
{
    const int camera = blockIdx.y, cell = blockIdx.x * AGGREGATE_THREADS + threadIdx.x,
              cells = s.geometry.places[camera];
    const uint64_t *best = s.detect->best[s.parity][camera];
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.x + camera);
    const uint64_t key = cell < cells ? best[cell] : 0;
    const bool kept = key && vf_select_kept(&s.geometry, &s.tuning, best, camera, key);
    const uint32_t bits = __ballot_sync(VF_ALL, kept);
    if (threadIdx.x % VF_WARP == 0 && cell < cells) s.select->kept[camera][cell / 32] = bits;
}

/** Group of a camera: its culling cells from `first` on; index in key[] of its first key point; its quota. */
struct group {
    int camera, number, first, cells, output, quota;
};
static __device__ __forceinline__ group group_of(const vf_select_view &s, int camera, int number)
{
    const int output = s.geometry.group_first[number], cells = s.geometry.places[camera] / s.geometry.groups;
    const group g = {camera, number, number * cells, cells, output, s.geometry.group_first[number + 1] - output};
    return g;
}

/** Batch of a group's corners that aggregation keeps, eight a thread, of cells VF_BLOCK apart; all eight loads are in
 *  flight at once. */
#define BATCH 8
struct batch {
    uint64_t key[BATCH];
};
static __device__ __forceinline__ batch load_batch(const vf_select_view &s, const group &g, int first)
{
    const uint64_t *best = s.detect->best[s.parity][g.camera] + g.first;
    const uint32_t *kept = s.select->kept[g.camera];
    const bool aggregated = vf_aggregated(&s.tuning);
    batch h;
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
        const int i = first + k * VF_BLOCK + (int)threadIdx.x;
        h.key[k] = i < g.cells ? best[i] : 0;
        if (aggregated && h.key[k] && !(kept[(g.first + i) / 32] >> (g.first + i) % 32 & 1)) h.key[k] = 0;
    }
    return h;
}

/** Write the keys of a batch that are at least `least`, in order. Returns their number. */
static __device__ int put_batch(uint64_t *to, const batch &h, uint64_t least)
{
    __shared__ int start[BATCH][VF_WARPS], total[BATCH];
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP;
    unsigned voted[BATCH];
    __syncthreads(); /* start may still be in use for the previous batch */
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
        voted[k] = __ballot_sync(VF_ALL, h.key[k] >= least);
        if (lane == 0) start[k][warp] = __popc(voted[k]);
    }
    __syncthreads();
    if (warp < BATCH) {
        const int own = start[warp][lane];
        int sum = own;
        for (int step = 1; step < VF_WARP; step *= 2) {
            const int other = __shfl_up_sync(VF_ALL, sum, step);
            sum += lane >= step ? other : 0;
        }
        start[warp][lane] = sum - own;
        if (lane == VF_WARP - 1) total[warp] = sum;
    }
    __syncthreads();
    int before = 0;
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
        if (h.key[k] >= least) to[before + start[k][warp] + __popc(voted[k] & ((1u << lane) - 1))] = h.key[k];
        before += total[k];
    }
    return before;
}

/** A block: one group of one camera. */
static __global__ void __launch_bounds__(VF_BLOCK) select_k(const VF_CONSTANT vf_select_view s)
{
    vf_select_memory &m = *s.select;
    const group g = group_of(s, blockIdx.y, blockIdx.x);
    const bool one_batch = g.cells <= BATCH * VF_BLOCK;
    if (threadIdx.x == 0 && !vf_aggregated(&s.tuning)) vf_clock_start(s.clock, g.number + g.camera);
    batch h = load_batch(s, g, 0);
    const auto each_key = [&](auto work) {
        for (int first = 0; first < g.cells; first += BATCH * VF_BLOCK) {
            if (!one_batch) h = load_batch(s, g, first);
#pragma unroll
            for (int k = 0; k < BATCH; k++) work(h.key[k]);
        }
    };
    int found, count = 0;
    const uint64_t least = vf_kth_best_key(
        each_key, [=](int) { return g.quota; }, &found);
    for (int first = 0; first < g.cells && g.quota; first += BATCH * VF_BLOCK) {
        if (!one_batch) h = load_batch(s, g, first);
        count += put_batch(m.key[g.camera] + g.output + count, h, least);
    }
    if (threadIdx.x) return;
    m.count[g.camera][g.number] = count;
    m.dropped[g.camera][g.number] = vf_select_dropped(&s.tuning, found, g.quota);
    vf_clock_end(s.clock);
}

extern "C" cudaError_t vf_select_cuda(const vf_select_view *s, cudaStream_t stream)
{
    int cells = 0;
    for (int camera = 0; camera < s->geometry.cameras; camera++) cells = vf_max(cells, s->geometry.places[camera]);
    if (vf_aggregated(&s->tuning))
        aggregate_k<<<dim3(vf_blocks(cells, AGGREGATE_THREADS), s->geometry.cameras), AGGREGATE_THREADS, 0, stream>>>(
            *s);
    select_k<<<dim3(s->geometry.groups, s->geometry.cameras), VF_BLOCK, 0, stream>>>(*s);
    return cudaGetLastError();
}
