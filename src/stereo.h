/* SPDX-License-Identifier: MIT */
/* stereo: the partner of every key point of camera 0 in camera 1, and its depth (paper 004, III.3, in any two calibrated cameras).
 *
 * In      points, angles and descriptors of both cameras; levels
 * Out     pairs of indices with place in camera 1, depth and its standard deviation, by rising index in camera 0
 * Rule    a point and both cameras span a plane. A partner looks along it, with a disparity within range, from about the same level and
 *         with about the same orientation; of those the one with the closest descriptor, by a margin to the next best somewhere else, and
 *         each must be the other's best. From where the partner lies, moved onto the epipolar line, windows on that line are compared
 *         with the one around the point, less their means; the least sum of absolute differences and its neighbours, through which goes
 *         a parabola, give the place, and that gives the depth. What differs by far more than the median is dropped
 *         Disparity is the focal length of camera 1 times the tangent of the angle between the two bearings, so that for rectified
 *         pictures it is what it always is
 * Exact   costs in integers; the rest in single precision in one order, roots and quotients correctly rounded
 * Memory  what each point found, who found it, and its depth
 */
#ifndef VF_STEREO_H
#define VF_STEREO_H

#include "bearing.h"
#include "describe.h"

#if VFRONT_STEREO
struct vf_stereo_memory {
    uint32_t back[VFRONT_KEYPOINTS];  /* of each point of camera 1: distance and index of the best that looked at it; all ones: none */
    uint32_t found[VFRONT_KEYPOINTS]; /* of each point of camera 0, likewise */
    uint32_t cost[VFRONT_KEYPOINTS];  /* of its window; all ones: it has no depth */
    vfront_depth_t candidate[VFRONT_KEYPOINTS];
    vfront_depth_t depth[VFRONT_KEYPOINTS];
    uint32_t count;
};
#else
struct vf_stereo_memory {
    uint64_t nothing;
};
#endif

/** Half the side of a window, and how far windows are shifted to both sides [px of the point's level]. */
#define VF_HALF 5
#define VF_SIDE (2 * VF_HALF + 1)
#define VF_SHIFT 5
#define VF_SHIFTS (2 * VF_SHIFT + 1)

/** Whether the stage has anything to do. */
VF_FN int vf_stereo_on(const struct vf_step *s)
{
    return s->tuning.stereo && s->geometry.pair.placed && s->geometry.cameras > 1 && vf_described(&s->tuning);
}

/* ---- search -------------------------------------------------------------------------------------------------------------- */

/** What a point of camera 0 means for camera 1: axes of the plane that it spans with both. */
struct vf_epipolar {
    float far[3];    /* where it would lie, were it far away */
    float nearer[3]; /* at a right angle to that, where it moves to as it comes nearer */
    float normal[3]; /* of the plane; 0 when it lies on the line through both cameras */
};
VF_FN struct vf_epipolar vf_stereo_epipolar(const struct vf_pair *pair, const float bearing[3])
{
    struct vf_epipolar e;
    for (int k = 0; k < 3; k++) e.far[k] = vf_dot(pair->R + 3 * k, bearing);
    vf_cross(e.far, pair->epipole, e.normal);
    vf_unit(e.normal);
    vf_cross(e.normal, e.far, e.nearer);
    return e;
}

/** Bounds of the search, in units of focal lengths. */
struct vf_stereo_bounds {
    float band, least, most; /* for level 0 */
    float turn_rad;
    int32_t levels;
    uint32_t distance;
};
VF_FN struct vf_stereo_bounds vf_stereo_bounds(const struct vf_step *s)
{
    const vfront_tuning_t *t = &s->tuning;
    struct vf_stereo_bounds b;
    b.band = (float)t->stereo_band_px / s->geometry.focal_px[1];
    b.least = -b.band; /* on coarse levels a point far away may seem to lie beyond */
    b.most = (float)t->stereo_disparity_px / s->geometry.focal_px[1];
    b.turn_rad = (float)t->match_turn_deg * 0.01745329252f;
    b.levels = t->match_levels;
    b.distance = (uint32_t)t->match_distance;
    return b;
}

