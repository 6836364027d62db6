/* SPDX-License-Identifier: MIT */
/* scale: the scale levels in which key points are detected, VFRONT_SCALE_NUM / VFRONT_SCALE_DEN apart (paper 004,
 * II.C).
 *
 * In      level 0
 * Out     levels 1 and up, as far as detect searches
 * Rule    a pixel is the mean of a support area twice as wide and as high as the pixel's own footprint on level 0,
 *         so nothing aliases; every level is made from level 0, so none waits for another. Along each axis, edges of
 *         level 0's pixels are mapped to the level in 1/128 px; the weight of a level 0 pixel is the length of its
 *         overlap with the support, and the weights add up to 256 without normalisation. The support consists of
 *         four half pixels of the level; where the first or the last of them would lie beyond the border of the
 *         level, its neighbour counts twice. (Compared with a support of the footprint alone, key points are found
 *         again more often: on the Oxford sets by 1 to 6 %.)
 * Exact   integers
 * Memory  levels 1 and up, once per camera
 * Shared  edges, overlaps and rounding. Not the summation, integer and so of any order: the host form sums boxes of
 *         one pixel's size over tiles (scale.c), the kernel each row over the support of a column, then pairs of such
 *         sums down the column, all by dot products (scale.cu)
 */
#ifndef VF_SCALE_H
#define VF_SCALE_H

#include "core/view.h"

struct vf_scale_memory {
    uint8_t pixels[VFRONT_CAMERAS][(VFRONT_SCALES_BYTES + 127) / 64 * 64]; /* levels 1 and up; level 0 is the picture */
};

/* View of scale: core/view.h. */
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

/** Pixels of a scale level of a camera: level 0 is the picture, `level0`; the others are the stage's. l: the level's
 *  geometry. */
VF_FN const uint8_t *vf_scale_pixels(const struct vf_scale_memory *m, const uint8_t *level0, int32_t camera,
                                     int32_t level, const struct vf_level *l)
{
    return level ? m->pixels[camera] + l->offset : level0;
}

/** Coordinate on a level [1/128 px of the level] of the edge before pixel j of level 0, j <= 4096. inverse_q19: of
 *  the level. */
VF_FN int32_t vf_scale_edge(int32_t j, uint32_t inverse_q19)
{
    return (int32_t)(((uint32_t)j * inverse_q19 + 2048) >> 12);
}

/** Width (height) of a level [px] for a level 0 of `size` px: whole pixels that level 0 covers. */
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

/** First half pixel in the support of pixel u of a level, without the one that counts twice at the border. */
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

/** Grey level from a sum of grey levels with weights that add up to 2^16, halves up. */
VF_FN uint8_t vf_scale_round(uint32_t sum) { return (uint8_t)((sum + 0x8000) >> 16); }

#endif
