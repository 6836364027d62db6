/* SPDX-License-Identifier: MIT */
/* map on the GPU: one block, a thread a keyframe, or a component of its unknowns. */
#include "kernels/kernel.cuh"

#include "map/map.h"

#if VFRONT_MAP

#define THREADS 512

static __global__ void __launch_bounds__(THREADS) step_k(const VF_CONSTANT vf_map_view s)
{
    if (threadIdx.x == 0) vf_clock_start(s.clock, 0);
    vf_map_step(&s);
    __syncthreads();
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

#endif

extern "C" cudaError_t vf_map_cuda(const vf_map_view *s, cudaStream_t stream)
{
#if VFRONT_MAP
    step_k<<<1, THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
