/* SPDX-License-Identifier: MIT */
/* nav_level: the protection levels of the reported state beside what they must bound. */
#include <stdlib.h>

#include "nav/nav_bank.h"
#include "tests/fixture/random.h"

#if VFRONT_VIO && VFRONT_MEMBERS > 2

#include "bank.h"

static const double sigma_m = 1e-3 * SIGMA_MM;

/** A step whose levels are of the bank alone: no state of before is kept (nav_doubt.h). */
static const vfront_nav_t *step_anew(void)
{
    memset(&nav.doubt, 0, sizeof nav.doubt);
    return step();
}

/** Deviations that an error is beyond with the probability of a frame, by bisection. */
static double factor(void)
{
    const double probability = 1e-6 * view.tuning.protection_risk_ppm * (FRAME_NS * 1e-9) / 3600;
    double low = 0, high = 40;
    for (int i = 0; i < 60; i++) {
        const double k = 0.5 * (low + high);
        *(erfc(k / sqrt(2)) > probability ? &low : &high) = k;
    }
    return high;
}

/** Factor of the levels: of an axis on which no member is apart. */
static double used(const vfront_nav_t *state) { return state->protection_level_m[1] / sigma_m; }

static void expect_near(const char *what, double is, double expected)
{
    REQUIRE(fabs(is - expected) <= 1e-9 * (1 + fabs(expected)), "%s: %.12g instead of %.12g\n", what, is, expected);
}

static void logarithm(void **unused)
{
    (void)unused;
    assert_true(vf_nav_logarithm(1.0) == 0.0);
    for (double x = 1; x > 1e-20; x *= 0.83) {
        const double is = vf_nav_logarithm(x), expected = log(x);
        REQUIRE(fabs(is - expected) <= 1e-15 * (1 - expected), "ln %g is %.17g, not %.17g\n", x, is, expected);
    }
}

/** Members that agree: deviations times a factor that is at least the Gaussian one, and little larger. More frames in
 *  error allowed: a smaller factor; as many as there are: 0. */
static void nominal(void **unused)
{
    (void)unused;
    double before = 1e9;
    for (int i = 0; i < 4; i++) {
        const int ppm = (int[]){1, 1000, 1000000, 1000000000}[i];
        begin();
        view.tuning.protection_risk_ppm = ppm;
        const vfront_nav_t *state = steps(30);
        assert_int_equal(state->protection, VFRONT_PROTECTION_GIVEN);
        REQUIRE(used(state) >= factor() && used(state) < 1.2 * factor() && used(state) < before,
                "%d: %g deviations, Gaussian %g\n", ppm, used(state), factor());
        before = used(state);
        for (int k = 0; k < 3; k++) {
            expect_near("position", state->protection_level_m[k], used(state) * sigma_m);
            expect_near("attitude", state->protection_level_rad[k], used(state) * sigma_m);
            expect_near("velocity", state->protection_level_mps[k], used(state) * sigma_m);
        }
    }
    params.dt_ns = 4000000000000u; /* a frame in more than an hour */
    assert_true(steps(1)->protection_level_m[0] == 0);
}

/** A separation, and a larger deviation of a member, are in the levels of their axes. */
static void apart(void **unused)
{
    (void)unused;
    begin();
    (void)steps(20);
    off_m[VF_BANK_NO_ACCEL] = 0.03;
    off_m[VF_BANK_NO_IMU] = -0.02;
    const vfront_nav_t *state = step();
    assert_int_equal(state->state, VFRONT_NAV_GOOD);
    expect_near("apart", state->protection_level_m[0], 0.03 + used(state) * sigma_m);
    more_m[VF_BANK_NO_IMU] = 3 * sigma_m;
    state = step();
    const double k = used(state) / sqrt(10);
    expect_near("uncertain", state->protection_level_m[0], 0.02 + k * sqrt(10) * sigma_m);
    expect_near("uncertain velocity", state->protection_level_mps[2], k * sqrt(10) * sigma_m);
    off_m[VF_BANK_NO_ACCEL] = off_m[VF_BANK_NO_IMU] = 0;
    off_rad[VF_BANK_NO_IMU] = 0.03;
    expect_near("turned", step()->protection_level_rad[0], 0.03 + k * sqrt(10) * sigma_m);
}

/** What separated a member from the accepted one each time that it began anew adds up, and so does its variance. */
static void kept(void **unused)
{
    (void)unused;
    begin();
    off_m[VF_BANK_NO_IMU] = 0.02;
    more_m[VF_BANK_NO_IMU] = 2 * sigma_m;
    int horizons = 0;
    const double k = used(steps(2)) / sqrt(5);
    for (int frame = 0; frame < 660; frame++) {
        const double age_s = nav.bank.age_s[VF_BANK_NO_IMU];
        const vfront_nav_t *state = step();
        horizons += nav.bank.age_s[VF_BANK_NO_IMU] < age_s;
        expect_near("level", state->protection_level_m[0],
                    0.02 * (horizons + 1) + k * sqrt(5 + 4 * horizons) * sigma_m);
        expect_near("velocity", state->protection_level_mps[0], k * sqrt(5) * sigma_m);
    }
    assert_int_equal(horizons, 4);
}

