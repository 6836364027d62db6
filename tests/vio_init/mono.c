/* SPDX-License-Identifier: MIT */
/* Monocular initialization on simulated flights: normalised errors of the initial state and of the scale, and no state
 * where the scale is unobservable. Reported standard deviations are VF_MONO_SIGMA_FACTOR times those of noise;
 * simulated samples have noise only, so errors are compared with the latter. Also tested: the work per frame is
 * bounded, and a solution in slices equals one at once, propagated by the IMU. Prints the processor time per frame for
 * flights with long tracks.
 *
 *     build/tests/mono [flights of each kind, 2] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include "tests/vio/simulation.h"

#include "vio_init/mono.h"
#include "vio_init/mono_solve.h"

#include <cmocka.h>

static struct simulation sim;
static struct sim_frame frame;
static struct vf_mono mono;

static int runs = 2;

/** Kind of flight. */
struct flight_kind {
    const char *name, *path;
    double seconds, noise, pixel, outliers, extrinsics, offset_s;
    int observable; /* 1: most runs have a state; 0: none has */
};

/** Rotation of camera 0 between two times, with an error of 1 mrad per axis. */
static vfront_motion_t turned(double from_s, double to_s)
{
    struct trajectory_state a, b;
    double c[3], A[9], B[9], R[9], e[3], E[9];
    vfront_motion_t m;
    memset(&m, 0, sizeof m);
    trajectory_at(&sim.trajectory, from_s, &a);
    trajectory_at(&sim.trajectory, to_s, &b);
    sim_camera(&sim, &a, c, A);
    sim_camera(&sim, &b, c, B);
    for (int k = 0; k < 3; k++) e[k] = 1e-3 * normal();
    rotation_of(e, E);
    for (int i = 0; i < 9; i++) {
        R[i] = 0;
        for (int k = 0; k < 3; k++)
            R[i] += B[3 * k + i / 3] * A[3 * k + i % 3]; /* from camera axes then to camera axes now */
    }
    product(E, R, 0, R);
    for (int k = 0; k < 9; k++) m.R[k] = (float)R[k];
    m.covariance[15] = m.covariance[18] = m.covariance[20] = 1e-6f;
    m.state = VFRONT_MOTION_ROTATION;
    return m;
}

/** Frames in which a solution is computed, and their processor time [ms]. */
static struct {
    int frames;
    double sum, most;
} spent;

/** Starts a flight with the rig that the estimator assumes. */
static void begin(const struct sim_options *o)
{
    assert_true(sim_start(&sim, o));
    vf_mono_begin(&mono, &(struct vf_vio_rig){.cameras = 1}, &sim.noise);
    memcpy(mono.rig.R_imu_cam, sim.assumed.R_imu_cam, sizeof mono.rig.R_imu_cam);
    memcpy(mono.rig.p_imu_cam_m, sim.assumed.p_imu_cam, sizeof mono.rig.p_imu_cam_m);
}

/** Submits frame k of the flight, `every` frames after the previous one; frame 0 has the samples before it. Checks that
 *  the work and the number of frames per solution are bounded. */
static enum vf_start_status add_frame(int k, int every)
{
    static struct vf_observation observation[SIM_OBSERVATIONS];
    static int solve_frames;
    const uint64_t before_ns = frame.stamp_ns;
    const double before_s = frame.t_s;
    uint32_t first;
    for (int i = k ? k - every + 1 : 0; i <= k; i++) sim_frame(&sim, i, &frame);
    const uint32_t n = sim_samples_between(&sim, k ? before_ns : frame.stamp_ns, frame.stamp_ns, &first);
    for (int i = 0; i < frame.n; i++) {
        const struct sim_observation *s = &frame.observation[i];
        observation[i] = (struct vf_observation){.id = s->id, .sigma = (float)s->sigma};
        for (int c = 0; c < 3; c++) observation[i].bearing[c] = (float)s->bearing[c];
    }
    const vfront_motion_t relative = turned(k ? before_s : frame.t_s, frame.t_s);
    const struct vf_start_frame given = {frame.stamp_ns, sim.imu + first, n, NULL, k ? &relative : NULL};
    const clock_t from = clock();
    const enum vf_start_status state = vf_mono_step(&mono, &given, observation, (uint32_t)frame.n);
    const double ms = 1e3 * (double)(clock() - from) / CLOCKS_PER_SEC;
    solve_frames = mono.work ? solve_frames + 1 : 0;
    assert_true(mono.work <= VF_MONO_WORK && solve_frames <= VF_MONO_SOLVE_FRAMES);
    if (!mono.solving) solve_frames = 0;
    if (!mono.work) return state;
    spent.frames++;
    spent.sum += ms;
    spent.most = fmax(spent.most, ms);
    return state;
}

