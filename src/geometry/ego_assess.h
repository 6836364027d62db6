/* SPDX-License-Identifier: MIT */
/* ego, assessment: from the best motion of each kind to the motions that are reported, with their states and flags.
 *
 * In      struct vf_assessment: motions, normal equations, covariances, medians and counts; lengths of the lists;
 *         tuning
 * Out     the relative and the metric motion of vfront.h, and which of them is the last good one
 * Rule    a motion is good if enough correspondences are its inliers and it has a covariance. A relative motion without
 *         parallax is reported as a rotation; one with little of it, beside another motion of the outliers, is unsure.
 *         Flags: camera still, weak parallax, points in a plane, alternative motion of the outliers
 * Exact   single precision in one order; vf_ego_assess_relative() and vf_ego_assess_metric() are called by a team:
 *         src/math/team.h
 * Memory  struct vf_ego_memory
 */
#ifndef VF_EGO_ASSESS_H
#define VF_EGO_ASSESS_H

#include "ego.h"

/* ---- median displacement ----------------------------------------------------------------------------------------- */

/** Histogram bin of a correspondence's displacement, less that of a rotation R. */
VF_FN int32_t vf_ego_displacement_bin(const struct vf_ego_view *s, const float R[9], const struct vf_correspondence *c)
{
    float a[3];
    vf_transform(R, c->before, a);
    const float x = a[0] - c->now[0], y = a[1] - c->now[1], z = a[2] - c->now[2];
    const float q4 = sqrtf(x * x + y * y + z * z) * s->geometry.focal_px[0] * 16.0f;
    return q4 < VF_EGO_BINS - 1 ? (int32_t)(q4 + 0.5f) : VF_EGO_BINS - 1;
}

/** 1 for the bin of the median, the first up to which half of all lie. before, upto: counts below the bin, and with
 *  it. */
VF_FN int vf_ego_is_median_bin(int32_t before, int32_t upto, int32_t all)
{
    return 2 * before < all && 2 * upto >= all;
}
VF_FN float vf_ego_bin_px(int32_t bin) { return (float)bin * (1.0f / 16.0f); }

/* ---- plane of the inliers ---------------------------------------------------------------------------------------- */

#define VF_EGO_PLANE_FITS                                                                                              \
    4 /* Gauss-Newton fits of the plane, the first to all inliers, the others to those within the bound */
#define VF_EGO_PLANE_PERCENT 90 /* inliers in a plane from which VFRONT_MOTION_PLANE is set */
#define VF_EGO_TWO_ERRORS 3.0f  /* parallax, in ego_error_mpx, below which two motions are alike */

/** Add the residual of a plane n . X = 1 at an inlier of a relative motion: n . b less the triangulated inverse
 *  distance, in bounds. n takes the place of the rotation in the normal equations. all: 1, also where the residual
 *  exceeds the bound. Returns 1 if it is within. */
VF_FN int vf_ego_plane_terms(const struct vf_pose *p, const float plane[3], const struct vf_correspondence *c, int all,
                             float terms[VF_TERMS])
{
    const struct vf_sampson k = vf_motion_sampson(p, c);
    float ab[3], J[6] = {0, 0, 0, 0, 0, 0};
    vf_cross(k.a, c->now, ab);
    const float across = sqrtf(vf_dot(k.ta, k.ta)), inverse = sqrtf(vf_dot(ab, ab)) / (across + 1e-6f),
                w = c->weight * across;
    const float r = w * (vf_dot(plane, c->now) - inverse);
    const int within = r * r < 1.0f;
    for (int i = 0; i < 3; i++) J[3 + i] = w * c->now[i];
    vf_motion_add_row(terms, J, r, all | within ? 1.0f : 0.0f);
    return within;
}

/** Update a plane by a Gauss-Newton step. Returns 0 where the normal equations have no solution. */
VF_FN int vf_ego_plane_step(const float sums[VF_TERMS], float plane[3])
{
    float L[6][6], step[6];
    const float none[3] = {0.0f, 0.0f, 0.0f};
    if (!vf_motion_cholesky(VF_ROTATION_ONLY, none, sums, L)) return 0;
    vf_motion_solve(L, sums + VF_TERM_G, step);
    for (int k = 0; k < 3; k++) plane[k] -= step[3 + k];
    return 1;
}

/* ---- tests on inliers and outliers ------------------------------------------------------------------------------- */

/** Number of hypotheses of which one has a sample without outliers with 99 % probability: least n with (1 -
 *  share^size)^n <= 1/100, at most 10^6 (paper 003, equation 15). */
