/* SPDX-License-Identifier: MIT */
/* scale on the GPU: one launch for all levels and cameras; every level is made from level 0. A block makes a tile of a
 * level, one column a thread and group:
 *   1. weights of its columns and rows are computed once, in shared memory
 *   2. for each row of level 0 under the tile: weighted sums over the support of each column, as dot products;
 *      two rows of sums share a word of shared memory, so that
 *   3. a pixel is a sum over pairs of rows, one dot product per pair */
#include "kernels/kernel.cuh"

#include "image/scale.h"

#define TILE_X 64
#ifndef VF_SCALE_TILE_Y
#define VF_SCALE_TILE_Y 32 /* rows of a tile; fewer if they need more than PAIRS pairs of level 0 rows */
#define VF_SCALE_THREADS 128
#endif
#define TILE_Y VF_SCALE_TILE_Y
#define THREADS VF_SCALE_THREADS
#define GROUPS (THREADS / TILE_X)
#define PAIRS 64 /* most pairs of level 0 rows under a tile */
#define BATCH 3  /* pairs of level 0 rows that a thread loads before it uses the first */
/** Most words of weights of a column: one byte for every level 0 pixel in its support. */
#define WORDS_MAX ((VF_SCALE_TAPS + 3) / 4)
/** Most words of weights of a row: one byte for every level 0 row in its support, from an even row on. */
#define ROW_WORDS_MAX ((VF_SCALE_TAPS + 4) / 4)

/** Scaling of level 0 to one level of one camera, and its blocks. */
struct job {
    const uint8_t *from; /* pixels of level 0 */
    uint8_t *to;         /* pixels of the level to make */
    int32_t from_pitch, height0, pitch, width, height;
    int32_t words, /* words of weights of a column */
        row_words; /* words of weights of a row */
    int32_t rows;  /* rows of a tile of the level */
    uint32_t step_q16, inverse_q19;
    int32_t first_block, /* first block of this level in the launch */
        across;          /* number of blocks along a row */
};

/** Scaling to all levels of all cameras, in the order of their blocks. */
struct jobs {
    job level[VFRONT_CAMERAS * VFRONT_SCALES];
    int32_t count;
};

/** Weights and sums of a tile, in shared memory. */
struct tile {
    /* weights of a column: one byte per level 0 pixel of its support [1/256] */
    uint32_t column_weight[WORDS_MAX][TILE_X];
    struct {
        uint32_t weight[ROW_WORDS_MAX]; /* weights of a row: one byte per level 0 row, from first_pair on [1/256] */
        int32_t first_pair; /* first pair of level 0 rows in the support, counted from the tile's first pair */
    } row[TILE_Y];
    /* Weighted sums along two rows of level 0, the upper row in the lower half. Sums after the last pair are read with
     * weight 0. */
    uint32_t sum[PAIRS + 2 * ROW_WORDS_MAX][TILE_X];
};

/** Weights of level 0 pixels j .. j + 3 in pixel u of a level of `size` px, along one axis, one byte each. */
static __device__ __forceinline__ uint32_t four_weights(int u, int size, int j, uint32_t inverse_q19)
{
    uint32_t four = 0;
    if (u == 0 || u == size - 1) {
        for (int k = 0; k < 4; k++) four |= (uint32_t)vf_scale_weight(u, size, j + k, inverse_q19) << (8 * k);
        return four;
    }
    int edge = vf_scale_edge(j, inverse_q19);
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int next = vf_scale_edge(j + k + 1, inverse_q19);
        four |= (uint32_t)vf_scale_overlap(edge, next, 2 * u - 1, 2 * u + 3) << (8 * k);
        edge = next;
    }
    return four;
}

/** First pixel of level 0 in the support of pixel u of a level, along one axis. */
static __device__ __forceinline__ int first_of(const job &q, int u)
{
    return vf_scale_first(vf_scale_support(u), q.step_q16, q.inverse_q19);
}

