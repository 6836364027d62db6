/* SPDX-License-Identifier: MIT */
/* nav_bank: which member of the bank is accepted, what its state reports meanwhile, and how what was left out returns.
 * Each test gives the states and counts of all members, frame by frame. */
#include <stdlib.h>

#include "nav/nav_bank.h"
#include "tests/fixture/random.h"

#if VFRONT_VIO && VFRONT_MEMBERS > 2

#include "bank.h"

/** All members run from the second frame on, the others from the accepted one's estimate, and agree. */
static void agreement(void **unused)
{
    (void)unused;
    begin();
    for (int frame = 0; frame < 300; frame++) {
        const vfront_nav_t *state = step();
        assert_int_equal(request.accepted, VF_BANK_ALL);
        for (uint32_t i = 0; i < VF_BANK; i++) {
            const int anew = i && nav.bank.age_s[i] < 0.06;
            assert_int_equal(request.member[i].command, VF_VIO_CONTINUE);
            assert_int_equal(request.member[i].from, anew ? VF_BANK_ALL : i);
        }
        assert_int_equal(state->state, VFRONT_NAV_GOOD);
        assert_int_equal(state->flags, 0);
        assert_int_equal(state->reset_counter, 0);
    }
    /* without forces: a constant velocity, known to a metre a second; without samples also no rates */
    const struct vf_vio_imu_interval *all = &request.member[VF_BANK_ALL].motion,
                                     *no_accel = &request.member[VF_BANK_NO_ACCEL].motion,
                                     *no_imu = &request.member[VF_BANK_NO_IMU].motion;
    assert_memory_equal(no_accel->motion.q, all->motion.q, sizeof all->motion.q);
    assert_true(no_accel->motion.P[0] == all->motion.P[0] && no_imu->motion.P[0] > 1e3 * all->motion.P[0]);
    for (int k = VF_ROW_V; k < VF_ROWS; k++)
        assert_true(no_accel->motion.P[(VF_ROWS + 1) * k] > 1e2 * all->motion.P[(VF_ROWS + 1) * k]);
    for (int k = 6 * VF_ROW_V; k < 6 * VF_ROWS; k++) assert_true(no_accel->motion.J[k] == 0.0);
}

/** Forces that lie: the member without them explains the picture, the one with them does not. It is accepted within two
 *  frames, named, and the next request says so once. The others begin anew from it, with forces of unknown bias. */
static void wrong_forces(void **unused)
{
    (void)unused;
    begin();
    for (int i = 0; i < 20; i++) (void)step();
    off_m[VF_BANK_ALL] = 0.5;
    seen[VF_BANK_ALL] = 5;
    const vfront_nav_t *state = step();
    assert_int_equal(state->state, VFRONT_NAV_COASTING);
    assert_true(state->flags & VFRONT_NAV_DISPUTED);
    assert_true(state->covariance[0] >= 0.25); /* covers the separation */
    state = step();
    assert_int_equal(nav.bank.accepted, VF_BANK_NO_ACCEL);
    assert_int_equal(state->state, VFRONT_NAV_STEREO_ONLY);
    assert_int_equal(state->flags & (VFRONT_NAV_NO_ACCEL | VFRONT_NAV_NO_IMU), VFRONT_NAV_NO_ACCEL);
    assert_true(state->position_m[0] == 0.0 && state->covariance[0] < 1e-3);
    assert_int_equal(state->reset_counter, 1);
    for (int frame = 0; frame < 2; frame++) {
        off_m[VF_BANK_ALL] = 0.0;
        (void)step();
        assert_int_equal(request.accepted, VF_BANK_NO_ACCEL);
        assert_int_equal(request.replaced, frame == 0);
        assert_int_equal(request.member[VF_BANK_ALL].from, frame ? VF_BANK_ALL : VF_BANK_NO_ACCEL);
        const double *walk = request.member[VF_BANK_ALL].motion.whitening.inverse_walk;
        assert_int_equal(fabs(1.0 / walk[1] - VF_IMU_ACCEL_BIAS_M_S2) < 1e-9, frame == 0);
        assert_true(1.0 / walk[0] < 1e-3);
    }
}

/** Every other member is a test of the accepted one: its separation, the larger variance, a ratio above 1 where it
 *  contradicts. */
