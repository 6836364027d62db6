/* SPDX-License-Identifier: MIT */
/* Starts beside drawn motions: readings with noise and biases, motions of camera 0 with errors of their covariance. The
 * truth is made in long double from readings without noise. Errors, normalised errors, and what is said when nothing
 * moves, when too little does, and when something is wrong. */
#include "state_oracle.h"

#include "state/start.h"

enum { RUNS = 200, RATE = 200, EACH = 10, MOST = VF_START_INTERVALS * EACH + 1 };

static vfront_imu_t truth_imu[MOST], imu[MOST];
static struct vf_start_work work;

/** Kind of flight. */
struct flight {
    const char *name;
    double gyro, accel; /* root mean square rate and acceleration [rad/s, m/s^2] */
    double speed;       /* of each component of the first velocity [m/s] */
    double shift, turn; /* deviations of the motions [m, rad] */
    int intervals;
    uint32_t missing; /* bits: motions that are missing */
    enum vf_start_state state;
};

/** Flight as drawn: what the start gets, and the truth at its end. */
struct drawn {
    struct vf_start_rig rig;
    struct vf_start_frame frame[VF_START_INTERVALS];
    struct wide_motion end;
    double bias[6];
};

/** Readings without noise, of a body that begins with the attitude R: sines about the force that holds it. */
static void readings(const struct flight *f, const double R[9])
{
    any_readings(truth_imu, MOST, RATE, 3, f->gyro, f->accel, 0);
    for (int i = 0; i < MOST; i++)
        for (int k = 0; k < 3; k++) truth_imu[i].accel_m_s2[k] += 9.81 * R[6 + k] - (k == 2 ? 9.8 : 0);
}

/** Motion of camera 0 from a to b, by its definition: the place of camera axes in the world at both. */
static void motion_of(const struct vf_start_rig *rig, const struct wide_motion *a, const struct wide_motion *b,
                      double R[9], double t[3])
{
    double before[9], now[9], at[2][3];
    for (int m = 0; m < 2; m++) {
        const struct wide_motion *x = m ? b : a;
        double body[9], lever[3], back[3];
        for (int k = 0; k < 9; k++) body[k] = (double)x->y[k];
        product(body, rig->R_cam_imu, 1, m ? now : before); /* from camera axes to the world */
        rotate(m ? now : before, rig->t_cam_imu_m, lever);
        for (int k = 0; k < 3; k++) back[k] = (double)x->y[12 + k] - lever[k];
        memcpy(at[m], back, sizeof back);
    }
    for (int r = 0; r < 3; r++) {
        t[r] = 0;
        for (int k = 0; k < 3; k++) t[r] += now[3 * k + r] * (at[0][k] - at[1][k]);
        for (int c = 0; c < 3; c++) {
            R[3 * r + c] = 0;
            for (int k = 0; k < 3; k++) R[3 * r + c] += now[3 * k + r] * before[3 * k + c];
        }
    }
}

/** A covariance with correlations, and an error of it taken off a motion. */
static void err(struct vf_start_frame *f, double shift, double turn)
{
    double L[36] = {0}, e[6], R[9];
    for (int i = 0; i < 6; i++)
        for (int j = 0; j <= i; j++)
            L[6 * i + j] = (i < 3 ? shift : turn) * (i == j ? real(0.7, 1.3) : real(-0.4, 0.4));
    for (int i = 0; i < 36; i++)
        for (int k = 0; k < 6; k++) f->covariance[i] += L[i / 6 * 6 + k] * L[i % 6 * 6 + k];
    double z[6];
    for (int i = 0; i < 6; i++) z[i] = normal();
    for (int i = 0; i < 6; i++) {
        e[i] = 0;
        for (int k = 0; k < 6; k++) e[i] -= L[6 * i + k] * z[k];
    }
    for (int k = 0; k < 3; k++) f->t[k] += e[k];
    rotation_of(e + 3, R);
    product(R, f->R, 0, f->R);
}

