/* SPDX-License-Identifier: MIT */
/* predict: predicted motion of camera 0 since the previous frame, before the images are used, with covariance; and the
 * predicted bearing of a point of the previous frame, with or without depth.
 *
 * In      the motion of the estimator (nav/nav_motion.h), if running; the rotation given with the frame, if any; the
 *         last good metric and relative motions; times; ranges and matches of the previous frame's key points
 * Out     one vfront_prediction_t: motion, covariance, source. Priors for points without depth: of their inverse depth,
 *         or of their parallax if the predicted motion has no translation
 * Rule    - The first source available, in this order: estimator, its rotation replaced by R_cur_prev if given; given
 *           rotation with the translation of the last good metric motion; last good metric motion at constant velocity;
 *           given rotation alone; rotation of the last good relative motion at constant rate; stationary
 *         - The last motion is scaled by the ratio of the frame intervals. Its covariance is multiplied by the squared
 *           ratio. The variance of a random acceleration over the time between the middles of both intervals is added.
 *           A motion older than VF_PREDICT_AGE_MAX_NS is not extrapolated. Unknown components are 0 with a large
 *           standard deviation
 *         - A point of known depth is transformed by the motion. A point of unknown depth with a match in the previous
 *           frame is moved by its last parallax: its displacement up to the previous frame, less that by the camera's
 *           rotation. The parallax is scaled by the ratio of the intervals and rotated by the predicted rotation. Any
 *           other point gets the prior of depths, or of parallaxes without a translation
 * Exact   single precision in one order, roots and quotients correctly rounded; sums over points are of integers
 * Memory  the prediction, the priors, the rotations given in this and in the previous frame
 */
#ifndef VF_PREDICT_H
#define VF_PREDICT_H

#include "base/view.h"
#include "ego.h"
#include "geometry/prediction.h"
#include "image/freeze.h"
#include "image/ingest.h"
#include "math/pose.h"

/** Largest age of a motion that is extrapolated [ns], from its frame to the current one. */
#define VF_PREDICT_AGE_MAX_NS 500000000u

/** Standard deviation of an unknown speed along each axis [m/s], for a drone in fast flight. */
#define VF_PREDICT_SPEED_MPS 10.0f
/** Standard deviation of an unknown rotation rate about each axis [rad/s], for a drone in fast flight. */
#define VF_PREDICT_TURN_RADPS 2.0f

/** Standard deviation of the acceleration along each axis while a motion is extrapolated [m/s^2]: half of that of a
 *  small drone in a manoeuvre. */
#define VF_PREDICT_ACCEL_MPS2 5.0f
/** Standard deviation of the angular acceleration about each axis while a motion is extrapolated [rad/s^2]: half of
 *  that of a small drone in a manoeuvre. */
#define VF_PREDICT_TURN_RADPS2 10.0f

/** Largest angle of an extrapolated rotation [rad]; a larger angle is clamped. */
#define VF_PREDICT_ANGLE_RAD 0.8f

/* View of stage predict, by the macros of base/view.h. given: parameters of the frame in pinned memory, so that predict
 * need not wait for ingest. */
/* clang-format off */
#define VF_READS_predict(X)
#define VF_BEFORE_predict(X) X(freeze) X(bearing) X(stereo) X(match) X(ego)
#define VF_GEOMETRY_predict(X) X(active)
#define VF_TUNING_predict(X)
/* clang-format on */
VF_GEOMETRY_OF(predict);
struct vf_predict_view {
    VF_VIEW(predict);
    const struct vf_params *given;
};
VF_HOST_FORM(predict);

/** Predicts an unknown motion: identity with a large covariance. dt_s: time since the previous frame [s]. */
VF_FN void vf_predict_stationary(float dt_s, vfront_prediction_t *p)
{
    const float t = VF_PREDICT_SPEED_MPS * dt_s, w = VF_PREDICT_TURN_RADPS * dt_s;
    memset(p, 0, sizeof *p);
    p->R[0] = p->R[4] = p->R[8] = 1.0f;
    for (int k = 0; k < 6; k++) p->covariance[vf_motion_index(k, k)] = k < 3 ? t * t : w * w;
}

/** Copies the predicted motion of a frame; identity with covariance 0 if predict is off. */
VF_FN void vf_predict_result(const struct vf_predict_memory *m, uint32_t active, vfront_prediction_t *p)
{
    if (active & VF_BIT(predict))
        *p = m->now;
    else
        vf_predict_stationary(0.0f, p);
}

/** Last good motion to extrapolate in this frame. kind: VF_LAST_METRIC or VF_LAST_RELATIVE. NULL: no motion, too old,
 *  or not reproducible on other devices (VFRONT_CUBLAS). */
