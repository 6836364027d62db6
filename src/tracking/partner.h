/* SPDX-License-Identifier: MIT */
/* partner: every track's place in camera 1, on its epipolar line, to a part of a pixel; disparity and depth from it.
 *
 * In      features of this frame (refill), pyramids and masks of both cameras, grids of bearings; where a track had a
 *         partner in the frame before, its inverse range and the motion predicted
 * Out     for every track: position in camera 1, disparity and depth with their standard deviations, or none; inverse
 *         ranges for the next step
 * Rule    vf_partner_one() in partner_flow.h. The disparities from vf_partner_least_px() to stereo_disparity_px are
 *         divided into VF_PARTNER_CANDIDATES places on the line. The patch of 8x8 px around the track, on the finest
 *         pyramid level on which neighbouring places are at most about 1 px apart, is compared with those of camera 1
 *         by the normalised correlation. The best place has to be the only one: what it lacks of full correlation, and
 *         VF_PARTNER_CLEAR, is at most VF_PARTNER_RATIO of what any other lacks that is VF_PARTNER_APART places away.
 *         Where two are alike, the best within the interval that the inverse range of the frame before leaves has to be
 *         the only one there. Back from there, the best place in camera 0 has to be the track's. From the place found
 *         Gauss-Newton along the line, with gain and offset, aligns the patch of 16x16 px on level 0, and then its
 *         inner 8x8 px, whose place is the result: both have to agree, and the residual has to pass the test of track
 *         Disparity is that of stereo: focal length of camera 1 times the tangent of the angle between the bearing and
 *         its direction at infinity. Its standard deviation has three parts: a least one; what the patch says, by its
 *         residual over its gradient; what all disparities have in common (rig_disparity_mpx)
 *         With rig_offset 1 lines and disparities are corrected as those of stereo
 * Exact   sums in integers; the rest in single precision in one order, square roots and quotients correctly rounded
 * Memory  40 bytes a track
 * Shared  all but the loops over places and over the pixels of a patch: see partner_flow.h and align.h
 */
#ifndef VF_PARTNER_H
#define VF_PARTNER_H

#include "features/bearing.h"
#include "geometry/expect.h"
#include "geometry/rows.h"
#include "image/freeze.h"
#include "image/pyramid.h"
#include "refill.h"
#include "track.h"

/** Partner of a track in camera 1. disparity_sigma_px 0: none, and all others are 0; depth_m 0: no depth. */
struct vf_partner {
    int32_t x_q16, y_q16; /* position in camera 1 [1/65536 px of level 0] */
    float disparity_px, disparity_sigma_px;
    float depth_m, depth_sigma_m;
};

/** Inverse range of a track and its standard deviation [1/m]; sigma 0: unknown. */
struct vf_partner_range {
    float inverse_1pm, sigma_1pm;
};

struct vf_partner_memory {
#if VFRONT_STEREO
    struct vf_partner partner[VFRONT_TRACKS]; /* out: of each feature of refill, in its order */
    /* by parity, [template_index]: a track keeps that index while it lives. Only those of tracks alive are valid */
    struct vf_partner_range range[2][VFRONT_TRACKS];
#else
    uint64_t nothing;
#endif
};

/* View of partner: core/view.h. */
/* clang-format off */
#define VF_READS_partner(X) X(ingest) X(freeze) X(rectify) X(pyramid) X(predict) X(refill) X(bearing)
#define VF_BEFORE_partner(X) X(rows) X(ego)
#define VF_GEOMETRY_partner(X) X(levels) X(level) X(focal_px) X(nodes_x) X(pair) X(active)
#define VF_TUNING_partner(X) X(stereo_disparity_px) X(stereo_least_mpx) X(rig_disparity_mpx) X(rig_offset)
/* clang-format on */
VF_GEOMETRY_OF(partner);
VF_TUNING_OF(partner);
struct vf_partner_view {
    VF_VIEW(partner);
    struct vf_partner_tuning tuning;
    struct vf_align_view align;
    struct vf_pictures pictures;
    struct vf_masks masks;
};
VF_HOST_FORM(partner);

