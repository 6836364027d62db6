/* SPDX-License-Identifier: MIT */
/* Oracle of the stereo stage: rigs, points, and images of textured planes drawn exactly for both cameras. Search for
 * matches over every pair of points in double precision, with the epipolar plane from the essential matrix. Checks that
 * hold for every result. Uses no arithmetic of the library except its lens model (lens.h), which has its own test. */
#ifndef STEREO_ORACLE_H
#define STEREO_ORACLE_H

#include "tests/fixture/rigid.h"

#if VFRONT_STEREO

/** Rotation matrix of an angle [rad] about an axis (Rodrigues). */
static inline void rotation_about(double x, double y, double z, double angle, double R[9])
{
    const double n = sqrt(x * x + y * y + z * z), k[3] = {x / n, y / n, z / n}, c = cos(angle), s = sin(angle);
    const double skew[9] = {0, -k[2], k[1], k[2], 0, -k[0], -k[1], k[0], 0};
    for (int i = 0; i < 9; i++) R[i] = (i % 4 == 0 ? c : 0.0) + s * skew[i] + (1.0 - c) * k[i / 3] * k[i % 3];
}

/* ---- rigs -------------------------------------------------------------------------------------------------------- */

enum kind { RECTIFIED, TOED_IN, ROLLED, VERTICAL, FISHEYE, BARREL, FORWARD, RIGS };
static const char *const rig_name[RIGS] = {"rectified", "toed in", "rolled", "vertical",
                                           "fisheye",   "barrel",  "forward"};

/** Rig of two cameras: p1 = R p0 + t. */
static struct {
    vfront_camera_t camera[2];
    struct vf_lens lens[2];
    double R[9], t[3];
} rig;

static inline void set_camera(int32_t i, vfront_lens_t lens, int32_t width, int32_t height, double focal_px)
{
    vfront_camera_t *c = &rig.camera[i];
    memset(c, 0, sizeof *c);
    c->width_px = width;
    c->height_px = height;
    c->fx_px = c->fy_px = focal_px;
    c->cx_px = (width - 1) / 2.0;
    c->cy_px = (height - 1) / 2.0;
    c->lens = lens;
}

/** Sets the extrinsics: rotation of camera 1 by an angle about an axis, and its centre in axes of camera 0. */
static inline void location(const double axis[3], double angle, const double centre[3])
{
    rotation_about(axis[0], axis[1], axis[2], angle, rig.R);
    rotate(rig.R, centre, rig.t);
    for (int k = 0; k < 3; k++) rig.t[k] = -rig.t[k];
}

/** Derives lenses and the geometry of the step from the cameras and extrinsics of the rig. */
static inline void finish_rig(void)
{
    struct vf_pair *pair = &step.geometry.pair;
    set_up(2, rig.camera[0].width_px, rig.camera[0].height_px, roll(2));
    lay_out_levels(1, rig.camera[1].width_px, rig.camera[1].height_px, 0);
    step.tuning.describe = step.tuning.stereo = 1;
    for (int32_t i = 0; i < 2; i++) {
        const int32_t across = step.geometry.nodes_x[i], down = (int32_t)ceil(rig.camera[i].height_px / 8.0) + 5;
        vf_lens_make(&rig.lens[i], &rig.camera[i]);
        step.geometry.calibrated[i] = 1;
        step.geometry.focal_px[i] = (float)((rig.camera[i].fx_px + rig.camera[i].fy_px) / 2.0);
        for (int32_t j = 0; j < down; j++) vf_grid_row(memory.bearing.node[i] + j * across, across, &rig.lens[i], j);
    }
    pair->placed = 1;
    pair->baseline_m = (float)length(rig.t);
    for (int k = 0; k < 9; k++) pair->R[k] = (float)rig.R[k];
    for (int k = 0; k < 3; k++) pair->epipole[k] = (float)(rig.t[k] / length(rig.t));
}

