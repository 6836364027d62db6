/* SPDX-License-Identifier: MIT */
/* ingest on the GPU. A thread converts 16 pixels at a time from the aligned 16-byte words that contain them, at any
 * alignment of the image. Neighbouring lanes have neighbouring chunks, across row ends. Host memory is read in place,
 * over the bus, which a few blocks saturate. Each block first reads the address of its image. */
#include "kernels/kernel.cuh"

#include "image/ingest.h"

#ifndef VF_INGEST_BLOCKS
#define VF_INGEST_BLOCKS 4 /* blocks per camera that convert its image */
#endif
#define THREADS 1024
#define CHUNK 16 /* pixels converted at a time by a thread */
#define AHEAD 4  /* chunks of CHUNK pixels that a thread reads before it writes the first */

/** Image plane to convert: from rows of pixels in a vfront_format_t to rows of grey bytes. */
struct plane_copy {
    const uint8_t *from;
    uint8_t *to;
    uint32_t from_pitch, format;
    int32_t to_pitch, width, height;
};

/** Converts 16 pixels to grey bytes. in: the 4 or 8 words that contain them in their format. */
static __device__ __forceinline__ uint4 to_grey(const uint32_t *in, uint32_t format)
{
    uint32_t out[4];
    if (vf_format_bytes(format) == 1) return make_uint4(in[0], in[1], in[2], in[3]);
    for (int i = 0; i < 4; i++) {
        out[i] = 0;
        for (int k = 0; k < 4; k++) {
            const uint32_t wide = in[2 * i + k / 2] >> (16 * (k & 1)) & 0xffff;
            const uint32_t grey = format == VFRONT_YUYV ? wide & 255 : vf_ingest_to_8bit(wide, vf_format_bits(format));
            out[i] |= grey << (8 * k);
        }
    }
    return make_uint4(out[0], out[1], out[2], out[3]);
}

/** Loads 16 pixels from any address as grey bytes. Reads only aligned 16-byte words that contain one of the first
 *  `bytes` bytes. */
static __device__ __forceinline__ uint4 load_chunk(const uint8_t *from, int bytes, uint32_t format)
{
    const unsigned off = (unsigned)(reinterpret_cast<uintptr_t>(from) & 15);
    const uint4 *aligned = reinterpret_cast<const uint4 *>(from - off);
    const int count = ((int)off + bytes + 15) / 16; /* aligned words to read, at most 3 */
    uint32_t w[13] = {};
#pragma unroll
    for (int i = 0; i < 3; i++)
        if (i < count) {
            const uint4 word = aligned[i];
            w[4 * i] = word.x, w[4 * i + 1] = word.y, w[4 * i + 2] = word.z, w[4 * i + 3] = word.w;
        }
#pragma unroll
    for (int i = 0; i < 10; i++) w[i] = off & 8 ? w[i + 2] : w[i];
#pragma unroll
    for (int i = 0; i < 9; i++) w[i] = off & 4 ? w[i + 1] : w[i];
#pragma unroll
    for (int i = 0; i < 8; i++) w[i] = __funnelshift_r(w[i], w[i + 1], 8 * (off & 3));
    return to_grey(w, format);
}

/** Converts up to CHUNK pixels of a plane, from (x, y) on. */
static __device__ __forceinline__ void copy_chunk(const plane_copy &c, int x, int y)
{
    const uint8_t *from = c.from + (size_t)y * c.from_pitch;
    uint8_t *to = c.to + (size_t)y * c.to_pitch;
    const int pixels = vf_min(CHUNK, c.width - x), bytes = vf_format_bytes(c.format);
    if (pixels == CHUNK && (y + 1 < c.height || x + CHUNK < c.width)) {
        *reinterpret_cast<uint4 *>(to + x) = load_chunk(from + x * bytes, CHUNK * bytes, c.format);
    } else { /* at the end of a row, and for the plane's last chunk, so that nothing after the image is read */
        for (int i = x; i < x + pixels; i++) to[i] = vf_ingest_pixel(from, c.format, i);
    }
}

