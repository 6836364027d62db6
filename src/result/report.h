/* SPDX-License-Identifier: MIT */
/* report: the result of a step and its health, gathered from the memory of all stages.
 *
 * In      tracks, ended tracks, key points with angles and descriptors, stereo depths, matches, motions, road, stixels
 *         and obstacles, brightness sums, parameters of the frame
 * Out     one vfront_result_t in pinned memory, without `timing`; with the tuning value `failover` a mirror of what the
 *         next step needs, likewise; the ticket of the frame in vf_pinned.done, last of all
 * Rule    lists are copied in the order of their stages; entries behind a list's count keep what they held. State and
 *         reset counter follow the table at vfront_state_t, from this step's counts and motions and the record of the
 *         step before
 * Exact   integers; each float of a result is one integer scaled by a power of two, or a float of another stage
 * Shared  every record (track, ended track, key point, health); the loops are written twice, sums over tiles and cells
 *         are of integers, so that their order does not matter
 * Memory  the result itself, in pinned memory; two records of the path, of the usual light and of the usual interval,
 *         this step's and the previous step's
 */
#ifndef VF_REPORT_H
#define VF_REPORT_H

#include "core/view.h"
#include "depth/dense.h"
#include "depth/stixel.h"
#include "features/bearing.h"
#include "features/describe.h"
#include "geometry/ego.h"
#include "image/freeze.h"
#include "image/ingest.h"
#include "tracking/match.h"
#include "image/pyramid.h"
#include "tracking/refill.h"
#include "geometry/predict.h"
#include "geometry/rows.h"
#include "geometry/stereo.h"
#include "tracking/partner.h"
#include "map/map.h"
#include "state/window.h"
#include "tracking/track.h"

/** Brightness statistics of a whole picture: the sums over the tiles of struct vf_tile_stats (image/pyramid.h). */
struct vf_light_total {
    uint64_t sum, edge;    /* of grey levels; of the four absolute differences within each whole 2x2 */
    uint32_t dark, bright; /* pixels <= 5; pixels >= 250 */
};

/** State of the path that a step leaves to the next one. */
struct vf_path {
    uint32_t losses; /* steps in which the path ended, since init or reset */
    uint32_t breaks; /* health.motion_breaks */
    uint32_t linked; /* 1: tracks are alive, or the motion is known: the next step may go on from here */
    uint32_t metric; /* 1: the metric motion is VFRONT_MOTION_GOOD */
};

/** Light of a camera's pictures, and what is usual for it. */
struct vf_usual_light {
    uint32_t frames;                      /* averaged, at most VF_USUAL_FRAMES */
    uint32_t brightness_q8, sharpness_q8; /* means over them [1/256 grey level] */
};
#define VF_USUAL_FRAMES 8 /* frames over which the usual light is averaged */

/** Usual time between two frames, and what this frame's is beside it. */
struct vf_usual_interval {
    uint32_t frames;           /* averaged, at most VF_USUAL_FRAMES */
    uint32_t us_q4, spread_q4; /* mean, and mean distance from it [1/16 us] */
    uint32_t irregular;        /* health.irregular */
};
#define VF_INTERVAL_PARTS 256 /* least part of the usual interval by which another one is irregular */
#define VF_INTERVAL_SPREADS 5 /* and mean distances */

struct vf_report_memory {
    uint32_t blocks_done; /* kernel: blocks that have finished; 0 between frames */
    uint32_t reserved[7];
    struct vf_path path[2];                         /* [parity] */
    struct vf_usual_light usual[2][VFRONT_CAMERAS]; /* [parity] */
    struct vf_usual_interval interval[2];           /* [parity] */
};

struct vf_carry_mirror;

/* View of report: core/view.h. In pinned memory: result, of three in turn; done, the ticket of the last complete one;
 * clocks_out, a copy of clocks, start and end of each stage; mirror, what the next step needs (result/carry.h), or
 * NULL: nobody wants it. */
