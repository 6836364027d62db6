/* SPDX-License-Identifier: MIT */
/* ego, list of correspondences: order, weight, and conversion of tracks and matches.
 *
 * In      features of the tracker and their distances in the previous frame; matches with the key points of both frames
 *         and their distances
 * Out     sort keys of the candidates; correspondences
 * Rule    candidates are the tracks, then the matches. Order: tracks by residual, then matches by descriptor distance,
 *         then by index. A metric motion uses matches with a distance, and tracks with one where they outnumber them
 * Exact   single precision in one order
 * Memory  struct vf_correspondences in ego_memory.h
 */
#ifndef VF_EGO_LIST_H
#define VF_EGO_LIST_H

#include "ego.h"
#include "tracking/match.h"
#include "tracking/feature.h"

#define VF_EGO_TRACK_RANKS 32 /* number of accuracy ranks of tracks; ranks of matches follow */

/** Sort key of a candidate, a track f or else a match m: rank << 16 | candidate. Rank: 0 .. 31 for tracks, 32 .. 288
 *  for matches. VF_NONE: no correspondence, because the track is new or the tuning excludes matches. */
VF_FN uint32_t vf_ego_key(const struct vf_ego_tuning *t, const struct vf_feature *f, const vfront_match_t *m,
                          int32_t candidate)
{
    const uint32_t rank = f ? (uint32_t)vf_min((int32_t)(f->residual_q3 >> 2), VF_EGO_TRACK_RANKS - 1)
                            : (uint32_t)VF_EGO_TRACK_RANKS + m->distance;
    const int listed = f ? f->age > 0 : t->ego != VFRONT_EGO_TRACKS;
    return listed ? rank << 16 | (uint32_t)candidate : VF_NONE;
}

/** Error of a track or of a subpixel match, relative to that of a match between whole pixels of pyramid level 0. Median
 *  distance from the true epipolar line: 0.01 to 0.08 px for tracks and subpixel matches, 0.20 to 0.25 px for whole
 *  pixels. */
#define VF_EGO_SUBPIXEL_ERROR 0.15f

/** Least inlier bound of a correspondence in a metric motion, relative to ego_error_mpx. A calibration error makes all
 *  distances wrong. With a tighter bound, only correspondences at the most common distance would be inliers, and their
 *  residuals hide the calibration error. */
#define VF_EGO_METRIC_ERROR_MIN 0.5f

/** Part of the inlier bound of a match in a metric motion that grows with its displacement between the frames [px /
 *  px]. Near points change their appearance more and show calibration errors more, but carry the information on the
 *  translation. */
#define VF_EGO_DISPLACEMENT_ERROR 0.03f

/** Weight of a correspondence: 1 / sine of its inlier bound, an angle. error_px: the bound at the image centre [px]. */
VF_FN float vf_ego_weight_px(const struct vf_ego_view *s, float error_px)
{
    const float focal_px = s->geometry.focal_px[0];
    return sqrtf(error_px * error_px + focal_px * focal_px) / error_px;
}

/** Weight of a correspondence whose inlier bound is ego_error_mpx times relative_error. */
VF_FN float vf_ego_weight(const struct vf_ego_view *s, float relative_error)
{
    return vf_ego_weight_px(s, (float)s->tuning.ego_error_mpx * 0.001f * relative_error);
}

/** Replaces a correspondence without a valid bearing by two opposite bearings, an outlier of every motion. */
VF_FN void vf_ego_reject_invalid(struct vf_correspondence *c)
{
    const float before = vf_dot(c->before, c->before), now = vf_dot(c->now, c->now);
    if (before > 0.5f && before < 2.0f && now > 0.5f && now < 2.0f) return;
    for (int k = 0; k < 3; k++) c->before[k] = c->now[k] = 0.0f;
    c->before[2] = 1.0f;
    c->now[2] = -1.0f;
}

/** Distance of a track in the previous frame by its partner, with its standard deviation; 0: unknown, or beyond
 *  VF_MOTION_SIGMAS standard deviations of its inverse, where it may be infinite. Nothing else is reported: 0 times
 *  infinity is not the same NaN on every processor. */
VF_FN struct vf_range_estimate vf_ego_track_range(const struct vf_ego_view *s, const struct vf_feature *f)
{
    const struct vf_partner_range from = vf_partner_range_of(s->partner, s->geometry.active, s->parity ^ 1, f);
    struct vf_range_estimate none = {0.0f, 0.0f}, range;
    if (!f->age || !vf_ego_metric_on(s) || !(from.inverse_1pm > VF_MOTION_SIGMAS * from.sigma_1pm)) return none;
    range.m = 1.0f / from.inverse_1pm;
    range.sigma_m = from.sigma_1pm * range.m * range.m;
    return range.sigma_m > 0.0f && range.sigma_m < range.m ? range : none;
}

