/* SPDX-License-Identifier: MIT
 *
 * Distances around the vehicle (examples/companion/obstacles.h) in scenes whose disparities are cast ray by ray: over
 * ground, before a wall, beside a pillar, level and at 25 degrees of roll and pitch, with noise and outliers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/companion/obstacles.h"
#include "tests/fixture/random.h"

enum { WIDTH = 376, HEIGHT = 240, UNSEEN = VFRONT_NO_DISPARITY };

#define DEGREE (3.14159265358979323846 / 180.0)
#define BASELINE_M 0.12
#define FREE 2001 /* most_m of 20 */

static uint16_t px16[HEIGHT][WIDTH];
static uint8_t confidence[HEIGHT][WIDTH];
static const obstacles_settings_t settings = {.height_m = 1.0, .min_m = 0.3, .max_m = 20.0};
static const vfront_camera_t camera = {
    .width_px = WIDTH, .height_px = HEIGHT, .fx_px = 229.0, .fy_px = 229.0, .cx_px = 187.5, .cy_px = 119.5};

/** A scene in axes ahead, right, up from the vehicle, which is at the origin; distances of 0: not there. */
struct scene {
    double below_m;             /* ground */
    double wall_m, wall_half_m; /* wall across, and half its width */
    double back_m;              /* wall far behind all */
    double pillar_m, pillar_right_m;
    double roll_deg, pitch_deg; /* of the vehicle */
    double noise_px;
    double outliers; /* share of the pixels */
};

static double even(void) { return (double)(roll64() >> 11) * 0x1p-53; }

/** Body axes in ahead, right, down: rows are those of the body. R = (Ry(pitch) Rx(roll))'. */
static void attitude(const struct scene *s, double R[9])
{
    const double cr = cos(s->roll_deg * DEGREE), sr = sin(s->roll_deg * DEGREE);
    const double cp = cos(s->pitch_deg * DEGREE), sp = sin(s->pitch_deg * DEGREE);
    const double rows[9] = {cp, 0.0, -sp, sp * sr, cr, cp * sr, sp * cr, -sr, cp * cr};
    memcpy(R, rows, 9 * sizeof *R);
}

/** Nearest hit of a ray from a place, both in ahead, right, down; as a multiple of the ray; 0: none. */
static double cast(const struct scene *s, const double p[3], const double d[3])
{
    double best = INFINITY;
    if (s->below_m > 0.0 && d[2] > 0.0) best = fmin(best, (s->below_m - p[2]) / d[2]);
    if (s->wall_m > 0.0 && d[0] > 0.0) {
        const double k = (s->wall_m - p[0]) / d[0];
        if (fabs(p[1] + k * d[1]) <= s->wall_half_m) best = fmin(best, k);
    }
    if (s->back_m > 0.0 && d[0] > 0.0) best = fmin(best, (s->back_m - p[0]) / d[0]);
    if (s->pillar_m > 0.0) { /* 0.3 m in radius */
        const double x = p[0] - s->pillar_m, y = p[1] - s->pillar_right_m;
        const double a = d[0] * d[0] + d[1] * d[1], b = x * d[0] + y * d[1], c = x * x + y * y - 0.09;
        const double root = b * b - a * c;
        if (root > 0.0 && -b - sqrt(root) > 0.0) best = fmin(best, (-b - sqrt(root)) / a);
    }
    return isfinite(best) ? best : 0.0;
}

/** Distances in a scene. */
static void look(const struct scene *s, uint16_t cm[72])
{
    /* camera 10 cm ahead of the centre: x right, y down, z ahead */
    const pose_t at = {.R = {0, 0, 1, 1, 0, 0, 0, 1, 0}, .t = {0.1, 0, 0}};
    const vfront_disparity_t d = {.px16 = &px16[0][0],
                                  .confidence = &confidence[0][0],
                                  .width_px = WIDTH,
                                  .height_px = HEIGHT,
                                  .pitch = WIDTH,
                                  .valid = WIDTH * HEIGHT};
    double R[9], up[3], place[3];
    attitude(s, R);
    for (int i = 0; i < 3; i++) {
        up[i] = -R[3 * i + 2];
        place[i] = R[i] * 0.1;
    }
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            const double ray[3] = {1.0, (x - camera.cx_px) / camera.fx_px,
                                   (y - camera.cy_px) / camera.fy_px}; /* body */
            double direction[3];
            for (int i = 0; i < 3; i++) direction[i] = R[i] * ray[0] + R[3 + i] * ray[1] + R[6 + i] * ray[2];
            const double depth = cast(s, place, direction);
            double px = depth > 0.0 ? camera.fx_px * BASELINE_M / depth + s->noise_px * (even() + even() - 1.0) : -1.0;
            if (even() < s->outliers) px = 30.0 * even();
            px16[y][x] = px < 0.0 ? UNSEEN : (uint16_t)(px * 16.0 + 0.5);
            confidence[y][x] = 255;
        }
    obstacles_of(cm, &settings, &d, &camera, BASELINE_M, &at, up);
}

static const double angles[][2] = {{0, 0},    {25, 0},    {-25, 0}, {0, 25},  {0, -25},
                                   {25, -25}, {-25, -25}, {25, 25}, {-25, 25}};

