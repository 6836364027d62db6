/* SPDX-License-Identifier: MIT */
/* freeze: images that repeat the previous or an older image, in whole or in part.
 *
 * In      images of this and the previous frame, from ingest
 * Out     number of consecutive frames with a frozen image, per camera; whether the image repeats an older one
 * Rule    - frozen: equal to the previous image in all rows, or in at least VF_FREEZE_ROWS rows with texture, because
 *           sensor noise never repeats in a row that is not saturated
 *         - repeated: equal checksum of every VF_FREEZE_STEP-th row. Checksum: sum of words of four pixels, each times
 *           a pseudo-random number of its position. An image with fewer than VF_FREEZE_ROWS textured rows among these
 *           rows has no checksum
 * Exact   integers
 * Memory  counts of rows and frames per camera; checksums of the last VF_FREEZE_SHOWN images
 * Shared  vf_freeze_texture(), vf_freeze_count(), vf_freeze_frames(), vf_freeze_word(), vf_freeze_repeated(). Written
 *         twice: the loops over a row
 */
#ifndef VF_FREEZE_H
#define VF_FREEZE_H

#include "base/view.h"
#include "ingest.h"

#define VF_FREEZE_ROWS 8          /* an image is frozen if this many textured rows equal those of the previous image */
#define VF_FREEZE_TEXTURE_GREY 16 /* least difference of neighbouring pixels in a row with texture [grey levels] */
#define VF_FREEZE_CHUNK 16        /* length of the aligned pieces of a row within which neighbours are compared [px] */
#define VF_FREEZE_STEP 4          /* distance between the rows that enter the checksum [rows] */
#define VF_FREEZE_SHOWN 8         /* number of images whose checksums are kept: more than a camera driver has buffers */

/** Numbers of rows of an image that equal the same row of the previous image: all, and those with texture. */
struct vf_freeze_rows {
    uint32_t same, textured_same;
};

/** Checksum of an image, and its number of textured rows. */
struct vf_freeze_checksum {
    uint64_t sum;
    uint32_t textured, reserved;
};

/** Checksums of the last images, latest first; 0: image without a checksum. */
struct vf_freeze_shown {
    uint64_t sum[VF_FREEZE_SHOWN];
};

struct vf_freeze_memory {
    /* Out, [parity][camera]: number of consecutive frames with a frozen image, this frame included. */
    uint32_t frames[2][VFRONT_CAMERAS];
    /* [parity][camera]: rows that equal the previous image's; a frame fills its own set and clears the other. Undefined
     * in frame 0. */
    struct vf_freeze_rows rows[2][VFRONT_CAMERAS];
    /* [parity][camera]: checksum of the image; a frame fills its own set and clears the other */
    struct vf_freeze_checksum sum[2][VFRONT_CAMERAS];
    struct vf_freeze_shown shown[2][VFRONT_CAMERAS]; /* [parity][camera]: checksums of the last images */
    /* Out, [parity][camera]: age of the image that this one repeats [frames], 2..VF_FREEZE_SHOWN; 0: no image older
     * than the previous one is repeated. */
    uint32_t repeated[2][VFRONT_CAMERAS];
    uint32_t blocks_done[VFRONT_CAMERAS]; /* kernel: number of blocks that have finished this frame; 0 between frames */
};

/* View of freeze (base/view.h). */
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

/** 1 if two neighbours among up to VF_FREEZE_CHUNK adjacent grey pixels differ by at least VF_FREEZE_TEXTURE_GREY. */
VF_FN int vf_freeze_texture(const uint8_t *grey, int32_t pixels)
{
    int texture = 0;
    for (int32_t i = 1; i < pixels; i++) texture |= vf_abs(grey[i] - grey[i - 1]) >= VF_FREEZE_TEXTURE_GREY;
    return texture;
}

/** Counts a row that equals the previous image's. changed: 1: a pixel of the row differs; texture: 1: an unchanged
 *  piece of the row has texture. */
VF_FN void vf_freeze_count(struct vf_freeze_rows *rows, int changed, int texture)
{
    rows->same += !changed;
    rows->textured_same += !changed && texture;
}

/** Number of consecutive frames with a frozen image, this frame included. first: 1 in frame 0; before: the same number
 *  for the previous frame. */
VF_FN uint32_t vf_freeze_frames(struct vf_freeze_rows rows, int32_t height, int first, uint32_t before)
{
    const int frozen = rows.same == (uint32_t)height || rows.textured_same >= VF_FREEZE_ROWS;
    return first || !frozen ? 0 : before + (before != VF_NONE);
}

/** Contribution of a word to the checksum. The word has four pixels, the first in the lowest byte, zeros after the end
 *  of a row. place: row * 65536 + column of the first pixel. */
VF_FN uint64_t vf_freeze_word(uint32_t pixels, uint32_t place)
{
    uint32_t factor = place * 0x9e3779b1u;
    factor = (factor ^ (factor >> 15)) * 0x85ebca77u;
    return (uint64_t)pixels * (factor ^ (factor >> 13));
}

/** Contribution of `pixels` adjacent pixels of a row to the checksum. place: row * 65536 + column of the first
 *  pixel. */
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

/** Stores the checksum of an image and compares it with older ones. first: 1 in frame 0, whose sum is undefined and not
 *  stored; before, now: stored checksums before and after this frame. Returns the age of the image that is repeated,
 *  2..VF_FREEZE_SHOWN [frames]; 0: none. */
VF_FN uint32_t vf_freeze_repeated(struct vf_freeze_checksum sum, int first, const struct vf_freeze_shown *before,
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

/** 1 if the image of this or of the previous frame is frozen, so that the time between the two images differs from that
 *  between their timestamps. Not for frame 0. */
VF_FN int vf_freeze_stale_interval(const struct vf_freeze_memory *m, int32_t parity, int32_t camera)
{
    return m->frames[parity][camera] || m->frames[parity ^ 1][camera];
}

/** 1 if this frame's image of a camera is stale: it repeats the previous or an older image. */
VF_FN int vf_freeze_stale(const struct vf_freeze_memory *m, int32_t parity, int32_t camera)
{
    return m->frames[parity][camera] || m->repeated[parity][camera];
}

#endif
