/* SPDX-License-Identifier: MIT */
/* Starts with one camera on simulated flights: normalised errors of the first state and of the path's size, when there
 * is one, and that what does not tell the size has none. Deviations are VF_MONO_WIDER times those by noise, and
 * simulated readings have noise alone: errors are compared with those by noise.
 *
 *     build/tests/start_mono [flights of each kind, 2] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "simulation.h"

#include "state/start_mono.h"

#include <cmocka.h>

static struct simulation sim;
static struct sim_frame frame;
static struct vf_mono mono;

static int runs = 2;

/** Kind of flight. */
struct flown {
    const char *name, *path;
    double seconds, noise, pixel, outliers, extrinsics, offset_s;
    int tells; /* 1: it has a state in most runs; 0: in none */
};

/** Motion of camera 0 between two times: rotation alone, with an error of 1 mrad on each axis. */
static vfront_motion_t turned(double from_s, double to_s)
{
    struct path_state a, b;
    double c[3], A[9], B[9], R[9], e[3], E[9];
    vfront_motion_t m;
    memset(&m, 0, sizeof m);
    path_at(&sim.path, from_s, &a);
    path_at(&sim.path, to_s, &b);
    sim_camera(&sim, &a, c, A);
    sim_camera(&sim, &b, c, B);
    for (int k = 0; k < 3; k++) e[k] = 1e-3 * normal();
    rotation_of(e, E);
    for (int i = 0; i < 9; i++) {
        R[i] = 0;
        for (int k = 0; k < 3; k++) R[i] += B[3 * k + i / 3] * A[3 * k + i % 3]; /* to camera axes now, from then */
    }
    product(E, R, 0, R);
    for (int k = 0; k < 9; k++) m.R[k] = (float)R[k];
    m.covariance[15] = m.covariance[18] = m.covariance[20] = 1e-6f;
    m.state = VFRONT_MOTION_ROTATION;
    return m;
}

/** A frame; of frame 0 with the readings before it. */
static enum vf_start_state give(int k)
{
    static struct vf_sight sight[SIM_SIGHTS];
    const uint64_t before_ns = frame.stamp_ns;
    const double before_s = frame.t_s;
    uint32_t first;
    sim_frame(&sim, k, &frame);
    const uint32_t n = sim_readings(&sim, k ? before_ns : frame.stamp_ns, frame.stamp_ns, &first);
    for (int i = 0; i < frame.n; i++) {
        const struct sim_sight *s = &frame.sight[i];
        sight[i] = (struct vf_sight){.id = s->id, .sigma = (float)s->sigma};
        for (int c = 0; c < 3; c++) sight[i].bearing[c] = (float)s->bearing[c];
    }
    const vfront_motion_t relative = turned(k ? before_s : frame.t_s, frame.t_s);
    const struct vf_start_frame given = {frame.stamp_ns, sim.imu + first, n, NULL, k ? &relative : NULL};
    return vf_mono_step(&mono, &given, sight, (uint32_t)frame.n);
}

/** Size of the path of the frames that are kept, over the true one, less 1. */
static double size_error(void)
{
    double mean[2][3] = {{0}}, square[2] = {0}, p[VF_MONO_FRAMES][2][3];
    for (uint32_t i = 0; i < mono.frames; i++) {
        struct path_state at;
        double bias[6];
        sim_truth(&sim, mono.frame[i].slot.t_ns, &at, bias);
        for (int k = 0; k < 3; k++) {
            p[i][0][k] = mono.frame[i].slot.value.p[k];
            p[i][1][k] = at.p[k];
            for (int m = 0; m < 2; m++) mean[m][k] += p[i][m][k] / mono.frames;
        }
    }
    for (uint32_t i = 0; i < mono.frames; i++)
        for (int m = 0; m < 2; m++)
            for (int k = 0; k < 3; k++) square[m] += (p[i][m][k] - mean[m][k]) * (p[i][m][k] - mean[m][k]);
    return sqrt(square[0] / square[1]) - 1;
}

/** Normalised squares of tilt (2), velocity (3), both biases (3, 3), of a state turned about z to the true heading. */
static void normalised(double nees[4])
{
    struct path_state at;
    double bias[6], R[9], Z[9], e[15], P[9], yaw = 0, w[3], turned_R[9], v[3];
    const double *q = mono.nav.q_odom_imu, xyzw[4] = {q[1], q[2], q[3], q[0]};
    sim_truth(&sim, mono.nav.t_ns, &at, bias);
    path_quaternion(xyzw, R);
    for (int i = 0; i < 8; i++) {
        const double by[3] = {0, 0, yaw};
        rotation_of(by, Z);
        product(Z, at.R, 0, turned_R);
        rotation_between(turned_R, R, w);
        yaw -= w[2];
    }
    for (int r = 0; r < 3; r++) v[r] = Z[3 * r] * at.v[0] + Z[3 * r + 1] * at.v[1] + Z[3 * r + 2] * at.v[2];
    for (int k = 0; k < 3; k++) {
        e[3 + k] = w[k];
        e[6 + k] = v[k] - mono.nav.velocity_mps[k];
        e[9 + k] = bias[k] - mono.nav.gyro_bias_rad_s[k];
        e[12 + k] = bias[3 + k] - mono.nav.accel_bias_m_s2[k];
    }
    for (int part = 0; part < 4; part++) {
        const int n = part ? 3 : 2;
        sim_block(&mono.nav, 3 + 3 * part, n, P);
        nees[part] = sim_square(P, e + 3 + 3 * part, n);
    }
}

