/* SPDX-License-Identifier: MIT */
/* The flow of the track stage: Gauss-Newton on a level, from coarse to fine, from first guess to verdict. It stands here once;
 * how a patch is spread over lanes is for the host form (patch.c: one lane) and the kernel (patch.cuh: a warp) to say. Both
 * define struct vf_patch and the functions under "hooks". Every lane runs the flow with the same values. */
#ifndef VF_TRACK_FLOW_H
#define VF_TRACK_FLOW_H

#include "core/memory.h"

#ifdef __CUDACC__
#define VF_FLOW static __device__ __forceinline__
#define VF_HOOK VF_FLOW
#else
#define VF_FLOW static inline
#define VF_HOOK extern
#endif

/* ---- hooks: a patch of `size` x `size` px, spread over lanes ----------------------------------------------------- */

struct vf_patch;

/** Takes a template around (x, y) of a level's view: its pixels, the grey level about which its light changes, its moments. */
VF_HOOK void vf_patch_take(struct vf_patch *patch, const struct vf_view *view, int32_t level, int32_t light,
                           int32_t x_q16, int32_t y_q16, int32_t size, int32_t *pivot_q5, struct vf_moments *moments);
/** Compares a template with the picture around (x, y). */
VF_HOOK struct vf_sums vf_patch_compare(const struct vf_patch *patch, const struct vf_view *view, int32_t x_q16,
                                        int32_t y_q16, int32_t size, int32_t pivot_q5, int32_t alpha_q14,
                                        int32_t beta_q5);
/** Templates from and to memory: grey, x gradient, y gradient, VF_PATCH_PIXELS each. */
VF_HOOK void vf_patch_load(struct vf_patch *patch, int16_t (*from)[VF_PATCH_PIXELS], int32_t size);
VF_HOOK void vf_patch_store(const struct vf_patch *patch, int16_t (*to)[VF_PATCH_PIXELS], int32_t size);
/** Writes a small record once, whatever the number of lanes. */
VF_HOOK void vf_patch_store_normal(struct vf_normal *to, const struct vf_normal *from);

/* ---- flow -------------------------------------------------------------------------------------------------------- */

/** Where a feature is thought to be. */
struct vf_guess {
    int32_t x_q16, y_q16; /* level 0 */
    int32_t alpha_q14,
        offset_q5; /* on coarse levels since the frame before, on the finest since its template was taken */
    uint32_t residual_q3;
    uint32_t end; /* vfront_end_t, 0 while all is well */
};

VF_FLOW int32_t vf_track_size(const vfront_tuning_t *t, int32_t level)
{
    return level >= t->track_patch8_level ? 8 : VF_PATCH;
}

VF_FLOW int32_t vf_track_levels(const struct vf_geometry *g, const vfront_tuning_t *t)
{
    return vf_min(g->levels, t->track_levels);
}

/** From the centre of a patch to the centre of its first pixel: (size - 1) / 2 px. */
VF_FLOW int32_t vf_track_corner(int32_t x_q16, int32_t size) { return x_q16 - (size - 1) * 0x8000; }

/** A coarse level need not be more exact than this [px]: the next one starts from it. */
#define VF_COARSE_EPSILON 0.1f

/** Gauss-Newton steps in all that may bring the residual down by less than 1/32 before a level ends. */
#define VF_IDLE_STEPS 2

/** Gauss-Newton on one level. It ends with a short step, when the residual has not come down in VF_IDLE_STEPS steps, or with
 *  track_iterations; on the finest level, whose residual is judged, a step is short only when the light has settled as well.
 *  Returns 0, with *g as it was, when it runs away, or when a coarse level ends with 9/8 of the residual it began with. */
