/* SPDX-License-Identifier: MIT */
/* map on the GPU: two launches of one block, with one thread per keyframe or per component of its unknowns. solve_k
 * reads only the parameters of this frame, and runs concurrently with all stages after ingest. update_k makes this
 * frame's changes. */
#include "kernels/kernel.cuh"

#include "map/map.h"

#if VFRONT_MAP

#define SOLVE_THREADS 512
#define UPDATE_THREADS 256

static __global__ void __launch_bounds__(SOLVE_THREADS) solve_k(const VF_CONSTANT vf_map_view s) { vf_map_solve(&s); }

static __global__ void __launch_bounds__(UPDATE_THREADS) update_k(const VF_CONSTANT vf_map_view s)
{
    if (threadIdx.x == 0) vf_clock_start(s.clock, 0);
    vf_map_update(&s);
    __syncthreads();
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

#endif

extern "C" cudaError_t vf_map_early_cuda(const vf_map_view *s, cudaStream_t stream)
{
#if VFRONT_MAP
    solve_k<<<1, SOLVE_THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}

extern "C" cudaError_t vf_map_cuda(const vf_map_view *s, cudaStream_t stream)
{
#if VFRONT_MAP
    update_k<<<1, UPDATE_THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
