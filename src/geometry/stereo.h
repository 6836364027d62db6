/* SPDX-License-Identifier: MIT */
/* stereo: match of each key point of camera 0 in camera 1, and its depth, for any two calibrated cameras.
 *
 * In      points, orientations and descriptors of both cameras; pyramid levels
 * Out     list of depths in order of the index in camera 0: indices, position in camera 1, depth and its standard
 *         deviation; range of every key point, also for the next frame; state of the camera pair
 * Rule    - Candidates lie in a band along the epipolar line, within bounds of disparity, level and orientation. The
 *           candidate with the lowest Hamming distance wins. It must pass a ratio test against the best candidate at
 *           another position, and a cross-check
 *         - The match is projected onto the epipolar line. On the point's level, patches at 11 positions along the line
 *           are compared by the zero-mean sum of absolute differences (ZSAD). A V through the minimum and its two
 *           neighbours gives the subpixel position. Two Gauss-Newton steps along the line on level 0 follow
 *         - Rejected: steps too far, disagreeing halves of the patch (occluding edge), or a ZSAD that is a large
 *           multiple of the median
 *         - A point without a match is searched by the same patches in the interval that predict expects (expect.h).
 *           The state of the pair uses matches alone, so that it does not depend on expectations
 *         - Disparity is the focal length of camera 1 times the tangent of the angle between the bearing and its
 *           direction at infinity
 *         - The variance of a disparity has three terms: a constant, larger for coarser levels; one from the patch,
 *           grey-level residual over gradient; one common to all disparities (rig_disparity_mpx)
 *         - With rig_offset 1, lines and disparities are corrected by the estimates of epipolar and ego
 * Exact   costs in integers; the rest in single precision in one order, square roots and quotients correctly rounded
 * Memory  104 bytes per key point: best match from either camera, cost, depth, position in camera 1; expected depths:
 *         expect.h; 36 bytes per key point between the kernels
 * Shared  arithmetic of candidates, lines, patches, steps and depth. Written twice, for speed: the loop over candidates
 *         (host: vectorised over sorted points; kernel: a block for a few points); the integer sums over a patch (host:
 *         patches in memory; kernel: 4 pixels per lane in registers); the median (bitwise search over an array or over
 *         a block)
 */
#ifndef VF_STEREO_H
#define VF_STEREO_H

#include "base/view.h"
#include "features/bearing.h"
#include "features/describe.h"
#include "image/freeze.h"
#include "image/ingest.h"
#include "math/pose.h"
#include "rig.h"
#include "stereo_pair.h"

/** Match of a key point of camera 0 on its epipolar line in camera 1. */
struct vf_line_match {
    int32_t x_q16, y_q16;           /* position in camera 1 [1/65536 px of level 0] */
    float direction_x, direction_y; /* unit vector along the line, towards smaller depths */
};

/** Cell of the grid of expected depths. Inverse ranges [1/m] are stored as integers that compare in the same order,
 *  vf_expect_bits(). All 0: empty. */
struct vf_expect_cell {
    uint32_t nearest;  /* greatest inverse range of the points in the cell */
    uint32_t farthest; /* bitwise complement of the least inverse range */
    uint32_t points;   /* number of points */
};
#define VF_EXPECT_SIDE 64 /* number of cells along x and along y of a bearing, each -1 to 1 */

