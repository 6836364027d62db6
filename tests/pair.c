/* SPDX-License-Identifier: MIT */
#include "pair.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

vfront_port_t pair_port = VFRONT_PORT_HOST;
vfront_t pair_vf, pair_twin;
const struct scene pair_scene = {160, 120, 1, 21, -13};
uint8_t pair_grey[PICTURES][VFRONT_WIDTH * VFRONT_HEIGHT], pair_right[PICTURES][VFRONT_WIDTH * VFRONT_HEIGHT];

static uint64_t next; /* frame of both */

void pair_draw(void)
{
    for (int i = 0; i < PICTURES; i++) {
        scene_draw(&pair_scene, i, pair_grey[i], (uint32_t)pair_scene.width_px);
        scene_draw_right(&pair_scene, i, 16 * DISPARITY_PX, pair_right[i], (uint32_t)pair_scene.width_px);
    }
}

vfront_rig_t pair_unplaced(void) { return scene_rig(&pair_scene, VFRONT_CAMERAS); }
vfront_rig_t pair_cameras(void) { return scene_pair(&pair_scene, &pair_scene); }

vfront_frame_t pair_frame(uint64_t number)
{
    vfront_frame_t f;
    memset(&f, 0, sizeof f);
    f.t_ns = 1000000000u + number * FRAME_NS;
    f.exposure_ns = 4000000;
    /* there and back again, so that any number of frames is one motion */
    const uint64_t phase = number % (2 * PICTURES - 2), at = phase < PICTURES ? phase : 2 * PICTURES - 2 - phase;
    for (int i = 0; i < VFRONT_CAMERAS; i++) f.picture[i] = scene_picture(&pair_scene, i ? pair_right[at] : pair_grey[at]);
    return f;
}

void pair_start_with(const vfront_rig_t *rig, const vfront_tuning_t *tuning)
{
    next = 0;
    assert_int_equal(vfront_init(&pair_vf, rig, tuning, pair_port), VFRONT_OK);
    assert_int_equal(vfront_init(&pair_twin, rig, tuning, pair_port), VFRONT_OK);
}

void pair_at(uint64_t frame) { next = frame; }

int pair_start(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_cameras();
    pair_start_with(&rig, NULL);
    return 0;
}

int pair_end(void **state)
{
    (void)state;
    vfront_shutdown(&pair_vf);
    vfront_shutdown(&pair_twin);
    return 0;
}

const vfront_result_t *pair_step(void)
{
    const vfront_frame_t frame = pair_frame(next++);
    const vfront_result_t *a, *b;
    assert_int_equal(vfront_step(&pair_twin, &frame, &b), VFRONT_OK);
    assert_int_equal(vfront_step(&pair_vf, &frame, &a), VFRONT_OK);
    assert_true(vfront_digest(a) == vfront_digest(b));
    assert_true(a->health.reset_counter == b->health.reset_counter);
    assert_true(a->tracks_count > 0 && (a->frame == 0 || a->health.followed > 0));
    return a;
}

void pair_still_starts(void)
{
    pair_start(NULL);
    for (int i = 0; i < 3; i++) pair_step();
    pair_end(NULL);
}

/* ---- what every result must be --------------------------------------------------------------------------------------------- */

#define MUST(condition)                      \
    do {                                     \
        if (!(condition)) return #condition; \
    } while (0)

static int inside(const vfront_camera_t *c, const vfront_tuning_t *t, float x_px, float y_px)
{
    const float border = (float)t->detect_border_px;
    return x_px >= border && x_px <= (float)c->width_px - 1 - border && y_px >= border && y_px <= (float)c->height_px - 1 - border;
}

/** Whether a bearing is what it must be: of a calibrated camera a unit vector, of another one 0. */
static int bearing_good(const vfront_camera_t *c, const float b[3])
{
    if (c->fx_px == 0) return b[0] == 0 && b[1] == 0 && b[2] == 0;
    return fabsf(b[0] * b[0] + b[1] * b[1] + b[2] * b[2] - 1) < 1e-6f;
}

