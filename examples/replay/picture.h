/* SPDX-License-Identifier: MIT
 *
 * Picture files: reads PNG (if the build has libpng), PGM and PPM as grey, writes grey of 8 or 16 bits and RGB.
 * A function that can fail returns NULL, or a one-line message that names the file; the message is valid until the
 * next call.
 */
#ifndef PICTURE_H
#define PICTURE_H

#include <stddef.h>
#include <stdint.h>

#define PICTURE_SIDE_MAX_PX 32768

/** Grey picture. Zero it before the first picture_read(); memory is reused from picture to picture. */
typedef struct picture {
    int32_t width_px, height_px;
    int32_t bytes;         /**< Per pixel: 1, 0..255; or 2 in native byte order, 0..65535. */
    int32_t coloured;      /**< 1: the file is in colour, pixels are its luma (Rec. 601). */
    void *pixels;          /**< [height_px][width_px], no gaps. */
    size_t capacity_bytes; /**< Allocated at pixels. */
} picture_t;

/** 1 if a file name has a picture's extension: png, jpg, jpeg, bmp, pgm, ppm or pnm, in any case. */
int picture_named(const char *name);

/** Read a picture, whose type is recognised by content. On failure the picture is unchanged, or its pixels are
 *  undefined. */
const char *picture_read(picture_t *picture, const char *path);

/** The same from a file in memory; `name` is for messages. */
const char *picture_read_memory(picture_t *picture, void *file, size_t bytes, const char *name);

/** Set the size of a picture, and allocate its pixels, of one or two bytes. */
const char *picture_resize(picture_t *picture, const char *name, uint32_t width_px, uint32_t height_px, int32_t bytes);

/** Luma of Rec. 601. */
static inline uint32_t picture_luma(uint32_t red, uint32_t green, uint32_t blue)
{
    return (299 * red + 587 * green + 114 * blue + 500) / 1000;
}

void picture_free(picture_t *picture);

/**
 * Write a picture of 8-bit samples: `channels` is 1 (grey) or 3 (red, green, blue).
 * @param stem  Path without extension: .png is appended, or .pgm and .ppm in a build without libpng.
 */
const char *picture_write(const char *stem, const uint8_t *pixels, int32_t width_px, int32_t height_px,
                          int32_t channels);

/** A grey picture as a PNG in memory, which the caller frees. Returns NULL without libpng, or memory. */
uint8_t *picture_encode(const uint8_t *pixels, int32_t width_px, int32_t height_px, size_t *bytes);

/** Write a picture of 16-bit grey samples in native byte order. */
const char *picture_write16(const char *stem, const uint16_t *pixels, int32_t width_px, int32_t height_px);

#endif
