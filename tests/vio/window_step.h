/* SPDX-License-Identifier: MIT */
/* One estimator alone, on the host, from IMU samples and observations: for tests without the supervisor. */
#ifndef WINDOW_STEP_H
#define WINDOW_STEP_H

#include "vio/imu_interval.h"
#include "vio/launch.h"
#include "vio/vision_only.h"
#include "vio_init/first_information.h"

#if VFRONT_VIO

/** Input of an estimator step on the host: one frame. */
struct vf_vio_frame {
    uint64_t t_ns;           /* middle of the exposure, camera clock [ns] */
    const vfront_imu_t *imu; /* IMU samples since the previous frame, IMU clock */
    uint32_t samples;        /* number of IMU samples; 0: the motion is extrapolated (vision_only.h) */
    const struct vf_observation *observation;
    uint32_t observations; /* number of observations, at most VF_VIO_OBSERVATIONS */
};

/** Copies time, time offsets and biases of the newest frame to w->carried, for the next IMU interval. */
static inline void vf_vio_carry_over(struct vf_vio_window *w)
{
    const struct vf_vio_slot *s = &w->slot[w->newest];
    w->carried.t_ns = s->t_ns;
    w->carried.own_offset_s = s->offset_s;
    w->carried.offset_s = w->offset_s;
    memcpy(w->carried.bias, s->value.bias, sizeof w->carried.bias);
}

/** Resets the estimator to one frame with the given state, on the host. first: state with covariance; its variances of
 *  position and yaw may be any small value above 0. */
static inline void vf_vio_start(struct vf_vio_window *w, const struct vf_vio_rig *rig, const vfront_imu_noise_t *noise,
                                const vfront_nav_t *first)
{
    double information[VF_VIO_FIRST * VF_VIO_FIRST];
    vf_start_information(first, NULL, information);
    vf_vio_init_window(w, rig, noise, first, information);
    vf_vio_carry_over(w);
    memset(w->carried.noise_ratio, 0, sizeof w->carried.noise_ratio);
    memset(w->carried.change, 0, sizeof w->carried.change);
}

/** Computes the motion to a frame without IMU samples, extrapolated from the last two states. */
static inline void vision_only(const struct vf_vio_window *w, struct vf_vio_imu_interval *motion, uint64_t t_ns)
{
    const struct vf_vio_slot *now = &w->slot[w->newest];
    double rate[3] = {0.0, 0.0, 0.0};
    for (int f = 0; f < VF_VIO_FRAMES && now->number > 1; f++)
        if (w->slot[f].number == now->number - 1)
            vf_vision_only_rate(w->slot[f].value.q, now->value.q, now->motion.dt_s, rate);
    vf_vio_vision_only_interval(motion, &w->carried, &w->noise, now->value.q, rate, t_ns);
}

/** Runs one step on the host. frame->t_ns: in the first call that of the initial state, then increasing. */
static inline void vf_vio_step(struct vf_vio_window *w, struct vf_vio_work *work, const struct vf_vio_frame *frame)
{
    struct vf_vio_imu_interval motion;
    motion.t_ns = frame->t_ns;
    if (frame->t_ns != w->slot[w->newest].t_ns && !frame->samples)
        vision_only(w, &motion, frame->t_ns);
    else if (frame->t_ns != w->slot[w->newest].t_ns)
        vf_vio_imu_interval_of(&motion, &w->carried, &w->noise, NULL, frame->imu, frame->samples, frame->t_ns);
    vf_vio_run(w, work, &motion, frame->observation, frame->observations);
    vf_vio_carry_over(w);
}

/** Writes the state of the newest frame with covariance to nav. */
static inline void vf_vio_nav(const struct vf_vio_window *w, const struct vf_vio_work *work, vfront_nav_t *nav)
{
    struct vf_vio_summary summary;
    memset(nav, 0, sizeof *nav);
    vf_vio_output(w, work, nav, &summary);
    vf_vio_output_covariance(w, nav);
}

#endif
#endif
