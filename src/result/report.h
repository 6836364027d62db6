/* SPDX-License-Identifier: MIT */
/* report: result of a frame and its health, collected from the memory of all stages.
 *
 * In      tracks, ended tracks, key points with angles and descriptors, stereo depths, matches, motions, road, stixels
 *         and obstacles, brightness sums, parameters of the frame
 * Out     in pinned memory: one vfront_result_t, without `timing`; the supervisor's input (struct vf_vio_report); with
 *         tuning value `failover` a mirror of what the next frame needs; last of all the ticket of the frame in
 *         vf_pinned.done
 * Rule    lists are copied in the order of their stages. Entries beyond a list's count keep their old content. State
 *         and reset counter follow the table at vfront_health_state_t
 * Exact   integers; each float of a result is an integer scaled by a power of two, or a float of another stage
 * Shared  every record (track, ended track, key point, health). Written twice: the iteration over records, tiles and
 *         cells. Sums over tiles and cells are integers, so their order does not matter
 * Memory  the result, in pinned memory; by parity: records of the motion chain, of running mean brightness and of the
 *         frame interval
 */
#ifndef VF_REPORT_H
#define VF_REPORT_H

#include "base/view.h"
#include "depth/dense.h"
#include "depth/stixel.h"
#include "features/bearing.h"
#include "features/describe.h"
#include "ego/ego.h"
#include "image/freeze.h"
#include "image/ingest.h"
#include "tracking/match.h"
#include "image/pyramid.h"
#include "tracking/refill.h"
#include "ego/predict.h"
#include "geometry/epipolar.h"
#include "geometry/stereo.h"
#include "tracking/partner.h"
#include "map/map.h"
#include "vio/vio.h"
#include "tracking/track.h"

/** Brightness statistics of an image: sums over the tiles of struct vf_tile_stats (image/pyramid.h). */
struct vf_brightness_total {
    uint64_t sum, edge;    /* sum: of grey levels; edge: of the four absolute differences in each whole 2x2 block */
    uint32_t dark, bright; /* numbers of pixels with a grey level <= 5, and >= 250 */
};

/** Continuity of the camera motion, handed to the next frame. */
struct vf_chain {
    uint32_t losses; /* number of frames in which the motion was lost, since init or reset */
    uint32_t breaks; /* vfront_health_t.motion_breaks: counts the ends of good metric motion */
    uint32_t linked; /* 1: tracks are alive or the motion is known, so the next frame can continue */
    uint32_t metric; /* 1: the metric motion of this frame is VFRONT_MOTION_GOOD */
};

/** Running means of a camera's brightness and sharpness. */
struct vf_running_mean_brightness {
    uint32_t frames;                      /* number of frames averaged, at most VF_RUNNING_MEAN_FRAMES */
    uint32_t brightness_q8, sharpness_q8; /* means [1/256 grey level] */
};
#define VF_RUNNING_MEAN_FRAMES 8 /* length of a running mean [frames]: a new value has at least the weight 1/8 */

/** Running mean of the time between frames. */
struct vf_running_mean_interval {
    uint32_t frames;              /* number of intervals averaged, at most VF_RUNNING_MEAN_FRAMES */
    uint32_t us_q4, deviation_q4; /* mean interval, and mean absolute deviation from it [1/16 us] */
    uint32_t irregular;           /* vfront_health_t.irregular: 1: the last interval differs from the mean */
};
/* state VFRONT_DEGRADED: fewer tracks followed than this share of track_target [%] */
#define VF_REPORT_DEGRADED_PERCENT 50u
#define VF_INTERVAL_PARTS 256 /* an irregular frame interval deviates from the mean by more than mean / 256 */
/* an irregular frame interval also deviates from the mean by more than 5 mean absolute deviations */
#define VF_INTERVAL_DEVIATIONS 5

struct vf_report_memory {
    uint32_t blocks_done; /* kernel: number of blocks that have finished this frame; 0 between frames */
    uint32_t reserved[7];
    struct vf_chain chain[2]; /* [parity]: continuity of the motion after the frame of that parity */
    /* [parity][camera]: running means after the frame of that parity */
    struct vf_running_mean_brightness running_mean[2][VFRONT_CAMERAS];
    struct vf_running_mean_interval interval[2]; /* [parity]: mean frame interval after the frame of that parity */
};

