/* SPDX-License-Identifier: MIT */
/* The algorithm of partner, written once for host and GPU. On the GPU every lane of a warp calls these functions with
 * the same values. Beside the hooks of align.h each side defines:
 *
 *   hook                       src/tracking/partner.c         kernels/tracking/partner.cu
 *   vf_partner_bearings()      three bearings in turn         a lane has one of them
 *   vf_partner_find_anchors()  one anchor after the other     three lanes have the bearings of an anchor
 *   vf_partner_at()            from an array                  from the lanes that have the anchors
 *   vf_partner_correlate()     one candidate after the other  a lane has two candidates
 *   vf_partner_least()         minimum of an array            minimum over the warp
 */
#ifndef VF_PARTNER_FLOW_H
#define VF_PARTNER_FLOW_H

#include "align.h"
#include "geometry/ego.h"
#include "image/ingest.h"
#include "partner.h"

#if VFRONT_STEREO

/** Bearings of camera 1 at a position, one pixel to the right and one below. */
struct vf_partner_near {
    float here[3], right[3], below[3];
};
VF_HOOK struct vf_partner_near vf_partner_bearings(const struct vf_partner_view *s, struct vf_stereo_position at);

/** All anchors of a line. */
struct vf_partner_anchors;
VF_HOOK void vf_partner_find_anchors(struct vf_partner_anchors *anchors, const struct vf_partner_view *s,
                                     const struct vf_epipolar *e, const struct vf_partner_search *search,
                                     struct vf_stereo_position from);
/** Position of a candidate. */
VF_HOOK struct vf_partner_anchor vf_partner_at(const struct vf_partner_anchors *anchors, int32_t candidate);

/** Keys of all candidates: vf_partner_key(). */
struct vf_partner_keys;
VF_HOOK void vf_partner_correlate(struct vf_partner_keys *keys, const struct vf_partner_anchors *anchors,
                                  const struct vf_partner_comparison *comparison);
/** Least key of the candidates from `first` to `last`, but for those nearer than `apart` to candidate `but`. */
VF_HOOK uint32_t vf_partner_least(const struct vf_partner_keys *keys, int32_t first, int32_t last, int32_t but,
                                  int32_t apart);

/** Step of Newton's method to an anchor. */
VF_FN struct vf_stereo_position vf_partner_newton(const struct vf_partner_view *s, struct vf_stereo_position at,
                                                  const float towards[3], const struct vf_partner_near *near)
{
    return vf_expect_step(&s->geometry.level[1][0], at, towards, near->here, near->right, near->below);
}

/** Offsets of the rig that are corrected in this step. */
VF_FN struct vf_stereo_offsets vf_partner_offsets(const struct vf_partner_view *s)
{
    const int correct = s->tuning.rig_offset && s->ingest->params.frame != 0;
    const struct vf_rig_estimate rows = vf_rows_estimate(s->rows, s->geometry.active, s->parity ^ 1),
                                 disparity = vf_ego_disparity(s->ego, s->geometry.active, s->parity ^ 1);
    struct vf_stereo_offsets o;
    o.rows = vf_rig_correction(&rows, correct);
    o.disparity = vf_rig_correction(&disparity, correct);
    return o;
}

/** Best candidate that is the only one, in the whole range or where the frame before expects it: *within, which is that
 *  interval before and the one in which it is the only one afterwards. */
VF_FLOW uint32_t vf_partner_choose(const struct vf_partner_keys *keys, struct vf_partner_interval *within)
{
    const struct vf_partner_interval all = {0, VF_PARTNER_CANDIDATES - 1}, expected = *within;
    const uint32_t best = vf_partner_least(keys, all.first, all.last, -1, 0),
                   second = vf_partner_least(keys, all.first, all.last, vf_partner_candidate(best), VF_PARTNER_APART),
                   near = vf_partner_least(keys, expected.first, expected.last, -1, 0),
                   other = vf_partner_least(keys, expected.first, expected.last, vf_partner_candidate(near),
                                            VF_PARTNER_APART);
    if (best == VF_NONE) return VF_NONE;
    if (vf_partner_only(best, second)) {
        *within = all;
        return best;
    }
    return near != VF_NONE && vf_partner_only(near, other) ? near : VF_NONE;
}

