/* SPDX-License-Identifier: MIT */
/* gyro_errors: the filter against an information filter in long double, over drawn frames; consistency of errors and
 * innovations with their covariances over drawn gyros and stamps, at 5 to 60 frames/s; noise; contradictions;
 * covariance after 10^5 frames; turns of up to a radian. */
#include "gyro_errors_oracle.h"

#include "math/rotation.h"

/** Uniform in low..high. */
static double real(double low, double high)
{
    return low + (high - low) * (double)(roll64() >> 11) / 9007199254740992.0;
}

/** Standard normal: Box and Muller. */
static double normal(void)
{
    const double radius = sqrt(-2.0 * log(1.0 - real(0.0, 1.0)));
    return radius * cos(6.283185307179586 * real(0.0, 1.0));
}

/* ---- a gyro ------------------------------------------------------------------------------------------------------ */

#define WAVES 4 /* number of sines in the rate about each axis */

/** A turning camera and its gyro. Rate of the camera: a sum of sines. The gyro's rates g follow from the camera's rates
 *  c: c = b + (I + M) g, with g of a time o later. */
struct world {
    double size_radps[3][WAVES], frequency_hz[3][WAVES], phase_rad[3][WAVES];
    double x[N]; /* true errors: b, o, M */
    double dt_s, t_s;
    double stamp_s, late_s; /* standard deviation of the camera's stamps; how late the last frame was */
};

static struct world any_world(double dt_s, double size_radps)
{
    struct world w;
    memset(&w, 0, sizeof w);
    w.dt_s = dt_s;
    w.t_s = 1.0;
    for (int k = 0; k < 3; k++)
        for (int n = 0; n < WAVES; n++) {
            w.size_radps[k][n] = size_radps * normal();
            w.frequency_hz[k][n] = real(0.1, 0.3);
            w.phase_rad[k][n] = real(0.0, 6.28);
        }
    for (int i = 0; i < N; i++) w.x[i] = prior_of(i) * normal();
    return w;
}

/** Rate of the camera at a time [rad/s]. */
static void rate_at(const struct world *w, double t_s, double out[3])
{
    for (int k = 0; k < 3; k++) {
        out[k] = 0.0;
        for (int n = 0; n < WAVES; n++)
            out[k] += w->size_radps[k][n] * sin(6.283185307179586 * w->frequency_hz[k][n] * t_s + w->phase_rad[k][n]);
    }
}

/** Solves (I + M) g = c for three equations by Cramer's rule. */
static void solve3(const double M[9], const double c[3], double g[3])
{
    double A[3][3];
    for (int i = 0; i < 9; i++) A[i / 3][i % 3] = (i % 4 == 0) + M[i];
    double all = 0.0;
    for (int k = 0; k < 4; k++) { /* the last time without a replaced column */
        double B[3][3];
        memcpy(B, A, sizeof B);
        for (int r = 0; r < 3 && k < 3; r++) B[r][k] = c[r];
        const double d = B[0][0] * (B[1][1] * B[2][2] - B[1][2] * B[2][1]) -
                         B[0][1] * (B[1][0] * B[2][2] - B[1][2] * B[2][0]) +
                         B[0][2] * (B[1][0] * B[2][1] - B[1][1] * B[2][0]);
        if (k < 3) g[k] = d;
        if (k == 3) all = d;
    }
    for (int k = 0; k < 3; k++) g[k] /= all;
}

/** Rate of the gyro at a time of its own clock [rad/s]. */
static void gyro_at(const struct world *w, double t_s, double out[3])
{
    double c[3];
    rate_at(w, t_s - w->x[3], c);
    for (int k = 0; k < 3; k++) c[k] -= w->x[k];
    solve3(w->x + 4, c, out);
}

/** Rotation between two times by a rate, in axes of its end, by the midpoints of 8 steps. */
static void turn_by(const struct world *w, void (*rate)(const struct world *, double, double[3]), double from_s,
                    double to_s, long double R[3][3])
{
    const double step_s = (to_s - from_s) / 8;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) R[r][c] = r == c;
    for (int n = 0; n < 8; n++) {
        double at[3];
        long double step[3][3] = {{0.0L}}, all[3][3] = {{0.0L}};
        rate(w, from_s + (n + 0.5) * step_s, at);
        add_rotation(at, (long double)step_s, 1.0L, step);
        for (int i = 0; i < 27; i++) all[i / 9][i % 3] += step[i / 9][i / 3 % 3] * R[i / 3 % 3][i % 3];
        memcpy(R, all, sizeof all);
    }
}

