/* SPDX-License-Identifier: MIT */
/* sight: tracks and their partners as bearings with deviations, for the window.
 *
 * In      features of this frame (refill), their partners, grids of bearings, agreement of both cameras
 * Out     a sight for each of the oldest VF_WINDOW_SIGHTS tracks, in their order; their number
 * Rule    A picture of camera 0 that is frozen, or equals an older one, or follows one that was late, shows nothing of
 *         this time: no sights. One of camera 1, or cameras that do not agree: no partners. A track without a bearing
 *         has id 0. Rolling shutter: time of the row of the raw picture beside that of the middle row; of a
 *         rectified pixel that of the next entry of the remap table. Deviations: window_sight_mpx, and that of the
 *         partner's disparity, over the focal length
 * Exact   single precision in one order, as bearings are
 * Shared  vf_sight_of() serves host form and kernel
 * Memory  44 bytes a sight
 */
#ifndef VF_SIGHT_H
#define VF_SIGHT_H

#include "camera/rectify.h"
#include "features/bearing.h"
#include "geometry/stereo.h"
#include "image/freeze.h"
#include "tracking/partner.h"
#include "tracking/refill.h"
#include "window_state.h"

struct vf_sight_memory {
#if VFRONT_WINDOW
    struct vf_sight sight[VF_WINDOW_SIGHTS]; /* out */
    uint32_t count, reserved;                /* out */
#else
    uint64_t nothing;
#endif
};

/* View of sight: core/view.h. */
/* clang-format off */
#define VF_READS_sight(X) X(ingest) X(freeze) X(rectify) X(refill) X(bearing) X(stereo) X(partner)
#define VF_BEFORE_sight(X)
#define VF_GEOMETRY_sight(X) X(focal_px) X(nodes_x) X(row_s) X(raw) X(rectified) X(active)
#define VF_TUNING_sight(X) X(window_sight_mpx)
/* clang-format on */
VF_GEOMETRY_OF(sight);
VF_TUNING_OF(sight);
struct vf_sight_view {
    VF_VIEW(sight);
    struct vf_sight_tuning tuning;
};
VF_HOST_FORM(sight);

#if VFRONT_WINDOW
/** Number of sights. */
VF_FN uint32_t vf_sight_count(const struct vf_sight_view *s)
{
    const uint32_t count = s->refill->counts[s->parity].count;
    if (s->ingest->params.late || vf_freeze_stale(s->freeze, s->parity, 0)) return 0;
    return count < VF_WINDOW_SIGHTS ? count : VF_WINDOW_SIGHTS;
}

/** 1 if camera 1's pictures are of this time and place, and have been for VF_PAIR_DOUBT frames: pictures of another
 *  time are off their lines in some motions alone. Cameras of which nothing says how they agree (tuning `stereo` 0) are
 *  taken to. */
VF_FN int vf_sight_two(const struct vf_sight_view *s)
{
    const struct vf_pair_health pair = vf_stereo_pair(s->stereo, s->geometry.active, s->parity);
    return VFRONT_CAMERAS > 1 && (pair.state == VFRONT_STEREO_GOOD || pair.state == VFRONT_STEREO_NONE) &&
           !pair.doubt && !vf_freeze_stale(s->freeze, s->parity, VFRONT_CAMERAS - 1);
}

/** Bearing of a place in a camera's picture. Returns 0 if the lens has none. */
VF_FN int vf_sight_bearing(const struct vf_sight_view *s, int32_t camera, int32_t x_q16, int32_t y_q16, float out[3])
{
    vf_bearing_at(s->bearing->node[camera], s->geometry.nodes_x[camera], x_q16, y_q16, out);
    return vf_dot(out, out) > 0.0f;
}

/** Row of a camera's raw picture from which a place comes [px]. */
VF_FN float vf_sight_row(const struct vf_sight_view *s, int32_t camera, int32_t x_q16, int32_t y_q16)
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

/** Time by which the row of a place is exposed later than the middle row [s]. */
VF_FN float vf_sight_late(const struct vf_sight_view *s, int32_t camera, int32_t x_q16, int32_t y_q16)
{
    const float row_s = s->geometry.row_s[camera];
    if (row_s == 0.0f) return 0.0f;
    return row_s * (vf_sight_row(s, camera, x_q16, y_q16) - 0.5f * (float)(s->geometry.raw[camera].height - 1));
}

/** Sight of the track in place i of refill's list. two: of vf_sight_two(). */
VF_FN struct vf_sight vf_sight_of(const struct vf_sight_view *s, uint32_t i, int two)
{
    const struct vf_feature *f = &s->refill->feature[s->parity][i];
    const struct vf_partner p = vf_partner_of(s->partner, s->geometry.active, i);
    struct vf_sight to;
    memset(&to, 0, sizeof to);
    if (!vf_sight_bearing(s, 0, f->x_q16, f->y_q16, to.bearing)) return to;
    to.id = (uint32_t)f->id;
    to.late_s = vf_sight_late(s, 0, f->x_q16, f->y_q16);
    to.sigma = (float)s->tuning.window_sight_mpx * 0.001f / s->geometry.focal_px[0];
    if (!two || !(p.disparity_sigma_px > 0.0f)) return to;
    if (!vf_sight_bearing(s, VFRONT_CAMERAS - 1, p.x_q16, p.y_q16, to.other)) return to;
    to.other_sigma = p.disparity_sigma_px / s->geometry.focal_px[VFRONT_CAMERAS - 1];
    to.later_s = vf_sight_late(s, VFRONT_CAMERAS - 1, p.x_q16, p.y_q16) - to.late_s;
    return to;
}
#endif

#endif
