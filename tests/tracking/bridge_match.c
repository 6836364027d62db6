/* SPDX-License-Identifier: MIT */
/* Key points of a sequence and their matches with the previous frame as a shared library, over the public interface
 * alone, for tests/tracking/matching.py. */
#include <stdlib.h>
#include <string.h>

#include "vfront.h"

static vfront_t vf;
static int32_t width, height;
static uint64_t t_ns;

int bridge_open(int wide, int high, const double *K, const char *name[], const int *value, int values);
int bridge_step(const uint8_t *grey, const double *R_cur_prev, float *place, uint8_t *bits, int32_t *match,
                float *refined, int *matches);
const char *bridge_detail(void);

/** Message on why the last call failed. */
const char *bridge_detail(void) { return vfront_detail(&vf); }

/** Starts again. K: row-major 3x3 of a pinhole. Returns a vfront_status_t. */
int bridge_open(int wide, int high, const double *K, const char *name[], const int *value, int values)
{
    vfront_rig_t rig = {.cameras = 1};
    vfront_tuning_t tuning;
    vfront_status_t status = VFRONT_OK;
    rig.camera[0] = (vfront_camera_t){
        .width_px = wide, .height_px = high, .fx_px = K[0], .fy_px = K[4], .cx_px = K[2], .cy_px = K[5]};
    width = wide;
    height = high;
    t_ns = 0;
    vfront_shutdown(&vf);
    vfront_tuning_default(&tuning);
    tuning.track_target = 0;
    for (int i = 0; i < values && !status; i++) status = vfront_tuning_set(&tuning, name[i], value[i]);
    return status ? status : vfront_init(&vf, &rig, &tuning, VFRONT_PORT_HOST);
}

/**
 * The next frame. R_cur_prev may be NULL.
 *
 * @param[out] place    [VFRONT_KEYPOINTS][2]: x, y of every key point [px].
 * @param[out] bits     [VFRONT_KEYPOINTS][32]: their descriptors, in OpenCV's order of bits.
 * @param[out] match    [VFRONT_KEYPOINTS][4]: keypoint, before, id, age of each vfront_match_t.
 * @param[out] settled  [VFRONT_KEYPOINTS][4]: x, y, x_before, y_before of each [px].
 * @param[out] matches  How many.
 * @return     How many key points, or a negative vfront_status_t.
 */
int bridge_step(const uint8_t *grey, const double *R_cur_prev, float *place, uint8_t *bits, int32_t *match,
                float *refined, int *matches)
{
    vfront_frame_t frame = {.t_ns = t_ns += 50000000u, .R_cur_prev = R_cur_prev};
    const vfront_result_t *r;
    frame.picture[0] = (vfront_picture_t){
        .data = grey, .width_px = width, .height_px = height, .pitch_bytes = (uint32_t)width};
    const vfront_status_t status = vfront_step(&vf, &frame, &r);
    if (status) return status;
    for (uint32_t i = 0; i < r->keypoints_count[0]; i++) {
        place[2 * i] = r->keypoints[0][i].x_px;
        place[2 * i + 1] = r->keypoints[0][i].y_px;
        for (int k = 0; k < 32; k++)
            bits[32 * i + (uint32_t)k] = (uint8_t)(r->descriptors[0][i].word[k / 4] >> 8 * (k % 4));
    }
    for (uint32_t i = 0; i < r->matches_count; i++) {
        const vfront_match_t *m = &r->matches[i];
        const int32_t row[4] = {m->keypoint, m->before, (int32_t)m->id, (int32_t)m->age};
        const float at[4] = {m->x_px, m->y_px, m->x_before_px, m->y_before_px};
        memcpy(match + 4 * i, row, sizeof row);
        memcpy(refined + 4 * i, at, sizeof at);
    }
    *matches = (int)r->matches_count;
    return (int)r->keypoints_count[0];
}
