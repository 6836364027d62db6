/* SPDX-License-Identifier: MIT */
/* Pyramidal Lucas-Kanade of the track stage, written once for host and GPU, from the predicted position to the reason
 * of a track's end. On the GPU every lane of a warp calls these functions with the same values. */
#ifndef VF_LUCAS_KANADE_H
#define VF_LUCAS_KANADE_H

#include "align.h"
#include "geometry/prediction.h"
#include "image/ingest.h"

/** Side of the patches that are aligned on a pyramid level [px of the level]. */
VF_SHARED_FN int32_t vf_track_patch_size(const struct vf_track_tuning *t, int32_t level)
{
    return level >= t->track_patch8_level ? 8 : VF_PATCH;
}

/** Number of pyramid levels on which features are tracked. */
VF_SHARED_FN int32_t vf_track_levels(const struct vf_track_view *s)
{
    return vf_min(s->geometry.levels, s->tuning.track_levels);
}

/** Loads or extracts the template of a feature on a pyramid level. Level 0: the stored template, or if template_due a
 *  new one from the previous frame, which is stored. Coarse levels: a new one from the previous frame. */
VF_SHARED_FN struct vf_template_normal vf_track_feature_template(struct vf_patch *patch, const struct vf_track_view *s,
                                                                 int32_t level, const struct vf_feature *f)
{
    struct vf_track_memory *m = s->track;
    const int32_t size = vf_track_patch_size(&s->tuning, level);
    if (level == 0 && !f->template_due) {
        vf_patch_load(patch, m->templates[f->template_index], size);
        return m->template_normal[f->template_index];
    }
    const struct vf_level_picture before = vf_align_picture(&s->align, s->parity ^ 1, level);
    const struct vf_template_normal n = vf_track_extract(patch, &s->align, &before, level, size, f->x_q16, f->y_q16);
    if (level == 0) {
        vf_patch_store(patch, m->templates[f->template_index], size);
        vf_patch_store_normal(&m->template_normal[f->template_index], &n);
    }
    return n;
}

/* ---- tracking of a feature --------------------------------------------------------------------------------------- */

/** Aligns a feature on all pyramid levels, from the coarsest to level 0. Coarse levels without texture or with
 *  divergence are skipped. On level 0 missing texture, divergence or a large residual ends the track. */
VF_SHARED_FN void vf_track_coarse_to_fine(struct vf_patch *patch, const struct vf_track_view *s,
                                          const struct vf_feature *f, struct vf_track_estimate *e)
{
    e->end = VFRONT_END_TEXTURE;
    for (int32_t level = vf_track_levels(s) - 1; level >= 0; level--) {
        if (level == 0) vf_track_compose_photometric(&e->alpha_q14, &e->offset_q5, f->alpha_q14, f->offset_q5);
        const struct vf_template_normal n = vf_track_feature_template(patch, s, level, f);
        if (!n.valid) continue;
        const struct vf_level_picture current = vf_align_picture(&s->align, s->parity, level);
        const int found = vf_track_align(patch, &n, &current, level, vf_track_patch_size(&s->tuning, level),
                                         &s->align.tuning, e);
        if (level) continue;
        e->end = VFRONT_END_DIVERGED;
        if (!found) continue;
        const float contrast = s->track->template_normal[f->template_index].contrast;
        e->end = vf_track_fits(&s->align.tuning, contrast, e->alpha_q14, e->residual_q3) ? 0 : VFRONT_END_RESIDUAL;
    }
}

/** Forward-backward check: tracks from the new position `now` back to the previous frame. Returns the squared distance
 *  from the feature's position in that frame [px^2]; 1e30 if level 0 does not converge. first: predicted position from
 *  which the feature was tracked. The backward tracking starts with the reversed prediction, on the finest level where
 *  the remaining motion is at most 1 px. */
