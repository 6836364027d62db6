/* SPDX-License-Identifier: MIT */
/* Host form of a template: all pixels in arrays. patch.c defines the functions that align.h declares as VF_HOOK. */
#ifndef VF_PATCH_H
#define VF_PATCH_H

#include "align.h"

/** Grey levels Q5, x and y gradients Q4, row by row without gaps, of a patch of 16x16 or 8x8 px. */
struct vf_patch {
    int16_t grey[VF_PATCH_PIXELS], dx[VF_PATCH_PIXELS], dy[VF_PATCH_PIXELS];
};

#endif
