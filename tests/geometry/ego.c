/* SPDX-License-Identifier: MIT */
/* ego: the whole stage on scenes whose motion is known, seen by a camera with a focal length of 800 px: the list against a plain sort, draws
 * by their statistics, sums in the order that is written down, motions against the truth, and what is said of them. */
#include "tests/fixture/rigid.h"

#if VFRONT_EGO && VFRONT_MATCHES

#define FOCAL_PX 800.0
#define WIDTH 752
#define HEIGHT 480
#define MOST (VFRONT_KEYPOINTS < 1000 ? VFRONT_KEYPOINTS : 1000)

/* ---- scenes ------------------------------------------------------------------------------------------------------ */

static struct vf_ego_memory *const ego = &memory.ego;
static struct vf_params *const params = &memory.ingest.params;
static uint32_t *matches, *tracks;

static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

/** Bearings of a pinhole, 8 px apart, from two places before the picture on. From column `blind` on there are none. */
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

/** A step without any pair, of a frame that is not the first; two cameras, if there can be. Skips where the config has no room. */
static void start(void)
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
    if (!grown++) make_grid(step.geometry.nodes_x[0]);
    matches = &memory.match.count;
    tracks = &memory.track.census[step.parity].count;
    *matches = *tracks = 0;
#if VFRONT_STEREO
    memset(memory.stereo.range_m, 0, sizeof memory.stereo.range_m);
    memset(memory.stereo.range_sigma_m, 0, sizeof memory.stereo.range_sigma_m);
#endif
}

static void put_bearing(float to[3], const double v[3])
{
    for (int k = 0; k < 3; k++) to[k] = (float)v[k];
}

/** A match between two bearings, on pixels of a size. Returns its number. */
static uint32_t put_match(const double before[3], const double now[3], int32_t distance, double size)
{
    const uint32_t i = (*matches)++;
    struct vf_point *b = &memory.bearing.point[step.parity ^ 1][0][i], *n = &memory.bearing.point[step.parity][0][i];
    REQUIRE(i < VFRONT_KEYPOINTS, "the test's own list is full");
    put_bearing(b->bearing, before);
    put_bearing(n->bearing, now);
    b->step = n->step = (float)size;
    memory.match.match[i] = (vfront_match_t){(uint16_t)i, (uint16_t)i, (uint16_t)distance, 256, 99, 0,
                                             0.0f,        0.0f,        {0.0f, 0.0f, 0.0f}};
    put_bearing(memory.match.match[i].bearing, now);
    return i;
}

/** A place of its own for a match. */
static void put_settled(uint32_t i, const double now[3])
{
    memory.match.match[i].settled = 1;
    put_bearing(memory.match.match[i].bearing, now);
}

/** Distances of a match: in the frame before, now; 0: not known. */
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

static void bearing_of(double x_px, double y_px, double v[3])
{
    v[0] = (x_px - WIDTH / 2.0) / FOCAL_PX;
    v[1] = (y_px - HEIGHT / 2.0) / FOCAL_PX;
    v[2] = 1.0;
    unit(v);
}

/** Where a point is seen. Returns whether it is, in front and in the picture. */
static int seen_at(const double p[3], double px[2])
{
    px[0] = p[0] / p[2] * FOCAL_PX + WIDTH / 2.0;
    px[1] = p[1] / p[2] * FOCAL_PX + HEIGHT / 2.0;
    return p[2] > 0.1 && px[0] >= 0 && px[1] >= 0 && px[0] < WIDTH && px[1] < HEIGHT;
}

