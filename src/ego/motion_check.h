/* SPDX-License-Identifier: MIT */
/* ego, motion_check: consistency of the relative and the metric motion. They are checked against each other, the
 * frame's rotation prior, the previous motions, and the running mean of the share of inliers.
 *
 * In      both motions as assessed; parameters of the frame; whether its image is a repetition; running means up to the
 *         previous frame
 * Out     flags of contradictions; the weaker motion invalidated; updated running means
 * Rule    - Rotations contradict if their squared Mahalanobis distance exceeds VF_MOTION_CHECK_ROTATION_CHI2. The
 *           prior's covariance is that of imu/gyro_errors.h
 *         - Directions of translation contradict by the angle between them. The bound is VF_MOTION_CHECK_SIGMAS of both
 *           covariances plus a floor, because the motions share their correspondences
 *         - A motion that contradicts the prior is invalidated, even if both motions do: late images look like a faulty
 *           gyro. If only the motions contradict each other, the one with the smaller share of inliers is invalidated.
 *           The metric motion is invalidated if the shares are equal, or if it was found with the wide inlier bound.
 *           Inliers of the wide bound are not comparable and do not enter the running mean
 *         - An image equal to one older than the previous frame's shows that images are late. Motions then belong to
 *           another time than their timestamps. They are invalidated until a motion over several frame intervals makes
 *           up for the delay
 *         - A metric motion that needs an acceleration beyond the bound is invalidated. The next metric motion is valid
 *           if it is consistent with the invalidated one
 * Exact   single precision in one order, by one thread
 * Memory  struct vf_running_means, in struct vf_ego_memory
 */
#ifndef VF_MOTION_CHECK_H
#define VF_MOTION_CHECK_H

#include "rate_check.h"
#include "math/angle.h"
#include "math/chi2.h"

#define VF_MOTION_CHECK_SIGMAS 5.0f /* number of standard deviations by which two consistent values may differ */
/* standard deviation added to the difference of the rotations of two motions, about each axis [rad] */
#define VF_MOTION_CHECK_ROTATION_RAD 1e-3f
/* largest squared Mahalanobis distance of two consistent rotations: 3 degrees of freedom, probability 1e-6 */
#define VF_MOTION_CHECK_ROTATION_CHI2 ((float)VF_CHI2_3_E6)
/* number of frames without a repeated image after which images no longer count as late */
#define VF_MOTION_CHECK_LATE_FRAMES 64
/* least bound on the angle between the directions of two translations [rad] */
#define VF_MOTION_CHECK_DIRECTION_RAD 0.1f
/* least share of inliers of a valid motion, relative to the running mean of that share [%] */
#define VF_MOTION_CHECK_SHARE_PERCENT 40
#define VF_MOTION_CHECK_FRAMES 16 /* averaging length of the running means [motions that were valid] */
/* averaging length of the mean share of inliers while shares are too low [motions] */
#define VF_MOTION_CHECK_FOLLOWS 64

/** Sum over the three axes of the variances of a motion: of its translation [m^2] (first 0) or rotation [rad^2] (first
 *  3). */
VF_FN float vf_motion_check_variance(const vfront_motion_t *m, int first)
{
    return first ? m->covariance[15] + m->covariance[18] + m->covariance[20]
                 : m->covariance[0] + m->covariance[6] + m->covariance[11];
}

/** Rotation vector of A B^T [rad], of an angle up to pi; at pi itself a vector along x. */
VF_FN void vf_motion_check_difference(const float A[9], const float B[9], float w[3])
{
    float D[9];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) D[3 * i + k] = vf_dot(A + 3 * i, B + 3 * k);
    const float axis[3] = {0.5f * (D[7] - D[5]), 0.5f * (D[2] - D[6]), 0.5f * (D[3] - D[1])}; /* times the sine */
    const float sine = sqrtf(vf_dot(axis, axis)), cosine = 0.5f * (D[0] + D[4] + D[8] - 1.0f);
    const float angle = vf_atan2f(sine, cosine), scale = sine > 0.0f ? angle / sine : 0.0f;
    for (int k = 0; k < 3; k++) w[k] = scale * axis[k];
    if (!(sine > 0.0f)) w[0] = angle;
}