/* clang-format off */
#define VF_READS_report(X)                                                                                             \
    X(ingest) X(freeze) X(pyramid) X(predict) X(track) X(detect) X(refill) X(select) X(bearing) X(describe) X(stereo)  \
    X(rows) X(match) X(partner) X(window) X(place) X(overlap) X(ego) X(keyframe) X(loop) X(map) X(dense) X(stixel)
#define VF_BEFORE_report(X)
#define VF_GEOMETRY_report(X)                                                                                          \
    X(cameras) X(level) X(step_q16) X(cells_x) X(cells) X(groups) X(group_first) X(calibrated) X(nodes_x) X(active)
#define VF_TUNING_report(X)                                                                                            \
    X(track_target) X(health_degraded_percent) X(cell_width_px) X(cell_height_px) X(select_points)                     \
    X(first_motion_breaks)
/* clang-format on */
VF_GEOMETRY_OF(report);
VF_TUNING_OF(report);
struct vf_report_view {
    VF_VIEW(report);
    struct vf_report_tuning tuning;
    struct vf_stixel_geometry stixel_geometry; /* those of stixel, for the records of its segments */
    struct vf_stixel_tuning stixel_tuning;
    vfront_result_t *result;
    uint64_t *done;
    const uint64_t (*clocks)[2];
    uint64_t (*clocks_out)[2];
    struct vf_carry_mirror *mirror;
};
VF_HOST_FORM(report);

/** 1 if a stage is part of the step. */
VF_FN int vf_report_ran(const struct vf_report_view *s, uint32_t stage_bit)
{
    return (s->geometry.active & stage_bit) != 0;
}

/** Q16 coordinate as a float [px], rounded to nearest where it has more than 24 significant bits. */
VF_FN float vf_report_px(int32_t q16) { return (float)q16 * (1.0f / 65536.0f); }

/** Track as the result has it. node: bearing grid of camera 0; agrees: motions that its correspondence is an inlier of
 *  (a bit each), 0 for a track without a correspondence; p: its partner. */
VF_FN vfront_track_t vf_report_track(const struct vf_report_view *s, const struct vf_node *node,
                                     const struct vf_feature *f, uint32_t agrees, struct vf_partner p)
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
    vf_bearing_at(node, s->geometry.nodes_x[0], f->x_q16, f->y_q16, t.bearing);
    t.agrees = f->age ? agrees : 0;
    t.partner_x_px = vf_report_px(p.x_q16);
    t.partner_y_px = vf_report_px(p.y_q16);
    t.disparity_px = p.disparity_px;
    t.disparity_sigma_px = p.disparity_sigma_px;
    t.depth_m = p.depth_m;
    t.depth_sigma_m = p.depth_sigma_m;
    for (int i = 0; i < 3; i++) t.bearing[i] = s->geometry.calibrated[0] ? t.bearing[i] : 0.0f;
    return t;
}

/** Ended track as the result has it, at its place in the frame before. One that track has moved was merged by
 *  refill. */
VF_FN vfront_lost_t vf_report_lost(const struct vf_feature *f)
{
    vfront_lost_t l;
    l.id = f->id;
    l.x_px = vf_report_px(f->x_q16 - (f->end ? 0 : f->dx_q16));
    l.y_px = vf_report_px(f->y_q16 - (f->end ? 0 : f->dy_q16));
    l.age = f->end ? f->age : f->age - 1;
    l.end = f->end ? f->end : (uint32_t)VFRONT_END_MERGED;
    return l;
}

/** Key point as the result has it. key: its packed corner from select; point: its bearing; angle_rad: its orientation,
 *  0 if not described. */