/** A scene: where points lie, how the camera moves, and what is wrong with what it sees. */
enum shape {
    DEEP,
    WALL,
    GROUND
}; /* points from near to far; in a plane ahead, that is not upright; in a plane below */
struct scene {
    struct rigid motion;
    enum shape shape;
    double near_m, far_m;
    double noise_px;      /* uniform, up to so much along both axes, in both frames */
    int outliers_percent; /* pairs of a place with any other */
    double within_px;     /* which is so near; 0: anywhere */
    int other_percent;    /* pairs that belong to another motion */
    struct rigid other;
    int ranges; /* 1: points have distances, as of cameras 0.12 m apart that know disparities to 0.2 px */
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

/** The plane of a shape: n . X = 1. */
static const double wall[3] = {0.04, -0.03, 0.15}, ground[3] = {0.0, 0.5, 0.05};

/** Distance along z of a point of the scene that is seen at a bearing; 0: there is none. */
static double depth_of(const struct scene *s, const double v[3])
{
    if (s->shape == DEEP) return 1.0 / real(1.0 / s->far_m, 1.0 / s->near_m);
    const double on = dot(s->shape == WALL ? wall : ground, v);
    return on > 0.01 ? v[2] / on : 0.0;
}

/** Distance and its standard deviation, as two cameras would measure it. */
static double measured(double m, double z_per_m, double *sigma_m)
{
    const double base = 0.12 * FOCAL_PX, disparity = base / (m * z_per_m) + 0.2 * normal();
    *sigma_m = 0.0;
    if (disparity < 1.0) return 0.0;
    *sigma_m = base / (disparity * disparity) * 0.2 / z_per_m;
    return base / disparity / z_per_m;
}

/** A pair of the scene, to which a motion belongs. */
static void put_pair(const struct scene *s, const struct rigid *m)
{
    double v[3], p[3], q[3], px[2], at[2], z;
    do {
        at[0] = real(0, WIDTH);
        at[1] = real(0, HEIGHT);
        bearing_of(at[0], at[1], v);
        z = depth_of(s, v);
        for (int k = 0; k < 3; k++) p[k] = v[k] / v[2] * z;
        turn(m->R, p, q);
        for (int k = 0; k < 3; k++) q[k] += m->t[k];
    } while (z == 0.0 || !seen_at(q, px));
    double before[3], now[3], sigma = 0.0, now_sigma = 0.0, range = 0.0, now_range = 0.0;
    const double e = s->noise_px;
    bearing_of(at[0] + real(-e, e), at[1] + real(-e, e), before);
    bearing_of(px[0] + real(-e, e), px[1] + real(-e, e), now);
    if (s->ranges) {
        range = measured(length(p), before[2], &sigma);
        now_range = measured(length(q), now[2], &now_sigma);
    }
    put_range(put_match(before, now, between(0, 64), 1.0), range, sigma, now_range, now_sigma);
}

/** A pair of places that have nothing to do with one another; within: so far apart at most. */
static void put_nonsense(const struct scene *s, double within_px)
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

/** So many pairs of a scene, in any order. */
static void put_scene(const struct scene *s, int32_t pairs)
{
    for (int32_t k = 0; k < pairs; k++) {
        const int32_t percent = (int32_t)((int64_t)k * 100 / pairs);
        if (percent < s->outliers_percent)
            put_nonsense(s, s->within_px);
        else if (percent < s->outliers_percent + s->other_percent)
            put_pair(s, &s->other);
        else
            put_pair(s, &s->motion);
    }
    for (int32_t k = pairs - 1; k > 0;
         k--) { /* distances of descriptors are as random as places: what the order says is nothing */
        const int32_t other = roll(k + 1);
        const uint16_t swap = memory.match.match[k].distance;
        memory.match.match[k].distance = memory.match.match[other].distance;
        memory.match.match[other].distance = swap;
    }
}

static vfront_motion_t relative, metric, good;
static void run(void)
{
    vf_ego_host(&step);
    vf_motions(&step, &relative, &metric, &good);
}

/** Starts, makes a scene of a number of pairs, and runs the stage. */
static void fly(const struct scene *s, int32_t pairs)
{
    start();
    put_scene(s, pairs);
    run();
}

static double degrees(double rad) { return rad * 180.0 / acos(-1.0); }

/** How far a motion's rotation is from the truth [degrees]. */
static double turned_off(const vfront_motion_t *m, const struct rigid *truth)
{
    double R[9], w[3];
    for (int k = 0; k < 9; k++) R[k] = (double)m->R[k];
    rotation_between(R, truth->R, w);
    return degrees(length(w));
}

/** How far its direction is [degrees]. */
static double aimed_off(const vfront_motion_t *m, const struct rigid *truth)
{
    const double t[3] = {(double)m->t[0], (double)m->t[1], (double)m->t[2]};
    return degrees(angle_between(t, truth->t));
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

struct listed {
    int rank, number;
    double before[3], now[3], bound_px, m, sigma_m, near, near_sigma;
};
static struct listed should[VFRONT_SIGHTS];

static int by_rank(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;
    return x->rank != y->rank ? x->rank - y->rank : x->number - y->number;
}

static void same_value(double is, double want, double part, const char *what, int i)
{
    REQUIRE(fabs(is - want) <= part * fabs(want) + 1e-12, "%s of %d is %.9g, should be %.9g", what, i, is, want);
}

static void compare_list(int list, const struct listed *want, int count)
{
    const struct vf_sights *s = &ego->sights[list];
    REQUIRE((int)ego->count[list] == count, "list %d has %u, should have %d", list, ego->count[list], count);
    for (int i = 0; i < count; i++) {
        const struct listed *w = &want[i];
        REQUIRE(s->from[i] == w->number, "place %d of list %d has %d, should have %d", i, list, s->from[i], w->number);
        for (int k = 0; k < 3; k++) /* bearings of tracks come from a grid */
            REQUIRE(fabs((double)s->before[k][i] - w->before[k]) < 1e-6 &&
                        fabs((double)s->now[k][i] - w->now[k]) < 1e-6,
                    "bearings of %d", i);
        same_value((double)s->weight[i], 1.0 / sin(atan(w->bound_px / FOCAL_PX)), 1e-6, "weight", i);
        same_value((double)s->range_m[i], w->m, 1e-6, "distance", i);
        same_value((double)s->range_sigma_m[i], w->sigma_m, 1e-6, "deviation", i);
        same_value((double)s->near_1pm[i], w->near, 1e-6, "distance now", i);
        same_value((double)s->near_sigma_1pm[i], w->near_sigma, 1e-6, "deviation now", i);
    }
}

/** Tracks anywhere, some of which are new, some blind. Adds to the list what is one. */
static int random_tracks(int count, int blind_column)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        struct vf_feature *f = &memory.track.feature[step.parity][i];
        scribble(f, sizeof *f);
        f->x_q16 = between(20 << 16, (WIDTH - 20) << 16);
        f->y_q16 = between(20 << 16, (HEIGHT - 20) << 16);
        f->dx_q16 = between(-655360, 655360);
        f->dy_q16 = between(-655360, 655360);
        f->age = roll(4) ? (uint32_t)between(1, 50) : 0;
        f->residual_q3 = (uint32_t)(roll(3) ? roll(40) : roll(400));
        if (!f->age || !step.tuning.ego_tracks) continue;
        const double x = f->x_q16 / 65536.0, y = f->y_q16 / 65536.0, dx = f->dx_q16 / 65536.0, dy = f->dy_q16 / 65536.0;
        struct listed *w = &should[n++];
        memset(w, 0, sizeof *w);
        w->rank = (int)fmin(floor(f->residual_q3 / 8.0 * 2.0), 31.0);
        w->number = i;
        w->bound_px = 0.15 * step.tuning.ego_error_mpx / 1000.0;
        bearing_of(x - dx, y - dy, w->before);
        bearing_of(x, y, w->now);
        const int column = (int)floor(fmax(x, x - dx) / 8.0) + 2 + 2; /* the last that its place is between */
        if (column >= blind_column) {
            memcpy(w->before, (double[3]){0, 0, 1}, sizeof w->before);
            memcpy(w->now, (double[3]){0, 0, -1}, sizeof w->now);
        }
    }
    *tracks = (uint32_t)count;
    return n;
}

static int random_matches(int count, int n)
{
    const int metric_on = VFRONT_STEREO && step.tuning.stereo && step.tuning.ego_metric_hypotheses > 0;
    for (int i = 0; i < count; i++) {
        struct listed w;
        memset(&w, 0, sizeof w);
        any_ahead(0.5, w.before);
        any_ahead(0.5, w.now);
        const double size[2] = {pow(1.2, roll(8)), pow(1.2, roll(8))};
        w.rank = 1000 + (roll(3) ? roll(40) : roll(257));
        w.number = VFRONT_TRACKS + i;
        w.bound_px = step.tuning.ego_error_mpx / 1000.0 * fmax(size[0], size[1]);
        put_match(w.before, w.now, w.rank - 1000, size[0]);
        memory.bearing.point[step.parity][0][i].step = (float)size[1];
        if (roll(2)) { /* has settled somewhere else than its key point */
            any_ahead(0.5, w.now);
            put_settled((uint32_t)i, w.now);
            w.bound_px = 0.15 * step.tuning.ego_error_mpx / 1000.0;
        }
        const double m = roll(3) ? real(1, 50) : 0.0, sigma = m * real(0.01, 0.1), now_m = roll(3) ? real(1, 50) : 0.0,
                     now_sigma = now_m * real(0.01, 0.1);
        put_range((uint32_t)i, m, sigma, now_m, now_sigma);
        if (metric_on) w.m = m, w.sigma_m = sigma;
        if (metric_on && now_m > 0) w.near = 1.0 / now_m, w.near_sigma = now_sigma / (now_m * now_m);
        if (roll(20) == 0) { /* a place that the lens does not hold for */
            memset(roll(2) ? memory.match.match[i].bearing : memory.bearing.point[step.parity ^ 1][0][i].bearing, 0,
                   3 * sizeof(float));
            memcpy(w.before, (double[3]){0, 0, 1}, sizeof w.before);
            memcpy(w.now, (double[3]){0, 0, -1}, sizeof w.now);
        }
        if (step.tuning.ego_matches) should[n++] = w;
    }
    return n;
}

