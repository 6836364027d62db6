/* SPDX-License-Identifier: MIT */
/* Camera motions as a shared library for tests/geometry/ego.py: the stage alone on given correspondences (compiled from
 * its own source, because it fills the lists itself); the minimal solvers alone; and recorded or rendered sequences
 * over the public interface. */
#define _POSIX_C_SOURCE 199309L
#include "ego/ego.c"

#include <time.h>

#include "core/memory.h"
#include "examples/synthetic/synthetic.h"
#include "tests/fixture/rig.h"
#include "tests/fixture/settings.h"

/* Layout of a motion: state, flags, pairs, inliers, others, hypotheses, needed, rms_px, parallax_px, R[9], t[3],
 * covariance[21]. */
enum { MOTION = 42 };
/* Layout of a given correspondence: previous and current bearing; size of its pixels [px of level 0]; previous distance
 * and its standard deviation, then the current ones [m]; 0: unknown. */
enum { GIVEN = 11 };
/* Layout of a correspondence of a sequence: 1 for a match, 0 for a track; previous and current position [px]; then the
 * values of GIVEN; VFRONT_AGREES_... mask; residual [grey levels], or descriptor distance [bits]. */
enum { PAIR = 18 };
/* Layout of a depth: position of the key point [px]; size of its pixels [px of level 0]; depth and its standard
 * deviation [m]; 1: it has a match in camera 1. */
enum { DEPTH = 6 };
/* Layout of a track: id, position [px], age, residual [grey levels]. */
enum { TRACK = 5 };
/* Layout of a track's stereo partner: position of the track [px], its age; position in camera 1 [px], disparity and its
 * standard deviation [px], 0: none; depth and its standard deviation [m], 0: none. */
enum { PARTNER = 9 };

int bridge_solve(const char *settings, double focal_px, int frame, int count, const float *given, float *motions,
                 uint8_t *agrees);
double bridge_solve_us(int repeat);
int bridge_minimal(int kind, int size, const float *given, float *poses);
double bridge_minimal_us(int kind, int size, int sets, const float *given);
int bridge_open(int count, const double *cameras, const char *settings);
int bridge_step(const uint8_t *left, const uint8_t *right, const double *R_cur_prev);
void bridge_interval(int ms);
int bridge_flight(const char *settings);
int bridge_flight_off(const char *settings, double right_px, double down_px);
void bridge_rig(float *out);
int bridge_fly(int frame, int rotation);
int bridge_fly_from(int frame, const double *R, const double *t, const double *R_cur_prev);
void bridge_picture(int camera, uint8_t *out);
void bridge_disparity(int frame, float *out);
void bridge_disparity_from(const double *R, const double *t, float *out);
int bridge_depths(int most, float *out);
void bridge_pose(int frame, double *R, double *t);
void bridge_motion(int which, float *out);
int bridge_predicted(float *out);
int bridge_pairs(int most, float *out);
int bridge_tracks(int most, double *out);
int bridge_partners(int most, float *out);
double bridge_stage_us(const char *name);
void bridge_close(void);

static void put_motion(const vfront_motion_t *m, float out[MOTION])
{
    const float head[9] = {(float)m->state,      (float)m->flags,  (float)m->pairs, (float)m->inliers, (float)m->others,
                           (float)m->hypotheses, (float)m->needed, m->rms_px,       m->parallax_px};
    memcpy(out, head, sizeof head);
    memcpy(out + 9, m->R, sizeof m->R);
    memcpy(out + 18, m->t, sizeof m->t);
    memcpy(out + 21, m->covariance, sizeof m->covariance);
}

/** Processor time of this thread [us], independent of other processes. */
static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/* ---- the stage alone --------------------------------------------------------------------------------------------- */

static struct vf_memory memory;
static struct vf_step step;
static struct vf_ego_view view; /* view of `step` */

