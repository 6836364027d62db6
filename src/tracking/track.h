/* SPDX-License-Identifier: MIT */
/* track: features of the frame before found in this one, by pyramidal inverse-compositional Lucas-Kanade (paper 000, II.E).
 *
 * In      features and pyramid of the frame before, this frame's pyramid, masks, rotation prior
 * Out     every feature moved, or ended with a reason; templates of features that were new
 * Rule    vf_track_one(). Positions are Q16, grey levels Q5, gradients Q4, residuals Q3: every sum over a patch fits 32 bits, so
 *         it does not depend on order. The 4x4 system is solved in single precision, in one written order
 * Exact   integer sums; float only in the solution of one system, without contraction, division and root correctly rounded
 * Memory  1.6 KB a track for templates, two sets of features
 *
 * The finest level compares with a template that is kept, so that a track does not drift. The coarse levels, which only have to
 * find the way, compare with the frame before: their patches see more of the scene, and that changes sooner. A template is taken
 * when the feature is first tracked, from the picture of the frame before, which is where the feature was found. So a step writes
 * only templates that no earlier state relies on, and a step that fails has changed nothing.
 *
 * The flow from level to level and from guess to verdict stands in track_flow.h.
 */
#ifndef VF_TRACK_H
#define VF_TRACK_H

#include <math.h>

#include "core/vf.h"

#define VF_PATCH 16
#define VF_PATCH_PIXELS (VF_PATCH * VF_PATCH)

/** A feature between two steps. */
struct vf_feature {
    uint64_t id;
    int32_t x_q16, y_q16;   /* level 0 */
    int32_t dx_q16, dy_q16; /* movement in the last step */
    int32_t alpha_q14;      /* gain - 1 */
    int32_t offset_q5;
    uint32_t residual_q3; /* mean absolute residual */
    uint32_t age;
    uint32_t score;
    uint16_t slot; /* of its templates */
    uint8_t level; /* of VFRONT_SCALES, on which it was found */
    uint8_t fresh; /* 1: templates are still to be taken */
    uint8_t end;   /* vfront_end_t, 0 alive */
    uint8_t reserved[3];
    uint32_t reserved2[3];
};
VF_STATIC_ASSERT(sizeof(struct vf_feature) == 64, "vfront: a feature is a cache line");

/** What a set of features counts. */
struct vf_census {
    uint64_t ids;    /* handed out so far */
    uint32_t count;  /* features alive */
    uint32_t losses; /* times that all tracks were lost */
};

/** Normal equations of a template: inverse of the symmetric 4x4 matrix, row by row of its upper triangle. */
struct vf_normal {
    float inverse[10];
    int32_t pivot_q5;
    int32_t valid;
};

struct vf_track_memory {
    int16_t patch[VFRONT_TRACKS][3][VF_PATCH_PIXELS]; /* [slot]: grey Q5, gradient in x, in y Q4; level 0 */
    struct vf_feature feature[2][VFRONT_TRACKS];      /* [parity], by rising id */
    struct vf_feature moved[VFRONT_TRACKS];           /* the features of the frame before, after this stage */
    struct vf_normal normal[VFRONT_TRACKS];
    struct vf_census census[2];
};

/** A picture of one level. */
struct vf_view {
    const uint8_t *pixels;
    int32_t pitch, width, height;
};

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

/** Bilinear weights, Q14, of the pixels at (0,0), (1,0), (0,1), (1,1). They add up to 2^14. */
struct vf_weights {
    int32_t w00, w01, w10, w11;
};
VF_FN struct vf_weights vf_track_weights(int32_t x_q16, int32_t y_q16)
{
    const int32_t fx = (x_q16 & 0xffff) >> 2, fy = (y_q16 & 0xffff) >> 2;
    struct vf_weights w;
    w.w11 = (fx * fy + 0x2000) >> 14;
    w.w01 = fx - w.w11;
    w.w10 = fy - w.w11;
    w.w00 = 0x4000 - fx - fy + w.w11;
    return w;
}

/** Interpolated grey level, Q5. */
VF_FN int32_t vf_track_mix(struct vf_weights w, int32_t p00, int32_t p01, int32_t p10, int32_t p11)
{
    return (w.w00 * p00 + w.w01 * p01 + w.w10 * p10 + w.w11 * p11 + 256) >> 9;
}

/** Gradient in Q4 along one axis, from differences in Q5 over two pixels: in the row (column) here, and in those on both sides.
 *  The finest level takes the one here, which is sharpest. The others weigh all three 3:10:3: that reaches further, and cares
 *  less for the aliasing of the 2x2 mean. |result| <= 2040 either way. */
VF_FN int32_t vf_track_gradient(int32_t level, int32_t side_q5, int32_t here_q5, int32_t other_side_q5)
{
    return level ? (3 * (side_q5 + other_side_q5) + 10 * here_q5 + 32) >> 6 : (here_q5 + 2) >> 2;
}

/** Whether a pixel of a template lies in the picture. Beyond its border there is only a copy of it, which must not hold a patch
 *  back: there gradients are taken as 0. */
VF_FN int32_t vf_track_inside(const struct vf_view *v, int32_t x, int32_t y)
{
    return x >= 0 && y >= 0 && x < v->width - 1 && y < v->height - 1;
}

/** The grey level about which a template's light changes: its mean, so that gain and offset hardly depend on each other; but
 *  black where the model has no offset that could make up for it. */
VF_FN int32_t vf_track_pivot(int32_t light, int32_t sum_q5, int32_t pixels)
{
    return light & VFRONT_LIGHT_OFFSET ? (sum_q5 + pixels / 2) / pixels : 0;
}