#if VFRONT_STEREO
struct vf_stereo_memory {
    /* [parity][key point of camera 1]: its best match in camera 0, Hamming distance << 16 | index; VF_NONE: none. A
     * frame uses its own set and clears the other. */
    uint32_t back[2][VFRONT_KEYPOINTS];
    uint32_t best[VFRONT_KEYPOINTS]; /* [key point of camera 0]: its best match in camera 1, packed as in `back` */
    /* [key point of camera 0]: ZSAD of its patch [1/16 grey level, times 121]; VF_NONE: no depth */
    uint32_t cost[VFRONT_KEYPOINTS];
    vfront_depth_t candidate[VFRONT_KEYPOINTS]; /* [key point of camera 0]: its depth, if it has a cost */
    vfront_depth_t depth[VFRONT_KEYPOINTS];     /* out: list of the depths that pass the outlier test */
    float range_m[2][VFRONT_KEYPOINTS];         /* [parity]: range of each key point of camera 0 [m]; 0: no depth */
    float range_sigma_m[2][VFRONT_KEYPOINTS];   /* [parity]: standard deviation of range_m [m] */
    uint32_t matched[2][VFRONT_KEYPOINTS];      /* [parity]: 1 if the key point's range is from a match */
    /* [parity]: grid of expected depths, row-major. A frame uses its own grid and clears the other. */
    struct vf_expect_cell expected[2][VF_EXPECT_SIDE * VF_EXPECT_SIDE];
    struct vf_pair_distance distance[VFRONT_KEYPOINTS]; /* [key point of camera 0]: distance of its match */
    struct vf_line_match location[VFRONT_KEYPOINTS];    /* position in camera 1 of each match with a cost */
    uint32_t count;                                     /* number of depths in `depth` */
    struct vf_pair_health pair[2];                      /* out, [parity]: state of the camera pair */
};
#else
struct vf_stereo_memory {
    uint64_t nothing;
};
#endif
struct vf_stereo_scratch;

/* What stereo reads: lists from which base/view.h makes the members of its view. */
/* clang-format off */
#define VF_READS_stereo(X) X(ingest) X(freeze) X(predict) X(rectify) X(scale) X(bearing) X(describe)
#define VF_BEFORE_stereo(X) X(epipolar) X(ego)
#define VF_GEOMETRY_stereo(X) X(scale) X(inverse_q19) X(focal_px) X(nodes_x) X(pair) X(active)
#define VF_TUNING_stereo(X) \
    X(stereo) X(stereo_band_px) X(stereo_distance) X(stereo_levels) X(stereo_disparity_px) X(stereo_apart_mpx) \
    X(stereo_cut_percent) X(match_ratio_percent) X(match_turn_deg) X(rig_centre_mpx) X(rig_disparity_mpx) \
    X(rig_offset) X(select_points)
/* clang-format on */
VF_GEOMETRY_OF(stereo);
VF_TUNING_OF(stereo);
struct vf_stereo_view {
    VF_VIEW(stereo);
    struct vf_stereo_tuning tuning;
    struct vf_pictures pictures;
    struct vf_stereo_scratch *scratch; /* data passed from one kernel of stereo to the next */
};
VF_HOST_FORM(stereo);

/** Number of depths in stereo's list; 0 if stereo is off. active: bits of the active stages. */
VF_FN uint32_t vf_stereo_count(const struct vf_stereo_memory *m, uint32_t active)
{
#if VFRONT_STEREO
    if (active & VF_BIT(stereo)) return m->count;
#endif
    (void)m, (void)active;
    return 0;
}

/** State of the camera pair in the frame of a parity; VFRONT_STEREO_NONE if stereo is off. active: bits of the active
 *  stages. */
VF_FN struct vf_pair_health vf_stereo_pair(const struct vf_stereo_memory *m, uint32_t active, int32_t parity)
{
#if VFRONT_STEREO
    if (active & VF_BIT(stereo)) return m->pair[parity];
#endif
    (void)m, (void)active, (void)parity;
    return vf_pair_none();
}

/** Range of a key point of camera 0 and its standard deviation [m]; 0: unknown. */
struct vf_range_estimate {
    float m, sigma_m;
};

/** Range of a key point of camera 0 in the frame of a parity. */
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
/** Clears every `step`-th entry from `first` on in `back` and `expected`, the best matches of camera 1's points and the
 *  grid of expected depths. parity: the set that is cleared. */
