/* SPDX-License-Identifier: MIT */
/* stereo: match of every key point of camera 0 in camera 1, and its depth (paper 004, III.3, for any two calibrated
 * cameras).
 *
 * In      points, orientations and descriptors of both cameras; pyramid levels
 * Out     list of depths by rising index in camera 0: indices, position in camera 1, depth and its standard deviation;
 *         range of every key point, for the next frame as well; agreement of the cameras
 * Rule    candidates for a match lie in a band along the epipolar line, with a disparity within bounds, on about the
 *         same level and with about the same orientation. The candidate with the lowest Hamming distance wins, if it
 *         passes a ratio test against the best candidate at another position, and a cross-check: both points must be
 *         each other's best match. Its position is projected onto the epipolar line. Windows at 11 positions along the
 *         line, on the point's level, are compared with the window around the point by the zero-mean sum of absolute
 *         differences (ZSAD); the minimum is interpolated by a V through it and its neighbours. From there two
 *         Gauss-Newton steps along the line on level 0 give the position. A match is rejected if those steps lead too
 *         far, if the two halves of the window would move apart, as at an occluding edge, or if its ZSAD is a large
 *         multiple of the median of the matches. A point without a match is searched by the same windows where predict
 *         expects it, if it does: expect.h. Matches are not looked for in such intervals: a point has two or three
 *         candidates in the whole range, and even the true disparity as prediction brings at most 2 % more of them
 *         (figures: tests/geometry/README.md). So the agreement of the cameras, which is of matches alone, owes nothing
 *         to what was expected. Disparity is the focal length of camera 1 times the tangent of the angle between the
 *         bearing and its direction at infinity: in the middle of rectified pictures the usual disparity, and less
 *         towards their sides.
 *         The deviation of a depth is that of its disparity, of three parts: one of all, more for coarser levels; one
 *         that the window says, by its difference of grey levels over its gradient; one that all have in common
 *         With rig_offset 1 lines and disparities are corrected by the estimates of rows and ego
 * Exact   costs in integers; the rest in single precision in one order, square roots and quotients correctly rounded
 * Memory  104 bytes a key point: best match from either camera, cost, depth, place in camera 1; expected depths:
 *         expect.h; 36 bytes a key point between the kernels
 * Shared  arithmetic of candidates, lines, windows, steps and depth. Not shared, for speed: the loop over candidates
 *         (host: one batch of camera 1 for many points, as vector code; kernel: a block for a few points), sums over a
 *         window (search_line(), refine_subpixel(): the host reads windows into memory, the kernel keeps 4 pixels of
 *         each in a lane's registers and sums over the warp; integer sums, so that order does not matter), and the
 *         median (bitwise search by either, over an array or over a block)
 */
#ifndef VF_STEREO_H
#define VF_STEREO_H

#include "core/view.h"
#include "features/bearing.h"
#include "features/describe.h"
#include "image/freeze.h"
#include "image/ingest.h"
#include "rig.h"

/** Agreement of the two cameras in a frame, and what is usual for it. */
struct vf_pair_health {
    uint32_t state;     /* vfront_stereo_state_t */
    uint32_t permille;  /* key points of camera 0 that have a match in camera 1 [1/1000] */
    uint32_t offset_q8; /* mean distance of matches from their epipolar lines [1/256 px of their level] */
    uint32_t frames;    /* that made the two levels below; at most VF_PAIR_OFFSET_FRAMES */
    uint32_t usual_permille_q8, usual_offset_q16; /* running means over good frames */
    uint32_t doubt; /* frames for which the state leaves camera 1 out though matches are in place again: sight.h */
};

/** Match of a key point on its epipolar line: position in camera 1 [1/65536 px of level 0], and direction of the line
 *  towards smaller depths, of length 1. */
struct vf_stereo_place {
    int32_t x_q16, y_q16;
    float direction_x, direction_y;
};

/** Cell of the grid of expected depths: bounds of inverse ranges [1/m], as integers of the same order
 *  (vf_expect_bits()), and number of points. All 0: empty. */
struct vf_expect_cell {
    uint32_t nearest;  /* the greatest inverse range */
    uint32_t farthest; /* the least, inverted */
    uint32_t points;
};
#define VF_EXPECT_SIDE 64 /* cells along x and y of bearings, from -1 to 1 */

