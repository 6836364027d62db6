/* SPDX-License-Identifier: MIT */
/* track: finds the features of the previous frame in the current one, by pyramidal inverse-compositional Lucas-Kanade
 * with a model of the illumination (gain and offset) (paper 000, II.E).
 *
 * In      features and image pyramid of the previous frame, pyramid of the current frame, masks, rotation prior;
 *         the motion predicted, and the rotation of the step before, which leaves the parallax of a displacement
 * Out     track.moved: every feature with its new position, or ended with a reason; templates of features that had none
 *         yet
 * Rule    vf_track_one() in track_flow.h. Fixed point: positions Q16, grey levels Q5, gradients Q4, residuals Q3, so
 *         that every sum over a patch fits 32 bits and does not depend on its order. The 4x4 normal equations are
 *         solved in single precision, in one order
 * Exact   integer sums; floating point only in the solution of one 4x4 system, without contraction, division and root
 *         correctly rounded
 * Memory  1.6 KB a track for the templates, two sets of features (this frame's and the previous frame's)
 * Shared  the arithmetic of a pixel and of a system is here and the algorithm in track_flow.h, both for host form and
 *         kernel. Written twice: the loops over a patch (patch.c: rows as vector code; patch.cuh: a warp), see the
 *         table in track_flow.h
 *
 * Level 0, the finest, is aligned with a template that is kept over many frames, so that a track does not drift. The
 * coarse levels only provide the starting point; they are aligned with the previous frame, because their patches cover
 * more of the scene, which changes sooner. The template of level 0 is extracted when the feature is first tracked, from
 * the previous frame's picture, in which the feature was detected. So a step writes only templates that no earlier
 * state relies on: a step that fails has changed nothing. */
#ifndef VF_TRACK_H
#define VF_TRACK_H

#include <math.h>

#include "core/view.h"
#include "feature.h"

/** Side of a patch [px]; from level track_patch8_level on it is 8. */
#define VF_PATCH 16
#define VF_PATCH_PIXELS (VF_PATCH * VF_PATCH)

/** Inverted normal equations of a template. */
struct vf_template_normal {
    float inverse[10];    /* upper triangle, row by row, of the inverse 4x4 matrix: x, y, gain, offset */
    int32_t reference_q5; /* grey level about which the gain acts, see vf_track_reference() */
    int32_t valid;        /* 0: too little texture, or the matrix is singular */
    float contrast;       /* standard deviation of the template's grey levels [grey levels] */
};

struct vf_track_memory {
    /* [template_index]: grey Q5, x gradient Q4, y gradient Q4, row by row; of level 0 */
    int16_t templates[VFRONT_TRACKS][3][VF_PATCH_PIXELS];
    struct vf_feature moved[VFRONT_TRACKS]; /* features of the previous frame after this stage */
    /* [template_index] */
    struct vf_template_normal template_normal[VFRONT_TRACKS];
};

/* View of track: core/view.h. */
/* clang-format off */
#define VF_READS_track(X) X(ingest) X(rectify) X(pyramid) X(predict)
#define VF_BEFORE_track(X) X(refill)
#define VF_GEOMETRY_track(X) X(levels) X(focal_px) X(centre_px) X(active)
#define VF_TUNING_track(X)                                                                                             \
    X(track_target) X(track_levels) X(track_patch8_level) X(track_prior) X(track_retry) X(track_back_mpx)              \
    X(track_template_frames) X(track_template_grey) X(detect_border_px)
/* clang-format on */
VF_GEOMETRY_OF(track);
VF_TUNING_OF(track);

/** Tuning and pyramids of camera 0 for the alignment of patches, in the views of track and match. */
/* clang-format off */
#define VF_TUNING_align(X)                                                                                             \
    X(track_light) X(track_texture) X(track_iterations) X(track_epsilon_mpx) X(track_residual_grey)                    \
    X(track_residual_percent)
/* clang-format on */
VF_TUNING_OF(align);
struct vf_align_view {
    struct vf_align_tuning tuning;
    struct vf_level level[VFRONT_LEVELS];
    const uint8_t *level0[2], *pyramid[2]; /* by parity: level 0; levels 1 and up, at their offsets */
};

struct vf_track_view {
    VF_VIEW(track);
    struct vf_track_tuning tuning;
    struct vf_align_view align;
    struct vf_masks masks;
};
VF_HOST_FORM(track);

/** Picture of one pyramid level: address and size in px; pitch in bytes. */
struct vf_level_picture {
    const uint8_t *pixels;
    int32_t pitch, width, height;
};

