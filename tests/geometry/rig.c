/* SPDX-License-Identifier: MIT */
/* Running estimates of the rig's offsets: against a textbook mean and the spread of many drawn sequences, in double
 * precision; steps across the line of drawn windows against least squares over their pixels. tests/geometry/rig.py has
 * them beside what was done to the rig of rendered flights. */
#include "tests/fixture/rigid.h"

#if VFRONT_STEREO

#define TRUTH_PX 0.3

/** The estimate is the weighted mean, each frame forgotten at the rate of 1 in VF_RIG_FRAMES. */
static void weighted_mean(void **state)
{
    struct vf_rig_estimate e;
    double sum = 0.0, weights = 0.0, ages = 0.0, worst = 0.0, worst_age = 0.0;
    (void)state;
    shake(1);
    memset(&e, 0, sizeof e);
    for (int frame = 0; frame < 3000; frame++) {
        const double keep = 1.0 - 1.0 / (double)VF_RIG_FRAMES;
        const int seen = frame % 7 != 3;
        const float measured = (float)(TRUTH_PX + real(-0.05, 0.05)), weight = seen ? (float)real(90, 110) : 0.0f;
        e = vf_rig_next(&e, measured, weight, 0);
        ages += weights;
        if (seen) {
            sum = keep * sum + (double)weight * (double)measured;
            weights = keep * weights + (double)weight;
            ages *= keep;
        }
        worst = fmax(worst, fabs((double)e.value - sum / weights));
        worst_age = fmax(worst_age, fabs((double)e.age * weights / fmax(ages, 1.0) - 1.0) * (frame > 10));
        assert_true(e.corrected == 0.0f);
    }
    print_message("mean: off by %.1e px at most, its age by %.1e\n", worst, worst_age);
    assert_true(worst < 1e-5 && worst_age < 1e-3);
}

/** Shares of drawn sequences whose estimate is within 1 and 3 of its standard deviations, after some frames.
 *  slow_px: deviation of errors that neighbouring frames share, over about 8 frames; quick_px: of others; far: 1 in 20
 *  measurements is one of chance. The truth drifts as VF_RIG_DRIFT_PX has it. */
static void share_within(double slow_px, double quick_px, int far, int frames, double share[2])
{
    const int draws = 400;
    int within[2] = {0, 0};
    for (int draw = 0; draw < draws; draw++) {
        struct vf_rig_estimate e;
        double slow = slow_px * normal(), truth = TRUTH_PX;
        memset(&e, 0, sizeof e);
        for (int frame = 0; frame < frames; frame++) {
            const double part = exp(-1.0 / 8.0);
            truth += (double)VF_RIG_DRIFT_PX * normal();
            slow = part * slow + sqrt(1.0 - part * part) * slow_px * normal();
            const double chance = far && roll(20) == 0 ? real(-1.5, 1.5) : 0.0;
            e = vf_rig_next(&e, (float)(truth + slow + quick_px * normal() + chance), 100.0f, 0);
        }
        const double ratio = fabs((double)e.value - truth) / (double)vf_rig_sigma_px(&e);
        within[0] += ratio < 1.0;
        within[1] += ratio < 3.0;
    }
    for (int i = 0; i < 2; i++) share[i] = (double)within[i] / draws;
}

static void honest_sigma(void **state)
{
    static const struct {
        double slow_px, quick_px;
        int far;
    } kind[] = {{0.0, 0.1, 0}, {0.05, 0.02, 0}, {0.05, 0.1, 0}, {0.05, 0.05, 1}};
    (void)state;
    shake(2);
    for (size_t k = 0; k < sizeof kind / sizeof *kind; k++)
        for (int frames = 100; frames <= 1600; frames = frames * 2) {
            double share[2];
            share_within(kind[k].slow_px, kind[k].quick_px, kind[k].far, frames, share);
            print_message("slow %.2f quick %.2f far %d, %4d frames: %.2f within 1 sigma, %.3f within 3\n",
                          kind[k].slow_px, kind[k].quick_px, kind[k].far, frames, share[0], share[1]);
            assert_true(share[0] > 0.6 && share[0] < 0.93 && share[1] > 0.97);
        }
}

/** Nothing seen: 1 px; while nothing more is seen it grows. A correction reaches the estimate without passing it, and
 *  an error within the noise is not corrected. Numbers that are none leave finite ones. */
static void corrections(void **state)
{
    struct vf_rig_estimate e, nothing;
    (void)state;
    shake(3);
    memset(&nothing, 0, sizeof nothing);
    assert_true(vf_rig_sigma_px(&nothing) == VF_RIG_UNKNOWN_PX);
    e = nothing;
    for (int frame = 0; frame < 400; frame++) {
        const struct vf_rig_estimate before = e;
        e = vf_rig_next(&e, (float)(TRUTH_PX + 0.05 * normal()), 100.0f, 1);
        assert_true(fabsf(e.corrected - before.corrected) <= VF_RIG_CORRECTION * 1.0001f);
        assert_true((double)e.corrected < TRUTH_PX + 0.02);
    }
    assert_true(fabs((double)vf_rig_correction(&e, 1) - TRUTH_PX) < 0.01 && vf_rig_correction(&e, 0) == 0.0f);
    float sigma = vf_rig_sigma_px(&e);
    for (int frame = 0; frame < 1000; frame++) e = vf_rig_next(&e, 0.0f, 0.0f, 1);
    assert_true(vf_rig_sigma_px(&e) > 1.2f * sigma && vf_rig_sigma_px(&e) < 0.05f);
    for (int draw = 0; draw < 50; draw++) {
        e = nothing;
        for (int frame = 0; frame < 200; frame++) {
            e = vf_rig_next(&e, (float)(0.2 * normal()), 100.0f, 1);
            assert_true(fabsf(e.corrected) < 0.05f);
        }
    }
    e = vf_rig_next(&e, NAN, 100.0f, 1);
    assert_true(isfinite(e.value) && fabsf(e.value) <= VF_RIG_MOST_PX && fabsf(vf_rig_within(NAN, 1.0f)) <= 1.0f);
}

