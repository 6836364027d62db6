/* SPDX-License-Identifier: MIT */
/* rectify: rectified images of a stereo pair, without lens distortion, with every scene point in the same row of both.
 *
 * In      raw images and the frame's masks; a remap table per camera, made by vfront_init() (rectification.h)
 * Out     level 0 of each camera and the frame's masks in its coordinates. Nothing unless tuning value `rectify` is 1
 * Rule    - the remap table holds the raw coordinates of every VF_REMAP_STEP_PX-th pixel along both axes. Raw
 *           coordinates of a pixel: bilinear between four entries, to 1/256 px, halves up
 *         - grey level: bilinear between the four raw pixels, weights in 1/2^16, halves up. Pixels from outside the raw
 *           image, or next to an invalid entry, are 0 and statically masked
 *         - mask: that of the nearest raw pixel, halves up
 * Exact   integers; the remap table in double precision with + - * / and square roots only
 * Memory  3.5 bytes a pixel and camera: two images by parity, mask of the frame, half a byte of remap table
 * Shared  all arithmetic: interpolation of the table, bilinear sampling, masks
 */
#ifndef VF_RECTIFY_H
#define VF_RECTIFY_H

#include "base/prepare.h"
#include "base/view.h"

/** Distance between entries of the remap table [px]. Interpolated coordinates are off by at most 0.007 px with EuRoC's
 *  lenses and 0.02 px with strong distortion, 0.003 px of it rounding. The error grows with the square of this
 *  distance. */
#define VF_REMAP_STEP_PX 4
/** Number of remap table entries along an axis of `size_px` pixels. */
#define VF_REMAP_ENTRIES(size_px) (((size_px) + VF_REMAP_STEP_PX - 1) / VF_REMAP_STEP_PX + 1)

/** Raw coordinates of a rectified pixel in fixed point. Unit in the remap table: 1/VF_REMAP_UNITS px. */
struct vf_remap_entry {
    int32_t x, y; /* x = VF_REMAP_INVALID: outside the lens model or beyond VF_REMAP_MAX_PX */
};
#define VF_REMAP_INVALID INT32_MIN
#define VF_REMAP_UNITS 4096 /* units per pixel in the remap table */
/* largest magnitude of a raw coordinate [px]: a sum of 16 coordinates, in units of the remap table, fits 32 bits */
#define VF_REMAP_MAX_PX 8190.0

struct vf_rectify_memory {
#if VFRONT_RECTIFY
    /* [parity][camera]: rectified images, rows of level[camera][0].pitch bytes. */
    uint8_t picture[2][VFRONT_CAMERAS][VFRONT_PICTURE_BYTES];
    /* [camera]: rectified mask of the frame, rows of level[camera][0].pitch bytes. Written only if
     * params.source[camera].mask is not NULL. */
    uint8_t mask[VFRONT_CAMERAS][VFRONT_PICTURE_BYTES];
    /* [camera]: remap table, row-major, VF_REMAP_ENTRIES(width) entries per row. */
    struct vf_remap_entry remap[VFRONT_CAMERAS][VF_REMAP_ENTRIES(VFRONT_WIDTH) * VF_REMAP_ENTRIES(VFRONT_HEIGHT)];
#else
    uint64_t unused; /* C has no empty struct */
#endif
};

/* View of rectify (base/view.h). */
/* clang-format off */
#define VF_READS_rectify(X) X(ingest)
#define VF_BEFORE_rectify(X)
#define VF_GEOMETRY_rectify(X) X(cameras) X(level) X(raw)
#define VF_TUNING_rectify(X)
/* clang-format on */
VF_GEOMETRY_OF(rectify);
struct vf_rectify_view {
    VF_VIEW(rectify);
};
VF_HOST_FORM(rectify);

/** Makes the remap tables. Called by vfront_init(). */
vfront_status_t vf_rectify_prepare(const struct vf_prepare *p, const struct vf_rectify_view *s);

/** Vertical interpolation between two entries of the remap table, `row` (0..VF_REMAP_STEP_PX-1) pixels below the upper
 *  one. The unit of the result is VF_REMAP_STEP_PX times finer than that of the table. */
