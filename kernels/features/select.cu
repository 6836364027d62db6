/* SPDX-License-Identifier: MIT */
/* select on the GPU. Aggregation, if on, is a separate launch of small blocks, because each corner takes long.
 * Selection has one block per group of culling cells, whose threads usually hold all corners of the group in
 * registers. */
#include "kernels/block.cuh"

#include "features/select.h"

#define AGGREGATE_THREADS 64

/** Sets one bit for each culling cell whose corner aggregation keeps. One thread per cell. */
static __global__ void __launch_bounds__(AGGREGATE_THREADS) aggregate_k(const VF_CONSTANT vf_select_view s)
{
    const int camera = blockIdx.y, cell = blockIdx.x * AGGREGATE_THREADS + threadIdx.x,
              cells = s.geometry.cull_slots[camera];
    const uint64_t *best = s.detect->best[s.parity][camera];
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.x + camera);
    const uint64_t key = cell < cells ? best[cell] : 0;
    const bool kept = key && vf_select_kept(&s.geometry, &s.tuning, best, camera, key);
    const uint32_t bits = __ballot_sync(VF_ALL, kept);
    if (threadIdx.x % VF_WARP == 0 && cell < cells) s.select->kept[camera][cell / 32] = bits;
}

/** Group of culling cells of a camera. */
struct group {
    int camera, number, /* index of the group */
        first,          /* index of its first culling cell */
        cells,          /* number of its culling cells */
        output,         /* index in key[] of its first key point */
        quota;          /* most key points of the group */
};
static __device__ __forceinline__ group group_of(const vf_select_view &s, int camera, int number)
{
    const int output = s.geometry.group_first[number], cells = s.geometry.cull_slots[camera] / s.geometry.groups;
    const group g = {camera, number, number * cells, cells, output, s.geometry.group_first[number + 1] - output};
    return g;
}

/** Keys of a batch per thread. */
#define BATCH 8
/** Keys of a group's corners that aggregation keeps: each thread has those of BATCH culling cells, VF_BLOCK apart. 0:
 *  none. All loads are in flight at once. */
struct batch {
    uint64_t key[BATCH];
};
static __device__ __forceinline__ batch load_batch(const vf_select_view &s, const group &g, const uint64_t *key,
                                                   int first)
{
    const uint32_t *kept = s.select->kept[g.camera];
    const bool aggregated = vf_aggregated(&s.tuning);
    batch h;
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
        const int i = first + k * VF_BLOCK + (int)threadIdx.x;
        h.key[k] = i < g.cells ? key[i] : 0;
        if (aggregated && h.key[k] && !(kept[(g.first + i) / 32] >> (g.first + i) % 32 & 1)) h.key[k] = 0;
    }
    return h;
}

/** Numbers of keys that put_batch() writes, in shared memory. Row k of a batch consists of the k-th key of every
 *  thread. */
struct put_counts {
    int start[BATCH][VF_WARPS], /* [row][warp] number of keys that the warp writes; later: that lower warps write */
        total[BATCH],           /* [row] number of keys that all warps write */
        seconds;                /* number of keys of second best corners written so far */
};

/** Writes the keys of a batch that are at least `cut.best`, in the order of cells. With SECOND, keys of the cells'
 *  second best corners that are at least `cut.second` follow the best key of their cell. Returns the number of keys
 *  written; adds that of second best corners to count.seconds. */
template <bool SECOND>
static __device__ int put_batch(uint64_t *to, const batch &h, const batch &second, const vf_select_cut &cut,
                                put_counts &count)
{
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP;
    const auto first_votes = [&](int k) { return __ballot_sync(VF_ALL, h.key[k] >= cut.best); };
    const auto second_votes = [&](int k) { return SECOND ? __ballot_sync(VF_ALL, second.key[k] >= cut.second) : 0u; };
    int seconds = 0;
    __syncthreads(); /* other warps may still read start for the previous batch */
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
        const int own = __popc(first_votes(k)), more = __popc(second_votes(k));
        if (lane == 0) count.start[k][warp] = own + more;
        seconds += more;
    }
    if (SECOND && lane == 0 && seconds) atomicAdd(&count.seconds, seconds);
    __syncthreads();
    if (warp < BATCH) {
        const int own = count.start[warp][lane];
        int sum = own;
        for (int step = 1; step < VF_WARP; step *= 2) {
            const int other = __shfl_up_sync(VF_ALL, sum, step);
            sum += lane >= step ? other : 0;
        }
        count.start[warp][lane] = sum - own;
        if (lane == VF_WARP - 1) count.total[warp] = sum;
    }
    __syncthreads();
    int before = 0;
    const unsigned lower = (1u << lane) - 1;
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
        const unsigned voted = first_votes(k), more = second_votes(k);
        const bool taken = voted >> lane & 1;
        const int at = before + count.start[k][warp] + __popc(voted & lower) + __popc(more & lower);
        if (taken) to[at] = h.key[k];
        if (SECOND && more >> lane & 1) to[at + taken] = second.key[k];
        before += count.total[k];
    }
    return before;
}