/** Computes the weights of the columns from u0 on and of the rows from v0 on of a tile. first: level 0 row of the
 *  tile's first pair. */
static __device__ __forceinline__ void make_weights(tile &t, const job &q, int u0, int v0, int first)
{
    const int columns = TILE_X * q.words;
    for (int i = threadIdx.x; i < columns + q.rows * q.row_words; i += THREADS) {
        if (i < columns) {
            const int u = vf_min(u0 + i % TILE_X, q.width - 1), w = i / TILE_X;
            t.column_weight[w][i % TILE_X] = four_weights(u, q.width, first_of(q, u) + 4 * w, q.inverse_q19);
        } else {
            const int r = (i - columns) / q.row_words, w = i - columns - r * q.row_words;
            const int v = vf_min(v0 + r, q.height - 1), even = first_of(q, v) & ~1;
            t.row[r].weight[w] = four_weights(v, q.height, even + 4 * w, q.inverse_q19);
            if (w == 0) t.row[r].first_pair = (even - first) / 2;
        }
    }
}

/** Words of level 0 that contain the support of a column, in BATCH pairs of rows. */
template <int WORDS> struct batch {
    uint32_t word[BATCH][2][WORDS + 1];

    /** Loads every GROUPS-th pair of level 0 rows from `pair` on. at: aligned word with the first pixel of the support,
     *  in row 0 of level 0; first: row of pair 0. The last row repeats below the image. The last word may lie beyond
     *  the row, with weights 0. */
    __device__ __forceinline__ void load(const job &q, const uint8_t *at, int first, int pair)
    {
#pragma unroll
        for (int b = 0; b < BATCH; b++)
#pragma unroll
            for (int r = 0; r < 2; r++) {
                const int row = vf_min(first + 2 * (pair + b * GROUPS) + r, q.height0 - 1);
                const uint32_t *from = reinterpret_cast<const uint32_t *>(at + (uint32_t)(row * q.from_pitch));
#pragma unroll
                for (int w = 0; w <= WORDS; w++) word[b][r][w] = from[w];
            }
    }
    /** Stores the weighted sums along the rows of the loaded pairs. off: pixels of the first word before the support, 0
     *  .. 3; pairs: number of pairs under the tile. */
    __device__ __forceinline__ void add_up(tile &t, const uint32_t weight[WORDS], int off, int column, int pair,
                                           int pairs) const
    {
#pragma unroll
        for (int b = 0; b < BATCH; b++) {
            uint32_t sum[2] = {0, 0};
#pragma unroll
            for (int r = 0; r < 2; r++)
#pragma unroll
                for (int w = 0; w < WORDS; w++)
                    sum[r] = vf_dot4(__funnelshift_r(word[b][r][w], word[b][r][w + 1], 8 * off), weight[w], sum[r]);
            if (pair + b * GROUPS < pairs) t.sum[pair + b * GROUPS][column] = sum[0] | sum[1] << 16;
        }
    }
};

/** Pixel of the level in a column and row r of the tile. words: words of weights of a row, at most MOST. */
template <int MOST> static __device__ __forceinline__ uint8_t pixel_of(const tile &t, int r, int column, int words)
{
    const uint32_t *sum = &t.sum[t.row[r].first_pair][column];
    uint32_t grey = 0;
#pragma unroll
    for (int w = 0; w < MOST; w++)
        if (w < words) {
            grey = vf_dot2(sum[2 * w * TILE_X], t.row[r].weight[w], grey);
            grey = vf_dot2(sum[(2 * w + 1) * TILE_X], t.row[r].weight[w] >> 16, grey);
        }
    return vf_scale_round(grey);
}

