/* SPDX-License-Identifier: MIT */
/* ingest: camera formats to 8-bit grey.
 *
 * In      the parameters and pictures of the frame, in host, pinned or device memory
 * Out     level 0 of each camera's pyramid, or what it is rectified from; the frame's mask; a copy of the parameters; empty cells
 * Rule    vf_ingest_pixel(): upper 8 bits of a pixel's range, luma of NV12 and YUYV
 * Exact   integers
 * Memory  two mask planes a camera, the parameters
 */
#ifndef VF_INGEST_H
#define VF_INGEST_H

#include "core/vf.h"

struct vf_ingest_memory {
    struct vf_params params;
    uint8_t mask_static[VFRONT_CAMERAS][VFRONT_PICTURE_BYTES]; /* rows of level[camera][0].pitch bytes, 0 = ignore */
    uint8_t mask_frame
        [VFRONT_CAMERAS]
        [VFRONT_PICTURE_BYTES]; /* as given, rows of raw[camera].pitch bytes, when params.source[].mask is not NULL */
};

/** Bytes of a pixel of a format. */
VF_FN int32_t vf_format_bytes(uint32_t format) { return format == VFRONT_GREY8 || format == VFRONT_NV12 ? 1 : 2; }

/** A 16-bit pixel of a format whose range is `bits` wide, as 8 bits. */
VF_FN uint8_t vf_ingest_wide(uint32_t value, int32_t bits)
{
    const uint32_t v = value >> (bits - 8);
    return (uint8_t)(v > 255 ? 255 : v);
}

/** Significant bits of a format. */
VF_FN int32_t vf_format_bits(uint32_t format)
{
    return format == VFRONT_GREY10 ? 10 : format == VFRONT_GREY12 ? 12 : format == VFRONT_GREY16 ? 16 : 8;
}

/** Pixel x of a row. */
VF_FN uint8_t vf_ingest_pixel(const uint8_t *row, uint32_t format, int32_t x)
{
    uint16_t wide;
    if (format == VFRONT_GREY8 || format == VFRONT_NV12) return row[x];
    if (format == VFRONT_YUYV) return row[2 * x];
    memcpy(&wide, row + 2 * x, 2);
    return vf_ingest_wide(wide, vf_format_bits(format));
}

#endif
