/* SPDX-License-Identifier: MIT */
/* ego: the whole stage on scenes with a known motion, seen by a camera of 800 px focal length. The list against a plain
 * sort, draws by their statistics, scores and sums in the order given in ego.h, motions against the truth, states and
 * flags. Scenes: ego_scene.h; independent forms of the list, sums, refinement and assessment: ego_oracle.h. */
#include "tests/fixture/rigid.h"

#if VFRONT_EGO && VFRONT_MATCHES

#include "ego_oracle.h"
#include "ego_scene.h"

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static void lists(void **state)
{
    (void)state;
    static struct listed ranged[VFRONT_CORRESPONDENCES];
    for (uint64_t seed = 1; seed <= 60; seed++) {
        shake(seed);
        scribble(&memory.ego, sizeof memory.ego);
        new_step();
        const int blind = roll(3) ? step.geometry.nodes_x[0] : between(20, step.geometry.nodes_x[0]);
        const int full = seed % 20 == 0;
        make_grid(blind);
        step.tuning.ego = roll(5) ? VFRONT_EGO_ALL : VFRONT_EGO_TRACKS;
        step.tuning.stereo = VFRONT_STEREO && roll(5) > 0;
        step.tuning.ego_metric_hypotheses = roll(5) ? 32 : 0;
        step.tuning.ego_hypotheses = 1;
        step.tuning.ego_error_mpx = between(200, 5000);
        int n = random_tracks(full ? VFRONT_TRACKS : roll(VFRONT_TRACKS + 1), blind), with = 0;
        n = random_matches(full ? VFRONT_KEYPOINTS : roll(300), n, blind);
        qsort(should, (size_t)n, sizeof *should, by_rank);
        int known[2] = {0, 0}; /* tracks, matches with a distance */
        for (int i = 0; i < n; i++) known[should[i].number >= VFRONT_TRACKS] += should[i].m > 0.0;
        for (int i = 0; i < n; i++)
            if (should[i].m > 0.0 && (should[i].number >= VFRONT_TRACKS || known[0] > known[1])) {
                ranged[with] = should[i];
                double moved[3]; /* displacement of the match, exceeded by three in a hundred */
                for (int k = 0; k < 3; k++) moved[k] = 0.03 * FOCAL_PX * (should[i].now[k] - should[i].before[k]);
                ranged[with++].bound_px = fmax(should[i].bound_px,
                                               hypot(0.5 * step.tuning.ego_error_mpx / 1000.0, length(moved)));
            }
        run();
        compare_list(0, should, n);
        compare_list(1, ranged, with);
        assert_int_equal(relative.pairs, n);
        assert_int_equal(metric.pairs, metric.state ? with : 0);
    }
    new_step();
    make_grid(step.geometry.nodes_x[0]);
}

/** The stage writes only its own memory; without calibration, or disabled, none. */
static void all_else_stays(void **state)
{
    (void)state;
    shake(2);
    new_step();
    const struct scene s = sideways();
    scribble_arena();
    for (int variant = 0; variant < 3; variant++) {
        new_step();
        put_scene(&s, 100);
        if (variant == 1) step.tuning.ego = 0;
        if (variant == 2) step.geometry.calibrated[0] = 0;
        make_grid(step.geometry.nodes_x[0]);
        memcpy(&expected, &memory, sizeof memory);
        run();
        if (variant == 0) memcpy(expected.ego_bytes, memory.ego_bytes, sizeof memory.ego_bytes);
        same_arena("ego");
        assert_int_equal(relative.state == VFRONT_MOTION_NONE, variant > 0);
    }
}

/* ---- draws ------------------------------------------------------------------------------------------------------- */

static void draw(uint64_t frame, int kind, int32_t h, int32_t size, int32_t count, int32_t sample[8])
{
    vf_ego_sample(VIEW(ego), frame, kind, h, size, count, sample);
    for (int i = 0; i < size; i++) {
        REQUIRE(sample[i] >= 0 && sample[i] < count, "%d of %d", sample[i], count);
        for (int k = 0; k < i; k++) REQUIRE(sample[k] != sample[i], "%d is drawn twice", sample[i]);
    }
}

