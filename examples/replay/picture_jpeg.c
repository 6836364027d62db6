/* SPDX-License-Identifier: MIT */
/* JPEG files by libjpeg, whose arithmetic, and so the grey levels, differ from version to version: digests of such
 * pictures are those of one machine. */
#include "picture_internal.h"

#ifdef HAVE_JPEG
#include <setjmp.h>

#include <jpeglib.h>

/** State that must survive a longjmp out of libjpeg. */
struct jpeg_file {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr handler;
    jmp_buf failed;
    char reason[JMSG_LENGTH_MAX];
    const char *error; /* of ours */
};

static void on_error(j_common_ptr jpeg)
{
    struct jpeg_file *f = jpeg->client_data;
    jpeg->err->format_message(jpeg, f->reason);
    longjmp(f->failed, 1);
}

/** A warning is a damaged file: libjpeg would go on with grey. */
static void on_message(j_common_ptr jpeg, int level)
{
    if (level < 0) on_error(jpeg);
}

/** Decode into grey, with longjmp on errors of libjpeg. */
static void decode(struct jpeg_file *f, picture_t *p, FILE *file, const char *path)
{
    struct jpeg_decompress_struct *jpeg = &f->jpeg;
    jpeg_stdio_src(jpeg, file);
    jpeg_read_header(jpeg, TRUE);
    f->error = picture_resize(p, path, jpeg->image_width, jpeg->image_height, 1);
    if (f->error) return;
    p->coloured = jpeg->num_components > 1;
    jpeg->out_color_space = JCS_GRAYSCALE;
    jpeg->dct_method = JDCT_ISLOW;
    jpeg_start_decompress(jpeg);
    while (jpeg->output_scanline < jpeg->output_height) {
        JSAMPROW row = (uint8_t *)p->pixels + (size_t)jpeg->output_scanline * (size_t)p->width_px;
        jpeg_read_scanlines(jpeg, &row, 1);
    }
    jpeg_finish_decompress(jpeg);
}

const char *picture_read_jpeg(picture_t *p, FILE *file, const char *path)
{
    static struct jpeg_file f;
    f.error = NULL;
    f.jpeg.err = jpeg_std_error(&f.handler);
    f.handler.error_exit = on_error;
    f.handler.emit_message = on_message;
    if (setjmp(f.failed)) {
        jpeg_destroy_decompress(&f.jpeg);
        return picture_fail("%s: truncated or damaged JPEG (%s)", path, f.reason);
    }
    jpeg_create_decompress(&f.jpeg);
    f.jpeg.client_data = &f;
    decode(&f, p, file, path);
    jpeg_destroy_decompress(&f.jpeg);
    return f.error;
}
#else
const char *picture_read_jpeg(picture_t *p, FILE *file, const char *path)
{
    (void)p;
    (void)file;
    return picture_fail(
        "%s: a JPEG, and this build has no libjpeg: install libjpeg-dev and build again, or convert to PNG", path);
}
#endif
