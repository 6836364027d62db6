/* SPDX-License-Identifier: MIT */
/* carry: list of the members that one frame hands to the next, and their mirror in pinned memory. The host port
 * continues from the mirror when the GPU fails (core/failover.c). Images and pyramids are not listed: the host keeps
 * the previous frame's images and recomputes them. tests/core/carry.c proves that the lists are complete, for host
 * forms and emulated kernels. For host forms it also proves that each entry is needed, except bearing.first, which only
 * kernels read.
 *
 * Cost    writes per frame: 108 bytes a key point of camera 0, 64 a track, 8 for each of VFRONT_TRACKS, 1.6 KB a new
 *         template; with a state of the estimator 280 KB more for each member of the bank, also if its
 *         window is not full. The prior's matrix is written whole, because initially it is not exactly symmetric
 * Safety: a frame writes only the set of its own parity, and templates only of features that had none. A frame that
 * fails half way therefore leaves all data of the previous frame intact (tracking/track.h).
 */
#ifndef VF_CARRY_H
#define VF_CARRY_H

#include "report.h"

/* clang-format off */
/** Members of stage memory with one set per parity, of which the next frame reads this frame's set: X(stage, member,
 *  part of a set, extent).
 *  Extent: what is mirrored of the set. ALL: everything; POINT: as many entries as camera 0 has key points; TRACK: as
 *  many entries as there are tracks; STATE: everything if there is an estimator state; KEYED: everything if the frame
 *  is a keyframe, which the next frame writes into the ring. */
#define VF_CARRY_TRACKS(X)                                                                                            \
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
    X(stereo, pair, , ALL) X(epipolar, estimate, , ALL) X(partner, range, , ALL)
#else
#define VF_CARRY_STEREO(X)
#endif
#if VFRONT_MATCHES
#define VF_CARRY_MATCHES(X) X(match, before, , POINT) X(match, link, , POINT)
#else
#define VF_CARRY_MATCHES(X)
#endif
#if VFRONT_EGO
#define VF_CARRY_EGO(X) X(ego, good, , ALL) X(ego, running_means, , ALL) X(ego, last, , ALL) X(ego, disparity, , ALL)
#else
#define VF_CARRY_EGO(X)
#endif
#if VFRONT_VIO
#define VF_CARRY_VIO(X) X(vio, window, , STATE)
#else
#define VF_CARRY_VIO(X)
#endif
#if VFRONT_MAP
#define VF_CARRY_MAP(X) X(recall, set, , KEYED) X(keyframe, now, , ALL) X(loop, recent, , ALL) X(map, data, , ALL)
#else
#define VF_CARRY_MAP(X)
#endif
#define VF_CARRY(X)                                                                                                    \
    VF_CARRY_TRACKS(X) VF_CARRY_POINTS(X) VF_CARRY_DESCRIBED(X) VF_CARRY_STEREO(X) VF_CARRY_MATCHES(X)                \
    VF_CARRY_EGO(X) VF_CARRY_VIO(X) VF_CARRY_MAP(X)

/** Members of report's own memory with one set per parity. They are mirrored separately, because report computes them
 *  in the launch that mirrors the members of the other stages. */
#define VF_CARRY_REPORT(X) X(report, chain, , ALL) X(report, running_mean, , ALL) X(report, interval, , ALL)

/** Members with a single set, which every frame reads and writes: X(stage, member). */
#if VFRONT_STIXELS
#define VF_CARRY_SINGLE(X) X(stixel, road)
#else
#define VF_CARRY_SINGLE(X)
#endif

/** Members with one set per parity. A frame uses one set and clears the other one for the next frame: X(stage, member,
 *  value of every 32-bit word). */
#define VF_CLEARED_ALWAYS(X)                                                                                           \
    X(freeze, rows, 0) X(freeze, sum, 0) X(detect, best, 0) X(detect, second, 0) X(detect, corner, 0)
#if VFRONT_STEREO
#define VF_CLEARED_STEREO(X) X(stereo, back, VF_NONE) X(stereo, expected, 0) X(epipolar, sums, 0)
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

/** Number of bytes of a member to be mirrored, by its extent. The code that uses these macros defines `points` and
 *  `tracks`, the numbers of key points and tracks; `has_state`, 1 with an estimator state; `is_keyframe`, 1 if the
 *  frame is a keyframe. */
#define VF_CARRY_BYTES_ALL(data) (sizeof(data))
#define VF_CARRY_BYTES_POINT(data) (sizeof *(data)*points)
#define VF_CARRY_BYTES_TRACK(data) (sizeof *(data)*tracks)
#define VF_CARRY_BYTES_STATE(data) (has_state ? sizeof(data) : 0)
#define VF_CARRY_BYTES_KEYED(data) (is_keyframe ? sizeof(data) : 0)

/** Data that one frame hands to the next: a byte array for each member that is carried. */
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

/** Copy in host memory of the data that the next frame needs. set: data of the last two frames, by the parity of the
 *  frame; templates, template_normal: of all tracks. */
struct vf_carry_mirror {
    VF_CACHE_LINE struct vf_carry set[2];
    VF_CACHE_LINE int16_t templates[VFRONT_TRACKS][3][VF_PATCH_PIXELS]; /* copy of vf_track_memory.templates */
    struct vf_template_normal template_normal[VFRONT_TRACKS];
};

/** 1 for a feature of the previous frame whose template was extracted in this frame. */
VF_FN int vf_carry_template_new(const struct vf_feature *before) { return before->template_due; }

#endif