VF_FLOW int vf_track_level(const struct vf_patch *patch, const struct vf_normal *n, const struct vf_view *view,
                           int32_t level, int32_t size, const vfront_tuning_t *t, struct vf_guess *g)
{
    const int32_t start_x = vf_to_level_q16(g->x_q16, level), start_y = vf_to_level_q16(g->y_q16, level);
    const int32_t reach = VF_PATCH << 16;
    const float fine = (float)t->track_epsilon_mpx * 0.001f;
    const float epsilon = level && fine < VF_COARSE_EPSILON ? VF_COARSE_EPSILON : fine;
    const int32_t light = vf_track_light(level, t);
    int32_t x = start_x, y = start_y;
    int32_t alpha = g->alpha_q14;
    /* offset at the pivot instead of at black */
    int32_t beta = vf_clamp(g->offset_q5 + (alpha * n->pivot_q5 >> 14), -8160, 8160);
    uint32_t absolute = 0, first = 0, least = 0;

    for (int32_t i = 0, idle = 0; i < t->track_iterations && idle < VF_IDLE_STEPS; i++) {
        const struct vf_sums s = vf_patch_compare(patch, view, vf_track_corner(x, size), vf_track_corner(y, size), size,
                                                  n->pivot_q5, alpha, beta);
        const struct vf_delta d = vf_track_solve(n, &s, light, alpha);
        absolute = (uint32_t)s.absolute;
        if (i == 0)
            first = least = absolute;
        else
            idle += absolute >= least - (least >> 5);
        if (absolute < least) least = absolute;
        if (!(fabsf(d.x) < (float)VF_PATCH && fabsf(d.y) < (float)VF_PATCH && fabsf(d.alpha) < 4.0f &&
              fabsf(d.beta) < 4096.0f))
            return 0;
        x -= vf_round(d.x * 65536.0f);
        y -= vf_round(d.y * 65536.0f);
        alpha = vf_clamp(alpha + vf_round(d.alpha * 16384.0f), -12288, 49152); /* gain 1/4 .. 4 */
        beta = vf_clamp(beta + vf_round(d.beta * 4.0f), -8160, 8160);
        if (vf_abs(x - start_x) > reach || vf_abs(y - start_y) > reach) return 0;
        if (d.x * d.x + d.y * d.y < epsilon * epsilon && (level || vf_track_steady(&d))) break;
    }
    if (level && absolute > first + (first >> 3)) return 0;
    g->x_q16 += (int32_t)((uint32_t)(x - start_x) << level);
    g->y_q16 += (int32_t)((uint32_t)(y - start_y) << level);
    g->alpha_q14 = alpha;
    g->offset_q5 = beta - (alpha * n->pivot_q5 >> 14);
    g->residual_q3 = absolute / (uint32_t)(size * size);
    return 1;
}

/** One level of camera 0's picture in the buffers of a parity. */
VF_FLOW struct vf_view vf_track_view(const struct vf_step *s, int32_t parity, int32_t level)
{
    const struct vf_level *l = &s->geometry.level[0][level];
    const struct vf_view v = {vf_level_pixels(s, parity, 0, level), l->pitch, l->width, l->height};
    return v;
}

/** Takes the template of a level around a place of level 0. */
VF_FLOW struct vf_normal vf_track_template(struct vf_patch *patch, const struct vf_step *s, const struct vf_view *view,
                                           int32_t level, int32_t size, int32_t x_q16, int32_t y_q16)
{
    struct vf_moments m;
    int32_t pivot_q5;
    const int32_t light = vf_track_light(level, &s->tuning);
    vf_patch_take(patch, view, level, light, vf_track_corner(vf_to_level_q16(x_q16, level), size),
                  vf_track_corner(vf_to_level_q16(y_q16, level), size), size, &pivot_q5, &m);
    return vf_track_normal(&m, size * size, pivot_q5, level, &s->tuning);
}

/** The template that a feature is compared with on a level: on the coarse ones it is taken from the frame before, on the finest it
 *  is kept from the frame in which it was fresh. */
VF_FLOW struct vf_normal vf_track_ready(struct vf_patch *patch, const struct vf_step *s, int32_t level,
                                        const struct vf_feature *f)
{
    struct vf_track_memory *m = &s->memory->track;
    const int32_t size = vf_track_size(&s->tuning, level);
    if (level == 0 && !f->fresh) {
        vf_patch_load(patch, m->patch[f->slot], size);
        return m->normal[f->slot];
    }
    const struct vf_view before = vf_track_view(s, s->parity ^ 1, level);
    const struct vf_normal n = vf_track_template(patch, s, &before, level, size, f->x_q16, f->y_q16);
    if (level == 0) {
        vf_patch_store(patch, m->patch[f->slot], size);
        vf_patch_store_normal(&m->normal[f->slot], &n);
    }
    return n;
}

/** From coarse to fine. A level without texture, or one that runs away, is passed over; but the finest decides. */
VF_FLOW void vf_track_follow(struct vf_patch *patch, const struct vf_step *s, const struct vf_feature *f,
                             struct vf_guess *g)
{
    g->end = VFRONT_END_TEXTURE;
    for (int32_t level = vf_track_levels(&s->geometry, &s->tuning) - 1; level >= 0; level--) {
        if (level == 0) vf_track_chain(&g->alpha_q14, &g->offset_q5, f->alpha_q14, f->offset_q5);
        const struct vf_normal n = vf_track_ready(patch, s, level, f);
        if (!n.valid) continue;
        const struct vf_view now = vf_track_view(s, s->parity, level);
        const int found = vf_track_level(patch, &n, &now, level, vf_track_size(&s->tuning, level), &s->tuning, g);
        if (level == 0) g->end = found ? 0 : VFRONT_END_DIVERGED;
    }
}

/** The way back: from the new place in this picture to the picture before. Returns how far from the start it ends, squared,
 *  in px^2; huge when it does not end at all. */
