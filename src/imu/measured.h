/* SPDX-License-Identifier: MIT */
/* Noise and change of IMU signals, as measured from frame to frame. */
#ifndef VF_IMU_MEASURED_H
#define VF_IMU_MEASURED_H

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
    for (int k = 0; k < 3; k++) rate[k] = sample->gyro_rad_s[k] - bias[k];
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