static const char *broken_tracks(const vfront_rig_t *rig, const vfront_tuning_t *tuning, const vfront_result_t *r)
{
    const vfront_health_t *h = &r->health;
    uint32_t ended = 0;
    MUST(r->tracks_count <= VFRONT_TRACKS && r->lost_count <= VFRONT_TRACKS);
    MUST(r->tracks_count <= (uint32_t)tuning->track_target || h->born == 0);
    MUST(h->followed + h->born == r->tracks_count);
    for (uint32_t i = 0; i < r->tracks_count; i++) {
        const vfront_track_t *t = &r->tracks[i];
        MUST(i == 0 || t->id > r->tracks[i - 1].id);
        MUST(inside(&rig->camera[0], tuning, t->x_px, t->y_px));
        MUST(t->residual_grey <= (float)tuning->track_residual_grey && t->gain > 0.2f && t->gain < 4.1f);
        MUST((t->age == 0) == (i >= h->followed));
        MUST(bearing_good(&rig->camera[0], t->bearing));
        MUST(t->agrees <= (t->age && tuning->ego && tuning->ego_tracks ? VFRONT_AGREES_RELATIVE : 0)); /* no track has a distance */
    }
    for (int i = 0; i < VFRONT_ENDS; i++) ended += h->ended[i];
    MUST(ended == r->lost_count && h->ended[0] == 0);
    for (uint32_t i = 0; i < r->lost_count; i++) MUST(r->lost[i].end > 0 && r->lost[i].end < VFRONT_ENDS);
    MUST(tuning->track_target || (r->tracks_count == 0 && r->lost_count == 0 && h->quality == 100));
    return NULL;
}

/** Whether a coordinate is that of the centre of a pixel of a level, one of those that `size_px` pixels of level 0 make. */
static int on_lattice(float x_px, int level, int32_t size_px)
{
    const double s = floor(pow((double)VFRONT_SCALE_NUM / VFRONT_SCALE_DEN, level) * 65536 + 0.5) / 65536;
    const double u = floor((x_px + 0.5) / s);
    return u >= 0 && u < size_px / s && fabs((u + 0.5) * s - 0.5 - x_px) <= 1 / 65536.0;
}

static const char *broken_point(const vfront_camera_t *c, const vfront_tuning_t *t, const vfront_keypoint_t *k)
{
    MUST(k->level < t->detect_levels && k->score >= 1 && k->weak <= 1);
    MUST(!k->weak || t->detect_threshold_low);
    MUST(fabsf(k->angle_rad) <= 3.1415928f && (t->describe || k->angle_rad == 0));
    MUST(inside(c, t, k->x_px, k->y_px));
    MUST(bearing_good(c, k->bearing));
    MUST(on_lattice(k->x_px, k->level, c->width_px) && on_lattice(k->y_px, k->level, c->height_px));
    return NULL;
}

/** Number of the culling cell that the centre of a key point lies in. */
static int32_t cull_of(const vfront_camera_t *camera, const vfront_tuning_t *t, const vfront_keypoint_t *k)
{
    const int32_t across = (camera->width_px + t->cull_width_px - 1) / t->cull_width_px;
    return (int32_t)floorf(k->y_px + 0.5f) / t->cull_height_px * across + (int32_t)floorf(k->x_px + 0.5f) / t->cull_width_px;
}

static const char *broken_points(const vfront_rig_t *rig, const vfront_tuning_t *t, const vfront_result_t *r, int camera)
{
    const vfront_keypoint_t *k = r->keypoints[camera];
    const uint32_t count = r->keypoints_count[camera];
    MUST(count <= (uint32_t)t->select_points && (camera < rig->cameras || count == 0));
    MUST(r->descriptors_count[camera] == (t->describe ? count : 0));
    for (uint32_t i = 0; i < count; i++) {
        const char *broken = broken_point(&rig->camera[camera], t, &k[i]);
        if (broken) return broken;
        const int32_t cull = cull_of(&rig->camera[camera], t, &k[i]), before = i ? cull_of(&rig->camera[camera], t, &k[i - 1]) : -1;
        MUST(i == 0 || k[i].level > k[i - 1].level || (k[i].level == k[i - 1].level && cull > before));
    }
    return NULL;
}

