/* SPDX-License-Identifier: MIT */
/* Initialization: tests on IMU samples and motions before a solution (stationary, wrong units), and weights of the
 * motions.
 *
 * In      frames with their preintegrals and motions
 * Out     decisions; covariances of the motions as the solution uses them
 * Exact   double precision in one order
 */
#ifndef VF_FROM_REST_H
#define VF_FROM_REST_H

#include "start.h"

/** Computes m->rate, the mean angular rate of the samples after from_ns up to to_ns, and m->noise_ratio, their measured
 *  noise variance relative to the stated one. */
VF_FN void vf_start_sample_statistics(struct vf_start_motion *m, const vfront_imu_noise_t *noise,
                                      const vfront_imu_t *imu, uint32_t n, uint64_t from_ns, uint64_t to_ns)
{
    uint32_t count = 0;
    memset(m->rate, 0, sizeof m->rate);
    for (uint32_t i = 0; i < n; i++) {
        if (imu[i].t_ns <= from_ns || imu[i].t_ns > to_ns) continue;
        for (int k = 0; k < 3; k++) m->rate[k] += imu[i].gyro_rad_s[k];
        count++;
    }
    for (int k = 0; k < 3 && count; k++) m->rate[k] /= count;
    m->noise_ratio[0] = m->noise_ratio[1] = 1.0;
    vf_imu_noise_ratio(noise, imu, n, from_ns, to_ns, m->noise_ratio);
}

/** 1 if the means of angular rate and specific force per frame interval scatter like those of a stationary IMU, and the
 *  measured noise density is below twice the stated one. */
VF_FN int vf_start_imu_stationary(const struct vf_start *s)
{
    double time = 0.0, mean[6], square[2], noise_ratio[2];
    const uint32_t n = s->frames - 1;
    memset(mean, 0, sizeof mean);
    square[0] = square[1] = noise_ratio[0] = noise_ratio[1] = 0.0;
    for (uint32_t i = 1; i <= n; i++) {
        time += s->frame[i].motion.dt_s;
        for (int k = 0; k < 3; k++) {
            mean[k] += s->motion[i].rate[k] / n;
            mean[3 + k] += s->frame[i].motion.v[k] / s->frame[i].motion.dt_s / n;
        }
        for (int k = 0; k < 2; k++) noise_ratio[k] += s->motion[i].noise_ratio[k] / n;
    }
    for (uint32_t i = 1; i <= n; i++)
        for (int k = 0; k < 3; k++) {
            const double w = s->motion[i].rate[k] - mean[k],
                         f = s->frame[i].motion.v[k] / s->frame[i].motion.dt_s - mean[3 + k];
            square[0] += w * w / (3.0 * n);
            square[1] += f * f / (3.0 * n);
        }
    const double step = time / n, gyro = 2.0 * s->noise.gyro_density, accel = 2.0 * s->noise.accel_density;
    return time >= VF_START_STATIONARY_S && noise_ratio[0] < 2.0 * 2.0 && noise_ratio[1] < 2.0 * 2.0 &&
           square[0] < gyro * gyro / step + VF_STATIONARY_RAD_S * VF_STATIONARY_RAD_S &&
           square[1] < accel * accel / step + VF_STATIONARY_M_S2 * VF_STATIONARY_M_S2;
}

/** 1 if the camera is stationary. If all motions are metric, on each axis the squared sum of the
 *  translations must be below VF_START_STATIONARY_CHI2, which must be below VF_START_STATIONARY_MPS times the duration.
 *  Standard deviations add linearly, because the motions have common errors. Otherwise every motion must have the flag
 *  VFRONT_MOTION_STILL. */
