/* SPDX-License-Identifier: MIT */
/* Faults that exist only in pictures, put into the finished picture of a camera. Include in one file only, behind
 * drawn_fault_view.h. */
#ifndef DRAWN_FAULT_PICTURES_H
#define DRAWN_FAULT_PICTURES_H

#include "drawn_fault_view.h"

enum { PICTURE_PIXELS = FLIGHT_WIDTH * FLIGHT_HEIGHT };

/** Picture of a frame with an active fault. Pose: of its camera, at the middle of the exposure. */
struct fault_picture {
    int frame, frames_since; /* of the flight; since the beginning, from 0 */
    int camera;
    double since_s, near_m; /* since the beginning; nearest range of the world */
    struct flight_camera lens;
    double c[3], R[9];             /* camera to world */
    double c_begin[3], R_begin[9]; /* of camera 0 at the beginning */
    const uint8_t *held, *before;  /* last picture before the fault; picture of the frame before, as it would be */
    const float *depth_m;          /* along the optical axis, of each pixel; 0: nothing there; NULL: not asked for */
};

static uint8_t grey_of(double v) { return (uint8_t)fmax(0, fmin(255, v + 0.5)); }

/** A fixed picture mixed in, as by a pane: the last one before the fault, upside down. */
static void picture_reflect(const struct fault *f, const struct fault_picture *at, uint8_t *p)
{
    for (int i = 0; i < PICTURE_PIXELS; i++)
        p[i] = grey_of(p[i] + 0.01 * f->size * (at->held[PICTURE_PIXELS - 1 - i] - p[i]));
}

/** Rows roll: the picture begins lower by `size` rows more in each frame. */
static void picture_roll(const struct fault *f, const struct fault_picture *at, uint8_t *p)
{
    static uint8_t was[PICTURE_PIXELS];
    const int by = (int)fmod(round((at->frames_since + 1) * f->size), FLIGHT_HEIGHT);
    memcpy(was, p, sizeof was);
    for (int y = 0; y < FLIGHT_HEIGHT; y++)
        memcpy(p + (y + by) % FLIGHT_HEIGHT * FLIGHT_WIDTH, was + y * FLIGHT_WIDTH, FLIGHT_WIDTH);
}

/** Odd rows are those of the picture before. */
static void picture_interlace(const struct fault *f, const struct fault_picture *at, uint8_t *p)
{
    (void)f;
    for (int y = 1; y < FLIGHT_HEIGHT; y += 2)
        memcpy(p + y * FLIGHT_WIDTH, at->before + y * FLIGHT_WIDTH, FLIGHT_WIDTH);
}

/** Mean of a line of `count` pixels `step` apart over +- radius, the outermost pixels in part. */
static void picture_mean(uint8_t *p, int count, int step, double radius)
{
    static double sum[FLIGHT_WIDTH + FLIGHT_HEIGHT + 1];
    sum[0] = 0;
    for (int i = 0; i < count; i++) sum[i + 1] = sum[i] + p[i * step];
    for (int i = 0; i < count; i++) {
        const double from = fmax(0, i - radius), to = fmin(count, i + 1 + radius);
        const int a = (int)from, b = (int)fmin(to, count - 1);
        const double left = sum[a] + (from - a) * (sum[a + 1] - sum[a]),
                     right = sum[b] + (to - b) * (sum[b + 1] - sum[b]);
        p[i * step] = grey_of((right - left) / (to - from));
    }
}

static void picture_blur(const struct fault *f, const struct fault_picture *at, uint8_t *p)
{
    (void)at;
    for (int y = 0; y < FLIGHT_HEIGHT; y++) picture_mean(p + y * FLIGHT_WIDTH, FLIGHT_WIDTH, 1, f->size);
    for (int x = 0; x < FLIGHT_WIDTH; x++) picture_mean(p + x, FLIGHT_HEIGHT, FLIGHT_WIDTH, f->size);
}

/** Brighter or darker by a factor. */
static void picture_gain(const struct fault *f, const struct fault_picture *at, uint8_t *p)
{
    const double gain = f->sign > 0 ? f->size : 1 / f->size;
    (void)at;
    for (int i = 0; i < PICTURE_PIXELS; i++) p[i] = grey_of(gain * p[i]);
}

