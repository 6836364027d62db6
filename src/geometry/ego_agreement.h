/* SPDX-License-Identifier: MIT */
/* ego, agreement: the relative and the metric motion of a step against one another, against the frame's rotation prior,
 * and against the usual share of inliers.
 *
 * In      both motions as the assessment left them; parameters of the frame; whether its picture came before; what was
 *         usual up to the frame before
 * Out     flags where they contradict; the weaker motion withdrawn; what is usual now
 * Rule    Rotations contradict by the Mahalanobis distance of their difference, directions of translation by the angle
 *         between them, each over VF_AGREEMENT_SIGMAS of both covariances and a floor, since a prior has no covariance
 *         and the motions share their correspondences. A motion that contradicts the prior is withdrawn, both if both
 *         do: pictures that are late look like a gyro that is wrong. If only the motions contradict one another, the
 *         one with the smaller share of inliers is, the metric one if equal or
 *         found with the wide bound, whose inliers are no measure beside the other's and do not enter the usual share
 *         The difference to the prior has a mean, a gyro's bias, and a spread. Once both are known, from
 *         VF_AGREEMENT_FRAMES motions, another difference contradicts as well: that of pictures that are late is the
 *         change of the rotation within the delay, much less than the bounds that hold for any gyro
 *         A picture that came before, but not in the frame before, says that pictures are late: motions are right, but
 *         of another time than the stamps name. They are withdrawn until one makes up for the delay
 *         A metric motion that no acceleration up to a bound connects with the one before is withdrawn; a second one
 *         that agrees with it stands
 * Exact   single precision in one order, by one thread
 * Memory  shares of inliers, in struct vf_ego_memory
 */
#ifndef VF_EGO_AGREEMENT_H
#define VF_EGO_AGREEMENT_H

#include "ego_turns.h"

#define VF_AGREEMENT_SIGMAS 5.0f        /* standard deviations up to which two values agree */
#define VF_AGREEMENT_ROTATION_RAD 1e-3f /* floor between rotations of two motions [rad] */
#define VF_AGREEMENT_PRIOR_RAD 5e-3f    /* floor between a motion's rotation and the prior [rad] */
#define VF_AGREEMENT_PRIOR_PERCENT 5    /* and part of the prior's angle: scale and axes of a gyro [%] */
#define VF_AGREEMENT_LATE_PERCENT 25    /* and part of its change since the frame before: clock of the gyro [%] */
#define VF_AGREEMENT_USUAL_RAD 5e-4f    /* floor of what usually differs from the prior [rad] */
#define VF_AGREEMENT_USUAL_PERCENT 2    /* and part of the prior's angle, once that is known: scale of a gyro [%] */
#define VF_AGREEMENT_DOUBTS 64          /* frames in doubt in a row after which another difference becomes usual */
#define VF_AGREEMENT_LATE_FRAMES 64     /* frames without an older picture after which pictures count as timely again */
#define VF_AGREEMENT_DIRECTION_RAD 0.1f /* floor between directions of translation [rad] */
#define VF_AGREEMENT_SHARE_PERCENT 40   /* least share of inliers, of the usual one [%] */
#define VF_AGREEMENT_FRAMES 16          /* good motions over which that is averaged */
#define VF_AGREEMENT_FOLLOWS 64         /* the same while motions are withdrawn for it */

/** Sum of the variances of the translation (first 0) or of the rotation (first 3) of a motion. */
VF_FN float vf_agreement_variance(const vfront_motion_t *m, int first)
{
    return first ? m->covariance[15] + m->covariance[18] + m->covariance[20]
                 : m->covariance[0] + m->covariance[6] + m->covariance[11];
}

/** Rotation vector of A B^T for angles below 0.5 rad; of a larger one 1 rad about x. */
VF_FN void vf_agreement_difference(const float A[9], const float B[9], float w[3])
{
    float D[9];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) D[3 * i + k] = vf_dot(A + 3 * i, B + 3 * k);
    const float trace = D[0] + D[4] + D[8];
    const int small = trace > 2.755f; /* 1 + 2 cos(0.5 rad) */
    w[0] = small ? 0.5f * (D[7] - D[5]) : 1.0f;
    w[1] = small ? 0.5f * (D[2] - D[6]) : 0.0f;
    w[2] = small ? 0.5f * (D[3] - D[1]) : 0.0f;
}

