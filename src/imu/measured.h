/* SPDX-License-Identifier: MIT */
/* Noise and change of IMU signals, as measured from frame to frame. */
#ifndef VF_IMU_MEASURED_H
#define VF_IMU_MEASURED_H

#include "math/vector.h"
#include "preintegrate.h"

/** Weight of a new interval in the running means of IMU noise and of signal change. */
#define VF_VIO_RUNNING_MEAN_WEIGHT (1.0 / VF_IMU_MEAN_FRAMES)

/** Returns the sample nearest to the time t_ns [ns]. */
VF_FN const vfront_imu_t *vf_vio_nearest_sample(const vfront_imu_t *imu, uint32_t n, uint64_t t_ns)
{
    const uint32_t at = vf_imu_until(imu, n, t_ns);
    const int before = at == n || (at > 0 && t_ns - imu[at - 1].t_ns < imu[at].t_ns - t_ns);
    return &imu[at - (uint32_t)before];
}

/** Angular rate of a sample minus gyro bias [rad/s]. */
VF_FN void vf_vio_rate_of(const vfront_imu_t *sample, const double bias[6], double rate[3])
{
    for (int k = 0; k < VF_AXES; k++) rate[k] = sample->gyro_rad_s[k] - bias[k];
}

/** Angular rate by many samples: Kalman filter of a random walk. The noise of a single sample would bias what the
 *  rate measures, above all the time offset. */
struct vf_imu_rate {
    uint64_t t_ns;         /* time of the last sample [ns]; 0: none yet */
    double value[VF_AXES], /* IMU axes, bias included [rad/s] */
        variance,          /* per axis [rad^2/s^2] */
        noise, /* running mean of what noise adds to the change between two frames [rad^2/s^3]; 0: none yet */
        walk;  /* rate of the random walk [rad^2/s^3] */
};

/** Time between two others, in whatever order [s]. */
VF_FN double vf_imu_apart_s(uint64_t a_ns, uint64_t b_ns)
{
    return 1e-9 * (double)(a_ns < b_ns ? b_ns - a_ns : a_ns - b_ns);
}

/** Adds a sample, whatever the direction of time. variance: noise of a sample, per axis [rad^2/s^2]. */
VF_FN void vf_imu_rate_add(struct vf_imu_rate *r, const vfront_imu_t *sample, double variance)
{
    r->variance += r->walk * vf_imu_apart_s(sample->t_ns, r->t_ns);
    const double sum = r->variance + variance, gain = sum > 0.0 ? r->variance / sum : 1.0;
    for (int k = 0; k < VF_AXES; k++) r->value[k] += gain * (sample->gyro_rad_s[k] - r->value[k]);
    r->variance *= 1.0 - gain;
    r->t_ns = sample->t_ns;
}

/** Has the rate begin anew with a sample. */
VF_FN void vf_imu_rate_begin(struct vf_imu_rate *r, const vfront_imu_t *sample, double variance)
{
    r->t_ns = sample->t_ns;
    for (int k = 0; k < VF_AXES; k++) r->value[k] = sample->gyro_rad_s[k];
    r->variance = variance;
}

/** Sets the rate of the random walk: the mean change less its noise, at least the deviation of such a mean of squares
 *  over VF_IMU_MEAN_FRAMES. Below that noise that is overestimated would pass for a rate that never changes. */
VF_FN void vf_imu_rate_walk(struct vf_imu_rate *r, double change, double variance, double dt_s)
{
    const double noise = 2.0 * variance / dt_s, share = sqrt(2.0 / (VF_AXES * (2.0 * VF_IMU_MEAN_FRAMES - 1.0)));
    r->noise += (r->noise > 0.0 ? VF_VIO_RUNNING_MEAN_WEIGHT : 1.0) * (noise - r->noise);
    r->walk = change - r->noise > share * change ? change - r->noise : share * change;
}

/** Rate at the frame before by the samples on both sides of it: noise of the same samples is in the motion between the
 *  frames, and equally on both sides it takes no part in what the time offset seems to be. r: in: at `from`, the sample
 *  nearest that frame; out: at `to`, the sample nearest this frame; begins anew after more than max_interval_ns without
 *  samples. change: running mean of vf_vio_signal_change(); variance: noise of a sample, per axis [rad^2/s^2]. before:
 *  out [rad/s]. */
