/* SPDX-License-Identifier: MIT */
#include "core/stages.h"

static struct vf_light_total total_light(const struct vf_step *s, int32_t camera)
{
    const struct vf_level *l = &s->geometry.level[camera][0];
    const int32_t tiles = (l->width + VF_TILE - 1) / VF_TILE * ((l->height + VF_TILE - 1) / VF_TILE);
    struct vf_light_total t = {0, 0, 0, 0};
    for (int32_t i = 0; i < tiles; i++) {
        const struct vf_light *light = &s->memory->pyramid.light[camera][i];
        t.sum += light->sum;
        t.edge += light->edge;
        t.dark += light->dark;
        t.bright += light->bright;
    }
    return t;
}

/** Cells of a camera with a corner. */
static uint32_t count_occupied(const struct vf_step *s, int32_t camera)
{
    uint32_t count = 0;
    for (int32_t cell = 0; cell < vf_cells(&s->geometry, camera); cell++)
        count += s->memory->detect.corner[camera][cell] != 0;
    return count;
}

static void list_keypoints(const struct vf_step *s, int32_t camera, vfront_result_t *out)
{
    const struct vf_select_memory *m = &s->memory->select;
    const int described = vf_described(&s->tuning);
    const uint32_t count = vf_keypoints(s, m->count[camera]);
    out->keypoints_count[camera] = count;
    out->descriptors_count[camera] = described ? count : 0;
    for (uint32_t i = 0; i < count; i++) {
        float angle_rad = 0.0f;
#if VFRONT_DESCRIPTORS
        if (described) {
            angle_rad = s->memory->describe.angle[s->parity][camera][i];
            out->descriptors[camera][i] = s->memory->describe.descriptor[s->parity][camera][i];
        }
#endif
        out->keypoints[camera][i] = vf_report_keypoint(s, camera,
                                                       m->key[camera][vf_slot(s, m->count[camera], (int32_t)i)],
                                                       &s->memory->bearing.point[s->parity][camera][i], angle_rad);
    }
}

static void list_partners(const struct vf_step *s, vfront_result_t *out)
{
    out->depths_count = vf_depths(s);
    out->matches_count = vf_matches(s);
#if VFRONT_STEREO
    memcpy(out->depths, s->memory->stereo.depth, sizeof *out->depths * out->depths_count);
#endif
#if VFRONT_DENSE
    out->disparity.valid = vf_disparities(s);
#endif
#if VFRONT_MATCHES
    memcpy(out->matches, s->memory->match.match, sizeof *out->matches * out->matches_count);
    for (uint32_t i = 0; i < out->matches_count; i++)
        out->matches[i].agrees = (uint16_t)vf_agrees(s, VFRONT_TRACKS + i);
#endif
}

static void list_stixels(const struct vf_step *s, vfront_result_t *out)
{
#if VFRONT_STIXELS
    const struct vf_stixel_memory *m = &s->memory->stixel;
    const int32_t columns = vf_columns(s);
    out->columns_count = (uint32_t)columns;
    out->columns_width_px = (uint32_t)s->tuning.stixel_width_px;
    out->columns_crowded = 0;
    out->road = vf_report_road(s);
    for (int32_t i = 0; i < VFRONT_OBSTACLE_BINS; i++) out->obstacles_cm[i] = vf_report_obstacle(s, i);
    for (int32_t i = 0; i < columns; i++) {
        out->stixels_count[i] = m->segments[i];
        out->columns_crowded += m->crowded[i];
        for (int32_t k = 0; k < m->segments[i]; k++) out->stixels[i][k] = vf_stixel_result(s, &m->segment[i][k]);
    }
#else
    (void)s, (void)out;
#endif
}

void vf_report_host(const struct vf_step *s)
{
    const struct vf_params *params = &s->memory->ingest.params;
    const struct vf_track_memory *m = &s->memory->track;
    const struct vf_refill_memory *r = &s->memory->refill;
    vfront_result_t *out = &s->pinned->result[params->result];
    struct vf_light_total light[VFRONT_CAMERAS];
    uint32_t occupied[VFRONT_CAMERAS] = {0};

    memset(light, 0, sizeof light);
    memset(out->keypoints_count, 0, sizeof out->keypoints_count);
    memset(out->descriptors_count, 0, sizeof out->descriptors_count);
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++) {
        light[camera] = total_light(s, camera);
        occupied[camera] = count_occupied(s, camera);
        list_keypoints(s, camera, out);
    }
    out->t_ns = params->t_ns;
    out->t_mid_ns = params->t_mid_ns;
    out->frame = params->frame;
    out->tracks_count = m->census[s->parity].count;
    out->lost_count = r->lost_count;
    for (uint32_t i = 0; i < out->tracks_count; i++)
        out->tracks[i] = vf_report_track(s, s->memory->bearing.node[0], &m->feature[s->parity][i], vf_agrees(s, i));
    for (uint32_t i = 0; i < out->lost_count; i++) out->lost[i] = vf_report_lost(&m->moved[r->lost[i]]);
    list_partners(s, out);
    vf_motions(s, &out->relative, &out->metric, &out->good);
    list_stixels(s, out);
    out->health = vf_report_health(s, params, r, &s->memory->select, &m->census[s->parity], occupied, light);
    s->pinned->done = params->ticket;
}
