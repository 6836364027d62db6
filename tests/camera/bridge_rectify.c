/* SPDX-License-Identifier: MIT */
/* Rectified images as a shared library for tests/camera/opencv_rectify.py: a front end on the host port, through the
 * public interface. Only the images, which are not part of a result, are copied from its arena. */
#include "core/context.h"

static vfront_t vf;

struct bridge_camera {
    double f[2], c[2], distortion[8], R[9], t[3];
    int32_t lens, valid[4];
};

const char *bridge_detail(void);
int bridge_rectify(const struct bridge_camera camera[2], int width, int height, const uint8_t *grey, uint8_t *out,
                   struct bridge_camera seen[2]);

/** Message on why the last call failed. */
const char *bridge_detail(void) { return vfront_detail(&vf); }

static void take(vfront_camera_t *c, const struct bridge_camera *from, int width, int height)
{
    c->width_px = width;
    c->height_px = height;
    c->fx_px = from->f[0];
    c->fy_px = from->f[1];
    c->cx_px = from->c[0];
    c->cy_px = from->c[1];
    c->lens = (vfront_lens_t)from->lens;
    memcpy(c->distortion, from->distortion, sizeof c->distortion);
    memcpy(c->R_cam_imu, from->R, sizeof from->R);
    memcpy(c->t_cam_imu_m, from->t, sizeof from->t);
}

static void give(struct bridge_camera *to, const vfront_camera_t *c, const int32_t valid[4])
{
    to->f[0] = c->fx_px;
    to->f[1] = c->fy_px;
    to->c[0] = c->cx_px;
    to->c[1] = c->cy_px;
    memcpy(to->R, c->R_cam_imu, sizeof to->R);
    memcpy(to->t, c->t_cam_imu_m, sizeof to->t);
    memcpy(to->valid, valid, sizeof to->valid);
}

/** Both images of a pair, [2][height][width], rectified to `out`. Returns 0, or the negative status of what
 *  failed. */
int bridge_rectify(const struct bridge_camera camera[2], int width, int height, const uint8_t *grey, uint8_t *out,
                   struct bridge_camera seen[2])
{
    const struct vf_context *state = (const struct vf_context *)(((uintptr_t)&vf + 63) & ~(uintptr_t)63);
    const vfront_result_t *result = NULL;
    vfront_rig_t rig = {.cameras = 2};
    vfront_frame_t frame = {.t_ns = 1};
    vfront_tuning_t tuning;
    vfront_info_t info;
    vfront_tuning_default(&tuning);
    tuning.rectify = 1;
    for (int i = 0; i < 2; i++) {
        take(&rig.camera[i], &camera[i], width, height);
        frame.picture[i].data = grey + i * width * height;
        frame.picture[i].width_px = width;
        frame.picture[i].height_px = height;
        frame.picture[i].pitch_bytes = (uint32_t)width;
    }
    vfront_status_t status = vfront_init(&vf, &rig, &tuning, VFRONT_PORT_HOST);
    if (!status) status = vfront_info(&vf, &info);
    const int32_t parity = state->parity;
    if (!status) status = vfront_step(&vf, &frame, &result);
    if (status) return (int)status;
    for (int i = 0; i < 2; i++) {
        const struct vf_level *l = &state->step[0].geometry.level[i][0];
        give(&seen[i], &info.camera[i], info.valid_px[i]);
        for (int32_t y = 0; y < height; y++)
            memcpy(out + (i * height + y) * width, state->memory->rectify.picture[parity][i] + y * l->pitch,
                   (size_t)width);
    }
    vfront_shutdown(&vf);
    return 0;
}
