/* SPDX-License-Identifier: MIT
 *
 * Parts of pictures (picture.h), shared by its files: picture.c reads PNM and PNG, picture_bmp.c BMP, picture_jpeg.c
 * JPEG. A function that can fail returns NULL, or a one-line message that names the file.
 */
#ifndef PICTURE_INTERNAL_H
#define PICTURE_INTERNAL_H

#include <stdio.h>

#include "picture.h"

/** Format the message of a failed function. */
__attribute__((format(printf, 1, 2))) const char *picture_fail(const char *format, ...);

/* From the start of a file. */
const char *picture_read_bmp(picture_t *p, FILE *file, const char *path);
const char *picture_read_jpeg(picture_t *p, FILE *file, const char *path);

#endif
