/* SPDX-License-Identifier: MIT */
/* select on the GPU. Aggregation, where it is asked for, is a launch of its own, of small blocks, because it has a lot to do for each corner.
 * A block of the other looks through a chunk of a group's places, a thread a place; the last block of a group to be done gathers what all
 * of them left, and looks for the best when that is too much. */
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
    if (threadIdx.x % VF_WARP == 0 && place < places) s.memory->select.stays[camera][place / 32] = bits;
}

/** A group of a camera. */
struct group {
    int camera, number, places, chunks, slot, slots;
};
static __device__ __forceinline__ group group_of(const vf_step &s, int camera, int number)
{
    const int slot = vf_first_slot(&s, number);
    const group g = {camera, number, vf_group_places(&s, camera), vf_group_chunks(&s, camera), slot, vf_first_slot(&s, number + 1) - slot};
    return g;
}

/** A chunk: what aggregation leaves of it. */
static __device__ void look_through(const vf_step &s, const group &g, int chunk, int *start)
{
    vf_select_memory &m = s.memory->select;
    const int within = chunk * VF_CHUNK + threadIdx.x, place = g.number * g.places + within, at = g.number * g.chunks + chunk;
    const uint64_t key = within < g.places ? s.memory->detect.best[g.camera][place] : 0;
    const bool stays = key && (!vf_aggregated(&s.tuning) || m.stays[g.camera][place / 32] >> place % 32 & 1);
    int left;
    const int before = vf_count_before(stays, start, &left);
    if (stays) m.candidate[g.camera][at][before] = key;
    if (threadIdx.x == 0) m.candidates[g.camera][at] = left;
}

/** Whether this block is the last of its group to come here; then it sees what the others wrote. */
static __device__ bool last_to_arrive(uint32_t *arrived, unsigned blocks)
{
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(arrived, blocks - 1) == blocks - 1;
    __syncthreads();
    if (last) __threadfence();
    return last;
}

/** Candidates of a group, added up by all threads. */
static __device__ int add_up(const uint32_t *candidates, int chunks)
{
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    for (int chunk = threadIdx.x; chunk < chunks; chunk += VF_BLOCK) atomicAdd(&sum, (int)candidates[chunk]);
    __syncthreads();
    return sum;
}

/** Some chunks: a thread has its place of each, all of them on their way at once. */
#define HANDFUL 8
struct handful {
    uint64_t key[HANDFUL];
};
static __device__ __forceinline__ handful load_handful(const uint64_t (*candidate)[VF_CHUNK], const uint32_t *candidates, int first, int chunks)
{
    handful h;
#pragma unroll
    for (int k = 0; k < HANDFUL; k++) {
        const int chunk = first + k, left = chunk < chunks ? candidates[chunk] : 0;
        h.key[k] = (int)threadIdx.x < left ? candidate[chunk][threadIdx.x] : 0;
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

/** The key points of a group, from all of its chunks. */
static __device__ void gather(const vf_step &s, const group &g)
{
    vf_select_memory &m = s.memory->select;
    const uint64_t(*candidate)[VF_CHUNK] = m.candidate[g.camera] + g.number * g.chunks;
    const uint32_t *candidates = m.candidates[g.camera] + g.number * g.chunks;
    handful h = load_handful(candidate, candidates, 0, g.chunks); /* often that is all */
    const int found = add_up(candidates, g.chunks);
    int count = 0;
    const auto each_key = [&](auto work) {
        for (int first = 0; first < g.chunks; first += HANDFUL) {
            if (g.chunks > HANDFUL) h = load_handful(candidate, candidates, first, g.chunks);
#pragma unroll
            for (int k = 0; k < HANDFUL; k++) work(h.key[k]);
        }
    };
    const uint64_t least = found > g.slots && g.slots ? vf_least_wanted(each_key, g.slots) : 1;
    for (int first = 0; first < g.chunks && g.slots; first += HANDFUL) {
        if (g.chunks > HANDFUL) h = load_handful(candidate, candidates, first, g.chunks);
        count += put_handful(m.key[g.camera] + g.slot + count, h, least);
    }
    if (threadIdx.x) return;
    m.count[g.camera][g.number] = count;
    m.dropped[g.camera][g.number] = vf_select_dropped(&s.tuning, found, g.slots);
}

static __global__ void __launch_bounds__(VF_BLOCK) select_k(const vf_step s)
{
    __shared__ int start[VF_WARPS + 1];
    const int chunk = blockIdx.x;
    const group g = group_of(s, blockIdx.z, blockIdx.y);
    if (threadIdx.x == 0 && !vf_aggregated(&s.tuning)) vf_clock_start(s, VF_select, chunk + g.number + g.camera);
    if (chunk >= g.chunks) return; /* the whole block: cameras may differ in size */
    look_through(s, g, chunk, start);
    if (last_to_arrive(&s.memory->select.arrived[g.camera][g.number], g.chunks)) gather(s, g);
    if (threadIdx.x == 0) vf_clock_end(s, VF_select);
}

extern "C" cudaError_t vf_select_cuda(const vf_step *s, cudaStream_t stream)
{
    VF_STATIC_ASSERT(VF_CHUNK == VF_BLOCK, "a thread looks at one place");
    int places = 0, chunks = 0;
    for (int camera = 0; camera < s->geometry.cameras; camera++) {
        places = vf_max(places, vf_places(s, camera));
        chunks = vf_max(chunks, vf_group_chunks(s, camera));
    }
    if (vf_aggregated(&s->tuning))
        aggregate_k<<<dim3(vf_blocks(places, AGGREGATE_THREADS), s->geometry.cameras), AGGREGATE_THREADS, 0, stream>>>(*s);
    select_k<<<dim3(chunks, vf_groups(s), s->geometry.cameras), VF_BLOCK, 0, stream>>>(*s);
    return cudaGetLastError();
}
