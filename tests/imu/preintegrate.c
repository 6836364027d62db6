/* SPDX-License-Identifier: MIT */
/* Preintegration against closed forms and long-double integration; bias Jacobian against differences; covariance
 * against the noise of each sample; two joined intervals against one; bundled against single steps; quaternion
 * functions against long double. */
#include "imu_oracle.h"

#include "imu/preintegrate.h"

static const double no_bias[3];
static vfront_imu_t imu[4096];
static const wide none[6];
static const uint64_t second = 1000000000u;

static void raise_worst(double *worst, double value)
{
    if (!(fabs(value) <= *worst)) *worst = fabs(value);
}

/** Largest error of rotation, velocity and position. */
static double worst_of(const struct wide_motion *truth, const struct vf_preintegral *d)
{
    double e[9], worst = 0;
    wide_errors(truth, d->q, d->v, d->p, e);
    for (int k = 0; k < 9; k++) raise_worst(&worst, e[k]);
    return worst;
}

static struct vf_preintegral over(uint32_t n, double rate, uint64_t from_ns, uint64_t to_ns)
{
    const vfront_imu_noise_t noise = any_noise(rate);
    const struct vf_imu_model model = vf_imu_model_of(&noise, imu, n);
    struct vf_preintegral d;
    vf_preintegrate(&d, &model, no_bias, no_bias, imu, n, from_ns, to_ns);
    return d;
}

/* ---- quaternions ------------------------------------------------------------------------------------------------- */

static void quaternions(void **state)
{
    (void)state;
    double off[4] = {0};
    shake(1);
    for (int i = 0; i < 100000; i++) {
        double v[3], q[4], p[4], pq[4], R[9], u[3];
        any_direction(v);
        const double angle = i % 4 ? real(0, 1.6) : pow(10, -real(0, 20)), s = sin(0.5 * angle);
        for (int k = 0; k < 3; k++) v[k] *= angle;
        const wide a = sqrtl((wide)v[0] * v[0] + (wide)v[1] * v[1] + (wide)v[2] * v[2]);
        vf_quaternion_exponential(v, q);
        raise_worst(&off[0], (double)(q[0] - cosl(a / 2)));
        for (int k = 0; k < 3; k++) raise_worst(&off[0], (double)(q[1 + k] - sinl(a / 2) * v[k] / a) / (s > 1 ? s : 1));
        any_direction(v);
        p[0] = real(-1, 1);
        for (int k = 0; k < 3; k++) p[1 + k] = v[k];
        vf_quaternion_unit(p);
        raise_worst(&off[1],
                    (double)((wide)p[0] * p[0] + (wide)p[1] * p[1] + (wide)p[2] * p[2] + (wide)p[3] * p[3] - 1));
        vf_quaternion_multiply(p, q, pq);
        vf_quaternion_matrix(pq, R);
        wide Q[9], P[9];
        wide_matrix(q, Q);
        wide_matrix(p, P);
        vf_transform_double(R, v, u);
        for (int r = 0; r < 3; r++) {
            wide turned = 0;
            for (int c = 0; c < 3; c++) {
                wide entry = 0;
                for (int k = 0; k < 3; k++) entry += P[3 * r + k] * Q[3 * k + c];
                raise_worst(&off[2], (double)(R[3 * r + c] - entry));
                turned += entry * v[c];
            }
            raise_worst(&off[3], (double)(u[r] - turned));
        }
    }
    print_message("exponential %.2g, unit %.2g, product as matrix %.2g, vector turned %.2g\n", off[0], off[1], off[2],
                  off[3]);
    assert_true(off[0] < 4e-16 && off[1] < 1e-15 && off[2] < 2e-15 && off[3] < 3e-15);
    for (int i = 1; i < 300; i++) { /* small angles keep their relative precision */
        const double t = pow(10, -i), v[3] = {0, t, 0};
        double q[4];
        vf_quaternion_exponential(v, q);
        assert_true(fabs(q[2] - 0.5 * t) <= (i < 8 ? t * t * t : 1e-16 * t) && q[1] == 0 && q[3] == 0);
    }
}

/* ---- motion ------------------------------------------------------------------------------------------------------ */

