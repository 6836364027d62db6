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

/** Counts of put_batch(), in shared memory: keys of each row of a batch by warp, made sums of those before; all keys of
 *  a row; those so far that are second best. */
struct put_counts {
    int start[BATCH][VF_WARPS], total[BATCH], seconds;
};

/** Write the keys of a batch that are at least `cut.best`, and with SECOND those of the second best corners of the same
 *  cells that are at least `cut.second`, in the order of cells, the best of a cell first. Returns their number; adds
 *  that of the second best ones to count.seconds. */
template <bool SECOND>
static __device__ int put_batch(uint64_t *to, const batch &h, const batch &second, const vf_select_cut &cut,
                                put_counts &count)
{
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP;
    const auto first_votes = [&](int k) { return __ballot_sync(VF_ALL, h.key[k] >= cut.best); };
    const auto second_votes = [&](int k) { return SECOND ? __ballot_sync(VF_ALL, second.key[k] >= cut.second) : 0u; };
    int seconds = 0;
    __syncthreads(); /* start may still be in use for the previous batch */
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

/** Corners of a group in all threads, called by all: number of strong ones, and of all. each_key: as of
 *  vf_kth_best_key(). */
struct corners_count {
    uint32_t strong, all;
};
template <typename EachKey> static __device__ __forceinline__ corners_count count_corners(EachKey each_key)
{
    __shared__ corners_count count;
    uint32_t strong = 0, all = 0;
    each_key([&](uint64_t key) {
        strong += __popc(__ballot_sync(VF_ALL, key >= VF_KEY_STRONG));
        all += __popc(__ballot_sync(VF_ALL, key != 0));
    });
    __syncthreads(); /* count may still be in use from a previous call */
    if (threadIdx.x == 0) count.strong = count.all = 0;
    __syncthreads();
    if (threadIdx.x % VF_WARP == 0) {
        atomicAdd(&count.strong, strong);
        atomicAdd(&count.all, all);
    }
    __syncthreads();
    return count;
}

/** A block: one group of one camera. */
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
    const uint64_t *list = best; /* the one of which h is a batch */
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
    vf_group_corners n = {bests.strong, bests.all, 0};
    const int filled = vf_select_filled(&s.tuning, n.strong, (uint32_t)g.quota);
    if (filled) {
        turn_to(second);
        n.strong_second = count_corners(each_key).strong;
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
    for (int camera = 0; camera < s->geometry.cameras; camera++) cells = vf_max(cells, s->geometry.places[camera]);
    if (vf_aggregated(&s->tuning))
        aggregate_k<<<dim3(vf_blocks(cells, AGGREGATE_THREADS), s->geometry.cameras), AGGREGATE_THREADS, 0, stream>>>(
            *s);
    select_k<<<dim3(s->geometry.groups, s->geometry.cameras), VF_BLOCK, 0, stream>>>(*s);
    return cudaGetLastError();
}
