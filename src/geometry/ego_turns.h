/* SPDX-License-Identifier: MIT */
/* ego, turns: rates by the readings of a gyro or an IMU beside those of the pictures' motions, over many frames:
 * whether the readings are about the axes that the rig names, in rad/s, and of the time that their stamps name.
 *
 * In      mean rate by the readings of the step, in axes of camera 0, and its usual difference from the pictures', a
 *         bias; rotation of a motion, before it is held against the prior
 * Out     bits of vfront_health_t.imu; the time by which readings are late
 * Rule    sums that fade over VF_TURNS_FRAMES frames: of both rates and their squares; of their differences and the
 *         squares of these, of frames up to VF_TURNS_LAGS apart as well. All count less their means, so that a bias is
 *         no fault. Readings 40 to 80 times the pictures' rates are in degrees. A difference far less between frames
 *         apart than of one frame, and small beside the rates: another time, by a parabola through three distances.
 *         Else one over VF_TURNS_APART of both squares: other axes
 *         Nothing is said without VF_TURNS_RADPS of change, and only after VF_TURNS_ROW frames in a row; it is taken
 *         back in the same way. Other axes are not said while the rates of the last VF_TURNS_NEAR frames agree up to
 *         the usual difference, since a bias that comes and goes is one of the sums as well; frames that hardly turn
 *         change nothing of what is said
 * Exact   single precision in one order, by one thread
 */
#ifndef VF_EGO_TURNS_H
#define VF_EGO_TURNS_H

#include "ego.h"

#define VF_TURNS_FRAMES 40.0f    /* over which sums fade */
#define VF_TURNS_LEAST 24.0f     /* frames in the sums before anything is said */
#define VF_TURNS_RADPS 0.1f      /* root mean square of the pictures' rate about its mean [rad/s] */
#define VF_TURNS_APART 0.35f     /* share of the difference in both squares, above which axes or unit are others */
#define VF_TURNS_CLOCK 0.3f      /* share of the difference that is left at another time */
#define VF_TURNS_FIT 0.1f        /* and share of it in both squares, at most */
#define VF_TURNS_FLOOR 0.03f     /* root mean square of a difference that says anything [rad/s] */
#define VF_TURNS_CLOCK_S 0.01f   /* least time by which readings are late or early [s] */
#define VF_TURNS_ROW 8           /* frames in a row that say the same */
#define VF_TURNS_NEAR 5.0f       /* frames over which those fade that axes are taken back by */
#define VF_TURNS_NEAR_APART 0.1f /* share of the difference in both squares, below which axes are right again */

/** Mean square of the difference of both rates about its mean. lag: 0..2 VF_TURNS_LAGS; VF_TURNS_LAGS: of one frame,
 *  more: of the camera's rates of earlier ones. */
VF_FN float vf_turns_apart(const struct vf_turns *t, int lag)
{
    const float over = 1.0f / t->frames;
    float square = t->apart2[lag] * over;
    for (int k = 0; k < 3; k++) square -= t->apart[lag][k] * over * (t->apart[lag][k] * over);
    return square > 0.0f ? square : 0.0f;
}

/** Mean square of a rate about its mean. */
VF_FN float vf_turns_square(const struct vf_turns *t, int which)
{
    const float over = 1.0f / t->frames;
    float square = t->square[which] * over;
    for (int k = 0; k < 3; k++) square -= t->mean[which][k] * over * (t->mean[which][k] * over);
    return square > 0.0f ? square : 0.0f;
}

/** Rates of this frame in the sums. usual: camera less readings, as usual; known: 0: the pictures tell none. */
VF_FN void vf_turns_add(struct vf_turns *t, const float camera[3], const float readings[3], const float usual[3],
                        int known)
{
    const float fade = 1.0f - 1.0f / VF_TURNS_FRAMES;
    for (int i = VF_TURNS_LAGS; i > 0; i--) {
        for (int k = 0; k < 3; k++) {
            t->camera[i][k] = t->camera[i - 1][k];
            t->readings[i][k] = t->readings[i - 1][k];
        }
    }
    t->known = (t->known << 1 | (uint32_t)known) & ((2u << VF_TURNS_LAGS) - 1u);
    for (int k = 0; k < 3; k++) {
        t->camera[0][k] = known ? camera[k] : 0.0f;
        t->readings[0][k] = readings[k];
    }
    if (known) {
        const float right[3] = {readings[0] + usual[0], readings[1] + usual[1], readings[2] + usual[2]};
        const float apart[3] = {camera[0] - right[0], camera[1] - right[1], camera[2] - right[2]};
        t->near_apart += (vf_dot(apart, apart) - t->near_apart) / VF_TURNS_NEAR;
        t->near_square[0] += (vf_dot(camera, camera) - t->near_square[0]) / VF_TURNS_NEAR;
        t->near_square[1] += (vf_dot(right, right) - t->near_square[1]) / VF_TURNS_NEAR;
    }
    if (t->known != (2u << VF_TURNS_LAGS) - 1u) return;
    t->frames = t->frames * fade + 1.0f;
    for (int k = 0; k < 3; k++) {
        t->mean[0][k] = t->mean[0][k] * fade + camera[k];
        t->mean[1][k] = t->mean[1][k] * fade + readings[k];
    }
    t->square[0] = t->square[0] * fade + vf_dot(camera, camera);
    t->square[1] = t->square[1] * fade + vf_dot(readings, readings);
    for (int i = 0; i <= 2 * VF_TURNS_LAGS; i++) {
        const int lag = i - VF_TURNS_LAGS;
        const float *c = t->camera[lag > 0 ? lag : 0], *g = t->readings[lag < 0 ? -lag : 0];
        const float apart[3] = {c[0] - g[0], c[1] - g[1], c[2] - g[2]};
        for (int k = 0; k < 3; k++) t->apart[i][k] = t->apart[i][k] * fade + apart[k];
        t->apart2[i] = t->apart2[i] * fade + vf_dot(apart, apart);
    }
}