/** Motion over t at constant rate and force, in closed form. */
static struct wide_motion turning(const double rate[3], const double force[3], wide t)
{
    struct wide_motion m = wide_start();
    const wide w2 = (wide)rate[0] * rate[0] + (wide)rate[1] * rate[1] + (wide)rate[2] * rate[2], w = sqrtl(w2);
    const wide K[9] = {0, -rate[2] / w, rate[1] / w, rate[2] / w, 0, -rate[0] / w, -rate[1] / w, rate[0] / w, 0};
    const wide x = w * t, of_R[2] = {sinl(x), 1 - cosl(x)}, of_v[2] = {(1 - cosl(x)) / w, t - sinl(x) / w},
               of_p[2] = {(t - sinl(x) / w) / w, t * t / 2 - (1 - cosl(x)) / w2};
    for (int i = 0; i < 9; i++) {
        wide KK = 0;
        for (int k = 0; k < 3; k++) KK += K[i / 3 * 3 + k] * K[3 * k + i % 3];
        m.y[i] += of_R[0] * K[i] + of_R[1] * KK;
        m.y[9 + i / 3] += ((i % 4 == 0 ? t : 0) + of_v[0] * K[i] + of_v[1] * KK) * force[i % 3];
        m.y[12 + i / 3] += ((i % 4 == 0 ? t * t / 2 : 0) + of_p[0] * K[i] + of_p[1] * KK) * force[i % 3];
    }
    return m;
}

/** Constant rate and force: exact up to the fourth order of the rule. */
static void constant(void **state)
{
    (void)state;
    const double rate[3] = {1.5, -4, 2.5}, force[3] = {3, -2, 9.8};
    double worst[3];
    for (int k = 0; k < 3; k++) {
        const uint32_t per_second = 100u << k, n = per_second + 1;
        for (uint32_t i = 0; i < n; i++) {
            imu[i].t_ns = 1000000000u + 1000000000ull * i / per_second;
            memcpy(imu[i].gyro_rad_s, rate, sizeof rate);
            memcpy(imu[i].accel_m_s2, force, sizeof force);
        }
        const struct vf_preintegral d = over(n, per_second, imu[0].t_ns, imu[n - 1].t_ns);
        const struct wide_motion truth = turning(rate, force, 1);
        worst[k] = worst_of(&truth, &d);
        assert_true(d.dt_s > 1 - 1e-12 && d.dt_s < 1 + 1e-12 && d.flags == 0);
    }
    print_message("errors at 100, 200, 400 Hz: %.3g %.3g %.3g\n", worst[0], worst[1], worst[2]);
    assert_true(worst[0] < 1e-7 && worst[1] < worst[0] / 15 && worst[2] < worst[1] / 15);
}

/** Random samples at uneven times, range ends between and beyond samples: compared with long-double integration. */
static void fine_steps(void **state)
{
    (void)state;
    static const double rates[4] = {100, 200, 400, 1000};
    double worst[4] = {0}, shaken = 0;
    shake(2);
    for (int run = 0; run < 80; run++) {
        const double rate = rates[run % 4];
        const int vibrates = run % 3 == 0;
        const uint32_t n = 2 + (uint32_t)(rate * real(0.05, 0.4));
        any_samples(imu, n, rate, vibrates ? 0.2 * rate : 5, vibrates ? 0.5 : 2, 4, 1);
        const uint64_t interval = (uint64_t)(1e9 / rate);
        const uint64_t from = run % 5 ? imu[0].t_ns + interval * (roll64() % 1000) / 1000 : imu[0].t_ns - interval,
                       to = run % 7 ? imu[n - 1].t_ns - interval * (roll64() % 900) / 1000 : imu[n - 1].t_ns + interval;
        struct wide_motion truth = wide_start();
        wide_integrate(&truth, imu, n, from, to, none, 0, 40);
        const struct vf_preintegral d = over(n, rate, from, to);
        raise_worst(vibrates ? &shaken : &worst[run % 4], worst_of(&truth, &d));
    }
    print_message("errors with 2 rad/s, 5 Hz, at 100, 200, 400, 1000 Hz: %.2g %.2g %.2g %.2g; vibration: %.2g\n",
                  worst[0], worst[1], worst[2], worst[3], shaken);
    assert_true(worst[0] < 3e-7 && worst[1] < 5e-8 && worst[2] < 5e-9 && worst[3] < 5e-10 && shaken < 3e-7);
}

