/* SPDX-License-Identifier: MIT */
/* Bank of estimators (vio/vio.h): requests to the members, and which of them is accepted.
 *
 * In      states and summaries of all members in this frame
 * Out     requests to the members; the accepted one; what is added to the covariance of its state
 * Rule    The separation of two members is the difference of their states. On each axis it has at most the larger of
 *         their variances, as one uses part of the other's measurements; beyond VF_BANK_CHI2 they contradict each
 *         other. The cause is a faulty IMU or a moving object. A member without the faulty samples explains the whole
 *         picture; the accepted one little of it (VF_BANK_LEFT). An object leaves the rest of the scene to the
 *         accepted one: where that has explained such a part for VF_BANK_TRIAL_S, an object is the cause for
 *         VF_BANK_HORIZON_S, even when it hides the rest. Of members that explain the picture the one with most
 *         measurements is accepted. Tilt: gyro and cameras alone contradict it only if the accelerometer is wrong.
 *         Measurements that were left out are tested again: the member with all samples begins anew from the accepted
 *         one, with unknown biases, and is accepted again once it has agreed for VF_BANK_TRIAL_S. A member with fewer
 *         measurements begins anew from the accepted one every VF_BANK_HORIZON_S; earlier if it contradicts while the
 *         accepted one explains at least half as much, with smaller residuals: then it has gone astray itself. The
 *         largest separation beyond VF_BANK_WIDEN_CHI2 is added to the reported covariance, except that of a member
 *         gone astray.
 * Source  M. Joerger, B. Pervan, Solution separation and chi-squared RAIM (2014): separations of subset solutions.
 */
#ifndef VF_NAV_BANK_H
#define VF_NAV_BANK_H

#include "nav_level.h"

/** 1 if a state is finite and in range. */
int vf_nav_is_finite(const vfront_nav_t *nav);

/** Passes biases and time offset of a member's state of this frame, at t_ns on the camera's clock, to the next frame.
 */
void vf_nav_carry(struct vf_nav_member *m, const vfront_nav_t *nav, uint64_t t_ns);

/** Called when an IMU check reports a fault: accepts the member with all measurements, which goes on from the accepted
 *  estimate. All members then run without samples; when the check ends, samples count without a trial. */
void vf_nav_bank_yield(struct vf_nav *n);

/** Called where the estimate ends before a step: keeps what separates the members. */
void vf_nav_bank_end(struct vf_nav *n);

/** Fills in the requests to the members that are not accepted, after that to the accepted one. */
void vf_nav_bank_request(const struct vf_nav_view *s);

/** Square of a separation on an axis above which two members contradict each other [variances]. */
#define VF_BANK_CHI2 VF_CHI2_1_E6

/** Least sum of accepted observations, over the frames before, with which a member can be accepted, or an object known.
 */
#define VF_BANK_LEAST 16.0
/** Square of a separation on an axis above which the covariance of the reported state has it [variances]. */
#define VF_BANK_WIDEN_CHI2 VF_CHI2_1_E2

/** Least number of frames in a row with a contradiction. */
#define VF_BANK_FRAMES 2
/** Time in which the evidence of a frame's observations decays [s]. */
#define VF_BANK_EVIDENCE_S 0.15
/** Observations that the accepted member explains, per one that the contradicting member explains, below which a
 *  faulty IMU is likelier than a moving object that fills so much of the view. With a wrong accelerometer it is 0 to
 *  0.05 within a few frames; of a scene behind an object over 60 % of the picture 0.14 to 0.3 is left. */
#define VF_BANK_LEFT 0.1
/** Time after which a member with fewer measurements begins anew from the accepted one, and for which a moving object
 *  is known after it was last seen [s]. */
#define VF_BANK_HORIZON_S 8.0
/** Time for which a member with samples that were left out must agree before it is accepted, and for which an object
 *  must be seen before it is known [s]. */
#define VF_BANK_TRIAL_S 0.5

/** Decides by the states of this frame which member is accepted. Returns 1 if it is another one from now on. */
int vf_nav_bank_decide(const struct vf_nav_view *s);

/** Tests the accepted member of this frame against the others. test: out, [VF_BANK], all 0 before. */
void vf_nav_bank_test(const struct vf_nav_view *s, vfront_innovation_t *test);

/** Adds the separation from a member with fewer measurements to the covariance of the reported state. */
void vf_nav_bank_widen(const struct vf_nav_view *s, vfront_nav_t *nav);

/** Keeps the other members' states of this frame; lost: 1: the estimate ends, and what separates them from it. */
void vf_nav_bank_keep(const struct vf_nav_view *s, int lost);

#endif