struct vf_carry_mirror;

/* View of report (base/view.h). In pinned memory: result, three results used in turn; vio_out, input of the estimator's
 * supervisor; done, ticket of the last complete result; clocks_out, copy of `clocks`, which are start and end of each
 * stage; mirror, data for the next frame (result/carry.h), or NULL without fail-over. */
/* clang-format off */
#define VF_READS_report(X)                                                                                             \
    X(ingest) X(freeze) X(pyramid) X(predict) X(track) X(detect) X(refill) X(select) X(bearing) X(describe) X(stereo)  \
    X(epipolar) X(match) X(partner) X(observe) X(vio) X(recall) X(relpose) X(ego) X(keyframe) X(loop) X(map)           \
    X(dense) X(stixel)
#define VF_BEFORE_report(X)
#define VF_GEOMETRY_report(X)                                                                                          \
    X(cameras) X(level) X(step_q16) X(cells_x) X(cells) X(groups) X(group_first) X(calibrated) X(nodes_x) X(pair)  \
    X(active)
#define VF_TUNING_report(X)                                                                                            \
    X(track_target) X(cell_width_px) X(cell_height_px) X(select_points)                     \
    X(first_counter)
/* clang-format on */
VF_GEOMETRY_OF(report);
VF_TUNING_OF(report);
struct vf_report_view {
    VF_VIEW(report);
    struct vf_report_tuning tuning;
    struct vf_stixel_geometry stixel_geometry; /* geometry of the stage stixel, to convert its segments */
    struct vf_stixel_tuning stixel_tuning;
    vfront_result_t *result;
    struct vf_vio_report *vio_out;
    uint64_t *done;
    const uint64_t (*clocks)[2];
    uint64_t (*clocks_out)[2];
    struct vf_carry_mirror *mirror;
};
VF_HOST_FORM(report);

/** 1 if a stage has work in this configuration. stage_bit: VF_BIT() of the stage. */
VF_FN int vf_report_ran(const struct vf_report_view *s, uint32_t stage_bit)
{
    return (s->geometry.active & stage_bit) != 0;
}

/** Number of observations to copy for the estimator's supervisor: all of them if there is no stereo pair and no
 *  estimator state, else 0. */
VF_FN uint32_t vf_report_observations(const struct vf_report_view *s)
{
#if VFRONT_VIO
    if (vf_report_ran(s, VF_BIT(vio)) && !s->geometry.pair.placed && !vf_vio_has_state(s->vio, s->geometry.active))
        return s->observe->count;
#endif
    (void)s;
    return 0;
}

/** Converts a coordinate [1/65536 px] to a float [px]: exact to 24 significant bits, then rounded to nearest. */
VF_FN float vf_report_px(int32_t q16) { return (float)q16 * (1.0f / 65536.0f); }

/** Track for the result. node: bearing grid of camera 0; agrees: a bit for each motion of which the track is an inlier;
 *  p: position and depth of the track in camera 1. */
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
    t.stereo_x_px = vf_report_px(p.x_q16);
    t.stereo_y_px = vf_report_px(p.y_q16);
    t.disparity_px = p.disparity_px;
    t.disparity_sigma_px = p.disparity_sigma_px;
    t.depth_m = p.depth_m;
    t.depth_sigma_m = p.depth_sigma_m;
    for (int i = 0; i < 3; i++) t.bearing[i] = s->geometry.calibrated[0] ? t.bearing[i] : 0.0f;
    return t;
}

/** Ended track for the result, at its position in the previous frame. A track without end reason was followed into this
 *  frame and then merged by refill. */
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

/** Key point for the result. key: sort key of its corner; point: its bearing; angle_rad: its orientation, 0 if not
 *  described. */
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
    k.low = !c.high;
    for (int i = 0; i < 3; i++) k.bearing[i] = s->geometry.calibrated[camera] ? point->bearing[i] : 0.0f;
    return k;
}

/** 1 if the motion of a frame is known, as defined at vfront_health_state_t. */
VF_FN int vf_report_motion_known(struct vf_motion_states motion)
{
    if (motion.metric != VFRONT_MOTION_NONE) return motion.metric == VFRONT_MOTION_GOOD;
    return motion.relative == VFRONT_MOTION_GOOD || motion.relative == VFRONT_MOTION_ROTATION;
}

