/* SPDX-License-Identifier: MIT */
/* Search and alignment of a partner, written once for host and GPU. On the GPU every lane of a warp calls these
 * functions with the same values. Besides the hooks of align.h each side defines:
 *
 *   hook                       src/tracking/partner.c         kernels/tracking/partner.cu
 *   vf_partner_bearings()      three bearings in turn         one lane per bearing
 *   vf_partner_find_anchors()  anchors in turn                three lanes for the bearings of an anchor
 *   vf_partner_at()            from an array                  from the lanes that hold the anchors
 *   vf_partner_correlate()     candidates in turn             two candidates per lane
 *   vf_partner_best_key()      minimum of an array            minimum over the warp */
#ifndef VF_PARTNER_SEARCH_H
#define VF_PARTNER_SEARCH_H

#include "align.h"
#include "geometry/ego_memory.h"
#include "image/ingest.h"
#include "partner.h"

#if VFRONT_STEREO

/** Bearings of camera 1 at a position (here), one pixel to the right of it and one pixel below. */
struct vf_partner_bearing_set {
    float here[3], right[3], below[3];
};
VF_HOOK struct vf_partner_bearing_set vf_partner_bearings(const struct vf_partner_view *s,
                                                          struct vf_stereo_position at);

/** Anchors: positions on the epipolar line that are computed exactly. vf_partner_find_anchors() computes them, by
 *  Newton steps that start at the pixel `from`. */
struct vf_partner_anchors;
VF_HOOK void vf_partner_find_anchors(struct vf_partner_anchors *anchors, const struct vf_partner_view *s,
                                     const struct vf_epipolar_plane *e, const struct vf_partner_search *search,
                                     struct vf_stereo_position from);
/** Position of a candidate on the epipolar line, interpolated between two anchors. */
VF_HOOK struct vf_partner_anchor vf_partner_at(const struct vf_partner_anchors *anchors, int32_t candidate);

/** Keys of all candidates, vf_partner_key(): deficit of the correlation, and index. vf_partner_correlate() computes
 *  them. */
struct vf_partner_keys;
VF_HOOK void vf_partner_correlate(struct vf_partner_keys *keys, const struct vf_partner_anchors *anchors,
                                  const struct vf_partner_comparison *comparison);
/** Best (least) key among candidates first .. last, without those nearer than `apart` to candidate `except`. */
VF_HOOK uint32_t vf_partner_best_key(const struct vf_partner_keys *keys, int32_t first, int32_t last, int32_t except,
                                     int32_t apart);

/** Newton step of the position `at` towards the pixel of camera 1 whose bearing is `towards`. near: bearings at the
 *  position. */
VF_FN struct vf_stereo_position vf_partner_newton(const struct vf_partner_view *s, struct vf_stereo_position at,
                                                  const float towards[3], const struct vf_partner_bearing_set *near)
{
    return vf_expect_step(&s->geometry.level[1][0], at, towards, near->here, near->right, near->below);
}

/** Calibration offsets of camera 1 that are corrected in this frame, estimated up to the previous frame. */
VF_FN struct vf_stereo_offsets vf_partner_offsets(const struct vf_partner_view *s)
{
    const int correct = s->tuning.rig_offset && s->ingest->params.frame != 0;
    const struct vf_rig_estimate epipolar = vf_epipolar_estimate(s->epipolar, s->geometry.active, s->parity ^ 1),
                                 disparity = vf_ego_disparity(s->ego, s->geometry.active, s->parity ^ 1);
    struct vf_stereo_offsets o;
    o.epipolar = vf_rig_correction(&epipolar, correct);
    o.disparity = vf_rig_correction(&disparity, correct);
    return o;
}

/** Key of the best candidate if it is unique, over the whole range or else in the interval expected from the previous
 *  frame; VF_NONE: none is. within: in, the expected interval; out, the interval in which the candidate is unique. */
VF_SHARED_FN uint32_t vf_partner_choose(const struct vf_partner_keys *keys, struct vf_partner_interval *within)
{
    const struct vf_partner_interval all = {0, VF_PARTNER_CANDIDATES - 1}, expected = *within;
    const uint32_t best = vf_partner_best_key(keys, all.first, all.last, -1, 0),
                   second = vf_partner_best_key(keys, all.first, all.last, vf_partner_candidate(best),
                                                VF_PARTNER_APART),
                   near = vf_partner_best_key(keys, expected.first, expected.last, -1, 0),
                   other = vf_partner_best_key(keys, expected.first, expected.last, vf_partner_candidate(near),
                                               VF_PARTNER_APART);
    if (best == VF_NONE) return VF_NONE;
    if (vf_partner_unique(best, second)) {
        *within = all;
        return best;
    }
    return near != VF_NONE && vf_partner_unique(near, other) ? near : VF_NONE;
}

/** Alignment of a track's patch along its epipolar line in camera 1. */
struct vf_partner_alignment {
    float shift;          /* distance of the match from line->start along the line [px] */
    float fit_px;         /* standard deviation of `shift` [px] */
    uint32_t residual_q3; /* mean absolute residual of the patch [grey levels, Q3] */
    int32_t alpha_q14,    /* photometric gain - 1 */
        beta_q5;          /* photometric offset at the reference grey level [grey levels, Q5] */
};

