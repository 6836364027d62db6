/* SPDX-License-Identifier: MIT */
/* stereo: the search against every pair of points in double precision, with the plane of a pair from the essential matrix; depth and its
 * standard deviation against triangulation, and its derivative, in double precision; places to sub-pixel on pictures of textured planes that
 * are drawn exactly for both cameras. */
#include "stand.h"

#if VFRONT_STEREO

/* ---- vectors --------------------------------------------------------------------------------------------------------------- */

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

/* ---- rigs ------------------------------------------------------------------------------------------------------------------ */

enum kind { RECTIFIED, TOED_IN, ROLLED, VERTICAL, FISHEYE, BARREL, FORWARD, RIGS };
static const char *const rig_name[RIGS] = {"rectified", "toed in", "rolled", "vertical", "fisheye", "barrel", "forward"};

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
    for (int i = 0; i < 2 && kind == BARREL; i++) memcpy(rig.camera[i].distortion, (double[8]){-0.2834, 0.0739, 2e-4, 2e-5}, 64);
    for (int i = 0; i < 2 && kind == FISHEYE; i++) memcpy(rig.camera[i].distortion, (double[8]){0.003, 0.0007, -0.002, 0.0002}, 64);
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

/* ---- points ---------------------------------------------------------------------------------------------------------------- */

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
static double centre_of(int32_t u, int32_t level) { return floor(((u + 0.5) * size_of(level) - 0.5) * 65536.0) / 65536.0; }

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
    struct vf_point p = {{(float)k->bearing[0], (float)k->bearing[1], (float)k->bearing[2]}, (int32_t)(k->x * 65536.0),
                         (int32_t)(k->y * 65536.0), (int16_t)u, (int16_t)v, level, (float)k->size};
    points(camera)[i] = p;
    return 1;
}

/** Where camera 1 sees what lies `range` along a ray of camera 0. Returns whether it does. */
static int seen_by_other(const double bearing[3], double range, double px[2])
{
    double p[3];
    turn(rig.R, bearing, p);
    for (int k = 0; k < 3; k++) p[k] = p[k] * range + rig.t[k];
    return vf_lens_project(&rig.lens[1], p, px);
}

/* ---- oracle of the search -------------------------------------------------------------------------------------------------- */

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
    const int levels = abs(points(0)[i].level - points(1)[j].level) <= t->match_levels;
    if (!is_at_most(fabs(g.angle), acos(0.0), 1e-6)) return 0;
    const double disparity = focal * tan(g.angle), doubt = 1e-4 + 1e-6 * fabs(disparity);
    const int band = is_at_most(fabs(g.off) * focal, t->stereo_band_px * coarser, 1e-4);
    const int near = is_at_most(disparity, t->stereo_disparity_px, doubt), far = is_at_most(-disparity, t->stereo_band_px * coarser, doubt);
    return is_at_most(apart, t->match_turn_deg * acos(-1.0) / 180.0, 1e-5) && band && near && far && levels;
}

static uint32_t bits_between(uint32_t i, uint32_t j)
{
    uint32_t differ = 0;
    for (int bit = 0; bit < 256; bit++) differ += (bits_of(0)[i].word[bit / 32] ^ bits_of(1)[j].word[bit / 32]) >> bit % 32 & 1;
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
        if (differ[i][j] <= (uint32_t)step.tuning.match_distance && (best < 0 || differ[i][j] < differ[i][best])) best = (int32_t)j;
    for (uint32_t j = 0; j < *count_of(1) && best >= 0; j++)
        if (is_elsewhere((uint32_t)best, j) && differ[i][j] < second) second = differ[i][j];
    if (best >= 0 && step.tuning.match_ratio_percent < 100 && differ[i][best] > second * step.tuning.match_ratio_percent / 100.0) best = -1;
    return best;
}

/** The point of camera 0 that differs least from a point of camera 1, of those that may look at it; -1: none. */
static int32_t looker_at(uint32_t j)
{
    int32_t best = -1;
    for (uint32_t i = 0; i < *count_of(0); i++)
        if (differ[i][j] <= (uint32_t)step.tuning.match_distance && (best < 0 || differ[i][j] < differ[best][j])) best = (int32_t)i;
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
        while (!put_point(1, j, roll(step.geometry.scales), roll(rig.camera[1].width_px), roll(rig.camera[1].height_px), 0)) continue;
        j--;
    }
    return moved;
}