/* ---- Jacobian and covariance ------------------------------------------------------------------------------------- */

/** Difference of two motions in (w, v, p), axes at the start. */
static void change(const struct wide_motion *from, const struct wide_motion *to, wide e[9])
{
    wide_between(to->y, from->y, e);
    for (int k = 0; k < 6; k++) e[3 + k] = to->y[9 + k] - from->y[9 + k];
}

/** Bias Jacobian against differences in long double. */
static void bias_derivatives(void **state)
{
    (void)state;
    double worst = 0;
    shake(3);
    for (int run = 0; run < 12; run++) {
        const uint32_t n = 30;
        any_samples(imu, n, 200, 5, 2, 4, 1);
        const uint64_t from = imu[0].t_ns + 1000000, to = imu[n - 1].t_ns - 2000000;
        const struct vf_preintegral d = over(n, 200, from, to);
        for (int c = 0; c < 6; c++) {
            struct wide_motion m[2];
            for (int side = 0; side < 2; side++) {
                wide b[6] = {0};
                b[c] = side ? 1e-4L : -1e-4L;
                m[side] = wide_start();
                wide_integrate(&m[side], imu, n, from, to, b, 0, 20);
            }
            wide e[9];
            change(&m[0], &m[1], e);
            for (int r = 0; r < 9; r++) {
                const double unit_of = (r < 3 ? 1 : (c < 3 ? 10 : 1) * (r < 6 ? 1 : d.dt_s)) * d.dt_s;
                raise_worst(&worst, ((double)(e[r] / 2e-4L) - d.J[6 * r + c]) / unit_of);
            }
        }
    }
    print_message("worst derivative, as part of its size: %.3g\n", worst);
    assert_true(worst < 2e-4);
}

/** Covariance against the summed effect of each sample's noise, from long-double differences. Compared for random
 *  combinations of errors. */
static void noise_of_samples(void **state)
{
    (void)state;
    double worst = 0;
    shake(4);
    for (int run = 0; run < 6; run++) {
        enum { N = 61 };
        const double rate = run % 2 ? 200 : 500;
        const vfront_imu_noise_t noise = any_noise(rate);
        any_samples(imu, N, rate, 5, 2, 4, 0);
        double P[81] = {0};
        struct wide_motion before = wide_start(), after;
        wide_integrate(&before, imu, N, imu[0].t_ns, imu[N - 1].t_ns, none, 0, 4);
        for (int i = 0; i < N; i++)
            for (int c = 0; c < 6; c++) {
                double *sample = c < 3 ? &imu[i].gyro_rad_s[c] : &imu[i].accel_m_s2[c - 3];
                const double kept = *sample, sigma = (c < 3 ? noise.gyro_density : noise.accel_density) * sqrt(rate);
                wide e[9];
                *sample += 1e-4;
                after = wide_start();
                wide_integrate(&after, imu, N, imu[0].t_ns, imu[N - 1].t_ns, none, 0, 4);
                *sample = kept;
                change(&before, &after, e);
                for (int k = 0; k < 81; k++)
                    P[k] += sigma * sigma * (double)(e[k / 9] / 1e-4L) * (double)(e[k % 9] / 1e-4L);
            }
        const struct vf_preintegral d = over(N, rate, imu[0].t_ns, imu[N - 1].t_ns);
        double scale[9];
        for (int k = 0; k < 9; k++) scale[k] = 1 / sqrt(P[10 * k]);
        for (int pick = 0; pick < 500; pick++) {
            double v[9], a = 0, b = 0;
            for (int k = 0; k < 9; k++) v[k] = pick < 45 ? 0 : normal() * scale[k];
            if (pick < 9) v[pick] = scale[pick];
            for (int k = 0; k < 81; k++) {
                a += v[k / 9] * v[k % 9] * P[k];
                b += v[k / 9] * v[k % 9] * d.P[k];
            }
            if (pick < 9 || pick >= 45) raise_worst(&worst, sqrt(b / a) - 1);
        }
        for (int k = 0; k < 81; k++) assert_true(d.P[k] == d.P[k % 9 * 9 + k / 9]);
    }
    print_message("deviations of random combinations of errors: within %.2g\n", worst);
    assert_true(worst < 0.02); /* of 60 steps; the first and the last count half */
}

