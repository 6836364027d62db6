/* SPDX-License-Identifier: MIT */
/* Simulated flights given to the window, frame by frame, as a test's own. */
#ifndef SIMULATION_WINDOW_H
#define SIMULATION_WINDOW_H

#include "simulation.h"

#include "state/window_work.h"

static struct simulation sim;
static struct sim_frame frame;
static struct vf_window window;
static struct vf_window_work work;

/** The rig as the estimator is told it. rests: 1: rest is looked for. */
static inline struct vf_window_rig sim_rig(int rests)
{
    struct vf_window_rig rig = {.rests = rests, .cameras = sim.told.cameras};
    memcpy(rig.R_imu_cam, sim.told.R_imu_cam, sizeof rig.R_imu_cam);
    memcpy(rig.p_imu_cam_m, sim.told.p_imu_cam, sizeof rig.p_imu_cam_m);
    memcpy(rig.R_1_0, sim.told.R_1_0, sizeof rig.R_1_0);
    memcpy(rig.t_1_0_m, sim.told.t_1_0, sizeof rig.t_1_0_m);
    return rig;
}

/** Sights of the frame as the window takes them, at most SIM_SIGHTS. wider: their deviations as told, over those that
 *  they have. */
static inline void sim_sights(struct vf_sight *sight, double wider)
{
    for (int i = 0; i < frame.n; i++) {
        const struct sim_sight *s = &frame.sight[i];
        sight[i] = (struct vf_sight){.id = s->id, .sigma = (float)(wider * s->sigma)};
        sight[i].other_sigma = (float)(wider * s->other_sigma);
        sight[i].late_s = (float)s->late_s, sight[i].later_s = (float)s->later_s;
        for (int k = 0; k < 3; k++) {
            sight[i].bearing[k] = (float)s->bearing[k];
            sight[i].other[k] = (float)s->other[k];
        }
    }
}

/** Start of a flight: the window in its first state, rest is looked for. */
static inline void sim_begin(const struct sim_options *option)
{
    vfront_nav_t first;
    assert_true(sim_start(&sim, option));
    const struct vf_window_rig rig = sim_rig(1);
    sim_first(&sim, &first);
    vf_window_start(&window, &rig, &sim.noise, &first);
}

/** Step of the window with frame k, of all in this order, and the readings since the one before; its state. */
static inline void sim_step(int k, double wider, vfront_nav_t *nav)
{
    static struct vf_sight sight[SIM_SIGHTS];
    uint32_t first;
    const uint64_t before_ns = k ? frame.stamp_ns : SIM_START_NS;
    assert_true(sim_frame(&sim, k, &frame));
    const uint32_t n = sim_readings(&sim, before_ns, frame.stamp_ns, &first);
    const struct vf_window_frame given = {frame.stamp_ns, sim.imu + first, n, sight, (uint32_t)frame.n};
    sim_sights(sight, wider);
    vf_window_step(&window, &work, &given);
    vf_window_nav(&window, &work, nav);
}

/** Usual options of a drawn path. life: mean number of frames of a track. */
static inline struct sim_options sim_path(const char *path, double seconds, double life, double seed)
{
    struct sim_options o = sim_usual();
    snprintf(o.path, sizeof o.path, "%s", path);
    o.seconds = seconds;
    o.life = life;
    o.seed = seed;
    return o;
}

#endif
