/* SPDX-License-Identifier: MIT */
/* window on the GPU: a fixed sequence of launches (state/window_step.h). Landmarks, their sums, and the system take as
 * many multiprocessors as there are; what is serial is in launches of one block. */
#include "kernels/kernel.cuh"

#include "state/window.h"
#include "state/window_step.h"

#if VFRONT_WINDOW

#define THREADS 512 /* of a launch of one block */

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

/** What the host gives, and the estimate of the frame before. */
static __global__ void __launch_bounds__(256) copy_k(const VF_CONSTANT vf_window_view s)
{
    vf_window_memory &m = *s.window;
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.x);
    copy(&m.given, s.given, sizeof m.given);
    if (s.given->command == VF_WINDOW_GO_ON) copy(&m.window[s.parity], &m.window[s.parity ^ 1], sizeof *m.window);
    VF_ITEMS(i, (int)(sizeof m.nav / 4))
    reinterpret_cast<uint32_t *>(&m.nav)[i] = 0;
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

static __global__ void __launch_bounds__(THREADS) open_k(const VF_CONSTANT vf_window_view s)
{
    const vf_window_given &g = s.window->given;
    if (!runs(s)) return;
    if (g.command == VF_WINDOW_BEGIN) vf_window_begin(&now(s), &g.rig, &g.noise, &g.first, g.information);
    vf_window_open(&now(s), &s.window->work, &g.motion, s.sight->sight, s.sight->count);
}

static __global__ void __launch_bounds__(32) landmarks_k(const VF_CONSTANT vf_window_view s)
{
    if (runs(s)) vf_window_landmarks(&now(s), &s.window->work);
}

static __global__ void __launch_bounds__(128) gather_k(const VF_CONSTANT vf_window_view s)
{
    if (runs(s)) vf_window_gather(&now(s), &s.window->work);
}

static __global__ void __launch_bounds__(32) spread_k(const VF_CONSTANT vf_window_view s)
{
    if (runs(s)) vf_window_spread(&s.window->work);
}

static __global__ void __launch_bounds__(THREADS) fold_k(const VF_CONSTANT vf_window_view s)
{
    if (runs(s)) vf_window_fold(&now(s), &s.window->work);
}

static __global__ void __launch_bounds__(32) assemble_k(const VF_CONSTANT vf_window_view s)
{
    if (runs(s)) vf_window_assemble(&now(s), &s.window->work);
}

static __global__ void __launch_bounds__(THREADS) try_k(const VF_CONSTANT vf_window_view s)
{
    if (runs(s)) vf_window_try(&now(s), &s.window->work);
}

static __global__ void __launch_bounds__(128) put_back_k(const VF_CONSTANT vf_window_view s)
{
    if (runs(s)) vf_window_put_back(&now(s), &s.window->work);
}

static __global__ void __launch_bounds__(THREADS) close_k(const VF_CONSTANT vf_window_view s)
{
    if (runs(s)) vf_window_close(&now(s), &s.window->work, s.sight->sight, s.sight->count);
}

static __global__ void __launch_bounds__(THREADS) leave_k(const VF_CONSTANT vf_window_view s)
{
    if (runs(s)) {
        vf_window_leave(&now(s), &s.window->work);
        __syncthreads();
        if (threadIdx.x == 0) vf_window_tell(&now(s), &s.window->nav);
    }
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

/** Launches of a system. */
static void make_system(const vf_window_view &s, cudaStream_t stream)
{
    landmarks_k<<<vf_blocks(VF_WINDOW_LANDMARKS, 8), 8, 0, stream>>>(s);
    gather_k<<<64, 128, 0, stream>>>(s);
    spread_k<<<40, 32, 0, stream>>>(s);
    fold_k<<<1, THREADS, 0, stream>>>(s);
    assemble_k<<<40, 32, 0, stream>>>(s);
}

#endif

extern "C" cudaError_t vf_window_cuda(const vf_window_view *s, cudaStream_t stream)
{
#if VFRONT_WINDOW
    copy_k<<<32, 256, 0, stream>>>(*s);
    open_k<<<1, THREADS, 0, stream>>>(*s);
    for (int i = 0; i <= VF_WINDOW_ITERATIONS; i++) {
        make_system(*s, stream);
        try_k<<<1, THREADS, 0, stream>>>(*s);
    }
    put_back_k<<<2, 128, 0, stream>>>(*s);
    close_k<<<1, THREADS, 0, stream>>>(*s);
    make_system(*s, stream);
    leave_k<<<1, THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
