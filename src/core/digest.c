/* SPDX-License-Identifier: MIT */
#include "base/vf.h"

/** Adds the low `bytes` bytes of a number to an FNV-1a digest, low byte first, so that the digest does not depend on
 *  the byte order of the machine. */
static uint64_t mix_number(uint64_t digest, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++) digest = (digest ^ (number >> (8 * i) & 255)) * 0x100000001b3ull;
    return digest;
}

static uint64_t mix_float(uint64_t digest, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return mix_number(digest, bits, 4);
}

static uint64_t mix_health(uint64_t d, const vfront_health_t *h)
{
    d = mix_number(d, h->state, 4);
    d = mix_number(d, h->quality, 4);
    d = mix_number(d, h->motion_breaks, 4);
    d = mix_number(d, h->followed, 4);
    d = mix_number(d, h->born, 4);
    for (int i = 0; i < VFRONT_ENDS; i++) d = mix_number(d, h->ended[i], 4);
    d = mix_number(d, h->overflow, 4);
    d = mix_number(d, h->full, 4);
    for (int c = 0; c < VFRONT_CAMERAS; c++) d = mix_number(d, h->dropped[c], 4);
    d = mix_number(d, h->gap, 4);
    d = mix_number(d, h->gyro_short, 4);
    d = mix_number(d, h->gyro_stuck, 4);
    if (h->imu | h->imu_samples) {
        d = mix_number(mix_number(d, h->imu, 4), h->imu_samples, 4);
        d = mix_number(mix_number(d, (uint32_t)h->imu_late_us, 4), h->calibration, 4);
    }
    d = mix_number(d, h->irregular, 4);
    d = mix_number(d, h->interval_us, 4);
    d = mix_number(d, h->repeated, 4);
    d = mix_number(d, h->missing, 4);
    d = mix_number(d, h->late, 4);
    d = mix_float(d, h->prior_rms_rad);
    for (int c = 0; c < VFRONT_CAMERAS; c++) d = mix_number(d, h->frozen[c], 4);
    d = mix_number(d, h->stereo, 4);
    d = mix_number(d, h->stereo_permille, 4);
    d = mix_float(d, h->stereo_offset_px);
    d = mix_float(d, h->epipolar_offset_px);
    d = mix_float(d, h->epipolar_sigma_px);
    d = mix_float(d, h->disparity_offset_px);
    d = mix_float(d, h->disparity_sigma_px);
    d = mix_number(d, h->dt_ns, 8);
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        d = mix_number(d, h->cells[c], 4);
        d = mix_number(d, h->starved[c], 4);
        d = mix_float(d, h->brightness_grey[c]);
        d = mix_float(d, h->sharpness_grey[c]);
        d = mix_number(d, h->brightness_changed[c], 4);
        d = mix_number(d, h->sharpness_changed[c], 4);
        d = mix_number(d, h->dark_permille[c], 4);
        d = mix_number(d, h->bright_permille[c], 4);
    }
    return d;
}

static uint64_t mix_track(uint64_t d, const vfront_track_t *t)
{
    d = mix_number(d, t->id, 8);
    d = mix_float(d, t->x_px);
    d = mix_float(d, t->y_px);
    d = mix_float(d, t->dx_px);
    d = mix_float(d, t->dy_px);
    d = mix_float(d, t->gain);
    d = mix_float(d, t->offset_grey);
    d = mix_float(d, t->residual_grey);
    d = mix_number(d, t->age, 4);
    d = mix_number(d, t->level, 4);
    d = mix_number(d, t->score, 4);
    for (int i = 0; i < 3; i++) d = mix_float(d, t->bearing[i]);
    d = mix_number(d, t->agrees, 4);
    d = mix_float(mix_float(d, t->stereo_x_px), t->stereo_y_px);
    d = mix_float(mix_float(d, t->disparity_px), t->disparity_sigma_px);
    return mix_float(mix_float(d, t->depth_m), t->depth_sigma_m);
}

static uint64_t mix_lost(uint64_t d, const vfront_lost_t *l)
{
    d = mix_number(d, l->id, 8);
    d = mix_float(d, l->x_px);
    d = mix_float(d, l->y_px);
    d = mix_number(d, l->age, 4);
    return mix_number(d, l->end, 4);
}

static uint64_t mix_keypoint(uint64_t d, const vfront_keypoint_t *k)
{
    d = mix_float(d, k->x_px);
    d = mix_float(d, k->y_px);
    d = mix_float(d, k->angle_rad);
    d = mix_number(d, k->score, 4);
    d = mix_number(d, k->cell, 2);
    d = mix_number(d, k->level, 1);
    d = mix_number(d, k->low, 1);
    for (int i = 0; i < 3; i++) d = mix_float(d, k->bearing[i]);
    return d;
}