static struct vf_correspondence correspondence_given(const float *given)
{
    struct vf_correspondence s;
    for (int k = 0; k < 3; k++) {
        s.before[k] = given[k];
        s.now[k] = given[3 + k];
    }
    s.weight = vf_ego_weight(&view, given[6]);
    s.range_m = given[7];
    s.range_sigma_m = given[8];
    s.inverse_depth_1pm = given[9] > 0.0f ? 1.0f / given[9] : 0.0f;
    s.inverse_depth_sigma_1pm = given[9] > 0.0f ? given[10] / (given[9] * given[9]) : 0.0f;
    return s;
}

/**
 * Estimate motions from correspondences in the order in which the stage would list them.
 *
 * @param[in]  frame    Frame number, key of the random draws, at least 1.
 * @param[in]  count    Correspondences, at most VFRONT_CORRESPONDENCES.
 * @param[in]  given    [count][GIVEN]
 * @param[out] motions  [2][MOTION]: relative, metric.
 * @param[out] agrees   [count]: masks of VFRONT_AGREES_RELATIVE, VFRONT_AGREES_METRIC.
 * @return 0 or a negative status.
 */
int bridge_solve(const char *settings, double focal_px, int frame, int count, const float *given, float *motions,
                 uint8_t *agrees)
{
    struct vf_ego_memory *m = &memory.ego;
    vfront_tuning_default(&step.tuning);
    const vfront_status_t status = tune(&step.tuning, settings);
    if (status) return status;
    if (count > VFRONT_CORRESPONDENCES) return VFRONT_E_SIZE;
    step.memory = &memory;
    step.geometry.cameras = 2;
    step.geometry.calibrated[0] = step.geometry.calibrated[1] = step.geometry.pair.placed = 1;
    step.geometry.focal_px[0] = step.geometry.focal_px[1] = (float)focal_px;
    vf_geometry_derive(&step.geometry, &step.tuning);
    vf_ego_make_view(&view, &step);
    memory.ingest.params.frame = (uint64_t)frame;
    for (int i = 0; i < 2; i++) memory.stereo.pair[i].state = VFRONT_STEREO_GOOD;
    memset(m->inlier_mask, 0, sizeof m->inlier_mask);
    m->count[0] = m->count[1] = 0;
    for (int i = 0; i < count; i++) {
        const struct vf_correspondence s = correspondence_given(given + GIVEN * i);
        vf_ego_store(&m->list[0], (int32_t)m->count[0]++, &s, i);
        const struct vf_correspondence metric = vf_ego_metric_correspondence(&view, s);
        if (s.range_m > 0.0f) vf_ego_store(&m->list[1], (int32_t)m->count[1]++, &metric, i);
    }
    solve(&view);
    put_motion(&m->relative, motions);
    put_motion(&m->metric, motions + MOTION);
    memcpy(agrees, m->inlier_mask, (size_t)count);
    return 0;
}

static int by_value(const void *a, const void *b)
{
    const double d = *(const double *)a - *(const double *)b;
    return (d > 0.0) - (d < 0.0);
}

/** Time of the last problem, solved again [us]: median of `repeat`, at most 100. */
double bridge_solve_us(int repeat)
{
    double us[100];
    for (int i = 0; i < repeat; i++) {
        const double start_us = now_us();
        solve(&view);
        us[i] = now_us() - start_us;
    }
    qsort(us, (size_t)repeat, sizeof us[0], by_value);
    return us[repeat / 2];
}

/** Writes the motions of a kind (0 relative, 1 rotation, 2 metric) from a minimal sample: [10][12], R and t. Returns
 *  their number. */
int bridge_minimal(int kind, int size, const float *given, float *poses)
{
    struct vf_correspondence sample[VF_EGO_SAMPLE_MAX];
    struct vf_pose pose[10];
    for (int i = 0; i < size; i++) sample[i] = correspondence_given(given + GIVEN * i);
    const int count = vf_ego_minimal(&view, kind, size, sample, pose);
    for (int i = 0; i < count; i++) {
        memcpy(poses + 12 * i, pose[i].R, sizeof pose[i].R);
        memcpy(poses + 12 * i + 9, pose[i].t, sizeof pose[i].t);
    }
    return count;
}

