/* SPDX-License-Identifier: MIT */
/* Preintegrals and states extrapolated beyond the last sample: covariance against actual errors. The rig rotates and
 * accelerates in sines that the samples resolve well up to a frame; for two more frames the estimator gets only the
 * last sample. The truth is integrated in long double from noise-free samples. Motions without any sample. */
#include "tests/imu/imu_oracle.h"

#include "imu/propagate.h"
#include "vio/imu_interval.h"
#include "vio/vision_only.h"

enum {
    FLIGHTS = 400,
    SAMPLES = 260,
    BEFORE = 4,
    HZ = 200,
    FRAME_NS = 50000000,
    BEGIN = 1000000000,
    FRAMES = 21,
    HELD = 2
};

static const vfront_imu_noise_t noise = {.gyro_density = 2e-4,
                                         .accel_density = 2e-3,
                                         .gyro_walk = 1e-5,
                                         .accel_walk = 1e-3,
                                         .rate_hz = HZ,
                                         .gyro_limit_rad_s = 35,
                                         .accel_limit_m_s2 = 150,
                                         .gravity_m_s2 = 9.81};
static vfront_imu_t truth[SAMPLES], imu[SAMPLES];

/** Samples of a flight: one sine per axis, with and without noise. */
static void draw(double rate, double acceleration)
{
    double size[6], hz[6], phase[6];
    for (int c = 0; c < 6; c++) {
        size[c] = c < 3 ? rate : acceleration;
        hz[c] = 0.3 + 1.2 * roll(1000) / 1000.0;
        phase[c] = 6.283185 * roll(1000) / 1000.0;
    }
    for (int i = 0; i < SAMPLES; i++) {
        const double t = (double)i / HZ, root = sqrt(HZ);
        truth[i] = imu[i] = (vfront_imu_t){.t_ns = BEGIN + (uint64_t)(i - BEFORE) * (1000000000u / HZ)};
        for (int c = 0; c < 6; c++) {
            const double value = size[c] * sin(6.283185307 * hz[c] * t + phase[c]);
            *(c < 3 ? &truth[i].gyro_rad_s[c] : &truth[i].accel_m_s2[c - 3]) = (float)value;
            *(c < 3 ? &imu[i].gyro_rad_s[c] : &imu[i].accel_m_s2[c - 3]) =
                (float)(value + (c < 3 ? noise.gyro_density : noise.accel_density) * root * normal());
        }
    }
}

/** Adds squared normalised errors of rotation q and velocity v from from_ns to to_ns, three axes each. gravity:
 *  included in v, along -z at the start. */
static void squares(const double q[4], const double v[3], const double variance[2][3], uint64_t from_ns, uint64_t to_ns,
                    double gravity, double sum[2])
{
    struct wide_motion expected = wide_start();
    const wide none[6] = {0};
    wide R[9], w[3];
    wide_integrate(&expected, truth, SAMPLES, from_ns, to_ns, none, gravity, 4);
    wide_matrix(q, R);
    wide_between(expected.y, R, w);
    for (int k = 0; k < 3; k++) {
        const double off = (double)expected.y[9 + k] - v[k];
        sum[0] += (double)(w[k] * w[k]) / variance[0][k];
        sum[1] += off * off / variance[1][k];
    }
}

/** Squared normalised errors of a preintegral. */
static void squares_of(const struct vf_preintegral *m, uint64_t from_ns, uint64_t to_ns, double sum[2])
{
    double variance[2][3];
    for (int k = 0; k < 3; k++) {
        variance[0][k] = m->P[10 * (VF_ROW_W + k)];
        variance[1][k] = m->P[10 * (VF_ROW_V + k)];
    }
    squares(m->q, m->v, (const double(*)[3])variance, from_ns, to_ns, 0.0, sum);
}

/** Mean squared errors beyond the last sample, in the first and the second frame: 0.4 to 2 times the stated variance.
 *  The range is wide because the error of a sine grows with time, not with its square root. */
