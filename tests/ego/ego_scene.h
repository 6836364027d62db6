/* SPDX-License-Identifier: MIT */
/* Scenes for the test of ego: correspondences of points under a known motion, with noise and outliers, stored as
 * matches in the memory of earlier stages. The camera is a pinhole of 800 px focal length. */
#ifndef TEST_EGO_SCENE_H
#define TEST_EGO_SCENE_H

#include "tests/fixture/rigid.h"

#include "ego/ego_assess.h"
#include "ego/ego_hypothesis.h"

#define FOCAL_PX 800.0
#define WIDTH 752
#define HEIGHT 480
#define MOST (VFRONT_KEYPOINTS < 1000 ? VFRONT_KEYPOINTS : 1000)

/* ---- scenes ------------------------------------------------------------------------------------------------------ */

static struct vf_ego_memory *const ego = &memory.ego;
static struct vf_params *const params = &memory.ingest.params;
static uint32_t *matches, *tracks;

static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

/** Fills the bearing grid with those of a pinhole camera: nodes 8 px apart, the first two outside the image. From
 *  column `blind` on they are invalid. */
static void make_grid(int32_t blind)
{
    const int32_t across = step.geometry.nodes_x[0], down = (int32_t)ceil(HEIGHT / 8.0) + 5;
    for (int32_t j = 0; j < down; j++)
        for (int32_t i = 0; i < across; i++) {
            double v[3] = {(8.0 * (i - 2) - WIDTH / 2.0) / FOCAL_PX, (8.0 * (j - 2) - HEIGHT / 2.0) / FOCAL_PX, 1.0};
            unit(v);
            memory.bearing.node[0][j * across + i] = (struct vf_node){(float)v[0], (float)v[1], (float)v[2], i < blind};
        }
}

/** Sets up a frame without correspondences, not the first one, with two cameras if the config has them. Skips the test
 *  if the config is too small. */
static void new_step(void)
{
    static int grown;
    if (!fits(WIDTH, HEIGHT, 768)) skip();
    set_up(VFRONT_CAMERAS, WIDTH, HEIGHT, 0);
    memset(params, 0, sizeof *params);
    params->frame = 7;
    for (int k = 0; k < 9; k++) params->R[k] = (float)identity[k];
    for (int k = 0; k < VFRONT_CAMERAS; k++) step.geometry.calibrated[k] = 1;
    step.geometry.focal_px[0] = (float)FOCAL_PX;
    step.geometry.pair.placed = VFRONT_CAMERAS > 1;
    step.tuning.describe = step.tuning.match = step.tuning.ego = 1;
    memset(ego->good, 0, sizeof ego->good);
    memset(ego->running_means, 0, sizeof ego->running_means);
    memset(ego->disparity, 0, sizeof ego->disparity);
    memset(memory.freeze.frames, 0, sizeof memory.freeze.frames);
    memset(memory.freeze.repeated, 0, sizeof memory.freeze.repeated);
    if (!grown++) make_grid(step.geometry.nodes_x[0]);
    matches = &memory.match.count;
    tracks = &memory.refill.counts[step.parity].count;
    *matches = *tracks = 0;
#if VFRONT_STEREO
    memset(memory.stereo.range_m, 0, sizeof memory.stereo.range_m);
    memset(memory.stereo.range_sigma_m, 0, sizeof memory.stereo.range_sigma_m);
    memset(memory.partner.range, 0, sizeof memory.partner.range);
    for (int i = 0; i < 2; i++) memory.stereo.pair[i].state = VFRONT_STEREO_GOOD;
#endif
}

static void put_bearing(float to[3], const double v[3])
{
    for (int k = 0; k < 3; k++) to[k] = (float)v[k];
}

/** Adds a match between two bearings, on pixels of a given size. Returns its index. */
static uint32_t put_match(const double before[3], const double now[3], int32_t distance, double size)
{
    const uint32_t i = (*matches)++;
    struct vf_point *b = &memory.bearing.point[step.parity ^ 1][0][i], *n = &memory.bearing.point[step.parity][0][i];
    REQUIRE(i < VFRONT_KEYPOINTS, "the test's own list is full");
    put_bearing(b->bearing, before);
    put_bearing(n->bearing, now);
    b->step = n->step = (float)size;
    memset(&memory.match.link[step.parity ^ 1][i], 0, sizeof memory.match.link[0][0]);
    memset(&memory.match.match[i], 0, sizeof memory.match.match[i]);
    memory.match.match[i].keypoint = memory.match.match[i].before = (uint16_t)i;
    memory.match.match[i].distance = (uint16_t)distance;
    memory.match.match[i].second = 256;
    memory.match.match[i].agrees = 99;
    put_bearing(memory.match.match[i].bearing, now);
    return i;
}