VF_FN int vf_start_camera_stationary(const struct vf_start *s)
{
    double shift[3], sigma[3], time = 0.0;
    int all_metric = 1, all_stationary = 1, small = 1;
    memset(shift, 0, sizeof shift);
    memset(sigma, 0, sizeof sigma);
    for (uint32_t i = 1; i < s->frames; i++) {
        const struct vf_start_motion *m = &s->motion[i];
        all_metric &= m->metric;
        all_stationary &= m->stationary;
        time += s->frame[i].motion.dt_s;
        for (int k = 0; k < 3; k++) {
            shift[k] += m->t[k];
            sigma[k] += sqrt(VF_START_STATIONARY_CHI2 * m->P[7 * k]);
        }
    }
    for (int k = 0; k < 3; k++)
        small &= shift[k] * shift[k] < sigma[k] * sigma[k] && sigma[k] < VF_START_STATIONARY_MPS * time;
    return all_metric ? small : all_stationary;
}

/** 1 if IMU samples have wrong units: force in g, or rates in degrees per second by comparison with the rotations of
 *  the images. */
VF_FN int vf_start_wrong_units(const struct vf_start *s)
{
    double time = 0.0, force = 0.0, rotation2 = 0.0, rate2 = 0.0, min_rotation2 = 0.0;
    for (uint32_t i = 1; i < s->frames; i++) {
        const struct vf_start_motion *m = &s->motion[i];
        const double dt = s->frame[i].motion.dt_s, *v = s->frame[i].motion.v;
        double w[3];
        time += dt;
        force += sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        if (!m->has_rotation) continue;
        vf_quaternion_logarithm(m->q, w);
        min_rotation2 += dt * dt * VF_START_GYRO_BIAS_RAD_S * VF_START_GYRO_BIAS_RAD_S;
        for (int k = 0; k < 3; k++) {
            rotation2 += w[k] * w[k];
            rate2 += dt * dt * m->rate[k] * m->rate[k];
        }
    }
    const int in_g = s->noise.gravity_m_s2 > 5.0 && force > 0.6 * time && force < 1.6 * time;
    const int in_degrees = rotation2 > min_rotation2 && rate2 > 900.0 * rotation2 && rate2 < 10000.0 * rotation2;
    return in_g || in_degrees;
}

/** Sets m->dimension, the number of significant residuals of a motion, and factorizes their covariance. Residuals:
 *  rotation, if measured; translation, if metric; while stationary, translation from 0. dt_s: frame interval [s];
 *  intervals: number of intervals. */
VF_FN void vf_start_weigh_motion(struct vf_start_motion *m, int stationary, double dt_s, uint32_t intervals)
{
    double P[36];
    m->dimension = m->metric ? 6 : !m->has_rotation ? 0 : stationary ? 6 : 3;
    if (!m->dimension) return;
    memcpy(P, m->P, sizeof P);
    /* the velocity error is common to all intervals: variance times `intervals` gives sigma for their sum */
    if (!m->metric) {
        const double sigma = dt_s * (stationary ? VF_START_STATIONARY_MPS : VF_START_PRIOR_MPS);
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++)
                if (i < 3 || j < 3) P[6 * i + j] = i == j ? sigma * sigma * intervals : 0.0;
        memset(m->t, 0, sizeof m->t);
    }
    vf_solve_cholesky(P, m->L, 6, 6, 0.0);
}

/** Standard deviation of the relative scale common to all translations. It is derived from their standard deviation
 *  along their own direction, relative to their length. */
VF_FN double vf_start_scale_sigma(const struct vf_start *s)
{
    double along = VF_START_LEAST_M2, length = VF_START_LEAST_M2;
    for (uint32_t i = 1; i < s->frames; i++) {
        const struct vf_start_motion *m = &s->motion[i];
        const double square = m->t[0] * m->t[0] + m->t[1] * m->t[1] + m->t[2] * m->t[2];
        double variance = 0.0;
        if (!m->metric) continue;
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) variance += m->t[r] * m->P[6 * r + c] * m->t[c];
        along += square > 0.0 ? variance / square : 0.0;
        length += square;
    }
    return VF_START_SCALE_SIGMAS * sqrt(along / length);
}

#endif
