/* SPDX-License-Identifier: MIT */
/* Static masks of the cameras, in the memory of ingest. */
#include "masks.h"

#include "grid.h"
#include "lens.h"
#include "rectification.h"

/** Fills the static mask of a camera that is not rectified: mask of the rig, and pixels without a bearing. */
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

vfront_status_t vf_masks_prepare(const struct vf_prepare *p, const struct vf_ingest_view *s)
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
