/* SPDX-License-Identifier: MIT */
/* Disparities of a pair of images as a shared library, over the public interface only, for tests/depth/dense.py. */
#include "tests/fixture/pair_bridge.h"

int bridge_open(int width_px, int height_px, double focal_px, double baseline_m, const char *settings);
int bridge_disparity(uint16_t *px16, uint8_t *confidence);
float bridge_time(const char *stage);
int bridge_stixels(void);

/**
 * Initialises the front end on the host port for pinholes side by side with the principal point in the middle: `dense`
 * alone, standard tuning but for `settings`. Shuts down the previous one. Returns 0, or a negative status, whose reason
 * bridge_detail() gives.
 */
int bridge_open(int width_px, int height_px, double focal_px, double baseline_m, const char *settings)
{
    vfront_tuning_t tuning = dense_tuning();
    set_pinholes(width_px, height_px, focal_px, baseline_m, 0.5 * (width_px - 1), 0.5 * (height_px - 1));
    return open_front_end(&tuning, settings);
}

/** Disparities of the last pair, [height][width] each. Returns the number of pixels with a disparity. */
int bridge_disparity(uint16_t *px16, uint8_t *confidence)
{
    const vfront_disparity_t *d = &result->disparity;
    for (int32_t y = 0; y < d->height_px; y++)
        memcpy(confidence + y * d->width_px, d->confidence + y * d->pitch, (size_t)d->width_px);
    return copy_disparity(px16);
}

/** Time of a stage for the last pair [us]. */
float bridge_time(const char *stage) { return stage_time_us(stage); }

/** Number of stixels of the last pair; 0 without a road. */
int bridge_stixels(void)
{
    int count = 0;
    for (uint32_t i = 0; i < result->columns_count; i++) count += result->stixels_count[i];
    return count;
}
