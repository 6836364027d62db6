/* SPDX-License-Identifier: MIT
 *
 * Trust in a state, by the rest of the result. The state knows its own covariance, and not all that
 * vfront_health_t knows: two contradictions between both are taken for a failure, so that the autopilot hears quality
 * -1 and not a wrong pose.
 *
 *   a state that is GOOD though no tracks live (health LOST), again and again for TRUST_LOST_NS: its landmarks are
 *   chance, as in noise
 *   a STEREO_ONLY state, while for TRUST_SUSPECT_NS the cameras contradict one another (health.stereo SUSPECT): they
 *   are all that it is made of, as where pictures are mirrored
 *
 * It is sent again from the first frame on in which the contradiction is over. But a state that has gone on with one
 * for TRUST_EXPIRY_NS, as long as the library's own goes on in the dark, is not taken up again: without tracks its
 * position is what chance made of it, and would move by metres as landmarks of before are seen again; by cameras that
 * contradict one another it may have learned a wrong offset between them, and with it ranges and speeds. Then the
 * library begins anew as soon as there are tracks, and the cameras agree (trust_reset()).
 */
#ifndef COMPANION_TRUST_H
#define COMPANION_TRUST_H

#include "vfront.h"

#define TRUST_LOST_NS 1000000000u
#define TRUST_GAP_NS 300000000u /* between two states that are GOOD without tracks */
#define TRUST_SUSPECT_NS 500000000u
#define TRUST_EXPIRY_NS 5000000000u

/** Stamps of the frames since which each has been so; 0: it is not. Zero it. */
typedef struct trust {
    uint64_t lost_ns;                /**< Of the first GOOD state without tracks; others may lie between two. */
    uint64_t good_without_tracks_ns; /**< Of the last one. */
    uint64_t suspect_ns;
    const char *expired; /**< Contradiction with which the state has gone on for too long; NULL: none. */
    int reset_is_due;    /**< 1: and it is over: a new one is to begin. */
} trust_t;

/** State to be sent of a result: its own, or one that is LOST. Returns NULL, or why it is not its own. */
const char *trust_check(trust_t *trust, const vfront_result_t *result, vfront_nav_t *nav);

/** Resets the library, behind a result that was judged, where a new state is to begin. Returns 1 if it did. */
int trust_reset(trust_t *trust, vfront_t *vf);

#endif
