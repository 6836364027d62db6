/* SPDX-License-Identifier: MIT */
#include "scene.h"

#include <string.h>

uint32_t scene_hash(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t h = a * 0x9e3779b1u ^ (b + 0x7f4a7c15u) * 0x85ebca6bu ^ (c + 0x165667b1u) * 0xc2b2ae35u;
    h ^= h >> 16;
    h *= 0x7feb352du;
    h ^= h >> 15;
    h *= 0x846ca68bu;
    return h ^ h >> 16;
}

/** Noise on a lattice of `pitch_q4`, linear in between: 0..255. */
static int32_t blob(uint32_t seed, int32_t x_q4, int32_t y_q4, int32_t pitch_q4)
{
    const int32_t i = x_q4 / pitch_q4, j = y_q4 / pitch_q4, u = x_q4 % pitch_q4, v = y_q4 % pitch_q4;
    int32_t corner[4];
    for (int32_t k = 0; k < 4; k++)
        corner[k] = (int32_t)(scene_hash(seed, (uint32_t)(i + (k & 1)), (uint32_t)(j + (k >> 1))) & 255);
    const int32_t upper = corner[0] * (pitch_q4 - u) + corner[1] * u, lower = corner[2] * (pitch_q4 - u) + corner[3] * u;
    return (upper / pitch_q4 * (pitch_q4 - v) + lower / pitch_q4 * v) / pitch_q4;
}

/** Draws a frame as a camera sees it that looks so far to the right. Its noise is its own. */
static void draw(const struct scene *scene, int32_t number, int32_t right_q4, uint8_t *grey, uint32_t pitch)
{
    const int32_t origin = 1 << 20; /* keeps world coordinates positive */
    for (int32_t y = 0; y < scene->height_px; y++) {
        for (int32_t x = 0; x < scene->width_px; x++) {
            const int32_t X = origin + 16 * x - number * scene->step_x_q4 + right_q4, Y = origin + 16 * y - number * scene->step_y_q4;
            const uint32_t noise = scene_hash(scene->seed + 7 + (uint32_t)(number + 1000 * right_q4), (uint32_t)x, (uint32_t)y) & 3;
            const int32_t mean = (5 * blob(scene->seed, X, Y, 16 * 7) + 3 * blob(scene->seed + 1, X, Y, 16 * 31)) / 8;
            grey[(size_t)y * pitch + (size_t)x] = (uint8_t)(mean * 7 / 8 + 8 + (int32_t)noise);
        }
    }
}

void scene_draw(const struct scene *scene, int32_t number, uint8_t *grey, uint32_t pitch) { draw(scene, number, 0, grey, pitch); }

void scene_draw_right(const struct scene *scene, int32_t number, int32_t disparity_q4, uint8_t *grey, uint32_t pitch)
{
    draw(scene, number, disparity_q4, grey, pitch);
}

void scene_fill(uint8_t *grey, int32_t width, int32_t height, enum scene_fill fill, int32_t side_px)
{
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++) {
            const int32_t i = x / side_px, j = y / side_px;
            const int bright = fill == SCENE_STRIPES_Y ? i % 2
                               : fill == SCENE_STRIPES_X ? j % 2
                               : fill == SCENE_TILES     ? i % 2 && j % 2
                                                         : (i + j) % 2;
            const uint32_t noise = scene_hash((uint32_t)side_px, (uint32_t)x, (uint32_t)y) & 255;
            grey[y * width + x] = (uint8_t)(fill == SCENE_NOISE ? noise : bright ? 220 : 30);
        }
}

uint32_t scene_pixel_bytes(vfront_format_t format) { return format == VFRONT_GREY8 || format == VFRONT_NV12 ? 1 : 2; }

void scene_pack(void *to, uint32_t to_pitch, const uint8_t *grey, uint32_t grey_pitch, int32_t width, int32_t height,
                vfront_format_t format)
{
    const uint32_t bytes = scene_pixel_bytes(format);
    const int bits = format == VFRONT_GREY10 ? 10 : format == VFRONT_GREY12 ? 12 : 16;
    for (int32_t y = 0; y < height; y++) {
        uint8_t *row = (uint8_t *)to + (size_t)y * to_pitch;
        for (uint32_t x = (uint32_t)width * bytes; x < to_pitch; x++) row[x] = (uint8_t)scene_hash(3, x, (uint32_t)y);
        for (int32_t x = 0; x < width; x++) {
            const uint8_t g = grey[(size_t)y * grey_pitch + (size_t)x];
            const uint32_t dirt = scene_hash(5, (uint32_t)x, (uint32_t)y);
            const uint16_t wide = (uint16_t)((uint32_t)g << (bits - 8) | (dirt & ((1u << (bits - 8)) - 1)));
            if (bytes == 1) {
                row[x] = g;
            } else if (format == VFRONT_YUYV) {
                row[2 * x] = g;
                row[2 * x + 1] = (uint8_t)dirt;
            } else {
                memcpy(row + 2 * x, &wide, 2);
            }
        }
    }
}

vfront_picture_t scene_picture(const struct scene *scene, const uint8_t *grey)
{
    const vfront_picture_t p = {.data = grey,
                                .width_px = scene->width_px,
                                .height_px = scene->height_px,
                                .pitch_bytes = (uint32_t)scene->width_px};
    return p;
}

vfront_rig_t scene_rig(const struct scene *scene, int32_t cameras)
{
    vfront_rig_t rig;
    memset(&rig, 0, sizeof rig);
    rig.cameras = cameras;
    for (int32_t i = 0; i < cameras; i++) {
        rig.camera[i].width_px = scene->width_px;
        rig.camera[i].height_px = scene->height_px;
        rig.camera[i].fx_px = rig.camera[i].fy_px = 10.0 * scene->width_px;
        rig.camera[i].cx_px = 0.5 * scene->width_px;
        rig.camera[i].cy_px = 0.5 * scene->height_px;
    }
    return rig;
}

vfront_rig_t scene_pair(const struct scene *left, const struct scene *right)
{
    static const double bent[5] = {-0.04, 0.01, 0.001, -0.0005, 0.002};
    vfront_rig_t rig = scene_rig(left, VFRONT_CAMERAS);
    for (int32_t i = 0; i < VFRONT_CAMERAS; i++) {
        rig.camera[i].fx_px = rig.camera[i].fy_px = left->width_px;
        memcpy(rig.camera[i].distortion, bent, sizeof bent);
    }
    rig.camera[VFRONT_CAMERAS - 1].width_px = right->width_px;
    rig.camera[VFRONT_CAMERAS - 1].height_px = right->height_px;
    rig.camera[VFRONT_CAMERAS - 1].t_cam_imu_m[0] = -SCENE_BASELINE_M;
    return rig;
}
