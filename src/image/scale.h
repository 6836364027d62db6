/* SPDX-License-Identifier: MIT */
/* scale: levels for key point detection, scaled by VFRONT_SCALE_DEN / VFRONT_SCALE_NUM from one to the next (paper 004,
 * II.C).
 *
 * In      level 0
 * Out     levels 1 and up, as far as detect searches
 * Rule    - a pixel is the mean of a support area of level 0 that is twice as wide and high as the pixel, against
 *           aliasing. (The wider support repeats 1 to 6 % more key points on the Oxford sets.) All levels are made from
 *           level 0, so that none waits for another
 *         - weights: along each axis, edges of level 0 pixels are mapped to the level in 1/128 px. The weight of a
 *           level 0 pixel is the length of its overlap with the support; weights sum to 256
 *         - border: the support consists of four half pixels of the level. If the first or last lies beyond the border,
 *           its neighbour counts twice
 * Exact   integers
 * Memory  levels 1 and up, once per camera
 * Shared  edges, overlaps and rounding. Written twice: the sums, integers of any order. Host: boxes of one pixel's size
 *         over tiles (scale.c). Kernel: rows over the support of a column, then sums down the column, as dot products
 *         (scale.cu)
 */
#ifndef VF_SCALE_H
#define VF_SCALE_H

#include "base/view.h"

struct vf_scale_memory {
    /* pixels of levels 1 and up; level 0 is the image itself */
    uint8_t pixels[VFRONT_CAMERAS][(VFRONT_SCALES_BYTES + 127) / 64 * 64];
};

/* View of scale (base/view.h). */
/* clang-format off */
#define VF_READS_scale(X) X(ingest) X(rectify)
#define VF_BEFORE_scale(X)
#define VF_GEOMETRY_scale(X) X(cameras) X(searched) X(scale) X(step_q16) X(inverse_q19)
#define VF_TUNING_scale(X)
/* clang-format on */
VF_GEOMETRY_OF(scale);
struct vf_scale_view {
    VF_VIEW(scale);
    struct vf_pictures pictures;
};
VF_HOST_FORM(scale);

/** First pixel of a level of a camera; level 0 is the image itself, `level0`. l: geometry of the level. */
VF_FN const uint8_t *vf_scale_pixels(const struct vf_scale_memory *m, const uint8_t *level0, int32_t camera,
                                     int32_t level, const struct vf_level *l)
{
    return level ? m->pixels[camera] + l->offset : level0;
}

/** Edge before pixel j of level 0, j <= 4096, as a coordinate on a level [1/128 px of the level]. inverse_q19: 2^19 /
 *  size of the level's pixels [px of level 0]. */
VF_FN int32_t vf_scale_edge(int32_t j, uint32_t inverse_q19)
{
    return (int32_t)(((uint32_t)j * inverse_q19 + 2048) >> 12);
}

/** Width (height) of a level [px] for a level 0 of `size` px: the whole pixels that level 0 covers. */
VF_FN int32_t vf_scale_size(int32_t size, uint32_t inverse_q19) { return vf_scale_edge(size, inverse_q19) >> 7; }

/** First pixel of level 0 that overlaps half pixel h of a level, along one axis. Half pixel h begins at 64 h [1/128
 *  px]. */
VF_FN int32_t vf_scale_first(int32_t h, uint32_t step_q16, uint32_t inverse_q19)
{
    const int32_t j = (int32_t)((uint32_t)h * step_q16 >> 17);
    if (vf_scale_edge(j, inverse_q19) > 64 * h) return j - 1;
    return vf_scale_edge(j + 1, inverse_q19) > 64 * h ? j : j + 1;
}

/** Overlap [1/128 px] of a level 0 pixel between two edges with the half pixels h..end-1 of a level; 0: none. */
VF_FN int32_t vf_scale_overlap(int32_t edge, int32_t next_edge, int32_t h, int32_t end)
{
    return vf_max(vf_min(next_edge, 64 * end) - vf_max(edge, 64 * h), 0);
}

/** First half pixel in the support of pixel u of a level. The support begins half a pixel before pixel u, but not
 *  before the border. */
VF_FN int32_t vf_scale_support(int32_t u) { return vf_max(2 * u - 1, 0); }

/** Weight [1/256] of pixel j of level 0 in pixel u of a level that is `size` px wide (high), along one axis. */
VF_FN int32_t vf_scale_weight(int32_t u, int32_t size, int32_t j, uint32_t inverse_q19)
{
    const int32_t edge = vf_scale_edge(j, inverse_q19), next = vf_scale_edge(j + 1, inverse_q19);
    int32_t weight = vf_scale_overlap(edge, next, vf_scale_support(u), vf_min(2 * u + 3, 2 * size));
    if (u == 0) weight += vf_scale_overlap(edge, next, 0, 1);
    if (u == size - 1) weight += vf_scale_overlap(edge, next, 2 * size - 1, 2 * size);
    return weight;
}

/** Largest number of level 0 pixels in the support of a pixel, along one axis, at the coarsest level. */
#define VF_SCALE_TAPS                                                                                                  \
    ((int32_t)((2 * VFRONT_POWER(VFRONT_SCALE_NUM, VFRONT_SCALES - 1) +                                                \
                VFRONT_POWER(VFRONT_SCALE_DEN, VFRONT_SCALES - 1) - 1) /                                               \
               VFRONT_POWER(VFRONT_SCALE_DEN, VFRONT_SCALES - 1)) +                                                    \
     1)

/** Grey level from a weighted sum with total weight 2^16, halves up. */
VF_FN uint8_t vf_scale_round(uint32_t sum) { return (uint8_t)((sum + 0x8000) >> 16); }

#endif