/** Samples of all sizes from all counts, down to the sample size, have distinct elements. */
static void draws_differ(void **state)
{
    (void)state;
    shake(3);
    new_step();
    for (int size = 2; size <= 8; size++)
        for (int count = size; count < 60; count += 1 + count / 12)
            for (int h = 0; h < 256; h++) {
                int32_t sample[8];
                draw(11, h % 3, h % 3 == VF_ROTATION_ONLY ? h % 64 : h, size, count, sample);
            }
}

static double chi_square(const int *count, int bins, double expect)
{
    double sum = 0.0;
    for (int k = 0; k < bins; k++) sum += (count[k] - expect) * (count[k] - expect) / expect;
    return sum;
}

/** Checks a chi-square value: within four standard deviations of its mean. */
static void plausible(double chi, int freedom, const char *what)
{
    print_message("%s: chi-square %.1f of %d\n", what, chi, freedom);
    REQUIRE(chi > freedom - 4 * sqrt(2.0 * freedom) && chi < freedom + 4 * sqrt(2.0 * freedom), "%s", what);
}

/** Odd hypotheses draw uniformly: first element, last element, ordered pairs, and one hypothesis from frame to
 *  frame. */
static void draws_uniform(void **state)
{
    (void)state;
    static int single[50], ordered[90], last[50], from_frame[50]; /* draws of each */
    shake(4);
    new_step();
    for (uint64_t frame = 1; frame <= 100; frame++)
        for (int h = 1; h < 512; h += 2) {
            int32_t sample[8];
            draw(frame, VF_RELATIVE, h, 5, 50, sample);
            single[sample[0]]++;
            last[sample[4]]++;
            if (h == 5) from_frame[sample[0]]++;
            if (h > 256) continue; /* only this number of metric hypotheses is drawn */
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

/** Even hypotheses draw from the first part of the list, which grows to the whole list. */
static void draws_better(void **state)
{
    (void)state;
    shake(5);
    new_step();
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

/** Draws depend on each of frame, kind and hypothesis, and on nothing else. */
static void draws_keyed(void **state)
{
    (void)state;
    shake(6);
    new_step();
    int same[4] = {0};
    for (int k = 0; k < 200; k++) {
        int32_t base[8], other[8];
        const uint64_t frame = 100 + 2 * (uint64_t)k;
        draw(frame, VF_RELATIVE, 11, 5, 1000, base);
        for (int what = 0; what < 4; what++) {
            draw(frame + (what == 1), what == 2 ? VF_METRIC : VF_RELATIVE, what == 3 ? 13 : 11, 5, 1000, other);
            for (int i = 0; i < 5; i++) same[what] += base[i] == other[i];
        }
    }
    assert_int_equal(same[0], 1000);
    for (int what = 1; what < 4; what++) REQUIRE(same[what] < 8, "%d: %d of 1000 draws are the same", what, same[what]);
}

static void every_step(void **state)
{
    (void)state;
    int wide = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        shake(100 + seed);
        struct scene s = seed % 2 ? sideways() : forward();
        s.outliers_percent = (int)(seed * 7);
        s.ranges = 1;
        if (seed == 4) memset(s.motion.t, 0, sizeof s.motion.t);
        if (seed > 8) s.noise_px = 2.0, s.outliers_percent = 0;
        if (seed == 5) s.other_percent = 30, s.other = forward().motion;
        new_step();
        step.tuning.ego_hypotheses = seed == 7 ? 1 : 128;
        step.tuning.ego_least_percent = seed > 8 ? 45 : 20;
        step.tuning.ego_metric_hypotheses = seed == 8 ? 5 : 96;
        put_scene(&s, seed == 1 ? 700 : seed == 2 ? 40 : vf_min(MOST, 127 + roll(400)));
        run();
        const int tried[VF_KINDS] = {step.tuning.ego_hypotheses, 64,
                                     VFRONT_STEREO ? step.tuning.ego_metric_hypotheses : 0};
        int best[VF_SEARCHES];
        for (int search = 0; search < VF_SEARCHES; search++) {
            const int hypotheses = tried[search == VF_WIDE ? VF_METRIC : search];
            compare_scores(search, hypotheses);
            best[search] = compare_refined(search, hypotheses);
        }
        compare_best(VF_RELATIVE, VF_RELATIVE, best[VF_RELATIVE]);
        compare_best(VF_ROTATION_ONLY, VF_ROTATION_ONLY, best[VF_ROTATION_ONLY]);
        wide += compare_metric_search(best[VF_METRIC], best[VF_WIDE]);
        compare_assessment(tried[VF_RELATIVE]);
        compare_inlier_masks();
    }
    if (VFRONT_STEREO) assert_int_equal(wide, 2);
}

/** Number of problems of a statistic: a quarter under sanitizers, which take fifteen times as long. */
#ifdef __SANITIZE_ADDRESS__
#define MANY(n) ((n) / 4)
#else
#define MANY(n) (n)
#endif

/* ---- motions against the truth ----------------------------------------------------------------------------------- */

static void relative_case(struct scene (*scene)(void), int points, int outliers, int problems, double most_turn,
                          double most_aim)
{
    double turned = 0.0, aimed = 0.0, inliers = 0.0;
    for (int k = 0; k < problems; k++) {
        struct scene s = scene();
        s.outliers_percent = outliers;
        new_step();
        step.tuning.ego_points = points;
        step.tuning.ego_hypotheses = VFRONT_HYPOTHESES;
        put_scene(&s, MOST);
        run();
        REQUIRE(relative.state == VFRONT_MOTION_GOOD, "%d points, %d %% outliers: state %u, %u of %u", points, outliers,
                relative.state, relative.inliers, relative.pairs);
        turned = fmax(turned, rotation_error(&relative, &s.motion));
        aimed = fmax(aimed, direction_error(&relative, &s.motion));
        inliers += relative.inliers / (double)relative.pairs / problems;
    }
    print_message("%s, %d points, %2d %% outliers: rotation off by %.3f degrees at most, direction off by %.3f, %.1f "
                  "%% inliers\n",
                  scene == forward ? "forward" : "sideways", points, outliers, turned, aimed, 100 * inliers);
    REQUIRE(turned < most_turn && aimed < most_aim, "%g degrees, %g degrees", turned, aimed);
}

static void relative_motions(void **state)
{
    (void)state;
    static const struct {
        int points, outliers, problems;
    } variant[] = {{5, 5, 3}, {5, 30, 3}, {5, 60, 10}, {7, 5, 3}, {7, 50, 10}, {8, 5, 3}, {8, 40, 10}};
    for (size_t k = 0; k < sizeof variant / sizeof *variant; k++) {
        shake(200 + k);
        relative_case(sideways, variant[k].points, variant[k].outliers, variant[k].problems, 0.2, 1.0);
        relative_case(forward, variant[k].points, variant[k].outliers, variant[k].problems, 0.1, 0.6);
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
            turned = fmax(turned, rotation_error(&metric, &s.motion));
            away = fmax(away, length(off));
        }
        print_message("%d %% outliers: rotation off by %.3f degrees at most, %.4f m away of 0.4 to 0.8\n", outliers,
                      turned, away);
        REQUIRE(turned < 0.03 && away < 0.004, "%g degrees, %g m", turned, away);
    }
}

/** Normalised squared error of a metric motion per unknown, of 6. */
static double metric_nees(const vfront_motion_t *m, const struct rigid *truth)
{
    double S[36], inverse[36], e[6], R[9], sum = 0.0;
    for (int i = 0, n = 0; i < 6; i++)
        for (int j = i; j < 6; j++, n++) S[6 * i + j] = S[6 * j + i] = (double)m->covariance[n];
    for (int k = 0; k < 9; k++) R[k] = (double)m->R[k];
    for (int k = 0; k < 3; k++) e[k] = truth->t[k] - (double)m->t[k];
    rotation_between(truth->R, R, e + 3);
    invert(S, 6, inverse);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) sum += e[i] * inverse[6 * i + j] * e[j];
    return sum / 6.0;
}

