/* SPDX-License-Identifier: MIT */
/* Front end with estimator on the host port, as a shared library for tests/nav/nav.py and tests/geometry/predict.py. */
#include <string.h>

#include "examples/synthetic/synthetic.h"
#include "vfront.h"

int bridge_open(const int32_t size[2], const double *camera, int32_t cameras, const vfront_imu_noise_t *noise,
                const char *const *names, const int32_t *values, int32_t count);
int bridge_frame(const uint8_t *const *pixels, uint64_t t_ns, uint64_t exposure_ns, const vfront_imu_t *imu, uint32_t n,
                 vfront_nav_t *nav, double *more);
void bridge_without(int32_t cameras);
int bridge_predicted(float *out);
int bridge_pairs(int most, float *out);
void bridge_hall_rig(double *camera);
int bridge_hall(int frame, const double *R, const double *t, int camera, uint8_t *out);

static vfront_t vf;
static const vfront_result_t *result, *before; /* of the last frame, of the previous one */
static int32_t without;
static vfront_motion_t metric, relative; /* of the last frame */

/** Opens the front end. camera: per camera fx, fy, cx, cy, eight coefficients (radtan), R_cam_imu, t_cam_imu_m. Returns
 *  the status. */
int bridge_open(const int32_t size[2], const double *camera, int32_t cameras, const vfront_imu_noise_t *noise,
                const char *const *names, const int32_t *values, int32_t count)
{
    vfront_rig_t rig = {.cameras = cameras, .imu = *noise};
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    for (int32_t i = 0; i < count; i++)
        if (!strcmp(names[i], "state_only") && values[i] == 1)
            vfront_tuning_state(&t);
        else if (vfront_tuning_set(&t, names[i], values[i]))
            return -1;
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
    result = before = NULL;
    return (int)vfront_init(&vf, &rig, &t, VFRONT_PORT_HOST);
}

/** Processes a frame. more: time of the stages observe and vio [us]; health.imu; number of followed tracks. */
int bridge_frame(const uint8_t *const *pixels, uint64_t t_ns, uint64_t exposure_ns, const vfront_imu_t *imu, uint32_t n,
                 vfront_nav_t *nav, double *more)
{
    vfront_info_t info;
    vfront_frame_t frame = {.t_ns = t_ns, .exposure_ns = exposure_ns, .imu = imu, .imu_count = n};
    const vfront_result_t *r;
    vfront_info(&vf, &info);
    for (int i = 0; i < VFRONT_CAMERAS && pixels[i]; i++) {
        frame.picture[i].data = pixels[i];
        frame.picture[i].pitch_bytes = (uint32_t)info.camera[i].width_px;
        frame.picture[i].width_px = info.camera[i].width_px;
        frame.picture[i].height_px = info.camera[i].height_px;
        frame.picture[i].format = without >> i & 1 ? VFRONT_NO_PICTURE : VFRONT_GREY8;
    }
    const int status = (int)vfront_step(&vf, &frame, &r);
    if (status) return status;
    before = result;
    result = r;
    *nav = r->nav;
    metric = r->metric;
    relative = r->relative;
    more[0] = (double)r->timing.stage_us[VFRONT_STAGE_observe];
    more[1] = (double)r->timing.stage_us[VFRONT_STAGE_vio];
    more[2] = r->health.imu;
    more[3] = r->health.followed;
    return 0;
}

/** What health says of the last frame. 16: the pair is SUSPECT or BLIND, or its calibration wrong; 32: pictures are
 *  late, repeated, frozen or missing. */
int bridge_alerts(void);
int bridge_alerts(void)
{
    const vfront_health_t *h = &result->health;
    const int pair = h->stereo == VFRONT_STEREO_SUSPECT || h->stereo == VFRONT_STEREO_BLIND || h->calibration;
    return 16 * pair + 32 * (h->late || h->repeated || h->frozen[0] || h->frozen[1] || h->missing);
}

/** Upper triangle of the covariance of the last frame's metric motion. */
void bridge_metric_covariance(double out[21]);
void bridge_metric_covariance(double out[21])
{
    for (int k = 0; k < 21; k++) out[k] = (double)metric.covariance[k];
}

/** State, R and t of the last frame's metric and relative motion. */
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

/** Cameras without an image in the next frames, one bit each. */
void bridge_without(int32_t cameras) { without = cameras; }

/** Motion predicted for the last frame: R[9], t[3], covariance[21], state of the metric motion. Returns the source. */
int bridge_predicted(float *out)
{
    memcpy(out, result->predicted.R, sizeof result->predicted.R);
    memcpy(out + 9, result->predicted.t, sizeof result->predicted.t);
    memcpy(out + 12, result->predicted.covariance, sizeof result->predicted.covariance);
    out[33] = (float)result->metric.state;
    return (int)result->predicted.source;
}

/** Matches of the last frame as bearings in the previous and the current frame, [most][6]. Returns their number. */
int bridge_pairs(int most, float *out)
{
    int count = 0;
    for (uint32_t i = 0; before && i < result->matches_count && count < most; i++) {
        const vfront_match_t *m = &result->matches[i];
        vfront_info_t info;
        const double px[2] = {(double)m->x_before_px, (double)m->y_before_px};
        double bearing[3];
        vfront_info(&vf, &info);
        if (!vfront_lens_bearing(&info.camera[0], px, bearing)) continue;
        for (int k = 0; k < 3; k++) {
            out[6 * count + k] = (float)bearing[k];
            out[6 * count + 3 + k] = m->bearing[k];
        }
        count++;
    }
    return count;
}

/** Cameras of the rendered hall, in the format of bridge_open(). */
void bridge_hall_rig(double *camera)
{
    vfront_rig_t rig;
    synthetic_t *hall = synthetic_open(SYNTHETIC_WIDTH_PX, SYNTHETIC_HEIGHT_PX);
    memset(camera, 0, 48 * sizeof *camera);
    if (!hall) return;
    synthetic_rig(hall, &rig);
    for (int i = 0; i < rig.cameras; i++, camera += 24) {
        const vfront_camera_t *c = &rig.camera[i];
        const double inner[4] = {c->fx_px, c->fy_px, c->cx_px, c->cy_px};
        memcpy(camera, inner, sizeof inner);
        memcpy(camera + 12, c->R_cam_imu, sizeof c->R_cam_imu);
        memcpy(camera + 21, c->t_cam_imu_m, sizeof c->t_cam_imu_m);
    }
    synthetic_close(hall);
}

/** Renders the hall from a pose of camera 0, camera to world. Returns 0 if memory is short. */
int bridge_hall(int frame, const double *R, const double *t, int camera, uint8_t *out)
{
    static synthetic_t *hall;
    if (!hall) hall = synthetic_open(SYNTHETIC_WIDTH_PX, SYNTHETIC_HEIGHT_PX);
    if (hall) synthetic_render_from(hall, (uint32_t)frame, R, t, camera, out, SYNTHETIC_WIDTH_PX);
    return hall != NULL;
}
