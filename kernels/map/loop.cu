/* SPDX-License-Identifier: MIT */
/* loop on the GPU: one block; one thread compares each pair of loop hypotheses. */
#include "kernels/kernel.cuh"

#include "map/loop.h"

#if VFRONT_MAP

#define THREADS 64

static __global__ void __launch_bounds__(THREADS) decide_k(const VF_CONSTANT vf_loop_view s)
{
    if (threadIdx.x == 0) vf_clock_start(s.clock, 0);
    vf_loop_decide(&s);
    __syncthreads();
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

#endif

extern "C" cudaError_t vf_loop_cuda(const vf_loop_view *s, cudaStream_t stream)
{
#if VFRONT_MAP
    decide_k<<<1, THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
