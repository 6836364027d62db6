/* SPDX-License-Identifier: MIT */
/* describe: orientation and descriptor of every key point (ORB: Rublee et al., 2011; paper 004, III.2).
 *
 * In      keys of the key points, levels, smoothed levels
 * Out     an angle and 256 bits a key point, in the order of the result
 * Rule    the orientation points to the centre of brightness of a disc of radius 15 px. Its cosine and sine in 1/2^14 turn the pairs of
 *         places of describe_pattern.h; bit i is set where the smoothed level is darker at the first place of pair i than at the second.
 *         Levels are mirrored about their outermost pixels
 * Exact   integers, but for one root and two quotients, correctly rounded, and the angle's polynomial
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
    vfront_descriptor_t descriptor[2][VFRONT_CAMERAS]
                                  [VFRONT_KEYPOINTS]; /* by parity, so that the frame before has its own */
    float angle[2][VFRONT_CAMERAS][VFRONT_KEYPOINTS];
};
#else
struct vf_describe_memory {
    uint64_t nothing;
};
#endif

/** Radius of the disc, and how far a turned place can lie from the key point, along an axis [px of the level]. */
#define VF_DISC 15
#define VF_REACH 18

/** Half the width of the disc in the row (column) v from its centre: 15 15 15 15 14 14 14 13 13 12 11 10 9 8 6 3. */
VF_FN int32_t vf_disc_half(int32_t v) { return (int32_t)(0x3689abcddeeeffffull >> 4 * vf_abs(v) & 15); }

/** A rotation in 1/2^14. */
struct vf_turn {
    int32_t cos_q14, sin_q14;
};

/** The rotation that takes the x axis to (mx, my), the first moments of the disc. */
VF_FN struct vf_turn vf_describe_turn(int32_t mx, int32_t my)
{
    const float x = (float)mx, y = (float)my, length = sqrtf(x * x + y * y);
    struct vf_turn t = {16384, 0};
    if (!(length > 0.0f)) return t;
    t.cos_q14 = vf_round(x / length * 16384.0f);
    t.sin_q14 = vf_round(y / length * 16384.0f);
    return t;
}

/** Where a place (x, y) of the pattern comes to lie. */
VF_FN int32_t vf_turned_x(struct vf_turn t, int32_t x, int32_t y)
{
    return (x * t.cos_q14 - y * t.sin_q14 + 8192) >> 14;
}
VF_FN int32_t vf_turned_y(struct vf_turn t, int32_t x, int32_t y)
{
    return (x * t.sin_q14 + y * t.cos_q14 + 8192) >> 14;
}

/** Bits in which two descriptors differ. */
VF_FN uint32_t vf_describe_distance(const vfront_descriptor_t *a, const vfront_descriptor_t *b)
{
    uint32_t bits = 0;
#ifdef __CUDA_ARCH__
    for (int i = 0; i < 8; i++) bits += (uint32_t)__popc(a->word[i] ^ b->word[i]);
#else
    uint32_t bytes = 0; /* of each byte, how many bits: at most 64 */
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

/** How far two angles of -pi..pi are apart, 0..pi. */
VF_FN float vf_describe_apart(float a, float b)
{
    const float d = fabsf(a - b), round = 6.283185307f - d;
    return d < round ? d : round;
}

/* ---- partners ---------------------------------------------------------------------------------------------------- */

/** Distance and index as one number, the least of which is the best partner. */
VF_FN uint32_t vf_partner(uint32_t distance, uint32_t index) { return distance << 16 | index; }

/** Whether a distance is small enough beside the next best. */
VF_FN int vf_stands_out(const vfront_tuning_t *t, uint32_t distance, uint32_t second)
{
    return t->match_ratio_percent == 100 || distance * 100 <= second * (uint32_t)t->match_ratio_percent;
}

#endif
