/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* mkdir, stat */
#include "results.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "innovations.h"
#include "loops.h"
#include "map_plot.h"
#include "motion.h"

#define PATH_BYTES 4200

static char message[2 * PATH_BYTES];

/** Message of a failed function, with the reason from errno. */
static const char *fail(const char *folder, const char *name)
{
    snprintf(message, sizeof message, "%s%s%s: %s", folder, *name ? "/" : "", name, strerror(errno));
    return message;
}

const char *results_state_name(uint32_t state)
{
    static const char *const name[] = {"starting", "tracking", "degraded", "lost"};
    return state < sizeof name / sizeof *name ? name[state] : "?";
}

/** Name of a vfront_stereo_state_t. */
static const char *results_stereo_name(uint32_t state)
{
    static const char *const name[] = {"none", "good", "suspect", "blind"};
    return state < sizeof name / sizeof *name ? name[state] : "?";
}

const char *results_imu_fault_name(uint32_t bit)
{
    static const char *const name[RESULTS_IMU_FAULTS] = {
        "missing", "gap", "saturated", "stuck", "zero", "in-g", "no-gravity", "ahead", "axes", "in-degrees", "clock"};
    return bit < RESULTS_IMU_FAULTS ? name[bit] : "?";
}

const char *results_end_name(uint32_t end)
{
    static const char *const name[VFRONT_ENDS] = {"?",       "border",   "mask", "residual",
                                                  "texture", "diverged", "back", "merged"};
    return end < VFRONT_ENDS ? name[end] : "?";
}

/* ---- rows of each file ------------------------------------------------------------------------------------------- */

/** Data of a frame. */
struct frame_data {
    int32_t cameras;
    const vfront_result_t *result;
    const trajectory_frame_t *trajectory;
    const state_frame_t *state;
};

static void write_bearing(FILE *f, const float bearing[3])
{
    fprintf(f, ",%.9g,%.9g,%.9g\n", (double)bearing[0], (double)bearing[1], (double)bearing[2]);
}

static void track_header(FILE *f, int32_t cameras)
{
    (void)cameras;
    fputs("frame,t_ns,id,x_px,y_px,age,level,gain,offset,residual,state,bx,by,bz,"
          "x1_px,y1_px,disparity_px,disparity_sigma_px,depth_m,depth_sigma_m\n",
          f);
}

/** Place in camera 1, disparity and depth with their deviations; empty without a partner. */
static void write_stereo_match(FILE *f, const vfront_track_t *t)
{
    if (!(t->disparity_sigma_px > 0.0f)) {
        fputs(",,,,,,\n", f);
        return;
    }
    fprintf(f, ",%.9g,%.9g,%.9g,%.9g", (double)t->stereo_x_px, (double)t->stereo_y_px, (double)t->disparity_px,
            (double)t->disparity_sigma_px);
    fprintf(f, ",%.9g,%.9g\n", (double)t->depth_m, (double)t->depth_sigma_m);
}

/** Live tracks first, then ended ones, of which only position and age are known. */
static void track_rows(FILE *f, const struct frame_data *s)
{
    const vfront_result_t *r = s->result;
    for (uint32_t i = 0; i < r->tracks_count; i++) {
        const vfront_track_t *t = &r->tracks[i];
        fprintf(f, "%" PRIu64 ",%" PRIu64 ",%" PRIu64, r->frame, r->t_ns, t->id);
        fprintf(f, ",%.9g,%.9g,%" PRIu32 ",%" PRIu32, (double)t->x_px, (double)t->y_px, t->age, t->level);
        fprintf(f, ",%.9g,%.9g,%.9g,%s", (double)t->gain, (double)t->offset_grey, (double)t->residual_grey,
                t->age ? "tracked" : "new");
        fprintf(f, ",%.9g,%.9g,%.9g", (double)t->bearing[0], (double)t->bearing[1], (double)t->bearing[2]);
        write_stereo_match(f, t);
    }
    for (uint32_t i = 0; i < r->lost_count; i++) {
        const vfront_lost_t *l = &r->lost[i];
        fprintf(f, "%" PRIu64 ",%" PRIu64 ",%" PRIu64, r->frame, r->t_ns, l->id);
        fprintf(f, ",%.9g,%.9g,%" PRIu32 ",,,,,%s,,,,,,,,,\n", (double)l->x_px, (double)l->y_px, l->age,
                results_end_name(l->end));
    }
}