VF_FN struct vf_remap_entry vf_remap_between(struct vf_remap_entry top, struct vf_remap_entry bottom, int32_t row)
{
    struct vf_remap_entry at = {VF_REMAP_INVALID, VF_REMAP_INVALID};
    if (top.x == VF_REMAP_INVALID || bottom.x == VF_REMAP_INVALID) return at;
    at.x = (VF_REMAP_STEP_PX - row) * top.x + row * bottom.x;
    at.y = (VF_REMAP_STEP_PX - row) * top.y + row * bottom.y;
    return at;
}

/** Raw coordinates [1/256 px] of a pixel: horizontal interpolation between two results of vf_remap_between(), `column`
 *  (0..VF_REMAP_STEP_PX-1) pixels right of the left one. VF_REMAP_INVALID outside the raw image, of which only the size
 *  is read. */
VF_FN struct vf_remap_entry vf_remap_pixel(struct vf_remap_entry left, struct vf_remap_entry right, int32_t column,
                                           const struct vf_level *raw)
{
    struct vf_remap_entry from = {VF_REMAP_INVALID, VF_REMAP_INVALID};
    if (left.x == VF_REMAP_INVALID || right.x == VF_REMAP_INVALID) return from;
    const int32_t x = ((VF_REMAP_STEP_PX - column) * left.x + column * right.x + 128) >> 8;
    const int32_t y = ((VF_REMAP_STEP_PX - column) * left.y + column * right.y + 128) >> 8;
    if ((uint32_t)x > (uint32_t)(raw->width - 1) << 8 || (uint32_t)y > (uint32_t)(raw->height - 1) << 8) return from;
    from.x = x;
    from.y = y;
    return from;
}

/** Bilinear sample position: the 2x2 raw pixels around a coordinate and their weights. */
struct vf_bilinear {
    /* Offset of the upper left pixel from the start of the raw image [bytes]; if `valid` is 0, of some pixel of the
     * image. */
    int32_t offset;
    int32_t right; /* weight of the right pixels, 0..256 [1/256]; 256 in the last column */
    int32_t lower; /* weight of the lower pixels, 0..256 [1/256]; 256 in the last row */
    int32_t valid; /* 0: the position lies outside the raw image */
};

/** Sample position for raw coordinates `from`, a result of vf_remap_pixel(). */
VF_FN struct vf_bilinear vf_bilinear_at(struct vf_remap_entry from, const struct vf_level *raw)
{
    struct vf_bilinear t;
    t.valid = from.x != VF_REMAP_INVALID;
    const int32_t x_q8 = t.valid ? from.x : 0, y_q8 = t.valid ? from.y : 0;
    const int32_t x = vf_min(x_q8 >> 8, raw->width - 2), y = vf_min(y_q8 >> 8, raw->height - 2);
    t.offset = y * raw->pitch + x;
    t.right = x_q8 - (x << 8);
    t.lower = y_q8 - (y << 8);
    return t;
}

/** Bilinear grey level between four pixels: al above left, ar above right, bl below left, br below right. right, lower:
 *  weights of the right and of the lower pixels [1/256]. */
VF_FN uint8_t vf_bilinear_grey(int32_t al, int32_t ar, int32_t bl, int32_t br, int32_t right, int32_t lower)
{
    const int32_t above = (al << 8) + right * (ar - al), below = (bl << 8) + right * (br - bl);
    return (uint8_t)(((above << 8) + lower * (below - above) + 0x8000) >> 16);
}

/** Mask value of the raw pixel nearest to raw coordinates `from`, a result of vf_remap_pixel(); 0 for
 *  VF_REMAP_INVALID. */
VF_FN uint8_t vf_remap_mask(const uint8_t *mask, const struct vf_level *raw, struct vf_remap_entry from)
{
    const int32_t valid = from.x != VF_REMAP_INVALID;
    const int32_t x = valid ? (from.x + 128) >> 8 : 0, y = valid ? (from.y + 128) >> 8 : 0;
    const uint8_t value = mask[y * raw->pitch + x];
    return (uint8_t)(valid ? value : 0);
}

#endif
