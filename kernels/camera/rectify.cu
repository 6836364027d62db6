/* SPDX-License-Identifier: MIT */
/* rectify on the GPU: one launch for both cameras. A thread makes some rows of the pixels between four places, which it holds in
 * registers; what they come from is read through the first cache, where the neighbours' pixels lie as well. */
#include "kernels/kernel.cuh"

#ifndef VF_RECTIFY_ROWS
#define VF_RECTIFY_ROWS 2 /* of a thread: 1, 2 or 4 */
#endif
#define ROWS VF_RECTIFY_ROWS
#define WARPS 4

#if VFRONT_RECTIFY

static __device__ __forceinline__ vf_spot load_spot(const vf_spot *at)
{
    const int2 v = __ldg(reinterpret_cast<const int2 *>(at));
    return vf_spot{v.x, v.y};
}

static __device__ __forceinline__ uint32_t grey_of(const uint8_t *pixels, const vf_level &raw, const vf_spot &from)
{
    const vf_taps t = vf_rectify_taps(from, &raw);
    const uint8_t *above = pixels + t.at, *below = above + raw.pitch;
    const uint32_t grey = vf_rectify_blend(above[0], above[1], below[0], below[1], t.right, t.lower);
    return t.seen ? grey : 0;
}

static __device__ __forceinline__ void store_four(uint8_t *to, uint32_t four, int count)
{
    if (count >= 4) {
        *reinterpret_cast<uint32_t *>(to) = four;
    } else {
        for (int k = 0; k < count; k++) to[k] = (uint8_t)(four >> (8 * k));
    }
}

static __global__ void __launch_bounds__(WARPS *VF_WARP) rectify_k(const vf_step s)
{
    const int camera = blockIdx.z, cell = blockIdx.x * VF_WARP + threadIdx.x, x = VF_SPOT_PX * cell;
    const int y0 = (blockIdx.y * WARPS + threadIdx.y) * ROWS, clock = threadIdx.x == 0 && threadIdx.y == 0;
    const vf_level &l = s.geometry.level[camera][0], &raw = s.geometry.raw[camera];
    vf_rectify_memory &m = s.memory->rectify;
    if (clock) vf_clock_start(s, VF_rectify, blockIdx.x + blockIdx.y + camera);
    if (x < l.width && y0 < l.height) {
        const int across = VF_SPOTS(l.width), framed = vf_framed(&s, camera);
        const vf_spot *place = m.spot[camera] + y0 / VF_SPOT_PX * across + cell;
        const vf_spot top_left = load_spot(place), top_right = load_spot(place + 1);
        const vf_spot bottom_left = load_spot(place + across), bottom_right = load_spot(place + across + 1);
        vf_spot from[ROWS][VF_SPOT_PX];
        uint32_t four[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const int row = y0 % VF_SPOT_PX + r;
            const vf_spot left = vf_rectify_between(top_left, bottom_left, row),
                          right = vf_rectify_between(top_right, bottom_right, row);
            four[r] = 0;
#pragma unroll
            for (int k = 0; k < VF_SPOT_PX; k++) from[r][k] = vf_rectify_from(left, right, k, &raw);
#pragma unroll
            for (int k = 0; k < VF_SPOT_PX; k++) four[r] |= grey_of(m.raw[camera], raw, from[r][k]) << (8 * k);
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            if (y0 + r < l.height)
                store_four(vf_level_pixels(&s, s.parity, camera, 0) + (y0 + r) * l.pitch + x, four[r], l.width - x);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            uint32_t mask = 0;
            if (!framed || y0 + r >= l.height) break;
#pragma unroll
            for (int k = 0; k < VF_SPOT_PX; k++)
                mask |= (uint32_t)vf_rectify_masked(s.memory->ingest.mask_frame[camera], &raw, from[r][k]) << (8 * k);
            store_four(m.mask[camera] + (y0 + r) * l.pitch + x, mask, l.width - x);
        }
    }
    if (clock) vf_clock_end(s, VF_rectify);
}

#endif

extern "C" cudaError_t vf_rectify_cuda(const vf_step *s, cudaStream_t stream)
{
#if VFRONT_RECTIFY
    VF_STATIC_ASSERT(VF_SPOT_PX == 4 && VF_SPOT_PX % ROWS == 0,
                     "a thread's rows lie between the same places, and four pixels are a word");
    VF_STATIC_ASSERT(offsetof(vf_rectify_memory, spot) % 8 == 0 && sizeof(vf_spot) == 8, "places are read in one go");
    if (!vf_rectify_on(s)) return cudaSuccess;
    const vf_level &l = s->geometry.level[0][0]; /* both cameras' */
    const dim3 blocks(vf_blocks(l.width, VF_SPOT_PX * VF_WARP), vf_blocks(l.height, WARPS * ROWS), s->geometry.cameras);
    rectify_k<<<blocks, dim3(VF_WARP, WARPS), 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
