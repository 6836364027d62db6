/* SPDX-License-Identifier: MIT */
/* partner: stereo match of every track: subpixel position in camera 1 on the epipolar line, disparity, depth.
 *
 * In      features of this frame (refill), pyramids and masks of both cameras, bearing grids; for tracks that had a
 *         partner in the previous frame, their inverse range and the predicted motion
 * Out     for every track: position in camera 1, disparity and depth with standard deviations, or none; inverse ranges
 *         for the next frame, in which ego uses them, too
 * Rule    - vf_partner_one() in partner_search.h
 *         - search: the disparities from -VF_PARTNER_NEGATIVE_PX to stereo_disparity_px are divided into
 *           VF_PARTNER_CANDIDATES positions on the line. A patch of 8x8 px around the track is compared with each by
 *           normalised correlation r, on the finest pyramid level where candidates lie at most 1.25 px apart
 *         - uniqueness: deficit d = 1 - r^2. The best candidate needs d + VF_PARTNER_MARGIN <= VF_PARTNER_RATIO d',
 *           where d' is the deficit of any candidate VF_PARTNER_APART or more away. If the test fails, it is repeated
 *           within the interval that the track's inverse range of the previous frame allows
 *         - consistency: the search from the best candidate back to camera 0 must end at the track
 *         - refinement: Gauss-Newton along the line, with gain and offset, on level 0: a patch of 16x16 px, then its
 *           inner 8x8 px, which gives the result. The results of both patches must agree, and the residual must pass
 *           the residual test of track
 *         - disparity: focal length of camera 1 times the tangent of the angle to the direction at infinity, as in
 *           stereo. Its variance sums a floor, residual over gradient of the patch, and the error common to all
 *           disparities (rig_disparity_mpx)
 *         - rig_offset 1: lines and disparities are corrected as in stereo
 * Exact   integer sums; the rest in single precision in one order, square roots and quotients correctly rounded
 * Memory  40 bytes a track
 * Shared  all but the loops over candidates and over pixels of a patch: partner_search.h, align.h
 */
#ifndef VF_PARTNER_H
#define VF_PARTNER_H

#include "features/bearing.h"
#include "geometry/expect.h"
#include "geometry/epipolar.h"
#include "image/freeze.h"
#include "image/pyramid.h"
#include "refill.h"
#include "track.h"

/** Partner: stereo match of a track in camera 1. */
struct vf_partner {
    int32_t x_q16, y_q16; /* position in camera 1 [1/65536 px of level 0] */
    /* disparity and its standard deviation; sigma 0: no partner, all members are 0 */
    float disparity_px, disparity_sigma_px;
    float depth_m, depth_sigma_m; /* depth and its standard deviation; 0: no depth */
};

/** Inverse range of a track and its standard deviation [1/m]; sigma 0: unknown. */
struct vf_partner_range {
    float inverse_1pm, sigma_1pm;
};

struct vf_partner_memory {
#if VFRONT_STEREO
    struct vf_partner partner[VFRONT_TRACKS]; /* out: of each track, in the order of refill's features */
    /* [parity][template_index of the track]: its inverse range. A track keeps its template_index for life. Only entries
     * of live tracks are valid. */
    struct vf_partner_range range[2][VFRONT_TRACKS];
#else
    uint64_t nothing;
#endif
};

/* What partner reads: lists from which base/view.h makes the members of its view. */
/* clang-format off */
#define VF_READS_partner(X) X(ingest) X(freeze) X(rectify) X(pyramid) X(predict) X(refill) X(bearing)
#define VF_BEFORE_partner(X) X(epipolar) X(ego)
#define VF_GEOMETRY_partner(X) X(levels) X(level) X(focal_px) X(nodes_x) X(pair) X(active)
#define VF_TUNING_partner(X) X(stereo_disparity_px) X(rig_disparity_mpx) X(rig_offset)
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

/** Stereo match of the track at index i of refill's list; none if the stage is off. active: bits of the active
 *  stages. */