static void lists(void **state)
{
    (void)state;
    static struct listed ranged[VFRONT_SIGHTS];
    for (uint64_t seed = 1; seed <= 60; seed++) {
        shake(seed);
        scribble(&memory.ego, sizeof memory.ego);
        start();
        const int blind = roll(3) ? step.geometry.nodes_x[0] : between(20, step.geometry.nodes_x[0]);
        const int full = seed % 20 == 0;
        make_grid(blind);
        step.tuning.ego_tracks = roll(5) > 0;
        step.tuning.ego_matches = roll(5) > 0;
        step.tuning.stereo = VFRONT_STEREO && roll(5) > 0;
        step.tuning.ego_metric_hypotheses = roll(5) ? 32 : 0;
        step.tuning.ego_hypotheses = 1;
        step.tuning.ego_error_mpx = between(200, 5000);
        int n = random_tracks(full ? VFRONT_TRACKS : roll(VFRONT_TRACKS + 1), blind), with = 0;
        n = random_matches(full ? VFRONT_KEYPOINTS : roll(300), n);
        qsort(should, (size_t)n, sizeof *should, by_rank);
        for (int i = 0; i < n; i++)
            if (should[i].m > 0.0) {
                ranged[with] = should[i];
                ranged[with++].bound_px = fmax(should[i].bound_px, 0.5 * step.tuning.ego_error_mpx / 1000.0);
            }
        run();
        compare_list(0, should, n);
        compare_list(1, ranged, with);
        assert_int_equal(relative.pairs, n);
        assert_int_equal(metric.pairs, metric.state ? with : 0);
    }
    start();
    make_grid(step.geometry.nodes_x[0]);
}

/** Nothing of the arena but the stage's own is written; without calibration, and when it is not asked for, not even that. */
static void all_else_stays(void **state)
{
    (void)state;
    shake(2);
    start();
    const struct scene s = sideways();
    scribble_arena();
    for (int way = 0; way < 3; way++) {
        start();
        put_scene(&s, 100);
        if (way == 1) step.tuning.ego = 0;
        if (way == 2) step.geometry.calibrated[0] = 0;
        make_grid(step.geometry.nodes_x[0]);
        memcpy(&expected, &memory, sizeof memory);
        run();
        if (way == 0) memcpy(expected.ego_bytes, memory.ego_bytes, sizeof memory.ego_bytes);
        same_arena("ego");
        assert_int_equal(relative.state == VFRONT_MOTION_NONE, way > 0);
    }
}

/* ---- draws ------------------------------------------------------------------------------------------------------- */

static void draw(uint64_t frame, int kind, int32_t h, int32_t size, int32_t count, int32_t sample[8])
{
    vf_ego_sample(&step, frame, kind, h, size, count, sample);
    for (int i = 0; i < size; i++) {
        REQUIRE(sample[i] >= 0 && sample[i] < count, "%d of %d", sample[i], count);
        for (int k = 0; k < i; k++) REQUIRE(sample[k] != sample[i], "%d is drawn twice", sample[i]);
    }
}

/** All sizes from all counts, also when there are no more than are drawn. */
static void draws_differ(void **state)
{
    (void)state;
    shake(3);
    start();
    for (int size = 2; size <= 8; size++)
        for (int count = size; count < 60; count += 1 + count / 12)
            for (int h = 0; h < 256; h++) {
                int32_t sample[8];
                draw(11, h % 3, h % 3 == VF_TURN ? h % 64 : h, size, count, sample);
            }
}

static double chi_square(const int *count, int bins, double expect)
{
    double sum = 0.0;
    for (int k = 0; k < bins; k++) sum += (count[k] - expect) * (count[k] - expect) / expect;
    return sum;
}

/** Four standard deviations about the mean. */
static void plausible(double chi, int freedom, const char *what)
{
    print_message("%s: chi-square %.1f of %d\n", what, chi, freedom);
    REQUIRE(chi > freedom - 4 * sqrt(2.0 * freedom) && chi < freedom + 4 * sqrt(2.0 * freedom), "%s", what);
}

/** What every second hypothesis draws is uniform: the first, the last, ordered pairs, and from frame to frame. */
static void draws_uniform(void **state)
{
    (void)state;
    static int single[50], ordered[90], last[50], from_frame[50]; /* how often each was drawn */
    shake(4);
    start();
    for (uint64_t frame = 1; frame <= 100; frame++)
        for (int h = 1; h < 512; h += 2) {
            int32_t sample[8];
            draw(frame, VF_RELATIVE, h, 5, 50, sample);
            single[sample[0]]++;
            last[sample[4]]++;
            if (h == 5) from_frame[sample[0]]++;
            if (h > 256) continue; /* as many metric ones are tried */
            draw(frame, VF_METRIC, h, 3, 10, sample);
            ordered[9 * sample[0] + sample[1] - (sample[1] > sample[0])]++;
        }
    for (uint64_t frame = 101; frame <= 5000; frame++) {
        int32_t sample[8];
        draw(frame, VF_RELATIVE, 5, 5, 50, sample);
        from_frame[sample[0]]++;
    }
    plausible(chi_square(single, 50, 25600 / 50.0), 49, "first of a sample");
    plausible(chi_square(last, 50, 25600 / 50.0), 49, "last of a sample");
    plausible(chi_square(ordered, 90, 12800 / 90.0), 89, "ordered pairs");
    plausible(chi_square(from_frame, 50, 5000 / 50.0), 49, "one hypothesis from frame to frame");
}

/** Even hypotheses draw from the better ones, which become more and in the end are all. */
static void draws_better(void **state)
{
    (void)state;
    shake(5);
    start();
    step.tuning.ego_hypotheses = 512;
    int most = 0;
    for (int h = 0; h < 512; h++) {
        const int pool = (int)fmin(fmax(floor(1000.0 * (h + 1) / 512), 10), 1000);
        int farthest = 0;
        for (uint64_t frame = 1; frame < 200; frame++) {
            int32_t sample[8];
            draw(frame, VF_RELATIVE, h, 5, 1000, sample);
            for (int k = 0; k < 5; k++) farthest = vf_max(farthest, sample[k]);
        }
        if (h % 2)
            REQUIRE(farthest > 950, "%d draws no farther than %d", h, farthest);
        else
            REQUIRE(farthest < pool && farthest > pool * 0.95 - 2, "%d draws up to %d of %d", h, farthest, pool);
        if (h % 2 == 0) most = farthest;
    }
    assert_true(most > 950);
}

