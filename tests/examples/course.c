/* SPDX-License-Identifier: MIT */
/* The rendered flight along a trajectory (examples/synthetic/course.h): its curve against differences and against the
 * motion it
 * was read from, samples integrated against the curve, the board's part of the picture, blur, faulty files. */
#define _XOPEN_SOURCE 700 /* mkstemp, fdopen, P_tmpdir */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "examples/synthetic/course.h"
#include "tests/fixture/temporary.h"

enum { WIDTH = 320, HEIGHT = 200, LINES = 700 };

static char path[64];
static uint8_t picture[2][HEIGHT * WIDTH];

/** A motion: a turn about z by an angle that swings, on a curve. */
static void motion(double t, double p[3], double q[4])
{
    const double yaw = 0.4 * sin(0.9 * t);
    p[0] = sin(0.8 * t), p[1] = 0.7 * cos(1.1 * t), p[2] = 1.2 + 0.2 * sin(1.7 * t);
    q[0] = q[1] = 0.0, q[2] = sin(0.5 * yaw), q[3] = cos(0.5 * yaw);
}

/** Writes a file of `lines` poses, 50 Hz, from t = 100 s on; still: all at one place. */
static void write_motion(int lines, int still)
{
    temporary(path, "course");
    FILE *file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    fputs("# t p q\n", file);
    for (int i = 0; i < lines; i++) {
        double p[3], q[4];
        motion(still ? 0.0 : 0.02 * i, p, q);
        fprintf(file, "%.9f %.12f %.12f %.12f %.12f %.12f %.12f %.12f\n", 100.0 + 0.02 * i, p[0], p[1], p[2], q[0],
                q[1], q[2], q[3]);
    }
    fclose(file);
}

static void curve(void **state)
{
    spline_t s = {0};
    (void)state;
    write_motion(LINES, 0);
    assert_null(spline_read(&s, path, 0.12));
    for (double t = 0.3; t < s.seconds - 0.3; t += 0.0137) {
        const double h = 1e-4;
        spline_state_t at, before, after;
        double p[3], q[4];
        spline_at(&s, t, &at);
        spline_at(&s, t - h, &before);
        spline_at(&s, t + h, &after);
        motion(t, p, q);
        for (int k = 0; k < 3; k++) {
            assert_true(fabs(at.p_m[k] - p[k]) < 2e-3);
            assert_true(fabs((after.p_m[k] - before.p_m[k]) / (2 * h) - at.v_mps[k]) < 1e-6);
            assert_true(fabs((after.v_mps[k] - before.v_mps[k]) / (2 * h) - at.a_mps2[k]) < 1e-4);
        }
        assert_true(fabs(at.R_world_body[3] - 2 * q[2] * q[3]) < 2e-3);
        /* rate: R' dR/dt = [w] */
        for (int k = 0; k < 3; k++) {
            const int i = (k + 2) % 3, j = (k + 1) % 3; /* element (i, j) of [w] is w_k */
            double sum = 0.0;
            for (int r = 0; r < 3; r++)
                sum += at.R_world_body[3 * r + i] * (after.R_world_body[3 * r + j] - before.R_world_body[3 * r + j]) /
                       (2 * h);
            assert_true(fabs(sum - at.rate_rad_s[k]) < 1e-5);
        }
        /* the third derivative does not jump: that of a curve of half a metre and 2 rad/s is some metres a s^3 */
        assert_true(fabs(after.a_mps2[0] - before.a_mps2[0]) < 2 * h * 20);
    }
    spline_free(&s);
    unlink(path);
}

/** Without errors the samples, integrated by the trapezium rule, are the curve's velocity. */
static void samples(void **state)
{
    course_settings_t set = course_standard;
    course_t *c;
    uint32_t n;
    (void)state;
    write_motion(LINES, 0);
    assert_true(course_set(&set, "imu_percent", 0) && course_set(&set, "vibration_mm_s2", 0));
    assert_false(course_set(&set, "imu_percent", -1) || course_set(&set, "imu", 1));
    assert_null(course_open(&c, path, &set));
    assert_in_range(course_frames(c), 13 * 20, 14 * 20);
    const vfront_imu_t *imu = course_imu(c, &n);
    static const double bias[3] = {-0.06, 0.09, 0.04};
    double v[3];
    spline_state_t s;
    course_state(c, imu[40].t_ns, &s);
    memcpy(v, s.v_mps, sizeof v);
    for (uint32_t i = 41; i < n - 60; i++) {
        double force[2][3];
        for (int end = 0; end < 2; end++) {
            course_state(c, imu[i - !end].t_ns, &s);
            for (int r = 0; r < 3; r++) {
                force[end][r] = r == 2 ? -COURSE_GRAVITY_M_S2 : 0.0;
                for (int k = 0; k < 3; k++)
                    force[end][r] += s.R_world_body[3 * r + k] * (imu[i - !end].accel_m_s2[k] - bias[k]);
            }
        }
        assert_int_equal(imu[i].t_ns - imu[i - 1].t_ns, 5000000);
        for (int k = 0; k < 3; k++) {
            v[k] += 0.0025 * (force[0][k] + force[1][k]);
            assert_true(fabs(v[k] - s.v_mps[k]) < 1e-3);
        }
    }
    course_close(c);
    unlink(path);
}

