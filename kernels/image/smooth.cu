/* SPDX-License-Identifier: MIT */
/* smooth on the GPU: one launch for all levels and cameras. A thread makes 4 neighbouring px of VF_SMOOTH_ROWS rows. It
 * computes the weighted sums along each input row once, with four-byte dot products, and adds them to all output rows
 * within the radius. */
#include "kernels/kernel.cuh"

#include "image/smooth.h"

#ifndef VF_SMOOTH_ROWS
#define VF_SMOOTH_ROWS 8 /* image rows that a thread makes */
#endif
#define ROWS VF_SMOOTH_ROWS
#define WARPS 4
#define TILE_X (4 * VF_WARP)
#define TILE_Y (WARPS * ROWS)

#if VFRONT_DESCRIPTORS

/** Smoothing of one level of one camera, and its blocks. */
struct job {
    const uint8_t *from;
    uint8_t *to;
    int32_t pitch, width, height;
    int32_t first_block, /* first block of this level in the launch */
        across;          /* number of blocks along a row */
};

/** Smoothing of all levels of all cameras, in the order of their blocks. */
struct jobs {
    job level[VFRONT_CAMERAS * VFRONT_SCALES];
    int32_t count;
};

/** Weighted sums along a row, for four neighbouring pixels. w: words of the 4 px before them, of the pixels, and of the
 *  4 px after them. */
static __device__ __forceinline__ void smooth_row(uint32_t sum[4], const uint32_t w[3])
{
    const uint32_t v[] = {VF_SMOOTH_WEIGHTS};
    const uint32_t low = v[0] | v[1] << 8 | v[2] << 16 | v[3] << 24, high = v[4] | v[5] << 8 | v[6] << 16;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const uint32_t first = k < 3 ? __funnelshift_r(w[0], w[1], 8 * k + 8) : w[1];
        const uint32_t second = k < 3 ? __funnelshift_r(w[1], w[2], 8 * k + 8) : w[2];
        sum[k] = vf_dot4(second, high, vf_dot4(first, low, 0));
    }
}

/** Reflection of a thread's three words of a row at the image border, the same in all its rows. Byte permutations
 *  without a branch, so that row ends cost the other threads of the warp nothing. */
struct reflection {
    uint32_t middle, right; /* selectors of __byte_perm() for the middle and the right word */
    bool first;             /* at the first pixels of a row: the left word is the middle one reflected */
    bool near;              /* at most 3 px to the row end: the right word is made of the left and the middle one */
};

/** Border reflection for a thread's words. x: column of its first pixel; rest: pixels from there to the end of the row,
 *  >= 1. */
static __device__ __forceinline__ reflection find_reflection(int x, int rest)
{
    reflection e = {0, 0, x == 0, rest <= 3};
    /* i counts bytes from the left word on: 4 .. 11 are the middle and the right word. The row ends before byte rest +
     * 4. */
    for (int i = 4; i < 12; i++) {
        const int from = i < rest + 4 ? i : vf_max(2 * rest + 6 - i, 0);
        if (i < 8)
            e.middle |= (uint32_t)from << (4 * (i - 4));
        else
            e.right |= (uint32_t)(e.near ? from : vf_max(from - 4, 0)) << (4 * (i - 8));
    }
    return e;
}

/** Loads the word of four pixels at `at` and its neighbours on both sides, reflected at the row ends. */
static __device__ __forceinline__ void load_words(uint32_t w[3], const uint8_t *at, const reflection &e)
{
    const uint32_t *word = reinterpret_cast<const uint32_t *>(at);
    const uint32_t middle = word[0], left = e.first ? __byte_perm(middle, 0, 0x1230) : word[-1], right = word[1];
    w[0] = left;
    w[1] = __byte_perm(left, middle, e.middle);
    w[2] = __byte_perm(e.near ? left : middle, e.near ? middle : right, e.right);
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

/** Smooths all levels of all cameras. The blocks of one level follow those of another. */
static __global__ void __launch_bounds__(WARPS *VF_WARP) smooth_k(const VF_CONSTANT vf_smooth_view s, const jobs all)
{
    const uint32_t weight[] = {VF_SMOOTH_WEIGHTS};
    int p = 0;
    while (p + 1 < all.count && (int)blockIdx.x >= all.level[p + 1].first_block) p++;
    const job &q = all.level[p];
    const int block = blockIdx.x - q.first_block, row = block / q.across;
    const int x = (block - row * q.across) * TILE_X + threadIdx.x % VF_WARP * 4,
              y0 = row * TILE_Y + threadIdx.x / VF_WARP * ROWS;
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.x);
    if (x < q.width && y0 < q.height) {
        const reflection e = find_reflection(x, q.width - x);
        uint32_t word[ROWS + 2 * VF_SMOOTH_RADIUS][3], sum[ROWS][4];
#pragma unroll
        for (int i = 0; i < ROWS + 2 * VF_SMOOTH_RADIUS; i++) {
            /* clamped, because rows below the image that contribute to no pixel are loaded too */
            const int y = vf_clamp(vf_mirror(y0 + i - VF_SMOOTH_RADIUS, q.height), 0, q.height - 1);
            load_words(word[i], q.from + y * q.pitch + x, e);
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int k = 0; k < 4; k++) sum[r][k] = 0x8000;
#pragma unroll
        for (int i = 0; i < ROWS + 2 * VF_SMOOTH_RADIUS; i++) {
            uint32_t row_sum[4];
            smooth_row(row_sum, word[i]);
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                if (i - r >= 0 && i - r <= 2 * VF_SMOOTH_RADIUS)
#pragma unroll
                    for (int k = 0; k < 4; k++) sum[r][k] += weight[i - r] * row_sum[k];
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const uint32_t four = (sum[r][0] >> 16) | (sum[r][1] >> 16) << 8 | (sum[r][2] >> 16) << 16 |
                                  (sum[r][3] >> 16) << 24;
            if (y0 + r < q.height) store_four(q.to + (y0 + r) * q.pitch + x, four, q.width - x);
        }
    }
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

/** Sets up the smoothing of a level of a camera. block: its first block. Returns the block after its last. */
static int add_job(const vf_smooth_view *s, job *q, int camera, int level, int block)
{
    const vf_level &l = s->geometry.scale[camera][level];
    q->from = vf_scale_pixels(s->scale, s->pictures.level0[s->parity][camera], camera, level, &l);
    q->to = s->smooth->pixels[camera] + vf_smooth_offset(s->geometry.scale[camera], level);
    q->pitch = l.pitch;
    q->width = l.width;
    q->height = l.height;
    q->first_block = block;
    q->across = (int32_t)vf_blocks(l.width, TILE_X);
    return block + q->across * (int)vf_blocks(l.height, TILE_Y);
}

#endif

extern "C" cudaError_t vf_smooth_cuda(const vf_smooth_view *s, cudaStream_t stream)
{
#if VFRONT_DESCRIPTORS
    jobs all = {};
    int blocks = 0;
    for (int camera = 0; camera < s->geometry.cameras; camera++)
        for (int level = 0; level < s->geometry.searched; level++)
            blocks = add_job(s, &all.level[all.count++], camera, level, blocks);
    smooth_k<<<blocks, WARPS * VF_WARP, 0, stream>>>(*s, all);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