static void fly(const struct flown *f)
{
    double nees[4] = {0}, size = 0, worst = 0, time = 0, latest = 0;
    int told = 0;
    for (int run = 0; run < (f->tells ? runs : (runs + 1) / 2); run++) {
        struct sim_options o = sim_usual();
        snprintf(o.path, sizeof o.path, "%s", f->path);
        o.seconds = f->seconds;
        o.noise = f->noise;
        o.pixel = f->pixel;
        o.outliers = f->outliers;
        o.extrinsics = f->extrinsics;
        o.offset_s = f->offset_s;
        o.seed = run + 1;
        assert_true(sim_start(&sim, &o));
        vf_mono_begin(&mono, &(struct vf_window_rig){.cameras = 1}, &sim.noise);
        memcpy(mono.rig.R_imu_cam, sim.told.R_imu_cam, sizeof mono.rig.R_imu_cam);
        memcpy(mono.rig.p_imu_cam_m, sim.told.p_imu_cam, sizeof mono.rig.p_imu_cam_m);
        for (int k = 0; k < sim.frames; k++) {
            double n[4];
            if (give(k) != VF_START_MOVING) continue;
            const double off = size_error(), t = (double)k / sim.rig.hz;
            normalised(n);
            for (int i = 0; i < 4; i++) nees[i] += n[i] * VF_MONO_WIDER * VF_MONO_WIDER;
            size += off * off / (mono.scale * mono.scale);
            worst = fmax(worst, fabs(off));
            time += t;
            latest = fmax(latest, t);
            told++;
            assert_true(mono.scale < VF_MONO_SCALE && mono.nav.t_ns == mono.t_ns);
            break;
        }
    }
    const double part = told ? 1.0 / told : 0.0;
    size *= VF_MONO_WIDER * VF_MONO_WIDER * part;
    print_message("%-28s %2d of %d, %.2f s, at most %.2f; size off by at most %.3f, NEES %.2f of 1; tilt %.2f of 2, "
                  "velocity %.2f, gyro %.2f, accelerometer %.2f of 3\n",
                  f->name, told, runs, part * time, latest, worst, size, part * nees[0], part * nees[1], part * nees[2],
                  part * nees[3]);
    if (!f->tells) {
        assert_int_equal(told, 0);
        return;
    }
    assert_true(10 * told >= 9 * runs);
    assert_true(size < 1 + 3.3 * sqrt(2.0 / told) && (told < 20 || size > 0.1));
    for (int i = 0; i < 4; i++) {
        const double d = i ? 3 : 2;
        assert_true(part * nees[i] < d + 3.3 * sqrt(2 * d / told));
    }
}

static void flights(void **state)
{
    (void)state;
    static const struct flown kind[] = {{"eight", "eight", 8, 1, 0.5, 0, 0, 0, 1},
                                        {"eight, 1 px", "eight", 8, 1, 1, 0, 0, 0, 1},
                                        {"eight, noise x 5", "eight", 8, 5, 0.5, 0, 0, 0, 1},
                                        {"eight, 10 % outliers", "eight", 8, 1, 0.5, 0.1, 0, 0, 1},
                                        {"eight, mounting off 0.3 deg", "eight", 8, 1, 0.5, 0, 0.3, 0, 1},
                                        {"eight, time offset 4 ms", "eight", 8, 1, 0.5, 0, 0, 0.004, 1},
                                        {"hover", "hover", 6, 1, 0.5, 0, 0, 0, 0},
                                        {"straight, one velocity", "straight", 6, 1, 0.5, 0, 0, 0, 0},
                                        {"stand", "stand", 6, 1, 0.5, 0, 0, 0, 0},
                                        {"turn on the spot", "turn", 6, 1, 0.5, 0, 0, 0, 0}};
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) fly(&kind[i]);
}

/** No readings since the frame before, or too long a time: all is forgotten, and the next state takes as long. */
static void forgets(void **state)
{
    (void)state;
    struct sim_options o = sim_usual();
    int first = 0, again = 0;
    snprintf(o.path, sizeof o.path, "eight");
    o.seconds = 10;
    o.seed = 1;
    assert_true(sim_start(&sim, &o));
    vf_mono_begin(&mono, &(struct vf_window_rig){.cameras = 1}, &sim.noise);
    memcpy(mono.rig.R_imu_cam, sim.told.R_imu_cam, sizeof mono.rig.R_imu_cam);
    memcpy(mono.rig.p_imu_cam_m, sim.told.p_imu_cam, sizeof mono.rig.p_imu_cam_m);
    for (; first < sim.frames && give(first) != VF_START_MOVING;) first++;
    assert_true(first < sim.frames);
    const struct vf_start_frame none = {frame.stamp_ns + 1000000, NULL, 0, NULL, NULL};
    assert_int_equal(vf_mono_step(&mono, &none, NULL, 0), VF_START_NO_IMU);
    assert_true(mono.nav.t_ns == 0 && mono.kept_count == 1);
    for (again = first + 1; again < sim.frames && give(again) != VF_START_MOVING;) again++;
    assert_true(again < sim.frames && (again - first) / sim.rig.hz >= 1.0);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(flights), cmocka_unit_test(forgets)};
    if (count > 1) runs = atoi(words[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
