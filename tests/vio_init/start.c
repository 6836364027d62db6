/* SPDX-License-Identifier: MIT */
/* Initialization against drawn motions: normalised errors of the first and the last state; reports without motion, with
 * too little motion and with wrong input; comparison with a dense solution. */
#include "start_draw.h"
#include "start_oracle.h"

#include "vio_init/first_information.h"
#include "vio_init/from_stereo.h"

enum { RUNS = 200 };

static struct vf_start start;
static struct drawn one;

enum { TILT, VELOCITY, GYRO, ACCEL, PARTS };
static const int first_of[PARTS] = {3, 6, 9, 12}, dimension[PARTS] = {2, 3, 3, 3};

static const char *const NAMES[] = {"too few", "uncertain", "stationary", "moving", "inconsistent", "units", "no IMU"};

/** Sums over runs. */
struct statistics {
    int n, stationary;
    double nees[PARTS], square[PARTS], frame;
};

static void add(struct statistics *sum, const struct drawn *d, int frame)
{
    double e[15];
    errors(d, frame, &start.nav, e);
    sum->n++;
    sum->stationary += start.state == VF_START_STATIONARY;
    sum->frame += frame;
    for (int i = 0; i < PARTS; i++) {
        sum->nees[i] += normalised(&start.nav, e, first_of[i], dimension[i]);
        for (int k = 0; k < dimension[i]; k++) sum->square[i] += e[first_of[i] + k] * e[first_of[i] + k];
    }
    assert_true(start.nav.t_ns == d->t_ns[frame] && length(start.nav.position_m) == 0);
}

/** Mean squared normalised errors: at most those of the chi-square distribution within its 99.9 % bounds, and at least
 *  `least` times them. The lower bound is loose because the covariance includes the unknown error common to all
 *  motions. */
static void check_nees(const struct scenario *f, const char *when, const struct statistics *sum, double least)
{
    print_message("%-26s %-5s %3d, stationary %3d, %4.1f frames; NEES tilt %.2f of 2, velocity %.2f, gyro bias %.2f, "
                  "accelerometer bias %.2f of 3; rms %.1f mrad, %.3f m/s, %.1f mrad/s, %.2f m/s^2\n",
                  f->name, when, sum->n, sum->stationary, sum->frame / sum->n, sum->nees[0] / sum->n,
                  sum->nees[1] / sum->n, sum->nees[2] / sum->n, sum->nees[3] / sum->n,
                  1e3 * sqrt(sum->square[0] / sum->n), sqrt(sum->square[1] / sum->n),
                  1e3 * sqrt(sum->square[2] / sum->n), sqrt(sum->square[3] / sum->n));
    for (int i = 0; i < PARTS; i++) {
        const double mean = sum->nees[i] / sum->n, d = dimension[i], width = 3.3 * sqrt(2.0 * d / sum->n);
        REQUIRE(mean < d + width && mean > least * d - width, "%s, %s, part %d: %.2f of %g\n", f->name, when, i, mean,
                d);
    }
}

/** First and last states of RUNS initializations. Returns the number with a first state. */
static int fly(const struct scenario *f, int mono, double least, struct statistics *last)
{
    struct statistics first;
    memset(&first, 0, sizeof first);
    memset(last, 0, sizeof *last);
    for (int run = 0; run < RUNS; run++) {
        int found = 0;
        draw(f, &one);
        vf_start_begin(&start, &one.rig, &one.noise);
        for (int i = 0; i <= f->intervals; i++) {
            const enum vf_start_status state = add_frame(&start, f, &one, i, mono);
            const int has_state = state == VF_START_STATIONARY || state == VF_START_MOVING;
            REQUIRE(state <= VF_START_MOVING, "%s, run %d, frame %d: %s\n", f->name, run, i, NAMES[state]);
            if (has_state && !found++) add(&first, &one, i);
            if (has_state && i == f->intervals) add(last, &one, i);
        }
    }
    check_nees(f, "first", &first, least);
    check_nees(f, "last", last, least);
    return first.n;
}

/** Lower 99.9 % bound of the count in RUNS at probability p each. */
static double share(double p) { return RUNS * (p - 3.3 * sqrt(p * (1 - p) / RUNS)); }

