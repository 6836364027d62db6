/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* strcasecmp */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#ifdef HAVE_PNG
#include <png.h>
#include <setjmp.h>
#endif

#include "picture_internal.h"

#define FAIL picture_fail

const char *picture_fail(const char *format, ...)
{
    static char failure[4608];
    va_list list;
    va_start(list, format);
    vsnprintf(failure, sizeof failure, format, list);
    va_end(list);
    return failure;
}

int picture_named(const char *name)
{
    static const char *const extension[] = {".png", ".pgm", ".ppm", ".pnm", ".jpg", ".jpeg", ".bmp"};
    const char *dot = strrchr(name, '.');
    if (!dot || name[0] == '.') return 0; /* hidden files are ignored */
    for (size_t i = 0; i < sizeof extension / sizeof *extension; i++)
        if (strcasecmp(dot, extension[i]) == 0) return 1;
    return 0;
}

/* ---- pixels ------------------------------------------------------------------------------------------------------ */

const char *picture_resize(picture_t *p, const char *path, uint32_t width, uint32_t height, int32_t bytes)
{
    if (!width || !height || width > PICTURE_SIDE_MAX_PX || height > PICTURE_SIDE_MAX_PX)
        return FAIL("%s: a picture of %ux%u, not within 1..%d on a side", path, (unsigned)width, (unsigned)height,
                    PICTURE_SIDE_MAX_PX);
    const size_t need = (size_t)width * height * (size_t)bytes;
    if (need > p->capacity_bytes) {
        void *more = realloc(p->pixels, need);
        if (!more) return FAIL("%s: no memory for %ux%u pixels", path, (unsigned)width, (unsigned)height);
        p->pixels = more;
        p->capacity_bytes = need;
    }
    p->width_px = (int32_t)width;
    p->height_px = (int32_t)height;
    p->bytes = bytes;
    return NULL;
}

static void put(picture_t *p, size_t at, uint32_t grey)
{
    if (p->bytes == 1)
        ((uint8_t *)p->pixels)[at] = (uint8_t)grey;
    else
        ((uint16_t *)p->pixels)[at] = (uint16_t)grey;
}

void picture_free(picture_t *p)
{
    free(p->pixels);
    memset(p, 0, sizeof *p);
}

/* ---- PGM, PPM ---------------------------------------------------------------------------------------------------- */

/** Header of a PGM or PPM file. */
struct pnm_header {
    int text;          /* samples in decimal, not in bytes */
    uint32_t channels; /* 1 or 3 */
    uint32_t width, height, maximum;
};

/** Decimal number after white space and comments; UINT32_MAX if absent. */
static uint32_t read_number(FILE *file)
{
    int c = getc(file);
    while (isspace(c) || c == '#') {
        if (c == '#')
            while (c != '\n' && c != EOF) c = getc(file);
        else
            c = getc(file);
    }
    if (!isdigit(c)) return UINT32_MAX;
    uint32_t number = 0;
    for (; isdigit(c); c = getc(file)) number = number < 1000000 ? 10 * number + (uint32_t)(c - '0') : number;
    ungetc(c, file);
    return number;
}

static const char *read_pnm_header(FILE *file, const char *path, struct pnm_header *h)
{
    const int letter = getc(file), kind = getc(file);
    if (letter != 'P' || (kind != '2' && kind != '3' && kind != '5' && kind != '6'))
        return FAIL("%s: not a PNG, JPEG, BMP, PGM or PPM file", path);
    h->text = kind < '5';
    h->channels = kind == '3' || kind == '6' ? 3 : 1;
    h->width = read_number(file);
    h->height = read_number(file);
    h->maximum = read_number(file);
    const int gap = h->text ? ' ' : getc(file);
    if (h->width == UINT32_MAX || h->height == UINT32_MAX || !h->maximum || h->maximum > 65535 || !isspace(gap))
        return FAIL("%s: damaged head of a PGM or PPM file", path);
    return NULL;
}

/** Next sample, scaled from 0..maximum to the range of `bytes`; UINT32_MAX at the end of the file. */
static uint32_t read_sample(FILE *file, const struct pnm_header *h, int32_t bytes)
{
    uint32_t v;
    if (h->text) {
        v = read_number(file);
    } else {
        const int first = getc(file), second = h->maximum > 255 ? getc(file) : 0;
        if (first == EOF || second == EOF) return UINT32_MAX;
        v = h->maximum > 255 ? (uint32_t)first << 8 | (uint32_t)second : (uint32_t)first;
    }
    if (v == UINT32_MAX) return v;
    const uint32_t max = bytes == 1 ? 255 : 65535;
    if (v > h->maximum) v = h->maximum;
    return h->maximum == max ? v : (v * max + h->maximum / 2) / h->maximum;
}