/* ---- pixels of a template ---------------------------------------------------------------------------------------- */

/** Bilinear weights, Q14, of the pixels at (0,0), (1,0), (0,1), (1,1). Their sum is 2^14. */
struct vf_bilinear_weights {
    int32_t w00, w01, w10, w11;
};
VF_FN struct vf_bilinear_weights vf_track_bilinear(int32_t x_q16, int32_t y_q16)
{
    const int32_t fx = (x_q16 & 0xffff) >> 2, fy = (y_q16 & 0xffff) >> 2;
    struct vf_bilinear_weights w;
    w.w11 = (fx * fy + 0x2000) >> 14;
    w.w01 = fx - w.w11;
    w.w10 = fy - w.w11;
    w.w00 = 0x4000 - fx - fy + w.w11;
    return w;
}

/** Bilinear interpolation of four pixels; grey level in Q5. */
VF_FN int32_t vf_track_interpolate(struct vf_bilinear_weights w, int32_t p00, int32_t p01, int32_t p10, int32_t p11)
{
    return (w.w00 * p00 + w.w01 * p01 + w.w10 * p10 + w.w11 * p11 + 256) >> 9;
}

/** Gradient in Q4 along one axis, from three central differences (over 2 px, Q5): in the pixel's own row (column),
 *  `centre`, and in the rows (columns) on both sides. Level 0 takes the centre alone, which is sharpest. The coarse
 *  levels take the Scharr weights 3:10:3, which reach further and are less sensitive to the aliasing of the pyramid's
 *  2x2 mean. |result| <= 2040 either way. */
VF_FN int32_t vf_track_gradient(int32_t level, int32_t before_q5, int32_t centre_q5, int32_t after_q5)
{
    return level ? (3 * (before_q5 + after_q5) + 10 * centre_q5 + 32) >> 6 : (centre_q5 + 2) >> 2;
}

/** Border test of a template pixel: 1 if its gradient can be computed. Beyond the border the picture's last pixels are
 *  repeated, which must not hold a patch back: gradients there count as 0. */
VF_FN int32_t vf_track_inside(const struct vf_level_picture *picture, int32_t x, int32_t y)
{
    return x >= 0 && y >= 0 && x < picture->width - 1 && y < picture->height - 1;
}

/** Grey level about which the gain acts on a template: the template's mean, so that gain and offset are nearly
 *  uncorrelated; black (0) where the light model has no offset that could compensate. sum_q5: sum of the template's
 *  grey levels. */
VF_FN int32_t vf_track_reference(int32_t light, int32_t sum_q5, int32_t pixels)
{
    return light & VFRONT_LIGHT_OFFSET ? (sum_q5 + pixels / 2) / pixels : 0;
}

/** Contrast of a template pixel, Q3: its deviation from the reference, which is the Jacobian's column of the gain. */
VF_FN int32_t vf_track_contrast(int32_t grey_q5, int32_t reference_q5) { return (grey_q5 - reference_q5 + 2) >> 2; }

/** Residual of a pixel, Q3, clamped to +-256 grey levels: picture minus template under the current gain (1 + alpha) and
 *  offset beta. */
VF_FN int32_t vf_track_residual(int32_t picture_q5, int32_t grey_q5, int32_t reference_q5, int32_t alpha_q14,
                                int32_t beta_q5)
{
    const int32_t e = picture_q5 - grey_q5 - (alpha_q14 * (grey_q5 - reference_q5) >> 14) - beta_q5;
    return vf_clamp((e + 2) >> 2, -2047, 2047);
}

/* ---- normal equations -------------------------------------------------------------------------------------------- */

/** Sums over a template of the products of its Jacobian's columns: x gradient (x), y gradient (y), contrast (t),
 *  constant (1). They are the matrix JtJ of the normal equations; xx, xy, yy are the structure tensor. */
struct vf_template_moments {
    int32_t xx, xy, xt, x1, yy, yt, y1, tt, t1;
};

/** Adds a template pixel. */
VF_FN void vf_track_add_moments(struct vf_template_moments *m, int32_t dx, int32_t dy, int32_t contrast)
{
    m->xx += dx * dx;
    m->xy += dx * dy;
    m->xt += dx * contrast;
    m->x1 += dx;
    m->yy += dy * dy;
    m->yt += dy * contrast;
    m->y1 += dy;
    m->tt += contrast * contrast;
    m->t1 += contrast;
}