/** Makes a random rig of a kind. Returns 0 if the config is too small for it. */
static inline int set_up_rig(enum kind kind)
{
    static const double y_axis[3] = {0, 1, 0}, z_axis[3] = {0, 0, 1};
    const vfront_lens_t lens = kind == FISHEYE ? VFRONT_LENS_EQUIDISTANT : VFRONT_LENS_RADTAN;
    const int32_t width = between(300, 400), height = between(220, 260);
    const double b = real(0.05, 0.4), focal = kind == FISHEYE ? real(110, 150) : real(190, 330);
    if (!fits(400, 280, 0)) return 0;
    set_camera(0, lens, width, height, focal);
    set_camera(1, lens, kind == RECTIFIED ? width : width - roll(20), kind == RECTIFIED ? height : height + roll(20),
               kind == RECTIFIED ? focal : focal * real(0.9, 1.1));
    for (int i = 0; i < 2 && kind == BARREL; i++)
        memcpy(rig.camera[i].distortion, (double[8]){-0.2834, 0.0739, 2e-4, 2e-5}, 64);
    for (int i = 0; i < 2 && kind == FISHEYE; i++)
        memcpy(rig.camera[i].distortion, (double[8]){0.003, 0.0007, -0.002, 0.0002}, 64);
    for (int i = 0; i < 2 && kind == BARREL; i++) rig.camera[i].fx_px = rig.camera[i].fy_px = width * real(0.58, 0.65);
    const double any[3] = {real(-1, 1), real(-1, 1), real(-1, 1)}, side[3] = {b, 0, 0}, up[3] = {0.02 * b, b, 0.05 * b};
    const double about[3] = {b, 0.1 * b * real(-1, 1), 0.1 * b * real(-1, 1)}, ahead[3] = {0.05 * b, 0.03 * b, b};
    if (kind == RECTIFIED) location(y_axis, 0.0, side);
    if (kind == TOED_IN) location(y_axis, real(-0.12, 0.12), about);
    if (kind == ROLLED) location(z_axis, real(-3, 3), about);
    if (kind == VERTICAL) location(any, real(-0.05, 0.05), up);
    if (kind == FISHEYE || kind == BARREL) location(any, real(-0.1, 0.1), about);
    if (kind == FORWARD) location(any, real(-0.03, 0.03), ahead);
    finish_rig();
    return 1;
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

#define POINTS (VFRONT_KEYPOINTS < 240 ? VFRONT_KEYPOINTS : 240)

/** Exact position of a point on level 0 [px], size of the pixel of its level [px of level 0], and bearing by the lens
 *  model. */
struct true_point {
    double x, y, size, bearing[3];
};
static struct true_point true_point[2][POINTS];

static inline struct vf_point *points(int32_t camera) { return memory.bearing.point[step.parity][camera]; }
static inline uint32_t *count_of(int32_t camera) { return &memory.bearing.count[step.parity][camera]; }
static inline vfront_descriptor_t *bits_of(int32_t camera) { return memory.describe.descriptor[step.parity][camera]; }
static inline float *angle_of(int32_t camera) { return memory.describe.angle[step.parity][camera]; }

static inline double size_of(int32_t level) { return step.geometry.step_q16[level] / 65536.0; }
static inline double centre_of(int32_t u, int32_t level)
{
    return floor(((u + 0.5) * size_of(level) - 0.5) * 65536.0) / 65536.0;
}

/** Puts point i of a camera on the pixel of a level nearest to a position. Returns 0 if that is less than `margin` px
 *  inside the level. */
static inline int put_point(int32_t camera, uint32_t i, int32_t level, double x, double y, int32_t margin)
{
    const struct vf_level *l = &step.geometry.scale[camera][level];
    const int32_t u = (int32_t)floor((x + 0.5) / size_of(level)), v = (int32_t)floor((y + 0.5) / size_of(level));
    struct true_point *k = &true_point[camera][i];
    if (u < margin || v < margin || u >= l->width - margin || v >= l->height - margin) return 0;
    k->x = centre_of(u, level);
    k->y = centre_of(v, level);
    k->size = size_of(level);
    const double px[2] = {k->x, k->y};
    if (!vf_lens_bearing(&rig.lens[camera], px, k->bearing)) return 0;
    struct vf_point p = {{(float)k->bearing[0], (float)k->bearing[1], (float)k->bearing[2]},
                         (int32_t)(k->x * 65536.0),
                         (int32_t)(k->y * 65536.0),
                         (int16_t)u,
                         (int16_t)v,
                         level,
                         (float)k->size};
    points(camera)[i] = p;
    return 1;
}

static inline void put_anywhere(int32_t camera, uint32_t i, int32_t level)
{
    while (!put_point(camera, i, level, real(0, rig.camera[camera].width_px), real(0, rig.camera[camera].height_px), 0))
        continue;
}

/** Random levels of `count` points in rising order, as from the previous stages. */
static inline const int32_t *rising_levels(uint32_t count)
{
    static int32_t level[POINTS];
    uint32_t of[VFRONT_SCALES] = {0}, n = 0;
    for (uint32_t i = 0; i < count; i++) of[roll(step.geometry.scales)]++;
    for (int32_t l = 0; l < VFRONT_SCALES; l++)
        for (; of[l] > 0; of[l]--) level[n++] = l;
    return level;
}

/** Stores the index of the first point of each level. */
static inline void begin_levels(void)
{
    for (int32_t c = 0; c < 2; c++)
        for (int32_t level = 0; level <= VFRONT_SCALES; level++) {
            uint32_t before = 0;
            for (uint32_t i = 0; i < *count_of(c); i++) before += points(c)[i].level < level;
            memory.bearing.first[step.parity][c][level] = before;
        }
}

/** Projects the point at `range` along a ray of camera 0 into camera 1 [px]. Returns 0 if it is outside the lens
 *  model. */
static inline int project_to_camera1(const double bearing[3], double range, double px[2])
{
    double p[3];
    rotate(rig.R, bearing, p);
    for (int k = 0; k < 3; k++) p[k] = p[k] * range + rig.t[k];
    return vf_lens_project(&rig.lens[1], p, px);
}

/* ---- search of the oracle ---------------------------------------------------------------------------------------- */

/** off: distance of the second ray from the epipolar plane of the first, by the essential matrix. angle: within that
 *  plane, from the direction of the first ray at infinity to the second ray, positive towards the epipole. */
struct epipolar_angles {
    double off, angle;
};
static inline struct epipolar_angles epipolar_angles_of(const double first[3], const double second[3])
{
    double far[3], normal[3], within[3], side[3];
    rotate(rig.R, first, far);
    cross(rig.t, far, normal); /* E first, with E = [t]x R */
    const double n = length(normal);
    for (int k = 0; k < 3; k++) normal[k] /= n;
    struct epipolar_angles g = {dot(normal, second), 0.0};
    for (int k = 0; k < 3; k++) within[k] = second[k] - g.off * normal[k];
    cross(within, far, side);
    g.angle = atan2(dot(side, normal), dot(within, far));
    return g;
}

static int near_bound; /* set if a value is too close to its bound for single precision */

static inline int is_at_most(double value, double bound, double margin)
{
    near_bound |= fabs(value - bound) < margin;
    return value <= bound;
}

/** Candidate test: 1 if point j of camera 1 is within all bounds for point i, except the descriptor. Lengths in px at
 *  the focal length of camera 1. */
static inline int is_candidate(uint32_t i, uint32_t j)
{
    const vfront_tuning_t *t = &step.tuning;
    const struct true_point *a = &true_point[0][i], *b = &true_point[1][j];
    const struct epipolar_angles g = epipolar_angles_of(a->bearing, b->bearing);
    const double focal = (rig.camera[1].fx_px + rig.camera[1].fy_px) / 2.0, coarser = fmax(a->size, b->size);
    const double apart = fabs(remainder((double)angle_of(0)[i] - (double)angle_of(1)[j], 2.0 * acos(-1.0)));
    const int levels = abs(points(0)[i].level - points(1)[j].level) <= t->stereo_levels;
    if (!is_at_most(fabs(g.angle), acos(0.0), 1e-6)) return 0;
    const double disparity = focal * tan(g.angle), margin = 1e-4 + 1e-6 * fabs(disparity);
    const int band = is_at_most(fabs(g.off) * focal, t->stereo_band_px * coarser, 1e-4);
    const int near = is_at_most(disparity, t->stereo_disparity_px, margin),
              far = is_at_most(-disparity, t->stereo_band_px * coarser, margin);
    return is_at_most(apart, t->match_turn_deg * acos(-1.0) / 180.0, 1e-5) && band && near && far && levels;
}

static inline uint32_t hamming_distance(uint32_t i, uint32_t j)
{
    uint32_t differ = 0;
    for (int bit = 0; bit < 256; bit++)
        differ += (bits_of(0)[i].word[bit / 32] ^ bits_of(1)[j].word[bit / 32]) >> bit % 32 & 1;
    return differ;
}

/** Hamming distances of candidate pairs; more than 256: no candidate. */
static uint32_t hamming[POINTS][POINTS];

static inline int is_elsewhere(uint32_t j, uint32_t k)
{
    const struct true_point *a = &true_point[1][j], *b = &true_point[1][k];
    return fmax(fabs(a->x - b->x), fabs(a->y - b->y)) > 4.0 * fmax(a->size, b->size);
}

/** Best match of point i of camera 0 after the ratio test; -1: none. */
static inline int32_t best_match_of_left(uint32_t i)
{
    int32_t best = -1;
    uint32_t second = 256;
    for (uint32_t j = 0; j < *count_of(1); j++)
        if (hamming[i][j] <= (uint32_t)step.tuning.stereo_distance && (best < 0 || hamming[i][j] < hamming[i][best]))
            best = (int32_t)j;
    for (uint32_t j = 0; j < *count_of(1) && best >= 0; j++)
        if (is_elsewhere((uint32_t)best, j) && hamming[i][j] < second) second = hamming[i][j];
    if (best >= 0 && step.tuning.match_ratio_percent < 100 &&
        hamming[i][best] > second * step.tuning.match_ratio_percent / 100.0)
        best = -1;
    return best;
}

/** Best match of point j of camera 1 in camera 0; -1: none. */
static inline int32_t best_match_of_right(uint32_t j)
{
    int32_t best = -1;
    for (uint32_t i = 0; i < *count_of(0); i++)
        if (hamming[i][j] <= (uint32_t)step.tuning.stereo_distance && (best < 0 || hamming[i][j] < hamming[best][j]))
            best = (int32_t)i;
    return best;
}

/** Computes the table of pairs. A point of camera 1 near a bound is moved first. Returns the number of moved points. */
static inline int fill_pairs(void)
{
    int moved = 0;
    for (uint32_t j = 0; j < *count_of(1); j++) {
        near_bound = 0;
        for (uint32_t i = 0; i < *count_of(0); i++) hamming[i][j] = is_candidate(i, j) ? hamming_distance(i, j) : 1000;
        if (!near_bound) continue;
        moved++;
        angle_of(1)[j] = (float)real(-3.14159, 3.14159);
        put_anywhere(1, j, points(1)[j].level);
        j--;
    }
    return moved;
}

/* ---- checks of every result -------------------------------------------------------------------------------------- */

static inline int by_size(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/** Outlier test: 1 if the cost of a point exceeds stereo_cut_percent of the median of the matches, found by sorting. */
static inline int is_outlier(uint32_t i)
{
    static uint32_t cost[VFRONT_KEYPOINTS];
    uint32_t n = 0;
    for (uint32_t k = 0; k < *count_of(0); k++)
        if (memory.stereo.cost[k] != UINT32_MAX && memory.stereo.candidate[k].match != VFRONT_NO_MATCH)
            cost[n++] = memory.stereo.cost[k];
    qsort(cost, n, sizeof *cost, by_size);
    return step.tuning.stereo_cut_percent &&
           memory.stereo.cost[i] * 100.0 > (double)cost[n / 2] * step.tuning.stereo_cut_percent;
}

static inline void check_depth(const vfront_depth_t *d)
{
    const uint32_t i = d->keypoint, j = d->match;
    assert_true(i < *count_of(0) && j < *count_of(1) && d->reserved == 0);
    assert_int_equal(memory.stereo.best[i], (uint32_t)d->distance << 16 | j);
    assert_int_equal(memory.stereo.back[step.parity][j], (uint32_t)d->distance << 16 | i);
    assert_int_equal(d->distance, hamming_distance(i, j));
    REQUIRE(isfinite(d->depth_m) && isfinite(d->sigma_m) && d->sigma_m > 0.0f, "depth %g, sigma %g", (double)d->depth_m,
            (double)d->sigma_m);
    assert_true((d->depth_m > 0.0f) == (points(0)[i].bearing[2] > 0.0f));
    assert_true(d->x_px > 0.0f && d->x_px < (float)rig.camera[1].width_px && d->y_px > 0.0f &&
                d->y_px < (float)rig.camera[1].height_px);
}

static inline void run(void)
{
    memset(memory.stereo.back[step.parity], 0xff, sizeof memory.stereo.back[0]);
    begin_levels();
    RUN(stereo);
}

/** Checks the range of point i stored for the next frame: depth over z of the bearing; 0 without a depth, or if z of
 *  the bearing is too small. Copies it to `expected`. */
static inline void check_range(uint32_t i, const vfront_depth_t *depth)
{
    const struct vf_stereo_memory *is = &memory.stereo;
    const double z = (double)points(0)[i].bearing[2];
    const int has = depth && z > (double)0.01f;
    const double m = has ? (double)depth->depth_m / z : 0.0, sigma_m = has ? (double)depth->sigma_m / z : 0.0;
    const double is_m = (double)is->range_m[step.parity][i], is_sigma_m = (double)is->range_sigma_m[step.parity][i];
    REQUIRE(fabs(is_m - m) <= 1e-7 * fabs(m) && fabs(is_sigma_m - sigma_m) <= 1e-7 * sigma_m,
            "point %u: %g +- %g m, should be %g +- %g", i, is_m, is_sigma_m, m, sigma_m);
    expected.stereo.range_m[step.parity][i] = is->range_m[step.parity][i];
    REQUIRE(is->matched[step.parity][i] == (uint32_t)(has && depth->match != VFRONT_NO_MATCH), "point %u: %u", i,
            is->matched[step.parity][i]);
    expected.stereo.range_sigma_m[step.parity][i] = is->range_sigma_m[step.parity][i];
    expected.stereo.matched[step.parity][i] = is->matched[step.parity][i];
}

/** Checks the state of the pair against the matches, and copies it to `expected`. stereo.c tests its definition by
 *  hand. */
static inline void check_pair(const char *what)
{
    const struct vf_stereo_memory *is = &memory.stereo;
    const struct vf_pair_health *pair = &is->pair[step.parity];
    uint32_t matches = 0;
    double off = 0.0;
    for (uint32_t i = 0; i < *count_of(0); i++) {
        const uint32_t best = is->best[i], j = best & 0xffff;
        const int mutual = best != UINT32_MAX && is->back[step.parity][j] == ((best & 0xffff0000u) | i);
        if (!is->distance[i].scale) continue; /* also if the field of view ends next to the point */
        REQUIRE(mutual, "%s: point %u has a distance and no match", what, i);
        matches++;
        off += abs(is->distance[i].px);
    }
    REQUIRE(pair->permille == (*count_of(0) ? matches * 1000 / *count_of(0) : 0), "%s: %u permille", what,
            pair->permille);
    REQUIRE(fabs((double)pair->offset_px - (matches ? off / 32 / matches : 0)) < 1e-5, "%s: %g px", what,
            (double)pair->offset_px);
    memcpy(expected.stereo.distance, is->distance, *count_of(0) * sizeof *is->distance);
    expected.stereo.pair[step.parity] = *pair;
}

/** Checks the location of a match: on the line, where the depth puts it. Copies it to `expected`. */
static inline void check_place(uint32_t i)
{
    const struct vf_line_match *is = &memory.stereo.location[i];
    const vfront_depth_t *d = &memory.stereo.candidate[i];
    if (memory.stereo.cost[i] == UINT32_MAX) return;
    REQUIRE(fabs(is->x_q16 / 65536.0 - (double)d->x_px) < 1e-4 && fabs(is->y_q16 / 65536.0 - (double)d->y_px) < 1e-4,
            "point %u: placed at (%g, %g), its depth says (%g, %g)", i, is->x_q16 / 65536.0, is->y_q16 / 65536.0,
            (double)d->x_px, (double)d->y_px);
    assert_true(fabs(hypot((double)is->direction_x, (double)is->direction_y) - 1.0) < 1e-5);
    expected.stereo.location[i] = *is;
}

/** Runs the stage and checks the list: all costs except outliers, by rising point; mutual matches, each once; only the
 *  stage's memory written. */
static inline void run_and_check(const char *what)
{
    struct vf_stereo_memory *is = &memory.stereo, *should = &expected.stereo;
    uint32_t n = 0;
    memset(is->back[step.parity], 0xff, sizeof is->back[0]);
    memset(is->pair, 0, sizeof is->pair);
    begin_levels();
    memcpy(&expected, &memory, sizeof memory);
    RUN(stereo);
    for (uint32_t i = 0; i < *count_of(0); i++) {
        const int listed = is->cost[i] != UINT32_MAX && !is_outlier(i);
        check_range(i, listed ? &is->depth[n] : NULL);
        if (!listed) continue;
        REQUIRE(n < is->count && is->depth[n].keypoint == i, "%s: point %u is not in place %u of %u", what, i, n,
                is->count);
        for (uint32_t k = 0; k < n; k++) assert_true(is->depth[k].match != is->depth[n].match);
        check_depth(&is->depth[n++]);
    }
    assert_int_equal(is->count, n);
    memcpy(should->back[step.parity], is->back[step.parity], *count_of(1) * sizeof is->back[0][0]);
    memset(should->back[step.parity ^ 1], 0xff, sizeof is->back[0]); /* cleared for the next frame */
    memset(should->expected[step.parity ^ 1], 0, sizeof is->expected[0]);
    memcpy(should->best, is->best, *count_of(0) * sizeof *is->best);
    memcpy(should->cost, is->cost, *count_of(0) * sizeof *is->cost);
    memcpy(should->candidate, is->candidate, *count_of(0) * sizeof *is->candidate);
    for (uint32_t i = 0; i < *count_of(0); i++) check_place(i);
    memcpy(should->depth, is->depth, n * sizeof *is->depth);
    should->count = n;
    check_pair(what);
    same_arena(what);
}

/* ---- images of textured planes ----------------------------------------------------------------------------------- */

#define WAVES 12

/** Textured plane through (0, 0, distance); the texture is a sum of waves. If `near` > 0, a nearer plane of the same
 *  texture occludes it. The nearer plane is parallel to the image of camera 0, from `edge` on along the x axis (axis 0)
 *  or the y axis (axis 1). */
static struct {
    double normal[3], right[3], down[3], distance, at[WAVES][3];
    double near, edge;
    int axis;
} wall;

/** Makes a random wall. finest_px: shortest wave as seen from `distance` at the focal length of camera 0 [px]. */
static inline void build_wall(double distance, double slant, double slant_about, double finest_px)
{
    double R[9];
    const double pixel = distance / rig.camera[0].fx_px;
    rotation_about(cos(slant_about), sin(slant_about), 0.0, slant, R);
    for (int k = 0; k < 3; k++) wall.right[k] = R[3 * k], wall.down[k] = R[3 * k + 1], wall.normal[k] = R[3 * k + 2];
    wall.distance = distance;
    wall.near = 0.0;
    for (int i = 0; i < WAVES; i++) {
        const double wave = finest_px * pow(4.0, real(0, 1)) * pixel, heading = real(0, 6.2831853);
        wall.at[i][0] = 6.2831853 / wave * cos(heading);
        wall.at[i][1] = 6.2831853 / wave * sin(heading);
        wall.at[i][2] = real(0, 6.2831853);
    }
}

/** Range at which a ray from a position, in axes of camera 0, meets the wall. */
static inline double range_to_wall(const double from[3], const double ray[3])
{
    return (wall.distance * wall.normal[2] - dot(from, wall.normal)) / dot(ray, wall.normal);
}

static inline double shade_of(const double p[3])
{
    const double u = dot(p, wall.right), v = dot(p, wall.down);
    double sum = 0.0;
    for (int i = 0; i < WAVES; i++) sum += cos(wall.at[i][0] * u + wall.at[i][1] * v + wall.at[i][2]);
    return 128.0 + 40.0 * sum / sqrt(WAVES / 2.0);
}

/** Approximately normal noise: sum of twelve uniform values. */
static inline double noise(double sigma)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++) sum += real(0, 1);
    return sigma * sum;
}