#if VFRONT_STEREO
struct vf_stereo_memory {
    /* best match of each key point of camera 1 in camera 0: Hamming distance << 16 | index (vf_packed_match());
     * VF_NONE: none. By parity; a step uses its own set and clears the other for the next step, vf_stereo_clear(). */
    uint32_t back[2][VFRONT_KEYPOINTS];
    uint32_t best[VFRONT_KEYPOINTS];            /* best match of each key point of camera 0 in camera 1, likewise */
    uint32_t cost[VFRONT_KEYPOINTS];            /* ZSAD of its window [1/16 grey level, times 121]; VF_NONE: no depth */
    vfront_depth_t candidate[VFRONT_KEYPOINTS]; /* of each key point of camera 0 with a cost */
    vfront_depth_t depth[VFRONT_KEYPOINTS];     /* out: list of those that are no outliers */
    float range_m[2][VFRONT_KEYPOINTS];         /* by parity: range of each key point of camera 0; 0: no depth */
    float range_sigma_m[2][VFRONT_KEYPOINTS];   /* its standard deviation */
    uint32_t matched[2][VFRONT_KEYPOINTS];      /* by parity: 1 for a key point whose range is of a match */
    /* grid of expected depths, row by row, by parity: as `back` */
    struct vf_expect_cell expected[2][VF_EXPECT_SIDE * VF_EXPECT_SIDE];
    uint32_t offset[VFRONT_KEYPOINTS]; /* of each key point of camera 0: vf_pair_offset(); VF_NONE: no match */
    struct vf_stereo_place place[VFRONT_KEYPOINTS]; /* of each with a cost: of its match, for rows */
    uint32_t count;                                 /* length of `depth` */
    struct vf_pair_health pair[2];                  /* out, by parity: agreement of the cameras */
};
#else
struct vf_stereo_memory {
    uint64_t nothing;
};
#endif
struct vf_stereo_scratch;

/* View of stereo: core/view.h. scratch: what its kernels hand from one launch to the next. */
/* clang-format off */
#define VF_READS_stereo(X) X(ingest) X(freeze) X(predict) X(rectify) X(scale) X(bearing) X(describe)
#define VF_BEFORE_stereo(X) X(rows) X(ego)
#define VF_GEOMETRY_stereo(X) X(scale) X(inverse_q19) X(focal_px) X(nodes_x) X(pair) X(active)
#define VF_TUNING_stereo(X)                                                                                            \
    X(stereo_band_px) X(stereo_distance) X(stereo_levels) X(stereo_disparity_px) X(stereo_least_mpx)                   \
    X(stereo_apart_mpx) X(stereo_cut_percent) X(stereo_sigma_mpx) X(match_ratio_percent) X(match_turn_deg)             \
    X(stereo_fit_percent) X(stereo_expected) X(rig_disparity_mpx) X(rig_offset) X(select_points)
/* clang-format on */
VF_GEOMETRY_OF(stereo);
VF_TUNING_OF(stereo);
struct vf_stereo_view {
    VF_VIEW(stereo);
    struct vf_stereo_tuning tuning;
    struct vf_pictures pictures;
    struct vf_stereo_scratch *scratch;
};
VF_HOST_FORM(stereo);

/** Length of the list of depths; active: of geometry. */
VF_FN uint32_t vf_stereo_count(const struct vf_stereo_memory *m, uint32_t active)
{
#if VFRONT_STEREO
    if (active & VF_BIT(stereo)) return m->count;
#endif
    (void)m, (void)active;
    return 0;
}

/** Agreement of the cameras in the frame of a parity; state VFRONT_STEREO_NONE where depths are not computed. */
VF_FN struct vf_pair_health vf_stereo_pair(const struct vf_stereo_memory *m, uint32_t active, int32_t parity)
{
    const struct vf_pair_health none = {VFRONT_STEREO_NONE, 0, 0, 0, 0, 0, 0};
#if VFRONT_STEREO
    if (active & VF_BIT(stereo)) return m->pair[parity];
#endif
    (void)m, (void)active, (void)parity;
    return none;
}

/** Range of a key point of camera 0 and its standard deviation [m]; 0: unknown. */
struct vf_range_estimate {
    float m, sigma_m;
};

/** Range of a key point of the frame of a parity. */
VF_FN struct vf_range_estimate vf_stereo_range(const struct vf_stereo_memory *m, int32_t parity, uint32_t keypoint)
{
    struct vf_range_estimate r = {0.0f, 0.0f};
#if VFRONT_STEREO
    r.m = m->range_m[parity][keypoint];
    r.sigma_m = m->range_sigma_m[parity][keypoint];
#else
    (void)m, (void)parity, (void)keypoint;
#endif
    return r;
}

