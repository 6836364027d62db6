/* SPDX-License-Identifier: MIT */
/* describe on the GPU: a warp a key point. Its pixels are read once, row by row, into shared memory, those for the orientation and those
 * for the descriptor at the same time, because waiting for them is what takes long. Then a lane has a row of the disc, and eight bits. */
#include "kernels/kernel.cuh"

#include "features/describe.h"

#ifndef VF_DESCRIBE_WARPS
#define VF_DESCRIBE_WARPS 4 /* of a block */
#endif
#define THREADS (VF_DESCRIBE_WARPS * VF_WARP)

#if VFRONT_DESCRIPTORS

#include "features/describe_pattern.h"

static __device__ const __align__(16) int8_t pattern[256][4] = {VF_PATTERN_PAIRS};

/** A square of pixels around a key point, on its way to shared memory: of each row the aligned eights of pixels that hold it, a lane an
 *  eight, as many rows at a time as a warp has lanes for. */
template <int SIDE> struct square {
    enum { EIGHTS = (SIDE + 14) / 8, PITCH = 8 * EIGHTS, ROWS = VF_WARP / EIGHTS, TURNS = (SIDE + ROWS - 1) / ROWS };
    uint2 eight[TURNS];
    const uint8_t *pixels;
    int x0, y0; /* first pixel */
    bool inside;

    __device__ __forceinline__ void load(const uint8_t *from, const vf_level &l, int x, int y, int lane)
    {
        const int row = lane / EIGHTS;
        pixels = from;
        x0 = x - SIDE / 2;
        y0 = y - SIDE / 2;
        inside = x0 >= 0 && y0 >= 0 && x0 + SIDE <= l.width && y0 + SIDE <= l.height;
        if (!inside) return;
        const uint8_t *at = pixels + (y0 + row) * l.pitch + (x0 & ~7) + 8 * (lane % EIGHTS);
#pragma unroll
        for (int k = 0; k < TURNS; k++, at += ROWS * l.pitch)
            if (row < ROWS && k * ROWS + row < SIDE) eight[k] = *reinterpret_cast<const uint2 *>(at);
    }
    /** Stores them, rows of PITCH bytes; the square's first pixel is offset() bytes from the start. */
    __device__ __forceinline__ void store(uint2 *to, const vf_level &l, int lane) const
    {
        const int row = lane / EIGHTS;
        if (inside) {
#pragma unroll
            for (int k = 0; k < TURNS; k++)
                if (row < ROWS && k * ROWS + row < SIDE) to[k * ROWS * EIGHTS + lane] = eight[k];
        } else {
#pragma unroll 8
            for (int i = lane; i < SIDE * PITCH; i += VF_WARP)
                reinterpret_cast<uint8_t *>(to)[i] = mirrored(l, (x0 & ~7) + i % PITCH, y0 + i / PITCH);
        }
        __syncwarp();
    }
    __device__ __forceinline__ int offset() const { return x0 & 7; }
    /** Clamped as well, because alignment brings in pixels that nobody asks for. */
    __device__ __forceinline__ uint8_t mirrored(const vf_level &l, int x, int y) const
    {
        return pixels[vf_mirror(y, l.height) * l.pitch + vf_clamp(vf_mirror(x, l.width), 0, l.width - 1)];
    }
};
typedef square<2 * VF_DISC + 1> disc_square;
typedef square<2 * VF_REACH + 1> reach_square;

/** Moments of the disc, in every lane; a lane has a row, four pixels a multiplication, and masks what does not belong to the disc. */
static __device__ __forceinline__ void moments(const uint8_t *disc, int lane, int *mx, int *my)
{
    const int v = vf_min(lane, 2 * VF_DISC) - VF_DISC, half = vf_disc_half(v);
    const unsigned off = (unsigned)(reinterpret_cast<uintptr_t>(disc) & 3);
    const uint32_t *row = reinterpret_cast<const uint32_t *>(disc - off + (v + VF_DISC) * disc_square::PITCH);
    const uint32_t within = lane <= 2 * VF_DISC ? ((2u << 2 * half) - 1) << (VF_DISC - half) : 0; /* a bit a pixel */
    int sum = 0, across = 0; /* of the pixels; of the pixels times 0 .. 30 from the left end */
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const uint32_t ones = (within >> 4 * k & 15) * 0x204081 & 0x01010101; /* a bit to the low bit of each byte */
        const uint32_t grey = __funnelshift_r(row[k], row[k + 1], 8 * off) & ones * 255;
        sum = vf_dot4(grey, 0x01010101, sum);
        across = vf_dot4(grey, 0x03020100 + 0x04040404 * k, across);
    }
    *mx = vf_warp_sum(across - VF_DISC * sum);
    *my = vf_warp_sum(v * sum);
}