/** 1 if the rotations of two motions contradict: squared angle against the variance in all directions. */
VF_FN int vf_agreement_rotations_differ(const vfront_motion_t *a, const vfront_motion_t *b)
{
    float w[3];
    vf_agreement_difference(a->R, b->R, w);
    const float variance = vf_agreement_variance(a, 3) + vf_agreement_variance(b, 3);
    return vf_dot(w, w) > VF_AGREEMENT_SIGMAS * VF_AGREEMENT_SIGMAS *
                              (variance + VF_AGREEMENT_ROTATION_RAD * VF_AGREEMENT_ROTATION_RAD);
}

/** Rotation prior of a frame: matrix; squared uncertainty of its angle [rad^2]; what usually differs from it [rad], and
 *  how far a motion may be from that [rad^2], 0 as long as too few frames were seen. */
struct vf_prior {
    const float *R;
    float variance;
    float offset[3], usual;
};

/** Rotation prior of this frame from its rotation vector and that of the frame before, 0 where there is none. was: what
 *  was usual before; dt_s: time since the frame before [s]. */
VF_FN struct vf_prior vf_agreement_prior(const float *R, const float turn[3], const float before[3],
                                         const struct vf_usual_prior *was, float dt_s)
{
    const float change[3] = {turn[0] - before[0], turn[1] - before[1], turn[2] - before[2]},
                share = VF_AGREEMENT_PRIOR_PERCENT * 0.01f, late = VF_AGREEMENT_LATE_PERCENT * 0.01f,
                part = VF_AGREEMENT_USUAL_PERCENT * 0.01f, changed = late * late * vf_dot(change, change),
                turned = vf_dot(turn, turn), least = VF_AGREEMENT_USUAL_RAD * VF_AGREEMENT_USUAL_RAD,
                seen = VF_AGREEMENT_SIGMAS * VF_AGREEMENT_SIGMAS * was->square;
    const struct vf_prior p = {
        R,
        VF_AGREEMENT_PRIOR_RAD * VF_AGREEMENT_PRIOR_RAD + share * share * turned + changed,
        {was->rate_radps[0] * dt_s, was->rate_radps[1] * dt_s, was->rate_radps[2] * dt_s},
        was->frames >= VF_AGREEMENT_FRAMES ? (seen > least ? seen : least) + part * part * turned + changed : 0.0f};
    return p;
}

/** 1 if the rotation of a motion contradicts the prior, or differs from it otherwise than usual. */
VF_FN int vf_agreement_prior_differs(const vfront_motion_t *m, const struct vf_prior *prior)
{
    float w[3];
    vf_agreement_difference(m->R, prior->R, w);
    const float own = VF_AGREEMENT_SIGMAS * VF_AGREEMENT_SIGMAS * vf_agreement_variance(m, 3);
    const int differs = vf_dot(w, w) > own + prior->variance;
    for (int k = 0; k < 3; k++) w[k] -= prior->offset[k];
    return differs || (prior->usual > 0.0f && vf_dot(w, w) > own + prior->usual);
}

/** Usual values after a step. m: motion that agrees with the prior; NULL: none, or one in doubt. */
VF_FN void vf_agreement_learn(struct vf_usual_prior *u, const vfront_motion_t *m, const struct vf_prior *prior,
                              float dt_s)
{
    float w[3];
    if (!m || !(dt_s > 0.0f)) return;
    vf_agreement_difference(m->R, prior->R, w);
    u->frames += u->frames < VF_AGREEMENT_FRAMES;
    const float weight = 1.0f / (float)(prior->usual > 0.0f ? VF_AGREEMENT_FOLLOWS : (int)u->frames);
    for (int k = 0; k < 3; k++) {
        u->rate_radps[k] += (w[k] / dt_s - u->rate_radps[k]) * weight;
        w[k] -= u->rate_radps[k] * dt_s;
    }
    u->square += (vf_dot(w, w) - u->square) * weight;
}

/** 1 if the directions of translation contradict. A metric translation within its deviation, and a relative one that is
 *  weak or ambiguous, have none. */
VF_FN int vf_agreement_directions_differ(const vfront_motion_t *relative, const vfront_motion_t *metric)
{
    const float length2 = vf_dot(metric->t, metric->t), variance = vf_agreement_variance(metric, 0),
                bound = VF_AGREEMENT_SIGMAS * VF_AGREEMENT_SIGMAS;
    const uint32_t vague = VFRONT_MOTION_STILL | VFRONT_MOTION_PLANE | VFRONT_MOTION_PARALLAX;
    float across[3];
    if (relative->flags & vague || length2 <= bound * variance) return 0;
    vf_cross(relative->t, metric->t, across);
    const float sine2 = vf_dot(across, across) / length2,
                most = bound * (variance / length2 + vf_agreement_variance(relative, 0)) +
                       VF_AGREEMENT_DIRECTION_RAD * VF_AGREEMENT_DIRECTION_RAD;
    return sine2 > most || (vf_dot(relative->t, metric->t) < 0.0f && most < 0.5f);
}

