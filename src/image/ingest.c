/* SPDX-License-Identifier: MIT */
/* Host form of ingest: row by row; formats of one byte are copied as they are. */
#include "ingest.h"

#include "camera/grid.h"
#include "camera/lens.h"
#include "camera/rectification.h"

/** Conversion of a row of `width` pixels to 8-bit grey. */
VF_HOT static void convert_row(uint8_t *restrict to, const uint8_t *restrict from, int32_t width, uint32_t format)
{
    if (format == VFRONT_GREY8 || format == VFRONT_NV12) {
        memcpy(to, from, (size_t)width);
        return;
    }
    for (int32_t x = 0; x < width; x++) to[x] = vf_ingest_pixel(from, format, x);
}

/** Conversion of a camera's picture, and copy of its mask. */
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

/* ---- preparation ------------------------------------------------------------------------------------------------- */

/** Static mask of a camera whose picture is level 0. */
static void fill_mask(const struct vf_prepare *p, const struct vf_level *l, int32_t camera, uint8_t *mask)
{
    const vfront_camera_t *c = &p->rig->camera[camera];
    const size_t pitch = (size_t)l->pitch;
    memset(mask, 255, pitch * (size_t)l->height);
    for (int32_t y = 0; c->mask && y < l->height; y++)
        memcpy(mask + (size_t)y * pitch, c->mask + (size_t)y * c->mask_pitch_bytes, (size_t)l->width);
    if (p->blind_px[camera]) {
        const struct vf_lens lens = vf_lens_of(&p->seen->camera[camera]);
        vf_grid_blind(mask, pitch, l->width, l->height, &lens);
    }
}

vfront_status_t vf_ingest_prepare(const struct vf_prepare *p, const struct vf_ingest_view *s)
{
    const struct vf_geometry *g = p->geometry;
    vfront_status_t status = VFRONT_OK;
    uint8_t *mask = p->scratch;
    for (int32_t i = 0; i < g->cameras && !status; i++) {
        const struct vf_level *l = &g->level[i][0];
        const size_t bytes = (size_t)l->pitch * (size_t)l->height;
        if (!g->masked[i]) continue;
#if VFRONT_RECTIFY
        if (g->rectified) {
            struct vf_rectification r;
            vf_rectification_make(&r, &p->rig->camera[i], &p->seen->camera[i], p->R_rig_seen[i]);
            vf_rectification_mask(mask, (size_t)l->pitch, &r, &p->rig->camera[i], p->tuning->detect_border_px);
        } else
#endif
            fill_mask(p, l, i, mask);
        status = p->write(p, s->ingest->mask_static[i], mask, bytes);
        memset(mask, 0, bytes);
    }
    return status;
}
