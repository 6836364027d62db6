/* SPDX-License-Identifier: MIT */
/* Stixels of a pair of images as a shared library, over the public interface only, for tests/depth/stixel.py. */
#include "tests/fixture/pair_bridge.h"

int bridge_open(int width_px, int height_px, const double camera[4], const double road[2], int preset,
                const char *settings);
int bridge_disparity(uint16_t *px16);
int bridge_stixels(float *stixel);
int bridge_obstacles(uint16_t *cm);
void bridge_road(float *road);
float bridge_time(void);

/**
 * Initialises the front end on the host port for rectified pinholes side by side, disparities and stixels alone,
 * tuning of the preset (0 car, 1 rover, 2 drone) but for `settings`. camera: focal length [px], baseline [m], principal
 * point [px]; road: height [m] and pitch [rad] of the camera, height 0: it is looked for. Returns 0, or a negative
 * status, whose reason bridge_detail() gives.
 */
int bridge_open(int width_px, int height_px, const double camera[4], const double road[2], int preset,
                const char *settings)
{
    vfront_tuning_t tuning = dense_tuning();
    set_pinholes(width_px, height_px, camera[0], camera[1], camera[2], camera[3]);
    rig.road_height_m = road[0];
    rig.road_pitch_rad = road[1];
    tuning.stixel = 1;
    tuning.stixel_model = preset;
    return open_front_end(&tuning, settings);
}

/** Disparities of the last pair, [height][width]. Returns the number of pixels with a disparity. */
int bridge_disparity(uint16_t *px16) { return copy_disparity(px16); }

/** Stixels of the last pair, 6 numbers each: first pixel of the column, lowest row, highest row, class, disparity [px],
 *  distance [m]. Returns their number. */
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
float bridge_time(void) { return stage_time_us("stixel"); }