/** Positions with four times the assumed noise: too few inliers at the normal bound, but most at the wide one. The
 *  motion is flagged as such, and has a valid covariance. If outliers leave less than three quarters as inliers, no
 *  motion is reported. */
static void wide_motions(void **state)
{
    (void)state;
    enum { N = MANY(60) };
    if (!VFRONT_STEREO) skip();
    for (int outliers = 0; outliers <= 40; outliers += 40) {
        double nees = 0.0, least = 1.0;
        int wide = 0;
        shake(350 + (uint64_t)outliers);
        for (int k = 0; k < N; k++) {
            struct scene s = k % 2 ? forward() : sideways();
            s.ranges = 1;
            s.noise_px = 2.0;
            s.outliers_percent = outliers;
            new_step();
            step.tuning.ego_least_percent = 40;
            put_scene(&s, 500);
            run();
            if (!(metric.flags & VFRONT_MOTION_WIDE)) continue;
            assert_int_equal(metric.state, VFRONT_MOTION_GOOD);
            wide++;
            least = fmin(least, metric.inliers / (double)metric.pairs);
            nees += metric_nees(&metric, &s.motion);
        }
        print_message("2 px of noise, %d %% outliers: %d of %d from the wide bound, normalised error squared %.2f, "
                      "inliers %.0f %% at least\n",
                      outliers, wide, N, nees / fmax(wide, 1), 100 * least);
        REQUIRE(outliers ? wide == 0 : wide >= N / 2, "%d of %d wide", wide, N);
        REQUIRE(outliers || (nees < 2.0 * wide && nees > 0.2 * wide && least >= 0.75), "%g", nees / fmax(wide, 1));
    }
}

