/* SPDX-License-Identifier: MIT */
/* stixel_result: obstacle distances and public records from the segments of stixel.
 *
 * In      segments; focal length, baseline, height of the picture; stixel_far_m
 * Out     distance of a segment in the direction of its column; vfront_stixel_t
 * Exact   single precision with + - * /, host form and kernel through the same functions
 */
#ifndef VF_STIXEL_RESULT_H
#define VF_STIXEL_RESULT_H

#include "stixel_segment.h"

#if VFRONT_STIXELS

/** Value of nearest_cm for a direction that is free up to stixel_far_m. */
VF_FN uint32_t vf_stixel_free_cm(const struct vf_stixel_view *s) { return (uint32_t)s->tuning.stixel_far_m * 100 + 1; }

/** Distance of an object in the direction of its column [cm]; vf_stixel_free_cm() for other classes and for what is
 *  farther than stixel_far_m. */
VF_FN uint32_t vf_stixel_obstacle_cm(const struct vf_stixel_view *s, float secant, const struct vf_segment *segment)
{
    const uint32_t free_cm = vf_stixel_free_cm(s);
    if (segment->type != VF_OBJECT || segment->mean_q8 <= 0) return free_cm;
    const float cm = (float)vf_stixel_scale(s->geometry.focal_px[0], s->geometry.pair.baseline_m) * 25600.0f /
                     (float)segment->mean_q8 * secant;
    return cm < (float)(free_cm - 1) ? (uint32_t)cm : free_cm;
}

/** Segment as the result has it: rows from the top. */
VF_FN vfront_stixel_t vf_stixel_result(const struct vf_stixel_geometry *g, const struct vf_segment *segment)
{
    const int32_t height = g->level[0][0].height;
    vfront_stixel_t t;
    t.base_px = (uint16_t)(height - 1 - segment->base);
    t.top_px = (uint16_t)(height - 1 - segment->top);
    t.type = (uint32_t)segment->type;
    t.disparity_px = segment->mean_q8 < 0 ? -1.0f : (float)segment->mean_q8 * (1.0f / VF_STIXEL_PX);
    t.distance_m = segment->type != VF_SKY && segment->mean_q8 > 0
                       ? (float)vf_stixel_scale(g->focal_px[0], g->pair.baseline_m) / t.disparity_px
                       : 0.0f;
    t.sigma_m = t.distance_m > 0.0f ? t.distance_m / t.disparity_px * (float)VF_SIGMA_OBJECT : 0.0f;
    t.cost = (float)segment->cost * (1.0f / VF_STIXEL_NAT);
    return t;
}

#endif

#endif