#if VFRONT_DESCRIPTORS
static uint64_t mix_descriptor(uint64_t d, const vfront_descriptor_t *descriptor)
{
    for (int i = 0; i < 8; i++) d = mix_number(d, descriptor->word[i], 4);
    return d;
}
#endif

static uint64_t mix_motion(uint64_t d, const vfront_motion_t *m)
{
    const uint32_t number[] = {m->state, m->flags, m->pairs, m->inliers, m->others, m->hypotheses, m->needed};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) d = mix_number(d, number[i], 4);
    d = mix_float(d, m->rms_px);
    d = mix_float(d, m->parallax_px);
    d = mix_number(d, m->frame, 8);
    for (int i = 0; i < 9; i++) d = mix_float(d, m->R[i]);
    for (int i = 0; i < 3; i++) d = mix_float(d, m->t[i]);
    for (int i = 0; i < 21; i++) d = mix_float(d, m->covariance[i]);
    return d;
}

static uint64_t mix_prediction(uint64_t d, const vfront_prediction_t *p)
{
    d = mix_number(d, p->source, 4);
    for (int i = 0; i < 9; i++) d = mix_float(d, p->R[i]);
    for (int i = 0; i < 3; i++) d = mix_float(d, p->t[i]);
    for (int i = 0; i < 21; i++) d = mix_float(d, p->covariance[i]);
    return d;
}

static uint64_t mix_doubles(uint64_t d, const double *value, int n)
{
    uint64_t bits;
    for (int i = 0; i < n; i++) {
        memcpy(&bits, &value[i], sizeof bits);
        d = mix_number(d, bits, 8);
    }
    return d;
}

static uint64_t mix_nav(uint64_t d, const vfront_nav_t *n)
{
    d = mix_number(mix_number(d, n->t_ns, 8), n->age_ns, 8);
    d = mix_doubles(mix_doubles(d, n->position_m, 3), n->velocity_mps, 3);
    d = mix_doubles(d, n->q_odom_imu, 4);
    d = mix_doubles(mix_doubles(d, n->gyro_bias_rad_s, 3), n->accel_bias_m_s2, 3);
    d = mix_doubles(d, n->covariance, 120);
    d = mix_doubles(mix_doubles(mix_doubles(d, &n->offset_s, 1), &n->offset_sigma_s, 1), &n->residual_mean_square, 1);
    d = mix_number(mix_number(mix_number(d, n->flags, 4), n->state, 4), n->landmarks, 4);
    d = mix_number(mix_number(mix_number(d, n->quality, 4), n->reset_counter, 4), n->protection, 4);
    return mix_doubles(mix_doubles(mix_doubles(d, n->protection_level_m, 3), n->protection_level_rad, 3),
                       n->protection_level_mps, 3);
}

/** Of the tests that were made. */
static uint64_t mix_innovations(uint64_t d, const vfront_innovation_t *test)
{
    for (int i = 0; i < VFRONT_TESTS; i++)
        if (test[i].test_ratio > 0.0) {
            d = mix_doubles(mix_doubles(mix_number(d, (uint64_t)i, 4), test[i].value, 9), test[i].variance, 9);
            d = mix_doubles(d, &test[i].test_ratio, 1);
        }
    return d;
}

#if VFRONT_STEREO
static uint64_t mix_depth(uint64_t d, const vfront_depth_t *p)
{
    d = mix_number(d, p->keypoint, 2);
    d = mix_number(d, p->match, 2);
    d = mix_number(d, p->distance, 2);
    d = mix_float(d, p->x_px);
    d = mix_float(d, p->y_px);
    d = mix_float(d, p->depth_m);
    return mix_float(d, p->sigma_m);
}
#endif

#if VFRONT_MATCHES
static uint64_t mix_match(uint64_t d, const vfront_match_t *m)
{
    d = mix_number(d, m->keypoint, 2);
    d = mix_number(d, m->before, 2);
    d = mix_number(d, m->distance, 2);
    d = mix_number(d, m->second, 2);
    d = mix_number(d, m->agrees, 2);
    d = mix_number(d, m->refined, 2);
    d = mix_float(d, m->x_px);
    d = mix_float(d, m->y_px);
    for (int k = 0; k < 3; k++) d = mix_float(d, m->bearing[k]);
    d = mix_float(d, m->x_before_px);
    d = mix_float(d, m->y_before_px);
    d = mix_number(d, m->id, 4);
    return mix_number(d, m->age, 4);
}
#endif

