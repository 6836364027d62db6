/* SPDX-License-Identifier: MIT */
/* Expected depths of points without a match: the grid against its rule in double precision; positions on drawn walls;
 * conditions for an expectation; wrong expectations. */
#include "stereo_oracle.h"

#if VFRONT_STEREO
#include "geometry/expect.h"

#define SIDE 64

static uint32_t *before_count(void) { return &memory.bearing.count[step.parity ^ 1][0]; }

/** Sets the predicted motion of camera 0, and the stage's view of it. sigma_m: standard deviation of the translation
 *  along its least certain axis [m]. */
static void predict_motion(const double R[9], const double t[3], double sigma_m)
{
    vfront_prediction_t *p = &memory.predict.now;
    memset(p, 0, sizeof *p);
    for (int k = 0; k < 9; k++) p->R[k] = (float)R[k];
    for (int k = 0; k < 3; k++) p->t[k] = (float)t[k];
    p->covariance[0] = (float)(sigma_m * sigma_m / 4.0);
    p->covariance[6] = (float)(sigma_m * sigma_m);
    p->source = roll(2) ? VFRONT_PREDICT_MOTION : VFRONT_PREDICT_STATE;
}

/** Meets all conditions for expectations, except points. */
static void allow_expectations(void)
{
    memset(memory.stereo.back[step.parity], 0xff, sizeof memory.stereo.back[0]);
    memset(memory.stereo.expected[step.parity], 0, sizeof memory.stereo.expected[0]);
    memset(memory.stereo.pair, 0, sizeof memory.stereo.pair);
    memset(memory.freeze.frames, 0, sizeof memory.freeze.frames);
    memory.stereo.pair[step.parity ^ 1].state = VFRONT_STEREO_GOOD;
    memory.ingest.params.frame = 7;
}

/** Puts point i of the previous frame at a position in axes of its camera. */
static void put_before(uint32_t i, const double at[3], double sigma_m)
{
    struct vf_point *p = &memory.bearing.point[step.parity ^ 1][0][i];
    const double range = length(at);
    for (int k = 0; k < 3; k++) p->bearing[k] = (float)(at[k] / range);
    memory.stereo.range_m[step.parity ^ 1][i] = (float)range;
    memory.stereo.range_sigma_m[step.parity ^ 1][i] = (float)sigma_m;
    memory.stereo.matched[step.parity ^ 1][i] = 1;
}

/* ---- the grid ---------------------------------------------------------------------------------------------------- */

static struct {
    double nearest, farthest;
    uint32_t points;
} grid[SIDE * SIDE];

/** Adds point i of the previous frame to the grid of the oracle. Returns 0 if it is too close to a cell border for
 *  single precision. */
static int add_to_grid(uint32_t i, const double R[9], const double t[3], double sigma_m)
{
    const float *bearing = memory.bearing.point[step.parity ^ 1][0][i].bearing;
    const double range = (double)memory.stereo.range_m[step.parity ^ 1][i],
                 deviation = (double)memory.stereo.range_sigma_m[step.parity ^ 1][i];
    const double from[3] = {(double)bearing[0], (double)bearing[1], (double)bearing[2]};
    double at[3];
    if (range == 0.0 || !memory.stereo.matched[step.parity ^ 1][i]) return 1;
    rotate(R, from, at);
    for (int k = 0; k < 3; k++) at[k] = at[k] * range + t[k];
    const double away = length(at), column = (at[0] / away + 1.0) * SIDE / 2, row = (at[1] / away + 1.0) * SIDE / 2;
    if (fabs(at[2] / away - 0.05) < 1e-5 || fabs(column - round(column)) < 1e-3 || fabs(row - round(row)) < 1e-3)
        return 0;
    if (at[2] / away < 0.05) return 1;
    const int cell = (int)row * SIDE + (int)column;
    const double rms = 3.0 * hypot(deviation, sigma_m) / (away * away);
    grid[cell].nearest = fmax(grid[cell].nearest, 1.0 / away + rms);
    grid[cell].farthest = fmin(grid[cell].farthest, fmax(1.0 / away - rms, 0.0));
    grid[cell].points++;
    return 1;
}