/** Partner of the track in place i of refill's list; none where the stage is no part of the step (active: of
 *  geometry). */
VF_FN struct vf_partner vf_partner_of(const struct vf_partner_memory *m, uint32_t active, uint32_t i)
{
    const struct vf_partner none = {0, 0, 0.0f, 0.0f, 0.0f, 0.0f};
#if VFRONT_STEREO
    if (active & VF_BIT(partner)) return m->partner[i];
#endif
    (void)m, (void)active, (void)i;
    return none;
}

#if VFRONT_STEREO

#define VF_PARTNER_CANDIDATES 64 /* places on the line that are compared: two a lane of a warp */
#define VF_PARTNER_ANCHORS 5     /* of them exact, at equal distances; those in between are interpolated */
#define VF_PARTNER_BETWEEN 16    /* candidates from anchor to anchor */
#define VF_PARTNER_SIDE 8        /* side of the patch that is compared [px of its level] */
#define VF_PARTNER_PIXELS (VF_PARTNER_SIDE * VF_PARTNER_SIDE)
#define VF_PARTNER_NEGATIVE_PX                                                                                         \
    2.0f                       /* disparities searched below 0: of points far away, with the errors of a rig [px] */
#define VF_PARTNER_APART 2     /* candidates that lie nearer to the best one are the same place */
#define VF_PARTNER_BACK 1      /* largest distance of the way back from the track [candidates]; 0 to 2 */
#define VF_PARTNER_RATIO 0.6f  /* uniqueness: share of what another candidate lacks of full correlation; 0.5 to 0.8 */
#define VF_PARTNER_CLEAR 0.02f /* what another one lacks at least, beside it: noise makes a difference, too */
#define VF_PARTNER_CORRELATION 0.5f /* least squared correlation; 0.3 to 0.7 */
#define VF_PARTNER_STEPS 6          /* Gauss-Newton steps of each patch at most */
#define VF_PARTNER_EPSILON_PX 0.01f /* a shorter step ends them [px] */
#define VF_PARTNER_FAR_PX 4.0f      /* largest sum of their lengths [px] */
#define VF_PARTNER_AGREE_PX 0.5f    /* largest difference of both patches [px]; 0.3 to 0.8 */
#define VF_PARTNER_RESIDUAL 50      /* share of track_residual_percent that a residual may have [%] */
#define VF_PARTNER_SIGMAS 3.0f      /* of the inverse range expected, on either side of its interval */
#define VF_PARTNER_MORE_PX 3.0f     /* added to that interval on either side [px] */
#define VF_PARTNER_SIGMA_PX 0.08f   /* least standard deviation of a disparity [px] */
#define VF_PARTNER_FIT 3.0f         /* share in it of what the patch says */

/* ---- places on the epipolar line --------------------------------------------------------------------------------- */

/** Places that are compared: level, tangent of the first, and from one to the next. */
struct vf_partner_search {
    int32_t level;
    float first, step; /* in focal lengths of camera 1 */
};

VF_FN struct vf_partner_search vf_partner_search_of(const struct vf_partner_view *s)
{
    const float px = (float)s->tuning.stereo_disparity_px + VF_PARTNER_NEGATIVE_PX,
                step = px / (float)(VF_PARTNER_CANDIDATES - 1);
    struct vf_partner_search search = {0, -VF_PARTNER_NEGATIVE_PX / s->geometry.focal_px[1],
                                       step / s->geometry.focal_px[1]};
    while (search.level < s->geometry.levels - 1 && step > 1.25f * (float)(1 << search.level)) search.level++;
    return search;
}

/** Picture of a pyramid level of a camera in this frame. */
VF_FN struct vf_level_picture vf_partner_picture(const struct vf_partner_view *s, int32_t camera, int32_t level)
{
    const struct vf_level *l = &s->geometry.level[camera][VFRONT_LEVELS > 1 ? level : 0];
    const struct vf_level_picture picture = {vf_pyramid_pixels(s->pyramid, &s->pictures, s->parity, camera, level, l),
                                             l->pitch, l->width, l->height};
    return picture;
}

