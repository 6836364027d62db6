/* SPDX-License-Identifier: MIT */
/* describe: orientation and descriptor of every key point (oriented BRIEF of ORB: Rublee et al., 2011; paper 004,
 * III.2).
 *
 * In      keys of the key points, levels, smoothed levels
 * Out     an angle and 256 bits a key point, in the order of the result
 * Rule    - orientation: direction of the intensity centroid of a disc of radius 15 px. Its cosine and sine [1/16384]
 *           rotate the point pairs of describe_pattern.h
 *         - bit i: 1 if the smoothed level is darker at the first point of pair i than at the second. Levels are
 *           mirrored at their borders
 * Exact   integers, except one root and two quotients, correctly rounded, and the polynomial of the angle
 * Shared  rotation, vf_describe_rotation(); angle. Written twice, for the vector instructions of each machine: moments
 *         of the disc (host: columns of 16-bit integers; kernel: one warp, a row per lane, dot products of four bytes),
 *         rotation of the pattern (kernel: two-way dot products of bytes if available, else vf_rotated_x() and
 *         vf_rotated_y() as on the host), comparison of the pairs (host: 32 bits in turn; kernel: eight bits per lane).
 *         All are integer sums, independent of order
 * Memory  72 bytes a key point and camera
 */
#ifndef VF_DESCRIBE_H
#define VF_DESCRIBE_H

#include <math.h>

#include "math/angle.h"
#include "select.h"
#include "image/smooth.h"

#if VFRONT_DESCRIPTORS
struct vf_describe_memory {
    /* [parity][camera]: descriptors, and orientations -pi..pi [rad], of this and of the previous frame, which match
     * compares. */
    vfront_descriptor_t descriptor[2][VFRONT_CAMERAS][VFRONT_KEYPOINTS];
    float angle[2][VFRONT_CAMERAS][VFRONT_KEYPOINTS];
};
#else
struct vf_describe_memory {
    uint64_t nothing;
};
#endif

/* View of describe (base/view.h). */
/* clang-format off */
#define VF_READS_describe(X) X(ingest) X(rectify) X(scale) X(smooth) X(select)
#define VF_BEFORE_describe(X)
#define VF_GEOMETRY_describe(X) X(cameras) X(scale) X(groups) X(group_first)
#define VF_TUNING_describe(X) X(select_points)
/* clang-format on */
VF_GEOMETRY_OF(describe);
VF_TUNING_OF(describe);
struct vf_describe_view {
    VF_VIEW(describe);
    struct vf_describe_tuning tuning;
    struct vf_pictures pictures;
};
VF_HOST_FORM(describe);

#define VF_DISC_RADIUS 15 /* radius of the disc whose moments give the orientation [px of the level] */
/** Largest distance of a rotated pattern point from the key point along an axis [px of the level]. */
#define VF_PATTERN_RADIUS 18

/** Half width of the disc in the row (column) v from its centre [px]: 15 15 15 15 14 14 14 13 13 12 11 10 9 8 6 3. */
VF_FN int32_t vf_disc_half(int32_t v) { return (int32_t)(0x3689abcddeeeffffull >> 4 * vf_abs(v) & 15); }

/** Image rotation: cosine and sine [1/16384]. */
struct vf_rotation_q14 {
    int32_t cos_q14, sin_q14;
};

/** Rotation that turns the x axis to the direction of (mx, my), the first moments of the disc. Identity if both are
 *  0. */
VF_FN struct vf_rotation_q14 vf_describe_rotation(int32_t mx, int32_t my)
{
    const float x = (float)mx, y = (float)my, length = sqrtf(x * x + y * y);
    struct vf_rotation_q14 t = {16384, 0};
    if (!(length > 0.0f)) return t;
    t.cos_q14 = vf_round(x / length * 16384.0f);
    t.sin_q14 = vf_round(y / length * 16384.0f);
    return t;
}

/** Coordinates of the pattern point (x, y) after rotation, rounded to a pixel. */
VF_FN int32_t vf_rotated_x(struct vf_rotation_q14 t, int32_t x, int32_t y)
{
    return (x * t.cos_q14 - y * t.sin_q14 + 8192) >> 14;
}
VF_FN int32_t vf_rotated_y(struct vf_rotation_q14 t, int32_t x, int32_t y)
{
    return (x * t.sin_q14 + y * t.cos_q14 + 8192) >> 14;
}

/** Hamming distance of two descriptors, 0..256. */
VF_FN uint32_t vf_hamming_distance(const vfront_descriptor_t *a, const vfront_descriptor_t *b)
{
    uint32_t bits = 0;
#ifdef __CUDA_ARCH__
    for (int i = 0; i < 8; i++) bits += (uint32_t)__popc(a->word[i] ^ b->word[i]);
#else
    uint32_t bytes = 0; /* four counts of one bits, one for each byte of a word, each at most 64 */
    for (int i = 0; i < 8; i++) {
        uint32_t w = a->word[i] ^ b->word[i];
        w -= w >> 1 & 0x55555555u;
        w = (w & 0x33333333u) + (w >> 2 & 0x33333333u);
        bytes += (w + (w >> 4)) & 0x0f0f0f0fu;
    }
    bytes = (bytes & 0x00ff00ffu) + (bytes >> 8 & 0x00ff00ffu);
    bits = (bytes & 0xffffu) + (bytes >> 16);
#endif
    return bits;
}

/** Absolute difference of two angles in -pi..pi: 0..pi [rad]. */
VF_FN float vf_angle_difference(float a, float b)
{
    const float d = fabsf(a - b), round = 6.283185307f - d;
    return d < round ? d : round;
}

/* ---- matches of descriptors, for stereo and match ---------------------------------------------------------------- */

/** Match candidate packed as distance << 16 | index. The minimum is the best match; of equal distances the lowest index
 *  wins. */
VF_FN uint32_t vf_packed_match(uint32_t distance, uint32_t index) { return distance << 16 | index; }

/** Ratio test: 1 if the best distance is at most ratio_percent of the second best. ratio_percent 100: always 1. */
VF_FN int vf_ratio_test(int32_t ratio_percent, uint32_t distance, uint32_t second)
{
    return ratio_percent == 100 || distance * 100 <= second * (uint32_t)ratio_percent;
}

#endif
