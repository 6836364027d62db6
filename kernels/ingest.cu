/* SPDX-License-Identifier: MIT */
/* ingest on the GPU. A warp takes runs of 512 pixels of a row; a thread 16 of them with loads of 16 bytes where the source is so
 * aligned, else 16 times one pixel, neighbours in neighbouring lanes. Host memory is read in place, over the bus. */
#include "kernel.cuh"

#ifndef VF_INGEST_BLOCKS
#define VF_INGEST_BLOCKS 32 /* a camera */
#endif
#define ROWS 8
#define RUN 16

/** 16 pixels of two bytes, as bytes. */
static __device__ __forceinline__ uint4 narrow(uint4 a, uint4 b, uint32_t format)
{
    const uint32_t in[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
    uint32_t out[4];
    for (int i = 0; i < 4; i++) {
        uint32_t word = 0;
        for (int k = 0; k < 4; k++) {
            const uint32_t wide = in[2 * i + k / 2] >> (16 * (k & 1)) & 0xffff;
            const uint32_t grey = format == VFRONT_YUYV ? wide & 255 : vf_ingest_wide(wide, vf_format_bits(format));
            word |= grey << (8 * k);
        }
        out[i] = word;
    }
    return make_uint4(out[0], out[1], out[2], out[3]);
}

/** Pixels x .. x + 511 of a row, as far as there are. */
static __device__ void copy_run(uint8_t *to, const uint8_t *from, uint32_t format, int x, int width)
{
    const int bytes = vf_format_bytes(format);
    const int lane = threadIdx.x, mine = x + lane * RUN;
    if (reinterpret_cast<uintptr_t>(from) % 16) {
        for (int at = x + lane; at < vf_min(x + VF_WARP * RUN, width); at += VF_WARP) to[at] = vf_ingest_pixel(from, format, at);
    } else if (mine + RUN <= width) {
        const uint4 *source = reinterpret_cast<const uint4 *>(from + mine * bytes);
        *reinterpret_cast<uint4 *>(to + mine) = bytes == 1 ? source[0] : narrow(source[0], source[1], format);
    } else {
        for (int at = mine; at < width; at++) to[at] = vf_ingest_pixel(from, format, at);
    }
}

static __global__ void __launch_bounds__(VF_WARP *ROWS) ingest_k(const vf_step s)
{
    __shared__ vf_source source;
    const int camera = blockIdx.y, thread = threadIdx.y * VF_WARP + threadIdx.x, threads = VF_WARP * ROWS;
    const vf_level &l = s.geometry.level[camera][0];
    const int words = sizeof(vf_source) / 4, all_words = sizeof(vf_params) / 4;

    if (thread == 0) vf_clock_start(s, VF_ingest, blockIdx.x + camera);
    if (thread < words)
        reinterpret_cast<uint32_t *>(&source)[thread] = reinterpret_cast<const uint32_t *>(&s.pinned->params.source[camera])[thread];
    const int cells = s.geometry.cells_x[camera] * s.geometry.cells_y[camera];
    for (int i = blockIdx.x * threads + thread; i < cells; i += gridDim.x * threads) s.memory->detect.best[camera][i] = 0;
    __syncthreads();

    const int across = (l.width + VF_WARP * RUN - 1) / (VF_WARP * RUN);
    for (int run = blockIdx.x * ROWS + threadIdx.y; run < across * l.height; run += gridDim.x * ROWS) {
        const int x = run % across * VF_WARP * RUN, y = run / across;
        const size_t row = (size_t)y * l.pitch;
        copy_run(vf_level_pixels(&s, s.parity, camera, 0) + row, source.data + (size_t)y * source.pitch, source.format, x, l.width);
        if (source.mask)
            copy_run(s.memory->ingest.mask_frame[camera] + row, source.mask + (size_t)y * source.mask_pitch, VFRONT_GREY8, x, l.width);
    }
    if (blockIdx.x == gridDim.x - 1 && camera == 0 && thread < all_words)
        reinterpret_cast<uint32_t *>(&s.memory->ingest.params)[thread] = reinterpret_cast<const uint32_t *>(&s.pinned->params)[thread];
    if (thread == 0) vf_clock_end(s, VF_ingest);
}

extern "C" cudaError_t vf_ingest_cuda(const vf_step *s, cudaStream_t stream)
{
    VF_STATIC_ASSERT(sizeof(vf_params) / 4 <= VF_WARP * ROWS, "one block copies the parameters in one go");
    ingest_k<<<dim3(VF_INGEST_BLOCKS, s->geometry.cameras), dim3(VF_WARP, ROWS), 0, stream>>>(*s);
    return cudaGetLastError();
}
