/* SPDX-License-Identifier: MIT */
/* dense on the GPU, in this order: census words (dense_census.cuh); path costs, two directions a launch, each to its
 * own cost volume (dense_paths.cuh); winners (dense_winner.cuh); left-right check and median (dense_median.cuh);
 * speckle filter (dense_speckle.cuh); confidences and copies. */
#include "kernels/kernel.cuh"

#include "depth/dense.h"
#include "image/ingest.h"

#if VFRONT_DENSE

#include "dense_census.cuh"
#include "dense_paths.cuh"
#include "dense_winner.cuh"
#include "dense_median.cuh"
#include "dense_speckle.cuh"

/* ---- result ------------------------------------------------------------------------------------------------------ */

#define THREADS 256
#define RESULT_PX 8 /* consecutive pixels of a thread: 16 bytes of disparities */

/** Writes confidences, the number of pixels with a disparity, and copies of the result in pinned memory. */
static __global__ void __launch_bounds__(THREADS) finish_k(const VF_CONSTANT vf_dense_view s)
{
    vf_dense_memory &m = *s.dense;
    vf_dense_copy &copy = s.copy[s.ingest->params.result];
    const vf_level &l = picture(s);
    const int groups = l.pitch / RESULT_PX, group = blockIdx.x * THREADS + threadIdx.x;
    const int x = group % groups * RESULT_PX, y = group / groups, at = y * l.pitch + x,
              count = y < l.height ? vf_min(RESULT_PX, l.width - x) : 0;
    const uint8_t *margin = s.scratch->margin + at;
    union {
        uint4 all;
        uint16_t one[RESULT_PX];
    } disparity;
    union {
        uint2 all;
        uint8_t one[RESULT_PX];
    } confidence;
    int valid = 0;
    if (count == RESULT_PX) {
        disparity.all = *reinterpret_cast<const uint4 *>(m.disparity + at);
        confidence.all = *reinterpret_cast<const uint2 *>(margin);
    }
#pragma unroll
    for (int k = 0; k < RESULT_PX; k++) {
        if (count < RESULT_PX) {
            disparity.one[k] = k < count ? m.disparity[at + k] : VF_DENSE_NONE;
            confidence.one[k] = k < count ? margin[k] : 0;
        }
        if (disparity.one[k] == VF_DENSE_NONE)
            confidence.one[k] = 0;
        else
            valid++;
        if (k >= count || count == RESULT_PX) continue;
        m.confidence[at + k] = confidence.one[k];
        if (s.tuning.dense == VFRONT_DENSE_DEVICE) continue;
        copy.disparity[at + k] = disparity.one[k];
        copy.confidence[at + k] = confidence.one[k];
    }
    if (count == RESULT_PX) {
        *reinterpret_cast<uint2 *>(m.confidence + at) = confidence.all;
        if (s.tuning.dense != VFRONT_DENSE_DEVICE) {
            *reinterpret_cast<uint4 *>(copy.disparity + at) = disparity.all;
            *reinterpret_cast<uint2 *>(copy.confidence + at) = confidence.all;
        }
    }
    valid = vf_warp_sum(valid);
    if (threadIdx.x % VF_WARP == 0 && valid) atomicAdd(&m.valid, (uint32_t)valid);
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

/* ---- launch ------------------------------------------------------------------------------------------------------ */

/** Launches the kernels of path costs and winners. COUNT: disparities per lane, dense_disparities / VF_WARP. */
template <int COUNT> static void launch_matching(const vf_dense_view &s, cudaStream_t stream)
{
    const vf_level &l = s.geometry.level[0][0];
    const int multiprocessors = vf_multiprocessors();
    const int straight = l.height + l.width, diagonal = 2 * l.width;
    straight_paths_k<COUNT, true><<<straight, VF_WARP, 0, stream>>>(s, multiprocessors);
    straight_paths_k<COUNT, false><<<straight, VF_WARP, 0, stream>>>(s, multiprocessors);
    for (int sign = 1; sign >= -1; sign -= 2)
        diagonal_paths_k<COUNT><<<diagonal, VF_WARP, 0, stream>>>(s, sign, multiprocessors);
    winners_k<COUNT><<<dim3(vf_blocks(l.width, WINNER_COLUMNS), l.height), VF_WARP, 0, stream>>>(s);
}

/** Number of overlapping tiles of the speckle filter along an axis of `size` pixels: the fewest that cover it. */
static unsigned tile_count(int size)
{
    return (unsigned)vf_max((size + VF_DENSE_TILE_STRIDE - 1) / VF_DENSE_TILE_STRIDE - 1, 1);
}

#endif

extern "C" cudaError_t vf_dense_cuda(const vf_dense_view *s, cudaStream_t stream)
{
#if VFRONT_DENSE
    VF_STATIC_ASSERT(offsetof(vf_dense_memory, confidence) % RESULT_PX == 0 &&
                         offsetof(vf_dense_scratch, margin) % RESULT_PX == 0 && VFRONT_PITCH(1) % RESULT_PX == 0,
                     "a thread's pixels are one aligned load");
    VF_STATIC_ASSERT(offsetof(vf_dense_scratch, cost_volume) % 8 == 0, "a lane's costs are one aligned load");
    const vf_level &l = s->geometry.level[0][0];
    census_k<<<dim3(vf_blocks(l.width, CENSUS_PX * CENSUS_THREADS), l.height, 2), CENSUS_THREADS, 0, stream>>>(*s);
    switch (s->tuning.dense_disparities) {
    case 64: launch_matching<2>(*s, stream); break;
#if VFRONT_DISPARITIES >= 128
    case 128: launch_matching<4>(*s, stream); break;
#endif
#if VFRONT_DISPARITIES >= 256
    case 256: launch_matching<8>(*s, stream); break;
#endif
    default: return cudaErrorInvalidValue;
    }
    median_k<<<dim3(vf_blocks(l.width, MEDIAN_WIDTH), vf_blocks(l.height, MEDIAN_HEIGHT)), MEDIAN_WIDTH * MEDIAN_HEIGHT,
               0, stream>>>(*s);
    if (s->tuning.dense_speckle_px)
        speckle_k<<<dim3(tile_count(l.width), tile_count(l.height)), SPECKLE_THREADS, 0, stream>>>(*s);
    finish_k<<<vf_blocks(l.pitch / RESULT_PX * l.height, THREADS), THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