#if VFRONT_STEREO
/** Clears `back` and `expected` of a parity: every `step`-th entry from `first` on. */
VF_FN void vf_stereo_clear(struct vf_stereo_memory *m, int32_t parity, int32_t first, int32_t step)
{
    const struct vf_expect_cell none = {0, 0, 0};
    for (int32_t i = first; i < VFRONT_KEYPOINTS; i += step) m->back[parity][i] = VF_NONE;
    for (int32_t i = first; i < VF_EXPECT_SIDE * VF_EXPECT_SIDE; i += step) m->expected[parity][i] = none;
}

/** Window: half side and side [px]; search on the point's level: farthest shift to either side along the line [px of
 *  the level], and number of positions. */
#define VF_STEREO_HALF 5
#define VF_STEREO_SIDE (2 * VF_STEREO_HALF + 1)
#define VF_STEREO_REACH 5
#define VF_STEREO_POSITIONS (2 * VF_STEREO_REACH + 1)

/** Gauss-Newton steps on level 0, and largest sum of their lengths [px]. */
#define VF_STEREO_STEPS 2
#define VF_STEREO_STEPS_PX 1.5f

/* ---- search ------------------------------------------------------------------------------------------------------ */

/** Epipolar plane of a point of camera 0, in axes of camera 1: three orthonormal vectors. */
struct vf_epipolar {
    float infinity[3]; /* bearing of the point at infinite depth */
    float nearer[3];   /* in the plane, normal to `infinity`: direction of its motion as depth decreases */
    float normal[3];   /* of the plane; 0 if the point lies on the baseline */
};
VF_FN struct vf_epipolar vf_stereo_epipolar(const struct vf_pair *pair, const float bearing[3])
{
    struct vf_epipolar e;
    for (int k = 0; k < 3; k++) e.infinity[k] = vf_dot(pair->R + 3 * k, bearing);
    vf_cross(e.infinity, pair->epipole, e.normal);
    vf_unit(e.normal);
    vf_cross(e.normal, e.infinity, e.nearer);
    return e;
}

/** Bounds of the search, in units of the focal length of camera 1. */
struct vf_stereo_bounds {
    float band;        /* largest distance from the epipolar line, for level 0 */
    float least, most; /* disparity, for level 0 */
    float turn_rad;    /* largest difference of orientations */
    int32_t levels;    /* largest difference of levels */
    uint32_t distance; /* largest Hamming distance */
};
VF_FN struct vf_stereo_bounds vf_stereo_make_bounds(const struct vf_stereo_view *s)
{
    const struct vf_stereo_tuning *t = &s->tuning;
    struct vf_stereo_bounds b;
    b.band = (float)t->stereo_band_px / s->geometry.focal_px[1];
    b.least = -b.band; /* slightly negative: key points on coarse levels are imprecise */
    b.most = (float)t->stereo_disparity_px / s->geometry.focal_px[1];
    b.turn_rad = (float)t->match_turn_deg * 0.01745329252f;
    b.levels = t->stereo_levels;
    b.distance = (uint32_t)t->stereo_distance;
    return b;
}

/** Candidate test: 1 if a point b of camera 1 is within bounds for a point a of camera 0 in position and orientation.
 *  Level and descriptor are not tested. Branch-free, so that a loop over many points becomes vector code. */
VF_FN int vf_stereo_candidate(const struct vf_stereo_bounds *bounds, const struct vf_epipolar *e, float step_a,
                              float angle_a, const float bearing[3], float step_b, float angle_b)
{
    const float step = step_a > step_b ? step_a : step_b, band = bounds->band * step, off = vf_dot(e->normal, bearing);
    const float forward = vf_dot(e->infinity, bearing), along = vf_dot(e->nearer, bearing);
    return (forward > 0.0f) & (off <= band) & (-off <= band) & (along >= bounds->least * step * forward) &
           (along <= bounds->most * forward) & (vf_angle_difference(angle_a, angle_b) <= bounds->turn_rad);
}

/** Index range of points of camera 1: from `first`, up to but not including `end`. */
struct vf_candidate_range {
    uint32_t first, end;
};
/** Points of camera 1 whose level is within bounds for a level of camera 0. first: index of the first point of each
 *  level. */
