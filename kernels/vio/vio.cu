/* SPDX-License-Identifier: MIT */
/* Kernels of the stage vio: a fixed sequence of launches (src/vio/launch.h). Linearization of landmarks, sums over
 * them, and assembly of the system use all multiprocessors; serial parts are launches of one block for each member. */
#include "kernels/kernel.cuh"

#include "vio/vio.h"
#include "vio/launch.h"
#include "solve_tiles.cuh"

#if VFRONT_VIO

#define THREADS VF_SOLVE_THREADS /* threads of a block in launches of one block */
#define LANDMARK_THREADS 128
#define LANDMARK_BLOCKS (16 * VF_VIO_LANDMARKS / LANDMARK_THREADS)

/** A member of the bank in this frame: blockIdx.y of every launch. */
struct bank_member {
    const vf_vio_member_request &request;
    vf_vio_window &now;
    vf_vio_work &work;
    bool runs;
};

static __device__ __forceinline__ bank_member member_of(const vf_vio_view &s)
{
    const int i = blockIdx.y;
    vf_vio_memory &m = *s.vio;
    return {m.request.member[i], m.window[s.parity][i], m.work[i], m.request.member[i].command != VF_VIO_NONE};
}

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
    const int own = blockIdx.y;
    const vf_vio_member_request &g = s.request->member[own];
    if (!own) copy(&m.request, s.request, sizeof m.request);
    if (g.command == VF_VIO_CONTINUE)
        copy(&m.window[s.parity][own], &m.window[s.parity ^ 1][g.from], sizeof m.window[0][0]);
    VF_ITEMS(i, (int)(sizeof m.nav[0] / 4))
    reinterpret_cast<uint32_t *>(&m.nav[own])[i] = 0;
    VF_ITEMS(i, (int)(sizeof m.summary[0] / 4))
    reinterpret_cast<uint32_t *>(&m.summary[own])[i] = 0;
}

static __global__ void __launch_bounds__(THREADS) open_k(const VF_CONSTANT vf_vio_view s)
{
    __shared__ uint32_t ids[VF_VIO_LANDMARKS];
    const vf_vio_request &g = s.vio->request;
    const bank_member m = member_of(s);
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.y);
    if (!m.runs) return;
    if (m.request.command == VF_VIO_BEGIN) vf_vio_init_window(&m.now, &g.rig, &g.noise, &g.first, g.information);
    vf_vio_open_frame(&m.now, &m.work, &m.request.motion, s.observe->observation, s.observe->count, ids);
}

/** Computes the information (inverse variance) of the landmarks' inverse ranges, and their residuals in camera 1. */
static __global__ void __launch_bounds__(LANDMARK_THREADS) ranges_k(const VF_CONSTANT vf_vio_view s)
{
    const bank_member m = member_of(s);
    if (m.runs) vf_vio_range_information(&m.now, &m.work);
}

/** Block 0: consistency test of the observations, and lists for the first system. Block 1: test whether the camera is
 *  stationary. */
static __global__ void __launch_bounds__(THREADS) prepare_k(const VF_CONSTANT vf_vio_view s)
{
    const bank_member m = member_of(s);
    if (!m.runs) return;
    if (!blockIdx.x)
        vf_vio_prepare(&m.now, &m.work, s.observe->count);
    else if (m.now.rig.detect_stationary)
        vf_vio_test_stationary(&m.now, &m.work, s.observe->observation, s.observe->count);
}

#define GATHER_THREADS 128
#define ANCHOR_THREADS 256
#define ELEMENT_THREADS 128
#define PRIOR_THREADS 32

/** Linearizes all factors. The first LANDMARK_BLOCKS blocks have landmarks, the next inertial factors and prior, the
 *  last relative-pose Jacobians. */
static __global__ void __launch_bounds__(LANDMARK_THREADS) landmarks_k(const VF_CONSTANT vf_vio_view s)
{
    const bank_member m = member_of(s);
    if (!m.runs) return;
    if (blockIdx.x >= LANDMARK_BLOCKS + VF_VIO_IMU_BLOCKS)
        vf_vio_relative_jacobians(&m.now, &m.work, (int)blockIdx.x - LANDMARK_BLOCKS - VF_VIO_IMU_BLOCKS);
    else if (blockIdx.x >= LANDMARK_BLOCKS)
        vf_vio_linearize_imu(&m.now, &m.work, (int)blockIdx.x - LANDMARK_BLOCKS);
    else
        vf_vio_linearize_landmarks(&m.now, &m.work);
}

static __global__ void __launch_bounds__(GATHER_THREADS, 1) gather_k(const VF_CONSTANT vf_vio_view s)
{
    const bank_member m = member_of(s);
    if (m.runs) vf_vio_gather(&m.work);
}

/** Assembles the sums of each anchor frame, one block per anchor, which is held in shared memory; the last block sums
 *  the costs. */