static void measure(struct drawn *d, double scale)
{
    const vfront_imu_noise_t *noise = &d->rig.noise;
    for (int i = 0; i < MOST; i++) {
        imu[i] = truth_imu[i];
        for (int c = 0; c < 6; c++) {
            const int gyro = c < 3;
            if (i) d->bias[c] += (gyro ? noise->gyro_walk : noise->accel_walk) / sqrt(RATE) * normal();
            double *value = gyro ? &imu[i].gyro_rad_s[c] : &imu[i].accel_m_s2[c - 3];
            *value += d->bias[c] + (gyro ? noise->gyro_density : noise->accel_density) * sqrt(RATE) * normal();
            *value *= scale;
        }
    }
}

static void preintegrals(struct drawn *d, int intervals)
{
    const struct vf_imu_model model = vf_imu_model_of(&d->rig.noise, imu, MOST);
    for (int i = 0; i < intervals; i++) {
        struct vf_start_frame *f = &d->frame[i];
        vf_preintegrate(&f->imu, &model, d->rig.gyro_bias, d->rig.accel_bias, imu, MOST, imu[i * EACH].t_ns,
                        imu[(i + 1) * EACH].t_ns);
        for (int k = 1; k <= EACH; k++) vf_start_read(&f->readings, &imu[i * EACH + k]);
    }
}

/** A flight with a rig mounted anyhow. scale: factor of all readings. */
static void draw(const struct flight *f, double scale, struct drawn *d)
{
    const struct vf_start_limits limits = vf_start_usual();
    const wide none[6] = {0};
    double w[3], R[9];
    memset(d, 0, sizeof *d);
    d->rig.noise = any_noise(RATE);
    for (int k = 0; k < 3; k++) w[k] = normal();
    rotation_of(w, d->rig.R_cam_imu);
    for (int k = 0; k < 3; k++) d->rig.t_cam_imu_m[k] = 0.1 * normal(), w[k] = normal();
    rotation_of(w, R);
    readings(f, R);
    for (int k = 0; k < 9; k++) d->end.y[k] = R[k];
    for (int k = 0; k < 3; k++) d->end.y[9 + k] = f->speed * normal();
    for (int c = 0; c < 6; c++) d->bias[c] = (c < 3 ? limits.gyro_bias_rad_s : limits.accel_bias_m_s2) * normal();
    measure(d, scale);
    preintegrals(d, f->intervals);
    for (int i = 0; i < f->intervals; i++) {
        const struct wide_motion before = d->end;
        wide_integrate(&d->end, truth_imu, MOST, imu[i * EACH].t_ns, imu[(i + 1) * EACH].t_ns, none, 9.81L, 1);
        motion_of(&d->rig, &before, &d->end, d->frame[i].R, d->frame[i].t);
        err(&d->frame[i], f->shift, f->turn);
        d->frame[i].seen = !(f->missing >> i & 1);
    }
}

/** Errors true - estimated, the truth turned about z so that the yaw's is 0. The bias walks on to the last reading. */
static void errors(const struct drawn *d, const vfront_nav_t *nav, double e[15])
{
    wide R[9], w[3] = {0}, turned[9];
    double Z[9], yaw = 0, v[3];
    wide_matrix(nav->q_odom_imu, R);
    for (int i = 0; i < 8; i++) {
        const double by[3] = {0, 0, -yaw};
        rotation_of(by, Z);
        for (int k = 0; k < 9; k++) {
            turned[k] = 0;
            for (int j = 0; j < 3; j++) turned[k] += Z[k / 3 * 3 + j] * d->end.y[3 * j + k % 3];
        }
        wide_between(turned, R, w);
        yaw += (double)w[2];
    }
    for (int k = 0; k < 3; k++) v[k] = (double)d->end.y[9 + k];
    rotate(Z, v, v);
    for (int k = 0; k < 3; k++) {
        e[k] = -nav->position_m[k];
        e[3 + k] = (double)w[k];
        e[6 + k] = v[k] - nav->velocity_mps[k];
        e[9 + k] = d->bias[k] - nav->gyro_bias_rad_s[k];
        e[12 + k] = d->bias[3 + k] - nav->accel_bias_m_s2[k];
    }
}

