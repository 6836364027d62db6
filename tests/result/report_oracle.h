/* SPDX-License-Identifier: MIT */
/* Oracle of report: fields of a result in double precision, from the wording of vfront.h; which bytes of a result the
 * digest covers; and the digest, FNV-1a over the fields in their published order. Included by report.c after
 * tests/fixture/stage.h. */
#ifndef REPORT_ORACLE_H
#define REPORT_ORACLE_H

#include "tests/fixture/stage.h"

/* ---- fields ------------------------------------------------------------------------------------------------------ */

/** Compares floats by their bits. */
static void same_float(float is, double should)
{
    const float nearest = (float)should;
    REQUIRE(memcmp(&is, &nearest, sizeof is) == 0, "is %.9g, should be %.9g", (double)is, (double)nearest);
}

/** 1 if the motion of camera 0 is computed. */
static int ego_on(void) { return VFRONT_EGO && step.tuning.ego && step.geometry.calibrated[0]; }

/** Motions that a correspondence is an inlier of, a bit each; tracks first, then matches. */
static uint32_t agrees_of(uint32_t candidate)
{
#if VFRONT_EGO
    return memory.ego.inlier_mask[candidate];
#else
    return candidate & 0;
#endif
}

/** Bearing grid with nodes 8 px apart, from two nodes before the image: a pinhole camera of focal length `focal` [px]
 *  with its principal point in a corner of the image. Nodes from column `blind` on have no bearing. */
static void make_grid(double focal, int32_t blind)
{
    const struct vf_level *l = &step.geometry.level[0][0];
    const int32_t across = step.geometry.nodes_x[0], down = (int32_t)ceil(l->height / 8.0) + 5;
    for (int32_t j = 0; j < down; j++)
        for (int32_t i = 0; i < across; i++) {
            const double x = 8.0 * (i - 2) / focal, y = 8.0 * (j - 2) / focal, z = 1.0 / sqrt(x * x + y * y + 1.0);
            memory.bearing.node[0][j * across + i] = (struct vf_node){(float)(x * z), (float)(y * z), (float)z,
                                                                      i < blind};
        }
}

/** Compares the bearing of a track with that pinhole camera's; none if one of the 4x4 nodes has none, or the camera is
 *  not calibrated. */
static void compare_bearing(const float is[3], const struct vf_feature *f, double focal, int32_t blind, int calibrated)
{
    const double x = f->x_q16 / 65536.0 / focal, y = f->y_q16 / 65536.0 / focal, z = 1.0 / sqrt(x * x + y * y + 1.0);
    const int seen = calibrated && (int32_t)floor(f->x_q16 / 65536.0 / 8.0) + 2 + 2 < blind;
    const double should[3] = {seen ? x * z : 0.0, seen ? y * z : 0.0, seen ? z : 0.0};
    for (int k = 0; k < 3; k++)
        REQUIRE(seen ? fabs((double)is[k] - should[k]) < 3e-7 : is[k] == 0.0f, "at %.3f: %.9f, should be %.9f",
                f->x_q16 / 65536.0, (double)is[k], should[k]);
}

/** Size of the pixels of a level [px of level 0], in 2^-16 as vfront.h says. */
static double size_of(int32_t level)
{
    return floor(pow((double)VFRONT_SCALE_NUM / VFRONT_SCALE_DEN, level) * 65536.0 + 0.5) / 65536.0;
}

/** Level 0 coordinate of the centre of a pixel of a level, rounded down to a multiple of 2^-16. */
static double place_of(int32_t u, int32_t level)
{
    return floor(((u + 0.5) * size_of(level) - 0.5) * 65536.0) / 65536.0;
}

static int32_t cell_of(int32_t camera, double x, double y)
{
    const int32_t column = (int32_t)floor(x + 0.5) / step.tuning.cell_width_px;
    const int32_t row = (int32_t)floor(y + 0.5) / step.tuning.cell_height_px;
    return row * step.geometry.cells_x[camera] + column;
}

/* ---- bytes that the digest covers -------------------------------------------------------------------------------- */

static vfront_result_t sample;

/** Key points of a camera in the sample; the array holds at least one more. */
static uint32_t sample_keypoints(uint32_t camera) { return VFRONT_KEYPOINTS > 3 ? 2 + camera : 0; }

