/* SPDX-License-Identifier: MIT */
/* vfront_propagate(): every status, flags, bounds; motions in closed form; samples one by one and all at once; shifted
 * origin and rotated heading; random input. */
#include "imu_oracle.h"

#include "imu/propagate.h"

static vfront_imu_t imu[VFRONT_PROPAGATE_SAMPLES + 1];
static const uint64_t second = 1000000000u;

static void raise_worst(double *worst, double value)
{
    if (!(fabs(value) <= *worst)) *worst = fabs(value);
}

/** Level state at rest at the origin. Standard deviations 0.1 m, 0.01 rad, 0.1 m/s, 0.001 rad/s, 0.02 m/s^2. */
static vfront_nav_t origin(uint64_t t_ns)
{
    static const double sigma[5] = {0.1, 0.01, 0.1, 0.001, 0.02};
    vfront_nav_t nav = {.t_ns = t_ns, .q_odom_imu = {1, 0, 0, 0}};
    for (int i = 0; i < 15; i++) nav.covariance[vf_nav_index(i, i)] = sigma[i / 3] * sigma[i / 3];
    return nav;
}

/** Samples of a level, stationary IMU. */
static void stationary_samples(uint32_t n, double rate)
{
    for (uint32_t i = 0; i < n; i++)
        imu[i] = (vfront_imu_t){.t_ns = second + (uint64_t)(i * (1e9 / rate)), .accel_m_s2 = {0, 0, 9.81}};
}

/* ---- rejected input ---------------------------------------------------------------------------------------------- */

static vfront_nav_t nav, called; /* input and output of a call */
static vfront_imu_noise_t noise;

/** Valid input: 21 samples over 100 ms. */
static void valid_input(void)
{
    stationary_samples(21, 200);
    nav = origin(second);
    noise = any_noise(200);
}

/** Status of a call. Checks that a rejected call leaves `out` unchanged, even if it is nav itself. */
static vfront_status_t call(uint32_t n, uint64_t t_ns)
{
    vfront_nav_t out, kept, both = nav;
    memset(&out, 0x5a, sizeof out);
    kept = out;
    const vfront_status_t status = vfront_propagate(&nav, &noise, imu, n, t_ns, &out);
    assert_int_equal(vfront_propagate(&both, &noise, imu, n, t_ns, &both), status);
    assert_memory_equal(&both, status ? &nav : &out, sizeof both);
    if (status) assert_memory_equal(&out, &kept, sizeof out);
    called = out;
    return status;
}

static void null_arguments(void **state)
{
    (void)state;
    vfront_nav_t out;
    valid_input();
    assert_int_equal(vfront_propagate(NULL, &noise, imu, 21, VFRONT_IMU_LAST, &out), VFRONT_E_NULL);
    assert_int_equal(vfront_propagate(&nav, NULL, imu, 21, VFRONT_IMU_LAST, &out), VFRONT_E_NULL);
    assert_int_equal(vfront_propagate(&nav, &noise, NULL, 21, VFRONT_IMU_LAST, &out), VFRONT_E_NULL);
    assert_int_equal(vfront_propagate(&nav, &noise, imu, 21, VFRONT_IMU_LAST, NULL), VFRONT_E_NULL);
    assert_int_equal(call(21, VFRONT_IMU_LAST), VFRONT_OK);
}

static void bad_noise(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        double least, raise_worst;
    } range[] = {{offsetof(vfront_imu_noise_t, gyro_density), 0, 1},
                 {offsetof(vfront_imu_noise_t, accel_density), 0, 10},
                 {offsetof(vfront_imu_noise_t, gyro_walk), 0, 1},
                 {offsetof(vfront_imu_noise_t, accel_walk), 0, 10},
                 {offsetof(vfront_imu_noise_t, gyro_limit_rad_s), 0.1, VFRONT_GYRO_MOST_RAD_S},
                 {offsetof(vfront_imu_noise_t, accel_limit_m_s2), 1, VFRONT_ACCEL_MOST_M_S2},
                 {offsetof(vfront_imu_noise_t, rate_hz), 10, 20000},
                 {offsetof(vfront_imu_noise_t, gravity_m_s2), 0, 30}};
    assert_int_equal(sizeof range / sizeof *range * sizeof(double), sizeof noise);
    for (size_t i = 0; i < sizeof range / sizeof *range; i++) {
        valid_input();
        double *value = (double *)((char *)&noise + range[i].at);
        const double good[2] = {range[i].least, range[i].raise_worst};
        const double bad[5] = {nextafter(range[i].least, -INFINITY), nextafter(range[i].raise_worst, INFINITY), NAN,
                               INFINITY, -INFINITY};
        for (int k = 0; k < 2; k++) {
            *value = good[k];
            assert_int_not_equal(call(21, VFRONT_IMU_LAST), VFRONT_E_CALIBRATION);
        }
        for (int k = 0; k < 5; k++) {
            *value = bad[k];
            assert_int_equal(call(21, VFRONT_IMU_LAST), VFRONT_E_CALIBRATION);
        }
    }
}