static void innovations(void **unused)
{
    (void)unused;
    const double variance = 1e-6 * SIGMA_MM * SIGMA_MM, most = sqrt(VF_BANK_CHI2 * variance);
    begin();
    (void)steps(20);
    assert_true(innovation[VFRONT_TEST_ALL].test_ratio == 0.0);
    assert_true(innovation[VFRONT_TEST_MOTION].test_ratio == 0.0); /* the pictures have no motion */
    for (int i = VF_BANK_NO_ACCEL; i < VF_BANK; i++) {
        const vfront_innovation_t *test = &innovation[VFRONT_TEST_ALL + i];
        off_m[i] = 0.9 * most;
        (void)step();
        assert_true(test->test_ratio > 0.80 && test->test_ratio < 0.82 && !nav.bank.against[i]);
        assert_true(fabs(test->value[0] - off_m[i]) < 1e-12 && fabs(test->variance[0] - variance) < 1e-15);
        off_m[i] = -1.1 * most;
        (void)step();
        assert_true(test->test_ratio > 1.20 && test->test_ratio < 1.22 && nav.bank.against[i] == 1);
        off_m[i] = 2.0 * most;
        more_m[i] = SIGMA_MM * 1e-3; /* twice the variance */
        (void)step();
        assert_true(fabs(test->variance[0] - 2.0 * variance) < 1e-15);
        assert_true(test->test_ratio > 1.99 && test->test_ratio < 2.01);
        off_m[i] = more_m[i] = 0.0;
        (void)steps(2);
    }
    lose_forces();
    assert_true(innovation[VFRONT_TEST_NO_ACCEL].test_ratio == 0.0 && innovation[VFRONT_TEST_ALL].test_ratio > 1.0);
    assert_true(innovation[VFRONT_TEST_NO_IMU].test_ratio < 1.0);
    assert_true(fabs(innovation[VFRONT_TEST_ALL].value[0] - 0.5) < 1e-12);
}

/** Forces that are right again are taken after they have agreed for VF_BANK_TRIAL_S; not while they contradict, nor
 *  while there are none. */
static void return_of_forces(void **unused)
{
    (void)unused;
    begin();
    for (int i = 0; i < 20; i++) (void)step();
    off_m[VF_BANK_ALL] = 0.5;
    seen[VF_BANK_ALL] = 5;
    assert_int_equal(steps_until(VF_BANK_NO_ACCEL, 9), 2);
    for (int i = 0; i < 50; i++) {
        (void)step();
        assert_int_equal(nav.bank.accepted, VF_BANK_NO_ACCEL);
        assert_int_equal(request.member[VF_BANK_ALL].from, VF_BANK_NO_ACCEL); /* it fails each time */
    }
    off_m[VF_BANK_ALL] = 0.0;
    seen[VF_BANK_ALL] = 100;
    const int n = steps_until(VF_BANK_ALL, 40);
    REQUIRE(abs(n - (int)(VF_BANK_TRIAL_S * 1e9 / FRAME_NS)) <= 1, "returns after %d frames\n", n);
    const vfront_nav_t *state = step();
    assert_int_equal(state->state, VFRONT_NAV_GOOD);
    assert_int_equal(state->flags, 0);
    assert_int_equal(state->reset_counter, 2);
}

/** A fault of the IMU that a check names, while the bank has left it out: the check decides when it ends. The state
 *  goes on without a jump, from the estimate that was accepted. */
static void named_fault(void **unused)
{
    (void)unused;
    begin();
    (void)steps(20);
    lose_forces();
    (void)step();
    view.imu_fault = VFRONT_IMU_AXES;
    off_m[VF_BANK_ALL] = 0.0;
    seen[VF_BANK_ALL] = 100;
    for (int i = 0; i < 5; i++) {
        const vfront_nav_t *state = step();
        assert_int_equal(request.accepted, VF_BANK_ALL);
        assert_int_equal(request.replaced, 0);
        assert_int_equal(request.member[VF_BANK_ALL].from, i ? VF_BANK_ALL : VF_BANK_NO_ACCEL);
        assert_int_equal(request.member[VF_BANK_NO_IMU].from, i ? VF_BANK_NO_IMU : VF_BANK_NO_ACCEL);
        assert_int_equal(state->state, VFRONT_NAV_STEREO_ONLY);
        assert_int_equal(state->reset_counter, 1);
    }
    view.imu_fault = 0;
    const vfront_nav_t *state = step();
    assert_int_equal(state->state, VFRONT_NAV_GOOD);
    assert_int_equal(state->reset_counter, 1);
}

