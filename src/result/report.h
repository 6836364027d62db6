/* SPDX-License-Identifier: MIT */
/* report: the result of a step and its health.
 *
 * In      features, ended features, key points with angles and descriptors, sums of light, parameters
 * Out     one vfront_result_t in pinned memory, without `timing`; the ticket of the frame in vf_pinned.done, last of all
 * Exact   integers; each float of a result is one integer scaled by a power of two
 * Memory  the result itself; one clock pair a stage
 */
#ifndef VF_REPORT_H
#define VF_REPORT_H

#include "features/bearing.h"
#include "features/describe.h"
#include "geometry/ego.h"
#include "image/ingest.h"
#include "tracking/match.h"
#include "image/pyramid.h"
#include "tracking/refill.h"
#include "geometry/stereo.h"
#include "tracking/track.h"

/** Sums of light of a whole picture. */
struct vf_light_total {
    uint64_t sum, edge;
    uint32_t dark, bright;
};

struct vf_report_memory {
    uint64_t clock[VFRONT_STAGES]
                  [2]; /* first and last work of each stage, ns of the device's clock; not part of the bits */
    uint32_t arrived;  /* blocks of the kernel that are done */
    uint32_t reserved[15];
};

/** A Q16 coordinate as a float: rounds to nearest where it has more than 24 significant bits. */
VF_FN float vf_report_px(int32_t q16) { return (float)q16 * (1.0f / 65536.0f); }

/** `node`: the grid of bearings of camera 0. */
VF_FN vfront_track_t vf_report_track(const struct vf_step *s, const struct vf_node *node, const struct vf_feature *f,
                                     uint32_t agrees)
{
    vfront_track_t t;
    t.id = f->id;
    t.x_px = vf_report_px(f->x_q16);
    t.y_px = vf_report_px(f->y_q16);
    t.dx_px = vf_report_px(f->dx_q16);
    t.dy_px = vf_report_px(f->dy_q16);
    t.gain = (float)(f->alpha_q14 + 16384) * (1.0f / 16384.0f);
    t.offset_grey = (float)f->offset_q5 * (1.0f / 32.0f);
    t.residual_grey = (float)f->residual_q3 * (1.0f / 8.0f);
    t.age = f->age;
    t.level = f->level;
    t.score = f->score;
    vf_bearing_at(s, node, 0, f->x_q16, f->y_q16, t.bearing);
    t.agrees = f->age ? agrees : 0;
    for (int i = 0; i < 3; i++) t.bearing[i] = s->geometry.calibrated[0] ? t.bearing[i] : 0.0f;
    return t;
}

VF_FN vfront_lost_t vf_report_lost(const struct vf_feature *f)
{
    vfront_lost_t l;
    l.id = f->id;
    l.x_px = vf_report_px(f->x_q16);
    l.y_px = vf_report_px(f->y_q16);
    l.age = f->age;
    l.end = f->end;
    return l;
}

VF_FN vfront_keypoint_t vf_report_keypoint(const struct vf_step *s, int32_t camera, uint64_t key,
                                           const struct vf_point *point, float angle_rad)
{
    const struct vf_corner c = vf_detect_corner(key);
    const struct vf_place p = vf_detect_place(&s->geometry, key);
    const struct vf_pixel at = vf_select_pixel(&s->geometry, key);
    vfront_keypoint_t k;
    k.x_px = vf_report_px(p.x_q16);
    k.y_px = vf_report_px(p.y_q16);
    k.angle_rad = angle_rad;
    k.score = c.score;
    k.cell = (uint16_t)(at.y / s->tuning.cell_height_px * s->geometry.cells_x[camera] + at.x / s->tuning.cell_width_px);
    k.level = (uint8_t)c.level;
    k.weak = !c.strong;
    for (int i = 0; i < 3; i++) k.bearing[i] = s->geometry.calibrated[camera] ? point->bearing[i] : 0.0f;
    return k;
}

/** Health from the counts; occupied[], the cells with a corner, and light[] hold one entry a camera. Where nothing is to be tracked,
 *  nothing can fail to be: quality is 100. */
VF_FN vfront_health_t vf_report_health(const struct vf_step *s, const struct vf_params *params,
                                       const struct vf_refill_memory *r, const struct vf_select_memory *k,
                                       const struct vf_census *census, const uint32_t occupied[],
                                       const struct vf_light_total light[])
{
    const uint32_t had = r->followed + r->lost_count, target = (uint32_t)s->tuning.track_target;
    const int few = r->followed * 100u < target * (uint32_t)s->tuning.health_degraded_percent;
    vfront_health_t h;
    h.reserved = 0;
    h.quality = target ? (uint32_t)vf_clamp((int32_t)(r->followed * 100u / target), 1, 100) : 100;
    h.state = params->frame == 0            ? VFRONT_STARTING
              : had > 0 && r->followed == 0 ? VFRONT_LOST
              : params->gap || few          ? VFRONT_DEGRADED
                                            : VFRONT_TRACKING;
    h.reset_counter = params->reset_counter + census->losses;
    h.followed = r->followed;
    h.born = r->born;
    for (int i = 0; i < VFRONT_ENDS; i++) h.ended[i] = r->ended[i];
    h.overflow = r->overflow;
    h.full = r->overflow ? VFRONT_FULL_TRACKS : 0;
    h.gap = params->gap;
    h.dt_ns = params->dt_ns;
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        const int there = c < s->geometry.cameras;
        const struct vf_level *l = &s->geometry.level[c][0];
        const uint64_t pixels = there ? (uint64_t)l->width * (uint64_t)l->height : 1;
        const uint64_t quads = there ? (uint64_t)(l->width / 2) * (uint64_t)(l->height / 2) : 1;
        h.cells[c] = there ? (uint32_t)vf_cells(&s->geometry, c) : 0;
        h.starved[c] = there ? h.cells[c] - occupied[c] : 0;
        h.dropped[c] = there ? vf_keypoints(s, k->dropped[c]) : 0;
        h.full |= h.dropped[c] ? (uint32_t)VFRONT_FULL_KEYPOINTS << c : 0;
        h.brightness_grey[c] = there ? (float)(uint32_t)(light[c].sum * 256 / pixels) * (1.0f / 256.0f) : 0.0f;
        h.sharpness_grey[c] = there ? (float)(uint32_t)(light[c].edge * 64 / quads) * (1.0f / 256.0f) : 0.0f;
        h.dark_permille[c] = there ? (uint32_t)((uint64_t)light[c].dark * 1000 / pixels) : 0;
        h.bright_permille[c] = there ? (uint32_t)((uint64_t)light[c].bright * 1000 / pixels) : 0;
    }
    return h;
}

#endif
