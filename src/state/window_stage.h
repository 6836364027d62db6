/* SPDX-License-Identifier: MIT */
/* window: state of the IMU by least squares over the last frames, as a stage.
 *
 * In      what the host gives (struct vf_window_given): whether a state begins, goes on or there is none, its readings;
 *         sights of this frame
 * Out     estimate after this frame, by parity; state with covariance
 * Rule    vf_window_start(), vf_window_step() in window.h, on a copy of the estimate of the frame before
 */
#ifndef VF_WINDOW_STAGE_H
#define VF_WINDOW_STAGE_H

#include "sight.h"

/** What the host asks of a step. */
enum vf_window_command {
    VF_WINDOW_NONE = 0,  /**< There is no state. */
    VF_WINDOW_BEGIN = 1, /**< A state begins: `first`, at an earlier time. */
    VF_WINDOW_GO_ON = 2  /**< The state of the frame before goes on. */
};

/** Readings from before the step that go with its own: they say how fast the motion changes where some are missing. */
#define VF_WINDOW_EARLIER 16

/** Input of a step, in pinned memory. */
struct vf_window_given {
    uint32_t command;  /* vf_window_command */
    uint32_t readings; /* at least 1, but for VF_WINDOW_NONE */
    uint64_t t_ns;     /* middle of exposure on the clock of the readings, by the rig's time offset */
    vfront_nav_t first;
    struct vf_window_rig rig;
    vfront_imu_noise_t noise;
    /* earlier ones, those over the time since the frame before, and later ones */
    vfront_imu_t imu[VF_WINDOW_EARLIER + VFRONT_IMU_SAMPLES];
};

struct vf_window_memory {
#if VFRONT_WINDOW
    struct vf_window window[2]; /* by parity */
    vfront_nav_t nav;           /* out; all 0: none. Behind `flags` those members that the window knows */
#else
    uint64_t nothing;
#endif
};

/* View of window: core/view.h. */
/* clang-format off */
#define VF_READS_window(X) X(sight)
#define VF_BEFORE_window(X)
#define VF_GEOMETRY_window(X) X(active)
#define VF_TUNING_window(X)
/* clang-format on */
VF_GEOMETRY_OF(window);
struct vf_window_view {
    VF_VIEW(window);
    const struct vf_window_given *given;
};
VF_HOST_FORM(window);

/** State of a step as a result has it; none where the stage is no part of the step (active: of geometry). */
VF_FN void vf_window_result(const struct vf_window_memory *m, uint32_t active, vfront_nav_t *nav)
{
    memset(nav, 0, sizeof *nav);
#if VFRONT_WINDOW
    if (active & VF_BIT(window)) *nav = m->nav;
#endif
    (void)m, (void)active;
}

#endif
