/* SPDX-License-Identifier: MIT */
#include "overlay_internal.h"

#include <stdlib.h>
#include <string.h>

#define CAPTION_PX 20    /* height of the caption above the pictures */
#define GAP_PX 4         /* between two cameras */
#define CHECK_ROWS_PX 40 /* between the rows drawn on rectified pictures */

/** Layout: pictures side by side, of any sizes, with a caption above and a legend below. */
static void lay_out(struct overlay *o, const vfront_camera_t *camera, int32_t cameras)
{
    int32_t left = 0, tallest = 0;
    for (int32_t i = 0; i < cameras; i++) {
        struct region *p = &o->camera[i];
        p->left = left;
        p->top = CAPTION_PX;
        p->width = camera[i].width_px;
        p->height = camera[i].height_px;
        left += p->width + GAP_PX;
        if (p->height > tallest) tallest = p->height;
    }
    o->cameras = cameras;
    o->canvas.width = left - GAP_PX;
    o->canvas.height = CAPTION_PX + tallest + LEGEND_PX;
    o->caption = (struct region){0, 0, o->canvas.width, CAPTION_PX};
    o->legend = (struct region){0, CAPTION_PX + tallest, o->canvas.width, LEGEND_PX};
}

overlay_t *overlay_open(const vfront_info_t *info, int32_t cameras, overlay_what_t what, const vfront_tuning_t *tuning)
{
    struct overlay *o = calloc(1, sizeof *o);
    if (!o) return NULL;
    lay_out(o, info->seen, cameras);
    o->levels = info->scales < LEVELS_MOST ? info->scales : LEVELS_MOST;
    o->rectified = info->rectified;
    o->fx_px = (float)info->seen[0].fx_px;
    o->cx_px = (float)info->seen[0].cx_px;
    o->what = what;
    o->seen = info->seen[0];
    o->with_tracks = tuning->ego_tracks;
    o->with_matches = tuning->ego_matches;
    o->canvas.rgb = malloc((size_t)o->canvas.width * (size_t)o->canvas.height * 3);
    if (o->canvas.rgb) return o;
    overlay_close(o);
    return NULL;
}

void overlay_close(overlay_t *o)
{
    if (!o) return;
    free(o->canvas.rgb);
    free(o);
}

void overlay_size(const overlay_t *o, int32_t *width_px, int32_t *height_px)
{
    *width_px = o->canvas.width;
    *height_px = o->canvas.height;
}

/** Rows for checking rectification by eye: corresponding points lie on one row. */
static void draw_check_rows(struct overlay *o)
{
    for (int32_t y = CHECK_ROWS_PX; y < o->canvas.region->height; y += CHECK_ROWS_PX)
        for (int32_t x = 0; x < o->canvas.region->width; x++) canvas_dot(&o->canvas, x, y, white, 90);
}

/** Caption and legend, at double size if they fit. The first pass draws into an empty region to measure the width. */
static void draw_bars(struct overlay *o, const char *line)
{
    static const struct region nothing = {0, 0, 0, 0};
    o->canvas.region = &nothing;
    const int32_t large = overlay_draw_legend(o, 2) <= o->canvas.width;
    o->canvas.region = &o->legend;
    overlay_draw_legend(o, large ? 2 : 1);
    o->canvas.region = &o->caption;
    canvas_text(&o->canvas, 4, 2 * CANVAS_ADVANCE * (int32_t)strlen(line) + 8 <= o->canvas.width ? 2 : 1, line, white);
}

/** Grey picture into a region, darkened more under small marks. */
static void draw_picture(struct overlay *o, const struct region *region, const vfront_picture_t *p)
{
    const int shade = o->what == OVERLAY_TRACKS || o->what == OVERLAY_DISPARITY ? 8 : 6;
    for (int32_t y = 0; y < region->height; y++) {
        const uint8_t *row = (const uint8_t *)p->data + (size_t)y * p->pitch_bytes;
        const uint16_t *wide = (const uint16_t *)(const void *)row;
        uint8_t *to = o->canvas.rgb + 3 * ((size_t)(region->top + y) * (size_t)o->canvas.width + (size_t)region->left);
        for (int32_t x = 0; x < region->width; x++, to += 3)
            to[0] = to[1] = to[2] = (uint8_t)((p->format == VFRONT_GREY16 ? wide[x] >> 8 : row[x]) * shade / 8);
    }
}

const uint8_t *overlay_draw(overlay_t *o, const vfront_frame_t *frame, const vfront_result_t *r, const char *line)
{
    memset(o->canvas.rgb, 24, (size_t)o->canvas.width * (size_t)o->canvas.height * 3);
    for (int32_t i = 0; i < o->cameras; i++) {
        o->canvas.region = &o->camera[i];
        draw_picture(o, o->canvas.region, &frame->picture[i]);
        if (o->rectified && o->what == OVERLAY_DEPTHS) draw_check_rows(o);
        if (o->what & OVERLAY_KEYPOINTS) overlay_draw_keypoints(o, i, r);
    }
    if (o->what & OVERLAY_DEPTHS) overlay_draw_depths(o, r);
    if (o->what & OVERLAY_STIXELS) overlay_draw_stixels(o, r);
    if (o->what & OVERLAY_DISPARITY) overlay_draw_disparity(o, r);
    o->canvas.region = &o->camera[0];
    overlay_update_trails(o, r);
    if (o->what & OVERLAY_MATCHES) overlay_draw_matches(o, r);
    if (o->what & OVERLAY_MOTION) overlay_draw_motion(o, r);
    if (o->what & OVERLAY_TRACKS) overlay_draw_tracks(o, r);
    draw_bars(o, line);
    return o->canvas.rgb;
}
