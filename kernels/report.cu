/* SPDX-License-Identifier: MIT */
/* report on the GPU: block 0 writes the tracks, one more block a camera its key points, and the block that is done last the
 * health and the ticket. All of it goes to pinned memory on the host; records are put together in shared memory first, because
 * the bus likes long runs of bytes better than fields. */
#include "kernel.cuh"

#include "../src/report.h"

#define THREADS 512
#define WARPS (THREADS / VF_WARP)

/** Writes `count` records of a block's threads, thread by thread, as one run of 32-bit words. */
template <typename Record> static __device__ void put_records(Record *to, Record *shared, const Record &mine, int count)
{
    __syncthreads();
    if ((int)threadIdx.x < count) shared[threadIdx.x] = mine;
    __syncthreads();
    const uint32_t *from = reinterpret_cast<const uint32_t *>(shared);
    for (int i = threadIdx.x; i < count * (int)(sizeof(Record) / 4); i += THREADS) reinterpret_cast<uint32_t *>(to)[i] = from[i];
}

static __device__ void put_tracks(const vf_step &s, vfront_result_t *out)
{
    __shared__ vfront_track_t track[THREADS];
    vfront_lost_t *lost = reinterpret_cast<vfront_lost_t *>(track);
    const vf_track_memory &m = s.memory->track;
    const vf_refill_memory &r = s.memory->refill;
    const int tracks = m.census[s.parity].count, ended = r.lost_count, thread = threadIdx.x;
    for (int first = 0; first < tracks; first += THREADS) {
        vfront_track_t t = {};
        if (first + thread < tracks) t = vf_report_track(&m.feature[s.parity][first + thread]);
        put_records(out->tracks + first, track, t, vf_min(tracks - first, THREADS));
    }
    for (int first = 0; first < ended; first += THREADS) {
        vfront_lost_t l = {};
        if (first + thread < ended) l = vf_report_lost(&m.moved[r.lost[first + thread]]);
        put_records(out->lost + first, lost, l, vf_min(ended - first, THREADS));
    }
    const vf_params &params = s.memory->ingest.params;
    if (thread) return;
    out->t_ns = params.t_ns;
    out->t_mid_ns = params.t_mid_ns;
    out->frame = params.frame;
    out->tracks_count = tracks;
    out->lost_count = ended;
}

/** Key points of a camera, by rising cell; returns how many. */
static __device__ int put_keypoints(const vf_step &s, int camera, vfront_keypoint_t *to)
{
    __shared__ vfront_keypoint_t keypoint[THREADS];
    __shared__ int warp_count[WARPS];
    const int cells = s.geometry.cells_x[camera] * s.geometry.cells_y[camera];
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP;
    int count = 0;
    for (int first = 0; first < cells; first += THREADS) {
        const int cell = first + threadIdx.x;
        const uint64_t key = cell < cells ? s.memory->detect.best[camera][cell] : 0;
        const unsigned who = __ballot_sync(VF_ALL, key != 0);
        if (lane == 0) warp_count[warp] = __popc(who);
        __syncthreads();
        int before = __popc(who & ((1u << lane) - 1)), total = 0;
        for (int w = 0; w < WARPS; w++) {
            before += w < warp ? warp_count[w] : 0;
            total += warp_count[w];
        }
        if (key) keypoint[before] = vf_report_keypoint(key, cell);
        __syncthreads();
        const uint32_t *from = reinterpret_cast<const uint32_t *>(keypoint);
        uint32_t *out = reinterpret_cast<uint32_t *>(to + count);
        for (int i = threadIdx.x; i < total * (int)(sizeof(vfront_keypoint_t) / 4); i += THREADS) out[i] = from[i];
        __syncthreads();
        count += total;
    }
    return count;
}

/** Sums of light over a camera's tiles, by the first warp, into memory. */
static __device__ void total_light(const vf_step &s, int camera)
{
    const vf_level &l = s.geometry.level[camera][0];
    const int tiles = (l.width + VF_TILE - 1) / VF_TILE * ((l.height + VF_TILE - 1) / VF_TILE);
    if (threadIdx.x >= VF_WARP) return;
    vf_light_total t = {0, 0, 0, 0};
    for (int i = threadIdx.x; i < tiles; i += VF_WARP) {
        const vf_light light = s.memory->pyramid.light[camera][i];
        t.sum += light.sum;
        t.edge += light.edge;
        t.dark += light.dark;
        t.bright += light.bright;
    }
    for (int step = VF_WARP / 2; step; step /= 2) {
        t.sum += __shfl_xor_sync(VF_ALL, t.sum, step);
        t.edge += __shfl_xor_sync(VF_ALL, t.edge, step);
        t.dark += __shfl_xor_sync(VF_ALL, t.dark, step);
        t.bright += __shfl_xor_sync(VF_ALL, t.bright, step);
    }
    if (threadIdx.x == 0) s.memory->report.light[camera] = t;
}

/** By one thread, when every other block is done. */
static __device__ void finish(const vf_step &s, vfront_result_t *out)
{
    const vf_params &params = s.memory->ingest.params;
    vf_report_memory &m = s.memory->report;
    const volatile vf_report_memory &seen = m;
    uint32_t keypoints[VFRONT_CAMERAS];
    vf_light_total light[VFRONT_CAMERAS];
    for (int camera = 0; camera < VFRONT_CAMERAS; camera++) {
        const bool there = camera < s.geometry.cameras;
        keypoints[camera] = there ? seen.keypoints[camera] : 0;
        light[camera].sum = there ? seen.light[camera].sum : 0;
        light[camera].edge = there ? seen.light[camera].edge : 0;
        light[camera].dark = there ? seen.light[camera].dark : 0;
        light[camera].bright = there ? seen.light[camera].bright : 0;
        out->keypoints_count[camera] = keypoints[camera];
    }
    out->health = vf_report_health(&s, &params, &s.memory->refill, &s.memory->track.census[s.parity], keypoints, light);
    vf_clock_end(s, VF_report);
    for (int stage = 0; stage < VFRONT_STAGES; stage++)
        for (int end = 0; end < 2; end++) s.pinned->clock[stage][end] = *(volatile uint64_t *)&m.clock[stage][end];
    __threadfence_system();
    *(volatile uint64_t *)&s.pinned->done = params.ticket;
}

static __global__ void __launch_bounds__(THREADS) report_k(const vf_step s)
{
    __shared__ bool last;
    vf_report_memory &m = s.memory->report;
    vfront_result_t *out = &s.pinned->result[s.memory->ingest.params.result];
    if (threadIdx.x == 0) vf_clock_start(s, VF_report, blockIdx.x);
    if (blockIdx.x == 0) {
        put_tracks(s, out);
    } else {
        const int camera = blockIdx.x - 1;
        total_light(s, camera);
        const int count = put_keypoints(s, camera, out->keypoints[camera]);
        if (threadIdx.x == 0) m.keypoints[camera] = count;
    }
    __threadfence_system(); /* every thread's writes, before the block counts as arrived */
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(&m.arrived, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (!last || threadIdx.x) return;
    __threadfence();
    finish(s, out);
}

extern "C" cudaError_t vf_report_cuda(const vf_step *s, cudaStream_t stream)
{
    report_k<<<1 + s->geometry.cameras, THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
}