static const char *read_pnm(picture_t *p, FILE *file, const char *path)
{
    struct pnm_header h = {0, 0, 0, 0, 0};
    const char *error = read_pnm_header(file, path, &h);
    if (!error) error = picture_resize(p, path, h.width, h.height, h.maximum > 255 ? 2 : 1);
    if (error) return error;
    p->coloured = h.channels == 3;
    const size_t count = (size_t)h.width * h.height;
    for (size_t i = 0; i < count; i++) {
        uint32_t v[3] = {0, 0, 0};
        for (uint32_t c = 0; c < h.channels; c++) {
            v[c] = read_sample(file, &h, p->bytes);
            if (v[c] == UINT32_MAX) return FAIL("%s: damaged, or cut off after %zu of %zu pixels", path, i, count);
        }
        put(p, i, h.channels == 3 ? picture_luma(v[0], v[1], v[2]) : v[0]);
    }
    return NULL;
}

/* ---- PNG --------------------------------------------------------------------------------------------------------- */

#ifdef HAVE_PNG
/** State that must survive a longjmp out of libpng. */
struct png_file {
    png_structp png;
    png_infop info;
    png_bytep samples;
    png_bytep *rows;
    uint32_t width, height, channels;
    int32_t bytes;
    char reason[160];
    jmp_buf back;
};

/** Error handler of libpng. */
static void on_png_error(png_structp png, png_const_charp reason)
{
    struct png_file *f = png_get_error_ptr(png);
    snprintf(f->reason, sizeof f->reason, "%s", reason);
    longjmp(f->back, 1);
}

/** Warning handler of libpng: unusual chunks are ignored. */
static void on_png_warning(png_structp png, png_const_charp reason)
{
    (void)png;
    (void)reason;
}

static int is_little_endian(void)
{
    const uint16_t one = 1;
    return *(const uint8_t *)&one;
}

/** Request conversion to grey or RGB of 8 or 16 bits in native byte order. */
static void request_samples(struct png_file *f)
{
    png_set_expand(f->png);
    png_set_strip_alpha(f->png);
    if (is_little_endian()) png_set_swap(f->png);
    png_set_interlace_handling(f->png);
    png_read_update_info(f->png, f->info);
    f->channels = png_get_channels(f->png, f->info);
    f->bytes = png_get_bit_depth(f->png, f->info) / 8;
}

static int allocate_rows(struct png_file *f)
{
    const size_t row_bytes = png_get_rowbytes(f->png, f->info);
    f->samples = malloc(row_bytes * f->height);
    f->rows = malloc(f->height * sizeof *f->rows);
    for (uint32_t y = 0; f->samples && f->rows && y < f->height; y++) f->rows[y] = f->samples + y * row_bytes;
    return f->samples && f->rows;
}

/** Decode, with longjmp on errors of libpng. Returns 0 on an error or without memory. */
static int decode(struct png_file *f, FILE *file)
{
    if (setjmp(f->back)) return 0;
    png_init_io(f->png, file);
    png_read_info(f->png, f->info);
    f->width = png_get_image_width(f->png, f->info);
    f->height = png_get_image_height(f->png, f->info);
    if (f->width > PICTURE_SIDE_MAX_PX || f->height > PICTURE_SIDE_MAX_PX) png_error(f->png, "too large");
    request_samples(f);
    if (!allocate_rows(f)) png_error(f->png, "no memory");
    png_read_image(f->png, f->rows);
    png_read_end(f->png, NULL);
    return 1;
}

static const char *convert_to_grey(picture_t *p, const struct png_file *f, const char *path)
{
    const char *error = picture_resize(p, path, f->width, f->height, f->bytes);
    if (error) return error;
    p->coloured = f->channels == 3;
    const size_t count = (size_t)f->width * f->height;
    if (f->channels == 1) {
        memcpy(p->pixels, f->samples, count * (size_t)f->bytes);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        const uint8_t *v = f->samples + 3 * i;
        const uint16_t *w = (const uint16_t *)(const void *)f->samples + 3 * i;
        put(p, i, f->bytes == 1 ? picture_luma(v[0], v[1], v[2]) : picture_luma(w[0], w[1], w[2]));
    }
    return NULL;
}

static const char *read_png(picture_t *p, FILE *file, const char *path)
{
    struct png_file f;
    memset(&f, 0, sizeof f);
    f.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &f, on_png_error, on_png_warning);
    if (f.png) f.info = png_create_info_struct(f.png);
    const char *error = NULL;
    if (!f.info)
        error = FAIL("%s: libpng cannot be started", path);
    else if (!decode(&f, file))
        error = FAIL("%s: truncated or damaged PNG (%s)", path, f.reason);
    else
        error = convert_to_grey(p, &f, path);
    png_destroy_read_struct(&f.png, &f.info, NULL);
    free(f.samples);
    free(f.rows);
    return error;
}