/** 1 if the gain lies within its bounds and the residual passes the test of vf_track_fits(). track_residual_percent is
 *  reduced to VF_PARTNER_RESIDUAL % there, because both images are of the same time. */
VF_SHARED_FN int vf_partner_fits(const struct vf_partner_view *s, float contrast, const struct vf_partner_alignment *p)
{
    struct vf_align_tuning tuning = s->align.tuning;
    tuning.track_residual_percent = tuning.track_residual_percent * VF_PARTNER_RESIDUAL / 100;
    return p->alpha_q14 > -12288 && p->alpha_q14 < 49152 &&
           vf_track_fits(&tuning, contrast, p->alpha_q14, p->residual_q3);
}

/** Aligns the patch of size x size px around a track with camera 1, along the epipolar line, starting from *p. Returns
 *  0 if it diverges or its residual is too large. */
VF_SHARED_FN int vf_partner_align(struct vf_patch *patch, const struct vf_partner_view *s, const struct vf_feature *f,
                                  const struct vf_epipolar_line *line, int32_t size, struct vf_partner_alignment *p)
{
    const struct vf_level_picture own = vf_partner_picture(s, 0, 0), other = vf_partner_picture(s, 1, 0);
    const int32_t photometric = s->align.tuning.track_photometric;
    struct vf_template_moments m;
    int32_t reference;
    float n[4][4], first = p->shift;
    uint32_t absolute = 0;
    vf_patch_extract(patch, &own, 0, photometric, vf_track_patch_origin(f->x_q16, size),
                     vf_track_patch_origin(f->y_q16, size), size, &reference, &m);
    if (!vf_partner_normal(&m, line, size * size, photometric, n)) return 0;
    for (int32_t i = 0; i < VF_PARTNER_STEPS; i++) {
        const struct vf_stereo_position at = vf_stereo_move(line, line->start, p->shift);
        const struct vf_residual_sums r = vf_patch_residuals(patch, &other, vf_track_patch_origin(at.x_q16, size),
                                                             vf_track_patch_origin(at.y_q16, size), size, reference,
                                                             p->alpha_q14, p->beta_q5);
        const float along = line->direction_x * (float)r.x + line->direction_y * (float)r.y,
                    t = photometric & VFRONT_PHOTOMETRIC_GAIN ? (float)r.t : 0.0f,
                    one = photometric & VFRONT_PHOTOMETRIC_OFFSET ? (float)r.one : 0.0f;
        const float d = ((n[0][0] * along + n[0][2] * t) + n[0][3] * one) * 2.0f /
                        (1.0f + (float)p->alpha_q14 * (1.0f / 16384.0f)),
                    alpha = (n[0][2] * along + n[2][2] * t) + n[2][3] * one,
                    beta = (n[0][3] * along + n[2][3] * t) + n[3][3] * one;
        absolute = (uint32_t)r.absolute;
        if (!(fabsf(d) < VF_PARTNER_FAR_PX && fabsf(alpha) < 4.0f && fabsf(beta) < 4096.0f)) return 0;
        p->shift -= d;
        /* bounds of the gain: 1/4 .. 4 */
        p->alpha_q14 = vf_clamp(p->alpha_q14 + vf_round(alpha * 16384.0f), -12288, 49152);
        p->beta_q5 = vf_clamp(p->beta_q5 + vf_round(beta * 4.0f), -8160, 8160);
        if (!(fabsf(p->shift - first) <= VF_PARTNER_FAR_PX)) return 0;
        if (fabsf(d) < VF_PARTNER_EPSILON_PX) break;
    }
    const float residual = (float)absolute / (float)(size * size); /* mean absolute residual [1/8 grey level] */
    p->residual_q3 = absolute / (uint32_t)(size * size);
    p->fit_px = 2.0f * 1.2533141f * residual * sqrtf(n[0][0] > 0.0f ? n[0][0] : 0.0f);
    return vf_partner_fits(s, vf_track_deviation(&m, size * size), p);
}

/** Epipolar line at a candidate's position `from`, shifted across itself by the calibration offset epipolar_px. Returns
 *  0 outside the field of view. */
VF_SHARED_FN int vf_partner_line(const struct vf_partner_view *s, const struct vf_epipolar_plane *e,
                                 struct vf_stereo_position from, float epipolar_px, struct vf_epipolar_line *line)
{
    const struct vf_partner_bearing_set near = vf_partner_bearings(s, from);
    if (!vf_stereo_line(e, from, near.here, near.right, near.below, line)) return 0;
    line->start = vf_stereo_move_across(line, line->start, epipolar_px);
    return 1;
}

/** 1 if a position of camera 1 lies in the image and is not masked. */
VF_SHARED_FN int vf_partner_usable(const struct vf_partner_view *s, struct vf_stereo_position at)
{
    const struct vf_level *l = &s->geometry.level[1][0];
    const int32_t x = vf_pixel(at.x_q16), y = vf_pixel(at.y_q16);
    if (x < 0 || y < 0 || x >= l->width || y >= l->height) return 0;
    return vf_usable(&s->masks, 1, vf_framed(&s->ingest->params, 1), y * l->pitch + x);
}