/** Two cameras: every initialization succeeds. The stationary test passes within 3 standard deviations on three axes,
 *  99.2 % of the cases, and never in motion. */
static void two_cameras(void **state)
{
    (void)state;
    static const struct scenario scenario[] = {
        {"hover", 0.05, 0.1, 0.05, 0, 0, 2e-4, 1e-4, 10, 10, 0},
        {"hover, vibration 5 m/s^2", 0.05, 0.1, 0.05, 0, 5, 2e-4, 1e-4, 10, 10, 0},
        {"carried by hand", 0.7, 1.5, 0.5, 0, 0, 2e-4, 1e-4, 10, 10, 0},
        {"shaken", 2, 4, 1, 0, 0, 2e-3, 3e-4, 10, 10, 0},
        {"shaken, 4 motions missing", 2, 4, 1, 0, 0, 2e-3, 3e-4, 10, 11, 0x2c4},
        {"flown, 5 m/s, turns", 0.5, 2, 5, 1, 1, 2e-3, 2e-4, 10, 10, 0},
        {"driven, 25 m/s", 0.05, 0.5, 25, 0, 0.5, 2e-2, 2e-4, 20, 11, 0},
        {"driven, 10 m/s, a curve", 0.05, 0.5, 10, 0.4, 0.5, 2e-2, 2e-4, 20, 11, 0},
        {"constant velocity", 0, 0, 5, 0, 0, 2e-3, 1e-4, 10, 10, 0},
        {"standing, engine", 0, 0, 0, 0, 1, 1e-4, 1e-4, 10, 10, 0},
        {"standing", 0, 0, 0, 0, 0, 1e-4, 1e-4, 10, 10, 0},
    };
    shake(31);
    for (size_t i = 0; i < sizeof scenario / sizeof *scenario; i++) {
        struct statistics last;
        const int stands = scenario[i].accel == 0 && scenario[i].speed == 0;
        assert_int_equal(fly(&scenario[i], 0, 0.2, &last), RUNS);
        REQUIRE(stands || !last.stationary, "%s: %d stationary\n", scenario[i].name, last.stationary);
        if (stands && !scenario[i].vibration) assert_true(last.stationary > share(0.992));
    }
}

/** Squared normalised error, 9 degrees of freedom, of velocity, gyro bias and mounting, by the information that the
 *  estimator begins with. y: error of the mounting [rad]. rate: as for vf_start_information(). */
static double joint(const struct drawn *d, int frame, const double y[3], const double *rate)
{
    enum { N = VF_VIO_FIRST, SHARED = VF_NAV_ACCEL - VF_NAV_V, PART = SHARED + 3 };
    double information[N * N], P[N * N], part[PART * PART], e[N], own[PART];
    vf_start_information(&start.nav, rate, information);
    vf_solve_cholesky(information, information, N, N, 0.0);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) P[i * N + j] = i == j;
        vf_solve_forward(information, &P[i * N], N, N);
        vf_solve_back(information, &P[i * N], N, N);
    }
    errors(d, frame, &start.nav, e);
    memcpy(e + VF_NAV_ERRORS, y, 3 * sizeof *y);
    for (int i = 0; i < PART; i++) {
        const int from = i < SHARED ? VF_NAV_V + i : VF_NAV_ERRORS + i - SHARED;
        own[i] = e[from];
        for (int j = 0; j < PART; j++)
            part[i * PART + j] = P[from * N + (j < SHARED ? VF_NAV_V + j : VF_NAV_ERRORS + j - SHARED)];
    }
    return chi_squared(part, own, PART);
}

/** A mounting that is off by its deviation turns velocity and gyro bias of the first state: the information has that.
 *  Without it the error of the mounting is held against a bias that is known too well. */
