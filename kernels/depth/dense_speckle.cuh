/* SPDX-License-Identifier: MIT */
/* dense: speckle filter. A block labels the segments of a tile in shared memory and removes those that lie within
 * it, whose labels converge, and that are small enough. Each thread has CHUNK pixels of two rows, and CHUNK pixels
 * of two columns; neighbouring lanes have the chunks of one line. */
#ifndef VF_DENSE_SPECKLE_CUH
#define VF_DENSE_SPECKLE_CUH

#include "dense_packed.cuh"

#define TILE VF_DENSE_TILE
#define TILE_PITCH (TILE + 2) /* an odd number of words, so that rows begin in different banks */
#define CHUNK 16
#define CHUNKS (TILE / CHUNK) /* of a line */
#define SPECKLE_THREADS (TILE / 2 * CHUNKS)
#define KEEP 0x80000000u /* in a label's count: the segment goes on with another label or beyond the tile */
#define NO_LABEL 0x3fffu /* above any label, and below 2^14, the bound of min_u16x2() */

/** A thread's chunks of two lines: where pixels are not connected. Labels of both lines lie in halves of a word. */
struct chunk_breaks {
    /* NO_LABEL where pixel k is not connected with k - 1; the first and the last: with the neighbouring chunks */
    uint32_t before[CHUNK + 1];
    uint32_t any; /* NO_LABEL where a pixel of the chunk is not connected with the one before it in the chunk */
};

/** Each connected run of pixels of a line takes the least label in it. */
static __device__ __forceinline__ void propagate_labels(uint32_t (&v)[CHUNK], const chunk_breaks &p)
{
    uint32_t from_left = NO_LABEL * BOTH_HALVES, from_right = NO_LABEL * BOTH_HALVES, passes[CHUNK];
#pragma unroll
    for (int k = 1; k < CHUNK; k++) v[k] = min_u16x2(v[k], v[k - 1] | p.before[k]);
#pragma unroll
    for (int k = CHUNK - 2; k >= 0; k--) v[k] = min_u16x2(v[k], v[k + 1] | p.before[k + 1]);
#pragma unroll
    for (int k = 1; k < CHUNKS; k++) {
        const uint32_t left = __shfl_up_sync(VF_ALL, min_u16x2(v[CHUNK - 1], from_left | p.any), 1, CHUNKS);
        const uint32_t right = __shfl_down_sync(VF_ALL, min_u16x2(v[0], from_right | p.any), 1, CHUNKS);
        from_left = left | p.before[0];
        from_right = right | p.before[CHUNK];
    }
#pragma unroll
    for (int k = 0; k < CHUNK; k++) {
        if (k) from_left |= p.before[k];
        passes[k] = from_left;
    }
#pragma unroll
    for (int k = CHUNK - 1; k >= 0; k--) {
        if (k < CHUNK - 1) from_right |= p.before[k + 1];
        v[k] = min_u16x2(v[k], min_u16x2(passes[k], from_right));
    }
}

/** Transposes 2x2 labels in two words: from two of each of two rows to two of each of two columns, or back. */
static __device__ __forceinline__ void transpose(uint32_t &a, uint32_t &b)
{
    const uint32_t first = __byte_perm(a, b, 0x5410);
    b = __byte_perm(a, b, 0x7632);
    a = first;
}

typedef uint16_t tile_pixels[TILE][TILE_PITCH];

/** Propagates labels along a thread's chunks of row y and of the row half a tile below. */
static __device__ __forceinline__ void propagate_along_rows(tile_pixels &label, int x, int y, const chunk_breaks &p)
{
    uint32_t v[CHUNK], *upper = reinterpret_cast<uint32_t *>(&label[y][x]),
                       *lower = reinterpret_cast<uint32_t *>(&label[y + TILE / 2][x]);
#pragma unroll
    for (int k = 0; k < CHUNK; k += 2) {
        v[k] = upper[k / 2];
        v[k + 1] = lower[k / 2];
        transpose(v[k], v[k + 1]);
    }
    propagate_labels(v, p);
#pragma unroll
    for (int k = 0; k < CHUNK; k += 2) {
        transpose(v[k], v[k + 1]);
        upper[k / 2] = v[k];
        lower[k / 2] = v[k + 1];
    }
}

/** Propagates labels along a thread's chunks of column x and of the next. x is even. */
static __device__ __forceinline__ void propagate_along_columns(tile_pixels &label, int x, int y, const chunk_breaks &p)
{
    uint32_t v[CHUNK], *first = reinterpret_cast<uint32_t *>(&label[y][x]);
#pragma unroll
    for (int k = 0; k < CHUNK; k++) v[k] = first[k * (TILE_PITCH / 2)];
    propagate_labels(v, p);
#pragma unroll
    for (int k = 0; k < CHUNK; k++) first[k * (TILE_PITCH / 2)] = v[k];
}

/** Breaks of the chunks of two lines, which begin at (x0, y0) and (x1, y1). (dx, dy): direction of the lines. */
static __device__ __forceinline__ chunk_breaks breaks_of(const tile_pixels &disparity, int x0, int y0, int x1, int y1,
                                                         int dx, int dy, int range)
{
    chunk_breaks p;
    p.any = 0;
#pragma unroll
    for (int k = 0; k <= CHUNK; k++) {
        const int i = (dx ? x0 : y0) + k;
        const bool inside = i > 0 && i < TILE;
        const bool first = inside && vf_dense_connected(disparity[y0 + (k - 1) * dy][x0 + (k - 1) * dx],
                                                        disparity[y0 + k * dy][x0 + k * dx], range);
        const bool second = inside && vf_dense_connected(disparity[y1 + (k - 1) * dy][x1 + (k - 1) * dx],
                                                         disparity[y1 + k * dy][x1 + k * dx], range);
        p.before[k] = (first ? 0 : NO_LABEL) | (second ? 0 : NO_LABEL << 16);
        if (k > 0 && k < CHUNK) p.any |= p.before[k];
    }
    return p;
}

