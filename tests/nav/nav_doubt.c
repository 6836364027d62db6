/* SPDX-License-Identifier: MIT */
/* nav_doubt: protection levels while pictures and samples contradict each other. */
#include <stdlib.h>

#include "nav/nav_bank.h"
#include "nav/nav_doubt.h"

#include "geometry/motion.h"
#include "tests/fixture/random.h"

#if VFRONT_VIO && VFRONT_MEMBERS > 2

#include "bank.h"

enum { FRAMES_A_SECOND = 1000000000 / FRAME_NS };
static const double frame_s = FRAME_NS * 1e-9;

/** Starts a flight along x [m/s], for two seconds. */
static void take_off(double x)
{
    begin();
    at_mps[0] = x;
    (void)steps(2 * FRAMES_A_SECOND);
}

/** Motions of the pictures that are good, and a gyro, their rotations known to so much [rad]. */
static void see_motions(double turn_rad, double gyro_rad)
{
    result.metric.state = VFRONT_MOTION_GOOD;
    params.rotation_given = 1;
    for (int k = 0; k < 3; k++) {
        result.metric.R[4 * k] = 1.0f;
        result.metric.covariance[vf_motion_index(k, k)] = 1e6f;
        result.metric.covariance[vf_motion_index(3 + k, 3 + k)] = (float)(turn_rad * turn_rad);
        params.rotation_covariance[k ? 2 * k + 1 : 0] = (float)(gyro_rad * gyro_rad);
    }
}

/** Without a contradiction nothing is added: the levels are the same at rest and in flight. */
static void none(void **unused)
{
    (void)unused;
    take_off(0);
    const double at_rest = step()->protection_level_m[0];
    take_off(5);
    REQUIRE(steps(1)->protection_level_m[0] == at_rest, "%g, at rest %g\n", nav.own.last.protection_level_m[0],
            at_rest);
    assert_true(at_rest > 0);
}

/** While forces are left out, and for VF_DOUBT_HOLD_S after it, the levels have the way of the last second. */
static void another_time(void **unused)
{
    (void)unused;
    take_off(2);
    const double before = steps(1)->protection_level_m[0];
    lose_forces();
    const vfront_nav_t *state = steps(6 * FRAMES_A_SECOND); /* beyond any propagation */
    const double most = 2 * VF_DOUBT_S, least = most * (1 - 2.0 / VF_DOUBT_STATES);
    REQUIRE(state->protection_level_m[0] > before + least - 0.11 && state->protection_level_m[0] < before + most + 0.11,
            "%g, before %g\n", state->protection_level_m[0], before);
    assert_true(state->protection_level_m[1] < before + 0.01 && state->protection_level_rad[0] < before + 0.01);
    off_m[VF_BANK_ALL] = 0;
    seen[VF_BANK_ALL] = 100;
    int frames = 0;
    while (nav.bank.accepted != VF_BANK_ALL && frames++ < 600) (void)steps(1);
    assert_int_equal(nav.bank.accepted, VF_BANK_ALL);
    state = steps((int)(VF_DOUBT_HOLD_S * FRAMES_A_SECOND) - 2);
    assert_true(state->protection_level_m[0] > before + least - 0.11);
    state = steps(3);
    REQUIRE(state->protection_level_m[0] < before + 0.1, "%g, before %g\n", state->protection_level_m[0], before);
}

/** A change of velocity and attitude within the second is in their levels. */
static void changes(void **unused)
{
    (void)unused;
    take_off(2);
    lose_forces();
    const vfront_nav_t *state = steps(5 * FRAMES_A_SECOND);
    const double mps = state->protection_level_mps[2], rad = state->protection_level_rad[0];
    at_mps[2] = 0.5;
    at_rad = 0.3;
    state = steps(3);
    REQUIRE(fabs(state->protection_level_mps[2] - mps - 0.5) < 1e-9, "%g, before %g\n", state->protection_level_mps[2],
            mps);
    REQUIRE(fabs(state->protection_level_rad[0] - rad - 0.3) < 1e-9, "%g, before %g\n", state->protection_level_rad[0],
            rad);
    state = steps(FRAMES_A_SECOND + 2);
    assert_true(fabs(state->protection_level_rad[0] - rad) < 1e-9);
}

/** Flies with forces left out and a rotation that swings. Returns by how much the level is above that at rest [m]. */
static double swing(double turn_rad, double gyro_rad, int known, double rad_s)
{
    take_off(2);
    const double before = steps(1)->protection_level_m[0];
    if (known) see_motions(turn_rad, gyro_rad);
    lose_forces();
    for (int i = 0; i < 6 * FRAMES_A_SECOND; i++) {
        at_rad = 0.1 * sin(rad_s * i * frame_s);
        (void)step();
    }
    params.rotation_given = 0;
    return steps(1)->protection_level_m[0] - before;
}