/** Seed, frame, kind, hypothesis: each alone makes another draw; the same make the same. */
static void draws_keyed(void **state)
{
    (void)state;
    shake(6);
    start();
    int same[5] = {0};
    for (int k = 0; k < 200; k++) {
        int32_t base[8], other[8];
        step.tuning.ego_seed = k;
        draw(100, VF_RELATIVE, 11, 5, 1000, base);
        for (int what = 0; what < 5; what++) {
            step.tuning.ego_seed = what == 1 ? k + 200 : k;
            draw(what == 2 ? 101 : 100, what == 3 ? VF_METRIC : VF_RELATIVE, what == 4 ? 13 : 11, 5, 1000, other);
            for (int i = 0; i < 5; i++) same[what] += base[i] == other[i];
        }
    }
    assert_int_equal(same[0], 1000);
    for (int what = 1; what < 5; what++) REQUIRE(same[what] < 8, "%d: %d of 1000 draws are the same", what, same[what]);
}

/* ---- scores and sums: in the order that is written down ---------------------------------------------------------- */

/** All that the list, or 256 of it, spread evenly, say of a motion. Place i of these goes to lane i % 256; within 32 lanes the upper half is
 *  added to the lower, then a half of that, and so on; then the eight sums likewise. */
static struct vf_tally tally(int kind, const struct vf_pose *p, int rough)
{
    static struct vf_tally lane[256];
    memset(lane, 0, sizeof lane);
    const int list = kind == VF_METRIC;
    const int count = (int)ego->count[list], some = rough && count > 256 ? 256 : count;
    for (int i = 0; i < some; i++) {
        const struct vf_sight s = vf_ego_sight(&ego->sights[list], (int32_t)floor(i * (double)count / some));
        const float error = vf_motion_error(kind, p, &s);
        struct vf_tally *l = &lane[i % 256];
        if (!(error < 1.0f)) continue;
        l->score += 1 + (int32_t)((1.0f - error) * 254.0f);
        l->inliers++;
        l->rows += kind == VF_RELATIVE ? 1 : kind == VF_METRIC && s.near_sigma_1pm > 0.0f ? 3 : 2;
        vf_motion_terms(kind, p, &s, l->terms);
    }
    static const int order[][2] = {{1, 16}, {1, 8},  {1, 4},  {1, 2},
                                   {1, 1},  {32, 4}, {32, 2}, {32, 1}}; /* between lanes, and how many such */
    for (int n = 0; n < 8; n++)
        for (int group = 0; group < (order[n][0] == 1 ? 8 : 1); group++)
            for (int k = 0; k < order[n][1]; k++) {
                struct vf_tally *to = &lane[32 * group + order[n][0] * k], *from = to + order[n][0] * order[n][1];
                for (int t = 0; t < VF_TERMS; t++) to->terms[t] += from->terms[t];
                to->score += from->score;
                to->inliers += from->inliers;
                to->rows += from->rows;
            }
    return lane[0];
}

struct ranked {
    int32_t score, number;
};
static int by_score(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->score != y->score ? (x->score < y->score ? 1 : -1) : x->number - y->number;
}

/** The score of every hypothesis is that of its motion on 128 of the list, spread evenly. */
static void compare_scores(int kind, int hypotheses)
{
    const int list = kind == VF_METRIC, count = (int)ego->count[list], some = count < 128 ? count : 128;
    for (int h = 0; h < hypotheses; h++) {
        int32_t sum = 0;
        for (int k = 0; k < some; k++) {
            const struct vf_sight s = vf_ego_sight(&ego->sights[list],
                                                   count > 128 ? (int32_t)floor(k * (double)count / 128.0) : k);
            const float error = vf_motion_error(kind, &ego->pose[kind][h], &s);
            if (error < 1.0f) sum += 1 + (int32_t)((1.0f - error) * 254.0f);
        }
        if (ego->score[kind][h])
            REQUIRE(ego->score[kind][h] == sum, "kind %d, hypothesis %d: %d, should be %d", kind, h,
                    ego->score[kind][h], sum);
    }
}

/** The best hypotheses go on, each by three steps on 256 of the list, then by up to two on all of it as long as these make it better. */
static void compare_finalists(int kind, int hypotheses)
{
    static struct ranked ranked[VFRONT_HYPOTHESES];
    int best = 0;
    for (int h = 0; h < hypotheses; h++) ranked[h] = (struct ranked){ego->score[kind][h], h};
    qsort(ranked, (size_t)hypotheses, sizeof *ranked, by_score);
    for (int rank = 0; rank < 16; rank++) {
        struct vf_finalist want;
        memset(&want, 0, sizeof want);
        if (rank < hypotheses && ranked[rank].score > 0) {
            struct vf_pose p = want.pose = ego->pose[kind][ranked[rank].number];
            for (int n = 0; n < VF_EGO_ROUGH; n++) {
                const struct vf_tally sum = tally(kind, &p, 1);
                vf_motion_step(kind, &p, sum.terms);
            }
            for (int n = 0; n <= VF_EGO_STEPS; n++) {
                const struct vf_tally sum = tally(kind, &p, 0);
                if (sum.score <= want.sum.score) break;
                want.sum = sum;
                want.pose = p;
                if (!vf_motion_step(kind, &p, sum.terms)) break;
            }
        }
        REQUIRE(memcmp(&want, &ego->finalist[kind][rank], sizeof want) == 0,
                "kind %d, finalist %d: hypothesis %d, score %d, should be %d", kind, rank, ranked[rank].number,
                ego->finalist[kind][rank].sum.score, want.sum.score);
        if (want.sum.score > ego->finalist[kind][best].sum.score) best = rank;
    }
    const struct vf_tally sum = tally(kind, &ego->finalist[kind][best].pose, 0);
    assert_memory_equal(&ego->facts.pose[kind], &ego->finalist[kind][best].pose, sizeof(struct vf_pose));
    assert_memory_equal(&ego->facts.sum[kind], &sum, sizeof sum);
}

/** Movement in the middle of the sorted ones [px]. */
static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double median_movement(int kind, const struct vf_pose *p, int all)
{
    static double moved[VFRONT_SIGHTS];
    const int list = kind == VF_METRIC;
    int n = 0;
    for (uint32_t i = 0; i < ego->count[list]; i++) {
        const struct vf_sight s = vf_ego_sight(&ego->sights[list], (int32_t)i);
        double R[9], a[3] = {(double)s.before[0], (double)s.before[1], (double)s.before[2]};
        for (int k = 0; k < 9; k++) R[k] = all ? identity[k] : (double)p->R[k];
        if (!all && !(vf_motion_error(kind, p, &s) < 1.0f)) continue;
        turn(R, a, a);
        for (int k = 0; k < 3; k++) a[k] -= (double)s.now[k];
        moved[n++] = fmin(length(a) * FOCAL_PX, 1023.0 / 16.0);
    }
    qsort(moved, (size_t)n, sizeof *moved, by_value);
    return n ? moved[(n - 1) / 2] : 0.0;
}