static void render(const course_settings_t *set, uint32_t frame, int which)
{
    course_t *c;
    assert_null(course_open(&c, path, set));
    course_render(c, frame, 0, picture[which], WIDTH);
    course_close(c);
}

static double share_that_differs(void)
{
    uint32_t count = 0;
    for (int i = 0; i < WIDTH * HEIGHT; i++) count += abs(picture[0][i] - picture[1][i]) > 12;
    return (double)count / (WIDTH * HEIGHT);
}

static double sharpness(int which)
{
    double sum = 0.0;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 1; x < WIDTH; x++) {
            const double d = picture[which][y * WIDTH + x] - picture[which][y * WIDTH + x - 1];
            sum += d * d;
        }
    return sum;
}

/** Equal runs give equal pictures; the board hides about the part asked for; exposure blurs what moves, and nothing
 *  else. */
static void pictures(void **state)
{
    course_settings_t set = course_standard, other;
    (void)state;
    course_set(&set, "width_px", WIDTH);
    course_set(&set, "height_px", HEIGHT);
    course_set(&set, "photons_percent", 0);
    course_set(&set, "step_percent", 0);
    write_motion(LINES, 0);
    render(&set, 60, 0);
    render(&set, 60, 1);
    assert_memory_equal(picture[0], picture[1], sizeof picture[0]);
    other = set;
    course_set(&other, "exposure_us", 40000);
    render(&other, 60, 1);
    if (!(sharpness(1) < 0.9 * sharpness(0))) fail_msg("sharpness %g, not below %g", sharpness(1), sharpness(0));
    unlink(path);

    write_motion(LINES, 1);
    render(&set, 100, 0);
    render(&other, 100, 1);
    assert_true(fabs(sharpness(1) / sharpness(0) - 1.0) < 0.02);
    other = set;
    course_set(&other, "board_percent", 60);
    course_set(&other, "board_from_ms", 1000);
    course_set(&other, "board_to_ms", 9000);
    render(&other, 100, 1);
    assert_true(share_that_differs() > 0.3 && share_that_differs() < 0.66);
    render(&other, 10, 1);
    render(&set, 10, 0);
    assert_memory_equal(picture[0], picture[1], sizeof picture[0]);
    unlink(path);
}

/** Files that are no trajectory are refused by name and line. */
static void faulty(void **state)
{
    static const char *const bad[][2] = {
        {"0 0 0 0 0 0 0\n", ":1: not the 8 numbers"},      {"0 0 0 0 0 0 0 0\n", ":1: a quaternion"},
        {"0 0 0 0 0 0 0 nan\n", ":1: a number"},           {"5 0 0 0 0 0 0 1\n4 0 0 0 0 0 0 1\n", ":2: goes back"},
        {"0 0 0 0 0 0 0 1\n1 0 0 0 0 0 0 1\n", "2 poses"}, {"", "0 poses"},
    };
    course_t *c;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        temporary(path, "course");
        FILE *file = fdopen(mkstemp(path), "w");
        fputs(bad[i][0], file);
        fclose(file);
        const char *error = course_open(&c, path, &course_standard);
        assert_non_null(error);
        assert_non_null(strstr(error, path));
        if (!strstr(error, bad[i][1])) fail_msg("%s, not %s", error, bad[i][1]);
        assert_null(c);
        unlink(path);
    }
    write_motion(20, 0);
    assert_non_null(course_open(&c, path, &course_standard)); /* 0.4 s */
    unlink(path);
    assert_non_null(course_open(&c, path, &course_standard)); /* gone */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(curve), cmocka_unit_test(samples), cmocka_unit_test(pictures),
                                       cmocka_unit_test(faulty)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
