/* SPDX-License-Identifier: MIT */
/* keyframe on the GPU. Two early launches run concurrently with estimator and motion: commit_k copies the words of a
 * new keyframe, evict_k computes the eviction key of each keyframe, one thread each. Then decide_k, one block, decides
 * whether the frame becomes a keyframe. */
#include "kernels/kernel.cuh"

#include "map/keyframe.h"

#if VFRONT_MAP

#define THREADS 256
#define EVICT_THREADS 32

static __global__ void __launch_bounds__(THREADS) commit_k(const VF_CONSTANT vf_keyframe_view s)
{
    vf_keyframe_commit(&s);
}

static __global__ void __launch_bounds__(EVICT_THREADS) evict_k(const VF_CONSTANT vf_keyframe_view s)
{
    vf_keyframe_evict_keys(&s);
}

static __global__ void __launch_bounds__(THREADS) decide_k(const VF_CONSTANT vf_keyframe_view s)
{
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.x);
    vf_keyframe_decide(&s);
    __syncthreads();
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

#endif

extern "C" cudaError_t vf_keyframe_early_cuda(const vf_keyframe_view *s, cudaStream_t stream)
{
#if VFRONT_MAP
    commit_k<<<8, THREADS, 0, stream>>>(*s);
    evict_k<<<VFRONT_KEYFRAMES / EVICT_THREADS, EVICT_THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}

extern "C" cudaError_t vf_keyframe_cuda(const vf_keyframe_view *s, cudaStream_t stream)
{
#if VFRONT_MAP
    decide_k<<<1, THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
