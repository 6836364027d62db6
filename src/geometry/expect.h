/* SPDX-License-Identifier: MIT */
/* expect: depths of key points of camera 0 that have no match in camera 1, where predict expects them. A part of
 * stereo.
 *
 * In      ranges of the previous frame's key points that had a match in camera 1; the motion predicted; agreement of
 *         the cameras in the previous frame
 * Out     start and length of the search along the epipolar line of a key point
 * Rule    the points of the previous frame are moved by the predicted motion and fall into a grid of cells of bearings.
 *         A cell keeps the least and the greatest inverse range that they may have, within three standard deviations of
 *         their depth and of the predicted translation. A key point takes those of its cell and of the eight around it,
 *         if they hold at least VF_EXPECT_POINTS points; the disparities of these bounds, 2 px added, are its interval.
 *         An interval longer than the search of a match is not searched. The position found must lie within the
 *         interval
 *         A depth that was found so makes no expectation for the next frame: a wrong one does not prolong itself. They
 *         are found only where the cameras agreed in the previous frame and listed only where they do in this one, by
 *         their matches alone
 * Exact   single precision in one order; bounds of a cell are compared as integers, so that order does not matter
 * Memory  96 KB, and 8 bytes a key point
 */
#ifndef VF_EXPECT_H
#define VF_EXPECT_H

#include "predict.h"
#include "stereo.h"

#if VFRONT_STEREO

#define VF_EXPECT_POINTS 2      /* least number of points in the nine cells */
#define VF_EXPECT_SIGMAS 3.0f   /* of depth and predicted translation, on either side */
#define VF_EXPECT_LEAST_PX 2.0f /* added to an interval on either side [px of the point's level] */
#define VF_EXPECT_AHEAD 0.05f   /* least z of a bearing; the grid has those in front of camera 0 */
#define VF_EXPECT_STEPS 3       /* Newton's method: to the pixel of a bearing */

/** 1 if depths are expected in this step. */
VF_FN int vf_expect_active(const struct vf_stereo_view *s)
{
    return s->tuning.stereo_expected && s->ingest->params.frame != 0 && (s->geometry.active & VF_BIT(predict)) &&
           vf_predict_moves(&s->predict->now) && s->stereo->pair[s->parity ^ 1].state == VFRONT_STEREO_GOOD;
}

/** Place of a bearing in the grid: column and row; column -1: it has none. */
struct vf_expect_place {
    int32_t column, row;
};
VF_FN struct vf_expect_place vf_expect_place(const float bearing[3])
{
    const float half = 0.5f * (float)VF_EXPECT_SIDE;
    struct vf_expect_place place = {-1, 0};
    if (!(bearing[2] >= VF_EXPECT_AHEAD)) return place;
    place.column = vf_clamp((int32_t)((bearing[0] + 1.0f) * half), 0, VF_EXPECT_SIDE - 1);
    place.row = vf_clamp((int32_t)((bearing[1] + 1.0f) * half), 0, VF_EXPECT_SIDE - 1);
    return place;
}

/** Bits of a number >= 0, in the order of the numbers; and back. */
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

/** Key point i of the previous frame in the grid: its cell, and what it adds to it. Returns 0 if it adds nothing. */
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
    const struct vf_expect_place place = vf_expect_place(at);
    if (place.column < 0) return 0;
    const float spread = VF_EXPECT_SIGMAS * sqrtf(sigma * sigma + vf_predict_variance(p, 0)) * (inverse * inverse);
    *cell = place.row * VF_EXPECT_SIDE + place.column;
    add->nearest = vf_expect_bits(inverse + spread);
    add->farthest = ~vf_expect_bits(inverse > spread ? inverse - spread : 0.0f);
    add->points = 1;
    return 1;
}

/** Number of the previous frame's key points. */
VF_FN int32_t vf_expect_count(const struct vf_stereo_view *s) { return (int32_t)s->bearing->count[s->parity ^ 1][0]; }

/** Add a cell to another. */
VF_FN void vf_expect_merge(struct vf_expect_cell *to, const struct vf_expect_cell *add)
{
    to->nearest = add->nearest > to->nearest ? add->nearest : to->nearest;
    to->farthest = add->farthest > to->farthest ? add->farthest : to->farthest;
    to->points += add->points;
}

