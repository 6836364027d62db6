/* SPDX-License-Identifier: MIT */
/* Windows of interpolated grey levels in memory, for the host forms of stereo and rows: rows of 16, a window's 11
 * columns and zeros behind them, so that loops over a row become vector code. Sums are of integers, in any order. */
#ifndef VF_STEREO_WINDOW_H
#define VF_STEREO_WINDOW_H

#include "stereo.h"

#if VFRONT_STEREO
#define VF_STEREO_LANES 16

/** Window of interpolated grey levels [1/16], and their sum. */
struct vf_stereo_window {
    int32_t grey[VF_STEREO_SIDE][VF_STEREO_LANES], sum;
};

/** Read a window around c from the pixels of a level. Returns 0 if it does not lie in the level. */
int vf_stereo_read_window(struct vf_stereo_window *w, const uint8_t *pixels, const struct vf_level *l,
                          struct vf_window_centre c);

/** ZSAD of two windows. */
uint32_t vf_stereo_zsad(const struct vf_stereo_window *a, const struct vf_stereo_window *b);

/** Part of a window: pixels of these columns and rows; `columns` has 1 or 0 for each column. */
struct vf_stereo_part {
    int32_t columns[VF_STEREO_LANES];
    int32_t first_row, end_row;
};

/** Half of a window along the line, as vf_stereo_window_half() has it: 0 or 1; -1: all of it. */
struct vf_stereo_part vf_stereo_part_of(const struct vf_epipolar_line *line, int32_t half);

/** Sums of the Gauss-Newton step over a part. ahead, behind: windows of camera 0 one pixel further and one back along
 *  the line; left, right: windows of the point and of its match. */
struct vf_stereo_sums vf_stereo_sum_part(const struct vf_stereo_window *ahead, const struct vf_stereo_window *behind,
                                         const struct vf_stereo_window *left, const struct vf_stereo_window *right,
                                         const struct vf_stereo_part *part);
#endif

#endif