/** Prints the processor time since the last call. */
static void print_time(const char *of)
{
    print_message("%-28s %.1f ms of processor time in each frame that works, at most %.1f, in %d frames\n", of,
                  spent.sum / fmax(spent.frames, 1), spent.most, spent.frames);
    memset(&spent, 0, sizeof spent);
}

/** Relative error of the scale of the path over the kept frames. */
static double size_error(void)
{
    double mean[2][3] = {{0}}, square[2] = {0}, p[VF_MONO_FRAMES][2][3];
    for (uint32_t i = 0; i < mono.frames; i++) {
        struct trajectory_state at;
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

/** Squared normalised errors of tilt (2), velocity (3), gyro and accelerometer bias (3, 3), after rotation about z to
 *  the true heading. */
static void normalised(double nees[4])
{
    struct trajectory_state at;
    double bias[6], R[9], Z[9], e[15], P[9], yaw = 0, w[3], turned_R[9], v[3];
    const double *q = mono.nav.q_odom_imu, xyzw[4] = {q[1], q[2], q[3], q[0]};
    sim_truth(&sim, mono.nav.t_ns, &at, bias);
    trajectory_rotation(xyzw, R);
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
    for (int share = 0; share < 4; share++) {
        const int n = share ? 3 : 2;
        sim_block(&mono.nav, 3 + 3 * share, n, P);
        nees[share] = sim_nees(P, e + 3 + 3 * share, n);
    }
}

static void fly(const struct flight_kind *f)
{
    double nees[4] = {0}, size = 0, worst = 0, time = 0, latest = 0;
    int reported = 0;
    for (int run = 0; run < (f->observable ? runs : (runs + 1) / 2); run++) {
        struct sim_options o = sim_defaults();
        snprintf(o.trajectory, sizeof o.trajectory, "%s", f->path);
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
            if (add_frame(k, 1) != VF_START_MOVING) continue;
            const double off = size_error(), t = (double)k / sim.rig.hz;
            normalised(n);
            for (int i = 0; i < 4; i++) nees[i] += n[i] * VF_MONO_SIGMA_FACTOR * VF_MONO_SIGMA_FACTOR;
            size += off * off / (mono.scale * mono.scale);
            worst = fmax(worst, fabs(off));
            time += t;
            latest = fmax(latest, t);
            reported++;
            assert_true(mono.scale < VF_MONO_MAX_SCALE_SIGMA && mono.nav.t_ns == mono.t_ns);
            break;
        }
    }
    const double share = reported ? 1.0 / reported : 0.0;
    size *= VF_MONO_SIGMA_FACTOR * VF_MONO_SIGMA_FACTOR * share;
    print_message("%-28s %2d of %d, %.2f s, at most %.2f; size off by at most %.3f, NEES %.2f of 1; tilt %.2f of 2, "
                  "velocity %.2f, gyro %.2f, accelerometer %.2f of 3\n",
                  f->name, reported, runs, share * time, latest, worst, size, share * nees[0], share * nees[1],
                  share * nees[2], share * nees[3]);
    if (!f->observable) {
        assert_int_equal(reported, 0);
        return;
    }
    assert_true(10 * reported >= 9 * runs);
    assert_true(size < 1 + 3.3 * sqrt(2.0 / reported) && (reported < 20 || size > 0.1));
    for (int i = 0; i < 4; i++) {
        const double d = i ? 3 : 2;
        assert_true(share * nees[i] < d + 3.3 * sqrt(2 * d / reported));
    }
}

static void flights(void **state)
{
    (void)state;
    static const struct flight_kind kind[] = {{"eight", "eight", 8, 1, 0.5, 0, 0, 0, 1},
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
    print_time("these flights");
}

/* ---- a solution in slices, propagated ---------------------------------------------------------------------------- */

/** Reference state: errors (position, attitude, velocity, biases) with R_true = exp([w]) R, and their covariance. */
struct strapdown {
    double p[3], R[9], v[3], bias[6], P[15][15];
};

/** Solves a copy of the initialization at once, at its newest frame. Returns the factor that the residuals put on its
 *  covariance. */
static double solve_at_once(const struct vf_mono *from, struct strapdown *s)
{
    static struct vf_mono whole;
    double P[225];
    whole = *from;
    while (!vf_mono_iterate(&whole)) continue;
    vf_mono_factor(&whole);
    vf_mono_covariance(&whole, P);
    const struct vf_mono_frame *newest = &whole.frame[whole.frames - 1];
    const double xyzw[4] = {newest->slot.value.q[1], newest->slot.value.q[2], newest->slot.value.q[3],
                            newest->slot.value.q[0]};
    trajectory_rotation(xyzw, s->R);
    memcpy(s->p, newest->slot.value.p, sizeof s->p);
    memcpy(s->v, newest->slot.value.v, sizeof s->v);
    memcpy(s->bias, newest->slot.value.bias, sizeof s->bias);
    for (int i = 0; i < 225; i++) s->P[i / 15][i % 15] = VF_MONO_SIGMA_FACTOR * VF_MONO_SIGMA_FACTOR * P[i];
    for (int k = 0; k < 6; k++) {
        const double walk = k < 3 ? sim.noise.gyro_walk : sim.noise.accel_walk;
        s->P[9 + k][9 + k] += walk * walk * newest->T;
    }
    return whole.cost;
}

/** P <- (1 + A dt) P (1 + A dt)' + Q dt. */
static void transform_covariance(struct strapdown *s, const double A[15][15], const double Q[15], double dt)
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

/** Integrates one small step with measured rate w and force f. */
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
        const double gyro = VF_MONO_SIGMA_FACTOR * sim.noise.gyro_density,
                     accel = VF_MONO_SIGMA_FACTOR * sim.noise.accel_density;
        A[i][6 + i] = 1;
        Q[3 + i] = gyro * gyro * fmax(1, mono.noise_ratio[0]);
        Q[6 + i] = accel * accel * fmax(1, mono.noise_ratio[1]);
        Q[9 + i] = sim.noise.gyro_walk * sim.noise.gyro_walk;
        Q[12 + i] = sim.noise.accel_walk * sim.noise.accel_walk;
        for (int j = 0; j < 3; j++) {
            A[3 + i][9 + j] = A[6 + i][12 + j] = -half[3 * i + j];
            A[6 + i][3 + j] = -skew[3 * i + j];
        }
    }
    transform_covariance(s, A, Q, dt);
    a[2] -= sim.noise.gravity_m_s2;
    for (int k = 0; k < 3; k++) {
        s->p[k] += dt * (s->v[k] + 0.5 * dt * a[k]);
        s->v[k] += dt * a[k];
    }
    product(half, E, 0, s->R);
}

