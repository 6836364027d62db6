/* SPDX-License-Identifier: MIT */
/* stixel_result: obstacle distances and public records from the segments of stixel.
 *
 * In      segments; focal length, baseline, image height; stixel_far_m
 * Out     distance of a segment along the direction of its column; vfront_stixel_t
 * Exact   single precision with + - * /, shared by host form and kernel
 */
#ifndef VF_STIXEL_RESULT_H
#define VF_STIXEL_RESULT_H

#include "stixel_segment.h"

#if VFRONT_STIXELS

/** Value of vf_stixel_memory.nearest_cm for a direction that is free up to stixel_far_m. */
VF_FN uint32_t vf_stixel_free_cm(const struct vf_stixel_view *s) { return (uint32_t)s->tuning.stixel_far_m * 100 + 1; }

/** Value of vf_stixel_memory.nearest_cm for a direction where objects may be hidden and none was found: greater than
 *  for any object, less than for a free direction. */
VF_FN uint32_t vf_stixel_hidden_cm(const struct vf_stixel_view *s) { return (uint32_t)s->tuning.stixel_far_m * 100; }

/** 1 if a column may hide a near object whose match would lie left of camera 1's first column. True if the ground of
 *  the lowest row is hidden. Also true within dense_disparities of the left border, unless the lowest segment is an
 *  object, or ground or sky with at least half of its rows valid. bottom: lowest segment of the column, with `valid`
 *  valid rows; NULL: none. */
VF_FN int vf_stixel_may_hide(const struct vf_column_model *m, const struct vf_segment *bottom, int32_t valid)
{
    if (m->hidden) return 1;
    if (m->left_px >= m->disparities) return 0;
    return !bottom || bottom->type == VF_UNKNOWN ||
           (bottom->type != VF_OBJECT && 2 * valid <= bottom->top - bottom->base);
}

/** Distance of an object along the direction of its column [cm]. vf_stixel_hidden_cm() for unknown segments;
 *  vf_stixel_free_cm() for other classes and beyond stixel_far_m. */
VF_FN uint32_t vf_stixel_obstacle_cm(const struct vf_stixel_view *s, float secant, const struct vf_segment *segment)
{
    const uint32_t free_cm = vf_stixel_free_cm(s);
    if (segment->type == VF_UNKNOWN) return vf_stixel_hidden_cm(s);
    if (segment->type != VF_OBJECT || segment->mean_q8 <= 0) return free_cm;
    const float cm = (float)vf_stixel_scale(s->geometry.focal_px[0], s->geometry.pair.baseline_m) * 25600.0f /
                     (float)segment->mean_q8 * secant;
    return cm < (float)(free_cm - 1) ? (uint32_t)cm : free_cm;
}

/** Number of the lowest segments of a column that its hidden rows replace by one unknown segment. list: `count`
 *  segments from the top, as of vf_backtrack(). */
VF_FN int32_t vf_stixel_replaced(const struct vf_column_model *m, const uint16_t *list, int32_t count)
{
    int32_t least = 0;
    while (least < count && vf_back_base(list[count - 1 - least]) < m->hidden) least++;
    return least;
}

/** Unknown segment at the bottom of a column with hidden rows. */
VF_FN struct vf_segment vf_stixel_hidden_segment(const struct vf_column_model *m)
{
    const struct vf_segment hidden = {0, (uint16_t)(m->hidden - 1), -1, VF_UNKNOWN, 0};
    return hidden;
}

/** Largest number of segments of a column's optimum. One of VFRONT_SEGMENTS is reserved for hidden rows, if there are
 *  any. */
VF_FN int32_t vf_stixel_segments_max(const struct vf_column_model *m) { return VFRONT_SEGMENTS - (m->hidden > 0); }

/** Converts a segment to its record in the result, with rows from the top. */
VF_FN vfront_stixel_t vf_stixel_result(const struct vf_stixel_geometry *g, const struct vf_segment *segment)
{
    const int32_t height = g->level[0][0].height;
    vfront_stixel_t t;
    t.base_px = (uint16_t)(height - 1 - segment->base);
    t.top_px = (uint16_t)(height - 1 - segment->top);
    t.type = (uint32_t)segment->type;
    t.disparity_px = segment->mean_q8 < 0 ? -1.0f : (float)segment->mean_q8 * (1.0f / VF_STIXEL_PX);
    t.distance_m = segment->type < VF_SKY && segment->mean_q8 > 0
                       ? (float)vf_stixel_scale(g->focal_px[0], g->pair.baseline_m) / t.disparity_px
                       : 0.0f;
    t.sigma_m = t.distance_m > 0.0f ? t.distance_m / t.disparity_px * (0.001f * (float)g->stixel_model.object_mpx)
                                    : 0.0f;
    t.cost = (float)segment->cost * (1.0f / VF_STIXEL_NAT);
    return t;
}

#endif

#endif