/** 1 if the plane needs no conversion: grey bytes, in rows aligned to 16 bytes. */
static __device__ __forceinline__ bool is_copy(const plane_copy &c)
{
    return vf_format_bytes(c.format) == 1 &&
           (((uint32_t) reinterpret_cast<uintptr_t>(c.from) | c.from_pitch) & 15) == 0;
}

/** Copies a plane that needs no conversion, by all blocks of a camera. A thread reads AHEAD words of 16 bytes before it
 *  writes the first: a load from the host takes 1 to 2 us, and the compiler moves no load before a store. */
static __device__ __forceinline__ void copy_aligned(const plane_copy &c, int block)
{
    const int across = (c.width + CHUNK - 1) / CHUNK, chunks = across * c.height, step = VF_INGEST_BLOCKS * THREADS;
    for (int first = block * THREADS + threadIdx.x; first < chunks; first += AHEAD * step) {
        uint4 word[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int i = first + k * step, x = i % across * CHUNK, y = i / across;
            if (i < chunks && x + CHUNK <= c.width)
                word[k] = *reinterpret_cast<const uint4 *>(c.from + (size_t)y * c.from_pitch + x);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int i = first + k * step, x = i % across * CHUNK, y = i / across;
            if (i >= chunks) continue;
            if (x + CHUNK <= c.width)
                *reinterpret_cast<uint4 *>(c.to + (size_t)y * c.to_pitch + x) = word[k];
            else
                copy_chunk(c, x, y);
        }
    }
}

/** Converts a plane, by all blocks of a camera. block: index of the calling block, 0 .. VF_INGEST_BLOCKS - 1. */
static __device__ __forceinline__ void copy_plane(const plane_copy &c, int block)
{
    const int across = (c.width + CHUNK - 1) / CHUNK, chunks = across * c.height;
    if (is_copy(c)) return copy_aligned(c, block);
#pragma unroll 4
    for (int i = block * THREADS + threadIdx.x; i < chunks; i += VF_INGEST_BLOCKS * THREADS)
        copy_chunk(c, i % across * CHUNK, i / across);
}

/** Copies the parameters of the frame from host memory, by one block. */
static __device__ __forceinline__ void copy_parameters(const vf_ingest_view &s)
{
    const int words = sizeof(vf_params) / 4;
    VF_STATIC_ASSERT(words <= THREADS, "a word a thread");
    if ((int)threadIdx.x < words)
        reinterpret_cast<uint32_t *>(&s.ingest->params)[threadIdx.x] = reinterpret_cast<const uint32_t *>(
            s.given)[threadIdx.x];
}

/** Copies parameters and images of the frame. Grid: 1 + VF_INGEST_BLOCKS, cameras. The first block of camera 0 copies
 *  only the parameters, which would otherwise wait for image data on the bus. */
static __global__ void __launch_bounds__(THREADS) ingest_k(const VF_CONSTANT vf_ingest_view s)
{
    __shared__ vf_source source;
    const int camera = blockIdx.y, thread = threadIdx.x, block = (int)blockIdx.x - 1;
    const vf_level &l = s.geometry.raw[camera];

    if (thread == 0) vf_clock_start(s.clock, blockIdx.x + camera);
    if (block < 0) {
        if (camera == 0) copy_parameters(s);
        return;
    }
    if (thread < (int)(sizeof source / 4))
        reinterpret_cast<uint32_t *>(&source)[thread] = reinterpret_cast<const uint32_t *>(
            &s.given->source[camera])[thread];
    __syncthreads();

    const plane_copy picture = {
        source.data, s.ingest->picture[s.parity][camera], source.pitch, source.format, l.pitch, l.width, l.height};
    copy_plane(picture, block);
    if (source.mask) {
        const plane_copy mask = {
            source.mask, s.ingest->mask_frame[camera], source.mask_pitch, VFRONT_GREY8, l.pitch, l.width, l.height};
        copy_plane(mask, block);
    }
    if (thread == 0) vf_clock_end(s.clock);
}

extern "C" cudaError_t vf_ingest_cuda(const vf_ingest_view *s, cudaStream_t stream)
{
    ingest_k<<<dim3(1 + VF_INGEST_BLOCKS, s->geometry.cameras), THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
}
