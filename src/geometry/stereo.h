/* SPDX-License-Identifier: MIT */
/* stereo: the partner of every key point of camera 0 in camera 1, and its depth (paper 004, III.3, in any two calibrated cameras).
 *
 * In      points, angles and descriptors of both cameras; levels
 * Out     pairs of indices with place in camera 1, depth and its standard deviation, by rising index in camera 0; the distance of every
 *         key point, for the next frame as well
 * Rule    a point and both cameras span a plane. A partner looks along it, with a disparity within range, from about the same level and
 *         with about the same orientation; of those the one with the closest descriptor, by a margin to the next best somewhere else, and
 *         each must be the other's best. From where the partner lies, moved onto the epipolar line, windows on that line are compared
 *         with the one around the point, less their means, on the point's level; the least sum of absolute differences and its
 *         neighbours, through which goes a V, give a place. From there a window of level 0 moves along the line by Gauss and Newton, and
 *         where that ends gives the depth, unless it ends far away, or the halves of the window would move apart, as they do at the
 *         edge of something near. What then differs by far more than the median is dropped
 *         Disparity is the focal length of camera 1 times the tangent of the angle between the two bearings: in the middle of rectified
 *         pictures it is what it always is, and less towards their sides
 * Exact   costs in integers; the rest in single precision in one order, roots and quotients correctly rounded
 * Memory  what each point found, who found it, and its depth
 */
#ifndef VF_STEREO_H
#define VF_STEREO_H

#include "features/bearing.h"
#include "features/describe.h"

#if VFRONT_STEREO
struct vf_stereo_memory {
    uint32_t back
        [VFRONT_KEYPOINTS]; /* of each point of camera 1: distance and index of the best that looked at it; all ones: none */
    uint32_t found[VFRONT_KEYPOINTS]; /* of each point of camera 0, likewise */
    uint32_t cost[VFRONT_KEYPOINTS];  /* of its window; all ones: it has no depth */
    vfront_depth_t candidate[VFRONT_KEYPOINTS];
    vfront_depth_t depth[VFRONT_KEYPOINTS];
    float range_m[2][VFRONT_KEYPOINTS],
        range_sigma_m[2][VFRONT_KEYPOINTS]; /* by parity, of every key point of camera 0; 0: no depth */
    uint32_t count;
};
#else
struct vf_stereo_memory {
    uint64_t nothing;
};
#endif

/** Whether the stage has anything to do. */
VF_FN int vf_stereo_on(const struct vf_step *s)
{
    return s->tuning.stereo && s->geometry.pair.placed && s->geometry.cameras > 1 && vf_described(&s->tuning);
}

#if VFRONT_STEREO
/** Half the side of a window, and how far windows are shifted to both sides on the point's level [px of it]. */
#define VF_HALF 5
#define VF_SIDE (2 * VF_HALF + 1)
#define VF_SHIFT 5
#define VF_SHIFTS (2 * VF_SHIFT + 1)

/** Steps on level 0, and how far they may lead in all [px]. */
#define VF_STEPS 2
#define VF_SETTLE_PX 1.5f

/* ---- search ------------------------------------------------------------------------------------------------------ */

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
    b.levels = t->stereo_levels;
    b.distance = (uint32_t)t->stereo_distance;
    return b;
}

/** Whether a point of camera 1, of a level within bounds, may be the partner of a point of camera 0, their descriptors apart. Without a
 *  branch, so that a loop over many becomes vector code. */
VF_FN int vf_stereo_may(const struct vf_stereo_bounds *bounds, const struct vf_epipolar *e, float step_a, float angle_a,
                        const float bearing[3], float step_b, float angle_b)
{
    const float step = step_a > step_b ? step_a : step_b, band = bounds->band * step, off = vf_dot(e->normal, bearing);
    const float forward = vf_dot(e->far, bearing), along = vf_dot(e->nearer, bearing);
    return (forward > 0.0f) & (off <= band) & (-off <= band) & (along >= bounds->least * step * forward) &
           (along <= bounds->most * forward) & (vf_describe_apart(angle_a, angle_b) <= bounds->turn_rad);
}

/** The points of camera 1 whose level is near enough to a level: they follow one another. */
struct vf_stretch {
    uint32_t first, end;
};
VF_FN struct vf_stretch vf_stereo_stretch(const struct vf_stereo_bounds *bounds,
                                          const uint32_t first[VFRONT_SCALES + 1], int32_t level)
{
    struct vf_stretch stretch;
    stretch.first = first[vf_max(level - bounds->levels, 0)];
    stretch.end = first[vf_min(level + bounds->levels + 1, VFRONT_SCALES)];
    return stretch;
}