/** Time of bridge_minimal(), averaged over sets of samples [us]. */
double bridge_minimal_us(int kind, int size, int sets, const float *given)
{
    float poses[120];
    const double start_us = now_us();
    for (int i = 0; i < sets; i++) bridge_minimal(kind, size, given + GIVEN * size * i, poses);
    return (now_us() - start_us) / sets;
}

/* ---- sequences --------------------------------------------------------------------------------------------------- */

static vfront_t vf;
static vfront_rig_t rig;
static const vfront_result_t *result, *before;
static uint64_t frames, interval_ns = 50000000;
static synthetic_t *flight;
static uint8_t picture[2][SYNTHETIC_WIDTH_PX * SYNTHETIC_HEIGHT_PX];

static int start(const char *settings)
{
    vfront_tuning_t tuning;
    vfront_tuning_default(&tuning);
    frames = 0;
    result = before = NULL;
    vfront_status_t status = tune(&tuning, settings);
    if (status) return status;
    status = vfront_init(&vf, &rig, &tuning, VFRONT_PORT_HOST);
    if (status) set_detail(vfront_detail(&vf));
    return status;
}

/**
 * Initialise a front end on the host port, standard tuning but for `settings`. Shuts down the previous one.
 *
 * @param[in] count    Cameras, 1 or 2.
 * @param[in] cameras  [count][CAMERA], as rig.h has it.
 * @return    0 or a negative status; bridge_detail() has its detail.
 */
int bridge_open(int count, const double *cameras, const char *settings)
{
    bridge_close();
    memset(&rig, 0, sizeof rig);
    rig.cameras = count;
    for (int k = 0; k < count; k++) set_camera(&rig.camera[k], cameras + CAMERA * k);
    return start(settings);
}

/** Sets the time between frames [ms]; 50 initially. */
void bridge_interval(int ms) { interval_ns = (uint64_t)ms * 1000000u; }

/** Steps with grey images, [height][width], one interval after the previous ones; right and R_cur_prev may be NULL.
 *  Returns 0 or a negative status. */
int bridge_step(const uint8_t *left, const uint8_t *right, const double *R_cur_prev)
{
    vfront_frame_t frame = {.t_ns = 1 + interval_ns * frames++, .R_cur_prev = R_cur_prev};
    for (int k = 0; k < rig.cameras; k++) {
        frame.picture[k].data = k ? right : left;
        frame.picture[k].width_px = rig.camera[k].width_px;
        frame.picture[k].height_px = rig.camera[k].height_px;
        frame.picture[k].pitch_bytes = (uint32_t)rig.camera[k].width_px;
    }
    before = result;
    const vfront_status_t status = vfront_step(&vf, &frame, &result);
    if (status) set_detail(vfront_detail(&vf));
    return status;
}

/** Initialises a front end for the rendered flight of examples/synthetic/synthetic.h. */
int bridge_flight(const char *settings)
{
    bridge_close();
    if (!flight) flight = synthetic_open(SYNTHETIC_WIDTH_PX, SYNTHETIC_HEIGHT_PX);
    if (!flight) return VFRONT_E_NULL;
    synthetic_rig(flight, &rig);
    return start(settings);
}

/** bridge_flight() with a calibration of camera 1 whose principal point is off by right_px and down_px. */
int bridge_flight_off(const char *settings, double right_px, double down_px)
{
    bridge_close();
    if (!flight) flight = synthetic_open(SYNTHETIC_WIDTH_PX, SYNTHETIC_HEIGHT_PX);
    if (!flight) return VFRONT_E_NULL;
    synthetic_rig(flight, &rig);
    rig.camera[1].cx_px += right_px;
    rig.camera[1].cy_px += down_px;
    return start(settings);
}

/** Writes the offsets of the rig after the last frame [px]: epipolar offset, its standard deviation; disparity offset,
 *  its standard deviation. */