VF_FN void vf_stereo_clear(struct vf_stereo_memory *m, int32_t parity, int32_t first, int32_t step)
{
    const struct vf_expect_cell none = {0, 0, 0};
    for (int32_t i = first; i < VFRONT_KEYPOINTS; i += step) m->back[parity][i] = VF_NONE;
    for (int32_t i = first; i < VF_EXPECT_SIDE * VF_EXPECT_SIDE; i += step) m->expected[parity][i] = none;
}

#define VF_STEREO_HALF 5                        /* pixels of a patch on either side of its centre */
#define VF_STEREO_SIDE (2 * VF_STEREO_HALF + 1) /* side of a patch [px] */
#define VF_STEREO_REACH 5 /* largest shift of the search along the epipolar line [px of the point's level] */
#define VF_STEREO_POSITIONS (2 * VF_STEREO_REACH + 1) /* number of positions of the search */

#define VF_STEREO_STEPS 2       /* number of Gauss-Newton steps along the line on level 0 */
#define VF_STEREO_STEPS_PX 1.5f /* largest total motion of a match by Gauss-Newton steps on level 0 [px] */

/** Least disparity from which a depth is computed [1/1000 px at the image centre]. A smaller disparity is about as
 *  large as its error. */
#define VF_STEREO_LEAST_MPX 250.0f

/** Least standard deviation of a disparity on level 0 [px]. On other levels it is multiplied by the root of the pixel
 *  size. */
#define VF_STEREO_SIGMA_PX 0.1f
/** Factor of the standard deviation that a patch gives for its disparity, vf_stereo_fit_px(). The errors of
 *  neighbouring pixels are correlated, which that value ignores. */
#define VF_STEREO_FIT 4.0f

/* ---- search ------------------------------------------------------------------------------------------------------ */

/** Epipolar plane of a point of camera 0, in axes of camera 1: three orthonormal vectors. */
struct vf_epipolar_plane {
    float infinity[3]; /* bearing that the point would have at infinite depth */
    /* unit vector in the plane, normal to `infinity`: direction in which the bearing moves as depth decreases */
    float nearer[3];
    float normal[3]; /* unit normal of the plane; 0 if the point lies on the baseline */
};
VF_FN struct vf_epipolar_plane vf_stereo_epipolar(const struct vf_pair *pair, const float bearing[3])
{
    struct vf_epipolar_plane e;
    for (int k = 0; k < 3; k++) e.infinity[k] = vf_dot(pair->R + 3 * k, bearing);
    vf_cross(e.infinity, pair->epipole, e.normal);
    vf_unit(e.normal);
    vf_cross(e.normal, e.infinity, e.nearer);
    return e;
}

/** Bounds of the search for a match in camera 1. Distances are tangents: pixels over the focal length of camera 1. */
struct vf_stereo_bounds {
    float band;        /* largest distance of a match from the epipolar line, for level 0 */
    float least, most; /* bounds of the disparity, for level 0 */
    float turn_rad;    /* largest difference between the orientations of the two key points [rad] */
    int32_t levels;    /* largest difference between the levels of the two key points */
    uint32_t distance; /* largest Hamming distance of the descriptors */
};
VF_FN struct vf_stereo_bounds vf_stereo_make_bounds(const struct vf_stereo_view *s)
{
    const struct vf_stereo_tuning *t = &s->tuning;
    struct vf_stereo_bounds b;
    b.band = (float)t->stereo_band_px / s->geometry.focal_px[1];
    b.least = -b.band; /* below 0, because key points on coarse levels are imprecise */
    b.most = (float)t->stereo_disparity_px / s->geometry.focal_px[1];
    b.turn_rad = (float)t->match_turn_deg * 0.01745329252f;
    b.levels = t->stereo_levels;
    b.distance = (uint32_t)t->stereo_distance;
    return b;
}

/** Candidate test: 1 if point b of camera 1 is within bounds for point a of camera 0 in position and orientation. Level
 *  and descriptor are tested elsewhere. No branches, so that a loop over points is vectorised. */
