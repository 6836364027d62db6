/* SPDX-License-Identifier: MIT */
/* predict: the pose of camera 0 that is expected now, before the pictures are looked at, and how far off it may be; and
 * where a point of the previous frame is expected by it, whether its depth is known or not.
 *
 * In      the motion by the state and the readings, if there is one (state/nav_motion.h); the rotation that the frame
 *         gives, if any; the last good metric and relative motions; times; ranges and
 *         matches of the previous frame's key points
 * Out     one vfront_prediction_t: motion since the previous frame, covariance, source. What is usual for the depths of
 *         points without one, and for the parallax of points where no translation is known
 * Rule    the best that there is, in this order: the motion by the state, with R_cur_prev in the place of its rotation
 *         where the frame has one; the rotation given, with the translation of the last good metric
 *         motion; that motion continued at constant velocity; the rotation given alone; the rotation of the last good
 *         relative motion continued; rest. The last motion is scaled by the ratio of both times. Its covariance grows
 *         by that ratio squared, and by a random acceleration over the time between the middles of both motions. A
 *         motion that is older than VF_PREDICT_OLD_NS is not continued. What is unknown is 0 with a wide deviation
 *         A point of known depth is where the motion takes it. A point of unknown depth that had a match in the
 *         previous frame keeps its parallax: what was left of its displacement there after the rotation of that step,
 *         scaled by the ratio of the times and turned by the rotation expected now. Of a point without either only the
 *         spread is known: that of the depths where a translation is predicted, else that of the parallaxes
 * Exact   single precision in one order, roots and quotients correctly rounded; sums over points are of integers
 * Memory  the prediction, what is usual, the rotations given in this frame and in the previous one
 */
#ifndef VF_PREDICT_H
#define VF_PREDICT_H

#include "core/view.h"
#include "ego.h"
#include "image/freeze.h"
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

/** Depth assumed for a point without one: mean and standard deviation of the inverse ranges of the previous
 *  frame's key points [1/m]; 0 and 0: none is known. */
struct vf_depth_prior {
    float mean_1pm, sigma_1pm;
};

/** Uncertainty of the parallax of a point that had one in the previous frame, as part of it and of the usual one. */
#define VF_PREDICT_PARALLAX_PART 0.5f

/** Parallax assumed for points without a depth. */
struct vf_parallax_prior {
    float R[9];     /* rotation of the previous step, row-major; what it leaves of a displacement there is parallax */
    float ratio;    /* of the time of this step to that of the previous one; 0: that rotation is unknown */
    float spread;   /* root mean square of the parallaxes of the previous frame's matches [rad]; 1: there are none */
    uint32_t stale; /* 1: camera 0 had no new picture in the previous frame, whose matches so have none; spread is 1 */
};

/** Rotation that a frame gives. */
struct vf_given_rotation {
    float R[9];
    uint32_t given; /* 0: it gives none */
};

struct vf_predict_memory {
    vfront_prediction_t now; /* out */
    struct vf_depth_prior prior;
    struct vf_parallax_prior parallax;
    struct vf_given_rotation given[2]; /* by parity */
};

/* View of predict: core/view.h. given: parameters of the frame in pinned memory, so that it need not wait for
 * ingest. */
/* clang-format off */
#define VF_READS_predict(X)
#define VF_BEFORE_predict(X) X(freeze) X(bearing) X(stereo) X(match) X(ego)
#define VF_GEOMETRY_predict(X) X(active)
#define VF_TUNING_predict(X) X(predict_speed_mmps2) X(predict_turn_mradps2)
/* clang-format on */
VF_GEOMETRY_OF(predict);
VF_TUNING_OF(predict);
struct vf_predict_view {
    VF_VIEW(predict);
    struct vf_predict_tuning tuning;
    const struct vf_params *given;
};
VF_HOST_FORM(predict);

/** 1 if a translation is predicted. */
VF_FN int vf_predict_moves(const vfront_prediction_t *p)
{
    return (p->source & (VFRONT_PREDICT_MOTION | VFRONT_PREDICT_STATE)) != 0;
}

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

/** Last good motion of a kind, VF_LAST_METRIC or VF_LAST_RELATIVE, as it may be continued in this frame; NULL: there is
 *  none, or it is too old, or only one GPU repeats its bits (VFRONT_CUBLAS). */
