/* SPDX-License-Identifier: MIT */
/* ego, the list of correspondences: order, weight, and how a track or a match becomes one.
 *
 * In      features of the tracker; matches with the key points of both frames and their distances
 * Out     keys by which candidates are sorted; correspondences
 * Rule    candidates are the tracks, then the matches. Order: tracks by residual, then matches by descriptor distance,
 *         then by number
 * Exact   single precision in one order
 * Memory  struct vf_correspondences in ego.h
 */
#ifndef VF_EGO_LIST_H
#define VF_EGO_LIST_H

#include "ego.h"
#include "tracking/match.h"
#include "tracking/feature.h"

/** Sort key of a candidate, a track f or else a match m: rank (0..31 tracks, 32..288 matches) << 16 | number. VF_NONE:
 *  no correspondence, as the track is new or its kind is tuned off. */
VF_FN uint32_t vf_ego_key(const struct vf_ego_tuning *t, const struct vf_feature *f, const vfront_match_t *m,
                          int32_t candidate)
{
    const uint32_t rank = f ? (uint32_t)vf_min((int32_t)(f->residual_q3 >> 2), 31) : 32u + m->distance;
    const int listed = f ? t->ego_tracks && f->age > 0 : t->ego_matches;
    return listed ? rank << 16 | (uint32_t)candidate : VF_NONE;
}

/** Error of a track, and of a match refined to subpixels, over that of a match of level 0 on whole pixels. Medians of
 *  the distance from the true epipolar line, on four rendered sequences: tracks 0.01 to 0.08 px; refined matches as
 *  much, on any level; other matches 0.20 to 0.25 px times the size of their level's pixels. */
#define VF_EGO_SUBPIXEL_ERROR 0.15f

/** The least such error for a metric motion. A wrong rig makes all distances wrong, by more than their deviations say;
 *  with a bound as tight as image positions allow, the only inliers left would be those at the most common distance,
 *  whose residuals do not show the rig's error. */
#define VF_EGO_METRIC_ERROR_MIN 0.5f

/** Error of a match in a metric motion that grows with its displacement: near points move and change their looks more
 *  than far ones, and the rig's errors show in them more. With the bound for far points nearly half of the matches up
 *  to 20 m away were outliers on driving, one in eight beyond 40 m; and near points carry the translation. */
#define VF_EGO_MOVED_ERROR 0.03f

/** Weight, 1 / sine of the bound on an inlier's angle: an error at the image centre. */
VF_FN float vf_ego_weight_px(const struct vf_ego_view *s, float error_px)
{
    const float focal_px = s->geometry.focal_px[0];
    return sqrtf(error_px * error_px + focal_px * focal_px) / error_px;
}

/** Weight for the error ego_error_mpx times a relative one (paper 003, equation 20). */
VF_FN float vf_ego_weight(const struct vf_ego_view *s, float relative_error)
{
    return vf_ego_weight_px(s, (float)s->tuning.ego_error_mpx * 0.001f * relative_error);
}

/** Replace a correspondence without a valid bearing by two opposite ones, which are an outlier of every motion. */
VF_FN void vf_ego_reject_invalid(struct vf_correspondence *c)
{
    const float before = vf_dot(c->before, c->before), now = vf_dot(c->now, c->now);
    if (before > 0.5f && before < 2.0f && now > 0.5f && now < 2.0f) return;
    for (int k = 0; k < 3; k++) c->before[k] = c->now[k] = 0.0f;
    c->before[2] = 1.0f;
    c->now[2] = -1.0f;
}

/** Correspondence of a track. node: camera 0's grid of bearings. */
VF_FN struct vf_correspondence vf_ego_from_track(const struct vf_ego_view *s, const struct vf_node *node,
                                                 const struct vf_feature *f)
{
    struct vf_correspondence c;
    memset(&c, 0, sizeof c);
    vf_bearing_at(node, s->geometry.nodes_x[0], f->x_q16 - f->dx_q16, f->y_q16 - f->dy_q16, c.before);
    vf_bearing_at(node, s->geometry.nodes_x[0], f->x_q16, f->y_q16, c.now);
    c.weight = vf_ego_weight(s, VF_EGO_SUBPIXEL_ERROR);
    vf_ego_reject_invalid(&c);
    return c;
}

#if VFRONT_MATCHES
/** Bearing of where a match goes on to from its key point of the frame before. The match's own positions may lie beside
 *  its key points, in a chain; the patch around the key point, whose depth is known, moved by as much. */
VF_FN void vf_ego_match_now(const struct vf_ego_view *s, const vfront_match_t *m, const struct vf_point *before,
                            float bearing[3])
{
    const struct vf_match_link *from = &s->match->link[s->parity ^ 1][m->before],
                               *to = &s->match->link[s->parity][m->keypoint];
    for (int k = 0; k < 3; k++) bearing[k] = m->bearing[k];
    if (!m->settled || m->age < 2) return;
    vf_bearing_at(s->bearing->node[0], s->geometry.nodes_x[0], before->x_q16 + (to->x_q16 - from->x_q16),
                  before->y_q16 + (to->y_q16 - from->y_q16), bearing);
}

/** Correspondence of a match. before, now: its key points in both frames, with their distances. */
VF_FN struct vf_correspondence vf_ego_from_match(const struct vf_ego_view *s, const vfront_match_t *m,
                                                 const struct vf_point *before, const struct vf_point *now,
                                                 struct vf_range_estimate range_before,
                                                 struct vf_range_estimate range_now)
{
    struct vf_correspondence c;
    for (int k = 0; k < 3; k++) c.before[k] = before->bearing[k];
    vf_ego_match_now(s, m, before, c.now);
    c.weight = vf_ego_weight(s, m->settled                 ? VF_EGO_SUBPIXEL_ERROR
                                : before->step > now->step ? before->step
                                                           : now->step);
    c.range_m = range_before.m;
    c.range_sigma_m = range_before.sigma_m;
    c.inverse_depth_1pm = range_now.m > 0.0f ? 1.0f / range_now.m : 0.0f;
    c.inverse_depth_sigma_1pm = range_now.m > 0.0f ? range_now.sigma_m / (range_now.m * range_now.m) : 0.0f;
    vf_ego_reject_invalid(&c);
    return c;
}
#endif

/** A correspondence of the first list as the second list, that of metric motions, has it. */
VF_FN struct vf_correspondence vf_ego_metric_correspondence(const struct vf_ego_view *s, struct vf_correspondence c)
{
    const float x = c.now[0] - c.before[0], y = c.now[1] - c.before[1], z = c.now[2] - c.before[2];
    const float moved = sqrtf(x * x + y * y + z * z) * s->geometry.focal_px[0] * VF_EGO_MOVED_ERROR,
                least = (float)s->tuning.ego_error_mpx * 0.001f * VF_EGO_METRIC_ERROR_MIN;
    c.weight = vf_motion_min(c.weight, vf_ego_weight_px(s, sqrtf(least * least + moved * moved)));
    return c;
}

#endif