/** Propagates a state by the samples from one time to another, in steps of at most 1 ms. */
static void integrate(struct strapdown *s, uint64_t from_ns, uint64_t to_ns)
{
    for (uint64_t t = from_ns; t < to_ns;) {
        const uint32_t after = sim_after(&sim, t);
        const vfront_imu_t *a = &sim.imu[after - 1], *b = &sim.imu[after];
        uint64_t next = t + 1000000 < to_ns ? t + 1000000 : to_ns;
        double w[3], f[3];
        if (b->t_ns > t && b->t_ns < next) next = b->t_ns;
        const double share = ((double)(t - a->t_ns) + 0.5 * (double)(next - t)) / (double)(b->t_ns - a->t_ns);
        for (int k = 0; k < 3; k++) {
            w[k] = a->gyro_rad_s[k] + share * (b->gyro_rad_s[k] - a->gyro_rad_s[k]);
            f[k] = a->accel_m_s2[k] + share * (b->accel_m_s2[k] - a->accel_m_s2[k]);
        }
        move(s, w, f, (double)(next - t) * 1e-9);
        t = next;
    }
}

/** Yaw-independent part of a state: up and velocity in body axes, biases; with its covariance. */
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
                for (int share = 0; share < 2; share++)
                    J[3 * share + i][3 + j] += s->R[3 * k + i] * cross[share][3 * k + j];
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

/** Converts the reported state to the reference form. */
static void reported(struct strapdown *s)
{
    const double *q = mono.nav.q_odom_imu, xyzw[4] = {q[1], q[2], q[3], q[0]};
    double P[225];
    trajectory_rotation(xyzw, s->R);
    memcpy(s->p, mono.nav.position_m, sizeof s->p);
    memcpy(s->v, mono.nav.velocity_mps, sizeof s->v);
    memcpy(s->bias, mono.nav.gyro_bias_rad_s, sizeof mono.nav.gyro_bias_rad_s);
    memcpy(s->bias + 3, mono.nav.accel_bias_m_s2, sizeof mono.nav.accel_bias_m_s2);
    sim_block(&mono.nav, 0, 15, P);
    memcpy(s->P, P, sizeof P);
}

/** Largest differences between two states: up, velocity, biases; covariance relative to standard deviations. */
static void max_difference(const struct strapdown *a, const struct strapdown *b, double worst[4])
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

