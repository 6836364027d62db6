/* SPDX-License-Identifier: MIT */
/* Preintegration: what the IMU says of the motion between two times, whatever pose, velocity and gravity are at the
 * first of them; so it is computed once, and holds for every estimate of these.
 *
 * In      readings (vfront_imu_t) that are in order and finite, times from..to, biases, noise
 * Out     struct vf_preintegral: rotation, velocity and position; their 9x9 covariance; their derivatives by the biases
 * Rule    rates and specific forces are linear between readings, and constant before the first and after the last. Of
 *         such a signal the rotation is that of Magnus' series to the second order, in two halves of a step; velocity
 *         and position are Simpson's rule over the turned force at its ends and its middle. A step is the time from a
 *         reading to the next one, in parts of at most VF_STEP_NS
 *         Errors are those of the axes at the start: R_true = exp([w]) R. So the rotation's error stays as it is while
 *         time goes on, that of the velocity gains -[u] w, u the velocity's change; gyro noise is isotropic, and so is
 *         the covariance of w. What a random walk of w, linear bias and constant force make of velocity and position
 *         within a step has fixed factors: 1/2, 1/3, 1/4, 1/5
 *         Covariance and derivatives cost more than the motion: where there are more than VF_PREINTEGRATE_STEPS steps,
 *         as many consecutive ones as needed, the same number for all bundles but the last, are taken as one. The
 *         motion is that of all steps
 *         Where readings are missing, the signal is a random walk of a mean square rate q: between two readings T apart
 *         its integral has a variance of q T^3 / 12, beyond the last reading of q T^3 / 3. q is that at which the
 *         signal changed from each reading at hand to the next one; where the first or the last reading is held, what
 *         the caller says if that is more (vf_imu_hold()), since a smooth turn changes little between neighbours
 *         A saturated reading has an error that is constant as long as it lasts, with a deviation of
 *         VF_SATURATED_PART of the limit on each axis
 * Exact   double precision in one order, roots and quotients correctly rounded
 * Cost    a step that is a bundle of its own 0.25 us on one core of a server; no memory but the caller's
 *
 * C. Forster, L. Carlone, F. Dellaert, D. Scaramuzza, On-manifold preintegration for real-time visual-inertial odometry
 * (2017): the idea. There errors are those of the axes at the end.
 */
#ifndef VF_PREINTEGRATE_H
#define VF_PREINTEGRATE_H

#include "math/quaternion.h"

/** Longest part of a step [ns]: 110 rad/s make less than 1.2 rad in half of it. */
#define VF_STEP_NS 20000000u

/** Steps of covariance and derivatives of one preintegral. */
#define VF_PREINTEGRATE_STEPS 64u

/** Error of a saturated reading on each axis, as part of the limit. */
#define VF_SATURATED_PART 0.25

/** Rows of errors: rotation, velocity, position; columns of derivatives: gyro bias, accelerometer bias. */
enum { VF_ROW_W = 0, VF_ROW_V = 3, VF_ROW_P = 6, VF_COLUMN_GYRO = 0, VF_COLUMN_ACCEL = 3 };

/** Motion between two times. Errors: axes of the IMU at the first one, R_true = exp([w]) R [rad, m/s, m]. */
struct vf_preintegral {
    double dt_s;
    double q[4];    /* rotation, w x y z: from axes of the IMU at the end to those at the start */
    double v[3];    /* integral of the specific force, in axes at the start [m/s] */
    double p[3];    /* integral of that [m] */
    double P[81];   /* covariance of (w, v, p) by noise, missing and saturated readings, row-major */
    double J[54];   /* derivative of (w, v, p) by (gyro bias, accelerometer bias), 9 rows of 6 */
    uint32_t flags; /* VFRONT_NAV_... */
};

/** Errors of readings. */
struct vf_imu_model {
    vfront_imu_noise_t noise;
    /* Mean square change of rate and specific force over time, each axis [rad^2/s^3, m^2/s^5]: between readings, and
     * where the first or the last one is held. */
    double change[2], beyond[2];
    uint64_t usual_ns; /* interval between readings, beyond which some are missing */
};

/** Consecutive steps that are one to covariance and derivatives, from their start on, in axes of the preintegral. */
struct vf_imu_bundle {
    double dt_s;
    double u[3], s[3];           /* integral of the turned force, and integral of that [m/s, m] */
    double W[9], S[9];           /* integral of the rotation matrix, and integral of that [s, s^2] */
    double gyro, accel;          /* variance of the integrals of rate and force, each axis [rad^2, m^2/s^2] */
    int gyro_limit, accel_limit; /* 1: a reading is saturated */
};