/** Continuity of the camera motion after a frame. before: after the previous frame; frame: number since init or reset;
 *  first_breaks: motion_breaks of frame 0; followed: number of tracks followed; alive: number of tracks followed or
 *  new. */
VF_FN struct vf_chain vf_report_chain(const struct vf_chain *before, uint64_t frame, int32_t first_breaks,
                                      struct vf_motion_states motion, uint32_t followed, uint32_t alive)
{
    const struct vf_chain start = {0, (uint32_t)first_breaks, 0, 0};
    const int known = vf_report_motion_known(motion);
    struct vf_chain p = frame ? *before : start;
    p.losses += p.linked && !followed && !known;
    p.breaks += p.metric && motion.metric != VFRONT_MOTION_GOOD;
    p.linked = alive || known;
    p.metric = motion.metric == VFRONT_MOTION_GOOD;
    return p;
}

/** Continuity of the camera motion after this frame. */
VF_FN struct vf_chain vf_report_next_chain(const struct vf_report_view *s)
{
    return vf_report_chain(&s->report->chain[s->parity ^ 1], s->ingest->params.frame, s->tuning.first_counter,
                           vf_ego_states(s->ego, s->geometry.active), s->refill->followed,
                           s->refill->counts[s->parity].count);
}

/** Mean brightness and sharpness of a camera's image, as a running mean of one frame. */
VF_FN struct vf_running_mean_brightness vf_report_brightness(const struct vf_report_view *s, int32_t camera,
                                                             const struct vf_brightness_total *brightness)
{
    const struct vf_level *l = &s->geometry.level[camera][0];
    const uint64_t pixels = (uint64_t)l->width * (uint64_t)l->height,
                   quads = (uint64_t)(l->width / 2) * (uint64_t)(l->height / 2);
    const struct vf_running_mean_brightness now = {1, (uint32_t)(brightness->sum * 256 / pixels),
                                                   (uint32_t)(brightness->edge * 64 / quads)};
    return now;
}

/** Running means of a camera's brightness and sharpness before this frame; `frames` is 0 in frame 0. */
VF_FN struct vf_running_mean_brightness vf_report_running_mean(const struct vf_report_view *s, int32_t camera)
{
    const struct vf_running_mean_brightness none = {0, 0, 0};
    return s->ingest->params.frame ? s->report->running_mean[s->parity ^ 1][camera] : none;
}

/** Running means of a camera's brightness and sharpness after this frame. Every frame counts, so that a lasting change
 *  becomes the mean. */
VF_FN struct vf_running_mean_brightness vf_report_next_running_mean(const struct vf_report_view *s, int32_t camera,
                                                                    const struct vf_brightness_total *brightness)
{
    const struct vf_running_mean_brightness now = vf_report_brightness(s, camera, brightness),
                                            before = vf_report_running_mean(s, camera);
    struct vf_running_mean_brightness u = before;
    u.frames = (uint32_t)vf_min((int32_t)before.frames + 1, VF_RUNNING_MEAN_FRAMES);
    u.brightness_q8 = vf_mean_update(before.brightness_q8, now.brightness_q8, (int32_t)u.frames);
    u.sharpness_q8 = vf_mean_update(before.sharpness_q8, now.sharpness_q8, (int32_t)u.frames);
    return u;
}

/** 1 if value + floor is less than `lower` or more than `upper` percent of running_mean + floor. */
VF_FN uint32_t vf_report_changed(uint32_t value, uint32_t running_mean, uint32_t floor, uint32_t lower, uint32_t upper)
{
    const uint32_t is = (value + floor) * 100, was = running_mean + floor;
    return is < was * lower || is > was * upper;
}

/** Running mean of the frame interval after a frame. Deviations are clipped at half of the mean, so that a gap counts
 *  little and a lasting change becomes the mean. frame: number since init or reset; dt_ns: interval to the previous
 *  frame. */
