/* SPDX-License-Identifier: MIT */
/* recall (place recognition) on the GPU. One block extracts the query's points, and one selects the candidates. In
 * between, all multiprocessors compare the words of all keyframes. */
#include "kernels/kernel.cuh"

#include "map/recall.h"

#if VFRONT_MAP

#define THREADS 512
#define LOOK_THREADS 256

static __global__ void __launch_bounds__(THREADS) extract_k(const VF_CONSTANT vf_recall_view s)
{
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.x);
    vf_recall_extract(&s);
}

static __global__ void __launch_bounds__(LOOK_THREADS) count_k(const VF_CONSTANT vf_recall_view s)
{
    vf_recall_count(&s);
}

static __global__ void __launch_bounds__(LOOK_THREADS) score_k(const VF_CONSTANT vf_recall_view s)
{
    vf_recall_score(&s);
}

static __global__ void __launch_bounds__(THREADS) select_k(const VF_CONSTANT vf_recall_view s)
{
    vf_recall_select(&s);
    __syncthreads();
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

#endif

extern "C" cudaError_t vf_recall_cuda(const vf_recall_view *s, cudaStream_t stream)
{
#if VFRONT_MAP
    const unsigned blocks = vf_blocks(VFRONT_KEYFRAMES * VF_RECALL_TABLES * VF_KEYFRAME_POINTS, 4 * LOOK_THREADS);
    extract_k<<<1, THREADS, 0, stream>>>(*s);
    count_k<<<blocks, LOOK_THREADS, 0, stream>>>(*s);
    score_k<<<blocks, LOOK_THREADS, 0, stream>>>(*s);
    select_k<<<1, THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