VF_FN const struct vf_last_motion *vf_predict_last(const struct vf_predict_view *s, const struct vf_params *params,
                                                   int kind)
{
#if VFRONT_EGO
    const struct vf_last_motion *last = &s->ego->last[s->parity ^ 1][kind];
    const int same_bits = !VFRONT_CUBLAS || kind != VF_LAST_RELATIVE;
    if (same_bits && (s->geometry.active & VF_BIT(ego)) && params->frame && last->dt_ns &&
        params->t_ns - last->t_ns <= VF_PREDICT_OLD_NS)
        return last;
#endif
    (void)s, (void)params, (void)kind;
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

/** Put the rotation of a relative motion, continued at a constant rate, in the place of rest. */
VF_FN void vf_predict_continue_turn(const struct vf_predict_tuning *tuning, const struct vf_last_motion *last,
                                    uint64_t t_ns, uint64_t dt_ns, vfront_prediction_t *p)
{
    vfront_prediction_t turned;
    vf_predict_continue(tuning, last, t_ns, dt_ns, &turned);
    for (int k = 0; k < 9; k++) p->R[k] = turned.R[k];
    for (int k = vf_motion_index(3, 3); k < 21; k++) p->covariance[k] = turned.covariance[k];
    p->source = VFRONT_PREDICT_TURN;
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
    p->source = (p->source & (VFRONT_PREDICT_MOTION | VFRONT_PREDICT_STATE)) | VFRONT_PREDICT_ROTATION;
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

/* ---- parallax of points without a depth -------------------------------------------------------------------------- */

/** Rotation of the previous step: of the relative motion estimated in it, else that its frame gave, else of an older
 *  motion; else none, and a displacement is continued as a whole where no rotation is expected now either. */
VF_FN void vf_predict_turn_before(const struct vf_predict_view *s, const struct vf_params *params, uint32_t source,
                                  struct vf_parallax_prior *p)
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

/** Parallax of a point: what the rotation leaves of its displacement. before: its bearing there. */
VF_FN void vf_predict_parallax(const float R[9], const float bearing[3], const float before[3], float parallax[3])
{
    vf_transform(R, before, parallax);
    for (int k = 0; k < 3; k++) parallax[k] = bearing[k] - parallax[k];
}

/** Sums over parallaxes: number, sum of squares [1/16384 rad]. */
struct vf_parallax_sums {
    uint64_t count, square;
};

/** Add the parallax of a key point; before 0: it had no match. */
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

/** Root mean square of the parallaxes; 1: there are none. */
VF_FN float vf_predict_spread(const struct vf_parallax_sums *d, uint32_t stale)
{
    return d->count && !stale ? sqrtf((float)d->square / (float)d->count) * (1.0f / 16384.0f) : 1.0f;
}

/** Number of the previous frame's key points whose matches are there. */
VF_FN int32_t vf_predict_matches(const struct vf_predict_view *s, const struct vf_params *params)
{
    return (s->geometry.active & VF_BIT(match)) && params->frame ? (int32_t)s->bearing->count[s->parity ^ 1][0] : 0;
}

/* ---- places of points -------------------------------------------------------------------------------------------- */

/** Expected place of a point: bearing, and standard deviation of its angle along each axis [rad]. */
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

/** Expected place of a point of the previous frame. inverse, sigma: its inverse range and standard deviation [1/m]. */
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

/** Expected place of a point of unknown depth. before: its bearing in the frame before the previous one; 0: it had no
 *  match there. */
VF_FN struct vf_expected vf_predict_ray(const vfront_prediction_t *p, const struct vf_parallax_prior *prior,
                                        const float bearing[3], const float before[3])
{
    const int seen = prior->ratio > 0.0f && vf_dot(before, before) > 0.0f;
    const float usual = (prior->ratio > 0.0f ? prior->ratio : 1.0f) * prior->spread;
    float parallax[3] = {0.0f, 0.0f, 0.0f}, there[3];
    struct vf_expected e;
    if (seen) vf_predict_parallax(prior->R, bearing, before, parallax);
    for (int k = 0; k < 3; k++) {
        parallax[k] *= prior->ratio;
        there[k] = bearing[k] + parallax[k];
    }
    vf_transform(p->R, there, e.bearing);
    vf_unit(e.bearing);
    const float part = VF_PREDICT_PARALLAX_PART * VF_PREDICT_PARALLAX_PART, all = usual * usual;
    e.sigma = sqrtf(vf_predict_variance(p, 3) + (seen ? part * (vf_dot(parallax, parallax) + all) : all));
    return e;
}

/** Rotation that this frame gives, kept for the next one. */
VF_FN void vf_predict_keep(const struct vf_params *params, struct vf_given_rotation *given)
{
    for (int k = 0; k < 9; k++) given->R[k] = params->R[k];
    given->given = params->rotation_given;
}

/** Predict the motion of this step. */
VF_FN void vf_predict_step(const struct vf_predict_view *s, const struct vf_params *params, vfront_prediction_t *p)
{
    const int stated = params->stated.source != 0;
    vf_predict_rest((float)params->dt_ns * 1e-9f, p);
#if VFRONT_EGO
    const struct vf_last_motion *metric = vf_predict_last(s, params, VF_LAST_METRIC),
                                *relative = vf_predict_last(s, params, VF_LAST_RELATIVE);
    if (metric)
        vf_predict_continue(&s->tuning, metric, params->t_ns, params->dt_ns, p);
    else if (relative)
        vf_predict_continue_turn(&s->tuning, relative, params->t_ns, params->dt_ns, p);
#else
    (void)s;
#endif
    if (stated) *p = params->stated;
    if (params->rotation_given && (!stated || params->rotation_own)) vf_predict_turn(params->R, p);
}

#endif