/** Exact place on the line. valid 0: the lens has none there, or it is not in the picture. */
struct vf_partner_anchor {
    struct vf_stereo_position at;
    int32_t valid;
};

/** Bearing of camera 1 towards an anchor. */
VF_FN void vf_partner_towards(const struct vf_epipolar *e, const struct vf_partner_search *search, int32_t anchor,
                              float towards[3])
{
    const float tangent = search->first + search->step * (float)(anchor * VF_PARTNER_BETWEEN);
    for (int k = 0; k < 3; k++) towards[k] = e->infinity[k] + tangent * e->nearer[k];
    vf_unit(towards);
}

/** Candidate between two anchors, which may be the same. */
VF_FN struct vf_partner_anchor vf_partner_between(struct vf_partner_anchor a, struct vf_partner_anchor b,
                                                  int32_t candidate)
{
    const int32_t part = candidate % VF_PARTNER_BETWEEN;
    struct vf_partner_anchor p = a;
    p.valid = a.valid && b.valid;
    p.at.x_q16 += (b.at.x_q16 - a.at.x_q16) / VF_PARTNER_BETWEEN * part;
    p.at.y_q16 += (b.at.y_q16 - a.at.y_q16) / VF_PARTNER_BETWEEN * part;
    return p;
}

/* ---- correlation ------------------------------------------------------------------------------------------------- */

/** First pixel of a patch [px of its level]. */
struct vf_partner_origin {
    int32_t u, v;
};

/** First pixel of the patch around a position of level 0. */
VF_FN struct vf_partner_origin vf_partner_origin_of(struct vf_stereo_position at, int32_t level)
{
    const int32_t half = (VF_PARTNER_SIDE - 1) * 0x8000;
    struct vf_partner_origin o;
    o.u = vf_pixel(vf_to_level_q16(at.x_q16, level) - half);
    o.v = vf_pixel(vf_to_level_q16(at.y_q16, level) - half);
    return o;
}

/** Bounds test: 1 if a patch lies in a picture. */
VF_FN int vf_partner_inside(const struct vf_level_picture *picture, struct vf_partner_origin o)
{
    return o.u >= 0 && o.v >= 0 && o.u + VF_PARTNER_SIDE <= picture->width && o.v + VF_PARTNER_SIDE <= picture->height;
}

/** Places that a search compares: the patch of one camera's picture with places of the other's. Place k: base + sign
 *  times candidate k [1/65536 px of level 0]. */
struct vf_partner_comparison {
    struct vf_level_picture own, other;
    struct vf_partner_origin origin; /* of the own patch */
    int32_t base_x_q16, base_y_q16, sign, level;
};

/** Comparison of the patch around a position with the candidates (sign 1), or with the places in the own picture that
 *  lead back from one (sign -1). The base makes up for what the patch's whole pixels are off its position. */
VF_FN struct vf_partner_comparison vf_partner_compare(const struct vf_partner_view *s, int32_t camera,
                                                      const struct vf_partner_search *search,
                                                      struct vf_stereo_position own, struct vf_stereo_position from,
                                                      int32_t sign)
{
    const int32_t level = search->level, half = (VF_PARTNER_SIDE - 1) * 0x8000;
    struct vf_partner_comparison c;
    c.own = vf_partner_picture(s, camera, level);
    c.other = vf_partner_picture(s, camera ^ 1, level);
    c.origin = vf_partner_origin_of(own, level);
    c.level = level;
    c.sign = sign;
    const int32_t off_x = c.origin.u * 65536 + half - vf_to_level_q16(own.x_q16, level),
                  off_y = c.origin.v * 65536 + half - vf_to_level_q16(own.y_q16, level);
    c.base_x_q16 = from.x_q16 + off_x * (1 << level);
    c.base_y_q16 = from.y_q16 + off_y * (1 << level);
    return c;
}

