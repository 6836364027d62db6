/* SPDX-License-Identifier: MIT */
/* smooth: the levels of `scale`, level 0 among them, smoothed for the descriptors (Rublee et al., ORB, 2011, 4.2; paper 004, III.2).
 *
 * In      levels
 * Out     the same levels smoothed, when key points are described
 * Rule    7x7 weights of a normal distribution with sigma 2 px, in 1/256 along each axis, rounded once; the level is mirrored about its
 *         outermost pixels
 * Exact   integers
 * Memory  all levels, once a camera
 */
#ifndef VF_SMOOTH_H
#define VF_SMOOTH_H

#include "scale.h"

#if VFRONT_DESCRIPTORS
struct vf_smooth_memory {
    uint8_t pixels[VFRONT_CAMERAS][(VFRONT_SCALES_BYTES + VFRONT_PICTURE_BYTES + 63) / 64 * 64];
};
#else
struct vf_smooth_memory {
    uint64_t nothing;
};
#endif

/** Radius, and the weights from one end to the other. */
#define VF_SMOOTH 3
#define VF_SMOOTH_WEIGHTS 18, 34, 48, 56, 48, 34, 18

/** A place mirrored about the first and the last pixel of a side of 16 px or more. It lies at most 15 px outside. */
VF_FN int32_t vf_mirror(int32_t i, int32_t size) { return i < 0 ? -i : i >= size ? 2 * size - 2 - i : i; }

/** Whether key points are described, and so levels smoothed. */
VF_FN int vf_described(const vfront_tuning_t *t) { return VFRONT_DESCRIPTORS && t->describe && t->select_points > 0; }

#endif