static void after_last_sample(void **state)
{
    (void)state;
    double sum[HELD][2];
    memset(sum, 0, sizeof sum);
    shake(41);
    for (int run = 0; run < FLIGHTS; run++) {
        struct vf_vio_carried c = {.t_ns = BEGIN};
        const uint32_t last = BEFORE + (FRAMES - HELD) * (FRAME_NS / 1000000) * HZ / 1000;
        draw(0.1 + 3.0 * roll(1000) / 1000.0, 0.3 + 6.0 * roll(1000) / 1000.0);
        for (int frame = 1; frame <= FRAMES; frame++) {
            struct vf_vio_imu_interval m;
            const int extrapolated = frame - (FRAMES - HELD);
            const uint64_t t_ns = BEGIN + (uint64_t)frame * FRAME_NS;
            const uint32_t first = BEFORE + (uint32_t)(frame - 1) * (FRAME_NS / 1000000) * HZ / 1000;
            const uint32_t from = extrapolated > 0 ? last : first,
                           until = extrapolated > 0 ? last + 1 : first + FRAME_NS / 1000000 * HZ / 1000 + 1;
            vf_vio_imu_interval_of(&m, &c, &noise, NULL, imu + from, until - from, t_ns);
            assert_true(!(m.motion.flags & VFRONT_NAV_GAP) == (extrapolated <= 0));
            if (extrapolated > 0) squares_of(&m.motion, t_ns - FRAME_NS, t_ns, sum[extrapolated - 1]);
            c.t_ns = t_ns;
        }
    }
    for (int extrapolated = 0; extrapolated < HELD; extrapolated++)
        for (int of = 0; of < 2; of++) {
            const double mean = sum[extrapolated][of] / (3.0 * FLIGHTS);
            print_message("frame %d after the last sample, %s: %.2f of the stated variance\n", extrapolated + 1,
                          of ? "velocity" : "rotation", mean);
            assert_true(mean > 0.4 && mean < 2.0);
        }
}

/** Mean squared errors of vfront_propagate() over 50 ms after 0.1 s of samples: 0.4 to 2 times the stated variance. */
static void after_few_samples(void **state)
{
    (void)state;
    enum { FEW = HZ / 10 + 1 };
    double sum[2] = {0};
    shake(42);
    for (int run = 0; run < FLIGHTS; run++) {
        draw(0.1 + 3.0 * roll(1000) / 1000.0, 0.3 + 6.0 * roll(1000) / 1000.0);
        const vfront_nav_t last = {.t_ns = imu[FEW - 1].t_ns, .q_odom_imu = {1, 0, 0, 0}};
        vfront_nav_t now;
        double variance[2][3];
        assert_int_equal(vfront_propagate(&last, &noise, imu, FEW, last.t_ns + FRAME_NS, &now), VFRONT_OK);
        assert_true(now.flags & VFRONT_NAV_GAP);
        for (int k = 0; k < 6; k++) variance[k / 3][k % 3] = now.covariance[vf_nav_index(3 + k, 3 + k)];
        squares(now.q_odom_imu, now.velocity_mps, (const double(*)[3])variance, last.t_ns, now.t_ns, noise.gravity_m_s2,
                sum);
    }
    for (int of = 0; of < 2; of++) {
        const double mean = sum[of] / (3.0 * FLIGHTS);
        print_message("after few samples, %s: %.2f of the stated variance\n", of ? "velocity" : "rotation", mean);
        assert_true(mean > 0.4 && mean < 2.0);
    }
}

/** Motions without samples, over 10 to 640 ms: rotation by the last rate if that is below 1 rad, else none; a force
 *  that cancels gravity in the last attitude. */
static void without_samples(void **state)
{
    (void)state;
    int turned = 0;
    shake(43);
    for (int run = 0; run < FLIGHTS; run++) {
        const double late_s = 1e-3 * between(-20, 20), own_s = 1e-3 * between(-20, 20);
        const uint64_t t_ns = BEGIN + 1000000u * (uint64_t)between(50, 600);
        const struct vf_vio_carried c = {
            .t_ns = BEGIN, .offset_s = late_s, .own_offset_s = own_s, .bias = {0.1, 0.2, 0.3, 1, 2, 3}};
        const double dt = 1e-9 * (double)(t_ns - BEGIN) + late_s - own_s, size = 4.0 * roll(1000) / 1000.0;
        struct vf_vio_imu_interval m;
        double q[4], rate[3], square = 0.0;
        wide R[9], w[3];
        for (int k = 0; k < 4; k++) q[k] = normal();
        vf_quaternion_unit(q);
        for (int k = 0; k < 3; k++) rate[k] = size * normal(), square += rate[k] * rate[k];
        const int turns = sqrt(square) * dt < 1.0;
        vf_vio_vision_only_interval(&m, &c, &noise, q, rate, t_ns);
        assert_true(m.t_ns == t_ns && m.motion.flags == VFRONT_NAV_GAP && fabs(m.motion.dt_s - dt) < 1e-12);
        assert_memory_equal(m.bias, c.bias, sizeof m.bias);
        const struct wide_motion none = wide_start();
        wide_matrix(m.motion.q, R);
        wide_between(R, none.y, w);
        wide_matrix(q, R);
        for (int k = 0; k < 3; k++) {
            const double up = k == 2 ? noise.gravity_m_s2 : 0.0;
            wide v = 0, p = 0;
            for (int i = 0; i < 3; i++) v += R[3 * k + i] * m.motion.v[i], p += R[3 * k + i] * m.motion.p[i];
            assert_true(m.rate[k] == rate[k] && m.before[k] == rate[k]);
            REQUIRE(fabsl(w[k] - (turns ? rate[k] * dt : 0.0)) < 1e-9L, "run %d: rotation of %g rad off by %Lg", run,
                    sqrt(square) * dt, w[k] - rate[k] * dt);
            assert_true(fabsl(v - up * dt) < 1e-12L && fabsl(p - 0.5 * up * dt * dt) < 1e-12L);
        }
        turned += turns;
    }
    assert_true(turned > 50 && turned < FLIGHTS - 50);
}

