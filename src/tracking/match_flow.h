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

/** Largest distance of a chain from the key point in which its match ends, in the same pixels. */
#define VF_MATCH_CHAIN_PX 3.0f

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

/** Aligns the patch around `before` in the previous frame with this frame, from level `first` to level 0, from the
 *  estimate *e on. Returns 0 when level 0 has no texture or does not converge, or its residual exceeds
 *  match_residual_grey. */
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

/** 1 if a position is within `most` pixels, of the size `step`, of a key point. */
VF_FLOW int vf_match_near_keypoint(int32_t x_q16, int32_t y_q16, const struct vf_point *now, float most, float step)
{
    const float x = (float)(x_q16 - now->x_q16), y = (float)(y_q16 - now->y_q16), limit = most * 65536.0f * step;
    return x * x + y * y <= limit * limit;
}

/** Aligns the patch around the key point of the previous frame with this frame: *e, from the key point of this frame
 *  on. Returns 0 where that fails or leads too far away. */
VF_FLOW int vf_match_follow(struct vf_patch *patch, const struct vf_match_view *s, const struct vf_point *before,
                            const struct vf_point *now, struct vf_track_estimate *e)
{
    const struct vf_level_picture current = vf_align_picture(&s->align, s->parity, 0);
    const float step = before->step > now->step ? before->step : now->step;
    return s->tuning.match_settle && vf_match_inside(&current, before->x_q16, before->y_q16) &&
           vf_match_inside(&current, e->x_q16, e->y_q16) &&
           vf_match_align(patch, s, before, vf_match_first_level(s, step), e) &&
           vf_match_near_keypoint(e->x_q16, e->y_q16, now, VF_MATCH_SETTLE_PX, step) &&
           vf_match_inside(&current, e->x_q16, e->y_q16);
}

/** Start of a match in its chain, and its end in *to: the chain moves as the patch around its key point did. A chain
 *  that is no longer near its key points, or leaves the picture, ends, and the match begins one of its own; a match
 *  that is not settled goes to its key point. */
VF_FLOW struct vf_match_link vf_match_go_on(const struct vf_match_view *s, vfront_match_t *m,
                                            const struct vf_point *before, const struct vf_point *now,
                                            const struct vf_track_estimate *e, struct vf_match_link *to)
{
    const struct vf_level_picture current = vf_align_picture(&s->align, s->parity, 0);
    struct vf_match_link from = vf_match_link_from(s->match->link[s->parity ^ 1][m->before], before);
    to->x_q16 = m->settled ? from.x_q16 + (e->x_q16 - before->x_q16) : now->x_q16;
    to->y_q16 = m->settled ? from.y_q16 + (e->y_q16 - before->y_q16) : now->y_q16;
    if (!vf_match_near_keypoint(to->x_q16, to->y_q16, now, VF_MATCH_CHAIN_PX,
                                before->step > now->step ? before->step : now->step) ||
        !vf_match_inside(&current, to->x_q16, to->y_q16)) {
        from = vf_match_link_from(vf_match_unlinked(), before);
        m->id = vf_match_new_id(s, (uint32_t)m->keypoint);
        m->age = 1;
        to->x_q16 = e->x_q16;
        to->y_q16 = e->y_q16;
    }
    to->id = m->id;
    to->age = m->age;
    return from;
}

/** Fills in positions and bearing of a match: settled where the alignment succeeds, else those of its key point. *link:
 *  gets its position and chain. */
VF_FLOW vfront_match_t vf_match_settle(struct vf_patch *patch, const struct vf_match_view *s, vfront_match_t m,
                                       struct vf_match_link *link)
{
    const struct vf_bearing_memory *b = s->bearing;
    const struct vf_point before = b->point[s->parity ^ 1][0][m.before], now = b->point[s->parity][0][m.keypoint];
    struct vf_track_estimate e = {now.x_q16, now.y_q16, 0, 0, 0, 0};
    m.settled = (uint16_t)vf_match_follow(patch, s, &before, &now, &e);
    const struct vf_match_link from = vf_match_go_on(s, &m, &before, &now, &e, link);
    for (int k = 0; k < 3; k++) m.bearing[k] = now.bearing[k];
    if (m.settled) vf_bearing_at(b->node[0], s->geometry.nodes_x[0], link->x_q16, link->y_q16, m.bearing);
    m.x_px = (float)link->x_q16 * (1.0f / 65536.0f);
    m.y_px = (float)link->y_q16 * (1.0f / 65536.0f);
    m.x_before_px = (float)from.x_q16 * (1.0f / 65536.0f);
    m.y_before_px = (float)from.y_q16 * (1.0f / 65536.0f);
    return m;
}

#endif