/** Without stereo matches of key points, distances of tracks give metric motions with a valid covariance. */
static void motions_of_tracks(void **state)
{
    (void)state;
    enum { N = MANY(60) };
    enum { NO_POINTS, NO_DESCRIBE, NO_MATCH, NO_STEREO, TRACKS, VARIANTS };
    const int32_t count = vf_min(VFRONT_TRACKS, 120);
    if (!VFRONT_STEREO) skip();
    for (int variant = 0; variant < VARIANTS; variant++) {
        double nees = 0.0, off_m = 0.0;
        shake(360 + (uint64_t)variant);
        for (int k = 0; k < N; k++) {
            struct scene s = k % 2 ? forward() : sideways();
            s.ranges = s.tracked = 1;
            s.noise_px = 0.25;
            new_step();
            if (variant == NO_POINTS) step.tuning.select_points = 0;
            if (variant == NO_DESCRIBE) step.tuning.describe = 0;
            if (variant == NO_MATCH) step.tuning.match = 0;
            if (variant == NO_STEREO) step.tuning.stereo = 0;
            if (variant == TRACKS) step.tuning.ego = VFRONT_EGO_TRACKS;
            put_scene(&s, count);
            run();
            REQUIRE(metric.state == VFRONT_MOTION_GOOD && metric.inliers * 10 > metric.pairs * 8, "state %u, %u of %u",
                    metric.state, metric.inliers, metric.pairs);
            nees += metric_nees(&metric, &s.motion) / N;
            for (int i = 0; i < 3; i++) off_m = fmax(off_m, fabs((double)metric.t[i] - s.motion.t[i]));
        }
        print_message("%d tracks, variant %d: normalised error squared %.2f, off by %.3f m at most\n", count, variant,
                      nees, off_m);
        REQUIRE(nees < 1.6 && nees > 0.4 && off_m < 0.1, "%g, %g m", nees, off_m);
    }
}

/* ---- states and flags -------------------------------------------------------------------------------------------- */

static const char *const state_name[] = {"none", "good", "rotation", "few", "unsure"};

/** Number of problems of a scene that end in each state and with each flag; flags count if the motion is good or a
 *  rotation. */
struct outcome {
    int state[5], still, plane, parallax, two;
    double inliers, turned;
};
static struct outcome run_scenes(struct scene (*scene)(void), void (*change)(struct scene *), int32_t pairs,
                                 int problems)
{
    struct outcome outcome;
    memset(&outcome, 0, sizeof outcome);
    for (int k = 0; k < problems; k++) {
        struct scene s = scene();
        change(&s);
        fly(&s, pairs);
        outcome.state[relative.state]++;
        outcome.still += (relative.flags & VFRONT_MOTION_STILL) != 0;
        outcome.plane += (relative.flags & VFRONT_MOTION_PLANE) != 0;
        outcome.parallax += (relative.flags & VFRONT_MOTION_PARALLAX) != 0;
        outcome.two += (relative.flags & VFRONT_MOTION_TWO) != 0;
        outcome.inliers += relative.inliers / (double)(relative.pairs ? relative.pairs : 1) / problems;
        outcome.turned = fmax(outcome.turned, rotation_error(&relative, &s.motion));
    }
    return outcome;
}

static void print_outcome(const char *what, const struct outcome *s)
{
    print_message("%-44s", what);
    for (int k = 1; k < 5; k++)
        if (s->state[k]) print_message(" %d %s", s->state[k], state_name[k]);
    print_message("; still %d, plane %d, parallax %d, two %d; %.0f %% inliers, rotation off by %.3f degrees\n",
                  s->still, s->plane, s->parallax, s->two, 100 * s->inliers, s->turned);
}