/** Gives a match its own position, refined by the tracker. */
static void put_refined_position(uint32_t i, const double now[3])
{
    memory.match.match[i].refined = 1;
    put_bearing(memory.match.match[i].bearing, now);
}

/** Sets the distances of a match, previous and current; 0: unknown. */
static void put_range(uint32_t i, double m, double sigma_m, double now_m, double now_sigma_m)
{
#if VFRONT_STEREO
    memory.stereo.range_m[step.parity ^ 1][i] = (float)m;
    memory.stereo.range_sigma_m[step.parity ^ 1][i] = (float)sigma_m;
    memory.stereo.range_m[step.parity][i] = (float)now_m;
    memory.stereo.range_sigma_m[step.parity][i] = (float)now_sigma_m;
#else
    (void)i, (void)m, (void)sigma_m, (void)now_m, (void)now_sigma_m;
#endif
}

/** Adds a track between two positions. m, sigma_m: its previous distance; 0: unknown. */
static void put_track(const double before_px[2], const double now_px[2], double m, double sigma_m)
{
    struct vf_feature *f = &memory.refill.feature[step.parity][*tracks];
    REQUIRE(*tracks < VFRONT_TRACKS, "the test's own list is full");
    memset(f, 0, sizeof *f);
    f->x_q16 = (int32_t)lround(now_px[0] * 65536.0);
    f->y_q16 = (int32_t)lround(now_px[1] * 65536.0);
    f->dx_q16 = f->x_q16 - (int32_t)lround(before_px[0] * 65536.0);
    f->dy_q16 = f->y_q16 - (int32_t)lround(before_px[1] * 65536.0);
    f->age = 1;
    f->template_index = (uint16_t)(VFRONT_TRACKS - 1 - (int32_t)(*tracks)++);
#if VFRONT_STEREO
    struct vf_partner_range *r = &memory.partner.range[step.parity ^ 1][f->template_index];
    r->inverse_1pm = m > 0.0 ? (float)(1.0 / m) : 0.0f;
    r->sigma_1pm = m > 0.0 ? (float)(sigma_m / (m * m)) : 0.0f;
#else
    (void)m, (void)sigma_m;
#endif
}

static void bearing_of(double x_px, double y_px, double v[3])
{
    v[0] = (x_px - WIDTH / 2.0) / FOCAL_PX;
    v[1] = (y_px - HEIGHT / 2.0) / FOCAL_PX;
    v[2] = 1.0;
    unit(v);
}

/** Projects a point. Returns 1 if it is in front of the camera and in the image. */
static int seen_at(const double p[3], double px[2])
{
    px[0] = p[0] / p[2] * FOCAL_PX + WIDTH / 2.0;
    px[1] = p[1] / p[2] * FOCAL_PX + HEIGHT / 2.0;
    return p[2] > 0.1 && px[0] >= 0 && px[1] >= 0 && px[0] < WIDTH && px[1] < HEIGHT;
}

/** Scene: arrangement of the points, motion of the camera, errors of the observations. */
enum shape { DEEP, WALL, GROUND }; /* DEEP: near to far; WALL: a plane ahead, inclined; GROUND: a plane below */
struct scene {
    struct rigid motion;
    enum shape shape;
    double near_m, far_m;
    double noise_px;      /* uniform noise, largest value along both axes, in both frames [px] */
    int outliers_percent; /* share of correspondences with random positions [%] */
    double within_px;     /* largest displacement of an outlier; 0: any */
    int other_percent;    /* share of correspondences of another motion [%] */
    struct rigid other;
    int ranges;  /* 1: points have distances, as from a stereo pair of 0.12 m baseline and disparities to 0.2 px */
    int tracked; /* 1: tracks instead of matches; no outliers */
};

static struct scene sideways(void)
{
    struct scene s;
    memset(&s, 0, sizeof s);
    any_rotation(real(0.0, 0.05), s.motion.R);
    any_direction(s.motion.t);
    s.motion.t[2] *= 0.2;
    unit(s.motion.t);
    for (int k = 0; k < 3; k++) s.motion.t[k] *= 0.4;
    s.near_m = 3.0;
    s.far_m = 20.0;
    s.noise_px = 0.5;
    return s;
}

static struct scene forward(void)
{
    struct scene s = sideways();
    s.motion.t[0] = real(-0.1, 0.1);
    s.motion.t[1] = real(-0.1, 0.1);
    s.motion.t[2] = real(0, 1) < 0.5 ? 0.8 : -0.8;
    return s;
}

/** The plane of a scene: n . X = 1. */
static const double wall[3] = {0.04, -0.03, 0.15}, ground[3] = {0.0, 0.5, 0.05};

/** Depth along z of the scene's point at a bearing; 0: none. */
static double depth_of(const struct scene *s, const double v[3])
{
    if (s->shape == DEEP) return 1.0 / real(1.0 / s->far_m, 1.0 / s->near_m);
    const double on = dot(s->shape == WALL ? wall : ground, v);
    return on > 0.01 ? v[2] / on : 0.0;
}