/** Rotation vector of R by its sine and cosine. */
static void vector_of(long double R[3][3], double out[3])
{
    const double v[3] = {(double)(R[2][1] - R[1][2]) / 2, (double)(R[0][2] - R[2][0]) / 2,
                         (double)(R[1][0] - R[0][1]) / 2};
    const double sine = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    const double angle = atan2(sine, (double)(R[0][0] + R[1][1] + R[2][2] - 1.0L) / 2);
    for (int k = 0; k < 3; k++) out[k] = sine > 0.0 ? v[k] * angle / sine : 0.0;
}

/** Next frame: the gyro's turn at the filter's offset, and the rotation vector from it to the camera's [rad], without
 *  noise. */
static void next_frame(struct world *w, const struct vf_gyro_errors *e, struct vf_gyro_turn *turn, double z[3])
{
    double from[3], to[3];
    long double camera[3][3], gyro[3][3], between[3][3] = {{0.0L}};
    for (int i = 0; i < N; i++) w->x[i] += walk_of(i) * sqrt(w->dt_s) * normal();
    const double t = w->t_s += w->dt_s, before_s = w->late_s, offset_s = e->x[VF_GYRO_OFFSET];
    w->late_s = w->stamp_s * normal();
    turn_by(w, rate_at, t - w->dt_s + before_s, t + w->late_s, camera);
    turn_by(w, gyro_at, t - w->dt_s + offset_s, t + offset_s, gyro);
    gyro_at(w, t - w->dt_s + offset_s, from), gyro_at(w, t + offset_s, to);
    turn->dt_s = w->dt_s;
    vector_of(gyro, turn->w);
    for (int i = 0; i < 27; i++) between[i / 9][i % 3] += camera[i / 9][i / 3 % 3] * gyro[i % 3][i / 3 % 3];
    vector_of(between, z);
    for (int k = 0; k < 3; k++) {
        turn->change_radps[k] = to[k];
        for (int c = 0; c < 3; c++) turn->change_radps[k] -= (double)gyro[k][c] * from[c];
    }
}

/** Random covariance of a motion with standard deviations of about sigma_rad, as an upper triangle; noise drawn from
 *  it is added to z. */
static void add_noise(double sigma_rad, double noise_rad, float own[6], double z[3])
{
    double L[3][3] = {{0}};
    for (int r = 0; r < 3; r++)
        for (int c = 0; c <= r; c++) L[r][c] = sigma_rad * (r == c ? real(0.5, 1.5) : real(-0.5, 0.5));
    for (int r = 0, i = 0; r < 3; r++)
        for (int c = r; c < 3; c++, i++) own[i] = (float)(L[r][0] * L[c][0] + L[r][1] * L[c][1] + L[r][2] * L[c][2]);
    const double n[3] = {normal(), normal(), normal()};
    for (int r = 0; r < 3; r++) z[r] += L[r][0] * n[0] + L[r][1] * n[1] + L[r][2] * n[2] + noise_rad * normal();
}