/** What is found out about the best motions, looked at again. */
static void compare_facts(int hypotheses)
{
    const struct vf_facts *f = &ego->facts;
    uint32_t outliers = 0, most = 0;
    static struct vf_sight outlier[VFRONT_SIGHTS];
    for (int kind = 0; kind < VF_KINDS; kind++)
        REQUIRE(fabs(f->parallax[kind] / 16.0 - median_movement(kind, &f->pose[kind], 0)) <= 1 / 31.9,
                "kind %d: %g px, should be %g", kind, f->parallax[kind] / 16.0,
                median_movement(kind, &f->pose[kind], 0));
    assert_true(fabs(f->moved / 16.0 - median_movement(VF_RELATIVE, NULL, 1)) <= 1 / 31.9);
    const int count = (int)ego->count[0], some = count < 512 ? count : 512;
    for (int k = 0; k < some; k++) {
        const struct vf_sight s = vf_ego_sight(&ego->sights[0],
                                               count > 512 ? (int32_t)floor(k * (double)count / 512.0) : k);
        if (vf_motion_error(VF_RELATIVE, &f->pose[VF_RELATIVE], &s) > 4.0f) outlier[outliers++] = s;
    }
    for (int h = 0; h < hypotheses; h++) {
        uint32_t agree = 0;
        for (uint32_t k = 0; k < outliers; k++)
            agree += vf_motion_error(VF_RELATIVE, &ego->pose[VF_RELATIVE][h], &outlier[k]) < 1.0f;
        if (ego->score[VF_RELATIVE][h]) most = agree > most ? agree : most;
    }
    assert_int_equal(f->looked, outliers);
    assert_int_equal(f->others, most);
}

/** Flags of who agrees are those of the errors. */
static void compare_agrees(void)
{
    static uint8_t want[VFRONT_SIGHTS];
    memset(want, 0, sizeof want);
    for (int list = 0; list < 2; list++) {
        const vfront_motion_t *m = list ? &metric : &relative;
        const int kind = list ? VF_METRIC : m->state == VFRONT_MOTION_ROTATION ? VF_TURN : VF_RELATIVE;
        uint32_t inliers = 0;
        if (m->state != VFRONT_MOTION_GOOD && m->state != VFRONT_MOTION_ROTATION) continue;
        for (uint32_t i = 0; i < ego->count[list]; i++) {
            const struct vf_sight s = vf_ego_sight(&ego->sights[list], (int32_t)i);
            if (!(vf_motion_error(kind, &ego->facts.pose[kind], &s) < 1.0f)) continue;
            want[ego->sights[list].from[i]] |= list ? VFRONT_AGREES_METRIC : VFRONT_AGREES_RELATIVE;
            inliers++;
        }
        assert_int_equal(inliers, m->inliers);
        for (int k = 0; k < 9; k++) assert_true(m->R[k] == ego->facts.pose[kind].R[k]);
        for (int k = 0; k < 3; k++) assert_true(m->t[k] == (kind == VF_TURN ? 0.0f : ego->facts.pose[kind].t[k]));
    }
    assert_memory_equal(ego->agrees, want, sizeof want);
}

static void every_step(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        shake(100 + seed);
        struct scene s = seed % 2 ? sideways() : forward();
        s.outliers_percent = (int)(seed * 7);
        s.ranges = 1;
        if (seed == 4) memset(s.motion.t, 0, sizeof s.motion.t);
        if (seed == 5) s.other_percent = 30, s.other = forward().motion;
        start();
        step.tuning.ego_hypotheses = seed == 7 ? 1 : 128;
        step.tuning.ego_metric_hypotheses = seed == 8 ? 5 : 96;
        put_scene(&s, seed == 1 ? 700 : seed == 2 ? 40 : vf_min(MOST, 127 + roll(400)));
        run();
        const int tried[VF_KINDS] = {step.tuning.ego_hypotheses, 64,
                                     VFRONT_STEREO ? step.tuning.ego_metric_hypotheses : 0};
        for (int kind = 0; kind < VF_KINDS; kind++) {
            compare_scores(kind, tried[kind]);
            compare_finalists(kind, tried[kind]);
        }
        compare_facts(tried[VF_RELATIVE]);
        compare_agrees();
    }
}

/* ---- motions against the truth ----------------------------------------------------------------------------------- */

static void relative_case(struct scene (*scene)(void), int points, int outliers, int problems, double most_turn,
                          double most_aim)
{
    double turned = 0.0, aimed = 0.0, inliers = 0.0;
    for (int k = 0; k < problems; k++) {
        struct scene s = scene();
        s.outliers_percent = outliers;
        start();
        step.tuning.ego_points = points;
        step.tuning.ego_hypotheses = VFRONT_HYPOTHESES;
        put_scene(&s, MOST);
        run();
        REQUIRE(relative.state == VFRONT_MOTION_GOOD, "%d points, %d %% outliers: state %u, %u of %u", points, outliers,
                relative.state, relative.inliers, relative.pairs);
        turned = fmax(turned, turned_off(&relative, &s.motion));
        aimed = fmax(aimed, aimed_off(&relative, &s.motion));
        inliers += relative.inliers / (double)relative.pairs / problems;
    }
    print_message(
        "%s, %d points, %2d %% outliers: turned off by %.3f degrees at most, aimed off by %.3f, %.1f %% agree\n",
        scene == forward ? "forward" : "sideways", points, outliers, turned, aimed, 100 * inliers);
    REQUIRE(turned < most_turn && aimed < most_aim, "%g degrees, %g degrees", turned, aimed);
}

static void relative_motions(void **state)
{
    (void)state;
    static const struct {
        int points, outliers, problems;
    } way[] = {{5, 5, 3}, {5, 30, 3}, {5, 60, 10}, {7, 5, 3}, {7, 50, 10}, {8, 5, 3}, {8, 40, 10}};
    for (size_t k = 0; k < sizeof way / sizeof *way; k++) {
        shake(200 + k);
        relative_case(sideways, way[k].points, way[k].outliers, way[k].problems, 0.2, 1.0);
        relative_case(forward, way[k].points, way[k].outliers, way[k].problems, 0.1, 0.6);
    }
}

static void metric_motions(void **state)
{
    (void)state;
    if (!VFRONT_STEREO) skip();
    for (int outliers = 5; outliers <= 50; outliers += 15) {
        double turned = 0.0, away = 0.0;
        shake(300 + (uint64_t)outliers);
        for (int k = 0; k < 10; k++) {
            struct scene s = k % 2 ? forward() : sideways();
            double off[3];
            s.ranges = 1;
            s.outliers_percent = outliers;
            fly(&s, 500);
            REQUIRE(metric.state == VFRONT_MOTION_GOOD, "%d %% outliers: state %u, %u of %u", outliers, metric.state,
                    metric.inliers, metric.pairs);
            for (int i = 0; i < 3; i++) off[i] = (double)metric.t[i] - s.motion.t[i];
            turned = fmax(turned, turned_off(&metric, &s.motion));
            away = fmax(away, length(off));
        }
        print_message("%d %% outliers: turned off by %.3f degrees at most, %.4f m away of 0.4 to 0.8\n", outliers,
                      turned, away);
        REQUIRE(turned < 0.03 && away < 0.004, "%g degrees, %g m", turned, away);
    }
}