void bridge_rig(float *out)
{
    const vfront_health_t *h = &result->health;
    const float row[4] = {h->epipolar_offset_px, h->epipolar_sigma_px, h->disparity_offset_px, h->disparity_sigma_px};
    memcpy(out, row, sizeof row);
}

/** Renders a frame and steps. rotation: 1: the frame has a rotation prior. Returns 0 or a negative status. */
int bridge_fly(int frame, int rotation)
{
    double R[9];
    for (int k = 0; k < 2; k++) synthetic_render(flight, (uint32_t)frame, k, picture[k], SYNTHETIC_WIDTH_PX);
    synthetic_rotation((uint32_t)frame, R);
    return bridge_step(picture[0], picture[1], rotation ? R : NULL);
}

/** Renders a frame from a pose of camera 0, camera to world, and steps. R_cur_prev: rotation prior, may be NULL.
 *  Returns 0 or a negative status. */
int bridge_fly_from(int frame, const double *R, const double *t, const double *R_cur_prev)
{
    for (int k = 0; k < 2; k++) synthetic_render_from(flight, (uint32_t)frame, R, t, k, picture[k], SYNTHETIC_WIDTH_PX);
    return bridge_step(picture[0], picture[1], R_cur_prev);
}

/** Copies the image of a camera rendered last: [SYNTHETIC_HEIGHT_PX][SYNTHETIC_WIDTH_PX]. */
void bridge_picture(int camera, uint8_t *out) { memcpy(out, picture[camera], sizeof picture[camera]); }

/** True disparity of every pixel in a frame of the flight: [SYNTHETIC_HEIGHT_PX][SYNTHETIC_WIDTH_PX] [px]. */
void bridge_disparity(int frame, float *out) { synthetic_disparity(flight, (uint32_t)frame, out, SYNTHETIC_WIDTH_PX); }

/** True disparity from a pose of camera 0, camera to world. */
void bridge_disparity_from(const double *R, const double *t, float *out)
{
    synthetic_disparity_from(flight, R, t, out, SYNTHETIC_WIDTH_PX);
}

/** Depths of the last frame: [most][DEPTH]. Returns their number. */
int bridge_depths(int most, float *out)
{
    int count = 0;
    for (uint32_t i = 0; i < result->depths_count && count < most; i++) {
        const vfront_depth_t *d = &result->depths[i];
        const vfront_keypoint_t *k = &result->keypoints[0][d->keypoint];
        const float row[DEPTH] = {k->x_px,    k->y_px,    level_scale(k->level),
                                  d->depth_m, d->sigma_m, d->match != VFRONT_NO_MATCH};
        memcpy(out + DEPTH * count++, row, sizeof row);
    }
    return count;
}

/** Pose of camera 0 in a frame of the flight: camera to world. */
void bridge_pose(int frame, double *R, double *t) { synthetic_pose((uint32_t)frame, R, t); }

/** Writes the motion of the last frame: 0 relative, 1 metric, 2 last good. */
void bridge_motion(int which, float *out)
{
    put_motion(which == 0 ? &result->relative : which == 1 ? &result->metric : &result->good, out);
}

/** Writes the predicted motion of the last frame, in the layout of a motion, state VFRONT_MOTION_GOOD. Returns its
 *  source. */
int bridge_predicted(float *out)
{
    vfront_motion_t m;
    memset(&m, 0, sizeof m);
    m.state = VFRONT_MOTION_GOOD;
    memcpy(m.R, result->predicted.R, sizeof m.R);
    memcpy(m.t, result->predicted.t, sizeof m.t);
    memcpy(m.covariance, result->predicted.covariance, sizeof m.covariance);
    put_motion(&m, out);
    return (int)result->predicted.source;
}

static const vfront_track_t *track_before(uint64_t id)
{
    for (uint32_t i = 0; i < before->tracks_count; i++)
        if (before->tracks[i].id == id) return &before->tracks[i];
    return NULL;
}

