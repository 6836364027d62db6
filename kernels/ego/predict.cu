/* SPDX-License-Identifier: MIT */
/* predict on the GPU, concurrent with ingest: one thread predicts while the others sum the ranges of the previous
 * frame's key points; then all threads sum the parallaxes of those key points. */
#include "kernels/kernel.cuh"

#include "ego/predict.h"
#include "tracking/match.h"

#define THREADS 512

/** Shared memory: results of thread 0, which all threads read, and sums over all threads. */
struct shared {
    vfront_prediction_t now;
    vf_parallax_prior parallax;
    unsigned long long range[3], /* members of vf_depth_sums, in order */
        left[2];                 /* members of vf_parallax_sums, in order */
};

/** Adds the values of a warp's lanes, each below 2^50, to *sum in shared memory. */
static __device__ __forceinline__ void add_warp(unsigned long long *sum, uint64_t value)
{
    const uint32_t low = (uint32_t)vf_warp_sum((int32_t)(value & 0xffffff)),
                   high = (uint32_t)vf_warp_sum((int32_t)(value >> 24));
    if (threadIdx.x % VF_WARP == 0) atomicAdd(sum, (unsigned long long)low + ((unsigned long long)high << 24));
}

/** Sums the distances of the previous frame's key points, by all warps except the first. sum: members of vf_depth_sums,
 *  in order. */
static __device__ void sum_ranges(const vf_predict_view &s, const vf_params *params, unsigned long long sum[3])
{
    vf_depth_sums own = {0, 0, 0};
    const int count = vf_predict_ranges(&s, params);
    for (int i = threadIdx.x - VF_WARP; i < count; i += THREADS - VF_WARP)
        vf_predict_add_range(&own, vf_stereo_range(s.stereo, s.parity ^ 1, i).m);
    add_warp(&sum[0], own.count);
    add_warp(&sum[1], own.sum);
    add_warp(&sum[2], own.square);
}

#if VFRONT_MATCHES
/** Sums the parallaxes of the previous frame's key points, by all warps. R: rotation into the previous frame; sum:
 *  members of vf_parallax_sums, in order. */
static __device__ void sum_parallaxes(const vf_predict_view &s, const vf_params *params, const float R[9],
                                      unsigned long long sum[2])
{
    vf_parallax_sums own = {0, 0};
    const int before = s.parity ^ 1, count = vf_predict_matches(&s, params);
    for (int i = threadIdx.x; i < count; i += THREADS)
        vf_predict_add_parallax(&own, R, s.bearing->point[before][0][i].bearing, s.match->before[before][i]);
    add_warp(&sum[0], own.count);
    add_warp(&sum[1], own.square);
}
#endif

static __global__ void __launch_bounds__(THREADS) predict_k(const VF_CONSTANT vf_predict_view s)
{
    __shared__ shared own;
    __shared__ vf_params given;
    const vf_params *params = &given;
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.x);
    if (threadIdx.x < 3) own.range[threadIdx.x] = 0;
    if (threadIdx.x < 2) own.left[threadIdx.x] = 0;
    for (int i = threadIdx.x; i < (int)(sizeof given / 4); i += THREADS)
        reinterpret_cast<uint32_t *>(&given)[i] = reinterpret_cast<const uint32_t *>(s.given)[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        vf_predict_step(&s, params, &own.now);
        vf_predict_previous_rotation(&s, params, own.now.source, &own.parallax);
    }
    if (threadIdx.x >= VF_WARP) sum_ranges(s, params, own.range);
    __syncthreads();
#if VFRONT_MATCHES
    sum_parallaxes(s, params, own.parallax.R, own.left);
#endif
    __syncthreads();
    if (threadIdx.x) return;
    const vf_depth_sums range = {own.range[0], own.range[1], own.range[2]};
    const vf_parallax_sums left = {own.left[0], own.left[1]};
    own.parallax.rms = vf_predict_parallax_rms(&left, own.parallax.stale);
    s.predict->now = own.now;
    s.predict->prior = vf_predict_prior(&range);
    s.predict->parallax = own.parallax;
    vf_predict_keep(params, &s.predict->given[s.parity]);
    vf_clock_end(s.clock);
}

extern "C" cudaError_t vf_predict_cuda(const vf_predict_view *s, cudaStream_t stream)
{
    predict_k<<<1, THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
}