#if VFRONT_MAP
static uint64_t mix_map(uint64_t d, const vfront_map_t *m)
{
    d = mix_doubles(mix_doubles(d, m->position_m, 3), m->q_odom_cam, 4);
    d = mix_doubles(mix_doubles(d, m->t_map_odom_m, 3), m->q_map_odom, 4);
    d = mix_doubles(mix_doubles(d, &m->sigma_m, 1), &m->sigma_rad, 1);
    return mix_number(mix_number(mix_number(mix_number(d, m->state, 4), m->counter, 4), m->nodes, 4), m->loops, 4);
}

static uint64_t mix_loop(uint64_t d, const vfront_loop_t *l)
{
    d = mix_number(mix_number(mix_number(mix_number(d, l->frame, 8), l->t_ns, 8), l->state, 4), l->kind, 4);
    d = mix_number(mix_number(mix_number(d, l->pairs, 4), l->inliers, 4), l->agreeing, 4);
    if (l->loaded) d = mix_number(d, l->loaded, 4);
    d = mix_float(d, l->parallax_rad);
    for (int k = 0; k < 9; k++) d = mix_float(d, l->R[k]);
    for (int k = 0; k < 3; k++) d = mix_float(d, l->t[k]);
    for (int k = 0; k < 21; k++) d = mix_float(d, l->covariance[k]);
    return d;
}

/** Adds keyframes, loop closures and map pose of a result to the digest d, if there are keyframes. */
static uint64_t mix_loops(uint64_t d, const vfront_result_t *r)
{
    if (!r->keyframes_count) return d;
    d = mix_number(mix_number(mix_number(d, r->keyframe, 4), r->keyframes_count, 4), r->loops_count, 4);
    for (uint32_t i = 0; i < r->loops_count; i++) d = mix_loop(d, &r->loops[i]);
    d = mix_number(mix_number(d, r->loop_pairs_count, 4), r->loop_pairs_of, 4);
    for (uint32_t i = 0; i < r->loop_pairs_count; i++) {
        const vfront_loop_pair_t *p = &r->loop_pairs[i];
        d = mix_number(mix_number(mix_number(mix_number(d, p->keypoint, 2), p->before, 2), p->distance, 2), p->inlier,
                       2);
    }
    return mix_map(d, &r->map);
}
#endif

#if VFRONT_DENSE
static uint64_t mix_disparity(uint64_t d, const vfront_disparity_t *p)
{
    d = mix_number(d, p->valid, 4);
    for (int32_t y = 0; p->px16 && y < p->height_px; y++)
        for (int32_t x = 0; x < p->width_px; x++) {
            const size_t at = (size_t)y * (size_t)p->pitch + (size_t)x;
            d = mix_number(mix_number(d, p->px16[at], 2), p->confidence[at], 1);
        }
    return d;
}
#endif

#if VFRONT_STIXELS
static uint64_t mix_stixels(uint64_t d, const vfront_result_t *r)
{
    d = mix_number(d, r->road.state, 4);
    d = mix_number(d, r->road.votes, 4);
    d = mix_number(d, r->road.unseen, 4);
    d = mix_float(mix_float(d, r->road.horizon_px), r->road.slope);
    d = mix_float(mix_float(d, r->road.pitch_rad), r->road.height_m);
    d = mix_number(mix_number(mix_number(d, r->columns_count, 4), r->columns_width_px, 4), r->columns_crowded, 4);
    for (int i = 0; i < VFRONT_OBSTACLE_BINS; i++) d = mix_number(d, r->obstacles_cm[i], 2);
    for (uint32_t i = 0; i < r->columns_count; i++) {
        d = mix_number(d, r->stixels_count[i], 2);
        for (uint32_t k = 0; k < r->stixels_count[i]; k++) {
            const vfront_stixel_t *t = &r->stixels[i][k];
            d = mix_number(mix_number(mix_number(d, t->base_px, 2), t->top_px, 2), t->type, 4);
            d = mix_float(mix_float(d, t->disparity_px), t->distance_m);
            d = mix_float(mix_float(d, t->sigma_m), t->cost);
        }
    }
    return d;
}
#endif