static float number_of(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static void compare_grid(void)
{
    const struct vf_expect_cell *is = memory.stereo.expected[step.parity];
    for (int i = 0; i < SIDE * SIDE; i++) {
        REQUIRE(is[i].points == grid[i].points, "cell %d: %u points, should be %u", i, is[i].points, grid[i].points);
        assert_int_equal(memory.stereo.expected[step.parity ^ 1][i].points, 0);
        if (!grid[i].points) continue;
        const double near = (double)number_of(is[i].nearest), far = (double)number_of(~is[i].farthest);
        REQUIRE(fabs(near - grid[i].nearest) < 1e-5 * grid[i].nearest && fabs(far - grid[i].farthest) < 1e-5 * near,
                "cell %d: %g to %g, should be %g to %g", i, far, near, grid[i].farthest, grid[i].nearest);
    }
}

/** Compares the numbers of points around random directions. */
static void compare_neighbours(void)
{
    for (int n = 0; n < 100; n++) {
        const double ray[3] = {real(-1, 1), real(-1, 1), roll(4) ? real(0, 1) : real(-1, 1)};
        float bearing[3];
        uint32_t is = 0, should = 0;
        for (int k = 0; k < 3; k++) bearing[k] = (float)(ray[k] / length(ray));
        const int column = (int)(((double)bearing[0] + 1.0) * SIDE / 2),
                  row = (int)(((double)bearing[1] + 1.0) * SIDE / 2);
        for (int i = 0; i < SIDE * SIDE && (double)bearing[2] >= 0.05; i++)
            should += abs(i % SIDE - column) <= 1 && abs(i / SIDE - row) <= 1 ? grid[i].points : 0;
        for (int32_t k = 0; k < 9; k++) is += vf_expect_neighbour(VIEW(stereo), vf_expect_location(bearing), k).points;
        REQUIRE(is == should, "around %g %g: %u points, should be %u", (double)bearing[0], (double)bearing[1], is,
                should);
    }
}

/** Random points in all directions, random motions: bounds and numbers of points of all cells. */
static void grid_of_random_points(void **state)
{
    (void)state;
    shake(31);
    scribble_arena();
    for (int round = 0; round < 40; round++) {
        double R[9];
        if (!set_up_rig(RECTIFIED)) skip();
        const double t[3] = {real(-0.5, 0.5), real(-0.5, 0.5), real(-0.5, 0.5)}, sigma_m = real(0.0, 0.2);
        rotation_about(real(-1, 1), real(-1, 1), real(-1, 1), real(0.0, 0.5), R);
        predict_motion(R, t, sigma_m);
        allow_expectations();
        for (int i = 0; i < SIDE * SIDE; i++) grid[i].nearest = 0.0, grid[i].farthest = 1e9, grid[i].points = 0;
        double Rf[9], tf[3]; /* in single precision, as in the stage */
        for (int k = 0; k < 9; k++) Rf[k] = (double)memory.predict.now.R[k];
        for (int k = 0; k < 3; k++) tf[k] = (double)memory.predict.now.t[k];
        *before_count() = (uint32_t)roll(VFRONT_KEYPOINTS + 1);
        for (uint32_t i = 0; i < *before_count(); i++) {
            const double range = pow(10.0, real(-0.5, 2.0)),
                         ray[3] = {real(-1, 1), real(-1, 1), roll(4) ? real(0, 1) : real(-1, 1)};
            double at[3];
            for (int k = 0; k < 3; k++) at[k] = ray[k] * range;
            put_before(i, at, range * real(0.0, 0.1));
            if (roll(4) == 0) memory.stereo.matched[step.parity ^ 1][i] = 0;
            if (roll(4) == 0) memory.stereo.range_m[step.parity ^ 1][i] = 0.0f;
            if (!add_to_grid(i, Rf, tf, sigma_m)) i--;
        }
        *count_of(0) = *count_of(1) = 0;
        begin_levels();
        RUN(stereo);
        compare_grid();
        compare_neighbours();
    }
}

/** Intervals from the disparities of their bounds, for a point in the middle of a pair of pinholes. Focal length 300
 *  px, 0.1 m apart. */
static void intervals_by_hand(void **state)
{
    static const double z_axis[3] = {0, 0, 1}, centre[3] = {0.1, 0, 0};
    static const struct {
        double near_px, far_px; /* bounds, as disparities */
        int points, level;
        double half_px; /* half length of the interval [px]; 0: none */
    } variant[] = {{12, 10, 2, 0, 3.0},   {12, 10, 1, 0, 0.0},    {12, 10, 9, 0, 3.0}, {20, 14.1, 2, 0, 4.95},
                   {20, 13.9, 2, 0, 0.0}, {20, 13.9, 2, 2, 5.93}, {3, 0, 2, 0, 3.5},   {40, 40, 3, 0, 2.0}};
    (void)state;
    shake(35);
    if (!fits(321, 241, 0)) skip();
    for (int32_t c = 0; c < 2; c++) set_camera(c, VFRONT_LENS_RADTAN, 321, 241, 300);
    location(z_axis, 0, centre);
    finish_rig();
    for (size_t i = 0; i < sizeof variant / sizeof *variant; i++) {
        struct vf_expect_cell around = {0, 0, (uint32_t)variant[i].points};
        struct vf_point a;
        memset(&a, 0, sizeof a);
        a.bearing[2] = 1.0f;
        a.step = (float)size_of(variant[i].level);
        around.nearest = vf_expect_bits((float)(variant[i].near_px / 30.0));
        around.farthest = ~vf_expect_bits((float)(variant[i].far_px / 30.0));
        const struct vf_epipolar_plane e = vf_stereo_epipolar(&step.geometry.pair, a.bearing);
        const struct vf_expect_interval is = vf_expect_interval(VIEW(stereo), &e, &a, &around);
        REQUIRE(fabs((double)is.half_px - variant[i].half_px) < 0.01, "line %zu: %g px", i, (double)is.half_px);
        if (variant[i].half_px == 0.0) continue;
        const double x_px = 300.0 * (double)is.towards[0] / (double)is.towards[2];
        REQUIRE(fabs(x_px + (variant[i].near_px + variant[i].far_px) / 2) < 1e-3, "line %zu: towards %g px", i, x_px);
    }
}

/* ---- walls ------------------------------------------------------------------------------------------------------- */

/** Draws points on a wall, before and after a motion. Every third has a descriptor without a match in camera 1.
 *  stretch: factor on the depths of the previous frame. */
static void see_wall(enum kind kind, double stretch)
{
    double R[9], back[3];
    const double b = length(rig.t), t[3] = {0.3 * b, -0.2 * b, 0.5 * b};
    build_wall(b * real(12, 20), kind == FISHEYE ? 0.0 : real(0.0, 0.3), real(-3, 3), 5.0);
    draw(0, 1.0);
    draw(1, 1.0);
    RUN(scale);
    step.tuning.stereo_band_px = 8;
    step.tuning.stereo_distance = 60;
    step.tuning.stereo_disparity_px = 400;
    const uint32_t n = points_on_wall(POINTS, 3, 0, 0.8);
    rotation_about(0.3, 1.0, 0.2, 0.05, R);
    predict_motion(R, t, 0.01 * b);
    allow_expectations();
    begin_levels();
    *before_count() = n;
    for (uint32_t i = 0; i < n; i++) {
        const double range = true_depth[i] / true_point[0][i].bearing[2];
        double at[3];
        for (int k = 0; k < 3; k++) back[k] = true_point[0][i].bearing[k] * range * stretch - t[k];
        for (int k = 0; k < 3; k++) at[k] = R[k] * back[0] + R[3 + k] * back[1] + R[6 + k] * back[2];
        put_before(i, at, 0.005 * range);
        if (i % 3 == 0) scribble(&bits_of(0)[i], sizeof(vfront_descriptor_t));
    }
}

/** Statistics of depths without a match: their number, the number off by more than a pixel along the line, and the mean
 *  squared normalised error of the others. */
struct figures {
    int depths, wrong;
    double square;
};
static struct figures look_at_depths(void)
{
    struct figures f = {0, 0, 0.0};
    for (uint32_t n = 0; n < memory.stereo.count; n++) {
        const vfront_depth_t *d = &memory.stereo.depth[n];
        const uint32_t i = d->keypoint;
        assert_int_equal(memory.stereo.matched[step.parity][i], d->match != VFRONT_NO_MATCH);
        if (d->match != VFRONT_NO_MATCH) continue;
        assert_true(d->distance == 0 && i % 3 == 0 && !memory.stereo.distance[i].scale);
        assert_true(memory.stereo.range_m[step.parity][i] > 0.0f);
        f.depths++;
        const double off = hypot((double)d->x_px - truth[i][0], (double)d->y_px - truth[i][1]);
        const double sigmas = ((double)d->depth_m - true_depth[i]) / (double)d->sigma_m;
        f.wrong += off > 1.0;
        f.square += off > 1.0 ? 0.0 : sigmas * sigmas;
    }
    return f;
}

/** Walls in front of all rigs, except those with mutually rotated images, where Newton's method does not converge:
 *  nearly all points without a match have a depth. */
static void depths_on_walls(void **state)
{
    (void)state;
    shake(32);
    for (int kind = 0; kind < FORWARD; kind++) {
        struct figures all = {0, 0, 0.0};
        int points = 0;
        if (kind == ROLLED) continue;
        for (int round = 0; round < 6; round++) {
            if (!set_up_rig((enum kind)kind)) skip();
            see_wall((enum kind)kind, 1.0);
            RUN(stereo);
            const struct figures f = look_at_depths();
            points += ((int)*count_of(0) + 2) / 3;
            all.depths += f.depths;
            all.wrong += f.wrong;
            all.square += f.square;
            assert_true(memory.stereo.pair[step.parity].permille < 700); /* share of matches alone */
        }
        print_message("         %-10s %d points without a match, %d depths, %d of them over 1 px off, %.2f sigma rms\n",
                      rig_name[kind], points, all.depths, all.wrong, sqrt(all.square / (all.depths - all.wrong)));
        assert_true(all.depths > points / 2 && all.wrong * 50 <= all.depths &&
                    sqrt(all.square / (all.depths - all.wrong)) < 0.6);
    }
}

/** Each condition of an expectation violated in turn; depths of matches keep the same bits. */
static void no_depths_without_a_reason(void **state)
{
    static struct vf_memory start;
    static vfront_depth_t alone[VFRONT_KEYPOINTS];
    uint32_t count = 0;
    (void)state;
    shake(33);
    if (!set_up_rig(RECTIFIED)) skip();
    see_wall(RECTIFIED, 1.0);
    memcpy(&start, &memory, sizeof memory);
    for (int why = 0; why < 8; why++) {
        struct vf_pair_health *before = &memory.stereo.pair[step.parity ^ 1];
        memcpy(&memory, &start, sizeof memory);
        step.tuning.stereo = why == 1 ? VFRONT_STEREO_MATCHES : VFRONT_STEREO_PREDICTED;
        if (why == 2) memory.ingest.params.frame = 0;
        if (why == 3) memory.predict.now.source = VFRONT_PREDICT_ROTATION;
        if (why == 4) before->state = VFRONT_STEREO_SUSPECT;
        if (why == 5) memset(memory.stereo.matched, 0, sizeof memory.stereo.matched);
        if (why == 6) memory.freeze.frames[step.parity][1] = 1; /* pair BLIND in this frame */
        if (why == 7) {                                         /* pair SUSPECT in this frame: far fewer matches than
                                                                   the running mean */
            before->frames = 8;
            before->mean_permille_q8 = 2000 << 8;
            before->mean_scatter_px2 = before->scatter_change2 = before->shift_px2 = 1.0f;
        }
        RUN(stereo);
        const int expected = look_at_depths().depths;
        REQUIRE((expected > 20) == (why == 0) && (why == 0 || expected == 0), "case %d: %d depths", why, expected);
        uint32_t n = 0;
        static vfront_depth_t matched[VFRONT_KEYPOINTS];
        for (uint32_t k = 0; k < memory.stereo.count; k++)
            if (memory.stereo.depth[k].match != VFRONT_NO_MATCH) matched[n++] = memory.stereo.depth[k];
        if (why == 0) memcpy(alone, matched, (count = n) * sizeof *alone);
        assert_int_equal(n, count);
        assert_memory_equal(matched, alone, n * sizeof *alone);
    }
    assert_true(count > 50);
}

/** All depths of the previous frame wrong by the same factor: nearly no expected depths are found. */
static void wrong_expectations(void **state)
{
    static const double stretch[] = {0.5, 0.7, 0.85, 1.2, 1.5, 3.0};
    (void)state;
    shake(34);
    for (size_t k = 0; k < sizeof stretch / sizeof *stretch; k++) {
        int points = 0, wrong = 0, depths = 0;
        for (int round = 0; round < 8; round++) {
            if (!set_up_rig(RECTIFIED)) skip();
            see_wall(RECTIFIED, stretch[k]);
            RUN(stereo);
            const struct figures f = look_at_depths();
            points += ((int)*count_of(0) + 2) / 3;
            wrong += f.wrong;
            depths += f.depths;
        }
        print_message("         expected at %.2f of the depth: %d points, %d depths, %d of them over 1 px off\n",
                      stretch[k], points, depths, wrong);
        assert_true(wrong * 20 <= points);
    }
}

#endif

int main(void)
{
#if VFRONT_STEREO
    const struct CMUnitTest test[] = {
        cmocka_unit_test(grid_of_random_points), cmocka_unit_test(intervals_by_hand),
        cmocka_unit_test(depths_on_walls),       cmocka_unit_test(no_depths_without_a_reason),
        cmocka_unit_test(wrong_expectations),
    };
    return cmocka_run_group_tests_name("expect", test, NULL, NULL);
#else
    printf("expect: SKIPPED, the config has no stereo\n");
    return 77;
#endif
}