VF_FN int vf_stereo_candidate(const struct vf_stereo_bounds *bounds, const struct vf_epipolar_plane *e, float step_a,
                              float angle_a, const float bearing[3], float step_b, float angle_b)
{
    const float step = step_a > step_b ? step_a : step_b, band = bounds->band * step, off = vf_dot(e->normal, bearing);
    const float forward = vf_dot(e->infinity, bearing), along = vf_dot(e->nearer, bearing);
    return (forward > 0.0f) & (off <= band) & (-off <= band) & (along >= bounds->least * step * forward) &
           (along <= bounds->most * forward) & (vf_angle_difference(angle_a, angle_b) <= bounds->turn_rad);
}

/** Range of indices of points of camera 1: first .. end - 1. */
struct vf_candidate_range {
    uint32_t first, end;
};
/** Points of camera 1 on levels where a point of camera 0 on level `level` may have its match. first: index of the
 *  first point of each level of camera 1. */
VF_FN struct vf_candidate_range vf_stereo_candidates(const struct vf_stereo_bounds *bounds,
                                                     const uint32_t first[VFRONT_SCALES + 1], int32_t level)
{
    struct vf_candidate_range range;
    range.first = first[vf_max(level - bounds->levels, 0)];
    range.end = first[vf_min(level + bounds->levels + 1, VFRONT_SCALES)];
    return range;
}

/* ---- calibration offsets ---------------------------------------------------------------------------------------- */

/** Calibration offsets of camera 1, estimated up to the previous frame [px]. */
struct vf_stereo_offsets {
    /* shift of the epipolar lines across themselves, positive to the left of their direction towards smaller depths */
    float epipolar;
    float disparity; /* offset along the epipolar lines, which is subtracted from disparities */
};

/** Calibration offsets that are corrected in this frame. epipolar, disparity: running estimates of the stages epipolar
 *  and ego after the previous frame. */
VF_FN struct vf_stereo_offsets vf_stereo_offsets_of(const struct vf_stereo_view *s, struct vf_rig_estimate epipolar,
                                                    struct vf_rig_estimate disparity)
{
    const int correct = s->tuning.rig_offset && s->ingest->params.frame != 0;
    struct vf_stereo_offsets o;
    o.epipolar = vf_rig_correction(&epipolar, correct);
    o.disparity = vf_rig_correction(&disparity, correct);
    return o;
}

/* ---- sub-pixel position ------------------------------------------------------------------------------------------ */

/** Position in camera 1 [1/65536 px of level 0]. */
struct vf_stereo_position {
    int32_t x_q16, y_q16;
};

/** Epipolar line of a point in camera 1, linearised near its match. */
struct vf_epipolar_line {
    struct vf_stereo_position start; /* start of the search: position of the match, projected onto the line */
    float direction_x, direction_y;  /* unit vector along the line, towards smaller depths */
    /* change of the bearing's component along vf_epipolar_plane.nearer by a shift along the line [1/px] */
    float slope;
};

struct vf_stereo_scratch {
    struct vf_epipolar_line line[VFRONT_KEYPOINTS];
    /* largest distance of the match from line.start [px]; 0: unbounded (line through a match); below 0: the point has
     * no line */
    float half_px[VFRONT_KEYPOINTS];
    struct vf_stereo_position position[VFRONT_KEYPOINTS]; /* position found by the search along the line */
    float fit_px[VFRONT_KEYPOINTS];
};

/** Linearises the epipolar line around a position `from` of camera 1. here, to_right, below: bearings of camera 1 at
 *  `from`, one pixel to the right and one pixel below. Returns 0 outside the field of view, where bearings are zero. */
