/* SPDX-License-Identifier: MIT */
/* Kernels of the stage vio: a fixed sequence of launches (src/vio/launch.h). Linearization of landmarks, sums over
 * them, and assembly of the system use all multiprocessors; serial parts are launches of one block. */
#include "kernels/kernel.cuh"

#include "vio/vio.h"
#include "vio/launch.h"
#include "solve_tiles.cuh"

#if VFRONT_VIO

#define THREADS VF_SOLVE_THREADS /* threads of a block in launches of one block */
#define LANDMARK_THREADS 128
#define LANDMARK_BLOCKS (16 * VF_VIO_LANDMARKS / LANDMARK_THREADS)

/** 1 if the estimator runs in this frame. */
static __device__ __forceinline__ bool runs(const vf_vio_view &s) { return s.vio->request.command != VF_VIO_NONE; }

static __device__ __forceinline__ vf_vio_window &now(const vf_vio_view &s) { return s.vio->window[s.parity]; }

/** Copies 32-bit words, with all threads of a launch. */
static __device__ __forceinline__ void copy(void *to, const void *from, size_t bytes)
{
    uint32_t *out = static_cast<uint32_t *>(to);
    const uint32_t *in = static_cast<const uint32_t *>(from);
    VF_ITEMS(i, (int)(bytes / 4))
    out[i] = in[i];
}

/** Copies the host's request and the previous frame's estimate; clears the outputs. Launched at the start of the frame,
 *  long before the other kernels. */
static __global__ void __launch_bounds__(256) copy_k(const VF_CONSTANT vf_vio_view s)
{
    vf_vio_memory &m = *s.vio;
    copy(&m.request, s.request, sizeof m.request);
    if (s.request->command == VF_VIO_CONTINUE) copy(&m.window[s.parity], &m.window[s.parity ^ 1], sizeof *m.window);
    VF_ITEMS(i, (int)(sizeof m.nav / 4))
    reinterpret_cast<uint32_t *>(&m.nav)[i] = 0;
    VF_ITEMS(i, (int)(sizeof m.summary / 4))
    reinterpret_cast<uint32_t *>(&m.summary)[i] = 0;
}

static __global__ void __launch_bounds__(THREADS) open_k(const VF_CONSTANT vf_vio_view s)
{
    __shared__ uint32_t ids[VF_VIO_LANDMARKS];
    const vf_vio_request &g = s.vio->request;
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.x);
    if (!runs(s)) return;
    if (g.command == VF_VIO_BEGIN) vf_vio_init_window(&now(s), &g.rig, &g.noise, &g.first, g.information);
    vf_vio_open_frame(&now(s), &s.vio->work, &g.motion, s.observe->observation, s.observe->count, ids);
}

/** Computes the information (inverse variance) of the landmarks' inverse ranges, and their residuals in camera 1. */
static __global__ void __launch_bounds__(LANDMARK_THREADS) ranges_k(const VF_CONSTANT vf_vio_view s)
{
    if (runs(s)) vf_vio_range_information(&now(s), &s.vio->work);
}

/** Block 0: consistency test of the observations, and lists for the first system. Block 1: test whether the camera is
 *  stationary. */
static __global__ void __launch_bounds__(THREADS) prepare_k(const VF_CONSTANT vf_vio_view s)
{
    if (!runs(s)) return;
    if (!blockIdx.x)
        vf_vio_prepare(&now(s), &s.vio->work, s.observe->count);
    else if (now(s).rig.detect_stationary)
        vf_vio_test_stationary(&now(s), &s.vio->work, s.observe->observation, s.observe->count);
}

#define GATHER_THREADS 128
#define ANCHOR_THREADS 256
#define ELEMENT_THREADS 128
#define PRIOR_THREADS 32

/** Linearizes all factors. The first LANDMARK_BLOCKS blocks have landmarks, the next inertial factors and prior, the
 *  last relative-pose Jacobians. */
static __global__ void __launch_bounds__(LANDMARK_THREADS) landmarks_k(const VF_CONSTANT vf_vio_view s)
{
    if (!runs(s)) return;
    if (blockIdx.x >= LANDMARK_BLOCKS + VF_VIO_IMU_BLOCKS)
        vf_vio_relative_jacobians(&now(s), &s.vio->work, (int)blockIdx.x - LANDMARK_BLOCKS - VF_VIO_IMU_BLOCKS);
    else if (blockIdx.x >= LANDMARK_BLOCKS)
        vf_vio_linearize_imu(&now(s), &s.vio->work, (int)blockIdx.x - LANDMARK_BLOCKS);
    else
        vf_vio_linearize_landmarks(&now(s), &s.vio->work);
}

static __global__ void __launch_bounds__(GATHER_THREADS, 1) gather_k(const VF_CONSTANT vf_vio_view s)
{
    if (runs(s)) vf_vio_gather(&s.vio->work);
}

/** Assembles the sums of each anchor frame, one block per anchor, which is held in shared memory; the last block sums
 *  the costs. */
static __global__ void __launch_bounds__(ANCHOR_THREADS) anchors_k(const VF_CONSTANT vf_vio_view s)
{
    __shared__ struct vf_vio_anchor anchor;
    vf_vio_work &k = s.vio->work;
    if (!runs(s)) return;
    if (blockIdx.x == VF_VIO_FRAMES) {
        vf_vio_costs(&now(s), &k);
    } else if (k.anchor[blockIdx.x].count) {
        vf_vio_copy_words(&anchor, &k.anchor[blockIdx.x], sizeof anchor);
        __syncthreads();
        vf_vio_anchor_assemble(&anchor, k.trial);
        __syncthreads();
        enum { CHANGED = offsetof(struct vf_vio_anchor, jacobian) - offsetof(struct vf_vio_anchor, H) };
        vf_vio_copy_words(k.anchor[blockIdx.x].H, anchor.H, CHANGED);
    }
}

