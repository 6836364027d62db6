/* SPDX-License-Identifier: MIT */
/* Alignment of a patch between two images by Gauss-Newton, written once for host and GPU. lucas_kanade.h builds the
 * tracker on it, match_refine.h the subpixel refinement of matches.
 *
 * A template is a patch of grey levels with its gradients. Loops over its pixels are written twice, because host and
 * kernel spread a patch over lanes differently. Host: one lane with all pixels. GPU: 32 lanes of a warp, each with half
 * a row of 16 px or a quarter of a row of 8 px in registers. Each side includes this file and defines struct vf_patch
 * and five functions, declared below as VF_HOOK:
 *
 *   hook                     src/tracking/patch.c         kernels/tracking/patch.cuh   track.h: one pixel
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
 * On the GPU every lane of a warp calls the functions of this file with the same values and gets the same results. The
 * hooks reduce sums over the warp. Sums are integers, so host and GPU get the same bits. */
#ifndef VF_ALIGN_H
#define VF_ALIGN_H

#include "track.h"

/** VF_SHARED_FN: qualifiers of a function written once for host and GPU. VF_HOOK: qualifiers of a function that host
 *  and GPU each define. */
#ifdef __CUDACC__
#define VF_SHARED_FN static __device__ __forceinline__
#define VF_HOOK VF_SHARED_FN
#else
#define VF_SHARED_FN static inline
#define VF_HOOK extern
#endif

/* ---- hooks: defined in patch.c and patch.cuh --------------------------------------------------------------------- */

/** Template of 16x16 or 8x8 px: grey levels Q5 and gradients Q4. On the GPU it is spread over the lanes of a warp. */
struct vf_patch;

/** Extracts the template of size x size px whose first pixel lies at (x, y) [px of the level, Q16]. patch: out, grey
 *  levels and gradients; reference_q5: out, grey level about which the gain acts; moments: out, of the normal
 *  equations. photometric: photometric model of the level, VFRONT_PHOTOMETRIC_*. */
VF_HOOK void vf_patch_extract(struct vf_patch *patch, const struct vf_level_picture *picture, int32_t level,
                              int32_t photometric, int32_t x_q16, int32_t y_q16, int32_t size, int32_t *reference_q5,
                              struct vf_template_moments *moments);
/** Residual sums between a template and the image patch whose first pixel lies at (x, y) [px of the level, Q16].
 *  alpha_q14: photometric gain - 1; beta_q5: photometric offset at the reference grey level. */
VF_HOOK struct vf_residual_sums vf_patch_residuals(const struct vf_patch *patch, const struct vf_level_picture *picture,
                                                   int32_t x_q16, int32_t y_q16, int32_t size, int32_t reference_q5,
                                                   int32_t alpha_q14, int32_t beta_q5);
/** Loads a template from memory. from: planes of grey levels, x gradients and y gradients. */
VF_HOOK void vf_patch_load(struct vf_patch *patch, int16_t (*from)[VF_PATCH_PIXELS], int32_t size);
/** Stores a template in memory. to: planes of grey levels, x gradients and y gradients. */
VF_HOOK void vf_patch_store(const struct vf_patch *patch, int16_t (*to)[VF_PATCH_PIXELS], int32_t size);
/** Stores the normal equations of a template in memory, on the GPU by one lane of the warp. */
VF_HOOK void vf_patch_store_normal(struct vf_template_normal *to, const struct vf_template_normal *from);

/* ---- Gauss-Newton on one level ----------------------------------------------------------------------------------- */

/** Estimate of the position and the photometric parameters of a feature. */
struct vf_track_estimate {
    int32_t x_q16, y_q16; /* position [px of level 0, Q16] */
    /* photometric gain - 1, and offset [grey levels, Q5]: on coarse levels relative to the previous frame, on level 0
     * relative to the template */
    int32_t alpha_q14, offset_q5;
    uint32_t residual_q3; /* mean absolute residual of the last aligned level [grey levels, Q3] */
    uint32_t end;         /* reason why the track ended, vfront_end_t; 0: it did not */
};

/** Coordinate, x or y, of the centre of a patch's first pixel: (size - 1) / 2 px before the centre of the patch. */
VF_SHARED_FN int32_t vf_track_patch_origin(int32_t x_q16, int32_t size) { return x_q16 - (size - 1) * 0x8000; }

