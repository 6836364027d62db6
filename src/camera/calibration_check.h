/* SPDX-License-Identifier: MIT */
/* calibration_check: do the pictures of both cameras fit their calibration? Decided in the first seconds.
 *
 * In      health of each frame: state of the pair, of tracking, sharpness of the pictures
 * Out     health.calibration
 * Rule    - Sequential probability ratio test (A. Wald, 1945): a calibration that fits has at most 1 frame in 20
 *           SUSPECT, one that does not at least every second. Risks: 10^-6 to name a right one, 10^-3 to pass a wrong
 *         - Frames within VF_CALIBRATION_ALIKE_NS see the same scene: together they count as one
 *         - SUSPECT counts if half of the tracks are older ones and camera 1 is about as sharp as camera 0
 *         - After it has fitted, SUSPECT is a fault of the flight. A named one that fits later is no longer named
 * Exact   double precision in one order, on the host
 */
#ifndef VF_CALIBRATION_CHECK_H
#define VF_CALIBRATION_CHECK_H

#include "base/vf.h"

#define VF_CALIBRATION_ALIKE_NS 150000000u /* time within which frames see the same scene [ns] */
/** Logarithm of the ratio of probabilities, in units of that of a SUSPECT frame, ln(0.5 / 0.05): of a GOOD frame, with
 *  the other sign, ln(0.95 / 0.5); at which the calibration does not fit, ln(10^6). Half of that: it fits. */
#define VF_CALIBRATION_GOOD 0.28
#define VF_CALIBRATION_LIMIT 6.0

struct vf_calibration_check {
    double evidence; /* logarithm of the ratio, as above */
    int32_t fits, wrong;
};

/** Takes a frame into the check. Returns health.calibration. */
static inline uint32_t vf_calibration_check(struct vf_calibration_check *c, const vfront_health_t *h)
{
    const double alike = (double)h->dt_ns / VF_CALIBRATION_ALIKE_NS, weight = alike < 1.0 ? alike : 1.0;
    const int seen = h->followed >= h->born && 2.0f * h->sharpness_grey[VFRONT_CAMERAS - 1] >= h->sharpness_grey[0];
    if (h->state == VFRONT_STARTING) memset(c, 0, sizeof *c);
    if (c->fits) return 0;
    if (h->stereo == VFRONT_STEREO_GOOD) c->evidence -= VF_CALIBRATION_GOOD * weight;
    if (h->stereo == VFRONT_STEREO_SUSPECT && seen) c->evidence += weight;
    if (c->evidence > VF_CALIBRATION_LIMIT) c->evidence = VF_CALIBRATION_LIMIT;
    c->fits = c->evidence <= -0.5 * VF_CALIBRATION_LIMIT;
    c->wrong = c->evidence >= VF_CALIBRATION_LIMIT || (c->wrong && c->evidence > 0.0);
    return (uint32_t)c->wrong;
}

#endif