/** Rotations that gyro and pictures agree on rule out other times; too small or unknown ones do not, nor those of a
 *  gyro that is hardly known, nor any for a shift by their period. */
static void gyro(void **unused)
{
    (void)unused;
    const double clear = swing(1e-4, 1e-4, 1, 3), unclear = swing(1, 1e-4, 1, 3), unknown = swing(1e-4, 1e-4, 0, 3),
                 unsure = swing(1e-4, 1, 1, 3), period = swing(1e-4, 1e-4, 1, 6.2831853 / 0.6);
    REQUIRE(clear < 0.3, "clear: %g m more\n", clear);
    REQUIRE(unclear > 1.7 && unknown > 1.7, "unclear: %g m more, unknown: %g\n", unclear, unknown);
    REQUIRE(unsure > 1.7, "a gyro that is hardly known: %g m more\n", unsure);
    begin();
    for (int i = 0; i < 4; i++) vf_nav_doubt_turn(&nav, 1e-8); /* of one interval: all may be off alike */
    assert_true(fabs(nav.doubt.sigma - 4e-4) < 1e-12 && !nav.doubt.unknown);
    vf_nav_doubt_turn(&nav, 0.0);
    assert_true(nav.doubt.unknown);
    REQUIRE(period > 1.1 && period < 1.4, "shift by a period: %g m more\n", period);
}

/** Pictures that stop while the vehicle goes on by its samples, and contradict these `late` frames later: the level
 *  reaches where the samples say that it is. phase: frames flown beyond the take-off. */
static void stop(int phase, int late)
{
    take_off(2);
    (void)steps(phase + 1);
    at_mps[0] = 0;
    if (late) (void)steps(late);
    result.metric.flags = VFRONT_MOTION_PRIOR; /* samples contradict pictures */
    (void)steps(VF_NAV_AGREE_FRAMES);          /* landmarks outweigh the first contradiction */
    for (int frames = 1 + VF_NAV_AGREE_FRAMES; frames < 2 * FRAMES_A_SECOND; frames++) {
        const double level_m = step()->protection_level_m[0], error = 2 * (late + frames) * frame_s;
        REQUIRE(level_m > error, "phase %d, %d late, frame %d: %g, off %g\n", phase, late, frames, level_m, error);
    }
    const double after_m = steps(2 * FRAMES_A_SECOND + 4)->protection_level_m[0];
    REQUIRE(after_m < 1, "after %g s: %g\n", VF_DOUBT_ALONE_S, after_m);
}

static void stopped(void **unused)
{
    (void)unused;
    for (int phase = 0; phase < FRAMES_A_SECOND; phase++)
        for (int late = 0; late < FRAMES_A_SECOND; late += 4) stop(phase, late);
}

/** Without samples nothing goes on by samples alone, and there is no level; with them all is as before. */
static void gap(void **unused)
{
    (void)unused;
    take_off(2);
    const double before = step()->protection_level_m[0];
    no_samples = 1;
    assert_int_not_equal(steps(2)->protection, VFRONT_PROTECTION_GIVEN);
    assert_true(nav.doubt.alone[0].age_s <= frame_s && nav.doubt.alone[1].age_s == 0.0);
    no_samples = 0;
    const vfront_nav_t *state = steps(3 * FRAMES_A_SECOND);
    assert_int_equal(state->protection, VFRONT_PROTECTION_GIVEN);
    assert_true(state->protection_level_m[0] == before && nav.doubt.alone[1].age_s > 0.0);
}

/** vfront_reset() while pictures may be wrong: where the state is, nobody knows. Otherwise it goes on. */
static void reset(void **unused)
{
    (void)unused;
    for (int doubted = 0; doubted < 2; doubted++) {
        take_off(2);
        if (doubted) lose_forces();
        (void)step();
        params.frame = 0;
        view.away_ns = FRAME_NS;
        (void)step();
        assert_int_equal(nav.time_lost, doubted);
        assert_true(nav.doubt.open_s == 0.0 && nav.doubt.alone[1].age_s == 0.0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none),    cmocka_unit_test(another_time), cmocka_unit_test(changes), cmocka_unit_test(gyro),
        cmocka_unit_test(stopped), cmocka_unit_test(gap),          cmocka_unit_test(reset)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    puts("[  SKIPPED ] 1 test(s), no bank of estimators in this config");
    return 77;
}
#endif
