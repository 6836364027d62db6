/* SPDX-License-Identifier: MIT */
/* Starts with one camera on simulated flights: normalised errors of the first state and of the path's size, when there
 * is one, and that what does not tell the size has none. Deviations are VF_MONO_WIDER times those by noise, and
 * simulated readings have noise alone: errors are compared with those by noise. The work of each frame is bounded, and
 * what frames do one behind the other is what one does at once, carried on by the readings. Says how much processor
 * time a frame takes, of flights in which it is more the longer tracks live.
 *
 *     build/tests/start_mono [flights of each kind, 2] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include "simulation.h"

#include "state/start_mono.h"
#include "state/start_mono_solve.h"

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

/** Frames in which a solution works, and their processor time [ms]. */
static struct {
    int frames;
    double sum, most;
} spent;

/** Start of a flight with what the estimator is told of its rig. */
static void begin(const struct sim_options *o)
{
    assert_true(sim_start(&sim, o));
    vf_mono_begin(&mono, &(struct vf_window_rig){.cameras = 1}, &sim.noise);
    memcpy(mono.rig.R_imu_cam, sim.told.R_imu_cam, sizeof mono.rig.R_imu_cam);
    memcpy(mono.rig.p_imu_cam_m, sim.told.p_imu_cam, sizeof mono.rig.p_imu_cam_m);
}

/** Frame k of the flight, `every` frames behind the one before; of frame 0 with the readings before it. Its work is
 *  bounded, and so is the number of frames that a solution takes. */
static enum vf_start_state give(int k, int every)
{
    static struct vf_sight sight[SIM_SIGHTS];
    static int slices;
    const uint64_t before_ns = frame.stamp_ns;
    const double before_s = frame.t_s;
    uint32_t first;
    for (int i = k ? k - every + 1 : 0; i <= k; i++) sim_frame(&sim, i, &frame);
    const uint32_t n = sim_readings(&sim, k ? before_ns : frame.stamp_ns, frame.stamp_ns, &first);
    for (int i = 0; i < frame.n; i++) {
        const struct sim_sight *s = &frame.sight[i];
        sight[i] = (struct vf_sight){.id = s->id, .sigma = (float)s->sigma};
        for (int c = 0; c < 3; c++) sight[i].bearing[c] = (float)s->bearing[c];
    }
    const vfront_motion_t relative = turned(k ? before_s : frame.t_s, frame.t_s);
    const struct vf_start_frame given = {frame.stamp_ns, sim.imu + first, n, NULL, k ? &relative : NULL};
    const clock_t from = clock();
    const enum vf_start_state state = vf_mono_step(&mono, &given, sight, (uint32_t)frame.n);
    const double ms = 1e3 * (double)(clock() - from) / CLOCKS_PER_SEC;
    slices = mono.work ? slices + 1 : 0;
    assert_true(mono.work <= VF_MONO_WORK && slices <= VF_MONO_SLICES);
    if (!mono.under_way) slices = 0;
    if (!mono.work) return state;
    spent.frames++;
    spent.sum += ms;
    spent.most = fmax(spent.most, ms);
    return state;
}