/** Distance and its standard deviation, as measured by a stereo pair. */
static double measured(double m, double z_per_m, double *sigma_m)
{
    const double base = 0.12 * FOCAL_PX, disparity = base / (m * z_per_m) + 0.2 * normal();
    *sigma_m = 0.0;
    if (disparity < 1.0) return 0.0;
    *sigma_m = base / (disparity * disparity) * 0.2 / z_per_m;
    return base / disparity / z_per_m;
}

/** Adds a correspondence of the scene under a motion. */
static void put_pair(const struct scene *s, const struct rigid *m)
{
    double v[3], p[3], q[3], px[2], at[2], z;
    do {
        at[0] = real(0, WIDTH);
        at[1] = real(0, HEIGHT);
        bearing_of(at[0], at[1], v);
        z = depth_of(s, v);
        for (int k = 0; k < 3; k++) p[k] = v[k] / v[2] * z;
        rotate(m->R, p, q);
        for (int k = 0; k < 3; k++) q[k] += m->t[k];
    } while (z == 0.0 || !seen_at(q, px));
    double before[3], now[3], sigma = 0.0, now_sigma = 0.0, range = 0.0, now_range = 0.0;
    const double e = s->noise_px;
    for (int k = 0; k < 2; k++) at[k] += real(-e, e);
    for (int k = 0; k < 2; k++) px[k] += real(-e, e);
    bearing_of(at[0], at[1], before);
    bearing_of(px[0], px[1], now);
    if (s->ranges) {
        range = measured(length(p), before[2], &sigma);
        now_range = measured(length(q), now[2], &now_sigma);
    }
    if (s->tracked)
        put_track(at, px, range, sigma);
    else
        put_range(put_match(before, now, between(0, 64), 1.0), range, sigma, now_range, now_sigma);
}

/** Adds an outlier: two random positions, at most within_px apart (0: any). */
static void put_outlier(const struct scene *s, double within_px)
{
    double before[3], now[3], sigma = 0.0, now_sigma = 0.0, range = 0.0, now_range = 0.0, x, y, a, b;
    x = real(0, WIDTH);
    y = real(0, HEIGHT);
    do {
        a = within_px > 0.0 ? x + real(-within_px, within_px) : real(0, WIDTH);
        b = within_px > 0.0 ? y + real(-within_px, within_px) : real(0, HEIGHT);
    } while (within_px > 0.0 && hypot(a - x, b - y) > within_px);
    bearing_of(x, y, before);
    bearing_of(a, b, now);
    if (s->ranges) {
        range = measured(1.0 / real(0.05, 0.3), before[2], &sigma);
        now_range = measured(1.0 / real(0.05, 0.3), now[2], &now_sigma);
    }
    put_range(put_match(before, now, between(0, 64), 1.0), range, sigma, now_range, now_sigma);
}

/** Adds correspondences of a scene, in random order. */
static void put_scene(const struct scene *s, int32_t pairs)
{
    for (int32_t k = 0; k < pairs; k++) {
        const int32_t percent = (int32_t)((int64_t)k * 100 / pairs);
        if (percent < s->outliers_percent)
            put_outlier(s, s->within_px);
        else if (percent < s->outliers_percent + s->other_percent)
            put_pair(s, &s->other);
        else
            put_pair(s, &s->motion);
    }
    /* descriptor distances are as random as positions, so that the order of the list has no information */
    for (int32_t k = pairs - 1; k > 0 && !s->tracked; k--) {
        const int32_t other = roll(k + 1);
        const uint16_t swap = memory.match.match[k].distance;
        memory.match.match[k].distance = memory.match.match[other].distance;
        memory.match.match[other].distance = swap;
    }
}

static vfront_motion_t relative, metric, good;
static void run(void)
{
    RUN(ego);
    vf_ego_motions(&memory.ego, step.geometry.active, step.parity, &relative, &metric, &good);
}

/** Sets up a frame, fills it with a scene and runs the stage. */
static void fly(const struct scene *s, int32_t pairs)
{
    new_step();
    put_scene(s, pairs);
    run();
}

static double degrees(double rad) { return rad * 180.0 / acos(-1.0); }

/** Angle between a motion's rotation and the true one [degrees]. */
static double rotation_error(const vfront_motion_t *m, const struct rigid *truth)
{
    double R[9], w[3];
    for (int k = 0; k < 9; k++) R[k] = (double)m->R[k];
    rotation_between(R, truth->R, w);
    return degrees(length(w));
}

/** Angle between a motion's translation and the true one [degrees]. */
static double direction_error(const vfront_motion_t *m, const struct rigid *truth)
{
    const double t[3] = {(double)m->t[0], (double)m->t[1], (double)m->t[2]};
    return degrees(angle_between(t, truth->t));
}

#endif
