/* SPDX-License-Identifier: MIT */
/* ego, assessment: reported motions, with their states and flags, from the best motion of each kind.
 *
 * In      struct vf_assessment: motions, normal equations, covariances, median displacements, counts of inliers and
 *         outliers; lengths of the lists; tuning
 * Out     the relative and the metric motion of vfront.h, and which of them is the last good one
 * Rule    A motion is GOOD if it has enough inliers and a covariance. A relative motion without parallax is reported as
 *         a rotation. A relative motion with little parallax is UNSURE if its outliers agree on another motion. Flags:
 *         camera still, weak parallax, points in a plane, alternative motion.
 * Exact   single precision in one order; vf_ego_assess_relative() and vf_ego_assess_metric() are called by a team
 *         (src/math/team.h)
 * Memory  struct vf_ego_memory
 */
#ifndef VF_EGO_ASSESS_H
#define VF_EGO_ASSESS_H

#include "ego.h"

/* ---- median displacement ----------------------------------------------------------------------------------------- */

/** Histogram bin [1/16 px] of the image displacement that remains of a correspondence after the rotation R. */
VF_FN int32_t vf_ego_displacement_bin(const struct vf_ego_view *s, const float R[9], const struct vf_correspondence *c)
{
    float a[3];
    vf_transform(R, c->before, a);
    const float x = a[0] - c->now[0], y = a[1] - c->now[1], z = a[2] - c->now[2];
    const float q4 = sqrtf(x * x + y * y + z * z) * s->geometry.focal_px[0] * 16.0f;
    return q4 < VF_EGO_BINS - 1 ? (int32_t)(q4 + 0.5f) : VF_EGO_BINS - 1;
}

/** 1 if a bin of a histogram is the median bin. before: sum of the bins below it; upto: that sum plus the bin itself;
 *  all: sum of all bins. */
VF_FN int vf_ego_is_median_bin(int32_t before, int32_t upto, int32_t all)
{
    return 2 * before < all && 2 * upto >= all;
}
VF_FN float vf_ego_bin_px(int32_t bin) { return (float)bin * (1.0f / 16.0f); }

/* ---- plane of the inliers ---------------------------------------------------------------------------------------- */

/* number of Gauss-Newton steps that fit a plane: the first uses all inliers of the motion, later steps only those
 * within the error bound of the plane */
#define VF_EGO_PLANE_STEPS 4
/* largest median displacement of a stationary camera [px]: several times the noise of a track */
#define VF_EGO_STILL_PX 0.2f
#define VF_EGO_PLANE_PERCENT 90 /* least share of inliers in one plane that sets VFRONT_MOTION_PLANE [%] */
/* median parallax below which two relative motions are indistinguishable [multiples of ego_error_mpx] */
#define VF_EGO_AMBIGUOUS_ERRORS 3.0f

/** Adds the residual of an inlier of a relative motion to the normal equations of a plane n . X = 1. The residual is n
 *  . now minus the triangulated inverse distance, in units of the error bound. The unknown n takes the place of the
 *  rotation vector. all: 1: adds residuals beyond the bound too. Returns 1 if the residual is within the bound. */
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

/** Updates a plane by a Gauss-Newton step. Returns 0 if the normal equations have no solution. */
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

/** Number of hypotheses of which, with 99 % probability, at least one sample has no outlier: least n with (1 -
 *  share^size)^n <= 1/100, at most 10^6. share: inliers / pairs; pairs: number of correspondences; size: of a
 *  sample. */
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

/** 1 if a motion has enough inliers: at least ego_least_percent of all correspondences (pairs), plus ego_least. The
 *  best of many random motions fits its own sample and about as many other correspondences; ego_least excludes it. */
VF_FN int vf_ego_enough_inliers(const struct vf_ego_tuning *t, uint32_t inliers, uint32_t pairs)
{
    return (uint64_t)inliers * 100 >= (uint64_t)pairs * (uint32_t)t->ego_least_percent + 100 * (uint32_t)t->ego_least;
}

/** Least share of inliers of a metric motion that is found with the wide inlier bound, three times the normal one [%].
 *  If matches are merely inexact, nearly all are inliers at that bound. If many are wrong, only 50 to 60 % are. */
#define VF_EGO_WIDE_PERCENT 75

/** Search whose result is the metric motion: VF_WIDE (inlier bound three times as wide) if only its motion has enough
 *  inliers, else VF_METRIC. own, wide: normal equations of the best motion of VF_METRIC and of VF_WIDE. */
