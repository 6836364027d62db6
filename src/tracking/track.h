/* SPDX-License-Identifier: MIT */
/* track: tracks the previous frame's features by pyramidal inverse-compositional Lucas-Kanade with a photometric model
 * of gain and offset (paper 000, II.E).
 *
 * In      features and image pyramid of the previous frame, pyramid of this frame, masks, rotation prior; predicted
 *         motion; rotation of the previous frame, which separates the parallax from a displacement
 * Out     track.moved: every feature with its new position, or ended with a reason; templates of features that had none
 * Rule    - vf_track_one() in lucas_kanade.h. Fixed point: positions Q16, grey levels Q5, gradients Q4, residuals Q3,
 *           so that every sum over a patch fits 32 bits and does not depend on its order
 *         - level 0 is aligned with a template kept over many frames, so that a track does not drift. It is extracted
 *           from the previous frame's image when the feature is first tracked
 *         - coarse levels only give a start. They are aligned with the previous frame, because their larger patches
 *           change sooner
 *         - a failed frame changes nothing: only templates that no earlier frame relies on are written
 * Exact   integer sums; floating point only in the 4x4 system, solved in single precision in one order, without
 *         contraction, quotients and roots correctly rounded
 * Memory  1.6 KB a track for the templates, two sets of features (this and the previous frame)
 * Shared  arithmetic of a pixel and of a system (this file), the algorithm (lucas_kanade.h). Written twice: loops over
 *         a patch (patch.c: rows as vector code; patch.cuh: one warp), see the table in align.h
 */
#ifndef VF_TRACK_H
#define VF_TRACK_H

#include <math.h>

#include "base/view.h"
#include "feature.h"

/** Side of the patches of the tracker [px]. From level track_patch8_level on it is 8 px instead. */
#define VF_PATCH 16
#define VF_PATCH_PIXELS (VF_PATCH * VF_PATCH)

/** Least texture of a patch that is tracked: smaller eigenvalue of its mean structure tensor [1/100 grey
 *  level^2/px^2]. */
#define VF_TRACK_TEXTURE 10.0f

/** Mean absolute residual above which the template of a track is renewed, because the patch has changed [grey
 *  levels]. */
#define VF_TRACK_TEMPLATE_GREY 4u

/** Inverted normal equations of a template, for its alignment by Gauss-Newton. */
struct vf_template_normal {
    float inverse[10];    /* inverse 4x4 matrix, upper triangle row by row; unknowns x, y, gain, offset */
    int32_t reference_q5; /* grey level about which the photometric gain acts [grey levels, Q5] */
    int32_t valid;        /* 1: `inverse` can be used; 0: too little texture, or a singular matrix */
    float contrast;       /* standard deviation of the template's grey levels [grey levels] */
};

struct vf_track_memory {
    /* [template_index][plane][pixel, row by row]: templates of level 0. Planes: grey level Q5, x gradient Q4, y
     * gradient Q4 */
    int16_t templates[VFRONT_TRACKS][3][VF_PATCH_PIXELS];
    struct vf_feature moved[VFRONT_TRACKS]; /* out: features of the previous frame, tracked into this one or ended */
    /* [template_index]: inverted normal equations of the template */
    struct vf_template_normal template_normal[VFRONT_TRACKS];
};

/* What track reads: lists from which base/view.h makes the members of its view. */
/* clang-format off */
#define VF_READS_track(X) X(ingest) X(rectify) X(pyramid) X(predict)
#define VF_BEFORE_track(X) X(refill)
#define VF_GEOMETRY_track(X) X(levels) X(focal_px) X(centre_px) X(active)
#define VF_TUNING_track(X)                                                                                             \
    X(track_target) X(track_levels) X(track_patch8_level) X(track_prior) X(track_retry) X(track_back_mpx)              \
    X(track_template_frames) X(detect_border_px)
/* clang-format on */
VF_GEOMETRY_OF(track);
VF_TUNING_OF(track);

