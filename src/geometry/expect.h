/* SPDX-License-Identifier: MIT */
/* expect: depths of key points of camera 0 that have no match in camera 1, searched where predict expects them. Part of
 * stereo.
 *
 * In      ranges of the previous frame's key points with a match in camera 1; predicted motion; state of the camera
 *         pair in the previous frame
 * Out     start and length of the search along the epipolar line of a key point
 * Rule    - The previous frame's points are transformed by the predicted motion into a grid of VF_EXPECT_SIDE^2 cells
 *           over bearings. A cell keeps the bounds of its points' inverse ranges: 1 / r -+ 3 sigma / r^2. sigma
 *           includes the variance of the range and of the predicted translation
 *         - A key point merges the nine cells around its bearing, if they hold at least VF_EXPECT_POINTS points. The
 *           disparities of the merged bounds, widened by 2 px, are its search interval. An interval longer than
 *           the search range of a match is skipped. The position found must lie within the interval
 *         - A depth found here feeds no expectation of the next frame, so that a wrong one does not perpetuate itself.
 *           Such depths are searched only if the state of the camera pair was GOOD in the previous frame. They are
 *           listed only if its matches alone make it GOOD in this frame
 * Exact   single precision in one order; bounds of a cell are compared as integers, so that order does not matter
 * Memory  96 KB, and 8 bytes per key point
 */
#ifndef VF_EXPECT_H
#define VF_EXPECT_H

#include "prediction.h"
#include "stereo.h"

#if VFRONT_STEREO

/* least number of the previous frame's points in the nine grid cells around a key point */
#define VF_EXPECT_POINTS 2
#define VF_EXPECT_SIGMAS 3.0f    /* half width of the bounds of an inverse range [standard deviations] */
#define VF_EXPECT_MARGIN_PX 2.0f /* widening of a search interval at either end [px of the point's level] */
#define VF_EXPECT_AHEAD 0.05f    /* least z of a bearing in the grid, which covers directions in front of camera 0 */
#define VF_EXPECT_STEPS 3        /* number of Newton steps that find the pixel of a bearing in camera 1 */

/** 1 if key points without a match are searched in this frame, at the depth expected from the previous frame. */
VF_FN int vf_expect_active(const struct vf_stereo_view *s)
{
    return s->tuning.stereo != VFRONT_STEREO_MATCHES && s->ingest->params.frame != 0 &&
           (s->geometry.active & VF_BIT(predict)) && vf_predict_has_translation(&s->predict->now) &&
           s->stereo->pair[s->parity ^ 1].state == VFRONT_STEREO_GOOD;
}

/** Cell of a bearing in the grid of expected depths: column and row, 0 .. VF_EXPECT_SIDE - 1; column -1: outside. */
struct vf_expect_location {
    int32_t column, row;
};
VF_FN struct vf_expect_location vf_expect_location(const float bearing[3])
{
    const float half = 0.5f * (float)VF_EXPECT_SIDE;
    struct vf_expect_location location = {-1, 0};
    if (!(bearing[2] >= VF_EXPECT_AHEAD)) return location;
    location.column = vf_clamp((int32_t)((bearing[0] + 1.0f) * half), 0, VF_EXPECT_SIDE - 1);
    location.row = vf_clamp((int32_t)((bearing[1] + 1.0f) * half), 0, VF_EXPECT_SIDE - 1);
    return location;
}

