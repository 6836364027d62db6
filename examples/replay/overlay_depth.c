/* SPDX-License-Identifier: MIT */
/* Layers of the overlay: depths, disparities and stixels. */
#include "overlay_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- depths ------------------------------------------------------------------------------------------------------ */

/** Colour of an inverse depth or disparity, 0 far..1 near. */
struct colour overlay_near_colour(float near)
{
    static const float rgb[5][3] = {{60, 90, 255}, {0, 205, 255}, {60, 230, 90}, {250, 230, 40}, {255, 50, 40}};
    const float at = 4.0f * canvas_clamp(near, 0, 1);
    const int i = at < 3.0f ? (int)at : 3;
    uint8_t v[3];
    for (int k = 0; k < 3; k++) v[k] = (uint8_t)(rgb[i][k] + (rgb[i + 1][k] - rgb[i][k]) * (at - (float)i));
    return (struct colour){v[0], v[1], v[2]};
}

#if VFRONT_STEREO
static int compare_floats(const void *a, const void *b)
{
    const float one = *(const float *)a, other = *(const float *)b;
    return (one > other) - (one < other);
}

/** Inverse depth drawn in red: the 90th percentile of the frame, low-pass filtered so that colours do not flicker. */
static void update_red_inverse_depth(struct overlay *o, const vfront_result_t *r)
{
    float *sorted = o->sorted;
    if (!r->depths_count) return;
    for (uint32_t i = 0; i < r->depths_count; i++) sorted[i] = 1.0f / r->depths[i].depth_m;
    qsort(sorted, r->depths_count, sizeof *sorted, compare_floats);
    const float near = sorted[(r->depths_count - 1) * 9 / 10];
    o->red_inverse_depth_1pm += (near - o->red_inverse_depth_1pm) * (o->red_inverse_depth_1pm > 0.0f ? 0.125f : 1.0f);
}

/** Depths in the pictures of both cameras. */
void overlay_draw_depths(struct overlay *o, const vfront_result_t *r)
{
    const int alone = overlay_alone(o, OVERLAY_DEPTHS);
    update_red_inverse_depth(o, r);
    for (uint32_t i = 0; i < r->depths_count; i++) {
        const vfront_depth_t *d = &r->depths[i];
        const vfront_keypoint_t *k = &r->keypoints[0][d->keypoint];
        if (!o->shown[0][d->keypoint]) continue;
        const float at[VFRONT_CAMERAS][2] = {{k->x_px, k->y_px}, {d->x_px, d->y_px}};
        for (int32_t camera = 0; camera < o->cameras; camera++) {
            o->canvas.region = &o->camera[camera];
            canvas_circle(&o->canvas, CANVAS_DISC, at[camera], alone ? 2.5f : 1.7f,
                          overlay_near_colour(1.0f / d->depth_m / o->red_inverse_depth_1pm), 256);
        }
    }
}
#else
void overlay_draw_depths(struct overlay *o, const vfront_result_t *r)
{
    (void)o;
    (void)r;
}
#endif

/* ---- disparities ------------------------------------------------------------------------------------------------- */

#if VFRONT_DENSE
#define DISPARITY_MAX_PX 4096

/** Disparity drawn in red [px]: the 99th percentile of the frame, low-pass filtered as for depths. */
static void update_red_disparity(struct overlay *o, const vfront_disparity_t *d)
{
    static uint32_t count[DISPARITY_MAX_PX];
    uint32_t beyond = 0;
    int32_t near = DISPARITY_MAX_PX;
    if (!d->valid) return;
    memset(count, 0, sizeof count);
    for (int32_t y = 0; y < d->height_px; y++)
        for (int32_t x = 0; x < d->width_px; x++)
            if (d->px16[y * d->pitch + x] != VFRONT_NO_DISPARITY) count[d->px16[y * d->pitch + x] / 16]++;
    while (near > 1 && beyond <= d->valid / 100) beyond += count[--near];
    o->red_disparity_px += ((float)near - o->red_disparity_px) * (o->red_disparity_px > 0.0f ? 0.125f : 1.0f);
}

