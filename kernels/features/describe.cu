/* SPDX-License-Identifier: MIT */
/* describe on the GPU: one warp per key point. Pixels for orientation and descriptor are read once, row by row and
 * concurrently, to shared memory, because these loads dominate the time. Then a lane sums a row of the disc and makes
 * eight bits of the descriptor. */
#include "kernels/kernel.cuh"

#include "features/describe.h"
#include "image/scale.h"

#ifndef VF_DESCRIBE_WARPS
#define VF_DESCRIBE_WARPS 4 /* warps of a block, a key point each */
#endif
#define THREADS (VF_DESCRIBE_WARPS * VF_WARP)

#if VFRONT_DESCRIPTORS

#include "features/describe_pattern.h"

static __device__ const __align__(16) int8_t pattern[256][4] = {VF_PATTERN_PAIRS};

/** Copies a square of SIDE px around a key point from global to shared memory. A warp reads the aligned groups of 8
 *  pixels that contain each row, one group a lane, as many rows at a time as possible. */
template <int SIDE> struct square {
    enum { GROUPS = (SIDE + 14) / 8, PITCH = 8 * GROUPS, ROWS = VF_WARP / GROUPS, STEPS = (SIDE + ROWS - 1) / ROWS };
    uint2 group[STEPS];
    const uint8_t *pixels;
    int x0, y0;  /* upper left pixel of the square, in its level */
    bool inside; /* true if the square lies inside the level */

    /** Issues the loads into registers. A square that crosses the level's border is not loaded here; store() reads
     *  it. */
    __device__ __forceinline__ void load(const uint8_t *from, const vf_level &l, int x, int y, int lane)
    {
        const int row = lane / GROUPS;
        pixels = from;
        x0 = x - SIDE / 2;
        y0 = y - SIDE / 2;
        inside = x0 >= 0 && y0 >= 0 && x0 + SIDE <= l.width && y0 + SIDE <= l.height;
        if (!inside) return;
        const uint8_t *at = pixels + (y0 + row) * l.pitch + (x0 & ~7) + 8 * (lane % GROUPS);
#pragma unroll
        for (int k = 0; k < STEPS; k++, at += ROWS * l.pitch)
            if (row < ROWS && k * ROWS + row < SIDE) group[k] = *reinterpret_cast<const uint2 *>(at);
    }
    /** Stores the pixels in rows of PITCH bytes. The upper left pixel of the square lies offset() bytes from the
     *  start. */
    __device__ __forceinline__ void store(uint2 *to, const vf_level &l, int lane) const
    {
        const int row = lane / GROUPS;
        if (inside) {
#pragma unroll
            for (int k = 0; k < STEPS; k++)
                if (row < ROWS && k * ROWS + row < SIDE) to[k * ROWS * GROUPS + lane] = group[k];
        } else {
#pragma unroll 8
            for (int i = lane; i < SIDE * PITCH; i += VF_WARP)
                reinterpret_cast<uint8_t *>(to)[i] = mirrored(l, (x0 & ~7) + i % PITCH, y0 + i / PITCH);
        }
        __syncwarp();
    }
    __device__ __forceinline__ int offset() const { return x0 & 7; }
    /** Pixel of the level, mirrored at its border. The column is also clamped, because aligned groups extend beyond the
     *  square. */
    __device__ __forceinline__ uint8_t mirrored(const vf_level &l, int x, int y) const
    {
        return pixels[vf_mirror(y, l.height) * l.pitch + vf_clamp(vf_mirror(x, l.width), 0, l.width - 1)];
    }
};
typedef square<2 * VF_DISC_RADIUS + 1> disc_square;
typedef square<2 * VF_PATTERN_RADIUS + 1> pattern_square;

/** First moments of the grey levels in the disc around a key point, in every lane, for its orientation. A lane sums a
 *  row, four pixels per dot product; pixels outside the disc are masked. */
static __device__ __forceinline__ void moments(const uint8_t *disc, int lane, int *mx, int *my)
{
    const int v = vf_min(lane, 2 * VF_DISC_RADIUS) - VF_DISC_RADIUS, half = vf_disc_half(v);
    const unsigned off = (unsigned)(reinterpret_cast<uintptr_t>(disc) & 3);
    const uint32_t *row = reinterpret_cast<const uint32_t *>(disc - off + (v + VF_DISC_RADIUS) * disc_square::PITCH);
    /* one bit per pixel of the row, 1 inside the disc */
    const uint32_t row_mask = lane <= 2 * VF_DISC_RADIUS ? ((2u << 2 * half) - 1) << (VF_DISC_RADIUS - half) : 0;
    int sum = 0,    /* sum of the row's pixels */
        across = 0; /* sum of pixel times column, 0 .. 30 */
#pragma unroll
    for (int k = 0; k < 8; k++) {
        /* four bits of the mask, each moved to bit 0 of a byte */
        const uint32_t ones = (row_mask >> 4 * k & 15) * 0x204081 & 0x01010101;
        const uint32_t grey = __funnelshift_r(row[k], row[k + 1], 8 * off) & ones * 255;
        sum = vf_dot4(grey, 0x01010101, sum);
        across = vf_dot4(grey, 0x03020100 + 0x04040404 * k, across);
    }
    *mx = vf_warp_sum(across - VF_DISC_RADIUS * sum);
    *my = vf_warp_sum(v * sum);
}

