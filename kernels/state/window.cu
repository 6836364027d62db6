/* SPDX-License-Identifier: MIT */
/* window on the GPU: a fixed sequence of launches (state/window_step.h). Landmarks, their sums, and the system take as
 * many multiprocessors as there are; what is serial is in launches of one block. */
#include "kernels/kernel.cuh"

#include "state/window.h"
#include "state/window_step.h"
#include "window_tiles.cuh"

#if VFRONT_WINDOW

#define THREADS VF_SOLVE_THREADS /* of a launch of one block */
#define LANDMARK_THREADS 128
#define LANDMARK_BLOCKS (16 * VF_WINDOW_LANDMARKS / LANDMARK_THREADS)

/** 1 if there is a state in this step. */
static __device__ __forceinline__ bool runs(const vf_window_view &s)
{
    return s.window->given.command != VF_WINDOW_NONE;
}

static __device__ __forceinline__ vf_window &now(const vf_window_view &s) { return s.window->window[s.parity]; }

/** Words copied by all threads of a launch. */
static __device__ __forceinline__ void copy(void *to, const void *from, size_t bytes)
{
    uint32_t *out = static_cast<uint32_t *>(to);
    const uint32_t *in = static_cast<const uint32_t *>(from);
    VF_ITEMS(i, (int)(bytes / 4))
    out[i] = in[i];
}

/** Input of the host, and the estimate of the frame before. It begins with the step, long before the window's time. */
static __global__ void __launch_bounds__(256) copy_k(const VF_CONSTANT vf_window_view s)
{
    vf_window_memory &m = *s.window;
    copy(&m.given, s.given, sizeof m.given);
    if (s.given->command == VF_WINDOW_GO_ON) copy(&m.window[s.parity], &m.window[s.parity ^ 1], sizeof *m.window);
    VF_ITEMS(i, (int)(sizeof m.nav / 4))
    reinterpret_cast<uint32_t *>(&m.nav)[i] = 0;
}

static __global__ void __launch_bounds__(THREADS) open_k(const VF_CONSTANT vf_window_view s)
{
    __shared__ uint32_t ids[VF_WINDOW_LANDMARKS];
    const vf_window_given &g = s.window->given;
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.x);
    if (!runs(s)) return;
    if (g.command == VF_WINDOW_BEGIN) vf_window_begin(&now(s), &g.rig, &g.noise, &g.first, g.information);
    vf_window_open(&now(s), &s.window->work, &g.motion, s.sight->sight, s.sight->count, ids);
}

/** How well the ranges of landmarks are known. */
static __global__ void __launch_bounds__(LANDMARK_THREADS) ranges_k(const VF_CONSTANT vf_window_view s)
{
    if (runs(s)) vf_window_ranges(&now(s), &s.window->work);
}

/** Input of the first system; beside it, in another block, the test of rest of the newest frame. */
static __global__ void __launch_bounds__(THREADS) prepare_k(const VF_CONSTANT vf_window_view s)
{
    if (!runs(s)) return;
    if (!blockIdx.x)
        vf_window_prepare(&now(s), &s.window->work, s.sight->count);
    else if (now(s).rig.rests)
        vf_window_rest_of(&now(s), &s.window->work, s.sight->sight, s.sight->count);
}

#define GATHER_THREADS 128
#define HOST_THREADS 256
#define ELEMENT_THREADS 128
#define LEAVE_THREADS 32

/** Landmarks; behind their blocks, those of prior and readings, and of maps. */
static __global__ void __launch_bounds__(LANDMARK_THREADS) landmarks_k(const VF_CONSTANT vf_window_view s)
{
    if (!runs(s)) return;
    if (blockIdx.x >= LANDMARK_BLOCKS + VF_WINDOW_READINGS)
        vf_window_maps(&now(s), &s.window->work, (int)blockIdx.x - LANDMARK_BLOCKS - VF_WINDOW_READINGS);
    else if (blockIdx.x >= LANDMARK_BLOCKS)
        vf_window_readings(&now(s), &s.window->work, (int)blockIdx.x - LANDMARK_BLOCKS);
    else
        vf_window_landmarks(&now(s), &s.window->work);
}

static __global__ void __launch_bounds__(GATHER_THREADS, 1) gather_k(const VF_CONSTANT vf_window_view s)
{
    if (runs(s)) vf_window_gather(&s.window->work);
}

/** A block for each host, which lies in shared memory; behind them, that of the cost. */
static __global__ void __launch_bounds__(HOST_THREADS) hosts_k(const VF_CONSTANT vf_window_view s)
{
    __shared__ struct vf_window_host host;
    vf_window_work &k = s.window->work;
    if (!runs(s)) return;
    if (blockIdx.x == VF_WINDOW_FRAMES) {
        vf_window_costs(&now(s), &k);
    } else if (k.host[blockIdx.x].count) {
        vf_window_words(&host, &k.host[blockIdx.x], sizeof host);
        __syncthreads();
        vf_window_host_of(&host, k.trial);
        __syncthreads();
        enum { CHANGED = offsetof(struct vf_window_host, map) - offsetof(struct vf_window_host, H) };
        vf_window_words(k.host[blockIdx.x].H, host.H, CHANGED);
    }
}

