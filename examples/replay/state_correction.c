/* SPDX-License-Identifier: MIT */
#include "state_correction.h"

#include <math.h>
#include <string.h>

#include "examples/common/pose.h"
#include "state.h"

/** Append samples; the oldest ones make room. */
static void append(corrections_t *c, const vfront_imu_t *imu, uint32_t n)
{
    if (n > CORRECTION_SAMPLES) {
        imu += n - CORRECTION_SAMPLES;
        n = CORRECTION_SAMPLES;
    }
    const uint32_t kept = c->samples + n > CORRECTION_SAMPLES ? CORRECTION_SAMPLES - n : c->samples;
    memmove(c->sample, &c->sample[c->samples - kept], kept * sizeof *c->sample);
    if (n) memcpy(&c->sample[kept], imu, n * sizeof *imu);
    c->samples = kept + n;
}

/** Leave out the samples before the last one up to the time of the last state. */
static void drop_older(corrections_t *c)
{
    uint32_t old = 0;
    while (old + 1 < c->samples && c->sample[old + 1].t_ns <= c->last.t_ns) old++;
    memmove(c->sample, &c->sample[old], (c->samples - old) * sizeof *c->sample);
    c->samples -= old;
}

/** Small turn from the attitude of a to that of b, in axes of the odometry frame [rad]. */
static void turn_between(const vfront_nav_t *a, const vfront_nav_t *b, double w[3])
{
    const double *p = a->q_odom_imu, *q = b->q_odom_imu; /* q = (w, 1) p: twice the vector part of q p^-1 */
    const double real = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3], sign = real < 0.0 ? -2.0 : 2.0;
    for (int i = 0; i < 3; i++) {
        const int x = 1 + i, y = 1 + (i + 1) % 3, z = 1 + (i + 2) % 3;
        w[i] = sign * (q[x] * p[0] - q[0] * p[x] - q[y] * p[z] + q[z] * p[y]);
    }
}

static void compare(corrections_t *c, const vfront_nav_t *carried, const vfront_nav_t *nav, uint64_t frame)
{
    double off[6], max = 0.0;
    for (int k = 0; k < 3; k++) off[k] = nav->position_m[k] - carried->position_m[k];
    turn_between(carried, nav, &off[3]);
    for (int k = 0; k < 6; k++) {
        const double deviations = fabs(off[k]) / sqrt(fmax(state_variance(carried, k), 1e-18));
        if (deviations > max) max = deviations;
    }
    c->count++;
    c->jumps += max > CORRECTION_JUMP;
    c->max_m = fmax(c->max_m, sqrt(off[0] * off[0] + off[1] * off[1] + off[2] * off[2]));
    c->max_rad = fmax(c->max_rad, sqrt(off[3] * off[3] + off[4] * off[4] + off[5] * off[5]));
    if (max <= c->max) return;
    c->max = max;
    c->max_frame = frame;
}

void correction_add(corrections_t *c, const vfront_imu_noise_t *noise, const vfront_frame_t *frame,
                    const vfront_result_t *result)
{
    const vfront_nav_t *nav = &result->nav;
    vfront_nav_t carried;
    append(c, frame->imu, frame->imu ? frame->imu_count : 0);
    if (!state_is_valid(nav->state)) {
        c->last.t_ns = 0;
        return;
    }
    if (c->last.t_ns && nav->reset_counter == c->last.reset_counter && c->samples &&
        vfront_propagate(&c->last, noise, c->sample, c->samples, nav->t_ns, &carried) == VFRONT_OK)
        compare(c, &carried, nav, result->frame);
    c->last = *nav;
    drop_older(c);
}
