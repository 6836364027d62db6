/* SPDX-License-Identifier: MIT */
/* Where in this frame a match lies: what surrounds its key point of the frame before is looked for, from its key point of this frame on, by
 * the steps of the tracker. It stands here once; how a patch is spread over lanes is for the host form (patch.c: one lane) and the kernel
 * (patch.cuh: a warp) to say. Every lane runs it with the same values. */
#ifndef VF_MATCH_FLOW_H
#define VF_MATCH_FLOW_H

#include "track_flow.h"

/** How far a match may settle from its key point, in pixels of the coarser level of its two: each of them is off by half a pixel at most along
 *  both axes, which is 1.4 px at the corner of both. */
#define VF_MATCH_SETTLE 1.5f

/** Side of the patch that is looked for [px]. A larger one, as the tracker's, holds more that moves otherwise than its middle does: with 16 px the
 *  motions of a drawn flight were off to the same side in every frame, by as much as they now are at random. */
#define VF_MATCH_SIZE 8

/** Whether a place lies in a picture. */
VF_FLOW int vf_match_inside(const struct vf_view *v, int32_t x_q16, int32_t y_q16)
{
    return x_q16 >= 0 && y_q16 >= 0 && x_q16 <= (v->width - 1) << 16 && y_q16 <= (v->height - 1) << 16;
}

/** The coarsest level of halves whose pixels are no larger than those of a key point: from there on, what is looked for is within reach. */
VF_FLOW int32_t vf_match_first(const struct vf_step *s, float step)
{
    int32_t level = 0;
    while (level + 1 < s->geometry.levels && (float)(2 << level) <= step) level++;
    return level;
}

/** Moves a guess to where the surroundings of `before` are. Returns 0 when they are not found, or nothing can be told from them. */
VF_FLOW int vf_match_look(struct vf_patch *patch, const struct vf_step *s, const struct vf_point *before, int32_t first,
                          struct vf_guess *g)
{
    int found = 0;
    for (int32_t level = first; level >= 0; level--) {
        const struct vf_view was = vf_track_view(s, s->parity ^ 1, level), is = vf_track_view(s, s->parity, level);
        const struct vf_normal n = vf_track_template(patch, s, &was, level, VF_MATCH_SIZE, before->x_q16,
                                                     before->y_q16);
        found = n.valid && vf_track_level(patch, &n, &is, level, VF_MATCH_SIZE, &s->tuning, g);
    }
    return found && g->residual_q3 <= (uint32_t)s->tuning.track_residual_grey * 8;
}

/** Whether a place is near enough to a key point. */
VF_FLOW int vf_match_near_point(const struct vf_guess *g, const struct vf_point *now, float step)
{
    const float x = (float)(g->x_q16 - now->x_q16), y = (float)(g->y_q16 - now->y_q16),
                most = VF_MATCH_SETTLE * 65536.0f * step;
    return x * x + y * y <= most * most;
}

/** Fills in the place of a match. */
VF_FLOW vfront_match_t vf_match_settle(struct vf_patch *patch, const struct vf_step *s, vfront_match_t m)
{
    const struct vf_bearing_memory *b = &s->memory->bearing;
    const struct vf_point before = b->point[s->parity ^ 1][0][m.before], now = b->point[s->parity][0][m.keypoint];
    const struct vf_view is = vf_track_view(s, s->parity, 0);
    const float step = before.step > now.step ? before.step : now.step;
    struct vf_guess g = {now.x_q16, now.y_q16, 0, 0, 0, 0};
    m.settled = s->tuning.match_settle && vf_match_inside(&is, before.x_q16, before.y_q16) &&
                vf_match_inside(&is, g.x_q16, g.y_q16) &&
                vf_match_look(patch, s, &before, vf_match_first(s, step), &g) && vf_match_near_point(&g, &now, step) &&
                vf_match_inside(&is, g.x_q16, g.y_q16);
    for (int k = 0; k < 3; k++) m.bearing[k] = now.bearing[k];
    if (m.settled) vf_bearing_at(s, b->node[0], 0, g.x_q16, g.y_q16, m.bearing);
    m.x_px = (float)(m.settled ? g.x_q16 : now.x_q16) * (1.0f / 65536.0f);
    m.y_px = (float)(m.settled ? g.y_q16 : now.y_q16) * (1.0f / 65536.0f);
    return m;
}

#endif