/** Sums over a template and a picture: the vector Jtr of the normal equations, and the cost. */
struct vf_residual_sums {
    int32_t x, y, t, one; /* residual times x gradient, y gradient, contrast, 1 */
    int32_t absolute;     /* absolute residuals */
};

/** Adds a pixel. */
VF_FN void vf_track_add_residual(struct vf_residual_sums *s, int32_t residual, int32_t dx, int32_t dy, int32_t contrast)
{
    s->x += residual * dx;
    s->y += residual * dy;
    s->t += residual * contrast;
    s->one += residual;
    s->absolute += vf_abs(residual);
}

/** Texture: smaller eigenvalue of the structure tensor of a patch (Shi-Tomasi), mean over its pixels [grey level^2 a
 *  px^2]. */
VF_FN float vf_track_texture(const struct vf_template_moments *m, int32_t pixels)
{
    const float a = (float)m->xx, b = (float)m->xy, c = (float)m->yy;
    const float root = sqrtf((a - c) * (a - c) + 4.0f * b * b);
    return (a + c - root) * 0.5f / (256.0f * (float)pixels);
}

/** Standard deviation of a template's grey levels [grey levels]. */
VF_FN float vf_track_deviation(const struct vf_template_moments *m, int32_t pixels)
{
    const int64_t variance = (int64_t)pixels * m->tt - (int64_t)m->t1 * m->t1; /* times pixels^2, Q6 */
    return sqrtf((float)variance) / (8.0f * (float)pixels);
}

/** Inverts a symmetric positive definite 4x4 matrix in place by Gauss-Jordan elimination without pivoting. Returns 0 if
 *  a pivot vanishes. */
VF_FN int vf_track_invert(float a[4][4])
{
    const float scale[4] = {a[0][0], a[1][1], a[2][2], a[3][3]};
    for (int k = 0; k < 4; k++) {
        const float pivot = a[k][k];
        if (!(pivot > 1e-5f * scale[k])) return 0;
        const float inverse = 1.0f / pivot;
        a[k][k] = 1.0f;
        for (int j = 0; j < 4; j++) a[k][j] = a[k][j] * inverse;
        for (int i = 0; i < 4; i++) {
            if (i == k) continue;
            const float factor = a[i][k];
            a[i][k] = 0.0f;
            for (int j = 0; j < 4; j++) a[i][j] = a[i][j] - factor * a[k][j];
        }
    }
    return 1;
}

/** Light model of a level: VFRONT_LIGHT_*. Where the tuning has an offset, the coarse levels estimate the offset alone:
 *  their patches cover more than one surface, and a gain would fit what moves in and out of the patch. */
VF_FN int32_t vf_track_light(int32_t level, const struct vf_align_tuning *tuning)
{
    return level && tuning->track_light & VFRONT_LIGHT_OFFSET ? VFRONT_LIGHT_OFFSET : tuning->track_light;
}

/** Levenberg damping: added to both gradient terms of the normal equations, as a share of their mean. It keeps a patch
 *  on an edge from running along the edge, and hardly slows a patch on a corner. Less on the coarse levels, which have
 *  to go far in few steps. */
#define VF_DAMPING 0.0625f
#define VF_DAMPING_COARSE 0.015625f

/** Inverse normal equations of a template on a level. Parameters that its light model lacks get a 1 on the diagonal. */
VF_FN struct vf_template_normal vf_track_template_normal(const struct vf_template_moments *m, int32_t pixels,
                                                         int32_t reference_q5, int32_t level,
                                                         const struct vf_align_tuning *tuning)
{
    const int32_t light = vf_track_light(level, tuning), gain = light & VFRONT_LIGHT_GAIN,
                  offset = light & VFRONT_LIGHT_OFFSET;
    const float damping = (level ? VF_DAMPING_COARSE : VF_DAMPING) * 0.5f * ((float)m->xx + (float)m->yy);
    float a[4][4] = {{(float)m->xx + damping, (float)m->xy, 0, 0},
                     {(float)m->xy, (float)m->yy + damping, 0, 0},
                     {0, 0, 1, 0},
                     {0, 0, 0, 1}};
    if (gain) {
        a[0][2] = a[2][0] = (float)m->xt;
        a[1][2] = a[2][1] = (float)m->yt;
        a[2][2] = (float)m->tt;
    }
    if (offset) {
        a[0][3] = a[3][0] = (float)m->x1;
        a[1][3] = a[3][1] = (float)m->y1;
        a[3][3] = (float)pixels;
    }
    if (gain && offset) a[2][3] = a[3][2] = (float)m->t1;

    struct vf_template_normal n;
    n.reference_q5 = reference_q5;
    n.valid = vf_track_texture(m, pixels) * 100.0f >= (float)tuning->track_texture && vf_track_invert(a);
    n.contrast = vf_track_deviation(m, pixels);
    for (int i = 0, k = 0; i < 4; i++)
        for (int j = i; j < 4; j++) n.inverse[k++] = n.valid ? a[i][j] : 0.0f;
    return n;
}