VF_FN struct vf_running_mean_interval vf_report_interval(const struct vf_running_mean_interval *before, uint64_t frame,
                                                         uint64_t dt_ns)
{
    const struct vf_running_mean_interval none = {0, 0, 0, 0};
    struct vf_running_mean_interval u = frame > 1 ? *before : none;
    if (!frame) return none;
    const uint64_t minute_ns = 60000000000u;
    const uint32_t us_q4 = (uint32_t)((dt_ns < minute_ns ? dt_ns : minute_ns) * 16u / 1000u),
                   mean = u.frames ? u.us_q4 : us_q4, upper = mean / 2,
                   difference = us_q4 > mean ? us_q4 - mean : mean - us_q4,
                   clipped = difference < upper ? difference : upper;
    u.irregular = u.frames == VF_RUNNING_MEAN_FRAMES && difference > mean / VF_INTERVAL_PARTS &&
                  difference / VF_INTERVAL_DEVIATIONS > u.deviation_q4;
    u.frames = (uint32_t)vf_min((int32_t)u.frames + 1, VF_RUNNING_MEAN_FRAMES);
    u.us_q4 = vf_mean_update(mean, us_q4 > mean ? mean + clipped : mean - clipped, (int32_t)u.frames);
    u.deviation_q4 = vf_mean_update(u.deviation_q4, clipped, (int32_t)u.frames);
    return u;
}

/** Running mean of the frame interval after this frame. */
VF_FN struct vf_running_mean_interval vf_report_next_interval(const struct vf_report_view *s)
{
    const struct vf_params *p = &s->ingest->params;
    return vf_report_interval(&s->report->interval[s->parity ^ 1], p->frame, p->dt_ns);
}

/** Health of the frame. chain: continuity after this frame; occupied[camera]: number of cells with a corner;
 *  brightness[camera]: statistics of the image. Quality: tracks followed in percent of track_target, 1 to 100; 100 if
 *  the target is 0. */
VF_FN vfront_health_t vf_report_health(const struct vf_report_view *s, const struct vf_params *params,
                                       const struct vf_chain *chain, const uint32_t occupied[],
                                       const struct vf_brightness_total brightness[])
{
    const struct vf_refill_memory *r = s->refill;
    const struct vf_select_memory *k = s->select;
    const uint32_t target = (uint32_t)s->tuning.track_target;
    const int few = r->followed * 100u < target * VF_REPORT_DEGRADED_PERCENT;
    const int lost = params->frame && chain->losses != s->report->chain[s->parity ^ 1].losses;
    vfront_health_t h;
    h.quality = target ? (uint32_t)vf_clamp((int32_t)(r->followed * 100u / target), 1, 100) : 100;
    h.state = params->frame == 0   ? VFRONT_STARTING
              : lost               ? VFRONT_LOST
              : params->gap || few ? VFRONT_DEGRADED
                                   : VFRONT_TRACKING;
    h.reset_counter = params->reset_counter + chain->losses;
    h.motion_breaks = chain->breaks;
    h.followed = r->followed;
    h.born = r->born;
    for (int i = 0; i < VFRONT_ENDS; i++) h.ended[i] = r->ended[i];
    h.overflow = r->overflow;
    h.full = r->overflow ? VFRONT_FULL_TRACKS : 0;
    h.gap = params->gap;
    h.gyro_short = params->gyro_short;
    h.gyro_stuck = params->gyro_stuck;
    h.imu = params->imu | vf_ego_imu_faults(s->ego, s->geometry.active, s->parity);
    h.calibration = 0;
    h.imu_late_us = vf_ego_imu_late_us(s->ego, s->geometry.active, s->parity);
    h.imu_samples = params->imu_samples;
    h.irregular = s->report->interval[s->parity].irregular;
    h.interval_us = s->report->interval[s->parity].us_q4 / 16;
    h.repeated = h.missing = 0;
    h.late = vf_ego_late(s->ego, s->geometry.active, s->parity);
    h.prior_rms_rad = params->rotation_rms_rad;
    h.dt_ns = params->dt_ns;
    const struct vf_pair_health pair = vf_stereo_pair(s->stereo, s->geometry.active, s->parity);
    h.stereo = pair.state;
    h.stereo_permille = pair.permille;
    h.stereo_offset_px = pair.offset_px;
    const struct vf_rig_estimate epipolar = vf_epipolar_estimate(s->epipolar, s->geometry.active, s->parity),
                                 disparity = vf_ego_disparity(s->ego, s->geometry.active, s->parity);
    h.epipolar_offset_px = epipolar.value;
    h.epipolar_sigma_px = vf_rig_sigma_px(&epipolar);
    h.disparity_offset_px = disparity.value;
    h.disparity_sigma_px = vf_ego_disparity_sigma_px(&disparity);
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        const int present = c < s->geometry.cameras;
        const struct vf_level *l = &s->geometry.level[c][0];
        const uint64_t pixels = present ? (uint64_t)l->width * (uint64_t)l->height : 1;
        const struct vf_running_mean_brightness none = {0, 0, 0},
                                                now = present ? vf_report_brightness(s, c, &brightness[c]) : none,
                                                running_mean = present ? vf_report_running_mean(s, c) : none;
        h.cells[c] = present ? (uint32_t)s->geometry.cells[c] : 0;
        h.starved[c] = present && vf_report_ran(s, VF_BIT(detect)) ? h.cells[c] - occupied[c] : 0;
        h.dropped[c] = present ? vf_keypoints(s->geometry.groups, k->dropped[c]) : 0;
        h.full |= h.dropped[c] ? (uint32_t)VFRONT_FULL_KEYPOINTS << c : 0;
        h.brightness_grey[c] = (float)now.brightness_q8 * (1.0f / 256.0f);
        h.sharpness_grey[c] = (float)now.sharpness_q8 * (1.0f / 256.0f);
        h.brightness_changed[c] = running_mean.frames &&
                                  vf_report_changed(now.brightness_q8, running_mean.brightness_q8, 256, 65, 150);
        h.sharpness_changed[c] = running_mean.frames &&
                                 vf_report_changed(now.sharpness_q8, running_mean.sharpness_q8, 64, 50, 200);
        h.dark_permille[c] = present ? (uint32_t)((uint64_t)brightness[c].dark * 1000 / pixels) : 0;
        h.repeated |= (uint32_t)(present && s->freeze->repeated[s->parity][c]) << c;
        h.missing |= (uint32_t)(present && s->ingest->params.source[c].missing) << c;
        h.frozen[c] = present ? s->freeze->frames[s->parity][c] : 0;
        h.bright_permille[c] = present ? (uint32_t)((uint64_t)brightness[c].bright * 1000 / pixels) : 0;
    }
    return h;
}