static inline void draw(int32_t camera, double sigma)
{
    const struct vf_level *l = &step.geometry.level[camera][0];
    double from[3] = {0, 0, 0}, Rt[9];
    for (int k = 0; k < 9; k++) Rt[k] = camera ? rig.R[k % 3 * 3 + k / 3] : k % 4 == 0;
    if (camera) rotate(Rt, rig.t, from);
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            const double px[2] = {x, y};
            double ray[3] = {0, 0, 1}, p[3];
            vf_lens_bearing(&rig.lens[camera], px, ray);
            rotate(Rt, ray, p);
            memcpy(ray, p, sizeof ray);
            for (int k = 0; k < 3; k++) p[k] = -from[k]; /* camera centre -R^T t */
            const double range = range_to_wall(p, ray), nearer = (wall.near - p[2]) / ray[2];
            const int hidden = wall.near > 0.0 && p[wall.axis] + nearer * ray[wall.axis] > wall.edge;
            for (int k = 0; k < 3; k++) p[k] += (hidden ? nearer : range) * ray[k];
            const double grey = floor(shade_of(p) + noise(sigma) + 0.5);
            memory.ingest.picture[step.parity][camera][y * l->pitch + x] = (uint8_t)fmin(fmax(grey, 0.0), 255.0);
        }
}