#define VF_COARSE_EPSILON_PX 0.1f       /* step below which the alignment on a coarse level ends [px of the level] */
#define VF_FINE_EPSILON_PX 0.020000001f /* step below which the alignment on level 0 ends [px] */

/** Number of steps that reduce the residual by less than 1/32, after which the alignment on level 0 ends. Coarse levels
 *  have no such limit, because the residual of a distant patch does not fall at first. */
#define VF_STALLED_STEPS 2

/** Aligns a template with the image of a pyramid level by Gauss-Newton, starting from *e. Ends after track_iterations
 *  steps or at a step shorter than the level's threshold; on level 0 the photometric parameters must have converged as
 *  well. Level 0 also ends after VF_STALLED_STEPS steps that hardly reduce the residual. Returns 0 and leaves *e
 *  unchanged on divergence: a step or the total motion exceeds 16 px, or a coarse level ends above 9/8 of its first
 *  residual. */
VF_SHARED_FN int vf_track_align(const struct vf_patch *patch, const struct vf_template_normal *n,
                                const struct vf_level_picture *picture, int32_t level, int32_t size,
                                const struct vf_align_tuning *t, struct vf_track_estimate *e)
{
    const int32_t start_x = vf_to_level_q16(e->x_q16, level), start_y = vf_to_level_q16(e->y_q16, level);
    const int32_t reach = VF_PATCH << 16;
    const float epsilon = level ? VF_COARSE_EPSILON_PX : VF_FINE_EPSILON_PX;
    const int32_t photometric = vf_track_photometric(level, t);
    int32_t x = start_x, y = start_y;
    int32_t alpha = e->alpha_q14;
    /* photometric offset at the reference grey level; e->offset_q5 is the offset at grey level 0 */
    int32_t beta = vf_clamp(e->offset_q5 + (alpha * n->reference_q5 >> 14), -8160, 8160);
    const int32_t patience = level ? t->track_iterations : VF_STALLED_STEPS;
    uint32_t absolute = 0, first = 0, least = 0;

    for (int32_t i = 0, stalled = 0; i < t->track_iterations && stalled < patience; i++) {
        const struct vf_residual_sums sums = vf_patch_residuals(patch, picture, vf_track_patch_origin(x, size),
                                                                vf_track_patch_origin(y, size), size, n->reference_q5,
                                                                alpha, beta);
        const struct vf_track_update d = vf_track_solve(n, &sums, photometric, alpha);
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
        alpha = vf_clamp(alpha + vf_round(d.alpha * 16384.0f), -12288, 49152); /* bounds of the gain: 1/4 .. 4 */
        beta = vf_clamp(beta + vf_round(d.beta * 4.0f), -8160, 8160);
        if (vf_abs(x - start_x) > reach || vf_abs(y - start_y) > reach) return 0;
        if (d.x * d.x + d.y * d.y < epsilon * epsilon && (level || vf_track_photometric_converged(&d))) break;
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

/** Image of a pyramid level of camera 0 in the frame of a parity. */
VF_SHARED_FN struct vf_level_picture vf_align_picture(const struct vf_align_view *s, int32_t parity, int32_t level)
{
    const struct vf_level *l = &s->level[VFRONT_LEVELS > 1 ? level : 0];
    const struct vf_level_picture picture = {level ? s->pyramid[parity] + l->offset : s->level0[parity], l->pitch,
                                             l->width, l->height};
    return picture;
}

/** Extracts the template around a position from the image of a pyramid level, and computes its normal equations. x, y:
 *  position [px of level 0, Q16]. */
VF_SHARED_FN struct vf_template_normal vf_track_extract(struct vf_patch *patch, const struct vf_align_view *s,
                                                        const struct vf_level_picture *picture, int32_t level,
                                                        int32_t size, int32_t x_q16, int32_t y_q16)
{
    struct vf_template_moments m;
    int32_t reference_q5;
    const int32_t photometric = vf_track_photometric(level, &s->tuning);
    vf_patch_extract(patch, picture, level, photometric, vf_track_patch_origin(vf_to_level_q16(x_q16, level), size),
                     vf_track_patch_origin(vf_to_level_q16(y_q16, level), size), size, &reference_q5, &m);
    return vf_track_template_normal(&m, size * size, reference_q5, level, &s->tuning);
}

#endif