VF_FN vfront_keypoint_t vf_report_keypoint(const struct vf_report_view *s, int32_t camera, uint64_t key,
                                           const struct vf_point *point, float angle_rad)
{
    const struct vf_corner c = vf_detect_corner(key);
    const struct vf_position_q16 p = vf_corner_position(s->geometry.step_q16, key);
    const struct vf_pixel_xy at = vf_corner_pixel(s->geometry.step_q16, key);
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

/** 1 if the motion of a step is known, as vfront_state_t defines it. */
VF_FN int vf_report_known(struct vf_motion_states motion)
{
    if (motion.metric != VFRONT_MOTION_NONE) return motion.metric == VFRONT_MOTION_GOOD;
    return motion.relative == VFRONT_MOTION_GOOD || motion.relative == VFRONT_MOTION_ROTATION;
}

/** Path after a step, from that before it. frame: number since init or reset; first_breaks: motion_breaks of its first
 *  step; followed: tracks followed; alive: those, and new ones. */
VF_FN struct vf_path vf_report_path(const struct vf_path *before, uint64_t frame, int32_t first_breaks,
                                    struct vf_motion_states motion, uint32_t followed, uint32_t alive)
{
    const struct vf_path start = {0, (uint32_t)first_breaks, 0, 0};
    const int known = vf_report_known(motion);
    struct vf_path p = frame ? *before : start;
    p.losses += p.linked && !followed && !known;
    p.breaks += p.metric && motion.metric != VFRONT_MOTION_GOOD;
    p.linked = alive || known;
    p.metric = motion.metric == VFRONT_MOTION_GOOD;
    return p;
}

/** Path after this step. */
VF_FN struct vf_path vf_report_next_path(const struct vf_report_view *s)
{
    return vf_report_path(&s->report->path[s->parity ^ 1], s->ingest->params.frame, s->tuning.first_motion_breaks,
                          vf_ego_states(s->ego, s->geometry.active), s->refill->followed,
                          s->refill->counts[s->parity].count);
}

/** Mean brightness and sharpness of a camera's picture, as a usual light of one frame. */
VF_FN struct vf_usual_light vf_report_light(const struct vf_report_view *s, int32_t camera,
                                            const struct vf_light_total *light)
{
    const struct vf_level *l = &s->geometry.level[camera][0];
    const uint64_t pixels = (uint64_t)l->width * (uint64_t)l->height,
                   quads = (uint64_t)(l->width / 2) * (uint64_t)(l->height / 2);
    const struct vf_usual_light now = {1, (uint32_t)(light->sum * 256 / pixels), (uint32_t)(light->edge * 64 / quads)};
    return now;
}

/** Usual light before this step: frames 0 in frame 0. */
VF_FN struct vf_usual_light vf_report_usual(const struct vf_report_view *s, int32_t camera)
{
    const struct vf_usual_light none = {0, 0, 0};
    return s->ingest->params.frame ? s->report->usual[s->parity ^ 1][camera] : none;
}

/** Usual light after this step. It takes in every frame, so that a lasting change becomes usual. */
VF_FN struct vf_usual_light vf_report_next_usual(const struct vf_report_view *s, int32_t camera,
                                                 const struct vf_light_total *light)
{
    const struct vf_usual_light now = vf_report_light(s, camera, light), before = vf_report_usual(s, camera);
    struct vf_usual_light u = before;
    u.frames = (uint32_t)vf_min((int32_t)before.frames + 1, VF_USUAL_FRAMES);
    u.brightness_q8 = vf_running_mean(before.brightness_q8, now.brightness_q8, (int32_t)u.frames);
    u.sharpness_q8 = vf_running_mean(before.sharpness_q8, now.sharpness_q8, (int32_t)u.frames);
    return u;
}

/** 1 if a value is less than `least` or more than `most` percent of the usual one, after `floor` is added to both. */
VF_FN uint32_t vf_report_changed(uint32_t value, uint32_t usual, uint32_t floor, uint32_t least, uint32_t most)
{
    const uint32_t is = (value + floor) * 100, was = usual + floor;
    return is < was * least || is > was * most;
}

/** Usual interval after a step. A lasting change becomes usual; a gap counts as one and a half of the usual interval.
 *  frame: number since init or reset. */
VF_FN struct vf_usual_interval vf_report_interval(const struct vf_usual_interval *before, uint64_t frame,
                                                  uint64_t dt_ns)
{
    const struct vf_usual_interval none = {0, 0, 0, 0};
    struct vf_usual_interval u = frame > 1 ? *before : none;
    if (!frame) return none;
    const uint64_t minute_ns = 60000000000u;
    const uint32_t us_q4 = (uint32_t)((dt_ns < minute_ns ? dt_ns : minute_ns) * 16u / 1000u),
                   mean = u.frames ? u.us_q4 : us_q4, most = mean / 2,
                   apart = us_q4 > mean ? us_q4 - mean : mean - us_q4, near = apart < most ? apart : most;
    u.irregular = u.frames == VF_USUAL_FRAMES && apart > mean / VF_INTERVAL_PARTS &&
                  apart / VF_INTERVAL_SPREADS > u.spread_q4;
    u.frames = (uint32_t)vf_min((int32_t)u.frames + 1, VF_USUAL_FRAMES);
    u.us_q4 = vf_running_mean(mean, us_q4 > mean ? mean + near : mean - near, (int32_t)u.frames);
    u.spread_q4 = vf_running_mean(u.spread_q4, near, (int32_t)u.frames);
    return u;
}

/** Usual interval after this step. */
VF_FN struct vf_usual_interval vf_report_next_interval(const struct vf_report_view *s)
{
    const struct vf_params *p = &s->ingest->params;
    return vf_report_interval(&s->report->interval[s->parity ^ 1], p->frame, p->dt_ns);
}

/** Health from counts and brightness. path: of this step; occupied[]: cells with a corner, light[]: brightness
 *  statistics, one entry a camera. Quality is the percentage of track_target that was followed, 1 to 100; 100 where the
 *  target is 0. */
VF_FN vfront_health_t vf_report_health(const struct vf_report_view *s, const struct vf_params *params,
                                       const struct vf_path *path, const uint32_t occupied[],
                                       const struct vf_light_total light[])
{
    const struct vf_refill_memory *r = s->refill;
    const struct vf_select_memory *k = s->select;
    const uint32_t target = (uint32_t)s->tuning.track_target;
    const int few = r->followed * 100u < target * (uint32_t)s->tuning.health_degraded_percent;
    const int lost = params->frame && path->losses != s->report->path[s->parity ^ 1].losses;
    vfront_health_t h;
    h.quality = target ? (uint32_t)vf_clamp((int32_t)(r->followed * 100u / target), 1, 100) : 100;
    h.state = params->frame == 0   ? VFRONT_STARTING
              : lost               ? VFRONT_LOST
              : params->gap || few ? VFRONT_DEGRADED
                                   : VFRONT_TRACKING;
    h.reset_counter = params->reset_counter + path->losses;
    h.motion_breaks = path->breaks;
    h.followed = r->followed;
    h.born = r->born;
    for (int i = 0; i < VFRONT_ENDS; i++) h.ended[i] = r->ended[i];
    h.overflow = r->overflow;
    h.full = r->overflow ? VFRONT_FULL_TRACKS : 0;
    h.gap = params->gap;
    h.gyro_short = params->gyro_short;
    h.gyro_stuck = params->gyro_stuck;
    h.imu = params->imu | vf_ego_turns_said(s->ego, s->geometry.active, s->parity);
    h.reserved = 0;
    h.imu_late_us = vf_ego_turns_late(s->ego, s->geometry.active, s->parity);
    h.imu_readings = params->imu_readings;
    h.irregular = s->report->interval[s->parity].irregular;
    h.interval_us = s->report->interval[s->parity].us_q4 / 16;
    h.repeated = h.missing = 0;
    h.late = vf_ego_late(s->ego, s->geometry.active, s->parity);
    h.prior_rms_rad = vf_ego_prior_rms(s->ego, s->geometry.active, s->parity);
    h.dt_ns = params->dt_ns;
    const struct vf_pair_health pair = vf_stereo_pair(s->stereo, s->geometry.active, s->parity);
    h.stereo = pair.state;
    h.stereo_permille = pair.permille;
    h.stereo_offset_px = (float)pair.offset_q8 * (1.0f / 256.0f);
    const struct vf_rig_estimate rows = vf_rows_estimate(s->rows, s->geometry.active, s->parity),
                                 disparity = vf_ego_disparity(s->ego, s->geometry.active, s->parity);
    h.rows_offset_px = rows.value;
    h.rows_sigma_px = vf_rig_sigma_px(&rows);
    h.disparity_offset_px = disparity.value;
    h.disparity_sigma_px = vf_ego_disparity_sigma_px(&disparity);
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        const int present = c < s->geometry.cameras;
        const struct vf_level *l = &s->geometry.level[c][0];
        const uint64_t pixels = present ? (uint64_t)l->width * (uint64_t)l->height : 1;
        const struct vf_usual_light none = {0, 0, 0}, now = present ? vf_report_light(s, c, &light[c]) : none,
                                    usual = present ? vf_report_usual(s, c) : none;
        h.cells[c] = present ? (uint32_t)s->geometry.cells[c] : 0;
        h.starved[c] = present && vf_report_ran(s, VF_BIT(detect)) ? h.cells[c] - occupied[c] : 0;
        h.dropped[c] = present ? vf_keypoints(s->geometry.groups, k->dropped[c]) : 0;
        h.full |= h.dropped[c] ? (uint32_t)VFRONT_FULL_KEYPOINTS << c : 0;
        h.brightness_grey[c] = (float)now.brightness_q8 * (1.0f / 256.0f);
        h.sharpness_grey[c] = (float)now.sharpness_q8 * (1.0f / 256.0f);
        h.brightness_changed[c] = usual.frames &&
                                  vf_report_changed(now.brightness_q8, usual.brightness_q8, 256, 65, 150);
        h.sharpness_changed[c] = usual.frames && vf_report_changed(now.sharpness_q8, usual.sharpness_q8, 64, 50, 200);
        h.dark_permille[c] = present ? (uint32_t)((uint64_t)light[c].dark * 1000 / pixels) : 0;
        h.repeated |= (uint32_t)(present && s->freeze->repeated[s->parity][c]) << c;
        h.missing |= (uint32_t)(present && s->ingest->params.source[c].missing) << c;
        h.frozen[c] = present ? s->freeze->frames[s->parity][c] : 0;
        h.bright_permille[c] = present ? (uint32_t)((uint64_t)light[c].bright * 1000 / pixels) : 0;
    }
    return h;
}