/** What the alignment of patches reads: tuning, and the pyramids of camera 0. Part of the views of track, match and
 *  partner. */
/* clang-format off */
#define VF_TUNING_align(X)                                                                                             \
    X(track_photometric) X(track_iterations)                                     \
    X(track_residual_grey) X(track_residual_percent)
/* clang-format on */
VF_TUNING_OF(align);
struct vf_align_view {
    struct vf_align_tuning tuning;
    struct vf_level level[VFRONT_LEVELS];
    const uint8_t *level0[2], /* [parity]: image of level 0 */
        *pyramid[2];          /* [parity]: images of levels 1 and up, each at offset level[].offset */
};

struct vf_track_view {
    VF_VIEW(track);
    struct vf_track_tuning tuning;
    struct vf_align_view align;
    struct vf_masks masks;
};
VF_HOST_FORM(track);

/** Image of one pyramid level. */
struct vf_level_picture {
    const uint8_t *pixels;
    int32_t pitch,     /* distance from row to row [bytes] */
        width, height; /* size [px] */
};

/* ---- pixels of a template ---------------------------------------------------------------------------------------- */

/** Bilinear weights w<row><column> of four neighbouring pixels, Q14. They sum to 2^14. */
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

/** Grey level, Q5, from four neighbouring pixels by bilinear interpolation. */
VF_FN int32_t vf_track_interpolate(struct vf_bilinear_weights w, int32_t p00, int32_t p01, int32_t p10, int32_t p11)
{
    return (w.w00 * p00 + w.w01 * p01 + w.w10 * p10 + w.w11 * p11 + 256) >> 9;
}

/** Gradient along one axis, Q4, from three central differences over 2 px, Q5. centre_q5: difference in the pixel's own
 *  row or column; before_q5, after_q5: in the rows or columns beside it. Level 0 uses the centre alone, which is
 *  sharpest. Coarse levels use the Scharr weights 3:10:3, which suppress aliasing of the pyramid's 2x2 mean.
 *  |result| <= 2040. */
VF_FN int32_t vf_track_gradient(int32_t level, int32_t before_q5, int32_t centre_q5, int32_t after_q5)
{
    return level ? (3 * (before_q5 + after_q5) + 10 * centre_q5 + 32) >> 6 : (centre_q5 + 2) >> 2;
}

/** 1 if a template pixel lies in the image, so that its gradient is used. Gradients outside count as 0, because
 *  replicated border pixels have gradients that resist motion. */
VF_FN int32_t vf_track_inside(const struct vf_level_picture *picture, int32_t x, int32_t y)
{
    return x >= 0 && y >= 0 && x < picture->width - 1 && y < picture->height - 1;
}

/** Reference grey level, about which the photometric gain acts, Q5: the template's mean, so that gain and offset are
 *  nearly uncorrelated. 0 if the photometric model has no offset. sum_q5: sum of the template's grey levels. */
VF_FN int32_t vf_track_reference(int32_t photometric, int32_t sum_q5, int32_t pixels)
{
    return photometric & VFRONT_PHOTOMETRIC_OFFSET ? (sum_q5 + pixels / 2) / pixels : 0;
}

/** Contrast of a template pixel, Q3: its grey level minus the reference. It is the element of the Jacobian that
 *  belongs to the photometric gain. */
VF_FN int32_t vf_track_contrast(int32_t grey_q5, int32_t reference_q5) { return (grey_q5 - reference_q5 + 2) >> 2; }

/** Residual of a pixel, Q3, clamped to +-256 grey levels: image - ((1 + alpha) (template - reference) + reference +
 *  beta), with the photometric gain 1 + alpha and offset beta. */
VF_FN int32_t vf_track_residual(int32_t picture_q5, int32_t grey_q5, int32_t reference_q5, int32_t alpha_q14,
                                int32_t beta_q5)
{
    const int32_t e = picture_q5 - grey_q5 - (alpha_q14 * (grey_q5 - reference_q5) >> 14) - beta_q5;
    return vf_clamp((e + 2) >> 2, -2047, 2047);
}