/* ---- place, to sub-pixel ----------------------------------------------------------------------------------------- */

/** A place of level 0. */
struct vf_seat {
    int32_t x_q16, y_q16;
};

/** The epipolar line of a point where its partner lies. */
struct vf_strip {
    struct vf_seat seat;    /* the partner's place, moved onto the line */
    float along_x, along_y; /* unit vector along the line, towards nearer */
    float slope;            /* by how much the component along `nearer` grows [a px of level 0] */
};

/** Finds the line from bearings of camera 1: at a place, a pixel to the right of it, and a pixel below. Returns 0 when there is none, as
 *  where the lens ends and a bearing is zero. */
VF_FN int vf_stereo_strip(const struct vf_epipolar *e, struct vf_seat from, const float here[3],
                          const float to_right[3], const float below[3], struct vf_strip *strip)
{
    float right[3], down[3];
    if (!(vf_dot(here, to_right) > 0.0f && vf_dot(here, below) > 0.0f)) return 0;
    for (int k = 0; k < 3; k++) {
        right[k] = to_right[k] - here[k];
        down[k] = below[k] - here[k];
    }
    const float off = vf_dot(e->normal, here), gx = vf_dot(e->normal, right), gy = vf_dot(e->normal, down);
    const float square = gx * gx + gy * gy, length = sqrtf(square);
    if (!(length > 0.0f)) return 0;
    const float ex = gy / length, ey = -gx / length,
                slope = vf_dot(e->nearer, right) * ex + vf_dot(e->nearer, down) * ey;
    const float moved_x = -off * gx / square, moved_y = -off * gy / square;
    const float limit = 1024.0f; /* so that all that follows fits its integers; the band is far smaller */
    if (!(moved_x < limit && moved_x > -limit && moved_y < limit && moved_y > -limit)) return 0;
    strip->along_x = slope < 0.0f ? -ex : ex;
    strip->along_y = slope < 0.0f ? -ey : ey;
    strip->slope = slope < 0.0f ? -slope : slope;
    strip->seat.x_q16 = from.x_q16 + vf_round(moved_x * 65536.0f);
    strip->seat.y_q16 = from.y_q16 + vf_round(moved_y * 65536.0f);
    return 1;
}

/** A seat so many pixels of level 0 further along the line. */
VF_FN struct vf_seat vf_stereo_shifted(const struct vf_strip *strip, struct vf_seat seat, float shift_px)
{
    seat.x_q16 += vf_round(shift_px * strip->along_x * 65536.0f);
    seat.y_q16 += vf_round(shift_px * strip->along_y * 65536.0f);
    return seat;
}

/** Centre of a window on a level [1/256 px of the level]. */
struct vf_centre {
    int32_t u, v;
};
VF_FN int32_t vf_stereo_level_q8(int32_t x_q16, uint32_t inverse_q19)
{
    return ((int32_t)(((int64_t)x_q16 + 0x8000) * (int64_t)inverse_q19 >> 19) - 0x8000 + 128) >> 8;
}
VF_FN struct vf_centre vf_stereo_centre(const struct vf_step *s, struct vf_seat seat, int32_t level)
{
    struct vf_centre c;
    c.u = vf_stereo_level_q8(seat.x_q16, s->geometry.inverse_q19[level]);
    c.v = vf_stereo_level_q8(seat.y_q16, s->geometry.inverse_q19[level]);
    return c;
}

/** The same, some pixels of its level further along the line. */
VF_FN struct vf_centre vf_stereo_further(const struct vf_strip *strip, struct vf_centre c, int32_t shift)
{
    c.u += vf_round((float)shift * strip->along_x * 256.0f);
    c.v += vf_round((float)shift * strip->along_y * 256.0f);
    return c;
}