static void keypoint_header(FILE *f, int32_t cameras)
{
    (void)cameras;
    fputs("frame,camera,x_px,y_px,level,score,angle_rad,low,cell,bx,by,bz\n", f);
}

static void keypoint_rows(FILE *f, const struct frame_data *s)
{
    const vfront_result_t *r = s->result;
    for (int32_t c = 0; c < s->cameras; c++)
        for (uint32_t i = 0; i < r->keypoints_count[c]; i++) {
            const vfront_keypoint_t *k = &r->keypoints[c][i];
            fprintf(f, "%" PRIu64 ",%" PRId32 ",%.9g,%.9g", r->frame, c, (double)k->x_px, (double)k->y_px);
            fprintf(f, ",%u,%" PRIu32 ",%.9g,%u,%u", (unsigned)k->level, k->score, (double)k->angle_rad,
                    (unsigned)k->low, (unsigned)k->cell);
            write_bearing(f, k->bearing);
        }
}

#if VFRONT_DESCRIPTORS
static void descriptor_header(FILE *f, int32_t cameras)
{
    (void)cameras;
    fputs("frame,camera,index,descriptor\n", f);
}

/** Bytes in OpenCV's order: the low byte of a word first. */
static void descriptor_text(const vfront_descriptor_t *d, char text[65])
{
    static const char digit[] = "0123456789abcdef";
    for (int i = 0; i < 32; i++) {
        const uint32_t byte = d->word[i / 4] >> 8 * (i % 4) & 255;
        text[2 * i] = digit[byte >> 4];
        text[2 * i + 1] = digit[byte & 15];
    }
    text[64] = 0;
}

/** `index` is the row of the key point in keypoints.csv, from 0 in each frame and camera. */
static void descriptor_rows(FILE *f, const struct frame_data *s)
{
    const vfront_result_t *r = s->result;
    char text[65];
    for (int32_t c = 0; c < s->cameras; c++)
        for (uint32_t i = 0; i < r->descriptors_count[c]; i++) {
            descriptor_text(&r->descriptors[c][i], text);
            fprintf(f, "%" PRIu64 ",%" PRId32 ",%" PRIu32 ",%s\n", r->frame, c, i, text);
        }
}
#endif

#if VFRONT_STEREO
static void depth_header(FILE *f, int32_t cameras)
{
    (void)cameras;
    fputs("frame,keypoint,partner,x0_px,y0_px,x1_px,y1_px,depth_m,sigma_m,distance\n", f);
}

/** `keypoint` and `partner` (the stereo match; -1: none) are rows of keypoints.csv, from 0 in each frame and camera.
 *  x1_px, y1_px is the refined position of the match, not that of its key point. */
static void depth_rows(FILE *f, const struct frame_data *s)
{
    const vfront_result_t *r = s->result;
    for (uint32_t i = 0; i < r->depths_count; i++) {
        const vfront_depth_t *d = &r->depths[i];
        const vfront_keypoint_t *k = &r->keypoints[0][d->keypoint];
        const int partner = d->match == VFRONT_NO_MATCH ? -1 : d->match;
        fprintf(f, "%" PRIu64 ",%u,%d", r->frame, (unsigned)d->keypoint, partner);
        fprintf(f, ",%.9g,%.9g,%.9g,%.9g", (double)k->x_px, (double)k->y_px, (double)d->x_px, (double)d->y_px);
        fprintf(f, ",%.9g,%.9g,%u\n", (double)d->depth_m, (double)d->sigma_m, (unsigned)d->distance);
    }
}
#endif

#if VFRONT_MATCHES
static void match_header(FILE *f, int32_t cameras)
{
    (void)cameras;
    fputs("frame,keypoint,before,x_px,y_px,x_before_px,y_before_px,distance,second,refined,id,age,agrees\n", f);
}