/** Whether nobody said how two calibrated cameras sit to each other. */
static int no_pair(const vfront_rig_t *rig)
{
    const vfront_camera_t *a = &rig->camera[0], *b = &rig->camera[VFRONT_CAMERAS - 1];
    return rig->cameras < 2 || a->fx_px == 0 || b->fx_px == 0
           || (!memcmp(a->R_cam_imu, b->R_cam_imu, sizeof a->R_cam_imu) && !memcmp(a->t_cam_imu_m, b->t_cam_imu_m, sizeof a->t_cam_imu_m));
}

static uint32_t apart(const vfront_descriptor_t *a, const vfront_descriptor_t *b)
{
    uint32_t bits = 0;
    for (int i = 0; i < 256; i++) bits += (a->word[i / 32] ^ b->word[i / 32]) >> i % 32 & 1;
    return bits;
}

static const char *broken_depth(const vfront_rig_t *rig, const vfront_tuning_t *t, const vfront_result_t *r, const vfront_depth_t *d)
{
    const int last = VFRONT_CAMERAS - 1;
    MUST(d->keypoint < r->keypoints_count[0] && d->partner < r->keypoints_count[last] && d->reserved == 0);
    const vfront_keypoint_t *a = &r->keypoints[0][d->keypoint], *b = &r->keypoints[last][d->partner];
    MUST(abs(a->level - b->level) <= t->stereo_levels && d->distance <= t->stereo_distance);
    MUST(d->distance == apart(&r->descriptors[0][d->keypoint], &r->descriptors[last][d->partner]));
    MUST(d->x_px >= 0 && d->x_px <= (float)rig->camera[last].width_px - 1 && d->y_px >= 0 && d->y_px <= (float)rig->camera[last].height_px - 1);
    MUST(isfinite(d->depth_m) && isfinite(d->sigma_m) && d->sigma_m >= 0 && d->depth_m * a->bearing[2] >= 0);
    return NULL;
}

static const char *broken_depths(const vfront_rig_t *rig, const vfront_tuning_t *t, const vfront_result_t *r)
{
    static uint8_t taken[VFRONT_KEYPOINTS];
    MUST(r->depths_count <= r->keypoints_count[0] && r->depths_count <= r->keypoints_count[VFRONT_CAMERAS - 1]);
    MUST(r->depths_count == 0 || (t->stereo && t->describe && !no_pair(rig)));
    memset(taken, 0, sizeof taken);
    for (uint32_t i = 0; i < r->depths_count; i++) {
        const char *broken = broken_depth(rig, t, r, &r->depths[i]);
        if (broken) return broken;
        MUST(i == 0 || r->depths[i].keypoint > r->depths[i - 1].keypoint);
        MUST(!taken[r->depths[i].partner]++);
    }
    return NULL;
}

/** The frame before is not there to be looked at: its key points are known by what there can be at most. */
static const char *broken_matches(const vfront_tuning_t *t, const vfront_result_t *r)
{
    static uint8_t taken[VFRONT_KEYPOINTS];
    MUST(r->matches_count <= r->keypoints_count[0]);
    MUST(r->matches_count == 0 || (t->match && t->describe && r->frame > 0));
    memset(taken, 0, sizeof taken);
    for (uint32_t i = 0; i < r->matches_count; i++) {
        const vfront_match_t *m = &r->matches[i];
        MUST(m->keypoint < r->keypoints_count[0] && m->before < t->select_points);
        MUST(m->distance <= t->match_distance && m->second <= 256);
        MUST(m->second == 256 || t->match_ratio_percent == 100 || m->distance * 100 <= m->second * t->match_ratio_percent);
        MUST(i == 0 || m->keypoint > r->matches[i - 1].keypoint);
        MUST(!taken[m->before]++);
        MUST(m->agrees <= (VFRONT_AGREES_RELATIVE | VFRONT_AGREES_METRIC) && m->settled <= (uint32_t)t->match_settle);
        MUST(m->settled || (m->x_px == r->keypoints[0][m->keypoint].x_px && m->y_px == r->keypoints[0][m->keypoint].y_px));
    }
    return NULL;
}

static int is_identity(const float R[9])
{
    for (int i = 0; i < 9; i++)
        if (R[i] != (i % 4 == 0 ? 1.0f : 0.0f)) return 0;
    return 1;
}