/** State of a preintegration. */
struct vf_imu_sum {
    struct vf_preintegral *out;
    struct vf_imu_bundle bundle;
    double R[9];          /* matrix of out->q */
    double saturated[54]; /* derivative of (w, v, p) by constant errors of saturated readings, as J */
    const struct vf_imu_model *model;
    const double *gyro_bias, *accel_bias;
};

/** Number of readings up to a time, included. */
VF_FN uint32_t vf_imu_until(const vfront_imu_t *imu, uint32_t n, uint64_t t_ns)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (imu[middle].t_ns <= t_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/** Squared change of rate and specific force from reading a to b, mean of the axes, over the time between
 *  [rad^2/s^3, m^2/s^5]; 0 where b is not later. */
VF_FN void vf_imu_change(const vfront_imu_t *a, const vfront_imu_t *b, double change[2])
{
    change[0] = change[1] = 0.0;
    if (b->t_ns <= a->t_ns) return;
    for (int k = 0; k < 3; k++) {
        const double gyro = b->gyro_rad_s[k] - a->gyro_rad_s[k], accel = b->accel_m_s2[k] - a->accel_m_s2[k];
        change[0] += gyro * gyro;
        change[1] += accel * accel;
    }
    for (int k = 0; k < 2; k++) change[k] /= 3e-9 * (double)(b->t_ns - a->t_ns);
}

/** Mean of that over all intervals between readings. */
VF_FN void vf_imu_changes(const vfront_imu_t *imu, uint32_t n, double mean[2])
{
    mean[0] = mean[1] = 0.0;
    for (uint32_t i = 1; i < n; i++) {
        double change[2];
        vf_imu_change(&imu[i - 1], &imu[i], change);
        for (int k = 0; k < 2; k++) mean[k] += change[k] / (n - 1);
    }
}

/** Variance of the noise of gyro and accelerometer over that stated, by the second differences of the readings in
 *  from..to: a sixth of their mean square, as of white noise. Returns the number of differences; 0: `noisy` is as
 *  before. */
VF_FN uint32_t vf_imu_noisy(const vfront_imu_noise_t *noise, const vfront_imu_t *imu, uint32_t n, uint64_t from_ns,
                            uint64_t to_ns, double noisy[2])
{
    double square[2];
    uint32_t count = 0;
    square[0] = square[1] = 0.0;
    for (uint32_t i = 1; i + 1 < n; i++) {
        if (imu[i].t_ns <= from_ns || imu[i].t_ns > to_ns) continue;
        for (int k = 0; k < 3; k++) {
            const double g = imu[i - 1].gyro_rad_s[k] - 2.0 * imu[i].gyro_rad_s[k] + imu[i + 1].gyro_rad_s[k];
            const double a = imu[i - 1].accel_m_s2[k] - 2.0 * imu[i].accel_m_s2[k] + imu[i + 1].accel_m_s2[k];
            square[0] += g * g;
            square[1] += a * a;
        }
        count++;
    }
    for (int k = 0; k < 2 && count; k++) {
        const double density = (k ? noise->accel_density : noise->gyro_density) + 1e-9;
        noisy[k] = square[k] / (18.0 * count * noise->rate_hz * density * density);
    }
    return count;
}

VF_FN struct vf_imu_model vf_imu_model_of(const vfront_imu_noise_t *noise, const vfront_imu_t *imu, uint32_t n)
{
    struct vf_imu_model m;
    m.noise = *noise;
    m.usual_ns = (uint64_t)(1.5e9 / noise->rate_hz);
    vf_imu_changes(imu, n, m.change);
    memcpy(m.beyond, m.change, sizeof m.beyond);
    return m;
}

/** q of a reading that is held: `change`, of vf_imu_change(), where that is more than what the readings tell. */
VF_FN void vf_imu_hold(struct vf_imu_model *m, const double change[2])
{
    for (int k = 0; k < 2; k++)
        if (change[k] > m->beyond[k]) m->beyond[k] = change[k];
}

/** Rate and specific force at a time between readings a and b, without biases. */
VF_FN void vf_imu_between(const vfront_imu_t *a, const vfront_imu_t *b, uint64_t t_ns, const struct vf_imu_sum *sum,
                          double rate[3], double force[3])
{
    const double span = b->t_ns > a->t_ns ? (double)(b->t_ns - a->t_ns) : 1.0;
    const double part = b->t_ns > a->t_ns ? (double)(t_ns - a->t_ns) / span : 0.0;
    for (int k = 0; k < 3; k++) {
        rate[k] = a->gyro_rad_s[k] + part * (b->gyro_rad_s[k] - a->gyro_rad_s[k]) - sum->gyro_bias[k];
        force[k] = a->accel_m_s2[k] + part * (b->accel_m_s2[k] - a->accel_m_s2[k]) - sum->accel_bias[k];
    }
}

/** Turn q by rates that go from `one` to `two` in a step, over its half number `half`, 0 or 1; R: matrix of the new
 *  q. */
VF_FN void vf_imu_turn(double q[4], double R[9], const double one[3], const double two[3], double dt_s, int half)
{
    double c[3], v[3], e[4];
    vf_cross_double(one, two, c);
    for (int k = 0; k < 3; k++)
        v[k] = 0.125 * dt_s * (half ? one[k] + 3.0 * two[k] : 3.0 * one[k] + two[k]) + dt_s * dt_s / 96.0 * c[k];
    vf_quaternion_exponential(v, e);
    vf_quaternion_multiply(q, e, q);
    vf_quaternion_matrix(q, R);
}

/** Motion over a time dt_s, at most VF_STEP_NS, with rates and forces at its ends. */
VF_FN void vf_imu_move(struct vf_imu_sum *sum, double rate[2][3], double force[2][3], double dt_s)
{
    struct vf_imu_bundle *g = &sum->bundle;
    double begin[9], middle[9], mean[3], first[3], mid[3], last[3];
    memcpy(begin, sum->R, sizeof begin);
    vf_imu_turn(sum->out->q, middle, rate[0], rate[1], dt_s, 0);
    vf_imu_turn(sum->out->q, sum->R, rate[0], rate[1], dt_s, 1);
    for (int k = 0; k < 3; k++) mean[k] = 0.5 * (force[0][k] + force[1][k]);
    vf_transform_double(begin, force[0], first);
    vf_transform_double(middle, mean, mid);
    vf_transform_double(sum->R, force[1], last);
    const double sixth = dt_s / 6.0;
    for (int k = 0; k < 3; k++) {
        g->s[k] += g->u[k] * dt_s + dt_s * sixth * (first[k] + 2.0 * mid[k]);
        g->u[k] += sixth * (first[k] + 4.0 * mid[k] + last[k]);
    }
    for (int k = 0; k < 9; k++) {
        g->S[k] += g->W[k] * dt_s + dt_s * sixth * (begin[k] + 2.0 * middle[k]);
        g->W[k] += sixth * (begin[k] + 4.0 * middle[k] + sum->R[k]);
    }
    g->dt_s += dt_s;
}

/** 1 if the magnitude of a component reaches the limit. */
VF_FN int vf_imu_at_limit(const double v[3], double limit)
{
    return v[0] >= limit || v[1] >= limit || v[2] >= limit || v[0] <= -limit || v[1] <= -limit || v[2] <= -limit;
}

/** Part of a step that missing readings spoil: the cube of time by which the variance of an integral grows [s^3], 0 if
 *  none are missing. after: number of readings up to from_ns. */
VF_FN double vf_imu_missing(const struct vf_imu_model *m, const vfront_imu_t *imu, uint32_t n, uint32_t after,
                            uint64_t from_ns, uint64_t to_ns)
{
    if (after > 0 && after < n) {
        const uint64_t apart_ns = imu[after].t_ns - imu[after - 1].t_ns;
        const double apart = (double)apart_ns * 1e-9;
        return apart_ns > m->usual_ns ? apart * apart * ((double)(to_ns - from_ns) * 1e-9) / 12.0 : 0.0;
    }
    const uint64_t near_ns = after ? from_ns - imu[n - 1].t_ns : imu[0].t_ns - to_ns;
    const uint64_t far_ns = after ? to_ns - imu[n - 1].t_ns : imu[0].t_ns - from_ns;
    const double close = (double)near_ns * 1e-9, distant = (double)far_ns * 1e-9;
    return far_ns > m->usual_ns ? (distant * distant * distant - close * close * close) / 3.0 : 0.0;
}

/** One step, from..to, between which no reading lies. */
VF_FN void vf_imu_step(struct vf_imu_sum *sum, const vfront_imu_t *imu, uint32_t n, uint32_t after, uint64_t from_ns,
                       uint64_t to_ns)
{
    const vfront_imu_t *a = &imu[after ? after - 1 : 0], *b = &imu[after < n ? after : n - 1];
    const vfront_imu_noise_t *noise = &sum->model->noise;
    struct vf_imu_bundle *g = &sum->bundle;
    const uint64_t parts = (to_ns - from_ns + VF_STEP_NS - 1) / VF_STEP_NS;
    double rate[2][3], force[2][3];
    vf_imu_between(a, b, from_ns, sum, rate[0], force[0]);
    for (uint64_t i = 1, at_ns = from_ns; i <= parts; i++) {
        const uint64_t next_ns = from_ns + (to_ns - from_ns) * i / parts;
        vf_imu_between(a, b, next_ns, sum, rate[1], force[1]);
        vf_imu_move(sum, rate, force, (double)(next_ns - at_ns) * 1e-9);
        memcpy(rate[0], rate[1], sizeof rate[0]);
        memcpy(force[0], force[1], sizeof force[0]);
        at_ns = next_ns;
    }
    const double dt = (double)(to_ns - from_ns) * 1e-9;
    const double missing = vf_imu_missing(sum->model, imu, n, after, from_ns, to_ns);
    const double *change = after == 0 || after == n ? sum->model->beyond : sum->model->change;
    g->gyro += noise->gyro_density * noise->gyro_density * dt + change[0] * missing;
    g->accel += noise->accel_density * noise->accel_density * dt + change[1] * missing;
    g->gyro_limit |= vf_imu_at_limit(a->gyro_rad_s, noise->gyro_limit_rad_s) |
                     vf_imu_at_limit(b->gyro_rad_s, noise->gyro_limit_rad_s);
    g->accel_limit |= vf_imu_at_limit(a->accel_m_s2, noise->accel_limit_m_s2) |
                      vf_imu_at_limit(b->accel_m_s2, noise->accel_limit_m_s2);
    if (missing > 0.0) sum->out->flags |= VFRONT_NAV_GAP;
    if (g->gyro_limit | g->accel_limit) sum->out->flags |= VFRONT_NAV_SATURATED;
}

/** Errors over a bundle, by those before it: A M, of a matrix of 9 rows. */
VF_FN void vf_imu_errors(const struct vf_imu_bundle *g, double *M, int columns)
{
    for (int c = 0; c < columns; c++) {
        const double w[3] = {M[c], M[columns + c], M[2 * columns + c]};
        double turned_u[3], turned_s[3];
        vf_cross_double(g->u, w, turned_u);
        vf_cross_double(g->s, w, turned_s);
        for (int k = 0; k < 3; k++) {
            double *v = &M[(VF_ROW_V + k) * columns + c], *p = &M[(VF_ROW_P + k) * columns + c];
            *p += g->dt_s * *v - turned_s[k];
            *v -= turned_u[k];
        }
    }
}

/** Derivatives by constant errors of the rate (gyro 1) and of the force (accel 1), over a bundle. */
VF_FN void vf_imu_derive(const struct vf_imu_bundle *g, double J[54], int gyro, int accel)
{
    vf_imu_errors(g, J, 6);
    for (int c = 0; c < 3; c++) {
        const double w[3] = {g->W[c], g->W[3 + c], g->W[6 + c]};
        double turned_u[3], turned_s[3];
        vf_cross_double(g->u, w, turned_u);
        vf_cross_double(g->s, w, turned_s);
        for (int k = 0; k < 3; k++) {
            if (gyro) {
                J[(VF_ROW_W + k) * 6 + VF_COLUMN_GYRO + c] -= w[k];
                J[(VF_ROW_V + k) * 6 + VF_COLUMN_GYRO + c] += 0.5 * turned_u[k];
                J[(VF_ROW_P + k) * 6 + VF_COLUMN_GYRO + c] += turned_s[k] / 3.0;
            }
            if (accel) {
                J[(VF_ROW_V + k) * 6 + VF_COLUMN_ACCEL + c] -= w[k];
                J[(VF_ROW_P + k) * 6 + VF_COLUMN_ACCEL + c] -= g->S[3 * k + c];
            }
        }
    }
}

/** Noise of a bundle, added to the upper triangle of P. */
VF_FN void vf_imu_noise(const struct vf_imu_bundle *g, double P[81])
{
    const double *u = g->u, *s = g->s, N = g->gyro, A = g->accel, T = g->dt_s;
    const double uu = u[0] * u[0] + u[1] * u[1] + u[2] * u[2], us = u[0] * s[0] + u[1] * s[1] + u[2] * s[2],
                 ss = s[0] * s[0] + s[1] * s[1] + s[2] * s[2];
    const double skew_u[9] = {0.0, -u[2], u[1], u[2], 0.0, -u[0], -u[1], u[0], 0.0};
    const double skew_s[9] = {0.0, -s[2], s[1], s[2], 0.0, -s[0], -s[1], s[0], 0.0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const double one = i == j ? 1.0 : 0.0;
            if (i == j) P[i * 9 + j] += N;
            P[i * 9 + VF_ROW_V + j] += 0.5 * N * skew_u[3 * i + j];
            P[i * 9 + VF_ROW_P + j] += N * skew_s[3 * i + j] / 3.0;
            P[(VF_ROW_V + i) * 9 + VF_ROW_P + j] += 0.25 * N * (us * one - s[i] * u[j]) + 0.5 * A * T * one;
            if (j < i) continue;
            P[(VF_ROW_V + i) * 9 + VF_ROW_V + j] += N * (uu * one - u[i] * u[j]) / 3.0 + A * one;
            P[(VF_ROW_P + i) * 9 + VF_ROW_P + j] += 0.2 * N * (ss * one - s[i] * s[j]) + A * T * T * one / 3.0;
        }
}

/** Copy of the upper triangle of an n x n matrix into the lower one. */
VF_FN void vf_imu_mirror(double *P, int n)
{
    for (int i = 1; i < n; i++)
        for (int j = 0; j < i; j++) P[i * n + j] = P[j * n + i];
}

/** Covariance by another linear map of its errors, P <- A P A', A that of the bundle. */
VF_FN void vf_imu_transform(const struct vf_imu_bundle *g, double P[81])
{
    double M[81];
    vf_imu_errors(g, P, 9);
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++) M[9 * i + j] = P[9 * j + i];
    vf_imu_errors(g, M, 9);
    memcpy(P, M, sizeof M);
}

