/* SPDX-License-Identifier: MIT */
/* stereo: the search against every pair of points in double precision, with the plane of a pair from the essential matrix; depth and its
 * standard deviation against triangulation, and its derivative, in double precision; places to sub-pixel on pictures of textured planes that
 * are drawn exactly for both cameras. */
#include "tests/fixture/stage.h"

#if VFRONT_STEREO

/* ---- vectors ----------------------------------------------------------------------------------------------------- */

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static double length(const double v[3]) { return sqrt(dot(v, v)); }

static void cross(const double a[3], const double b[3], double out[3])
{
    const double c[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    memcpy(out, c, sizeof c);
}

static void turn(const double R[9], const double v[3], double out[3])
{
    for (int k = 0; k < 3; k++) out[k] = dot(R + 3 * k, v);
}

static double real(double least, double most) { return least + (most - least) * (double)(roll64() >> 11) * 0x1p-53; }

/** A rotation by an angle about an axis (Rodrigues). */
static void rotation_about(double x, double y, double z, double angle, double R[9])
{
    const double n = sqrt(x * x + y * y + z * z), k[3] = {x / n, y / n, z / n}, c = cos(angle), s = sin(angle);
    const double skew[9] = {0, -k[2], k[1], k[2], 0, -k[0], -k[1], k[0], 0};
    for (int i = 0; i < 9; i++) R[i] = (i % 4 == 0 ? c : 0.0) + s * skew[i] + (1.0 - c) * k[i / 3] * k[i % 3];
}

/* ---- rigs -------------------------------------------------------------------------------------------------------- */

enum kind { RECTIFIED, TOED_IN, ROLLED, VERTICAL, FISHEYE, BARREL, FORWARD, RIGS };
static const char *const rig_name[RIGS] = {"rectified", "toed in", "rolled", "vertical",
                                           "fisheye",   "barrel",  "forward"};

/** Two cameras: p1 = R p0 + t. */
static struct {
    vfront_camera_t camera[2];
    struct vf_lens lens[2];
    double R[9], t[3];
} rig;

static void set_camera(int32_t i, vfront_lens_t lens, int32_t width, int32_t height, double focal_px)
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

/** How camera 1 sits to camera 0: turned by an angle about an axis, its centre at a place of camera 0. */
static void place(const double axis[3], double angle, const double centre[3])
{
    rotation_about(axis[0], axis[1], axis[2], angle, rig.R);
    turn(rig.R, centre, rig.t);
    for (int k = 0; k < 3; k++) rig.t[k] = -rig.t[k];
}

/** Cameras of a rig, and the step's knowledge of them. */
static void finish_rig(void)
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
        for (int32_t j = 0; j < down; j++) vf_bearing_row(memory.bearing.node[i] + j * across, across, &rig.lens[i], j);
    }
    pair->placed = 1;
    pair->baseline_m = (float)length(rig.t);
    for (int k = 0; k < 9; k++) pair->R[k] = (float)rig.R[k];
    for (int k = 0; k < 3; k++) pair->epipole[k] = (float)(rig.t[k] / length(rig.t));
}

/** A rig of a kind, unlike the last. Returns whether the config has room for it. */
static int set_up_rig(enum kind kind)
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
    if (kind == RECTIFIED) place(y_axis, 0.0, side);
    if (kind == TOED_IN) place(y_axis, real(-0.12, 0.12), about);
    if (kind == ROLLED) place(z_axis, real(-3, 3), about);
    if (kind == VERTICAL) place(any, real(-0.05, 0.05), up);
    if (kind == FISHEYE || kind == BARREL) place(any, real(-0.1, 0.1), about);
    if (kind == FORWARD) place(any, real(-0.03, 0.03), ahead);
    finish_rig();
    return 1;
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

#define POINTS (VFRONT_KEYPOINTS < 240 ? VFRONT_KEYPOINTS : 240)

/** What the test knows of a point: place on level 0, size of its pixel, and where the lens says it lies. */
struct known {
    double x, y, size, bearing[3];
};
static struct known known[2][POINTS];

static struct vf_point *points(int32_t camera) { return memory.bearing.point[step.parity][camera]; }
static uint32_t *count_of(int32_t camera) { return &memory.bearing.count[step.parity][camera]; }
static vfront_descriptor_t *bits_of(int32_t camera) { return memory.describe.descriptor[step.parity][camera]; }
static float *angle_of(int32_t camera) { return memory.describe.angle[step.parity][camera]; }

static double size_of(int32_t level) { return step.geometry.step_q16[level] / 65536.0; }
static double centre_of(int32_t u, int32_t level)
{
    return floor(((u + 0.5) * size_of(level) - 0.5) * 65536.0) / 65536.0;
}