/** Counts of keyframes and loops, and the map, into the result. */
VF_FN void vf_report_loops(const struct vf_report_view *s, vfront_result_t *out)
{
    const struct vf_loop_counts counts = vf_loop_count(s->loop, s->keyframe, s->overlap, s->geometry.active, s->parity);
    out->keyframe = counts.keyframe;
    out->keyframes_count = counts.keyframes;
    out->loops_count = counts.loops;
    out->loop_pairs_count = counts.pairs;
    out->loop_pairs_of = counts.of;
    out->reserved = 0;
#if VFRONT_MAP
    vf_map_result(s->map, s->keyframe, s->geometry.active, s->parity, &out->map);
#endif
}

/** Nearest obstacle in a direction as the result has it [cm]. */
VF_FN uint16_t vf_report_obstacle(const struct vf_report_view *s, int32_t bin)
{
#if VFRONT_STIXELS
    const uint32_t cm = vf_report_ran(s, VF_BIT(stixel)) ? s->stixel->nearest_cm[bin] : VF_NONE;
    const int hidden = cm == (uint32_t)s->stixel_tuning.stixel_far_m * 100; /* vf_stixel_hidden_cm() */
    return (uint16_t)(cm < VFRONT_OBSTACLE_UNKNOWN && !hidden ? cm : VFRONT_OBSTACLE_UNKNOWN);
#else
    (void)s, (void)bin;
    return VFRONT_OBSTACLE_UNKNOWN;
#endif
}

#if VFRONT_STIXELS
/** Number of columns that are segmented. */
VF_FN int32_t vf_report_columns(const struct vf_report_view *s)
{
    return vf_report_ran(s, VF_BIT(stixel)) ? vf_stixel_columns(&s->stixel_geometry, &s->stixel_tuning) : 0;
}

/** Road as the result has it. */
VF_FN vfront_road_t vf_report_road(const struct vf_report_view *s)
{
    const vfront_road_t none = {0, 0, 0, 0.0f, 0.0f, 0.0f, 0.0f};
    return vf_report_ran(s, VF_BIT(stixel)) ? vf_stixel_road(&s->stixel_geometry, &s->stixel->road) : none;
}
#endif

#endif