/** Verdict of the sums. late: of the readings [frames]. */
VF_FN uint32_t vf_turns_say(const struct vf_turns *t, float dt_s, float *late)
{
    const float apart = vf_turns_apart(t, VF_TURNS_LAGS), c2 = vf_turns_square(t, 0), g2 = vf_turns_square(t, 1);
    int best = VF_TURNS_LAGS;
    *late = 0.0f;
    if (t->frames < VF_TURNS_LEAST || c2 < VF_TURNS_RADPS * VF_TURNS_RADPS) return 0;
    if (g2 > 1600.0f * c2 && g2 < 6400.0f * c2) return VFRONT_IMU_IN_DEGREES;
    for (int i = 1; i < 2 * VF_TURNS_LAGS; i++)
        if (vf_turns_apart(t, i) < vf_turns_apart(t, best)) best = i;
    const float a = vf_turns_apart(t, best - 1), b = vf_turns_apart(t, best), c = vf_turns_apart(t, best + 1);
    const float curve = a - 2.0f * b + c, part = curve > 0.0f ? 0.5f * (a - c) / curve : 0.0f;
    const float least = b - 0.25f * (a - c) * part, off = (float)(best - VF_TURNS_LAGS) + part;
    const float time_s = off * dt_s;
    if (apart > VF_TURNS_FLOOR * VF_TURNS_FLOOR && least < VF_TURNS_CLOCK * apart && least < VF_TURNS_FIT * (c2 + g2) &&
        (time_s > VF_TURNS_CLOCK_S || time_s < -VF_TURNS_CLOCK_S)) {
        *late = off;
        return VFRONT_IMU_CLOCK;
    }
    return apart > VF_TURNS_APART * (c2 + g2) ? VFRONT_IMU_AXES : 0;
}

/** 1 if the camera has turned in the last few frames, so that they tell of the axes. */
VF_FN int vf_turns_tell(const struct vf_turns *t) { return t->near_square[0] > VF_TURNS_RADPS * VF_TURNS_RADPS; }

/** 1 if the rates of the last few frames agree. */
VF_FN int vf_turns_agree(const struct vf_turns *t)
{
    return t->near_apart < VF_TURNS_NEAR_APART * (t->near_square[0] + t->near_square[1]);
}

/** A step: w: rotation vector of a motion [rad]; NULL: there is none. usual: by which rates of motions usually differ
 *  from the readings [rad/s]; 0 where that is not known. */
VF_FN void vf_turns_step(struct vf_turns *t, const struct vf_params *params, const float *w, const float usual[3])
{
    const float dt_s = (float)params->dt_ns * 1e-9f;
    float camera[3] = {0.0f, 0.0f, 0.0f}, late;
    const int known = w && params->rate_known && dt_s > 0.0f;
    for (int k = 0; k < 3 && known; k++) camera[k] = w[k] / dt_s;
    vf_turns_add(t, camera, params->rate_radps, usual, known);
    if (!known || t->frames < VF_TURNS_LEAST) return;
    uint32_t says = vf_turns_say(t, dt_s, &late);
    if (says == VFRONT_IMU_AXES && t->said == says && !vf_turns_tell(t)) return;
    if (says == VFRONT_IMU_AXES && vf_turns_tell(t) && vf_turns_agree(t)) says = 0;
    t->row = says == t->last ? t->row + (t->row < VF_TURNS_ROW) : 1;
    t->last = says;
    if (t->row >= VF_TURNS_ROW && (says || vf_turns_square(t, 0) > VF_TURNS_RADPS * VF_TURNS_RADPS)) t->said = says;
    t->late_us = t->said == VFRONT_IMU_CLOCK && says == VFRONT_IMU_CLOCK ? (int32_t)(late * dt_s * 1e6f)
                 : t->said == VFRONT_IMU_CLOCK                           ? t->late_us
                                                                         : 0;
}

#endif