/** True positions in camera 1 of the points of camera 0 [px], and their depths. */
static double truth[POINTS][2], true_depth[POINTS];

/** Puts points on the wall by rising level, where its view is not too oblique. Puts their matches `up` levels coarser
 *  if possible, up to `astray` px of their level from the true position. Returns the number of points. */
static inline uint32_t points_on_wall(uint32_t wanted, int32_t levels, int32_t up, double astray)
{
    uint32_t n = 0;
    for (int tries = 0; tries < 20000 && n < wanted; tries++) {
        const int32_t level = (int32_t)n * levels / (int32_t)wanted, other = vf_min(level + up, levels - 1),
                      margin = 14;
        const double origin[3] = {0, 0, 0};
        if (!put_point(0, n, level, real(0, rig.camera[0].width_px), real(0, rig.camera[0].height_px), margin))
            continue;
        const double range = range_to_wall(origin, true_point[0][n].bearing);
        const double slanted = fabs(dot(true_point[0][n].bearing, wall.normal));
        if (range <= 0 || slanted < 0.7 || !project_to_camera1(true_point[0][n].bearing, range, truth[n])) continue;
        true_depth[n] = range * true_point[0][n].bearing[2];
        const double off = astray * size_of(other);
        if (!put_point(1, n, other, truth[n][0] + real(-off, off), truth[n][1] + real(-off, off), margin)) continue;
        scribble(&bits_of(0)[n], sizeof(vfront_descriptor_t));
        bits_of(1)[n] = bits_of(0)[n];
        angle_of(0)[n] = angle_of(1)[n] = (float)real(-3, 3);
        n++;
    }
    *count_of(0) = *count_of(1) = n;
    return n;
}

#endif
#endif
