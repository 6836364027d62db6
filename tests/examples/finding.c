/* SPDX-License-Identifier: MIT */
/* Statistics of build/calibrate: Student's distribution beside tables; the probability of a finding over drawn fits
 * whose residuals are correlated in time, as those of motion chains are. The maps of two cameras above each other. */
#include "examples/calibrate/camera_check.h"
#include "examples/calibrate/finding.h"
#include "examples/calibrate/least_squares.h"
#include "tests/fixture/rigid.h"

enum { FITS = 2000, RESIDUALS = 600 };

/** Two-sided probabilities of tables (Abramowitz and Stegun, 26.10). */
static void student(void **state)
{
    static const struct {
        double t, dof, probability;
    } table[] = {{12.706, 1, 0.05}, {4.303, 2, 0.05},   {2.262, 9, 0.05},        {4.781, 9, 0.001},
                 {2.042, 30, 0.05}, {3.646, 30, 0.001}, {1.960, HUGE_VAL, 0.05}, {3.291, HUGE_VAL, 0.001}};
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const double p = finding_student(table[i].t, table[i].dof);
        REQUIRE(fabs(p / table[i].probability - 1.0) < 2e-3, "t %g, dof %g: %g", table[i].t, table[i].dof, p);
    }
    assert_true(finding_student(0.0, 9.0) == 1.0);
}

/** Equations of a line through y over x, at the parameters. */
static void add_all(least_squares_t *ls, const double *x, const double *y)
{
    least_squares_clear(ls);
    for (int i = 0; i < RESIDUALS; i++) {
        const double row[2] = {-1.0, -x[i]}, r = y[i] - ls->x[0] - ls->x[1] * x[i];
        least_squares_add(ls, i * LEAST_SQUARES_BLOCKS / RESIDUALS, row, r, 1e3);
    }
}

/** Probability of a slope that is off by as much as a good one is, in noise that is correlated over ten residuals. */
static double drawn_probability(double tolerance)
{
    static least_squares_t ls;
    findings_t all = {.count = 0};
    double x[RESIDUALS], y[RESIDUALS], noise = 0.0;
    const double slope = tolerance * normal();
    for (int i = 0; i < RESIDUALS; i++) {
        noise = 0.9 * noise + normal();
        x[i] = sin(0.37 * i);
        y[i] = 0.5 + slope * x[i] + noise;
    }
    least_squares_begin(&ls, 2);
    add_all(&ls, x, y);
    assert_true(least_squares_step(&ls) >= 0.0);
    add_all(&ls, x, y);
    assert_int_equal(least_squares_deviations(&ls), LEAST_SQUARES_BLOCKS);
    const finding_t f = {.name = "slope",
                         .unit = "",
                         .value = ls.x[1],
                         .sigma = least_squares_sigma(&ls, 1),
                         .tolerance = tolerance,
                         .dof = LEAST_SQUARES_BLOCKS - 1};
    return finding_add(&all, &f)->probability;
}

/** A right value is called wrong as often as the probability says, with a tolerance and without one. */
static void honest(void **state)
{
    (void)state;
    shake(1);
    for (int with = 0; with < 2; with++) {
        int below[3] = {0};
        static const double limit[3] = {0.5, 0.1, 0.01};
        for (int i = 0; i < FITS; i++) {
            const double p = drawn_probability(with ? 0.3 : 1e-6);
            for (int k = 0; k < 3; k++) below[k] += p < limit[k];
        }
        for (int k = 0; k < 3; k++) {
            const double expected = limit[k] * FITS, bound = 4.0 * sqrt(expected);
            print_message("    below %.2f: %d of %d\n", limit[k], below[k], FITS);
            REQUIRE(below[k] < 1.3 * expected + bound && below[k] > 0.5 * expected - bound, "%d", below[k]);
        }
    }
}

