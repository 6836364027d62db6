/* SPDX-License-Identifier: MIT */
/* dense: speckle filter. A block labels the segments of a tile in shared memory. It removes segments that are small,
 * lie inside the tile, and whose labels converge. Each thread has CHUNK pixels of two rows and of two columns;
 * neighbouring lanes have the chunks of one row or column. */
#ifndef VF_DENSE_SPECKLE_CUH
#define VF_DENSE_SPECKLE_CUH

#include "dense_packed.cuh"

#define TILE VF_DENSE_TILE
/* pixels from one row of a tile to the next in shared memory: an odd number of words, so that rows begin in different
 * banks */
#define TILE_PITCH (TILE + 2)
#define CHUNK 16              /* consecutive pixels of a row or column that a thread handles */
#define CHUNKS (TILE / CHUNK) /* chunks of a row or column of the tile */
#define SPECKLE_THREADS (TILE / 2 * CHUNKS)
/* flag in a label's pixel count: its segment is not removed, because it has a second label or leaves the tile */
#define KEEP 0x80000000u
#define NO_LABEL 0x3fffu /* above any label, and with any label ORed to it below 0x7c00, the limit of min_u16x2() */

/** Where neighbouring pixels of a thread's two chunks are not connected. The chunks lie in two rows or two columns;
 *  each has one half of a word. */
struct chunk_breaks {
    /* before[k]: NO_LABEL if pixel k is not connected with pixel k - 1, else 0. Pixels -1 and CHUNK belong to the
     * neighbouring chunks. */
    uint32_t before[CHUNK + 1];
    uint32_t any; /* NO_LABEL if two neighbouring pixels inside the chunk are not connected, else 0 */
};

/** Gives each connected run of pixels in two rows or columns the least label of the run. v: labels of a thread's chunk
 *  in each of them, one half each; p: where neighbouring pixels are not connected. */
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

/** Transposes the 2x2 labels of two words: words with two pixels of a row become words with two pixels of a column, or
 *  back. */
static __device__ __forceinline__ void transpose(uint32_t &a, uint32_t &b)
{
    const uint32_t first = __byte_perm(a, b, 0x5410);
    b = __byte_perm(a, b, 0x7632);
    a = first;
}

typedef uint16_t tile_pixels[TILE][TILE_PITCH];

/** Propagates labels along a thread's chunks of row y and of row y + TILE / 2, which begin in column x. */
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

/** Propagates labels along a thread's chunks of columns x and x + 1, which begin in row y. x is even. */
static __device__ __forceinline__ void propagate_along_columns(tile_pixels &label, int x, int y, const chunk_breaks &p)
{
    uint32_t v[CHUNK], *first = reinterpret_cast<uint32_t *>(&label[y][x]);
#pragma unroll
    for (int k = 0; k < CHUNK; k++) v[k] = first[k * (TILE_PITCH / 2)];
    propagate_labels(v, p);
#pragma unroll
    for (int k = 0; k < CHUNK; k++) first[k * (TILE_PITCH / 2)] = v[k];
}

/** Finds where neighbouring pixels of two chunks are not connected. The chunks begin at pixels (x0, y0) and (x1, y1) of
 *  the tile and run along (dx, dy). */
static __device__ __forceinline__ chunk_breaks breaks_of(const tile_pixels &disparity, int x0, int y0, int x1, int y1,
                                                         int dx, int dy)
{
    chunk_breaks p;
    p.any = 0;
#pragma unroll
    for (int k = 0; k <= CHUNK; k++) {
        const int i = (dx ? x0 : y0) + k;
        const bool inside = i > 0 && i < TILE;
        const bool first = inside && vf_dense_connected(disparity[y0 + (k - 1) * dy][x0 + (k - 1) * dx],
                                                        disparity[y0 + k * dy][x0 + k * dx]);
        const bool second = inside && vf_dense_connected(disparity[y1 + (k - 1) * dy][x1 + (k - 1) * dx],
                                                         disparity[y1 + k * dy][x1 + k * dx]);
        p.before[k] = (first ? 0 : NO_LABEL) | (second ? 0 : NO_LABEL << 16);
        if (k > 0 && k < CHUNK) p.any |= p.before[k];
    }
    return p;
}

/** Adds the pixels of a thread's chunk of a column to the pixel counts of their labels. If all pixels of a warp have
 *  one label, one lane adds for all, because atomics on one address are serial. */
static __device__ __forceinline__ void count_labels(uint32_t *count, const tile_pixels &disparity,
                                                    const tile_pixels &label, int x, int y)
{
    uint32_t current = 0, /* label of the latest pixels */
        pixels = 0;       /* number of consecutive pixels with this label that are not yet counted */
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

/** Removes the small segments of a tile of the disparity image, one block per tile. */
static __global__ void __launch_bounds__(SPECKLE_THREADS) speckle_k(const VF_CONSTANT vf_dense_view s)
{
    __shared__ __align__(4) tile_pixels disparity, label;
    __shared__ uint32_t count[TILE * TILE]; /* number of pixels of each label, and the flag KEEP */
    const vf_level &l = picture(s);
    const uint16_t *median = s.scratch->median;
    const int x0 = blockIdx.x * VF_DENSE_TILE_STRIDE, y0 = blockIdx.y * VF_DENSE_TILE_STRIDE;
    /* row, column: first of the thread's two rows and of its two columns. begin: first pixel of its chunks along
     * them. */
    const int row = threadIdx.x / CHUNKS, column = 2 * row, begin = threadIdx.x % CHUNKS * CHUNK;
    const auto at = [&](int x, int y) -> uint32_t {
        return x >= 0 && y >= 0 && x < l.width && y < l.height ? median[y * l.pitch + x] : VF_DENSE_NONE;
    };
    /* all loads are issued before the first write below, so that they overlap */
    uint32_t read[TILE * TILE / SPECKLE_THREADS];
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
    const chunk_breaks along = breaks_of(disparity, begin, row, begin, row + TILE / 2, 1, 0);
    const chunk_breaks down = breaks_of(disparity, column, begin, column + 1, begin, 0, 1);
    for (int sweep = 0; sweep < VF_DENSE_SWEEPS; sweep++) {
        propagate_along_rows(label, begin, row, along);
        __syncthreads();
        propagate_along_columns(label, column, begin, down);
        __syncthreads();
    }
    count_labels(count, disparity, label, column, begin);
    count_labels(count, disparity, label, column + 1, begin);
    __syncthreads();
    /* Connected pixels of a row with different labels: the labels have not converged, and both segments stay. Connected
     * pixels of a column have equal labels, because the last sweep ended with columns. */
#pragma unroll
    for (int k = 0; k < CHUNK; k++)
        for (int second = 0; second < 2; second++) {
            if (along.before[k] >> 16 * second & 1) continue;
            const uint16_t *pixel = &label[row + second * (TILE / 2)][begin + k];
            if (pixel[-1] == pixel[0]) continue;
            atomicOr(&count[pixel[-1]], KEEP);
            atomicOr(&count[pixel[0]], KEEP);
        }
    /* Segments with a pixel at the border of the tile that is connected with a pixel beyond it: they stay. */
    for (int border = threadIdx.x; border < 4 * TILE; border += SPECKLE_THREADS) {
        const int side = border / TILE, i = border % TILE, far = side % 2 ? TILE - 1 : 0, out = side % 2 ? TILE : -1;
        const int x = side < 2 ? far : i, y = side < 2 ? i : far;
        if (vf_dense_connected(at(x0 + (side < 2 ? out : i), y0 + (side < 2 ? i : out)), disparity[y][x]))
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