static void mounted_otherwise(void **state)
{
    (void)state;
    static const struct scenario scenario[] = {{"curve", 0.05, 0.5, 5, 0.4, 0, 2e-3, 5e-5, 10, 10, 0},
                                               {"turns, 1 rad/s", 0.1, 0.5, 1, 1, 0, 1e-3, 5e-5, 10, 10, 0},
                                               {"standing", 0, 0, 0, 0, 0, 1e-4, 1e-4, 10, 10, 0}};
    shake(38);
    for (size_t n = 0; n < sizeof scenario / sizeof *scenario; n++) {
        const struct scenario *f = &scenario[n];
        double with = 0, without = 0;
        for (int run = 0; run < RUNS; run++) {
            double y[3], back[3], R[9];
            draw(f, &one);
            struct vf_vio_rig assumed = one.rig;
            for (int k = 0; k < 3; k++) y[k] = VF_VIO_MOUNT_SIGMA_RAD * normal(), back[k] = -y[k];
            rotation_of(back, R);
            product(R, one.rig.R_imu_cam, 0, assumed.R_imu_cam);
            vf_start_begin(&start, &assumed, &one.noise);
            for (int i = 0; i <= f->intervals; i++) add_frame(&start, f, &one, i, 0);
            assert_true(start.state == VF_START_MOVING || start.state == VF_START_STATIONARY);
            with += joint(&one, f->intervals, y, start.mean_rate) / RUNS;
            without += joint(&one, f->intervals, y, NULL) / RUNS;
        }
        const double most = 9 + 3.3 * sqrt(18.0 / RUNS);
        print_message("%-26s NEES %.2f of 9 with the mounting, %.2f without\n", f->name, with, without);
        REQUIRE(with < most, "%s: %.2f\n", f->name, with);
        assert_true(f->turn == 0 ? without < most : without > most);
    }
}

/** Carried without rotation or acceleration is not stationary: at 4 cm/s, and where the images cannot resolve it. */
static void not_stationary(void **state)
{
    (void)state;
    static const struct scenario slow = {"carried at 4.3 cm/s", 0, 0, 0.043, 0, 0, 2e-4, 1e-4, 10, 10, 0},
                                 poor = {"at 4.3 cm/s, 2 mm", 0, 0, 0.043, 0, 0, 2e-3, 1e-4, 10, 10, 0};
    struct statistics last;
    shake(36);
    assert_int_equal(fly(&slow, 0, 0.2, &last), RUNS);
    assert_int_equal(last.stationary, 0);
    assert_int_equal(fly(&poor, 0, 0.2, &last), RUNS);
    assert_int_equal(last.stationary, 0);
}

/** One camera: a stationary rig gets a state with velocity 0 within VF_START_STATIONARY_MPS; a moving one gets none. */
static void one_camera(void **state)
{
    (void)state;
    static const struct scenario scenario[] = {{"one camera, standing", 0, 0, 0, 0, 0, 1e-3, 1e-4, 10, 10, 0},
                                               {"one camera, 2 cm/s", 0, 0, 0.02, 0, 0, 1e-3, 1e-4, 10, 10, 0},
                                               {"one camera, carried", 0.7, 1.5, 0.5, 0, 0, 1e-3, 1e-4, 10, 10, 0}};
    shake(37);
    for (int k = 0; k < 3; k++) {
        struct statistics last;
        memset(&last, 0, sizeof last);
        for (int run = 0; run < RUNS; run++) {
            draw(&scenario[k], &one);
            vf_start_begin(&start, &one.rig, &one.noise);
            for (int i = 0; i <= scenario[k].intervals; i++) {
                if (i) one.motion[i - 1].state = VFRONT_MOTION_ROTATION;
                if (i && k < 2) one.motion[i - 1].flags = VFRONT_MOTION_STILL;
                add_frame(&start, &scenario[k], &one, i, 1);
                assert_true(k < 2 || start.state == VF_START_TOO_FEW || start.state == VF_START_UNCERTAIN);
            }
            if (start.state == VF_START_STATIONARY) add(&last, &one, scenario[k].intervals);
        }
        if (k == 2) continue;
        REQUIRE(last.n > share(0.992), "%s: %d of %d\n", scenario[k].name, last.n, RUNS);
        check_nees(&scenario[k], "last", &last, 0);
    }
}

/** At constant velocity without rotation the accelerometer bias is indistinguishable from tilt: the covariance has the
 *  prior's standard deviation and the correlation. */