/* ---- what holds of every result -------------------------------------------------------------------------------------------- */

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
    return step.tuning.stereo_cut_percent && memory.stereo.cost[i] * 100.0 > (double)cost[n / 2] * step.tuning.stereo_cut_percent;
}

static void check_depth(const vfront_depth_t *d)
{
    const uint32_t i = d->keypoint, j = d->partner;
    assert_true(i < *count_of(0) && j < *count_of(1) && d->reserved == 0);
    assert_int_equal(memory.stereo.found[i], (uint32_t)d->distance << 16 | j);
    assert_int_equal(memory.stereo.back[j], (uint32_t)d->distance << 16 | i);
    assert_int_equal(d->distance, bits_between(i, j));
    REQUIRE(isfinite(d->depth_m) && isfinite(d->sigma_m) && d->sigma_m > 0.0f, "depth %g, sigma %g", (double)d->depth_m, (double)d->sigma_m);
    assert_true((d->depth_m > 0.0f) == (points(0)[i].bearing[2] > 0.0f));
    assert_true(d->x_px > 0.0f && d->x_px < (float)rig.camera[1].width_px && d->y_px > 0.0f && d->y_px < (float)rig.camera[1].height_px);
}

/** The list: what has a cost and is not cut, by rising point; mutual, no partner twice; and nothing but the stage's own is written. */
static void run_and_check(const char *what)
{
    struct vf_stereo_memory *is = &memory.stereo, *should = &expected.stereo;
    uint32_t n = 0;
    memset(is->back, 0xff, sizeof is->back);
    memcpy(&expected, &memory, sizeof memory);
    vf_stereo_host(&step);
    for (uint32_t i = 0; i < *count_of(0); i++) {
        if (is->cost[i] == UINT32_MAX || is_cut(i)) continue;
        REQUIRE(n < is->count && is->depth[n].keypoint == i, "%s: point %u is not in place %u of %u", what, i, n, is->count);
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

/* ---- the search ------------------------------------------------------------------------------------------------------------ */

static void flip_bits(vfront_descriptor_t *d, int32_t bits)
{
    for (; bits > 0; bits--) {
        const int32_t bit = roll(256);
        d->word[bit / 32] ^= 1u << bit % 32;
    }
}

/** A point of camera 1 for point i of camera 0: near what it may see, at any depth and level, with a descriptor like its own. */
static int put_partner(uint32_t i, uint32_t j)
{
    double px[2];
    const int32_t level = vf_clamp(points(0)[i].level + between(-1, 1) * roll(2), 0, step.geometry.scales - 1);
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
    scribble(&like, sizeof like);
    for (uint32_t i = 0; i < left;) {
        if (!put_point(0, i, roll(step.geometry.scales), real(0, rig.camera[0].width_px), real(0, rig.camera[0].height_px), 0)) continue;
        scribble(&bits_of(0)[i], sizeof like);
        if (alike) bits_of(0)[i] = like;
        angle_of(0)[i] = (float)real(-3.14159, 3.14159);
        i++;
    }
    for (uint32_t j = 0; j < right; j++) {
        for (int n = 0; n < 1000 && !(left && put_partner((uint32_t)roll((int32_t)left), j)); n++) continue;
        if (!left) put_point(1, j, 0, 100, 100, 0);
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
    t->match_distance = roll(4) ? between(20, 90) : roll(257);
    t->match_ratio_percent = roll(4) ? between(60, 100) : between(1, 100);
    t->match_turn_deg = roll(4) ? between(10, 60) : between(1, 180);
    t->match_levels = roll(3) ? 1 : roll(8);
}

static int compare_search(const char *what)
{
    int partners = 0;
    for (uint32_t i = 0; i < *count_of(0); i++) {
        const int32_t best = choice_of(i);
        const uint32_t should = best < 0 ? UINT32_MAX : differ[i][best] << 16 | (uint32_t)best;
        REQUIRE(memory.stereo.found[i] == should, "%s: point %u found %x, should be %x", what, i, memory.stereo.found[i], should);
        partners += best >= 0 && looker_at((uint32_t)best) == (int32_t)i;
        if (best < 0 || looker_at((uint32_t)best) != (int32_t)i) assert_int_equal(memory.stereo.cost[i], UINT32_MAX);
    }
    for (uint32_t j = 0; j < *count_of(1); j++) {
        const int32_t best = looker_at(j);
        const uint32_t should = best < 0 ? UINT32_MAX : differ[best][j] << 16 | (uint32_t)best;
        REQUIRE(memory.stereo.back[j] == should, "%s: point %u was found by %x, should be %x", what, j, memory.stereo.back[j], should);
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
            if (round < 4) step.tuning.stereo_band_px = 2, step.tuning.stereo_disparity_px = 128, step.tuning.match_ratio_percent = 90;
            random_points(round == 5 ? 0 : (uint32_t)roll(POINTS), round == 6 ? 0 : (uint32_t)roll(POINTS), alike);
            moved += fill_pairs();
            run_and_check(rig_name[kind]);
            partners += compare_search(rig_name[kind]);
            left += (int)*count_of(0);
            depths += (int)memory.stereo.count;
        }
        print_message("         %-10s %d points, %d partners, %d depths in noise, %d points moved away from bounds\n", rig_name[kind], left,
                      partners, depths, moved);
        assert_true(partners > 60 || POINTS < 200);
    }
}

/** By hand: a partner that differs by 128 bits, and another that differs by more somewhere else, or none. */
static void known_ratios(void **state)
{
    static const struct {
        int32_t percent, other, found; /* bits of the other; -1: there is none */
    } way[] = {{50, -1, 1}, {49, -1, 0}, {50, 256, 1}, {50, 255, 0}, {51, 251, 1}, {51, 250, 0}, {99, 129, 0}, {100, 129, 1}, {100, 128, 1}};
    (void)state;
    shake(18);
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        if (!set_up_rig(RECTIFIED)) skip();
        step.tuning.match_distance = 256;
        step.tuning.match_ratio_percent = way[i].percent;
        assert_true(put_point(0, 0, 0, 150, 100, 0) && put_point(1, 0, 0, 140, 100, 0) && put_point(1, 1, 0, 130, 100, 0));
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

/* ---- depth ----------------------------------------------------------------------------------------------------------------- */

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
    if (px[0] < 20 || px[1] < 20 || px[0] > rig.camera[1].width_px - 20 || px[1] > rig.camera[1].height_px - 20) return 0.0;
    if (!vf_lens_bearing(&rig.lens[1], px, unused)) return 0.0;
    return step.geometry.focal_px[1] * tan(geometry_of(first, unused).angle);
}

/** A point of camera 0, and its partner up to 2 px from where it is seen. */
struct aim {
    struct vf_point a, b;
    struct vf_epipolar e;
    struct vf_strip strip;
};
static void take_aim(struct aim *aim, const double first[3], const double px[2])
{
    memset(aim, 0, sizeof *aim);
    aim->a.level = roll(step.geometry.scales);
    aim->a.step = (float)size_of(aim->a.level);
    for (int k = 0; k < 3; k++) aim->a.bearing[k] = (float)first[k];
    aim->b.x_q16 = (int32_t)((px[0] + real(-2, 2)) * 65536.0);
    aim->b.y_q16 = (int32_t)((px[1] + real(-2, 2)) * 65536.0);
    vf_bearing_at(&step, memory.bearing.node[1], 1, aim->b.x_q16, aim->b.y_q16, aim->b.bearing);
    aim->e = vf_stereo_epipolar(&step.geometry.pair, aim->a.bearing);
    assert_true(vf_stereo_strip(&step, memory.bearing.node[1], &aim->e, &aim->a, &aim->b, &aim->strip));
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
    vfront_depth_t is;
    take_aim(&aim, first, px);
    const double along[2] = {(double)aim.strip.along_u, (double)aim.strip.along_v}, size = size_of(aim.a.level);
    const double to[2] = {px[0] - aim.b.x_q16 / 65536.0 - (double)aim.strip.moved_x,
                          px[1] - aim.b.y_q16 / 65536.0 - (double)aim.strip.moved_y};
    const double shift = to[0] * along[0] + to[1] * along[1], off = fabs(to[0] * along[1] - to[1] * along[0]);
    assert_true(fabs(hypot(along[0], along[1]) - 1.0) < 1e-6);
    f->off_px = fmax(f->off_px, off);
    const int there = vf_stereo_depth(&step, memory.bearing.node[1], &aim.e, &aim.a, &aim.b, &aim.strip, (float)(shift / size), &is);
    REQUIRE(there, "no depth at %g m", range);
    REQUIRE(hypot((double)is.x_px - px[0], (double)is.y_px - px[1]) < off + 1e-3, "found at %f %f", (double)is.x_px, (double)is.y_px);
    note_depth(f, disparity, (double)is.depth_m, range * first[2]);
    const double sigma = sigma_of(first, px, along, step.tuning.stereo_sigma_mpx / 1000.0 * size);
    if (disparity >= 3.0) f->sigma = fmax(f->sigma, fabs((double)is.sigma_m - sigma) / sigma);
}

/** Depth of places that are known exactly, and its standard deviation. */
static void known_depths(void **state)
{
    (void)state;
    shake(3);
    print_message("%-10s %8s %36s %12s %12s\n", "rig", "points", "depth, from 10, 3, 1 px of disparity", "sigma", "off line px");
    for (int kind = 0; kind < RIGS; kind++) {
        struct depth_figures f;
        memset(&f, 0, sizeof f);
        for (int round = 0; round < 8; round++) {
            if (!set_up_rig((enum kind)kind)) skip();
            step.tuning.stereo_sigma_mpx = between(1, 3000);
            for (int n = 0; n < 1500; n++) check_known_depth(&f);
        }
        print_message("%-10s %8d %14.1e %10.1e %10.1e %12.1e %12.1e\n", rig_name[kind], f.points, f.worst[0], f.worst[1], f.worst[2],
                      f.sigma, f.off_px);
        assert_true(f.points > 1000 && f.near[0] > 300);
        assert_true(f.worst[0] <= 1e-3 && f.worst[2] < 1e-2);
        assert_true(f.sigma < (kind == FORWARD ? 0.2 : 0.05) && f.off_px < 0.2);
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
        assert_true(put_point(0, 0, 0, 160, 120, 0) && put_point(1, 0, 0, 160, 120, 0));
        const struct vf_epipolar e = vf_stereo_epipolar(&step.geometry.pair, points(0)->bearing);
        assert_true(vf_stereo_strip(&step, memory.bearing.node[1], &e, points(0), points(1), &strip));
        assert_true(fabs((double)strip.along_u + 1.0) < 1e-6 && strip.u_q16 == 160 << 16 && strip.v_q16 == 120 << 16);
        const int there = vf_stereo_depth(&step, memory.bearing.node[1], &e, points(0), points(1), &strip, (float)disparity, &is);
        if (disparity_q1 != 5) assert_int_equal(there, disparity > 2.5);
        if (!there) continue;
        const double depth = 30.0 / disparity, sigma = 30.0 / (disparity * disparity) * 0.3;
        REQUIRE(fabs((double)is.depth_m - depth) < 1e-4 * depth, "%g px: %g m", disparity, (double)is.depth_m);
        REQUIRE(fabs((double)is.sigma_m - sigma) < 0.02 * sigma, "%g px: sigma %g m, should be %g", disparity, (double)is.sigma_m, sigma);
        assert_true(fabs((double)is.x_px - 160.0 + disparity) < 1e-4 && fabs((double)is.y_px - 120.0) < 1e-4);
    }
}

/* ---- pictures of textured planes ------------------------------------------------------------------------------------------- */

#define WAVES 12

/** A plane through (0, 0, distance), with a texture that is a sum of waves. */
static struct {
    double normal[3], right[3], down[3], distance, at[WAVES][3];
} wall;

/** `finest_px`: the shortest wave, as seen from the distance at the focal length of camera 0. */
static void build_wall(double distance, double slant, double slant_about, double finest_px)
{
    double R[9];
    const double pixel = distance / rig.camera[0].fx_px;
    rotation_about(cos(slant_about), sin(slant_about), 0.0, slant, R);
    for (int k = 0; k < 3; k++) wall.right[k] = R[3 * k], wall.down[k] = R[3 * k + 1], wall.normal[k] = R[3 * k + 2];
    wall.distance = distance;
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
            const double range = range_to_wall(p, ray);
            for (int k = 0; k < 3; k++) p[k] += range * ray[k];
            const double grey = floor(shade_of(p) + noise(sigma) + 0.5);
            memory.pyramid.pixels[step.parity][camera][y * l->pitch + x] = (uint8_t)fmin(fmax(grey, 0.0), 255.0);
        }
}

/** True places in camera 1 of the points of camera 0. */
static double truth[POINTS][2], true_depth[POINTS];

/** Points on a plane that is not seen too slantingly, so that its texture is not too fine; and their partners, up to `astray` px of their
 *  level from where they are. Returns how many. */
static uint32_t points_on_wall(uint32_t wanted, int32_t levels, double astray)
{
    uint32_t n = 0;
    for (int tries = 0; tries < 20000 && n < wanted; tries++) {
        const int32_t level = roll(levels), margin = 14;
        const double origin[3] = {0, 0, 0};
        if (!put_point(0, n, level, real(0, rig.camera[0].width_px), real(0, rig.camera[0].height_px), margin)) continue;
        const double range = range_to_wall(origin, known[0][n].bearing);
        const double slanted = fabs(dot(known[0][n].bearing, wall.normal));
        if (range <= 0 || slanted < 0.7 || !seen_by_other(known[0][n].bearing, range, truth[n])) continue;
        true_depth[n] = range * known[0][n].bearing[2];
        const double off = astray * size_of(level);
        if (!put_point(1, n, level, truth[n][0] + real(-off, off), truth[n][1] + real(-off, off), margin)) continue;
        scribble(&bits_of(0)[n], sizeof(vfront_descriptor_t));
        bits_of(1)[n] = bits_of(0)[n];
        angle_of(0)[n] = angle_of(1)[n] = (float)real(-3, 3);
        n++;
    }
    *count_of(0) = *count_of(1) = n;
    return n;
}

#define BINS 10
struct place_figures {
    double square, sum, worst, depth, bin[BINS];
    int there, depths, in_bin[BINS];
    int gross; /* more than 1 px off: no place at all. They go into no other figure */
};

/** How far a place lies from the true one along the line, in px of the point's level, and how many standard deviations its depth is off. */
static void note_place(struct place_figures *f, const vfront_depth_t *d)
{
    const uint32_t i = d->keypoint;
    const double size = known[0][i].size, x = (double)d->x_px - truth[i][0], y = (double)d->y_px - truth[i][1];
    double far[2];
    if (!seen_by_other(known[0][i].bearing, 1.01 * true_depth[i] / known[0][i].bearing[2], far)) return;
    const double ux = truth[i][0] - far[0], uy = truth[i][1] - far[1], u = hypot(ux, uy), error = (x * ux + y * uy) / u / size;
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
    f->there += (int)points_on_wall(POINTS, levels, 2.0);
    run_and_check("wall");
    for (uint32_t i = 0; i < memory.stereo.count; i++) note_place(f, &memory.stereo.depth[i]);
}

static double print_places(const char *what, const struct place_figures *f)
{
    const int good = f->depths - f->gross;
    const double rms = sqrt(f->square / good);
    print_message("         %-46s %5d of %5d, error %.4f px rms, %+.4f mean, %.3f worst; %.2f sigma rms; %d gross\n", what, f->depths,
                  f->there, rms, f->sum / good, f->worst, sqrt(f->depth / good), f->gross);
    assert_true(f->gross <= f->depths / 33);
    return rms;
}

static void print_bias(const struct place_figures *f)
{
    print_message("         mean error by phase of the true place between pixels, from -0.5 px:");
    for (int i = 0; i < BINS; i++) print_message(" %+.3f", f->bin[i] / (f->in_bin[i] ? f->in_bin[i] : 1));
    print_message("\n");
}

/** Walls before a rig: facing it or slanted by up to `slant`; rolls small enough for windows that are not turned. */
static void look_at_walls(struct place_figures *f, enum kind kind, double slant, int all, double sigma)
{
    static const double z_axis[3] = {0, 0, 1};
    memset(f, 0, sizeof *f);
    for (int round = 0; round < 2; round++) {
        if (!set_up_rig(kind)) skip();
        if (kind == ROLLED) {
            const double side[3] = {0.1, 0.02, 0.01};
            place(z_axis, real(-0.05, 0.05), side);
            finish_rig();
        }
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
    } way[] = {{0, 0.0, 0.0, 0.13}, {1, 0.0, 3.0, 0.13}, {0, 0.6, 3.0, 0.17}, {1, 0.6, 0.0, 0.17}};
    int within = 1;
    (void)state;
    shake(5);
    scribble_arena();
    for (int kind = 0; kind < FORWARD; kind++)
        for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
            struct place_figures f;
            char what[64];
            look_at_walls(&f, (enum kind)kind, way[i].slant, way[i].all, way[i].sigma);
            snprintf(what, sizeof what, "%s, %s, slant %.1f, noise %.0f", rig_name[kind], way[i].all ? "all levels" : "level 0",
                     way[i].slant, way[i].sigma);
            within &= print_places(what, &f) <= way[i].bound;
            assert_true(f.depths > 0.8 * f.there && f.there > 300);
        }
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
        assert_true(print_places(what, &f) < 0.1);
        print_bias(&f);
        assert_true(f.depths > 0.95 * f.there && fabs(f.sum / f.depths) < 0.01);
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
    points_on_wall(POINTS, 1, 1.0);
    run_and_check("as it is");
    was = memory.stereo;
    assert_true(was.count > POINTS / 2);
    for (int32_t i = 0; i < l->pitch * l->height; i++) grey[i] = (uint8_t)(grey[i] + 55);
    run_and_check("brighter");
    assert_int_equal(memory.stereo.count, was.count);
    assert_memory_equal(memory.stereo.depth, was.depth, was.count * sizeof *was.depth);
    assert_memory_equal(memory.stereo.cost, was.cost, *count_of(0) * sizeof *was.cost);
}

