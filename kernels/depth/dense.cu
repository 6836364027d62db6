/* SPDX-License-Identifier: MIT */
/* dense on the GPU, in this order: census words (dense_census.cuh); path costs, two directions a launch, each to its
 * own cost volume (dense_paths.cuh); winners (dense_winner.cuh); left-right check and median (dense_median.cuh);
 * speckle filter (dense_speckle.cuh); half-occluded pixels, confidences and copies. */
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

#define RESULT_PX 8          /* consecutive pixels of a thread: 16 bytes of disparities */
#define RESULT_THREADS 512   /* most threads of a block, which has a row */
#define NO_LEFT 0u           /* of row_neighbours.left: no disparity */
#define NO_RIGHT 0xffffffffu /* of row_neighbours.right: no disparity */
VF_STATIC_ASSERT((VFRONT_WIDTH + RESULT_PX - 1) / RESULT_PX <= RESULT_THREADS, "a block has a row");

/** A pixel with a disparity, as a number that rises with the column. x: its column. */
static __device__ __forceinline__ uint32_t row_pixel(int x, uint32_t disparity) { return (x + 1) << 16 | disparity; }

/** Nearest pixels with a disparity left and right of a thread's pixels, row_pixel(). */
struct row_neighbours {
    uint32_t left, right;
};
/** Finds the neighbours of a thread's pixels in the row of its block. first, last: row_pixel() of its first and last
 *  pixel with a disparity; NO_RIGHT, NO_LEFT: none. Called by all threads of the block. */
static __device__ row_neighbours find_neighbours(uint32_t first, uint32_t last)
{
    __shared__ uint32_t warp_first[RESULT_THREADS / VF_WARP], warp_last[RESULT_THREADS / VF_WARP];
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP, warps = blockDim.x / VF_WARP;
    const uint32_t have = __ballot_sync(VF_ALL, last != NO_LEFT), before = have & ((1u << lane) - 1),
                   behind = have & (0xfffffffeu << lane);
    const uint32_t from_left = __shfl_sync(VF_ALL, last, before ? 31 - __clz((int)before) : 0),
                   from_right = __shfl_sync(VF_ALL, first, behind ? __ffs((int)behind) - 1 : 0),
                   of_warp_last = __shfl_sync(VF_ALL, last, have ? 31 - __clz((int)have) : 0),
                   of_warp_first = __shfl_sync(VF_ALL, first, have ? __ffs((int)have) - 1 : 0);
    if (!lane) {
        warp_first[warp] = have ? of_warp_first : NO_RIGHT;
        warp_last[warp] = have ? of_warp_last : NO_LEFT;
    }
    __syncthreads();
    row_neighbours n = {before ? from_left : NO_LEFT, behind ? from_right : NO_RIGHT};
    for (int k = 0; k < warps; k++) {
        if (!before && k < warp) n.left = max(n.left, warp_last[k]);
        if (!behind && k > warp) n.right = min(n.right, warp_first[k]);
    }
    return n;
}

/** A thread's pixels of the result. */
struct result_pixels {
    union {
        uint4 all;
        uint16_t one[RESULT_PX];
    } disparity;
    union {
        uint2 all;
        uint8_t one[RESULT_PX];
    } confidence;
};

/** Gives the half-occluded pixels among a thread's pixels the disparity on their left. x, y: first pixel; rest: number
 *  of pixels from there to the row's end. Called by all threads of the block. */
