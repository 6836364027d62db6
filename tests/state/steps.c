/* SPDX-License-Identifier: MIT */
/* Steps of the window's optimisation: flights along a road, in which the pictures hardly tell camera 1's offset from
 * the velocity, and in which both are found from a first state that is off; a step that is undone, and the damping
 * behind it. */
#include "simulation_window.h"

#include "state/window_step.h"

/** Turn of camera 1 about its y axis by which what the estimator is told differs from the rig [rad]: its bearings seem
 *  to be so far along the epipolar lines. */
static double offset_of_rig(void)
{
    double sum = 0.0; /* element x z of true times told', of small angles */
    for (int k = 0; k < 3; k++) sum += sim.rig.R_1_0[k] * sim.told.R_1_0[6 + k];
    return -sum;
}

/** Flights with cameras and IMU as KITTI's, calibration off by what is possible: the position is as good as its
 *  covariance says, and so is camera 1's offset. A damping that does not give way, as of 1e-5, holds
 *  the offset, and with it the velocity: NEES of 5 of 3, 1.1 m off. */
static void road(void **state)
{
    (void)state;
    enum { RUNS = 8 };
    static const double possible[] = {VF_WINDOW_MOUNT_RAD, VF_WINDOW_OFFSET_S, VF_WINDOW_DISPARITY_RAD};
    double mean = 0.0, apart = 0.0, offset = 0.0;
    for (int run = 0; run < RUNS; run++) {
        struct sim_options o = sim_usual();
        vfront_nav_t nav;
        double e[15], P[9], square = 0.0;
        snprintf(o.path, sizeof o.path, "road");
        snprintf(o.rig, sizeof o.rig, "kitti");
        o.near = 5, o.far = 60, o.seconds = 15, o.seed = 101 + run;
        for (int i = 0; i < 3; i++) o.drawn[i] = possible[i];
        sim_begin(&o);
        for (int k = 0; k < sim.frames; k++) {
            sim_step(k, 1.0, &nav);
            sim_errors(&sim, &nav, e);
            sim_block(&nav, 0, 3, P);
            square += sim_square(P, e, 3) / sim.frames;
        }
        const double off = window.stereo_rad[VF_STEREO_OFFSET] - offset_of_rig(),
                     sigma = sqrt(window.covariance[VF_WINDOW_SAID_DISPARITY * (VF_WINDOW_SAID + 1)]);
        print_message("run %d: position off by %.2f m, NEES %.2f of 3; offset %.3f mrad, off by %.3f, deviation %.3f\n",
                      run, length(e), square, 1e3 * offset_of_rig(), 1e3 * off, 1e3 * sigma);
        mean += square / RUNS, apart += length(e) * length(e) / RUNS, offset += off * off / (sigma * sigma) / RUNS;
    }
    REQUIRE(mean < 3.5 && sqrt(apart) < 0.7, "NEES %.2f of 3, %.2f m\n", mean, sqrt(apart));
    REQUIRE(offset < 3, "offset: %.2f of 1\n", offset);
}

/** Verdicts on steps: a cost that falls is taken, one that rises is not, and what follows is shorter. */
static void verdicts(void **state)
{
    (void)state;
    static const double costs[] = {10, 8, 9, 8.5};
    static const int undone[] = {0, 0, 1, 1};
    memset(&window, 0, sizeof window);
    memset(&work, 0, sizeof work);
    window.rig.cameras = 2;
    vf_window_open(&window, &work, &(struct vf_window_motion){0}, NULL, 0, work.ids);
    assert_true(work.damping == vf_window_damping(2));
    double before = work.damping;
    for (int i = 0; i < 4; i++, work.steps++) {
        const int at = work.at, trial = work.trial;
        work.cost = costs[i];
        vf_window_judge(&window, &work);
        assert_int_equal(work.undone, undone[i]);
        assert_int_equal(work.at, undone[i] ? at : trial);
        assert_int_equal(work.trial, work.at ^ 1);
        assert_true(window.cost == (undone[i] ? 8 : costs[i]));
        if (!i) assert_true(work.damping == before);
        if (i && !undone[i]) assert_true(work.damping < before);
        if (undone[i]) assert_true(work.damping >= VF_WINDOW_DAMPING_LEAST && work.damping > before);
        before = work.damping;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(road), cmocka_unit_test(verdicts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
