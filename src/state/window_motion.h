/* SPDX-License-Identifier: MIT */
/* Motion between two frames as the window takes it, made from readings on the host: a chain of some hundred small steps
 * in double precision for each reading, 0.25 us on a core of a server; one thread of a GPU takes some microseconds for
 * each.
 *
 * In      readings over the time since the frame before; of the newest frame time, time offset and biases
 * Out     struct vf_window_motion; running means of the readings' noise, and of what they change from frame to frame
 */
#ifndef VF_WINDOW_MOTION_H
#define VF_WINDOW_MOTION_H

#include "window_inertial.h"

/** Reading nearest to a time. */
VF_FN const vfront_imu_t *vf_window_reading_at(const vfront_imu_t *imu, uint32_t n, uint64_t t_ns)
{
    const uint32_t at = vf_imu_until(imu, n, t_ns);
    const int before = at == n || (at > 0 && t_ns - imu[at - 1].t_ns < imu[at].t_ns - t_ns);
    return &imu[at - (uint32_t)before];
}

/** Angular rate of a reading, less bias. */
VF_FN void vf_window_rate_of(const vfront_imu_t *reading, const double bias[6], double rate[3])
{
    for (int k = 0; k < 3; k++) rate[k] = reading->gyro_rad_s[k] - bias[k];
}

/** Time on the clock of the readings. */
VF_FN uint64_t vf_window_shifted(uint64_t t_ns, double offset_s)
{
    return offset_s < 0.0 ? t_ns - (uint64_t)(-offset_s * 1e9) : t_ns + (uint64_t)(offset_s * 1e9);
}

/** Running means of the readings' noise, with an interval more: of the first one that tells, what it says, for what
 *  shakes the readings shakes them from the first frame on. 0: nothing is known. */
VF_FN void vf_window_noisy(double mean[2], const vfront_imu_noise_t *noise, const vfront_imu_t *imu, uint32_t n,
                           uint64_t from_ns, uint64_t to_ns)
{
    double now[2];
    if (!vf_imu_noisy(noise, imu, n, from_ns, to_ns, now)) return;
    for (int k = 0; k < 2; k++) mean[k] += (mean[k] > 0.0 ? VF_WINDOW_NOISY : 1.0) * (now[k] - mean[k]);
}

/** Noise of the readings by the running means of what it is over that stated. Where its variance is more than twice
 *  that stated the IMU is shaken, in tones that the rate of the readings folds to any lower one: what one leaves near
 *  rate 0 lasts, and adds up for longer than as much white noise. What is beyond twice counts double; not for a start
 *  (start.h), which is too short for that. */
VF_FN void vf_window_shaken(vfront_imu_noise_t *noise, const double mean[2])
{
    double times[2];
    for (int k = 0; k < 2; k++) {
        times[k] = mean[k] > 1.0 ? mean[k] : 1.0;
        if (times[k] > 2.0) times[k] += times[k] - 2.0;
    }
    noise->gyro_density *= sqrt(times[0]);
    noise->accel_density *= sqrt(times[1]);
}

/** Running means of the change from frame to frame, with one more: from reading a, near the frame before, to reading b,
 *  near this one. A signal that is held beyond the last reading is off by such a change. */
VF_FN void vf_window_changed(double mean[2], const vfront_imu_t *a, const vfront_imu_t *b)
{
    double now[2];
    if (b->t_ns <= a->t_ns) return;
    vf_imu_change(a, b, now);
    for (int k = 0; k < 2; k++) mean[k] += (mean[k] > 0.0 ? VF_WINDOW_NOISY : 1.0) * (now[k] - mean[k]);
}

/** Motion from the newest frame to a time. imu: n readings, at least 1. */
VF_FN void vf_window_motion_of(struct vf_window_motion *m, struct vf_window_carried *c, const vfront_imu_noise_t *noise,
                               const vfront_imu_t *imu, uint32_t n, uint64_t t_ns)
{
    struct vf_imu_model model = vf_imu_model_of(noise, imu, n);
    const uint64_t from_ns = vf_window_shifted(c->t_ns, c->own_offset_s), end_ns = vf_window_shifted(t_ns, c->offset_s);
    const uint64_t to_ns = end_ns > from_ns ? end_ns : from_ns + 1000000u; /* whatever offset was found */
    vf_window_noisy(c->noisy, noise, imu, n, from_ns, to_ns);
    vf_window_shaken(&model.noise, c->noisy);
    const vfront_imu_t *from = vf_window_reading_at(imu, n, from_ns), *to = vf_window_reading_at(imu, n, to_ns);
    vf_imu_hold(&model, c->change);
    vf_window_changed(c->change, from, to);
    memset(m, 0, sizeof *m);
    m->t_ns = t_ns;
    memcpy(m->bias, c->bias, sizeof m->bias);
    vf_preintegrate(&m->motion, &model, m->bias, m->bias + 3, imu, n, from_ns, to_ns);
    vf_inertial_scale_of(&m->scale, &m->motion, noise);
    vf_window_rate_of(from, m->bias, m->before);
    vf_window_rate_of(to, m->bias, m->rate);
}

/** Input of the next motion, by the newest frame; the noise stays. */
VF_FN void vf_window_carry(struct vf_window *w)
{
    const struct vf_window_slot *s = &w->slot[w->newest];
    w->carried.t_ns = s->t_ns;
    w->carried.own_offset_s = s->offset_s;
    w->carried.offset_s = w->offset_s;
    memcpy(w->carried.bias, s->value.bias, sizeof w->carried.bias);
}

#endif