/* ---- what is said of a motion ------------------------------------------------------------------------------------ */

static const char *const state_name[] = {"none", "good", "rotation", "few", "unsure"};

/** How often a scene ends in each state, and with each flag, of so many problems; flags count where the motion is good or a rotation. */
struct said {
    int state[5], still, plane, parallax, two;
    double inliers, turned;
};
static struct said listen(struct scene (*scene)(void), void (*change)(struct scene *), int32_t pairs, int problems)
{
    struct said said;
    memset(&said, 0, sizeof said);
    for (int k = 0; k < problems; k++) {
        struct scene s = scene();
        change(&s);
        fly(&s, pairs);
        said.state[relative.state]++;
        said.still += (relative.flags & VFRONT_MOTION_STILL) != 0;
        said.plane += (relative.flags & VFRONT_MOTION_PLANE) != 0;
        said.parallax += (relative.flags & VFRONT_MOTION_PARALLAX) != 0;
        said.two += (relative.flags & VFRONT_MOTION_TWO) != 0;
        said.inliers += relative.inliers / (double)(relative.pairs ? relative.pairs : 1) / problems;
        said.turned = fmax(said.turned, turned_off(&relative, &s.motion));
    }
    return said;
}

static void say(const char *what, const struct said *s)
{
    print_message("%-44s", what);
    for (int k = 1; k < 5; k++)
        if (s->state[k]) print_message(" %d %s", s->state[k], state_name[k]);
    print_message("; still %d, plane %d, parallax %d, two %d; %.0f %% agree, turned off by %.3f degrees\n", s->still,
                  s->plane, s->parallax, s->two, 100 * s->inliers, s->turned);
}

static void as_it_is(struct scene *s) { (void)s; }
static void turn_only(struct scene *s, double least, double most)
{
    any_rotation(real(least, most), s->motion.R);
    memset(s->motion.t, 0, sizeof s->motion.t);
}
static void small_turn(struct scene *s) { turn_only(s, 0.002, 0.02); }
static void large_turn(struct scene *s) { turn_only(s, 0.1, 0.2); }
static void large_turn_outliers(struct scene *s) { turn_only(s, 0.1, 0.2), s->outliers_percent = 40; }
static void stand_still(struct scene *s) { turn_only(s, 0.0, 0.0), s->noise_px = 0.05; }
static void stand_among_others(struct scene *s)
{
    stand_still(s);
    s->other_percent = 15;
    s->other = sideways().motion;
}
static void small_step(struct scene *s)
{
    for (int k = 0; k < 3; k++) s->motion.t[k] *= 0.05; /* 2 cm: 5 px at 3 m, 1 px at 16 m */
    s->noise_px = 0.1;
}
static void far_away(struct scene *s)
{
    s->near_m = 250.0, s->far_m = 600.0, s->noise_px = 0.1;
} /* 0.4 m: 1.3 to 0.5 px */
static void on_wall(struct scene *s) { s->shape = WALL; }
static void on_ground(struct scene *s) { s->shape = GROUND; }
static void plane_outliers(struct scene *s) { s->shape = WALL, s->outliers_percent = 30; }
static void with_outliers(struct scene *s) { s->outliers_percent = 40; }
static void with_near_outliers(struct scene *s) { s->outliers_percent = 30, s->within_px = 40.0; }
static void with_another(struct scene *s)
{
    struct scene other = sideways();
    s->other_percent = 30;
    s->other = other.motion;
    for (int k = 0; k < 3; k++) s->other.t[k] *= 3.0;
}
static void with_another_and_outliers(struct scene *s) { with_another(s), s->outliers_percent = 10; }

/** Another motion is seen where one of the hypotheses that are there anyway is of that alone, or nearly: in most frames, not in all. */
static void states_of_scenes(void **state)
{
    (void)state;
    enum { N = 20 };
    static const struct {
        const char *name;
        struct scene (*scene)(void);
        void (*change)(struct scene *);
        int state;                                       /* that all must have */
        int still, plane, parallax, two_least, two_most; /* 1: all must have it, 0: none, -1: any; two: so many */
    } c[] = {
        {"sideways", sideways, as_it_is, VFRONT_MOTION_GOOD, 0, 0, 0, 0, 0},
        {"forward", forward, as_it_is, VFRONT_MOTION_GOOD, 0, 0, 0, 0, 0},
        {"sideways, 40 % outliers", sideways, with_outliers, VFRONT_MOTION_GOOD, 0, 0, 0, 0, 0},
        {"forward, 40 % outliers", forward, with_outliers, VFRONT_MOTION_GOOD, 0, 0, 0, 0, 0},
        {"sideways, 30 % outliers within 40 px", sideways, with_near_outliers, VFRONT_MOTION_GOOD, 0, 0, 0, 0, 0},
        {"turn of up to a degree", sideways, small_turn, VFRONT_MOTION_ROTATION, 0, 0, 0, 0, 0},
        {"turn of 6 to 12 degrees", sideways, large_turn, VFRONT_MOTION_ROTATION, 0, 0, 0, 0, 0},
        {"such a turn, 40 % outliers", sideways, large_turn_outliers, VFRONT_MOTION_ROTATION, 0, 0, 0, 0, 0},
        {"standing still", sideways, stand_still, VFRONT_MOTION_ROTATION, 1, 0, 0, 0, 0},
        {"standing still, 15 % move", sideways, stand_among_others, VFRONT_MOTION_ROTATION, 1, 0, 0, 0, 0},
        {"2 cm", sideways, small_step, VFRONT_MOTION_GOOD, -1, 0, -1, 0, 0},
        {"all of it far away", sideways, far_away, VFRONT_MOTION_GOOD, 0, -1, 1, 0, 0},
        {"a wall", sideways, on_wall, VFRONT_MOTION_GOOD, 0, 1, 0, 0, 0},
        {"a wall, forward", forward, on_wall, VFRONT_MOTION_GOOD, 0, 1, -1, 0, 0},
        {"the ground", sideways, on_ground, VFRONT_MOTION_GOOD, 0, 1, 0, 0, 0},
        {"a wall, 30 % outliers", sideways, plane_outliers, VFRONT_MOTION_GOOD, 0, 1, 0, 0, 0},
        {"30 % on another motion", sideways, with_another, VFRONT_MOTION_GOOD, 0, 0, 0, 10, N},
        {"30 % on another motion, forward", forward, with_another, VFRONT_MOTION_GOOD, 0, 0, 0, 10, N},
        {"30 % on another motion, 10 % outliers", sideways, with_another_and_outliers, VFRONT_MOTION_GOOD, 0, 0, 0, 10,
         N},
    };
    int failed = 0;
    for (size_t k = 0; k < sizeof c / sizeof *c; k++) {
        shake(400 + k);
        const struct said s = listen(c[k].scene, c[k].change, vf_min(MOST, 300), N);
        say(c[k].name, &s);
        failed += s.state[c[k].state] < N || (c[k].still >= 0 && s.still != N * c[k].still) ||
                  (c[k].plane >= 0 && s.plane != N * c[k].plane) ||
                  (c[k].parallax >= 0 && s.parallax != N * c[k].parallax) || s.two < c[k].two_least ||
                  s.two > c[k].two_most;
    }
    REQUIRE(failed == 0, "%d scenes are not what they are said to be", failed);
}