/** Residual test: 1 if a template is found with this mean absolute residual. Allowed are track_residual_grey, and of
 *  the contrast that the template has under the gain the share track_residual_percent: where the scene's contrast is
 *  high, so are the residuals of a patch that is in its place. */
VF_FN int vf_track_fits(const struct vf_align_tuning *tuning, float contrast, int32_t alpha_q14, uint32_t residual_q3)
{
    const float seen = contrast * (1.0f + (float)alpha_q14 * (1.0f / 16384.0f));
    const float most = (float)tuning->track_residual_grey + 0.01f * (float)tuning->track_residual_percent * seen;
    return (float)residual_q3 <= 8.0f * most;
}

/** Parameter update of one Gauss-Newton step: translation [px of the level], gain, offset [1/8 grey level]. */
struct vf_track_update {
    float x, y, alpha, beta;
};
/** Solves the normal equations of a template for the residuals of one step. */
VF_FN struct vf_track_update vf_track_solve(const struct vf_template_normal *n, const struct vf_residual_sums *s,
                                            int32_t light, int32_t alpha_q14)
{
    const float b0 = (float)s->x, b1 = (float)s->y;
    const float b2 = light & VFRONT_LIGHT_GAIN ? (float)s->t : 0.0f;
    const float b3 = light & VFRONT_LIGHT_OFFSET ? (float)s->one : 0.0f;
    const float *h = n->inverse;
    /* Gradients are Q4 and residuals Q3, hence the 2. Gradients of the picture are the template's times the gain. */
    const float scale = 2.0f / (1.0f + (float)alpha_q14 * (1.0f / 16384.0f));
    struct vf_track_update d;
    d.x = (((h[0] * b0 + h[1] * b1) + h[2] * b2) + h[3] * b3) * scale;
    d.y = (((h[1] * b0 + h[4] * b1) + h[5] * b2) + h[6] * b3) * scale;
    d.alpha = ((h[2] * b0 + h[5] * b1) + h[7] * b2) + h[8] * b3;
    d.beta = ((h[3] * b0 + h[6] * b1) + h[8] * b2) + h[9] * b3;
    return d;
}

/** Convergence of the light model: 1 if an update changes the gain by less than 1/64 and the offset by less than 1 grey
 *  level. */
VF_FN int vf_track_light_settled(const struct vf_track_update *d)
{
    return fabsf(d->alpha) < 0.015625f && fabsf(d->beta) < 8.0f;
}

/** Composes two changes of illumination: first (first_alpha, first_offset), then (*alpha, *offset). The result replaces
 *  the latter. */
VF_FN void vf_track_compose_light(int32_t *alpha_q14, int32_t *offset_q5, int32_t first_alpha_q14,
                                  int32_t first_offset_q5)
{
    const int64_t both = (int64_t)*alpha_q14 * first_alpha_q14 >> 14,
                  scaled = (int64_t)*alpha_q14 * first_offset_q5 >> 14;
    *offset_q5 = vf_clamp(*offset_q5 + first_offset_q5 + (int32_t)scaled, -32640, 32640);
    *alpha_q14 = vf_clamp(*alpha_q14 + first_alpha_q14 + (int32_t)both, -12288, 49152); /* gain 1/4 .. 4 */
}

/** Warps a position by a homography (row-major, px of level 0). The position stays when the result is behind the camera
 *  or beyond 8192 px. */
VF_FN void vf_track_warp(const float H[9], int32_t *x_q16, int32_t *y_q16)
{
    const float x = (float)*x_q16 * (1.0f / 65536.0f), y = (float)*y_q16 * (1.0f / 65536.0f);
    const float w = (H[6] * x + H[7] * y) + H[8];
    if (!(w > 0.1f)) return;
    const float u = ((H[0] * x + H[1] * y) + H[2]) / w, v = ((H[3] * x + H[4] * y) + H[5]) / w;
    if (!(u > -8192.0f && u < 8192.0f && v > -8192.0f && v < 8192.0f)) return;
    *x_q16 = vf_round(u * 65536.0f);
    *y_q16 = vf_round(v * 65536.0f);
}

#endif
