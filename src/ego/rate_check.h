/* SPDX-License-Identifier: MIT */
/* ego, rate_check: compares the rotation rates of a gyro (alone or in an IMU) with those of the images, over many
 * frames. Detects wrong axes, wrong units and a wrong clock of the gyro.
 *
 * In      gyro rate: mean of the gyro's samples between two frames, at their estimated time offset, less the bias
 *         (imu/gyro_errors.h), in axes of camera 0. Image rate: rotation that ego estimates from the images, per time,
 *         before ego compares it with the gyro. Both in rad/s
 * Out     bits of vfront_health_t.imu; delay of the samples [us]
 * Rule    - Means and mean squares: of both rates, and of their difference at lags up to VF_RATE_CHECK_LAGS frames.
 *           Older frames fade exponentially, over VF_RATE_CHECK_FRAMES frames. All squares are taken about the mean,
 *           so that a constant bias is no fault
 *         - Wrong unit (degrees): the root mean square of the gyro rate is 40 to 80 times that of the image rate
 *         - Wrong clock: the difference is far smaller at another lag than at lag 0, and small compared with the
 *           rates. The minimum of a parabola through three lags is the delay
 *         - Wrong axes: neither unit nor clock is wrong, and the mean square of the difference at lag 0 exceeds
 *           VF_RATE_CHECK_DIFFERENCE times the sum of both rates' mean squares
 *         - A fault is reported, or revoked, after VF_RATE_CHECK_RUN consecutive frames with the same decision. While
 *           the image rate varies by less than VF_RATE_CHECK_RADPS (root mean square), the report does not change
 *         - A bias that changes also adds to the mean square of the difference. Wrong axes are therefore not reported
 *           while the image rate and the gyro rate agree over the last VF_RATE_CHECK_RECENT frames
 * Exact   single precision in one order, by one thread
 */
#ifndef VF_RATE_CHECK_H
#define VF_RATE_CHECK_H

#include "ego.h"

#define VF_RATE_CHECK_FRAMES 40.0f /* averaging length of the sums over rotation rates [frames] */
#define VF_RATE_CHECK_MIN 24.0f    /* least number of frames in the sums for a decision */
/* least root mean square of the image rate about its mean for a decision, and largest deviation of an image rate that
 * counts, over all axes [rad/s] */
#define VF_RATE_CHECK_RADPS 0.1f
/* wrong axes: least mean square of the difference between image rate and gyro rate, relative to the sum of the mean
 * squares of both rates */
#define VF_RATE_CHECK_DIFFERENCE 0.35f
/* wrong clock: largest mean square of the difference between image rate and gyro rate at the best lag, relative to that
 * at lag 0 */
#define VF_RATE_CHECK_CLOCK 0.3f
/* wrong clock: largest mean square of the difference between image rate and gyro rate at the best lag, relative to the
 * sum of the mean squares of both rates */
#define VF_RATE_CHECK_FIT 0.1f
#define VF_RATE_CHECK_FLOOR 0.03f   /* wrong clock: least root mean square of the rate difference at lag 0 [rad/s] */
#define VF_RATE_CHECK_CLOCK_S 0.01f /* least delay of the gyro samples that is reported [s] */
#define VF_RATE_CHECK_RUN 8         /* number of consecutive frames with the same decision before it is reported */
#define VF_RATE_CHECK_RECENT 5.0f   /* averaging length of the means that revoke wrong axes [frames] */
/* mean square of the recent difference between image rate and gyro rate, below which the axes are right;
 * relative to the sum of the mean squares of both rates */
#define VF_RATE_CHECK_RECENT_DIFFERENCE 0.1f

/** Mean square of image rate - gyro rate about its mean [rad^2/s^2]. lag: VF_RATE_CHECK_LAGS: rates of the same frame;
 *  above: image rates of earlier frames; below: gyro rates of earlier frames. Range: 0 .. 2 VF_RATE_CHECK_LAGS. */