static void as_it_is(struct scene *s) { (void)s; }
static void rotation_only(struct scene *s, double least, double most)
{
    any_rotation(real(least, most), s->motion.R);
    memset(s->motion.t, 0, sizeof s->motion.t);
}
static void small_rotation(struct scene *s) { rotation_only(s, 0.002, 0.02); }
static void large_rotation(struct scene *s) { rotation_only(s, 0.1, 0.2); }
static void large_rotation_outliers(struct scene *s) { rotation_only(s, 0.1, 0.2), s->outliers_percent = 40; }
static void stand_still(struct scene *s) { rotation_only(s, 0.0, 0.0), s->noise_px = 0.05; }
static void stand_among_moving(struct scene *s)
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
static void with_other_motion(struct scene *s)
{
    struct scene other = sideways();
    s->other_percent = 30;
    s->other = other.motion;
    for (int k = 0; k < 3; k++) s->other.t[k] *= 3.0;
}
static void with_other_motion_and_outliers(struct scene *s) { with_other_motion(s), s->outliers_percent = 10; }

/** States and flags of scenes. An alternative motion is found if a hypothesis has nearly all of its sample from it: in
 *  most frames, not in all. */
static void states_of_scenes(void **state)
{
    (void)state;
    enum { N = MANY(20) };
    static const struct {
        const char *name;
        struct scene (*scene)(void);
        void (*change)(struct scene *);
        int state; /* expected state of all problems */
        int still, plane, parallax, two_least,
            two_most; /* 1: all problems have the flag, 0: none, -1: any; two: bounds of the number */
    } c[] = {
        {"sideways", sideways, as_it_is, VFRONT_MOTION_GOOD, 0, 0, 0, 0, 0},
        {"forward", forward, as_it_is, VFRONT_MOTION_GOOD, 0, 0, 0, 0, 0},
        {"sideways, 40 % outliers", sideways, with_outliers, VFRONT_MOTION_GOOD, 0, 0, 0, 0, 0},
        {"forward, 40 % outliers", forward, with_outliers, VFRONT_MOTION_GOOD, 0, 0, 0, 0, 0},
        {"sideways, 30 % outliers within 40 px", sideways, with_near_outliers, VFRONT_MOTION_GOOD, 0, 0, 0, 0, 0},
        {"rotation of up to a degree", sideways, small_rotation, VFRONT_MOTION_ROTATION, 0, 0, 0, 0, 0},
        {"rotation of 6 to 12 degrees", sideways, large_rotation, VFRONT_MOTION_ROTATION, 0, 0, 0, 0, 0},
        {"such a rotation, 40 % outliers", sideways, large_rotation_outliers, VFRONT_MOTION_ROTATION, 0, 0, 0, 0, 0},
        {"standing still", sideways, stand_still, VFRONT_MOTION_ROTATION, 1, 0, 0, 0, 0},
        {"standing still, 15 % move", sideways, stand_among_moving, VFRONT_MOTION_ROTATION, 1, 0, 0, 0, 0},
        {"2 cm", sideways, small_step, VFRONT_MOTION_GOOD, -1, 0, -1, 0, 0},
        {"all of it far away", sideways, far_away, VFRONT_MOTION_GOOD, 0, -1, 1, 0, 0},
        {"a wall", sideways, on_wall, VFRONT_MOTION_GOOD, 0, 1, 0, 0, 0},
        {"a wall, forward", forward, on_wall, VFRONT_MOTION_GOOD, 0, 1, -1, 0, 0},
        {"the ground", sideways, on_ground, VFRONT_MOTION_GOOD, 0, 1, 0, 0, 0},
        {"a wall, 30 % outliers", sideways, plane_outliers, VFRONT_MOTION_GOOD, 0, 1, 0, 0, 0},
        {"30 % on another motion", sideways, with_other_motion, VFRONT_MOTION_GOOD, 0, 0, 0, N / 2, N},
        {"30 % on another motion, forward", forward, with_other_motion, VFRONT_MOTION_GOOD, 0, 0, 0, N / 2, N},
        {"30 % on another motion, 10 % outliers", sideways, with_other_motion_and_outliers, VFRONT_MOTION_GOOD, 0, 0, 0,
         N / 2, N},
    };
    int failed = 0, two = 0;
    for (size_t k = 0; k < sizeof c / sizeof *c; k++) {
        shake(400 + k);
        const struct outcome s = run_scenes(c[k].scene, c[k].change, vf_min(MOST, 300), N);
        print_outcome(c[k].name, &s);
        two += s.two;
        failed += s.state[c[k].state] < N || (c[k].still >= 0 && s.still != N * c[k].still) ||
                  (c[k].plane >= 0 && s.plane != N * c[k].plane) ||
                  (c[k].parallax >= 0 && s.parallax != N * c[k].parallax) || s.two < c[k].two_least ||
                  s.two > c[k].two_most;
    }
    REQUIRE(failed == 0, "%d scenes are not what they are outcome to be", failed);
    REQUIRE(two >= N * 3 / 2, "VFRONT_MOTION_TWO in %d problems of three scenes", two);
}

