/* SPDX-License-Identifier: MIT */
/* scale on the GPU: one launch for all levels and cameras; every level comes from level 0, so none waits for
 * another. A thread block makes a tile of a level, one column of it a thread and group:
 *   1. weights of its columns and rows, each once, to shared memory
 *   2. of each row of level 0 below the tile the weighted sum over the support of each column, by four-byte dot
 *      products; two rows of sums share a word of shared memory, so that
 *   3. a pixel is a sum over pairs of rows, each pair one dot product */
#include "kernels/kernel.cuh"

#include "image/scale.h"

#define TILE_X 64
#ifndef VF_SCALE_TILE_Y
#define VF_SCALE_TILE_Y 32 /* rows of a tile, fewer where they need more rows of level 0 than PAIRS pairs */
#define VF_SCALE_THREADS 128
#endif
#define TILE_Y VF_SCALE_TILE_Y
#define THREADS VF_SCALE_THREADS
#define GROUPS (THREADS / TILE_X)
#define PAIRS 64
#define BATCH 3 /* pairs of rows whose loads a thread issues before it uses the first */
/** Words with a weight, one byte each, for every pixel of level 0 in the support of a column; in that of a row, which
 *  begins with an even row of level 0. */
#define WORDS_MOST ((VF_SCALE_TAPS + 3) / 4)
#define ROW_WORDS_MOST ((VF_SCALE_TAPS + 4) / 4)

/** One level of one camera, with its range of thread blocks. */
struct job {
    const uint8_t *from; /* level 0 */
    uint8_t *to;         /* the level made */
    int32_t from_pitch, height0, pitch, width, height;
    int32_t words, row_words; /* words of weights of a column, of a row */
    int32_t rows;             /* of a tile */
    uint32_t step_q16, inverse_q19;
    int32_t first_block, across; /* thread blocks: the first of this level, and their number along a row */
};

/** All levels of all cameras, in the order of their thread blocks. */
struct jobs {
    job level[VFRONT_CAMERAS * VFRONT_SCALES];
    int32_t count;
};

/** A tile in shared memory. */
struct tile {
    uint32_t column_weight[WORDS_MOST][TILE_X]; /* a byte for each pixel of the support [1/256] */
    struct {
        uint32_t weight[ROW_WORDS_MOST]; /* a byte for each row of level 0, from the first pair on */
        int32_t first_pair;              /* of the support */
    } row[TILE_Y];
    /* Weighted sums of two rows of level 0, the upper one in the lower half. What is behind the last pair is read, but
     * has no weight. */
    uint32_t sum[PAIRS + 2 * ROW_WORDS_MOST][TILE_X];
};

/** Four weights along one axis, of the pixels of level 0 from j on in pixel u of a level of `size` px. */
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

/** First pixel of level 0 in the support of pixel u of a level. */
static __device__ __forceinline__ int first_of(const job &q, int u)
{
    return vf_scale_first(vf_scale_support(u), q.step_q16, q.inverse_q19);
}

/** Weights of the columns u0 .. and of the rows v0 .. of a tile. first: row of level 0 of its first pair. */
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

/** Words of some pairs of rows that hold the support of a column. */
template <int WORDS> struct batch {
    uint32_t word[BATCH][2][WORDS + 1];

    /** Loads of every GROUPS-th pair from `pair` on. at: aligned word that holds the first pixel of the support in the
     *  first row of level 0. Below the last row that row is read once more. The last word may lie beyond the row; its
     *  weights are then 0. */
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
    /** Weighted sums of these pairs. off: pixels of the first word before the support, 0..3. */
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

/** Pixel of a column in row r of the tile. words: of weights of a row, at most MOST. */
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

/** The tile whose first pixel is (u0, v0). */
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
            to[r * q.pitch] = pixel_of<ROW_WORDS_MOST>(t, r, column, q.row_words);
    }
}

/** Grid: the tiles of all jobs, one after the other. */
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
        make_tile<WORDS_MOST>(t, q, u0, v0);
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

/** Job of a level of a camera, whose first thread block is `block`. Returns the block after its last. */
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
    /* One word for a support of 3 pixels and a part of one more, two for 7 and a part. */
    q->words = q->step_q16 <= 3u << 15 ? 1 : q->step_q16 <= 7u << 15 ? 2 : WORDS_MOST;
    const int taps = (int)((2 * q->step_q16 + 65535) >> 16) + 1; /* at most, in the support of a row */
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