static __global__ void __launch_bounds__(ANCHOR_THREADS) anchors_k(const VF_CONSTANT vf_vio_view s)
{
    __shared__ struct vf_vio_anchor anchor;
    const bank_member m = member_of(s);
    vf_vio_work &k = m.work;
    if (!m.runs) return;
    if (blockIdx.x == VF_VIO_FRAMES) {
        vf_vio_costs(&m.now, &k);
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
    const bank_member m = member_of(s);
    if (m.runs) vf_vio_assemble(&m.now, &m.work);
}

/** Accepts or reverts the trial estimate, then solves for the next one (Levenberg-Marquardt). */
static __global__ void __launch_bounds__(THREADS) accept_k(const VF_CONSTANT vf_vio_view s)
{
    __shared__ vf_tiles tiles;
    const bank_member m = member_of(s);
    vf_vio_work &k = m.work;
    if (!m.runs) return;
    vf_vio_accept_step(&m.now, &k);
    if (k.iterations == vf_vio_iterations(m.now.rig.cameras)) return;
    vf_tile_solve(&k, &tiles);
    __syncthreads();
    vf_vio_apply_step(&m.now, &k);
}

/** Starts new landmarks, selects what to marginalize, and outputs the state without its covariance. */
static __global__ void __launch_bounds__(THREADS) close_k(const VF_CONSTANT vf_vio_view s)
{
    const bank_member m = member_of(s);
    if (!m.runs) return;
    vf_vio_close_frame(&m.now, &m.work, s.observe->observation, s.observe->count);
    vf_vio_output(&m.now, &m.work, &s.vio->nav[blockIdx.y], &s.vio->summary[blockIdx.y]);
}

/** Outputs the covariance of the reported state. */
static __global__ void __launch_bounds__(THREADS) covariance_k(const VF_CONSTANT vf_vio_view s)
{
    __shared__ vf_tiles tiles;
    const bank_member m = member_of(s);
    if (m.runs) {
        vf_tile_covariance(&m.now, &m.work, &tiles);
        vf_vio_covariance_corner(&m.now, &m.work);
        vf_vio_output_covariance(&m.now, &s.vio->nav[blockIdx.y]);
    }
    __syncthreads();
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

#define MARGINALIZE_BLOCKS 16

/** Marginalizes in MARGINALIZE_BLOCKS blocks; one more block clears the dropped frames. */
static __global__ void __launch_bounds__(THREADS) marginalize_k(const VF_CONSTANT vf_vio_view s)
{
    __shared__ vf_solve_elimination workspace;
    const bank_member m = member_of(s);
    if (!m.runs) return;
    if (blockIdx.x < MARGINALIZE_BLOCKS)
        vf_vio_marginalize(&m.now, &m.work, &workspace, (int)blockIdx.x, MARGINALIZE_BLOCKS);
    else
        vf_vio_drop_frames(&m.now, &m.work);
}

static __global__ void __launch_bounds__(PRIOR_THREADS) prior_k(const VF_CONSTANT vf_vio_view s)
{
    const bank_member m = member_of(s);
    if (m.runs) vf_vio_prior_gradient(&m.now, &m.work);
}

/** Grid of a launch: `blocks` blocks for each member of the bank. */
static dim3 each_member(unsigned blocks) { return dim3(blocks, VF_BANK); }

/** Linearizes all factors at the trial estimate and assembles their system. */
static void make_system(const vf_vio_view &s, cudaStream_t stream)
{
    landmarks_k<<<each_member(LANDMARK_BLOCKS + VF_VIO_IMU_BLOCKS + VF_VIO_JACOBIAN_BLOCKS), LANDMARK_THREADS, 0,
                  stream>>>(s);
    gather_k<<<each_member(vf_blocks(VF_VIO_LANES * VF_VIO_GATHER_GROUPS, GATHER_THREADS)), GATHER_THREADS, 0,
               stream>>>(s);
    anchors_k<<<each_member(VF_VIO_FRAMES + 1), ANCHOR_THREADS, 0, stream>>>(s);
    assemble_k<<<each_member(vf_blocks(VF_VIO_ITEMS, ELEMENT_THREADS)), ELEMENT_THREADS, 0, stream>>>(s);
}

#endif

extern "C" cudaError_t vf_vio_early_cuda(const vf_vio_view *s, cudaStream_t stream)
{
#if VFRONT_VIO
    copy_k<<<each_member(32), 256, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}

extern "C" cudaError_t vf_vio_cuda(const vf_vio_view *s, cudaStream_t stream)
{
#if VFRONT_VIO
    open_k<<<each_member(1), THREADS, 0, stream>>>(*s);
    ranges_k<<<each_member(LANDMARK_BLOCKS), LANDMARK_THREADS, 0, stream>>>(*s);
    prepare_k<<<each_member(2), THREADS, 0, stream>>>(*s);
    /* number of cameras as in the rig that nav/nav.c passes */
    const int iterations = vf_vio_iterations(s->geometry.pair.placed ? 2 : 1);
    for (int i = 0; i <= iterations; i++) {
        make_system(*s, stream);
        accept_k<<<each_member(1), THREADS, 0, stream>>>(*s);
    }
    close_k<<<each_member(1), THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}

extern "C" cudaError_t vf_vio_last_cuda(const vf_vio_view *s, cudaStream_t stream)
{
#if VFRONT_VIO
    covariance_k<<<each_member(1), THREADS, 0, stream>>>(*s);
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
    marginalize_k<<<each_member(MARGINALIZE_BLOCKS + 1), THREADS, 0, stream>>>(*s);
    prior_k<<<each_member(vf_blocks(VF_VIO_COLUMNS, PRIOR_THREADS)), PRIOR_THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
