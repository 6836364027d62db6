/* SPDX-License-Identifier: MIT */
/* Protection levels of the reported state, by solution separation.
 *
 * In      states of all members of the bank (nav_bank.h) in this frame
 * Out     on each axis of position, attitude, velocity a bound of the error that holds with a stated probability,
 *         though all measurements that one member does not use be wrong; or the reason why there is none
 * Rule    If the measurements that member i does not use are wrong, the error of the reported state is its separation
 *         from member i plus the error of member i: at most |separation| + k deviations of member i. The level is the
 *         largest of these sums over the accepted member, whose separation is 0, and those with fewer measurements.
 *         A member that begins anew from the accepted one has the errors of that from then on. What separated both
 *         until then, and what its variance was larger by, is kept for position and attitude, which nothing corrects
 *         later: a chain of the member's own motions since the start. Attitude: it turns later motions and velocities.
 *         k: an error of deviation 1 is beyond it with at most the probability exp(-k^2 / 2) on both sides together,
 *         which is tuning value protection_risk_ppm, shared out over the frames of an hour.
 * Exact   double precision in one order, on the host
 * Source  J. Blanch et al., Baseline advanced RAIM user algorithm and possible improvements (2015)
 */
#ifndef VF_NAV_LEVEL_H
#define VF_NAV_LEVEL_H

#include "nav.h"

/** Number of errors compared: position, attitude, velocity, as in vfront_nav_t. */
enum { VF_BANK_ERRORS = VF_NAV_V + VF_AXES };

/** 1 if member i had a finite state in this frame. */
int vf_nav_has_state(const struct vf_nav_view *s, uint32_t i);

/** Difference y - x of two states. */
void vf_nav_separation(const vfront_nav_t *x, const vfront_nav_t *y, double d[VF_BANK_ERRORS]);

/** Keeps what separates a member, state `other`, from the accepted one, state `own`, in this frame: it begins anew. */
void vf_nav_level_keep(struct vf_nav_separated *kept, const vfront_nav_t *own, const vfront_nav_t *other);

/** Sets the levels of the reported state. more: variances that it has beyond those of the accepted member. */
void vf_nav_level_set(const struct vf_nav_view *s, const double more[VF_BANK_ERRORS], vfront_nav_t *nav);

/** Duration of an hour [s]. */
#define VF_HOUR_S 3600.0

/** Terms of the series of a logarithm: the last one is below rounding. */
#define VF_SERIES 20

/** Natural logarithm of x, 0 < x <= 1: the same bits everywhere. */
double vf_nav_logarithm(double x);

#endif