/** A wall has two motions that explain it (H. Longuet-Higgins, 1986). Where the other one is reported, the truth is
 *  within the covariance. */
static void second_motion_of_a_wall(void **state)
{
    int other = 0, beyond = 0, all = 0;
    (void)state;
    shake(91);
    for (int k = 0; k < 200; k++) {
        struct scene s = sideways();
        double R[9], w[3];
        s.shape = WALL;
        fly(&s, 60);
        if (relative.state != VFRONT_MOTION_GOOD) continue;
        for (int i = 0; i < 9; i++) R[i] = (double)relative.R[i];
        rotation_between(R, s.motion.R, w);
        double square = 0.0; /* along the error: a lower bound of the normalised square of all three */
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                square += w[i] * (double)relative.covariance[vf_motion_index(3 + i, 3 + j)] * w[j];
        all++;
        other += rotation_error(&relative, &s.motion) > 0.5;
        beyond += pow(dot(w, w), 2) > 16.27 * square;
    }
    print_message("%d walls: %d with the other motion, %d beyond the bound\n", all, other, beyond);
    REQUIRE(all > 150 && other >= 10 && beyond <= 3, "%d, %d, %d", all, other, beyond);
}

/** Noise never gives a good motion, over the whole image or within part of it. */
static void noise(void **state)
{
    (void)state;
    static const struct {
        double within_px;
        int pairs;
    } variant[] = {{0, 20}, {0, 60}, {0, 100}, {0, 500}, {40, 16}, {40, 20}, {40, 40}, {40, 75}, {40, 150}, {40, 500}};
    int bad = 0;
    for (size_t k = 0; k < sizeof variant / sizeof *variant; k++) {
        int count[5] = {0}, metric_good = 0;
        uint32_t most = 0;
        shake(500 + k);
        for (int tries = 0; tries < MANY(20); tries++) {
            struct scene s;
            memset(&s, 0, sizeof s);
            s.ranges = 1;
            new_step();
            for (int n = 0; n < vf_min(MOST, variant[k].pairs); n++) put_outlier(&s, variant[k].within_px);
            run();
            count[relative.state]++;
            metric_good += metric.state == VFRONT_MOTION_GOOD;
            most = relative.inliers > most ? relative.inliers : most;
        }
        print_message("%d pairs within %g px: %d good, %d rotations, %d metric; %u inliers at most\n", variant[k].pairs,
                      variant[k].within_px, count[VFRONT_MOTION_GOOD], count[VFRONT_MOTION_ROTATION], metric_good,
                      most);
        bad += count[VFRONT_MOTION_GOOD] + count[VFRONT_MOTION_ROTATION] + metric_good;
    }
    REQUIRE(bad == 0, "%d motions from noise", bad);
}

/** Least number of correspondences, all inliers, and one fewer. */
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
                new_step();
                step.tuning.ego_least = least;
                step.tuning.ego_least_percent = percent;
                put_scene(&s, counts[k]);
                run();
                const uint32_t should = counts[k] < least    ? VFRONT_MOTION_FEW
                                        : counts[k] < enough ? VFRONT_MOTION_UNSURE
                                                             : VFRONT_MOTION_GOOD;
                REQUIRE(relative.state == should, "%d pairs of %d and %d %%: state %u, %u inliers", counts[k], least,
                        percent, relative.state, relative.inliers);
                assert_int_equal(relative.pairs, counts[k]);
                assert_int_equal(good.state, should == VFRONT_MOTION_GOOD ? VFRONT_MOTION_GOOD : VFRONT_MOTION_NONE);
            }
        }
    new_step();
    run();
    assert_int_equal(relative.state, VFRONT_MOTION_FEW);
    assert_int_equal(relative.pairs + relative.inliers, 0);
}