/** `before` is the row of a key point of camera 0 in the previous frame. */
static void match_rows(FILE *f, const struct frame_data *s)
{
    const vfront_result_t *r = s->result;
    for (uint32_t i = 0; i < r->matches_count; i++) {
        const vfront_match_t *m = &r->matches[i];
        fprintf(f, "%" PRIu64 ",%u,%u", r->frame, (unsigned)m->keypoint, (unsigned)m->before);
        fprintf(f, ",%.9g,%.9g,%.9g,%.9g", (double)m->x_px, (double)m->y_px, (double)m->x_before_px,
                (double)m->y_before_px);
        fprintf(f, ",%u,%u,%u,%" PRIu32 ",%" PRIu32 ",%u\n", (unsigned)m->distance, (unsigned)m->second,
                (unsigned)m->refined, m->id, m->age, (unsigned)m->agrees);
    }
}
#endif

static void motion_header(FILE *f, int32_t cameras)
{
    (void)cameras;
    fputs("frame,which,state,flags,pairs,inliers,others,hypotheses,needed,rms_px,parallax_px,qx,qy,qz,qw,tx,ty,tz,"
          "sigma_tx,sigma_ty,sigma_tz,sigma_rx_rad,sigma_ry_rad,sigma_rz_rad\n",
          f);
}

/** Names of flags, separated by spaces. */
static void write_flags(FILE *f, uint32_t flags)
{
    const char *before = "";
    for (uint32_t bit = 1; bit && bit <= flags; bit <<= 1) {
        if (!(flags & bit)) continue;
        fprintf(f, "%s%s", before, motion_flag_name(bit));
        before = " ";
    }
}

/** Quaternion of a rotation in single precision, orthonormalised before. */
static void write_rotation(FILE *f, const float R[9])
{
    double nearest[9], q[4];
    for (int i = 0; i < 9; i++) nearest[i] = (double)R[i];
    pose_orthonormalise(nearest);
    pose_quaternion(nearest, q);
    fprintf(f, ",%.9g,%.9g,%.9g,%.9g", q[0], q[1], q[2], q[3]);
}

static void motion_row(FILE *f, uint64_t frame, const char *which, const vfront_motion_t *m)
{
    static const int diagonal[6] = {0, 6, 11, 15, 18, 20};
    if (m->state == VFRONT_MOTION_NONE) return;
    fprintf(f, "%" PRIu64 ",%s,%s,", frame, which, motion_state_name(m->state));
    write_flags(f, m->flags);
    fprintf(f, ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%.9g,%.9g", m->pairs, m->inliers,
            m->others, m->hypotheses, m->needed, (double)m->rms_px, (double)m->parallax_px);
    write_rotation(f, m->R);
    fprintf(f, ",%.9g,%.9g,%.9g", (double)m->t[0], (double)m->t[1], (double)m->t[2]);
    for (int i = 0; i < 6; i++) fprintf(f, ",%.9g", (double)sqrtf(m->covariance[diagonal[i]]));
    fputc('\n', f);
}

static void motion_rows(FILE *f, const struct frame_data *s)
{
    motion_row(f, s->result->frame, "relative", &s->result->relative);
    motion_row(f, s->result->frame, "metric", &s->result->metric);
}

/** Columns: the upper triangle of the covariance of (t, w), row by row. */
static void covariance_header(FILE *f, int32_t cameras)
{
    static const char *const axis[] = {"tx", "ty", "tz", "rx", "ry", "rz"};
    (void)cameras;
    fputs("frame,which", f);
    for (int i = 0; i < 6; i++)
        for (int k = i; k < 6; k++) fprintf(f, ",%s_%s", axis[i], axis[k]);
    fputc('\n', f);
}

static void covariance_row(FILE *f, uint64_t frame, const char *which, const vfront_motion_t *m)
{
    if (m->state != VFRONT_MOTION_GOOD) return;
    fprintf(f, "%" PRIu64 ",%s", frame, which);
    for (int i = 0; i < 21; i++) fprintf(f, ",%.9g", (double)m->covariance[i]);
    fputc('\n', f);
}

static void covariance_rows(FILE *f, const struct frame_data *s)
{
    covariance_row(f, s->result->frame, "relative", &s->result->relative);
    covariance_row(f, s->result->frame, "metric", &s->result->metric);
}

static void prediction_header(FILE *f, int32_t cameras)
{
    (void)cameras;
    fputs("frame,source,qx,qy,qz,qw,tx,ty,tz,sigma_tx,sigma_ty,sigma_tz,sigma_rx_rad,sigma_ry_rad,sigma_rz_rad\n", f);
}

