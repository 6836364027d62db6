/* SPDX-License-Identifier: MIT */
/* IMU preintegration: relative motion between two times, independent of gravity and of pose and velocity at the start.
 *
 * In      IMU samples (vfront_imu_t), ordered and finite; time range; biases; noise
 * Out     struct vf_preintegral: rotation, velocity, position; their 9x9 covariance; their Jacobian by the biases
 * Rule    signal: rate and specific force are linear between samples and constant before the first and after the last.
 *         Rotation: Magnus expansion of second order, in two halves of a step. Velocity and position: Simpson's rule
 *         over the rotated force at start, middle and end. A step is the time between two samples, split into parts of
 *         at most VF_PREINTEGRATE_STEP_NS.
 *         Errors are in the axes at the start: R_true = exp([w]) R. The rotation error then stays constant, and the
 *         velocity error gains -[u] w for a velocity change u. Isotropic gyro noise gives an isotropic covariance of w.
 *         Within a step the random walk of w, a linear bias error and a constant force give factors 1/2, 1/3, 1/4, 1/5.
 *         Bundles: covariance and Jacobian treat several consecutive steps as one where there are more than
 *         VF_PREINTEGRATE_BUNDLES steps, because a step of covariance and Jacobian costs more than one of the motion.
 *         Every bundle except the last has the same number of steps. The motion uses all steps.
 *         Missing samples: the signal is a random walk of rate q. Variance of its integral: q T^3 / 12 over an interval
 *         T between samples, q T^3 / 3 beyond the last one. q is the mean squared change between the available samples;
 *         for extrapolation at least the value of vf_imu_extrapolate(), because a smooth turn changes little between
 *         neighbours.
 *         Saturated samples: constant error while saturated, standard deviation VF_SATURATED_SHARE of the limit on each
 *         axis.
 * Exact   double precision in one order, divisions and roots correctly rounded
 * Cost    0.25 us per bundle of one step on one core of a server; no memory of its own
 *
 * C. Forster, L. Carlone, F. Dellaert, D. Scaramuzza, On-manifold preintegration for real-time visual-inertial odometry
 * (2017): the method. That paper defines errors in the axes at the end.
 */
#ifndef VF_PREINTEGRATE_H
#define VF_PREINTEGRATE_H

#include "imu_prior.h"
#include "math/quaternion.h"

/** Longest integration step [ns]; longer intervals between samples are split. At 110 rad/s half a step turns by less
 *  than 1.2 rad. */
#define VF_PREINTEGRATE_STEP_NS 20000000u

/** Most bundles of one preintegral. A bundle is a run of steps that covariance and Jacobian treat as one. */
#define VF_PREINTEGRATE_BUNDLES 64u

/** Standard deviation of a saturated sample's error on each axis, divided by the sensor's limit. */
#define VF_SATURATED_SHARE 0.25

/** Longest interval between samples that is not a gap, in intervals of the stated rate. */
#define VF_IMU_GAP_INTERVALS 1.5

/** First row of each error: rotation W, velocity V, position P. First column of each bias in the bias Jacobian. */
enum { VF_ROW_W = 0, VF_ROW_V = 3, VF_ROW_P = 6, VF_ROWS = 9, VF_COLUMN_GYRO = 0, VF_COLUMN_ACCEL = 3 };

/** Preintegrated motion. Its errors w (rotation), v (velocity), p (position) are in IMU axes at the start [rad, m/s,
 *  m]; R_true = exp([w]) R. */
struct vf_preintegral {
    double dt_s;
    double q[4];    /* rotation w x y z, from IMU axes at the end to those at the start */
    double v[3];    /* integral of the specific force, axes at the start [m/s] */
    double p[3];    /* integral of v [m] */
    double P[81];   /* covariance of errors (w, v, p) by noise, missing and saturated samples, row-major */
    double J[54];   /* Jacobian of (w, v, p) by (gyro bias, accelerometer bias): 9 rows of 6 columns */
    uint32_t flags; /* set of VFRONT_NAV_GAP and VFRONT_NAV_SATURATED */
};

