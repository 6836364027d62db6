/* SPDX-License-Identifier: MIT */
/* BMP files: rows of 8 bits with a palette, or of 24 or 32 bits, not compressed. */
#include "picture_internal.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 54 /* of the file, and of its BITMAPINFOHEADER */
#define PALETTE 256

struct bmp {
    uint32_t offset, width, height, bits, palette_at;
    int top_down;
    uint8_t grey[PALETTE];
    int coloured;
};

static uint32_t little(const uint8_t *from, int bytes)
{
    uint32_t v = 0;
    for (int i = bytes; i-- > 0;) v = v << 8 | from[i];
    return v;
}

static const char *read_head(struct bmp *b, FILE *file, const char *path)
{
    uint8_t head[HEAD_BYTES];
    if (fread(head, 1, sizeof head, file) != sizeof head) return picture_fail("%s: damaged head of a BMP file", path);
    const uint32_t info_bytes = little(head + 14, 4), compression = little(head + 30, 4), tall = little(head + 22, 4);
    b->offset = little(head + 10, 4);
    b->width = little(head + 18, 4);
    b->top_down = (int)(tall >> 31);
    b->height = b->top_down ? 0u - tall : tall;
    b->bits = little(head + 28, 2);
    b->palette_at = 14 + info_bytes;
    if (info_bytes < 40 || b->offset < HEAD_BYTES) return picture_fail("%s: damaged head of a BMP file", path);
    /* 3: masks, which all writers of 32 bits set to blue, green, red */
    const int is_plain = compression == 0 || (compression == 3 && b->bits == 32);
    if (!is_plain || (b->bits != 8 && b->bits != 24 && b->bits != 32))
        return picture_fail("%s: a BMP of %u bits, compression %u: only 8, 24 and 32 bits without compression are read",
                            path, (unsigned)b->bits, (unsigned)compression);
    return NULL;
}

/** Grey of each palette entry; those that the file lacks are black. */
static const char *read_palette(struct bmp *b, FILE *file, const char *path)
{
    uint8_t entry[4];
    memset(b->grey, 0, sizeof b->grey);
    if (b->bits != 8) {
        b->coloured = 1;
        return NULL;
    }
    if (fseek(file, (long)b->palette_at, SEEK_SET)) return picture_fail("%s: damaged head of a BMP file", path);
    for (uint32_t i = 0; i < PALETTE && b->palette_at + 4 * i + 4 <= b->offset; i++) {
        if (fread(entry, 1, sizeof entry, file) != sizeof entry)
            return picture_fail("%s: cut off in its palette", path);
        b->grey[i] = (uint8_t)picture_luma(entry[2], entry[1], entry[0]);
        b->coloured |= entry[0] != entry[1] || entry[1] != entry[2];
    }
    return NULL;
}

static const char *read_rows(const struct bmp *b, picture_t *p, FILE *file, const char *path)
{
    const uint32_t pixel_bytes = b->bits / 8;
    const size_t row_bytes = ((size_t)b->width * pixel_bytes + 3) / 4 * 4;
    uint8_t *row = malloc(row_bytes), *pixels = p->pixels;
    const char *error = row ? NULL : picture_fail("%s: no memory", path);
    if (!error && fseek(file, (long)b->offset, SEEK_SET)) error = picture_fail("%s: cut off before its pixels", path);
    for (uint32_t y = 0; y < b->height && !error; y++) {
        uint8_t *to = pixels + (size_t)(b->top_down ? y : b->height - 1 - y) * b->width;
        if (fread(row, 1, row_bytes, file) != row_bytes)
            error = picture_fail("%s: damaged, or cut off after %u of %u rows", path, (unsigned)y, (unsigned)b->height);
        for (uint32_t x = 0; x < b->width && !error; x++) {
            const uint8_t *v = row + x * pixel_bytes;
            to[x] = b->bits == 8 ? b->grey[*v] : (uint8_t)picture_luma(v[2], v[1], v[0]);
        }
    }
    free(row);
    return error;
}

const char *picture_read_bmp(picture_t *p, FILE *file, const char *path)
{
    struct bmp b = {0};
    const char *error = read_head(&b, file, path);
    if (!error) error = read_palette(&b, file, path);
    if (!error) error = picture_resize(p, path, b.width, b.height, 1);
    if (error) return error;
    p->coloured = b.coloured;
    return read_rows(&b, p, file, path);
}