static void prediction_rows(FILE *f, const struct frame_data *s)
{
    static const char *const source[] = {"nothing", "rotation", "motion", "both",  "turn",
                                         "?",       "?",        "?",      "state", "state rotation"};
    static const int diagonal[6] = {0, 6, 11, 15, 18, 20};
    const vfront_prediction_t *p = &s->result->predicted;
    if (s->result->frame == 0) return;
    fprintf(f, "%" PRIu64 ",%s", s->result->frame,
            p->source < sizeof source / sizeof *source ? source[p->source] : "?");
    write_rotation(f, p->R);
    fprintf(f, ",%.9g,%.9g,%.9g", (double)p->t[0], (double)p->t[1], (double)p->t[2]);
    for (int i = 0; i < 6; i++) fprintf(f, ",%.9g", (double)sqrtf(p->covariance[diagonal[i]]));
    fputc('\n', f);
}

static void no_header(FILE *f, int32_t cameras)
{
    (void)f;
    (void)cameras;
}

static void trajectory_rows(FILE *f, const struct frame_data *s)
{
    trajectory_write_tum(f, s->trajectory->t_ns, &s->trajectory->pose);
}

static void kitti_rows(FILE *f, const struct frame_data *s) { trajectory_write_kitti(f, &s->trajectory->pose); }

static void truth_rows(FILE *f, const struct frame_data *s)
{
    if (s->trajectory->has_truth) trajectory_write_tum(f, s->trajectory->t_ns, &s->trajectory->truth);
}

/** Standard deviations in the order of the values before them. */
static void state_header(FILE *f, int32_t cameras)
{
    (void)cameras;
    fputs("frame,t_ns,state,flags,reset_counter,quality,landmarks,age_ns,residual_mean_square,t_imu_ns,px,py,pz,vx,vy,"
          "vz,qx,qy,qz,qw,"
          "bgx,bgy,bgz,bax,bay,baz,offset_s,sigma_px,sigma_py,sigma_pz,sigma_vx,sigma_vy,sigma_vz,sigma_rx_rad,"
          "sigma_ry_rad,sigma_rz_rad,sigma_bgx,sigma_bgy,sigma_bgz,sigma_bax,sigma_bay,sigma_baz,sigma_offset_s,"
          "protection,level_px,level_py,level_pz,level_vx,level_vy,level_vz,level_rx_rad,level_ry_rad,level_rz_rad\n",
          f);
}

static void write_doubles(FILE *f, const double *v, int count)
{
    for (int i = 0; i < count; i++) fprintf(f, ",%.17g", v[i]);
}

/** Names of the bits of vfront_nav_t.flags. */
static void nav_flags(FILE *f, uint32_t flags)
{
    static const char *const name[] = {"saturated", "gap",        "stationary", "no-gravity", "no-scale",
                                       "disputed",  "one-camera", "no-accel",   "no-imu"};
    const char *before = "";
    for (uint32_t i = 0; i < sizeof name / sizeof *name; i++) {
        if (!(flags >> i & 1)) continue;
        fprintf(f, "%s%s", before, name[i]);
        before = " ";
    }
}

/** Name of a vfront_protection_t. */
static const char *protection_name(uint32_t protection)
{
    static const char *const name[] = {"no-state", "given", "no-bank", "no-member", "no-origin"};
    return protection < sizeof name / sizeof *name ? name[protection] : "?";
}