static void bad_state(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        int count;
        double raise_worst;
    } range[] = {{offsetof(vfront_nav_t, position_m), 3, 1e9},
                 {offsetof(vfront_nav_t, velocity_mps), 3, 1e5},
                 {offsetof(vfront_nav_t, gyro_bias_rad_s), 3, 10},
                 {offsetof(vfront_nav_t, accel_bias_m_s2), 3, 100},
                 {offsetof(vfront_nav_t, covariance), 120, 1e18}};
    for (size_t i = 0; i < sizeof range / sizeof *range; i++)
        for (int k = 0; k < range[i].count; k++) {
            const double bad[4] = {range[i].raise_worst * 1.001, -range[i].raise_worst * 1.001, NAN, INFINITY};
            valid_input();
            double *value = (double *)((char *)&nav + range[i].at) + k;
            *value = range[i].raise_worst;
            if (range[i].count == 3) assert_int_equal(call(21, VFRONT_IMU_LAST), VFRONT_OK);
            for (int b = 0; b < 4; b++) {
                *value = bad[b];
                assert_int_equal(call(21, VFRONT_IMU_LAST), VFRONT_E_NAV);
            }
        }
    for (int i = 0; i < 15; i++) {
        valid_input();
        nav.covariance[vf_nav_index(i, i)] = -1e-300;
        assert_int_equal(call(21, VFRONT_IMU_LAST), VFRONT_E_NAV);
    }
    const double q[5][4] = {{0, 0, 0, 0}, {1.001, 0, 0, 0}, {NAN, 0, 0, 0}, {0.5, 0.5, 0.5, 0.4}, {INFINITY, 0, 0, 0}};
    for (int i = 0; i < 5; i++) {
        valid_input();
        memcpy(nav.q_odom_imu, q[i], sizeof q[i]);
        assert_int_equal(call(21, VFRONT_IMU_LAST), VFRONT_E_NAV);
    }
}

/** Every pair of errors: correlations of 1 and -1 are valid, 1.001 and 1,000 are not. */
static void bad_correlations(void **state)
{
    (void)state;
    for (int i = 0; i < 15; i++)
        for (int j = i + 1; j < 15; j++)
            for (int sign = -1; sign < 2; sign += 2) {
                valid_input();
                const double one = sqrt(nav.covariance[vf_nav_index(i, i)] * nav.covariance[vf_nav_index(j, j)]) * sign;
                nav.covariance[vf_nav_index(i, j)] = one;
                assert_int_equal(call(21, VFRONT_IMU_LAST), VFRONT_OK);
                nav.covariance[vf_nav_index(i, j)] = one * 1.001;
                assert_int_equal(call(21, VFRONT_IMU_LAST), VFRONT_E_NAV);
                nav.covariance[vf_nav_index(i, j)] = one * 1000;
                assert_int_equal(call(21, VFRONT_IMU_LAST), VFRONT_E_NAV);
            }
}

/** Position, velocity and tilt, any two of them with correlation -1: no variances have that, and it is refused once the
 *  motion adds the three up. With a sign that fits the other two, the covariance is valid. */
static void bad_triple(void **state)
{
    (void)state;
    static const int error[3] = {VF_NAV_W + 1, VF_NAV_V, VF_NAV_P};
    const double sigma[3] = {0.01 / (0.5 * 9.81 * 0.1 * 0.1), 0.1, 0.01}; /* 0.01 m each after 0.1 s */
    for (int fits = 0; fits < 2; fits++) {
        valid_input();
        for (int a = 0; a < 3; a++)
            for (int b = a; b < 3; b++) {
                const int i = error[a] < error[b] ? error[a] : error[b], j = error[a] < error[b] ? error[b] : error[a];
                const double sign = a == b || (fits && a == 0 && b == 1) ? 1 : -1;
                nav.covariance[vf_nav_index(i, j)] = sign * sigma[a] * sigma[b];
            }
        assert_int_equal(call(21, VFRONT_IMU_LAST), fits ? VFRONT_OK : VFRONT_E_NAV);
    }
}