/** Normalised square of the errors with the numbers at `which`. */
static double normalised(const vfront_nav_t *nav, const double e[15], const int *which, int n)
{
    double P[225], part[15];
    for (int i = 0; i < n; i++) {
        part[i] = e[which[i]];
        for (int j = 0; j < n; j++) {
            const int r = which[i] < which[j] ? which[i] : which[j], c = which[i] < which[j] ? which[j] : which[i];
            P[i * n + j] = nav->covariance[vf_nav_index(r, c)];
        }
    }
    return chi_squared(P, part, n);
}

enum { TILT, VELOCITY, GYRO, ACCEL, ALL, KINDS };
static const int kind[KINDS][11] = {
    {3, 4}, {6, 7, 8}, {9, 10, 11}, {12, 13, 14}, {3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14}};
static const int dimension[KINDS] = {2, 3, 3, 3, 11};

static void said(const struct flight *f, const struct vf_start *s, int run)
{
    REQUIRE(s->state == f->state, "%s, run %d: says %d, not %d; chi2 %g of %u, tilt %g, velocity %g\n", f->name, run,
            (int)s->state, (int)f->state, s->chi2, s->freedom, s->tilt_rad, s->velocity_mps);
}

static void bounded(const struct flight *f, double mean, int d, int n)
{
    const double width = 3.3 * sqrt(2.0 * d / n);
    REQUIRE(mean < d + width && (mean > d - width || f->state == VF_START_STANDING),
            "%s: %.2f of %d, not within %.2f\n", f->name, mean, d, width);
}

/** Mean normalised squares over RUNS flights within the 99.9 % bounds, of flights that all come up. */
static void fly(const struct flight *f, int runs)
{
    static struct drawn d;
    struct vf_start_limits limits = vf_start_usual();
    double sum[KINDS] = {0}, square[4] = {0}, chi2 = 0, least[2] = {0};
    limits.velocity_mps = 3;
    for (int run = 0; run < runs; run++) {
        struct vf_start s;
        double e[15];
        draw(f, 1, &d);
        vf_start(&work, &d.rig, d.frame, f->intervals, &limits, &s);
        said(f, &s, run);
        if (s.state != VF_START_STANDING && s.state != VF_START_MOVING) continue;
        errors(&d, &s.nav, e);
        for (int i = 0; i < KINDS; i++) sum[i] += normalised(&s.nav, e, kind[i], dimension[i]) / runs;
        for (int i = 0; i < 12; i++) square[i / 3] += e[3 + i] * e[3 + i] / runs;
        chi2 += s.chi2 / s.freedom / runs;
        least[0] += s.tilt_rad / runs, least[1] += s.velocity_mps / runs;
        assert_true(s.nav.covariance[0] == 0 && s.nav.covariance[vf_nav_index(5, 5)] == 0 && s.nav.position_m[0] == 0);
    }
    print_message("%-28s tilt %.2f of 2, velocity %.2f, gyro bias %.2f, accelerometer bias %.2f of 3, all %.2f of 11; "
                  "rms %.1f mrad, %.1f mm/s, %.2f mrad/s, %.3f m/s^2; said %.1f mrad, %.1f mm/s; chi2 %.2f\n",
                  f->name, sum[0], sum[1], sum[2], sum[3], sum[4], 1e3 * sqrt(square[0]), 1e3 * sqrt(square[1]),
                  1e3 * sqrt(square[2]), sqrt(square[3]), 1e3 * least[0], 1e3 * least[1], chi2);
    for (int i = 0; i < KINDS; i++) bounded(f, sum[i], dimension[i], runs);
}