/** A frame's interval of a rig that turns at `rate`: samples with noise of that deviation; the first one is the last of
 *  the frame before. noise_sum: out, what the noise adds to the rotation [samples]. */
enum { STEP = FRAME_NS / (1000000000 / HZ) };
static void next_samples(vfront_imu_t piece[STEP + 1], const double rate[3], double sigma, double noise_sum[3])
{
    piece[0] = piece[STEP];
    for (int i = 1; i <= STEP; i++) {
        piece[i].t_ns = piece[0].t_ns + (uint64_t)i * (1000000000u / HZ);
        for (int k = 0; k < 3; k++) piece[i].gyro_rad_s[k] = rate[k] + sigma * normal();
    }
    for (int k = 0; k < 3; k++) {
        noise_sum[k] = 0.0;
        for (int i = 0; i <= STEP; i++) noise_sum[k] += (i % STEP ? 1.0 : 0.5) * (piece[i].gyro_rad_s[k] - rate[k]);
    }
}

/** Rates at frames by noisy samples: less than a third of a sample's variance. Their changes hardly correlate with the
 *  noise in the rotation between the frames, or that would look like a time offset; by samples up to the frame alone
 *  they do, with 0.49. */
static void rate_of_noisy_samples(void **state)
{
    (void)state;
    enum { LONG = 4000, BEGUN = 200, N = 3 * (LONG - BEGUN - 1) };
    static double at[LONG][3], sum[LONG][3];
    static const double rate[3] = {0.0, 0.4, -0.8};
    vfront_imu_noise_t noisy = noise;
    noisy.gyro_density = 0.01;
    const double sigma = noisy.gyro_density * sqrt(HZ);
    struct vf_vio_carried c = {.t_ns = BEGIN};
    vfront_imu_t piece[STEP + 1] = {[STEP] = {.t_ns = BEGIN, .gyro_rad_s = {0.0, 0.4, -0.8}}};
    double error = 0.0, product = 0.0, change_square = 0.0, sum_square = 0.0;
    shake(44);
    for (int frame = 0; frame < LONG; frame++) {
        struct vf_vio_imu_interval m;
        next_samples(piece, rate, sigma, sum[frame]);
        vf_vio_imu_interval_of(&m, &c, &noisy, NULL, piece, STEP + 1, piece[STEP].t_ns);
        c.t_ns = piece[STEP].t_ns;
        memcpy(at[frame], m.before, sizeof m.before);
    }
    for (int i = 0; i < N; i++) {
        const int frame = BEGUN + i / 3, k = i % 3;
        const double change = at[frame + 1][k] - at[frame][k];
        error += (at[frame][k] - rate[k]) * (at[frame][k] - rate[k]) / N;
        product += change * sum[frame][k];
        change_square += change * change;
        sum_square += sum[frame][k] * sum[frame][k];
    }
    const double correlation = product / sqrt(change_square * sum_square);
    print_message("rate at a frame: %.3f of a sample's variance; changes beside the noise between frames: %.4f\n",
                  error / (sigma * sigma), correlation);
    assert_true(error < sigma * sigma / 3.0);
    assert_true(fabs(correlation) < 0.15);
}

/** Without noise the rate at a frame is its sample's. */
static void rate_of_exact_samples(void **state)
{
    (void)state;
    vfront_imu_noise_t exact = noise;
    exact.gyro_density = 0.0;
    struct vf_vio_carried c = {.t_ns = BEGIN};
    vfront_imu_t piece[STEP + 1] = {[STEP] = {.t_ns = BEGIN}};
    shake(45);
    for (int frame = 0; frame < 100; frame++) {
        struct vf_vio_imu_interval m;
        double sum[3], rate[3];
        for (int k = 0; k < 3; k++) rate[k] = normal();
        next_samples(piece, rate, 0.0, sum);
        vf_vio_imu_interval_of(&m, &c, &exact, NULL, piece, STEP + 1, piece[STEP].t_ns);
        c.t_ns = piece[STEP].t_ns;
        for (int k = 0; k < 3; k++)
            assert_true(m.before[k] == piece[0].gyro_rad_s[k] && m.rate[k] == piece[STEP].gyro_rad_s[k]);
    }
}

