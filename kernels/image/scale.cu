/* SPDX-License-Identifier: MIT */
/* scale on the GPU: one launch for all levels and cameras; every level comes from level 0, so none waits for
 * another. A thread makes a few pixels of one column of a level. It scans the rows of level 0 once, top to bottom: a
 * four-byte dot product gives the weighted sum of each row over the support of the column, and these sums add up to
 * half rows of the level; a pixel is the sum of four half rows. */
#include "kernels/kernel.cuh"

#include "image/scale.h"

/** Rows per thread. While the multiprocessors hold all thread blocks at once, few rows end sooner; otherwise many
 *  rows cost less work in all. (H200, 752x480, measured with a support half as wide: 6.1 us with 4 rows, 7.6 with 8;
 *  on 8 multiprocessors 48.8 and 40.2.) */
#ifndef VF_SCALE_FEW_ROWS
#define VF_SCALE_FEW_ROWS 4
#define VF_SCALE_MANY_ROWS 8
#endif
#define TILE_X 64
#define GROUPS 4 /* groups of rows in a thread block: one thread per column and group */
#define THREADS (TILE_X * GROUPS)
/** Words with a weight, one byte each, for every pixel in the support of a column */
#define WORDS_MOST ((VF_SCALE_TAPS + 3) / 4)

/** One level of one camera, with its range of thread blocks. */
struct job {
    const uint8_t *from; /* level 0 */
    uint8_t *to;         /* the level made */
    int32_t from_pitch, height0, pitch, width, height;
    int32_t words; /* words of weights per column */
    uint32_t step_q16, inverse_q19;
    int32_t first_block, across; /* thread blocks: the first of this level, and their number along a row */
};

/** All levels of all cameras, in the order of their thread blocks. */
struct jobs {
    job level[VFRONT_CAMERAS * VFRONT_SCALES];
    int32_t count;
};

/** Support of a column of the level in each row of level 0. */
template <int WORDS> struct column {
    const uint8_t *at;      /* aligned word in the first row that holds the first pixel of the support */
    uint32_t weight[WORDS]; /* a byte for each pixel [1/256] */
    int32_t off;            /* pixels of that word before the support, 0..3 */
};