static void bad_samples(void **state)
{
    (void)state;
    valid_input();
    assert_int_equal(call(0, VFRONT_IMU_LAST), VFRONT_E_IMU);
    assert_int_equal(call(0, second), VFRONT_E_IMU);
    stationary_samples(VFRONT_PROPAGATE_SAMPLES + 1, 1000);
    assert_int_equal(call(VFRONT_PROPAGATE_SAMPLES + 1, second), VFRONT_E_IMU);
    assert_int_equal(call(VFRONT_PROPAGATE_SAMPLES, VFRONT_IMU_LAST), VFRONT_OK);
    for (int i = 0; i < 21; i += 10)
        for (int c = 0; c < 6; c++) {
            const double limit = c < 3 ? VFRONT_GYRO_MOST_RAD_S : VFRONT_ACCEL_MOST_M_S2;
            const double bad[4] = {1.001 * limit, -1.001 * limit, NAN, -INFINITY};
            valid_input();
            double *value = c < 3 ? &imu[i].gyro_rad_s[c] : &imu[i].accel_m_s2[c - 3];
            *value = -limit;
            assert_int_equal(call(21, VFRONT_IMU_LAST), VFRONT_OK);
            for (int b = 0; b < 4; b++) {
                *value = bad[b];
                assert_int_equal(call(21, VFRONT_IMU_LAST), VFRONT_E_IMU);
            }
        }
    valid_input();
    imu[20].t_ns = imu[19].t_ns; /* equal times */
    assert_int_equal(call(21, VFRONT_IMU_LAST), VFRONT_E_IMU);
    valid_input();
    imu[1].t_ns = imu[0].t_ns - 1; /* out of order */
    assert_int_equal(call(21, VFRONT_IMU_LAST), VFRONT_E_IMU);
}

static void bad_times(void **state)
{
    (void)state;
    valid_input();
    assert_int_equal(call(21, second - 1), VFRONT_E_TIME);
    nav.t_ns = imu[20].t_ns + 1; /* the last sample is before the state */
    assert_int_equal(call(21, VFRONT_IMU_LAST), VFRONT_E_TIME);
    stationary_samples(2201, 200);
    nav.t_ns = second;
    assert_int_equal(call(2201, second + VFRONT_PROPAGATE_NS), VFRONT_OK);
    assert_int_equal(call(2201, second + VFRONT_PROPAGATE_NS + 1), VFRONT_E_TIME);
    nav.t_ns = UINT64_MAX - 5; /* must not wrap */
    assert_int_equal(call(2201, VFRONT_IMU_LAST), VFRONT_E_TIME);
    assert_int_equal(call(2201, second), VFRONT_E_TIME);
}

static void gaps(void **state)
{
    (void)state;
    const uint64_t limit = VFRONT_IMU_GAP_NS;
    valid_input(); /* gap after the last sample */
    assert_int_equal(call(21, imu[20].t_ns + limit), VFRONT_OK);
    assert_int_equal(call(21, imu[20].t_ns + limit + 1), VFRONT_E_IMU);
    valid_input(); /* gap before the first sample */
    nav.t_ns = imu[0].t_ns - limit;
    assert_int_equal(call(21, VFRONT_IMU_LAST), VFRONT_OK);
    nav.t_ns--;
    assert_int_equal(call(21, VFRONT_IMU_LAST), VFRONT_E_IMU);
    valid_input(); /* gap between two samples */
    for (int i = 10; i < 21; i++) imu[i].t_ns += limit - 5000000;
    assert_int_equal(call(21, VFRONT_IMU_LAST), VFRONT_OK);
    assert_int_equal(call(21, imu[9].t_ns), VFRONT_OK);
    imu[9].t_ns--;
    assert_int_equal(call(21, VFRONT_IMU_LAST), VFRONT_E_IMU);
    assert_int_equal(call(21, imu[9].t_ns), VFRONT_OK); /* the gap is outside the propagated range */
    assert_int_equal(call(21, imu[9].t_ns + 1), VFRONT_E_IMU);
    nav.t_ns = imu[10].t_ns;
    assert_int_equal(call(21, VFRONT_IMU_LAST), VFRONT_OK);
    valid_input(); /* one sample: 1.5 intervals on either side */
    assert_int_equal(call(1, second + 7500000), VFRONT_OK);
    assert_int_equal(call(1, second + 7500001), VFRONT_E_IMU);
    nav.t_ns = second - 7500000;
    assert_int_equal(call(1, VFRONT_IMU_LAST), VFRONT_OK);
    nav.t_ns--;
    assert_int_equal(call(1, VFRONT_IMU_LAST), VFRONT_E_IMU);
}

/* ---- flags and their effect on the covariance -------------------------------------------------------------------- */

static vfront_nav_t propagated(uint32_t n, uint64_t t_ns)
{
    vfront_nav_t out;
    assert_int_equal(vfront_propagate(&nav, &noise, imu, n, t_ns, &out), VFRONT_OK);
    return out;
}

/** Variance of error i. */
static double variance(const vfront_nav_t *of, int i) { return of->covariance[vf_nav_index(i, i)]; }

static void close_to(double value, double wanted, double part)
{
    REQUIRE(fabs(value - wanted) <= part * fabs(wanted), "%g, wanted %g\n", value, wanted);
}