/** Numbers of corners of a group, returned to all threads. each_key: as for vf_kth_best_key(). Called by all threads of
 *  a block. */
struct corners_count {
    uint32_t high, /* corners above the first threshold */
        all;       /* corners above either threshold */
};
template <typename EachKey> static __device__ __forceinline__ corners_count count_corners(EachKey each_key)
{
    __shared__ corners_count count;
    uint32_t high = 0, all = 0;
    each_key([&](uint64_t key) {
        high += __popc(__ballot_sync(VF_ALL, key >= VF_KEY_HIGH));
        all += __popc(__ballot_sync(VF_ALL, key != 0));
    });
    __syncthreads(); /* other warps may still read count of a previous call */
    if (threadIdx.x == 0) count.high = count.all = 0;
    __syncthreads();
    if (threadIdx.x % VF_WARP == 0) {
        atomicAdd(&count.high, high);
        atomicAdd(&count.all, all);
    }
    __syncthreads();
    return count;
}

/** Selects the key points of one group of one camera, by a block. */
static __global__ void __launch_bounds__(VF_BLOCK) select_k(const VF_CONSTANT vf_select_view s)
{
    vf_select_memory &m = *s.select;
    const group g = group_of(s, blockIdx.y, blockIdx.x);
    const uint64_t *best = s.detect->best[s.parity][g.camera] + g.first,
                   *second = s.detect->second[s.parity][g.camera] + g.first;
    const bool one_batch = g.cells <= BATCH * VF_BLOCK;
    __shared__ put_counts put;
    if (threadIdx.x == 0) put.seconds = 0;
    if (threadIdx.x == 0 && !vf_aggregated(&s.tuning)) vf_clock_start(s.clock, g.number + g.camera);
    batch h = load_batch(s, g, best, 0);
    const uint64_t *list = best; /* keys in global memory, best or second best, of which h holds a batch */
    const auto each_key = [&](auto work) {
        for (int first = 0; first < g.cells; first += BATCH * VF_BLOCK) {
            if (!one_batch) h = load_batch(s, g, list, first);
#pragma unroll
            for (int k = 0; k < BATCH; k++) work(h.key[k]);
        }
    };
    const auto turn_to = [&](const uint64_t *other) {
        if (one_batch && list != other) h = load_batch(s, g, other, 0);
        list = other;
    };

    const corners_count bests = count_corners(each_key);
    vf_group_corners n = {bests.high, bests.all, 0};
    const int filled = vf_select_filled(&s.tuning, n.high, (uint32_t)g.quota);
    if (filled) {
        turn_to(second);
        n.high_second = count_corners(each_key).high;
    }
    vf_select_cut cut = vf_select_cut_of(n, filled, (uint32_t)g.quota);
    turn_to(cut.of_second ? second : best);
    int keys, count = 0;
    (cut.of_second ? cut.second : cut.best) = vf_kth_best_key(
        each_key, [=](int) { return (int)cut.rank; }, &keys);
    turn_to(best);
    for (int first = 0; first < g.cells && g.quota; first += BATCH * VF_BLOCK) {
        uint64_t *to = m.key[g.camera] + g.output + count;
        if (!one_batch) h = load_batch(s, g, best, first);
        if (filled)
            count += put_batch<true>(to, h, load_batch(s, g, second, first), cut, put);
        else
            count += put_batch<false>(to, h, h, cut, put);
    }
    if (threadIdx.x) return;
    m.count[g.camera][g.number] = count;
    m.dropped[g.camera][g.number] = vf_select_dropped(&s.tuning, n.best, count - put.seconds);
    vf_clock_end(s.clock);
}

extern "C" cudaError_t vf_select_cuda(const vf_select_view *s, cudaStream_t stream)
{
    int cells = 0;
    for (int camera = 0; camera < s->geometry.cameras; camera++) cells = vf_max(cells, s->geometry.cull_slots[camera]);
    if (vf_aggregated(&s->tuning))
        aggregate_k<<<dim3(vf_blocks(cells, AGGREGATE_THREADS), s->geometry.cameras), AGGREGATE_THREADS, 0, stream>>>(
            *s);
    select_k<<<dim3(s->geometry.groups, s->geometry.cameras), VF_BLOCK, 0, stream>>>(*s);
    return cudaGetLastError();
}
