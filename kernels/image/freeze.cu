/* SPDX-License-Identifier: MIT */
/* freeze on the GPU: a warp compares an image row with the previous frame's, 16 pixels a lane at a time. Runs
 * concurrently with the stages that process the images. */
#include "kernels/kernel.cuh"

#include "image/freeze.h"

#define THREADS 256
#define ROWS 16 /* image rows of a block: two a warp; a multiple of VF_FREEZE_STEP */
#define CHUNK VF_FREEZE_CHUNK

/** Compares a chunk of up to CHUNK pixels with the previous image. Returns 1 if a pixel changed; else 2 if the chunk
 *  has texture, else 0. */
static __device__ __forceinline__ int compare_chunk(const uint8_t *now, const uint8_t *before, int pixels)
{
    uint32_t changed = 0;
    if (pixels == CHUNK) {
        const uint4 a = *reinterpret_cast<const uint4 *>(now), b = *reinterpret_cast<const uint4 *>(before);
        changed = (a.x ^ b.x) | (a.y ^ b.y) | (a.z ^ b.z) | (a.w ^ b.w);
    } else {
        for (int i = 0; i < pixels; i++) changed |= now[i] ^ before[i];
    }
    return changed ? 1 : vf_freeze_texture(now, pixels) ? 2 : 0;
}

/** Compares image row y with the previous frame's, by a warp. Every lane adds the result to its counts `rows`. */
static __device__ __forceinline__ void compare_row(const vf_freeze_view &s, int camera, int y, vf_freeze_rows *rows)
{
    const vf_level &l = s.geometry.raw[camera];
    const size_t row = (size_t)y * l.pitch;
    const uint8_t *now = s.ingest->picture[s.parity][camera] + row,
                  *before = s.ingest->picture[s.parity ^ 1][camera] + row;
    int flags = 0;
    for (int x = threadIdx.x % VF_WARP * CHUNK; x < l.width; x += VF_WARP * CHUNK)
        flags |= compare_chunk(now + x, before + x, vf_min(CHUNK, l.width - x));
    const unsigned changed = __ballot_sync(VF_ALL, flags & 1), texture = __ballot_sync(VF_ALL, flags & 2);
    vf_freeze_count(rows, changed != 0, texture != 0);
}

/** Adds image row y to the checksum of a warp: a lane adds its part of the sum, and every lane counts the row if it has
 *  texture. Reads the pixels that compare_row() reads. */
static __device__ __forceinline__ void add_row(const vf_freeze_view &s, int camera, int y, vf_freeze_checksum *sum)
{
    const vf_level &l = s.geometry.raw[camera];
    const uint8_t *row = s.ingest->picture[s.parity][camera] + (size_t)y * l.pitch;
    int texture = 0;
    for (int x = threadIdx.x % VF_WARP * CHUNK; x < l.width; x += VF_WARP * CHUNK) {
        const uint32_t place = ((uint32_t)y << 16) + x;
        if (x + CHUNK <= l.width) {
            const uint4 a = *reinterpret_cast<const uint4 *>(row + x);
            sum->sum += vf_freeze_word(a.x, place) + vf_freeze_word(a.y, place + 4) + vf_freeze_word(a.z, place + 8) +
                        vf_freeze_word(a.w, place + 12);
        } else {
            sum->sum += vf_freeze_part(row + x, l.width - x, place);
        }
        texture |= vf_freeze_texture(row + x, vf_min(CHUNK, l.width - x));
    }
    sum->textured += __any_sync(VF_ALL, texture) != 0;
}

/** Sum of a 64-bit number over the lanes of a warp, in every lane. */
static __device__ __forceinline__ uint64_t sum_lanes(uint64_t v)
{
    for (int step = VF_WARP / 2; step; step /= 2) v += __shfl_xor_sync(VF_ALL, (unsigned long long)v, step);
    return v;
}

/** Writes the number of consecutive frozen frames of a camera, and its repeated images, from the sums of all rows.
 *  Clears the sums for the next frame. Called by one thread, of the camera's block that finishes last. */