static void missing(void **state)
{
    (void)state;
    /* rate alternates by 0.01 every 5 ms: q = 0.01^2 / 0.005 on one axis, 1/3 of it as mean over the axes */
    valid_input();
    for (int i = 0; i < 21; i++) imu[i].gyro_rad_s[0] = i % 2 ? 0.01 : 0;
    const double q = 1e-4 / 0.005 / 3, white = 1.7e-3 * 1.7e-3, before = 1e-4;
    noise.gyro_walk = noise.accel_walk = 0;
    for (int i = 9; i < 12; i++) nav.covariance[vf_nav_index(i, i)] = 0;
    vfront_nav_t out = propagated(21, VFRONT_IMU_LAST);
    assert_int_equal(out.flags, 0);
    close_to(variance(&out, VF_NAV_W + 2), before + white * 0.1, 1e-9);
    out = propagated(21, imu[20].t_ns + 7500000); /* 1.5 intervals later: no gap */
    assert_int_equal(out.flags, 0);
    out = propagated(21, imu[20].t_ns + 60000000); /* q T^3 / 3 */
    assert_int_equal(out.flags, VFRONT_NAV_GAP);
    close_to(variance(&out, VF_NAV_W + 2), before + white * 0.16 + q * 0.06 * 0.06 * 0.06 / 3, 1e-9);
    out = propagated(21, imu[20].t_ns + 180000000); /* in two parts of at most 100 ms */
    close_to(variance(&out, VF_NAV_W + 2), before + white * 0.28 + q * 0.18 * 0.18 * 0.18 / 3, 1e-9);
    nav.t_ns = second - 60000000;
    out = propagated(21, VFRONT_IMU_LAST);
    assert_int_equal(out.flags, VFRONT_NAV_GAP);
    close_to(variance(&out, VF_NAV_W + 2), before + white * 0.16 + q * 0.06 * 0.06 * 0.06 / 3, 1e-9);
    nav.t_ns = second;
    for (int i = 10; i < 21; i++) imu[i].t_ns += 75000000; /* 80 ms between two samples: q T^3 / 12 */
    out = propagated(21, VFRONT_IMU_LAST);
    assert_int_equal(out.flags, VFRONT_NAV_GAP);
    const double walked = 1e-4 * (19 / 0.005 + 1 / 0.08) / 60;
    close_to(variance(&out, VF_NAV_W + 2), before + white * 0.175 + walked * 0.08 * 0.08 * 0.08 / 12, 1e-6);
    assert_int_equal(propagated(21, imu[9].t_ns).flags, 0); /* the gap is outside the propagated range */
    assert_int_equal(propagated(21, imu[9].t_ns + 1).flags, VFRONT_NAV_GAP);
    nav.flags = VFRONT_NAV_SATURATED; /* flags accumulate */
    assert_int_equal(propagated(21, imu[9].t_ns).flags, VFRONT_NAV_SATURATED);
    assert_int_equal(propagated(21, VFRONT_IMU_LAST).flags, VFRONT_NAV_SATURATED | VFRONT_NAV_GAP);
}

static void saturated(void **state)
{
    (void)state;
    valid_input();
    noise.gyro_limit_rad_s = 0.5; /* samples 5, 6, 7: 4 intervals, 20 ms */
    for (int i = 5; i < 8; i++) imu[i].gyro_rad_s[1] = i % 2 ? 0.5 : -0.5;
    const double white = 1.7e-3 * 1.7e-3 * 0.1, bias = 1e-6 * 0.01 + 2e-4 * 2e-4 * 1e-3 / 3;
    const vfront_nav_t gyro = propagated(21, VFRONT_IMU_LAST);
    assert_int_equal(gyro.flags, VFRONT_NAV_SATURATED);
    close_to(variance(&gyro, VF_NAV_W), 1e-4 + white + bias + 0.125 * 0.125 * 0.02 * 0.02, 1e-5);
    imu[5].gyro_rad_s[1] = imu[6].gyro_rad_s[1] = imu[7].gyro_rad_s[1] = 0.4999;
    const vfront_nav_t below = propagated(21, VFRONT_IMU_LAST);
    assert_int_equal(below.flags, 0);
    close_to(variance(&below, VF_NAV_W), 1e-4 + white + bias, 1e-5);
    valid_input();
    noise.accel_limit_m_s2 = 20;
    for (int i = 5; i < 8; i++) imu[i].accel_m_s2[0] = i % 2 ? 20 : -20;
    const vfront_nav_t accel = propagated(21, VFRONT_IMU_LAST);
    assert_int_equal(accel.flags, VFRONT_NAV_SATURATED);
    for (int i = 5; i < 8; i++) imu[i].accel_m_s2[0] = i % 2 ? 19.99 : -19.99;
    const vfront_nav_t less = propagated(21, VFRONT_IMU_LAST);
    assert_int_equal(less.flags, 0);
    close_to(variance(&accel, VF_NAV_V + 2) - variance(&less, VF_NAV_V + 2), 5.0 * 5.0 * 0.02 * 0.02, 1e-3);
    close_to(variance(&accel, VF_NAV_P + 2) - variance(&less, VF_NAV_P + 2), 5.0 * 5.0 * 0.02 * 0.02 * 0.07 * 0.07,
             1e-3);
    close_to(variance(&accel, VF_NAV_W), variance(&less, VF_NAV_W), 1e-12);
    assert_int_equal(propagated(21, imu[4].t_ns).flags, 0);
}