VF_FN int vf_stereo_line(const struct vf_epipolar_plane *e, struct vf_stereo_position from, const float here[3],
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
    const float limit = 1024.0f; /* largest shift onto the line [px]: keeps fixed-point positions in range */
    if (!(moved_x < limit && moved_x > -limit && moved_y < limit && moved_y > -limit)) return 0;
    line->direction_x = slope < 0.0f ? -ex : ex;
    line->direction_y = slope < 0.0f ? -ey : ey;
    line->slope = slope < 0.0f ? -slope : slope;
    line->start.x_q16 = from.x_q16 + vf_round(moved_x * 65536.0f);
    line->start.y_q16 = from.y_q16 + vf_round(moved_y * 65536.0f);
    return 1;
}

/** Position shifted across the epipolar line by shift_px [px of level 0], positive to the left of the line's
 *  direction. */
VF_FN struct vf_stereo_position vf_stereo_move_across(const struct vf_epipolar_line *line,
                                                      struct vf_stereo_position position, float shift_px)
{
    position.x_q16 += vf_round(shift_px * line->direction_y * 65536.0f);
    position.y_q16 -= vf_round(shift_px * line->direction_x * 65536.0f);
    return position;
}

/** Position shifted along the epipolar line by shift_px [px of level 0], positive towards smaller depths. */
VF_FN struct vf_stereo_position vf_stereo_move(const struct vf_epipolar_line *line, struct vf_stereo_position position,
                                               float shift_px)
{
    position.x_q16 += vf_round(shift_px * line->direction_x * 65536.0f);
    position.y_q16 += vf_round(shift_px * line->direction_y * 65536.0f);
    return position;
}

/** Centre of a patch on a pyramid level [1/256 px of the level]. */
struct vf_patch_centre {
    int32_t u, v;
};
/** Converts a coordinate of level 0 [1/65536 px] to a coordinate of another level [1/256 px of it]. inverse_q19: 2^19 /
 *  pixel size of that level. */
VF_FN int32_t vf_stereo_level_q8(int32_t x_q16, uint32_t inverse_q19)
{
    return ((int32_t)(((int64_t)x_q16 + 0x8000) * (int64_t)inverse_q19 >> 19) - 0x8000 + 128) >> 8;
}
/** Centre of a patch on pyramid level `level`, from its position on level 0. */
VF_FN struct vf_patch_centre vf_stereo_patch_centre(const struct vf_stereo_view *s, struct vf_stereo_position position,
                                                    int32_t level)
{
    struct vf_patch_centre c;
    c.u = vf_stereo_level_q8(position.x_q16, s->geometry.inverse_q19[level]);
    c.v = vf_stereo_level_q8(position.y_q16, s->geometry.inverse_q19[level]);
    return c;
}

/** Centre of a patch shifted along the epipolar line by `shift` pixels of its level. */
VF_FN struct vf_patch_centre vf_stereo_move_patch(const struct vf_epipolar_line *line, struct vf_patch_centre c,
                                                  int32_t shift)
{
    c.u += vf_round((float)shift * line->direction_x * 256.0f);
    c.v += vf_round((float)shift * line->direction_y * 256.0f);
    return c;
}

/** 1 if a patch, with one more pixel to the right and below for interpolation, lies inside a level. */
VF_FN int vf_stereo_patch_inside(const struct vf_level *l, struct vf_patch_centre c)
{
    const int32_t u = c.u >> 8, v = c.v >> 8;
    return u >= VF_STEREO_HALF && v >= VF_STEREO_HALF && u + VF_STEREO_HALF + 1 < l->width &&
           v + VF_STEREO_HALF + 1 < l->height;
}

/** Linear interpolation between a (f = 0) and b (f = 256), times 256. */
VF_FN int32_t vf_stereo_between(int32_t a, int32_t b, int32_t f) { return a * (256 - f) + b * f; }

/** Interpolated grey level [1/16]. upper, lower: values of two rows, each interpolated along its row [1/256 grey
 *  level]; fv: fraction between the rows [1/256 px]. */
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