/** Squared Mahalanobis distance of a rotation vector w [rad]. A, B: covariances, upper triangles by rows [rad^2]; more:
 *  variance about each axis [rad^2]. The covariance of w is the sum of the three. */
VF_FN float vf_motion_check_distance2(const float w[3], const float A[6], const float B[6], float more)
{
    const float a = sqrtf(A[0] + B[0] + more), b = (A[1] + B[1]) / a, c = (A[2] + B[2]) / a;
    const float d = sqrtf(A[3] + B[3] + more - b * b), e = (A[4] + B[4] - b * c) / d;
    const float f = sqrtf(A[5] + B[5] + more - c * c - e * e);
    const float x = w[0] / a, y = (w[1] - b * x) / d, z = (w[2] - c * x - e * y) / f;
    return x * x + y * y + z * z;
}

/** 1 if two rotations contradict. A, B, more: as in vf_motion_check_distance2(). */
VF_FN int vf_motion_check_rotations_differ(const float R[9], const float A[6], const float S[9], const float B[6],
                                           float more)
{
    float w[3];
    vf_motion_check_difference(R, S, w);
    return !(vf_motion_check_distance2(w, A, B, more) <= VF_MOTION_CHECK_ROTATION_CHI2); /* also for NaN */
}

/** 1 if the rotation of a motion contradicts the rotation prior of its frame. */
VF_FN int vf_motion_check_prior_differs(const vfront_motion_t *m, const struct vf_params *params)
{
    return vf_motion_check_rotations_differ(m->R, m->covariance + 15, params->R, params->rotation_covariance, 0.0f);
}

/** 1 if the rotations of both motions contradict. Their difference has VF_MOTION_CHECK_ROTATION_RAD about each axis
 *  beyond both covariances, because the motions fit different models to partly the same correspondences. */
VF_FN int vf_motion_check_motions_differ(const vfront_motion_t *relative, const vfront_motion_t *metric)
{
    return vf_motion_check_rotations_differ(relative->R, relative->covariance + 15, metric->R, metric->covariance + 15,
                                            VF_MOTION_CHECK_ROTATION_RAD * VF_MOTION_CHECK_ROTATION_RAD);
}

/** 1 if the directions of translation of both motions contradict. A metric translation below its uncertainty and a
 *  relative translation that is weak or ambiguous have no direction. */
VF_FN int vf_motion_check_directions_differ(const vfront_motion_t *relative, const vfront_motion_t *metric)
{
    const float length2 = vf_dot(metric->t, metric->t), variance = vf_motion_check_variance(metric, 0),
                bound = VF_MOTION_CHECK_SIGMAS * VF_MOTION_CHECK_SIGMAS;
    const uint32_t vague = VFRONT_MOTION_STILL | VFRONT_MOTION_PLANE | VFRONT_MOTION_PARALLAX;
    float across[3];
    if (relative->flags & vague || length2 <= bound * variance) return 0;
    vf_cross(relative->t, metric->t, across);
    const float sine2 = vf_dot(across, across) / length2,
                most = bound * (variance / length2 + vf_motion_check_variance(relative, 0)) +
                       VF_MOTION_CHECK_DIRECTION_RAD * VF_MOTION_CHECK_DIRECTION_RAD;
    return sine2 > most || (vf_dot(relative->t, metric->t) < 0.0f && most < 0.5f);
}

/** Invalidates a motion: sets state VFRONT_MOTION_UNSURE and the flag of the reason, and clears its values. */
VF_FN void vf_motion_check_invalidate(vfront_motion_t *m, uint32_t flag)
{
    const uint32_t kept = VFRONT_MOTION_STEREO | VFRONT_MOTION_ONE_GPU | VFRONT_MOTION_CONTRADICTS |
                          VFRONT_MOTION_PRIOR | VFRONT_MOTION_OUTLIERS | VFRONT_MOTION_LATE | VFRONT_MOTION_JUMP;
    m->state = VFRONT_MOTION_UNSURE;
    m->flags = (m->flags & kept) | flag;
    m->others = 0;
    m->rms_px = 0.0f;
    m->parallax_px = 0.0f;
    for (int i = 0; i < 9; i++) m->R[i] = i % 4 == 0 ? 1.0f : 0.0f;
    for (int i = 0; i < 3; i++) m->t[i] = 0.0f;
    for (int i = 0; i < 21; i++) m->covariance[i] = 0.0f;
}

