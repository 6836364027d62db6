/* SPDX-License-Identifier: MIT */
/* Key points and descriptors of one image as a shared library, over the public interface alone, for
 * tests/features/features.py and tests/features/shapes.py. It is built with a config that holds a key point for nearly
 * every corner. */
#include "tests/fixture/settings.h"

static vfront_t vf;

int bridge_features(const uint8_t *grey, int width, int height, const char *settings, int most, float *out,
                    uint8_t *descriptors);

static vfront_status_t step(const uint8_t *grey, int width, int height, const char *settings,
                            const vfront_result_t **result)
{
    vfront_rig_t rig = {.cameras = 1, .camera = {{.width_px = width, .height_px = height}}};
    vfront_frame_t frame = {.t_ns = 1};
    vfront_tuning_t tuning;
    vfront_tuning_default(&tuning);
    tuning.track_target = 0;
    frame.picture[0].data = grey;
    frame.picture[0].width_px = width;
    frame.picture[0].height_px = height;
    frame.picture[0].pitch_bytes = (uint32_t)width;
    vfront_status_t status = tune(&tuning, settings);
    if (status) return status;
    status = vfront_init(&vf, &rig, &tuning, VFRONT_PORT_HOST);
    if (!status) status = vfront_step(&vf, &frame, result);
    if (status) set_detail(vfront_detail(&vf));
    return status;
}

static float level_scale(int level)
{
    double scale = 1.0;
    while (level-- > 0) scale *= (double)VFRONT_SCALE_NUM / VFRONT_SCALE_DEN;
    return (float)scale;
}

static void copy(const vfront_result_t *r, int count, float *out, uint8_t *descriptors)
{
    for (int i = 0; i < count; i++) {
        const vfront_keypoint_t *k = &r->keypoints[0][i];
        const float row[6] = {k->x_px, k->y_px, k->angle_rad, (float)k->level, (float)k->score, level_scale(k->level)};
        memcpy(out + 6 * i, row, sizeof row);
    }
    memset(descriptors, 0, (size_t)count * 32);
#if VFRONT_DESCRIPTORS
    for (int i = 0; i < count && i < (int)r->descriptors_count[0]; i++)
        for (int k = 0; k < 32; k++)
            descriptors[32 * i + k] = (uint8_t)(r->descriptors[0][i].word[k / 4] >> 8 * (k % 4));
#endif
}

/**
 * Key points of a grey image, [height][width], standard tuning but for `settings`.
 *
 * @param[out] out          [most][6]: x, y [px], angle [rad], level, score, size of the level's pixels [px].
 * @param[out] descriptors  [most][32], in OpenCV's order of bits; zeros when they are not described.
 * @return     How many, or the negative status of what failed; bridge_detail() says why.
 */
int bridge_features(const uint8_t *grey, int width, int height, const char *settings, int most, float *out,
                    uint8_t *descriptors)
{
    const vfront_result_t *result = NULL;
    const vfront_status_t status = step(grey, width, height, settings, &result);
    int count = (int)status;
    if (!status) {
        count = (int)result->keypoints_count[0];
        count = count < most ? count : most;
        copy(result, count, out, descriptors);
    }
    vfront_shutdown(&vf);
    return count;
}
