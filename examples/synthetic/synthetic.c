/* SPDX-License-Identifier: MIT */
#include "renderer.h"

synthetic_t *synthetic_open(int32_t width_px, int32_t height_px)
{
    if (width_px < 16 || height_px < 16 || width_px > 4096 || height_px > 4096) return NULL;
    synthetic_t *f = calloc(1, sizeof *f);
    uint8_t *scratch = malloc((size_t)TEXTURE_SIZE * TEXTURE_SIZE * 2);
    if (f) f->inverse_depth_row = malloc((size_t)width_px * sizeof *f->inverse_depth_row);
    if (f) f->visible = malloc((size_t)width_px * (size_t)height_px);
    if (!f || !scratch || !f->inverse_depth_row || !f->visible) {
        free(scratch);
        synthetic_close(f);
        return NULL;
    }
    f->width = width_px;
    f->height = height_px;
    f->focal_px = 0.61 * width_px;
    f->cx_px = 0.5 * width_px - 3.25;
    f->cy_px = 0.5 * height_px + 2.5;
    for (int i = 1; i < TEXTURE_LEVELS; i++)
        f->level_offset[i] = f->level_offset[i - 1] + (uint32_t)((TEXTURE_SIZE >> (i - 1)) * (TEXTURE_SIZE >> (i - 1)));
    synthetic_make_textures(f, scratch);
    free(scratch);
    synthetic_make_scene(f);
    return f;
}

void synthetic_close(synthetic_t *f)
{
    if (!f) return;
    free(f->inverse_depth_row);
    free(f->visible);
    free(f);
}

void synthetic_rig(const synthetic_t *f, vfront_rig_t *rig)
{
    memset(rig, 0, sizeof *rig);
    rig->cameras = VFRONT_CAMERAS < SYNTHETIC_CAMERAS ? VFRONT_CAMERAS : SYNTHETIC_CAMERAS;
    for (int32_t i = 0; i < rig->cameras; i++) {
        vfront_camera_t *c = &rig->camera[i];
        c->width_px = f->width;
        c->height_px = f->height;
        c->fx_px = c->fy_px = f->focal_px;
        c->cx_px = f->cx_px;
        c->cy_px = f->cy_px;
        synthetic_camera_axes(c->R_cam_imu);
        c->t_cam_imu_m[0] = i ? -BASELINE_M : 0.0;
    }
}