/** Distance from the camera and its standard deviation of a key point; 0: unknown. */
static void put_range(const vfront_result_t *r, uint32_t keypoint, float out[2])
{
    out[0] = out[1] = 0.0f;
    for (uint32_t i = 0; i < r->depths_count; i++) {
        if (r->depths[i].keypoint != keypoint) continue;
        out[0] = r->depths[i].depth_m / r->keypoints[0][keypoint].bearing[2];
        out[1] = r->depths[i].sigma_m / r->keypoints[0][keypoint].bearing[2];
    }
}

static void put_track(const vfront_track_t *t, const vfront_track_t *was, float out[PAIR])
{
    const float row[PAIR] = {0.0f, was->x_px, was->y_px, t->x_px, t->y_px};
    memcpy(out, row, sizeof row);
    memcpy(out + 5, was->bearing, sizeof was->bearing);
    memcpy(out + 8, t->bearing, sizeof t->bearing);
    out[11] = VF_EGO_SUBPIXEL_ERROR;
    out[16] = (float)t->agrees;
    out[17] = t->residual_grey;
}

static void put_match(const vfront_match_t *m, float out[PAIR])
{
    const vfront_keypoint_t *k = &result->keypoints[0][m->keypoint], *was = &before->keypoints[0][m->before];
    const float row[PAIR] = {1.0f, was->x_px, was->y_px, m->x_px, m->y_px};
    memcpy(out, row, sizeof row);
    memcpy(out + 5, was->bearing, sizeof was->bearing);
    memcpy(out + 8, m->bearing, sizeof m->bearing);
    out[11] = m->refined ? VF_EGO_SUBPIXEL_ERROR : level_scale(k->level > was->level ? k->level : was->level);
    put_range(before, m->before, out + 12);
    put_range(result, m->keypoint, out + 14);
    out[16] = (float)m->agrees;
    out[17] = (float)m->distance;
}

/** Correspondences of the last frame with the previous one: [most][PAIR], tracks then matches. Returns their number. */
int bridge_pairs(int most, float *out)
{
    int count = 0;
    if (!before) return 0;
    for (uint32_t i = 0; i < result->tracks_count && count < most; i++) {
        const vfront_track_t *was = result->tracks[i].age ? track_before(result->tracks[i].id) : NULL;
        if (was) put_track(&result->tracks[i], was, out + PAIR * count++);
    }
    for (uint32_t i = 0; i < result->matches_count && count < most; i++)
        put_match(&result->matches[i], out + PAIR * count++);
    return count;
}

/** Tracks of the last frame: [most][TRACK]. Returns their number. */
int bridge_tracks(int most, double *out)
{
    int count = 0;
    for (uint32_t i = 0; i < result->tracks_count && count < most; i++) {
        const vfront_track_t *t = &result->tracks[i];
        const double row[TRACK] = {(double)t->id, t->x_px, t->y_px, t->age, t->residual_grey};
        memcpy(out + TRACK * count++, row, sizeof row);
    }
    return count;
}

/** Stereo partners of the tracks of the last frame: [most][PARTNER]. Returns the number of tracks. */
int bridge_partners(int most, float *out)
{
    int count = 0;
    for (uint32_t i = 0; i < result->tracks_count && count < most; i++) {
        const vfront_track_t *t = &result->tracks[i];
        const float row[PARTNER] = {t->x_px,         t->y_px,         (float)t->age,         t->stereo_x_px,
                                    t->stereo_y_px,  t->disparity_px, t->disparity_sigma_px, t->depth_m,
                                    t->depth_sigma_m};
        memcpy(out + PARTNER * count++, row, sizeof row);
    }
    return count;
}

/** Time of a stage in the last frame [us]. */
double bridge_stage_us(const char *name)
{
    for (size_t i = 0; i < VFRONT_STAGES; i++)
        if (!strcmp(vfront_stage_name(i), name)) return (double)result->timing.stage_us[i];
    return -1.0;
}

/** Shuts down the front end, if there is one. */
void bridge_close(void) { vfront_shutdown(&vf); }
