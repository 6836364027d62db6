/* SPDX-License-Identifier: MIT */
/* Host form of a patch: one array, worked on row by row (patch.c). */
#ifndef VF_PATCH_H
#define VF_PATCH_H

#include "track_flow.h"

struct vf_patch {
    int16_t grey[VF_PATCH_PIXELS], dx[VF_PATCH_PIXELS], dy[VF_PATCH_PIXELS]; /* rows of the patch's size */
};

#endif
