/* SPDX-License-Identifier: MIT */
/* window: state of the IMU by least squares over the last frames, as a stage.
 *
 * In      what the host gives (struct vf_window_given): whether a state begins, goes on or there is none, what the
 *         readings say; sights of this frame
 * Out     estimate after this frame, by parity; state with covariance
 * Rule    window_state.h, on a copy of the estimate of the frame before: a step that fails leaves that as it was
 */
#ifndef VF_WINDOW_H
#define VF_WINDOW_H

#include "sight.h"
#include "window_work.h"

/** Commands of the host for a step. */
enum vf_window_command {
    VF_WINDOW_NONE = 0,  /**< There is no state. */
    VF_WINDOW_BEGIN = 1, /**< A state begins: `first`, at an earlier time. */
    VF_WINDOW_GO_ON = 2  /**< The state of the frame before goes on. */
};

/** Input of a step, in pinned memory. */
struct vf_window_given {
    uint32_t command; /* vf_window_command */
    uint32_t reserved;
    /* BEGIN: the state, and the inverse of its covariance */
    vfront_nav_t first;
    double information[VF_NAV_ERRORS * VF_NAV_ERRORS];
    struct vf_window_rig rig;
    vfront_imu_noise_t noise;
    /* BEGIN, GO_ON: what the readings say, from the first state or from the frame before; its t_ns is the middle of
     * exposure on the clock of the readings, by the rig's time offset */
    struct vf_window_motion motion;
};

struct vf_window_memory {
#if VFRONT_WINDOW
    struct vf_window window[2];   /* by parity */
    vfront_nav_t nav;             /* out; all 0: none. Behind `flags` those members that the window knows */
    struct vf_window_given given; /* copy, close to the stage */
    struct vf_window_work work;   /* of a step */
#else
    uint64_t nothing;
#endif
};

/* View of window: core/view.h. */
/* clang-format off */
#define VF_READS_window(X) X(sight)
#define VF_BEFORE_window(X)
#define VF_GEOMETRY_window(X) X(active) X(pair)
#define VF_TUNING_window(X)
/* clang-format on */
VF_GEOMETRY_OF(window);
struct vf_window_view {
    VF_VIEW(window);
    const struct vf_window_given *given;
};
VF_HOST_FORM(window);

/** 1 if there is a state in this step (active: of geometry). */
VF_FN int vf_window_stated(const struct vf_window_memory *m, uint32_t active)
{
    (void)m, (void)active;
#if VFRONT_WINDOW
    return (active & VF_BIT(window)) && m->given.command != VF_WINDOW_NONE;
#else
    return 0;
#endif
}

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