/** Position on the line in work, and how the patches compare there. */
struct vf_partner_place {
    float shift; /* from the line's start [px] */
    float fit_px;
    uint32_t residual_q3;
    int32_t alpha_q14, beta_q5;
};

/** Residual test: that of track, with a smaller share of the contrast, because both pictures are of one time; and a
 *  gain within its bounds. */
VF_FLOW int vf_partner_fits(const struct vf_partner_view *s, float contrast, const struct vf_partner_place *p)
{
    struct vf_align_tuning tuning = s->align.tuning;
    tuning.track_residual_percent = tuning.track_residual_percent * VF_PARTNER_RESIDUAL / 100;
    return p->alpha_q14 > -12288 && p->alpha_q14 < 49152 &&
           vf_track_fits(&tuning, contrast, p->alpha_q14, p->residual_q3);
}

/** Aligns the patch of `size` px around the track along the line, from *p on. Returns 0 if it does not converge. */
VF_FLOW int vf_partner_align(struct vf_patch *patch, const struct vf_partner_view *s, const struct vf_feature *f,
                             const struct vf_epipolar_line *line, int32_t size, struct vf_partner_place *p)
{
    const struct vf_level_picture own = vf_partner_picture(s, 0, 0), other = vf_partner_picture(s, 1, 0);
    const int32_t light = s->align.tuning.track_light;
    struct vf_template_moments m;
    int32_t reference;
    float n[4][4], first = p->shift;
    uint32_t absolute = 0;
    vf_patch_extract(patch, &own, 0, light, vf_track_patch_origin(f->x_q16, size),
                     vf_track_patch_origin(f->y_q16, size), size, &reference, &m);
    if (!vf_partner_normal(&m, line, size * size, light, n)) return 0;
    for (int32_t i = 0; i < VF_PARTNER_STEPS; i++) {
        const struct vf_stereo_position at = vf_stereo_move(line, line->start, p->shift);
        const struct vf_residual_sums r = vf_patch_residuals(patch, &other, vf_track_patch_origin(at.x_q16, size),
                                                             vf_track_patch_origin(at.y_q16, size), size, reference,
                                                             p->alpha_q14, p->beta_q5);
        const float along = line->direction_x * (float)r.x + line->direction_y * (float)r.y,
                    t = light & VFRONT_LIGHT_GAIN ? (float)r.t : 0.0f,
                    one = light & VFRONT_LIGHT_OFFSET ? (float)r.one : 0.0f;
        const float d = ((n[0][0] * along + n[0][2] * t) + n[0][3] * one) * 2.0f /
                        (1.0f + (float)p->alpha_q14 * (1.0f / 16384.0f)),
                    alpha = (n[0][2] * along + n[2][2] * t) + n[2][3] * one,
                    beta = (n[0][3] * along + n[2][3] * t) + n[3][3] * one;
        absolute = (uint32_t)r.absolute;
        if (!(fabsf(d) < VF_PARTNER_FAR_PX && fabsf(alpha) < 4.0f && fabsf(beta) < 4096.0f)) return 0;
        p->shift -= d;
        p->alpha_q14 = vf_clamp(p->alpha_q14 + vf_round(alpha * 16384.0f), -12288, 49152); /* gain 1/4 .. 4 */
        p->beta_q5 = vf_clamp(p->beta_q5 + vf_round(beta * 4.0f), -8160, 8160);
        if (!(fabsf(p->shift - first) <= VF_PARTNER_FAR_PX)) return 0;
        if (fabsf(d) < VF_PARTNER_EPSILON_PX) break;
    }
    const float residual = (float)absolute / (float)(size * size); /* [1/8 grey level] */
    p->residual_q3 = absolute / (uint32_t)(size * size);
    p->fit_px = 2.0f * 1.2533141f * residual * sqrtf(n[0][0] > 0.0f ? n[0][0] : 0.0f);
    return vf_partner_fits(s, vf_track_deviation(&m, size * size), p);
}

