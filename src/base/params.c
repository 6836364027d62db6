/* SPDX-License-Identifier: MIT */
/* Computes the members of struct vf_geometry that follow from its other members, including the set of active stages. */
#include "params.h"

#include "stage.h"

/** Set of the stages that have work in this configuration: a bit mask by VF_BIT(). */
static uint32_t active_stages(const struct vf_geometry *g, const vfront_tuning_t *t)
{
    const int points = t->select_points > 0, described = points && t->describe;
    const int stereo = described && t->stereo && g->pair.placed, match = described && t->match;
    const int ego = t->ego && g->calibrated[0];
    const int partner = VFRONT_STEREO && t->track_target && t->track_stereo && g->pair.placed;
    const int vio = t->vio && t->track_target && g->calibrated[0];
    const int map = t->map && described && ego && t->track_target;
    int bearing = match;
    for (int32_t i = 0; i < g->cameras; i++) bearing |= g->calibrated[i];
    const int corners = points || t->track_target > 0;
    uint32_t active = VF_BIT(ingest) | VF_BIT(freeze) | VF_BIT(pyramid) | VF_BIT(report);
    if (g->rectified) active |= VF_BIT(rectify);
    if (corners) active |= VF_BIT(detect);
    if (corners && g->searched > 1) active |= VF_BIT(scale);
    if (g->calibrated[0]) active |= VF_BIT(predict);
    if (t->track_target) active |= VF_BIT(track) | VF_BIT(refill);
    if (points) active |= VF_BIT(select);
    if (points && bearing) active |= VF_BIT(bearing);
    if (described) active |= VF_BIT(smooth) | VF_BIT(describe);
    if (stereo) active |= VF_BIT(stereo) | VF_BIT(epipolar);
    if (match) active |= VF_BIT(match);
    if (partner) active |= VF_BIT(partner);
    if (vio) active |= VF_BIT(observe) | VF_BIT(vio);
    if (ego) active |= VF_BIT(ego);
    if (map) active |= VF_BIT(recall) | VF_BIT(relpose) | VF_BIT(keyframe) | VF_BIT(loop) | VF_BIT(map);
    if (t->dense) active |= VF_BIT(dense);
    if (t->dense && t->stixel) active |= VF_BIT(stixel);
    return active;
}

struct vf_stixel_model vf_stixel_model_of(int32_t kind)
{
#define VF_STIXEL_VALUE(name, car, rover, drone)                                                                       \
    .name = kind == VFRONT_STIXEL_DRONE ? (drone) : kind == VFRONT_STIXEL_ROVER ? (rover) : (car),
    const struct vf_stixel_model model = {VFRONT_STIXEL_MODELS(VF_STIXEL_VALUE)};
#undef VF_STIXEL_VALUE
    return model;
}

void vf_geometry_derive(struct vf_geometry *g, const vfront_tuning_t *t)
{
    g->searched = vf_min(vf_min(g->scales, t->detect_levels), VFRONT_SCALES);
    g->groups = t->select_share_percent ? g->searched : 1;
    for (int32_t i = 0; i <= VFRONT_SCALES; i++)
        g->group_first[i] = t->select_share_percent ? g->share[i] : i > 0 ? t->select_points : 0;
    for (int32_t i = 0; i < VFRONT_CAMERAS; i++) {
        g->cells[i] = g->cells_x[i] * g->cells_y[i];
        g->culls[i] = g->culls_x[i] * g->culls_y[i];
        g->cull_slots[i] = g->culls[i] * g->searched;
    }
    g->active = active_stages(g, t);
}
