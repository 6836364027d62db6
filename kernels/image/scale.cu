/* SPDX-License-Identifier: MIT */
/* scale on the GPU: one launch for all levels and cameras; every level comes from level 0, so none waits for another. A thread makes a
 * column of some rows: it goes down the rows of level 0 once, sums each along what its column takes, four bytes a multiplication, and adds
 * that up to halves of rows, of which a row takes four. */
#include "kernels/kernel.cuh"

#include "image/scale.h"

/** Rows of a thread. Where the multiprocessors hold all blocks at once, few end sooner; else many do less in all. (H200, 752x480, when a
 *  pixel still took half as wide an area: 6.1 us with 4 rows, 7.6 with 8; on 8 multiprocessors 48.8 and 40.2.) */
#ifndef VF_SCALE_FEW_ROWS
#define VF_SCALE_FEW_ROWS 4
#define VF_SCALE_MANY_ROWS 8
#endif
#define TILE_X 64
#define GROUPS 4 /* of rows, in a block */
#define THREADS (TILE_X * GROUPS)
#define WORDS_MOST ((VF_TAPS + 3) / 4) /* words that hold a byte for each pixel of level 0 that reaches into a column */

/** One level of one camera, laid out by the launcher. */
struct job {
    const uint8_t *from; /* level 0 */
    uint8_t *to;
    int32_t from_pitch, height0, pitch, width, height, words;
    uint32_t step_q16, inverse_q19;
    int32_t first_block, across;
};

struct jobs {
    job level[VFRONT_CAMERAS * VFRONT_SCALES];
    int32_t count;
};

/** What a column takes from a row of level 0: weights, a byte each, from a word's first pixel on. */
template <int WORDS> struct column {
    const uint8_t *at; /* in the first row */
    uint32_t weight[WORDS];
    int32_t off;
};

template <int WORDS> static __device__ __forceinline__ column<WORDS> weigh(const job &q, int u)
{
    column<WORDS> c;
    const int first = vf_scale_first(vf_scale_half(u), q.step_q16, q.inverse_q19);
    c.off = first & 3;
    c.at = q.from + (first - c.off);
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
        c.weight[w] = 0;
#pragma unroll
        for (int k = 0; k < 4; k++)
            c.weight[w] |= (uint32_t)vf_scale_weight(u, q.width, first + 4 * w + k, q.inverse_q19) << (8 * k);
    }
    return c;
}

/** The words of a row that a column reaches into. The last may lie beyond the row, and then weighs nothing. */
template <int WORDS>
static __device__ __forceinline__ void load_row(uint32_t to[WORDS + 1], const column<WORDS> &c, int offset)
{
#pragma unroll
    for (int w = 0; w <= WORDS; w++) to[w] = *reinterpret_cast<const uint32_t *>(c.at + offset + 4 * w);
}

/** A thread's way down the rows of level 0. */
template <int WORDS> struct descent {
    uint32_t next[WORDS + 1]; /* the row after this one, on its way */
    uint32_t along;           /* this row, summed along the column */
    int j, edge, end;         /* this row, and where on the level it begins and ends */

    __device__ __forceinline__ void load(const job &q, const column<WORDS> &c)
    {
        load_row<WORDS>(next, c, vf_min(j + 1, q.height0 - 1) * q.from_pitch);
    }
    /** On to the next row. */
    __device__ __forceinline__ void step(const job &q, const column<WORDS> &c)
    {
        uint32_t row[WORDS + 1];
#pragma unroll
        for (int w = 0; w <= WORDS; w++) row[w] = next[w];
        j++;
        load(q, c);
        along = 0;
#pragma unroll
        for (int w = 0; w < WORDS; w++)
            along = vf_dot4(__funnelshift_r(row[w], row[w + 1], 8 * c.off), c.weight[w], along);
        edge = end;
        end = vf_scale_edge(j + 1, q.inverse_q19);
    }
    __device__ __forceinline__ void start(const job &q, const column<WORDS> &c, int h)
    {
        j = vf_scale_first(h, q.step_q16, q.inverse_q19) - 1;
        end = vf_scale_edge(j + 1, q.inverse_q19);
        load(q, c);
        step(q, c);
    }
    /** Sum of half h. The row where it ends stays this row, because the next half may begin in it. */
    __device__ __forceinline__ uint32_t half(const job &q, const column<WORDS> &c, int h)
    {
        uint32_t sum = 0;
        for (;;) {
            sum += (uint32_t)vf_scale_overlap(edge, end, h, h + 1) * along;
            if (end >= 64 * h + 64) return sum;
            step(q, c);
        }
    }
};