/** A member on trial that contradicts while it explains enough of the picture begins anew once it is old. */
static void stubborn(void **unused)
{
    (void)unused;
    begin();
    (void)steps(20);
    lose_forces();
    seen[VF_BANK_ALL] = 60;
    for (int i = 0; i < 2; i++) (void)step();
    int n = 0;
    for (; n < 400 && request.member[VF_BANK_ALL].from == VF_BANK_ALL; n++) (void)step();
    REQUIRE(abs(n - (int)(VF_BANK_HORIZON_S * 1e9 / FRAME_NS)) <= 3, "begins anew after %d frames\n", n);
    assert_int_equal(nav.bank.accepted, VF_BANK_NO_ACCEL);
}

/** A state that is lost has the separation, too: what goes on from it is as uncertain. One that is not finite is
 *  replaced by the first that is. */
static void lost(void **unused)
{
    (void)unused;
    for (int finite = 0; finite < 2; finite++) {
        begin();
        for (int i = 0; i < 20; i++) (void)step();
        off_m[VF_BANK_ALL] = finite ? 0.5 : (double)NAN;
        nav.diverged = VF_NAV_DIVERGED_FRAMES - 1;
        square[VF_BANK_ALL] = 2.0 * VF_NAV_DIVERGED_COST;
        const vfront_nav_t *state = step();
        assert_int_equal(state->state, finite ? VFRONT_NAV_LOST : VFRONT_NAV_STEREO_ONLY);
        assert_int_equal(nav.bank.accepted, finite ? VF_BANK_ALL : VF_BANK_NO_ACCEL);
        if (finite) assert_true(nav.own.last.covariance[0] >= 0.25 && state->covariance[0] >= 0.25);
    }
}

/** A moving object: the images contradict the IMU, whose member still explains the rest of the scene. It stays
 *  accepted. While it explains less than half it is disputed, and its covariance covers the other solution. */
static void moving_object(void **unused)
{
    (void)unused;
    for (int left = 30; left < 100; left += 30) {
        begin();
        for (int i = 0; i < 20; i++) (void)step();
        seen[VF_BANK_ALL] = (uint32_t)left;
        if (left > 50) square[VF_BANK_NO_ACCEL] = square[VF_BANK_NO_IMU] = 5.0;
        for (int i = 0; i < 60; i++) {
            off_m[VF_BANK_NO_ACCEL] = off_m[VF_BANK_NO_IMU] = 0.1 * (i + 1);
            const vfront_nav_t *state = step();
            const int disputed = left < 50;
            assert_int_equal(nav.bank.accepted, VF_BANK_ALL);
            assert_int_equal(state->state, disputed ? VFRONT_NAV_COASTING : VFRONT_NAV_GOOD);
            assert_true(!disputed == !(state->flags & VFRONT_NAV_DISPUTED));
            const double d = off_m[VF_BANK_NO_ACCEL];
            REQUIRE((state->covariance[0] >= d * d) == disputed, "%d left, frame %d: variance %g m^2\n", left, i,
                    state->covariance[0]);
        }
    }
}

/** A gyro that lies spoils both members that use it. One that is right keeps the member without any IMU out. */
static void wrong_rates(void **unused)
{
    (void)unused;
    for (int right = 0; right < 2; right++) {
        begin();
        for (int i = 0; i < 20; i++) (void)step();
        off_m[VF_BANK_NO_IMU] = 0.5;
        seen[VF_BANK_ALL] = 5;
        seen[VF_BANK_NO_ACCEL] = right ? 50 : 3;
        const vfront_nav_t *state = step();
        for (int i = 0; i < 5; i++) state = step();
        assert_int_equal(nav.bank.accepted, right ? VF_BANK_ALL : VF_BANK_NO_IMU);
        assert_int_equal(state->flags & (VFRONT_NAV_NO_ACCEL | VFRONT_NAV_NO_IMU), right ? 0 : VFRONT_NAV_NO_IMU);
    }
}

/** A member that explains a single picture, and nothing of those before, is not accepted. */
static void explains_once(void **unused)
{
    (void)unused;
    for (int once = 0; once < 2; once++) {
        begin();
        (void)steps(20);
        off_m[VF_BANK_NO_ACCEL] = 0.5;
        seen[VF_BANK_NO_ACCEL] = once ? 2 : 30;
        seen[VF_BANK_ALL] = 0;
        (void)step();
        seen[VF_BANK_NO_ACCEL] = 30;
        (void)step();
        assert_int_equal(nav.bank.accepted, once ? VF_BANK_ALL : VF_BANK_NO_ACCEL);
    }
}