/* ---- windows --------------------------------------------------------------------------------------------------------------- */

/** Cost of windows of 11 px in double precision: sum of absolute differences less the means, times 121, in 1/16 grey level. */
static double cost_of(int32_t u, int32_t v, double x, double y)
{
    const struct vf_level *l0 = &step.geometry.level[0][0], *l1 = &step.geometry.level[1][0];
    const uint8_t *p0 = memory.pyramid.pixels[step.parity][0], *p1 = memory.pyramid.pixels[step.parity][1];
    double difference[121], mean = 0.0, sum = 0.0;
    for (int k = 0; k < 121; k++) {
        const double sx = x + k % 11 - 5, sy = y + k / 11 - 5, fx = sx - floor(sx), fy = sy - floor(sy);
        const uint8_t *at = p1 + (int32_t)floor(sy) * l1->pitch + (int32_t)floor(sx);
        const double upper = at[0] * (1 - fx) + at[1] * fx, lower = at[l1->pitch] * (1 - fx) + at[l1->pitch + 1] * fx;
        difference[k] = p0[(v + k / 11 - 5) * l0->pitch + u + k % 11 - 5] - (upper * (1 - fy) + lower * fy);
        mean += difference[k] / 121.0;
    }
    for (int k = 0; k < 121; k++) sum += fabs(difference[k] - mean);
    return sum * 121.0 * 16.0;
}