/** Descriptors: the same number, but one less in camera 0, to distinguish the two counts. */
static uint32_t sample_descriptors(uint32_t camera)
{
    return sample_keypoints(camera) ? sample_keypoints(camera) - !camera : 0;
}

/** Number of depths, and of matches, of the sample. */
static uint32_t sample_matches(void) { return VFRONT_KEYPOINTS > 3 ? 2 : 0; }

/** 1 if a byte lies in a list after its first `count` entries. room: entries of the array. */
static int is_beyond(size_t at, size_t list, size_t entry, size_t count, size_t room)
{
    return at >= list + count * entry && at < list + room * entry;
}
#define BEYOND(list, count)                                                                                            \
    is_beyond(at, offsetof(vfront_result_t, list), sizeof *sample.list, (count),                                       \
              sizeof sample.list / sizeof *sample.list)

/** Offset after the last field of a result, where padding begins. */
static size_t end_of_fields(void)
{
#if VFRONT_MAP
    return offsetof(vfront_result_t, loop_pairs) + sizeof sample.loop_pairs;
#elif VFRONT_MATCHES
    return offsetof(vfront_result_t, matches) + sizeof sample.matches;
#elif VFRONT_DESCRIPTORS
    return offsetof(vfront_result_t, descriptors) + sizeof sample.descriptors;
#else
    return offsetof(vfront_result_t, keypoints) + sizeof sample.keypoints;
#endif
}

/** 1 if a byte of the depths or matches is not covered by the digest: after the last entry, or reserved. */
static int is_exempt_match(size_t at)
{
#if VFRONT_STEREO
    const size_t reserved = offsetof(vfront_result_t, depths) + offsetof(vfront_depth_t, reserved);
    for (uint32_t i = 0; i < sample.depths_count; i++)
        if (at - reserved - i * sizeof *sample.depths < sizeof sample.depths->reserved) return 1;
    if (BEYOND(depths, sample.depths_count)) return 1;
#endif
#if VFRONT_MATCHES
    if (BEYOND(matches, sample.matches_count)) return 1;
#endif
#if VFRONT_MAP
    if (BEYOND(loops, sample.loops_count) || BEYOND(loop_pairs, sample.loop_pairs_count)) return 1;
#endif
    return at >= end_of_fields();
}

/** 1 if the digest does not cover a byte of the sample: `timing`, health.reset_counter, reserved fields, padding, and
 *  entries after the counts. Everything else is covered, so that a new field cannot be forgotten. */
static int is_exempt(size_t at)
{
    const size_t reset = offsetof(vfront_result_t, health) + offsetof(vfront_health_t, reset_counter);
    if (at >= reset && at < reset + sizeof sample.health.reset_counter) return 1;
    /* timing, and padding before tracks */
    if (at >= offsetof(vfront_result_t, timing) && at < offsetof(vfront_result_t, tracks)) return 1;
    static const size_t motion[] = {offsetof(vfront_result_t, relative), offsetof(vfront_result_t, metric),
                                    offsetof(vfront_result_t, good)};
    for (int i = 0; i < 3; i++) {
        const size_t used = offsetof(vfront_motion_t, covariance) + sizeof sample.good.covariance,
                     reserved = offsetof(vfront_motion_t, reserved);
        if (at >= motion[i] + used && at < motion[i] + sizeof sample.good) return 1; /* padding */
        if (at >= motion[i] + reserved && at < motion[i] + reserved + sizeof sample.good.reserved) return 1;
    }
    const size_t spare = offsetof(vfront_result_t, predicted) + offsetof(vfront_prediction_t, reserved);
    if (at >= spare && at < spare + sizeof sample.predicted.reserved) return 1;
    VF_STATIC_ASSERT(offsetof(vfront_track_t, depth_sigma_m) + sizeof(float) == sizeof(vfront_track_t),
                     "nothing aligns a track");
    if (BEYOND(tracks, sample.tracks_count) || BEYOND(lost, sample.lost_count)) return 1;
    for (uint32_t c = 0; c < VFRONT_CAMERAS; c++) {
        if (BEYOND(keypoints[c], sample_keypoints(c))) return 1;
#if VFRONT_DESCRIPTORS
        if (BEYOND(descriptors[c], sample_descriptors(c))) return 1;
#endif
    }
    return is_exempt_match(at);
}