/** Flies frame by frame until a state is reported, and compares it with the reference of this file. */
static void agree(double noise, int every, double seed)
{
    static struct vf_mono begun;
    struct sim_options o = sim_defaults();
    struct strapdown whole, sliced;
    double worst[4] = {0};
    enum vf_start_status state = VF_START_TOO_FEW;
    o.seconds = 8;
    o.noise = noise;
    o.seed = seed;
    begin(&o);
    for (int k = 0; k < sim.frames && state != VF_START_MOVING; k += every) {
        const int before = (int)mono.solving;
        state = add_frame(k, every);
        if (!before && mono.solving) begun = mono;
    }
    assert_true(state == VF_START_MOVING && !mono.solving && mono.nav.t_ns == frame.stamp_ns);
    const uint64_t from_ns = begun.frame[begun.frames - 1].slot.t_ns;
    const double cost = solve_at_once(&begun, &whole), factor = fmax(1, cost / mono.dof);
    assert_true(cost == mono.cost && from_ns == mono.frame[mono.frames - 1].slot.t_ns && from_ns < frame.stamp_ns);
    const double seconds = 1e-9 * (double)(frame.stamp_ns - from_ns);
    integrate(&whole, from_ns, frame.stamp_ns);
    for (int i = 0; i < 225; i++) whole.P[i / 15][i % 15] *= factor;
    reported(&sliced);
    max_difference(&sliced, &whole, worst);
    print_message("noise x %.0f, every %d frames: carried by %.2f s; off by %.1e rad, %.1e m/s, %.1e in biases, "
                  "covariance %.1e\n",
                  noise, every, seconds, worst[0], worst[1], worst[2], worst[3]);
    assert_true(sliced.p[0] == 0 && sliced.p[1] == 0 && sliced.p[2] == 0);
    /* The initialization is first-order in the biases. The neglected product of both is some millimetres in a
     * second. */
    assert_true(worst[0] < 5e-5 && worst[1] < 5e-3 * seconds && worst[2] == 0 && worst[3] < 0.02);
}

/** The reported state equals that of one solution at once, propagated to the reporting frame. At 20 Hz, and at 4 Hz,
 *  where all frames are kept and a solution's frames are dropped while it runs. */
static void propagates(void **state)
{
    (void)state;
    for (int run = 0; run < runs; run++) {
        agree(1, 1, run + 1);
        agree(5, 1, run + 1);
        agree(1, 5, run + 1);
    }
}

/* ---- resets ------------------------------------------------------------------------------------------------------ */

/** A frame without samples, or too long an interval, during a solution or after a state: everything is discarded, and
 *  the next state takes as long as the first. */
static void resets(void **state)
{
    (void)state;
    struct sim_options o = sim_defaults();
    o.seconds = 15;
    for (int variant = 0; variant < 4; variant++) {
        int first = 0, again = 0;
        begin(&o);
        for (; first < sim.frames; first++)
            if (add_frame(first, 1) == VF_START_MOVING || (variant >= 2 && mono.solving)) break;
        assert_true(first < sim.frames && mono.solving == (variant >= 2));
        const vfront_imu_t still = {.t_ns = frame.stamp_ns};
        const struct vf_start_frame none = {frame.stamp_ns + 1000000, NULL, 0, NULL, NULL},
                                    late = {frame.stamp_ns + VF_START_MAX_INTERVAL_NS + 1, &still, 1, NULL, NULL};
        assert_int_equal(vf_mono_step(&mono, variant % 2 ? &late : &none, NULL, 0), VF_START_NO_IMU);
        assert_true(mono.nav.t_ns == 0 && mono.keyframes == 1 && !mono.solving && !mono.work);
        mono.t_ns = variant % 2 ? frame.stamp_ns : mono.t_ns; /* so that the flight continues */
        mono.keyframe[0].t_ns = mono.t_ns;
        for (again = first + 1; again < sim.frames && add_frame(again, 1) != VF_START_MOVING;) again++;
        assert_true(again < sim.frames && (again - first) / sim.rig.hz >= 1.0);
    }
}

/** Processor time per frame with long-lived tracks, which are more work in every frame. */
static void long_tracks(void **state)
{
    (void)state;
    static const char *const path[] = {"eight", "hover", "stand"};
    memset(&spent, 0, sizeof spent);
    for (int i = 0; i < 3; i++) {
        struct sim_options o = sim_defaults();
        snprintf(o.trajectory, sizeof o.trajectory, "%s", path[i]);
        o.seconds = 5;
        o.life = 1e6;
        begin(&o);
        for (int k = 0; k < sim.frames; k++) add_frame(k, 1);
    }
    print_time("tracks that live on");
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(flights), cmocka_unit_test(propagates),
                                       cmocka_unit_test(resets), cmocka_unit_test(long_tracks)};
    if (count > 1) runs = atoi(words[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
