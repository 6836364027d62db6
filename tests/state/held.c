/* SPDX-License-Identifier: MIT */
/* Motions and states behind the last reading, which is held: their covariance against errors. The rig turns and
 * accelerates in sines, at a rate and an acceleration that its readings tell well up to a frame; of the two frames
 * behind it the window is given that last reading alone. The truth is integrated in long double from readings without
 * noise. */
#include "state_oracle.h"

#include "state/propagate.h"
#include "state/window_motion.h"

enum {
    FLIGHTS = 400,
    READINGS = 260,
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
static vfront_imu_t truth[READINGS], imu[READINGS];

/** Readings of a flight: a sine on each axis, with noise and without. */
static void draw(double rate, double acceleration)
{
    double size[6], hz[6], phase[6];
    for (int c = 0; c < 6; c++) {
        size[c] = c < 3 ? rate : acceleration;
        hz[c] = 0.3 + 1.2 * roll(1000) / 1000.0;
        phase[c] = 6.283185 * roll(1000) / 1000.0;
    }
    for (int i = 0; i < READINGS; i++) {
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

/** Adds the squares of the errors of a turn q and a velocity v from from_ns to to_ns over their variances, three axes
 *  each. gravity: in v, down the z axis at the start. */
static void squares(const double q[4], const double v[3], const double variance[2][3], uint64_t from_ns, uint64_t to_ns,
                    double gravity, double sum[2])
{
    struct wide_motion right = wide_start();
    const wide none[6] = {0};
    wide R[9], w[3];
    wide_integrate(&right, truth, READINGS, from_ns, to_ns, none, gravity, 4);
    wide_matrix(q, R);
    wide_between(right.y, R, w);
    for (int k = 0; k < 3; k++) {
        const double off = (double)right.y[9 + k] - v[k];
        sum[0] += (double)(w[k] * w[k]) / variance[0][k];
        sum[1] += off * off / variance[1][k];
    }
}

/** Of a motion. */
static void squares_of(const struct vf_preintegral *m, uint64_t from_ns, uint64_t to_ns, double sum[2])
{
    double variance[2][3];
    for (int k = 0; k < 3; k++) {
        variance[0][k] = m->P[10 * (VF_ROW_W + k)];
        variance[1][k] = m->P[10 * (VF_ROW_V + k)];
    }
    squares(m->q, m->v, (const double(*)[3])variance, from_ns, to_ns, 0.0, sum);
}

/** Errors behind the last reading, in the first and the second frame: of the size that is told. By turns 1 is not
 *  quite right: that of a sine grows with the time, not with its root. */
static void behind_the_last_reading(void **state)
{
    (void)state;
    double sum[HELD][2];
    memset(sum, 0, sizeof sum);
    shake(41);
    for (int run = 0; run < FLIGHTS; run++) {
        struct vf_window_carried c = {.t_ns = BEGIN};
        const uint32_t last = BEFORE + (FRAMES - HELD) * (FRAME_NS / 1000000) * HZ / 1000;
        draw(0.1 + 3.0 * roll(1000) / 1000.0, 0.3 + 6.0 * roll(1000) / 1000.0);
        for (int frame = 1; frame <= FRAMES; frame++) {
            struct vf_window_motion m;
            const int held = frame - (FRAMES - HELD);
            const uint64_t t_ns = BEGIN + (uint64_t)frame * FRAME_NS;
            const uint32_t first = BEFORE + (uint32_t)(frame - 1) * (FRAME_NS / 1000000) * HZ / 1000;
            const uint32_t from = held > 0 ? last : first,
                           until = held > 0 ? last + 1 : first + FRAME_NS / 1000000 * HZ / 1000 + 1;
            vf_window_motion_of(&m, &c, &noise, imu + from, until - from, t_ns);
            assert_true(!(m.motion.flags & VFRONT_NAV_GAP) == (held <= 0));
            if (held > 0) squares_of(&m.motion, t_ns - FRAME_NS, t_ns, sum[held - 1]);
            c.t_ns = t_ns;
        }
    }
    for (int held = 0; held < HELD; held++)
        for (int of = 0; of < 2; of++) {
            const double mean = sum[held][of] / (3.0 * FLIGHTS);
            print_message("frame %d behind the last reading, %s: %.2f of the variance told\n", held + 1,
                          of ? "velocity" : "rotation", mean);
            assert_true(mean > 0.4 && mean < 2.0);
        }
}

/** The same of vfront_propagate(), over 50 ms behind readings of 0.1 s, which are all that it is given. */
static void behind_few_readings(void **state)
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
        print_message("behind few readings, %s: %.2f of the variance told\n", of ? "velocity" : "rotation", mean);
        assert_true(mean > 0.4 && mean < 2.0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(behind_the_last_reading),
                                       cmocka_unit_test(behind_few_readings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