VF_FN const struct vf_last_motion *vf_predict_last(const struct vf_predict_view *s, const struct vf_params *params,
                                                   int kind)
{
#if VFRONT_EGO
    const struct vf_last_motion *last = &s->ego->last[s->parity ^ 1][kind];
    const int same_bits = !VFRONT_CUBLAS || kind != VF_LAST_RELATIVE;
    if (same_bits && (s->geometry.active & VF_BIT(ego)) && params->frame && last->dt_ns &&
        params->t_ns - last->t_ns <= VF_PREDICT_AGE_MAX_NS)
        return last;
#endif
    (void)s, (void)params, (void)kind;
    return NULL;
}

#if VFRONT_EGO
/** Rotation vector of R [rad], clamped to VF_PREDICT_ANGLE_RAD: arc sine series to the ninth power of the sine,
 *  accurate to 1e-3 of the angle. */
VF_FN void vf_predict_rotation_vector(const float R[9], float w[3])
{
    /* rotation axis times the sine of the angle */
    const float axis[3] = {0.5f * (R[7] - R[5]), 0.5f * (R[2] - R[6]), 0.5f * (R[3] - R[1])};
    const float sine2 = vf_dot(axis, axis), most2 = 0.514600f;         /* most2: sin(0.8 rad)^2 */
    const int large = R[0] + R[4] + R[8] < 2.393413f || sine2 > most2; /* trace: 1 + 2 cos(0.8 rad) */
    const float q = sine2 < most2 ? sine2 : most2;
    const float series = 1.0f + q * (1.0f / 6.0f + q * (3.0f / 40.0f + q * (15.0f / 336.0f + q * (105.0f / 3456.0f))));
    const float scale = large ? (sine2 > 1e-6f ? VF_PREDICT_ANGLE_RAD / sqrtf(sine2) : 0.0f) : series;
    for (int k = 0; k < 3; k++) w[k] = axis[k] * scale;
}

/** Extrapolates the last motion at constant velocity over the frame interval dt_ns, to the frame at t_ns [ns]. */
VF_FN void vf_predict_continue(const struct vf_last_motion *last, uint64_t t_ns, uint64_t dt_ns, vfront_prediction_t *p)
{
    const float now_s = (float)dt_ns * 1e-9f, before_s = (float)last->dt_ns * 1e-9f, ratio = now_s / before_s;
    const float apart_s = (float)(t_ns - last->t_ns) * 1e-9f + 0.5f * (before_s - now_s);
    const float speed = VF_PREDICT_ACCEL_MPS2 * apart_s * now_s, turn = VF_PREDICT_TURN_RADPS2 * apart_s * now_s;
    float w[3];
    vf_predict_rotation_vector(last->pose.R, w);
    for (int k = 0; k < 3; k++) w[k] *= ratio;
    vf_predict_stationary(0.0f, p);
    vf_pose_rotate(p->R, w);
    for (int k = 0; k < 3; k++) p->t[k] = ratio * last->pose.t[k];
    for (int k = 0; k < 21; k++) p->covariance[k] = ratio * ratio * last->covariance[k];
    for (int k = 0; k < 6; k++) p->covariance[vf_motion_index(k, k)] += k < 3 ? speed * speed : turn * turn;
    p->source = VFRONT_PREDICT_MOTION;
}

/** Replaces the rotation of a stationary prediction by that of a relative motion, extrapolated at constant rate. */
VF_FN void vf_predict_continue_rotation(const struct vf_last_motion *last, uint64_t t_ns, uint64_t dt_ns,
                                        vfront_prediction_t *p)
{
    vfront_prediction_t turned;
    vf_predict_continue(last, t_ns, dt_ns, &turned);
    for (int k = 0; k < 9; k++) p->R[k] = turned.R[k];
    for (int k = vf_motion_index(3, 3); k < 21; k++) p->covariance[k] = turned.covariance[k];
    p->source = VFRONT_PREDICT_TURN;
}
#endif

/** Replaces the predicted rotation and its covariance by those of the rotation given with the frame. */
VF_FN void vf_predict_use_rotation(const struct vf_params *params, vfront_prediction_t *p)
{
    for (int k = 0; k < 9; k++) p->R[k] = params->R[k];
    for (int i = 0; i < 3; i++)
        for (int j = 3; j < 6; j++) p->covariance[vf_motion_index(i, j)] = 0.0f;
    for (int k = 0; k < 6; k++) p->covariance[15 + k] = params->rotation_covariance[k];
    p->source = (p->source & (VFRONT_PREDICT_MOTION | VFRONT_PREDICT_STATE)) | VFRONT_PREDICT_ROTATION;
}

/* ---- depth prior ------------------------------------------------------------------------------------------------- */

/** Sums over inverse ranges, in units of 1/4096 per m. Integers, so that the order of summation does not matter. */
struct vf_depth_sums {
    uint64_t count, sum, square; /* number of ranges; sum of inverse ranges; sum of their squares */
};

/** Adds the inverse range of a key point to the sums. range_m: 0 if unknown, which adds nothing. */
VF_FN void vf_predict_add_range(struct vf_depth_sums *d, float range_m)
{
    if (!(range_m > 0.0f)) return;
    const float q12 = 4096.0f / range_m;
    const uint32_t inverse = q12 < 65535.0f ? (uint32_t)(q12 + 0.5f) : 65535u;
    d->count++;
    d->sum += inverse;
    d->square += (uint64_t)inverse * inverse;
}

