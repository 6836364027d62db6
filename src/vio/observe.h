/* SPDX-License-Identifier: MIT */
/* Stage observe: tracks and stereo tracks as bearings with standard deviations, for the estimator.
 *
 * In      features of this frame (refill), stereo tracks (partner), bearing grids, stereo health
 * Out     observations of the first VF_VIO_OBSERVATIONS tracks of refill's list, in its order; their number
 * Rule    no observations if the image of camera 0 is frozen, stale or late. No stereo observations if the image of
 *         camera 1 is frozen or stale, or if the stereo pair is inconsistent. A track without a valid bearing has id 0.
 *         Rolling shutter: exposure time of the raw row minus that of the middle row. The raw row of a rectified pixel
 *         comes from the nearest entry of the remap table.
 *         Standard deviations: vio_observation_mpx / 1000 / focal length; for camera 1 that of the disparity / focal
 *         length [rad].
 * Exact   single precision in one order
 * Shared  vf_observe_track() serves host form and kernel
 * Memory  44 bytes per observation
 */
#ifndef VF_OBSERVE_H
#define VF_OBSERVE_H

#include "camera/rectify.h"
#include "features/bearing.h"
#include "geometry/stereo.h"
#include "image/freeze.h"
#include "tracking/partner.h"
#include "tracking/refill.h"
#include "window.h"

struct vf_observe_memory {
#if VFRONT_VIO
    /* observations of this frame, in the order of refill's tracks */
    struct vf_observation observation[VF_VIO_OBSERVATIONS];
    uint32_t count, reserved; /* count: number of observations */
#else
    uint64_t nothing;
#endif
};

/* View of stage observe, by the macros of base/view.h. */
/* clang-format off */
#define VF_READS_observe(X) X(ingest) X(freeze) X(rectify) X(refill) X(bearing) X(stereo) X(partner)
#define VF_BEFORE_observe(X)
#define VF_GEOMETRY_observe(X) X(focal_px) X(nodes_x) X(row_s) X(raw) X(rectified) X(active)
#define VF_TUNING_observe(X) X(vio_observation_mpx)
/* clang-format on */
VF_GEOMETRY_OF(observe);
VF_TUNING_OF(observe);
struct vf_observe_view {
    VF_VIEW(observe);
    struct vf_observe_tuning tuning;
};
VF_HOST_FORM(observe);

#if VFRONT_VIO
/** Number of observations in this frame; 0 if the image of camera 0 is stale or late. */
VF_FN uint32_t vf_observe_count(const struct vf_observe_view *s)
{
    const uint32_t count = s->refill->counts[s->parity].count;
    if (s->ingest->params.late || vf_freeze_stale(s->freeze, s->parity, 0)) return 0;
    return count < VF_VIO_OBSERVATIONS ? count : VF_VIO_OBSERVATIONS;
}

/** 1 if camera 1's images are current and the stereo pair has been consistent for VF_PAIR_HOLDOFF frames. The hold-off
 *  is needed because some faults move points off the epipolar lines in some motions only. With tuning `stereo` 0 the
 *  pair is assumed consistent. */
VF_FN int vf_observe_pair_valid(const struct vf_observe_view *s)
{
    const struct vf_pair_health pair = vf_stereo_pair(s->stereo, s->geometry.active, s->parity);
    return VFRONT_CAMERAS > 1 && (pair.state == VFRONT_STEREO_GOOD || pair.state == VFRONT_STEREO_NONE) &&
           !pair.holdoff && !vf_freeze_stale(s->freeze, s->parity, VFRONT_CAMERAS - 1);
}

/** Computes the bearing of a pixel of a camera. Returns 0 where the lens model has none. */
VF_FN int vf_observe_bearing(const struct vf_observe_view *s, int32_t camera, int32_t x_q16, int32_t y_q16,
                             float out[3])
{
    vf_bearing_at(s->bearing->node[camera], s->geometry.nodes_x[camera], x_q16, y_q16, out);
    return vf_dot(out, out) > 0.0f;
}

/** Row of the raw image of a camera from which a pixel comes, before rectification [px]. */
VF_FN float vf_observe_row(const struct vf_observe_view *s, int32_t camera, int32_t x_q16, int32_t y_q16)
{
    const float y = (float)y_q16 / 65536.0f;
#if VFRONT_RECTIFY
    const struct vf_level *raw = &s->geometry.raw[camera];
    const int32_t step_q16 = VF_REMAP_STEP_PX << 16;
    const int32_t column = (x_q16 + step_q16 / 2) / step_q16, row = (y_q16 + step_q16 / 2) / step_q16;
    if (!s->geometry.rectified) return y;
    const struct vf_remap_entry from = s->rectify->remap[camera][row * VF_REMAP_ENTRIES(raw->width) + column];
    if (from.x == VF_REMAP_INVALID) return y;
    return (float)from.y / (float)VF_REMAP_UNITS + (y - (float)(row * VF_REMAP_STEP_PX));
#else
    (void)s, (void)camera, (void)x_q16;
    return y;
#endif
}

/** Exposure time of a pixel's row minus that of the middle row [s]. */
VF_FN float vf_observe_row_delay(const struct vf_observe_view *s, int32_t camera, int32_t x_q16, int32_t y_q16)
{
    const float row_s = s->geometry.row_s[camera];
    if (row_s == 0.0f) return 0.0f;
    return row_s * (vf_observe_row(s, camera, x_q16, y_q16) - 0.5f * (float)(s->geometry.raw[camera].height - 1));
}

/** Observation of track i of refill's list. two: result of vf_observe_pair_valid(). */
VF_FN struct vf_observation vf_observe_track(const struct vf_observe_view *s, uint32_t i, int two)
{
    const struct vf_feature *f = &s->refill->feature[s->parity][i];
    const struct vf_partner p = vf_partner_of(s->partner, s->geometry.active, i);
    struct vf_observation to;
    memset(&to, 0, sizeof to);
    if (!vf_observe_bearing(s, 0, f->x_q16, f->y_q16, to.bearing)) return to;
    to.id = (uint32_t)f->id;
    to.row_delay_s = vf_observe_row_delay(s, 0, f->x_q16, f->y_q16);
    to.sigma = (float)s->tuning.vio_observation_mpx * 0.001f / s->geometry.focal_px[0];
    if (!two || !(p.disparity_sigma_px > 0.0f)) return to;
    if (!vf_observe_bearing(s, VFRONT_CAMERAS - 1, p.x_q16, p.y_q16, to.stereo_bearing)) return to;
    to.stereo_sigma = p.disparity_sigma_px / s->geometry.focal_px[VFRONT_CAMERAS - 1];
    to.stereo_delay_s = vf_observe_row_delay(s, VFRONT_CAMERAS - 1, p.x_q16, p.y_q16) - to.row_delay_s;
    return to;
}
#endif

#endif