/** Whether a matrix is a rotation, within what single precision leaves of it after many steps. */
static int is_rotation(const float R[9])
{
    double off = 0.0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            off = fmax(off, fabs((double)R[3 * i] * R[3 * j] + (double)R[3 * i + 1] * R[3 * j + 1] + (double)R[3 * i + 2] * R[3 * j + 2] - (i == j)));
    const double turns = R[0] * ((double)R[4] * R[8] - (double)R[5] * R[7]) - R[1] * ((double)R[3] * R[8] - (double)R[5] * R[6])
                         + R[2] * ((double)R[3] * R[7] - (double)R[4] * R[6]);
    return off < 1e-5 && turns > 0.0; /* NaN is neither */
}

static double square_of(const float t[3]) { return (double)t[0] * t[0] + (double)t[1] * t[1] + (double)t[2] * t[2]; }

/** A motion about which nothing is known. */
static const char *broken_blank(const vfront_motion_t *m)
{
    MUST(is_identity(m->R) && square_of(m->t) == 0.0 && m->flags == 0 && m->rms_px == 0.0f && m->parallax_px == 0.0f && m->others == 0);
    for (int i = 0; i < 21; i++) MUST(m->covariance[i] == 0.0f);
    return NULL;
}

static const char *broken_motion(const vfront_tuning_t *t, const vfront_motion_t *m, int metric)
{
    const int flags = metric ? VFRONT_MOTION_STILL : VFRONT_MOTION_STILL | VFRONT_MOTION_PLANE | VFRONT_MOTION_PARALLAX | VFRONT_MOTION_TWO;
    const int turned = m->state == VFRONT_MOTION_ROTATION;
    MUST(m->state <= VFRONT_MOTION_UNSURE && m->reserved == 0 && (m->flags & ~(uint32_t)flags) == 0);
    MUST(m->inliers <= m->pairs && m->pairs <= VFRONT_SIGHTS && (m->state == VFRONT_MOTION_FEW) <= (m->pairs < (uint32_t)t->ego_least));
    if (m->state == VFRONT_MOTION_NONE) MUST(m->pairs + m->inliers + m->hypotheses + m->needed == 0 && m->frame == 0);
    if (m->state) MUST(m->hypotheses == (uint32_t)(metric ? t->ego_metric_hypotheses : t->ego_hypotheses) && m->needed >= 1 && m->needed <= 1000000);
    if (m->state != VFRONT_MOTION_GOOD && !turned) return broken_blank(m);
    MUST(!metric || !turned);
    MUST(m->inliers * 100 >= 100 * (uint32_t)t->ego_least + m->pairs * (uint32_t)t->ego_least_percent);
    MUST(is_rotation(m->R) && m->others <= 512);
    MUST(metric ? isfinite(square_of(m->t)) : turned ? square_of(m->t) == 0.0 : fabs(square_of(m->t) - 1.0) < 1e-5);
    MUST(m->rms_px >= 0.0f && m->rms_px <= (float)t->ego_error_mpx * 0.0011f && m->parallax_px >= 0.0f && m->parallax_px <= 64.0f);
    for (int i = 0, n = 0; i < 6; n += 6 - i++) MUST(m->covariance[n] >= 0.0f && isfinite(m->covariance[n]));
    return NULL;
}