/** Error model of IMU samples. */
struct vf_imu_model {
    vfront_imu_noise_t noise;
    /* Random-walk rate of the sensor signal where samples are missing, on each axis: [0]: gyro [rad^2/s^3]; [1]:
     * accelerometer [m^2/s^5]. change: between samples; extrapolated: before the first and after the last sample. */
    double change[2], extrapolated[2];
    uint64_t max_interval_ns; /* longest interval between samples that is not a gap [ns] */
};

/** Bundle: consecutive steps that covariance and Jacobian treat as one. Vectors are in IMU axes at the start of the
 *  preintegral. */
struct vf_imu_bundle {
    double dt_s;
    double u[3], s[3];           /* integral u and double integral s of the rotated specific force [m/s], [m] */
    double W[9], S[9];           /* integral W and double integral S of the rotation matrix [s], [s^2] */
    double gyro, accel;          /* noise variance of integrated rate [rad^2] and specific force [m^2/s^2], each axis */
    int gyro_limit, accel_limit; /* 1: the bundle has a saturated sample of this sensor */
};

/** Intermediate state of a preintegration. */
struct vf_imu_sum {
    struct vf_preintegral *out;
    struct vf_imu_bundle bundle;
    double R[9]; /* rotation matrix of out->q */
    /* Jacobian of (w, v, p) by a constant gyro and accelerometer error while saturated: 9 rows of 6 columns */
    double saturated[54];
    const struct vf_imu_model *model;
    const double *gyro_bias, *accel_bias;
};

/** Number of samples at or before t_ns. */
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

/** Squared change from sample a to b, mean over the axes, divided by the time between the samples. change[0]: rate
 *  [rad^2/s^3]; change[1]: specific force [m^2/s^5]. 0 if b is not later than a. */
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

/** Mean of vf_imu_change() over all intervals between samples. */
VF_FN void vf_imu_mean_change(const vfront_imu_t *imu, uint32_t n, double mean[2])
{
    mean[0] = mean[1] = 0.0;
    for (uint32_t i = 1; i < n; i++) {
        double change[2];
        vf_imu_change(&imu[i - 1], &imu[i], change);
        for (int k = 0; k < 2; k++) mean[k] += change[k] / (n - 1);
    }
}

/** Ratio of measured to specified noise variance. noise_ratio[0]: gyro; noise_ratio[1]: accelerometer. Measured
 *  variance: mean square of the second differences of samples in from_ns..to_ns, divided by 6 as for white noise.
 *  Returns the number of differences; if it is 0, noise_ratio is unchanged. */
VF_FN uint32_t vf_imu_noise_ratio(const vfront_imu_noise_t *noise, const vfront_imu_t *imu, uint32_t n,
                                  uint64_t from_ns, uint64_t to_ns, double noise_ratio[2])
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
        const double density = k ? noise->accel_density : noise->gyro_density;
        noise_ratio[k] = density > 0.0 ? square[k] / (18.0 * count * noise->rate_hz * density * density) : 1.0;
    }
    return count;
}

VF_FN struct vf_imu_model vf_imu_model_of(const vfront_imu_noise_t *noise, const vfront_imu_t *imu, uint32_t n)
{
    struct vf_imu_model m;
    m.noise = *noise;
    m.max_interval_ns = (uint64_t)(VF_IMU_GAP_INTERVALS * 1e9 / noise->rate_hz);
    vf_imu_mean_change(imu, n, m.change);
    memcpy(m.extrapolated, m.change, sizeof m.extrapolated);
    return m;
}

/** Raises the random-walk rate before the first and after the last sample to at least `change`, a result of
 *  vf_imu_change(). */
VF_FN void vf_imu_extrapolate(struct vf_imu_model *m, const double change[2])
{
    for (int k = 0; k < 2; k++)
        if (change[k] > m->extrapolated[k]) m->extrapolated[k] = change[k];
}