/** A moving object leaves a part of the scene to the accepted member, and then hides that, too: the member that has
 *  joined the object is not accepted. It is where no part was left before, or only for a moment, and once
 *  VF_BANK_HORIZON_S have passed since. */
static void hides_the_rest(void **unused)
{
    (void)unused;
    const int trial = (int)(VF_BANK_TRIAL_S * 1e9 / FRAME_NS), horizon = (int)(VF_BANK_HORIZON_S * 1e9 / FRAME_NS);
    for (int shared = 0; shared <= trial + 2; shared += trial / 2 + 1) {
        begin();
        (void)steps(20);
        off_m[VF_BANK_NO_ACCEL] = 0.5;
        seen[VF_BANK_ALL] = 15;
        if (shared) (void)steps(shared);
        seen[VF_BANK_ALL] = 2;
        if (shared > trial) {
            (void)steps(40);
            assert_int_equal(nav.bank.accepted, VF_BANK_ALL);
            off_m[VF_BANK_NO_ACCEL] = 0.0;
            seen[VF_BANK_ALL] = 100;
            (void)steps(horizon);
            off_m[VF_BANK_NO_ACCEL] = 0.5;
            seen[VF_BANK_ALL] = 2;
        }
        REQUIRE(steps_until(VF_BANK_NO_ACCEL, 12) < 12, "%d frames before\n", shared);
    }
}

/** A member with fewer measurements that contradicts without explaining more has gone astray: it begins anew, and
 *  nothing else changes. */
static void astray(void **unused)
{
    (void)unused;
    begin();
    for (int i = 0; i < 20; i++) (void)step();
    off_m[VF_BANK_NO_ACCEL] = 0.5;
    square[VF_BANK_NO_ACCEL] = 8.0;
    int n = 0;
    for (; n < 9 && request.member[VF_BANK_NO_ACCEL].from == VF_BANK_NO_ACCEL; n++) {
        const vfront_nav_t *state = step();
        assert_int_equal(state->state, VFRONT_NAV_GOOD);
    }
    REQUIRE(n == VF_BANK_FRAMES + 2, "begins anew after %d frames\n", n);
    assert_int_equal(nav.bank.accepted, VF_BANK_ALL);
}

/** Tilt: a member without forces whose residuals are no larger is right about it, though both explain the picture. */
static void wrong_tilt(void **unused)
{
    (void)unused;
    for (int worse = 0; worse < 2; worse++) {
        begin();
        for (int i = 0; i < 20; i++) (void)step();
        off_rad[VF_BANK_ALL] = 0.1;
        square[VF_BANK_NO_ACCEL] = worse ? 5.0 : 4.0;
        for (int i = 0; i < 3; i++) (void)step();
        assert_int_equal(nav.bank.accepted, worse ? VF_BANK_ALL : VF_BANK_NO_ACCEL);
    }
}

/** No bank with one camera, without gravity, where an estimate begins, and beyond a state that is not finite. */
static void no_bank(void **unused)
{
    (void)unused;
    for (int without = 0; without < 3; without++) {
        begin();
        for (int i = 0; i < 3; i++) (void)step();
        assert_int_equal(request.member[VF_BANK_NO_ACCEL].command, VF_VIO_CONTINUE);
        if (without == 0) view.geometry.pair.placed = 0;
        if (without == 1) nav.no_gravity = 1;
        if (without == 2) off_m[VF_BANK_NO_ACCEL] = NAN;
        (void)step();
        if (without < 2) assert_int_equal(request.member[VF_BANK_NO_ACCEL].command, VF_VIO_NONE);
        if (without < 2) assert_int_equal(request.member[VF_BANK_NO_IMU].command, VF_VIO_NONE);
        (void)step();
        if (without == 2) assert_int_equal(request.member[VF_BANK_NO_ACCEL].from, VF_BANK_ALL);
        assert_int_equal(nav.bank.accepted, VF_BANK_ALL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agreement),      cmocka_unit_test(wrong_forces), cmocka_unit_test(return_of_forces),
        cmocka_unit_test(named_fault),    cmocka_unit_test(stubborn),     cmocka_unit_test(lost),
        cmocka_unit_test(moving_object),  cmocka_unit_test(wrong_rates),  cmocka_unit_test(astray),
        cmocka_unit_test(wrong_tilt),     cmocka_unit_test(no_bank),      cmocka_unit_test(innovations),
        cmocka_unit_test(hides_the_rest), cmocka_unit_test(explains_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    puts("[  SKIPPED ] 1 test(s), no bank of estimators in this config");
    return 77;
}
#endif
