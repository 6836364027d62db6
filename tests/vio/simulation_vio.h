/* SPDX-License-Identifier: MIT */
/* Runs the sliding-window estimator on simulated flights, frame by frame. */
#ifndef SIMULATION_VIO_H
#define SIMULATION_VIO_H

#include "simulation.h"

#include "tests/vio/window_step.h"

static struct simulation sim;
static struct sim_frame frame;
static struct vf_vio_window window;
static struct vf_vio_work work;

/** Rig that the estimator assumes. detect_stationary: as in struct vf_vio_rig. */
static inline struct vf_vio_rig sim_rig(int detect_stationary)
{
    struct vf_vio_rig rig = {.detect_stationary = detect_stationary, .cameras = sim.assumed.cameras};
    memcpy(rig.R_imu_cam, sim.assumed.R_imu_cam, sizeof rig.R_imu_cam);
    memcpy(rig.p_imu_cam_m, sim.assumed.p_imu_cam, sizeof rig.p_imu_cam_m);
    memcpy(rig.R_1_0, sim.assumed.R_1_0, sizeof rig.R_1_0);
    memcpy(rig.t_1_0_m, sim.assumed.t_1_0, sizeof rig.t_1_0_m);
    vf_vio_expect_calibration(&rig, 1e-6 * sim.option.turn_urad, 1e-6);
    return rig;
}

/** Observations of the frame in the estimator's form, at most SIM_OBSERVATIONS. wider: stated over actual standard
 *  deviation. */
static inline void sim_to_observations(struct vf_observation *observation, double wider)
{
    for (int i = 0; i < frame.n; i++) {
        const struct sim_observation *s = &frame.observation[i];
        observation[i] = (struct vf_observation){.id = s->id, .sigma = (float)(wider * s->sigma)};
        observation[i].stereo_sigma = (float)(wider * s->stereo_sigma);
        observation[i].row_delay_s = (float)s->row_delay_s, observation[i].stereo_delay_s = (float)s->stereo_delay_s;
        for (int k = 0; k < 3; k++) {
            observation[i].bearing[k] = (float)s->bearing[k];
            observation[i].stereo_bearing[k] = (float)s->stereo_bearing[k];
        }
    }
}

/** Starts a flight with the stationary test on. */
static inline void sim_begin(const struct sim_options *option)
{
    vfront_nav_t first;
    assert_true(sim_start(&sim, option));
    const struct vf_vio_rig rig = sim_rig(1);
    sim_first(&sim, &first);
    vf_vio_start(&window, &rig, &sim.noise, &first);
}

/** Steps the estimator with frame k, in order, and the samples since the previous one. Writes its state. */
static inline void sim_step(int k, double wider, vfront_nav_t *nav)
{
    static struct vf_observation observation[SIM_OBSERVATIONS];
    uint32_t first;
    const uint64_t before_ns = k ? frame.stamp_ns : SIM_START_NS;
    assert_true(sim_frame(&sim, k, &frame));
    const uint32_t n = sim_samples_between(&sim, before_ns, frame.stamp_ns, &first);
    const struct vf_vio_frame given = {frame.stamp_ns, sim.imu + first, n, observation, (uint32_t)frame.n};
    sim_to_observations(observation, wider);
    vf_vio_step(&window, &work, &given);
    vf_vio_nav(&window, &work, nav);
}

/** Options of a drawn trajectory. life: mean length of a track [frames]. */
static inline struct sim_options sim_drawn_options(const char *trajectory, double seconds, double life, double seed)
{
    struct sim_options o = sim_defaults();
    snprintf(o.trajectory, sizeof o.trajectory, "%s", trajectory);
    o.seconds = seconds;
    o.life = life;
    o.seed = seed;
    return o;
}

#endif