VF_FN int vf_motion_check_known(const vfront_motion_t *m)
{
    return m->state == VFRONT_MOTION_GOOD || m->state == VFRONT_MOTION_ROTATION;
}

/** Invalidates a motion whose share of inliers is far below its running mean. Returns the updated mean [1/256
 *  permille]. */
VF_FN struct vf_mean_share vf_motion_check_share(vfront_motion_t *m, const struct vf_mean_share *before)
{
    struct vf_mean_share u = *before;
    if (!vf_motion_check_known(m)) return u;
    const uint32_t permille = m->inliers * 1000u / (m->pairs ? m->pairs : 1);
    const int few = u.frames == VF_MOTION_CHECK_FRAMES &&
                    permille * 25600u < u.permille_q8 * VF_MOTION_CHECK_SHARE_PERCENT;
    if (!(m->flags & VFRONT_MOTION_WIDE)) {
        u.frames = (uint32_t)vf_min((int32_t)u.frames + 1, VF_MOTION_CHECK_FRAMES);
        u.permille_q8 = vf_mean_update(u.permille_q8, permille << 8, few ? VF_MOTION_CHECK_FOLLOWS : (int32_t)u.frames);
    }
    if (few) vf_motion_check_invalidate(m, VFRONT_MOTION_OUTLIERS);
    return u;
}

/* ---- motions inconsistent with their time ------------------------------------------------------------------------ */

/** Inputs of the checks, besides motions and previous frames. */
struct vf_motion_check_input {
    const struct vf_params *params;
    uint32_t repeated; /* age of the older image that camera 0 repeats, 2 or more [frames]; 0: no older image */
    float jump_mps2;   /* largest plausible acceleration of the camera [m/s^2]; 0: unlimited */
};
VF_FN struct vf_motion_check_input vf_motion_check_input_of(const struct vf_ego_view *s, const struct vf_params *params)
{
    const struct vf_motion_check_input input = {params, s->freeze->repeated[s->parity][0],
                                                (float)s->tuning.ego_jump_mmps2 * 0.001f};
    return input;
}

/** Velocities of the metric motion of a frame if it is good, else rotation rate of the relative motion. */
VF_FN struct vf_ego_velocity vf_motion_check_velocity(const struct vf_params *params, const vfront_motion_t *relative,
                                                      const vfront_motion_t *metric)
{
    const float identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, dt_s = (float)params->dt_ns * 1e-9f;
    const int good = metric->state == VFRONT_MOTION_GOOD, known = good || vf_motion_check_known(relative);
    const vfront_motion_t *m = good ? metric : relative;
    struct vf_ego_velocity v;
    memset(&v, 0, sizeof v);
    if (!known || !(dt_s > 0.0f)) return v;
    vf_motion_check_difference(m->R, identity, v.turn_radps);
    for (int k = 0; k < 3; k++) {
        v.turn_radps[k] /= dt_s;
        v.speed_mps[k] = good ? m->t[k] / dt_s : 0.0f;
    }
    v.turn_variance = vf_motion_check_variance(m, 3) / (dt_s * dt_s);
    v.speed_variance = good ? vf_motion_check_variance(m, 0) / (dt_s * dt_s) : 0.0f;
    v.known = good ? 2 : 1;
    v.t_ns = params->t_ns;
    return v;
}

/** Velocity of an earlier frame in the camera axes of this frame [m/s]. The rotation rate of this frame, in v, is
 *  assumed since the earlier frame. */
VF_FN void vf_motion_check_turned(const struct vf_ego_velocity *v, const struct vf_ego_velocity *before,
                                  float turned[3])
{
    const float *s = before->speed_mps, time_s = (float)(v->t_ns - before->t_ns) * 1e-9f;
    float across[3];
    vf_cross(v->turn_radps, s, across);
    for (int k = 0; k < 3; k++) turned[k] = s[k] + across[k] * time_s;
}

