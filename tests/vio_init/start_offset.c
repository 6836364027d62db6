/* SPDX-License-Identifier: MIT */
/* Initialization, time offset between camera and IMU, drawn: normalised errors of offset, tilt and velocity in motion;
 * prior deviation and the same state at rest; frames near time 0; a shifted preintegral against that of the shifted
 * interval. */
#include "start_draw.h"

#include "vio_init/motion_solve.h"

enum { RUNS = 300, EARLIER = 15, FOUND = 285 };
#define LARGEST_S 0.0173 /* offsets are drawn from -LARGEST_S .. LARGEST_S */

static struct vf_start start;
static struct drawn one;

static const char *const NAMES[] = {"too few", "uncertain", "stationary", "moving", "inconsistent", "units", "no IMU"};

/** Time t_ns plus an offset [ns]. */
static uint64_t shifted(uint64_t t_ns, double offset_s) { return (uint64_t)((int64_t)t_ns + llround(offset_s * 1e9)); }

/** Submits frame i, 1..intervals - 1, whose camera clock is offset_s behind the IMU's, with the samples between its
 *  stamps, one more, and EARLIER ones before. The first and the last interval are margin. */
static enum vf_start_status add_late_frame(int i, double offset_s)
{
    const uint64_t t_ns = shifted(one.t_ns[i], -offset_s), from_ns = i > 1 ? shifted(one.t_ns[i - 1], -offset_s) : t_ns;
    int low = 0, high = 0;
    while (low + 1 < one.n && one.imu[low + 1].t_ns <= from_ns) low++;
    while (high + 1 < one.n && one.imu[high].t_ns < t_ns) high++;
    low = low > EARLIER ? low - EARLIER : 0;
    const struct vf_start_frame frame = {t_ns, one.imu + low, (uint32_t)(high - low + 1),
                                         i > 1 ? &one.motion[i - 1] : NULL, NULL};
    return vf_start_step(&start, &frame);
}

/** Runs one initialization over all frames with a time offset. Returns the last status. */
static enum vf_start_status run_with(const struct scenario *f, double offset_s)
{
    vf_start_begin(&start, &one.rig, &one.noise);
    for (int i = 1; i < f->intervals; i++) add_late_frame(i, offset_s);
    return start.state;
}

/** Mean of normalised errors: within 3.3 deviations above the chi-square mean; above `least` times it, because the
 *  covariance includes the unknown error common to all motions. */
static void check_mean(const char *name, const char *what, double mean, int dimension, int n, double least)
{
    const double width = 3.3 * sqrt(2.0 * dimension / n);
    REQUIRE(mean < dimension + width && mean > least * dimension - width, "%s, %s: %.2f of %d\n", name, what, mean,
            dimension);
}

/** Sums over runs: squared normalised errors of offset, tilt, velocity; squared errors and deviations of the offset. */
struct sums {
    int n, reported[7];
    double nees[3], square, deviation;
};

static void add(struct sums *sum, const struct scenario *f, double offset_s)
{
    double e[15];
    const double off = offset_s - start.nav.offset_s, deviation = start.nav.offset_sigma_s;
    sum->reported[start.state]++;
    if (start.state != VF_START_MOVING && start.state != VF_START_STATIONARY) return;
    errors(&one, f->intervals - 1, &start.nav, e);
    sum->n++;
    sum->nees[0] += off * off / (deviation * deviation);
    sum->nees[1] += normalised(&start.nav, e, VF_NAV_W, 2);
    sum->nees[2] += normalised(&start.nav, e, VF_NAV_V, 3);
    sum->square += off * off;
    sum->deviation += deviation;
}

static void print(const char *name, const struct sums *sum)
{
    print_message("%-24s %3d of %d; NEES offset %.2f of 1, tilt %.2f of 2, velocity %.2f of 3; offset rms %.2f ms, "
                  "deviation %.2f ms;",
                  name, sum->n, RUNS, sum->nees[0] / sum->n, sum->nees[1] / sum->n, sum->nees[2] / sum->n,
                  1e3 * sqrt(sum->square / sum->n), 1e3 * sum->deviation / sum->n);
    for (int k = 0; k < 7; k++)
        if (sum->reported[k]) print_message(" %s %d", NAMES[k], sum->reported[k]);
    print_message("\n");
}

/** In motion the offset is found within its deviation, below `most_s` on average, and the state with it. Without the
 *  offset as an unknown samples and motions would be inconsistent. */