/* ---- normal equations -------------------------------------------------------------------------------------------- */

/** Sums over the pixels of a template of products of two columns of its Jacobian. Columns: x gradient (x), y gradient
 *  (y), contrast (t), constant 1. They form J^T J of the normal equations; xx, xy, yy are the structure tensor. */
struct vf_template_moments {
    int32_t xx, xy, xt, x1, yy, yt, y1, tt, t1;
};

/** Adds a template pixel to the moments. dx, dy: its gradients; contrast: its grey level minus the reference. */
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

/** Sums over the pixels of a template that is compared with an image: the vector J^T r of the normal equations, and the
 *  cost. */
struct vf_residual_sums {
    int32_t x, y, t, one; /* sums of the residual times x gradient, y gradient, contrast, 1 */
    int32_t absolute;     /* sum of absolute residuals */
};

/** Adds the residual of a pixel to the sums. dx, dy, contrast: gradients and contrast of the template pixel. */
VF_FN void vf_track_add_residual(struct vf_residual_sums *s, int32_t residual, int32_t dx, int32_t dy, int32_t contrast)
{
    s->x += residual * dx;
    s->y += residual * dy;
    s->t += residual * contrast;
    s->one += residual;
    s->absolute += vf_abs(residual);
}

/** Texture of a patch: smaller eigenvalue of its structure tensor (Shi-Tomasi), per pixel [grey level^2/px^2]. */
VF_FN float vf_track_texture(const struct vf_template_moments *m, int32_t pixels)
{
    const float a = (float)m->xx, b = (float)m->xy, c = (float)m->yy;
    const float root = sqrtf((a - c) * (a - c) + 4.0f * b * b);
    return (a + c - root) * 0.5f / (256.0f * (float)pixels);
}