/** Whether point b of camera 1 may be the partner of point a of camera 0, their descriptors apart. */
VF_FN int vf_stereo_may(const struct vf_stereo_bounds *bounds, const struct vf_epipolar *e, const struct vf_point *a, float angle_a,
                        const struct vf_point *b, float angle_b)
{
    const float step = a->step > b->step ? a->step : b->step, off = vf_dot(e->normal, b->bearing);
    const float forward = vf_dot(e->far, b->bearing), along = vf_dot(e->nearer, b->bearing);
    return forward > 0.0f && off <= bounds->band * step && -off <= bounds->band * step && along >= bounds->least * step * forward
           && along <= bounds->most * forward && vf_abs(a->level - b->level) <= bounds->levels
           && vf_describe_apart(angle_a, angle_b) <= bounds->turn_rad;
}

/* ---- place, to sub-pixel --------------------------------------------------------------------------------------------------- */

/** Where windows lie in camera 1, on the point's level. */
struct vf_strip {
    int32_t u_q16, v_q16;     /* centre of the window that is not shifted */
    float along_u, along_v;   /* unit vector, towards nearer [px of the level] */
    float moved_x, moved_y;   /* from the partner to that centre [px of level 0] */
    float slope;              /* by how much the component along `nearer` grows [a px of level 0] */
};

/** A level 0 coordinate on a level whose pixels are step_q16 large. */
VF_FN int32_t vf_stereo_level_q16(int32_t x_q16, uint32_t step_q16)
{
    return (int32_t)(((int64_t)x_q16 + 0x8000) * 65536 / (int64_t)step_q16) - 0x8000;
}

/** Moves the partner onto the epipolar line. `node`: the grid of bearings of camera 1. Returns 0 when there is no such line there. */
VF_FN int vf_stereo_strip(const struct vf_step *s, const struct vf_node *node, const struct vf_epipolar *e, const struct vf_point *a,
                          const struct vf_point *b, struct vf_strip *strip)
{
    float right[3], down[3];
    vf_bearing_at(s, node, 1, b->x_q16 + 65536, b->y_q16, right);
    vf_bearing_at(s, node, 1, b->x_q16, b->y_q16 + 65536, down);
    for (int k = 0; k < 3; k++) {
        right[k] -= b->bearing[k];
        down[k] -= b->bearing[k];
    }
    const float off = vf_dot(e->normal, b->bearing), gx = vf_dot(e->normal, right), gy = vf_dot(e->normal, down);
    const float square = gx * gx + gy * gy, length = sqrtf(square);
    if (!(length > 0.0f)) return 0;
    const float ex = gy / length, ey = -gx / length, slope = vf_dot(e->nearer, right) * ex + vf_dot(e->nearer, down) * ey;
    strip->along_u = slope < 0.0f ? -ex : ex;
    strip->along_v = slope < 0.0f ? -ey : ey;
    strip->slope = slope < 0.0f ? -slope : slope;
    strip->moved_x = -off * gx / square;
    strip->moved_y = -off * gy / square;
    const float limit = 1024.0f; /* so that all that follows fits its integers; the band is far smaller */
    if (!(strip->moved_x < limit && strip->moved_x > -limit && strip->moved_y < limit && strip->moved_y > -limit)) return 0;
    strip->u_q16 = vf_stereo_level_q16(b->x_q16, s->geometry.step_q16[a->level]) + vf_round(strip->moved_x / a->step * 65536.0f);
    strip->v_q16 = vf_stereo_level_q16(b->y_q16, s->geometry.step_q16[a->level]) + vf_round(strip->moved_y / a->step * 65536.0f);
    return 1;
}