static void in_motion(void **state)
{
    (void)state;
    static const struct {
        struct scenario f;
        double most_s;
    } kind[] = {
        {{"carried by hand", 0.7, 1.5, 0.5, 0, 0, 2e-4, 1e-4, 10, 11, 0}, 0.001},
        {{"carried, poor pictures", 0.7, 1.5, 0.5, 0, 0, 2e-3, 1e-3, 10, 11, 0}, 0.0015},
        {{"flown, 5 m/s, turns", 0.5, 2, 5, 1, 1, 2e-3, 2e-4, 10, 11, 0}, 0.001},
        {{"driven, 10 m/s, a curve", 0.05, 0.5, 10, 0.4, 0.5, 2e-2, 2e-4, 20, 11, 0}, 0.006},
        {{"hover", 0.05, 0.1, 0.05, 0, 0, 2e-4, 1e-4, 10, 11, 0}, 0.013},
    };
    shake(51);
    for (size_t k = 0; k < sizeof kind / sizeof *kind; k++) {
        const struct scenario *f = &kind[k].f;
        struct sums sum;
        memset(&sum, 0, sizeof sum);
        for (int run = 0; run < RUNS; run++) {
            draw(f, &one);
            const double offset_s = real(-LARGEST_S, LARGEST_S);
            run_with(f, offset_s);
            add(&sum, f, offset_s);
        }
        print(f->name, &sum);
        REQUIRE(sum.n >= FOUND, "%s: %d states\n", f->name, sum.n);
        check_mean(f->name, "offset", sum.nees[0] / sum.n, 1, sum.n, 0.5);
        check_mean(f->name, "tilt", sum.nees[1] / sum.n, 2, sum.n, 0.2);
        check_mean(f->name, "velocity", sum.nees[2] / sum.n, 3, sum.n, 0.2);
        REQUIRE(sum.deviation / sum.n < kind[k].most_s, "%s: deviation %g s\n", f->name, sum.deviation / sum.n);
    }
}

/** At rest nothing shows the offset: noise of the samples is no information, so that it stays 0 with its prior
 *  deviation, and the state has the errors of its covariance. The mean square of the derivatives by
 *  noise alone has a long tail: in 1 % of the runs it looks like a signal. */
static void at_rest(void **state)
{
    (void)state;
    static const struct scenario still = {"standing", 0, 0, 0, 0, 0, 1e-4, 1e-4, 10, 11, 0};
    struct sums sum;
    int kept = 0;
    memset(&sum, 0, sizeof sum);
    shake(52);
    for (int run = 0; run < RUNS; run++) {
        draw(&still, &one);
        const double offset_s = real(-LARGEST_S, LARGEST_S);
        run_with(&still, offset_s);
        add(&sum, &still, offset_s);
        const double ratio = start.chi2 > start.dof ? sqrt(start.chi2 / start.dof) : 1;
        kept += fabs(start.nav.offset_s) < 1e-12 &&
                fabs(start.nav.offset_sigma_s - ratio * VF_VIO_TIME_OFFSET_SIGMA_S) < 1e-9;
    }
    print(still.name, &sum);
    print_message("%d of %d with the prior's offset\n", kept, RUNS);
    assert_int_equal(sum.n, RUNS);
    assert_true(kept >= RUNS * 0.98);
    check_mean(still.name, "offset", sum.nees[0] / sum.n, 1, sum.n, 0.2);
    check_mean(still.name, "tilt", sum.nees[1] / sum.n, 2, sum.n, 0.2);
    check_mean(still.name, "velocity", sum.nees[2] / sum.n, 3, sum.n, 0.2);
}

/** A clock that is off by more than VF_VIO_TIME_OFFSET_MAX_S is a fault, and no state begins. */
static void fault_of_the_clock(void **state)
{
    (void)state;
    static const struct scenario f = {"carried, poor pictures", 0.7, 1.5, 0.5, 0, 0, 2e-3, 1e-3, 10, 11, 0};
    shake(54);
    for (int run = 0; run < 100; run++) {
        draw(&f, &one);
        run_with(&f, run & 1 ? 0.055 : -0.055);
        REQUIRE(start.state != VF_START_MOVING && start.state != VF_START_STATIONARY, "run %d: %s, offset %g s\n", run,
                NAMES[start.state], start.nav.offset_s);
    }
}