/** Term of one pixel in the zero-mean sum of absolute differences (ZSAD) of two patches: |(a - mean a) - (b - mean b)|
 *  [1/16 grey level], times the number of pixels. sum_a, sum_b: sums over the patches. */
VF_FN uint32_t vf_stereo_absolute_difference(int32_t a, int32_t sum_a, int32_t b, int32_t sum_b)
{
    return (uint32_t)vf_abs(VF_STEREO_SIDE * VF_STEREO_SIDE * (a - b) - (sum_a - sum_b));
}

/** Subpixel minimum of the cost: vertex of a V with equal slopes through three neighbouring positions, -1/2 .. 1/2.
 *  Requires least <= before and least < after. */
VF_FN float vf_stereo_subpixel(uint32_t before, uint32_t least, uint32_t after)
{
    const float b = (float)(before - least), a = (float)(after - least);
    return (b - a) / (2.0f * (b > a ? b : a));
}

/** Sums for the Gauss-Newton step along the epipolar line, over a patch or half a patch. Sums over 121 pixels fit 32
 *  bits, products of two sums need 64. */
struct vf_stereo_sums {
    int32_t n;  /* number of pixels */
    int32_t g;  /* sum of gradients along the line in camera 0 [1/8 grey level per px] */
    int32_t d;  /* sum of differences camera 1 - camera 0 [1/16 grey level] */
    int32_t gg, /* sum of squared gradients */
        gd;     /* sum of products gradient times difference */
};
/** Gradient along the epipolar line, a central difference over 2 px [1/8 grey level per px]. ahead, behind: grey levels
 *  one pixel further and one pixel back along the line [1/16]. */
VF_FN int32_t vf_stereo_gradient(int32_t ahead, int32_t behind) { return (ahead - behind + 2) >> 2; }

/** Adds a pixel to the sums of a Gauss-Newton step. ahead, behind: grey levels of camera 0 one pixel further and one
 *  back along the line [1/16]; d: difference camera 1 - camera 0 [1/16 grey level]. */
VF_FN void vf_stereo_accumulate(struct vf_stereo_sums *sum, int32_t ahead, int32_t behind, int32_t d)
{
    const int32_t g = vf_stereo_gradient(ahead, behind);
    sum->n++;
    sum->g += g;
    sum->d += d;
    sum->gg += g * g;
    sum->gd += g * d;
}

/** Gauss-Newton step along the epipolar line [px], independent of a difference between the means of the patches; 0
 *  without gradient. */
VF_FN float vf_stereo_gauss_newton(const struct vf_stereo_sums *sum)
{
    const int64_t gg = (int64_t)sum->n * sum->gg - (int64_t)sum->g * sum->g,
                  gd = (int64_t)sum->n * sum->gd - (int64_t)sum->g * sum->d;
    return gg > 0 ? -0.5f * (float)gd / (float)gg : 0.0f;
}

/** 1 if a patch is halved into left and right columns, 0 if into upper and lower rows: whichever splits it along the
 *  epipolar line. */
VF_FN int vf_stereo_halves_are_columns(const struct vf_epipolar_line *line)
{
    return fabsf(line->direction_x) >= fabsf(line->direction_y);
}

/** Half of a patch to which pixel k (row by row) belongs: 0 or 1; 2: neither, because it is in the middle column or
 *  row. */
VF_FN int vf_stereo_patch_half(const struct vf_epipolar_line *line, int32_t k)
{
    const int across = vf_stereo_halves_are_columns(line);
    const int32_t off = across ? k % VF_STEREO_SIDE - VF_STEREO_HALF : k / VF_STEREO_SIDE - VF_STEREO_HALF;
    return off < 0 ? 0 : off > 0 ? 1 : 2;
}

/** Consistency of the two halves of a patch: 1 if their Gauss-Newton steps differ by at most stereo_apart_mpx. */
VF_FN int vf_stereo_halves_agree(const struct vf_stereo_tuning *t, const struct vf_stereo_sums half[2])
{
    return !t->stereo_apart_mpx ||
           fabsf(vf_stereo_gauss_newton(&half[0]) - vf_stereo_gauss_newton(&half[1])) * 1000.0f <=
               (float)t->stereo_apart_mpx;
}

