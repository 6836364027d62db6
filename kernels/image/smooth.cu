/* SPDX-License-Identifier: MIT */
/* smooth on the GPU: one launch for all levels and cameras. A thread makes 4 px of some rows: of each row that they need it has the
 * sums along the row once, four bytes a multiplication, and adds them to all rows that they weigh on. */
#include "kernels/kernel.cuh"

#include "image/smooth.h"

#ifndef VF_SMOOTH_ROWS
#define VF_SMOOTH_ROWS 8 /* of a thread */
#endif
#define ROWS VF_SMOOTH_ROWS
#define WARPS 4
#define TILE_X (4 * VF_WARP)
#define TILE_Y (WARPS * ROWS)

#if VFRONT_DESCRIPTORS

/** One level of one camera, laid out by the launcher. */
struct job {
    const uint8_t *from;
    uint8_t *to;
    int32_t pitch, width, height;
    int32_t first_block, across;
};

struct jobs {
    job level[VFRONT_CAMERAS * VFRONT_SCALES];
    int32_t count;
};

/** Sums along the row of four neighbouring pixels, from the three words that hold them and 4 px on both sides. */
static __device__ __forceinline__ void smooth_row(uint32_t sum[4], const uint32_t w[3])
{
    const uint32_t low = 18u | 34u << 8 | 48u << 16 | 56u << 24,
                   high = 48u | 34u << 8 | 18u << 16; /* VF_SMOOTH_WEIGHTS */
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const uint32_t first = k < 3 ? __funnelshift_r(w[0], w[1], 8 * k + 8) : w[1];
        const uint32_t second = k < 3 ? __funnelshift_r(w[1], w[2], 8 * k + 8) : w[2];
        sum[k] = vf_dot4(second, high, vf_dot4(first, low, 0));
    }
}

/** How a thread takes the pixels of its rows: words are put together from those that are there by byte, so that the three mirrored
 *  pixels at an end of a row cost the other threads of the warp nothing. */
struct ends {
    uint32_t middle, right; /* selectors for __byte_perm() */
    bool first;             /* the row starts here */
    bool near;              /* mirrored pixels of the right word come from the left and the middle word */
};

/** `rest`: pixels from the thread's first to the end of the row. */
static __device__ __forceinline__ ends ends_of(int x, int rest)
{
    ends e = {0, 0, x == 0, rest <= 3};
    for (int i = 4; i < 12; i++) { /* of the 12 bytes around; the row ends before byte rest + 4 */
        const int from = i < rest + 4 ? i : vf_max(2 * rest + 6 - i, 0);
        if (i < 8)
            e.middle |= (uint32_t)from << (4 * (i - 4));
        else
            e.right |= (uint32_t)(e.near ? from : vf_max(from - 4, 0)) << (4 * (i - 8));
    }
    return e;
}

static __device__ __forceinline__ void load_words(uint32_t w[3], const uint8_t *at, const ends &e)
{
    const uint32_t *word = reinterpret_cast<const uint32_t *>(at);
    const uint32_t middle = word[0], left = e.first ? __byte_perm(middle, 0, 0x1230) : word[-1], right = word[1];
    w[0] = left;
    w[1] = __byte_perm(left, middle, e.middle);
    w[2] = __byte_perm(e.near ? left : middle, e.near ? middle : right, e.right);
}

static __device__ __forceinline__ void store_four(uint8_t *to, uint32_t four, int count)
{
    if (count >= 4) {
        *reinterpret_cast<uint32_t *>(to) = four;
    } else {
        for (int k = 0; k < count; k++) to[k] = (uint8_t)(four >> (8 * k));
    }
}

static __global__ void __launch_bounds__(WARPS *VF_WARP) smooth_k(const vf_step s, const jobs all)
{
    const uint32_t weight[] = {VF_SMOOTH_WEIGHTS};
    int p = 0;
    while (p + 1 < all.count && (int)blockIdx.x >= all.level[p + 1].first_block) p++;
    const job &q = all.level[p];
    const int block = blockIdx.x - q.first_block, row = block / q.across;
    const int x = (block - row * q.across) * TILE_X + threadIdx.x % VF_WARP * 4,
              y0 = row * TILE_Y + threadIdx.x / VF_WARP * ROWS;
    if (threadIdx.x == 0) vf_clock_start(s, VF_smooth, blockIdx.x);
    if (x < q.width && y0 < q.height) {
        const ends e = ends_of(x, q.width - x);
        uint32_t word[ROWS + 2 * VF_SMOOTH][3], sum[ROWS][4];
#pragma unroll
        for (int i = 0; i < ROWS + 2 * VF_SMOOTH; i++) {
            const int y = vf_clamp(vf_mirror(y0 + i - VF_SMOOTH, q.height), 0,
                                   q.height - 1); /* clamped: rows that nobody asks for */
            load_words(word[i], q.from + y * q.pitch + x, e);
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int k = 0; k < 4; k++) sum[r][k] = 0x8000;
#pragma unroll
        for (int i = 0; i < ROWS + 2 * VF_SMOOTH; i++) {
            uint32_t along[4];
            smooth_row(along, word[i]);
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                if (i - r >= 0 && i - r <= 2 * VF_SMOOTH)
#pragma unroll
                    for (int k = 0; k < 4; k++) sum[r][k] += weight[i - r] * along[k];
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const uint32_t four = (sum[r][0] >> 16) | (sum[r][1] >> 16) << 8 | (sum[r][2] >> 16) << 16 |
                                  (sum[r][3] >> 16) << 24;
            if (y0 + r < q.height) store_four(q.to + (y0 + r) * q.pitch + x, four, q.width - x);
        }
    }
    if (threadIdx.x == 0) vf_clock_end(s, VF_smooth);
}

/** Lays out a level of a camera. Returns the block after its last. */
static int lay_out(const vf_step *s, job *q, int camera, int level, int block)
{
    const vf_level &l = s->geometry.scale[camera][level];
    q->from = vf_scale_pixels(s, camera, level);
    q->to = vf_smooth_pixels(s, camera, level);
    q->pitch = l.pitch;
    q->width = l.width;
    q->height = l.height;
    q->first_block = block;
    q->across = (int32_t)vf_blocks(l.width, TILE_X);
    return block + q->across * (int)vf_blocks(l.height, TILE_Y);
}

#endif

extern "C" cudaError_t vf_smooth_cuda(const vf_step *s, cudaStream_t stream)
{
#if VFRONT_DESCRIPTORS
    if (!vf_described(&s->tuning)) return cudaSuccess;
    jobs all = {};
    int blocks = 0;
    for (int camera = 0; camera < s->geometry.cameras; camera++)
        for (int level = 0; level < vf_scales(s); level++)
            blocks = lay_out(s, &all.level[all.count++], camera, level, blocks);
    smooth_k<<<blocks, WARPS * VF_WARP, 0, stream>>>(*s, all);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
