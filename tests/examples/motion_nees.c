/* SPDX-License-Identifier: MIT */
/* consistency, accuracy: NEES of errors that are drawn from the covariance itself, scale and reach of known paths. */
#include "tests/fixture/random.h"

#include <math.h>
#include <string.h>

#include "examples/replay/accuracy.h"
#include "examples/replay/motion_nees.h"

#define DEGREES 6
#define MOTIONS 20000

static double uniform(void) { return ((double)(roll64() >> 11) + 0.5) * 0x1p-53; }

static double normal(void) { return sqrt(-2.0 * log(uniform())) * cos(6.283185307179586 * uniform()); }

/** R = exp([w]), by the series. */
static void rotation(const double w[3], double R[9])
{
    const double W[9] = {0, -w[2], w[1], w[2], 0, -w[0], -w[1], w[0], 0};
    double power[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, factor = 1.0;
    memcpy(R, power, sizeof power);
    for (int n = 1; n < 20; n++) {
        double next[9] = {0};
        factor /= n;
        for (int i = 0; i < 9; i++)
            for (int k = 0; k < 3; k++) next[i] += power[i / 3 * 3 + k] * W[k * 3 + i % 3];
        memcpy(power, next, sizeof power);
        for (int i = 0; i < 9; i++) R[i] += factor * power[i];
    }
}

/** Motion whose error, L times six normal numbers, has the covariance `claim` squared times L L'; and the true one. */
static void make(vfront_motion_t *m, pose_t *truth, double sigma_scale)
{
    double L[DEGREES][DEGREES] = {{0}}, e[DEGREES] = {0}, n[DEGREES], w[3], turned[9], R[9];
    int at = 0;
    memset(m, 0, sizeof *m);
    for (int i = 0; i < DEGREES; i++) {
        n[i] = normal();
        for (int k = 0; k < i; k++) L[i][k] = 1e-3 * (uniform() - 0.5);
        L[i][i] = 1e-3 * (0.5 + uniform());
    }
    for (int i = 0; i < DEGREES; i++)
        for (int k = 0; k <= i; k++) e[i] += L[i][k] * n[k];
    for (int i = 0; i < DEGREES; i++)
        for (int k = i; k < DEGREES; k++, at++) {
            double sum = 0.0;
            for (int j = 0; j <= i; j++) sum += L[i][j] * L[k][j];
            m->covariance[at] = (float)(sigma_scale * sigma_scale * sum);
        }
    for (int k = 0; k < 3; k++) w[k] = uniform() - 0.5;
    rotation(w, R);
    rotation(e + 3, turned);
    for (int i = 0; i < 9; i++) {
        m->R[i] = (float)R[i];
        truth->R[i] = 0.0;
        for (int k = 0; k < 3; k++) truth->R[i] += turned[i / 3 * 3 + k] * R[k * 3 + i % 3];
    }
    for (int k = 0; k < 3; k++) {
        m->t[k] = (float)(uniform() - 0.5);
        truth->t[k] = (double)m->t[k] + e[k];
    }
    m->state = VFRONT_MOTION_GOOD;
}

static motion_nees_t nees(double sigma_scale)
{
    motion_nees_t c = {0, 0, 0.0};
    vfront_motion_t m;
    pose_t truth;
    for (int i = 0; i < MOTIONS; i++) {
        make(&m, &truth, sigma_scale);
        motion_nees_add(&c, &m, &truth);
    }
    return c;
}

/** Honest covariances: 1 in the mean, one in a thousand beyond the bound. Twice as large: a fourth, and none. */
static void drawn_errors(void **state)
{
    (void)state;
    shake(1);
    const motion_nees_t honest = nees(1.0), shy = nees(2.0), bold = nees(0.5);
    REQUIRE(honest.count == MOTIONS && fabs(honest.sum / MOTIONS - 1.0) < 0.02, "%g", honest.sum / MOTIONS);
    REQUIRE(honest.beyond >= 8 && honest.beyond <= 36, "%u", (unsigned)honest.beyond);
    REQUIRE(fabs(shy.sum / MOTIONS - 0.25) < 0.005 && shy.beyond == 0, "%g", shy.sum / MOTIONS);
    REQUIRE(fabs(bold.sum / MOTIONS - 4.0) < 0.08 && bold.beyond > MOTIONS / 4, "%g", bold.sum / MOTIONS);
}

/** Motions without a usable covariance are not counted. */
static void left_out(void **state)
{
    motion_nees_t c = {0, 0, 0.0};
    vfront_motion_t m;
    pose_t truth;
    (void)state;
    shake(2);
    make(&m, &truth, 1.0);
    m.state = VFRONT_MOTION_FEW;
    motion_nees_add(&c, &m, &truth);
    m.state = VFRONT_MOTION_GOOD;
    m.covariance[0] = 0.0f;
    motion_nees_add(&c, &m, &truth);
    assert_int_equal(c.count, 0);
    make(&m, &truth, 1.0);
    m.covariance[20] = NAN;
    motion_nees_add(&c, &m, &truth);
    assert_int_equal(c.count, 0);
}

/** A circle of radius `radius_m`, and a path along it that is `scale` times as long: all of it is known. */
static accuracy_t circle(double radius_m, double scale)
{
    enum { FRAMES = 41 };
    static trajectory_frame_t frame[FRAMES];
    const trajectory_t tr = {.metric = 1, .count = FRAMES, .frame = frame};
    accuracy_t a;
    for (int i = 0; i < FRAMES; i++) {
        const double angle = 3.141592653589793 * i / (FRAMES - 1);
        frame[i].has_truth = 1;
        frame[i].pose = frame[i].truth = pose_identity;
        frame[i].truth.t[0] = radius_m * (1.0 - cos(angle));
        frame[i].truth.t[1] = radius_m * sin(angle);
        for (int k = 0; k < 3; k++) frame[i].pose.t[k] = scale * frame[i].truth.t[k];
    }
    assert_true(accuracy_of(&tr, &a));
    return a;
}

static void scale_and_reach(void **state)
{
    (void)state;
    for (int i = 0; i < 9; i++) {
        const double radius_m = 0.01 * (1 << i), scale = 0.9 + 0.03 * i;
        const accuracy_t a = circle(radius_m, scale);
        REQUIRE(fabs(a.reach_m - 2.0 * radius_m) < 1e-12, "%g", a.reach_m);
        REQUIRE(a.scale == 1.0 && fabs(a.fit_scale * scale - 1.0) < 1e-12, "%g", a.fit_scale);
        REQUIRE(fabs(a.end_m - 2.0 * radius_m * fabs(scale - 1.0)) < 1e-12 && a.end_deg == 0.0, "%g", a.end_m);
        assert_int_equal(accuracy_has_distance(&a), radius_m > 0.05);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drawn_errors),
        cmocka_unit_test(left_out),
        cmocka_unit_test(scale_and_reach),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