/** Adds a whole result to the digest d, except disparities, road, stixels and obstacles. */
static uint64_t mix_rest(uint64_t d, const vfront_result_t *r)
{
    d = mix_number(d, r->t_ns, 8);
    d = mix_number(d, r->t_mid_ns, 8);
    d = mix_number(d, r->frame, 8);
    d = mix_health(d, &r->health);
    d = mix_number(d, r->tracks_count, 4);
    for (uint32_t i = 0; i < r->tracks_count; i++) d = mix_track(d, &r->tracks[i]);
    d = mix_number(d, r->lost_count, 4);
    for (uint32_t i = 0; i < r->lost_count; i++) d = mix_lost(d, &r->lost[i]);
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        d = mix_number(d, r->keypoints_count[c], 4);
        for (uint32_t i = 0; i < r->keypoints_count[c]; i++) d = mix_keypoint(d, &r->keypoints[c][i]);
#if VFRONT_DESCRIPTORS
        for (uint32_t i = 0; i < r->descriptors_count[c]; i++) d = mix_descriptor(d, &r->descriptors[c][i]);
#endif
    }
    d = mix_number(d, r->depths_count, 4);
#if VFRONT_STEREO
    for (uint32_t i = 0; i < r->depths_count; i++) d = mix_depth(d, &r->depths[i]);
#endif
    d = mix_number(d, r->matches_count, 4);
#if VFRONT_MATCHES
    for (uint32_t i = 0; i < r->matches_count; i++) d = mix_match(d, &r->matches[i]);
#endif
    d = mix_motion(d, &r->relative);
    d = mix_motion(d, &r->metric);
    d = mix_motion(d, &r->good);
    d = mix_prediction(d, &r->predicted);
    if (r->nav.state) d = mix_innovations(mix_nav(d, &r->nav), r->innovation);
#if VFRONT_MAP
    d = mix_loops(d, r);
#endif
    return d;
}

uint64_t vfront_digest_parts(const vfront_result_t *r, uint32_t parts)
{
    if (!r) return 0;
    uint64_t d = 0xcbf29ce484222325ull;
    if (parts & VFRONT_PART_REST) d = mix_rest(d, r);
#if VFRONT_DENSE
    if (parts & VFRONT_PART_DISPARITIES) d = mix_disparity(d, &r->disparity);
#endif
#if VFRONT_STIXELS
    if (parts & VFRONT_PART_STIXELS) d = mix_stixels(d, r);
#endif
    return d;
}

uint64_t vfront_digest(const vfront_result_t *r) { return vfront_digest_parts(r, VFRONT_PART_ALL); }

/* ---- contribution of each stage to a result ---------------------------------------------------------------------- */

static uint64_t mix_ingest(uint64_t d, const vfront_result_t *r)
{
    const vfront_health_t *h = &r->health;
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        d = mix_float(mix_float(d, h->brightness_grey[c]), h->sharpness_grey[c]);
        d = mix_number(mix_number(d, h->dark_permille[c], 4), h->bright_permille[c], 4);
    }
    return mix_number(d, h->missing, 4);
}

static uint64_t mix_freeze(uint64_t d, const vfront_result_t *r)
{
    for (int c = 0; c < VFRONT_CAMERAS; c++) d = mix_number(d, r->health.frozen[c], 4);
    return mix_number(d, r->health.repeated, 4);
}

/** Adds the tracks that continue and those that ended to the digest d: the output of the stage track. */
static uint64_t mix_followed(uint64_t d, const vfront_result_t *r)
{
    for (uint32_t i = 0; i < r->tracks_count; i++) {
        const vfront_track_t *t = &r->tracks[i];
        if (!t->age) continue;
        d = mix_float(mix_float(mix_number(d, t->id, 8), t->x_px), t->y_px);
        d = mix_float(mix_float(mix_float(d, t->gain), t->offset_grey), t->residual_grey);
    }
    for (uint32_t i = 0; i < r->lost_count; i++) d = mix_lost(d, &r->lost[i]);
    return d;
}

static uint64_t mix_born(uint64_t d, const vfront_result_t *r)
{
    for (uint32_t i = 0; i < r->tracks_count; i++) {
        const vfront_track_t *t = &r->tracks[i];
        if (t->age) continue;
        d = mix_float(mix_float(mix_number(d, t->id, 8), t->x_px), t->y_px);
        d = mix_number(mix_number(d, t->level, 4), t->score, 4);
    }
    return mix_number(mix_number(d, r->health.born, 4), r->health.overflow, 4);
}

static uint64_t mix_selected(uint64_t d, const vfront_result_t *r)
{
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        d = mix_number(mix_number(d, r->keypoints_count[c], 4), r->health.dropped[c], 4);
        for (uint32_t i = 0; i < r->keypoints_count[c]; i++) {
            const vfront_keypoint_t *k = &r->keypoints[c][i];
            d = mix_number(mix_float(mix_float(d, k->x_px), k->y_px), k->score, 4);
            d = mix_number(mix_number(mix_number(d, k->cell, 2), k->level, 1), k->low, 1);
        }
    }
    return d;
}

