/* SPDX-License-Identifier: MIT */
/* Patches of interpolated grey levels in memory, for the host forms of stereo and epipolar. A row has 16 elements: the
 * 11 columns of the patch, then zeros, so that loops over a row are vectorised. Sums are integers, so that their order
 * does not matter. */
#ifndef VF_STEREO_PATCH_H
#define VF_STEREO_PATCH_H

#include "stereo.h"

#if VFRONT_STEREO
#define VF_STEREO_LANES 16

/** Patch of interpolated grey levels [1/16], each row padded with zeros, and the sum of the grey levels. */
struct vf_stereo_patch {
    int32_t grey[VF_STEREO_SIDE][VF_STEREO_LANES], sum;
};

/** Reads the patch with centre c from the pixels of pyramid level l. Returns 0 if it is not inside the image. */
int vf_stereo_read_patch(struct vf_stereo_patch *w, const uint8_t *pixels, const struct vf_level *l,
                         struct vf_patch_centre c);

/** Zero-mean sum of absolute differences (ZSAD) of two patches [1/16 grey level, times 121]. */
uint32_t vf_stereo_zsad(const struct vf_stereo_patch *a, const struct vf_stereo_patch *b);

/** Rectangular part of a patch: half of it, or all. */
struct vf_stereo_part {
    int32_t columns[VF_STEREO_LANES]; /* 1 for each column of the part, else 0 */
    int32_t first_row, end_row;       /* rows first_row .. end_row - 1 */
};

/** Half of a patch along an epipolar line. half: 0 left or upper, 1 right or lower, -1 the whole patch. */
struct vf_stereo_part vf_stereo_part_of(const struct vf_epipolar_line *line, int32_t half);

/** Sums for the Gauss-Newton step along the epipolar line, over a part of the patches. ahead, behind: patches of camera
 *  0 one pixel further and one back along the line; left: patch of the point; right: patch of its match in camera 1. */
struct vf_stereo_sums vf_stereo_sum_part(const struct vf_stereo_patch *ahead, const struct vf_stereo_patch *behind,
                                         const struct vf_stereo_patch *left, const struct vf_stereo_patch *right,
                                         const struct vf_stereo_part *part);
#endif

#endif