/** The motions of a result, and that those who agree are those who are counted. */
static const char *broken_motions(const vfront_rig_t *rig, const vfront_tuning_t *t, const vfront_result_t *r)
{
    const vfront_motion_t *last = r->metric.state == VFRONT_MOTION_GOOD ? &r->metric : r->relative.state == VFRONT_MOTION_GOOD ? &r->relative : NULL;
    const int on = t->ego && rig->camera[0].fx_px > 0 && r->frame > 0;
    uint32_t pairs = 0, agree[2] = {0, 0};
    const char *broken = broken_motion(t, &r->relative, 0);
    if (!broken) broken = broken_motion(t, &r->metric, 1);
    if (broken) return broken;
    for (uint32_t i = 0; i < r->tracks_count; i++) {
        pairs += t->ego_tracks && r->tracks[i].age > 0;
        agree[0] += r->tracks[i].agrees;
    }
#if VFRONT_MATCHES
    for (uint32_t i = 0; i < r->matches_count; i++) {
        pairs += t->ego_matches > 0;
        agree[0] += r->matches[i].agrees & VFRONT_AGREES_RELATIVE;
        agree[1] += r->matches[i].agrees / VFRONT_AGREES_METRIC;
    }
#endif
    const int told = r->relative.state == VFRONT_MOTION_GOOD || r->relative.state == VFRONT_MOTION_ROTATION;
    MUST((r->relative.state != VFRONT_MOTION_NONE) == on && (!on || r->relative.pairs == pairs));
    MUST(agree[0] == (told ? r->relative.inliers : 0) && agree[1] == (r->metric.state == VFRONT_MOTION_GOOD ? r->metric.inliers : 0));
    MUST(r->metric.state == VFRONT_MOTION_NONE || (on && t->stereo && t->match && t->ego_matches && t->ego_metric_hypotheses && !no_pair(rig)));
    MUST(!r->relative.state || r->relative.frame == r->frame);
    MUST(!r->metric.state || r->metric.frame == r->frame);
    MUST(r->good.state <= VFRONT_MOTION_GOOD && (r->good.state ? r->good.frame > 0 && r->good.frame <= r->frame : !broken_blank(&r->good)));
    MUST(last ? !memcmp(&r->good, last, sizeof *last) : r->good.state == VFRONT_MOTION_NONE || r->good.frame < r->frame);
    return NULL;
}

static const char *broken_health(const vfront_rig_t *rig, const vfront_tuning_t *t, const vfront_result_t *r)
{
    const vfront_health_t *h = &r->health;
    uint32_t full = h->overflow ? VFRONT_FULL_TRACKS : 0;
    MUST(h->state <= VFRONT_LOST && h->quality >= 1 && h->quality <= 100 && h->reserved == 0);
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        const uint32_t found = r->keypoints_count[c] + h->dropped[c];
        full |= h->dropped[c] ? (uint32_t)VFRONT_FULL_KEYPOINTS << c : 0;
        MUST(c < rig->cameras ? h->cells[c] > 0 && h->cells[c] <= VFRONT_CELLS : h->cells[c] + h->dropped[c] == 0);
        MUST(h->starved[c] <= h->cells[c]);
        MUST(t->select_points == 0 ? found == 0 : (found == 0) == (h->starved[c] == h->cells[c]));
        MUST(h->brightness_grey[c] >= 0 && h->brightness_grey[c] <= 255 && h->sharpness_grey[c] <= 255);
        MUST(h->dark_permille[c] <= 1000 && h->bright_permille[c] <= 1000);
    }
    MUST(h->full == full);
    return NULL;
}

#if VFRONT_DENSE
static const char *broken_disparity(const vfront_rig_t *rig, const vfront_tuning_t *t, const vfront_disparity_t *d)
{
    uint32_t valid = 0;
    MUST(d->width_px == rig->camera[0].width_px && d->height_px == rig->camera[0].height_px && d->pitch >= d->width_px);
    MUST(!d->px16 == !(t->dense && t->dense_copy) && !d->px16 == !d->confidence && (t->dense || !d->valid));
    if (!d->px16) return NULL;
    for (int32_t y = 0; y < d->height_px; y++)
        for (int32_t x = 0; x < d->width_px; x++) {
            const int32_t at = y * d->pitch + x, v = d->px16[at], least = 16 * t->dense_least_px;
            MUST((v == VFRONT_NO_DISPARITY) == (d->confidence[at] == 0));
            if (v == VFRONT_NO_DISPARITY) continue;
            MUST(v >= least && v <= least + 16 * (t->dense_disparities - 1) && v <= 16 * x);
            valid++;
        }
    MUST(valid == d->valid);
    return NULL;
}
#endif