/* ---- parts and bundles ------------------------------------------------------------------------------------------- */

/** Joins two consecutive preintegrals in long double. */
static void join(const struct vf_preintegral *a, const struct vf_preintegral *b, struct wide_motion *motion,
                 double P[81], double J[54])
{
    wide A[9], B[9], T[81] = {0}, F[81] = {0}, v[3] = {0}, p[3] = {0};
    wide_matrix(a->q, A);
    wide_matrix(b->q, B);
    *motion = wide_start();
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++) {
            motion->y[3 * r + c] = 0;
            for (int k = 0; k < 3; k++) motion->y[3 * r + c] += A[3 * r + k] * B[3 * k + c];
            v[r] += A[3 * r + c] * b->v[c];
            p[r] += A[3 * r + c] * b->p[c];
        }
        motion->y[9 + r] = a->v[r] + v[r];
        motion->y[12 + r] = a->p[r] + a->v[r] * (wide)b->dt_s + p[r];
    }
    for (int k = 0; k < 9; k++) { /* F: error transition; T: covariance of b, rotated */
        F[10 * k] = 1;
        for (int block = 0; block < 3; block++) T[(3 * block + k / 3) * 9 + 3 * block + k % 3] = A[k];
    }
    for (int k = 0; k < 3; k++) {
        const int n = (k + 1) % 3, l = (k + 2) % 3;
        F[(6 + k) * 9 + 3 + k] = b->dt_s;
        F[(3 + k) * 9 + n] = v[l], F[(3 + k) * 9 + l] = -v[n]; /* -[v] w */
        F[(6 + k) * 9 + n] = p[l], F[(6 + k) * 9 + l] = -p[n];
    }
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++) {
            wide sum = 0, derivative = 0;
            for (int k = 0; k < 9; k++) {
                for (int l = 0; l < 9; l++)
                    sum += F[9 * i + k] * a->P[9 * k + l] * F[9 * j + l] +
                           T[9 * i + k] * b->P[9 * k + l] * T[9 * j + l];
                if (j < 6) derivative += F[9 * i + k] * a->J[6 * k + j] + T[9 * i + k] * b->J[6 * k + j];
            }
            P[9 * i + j] = (double)sum;
            if (j < 6) J[6 * i + j] = (double)derivative;
        }
}

/** Largest differences between one preintegral and two joined ones: motion; covariance relative to standard deviations;
 *  Jacobian. */
static void differences(const struct vf_preintegral *one, const struct vf_preintegral *a,
                        const struct vf_preintegral *b, double worst[3])
{
    struct wide_motion motion;
    double P[81], J[54];
    join(a, b, &motion, P, J);
    raise_worst(&worst[0], worst_of(&motion, one));
    for (int k = 0; k < 81; k++) raise_worst(&worst[1], (P[k] - one->P[k]) / sqrt(P[k / 9 * 10] * P[k % 9 * 10]));
    for (int k = 0; k < 54; k++) {
        const double unit_of = (k < 18 ? 1 : (k % 6 < 3 ? 10 : 1) * (k < 36 ? 1 : one->dt_s)) * one->dt_s;
        raise_worst(&worst[2], (J[k] - one->J[k]) / unit_of);
    }
}

static void joined(void **state)
{
    (void)state;
    double at[3] = {0}, between_them[3] = {0};
    shake(5);
    for (int run = 0; run < 40; run++) {
        const uint32_t n = 50;
        any_samples(imu, n, 200, 5, 2, 4, 1);
        const uint64_t from = imu[0].t_ns, to = imu[n - 1].t_ns, cut = imu[5 + roll64() % 40].t_ns,
                       near = cut + 2100000;
        const struct vf_preintegral one = over(n, 200, from, to), a = over(n, 200, from, cut),
                                    b = over(n, 200, cut, to), c = over(n, 200, from, near), d = over(n, 200, near, to);
        differences(&one, &a, &b, at);
        differences(&one, &c, &d, between_them);
    }
    print_message("cut at a sample: motion %.2g, covariance %.2g, derivatives %.2g; between two: %.2g, %.2g, %.2g\n",
                  at[0], at[1], at[2], between_them[0], between_them[1], between_them[2]);
    assert_true(at[0] < 1e-14 && at[1] < 1e-13 && at[2] < 1e-13);
    assert_true(between_them[0] < 1e-9 && between_them[1] < 1e-3 && between_them[2] < 1e-4);
}