static __global__ void __launch_bounds__(ELEMENT_THREADS) assemble_k(const VF_CONSTANT vf_window_view s)
{
    if (runs(s)) vf_window_assemble(&now(s), &s.window->work);
}

/** Verdict on a system, and the next step of the optimisation. */
static __global__ void __launch_bounds__(THREADS) try_k(const VF_CONSTANT vf_window_view s)
{
    __shared__ vf_tiles tiles;
    vf_window_work &k = s.window->work;
    if (!runs(s)) return;
    vf_window_judge(&now(s), &k);
    if (k.steps == vf_window_steps(now(s).rig.cameras)) return;
    vf_tile_solve(&k, &tiles);
    __syncthreads();
    vf_window_go(&now(s), &k);
}

/** New landmarks, what leaves; the state told, but for its covariance. */
static __global__ void __launch_bounds__(THREADS) close_k(const VF_CONSTANT vf_window_view s)
{
    vf_window_work &k = s.window->work;
    if (!runs(s)) return;
    vf_window_close(&now(s), &k, s.sight->sight, s.sight->count);
    vf_window_tell(&now(s), &k, &s.window->nav);
}

/** Covariance of the state told. */
static __global__ void __launch_bounds__(THREADS) cover_k(const VF_CONSTANT vf_window_view s)
{
    __shared__ vf_tiles tiles;
    vf_window_work &k = s.window->work;
    if (runs(s)) {
        vf_tile_cover(&now(s), &k, &tiles);
        vf_window_cover_corner(&now(s), &k);
        vf_window_tell_covariance(&now(s), &s.window->nav);
    }
    __syncthreads();
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

#define ELIMINATE_BLOCKS 16

/** Elimination of what leaves; behind these blocks, in another one, it is forgotten. */
static __global__ void __launch_bounds__(THREADS) eliminate_k(const VF_CONSTANT vf_window_view s)
{
    __shared__ vf_solve_gone room;
    vf_window_work &k = s.window->work;
    if (!runs(s)) return;
    if (blockIdx.x < ELIMINATE_BLOCKS)
        vf_window_eliminate(&now(s), &k, &room, (int)blockIdx.x, ELIMINATE_BLOCKS);
    else
        vf_window_part(&now(s), &k);
}

static __global__ void __launch_bounds__(LEAVE_THREADS) leave_k(const VF_CONSTANT vf_window_view s)
{
    if (runs(s)) vf_window_leave(&now(s), &s.window->work);
}

/** Launches of a system. */
static void make_system(const vf_window_view &s, cudaStream_t stream)
{
    landmarks_k<<<LANDMARK_BLOCKS + VF_WINDOW_READINGS + VF_WINDOW_MAPS, LANDMARK_THREADS, 0, stream>>>(s);
    gather_k<<<vf_blocks(VF_WINDOW_LANES * VF_WINDOW_GATHERED, GATHER_THREADS), GATHER_THREADS, 0, stream>>>(s);
    hosts_k<<<VF_WINDOW_FRAMES + 1, HOST_THREADS, 0, stream>>>(s);
    assemble_k<<<vf_blocks(VF_WINDOW_ASSEMBLED, ELEMENT_THREADS), ELEMENT_THREADS, 0, stream>>>(s);
}

#endif

extern "C" cudaError_t vf_window_early_cuda(const vf_window_view *s, cudaStream_t stream)
{
#if VFRONT_WINDOW
    copy_k<<<32, 256, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}

extern "C" cudaError_t vf_window_cuda(const vf_window_view *s, cudaStream_t stream)
{
#if VFRONT_WINDOW
    open_k<<<1, THREADS, 0, stream>>>(*s);
    ranges_k<<<LANDMARK_BLOCKS, LANDMARK_THREADS, 0, stream>>>(*s);
    prepare_k<<<2, THREADS, 0, stream>>>(*s);
    const int steps = vf_window_steps(s->geometry.pair.placed ? 2 : 1); /* as in the rig of a state (state/nav.c) */
    for (int i = 0; i <= steps; i++) {
        make_system(*s, stream);
        try_k<<<1, THREADS, 0, stream>>>(*s);
    }
    close_k<<<1, THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}

extern "C" cudaError_t vf_window_last_cuda(const vf_window_view *s, cudaStream_t stream)
{
#if VFRONT_WINDOW
    cover_k<<<1, THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}

extern "C" cudaError_t vf_window_late_cuda(const vf_window_view *s, cudaStream_t stream)
{
#if VFRONT_WINDOW
    make_system(*s, stream);
    eliminate_k<<<ELIMINATE_BLOCKS + 1, THREADS, 0, stream>>>(*s);
    leave_k<<<vf_blocks(VF_WINDOW_COLUMNS, LEAVE_THREADS), LEAVE_THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
