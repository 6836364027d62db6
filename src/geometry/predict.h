/* SPDX-License-Identifier: MIT */
/* predict: the pose of camera 0 that is expected now, before the pictures are looked at, and how far off it may be.
 *
 * In      the rotation that the frame gives, if any; the last good metric motion; times
 * Out     one vfront_prediction_t: motion since the previous frame, covariance, source
 * Rule    the best that there is, in this order: the rotation given, with the translation of the last good metric
 *         motion; that motion continued at constant velocity; the rotation given alone; rest. The last motion is scaled
 *         by the ratio of both times. Its covariance grows by that ratio squared, and by a random acceleration over the
 *         time between the middles of both motions. A motion that is older than VF_PREDICT_OLD_NS is not continued.
 *         What is unknown is 0 with a wide deviation. An estimated state is to come before all of these
 * Exact   single precision in one order, roots and quotients correctly rounded; by one thread
 * Memory  the prediction
 */
#ifndef VF_PREDICT_H
#define VF_PREDICT_H

#include "core/view.h"
#include "ego.h"
#include "image/ingest.h"
#include "math/pose.h"

/** Time after which a motion is no longer continued [ns], from the frame of its result to this one. */
#define VF_PREDICT_OLD_NS 500000000u

/** Deviations of what is unknown: speed along each axis [m/s], turn rate about each [rad/s]. A drone in fast flight. */
#define VF_PREDICT_SPEED_MPS 10.0f
#define VF_PREDICT_TURN_RADPS 2.0f

/** Deviation of a rotation that is given, about each axis: floor [rad], and part of its angle: bias and noise, scale
 *  and axes of a gyro. */
#define VF_PREDICT_GIVEN_RAD 2e-3f
#define VF_PREDICT_GIVEN_PART 0.02f

/** Largest angle of a motion that is continued [rad]; a larger one is cut to it. */
#define VF_PREDICT_ANGLE_RAD 0.8f

/** What is known of the depth of a point without one: mean and standard deviation of the inverse ranges of the previous
 *  frame's key points [1/m]; 0 and 0: nothing. */
struct vf_depth_prior {
    float mean_1pm, sigma_1pm;
};

struct vf_predict_memory {
    vfront_prediction_t now; /* out */
    struct vf_depth_prior prior;
};

/* View of predict: core/view.h. */
/* clang-format off */
#define VF_READS_predict(X) X(ingest)
#define VF_BEFORE_predict(X) X(bearing) X(stereo) X(ego)
#define VF_GEOMETRY_predict(X) X(active)
#define VF_TUNING_predict(X) X(predict_speed_mmps2) X(predict_turn_mradps2)
/* clang-format on */
VF_GEOMETRY_OF(predict);
VF_TUNING_OF(predict);
struct vf_predict_view {
    VF_VIEW(predict);
    struct vf_predict_tuning tuning;
};
VF_HOST_FORM(predict);

/** Prediction that nothing is known for: rest. dt_s: time since the previous frame [s]. */
VF_FN void vf_predict_rest(float dt_s, vfront_prediction_t *p)
{
    const float t = VF_PREDICT_SPEED_MPS * dt_s, w = VF_PREDICT_TURN_RADPS * dt_s;
    memset(p, 0, sizeof *p);
    p->R[0] = p->R[4] = p->R[8] = 1.0f;
    for (int k = 0; k < 6; k++) p->covariance[vf_motion_index(k, k)] = k < 3 ? t * t : w * w;
}

/** Prediction of a step; all 0 but the identity where the stage is not active. */
VF_FN void vf_predict_result(const struct vf_predict_memory *m, uint32_t active, vfront_prediction_t *p)
{
    if (active & VF_BIT(predict))
        *p = m->now;
    else
        vf_predict_rest(0.0f, p);
}

/** Last good metric motion as it may be continued in this frame; NULL: there is none, or it is too old. */
VF_FN const struct vf_last_motion *vf_predict_last(const struct vf_predict_view *s, const struct vf_params *params)
{
#if VFRONT_EGO
    const struct vf_last_motion *last = &s->ego->last[s->parity ^ 1];
    if ((s->geometry.active & VF_BIT(ego)) && params->frame && last->dt_ns &&
        params->t_ns - last->t_ns <= VF_PREDICT_OLD_NS)
        return last;
#endif
    (void)s, (void)params;
    return NULL;
}

#if VFRONT_EGO
/** Rotation vector of R [rad], of at most VF_PREDICT_ANGLE_RAD, from the sine of its angle: arc sine to the seventh
 *  power, to 1e-3 of the angle. */
VF_FN void vf_predict_rotation_vector(const float R[9], float w[3])
{
    const float axis[3] = {0.5f * (R[7] - R[5]), 0.5f * (R[2] - R[6]), 0.5f * (R[3] - R[1])}; /* times the sine */
    const float sine2 = vf_dot(axis, axis), most2 = 0.514600f;                                /* sin(0.8)^2 */
    const int large = R[0] + R[4] + R[8] < 2.393413f || sine2 > most2;                        /* 1 + 2 cos(0.8 rad) */
    const float q = sine2 < most2 ? sine2 : most2;
    const float series = 1.0f + q * (1.0f / 6.0f + q * (3.0f / 40.0f + q * (15.0f / 336.0f + q * (105.0f / 3456.0f))));
    const float scale = large ? (sine2 > 1e-6f ? VF_PREDICT_ANGLE_RAD / sqrtf(sine2) : 0.0f) : series;
    for (int k = 0; k < 3; k++) w[k] = axis[k] * scale;
}

