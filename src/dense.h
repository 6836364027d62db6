/* SPDX-License-Identifier: MIT */
/* dense: the disparity of every pixel of camera 0, by semi-global matching.
 *
 * In      level 0 of both cameras, row-aligned: rectified, or pinholes that stand side by side
 * Out     disparity of every pixel of camera 0 in 1/16 px, or that it has none; how far it stands out
 * Exact   integers
 */
#ifndef VF_DENSE_H
#define VF_DENSE_H

#include "vf.h"

/** Disparities are in 1/16 px: pixel (x, y) of camera 0 shows what camera 1 shows at (x - disparity / 16, y). Never negative. */
#define VF_DENSE_UNITS 16
/** A pixel without a disparity. */
#define VF_DENSE_NONE 0xffffu

/** Rows are s->geometry.level[0][0].pitch elements apart (elements, not bytes: pixel (x, y) is at y * pitch + x), of which the first
 *  level[0][0].width are pixels; what lies between width and pitch is not written. */
struct vf_dense_memory {
#if VFRONT_DENSE
    uint16_t disparity[VFRONT_PICTURE_BYTES]; /* [1/VF_DENSE_UNITS px], or VF_DENSE_NONE */
    uint8_t confidence[VFRONT_PICTURE_BYTES]; /* 1 (least) .. 255; 0 where there is none */
    uint32_t valid;                           /* pixels with a disparity */
#else
    uint64_t nothing;
#endif
};

/** Whether the stage has anything to do: else its memory holds nothing. */
VF_FN int vf_dense_on(const struct vf_step *s) { return VFRONT_DENSE && s->tuning.dense && s->geometry.cameras > 1; }

#endif
