/* SPDX-License-Identifier: MIT */
/* Alignment of a patch between two pictures by Gauss-Newton, written once for host and GPU: track_flow.h builds the
 * tracker on it, match_flow.h the sub-pixel refinement of matches.
 *
 * A template is a patch of grey levels with its gradients. The loops over its pixels are not here: host form and kernel
 * spread a patch over lanes differently (host: 1 lane with all pixels; GPU: the 32 lanes of a warp, each with half a
 * row of 16 px or a quarter of a row of 8 px, in registers). Each side includes this file and defines struct vf_patch
 * and five functions, declared below as VF_HOOK:
 *
 *   hook                     src/tracking/patch.c         kernels/tracking/patch.cuh   track.h: a pixel
 *   vf_patch_extract()
 *     interpolation          interpolate_patch()          interpolate_around()         vf_track_interpolate()
 *     gradients              gradients_finest(), _coarse()  extract<SIZE>()            vf_track_gradient()
 *     JtJ                    sum_moments()                extract<SIZE>()              vf_track_add_moments()
 *   vf_patch_residuals()
 *     residuals              sum_residuals()              residual_sums<SIZE>()        vf_track_residual()
 *     Jtr, cost              sum_residuals()              residual_sums<SIZE>()        vf_track_add_residual()
 *   vf_patch_load()          memcpy()                     load_plane<SIZE>()
 *   vf_patch_store()         memcpy()                     store_plane<SIZE>()
 *   vf_patch_store_normal()  assignment                   assignment by lane 0
 *
 * On the GPU every lane of a warp calls the functions of this file with the same values and gets the same results; sums
 * over a patch are reduced over the warp inside the hooks. Sums are integers, so both sides get the same bits. */
#ifndef VF_ALIGN_H
#define VF_ALIGN_H

#include "track.h"

/** VF_FLOW: qualifiers of the algorithm's functions. VF_HOOK: qualifiers of the functions that each side defines. */
#ifdef __CUDACC__
#define VF_FLOW static __device__ __forceinline__
#define VF_HOOK VF_FLOW
#else
#define VF_FLOW static inline
#define VF_HOOK extern
#endif

/* ---- hooks: defined in patch.c and patch.cuh --------------------------------------------------------------------- */

/** Template in work, of `size` x `size` px (16 or 8): grey levels Q5 and gradients Q4, spread over lanes. */
struct vf_patch;

/** Extracts the template whose first pixel lies at (x, y) [px of the level]: interpolated grey levels and gradients
 *  into *patch, the reference grey level and the moments of the normal equations. light: light model of the level. */
VF_HOOK void vf_patch_extract(struct vf_patch *patch, const struct vf_level_picture *picture, int32_t level,
                              int32_t light, int32_t x_q16, int32_t y_q16, int32_t size, int32_t *reference_q5,
                              struct vf_template_moments *moments);
/** Compares a template with the picture whose pixels under it begin at (x, y) [px of the level]; beta: offset at the
 *  reference level. */
VF_HOOK struct vf_residual_sums vf_patch_residuals(const struct vf_patch *patch, const struct vf_level_picture *picture,
                                                   int32_t x_q16, int32_t y_q16, int32_t size, int32_t reference_q5,
                                                   int32_t alpha_q14, int32_t beta_q5);
/** Loads a template from memory: planes of grey levels, x gradients, y gradients. */
VF_HOOK void vf_patch_load(struct vf_patch *patch, int16_t (*from)[VF_PATCH_PIXELS], int32_t size);
/** Stores a template in memory, in the same planes. */
VF_HOOK void vf_patch_store(const struct vf_patch *patch, int16_t (*to)[VF_PATCH_PIXELS], int32_t size);
/** Stores the normal equations once, whatever the number of lanes. */
VF_HOOK void vf_patch_store_normal(struct vf_template_normal *to, const struct vf_template_normal *from);

/* ---- Gauss-Newton on one level ----------------------------------------------------------------------------------- */

/** Estimate of a feature's position and illumination. */
struct vf_track_estimate {
    int32_t x_q16, y_q16; /* [px of level 0] */
    /* gain - 1 and offset: on coarse levels since the previous frame, on level 0 since the template was extracted */
    int32_t alpha_q14, offset_q5;
    uint32_t residual_q3; /* mean absolute residual of the last level aligned */
    uint32_t end;         /* vfront_end_t; 0: none */
};

/** Coordinate of the centre of a patch's first pixel, from that of the patch's centre: (size - 1) / 2 px less. */
VF_FLOW int32_t vf_track_patch_origin(int32_t x_q16, int32_t size) { return x_q16 - (size - 1) * 0x8000; }

/** Convergence threshold of the coarse levels [px of the level]; they only provide the next level's starting point. */
#define VF_COARSE_EPSILON_PX 0.1f

/** Limit of steps that reduce the residual by less than 1/32: so many end level 0. The coarse levels have no such
 *  limit: a patch far from its place crosses stretches on which the residual does not fall. */
