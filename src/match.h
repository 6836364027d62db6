/* SPDX-License-Identifier: MIT */
/* match: the partner of every key point of camera 0 in the frame before.
 *
 * In      points, angles and descriptors of this frame and the one before; partners of the frame before
 * Out     pairs of indices, by rising index in this frame
 * Memory  what each point found and who found it; the partners of two frames
 */
#ifndef VF_MATCH_H
#define VF_MATCH_H

#include "bearing.h"
#include "describe.h"

#if VFRONT_MATCHES
struct vf_match_memory {
    uint32_t back[VFRONT_KEYPOINTS]; /* of each point of the frame before: distance and index of the best that looked at it; all ones: none */
    vfront_match_t match[VFRONT_KEYPOINTS];
    uint32_t count;
};
#else
struct vf_match_memory {
    uint64_t nothing;
};
#endif

/** Whether the stage has anything to do. */
VF_FN int vf_match_on(const struct vf_step *s) { return s->tuning.match && vf_described(&s->tuning); }

#endif