static void unobservable(void **state)
{
    (void)state;
    static const struct scenario f = {"constant velocity", 0, 0, 5, 0, 0, 1e-4, 1e-4, 10, 11, 0};
    shake(32);
    draw(&f, &one);
    vf_start_begin(&start, &one.rig, &one.noise);
    for (int i = 0; i <= f.intervals; i++) add_frame(&start, &f, &one, i, 0);
    assert_int_equal(start.state, VF_START_MOVING);
    REQUIRE(start.tilt_rad > 0.95 * VF_START_ACCEL_BIAS_M_S2 / 9.81, "tilt of %g rad\n", start.tilt_rad);
    double R[9], largest = 0;
    vf_quaternion_matrix(start.nav.q_odom_imu, R);
    for (int k = 0; k < 3; k++) /* a bias along y of the frame tilts about x */
        largest += start.nav.covariance[vf_nav_index(3, 12 + k)] * R[3 + k] /
                   (VF_START_ACCEL_BIAS_M_S2 * VF_START_ACCEL_BIAS_M_S2 / 9.81);
    REQUIRE(fabs(largest) > 0.9 && fabs(largest) < 1.1, "correlation %g\n", largest);
}

/** Squared normalised error of the stereo velocity at frame i, `late` of an interval later. In IMU axes at i (0), or in
 *  the frame of a state at i + 1 (1). */
static double stereo_nees(const struct scenario *f, int i, int late, const double q[4])
{
    struct vf_from_stereo_motion m;
    vfront_nav_t nav;
    double R[9], P[9], e[3], v[3];
    const wide *y = one.at[i + late].y;
    vf_from_stereo_measure(&m, &one.rig, &one.motion[i - 1], f->samples_per_frame / (double)RATE);
    vf_from_stereo_state(&m, q, f->samples_per_frame / (double)RATE, &nav);
    vf_quaternion_matrix(q, R);
    for (int k = 0; k < 3; k++) {
        v[k] = (double)(y[k] * y[9] + y[3 + k] * y[10] + y[6 + k] * y[11]); /* in IMU axes */
        e[k] = v[k] - m.velocity_mps[k];
    }
    if (!late) return chi_squared(m.P, e, 3);
    rotate(R, v, e);
    for (int k = 0; k < 3; k++) e[k] -= nav.velocity_mps[k];
    for (int k = 0; k < 9; k++) {
        const int r = k / 3 < k % 3 ? k / 3 : k % 3, c = k / 3 + k % 3 - r;
        P[k] = nav.covariance[vf_nav_index(VF_NAV_V + r, VF_NAV_V + c)];
    }
    return chi_squared(P, e, 3);
}

/** Velocity from two cameras alone: at constant velocity as good as their motion; otherwise consistent one frame later,
 *  in any attitude. */
static void two_cameras_alone(void **state)
{
    (void)state;
    static const struct scenario scenario[] = {
        {"constant velocity", 0, 0, 5, 0, 0, 2e-3, 1e-6, 10, 10, 0},
        {"hover", 0.05, 0.1, 0.05, 0, 0, 2e-4, 1e-4, 10, 10, 0},
        {"carried by hand", 0.7, 1.5, 0.5, 0, 0, 2e-4, 1e-4, 10, 10, 0},
        {"shaken", 2, 4, 1, 0, 0, 2e-3, 3e-4, 10, 10, 0},
        {"flown, 5 m/s, turns", 0.5, 2, 5, 1, 1, 2e-3, 2e-4, 10, 10, 0},
        {"driven, 10 m/s, a curve", 0.05, 0.5, 10, 0.4, 0.5, 2e-2, 2e-4, 20, 11, 0},
    };
    shake(38);
    for (size_t k = 0; k < sizeof scenario / sizeof *scenario; k++) {
        double now = 0, later = 0;
        for (int run = 0; run < RUNS; run++) {
            double q[4] = {normal(), normal(), normal(), normal()};
            vf_quaternion_unit(q);
            draw(&scenario[k], &one);
            now += stereo_nees(&scenario[k], 5, 0, q) / RUNS;
            later += stereo_nees(&scenario[k], 5, 1, q) / RUNS;
        }
        print_message("two cameras alone, %-24s NEES velocity %.2f of 3, a frame later %.2f\n", scenario[k].name, now,
                      later);
        const double width = 3.3 * sqrt(6.0 / RUNS);
        REQUIRE(k || (now > 3 - width && now < 3 + width), "%s: %.2f\n", scenario[k].name, now);
        REQUIRE(later < 3 + width, "%s: %.2f a frame later\n", scenario[k].name, later);
    }
}

