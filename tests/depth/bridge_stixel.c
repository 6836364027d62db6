/* SPDX-License-Identifier: MIT */
/* Stixels of a pair of pictures as a shared library, over the public interface alone, for tests/depth/stixel.py. */
#include "tests/fixture/settings.h"

static vfront_t vf;
static int32_t width, height;
static uint64_t frames;
static const vfront_result_t *result;

int bridge_open(int width_px, int height_px, const double camera[4], const double road[2], int preset,
                const char *settings);
int bridge_step(const uint8_t *left, const uint8_t *right);
int bridge_disparity(uint16_t *px16);
int bridge_stixels(float *stixel);
int bridge_obstacles(uint16_t *cm);
void bridge_road(float *road);
float bridge_time(void);
void bridge_close(void);

/**
 * Initialises the front end on the host port for rectified pinholes side by side, disparities and stixels alone,
 * tuning of the preset (0 car, 1 rover, 2 drone) but for `settings`. camera: focal length [px], baseline [m], principal
 * point [px]; road: height [m] and pitch [rad] of the camera, height 0: it is looked for. Returns 0, or a negative
 * status, whose reason bridge_detail() gives.
 */
int bridge_open(int width_px, int height_px, const double camera[4], const double road[2], int preset,
                const char *settings)
{
    vfront_rig_t rig = {.cameras = 2, .road_height_m = road[0], .road_pitch_rad = road[1]};
    vfront_tuning_t tuning;
    bridge_close();
    frames = 0;
    width = width_px;
    height = height_px;
    vfront_tuning_default(&tuning);
    tuning.track_target = tuning.select_points = tuning.describe = 0;
    tuning.dense = tuning.stixel = 1;
#define SET(name, car, rover, drone) tuning.name = preset == 0 ? car : preset == 1 ? rover : drone;
    VFRONT_STIXEL_PRESETS(SET)
#undef SET
    tuning.cull_width_px = tuning.cull_height_px = 16;
    for (int k = 0; k < 2; k++) {
        vfront_camera_t *c = &rig.camera[k];
        c->width_px = width;
        c->height_px = height;
        c->fx_px = c->fy_px = camera[0];
        c->cx_px = camera[2];
        c->cy_px = camera[3];
    }
    rig.camera[1].t_cam_imu_m[0] = -camera[1];
    vfront_status_t status = tune(&tuning, settings);
    if (status) return status;
    status = vfront_init(&vf, &rig, &tuning, VFRONT_PORT_HOST);
    if (status) set_detail(vfront_detail(&vf));
    return status;
}

/** Processes a pair of grey pictures, [height][width]. Returns 0 or a negative status. */
int bridge_step(const uint8_t *left, const uint8_t *right)
{
    vfront_frame_t frame = {.t_ns = 1 + 50000000u * frames++};
    for (int k = 0; k < 2; k++) {
        frame.picture[k].data = k ? right : left;
        frame.picture[k].width_px = width;
        frame.picture[k].height_px = height;
        frame.picture[k].pitch_bytes = (uint32_t)width;
    }
    const vfront_status_t status = vfront_step(&vf, &frame, &result);
    if (status) set_detail(vfront_detail(&vf));
    return status;
}

/** Disparities of the last pair, [height][width]. Returns the number of pixels with a disparity. */
int bridge_disparity(uint16_t *px16)
{
    for (int32_t y = 0; y < height; y++)
        memcpy(px16 + y * width, result->disparity.px16 + y * result->disparity.pitch, sizeof *px16 * (size_t)width);
    return (int)result->disparity.valid;
}

/** Stixels of the last pair, 6 numbers each: first pixel of the column, lowest row, highest row, class, disparity [px],
 *  distance [m]. Returns how many. */
int bridge_stixels(float *stixel)
{
    int count = 0;
    for (uint32_t i = 0; i < result->columns_count; i++)
        for (uint32_t k = 0; k < result->stixels_count[i]; k++) {
            const vfront_stixel_t *t = &result->stixels[i][k];
            const float six[6] = {(float)(i * result->columns_width_px),
                                  t->base_px,
                                  t->top_px,
                                  (float)t->type,
                                  t->disparity_px,
                                  t->distance_m};
            memcpy(stixel + 6 * count++, six, sizeof six);
        }
    return count;
}

/** Distances of the obstacles of the last pair, as in a result. Returns the number of directions. */
int bridge_obstacles(uint16_t *cm)
{
    memcpy(cm, result->obstacles_cm, sizeof result->obstacles_cm);
    return VFRONT_OBSTACLE_BINS;
}

/** Road of the last pair: state, horizon [px], slope. */
void bridge_road(float *road)
{
    road[0] = (float)result->road.state;
    road[1] = result->road.horizon_px;
    road[2] = result->road.slope;
}

/** Time of `stixel` for the last pair [us]. */
float bridge_time(void)
{
    size_t index = 0;
    while (strcmp(vfront_stage_name(index), "stixel")) index++;
    return result->timing.stage_us[index];
}

/** Shuts the front end down. Without effect when there is none. */
void bridge_close(void) { vfront_shutdown(&vf); }