VF_FN uint32_t vf_ego_needed(uint32_t inliers, uint32_t pairs, int32_t size)
{
    const float share = pairs ? (float)inliers / (float)pairs : 0.0f;
    float good = 1.0f, power[20], left = 1.0f;
    uint32_t n = 0;
    for (int32_t k = 0; k < size; k++) good *= share;
    power[0] = 1.0f - good;
    for (int k = 1; k < 20; k++) power[k] = power[k - 1] * power[k - 1];
    for (int k = 19; k >= 0; k--) {
        if (left * power[k] <= 0.01f) continue;
        left *= power[k];
        n += 1u << k;
    }
    return n + 1 < 1000000u ? n + 1 : 1000000u;
}

/** 1 if the inliers are enough for a motion: ego_least_percent of all correspondences, plus ego_least, since the best
 *  of many motions from small samples of noise has its own sample and as many again. Of correspondences that differ by
 *  up to 40 px at random, at most 10 of 16 are inliers of some motion, 21 of 75, 30 of 150, 59 of 500. */
VF_FN int vf_ego_enough_inliers(const struct vf_ego_tuning *t, uint32_t inliers, uint32_t pairs)
{
    return (uint64_t)inliers * 100 >= (uint64_t)pairs * (uint32_t)t->ego_least_percent + 100 * (uint32_t)t->ego_least;
}

/** Share of correspondences that must be inliers of a metric motion at the wide bound [%]. Where matches are inexact
 *  nearly all are; with 50 to 60 %, as on KITTI 01 by every 8th picture, many are wrong, and motions were off by 10
 *  sigma. */
#define VF_EGO_WIDE_PERCENT 75

/** Search whose result is the metric motion: that of the wide bound if only it has enough inliers. own, wide: normal
 *  equations of the best motion of each. */
VF_FN int vf_ego_metric_search(const struct vf_ego_view *s, const struct vf_normal_equations *own,
                               const struct vf_normal_equations *wide)
{
    const uint32_t pairs = s->ego->count[1];
    const int enough = (uint64_t)wide->inliers * 100 >= (uint64_t)pairs * VF_EGO_WIDE_PERCENT &&
                       vf_ego_enough_inliers(&s->tuning, wide->inliers, pairs);
    return !vf_ego_enough_inliers(&s->tuning, own->inliers, pairs) && enough ? (int)VF_WIDE : (int)VF_METRIC;
}

/** 1 for a clear outlier, twice the bound, which may belong to an alternative motion. */
VF_FN int vf_ego_is_outlier(float error) { return error > 4.0f; }

/** 1 if the best rotation alone has 80 % of the relative motion's inliers or more. */
VF_FN int vf_ego_rotation_suffices(const struct vf_assessment *a)
{
    return a->sum[VF_ROTATION_ONLY].inliers * 5 >= a->sum[VF_RELATIVE].inliers * 4;
}

/** 1 if the best rotation leaves no parallax: residuals of at most twice the noise, which is that of the relative
 *  motion with one residual a correspondence, or of a tenth of the bound. A rotation has two residuals a
 *  correspondence, each with the noise of both frames. This is the best rotation alone, not that of the relative
 *  motion, which may be wrong where a translation makes up for it. */
VF_FN int vf_ego_no_parallax(const struct vf_normal_equations *rotation, const struct vf_normal_equations *relative)
{
    const float pairs = (float)rotation->inliers, spare = (float)relative->inliers - 5.0f;
    const float left = rotation->terms[VF_TERM_E], noise = relative->terms[VF_TERM_E];
    return left * spare <= 12.0f * noise * pairs || left <= 0.01f * pairs;
}

/* ---- reported motions -------------------------------------------------------------------------------------------- */

/** Initialise a motion with its counts and the state that holds until it is filled in: NONE, FROZEN, FEW or UNSURE,
 *  which is returned. */
VF_FN uint32_t vf_ego_init_motion(const struct vf_ego_view *s, const struct vf_params *params, vfront_motion_t *m,
                                  int kind, uint32_t pairs)
{
    const uint32_t hypotheses = (uint32_t)vf_ego_hypotheses(s, kind);
    const int none = !params->frame || !hypotheses, few = pairs < (uint32_t)s->tuning.ego_least;
    const uint32_t state = none                                          ? VFRONT_MOTION_NONE
                           : vf_freeze_untimely(s->freeze, s->parity, 0) ? VFRONT_MOTION_FROZEN
                           : few                                         ? VFRONT_MOTION_FEW
                                                                         : VFRONT_MOTION_UNSURE;
    VF_TEAM(one, 1)
    {
        vf_ego_blank(m, state);
        m->pairs = none ? 0 : pairs;
        m->hypotheses = none ? 0 : hypotheses;
        m->frame = none ? 0 : params->frame;
        if (!none && kind == VF_RELATIVE && vf_ego_external_solver(s)) m->flags = VFRONT_MOTION_ONE_GPU;
    }
    VF_TEAM_SYNC();
    return state;
}

