/* SPDX-License-Identifier: MIT */
/* epipolar on the GPU: a warp measures the epipolar offset of a match, each lane with four pixels of every patch. Runs
 * concurrently with match and ego, off the critical path. */
#include "kernels/kernel.cuh"
#include "kernels/geometry/stereo_patch.cuh"

#include "geometry/epipolar.h"

#if VFRONT_STEREO

#define WARPS 4
#define THREADS (WARPS * VF_WARP)

/** Step of match i across its epipolar line, by one Gauss-Newton step of its patches [1/4096 px], or
 *  VF_EPIPOLAR_NO_STEP. */
static __device__ __forceinline__ int measure_step(const vf_epipolar_view &s, int i, float shift_px, int lane)
{
    const vf_level &l0 = s.geometry.level[0][0], &l1 = s.geometry.level[1][0];
    const vf_epipolar_patches at = vf_epipolar_patches_of(&s.bearing->point[s.parity][0][i], &s.stereo->location[i],
                                                          shift_px);
    if (!vf_epipolar_inside(&l0, &l1, &at)) return VF_EPIPOLAR_NO_STEP;
    const uint8_t *pixels = s.pictures.level0[s.parity][0];
    const patch own = read_around(pixels, l0.pitch, at.own, lane),
                ahead = read_around(pixels, l0.pitch, at.ahead, lane),
                behind = read_around(pixels, l0.pitch, at.behind, lane),
                left = read_around(pixels, l0.pitch, at.left, lane),
                right = read_around(pixels, l0.pitch, at.right, lane),
                other = read_around(s.pictures.level0[s.parity][1], l1.pitch, at.other, lane);
    vf_epipolar_normal sum = {};
#pragma unroll
    for (int t = 0; t < LANE_PIXELS; t++)
        if (in_patch(t, lane))
            vf_epipolar_accumulate(&sum, own.grey[t], ahead.grey[t], behind.grey[t], left.grey[t], right.grey[t],
                                   other.grey[t]);
    const vf_epipolar_normal all = {vf_warp_sum(sum.n),  vf_warp_sum(sum.g),  vf_warp_sum(sum.h),
                                    vf_warp_sum(sum.d),  vf_warp_sum(sum.gg), vf_warp_sum(sum.gh),
                                    vf_warp_sum(sum.hh), vf_warp_sum(sum.gd), vf_warp_sum(sum.hd)};
    return vf_epipolar_step_q12(&all);
}

/** Updates the estimate of the epipolar offset after the frame, and clears the sums of the next frame. Called by one
 *  thread of the block that finishes last. */
static __device__ void finish(const vf_epipolar_view &s)
{
    vf_epipolar_memory &m = *s.epipolar;
    const vf_epipolar_sums *sums = &m.sums[s.parity], none = {0, 0, 0};
    const vf_epipolar_sums all = {__ldcg(&sums->matches), __ldcg(&sums->within), __ldcg(&sums->q12)};
    m.estimate[s.parity] = vf_epipolar_next(&all, s.stereo->pair[s.parity].state == VFRONT_STEREO_GOOD,
                                            s.ingest->params.frame == 0, s.tuning.rig_offset,
                                            &m.estimate[s.parity ^ 1]);
    m.sums[s.parity ^ 1] = none;
}

static __global__ void __launch_bounds__(THREADS) epipolar_k(const VF_CONSTANT vf_epipolar_view s)
{
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP;
    const uint64_t frame = s.ingest->params.frame;
    const uint32_t count = s.bearing->count[s.parity][0];
    const float shift_px = vf_epipolar_shift_px(&s);
    __shared__ vf_epipolar_sums sum;
    vf_epipolar_memory &m = *s.epipolar;
    if (threadIdx.x == 0) {
        vf_clock_start(s.clock, blockIdx.x);
        sum.matches = sum.within = sum.q12 = 0;
    }
    __syncthreads();
    vf_epipolar_sums own = {0, 0, 0};
    for (uint32_t k = blockIdx.x * WARPS + warp, i; (i = vf_epipolar_point(k, frame)) < count; k += gridDim.x * WARPS)
        if (s.stereo->cost[i] != VF_NONE) vf_epipolar_add(&own, measure_step(s, (int)i, shift_px, lane));
    if (lane == 0 && own.matches) {
        atomicAdd(&sum.matches, own.matches);
        atomicAdd(&sum.within, own.within);
        atomicAdd(&sum.q12, own.q12);
    }
    __syncthreads();
    if (threadIdx.x) return;
    if (sum.matches) {
        atomicAdd(&m.sums[s.parity].matches, sum.matches);
        atomicAdd(&m.sums[s.parity].within, sum.within);
        atomicAdd(&m.sums[s.parity].q12, sum.q12);
    }
    __threadfence(); /* the block's sums are visible before the block is counted as finished */
    if (atomicInc(&m.blocks_done, gridDim.x - 1) == gridDim.x - 1) {
        __threadfence();
        finish(s);
    }
    vf_clock_end(s.clock);
}

#endif

extern "C" cudaError_t vf_epipolar_cuda(const vf_epipolar_view *s, cudaStream_t stream)
{
#if VFRONT_STEREO
    const int points = vf_clamp(s->tuning.select_points, 1, 65536);
    epipolar_k<<<vf_blocks(vf_blocks(points, VF_EPIPOLAR_SHARE * VF_EPIPOLAR_BUNCH) * VF_EPIPOLAR_BUNCH, WARPS),
                 THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