VF_FN struct vf_candidate_range vf_stereo_candidates(const struct vf_stereo_bounds *bounds,
                                                     const uint32_t first[VFRONT_SCALES + 1], int32_t level)
{
    struct vf_candidate_range range;
    range.first = first[vf_max(level - bounds->levels, 0)];
    range.end = first[vf_min(level + bounds->levels + 1, VFRONT_SCALES)];
    return range;
}

/* ---- offsets of the rig ------------------------------------------------------------------------------------------ */

/** Offsets of camera 1 that a step knows from the frame before [px]. rows: across the epipolar lines, to the left of
 *  their direction towards smaller depths, which is down where camera 1 lies to the right; disparity: along them. */
struct vf_stereo_offsets {
    float rows;      /* by which epipolar lines are moved */
    float disparity; /* taken off disparities */
};

/** Offsets for this step. rows, disparity: those of rows and ego after the frame before. */
VF_FN struct vf_stereo_offsets vf_stereo_offsets_of(const struct vf_stereo_view *s, struct vf_rig_estimate rows,
                                                    struct vf_rig_estimate disparity)
{
    const int correct = s->tuning.rig_offset && s->ingest->params.frame != 0;
    struct vf_stereo_offsets o;
    o.rows = vf_rig_correction(&rows, correct);
    o.disparity = vf_rig_correction(&disparity, correct);
    return o;
}

/* ---- sub-pixel position ------------------------------------------------------------------------------------------ */

/** Position on level 0 of camera 1. */
struct vf_stereo_position {
    int32_t x_q16, y_q16;
};

/** Epipolar line of a point near its match, linearised. */
struct vf_epipolar_line {
    struct vf_stereo_position start; /* position of the match, projected onto the line */
    float direction_x, direction_y;  /* unit vector along the line, towards smaller depths */
    float slope;                     /* growth of the component of the bearing along `nearer` [1/px of level 0] */
};

struct vf_stereo_scratch {
    struct vf_epipolar_line line[VFRONT_KEYPOINTS];
    /* how far from the start of the line a position may be [px]; 0: anywhere, it is of a match; below 0: no line */
    float half_px[VFRONT_KEYPOINTS];
    struct vf_stereo_position position[VFRONT_KEYPOINTS]; /* found on the line */
    float fit_px[VFRONT_KEYPOINTS];
};

/** Linearise the epipolar line around a position `from` of camera 1, given the bearings of camera 1 there, one pixel to
 *  the right and one pixel below. Returns 0 if there is no line, as beyond the field of view of the lens, where
 *  bearings are zero. */
VF_FN int vf_stereo_line(const struct vf_epipolar *e, struct vf_stereo_position from, const float here[3],
                         const float to_right[3], const float below[3], struct vf_epipolar_line *line)
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
    const float limit = 1024.0f; /* [px]: keeps fixed-point positions in range; the band is far smaller */
    if (!(moved_x < limit && moved_x > -limit && moved_y < limit && moved_y > -limit)) return 0;
    line->direction_x = slope < 0.0f ? -ex : ex;
    line->direction_y = slope < 0.0f ? -ey : ey;
    line->slope = slope < 0.0f ? -slope : slope;
    line->start.x_q16 = from.x_q16 + vf_round(moved_x * 65536.0f);
    line->start.y_q16 = from.y_q16 + vf_round(moved_y * 65536.0f);
    return 1;
}

/** Position moved across the line by shift_px [px of level 0], to the left of its direction. */
VF_FN struct vf_stereo_position vf_stereo_move_across(const struct vf_epipolar_line *line,
                                                      struct vf_stereo_position position, float shift_px)
{
    position.x_q16 += vf_round(shift_px * line->direction_y * 65536.0f);
    position.y_q16 -= vf_round(shift_px * line->direction_x * 65536.0f);
    return position;
}

/** Position moved along the line by shift_px [px of level 0]. */
VF_FN struct vf_stereo_position vf_stereo_move(const struct vf_epipolar_line *line, struct vf_stereo_position position,
                                               float shift_px)
{
    position.x_q16 += vf_round(shift_px * line->direction_x * 65536.0f);
    position.y_q16 += vf_round(shift_px * line->direction_y * 65536.0f);
    return position;
}