/** A wall 6 m ahead and 2 m of air below: the wall in all directions that see it, and never the ground. */
static void test_wall(void **state)
{
    uint16_t cm[72];
    (void)state;
    shake(1);
    for (size_t a = 0; a < sizeof angles / sizeof *angles; a++) {
        const struct scene s = {.below_m = 2.0,
                                .wall_m = 6.0,
                                .wall_half_m = 50.0,
                                .roll_deg = angles[a][0],
                                .pitch_deg = angles[a][1],
                                .noise_px = 0.25,
                                .outliers = 0.01};
        int found = 0;
        look(&s, cm);
        for (int i = 0; i < 72; i++) {
            const int side = i <= 36 ? i : i - 72;
            const double there = 600.0 / cos(side * 5.0 * DEGREE);
            if (cm[i] == OBSTACLES_UNKNOWN) continue;
            REQUIRE(abs(side) <= 9, "roll %g pitch %g: %d cm outside of the view, direction %d ", angles[a][0],
                    angles[a][1], cm[i], i);
            REQUIRE(cm[i] > 0.85 * there - 10.0 && cm[i] < 1.06 * there + 10.0,
                    "roll %g pitch %g direction %d: %d cm, %.0f is right ", angles[a][0], angles[a][1], i, cm[i],
                    there);
            found++;
        }
        REQUIRE(found >= 12, "roll %g pitch %g: %d directions ", angles[a][0], angles[a][1], found);
        assert_true(cm[0] != OBSTACLES_UNKNOWN);
    }
}

/** Over ground, with a far wall or with sky: free, never an obstacle; with sky alone unknown. */
static void test_ground(void **state)
{
    uint16_t cm[72];
    (void)state;
    shake(2);
    for (size_t a = 0; a < sizeof angles / sizeof *angles; a++)
        for (int kind = 0; kind < 3; kind++) {
            const struct scene s = {.below_m = kind ? 2.0 : 0.0,
                                    .back_m = kind == 1 ? 60.0 : 0.0,
                                    .roll_deg = angles[a][0],
                                    .pitch_deg = angles[a][1],
                                    .noise_px = 0.1,
                                    .outliers = 0.005};
            int is_free = 0;
            look(&s, cm);
            for (int i = 0; i < 72; i++) {
                REQUIRE(cm[i] == OBSTACLES_UNKNOWN || cm[i] == FREE, "roll %g pitch %g direction %d: %d cm ",
                        angles[a][0], angles[a][1], i, cm[i]);
                is_free += cm[i] == FREE;
            }
            REQUIRE(kind ? is_free >= 8 : !is_free, "roll %g pitch %g, scene %d: %d directions free ", angles[a][0],
                    angles[a][1], kind, is_free);
        }
}

/** A pillar to the right: there, and free beside it. */
static void test_pillar(void **state)
{
    uint16_t cm[72];
    const struct scene s = {.below_m = 3.0, .back_m = 60.0, .pillar_m = 5.0, .pillar_right_m = 2.0, .noise_px = 0.1};
    (void)state;
    shake(3);
    look(&s, cm);
    assert_in_range(cm[4], 480, 545); /* 21.8 degrees, sqrt(29) - 0.3 = 5.09 m */
    assert_int_equal(cm[0], FREE);
    assert_int_equal(cm[68], FREE);
    assert_int_equal(cm[36], OBSTACLES_UNKNOWN);
}

/** Without gravity, disparities or a level nose nothing is known. */
static void test_unknown(void **state)
{
    const pose_t at = {.R = {0, 0, 1, 1, 0, 0, 0, 1, 0}};
    const double up[3] = {0.0, 0.0, -1.0}, ahead_is_up[3] = {1.0, 0.0, 0.0};
    vfront_disparity_t d = {.px16 = &px16[0][0],
                            .confidence = &confidence[0][0],
                            .width_px = WIDTH,
                            .height_px = HEIGHT,
                            .pitch = WIDTH,
                            .valid = 1};
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        uint16_t cm[72];
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++) px16[y][x] = 80;
        memset(confidence, kind == 3 ? 10 : 255, sizeof confidence);
        d.px16 = kind == 2 ? NULL : &px16[0][0];
        obstacles_of(cm, &settings, &d, &camera, BASELINE_M, &at, kind == 0 ? NULL : kind == 1 ? ahead_is_up : up);
        for (int i = 0; i < 72; i++) assert_int_equal(cm[i], OBSTACLES_UNKNOWN);
    }
}

static void test_message(void **state)
{
    uint16_t cm[72];
    mavlink_message_t m;
    (void)state;
    for (int i = 0; i < 72; i++) cm[i] = (uint16_t)(i + 100);
    obstacles_message(&m, cm, &settings, 5000000);
    assert_int_equal(m.id, MAVLINK_OBSTACLE_DISTANCE);
    assert_true(m.as.obstacles.time_usec[0] == 5000 && m.as.obstacles.distances[71] == 171);
    assert_true(m.as.obstacles.increment[0] == 5 && m.as.obstacles.increment_f[0] == 5.0f);
    assert_true(m.as.obstacles.angle_offset[0] == 0.0f && m.as.obstacles.frame[0] == 12);
    assert_true(m.as.obstacles.min_distance[0] == 30 && m.as.obstacles.max_distance[0] == 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_wall), cmocka_unit_test(test_ground),
                                       cmocka_unit_test(test_pillar), cmocka_unit_test(test_unknown),
                                       cmocka_unit_test(test_message)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