/* ---- motions in closed form -------------------------------------------------------------------------------------- */

/** Circle in level flight with any bank angle: constant samples. */
static void circle(void **state)
{
    (void)state;
    double worst = 0;
    shake(11);
    for (int run = 0; run < 20; run++) {
        const double r = real(1, 20), turn = real(-2, 2), bank = real(-1, 1), g = 9.81, t = real(0.1, 5);
        const double cb = cos(bank), sb = sin(bank), centre = -r * turn * turn; /* along y of the yawed axes: inward */
        noise = any_noise(200);
        nav = origin(second + 1000000);
        /* at (0, -r), heading x, centre along y; body: banked about its x axis */
        nav.position_m[1] = -r;
        nav.velocity_mps[0] = r * turn;
        nav.q_odom_imu[0] = cos(bank / 2), nav.q_odom_imu[1] = sin(bank / 2);
        const double begin = 0.001;
        const uint32_t n = (uint32_t)((t + begin) * 200) + 2;
        for (uint32_t i = 0; i < n; i++) {
            imu[i] = (vfront_imu_t){.t_ns = second + i * 5000000ull};
            imu[i].gyro_rad_s[1] = sb * turn, imu[i].gyro_rad_s[2] = cb * turn;
            imu[i].accel_m_s2[1] = -cb * centre + sb * g, imu[i].accel_m_s2[2] = sb * centre + cb * g;
        }
        const uint64_t to = nav.t_ns + (uint64_t)(t * 1e9);
        const double passed = (double)(to - nav.t_ns) * 1e-9, x = turn * passed;
        const vfront_nav_t out = propagated(n, to);
        raise_worst(&worst, out.position_m[0] - r * sin(x));
        raise_worst(&worst, out.position_m[1] + r * cos(x));
        raise_worst(&worst, out.position_m[2]);
        raise_worst(&worst, out.velocity_mps[0] - r * turn * cos(x));
        raise_worst(&worst, out.velocity_mps[1] - r * turn * sin(x));
        raise_worst(&worst, out.velocity_mps[2]);
        const double q[4] = {cos(x / 2) * cos(bank / 2), cos(x / 2) * sin(bank / 2), sin(x / 2) * sin(bank / 2),
                             sin(x / 2) * cos(bank / 2)};
        for (int k = 0; k < 4; k++) raise_worst(&worst, out.q_odom_imu[k] - q[k]);
        assert_true(out.t_ns == to && out.flags == 0 && out.protection == VFRONT_PROTECTION_NO_STATE);
    }
    print_message("circles: worst error %.2g\n", worst);
    assert_true(worst < 1e-8);
}

/** Samples of a swing: the error from linear interpolation falls with the square of the sample rate. */
static void swing(void **state)
{
    (void)state;
    double worst[3] = {0};
    for (int k = 0; k < 3; k++) {
        const double rate = 100 << k, w = 9, reach = 0.5, tilt = 0.4; /* x = reach sin wt; pitch = tilt sin wt */
        const uint32_t n = (uint32_t)rate + 1;
        noise = any_noise(rate);
        nav = origin(second);
        nav.velocity_mps[0] = reach * w;
        for (uint32_t i = 0; i < n; i++) {
            const double t = i / rate, pitch = tilt * sin(w * t), a = -reach * w * w * sin(w * t);
            imu[i] = (vfront_imu_t){.t_ns = second + (uint64_t)(t * 1e9 + 0.5)};
            imu[i].gyro_rad_s[1] = tilt * w * cos(w * t);
            imu[i].accel_m_s2[0] = cos(pitch) * a - sin(pitch) * 9.81;
            imu[i].accel_m_s2[2] = sin(pitch) * a + cos(pitch) * 9.81;
        }
        const vfront_nav_t out = propagated(n, VFRONT_IMU_LAST);
        raise_worst(&worst[k], out.position_m[0] - reach * sin(w));
        raise_worst(&worst[k], out.velocity_mps[0] - reach * w * cos(w));
        raise_worst(&worst[k], out.q_odom_imu[2] - sin(0.5 * tilt * sin(w)));
        raise_worst(&worst[k], out.position_m[2]);
    }
    print_message("swing: worst error at 100, 200, 400 Hz: %.2g %.2g %.2g\n", worst[0], worst[1], worst[2]);
    assert_true(worst[0] < 0.02 && worst[1] < worst[0] / 3.8 && worst[2] < worst[1] / 3.8);
}

