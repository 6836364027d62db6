/* SPDX-License-Identifier: MIT */
/* Optimization steps of the sliding window. Road flights, where the images hardly separate camera 1's offset from the
 * velocity, recover both from a wrong initial state. A reverted step is followed by more damping. */
#include "simulation_vio.h"

#include "vio/launch.h"

/** Rotation of camera 1 about its y axis between assumed and true rig [rad]: the apparent shift of its bearings along
 *  the epipolar lines. */
static double offset_of_rig(void)
{
    double sum = 0.0; /* element (x, z) of true R_1_0 times assumed R_1_0', for small angles */
    for (int k = 0; k < 3; k++) sum += sim.rig.R_1_0[k] * sim.assumed.R_1_0[6 + k];
    return -sum;
}

/** Flights with KITTI-like cameras and IMU, calibration errors drawn from their priors: position and camera 1's offset
 *  are consistent with the covariance. A constant damping of 1e-5 would hold the offset and with it the velocity. */
static void road(void **state)
{
    (void)state;
    enum { RUNS = 8 };
    static const double possible[] = {VF_VIO_MOUNT_SIGMA_RAD, VF_VIO_TIME_OFFSET_SIGMA_S, SIM_TURN_RAD};
    double mean = 0.0, apart = 0.0, offset = 0.0;
    for (int run = 0; run < RUNS; run++) {
        struct sim_options o = sim_defaults();
        vfront_nav_t nav;
        double e[15], P[9], square = 0.0;
        snprintf(o.trajectory, sizeof o.trajectory, "road");
        snprintf(o.rig, sizeof o.rig, "kitti");
        o.near = 5, o.far = 60, o.seconds = 15, o.seed = 101 + run;
        for (int i = 0; i < 3; i++) o.drawn[i] = possible[i];
        sim_begin(&o);
        for (int k = 0; k < sim.frames; k++) {
            sim_step(k, 1.0, &nav);
            sim_errors(&sim, &nav, e);
            sim_block(&nav, 0, 3, P);
            square += sim_nees(P, e, 3) / sim.frames;
        }
        const double off = window.stereo[VF_STEREO_OFFSET] - offset_of_rig(),
                     sigma = sqrt(window.covariance[VF_VIO_REPORTED_DISPARITY * (VF_VIO_REPORTED + 1)]);
        print_message("run %d: position off by %.2f m, NEES %.2f of 3; offset %.3f mrad, off by %.3f, deviation %.3f\n",
                      run, length(e), square, 1e3 * offset_of_rig(), 1e3 * off, 1e3 * sigma);
        mean += square / RUNS, apart += length(e) * length(e) / RUNS, offset += off * off / (sigma * sigma) / RUNS;
    }
    REQUIRE(mean < 3.5 && sqrt(apart) < 0.7, "NEES %.2f of 3, %.2f m\n", mean, sqrt(apart));
    REQUIRE(offset < 3, "offset: %.2f of 1\n", offset);
}

/** A step that lowers the cost is accepted, one that raises it is reverted and followed by more damping. */
static void accepted_steps(void **state)
{
    (void)state;
    static const double costs[] = {10, 8, 9, 8.5};
    static const int reverted[] = {0, 0, 1, 1};
    memset(&window, 0, sizeof window);
    memset(&work, 0, sizeof work);
    window.rig.cameras = 2;
    vf_vio_open_frame(&window, &work, &(struct vf_vio_imu_interval){0}, NULL, 0, work.ids);
    assert_true(work.damping == vf_vio_damping(2));
    double before = work.damping;
    for (int i = 0; i < 4; i++, work.iterations++) {
        const int at = work.at, trial = work.trial;
        work.cost = costs[i];
        vf_vio_accept_step(&window, &work);
        assert_int_equal(work.reverted, reverted[i]);
        assert_int_equal(work.at, reverted[i] ? at : trial);
        assert_int_equal(work.trial, work.at ^ 1);
        assert_true(window.cost == (reverted[i] ? 8 : costs[i]));
        if (!i) assert_true(work.damping == before);
        if (i && !reverted[i]) assert_true(work.damping < before);
        if (reverted[i]) assert_true(work.damping >= VF_VIO_DAMPING_REVERT_MIN && work.damping > before);
        before = work.damping;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(road), cmocka_unit_test(accepted_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