/** Least percentage of inliers, with 120 of 200. */
static void least_percent(void **state)
{
    (void)state;
    for (int percent = 0; percent <= 90; percent += 10)
        for (int least = 8; least <= 28; least += 20) {
            shake(610 + (uint64_t)percent);
            struct scene s = sideways();
            s.outliers_percent = 40;
            new_step();
            step.tuning.ego_least = least;
            step.tuning.ego_least_percent = percent;
            put_scene(&s, 200);
            run();
            assert_in_range(ego->assessment.sum[VF_RELATIVE].inliers, 118, 124);
            const int good_enough = least + 2 * percent <= (int)ego->assessment.sum[VF_RELATIVE].inliers;
            assert_int_equal(relative.state, good_enough ? VFRONT_MOTION_GOOD : VFRONT_MOTION_UNSURE);
        }
}

/** Frozen images, and a pair that is not GOOD, in this frame or in the previous one: no motion that depends on them is
 *  good. */
static void frozen_and_blind(void **state)
{
    enum { CLEAN, FROZEN_NOW, FROZEN_BEFORE, SECOND_FROZEN, SUSPECT_NOW, SUSPECT_BEFORE, BLIND_NOW, VARIANTS };
    (void)state;
    for (int variant = 0; variant < VARIANTS; variant++) {
        shake(640);
        struct scene s = sideways();
        s.ranges = 1;
        new_step();
        put_scene(&s, 200);
        const int now = step.parity, before = now ^ 1;
        memory.freeze.frames[now][0] = variant == FROZEN_NOW;
        memory.freeze.frames[before][0] = variant == FROZEN_BEFORE;
        memory.freeze.frames[now][VFRONT_CAMERAS - 1] |= variant == SECOND_FROZEN && VFRONT_CAMERAS > 1;
#if VFRONT_STEREO
        if (variant == SUSPECT_NOW) memory.stereo.pair[now].state = VFRONT_STEREO_SUSPECT;
        if (variant == SUSPECT_BEFORE) memory.stereo.pair[before].state = VFRONT_STEREO_SUSPECT;
        if (variant == BLIND_NOW) memory.stereo.pair[now].state = VFRONT_STEREO_BLIND;
#endif
        run();
        const int frozen = variant == FROZEN_NOW || variant == FROZEN_BEFORE, apart = variant >= SUSPECT_NOW;
        assert_int_equal(relative.state, frozen ? VFRONT_MOTION_FROZEN : VFRONT_MOTION_GOOD);
        if (!VFRONT_STEREO || !VFRONT_MATCHES) continue;
        assert_int_equal(metric.state, frozen  ? VFRONT_MOTION_FROZEN
                                       : apart ? VFRONT_MOTION_UNSURE
                                               : VFRONT_MOTION_GOOD);
        assert_int_equal(metric.flags & VFRONT_MOTION_STEREO, apart ? VFRONT_MOTION_STEREO : 0);
    }
}

