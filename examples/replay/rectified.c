/* SPDX-License-Identifier: MIT */
#include "rectified.h"

#include <stdlib.h>
#include <string.h>

/** Remap entry: position in the original picture [px]; below 0: outside. */
struct remap_entry {
    float x_px, y_px;
};

struct remap {
    int32_t width, height;           /* of the rectified picture */
    struct remap_entry *remap_entry; /* [height][width] */
    uint8_t *grey;                   /* [height][width] */
};

struct rectified {
    int32_t cameras;
    struct remap remap[VFRONT_CAMERAS];
    vfront_frame_t frame;
};

/* ---- remap table ------------------------------------------------------------------------------------------------- */

/** R_cam_imu; all 0 means identity. */
static void rotation_of(const vfront_camera_t *camera, double R[9])
{
    static const double none[9], identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    memcpy(R, memcmp(camera->R_cam_imu, none, sizeof none) ? camera->R_cam_imu : identity, sizeof none);
}

/** Rotation from axes of `from` to axes of `to`. */
static void rotation_between(double R[9], const vfront_camera_t *from, const vfront_camera_t *to)
{
    double a[9], b[9];
    rotation_of(from, a);
    rotation_of(to, b);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            R[3 * r + c] = b[3 * r] * a[3 * c] + b[3 * r + 1] * a[3 * c + 1] + b[3 * r + 2] * a[3 * c + 2];
}

static double clamp(double v, double max) { return v < 0.0 ? 0.0 : v > max ? max : v; }

/** Remap entry of pixel x, y of the pinhole. The original picture ends half a pixel beyond the outermost pixel
 *  centres. Without calibration the entry is the pixel itself. */
static struct remap_entry find_remap_entry(const vfront_camera_t *camera, const vfront_camera_t *pinhole,
                                           const double R[9], int32_t x, int32_t y)
{
    const struct remap_entry outside = {-1.0f, -1.0f};
    const double v[3] = {(x - pinhole->cx_px) / pinhole->fx_px, (y - pinhole->cy_px) / pinhole->fy_px, 1.0};
    double ray[3], px[2] = {x, y};
    for (int r = 0; r < 3; r++) ray[r] = R[3 * r] * v[0] + R[3 * r + 1] * v[1] + R[3 * r + 2] * v[2];
    if (camera->fx_px != 0.0 && !vfront_lens_project(camera, ray, px)) return outside;
    if (px[0] < -0.5 || px[1] < -0.5 || px[0] > camera->width_px - 0.5 || px[1] > camera->height_px - 0.5)
        return outside;
    return (struct remap_entry){(float)clamp(px[0], camera->width_px - 1), (float)clamp(px[1], camera->height_px - 1)};
}

static int open_remap(struct remap *remap, const vfront_camera_t *camera, const vfront_camera_t *pinhole)
{
    const size_t pixels = (size_t)pinhole->width_px * (size_t)pinhole->height_px;
    double R[9];
    remap->width = pinhole->width_px;
    remap->height = pinhole->height_px;
    remap->remap_entry = malloc(pixels * sizeof *remap->remap_entry);
    remap->grey = malloc(pixels);
    if (!remap->remap_entry || !remap->grey) return 0;
    rotation_between(R, pinhole, camera);
    struct remap_entry *remap_entry = remap->remap_entry;
    for (int32_t y = 0; y < remap->height; y++)
        for (int32_t x = 0; x < remap->width; x++) *remap_entry++ = find_remap_entry(camera, pinhole, R, x, y);
    return 1;
}

rectified_t *rectified_open(const vfront_rig_t *rig, const vfront_camera_t *seen)
{
    struct rectified *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->cameras = rig->cameras;
    for (int32_t i = 0; i < rig->cameras; i++) {
        if (open_remap(&r->remap[i], &rig->camera[i], &seen[i])) continue;
        rectified_close(r);
        return NULL;
    }
    return r;
}

void rectified_close(rectified_t *r)
{
    for (int32_t i = 0; r && i < r->cameras; i++) {
        free(r->remap[i].remap_entry);
        free(r->remap[i].grey);
    }
    free(r);
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

static float grey_at(const vfront_picture_t *p, int32_t x, int32_t y)
{
    const uint8_t *row = (const uint8_t *)p->data + (size_t)y * p->pitch_bytes;
    return (float)(p->format == VFRONT_GREY16 ? ((const uint16_t *)(const void *)row)[x] >> 8 : row[x]);
}

/** Bilinear sample. */
static uint8_t sample(const vfront_picture_t *p, struct remap_entry at)
{
    const int32_t x = (int32_t)at.x_px, y = (int32_t)at.y_px;
    const int32_t right = x + (x + 1 < p->width_px), below = y + (y + 1 < p->height_px);
    const float u = at.x_px - (float)x, v = at.y_px - (float)y;
    const float upper = grey_at(p, x, y) * (1.0f - u) + grey_at(p, right, y) * u;
    const float lower = grey_at(p, x, below) * (1.0f - u) + grey_at(p, right, below) * u;
    return (uint8_t)(upper * (1.0f - v) + lower * v + 0.5f);
}

static void apply_remap(const struct remap *remap, const vfront_picture_t *from, vfront_picture_t *to)
{
    const size_t pixels = (size_t)remap->width * (size_t)remap->height;
    for (size_t i = 0; i < pixels; i++)
        remap->grey[i] = remap->remap_entry[i].x_px < 0.0f ? 0 : sample(from, remap->remap_entry[i]);
    memset(to, 0, sizeof *to);
    to->data = remap->grey;
    to->width_px = remap->width;
    to->height_px = remap->height;
    to->pitch_bytes = (uint32_t)remap->width;
}

const vfront_frame_t *rectified_frame(rectified_t *r, const vfront_frame_t *frame)
{
    r->frame = *frame;
    for (int32_t i = 0; i < r->cameras; i++) apply_remap(&r->remap[i], &frame->picture[i], &r->frame.picture[i]);
    return &r->frame;
}