/** A frame through the filter: z: rotation vector from the samples' turn to the motion [rad]. innovation: out. */
static void filter(struct vf_gyro_errors *e, const struct vf_gyro_turn *turn, const double z[3], const float own[6],
                   double t_s, double innovation[3])
{
    double correction[3];
    vf_gyro_errors_correction(e, turn, correction);
    for (int k = 0; k < 3; k++) innovation[k] = z[k] - correction[k];
    vf_gyro_errors_walk(e, (uint64_t)(t_s * 1e9 + 0.5));
    vf_gyro_errors_add(e, turn, innovation, own);
    vf_gyro_errors_end(e, 1, 0);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/** Drawn gyros, rates, intervals and covariances of motions: the covariance of each frame's rotation; at the end state,
 *  covariance and noise. */
static void same_as_information_filter(void **state)
{
    (void)state;
    shake(1);
    for (int n = 0; n < 1000; n++) {
        struct vf_gyro_errors e;
        struct oracle o;
        struct world w = any_world(real(0.01, 0.2), pow(10.0, real(-3.0, 0.0)));
        const double sigma = pow(10.0, real(-4.5, -3.0)), noise = pow(10.0, real(-4.5, -2.5));
        const int frames = 4 + (int)(roll64() % (FRAMES - 3)) / (n % 8 ? 4 : 1);
        vf_gyro_errors_begin(&e);
        begin_oracle(&o);
        for (int f = 0; f < frames; f++) {
            struct vf_gyro_turn turn;
            double z[3], covariance[6], unused[3];
            float own[6], prior[6];
            if (roll64() % 5 == 0) w.t_s += real(0.0, 3.0); /* a gap */
            next_frame(&w, &e, &turn, z);
            add_noise(sigma, noise, own, z);
            w.t_s = floor(w.t_s * 1e9) * 1e-9;
            vf_gyro_errors_covariance(&e, &turn, (uint64_t)(w.t_s * 1e9 + 0.5), prior);
            oracle_frame(&o, &turn, z, own, w.t_s, covariance);
            for (int i = 0; i < 6; i++)
                REQUIRE(fabs((double)prior[i] - covariance[i]) < 1e-6 * (covariance[0] + covariance[3] + covariance[5]),
                        "case %d, frame %d: covariance %d: %g, %g", n, f, i, (double)prior[i], covariance[i]);
            filter(&e, &turn, z, own, w.t_s, unused);
        }
        long double x[N], P[N][N];
        state_by(&o, x, P);
        for (int i = 0; i < N; i++) {
            const double sigma_i = (double)sqrtl(P[i][i]);
            REQUIRE(fabs(e.x[i] - (double)x[i]) < 1e-6 * sigma_i, "case %d: state %d: %g, %g", n, i, e.x[i],
                    (double)x[i]);
            for (int j = 0; j < N; j++)
                REQUIRE(fabs(e.P[i][j] - (double)P[i][j]) < 1e-6 * sigma_i * (double)sqrtl(P[j][j]),
                        "case %d: covariance %d %d: %g, %g", n, i, j, e.P[i][j], (double)P[i][j]);
        }
        const double by = noise_by(&o), stamp = stamp_by(&o);
        REQUIRE(fabs(e.stamp - stamp) < 1e-6 * fabs(stamp) + 1e-15, "case %d: stamps %g, %g", n, e.stamp, stamp);
        REQUIRE(fabs(e.noise - by) < 1e-6 * fabs(by) + 1e-15, "case %d: noise %g, %g", n, e.noise, by);
    }
}

/** Squared Mahalanobis distance of v. A: its covariance. */
static double mahalanobis2(int n, long double A[N][N], const double v[N])
{
    long double W[N][N], d2 = 0.0L;
    assert_true(invert(n, A, W));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) d2 += (long double)v[i] * W[i][j] * (long double)v[j];
    return (double)d2;
}

/** Normalised squared error of the filter's state: chi-square with 13 degrees of freedom. */
static double nees(const struct vf_gyro_errors *e, const struct world *w)
{
    long double P[N][N];
    double off[N];
    for (int i = 0; i < N; i++) {
        off[i] = e->x[i] - w->x[i];
        for (int j = 0; j < N; j++) P[i][j] = (long double)e->P[i][j];
    }
    return mahalanobis2(N, P, off);
}

/** Sums over runs. */
struct sums {
    double nees, nis, square[N];
    int frames, over; /* frames with an innovation; innovations beyond the threshold of motion_check.h */
};

/** Runs a drawn gyro for some seconds. size_radps: of the sines in its rate. */
static void run(double rate_hz, double size_radps, double seconds, struct sums *s)
{
    struct vf_gyro_errors e;
    struct world w = any_world(1.0 / rate_hz, size_radps);
    const double noise = 5e-4;
    w.stamp_s = pow(10.0, real(-5.0, -3.0));
    vf_gyro_errors_begin(&e);
    for (int f = 0; f < (int)(seconds * rate_hz); f++) {
        struct vf_gyro_turn turn;
        double z[3], innovation[N] = {0};
        long double S[N][N];
        float own[6], prior[6];
        next_frame(&w, &e, &turn, z);
        add_noise(3e-4, noise, own, z);
        vf_gyro_errors_covariance(&e, &turn, (uint64_t)(w.t_s * 1e9 + 0.5), prior);
        filter(&e, &turn, z, own, w.t_s, innovation);
        for (int r = 0, i = 0; r < 3; r++)
            for (int c = r; c < 3; c++, i++) S[r][c] = S[c][r] = (long double)prior[i] + (long double)own[i];
        const double d2 = mahalanobis2(3, S, innovation);
        s->over += d2 > 30.66;
        s->nis += d2;
        s->frames++;
    }
    s->nees += nees(&e, &w);
    for (int i = 0; i < N; i++) s->square[i] += pow(e.x[i] - w.x[i], 2.0);
}