VF_SHARED_FN float vf_track_backward_error2(struct vf_patch *patch, const struct vf_track_view *s,
                                            const struct vf_feature *f, const struct vf_track_estimate *now,
                                            const struct vf_track_estimate *first)
{
    struct vf_track_estimate e = {
        now->x_q16 - (first->x_q16 - f->x_q16), now->y_q16 - (first->y_q16 - f->y_q16), 0, 0, 0, 0};
    const int32_t distance = vf_max(vf_abs(now->x_q16 - first->x_q16), vf_abs(now->y_q16 - first->y_q16));
    int32_t coarsest = 0;
    while (coarsest < vf_track_levels(s) - 1 && distance >> coarsest > 1 << 16) coarsest++;
    int found = 0;
    for (int32_t level = coarsest; level >= 0; level--) {
        const struct vf_level_picture from = vf_align_picture(&s->align, s->parity, level),
                                      to = vf_align_picture(&s->align, s->parity ^ 1, level);
        const struct vf_template_normal n = vf_track_extract(
            patch, &s->align, &from, level, vf_track_patch_size(&s->tuning, level), now->x_q16, now->y_q16);
        found = n.valid &&
                vf_track_align(patch, &n, &to, level, vf_track_patch_size(&s->tuning, level), &s->align.tuning, &e);
    }
    if (!found) return 1e30f;
    const float dx = (float)(e.x_q16 - f->x_q16) * (1.0f / 65536.0f),
                dy = (float)(e.y_q16 - f->y_q16) * (1.0f / 65536.0f);
    return dx * dx + dy * dy;
}

/** Checks the new position of a feature. Returns 0, or the reason (vfront_end_t) why the track ends. */
VF_SHARED_FN uint32_t vf_track_end_reason(const struct vf_track_view *s, const struct vf_track_estimate *e)
{
    const struct vf_level *l = &s->align.level[0];
    const int32_t border = s->tuning.detect_border_px << 16;
    if (e->alpha_q14 <= -12288 || e->alpha_q14 >= 49152)
        return VFRONT_END_RESIDUAL; /* gain at its bound of 1/4 or 4: a wrong position, not a change of illumination */
    if (e->x_q16 < border || e->x_q16 > ((l->width - 1) << 16) - border) return VFRONT_END_BORDER;
    if (e->y_q16 < border || e->y_q16 > ((l->height - 1) << 16) - border) return VFRONT_END_BORDER;
    const int32_t at = vf_pixel(e->y_q16) * l->pitch + vf_pixel(e->x_q16);
    if (!vf_usable(&s->masks, 0, vf_framed(&s->ingest->params, 0), at)) return VFRONT_END_MASK;
    return 0;
}

/** Bearing of a position in camera 0, without distortion: the camera is taken for a pinhole. */
VF_SHARED_FN void vf_track_bearing(const struct vf_track_geometry *g, int32_t x_q16, int32_t y_q16, float bearing[3])
{
    bearing[0] = ((float)x_q16 * (1.0f / 65536.0f) - g->centre_px[0]) / g->focal_px[0];
    bearing[1] = ((float)y_q16 * (1.0f / 65536.0f) - g->centre_px[1]) / g->focal_px[0];
    bearing[2] = 1.0f;
    vf_unit(bearing);
}

/** Moves a position to where the stage predict expects a feature. A new feature is moved by the predicted motion at the
 *  mean depth, an older one by the predicted rotation and its parallax in the last frame. The position stays unchanged
 *  if the result lies behind the camera or beyond 8192 px. */
VF_SHARED_FN void vf_track_expect(const struct vf_track_view *s, const struct vf_feature *f, int32_t *x_q16,
                                  int32_t *y_q16)
{
    const struct vf_track_geometry *g = &s->geometry;
    const struct vf_predict_memory *p = s->predict;
    float bearing[3], before[3];
    vf_track_bearing(g, f->x_q16, f->y_q16, bearing);
    vf_track_bearing(g, f->x_q16 - f->dx_q16, f->y_q16 - f->dy_q16, before);
    const struct vf_expected e = f->age ? vf_predict_ray(&p->now, &p->parallax, bearing, before)
                                        : vf_predict_point(&p->now, bearing, p->prior.mean_1pm, 0.0f);
    if (!(e.bearing[2] > 0.1f)) return;
    const float x = e.bearing[0] / e.bearing[2] * g->focal_px[0] + g->centre_px[0],
                y = e.bearing[1] / e.bearing[2] * g->focal_px[0] + g->centre_px[1];
    if (!(x > -8192.0f && x < 8192.0f && y > -8192.0f && y < 8192.0f)) return;
    *x_q16 = vf_round(x * 65536.0f);
    *y_q16 = vf_round(y * 65536.0f);
}