/** Writes keyframe and loop counts and the map into the result. */
VF_FN void vf_report_loops(const struct vf_report_view *s, vfront_result_t *out)
{
    const struct vf_loop_counts counts = vf_loop_count(s->loop, s->keyframe, s->relpose, s->geometry.active, s->parity);
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

/** Nearest obstacle in a direction (bin) for the result [cm]; VFRONT_OBSTACLE_UNKNOWN if not known. */
VF_FN uint16_t vf_report_obstacle(const struct vf_report_view *s, int32_t bin)
{
#if VFRONT_STIXELS
    const uint32_t cm = vf_report_ran(s, VF_BIT(stixel)) ? s->stixel->nearest_cm[bin] : VF_NONE;
    /* this value is vf_stixel_hidden_cm(), which means that objects may be hidden */
    const int hidden = cm == (uint32_t)s->stixel_tuning.stixel_far_m * 100;
    return (uint16_t)(cm < VFRONT_OBSTACLE_UNKNOWN && !hidden ? cm : VFRONT_OBSTACLE_UNKNOWN);
#else
    (void)s, (void)bin;
    return VFRONT_OBSTACLE_UNKNOWN;
#endif
}

#if VFRONT_STIXELS
/** Number of stixel columns in the result; 0 if the stage stixel has no work. */
VF_FN int32_t vf_report_columns(const struct vf_report_view *s)
{
    return vf_report_ran(s, VF_BIT(stixel)) ? vf_stixel_columns(&s->stixel_geometry, &s->stixel_tuning) : 0;
}

/** Road for the result; all members 0 if the stage stixel has no work. */
VF_FN vfront_road_t vf_report_road(const struct vf_report_view *s)
{
    const vfront_road_t none = {0, 0, 0, 0.0f, 0.0f, 0.0f, 0.0f};
    return vf_report_ran(s, VF_BIT(stixel)) ? vf_stixel_road(&s->stixel_geometry, &s->stixel->road) : none;
}
#endif

#endif
