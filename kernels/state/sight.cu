/* SPDX-License-Identifier: MIT */
/* sight on the GPU: a thread a track. */
#include "kernels/kernel.cuh"

#include "state/sight.h"

#if VFRONT_WINDOW

#define THREADS 128

static __global__ void __launch_bounds__(THREADS) sight_k(const VF_CONSTANT vf_sight_view s)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x, count = vf_sight_count(&s);
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.x);
    if (i == 0) s.sight->count = count;
    if (i < count) s.sight->sight[i] = vf_sight_of(&s, i, vf_sight_two(&s));
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

#endif

extern "C" cudaError_t vf_sight_cuda(const vf_sight_view *s, cudaStream_t stream)
{
#if VFRONT_WINDOW
    sight_k<<<vf_blocks(VF_WINDOW_SIGHTS, THREADS), THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