/** Continue a motion at constant velocity over dt_ns. */
VF_FN void vf_predict_continue(const struct vf_predict_tuning *tuning, const struct vf_last_motion *last, uint64_t t_ns,
                               uint64_t dt_ns, vfront_prediction_t *p)
{
    const float now_s = (float)dt_ns * 1e-9f, before_s = (float)last->dt_ns * 1e-9f, ratio = now_s / before_s;
    const float apart_s = (float)(t_ns - last->t_ns) * 1e-9f + 0.5f * (before_s - now_s);
    const float speed = (float)tuning->predict_speed_mmps2 * 1e-3f * apart_s * now_s,
                turn = (float)tuning->predict_turn_mradps2 * 1e-3f * apart_s * now_s;
    float w[3];
    vf_predict_rotation_vector(last->pose.R, w);
    for (int k = 0; k < 3; k++) w[k] *= ratio;
    vf_predict_rest(0.0f, p);
    vf_pose_rotate(p->R, w);
    for (int k = 0; k < 3; k++) p->t[k] = ratio * last->pose.t[k];
    for (int k = 0; k < 21; k++) p->covariance[k] = ratio * ratio * last->covariance[k];
    for (int k = 0; k < 6; k++) p->covariance[vf_motion_index(k, k)] += k < 3 ? speed * speed : turn * turn;
    p->source = VFRONT_PREDICT_MOTION;
}
#endif

/** Put the rotation that the frame gives in the place of that predicted, with its own covariance. */
VF_FN void vf_predict_turn(const float R[9], vfront_prediction_t *p)
{
    const float cosine2 = R[0] + R[4] + R[8] - 1.0f, angle2 = cosine2 < 2.0f ? 2.0f - cosine2 : 0.0f;
    const float variance = VF_PREDICT_GIVEN_RAD * VF_PREDICT_GIVEN_RAD +
                           VF_PREDICT_GIVEN_PART * VF_PREDICT_GIVEN_PART * angle2;
    for (int k = 0; k < 9; k++) p->R[k] = R[k];
    for (int i = 0; i < 6; i++)
        for (int j = vf_max(i, 3); j < 6; j++) p->covariance[vf_motion_index(i, j)] = i == j ? variance : 0.0f;
    p->source |= VFRONT_PREDICT_ROTATION;
}

/* ---- depth of points without one --------------------------------------------------------------------------------- */

/** Sums over inverse ranges: number, sum, sum of squares [1/4096 m]. Integers, so that their order does not matter. */
struct vf_depth_sums {
    uint64_t count, sum, square;
};

/** Add the range of a key point; 0: it has none. */
VF_FN void vf_predict_add_range(struct vf_depth_sums *d, float range_m)
{
    if (!(range_m > 0.0f)) return;
    const float q12 = 4096.0f / range_m;
    const uint32_t inverse = q12 < 65535.0f ? (uint32_t)(q12 + 0.5f) : 65535u;
    d->count++;
    d->sum += inverse;
    d->square += (uint64_t)inverse * inverse;
}

/** Number of the previous frame's key points whose ranges are there. */
VF_FN int32_t vf_predict_ranges(const struct vf_predict_view *s, const struct vf_params *params)
{
    return (s->geometry.active & VF_BIT(stereo)) && params->frame ? (int32_t)s->bearing->count[s->parity ^ 1][0] : 0;
}

/** Mean and deviation. */
VF_FN struct vf_depth_prior vf_predict_prior(const struct vf_depth_sums *d)
{
    struct vf_depth_prior prior = {0.0f, 0.0f};
    if (!d->count) return prior;
    const float mean = (float)d->sum / (float)d->count, square = (float)d->square / (float)d->count,
                variance = square - mean * mean;
    prior.mean_1pm = mean * (1.0f / 4096.0f);
    prior.sigma_1pm = sqrtf(variance > 0.0f ? variance : 0.0f) * (1.0f / 4096.0f);
    return prior;
}

/* ---- places of points -------------------------------------------------------------------------------------------- */

/** Where a point is expected: bearing, and standard deviation of its angle along each axis [rad]. */
struct vf_expected {
    float bearing[3], sigma;
};

/** Greatest of three variances of the prediction: of the translation (first 0), of the rotation (first 3). */
VF_FN float vf_predict_variance(const vfront_prediction_t *p, int first)
{
    const float a = p->covariance[vf_motion_index(first, first)],
                b = p->covariance[vf_motion_index(first + 1, first + 1)],
                c = p->covariance[vf_motion_index(first + 2, first + 2)];
    return a > b ? (a > c ? a : c) : b > c ? b : c;
}

/** Where a point of the previous frame is expected. inverse, sigma: its inverse range and standard deviation [1/m]. */
VF_FN struct vf_expected vf_predict_point(const vfront_prediction_t *p, const float bearing[3], float inverse,
                                          float sigma)
{
    struct vf_expected e;
    vf_transform(p->R, bearing, e.bearing);
    for (int k = 0; k < 3; k++) e.bearing[k] += inverse * p->t[k];
    vf_unit(e.bearing);
    e.sigma = sqrtf(vf_predict_variance(p, 3) + inverse * inverse * vf_predict_variance(p, 0) +
                    sigma * sigma * vf_dot(p->t, p->t));
    return e;
}

/** Predict the motion of this step. */
VF_FN void vf_predict_step(const struct vf_predict_view *s, const struct vf_params *params, vfront_prediction_t *p)
{
    vf_predict_rest((float)params->dt_ns * 1e-9f, p);
#if VFRONT_EGO
    const struct vf_last_motion *last = vf_predict_last(s, params);
    if (last) vf_predict_continue(&s->tuning, last, params->t_ns, params->dt_ns, p);
#else
    (void)s;
#endif
    if (params->rotation_given) vf_predict_turn(params->R, p);
}

#endif