/** Rate and specific force at a time between samples a and b, biases subtracted. */
VF_FN void vf_imu_interpolate(const vfront_imu_t *a, const vfront_imu_t *b, uint64_t t_ns, const struct vf_imu_sum *sum,
                              double rate[3], double force[3])
{
    const double span = b->t_ns > a->t_ns ? (double)(b->t_ns - a->t_ns) : 1.0;
    const double fraction = b->t_ns > a->t_ns ? (double)(t_ns - a->t_ns) / span : 0.0;
    for (int k = 0; k < 3; k++) {
        rate[k] = a->gyro_rad_s[k] + fraction * (b->gyro_rad_s[k] - a->gyro_rad_s[k]) - sum->gyro_bias[k];
        force[k] = a->accel_m_s2[k] + fraction * (b->accel_m_s2[k] - a->accel_m_s2[k]) - sum->accel_bias[k];
    }
}

/** Rotates q over one half of a step of dt_s: first half (half 0) or second half (half 1). The rate goes linearly from
 *  `one` to `two` over the whole step [rad/s]. Sets R to the matrix of the new q. */
VF_FN void vf_imu_rotate(double q[4], double R[9], const double one[3], const double two[3], double dt_s, int half)
{
    double c[3], v[3], e[4];
    vf_cross_double(one, two, c);
    for (int k = 0; k < 3; k++)
        v[k] = 0.125 * dt_s * (half ? one[k] + 3.0 * two[k] : 3.0 * one[k] + two[k]) + dt_s * dt_s / 96.0 * c[k];
    vf_quaternion_exponential(v, e);
    vf_quaternion_multiply(q, e, q);
    vf_quaternion_matrix(q, R);
}