static void covariances(void **state)
{
    (void)state;
    static const struct flight flight[] = {
        {"carried by hand, 0.5 s", 0.7, 1.5, 0.3, 2e-3, 3e-4, 10, 0, VF_START_MOVING},
        {"carried by hand, 0.2 s", 0.7, 1.5, 0.3, 2e-3, 3e-4, 4, 0, VF_START_MOVING},
        {"shaken, 0.5 s", 2, 6, 1, 2e-3, 3e-4, 10, 0, VF_START_MOVING},
        {"shaken, 4 motions missing", 2, 6, 1, 2e-3, 3e-4, 11, 0x2c4, VF_START_MOVING},
        {"driving, 0.5 s", 0.2, 0.5, 10, 1e-2, 4e-4, 10, 0, VF_START_MOVING},
        {"sway, 0.5 s", 0.05, 0.1, 0.05, 1e-3, 2e-4, 10, 0, VF_START_MOVING},
        {"constant velocity", 0, 0, 5, 2e-3, 3e-4, 10, 0, VF_START_MOVING},
        {"standing", 0, 0, 0, 1e-3, 2e-4, 10, 0, VF_START_STANDING},
    };
    shake(31);
    for (size_t i = 0; i < sizeof flight / sizeof *flight; i++) fly(&flight[i], RUNS);
}

/** At constant velocity and without rotation the accelerometer's bias is tilt: the covariance has its prior's
 *  deviation, and the correlation. */
static void unobservable(void **state)
{
    (void)state;
    static const struct flight f = {"constant velocity", 0, 0, 5, 1e-3, 2e-4, 11, 0, VF_START_MOVING};
    static struct drawn d;
    struct vf_start_limits limits = vf_start_usual();
    struct vf_start s;
    shake(32);
    draw(&f, 1, &d);
    limits.velocity_mps = 1;
    vf_start(&work, &d.rig, d.frame, f.intervals, &limits, &s);
    said(&f, &s, 0);
    REQUIRE(s.tilt_rad > 0.95 * 0.2 / 9.81, "tilt of %g rad\n", s.tilt_rad);
    double R[9], most = 0;
    vf_quaternion_matrix(s.nav.q_odom_imu, R);
    for (int k = 0; k < 3; k++) {
        const double both = s.nav.covariance[vf_nav_index(3, 12 + k)];
        most += both * R[3 + k] / (0.2 * 0.2 / 9.81); /* bias along y of the frame tilts about x */
    }
    REQUIRE(fabs(most) > 0.95 && fabs(most) < 1.05, "correlation %g\n", most);
}

/** A camera that is mounted otherwise than said is a contradiction where the body turns; so is a wrong lever. */
static void contradictions(void **state)
{
    (void)state;
    static const struct flight f = {"mounted otherwise", 1.5, 4, 1, 2e-3, 3e-4, 11, 0, VF_START_CONTRADICTS};
    static struct drawn d;
    const struct vf_start_limits limits = vf_start_usual();
    shake(33);
    for (int run = 0; run < 40; run++) {
        struct vf_start s;
        double w[3] = {normal(), normal(), normal()}, R[9];
        draw(&f, 1, &d);
        if (run & 1) {
            unit(w);
            for (int k = 0; k < 3; k++) w[k] *= 0.35;
            rotation_of(w, R);
            product(R, d.rig.R_cam_imu, 0, d.rig.R_cam_imu);
        } else {
            for (int k = 0; k < 3; k++) d.rig.t_cam_imu_m[k] += w[k] > 0 ? 1 : -1;
        }
        vf_start(&work, &d.rig, d.frame, f.intervals, &limits, &s);
        said(&f, &s, run);
        for (int i = 0; i < 120; i++) assert_true(s.nav.covariance[i] == 0);
    }
}

