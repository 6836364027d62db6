/* SPDX-License-Identifier: MIT */
/* select on the GPU. Aggregation, where it is asked for, is a launch of its own, of small blocks, because it has a lot to do for each corner.
 * A block of the other looks through a chunk of the grid's places, a thread a place; the last block of a camera to be
 * done gathers what all of them left, and looks for the best when that is too much. */
#include "block.cuh"

#include "../src/select.h"

#define AGGREGATE_THREADS 64

static __global__ void __launch_bounds__(AGGREGATE_THREADS) aggregate_k(const vf_step s)
{
    const int camera = blockIdx.y, place = blockIdx.x * AGGREGATE_THREADS + threadIdx.x, places = vf_places(&s, camera);
    const uint64_t *best = s.memory->detect.best[camera];
    if (threadIdx.x == 0) vf_clock_start(s, VF_select, blockIdx.x + camera);
    const uint64_t key = place < places ? best[place] : 0;
    const bool stays = key && vf_select_stays(&s.geometry, &s.tuning, best, camera, key);
    const uint32_t bits = __ballot_sync(VF_ALL, stays);
    if (threadIdx.x % VF_WARP == 0 && place < places) s.memory->select.stays[camera][place / VF_CHUNK][place % VF_CHUNK / 32] = bits;
}

/** A chunk: what aggregation leaves of it, and its cells with a corner. */
static __device__ void look_through(const vf_step &s, int camera, int chunk, int *start)
{
    vf_select_memory &m = s.memory->select;
    const uint64_t *best = s.memory->detect.best[camera];
    const int place = chunk * VF_CHUNK + threadIdx.x, cells = vf_cells(&s.geometry, camera);
    const uint64_t key = place < vf_places(&s, camera) ? best[place] : 0;
    const bool some = place < cells && vf_best(best, place, cells, vf_scales(&s));
    const bool stays = key && (!vf_aggregated(&s.tuning) || m.stays[camera][chunk][threadIdx.x / 32] >> threadIdx.x % 32 & 1);
    const int occupied = __syncthreads_count(some);
    int left;
    const int before = vf_count_before(stays, start, &left);
    if (stays) m.candidate[camera][chunk][before] = key;
    if (threadIdx.x) return;
    m.candidates[camera][chunk] = left;
    m.occupied[camera][chunk] = occupied;
}

/** Whether this block is the last of its camera to come here; then it sees what the others wrote. */
static __device__ bool last_to_arrive(vf_select_memory &m, int camera, unsigned blocks)
{
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(&m.arrived[camera], blocks - 1) == blocks - 1;
    __syncthreads();
    if (last) __threadfence();
    return last;
}

/** Candidates and cells with a corner of a camera, added up by all threads. */
static __device__ void add_up(const vf_select_memory &m, int camera, int chunks, int *candidates, int *occupied)
{
    __shared__ int sum[2];
    if (threadIdx.x == 0) sum[0] = sum[1] = 0;
    __syncthreads();
    for (int chunk = threadIdx.x; chunk < chunks; chunk += VF_BLOCK) {
        atomicAdd(&sum[0], (int)m.candidates[camera][chunk]);
        atomicAdd(&sum[1], (int)m.occupied[camera][chunk]);
    }
    __syncthreads();
    *candidates = sum[0];
    *occupied = sum[1];
}

/** Some chunks of a camera: a thread has its place of each, all of them on their way at once. */
#define GROUP 8
struct group {
    uint64_t key[GROUP];
};
static __device__ __forceinline__ group load_group(const vf_select_memory &m, int camera, int first, int chunks)
{
    group g;
#pragma unroll
    for (int k = 0; k < GROUP; k++) {
        const int chunk = first + k, left = chunk < chunks ? m.candidates[camera][chunk] : 0;
        g.key[k] = (int)threadIdx.x < left ? m.candidate[camera][chunk][threadIdx.x] : 0;
    }
    return g;
}

/** Writes the keys of a group that reach `least`, in order, from key point `count` on. Returns how many. */
static __device__ int put_group(vf_select_memory &m, int camera, const group &g, uint64_t least, int count)
{
    __shared__ int start[GROUP][VF_WARPS], whole[GROUP];
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP;
    unsigned who[GROUP];
    __syncthreads(); /* start may still be read for the group before */
#pragma unroll
    for (int k = 0; k < GROUP; k++) {
        who[k] = __ballot_sync(VF_ALL, g.key[k] >= least);
        if (lane == 0) start[k][warp] = __popc(who[k]);
    }
    __syncthreads();
    if (warp < GROUP) {
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
    int before = count;
#pragma unroll
    for (int k = 0; k < GROUP; k++) {
        if (g.key[k] >= least) m.key[camera][before + start[k][warp] + __popc(who[k] & ((1u << lane) - 1))] = g.key[k];
        before += whole[k];
    }
    return before - count;
}

/** The camera's key points, from all of its chunks. */
static __device__ void gather(const vf_step &s, int camera, int chunks)
{
    vf_select_memory &m = s.memory->select;
    const int wanted = s.tuning.select_points;
    group g = load_group(m, camera, 0, chunks); /* often that is all */
    int found, occupied, count = 0;
    add_up(m, camera, chunks, &found, &occupied);
    const auto each_key = [&](auto work) {
        for (int first = 0; first < chunks; first += GROUP) {
            if (chunks > GROUP) g = load_group(m, camera, first, chunks);
#pragma unroll
            for (int k = 0; k < GROUP; k++) work(g.key[k]);
        }
    };
    const uint64_t least = found > wanted && wanted ? vf_least_wanted(each_key, wanted) : 1;
    for (int first = 0; first < chunks && wanted; first += GROUP) {
        if (chunks > GROUP) g = load_group(m, camera, first, chunks);
        count += put_group(m, camera, g, least, count);
    }
    if (threadIdx.x) return;
    m.count[camera] = count;
    m.cells[camera] = occupied;
    m.dropped[camera] = vf_select_dropped(&s.tuning, found);
}

static __global__ void __launch_bounds__(VF_BLOCK) select_k(const vf_step s)
{
    __shared__ int start[VF_WARPS + 1];
    const int camera = blockIdx.y, chunk = blockIdx.x, chunks = (vf_places(&s, camera) + VF_CHUNK - 1) / VF_CHUNK;
    if (threadIdx.x == 0 && !vf_aggregated(&s.tuning)) vf_clock_start(s, VF_select, chunk + camera);
    if (chunk >= chunks) return; /* the whole block: cameras may differ in size */
    look_through(s, camera, chunk, start);
    if (last_to_arrive(s.memory->select, camera, chunks)) gather(s, camera, chunks);
    if (threadIdx.x == 0) vf_clock_end(s, VF_select);
}

extern "C" cudaError_t vf_select_cuda(const vf_step *s, cudaStream_t stream)
{
    VF_STATIC_ASSERT(VF_CHUNK == VF_BLOCK, "a thread looks at one place");
    int places = 0;
    for (int camera = 0; camera < s->geometry.cameras; camera++) places = vf_max(places, vf_places(s, camera));
    if (vf_aggregated(&s->tuning))
        aggregate_k<<<dim3(vf_blocks(places, AGGREGATE_THREADS), s->geometry.cameras), AGGREGATE_THREADS, 0, stream>>>(*s);
    select_k<<<dim3(vf_blocks(places, VF_CHUNK), s->geometry.cameras), VF_BLOCK, 0, stream>>>(*s);
    return cudaGetLastError();
}