/** Cell k, 0 .. 8, of the nine around a place; empty beyond the grid. */
VF_FN struct vf_expect_cell vf_expect_neighbour(const struct vf_stereo_view *s, struct vf_expect_place place, int32_t k)
{
    const struct vf_expect_cell none = {0, 0, 0};
    const int32_t column = place.column + k % 3 - 1, row = place.row + k / 3 - 1;
    if (place.column < 0 || column < 0 || row < 0 || column >= VF_EXPECT_SIDE || row >= VF_EXPECT_SIDE) return none;
    return s->stereo->expected[s->parity][row * VF_EXPECT_SIDE + column];
}

/** Interval of a point on its epipolar line. */
struct vf_expect_interval {
    float towards[3]; /* bearing of its middle in camera 1, of length 1 */
    float half_px;    /* half its length [px of level 0]; 0: nothing is expected, or the interval is too long */
};

/** Tangent of the angle from the direction at infinity, for an inverse range [1/m]. side, ahead: components of camera
 *  1's displacement across and along that direction [m]. */
VF_FN float vf_expect_tangent(float side, float ahead, float inverse)
{
    const float along = 1.0f + ahead * inverse;
    return along > 0.1f ? side * inverse / along : 1e9f;
}

/** Interval of point a of camera 0. around: its nine cells, merged. */
VF_FN struct vf_expect_interval vf_expect_interval(const struct vf_stereo_view *s, const struct vf_epipolar *e,
                                                   const struct vf_point *a, const struct vf_expect_cell *around)
{
    const struct vf_pair *pair = &s->geometry.pair;
    const float side = vf_dot(pair->epipole, e->nearer) * pair->baseline_m,
                ahead = vf_dot(pair->epipole, e->infinity) * pair->baseline_m, focal = s->geometry.focal_px[1];
    struct vf_expect_interval interval = {{0.0f, 0.0f, 0.0f}, 0.0f};
    if (around->points < VF_EXPECT_POINTS) return interval;
    const float most = vf_expect_tangent(side, ahead, vf_expect_number(around->nearest)),
                least = vf_expect_tangent(side, ahead, vf_expect_number(~around->farthest));
    const float half_px = 0.5f * (most - least) * focal + VF_EXPECT_LEAST_PX * a->step;
    if (!(half_px >= 0.0f && half_px <= (float)VF_STEREO_REACH * a->step)) return interval;
    for (int k = 0; k < 3; k++) interval.towards[k] = e->infinity[k] + 0.5f * (most + least) * e->nearer[k];
    vf_unit(interval.towards);
    interval.half_px = half_px;
    return interval;
}

/** Shift of at most 4096 px. */
VF_FN int32_t vf_expect_shift_q16(float px)
{
    const float most = 4096.0f;
    return vf_round((px > most ? most : px > -most ? px : -most) * 65536.0f);
}

/** Step of Newton's method to the pixel of camera 1 that has a bearing `towards`, from the bearings at a position, one
 *  pixel to the right and one below. It stays in the picture; l: level 0 of camera 1. */
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

/** Start of Newton's method: the pixel that the point has in camera 0, in the picture l. */
VF_FN struct vf_stereo_position vf_expect_begin(const struct vf_level *l, struct vf_stereo_position own)
{
    struct vf_stereo_position at;
    at.x_q16 = vf_clamp(own.x_q16, 0, (l->width - 1) << 16);
    at.y_q16 = vf_clamp(own.y_q16, 0, (l->height - 1) << 16);
    return at;
}

/** 1 if Newton's method has come within 1 px of a bearing `towards`. here: bearing of its position. */
VF_FN int vf_expect_reached(float focal_px, const float towards[3], const float here[3])
{
    float off[3];
    for (int k = 0; k < 3; k++) off[k] = (towards[k] - here[k]) * focal_px;
    return vf_dot(off, off) <= 1.0f;
}

/** 1 if a position that was found lies within the interval around the start of its line. */
VF_FN int vf_expect_within(const struct vf_epipolar_line *line, struct vf_stereo_position found, float half_px)
{
    const float x = (float)(found.x_q16 - line->start.x_q16) * (1.0f / 65536.0f),
                y = (float)(found.y_q16 - line->start.y_q16) * (1.0f / 65536.0f);
    const float shift = x * line->direction_x + y * line->direction_y;
    return shift <= half_px && -shift <= half_px;
}

/** 1 if a depth that was found so may be listed: where the matches say that the cameras agree. matched: 1 for a depth
 *  of a match, which always may. */
VF_FN int vf_expect_listed(int matched, const struct vf_pair_health *now)
{
    return matched || now->state == VFRONT_STEREO_GOOD;
}
#endif

#endif