/** Puts point i of a camera on the pixel of a level nearest to a place. Returns whether that lies `margin` px inside of the level. */
static int put_point(int32_t camera, uint32_t i, int32_t level, double x, double y, int32_t margin)
{
    const struct vf_level *l = &step.geometry.scale[camera][level];
    const int32_t u = (int32_t)floor((x + 0.5) / size_of(level)), v = (int32_t)floor((y + 0.5) / size_of(level));
    struct known *k = &known[camera][i];
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

static void put_anywhere(int32_t camera, uint32_t i, int32_t level)
{
    while (!put_point(camera, i, level, real(0, rig.camera[camera].width_px), real(0, rig.camera[camera].height_px), 0))
        continue;
}

/** Levels of so many points, any but rising, as the stages before give them. */
static const int32_t *rising_levels(uint32_t count)
{
    static int32_t level[POINTS];
    uint32_t of[VFRONT_SCALES] = {0}, n = 0;
    for (uint32_t i = 0; i < count; i++) of[roll(step.geometry.scales)]++;
    for (int32_t l = 0; l < VFRONT_SCALES; l++)
        for (; of[l] > 0; of[l]--) level[n++] = l;
    return level;
}

/** Notes where levels begin: at how many points there are of those before. */
static void begin_levels(void)
{
    for (int32_t c = 0; c < 2; c++)
        for (int32_t level = 0; level <= VFRONT_SCALES; level++) {
            uint32_t before = 0;
            for (uint32_t i = 0; i < *count_of(c); i++) before += points(c)[i].level < level;
            memory.bearing.first[step.parity][c][level] = before;
        }
}

/** Where camera 1 sees what lies `range` along a ray of camera 0. Returns whether it does. */
static int seen_by_other(const double bearing[3], double range, double px[2])
{
    double p[3];
    turn(rig.R, bearing, p);
    for (int k = 0; k < 3; k++) p[k] = p[k] * range + rig.t[k];
    return vf_lens_project(&rig.lens[1], p, px);
}

/* ---- oracle of the search ---------------------------------------------------------------------------------------- */

/** A pair of rays: how far the second is from the plane that the essential matrix says, and the angle within the plane from where the first
 *  would be seen were it far away, towards where the other camera is seen. */
struct geometry {
    double off, angle;
};
static struct geometry geometry_of(const double first[3], const double second[3])
{
    double far[3], normal[3], within[3], side[3];
    turn(rig.R, first, far);
    cross(rig.t, far, normal); /* E first, with E = [t]x R */
    const double n = length(normal);
    for (int k = 0; k < 3; k++) normal[k] /= n;
    struct geometry g = {dot(normal, second), 0.0};
    for (int k = 0; k < 3; k++) within[k] = second[k] - g.off * normal[k];
    cross(within, far, side);
    g.angle = atan2(dot(side, normal), dot(within, far));
    return g;
}

static int unsure; /* set where a value is so near its bound that single precision may see it on the other side */

static int is_at_most(double value, double bound, double doubt)
{
    unsure |= fabs(value - bound) < doubt;
    return value <= bound;
}

/** Whether two points may be partners, their descriptors apart. Lengths in px at the focal length of camera 1. */
static int may_be(uint32_t i, uint32_t j)
{
    const vfront_tuning_t *t = &step.tuning;
    const struct known *a = &known[0][i], *b = &known[1][j];
    const struct geometry g = geometry_of(a->bearing, b->bearing);
    const double focal = (rig.camera[1].fx_px + rig.camera[1].fy_px) / 2.0, coarser = fmax(a->size, b->size);
    const double apart = fabs(remainder((double)angle_of(0)[i] - (double)angle_of(1)[j], 2.0 * acos(-1.0)));
    const int levels = abs(points(0)[i].level - points(1)[j].level) <= t->stereo_levels;
    if (!is_at_most(fabs(g.angle), acos(0.0), 1e-6)) return 0;
    const double disparity = focal * tan(g.angle), doubt = 1e-4 + 1e-6 * fabs(disparity);
    const int band = is_at_most(fabs(g.off) * focal, t->stereo_band_px * coarser, 1e-4);
    const int near = is_at_most(disparity, t->stereo_disparity_px, doubt),
              far = is_at_most(-disparity, t->stereo_band_px * coarser, doubt);
    return is_at_most(apart, t->match_turn_deg * acos(-1.0) / 180.0, 1e-5) && band && near && far && levels;
}

static uint32_t bits_between(uint32_t i, uint32_t j)
{
    uint32_t differ = 0;
    for (int bit = 0; bit < 256; bit++)
        differ += (bits_of(0)[i].word[bit / 32] ^ bits_of(1)[j].word[bit / 32]) >> bit % 32 & 1;
    return differ;
}

/** Allowed pairs, and in how many bits they differ; more than 256: not allowed. */
static uint32_t differ[POINTS][POINTS];

static int is_elsewhere(uint32_t j, uint32_t k)
{
    const struct known *a = &known[1][j], *b = &known[1][k];
    return fmax(fabs(a->x - b->x), fabs(a->y - b->y)) > 4.0 * fmax(a->size, b->size);
}

/** The partner of a point by its own choice; -1: none. */
static int32_t choice_of(uint32_t i)
{
    int32_t best = -1;
    uint32_t second = 256;
    for (uint32_t j = 0; j < *count_of(1); j++)
        if (differ[i][j] <= (uint32_t)step.tuning.stereo_distance && (best < 0 || differ[i][j] < differ[i][best]))
            best = (int32_t)j;
    for (uint32_t j = 0; j < *count_of(1) && best >= 0; j++)
        if (is_elsewhere((uint32_t)best, j) && differ[i][j] < second) second = differ[i][j];
    if (best >= 0 && step.tuning.match_ratio_percent < 100 &&
        differ[i][best] > second * step.tuning.match_ratio_percent / 100.0)
        best = -1;
    return best;
}

/** The point of camera 0 that differs least from a point of camera 1, of those that may look at it; -1: none. */
static int32_t looker_at(uint32_t j)
{
    int32_t best = -1;
    for (uint32_t i = 0; i < *count_of(0); i++)
        if (differ[i][j] <= (uint32_t)step.tuning.stereo_distance && (best < 0 || differ[i][j] < differ[best][j]))
            best = (int32_t)i;
    return best;
}

/** Fills in the table of pairs. A point of camera 1 that is near a bound is moved; counts them. */
static int fill_pairs(void)
{
    int moved = 0;
    for (uint32_t j = 0; j < *count_of(1); j++) {
        unsure = 0;
        for (uint32_t i = 0; i < *count_of(0); i++) differ[i][j] = may_be(i, j) ? bits_between(i, j) : 1000;
        if (!unsure) continue;
        moved++;
        angle_of(1)[j] = (float)real(-3.14159, 3.14159);
        put_anywhere(1, j, points(1)[j].level);
        j--;
    }
    return moved;
}

/* ---- what holds of every result ---------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/** Whether a point's window is compared so badly that the pair goes: more than the cut of the median, by sorting. */
static int is_cut(uint32_t i)
{
    static uint32_t cost[VFRONT_KEYPOINTS];
    uint32_t n = 0;
    for (uint32_t k = 0; k < *count_of(0); k++)
        if (memory.stereo.cost[k] != UINT32_MAX) cost[n++] = memory.stereo.cost[k];
    qsort(cost, n, sizeof *cost, by_size);
    return step.tuning.stereo_cut_percent &&
           memory.stereo.cost[i] * 100.0 > (double)cost[n / 2] * step.tuning.stereo_cut_percent;
}

static void check_depth(const vfront_depth_t *d)
{
    const uint32_t i = d->keypoint, j = d->partner;
    assert_true(i < *count_of(0) && j < *count_of(1) && d->reserved == 0);
    assert_int_equal(memory.stereo.found[i], (uint32_t)d->distance << 16 | j);
    assert_int_equal(memory.stereo.back[j], (uint32_t)d->distance << 16 | i);
    assert_int_equal(d->distance, bits_between(i, j));
    REQUIRE(isfinite(d->depth_m) && isfinite(d->sigma_m) && d->sigma_m > 0.0f, "depth %g, sigma %g", (double)d->depth_m,
            (double)d->sigma_m);
    assert_true((d->depth_m > 0.0f) == (points(0)[i].bearing[2] > 0.0f));
    assert_true(d->x_px > 0.0f && d->x_px < (float)rig.camera[1].width_px && d->y_px > 0.0f &&
                d->y_px < (float)rig.camera[1].height_px);
}

static void run(void)
{
    memset(memory.stereo.back, 0xff, sizeof memory.stereo.back);
    begin_levels();
    vf_stereo_host(&step);
}

/** The distance of point i, for the next frame: that of its depth along its bearing; 0 without a depth, or where it lies beside the camera.
 *  Puts it where it is expected. */
static void check_range(uint32_t i, const vfront_depth_t *depth)
{
    const struct vf_stereo_memory *is = &memory.stereo;
    const double z = (double)points(0)[i].bearing[2];
    const int has = depth && z > (double)0.01f;
    const double m = has ? (double)depth->depth_m / z : 0.0, sigma_m = has ? (double)depth->sigma_m / z : 0.0;
    const double is_m = (double)is->range_m[step.parity][i], is_sigma_m = (double)is->range_sigma_m[step.parity][i];
    REQUIRE(fabs(is_m - m) <= 1e-7 * fabs(m) && fabs(is_sigma_m - sigma_m) <= 1e-7 * sigma_m,
            "point %u: %g +- %g m, should be %g +- %g", i, is_m, is_sigma_m, m, sigma_m);
    expected.stereo.range_m[step.parity][i] = is->range_m[step.parity][i];
    expected.stereo.range_sigma_m[step.parity][i] = is->range_sigma_m[step.parity][i];
}

/** The list: what has a cost and is not cut, by rising point; mutual, no partner twice; and nothing but the stage's own is written. */
static void run_and_check(const char *what)
{
    struct vf_stereo_memory *is = &memory.stereo, *should = &expected.stereo;
    uint32_t n = 0;
    memset(is->back, 0xff, sizeof is->back);
    begin_levels();
    memcpy(&expected, &memory, sizeof memory);
    vf_stereo_host(&step);
    for (uint32_t i = 0; i < *count_of(0); i++) {
        const int listed = is->cost[i] != UINT32_MAX && !is_cut(i);
        check_range(i, listed ? &is->depth[n] : NULL);
        if (!listed) continue;
        REQUIRE(n < is->count && is->depth[n].keypoint == i, "%s: point %u is not in place %u of %u", what, i, n,
                is->count);
        for (uint32_t k = 0; k < n; k++) assert_true(is->depth[k].partner != is->depth[n].partner);
        check_depth(&is->depth[n++]);
    }
    assert_int_equal(is->count, n);
    memcpy(should->back, is->back, *count_of(1) * sizeof *is->back);
    memcpy(should->found, is->found, *count_of(0) * sizeof *is->found);
    memcpy(should->cost, is->cost, *count_of(0) * sizeof *is->cost);
    memcpy(should->candidate, is->candidate, *count_of(0) * sizeof *is->candidate);
    memcpy(should->depth, is->depth, n * sizeof *is->depth);
    should->count = n;
    same_arena(what);
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

static void flip_bits(vfront_descriptor_t *d, int32_t bits)
{
    for (; bits > 0; bits--) {
        const int32_t bit = roll(256);
        d->word[bit / 32] ^= 1u << bit % 32;
    }
}

/** A point of camera 1 for point i of camera 0, mostly of its level: near what it may see, at any depth, with a descriptor like its own. */
static int put_partner(uint32_t i, uint32_t j, int32_t level)
{
    double px[2];
    if (abs(points(0)[i].level - level) > (roll(8) ? 0 : roll(3))) return 0;
    if (!seen_by_other(known[0][i].bearing, pow(10.0, real(-0.5, 2.0)), px)) return 0;
    const double apart = real(0.0, 2.5) * size_of(level);
    if (!put_point(1, j, level, px[0] + real(-apart, apart), px[1] + real(-apart, apart), 0)) return 0;
    bits_of(1)[j] = bits_of(0)[i];
    flip_bits(&bits_of(1)[j], roll(3) ? roll(20) : roll(150));
    angle_of(1)[j] = (float)remainder((double)angle_of(0)[i] + (roll(4) ? real(-0.3, 0.3) : real(-4, 4)), 6.28318530);
    return 1;
}

static void random_points(uint32_t left, uint32_t right, int alike)
{
    static vfront_descriptor_t like;
    const int32_t *level = rising_levels(left);
    scribble(&like, sizeof like);
    for (uint32_t i = 0; i < left; i++) {
        put_anywhere(0, i, level[i]);
        scribble(&bits_of(0)[i], sizeof like);
        if (alike) bits_of(0)[i] = like;
        angle_of(0)[i] = (float)real(-3.14159, 3.14159);
    }
    level = rising_levels(right);
    for (uint32_t j = 0; j < right; j++) {
        int tries = 0;
        put_anywhere(1, j, level[j]);
        while (left && tries++ < 1000 && !put_partner((uint32_t)roll((int32_t)left), j, level[j])) continue;
        if (alike == 2) bits_of(1)[j] = like;
    }
    *count_of(0) = left;
    *count_of(1) = right;
}

static void random_tuning(void)
{
    vfront_tuning_t *t = &step.tuning;
    t->stereo_band_px = roll(4) ? between(1, 3) : between(1, 64);
    t->stereo_disparity_px = roll(4) ? between(40, 200) : roll(2) ? between(1, 5) : between(1, 4096);
    t->stereo_least_mpx = roll(2) ? 250 : between(1, 20000);
    t->stereo_cut_percent = roll(3) ? between(80, 300) : 0;
    t->stereo_distance = roll(4) ? between(20, 120) : roll(257);
    t->stereo_levels = roll(3) ? roll(2) : roll(8);
    t->match_distance = roll(257); /* both of them are of another stage */
    t->match_ratio_percent = roll(4) ? between(60, 100) : between(1, 100);
    t->match_turn_deg = roll(4) ? between(10, 60) : between(1, 180);
    t->match_levels = roll(8);
}

static int compare_search(const char *what)
{
    int partners = 0;
    for (uint32_t i = 0; i < *count_of(0); i++) {
        const int32_t best = choice_of(i);
        const uint32_t should = best < 0 ? UINT32_MAX : differ[i][best] << 16 | (uint32_t)best;
        REQUIRE(memory.stereo.found[i] == should, "%s: point %u found %x, should be %x", what, i,
                memory.stereo.found[i], should);
        partners += best >= 0 && looker_at((uint32_t)best) == (int32_t)i;
        if (best < 0 || looker_at((uint32_t)best) != (int32_t)i) assert_int_equal(memory.stereo.cost[i], UINT32_MAX);
    }
    for (uint32_t j = 0; j < *count_of(1); j++) {
        const int32_t best = looker_at(j);
        const uint32_t should = best < 0 ? UINT32_MAX : differ[best][j] << 16 | (uint32_t)best;
        REQUIRE(memory.stereo.back[j] == should, "%s: point %u was found by %x, should be %x", what, j,
                memory.stereo.back[j], should);
    }
    return partners;
}

/** Random points of all rigs and tunings: who finds whom, against every pair. Lists empty or not, descriptors alike or not. */
static void search_of_all_rigs(void **state)
{
    (void)state;
    shake(1);
    scribble_arena();
    for (int kind = 0; kind < RIGS; kind++) {
        int partners = 0, moved = 0, left = 0, depths = 0;
        for (int round = 0; round < 14; round++) {
            const int alike = round == 12 ? 2 : round == 13;
            if (!set_up_rig((enum kind)kind)) skip();
            random_tuning();
            if (round < 4)
                step.tuning.stereo_band_px = 2, step.tuning.stereo_disparity_px = 128,
                step.tuning.match_ratio_percent = 90;
            random_points(round == 5 ? 0 : (uint32_t)roll(POINTS), round == 6 ? 0 : (uint32_t)roll(POINTS), alike);
            moved += fill_pairs();
            run_and_check(rig_name[kind]);
            partners += compare_search(rig_name[kind]);
            left += (int)*count_of(0);
            depths += (int)memory.stereo.count;
        }
        print_message("         %-10s %d points, %d partners, %d depths in noise, %d points moved away from bounds\n",
                      rig_name[kind], left, partners, depths, moved);
        assert_true(partners > 60 || POINTS < 200);
    }
}

/** By hand: a partner that differs by 128 bits, and another that differs by more somewhere else, or none. */
static void known_ratios(void **state)
{
    static const struct {
        int32_t percent, other, found; /* bits of the other; -1: there is none */
    } way[] = {{50, -1, 1},  {49, -1, 0},  {50, 256, 1},  {50, 255, 0}, {51, 251, 1},
               {51, 250, 0}, {99, 129, 0}, {100, 129, 1}, {100, 128, 1}};
    (void)state;
    shake(18);
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        if (!set_up_rig(RECTIFIED)) skip();
        step.tuning.stereo_distance = 256;
        step.tuning.match_ratio_percent = way[i].percent;
        assert_true(put_point(0, 0, 0, 150, 100, 0) && put_point(1, 0, 0, 140, 100, 0) &&
                    put_point(1, 1, 0, 130, 100, 0));
        memset(bits_of(0), 0, sizeof(vfront_descriptor_t));
        memset(bits_of(1), 0, 2 * sizeof(vfront_descriptor_t));
        for (int32_t bit = 0; bit < 256; bit++) {
            bits_of(1)[0].word[bit / 32] |= (bit < 128 ? 1u : 0u) << bit % 32;
            bits_of(1)[1].word[bit / 32] |= (bit < way[i].other ? 1u : 0u) << bit % 32;
        }
        angle_of(0)[0] = angle_of(1)[0] = angle_of(1)[1] = 0.0f;
        *count_of(0) = 1;
        *count_of(1) = way[i].other < 0 ? 1 : 2;
        run_and_check("ratio");
        REQUIRE((memory.stereo.found[0] == 128 << 16) == way[i].found, "line %zu: found %x", i, memory.stereo.found[0]);
    }
}

/** Nothing is done, and nothing written, where the tuning or the rig leaves nothing to do. */
static void nothing_to_do(void **state)
{
    (void)state;
    shake(2);
    for (int why = 0; why < 5; why++) {
        if (!set_up_rig(RECTIFIED)) skip();
        random_points(50, 50, 0);
        if (why == 0) step.tuning.stereo = 0;
        if (why == 1) step.tuning.describe = 0;
        if (why == 2) step.tuning.select_points = 0;
        if (why == 3) step.geometry.pair.placed = 0;
        if (why == 4) step.geometry.cameras = 1;
        memcpy(&expected, &memory, sizeof memory);
        vf_stereo_host(&step);
        same_arena("nothing to do");
        assert_int_equal(vf_depths(&step), 0);
    }
}

/* ---- depth ------------------------------------------------------------------------------------------------------- */

/** Range along a ray of camera 0 at which it meets the plane through a ray of camera 1 that stands upright on the plane of both. */
static double triangulated(const double first[3], const double second[3])
{
    double far[3], normal[3], a[3], b[3];
    turn(rig.R, first, far);
    cross(far, rig.t, normal);
    cross(rig.t, second, a);
    cross(far, second, b);
    return -dot(a, normal) / dot(b, normal);
}

static double range_at(const double first[3], double x, double y)
{
    const double px[2] = {x, y};
    double second[3];
    return vf_lens_bearing(&rig.lens[1], px, second) ? triangulated(first, second) : NAN;
}

struct depth_figures {
    double worst[3], sigma, off_px;
    int points, near[3];
};

/** A ray of camera 0 and what it meets, seen by both cameras well within their pictures. Returns its disparity [px]; 0: it is not so. */
static double known_point(double first[3], double *range, double px[2])
{
    double unused[3];
    const double at[2] = {real(20, rig.camera[0].width_px - 20), real(20, rig.camera[0].height_px - 20)};
    *range = pow(10.0, real(-0.5, 1.8));
    if (!vf_lens_bearing(&rig.lens[0], at, first) || !seen_by_other(first, *range, px)) return 0.0;
    if (px[0] < 20 || px[1] < 20 || px[0] > rig.camera[1].width_px - 20 || px[1] > rig.camera[1].height_px - 20)
        return 0.0;
    if (!vf_lens_bearing(&rig.lens[1], px, unused)) return 0.0;
    return step.geometry.focal_px[1] * tan(geometry_of(first, unused).angle);
}

/** A point of camera 0, and the line on which camera 1 sees it. */
struct aim {
    struct vf_point a;
    struct vf_epipolar e;
    struct vf_strip strip;
};

/** The line found from a place of camera 1. Returns whether there is one. */
static int find_strip(const struct vf_epipolar *e, struct vf_seat from, struct vf_strip *strip)
{
    float at[3][3];
    for (int k = 0; k < 3; k++)
        vf_bearing_at(&step, memory.bearing.node[1], 1, from.x_q16 + (k == 1 ? 65536 : 0),
                      from.y_q16 + (k == 2 ? 65536 : 0), at[k]);
    return vf_stereo_strip(e, from, at[0], at[1], at[2], strip);
}

static struct vf_seat seat_at(double x, double y)
{
    const struct vf_seat seat = {(int32_t)floor(x * 65536.0 + 0.5), (int32_t)floor(y * 65536.0 + 0.5)};
    return seat;
}

/** The line found from up to 2 px away. */
static void take_aim(struct aim *aim, const double first[3], const double px[2])
{
    memset(aim, 0, sizeof *aim);
    aim->a.level = roll(step.geometry.scales);
    aim->a.step = (float)size_of(aim->a.level);
    for (int k = 0; k < 3; k++) aim->a.bearing[k] = (float)first[k];
    aim->e = vf_stereo_epipolar(&step.geometry.pair, aim->a.bearing);
    assert_true(find_strip(&aim->e, seat_at(px[0] + real(-2, 2), px[1] + real(-2, 2)), &aim->strip));
}

static void note_depth(struct depth_figures *f, double disparity, double is, double should)
{
    static const double least[3] = {10.0, 3.0, 1.0};
    for (int k = 0; k < 3; k++) {
        if (disparity < least[k]) continue;
        f->near[k]++;
        f->worst[k] = fmax(f->worst[k], fabs(is - should) / fabs(should));
    }
    f->points++;
}

/** Standard deviation of a depth from how it changes along the strip. */
static double sigma_of(const double first[3], const double px[2], const double along[2], double sigma_px)
{
    const double h = 0.01, more = range_at(first, px[0] + h * along[0], px[1] + h * along[1]);
    const double less = range_at(first, px[0] - h * along[0], px[1] - h * along[1]);
    REQUIRE(more < less, "the strip runs away from nearer places: %g %g", less, more);
    return (less - more) / (2 * h) * fabs(first[2]) * sigma_px;
}

/** Depth at the shift that leads to where a point is seen. */
static void check_known_depth(struct depth_figures *f)
{
    double first[3], px[2], range;
    const double disparity = known_point(first, &range, px);
    if (disparity < 1.0) return;
    struct aim aim;
    vfront_depth_t is = {0};
    take_aim(&aim, first, px);
    const double along[2] = {(double)aim.strip.along_x, (double)aim.strip.along_y};
    const double to[2] = {px[0] - aim.strip.seat.x_q16 / 65536.0, px[1] - aim.strip.seat.y_q16 / 65536.0};
    const double shift = to[0] * along[0] + to[1] * along[1], off = fabs(to[0] * along[1] - to[1] * along[0]);
    assert_true(fabs(hypot(along[0], along[1]) - 1.0) < 1e-6);
    f->off_px = fmax(f->off_px, off);
    const struct vf_seat seat = vf_stereo_shifted(&aim.strip, aim.strip.seat, (float)shift);
    REQUIRE(vf_stereo_depth(&step, memory.bearing.node[1], &aim.e, &aim.a, &aim.strip, seat, &is), "no depth at %g m",
            range);
    REQUIRE(hypot((double)is.x_px - px[0], (double)is.y_px - px[1]) < off + 1e-3, "found at %f %f", (double)is.x_px,
            (double)is.y_px);
    note_depth(f, disparity, (double)is.depth_m, range * first[2]);
    const double sigma = sigma_of(first, px, along, step.tuning.stereo_sigma_mpx / 1000.0 * sqrt(size_of(aim.a.level)));
    if (disparity >= 3.0) f->sigma = fmax(f->sigma, fabs((double)is.sigma_m - sigma) / sigma);
}

/** Depth of places that are known exactly, and its standard deviation. */
static void known_depths(void **state)
{
    (void)state;
    shake(3);
    print_message("%-10s %8s %36s %12s %12s\n", "rig", "points", "depth, from 10, 3, 1 px of disparity", "sigma",
                  "off line px");
    for (int kind = 0; kind < RIGS; kind++) {
        struct depth_figures f;
        memset(&f, 0, sizeof f);
        for (int round = 0; round < 8; round++) {
            if (!set_up_rig((enum kind)kind)) skip();
            step.tuning.stereo_sigma_mpx = between(1, 3000);
            for (int n = 0; n < 1500; n++) check_known_depth(&f);
        }
        print_message("%-10s %8d %14.1e %10.1e %10.1e %12.1e %12.1e\n", rig_name[kind], f.points, f.worst[0],
                      f.worst[1], f.worst[2], f.sigma, f.off_px);
        assert_true(f.points > 1000 && f.near[0] > 300);
        assert_true(f.worst[0] <= 1e-3 && f.worst[2] < 1e-2);
        assert_true(f.sigma < (kind == FORWARD ? 0.2 : kind == FISHEYE ? 0.1 : 0.03) && f.off_px < 0.1);
    }
}

/** By hand: pinholes 300 px long, 0.1 m apart, and the tuning's bound of the disparity. */
static void depths_by_hand(void **state)
{
    static const double centre[3] = {0.1, 0, 0}, axis[3] = {0, 0, 1};
    (void)state;
    shake(4);
    if (!fits(321, 241, 0)) skip();
    set_camera(0, VFRONT_LENS_RADTAN, 321, 241, 300);
    set_camera(1, VFRONT_LENS_RADTAN, 321, 241, 300);
    place(axis, 0, centre);
    finish_rig();
    step.tuning.stereo_sigma_mpx = 300;
    step.tuning.stereo_least_mpx = 2500;
    for (int32_t disparity_q1 = 2; disparity_q1 <= 60; disparity_q1++) {
        const double disparity = disparity_q1 / 2.0;
        struct vf_strip strip;
        vfront_depth_t is;
        assert_true(put_point(0, 0, 0, 160, 120, 0));
        const struct vf_epipolar e = vf_stereo_epipolar(&step.geometry.pair, points(0)->bearing);
        assert_true(find_strip(&e, seat_at(150.25, 120.05), &strip)); /* from beside the line */
        assert_true(fabs((double)strip.along_x + 1.0) < 1e-6);
        assert_true(abs(strip.seat.x_q16 - 9846784) < 66 && abs(strip.seat.y_q16 - (120 << 16)) < 66);
        const struct vf_seat seat = vf_stereo_shifted(&strip, strip.seat, (float)(disparity - 9.75));
        const int there = vf_stereo_depth(&step, memory.bearing.node[1], &e, points(0), &strip, seat, &is);
        if (disparity_q1 != 5) assert_int_equal(there, disparity > 2.5);
        if (!there) continue;
        const double depth = 30.0 / disparity, sigma = 30.0 / (disparity * disparity) * 0.3;
        REQUIRE(fabs((double)is.depth_m - depth) < 1e-4 * depth, "%g px: %g m", disparity, (double)is.depth_m);
        REQUIRE(fabs((double)is.sigma_m - sigma) < 0.02 * sigma, "%g px: sigma %g m, should be %g", disparity,
                (double)is.sigma_m, sigma);
        assert_true(fabs((double)is.x_px - 160.0 + disparity) < 1e-3 && fabs((double)is.y_px - 120.0) < 1e-3);
    }
}

/** Two points of one level, anywhere on a row of wide pinholes. Returns their disparity [px]; NAN: out of the picture or nearly behind. */
static double pair_on_a_row(int32_t level)
{
    const double right = 320.0 + size_of(level);
    if (!put_point(0, 0, level, real(0, right), 120.0, 0) || !put_point(1, 0, level, real(0, right), 120.0, 0))
        return NAN;
    const struct geometry g = geometry_of(known[0][0].bearing, known[1][0].bearing);
    scribble(bits_of(0), sizeof(vfront_descriptor_t));
    *bits_of(1) = *bits_of(0);
    *angle_of(0) = *angle_of(1) = 0.0f;
    *count_of(0) = *count_of(1) = 1;
    return fabs(g.angle) < 1.4 ? rig.camera[1].fx_px * tan(g.angle) : NAN;
}

/** Whether they are partners, with bounds around their disparity. */
static int found_within_bounds(double disparity, int32_t level)
{
    vfront_tuning_t *t = &step.tuning;
    t->stereo_band_px = t->stereo_disparity_px = 64;
    if (disparity > 0) t->stereo_disparity_px = vf_clamp((int32_t)(disparity * real(0.9, 1.1)), 1, 4096);
    if (disparity < 0) t->stereo_band_px = vf_clamp((int32_t)(-disparity / size_of(level) * real(0.9, 1.1)), 8, 64);
    run();
    const double most = t->stereo_disparity_px, least = -t->stereo_band_px * size_of(level);
    const int is = memory.stereo.found[0] == 0, should = disparity <= most && disparity >= least;
    const int doubtful = fabs(disparity - most) < 1e-3 || fabs(disparity - least) < 1e-3;
    REQUIRE(doubtful || is == should, "%g px of %g..%g: found %x", disparity, least, most, memory.stereo.found[0]);
    return is;
}

/** Whether there is a depth where the second lies, with the least of disparities near theirs. */
static int depth_from_enough(double disparity)
{
    const double least = floor(disparity * 1000.0 * real(0.9, 1.1));
    const struct vf_epipolar e = vf_stereo_epipolar(&step.geometry.pair, points(0)->bearing);
    const struct vf_seat seat = seat_at(known[1][0].x, known[1][0].y);
    struct vf_strip strip;
    vfront_depth_t depth;
    step.tuning.stereo_least_mpx = (int32_t)least;
    assert_true(find_strip(&e, seat, &strip));
    const int is = vf_stereo_depth(&step, memory.bearing.node[1], &e, points(0), &strip, seat, &depth);
    REQUIRE(fabs(disparity * 1000.0 - least) < 5.0 || is == (disparity * 1000.0 >= least), "%g px, least %g: %d",
            disparity, least, is);
    return is;
}

/** Bounds of a disparity are those of a tangent, which matters where camera 1 sees a point far from where it would lie far away: in the
 *  search, to both sides, and of what gives a depth. */
static void disparity_bounds(void **state)
{
    static const double centre[3] = {0.5, 0, 0}, axis[3] = {0, 0, 1};
    int count[3][2] = {{0, 0}, {0, 0}, {0, 0}}; /* nearer, beyond infinity, for a depth; not and yes */
    (void)state;
    shake(19);
    if (!fits(321, 241, 0)) skip();
    for (int32_t c = 0; c < 2; c++) set_camera(c, VFRONT_LENS_RADTAN, 321, 241, 80);
    place(axis, 0, centre);
    finish_rig();
    for (int n = 0; n < 6000; n++) {
        const int32_t level = roll(step.geometry.scales);
        const double disparity = pair_on_a_row(level);
        if (isnan(disparity)) continue;
        count[disparity < 0][found_within_bounds(disparity, level)]++;
        if (disparity > 1.0) count[2][depth_from_enough(disparity)]++;
    }
    for (int k = 0; k < 3; k++)
        REQUIRE(count[k][0] > 100 && count[k][1] > 100, "%d: %d, %d", k, count[k][0], count[k][1]);
}

/* ---- pictures of textured planes --------------------------------------------------------------------------------- */

#define WAVES 12

/** A plane through (0, 0, distance), with a texture that is a sum of waves. With `near`: a plane that far away, of the same texture, hides
 *  what lies behind it; it faces camera 0 and begins at `edge` of the x axis (0) or the y axis (1). */
static struct {
    double normal[3], right[3], down[3], distance, at[WAVES][3];
    double near, edge;
    int axis;
} wall;

/** `finest_px`: the shortest wave, as seen from the distance at the focal length of camera 0. */
static void build_wall(double distance, double slant, double slant_about, double finest_px)
{
    double R[9];
    const double pixel = distance / rig.camera[0].fx_px;
    rotation_about(cos(slant_about), sin(slant_about), 0.0, slant, R);
    for (int k = 0; k < 3; k++) wall.right[k] = R[3 * k], wall.down[k] = R[3 * k + 1], wall.normal[k] = R[3 * k + 2];
    wall.distance = distance;
    wall.near = 0.0;
    for (int i = 0; i < WAVES; i++) {
        const double wave = finest_px * pow(4.0, real(0, 1)) * pixel, way = real(0, 6.2831853);
        wall.at[i][0] = 6.2831853 / wave * cos(way);
        wall.at[i][1] = 6.2831853 / wave * sin(way);
        wall.at[i][2] = real(0, 6.2831853);
    }
}

/** Where a ray from a place, in axes of camera 0, meets the wall: its range. */
static double range_to_wall(const double from[3], const double ray[3])
{
    return (wall.distance * wall.normal[2] - dot(from, wall.normal)) / dot(ray, wall.normal);
}

static double shade_of(const double p[3])
{
    const double u = dot(p, wall.right), v = dot(p, wall.down);
    double sum = 0.0;
    for (int i = 0; i < WAVES; i++) sum += cos(wall.at[i][0] * u + wall.at[i][1] * v + wall.at[i][2]);
    return 128.0 + 40.0 * sum / sqrt(WAVES / 2.0);
}

/** Normal distribution, nearly: the sum of twelve. */
static double noise(double sigma)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++) sum += real(0, 1);
    return sigma * sum;
}

