/* SPDX-License-Identifier: MIT */
/* Legend of the overlay. */
#include "overlay_internal.h"

#include <stdio.h>

static int32_t legend_keypoints(struct overlay *o, int32_t x, int32_t scale)
{
    static const float turned_rad = -0.8f;
    x = canvas_text(&o->canvas, x, scale, "key points by level", grey);
    for (int32_t i = 0; i < o->levels; i++) {
        const char number[2] = {(char)('0' + i), 0};
        const float radius = canvas_clamp(overlay_keypoint_radius_px((uint32_t)i), 0, LEGEND_PX / 2 - 2);
        const float at[2] = {(float)(x + 8) + radius, LEGEND_PX / 2};
        overlay_mark_keypoint(o, at, radius, &turned_rad, overlay_level_colour[i], 256);
        x = canvas_text(&o->canvas, (int32_t)(at[0] + radius) + 3, scale, number, overlay_level_colour[i]);
    }
    return x + 16;
}

static int32_t legend_tracks(struct overlay *o, int32_t x, int32_t scale)
{
    static const float middle = LEGEND_PX / 2;
    const float born[2] = {(float)x + 4, middle};
    overlay_mark_track(o, born, 0);
    x = canvas_text(&o->canvas, x + 12, scale, "new", grey) + 12;
    for (uint32_t age = 1; age <= 100; age++, x++)
        for (int32_t y = -3; y <= 3; y++) canvas_dot(&o->canvas, x, LEGEND_PX / 2 + y, overlay_age_colour(age), 256);
    x = canvas_text(&o->canvas, x + 4, scale, "100 frames old", grey) + 16;
    const float ended[2] = {(float)x, middle};
    canvas_cross(&o->canvas, ended, red);
    return canvas_text(&o->canvas, x + 10, scale, "ended", grey) + 16;
}

static int32_t legend_motion(struct overlay *o, int32_t x, int32_t scale)
{
    static const float middle = LEGEND_PX / 2;
    for (int with = 1; with >= 0; with--) {
        const float from[2] = {(float)x, middle}, to[2] = {(float)x + 18, middle};
        overlay_mark_pair(o, from, to, (uint32_t)with);
        x = canvas_text(&o->canvas, x + 24, scale, with ? "agrees" : "does not", grey) + 12;
    }
    for (int ahead = 1; ahead >= 0; ahead--) {
        const float at[2] = {(float)x + 17, middle};
        overlay_mark_epipole(o, at, ahead, epipole_colour);
        x = canvas_text(&o->canvas, x + (ahead ? 40 : 32), scale, ahead ? "flies to" : "comes from", grey) + 4;
    }
    return x + 12;
}

static int32_t legend_depths(struct overlay *o, int32_t x, int32_t scale)
{
    x = canvas_text(&o->canvas, x, scale, "near", grey) + 4;
    for (int32_t i = 0; i <= 60; i++, x++)
        for (int32_t y = -3; y <= 3; y++)
            canvas_dot(&o->canvas, x, LEGEND_PX / 2 + y, overlay_near_colour(1.0f - (float)i / 60.0f), 256);
    return canvas_text(&o->canvas, x + 4, scale, "far", grey) + 16;
}

/** Colour scale of disparities, labelled with the disparity drawn in red. */
static int32_t legend_disparity(struct overlay *o, int32_t x, int32_t scale)
{
    char red_px[32];
    snprintf(red_px, sizeof red_px, "%d px", (int)(o->red_disparity_px + 0.5f));
    x = canvas_text(&o->canvas, x, scale, red_px, grey) + 4;
    for (int32_t i = 0; i <= 120; i++, x++)
        for (int32_t y = -5; y <= 5; y++)
            canvas_dot(&o->canvas, x, LEGEND_PX / 2 + y, overlay_near_colour(1.0f - (float)i / 120.0f), 256);
    return canvas_text(&o->canvas, x + 4, scale, "0 px  black none", grey) + 16;
}

static int32_t legend_stixels(struct overlay *o, int32_t x, int32_t scale)
{
    x = canvas_text(&o->canvas, x, scale, "5 m", grey) + 4;
    for (int32_t i = 0; i <= 60; i++, x++)
        for (int32_t y = -3; y <= 3; y++)
            canvas_dot(&o->canvas, x, LEGEND_PX / 2 + y,
                       overlay_distance_colour(RED_M * 60.0f / (60.0f - (float)i + 0.01f)), 256);
    return canvas_text(&o->canvas, x + 4, scale, "far", grey) + 16;
}

int32_t overlay_draw_legend(struct overlay *o, int32_t scale)
{
    int32_t x = 6;
    if (o->what & OVERLAY_TRACKS) x = legend_tracks(o, x, scale);
    if (o->what & OVERLAY_KEYPOINTS) x = legend_keypoints(o, x, scale);
    if (o->what & OVERLAY_DEPTHS) x = legend_depths(o, x, scale);
    if (o->what & OVERLAY_MOTION) x = legend_motion(o, x, scale);
    if (o->what & OVERLAY_STIXELS) x = legend_stixels(o, x, scale);
    if (o->what & OVERLAY_DISPARITY) x = legend_disparity(o, x, scale);
    return x;
}