/** Integrates motion over dt_s, at most VF_PREINTEGRATE_STEP_NS, from rate and force at both ends. */
VF_FN void vf_imu_integrate(struct vf_imu_sum *sum, double rate[2][3], double force[2][3], double dt_s)
{
    struct vf_imu_bundle *g = &sum->bundle;
    double begin[9], middle[9], mean[3], first[3], mid[3], last[3];
    memcpy(begin, sum->R, sizeof begin);
    vf_imu_rotate(sum->out->q, middle, rate[0], rate[1], dt_s, 0);
    vf_imu_rotate(sum->out->q, sum->R, rate[0], rate[1], dt_s, 1);
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

/** 1 if a component of v reaches the limit in magnitude. */
VF_FN int vf_imu_at_limit(const double v[3], double limit)
{
    return v[0] >= limit || v[1] >= limit || v[2] >= limit || v[0] <= -limit || v[1] <= -limit || v[2] <= -limit;
}

/** Variance of the integrated rate or force over a step with missing samples, divided by its random-walk rate [s^3]. 0
 *  if no sample is missing. after: number of samples at or before from_ns. */
VF_FN double vf_imu_missing_s3(const struct vf_imu_model *m, const vfront_imu_t *imu, uint32_t n, uint32_t after,
                               uint64_t from_ns, uint64_t to_ns)
{
    if (after > 0 && after < n) {
        const uint64_t interval_ns = imu[after].t_ns - imu[after - 1].t_ns;
        const double interval_s = (double)interval_ns * 1e-9;
        return interval_ns > m->max_interval_ns ? interval_s * interval_s * ((double)(to_ns - from_ns) * 1e-9) / 12.0
                                                : 0.0;
    }
    const uint64_t near_ns = after ? from_ns - imu[n - 1].t_ns : imu[0].t_ns - to_ns;
    const uint64_t far_ns = after ? to_ns - imu[n - 1].t_ns : imu[0].t_ns - from_ns;
    const double close = (double)near_ns * 1e-9, distant = (double)far_ns * 1e-9;
    return far_ns > m->max_interval_ns ? (distant * distant * distant - close * close * close) / 3.0 : 0.0;
}

/** Adds the step from_ns..to_ns, which has no sample inside, to the current bundle. after: number of samples at or
 *  before from_ns. */
VF_FN void vf_imu_add_interval(struct vf_imu_sum *sum, const vfront_imu_t *imu, uint32_t n, uint32_t after,
                               uint64_t from_ns, uint64_t to_ns)
{
    const vfront_imu_t *a = &imu[after ? after - 1 : 0], *b = &imu[after < n ? after : n - 1];
    const vfront_imu_noise_t *noise = &sum->model->noise;
    struct vf_imu_bundle *g = &sum->bundle;
    const uint64_t substeps = (to_ns - from_ns + VF_PREINTEGRATE_STEP_NS - 1) / VF_PREINTEGRATE_STEP_NS;
    double rate[2][3], force[2][3];
    vf_imu_interpolate(a, b, from_ns, sum, rate[0], force[0]);
    for (uint64_t i = 1, at_ns = from_ns; i <= substeps; i++) {
        const uint64_t next_ns = from_ns + (to_ns - from_ns) * i / substeps;
        vf_imu_interpolate(a, b, next_ns, sum, rate[1], force[1]);
        vf_imu_integrate(sum, rate, force, (double)(next_ns - at_ns) * 1e-9);
        memcpy(rate[0], rate[1], sizeof rate[0]);
        memcpy(force[0], force[1], sizeof force[0]);
        at_ns = next_ns;
    }
    const double dt = (double)(to_ns - from_ns) * 1e-9;
    const double missing = vf_imu_missing_s3(sum->model, imu, n, after, from_ns, to_ns);
    const double *change = after == 0 || after == n ? sum->model->extrapolated : sum->model->change;
    g->gyro += noise->gyro_density * noise->gyro_density * dt + change[0] * missing;
    g->accel += noise->accel_density * noise->accel_density * dt + change[1] * missing;
    g->gyro_limit |= vf_imu_at_limit(a->gyro_rad_s, noise->gyro_limit_rad_s) |
                     vf_imu_at_limit(b->gyro_rad_s, noise->gyro_limit_rad_s);
    g->accel_limit |= vf_imu_at_limit(a->accel_m_s2, noise->accel_limit_m_s2) |
                      vf_imu_at_limit(b->accel_m_s2, noise->accel_limit_m_s2);
    if (missing > 0.0) sum->out->flags |= VFRONT_NAV_GAP;
    if (g->gyro_limit | g->accel_limit) sum->out->flags |= VFRONT_NAV_SATURATED;
}

/** Propagates the 9 errors of a preintegral over a bundle: M <- A M. A: error transition of the bundle; M: 9 rows. */
VF_FN void vf_imu_transition(const struct vf_imu_bundle *g, double *M, int columns)
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

/** Extends J, the Jacobian by constant gyro and accelerometer errors, over a bundle. gyro, accel: 1: the error of this
 *  sensor acts during the bundle. */
VF_FN void vf_imu_bias_jacobian(const struct vf_imu_bundle *g, double J[54], int gyro, int accel)
{
    vf_imu_transition(g, J, 6);
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

/** Adds the noise of a bundle to the upper triangle of covariance P. */
VF_FN void vf_imu_add_noise(const struct vf_imu_bundle *g, double P[81])
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

/** Copies the upper triangle of an n x n matrix into the lower one. */
VF_FN void vf_imu_symmetrize(double *P, int n)
{
    for (int i = 1; i < n; i++)
        for (int j = 0; j < i; j++) P[i * n + j] = P[j * n + i];
}

/** Propagates covariance P over a bundle: P <- A P A'. A: error transition of the bundle. */
VF_FN void vf_imu_transform(const struct vf_imu_bundle *g, double P[81])
{
    double M[81];
    vf_imu_transition(g, P, 9);
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++) M[9 * i + j] = P[9 * j + i];
    vf_imu_transition(g, M, 9);
    memcpy(P, M, sizeof M);
}

/** Closes a bundle: adds its motion, covariance and Jacobian to the preintegral. */
VF_FN void vf_imu_close_bundle(struct vf_imu_sum *sum)
{
    struct vf_imu_bundle *g = &sum->bundle;
    struct vf_preintegral *out = sum->out;
    vf_imu_transform(g, out->P);
    vf_imu_add_noise(g, out->P);
    vf_imu_symmetrize(out->P, 9);
    vf_imu_bias_jacobian(g, out->J, 1, 1);
    if (out->flags & VFRONT_NAV_SATURATED) vf_imu_bias_jacobian(g, sum->saturated, g->gyro_limit, g->accel_limit);
    for (int k = 0; k < 3; k++) {
        out->p[k] += out->v[k] * g->dt_s + g->s[k];
        out->v[k] += g->u[k];
    }
    out->dt_s += g->dt_s;
    memset(g, 0, sizeof *g);
}

/** Adds the covariance of the errors of saturated samples to P. */
VF_FN void vf_imu_add_saturation(const struct vf_imu_sum *sum, double P[81])
{
    const double gyro = VF_SATURATED_SHARE * sum->model->noise.gyro_limit_rad_s,
                 accel = VF_SATURATED_SHARE * sum->model->noise.accel_limit_m_s2, *J = sum->saturated;
    for (int i = 0; i < 9; i++)
        for (int j = i; j < 9; j++)
            for (int c = 0; c < 6; c++) {
                const double sigma = c < VF_COLUMN_ACCEL ? gyro : accel;
                P[9 * i + j] += sigma * sigma * J[6 * i + c] * J[6 * j + c];
            }
    vf_imu_symmetrize(P, 9);
}

/** Preintegrates n >= 1 samples over from_ns..to_ns, to_ns > from_ns. */
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
                   size = (steps + VF_PREINTEGRATE_BUNDLES - 1) / VF_PREINTEGRATE_BUNDLES;
    uint64_t at_ns = from_ns;
    for (uint32_t i = 1; i <= steps; i++, after++) {
        const uint64_t next_ns = i < steps ? imu[after].t_ns : to_ns;
        vf_imu_add_interval(&sum, imu, n, after, at_ns, next_ns);
        if (i % size == 0 || i == steps) vf_imu_close_bundle(&sum);
        at_ns = next_ns;
    }
    vf_quaternion_unit(out->q);
    if (out->flags & VFRONT_NAV_SATURATED) vf_imu_add_saturation(&sum, out->P);
}

