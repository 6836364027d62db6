/* SPDX-License-Identifier: MIT */
#include "core/stages.h"

VF_HOT static void copy_row(uint8_t *restrict to, const uint8_t *restrict from, int32_t width, uint32_t format)
{
    if (format == VFRONT_GREY8 || format == VFRONT_NV12) {
        memcpy(to, from, (size_t)width);
        return;
    }
    for (int32_t x = 0; x < width; x++) to[x] = vf_ingest_pixel(from, format, x);
}

static void ingest_camera(const struct vf_step *s, int32_t camera)
{
    const struct vf_source *source = &s->memory->ingest.params.source[camera];
    const struct vf_level *l = &s->geometry.raw[camera];
    uint8_t *to = vf_raw_pixels(s, camera);
    for (int32_t y = 0; y < l->height; y++) {
        const size_t row = (size_t)y * (size_t)l->pitch;
        copy_row(to + row, source->data + (size_t)y * source->pitch, l->width, source->format);
        if (source->mask)
            memcpy(s->memory->ingest.mask_frame[camera] + row, source->mask + (size_t)y * source->mask_pitch,
                   (size_t)l->width);
    }
    memset(s->memory->detect.best[camera], 0, sizeof(uint64_t) * (size_t)vf_places(s, camera));
    memset(s->memory->detect.corner[camera], 0, sizeof(uint64_t) * (size_t)vf_cells(&s->geometry, camera));
}

void vf_ingest_host(const struct vf_step *s)
{
    s->memory->ingest.params = s->pinned->params;
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++) ingest_camera(s, camera);
}