/** Random motion with biases and gravity over seconds: compared with long-double integration. */
static void fine_steps(void **state)
{
    (void)state;
    double worst = 0;
    shake(12);
    for (int run = 0; run < 10; run++) {
        const uint32_t n = 600;
        any_samples(imu, n, 200, 3, 1, 3, 1);
        noise = any_noise(200);
        nav = origin(imu[0].t_ns + 1234567);
        wide b[6];
        for (int k = 0; k < 3; k++) {
            nav.position_m[k] = normal(), nav.velocity_mps[k] = normal();
            nav.gyro_bias_rad_s[k] = 0.1 * normal(), nav.accel_bias_m_s2[k] = normal();
            b[k] = nav.gyro_bias_rad_s[k], b[3 + k] = nav.accel_bias_m_s2[k];
        }
        for (int k = 0; k < 4; k++) nav.q_odom_imu[k] = normal();
        vf_quaternion_unit(nav.q_odom_imu);
        struct wide_motion truth;
        wide_matrix(nav.q_odom_imu, truth.y);
        for (int k = 0; k < 3; k++) truth.y[9 + k] = nav.velocity_mps[k], truth.y[12 + k] = nav.position_m[k];
        wide_integrate(&truth, imu, n, nav.t_ns, imu[n - 1].t_ns, b, 9.81L, 20);
        const vfront_nav_t out = propagated(n, VFRONT_IMU_LAST);
        double e[9];
        wide_errors(&truth, out.q_odom_imu, out.velocity_mps, out.position_m, e);
        for (int k = 0; k < 9; k++) raise_worst(&worst, e[k]);
    }
    print_message("3 s at 200 Hz: worst error %.2g\n", worst);
    assert_true(worst < 1e-6);
}

/* ---- parts, origins, headings ------------------------------------------------------------------------------------ */

/** Largest differences of two states: motion; covariance relative to standard deviations. */
static void differences(const vfront_nav_t *a, const vfront_nav_t *b, double worst[2])
{
    for (int k = 0; k < 3; k++) {
        raise_worst(&worst[0], a->position_m[k] - b->position_m[k]);
        raise_worst(&worst[0], a->velocity_mps[k] - b->velocity_mps[k]);
        assert_true(a->gyro_bias_rad_s[k] == b->gyro_bias_rad_s[k] && a->accel_bias_m_s2[k] == b->accel_bias_m_s2[k]);
    }
    for (int k = 0; k < 4; k++) raise_worst(&worst[0], a->q_odom_imu[k] - b->q_odom_imu[k]);
    for (int i = 0; i < 15; i++)
        for (int j = i; j < 15; j++)
            raise_worst(&worst[1], (a->covariance[vf_nav_index(i, j)] - b->covariance[vf_nav_index(i, j)]) /
                                       sqrt(variance(b, i) * variance(b, j)));
    assert_true(a->t_ns == b->t_ns && a->flags == b->flags);
}

/** 2 s at once, sample by sample, and in parts that end between samples: equal. */
static void parts(void **state)
{
    (void)state;
    double by_sample[2] = {0}, between_them[2] = {0};
    shake(13);
    for (int run = 0; run < 5; run++) {
        const uint32_t n = 401;
        any_samples(imu, n, 200, 3, 1, 3, 1);
        noise = any_noise(200);
        nav = origin(imu[0].t_ns);
        for (int k = 0; k < 3; k++) nav.gyro_bias_rad_s[k] = 0.05, nav.accel_bias_m_s2[k] = -0.3;
        const vfront_nav_t once = propagated(n, VFRONT_IMU_LAST);
        vfront_nav_t step = nav;
        for (uint32_t i = 1; i < n; i++)
            assert_int_equal(vfront_propagate(&step, &noise, imu + i - 1, 2, VFRONT_IMU_LAST, &step), VFRONT_OK);
        differences(&step, &once, by_sample);
        step = nav;
        for (uint64_t t = nav.t_ns + 33000000; t < once.t_ns; t += 33000000)
            assert_int_equal(vfront_propagate(&step, &noise, imu, n, t, &step), VFRONT_OK);
        assert_int_equal(vfront_propagate(&step, &noise, imu, n, VFRONT_IMU_LAST, &step), VFRONT_OK);
        differences(&step, &once, between_them);
    }
    print_message("sample by sample: motion %.2g, covariance %.2g; by 33 ms: %.2g, %.2g\n", by_sample[0], by_sample[1],
                  between_them[0], between_them[1]);
    assert_true(by_sample[0] < 1e-8 && by_sample[1] < 1e-4 && between_them[0] < 1e-7 && between_them[1] < 1e-4);
}

