/* SPDX-License-Identifier: MIT */
/* ingest on the GPU. A thread makes 16 pixels at a time from the aligned blocks of 16 bytes that hold them, whatever the picture's
 * own alignment; neighbouring lanes have neighbouring pixels, across the ends of rows. Host memory is read in place, over the bus,
 * which a few blocks of threads keep as busy as many do. */
#include "kernels/kernel.cuh"

#ifndef VF_INGEST_BLOCKS
#define VF_INGEST_BLOCKS 30 /* a camera */
#endif
#define THREADS 256
#define CHUNK 16 /* pixels */

/** What is copied: rows of pixels of a format, to rows of bytes. */
struct copy {
    const uint8_t *from;
    uint8_t *to;
    uint32_t from_pitch, format;
    int32_t to_pitch, width, height;
};

/** 16 grey pixels, from as many words of their own format. */
static __device__ __forceinline__ uint4 narrow(const uint32_t *in, uint32_t format)
{
    uint32_t out[4];
    if (vf_format_bytes(format) == 1) return make_uint4(in[0], in[1], in[2], in[3]);
    for (int i = 0; i < 4; i++) {
        out[i] = 0;
        for (int k = 0; k < 4; k++) {
            const uint32_t wide = in[2 * i + k / 2] >> (16 * (k & 1)) & 0xffff;
            const uint32_t grey = format == VFRONT_YUYV ? wide & 255 : vf_ingest_wide(wide, vf_format_bits(format));
            out[i] |= grey << (8 * k);
        }
    }
    return make_uint4(out[0], out[1], out[2], out[3]);
}

/** 16 pixels from any address. Only blocks are read that hold a byte of the `bytes` wanted. */
static __device__ __forceinline__ uint4 load_chunk(const uint8_t *from, int bytes, uint32_t format)
{
    const unsigned off = (unsigned)(reinterpret_cast<uintptr_t>(from) & 15);
    const uint4 *aligned = reinterpret_cast<const uint4 *>(from - off);
    const int blocks = ((int)off + bytes + 15) / 16;
    uint32_t w[13] = {};
#pragma unroll
    for (int i = 0; i < 3; i++)
        if (i < blocks) {
            const uint4 block = aligned[i];
            w[4 * i] = block.x, w[4 * i + 1] = block.y, w[4 * i + 2] = block.z, w[4 * i + 3] = block.w;
        }
#pragma unroll
    for (int i = 0; i < 10; i++) w[i] = off & 8 ? w[i + 2] : w[i];
#pragma unroll
    for (int i = 0; i < 9; i++) w[i] = off & 4 ? w[i + 1] : w[i];
#pragma unroll
    for (int i = 0; i < 8; i++) w[i] = __funnelshift_r(w[i], w[i + 1], 8 * (off & 3));
    return narrow(w, format);
}

static __device__ __forceinline__ void copy_chunk(const copy &c, int x, int y)
{
    const uint8_t *from = c.from + (size_t)y * c.from_pitch;
    uint8_t *to = c.to + (size_t)y * c.to_pitch;
    const int pixels = vf_min(CHUNK, c.width - x), bytes = vf_format_bytes(c.format);
    if (pixels == CHUNK && (y + 1 < c.height || x + CHUNK < c.width)) {
        *reinterpret_cast<uint4 *>(to + x) = load_chunk(from + x * bytes, CHUNK * bytes, c.format);
    } else { /* the end of a row; and the picture's last chunk, so that nothing behind it is read */
        for (int i = x; i < x + pixels; i++) to[i] = vf_ingest_pixel(from, c.format, i);
    }
}

static __device__ __forceinline__ void copy_picture(const copy &c)
{
    const int across = (c.width + CHUNK - 1) / CHUNK, chunks = across * c.height;
#pragma unroll 4
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < chunks; i += gridDim.x * THREADS)
        copy_chunk(c, i % across * CHUNK, i / across);
}

static __global__ void __launch_bounds__(THREADS) ingest_k(const vf_step s)
{
    __shared__ vf_source source;
    const int camera = blockIdx.y, thread = threadIdx.x;
    const vf_level &l = s.geometry.raw[camera];
    const int words = sizeof(vf_source) / 4, all_words = sizeof(vf_params) / 4;

    if (thread == 0) vf_clock_start(s, VF_ingest, blockIdx.x + camera);
    if (thread < words)
        reinterpret_cast<uint32_t *>(&source)[thread] = reinterpret_cast<const uint32_t *>(
            &s.pinned->params.source[camera])[thread];
    const int places = vf_places(&s, camera), cells = vf_cells(&s.geometry, camera);
    for (int i = blockIdx.x * THREADS + thread; i < places; i += gridDim.x * THREADS)
        s.memory->detect.best[camera][i] = 0;
    for (int i = blockIdx.x * THREADS + thread; i < cells; i += gridDim.x * THREADS)
        s.memory->detect.corner[camera][i] = 0;
    __syncthreads();

    const copy picture = {source.data, vf_raw_pixels(&s, camera), source.pitch, source.format, l.pitch, l.width,
                          l.height};
    copy_picture(picture);
    if (source.mask) {
        const copy mask = {
            source.mask, s.memory->ingest.mask_frame[camera], source.mask_pitch, VFRONT_GREY8, l.pitch, l.width,
            l.height};
        copy_picture(mask);
    }
    if (blockIdx.x == gridDim.x - 1 && camera == 0 && thread < all_words)
        reinterpret_cast<uint32_t *>(&s.memory->ingest.params)[thread] = reinterpret_cast<const uint32_t *>(
            &s.pinned->params)[thread];
    if (thread == 0) vf_clock_end(s, VF_ingest);
}

extern "C" cudaError_t vf_ingest_cuda(const vf_step *s, cudaStream_t stream)
{
    VF_STATIC_ASSERT(sizeof(vf_params) / 4 <= THREADS, "one block copies the parameters in one go");
    ingest_k<<<dim3(VF_INGEST_BLOCKS, s->geometry.cameras), THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
}