/** A rig that swings, with noise and with a tone of a rotor: the rate at a frame is nearer the truth than its sample,
 *  and never a mean of the flight. */
static void rate_of_a_turn(void **state)
{
    (void)state;
    enum { LONG = 1200, BEGUN = 100 };
    static const double noise_rad_s[][2] = {{0.09, 0.0}, {0.27, 0.0}, {0.0, 0.03}, {0.0, 0.09}}; /* white; of a tone */
    shake(46);
    for (size_t kind = 0; kind < sizeof noise_rad_s / sizeof *noise_rad_s; kind++)
        for (double hz = 33.7; hz < 95.0; hz += 13.4) {
            const double white = noise_rad_s[kind][0], tone = noise_rad_s[kind][1] * sqrt(2.0), turn = 0.9;
            vfront_imu_noise_t noisy = noise;
            struct vf_vio_carried c = {.t_ns = BEGIN};
            vfront_imu_t piece[STEP + 1] = {[STEP] = {.t_ns = BEGIN}};
            double at = 0.0, square[2] = {0.0, 0.0};
            noisy.gyro_density = 1e-3;
            for (int frame = 0; frame < LONG; frame++) {
                struct vf_vio_imu_interval m;
                const double true_rate = turn * sin(6.2831853 * 0.3 * at);
                piece[0] = piece[STEP];
                const double sampled = piece[0].gyro_rad_s[0];
                for (int i = 1; i <= STEP; i++) {
                    at += 1.0 / HZ;
                    piece[i].t_ns = piece[0].t_ns + (uint64_t)i * (1000000000u / HZ);
                    piece[i].gyro_rad_s[0] = turn * sin(6.2831853 * 0.3 * at) + white * normal() +
                                             tone * sin(6.2831853 * hz * at + 1.0);
                }
                vf_vio_imu_interval_of(&m, &c, &noisy, NULL, piece, STEP + 1, piece[STEP].t_ns);
                c.t_ns = piece[STEP].t_ns;
                if (frame < BEGUN) continue;
                square[0] += (m.before[0] - true_rate) * (m.before[0] - true_rate);
                square[1] += (sampled - true_rate) * (sampled - true_rate);
            }
            REQUIRE(square[0] < square[1], "white %g, tone %g rad/s of %g Hz: rate off by %g rad/s, sample by %g",
                    white, tone, hz, sqrt(square[0] / (LONG - BEGUN)), sqrt(square[1] / (LONG - BEGUN)));
        }
}

/** After a time without samples, and on a clock that is set back, the rate begins anew with the frame's sample; with
 *  one sample alone it is that. */
static void rate_after_a_gap(void **state)
{
    (void)state;
    vfront_imu_noise_t noisy = noise;
    struct vf_vio_carried c = {.t_ns = BEGIN};
    struct vf_vio_imu_interval m;
    noisy.gyro_density = 0.01;
    for (int part = 0; part < 4; part++) {
        const uint64_t from_ns = BEGIN + (uint64_t)(part == 1   ? 2000
                                                    : part == 2 ? 100
                                                    : part == 3 ? 5000
                                                                : 0) *
                                             1000000u;
        vfront_imu_t piece[STEP + 1];
        memset(piece, 0, sizeof piece);
        for (int i = 0; i <= STEP; i++) {
            piece[i].t_ns = from_ns + (uint64_t)i * (1000000000u / HZ);
            for (int k = 0; k < 3; k++) piece[i].gyro_rad_s[k] = part + 0.1 * k;
        }
        c.t_ns = from_ns;
        const int alone = part == 3;
        vf_vio_imu_interval_of(&m, &c, &noisy, NULL, piece, alone ? 1 : STEP + 1, from_ns + FRAME_NS);
        for (int k = 0; k < 3; k++) {
            REQUIRE(fabs(m.before[k] - piece[0].gyro_rad_s[k]) < 1e-12, "part %d: before %g", part, m.before[k]);
            REQUIRE(fabs(m.rate[k] - piece[0].gyro_rad_s[k]) < 1e-12, "part %d: rate %g", part, m.rate[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(after_last_sample),     cmocka_unit_test(after_few_samples),
                                       cmocka_unit_test(without_samples),       cmocka_unit_test(rate_of_noisy_samples),
                                       cmocka_unit_test(rate_of_exact_samples), cmocka_unit_test(rate_of_a_turn),
                                       cmocka_unit_test(rate_after_a_gap)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
