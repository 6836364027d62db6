/* SPDX-License-Identifier: MIT */
/* epipolar: mean offset of camera 1 across the epipolar lines, caused by a calibration error. In rectified images it is
 * an offset of rows.
 *
 * In      positions of stereo's matches in both cameras; images
 * Out     running estimate of the offset [px], with its standard deviation
 * Rule    Each frame measures one match in VF_EPIPOLAR_SHARE, in turn. A two-dimensional Gauss-Newton step on level 0,
 *         along and across the line, starts from the position that the previous estimate predicts. The mean of the
 *         steps across, clamped at VF_EPIPOLAR_CLAMP_Q12, updates a running estimate (rig.h).
 * Exact   sums in integers; the rest in single precision in one order, square roots and quotients correctly rounded
 * Memory  sums of a frame and running estimate, one set of each per parity
 * Shared  arithmetic of patches, steps and sums. The host reads patches into memory, the kernel into registers.
 */
#ifndef VF_EPIPOLAR_H
#define VF_EPIPOLAR_H

#include "stereo.h"

#define VF_EPIPOLAR_SHARE 4 /* each frame measures one of this many matches */
/* number of key points with successive indices that are measured in the same frame */
#define VF_EPIPOLAR_BUNCH 4
#define VF_EPIPOLAR_MIN 8          /* least number of measured matches in a frame that updates the estimate */
#define VF_EPIPOLAR_CLAMP_Q12 1024 /* bound to which measured steps are clamped before averaging [1/4096 px]: 1/4 px */
#define VF_EPIPOLAR_FAR_PX 1.0f    /* longest measured step that is used [px] */
/* Least mean square of the grey-level gradient across the epipolar line [1/64 grey level^2 per px^2]: 4 grey levels per
 * px. The part that is correlated with the gradient along the line is removed before. */
#define VF_EPIPOLAR_GRADIENT2_MIN 1024.0f
#define VF_EPIPOLAR_NO_STEP (-0x7fffffff) /* result of a measurement that has too little texture or a too long step */

/** Sums over the matches of a frame whose step across the epipolar line was measured. */
struct vf_epipolar_sums {
    int32_t matches, /* number of measured matches */
        within,      /* number of matches whose step is within VF_EPIPOLAR_CLAMP_Q12 */
        q12;         /* sum of the clamped steps [1/4096 px] */
};

struct vf_epipolar_memory {
#if VFRONT_STEREO
    /* out, [parity]: offset of camera 1 across the epipolar lines [px]. Positive to the left of the direction towards
     * smaller depths: downwards if camera 1 is on the right. */
    struct vf_rig_estimate estimate[2];
    struct vf_epipolar_sums sums[2]; /* [parity]: a frame fills its own set and clears the other */
    uint32_t blocks_done;            /* CUDA: number of finished thread blocks of the kernel; 0 between frames */
#else
    uint64_t nothing;
#endif
};

/* What epipolar reads: lists from which base/view.h makes the members of its view. */
/* clang-format off */
#define VF_READS_epipolar(X) X(ingest) X(rectify) X(bearing) X(stereo)
#define VF_BEFORE_epipolar(X)
#define VF_GEOMETRY_epipolar(X) X(level)
#define VF_TUNING_epipolar(X) X(rig_offset) X(select_points)
/* clang-format on */
VF_GEOMETRY_OF(epipolar);
VF_TUNING_OF(epipolar);
struct vf_epipolar_view {
    VF_VIEW(epipolar);
    struct vf_epipolar_tuning tuning;
    struct vf_pictures pictures;
};
VF_HOST_FORM(epipolar);

/** Running estimate of the offset across epipolar lines after the frame of a parity; all 0: nothing measured. active:
 *  bits of the active stages. */