/** Adds the pixels of a thread's chunk of a column to the counts of their labels. Mostly all pixels of a warp are
 *  of one segment: then one lane adds for all, since atomics on one address would be serialised. */
static __device__ __forceinline__ void count_labels(uint32_t *count, const tile_pixels &disparity,
                                                    const tile_pixels &label, int x, int y)
{
    uint32_t current = 0, pixels = 0; /* a label, and number of consecutive pixels up to here that have it */
    for (int k = 0; k < CHUNK; k++) {
        if (disparity[y + k][x] == VF_DENSE_NONE) continue;
        const uint32_t here = label[y + k][x];
        if (pixels && here != current) {
            atomicAdd(&count[current], pixels);
            pixels = 0;
        }
        current = here;
        pixels++;
    }
    const uint32_t first = vf_warp_min(pixels ? current : VF_NONE), all = (uint32_t)vf_warp_sum((int32_t)pixels);
    if (!__all_sync(VF_ALL, !pixels || current == first)) {
        if (pixels) atomicAdd(&count[current], pixels);
    } else if (all && threadIdx.x % VF_WARP == 0) {
        atomicAdd(&count[first], all);
    }
}

/** Speckle filter of a tile, by a block. */
static __global__ void __launch_bounds__(SPECKLE_THREADS) speckle_k(const VF_CONSTANT vf_dense_view s)
{
    __shared__ __align__(4) tile_pixels disparity, label;
    __shared__ uint32_t count[TILE * TILE]; /* pixels of each label, and KEEP */
    const vf_level &l = picture(s);
    const uint16_t *median = s.scratch->median;
    const int x0 = blockIdx.x * VF_DENSE_TILE_STRIDE, y0 = blockIdx.y * VF_DENSE_TILE_STRIDE,
              range = vf_dense_speckle_range(&s.tuning);
    /* first row and first column of the thread, and where its chunks begin */
    const int row = threadIdx.x / CHUNKS, column = 2 * row, begin = threadIdx.x % CHUNKS * CHUNK;
    const auto at = [&](int x, int y) -> uint32_t {
        return x >= 0 && y >= 0 && x < l.width && y < l.height ? median[y * l.pitch + x] : VF_DENSE_NONE;
    };
    uint32_t read[TILE * TILE / SPECKLE_THREADS]; /* all loads are under way at once */
#pragma unroll
    for (int k = 0; k < TILE * TILE / SPECKLE_THREADS; k++)
        read[k] = at(x0 + threadIdx.x % TILE, y0 + threadIdx.x / TILE + k * (SPECKLE_THREADS / TILE));
#pragma unroll
    for (int k = 0; k < TILE * TILE / SPECKLE_THREADS; k++) {
        const int i = k * SPECKLE_THREADS + threadIdx.x;
        disparity[i / TILE][i % TILE] = (uint16_t)read[k];
        label[i / TILE][i % TILE] = (uint16_t)i;
        count[i] = 0;
    }
    __syncthreads();
    const chunk_breaks along = breaks_of(disparity, begin, row, begin, row + TILE / 2, 1, 0, range);
    const chunk_breaks down = breaks_of(disparity, column, begin, column + 1, begin, 0, 1, range);
    for (int sweep = 0; sweep < VF_DENSE_SWEEPS; sweep++) {
        propagate_along_rows(label, begin, row, along);
        __syncthreads();
        propagate_along_columns(label, column, begin, down);
        __syncthreads();
    }
    count_labels(count, disparity, label, column, begin);
    count_labels(count, disparity, label, column + 1, begin);
    __syncthreads();
    /* Connected pixels of a row with different labels: the labels have not converged. Along columns they have been
     * equal since the last sweep. */
#pragma unroll
    for (int k = 0; k < CHUNK; k++)
        for (int second = 0; second < 2; second++) {
            if (along.before[k] >> 16 * second & 1) continue;
            const uint16_t *pixel = &label[row + second * (TILE / 2)][begin + k];
            if (pixel[-1] == pixel[0]) continue;
            atomicOr(&count[pixel[-1]], KEEP);
            atomicOr(&count[pixel[0]], KEEP);
        }
    /* Pixels at the tile's border that are connected with a pixel beyond it. */
    for (int border = threadIdx.x; border < 4 * TILE; border += SPECKLE_THREADS) {
        const int side = border / TILE, i = border % TILE, far = side % 2 ? TILE - 1 : 0, out = side % 2 ? TILE : -1;
        const int x = side < 2 ? far : i, y = side < 2 ? i : far;
        if (vf_dense_connected(at(x0 + (side < 2 ? out : i), y0 + (side < 2 ? i : out)), disparity[y][x], range))
            atomicOr(&count[label[y][x]], KEEP);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < TILE * TILE; i += SPECKLE_THREADS) {
        const int x = i % TILE, y = i / TILE;
        if (disparity[y][x] != VF_DENSE_NONE && count[label[y][x]] < (uint32_t)s.tuning.dense_speckle_px)
            s.dense->disparity[(y0 + y) * l.pitch + x0 + x] = VF_DENSE_NONE;
    }
}

#endif