/** Whether a window, and one pixel more, lies in a level. */
VF_FN int vf_window_inside(const struct vf_level *l, struct vf_centre c)
{
    const int32_t u = c.u >> 8, v = c.v >> 8;
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

/** Where between its neighbours the cost is least, -1/2 .. 1/2. The middle one is not more than the others, and less than the last. */
VF_FN float vf_stereo_valley(uint32_t before, uint32_t least, uint32_t after)
{
    const float b = (float)(before - least), a = (float)(after - least);
    return (b - a) / (2.0f * (b > a ? b : a));
}

/** What a step is made from, summed over a window or a half of one. With 121 pixels all sums but their products fit 32 bits. */
struct vf_slopes {
    int32_t n, g, d, gg,
        gd; /* g: slope along the line [1/8 grey level a px]; d: what camera 1's window has more [1/16 grey level] */
};
VF_FN void vf_stereo_add(struct vf_slopes *sum, int32_t ahead, int32_t behind, int32_t d)
{
    const int32_t g = (ahead - behind + 2) >> 2; /* of 1/16 grey levels, 2 px apart */
    sum->n++;
    sum->g += g;
    sum->d += d;
    sum->gg += g * g;
    sum->gd += g * d;
}

/** A step of Gauss and Newton along the line [px], means apart; 0 where there is no slope. */
VF_FN float vf_stereo_step(const struct vf_slopes *sum)
{
    const int64_t gg = (int64_t)sum->n * sum->gg - (int64_t)sum->g * sum->g,
                  gd = (int64_t)sum->n * sum->gd - (int64_t)sum->g * sum->d;
    return gg > 0 ? -0.5f * (float)gd / (float)gg : 0.0f;
}

/** Which half of a window its pixel k lies in, along the line: 0, 1, or 2: in the middle. */
VF_FN int vf_stereo_half(const struct vf_strip *strip, int32_t k)
{
    const int across = fabsf(strip->along_x) >= fabsf(strip->along_y);
    const int32_t off = across ? k % VF_SIDE - VF_HALF : k / VF_SIDE - VF_HALF;
    return off < 0 ? 0 : off > 0 ? 1 : 2;
}

/** Whether the halves of a window agree on where it belongs. */
VF_FN int vf_stereo_agree(const vfront_tuning_t *t, const struct vf_slopes half[2])
{
    return !t->stereo_apart_mpx ||
           fabsf(vf_stereo_step(&half[0]) - vf_stereo_step(&half[1])) * 1000.0f <= (float)t->stereo_apart_mpx;
}

/** Depth of point a, when what surrounds it is found at a place of camera 1. Returns 0 when it is too far for one. */
VF_FN int vf_stereo_depth(const struct vf_step *s, const struct vf_node *node, const struct vf_epipolar *e,
                          const struct vf_point *a, const struct vf_strip *strip, struct vf_seat seat,
                          vfront_depth_t *out)
{
    const struct vf_pair *pair = &s->geometry.pair;
    float bearing[3];
    vf_bearing_at(s, node, 1, seat.x_q16, seat.y_q16, bearing);
    const float forward = vf_dot(e->far, bearing), along = vf_dot(e->nearer, bearing);
    if (!(forward > 0.0f) ||
        !(along * s->geometry.focal_px[1] * 1000.0f >= (float)s->tuning.stereo_least_mpx * forward))
        return 0;
    const float tangent = along / forward, sideways = vf_dot(pair->epipole, e->nearer) / tangent;
    const float range_m = pair->baseline_m * (sideways - vf_dot(pair->epipole, e->far));
    const float sigma_px = (float)s->tuning.stereo_sigma_mpx * 0.001f * sqrtf(a->step);
    const float sigma_m = pair->baseline_m * sideways / tangent * (strip->slope / (forward * forward * forward)) *
                          sigma_px;
    if (!(range_m > 0.0f)) return 0;
    out->x_px = (float)seat.x_q16 * (1.0f / 65536.0f);
    out->y_px = (float)seat.y_q16 * (1.0f / 65536.0f);
    out->depth_m = range_m * a->bearing[2];
    out->sigma_m = sigma_m * (a->bearing[2] < 0.0f ? -a->bearing[2] : a->bearing[2]);
    return 1;
}

/** Notes the distance of a key point; depth: NULL, it has none. One that lies beside the camera has none either. */
VF_FN void vf_stereo_range(struct vf_stereo_memory *m, int32_t parity, uint32_t i, const float bearing[3],
                           const vfront_depth_t *depth)
{
    const int is = depth && bearing[2] > 0.01f;
    m->range_m[parity][i] = is ? depth->depth_m / bearing[2] : 0.0f;
    m->range_sigma_m[parity][i] = is ? depth->sigma_m / bearing[2] : 0.0f;
}

/** Whether a window differs by so much more than the median that the pair is dropped. */
VF_FN int vf_stereo_cut(const vfront_tuning_t *t, uint32_t cost, uint32_t median)
{
    return t->stereo_cut_percent && (uint64_t)cost * 100 > (uint64_t)median * (uint32_t)t->stereo_cut_percent;
}
#endif

#endif
