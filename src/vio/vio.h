/* SPDX-License-Identifier: MIT */
/* Stage vio: sliding-window estimators of the IMU state (window.h), a bank of them side by side: one uses all
 * measurements, each of the others leaves some out (enum vf_bank_member).
 *
 * In      requests of the host (struct vf_vio_request), one a member: start, continue or no estimate, preintegrated IMU
 *         motion; observations of this frame, the same for all
 * Out     estimate of each member after this frame, by parity; its state with covariance
 * Rule    a step works on a copy of the previous frame's estimate, so that a failed step leaves that one unchanged. The
 *         copy may be of another member's estimate, which then goes on with this member's measurements.
 *         The accepted member's state is that of the result.
 */
#ifndef VF_VIO_H
#define VF_VIO_H

#include "observe.h"
#include "work.h"

/** Command of the host to the estimator for a step. */
enum vf_vio_command {
    VF_VIO_NONE = 0,    /**< No estimate. */
    VF_VIO_BEGIN = 1,   /**< Start from `first`, a state at an earlier time. */
    VF_VIO_CONTINUE = 2 /**< Continue from the estimate of the previous frame. */
};

/** Number of members of the bank. */
#define VF_BANK VFRONT_MEMBERS

/** Members of the bank, by what they leave out. */
enum vf_bank_member {
    VF_BANK_ALL,      /**< Nothing. */
    VF_BANK_NO_ACCEL, /**< The accelerometer: velocity is constant but for a white acceleration. */
    VF_BANK_NO_IMU    /**< All IMU samples. */
};

/** Request of the host to a member of the bank for a step. */
struct vf_vio_member_request {
    uint32_t command; /* enum vf_vio_command */
    uint32_t from;    /* CONTINUE: member whose estimate of the previous frame goes on */
    /* BEGIN, CONTINUE: IMU motion since the initial state or the previous frame. Its t_ns is the middle of the
     * exposure, converted to the IMU clock by the rig's time offset. */
    struct vf_vio_imu_interval motion;
};

/** Request of the host to the estimator for a step, in pinned memory. */
struct vf_vio_request {
    uint32_t accepted;  /* member whose state is the result's */
    uint32_t replaced;  /* 1: the reported state jumped to another member's in the previous frame: motion chains end */
    vfront_nav_t first; /* BEGIN: initial state */
    double information[VF_VIO_FIRST * VF_VIO_FIRST]; /* BEGIN: that of `first` and of the mounting */
    struct vf_vio_rig rig;
    vfront_imu_noise_t noise;
    struct vf_vio_member_request member[VF_BANK];
};

struct vf_vio_memory {
#if VFRONT_VIO
    struct vf_vio_window window[2][VF_BANK]; /* estimate of each member after the frame of each parity */
    /* output: state of each member; all 0: none. Of its members after `flags`, only those that the estimator knows are
     * written. */
    vfront_nav_t nav[VF_BANK];
    struct vf_vio_summary summary[VF_BANK]; /* output: summary of the step for the supervisor (nav/nav.h) */
    struct vf_vio_request request;          /* device copy of the request */
    struct vf_vio_work work[VF_BANK];       /* scratch of a step */
#else
    uint64_t nothing;
#endif
};

/** Output of a step for the supervisor (nav/nav.h), in pinned memory next to the result. The stage report writes it;
 *  summaries and states only if the estimator is active. */
struct vf_vio_report {
#if VFRONT_VIO
    struct vf_vio_summary summary[VF_BANK];
    vfront_nav_t nav[VF_BANK]; /* state of each member; all 0: none */
    uint32_t observations;     /* number of elements in `observation`; 0 if no one-camera initialization needs them */
    uint32_t reserved;
    struct vf_observation observation[VF_VIO_OBSERVATIONS]; /* copy of the output of the stage observe */
#else
    uint64_t nothing;
#endif
};

/* View of stage vio, by the macros of base/view.h. */
/* clang-format off */
#define VF_READS_vio(X) X(observe)
#define VF_BEFORE_vio(X)
#define VF_GEOMETRY_vio(X) X(active) X(pair)
#define VF_TUNING_vio(X)
/* clang-format on */
VF_GEOMETRY_OF(vio);
struct vf_vio_view {
    VF_VIEW(vio);
    const struct vf_vio_request *request;
};
VF_HOST_FORM(vio);

#if VFRONT_VIO
/** Command of this step to the accepted member. */
VF_FN uint32_t vf_vio_command_of(const struct vf_vio_memory *m)
{
    return m->request.member[m->request.accepted].command;
}

/** State of this step: that of the accepted member. */
VF_FN const vfront_nav_t *vf_vio_state_of(const struct vf_vio_memory *m) { return &m->nav[m->request.accepted]; }
#endif

/** 1 if the estimator computes a state in this step. active: VF_BIT() of each stage that runs. */
VF_FN int vf_vio_has_state(const struct vf_vio_memory *m, uint32_t active)
{
    (void)m, (void)active;
#if VFRONT_VIO
    return (active & VF_BIT(vio)) && vf_vio_command_of(m) != VF_VIO_NONE;
#else
    return 0;
#endif
}

/** State of this step for a result; all 0 if the stage is not active. */
VF_FN void vf_vio_result(const struct vf_vio_memory *m, uint32_t active, vfront_nav_t *nav)
{
    memset(nav, 0, sizeof *nav);
#if VFRONT_VIO
    if (active & VF_BIT(vio)) *nav = *vf_vio_state_of(m);
#endif
    (void)m, (void)active;
}

#endif
