/* SPDX-License-Identifier: MIT */
/* Settling of a match, written once for host and GPU: sub-pixel refinement of its position in this frame. The patch
 * around the key point of the previous frame is aligned, from the key point of this frame on, by the tracker's
 * vf_track_extract() and vf_track_align(). How patch sums are spread over lanes on host (patch.c) and GPU (patch.cuh):
 * see align.h. On the GPU every lane of a warp calls these functions with the same values. */
#ifndef VF_MATCH_FLOW_H
#define VF_MATCH_FLOW_H

#include "align.h"
#include "features/bearing.h"
#include "match.h"

/** Largest distance of a settled match from its key point, in pixels of the coarser of both key points' levels: each
 *  key point is off by up to half a pixel along both axes, which is 1.4 px at the corner of both. */
#define VF_MATCH_SETTLE_PX 1.5f

/** Side of the patch [px]. A larger one, as the tracker's, contains more that moves differently from its centre: with
 *  16 px the motions of a rendered flight had a bias in the same direction in every frame, as large as their random
 *  error is now. */
#define VF_MATCH_PATCH 8

/** 1 if a position lies in a picture. */
VF_FLOW int vf_match_inside(const struct vf_level_picture *picture, int32_t x_q16, int32_t y_q16)
{
    return x_q16 >= 0 && y_q16 >= 0 && x_q16 <= (picture->width - 1) << 16 && y_q16 <= (picture->height - 1) << 16;
}

/** Coarsest pyramid level whose pixels are no larger than those of a key point (`step` px of level 0): a match is
 *  within the alignment's reach from there on. */
VF_FLOW int32_t vf_match_first_level(const struct vf_match_view *s, float step)
{
    int32_t level = 0;
    while (level + 1 < s->geometry.levels && (float)(2 << level) <= step) level++;
    return level;
}

/** Aligns the patch around `before` with this frame, from level `first` to level 0, from the estimate *e on. Returns 0
 *  when level 0 has no texture or does not converge, or its residual exceeds match_residual_grey. */
VF_FLOW int vf_match_align(struct vf_patch *patch, const struct vf_match_view *s, const struct vf_point *before,
                           int32_t first, struct vf_track_estimate *e)
{
    int found = 0;
    for (int32_t level = first; level >= 0; level--) {
        const struct vf_level_picture previous = vf_align_picture(&s->align, s->parity ^ 1, level),
                                      current = vf_align_picture(&s->align, s->parity, level);
        const struct vf_template_normal n = vf_track_extract(patch, &s->align, &previous, level, VF_MATCH_PATCH,
                                                             before->x_q16, before->y_q16);
        found = n.valid && vf_track_align(patch, &n, &current, level, VF_MATCH_PATCH, &s->align.tuning, e);
    }
    return found && e->residual_q3 <= (uint32_t)s->tuning.match_residual_grey * 8;
}

/** 1 if an estimate is within VF_MATCH_SETTLE_PX pixels, of the size `step`, of a key point. */
VF_FLOW int vf_match_near_keypoint(const struct vf_track_estimate *e, const struct vf_point *now, float step)
{
    const float x = (float)(e->x_q16 - now->x_q16), y = (float)(e->y_q16 - now->y_q16),
                limit = VF_MATCH_SETTLE_PX * 65536.0f * step;
    return x * x + y * y <= limit * limit;
}

/** Fills in position and bearing of a match: settled where the alignment succeeds, else those of its key point. */
VF_FLOW vfront_match_t vf_match_settle(struct vf_patch *patch, const struct vf_match_view *s, vfront_match_t m)
{
    const struct vf_bearing_memory *b = s->bearing;
    const struct vf_point before = b->point[s->parity ^ 1][0][m.before], now = b->point[s->parity][0][m.keypoint];
    const struct vf_level_picture current = vf_align_picture(&s->align, s->parity, 0);
    const float step = before.step > now.step ? before.step : now.step;
    struct vf_track_estimate e = {now.x_q16, now.y_q16, 0, 0, 0, 0};
    m.settled = s->tuning.match_settle && vf_match_inside(&current, before.x_q16, before.y_q16) &&
                vf_match_inside(&current, e.x_q16, e.y_q16) &&
                vf_match_align(patch, s, &before, vf_match_first_level(s, step), &e) &&
                vf_match_near_keypoint(&e, &now, step) && vf_match_inside(&current, e.x_q16, e.y_q16);
    for (int k = 0; k < 3; k++) m.bearing[k] = now.bearing[k];
    if (m.settled) vf_bearing_at(b->node[0], s->geometry.nodes_x[0], e.x_q16, e.y_q16, m.bearing);
    m.x_px = (float)(m.settled ? e.x_q16 : now.x_q16) * (1.0f / 65536.0f);
    m.y_px = (float)(m.settled ? e.y_q16 : now.y_q16) * (1.0f / 65536.0f);
    return m;
}

#endif
