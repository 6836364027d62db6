/* SPDX-License-Identifier: MIT */
/* rows: offset of camera 1 across the epipolar lines, which is that of the rows where pictures are rectified: what a
 * calibration that no longer holds, or never did, leaves.
 *
 * In      positions of stereo's matches in both cameras; pictures
 * Out     running estimate of the offset
 * Rule    of one match in VF_ROWS_SHARE, others in each frame: a Gauss-Newton step along and across the line on level
 *         0, from the position that the estimate of the frame before expects; the mean of the steps across, far ones
 *         clamped, goes into a running estimate (rig.h)
 * Exact   sums in integers; the rest in single precision in one order, square roots and quotients correctly rounded
 * Memory  sums and estimates, no match
 * Shared  arithmetic of windows, steps and sums; windows are read by the host into memory, by the kernel into registers
 */
#ifndef VF_ROWS_H
#define VF_ROWS_H

#include "stereo.h"

#define VF_ROWS_SHARE 4        /* one match in so many is looked at, in bunches of VF_ROWS_BUNCH neighbours */
#define VF_ROWS_BUNCH 4        /* key points with neighbouring indices that are looked at in the same frame */
#define VF_ROWS_LEAST 8        /* matches that show the offset in a frame, at least */
#define VF_ROWS_CLAMP_Q12 1024 /* bound at which steps are clamped for their mean [1/4096 px]: 1/4 px */
#define VF_ROWS_FAR_PX 1.0f    /* longest step that counts [px] */
#define VF_ROWS_SQUARE                                                                                                 \
    1024.0f                           /* least mean squared gradient across the line, less its part along it
                                    [1/64 grey level^2 a px^2]: 4 grey levels a px */
#define VF_ROWS_NO_STEP (-0x7fffffff) /* too little texture, or too far */

/** Sums of the steps across the lines over the matches that show one. */
struct vf_rows_sums {
    int32_t matches, within, q12; /* matches; of them within the clamp; their steps, clamped [1/4096 px] */
};

struct vf_rows_memory {
#if VFRONT_STEREO
    struct vf_rig_estimate estimate[2]; /* out, by parity: offset [px], to the left of the lines' direction towards
                                           smaller depths, which is down where camera 1 lies to the right */
    struct vf_rows_sums sums[2];        /* by parity: a step fills one set and clears the other */
    uint32_t blocks_done;               /* kernel: thread blocks that have finished; 0 between frames */
#else
    uint64_t nothing;
#endif
};

/* View of rows: core/view.h. */
/* clang-format off */
#define VF_READS_rows(X) X(ingest) X(rectify) X(bearing) X(stereo)
#define VF_BEFORE_rows(X)
#define VF_GEOMETRY_rows(X) X(level)
#define VF_TUNING_rows(X) X(rig_offset) X(select_points)
/* clang-format on */
VF_GEOMETRY_OF(rows);
VF_TUNING_OF(rows);
struct vf_rows_view {
    VF_VIEW(rows);
    struct vf_rows_tuning tuning;
    struct vf_pictures pictures;
};
VF_HOST_FORM(rows);

/** Estimate after the frame of a parity; active: of geometry. All 0: nothing seen. */
VF_FN struct vf_rig_estimate vf_rows_estimate(const struct vf_rows_memory *m, uint32_t active, int32_t parity)
{
    struct vf_rig_estimate none;
#if VFRONT_STEREO
    if (active & VF_BIT(rows)) return m->estimate[parity];
#endif
    memset(&none, 0, sizeof none);
    (void)m, (void)active, (void)parity;
    return none;
}

#if VFRONT_STEREO
/** Key point of camera 0 that is looked at in the k-th place, in a frame. */
VF_FN uint32_t vf_rows_point(uint32_t k, uint64_t frame)
{
    const uint32_t bunch = k / VF_ROWS_BUNCH * VF_ROWS_SHARE + (uint32_t)(frame % VF_ROWS_SHARE);
    return bunch * VF_ROWS_BUNCH + k % VF_ROWS_BUNCH;
}

/** Centres of a match's windows. own: in camera 0; other: in camera 1, where the estimate before expects it. */
struct vf_rows_windows {
    struct vf_window_centre own, ahead, behind, left, right, other;
};

/** Centre of a window on level 0. */
VF_FN struct vf_window_centre vf_rows_centre(int32_t x_q16, int32_t y_q16)
{
    struct vf_window_centre c;
    c.u = (x_q16 + 128) >> 8;
    c.v = (y_q16 + 128) >> 8;
    return c;
}