/** Gyros drawn from the prior deviations: after 20 s their errors are known, as well as the covariance says.
 *  Innovations have the mean of their distribution, and none in 10^4 exceeds the threshold, but 7 in 10^4
 *  where half a radian a frame makes errors of stamps large, which two frames share. Bounds: four deviations of
 *  a mean of chi-square values, and 5 % more for the state, 3 % for innovations, because both kinds of noise are
 *  estimated: stamps off by 0.01 to 1 ms among them. */
static void recovery(void **state)
{
    static const double rate_hz[] = {5, 10, 20, 30, 60, 10}, size_radps[] = {0.35, 0.35, 0.35, 0.35, 0.35, 2.0},
                        most[3] = {3e-3, 2e-3, 4e-3}; /* rad/s, s, 1 */
    enum { RUNS = 120 };
    (void)state;
    shake(2);
    for (size_t k = 0; k < sizeof rate_hz / sizeof *rate_hz; k++) {
        struct sums s;
        memset(&s, 0, sizeof s);
        for (int n = 0; n < RUNS; n++) run(rate_hz[k], size_radps[k], 20.0, &s);
        const double mean = s.nees / RUNS / N, nis = s.nis / s.frames / 3.0, spread = sqrt(2.0 / N / RUNS);
        double rms[3] = {0};
        for (int i = 0; i < N; i++)
            rms[i < 3 ? 0 : i == 3 ? 1 : 2] += s.square[i] / RUNS / (i < 3 ? 3 : i == 3 ? 1 : 9);
        REQUIRE(fabs(mean - 1.0) < 4.0 * spread + 0.05, "%g Hz: NEES %.3f of 1", rate_hz[k], mean);
        REQUIRE(fabs(nis - 1.0) < 4.0 * sqrt(2.0 / 3.0 / s.frames) + 0.03, "%g Hz: NIS %.3f of 1", rate_hz[k], nis);
        REQUIRE(s.over <= s.frames / (size_radps[k] > 1.0 ? 1000 : 10000),
                "%g Hz: %d of %d innovations over the threshold", rate_hz[k], s.over, s.frames);
        for (int i = 0; i < 3; i++) REQUIRE(sqrt(rms[i]) < most[i], "%g Hz: error %d: %g", rate_hz[k], i, sqrt(rms[i]));
    }
}

/** Noise of 0.2 to 3 mrad is estimated to a fifth; below the least one, the least one is used. */
static void noise_of_the_rotation(void **state)
{
    static const double noise_rad[] = {2e-4, 5e-4, 3e-3, 2e-5};
    (void)state;
    shake(3);
    for (size_t k = 0; k < sizeof noise_rad / sizeof *noise_rad; k++) {
        struct vf_gyro_errors e;
        struct world w = any_world(0.05, 0.2);
        double sum = 0.0, square = 0.0;
        vf_gyro_errors_begin(&e);
        for (int f = 0; f < 1600; f++) {
            struct vf_gyro_turn turn;
            double z[3], innovation[3];
            float own[6];
            next_frame(&w, &e, &turn, z);
            add_noise(5e-5, noise_rad[k], own, z);
            filter(&e, &turn, z, own, w.t_s, innovation);
            if (f >= 600) sum += vf_gyro_errors_noise(&e) / 1000.0, square += e.square / 1000.0;
        }
        const double wanted = fmax(noise_rad[k], 1e-4);
        REQUIRE(fabs(sqrt(sum) / wanted - 1.0) < 0.2, "noise of %g rad: %g", noise_rad[k], sqrt(sum));
        if (noise_rad[k] > 1e-4) REQUIRE(fabs(sqrt(square / 3) / wanted - 1.0) < 0.3, "rms %g", sqrt(square / 3));
    }
}

/** 64 contradictions without an agreement between them make the errors unknown. Frames without a motion do not
 *  count. */
static void contradictions(void **state)
{
    struct vf_gyro_errors e, unknown;
    struct world w;
    (void)state;
    shake(4);
    vf_gyro_errors_begin(&unknown);
    for (int pause = 0; pause < 3; pause++) { /* 0: none; 1: frames without a motion; 2: an agreement after 63 */
        w = any_world(0.05, 0.2);
        e = unknown;
        for (int f = 0; f < 100; f++) {
            struct vf_gyro_turn turn;
            double z[3], innovation[3];
            float own[6];
            next_frame(&w, &e, &turn, z);
            add_noise(1e-4, 3e-4, own, z);
            filter(&e, &turn, z, own, w.t_s, innovation);
        }
        const struct vf_gyro_errors known = e;
        for (int f = 0; f < 63; f++) {
            vf_gyro_errors_end(&e, 0, 1);
            if (pause == 1) vf_gyro_errors_end(&e, 0, 0);
        }
        assert_memory_equal(e.x, known.x, sizeof e.x);
        assert_memory_equal(e.P, known.P, sizeof e.P);
        if (pause == 2) vf_gyro_errors_end(&e, 1, 0);
        vf_gyro_errors_end(&e, 0, 1);
        if (pause < 2) assert_memory_equal(&e, &unknown, sizeof e);
        if (pause == 2) assert_memory_equal(e.x, known.x, sizeof e.x);
    }
}

