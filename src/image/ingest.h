/* SPDX-License-Identifier: MIT */
/* ingest: conversion of the cameras' pixel formats to 8-bit grey.
 *
 * In      parameters and images of the frame, in host, pinned or device memory
 * Out     8-bit image of each camera (level 0 unless images are rectified); the frame's masks; a copy of the parameters
 * Rule    vf_ingest_pixel(): upper 8 bits of a pixel's range; luma of NV12 and YUYV
 * Exact   integers
 * Memory  two images per camera, of this and the previous frame; two mask planes per camera; the parameters
 * Shared  vf_ingest_to_8bit(). Written twice: vf_ingest_pixel(), except at row ends. Host: memcpy() for one-byte
 *         formats. Kernel: 16 pixels at a time from aligned words (load_chunk(), to_grey() in ingest.cu)
 */
#ifndef VF_INGEST_H
#define VF_INGEST_H

#include "base/view.h"

struct vf_ingest_memory {
    struct vf_params params; /* parameters of the frame, copied from pinned memory; read by all later stages */
    /* [parity][camera]: 8-bit images, rows of raw[camera].pitch bytes. */
    VF_CACHE_LINE uint8_t picture[2][VFRONT_CAMERAS][VFRONT_PICTURE_BYTES];
    /* Static mask, 0 = ignore: rows of level[camera][0].pitch bytes. Written once, by vf_masks_prepare()
     * (camera/masks.h). */
    uint8_t mask_static[VFRONT_CAMERAS][VFRONT_PICTURE_BYTES];
    /* Mask of the frame, 0 = ignore, in raw image coordinates: rows of raw[camera].pitch bytes. Written only if
     * params.source[camera].mask is not NULL. */
    uint8_t mask_frame[VFRONT_CAMERAS][VFRONT_PICTURE_BYTES];
};

/* View of ingest (base/view.h). given: parameters of the frame in pinned memory. */
/* clang-format off */
#define VF_READS_ingest(X)
#define VF_BEFORE_ingest(X)
#define VF_GEOMETRY_ingest(X) X(cameras) X(raw)
#define VF_TUNING_ingest(X)
/* clang-format on */
VF_GEOMETRY_OF(ingest);
struct vf_ingest_view {
    VF_VIEW(ingest);
    const struct vf_params *given;
};
VF_HOST_FORM(ingest);

/** Bytes per pixel of a vfront_format_t; of NV12 the luma plane only. */
VF_FN int32_t vf_format_bytes(uint32_t format) { return format == VFRONT_GREY8 || format == VFRONT_NV12 ? 1 : 2; }

/** Converts a 16-bit pixel with `bits` significant bits, 8..16, to 8 bits: truncated, and saturated at 255. */
VF_FN uint8_t vf_ingest_to_8bit(uint32_t value, int32_t bits)
{
    const uint32_t v = value >> (bits - 8);
    return (uint8_t)(v > 255 ? 255 : v);
}

/** Significant bits per pixel of a vfront_format_t. */
VF_FN int32_t vf_format_bits(uint32_t format)
{
    return format == VFRONT_GREY10 ? 10 : format == VFRONT_GREY12 ? 12 : format == VFRONT_GREY16 ? 16 : 8;
}

/** 8-bit grey level of pixel x of a row in a vfront_format_t. */
VF_FN uint8_t vf_ingest_pixel(const uint8_t *row, uint32_t format, int32_t x)
{
    uint16_t wide;
    if (format == VFRONT_GREY8 || format == VFRONT_NV12) return row[x];
    if (format == VFRONT_YUYV) return row[2 * x];
    memcpy(&wide, row + 2 * x, 2);
    return vf_ingest_to_8bit(wide, vf_format_bits(format));
}

#endif