/** Standard deviation of a disparity as its patch gives it [px], at most VF_STEREO_STEPS_PX: grey-level noise over the
 *  root of the summed squared gradients. cost: ZSAD of the patch; half: sums of its two halves. */
VF_FN float vf_stereo_fit_px(uint32_t cost, const struct vf_stereo_sums half[2])
{
    /* standard deviation of the grey-level differences [grey levels]: sqrt(pi / 2) times their mean absolute value */
    const float noise = 1.2533141f * (float)cost /
                        (float)(16 * VF_STEREO_SIDE * VF_STEREO_SIDE * VF_STEREO_SIDE * VF_STEREO_SIDE);
    /* sum of the squared deviations of the gradients from their mean [1/64 grey level^2 per px^2] */
    float square = 0.0f;
    for (int h = 0; h < 2; h++) {
        const int64_t scatter = (int64_t)half[h].n * half[h].gg - (int64_t)half[h].g * half[h].g;
        square += half[h].n > 0 ? (float)scatter / (float)half[h].n : 0.0f;
    }
    const float sigma = 8.0f * noise / sqrtf(square > 1.0f ? square : 1.0f);
    return sigma < VF_STEREO_STEPS_PX ? sigma : VF_STEREO_STEPS_PX;
}

/** Standard deviation of the disparity of a point of camera 0 [px]. Three variances are added: a least one, that of its
 *  patch (fit_px), and that of a calibration error (rig_disparity_mpx). step: pixel size of the point's level [px]. */
VF_FN float vf_stereo_sigma_px(const struct vf_stereo_tuning *t, float step, float fit_px)
{
    const float least = VF_STEREO_SIGMA_PX, fit = VF_STEREO_FIT * fit_px * step,
                rig = (float)t->rig_disparity_mpx * 0.001f;
    return sqrtf(least * least * step + fit * fit + rig * rig);
}

/** Triangulates point a of camera 0 with a position of camera 1. out: depth and its standard deviation [m]; node: grid
 *  of bearings of camera 1; offset_px: subtracted from the disparity; fit_px: standard deviation of the disparity from
 *  the patch. Returns 0 if the disparity is too small. */