#define VF_STALLED_STEPS 2

/** Aligns a template with a level's picture by Gauss-Newton, from the estimate *e on. The level ends with a step
 *  shorter than epsilon, with track_iterations, or on level 0 with VF_STALLED_STEPS steps that did not reduce the
 *  residual. On level 0, whose residual decides about the track, a step counts as short only when the illumination has
 *  converged as well. Returns 0, and leaves *e, when the alignment diverges (a step or the whole way over 16 px), or
 *  when a coarse level ends with more than 9/8 of its first residual. */
VF_FLOW int vf_track_align(const struct vf_patch *patch, const struct vf_template_normal *n,
                           const struct vf_level_picture *picture, int32_t level, int32_t size,
                           const struct vf_align_tuning *t, struct vf_track_estimate *e)
{
    const int32_t start_x = vf_to_level_q16(e->x_q16, level), start_y = vf_to_level_q16(e->y_q16, level);
    const int32_t reach = VF_PATCH << 16;
    const float fine = (float)t->track_epsilon_mpx * 0.001f;
    const float epsilon = level && fine < VF_COARSE_EPSILON_PX ? VF_COARSE_EPSILON_PX : fine;
    const int32_t light = vf_track_light(level, t);
    int32_t x = start_x, y = start_y;
    int32_t alpha = e->alpha_q14;
    /* offset at the reference grey level instead of at black */
    int32_t beta = vf_clamp(e->offset_q5 + (alpha * n->reference_q5 >> 14), -8160, 8160);
    const int32_t patience = level ? t->track_iterations : VF_STALLED_STEPS;
    uint32_t absolute = 0, first = 0, least = 0;

    for (int32_t i = 0, stalled = 0; i < t->track_iterations && stalled < patience; i++) {
        const struct vf_residual_sums sums = vf_patch_residuals(patch, picture, vf_track_patch_origin(x, size),
                                                                vf_track_patch_origin(y, size), size, n->reference_q5,
                                                                alpha, beta);
        const struct vf_track_update d = vf_track_solve(n, &sums, light, alpha);
        absolute = (uint32_t)sums.absolute;
        if (i == 0)
            first = least = absolute;
        else
            stalled += absolute >= least - (least >> 5);
        if (absolute < least) least = absolute;
        if (!(fabsf(d.x) < (float)VF_PATCH && fabsf(d.y) < (float)VF_PATCH && fabsf(d.alpha) < 4.0f &&
              fabsf(d.beta) < 4096.0f))
            return 0;
        x -= vf_round(d.x * 65536.0f);
        y -= vf_round(d.y * 65536.0f);
        alpha = vf_clamp(alpha + vf_round(d.alpha * 16384.0f), -12288, 49152); /* gain 1/4 .. 4 */
        beta = vf_clamp(beta + vf_round(d.beta * 4.0f), -8160, 8160);
        if (vf_abs(x - start_x) > reach || vf_abs(y - start_y) > reach) return 0;
        if (d.x * d.x + d.y * d.y < epsilon * epsilon && (level || vf_track_light_settled(&d))) break;
    }
    if (level && absolute > first + (first >> 3)) return 0;
    e->x_q16 += (int32_t)((uint32_t)(x - start_x) << level);
    e->y_q16 += (int32_t)((uint32_t)(y - start_y) << level);
    e->alpha_q14 = alpha;
    e->offset_q5 = beta - (alpha * n->reference_q5 >> 14);
    e->residual_q3 = absolute / (uint32_t)(size * size);
    return 1;
}

/* ---- templates --------------------------------------------------------------------------------------------------- */

/** Picture of a pyramid level of camera 0, in the buffers of a parity. */
VF_FLOW struct vf_level_picture vf_align_picture(const struct vf_align_view *s, int32_t parity, int32_t level)
{
    const struct vf_level *l = &s->level[VFRONT_LEVELS > 1 ? level : 0];
    const struct vf_level_picture picture = {level ? s->pyramid[parity] + l->offset : s->level0[parity], l->pitch,
                                             l->width, l->height};
    return picture;
}

/** Extracts the template around a position of level 0 from a level's picture, and sets up its normal equations. */
VF_FLOW struct vf_template_normal vf_track_extract(struct vf_patch *patch, const struct vf_align_view *s,
                                                   const struct vf_level_picture *picture, int32_t level, int32_t size,
                                                   int32_t x_q16, int32_t y_q16)
{
    struct vf_template_moments m;
    int32_t reference_q5;
    const int32_t light = vf_track_light(level, &s->tuning);
    vf_patch_extract(patch, picture, level, light, vf_track_patch_origin(vf_to_level_q16(x_q16, level), size),
                     vf_track_patch_origin(vf_to_level_q16(y_q16, level), size), size, &reference_q5, &m);
    return vf_track_template_normal(&m, size * size, reference_q5, level, &s->tuning);
}

#endif