/** Processor time since it was last said. */
static void say_spent(const char *of)
{
    print_message("%-28s %.1f ms of processor time in each frame that works, at most %.1f, in %d frames\n", of,
                  spent.sum / fmax(spent.frames, 1), spent.most, spent.frames);
    memset(&spent, 0, sizeof spent);
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
        begin(&o);
        for (int k = 0; k < sim.frames; k++) {
            double n[4];
            if (give(k, 1) != VF_START_MOVING) continue;
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
    say_spent("these flights");
}

/* ---- a solution in slices, carried on ---------------------------------------------------------------------------- */

/** State as a textbook has it, errors (position, attitude, velocity, biases), R_true = exp([w]) R, and their
 *  covariance. */
struct strapdown {
    double p[3], R[9], v[3], bias[6], P[15][15];
};

/** Whole solution that a copy of the start finds at once, at its newest frame, with the factor of its covariance that
 *  residuals give. */
static double at_once(const struct vf_mono *from, struct strapdown *s)
{
    static struct vf_mono whole;
    double P[225];
    whole = *from;
    while (!vf_mono_go_on(&whole)) continue;
    vf_mono_last(&whole);
    vf_mono_covariance(&whole, P);
    const struct vf_mono_frame *newest = &whole.frame[whole.frames - 1];
    const double xyzw[4] = {newest->slot.value.q[1], newest->slot.value.q[2], newest->slot.value.q[3],
                            newest->slot.value.q[0]};
    path_quaternion(xyzw, s->R);
    memcpy(s->p, newest->slot.value.p, sizeof s->p);
    memcpy(s->v, newest->slot.value.v, sizeof s->v);
    memcpy(s->bias, newest->slot.value.bias, sizeof s->bias);
    for (int i = 0; i < 225; i++) s->P[i / 15][i % 15] = VF_MONO_WIDER * VF_MONO_WIDER * P[i];
    for (int k = 0; k < 6; k++) {
        const double walk = k < 3 ? sim.noise.gyro_walk : sim.noise.accel_walk;
        s->P[9 + k][9 + k] += walk * walk * newest->T;
    }
    return whole.cost;
}

/** P <- (1 + A dt) P (1 + A dt)' + Q dt. */
static void spread(struct strapdown *s, const double A[15][15], const double Q[15], double dt)
{
    double M[15][15];
    for (int i = 0; i < 15; i++)
        for (int j = 0; j < 15; j++) {
            M[i][j] = s->P[i][j];
            for (int k = 0; k < 15; k++) M[i][j] += dt * A[i][k] * s->P[k][j];
        }
    for (int i = 0; i < 15; i++)
        for (int j = 0; j < 15; j++) {
            s->P[i][j] = M[i][j] + (i == j ? Q[i] * dt : 0);
            for (int k = 0; k < 15; k++) s->P[i][j] += dt * M[i][k] * A[j][k];
        }
}

/** Step by rate w and force f, read, over a small time. */
static void move(struct strapdown *s, const double w[3], const double f[3], double dt)
{
    double A[15][15] = {{0}}, Q[15] = {0}, turn[3], half[9], E[9], force[3], a[3];
    for (int k = 0; k < 3; k++) {
        turn[k] = 0.5 * dt * (w[k] - s->bias[k]);
        force[k] = f[k] - s->bias[3 + k];
    }
    rotation_of(turn, E);
    product(s->R, E, 0, half);
    rotate(half, force, a);
    const double skew[9] = {0, -a[2], a[1], a[2], 0, -a[0], -a[1], a[0], 0};
    for (int i = 0; i < 3; i++) {
        const double gyro = VF_MONO_WIDER * sim.noise.gyro_density, accel = VF_MONO_WIDER * sim.noise.accel_density;
        A[i][6 + i] = 1;
        Q[3 + i] = gyro * gyro * fmax(1, mono.noisy[0]);
        Q[6 + i] = accel * accel * fmax(1, mono.noisy[1]);
        Q[9 + i] = sim.noise.gyro_walk * sim.noise.gyro_walk;
        Q[12 + i] = sim.noise.accel_walk * sim.noise.accel_walk;
        for (int j = 0; j < 3; j++) {
            A[3 + i][9 + j] = A[6 + i][12 + j] = -half[3 * i + j];
            A[6 + i][3 + j] = -skew[3 * i + j];
        }
    }
    spread(s, A, Q, dt);
    a[2] -= sim.noise.gravity_m_s2;
    for (int k = 0; k < 3; k++) {
        s->p[k] += dt * (s->v[k] + 0.5 * dt * a[k]);
        s->v[k] += dt * a[k];
    }
    product(half, E, 0, s->R);
}

/** State carried by the readings from a time to another one, in steps of at most 1 ms. */
static void integrate(struct strapdown *s, uint64_t from_ns, uint64_t to_ns)
{
    for (uint64_t t = from_ns; t < to_ns;) {
        const uint32_t after = sim_after(&sim, t);
        const vfront_imu_t *a = &sim.imu[after - 1], *b = &sim.imu[after];
        uint64_t next = t + 1000000 < to_ns ? t + 1000000 : to_ns;
        double w[3], f[3];
        if (b->t_ns > t && b->t_ns < next) next = b->t_ns;
        const double part = ((double)(t - a->t_ns) + 0.5 * (double)(next - t)) / (double)(b->t_ns - a->t_ns);
        for (int k = 0; k < 3; k++) {
            w[k] = a->gyro_rad_s[k] + part * (b->gyro_rad_s[k] - a->gyro_rad_s[k]);
            f[k] = a->accel_m_s2[k] + part * (b->accel_m_s2[k] - a->accel_m_s2[k]);
        }
        move(s, w, f, (double)(next - t) * 1e-9);
        t = next;
    }
}

/** What holds of a state whatever its yaw: up and velocity in axes of the body, biases; with its covariance. */
static void in_body(const struct strapdown *s, double x[12], double C[12][12])
{
    double J[12][15] = {{0}}, M[12][15];
    const double *v = s->v;
    const double cross[2][9] = {{0, -1, 0, 1, 0, 0, 0, 0, 0}, {0, -v[2], v[1], v[2], 0, -v[0], -v[1], v[0], 0}};
    for (int i = 0; i < 3; i++) {
        x[i] = s->R[6 + i];
        x[3 + i] = s->R[i] * v[0] + s->R[3 + i] * v[1] + s->R[6 + i] * v[2];
        for (int j = 0; j < 3; j++) {
            J[3 + i][6 + j] = s->R[3 * j + i];
            for (int k = 0; k < 3; k++)
                for (int part = 0; part < 2; part++) J[3 * part + i][3 + j] += s->R[3 * k + i] * cross[part][3 * k + j];
        }
    }
    for (int k = 0; k < 6; k++) {
        x[6 + k] = s->bias[k];
        J[6 + k][9 + k] = 1;
    }
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 15; j++) {
            M[i][j] = 0;
            for (int k = 0; k < 15; k++) M[i][j] += J[i][k] * s->P[k][j];
        }
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 12; j++) {
            C[i][j] = 0;
            for (int k = 0; k < 15; k++) C[i][j] += M[i][k] * J[j][k];
        }
}