VF_FLOW float vf_track_back(struct vf_patch *patch, const struct vf_step *s, const struct vf_feature *f,
                            const struct vf_guess *now, const struct vf_guess *first)
{
    struct vf_guess g = {now->x_q16 - (first->x_q16 - f->x_q16), now->y_q16 - (first->y_q16 - f->y_q16), 0, 0, 0, 0};
    int found = 0;
    for (int32_t level = vf_track_levels(&s->geometry, &s->tuning) - 1; level >= 0; level--) {
        const struct vf_view from = vf_track_view(s, s->parity, level), to = vf_track_view(s, s->parity ^ 1, level);
        const struct vf_normal n = vf_track_template(patch, s, &from, level, vf_track_size(&s->tuning, level),
                                                     now->x_q16, now->y_q16);
        found = n.valid && vf_track_level(patch, &n, &to, level, vf_track_size(&s->tuning, level), &s->tuning, &g);
    }
    if (!found) return 1e30f;
    const float dx = (float)(g.x_q16 - f->x_q16) * (1.0f / 65536.0f),
                dy = (float)(g.y_q16 - f->y_q16) * (1.0f / 65536.0f);
    return dx * dx + dy * dy;
}

/** Why a feature cannot stay where it was found, 0 if it can. */
VF_FLOW uint32_t vf_track_verdict(const struct vf_step *s, const struct vf_guess *g)
{
    const struct vf_level *l = &s->geometry.level[0][0];
    const int32_t border = s->tuning.detect_border_px << 16;
    if (g->residual_q3 > (uint32_t)s->tuning.track_residual_grey * 8) return VFRONT_END_RESIDUAL;
    if (g->alpha_q14 <= -12288 || g->alpha_q14 >= 49152)
        return VFRONT_END_RESIDUAL; /* no light does that: nothing is there */
    if (g->x_q16 < border || g->x_q16 > ((l->width - 1) << 16) - border) return VFRONT_END_BORDER;
    if (g->y_q16 < border || g->y_q16 > ((l->height - 1) << 16) - border) return VFRONT_END_BORDER;
    if (!vf_usable(s, 0, vf_framed(s, 0), vf_pixel(g->x_q16), vf_pixel(g->y_q16))) return VFRONT_END_MASK;
    return 0;
}

/** First guess from the prior that there is. */
VF_FLOW struct vf_guess vf_track_guess(const struct vf_step *s, const struct vf_feature *f,
                                       const struct vf_params *params)
{
    struct vf_guess g = {f->x_q16, f->y_q16, 0, 0, 0, 0};
    if (s->tuning.track_prior & VFRONT_PRIOR_ROTATION && params->rotation_given) {
        vf_track_rotate(params->H, &g.x_q16, &g.y_q16);
    } else if (s->tuning.track_prior & VFRONT_PRIOR_VELOCITY) {
        g.x_q16 += f->dx_q16;
        g.y_q16 += f->dy_q16;
    }
    return g;
}

/** Follows a feature from one guess to the verdict. */
VF_FLOW struct vf_guess vf_track_try(struct vf_patch *patch, const struct vf_step *s, const struct vf_feature *f,
                                     struct vf_guess first)
{
    struct vf_guess g = first;
    vf_track_follow(patch, s, f, &g);
    if (!g.end) g.end = vf_track_verdict(s, &g);
    if (!g.end && s->tuning.track_back_mpx) {
        const float most = (float)s->tuning.track_back_mpx * 0.001f;
        if (vf_track_back(patch, s, f, &g, &first) > most * most) g.end = VFRONT_END_BACK;
    }
    return g;
}

/** A feature of the frame before, in this frame. */
VF_FLOW struct vf_feature vf_track_one(struct vf_patch *patch, const struct vf_step *s, const struct vf_params *params,
                                       struct vf_feature f)
{
    const struct vf_guess still = {f.x_q16, f.y_q16, 0, 0, 0, 0};
    struct vf_guess first = vf_track_guess(s, &f, params), g;
    for (int again = s->tuning.track_retry;; again = 0) {
        g = vf_track_try(patch, s, &f, first);
        const int astray = g.end == VFRONT_END_DIVERGED || g.end == VFRONT_END_RESIDUAL || g.end == VFRONT_END_BACK;
        if (!again || !astray || (first.x_q16 == still.x_q16 && first.y_q16 == still.y_q16)) break;
        first = still;
    }

    f.end = (uint8_t)g.end;
    if (f.end) return f;
    f.dx_q16 = g.x_q16 - f.x_q16;
    f.dy_q16 = g.y_q16 - f.y_q16;
    f.x_q16 = g.x_q16;
    f.y_q16 = g.y_q16;
    f.alpha_q14 = g.alpha_q14;
    f.offset_q5 = g.offset_q5;
    f.residual_q3 = g.residual_q3;
    f.age++;
    f.fresh = s->tuning.track_template_frames && f.age % (uint32_t)s->tuning.track_template_frames == 0;
    if (s->tuning.track_template_grey && f.residual_q3 > (uint32_t)s->tuning.track_template_grey * 8) f.fresh = 1;
    if (f.fresh) f.alpha_q14 = f.offset_q5 = 0;
    return f;
}

#endif
