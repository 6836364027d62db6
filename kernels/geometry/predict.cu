/* SPDX-License-Identifier: MIT */
/* predict on the GPU: one warp, which sums over the ranges of the previous frame; the rest is one thread's. */
#include "kernels/kernel.cuh"

#include "geometry/predict.h"

/** Sums over the ranges, in shared memory. */
static __device__ void sum_ranges(const vf_predict_view &s, unsigned long long sum[3])
{
    vf_depth_sums own = {0, 0, 0};
    const int count = vf_predict_ranges(&s, &s.ingest->params);
    if (threadIdx.x < 3) sum[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += VF_WARP)
        vf_predict_add_range(&own, vf_stereo_range(s.stereo, s.parity ^ 1, i).m);
    atomicAdd(&sum[0], (unsigned long long)own.count);
    atomicAdd(&sum[1], (unsigned long long)own.sum);
    atomicAdd(&sum[2], (unsigned long long)own.square);
    __syncthreads();
}

static __global__ void __launch_bounds__(VF_WARP) predict_k(const VF_CONSTANT vf_predict_view s)
{
    __shared__ unsigned long long sum[3];
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.x);
    sum_ranges(s, sum);
    if (threadIdx.x) return;
    const vf_depth_sums sums = {sum[0], sum[1], sum[2]};
    vfront_prediction_t p;
    vf_predict_step(&s, &s.ingest->params, &p);
    s.predict->now = p;
    s.predict->prior = vf_predict_prior(&sums);
    vf_clock_end(s.clock);
}

extern "C" cudaError_t vf_predict_cuda(const vf_predict_view *s, cudaStream_t stream)
{
    predict_k<<<1, VF_WARP, 0, stream>>>(*s);
    return cudaGetLastError();
}