/** Frames from time 0 on: the first interval has no earlier one, so no derivative; the state is found all the same. */
static void near_zero(void **state)
{
    (void)state;
    static const struct scenario f = {"carried by hand", 0.7, 1.5, 0.5, 0, 0, 2e-4, 1e-4, 10, 11, 0};
    shake(53);
    for (int run = 0; run < 20; run++) {
        double e[15];
        draw(&f, &one);
        const uint64_t first_ns = one.t_ns[1] - (run & 1 ? 1 : VF_START_SHIFT_NS - 1);
        for (int i = 1; i < f.intervals; i++) one.t_ns[i] -= first_ns;
        for (int i = 0; i < one.n; i++) one.imu[i].t_ns = one.imu[i].t_ns > first_ns ? one.imu[i].t_ns - first_ns : 0;
        int from = 0;
        while (!one.imu[from].t_ns) from++;
        one.n -= from;
        memmove(one.imu, one.imu + from, (size_t)one.n * sizeof one.imu[0]);
        run_with(&f, 0);
        REQUIRE(start.state == VF_START_MOVING, "run %d: %s\n", run, NAMES[start.state]);
        for (int k = 0; k < 9; k++) assert_true(start.motion[1].shift[k] == 0 && isfinite(start.motion[2].shift[k]));
        errors(&one, f.intervals - 1, &start.nav, e);
        assert_true(fabs(start.nav.offset_s) < 5 * start.nav.offset_sigma_s && start.nav.offset_sigma_s < 0.002);
        assert_true(normalised(&start.nav, e, VF_NAV_W, 2) < 30 && normalised(&start.nav, e, VF_NAV_V, 3) < 35);
    }
}

/** Preintegral of samples over an interval moved by offset_s. */
static void preintegral_of(struct vf_preintegral *d, const vfront_imu_t *imu, uint32_t n, uint64_t from_ns,
                           double offset_s)
{
    const vfront_imu_noise_t noise = any_noise(RATE);
    const double none[3] = {0, 0, 0};
    const struct vf_imu_model model = vf_imu_model_of(&noise, imu, n);
    vf_preintegrate(d, &model, none, none, imu, n, shifted(from_ns, offset_s), shifted(from_ns + 50000000, offset_s));
}

/** Adds squared differences of rotation, velocity and position from a preintegral. */
static void add_difference(double square[3], const struct vf_preintegral *a, const struct vf_preintegral *b)
{
    double off[9];
    vf_start_shift_of(off, a, b);
    for (int part = 0; part < 3; part++) square[part] += dot(off + 3 * part, off + 3 * part);
}

/** Shifted preintegrals of smooth signals equal those of shifted intervals: exactly by -VF_START_SHIFT_NS, and
 *  elsewhere to 1e-3 of the change, root mean squares. */
static void shifts(void **state)
{
    (void)state;
    const double step_s = VF_START_SHIFT_NS * 1e-9;
    double change[3] = {0, 0, 0}, off[2][3] = {{0}};
    shake(54);
    for (int run = 0; run < 200; run++) {
        static vfront_imu_t imu[41];
        struct vf_preintegral at, before, after;
        double shift[9];
        any_samples(imu, 41, RATE, 0.01, 1, 3, 0);
        const uint64_t from_ns = imu[15].t_ns;
        preintegral_of(&at, imu, 41, from_ns, 0);
        preintegral_of(&before, imu, 41, from_ns, -step_s);
        preintegral_of(&after, imu, 41, from_ns, step_s);
        vf_start_shift_of(shift, &at, &before);
        for (int k = -4; k <= 4; k++) {
            struct vf_preintegral moved = at, exact;
            preintegral_of(&exact, imu, 41, from_ns, 0.25 * k * step_s);
            vf_start_shift_preintegral(&moved, shift, 0.25 * k * step_s);
            add_difference(off[k != -4], &moved, &exact);
        }
        add_difference(change, &before, &after);
    }
    for (int part = 0; part < 3; part++) {
        const double at = sqrt(off[0][part] / change[part]), beside = sqrt(off[1][part] / 8 / change[part]);
        print_message("shifted preintegrals, part %d: off by %.1e at the earlier one, by %.1e elsewhere\n", part, at,
                      beside);
        assert_true(at < 1e-9 && beside < 1e-3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(in_motion), cmocka_unit_test(at_rest),
                                       cmocka_unit_test(fault_of_the_clock), cmocka_unit_test(near_zero),
                                       cmocka_unit_test(shifts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