/** Shifted origin and rotated heading: the same motion there, with rotated errors. */
static void origins_and_headings(void **state)
{
    (void)state;
    double worst[2] = {0};
    shake(14);
    for (int run = 0; run < 10; run++) {
        const uint32_t n = 201;
        any_samples(imu, n, 200, 3, 1, 3, 1);
        noise = any_noise(200);
        nav = origin(imu[0].t_ns);
        for (int k = 0; k < 3; k++) nav.position_m[k] = normal(), nav.velocity_mps[k] = 3 * normal();
        const vfront_nav_t here = propagated(n, VFRONT_IMU_LAST);
        const double yaw = real(-3, 3), c = cos(yaw), s = sin(yaw), away[3] = {100, -200, 30};
        const double Z[9] = {c, -s, 0, s, c, 0, 0, 0, 1}, turn[4] = {cos(yaw / 2), 0, 0, sin(yaw / 2)};
        rotate(Z, nav.position_m, nav.position_m);
        rotate(Z, nav.velocity_mps, nav.velocity_mps);
        for (int k = 0; k < 3; k++) nav.position_m[k] += away[k];
        vf_quaternion_multiply(turn, nav.q_odom_imu, nav.q_odom_imu); /* the covariance at the start is isotropic */
        const vfront_nav_t there = propagated(n, VFRONT_IMU_LAST);
        vfront_nav_t turned = here;
        rotate(Z, here.position_m, turned.position_m);
        rotate(Z, here.velocity_mps, turned.velocity_mps);
        for (int k = 0; k < 3; k++) turned.position_m[k] += away[k];
        vf_quaternion_multiply(turn, here.q_odom_imu, turned.q_odom_imu);
        double T[225] = {0};
        for (int i = 0; i < 15; i++) T[16 * i] = 1;
        for (int b = 0; b < 9; b += 3)
            for (int k = 0; k < 9; k++) T[(b + k / 3) * 15 + b + k % 3] = Z[k];
        for (int i = 0; i < 15; i++)
            for (int j = i; j < 15; j++) {
                double sum = 0;
                for (int k = 0; k < 15; k++)
                    for (int l = 0; l < 15; l++)
                        sum += T[15 * i + k] * T[15 * j + l] *
                               here.covariance[vf_nav_index(k < l ? k : l, k < l ? l : k)];
                turned.covariance[vf_nav_index(i, j)] = sum;
            }
        differences(&there, &turned, worst);
    }
    print_message("another origin and heading: motion %.2g, covariance %.2g\n", worst[0], worst[1]);
    assert_true(worst[0] < 1e-12 && worst[1] < 1e-12);
}

/** Zero duration changes nothing. 10 s stationary without noise keep the pose, and the covariance has its closed
 *  form. */
static void stationary(void **state)
{
    (void)state;
    valid_input();
    for (int i = 0; i < 120; i++) nav.covariance[i] += 1e-6 * i;
    const vfront_nav_t same = propagated(21, second);
    assert_memory_equal(&same, &nav, sizeof nav);
    stationary_samples(2001, 200);
    nav = origin(second);
    noise.gyro_density = noise.accel_density = noise.gyro_walk = noise.accel_walk = 0;
    const vfront_nav_t out = propagated(2001, VFRONT_IMU_LAST);
    for (int k = 0; k < 3; k++) assert_true(fabs(out.position_m[k]) < 1e-10 && fabs(out.velocity_mps[k]) < 1e-10);
    const double t = 10, g = 9.81, tilt = 1e-4, bg = 1e-6, ba = 4e-4;
    close_to(variance(&out, VF_NAV_W), tilt + bg * t * t, 1e-9);
    close_to(variance(&out, VF_NAV_V), 0.01 + g * g * (tilt * t * t + bg * t * t * t * t / 4) + ba * t * t, 1e-9);
    close_to(variance(&out, VF_NAV_V + 2), 0.01 + ba * t * t, 1e-9);
    close_to(variance(&out, VF_NAV_P + 2), 0.01 + 0.01 * t * t + ba * t * t * t * t / 4, 1e-9);
    /* nose down for w_y > 0: gravity then appears as force along +x */
    close_to(out.covariance[vf_nav_index(VF_NAV_W + 1, VF_NAV_V)], g * (tilt * t + bg * t * t * t / 2), 1e-9);
    assert_true(variance(&out, VF_NAV_GYRO) == 1e-6 && out.covariance[vf_nav_index(VF_NAV_W, VF_NAV_V)] == 0);
}

/** Cancelling errors: velocity and position so correlated that the position 0.1 s later is exact up to rounding. No
 *  variance becomes negative, and a covariance that is not positive semidefinite is rejected. */