/** Support of column u. */
template <int WORDS> static __device__ __forceinline__ column<WORDS> find_column(const job &q, int u)
{
    column<WORDS> c;
    const int first = vf_scale_first(vf_scale_support(u), q.step_q16, q.inverse_q19);
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

/** Words of a row that hold the support of a column. offset: of the row from the first [bytes]. The last word may
 *  lie beyond the row; its weights are then 0. */
template <int WORDS>
static __device__ __forceinline__ void load_row(uint32_t to[WORDS + 1], const column<WORDS> &c, int offset)
{
#pragma unroll
    for (int w = 0; w <= WORDS; w++) to[w] = *reinterpret_cast<const uint32_t *>(c.at + offset + 4 * w);
}

/** Scan of the rows of level 0, top to bottom, with the next row prefetched. */
template <int WORDS> struct row_scan {
    uint32_t next[WORDS + 1]; /* words of row j + 1 */
    uint32_t row_sum;         /* weighted sum of row j over the support of the column */
    int j;                    /* current row */
    int edge, end;            /* upper and lower edge of row j on the level [1/128 px] */

    /** Prefetch of row j + 1; after the last row of level 0, that row once more. */
    __device__ __forceinline__ void load(const job &q, const column<WORDS> &c)
    {
        load_row<WORDS>(next, c, vf_min(j + 1, q.height0 - 1) * q.from_pitch);
    }
    /** Advance by one row. */
    __device__ __forceinline__ void step(const job &q, const column<WORDS> &c)
    {
        uint32_t row[WORDS + 1];
#pragma unroll
        for (int w = 0; w <= WORDS; w++) row[w] = next[w];
        j++;
        load(q, c);
        row_sum = 0;
#pragma unroll
        for (int w = 0; w < WORDS; w++)
            row_sum = vf_dot4(__funnelshift_r(row[w], row[w + 1], 8 * c.off), c.weight[w], row_sum);
        edge = end;
        end = vf_scale_edge(j + 1, q.inverse_q19);
    }
    /** Start at the first row that overlaps half row h. */
    __device__ __forceinline__ void start(const job &q, const column<WORDS> &c, int h)
    {
        j = vf_scale_first(h, q.step_q16, q.inverse_q19) - 1;
        end = vf_scale_edge(j + 1, q.inverse_q19);
        load(q, c);
        step(q, c);
    }
    /** Weighted sum of half row h. Stays at the row in which it ends, because half row h + 1 may begin there. */
    __device__ __forceinline__ uint32_t half(const job &q, const column<WORDS> &c, int h)
    {
        uint32_t sum = 0;
        for (;;) {
            sum += (uint32_t)vf_scale_overlap(edge, end, h, h + 1) * row_sum;
            if (end >= 64 * h + 64) return sum;
            step(q, c);
        }
    }
};

/** Pixels v0..v0+ROWS-1 of column u, as far as the level has them. */
template <int WORDS, int ROWS> static __device__ __forceinline__ void make_column(const job &q, int u, int v0)
{
    const column<WORDS> c = find_column<WORDS>(q, u);
    const int v_end = vf_min(v0 + ROWS, q.height);
    row_scan<WORDS> scan;
    scan.start(q, c, vf_scale_support(v0));
    uint32_t h1 = scan.half(q, c, vf_scale_support(v0)), h2 = v0 ? scan.half(q, c, 2 * v0) : h1;
    for (int v = v0; v < v_end; v++) {
        const uint32_t h3 = scan.half(q, c, 2 * v + 1), h4 = v + 1 < q.height ? scan.half(q, c, 2 * v + 2) : h3;
        q.to[v * q.pitch + u] = vf_scale_round(h1 + h2 + h3 + h4);
        h1 = h3;
        h2 = h4;
    }
}

/** Grid: the thread blocks of all jobs, one after the other. */
template <int ROWS>
static __global__ void __launch_bounds__(THREADS) scale_k(const VF_CONSTANT vf_scale_view s, const jobs all)
{
    int p = 0;
    while (p + 1 < all.count && (int)blockIdx.x >= all.level[p + 1].first_block) p++;
    const job &q = all.level[p];
    const int block = blockIdx.x - q.first_block, row = block / q.across;
    const int u = (block - row * q.across) * TILE_X + threadIdx.x % TILE_X,
              v = (row * GROUPS + threadIdx.x / TILE_X) * ROWS;
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.x);
    if (u < q.width && v < q.height) {
        if (q.words == 1)
            make_column<1, ROWS>(q, u, v);
        else if (q.words == 2)
            make_column<2, ROWS>(q, u, v);
        else
            make_column<WORDS_MOST, ROWS>(q, u, v);
    }
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

/** Job of a level of a camera, whose first thread block is `block`. Returns the block after its last. */
static int add_job(const vf_scale_view *s, job *q, int camera, int level, int rows, int block)
{
    const vf_level &l = s->geometry.scale[camera][level], &l0 = s->geometry.scale[camera][0];
    q->from = s->pictures.level0[s->parity][camera];
    q->to = s->scale->pixels[camera] + l.offset;
    q->from_pitch = l0.pitch;
    q->height0 = l0.height;
    q->pitch = l.pitch;
    q->width = l.width;
    q->height = l.height;
    q->step_q16 = s->geometry.step_q16[level];
    q->inverse_q19 = s->geometry.inverse_q19[level];
    /* One word for a support of 3 pixels and a part of one more, two for 7 and a part. */
    q->words = q->step_q16 <= 3u << 15 ? 1 : q->step_q16 <= 7u << 15 ? 2 : WORDS_MOST;
    q->first_block = block;
    q->across = (int32_t)vf_blocks(l.width, TILE_X);
    return block + q->across * (int)vf_blocks(l.height, GROUPS * rows);
}

/** Jobs of all levels, with `rows` rows per thread. Returns the number of thread blocks. */
static int add_jobs(const vf_scale_view *s, jobs *all, int rows)
{
    int blocks = 0;
    memset(all, 0, sizeof *all);
    for (int camera = 0; camera < s->geometry.cameras; camera++)
        for (int level = 1; level < s->geometry.searched; level++)
            blocks = add_job(s, &all->level[all->count++], camera, level, rows, blocks);
    return blocks;
}

extern "C" cudaError_t vf_scale_cuda(const vf_scale_view *s, cudaStream_t stream)
{
    jobs all;
    int blocks = add_jobs(s, &all, VF_SCALE_FEW_ROWS);
    if (!blocks) return cudaSuccess;
    if (blocks <= 2048 / THREADS * vf_multiprocessors()) {
        scale_k<VF_SCALE_FEW_ROWS><<<blocks, THREADS, 0, stream>>>(*s, all);
    } else {
        blocks = add_jobs(s, &all, VF_SCALE_MANY_ROWS);
        scale_k<VF_SCALE_MANY_ROWS><<<blocks, THREADS, 0, stream>>>(*s, all);
    }
    return cudaGetLastError();
}
