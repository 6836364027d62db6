/* SPDX-License-Identifier: MIT */
#include "overlay_internal.h"

#include "caption.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_PX 12       /* height of a row of the caption above the pictures, of letters of scale 1 */
#define MARGIN_PX 4      /* around the caption */
#define GAP_PX 4         /* between two cameras */
#define CHECK_ROWS_PX 40 /* between the rows drawn on rectified pictures */

/** Letters of a line that go into a row of `most`: where not all do, up to the last two spaces, else the last one. */
static int32_t letters_of_row(const char *line, int32_t max)
{
    const int32_t all = (int32_t)strlen(line);
    if (all <= max) return all;
    for (int32_t i = max; i > 0; i--)
        if (line[i] == ' ' && line[i + 1] == ' ') return i;
    for (int32_t i = max; i > 0; i--)
        if (line[i] == ' ') return i;
    return max;
}

/** Caption into the rows of its region, which has its left margin; a region without height measures. Returns the number
 *  of rows. */
static int32_t draw_caption(struct overlay *o, const char *line, int32_t scale)
{
    const int32_t max = (o->caption.width - MARGIN_PX) / (CANVAS_ADVANCE * scale);
    int32_t rows = 0;
    for (; *line && max > 0; rows++) {
        char row[CAPTION_LETTERS];
        const int32_t letters = letters_of_row(line, max), top = o->caption.top + MARGIN_PX + rows * LINE_PX * scale;
        const int fits = top + LINE_PX * scale <= o->caption.top + o->caption.height;
        const struct region place = {o->caption.left + MARGIN_PX, top, o->caption.width, fits ? LINE_PX * scale : 0};
        snprintf(row, sizeof row, "%.*s", (int)letters, line);
        o->canvas.region = &place;
        canvas_text(&o->canvas, 0, scale, row, white);
        for (line += letters; *line == ' ';) line++;
    }
    o->canvas.region = NULL;
    return rows;
}

/** Heights of caption and legend for a drawing of this width: letters of double size if all fits into one row. */
static void size_bars(struct overlay *o, int32_t width)
{
    char longest[CAPTION_LETTERS];
    caption_longest(longest, sizeof longest, o->what);
    o->caption = (struct region){0, 0, width, 0};
    o->legend = (struct region){0, 0, width, 0};
    o->caption_scale = draw_caption(o, longest, 2) == 1 ? 2 : 1;
    o->legend_scale = overlay_draw_legend(o, 2) == 1 ? 2 : 1;
    o->caption.height = draw_caption(o, longest, o->caption_scale) * LINE_PX * o->caption_scale + 2 * MARGIN_PX;
    o->legend.height = overlay_draw_legend(o, o->legend_scale) * LEGEND_PX;
}

/** Stixels over camera 0, disparities in place of camera 1; below them where other layers have those. Returns the
 *  height of the second row [px], or 0. */
static int32_t lay_out_below(struct overlay *o, int32_t tallest)
{
    o->stixels = o->camera[0];
    o->disparity = o->camera[o->cameras - 1];
    o->below = (o->what & OVERLAY_ALL) && (o->what & (OVERLAY_STIXELS | OVERLAY_DISPARITY));
    if (!o->below) return 0;
    o->stixels.top += tallest + GAP_PX;
    o->disparity.top += tallest + GAP_PX;
    return tallest + GAP_PX;
}

/** Layout: pictures side by side, of any sizes, with a caption above and a legend below. */
static void lay_out(struct overlay *o, const vfront_camera_t *camera, int32_t cameras)
{
    int32_t left = 0, tallest = 0, width = -GAP_PX;
    for (int32_t i = 0; i < cameras; i++) width += camera[i].width_px + GAP_PX;
    size_bars(o, width);
    for (int32_t i = 0; i < cameras; i++) {
        struct region *p = &o->camera[i];
        p->left = left;
        p->top = o->caption.height;
        p->width = camera[i].width_px;
        p->height = camera[i].height_px;
        left += p->width + GAP_PX;
        if (p->height > tallest) tallest = p->height;
    }
    o->cameras = cameras;
    o->canvas.width = width;
    o->legend.top = o->caption.height + tallest + lay_out_below(o, tallest);
    o->canvas.height = o->legend.top + o->legend.height;
}

overlay_t *overlay_open(const vfront_info_t *info, int32_t cameras, overlay_what_t what, const vfront_tuning_t *tuning)
{
    struct overlay *o = calloc(1, sizeof *o);
    if (!o) return NULL;
    o->levels = info->scales < LEVELS_MAX ? info->scales : LEVELS_MAX;
    o->rectified = info->rectified;
    o->fx_px = (float)info->camera[0].fx_px;
    o->cx_px = (float)info->camera[0].cx_px;
    o->what = what;
    lay_out(o, info->camera, cameras);
    o->seen = info->camera[0];
    o->with_tracks = tuning->track_target > 0;
    o->with_matches = tuning->ego != VFRONT_EGO_TRACKS;
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

/** Grey picture into a region, darkened more under small marks. */
static void draw_picture(struct overlay *o, const struct region *region, const vfront_picture_t *p)
{
    const int shade = overlay_alone(o, OVERLAY_TRACKS) || overlay_alone(o, OVERLAY_DISPARITY) ? 8 : 6;
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
    overlay_find_points(o, r);
    memset(o->canvas.rgb, 24, (size_t)o->canvas.width * (size_t)o->canvas.height * 3);
    for (int32_t i = 0; i < o->cameras; i++) {
        o->canvas.region = &o->camera[i];
        draw_picture(o, o->canvas.region, &frame->picture[i]);
        if (o->rectified && o->what == OVERLAY_DEPTHS) draw_check_rows(o);
        if (o->what & OVERLAY_KEYPOINTS) overlay_draw_keypoints(o, i, r);
    }
    if (o->below) draw_picture(o, &o->stixels, &frame->picture[0]);
    if (o->what & OVERLAY_DEPTHS) overlay_draw_depths(o, r);
    if (o->what & OVERLAY_STIXELS) overlay_draw_stixels(o, r);
    if (o->what & OVERLAY_DISPARITY) overlay_draw_disparity(o, r);
    o->canvas.region = &o->camera[0];
    overlay_update_trails(o, r);
    if (o->what & OVERLAY_MATCHES) overlay_draw_matches(o, r);
    if (o->what & OVERLAY_MOTION) overlay_draw_motion(o, r);
    if (o->what & OVERLAY_TRACKS) overlay_draw_tracks(o, r);
    draw_caption(o, line, o->caption_scale);
    overlay_draw_legend(o, o->legend_scale);
    return o->canvas.rgb;
}