static int is_count(size_t at)
{
    return at >= offsetof(vfront_result_t, tracks_count) && at < offsetof(vfront_result_t, timing);
}

/* ---- digest ------------------------------------------------------------------------------------------------------ */

/* FNV-1a, 64 bits, as its authors publish it, over bytes written low byte first. */
static uint8_t written[65536];
static size_t written_count;

static uint64_t fnv1a(const char *text, size_t count)
{
    uint64_t hash = 14695981039346656037ull;
    for (size_t i = 0; i < count; i++) hash = (hash ^ (uint8_t)text[i]) * 1099511628211ull;
    return hash;
}

static void put(uint64_t number, int bytes)
{
    for (; bytes > 0; bytes--, number /= 256) written[written_count++] = (uint8_t)(number % 256);
}

static void put_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(bits, 4);
}

static void put_health(const vfront_health_t *h)
{
    put(h->state, 4);
    put(h->quality, 4);
    put(h->motion_breaks, 4);
    put(h->followed, 4);
    put(h->born, 4);
    for (int i = 0; i < VFRONT_ENDS; i++) put(h->ended[i], 4);
    put(h->overflow, 4);
    put(h->full, 4);
    for (int c = 0; c < VFRONT_CAMERAS; c++) put(h->dropped[c], 4);
    put(h->gap, 4);
    put(h->gyro_short, 4);
    put(h->gyro_stuck, 4);
    if (h->imu || h->imu_samples) {
        put(h->imu, 4), put(h->imu_samples, 4);
        put((uint32_t)h->imu_late_us, 4), put(h->calibration, 4);
    }
    put(h->irregular, 4);
    put(h->interval_us, 4);
    put(h->repeated, 4);
    put(h->missing, 4);
    put(h->late, 4);
    put_float(h->prior_rms_rad);
    for (int c = 0; c < VFRONT_CAMERAS; c++) put(h->frozen[c], 4);
    put(h->stereo, 4);
    put(h->stereo_permille, 4);
    put_float(h->stereo_offset_px);
    put_float(h->epipolar_offset_px);
    put_float(h->epipolar_sigma_px);
    put_float(h->disparity_offset_px);
    put_float(h->disparity_sigma_px);
    put(h->dt_ns, 8);
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        put(h->cells[c], 4);
        put(h->starved[c], 4);
        put_float(h->brightness_grey[c]);
        put_float(h->sharpness_grey[c]);
        put(h->brightness_changed[c], 4);
        put(h->sharpness_changed[c], 4);
        put(h->dark_permille[c], 4);
        put(h->bright_permille[c], 4);
    }
}

static void put_lists(void)
{
    put(sample.tracks_count, 4);
    for (const vfront_track_t *t = sample.tracks; t < sample.tracks + sample.tracks_count; t++) {
        const float number[] = {t->x_px, t->y_px, t->dx_px, t->dy_px, t->gain, t->offset_grey, t->residual_grey};
        put(t->id, 8);
        for (size_t i = 0; i < sizeof number / sizeof *number; i++) put_float(number[i]);
        put(t->age, 4);
        put(t->level, 4);
        put(t->score, 4);
        for (int k = 0; k < 3; k++) put_float(t->bearing[k]);
        put(t->agrees, 4);
        const float partner[] = {t->stereo_x_px,        t->stereo_y_px, t->disparity_px,
                                 t->disparity_sigma_px, t->depth_m,     t->depth_sigma_m};
        for (size_t i = 0; i < sizeof partner / sizeof *partner; i++) put_float(partner[i]);
    }
    put(sample.lost_count, 4);
    for (const vfront_lost_t *l = sample.lost; l < sample.lost + sample.lost_count; l++) {
        put(l->id, 8);
        put_float(l->x_px);
        put_float(l->y_px);
        put(l->age, 4);
        put(l->end, 4);
    }
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        put(sample.keypoints_count[c], 4);
        for (const vfront_keypoint_t *k = sample.keypoints[c]; k < sample.keypoints[c] + sample.keypoints_count[c];
             k++) {
            put_float(k->x_px);
            put_float(k->y_px);
            put_float(k->angle_rad);
            put(k->score, 4);
            put(k->cell, 2);
            put(k->level, 1);
            put(k->low, 1);
            for (int i = 0; i < 3; i++) put_float(k->bearing[i]);
        }
#if VFRONT_DESCRIPTORS
        for (uint32_t i = 0; i < sample.descriptors_count[c]; i++)
            for (int k = 0; k < 8; k++) put(sample.descriptors[c][i].word[k], 4);
#endif
    }
}