/** Standard deviation of a template's grey levels [grey levels]. */
VF_FN float vf_track_deviation(const struct vf_template_moments *m, int32_t pixels)
{
    /* variance times pixels^2 [grey level^2, Q6] */
    const int64_t variance = (int64_t)pixels * m->tt - (int64_t)m->t1 * m->t1;
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

/** Photometric model of a pyramid level: VFRONT_PHOTOMETRIC_*. If the tuned model has an offset, coarse levels estimate
 *  only the offset. Their patches cover several surfaces, and a gain would fit what enters and leaves the patch. */
VF_FN int32_t vf_track_photometric(int32_t level, const struct vf_align_tuning *tuning)
{
    return level && tuning->track_photometric & VFRONT_PHOTOMETRIC_OFFSET ? VFRONT_PHOTOMETRIC_OFFSET
                                                                          : tuning->track_photometric;
}

/** Levenberg damping on level 0, as a share of the mean of the two gradient terms on the diagonal of the normal
 *  equations, to which it is added. It keeps a patch on an edge from sliding along it. */
#define VF_DAMPING 0.0625f
/** Levenberg damping on coarse levels. It is less than on level 0, because a patch must move far in few steps. */
#define VF_DAMPING_COARSE 0.015625f

/** Inverted normal equations of a template. m: its moments; pixels: their number; level: its pyramid level. Parameters
 *  outside the photometric model get 1 on the diagonal. */
VF_FN struct vf_template_normal vf_track_template_normal(const struct vf_template_moments *m, int32_t pixels,
                                                         int32_t reference_q5, int32_t level,
                                                         const struct vf_align_tuning *tuning)
{
    const int32_t photometric = vf_track_photometric(level, tuning), gain = photometric & VFRONT_PHOTOMETRIC_GAIN,
                  offset = photometric & VFRONT_PHOTOMETRIC_OFFSET;
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
    n.valid = vf_track_texture(m, pixels) * 100.0f >= VF_TRACK_TEXTURE && vf_track_invert(a);
    n.contrast = vf_track_deviation(m, pixels);
    for (int i = 0, k = 0; i < 4; i++)
        for (int j = i; j < 4; j++) n.inverse[k++] = n.valid ? a[i][j] : 0.0f;
    return n;
}

/** Residual test of an alignment: 1 if the mean absolute residual is at most track_residual_grey +
 *  track_residual_percent of the contrast in the image. That is the template's contrast times the gain. Residuals of a
 *  correct alignment grow with contrast. */
VF_FN int vf_track_fits(const struct vf_align_tuning *tuning, float contrast, int32_t alpha_q14, uint32_t residual_q3)
{
    const float seen = contrast * (1.0f + (float)alpha_q14 * (1.0f / 16384.0f));
    const float most = (float)tuning->track_residual_grey + 0.01f * (float)tuning->track_residual_percent * seen;
    return (float)residual_q3 <= 8.0f * most;
}

/** Update of the parameters by one Gauss-Newton step. */
struct vf_track_update {
    float x, y, /* translation [px of the level] */
        alpha,  /* photometric gain */
        beta;   /* photometric offset [1/8 grey level] */
};
/** Parameter update of one Gauss-Newton step: the inverted normal equations n of a template, times the residual sums
 *  s. */
VF_FN struct vf_track_update vf_track_solve(const struct vf_template_normal *n, const struct vf_residual_sums *s,
                                            int32_t photometric, int32_t alpha_q14)
{
    const float b0 = (float)s->x, b1 = (float)s->y;
    const float b2 = photometric & VFRONT_PHOTOMETRIC_GAIN ? (float)s->t : 0.0f;
    const float b3 = photometric & VFRONT_PHOTOMETRIC_OFFSET ? (float)s->one : 0.0f;
    const float *h = n->inverse;
    /* factor 2, because gradients are Q4 and residuals Q3; over the gain, because image gradients are those of the
     * template times the gain */
    const float scale = 2.0f / (1.0f + (float)alpha_q14 * (1.0f / 16384.0f));
    struct vf_track_update d;
    d.x = (((h[0] * b0 + h[1] * b1) + h[2] * b2) + h[3] * b3) * scale;
    d.y = (((h[1] * b0 + h[4] * b1) + h[5] * b2) + h[6] * b3) * scale;
    d.alpha = ((h[2] * b0 + h[5] * b1) + h[7] * b2) + h[8] * b3;
    d.beta = ((h[3] * b0 + h[6] * b1) + h[8] * b2) + h[9] * b3;
    return d;
}

/** 1 if an update changes the photometric gain by less than 1/64 and the offset by less than 1 grey level. */
VF_FN int vf_track_photometric_converged(const struct vf_track_update *d)
{
    return fabsf(d->alpha) < 0.015625f && fabsf(d->beta) < 8.0f;
}

/** Composes two photometric changes: first_alpha_q14, first_offset_q5, and after them *alpha_q14, *offset_q5, which are
 *  replaced by the result. alpha: gain - 1. */
VF_FN void vf_track_compose_photometric(int32_t *alpha_q14, int32_t *offset_q5, int32_t first_alpha_q14,
                                        int32_t first_offset_q5)
{
    const int64_t both = (int64_t)*alpha_q14 * first_alpha_q14 >> 14,
                  scaled = (int64_t)*alpha_q14 * first_offset_q5 >> 14;
    *offset_q5 = vf_clamp(*offset_q5 + first_offset_q5 + (int32_t)scaled, -32640, 32640);
    /* bounds of the gain: 1/4 .. 4 */
    *alpha_q14 = vf_clamp(*alpha_q14 + first_alpha_q14 + (int32_t)both, -12288, 49152);
}

/** Moves a position by the homography H (row-major, in px of level 0). The position stays unchanged if the result lies
 *  behind the camera or beyond 8192 px. */
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