static int encode(struct png_file *f, FILE *file, const uint8_t *pixels)
{
    const size_t row_bytes = (size_t)f->width * f->channels * (size_t)f->bytes;
    if (setjmp(f->back)) return 0;
    png_init_io(f->png, file);
    png_set_compression_level(f->png, 3); /* speed before size: overlays are many and short-lived */
    png_set_IHDR(f->png, f->info, f->width, f->height, 8 * f->bytes,
                 f->channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(f->png, 3); /* a third of the time of zlib's standard, and files as large */
    png_write_info(f->png, f->info);
    if (f->bytes == 2 && is_little_endian()) png_set_swap(f->png);
    for (uint32_t y = 0; y < f->height; y++) png_write_row(f->png, pixels + y * row_bytes);
    png_write_end(f->png, f->info);
    return 1;
}

static int write_pixels(FILE *file, const void *pixels, int32_t width, int32_t height, int32_t channels, int32_t bytes)
{
    struct png_file f;
    memset(&f, 0, sizeof f);
    f.width = (uint32_t)width;
    f.height = (uint32_t)height;
    f.channels = (uint32_t)channels;
    f.bytes = bytes;
    f.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &f, on_png_error, on_png_warning);
    if (f.png) f.info = png_create_info_struct(f.png);
    const int done = f.info && encode(&f, file, pixels);
    png_destroy_write_struct(&f.png, &f.info);
    return done;
}

static const char *extension_of(int32_t channels)
{
    (void)channels;
    return "png";
}
#else
static const char *read_png(picture_t *p, FILE *file, const char *path)
{
    (void)p;
    (void)file;
    return FAIL("%s: a PNG, and this build has no libpng: install libpng-dev and build again, or convert to PGM", path);
}

static int write_pixels(FILE *file, const void *pixels, int32_t width, int32_t height, int32_t channels, int32_t bytes)
{
    const size_t count = (size_t)width * (size_t)height * (size_t)channels;
    const uint16_t *wide = pixels;
    fprintf(file, "P%c\n%d %d\n%d\n", channels == 3 ? '6' : '5', (int)width, (int)height, bytes == 2 ? 65535 : 255);
    if (bytes == 1) return fwrite(pixels, 1, count, file) == count;
    for (size_t i = 0; i < count; i++) putc(wide[i] >> 8, file), putc(wide[i] & 255, file); /* big-endian */
    return !ferror(file);
}

static const char *extension_of(int32_t channels) { return channels == 3 ? "ppm" : "pgm"; }
#endif

/* ---- files ------------------------------------------------------------------------------------------------------- */

static const char *read_by_content(picture_t *p, FILE *file, const char *path)
{
    static const uint8_t png_signature[4] = {0x89, 'P', 'N', 'G'};
    uint8_t start[4];
    const size_t count = fread(start, 1, sizeof start, file);
    if (ferror(file)) return FAIL("%s: %s", path, strerror(errno));
    if (count == 0) return FAIL("%s: an empty file", path);
    rewind(file);
    if (count == sizeof start && memcmp(start, png_signature, sizeof start) == 0) return read_png(p, file, path);
    if (count >= 2 && start[0] == 0xff && start[1] == 0xd8) return picture_read_jpeg(p, file, path);
    return count >= 2 && start[0] == 'B' && start[1] == 'M' ? picture_read_bmp(p, file, path) : read_pnm(p, file, path);
}

const char *picture_read_memory(picture_t *p, void *data, size_t bytes, const char *name)
{
    FILE *file = bytes ? fmemopen(data, bytes, "rb") : NULL;
    if (!file) return FAIL("%s: %s", name, bytes ? strerror(errno) : "an empty picture");
    const char *error = read_by_content(p, file, name);
    fclose(file);
    return error;
}

const char *picture_read(picture_t *p, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) return FAIL("%s: %s", path, strerror(errno));
    const char *error = read_by_content(p, file, path);
    fclose(file);
    return error;
}

static const char *write_file(const char *stem, const void *pixels, int32_t width_px, int32_t height_px,
                              int32_t channels, int32_t bytes)
{
    char path[4200];
    snprintf(path, sizeof path, "%s.%s", stem, extension_of(channels));
    FILE *file = fopen(path, "wb");
    if (!file) return FAIL("%s: %s", path, strerror(errno));
    errno = 0;
    int done = write_pixels(file, pixels, width_px, height_px, channels, bytes);
    done = fflush(file) == 0 && done;
    const int reason = errno;
    done = fclose(file) == 0 && done;
    return done ? NULL : FAIL("%s: cannot be written: %s", path, reason ? strerror(reason) : "error of libpng");
}

const char *picture_write(const char *stem, const uint8_t *pixels, int32_t width_px, int32_t height_px,
                          int32_t channels)
{
    return write_file(stem, pixels, width_px, height_px, channels, 1);
}

const char *picture_write16(const char *stem, const uint16_t *pixels, int32_t width_px, int32_t height_px)
{
    return write_file(stem, pixels, width_px, height_px, 1, 2);
}

uint8_t *picture_encode(const uint8_t *pixels, int32_t width_px, int32_t height_px, size_t *bytes)
{
    char *memory = NULL;
    FILE *file = strcmp(extension_of(1), "png") == 0 ? open_memstream(&memory, bytes) : NULL;
    if (!file) return NULL;
    const int done = write_pixels(file, pixels, width_px, height_px, 1, 1);
    if (fclose(file) == 0 && done) return (uint8_t *)memory;
    free(memory);
    return NULL;
}
