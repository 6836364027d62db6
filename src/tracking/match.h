/* SPDX-License-Identifier: MIT */
/* match: the partner of every key point of camera 0 in the frame before.
 *
 * In      points, angles, descriptors and pyramids of this frame and the one before; where the points of the frame before are expected;
 *         parameters
 * Out     pairs of indices, how well their descriptors agree, and places, by rising index in this frame; where this frame's points are
 *         expected in the next
 * Rule    a partner has about the same level and, when the search is guided, lies no farther than a window from where the other is
 *         expected: where the frame's rotation takes it, else where it goes with the velocity that it had, else where it was. Of those
 *         the one with the closest descriptor, by a margin to the next best somewhere else, and each must be the other's best. The
 *         camera may have rolled: the turn of most pairs' orientations is that of the picture, and pairs that turned by much else go.
 *         It is the peak of a histogram of 256 bins under a tent 30 degrees wide to each side. ORB-SLAM's bins of 30 degrees cut a
 *         peak that lies on their bounds in two; a tent has no bounds
 *         Key points lie on whole pixels of their level. So what surrounds a point of the frame before is then looked for on level 0 of this
 *         one, from its partner on, by the tracker's steps, which give the match a place to a part of a pixel (match_flow.h)
 * Exact   integers, but for expectations, windows, and steps and bearings of places: single precision in one order, roots and quotients
 *         correctly rounded
 * Memory  68 bytes a key point: what each found, who found it, its next best, where it is expected, by parity, and the pairs
 */
#ifndef VF_MATCH_H
#define VF_MATCH_H

#include "features/bearing.h"
#include "features/describe.h"

#if VFRONT_MATCHES
struct vf_match_memory {
    uint32_t back
        [VFRONT_KEYPOINTS]; /* of each point of the frame before: distance and index of the best that looked at it; all ones: none */
    uint32_t found[VFRONT_KEYPOINTS]; /* of each point of this frame, likewise */
    uint32_t second
        [VFRONT_KEYPOINTS]; /* of each that found its own finder: distance of the next best somewhere else; else 256 */
    float expected[2][VFRONT_KEYPOINTS]
                  [3]; /* by parity of the frame: bearings in the next, if the camera goes on as it did */
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

/* ---- search ------------------------------------------------------------------------------------------------------ */

struct vf_match_bounds {
    float window; /* for level 0 [focal lengths] */
    int32_t guided, levels;
    uint32_t distance;
};
VF_FN struct vf_match_bounds vf_match_bounds(const struct vf_step *s)
{
    const vfront_tuning_t *t = &s->tuning;
    struct vf_match_bounds b;
    b.window = (float)t->match_window_px / s->geometry.focal_px[0];
    b.guided = t->match_guided;
    b.levels = t->match_levels;
    b.distance = (uint32_t)t->match_distance;
    return b;
}

/** Where a point of the frame before is expected: `bearing` its own, `going` what was stored for it. */
VF_FN void vf_match_expect(const struct vf_params *params, const float bearing[3], const float going[3],
                           float expected[3])
{
    for (int k = 0; k < 3; k++) expected[k] = params->rotation_given ? vf_dot(params->R + 3 * k, bearing) : going[k];
}

/** Where a point will be expected in the next frame; before: its partner's bearing, NULL: it has none. */
VF_FN void vf_match_go_on(const float bearing[3], const float *before, float going[3])
{
    for (int k = 0; k < 3; k++) going[k] = before ? bearing[k] + (bearing[k] - before[k]) : bearing[k];
    if (before) vf_unit(going);
}

/** The window on a level with pixels of this size, squared. The greater one of two levels' is that of the coarser. */
VF_FN float vf_match_reach(float window, float step)
{
    const float reach = window * step;
    return reach * reach;
}

/** Whether (x, y, z), from one bearing to another, is within reach. */
VF_FN int vf_match_near(float reach, float x, float y, float z) { return x * x + y * y + z * z <= reach; }

/** The match of a point of this frame, its place apart. */
VF_FN vfront_match_t vf_match_of(uint32_t i, uint32_t found, uint32_t second)
{
    vfront_match_t m;
    memset(&m, 0, sizeof m);
    m.keypoint = (uint16_t)i;
    m.before = (uint16_t)(found & 0xffff);
    m.distance = (uint16_t)(found >> 16);
    m.second = (uint16_t)second;
    return m;
}

/** Whether two points found each other. found: of this frame's point i; back: of the one that it found. */
VF_FN int vf_match_mutual(uint32_t found, uint32_t back, uint32_t i)
{
    return found != VF_NONE && back == vf_partner(found >> 16, i);
}

/* ---- turn of the picture ----------------------------------------------------------------------------------------- */

#define VF_TURNS 256 /* bins of a whole turn */
#define VF_TENT 21   /* bins from the top of the tent to where it is 0 */

/** By how much a point turned since the frame before, in 1/2^16 of a turn. */
VF_FN uint32_t vf_match_turned(float now_rad, float before_rad)
{
    const float scale = 10430.37835f; /* 2^16 / (2 pi) */
    return (uint32_t)(vf_round(now_rad * scale) - vf_round(before_rad * scale)) & 0xffff;
}

/** The bin in the middle of which, or near it, that lies. */
VF_FN int32_t vf_match_bin(uint32_t turned) { return (int32_t)((turned + 128) >> 8 & (VF_TURNS - 1)); }

/** Pairs under the tent over a bin, and the bin, as one number, the greatest of which is that of the picture's turn. */
VF_FN uint32_t vf_match_tent(const int32_t bin[VF_TURNS], int32_t top)
{
    int32_t sum = 0;
    for (int32_t k = 1 - VF_TENT; k < VF_TENT; k++) sum += (VF_TENT - vf_abs(k)) * bin[(top + k) & (VF_TURNS - 1)];
    return (uint32_t)sum << 8 | (uint32_t)(VF_TURNS - 1 - top);
}
VF_FN int32_t vf_match_top(uint32_t tent) { return VF_TURNS - 1 - (int32_t)(tent & 255); }

/** Whether a pair turned as the picture did. */
VF_FN int vf_match_turns(const vfront_tuning_t *t, uint32_t turned, int32_t top)
{
    const int32_t apart = (int32_t)((turned - ((uint32_t)top << 8)) & 0xffff);
    return vf_min(apart, 65536 - apart) <= t->match_turn_deg * 65536 / 360;
}

#endif