/** Makes a tile of the level, by a block. (u0, v0): its first pixel. */
template <int WORDS> static __device__ __forceinline__ void make_tile(tile &t, const job &q, int u0, int v0)
{
    const int column = threadIdx.x % TILE_X, group = threadIdx.x / TILE_X, u = vf_min(u0 + column, q.width - 1);
    const int v_end = vf_min(v0 + q.rows, q.height), first = first_of(q, v0) & ~1;
    const int last = vf_scale_first(vf_min(2 * v_end + 1, 2 * q.height), q.step_q16, q.inverse_q19);
    const int pairs = (last - first) / 2 + 1, start = first_of(q, u), off = start & 3;
    const uint8_t *at = q.from + (start - off);
    batch<WORDS> rows;
    rows.load(q, at, first, group);
    make_weights(t, q, u0, v0, first);
    __syncthreads();

    uint32_t weight[WORDS];
#pragma unroll
    for (int w = 0; w < WORDS; w++) weight[w] = t.column_weight[w][column];
    for (int pair = group;;) {
        rows.add_up(t, weight, off, column, pair, pairs);
        pair += BATCH * GROUPS;
        if (pair >= pairs) break;
        rows.load(q, at, first, pair);
    }
    __syncthreads();

    if (u0 + column >= q.width) return;
    uint8_t *to = q.to + v0 * q.pitch + u;
    if (q.row_words == 2) {
#pragma unroll 4
        for (int r = group; r < v_end - v0; r += GROUPS) to[r * q.pitch] = pixel_of<2>(t, r, column, 2);
    } else {
        for (int r = group; r < v_end - v0; r += GROUPS)
            to[r * q.pitch] = pixel_of<ROW_WORDS_MAX>(t, r, column, q.row_words);
    }
}

/** Scales level 0 to all levels of all cameras, one tile per block. */
static __global__ void __launch_bounds__(THREADS) scale_k(const VF_CONSTANT vf_scale_view s, const jobs all)
{
    __shared__ tile t;
    int p = 0;
    while (p + 1 < all.count && (int)blockIdx.x >= all.level[p + 1].first_block) p++;
    const job &q = all.level[p];
    const int block = blockIdx.x - q.first_block, row = block / q.across;
    const int u0 = (block - row * q.across) * TILE_X, v0 = row * q.rows;
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.x);
    if (q.words == 1)
        make_tile<1>(t, q, u0, v0);
    else if (q.words == 2)
        make_tile<2>(t, q, u0, v0);
    else
        make_tile<WORDS_MAX>(t, q, u0, v0);
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

/** Sets up the scaling to a level of a camera. block: its first block. Returns the block after its last. */
static int add_job(const vf_scale_view *s, job *q, int camera, int level, int block)
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
    /* One word of weights covers a support of 3 px and a part of another, two words 7 px and a part. */
    q->words = q->step_q16 <= 3u << 15 ? 1 : q->step_q16 <= 7u << 15 ? 2 : WORDS_MAX;
    const int taps = (int)((2 * q->step_q16 + 65535) >> 16) + 1; /* most level 0 rows in the support of a row */
    q->row_words = (taps + 1 + 3) / 4;
    q->rows = vf_clamp((int)((2u * PAIRS - 3u) * 65536u / q->step_q16) - 1, 1, TILE_Y);
    q->first_block = block;
    q->across = (int32_t)vf_blocks(l.width, TILE_X);
    return block + q->across * (int)vf_blocks(l.height, q->rows);
}

extern "C" cudaError_t vf_scale_cuda(const vf_scale_view *s, cudaStream_t stream)
{
    jobs all;
    int blocks = 0;
    memset(&all, 0, sizeof all);
    for (int camera = 0; camera < s->geometry.cameras; camera++)
        for (int level = 1; level < s->geometry.searched; level++)
            blocks = add_job(s, &all.level[all.count++], camera, level, blocks);
    if (blocks) scale_k<<<blocks, THREADS, 0, stream>>>(*s, all);
    return blocks ? cudaGetLastError() : cudaSuccess;
}
