/* SPDX-License-Identifier: MIT */
/* Disparities of a pair of pictures as a shared library, over the public interface alone, for tests/depth/dense.py. */
#include "tests/fixture/settings.h"

static vfront_t vf;
static int32_t width, height;
static uint64_t frames;
static const vfront_result_t *result;

int bridge_open(int width_px, int height_px, double focal_px, double baseline_m, const char *settings);
int bridge_step(const uint8_t *left, const uint8_t *right);
int bridge_disparity(uint16_t *px16, uint8_t *confidence);
float bridge_time(const char *stage);
int bridge_stixels(void);
void bridge_close(void);

/**
 * Initialises the front end on the host port for pinholes side by side with the principal point in the middle: `dense`
 * alone, standard tuning but for `settings`. Shuts down the previous one. Returns 0, or a negative status, whose reason
 * bridge_detail() gives.
 */
int bridge_open(int width_px, int height_px, double focal_px, double baseline_m, const char *settings)
{
    vfront_rig_t rig = {.cameras = 2};
    vfront_tuning_t tuning;
    bridge_close();
    frames = 0;
    width = width_px;
    height = height_px;
    vfront_tuning_default(&tuning);
    tuning.track_target = tuning.select_points = tuning.describe = 0;
    tuning.dense = 1;
    tuning.cull_width_px = tuning.cull_height_px = 16;
    for (int k = 0; k < 2; k++) {
        vfront_camera_t *c = &rig.camera[k];
        c->width_px = width;
        c->height_px = height;
        c->fx_px = c->fy_px = focal_px;
        c->cx_px = 0.5 * (width - 1);
        c->cy_px = 0.5 * (height - 1);
    }
    rig.camera[1].t_cam_imu_m[0] = -baseline_m;
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

/** Disparities of the last pair, [height][width] each. Returns the number of pixels with a disparity. */
int bridge_disparity(uint16_t *px16, uint8_t *confidence)
{
    for (int32_t y = 0; y < height; y++) {
        memcpy(px16 + y * width, result->disparity.px16 + y * result->disparity.pitch, sizeof *px16 * (size_t)width);
        memcpy(confidence + y * width, result->disparity.confidence + y * result->disparity.pitch, (size_t)width);
    }
    return (int)result->disparity.valid;
}

/** Time of a stage for the last pair [us]. */
float bridge_time(const char *stage)
{
    size_t index = 0;
    while (strcmp(vfront_stage_name(index), stage)) index++;
    return result->timing.stage_us[index];
}

/** Number of stixels of the last pair; 0 without a road. */
int bridge_stixels(void)
{
    int count = 0;
    for (uint32_t i = 0; i < result->columns_count; i++) count += result->stixels_count[i];
    return count;
}

/** Shuts the front end down. Without effect when there is none. */
void bridge_close(void) { vfront_shutdown(&vf); }