static void put_matches(void)
{
    put(sample.depths_count, 4);
#if VFRONT_STEREO
    for (const vfront_depth_t *p = sample.depths; p < sample.depths + sample.depths_count; p++) {
        const float number[] = {p->x_px, p->y_px, p->depth_m, p->sigma_m};
        put(p->keypoint, 2);
        put(p->match, 2);
        put(p->distance, 2);
        for (int i = 0; i < 4; i++) put_float(number[i]);
    }
#endif
    put(sample.matches_count, 4);
#if VFRONT_MATCHES
    for (const vfront_match_t *m = sample.matches; m < sample.matches + sample.matches_count; m++) {
        put(m->keypoint, 2);
        put(m->before, 2);
        put(m->distance, 2);
        put(m->second, 2);
        put(m->agrees, 2);
        put(m->refined, 2);
        put_float(m->x_px);
        put_float(m->y_px);
        for (int i = 0; i < 3; i++) put_float(m->bearing[i]);
        put_float(m->x_before_px);
        put_float(m->y_before_px);
        put(m->id, 4);
        put(m->age, 4);
    }
#endif
}

static void put_motion(const vfront_motion_t *m)
{
    const uint32_t number[] = {m->state, m->flags, m->pairs, m->inliers, m->others, m->hypotheses, m->needed};
    for (int i = 0; i < 7; i++) put(number[i], 4);
    put_float(m->rms_px);
    put_float(m->parallax_px);
    put(m->frame, 8);
    for (int i = 0; i < 9; i++) put_float(m->R[i]);
    for (int i = 0; i < 3; i++) put_float(m->t[i]);
    for (int i = 0; i < 21; i++) put_float(m->covariance[i]);
}

#if VFRONT_MAP
static void put_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(bits, 8);
}

static void put_loops(void)
{
    if (!sample.keyframes_count) return;
    put(sample.keyframe, 4);
    put(sample.keyframes_count, 4);
    put(sample.loops_count, 4);
    for (const vfront_loop_t *l = sample.loops; l < sample.loops + sample.loops_count; l++) {
        const uint32_t number[] = {l->state, l->kind, l->pairs, l->inliers, l->agreeing};
        put(l->frame, 8);
        put(l->t_ns, 8);
        for (int i = 0; i < 5; i++) put(number[i], 4);
        if (l->loaded) put(l->loaded, 4);
        put_float(l->parallax_rad);
        for (int i = 0; i < 9; i++) put_float(l->R[i]);
        for (int i = 0; i < 3; i++) put_float(l->t[i]);
        for (int i = 0; i < 21; i++) put_float(l->covariance[i]);
    }
    put(sample.loop_pairs_count, 4);
    put(sample.loop_pairs_of, 4);
    for (const vfront_loop_pair_t *p = sample.loop_pairs; p < sample.loop_pairs + sample.loop_pairs_count; p++) {
        put(p->keypoint, 2);
        put(p->before, 2);
        put(p->distance, 2);
        put(p->inlier, 2);
    }
    const vfront_map_t *m = &sample.map;
    const uint32_t number[] = {m->state, m->counter, m->nodes, m->loops};
    for (int i = 0; i < 3; i++) put_double(m->position_m[i]);
    for (int i = 0; i < 4; i++) put_double(m->q_odom_cam[i]);
    for (int i = 0; i < 3; i++) put_double(m->t_map_odom_m[i]);
    for (int i = 0; i < 4; i++) put_double(m->q_map_odom[i]);
    put_double(m->sigma_m);
    put_double(m->sigma_rad);
    for (int i = 0; i < 4; i++) put(number[i], 4);
}
#endif

static void put_prediction(const vfront_prediction_t *p)
{
    put(p->source, 4);
    for (int i = 0; i < 9; i++) put_float(p->R[i]);
    for (int i = 0; i < 3; i++) put_float(p->t[i]);
    for (int i = 0; i < 21; i++) put_float(p->covariance[i]);
}

#endif
