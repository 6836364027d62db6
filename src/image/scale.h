/* SPDX-License-Identifier: MIT */
/* scale: the levels in which key points are found, VFRONT_SCALE_NUM / VFRONT_SCALE_DEN apart (paper 004, II.C).
 *
 * In      level 0
 * Out     levels 1 and up, as far as detect searches
 * Rule    a pixel is the mean of an area twice as wide and as high as it covers on level 0, so nothing aliases and no level waits for
 *         another. Edges of level 0's pixels are taken to the level in 1/128 px; what of a pixel falls between the edges of the area is
 *         its weight, along each axis, and the weights add up to 256 by themselves. The area is made of four halves of pixels; where
 *         the first or the last of a row (column) would lie beyond the level, its neighbour counts twice.
 *         (Against the area that it covers and no more, key points are found again more often: on the Oxford sets by 1 to 6 %.)
 * Exact   integers
 * Memory  levels 1 and up, once a camera
 */
#ifndef VF_SCALE_H
#define VF_SCALE_H

#include "core/vf.h"

struct vf_scale_memory {
    uint8_t pixels[VFRONT_CAMERAS][(VFRONT_SCALES_BYTES + 127) / 64 * 64]; /* no level 0: that is the pyramid's */
};

/** Where the edge before pixel j of level 0 lies on a level [1/128 px]. j is at most 4096. */
VF_FN int32_t vf_scale_edge(int32_t j, uint32_t inverse_q19)
{
    return (int32_t)(((uint32_t)j * inverse_q19 + 2048) >> 12);
}

/** Pixels of a level that `size` pixels of level 0 cover, along one axis. */
VF_FN int32_t vf_scale_size(int32_t size, uint32_t inverse_q19) { return vf_scale_edge(size, inverse_q19) >> 7; }

/** First pixel of level 0 that reaches into half h of a level's pixels; half h begins 64 h from the edge of the level [1/128 px]. */
VF_FN int32_t vf_scale_first(int32_t h, uint32_t step_q16, uint32_t inverse_q19)
{
    const int32_t j = (int32_t)((uint32_t)h * step_q16 >> 17);
    if (vf_scale_edge(j, inverse_q19) > 64 * h) return j - 1;
    return vf_scale_edge(j + 1, inverse_q19) > 64 * h ? j : j + 1;
}

/** How much of what lies between two edges lies in the halves from h to `end`, without it; 0 when nothing does. */
VF_FN int32_t vf_scale_overlap(int32_t edge, int32_t next_edge, int32_t h, int32_t end)
{
    return vf_max(vf_min(next_edge, 64 * end) - vf_max(edge, 64 * h), 0);
}

/** The first half that pixel u of a level is made of, apart from one that counts twice. */
VF_FN int32_t vf_scale_half(int32_t u) { return vf_max(2 * u - 1, 0); }

/** Weight of pixel j of level 0 in pixel u of a level that is `size` px wide (high). */
VF_FN int32_t vf_scale_weight(int32_t u, int32_t size, int32_t j, uint32_t inverse_q19)
{
    const int32_t edge = vf_scale_edge(j, inverse_q19), next = vf_scale_edge(j + 1, inverse_q19);
    int32_t weight = vf_scale_overlap(edge, next, vf_scale_half(u), vf_min(2 * u + 3, 2 * size));
    if (u == 0) weight += vf_scale_overlap(edge, next, 0, 1);
    if (u == size - 1) weight += vf_scale_overlap(edge, next, 2 * size - 1, 2 * size);
    return weight;
}

/** Most pixels of level 0 that reach into a pixel of a level, along one axis. */
#define VF_TAPS                                                                                                        \
    ((int32_t)((2 * VFRONT_POWER(VFRONT_SCALE_NUM, VFRONT_SCALES - 1) +                                                \
                VFRONT_POWER(VFRONT_SCALE_DEN, VFRONT_SCALES - 1) - 1) /                                               \
               VFRONT_POWER(VFRONT_SCALE_DEN, VFRONT_SCALES - 1)) +                                                    \
     1)

/** Rounds a sum of grey levels whose weights add up to 2^16. */
VF_FN uint8_t vf_scale_round(uint32_t sum) { return (uint8_t)((sum + 0x8000) >> 16); }

/** Levels that are searched, and so made. */
VF_FN int32_t vf_scales(const struct vf_step *s)
{
    return vf_min(vf_min(s->geometry.scales, s->tuning.detect_levels), VFRONT_SCALES);
}

#endif