/** First pixel of the patch that a candidate is compared with. */
VF_FN struct vf_partner_origin vf_partner_other(const struct vf_partner_comparison *c, struct vf_stereo_position at)
{
    const struct vf_stereo_position to = {c->base_x_q16 + c->sign * at.x_q16, c->base_y_q16 + c->sign * at.y_q16};
    return vf_partner_origin_of(to, c->level);
}

/** Sums over two patches: grey levels, their squares, their products. */
struct vf_partner_sums {
    uint32_t own, other, own2, other2, both;
};

/** Key of a candidate, the least is the best: what it lacks of full correlation, squared, in 65535ths, and in the low
 *  byte its number. VF_NONE: the patches are unlike, or without contrast. */
VF_FN uint32_t vf_partner_key(const struct vf_partner_sums *s, int32_t candidate)
{
    const int32_t n = VF_PARTNER_PIXELS;
    const int32_t both = n * (int32_t)s->both - (int32_t)(s->own * s->other),
                  own = n * (int32_t)s->own2 - (int32_t)(s->own * s->own),
                  other = n * (int32_t)s->other2 - (int32_t)(s->other * s->other);
    if (both <= 0 || own <= 0 || other <= 0) return VF_NONE;
    const float square = (float)both / (float)own * ((float)both / (float)other);
    const int32_t lacks = square < 1.0f ? vf_round((1.0f - square) * 65535.0f) : 0;
    return (uint32_t)lacks << 8 | (uint32_t)candidate;
}
VF_FN uint32_t vf_partner_lacks(uint32_t key) { return key >> 8; }
VF_FN int32_t vf_partner_candidate(uint32_t key) { return (int32_t)(key & 255); }

/** 1 if the best candidate is good enough and the only one. second: best key elsewhere. */
VF_FN int vf_partner_only(uint32_t best, uint32_t second)
{
    return (float)vf_partner_lacks(best) <= 65535.0f * (1.0f - VF_PARTNER_CORRELATION) &&
           (float)vf_partner_lacks(best) + 65535.0f * VF_PARTNER_CLEAR <=
               VF_PARTNER_RATIO * (float)vf_partner_lacks(second);
}

/* ---- what the frame before says ---------------------------------------------------------------------------------- */

/** First and last candidate of an interval. last < first: none. */
struct vf_partner_interval {
    int32_t first, last;
};

/** Interval of a track's disparity, from its inverse range in the frame before and the motion predicted. before: its
 *  bearing there. */
VF_FN struct vf_partner_interval vf_partner_expect(const struct vf_partner_view *s, const struct vf_epipolar *e,
                                                   const struct vf_partner_search *search, const float before[3],
                                                   struct vf_partner_range range)
{
    const struct vf_pair *pair = &s->geometry.pair;
    const struct vf_partner_interval none = {0, -1};
    const int moved = (s->geometry.active & VF_BIT(predict)) && vf_predict_moves(&s->predict->now);
    float inverse = range.inverse_1pm, sigma = range.sigma_1pm;
    if (!(sigma > 0.0f)) return none;
    if (moved) {
        const vfront_prediction_t *p = &s->predict->now;
        float to[3];
        vf_transform(p->R, before, to);
        for (int k = 0; k < 3; k++) to[k] += inverse * p->t[k];
        const float length = sqrtf(vf_dot(to, to));
        if (!(length > 0.05f)) return none;
        sigma = sqrtf(sigma * sigma + inverse * inverse * inverse * inverse * vf_predict_variance(p, 0)) / length;
        inverse = inverse / length;
    }
    const float side = vf_dot(pair->epipole, e->nearer) * pair->baseline_m,
                ahead = vf_dot(pair->epipole, e->infinity) * pair->baseline_m,
                more = VF_PARTNER_MORE_PX / s->geometry.focal_px[1];
    const float least = vf_expect_tangent(side, ahead, inverse - VF_PARTNER_SIGMAS * sigma) - more,
                most = vf_expect_tangent(side, ahead, inverse + VF_PARTNER_SIGMAS * sigma) + more;
    const float first = (least - search->first) / search->step, last = (most - search->first) / search->step,
                end = (float)VF_PARTNER_CANDIDATES;
    if (!(first < end && last > -1.0f)) return none;
    struct vf_partner_interval interval;
    interval.first = first > 0.0f ? (int32_t)first : 0;
    interval.last = last < end - 1.0f ? (int32_t)last : VF_PARTNER_CANDIDATES - 1;
    return interval;
}