/** Withdraw a motion: state VFRONT_MOTION_UNSURE, with the flag that says why. */
VF_FN void vf_agreement_withdraw(vfront_motion_t *m, uint32_t flag)
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

VF_FN int vf_agreement_known(const vfront_motion_t *m)
{
    return m->state == VFRONT_MOTION_GOOD || m->state == VFRONT_MOTION_ROTATION;
}

/** Withdraw a motion with far fewer inliers than usual, and average the usual share [1/256 permille]. */
VF_FN struct vf_usual_share vf_agreement_share(vfront_motion_t *m, const struct vf_usual_share *before)
{
    struct vf_usual_share u = *before;
    if (!vf_agreement_known(m)) return u;
    const uint32_t permille = m->inliers * 1000u / (m->pairs ? m->pairs : 1);
    const int few = u.frames == VF_AGREEMENT_FRAMES && permille * 25600u < u.permille_q8 * VF_AGREEMENT_SHARE_PERCENT;
    if (!(m->flags & VFRONT_MOTION_WIDE)) {
        u.frames = (uint32_t)vf_min((int32_t)u.frames + 1, VF_AGREEMENT_FRAMES);
        u.permille_q8 = vf_running_mean(u.permille_q8, permille << 8, few ? VF_AGREEMENT_FOLLOWS : (int32_t)u.frames);
    }
    if (few) vf_agreement_withdraw(m, VFRONT_MOTION_OUTLIERS);
    return u;
}

/* ---- motions that do not fit their time -------------------------------------------------------------------------- */

/** Input that the motions of a step are held against, beside the steps before. */
struct vf_agreement_input {
    const struct vf_params *params;
    uint32_t repeated; /* of camera 0: struct vf_freeze_memory */
    float jump_mps2;   /* largest acceleration; 0: any */
};
VF_FN struct vf_agreement_input vf_agreement_input_of(const struct vf_ego_view *s, const struct vf_params *params)
{
    const struct vf_agreement_input input = {params, s->freeze->repeated[s->parity][0],
                                             (float)s->tuning.ego_jump_mmps2 * 0.001f};
    return input;
}

VF_FN struct vf_ego_velocity vf_agreement_velocity(const struct vf_params *params, const vfront_motion_t *relative,
                                                   const vfront_motion_t *metric)
{
    const float identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, dt_s = (float)params->dt_ns * 1e-9f;
    const int good = metric->state == VFRONT_MOTION_GOOD, known = good || vf_agreement_known(relative);
    const vfront_motion_t *m = good ? metric : relative;
    struct vf_ego_velocity v;
    memset(&v, 0, sizeof v);
    if (!known || !(dt_s > 0.0f)) return v;
    vf_agreement_difference(m->R, identity, v.turn_radps);
    for (int k = 0; k < 3; k++) {
        v.turn_radps[k] /= dt_s;
        v.speed_mps[k] = good ? m->t[k] / dt_s : 0.0f;
    }
    v.turn_variance = vf_agreement_variance(m, 3) / (dt_s * dt_s);
    v.speed_variance = good ? vf_agreement_variance(m, 0) / (dt_s * dt_s) : 0.0f;
    v.known = good ? 2 : 1;
    v.t_ns = params->t_ns;
    return v;
}

/** Velocity of an earlier frame in the axes of this one. v: of this one; its rotation is taken for that since. */
VF_FN void vf_agreement_turned(const struct vf_ego_velocity *v, const struct vf_ego_velocity *before, float turned[3])
{
    const float *s = before->speed_mps, time_s = (float)(v->t_ns - before->t_ns) * 1e-9f;
    float across[3];
    vf_cross(v->turn_radps, s, across);
    for (int k = 0; k < 3; k++) turned[k] = s[k] + across[k] * time_s;
}

