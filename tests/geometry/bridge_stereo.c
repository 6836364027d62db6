/* SPDX-License-Identifier: MIT */
/* Key points, depths and matches of a rig of two cameras as a shared library, over the public interface alone, for
 * tests/geometry/stereo.py. */
#include "tests/fixture/rig.h"
#include "tests/fixture/settings.h"

static vfront_t vf;
static vfront_rig_t rig;
static const vfront_result_t *result;
static uint64_t frames;

int bridge_open(const double *cameras, const char *settings);
int bridge_step(const uint8_t *left, const uint8_t *right);
int bridge_keypoints(int camera, int most, float *out);
int bridge_depths(int most, float *out);
int bridge_matches(int most, float *out);
void bridge_close(void);

/**
 * Makes the front end ready on the host port, standard tuning but for `settings`. Ends the one before.
 *
 * @param[in] cameras  [2][CAMERA], as rig.h has it.
 * @return    0, or the negative status of what failed; bridge_detail() says why.
 */
int bridge_open(const double *cameras, const char *settings)
{
    vfront_tuning_t tuning;
    vfront_tuning_default(&tuning);
    tuning.track_target = 0;
    bridge_close();
    frames = 0;
    rig.cameras = 2;
    set_camera(&rig.camera[0], cameras);
    set_camera(&rig.camera[1], cameras + CAMERA);
    vfront_status_t status = tune(&tuning, settings);
    if (status) return status;
    status = vfront_init(&vf, &rig, &tuning, VFRONT_PORT_HOST);
    if (status) set_detail(vfront_detail(&vf));
    return status;
}

/** One frame of grey pictures, [height][width], 50 ms after the one before. Returns 0 or a negative status. */
int bridge_step(const uint8_t *left, const uint8_t *right)
{
    vfront_frame_t frame = {.t_ns = 1 + 50000000u * frames++};
    for (int k = 0; k < 2; k++) {
        frame.picture[k].data = k ? right : left;
        frame.picture[k].width_px = rig.camera[k].width_px;
        frame.picture[k].height_px = rig.camera[k].height_px;
        frame.picture[k].pitch_bytes = (uint32_t)rig.camera[k].width_px;
    }
    const vfront_status_t status = vfront_step(&vf, &frame, &result);
    if (status) set_detail(vfront_detail(&vf));
    return status;
}

/** Key points of the last frame: [most][4]: x, y [px], level, size of the level's pixels [px]. Returns how many. */
int bridge_keypoints(int camera, int most, float *out)
{
    int i = 0;
    for (; i < most && i < (int)result->keypoints_count[camera]; i++) {
        const vfront_keypoint_t *k = &result->keypoints[camera][i];
        const float row[4] = {k->x_px, k->y_px, (float)k->level, level_scale(k->level)};
        memcpy(out + 4 * i, row, sizeof row);
    }
    return i;
}

/** Depths of the last frame: [most][7]: index of key point and of partner, distance, x, y in camera 1 [px], depth,
 *  sigma [m]. */
int bridge_depths(int most, float *out)
{
    int i = 0;
    for (; i < most && i < (int)result->depths_count; i++) {
        const vfront_depth_t *d = &result->depths[i];
        const float row[7] = {d->keypoint, d->partner, d->distance, d->x_px, d->y_px, d->depth_m, d->sigma_m};
        memcpy(out + 7 * i, row, sizeof row);
    }
    return i;
}

/** Matches of the last frame with the one before: [most][4]: index of key point, index before, distance, the next
 *  best's. */
int bridge_matches(int most, float *out)
{
    int i = 0;
    for (; i < most && i < (int)result->matches_count; i++) {
        const vfront_match_t *m = &result->matches[i];
        const float row[4] = {m->keypoint, m->before, m->distance, m->second};
        memcpy(out + 4 * i, row, sizeof row);
    }
    return i;
}

/** Ends it. Without effect when there is none. */
void bridge_close(void) { vfront_shutdown(&vf); }