/** Converts a float >= 0 to an integer that compares in the same order. vf_expect_number() converts back. */
VF_FN uint32_t vf_expect_bits(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}
VF_FN float vf_expect_number(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/** Predicts key point i of the previous frame into the grid of expected depths. cell: out, its cell; add: out, the
 *  bounds of its inverse range. Returns 0 if it has no match in camera 1 or leaves the grid. */
VF_FN int vf_expect_point(const struct vf_stereo_view *s, uint32_t i, int32_t *cell, struct vf_expect_cell *add)
{
    const vfront_prediction_t *p = &s->predict->now;
    const int32_t before = s->parity ^ 1;
    const float range = s->stereo->range_m[before][i], sigma = s->stereo->range_sigma_m[before][i];
    float at[3];
    if (!(range > 0.0f) || !s->stereo->matched[before][i]) return 0;
    vf_transform(p->R, s->bearing->point[before][0][i].bearing, at);
    for (int k = 0; k < 3; k++) at[k] = at[k] * range + p->t[k];
    const float square = vf_dot(at, at);
    if (!(square > 1e-4f && square < 1e12f)) return 0;
    const float inverse = 1.0f / sqrtf(square);
    for (int k = 0; k < 3; k++) at[k] *= inverse;
    const struct vf_expect_location location = vf_expect_location(at);
    if (location.column < 0) return 0;
    const float deviation = VF_EXPECT_SIGMAS * sqrtf(sigma * sigma + vf_predict_variance(p, 0)) * (inverse * inverse);
    *cell = location.row * VF_EXPECT_SIDE + location.column;
    add->nearest = vf_expect_bits(inverse + deviation);
    add->farthest = ~vf_expect_bits(inverse > deviation ? inverse - deviation : 0.0f);
    add->points = 1;
    return 1;
}

/** Number of key points of camera 0 in the previous frame. */
VF_FN int32_t vf_expect_count(const struct vf_stereo_view *s) { return (int32_t)s->bearing->count[s->parity ^ 1][0]; }

/** Merges cell `add` into cell `to`: union of the bounds of inverse range, sum of the numbers of points. */
VF_FN void vf_expect_merge(struct vf_expect_cell *to, const struct vf_expect_cell *add)
{
    to->nearest = add->nearest > to->nearest ? add->nearest : to->nearest;
    to->farthest = add->farthest > to->farthest ? add->farthest : to->farthest;
    to->points += add->points;
}

/** Cell k (0 .. 8) of the 3x3 cells around a location in the grid of expected depths; empty outside the grid. */
VF_FN struct vf_expect_cell vf_expect_neighbour(const struct vf_stereo_view *s, struct vf_expect_location location,
                                                int32_t k)
{
    const struct vf_expect_cell none = {0, 0, 0};
    const int32_t column = location.column + k % 3 - 1, row = location.row + k / 3 - 1;
    if (location.column < 0 || column < 0 || row < 0 || column >= VF_EXPECT_SIDE || row >= VF_EXPECT_SIDE) return none;
    return s->stereo->expected[s->parity][row * VF_EXPECT_SIDE + column];
}

/** Interval of the epipolar line of a point in which its match is searched. */
struct vf_expect_interval {
    float towards[3]; /* bearing of the interval's middle in camera 1, unit vector */
    float half_px;    /* half the length of the interval [px of level 0]; 0: no interval, or a too long one */
};

/** Tangent of the angle between a point's bearing in camera 1 and its direction at infinity, for an inverse range
 *  [1/m]. side, ahead: components of the baseline across and along that direction [m]. */
VF_FN float vf_expect_tangent(float side, float ahead, float inverse)
{
    const float along = 1.0f + ahead * inverse;
    return along > 0.1f ? side * inverse / along : 1e9f;
}

/** Interval in which the match of point a of camera 0 is searched. e: its epipolar plane; around: merged bounds of the
 *  nine grid cells around it. */
VF_FN struct vf_expect_interval vf_expect_interval(const struct vf_stereo_view *s, const struct vf_epipolar_plane *e,
                                                   const struct vf_point *a, const struct vf_expect_cell *around)
{
    const struct vf_pair *pair = &s->geometry.pair;
    const float side = vf_dot(pair->epipole, e->nearer) * pair->baseline_m,
                ahead = vf_dot(pair->epipole, e->infinity) * pair->baseline_m, focal = s->geometry.focal_px[1];
    struct vf_expect_interval interval = {{0.0f, 0.0f, 0.0f}, 0.0f};
    if (around->points < VF_EXPECT_POINTS) return interval;
    const float most = vf_expect_tangent(side, ahead, vf_expect_number(around->nearest)),
                least = vf_expect_tangent(side, ahead, vf_expect_number(~around->farthest));
    const float half_px = 0.5f * (most - least) * focal + VF_EXPECT_MARGIN_PX * a->step;
    if (!(half_px >= 0.0f && half_px <= (float)VF_STEREO_REACH * a->step)) return interval;
    for (int k = 0; k < 3; k++) interval.towards[k] = e->infinity[k] + 0.5f * (most + least) * e->nearer[k];
    vf_unit(interval.towards);
    interval.half_px = half_px;
    return interval;
}

/** Converts a shift from px to 1/65536 px, clamped to +-4096 px. */
VF_FN int32_t vf_expect_shift_q16(float px)
{
    const float most = 4096.0f;
    return vf_round((px > most ? most : px > -most ? px : -most) * 65536.0f);
}

/** Newton step of the position `at` towards the pixel of camera 1 whose bearing is `towards`, clamped to the image.
 *  here, to_right, below: bearings at the position, one pixel to the right and one below; l: level 0 of camera 1. */
VF_FN struct vf_stereo_position vf_expect_step(const struct vf_level *l, struct vf_stereo_position at,
                                               const float towards[3], const float here[3], const float to_right[3],
                                               const float below[3])
{
    float right[3], down[3], off[3];
    for (int k = 0; k < 3; k++) {
        right[k] = to_right[k] - here[k];
        down[k] = below[k] - here[k];
        off[k] = towards[k] - here[k];
    }
    const float xx = vf_dot(right, right), xy = vf_dot(right, down), yy = vf_dot(down, down), x = vf_dot(right, off),
                y = vf_dot(down, off), det = xx * yy - xy * xy;
    if (!(det > 0.0f)) return at;
    at.x_q16 = vf_clamp(at.x_q16 + vf_expect_shift_q16((yy * x - xy * y) / det), 0, (l->width - 1) << 16);
    at.y_q16 = vf_clamp(at.y_q16 + vf_expect_shift_q16((xx * y - xy * x) / det), 0, (l->height - 1) << 16);
    return at;
}

/** Start of the Newton steps that find a pixel of camera 1: the point's pixel in camera 0, clamped to the image l. */
VF_FN struct vf_stereo_position vf_expect_begin(const struct vf_level *l, struct vf_stereo_position own)
{
    struct vf_stereo_position at;
    at.x_q16 = vf_clamp(own.x_q16, 0, (l->width - 1) << 16);
    at.y_q16 = vf_clamp(own.y_q16, 0, (l->height - 1) << 16);
    return at;
}

/** 1 if the bearings `here` and `towards` differ by at most 1 px. */
VF_FN int vf_expect_reached(float focal_px, const float towards[3], const float here[3])
{
    float off[3];
    for (int k = 0; k < 3; k++) off[k] = (towards[k] - here[k]) * focal_px;
    return vf_dot(off, off) <= 1.0f;
}

/** 1 if a position lies within half_px of line->start, measured along the epipolar line [px of level 0]. */
VF_FN int vf_expect_within(const struct vf_epipolar_line *line, struct vf_stereo_position found, float half_px)
{
    const float x = (float)(found.x_q16 - line->start.x_q16) * (1.0f / 65536.0f),
                y = (float)(found.y_q16 - line->start.y_q16) * (1.0f / 65536.0f);
    const float shift = x * line->direction_x + y * line->direction_y;
    return shift <= half_px && -shift <= half_px;
}

/** 1 if a depth may be listed. A depth from a match always may (matched 1). A depth found in an expected interval only
 *  may while the state of the camera pair is GOOD. */
VF_FN int vf_expect_listed(int matched, const struct vf_pair_health *now)
{
    return matched || now->state == VFRONT_STEREO_GOOD;
}
#endif

#endif