VF_FN float vf_rate_check_difference(const struct vf_rate_check *t, int lag)
{
    const float over = 1.0f / t->frames;
    float square = t->difference2[lag] * over;
    for (int k = 0; k < 3; k++) square -= t->difference[lag][k] * over * (t->difference[lag][k] * over);
    return square > 0.0f ? square : 0.0f;
}

/** Mean square of a rotation rate about its mean [rad^2/s^2]. which: 0: image rate, 1: gyro rate. */
VF_FN float vf_rate_check_variance(const struct vf_rate_check *t, int which)
{
    const float over = 1.0f / t->frames;
    float square = t->square[which] * over;
    for (int k = 0; k < 3; k++) square -= t->mean[which][k] * over * (t->mean[which][k] * over);
    return square > 0.0f ? square : 0.0f;
}

/** Adds the image rate (camera) and the gyro rate (imu) of a frame to the sums [rad/s]. known: 0: no image rate in this
 *  frame. */
VF_FN void vf_rate_check_add(struct vf_rate_check *t, const float camera[3], const float imu[3], int known)
{
    const float fade = 1.0f - 1.0f / VF_RATE_CHECK_FRAMES;
    for (int i = VF_RATE_CHECK_LAGS; i > 0; i--) {
        for (int k = 0; k < 3; k++) {
            t->camera[i][k] = t->camera[i - 1][k];
            t->imu[i][k] = t->imu[i - 1][k];
        }
    }
    t->known = (t->known << 1 | (uint32_t)known) & ((2u << VF_RATE_CHECK_LAGS) - 1u);
    for (int k = 0; k < 3; k++) {
        t->camera[0][k] = known ? camera[k] : 0.0f;
        t->imu[0][k] = imu[k];
    }
    if (known) {
        const float difference[3] = {camera[0] - imu[0], camera[1] - imu[1], camera[2] - imu[2]};
        t->recent_difference += (vf_dot(difference, difference) - t->recent_difference) / VF_RATE_CHECK_RECENT;
        t->recent_square[0] += (vf_dot(camera, camera) - t->recent_square[0]) / VF_RATE_CHECK_RECENT;
        t->recent_square[1] += (vf_dot(imu, imu) - t->recent_square[1]) / VF_RATE_CHECK_RECENT;
    }
    if (t->known != (2u << VF_RATE_CHECK_LAGS) - 1u) return;
    t->frames = t->frames * fade + 1.0f;
    for (int k = 0; k < 3; k++) {
        t->mean[0][k] = t->mean[0][k] * fade + camera[k];
        t->mean[1][k] = t->mean[1][k] * fade + imu[k];
    }
    t->square[0] = t->square[0] * fade + vf_dot(camera, camera);
    t->square[1] = t->square[1] * fade + vf_dot(imu, imu);
    for (int i = 0; i <= 2 * VF_RATE_CHECK_LAGS; i++) {
        const int lag = i - VF_RATE_CHECK_LAGS;
        const float *c = t->camera[lag > 0 ? lag : 0], *g = t->imu[lag < 0 ? -lag : 0];
        const float difference[3] = {c[0] - g[0], c[1] - g[1], c[2] - g[2]};
        for (int k = 0; k < 3; k++) t->difference[i][k] = t->difference[i][k] * fade + difference[k];
        t->difference2[i] = t->difference2[i] * fade + vf_dot(difference, difference);
    }
}

