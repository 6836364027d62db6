/* SPDX-License-Identifier: MIT */
#include "scene.h"

#include <stdlib.h>
#include <string.h>

#include "examples/synthetic/renderer.h"

#define LENGTH_MAX 24                               /* positions along x around which a hall is built */
static const double lever_m[3] = {0.07, 0.0, 0.02}; /* camera 0, in body axes */

static void build(scene_t *s, double length_m)
{
    static double positions_m[LENGTH_MAX * 5 * 3][3];
    uint32_t count = 0;
    const int deep = length_m < LENGTH_MAX - 2 ? (int)length_m + 2 : LENGTH_MAX;
    for (int i = 0; i < deep; i++)
        for (int k = 0; k < 5; k++)
            for (int h = 0; h < 3; h++) {
                const double at[3] = {i - 1.0, k - 1.0, 0.5 + 0.5 * h};
                memcpy(positions_m[count++], at, sizeof at);
            }
    synthetic_hall(s->hall, (const double(*)[3])positions_m, count);
}

static void mount(scene_t *s)
{
    synthetic_rig(s->hall, &s->rig);
    airframe_imu_noise(&s->rig.imu);
    for (int32_t i = 0; i < s->rig.cameras; i++) {
        vfront_camera_t *c = &s->rig.camera[i];
        for (int k = 0; k < 3; k++) c->t_cam_imu_m[k] -= dot(&c->R_cam_imu[3 * k], lever_m);
    }
}

const char *scene_open(scene_t *s, int32_t width_px, int32_t height_px, double length_m)
{
    s->width_px = width_px;
    s->height_px = height_px;
    s->hall = synthetic_open(width_px, height_px);
    if (!s->hall) return "no memory for a hall, or pictures of such a size";
    build(s, length_m);
    mount(s);
    const size_t pixels = (size_t)width_px * (size_t)height_px;
    s->light = calloc((size_t)s->rig.cameras * pixels, sizeof *s->light);
    if (!s->light) return "no memory for pictures";
    for (int32_t i = 0; i < s->rig.cameras; i++)
        if (!(s->pixels[i] = malloc(pixels))) return "no memory for pictures";
    return NULL;
}

void scene_close(scene_t *s)
{
    synthetic_close(s->hall);
    free(s->light);
    for (int i = 0; i < VFRONT_CAMERAS; i++) free(s->pixels[i]);
}

void scene_add_wall(scene_t *s, double x_m)
{
    const double origin[3] = {x_m, 4.0, 3.0}, across[3] = {0, -7.0, 0}, down[3] = {0, 0, -3.0};
    synthetic_board(s->hall, origin, across, down);
}

/** Pose of camera 0. */
static void camera_pose(const airframe_t *a, double R[9], double t[3])
{
    double R_cam_imu[9], R_imu_cam[9];
    synthetic_camera_axes(R_cam_imu);
    for (int i = 0; i < 9; i++) R_imu_cam[i] = R_cam_imu[i % 3 * 3 + i / 3];
    multiply(R, a->R_world_body, R_imu_cam);
    for (int k = 0; k < 3; k++) t[k] = a->p_m[k] + dot(&a->R_world_body[3 * k], lever_m);
}

static void set_pictures(scene_t *s, vfront_frame_t *f)
{
    memset(f, 0, sizeof *f);
    for (int32_t i = 0; i < s->rig.cameras; i++) {
        vfront_picture_t *p = &f->picture[i];
        p->width_px = s->width_px;
        p->height_px = s->height_px;
        p->pitch_bytes = (uint32_t)p->width_px;
        p->data = s->pixels[i];
    }
}

void scene_draw(scene_t *s, uint32_t index, const airframe_t *a, uint64_t end_ns, vfront_frame_t *f)
{
    double R[9], t[3];
    camera_pose(a, R, t);
    set_pictures(s, f);
    f->t_ns = end_ns - SCENE_EXPOSURE_NS / 2;
    f->exposure_ns = SCENE_EXPOSURE_NS;
    for (int32_t i = 0; i < s->rig.cameras; i++)
        synthetic_render_from(s->hall, index, R, t, i, s->pixels[i], (size_t)s->width_px);
}

void scene_gather(scene_t *s, const airframe_t *a)
{
    const size_t pixels = (size_t)s->width_px * (size_t)s->height_px;
    double R[9], t[3];
    if (!s->moments) memset(s->light, 0, (size_t)s->rig.cameras * pixels * sizeof *s->light);
    s->moments++;
    camera_pose(a, R, t);
    for (int32_t i = 0; i < s->rig.cameras; i++) synthetic_gather(s->hall, R, t, i, s->light + (size_t)i * pixels);
}

void scene_expose(scene_t *s, uint32_t index, uint64_t begin_ns, uint32_t exposure_ns, vfront_frame_t *f)
{
    const size_t pixels = (size_t)s->width_px * (size_t)s->height_px;
    set_pictures(s, f);
    f->t_ns = begin_ns;
    f->exposure_ns = exposure_ns;
    for (int32_t i = 0; i < s->rig.cameras; i++) {
        synthetic_sensor_t sensor = {.read_grey = 1.5, .electrons = 10000.0, .key = 2u * (uint64_t)index + (uint64_t)i};
        synthetic_photometric(index, i, &sensor.gain, &sensor.offset_grey);
        synthetic_expose(s->hall, s->light + (size_t)i * pixels, s->moments, &sensor, s->pixels[i],
                         (size_t)s->width_px);
    }
    s->moments = 0;
}