static uint64_t mix_bearings(uint64_t d, const vfront_result_t *r)
{
    for (int c = 0; c < VFRONT_CAMERAS; c++)
        for (uint32_t i = 0; i < r->keypoints_count[c]; i++)
            for (int k = 0; k < 3; k++) d = mix_float(d, r->keypoints[c][i].bearing[k]);
    return d;
}

static uint64_t mix_described(uint64_t d, const vfront_result_t *r)
{
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        for (uint32_t i = 0; i < r->keypoints_count[c]; i++) d = mix_float(d, r->keypoints[c][i].angle_rad);
#if VFRONT_DESCRIPTORS
        for (uint32_t i = 0; i < r->descriptors_count[c]; i++) d = mix_descriptor(d, &r->descriptors[c][i]);
#endif
    }
    return d;
}

static uint64_t mix_depths(uint64_t d, const vfront_result_t *r)
{
    d = mix_number(mix_number(d, r->health.stereo, 4), r->health.stereo_permille, 4);
    d = mix_number(mix_float(d, r->health.stereo_offset_px), r->depths_count, 4);
#if VFRONT_STEREO
    for (uint32_t i = 0; i < r->depths_count; i++) d = mix_depth(d, &r->depths[i]);
#endif
    return d;
}

/** Adds the matches to the digest d, the output of the stage match: without their member `agrees`, which ego sets
 *  later. */
static uint64_t mix_matches(uint64_t d, const vfront_result_t *r)
{
    d = mix_number(d, r->matches_count, 4);
#if VFRONT_MATCHES
    for (uint32_t i = 0; i < r->matches_count; i++) {
        vfront_match_t m = r->matches[i];
        m.agrees = 0;
        d = mix_match(d, &m);
    }
#endif
    return d;
}

static uint64_t mix_partners(uint64_t d, const vfront_result_t *r)
{
    for (uint32_t i = 0; i < r->tracks_count; i++) {
        const vfront_track_t *t = &r->tracks[i];
        d = mix_float(mix_float(d, t->stereo_x_px), t->stereo_y_px);
        d = mix_float(mix_float(d, t->disparity_px), t->disparity_sigma_px);
    }
    return d;
}

static uint64_t mix_motions(uint64_t d, const vfront_result_t *r)
{
    d = mix_motion(mix_motion(mix_motion(d, &r->relative), &r->metric), &r->good);
    for (uint32_t i = 0; i < r->tracks_count; i++) d = mix_number(d, r->tracks[i].agrees, 4);
#if VFRONT_MATCHES
    for (uint32_t i = 0; i < r->matches_count; i++) d = mix_number(d, r->matches[i].agrees, 2);
#endif
    return d;
}

uint64_t vfront_digest_stage(const vfront_result_t *r, size_t stage)
{
    const uint64_t d = 0xcbf29ce484222325ull;
    if (!r) return 0;
    switch (stage) {
    case VFRONT_STAGE_ingest: return mix_ingest(d, r);
    case VFRONT_STAGE_freeze: return mix_freeze(d, r);
    case VFRONT_STAGE_predict: return mix_prediction(d, &r->predicted);
    case VFRONT_STAGE_track: return mix_followed(d, r);
    case VFRONT_STAGE_refill: return mix_born(d, r);
    case VFRONT_STAGE_select: return mix_selected(d, r);
    case VFRONT_STAGE_bearing: return mix_bearings(d, r);
    case VFRONT_STAGE_describe: return mix_described(d, r);
    case VFRONT_STAGE_stereo: return mix_depths(d, r);
    case VFRONT_STAGE_epipolar:
        return mix_float(mix_float(d, r->health.epipolar_offset_px), r->health.epipolar_sigma_px);
    case VFRONT_STAGE_match: return mix_matches(d, r);
    case VFRONT_STAGE_partner: return mix_partners(d, r);
    case VFRONT_STAGE_vio: return mix_nav(d, &r->nav);
    case VFRONT_STAGE_ego: return mix_motions(d, r);
#if VFRONT_DENSE
    case VFRONT_STAGE_dense: return mix_disparity(d, &r->disparity);
#endif
#if VFRONT_STIXELS
    case VFRONT_STAGE_stixel: return mix_stixels(d, r);
#endif
    case VFRONT_STAGE_report: return vfront_digest(r);
    default: return 0;
    }
}