VF_FN struct vf_rig_estimate vf_epipolar_estimate(const struct vf_epipolar_memory *m, uint32_t active, int32_t parity)
{
    struct vf_rig_estimate none;
#if VFRONT_STEREO
    if (active & VF_BIT(epipolar)) return m->estimate[parity];
#endif
    memset(&none, 0, sizeof none);
    (void)m, (void)active, (void)parity;
    return none;
}

#if VFRONT_STEREO
/** Index of the k-th key point of camera 0 whose match is measured in frame number `frame`. */
VF_FN uint32_t vf_epipolar_point(uint32_t k, uint64_t frame)
{
    const uint32_t bunch = k / VF_EPIPOLAR_BUNCH * VF_EPIPOLAR_SHARE + (uint32_t)(frame % VF_EPIPOLAR_SHARE);
    return bunch * VF_EPIPOLAR_BUNCH + k % VF_EPIPOLAR_BUNCH;
}

/** Centres of the six patches from which the offset of a match is measured. */
struct vf_epipolar_patches {
    struct vf_patch_centre own, /* camera 0: at the point */
        ahead, behind,          /* camera 0: one pixel further and one pixel back along the epipolar line */
        left, right,            /* camera 0: one pixel to the left and to the right of the line's direction */
        other;                  /* camera 1: at the position predicted by the previous offset estimate */
};

/** Centre of a patch on level 0 [1/256 px], rounded from a position on level 0 [1/65536 px]. */
VF_FN struct vf_patch_centre vf_epipolar_centre(int32_t x_q16, int32_t y_q16)
{
    struct vf_patch_centre c;
    c.u = (x_q16 + 128) >> 8;
    c.v = (y_q16 + 128) >> 8;
    return c;
}

/** Centres of the patches of a match. own: its point in camera 0; shift_px: shift across the epipolar line, from
 *  stereo's position to the one predicted by the previous offset estimate [px]. */
VF_FN struct vf_epipolar_patches vf_epipolar_patches_of(const struct vf_point *own, const struct vf_line_match *match,
                                                        float shift_px)
{
    const int32_t du = vf_round(match->direction_x * 256.0f), dv = vf_round(match->direction_y * 256.0f);
    struct vf_epipolar_patches w;
    w.own = vf_epipolar_centre(own->x_q16, own->y_q16);
    w.ahead.u = w.own.u + du;
    w.ahead.v = w.own.v + dv;
    w.behind.u = w.own.u - du;
    w.behind.v = w.own.v - dv;
    w.left.u = w.own.u + dv;
    w.left.v = w.own.v - du;
    w.right.u = w.own.u - dv;
    w.right.v = w.own.v + du;
    w.other = vf_epipolar_centre(match->x_q16 + vf_round(shift_px * match->direction_y * 65536.0f),
                                 match->y_q16 - vf_round(shift_px * match->direction_x * 65536.0f));
    return w;
}

/** 1 if all six patches lie inside their images. l0, l1: level 0 of cameras 0 and 1. */
VF_FN int vf_epipolar_inside(const struct vf_level *l0, const struct vf_level *l1, const struct vf_epipolar_patches *w)
{
    return vf_stereo_patch_inside(l0, w->own) && vf_stereo_patch_inside(l0, w->ahead) &&
           vf_stereo_patch_inside(l0, w->behind) && vf_stereo_patch_inside(l0, w->left) &&
           vf_stereo_patch_inside(l0, w->right) && vf_stereo_patch_inside(l1, w->other);
}

/** Sums over the pixels of a patch for a two-dimensional Gauss-Newton step. n: number of pixels; g, h: gradients along
 *  and across the line in camera 0 [1/8 grey level per px]; d: difference camera 1 - camera 0 [1/16 grey level]; two
 *  letters: products. */