static __device__ void finish(const vf_freeze_view &s, int camera)
{
    vf_freeze_memory &m = *s.freeze;
    vf_freeze_rows *rows = &m.rows[s.parity][camera];
    const vf_freeze_rows all = {__ldcg(&rows->same), __ldcg(&rows->textured_same)}, none = {0, 0};
    m.frames[s.parity][camera] = vf_freeze_frames(all, s.geometry.raw[camera].height, s.ingest->params.frame == 0,
                                                  m.frames[s.parity ^ 1][camera]);
    m.rows[s.parity ^ 1][camera] = none;
    vf_freeze_checksum *sum = &m.sum[s.parity][camera];
    const vf_freeze_checksum whole = {(uint64_t)__ldcg((unsigned long long *)&sum->sum), __ldcg(&sum->textured), 0},
                             empty = {0, 0, 0};
    m.repeated[s.parity][camera] = vf_freeze_repeated(whole, s.ingest->params.frame == 0,
                                                      &m.shown[s.parity ^ 1][camera], &m.shown[s.parity][camera]);
    m.sum[s.parity ^ 1][camera] = empty;
}

/** Compares ROWS image rows per block with those of the previous frame. Grid: blocks along the height of the higher
 *  image; cameras. */
static __global__ void __launch_bounds__(THREADS) freeze_k(const VF_CONSTANT vf_freeze_view s)
{
    __shared__ vf_freeze_rows sum;
    __shared__ unsigned long long check_sum;
    __shared__ uint32_t textured;
    const int camera = blockIdx.y, thread = threadIdx.x, height = s.geometry.raw[camera].height;
    vf_freeze_memory &m = *s.freeze;
    if (thread == 0) {
        vf_clock_start(s.clock, blockIdx.x + camera);
        sum.same = sum.textured_same = textured = 0;
        check_sum = 0;
    }
    __syncthreads();
    vf_freeze_rows own = {0, 0};
    vf_freeze_checksum own_sum = {0, 0, 0};
    for (int y = blockIdx.x * ROWS + thread / VF_WARP; y < vf_min(height, (int)(blockIdx.x + 1) * ROWS);
         y += THREADS / VF_WARP)
        compare_row(s, camera, y, &own);
    for (int y = blockIdx.x * ROWS + thread / VF_WARP * VF_FREEZE_STEP;
         y < vf_min(height, (int)(blockIdx.x + 1) * ROWS); y += THREADS / VF_WARP * VF_FREEZE_STEP)
        add_row(s, camera, y, &own_sum);
    own_sum.sum = sum_lanes(own_sum.sum);
    if (thread % VF_WARP == 0) {
        if (own.same) {
            atomicAdd(&sum.same, own.same);
            atomicAdd(&sum.textured_same, own.textured_same);
        }
        if (own_sum.sum) atomicAdd(&check_sum, (unsigned long long)own_sum.sum);
        if (own_sum.textured) atomicAdd(&textured, own_sum.textured);
    }
    __syncthreads();
    if (thread) return;
    if (sum.same) {
        atomicAdd(&m.rows[s.parity][camera].same, sum.same);
        atomicAdd(&m.rows[s.parity][camera].textured_same, sum.textured_same);
    }
    if (check_sum) atomicAdd(reinterpret_cast<unsigned long long *>(&m.sum[s.parity][camera].sum), check_sum);
    if (textured) atomicAdd(&m.sum[s.parity][camera].textured, textured);
    __threadfence(); /* the block's sums are visible before the block is counted as finished */
    if (atomicInc(&m.blocks_done[camera], gridDim.x - 1) == gridDim.x - 1) {
        __threadfence();
        finish(s, camera);
    }
    vf_clock_end(s.clock);
}

extern "C" cudaError_t vf_freeze_cuda(const vf_freeze_view *s, cudaStream_t stream)
{
    int height = 0;
    for (int c = 0; c < s->geometry.cameras; c++) height = vf_max(height, s->geometry.raw[c].height);
    freeze_k<<<dim3((height + ROWS - 1) / ROWS, s->geometry.cameras), THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
}
