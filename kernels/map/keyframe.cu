/* SPDX-License-Identifier: MIT */
/* keyframe on the GPU: a thread a word of a new keyframe, a thread a keyframe for its density; these need no state and
 * no motion of this frame and run beside them. Then one block. */
#include "kernels/kernel.cuh"

#include "map/keyframe.h"

#if VFRONT_MAP

#define THREADS 256
#define CROWD_THREADS 32

static __global__ void __launch_bounds__(THREADS) commit_k(const VF_CONSTANT vf_keyframe_view s)
{
    vf_keyframe_commit(&s);
}

static __global__ void __launch_bounds__(CROWD_THREADS) crowd_k(const VF_CONSTANT vf_keyframe_view s)
{
    vf_keyframe_crowd(&s);
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
    crowd_k<<<VFRONT_KEYFRAMES / CROWD_THREADS, CROWD_THREADS, 0, stream>>>(*s);
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