/** What the state of a frame is; empty values without one. A state that is lost is no more than the last one. */
static void state_rows(FILE *f, const struct frame_data *s)
{
    static const int error[] = {0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11, 12, 13, 14}; /* as vfront_nav_t counts them */
    const vfront_nav_t *n = &s->result->nav;
    const double *q = n->q_odom_imu, xyzw[4] = {q[1], q[2], q[3], q[0]};
    fprintf(f, "%" PRIu64 ",%" PRIu64 ",%s,", s->result->frame, s->result->t_ns, state_name(n->state));
    nav_flags(f, n->flags);
    fprintf(f, ",%" PRIu32 ",%" PRIu32, n->reset_counter, n->quality);
    if (!s->state->has_state) {
        for (int i = 0; i < 47; i++) fputc(',', f);
        fputc('\n', f);
        return;
    }
    fprintf(f, ",%" PRIu32 ",%" PRIu64 ",%.17g,%" PRIu64, n->landmarks, n->age_ns, n->residual_mean_square, n->t_ns);
    write_doubles(f, n->position_m, 3);
    write_doubles(f, n->velocity_mps, 3);
    write_doubles(f, xyzw, 4);
    write_doubles(f, n->gyro_bias_rad_s, 3);
    write_doubles(f, n->accel_bias_m_s2, 3);
    write_doubles(f, &n->offset_s, 1);
    for (size_t i = 0; i < sizeof error / sizeof *error; i++)
        fprintf(f, ",%.17g", sqrt(fmax(state_variance(n, error[i]), 0.0)));
    write_doubles(f, &n->offset_sigma_s, 1);
    fprintf(f, ",%s", protection_name(n->protection));
    write_doubles(f, n->protection_level_m, 3);
    write_doubles(f, n->protection_level_mps, 3);
    write_doubles(f, n->protection_level_rad, 3);
    fputc('\n', f);
}

static void innovation_header(FILE *f, int32_t cameras)
{
    (void)cameras;
    innovations_header(f);
}

static void innovation_rows(FILE *f, const struct frame_data *s) { innovations_rows(f, s->result); }

static void state_trajectory_rows(FILE *f, const struct frame_data *s)
{
    if (s->state->has_state) trajectory_write_tum(f, s->state->t_ns, &s->state->pose);
}

static void state_truth_rows(FILE *f, const struct frame_data *s)
{
    if (s->state->has_state && s->state->has_truth) trajectory_write_tum(f, s->state->t_ns, &s->state->truth);
}

static void health_header(FILE *f, int32_t cameras)
{
    static const char *const of_camera[] = {
        "cells",         "starved",         "dropped", "brightness_grey",    "sharpness_grey",
        "dark_permille", "bright_permille", "frozen",  "brightness_changed", "sharpness_changed"};
    fputs("frame,t_ns,state,quality,reset_counter,motion_breaks,followed,born", f);
    for (uint32_t i = 1; i < VFRONT_ENDS; i++) fprintf(f, ",ended_%s", results_end_name(i));
    fputs(",overflow,full,gap,gyro_short,gyro_stuck,imu,imu_samples,irregular,interval_us,repeated,missing,late", f);
    fputs(",prior_rms_rad,dt_ns,stereo,stereo_permille,stereo_offset_px,calibration,contradiction", f);
    fputs(",epipolar_offset_px,epipolar_sigma_px,disparity_offset_px,disparity_sigma_px", f);
    for (int32_t c = 0; c < cameras; c++)
        for (size_t i = 0; i < sizeof of_camera / sizeof *of_camera; i++) fprintf(f, ",%s_%" PRId32, of_camera[i], c);
    fputc('\n', f);
}

static void health_rows(FILE *f, const struct frame_data *s)
{
    const uint32_t contradicts = VFRONT_MOTION_CONTRADICTS | VFRONT_MOTION_PRIOR | VFRONT_MOTION_JUMP;
    const vfront_result_t *r = s->result;
    const vfront_health_t *h = &r->health;
    fprintf(f, "%" PRIu64 ",%" PRIu64 ",%s,%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32, r->frame, r->t_ns,
            results_state_name(h->state), h->quality, h->reset_counter, h->motion_breaks, h->followed, h->born);
    for (uint32_t i = 1; i < VFRONT_ENDS; i++) fprintf(f, ",%" PRIu32, h->ended[i]);
    fprintf(f, ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32, h->overflow, h->full, h->gap, h->gyro_short);
    fprintf(f, ",%" PRIu32 ",", h->gyro_stuck);
    for (uint32_t i = 0, listed = 0; i < RESULTS_IMU_FAULTS; i++)
        if (h->imu >> i & 1) fprintf(f, "%s%s", listed++ ? " " : "", results_imu_fault_name(i));
    fprintf(f, ",%" PRIu32 ",%" PRIu32 ",%" PRIu32, h->imu_samples, h->irregular, h->interval_us);
    fprintf(f, ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%.9g,%" PRIu64, h->repeated, h->missing, h->late,
            (double)h->prior_rms_rad, h->dt_ns);
    fprintf(f, ",%s,%" PRIu32 ",%.9g,%" PRIu32 ",%d", results_stereo_name(h->stereo), h->stereo_permille,
            (double)h->stereo_offset_px, h->calibration, (contradicts & (r->relative.flags | r->metric.flags)) != 0);
    fprintf(f, ",%.9g,%.9g,%.9g,%.9g", (double)h->epipolar_offset_px, (double)h->epipolar_sigma_px,
            (double)h->disparity_offset_px, (double)h->disparity_sigma_px);
    for (int32_t c = 0; c < s->cameras; c++)
        fprintf(f,
                ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%.9g,%.9g,%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32
                ",%" PRIu32,
                h->cells[c], h->starved[c], h->dropped[c], (double)h->brightness_grey[c], (double)h->sharpness_grey[c],
                h->dark_permille[c], h->bright_permille[c], h->frozen[c], h->brightness_changed[c],
                h->sharpness_changed[c]);
    fputc('\n', f);
}