/** 1 if the change of velocity since an earlier frame needs an acceleration above most_mps2 [m/s^2]. */
VF_FN int vf_motion_check_jumps(const struct vf_ego_velocity *v, const struct vf_ego_velocity *before, float most_mps2)
{
    float turned[3], apart[3];
    if (!(most_mps2 > 0.0f) || v->known < 2 || before->known < 2) return 0;
    vf_motion_check_turned(v, before, turned);
    for (int k = 0; k < 3; k++) apart[k] = v->speed_mps[k] - turned[k];
    const float most = most_mps2 * ((float)(v->t_ns - before->t_ns) * 1e-9f) +
                       VF_MOTION_CHECK_SIGMAS * sqrtf(v->speed_variance + before->speed_variance);
    return vf_dot(apart, apart) > most * most;
}

/** 1 if late images catch up: the motion of this frame spans several frame intervals. The velocity `now` is then closer
 *  to `times` + 1 times the previous velocity than to the previous velocity, and the two differ significantly. */
VF_FN int vf_motion_check_catches_up(const float now[3], const float before[3], float variance, uint32_t times)
{
    const float half = 0.5f * (float)times, square = vf_dot(before, before);
    return half * half * square > VF_MOTION_CHECK_SIGMAS * VF_MOTION_CHECK_SIGMAS * variance &&
           vf_dot(now, before) > (1.0f + half) * square;
}

/** Updates the number of frames by which the images are late. A repeated image shows this number. It becomes 0 after a
 *  motion that makes up for the delay, or after VF_MOTION_CHECK_LATE_FRAMES frames without repetition. Returns 1 if the
 *  motion of this frame belongs to another time than its timestamp. */
VF_FN int vf_motion_check_late(struct vf_running_means *now, const struct vf_running_means *was,
                               const struct vf_ego_velocity *v, const struct vf_motion_check_input *input)
{
    const struct vf_ego_velocity *before = &was->velocity;
    now->late = input->repeated ? input->repeated : was->late;
    now->late_frames = input->repeated ? 0 : was->late_frames + (was->late > 0);
    if (input->repeated || !was->late) return now->late > 0;
    const int caught = (v->known > 1 && before->known > 1 &&
                        vf_motion_check_catches_up(v->speed_mps, before->speed_mps, v->speed_variance, was->late)) ||
                       (v->known && before->known &&
                        vf_motion_check_catches_up(v->turn_radps, before->turn_radps, v->turn_variance, was->late));
    if (caught || now->late_frames >= VF_MOTION_CHECK_LATE_FRAMES) now->late = 0;
    return now->late || caught;
}

/** Invalidates the motions of a frame if the images are late, and a metric motion that needs too large an acceleration.
 *  A motion that agrees with the invalidated motion of the previous frame is kept. */
VF_FN void vf_motion_check_follow(const struct vf_motion_check_input *input, vfront_motion_t *relative,
                                  vfront_motion_t *metric, struct vf_running_means *now,
                                  const struct vf_running_means *was)
{
    const struct vf_ego_velocity v = vf_motion_check_velocity(input->params, relative, metric);
    const int late = vf_motion_check_late(now, was, &v, input), changed = now->late != was->late;
    const int jumps = vf_motion_check_jumps(&v, &was->velocity, input->jump_mps2) &&
                      (!was->jumped.known || vf_motion_check_jumps(&v, &was->jumped, input->jump_mps2));
    now->velocity = v.known && !changed && !jumps ? v : was->velocity;
    if (jumps) now->jumped = v;
    if (late && vf_motion_check_known(relative)) vf_motion_check_invalidate(relative, VFRONT_MOTION_LATE);
    if (late && metric->state == VFRONT_MOTION_GOOD) vf_motion_check_invalidate(metric, VFRONT_MOTION_LATE);
    if (jumps && !late) vf_motion_check_invalidate(metric, VFRONT_MOTION_JUMP);
}

