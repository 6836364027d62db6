/* SPDX-License-Identifier: MIT */
/* rectify on the GPU: one launch for both cameras. A thread makes VF_RECTIFY_ROWS rows of the 4x4 pixels between four
 * entries of the remap table, held in registers. Raw pixels are read through the L1 cache, which neighbouring threads
 * share. */
#include "kernels/kernel.cuh"

#include "camera/rectify.h"
#include "image/ingest.h"

#ifndef VF_RECTIFY_ROWS
#define VF_RECTIFY_ROWS 2 /* image rows that a thread makes: 1, 2 or 4 */
#endif
#define ROWS VF_RECTIFY_ROWS
#define WARPS 4

#if VFRONT_RECTIFY

/** Loads an entry of the remap table in one load of 8 bytes, through the read-only cache. */
static __device__ __forceinline__ vf_remap_entry load_entry(const vf_remap_entry *at)
{
    const int2 v = __ldg(reinterpret_cast<const int2 *>(at));
    return vf_remap_entry{v.x, v.y};
}

/** Interpolated grey level at the raw coordinates `from`, of vf_remap_pixel(); 0 for VF_REMAP_INVALID. */
static __device__ __forceinline__ uint32_t sample(const uint8_t *pixels, const vf_level &raw,
                                                  const vf_remap_entry &from)
{
    const vf_bilinear t = vf_bilinear_at(from, &raw);
    const uint8_t *above = pixels + t.offset, *below = above + raw.pitch;
    const uint32_t grey = vf_bilinear_grey(above[0], above[1], below[0], below[1], t.right, t.lower);
    return t.valid ? grey : 0;
}

/** Stores the first `count` of four pixels, as one word if possible. `to` is aligned to 4 bytes. */
static __device__ __forceinline__ void store_four(uint8_t *to, uint32_t four, int count)
{
    if (count >= 4) {
        *reinterpret_cast<uint32_t *>(to) = four;
    } else {
        for (int k = 0; k < count; k++) to[k] = (uint8_t)(four >> (8 * k));
    }
}

/** Rectifies images and masks. Grid: columns of 4 px, groups of rows, cameras. */
static __global__ void __launch_bounds__(WARPS *VF_WARP) rectify_k(const VF_CONSTANT vf_rectify_view s)
{
    const int camera = blockIdx.z, column = blockIdx.x * VF_WARP + threadIdx.x, x = VF_REMAP_STEP_PX * column;
    const int y0 = (blockIdx.y * WARPS + threadIdx.y) * ROWS, clock = threadIdx.x == 0 && threadIdx.y == 0;
    const vf_level &l = s.geometry.level[camera][0], &raw = s.geometry.raw[camera];
    vf_rectify_memory &m = *s.rectify;
    if (clock) vf_clock_start(s.clock, blockIdx.x + blockIdx.y + camera);
    if (x < l.width && y0 < l.height) {
        const int across = VF_REMAP_ENTRIES(l.width), framed = vf_framed(&s.ingest->params, camera);
        const vf_remap_entry *entry = m.remap[camera] + y0 / VF_REMAP_STEP_PX * across + column;
        const vf_remap_entry top_left = load_entry(entry), top_right = load_entry(entry + 1);
        const vf_remap_entry bottom_left = load_entry(entry + across), bottom_right = load_entry(entry + across + 1);
        vf_remap_entry from[ROWS][VF_REMAP_STEP_PX];
        uint32_t four[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const int row = y0 % VF_REMAP_STEP_PX + r;
            const vf_remap_entry left = vf_remap_between(top_left, bottom_left, row),
                                 right = vf_remap_between(top_right, bottom_right, row);
            four[r] = 0;
#pragma unroll
            for (int k = 0; k < VF_REMAP_STEP_PX; k++) from[r][k] = vf_remap_pixel(left, right, k, &raw);
#pragma unroll
            for (int k = 0; k < VF_REMAP_STEP_PX; k++)
                four[r] |= sample(s.ingest->picture[s.parity][camera], raw, from[r][k]) << (8 * k);
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            if (y0 + r < l.height)
                store_four(m.picture[s.parity][camera] + (y0 + r) * l.pitch + x, four[r], l.width - x);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            uint32_t mask = 0;
            if (!framed || y0 + r >= l.height) break;
#pragma unroll
            for (int k = 0; k < VF_REMAP_STEP_PX; k++)
                mask |= (uint32_t)vf_remap_mask(s.ingest->mask_frame[camera], &raw, from[r][k]) << (8 * k);
            store_four(m.mask[camera] + (y0 + r) * l.pitch + x, mask, l.width - x);
        }
    }
    if (clock) vf_clock_end(s.clock);
}

#endif

extern "C" cudaError_t vf_rectify_cuda(const vf_rectify_view *s, cudaStream_t stream)
{
#if VFRONT_RECTIFY
    VF_STATIC_ASSERT(VF_REMAP_STEP_PX == 4 && VF_REMAP_STEP_PX % ROWS == 0,
                     "the rows of a thread lie between the same entries, and four pixels are a word");
    VF_STATIC_ASSERT(offsetof(vf_rectify_memory, remap) % 8 == 0 && sizeof(vf_remap_entry) == 8,
                     "an entry is one aligned load");
    const vf_level &l = s->geometry.level[0][0]; /* both cameras have the same size */
    const dim3 blocks(vf_blocks(l.width, VF_REMAP_STEP_PX * VF_WARP), vf_blocks(l.height, WARPS * ROWS),
                      s->geometry.cameras);
    rectify_k<<<blocks, dim3(VF_WARP, WARPS), 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
