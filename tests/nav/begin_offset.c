/* SPDX-License-Identifier: MIT */
/* Beginning of the estimator at a time offset that the initialization found: sliding window and its first report;
 * samples of the first interval, from a drawn state. */
#include "nav/nav.h"
#include "tests/fixture/random.h"

#if VFRONT_VIO

#include "supervised.h"
#include "tests/imu/imu_oracle.h"
#include "vio/launch.h"
#include "vio_init/first_information.h"

enum { RUNS = 100, RATE = 200, SAMPLES = 60, FRAME_NS = 50000000 };

static struct vf_vio_window window;
static struct vf_vio_work work;

/** Drawn first state with an offset of up to 25 ms and a deviation of up to 15 ms; sigma_s: 0: the initialization did
 *  not estimate it. */
static void draw_first(vfront_nav_t *first, uint64_t t_ns, int estimated)
{
    memset(first, 0, sizeof *first);
    first->t_ns = t_ns;
    for (int k = 0; k < 4; k++) first->q_odom_imu[k] = normal();
    vf_quaternion_unit(first->q_odom_imu);
    for (int k = 0; k < 3; k++) {
        first->velocity_mps[k] = normal();
        first->gyro_bias_rad_s[k] = 0.02 * normal();
        first->accel_bias_m_s2[k] = 0.1 * normal();
    }
    for (int k = 0; k < VF_NAV_ERRORS; k++) first->covariance[vf_nav_index(k, k)] = real(0.001, 0.1);
    first->offset_s = estimated ? real(-0.025, 0.025) : 0;
    first->offset_sigma_s = estimated ? real(0.0002, 0.015) : 0;
}

/** The window begins at the offset: of the frame, of the estimate, of the linearization; the prior has its deviation,
 *  that of VF_VIO_TIME_OFFSET_SIGMA_S where none was estimated. The first report has them too. */
static void begins_at_offset(void **unused)
{
    (void)unused;
    enum { N = VF_VIO_COLUMNS };
    shake(61);
    for (int run = 0; run < RUNS; run++) {
        vfront_nav_t first, out;
        struct vf_vio_summary summary;
        struct vf_vio_rig rig = {.cameras = 2};
        double information[VF_VIO_FIRST * VF_VIO_FIRST];
        for (int k = 0; k < 9; k++) rig.R_imu_cam[k] = k % 4 == 0;
        draw_first(&first, 1000000000u, run % 4 != 0);
        vf_start_information(&first, NULL, information);
        noise = any_noise(RATE);
        vf_vio_init_window(&window, &rig, &noise, &first, information);
        const double expected = run % 4 ? first.offset_sigma_s : 0.01,
                     prior = window.prior.H[VF_VIO_TIME_OFFSET * (N + 1)];
        assert_true(window.offset_s == first.offset_s && window.first_offset_s == first.offset_s);
        assert_true(window.slot[0].offset_s == first.offset_s);
        assert_true(fabs(prior * expected * expected - 1) < 1e-12);
        memset(&out, 0, sizeof out);
        vf_vio_output(&window, &work, &out, &summary);
        vf_vio_output_covariance(&window, &out);
        assert_true(out.offset_s == first.offset_s && fabs(out.offset_sigma_s / expected - 1) < 1e-12);
        assert_true(fabs((double)((int64_t)out.t_ns - (int64_t)first.t_ns) - 1e9 * first.offset_s) < 1.5);
    }
}

/** The first step asks for a state at the offset, and its preintegral is that of the interval moved by the offset. */
static void first_interval(void **unused)
{
    (void)unused;
    const struct vf_nav_view view = supervised_view();
    shake(62);
    for (int run = 0; run < RUNS; run++) {
        vfront_imu_t *imu = samples.buffer + VF_SAMPLES_EARLIER;
        memset(&nav, 0, sizeof nav);
        memset(&samples, 0, sizeof samples);
        noise = any_noise(RATE);
        any_samples(imu - VF_SAMPLES_EARLIER, SAMPLES, RATE, 3, 1, 3, 0);
        samples.total = SAMPLES - VF_SAMPLES_EARLIER;
        samples.earlier = VF_SAMPLES_EARLIER;
        samples.from_ns = imu[0].t_ns + 1000000;
        samples.to_ns = samples.from_ns + FRAME_NS;
        samples.count = FRAME_NS / (1000000000 / RATE) + 2;
        params.frame = 1;
        params.dt_ns = FRAME_NS;
        draw_first(&nav.first, samples.from_ns, 1);
        const vfront_nav_t first = nav.first;
        vf_nav_before_step(&view);
        assert_int_equal(request.member[0].command, VF_VIO_BEGIN);
        assert_true(request.first.offset_s == first.offset_s && request.first.offset_sigma_s == first.offset_sigma_s);
        struct wide_motion exact = wide_start();
        wide bias[6], R[9], w[3];
        for (int k = 0; k < 3; k++) bias[k] = first.gyro_bias_rad_s[k], bias[3 + k] = first.accel_bias_m_s2[k];
        const int64_t late_ns = llround(1e9 * first.offset_s);
        wide_integrate(&exact, samples.buffer, SAMPLES, (uint64_t)((int64_t)samples.from_ns + late_ns),
                       (uint64_t)((int64_t)samples.to_ns + late_ns), bias, 0, 4);
        wide_matrix(request.member[0].motion.motion.q, R);
        wide_between(exact.y, R, w);
        assert_true(fabs(request.member[0].motion.motion.dt_s - 0.05) < 3e-9);
        for (int k = 0; k < 3; k++) {
            REQUIRE(fabsl(w[k]) < 1e-6L, "run %d: rotation off by %Lg rad\n", run, w[k]);
            REQUIRE(fabsl(exact.y[9 + k] - request.member[0].motion.motion.v[k]) < 1e-5L,
                    "run %d: velocity off by %Lg m/s\n", run, exact.y[9 + k] - request.member[0].motion.motion.v[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(begins_at_offset), cmocka_unit_test(first_interval)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    puts("[  SKIPPED ] 1 test(s), no estimator in this config");
    return 77;
}
#endif
