/* SPDX-License-Identifier: MIT */
/* Host form of report. */
#include "report.h"

#include "carry.h"
#include "features/select.h"

/** Brightness statistics of a camera: sums over its tiles. */
static struct vf_brightness_total total_brightness(const struct vf_report_view *s, int32_t camera)
{
    const struct vf_level *l = &s->geometry.level[camera][0];
    const int32_t tiles = (l->width + VF_TILE - 1) / VF_TILE * ((l->height + VF_TILE - 1) / VF_TILE);
    struct vf_brightness_total t = {0, 0, 0, 0};
    for (int32_t i = 0; i < tiles; i++) {
        const struct vf_tile_stats *brightness = &s->pyramid->tile[camera][i];
        t.sum += brightness->sum;
        t.edge += brightness->edge;
        t.dark += brightness->dark;
        t.bright += brightness->bright;
    }
    return t;
}

/** Number of a camera's cells for new tracks that contain a corner. */
static uint32_t count_occupied(const struct vf_report_view *s, int32_t camera)
{
    uint32_t count = 0;
    for (int32_t cell = 0; cell < s->geometry.cells[camera]; cell++)
        count += s->detect->corner[s->parity][camera][cell] != 0;
    return count;
}

/** Writes the key points of a camera into the result without gaps between groups, with angles and descriptors if these
 *  were computed. */
static void list_keypoints(const struct vf_report_view *s, int32_t camera, vfront_result_t *out)
{
    const struct vf_select_memory *m = s->select;
    const int described = vf_report_ran(s, VF_BIT(describe));
    const uint32_t count = vf_keypoints(s->geometry.groups, m->count[camera]);
    out->keypoints_count[camera] = count;
    out->descriptors_count[camera] = described ? count : 0;
    for (uint32_t i = 0; i < count; i++) {
        float angle_rad = 0.0f;
#if VFRONT_DESCRIPTORS
        if (described) {
            angle_rad = s->describe->angle[s->parity][camera][i];
            out->descriptors[camera][i] = s->describe->descriptor[s->parity][camera][i];
        }
#endif
        out->keypoints[camera][i] = vf_report_keypoint(
            s, camera,
            m->key[camera]
                  [vf_keypoint_index(s->geometry.groups, s->geometry.group_first, m->count[camera], (int32_t)i)],
            &s->bearing->point[s->parity][camera][i], angle_rad);
    }
}

/** Writes stereo depths, temporal matches with the motions that each agrees with, and the number of valid disparities
 *  into the result. */
static void list_matches(const struct vf_report_view *s, vfront_result_t *out)
{
    out->depths_count = vf_stereo_count(s->stereo, s->geometry.active);
    out->matches_count = vf_match_count(s->match, s->geometry.active);
#if VFRONT_STEREO
    memcpy(out->depths, s->stereo->depth, sizeof *out->depths * out->depths_count);
#endif
#if VFRONT_DENSE
    out->disparity.valid = vf_dense_valid(s->dense, s->geometry.active);
#endif
#if VFRONT_MATCHES
    memcpy(out->matches, s->match->match, sizeof *out->matches * out->matches_count);
    for (uint32_t i = 0; i < out->matches_count; i++)
        out->matches[i].agrees = (uint16_t)vf_ego_inlier_mask(s->ego, s->geometry.active, VFRONT_TRACKS + i);
#endif
}

/** Writes the input of the estimator's supervisor. */
static void report_vio(const struct vf_report_view *s)
{
#if VFRONT_VIO
    if (vf_report_ran(s, VF_BIT(vio))) {
        memcpy(s->vio_out->summary, s->vio->summary, sizeof s->vio_out->summary);
        memcpy(s->vio_out->nav, s->vio->nav, sizeof s->vio_out->nav);
    }
    s->vio_out->observations = vf_report_observations(s);
    memcpy(s->vio_out->observation, s->observe->observation,
           sizeof *s->vio_out->observation * s->vio_out->observations);
#else
    (void)s;
#endif
}

/** Writes keyframes and loops into the result. */
static void list_loops(const struct vf_report_view *s, vfront_result_t *out)
{
    vf_report_loops(s, out);
#if VFRONT_MAP
    if (out->loops_count) memcpy(out->loops, s->loop->loop, sizeof *out->loops * out->loops_count);
    if (out->loop_pairs_count)
        memcpy(out->loop_pairs, vf_loop_pairs(s->loop, s->relpose), sizeof *out->loop_pairs * out->loop_pairs_count);
#endif
}