/** The last good motion is kept, with its frame, until the next one; none in the first frame and after a reset. */
static void good_stays(void **state)
{
    (void)state;
    shake(620);
    const struct scene s = sideways();
    new_step();
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

/** No metric motion without depth or hypotheses; if both motions are good, the metric one is the last good one. */
static void metric_or_not(void **state)
{
    (void)state;
    if (!VFRONT_STEREO) skip();
    for (int variant = 0; variant < 7; variant++) {
        shake(630);
        struct scene s = sideways();
        s.ranges = variant != 5;
        new_step();
        if (variant == 1) step.geometry.pair.placed = 0;
        if (variant == 2) step.geometry.cameras = 1, step.geometry.pair.placed = 0;
        if (variant == 3) step.tuning.stereo = step.tuning.track_stereo = 0;
        if (variant == 4) step.tuning.ego_metric_hypotheses = 0;
        if (variant == 6) step.tuning.stereo = 0; /* distances of tracks, of which there are none */
        put_scene(&s, 200);
        run();
        assert_int_equal(relative.state, VFRONT_MOTION_GOOD);
        assert_int_equal(metric.state, variant == 0   ? VFRONT_MOTION_GOOD
                                       : variant >= 5 ? VFRONT_MOTION_FEW
                                                      : VFRONT_MOTION_NONE);
        assert_memory_equal(&good, variant == 0 ? &metric : &relative, sizeof good);
        assert_true(variant == 0 || metric.pairs + metric.inliers == 0);
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

/* ---- invalid input ----------------------------------------------------------------------------------------------- */

static void check_finite(const vfront_motion_t *m)
{
    for (int k = 0; k < 9; k++) assert_true(isfinite(m->R[k]));
    for (int k = 0; k < 3; k++) assert_true(isfinite(m->t[k]));
    for (int k = 0; k < 21; k++) assert_true(isfinite(m->covariance[k]));
    assert_true(isfinite(m->rms_px) && isfinite(m->parallax_px) && m->inliers <= m->pairs && m->needed <= 1000000);
}

/** Degenerate input: all correspondences equal; all bearings of one frame equal; all on a line. */
static void all_alike(void **state)
{
    (void)state;
    for (int variant = 0; variant < 6; variant++)
        for (int points = 5; points <= 8; points += 1 + (points == 5)) {
            shake(700);
            new_step();
            step.tuning.ego_points = points;
            for (int k = 0; k < 100; k++) {
                double before[3], now[3];
                bearing_of(variant < 2 ? 100 : real(0, WIDTH), variant < 2 || variant == 4 ? 100 : real(0, HEIGHT),
                           before);
                bearing_of(variant < 3 ? 140 : real(0, WIDTH), variant < 3 || variant == 4 ? 90 : real(0, HEIGHT), now);
                if (variant == 0 || variant == 5) memcpy(now, before, sizeof now);
                put_range(put_match(before, now, 10, 1.0), 4.0, 0.1, variant % 2 ? 4.0 : 0.0, variant % 2 ? 0.1 : 0.0);
            }
            run();
            check_finite(&relative);
            check_finite(&metric);
            if (variant == 0 || variant == 5)
                assert_true(relative.state == VFRONT_MOTION_ROTATION || relative.state == VFRONT_MOTION_UNSURE);
            if (variant == 0 || variant == 5)
                assert_true(relative.state != VFRONT_MOTION_ROTATION || (relative.flags & VFRONT_MOTION_STILL));
        }
}

/** Invalid values among good correspondences are outliers, and the others still give the motion. Alone, they give
 *  none. */
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
                new_step();
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
                check_finite(&relative);
                check_finite(&metric);
                if (!alone || field >= 8)
                    REQUIRE(relative.state == VFRONT_MOTION_GOOD, "field %d, value %zu: state %u", field, k,
                            relative.state);
                if (!alone)
                    REQUIRE(!VFRONT_STEREO || metric.state == VFRONT_MOTION_GOOD,
                            "field %d, value %zu: metric state %u, %u of %u", field, k, metric.state, metric.inliers,
                            metric.pairs);
                if (!alone || field >= 8)
                    REQUIRE(rotation_error(&relative, &s.motion) < 0.3 && direction_error(&relative, &s.motion) < 3.0,
                            "field %d, value %zu", field, k);
            }
}

/** All points behind the image plane, as in a lens of more than 180 degrees: a motion like any other. */
static void backward(void **state)
{
    (void)state;
    shake(720);
    const struct scene s = sideways();
    new_step();
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
    assert_true(rotation_error(&relative, &mirrored) < 0.2 && direction_error(&relative, &mirrored) < 3.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),
        cmocka_unit_test(all_else_stays),
        cmocka_unit_test(draws_differ),
        cmocka_unit_test(draws_uniform),
        cmocka_unit_test(draws_better),
        cmocka_unit_test(draws_keyed),
        cmocka_unit_test(every_step),
        cmocka_unit_test(relative_motions),
        cmocka_unit_test(metric_motions),
        cmocka_unit_test(wide_motions),
        cmocka_unit_test(motions_of_tracks),
        cmocka_unit_test(states_of_scenes),
        cmocka_unit_test(second_motion_of_a_wall),
        cmocka_unit_test(noise),
        cmocka_unit_test(few),
        cmocka_unit_test(least_percent),
        cmocka_unit_test(good_stays),
        cmocka_unit_test(frozen_and_blind),
        cmocka_unit_test(metric_or_not),
        cmocka_unit_test(needed),
        cmocka_unit_test(all_alike),
        cmocka_unit_test(absurd_pairs),
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