/** State that is told, in this form. */
static void told(struct strapdown *s)
{
    const double *q = mono.nav.q_odom_imu, xyzw[4] = {q[1], q[2], q[3], q[0]};
    double P[225];
    path_quaternion(xyzw, s->R);
    memcpy(s->p, mono.nav.position_m, sizeof s->p);
    memcpy(s->v, mono.nav.velocity_mps, sizeof s->v);
    memcpy(s->bias, mono.nav.gyro_bias_rad_s, sizeof mono.nav.gyro_bias_rad_s);
    memcpy(s->bias + 3, mono.nav.accel_bias_m_s2, sizeof mono.nav.accel_bias_m_s2);
    sim_block(&mono.nav, 0, 15, P);
    memcpy(s->P, P, sizeof P);
}

/** Largest differences between a state that is told and the one by this file: up, velocity, biases; and of covariances,
 *  relative to deviations. */
static void differ(const struct strapdown *a, const struct strapdown *b, double worst[4])
{
    double x[2][12], C[2][12][12];
    in_body(a, x[0], C[0]);
    in_body(b, x[1], C[1]);
    for (int i = 0; i < 12; i++) {
        worst[i / 3 < 2 ? i / 3 : 2] = fmax(worst[i / 3 < 2 ? i / 3 : 2], fabs(x[0][i] - x[1][i]));
        for (int j = 0; j < 12; j++) {
            const double size = sqrt(C[1][i][i] * C[1][j][j]) + 1e-12;
            worst[3] = fmax(worst[3], fabs(C[0][i][j] - C[1][i][j]) / size);
        }
    }
}

