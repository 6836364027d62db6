/* SPDX-License-Identifier: MIT */
/* Legend of the overlay: items one after the other, in as many rows as they need. */
#include "overlay_internal.h"

#include <stdio.h>

#define MARGIN_PX 6   /* left of a row */
#define BETWEEN_PX 14 /* between two items */

static const float middle = LEGEND_PX / 2;

/** Item of the legend, drawn from x on. `number`: which of several. Returns the x of its end. */
typedef int32_t item_t(struct overlay *o, int32_t x, int32_t scale, int32_t number);

/** Colours of a scale from number 0 to `most`, as a bar. */
static int32_t bar(struct overlay *o, int32_t x, int32_t max, int32_t half_px,
                   struct colour (*colour)(int32_t, int32_t))
{
    for (int32_t i = 0; i <= max; i++, x++)
        for (int32_t y = -half_px; y <= half_px; y++) canvas_dot(&o->canvas, x, LEGEND_PX / 2 + y, colour(i, max), 256);
    return x + 4;
}

static int32_t words(struct overlay *o, int32_t x, int32_t scale, const char *text)
{
    return canvas_text(&o->canvas, x, scale, text, grey);
}

static int32_t heading(struct overlay *o, int32_t x, int32_t scale, int32_t number)
{
    static const char *const text[] = {"key points by level", "key points 1 in 30 px", "matches by direction",
                                       "matches"};
    return words(o, x, scale, text[number]);
}

/* ---- key points -------------------------------------------------------------------------------------------------- */

static int32_t level(struct overlay *o, int32_t x, int32_t scale, int32_t number)
{
    static const float turned_rad = -0.8f;
    const char digit[2] = {(char)('0' + number), 0};
    const float radius = canvas_clamp(overlay_keypoint_radius_px((uint32_t)number), 0, LEGEND_PX / 2 - 2);
    const float at[2] = {(float)x + radius, middle};
    overlay_mark_keypoint(o, at, radius, &turned_rad, overlay_level_colour[number], 256);
    return canvas_text(&o->canvas, (int32_t)(at[0] + radius) + 4, scale, digit, overlay_level_colour[number]);
}

/** Circles of a matched key point and of another one. They are stronger here than in pictures, which are brighter. */
static int32_t matched(struct overlay *o, int32_t x, int32_t scale, int32_t number)
{
    const float at[2] = {(float)x + 6, middle};
    overlay_mark_keypoint(o, at, 5.0f, NULL, grey, number ? 90 : 256);
    return words(o, x + 16, scale, number ? "unmatched" : "matched");
}

/* ---- tracks ------------------------------------------------------------------------------------------------------ */

static struct colour colour_of_age(int32_t i, int32_t max) { return overlay_age_colour(1u + (uint32_t)(i * 99 / max)); }

static int32_t track(struct overlay *o, int32_t x, int32_t scale, int32_t number)
{
    const float born[2] = {(float)x + 4, middle}, ended[2] = {(float)x + ENDED_PX, middle};
    if (number == 0) {
        overlay_mark_track(o, born, 0);
        return words(o, x + 12, scale, "new track");
    }
    if (number == 1) return words(o, bar(o, x, 60, 3, colour_of_age), scale, "100 frames old");
    canvas_cross(&o->canvas, ended, ENDED_PX, overlay_age_colour(100));
    return words(o, x + 14, scale, "ended");
}

/* ---- matches, motion --------------------------------------------------------------------------------------------- */

/** Strokes in eight directions. */
static int32_t direction(struct overlay *o, int32_t x, int32_t scale, int32_t number)
{
    static const float directions[8][2] = {{1, 0},  {0.7f, 0.7f},   {0, 1},  {-0.7f, 0.7f},
                                           {-1, 0}, {-0.7f, -0.7f}, {0, -1}, {0.7f, -0.7f}};
    (void)scale, (void)number;
    for (int i = 0; i < 8; i++) {
        const float *w = directions[i], from[2] = {(float)x + 15 + 4 * w[0], middle + 4 * w[1]},
                    to[2] = {(float)x + 15 + 14 * w[0], middle + 14 * w[1]};
        canvas_line(&o->canvas, from, to, overlay_direction_colour(w[0], w[1]), 256);
    }
    return x + 30;
}

static int32_t pair(struct overlay *o, int32_t x, int32_t scale, int32_t number)
{
    const float from[2] = {(float)x, middle}, to[2] = {(float)x + 18, middle};
    overlay_mark_pair(o, from, to, !number);
    return words(o, x + 28, scale, number ? "disagrees" : "agrees");
}