/** Pairs that have nothing to do with one another are never a good motion, whether they come from anywhere or from within a window. */
static void noise(void **state)
{
    (void)state;
    static const struct {
        double within_px;
        int pairs;
    } way[] = {{0, 20}, {0, 60}, {0, 100}, {0, 500}, {40, 16}, {40, 20}, {40, 40}, {40, 75}, {40, 150}, {40, 500}};
    int bad = 0;
    for (size_t k = 0; k < sizeof way / sizeof *way; k++) {
        int count[5] = {0}, metric_good = 0;
        uint32_t most = 0;
        shake(500 + k);
        for (int tries = 0; tries < 20; tries++) {
            struct scene s;
            memset(&s, 0, sizeof s);
            s.ranges = 1;
            start();
            for (int n = 0; n < vf_min(MOST, way[k].pairs); n++) put_nonsense(&s, way[k].within_px);
            run();
            count[relative.state]++;
            metric_good += metric.state == VFRONT_MOTION_GOOD;
            most = relative.inliers > most ? relative.inliers : most;
        }
        print_message("%d pairs within %g px: %d good, %d rotations, %d metric; %u agree at most\n", way[k].pairs,
                      way[k].within_px, count[VFRONT_MOTION_GOOD], count[VFRONT_MOTION_ROTATION], metric_good, most);
        bad += count[VFRONT_MOTION_GOOD] + count[VFRONT_MOTION_ROTATION] + metric_good;
    }
    REQUIRE(bad == 0, "%d motions from noise", bad);
}

/** As few as there must be, and one less: all of them agree. */
static void few(void **state)
{
    (void)state;
    for (int least = 8; least <= 40; least += 8)
        for (int percent = 0; percent <= 50; percent += 10) {
            const int enough = (int)ceil(least / (1.0 - percent / 100.0) - 1e-9),
                      counts[] = {least - 1, least, enough - 1, enough};
            for (int k = 0; k < 4; k++) {
                shake(600 + (uint64_t)least);
                struct scene s = forward();
                s.noise_px = 0.1;
                start();
                step.tuning.ego_least = least;
                step.tuning.ego_least_percent = percent;
                put_scene(&s, counts[k]);
                run();
                const uint32_t should = counts[k] < least    ? VFRONT_MOTION_FEW
                                        : counts[k] < enough ? VFRONT_MOTION_UNSURE
                                                             : VFRONT_MOTION_GOOD;
                REQUIRE(relative.state == should, "%d pairs of %d and %d %%: state %u, %u agree", counts[k], least,
                        percent, relative.state, relative.inliers);
                assert_int_equal(relative.pairs, counts[k]);
                assert_int_equal(good.state, should == VFRONT_MOTION_GOOD ? VFRONT_MOTION_GOOD : VFRONT_MOTION_NONE);
            }
        }
    start();
    run();
    assert_int_equal(relative.state, VFRONT_MOTION_FEW);
    assert_int_equal(relative.pairs + relative.inliers, 0);
}

/** The share that must agree, when 120 of 200 do. */
static void share(void **state)
{
    (void)state;
    for (int percent = 0; percent <= 90; percent += 10)
        for (int least = 8; least <= 28; least += 20) {
            shake(610 + (uint64_t)percent);
            struct scene s = sideways();
            s.outliers_percent = 40;
            start();
            step.tuning.ego_least = least;
            step.tuning.ego_least_percent = percent;
            put_scene(&s, 200);
            run();
            assert_in_range(ego->facts.sum[VF_RELATIVE].inliers, 118, 124);
            const int good_enough = least + 2 * percent <= (int)ego->facts.sum[VF_RELATIVE].inliers;
            assert_int_equal(relative.state, good_enough ? VFRONT_MOTION_GOOD : VFRONT_MOTION_UNSURE);
        }
}

/** A motion that was good stays, with its frame, until there is another; the first frame, as after a reset, knows nothing. */
static void good_stays(void **state)
{
    (void)state;
    shake(620);
    const struct scene s = sideways();
    start();
    step.parity = 0;
    params->frame = 0;
    scribble(&memory.ego, sizeof memory.ego);
    put_scene(&s, 100);
    run();
    assert_int_equal(relative.state + metric.state + good.state, 0);
    for (uint64_t frame = 1; frame < 12; frame++) {
        const int sees = frame == 3 || frame == 4 || frame == 8;
        const uint64_t last = frame < 3 ? 0 : frame < 8 ? (frame == 3 ? 3 : 4) : 8;
        step.parity ^= 1;
        params->frame = frame;
        *matches = 0;
        put_scene(&s, sees ? 100 : 5);
        run();
        assert_int_equal(relative.state, sees ? VFRONT_MOTION_GOOD : VFRONT_MOTION_FEW);
        assert_int_equal(relative.frame, frame);
        assert_int_equal(good.state, last ? VFRONT_MOTION_GOOD : VFRONT_MOTION_NONE);
        assert_int_equal(good.frame, last);
        if (sees) assert_memory_equal(&good, &relative, sizeof good);
    }
    step.parity ^= 1;
    params->frame = 0; /* a reset */
    *matches = 0;
    run();
    assert_int_equal(relative.state + metric.state + good.state, 0);
    for (int k = 0; k < 9; k++) assert_true(good.R[k] == (float)identity[k]);
}

/** What leaves no metric motion: no depth, no hypotheses. And it is what is good when both are. */
static void metric_or_not(void **state)
{
    (void)state;
    if (!VFRONT_STEREO) skip();
    for (int way = 0; way < 6; way++) {
        shake(630);
        struct scene s = sideways();
        s.ranges = way != 5;
        start();
        if (way == 1) step.geometry.pair.placed = 0;
        if (way == 2) step.geometry.cameras = 1;
        if (way == 3) step.tuning.stereo = 0;
        if (way == 4) step.tuning.ego_metric_hypotheses = 0;
        put_scene(&s, 200);
        run();
        assert_int_equal(relative.state, VFRONT_MOTION_GOOD);
        assert_int_equal(metric.state, way == 0   ? VFRONT_MOTION_GOOD
                                       : way == 5 ? VFRONT_MOTION_FEW
                                                  : VFRONT_MOTION_NONE);
        assert_memory_equal(&good, way == 0 ? &metric : &relative, sizeof good);
        assert_true(way == 0 || metric.pairs + metric.inliers == 0);
    }
}