VF_FN int vf_stereo_depth(const struct vf_stereo_view *s, const struct vf_node *node, const struct vf_epipolar_plane *e,
                          const struct vf_point *a, const struct vf_epipolar_line *line, float offset_px,
                          struct vf_stereo_position position, float fit_px, vfront_depth_t *out)
{
    const struct vf_pair *pair = &s->geometry.pair;
    float bearing[3];
    vf_bearing_at(node, s->geometry.nodes_x[1], position.x_q16, position.y_q16, bearing);
    const float forward = vf_dot(e->infinity, bearing);
    const float along = vf_dot(e->nearer, bearing) - offset_px * (line->slope / (forward * forward));
    if (!(forward > 0.0f) || !(along * s->geometry.focal_px[1] * 1000.0f >= VF_STEREO_LEAST_MPX * forward)) return 0;
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

/* ---- state of the camera pair ------------------------------------------------------------------------------------ */

/** Distance of a match from its epipolar line. here, to_right, below: bearings of camera 1 at the match, one pixel to
 *  the right and one below; x_q16, y_q16: its position; step: pixel size of the coarser level [px]. */
VF_FN struct vf_pair_distance vf_stereo_distance(const struct vf_stereo_view *s, const struct vf_epipolar_plane *e,
                                                 const float here[3], const float to_right[3], const float below[3],
                                                 int32_t x_q16, int32_t y_q16, float step)
{
    const struct vf_level *l = &s->geometry.scale[1][0];
    const float half = 32768.0f, half_q16 = (float)l->width * half, middle_q16 = (float)l->height * half;
    float right[3], down[3];
    for (int k = 0; k < 3; k++) {
        right[k] = to_right[k] - here[k];
        down[k] = below[k] - here[k];
    }
    const float gx = vf_dot(e->normal, right), gy = vf_dot(e->normal, down), off = vf_dot(e->normal, here);
    const float disparity_px = vf_dot(e->nearer, here) / vf_dot(e->infinity, here) * s->geometry.focal_px[1];
    return vf_pair_distance_of(off / (sqrtf(gx * gx + gy * gy) * step), step, (float)x_q16 / half_q16 - 1.0f,
                               ((float)y_q16 - middle_q16) / half_q16, disparity_px < -VF_PAIR_BEHIND_PX * step);
}

/** Least sine of the angle between the baseline and camera 1's axis for vf_stereo_late(). */
#define VF_STEREO_LATE_SIDE 0.5f

/** Offset of matches if camera 1 has the picture of the frame before, by the rotation since then, to first order in the
 *  position: too small by a third at the edge of a fisheye lens. late_px: out, as in struct vf_pair_normal; 0: the
 *  rotation is unknown, or the baseline points ahead. */
VF_FN void vf_stereo_late(const struct vf_stereo_view *s, float late_px[VF_PAIR_UNKNOWNS])
{
    const struct vf_params *p = &s->ingest->params;
    const float *e = s->geometry.pair.epipole, side = sqrtf(e[0] * e[0] + e[1] * e[1]),
                scale = side < VF_STEREO_LATE_SIDE ? 0.0f : (float)p->dt_ns * 1e-9f / side,
                half_px = 0.5f * (float)s->geometry.scale[1][0].width;
    float w[3];
    vf_transform(s->geometry.pair.R, p->rate_radps, w);
    late_px[0] = scale * s->geometry.focal_px[1] * (e[0] * w[0] + e[1] * w[1]);
    late_px[1] = -scale * half_px * (e[0] * w[2] + e[2] * w[0]);
    late_px[2] = -scale * half_px * (e[1] * w[2] + e[2] * w[1]);
}

/** State of the camera pair in this frame, from the sums over its matches. */
VF_FN struct vf_pair_health vf_stereo_assess(const struct vf_stereo_view *s, const struct vf_pair_sums *sum)
{
    const float band_px = vf_rig_clamp((float)s->tuning.stereo_band_px, VF_PAIR_UNIT),
                centre_px = (float)s->tuning.rig_centre_mpx / 1000.0f;
    struct vf_pair_tuning t = {band_px * band_px * VF_PAIR_UNIFORM, centre_px * centre_px, {0.0f}};
    const struct vf_pair_health none = vf_pair_none();
    vf_stereo_late(s, t.late_px);
    return vf_pair_assess(sum, s->bearing->count[s->parity],
                          s->freeze->frames[s->parity][0] || s->freeze->frames[s->parity][1], &t,
                          s->ingest->params.frame ? &s->stereo->pair[s->parity ^ 1] : &none);
}

/** Stores the range of key point i of camera 0. depth: its depth, or NULL. A bearing with z <= 0.01, beside or behind
 *  the camera, gets no range. */
VF_FN void vf_stereo_store_range(struct vf_stereo_memory *m, int32_t parity, uint32_t i, const float bearing[3],
                                 const vfront_depth_t *depth)
{
    const int valid = depth && bearing[2] > 0.01f;
    m->range_m[parity][i] = valid ? depth->depth_m / bearing[2] : 0.0f;
    m->range_sigma_m[parity][i] = valid ? depth->sigma_m / bearing[2] : 0.0f;
    m->matched[parity][i] = (uint32_t)(valid && depth->match != VFRONT_NO_MATCH);
}

/** Outlier test of a depth: 1 if the ZSAD `cost` of its patch exceeds stereo_cut_percent of the median. 0 if
 *  stereo_cut_percent is 0. */
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