/** An attitude that was kept turns what the vehicle flies later: position and velocity. */
static void turned(void **unused)
{
    (void)unused;
    begin();
    off_rad[VF_BANK_NO_IMU] = 0.03;
    more_m[VF_BANK_NO_IMU] = 2 * sigma_m;
    const double k = used(steps(2)) / sqrt(5);
    (void)steps((int)(VF_BANK_HORIZON_S * 1e9 / FRAME_NS) + 4);
    off_rad[VF_BANK_NO_IMU] = more_m[VF_BANK_NO_IMU] = 0;
    at_m[1] = 5;
    const vfront_nav_t *state = step();
    expect_near("position", state->protection_level_m[2], 0.03 * 5 + k * sqrt(1 + 4 + 4 * 25) * sigma_m);
    expect_near("position along", state->protection_level_m[1], k * sqrt(1 + 4) * sigma_m);
    expect_near("attitude", state->protection_level_rad[0], 0.03 + k * sqrt(5) * sigma_m);
}

/** A member that has gone astray itself is kept, too: which of both is right is not known. */
static void astray(void **unused)
{
    (void)unused;
    begin();
    (void)steps(20);
    off_m[VF_BANK_NO_ACCEL] = 0.5;
    square[VF_BANK_NO_ACCEL] = 8.0;
    while (request.member[VF_BANK_NO_ACCEL].from == VF_BANK_NO_ACCEL) (void)step();
    off_m[VF_BANK_NO_ACCEL] = 0;
    const vfront_nav_t *state = step();
    expect_near("level", state->protection_level_m[0], 0.5 + used(state) * sigma_m);
}

/** Forces that are left out: the level is that of what remains, and of what was kept of it; that stays when they
 *  return. */
static void left_out(void **unused)
{
    (void)unused;
    begin();
    off_m[VF_BANK_NO_ACCEL] = off_m[VF_BANK_NO_IMU] = 0.02;
    (void)steps((int)(VF_BANK_HORIZON_S * 1e9 / FRAME_NS) + 6);
    off_m[VF_BANK_NO_ACCEL] = off_m[VF_BANK_NO_IMU] = 0;
    const double k_sigma = used(step()) * sigma_m;
    off_m[VF_BANK_ALL] = 0.5;
    seen[VF_BANK_ALL] = 5;
    const vfront_nav_t *state = step_anew();
    expect_near("disputed", state->protection_level_m[0], 0.5 - 0.02 + k_sigma);
    (void)steps_until(VF_BANK_NO_ACCEL, 9);
    state = step_anew();
    expect_near("left out", state->protection_level_m[0], 0.02 + k_sigma);
    off_m[VF_BANK_ALL] = 0.0;
    seen[VF_BANK_ALL] = 100;
    (void)steps_until(VF_BANK_ALL, 40);
    state = step_anew();
    assert_int_equal(state->state, VFRONT_NAV_GOOD);
    expect_near("returned", state->protection_level_m[0], 0.02 + k_sigma);
}

/** Errors of position and attitude that are correlated in a member's covariance stay so when they are kept: a yaw that
 *  turned the path before turns what follows. Beside variances alone. */
static void correlated(void **unused)
{
    struct vf_nav_separated kept;
    vfront_nav_t own, other, now;
    (void)unused;
    memset(&kept, 0, sizeof kept);
    memset(&own, 0, sizeof own);
    own.q_odom_imu[0] = 1;
    other = now = own;
    now.position_m[0] = 10;
    other.covariance[vf_nav_index(1, 1)] = 0.04;
    other.covariance[vf_nav_index(1, 5)] = 0.9 * 0.2 * 0.02;
    other.covariance[vf_nav_index(5, 5)] = 0.0004;
    vf_nav_level_keep(&kept, &own, &other);
    vf_nav_origin_add(&kept.origin, &now);
    expect_near("variance", now.covariance[vf_nav_index(1, 1)], 0.04 + 2 * 0.9 * 0.2 * 0.2 + 0.04);
}

