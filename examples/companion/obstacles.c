/* SPDX-License-Identifier: MIT */
#include "obstacles.h"

#include <math.h>
#include <string.h>

/* Values of MAVLink's enumerations. */
enum { SENSOR_UNKNOWN = 4, BODY_FRD = 12, INCREMENT_DEG = 5 };

enum { BINS = VFRONT_OBSTACLE_BINS, CELLS = 64, SAMPLES_X = 192, SAMPLES_Y = 128 };

#define CONFIDENCE 72 /* least of a disparity, as for stixels */
#define DISPARITY_MIN_PX 0.5
#define SHARE 0.03      /* of the samples of a direction that make an object */
#define SUPPORT_MIN 4   /* samples, and no fewer */
#define FREE_SHARE 0.5  /* of the rays that have to end beyond */
#define WIDTH_SHARE 0.6 /* of a direction that has to be in view to be free */
#define STEEP 0.3       /* length of the nose's level part: below that nothing is ahead */

/** What was seen in a direction. */
struct direction {
    uint32_t samples;       /* pixels looked at */
    uint32_t level, beyond; /* rays below the horizon within the height; those of them that end beyond most_m */
    double first, last;     /* part of the direction in view, 0..1 */
    uint32_t count[CELLS];  /* points by distance, cells in even ratios */
    double nearest_m[CELLS];
};

/** Level frame, in body axes. */
struct level {
    double ahead[3], right[3], up[3];
};

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/** The nose's level direction, that to its right, and up. 0: the nose points up or down. */
static int set_level(struct level *l, const double up[3])
{
    const double length = sqrt(1.0 - up[0] * up[0]);
    if (!(length > STEEP)) return 0;
    for (int i = 0; i < 3; i++) {
        l->up[i] = up[i];
        l->ahead[i] = ((i == 0) - up[0] * up[i]) / length;
    }
    l->right[0] = l->ahead[1] * up[2] - l->ahead[2] * up[1];
    l->right[1] = l->ahead[2] * up[0] - l->ahead[0] * up[2];
    l->right[2] = l->ahead[0] * up[1] - l->ahead[1] * up[0];
    return 1;
}

/** Direction of a level vector and the place within it, 0..1. */
static int direction_of(double ahead, double right, double *part)
{
    const double turns = atan2(right, ahead) / (2.0 * 3.14159265358979323846) * BINS + 0.5;
    const double whole = floor(turns);
    *part = turns - whole;
    return ((int)whole + BINS) % BINS;
}

static int cell_of(const obstacles_settings_t *s, double range_m)
{
    const double ratio = log(range_m / s->min_m) / log(s->max_m / s->min_m);
    return ratio < 0.0 ? 0 : ratio >= 1.0 ? CELLS - 1 : (int)(ratio * CELLS);
}

/** A pixel: its ray from the camera, and the point where it ends, if it has a disparity. */
static void add(struct direction *directions, const obstacles_settings_t *s, const struct level *l, const pose_t *at,
                const double ray_cam[3], double depth_m)
{
    double ray[3], part;
    for (int i = 0; i < 3; i++) ray[i] = dot(at->R + 3 * i, ray_cam);
    const double ahead = dot(ray, l->ahead), right = dot(ray, l->right), rise = dot(ray, l->up);
    const double level_length = sqrt(ahead * ahead + right * right), from = dot(at->t, l->up);
    if (!(level_length > 0.0)) return;
    struct direction *d = &directions[direction_of(ahead, right, &part)];
    const double end = from + rise / level_length * s->max_m; /* height of the ray there */
    const int is_level = rise <= 0.0 && fabs(end) <= s->height_m && fabs(from) <= s->height_m;
    d->samples++;
    d->level += (uint32_t)is_level;
    if (is_level) {
        d->first = fmin(d->first, part);
        d->last = fmax(d->last, part);
    }
    if (!(depth_m > 0.0)) return;
    const double x = dot(at->t, l->ahead) + ahead * depth_m, y = dot(at->t, l->right) + right * depth_m;
    const double range_m = sqrt(x * x + y * y);
    if (range_m >= s->max_m) {
        d->beyond += (uint32_t)is_level;
        return;
    }
    if (fabs(from + rise * depth_m) > s->height_m) return;
    struct direction *to = &directions[direction_of(x, y, &part)];
    const int cell = cell_of(s, range_m);
    if (!to->count[cell]++ || range_m < to->nearest_m[cell]) to->nearest_m[cell] = range_m;
}