/** 1 if a translation does not follow from an earlier one without an acceleration beyond the largest. */
VF_FN int vf_agreement_jumps(const struct vf_ego_velocity *v, const struct vf_ego_velocity *before, float most_mps2)
{
    float turned[3], apart[3];
    if (!(most_mps2 > 0.0f) || v->known < 2 || before->known < 2) return 0;
    vf_agreement_turned(v, before, turned);
    for (int k = 0; k < 3; k++) apart[k] = v->speed_mps[k] - turned[k];
    const float most = most_mps2 * ((float)(v->t_ns - before->t_ns) * 1e-9f) +
                       VF_AGREEMENT_SIGMAS * sqrtf(v->speed_variance + before->speed_variance);
    return vf_dot(apart, apart) > most * most;
}

/** 1 if a velocity is nearer to `times` + 1 of the one before than to that itself, and they are far apart. */
VF_FN int vf_agreement_catches_up(const float now[3], const float before[3], float variance, uint32_t times)
{
    const float half = 0.5f * (float)times, square = vf_dot(before, before);
    return half * half * square > VF_AGREEMENT_SIGMAS * VF_AGREEMENT_SIGMAS * variance &&
           vf_dot(now, before) > (1.0f + half) * square;
}

/** Lateness of the pictures after this step. A picture that came before says by how many frames they are late. They
 *  stay so until a motion makes up for it, or nothing has said so for VF_AGREEMENT_LATE_FRAMES. Returns 1 if the motion
 *  of this step is of another time. */
VF_FN int vf_agreement_late(struct vf_usual *now, const struct vf_usual *was, const struct vf_ego_velocity *v,
                            const struct vf_agreement_input *input)
{
    const struct vf_ego_velocity *before = &was->velocity;
    now->late = input->repeated ? input->repeated : was->late;
    now->late_frames = input->repeated ? 0 : was->late_frames + (was->late > 0);
    if (input->repeated || !was->late) return now->late > 0;
    const int caught = (v->known > 1 && before->known > 1 &&
                        vf_agreement_catches_up(v->speed_mps, before->speed_mps, v->speed_variance, was->late)) ||
                       (v->known && before->known &&
                        vf_agreement_catches_up(v->turn_radps, before->turn_radps, v->turn_variance, was->late));
    if (caught || now->late_frames >= VF_AGREEMENT_LATE_FRAMES) now->late = 0;
    return now->late || caught;
}

/** Hold the motions of a step against those before: pictures that are late, and accelerations that no camera has. Of a
 *  jump the second step stands if it agrees with the first, so that what is true now wins. Returns 1 if the motions do
 *  not fit their time. */
VF_FN int vf_agreement_follow(const struct vf_agreement_input *input, vfront_motion_t *relative,
                              vfront_motion_t *metric, struct vf_usual *now, const struct vf_usual *was)
{
    const struct vf_ego_velocity v = vf_agreement_velocity(input->params, relative, metric);
    const int late = vf_agreement_late(now, was, &v, input), changed = now->late != was->late;
    const int jumps = vf_agreement_jumps(&v, &was->velocity, input->jump_mps2) &&
                      (!was->jumped.known || vf_agreement_jumps(&v, &was->jumped, input->jump_mps2));
    now->velocity = v.known && !changed && !jumps ? v : was->velocity;
    if (jumps) now->jumped = v;
    if (late && vf_agreement_known(relative)) vf_agreement_withdraw(relative, VFRONT_MOTION_LATE);
    if (late && metric->state == VFRONT_MOTION_GOOD) vf_agreement_withdraw(metric, VFRONT_MOTION_LATE);
    if (jumps && !late) vf_agreement_withdraw(metric, VFRONT_MOTION_JUMP);
    return late || jumps;
}

/* ---- all together ------------------------------------------------------------------------------------------------ */

/** Hold both motions against the prior and against one another. prior: NULL: none. */
VF_FN void vf_agreement_compare(const struct vf_prior *prior, vfront_motion_t *relative, vfront_motion_t *metric)
{
    const int known = vf_agreement_known(relative), good = metric->state == VFRONT_MOTION_GOOD;
    const int differ = known && good &&
                       (vf_agreement_rotations_differ(relative, metric) ||
                        (relative->state == VFRONT_MOTION_GOOD && vf_agreement_directions_differ(relative, metric)));
    const int turned[2] = {prior && known && vf_agreement_prior_differs(relative, prior),
                           prior && good && vf_agreement_prior_differs(metric, prior)};
    const int fewer = !(metric->flags & VFRONT_MOTION_WIDE) &&
                      (uint64_t)relative->inliers * metric->pairs < (uint64_t)metric->inliers * relative->pairs;
    const int weaker = differ && !turned[0] && !turned[1] ? (fewer ? 1 : 2) : 0; /* 1 the relative, 2 the metric one */
    if (differ) relative->flags |= VFRONT_MOTION_CONTRADICTS;
    if (differ) metric->flags |= VFRONT_MOTION_CONTRADICTS;
    if (turned[0] || weaker == 1) vf_agreement_withdraw(relative, turned[0] ? VFRONT_MOTION_PRIOR : 0);
    if (turned[1] || weaker == 2) vf_agreement_withdraw(metric, turned[1] ? VFRONT_MOTION_PRIOR : 0);
}

