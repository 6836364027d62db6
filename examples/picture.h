/* SPDX-License-Identifier: MIT
 *
 * Picture files: reads PNG (where the build has libpng), PGM and PPM as grey, writes grey, of 16 bits as well, and colour.
 * A function that can fail returns NULL, or one line that says what went wrong and with which file; the line is valid until
 * the next call.
 */
#ifndef PICTURE_H
#define PICTURE_H

#include <stddef.h>
#include <stdint.h>

#define PICTURE_SIDE_MOST_PX 32768

/** A grey picture. Zero it before the first picture_read(); memory is kept from picture to picture. */
typedef struct picture {
    int32_t width_px, height_px;
    int32_t bytes;     /**< A pixel: 1, 0..255; or 2 in the machine's byte order, 0..65535. */
    int32_t coloured;  /**< 1: the file is in colour, this is its luma (Rec. 601). */
    void *pixels;      /**< [height_px][width_px], no gaps. */
    size_t room_bytes; /**< Allocated at pixels. */
} picture_t;

/** Whether a file's name is that of a picture: png, pgm, ppm or pnm, in small or capital letters. */
int picture_named(const char *name);

/** Reads a picture; its type is found out from the content. On failure the picture is as it was, or undefined pixels. */
const char *picture_read(picture_t *picture, const char *path);
void picture_free(picture_t *picture);

/**
 * Writes a picture of 8-bit samples: `channels` is 1 (grey) or 3 (red, green, blue).
 * @param stem  Path without extension: it becomes .png, or .pgm and .ppm in a build without libpng.
 */
const char *picture_write(const char *stem, const uint8_t *pixels, int32_t width_px, int32_t height_px,
                          int32_t channels);

/** The same of grey samples of 16 bits, in the machine's byte order. */
const char *picture_write16(const char *stem, const uint16_t *pixels, int32_t width_px, int32_t height_px);

#endif