static void units(void **state)
{
    (void)state;
    static const struct flight g = {"force in g", 0.7, 1.5, 0.3, 2e-3, 3e-4, 10, 0, VF_START_UNITS},
                               still = {"force in g, standing", 0, 0, 0, 2e-3, 3e-4, 10, 0, VF_START_UNITS},
                               turn = {"rates in degrees", 1, 1, 0.3, 2e-3, 3e-4, 10, 0, VF_START_UNITS};
    static struct drawn d;
    const struct vf_start_limits limits = vf_start_usual();
    struct vf_start s;
    shake(34);
    for (int run = 0; run < 20; run++) {
        draw(&g, 1 / 9.81, &d);
        vf_start(&work, &d.rig, d.frame, g.intervals, &limits, &s);
        said(&g, &s, run);
        draw(&still, 1 / 9.81, &d);
        vf_start(&work, &d.rig, d.frame, still.intervals, &limits, &s);
        said(&still, &s, run);
        draw(&turn, 1, &d);
        for (int i = 0; i < MOST; i++)
            for (int k = 0; k < 3; k++) imu[i].gyro_rad_s[k] *= 57.2957795;
        for (int i = 0; i < turn.intervals; i++) memset(&d.frame[i].readings, 0, sizeof d.frame[i].readings);
        preintegrals(&d, turn.intervals);
        vf_start(&work, &d.rig, d.frame, turn.intervals, &limits, &s);
        said(&turn, &s, run);
    }
}

/** Too few frames, too few motions, no readings, deviations over a limit: no state, and the reason. */
static void waits(void **state)
{
    (void)state;
    static const struct flight f = {"carried by hand", 0.7, 1.5, 0.3, 2e-3, 3e-4, 10, 0, VF_START_MOVING};
    static struct drawn d;
    struct vf_start_limits limits = vf_start_usual();
    struct vf_start s;
    shake(35);
    draw(&f, 1, &d);
    vf_start(&work, &d.rig, d.frame, f.intervals, &limits, &s);
    assert_int_equal(s.state, VF_START_MOVING);
    vf_start(&work, &d.rig, d.frame, VF_START_LEAST - 2, &limits, &s);
    assert_int_equal(s.state, VF_START_FEW);
    vf_start(&work, &d.rig, d.frame, 0, &limits, &s);
    assert_int_equal(s.state, VF_START_FEW);
    limits.tilt_rad = 1e-3;
    vf_start(&work, &d.rig, d.frame, f.intervals, &limits, &s);
    assert_int_equal(s.state, VF_START_WEAK);
    limits = vf_start_usual();
    for (int i = 0; i < 6; i++) d.frame[i].seen = 0;
    vf_start(&work, &d.rig, d.frame, f.intervals, &limits, &s);
    assert_int_equal(s.state, VF_START_FEW);
    memset(&d.frame[3].readings, 0, sizeof d.frame[3].readings);
    vf_start(&work, &d.rig, d.frame, f.intervals, &limits, &s);
    assert_int_equal(s.state, VF_START_NO_IMU);
}

/** What sways slowly, or is carried smoothly without rotation, does not stand. */
static void not_standing(void **state)
{
    (void)state;
    static const struct flight flight[] = {{"sway of 2 cm/s", 0.03, 0.05, 0.02, 1e-3, 2e-4, 10, 0, VF_START_MOVING},
                                           {"carried at 3 cm/s", 0, 0, 0.03, 1e-3, 2e-4, 10, 0, VF_START_MOVING}};
    static struct drawn d;
    const struct vf_start_limits limits = vf_start_usual();
    int stands[2] = {0};
    shake(36);
    for (int i = 0; i < 2; i++)
        for (int run = 0; run < 100; run++) {
            struct vf_start s;
            double e[15];
            draw(&flight[i], 1, &d);
            vf_start(&work, &d.rig, d.frame, flight[i].intervals, &limits, &s);
            if (s.state != VF_START_STANDING) continue;
            stands[i]++;
            errors(&d, &s.nav, e);
            REQUIRE(length(e + 6) < 0.04, "%s: stands at %g m/s\n", flight[i].name, length(e + 6));
        }
    print_message("taken to stand: %s %d %%, %s %d %%\n", flight[0].name, stands[0], flight[1].name, stands[1]);
    assert_true(stands[0] < 10 && stands[1] < 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(covariances),    cmocka_unit_test(unobservable),
                                       cmocka_unit_test(contradictions), cmocka_unit_test(units),
                                       cmocka_unit_test(waits),          cmocka_unit_test(not_standing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