/** Until a flight has a state, frame by frame; that is the one by this file. */
static void agree(double noise, int every, double seed)
{
    static struct vf_mono begun;
    struct sim_options o = sim_usual();
    struct strapdown whole, sliced;
    double worst[4] = {0};
    enum vf_start_state state = VF_START_FEW;
    o.seconds = 8;
    o.noise = noise;
    o.seed = seed;
    begin(&o);
    for (int k = 0; k < sim.frames && state != VF_START_MOVING; k += every) {
        const int before = (int)mono.under_way;
        state = give(k, every);
        if (!before && mono.under_way) begun = mono;
    }
    assert_true(state == VF_START_MOVING && !mono.under_way && mono.nav.t_ns == frame.stamp_ns);
    const uint64_t from_ns = begun.frame[begun.frames - 1].slot.t_ns;
    const double cost = at_once(&begun, &whole), factor = fmax(1, cost / mono.freedom);
    assert_true(cost == mono.cost && from_ns == mono.frame[mono.frames - 1].slot.t_ns && from_ns < frame.stamp_ns);
    const double seconds = 1e-9 * (double)(frame.stamp_ns - from_ns);
    integrate(&whole, from_ns, frame.stamp_ns);
    for (int i = 0; i < 225; i++) whole.P[i / 15][i % 15] *= factor;
    told(&sliced);
    differ(&sliced, &whole, worst);
    print_message("noise x %.0f, every %d frames: carried by %.2f s; off by %.1e rad, %.1e m/s, %.1e in biases, "
                  "covariance %.1e\n",
                  noise, every, seconds, worst[0], worst[1], worst[2], worst[3]);
    assert_true(sliced.p[0] == 0 && sliced.p[1] == 0 && sliced.p[2] == 0);
    /* The start takes biases to first order: without the product of both, some millimetres in a second. */
    assert_true(worst[0] < 5e-5 && worst[1] < 5e-3 * seconds && worst[2] == 0 && worst[3] < 0.02);
}

/** The state that is told is that of one solution at once, carried on to the frame that tells it: with frames of 20 Hz,
 *  and of 4 Hz, which are all kept, so that those of a solution leave while it goes on. */
static void carries(void **state)
{
    (void)state;
    for (int run = 0; run < runs; run++) {
        agree(1, 1, run + 1);
        agree(5, 1, run + 1);
        agree(1, 5, run + 1);
    }
}

/* ---- what ends a solution ---------------------------------------------------------------------------------------- */

/** No readings since the frame before, or too long a time, with a solution under way or told: all is forgotten, and the
 *  next state takes as long. */
static void forgets(void **state)
{
    (void)state;
    struct sim_options o = sim_usual();
    o.seconds = 10;
    for (int way = 0; way < 4; way++) {
        int first = 0, again = 0;
        begin(&o);
        for (; first < sim.frames; first++)
            if (give(first, 1) == VF_START_MOVING || (way >= 2 && mono.under_way)) break;
        assert_true(first < sim.frames && mono.under_way == (way >= 2));
        const vfront_imu_t still = {.t_ns = frame.stamp_ns};
        const struct vf_start_frame none = {frame.stamp_ns + 1000000, NULL, 0, NULL, NULL},
                                    late = {frame.stamp_ns + VF_START_APART_NS + 1, &still, 1, NULL, NULL};
        assert_int_equal(vf_mono_step(&mono, way % 2 ? &late : &none, NULL, 0), VF_START_NO_IMU);
        assert_true(mono.nav.t_ns == 0 && mono.kept_count == 1 && !mono.under_way && !mono.work);
        mono.t_ns = way % 2 ? frame.stamp_ns : mono.t_ns; /* so that the flight goes on */
        mono.kept[0].t_ns = mono.t_ns;
        for (again = first + 1; again < sim.frames && give(again, 1) != VF_START_MOVING;) again++;
        assert_true(again < sim.frames && (again - first) / sim.rig.hz >= 1.0);
    }
}

/** Tracks that live on, which are more work in every frame: what a frame takes then. */
static void long_tracks(void **state)
{
    (void)state;
    static const char *const path[] = {"eight", "hover", "stand"};
    memset(&spent, 0, sizeof spent);
    for (int i = 0; i < 3; i++) {
        struct sim_options o = sim_usual();
        snprintf(o.path, sizeof o.path, "%s", path[i]);
        o.seconds = 5;
        o.life = 1e6;
        begin(&o);
        for (int k = 0; k < sim.frames; k++) give(k, 1);
    }
    say_spent("tracks that live on");
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(flights), cmocka_unit_test(carries), cmocka_unit_test(forgets),
                                       cmocka_unit_test(long_tracks)};
    if (count > 1) runs = atoi(words[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