/** Windows of a match. shift_px: from the line that stereo used to the one expected. */
VF_FN struct vf_rows_windows vf_rows_windows_of(const struct vf_point *own, const struct vf_stereo_place *match,
                                                float shift_px)
{
    const int32_t du = vf_round(match->direction_x * 256.0f), dv = vf_round(match->direction_y * 256.0f);
    struct vf_rows_windows w;
    w.own = vf_rows_centre(own->x_q16, own->y_q16);
    w.ahead.u = w.own.u + du;
    w.ahead.v = w.own.v + dv;
    w.behind.u = w.own.u - du;
    w.behind.v = w.own.v - dv;
    w.left.u = w.own.u + dv;
    w.left.v = w.own.v - du;
    w.right.u = w.own.u - dv;
    w.right.v = w.own.v + du;
    w.other = vf_rows_centre(match->x_q16 + vf_round(shift_px * match->direction_y * 65536.0f),
                             match->y_q16 - vf_round(shift_px * match->direction_x * 65536.0f));
    return w;
}

/** Bounds test: 1 if all windows lie in the pictures. */
VF_FN int vf_rows_inside(const struct vf_level *l0, const struct vf_level *l1, const struct vf_rows_windows *w)
{
    return vf_stereo_window_inside(l0, w->own) && vf_stereo_window_inside(l0, w->ahead) &&
           vf_stereo_window_inside(l0, w->behind) && vf_stereo_window_inside(l0, w->left) &&
           vf_stereo_window_inside(l0, w->right) && vf_stereo_window_inside(l1, w->other);
}

/** Sums of the Gauss-Newton step along and across the line over a window: g, h gradient along and across it in camera 0
 *  [1/8 grey level a px], d difference of camera 1 and camera 0 [1/16 grey level]. */
struct vf_rows_normal {
    int32_t n, g, h, d, gg, gh, hh, gd, hd;
};
/** Add a pixel: its grey levels [1/16] in each window. */
VF_FN void vf_rows_accumulate(struct vf_rows_normal *sum, int32_t own, int32_t ahead, int32_t behind, int32_t left,
                              int32_t right, int32_t other)
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

/** Step across the line that a window shows [1/4096 px], while the step along it is free; or VF_ROWS_NO_STEP. */
VF_FN int32_t vf_rows_step_q12(const struct vf_rows_normal *sum)
{
    const int64_t n = sum->n;
    const float gg = (float)(n * sum->gg - (int64_t)sum->g * sum->g),
                gh = (float)(n * sum->gh - (int64_t)sum->g * sum->h),
                hh = (float)(n * sum->hh - (int64_t)sum->h * sum->h),
                gd = (float)(n * sum->gd - (int64_t)sum->g * sum->d),
                hd = (float)(n * sum->hd - (int64_t)sum->h * sum->d);
    const float part = gg > 0.0f ? gh / gg : 0.0f, square = hh - part * gh;
    const float step = square > 0.0f ? -0.5f * (hd - part * gd) / square : 0.0f;
    const int seen = square >= VF_ROWS_SQUARE * (float)n * (float)n && step <= VF_ROWS_FAR_PX &&
                     -step <= VF_ROWS_FAR_PX;
    return seen ? vf_round(step * 4096.0f) : VF_ROWS_NO_STEP;
}

/** Add the step of a match. */
VF_FN void vf_rows_add(struct vf_rows_sums *sum, int32_t step_q12)
{
    const int32_t clamped = vf_clamp(step_q12, -VF_ROWS_CLAMP_Q12, VF_ROWS_CLAMP_Q12);
    const int32_t seen = step_q12 != VF_ROWS_NO_STEP;
    sum->matches += seen;
    sum->within += seen && clamped == step_q12;
    sum->q12 += seen ? clamped : 0;
}

/** Shift from the line on which stereo found the matches of this frame to the one on which the estimate of the frame
 *  before expects them [px]. */
VF_FN float vf_rows_shift_px(const struct vf_rows_view *s)
{
    const struct vf_rig_estimate *e = &s->rows->estimate[s->parity ^ 1];
    if (s->ingest->params.frame == 0) return 0.0f;
    return vf_rig_within(e->value, VF_RIG_MOST_PX) - vf_rig_correction(e, s->tuning.rig_offset);
}

/** Estimate of the offset after a frame: a step of the M-estimator that clamps (P. Huber, 1964) from the estimate
 *  before. good: 1 if the cameras agree in this frame; first: 1 in frame 0. */
VF_FN struct vf_rig_estimate vf_rows_next(const struct vf_rows_sums *sum, int good, int first, int correct,
                                          const struct vf_rig_estimate *before)
{
    struct vf_rig_estimate none;
    memset(&none, 0, sizeof none);
    const struct vf_rig_estimate *from = first ? &none : before;
    const int32_t inner = vf_max(sum->within, sum->matches / 4);
    const int seen = good && sum->matches >= VF_ROWS_LEAST;
    const float step = seen ? (float)sum->q12 / (4096.0f * (float)inner) : 0.0f;
    return vf_rig_next(from, vf_rig_within(from->value, VF_RIG_MOST_PX) + step, seen ? (float)inner : 0.0f, correct);
}
#endif

#endif
