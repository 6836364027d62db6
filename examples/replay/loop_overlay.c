/* SPDX-License-Identifier: MIT */
#include "loop_overlay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "canvas.h"
#include "loops.h"

#define CAPTION_PX 16
#define GAP_PX 4

/** What is kept of a keyframe. */
struct seen {
    uint64_t frame;
    uint8_t *grey;  /* [height][width] */
    float (*px)[2]; /* key points of camera 0 */
    uint32_t points;
};

struct loop_overlay {
    struct canvas canvas;
    struct region caption, picture[2], both;
    struct seen seen[VFRONT_KEYFRAMES]; /* the oldest is replaced */
    uint64_t keyframes;
};

loop_overlay_t *loop_overlay_open(const vfront_camera_t *camera)
{
    const int32_t width = camera->width_px, height = camera->height_px;
    loop_overlay_t *o = calloc(1, sizeof *o);
    if (!o) return NULL;
    o->canvas.width = 2 * width + GAP_PX;
    o->canvas.height = height + CAPTION_PX;
    o->caption = (struct region){GAP_PX, 0, 2 * width, CAPTION_PX};
    o->both = (struct region){0, CAPTION_PX, o->canvas.width, height};
    for (int32_t i = 0; i < 2; i++) o->picture[i] = (struct region){i * (width + GAP_PX), CAPTION_PX, width, height};
    o->canvas.rgb = calloc(3 * (size_t)o->canvas.width, (size_t)o->canvas.height);
    if (o->canvas.rgb) return o;
    free(o);
    return NULL;
}

void loop_overlay_close(loop_overlay_t *o)
{
    if (!o) return;
    for (uint32_t i = 0; i < VFRONT_KEYFRAMES; i++) {
        free(o->seen[i].grey);
        free(o->seen[i].px);
    }
    free(o->canvas.rgb);
    free(o);
}

/** Picture of camera 0 as 8-bit grey; darker than it is by a third, so that lines are seen. */
static void copy_grey(const loop_overlay_t *o, const vfront_picture_t *p, uint8_t *grey)
{
    const int32_t width = o->picture[0].width, height = o->picture[0].height;
    for (int32_t y = 0; y < height; y++) {
        const uint8_t *row = (const uint8_t *)p->data + (size_t)y * p->pitch_bytes;
        for (int32_t x = 0; x < width; x++) {
            uint16_t wide = (uint16_t)(row[x] << 8);
            if (p->format == VFRONT_GREY16) memcpy(&wide, row + 2 * x, sizeof wide);
            grey[y * width + x] = (uint8_t)((wide >> 8) * 2 / 3);
        }
    }
}

/** Keeps the picture and the key points of a keyframe. Returns 0 without memory. */
static int keep(loop_overlay_t *o, const vfront_frame_t *frame, const vfront_result_t *r)
{
    struct seen *s = &o->seen[o->keyframes % VFRONT_KEYFRAMES];
    if (!s->grey) s->grey = malloc((size_t)o->picture[0].width * (size_t)o->picture[0].height);
    if (!s->px) s->px = malloc(VFRONT_KEYPOINTS * sizeof *s->px);
    if (!s->grey || !s->px) return 0;
    copy_grey(o, &frame->picture[0], s->grey);
    s->frame = r->frame;
    s->points = r->keypoints_count[0];
    for (uint32_t i = 0; i < s->points; i++) {
        s->px[i][0] = r->keypoints[0][i].x_px;
        s->px[i][1] = r->keypoints[0][i].y_px;
    }
    o->keyframes++;
    return 1;
}

#if VFRONT_MAP

static const struct seen *seen_in(const loop_overlay_t *o, uint64_t frame)
{
    for (uint64_t i = 0; i < o->keyframes && i < VFRONT_KEYFRAMES; i++)
        if (o->seen[i].frame == frame) return &o->seen[i];
    return NULL;
}

static void paint(loop_overlay_t *o, int which, const uint8_t *grey)
{
    const struct region *p = &o->picture[which];
    for (int32_t y = 0; y < p->height; y++) {
        uint8_t *row = o->canvas.rgb + 3 * ((size_t)(p->top + y) * (size_t)o->canvas.width + (size_t)p->left);
        for (int32_t x = 0; x < 3 * p->width; x++) row[x] = grey[y * p->width + x / 3];
    }
}

static void caption(loop_overlay_t *o, const vfront_result_t *r, const vfront_loop_t *l)
{
    char line[200];
    snprintf(line, sizeof line,
             "keyframe %" PRIu64 "   frame %" PRIu64 "   %s   %s   %" PRIu32 " of %" PRIu32 " inliers", l->frame,
             r->frame, loops_state_name(l->state), loops_kind_name(l->kind), l->inliers, l->pairs);
    o->canvas.region = &o->caption;
    canvas_text(&o->canvas, 0, 1, line, (struct colour){255, 255, 255});
}

static void pairs(loop_overlay_t *o, const vfront_result_t *r, const struct seen *s)
{
    const struct colour inlier = {90, 230, 110}, other = {240, 80, 70};
    o->canvas.region = &o->both;
    for (int turn = 0; turn < 2; turn++) /* inliers over the others */
        for (uint32_t i = 0; i < r->loop_pairs_count; i++) {
            const vfront_loop_pair_t *p = &r->loop_pairs[i];
            if ((int)p->inlier != turn || p->before >= s->points) continue;
            const float right = (float)o->picture[1].left, from[2] = {s->px[p->before][0], s->px[p->before][1]},
                        to[2] = {r->keypoints[0][p->keypoint].x_px + right, r->keypoints[0][p->keypoint].y_px};
            canvas_line(&o->canvas, from, to, turn ? inlier : other, turn ? 150 : 70);
            canvas_circle(&o->canvas, CANVAS_DISC, from, 2.0f, turn ? inlier : other, 256);
            canvas_circle(&o->canvas, CANVAS_DISC, to, 2.0f, turn ? inlier : other, 256);
        }
}

/** Draws the loop that has correspondences. Returns 0 if there is none that is worth it. */
static int draw_loop(loop_overlay_t *o, const vfront_frame_t *frame, const vfront_result_t *r, uint8_t *grey)
{
    const vfront_loop_t *l = &r->loops[r->loop_pairs_of];
    const struct seen *s = l->loaded ? NULL : seen_in(o, l->frame);
    if (l->state == VFRONT_LOOP_FEW || !s) return 0;
    copy_grey(o, &frame->picture[0], grey);
    memset(o->canvas.rgb, 0, 3 * (size_t)o->canvas.width * (size_t)o->canvas.height);
    paint(o, 0, s->grey);
    paint(o, 1, grey);
    caption(o, r, l);
    pairs(o, r, s);
    return 1;
}

#endif

int loop_overlay_draw(loop_overlay_t *o, const vfront_frame_t *frame, const vfront_result_t *r, const uint8_t **rgb,
                      int32_t *width_px, int32_t *height_px)
{
    *rgb = NULL;
    *width_px = o->canvas.width;
    *height_px = o->canvas.height;
    if (!frame->picture[0].data) return 1;
#if VFRONT_MAP
    if (r->loop_pairs_count) {
        uint8_t *grey = malloc((size_t)o->picture[0].width * (size_t)o->picture[0].height);
        if (!grey) return 0;
        if (draw_loop(o, frame, r, grey)) *rgb = o->canvas.rgb;
        free(grey);
    }
#endif
    return !r->keyframe || keep(o, frame, r);
}