/** Number of stereo ranges of the previous frame, one per key point of camera 0; 0 without stereo. */
VF_FN int32_t vf_predict_ranges(const struct vf_predict_view *s, const struct vf_params *params)
{
    return (s->geometry.active & VF_BIT(stereo)) && params->frame ? (int32_t)s->bearing->count[s->parity ^ 1][0] : 0;
}

/** Mean and standard deviation of the inverse ranges [1/m]; 0 without ranges. */
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

/* ---- parallax prior ---------------------------------------------------------------------------------------------- */

/** Finds the camera's rotation from the frame before the previous one to the previous one. Sources in this order:
 *  relative motion estimated in the previous frame; rotation given with that frame; an older relative motion. Without
 *  any source, and without a predicted rotation of this frame (source 0), a point's whole displacement is
 *  extrapolated. */
VF_FN void vf_predict_previous_rotation(const struct vf_predict_view *s, const struct vf_params *params,
                                        uint32_t source, struct vf_parallax_prior *p)
{
    const struct vf_last_motion *last = vf_predict_last(s, params, VF_LAST_RELATIVE);
    const struct vf_given_rotation *given = &s->predict->given[s->parity ^ 1];
    const int recent = last && params->t_ns - last->t_ns == params->dt_ns, use_given = params->frame && given->given;
    for (int k = 0; k < 9; k++) p->R[k] = k % 4 ? 0.0f : 1.0f;
    p->ratio = source ? 0.0f : 1.0f;
    p->stale = params->frame && s->freeze->frames[s->parity ^ 1][0] > 0;
    if (p->stale) {
        p->ratio = 0.0f;
        return;
    }
    if (recent || (last && !use_given)) {
        for (int k = 0; k < 9; k++) p->R[k] = last->pose.R[k];
        p->ratio = (float)params->dt_ns / (float)last->dt_ns;
    } else if (use_given) {
        for (int k = 0; k < 9; k++) p->R[k] = given->R[k];
        p->ratio = 1.0f;
    }
}

/** Sums over parallaxes, in units of 1/16384 rad. */
struct vf_parallax_sums {
    uint64_t count, square; /* number of parallaxes; sum of their squares */
};

/** Adds the parallax of a key point of the previous frame to the sums. before: bearing of its match in the frame
 *  before; 0: no match. */
VF_FN void vf_predict_add_parallax(struct vf_parallax_sums *d, const float R[9], const float bearing[3],
                                   const float before[3])
{
    float parallax[3];
    if (!(vf_dot(before, before) > 0.0f)) return;
    vf_predict_parallax(R, bearing, before, parallax);
    const float q14 = 16384.0f * sqrtf(vf_dot(parallax, parallax));
    const uint32_t length = q14 < 16384.0f ? (uint32_t)(q14 + 0.5f) : 16384u;
    d->count++;
    d->square += (uint64_t)length * length;
}

/** Root mean square parallax [rad]; 1 if no parallax was summed, or if the previous image was stale. */
VF_FN float vf_predict_parallax_rms(const struct vf_parallax_sums *d, uint32_t stale)
{
    return d->count && !stale ? sqrtf((float)d->square / (float)d->count) * (1.0f / 16384.0f) : 1.0f;
}

/** Number of key points of camera 0 in the previous frame, each with an entry for its match; 0 if match is off. */
VF_FN int32_t vf_predict_matches(const struct vf_predict_view *s, const struct vf_params *params)
{
    return (s->geometry.active & VF_BIT(match)) && params->frame ? (int32_t)s->bearing->count[s->parity ^ 1][0] : 0;
}

/* ---- prediction -------------------------------------------------------------------------------------------------- */

/** Stores the rotation given with this frame for the next one. */
VF_FN void vf_predict_keep(const struct vf_params *params, struct vf_given_rotation *given)
{
    for (int k = 0; k < 9; k++) given->R[k] = params->R[k];
    given->given = params->rotation_given;
}

/** Predicts the motion of this frame from the first available source, in the order given in the head of this file. */
VF_FN void vf_predict_step(const struct vf_predict_view *s, const struct vf_params *params, vfront_prediction_t *p)
{
    const int state_motion = params->state_motion.source != 0;
    vf_predict_stationary((float)params->dt_ns * 1e-9f, p);
#if VFRONT_EGO
    const struct vf_last_motion *metric = vf_predict_last(s, params, VF_LAST_METRIC),
                                *relative = vf_predict_last(s, params, VF_LAST_RELATIVE);
    if (metric)
        vf_predict_continue(metric, params->t_ns, params->dt_ns, p);
    else if (relative)
        vf_predict_continue_rotation(relative, params->t_ns, params->dt_ns, p);
#else
    (void)s;
#endif
    if (state_motion) *p = params->state_motion;
    if (params->rotation_given && (!state_motion || params->rotation_explicit)) vf_predict_use_rotation(params, p);
}

#endif