template <int WORDS, int ROWS> static __device__ __forceinline__ void make_column(const job &q, int u, int v0)
{
    const column<WORDS> c = weigh<WORDS>(q, u);
    const int v_end = vf_min(v0 + ROWS, q.height);
    descent<WORDS> way;
    way.start(q, c, vf_scale_half(v0));
    uint32_t h1 = way.half(q, c, vf_scale_half(v0)), h2 = v0 ? way.half(q, c, 2 * v0) : h1;
    for (int v = v0; v < v_end; v++) {
        const uint32_t h3 = way.half(q, c, 2 * v + 1), h4 = v + 1 < q.height ? way.half(q, c, 2 * v + 2) : h3;
        q.to[v * q.pitch + u] = vf_scale_round(h1 + h2 + h3 + h4);
        h1 = h3;
        h2 = h4;
    }
}

template <int ROWS> static __global__ void __launch_bounds__(THREADS) scale_k(const vf_step s, const jobs all)
{
    int p = 0;
    while (p + 1 < all.count && (int)blockIdx.x >= all.level[p + 1].first_block) p++;
    const job &q = all.level[p];
    const int block = blockIdx.x - q.first_block, row = block / q.across;
    const int u = (block - row * q.across) * TILE_X + threadIdx.x % TILE_X,
              v = (row * GROUPS + threadIdx.x / TILE_X) * ROWS;
    if (threadIdx.x == 0) vf_clock_start(s, VF_scale, blockIdx.x);
    if (u < q.width && v < q.height) {
        if (q.words == 1)
            make_column<1, ROWS>(q, u, v);
        else if (q.words == 2)
            make_column<2, ROWS>(q, u, v);
        else
            make_column<WORDS_MOST, ROWS>(q, u, v);
    }
    if (threadIdx.x == 0) vf_clock_end(s, VF_scale);
}

/** Lays out a level of a camera. Returns the block after its last. */
static int lay_out(const vf_step *s, job *q, int camera, int level, int rows, int block)
{
    const vf_level &l = s->geometry.scale[camera][level], &l0 = s->geometry.scale[camera][0];
    q->from = vf_scale_pixels(s, camera, 0);
    q->to = vf_scale_pixels(s, camera, level);
    q->from_pitch = l0.pitch;
    q->height0 = l0.height;
    q->pitch = l.pitch;
    q->width = l.width;
    q->height = l.height;
    q->step_q16 = s->geometry.step_q16[level];
    q->inverse_q19 = s->geometry.inverse_q19[level];
    q->words = q->step_q16 <= 3u << 15   ? 1
               : q->step_q16 <= 7u << 15 ? 2
                                         : WORDS_MOST; /* three or seven pixels, and a part of one more */
    q->first_block = block;
    q->across = (int32_t)vf_blocks(l.width, TILE_X);
    return block + q->across * (int)vf_blocks(l.height, GROUPS * rows);
}

/** Lays out all levels; returns the number of blocks. */
static int lay_out_all(const vf_step *s, jobs *all, int rows)
{
    int blocks = 0;
    memset(all, 0, sizeof *all);
    for (int camera = 0; camera < s->geometry.cameras; camera++)
        for (int level = 1; level < vf_scales(s); level++)
            blocks = lay_out(s, &all->level[all->count++], camera, level, rows, blocks);
    return blocks;
}

extern "C" cudaError_t vf_scale_cuda(const vf_step *s, cudaStream_t stream)
{
    jobs all;
    int blocks = lay_out_all(s, &all, VF_SCALE_FEW_ROWS);
    if (!blocks) return cudaSuccess;
    if (blocks <= 2048 / THREADS * vf_multiprocessors()) {
        scale_k<VF_SCALE_FEW_ROWS><<<blocks, THREADS, 0, stream>>>(*s, all);
    } else {
        blocks = lay_out_all(s, &all, VF_SCALE_MANY_ROWS);
        scale_k<VF_SCALE_MANY_ROWS><<<blocks, THREADS, 0, stream>>>(*s, all);
    }
    return cudaGetLastError();
}
