/* SPDX-License-Identifier: MIT */
/* IMU motion between two frames: preintegration with measured noise. Runs on the host, because a chain of small
 * double-precision steps per sample is slow on one GPU thread.
 *
 * In      IMU samples since the previous frame; time, time offset and biases of the newest frame; errors of the gyro
 * Out     struct vf_vio_imu_interval; running means of the samples' noise and of their change from frame to frame
 */
#ifndef VF_VIO_IMU_INTERVAL_H
#define VF_VIO_IMU_INTERVAL_H

#include "imu/measured.h"
#include "factor_inertial.h"

/** Computes the IMU motion from the newest frame to t_ns, camera clock [ns]. n: number of samples, at least 1. scale:
 *  errors of the gyro; NULL: none. */
VF_FN void vf_vio_imu_interval_of(struct vf_vio_imu_interval *m, struct vf_vio_carried *c,
                                  const vfront_imu_noise_t *noise, const struct vf_imu_scale *scale,
                                  const vfront_imu_t *imu, uint32_t n, uint64_t t_ns)
{
    struct vf_imu_model model = vf_imu_model_of(noise, imu, n);
    const uint64_t from_ns = vf_vio_imu_time_ns(c->t_ns, c->own_offset_s),
                   end_ns = vf_vio_imu_time_ns(t_ns, c->offset_s);
    /* positive interval, whatever time offset is estimated */
    const uint64_t to_ns = end_ns > from_ns ? end_ns : from_ns + 1;
    vf_vio_noise_ratio(c->noise_ratio, noise, imu, n, from_ns, to_ns);
    const double scatter = noise->gyro_density * noise->gyro_density * noise->rate_hz * c->noise_ratio[0];
    vf_vio_inflate_noise(&model.noise, c->noise_ratio);
    const vfront_imu_t *from = vf_vio_nearest_sample(imu, n, from_ns), *to = vf_vio_nearest_sample(imu, n, to_ns);
    vf_imu_extrapolate(&model, c->change);
    vf_vio_signal_change(c->change, from, to);
    memset(m, 0, sizeof *m);
    m->t_ns = t_ns;
    memcpy(m->bias, c->bias, sizeof m->bias);
    vf_preintegrate(&m->motion, &model, m->bias, m->bias + 3, imu, n, from_ns, to_ns);
    if (scale) vf_imu_correct_scale(&m->motion, scale);
    vf_inertial_whitening_of(&m->whitening, &m->motion, noise);
    vf_imu_rate_next(&c->rate, from, to, scatter, c->change[0], model.max_interval_ns, m->before);
    for (int k = 0; k < VF_AXES; k++) {
        m->before[k] -= m->bias[k];
        m->rate[k] = c->rate.value[k] - m->bias[k];
    }
}

#endif