struct vf_epipolar_normal {
    int32_t n, g, h, d, gg, gh, hh, gd, hd;
};
/** Adds one pixel of the patches. own .. other: its grey levels in the six patches of a match [1/16]. */
VF_FN void vf_epipolar_accumulate(struct vf_epipolar_normal *sum, int32_t own, int32_t ahead, int32_t behind,
                                  int32_t left, int32_t right, int32_t other)
{
    const int32_t g = (ahead - behind + 2) >> 2, h = (left - right + 2) >> 2, d = other - own;
    sum->n++;
    sum->g += g;
    sum->h += h;
    sum->d += d;
    sum->gg += g * g;
    sum->gh += g * h;
    sum->hh += h * h;
    sum->gd += g * d;
    sum->hd += h * d;
}

/** Gauss-Newton step across the epipolar line [1/4096 px], after elimination of the step along the line.
 *  VF_EPIPOLAR_NO_STEP: undetermined or too long. */
VF_FN int32_t vf_epipolar_step_q12(const struct vf_epipolar_normal *sum)
{
    const int64_t n = sum->n;
    const float gg = (float)(n * sum->gg - (int64_t)sum->g * sum->g),
                gh = (float)(n * sum->gh - (int64_t)sum->g * sum->h),
                hh = (float)(n * sum->hh - (int64_t)sum->h * sum->h),
                gd = (float)(n * sum->gd - (int64_t)sum->g * sum->d),
                hd = (float)(n * sum->hd - (int64_t)sum->h * sum->d);
    const float part = gg > 0.0f ? gh / gg : 0.0f, square = hh - part * gh;
    const float step = square > 0.0f ? -0.5f * (hd - part * gd) / square : 0.0f;
    const int seen = square >= VF_EPIPOLAR_GRADIENT2_MIN * (float)n * (float)n && step <= VF_EPIPOLAR_FAR_PX &&
                     -step <= VF_EPIPOLAR_FAR_PX;
    return seen ? vf_round(step * 4096.0f) : VF_EPIPOLAR_NO_STEP;
}

/** Adds the measured step of a match to the sums of the frame; VF_EPIPOLAR_NO_STEP adds nothing. */
VF_FN void vf_epipolar_add(struct vf_epipolar_sums *sum, int32_t step_q12)
{
    const int32_t clamped = vf_clamp(step_q12, -VF_EPIPOLAR_CLAMP_Q12, VF_EPIPOLAR_CLAMP_Q12);
    const int32_t seen = step_q12 != VF_EPIPOLAR_NO_STEP;
    sum->matches += seen;
    sum->within += seen && clamped == step_q12;
    sum->q12 += seen ? clamped : 0;
}

/** Shift across epipolar lines, from those on which stereo found this frame's matches to those of the previous offset
 *  estimate [px]. */
VF_FN float vf_epipolar_shift_px(const struct vf_epipolar_view *s)
{
    const struct vf_rig_estimate *e = &s->epipolar->estimate[s->parity ^ 1];
    if (s->ingest->params.frame == 0) return 0.0f;
    return vf_rig_clamp(e->value, VF_RIG_MAX_PX) - vf_rig_correction(e, s->tuning.rig_offset);
}

/** Offset estimate after a frame: one step of a Huber M-estimator (P. Huber, 1964) from the previous estimate `before`.
 *  good: 1 if the state of the camera pair is GOOD; first: 1 in frame 0; correct: tuning value rig_offset. */
VF_FN struct vf_rig_estimate vf_epipolar_next(const struct vf_epipolar_sums *sum, int good, int first, int correct,
                                              const struct vf_rig_estimate *before)
{
    struct vf_rig_estimate none;
    memset(&none, 0, sizeof none);
    const struct vf_rig_estimate *from = first ? &none : before;
    const int32_t inner = vf_max(sum->within, sum->matches / 4);
    const int seen = good && sum->matches >= VF_EPIPOLAR_MIN;
    const float step = seen ? (float)sum->q12 / (4096.0f * (float)inner) : 0.0f;
    return vf_rig_next(from, vf_rig_clamp(from->value, VF_RIG_MAX_PX) + step, seen ? (float)inner : 0.0f, correct);
}
#endif

#endif