/** Costs of rectified pairs, whose windows lie on the row of the point: the least of 11 shifts. */
static void costs_of_windows(void **state)
{
    (void)state;
    shake(8);
    if (!set_up_rig(RECTIFIED)) skip();
    build_wall(length(rig.t) * rig.camera[0].fx_px / 12.4, 0.0, 0.0, 5.0);
    draw(0, 4.0);
    draw(1, 4.0);
    step.tuning.stereo_band_px = 8;
    step.tuning.stereo_cut_percent = 0;
    points_on_wall(POINTS, 1, 2.0);
    run_and_check("costs");
    assert_true(memory.stereo.count > POINTS / 2);
    for (uint32_t n = 0; n < memory.stereo.count; n++) {
        const uint32_t i = memory.stereo.depth[n].keypoint, j = memory.stereo.depth[n].partner;
        double least = INFINITY;
        for (int shift = -5; shift <= 5; shift++)
            least = fmin(least, cost_of(points(0)[i].u, points(0)[i].v, known[1][j].x + shift, known[0][i].y));
        REQUIRE(fabs(least - memory.stereo.cost[i]) < 0.02 * least + 20000.0, "point %u: cost %u, should be %g", i, memory.stereo.cost[i],
                least);
    }
}

/** A point and its partner 8 px to the left, as camera 1 has it; whether there is a depth. */
static int has_depth_at(int32_t u, int32_t v, int32_t x, int32_t y)
{
    assert_true(put_point(0, 0, 0, u, v, 0) && put_point(1, 0, 0, x, y, 0));
    scribble(bits_of(0), sizeof(vfront_descriptor_t));
    *bits_of(1) = *bits_of(0);
    *angle_of(0) = *angle_of(1) = 0.0f;
    *count_of(0) = *count_of(1) = 1;
    run_and_check("border");
    assert_int_equal(memory.stereo.found[0], 0);
    return memory.stereo.count == 1;
}

