/* SPDX-License-Identifier: MIT */
/* Running estimates of the rig's offsets, against a textbook mean and the distribution over many simulated sequences,
 * in double precision. tests/geometry/rig.py compares them with known errors of the rig in rendered flights. */
#include "tests/fixture/rigid.h"

#if VFRONT_STEREO

#define TRUTH_PX 0.3

/** The estimate is the weighted mean, with each frame forgotten at a rate of 1 in VF_RIG_FRAMES. */
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

/** Share of simulated sequences whose estimate is within 1 and 3 of its standard deviations after some frames. slow_px:
 *  standard deviation of errors shared by neighbouring frames, over about 8 frames; quick_px: of independent errors;
 *  far: 1 in 20 measurements is random. The truth drifts by VF_RIG_DRIFT_PX. */
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

/** Without measurements: 1 px, which grows with time after the last one. A correction reaches the estimate without
 *  overshoot; an error within the noise is not corrected. NaN and infinity leave a finite estimate. */
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
    assert_true(isfinite(e.value) && fabsf(e.value) <= VF_RIG_MAX_PX && fabsf(vf_rig_clamp(NAN, 1.0f)) <= 1.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(weighted_mean), cmocka_unit_test(honest_sigma),
                                       cmocka_unit_test(corrections)};
    return cmocka_run_group_tests_name("rig", tests, NULL, NULL);
}

#else

int main(void)
{
    print_message("no stereo in this config\n");
    return 77;
}

#endif