static void no_state(void)
{
    static const vfront_nav_t none;
    assert_memory_equal(&start.nav, &none, sizeof none);
}

/** Checks the status at the last frame. gyro, accel: factors on rates and forces. */
static void expect_status(const struct scenario *f, double gyro, double accel, enum vf_start_status expected)
{
    for (int i = 0; i < one.n; i++)
        for (int k = 0; k < 3; k++) one.imu[i].gyro_rad_s[k] *= gyro, one.imu[i].accel_m_s2[k] *= accel;
    vf_start_begin(&start, &one.rig, &one.noise);
    for (int i = 0; i <= f->intervals; i++) add_frame(&start, f, &one, i, 0);
    REQUIRE(start.state == expected, "%s: %s, not %s; %g of %u\n", f->name, NAMES[start.state], NAMES[expected],
            start.chi2, start.dof);
    no_state();
}

/** Wrong camera attitude on the IMU, or wrong lever arm: reported as a contradiction while the body rotates. */
static void contradictions(void **state)
{
    (void)state;
    static const struct scenario f = {"mounted otherwise", 1.5, 4, 1, 0, 0, 1e-3, 2e-4, 10, 11, 0};
    shake(33);
    for (int run = 0; run < 40; run++) {
        double w[3] = {normal(), normal(), normal()}, R[9];
        draw(&f, &one);
        unit(w);
        for (int k = 0; k < 3; k++) w[k] *= run & 1 ? 0.35 : 1;
        rotation_of(w, R);
        if (run & 1)
            product(one.rig.R_imu_cam, R, 0, one.rig.R_imu_cam);
        else
            for (int k = 0; k < 3; k++) one.rig.p_imu_cam_m[k] += w[k];
        expect_status(&f, 1, 1, VF_START_INCONSISTENT);
    }
}

static void units(void **state)
{
    (void)state;
    static const struct scenario carried = {"force in g", 0.7, 1.5, 0.3, 0, 0, 2e-4, 1e-4, 10, 10, 0},
                                 still = {"force in g, standing", 0, 0, 0, 0, 0, 2e-4, 1e-4, 10, 10, 0},
                                 turned = {"rates in degrees", 1, 1, 0.3, 0, 0, 2e-4, 1e-4, 10, 10, 0};
    shake(34);
    for (int run = 0; run < 20; run++) {
        draw(&carried, &one);
        expect_status(&carried, 1, 1 / 9.81, VF_START_WRONG_UNITS);
        draw(&still, &one);
        expect_status(&still, 1, 1 / 9.81, VF_START_WRONG_UNITS);
        draw(&turned, &one);
        expect_status(&turned, 57.2957795, 1, VF_START_WRONG_UNITS);
    }
}

