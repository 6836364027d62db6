/* SPDX-License-Identifier: MIT */
/* ego, agreement: the relative and the metric motion of a step against one another, against the frame's rotation prior,
 * and against the usual share of inliers.
 *
 * In      both motions as the assessment left them; parameters of the frame; usual shares of inliers, of the frame
 *         before
 * Out     flags where they contradict; the weaker motion withdrawn; usual shares of inliers
 * Rule    Rotations contradict by the Mahalanobis distance of their difference, directions of translation by the angle
 *         between them, each over VF_AGREEMENT_SIGMAS of both covariances and a floor, since a prior has no covariance
 *         and the motions share their correspondences. A motion that contradicts the prior is withdrawn, both if both
 *         do: pictures that are late look like a gyro that is wrong. If only the motions contradict one another, the
 *         one with the smaller share of inliers is, the metric one if equal or
 *         found with the wide bound, whose inliers are no measure beside the other's and do not enter the usual share
 * Exact   single precision in one order, by one thread
 * Memory  shares of inliers, in struct vf_ego_memory
 */
#ifndef VF_EGO_AGREEMENT_H
#define VF_EGO_AGREEMENT_H

#include "ego.h"

#define VF_AGREEMENT_SIGMAS 5.0f        /* standard deviations up to which two values agree */
#define VF_AGREEMENT_ROTATION_RAD 1e-3f /* floor between rotations of two motions [rad] */
#define VF_AGREEMENT_PRIOR_RAD 5e-3f    /* floor between a motion's rotation and the prior [rad] */
#define VF_AGREEMENT_PRIOR_PERCENT 5    /* and part of the prior's angle: scale and axes of a gyro [%] */
#define VF_AGREEMENT_LATE_PERCENT 25    /* and part of its change since the frame before: clock of the gyro [%] */
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

/** Rotation prior of a frame: matrix; squared uncertainty of its angle [rad^2]. */
struct vf_prior {
    const float *R;
    float variance;
};

/** Rotation prior of this frame from its rotation vector and that of the frame before, 0 where there is none. */
VF_FN struct vf_prior vf_agreement_prior(const float *R, const float turn[3], const float before[3])
{
    const float change[3] = {turn[0] - before[0], turn[1] - before[1], turn[2] - before[2]},
                share = VF_AGREEMENT_PRIOR_PERCENT * 0.01f, late = VF_AGREEMENT_LATE_PERCENT * 0.01f;
    const struct vf_prior p = {R, VF_AGREEMENT_PRIOR_RAD * VF_AGREEMENT_PRIOR_RAD + share * share * vf_dot(turn, turn) +
                                      late * late * vf_dot(change, change)};
    return p;
}

/** 1 if the rotation of a motion contradicts the prior. */
VF_FN int vf_agreement_prior_differs(const vfront_motion_t *m, const struct vf_prior *prior)
{
    float w[3];
    vf_agreement_difference(m->R, prior->R, w);
    return vf_dot(w, w) > VF_AGREEMENT_SIGMAS * VF_AGREEMENT_SIGMAS * vf_agreement_variance(m, 3) + prior->variance;
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
                          VFRONT_MOTION_PRIOR | VFRONT_MOTION_OUTLIERS;
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

/** Hold the motions of a step against all that is known of them. Called once, by one thread. now, before: what is usual
 *  in this frame and in the frame before. */
VF_FN void vf_agreement_assess(const struct vf_params *params, vfront_motion_t *relative, vfront_motion_t *metric,
                               struct vf_usual *now, const struct vf_usual *before)
{
    const float identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const struct vf_usual none = {{{0, 0}, {0, 0}}, {0, 0, 0}};
    const struct vf_usual was = params->frame ? *before : none;
    now->share[0] = vf_agreement_share(relative, &was.share[0]);
    now->share[1] = vf_agreement_share(metric, &was.share[1]);
    vf_agreement_difference(params->R, identity, now->turn);
    const struct vf_prior prior = vf_agreement_prior(params->R, now->turn, was.turn);
    vf_agreement_compare(params->rotation_given ? &prior : NULL, relative, metric);
}

#endif