/** End of a bundle: its motion, errors and derivatives go into the preintegral. */
VF_FN void vf_imu_close(struct vf_imu_sum *sum)
{
    struct vf_imu_bundle *g = &sum->bundle;
    struct vf_preintegral *out = sum->out;
    vf_imu_transform(g, out->P);
    vf_imu_noise(g, out->P);
    vf_imu_mirror(out->P, 9);
    vf_imu_derive(g, out->J, 1, 1);
    if (out->flags & VFRONT_NAV_SATURATED) vf_imu_derive(g, sum->saturated, g->gyro_limit, g->accel_limit);
    for (int k = 0; k < 3; k++) {
        out->p[k] += out->v[k] * g->dt_s + g->s[k];
        out->v[k] += g->u[k];
    }
    out->dt_s += g->dt_s;
    memset(g, 0, sizeof *g);
}

/** Covariance by saturated readings, added to P. */
VF_FN void vf_imu_saturated(const struct vf_imu_sum *sum, double P[81])
{
    const double gyro = VF_SATURATED_PART * sum->model->noise.gyro_limit_rad_s,
                 accel = VF_SATURATED_PART * sum->model->noise.accel_limit_m_s2, *J = sum->saturated;
    for (int i = 0; i < 9; i++)
        for (int j = i; j < 9; j++)
            for (int c = 0; c < 6; c++) {
                const double sigma = c < VF_COLUMN_ACCEL ? gyro : accel;
                P[9 * i + j] += sigma * sigma * J[6 * i + c] * J[6 * j + c];
            }
    vf_imu_mirror(P, 9);
}

