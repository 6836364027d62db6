/* SPDX-License-Identifier: MIT */
/* The bank of estimators in tests without the rest of the library: each test gives the states and counts of all
 * members, frame by frame. Include in one file only. */
#ifndef BANK_H
#define BANK_H

#include "supervised.h"

enum { FRAME_NS = 50000000, RATE = 200, SIGMA_MM = 10 };

static struct vf_nav_view view;
static vfront_result_t result;
static vfront_innovation_t innovation[VFRONT_TESTS];
static double off_m[VF_BANK];     /* error of each member's position along x [m] */
static uint32_t seen[VF_BANK];    /* observations that it accepts */
static double square[VF_BANK];    /* its mean squared residual */
static double off_rad[VF_BANK];   /* error of its attitude about x [rad] */
static double more_m[VF_BANK];    /* deviation of its errors beyond that of the others [m, rad, m/s] */
static double at_m[3], at_mps[3]; /* position and velocity of the vehicle [m, m/s] */
static double at_rad;             /* its attitude about x [rad] */
static int no_samples;            /* 1: of the IMU */

/** Starts with a running estimate that all members share. */
static void begin(void)
{
    view = supervised_view();
    noise = (vfront_imu_noise_t){.gyro_density = 1e-4,
                                 .accel_density = 1e-3,
                                 .gyro_walk = 1e-5,
                                 .accel_walk = 1e-4,
                                 .gyro_limit_rad_s = 30.0,
                                 .accel_limit_m_s2 = 300.0,
                                 .rate_hz = RATE,
                                 .gravity_m_s2 = 9.81};
    view.geometry.pair.placed = 1;
    view.tuning.vio_imu_percent = view.tuning.protection_risk_ppm = 100;
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        camera[c].fx_px = 100;
        for (int k = 0; k < 9; k++) camera[c].R_cam_imu[k] = k % 4 == 0;
    }
    nav.running = 1;
    nav.t_ns = nav.observed_ns = nav.own.last.t_ns = nav.own.carried.t_ns = 1000000000;
    nav.own.last.q_odom_imu[0] = 1.0;
    params.frame = 1;
    params.dt_ns = FRAME_NS;
    memset(at_m, 0, sizeof at_m);
    memset(at_mps, 0, sizeof at_mps);
    memset(&result, 0, sizeof result);
    at_rad = 0.0;
    no_samples = 0;
    for (int i = 0; i < VF_BANK; i++) {
        off_m[i] = off_rad[i] = more_m[i] = 0.0;
        seen[i] = 100;
        square[i] = 4.0;
    }
}

/** Samples at rest, up to this frame and beyond. */
static void give_samples(uint64_t from_ns, uint64_t to_ns)
{
    vfront_imu_t imu[2 * RATE / 20 + 2];
    uint32_t n = 0;
    for (uint64_t t_ns = from_ns - FRAME_NS; t_ns <= to_ns + 5000000u; t_ns += 1000000000u / RATE, n++)
        imu[n] = (vfront_imu_t){.t_ns = t_ns, .accel_m_s2 = {0.01f * (float)(n % 3), 0, 9.81f}};
    if (no_samples) n = 0;
    samples.kept = samples.earlier = 0;
    vf_samples_append(&samples, &noise, imu, n, to_ns + VFRONT_IMU_AHEAD_NS, 1, 0);
    vf_samples_select(&samples, from_ns, to_ns);
}

/** State of a member in this frame. */
static vfront_nav_t state_of(int i)
{
    vfront_nav_t state;
    memset(&state, 0, sizeof state);
    state.t_ns = nav.t_ns;
    memcpy(state.position_m, at_m, sizeof at_m);
    state.position_m[0] += off_m[i];
    memcpy(state.velocity_mps, at_mps, sizeof at_mps);
    state.q_odom_imu[0] = cos(0.5 * (at_rad + off_rad[i]));
    state.q_odom_imu[1] = sin(0.5 * (at_rad + off_rad[i]));
    state.landmarks = seen[i];
    state.residual_mean_square = square[i];
    for (int k = 0; k < VF_NAV_ERRORS; k++)
        state.covariance[vf_nav_index(k, k)] = 1e-6 * SIGMA_MM * SIGMA_MM + more_m[i] * more_m[i];
    return state;
}

/** Runs a frame. Returns its reported state. */
static const vfront_nav_t *step(void)
{
    static vfront_result_t r;
    static struct vf_vio_request first;
    for (int k = 0; k < VF_AXES; k++) at_m[k] += at_mps[k] * (FRAME_NS * 1e-9);
    give_samples(nav.t_ns, nav.t_ns + FRAME_NS);
    vf_nav_before_step(&view);
    first = request;
    vf_nav_before_step(&view); /* as after a GPU that failed in this step */
    assert_memory_equal(&request, &first, sizeof first);
    assert_int_equal(nav.t_ns, samples.to_ns);
    r = result;
    memset(report.nav, 0, sizeof report.nav);
    memset(report.summary, 0, sizeof report.summary);
    for (int i = 0; i < VF_BANK; i++) {
        if (request.member[i].command == VF_VIO_NONE) continue;
        report.nav[i] = state_of(i);
        report.summary[i].accepted = seen[i];
    }
    r.nav = report.nav[request.accepted];
    vf_nav_after_step(&view, &r, &r.nav, innovation);
    params.frame++;
    return &r.nav;
}

/** Steps. Returns the last state. */
static const vfront_nav_t *steps(int n)
{
    for (int i = 1; i < n; i++) (void)step();
    return step();
}

/** Steps until `accepted` is, at most `frames` times. Returns the number of steps. */
static int steps_until(uint32_t accepted, int frames)
{
    int n = 0;
    while (nav.bank.accepted != accepted && n < frames) (void)step(), n++;
    assert_int_equal(nav.bank.accepted, accepted);
    return n;
}

/** Has forces that are wrong left out. */
static void lose_forces(void)
{
    off_m[VF_BANK_ALL] = 0.5;
    seen[VF_BANK_ALL] = 5;
    (void)steps_until(VF_BANK_NO_ACCEL, 9);
}

#endif