VF_FN void vf_imu_rate_next(struct vf_imu_rate *r, const vfront_imu_t *from, const vfront_imu_t *to, double variance,
                            double change, uint64_t max_interval_ns, double before[VF_AXES])
{
    if (!r->t_ns || r->t_ns > from->t_ns || from->t_ns - r->t_ns > max_interval_ns)
        vf_imu_rate_begin(r, from, variance);
    memcpy(before, r->value, sizeof r->value);
    if (to <= from) return;
    vf_imu_rate_walk(r, change, variance, vf_imu_apart_s(from->t_ns, to->t_ns));
    struct vf_imu_rate back = *r;
    vf_imu_rate_begin(&back, to, variance);
    for (const vfront_imu_t *sample = to - 1; sample > from; sample--) vf_imu_rate_add(&back, sample, variance);
    back.variance += back.walk * vf_imu_apart_s(back.t_ns, r->t_ns);
    const double sum = r->variance + back.variance, gain = sum > 0.0 ? r->variance / sum : 0.0;
    for (int k = 0; k < VF_AXES; k++) before[k] += gain * (back.value[k] - before[k]);
    for (const vfront_imu_t *sample = from; sample <= to; sample++)
        if (sample->t_ns > r->t_ns) vf_imu_rate_add(r, sample, variance);
}

/** Converts a time from the camera clock to the IMU clock [ns]. offset_s: IMU clock minus camera clock [s]. */
VF_FN uint64_t vf_vio_imu_time_ns(uint64_t t_ns, double offset_s)
{
    return offset_s < 0.0 ? t_ns - (uint64_t)(-offset_s * 1e9) : t_ns + (uint64_t)(offset_s * 1e9);
}

/** Updates the running means of measured over stated noise variance. mean: [0] gyro, [1] accelerometer; 0: not measured
 *  yet. The first valid interval sets the mean, because vibration is present from the first frame on. */
VF_FN void vf_vio_noise_ratio(double mean[2], const vfront_imu_noise_t *noise, const vfront_imu_t *imu, uint32_t n,
                              uint64_t from_ns, uint64_t to_ns)
{
    double current[2];
    if (!vf_imu_noise_ratio(noise, imu, n, from_ns, to_ns, current)) return;
    for (int k = 0; k < 2; k++) mean[k] += (mean[k] > 0.0 ? VF_VIO_RUNNING_MEAN_WEIGHT : 1.0) * (current[k] - mean[k]);
}

/** Inflates the noise densities by r, the measured over the stated variance: variance times r for r up to 2, times 2 r
 *  - 2 above. The excess counts double because aliased vibration near rate 0 persists and integrates longer than white
 *  noise. The initialization (start.h) does not use this: its interval is too short for such vibration to add up. */
VF_FN void vf_vio_inflate_noise(vfront_imu_noise_t *noise, const double mean[2])
{
    double times[2];
    for (int k = 0; k < 2; k++) {
        times[k] = mean[k] > 1.0 ? mean[k] : 1.0;
        if (times[k] > 2.0) times[k] += times[k] - 2.0;
    }
    noise->gyro_density *= sqrt(times[0]);
    noise->accel_density *= sqrt(times[1]);
}

/** Updates the running means of the squared change of the IMU signals between two frames, which is the error of an
 *  extrapolation beyond the last sample. a, b: samples near the first and the second frame. mean: [0] gyro, [1]
 *  accelerometer. */
VF_FN void vf_vio_signal_change(double mean[2], const vfront_imu_t *a, const vfront_imu_t *b)
{
    double current[2];
    if (b->t_ns <= a->t_ns) return;
    vf_imu_change(a, b, current);
    for (int k = 0; k < 2; k++) mean[k] += (mean[k] > 0.0 ? VF_VIO_RUNNING_MEAN_WEIGHT : 1.0) * (current[k] - mean[k]);
}

#endif