static __global__ void __launch_bounds__(ELEMENT_THREADS) assemble_k(const VF_CONSTANT vf_vio_view s)
{
    if (runs(s)) vf_vio_assemble(&now(s), &s.vio->work);
}

/** Accepts or reverts the trial estimate, then solves for the next one (Levenberg-Marquardt). */
static __global__ void __launch_bounds__(THREADS) accept_k(const VF_CONSTANT vf_vio_view s)
{
    __shared__ vf_tiles tiles;
    vf_vio_work &k = s.vio->work;
    if (!runs(s)) return;
    vf_vio_accept_step(&now(s), &k);
    if (k.iterations == vf_vio_iterations(now(s).rig.cameras)) return;
    vf_tile_solve(&k, &tiles);
    __syncthreads();
    vf_vio_apply_step(&now(s), &k);
}

/** Starts new landmarks, selects what to marginalize, and outputs the state without its covariance. */
static __global__ void __launch_bounds__(THREADS) close_k(const VF_CONSTANT vf_vio_view s)
{
    vf_vio_work &k = s.vio->work;
    if (!runs(s)) return;
    vf_vio_close_frame(&now(s), &k, s.observe->observation, s.observe->count);
    vf_vio_output(&now(s), &k, &s.vio->nav, &s.vio->summary);
}

/** Outputs the covariance of the reported state. */
static __global__ void __launch_bounds__(THREADS) covariance_k(const VF_CONSTANT vf_vio_view s)
{
    __shared__ vf_tiles tiles;
    vf_vio_work &k = s.vio->work;
    if (runs(s)) {
        vf_tile_covariance(&now(s), &k, &tiles);
        vf_vio_covariance_corner(&now(s), &k);
        vf_vio_output_covariance(&now(s), &s.vio->nav);
    }
    __syncthreads();
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

#define MARGINALIZE_BLOCKS 16

/** Marginalizes in MARGINALIZE_BLOCKS blocks; one more block clears the dropped frames. */
static __global__ void __launch_bounds__(THREADS) marginalize_k(const VF_CONSTANT vf_vio_view s)
{
    __shared__ vf_solve_elimination workspace;
    vf_vio_work &k = s.vio->work;
    if (!runs(s)) return;
    if (blockIdx.x < MARGINALIZE_BLOCKS)
        vf_vio_marginalize(&now(s), &k, &workspace, (int)blockIdx.x, MARGINALIZE_BLOCKS);
    else
        vf_vio_drop_frames(&now(s), &k);
}

static __global__ void __launch_bounds__(PRIOR_THREADS) prior_k(const VF_CONSTANT vf_vio_view s)
{
    if (runs(s)) vf_vio_prior_gradient(&now(s), &s.vio->work);
}

/** Linearizes all factors at the trial estimate and assembles their system. */
static void make_system(const vf_vio_view &s, cudaStream_t stream)
{
    landmarks_k<<<LANDMARK_BLOCKS + VF_VIO_IMU_BLOCKS + VF_VIO_JACOBIAN_BLOCKS, LANDMARK_THREADS, 0, stream>>>(s);
    gather_k<<<vf_blocks(VF_VIO_LANES * VF_VIO_GATHER_GROUPS, GATHER_THREADS), GATHER_THREADS, 0, stream>>>(s);
    anchors_k<<<VF_VIO_FRAMES + 1, ANCHOR_THREADS, 0, stream>>>(s);
    assemble_k<<<vf_blocks(VF_VIO_ITEMS, ELEMENT_THREADS), ELEMENT_THREADS, 0, stream>>>(s);
}

#endif

extern "C" cudaError_t vf_vio_early_cuda(const vf_vio_view *s, cudaStream_t stream)
{
#if VFRONT_VIO
    copy_k<<<32, 256, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}

extern "C" cudaError_t vf_vio_cuda(const vf_vio_view *s, cudaStream_t stream)
{
#if VFRONT_VIO
    open_k<<<1, THREADS, 0, stream>>>(*s);
    ranges_k<<<LANDMARK_BLOCKS, LANDMARK_THREADS, 0, stream>>>(*s);
    prepare_k<<<2, THREADS, 0, stream>>>(*s);
    /* number of cameras as in the rig that nav/nav.c passes */
    const int iterations = vf_vio_iterations(s->geometry.pair.placed ? 2 : 1);
    for (int i = 0; i <= iterations; i++) {
        make_system(*s, stream);
        accept_k<<<1, THREADS, 0, stream>>>(*s);
    }
    close_k<<<1, THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}

extern "C" cudaError_t vf_vio_last_cuda(const vf_vio_view *s, cudaStream_t stream)
{
#if VFRONT_VIO
    covariance_k<<<1, THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}

extern "C" cudaError_t vf_vio_late_cuda(const vf_vio_view *s, cudaStream_t stream)
{
#if VFRONT_VIO
    make_system(*s, stream);
    marginalize_k<<<MARGINALIZE_BLOCKS + 1, THREADS, 0, stream>>>(*s);
    prior_k<<<vf_blocks(VF_VIO_COLUMNS, PRIOR_THREADS), PRIOR_THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