/** Centre of a window on a level [1/256 px of the level]. */
struct vf_window_centre {
    int32_t u, v;
};
/** Coordinate of level 0 (Q16) to that of a level (Q8). inverse_q19: inverse size of the level's pixels. */
VF_FN int32_t vf_stereo_level_q8(int32_t x_q16, uint32_t inverse_q19)
{
    return ((int32_t)(((int64_t)x_q16 + 0x8000) * (int64_t)inverse_q19 >> 19) - 0x8000 + 128) >> 8;
}
/** Centre of a window on a level from its position on level 0. */
VF_FN struct vf_window_centre vf_stereo_window_centre(const struct vf_stereo_view *s,
                                                      struct vf_stereo_position position, int32_t level)
{
    struct vf_window_centre c;
    c.u = vf_stereo_level_q8(position.x_q16, s->geometry.inverse_q19[level]);
    c.v = vf_stereo_level_q8(position.y_q16, s->geometry.inverse_q19[level]);
    return c;
}

/** Centre moved along the line by `shift` pixels of its level. */
VF_FN struct vf_window_centre vf_stereo_move_window(const struct vf_epipolar_line *line, struct vf_window_centre c,
                                                    int32_t shift)
{
    c.u += vf_round((float)shift * line->direction_x * 256.0f);
    c.v += vf_round((float)shift * line->direction_y * 256.0f);
    return c;
}

/** Bounds test: 1 if a window, with one more pixel to the right and below for interpolation, lies in a level. */
VF_FN int vf_stereo_window_inside(const struct vf_level *l, struct vf_window_centre c)
{
    const int32_t u = c.u >> 8, v = c.v >> 8;
    return u >= VF_STEREO_HALF && v >= VF_STEREO_HALF && u + VF_STEREO_HALF + 1 < l->width &&
           v + VF_STEREO_HALF + 1 < l->height;
}

/** Interpolation between two values: (256 - f) / 256 of a and f / 256 of b, times 256. */
VF_FN int32_t vf_stereo_between(int32_t a, int32_t b, int32_t f) { return a * (256 - f) + b * f; }

/** Grey level [1/16] between two rows, each interpolated along the row by vf_stereo_between(). */
VF_FN int32_t vf_stereo_between_rows(int32_t upper, int32_t lower, int32_t fv)
{
    return (vf_stereo_between(upper, lower, fv) + 2048) >> 12;
}

/** Bilinear interpolation between four pixels [1/16 grey level]. at: the upper left pixel; fu, fv: fractions [1/256
 *  px]. */
VF_FN int32_t vf_stereo_interpolate(const uint8_t *at, int32_t pitch, int32_t fu, int32_t fv)
{
    return vf_stereo_between_rows(vf_stereo_between(at[0], at[1], fu), vf_stereo_between(at[pitch], at[pitch + 1], fu),
                                  fv);
}

/** ZSAD of one pixel: absolute difference of two grey levels [1/16] less the means of their windows, times the number
 *  of pixels of a window. sum_a, sum_b: sums of the windows. */
VF_FN uint32_t vf_stereo_absolute_difference(int32_t a, int32_t sum_a, int32_t b, int32_t sum_b)
{
    return (uint32_t)vf_abs(VF_STEREO_SIDE * VF_STEREO_SIDE * (a - b) - (sum_a - sum_b));
}

/** Sub-pixel minimum of the cost by a V with equal slopes through three neighbouring positions, -1/2 .. 1/2. Requires
 *  least <= before and least < after. */
VF_FN float vf_stereo_subpixel(uint32_t before, uint32_t least, uint32_t after)
{
    const float b = (float)(before - least), a = (float)(after - least);
    return (b - a) / (2.0f * (b > a ? b : a));
}

/** Sums of the Gauss-Newton step over a window or half a window. For 121 pixels all sums fit 32 bits, their products do
 *  not. */
struct vf_stereo_sums {
    int32_t n;      /* pixels */
    int32_t g;      /* gradient along the line in camera 0 [1/8 grey level a px] */
    int32_t d;      /* difference of camera 1 and camera 0 [1/16 grey level] */
    int32_t gg, gd; /* products */
};
/** Gradient along the line [1/8 grey level a px], central over 2 px. ahead, behind: grey levels of camera 0 one pixel
 *  further and one back along it [1/16]. */
VF_FN int32_t vf_stereo_gradient(int32_t ahead, int32_t behind) { return (ahead - behind + 2) >> 2; }

/** Add a pixel. ahead, behind: as for its gradient; d: difference. */
VF_FN void vf_stereo_accumulate(struct vf_stereo_sums *sum, int32_t ahead, int32_t behind, int32_t d)
{
    const int32_t g = vf_stereo_gradient(ahead, behind);
    sum->n++;
    sum->g += g;
    sum->d += d;
    sum->gg += g * g;
    sum->gd += g * d;
}