/** The template's deviation from its pivot, Q3: the column of the gain. */
VF_FN int32_t vf_track_contrast(int32_t grey_q5, int32_t pivot_q5) { return (grey_q5 - pivot_q5 + 2) >> 2; }

/** Residual, Q3, within +-256 grey levels. */
VF_FN int32_t vf_track_residual(int32_t now_q5, int32_t grey_q5, int32_t pivot_q5, int32_t alpha_q14, int32_t beta_q5)
{
    const int32_t e = now_q5 - grey_q5 - (alpha_q14 * (grey_q5 - pivot_q5) >> 14) - beta_q5;
    return vf_clamp((e + 2) >> 2, -2047, 2047);
}

/** Sums over a template that make its normal equations: x and y gradient, contrast, one. */
struct vf_moments {
    int32_t xx, xy, xt, x1, yy, yt, y1, tt, t1;
};

/** Sums over a template and a picture. */
struct vf_sums {
    int32_t x, y, t, one; /* residual times x gradient, y gradient, contrast, 1 */
    int32_t absolute;     /* of residuals */
};

/** Least eigenvalue of the 2x2 gradient matrix of a patch, mean over its pixels, in grey levels squared a px squared. */
VF_FN float vf_track_texture(const struct vf_moments *m, int32_t pixels)
{
    const float a = (float)m->xx, b = (float)m->xy, c = (float)m->yy;
    const float root = sqrtf((a - c) * (a - c) + 4.0f * b * b);
    return (a + c - root) * 0.5f / (256.0f * (float)pixels);
}

/** Inverts a symmetric positive 4x4 matrix in place by Gauss-Jordan without pivoting. 0 if a pivot vanishes. */
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

/** Light model of a level. Where there is an offset it stands in for the gain on the coarse levels, whose patches take in more
 *  than one surface: there a gain follows what moves in and out. */
VF_FN int32_t vf_track_light(int32_t level, const vfront_tuning_t *tuning)
{
    return level && tuning->track_light & VFRONT_LIGHT_OFFSET ? VFRONT_LIGHT_OFFSET : tuning->track_light;
}

/** What is added to both gradient terms of the normal equations, as a share of their mean (Levenberg's damping). It keeps a
 *  patch on an edge from running along it, and hardly slows one on a corner. */
#define VF_DAMPING 0.0625f

/** Normal equations of a template for a light model. Parameters that the model lacks get an equation of their own. */
VF_FN struct vf_normal vf_track_normal(const struct vf_moments *m, int32_t pixels, int32_t pivot_q5, int32_t level,
                                       const vfront_tuning_t *tuning)
{
    const int32_t light = vf_track_light(level, tuning), gain = light & VFRONT_LIGHT_GAIN,
                  offset = light & VFRONT_LIGHT_OFFSET;
    const float damping = VF_DAMPING * 0.5f * ((float)m->xx + (float)m->yy);
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

    struct vf_normal n;
    n.pivot_q5 = pivot_q5;
    n.valid = vf_track_texture(m, pixels) * 100.0f >= (float)tuning->track_texture && vf_track_invert(a);
    for (int i = 0, k = 0; i < 4; i++)
        for (int j = i; j < 4; j++) n.inverse[k++] = n.valid ? a[i][j] : 0.0f;
    return n;
}

/** One Gauss-Newton step: translation [px], gain, offset [1/8 grey level]. */
struct vf_delta {
    float x, y, alpha, beta;
};
VF_FN struct vf_delta vf_track_solve(const struct vf_normal *n, const struct vf_sums *s, int32_t light,
                                     int32_t alpha_q14)
{
    const float b0 = (float)s->x, b1 = (float)s->y;
    const float b2 = light & VFRONT_LIGHT_GAIN ? (float)s->t : 0.0f;
    const float b3 = light & VFRONT_LIGHT_OFFSET ? (float)s->one : 0.0f;
    const float *h = n->inverse;
    /* Gradients are Q4 and residuals Q3, hence the 2; gradients of the picture are the template's times the gain. */
    const float scale = 2.0f / (1.0f + (float)alpha_q14 * (1.0f / 16384.0f));
    struct vf_delta d;
    d.x = (((h[0] * b0 + h[1] * b1) + h[2] * b2) + h[3] * b3) * scale;
    d.y = (((h[1] * b0 + h[4] * b1) + h[5] * b2) + h[6] * b3) * scale;
    d.alpha = ((h[2] * b0 + h[5] * b1) + h[7] * b2) + h[8] * b3;
    d.beta = ((h[3] * b0 + h[6] * b1) + h[8] * b2) + h[9] * b3;
    return d;
}

/** Whether a step hardly changes the light: by 1/64 of the contrast and 1 grey level at most. */
VF_FN int vf_track_steady(const struct vf_delta *d) { return fabsf(d->alpha) < 0.015625f && fabsf(d->beta) < 8.0f; }

/** Gain and offset of two changes of light, one (*alpha, *offset) after the other. */
VF_FN void vf_track_chain(int32_t *alpha_q14, int32_t *offset_q5, int32_t first_alpha_q14, int32_t first_offset_q5)
{
    const int64_t both = (int64_t)*alpha_q14 * first_alpha_q14 >> 14,
                  scaled = (int64_t)*alpha_q14 * first_offset_q5 >> 14;
    *offset_q5 = vf_clamp(*offset_q5 + first_offset_q5 + (int32_t)scaled, -32640, 32640);
    *alpha_q14 = vf_clamp(*alpha_q14 + first_alpha_q14 + (int32_t)both, -12288, 49152); /* gain 1/4 .. 4 */
}

/** Where a rotation prior takes a position. Keeps the position when it leads behind the camera or far away. */
VF_FN void vf_track_rotate(const float H[9], int32_t *x_q16, int32_t *y_q16)
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