/** No state yet: too few frames, too few motions, no samples, time going back, time jump, non-finite values. */
static void waits(void **state)
{
    (void)state;
    static const struct scenario f = {"carried by hand", 0.7, 1.5, 0.3, 0, 0, 2e-4, 1e-4, 10, 10, 0},
                                 gone = {"motions missing", 0.7, 1.5, 0.3, 0, 0, 2e-4, 1e-4, 10, 10, 0x3f};
    shake(35);
    draw(&f, &one);
    vf_start_begin(&start, &one.rig, &one.noise);
    for (int i = 0; i <= f.intervals; i++)
        assert_int_equal(add_frame(&start, &f, &one, i, 0),
                         i + 1 < VF_START_MIN_FRAMES ? VF_START_TOO_FEW : VF_START_MOVING);
    struct vf_start_frame frame = {start.nav.t_ns + 50000000, one.imu, 0, NULL, NULL};
    assert_int_equal(vf_start_step(&start, &frame), VF_START_NO_IMU);
    no_state();
    for (int again = 0; again < 2; again++) { /* jump forward, then back to the first frame: initialization restarts
                                               * with this frame */
        frame.t_ns += VF_START_MAX_INTERVAL_NS + 1;
        frame.samples = 10;
        assert_int_equal(vf_start_step(&start, &frame), VF_START_NO_IMU);
        for (int i = 0; i <= f.intervals; i++)
            assert_int_equal(add_frame(&start, &f, &one, i, 0), !i                            ? VF_START_NO_IMU
                                                                : i + 1 < VF_START_MIN_FRAMES ? VF_START_TOO_FEW
                                                                                              : VF_START_MOVING);
    }
    one.motion[9].t[1] = NAN;
    one.motion[9].covariance[0] = NAN;
    vf_start_begin(&start, &one.rig, &one.noise);
    for (int i = 0; i <= f.intervals; i++) add_frame(&start, &f, &one, i, 0);
    assert_true(start.state == VF_START_INCONSISTENT || start.state == VF_START_UNCERTAIN);
    no_state();
    draw(&gone, &one);
    vf_start_begin(&start, &one.rig, &one.noise);
    for (int i = 0; i <= f.intervals; i++) assert_int_equal(add_frame(&start, &gone, &one, i, 0), VF_START_TOO_FEW);
}

/** State and covariance against a dense problem over all errors. The library's gyro-bias Jacobian neglects the rotation
 *  by the bias itself, here up to 0.02 rad; so the covariance differs by about 1e-3. */
static void as_batch(void **state)
{
    (void)state;
    static const struct scenario scenario[] = {{"carried by hand", 0.7, 1.5, 0.5, 0, 0, 2e-4, 1e-4, 10, 6, 0},
                                               {"driven, a curve", 0.05, 0.5, 10, 0.4, 0.5, 2e-2, 2e-4, 20, 5, 0},
                                               {"a motion missing", 0.7, 1.5, 0.5, 0, 0, 1e-3, 2e-4, 10, 5, 4}};
    double largest[2] = {0, 0}, offset[2];
    shake(38);
    for (int k = 0; k < 3; k++)
        for (int run = 0; run < 2; run++) {
            double e[11], P[121];
            draw(&scenario[k], &one);
            vf_start_begin(&start, &one.rig, &one.noise);
            for (int i = 0; i <= scenario[k].intervals; i++) add_frame(&start, &scenario[k], &one, i, 0);
            assert_int_equal(start.state, VF_START_MOVING);
            batch_start(&start, e, P, offset);
            largest[0] = fmax(largest[0], fabs(offset[0]) / offset[1]);
            largest[1] = fmax(largest[1], fabs(start.nav.offset_sigma_s / offset[1] - 1));
            for (int i = 0; i < 11; i++) {
                const double off = fabs(e[i]) / sqrt(P[12 * i]);
                largest[0] = off > largest[0] ? off : largest[0];
                for (int j = i; j < 11; j++) {
                    const int r = i < 2 ? 3 + i : 4 + i, c = j < 2 ? 3 + j : 4 + j;
                    const double d = fabs(P[11 * i + j] - start.nav.covariance[vf_nav_index(r, c)]) /
                                     sqrt(P[12 * i] * P[12 * j]);
                    largest[1] = d > largest[1] ? d : largest[1];
                }
            }
        }
    print_message("beside the whole problem: state within %.1e deviations, covariance within %.1e\n", largest[0],
                  largest[1]);
    assert_true(largest[0] < 1e-3 && largest[1] < 5e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(mounted_otherwise),
                                       cmocka_unit_test(two_cameras),
                                       cmocka_unit_test(not_stationary),
                                       cmocka_unit_test(one_camera),
                                       cmocka_unit_test(unobservable),
                                       cmocka_unit_test(contradictions),
                                       cmocka_unit_test(units),
                                       cmocka_unit_test(waits),
                                       cmocka_unit_test(as_batch),
                                       cmocka_unit_test(two_cameras_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
