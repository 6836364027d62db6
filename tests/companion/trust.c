/* SPDX-License-Identifier: MIT
 *
 * Trust in a state (examples/companion/trust.h), on results that are made up.
 */
#include <string.h>

#include "examples/companion/trust.h"
#include "tests/fixture/random.h"

#define FRAME_NS 33333333u

static trust_t trust;
static vfront_result_t result;
static vfront_nav_t nav;

/** So many frames of a state, health and stereo; the first of them, from 0, in which it is not sent, or -1. */
static int run(int frames, uint32_t state, uint32_t health, uint32_t stereo)
{
    int first = -1;
    for (int i = 0; i < frames; i++) {
        result.t_ns += FRAME_NS;
        result.nav.state = state;
        result.nav.quality = 77;
        result.health.state = health;
        result.health.stereo = stereo;
        const char *why = trust_check(&trust, &result, &nav);
        assert_int_equal(nav.state, why ? VFRONT_NAV_LOST : state);
        assert_int_equal(nav.quality, 77);
        if (why && first < 0) first = i;
    }
    return first;
}

static int begin(void **state)
{
    (void)state;
    memset(&trust, 0, sizeof trust);
    memset(&result, 0, sizeof result);
    result.t_ns = 1000000000u;
    return 0;
}

static void passes_consistent_state(void **state)
{
    (void)state;
    assert_int_equal(run(100, VFRONT_NAV_GOOD, VFRONT_TRACKING, VFRONT_STEREO_GOOD), -1);
    assert_int_equal(run(100, VFRONT_NAV_GOOD, VFRONT_TRACKING, VFRONT_STEREO_SUSPECT), -1); /* camera 1 may be off */
    assert_int_equal(run(100, VFRONT_NAV_STEREO_ONLY, VFRONT_TRACKING, VFRONT_STEREO_GOOD), -1);
    assert_int_equal(run(100, VFRONT_NAV_COASTING, VFRONT_LOST, VFRONT_STEREO_BLIND), -1); /* in the dark, by samples */
    assert_int_equal(run(20, VFRONT_NAV_GOOD, VFRONT_LOST, VFRONT_STEREO_GOOD), -1);     /* light again: not so long */
    assert_int_equal(run(90, VFRONT_NAV_COASTING, VFRONT_LOST, VFRONT_STEREO_GOOD), -1); /* and dark again */
}

static void rejects_state_without_tracks(void **state)
{
    (void)state;
    run(30, VFRONT_NAV_GOOD, VFRONT_TRACKING, VFRONT_STEREO_GOOD);
    assert_int_equal(run(40, VFRONT_NAV_GOOD, VFRONT_LOST, VFRONT_STEREO_GOOD), 31);
    assert_int_equal(run(1, VFRONT_NAV_COASTING, VFRONT_LOST, VFRONT_STEREO_GOOD), 0); /* between two that are */
    assert_int_equal(run(1, VFRONT_NAV_GOOD, VFRONT_DEGRADED, VFRONT_STEREO_GOOD), -1);
    int first = -1;
    for (int i = 0; i < 60 && first < 0; i++) /* by turns, as in noise */
        first = run(1, i % 2 ? VFRONT_NAV_COASTING : VFRONT_NAV_GOOD, VFRONT_LOST, VFRONT_STEREO_GOOD) == 0 ? i : -1;
    assert_int_equal(first, 31);
    run(1, VFRONT_NAV_GOOD, VFRONT_DEGRADED, VFRONT_STEREO_GOOD);
    assert_int_equal(run(28, VFRONT_NAV_GOOD, VFRONT_LOST, VFRONT_STEREO_GOOD), -1); /* from the beginning */
}

/** After 5 s without tracks, be it by turns, no state of before is sent again, and a new one is due once there are
 *  tracks; where the library itself has ended it, nothing is due. */
static void restarts_once(void **state)
{
    static vfront_t vf; /* not initialised: it cannot be reset */
    (void)state;
    run(140, VFRONT_NAV_GOOD, VFRONT_LOST, VFRONT_STEREO_GOOD);
    assert_int_equal(run(30, VFRONT_NAV_GOOD, VFRONT_DEGRADED, VFRONT_STEREO_GOOD), -1); /* 4.7 s: taken up again */
    assert_false(trust.reset_is_due);
    for (int i = 0; i < 160; i++)
        run(1, i % 2 ? VFRONT_NAV_COASTING : VFRONT_NAV_GOOD, VFRONT_LOST, VFRONT_STEREO_GOOD);
    assert_true(trust.expired && !trust.reset_is_due);
    assert_int_equal(run(20, VFRONT_NAV_COASTING, VFRONT_LOST, VFRONT_STEREO_GOOD), 0);
    assert_true(!trust.reset_is_due && !trust_reset(&trust, &vf));
    assert_int_equal(run(2, VFRONT_NAV_GOOD, VFRONT_DEGRADED, VFRONT_STEREO_GOOD), 0);
    assert_true(trust.reset_is_due && !trust_reset(&trust, &vf) && trust.reset_is_due);
    run(1, VFRONT_NAV_LOST, VFRONT_DEGRADED, VFRONT_STEREO_GOOD);
    assert_true(!trust.expired && !trust.reset_is_due);
}

