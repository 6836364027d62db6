/* SPDX-License-Identifier: MIT */
/* The flow of the track stage: Gauss-Newton on a level, from coarse to fine, from first guess to verdict. It stands here once;
 * how a patch is spread over lanes is for the host form (track.c: one lane) and the kernel (track.cu: a warp) to say. Both
 * define struct vf_patch and the functions under "hooks". Every lane runs the flow with the same values. */
#ifndef VF_TRACK_FLOW_H
#define VF_TRACK_FLOW_H

#include "memory.h"

#ifdef __CUDACC__
#define VF_FLOW static __device__ __forceinline__
#else
#define VF_FLOW static inline
#endif

/* ---- hooks: a patch of `size` x `size` px, spread over lanes ------------------------------------------------------------- */

struct vf_patch;

/** Takes a template around (x, y) of a view: its pixels, their mean, its moments. */
VF_FLOW void vf_patch_take(struct vf_patch *patch, const struct vf_view *view, int32_t x_q16, int32_t y_q16, int32_t size,
                           int32_t *mean_q5, struct vf_moments *moments);
/** Compares a template with the picture around (x, y). The sum of absolute residuals is 0 unless `absolute` asks for it. */
VF_FLOW struct vf_sums vf_patch_compare(const struct vf_patch *patch, const struct vf_view *view, int32_t x_q16, int32_t y_q16,
                                        int32_t size, int32_t mean_q5, int32_t alpha_q14, int32_t beta_q5, int absolute);
/** Templates from and to memory: grey, x gradient, y gradient, VF_PATCH_PIXELS each. */
VF_FLOW void vf_patch_load(struct vf_patch *patch, int16_t (*from)[VF_PATCH_PIXELS], int32_t size);
VF_FLOW void vf_patch_store(const struct vf_patch *patch, int16_t (*to)[VF_PATCH_PIXELS], int32_t size);
/** Writes a small record once, whatever the number of lanes. */
VF_FLOW void vf_patch_store_normal(struct vf_normal *to, const struct vf_normal *from);

/* ---- flow ---------------------------------------------------------------------------------------------------------------- */

/** Where a feature is thought to be. */
struct vf_guess {
    int32_t x_q16, y_q16;   /* level 0 */
    int32_t alpha_q14, offset_q5;
    uint32_t residual_q3;
    uint32_t end;           /* vfront_end_t, 0 while all is well */
};

VF_FLOW int32_t vf_track_size(const vfront_tuning_t *t, int32_t level) { return level >= t->track_patch8_level ? 8 : VF_PATCH; }

VF_FLOW int32_t vf_track_levels(const struct vf_geometry *g, const vfront_tuning_t *t) { return vf_min(g->levels, t->track_levels); }

/** From the centre of a patch to the centre of its first pixel: (size - 1) / 2 px. */
VF_FLOW int32_t vf_track_corner(int32_t x_q16, int32_t size) { return x_q16 - (size - 1) * 0x8000; }