VF_FN int vf_ego_metric_search(const struct vf_ego_view *s, const struct vf_normal_equations *own,
                               const struct vf_normal_equations *wide)
{
    const uint32_t pairs = s->ego->count[1];
    const int enough = (uint64_t)wide->inliers * 100 >= (uint64_t)pairs * VF_EGO_WIDE_PERCENT &&
                       vf_ego_enough_inliers(&s->tuning, wide->inliers, pairs);
    return !vf_ego_enough_inliers(&s->tuning, own->inliers, pairs) && enough ? (int)VF_WIDE : (int)VF_METRIC;
}

/** 1 if an error exceeds twice the inlier bound, so that the correspondence may belong to an alternative motion. error:
 *  squared, in units of the bound. */
VF_FN int vf_ego_is_outlier(float error) { return error > 4.0f; }

/** 1 if a pure rotation explains the images: its inliers are at least 80 % of those of the relative motion. */
VF_FN int vf_ego_rotation_suffices(const struct vf_assessment *a)
{
    return a->sum[VF_ROTATION_ONLY].inliers * 5 >= a->sum[VF_RELATIVE].inliers * 4;
}

/** 1 if the residuals of the best rotation show no parallax. Their mean square is at most three times that expected
 *  from noise, or their root mean square at most a tenth of the inlier bound. The noise is estimated from the residuals
 *  of the relative motion, one per correspondence. A rotation has two residuals per correspondence, each with the noise
 *  of both frames. The rotation of the relative motion is not tested, because a wrong translation can compensate its
 *  error. */
VF_FN int vf_ego_no_parallax(const struct vf_normal_equations *rotation, const struct vf_normal_equations *relative)
{
    const float pairs = (float)rotation->inliers, spare = (float)relative->inliers - 5.0f;
    const float left = rotation->terms[VF_TERM_E], noise = relative->terms[VF_TERM_E];
    return left * spare <= 12.0f * noise * pairs || left <= 0.01f * pairs;
}

/* ---- reported motions -------------------------------------------------------------------------------------------- */

/** Initialises a motion with its counts and a preliminary state: NONE, FROZEN, FEW or UNSURE. Returns the state. pairs:
 *  number of correspondences. */
VF_FN uint32_t vf_ego_init_motion(const struct vf_ego_view *s, const struct vf_params *params, vfront_motion_t *m,
                                  int kind, uint32_t pairs)
{
    const uint32_t hypotheses = (uint32_t)vf_ego_hypotheses(s, kind);
    const int none = !params->frame || !hypotheses, few = pairs < (uint32_t)s->tuning.ego_least;
    const uint32_t state = none                                                ? VFRONT_MOTION_NONE
                           : vf_freeze_stale_interval(s->freeze, s->parity, 0) ? VFRONT_MOTION_FROZEN
                           : few                                               ? VFRONT_MOTION_FEW
                                                                               : VFRONT_MOTION_UNSURE;
    VF_TEAM(one, 1)
    {
        vf_ego_set_identity(m, state);
        m->pairs = none ? 0 : pairs;
        m->hypotheses = none ? 0 : hypotheses;
        m->frame = none ? 0 : params->frame;
        if (!none && kind == VF_RELATIVE && vf_ego_external_solver(s)) m->flags = VFRONT_MOTION_ONE_GPU;
    }
    VF_TEAM_SYNC();
    return state;
}

/** 1 if stereo depths are usable: the camera pair was GOOD in this and in the previous frame, with new images in both.
 *  With stage `stereo` off the pair is assumed consistent. */
VF_FN int vf_ego_pair_agrees(const struct vf_ego_view *s)
{
    const int last = VFRONT_CAMERAS - 1;
    int good = !s->freeze->repeated[s->parity][last] && !s->freeze->repeated[s->parity ^ 1][last];
    for (int parity = 0; parity < 2; parity++) {
        const uint32_t state = vf_stereo_pair(s->stereo, s->geometry.active, parity).state;
        good = good && (state == VFRONT_STEREO_GOOD || state == VFRONT_STEREO_NONE);
    }
    return good;
}

/** Fills m with the best motion of a kind. Requires enough inliers, a covariance and, for a metric motion, usable
 *  depths; m remains UNSURE otherwise. Returns the state. */
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
        if (vf_ego_bin_px(a->displacement) <= VF_EGO_STILL_PX) m->flags |= VFRONT_MOTION_STILL;
        m->state = state;
    }
    return state;
}