static void needed(void **state)
{
    (void)state;
    for (int size = 2; size <= 8; size++)
        for (uint32_t pairs = 1; pairs < 3000; pairs += 1 + pairs / 7)
            for (uint32_t inliers = 0; inliers <= pairs; inliers += 1 + pairs / 23) {
                const double clean = pow(inliers / (double)pairs, size), most = 1e6;
                const double want = clean <= 0.0   ? most
                                    : clean >= 1.0 ? 1.0
                                                   : fmin(most, fmax(1.0, ceil(log(0.01) / log1p(-clean))));
                const double is = vf_ego_needed(inliers, pairs, size);
                /* single precision has 1 - share^size to 6e-8 */
                REQUIRE(fabs(is - want) <= 1.0 + 3e-7 / clean * want || (want == most && is > 0.8 * most),
                        "%u of %u, %d at once: %g, should be %g", inliers, pairs, size, is, want);
            }
    assert_int_equal(vf_ego_needed(0, 0, 5), 1000000);
    assert_int_equal(vf_ego_needed(1000, 2000, 5), 146);
}

/* ---- absurd pairs ------------------------------------------------------------------------------------------------ */

static void nothing_odd(const vfront_motion_t *m)
{
    for (int k = 0; k < 9; k++) assert_true(isfinite(m->R[k]));
    for (int k = 0; k < 3; k++) assert_true(isfinite(m->t[k]));
    for (int k = 0; k < 21; k++) assert_true(isfinite(m->covariance[k]));
    assert_true(isfinite(m->rms_px) && isfinite(m->parallax_px) && m->inliers <= m->pairs && m->needed <= 1000000);
}

/** All pairs the same; all bearings of one frame the same; all on a line. */
static void all_alike(void **state)
{
    (void)state;
    for (int way = 0; way < 6; way++)
        for (int points = 5; points <= 8; points += 1 + (points == 5)) {
            shake(700);
            start();
            step.tuning.ego_points = points;
            for (int k = 0; k < 100; k++) {
                double before[3], now[3];
                bearing_of(way < 2 ? 100 : real(0, WIDTH), way < 2 || way == 4 ? 100 : real(0, HEIGHT), before);
                bearing_of(way < 3 ? 140 : real(0, WIDTH), way < 3 || way == 4 ? 90 : real(0, HEIGHT), now);
                if (way == 0 || way == 5) memcpy(now, before, sizeof now);
                put_range(put_match(before, now, 10, 1.0), 4.0, 0.1, way % 2 ? 4.0 : 0.0, way % 2 ? 0.1 : 0.0);
            }
            run();
            nothing_odd(&relative);
            nothing_odd(&metric);
            if (way == 0 || way == 5)
                assert_true(relative.state == VFRONT_MOTION_ROTATION || relative.state == VFRONT_MOTION_UNSURE);
            if (way == 0 || way == 5)
                assert_true(relative.state != VFRONT_MOTION_ROTATION || (relative.flags & VFRONT_MOTION_STILL));
        }
}

/** Among good pairs, ones that cannot be: they agree with nothing, and the others still do. Alone, they are no motion. */
static void absurd_pairs(void **state)
{
    (void)state;
    static const float odd[] = {NAN, INFINITY, -INFINITY, 0.0f, 1e30f, -1e30f, 1e-30f};
    for (int alone = 0; alone < 2; alone++)
        for (int field = 0; field < 12; field++)
            for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
                shake(710);
                struct scene s = sideways();
                s.ranges = 1;
                start();
                put_scene(&s, 100);
                for (int n = 0; n < 100; n++) {
                    if (!alone && n % 4) continue;
                    struct vf_point *b = &memory.bearing.point[step.parity ^ 1][0][n];
                    vfront_match_t *now = &memory.match.match[n];
                    if (field < 3)
                        b->bearing[field] = odd[k];
                    else if (field < 6)
                        now->bearing[field - 3] = odd[k];
                    else if (field == 6)
                        b->bearing[0] = b->bearing[1] = b->bearing[2] = odd[k];
                    else if (field == 7)
                        now->bearing[0] = now->bearing[1] = now->bearing[2] = odd[k];
#if VFRONT_STEREO
                    else if (field == 8)
                        memory.stereo.range_m[step.parity ^ 1][n] = odd[k];
                    else if (field == 9)
                        memory.stereo.range_sigma_m[step.parity ^ 1][n] = odd[k];
                    else if (field == 10)
                        memory.stereo.range_m[step.parity][n] = odd[k];
                    else
                        memory.stereo.range_sigma_m[step.parity][n] = odd[k];
#endif
                }
                run();
                nothing_odd(&relative);
                nothing_odd(&metric);
                if (!alone || field >= 8)
                    REQUIRE(relative.state == VFRONT_MOTION_GOOD, "field %d, value %zu: state %u", field, k,
                            relative.state);
                if (!alone)
                    REQUIRE(!VFRONT_STEREO || metric.state == VFRONT_MOTION_GOOD,
                            "field %d, value %zu: metric state %u, %u of %u", field, k, metric.state, metric.inliers,
                            metric.pairs);
                if (!alone || field >= 8)
                    REQUIRE(turned_off(&relative, &s.motion) < 0.3 && aimed_off(&relative, &s.motion) < 3.0,
                            "field %d, value %zu", field, k);
            }
}

/** Everything points backward, as seen by a lens of more than half a sphere: that is a motion like any other. */
static void backward(void **state)
{
    (void)state;
    shake(720);
    const struct scene s = sideways();
    start();
    put_scene(&s, 200);
    for (int n = 0; n < 200; n++)
        for (int k = 0; k < 3; k++) {
            memory.bearing.point[step.parity ^ 1][0][n].bearing[k] *= -1.0f;
            memory.match.match[n].bearing[k] *= -1.0f;
        }
    struct rigid mirrored = s.motion;
    for (int k = 0; k < 3; k++) mirrored.t[k] *= -1.0;
    run();
    assert_int_equal(relative.state, VFRONT_MOTION_GOOD);
    assert_true(turned_off(&relative, &mirrored) < 0.2 && aimed_off(&relative, &mirrored) < 3.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),          cmocka_unit_test(all_else_stays),
        cmocka_unit_test(draws_differ),   cmocka_unit_test(draws_uniform),
        cmocka_unit_test(draws_better),   cmocka_unit_test(draws_keyed),
        cmocka_unit_test(every_step),     cmocka_unit_test(relative_motions),
        cmocka_unit_test(metric_motions), cmocka_unit_test(states_of_scenes),
        cmocka_unit_test(noise),          cmocka_unit_test(few),
        cmocka_unit_test(share),          cmocka_unit_test(good_stays),
        cmocka_unit_test(metric_or_not),  cmocka_unit_test(needed),
        cmocka_unit_test(all_alike),      cmocka_unit_test(absurd_pairs),
        cmocka_unit_test(backward),
    };
    return cmocka_run_group_tests_name("ego", tests, NULL, NULL);
}

#else

int main(void)
{
    print_message("no motion or no matches in this config\n");
    return 77;
}

#endif