/** Whether windows of points lie within their pictures, with `more` px to spare: 5 px around the point and one more, 5 more to either side
 *  of the partner. */
static int fits_windows(int32_t u, int32_t v, int32_t x, int32_t y, int32_t more)
{
    const vfront_camera_t *c0 = &rig.camera[0], *c1 = &rig.camera[1];
    const int left = u - 5 >= more && u + 6 < c0->width_px - more && v - 5 >= more && v + 6 < c0->height_px - more;
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
        points_on_wall(POINTS, 1, 1.0);
        for (int32_t c = 0; c < 2; c++)
            for (int32_t y = 0; y < step.geometry.level[c][0].height; y++)
                memset(memory.pyramid.pixels[step.parity][c] + y * step.geometry.level[c][0].pitch, way < 2 ? 100 * way : y * 37 % 256,
                       (size_t)step.geometry.level[c][0].width);
        run_and_check("flat");
        uint32_t partners = 0;
        for (uint32_t i = 0; i < *count_of(0); i++) partners += memory.stereo.found[i] != UINT32_MAX;
        assert_true(partners > *count_of(0) / 2);
        assert_int_equal(memory.stereo.count, 0);
    }
}

/** Where one disparity is beyond the 5 px that are tried, the least lies at the end, or nowhere near: no place is made up. */
static void partners_far_astray(void **state)
{
    uint32_t depths = 0, astray = 0;
    (void)state;
    shake(11);
    if (!set_up_rig(RECTIFIED)) skip();
    build_wall(length(rig.t) * rig.camera[0].fx_px / 20.0, 0.0, 0.0, 24.0);
    draw(0, 0.0);
    draw(1, 0.0);
    points_on_wall(POINTS, 1, 0.0);
    for (uint32_t i = 0; i < *count_of(1); i++) put_point(1, i, 0, known[1][i].x + (i % 2 ? 7.0 : -7.0), known[1][i].y, 0);
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
        points_on_wall(POINTS, 1, 1.0);
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

/* ---- through the public interface ------------------------------------------------------------------------------------------ */

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
    print_message("         %-10s %u key points, %u depths, %u good, %.2f sigma rms\n", name, r->keypoints_count[0], r->depths_count, good,
                  sqrt(square / good));
    assert_true(r->depths_count > r->keypoints_count[0] / 20 && good > 0.95 * r->depths_count);
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
        assert_true(r->keypoints_count[0] > 50 && (r->depths_count > 20) == (why == 0) && (why == 0 || r->depths_count == 0));
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

/* ---- hard ones ------------------------------------------------------------------------------------------------------------- */

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
                while (!put_point(c, i, 0, (c ? at : first)[0] + between(-12, 12), (c ? at : first)[1] + between(-12, 12), 12)) continue;
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
    memset(memory.stereo.back, 0xff, sizeof memory.stereo.back);
    vf_stereo_host(&step);
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
        cmocka_unit_test(places_on_walls),
        cmocka_unit_test(places_of_rectified_pairs),
        cmocka_unit_test(brightness_does_not_matter),
        cmocka_unit_test(costs_of_windows),
        cmocka_unit_test(windows_at_the_border),
        cmocka_unit_test(flat_windows),
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