static void timing_header(FILE *f, int32_t cameras)
{
    (void)cameras;
    fputs("frame", f);
    for (size_t i = 0; i < VFRONT_STAGES; i++) fprintf(f, ",%s_us", vfront_stage_name(i));
    fputs(",device_us,step_us,overrun\n", f);
}

static void timing_rows(FILE *f, const struct frame_data *s)
{
    const vfront_result_t *r = s->result;
    fprintf(f, "%" PRIu64, r->frame);
    for (size_t i = 0; i < VFRONT_STAGES; i++) fprintf(f, ",%.9g", (double)r->timing.stage_us[i]);
    fprintf(f, ",%.9g,%.9g,%" PRIu32 "\n", (double)r->timing.device_us, (double)r->timing.step_us, r->timing.overrun);
}

#if VFRONT_STIXELS
static void stixel_header(FILE *f, int32_t cameras)
{
    (void)cameras;
    fputs("frame,column,x_px,width_px,base_px,top_px,type,disparity_px,distance_m,sigma_m,cost\n", f);
}

/** Columns from left to right, stixels of a column from the bottom up. */
static void stixel_rows(FILE *f, const struct frame_data *s)
{
    static const char *const type[] = {"ground", "object", "sky", "unknown"};
    const vfront_result_t *r = s->result;
    for (uint32_t i = 0; i < r->columns_count; i++)
        for (uint32_t k = 0; k < r->stixels_count[i]; k++) {
            const vfront_stixel_t *t = &r->stixels[i][k];
            fprintf(f, "%" PRIu64 ",%u,%u,%u,%u,%u,%s", r->frame, i, i * r->columns_width_px, r->columns_width_px,
                    t->base_px, t->top_px, type[t->type]);
            fprintf(f, ",%.9g,%.9g,%.9g,%.9g\n", (double)t->disparity_px, (double)t->distance_m, (double)t->sigma_m,
                    (double)t->cost);
        }
}

static void road_header(FILE *f, int32_t cameras)
{
    (void)cameras;
    fputs("frame,t_ns,state,votes,unseen,horizon_px,slope,pitch_rad,height_m,columns,crowded\n", f);
}

static void road_rows(FILE *f, const struct frame_data *s)
{
    static const char *const state[] = {"none", "seen", "held", "given"};
    const vfront_result_t *r = s->result;
    const vfront_road_t *road = &r->road;
    fprintf(f, "%" PRIu64 ",%" PRIu64 ",%s,%u,%u", r->frame, r->t_ns, state[road->state], road->votes, road->unseen);
    fprintf(f, ",%.9g,%.9g,%.9g,%.9g", (double)road->horizon_px, (double)road->slope, (double)road->pitch_rad,
            (double)road->height_m);
    fprintf(f, ",%u,%u\n", r->columns_count, r->columns_crowded);
}

/** Columns are named by the centres of their directions [deg], clockwise from straight ahead. */
static void obstacle_header(FILE *f, int32_t cameras)
{
    (void)cameras;
    fputs("frame,t_ns", f);
    for (int i = 0; i < VFRONT_OBSTACLE_BINS; i++) fprintf(f, ",cm_%d", i * 360 / VFRONT_OBSTACLE_BINS);
    fputc('\n', f);
}