#if VFRONT_STIXELS
/** The segments of a column lie on each other, from the lowest row to the highest. */
static const char *broken_column(const vfront_rig_t *rig, const vfront_stixel_t *stixel, uint32_t count)
{
    int32_t row = rig->camera[0].height_px - 1;
    MUST(count <= VFRONT_SEGMENTS);
    for (uint32_t i = 0; i < count; i++) {
        const vfront_stixel_t *t = &stixel[i];
        MUST(t->base_px == row && t->top_px <= t->base_px && t->type <= VFRONT_STIXEL_SKY && isfinite(t->cost));
        MUST(t->disparity_px == -1.0f || (t->disparity_px >= 0.0f && t->disparity_px < VFRONT_DISPARITIES));
        MUST(t->type != VFRONT_STIXEL_OBJECT || t->disparity_px >= 1.0f);
        MUST(t->type == VFRONT_STIXEL_SKY || t->disparity_px <= 0.0f ? t->distance_m == 0.0f && t->sigma_m == 0.0f
                                                                    : isfinite(t->distance_m) && t->distance_m > 0.0f && t->sigma_m > 0.0f);
        row = t->top_px - 1;
    }
    MUST(!count || row == -1);
    return NULL;
}

static const char *broken_road(const vfront_rig_t *rig, const vfront_tuning_t *t, const vfront_road_t *road)
{
    MUST(road->state <= VFRONT_ROAD_GIVEN && (road->state == VFRONT_ROAD_GIVEN) == (t->stixel && rig->road_height_m > 0.0));
    MUST(isfinite(road->horizon_px) && isfinite(road->slope) && isfinite(road->pitch_rad) && isfinite(road->height_m));
    if (road->state == VFRONT_ROAD_NONE) MUST(road->horizon_px == 0.0f && road->slope == 0.0f && road->pitch_rad == 0.0f && road->height_m == 0.0f);
    else MUST(road->slope > 0.0f && road->height_m > 0.0f && fabsf(road->pitch_rad) < 0.88f);
    return NULL;
}

static const char *broken_stixels(const vfront_rig_t *rig, const vfront_tuning_t *t, const vfront_result_t *r)
{
    const uint32_t free_cm = (uint32_t)t->stixel_far_m * 100 + 1;
    const char *broken = broken_road(rig, t, &r->road);
    MUST(r->columns_count == (t->stixel ? (uint32_t)(rig->camera[0].width_px / t->stixel_width_px) : 0) && r->columns_crowded <= r->columns_count);
    MUST(!t->stixel || r->columns_width_px == (uint32_t)t->stixel_width_px);
    for (uint32_t i = 0; i < r->columns_count && !broken; i++) {
        MUST(r->road.state != VFRONT_ROAD_NONE || !r->stixels_count[i]);
        broken = broken_column(rig, r->stixels[i], r->stixels_count[i]);
    }
    for (int i = 0; i < VFRONT_OBSTACLE_BINS; i++)
        MUST(r->obstacles_cm[i] == VFRONT_OBSTACLE_UNKNOWN || (t->stixel && r->obstacles_cm[i] <= free_cm));
    return broken;
}
#endif

const char *pair_broken(const vfront_rig_t *rig, const vfront_tuning_t *tuning, const vfront_result_t *result)
{
    const char *broken = broken_tracks(rig, tuning, result);
    for (int c = 0; c < VFRONT_CAMERAS && !broken; c++) broken = broken_points(rig, tuning, result, c);
    if (!broken) broken = broken_depths(rig, tuning, result);
    if (!broken) broken = broken_matches(tuning, result);
    if (!broken) broken = broken_motions(rig, tuning, result);
#if VFRONT_DENSE
    if (!broken) broken = broken_disparity(rig, tuning, &result->disparity);
#endif
#if VFRONT_STIXELS
    if (!broken) broken = broken_stixels(rig, tuning, result);
#endif
    return broken ? broken : broken_health(rig, tuning, result);
}
#undef MUST

vfront_rig_t pair_seen(const vfront_t *vf, const vfront_rig_t *rig)
{
    vfront_rig_t seen = *rig;
    vfront_info_t info;
    assert_int_equal(vfront_info(vf, &info), VFRONT_OK);
    memcpy(seen.camera, info.seen, sizeof seen.camera);
    return seen;
}

