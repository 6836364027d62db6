/* SPDX-License-Identifier: MIT */
/* Host form of rectify: row by row, in batches of pixels. */
#include "rectify.h"

#include "image/ingest.h"
#include "rectification.h"

#if VFRONT_RECTIFY

/** Raw coordinates of every pixel of row y of the rectified image. */
static void remap_row(struct vf_remap_entry *from, const struct vf_rectify_view *s, int32_t camera, int32_t y)
{
    const struct vf_level *l = &s->geometry.level[camera][0], *raw = &s->geometry.raw[camera];
    const int32_t across = VF_REMAP_ENTRIES(l->width), row = y % VF_REMAP_STEP_PX;
    const struct vf_remap_entry *top = s->rectify->remap[camera] + y / VF_REMAP_STEP_PX * across,
                                *bottom = top + across;
    struct vf_remap_entry left = vf_remap_between(top[0], bottom[0], row);
    for (int32_t x = 0; x < l->width; x += VF_REMAP_STEP_PX) {
        const struct vf_remap_entry right = vf_remap_between(*++top, *++bottom, row);
        for (int32_t k = 0; k < VF_REMAP_STEP_PX && x + k < l->width; k++)
            from[x + k] = vf_remap_pixel(left, right, k, raw);
        left = right;
    }
}

#define BATCH 64 /* number of pixels of a row that are sampled together */

/** Sample positions and pixels of part of a row, one array per member of struct vf_bilinear, for vector code. */
struct batch {
    int32_t offset[BATCH], right[BATCH], lower[BATCH], valid[BATCH];
    uint8_t above[BATCH][2], below[BATCH][2]; /* left and right raw pixel above (below) the sample position */
};

/** Sample positions of `count` pixels. from: raw coordinates of these pixels. */
VF_HOT static void find_positions(struct batch *restrict p, const struct vf_remap_entry *restrict from,
                                  const struct vf_level *raw, int32_t count)
{
    const struct vf_level size = *raw;
    for (int32_t i = 0; i < count; i++) {
        const struct vf_bilinear t = vf_bilinear_at(from[i], &size);
        p->offset[i] = t.offset;
        p->right[i] = t.right;
        p->lower[i] = t.lower;
        p->valid[i] = t.valid;
    }
}

/** Loads the four raw pixels of each sample position. */
static void gather(struct batch *p, const uint8_t *pixels, int32_t pitch, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        memcpy(p->above[i], pixels + p->offset[i], 2);
        memcpy(p->below[i], pixels + p->offset[i] + pitch, 2);
    }
}

/** Bilinear grey levels of `count` pixels. */
VF_HOT static void interpolate(uint8_t *restrict to, const struct batch *restrict p, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        const uint8_t grey = vf_bilinear_grey(p->above[i][0], p->above[i][1], p->below[i][0], p->below[i][1],
                                              p->right[i], p->lower[i]);
        to[i] = p->valid[i] ? grey : 0;
    }
}

/** Makes the rectified image of a camera, and its rectified frame mask if the frame has a mask. */
static void rectify_camera(const struct vf_rectify_view *s, int32_t camera)
{
    const struct vf_level *l = &s->geometry.level[camera][0], *raw = &s->geometry.raw[camera];
    const int framed = vf_framed(&s->ingest->params, camera);
    struct vf_remap_entry from[VFRONT_WIDTH];
    struct batch batch;
    for (int32_t y = 0; y < l->height; y++) {
        uint8_t *to = s->rectify->picture[s->parity][camera] + y * l->pitch,
                *mask = s->rectify->mask[camera] + y * l->pitch;
        remap_row(from, s, camera, y);
        for (int32_t x = 0; x < l->width; x += BATCH) {
            const int32_t count = vf_min(l->width - x, BATCH);
            find_positions(&batch, from + x, raw, count);
            gather(&batch, s->ingest->picture[s->parity][camera], raw->pitch, count);
            interpolate(to + x, &batch, count);
        }
        for (int32_t x = 0; framed && x < l->width; x++)
            mask[x] = vf_remap_mask(s->ingest->mask_frame[camera], raw, from[x]);
    }
}

void vf_rectify_host(const struct vf_rectify_view *s)
{
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++) rectify_camera(s, camera);
}

vfront_status_t vf_rectify_prepare(const struct vf_prepare *p, const struct vf_rectify_view *s)
{
    vfront_status_t status = VFRONT_OK;
    for (int32_t i = 0; i < s->geometry.cameras && p->geometry->rectified && !status; i++) {
        const struct vf_level *l = &s->geometry.level[i][0];
        const int32_t across = VF_REMAP_ENTRIES(l->width), down = VF_REMAP_ENTRIES(l->height);
        struct vf_rectification r;
        struct vf_remap_entry row[VF_REMAP_ENTRIES(VFRONT_WIDTH)];
        vf_rectification_make(&r, &p->rig->camera[i], &p->seen->camera[i], p->R_rig_seen[i]);
        for (int32_t j = 0; j < down && !status; j++) {
            vf_remap_row(row, &r, j);
            status = p->write(p, s->rectify->remap[i] + j * across, row, sizeof *row * (size_t)across);
        }
    }
    return status;
}

#else

void vf_rectify_host(const struct vf_rectify_view *s) { (void)s; }
vfront_status_t vf_rectify_prepare(const struct vf_prepare *p, const struct vf_rectify_view *s)
{
    (void)p, (void)s;
    return VFRONT_OK;
}

#endif
