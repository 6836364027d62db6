/* SPDX-License-Identifier: MIT */
/* Covariance of vfront_propagate() against actual errors: simulated IMUs with noise, random-walk biases and an initial
 * error drawn from the covariance, at several rates and noise levels, also with missing samples. The truth is
 * integrated in long double from noise-free samples. */
#include "imu_oracle.h"

#include "imu/propagate.h"

enum { RUNS = 200, MAX_SAMPLES = 4096 };

static vfront_imu_t truth_imu[MAX_SAMPLES], imu[MAX_SAMPLES];

/** Bounds of the mean of n squared normalised errors of dimension d, by a normal distribution: 1.96 sigmas hold 95 %,
 *  3.3 hold 99.9 %. */
static void bounds(int d, int n, double sigmas, double *low, double *high)
{
    *low = d - sigmas * sqrt(2.0 * d / n);
    *high = d + sigmas * sqrt(2.0 * d / n);
}

/** Flight: sample rate, duration, IMU noise relative to any_noise(), missing samples, initial error. */
struct flight {
    const char *name;
    double rate_hz, seconds, white, walk;
    int drop;     /* consecutive samples missing of each 100; 0: none */
    double start; /* initial standard deviations relative to 0.1 m, 0.01 rad, 0.1 m/s, 0.001 rad/s, 0.02 m/s^2 */
};

static vfront_nav_t any_state(const struct flight *f, uint64_t t_ns)
{
    static const double sigma[5] = {0.1, 0.01, 0.1, 0.001, 0.02};
    vfront_nav_t nav = {.t_ns = t_ns};
    for (int k = 0; k < 4; k++) nav.q_odom_imu[k] = normal();
    vf_quaternion_unit(nav.q_odom_imu);
    for (int k = 0; k < 3; k++) {
        nav.velocity_mps[k] = normal();
        nav.gyro_bias_rad_s[k] = 0.02 * normal();
        nav.accel_bias_m_s2[k] = 0.2 * normal();
    }
    for (int i = 0; i < 15; i++) nav.covariance[vf_nav_index(i, i)] = f->start * f->start * sigma[i / 3] * sigma[i / 3];
    return nav;
}

/** Draws the error true - estimated of the initial state and applies it. The attitude is rotated by exp([-w]). */
static void perturb(vfront_nav_t *nav)
{
    double e[15], R[9];
    for (int i = 0; i < 15; i++) e[i] = sqrt(nav->covariance[vf_nav_index(i, i)]) * normal();
    const double w[3] = {-e[3], -e[4], -e[5]};
    rotation_of(w, R);
    const double angle = length(w), part = angle > 0 ? sin(angle / 2) / angle : 0.5;
    const double q[4] = {cos(angle / 2), part * w[0], part * w[1], part * w[2]};
    vf_quaternion_multiply(q, nav->q_odom_imu, nav->q_odom_imu);
    for (int k = 0; k < 3; k++) {
        nav->position_m[k] -= e[k];
        nav->velocity_mps[k] -= e[6 + k];
        nav->gyro_bias_rad_s[k] -= e[9 + k];
        nav->accel_bias_m_s2[k] -= e[12 + k];
    }
}

/** Samples with noise and random-walk biases that end at b; `drop` samples in the middle of each 100 are left out.
 *  Returns their number. */
static uint32_t measure(const struct flight *f, const vfront_imu_noise_t *noise, uint32_t n, double b[6])
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        for (int c = 0; c < 6 && i; c++)
            b[c] += (c < 3 ? noise->gyro_walk : noise->accel_walk) / sqrt(f->rate_hz) * normal();
        if (i % 100 >= 50 && i % 100 < 50 + (uint32_t)f->drop) continue;
        imu[kept] = truth_imu[i];
        for (int c = 0; c < 3; c++) {
            imu[kept].gyro_rad_s[c] += b[c] + noise->gyro_density * sqrt(f->rate_hz) * normal();
            imu[kept].accel_m_s2[c] += b[3 + c] + noise->accel_density * sqrt(f->rate_hz) * normal();
        }
        kept++;
    }
    return kept;
}

/** Squared normalised errors: all 15, position, attitude, velocity, gyro bias, accelerometer bias. */
static void squares(const vfront_nav_t *nav, const double e[15], double sum[6])
{
    double P[225], block[9];
    for (int i = 0; i < 225; i++) {
        const int r = i / 15, c = i % 15;
        P[i] = nav->covariance[vf_nav_index(r < c ? r : c, r < c ? c : r)];
    }
    sum[0] += chi_squared(P, e, 15);
    for (int b = 0; b < 5; b++) {
        for (int k = 0; k < 9; k++) block[k] = P[(3 * b + k / 3) * 15 + 3 * b + k % 3];
        sum[1 + b] += chi_squared(block, e + 3 * b, 3);
    }
}