void pair_shot(const vfront_rig_t *rig, const vfront_tuning_t *tuning, const uint8_t *const grey[], vfront_result_t *result)
{
    static vfront_rig_t now, seen;
    static vfront_tuning_t tuned;
    const vfront_result_t *r;
    if (rig) {
        next = 0;
        now = *rig;
        vfront_tuning_default(&tuned);
        if (tuning) tuned = *tuning;
        vfront_shutdown(&pair_vf);
        const vfront_status_t status = vfront_init(&pair_vf, rig, tuning, pair_port);
        if (status) fail_msg("%s: %s", vfront_status_name(status), vfront_detail(&pair_vf));
        seen = pair_seen(&pair_vf, rig);
    }
    vfront_frame_t f = pair_frame(next++);
    for (int c = 0; c < now.cameras; c++) {
        const struct scene size = {now.camera[c].width_px, now.camera[c].height_px, 0, 0, 0};
        f.picture[c] = scene_picture(&size, grey[c]);
    }
    assert_int_equal(vfront_step(&pair_vf, &f, &r), VFRONT_OK);
    *result = *r;
    const char *broken = pair_broken(&seen, &tuned, r);
    if (broken) fail_msg("not so: %s", broken);
}

void pair_same_points(const vfront_result_t *a, int camera_of_a, const vfront_result_t *b, int camera_of_b)
{
    const uint32_t count = a->keypoints_count[camera_of_a], known = a->descriptors_count[camera_of_a];
    assert_int_equal(count, b->keypoints_count[camera_of_b]);
    assert_int_equal(known, b->descriptors_count[camera_of_b]);
    if (count) assert_memory_equal(a->keypoints[camera_of_a], b->keypoints[camera_of_b], count * sizeof **a->keypoints);
    if (known) assert_memory_equal(a->descriptors[camera_of_a], b->descriptors[camera_of_b], known * sizeof **a->descriptors);
}

void pair_same_partners(const vfront_result_t *a, const vfront_result_t *b)
{
    assert_int_equal(a->depths_count, b->depths_count);
    assert_int_equal(a->matches_count, b->matches_count);
    if (a->depths_count) assert_memory_equal(a->depths, b->depths, a->depths_count * sizeof *a->depths);
    if (a->matches_count) assert_memory_equal(a->matches, b->matches, a->matches_count * sizeof *a->matches);
}

void pair_refused(vfront_status_t got, vfront_status_t want, const char *detail)
{
    if (got != want) fail_msg("%s instead of %s", vfront_status_name(got), vfront_status_name(want));
    if (!strstr(vfront_detail(&pair_vf), detail)) fail_msg("detail \"%s\" lacks \"%s\"", vfront_detail(&pair_vf), detail);
}

#ifdef VFRONT_CUDA
static void no_device(void **state)
{
    (void)state;
    print_message("skipped on the CUDA port: %s\n", vfront_detail(&pair_vf));
    skip();
}
#endif

int pair_fake(void)
{
    vfront_info_t info;
    return !vfront_info(&pair_vf, &info) && strncmp(info.device, "fake", 4) == 0;
}

int pair_run(const char *name, const struct CMUnitTest tests[], size_t count)
{
    int failed = 0, fake = 0;
    pair_draw();
#ifdef VFRONT_CUDA
    const vfront_rig_t rig = scene_rig(&pair_scene, 1);
    const vfront_status_t status = vfront_init(&pair_vf, &rig, NULL, VFRONT_PORT_CUDA);
    fake = pair_fake();
    vfront_shutdown(&pair_vf);
#endif
#if VFRONT_HOST
    if (!fake) {
        print_message("%s on the host port\n", name);
        failed += _cmocka_run_group_tests(name, tests, count, NULL, NULL);
    }
#endif
#ifdef VFRONT_CUDA
    if (status == VFRONT_E_NO_DEVICE || status == VFRONT_E_DRIVER) {
        const struct CMUnitTest none[] = {cmocka_unit_test(no_device)};
        return failed + cmocka_run_group_tests_name(name, none, NULL, NULL);
    }
    pair_port = VFRONT_PORT_CUDA; /* any other failure shows in the tests */
    print_message("%s on the CUDA port\n", name);
    failed += _cmocka_run_group_tests(name, tests, count, NULL, NULL);
#endif
    (void)count, (void)fake;
    return failed;
}