/** Both places of a pair, turned: what vf_turned_x() and vf_turned_y() give. `pair` holds their four coordinates, a byte each. */
struct turned_pair {
    int ax, ay, bx, by;
};
static __device__ __forceinline__ turned_pair turn_pair(int pair, vf_turn t)
{
    turned_pair p;
#if __CUDA_ARCH__ >= 610
    const int to_x = (int)((uint32_t)t.cos_q14 & 0xffff) | (int)((uint32_t)-t.sin_q14 << 16);
    const int to_y = (int)((uint32_t)t.sin_q14 & 0xffff) | (int)((uint32_t)t.cos_q14 << 16);
    p.ax = __dp2a_lo(to_x, pair, 8192) >> 14;
    p.ay = __dp2a_lo(to_y, pair, 8192) >> 14;
    p.bx = __dp2a_hi(to_x, pair, 8192) >> 14;
    p.by = __dp2a_hi(to_y, pair, 8192) >> 14;
#else
    const int ax = (int8_t)pair, ay = (int8_t)(pair >> 8), bx = (int8_t)(pair >> 16), by = pair >> 24;
    p.ax = vf_turned_x(t, ax, ay);
    p.ay = vf_turned_y(t, ax, ay);
    p.bx = vf_turned_x(t, bx, by);
    p.by = vf_turned_y(t, bx, by);
#endif
    return p;
}

/** Bits 8 * lane .. 8 * lane + 7. */
static __device__ __forceinline__ uint32_t compare_pairs(const uint8_t *smooth, int lane, vf_turn t)
{
    const int4 *mine = reinterpret_cast<const int4 *>(pattern) + 2 * lane;
    const int4 first = mine[0], second = mine[1];
    const int pair[8] = {first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w};
    const uint8_t *centre = smooth + VF_REACH * reach_square::PITCH + VF_REACH;
    uint32_t bits = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const turned_pair q = turn_pair(pair[k], t);
        bits |= (uint32_t)(centre[q.ay * reach_square::PITCH + q.ax] < centre[q.by * reach_square::PITCH + q.bx]) << k;
    }
    return bits;
}

static __global__ void __launch_bounds__(THREADS) describe_k(const vf_step s)
{
    __shared__ uint2 disc[VF_DESCRIBE_WARPS][(2 * VF_DISC + 1) * disc_square::EIGHTS];
    __shared__ uint2 reach[VF_DESCRIBE_WARPS][(2 * VF_REACH + 1) * reach_square::EIGHTS];
    const int camera = blockIdx.y, lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP;
    vf_describe_memory &m = s.memory->describe;
    if (threadIdx.x == 0) vf_clock_start(s, VF_describe, blockIdx.x + camera);
    const uint32_t *count = s.memory->select.count[camera];
    const int all = vf_keypoints(&s, count), warps = gridDim.x * VF_DESCRIBE_WARPS;
    for (int k = blockIdx.x * VF_DESCRIBE_WARPS + warp; k < all; k += warps) {
        const vf_corner c = vf_detect_corner(s.memory->select.key[camera][vf_slot(&s, count, k)]);
        const vf_level &l = s.geometry.scale[camera][c.level];
        disc_square sharp;
        reach_square smooth;
        sharp.load(vf_scale_pixels(&s, camera, c.level), l, c.x, c.y, lane);
        smooth.load(vf_smooth_pixels(&s, camera, c.level), l, c.x, c.y, lane);
        sharp.store(disc[warp], l, lane);
        smooth.store(reach[warp], l, lane);
        int mx, my;
        moments(reinterpret_cast<uint8_t *>(disc[warp]) + sharp.offset(), lane, &mx, &my);
        const vf_turn turn = vf_describe_turn(mx, my);
        const uint32_t bits = compare_pairs(reinterpret_cast<uint8_t *>(reach[warp]) + smooth.offset(), lane, turn);
        reinterpret_cast<uint8_t *>(m.descriptor[s.parity][camera][k].word)[lane] = (uint8_t)bits;
        if (lane == 0) m.angle[s.parity][camera][k] = vf_angle((float)my, (float)mx);
        __syncwarp(); /* before the next one's pixels overwrite this one's */
    }
    if (threadIdx.x == 0) vf_clock_end(s, VF_describe);
}

#endif

extern "C" cudaError_t vf_describe_cuda(const vf_step *s, cudaStream_t stream)
{
#if VFRONT_DESCRIPTORS
    if (!vf_described(&s->tuning)) return cudaSuccess;
    const dim3 grid(vf_blocks(s->tuning.select_points, VF_DESCRIBE_WARPS), s->geometry.cameras);
    describe_k<<<grid, THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