/** What residuals do not show keeps the deviation of its prior, and is unknown. */
static void not_shown(void **state)
{
    static least_squares_t ls;
    findings_t all = {.count = 0};
    const double row[2] = {1.0, 0.0};
    (void)state;
    least_squares_begin(&ls, 2);
    for (int i = 0; i < 100; i++) least_squares_add(&ls, i / 10, row, 1e-3, 1e6);
    least_squares_prior(&ls, 1, 0.3);
    assert_true(least_squares_deviations(&ls) == LEAST_SQUARES_BLOCKS);
    const finding_t f = {.name = "x",
                         .unit = "",
                         .value = ls.x[1],
                         .sigma = least_squares_sigma(&ls, 1),
                         .tolerance = 0.01,
                         .dof = LEAST_SQUARES_BLOCKS - 1};
    assert_true(fabs(f.sigma - 0.3) < 1e-9);
    assert_int_equal(finding_add(&all, &f)->decision, FINDING_UNKNOWN);
}

enum { POINTS = 4000 };

/** Camera 1 10 cm below camera 0, with another lens, turned by 5 mrad about its axis y from where the calibration has
 *  it: epipolar lines run along columns, and points lie 1.5 px beside them, in both pictures, until it is corrected. */
static void stacked(void **state)
{
    static pair_t pair[POINTS];
    static findings_t all;
    static camera_map_t map[2];
    gathered_t data = {.pair = pair, .frames = POINTS, .rig = {.cameras = 2}};
    (void)state;
    shake(51);
    for (int c = 0; c < 2; c++) {
        vfront_camera_t *k = &data.rig.camera[c];
        *k = (vfront_camera_t){
            .width_px = 640, .height_px = 480, .fx_px = 300, .fy_px = 300, .cx_px = 320, .cy_px = 240};
        for (int i = 0; i < 3; i++) k->R_cam_imu[4 * i] = 1.0;
    }
    data.rig.camera[1].t_cam_imu_m[1] = -0.1;
    data.rig.camera[1].lens = VFRONT_LENS_DS;
    data.rig.camera[1].distortion[0] = -0.2;
    data.rig.camera[1].distortion[1] = 0.5;
    data.rig.camera[1].fx_px = data.rig.camera[1].fy_px = 240; /* 300 at the axis */
    for (int i = 0; i < POINTS; i++) {
        const double depth = 0.8 + 4.0 * fabs(normal()), x = depth * 0.5 * normal(), y = depth * 0.4 * normal(),
                     first[3] = {x, y, depth}, second[3] = {x + 5e-3 * depth, y - 0.1, depth - 5e-3 * x};
        double px[2][2];
        if (!vfront_lens_project(&data.rig.camera[0], first, px[0]) ||
            !vfront_lens_project(&data.rig.camera[1], second, px[1]))
            continue;
        pair_t *to = &pair[data.pairs++];
        *to = (pair_t){.frame = (uint32_t)i, .size = 1.0F};
        for (int c = 0; c < 2; c++)
            for (int k = 0; k < 2; k++) to->px[c][k] = (float)px[c][k];
    }
    camera_check(&all, &data, map);
    assert_true(all.count > 5 && all.of[1].decision == FINDING_WRONG && fabs(all.of[1].value - 5.0) < 0.05);
    int regions[2] = {0};
    for (int i = 0; i < 2 * CAMERA_ROWS * CAMERA_COLUMNS; i++) {
        const int c = i % 2, y = i / 2 % CAMERA_ROWS, x = i / 2 / CAMERA_ROWS;
        if (map[c].count[y][x] < CAMERA_REGION_LEAST) continue;
        regions[c]++;
        const double *across = map[c].across[y][x], off = across[0] * map[c].given[y][x];
        REQUIRE(fabs(across[0]) > 0.95 && fabs(across[1]) < 0.3, "camera %d: across lines %g %g", c, across[0],
                across[1]);
        REQUIRE((c ? off : -off) > 0.8 && fabs(off) < 2.5, "camera %d: %g px beside the line", c, off);
        REQUIRE(fabs(map[c].fitted[y][x]) < 0.05, "camera %d: %g px left", c, map[c].fitted[y][x]);
    }
    assert_true(regions[0] > 20 && regions[1] > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(student), cmocka_unit_test(honest), cmocka_unit_test(not_shown),
                                       cmocka_unit_test(stacked)};
    return cmocka_run_group_tests_name("finding", tests, NULL, NULL);
}
