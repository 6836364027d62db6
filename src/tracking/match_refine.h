/* SPDX-License-Identifier: MIT */
/* Subpixel refinement of a match, written once for host and GPU. vf_track_extract() and vf_track_align() of the tracker
 * align the patch around the previous frame's key point with this frame, starting at this frame's key point. align.h
 * lists how patch sums are computed on host (patch.c) and GPU (patch.cuh). On the GPU every lane of a warp calls these
 * functions with the same values. */
#ifndef VF_MATCH_REFINE_H
#define VF_MATCH_REFINE_H

#include "align.h"
#include "features/bearing.h"
#include "match.h"

/** Largest distance of a refined match from this frame's key point [px of the coarser level of its two key points].
 *  Each of them is off by up to half a pixel in x and in y, both together by up to 1.4 px. */
#define VF_MATCH_REFINE_PX 1.5f

/** Largest distance of the end of a track from the key point of its last match [px of the coarser level of that match's
 *  two key points]. A track consists of successive matches. */
#define VF_MATCH_CHAIN_PX 3.0f

/** Side of the patch by which a match is refined [px]. A patch of 16 px contains more points that move differently from
 *  its centre, which biases the motion estimate. */
#define VF_MATCH_PATCH 8

/** Largest mean absolute residual of the patch of a refined match [grey levels]: several times the noise of an
 *  image. */
#define VF_MATCH_RESIDUAL_GREY 20u

/** 1 if a position [px, Q16] lies in an image. */
VF_SHARED_FN int vf_match_inside(const struct vf_level_picture *picture, int32_t x_q16, int32_t y_q16)
{
    return x_q16 >= 0 && y_q16 >= 0 && x_q16 <= (picture->width - 1) << 16 && y_q16 <= (picture->height - 1) << 16;
}

/** Pyramid level on which the refinement of a match starts: the coarsest with pixels no larger than those of its key
 *  points. step: pixel size of the key points' level [px of level 0]. */
VF_SHARED_FN int32_t vf_match_first_level(const struct vf_match_view *s, float step)
{
    int32_t level = 0;
    while (level + 1 < s->geometry.levels && (float)(2 << level) <= step) level++;
    return level;
}

/** Aligns the patch around the previous frame's key point `before` with this frame, from pyramid level `first` to level
 *  0, starting from *e. Returns 0 if level 0 has no texture or does not converge, or its residual exceeds
 *  VF_MATCH_RESIDUAL_GREY. */
VF_SHARED_FN int vf_match_align(struct vf_patch *patch, const struct vf_match_view *s, const struct vf_point *before,
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
    return found && e->residual_q3 <= VF_MATCH_RESIDUAL_GREY * 8;
}

/** 1 if a position lies within a distance of `most` pixels from the key point `now`. step: size of these pixels [px of
 *  level 0]. */
VF_SHARED_FN int vf_match_near_keypoint(int32_t x_q16, int32_t y_q16, const struct vf_point *now, float most,
                                        float step)
{
    const float x = (float)(x_q16 - now->x_q16), y = (float)(y_q16 - now->y_q16), limit = most * 65536.0f * step;
    return x * x + y * y <= limit * limit;
}

/** Refines a match, starting from *e at this frame's key point. Returns 0 if the alignment fails or ends too far from
 *  the key point. */
VF_SHARED_FN int vf_match_refine_position(struct vf_patch *patch, const struct vf_match_view *s,
                                          const struct vf_point *before, const struct vf_point *now,
                                          struct vf_track_estimate *e)
{
    const struct vf_level_picture current = vf_align_picture(&s->align, s->parity, 0);
    const float step = before->step > now->step ? before->step : now->step;
    return vf_match_inside(&current, before->x_q16, before->y_q16) && vf_match_inside(&current, e->x_q16, e->y_q16) &&
           vf_match_align(patch, s, before, vf_match_first_level(s, step), e) &&
           vf_match_near_keypoint(e->x_q16, e->y_q16, now, VF_MATCH_REFINE_PX, step) &&
           vf_match_inside(&current, e->x_q16, e->y_q16);
}

/** Extends the track of the previous key point by the match m. Returns the old end of the track and writes the new one
 *  to *to. The track moves by the refined motion of the match; without refinement it moves to the key point. A track
 *  that leaves the image or the neighbourhood of its key points ends; the match then begins a new track. */
VF_SHARED_FN struct vf_match_link vf_match_extend_chain(const struct vf_match_view *s, vfront_match_t *m,
                                                        const struct vf_point *before, const struct vf_point *now,
                                                        const struct vf_track_estimate *e, struct vf_match_link *to)
{
    const struct vf_level_picture current = vf_align_picture(&s->align, s->parity, 0);
    struct vf_match_link from = vf_match_link_from(s->match->link[s->parity ^ 1][m->before], before);
    to->x_q16 = m->refined ? from.x_q16 + (e->x_q16 - before->x_q16) : now->x_q16;
    to->y_q16 = m->refined ? from.y_q16 + (e->y_q16 - before->y_q16) : now->y_q16;
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

/** Refines a match: returns it with its positions and bearing, those of its key point if the alignment fails. link:
 *  out, position and track of the match, for the next frame. */
VF_SHARED_FN vfront_match_t vf_match_refine(struct vf_patch *patch, const struct vf_match_view *s, vfront_match_t m,
                                            struct vf_match_link *link)
{
    const struct vf_bearing_memory *b = s->bearing;
    const struct vf_point before = b->point[s->parity ^ 1][0][m.before], now = b->point[s->parity][0][m.keypoint];
    struct vf_track_estimate e = {now.x_q16, now.y_q16, 0, 0, 0, 0};
    m.refined = (uint16_t)vf_match_refine_position(patch, s, &before, &now, &e);
    const struct vf_match_link from = vf_match_extend_chain(s, &m, &before, &now, &e, link);
    for (int k = 0; k < 3; k++) m.bearing[k] = now.bearing[k];
    if (m.refined) vf_bearing_at(b->node[0], s->geometry.nodes_x[0], link->x_q16, link->y_q16, m.bearing);
    m.x_px = (float)link->x_q16 * (1.0f / 65536.0f);
    m.y_px = (float)link->y_q16 * (1.0f / 65536.0f);
    m.x_before_px = (float)from.x_q16 * (1.0f / 65536.0f);
    m.y_before_px = (float)from.y_q16 * (1.0f / 65536.0f);
    return m;
}

#endif
