/* SPDX-License-Identifier: MIT */
/* Host form of ingest: row by row; one-byte formats are copied. */
#include "ingest.h"

/** Converts a row of `width` pixels to 8-bit grey. */
VF_HOT static void convert_row(uint8_t *restrict to, const uint8_t *restrict from, int32_t width, uint32_t format)
{
    if (format == VFRONT_GREY8 || format == VFRONT_NV12) {
        memcpy(to, from, (size_t)width);
        return;
    }
    for (int32_t x = 0; x < width; x++) to[x] = vf_ingest_pixel(from, format, x);
}

/** Converts a camera's image and copies its mask. */
static void ingest_camera(const struct vf_ingest_view *s, int32_t camera)
{
    const struct vf_source *source = &s->ingest->params.source[camera];
    const struct vf_level *l = &s->geometry.raw[camera];
    uint8_t *to = s->ingest->picture[s->parity][camera];
    for (int32_t y = 0; y < l->height; y++) {
        const size_t row = (size_t)y * (size_t)l->pitch;
        convert_row(to + row, source->data + (size_t)y * source->pitch, l->width, source->format);
        if (source->mask)
            memcpy(s->ingest->mask_frame[camera] + row, source->mask + (size_t)y * source->mask_pitch,
                   (size_t)l->width);
    }
}

void vf_ingest_host(const struct vf_ingest_view *s)
{
    s->ingest->params = *s->given;
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++) ingest_camera(s, camera);
}
