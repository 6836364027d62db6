/* SPDX-License-Identifier: MIT */
/* carry: what a step hands to the next one, listed once; and its mirror in pinned memory, from which the host port goes
 * on when the GPU fails (core/failover.c). Pictures and pyramids of the frame before are not listed: the host keeps
 * that frame's pictures and makes them anew. tests/core/carry.c proves the lists complete, and each entry needed, for
 * the host forms, and complete for the kernels where these are emulated: bearing.first they read alone.
 *
 * Cost    a step with the mirror writes 108 bytes a key point of camera 0, 64 a track, 8 for each that there may be,
 *         and 1.6 KB a template that is new; with a state of the IMU 230 KB more (105 landmarks, 103 prior, 18 frames),
 *         whatever of it is in use. The prior with which a state begins is not symmetric to the bit: half would not do
 * Safety  a step writes the set of its own parity, and templates only of features that had none in the frame before: a
 *         step that fails half way leaves all that the frame before relies on, as on the device (tracking/track.h) */
#ifndef VF_CARRY_H
#define VF_CARRY_H

#include "report.h"

/* clang-format off */
/** Members with a set for each parity of which the next step reads this one's: X(stage, member, part of a set, extent).
 *  Extent: ALL, or the first entries, as many as there are key points of camera 0 (POINT) or tracks (TRACK), or all
 *  where the step has a state of the IMU (STATE): behind a step without one, none goes on; or where its frame is a
 *  keyframe (KEYED), which comes into the ring with the next step. */
#define VF_CARRY_TRACKED(X)                                                                                            \
    X(refill, feature, , TRACK) X(refill, counts, , ALL) X(freeze, frames, , ALL) X(freeze, shown, , ALL)          \
    X(freeze, repeated, , ALL) X(predict, given, , ALL)
#define VF_CARRY_POINTS(X) X(bearing, point, [0], POINT) X(bearing, count, , ALL) X(bearing, first, , ALL)
#if VFRONT_DESCRIPTORS
#define VF_CARRY_DESCRIBED(X) X(describe, descriptor, [0], POINT) X(describe, angle, [0], POINT)
#else
#define VF_CARRY_DESCRIBED(X)
#endif
#if VFRONT_STEREO
#define VF_CARRY_STEREO(X)                                                                                             \
    X(stereo, range_m, , POINT) X(stereo, range_sigma_m, , POINT) X(stereo, matched, , POINT)                          \
    X(stereo, pair, , ALL) X(rows, estimate, , ALL) X(partner, range, , ALL)
#else
#define VF_CARRY_STEREO(X)
#endif
#if VFRONT_MATCHES
#define VF_CARRY_MATCHES(X) X(match, before, , POINT) X(match, link, , POINT)
#else
#define VF_CARRY_MATCHES(X)
#endif
#if VFRONT_EGO
#define VF_CARRY_EGO(X) X(ego, good, , ALL) X(ego, usual, , ALL) X(ego, last, , ALL) X(ego, disparity, , ALL)
#else
#define VF_CARRY_EGO(X)
#endif
#if VFRONT_WINDOW
#define VF_CARRY_WINDOW(X) X(window, window, , STATE)
#else
#define VF_CARRY_WINDOW(X)
#endif
#if VFRONT_MAP
#define VF_CARRY_MAP(X) X(place, set, , KEYED) X(keyframe, now, , ALL) X(loop, recent, , ALL) X(map, state, , ALL)
#else
#define VF_CARRY_MAP(X)
#endif
#define VF_CARRY(X)                                                                                                    \
    VF_CARRY_TRACKED(X) VF_CARRY_POINTS(X) VF_CARRY_DESCRIBED(X) VF_CARRY_STEREO(X) VF_CARRY_MATCHES(X)                \
    VF_CARRY_EGO(X) VF_CARRY_WINDOW(X) VF_CARRY_MAP(X)

/** The same of report, which writes them itself. */
#define VF_CARRY_REPORT(X) X(report, path, , ALL) X(report, usual, , ALL) X(report, interval, , ALL)

/** Members with one set, which a step reads and writes: X(stage, member). */
#if VFRONT_STIXELS
#define VF_CARRY_SINGLE(X) X(stixel, road)
#else
#define VF_CARRY_SINGLE(X)
#endif

/** Members with a set for each parity of which a step leaves the other one cleared, for the next: X(stage, member,
 *  value of every 32-bit word). */
#define VF_CLEARED_ALWAYS(X)                                                                                           \
    X(freeze, rows, 0) X(freeze, sum, 0) X(detect, best, 0) X(detect, second, 0) X(detect, corner, 0)
#if VFRONT_STEREO
#define VF_CLEARED_STEREO(X) X(stereo, back, VF_NONE) X(stereo, expected, 0) X(rows, sums, 0)
#else
#define VF_CLEARED_STEREO(X)
#endif
#if VFRONT_MATCHES
#define VF_CLEARED_MATCHES(X) X(match, back, VF_NONE) X(match, found, VF_NONE) X(match, second, 256)
#else
#define VF_CLEARED_MATCHES(X)
#endif
#define VF_CLEARED(X) VF_CLEARED_ALWAYS(X) VF_CLEARED_STEREO(X) VF_CLEARED_MATCHES(X)
/* clang-format on */

/** Bytes of a member to be carried. Where it is used, `points` and `tracks` are their numbers, `stated` is 1 in a step
 *  with a state of the IMU, and `keyed` in one whose frame is a keyframe. */
#define VF_CARRY_BYTES_ALL(place) (sizeof(place))
#define VF_CARRY_BYTES_POINT(place) (sizeof *(place)*points)
#define VF_CARRY_BYTES_TRACK(place) (sizeof *(place)*tracks)
#define VF_CARRY_BYTES_STATE(place) (stated ? sizeof(place) : 0)
#define VF_CARRY_BYTES_KEYED(place) (keyed ? sizeof(place) : 0)

/** State that one step hands to the next, as bytes of the members. */
struct vf_carry {
#define VF_MEMBER(stage, member, part, extent)                                                                         \
    VF_ALIGN(16) uint8_t stage##_##member[sizeof(((struct vf_##stage##_memory *)0)->member[0] part)];
    VF_CARRY(VF_MEMBER)
    VF_CARRY_REPORT(VF_MEMBER)
#undef VF_MEMBER
#define VF_MEMBER(stage, member)                                                                                       \
    VF_ALIGN(16) uint8_t stage##_##member[sizeof(((struct vf_##stage##_memory *)0)->member)];
    VF_CARRY_SINGLE(VF_MEMBER)
#undef VF_MEMBER
};

/** Mirror on the host of what the last two steps handed on, by parity, and of the tracks' templates. */
struct vf_carry_mirror {
    VF_LINE struct vf_carry set[2];
    VF_LINE int16_t templates[VFRONT_TRACKS][3][VF_PATCH_PIXELS]; /* as in struct vf_track_memory */
    struct vf_template_normal template_normal[VFRONT_TRACKS];
};

/** 1 for a feature of the frame before whose template was extracted in this step. */
VF_FN int vf_carry_template_new(const struct vf_feature *before) { return before->template_due; }

#endif