static void draw(int32_t camera, double sigma)
{
    const struct vf_level *l = &step.geometry.level[camera][0];
    double from[3] = {0, 0, 0}, Rt[9];
    for (int k = 0; k < 9; k++) Rt[k] = camera ? rig.R[k % 3 * 3 + k / 3] : k % 4 == 0;
    if (camera) turn(Rt, rig.t, from);
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            const double px[2] = {x, y};
            double ray[3] = {0, 0, 1}, p[3];
            vf_lens_bearing(&rig.lens[camera], px, ray);
            turn(Rt, ray, p);
            memcpy(ray, p, sizeof ray);
            for (int k = 0; k < 3; k++) p[k] = -from[k]; /* the camera's centre is -R^T t */
            const double range = range_to_wall(p, ray), nearer = (wall.near - p[2]) / ray[2];
            const int hidden = wall.near > 0.0 && p[wall.axis] + nearer * ray[wall.axis] > wall.edge;
            for (int k = 0; k < 3; k++) p[k] += (hidden ? nearer : range) * ray[k];
            const double grey = floor(shade_of(p) + noise(sigma) + 0.5);
            memory.pyramid.pixels[step.parity][camera][y * l->pitch + x] = (uint8_t)fmin(fmax(grey, 0.0), 255.0);
        }
}