/** Mean squared normalised errors over RUNS flights with different motions. */
static void fly(const struct flight *f, double mean[6])
{
    const uint32_t n = (uint32_t)(f->seconds * f->rate_hz) + 1;
    vfront_imu_noise_t noise = any_noise(f->rate_hz);
    noise.gyro_density *= f->white, noise.accel_density *= f->white;
    noise.gyro_walk *= f->walk, noise.accel_walk *= f->walk;
    memset(mean, 0, 6 * sizeof *mean);
    for (int run = 0; run < RUNS; run++) {
        const wide none[6] = {0};
        any_samples(truth_imu, n, f->rate_hz, 3, 1, 3, 0);
        const vfront_nav_t start = any_state(f, truth_imu[0].t_ns);
        struct wide_motion truth;
        wide_matrix(start.q_odom_imu, truth.y);
        for (int k = 0; k < 3; k++) truth.y[9 + k] = start.velocity_mps[k], truth.y[12 + k] = start.position_m[k];
        wide_integrate(&truth, truth_imu, n, start.t_ns, truth_imu[n - 1].t_ns, none, 9.81L, 1);
        double b[6], e[15];
        for (int c = 0; c < 6; c++) b[c] = c < 3 ? start.gyro_bias_rad_s[c] : start.accel_bias_m_s2[c - 3];
        const uint32_t kept = measure(f, &noise, n, b);
        vfront_nav_t nav = start;
        perturb(&nav);
        assert_int_equal(vfront_propagate(&nav, &noise, imu, kept, truth_imu[n - 1].t_ns, &nav), VFRONT_OK);
        assert_int_equal(nav.flags, f->drop ? VFRONT_NAV_GAP : 0);
        double wvp[9];
        wide_errors(&truth, nav.q_odom_imu, nav.velocity_mps, nav.position_m, wvp);
        for (int k = 0; k < 3; k++) {
            e[k] = wvp[6 + k], e[3 + k] = wvp[k], e[6 + k] = wvp[3 + k];
            e[9 + k] = b[k] - nav.gyro_bias_rad_s[k];
            e[12 + k] = b[3 + k] - nav.accel_bias_m_s2[k];
        }
        squares(&nav, e, mean);
    }
    for (int i = 0; i < 6; i++) mean[i] /= RUNS;
}

static void print_result(const struct flight *f, const double mean[6])
{
    print_message("%-32s all %.2f of 15; position %.2f, attitude %.2f, velocity %.2f, biases %.2f %.2f of 3\n", f->name,
                  mean[0], mean[1], mean[2], mean[3], mean[4], mean[5]);
}

static void within(const char *name, double mean, int d, int n, double sigmas)
{
    double low, high;
    bounds(d, n, sigmas, &low, &high);
    REQUIRE(mean >= low && mean <= high, "%s: %.2f, not in %.2f..%.2f\n", name, mean, low, high);
}

/** All flights together stay within the two-sided 95 % bounds; each flight, for all 15 errors and each three, within
 *  99.9 %. */
static void covariances(void **state)
{
    (void)state;
    static const struct flight flight[] = {
        {"100 Hz, 2 s", 100, 2, 1, 1, 0, 1},
        {"200 Hz, 0.5 s", 200, 0.5, 1, 1, 0, 1},
        {"200 Hz, 5 s, start / 2", 200, 5, 1, 1, 0, 0.5},
        {"200 Hz, 2 s, noise x 10", 200, 2, 10, 1, 0, 1},
        {"200 Hz, 2 s, noise / 10, start / 100", 200, 2, 0.1, 0.1, 0, 0.01},
        {"200 Hz, 5 s, walks x 20", 200, 5, 1, 20, 0, 1},
        {"1000 Hz, 1 s", 1000, 1, 1, 1, 0, 1},
        {"1000 Hz, 1 s, noise x 10, walks x 20", 1000, 1, 10, 20, 0, 0.1},
    };
    enum { FLIGHTS = sizeof flight / sizeof *flight };
    double together[6] = {0};
    shake(21);
    for (int i = 0; i < FLIGHTS; i++) {
        double mean[6];
        fly(&flight[i], mean);
        print_result(&flight[i], mean);
        for (int b = 0; b < 6; b++) {
            within(flight[i].name, mean[b], b ? 3 : 15, RUNS, 3.3);
            together[b] += mean[b] / FLIGHTS;
        }
    }
    const struct flight all = {.name = "together"};
    print_result(&all, together);
    for (int b = 0; b < 6; b++) within(all.name, together[b], b ? 3 : 15, FLIGHTS * RUNS, 1.96);
}

/** Samples missing for 25 to 100 ms of each 0.5 s, motion up to 3 Hz: the mean squared normalised error is between 1/10
 *  of nominal and nominal. */
static void missing(void **state)
{
    (void)state;
    static const struct flight flight[] = {
        {"200 Hz, 4 of 100 missing", 200, 2, 1, 1, 4, 1},
        {"200 Hz, 9 of 100 missing", 200, 2, 1, 1, 9, 1},
        {"200 Hz, 19 of 100 missing", 200, 2, 1, 1, 19, 1},
    };
    shake(22);
    for (size_t i = 0; i < sizeof flight / sizeof *flight; i++) {
        double mean[6];
        fly(&flight[i], mean);
        print_result(&flight[i], mean);
        REQUIRE(mean[0] > 1.5 && mean[0] < 20, "%s: %.2f of 15\n", flight[i].name, mean[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(covariances), cmocka_unit_test(missing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