/** Position at which the alignment of a feature starts. The tuning value track_prior selects the predicted motion, the
 *  given rotation, the last displacement, or the previous position. */
VF_SHARED_FN struct vf_track_estimate vf_track_predict(const struct vf_track_view *s, const struct vf_feature *f,
                                                       const struct vf_params *params)
{
    struct vf_track_estimate e = {f->x_q16, f->y_q16, 0, 0, 0, 0};
    const int32_t prior = s->tuning.track_prior;
    const int predicted = (s->geometry.active & VF_BIT(predict)) && s->predict->now.source;
    if (predicted && (prior == VFRONT_PRIOR_BOTH || (prior == VFRONT_PRIOR_VELOCITY && !f->age))) {
        vf_track_expect(s, f, &e.x_q16, &e.y_q16);
    } else if (prior & VFRONT_PRIOR_ROTATION && params->rotation_given) {
        vf_track_warp(params->H, &e.x_q16, &e.y_q16);
    } else if (prior & VFRONT_PRIOR_VELOCITY) {
        e.x_q16 += f->dx_q16;
        e.y_q16 += f->dy_q16;
    }
    return e;
}

/** Tracks a feature from one start position `first`: alignment, checks of the new position, forward-backward check. */
VF_SHARED_FN struct vf_track_estimate vf_track_attempt(struct vf_patch *patch, const struct vf_track_view *s,
                                                       const struct vf_feature *f, struct vf_track_estimate first)
{
    struct vf_track_estimate e = first;
    vf_track_coarse_to_fine(patch, s, f, &e);
    if (!e.end) e.end = vf_track_end_reason(s, &e);
    if (!e.end && s->tuning.track_back_mpx) {
        const float limit = (float)s->tuning.track_back_mpx * 0.001f;
        if (vf_track_backward_error2(patch, s, f, &e, &first) > limit * limit) e.end = VFRONT_END_BACK;
    }
    return e;
}

/** Tracks a feature of the previous frame into this one. With track_retry an attempt that fails from a predicted
 *  position is repeated from the previous position. Returns the feature with its new position; if it ended, only `end`
 *  changes. */
VF_SHARED_FN struct vf_feature vf_track_one(struct vf_patch *patch, const struct vf_track_view *s,
                                            const struct vf_params *params, struct vf_feature f)
{
    const struct vf_track_estimate previous = {f.x_q16, f.y_q16, 0, 0, 0, 0};
    struct vf_track_estimate first = vf_track_predict(s, &f, params), e;
    for (int retry = s->tuning.track_retry;; retry = 0) {
        e = vf_track_attempt(patch, s, &f, first);
        const int failed = e.end == VFRONT_END_DIVERGED || e.end == VFRONT_END_RESIDUAL || e.end == VFRONT_END_BACK;
        if (!retry || !failed || (first.x_q16 == previous.x_q16 && first.y_q16 == previous.y_q16)) break;
        first = previous;
    }

    f.end = (uint8_t)e.end;
    if (f.end) return f;
    f.dx_q16 = e.x_q16 - f.x_q16;
    f.dy_q16 = e.y_q16 - f.y_q16;
    f.x_q16 = e.x_q16;
    f.y_q16 = e.y_q16;
    f.alpha_q14 = e.alpha_q14;
    f.offset_q5 = e.offset_q5;
    f.residual_q3 = e.residual_q3;
    f.age++;
    f.template_due = s->tuning.track_template_frames && f.age % (uint32_t)s->tuning.track_template_frames == 0;
    if (f.residual_q3 > VF_TRACK_TEMPLATE_GREY * 8) f.template_due = 1;
    if (f.template_due) f.alpha_q14 = f.offset_q5 = 0;
    return f;
}

#endif