/** Gauss-Newton on one level. Returns 0, with *g as it was, when it runs away. */
VF_FLOW int vf_track_level(const struct vf_patch *patch, const struct vf_normal *n, const struct vf_view *view, int32_t level,
                           int32_t size, const vfront_tuning_t *t, struct vf_guess *g)
{
    const int32_t start_x = vf_to_level_q16(g->x_q16, level), start_y = vf_to_level_q16(g->y_q16, level);
    const int32_t reach = VF_PATCH << 16;
    const float epsilon = (float)t->track_epsilon_mpx * 0.001f;
    int32_t x = start_x, y = start_y;
    int32_t alpha = g->alpha_q14;
    int32_t beta = g->offset_q5 + (alpha * n->mean_q5 >> 14); /* offset at the template's mean instead of at black */
    uint32_t absolute = 0;

    for (int32_t i = 0; i < t->track_iterations; i++) {
        const struct vf_sums s = vf_patch_compare(patch, view, vf_track_corner(x, size), vf_track_corner(y, size), size,
                                                  n->mean_q5, alpha, beta, level == 0);
        const struct vf_delta d = vf_track_solve(n, &s, t->track_light, alpha);
        absolute = (uint32_t)s.absolute;
        if (!(fabsf(d.x) < (float)VF_PATCH && fabsf(d.y) < (float)VF_PATCH && fabsf(d.alpha) < 4.0f && fabsf(d.beta) < 4096.0f))
            return 0;
        x -= vf_round(d.x * 65536.0f);
        y -= vf_round(d.y * 65536.0f);
        alpha = vf_clamp(alpha + vf_round(d.alpha * 16384.0f), -12288, 49152); /* gain 1/4 .. 4 */
        beta = vf_clamp(beta + vf_round(d.beta * 4.0f), -8160, 8160);
        if (vf_abs(x - start_x) > reach || vf_abs(y - start_y) > reach) return 0;
        if (d.x * d.x + d.y * d.y < epsilon * epsilon) break;
    }
    g->x_q16 += (int32_t)((uint32_t)(x - start_x) << level);
    g->y_q16 += (int32_t)((uint32_t)(y - start_y) << level);
    g->alpha_q14 = alpha;
    g->offset_q5 = beta - (alpha * n->mean_q5 >> 14);
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

/** Takes the templates of all levels around a feature's place in the picture of the frame before. */
VF_FLOW void vf_track_prepare(struct vf_patch *patch, const struct vf_step *s, const struct vf_feature *f)
{
    for (int32_t level = 0; level < vf_track_levels(&s->geometry, &s->tuning); level++) {
        const int32_t size = vf_track_size(&s->tuning, level);
        const struct vf_view view = vf_track_view(s, s->parity ^ 1, level);
        struct vf_moments m;
        int32_t mean_q5;
        vf_patch_take(patch, &view, vf_track_corner(vf_to_level_q16(f->x_q16, level), size),
                      vf_track_corner(vf_to_level_q16(f->y_q16, level), size), size, &mean_q5, &m);
        const struct vf_normal n = vf_track_normal(&m, size * size, mean_q5, &s->tuning);
        vf_patch_store(patch, s->memory->track.patch[f->slot][level], size);
        vf_patch_store_normal(&s->memory->track.normal[f->slot][level], &n);
    }
}

/** From coarse to fine, with the templates of a slot. A level without texture, or one that runs away, is passed over; but the
 *  finest decides. */
VF_FLOW void vf_track_follow(struct vf_patch *patch, const struct vf_step *s, int32_t slot, struct vf_guess *g)
{
    g->end = VFRONT_END_TEXTURE;
    for (int32_t level = vf_track_levels(&s->geometry, &s->tuning) - 1; level >= 0; level--) {
        const int32_t size = vf_track_size(&s->tuning, level);
        const struct vf_normal n = s->memory->track.normal[slot][level];
        if (!n.valid) continue;
        const struct vf_view view = vf_track_view(s, s->parity, level);
        vf_patch_load(patch, s->memory->track.patch[slot][level], size);
        const int found = vf_track_level(patch, &n, &view, level, size, &s->tuning, g);
        if (level == 0) g->end = found ? 0 : VFRONT_END_DIVERGED;
    }
}

/** The way back: from the new place in this picture to the picture before. Returns how far from the start it ends, squared,
 *  in px^2; huge when it does not end at all. */
VF_FLOW float vf_track_back(struct vf_patch *patch, const struct vf_step *s, const struct vf_feature *f, const struct vf_guess *now,
                            const struct vf_guess *first)
{
    struct vf_guess g = {now->x_q16 - (first->x_q16 - f->x_q16), now->y_q16 - (first->y_q16 - f->y_q16), 0, 0, 0, 0};
    int found = 0;
    for (int32_t level = vf_track_levels(&s->geometry, &s->tuning) - 1; level >= 0; level--) {
        const int32_t size = vf_track_size(&s->tuning, level);
        const struct vf_view from = vf_track_view(s, s->parity, level), to = vf_track_view(s, s->parity ^ 1, level);
        struct vf_moments m;
        int32_t mean_q5;
        vf_patch_take(patch, &from, vf_track_corner(vf_to_level_q16(now->x_q16, level), size),
                      vf_track_corner(vf_to_level_q16(now->y_q16, level), size), size, &mean_q5, &m);
        const struct vf_normal n = vf_track_normal(&m, size * size, mean_q5, &s->tuning);
        found = n.valid && vf_track_level(patch, &n, &to, level, size, &s->tuning, &g);
    }
    if (!found) return 1e30f;
    const float dx = (float)(g.x_q16 - f->x_q16) * (1.0f / 65536.0f), dy = (float)(g.y_q16 - f->y_q16) * (1.0f / 65536.0f);
    return dx * dx + dy * dy;
}

/** Why a feature cannot stay where it was found, 0 if it can. */
VF_FLOW uint32_t vf_track_verdict(const struct vf_step *s, const struct vf_guess *g)
{
    const struct vf_level *l = &s->geometry.level[0][0];
    const int32_t border = s->tuning.detect_border_px << 16;
    if (g->residual_q3 > (uint32_t)s->tuning.track_residual_grey * 8) return VFRONT_END_RESIDUAL;
    if (g->x_q16 < border || g->x_q16 > ((l->width - 1) << 16) - border) return VFRONT_END_BORDER;
    if (g->y_q16 < border || g->y_q16 > ((l->height - 1) << 16) - border) return VFRONT_END_BORDER;
    if (!vf_usable(s, 0, vf_pixel(g->x_q16), vf_pixel(g->y_q16))) return VFRONT_END_MASK;
    return 0;
}

/** First guess from the prior that there is. */
VF_FLOW struct vf_guess vf_track_guess(const struct vf_step *s, const struct vf_feature *f, const struct vf_params *params)
{
    struct vf_guess g = {f->x_q16, f->y_q16, f->alpha_q14, f->offset_q5, 0, 0};
    if (s->tuning.track_prior & VFRONT_PRIOR_ROTATION && params->rotation_given) {
        vf_track_rotate(params->H, &g.x_q16, &g.y_q16);
    } else if (s->tuning.track_prior & VFRONT_PRIOR_VELOCITY) {
        g.x_q16 += f->dx_q16;
        g.y_q16 += f->dy_q16;
    }
    return g;
}

/** Follows a feature from one guess to the verdict. */
VF_FLOW struct vf_guess vf_track_try(struct vf_patch *patch, const struct vf_step *s, const struct vf_feature *f, struct vf_guess first)
{
    struct vf_guess g = first;
    vf_track_follow(patch, s, f->slot, &g);
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
    if (f.fresh) vf_track_prepare(patch, s, &f);

    const struct vf_guess still = {f.x_q16, f.y_q16, f.alpha_q14, f.offset_q5, 0, 0};
    const struct vf_guess first = vf_track_guess(s, &f, params);
    struct vf_guess g = vf_track_try(patch, s, &f, first);
    const int astray = g.end == VFRONT_END_DIVERGED || g.end == VFRONT_END_RESIDUAL || g.end == VFRONT_END_BACK;
    if (astray && s->tuning.track_retry && (first.x_q16 != still.x_q16 || first.y_q16 != still.y_q16))
        g = vf_track_try(patch, s, &f, still);

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
    if (f.fresh) f.alpha_q14 = f.offset_q5 = 0;
    return f;
}

#endif