/** 1 if the relative motion is ambiguous: many outliers agree on one other motion, and the parallax of the inliers is
 *  small compared with the error bound. */
VF_FN int vf_ego_ambiguous(const struct vf_ego_view *s, const struct vf_assessment *a)
{
    return vf_ego_enough_inliers(&s->tuning, a->alternative_inliers, a->outliers) &&
           vf_ego_bin_px(a->parallax[VF_RELATIVE]) * 1000.0f < VF_EGO_AMBIGUOUS_ERRORS * (float)s->tuning.ego_error_mpx;
}

/** Fills m with the relative motion and its flags, or with the rotation if there is no parallax. Returns the state. */
VF_FN uint32_t vf_ego_fill_relative(const struct vf_ego_view *s, vfront_motion_t *m, uint32_t pairs,
                                    const struct vf_assessment *a)
{
    const struct vf_normal_equations *relative = &a->sum[VF_RELATIVE], *rotation = &a->sum[VF_ROTATION_ONLY];
    const int suffices = vf_ego_rotation_suffices(a);
    if (suffices &&
        (!vf_ego_enough_inliers(&s->tuning, relative->inliers, pairs) || vf_ego_no_parallax(rotation, relative)))
        return vf_ego_fill_motion(s, m, VF_ROTATION_ONLY, pairs, a);
    if (vf_ego_ambiguous(s, a)) {
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

/** Writes the reported relative motion of a frame to m. pairs: number of correspondences. */
VF_FN void vf_ego_assess_relative(const struct vf_ego_view *s, const struct vf_params *params, uint32_t pairs,
                                  const struct vf_assessment *a, vfront_motion_t *m)
{
    if (vf_ego_init_motion(s, params, m, VF_RELATIVE, pairs) == VFRONT_MOTION_UNSURE)
        vf_ego_fill_relative(s, m, pairs, a);
    VF_TEAM(one, 1)
    if (m->state) m->needed = vf_ego_needed(m->inliers, m->pairs, s->tuning.ego_points);
}

/** Writes the reported metric motion of a frame to m. pairs: number of correspondences with a distance. */
VF_FN void vf_ego_assess_metric(const struct vf_ego_view *s, const struct vf_params *params, uint32_t pairs,
                                const struct vf_assessment *a, vfront_motion_t *m)
{
    if (vf_ego_init_motion(s, params, m, VF_METRIC, pairs) == VFRONT_MOTION_UNSURE)
        vf_ego_fill_motion(s, m, VF_METRIC, pairs, a);
    VF_TEAM(one, 1)
    if (m->state) m->needed = vf_ego_needed(m->inliers, m->pairs, 3);
}

/** Running estimate of the disparity offset after this frame. metric: reported metric motion, whose residuals measure
 *  the offset. The previous correction is added to the measurement, because it was subtracted from the disparities of
 *  this frame. */
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

/** Last good motion, metric preferred to relative; NULL: no good motion since the first frame. before: last good motion
 *  up to the previous frame. */
VF_FN const vfront_motion_t *vf_ego_last_good(const struct vf_params *params, const vfront_motion_t *relative,
                                              const vfront_motion_t *metric, const vfront_motion_t *before)
{
    if (metric->state == VFRONT_MOTION_GOOD) return metric;
    if (relative->state == VFRONT_MOTION_GOOD) return relative;
    return params->frame ? before : NULL;
}

/** Last good metric or relative motion, for extrapolation in the next frame. m: motion of this frame; before: last good
 *  motion of the same kind up to the previous frame. */
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

/** Kind of motion whose inliers are reported as those of the relative motion m; VF_KINDS: none. */
VF_FN int vf_ego_relative_kind(const vfront_motion_t *m)
{
    return m->state == VFRONT_MOTION_GOOD       ? VF_RELATIVE
           : m->state == VFRONT_MOTION_ROTATION ? VF_ROTATION_ONLY
                                                : VF_KINDS;
}
/** Kind of motion whose inliers are reported as those of the metric motion m; VF_KINDS: none. */
VF_FN int vf_ego_metric_kind(const vfront_motion_t *m) { return m->state == VFRONT_MOTION_GOOD ? VF_METRIC : VF_KINDS; }

#endif
