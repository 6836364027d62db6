/* SPDX-License-Identifier: MIT */
/* Protection levels while pictures and samples contradict each other.
 *
 * In      reported states of the last second; samples; whether pictures and samples contradict each other
 * Out     levels that hold though the pictures be wrong, or of another time than their stamps
 * Rule    Members of the bank share the pictures. While pictures contradict samples, and for VF_DOUBT_HOLD_S after
 *         samples were left out for it, two more things may be so:
 *         - Pictures, or samples, have wrong stamps. A state that goes by the pictures is then one of another time: the
 *           levels grow by the largest change of the state since a time of the last VF_DOUBT_S. A change that has only
 *           begun since is not seen. A gyro that is in use rules out times: with such a shift its rotation over some
 *           interval would have differed from the pictures' by more than twice what makes both contradict each other.
 *         - Pictures are wrong since the contradiction began, or up to VF_DOUBT_S earlier. Then the state from before,
 *           propagated by samples alone, is right: it has a level like a member of the bank until it is
 *           VF_DOUBT_ALONE_S old. What pictures that were wrong have left in the state is not bounded after that.
 * Exact   double precision in one order, on the host
 * Memory  struct vf_nav_doubt, in struct vf_nav
 * Source  J. Blanch et al., Baseline advanced RAIM user algorithm and possible improvements (2015)
 */
#ifndef VF_NAV_DOUBT_H
#define VF_NAV_DOUBT_H

#include "math/vector.h"
#include "vio/window.h"

struct vf_nav;
struct vf_nav_view;

/** Largest error of stamps, and largest delay of a contradiction, that the levels cover [s]; states kept over this
 *  time. */
#define VF_DOUBT_S 1.0
#define VF_DOUBT_STATES 32

/** A reported state of the last second. */
struct vf_nav_past {
    uint64_t t_ns;           /* on the clock of the IMU */
    double p[3], q[4], v[3]; /* position [m], attitude, velocity [m/s] */
    double rate[3], dt_s;    /* mean rate since the state kept before [rad/s], IMU axes; that time */
    double sigma; /* of the difference of both rotations over that time, sum of its frames' [rad]; 0: unknown */
};

/** A reported state that goes on by samples alone. */
struct vf_nav_alone {
    double age_s;                  /* since it was reported; 0: none */
    vfront_nav_t now;              /* in this frame */
    struct vf_vio_carried carried; /* biases, time offset, noise means */
};

/** What may be wrong because pictures and samples contradict each other. */
struct vf_nav_doubt {
    struct vf_nav_past past[VF_DOUBT_STATES]; /* newest first */
    uint32_t count;                           /* states kept */
    uint32_t unknown;                         /* 1: a rotation since the newest has no variance */
    double sigma;                             /* since the newest: sum of the deviations of rotations [rad] */
    double open_s;                            /* time for which pictures may still be of another time */
    struct vf_nav_alone alone[2];             /* up to VF_DOUBT_S old, and older */
};

/** Time after samples were left out in which the pictures may still be of another time [s]: that of a member of the
 *  bank, nav_bank.h. */
#define VF_DOUBT_HOLD_S VF_BANK_HORIZON_S

/** Longest propagation by samples alone [s]. */
#define VF_DOUBT_ALONE_S 4.0

/** Square of the change of an interval's rotation with which the gyro rules out a shift [variances of the difference of
 *  gyro and pictures]: twice the deviation of a contradiction, half of it for noise. */
#define VF_DOUBT_CHI2 (2.0 * 2.0 * VF_CHI2_3_E6)

/** Forgets all, before vfront_init() or after vfront_reset(): while pictures may be wrong, the origin is lost. */
void vf_nav_doubt_reset(struct vf_nav *n);

/** Propagates the states of before by the samples of this frame. Called before the step. */
void vf_nav_doubt_propagate(const struct vf_nav_view *s);

/** Adds the variance of the difference of this frame's rotations by gyro and pictures [rad^2]; 0: unknown. */
void vf_nav_doubt_turn(struct vf_nav *n, double variance);

/** Raises the levels of a reported state, with the errors of its origin. k_square: as in nav_level.c. */
void vf_nav_doubt_raise(const struct vf_nav_view *s, const vfront_nav_t *nav, double k_square,
                        double level[VF_NAV_V + VF_AXES]);

/** Keeps the reported state of this frame. */
void vf_nav_doubt_keep(const struct vf_nav_view *s, const vfront_nav_t *nav);

#endif