/** Epipolar line at a candidate, moved by the offset of the rows. */
VF_FLOW int vf_partner_line(const struct vf_partner_view *s, const struct vf_epipolar *e,
                            struct vf_stereo_position from, float rows_px, struct vf_epipolar_line *line)
{
    const struct vf_partner_near near = vf_partner_bearings(s, from);
    if (!vf_stereo_line(e, from, near.here, near.right, near.below, line)) return 0;
    line->start = vf_stereo_move_across(line, line->start, rows_px);
    return 1;
}

/** 1 if a position of camera 1 lies in the picture and under no mask. */
VF_FLOW int vf_partner_usable(const struct vf_partner_view *s, struct vf_stereo_position at)
{
    const struct vf_level *l = &s->geometry.level[1][0];
    const int32_t x = vf_pixel(at.x_q16), y = vf_pixel(at.y_q16);
    if (x < 0 || y < 0 || x >= l->width || y >= l->height) return 0;
    return vf_usable(&s->masks, 1, vf_framed(&s->ingest->params, 1), y * l->pitch + x);
}

/** Candidate of a track, by correlation there and back; VF_NONE if there is none that is the only one. within: the
 *  interval in which the frame before expects it. */
VF_FLOW uint32_t vf_partner_seek(const struct vf_partner_view *s, const struct vf_feature *f,
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
    const uint32_t back = vf_partner_least(keys, within.first, within.last, -1, 0);
    const int32_t way = vf_partner_candidate(back) - vf_partner_candidate(found);
    return back != VF_NONE && vf_abs(way) <= VF_PARTNER_BACK ? found : VF_NONE;
}

/** Interval of a track that had a partner in the frame before. */
VF_FLOW struct vf_partner_interval vf_partner_expected(const struct vf_partner_view *s, const struct vf_feature *f,
                                                       const struct vf_epipolar *e,
                                                       const struct vf_partner_search *search)
{
    const struct vf_partner_interval none = {0, -1};
    float before[3];
    if (!f->age || !s->ingest->params.frame) return none;
    vf_bearing_at(s->bearing->node[0], s->geometry.nodes_x[0], f->x_q16 - f->dx_q16, f->y_q16 - f->dy_q16, before);
    return vf_partner_expect(s, e, search, before, s->partner->range[s->parity ^ 1][f->template_index]);
}

/** Partner of a track, and its inverse range for the next step. */
VF_FLOW struct vf_partner vf_partner_one(struct vf_patch *patch, struct vf_partner_anchors *anchors,
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
    const struct vf_epipolar e = vf_stereo_epipolar(&s->geometry.pair, bearing);
    vf_partner_find_anchors(anchors, s, &e, &search, own);
    const uint32_t found = vf_partner_seek(s, f, &search, anchors, keys, vf_partner_expected(s, f, &e, &search));
    if (found == VF_NONE) return none;

    struct vf_epipolar_line line;
    const struct vf_partner_anchor from = vf_partner_at(anchors, vf_partner_candidate(found));
    if (!vf_partner_line(s, &e, from.at, offsets.rows, &line)) return none;
    struct vf_partner_place place = {0.0f, 0.0f, 0, 0, 0};
    if (!vf_partner_align(patch, s, f, &line, VF_PATCH, &place)) return none;
    const float wide = place.shift;
    if (!vf_partner_align(patch, s, f, &line, VF_PATCH / 2, &place)) return none;
    if (!(fabsf(place.shift - wide) <= VF_PARTNER_AGREE_PX)) return none;
    const struct vf_stereo_position at = vf_stereo_move(&line, line.start, place.shift);
    if (!vf_partner_usable(s, at)) return none;
    return vf_partner_measure(s, &e, &line, offsets.disparity, at, bearing, vf_partner_bearings(s, at).here,
                              place.fit_px, range);
}

/** 1 if a picture of this frame is frozen: the cameras' pictures are not of one time. */
VF_FN int vf_partner_frozen(const struct vf_partner_view *s)
{
    return s->freeze->frames[s->parity][0] || s->freeze->frames[s->parity][1];
}
#endif

#endif