/** Centre of a shifted window. */
VF_FN int32_t vf_strip_u(const struct vf_strip *strip, int32_t shift) { return strip->u_q16 + vf_round((float)shift * strip->along_u * 65536.0f); }
VF_FN int32_t vf_strip_v(const struct vf_strip *strip, int32_t shift) { return strip->v_q16 + vf_round((float)shift * strip->along_v * 65536.0f); }

/** Whether a window around a place, and one pixel more, lies in a level. */
VF_FN int vf_window_inside(const struct vf_level *l, int32_t u, int32_t v)
{
    return u >= VF_HALF && v >= VF_HALF && u + VF_HALF + 1 < l->width && v + VF_HALF + 1 < l->height;
}

/** Grey level between four pixels, in 1/16; at: the upper left one; fractions in 1/256. */
VF_FN int32_t vf_stereo_between(const uint8_t *at, int32_t pitch, int32_t fu, int32_t fv)
{
    const int32_t upper = at[0] * (256 - fu) + at[1] * fu, lower = at[pitch] * (256 - fu) + at[pitch + 1] * fu;
    return (upper * (256 - fv) + lower * fv + 2048) >> 12;
}

/** Difference of two grey levels in 1/16, less their windows' means, times the pixels of a window. */
VF_FN uint32_t vf_stereo_difference(int32_t a, int32_t sum_a, int32_t b, int32_t sum_b)
{
    return (uint32_t)vf_abs(VF_SIDE * VF_SIDE * (a - b) - (sum_a - sum_b));
}

/** Where between its neighbours the cost is least, -1/2 .. 1/2. The middle one is not more than the others, and less than one of them. */
VF_FN float vf_stereo_valley(uint32_t before, uint32_t least, uint32_t after)
{
    const float b = (float)(before - least), a = (float)(after - least);
    return (b - a) / (2.0f * (b + a));
}

/** Depth of point a, when what surrounds it is found `shift` pixels of its level along the strip. Returns 0 when it is too far for one. */
VF_FN int vf_stereo_depth(const struct vf_step *s, const struct vf_node *node, const struct vf_epipolar *e, const struct vf_point *a,
                          const struct vf_point *b, const struct vf_strip *strip, float shift, vfront_depth_t *out)
{
    const struct vf_pair *pair = &s->geometry.pair;
    const int32_t x_q16 = b->x_q16 + vf_round((strip->moved_x + shift * strip->along_u * a->step) * 65536.0f);
    const int32_t y_q16 = b->y_q16 + vf_round((strip->moved_y + shift * strip->along_v * a->step) * 65536.0f);
    float bearing[3];
    vf_bearing_at(s, node, 1, x_q16, y_q16, bearing);
    const float forward = vf_dot(e->far, bearing), along = vf_dot(e->nearer, bearing);
    if (!(forward > 0.0f) || !(along * s->geometry.focal_px[1] * 1000.0f >= (float)s->tuning.stereo_least_mpx * forward)) return 0;
    const float tangent = along / forward, sideways = vf_dot(pair->epipole, e->nearer) / tangent;
    const float range_m = pair->baseline_m * (sideways - vf_dot(pair->epipole, e->far));
    const float sigma_px = (float)s->tuning.stereo_sigma_mpx * 0.001f * a->step;
    const float sigma_m = pair->baseline_m * sideways / tangent * (strip->slope / (forward * forward * forward)) * sigma_px;
    if (!(range_m > 0.0f)) return 0;
    out->x_px = (float)x_q16 * (1.0f / 65536.0f);
    out->y_px = (float)y_q16 * (1.0f / 65536.0f);
    out->depth_m = range_m * a->bearing[2];
    out->sigma_m = sigma_m * (a->bearing[2] < 0.0f ? -a->bearing[2] : a->bearing[2]);
    return 1;
}

/** Whether a window differs by so much more than the median that the pair is dropped. */
VF_FN int vf_stereo_cut(const vfront_tuning_t *t, uint32_t cost, uint32_t median)
{
    return t->stereo_cut_percent && (uint64_t)cost * 100 > (uint64_t)median * (uint32_t)t->stereo_cut_percent;
}

#endif