/** More samples than bundles: equal motion; covariance and Jacobian nearly those of short parts without bundling. */
static void bundles(void **state)
{
    (void)state;
    double worst[3] = {0};
    shake(6);
    for (int run = 0; run < 10; run++) {
        const uint32_t n = 2 * VF_PREINTEGRATE_BUNDLES + 1, middle = VF_PREINTEGRATE_BUNDLES;
        any_samples(imu, n, 1000, 5, 2, 4, 1);
        const struct vf_preintegral one = over(n, 1000, imu[0].t_ns, imu[n - 1].t_ns),
                                    a = over(n, 1000, imu[0].t_ns, imu[middle].t_ns),
                                    b = over(n, 1000, imu[middle].t_ns, imu[n - 1].t_ns);
        differences(&one, &a, &b, worst);
    }
    print_message("bundles of two at 1 kHz: motion %.2g, covariance %.2g, derivatives %.2g\n", worst[0], worst[1],
                  worst[2]);
    assert_true(worst[0] < 1e-14 && worst[1] < 1e-3 && worst[1] > 0 && worst[2] < 1e-4);
    any_samples(imu, 4096, 20000, 5, 2, 4, 1); /* bundles of 64: 0.2 s */
    const struct vf_preintegral one = over(4096, 20000, imu[0].t_ns, imu[4095].t_ns),
                                a = over(4096, 20000, imu[0].t_ns, imu[2000].t_ns),
                                b = over(4096, 20000, imu[2000].t_ns, imu[4095].t_ns);
    memset(worst, 0, sizeof worst);
    differences(&one, &a, &b, worst);
    print_message("bundles of 64 at 20 kHz: motion %.2g, covariance %.2g, derivatives %.2g\n", worst[0], worst[1],
                  worst[2]);
    assert_true(worst[0] < 1e-13 && worst[1] < 1e-3 && worst[2] < 1e-4);
}

/** Constant force without rotation: one bundle equals many steps. */
static void single_bundle(void **state)
{
    (void)state;
    const double force[3] = {3, -2, 9.8};
    const vfront_imu_noise_t noise = any_noise(50);
    struct vf_imu_bundle g = {.dt_s = 1};
    double P[81] = {0}, J[54] = {0}, worst[2] = {0};
    for (uint32_t i = 0; i <= 50; i++) {
        memset(&imu[i], 0, sizeof imu[i]);
        imu[i].t_ns = second + i * 20000000u;
        memcpy(imu[i].accel_m_s2, force, sizeof force);
    }
    const struct vf_preintegral d = over(51, 50, imu[0].t_ns, imu[50].t_ns);
    for (int k = 0; k < 3; k++) {
        g.u[k] = force[k], g.s[k] = 0.5 * force[k];
        g.W[4 * k] = 1, g.S[4 * k] = 0.5;
    }
    g.gyro = noise.gyro_density * noise.gyro_density;
    g.accel = noise.accel_density * noise.accel_density;
    vf_imu_add_noise(&g, P);
    vf_imu_symmetrize(P, 9);
    vf_imu_bias_jacobian(&g, J, 1, 1);
    for (int k = 0; k < 81; k++) raise_worst(&worst[0], (d.P[k] - P[k]) / sqrt(P[k / 9 * 10] * P[k % 9 * 10]));
    for (int k = 0; k < 54; k++) raise_worst(&worst[1], d.J[k] - J[k]);
    print_message("50 steps and one bundle: covariance %.2g, derivatives %.2g\n", worst[0], worst[1]);
    assert_true(worst[0] < 1e-12 && worst[1] < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quaternions),      cmocka_unit_test(constant),         cmocka_unit_test(fine_steps),
        cmocka_unit_test(bias_derivatives), cmocka_unit_test(noise_of_samples), cmocka_unit_test(joined),
        cmocka_unit_test(bundles),          cmocka_unit_test(single_bundle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