/** Key of the candidate that a track matches, by correlation from camera 0 to 1 and back; VF_NONE: none, or not unique.
 *  within: interval of candidates expected from the previous frame. */
VF_SHARED_FN uint32_t vf_partner_find(const struct vf_partner_view *s, const struct vf_feature *f,
                                      const struct vf_partner_search *search, const struct vf_partner_anchors *anchors,
                                      struct vf_partner_keys *keys, struct vf_partner_interval within)
{
    const struct vf_stereo_position own = {f->x_q16, f->y_q16}, nowhere = {0, 0};
    struct vf_partner_comparison c = vf_partner_compare(s, 0, search, own, nowhere, 1);
    vf_partner_correlate(keys, anchors, &c);
    const uint32_t found = vf_partner_choose(keys, &within);
    if (found == VF_NONE) return VF_NONE;
    const struct vf_stereo_position at = vf_partner_at(anchors, vf_partner_candidate(found)).at,
                                    sum = {own.x_q16 + at.x_q16, own.y_q16 + at.y_q16};
    c = vf_partner_compare(s, 1, search, at, sum, -1);
    vf_partner_correlate(keys, anchors, &c);
    const uint32_t back = vf_partner_best_key(keys, within.first, within.last, -1, 0);
    const int32_t distance = vf_partner_candidate(back) - vf_partner_candidate(found);
    return back != VF_NONE && vf_abs(distance) <= VF_PARTNER_BACK ? found : VF_NONE;
}

/** Interval of candidates expected for a track that had a match in camera 1 in the previous frame; empty for others. */
VF_SHARED_FN struct vf_partner_interval vf_partner_expected(const struct vf_partner_view *s, const struct vf_feature *f,
                                                            const struct vf_epipolar_plane *e,
                                                            const struct vf_partner_search *search)
{
    const struct vf_partner_interval none = {0, -1};
    float before[3];
    if (!f->age || !s->ingest->params.frame) return none;
    vf_bearing_at(s->bearing->node[0], s->geometry.nodes_x[0], f->x_q16 - f->dx_q16, f->y_q16 - f->dy_q16, before);
    return vf_partner_expect(s, e, search, before, s->partner->range[s->parity ^ 1][f->template_index]);
}

/** Finds the match of a track in camera 1, with its disparity and depth. range: out, inverse range for the next
 *  frame. */
VF_SHARED_FN struct vf_partner vf_partner_one(struct vf_patch *patch, struct vf_partner_anchors *anchors,
                                              struct vf_partner_keys *keys, const struct vf_partner_view *s,
                                              const struct vf_feature *f, struct vf_partner_range *range)
{
    const struct vf_partner none = {0, 0, 0.0f, 0.0f, 0.0f, 0.0f};
    const struct vf_partner_search search = vf_partner_search_of(s);
    const struct vf_stereo_offsets offsets = vf_partner_offsets(s);
    const struct vf_stereo_position own = {f->x_q16, f->y_q16};
    float bearing[3];
    range->inverse_1pm = range->sigma_1pm = 0.0f;
    vf_bearing_at(s->bearing->node[0], s->geometry.nodes_x[0], own.x_q16, own.y_q16, bearing);
    const struct vf_epipolar_plane e = vf_stereo_epipolar(&s->geometry.pair, bearing);
    vf_partner_find_anchors(anchors, s, &e, &search, own);
    const uint32_t found = vf_partner_find(s, f, &search, anchors, keys, vf_partner_expected(s, f, &e, &search));
    if (found == VF_NONE) return none;

    struct vf_epipolar_line line;
    const struct vf_partner_anchor from = vf_partner_at(anchors, vf_partner_candidate(found));
    if (!vf_partner_line(s, &e, from.at, offsets.epipolar, &line)) return none;
    struct vf_partner_alignment alignment = {0.0f, 0.0f, 0, 0, 0};
    if (!vf_partner_align(patch, s, f, &line, VF_PATCH, &alignment)) return none;
    const float wide = alignment.shift;
    if (!vf_partner_align(patch, s, f, &line, VF_PATCH / 2, &alignment)) return none;
    if (!(fabsf(alignment.shift - wide) <= VF_PARTNER_AGREE_PX)) return none;
    const struct vf_stereo_position at = vf_stereo_move(&line, line.start, alignment.shift);
    if (!vf_partner_usable(s, at)) return none;
    return vf_partner_measure(s, &e, &line, offsets.disparity, at, bearing, vf_partner_bearings(s, at).here,
                              alignment.fit_px, range);
}

/** 1 if an image of this frame is frozen. The images of the two cameras are then of different times, so that no track
 *  has a match. */
VF_FN int vf_partner_frozen(const struct vf_partner_view *s)
{
    return s->freeze->frames[s->parity][0] || s->freeze->frames[s->parity][1];
}
#endif

#endif