VF_FN struct vf_partner vf_partner_of(const struct vf_partner_memory *m, uint32_t active, uint32_t i)
{
    const struct vf_partner none = {0, 0, 0.0f, 0.0f, 0.0f, 0.0f};
#if VFRONT_STEREO
    if (active & VF_BIT(partner)) return m->partner[i];
#endif
    (void)m, (void)active, (void)i;
    return none;
}

/** Inverse range of a track in the frame of a parity; unknown if the stage is off. */
VF_FN struct vf_partner_range vf_partner_range_of(const struct vf_partner_memory *m, uint32_t active, int32_t parity,
                                                  const struct vf_feature *f)
{
    const struct vf_partner_range unknown = {0.0f, 0.0f};
#if VFRONT_STEREO
    if (active & VF_BIT(partner)) return m->range[parity][f->template_index];
#endif
    (void)m, (void)active, (void)parity, (void)f;
    return unknown;
}

#if VFRONT_STEREO

#define VF_PARTNER_CANDIDATES 64 /* number of positions compared on the epipolar line: two per lane of a warp */
/* number of positions on the line that are computed exactly, equally spaced; candidates between them are
 * interpolated */
#define VF_PARTNER_ANCHORS 5
#define VF_PARTNER_BETWEEN 16 /* number of candidates from one exact position to the next */
#define VF_PARTNER_SIDE 8     /* side of the compared patch [px of its level] */
#define VF_PARTNER_PIXELS (VF_PARTNER_SIDE * VF_PARTNER_SIDE)
/* length of the search below disparity 0, for far points and calibration errors [px] */
#define VF_PARTNER_NEGATIVE_PX 2.0f
#define VF_PARTNER_APART 2 /* candidates nearer than this to the best one count as its position [candidates] */
/* largest distance of the backward search's result from the track [candidates]; usable: 0 to 2 */
#define VF_PARTNER_BACK 1
/* uniqueness: largest ratio of 1 - r^2 of the best candidate to that of others; usable: 0.5 to 0.8 */
#define VF_PARTNER_RATIO 0.6f
#define VF_PARTNER_MARGIN 0.02f     /* uniqueness: added to 1 - r^2 of the best candidate, against noise */
#define VF_PARTNER_CORRELATION 0.5f /* least squared correlation r^2 of a partner; usable: 0.3 to 0.7 */
#define VF_PARTNER_STEPS 6          /* largest number of Gauss-Newton steps for each of the two patches */
#define VF_PARTNER_EPSILON_PX 0.01f /* length of a Gauss-Newton step below which the alignment ends [px] */
#define VF_PARTNER_FAR_PX 4.0f      /* largest motion along the line in an alignment [px] */
/* largest difference between the results of the 16x16 and the 8x8 patch [px]; usable: 0.3 to 0.8 */
#define VF_PARTNER_AGREE_PX 0.5f
#define VF_PARTNER_RESIDUAL 50 /* share of track_residual_percent that the residual of a partner may reach [%] */
/* half width of the interval expected from the previous frame [standard deviations of the inverse range] */
#define VF_PARTNER_SIGMAS 3.0f
#define VF_PARTNER_INTERVAL_PX 3.0f /* widening, at either end, of the interval expected from the previous frame [px] */
#define VF_PARTNER_SIGMA_PX 0.08f   /* least standard deviation of a disparity [px] */
/* factor for the standard deviation that an alignment estimates of its own result */
#define VF_PARTNER_FIT 3.0f

/* ---- positions on the epipolar line ------------------------------------------------------------------------------ */

