/* SPDX-License-Identifier: MIT */
/* place on the GPU: points and candidates by one block each, words of all keyframes by all multiprocessors. */
#include "kernels/kernel.cuh"

#include "map/place.h"

#if VFRONT_MAP

#define THREADS 512
#define LOOK_THREADS 256

static __global__ void __launch_bounds__(THREADS) gather_k(const VF_CONSTANT vf_place_view s)
{
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.x);
    vf_place_gather(&s);
}

static __global__ void __launch_bounds__(LOOK_THREADS) count_k(const VF_CONSTANT vf_place_view s)
{
    vf_place_count(&s);
}

static __global__ void __launch_bounds__(LOOK_THREADS) score_k(const VF_CONSTANT vf_place_view s)
{
    vf_place_score(&s);
}

static __global__ void __launch_bounds__(THREADS) choose_k(const VF_CONSTANT vf_place_view s)
{
    vf_place_choose(&s);
    __syncthreads();
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

#endif

extern "C" cudaError_t vf_place_cuda(const vf_place_view *s, cudaStream_t stream)
{
#if VFRONT_MAP
    const unsigned blocks = vf_blocks(VFRONT_KEYFRAMES * VF_PLACE_TABLES * VF_PLACE_POINTS, 4 * LOOK_THREADS);
    gather_k<<<1, THREADS, 0, stream>>>(*s);
    count_k<<<blocks, LOOK_THREADS, 0, stream>>>(*s);
    score_k<<<blocks, LOOK_THREADS, 0, stream>>>(*s);
    choose_k<<<1, THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
