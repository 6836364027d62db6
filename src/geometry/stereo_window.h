/* SPDX-License-Identifier: MIT */
/* Windows of interpolated grey levels in memory, for the host forms of stereo and rows. */
#ifndef VF_STEREO_WINDOW_H
#define VF_STEREO_WINDOW_H

#include "stereo.h"

#if VFRONT_STEREO
/** Window of interpolated grey levels [1/16], and their sum. */
struct vf_stereo_window {
    int32_t grey[VF_STEREO_SIDE * VF_STEREO_SIDE], sum;
};

/** Read a window around c from the pixels of a level. Returns 0 if it does not lie in the level. */
static inline int vf_stereo_read_window(struct vf_stereo_window *w, const uint8_t *pixels, const struct vf_level *l,
                                        struct vf_window_centre c)
{
    if (!vf_stereo_window_inside(l, c)) return 0;
    const uint8_t *first = pixels + ((c.v >> 8) - VF_STEREO_HALF) * l->pitch + (c.u >> 8) - VF_STEREO_HALF;
    w->sum = 0;
    for (int32_t k = 0; k < VF_STEREO_SIDE * VF_STEREO_SIDE; k++) {
        w->grey[k] = vf_stereo_interpolate(first + k / VF_STEREO_SIDE * l->pitch + k % VF_STEREO_SIDE, l->pitch,
                                           c.u & 255, c.v & 255);
        w->sum += w->grey[k];
    }
    return 1;
}
#endif

#endif
