/* SPDX-License-Identifier: MIT */
/* Key points, depths and matches of a stereo rig as a shared library over the public interface, for
 * tests/geometry/stereo.py. */
#include "tests/fixture/pair_bridge.h"
#include "tests/fixture/rig.h"

int bridge_open(const double *cameras, const char *settings);
int bridge_keypoints(int camera, int most, float *out);
int bridge_depths(int most, float *out);
int bridge_matches(int most, float *out);

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
    rig.cameras = 2;
    set_camera(&rig.camera[0], cameras);
    set_camera(&rig.camera[1], cameras + CAMERA);
    return open_front_end(&tuning, settings);
}

/** Writes the key points of the last frame: [most][4]: x, y [px], level, size of the level's pixels [px]. Returns their
 *  number. */
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

/** Writes the depths of the last frame: [most][7]: index of the key point, index of its match, distance, x, y in camera
 *  1 [px], depth, sigma [m]. Returns their number. */
int bridge_depths(int most, float *out)
{
    int i = 0;
    for (; i < most && i < (int)result->depths_count; i++) {
        const vfront_depth_t *d = &result->depths[i];
        const float row[7] = {d->keypoint, d->match, d->distance, d->x_px, d->y_px, d->depth_m, d->sigma_m};
        memcpy(out + 7 * i, row, sizeof row);
    }
    return i;
}

/** Writes the matches of the last frame with the previous one: [most][4]: index of the key point, index in the previous
 *  frame, distance, second-best distance. Returns their number. */
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
