/* SPDX-License-Identifier: MIT */
/* ego, rate_check: rates by IMU samples against those of the images, simulated as sums of sines. Decisions for correct
 * samples, wrong axes, degrees and a wrong clock, and their duration; no decision without a change of rate. */
#include "tests/fixture/rigid.h"

#include "ego/rate_check.h"

#if VFRONT_EGO

enum { FRAMES = 200 };

/** Simulated motion, and how the samples measure it. */
struct drawn {
    double amplitude[3][3], hz[3][3], phase[3][3];
    double bias[3], noise_radps, camera_noise_rad, dt_s;
    double R[9];    /* from true axes to those of the samples */
    double scale;   /* factor on the samples */
    double late_s;  /* delay of the samples [s] */
    int from, to;   /* frames with the fault */
    double step[3]; /* additional bias during the fault */
    int learned;    /* 1: the samples are corrected by the bias */
};

static void any_motion(struct drawn *d, double radps)
{
    memset(d, 0, sizeof *d);
    for (int i = 0; i < 9; i++) {
        d->amplitude[i / 3][i % 3] = radps * real(0.5, 1.2);
        d->hz[i / 3][i % 3] = real(0.15, 0.9);
        d->phase[i / 3][i % 3] = real(0, 6.28);
        d->R[i] = i % 4 == 0;
    }
    for (int k = 0; k < 3; k++) d->bias[k] = real(-0.1, 0.1);
    d->noise_radps = 0.005;
    d->camera_noise_rad = 5e-4;
    d->dt_s = 0.05;
    d->scale = 1.0;
    d->to = FRAMES;
}

static double rate_at(const struct drawn *d, int k, double t)
{
    double sum = 0.0;
    for (int i = 0; i < 3; i++) sum += d->amplitude[k][i] * sin(6.283185307 * d->hz[k][i] * t + d->phase[k][i]);
    return sum;
}

/** Axes rotated by a quarter turn about one of three, in either direction. */
static void quarter_turn(struct drawn *d, int run)
{
    double w[3] = {0, 0, 0};
    w[run % 3] = run % 2 ? 1.5707963 : -1.5707963;
    rotation_of(w, d->R);
}

/** Processes a frame. known: 0: no motion. */
static void step_frame(struct vf_rate_check *t, const struct drawn *d, int i, int known)
{
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const int wrong = i >= d->from && i < d->to;
    struct vf_params p;
    double right[3], turned[3];
    float w[3];
    memset(&p, 0, sizeof p);
    p.dt_ns = (uint64_t)(d->dt_s * 1e9);
    p.rate_known = 1;
    for (int k = 0; k < 3; k++) {
        w[k] = (float)(rate_at(d, k, i * d->dt_s) * d->dt_s + d->camera_noise_rad * normal());
        right[k] = rate_at(d, k, i * d->dt_s - (wrong ? d->late_s : 0.0)) + d->bias[k] + d->noise_radps * normal();
        right[k] += wrong ? d->step[k] : 0.0;
    }
    rotate(wrong ? d->R : one, right, turned);
    for (int k = 0; k < 3; k++) {
        const double rate = (wrong ? d->scale : 1.0) * turned[k];
        p.rate_radps[k] = (float)(rate - (d->learned ? d->bias[k] : 0.0));
    }
    vf_rate_check_step(t, &p, known ? w : NULL);
}

/** Runs from frame `from` on. Returns the first frame with a decision; FRAMES: none. */
static int fly(struct vf_rate_check *t, const struct drawn *d, int from, uint32_t *reported)
{
    int first = FRAMES;
    *reported = 0;
    for (int i = from; i < FRAMES; i++) {
        step_frame(t, d, i, 1);
        if (t->reported && first == FRAMES) first = i;
        *reported |= t->reported;
    }
    return first;
}

/** Correct samples, slow and fast, with a bias: no decision. */
static void right(void **state)
{
    (void)state;
    shake(1);
    for (int run = 0; run < 300; run++) {
        struct drawn d;
        struct vf_rate_check t;
        uint32_t reported;
        any_motion(&d, run % 3 == 0 ? 0.02 : run % 3 == 1 ? 0.2 : 1.0);
        d.dt_s = (double[]){0.033, 0.05, 0.1}[run / 3 % 3];
        d.scale = real(0.97, 1.03);
        d.late_s = real(-0.004, 0.004);
        memset(&t, 0, sizeof t);
        fly(&t, &d, 0, &reported);
        REQUIRE(reported == 0 && t.late_us == 0, "run %d: %u\n", run, reported);
    }
}

/** A quarter turn of the axes, a sign, degrees: exactly this decision within 80 frames. */
static void axes(void **state)
{
    int late = 0;
    (void)state;
    shake(2);
    for (int run = 0; run < 200; run++) {
        struct drawn d;
        struct vf_rate_check t;
        uint32_t reported;
        any_motion(&d, 0.4);
        const int degrees = run % 4 == 3;
        if (!degrees) quarter_turn(&d, run);
        if (run % 4 == 2)
            for (int i = 0; i < 9; i++) d.R[i] = i % 4 == 0 ? -1.0 : 0.0;
        d.scale = degrees ? 57.29578 : 1.0;
        memset(&t, 0, sizeof t);
        const int first = fly(&t, &d, 0, &reported);
        REQUIRE(reported == (degrees ? VFRONT_IMU_IN_DEGREES : VFRONT_IMU_AXES), "run %d: %u\n", run, reported);
        late += first > 80;
    }
    REQUIRE(late < 10, "%d of 200 are named late\n", late);
}