/** A camera that does not turn says nothing about its stamps; one that turns does. */
static void stamps_without_turn(void **state)
{
    (void)state;
    static const float own[6] = {1e-8f, 0.0f, 0.0f, 1e-8f, 0.0f, 1e-8f};
    static const double w[3] = {1e-4, -2e-4, 1e-4};
    struct vf_gyro_errors e;
    struct vf_gyro_turn turn;
    memset(&turn, 0, sizeof turn);
    turn.dt_s = 0.05;
    vf_gyro_errors_begin(&e);
    vf_gyro_errors_walk(&e, 1000000000u);
    const double stamp = e.stamp, weight = e.stamp_weight;
    vf_gyro_errors_add(&e, &turn, w, own);
    assert_true(e.stamp == stamp && e.stamp_weight == weight && e.frames == 1);
    turn.w[0] = 0.1;
    vf_gyro_errors_add(&e, &turn, w, own);
    assert_true(isfinite(e.stamp) && e.stamp_weight > weight && e.frames == 2);
}

/** A tone that begins, of the same sign in every second frame: the prior's deviation follows it within some frames. */
static void follows_tones(void **state)
{
    (void)state;
    struct vf_gyro_errors e;
    struct vf_gyro_turn turn = {.dt_s = 0.05};
    const float own[6] = {1e-10f, 0, 0, 1e-10f, 0, 1e-10f};
    float covariance[6];
    double w[3];
    vf_gyro_errors_begin(&e);
    shake(9);
    for (int f = 1; f <= 412; f++) {
        const uint64_t t_ns = (uint64_t)f * 50000000u;
        for (int k = 0; k < 3; k++) w[k] = 1.5e-4 * normal();
        if (f > 400) w[2] += f % 2 ? 6e-4 : -6e-4;
        vf_gyro_errors_covariance(&e, &turn, t_ns, covariance);
        const double sigma = sqrt((double)covariance[5]);
        REQUIRE(f < 100 || f > 400 || sigma < 2.5e-4, "frame %d: %g rad\n", f, sigma);
        if (f == 410) REQUIRE(sigma > 2.8e-4, "frame %d: %g rad\n", f, sigma);
        vf_gyro_errors_walk(&e, t_ns);
        vf_gyro_errors_add(&e, &turn, w, own);
    }
}

/** The same picture again, without duration or rotation: its covariance is the noise alone. */
static void same_picture(void **state)
{
    (void)state;
    static const struct vf_gyro_turn none;
    struct vf_gyro_errors e;
    float covariance[6];
    vf_gyro_errors_begin(&e);
    vf_gyro_errors_covariance(&e, &none, 1000000000u, covariance);
    for (int i = 0; i < 6; i++)
        assert_true(covariance[i] == (i == 0 || i == 3 || i == 5 ? (float)vf_gyro_errors_noise(&e) : 0.0f));
}

/** 10^5 frames of a camera that hardly turns, of one that turns fast with very accurate motions, and of one at 200 Hz:
 *  the covariance stays symmetric and positive, and does not exceed that of an unknown gyro after its walk. */