/** Writes road, obstacles and the segments of every column into the result. */
static void list_stixels(const struct vf_report_view *s, vfront_result_t *out)
{
#if VFRONT_STIXELS
    const struct vf_stixel_memory *m = s->stixel;
    const int32_t columns = vf_report_columns(s);
    out->columns_count = (uint32_t)columns;
    out->columns_width_px = (uint32_t)s->stixel_tuning.stixel_width_px;
    out->columns_crowded = 0;
    out->road = vf_report_road(s);
    for (int32_t i = 0; i < VFRONT_OBSTACLE_BINS; i++) out->obstacles_cm[i] = vf_report_obstacle(s, i);
    for (int32_t i = 0; i < columns; i++) {
        out->stixels_count[i] = m->segments[i];
        out->columns_crowded += m->crowded[i];
        for (int32_t k = 0; k < m->segments[i]; k++)
            out->stixels[i][k] = vf_stixel_result(&s->stixel_geometry, &m->segment[i][k]);
    }
#else
    (void)s, (void)out;
#endif
}

/** Copies the data that the next frame needs into the mirror, if there is a mirror. Called after report has written its
 *  own members. */
static void mirror_carried(const struct vf_report_view *s)
{
    const uint32_t points = s->bearing->count[s->parity][0], tracks = s->refill->counts[s->parity].count,
                   before = s->ingest->params.frame ? s->refill->counts[s->parity ^ 1].count : 0;
    const int has_state = vf_vio_has_state(s->vio, s->geometry.active),
              is_keyframe = vf_keyframe_due(s->keyframe, s->geometry.active, s->parity);
    (void)has_state, (void)is_keyframe;
    if (!s->mirror) return;
    struct vf_carry *c = &s->mirror->set[s->parity];
#define MIRROR(stage, member, part, extent)                                                                            \
    memcpy(c->stage##_##member, &s->stage->member[s->parity] part,                                                     \
           VF_CARRY_BYTES_##extent(s->stage->member[s->parity] part));
    VF_CARRY(MIRROR)
    VF_CARRY_REPORT(MIRROR)
#undef MIRROR
#define MIRROR(stage, member) memcpy(c->stage##_##member, &s->stage->member, sizeof s->stage->member);
    VF_CARRY_SINGLE(MIRROR)
#undef MIRROR
    for (uint32_t i = 0; i < before; i++) {
        const struct vf_feature *f = &s->refill->feature[s->parity ^ 1][i];
        if (!vf_carry_template_new(f)) continue;
        memcpy(s->mirror->templates[f->template_index], s->track->templates[f->template_index],
               sizeof *s->mirror->templates);
        s->mirror->template_normal[f->template_index] = s->track->template_normal[f->template_index];
    }
}

void vf_report_host(const struct vf_report_view *s)
{
    const struct vf_params *params = &s->ingest->params;
    const struct vf_track_memory *m = s->track;
    const struct vf_refill_memory *r = s->refill;
    vfront_result_t *out = &s->result[params->result];
    struct vf_brightness_total brightness[VFRONT_CAMERAS];
    uint32_t occupied[VFRONT_CAMERAS] = {0};

    memset(brightness, 0, sizeof brightness);
    memset(out->keypoints_count, 0, sizeof out->keypoints_count);
    memset(out->descriptors_count, 0, sizeof out->descriptors_count);
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++) {
        brightness[camera] = total_brightness(s, camera);
        occupied[camera] = count_occupied(s, camera);
        list_keypoints(s, camera, out);
    }
    out->t_ns = params->t_ns;
    out->t_mid_ns = params->t_mid_ns;
    out->frame = params->frame;
    out->tracks_count = r->counts[s->parity].count;
    out->lost_count = r->lost_count;
    for (uint32_t i = 0; i < out->tracks_count; i++)
        out->tracks[i] = vf_report_track(s, s->bearing->node[0], &r->feature[s->parity][i],
                                         vf_ego_inlier_mask(s->ego, s->geometry.active, i),
                                         vf_partner_of(s->partner, s->geometry.active, i));
    for (uint32_t i = 0; i < out->lost_count; i++) out->lost[i] = vf_report_lost(&m->moved[r->lost[i]]);
    list_matches(s, out);
    vf_ego_motions(s->ego, s->geometry.active, s->parity, &out->relative, &out->metric, &out->good);
    vf_predict_result(s->predict, s->geometry.active, &out->predicted);
    vf_vio_result(s->vio, s->geometry.active, &out->nav);
    report_vio(s);
    list_loops(s, out);
    list_stixels(s, out);
    s->report->chain[s->parity] = vf_report_next_chain(s);
    s->report->interval[s->parity] = vf_report_next_interval(s);
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++)
        s->report->running_mean[s->parity][camera] = vf_report_next_running_mean(s, camera, &brightness[camera]);
    out->health = vf_report_health(s, params, &s->report->chain[s->parity], occupied, brightness);
    mirror_carried(s);
    *s->done = params->ticket;
}