/** True places in camera 1 of the points of camera 0. */
static double truth[POINTS][2], true_depth[POINTS];

/** Points on a plane that is not seen too slantingly, so that its texture is not too fine, by rising level; and their partners, `up` levels
 *  coarser where there are, up to `astray` px of their level from where they are. Returns how many. */
static uint32_t points_on_wall(uint32_t wanted, int32_t levels, int32_t up, double astray)
{
    uint32_t n = 0;
    for (int tries = 0; tries < 20000 && n < wanted; tries++) {
        const int32_t level = (int32_t)n * levels / (int32_t)wanted, other = vf_min(level + up, levels - 1),
                      margin = 14;
        const double origin[3] = {0, 0, 0};
        if (!put_point(0, n, level, real(0, rig.camera[0].width_px), real(0, rig.camera[0].height_px), margin))
            continue;
        const double range = range_to_wall(origin, known[0][n].bearing);
        const double slanted = fabs(dot(known[0][n].bearing, wall.normal));
        if (range <= 0 || slanted < 0.7 || !seen_by_other(known[0][n].bearing, range, truth[n])) continue;
        true_depth[n] = range * known[0][n].bearing[2];
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

/* ---- the place in double precision ------------------------------------------------------------------------------- */

struct patch {
    double grey[121], mean;
};

/** A window of 11x11 px of a level, between its pixels. Returns whether it lies within, and one pixel more. */
static int cut_out(struct patch *w, int32_t camera, int32_t level, double x, double y)
{
    const struct vf_level *l = &step.geometry.scale[camera][level];
    const uint8_t *pixels = level ? memory.scale.pixels[camera] + l->offset
                                  : memory.pyramid.pixels[step.parity][camera];
    const int left = is_at_most(5.0, x, 0.04), right = is_at_most(x, l->width - 6.0, 0.04);
    const int above = is_at_most(5.0, y, 0.04), below = is_at_most(y, l->height - 6.0, 0.04);
    if (!left || !right || !above || !below) return 0;
    w->mean = 0.0;
    for (int k = 0; k < 121; k++) {
        const double sx = x + k % 11 - 5, sy = y + k / 11 - 5, fx = sx - floor(sx), fy = sy - floor(sy);
        const uint8_t *at = pixels + (int32_t)floor(sy) * l->pitch + (int32_t)floor(sx);
        const double upper = at[0] * (1 - fx) + at[1] * fx, lower = at[l->pitch] * (1 - fx) + at[l->pitch + 1] * fx;
        w->grey[k] = upper * (1 - fy) + lower * fy;
        w->mean += w->grey[k] / 121.0;
    }
    return 1;
}

/** Sum of absolute differences less the means, times 121, in 1/16 grey level. */
static double cost_of(const struct patch *a, const struct patch *b)
{
    double sum = 0.0;
    for (int k = 0; k < 121; k++) sum += fabs(a->grey[k] - a->mean - b->grey[k] + b->mean);
    return sum * 121.0 * 16.0;
}

/** A place of level 0 and a direction there. */
struct line {
    double x, y, along[2];
};

/** The epipolar line of a ray where it is nearest to a place. */
static struct line line_at(const double first[3], double x, double y)
{
    struct geometry g[5]; /* here, and 1/4 px to each side */
    for (int k = 0; k < 5; k++) {
        const double px[2] = {x + (k == 1 ? 0.25 : k == 2 ? -0.25 : 0.0), y + (k == 3 ? 0.25 : k == 4 ? -0.25 : 0.0)};
        double ray[3] = {0, 0, 1};
        vf_lens_bearing(&rig.lens[1], px, ray);
        g[k] = geometry_of(first, ray);
    }
    const double gx = 2.0 * (g[1].off - g[2].off), gy = 2.0 * (g[3].off - g[4].off), square = gx * gx + gy * gy;
    const double nearer = (g[1].angle - g[2].angle) * gy - (g[3].angle - g[4].angle) * gx,
                 way = nearer < 0.0 ? -1.0 : 1.0;
    const struct line line = {
        x - g[0].off * gx / square, y - g[0].off * gy / square, {way * gy / sqrt(square), -way * gx / sqrt(square)}};
    return line;
}

/** How far along the line windows of a level are most alike, in px of level 0. Returns 0: none are. */
static int alike_at(uint32_t i, const struct line *line, double *shift)
{
    const int32_t level = points(0)[i].level;
    const double size = size_of(level), x = (line->x + 0.5) / size - 0.5, y = (line->y + 0.5) / size - 0.5;
    struct patch own, other;
    double cost[11];
    int least = 0;
    if (!cut_out(&own, 0, level, points(0)[i].u, points(0)[i].v)) return 0;
    for (int k = 0; k < 11; k++) {
        if (!cut_out(&other, 1, level, x + (k - 5) * line->along[0], y + (k - 5) * line->along[1])) return 0;
        cost[k] = cost_of(&own, &other);
        if (cost[k] < cost[least]) least = k;
    }
    for (int k = 0; k < 11; k++) /* between neighbours the place is the same from both */
        if (k != least && cost[k] < cost[least] * 1.03 + 30000.0 &&
            (abs(k - least) > 1 || least % 10 == 0 || k % 10 == 0))
            unsure = 1;
    if (least % 10 == 0) return 0;
    const double before = cost[least - 1] - cost[least], after = cost[least + 1] - cost[least],
                 steepest = fmax(before, after);
    unsure |= steepest < 150000.0 || fmin(before, after) < 5000.0; /* where both are equal, there is no place */
    *shift = size * (least - 5 + (before - after) / 2.0 / steepest);
    return 1;
}

/** By how much windows are apart, from a straight line through differences over slopes, on columns or rows first..last. */
static double regression(const struct patch *a, const double slope[121], const struct patch *b, int rows, int first,
                         int last)
{
    double n = 0.0, sx = 0.0, sy = 0.0, sxx = 0.0, sxy = 0.0;
    for (int k = 0; k < 121; k++) {
        const int at = rows ? k / 11 : k % 11;
        if (at < first || at > last) continue;
        n += 1.0;
        sx += slope[k];
        sy += b->grey[k] - a->grey[k];
    }
    for (int k = 0; k < 121; k++) {
        const int at = rows ? k / 11 : k % 11;
        if (at < first || at > last) continue;
        sxx += (slope[k] - sx / n) * (slope[k] - sx / n);
        sxy += (slope[k] - sx / n) * (b->grey[k] - a->grey[k] - sy / n);
    }
    unsure |= sxx / n < 1.0; /* then slopes rounded to 1/8 grey level say little */
    return -sxy / sxx;
}

/** Moves on from there on level 0. Returns the cost at the end, or a negative number. */
static double settled(uint32_t i, const struct line *line, double *shift)
{
    const double from = *shift, x = known[0][i].x, y = known[0][i].y;
    const int rows = fabs(line->along[1]) > fabs(line->along[0]);
    struct patch own, ahead, behind, other;
    double slope[121];
    unsure |= fabs(fabs(line->along[0]) - fabs(line->along[1])) < 0.01;
    const int inside = cut_out(&own, 0, 0, x, y) && cut_out(&ahead, 0, 0, x + line->along[0], y + line->along[1]);
    if (!inside || !cut_out(&behind, 0, 0, x - line->along[0], y - line->along[1])) return -1.0;
    for (int k = 0; k < 121; k++) slope[k] = (ahead.grey[k] - behind.grey[k]) / 2.0;
    for (int turn_of = 0; turn_of < 3; turn_of++) {
        if (turn_of && !is_at_most(fabs(*shift - from), 1.5, 0.06)) return -1.0;
        if (!cut_out(&other, 1, 0, line->x + *shift * line->along[0], line->y + *shift * line->along[1])) return -1.0;
        if (turn_of < 2) *shift += regression(&own, slope, &other, rows, 0, 10);
    }
    const double apart = fabs(regression(&own, slope, &other, rows, 0, 4) -
                              regression(&own, slope, &other, rows, 6, 10));
    const int agree = !step.tuning.stereo_apart_mpx || is_at_most(apart, step.tuning.stereo_apart_mpx / 1000.0, 0.06);
    return agree ? cost_of(&own, &other) : -1.0;
}

static struct {
    int there, none, unsure;
    double worst;
} compared;

/** The place of a point whose partner is j: whether there is one, where, and what its cost is. */
static void compare_place(const char *what, uint32_t i, uint32_t j)
{
    const struct line line = line_at(known[0][i].bearing, known[1][j].x, known[1][j].y);
    const vfront_depth_t *is = &memory.stereo.candidate[i];
    const double focal = (rig.camera[1].fx_px + rig.camera[1].fy_px) / 2.0;
    double shift = 0.0, before = 0.0, cost = -1.0, ray[3];
    unsure = 0;
    if (alike_at(i, &line, &before)) cost = settled(i, &line, (shift = before, &shift));
    const double px[2] = {line.x + shift * line.along[0], line.y + shift * line.along[1]};
    if (cost >= 0.0 && (!vf_lens_bearing(&rig.lens[1], px, ray) ||
                        !is_at_most(step.tuning.stereo_least_mpx / 1000.0,
                                    focal * tan(geometry_of(known[0][i].bearing, ray).angle), 0.1)))
        cost = -1.0;
    compared.unsure += unsure;
    if (unsure) return;
    REQUIRE((memory.stereo.cost[i] != UINT32_MAX) == (cost >= 0.0), "%s: point %u: cost %u, should be %g", what, i,
            memory.stereo.cost[i], cost);
    compared.there += cost >= 0.0;
    compared.none += cost < 0.0;
    if (cost < 0.0) return;
    const double off = hypot((double)is->x_px - px[0], (double)is->y_px - px[1]);
    compared.worst = fmax(compared.worst, off);
    REQUIRE(off < 0.02 + 0.06 * fabs(shift - before), "%s: point %u of level %d at %.3f %.3f, should be %.3f %.3f",
            what, i, points(0)[i].level, (double)is->x_px, (double)is->y_px, px[0], px[1]);
    struct patch own, other;
    cut_out(&own, 0, 0, known[0][i].x, known[0][i].y);
    cut_out(&other, 1, 0, (double)is->x_px, (double)is->y_px);
    cost = cost_of(&own, &other); /* where the stage found it; windows are read at 1/256 px */
    REQUIRE(fabs(cost - memory.stereo.cost[i]) < 0.02 * cost + 30000.0, "%s: point %u: cost %u, should be %g", what, i,
            memory.stereo.cost[i], cost);
}

/** Runs the stage, and looks at the places of all partners. */
static void run_and_compare(const char *what)
{
    run_and_check(what);
    for (uint32_t i = 0; i < *count_of(0); i++) {
        const uint32_t j = memory.stereo.found[i] & 0xffff;
        if (memory.stereo.found[i] == UINT32_MAX || (memory.stereo.back[j] & 0xffff) != i) continue;
        compare_place(what, i, j);
    }
}

#define BINS 10
struct place_figures {
    double square, sum, worst, depth, bin[BINS];
    int there, depths, in_bin[BINS];
    int gross; /* more than 1 px off: no place at all. They go into no other figure */
};

/** How far a place lies from the true one along the line, in px of level 0, and how many standard deviations its depth is off. */
static void note_place(struct place_figures *f, const vfront_depth_t *d)
{
    const uint32_t i = d->keypoint;
    const double size = known[0][i].size, x = (double)d->x_px - truth[i][0], y = (double)d->y_px - truth[i][1];
    double far[2];
    if (!seen_by_other(known[0][i].bearing, 1.01 * true_depth[i] / known[0][i].bearing[2], far)) return;
    const double ux = truth[i][0] - far[0], uy = truth[i][1] - far[1], u = hypot(ux, uy), error = (x * ux + y * uy) / u;
    f->depths++;
    if (fabs(error) > 1.0) {
        f->gross++;
        return;
    }
    const double phase = (truth[i][0] - known[1][d->partner].x) / size + 0.5;
    const int bin = (int)((phase - floor(phase)) * BINS);
    f->square += error * error;
    f->sum += error;
    f->worst = fmax(f->worst, fabs(error));
    f->depth += pow(((double)d->depth_m - true_depth[i]) / (double)d->sigma_m, 2.0);
    f->bin[bin] += error;
    f->in_bin[bin]++;
}

static void look_at_wall(struct place_figures *f, int32_t levels, double sigma)
{
    draw(0, sigma);
    draw(1, sigma);
    vf_scale_host(&step);
    step.tuning.stereo_band_px = 8;
    step.tuning.stereo_cut_percent = 0;
    step.tuning.stereo_disparity_px = 400;
    f->there += (int)points_on_wall(POINTS, levels, 0, 2.0);
    run_and_compare("wall");
    for (uint32_t i = 0; i < memory.stereo.count; i++) note_place(f, &memory.stereo.depth[i]);
}

/** Of what was compared with places in double precision. */
static void print_compared(int there, int none)
{
    print_message("         beside double precision: %d depths, at most %.3f px off, %d without, %d too near a bound\n",
                  compared.there, compared.worst, compared.none, compared.unsure);
    assert_true(compared.there >= there && compared.none >= none &&
                compared.unsure < (compared.there + compared.none) / 2);
    memset(&compared, 0, sizeof compared);
}

static double print_places(const char *what, const struct place_figures *f)
{
    const int good = f->depths - f->gross;
    const double rms = sqrt(f->square / good);
    print_message("         %-46s %5d of %5d, error %.4f px rms, %+.4f mean, %.3f worst; %.2f sigma rms; %d gross\n",
                  what, f->depths, f->there, rms, f->sum / good, f->worst, sqrt(f->depth / good), f->gross);
    assert_true(f->gross <= f->depths / 100 && sqrt(f->depth / good) < 0.6);
    return rms;
}

static void print_bias(const struct place_figures *f)
{
    print_message("         mean error by phase of the true place between pixels, from -0.5 px:");
    for (int i = 0; i < BINS; i++) print_message(" %+.3f", f->bin[i] / (f->in_bin[i] ? f->in_bin[i] : 1));
    print_message("\n");
}

/** Walls before a rig: facing it or slanted by up to `slant`; rolls and focal lengths such that windows are neither turned nor of another
 *  size. */
static void look_at_walls(struct place_figures *f, enum kind kind, double slant, int all, double sigma)
{
    static const double z_axis[3] = {0, 0, 1};
    memset(f, 0, sizeof *f);
    for (int round = 0; round < 2; round++) {
        if (!set_up_rig(kind)) skip();
        const double side[3] = {0.1, 0.02, 0.01};
        if (kind == ROLLED) place(z_axis, real(-0.05, 0.05), side);
        rig.camera[1].fx_px = rig.camera[1].fy_px = rig.camera[0].fx_px * real(0.99, 1.01);
        finish_rig();
        build_wall(length(rig.t) * real(8, 16), real(-slant, slant), real(0, 3.14), 5.0);
        look_at_wall(f, all ? step.geometry.scales : 1, sigma);
    }
}

/** Rigs, slants, levels, and noise of pictures: where the surroundings of a point are found. */
static void places_on_walls(void **state)
{
    static const struct {
        int all;
        double slant, sigma, bound;
    } way[] = {{0, 0.0, 0.0, 0.045}, {1, 0.0, 3.0, 0.06}, {0, 0.6, 3.0, 0.075}, {1, 0.6, 0.0, 0.11}};
    int within = 1;
    (void)state;
    shake(5);
    scribble_arena();
    shake(5); /* arenas of every config take another number of rolls */
    for (int kind = 0; kind < FORWARD; kind++)
        for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
            struct place_figures f;
            char what[64];
            look_at_walls(&f, (enum kind)kind, way[i].slant, way[i].all, way[i].sigma);
            snprintf(what, sizeof what, "%s, %s, slant %.1f, noise %.0f", rig_name[kind],
                     way[i].all ? "all levels" : "level 0", way[i].slant, way[i].sigma);
            within &= print_places(what, &f) <=
                      way[i].bound + (kind >= FISHEYE ? 0.04 : 0.0); /* lenses bend what is in a window */
            assert_true(f.depths > 0.85 * f.there && f.there > 300);
        }
    print_compared(5000, 20);
    assert_true(within);
}

/** Rectified pinholes before a wall that faces them: no interpolation across rows, one disparity; the curve of the bias. */
static void places_of_rectified_pairs(void **state)
{
    (void)state;
    shake(6);
    for (int finest = 4; finest <= 12; finest *= 3) {
        struct place_figures f;
        char what[64];
        memset(&f, 0, sizeof f);
        for (int round = 0; round < 6; round++) {
            if (!set_up_rig(RECTIFIED)) skip();
            build_wall(length(rig.t) * rig.camera[0].fx_px / (12.0 + round / 6.0), 0.0, 0.0, finest);
            look_at_wall(&f, 1, 0.0);
        }
        snprintf(what, sizeof what, "rectified, waves from %d px", finest);
        assert_true(print_places(what, &f) < 0.02);
        print_bias(&f);
        assert_true(f.depths > 0.95 * f.there && fabs(f.sum / f.depths) < 0.005);
    }
    print_compared(2000, 0);
}

/* ---- pictures that contradict themselves ------------------------------------------------------------------------- */

/** Pinholes 300 px long, camera 1 to the right of camera 0 or below it, before a wall with a disparity. */
static void set_up_axis(int axis, double disparity_px, double finest_px)
{
    static const double z_axis[3] = {0, 0, 1};
    const double centre[2][3] = {{0.1, 0, 0}, {0, 0.1, 0}};
    for (int32_t c = 0; c < 2; c++) set_camera(c, VFRONT_LENS_RADTAN, 321, 241, 300);
    place(z_axis, 0, centre[axis]);
    finish_rig();
    step.tuning.stereo_band_px = 4;
    step.tuning.stereo_cut_percent = 0;
    build_wall(30.0 / disparity_px, 0.0, 0.0, finest_px);
}

/** Points on the edge of something nearer, and their partners where what is near is. The edge lies 40 px from the
 *  middle of camera 0. */
static void points_on_edge(double disparity_px)
{
    uint32_t n = 0;
    while (n < POINTS) {
        const double beside = 40.0 + real(-0.5, 0.5), other = real(-70, 70);
        const double x = 160.0 + (wall.axis ? other : beside), y = 120.0 + (wall.axis ? beside : other);
        const double moved[2] = {rig.t[0] != 0.0 ? disparity_px : 0.0, rig.t[1] != 0.0 ? disparity_px : 0.0};
        if (!put_point(0, n, 0, x, y, 14) || !put_point(1, n, 0, x - moved[0], y - moved[1], 14)) continue;
        scribble(&bits_of(0)[n], sizeof(vfront_descriptor_t));
        bits_of(1)[n] = bits_of(0)[n];
        angle_of(0)[n] = angle_of(1)[n] = (float)real(-3, 3);
        n++;
    }
    *count_of(0) = *count_of(1) = n;
}

/** The edge of something near in the middle of windows: what lies on both sides of it along the line moves apart, and goes when that is
 *  asked for; an edge along the line leaves both halves alike. Either way a place is what it is in double precision. */
static void halves_that_disagree(void **state)
{
    static const double more[] = {0.0, 0.4, 1.5};
    (void)state;
    shake(20);
    if (!fits(321, 241, 0)) skip();
    for (int way = 0; way < 12; way++) {
        const int axis = way / 3 % 2, along = way / 6; /* of the baseline; whether the edge lies along the line */
        uint32_t kept[2];
        set_up_axis(axis, 9.0, 20.0);
        wall.near = 30.0 / (9.0 + more[way % 3]);
        wall.axis = axis ^ along;
        wall.edge = 40.0 * wall.near / 300.0;
        draw(0, 0.0);
        draw(1, 0.0);
        points_on_edge(9.0 + more[way % 3]);
        for (int any = 0; any < 2; any++) {
            step.tuning.stereo_apart_mpx = any ? 0 : 800;
            run_and_compare("edge");
            kept[any] = memory.stereo.count;
        }
        print_message("         %s, edge %s it, %.1f px apart: %u of %u stay, %u without the test\n",
                      axis ? "down" : "across", along ? "along" : "across", more[way % 3], kept[0], *count_of(0),
                      kept[1]);
        assert_true(kept[0] <= kept[1] && kept[1] > *count_of(0) * 2 / 3);
        if (more[way % 3] == 0.0) assert_true(kept[0] == kept[1]);
        if (more[way % 3] < 0.5) assert_true(kept[0] > *count_of(0) * 2 / 3);
        if (more[way % 3] > 1.0) assert_true(along ? kept[0] > *count_of(0) / 4 : kept[0] < *count_of(0) / 5);
    }
    print_compared(2000, 300);
}

/** Level 0 of camera 1 shows the wall elsewhere than its other levels do: followed up to 1.5 px from where those say, and no farther. */
static void places_too_far_to_settle(void **state)
{
    (void)state;
    shake(21);
    if (!fits(321, 241, 0) || VFRONT_SCALES < 2) skip();
    for (int32_t twelfths = -30; twelfths <= 30; twelfths += 4) {
        const double off = twelfths / 12.0;
        uint32_t there = 0, coarse = 0, good = 0;
        set_up_axis(0, 10.0, 14.0);
        draw(0, 0.0);
        draw(1, 0.0);
        vf_scale_host(&step);
        points_on_wall(POINTS, vf_min(3, step.geometry.scales), 0, 1.0);
        for (int k = 0; k < WAVES; k++) wall.at[k][2] -= wall.at[k][0] * off * wall.distance / 300.0; /* to the right */
        draw(1, 0.0);
        run_and_compare("too far");
        for (uint32_t i = 0; i < *count_of(0); i++)
            coarse += points(0)[i].level > 0; /* the others are of level 0 all along */
        for (uint32_t n = 0; n < memory.stereo.count; n++) {
            const vfront_depth_t *d = &memory.stereo.depth[n];
            if (points(0)[d->keypoint].level == 0) continue;
            there++;
            good += fabs(truth[d->keypoint][0] + off - (double)d->x_px) < 0.2;
        }
        if (fabs(off) < 1.2) REQUIRE(good > coarse * 0.9, "off by %g: %u of %u", off, good, coarse);
        if (fabs(off) > 1.8) REQUIRE(there < coarse * 0.05, "off by %g: %u of %u", off, there, coarse);
    }
    print_compared(1000, 500);
}

/** Partners a level coarser are found when the tuning allows that, and then as well as others. */
static void partners_of_other_levels(void **state)
{
    (void)state;
    shake(22);
    if (!fits(321, 241, 0) || VFRONT_SCALES < 3) skip();
    for (int32_t levels = 0; levels < 3; levels++) {
        struct place_figures f;
        uint32_t partners = 0;
        memset(&f, 0, sizeof f);
        set_up_axis(1, 12.0, 6.0);
        draw(0, 1.0);
        draw(1, 1.0);
        vf_scale_host(&step);
        points_on_wall(POINTS, 3, 1, 1.0);
        step.tuning.stereo_levels = levels;
        run_and_compare("levels");
        for (uint32_t i = 0; i < *count_of(0); i++) partners += memory.stereo.found[i] != UINT32_MAX;
        for (uint32_t i = 0; i < memory.stereo.count; i++) note_place(&f, &memory.stereo.depth[i]);
        assert_int_equal(partners, levels ? *count_of(0) : *count_of(0) / 3);
        assert_true(memory.stereo.count > partners * 0.9 && sqrt(f.square / f.depths) < 0.05 && f.gross == 0);
    }
}

/** Brighter by a constant, nothing changes, not a bit: windows are compared less their means. */
static void brightness_does_not_matter(void **state)
{
    static struct vf_stereo_memory was;
    (void)state;
    shake(7);
    if (!set_up_rig(TOED_IN)) skip();
    build_wall(3.0, 0.3, 1.0, 6.0);
    draw(0, 0.0);
    draw(1, 0.0);
    const struct vf_level *l = &step.geometry.level[1][0];
    uint8_t *grey = memory.pyramid.pixels[step.parity][1];
    for (int32_t i = 0; i < l->pitch * l->height; i++) grey[i] = (uint8_t)vf_clamp(grey[i], 0, 200);
    points_on_wall(POINTS, 1, 0, 1.0);
    run_and_check("as it is");
    was = memory.stereo;
    assert_true(was.count > POINTS / 2);
    for (int32_t i = 0; i < l->pitch * l->height; i++) grey[i] = (uint8_t)(grey[i] + 55);
    run_and_check("brighter");
    assert_int_equal(memory.stereo.count, was.count);
    assert_memory_equal(memory.stereo.depth, was.depth, was.count * sizeof *was.depth);
    assert_memory_equal(memory.stereo.cost, was.cost, *count_of(0) * sizeof *was.cost);
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

/** A point and its partner 8 px to the left, as camera 1 has it; whether there is a depth. */
static int has_depth_at(int32_t u, int32_t v, int32_t x, int32_t y)
{
    assert_true(put_point(0, 0, 0, u, v, 0) && put_point(1, 0, 0, x, y, 0));
    scribble(bits_of(0), sizeof(vfront_descriptor_t));
    *bits_of(1) = *bits_of(0);
    *angle_of(0) = *angle_of(1) = 0.0f;
    *count_of(0) = *count_of(1) = 1;
    run();
    assert_int_equal(memory.stereo.found[0], 0);
    return memory.stereo.count == 1;
}

/** Whether windows of points lie within their pictures, with `more` px to spare: 5 px around the point and one more, for its slope
 *  one more to either side, and 5 more to either side of the partner. */
static int fits_windows(int32_t u, int32_t v, int32_t x, int32_t y, int32_t more)
{
    const vfront_camera_t *c0 = &rig.camera[0], *c1 = &rig.camera[1];
    const int left = u - 6 >= more && u + 7 < c0->width_px - more && v - 5 >= more && v + 6 < c0->height_px - more;
    return left && x - 10 >= more && x + 11 < c1->width_px - more && y - 5 >= more && y + 6 < c1->height_px - more;
}

/** Windows and shifts must lie within their levels: those of camera 1, which sees less than camera 0, and then those of camera 0. */
static void windows_at_the_border(void **state)
{
    static const double centre[3] = {0.1, 0, 0}, axis[3] = {0, 0, 1};
    int depths = 0, none = 0;
    (void)state;
    shake(9);
    if (!fits(361, 261, 0)) skip();
    for (int32_t wide = 0; wide < 2; wide++) {
        set_camera(0, VFRONT_LENS_RADTAN, 321, 241, 300);
        set_camera(1, VFRONT_LENS_RADTAN, wide ? 361 : 317, wide ? 261 : 237, 300);
        rig.camera[1].cx_px += wide ? 0.0 : 2.0;
        place(axis, 0, centre);
        finish_rig();
        step.tuning.stereo_band_px = 1;
        build_wall(30.0 / 8.0, 0.0, 0.0, 6.0);
        draw(0, 0.0);
        draw(1, 0.0);
        for (int edge = 0; edge < 70; edge++) {
            const int32_t u = edge % 2 ? between(0, 24) : between(296, 320);
            const int32_t v = edge % 4 < 2 ? between(12, 228) : edge % 8 < 4 ? roll(12) : 240 - roll(12);
            const int32_t x = u - 168 + (int32_t)rig.camera[1].cx_px, y = v - 120 + (int32_t)rig.camera[1].cy_px;
            if (x < 0 || y < 0 || x >= rig.camera[1].width_px || y >= rig.camera[1].height_px) continue;
            const int is = has_depth_at(u, v, x, y);
            if (!fits_windows(u, v, x, y, 0)) assert_false(is);
            if (fits_windows(u, v, x, y, 1)) REQUIRE(is, "no depth at %d %d", u, v);
            depths += is;
            none += !is;
        }
    }
    assert_true(depths > 20 && none > 20);
}

/** Without texture there is no depth: flat pictures, and stripes along the line. */
static void flat_windows(void **state)
{
    (void)state;
    shake(10);
    for (int way = 0; way < 3; way++) {
        if (!set_up_rig(RECTIFIED)) skip();
        build_wall(3.0, 0.0, 0.0, 6.0);
        points_on_wall(POINTS, 1, 0, way < 2 ? 1.0 : 0.0); /* beside its row, a partner's line is not quite a row */
        for (int32_t c = 0; c < 2; c++)
            for (int32_t y = 0; y < step.geometry.level[c][0].height; y++)
                memset(memory.pyramid.pixels[step.parity][c] + y * step.geometry.level[c][0].pitch,
                       way < 2 ? 100 * way : y * 37 % 256, (size_t)step.geometry.level[c][0].width);
        run_and_check("flat");
        uint32_t partners = 0;
        for (uint32_t i = 0; i < *count_of(0); i++) partners += memory.stereo.found[i] != UINT32_MAX;
        assert_true(partners > *count_of(0) / 2);
        assert_int_equal(memory.stereo.count, 0);
    }
}

/** A bright column in camera 0, and one in camera 1 that lies between two pixels: both are equally like it, so there is no least. */
static void two_alike(void **state)
{
    (void)state;
    if (!fits(321, 241, 0)) skip();
    shake(23);
    for (int between_px = 0; between_px < 2; between_px++) {
        set_up_axis(0, 10.0, 10.0);
        for (int32_t c = 0; c < 2; c++)
            for (int32_t y = 0; y < 241; y++)
                for (int32_t x = 0; x < 321; x++) {
                    const double off = x - (c ? 150.0 + between_px / 2.0 : 160.0);
                    uint8_t *row = memory.pyramid.pixels[step.parity][c] + y * step.geometry.level[c][0].pitch;
                    row[x] = (uint8_t)(20.0 + 200.0 * exp(-off * off / 9.0));
                }
        assert_int_equal(has_depth_at(160, 120, 151, 120), !between_px);
    }
}

/** Where the disparity is just beyond the 5 px that are tried, the least lies at the end, or nowhere near: no place is made up, although
 *  from there one could settle on it. */
static void partners_far_astray(void **state)
{
    uint32_t depths = 0, astray = 0;
    (void)state;
    shake(11);
    if (!set_up_rig(RECTIFIED)) skip();
    build_wall(length(rig.t) * rig.camera[0].fx_px / 20.0, 0.0, 0.0, 24.0);
    draw(0, 0.0);
    draw(1, 0.0);
    points_on_wall(POINTS, 1, 0, 0.0);
    for (uint32_t i = 0; i < *count_of(1); i++)
        put_point(1, i, 0, known[1][i].x + (i % 2 ? 6.0 : -6.0), known[1][i].y, 0);
    run_and_check("astray");
    depths = memory.stereo.count;
    for (uint32_t i = 0; i < depths; i++) {
        const vfront_depth_t *d = &memory.stereo.depth[i];
        astray += fabs((double)d->x_px - truth[d->keypoint][0]) > 1.0;
    }
    print_message("         %u of %u points astray have a depth\n", depths, *count_of(0));
    assert_true(depths <= *count_of(0) / 5 && astray == depths);
}

/** A few windows that look otherwise go, and only they, when there is a cut. */
static void the_cut(void **state)
{
    (void)state;
    shake(12);
    for (int percent = 0; percent <= 400; percent += 50) {
        if (!set_up_rig(RECTIFIED)) skip();
        build_wall(length(rig.t) * rig.camera[0].fx_px / 12.4, 0.0, 0.0, 6.0);
        draw(0, 3.0);
        draw(1, 3.0);
        step.tuning.stereo_band_px = 4;
        points_on_wall(POINTS, 1, 0, 1.0);
        const int32_t pitch = step.geometry.level[1][0].pitch;
        for (uint32_t i = 0; i < *count_of(0); i += 8) { /* something else there */
            uint8_t *at = memory.pyramid.pixels[step.parity][1] + (int32_t)truth[i][1] * pitch + (int32_t)truth[i][0];
            for (int32_t k = 0; k < 7; k++) memset(at + k * pitch, 255, 7);
        }
        step.tuning.stereo_cut_percent = 0;
        run_and_check("no cut");
        const uint32_t all = memory.stereo.count;
        step.tuning.stereo_cut_percent = percent;
        run_and_check("cut");
        assert_true(percent ? memory.stereo.count < all : memory.stereo.count == all);
        assert_true(percent < 200 || memory.stereo.count > all / 2);
    }
}

/* ---- through the public interface -------------------------------------------------------------------------------- */

#if VFRONT_HOST
static vfront_t front;

/** One frame of what was drawn for the rig, with extrinsics as a user gives them. */
static const vfront_result_t *shoot(const vfront_tuning_t *t)
{
    vfront_rig_t r;
    vfront_frame_t f;
    const vfront_result_t *out = NULL;
    vfront_shutdown(&front); /* of a test that failed */
    memset(&r, 0, sizeof r);
    memset(&f, 0, sizeof f);
    r.cameras = 2;
    f.t_ns = 1;
    for (int c = 0; c < 2; c++) {
        r.camera[c] = rig.camera[c];
        f.picture[c].data = memory.pyramid.pixels[step.parity][c];
        f.picture[c].width_px = r.camera[c].width_px;
        f.picture[c].height_px = r.camera[c].height_px;
        f.picture[c].pitch_bytes = (uint32_t)step.geometry.level[c][0].pitch;
    }
    memcpy(r.camera[1].R_cam_imu, rig.R, sizeof rig.R);
    memcpy(r.camera[1].t_cam_imu_m, rig.t, sizeof rig.t);
    REQUIRE(vfront_init(&front, &r, t, VFRONT_PORT_HOST) == VFRONT_OK, "%s", vfront_detail(&front));
    REQUIRE(vfront_step(&front, &f, &out) == VFRONT_OK, "%s", vfront_detail(&front));
    return out;
}

/** Depths of a result against the wall: most are there, and hardly any is more than three standard deviations off. */
static void check_wall_depths(const char *name, const vfront_result_t *r)
{
    uint32_t good = 0;
    double square = 0.0;
    for (uint32_t n = 0; n < r->depths_count; n++) {
        const vfront_depth_t *d = &r->depths[n];
        const vfront_keypoint_t *k = &r->keypoints[0][d->keypoint];
        const double px[2] = {(double)k->x_px, (double)k->y_px}, origin[3] = {0, 0, 0};
        double ray[3];
        assert_true(n == 0 || d->keypoint > r->depths[n - 1].keypoint);
        assert_true(vf_lens_bearing(&rig.lens[0], px, ray));
        const double off = ((double)d->depth_m - range_to_wall(origin, ray) * ray[2]) / (double)d->sigma_m;
        good += fabs(off) < 3.0;
        square += fabs(off) < 3.0 ? off * off : 0.0;
    }
    print_message("         %-10s %u key points, %u depths, %u good, %.2f sigma rms\n", name, r->keypoints_count[0],
                  r->depths_count, good, sqrt(square / good));
    assert_true(r->depths_count > r->keypoints_count[0] / 20 && good > 0.98 * r->depths_count &&
                sqrt(square / good) < 0.6);
}

/** Key points found, described and matched by the whole front end: rigs side by side, with noise in the pictures. */
static void depths_of_a_whole_step(void **state)
{
    vfront_tuning_t t;
    (void)state;
    shake(15);
    vfront_tuning_default(&t);
    t.describe_margin_px = 16;
    for (int kind = 0; kind < FORWARD; kind++) {
        if (kind == ROLLED) continue;
        if (!set_up_rig((enum kind)kind)) skip();
        build_wall(length(rig.t) * 10.0, 0.3, 0.7, 5.0);
        draw(0, 1.0);
        draw(1, 1.0);
        check_wall_depths(rig_name[kind], shoot(&t));
        vfront_shutdown(&front);
    }
}

/** No depths without a pair: not wanted, not described, not calibrated, or in one place. */
static void no_depths_without_a_pair(void **state)
{
    (void)state;
    shake(16);
    for (int why = 0; why < 6; why++) {
        vfront_tuning_t t;
        vfront_tuning_default(&t);
        if (!set_up_rig(RECTIFIED)) skip();
        build_wall(length(rig.t) * 10.0, 0.3, 0.7, 5.0);
        draw(0, 0.0);
        draw(1, 0.0);
        if (why == 1) t.stereo = 0;
        if (why == 2) t.describe = 0;
        if (why == 3) rig.camera[0].fx_px = rig.camera[0].fy_px = 0.0;
        if (why == 4) rig.camera[1].fx_px = rig.camera[1].fy_px = 0.0;
        if (why == 5) memset(rig.t, 0, sizeof rig.t);
        const vfront_result_t *r = shoot(&t);
        assert_true(r->keypoints_count[0] > 50 && (r->depths_count > 20) == (why == 0) &&
                    (why == 0 || r->depths_count == 0));
        vfront_shutdown(&front);
    }
}

/** Equal extrinsics are no pair, whatever is said: also where their rotation is one to a thousandth only. */
static void no_depths_in_one_place(void **state)
{
    const double R[9] = {1.0002, 0, 0, 0, 1, 0, 0, 0, 1};
    vfront_rig_t r;
    vfront_frame_t f;
    const vfront_result_t *out = NULL;
    (void)state;
    vfront_shutdown(&front); /* of a test that failed */
    shake(17);
    if (!set_up_rig(RECTIFIED)) skip();
    build_wall(3.0, 0.0, 0.7, 5.0);
    draw(0, 0.0);
    memset(&r, 0, sizeof r);
    memset(&f, 0, sizeof f);
    r.cameras = 2;
    f.t_ns = 1;
    for (int c = 0; c < 2; c++) {
        r.camera[c] = rig.camera[0];
        r.camera[c].t_cam_imu_m[0] = 80.0;
        memcpy(r.camera[c].R_cam_imu, R, sizeof R);
        f.picture[c].data = memory.pyramid.pixels[step.parity][0] + 8 * c;
        f.picture[c].width_px = r.camera[c].width_px -= 8;
        f.picture[c].height_px = r.camera[c].height_px;
        f.picture[c].pitch_bytes = (uint32_t)step.geometry.level[0][0].pitch;
    }
    REQUIRE(vfront_init(&front, &r, NULL, VFRONT_PORT_HOST) == VFRONT_OK, "%s", vfront_detail(&front));
    REQUIRE(vfront_step(&front, &f, &out) == VFRONT_OK, "%s", vfront_detail(&front));
    const uint32_t points = out->keypoints_count[0], depths = out->depths_count;
    vfront_shutdown(&front);
    assert_true(points > 50);
    assert_int_equal(depths, 0);
}
#endif

/* ---- hard ones --------------------------------------------------------------------------------------------------- */

/** The other camera in the middle of the picture, points at and around it; and points without a bearing: finite, or nothing. */
static void around_the_epipole(void **state)
{
    (void)state;
    shake(13);
    for (int round = 0; round < 12; round++) {
        if (!set_up_rig(FORWARD)) skip();
        double minus[3], at[2], here[3];
        for (int k = 0; k < 3; k++) minus[k] = -rig.t[k];
        scribble(memory.pyramid.pixels[step.parity], sizeof memory.pyramid.pixels[0]);
        if (!vf_lens_project(&rig.lens[1], rig.t[2] > 0 ? rig.t : minus, at)) continue;
        for (int k = 0; k < 3; k++) here[k] = rig.R[k] * rig.t[0] + rig.R[3 + k] * rig.t[1] + rig.R[6 + k] * rig.t[2];
        for (int k = 0; k < 3 && here[2] < 0; k++) here[k] = -here[k];
        double first[2];
        assert_true(vf_lens_project(&rig.lens[0], here, first));
        for (uint32_t i = 0; i < 50; i++) {
            for (int c = 0; c < 2; c++)
                while (!put_point(c, i, 0, (c ? at : first)[0] + between(-12, 12),
                                  (c ? at : first)[1] + between(-12, 12), 12))
                    continue;
            if (i % 10 == 9) memset(points(roll(2))[i].bearing, 0, sizeof(float[3]));
            if (i % 10 == 8) memcpy(points(0)[i].bearing, step.geometry.pair.epipole, sizeof(float[3]));
            scribble(&bits_of(0)[i], sizeof(vfront_descriptor_t));
            bits_of(1)[i] = bits_of(0)[i];
            angle_of(0)[i] = angle_of(1)[i] = 0.0f;
        }
        *count_of(0) = *count_of(1) = 50;
        step.tuning.stereo_band_px = 64;
        step.tuning.stereo_disparity_px = 4096;
        step.tuning.stereo_cut_percent = 0;
        run_and_check("epipole");
        for (uint32_t i = 9; i < 50; i += 10) { /* who has no bearing finds nobody, and is found by nobody */
            if (length((double[3]){points(0)[i].bearing[0], points(0)[i].bearing[1], points(0)[i].bearing[2]}) < 0.5)
                assert_int_equal(memory.stereo.found[i], UINT32_MAX);
            else
                assert_int_equal(memory.stereo.back[i], UINT32_MAX);
        }
    }
}

/** As many points as there can be, on the largest pictures, all alike: within bounds, and the first of equals is taken. */
static void most_points(void **state)
{
    (void)state;
    shake(14);
    if (VFRONT_KEYPOINTS > 4096) skip();
    set_camera(0, VFRONT_LENS_RADTAN, VFRONT_WIDTH, VFRONT_HEIGHT, VFRONT_WIDTH);
    set_camera(1, VFRONT_LENS_RADTAN, VFRONT_WIDTH, VFRONT_HEIGHT, VFRONT_WIDTH);
    place((const double[3]){0, 0, 1}, 0.0, (const double[3]){0.2, 0, 0});
    finish_rig();
    step.tuning.stereo_band_px = 64;
    step.tuning.stereo_disparity_px = 4096;
    memset(bits_of(0), 0, VFRONT_KEYPOINTS * sizeof(vfront_descriptor_t));
    memset(bits_of(1), 0, VFRONT_KEYPOINTS * sizeof(vfront_descriptor_t));
    for (uint32_t i = 0; i < VFRONT_KEYPOINTS; i++)
        for (int32_t c = 0; c < 2; c++) {
            put_point(c, 0, 0, real(0, VFRONT_WIDTH - 1), VFRONT_HEIGHT / 2 + roll(2), 0);
            points(c)[i] = points(c)[0];
            angle_of(c)[i] = 0.0f;
        }
    *count_of(0) = *count_of(1) = VFRONT_KEYPOINTS;
    run();
    uint32_t looked = 0;
    for (uint32_t j = 0; j < VFRONT_KEYPOINTS; j++) looked += memory.stereo.back[j] != UINT32_MAX;
    assert_true(looked > VFRONT_KEYPOINTS / 2 && memory.stereo.count <= VFRONT_KEYPOINTS);
    for (uint32_t n = 0; n < memory.stereo.count; n++) assert_true(isfinite(memory.stereo.depth[n].depth_m));
}

#endif

int main(void)
{
#if VFRONT_STEREO
    const struct CMUnitTest test[] = {
        cmocka_unit_test(search_of_all_rigs),
        cmocka_unit_test(known_ratios),
        cmocka_unit_test(nothing_to_do),
        cmocka_unit_test(known_depths),
        cmocka_unit_test(depths_by_hand),
        cmocka_unit_test(disparity_bounds),
        cmocka_unit_test(places_on_walls),
        cmocka_unit_test(places_of_rectified_pairs),
        cmocka_unit_test(halves_that_disagree),
        cmocka_unit_test(places_too_far_to_settle),
        cmocka_unit_test(partners_of_other_levels),
        cmocka_unit_test(brightness_does_not_matter),
        cmocka_unit_test(windows_at_the_border),
        cmocka_unit_test(flat_windows),
        cmocka_unit_test(two_alike),
        cmocka_unit_test(partners_far_astray),
        cmocka_unit_test(the_cut),
#if VFRONT_HOST
        cmocka_unit_test(depths_of_a_whole_step),
        cmocka_unit_test(no_depths_without_a_pair),
        cmocka_unit_test(no_depths_in_one_place),
#endif
        cmocka_unit_test(around_the_epipole),
        cmocka_unit_test(most_points),
    };
    return cmocka_run_group_tests_name("stereo", test, NULL, NULL);
#else
    printf("stereo: SKIPPED, the config has no stereo\n");
    return 77;
#endif
}
