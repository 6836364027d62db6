/* SPDX-License-Identifier: MIT */
/* The whole front end with its state, on the host port, as a shared library for tests/state/nav.py. */
#include "vfront.h"

int bridge_open(const int32_t size[2], const double *camera, int32_t cameras, const vfront_imu_noise_t *noise,
                const char *const *names, const int32_t *values, int32_t count);
int bridge_frame(const uint8_t *const *pixels, uint64_t t_ns, uint64_t exposure_ns, const vfront_imu_t *imu, uint32_t n,
                 vfront_nav_t *nav, double *more);

static vfront_t vf;
static vfront_motion_t metric, relative; /* of the last frame */

/** camera: of each fx, fy, cx, cy, eight coefficients (radtan), R_cam_imu, t_cam_imu_m. Returns the status. */
int bridge_open(const int32_t size[2], const double *camera, int32_t cameras, const vfront_imu_noise_t *noise,
                const char *const *names, const int32_t *values, int32_t count)
{
    vfront_rig_t rig = {.cameras = cameras, .imu = *noise};
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    for (int32_t i = 0; i < count; i++)
        if (vfront_tuning_set(&t, names[i], values[i])) return -1;
    for (int32_t i = 0; i < cameras; i++, camera += 24) {
        vfront_camera_t *c = &rig.camera[i];
        c->width_px = size[0];
        c->height_px = size[1];
        c->fx_px = camera[0];
        c->fy_px = camera[1];
        c->cx_px = camera[2];
        c->cy_px = camera[3];
        for (int k = 0; k < 8; k++) c->distortion[k] = camera[4 + k];
        for (int k = 0; k < 9; k++) c->R_cam_imu[k] = camera[12 + k];
        for (int k = 0; k < 3; k++) c->t_cam_imu_m[k] = camera[21 + k];
    }
    vfront_shutdown(&vf);
    return (int)vfront_init(&vf, &rig, &t, VFRONT_PORT_HOST);
}

/** more: us of stages sight and window; health.imu, followed tracks. */
int bridge_frame(const uint8_t *const *pixels, uint64_t t_ns, uint64_t exposure_ns, const vfront_imu_t *imu, uint32_t n,
                 vfront_nav_t *nav, double *more)
{
    vfront_info_t info;
    vfront_frame_t frame = {.t_ns = t_ns, .exposure_ns = exposure_ns, .imu = imu, .imu_count = n};
    const vfront_result_t *r;
    vfront_info(&vf, &info);
    for (int i = 0; i < VFRONT_CAMERAS && pixels[i]; i++) {
        frame.picture[i].data = pixels[i];
        frame.picture[i].pitch_bytes = (uint32_t)info.seen[i].width_px;
        frame.picture[i].width_px = info.seen[i].width_px;
        frame.picture[i].height_px = info.seen[i].height_px;
        frame.picture[i].format = VFRONT_GREY8;
    }
    const int status = (int)vfront_step(&vf, &frame, &r);
    if (status) return status;
    *nav = r->nav;
    metric = r->metric;
    relative = r->relative;
    more[0] = (double)r->timing.stage_us[VFRONT_STAGE_sight];
    more[1] = (double)r->timing.stage_us[VFRONT_STAGE_window];
    more[2] = r->health.imu;
    more[3] = r->health.followed;
    return 0;
}

/** State, R, t of the last frame's metric motion, and of its relative one. */
void bridge_motions(double out[26]);
void bridge_motions(double out[26])
{
    for (int m = 0; m < 2; m++, out += 13) {
        const vfront_motion_t *from = m ? &relative : &metric;
        out[0] = from->state;
        for (int k = 0; k < 9; k++) out[1 + k] = (double)from->R[k];
        for (int k = 0; k < 3; k++) out[10 + k] = (double)from->t[k];
    }
}

const char *bridge_detail(void);
const char *bridge_detail(void) { return vfront_detail(&vf); }