/** 1 if depths of this frame and of the frame before are those of a pair that agrees. */
VF_FN int vf_ego_pair_agrees(const struct vf_ego_view *s)
{
    const int last = VFRONT_CAMERAS - 1;
    if (s->freeze->repeated[s->parity][last] || s->freeze->repeated[s->parity ^ 1][last]) return 0;
    return vf_stereo_pair(s->stereo, s->geometry.active, s->parity).state == VFRONT_STEREO_GOOD &&
           vf_stereo_pair(s->stereo, s->geometry.active, s->parity ^ 1).state == VFRONT_STEREO_GOOD;
}

/** Fill in the best motion of a kind, if it has enough inliers. Returns its state. */
VF_FN uint32_t vf_ego_fill_motion(const struct vf_ego_view *s, vfront_motion_t *m, int kind, uint32_t pairs,
                                  const struct vf_assessment *a)
{
    const struct vf_normal_equations *sum = &a->sum[kind];
    const uint32_t state = kind == VF_ROTATION_ONLY ? VFRONT_MOTION_ROTATION : VFRONT_MOTION_GOOD;
    const int good = vf_ego_enough_inliers(&s->tuning, sum->inliers, pairs) && a->has_covariance[kind];
    const int no_depth = kind == VF_METRIC && !vf_ego_pair_agrees(s);
    VF_TEAM(one, 1)
    {
        m->inliers = sum->inliers;
        if (no_depth) m->flags |= VFRONT_MOTION_STEREO;
    }
    if (!good || no_depth) return VFRONT_MOTION_UNSURE;
    VF_TEAM(i, 21) m->covariance[i] = a->covariance[kind][i];
    VF_TEAM(i, 9) m->R[i] = a->pose[kind].R[i];
    VF_TEAM(i, 3) m->t[i] = kind == VF_ROTATION_ONLY ? 0.0f : a->pose[kind].t[i];
    VF_TEAM(one, 1)
    {
        m->rms_px = sqrtf(sum->terms[VF_TERM_E] / (float)sum->inliers) * (float)s->tuning.ego_error_mpx *
                    (kind == VF_METRIC && a->wide ? 0.003f : 0.001f);
        m->parallax_px = vf_ego_bin_px(a->parallax[kind]);
        if (kind == VF_METRIC && a->wide) m->flags |= VFRONT_MOTION_WIDE;
        if (vf_ego_bin_px(a->displacement) * 1000.0f <= (float)s->tuning.ego_still_mpx) m->flags |= VFRONT_MOTION_STILL;
        m->state = state;
    }
    return state;
}

/** 1 if many of the outliers fit one other motion and the inliers' parallax is so small, beside the error that an
 *  inlier may have, that either may be the camera's. */
VF_FN int vf_ego_two_alike(const struct vf_ego_view *s, const struct vf_assessment *a)
{
    return vf_ego_enough_inliers(&s->tuning, a->alternative_inliers, a->outliers) &&
           vf_ego_bin_px(a->parallax[VF_RELATIVE]) * 1000.0f < VF_EGO_TWO_ERRORS * (float)s->tuning.ego_error_mpx;
}

/** Fill in the relative motion with its flags, or the rotation alone where there is no parallax. Returns its state. */
VF_FN uint32_t vf_ego_fill_relative(const struct vf_ego_view *s, vfront_motion_t *m, uint32_t pairs,
                                    const struct vf_assessment *a)
{
    const struct vf_normal_equations *relative = &a->sum[VF_RELATIVE], *rotation = &a->sum[VF_ROTATION_ONLY];
    const int suffices = vf_ego_rotation_suffices(a);
    if (suffices &&
        (!vf_ego_enough_inliers(&s->tuning, relative->inliers, pairs) || vf_ego_no_parallax(rotation, relative)))
        return vf_ego_fill_motion(s, m, VF_ROTATION_ONLY, pairs, a);
    if (vf_ego_two_alike(s, a)) {
        VF_TEAM(one, 1)
        {
            m->inliers = relative->inliers;
            m->flags |= VFRONT_MOTION_TWO;
        }
        return VFRONT_MOTION_UNSURE;
    }
    const uint32_t state = vf_ego_fill_motion(s, m, VF_RELATIVE, pairs, a);
    VF_TEAM(one, state == VFRONT_MOTION_GOOD)
    {
        m->others = a->alternative_inliers;
        if (suffices) m->flags |= VFRONT_MOTION_PARALLAX;
        if (a->plane_inliers * 100 >= relative->inliers * VF_EGO_PLANE_PERCENT) m->flags |= VFRONT_MOTION_PLANE;
        if (vf_ego_enough_inliers(&s->tuning, a->alternative_inliers, a->outliers)) m->flags |= VFRONT_MOTION_TWO;
    }
    return state;
}