static void cancelling(void **state)
{
    (void)state;
    valid_input();
    noise.gyro_density = noise.accel_density = noise.gyro_walk = noise.accel_walk = 0;
    double least = 1;
    for (int run = 0; run < 200; run++) {
        memset(nav.covariance, 0, sizeof nav.covariance);
        const double v = 1 + 0.01 * run;
        nav.covariance[vf_nav_index(VF_NAV_P, VF_NAV_P)] = v * 0.1 * 0.1;
        nav.covariance[vf_nav_index(VF_NAV_V, VF_NAV_V)] = v;
        nav.covariance[vf_nav_index(VF_NAV_P, VF_NAV_V)] = -v * 0.1;
        const vfront_nav_t out = propagated(21, VFRONT_IMU_LAST);
        least = fmin(least, variance(&out, VF_NAV_P));
        assert_true(variance(&out, VF_NAV_P) >= 0 && variance(&out, VF_NAV_P) < 1e-15);
        const vfront_nav_t before = nav;
        nav = out; /* the rounding residue is propagated again */
        assert_int_equal(call(21, nav.t_ns), VFRONT_OK);
        nav = before;
        nav.covariance[vf_nav_index(VF_NAV_P, VF_NAV_V)] = -v * 0.11; /* a correlation of 1.1 */
        assert_int_equal(call(21, VFRONT_IMU_LAST), VFRONT_E_NAV);
    }
    assert_true(least == 0);
}

/* ---- random input ------------------------------------------------------------------------------------------------ */

/** Random input: a named status, and a finite state with variances of at least 0. */
static void any_input(void **state)
{
    (void)state;
    unsigned count[26] = {0};
    shake(15);
    for (int run = 0; run < 40000; run++) {
        const uint32_t n = (uint32_t)(roll64() % 40);
        const double rate = pow(10, real(0.9, 4.4));
        valid_input();
        noise.rate_hz = rate;
        for (uint32_t i = 0; i < n; i++) {
            imu[i].t_ns = second + (uint64_t)(i * 1e9 / rate * (roll64() % 50 ? 1 : real(0, 3)));
            for (int k = 0; k < 3; k++) imu[i].gyro_rad_s[k] = real(-1, 1) * pow(10, real(-3, 2));
            for (int k = 0; k < 3; k++) imu[i].accel_m_s2[k] = real(-1, 1) * pow(10, real(-3, 3));
        }
        nav.t_ns = second + (uint64_t)real(-1e8, 4e7);
        unsigned char *part[3] = {(unsigned char *)&nav, (unsigned char *)&noise, (unsigned char *)imu};
        const size_t bytes[3] = {sizeof nav, sizeof noise, n * sizeof *imu};
        for (uint64_t flips = roll64() % 4; flips; flips--) { /* random bit flips in the input */
            const uint64_t which = roll64() % 3;
            if (bytes[which]) part[which][roll64() % bytes[which]] ^= (unsigned char)(1u << roll64() % 8);
        }
        const vfront_status_t status = call(n, roll64() % 2 ? VFRONT_IMU_LAST : nav.t_ns + (uint64_t)real(0, 1e8));
        REQUIRE(status <= 0 && -status < 26 && strcmp(vfront_status_name(status), "unknown status"), "status %d\n",
                status);
        count[-status]++;
        if (status) continue;
        for (int i = 0; i < 15; i++) assert_true(variance(&called, i) >= 0);
        for (int i = 0; i < 120; i++) assert_true(isfinite(called.covariance[i]));
        for (int k = 0; k < 3; k++) assert_true(isfinite(called.position_m[k]) && isfinite(called.velocity_mps[k]));
        const double *q = called.q_odom_imu, square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
        assert_true(fabs(square - 1) < 1e-12);
    }
    print_message("good %u, calibration %u, state %u, samples %u, time %u\n", count[0], count[-VFRONT_E_CALIBRATION],
                  count[-VFRONT_E_NAV], count[-VFRONT_E_IMU], count[-VFRONT_E_TIME]);
    assert_true(count[0] > 10000 && count[-VFRONT_E_CALIBRATION] > 100 && count[-VFRONT_E_NAV] > 100 &&
                count[-VFRONT_E_IMU] > 1000 && count[-VFRONT_E_TIME] > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_arguments), cmocka_unit_test(bad_noise),
        cmocka_unit_test(bad_state),      cmocka_unit_test(bad_correlations),
        cmocka_unit_test(bad_triple),     cmocka_unit_test(bad_samples),
        cmocka_unit_test(bad_times),      cmocka_unit_test(gaps),
        cmocka_unit_test(missing),        cmocka_unit_test(saturated),
        cmocka_unit_test(circle),         cmocka_unit_test(swing),
        cmocka_unit_test(fine_steps),     cmocka_unit_test(parts),
        cmocka_unit_test(stationary),     cmocka_unit_test(origins_and_headings),
        cmocka_unit_test(cancelling),     cmocka_unit_test(any_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