static void covariance_stays_positive(void **state)
{
    static const struct {
        double dt_s, size_radps, sigma_rad;
    } variant[] = {{0.05, 1e-5, 1e-4}, {0.05, 1.5, 1e-8}, {0.005, 1e-3, 3e-4}, {0.2, 0.0, 1e-6}};
    (void)state;
    shake(6);
    for (size_t k = 0; k < sizeof variant / sizeof *variant; k++) {
        struct vf_gyro_errors e;
        struct world w = any_world(variant[k].dt_s, variant[k].size_radps);
        long double P[N][N], W[N][N];
        vf_gyro_errors_begin(&e);
        for (int f = 0; f < 100000; f++) {
            struct vf_gyro_turn turn;
            double z[3], innovation[3];
            float own[6];
            next_frame(&w, &e, &turn, z);
            add_noise(variant[k].sigma_rad, 0.0, own, z);
            filter(&e, &turn, z, own, w.t_s, innovation);
            if (f % 10000 && f != 99999) continue;
            const double since_s = f * variant[k].dt_s;
            for (int i = 0; i < N; i++) {
                const double most = pow(prior_of(i), 2.0) + pow(walk_of(i), 2.0) * since_s;
                REQUIRE(e.P[i][i] > 0.0 && e.P[i][i] < most * (1 + 1e-9), "line %zu, frame %d: variance %d: %g", k, f,
                        i, e.P[i][i]);
                for (int j = 0; j < N; j++) {
                    assert_true(e.P[i][j] == e.P[j][i]);
                    P[i][j] = (long double)e.P[i][j];
                }
            }
            REQUIRE(invert(N, P, W), "line %zu, frame %d: not positive definite", k, f);
        }
        const double off = nees(&e, &w);
        REQUIRE(off < 40.0, "line %zu: NEES %g", k, off);
    }
}

/** Rotation vector of a small rotation from samples. */
static void turn_of(const vfront_camera_t *camera, const struct vf_rates *rates, uint64_t from_ns, uint64_t to_ns,
                    double w[3])
{
    double R[9];
    vf_rotation_of_rates(R, camera, rates, from_ns, to_ns);
    w[0] = (R[7] - R[5]) / 2;
    w[1] = (R[2] - R[6]) / 2;
    w[2] = (R[3] - R[1]) / 2;
}

/** Rates linear in time, by samples at uneven times: the change of the rate, in axes at its end, which is also that of
 *  the rotation by a time offset, per second of it. */
static void change_of_the_rate(void **state)
{
    static const vfront_camera_t camera = {.R_cam_imu = {0, -1, 0, 0, 0, -1, 1, 0, 0}};
    (void)state;
    shake(7);
    for (int n = 0; n < 300; n++) {
        vfront_gyro_t sample[60];
        const double a[3] = {real(-1e-3, 1e-3), real(-1e-3, 1e-3), real(-1e-3, 1e-3)},
                     b[3] = {real(-0.02, 0.02), real(-0.02, 0.02), real(-0.02, 0.02)};
        uint64_t t_ns = 1000000000;
        for (int i = 0; i < 60; i++) {
            sample[i].t_ns = t_ns;
            for (int k = 0; k < 3; k++) sample[i].rate_rad_s[k] = a[k] + b[k] * ((double)t_ns * 1e-9 - 1.1);
            t_ns += 2000000 + roll64() % 4000000;
        }
        const struct vf_rates rates = {sample, sizeof *sample, 60};
        const uint64_t from_ns = 1020000000 + roll64() % 10000000, to_ns = from_ns + 10000000 + roll64() % 40000000,
                       late_ns = 4000000;
        const double dt_s = (double)(to_ns - from_ns) * 1e-9, from_s = (double)from_ns * 1e-9 - 1.1;
        const double first[3] = {a[1] + b[1] * from_s, a[2] + b[2] * from_s, -a[0] - b[0] * from_s};
        double R[9], change[3], early[3], late[3], expected[3] = {b[1] * dt_s, b[2] * dt_s, -b[0] * dt_s};
        vf_rotation_of_rates(R, &camera, &rates, from_ns, to_ns);
        vf_rotation_rate_change(change, R, &camera, &rates, from_ns, to_ns);
        for (int k = 0; k < 3; k++)
            for (int c = 0; c < 3; c++) expected[k] += ((k == c) - R[3 * k + c]) * first[c];
        turn_of(&camera, &rates, from_ns, to_ns, early);
        turn_of(&camera, &rates, from_ns + late_ns, to_ns + late_ns, late);
        for (int k = 0; k < 3; k++) {
            REQUIRE(fabs(change[k] - expected[k]) < 1e-12, "case %d: %g, %g", n, change[k], expected[k]);
            REQUIRE(fabs((late[k] - early[k]) / 4e-3 - change[k]) < 1e-5, "case %d: rotation by offset", n);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_information_filter),
        cmocka_unit_test(recovery),
        cmocka_unit_test(noise_of_the_rotation),
        cmocka_unit_test(follows_tones),
        cmocka_unit_test(contradictions),
        cmocka_unit_test(covariance_stays_positive),
        cmocka_unit_test(stamps_without_turn),
        cmocka_unit_test(same_picture),
        cmocka_unit_test(change_of_the_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
