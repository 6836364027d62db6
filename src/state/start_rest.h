/* SPDX-License-Identifier: MIT */
/* Start: what readings and motions say before any state: rest, other units; the rows that a motion gives.
 *
 * In      frames with their preintegrals and motions
 * Out     yes or no; covariances of the motions as they are used
 * Exact   double precision in one order
 */
#ifndef VF_START_REST_H
#define VF_START_REST_H

#include "start.h"

/** Mean rate of the readings in from..to, and their noise over that stated. */
VF_FN void vf_start_watch(struct vf_start_motion *m, const vfront_imu_noise_t *noise, const vfront_imu_t *imu,
                          uint32_t n, uint64_t from_ns, uint64_t to_ns)
{
    uint32_t count = 0;
    memset(m->rate, 0, sizeof m->rate);
    for (uint32_t i = 0; i < n; i++) {
        if (imu[i].t_ns <= from_ns || imu[i].t_ns > to_ns) continue;
        for (int k = 0; k < 3; k++) m->rate[k] += imu[i].gyro_rad_s[k];
        count++;
    }
    for (int k = 0; k < 3 && count; k++) m->rate[k] /= count;
    m->noisy[0] = m->noisy[1] = 1.0;
    vf_imu_noisy(noise, imu, n, from_ns, to_ns, m->noisy);
}

/** 1 if the means of the readings over the intervals scatter no more than those of an IMU at rest, and the readings no
 *  more than twice the noise stated. */
VF_FN int vf_start_quiet(const struct vf_start *s)
{
    double time = 0.0, mean[6], square[2], noisy[2];
    const uint32_t n = s->frames - 1;
    memset(mean, 0, sizeof mean);
    square[0] = square[1] = noisy[0] = noisy[1] = 0.0;
    for (uint32_t i = 1; i <= n; i++) {
        time += s->frame[i].motion.dt_s;
        for (int k = 0; k < 3; k++) {
            mean[k] += s->motion[i].rate[k] / n;
            mean[3 + k] += s->frame[i].motion.v[k] / s->frame[i].motion.dt_s / n;
        }
        for (int k = 0; k < 2; k++) noisy[k] += s->motion[i].noisy[k] / n;
    }
    for (uint32_t i = 1; i <= n; i++)
        for (int k = 0; k < 3; k++) {
            const double w = s->motion[i].rate[k] - mean[k],
                         f = s->frame[i].motion.v[k] / s->frame[i].motion.dt_s - mean[3 + k];
            square[0] += w * w / (3.0 * n);
            square[1] += f * f / (3.0 * n);
        }
    const double step = time / n, gyro = 2.0 * s->noise.gyro_density, accel = 2.0 * s->noise.accel_density;
    return time >= VF_START_REST_S && noisy[0] < 4.0 && noisy[1] < 4.0 &&
           square[0] < gyro * gyro / step + VF_START_REST_RAD_S * VF_START_REST_RAD_S &&
           square[1] < accel * accel / step + VF_START_REST_M_S2 * VF_START_REST_M_S2;
}

/** 1 if the pictures are at rest: frame by frame by their flag, or where all translations are measured, these add up to
 *  nothing within 3 deviations, as of errors that all of them share, and VF_START_REST_MPS is told from that. */
VF_FN int vf_start_still(const struct vf_start *s)
{
    double shift[3], sigma[3], time = 0.0;
    int all_metric = 1, all_still = 1, small = 1;
    memset(shift, 0, sizeof shift);
    memset(sigma, 0, sizeof sigma);
    for (uint32_t i = 1; i < s->frames; i++) {
        const struct vf_start_motion *m = &s->motion[i];
        all_metric &= m->metric;
        all_still &= m->still;
        time += s->frame[i].motion.dt_s;
        for (int k = 0; k < 3; k++) {
            shift[k] += m->t[k];
            sigma[k] += 3.0 * sqrt(m->P[7 * k]);
        }
    }
    for (int k = 0; k < 3; k++)
        small &= shift[k] * shift[k] < sigma[k] * sigma[k] && sigma[k] < VF_START_REST_MPS * time;
    return all_metric ? small : all_still;
}

/** 1 if readings are in other units: force in g, or rates in degrees a second beside the rotations seen. */
VF_FN int vf_start_units(const struct vf_start *s)
{
    double time = 0.0, force = 0.0, seen = 0.0, both = 0.0, least = 0.0;
    for (uint32_t i = 1; i < s->frames; i++) {
        const struct vf_start_motion *m = &s->motion[i];
        const double dt = s->frame[i].motion.dt_s, *v = s->frame[i].motion.v;
        double w[3];
        time += dt;
        force += sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        if (!m->turns) continue;
        vf_window_logarithm(m->q, w);
        least += dt * dt * VF_START_GYRO_RAD_S * VF_START_GYRO_RAD_S;
        for (int k = 0; k < 3; k++) {
            seen += w[k] * w[k];
            both += dt * dt * m->rate[k] * m->rate[k];
        }
    }
    const int in_g = s->noise.gravity_m_s2 > 5.0 && force > 0.6 * time && force < 1.6 * time;
    const int in_degrees = seen > least && both > 900.0 * seen && both < 10000.0 * seen;
    return in_g || in_degrees;
}

/** Rows that a motion gives, and their covariance: rotation, and translation where that is measured, or at rest. */
VF_FN void vf_start_use(struct vf_start_motion *m, int rest, double dt_s, uint32_t intervals)
{
    double P[36];
    m->informs = m->metric ? 6 : !m->turns ? 0 : rest ? 6 : 3;
    if (!m->informs) return;
    memcpy(P, m->P, sizeof P);
    if (!m->metric) { /* a constant velocity is the same over all intervals: deviations add up to it over their roots */
        const double sigma = rest ? VF_START_REST_MPS * dt_s : 1e3;
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++)
                if (i < 3 || j < 3) P[6 * i + j] = i == j ? sigma * sigma * intervals : 0.0;
        memset(m->t, 0, sizeof m->t);
    }
    vf_solve_factor(P, m->L, 6, 6, 0.0);
}

/** Deviation of the scale of all translations: theirs along themselves, relative to their length. */
VF_FN double vf_start_scale(const struct vf_start *s)
{
    double along = 1e-12, length = 1e-12;
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
    return VF_START_SHARED * sqrt(along / length);
}

#endif