static void picture_noise(const struct fault *f, const struct fault_picture *at, uint8_t *p)
{
    world_reseed(f->seed, PART_FAULT_NOISE + 2 * (uint64_t)at->frame + (uint64_t)at->camera);
    for (int i = 0; i < PICTURE_PIXELS; i++) p[i] = grey_of(p[i] + f->size * normal());
}

/** So many rows [%] stay as before the fault. */
static void picture_freeze_part(const struct fault *f, const struct fault_picture *at, uint8_t *p)
{
    const int rows = (int)ceil(0.01 * f->size * FLIGHT_HEIGHT);
    const int from = (int)(f->side / (1 - f->share) * (FLIGHT_HEIGHT - rows));
    memcpy(p + from * FLIGHT_WIDTH, at->held + from * FLIGHT_WIDTH, (size_t)rows * FLIGHT_WIDTH);
}

/** Ray of a pixel in the world, 1 along the optical axis. */
static void picture_ray(const struct fault_picture *at, int i, double ray[3])
{
    const double x[3] = {(i % FLIGHT_WIDTH - at->lens.cx) / at->lens.f, (i / FLIGHT_WIDTH - at->lens.cy) / at->lens.f,
                         1};
    rotate(at->R, x, ray);
}

/** All that part of the picture shows has a texture that repeats every `size` metres in two directions. */
static void picture_repeat(const struct fault *f, const struct fault_picture *at, uint8_t *p)
{
    const double turn = 6.283185307179586 / f->size;
    for (int i = 0; i < PICTURE_PIXELS; i++) {
        double x[3];
        if (!(at->depth_m[i] > 0) || !view_covers(f->side, f->share, i % FLIGHT_WIDTH)) continue;
        picture_ray(at, i, x);
        for (int k = 0; k < 3; k++) x[k] = at->c[k] + at->depth_m[i] * x[k];
        const double a = 0.8 * x[0] + 0.36 * x[1] + 0.48 * x[2], b = -0.6 * x[0] + 0.48 * x[1] + 0.64 * x[2];
        p[i] = grey_of(128 + 100 * sin(turn * a) * sin(turn * b));
    }
}

/** Random texture of a plane: squares of side 1, linear in between, 40..215. */
static double picture_texture(uint64_t key, double x, double y)
{
    const double fx = floor(x), fy = floor(y), u = x - fx, v = y - fy;
    double corner[4];
    for (int i = 0; i < 4; i++) {
        const int64_t cx = (int64_t)fx + i % 2, cy = (int64_t)fy + i / 2;
        corner[i] = (double)(world_mix(key + (uint64_t)cx * 0x9e3779b97f4a7c15ull + (uint64_t)cy) >> 40) * 0x1p-24;
    }
    const double above = corner[0] + u * (corner[1] - corner[0]), below = corner[2] + u * (corner[3] - corner[2]);
    return 40 + 175 * (above + v * (below - above));
}

/** A board that covers part of the picture of camera 0 at the beginning, at 0.8 of the nearest range, and moves. */
static void picture_object(const struct fault *f, const struct fault_picture *at, uint8_t *p)
{
    const double range = 0.8 * at->near_m, texel = 7 * range / at->lens.f;
    const double left = range * (f->side * FLIGHT_WIDTH - at->lens.cx) / at->lens.f;
    const double width = range * f->share * FLIGHT_WIDTH / at->lens.f, half = range * FLIGHT_HEIGHT / at->lens.f;
    double d[3], from[3];
    for (int k = 0; k < 3; k++)
        d[k] = at->c[k] - at->c_begin[k] - f->size * at->since_s * f->direction[k]; /* camera beside the board */
    for (int k = 0; k < 3; k++) from[k] = at->R_begin[k] * d[0] + at->R_begin[3 + k] * d[1] + at->R_begin[6 + k] * d[2];
    for (int i = 0; i < PICTURE_PIXELS; i++) {
        double ray[3], x[3];
        picture_ray(at, i, ray);
        for (int k = 0; k < 3; k++)
            x[k] = at->R_begin[k] * ray[0] + at->R_begin[3 + k] * ray[1] + at->R_begin[6 + k] * ray[2];
        const double s = (range - from[2]) / x[2], u = from[0] + s * x[0], v = from[1] + s * x[1];
        if (s > 0.05 && u >= left && u < left + width && fabs(v) < half)
            p[i] = grey_of(picture_texture(f->seed, u / texel, v / texel));
    }
}

#endif
