/* SPDX-License-Identifier: MIT */
/* smooth: Gaussian smoothing of all scale levels, level 0 included, for the descriptors (Rublee et al., ORB, 2011, 4.2;
 * paper 004, III.2).
 *
 * In      scale levels
 * Out     the same levels smoothed, if key points are described
 * Rule    separable 7x7 Gaussian with sigma 2 px, weights in 1/256 along each axis, rounded once. Borders are reflected
 *         about the outermost pixels, which do not repeat
 * Exact   integers
 * Memory  all levels, once per camera
 * Shared  weights and border rule. Written twice: the sums. Host: 16 bits, columns first, rounding recovered from the
 *         lower halves of products (smooth_row() in smooth.c). Kernel: 32 bits, rows first, four-byte dot products
 */
#ifndef VF_SMOOTH_H
#define VF_SMOOTH_H

#include "scale.h"

#if VFRONT_DESCRIPTORS
struct vf_smooth_memory {
    /* Pixels of the smoothed levels, one after the other from level 0 on; vf_smooth_pixels() finds a level. */
    uint8_t pixels[VFRONT_CAMERAS][(VFRONT_SCALES_BYTES + VFRONT_PICTURE_BYTES + 63) / 64 * 64];
};
#else
struct vf_smooth_memory {
    uint64_t unused; /* C has no empty struct */
};
#endif

/* View of smooth (base/view.h). */
/* clang-format off */
#define VF_READS_smooth(X) X(ingest) X(rectify) X(scale)
#define VF_BEFORE_smooth(X)
#define VF_GEOMETRY_smooth(X) X(cameras) X(searched) X(scale)
#define VF_TUNING_smooth(X)
/* clang-format on */
VF_GEOMETRY_OF(smooth);
struct vf_smooth_view {
    VF_VIEW(smooth);
    struct vf_pictures pictures;
};
VF_HOST_FORM(smooth);

#if VFRONT_DESCRIPTORS
/** Offset of a smoothed level in the memory of a camera [bytes]. scale: geometry of the camera's levels. */
VF_FN uint32_t vf_smooth_offset(const struct vf_level *scale, int32_t level)
{
    return level ? (uint32_t)(scale[0].pitch * scale[0].height) + scale[level].offset : 0;
}

/** First pixel of a smoothed level of a camera. scale: geometry of the camera's levels. */
VF_FN const uint8_t *vf_smooth_pixels(const struct vf_smooth_memory *m, const struct vf_level *scale, int32_t camera,
                                      int32_t level)
{
    return m->pixels[camera] + vf_smooth_offset(scale, level);
}
#endif

#define VF_SMOOTH_RADIUS 3                           /* radius of the smoothing filter [px] */
#define VF_SMOOTH_WEIGHTS 18, 34, 48, 56, 48, 34, 18 /* weights of the smoothing filter along an axis [1/256] */

/** Coordinate i, at most 15 px outside 0..size-1, reflected about the first or last pixel: -1 becomes 1. size >= 16
 *  px. */
VF_FN int32_t vf_mirror(int32_t i, int32_t size) { return i < 0 ? -i : i >= size ? 2 * size - 2 - i : i; }

#endif