/** What separates the members when all samples are refused, and when an estimate is lost, is kept. */
static void ended(void **unused)
{
    (void)unused;
    begin();
    (void)steps(20);
    lose_forces();
    off_m[VF_BANK_NO_IMU] = 0.03;
    (void)step();
    view.imu_fault = VFRONT_IMU_AXES;
    off_m[VF_BANK_ALL] = off_m[VF_BANK_NO_IMU] = 0.0;
    const vfront_nav_t *state = step_anew();
    expect_near("refused", state->protection_level_m[0], 0.03 + used(state) * sigma_m);
    begin();
    (void)steps(20);
    off_m[VF_BANK_NO_IMU] = 0.03;
    (void)step();
    nav.diverged = VF_NAV_DIVERGED_FRAMES - 1;
    square[VF_BANK_ALL] = 2.0 * VF_NAV_DIVERGED_COST;
    state = step();
    assert_int_equal(state->state, VFRONT_NAV_LOST);
    assert_int_equal(state->protection, VFRONT_PROTECTION_NO_STATE);
    assert_true(state->protection_level_m[0] == 0);
    expect_near("lost", nav.separated[VF_BANK_NO_IMU].d[0], 0.03);
    state = step();
    assert_int_equal(state->protection, VFRONT_PROTECTION_NO_STATE);
    for (int reset = 0; reset < 2; reset++) { /* one without a state; vfront_reset() in flight */
        begin();
        (void)steps(20);
        off_m[VF_BANK_NO_IMU] = 0.03;
        (void)step();
        if (!reset) off_m[VF_BANK_NO_IMU] = NAN;
        if (reset) params.frame = 0, view.away_ns = FRAME_NS;
        (void)step();
        expect_near(reset ? "reset" : "without a state", nav.separated[VF_BANK_NO_IMU].d[0], 0.03);
    }
}

/** Without a bank, or without its last member, there is no level, and it says why. */
static void none(void **unused)
{
    (void)unused;
    for (int without = 0; without < 5; without++) {
        begin();
        (void)steps(3);
        if (without == 0) view.geometry.pair.placed = 0;
        if (without == 1) nav.no_gravity = 1;
        if (without == 2) off_m[VF_BANK_NO_IMU] = NAN;
        if (without == 3) off_m[VF_BANK_NO_ACCEL] = NAN;
        if (without == 4) noise = (vfront_imu_noise_t){.gyro_density = 0};
        const vfront_nav_t *state = step();
        const uint32_t expected = without < 2 || without == 4 ? VFRONT_PROTECTION_NO_BANK : VFRONT_PROTECTION_NO_MEMBER;
        assert_int_equal(state->protection, without == 3 ? VFRONT_PROTECTION_GIVEN : expected);
        for (int k = 0; k < 3; k++) assert_int_equal(state->protection_level_m[k] > 0, without == 3);
    }
}

/** A state after an unknown time since another one has no level, for good; one before the first has not. */
static void unknown_time(void **unused)
{
    (void)unused;
    begin();
    assert_int_equal(steps(3)->protection, VFRONT_PROTECTION_GIVEN);
    params.frame = 0; /* vfront_reset(), and a stamp that does not follow */
    (void)step();
    nav.running = 1;
    nav.own.carried.t_ns = nav.t_ns;
    const vfront_nav_t *state = steps(3);
    assert_int_equal(state->state, VFRONT_NAV_GOOD);
    assert_int_equal(state->protection, VFRONT_PROTECTION_NO_ORIGIN);
    assert_true(state->protection_level_m[0] == 0);
}

/** Motions that contradict the state's prediction: disputed, unless its level bounds what they may be right about; then
 *  its covariance has their difference. */
static void contradicted(void **unused)
{
    (void)unused;
    for (int bounded = 0; bounded < 2; bounded++) {
        begin();
        (void)steps(20);
        if (!bounded) off_m[VF_BANK_NO_IMU] = NAN;
        const vfront_nav_t before = *step();
        nav.prediction_off = 3;
        for (int of = 0; of < 3; of++) nav.contradiction[of] = 7.0 + of; /* position, attitude, velocity */
        const vfront_nav_t *state = step();
        for (int k = 0; k < 9; k++) {
            const int at = vf_nav_index(k, k);
            const double more = state->covariance[at] - before.covariance[at];
            const int of = k < VF_NAV_W ? 0 : k < VF_NAV_V ? 1 : 2;
            assert_true(fabs(more - bounded * (7.0 + of)) < 0.5);
        }
        assert_int_equal(state->protection == VFRONT_PROTECTION_GIVEN, bounded);
        assert_int_equal(state->state, bounded ? VFRONT_NAV_GOOD : VFRONT_NAV_COASTING);
        assert_int_equal(!(state->flags & VFRONT_NAV_DISPUTED), bounded);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithm),  cmocka_unit_test(nominal),      cmocka_unit_test(apart),
        cmocka_unit_test(kept),       cmocka_unit_test(turned),       cmocka_unit_test(astray),
        cmocka_unit_test(left_out),   cmocka_unit_test(ended),        cmocka_unit_test(none),
        cmocka_unit_test(correlated), cmocka_unit_test(contradicted), cmocka_unit_test(unknown_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    puts("[  SKIPPED ] 1 test(s), no bank of estimators in this config");
    return 77;
}
#endif
