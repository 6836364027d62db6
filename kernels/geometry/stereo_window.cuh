/* SPDX-License-Identifier: MIT */
/* Windows of interpolated grey levels in the registers of a warp, for stereo and rows. */
#ifndef VF_STEREO_WINDOW_CUH
#define VF_STEREO_WINDOW_CUH

#include "kernels/kernel.cuh"

#include "geometry/stereo.h"

#if VFRONT_STEREO
/** Pixels of a window that a lane holds. */
#define LANE_PIXELS ((VF_STEREO_SIDE * VF_STEREO_SIDE + VF_WARP - 1) / VF_WARP)

/** Window of interpolated grey levels [1/16]; a lane holds pixels lane, lane + 32, ... */
struct window {
    int grey[LANE_PIXELS];
};
/** Bounds test: 1 if element t of a lane is a pixel of the window. */
static __device__ __forceinline__ bool in_window(int t, int lane)
{
    return t * VF_WARP + lane < VF_STEREO_SIDE * VF_STEREO_SIDE;
}
/** Read a window. first: its upper left pixel. */
static __device__ __forceinline__ window read_window(const uint8_t *first, int pitch, vf_window_centre c, int lane)
{
    window w;
#pragma unroll
    for (int t = 0; t < LANE_PIXELS; t++) {
        const int k = t * VF_WARP + lane;
        w.grey[t] = in_window(t, lane) ? vf_stereo_interpolate(first + k / VF_STEREO_SIDE * pitch + k % VF_STEREO_SIDE,
                                                               pitch, c.u & 255, c.v & 255)
                                       : 0;
    }
    return w;
}
/** Read a window around c, which lies in the level of these pixels. */
static __device__ __forceinline__ window read_around(const uint8_t *pixels, int pitch, vf_window_centre c, int lane)
{
    return read_window(pixels + ((c.v >> 8) - VF_STEREO_HALF) * pitch + (c.u >> 8) - VF_STEREO_HALF, pitch, c, lane);
}
#endif

#endif