/** Gauss-Newton step along the line [px], invariant to a difference of the means; 0 where there is no gradient. */
VF_FN float vf_stereo_gauss_newton(const struct vf_stereo_sums *sum)
{
    const int64_t gg = (int64_t)sum->n * sum->gg - (int64_t)sum->g * sum->g,
                  gd = (int64_t)sum->n * sum->gd - (int64_t)sum->g * sum->d;
    return gg > 0 ? -0.5f * (float)gd / (float)gg : 0.0f;
}

/** 1 if the halves of a window along the line are its left and right columns, 0 if its upper and lower rows. */
VF_FN int vf_stereo_halves_are_columns(const struct vf_epipolar_line *line)
{
    return fabsf(line->direction_x) >= fabsf(line->direction_y);
}

/** Half of a window, along the line, in which pixel k lies: 0 or 1; 2: in the middle column or row, in neither. */
VF_FN int vf_stereo_window_half(const struct vf_epipolar_line *line, int32_t k)
{
    const int across = vf_stereo_halves_are_columns(line);
    const int32_t off = across ? k % VF_STEREO_SIDE - VF_STEREO_HALF : k / VF_STEREO_SIDE - VF_STEREO_HALF;
    return off < 0 ? 0 : off > 0 ? 1 : 2;
}

/** Consistency of both halves of a window: 1 if their Gauss-Newton steps differ by at most stereo_apart_mpx. */
VF_FN int vf_stereo_halves_agree(const struct vf_stereo_tuning *t, const struct vf_stereo_sums half[2])
{
    return !t->stereo_apart_mpx ||
           fabsf(vf_stereo_gauss_newton(&half[0]) - vf_stereo_gauss_newton(&half[1])) * 1000.0f <=
               (float)t->stereo_apart_mpx;
}

/** Standard deviation of a disparity [px] as the window says: the noise that would make its difference of grey levels,
 *  over the root of the squared gradients; at most VF_STEREO_STEPS_PX. cost: ZSAD of the window; half: sums of its
 *  halves. */
VF_FN float vf_stereo_fit_px(uint32_t cost, const struct vf_stereo_sums half[2])
{
    /* mean absolute difference of normal noise: sqrt(2 / pi) of its standard deviation [grey levels] */
    const float noise = 1.2533141f * (float)cost /
                        (float)(16 * VF_STEREO_SIDE * VF_STEREO_SIDE * VF_STEREO_SIDE * VF_STEREO_SIDE);
    float square = 0.0f; /* of gradients less their mean [1/64 grey level^2 a px^2] */
    for (int h = 0; h < 2; h++) {
        const int64_t spread = (int64_t)half[h].n * half[h].gg - (int64_t)half[h].g * half[h].g;
        square += half[h].n > 0 ? (float)spread / (float)half[h].n : 0.0f;
    }
    const float sigma = 8.0f * noise / sqrtf(square > 1.0f ? square : 1.0f);
    return sigma < VF_STEREO_STEPS_PX ? sigma : VF_STEREO_STEPS_PX;
}

/** Standard deviation of the disparity of a point of camera 0 [px]: a least one, that of its window, and that which all
 *  disparities have in common. */
VF_FN float vf_stereo_sigma_px(const struct vf_stereo_tuning *t, float step, float fit_px)
{
    const float least = (float)t->stereo_sigma_mpx * 0.001f, fit = (float)t->stereo_fit_percent * 0.01f * fit_px * step,
                rig = (float)t->rig_disparity_mpx * 0.001f;
    return sqrtf(least * least * step + fit * fit + rig * rig);
}

/** Triangulate point a of camera 0 with a position of camera 1: depth and standard deviation. node: grid of bearings of
 *  camera 1; offset_px: taken off the disparity; fit_px: vf_stereo_fit_px(). Returns 0 if the disparity is too
 *  small. */