static void obstacle_rows(FILE *f, const struct frame_data *s)
{
    fprintf(f, "%" PRIu64 ",%" PRIu64, s->result->frame, s->result->t_ns);
    for (int i = 0; i < VFRONT_OBSTACLE_BINS; i++) fprintf(f, ",%u", (unsigned)s->result->obstacles_cm[i]);
    fputc('\n', f);
}
#endif

static void loop_header(FILE *f, int32_t cameras)
{
    (void)cameras;
    loops_header(f);
}

static void loop_rows(FILE *f, const struct frame_data *s) { loops_rows(f, s->result); }

static void map_rows(FILE *f, const struct frame_data *s)
{
    pose_t pose;
    if (map_pose(s->result, &pose)) trajectory_write_tum(f, s->result->t_ns, &pose);
}

static void digest_rows(FILE *f, const struct frame_data *s)
{
    const vfront_result_t *r = s->result;
    fprintf(f, "%" PRIu64 " %" PRIu64 " %016" PRIx64 "\n", r->frame, r->t_ns, vfront_digest(r));
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/** Kind of file: name, writer of the header, writer of a frame's rows, and the RECORD_... that it needs, 0: always
 *  written. Without `rows` the build lacks the result, or another file writes it: a file of an earlier run is
 *  removed. */
static const struct output_file {
    const char *name;
    void (*header)(FILE *file, int32_t cameras);
    void (*rows)(FILE *file, const struct frame_data *frame_data);
    unsigned needs; /* RECORD_... */
} output_file[] = {
    {"tracks.csv", track_header, track_rows, RESULTS_POINTS},
    {"keypoints.csv", keypoint_header, keypoint_rows, RESULTS_POINTS},
#if VFRONT_DESCRIPTORS
    {"descriptors.csv", descriptor_header, descriptor_rows, RESULTS_DESCRIPTORS | RESULTS_POINTS},
#else
    {"descriptors.csv", NULL, NULL, RESULTS_DESCRIPTORS},
#endif
#if VFRONT_STEREO
    {"depth.csv", depth_header, depth_rows, RESULTS_DEPTHS | RESULTS_POINTS},
#else
    {"depth.csv", NULL, NULL, RESULTS_DEPTHS},
#endif
#if VFRONT_MATCHES
    {"matches.csv", match_header, match_rows, RESULTS_MATCHES | RESULTS_POINTS},
#else
    {"matches.csv", NULL, NULL, RESULTS_MATCHES},
#endif
    {"motion.csv", motion_header, motion_rows, RESULTS_MOTION | RESULTS_FRAMES},
    {"covariance.csv", covariance_header, covariance_rows, RESULTS_MOTION | RESULTS_FRAMES},
    {"prediction.csv", prediction_header, prediction_rows, RESULTS_MOTION | RESULTS_FRAMES},
    {"trajectory.txt", no_header, trajectory_rows, RESULTS_MOTION},
    {"trajectory_kitti.txt", no_header, kitti_rows, RESULTS_MOTION},
    {"truth.txt", no_header, truth_rows, RESULTS_MOTION | RESULTS_TRUTH},
    {"state.csv", state_header, state_rows, RESULTS_STATE | RESULTS_FRAMES},
    {"innovations.csv", innovation_header, innovation_rows, RESULTS_STATE | RESULTS_FRAMES},
    {"trajectory_state.txt", no_header, state_trajectory_rows, RESULTS_STATE},
    {"truth_state.txt", no_header, state_truth_rows, RESULTS_STATE | RESULTS_TRUTH},
    {"loops.csv", loop_header, loop_rows, RESULTS_LOOPS | RESULTS_FRAMES},
    {"trajectory_map_online.txt", no_header, map_rows, RESULTS_LOOPS},
    {"trajectory_map.txt", NULL, NULL, 0}, /* written after the run: map_path.h */
    {"map.svg", NULL, NULL, 0},            /* written after the run: map_plot.h */
    {"trajectory.svg", NULL, NULL, 0},     /* written after the run: plot.h */
    {"state.svg", NULL, NULL, 0},          /* likewise: state_plot.h */
    {"faults.csv", NULL, NULL, 0},         /* written frame by frame of the input: fault_log.h */
#if VFRONT_STIXELS
    {"stixels.csv", stixel_header, stixel_rows, RESULTS_STIXELS | RESULTS_POINTS},
    {"road.csv", road_header, road_rows, RESULTS_STIXELS | RESULTS_FRAMES},
    {"obstacles.csv", obstacle_header, obstacle_rows, RESULTS_STIXELS | RESULTS_FRAMES},
#else
    {"stixels.csv", NULL, NULL, RESULTS_STIXELS},
    {"road.csv", NULL, NULL, RESULTS_STIXELS},
    {"obstacles.csv", NULL, NULL, RESULTS_STIXELS},
#endif
    {"health.csv", health_header, health_rows, RESULTS_FRAMES},
    {"timing.csv", timing_header, timing_rows, RESULTS_FRAMES},
    {"digest.txt", no_header, digest_rows, 0},
};
#define OUTPUT_FILES (sizeof output_file / sizeof *output_file)

struct results {
    char folder[PATH_BYTES];
    int32_t cameras;
    unsigned there;           /* RECORD_... */
    FILE *file[OUTPUT_FILES]; /* NULL: not written */
};

/** Create one folder, unless it exists. Returns 0 on failure. */
static int make_folder(const char *path)
{
    struct stat s;
    if (mkdir(path, 0777) == 0) return 1;
    if (errno != EEXIST || stat(path, &s)) return 0;
    errno = ENOTDIR;
    return S_ISDIR(s.st_mode);
}

const char *results_folder(const char *folder)
{
    char path[PATH_BYTES];
    errno = ENAMETOOLONG;
    if (strlen(folder) >= sizeof path) return fail(folder, "");
    strcpy(path, folder);
    for (char *at = path + 1; *path && *at; at++) {
        if (*at != '/') continue;
        *at = 0;
        if (!make_folder(path)) return fail(path, "");
        *at = '/';
    }
    return make_folder(path) ? NULL : fail(folder, "");
}

/** Flush a file. */
static const char *flush(struct results *results, size_t i)
{
    const int failed = ferror(results->file[i]);
    return fflush(results->file[i]) || failed ? fail(results->folder, output_file[i].name) : NULL;
}

/** Remove a file of an earlier run, which would be taken for one of this run. */
static const char *remove_file(const struct results *results, size_t i, const char *path)
{
    return remove(path) && errno != ENOENT ? fail(results->folder, output_file[i].name) : NULL;
}

static const char *open_file(struct results *results, size_t i)
{
    char path[PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/%s", results->folder, output_file[i].name);
    if (!output_file[i].rows || output_file[i].needs & ~results->there) return remove_file(results, i, path);
    results->file[i] = fopen(path, "w");
    if (!results->file[i]) return fail(results->folder, output_file[i].name);
    output_file[i].header(results->file[i], results->cameras);
    return flush(results, i);
}

const char *results_open(results_t **out, const char *folder, int32_t cameras, unsigned there)
{
    *out = NULL;
    const char *error = results_folder(folder);
    if (error) return error;
    struct results *results = calloc(1, sizeof *results);
    if (!results) return fail(folder, "");
    strcpy(results->folder, folder);
    results->cameras = cameras;
    results->there = there;
    for (size_t i = 0; i < OUTPUT_FILES && !error; i++) error = open_file(results, i);
    if (error)
        results_close(results);
    else
        *out = results;
    return error;
}

const char *results_frame(results_t *results, const vfront_result_t *result, const trajectory_frame_t *trajectory,
                          const state_frame_t *state)
{
    const struct frame_data frame_data = {results->cameras, result, trajectory, state};
    for (size_t i = 0; i < OUTPUT_FILES; i++) {
        if (!results->file[i]) continue;
        errno = 0;
        output_file[i].rows(results->file[i], &frame_data);
        const char *error = flush(results, i);
        if (error) return error;
    }
    return NULL;
}

const char *results_close(results_t *results)
{
    const char *error = NULL;
    for (size_t i = 0; results && i < OUTPUT_FILES; i++) {
        if (!results->file[i] || fclose(results->file[i]) == 0 || error) continue;
        error = fail(results->folder, output_file[i].name);
    }
    free(results);
    return error;
}