/** Distance of a direction [cm]. */
static uint16_t distance_cm(const struct direction *d, const obstacles_settings_t *s)
{
    const double share = SHARE * d->samples;
    const uint32_t enough = share > SUPPORT_MIN ? (uint32_t)share : SUPPORT_MIN;
    for (int i = 0; i < CELLS; i++) {
        const uint32_t next = i + 1 < CELLS ? d->count[i + 1] : 0;
        if (!d->count[i] || d->count[i] + next < enough) continue;
        return (uint16_t)(fmax(d->nearest_m[i], s->min_m) * 100.0);
    }
    const int is_wide = d->last - d->first >= WIDTH_SHARE;
    if (is_wide && d->level >= SUPPORT_MIN && d->beyond >= FREE_SHARE * d->level)
        return (uint16_t)(s->max_m * 100.0 + 1.0);
    return OBSTACLES_UNKNOWN;
}

/** Depth of a pixel; 0: none. */
static double depth_of(const vfront_disparity_t *d, int32_t x, int32_t y, double focal_baseline)
{
    const size_t at = (size_t)y * (size_t)d->pitch + (size_t)x;
    if (d->px16[at] == VFRONT_NO_DISPARITY || d->confidence[at] < CONFIDENCE) return 0.0;
    const double px = d->px16[at] / 16.0;
    return px >= DISPARITY_MIN_PX ? focal_baseline / px : 1e6;
}

void obstacles_of(uint16_t cm[VFRONT_OBSTACLE_BINS], const obstacles_settings_t *s, const vfront_disparity_t *d,
                  const vfront_camera_t *c, double baseline_m, const pose_t *T_body_cam, const double up[3])
{
    static struct direction directions[BINS];
    struct level level;
    for (int i = 0; i < BINS; i++) cm[i] = OBSTACLES_UNKNOWN;
    if (!up || !d->px16 || !d->valid || !(c->fx_px > 0.0) || !set_level(&level, up)) return;
    memset(directions, 0, sizeof directions);
    for (int i = 0; i < BINS; i++) directions[i].first = 1.0;
    for (int j = 0; j < SAMPLES_Y; j++)
        for (int i = 0; i < SAMPLES_X; i++) {
            const int32_t x = (2 * i + 1) * d->width_px / (2 * SAMPLES_X);
            const int32_t y = (2 * j + 1) * d->height_px / (2 * SAMPLES_Y);
            const double ray[3] = {(x - c->cx_px) / c->fx_px, (y - c->cy_px) / c->fy_px, 1.0};
            add(directions, s, &level, T_body_cam, ray, depth_of(d, x, y, c->fx_px * baseline_m));
        }
    for (int i = 0; i < BINS; i++) cm[i] = distance_cm(&directions[i], s);
}

void obstacles_message(mavlink_message_t *m, const uint16_t cm[VFRONT_OBSTACLE_BINS], const obstacles_settings_t *s,
                       uint64_t t_ns)
{
    memset(m, 0, sizeof *m);
    m->id = MAVLINK_OBSTACLE_DISTANCE;
    m->as.obstacles.time_usec[0] = t_ns / 1000u;
    memcpy(m->as.obstacles.distances, cm, sizeof m->as.obstacles.distances);
    m->as.obstacles.min_distance[0] = (uint16_t)(s->min_m * 100.0);
    m->as.obstacles.max_distance[0] = (uint16_t)(s->max_m * 100.0);
    m->as.obstacles.sensor_type[0] = SENSOR_UNKNOWN;
    m->as.obstacles.increment[0] = INCREMENT_DEG;
    m->as.obstacles.increment_f[0] = (float)INCREMENT_DEG;
    m->as.obstacles.frame[0] = BODY_FRD;
}
