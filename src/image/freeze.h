/* SPDX-License-Identifier: MIT */
/* freeze: pictures that equal that of the frame before, in whole or in part, or an older one.
 *
 * In      pictures of this frame and of the frame before, as ingest left them
 * Out     for how many frames in a row each camera's picture has been frozen; whether it equals an older one
 * Rule    A picture is frozen if it equals that of the frame before in all rows, or in VF_FREEZE_ROWS rows with
 *         texture: a sensor's noise repeats itself in no row that is not saturated
 *         Older pictures are compared by a checksum of every VF_FREEZE_STEP-th row: sum of its words of four pixels,
 *         each times a pseudo-random number that belongs to its place. A picture with fewer than VF_FREEZE_ROWS such
 *         rows with texture has none
 * Exact   integers
 * Memory  counts of rows and frames per camera; checksums of the last VF_FREEZE_SHOWN pictures
 * Shared  vf_freeze_texture(), vf_freeze_count(), vf_freeze_frames(), vf_freeze_word(), vf_freeze_repeated(); the loops
 *         over a row are written in both forms
 */
#ifndef VF_FREEZE_H
#define VF_FREEZE_H

#include "core/view.h"
#include "ingest.h"

#define VF_FREEZE_ROWS 8          /* rows with texture, equal to those of the frame before, of a frozen picture */
#define VF_FREEZE_TEXTURE_GREY 16 /* least difference of two neighbouring pixels in a row with texture */
#define VF_FREEZE_CHUNK 16        /* pixels from a multiple of 16 on, within which neighbours are compared */
#define VF_FREEZE_STEP 4          /* rows from one in the checksum to the next */
#define VF_FREEZE_SHOWN 8         /* pictures whose checksums are kept: buffers of a camera's driver are fewer */

/** Counts of a picture's rows that equal those of the frame before: all, and those with texture. */
struct vf_freeze_rows {
    uint32_t same, still;
};

/** Checksum of a picture under way, and its rows with texture. */
struct vf_freeze_sum {
    uint64_t sum;
    uint32_t textured, reserved;
};

/** Checksums of the last pictures, the latest first; 0: none. */
struct vf_freeze_shown {
    uint64_t sum[VF_FREEZE_SHOWN];
};

struct vf_freeze_memory {
    uint32_t frames[2][VFRONT_CAMERAS];              /* out, by parity: frames in a row with a frozen picture, this one
                                                      included */
    struct vf_freeze_rows rows[2][VFRONT_CAMERAS];   /* by parity: a step fills one set and clears the other; without
                                                      meaning in frame 0 */
    struct vf_freeze_sum sum[2][VFRONT_CAMERAS];     /* by parity, like rows */
    struct vf_freeze_shown shown[2][VFRONT_CAMERAS]; /* by parity */
    uint32_t repeated[2][VFRONT_CAMERAS]; /* out, by parity: frames since the older picture that this one equals, 2 to
                                             VF_FREEZE_SHOWN; 0: none, or the frame before's */
    uint32_t blocks_done[VFRONT_CAMERAS]; /* kernel: thread blocks that have finished; 0 between frames */
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

/** Part of a word in the checksum: four pixels, the first in the lowest byte, the last of a row filled up with 0.
 *  place: row * 65536 + column of its first pixel. */
VF_FN uint64_t vf_freeze_word(uint32_t pixels, uint32_t place)
{
    uint32_t factor = place * 0x9e3779b1u;
    factor = (factor ^ (factor >> 15)) * 0x85ebca77u;
    return (uint64_t)pixels * (factor ^ (factor >> 13));
}

/** Checksum of `pixels` pixels of a chunk, fewer than VF_FREEZE_CHUNK at the end of a row. */
VF_FN uint64_t vf_freeze_part(const uint8_t *grey, int32_t pixels, uint32_t place)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i < pixels; i += 4) {
        uint32_t word = 0;
        for (int32_t k = 0; k < 4 && i + k < pixels; k++) word |= (uint32_t)grey[i + k] << 8 * k;
        sum += vf_freeze_word(word, place + (uint32_t)i);
    }
    return sum;
}

/** Enter the checksum of a picture. first: 1 in frame 0, whose sum has no meaning: it is not kept; before, now:
 *  checksums after the frame before, and after this one. Returns struct vf_freeze_memory.repeated. */
VF_FN uint32_t vf_freeze_repeated(struct vf_freeze_sum sum, int first, const struct vf_freeze_shown *before,
                                  struct vf_freeze_shown *now)
{
    const uint64_t value = first || sum.textured < VF_FREEZE_ROWS ? 0 : sum.sum ? sum.sum : 1;
    uint32_t at = 0;
    now->sum[0] = value;
    for (int i = 1; i < VF_FREEZE_SHOWN; i++) now->sum[i] = first ? 0 : before->sum[i - 1];
    for (int i = VF_FREEZE_SHOWN; i > 0 && value; i--)
        if (before->sum[i - 1] == value) at = (uint32_t)i;
    return at > 1 ? at : 0;
}

/** 1 if this frame's picture of a camera, or that of the frame before, is frozen: then the interval between both
 *  pictures is not that of their stamps. Not for frame 0. */
VF_FN int vf_freeze_untimely(const struct vf_freeze_memory *m, int32_t parity, int32_t camera)
{
    return m->frames[parity][camera] || m->frames[parity ^ 1][camera];
}

/** 1 if this frame's picture of a camera is an older one. */
VF_FN int vf_freeze_stale(const struct vf_freeze_memory *m, int32_t parity, int32_t camera)
{
    return m->frames[parity][camera] || m->repeated[parity][camera];
}

#endif
