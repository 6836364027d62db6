/* SPDX-License-Identifier: MIT */
/* ingest on the GPU. A warp takes runs of 512 pixels of a row; a thread 16 of them with loads of 16 bytes where the source is so
 * aligned, else 16 times one pixel, neighbours in neighbouring lanes. Host memory is read in place, over the bus. */
#include "kernel.cuh"

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
    const int camera = blockIdx.z, y = blockIdx.y * ROWS + threadIdx.y;
    const vf_level &l = s.geometry.level[camera][0];
    const int thread = threadIdx.y * VF_WARP + threadIdx.x;
    const int block = blockIdx.y * gridDim.x + blockIdx.x;
    const int words = sizeof(vf_source) / 4;

    if (thread == 0) vf_clock_start(s, VF_ingest, block + camera);
    if (thread < words)
        reinterpret_cast<uint32_t *>(&source)[thread] = reinterpret_cast<const uint32_t *>(&s.pinned->params.source[camera])[thread];
    if (block == 0 && camera == 0)
        for (int i = thread; i < (int)(sizeof(vf_params) / 4); i += VF_WARP * ROWS)
            reinterpret_cast<uint32_t *>(&s.memory->ingest.params)[i] = reinterpret_cast<const uint32_t *>(&s.pinned->params)[i];
    const int cells = s.geometry.cells_x[camera] * s.geometry.cells_y[camera];
    for (int i = block * VF_WARP * ROWS + thread; i < cells; i += gridDim.x * gridDim.y * VF_WARP * ROWS)
        s.memory->detect.best[camera][i] = 0;
    __syncthreads();

    const int x = blockIdx.x * VF_WARP * RUN;
    if (x < l.width && y < l.height) {
        const size_t row = (size_t)y * l.pitch;
        copy_run(vf_level_pixels(&s, s.parity, camera, 0) + row, source.data + (size_t)y * source.pitch, source.format, x, l.width);
        if (source.mask)
            copy_run(s.memory->ingest.mask_frame[camera] + row, source.mask + (size_t)y * source.mask_pitch, VFRONT_GREY8, x, l.width);
    }
    if (thread == 0) vf_clock_end(s, VF_ingest);
}

extern "C" cudaError_t vf_ingest_cuda(const vf_step *s, cudaStream_t stream)
{
    int width = 0, height = 0;
    for (int camera = 0; camera < s->geometry.cameras; camera++) {
        width = vf_max(width, s->geometry.level[camera][0].width);
        height = vf_max(height, s->geometry.level[camera][0].height);
    }
    const dim3 grid(vf_blocks(width, VF_WARP * RUN), vf_blocks(height, ROWS), s->geometry.cameras);
    ingest_k<<<grid, dim3(VF_WARP, ROWS), 0, stream>>>(*s);
    return cudaGetLastError();
}