/** Decides on faults of the gyro from the sums: bits of health.imu. late: out, delay of the gyro samples [frames]. */
VF_FN uint32_t vf_rate_check_decide(const struct vf_rate_check *t, float dt_s, float *late)
{
    const float difference = vf_rate_check_difference(t, VF_RATE_CHECK_LAGS), c2 = vf_rate_check_variance(t, 0),
                g2 = vf_rate_check_variance(t, 1);
    int best = VF_RATE_CHECK_LAGS;
    *late = 0.0f;
    if (t->frames < VF_RATE_CHECK_MIN || c2 < VF_RATE_CHECK_RADPS * VF_RATE_CHECK_RADPS) return 0;
    if (g2 > 1600.0f * c2 && g2 < 6400.0f * c2) return VFRONT_IMU_IN_DEGREES;
    for (int i = 1; i < 2 * VF_RATE_CHECK_LAGS; i++)
        if (vf_rate_check_difference(t, i) < vf_rate_check_difference(t, best)) best = i;
    const float a = vf_rate_check_difference(t, best - 1), b = vf_rate_check_difference(t, best),
                c = vf_rate_check_difference(t, best + 1);
    const float curve = a - 2.0f * b + c, part = curve > 0.0f ? 0.5f * (a - c) / curve : 0.0f;
    const float least = b - 0.25f * (a - c) * part, off = (float)(best - VF_RATE_CHECK_LAGS) + part;
    const float time_s = off * dt_s;
    if (difference > VF_RATE_CHECK_FLOOR * VF_RATE_CHECK_FLOOR && least < VF_RATE_CHECK_CLOCK * difference &&
        least < VF_RATE_CHECK_FIT * (c2 + g2) && (time_s > VF_RATE_CHECK_CLOCK_S || time_s < -VF_RATE_CHECK_CLOCK_S)) {
        *late = off;
        return VFRONT_IMU_CLOCK;
    }
    return difference > VF_RATE_CHECK_DIFFERENCE * (c2 + g2) ? VFRONT_IMU_AXES : 0;
}

/** 1 if the camera has rotated enough in the last VF_RATE_CHECK_RECENT frames to decide on the axes. */
VF_FN int vf_rate_check_excited(const struct vf_rate_check *t)
{
    return t->recent_square[0] > VF_RATE_CHECK_RADPS * VF_RATE_CHECK_RADPS;
}

/** 1 if image rate and gyro rate agree over the last VF_RATE_CHECK_RECENT frames. */
VF_FN int vf_rate_check_agree(const struct vf_rate_check *t)
{
    return t->recent_difference < VF_RATE_CHECK_RECENT_DIFFERENCE * (t->recent_square[0] + t->recent_square[1]);
}

/** Adds the rates of a frame and updates the reported fault. w: rotation vector of the estimated motion [rad]; NULL:
 *  none. */
VF_FN void vf_rate_check_step(struct vf_rate_check *t, const struct vf_params *params, const float *w)
{
    const float dt_s = (float)params->dt_ns * 1e-9f;
    float camera[3] = {0.0f, 0.0f, 0.0f}, late;
    const int known = w && params->rate_known && dt_s > 0.0f;
    for (int k = 0; k < 3 && known; k++) camera[k] = w[k] / dt_s;
    vf_rate_check_add(t, camera, params->rate_radps, known);
    if (!known || t->frames < VF_RATE_CHECK_MIN) return;
    uint32_t decision = vf_rate_check_decide(t, dt_s, &late);
    if (decision == VFRONT_IMU_AXES && t->reported == decision && !vf_rate_check_excited(t)) return;
    if (decision == VFRONT_IMU_AXES && vf_rate_check_excited(t) && vf_rate_check_agree(t)) decision = 0;
    t->run = decision == t->last ? t->run + (t->run < VF_RATE_CHECK_RUN) : 1;
    t->last = decision;
    if (t->run >= VF_RATE_CHECK_RUN &&
        (decision || vf_rate_check_variance(t, 0) > VF_RATE_CHECK_RADPS * VF_RATE_CHECK_RADPS))
        t->reported = decision;
    t->late_us = t->reported == VFRONT_IMU_CLOCK && decision == VFRONT_IMU_CLOCK ? (int32_t)(late * dt_s * 1e6f)
                 : t->reported == VFRONT_IMU_CLOCK                               ? t->late_us
                                                                                 : 0;
}

#endif