/** Disparities in place of camera 1's picture, beside the picture of camera 0. */
void overlay_draw_disparity(struct overlay *o, const vfront_result_t *r)
{
    const vfront_disparity_t *d = &r->disparity;
    o->canvas.region = &o->disparity;
    for (int32_t y = 0; y < o->canvas.region->height; y++)
        for (int32_t x = 0; x < o->canvas.region->width; x++) canvas_dot(&o->canvas, x, y, black, 256);
    if (!d->px16) return;
    update_red_disparity(o, d);
    for (int32_t y = 0; y < d->height_px; y++)
        for (int32_t x = 0; x < d->width_px; x++) {
            const uint16_t px16 = d->px16[y * d->pitch + x];
            if (px16 != VFRONT_NO_DISPARITY)
                canvas_dot(&o->canvas, x, y, overlay_near_colour((float)px16 / 16.0f / o->red_disparity_px), 256);
        }
}
#else
void overlay_draw_disparity(struct overlay *o, const vfront_result_t *r)
{
    (void)o;
    (void)r;
}
#endif

/* ---- stixels ----------------------------------------------------------------------------------------------------- */

#define OBSTACLES_PX 10 /* height of the obstacle bar */

/** Colour of a distance: red up to RED_M, green far away. */
struct colour overlay_distance_colour(float away_m)
{
    const float near = canvas_clamp(RED_M / away_m, 0, 1);
    return (struct colour){(uint8_t)canvas_clamp(510 * near, 0, 255), (uint8_t)canvas_clamp(510 * (1 - near), 0, 255),
                           20};
}

#if VFRONT_STIXELS
/** One stixel. Its first column and top row are stronger, to separate neighbours. */
static void draw_stixel(struct overlay *o, int32_t left, int32_t width, const vfront_stixel_t *t)
{
    static const struct colour sky = {70, 110, 255}, unknown = {150, 150, 150};
    const struct colour c = t->type == VFRONT_STIXEL_SKY ? sky
                            : t->type == VFRONT_STIXEL_UNKNOWN
                                ? unknown
                                : overlay_distance_colour(t->distance_m > 0.0f ? t->distance_m : 1e6f);
    if (t->type == VFRONT_STIXEL_GROUND) return;
    for (int32_t y = t->top_px; y <= t->base_px; y++)
        for (int32_t x = left; x < left + width; x++)
            canvas_dot(&o->canvas, x, y, c, x == left || y == t->top_px ? 150 : 90);
}

/** Obstacle bar: the nearest obstacle in the direction of every column. */
static void draw_obstacles(struct overlay *o, const vfront_result_t *r)
{
    static const struct colour unknown = {120, 120, 120};
    for (int32_t x = 0; x < o->canvas.region->width; x++) {
        const float turn = atanf(((float)x - o->cx_px) / o->fx_px) * (VFRONT_OBSTACLE_BINS / 6.2831853f);
        const uint16_t cm = r->obstacles_cm[((int)floorf(turn + 0.5f) + VFRONT_OBSTACLE_BINS) % VFRONT_OBSTACLE_BINS];
        const struct colour c = cm == VFRONT_OBSTACLE_UNKNOWN ? unknown
                                                              : overlay_distance_colour(0.01f * (float)cm + 0.01f);
        for (int32_t y = o->canvas.region->height - OBSTACLES_PX; y < o->canvas.region->height; y++)
            canvas_dot(&o->canvas, x, y, c, 220);
    }
}

void overlay_draw_stixels(struct overlay *o, const vfront_result_t *r)
{
    o->canvas.region = &o->stixels;
    for (uint32_t i = 0; i < r->columns_count; i++)
        for (uint32_t k = 0; k < r->stixels_count[i]; k++)
            draw_stixel(o, (int32_t)(i * r->columns_width_px), (int32_t)r->columns_width_px, &r->stixels[i][k]);
    for (int32_t x = 0; x < o->canvas.region->width && r->road.state != VFRONT_ROAD_NONE; x++)
        canvas_dot(&o->canvas, x, (int32_t)r->road.horizon_px, white, 200);
    if (r->columns_count) draw_obstacles(o, r);
}
#else
void overlay_draw_stixels(struct overlay *o, const vfront_result_t *r)
{
    (void)o;
    (void)r;
}
#endif