/** 1 if tracks are correspondences of a metric motion: they outnumber the matches with a distance. Tracks and matches
 *  of one corner have the same errors: tracks halve the error of a motion with 200 key points, and gain nothing with
 *  2,048. tracks, matches: their numbers with a distance. */
VF_FN int vf_ego_uses_track_ranges(uint32_t tracks, uint32_t matches) { return tracks > matches; }

/** Correspondence of a track. node: bearing grid of camera 0. */
VF_FN struct vf_correspondence vf_ego_from_track(const struct vf_ego_view *s, const struct vf_node *node,
                                                 const struct vf_feature *f)
{
    struct vf_correspondence c;
    memset(&c, 0, sizeof c);
    vf_bearing_at(node, s->geometry.nodes_x[0], f->x_q16 - f->dx_q16, f->y_q16 - f->dy_q16, c.before);
    vf_bearing_at(node, s->geometry.nodes_x[0], f->x_q16, f->y_q16, c.now);
    c.weight = vf_ego_weight(s, VF_EGO_SUBPIXEL_ERROR);
    const struct vf_range_estimate range = vf_ego_track_range(s, f);
    c.range_m = range.m;
    c.range_sigma_m = range.sigma_m;
    vf_ego_reject_invalid(&c);
    return c;
}

#if VFRONT_MATCHES
/** Distance of a key point in the frame of a parity by its stereo match; unknown where no metric motion uses it. */
VF_FN struct vf_range_estimate vf_ego_match_range(const struct vf_ego_view *s, int32_t parity, uint32_t keypoint)
{
    const int used = s->geometry.active & VF_BIT(stereo) && vf_ego_metric_on(s);
    return used ? vf_stereo_range(s->stereo, parity, keypoint) : vf_range_unknown();
}

/** Current bearing of a match, relative to its key point of the previous frame. Refined positions in a chain of matches
 *  may be off their key points. The displacement between refined positions is therefore added to the previous key
 *  point, whose distance is known. */
VF_FN void vf_ego_match_now(const struct vf_ego_view *s, const vfront_match_t *m, const struct vf_point *before,
                            float bearing[3])
{
    const struct vf_match_link *from = &s->match->link[s->parity ^ 1][m->before],
                               *to = &s->match->link[s->parity][m->keypoint];
    for (int k = 0; k < 3; k++) bearing[k] = m->bearing[k];
    if (!m->refined || m->age < 2) return;
    vf_bearing_at(s->bearing->node[0], s->geometry.nodes_x[0], before->x_q16 + (to->x_q16 - from->x_q16),
                  before->y_q16 + (to->y_q16 - from->y_q16), bearing);
}

/** Correspondence of a match. before, now: its key points in the previous and the current frame; range_before,
 *  range_now: their distances. */
VF_FN struct vf_correspondence vf_ego_from_match(const struct vf_ego_view *s, const vfront_match_t *m,
                                                 const struct vf_point *before, const struct vf_point *now,
                                                 struct vf_range_estimate range_before,
                                                 struct vf_range_estimate range_now)
{
    struct vf_correspondence c;
    for (int k = 0; k < 3; k++) c.before[k] = before->bearing[k];
    vf_ego_match_now(s, m, before, c.now);
    c.weight = vf_ego_weight(s, m->refined                 ? VF_EGO_SUBPIXEL_ERROR
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

/** Reduces the weight of a correspondence for metric motions: widens its inlier bound by its displacement in the
 *  image. */
VF_FN struct vf_correspondence vf_ego_metric_correspondence(const struct vf_ego_view *s, struct vf_correspondence c)
{
    const float x = c.now[0] - c.before[0], y = c.now[1] - c.before[1], z = c.now[2] - c.before[2];
    const float moved = sqrtf(x * x + y * y + z * z) * s->geometry.focal_px[0] * VF_EGO_DISPLACEMENT_ERROR,
                least = (float)s->tuning.ego_error_mpx * 0.001f * VF_EGO_METRIC_ERROR_MIN;
    c.weight = vf_motion_min(c.weight, vf_ego_weight_px(s, sqrtf(least * least + moved * moved)));
    return c;
}

#endif