/** Hold the motions against the prior and one another, and learn what usually differs. timely: 1 if they fit their
 *  time. A frame behind one that contradicts is in doubt as well: pictures and gyro that are not of one time agree now
 *  and then. */
VF_FN void vf_agreement_with_prior(const struct vf_params *params, int timely, vfront_motion_t *relative,
                                   vfront_motion_t *metric, struct vf_usual *now, const struct vf_usual *was)
{
    const float dt_s = (float)params->dt_ns * 1e-9f;
    const struct vf_prior prior = vf_agreement_prior(params->R, now->turn, was->turn, &was->prior, dt_s);
    vf_agreement_compare(params->rotation_given ? &prior : NULL, relative, metric);
    now->prior = was->prior;
    if (!params->rotation_given) return;
    const int good = metric->state == VFRONT_MOTION_GOOD, known = good || vf_agreement_known(relative),
              differs = ((relative->flags | metric->flags) & VFRONT_MOTION_PRIOR) && !known,
              doubt = differs || (was->prior.differs && prior.usual > 0.0f);
    if (timely && !doubt) vf_agreement_learn(&now->prior, known ? good ? metric : relative : NULL, &prior, dt_s);
    now->prior.differs = (uint32_t)differs;
    now->prior.doubts = doubt ? was->prior.doubts + 1 : 0;
    if (now->prior.doubts >= VF_AGREEMENT_DOUBTS) memset(&now->prior, 0, sizeof now->prior);
    if (doubt && vf_agreement_known(relative)) vf_agreement_withdraw(relative, VFRONT_MOTION_PRIOR);
    if (doubt && good) vf_agreement_withdraw(metric, VFRONT_MOTION_PRIOR);
}

/** Shares of inliers, before all else: withdraws a motion with far fewer than usual. w: rotation vector by the motions,
 *  for vf_turns_step(), before any is withdrawn for what follows. Returns 1 if it is known; not for pictures that are
 *  late, which are of another time. */
VF_FN int vf_agreement_shares(const struct vf_agreement_input *input, vfront_motion_t *relative,
                              vfront_motion_t *metric, struct vf_usual *now, const struct vf_usual *was, float w[3])
{
    const float identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    now->share[0] = vf_agreement_share(relative, &was->share[0]);
    now->share[1] = vf_agreement_share(metric, &was->share[1]);
    const int good = metric->state == VFRONT_MOTION_GOOD, late = input->repeated || was->late;
    vf_agreement_difference(good ? metric->R : relative->R, identity, w);
    return !late && (good || vf_agreement_known(relative));
}

/** Hold the motions against their time, the prior and one another. now: all but `turns` is written. */
VF_FN void vf_agreement_hold(const struct vf_agreement_input *input, vfront_motion_t *relative, vfront_motion_t *metric,
                             struct vf_usual *now, const struct vf_usual *was)
{
    const float identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    memset(&now->jumped, 0, sizeof now->jumped);
    vf_agreement_difference(input->params->R, identity, now->turn);
    const int untimely = vf_agreement_follow(input, relative, metric, now, was);
    vf_agreement_with_prior(input->params, !untimely, relative, metric, now, was);
}

/** Hold the motions of a step against all that is known of them, by one thread. now, before: what is usual in this
 *  frame and in the frame before. The kernel calls the same parts, turns beside the others. */
VF_FN void vf_agreement_assess(const struct vf_agreement_input *input, vfront_motion_t *relative,
                               vfront_motion_t *metric, struct vf_usual *now, const struct vf_usual *before)
{
    struct vf_usual was;
    float w[3];
    memset(&was, 0, sizeof was);
    if (input->params->frame) was = *before;
    *now = was;
    const int known = vf_agreement_shares(input, relative, metric, now, &was, w);
    vf_turns_step(&now->turns, input->params, known ? w : NULL, was.prior.rate_radps);
    vf_agreement_hold(input, relative, metric, now, &was);
}

#endif