static __device__ void fill_half_occluded(const vf_dense_view &s, const int framed[2], int x, int y, int rest,
                                          result_pixels &p)
{
    uint32_t first = NO_RIGHT, last = NO_LEFT;
#pragma unroll
    for (int k = 0; k < RESULT_PX; k++) {
        if (p.disparity.one[k] == VF_DENSE_NONE) continue;
        last = row_pixel(x + k, p.disparity.one[k]);
        if (first == NO_RIGHT) first = last;
    }
    const row_neighbours n = find_neighbours(first, last);
    uint32_t left = n.left;
#pragma unroll
    for (int k = 0; k < RESULT_PX; k++) {
        if (p.disparity.one[k] != VF_DENSE_NONE) {
            left = row_pixel(x + k, p.disparity.one[k]);
            continue;
        }
        uint32_t right = n.right;
#pragma unroll
        for (int u = RESULT_PX - 1; u > k; u--)
            if (p.disparity.one[u] != VF_DENSE_NONE) right = row_pixel(x + u, p.disparity.one[u]);
        const uint32_t farther = left & 0xffff;
        if (k >= rest || left == NO_LEFT || right == NO_RIGHT) continue;
        if (!vf_dense_half_occluded(farther, right & 0xffff, (int)(right >> 16) - (int)(left >> 16) - 1)) continue;
        if (!vf_dense_usable(&s, framed, x + k, y, farther)) continue;
        p.disparity.one[k] = (uint16_t)farther;
        p.confidence.one[k] = VF_DENSE_FILLED;
    }
}

/** Fills half-occluded pixels. Writes confidences, the number of pixels with a disparity, and copies of the result in
 *  pinned memory. A block has a row. The row's rest is not limited to RESULT_PX and then compared with it: of minimum,
 *  maximum and comparison ptxas of CUDA 13.0 makes one VIMNMX.RELU for sm_90, and takes a rest of 1 for RESULT_PX. */
static __global__ void __launch_bounds__(RESULT_THREADS) finish_k(const VF_CONSTANT vf_dense_view s)
{
    vf_dense_memory &m = *s.dense;
    vf_dense_copy &copy = s.copy[s.ingest->params.result];
    const vf_level &l = picture(s);
    const int x = threadIdx.x * RESULT_PX, y = blockIdx.x, at = y * l.pitch + x, rest = l.width - x,
              framed[2] = {vf_framed(&s.ingest->params, 0), vf_framed(&s.ingest->params, 1)};
    const uint8_t *margin = s.scratch->margin + at;
    result_pixels p;
    int valid = 0;
    if (rest >= RESULT_PX) {
        p.disparity.all = *reinterpret_cast<const uint4 *>(m.disparity + at);
        p.confidence.all = *reinterpret_cast<const uint2 *>(margin);
    }
    if (rest < RESULT_PX)
#pragma unroll
        for (int k = 0; k < RESULT_PX; k++) {
            p.disparity.one[k] = k < rest ? m.disparity[at + k] : VF_DENSE_NONE;
            p.confidence.one[k] = k < rest ? margin[k] : 0;
        }
    fill_half_occluded(s, framed, x, y, rest, p);
#pragma unroll
    for (int k = 0; k < RESULT_PX; k++) {
        if (p.disparity.one[k] == VF_DENSE_NONE)
            p.confidence.one[k] = 0;
        else
            valid++;
        if (k >= rest || rest >= RESULT_PX) continue;
        m.disparity[at + k] = p.disparity.one[k];
        m.confidence[at + k] = p.confidence.one[k];
        if (s.tuning.dense == VFRONT_DENSE_DEVICE) continue;
        copy.disparity[at + k] = p.disparity.one[k];
        copy.confidence[at + k] = p.confidence.one[k];
    }
    if (rest >= RESULT_PX) {
        *reinterpret_cast<uint4 *>(m.disparity + at) = p.disparity.all;
        *reinterpret_cast<uint2 *>(m.confidence + at) = p.confidence.all;
        if (s.tuning.dense != VFRONT_DENSE_DEVICE) {
            *reinterpret_cast<uint4 *>(copy.disparity + at) = p.disparity.all;
            *reinterpret_cast<uint2 *>(copy.confidence + at) = p.confidence.all;
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
    finish_k<<<l.height, vf_blocks(l.width, RESULT_PX * VF_WARP) * VF_WARP, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