/** Wrong clock: decision with a delay to 5 ms or 10 %. */
static void clock(void **state)
{
    (void)state;
    int named = 0, others = 0;
    shake(3);
    for (int run = 0; run < 300; run++) {
        static const double dt[3] = {0.033, 0.05, 0.1}, off[5] = {0.1, -0.1, 0.05, -0.03, 0.13};
        struct drawn d;
        struct vf_rate_check t;
        uint32_t reported;
        any_motion(&d, 0.5);
        d.dt_s = dt[run % 3];
        d.late_s = off[run % 5];
        if (fabs(d.late_s) > 3 * d.dt_s) continue;
        memset(&t, 0, sizeof t);
        fly(&t, &d, 0, &reported);
        named += reported == VFRONT_IMU_CLOCK;
        others += reported != VFRONT_IMU_CLOCK;
        if (reported != VFRONT_IMU_CLOCK) continue;
        const double error_s = 1e-6 * t.late_us - d.late_s;
        REQUIRE(fabs(error_s) < 0.005 + 0.1 * fabs(d.late_s), "run %d: %d us, %g s\n", run, t.late_us, d.late_s);
    }
    print_message("%d named, %d not\n", named, others);
    REQUIRE(named > 20 * others, "%d named, %d not\n", named, others);
}

/** A decision is revoked after the fault ends; without motions there is none. */
static void ends(void **state)
{
    (void)state;
    shake(4);
    for (int run = 0; run < 50; run++) {
        struct drawn d;
        struct vf_rate_check t;
        any_motion(&d, 0.5);
        d.scale = 57.29578;
        d.to = 60;
        memset(&t, 0, sizeof t);
        for (int i = 0; i < 60; i++) step_frame(&t, &d, i, 0);
        assert_int_equal(t.reported, 0);
        for (int i = 0; i < 60; i++) step_frame(&t, &d, i, 1);
        assert_int_equal(t.reported, VFRONT_IMU_IN_DEGREES);
        for (int i = 60; i < 1000; i++) step_frame(&t, &d, i, 1);
        assert_int_equal(t.reported, 0);
    }
}

/** Runs all frames. named: 1 if wrong axes are reported before frame `from`. Returns the first frame from `from` on
 *  without a decision; FRAMES: none. */
static int revoked(const struct drawn *d, int from, int *named)
{
    struct vf_rate_check t;
    int again = FRAMES;
    *named = 0;
    memset(&t, 0, sizeof t);
    for (int i = 0; i < FRAMES; i++) {
        step_frame(&t, d, i, 1);
        if (i < from) *named |= t.reported == VFRONT_IMU_AXES;
        if (i >= from && !t.reported && again == FRAMES) again = i;
    }
    return again;
}

/** Wrong axes for 60 frames are revoked within 30 frames, later in at most two of 100 runs. */
static void soon(void **state)
{
    int late = 0, count = 0;
    (void)state;
    shake(5);
    for (int run = 0; run < 100; run++) {
        struct drawn d;
        int named;
        any_motion(&d, 0.4);
        quarter_turn(&d, run);
        d.from = 60;
        d.to = 120;
        late += revoked(&d, d.to, &named) >= d.to + 30;
        count += named;
    }
    REQUIRE(count > 80 && late <= 2, "%d of 100 named, %d taken back late\n", count, late);
}

/** A lasting fault of the axes is revoked only in few frames, during rotation about the correct axis. */
static void lasts(void **state)
{
    int frames = 0, reported = 0;
    (void)state;
    shake(7);
    for (int run = 0; run < 100; run++) {
        struct drawn d;
        struct vf_rate_check t;
        any_motion(&d, 0.4);
        quarter_turn(&d, run);
        d.from = 60;
        memset(&t, 0, sizeof t);
        for (int i = 0, since = 0; i < FRAMES; i++) {
            step_frame(&t, &d, i, 1);
            since |= t.reported == VFRONT_IMU_AXES;
            frames += since;
            reported += t.reported == VFRONT_IMU_AXES;
        }
    }
    REQUIRE(frames > 4000 && reported > 0.97 * frames, "what lasts is said in %d of %d frames\n", reported, frames);
}

/** Slow rotation with a known bias as large as the rate: wrong axes for 60 frames, or an additional bias for 10 to 40,
 *  are revoked within 40 frames, later in at most one of 20 runs. */
static void slow(void **state)
{
    int late = 0, count = 0;
    (void)state;
    shake(6);
    for (int run = 0; run < 200; run++) {
        struct drawn d;
        int named;
        any_motion(&d, 0.1);
        if (run < 100) quarter_turn(&d, run);
        for (int k = 0; k < 3 && run >= 100; k++) d.step[k] = real(-0.4, 0.4);
        d.learned = 1;
        d.from = 60;
        d.to = 60 + (run < 100 ? 60 : 10 + run % 4 * 10);
        late += revoked(&d, d.to + 10, &named) >= d.to + 40;
        count += named;
    }
    print_message("%d of 200 named, %d taken back late\n", count, late);
    REQUIRE(count > 120 && late <= 10, "%d of 200 named, %d taken back late\n", count, late);
}
#endif

int main(void)
{
#if VFRONT_EGO
    const struct CMUnitTest test[] = {cmocka_unit_test(right), cmocka_unit_test(axes), cmocka_unit_test(clock),
                                      cmocka_unit_test(ends),  cmocka_unit_test(soon), cmocka_unit_test(lasts),
                                      cmocka_unit_test(slow)};
    return cmocka_run_group_tests_name("turns", test, NULL, NULL);
#else
    return 0;
#endif
}