VF_FN int vf_stereo_depth(const struct vf_stereo_view *s, const struct vf_node *node, const struct vf_epipolar *e,
                          const struct vf_point *a, const struct vf_epipolar_line *line, float offset_px,
                          struct vf_stereo_position position, float fit_px, vfront_depth_t *out)
{
    const struct vf_pair *pair = &s->geometry.pair;
    float bearing[3];
    vf_bearing_at(node, s->geometry.nodes_x[1], position.x_q16, position.y_q16, bearing);
    const float forward = vf_dot(e->infinity, bearing);
    const float along = vf_dot(e->nearer, bearing) - offset_px * (line->slope / (forward * forward));
    if (!(forward > 0.0f) ||
        !(along * s->geometry.focal_px[1] * 1000.0f >= (float)s->tuning.stereo_least_mpx * forward))
        return 0;
    const float tangent = along / forward, sideways = vf_dot(pair->epipole, e->nearer) / tangent;
    const float range_m = pair->baseline_m * (sideways - vf_dot(pair->epipole, e->infinity));
    const float sigma_px = vf_stereo_sigma_px(&s->tuning, a->step, fit_px);
    const float sigma_m = pair->baseline_m * sideways / tangent * (line->slope / (forward * forward * forward)) *
                          sigma_px;
    if (!(range_m > 0.0f)) return 0;
    out->x_px = (float)position.x_q16 * (1.0f / 65536.0f);
    out->y_px = (float)position.y_q16 * (1.0f / 65536.0f);
    out->depth_m = range_m * a->bearing[2];
    out->sigma_m = sigma_m * (a->bearing[2] < 0.0f ? -a->bearing[2] : a->bearing[2]);
    return 1;
}

/* ---- agreement of the cameras ------------------------------------------------------------------------------------ */

#define VF_PAIR_FRAMES 8           /* good frames over which the usual share is averaged */
#define VF_PAIR_OFFSET_FRAMES 256  /* the same for the usual offset: an error that grows does not become usual */
#define VF_PAIR_DOUBT 30           /* frames in place after which the state takes camera 1 in again */
#define VF_PAIR_FOLLOWS 32         /* the same for the share of matches while it is suspect */
#define VF_PAIR_LEAST 16           /* key points, and matches, from which a pair can be assessed */
#define VF_PAIR_PERMILLE 50        /* least share of matches of a pair that agrees */
#define VF_PAIR_PERCENT 65         /* the same in percent of the usual share */
#define VF_PAIR_OFFSET_Q8 64       /* mean offset may exceed the usual one by this: 0.25 px */
#define VF_PAIR_OFFSET_PERCENT 150 /* or be this much of it; matches by chance have 1.0 to 1.2 px */
#define VF_PAIR_OFFSET_MOST_Q8 205 /* largest mean offset while nothing is usual yet: 0.8 px */
#define VF_PAIR_BEHIND_PERCENT 40  /* largest share of matches beyond infinity: swapped cameras have nearly all there */
#define VF_PAIR_BEHIND_PX 0.5f     /* disparity beyond infinity of such a match [px of the coarser level] */

/** Match against its epipolar line: bits 0 to 15 its distance from the line [1/256 px of the coarser of both levels],
 *  bit 16: it lies beyond infinity. here, to_right, below: bearings of camera 1 as for vf_stereo_line(). step: size of
 *  that level's pixels [px]. */
VF_FN uint32_t vf_pair_offset(const struct vf_stereo_view *s, const struct vf_epipolar *e, const float here[3],
                              const float to_right[3], const float below[3], float step)
{
    float right[3], down[3];
    for (int k = 0; k < 3; k++) {
        right[k] = to_right[k] - here[k];
        down[k] = below[k] - here[k];
    }
    const float gx = vf_dot(e->normal, right), gy = vf_dot(e->normal, down), off = vf_dot(e->normal, here);
    const float px = (off < 0.0f ? -off : off) / (sqrtf(gx * gx + gy * gy) * step), most = 255.0f;
    const float disparity_px = vf_dot(e->nearer, here) / vf_dot(e->infinity, here) * s->geometry.focal_px[1];
    return (uint32_t)vf_round((px < most ? px : most) * 256.0f) | (uint32_t)(disparity_px < -VF_PAIR_BEHIND_PX * step)
                                                                      << 16;
}

/** Sums over the key points of camera 0. */
struct vf_pair_sums {
    uint32_t matches, behind, offset_q8; /* matches; of them beyond infinity; distances from their lines */
};
VF_FN void vf_pair_add(struct vf_pair_sums *sum, uint32_t offset)
{
    const uint32_t match = offset != VF_NONE;
    sum->matches += match;
    sum->behind += match & (offset >> 16);
    sum->offset_q8 += match ? offset & 0xffff : 0;
}

/** 1 if the matches lie where those of this pair do: on their epipolar lines and not beyond infinity. usual: health of
 *  the frame before. */
