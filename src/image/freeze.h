/* SPDX-License-Identifier: MIT */
/* freeze: does a camera's picture equal that of the frame before, in whole or in part.
 *
 * In      pictures of this frame and of the frame before, as ingest left them
 * Out     for how many frames in a row each camera's picture has been frozen
 * Rule    A picture is frozen if it equals that of the frame before in all rows, or in VF_FREEZE_ROWS rows with
 *         texture: a sensor's noise repeats itself in no row that is not saturated
 * Exact   integers
 * Memory  counts of rows and frames per camera
 * Shared  vf_freeze_texture(), vf_freeze_count(), vf_freeze_frames(); the comparison of a row is written in both forms
 */
#ifndef VF_FREEZE_H
#define VF_FREEZE_H

#include "core/view.h"
#include "ingest.h"

#define VF_FREEZE_ROWS 8          /* rows with texture, equal to those of the frame before, of a frozen picture */
#define VF_FREEZE_TEXTURE_GREY 16 /* least difference of two neighbouring pixels in a row with texture */
#define VF_FREEZE_CHUNK 16        /* pixels from a multiple of 16 on, within which neighbours are compared */

/** Counts of a picture's rows that equal those of the frame before: all, and those with texture. */
struct vf_freeze_rows {
    uint32_t same, still;
};

struct vf_freeze_memory {
    uint32_t frames[2][VFRONT_CAMERAS];            /* out, by parity: frames in a row with a frozen picture, this one
                                                      included */
    struct vf_freeze_rows rows[2][VFRONT_CAMERAS]; /* by parity: a step fills one set and clears the other; without
                                                      meaning in frame 0 */
    uint32_t blocks_done[VFRONT_CAMERAS];          /* kernel: thread blocks that have finished; 0 between frames */
};

/* View of freeze: core/view.h. */
/* clang-format off */
#define VF_READS_freeze(X) X(ingest)
#define VF_BEFORE_freeze(X)
#define VF_GEOMETRY_freeze(X) X(cameras) X(raw)
#define VF_TUNING_freeze(X)
/* clang-format on */
VF_GEOMETRY_OF(freeze);
struct vf_freeze_view {
    VF_VIEW(freeze);
};
VF_HOST_FORM(freeze);

/** Texture of a chunk of up to VF_FREEZE_CHUNK grey pixels: 1 if two neighbours differ by VF_FREEZE_TEXTURE_GREY. */
VF_FN int vf_freeze_texture(const uint8_t *grey, int32_t pixels)
{
    int texture = 0;
    for (int32_t i = 1; i < pixels; i++) texture |= vf_abs(grey[i] - grey[i - 1]) >= VF_FREEZE_TEXTURE_GREY;
    return texture;
}

/** Counting of a row. changed: a pixel differs from the frame before; texture: of a chunk that did not change. */
VF_FN void vf_freeze_count(struct vf_freeze_rows *rows, int changed, int texture)
{
    rows->same += !changed;
    rows->still += !changed && texture;
}

/** Number of frames in a row with a frozen picture. first: 1 in frame 0; before: that number of the frame before. */
VF_FN uint32_t vf_freeze_frames(struct vf_freeze_rows rows, int32_t height, int first, uint32_t before)
{
    const int frozen = rows.same == (uint32_t)height || rows.still >= VF_FREEZE_ROWS;
    return first || !frozen ? 0 : before + (before != VF_NONE);
}

/** 1 if this frame's picture of a camera, or that of the frame before, is frozen: then the interval between both
 *  pictures is not that of their stamps. Not for frame 0. */
VF_FN int vf_freeze_untimely(const struct vf_freeze_memory *m, int32_t parity, int32_t camera)
{
    return m->frames[parity][camera] || m->frames[parity ^ 1][camera];
}

#endif