static int32_t epipole(struct overlay *o, int32_t x, int32_t scale, int32_t number)
{
    const float at[2] = {(float)x + (number ? 12 : 17), middle};
    overlay_mark_epipole(o, at, !number);
    return words(o, (int32_t)at[0] + (number ? 16 : 22), scale, number ? "comes from" : "flies to");
}

/* ---- depths, disparities, stixels -------------------------------------------------------------------------------- */

static struct colour colour_of_depth(int32_t i, int32_t max)
{
    return overlay_near_colour(1.0f - (float)i / (float)max);
}

static struct colour colour_of_stixel(int32_t i, int32_t max)
{
    return overlay_distance_colour(RED_M * (float)max / ((float)(max - i) + 0.01f));
}

static int32_t depth(struct overlay *o, int32_t x, int32_t scale, int32_t number)
{
    (void)number;
    x = bar(o, words(o, x, scale, "near") + 4, 60, 3, colour_of_depth);
    return words(o, x, scale, "far");
}

/** Colour scale of disparities, labelled with the disparity drawn in red. */
static int32_t disparity(struct overlay *o, int32_t x, int32_t scale, int32_t number)
{
    char red_px[32];
    (void)number;
    snprintf(red_px, sizeof red_px, "%3d px", (int)(o->red_disparity_px + 0.5f));
    x = bar(o, words(o, x, scale, red_px) + 4, 60, 5, colour_of_depth);
    return words(o, x, scale, "0 px");
}

static int32_t no_disparity(struct overlay *o, int32_t x, int32_t scale, int32_t number)
{
    (void)number;
    return words(o, x, scale, "black none");
}

static int32_t stixel(struct overlay *o, int32_t x, int32_t scale, int32_t number)
{
    (void)number;
    x = bar(o, words(o, x, scale, "obstacles 5 m") + 4, 60, 3, colour_of_stixel);
    return words(o, x, scale, "far");
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/** Place of the next item. */
struct pen {
    struct overlay *o;
    int32_t scale, x, row;
};

/** Items 0 to count - 1 of a kind, each in the row of the one before if it fits there. */
static void put(struct pen *p, item_t *item, int32_t first, int32_t count)
{
    static const struct region nothing = {0, 0, 0, 0};
    struct overlay *o = p->o;
    for (int32_t i = first; i < first + count; i++) {
        o->canvas.region = &nothing;
        if (p->x > MARGIN_PX && item(o, p->x, p->scale, i) + MARGIN_PX > o->legend.width) {
            p->x = MARGIN_PX;
            p->row++;
        }
        const struct region row = {o->legend.left, o->legend.top + p->row * LEGEND_PX, o->legend.width,
                                   o->legend.height ? LEGEND_PX : 0};
        o->canvas.region = &row;
        p->x = item(o, p->x, p->scale, i) + BETWEEN_PX;
    }
    o->canvas.region = &nothing;
}

int32_t overlay_draw_legend(struct overlay *o, int32_t scale)
{
    struct pen p = {o, scale, MARGIN_PX, 0};
    const int points_alone = overlay_alone(o, OVERLAY_KEYPOINTS), matches_alone = overlay_alone(o, OVERLAY_MATCHES);
    if (o->what & OVERLAY_TRACKS) put(&p, track, 0, 3);
    if (o->what & OVERLAY_KEYPOINTS) put(&p, heading, points_alone ? 0 : 1, 1);
    if (points_alone) put(&p, level, 0, o->levels);
    if (o->what & OVERLAY_KEYPOINTS && !points_alone) put(&p, matched, 0, 2);
    if (o->what & OVERLAY_DEPTHS) put(&p, depth, 0, 1);
    if (matches_alone) put(&p, heading, 2, 1);
    if (matches_alone) put(&p, direction, 0, 1);
    if (o->what & OVERLAY_MOTION) put(&p, pair, 0, 2);
    if (o->what & OVERLAY_MOTION) put(&p, epipole, 0, 2);
    if (o->what & OVERLAY_STIXELS) put(&p, stixel, 0, 1);
    if (o->what & OVERLAY_DISPARITY) put(&p, disparity, 0, 1);
    if (o->what & OVERLAY_DISPARITY) put(&p, no_disparity, 0, 1);
    return p.row + 1;
}