/* ---- all checks -------------------------------------------------------------------------------------------------- */

/** Checks both motions against the prior, if given, and against each other. */
VF_FN void vf_motion_check_compare(const struct vf_params *params, vfront_motion_t *relative, vfront_motion_t *metric)
{
    const int known = vf_motion_check_known(relative), good = metric->state == VFRONT_MOTION_GOOD;
    const int differ = known && good &&
                       (vf_motion_check_motions_differ(relative, metric) ||
                        (relative->state == VFRONT_MOTION_GOOD && vf_motion_check_directions_differ(relative, metric)));
    const int given = params->rotation_given != 0;
    const int turned[2] = {given && known && vf_motion_check_prior_differs(relative, params),
                           given && good && vf_motion_check_prior_differs(metric, params)};
    const int fewer = !(metric->flags & VFRONT_MOTION_WIDE) &&
                      (uint64_t)relative->inliers * metric->pairs < (uint64_t)metric->inliers * relative->pairs;
    /* motion to invalidate if both contradict each other: 1: relative, 2: metric; 0: neither */
    const int weaker = differ && !turned[0] && !turned[1] ? (fewer ? 1 : 2) : 0;
    if (differ) relative->flags |= VFRONT_MOTION_CONTRADICTS;
    if (differ) metric->flags |= VFRONT_MOTION_CONTRADICTS;
    if (turned[0] || weaker == 1) vf_motion_check_invalidate(relative, turned[0] ? VFRONT_MOTION_PRIOR : 0);
    if (turned[1] || weaker == 2) vf_motion_check_invalidate(metric, turned[1] ? VFRONT_MOTION_PRIOR : 0);
}

/** Invalidates each motion whose share of inliers is far below the running mean. w: out, rotation vector of the metric
 *  motion if good, else of the relative one [rad], for vf_rate_check_step(). Returns 1 if w is known to
 *  VF_RATE_CHECK_RADPS; 0 for late images, whose motion belongs to another time. */
VF_FN int vf_motion_check_shares(const struct vf_motion_check_input *input, vfront_motion_t *relative,
                                 vfront_motion_t *metric, struct vf_running_means *now,
                                 const struct vf_running_means *was, float w[3])
{
    const float identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    now->share[0] = vf_motion_check_share(relative, &was->share[0]);
    now->share[1] = vf_motion_check_share(metric, &was->share[1]);
    const int good = metric->state == VFRONT_MOTION_GOOD, late = input->repeated || was->late;
    const vfront_motion_t *own = good ? metric : relative;
    const float most_rad = VF_RATE_CHECK_RADPS * (float)input->params->dt_ns * 1e-9f;
    vf_motion_check_difference(own->R, identity, w);
    return !late && (good || vf_motion_check_known(relative)) && vf_motion_check_variance(own, 3) < most_rad * most_rad;
}

/** Checks the motions against their time, the rotation prior and each other. now: out, running means except `rates` and
 *  `share`. */
VF_FN void vf_motion_check_hold(const struct vf_motion_check_input *input, vfront_motion_t *relative,
                                vfront_motion_t *metric, struct vf_running_means *now,
                                const struct vf_running_means *was)
{
    memset(&now->jumped, 0, sizeof now->jumped);
    vf_motion_check_follow(input, relative, metric, now, was);
    vf_motion_check_compare(input->params, relative, metric);
}

/** Runs all checks on the motions of a frame, by one thread. now, before: running means after this and after the
 *  previous frame. The kernel calls the steps itself, to run rate_check.h in parallel. */
VF_FN void vf_motion_check_assess(const struct vf_motion_check_input *input, vfront_motion_t *relative,
                                  vfront_motion_t *metric, struct vf_running_means *now,
                                  const struct vf_running_means *before)
{
    struct vf_running_means was;
    float w[3];
    memset(&was, 0, sizeof was);
    if (input->params->frame) was = *before;
    *now = was;
    const int known = vf_motion_check_shares(input, relative, metric, now, &was, w);
    vf_rate_check_step(&now->rates, input->params, known ? w : NULL);
    vf_motion_check_hold(input, relative, metric, now, &was);
}

#endif