/** Preintegration of n readings, at least one, over from_ns..to_ns, which is later than from_ns. */
VF_FN void vf_preintegrate(struct vf_preintegral *out, const struct vf_imu_model *model, const double gyro_bias[3],
                           const double accel_bias[3], const vfront_imu_t *imu, uint32_t n, uint64_t from_ns,
                           uint64_t to_ns)
{
    struct vf_imu_sum sum;
    memset(&sum, 0, sizeof sum);
    memset(out, 0, sizeof *out);
    out->q[0] = sum.R[0] = sum.R[4] = sum.R[8] = 1.0;
    sum.out = out;
    sum.model = model;
    sum.gyro_bias = gyro_bias;
    sum.accel_bias = accel_bias;
    uint32_t after = vf_imu_until(imu, n, from_ns);
    const uint32_t steps = vf_imu_until(imu, n, to_ns - 1) - after + 1,
                   size = (steps + VF_PREINTEGRATE_STEPS - 1) / VF_PREINTEGRATE_STEPS;
    uint64_t at_ns = from_ns;
    for (uint32_t i = 1; i <= steps; i++, after++) {
        const uint64_t next_ns = i < steps ? imu[after].t_ns : to_ns;
        vf_imu_step(&sum, imu, n, after, at_ns, next_ns);
        if (i % size == 0 || i == steps) vf_imu_close(&sum);
        at_ns = next_ns;
    }
    vf_quaternion_unit(out->q);
    if (out->flags & VFRONT_NAV_SATURATED) vf_imu_saturated(&sum, out->P);
}

#endif