/** Corrects a preintegral by the gyro's errors of scale and axes, and adds their covariance: that of a rate error that
 *  is constant over it, proportional to its mean rate. Adds the rotation's covariance by the stamps of both ends. */
VF_FN void vf_imu_correct_scale(struct vf_preintegral *d, const struct vf_imu_scale *scale)
{
    double w[3], rate[3], change[9], q[4], square = 0.0;
    vf_quaternion_logarithm(d->q, w);
    for (int k = 0; k < VF_COLUMN_ACCEL; k++) w[k] /= d->dt_s;
    vf_transform_double(scale->S, w, rate);
    for (int k = 0; k < VF_COLUMN_ACCEL; k++) square += w[k] * w[k];
    for (int i = 0; i < VF_ROWS; i++) {
        const double *J = &d->J[2 * VF_COLUMN_ACCEL * i];
        change[i] = -(J[0] * rate[0] + J[1] * rate[1] + J[2] * rate[2]);
        for (int j = 0; j < VF_ROWS; j++) {
            const double *other = &d->J[2 * VF_COLUMN_ACCEL * j];
            d->P[VF_ROWS * i + j] += scale->variance * square * (J[0] * other[0] + J[1] * other[1] + J[2] * other[2]);
            if (i < VF_ROW_V && j < VF_ROW_V) d->P[VF_ROWS * i + j] += 2.0 * scale->stamp_s2 * w[i] * w[j];
        }
    }
    vf_quaternion_exponential(change, q);
    vf_quaternion_multiply(q, d->q, d->q);
    for (int k = 0; k < VF_COLUMN_ACCEL; k++) {
        d->v[k] += change[VF_ROW_V + k];
        d->p[k] += change[VF_ROW_P + k];
    }
}

#endif