/* ---- alignment along the line ------------------------------------------------------------------------------------ */

/** Inverse normal equations of the alignment along a line: of x in struct vf_template_normal only what is along it. */
VF_FN int vf_partner_normal(const struct vf_template_moments *m, const struct vf_epipolar_line *line, int32_t pixels,
                            int32_t light, float inverse[4][4])
{
    const int32_t gain = light & VFRONT_LIGHT_GAIN, offset = light & VFRONT_LIGHT_OFFSET;
    const float x = line->direction_x, y = line->direction_y;
    const float along = x * x * (float)m->xx + 2.0f * (x * y) * (float)m->xy + y * y * (float)m->yy;
    for (int i = 0; i < 16; i++) inverse[i / 4][i % 4] = i % 5 ? 0.0f : 1.0f;
    inverse[0][0] = along;
    if (gain) {
        inverse[0][2] = inverse[2][0] = x * (float)m->xt + y * (float)m->yt;
        inverse[2][2] = (float)m->tt;
    }
    if (offset) {
        inverse[0][3] = inverse[3][0] = x * (float)m->x1 + y * (float)m->y1;
        inverse[3][3] = (float)pixels;
    }
    if (gain && offset) inverse[2][3] = inverse[3][2] = (float)m->t1;
    return along > 0.0f && vf_track_invert(inverse);
}

/** Partner at a position of camera 1 whose bearing is `there`. own: the track's bearing; fit_px: standard deviation of
 *  the position along the line, as the patch says; range: for the next step. */
VF_FN struct vf_partner vf_partner_measure(const struct vf_partner_view *s, const struct vf_epipolar *e,
                                           const struct vf_epipolar_line *line, float offset_px,
                                           struct vf_stereo_position at, const float own[3], const float there[3],
                                           float fit_px, struct vf_partner_range *range)
{
    const struct vf_pair *pair = &s->geometry.pair;
    struct vf_partner p = {0, 0, 0.0f, 0.0f, 0.0f, 0.0f};
    const float forward = vf_dot(e->infinity, there);
    if (!(forward > 0.0f)) return p;
    const float tangent = (vf_dot(e->nearer, there) - offset_px * (line->slope / (forward * forward))) / forward;
    const float fit = VF_PARTNER_FIT * fit_px, rig = (float)s->tuning.rig_disparity_mpx * 0.001f;
    const float sigma = sqrtf(VF_PARTNER_SIGMA_PX * VF_PARTNER_SIGMA_PX + fit * fit + rig * rig) *
                        (line->slope / (forward * forward * forward)); /* of the tangent */
    p.x_q16 = at.x_q16;
    p.y_q16 = at.y_q16;
    p.disparity_px = tangent * s->geometry.focal_px[1];
    p.disparity_sigma_px = sigma * s->geometry.focal_px[1];
    /* range = baseline * (side / tangent - ahead) */
    const float side = vf_dot(pair->epipole, e->nearer), ahead = vf_dot(pair->epipole, e->infinity);
    const float inverse = tangent / (pair->baseline_m * (side - ahead * tangent)),
                inverse_sigma = sigma * side / (pair->baseline_m * (side - ahead * tangent) * (side - ahead * tangent));
    const int seen = side - ahead * tangent > 0.0f;
    range->inverse_1pm = seen && inverse > 0.0f ? inverse : 0.0f;
    range->sigma_1pm = seen ? inverse_sigma : 0.0f;
    if (!seen || !(p.disparity_px * 1000.0f >= (float)s->tuning.stereo_least_mpx)) return p;
    p.depth_m = own[2] / inverse;
    p.depth_sigma_m = (own[2] < 0.0f ? -own[2] : own[2]) * inverse_sigma / (inverse * inverse);
    return p;
}
#endif

#endif