/** Candidates on the epipolar line: candidate k has disparity first + k * step [focal lengths of camera 1]. */
struct vf_partner_search {
    int32_t level;     /* pyramid level on which patches are compared */
    float first, step; /* disparity of the first candidate, difference between neighbours [focal lengths of camera 1] */
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

/** Image of a pyramid level of a camera in this frame. */
VF_FN struct vf_level_picture vf_partner_picture(const struct vf_partner_view *s, int32_t camera, int32_t level)
{
    const struct vf_level *l = &s->geometry.level[camera][VFRONT_LEVELS > 1 ? level : 0];
    const struct vf_level_picture picture = {vf_pyramid_pixels(s->pyramid, &s->pictures, s->parity, camera, level, l),
                                             l->pitch, l->width, l->height};
    return picture;
}

/** Position of a candidate on the epipolar line, exact or interpolated. */
struct vf_partner_anchor {
    struct vf_stereo_position at; /* position in camera 1 */
    int32_t valid;                /* 0: outside the lens model or the image */
};

/** Bearing of camera 1 at exact position number `anchor` (0 .. VF_PARTNER_ANCHORS - 1) of the epipolar line. */
VF_FN void vf_partner_towards(const struct vf_epipolar_plane *e, const struct vf_partner_search *search, int32_t anchor,
                              float towards[3])
{
    const float tangent = search->first + search->step * (float)(anchor * VF_PARTNER_BETWEEN);
    for (int k = 0; k < 3; k++) towards[k] = e->infinity[k] + tangent * e->nearer[k];
    vf_unit(towards);
}

/** Position of a candidate, interpolated between the exact positions a and b before and after it. */
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

/** Position of a patch: its upper left pixel [px of its level]. */
struct vf_partner_origin {
    int32_t u, v;
};

/** Upper left pixel of a patch on a pyramid level. at: centre of the patch on level 0. */
VF_FN struct vf_partner_origin vf_partner_origin_of(struct vf_stereo_position at, int32_t level)
{
    const int32_t half = (VF_PARTNER_SIDE - 1) * 0x8000;
    struct vf_partner_origin o;
    o.u = vf_pixel(vf_to_level_q16(at.x_q16, level) - half);
    o.v = vf_pixel(vf_to_level_q16(at.y_q16, level) - half);
    return o;
}

/** 1 if the patch with upper left pixel o lies in an image. */
VF_FN int vf_partner_inside(const struct vf_level_picture *picture, struct vf_partner_origin o)
{
    return o.u >= 0 && o.v >= 0 && o.u + VF_PARTNER_SIDE <= picture->width && o.v + VF_PARTNER_SIDE <= picture->height;
}

/** Comparison of a patch in one camera (own) with patches in the other camera. Patch k has its centre at
 *  base + sign * candidate k [1/65536 px of level 0]. */
struct vf_partner_comparison {
    struct vf_level_picture own, other; /* images that contain the patch and the patches it is compared with */
    struct vf_partner_origin origin;    /* upper left pixel of the own patch */
    int32_t base_x_q16, base_y_q16,     /* position to which candidates are added [1/65536 px of level 0] */
        sign,                           /* 1: search from camera 0 in camera 1; -1: backward search */
        level;                          /* pyramid level of both images */
};

/** Prepares the comparison of the patch around `own` in `camera` with patches in the other camera, centred at
 *  from + sign * candidate. sign: 1 in the forward search, -1 in the backward search. The base also corrects for the
 *  rounding of the own patch to whole pixels. */
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

/** Upper left pixel of the patch that the comparison c makes at candidate position `at`. */
VF_FN struct vf_partner_origin vf_partner_other(const struct vf_partner_comparison *c, struct vf_stereo_position at)
{
    const struct vf_stereo_position to = {c->base_x_q16 + c->sign * at.x_q16, c->base_y_q16 + c->sign * at.y_q16};
    return vf_partner_origin_of(to, c->level);
}

/** Sums over the pixels of two patches, own and other, for their correlation. */
struct vf_partner_sums {
    uint32_t own, other, /* sums of the grey levels of each patch */
        own2, other2,    /* sums of the squared grey levels of each patch */
        both;            /* sum of the products of the two patches' grey levels */
};

/** Key of a candidate; the least key is the best. Upper bits: deficit 1 - r^2 of its correlation r [1/65535]; low byte:
 *  the candidate. VF_NONE: r <= 0 or no contrast. */
VF_FN uint32_t vf_partner_key(const struct vf_partner_sums *s, int32_t candidate)
{
    const int32_t n = VF_PARTNER_PIXELS;
    const int32_t both = n * (int32_t)s->both - (int32_t)(s->own * s->other),
                  own = n * (int32_t)s->own2 - (int32_t)(s->own * s->own),
                  other = n * (int32_t)s->other2 - (int32_t)(s->other * s->other);
    if (both <= 0 || own <= 0 || other <= 0) return VF_NONE;
    const float square = (float)both / (float)own * ((float)both / (float)other);
    const int32_t deficit = square < 1.0f ? vf_round((1.0f - square) * 65535.0f) : 0;
    return (uint32_t)deficit << 8 | (uint32_t)candidate;
}
VF_FN uint32_t vf_partner_deficit(uint32_t key) { return key >> 8; }
VF_FN int32_t vf_partner_candidate(uint32_t key) { return (int32_t)(key & 255); }

/** 1 if the best candidate correlates well enough and is unique. best: its key; second: best key of the candidates at
 *  least VF_PARTNER_APART from it. */
VF_FN int vf_partner_unique(uint32_t best, uint32_t second)
{
    return (float)vf_partner_deficit(best) <= 65535.0f * (1.0f - VF_PARTNER_CORRELATION) &&
           (float)vf_partner_deficit(best) + 65535.0f * VF_PARTNER_MARGIN <=
               VF_PARTNER_RATIO * (float)vf_partner_deficit(second);
}

/* ---- interval expected from the previous frame ------------------------------------------------------------------- */

/** Interval of candidates first .. last of a search on the epipolar line; last < first: empty. */
struct vf_partner_interval {
    int32_t first, last;
};

/** Interval of candidates in which a track's match is expected, from its inverse range in the previous frame and the
 *  predicted motion. before: its bearing in the previous frame. */
VF_FN struct vf_partner_interval vf_partner_expect(const struct vf_partner_view *s, const struct vf_epipolar_plane *e,
                                                   const struct vf_partner_search *search, const float before[3],
                                                   struct vf_partner_range range)
{
    const struct vf_pair *pair = &s->geometry.pair;
    const struct vf_partner_interval none = {0, -1};
    const int moved = (s->geometry.active & VF_BIT(predict)) && vf_predict_has_translation(&s->predict->now);
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
                more = VF_PARTNER_INTERVAL_PX / s->geometry.focal_px[1];
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

/** Inverts the normal equations of an alignment along an epipolar line: those of a template, projected onto the line.
 *  Unknowns 0, 2, 3 of the 4x4 matrix: shift along the line, gain, offset. Returns 0 if they are singular. */
VF_FN int vf_partner_normal(const struct vf_template_moments *m, const struct vf_epipolar_line *line, int32_t pixels,
                            int32_t photometric, float inverse[4][4])
{
    const int32_t gain = photometric & VFRONT_PHOTOMETRIC_GAIN, offset = photometric & VFRONT_PHOTOMETRIC_OFFSET;
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

/** Disparity and depth of a track from the position `at` of its match in camera 1, whose bearing is `there`. own:
 *  bearing of the track; offset_px: subtracted from the disparity; fit_px: standard deviation of the position along the
 *  line; range: out, inverse range for the next frame. */
VF_FN struct vf_partner vf_partner_measure(const struct vf_partner_view *s, const struct vf_epipolar_plane *e,
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
                        (line->slope / (forward * forward * forward)); /* standard deviation of `tangent` */
    p.x_q16 = at.x_q16;
    p.y_q16 = at.y_q16;
    p.disparity_px = tangent * s->geometry.focal_px[1];
    p.disparity_sigma_px = sigma * s->geometry.focal_px[1];
    /* triangulation: range = baseline * (side / tangent - ahead) */
    const float side = vf_dot(pair->epipole, e->nearer), ahead = vf_dot(pair->epipole, e->infinity);
    const float inverse = tangent / (pair->baseline_m * (side - ahead * tangent)),
                inverse_sigma = sigma * side / (pair->baseline_m * (side - ahead * tangent) * (side - ahead * tangent));
    const int seen = side - ahead * tangent > 0.0f;
    range->inverse_1pm = seen && inverse > 0.0f ? inverse : 0.0f;
    range->sigma_1pm = seen ? inverse_sigma : 0.0f;
    if (!seen || !(p.disparity_px * 1000.0f >= VF_STEREO_LEAST_MPX)) return p;
    p.depth_m = own[2] / inverse;
    p.depth_sigma_m = (own[2] < 0.0f ? -own[2] : own[2]) * inverse_sigma / (inverse * inverse);
    return p;
}
#endif

#endif
