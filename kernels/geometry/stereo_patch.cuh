/* SPDX-License-Identifier: MIT */
/* Patches of interpolated grey levels in the registers of a warp, for stereo and epipolar. */
#ifndef VF_STEREO_PATCH_CUH
#define VF_STEREO_PATCH_CUH

#include "kernels/kernel.cuh"

#include "geometry/stereo.h"

#if VFRONT_STEREO
/** Number of pixels of a patch per lane. */
#define LANE_PIXELS ((VF_STEREO_SIDE * VF_STEREO_SIDE + VF_WARP - 1) / VF_WARP)

/** Square patch of interpolated grey levels [1/16]; a lane holds pixels lane, lane + 32, ... */
struct patch {
    int grey[LANE_PIXELS];
};
/** 1 if element t of a lane's part is a pixel of the patch. */
static __device__ __forceinline__ bool in_patch(int t, int lane)
{
    return t * VF_WARP + lane < VF_STEREO_SIDE * VF_STEREO_SIDE;
}
/** Reads an interpolated patch. first: its upper left whole pixel; c: its centre [1/256 px], for the fractions. */
static __device__ __forceinline__ patch read_patch(const uint8_t *first, int pitch, vf_patch_centre c, int lane)
{
    patch w;
#pragma unroll
    for (int t = 0; t < LANE_PIXELS; t++) {
        const int k = t * VF_WARP + lane;
        w.grey[t] = in_patch(t, lane) ? vf_stereo_interpolate(first + k / VF_STEREO_SIDE * pitch + k % VF_STEREO_SIDE,
                                                              pitch, c.u & 255, c.v & 255)
                                      : 0;
    }
    return w;
}
/** Reads an interpolated patch around c [1/256 px]. The patch must lie inside the level. */
static __device__ __forceinline__ patch read_around(const uint8_t *pixels, int pitch, vf_patch_centre c, int lane)
{
    return read_patch(pixels + ((c.v >> 8) - VF_STEREO_HALF) * pitch + (c.u >> 8) - VF_STEREO_HALF, pitch, c, lane);
}
#endif

#endif