static void rejects_contradicting_cameras(void **state)
{
    (void)state;
    assert_int_equal(run(40, VFRONT_NAV_STEREO_ONLY, VFRONT_TRACKING, VFRONT_STEREO_SUSPECT), 16);
    assert_int_equal(run(1, VFRONT_NAV_STEREO_ONLY, VFRONT_TRACKING, VFRONT_STEREO_GOOD), -1);
    assert_int_equal(run(14, VFRONT_NAV_STEREO_ONLY, VFRONT_TRACKING, VFRONT_STEREO_SUSPECT), -1);
    run(40, VFRONT_NAV_STEREO_ONLY, VFRONT_TRACKING, VFRONT_STEREO_SUSPECT);
    result.t_ns = 1000; /* a clock that was set */
    assert_int_equal(run(3, VFRONT_NAV_STEREO_ONLY, VFRONT_TRACKING, VFRONT_STEREO_SUSPECT), -1);
}

/** After 5 s of two cameras that contradict one another, as pictures upside down, the state made of them is not taken
 *  up again, be it by samples or not: a new one is due once they agree and there are tracks. */
static void restarts_after_stereo_fault(void **state)
{
    (void)state;
    run(140, VFRONT_NAV_STEREO_ONLY, VFRONT_TRACKING, VFRONT_STEREO_SUSPECT);
    assert_int_equal(run(30, VFRONT_NAV_STEREO_ONLY, VFRONT_TRACKING, VFRONT_STEREO_GOOD), -1); /* 4.7 s */
    assert_false(trust.reset_is_due);
    assert_int_equal(run(300, VFRONT_NAV_GOOD, VFRONT_TRACKING, VFRONT_STEREO_SUSPECT), -1); /* held by samples */
    run(160, VFRONT_NAV_STEREO_ONLY, VFRONT_TRACKING, VFRONT_STEREO_SUSPECT);
    assert_true(trust.expired && !trust.reset_is_due);
    assert_int_equal(run(5, VFRONT_NAV_GOOD, VFRONT_TRACKING, VFRONT_STEREO_SUSPECT), 0);
    assert_int_equal(run(5, VFRONT_NAV_STEREO_ONLY, VFRONT_LOST, VFRONT_STEREO_BLIND), 0);
    assert_false(trust.reset_is_due);
    assert_int_equal(run(2, VFRONT_NAV_STEREO_ONLY, VFRONT_TRACKING, VFRONT_STEREO_GOOD), 0);
    assert_true(trust.reset_is_due);
    run(1, VFRONT_NAV_INITIALISING, VFRONT_TRACKING, VFRONT_STEREO_GOOD);
    assert_true(!trust.expired && !trust.reset_is_due);
}

/** A state that two cameras have begun by themselves goes to nobody, until gravity is found. */
static void rejects_state_without_gravity(void **state)
{
    (void)state;
    result.nav.flags = VFRONT_NAV_NO_GRAVITY;
    assert_int_equal(run(10, VFRONT_NAV_STEREO_ONLY, VFRONT_TRACKING, VFRONT_STEREO_GOOD), 0);
    assert_int_equal(run(10, VFRONT_NAV_GOOD, VFRONT_TRACKING, VFRONT_STEREO_GOOD), 0);
    assert_int_equal(run(3, VFRONT_NAV_NONE, VFRONT_TRACKING, VFRONT_STEREO_GOOD), -1);
    result.nav.flags = 0;
    assert_int_equal(run(10, VFRONT_NAV_GOOD, VFRONT_TRACKING, VFRONT_STEREO_GOOD), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(passes_consistent_state, begin),
        cmocka_unit_test_setup(rejects_state_without_tracks, begin),
        cmocka_unit_test_setup(restarts_once, begin),
        cmocka_unit_test_setup(rejects_contradicting_cameras, begin),
        cmocka_unit_test_setup(restarts_after_stereo_fault, begin),
        cmocka_unit_test_setup(rejects_state_without_gravity, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
