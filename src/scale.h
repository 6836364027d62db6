/* SPDX-License-Identifier: MIT */
/* scale: the levels in which key points are found, VFRONT_SCALE_NUM / VFRONT_SCALE_DEN apart (paper 004, II.C).
 *
 * In      level 0
 * Out     levels 1 and up, as far as detect searches
 * Rule    a pixel is the mean of the area that it covers on level 0, so nothing aliases and no level waits for another. Edges of level 0's
 *         pixels are taken to the level in 1/256 px; what of a pixel falls between the edges of a coarser one is its weight, along
 *         each axis, and the weights of a coarser pixel add up to 256 by themselves
 * Exact   integers
 * Memory  levels 1 and up, once a camera
 */
#ifndef VF_SCALE_H
#define VF_SCALE_H

#include "vf.h"

struct vf_scale_memory {
    uint8_t pixels[VFRONT_CAMERAS][(VFRONT_SCALES_BYTES + 127) / 64 * 64]; /* no level 0: that is the pyramid's */
};

/** Where the edge before pixel j of level 0 lies on a level [1/256 px]. j is at most 4096. */
VF_FN int32_t vf_scale_edge(int32_t j, uint32_t inverse_q19) { return (int32_t)(((uint32_t)j * inverse_q19 + 1024) >> 11); }

/** Pixels of a level that `size` pixels of level 0 cover, along one axis. */
VF_FN int32_t vf_scale_size(int32_t size, uint32_t inverse_q19) { return vf_scale_edge(size, inverse_q19) >> 8; }

/** First pixel of level 0 that reaches into pixel u of a level. */
VF_FN int32_t vf_scale_first(int32_t u, uint32_t step_q16, uint32_t inverse_q19)
{
    const int32_t j = (int32_t)((uint32_t)u * step_q16 >> 16);
    if (vf_scale_edge(j, inverse_q19) > 256 * u) return j - 1;
    return vf_scale_edge(j + 1, inverse_q19) > 256 * u ? j : j + 1;
}

/** How much of pixel j of level 0 lies in pixel u of a level [1/256 of the latter]; 0 or less when it lies beyond it. */
VF_FN int32_t vf_scale_weight(int32_t u, int32_t j, uint32_t inverse_q19)
{
    return vf_min(vf_scale_edge(j + 1, inverse_q19), 256 * u + 256) - vf_max(vf_scale_edge(j, inverse_q19), 256 * u);
}

/** Most pixels of level 0 that reach into a pixel of a level, along one axis. */
#define VF_TAPS                                                                                                                \
    ((int32_t)((VFRONT_POWER(VFRONT_SCALE_NUM, VFRONT_SCALES - 1) + VFRONT_POWER(VFRONT_SCALE_DEN, VFRONT_SCALES - 1) - 1)     \
               / VFRONT_POWER(VFRONT_SCALE_DEN, VFRONT_SCALES - 1))                                                            \
     + 1)

/** Rounds a sum of grey levels whose weights add up to 2^16. */
VF_FN uint8_t vf_scale_round(uint32_t sum) { return (uint8_t)((sum + 0x8000) >> 16); }

/** Levels that are searched, and so made. */
VF_FN int32_t vf_scales(const struct vf_step *s) { return vf_min(vf_min(s->geometry.scales, s->tuning.detect_levels), VFRONT_SCALES); }

#endif