VF_FN int vf_pair_in_place(const struct vf_pair_health *now, const struct vf_pair_sums *sum,
                           const struct vf_pair_health *usual)
{
    const uint32_t offset = now->offset_q8;
    const int usually = offset * 256 <= usual->usual_offset_q16 + VF_PAIR_OFFSET_Q8 * 256 ||
                        offset * 25600 <= usual->usual_offset_q16 * VF_PAIR_OFFSET_PERCENT;
    return (usual->frames ? usually : offset <= VF_PAIR_OFFSET_MOST_Q8) &&
           sum->behind * 100 <= sum->matches * VF_PAIR_BEHIND_PERCENT;
}

/** 1 if the matches are enough to be judged, and not far fewer than usual. */
VF_FN int vf_pair_enough(const struct vf_pair_health *now, const struct vf_pair_sums *sum)
{
    return sum->matches >= VF_PAIR_LEAST && now->permille >= VF_PAIR_PERMILLE;
}
VF_FN int vf_pair_as_many(const struct vf_pair_health *now, const struct vf_pair_health *usual)
{
    return !usual->frames || now->permille * 25600 >= usual->usual_permille_q8 * VF_PAIR_PERCENT;
}

/** Health of the pair in a frame. points: key points of each camera; frozen: 1 if a picture of this frame is frozen;
 *  first: 1 in frame 0; before: health of the frame before. The usual share follows a lasting change of the scene even
 *  while it is suspect; the usual offset does not, because a camera that has moved stays moved. */
VF_FN struct vf_pair_health vf_pair_assess(const struct vf_pair_sums *sum, const uint32_t points[2], int frozen,
                                           int first, const struct vf_pair_health *before)
{
    const struct vf_pair_health none = {0, 0, 0, 0, 0, 0, 0}, usual = first ? none : *before;
    const int blind = frozen || points[0] < VF_PAIR_LEAST || points[1] * 4 < points[0];
    struct vf_pair_health now = usual;
    now.permille = points[0] ? sum->matches * 1000u / points[0] : 0;
    now.offset_q8 = sum->matches ? sum->offset_q8 / sum->matches : 0;
    const int seen = !blind && vf_pair_enough(&now, sum), sound = seen && vf_pair_in_place(&now, sum, &usual),
              good = sound && vf_pair_as_many(&now, &usual);
    if (seen) now.doubt = !sound ? VF_PAIR_DOUBT : usual.doubt ? usual.doubt - 1 : 0;
    now.state = blind ? VFRONT_STEREO_BLIND : good ? VFRONT_STEREO_GOOD : VFRONT_STEREO_SUSPECT;
    if (!sound || usual.doubt) return now;
    now.frames = (uint32_t)vf_min((int32_t)usual.frames + 1, VF_PAIR_OFFSET_FRAMES);
    now.usual_permille_q8 = vf_running_mean(usual.usual_permille_q8, now.permille << 8,
                                            good ? vf_min((int32_t)now.frames, VF_PAIR_FRAMES) : VF_PAIR_FOLLOWS);
    if (good) now.usual_offset_q16 = vf_running_mean(usual.usual_offset_q16, now.offset_q8 << 8, (int32_t)now.frames);
    return now;
}

/** Store the range of key point i of camera 0. depth: NULL: none. Points with a bearing of z <= 0.01, beside or behind
 *  the camera, have none either. */
VF_FN void vf_stereo_store_range(struct vf_stereo_memory *m, int32_t parity, uint32_t i, const float bearing[3],
                                 const vfront_depth_t *depth)
{
    const int valid = depth && bearing[2] > 0.01f;
    m->range_m[parity][i] = valid ? depth->depth_m / bearing[2] : 0.0f;
    m->range_sigma_m[parity][i] = valid ? depth->sigma_m / bearing[2] : 0.0f;
    m->matched[parity][i] = (uint32_t)(valid && depth->partner != VFRONT_NO_PARTNER);
}

/** Outlier test: 1 if the cost of a window exceeds stereo_cut_percent of the median; that being 0: never. */
VF_FN int vf_stereo_outlier(const struct vf_stereo_tuning *t, uint32_t cost, uint32_t median)
{
    return t->stereo_cut_percent && (uint64_t)cost * 100 > (uint64_t)median * (uint32_t)t->stereo_cut_percent;
}
#else
struct vf_stereo_scratch {
    uint64_t nothing;
};
#endif

#endif