/** Reported relative motion of a step. pairs: length of the list. */
VF_FN void vf_ego_assess_relative(const struct vf_ego_view *s, const struct vf_params *params, uint32_t pairs,
                                  const struct vf_assessment *a, vfront_motion_t *m)
{
    if (vf_ego_init_motion(s, params, m, VF_RELATIVE, pairs) == VFRONT_MOTION_UNSURE)
        vf_ego_fill_relative(s, m, pairs, a);
    VF_TEAM(one, 1)
    if (m->state) m->needed = vf_ego_needed(m->inliers, m->pairs, s->tuning.ego_points);
}

/** Reported metric motion of a step. */
VF_FN void vf_ego_assess_metric(const struct vf_ego_view *s, const struct vf_params *params, uint32_t pairs,
                                const struct vf_assessment *a, vfront_motion_t *m)
{
    if (vf_ego_init_motion(s, params, m, VF_METRIC, pairs) == VFRONT_MOTION_UNSURE)
        vf_ego_fill_motion(s, m, VF_METRIC, pairs, a);
    VF_TEAM(one, 1)
    if (m->state) m->needed = vf_ego_needed(m->inliers, m->pairs, 3);
}

/** Estimate of the disparities' offset after a step. metric: its motion as reported. Disparities of this frame had the
 *  correction of the frame before taken off. */
VF_FN struct vf_rig_estimate vf_ego_disparity_next(const struct vf_ego_view *s, const struct vf_params *params,
                                                   const vfront_motion_t *metric, const struct vf_assessment *a)
{
    struct vf_rig_estimate from;
    if (params->frame)
        from = s->ego->disparity[s->parity ^ 1];
    else
        memset(&from, 0, sizeof from);
    const int good = metric->state == VFRONT_MOTION_GOOD && !(metric->flags & VFRONT_MOTION_WIDE);
    return vf_rig_next(&from, a->offset_px + vf_rig_correction(&from, s->tuning.rig_offset),
                       good ? a->offset_weight : 0.0f, s->tuning.rig_offset);
}

/** Last good motion, metric before relative; NULL: none since the first frame. before: that of the previous frame. */
VF_FN const vfront_motion_t *vf_ego_last_good(const struct vf_params *params, const vfront_motion_t *relative,
                                              const vfront_motion_t *metric, const vfront_motion_t *before)
{
    if (metric->state == VFRONT_MOTION_GOOD) return metric;
    if (relative->state == VFRONT_MOTION_GOOD) return relative;
    return params->frame ? before : NULL;
}

/** Last good motion of a kind after a step. before: that after the previous one. */
VF_FN struct vf_last_motion vf_ego_last(const struct vf_params *params, const vfront_motion_t *m,
                                        const struct vf_last_motion *before)
{
    struct vf_last_motion last;
    memset(&last, 0, sizeof last);
    if (m->state != VFRONT_MOTION_GOOD && m->state != VFRONT_MOTION_ROTATION) return params->frame ? *before : last;
    for (int k = 0; k < 9; k++) last.pose.R[k] = m->R[k];
    for (int k = 0; k < 3; k++) last.pose.t[k] = m->t[k];
    for (int k = 0; k < 21; k++) last.covariance[k] = m->covariance[k];
    last.t_ns = params->t_ns;
    last.dt_ns = params->dt_ns;
    return last;
}

/** Kind whose inliers are reported for a motion; VF_KINDS: none. */
VF_FN int vf_ego_relative_kind(const vfront_motion_t *m)
{
    return m->state == VFRONT_MOTION_GOOD       ? VF_RELATIVE
           : m->state == VFRONT_MOTION_ROTATION ? VF_ROTATION_ONLY
                                                : VF_KINDS;
}
VF_FN int vf_ego_metric_kind(const vfront_motion_t *m) { return m->state == VFRONT_MOTION_GOOD ? VF_METRIC : VF_KINDS; }

#endif
