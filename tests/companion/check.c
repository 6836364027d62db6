/* SPDX-License-Identifier: MIT
 *
 * The check of the mount (examples/companion/check.h): a vehicle that is lifted, nodded, leaned and turned, seen by an
 * IMU that is mounted right, and wrong in each way that people do it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "examples/companion/check.h"
#include "tests/fixture/random.h"

#define DEGREE (3.14159265358979323846 / 180.0)
#define TICK_NS 50000000u

/** What the mount makes of the truth. */
enum mount { RIGHT, PITCH_TURNED, ALL_TURNED, SWAPPED, HALF, TILTED, FROZEN };

static void as_mounted(check_pose_t *p, enum mount mount)
{
    const double roll = p->euler_rad[0], pitch = p->euler_rad[1];
    switch (mount) {
    case PITCH_TURNED: p->euler_rad[1] = -pitch; break;
    case ALL_TURNED: /* FLU taken for FRD */
        p->euler_rad[1] = -pitch;
        p->euler_rad[2] = -p->euler_rad[2];
        p->position_m[2] = -p->position_m[2];
        break;
    case SWAPPED: /* turned by 90 degrees on its board */
        p->euler_rad[0] = pitch;
        p->euler_rad[1] = -roll;
        break;
    case HALF: p->position_m[2] /= 3.0; break;
    case TILTED: p->euler_rad[1] += 10.0 * DEGREE; break;
    case FROZEN: memset(p->euler_rad, 0, sizeof p->euler_rad); break;
    default: break;
    }
}

/** The person follows the text. Returns the failures; `last` has the last text, `all` the number of texts. */
static int run(enum mount mount, int has_autopilot, char last[CHECK_TEXT], int *all)
{
    check_t c = {0};
    char text[CHECK_TEXT];
    double done = 0.0;
    check_step_t step = CHECK_STILL;
    *all = 0;
    for (uint64_t t = TICK_NS; c.step != CHECK_DONE && t < 600000000000u; t += TICK_NS) {
        check_pose_t truth = {.has_attitude = 1, .has_position = 1};
        if (c.step != step) done = 0.0;
        step = c.step;
        done = fmin(1.0, done + 0.02);
        if (step >= CHECK_LIFT) truth.position_m[2] = -0.5 * (step == CHECK_LIFT ? done : 1.0);
        if (step == CHECK_NOD) truth.euler_rad[1] = 20.0 * DEGREE * done;
        if (step == CHECK_LEAN) truth.euler_rad[0] = 20.0 * DEGREE * done;
        if (step == CHECK_TURN) truth.euler_rad[2] = 90.0 * DEGREE * done;
        check_pose_t ours = truth, theirs = truth;
        theirs.euler_rad[2] += 2.5; /* its heading is north's */
        theirs.position_m[2] += 12.0;
        theirs.has_attitude = theirs.has_position = has_autopilot;
        as_mounted(&ours, mount);
        if (!check_add(&c, &ours, &theirs, t, text)) continue;
        memcpy(last, text, CHECK_TEXT);
        ++*all;
        if (c.failures && strstr(text, "WRONG")) print_message("%d: %s\n", mount, text);
    }
    assert_int_equal(c.step, CHECK_DONE);
    return c.failures;
}

static void test_right(void **state)
{
    char text[CHECK_TEXT];
    int all;
    (void)state;
    assert_int_equal(run(RIGHT, 1, text, &all), 0);
    assert_non_null(strstr(text, "all good"));
    assert_int_equal(all, 6);
    assert_int_equal(run(RIGHT, 0, text, &all), 0);
}

static void test_wrong(void **state)
{
    static const int failures[][3] = {{PITCH_TURNED, 1, 1}, {ALL_TURNED, 1, 3}, {SWAPPED, 1, 2},
                                      {HALF, 1, 1},         {TILTED, 1, 1},     {FROZEN, 1, 3},
                                      {PITCH_TURNED, 0, 1}, {ALL_TURNED, 0, 3}};
    char text[CHECK_TEXT];
    int all;
    (void)state;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        const int n = run((enum mount)failures[i][0], failures[i][1], text, &all);
        REQUIRE(n == failures[i][2], "mount %d: %d failures, not %d ", failures[i][0], n, failures[i][2]);
        assert_non_null(strstr(text, "FAILED"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_right), cmocka_unit_test(test_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