/** Positions of a pair of pixels after rotation, equal to vf_rotated_x() and vf_rotated_y(). pair: coordinates ax, ay,
 *  bx, by of the pair before rotation, one byte each. */
struct rotated_pair {
    int ax, ay, bx, by;
};
static __device__ __forceinline__ rotated_pair rotate_pair(int pair, vf_rotation_q14 t)
{
    rotated_pair p;
#if VF_ARCH >= 610
    const int to_x = (int)((uint32_t)t.cos_q14 & 0xffff) | (int)((uint32_t)-t.sin_q14 << 16);
    const int to_y = (int)((uint32_t)t.sin_q14 & 0xffff) | (int)((uint32_t)t.cos_q14 << 16);
    p.ax = __dp2a_lo(to_x, pair, 8192) >> 14;
    p.ay = __dp2a_lo(to_y, pair, 8192) >> 14;
    p.bx = __dp2a_hi(to_x, pair, 8192) >> 14;
    p.by = __dp2a_hi(to_y, pair, 8192) >> 14;
#else
    const int ax = (int8_t)pair, ay = (int8_t)(pair >> 8), bx = (int8_t)(pair >> 16), by = pair >> 24;
    p.ax = vf_rotated_x(t, ax, ay);
    p.ay = vf_rotated_y(t, ax, ay);
    p.bx = vf_rotated_x(t, bx, by);
    p.by = vf_rotated_y(t, bx, by);
#endif
    return p;
}

/** Bits 8 * lane .. 8 * lane + 7 of the descriptor: 1 if the first pixel of a rotated pair is darker than the second.
 *  smooth: upper left pixel of the smoothed square. */
static __device__ __forceinline__ uint32_t compare_pairs(const uint8_t *smooth, int lane, vf_rotation_q14 t)
{
    const int4 *own = reinterpret_cast<const int4 *>(pattern) + 2 * lane;
    const int4 first = own[0], second = own[1];
    const int pair[8] = {first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w};
    const uint8_t *centre = smooth + VF_PATTERN_RADIUS * pattern_square::PITCH + VF_PATTERN_RADIUS;
    uint32_t bits = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const rotated_pair q = rotate_pair(pair[k], t);
        bits |= (uint32_t)(centre[q.ay * pattern_square::PITCH + q.ax] < centre[q.by * pattern_square::PITCH + q.bx])
                << k;
    }
    return bits;
}

/** Describes the key points of a camera, one warp per key point. */
static __global__ void __launch_bounds__(THREADS) describe_k(const VF_CONSTANT vf_describe_view s)
{
    __shared__ uint2 disc[VF_DESCRIBE_WARPS][(2 * VF_DISC_RADIUS + 1) * disc_square::GROUPS];
    __shared__ uint2 pattern_pixels[VF_DESCRIBE_WARPS][(2 * VF_PATTERN_RADIUS + 1) * pattern_square::GROUPS];
    const int camera = blockIdx.y, lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP;
    vf_describe_memory &m = *s.describe;
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.x + camera);
    const uint32_t *count = s.select->count[camera];
    const int all = vf_keypoints(s.geometry.groups, count), warps = gridDim.x * VF_DESCRIBE_WARPS;
    for (int k = blockIdx.x * VF_DESCRIBE_WARPS + warp; k < all; k += warps) {
        const vf_corner c = vf_detect_corner(
            s.select->key[camera][vf_keypoint_index(s.geometry.groups, s.geometry.group_first, count, k)]);
        const vf_level &l = s.geometry.scale[camera][c.level];
        disc_square sharp;
        pattern_square smooth;
        sharp.load(vf_scale_pixels(s.scale, s.pictures.level0[s.parity][camera], camera, c.level, &l), l, c.x, c.y,
                   lane);
        smooth.load(vf_smooth_pixels(s.smooth, s.geometry.scale[camera], camera, c.level), l, c.x, c.y, lane);
        sharp.store(disc[warp], l, lane);
        smooth.store(pattern_pixels[warp], l, lane);
        int mx, my;
        moments(reinterpret_cast<uint8_t *>(disc[warp]) + sharp.offset(), lane, &mx, &my);
        const vf_rotation_q14 rotation = vf_describe_rotation(mx, my);
        const uint32_t bits = compare_pairs(reinterpret_cast<uint8_t *>(pattern_pixels[warp]) + smooth.offset(), lane,
                                            rotation);
        reinterpret_cast<uint8_t *>(m.descriptor[s.parity][camera][k].word)[lane] = (uint8_t)bits;
        if (lane == 0) m.angle[s.parity][camera][k] = vf_atan2f((float)my, (float)mx);
        __syncwarp(); /* before the warp's next key point overwrites these pixels */
    }
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

#endif

extern "C" cudaError_t vf_describe_cuda(const vf_describe_view *s, cudaStream_t stream)
{
#if VFRONT_DESCRIPTORS
    const dim3 grid(vf_blocks(s->tuning.select_points, VF_DESCRIBE_WARPS), s->geometry.cameras);
    describe_k<<<grid, THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