/** Steps across the line of drawn windows: least squares for both steps and the difference of the means. */
static void steps_across(void **state)
{
    double worst = 0.0;
    int seen = 0;
    (void)state;
    shake(4);
    for (int tries = 0; tries < 2000; tries++) {
        const double along = real(-0.5, 0.5), across = real(-1.2, 1.2);
        const int steep = 4 * between(0, 200), noisy = between(0, 60), light = between(-500, 500);
        struct vf_across_sums sum;
        double g[121], h[121], d[121], mean[3] = {0, 0, 0}, A[3] = {0, 0, 0}, b[2] = {0, 0};
        memset(&sum, 0, sizeof sum);
        for (int k = 0; k < 121; k++) {
            const int32_t rise = between(-steep, steep) / 4, more = (rise + between(-steep, steep) / 4) / 2;
            const int32_t off = (int32_t)lround(-2.0 * (rise * along + more * across)) + light + between(-noisy, noisy);
            vf_stereo_accumulate_across(&sum, 2000 + 4 * rise, 2000, 2000 + 4 * more, 2000, off);
            g[k] = rise / 8.0, h[k] = more / 8.0, d[k] = off / 16.0;
            mean[0] += g[k] / 121, mean[1] += h[k] / 121, mean[2] += d[k] / 121;
        }
        for (int k = 0; k < 121; k++) {
            const double x = g[k] - mean[0], y = h[k] - mean[1], z = d[k] - mean[2];
            A[0] += x * x, A[1] += x * y, A[2] += y * y, b[0] -= x * z, b[1] -= y * z;
        }
        const double square = A[0] > 0.0 ? A[2] - A[1] * A[1] / A[0] : 0.0;
        const double should = square > 0.0 ? (b[1] - b[0] * A[1] / A[0]) / square : 0.0;
        const int32_t is = vf_stereo_across(&sum);
        const int steep_enough = square / 121 > 16.0, near = fabs(should) < 1.0;
        if (fabs(square / 121 - 16.0) < 1e-3 || fabs(fabs(should) - 1.0) < 1e-3) continue;
        assert_int_equal(is != VF_STEREO_UNSEEN, steep_enough && near);
        if (is == VF_STEREO_UNSEEN) continue;
        worst = fmax(worst, fabs(is / 4096.0 - should));
        seen++;
    }
    print_message("steps across of %d windows: off by %.1e px at most\n", seen, worst);
    assert_true(seen > 500 && worst < 2e-4);
}

/** The mean of the steps of a frame: far ones count as clamped, and few matches say nothing. */
static void steps_of_a_frame(void **state)
{
    struct vf_rig_estimate before;
    (void)state;
    memset(&before, 0, sizeof before);
    struct vf_rows_sums sum = {0, 0, 0};
    for (int k = 0; k < VF_ROWS_LEAST - 1; k++) vf_rows_add(&sum, 1000, 410);
    vf_rows_add(&sum, VF_NONE, 410);
    vf_rows_add(&sum, 1000, VF_STEREO_UNSEEN);
    assert_true(sum.matches == VF_ROWS_LEAST - 1 && vf_rows_next(&sum, 1, 0, 0, &before).weight == 0.0f);
    vf_rows_add(&sum, 1000, 4000);
    assert_true(sum.within == VF_ROWS_LEAST - 1 && sum.q12 == 410 * (VF_ROWS_LEAST - 1) + VF_STEREO_ACROSS_CLAMP_Q12);
    struct vf_rig_estimate e = vf_rows_next(&sum, 1, 0, 0, &before);
    assert_true(fabs((double)e.value - sum.q12 / 4096.0 / sum.within) < 1e-6);
    assert_true(vf_rows_next(&sum, 0, 0, 0, &before).weight == 0.0f);
    for (int frame = 0; frame < 5; frame++) e = vf_rows_next(&sum, 1, 0, 0, &e);
    const struct vf_rig_estimate anew = vf_rows_next(&sum, 1, 1, 0, &e);
    assert_true(anew.frames == 1.0f && anew.age == 0.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(weighted_mean), cmocka_unit_test(honest_sigma),
                                       cmocka_unit_test(corrections), cmocka_unit_test(steps_across),
                                       cmocka_unit_test(steps_of_a_frame)};
    return cmocka_run_group_tests_name("rig", tests, NULL, NULL);
}

#else

int main(void)
{
    print_message("no stereo in this config\n");
    return 77;
}

#endif
