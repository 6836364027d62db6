/* SPDX-License-Identifier: MIT */
/* Kernel of the stage observe: one thread per track. */
#include "kernels/kernel.cuh"

#include "vio/observe.h"

#if VFRONT_VIO

#define THREADS 128

static __global__ void __launch_bounds__(THREADS) observe_k(const VF_CONSTANT vf_observe_view s)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x, count = vf_observe_count(&s);
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.x);
    if (i == 0) s.observe->count = count;
    if (i < count) s.observe->observation[i] = vf_observe_track(&s, i, vf_observe_pair_valid(&s));
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

#endif

extern "C" cudaError_t vf_observe_cuda(const vf_observe_view *s, cudaStream_t stream)
{
#if VFRONT_VIO
    observe_k<<<vf_blocks(VF_VIO_OBSERVATIONS, THREADS), THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
