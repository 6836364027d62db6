/* SPDX-License-Identifier: MIT */
/* Files and drawings of replay (examples/replay/results.h, overlay.h) from constructed results, of which every number
 * is
 *  known. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "examples/replay/overlay_internal.h"
#include "examples/replay/results.h"

#define WIDTH 160
#define HEIGHT 120
#define ALL                                                                                                            \
    (RESULTS_DESCRIPTORS | RESULTS_DEPTHS | RESULTS_MATCHES | RESULTS_MOTION | RESULTS_TRUTH | RESULTS_STATE |         \
     RESULTS_FRAMES | RESULTS_POINTS)

static char folder[] = P_tmpdir "/vfront-record-XXXXXX";
static vfront_result_t result[2]; /* before and now */
static trajectory_frame_t place[2];
static states_t states;

static int make_folder(void **state)
{
    (void)state;
    return !mkdtemp(folder);
}

static int remove_folder(void **state)
{
    static const char *const name[] = {"tracks.csv",           "keypoints.csv",   "descriptors.csv", "depth.csv",
                                       "matches.csv",          "health.csv",      "motion.csv",      "trajectory.txt",
                                       "trajectory_kitti.txt", "truth.txt",       "trajectory.svg",  "timing.csv",
                                       "digest.txt",           "prediction.csv",  "covariance.csv",  "state.csv",
                                       "trajectory_state.txt", "truth_state.txt", "innovations.csv"};
    (void)state;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char path[80];
        snprintf(path, sizeof path, "%s/%s", folder, name[i]);
        unlink(path);
    }
    return rmdir(folder);
}

/** Motions with all their bits, turned by a quarter about z; the first frame has none and no ground truth. */
static void make_motions(void)
{
    static const float quarter[9] = {0, -1, 0, 1, 0, 0, 0, 0, 1};
    memset(place, 0, sizeof place);
    place[0].pose = pose_identity;
    place[1] = (trajectory_frame_t){
        .t_ns = 1234567890123456789u, .has_truth = 1, .pose = pose_identity, .truth = pose_identity};
    place[1].pose.t[0] = 1.0 / 3.0;
    place[1].truth.t[2] = -2.5;
    for (int i = 0; i < 9; i++) place[1].pose.R[i] = (double)quarter[i];
    vfront_motion_t *m = &result[1].relative;
    *m = (vfront_motion_t){
        .state = VFRONT_MOTION_GOOD, .flags = VFRONT_MOTION_STILL | VFRONT_MOTION_TWO, .pairs = 100, .inliers = 90};
    m->others = 5;
    m->hypotheses = 512;
    m->needed = 1000000;
    m->rms_px = 1.0f / 3.0f;
    m->parallax_px = 1e-7f / 3.0f;
    memcpy(m->R, quarter, sizeof quarter);
    for (int i = 0; i < 3; i++) m->t[i] = (float)(i + 1) / 3.0f;
    for (int i = 0; i < 21; i++) m->covariance[i] = (float)(i * i); /* the diagonal is 0, 6, 11, 15, 18, 20 */
    vfront_prediction_t *p = &result[1].predicted;
    p->source = VFRONT_PREDICT_ROTATION | VFRONT_PREDICT_MOTION;
    memcpy(p->R, quarter, sizeof quarter);
    for (int i = 0; i < 3; i++) p->t[i] = (float)(i + 1);
    memcpy(p->covariance, m->covariance, sizeof p->covariance);
    result[1].metric.state = VFRONT_MOTION_UNSURE;
    result[1].metric.R[0] = result[1].metric.R[4] = result[1].metric.R[8] = 1.0f;
}

/** No state, then one with another value in each member, at a yaw of a quarter; ground truth has another place and
 *  yaw. */
static void make_states(void)
{
    vfront_nav_t *n = &result[1].nav;
    dataset_state_t truth = {.T_world_imu = pose_identity};
    truth.T_world_imu.t[0] = 100.0;
    result[0].nav.state = VFRONT_NAV_INITIALISING;
    result[0].nav.quality = 1;
    *n = (vfront_nav_t){.t_ns = 1234567890123456787u,
                        .q_odom_imu = {sqrt(0.5), 0.0, 0.0, sqrt(0.5)},
                        .flags = VFRONT_NAV_SATURATED | VFRONT_NAV_GAP,
                        .state = VFRONT_NAV_COASTING,
                        .age_ns = 77,
                        .offset_s = 1.0 / 3e3,
                        .offset_sigma_s = 1.0 / 7e3,
                        .residual_mean_square = 2.0 / 3.0,
                        .landmarks = 44,
                        .quality = 33,
                        .reset_counter = 3,
                        .protection = VFRONT_PROTECTION_GIVEN};
    for (int k = 0; k < 3; k++) {
        n->protection_level_m[k] = 13.0 + k;
        n->protection_level_mps[k] = 16.0 + k;
        n->protection_level_rad[k] = 19.0 + k;
        n->position_m[k] = (1.0 + k) / 3.0;
        n->velocity_mps[k] = (4.0 + k) / 3.0;
        n->gyro_bias_rad_s[k] = (7.0 + k) / 3.0;
        n->accel_bias_m_s2[k] = (10.0 + k) / 3.0;
    }
    for (int i = 0, at = 0; i < 15; at += 15 - i++) n->covariance[at] = (double)(i + 1) * (i + 1);
    for (int k = 0; k < 9; k++)
        for (int test = VFRONT_TEST_MOTION; test < VFRONT_TESTS; test += VFRONT_TEST_NO_IMU) {
            result[1].innovation[test].test_ratio = 0.5 + test;
            result[1].innovation[test].value[k] = k - test;
            result[1].innovation[test].variance[k] = test == VFRONT_TEST_MOTION && k > 5 ? 0.0 : (k + 1.0) * (k + 1.0);
        }
    state_free(&states);
    assert_true(state_add(&states, 5, &result[0].nav, &truth, 1));
    assert_true(state_add(&states, 1234567890123456789u, n, &truth, 1));
}

/** Two key points of each camera, numbers with all their bits. */
static void make_results(void)
{
    memset(result, 0, sizeof result);
    for (int when = 0; when < 2; when++) {
        vfront_result_t *r = &result[when];
        r->frame = 5u + (unsigned)when;
        for (int c = 0; c < VFRONT_CAMERAS; c++) {
            r->keypoints_count[c] = 2;
            for (int i = 0; i < 2; i++) {
                r->keypoints[c][i].x_px = 30.0f + 40.0f * (float)i + 20.0f * (float)when + 1.0f / 65536.0f;
                r->keypoints[c][i].y_px = 60.0f + 10.0f * (float)i;
                r->keypoints[c][i].bearing[0] = 1.0f / 3.0f + (float)i * FLT_EPSILON;
                r->keypoints[c][i].bearing[2] = FLT_MIN;
            }
        }
    }
#if VFRONT_STEREO
    result[1].depths_count = 1;
    result[1].depths[0] = (vfront_depth_t){1,           0,           17, 0, 25.0f + 1.0f / 65536.0f, 100.0f / 3.0f,
                                           1e7f / 3.0f, 1e-7f / 3.0f};
#endif
#if VFRONT_MATCHES
    result[1].matches_count = 1;
    result[1].matches[0] = (vfront_match_t){
        1, 0, 33, 256, VFRONT_AGREES_RELATIVE, 1, 90.25f, 70.5f, {0.0f, 0.0f, 1.0f}, 30.5f, 60.25f, 4000000000u, 7};
#endif
    make_motions();
    make_states();
}

/** Line number `line` of a file, from 0; "" past the end. */
static const char *line_of(const char *name, int line)
{
    static char text[1000];
    char path[80];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    for (int i = 0; i <= line; i++)
        if (!fgets(text, sizeof text, f)) *text = 0;
    fclose(f);
    return text;
}

static int is_there(const char *name)
{
    char path[80];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static void write_results(unsigned there)
{
    results_t *record;
    make_results();
    assert_null(results_open(&record, folder, VFRONT_CAMERAS, there));
    assert_null(results_frame(record, &result[0], &place[0], &states.frame[0]));
    assert_null(results_frame(record, &result[1], &place[1], &states.frame[1]));
    assert_null(results_close(record));
}

#if VFRONT_STEREO
static void test_depth(void **state)
{
    (void)state;
    unsigned frame, keypoint, partner, distance;
    float v[6];
    write_results(ALL);
    assert_int_equal(sscanf(line_of("depth.csv", 1), "%u,%u,%u,%f,%f,%f,%f,%f,%f,%u\n", &frame, &keypoint, &partner,
                            &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &distance),
                     10);
    const vfront_depth_t *d = &result[1].depths[0];
    const float expected[6] = {
        result[1].keypoints[0][1].x_px, result[1].keypoints[0][1].y_px, d->x_px, d->y_px, d->depth_m, d->sigma_m};
    assert_memory_equal(v, expected, sizeof v);
    assert_true(frame == 6 && keypoint == 1 && partner == 0 && distance == 17);
    assert_string_equal(line_of("depth.csv", 2), "");
}
#endif

#if VFRONT_MATCHES
static void test_matches(void **state)
{
    (void)state;
    unsigned frame, keypoint, before, distance, second, refined, id, age, agrees;
    float v[4];
    write_results(ALL);
    assert_int_equal(sscanf(line_of("matches.csv", 1), "%u,%u,%u,%f,%f,%f,%f,%u,%u,%u,%u,%u,%u\n", &frame, &keypoint,
                            &before, &v[0], &v[1], &v[2], &v[3], &distance, &second, &refined, &id, &age, &agrees),
                     13);
    const vfront_match_t *now = &result[1].matches[0];
    const float expected[4] = {now->x_px, now->y_px, now->x_before_px, now->y_before_px};
    assert_memory_equal(v, expected, sizeof v);
    assert_true(frame == 6 && keypoint == 1 && before == 0 && distance == 33 && second == 256 && refined == 1);
    assert_true(id == 4000000000u && age == 7 && agrees == VFRONT_AGREES_RELATIVE);
    assert_string_equal(line_of("matches.csv", 2), "");
}
#endif

static void test_motion(void **state)
{
    (void)state;
    unsigned frame, pairs, inliers, others, hypotheses, needed;
    char flags[40];
    float v[15];
    write_results(ALL);
    const int read = sscanf(line_of("motion.csv", 1),
                            "%u,relative,good,%39[^,],%u,%u,%u,%u,%u,%f,%f,%f,%f,%f,%f,%f,%f,%f,%f,%f,%f,%f,%f,%f\n",
                            &frame, flags, &pairs, &inliers, &others, &hypotheses, &needed, &v[0], &v[1], &v[2], &v[3],
                            &v[4], &v[5], &v[6], &v[7], &v[8], &v[9], &v[10], &v[11], &v[12], &v[13], &v[14]);
    assert_int_equal(read, 22);
    const vfront_motion_t *m = &result[1].relative;
    const float expected[15] = {
        m->rms_px, m->parallax_px, 0, 0, 0.707106781f, 0.707106781f, m->t[0], m->t[1], m->t[2], 0, 6, 11, 15, 18, 20};
    assert_memory_equal(v, expected, sizeof v);
    assert_string_equal(flags, "still two");
    assert_true(frame == 6 && pairs == 100 && inliers == 90 && others == 5 && hypotheses == 512 && needed == 1000000);
    assert_string_equal(line_of("motion.csv", 2), "6,metric,unsure,,0,0,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0\n");
    assert_string_equal(line_of("motion.csv", 3), ""); /* the first frame has none */
}

static void test_prediction(void **state)
{
    (void)state;
    write_results(ALL);
    assert_string_equal(line_of("prediction.csv", 2), "6,both,0,0,0.707106781,0.707106781,1,2,3,0,6,11,15,18,20\n");
    assert_string_equal(line_of("prediction.csv", 3), "");
}

/** One frame without ground truth. */
static void test_trajectory(void **state)
{
    (void)state;
    write_results(ALL);
    assert_string_equal(line_of("trajectory.txt", 0), "0.000000000 0 0 0 0 0 0 1\n");
    assert_string_equal(line_of("trajectory.txt", 1),
                        "1234567890.123456789 0.333333333333 0 0 0 0 0.707106781187 0.707106781187\n");
    assert_string_equal(line_of("trajectory_kitti.txt", 0), "1 0 0 0 0 1 0 0 0 0 1 0\n");
    assert_string_equal(line_of("trajectory_kitti.txt", 1), "0 -1 0 0.333333333333 1 0 0 0 0 0 1 0\n");
    assert_string_equal(line_of("truth.txt", 0), "1234567890.123456789 0 0 -2.5 0 0 0 1\n");
    assert_string_equal(line_of("truth.txt", 1), "");
}

static void test_bearing(void **state)
{
    (void)state;
    write_results(RESULTS_POINTS);
    const char *at = line_of("keypoints.csv", 2);
    for (int i = 0; i < 9; i++) at = strchr(at, ',') + 1;
    float v[3];
    assert_int_equal(sscanf(at, "%f,%f,%f\n", &v[0], &v[1], &v[2]), 3);
    assert_memory_equal(v, result[0].keypoints[0][1].bearing, sizeof v);
}

/** Create a file as an earlier run would leave it. */
static void put_drawing(const char *name)
{
    char path[80];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
}

/** A test that was made has a line; what was not compared is empty. */
static void test_innovations(void **state)
{
    (void)state;
    int columns = 1;
    write_results(ALL);
    for (const char *c = line_of("innovations.csv", 0); *c; c++) columns += *c == ',';
    assert_int_equal(columns, 22);
    assert_string_equal(line_of("innovations.csv", 1), "6,0,motion,0.5,0,1,2,3,4,5,,,,1,2,3,4,5,6,,,\n");
    assert_string_equal(line_of("innovations.csv", 2), "6,0,no-imu,3.5,-3,-2,-1,0,1,2,3,4,5,1,2,3,4,5,6,7,8,9\n");
}

/** Files come and go with what there is. */
static void test_removed(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int built;
        unsigned needs;
    } file[] = {{"tracks.csv", 1, RESULTS_POINTS},
                {"health.csv", 1, RESULTS_FRAMES},
                {"digest.txt", 1, 0},
                {"descriptors.csv", VFRONT_DESCRIPTORS, RESULTS_DESCRIPTORS | RESULTS_POINTS},
                {"depth.csv", VFRONT_STEREO, RESULTS_DEPTHS | RESULTS_POINTS},
                {"matches.csv", VFRONT_MATCHES, RESULTS_MATCHES | RESULTS_POINTS},
                {"motion.csv", 1, RESULTS_MOTION | RESULTS_FRAMES},
                {"trajectory.txt", 1, RESULTS_MOTION},
                {"trajectory_kitti.txt", 1, RESULTS_MOTION},
                {"truth.txt", 1, RESULTS_MOTION | RESULTS_TRUTH},
                {"state.csv", 1, RESULTS_STATE | RESULTS_FRAMES},
                {"innovations.csv", 1, RESULTS_STATE | RESULTS_FRAMES},
                {"trajectory_state.txt", 1, RESULTS_STATE},
                {"truth_state.txt", 1, RESULTS_STATE | RESULTS_TRUTH}};
    for (unsigned there = 0; there <= ALL; there++) {
        const unsigned tables = there & (RESULTS_FRAMES | RESULTS_POINTS),
                       others = there | RESULTS_FRAMES | RESULTS_POINTS;
        if (there & ~(unsigned)ALL || (tables != (RESULTS_FRAMES | RESULTS_POINTS) && others != ALL)) continue;
        write_results(ALL);
        put_drawing("trajectory.svg");
        put_drawing("state.svg");
        write_results(there);
        assert_false(is_there("trajectory.svg") || is_there("state.svg"));
        for (size_t i = 0; i < sizeof file / sizeof *file; i++)
            assert_int_equal(is_there(file[i].name), file[i].built && !(file[i].needs & ~there));
    }
}

static uint8_t picture[HEIGHT][WIDTH];

/** 1 if a pixel of the drawing is coloured: the pictures are grey. */
static int coloured(const overlay_t *o, const uint8_t *rgb, int32_t x, int32_t y)
{
    const uint8_t *at = rgb + 3 * ((y + o->camera[0].top) * o->canvas.width + x);
    return at[0] != at[1] || at[1] != at[2];
}

static const uint8_t *draw(overlay_t *o, const vfront_result_t *r)
{
    vfront_frame_t frame = {.t_ns = 1};
    memset(picture, 100, sizeof picture);
    for (int c = 0; c < VFRONT_CAMERAS; c++)
        frame.picture[c] = (vfront_picture_t){
            .data = picture, .width_px = WIDTH, .height_px = HEIGHT, .pitch_bytes = WIDTH};
    return overlay_draw(o, &frame, r, "");
}

static overlay_t *open_overlay(overlay_what_t what)
{
    vfront_info_t info = {.scales = 1};
    vfront_tuning_t tuning;
    vfront_tuning_default(&tuning);
    const vfront_camera_t camera = {
        .width_px = WIDTH, .height_px = HEIGHT, .fx_px = 100, .fy_px = 100, .cx_px = 80, .cy_px = 60};
    for (int c = 0; c < VFRONT_CAMERAS; c++) info.camera[c] = camera;
    overlay_t *o = overlay_open(&info, VFRONT_CAMERAS, what, &tuning);
    assert_non_null(o);
    make_results();
    return o;
}

/** Light of a pixel, which is grey. */
static int brightness(const overlay_t *o, const uint8_t *rgb, int32_t x, int32_t y)
{
    const uint8_t *at = rgb + 3 * ((y + o->camera[0].top) * o->canvas.width + x);
    assert_true(at[0] == at[1] && at[1] == at[2]);
    return at[0];
}

/** A track went from (20, 30) to (40, 30), another from (20, 90) to (40, 90), which does not agree; one is new. The
 *  camera goes where it sees (100, 40), then backwards. */
static void test_state(void **state)
{
    (void)state;
    const double third[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, half = sqrt(0.5);
    static const int sigma[] = {1, 2, 3, 7, 8, 9, 4, 5, 6, 10, 11, 12, 13, 14, 15};
    char begin[100];
    double v[34];
    write_results(ALL);
    int columns = 1, empty = 1;
    for (const char *c = line_of("state.csv", 0); *c; c++) columns += *c == ',';
    const char *line = line_of("state.csv", 1);
    assert_int_equal(strncmp(line, "5,0,initialising,,0,1,,,", 24), 0);
    for (const char *c = line; *c; c++) empty += *c == ',';
    assert_true(columns == 53 && empty == columns);
    line = line_of("state.csv", 2);
    snprintf(begin, sizeof begin, "6,0,coasting,saturated gap,3,33,44,77,%.17g,1234567890123456787,", 2.0 / 3.0);
    assert_int_equal(strncmp(line, begin, strlen(begin)), 0);
    line += strlen(begin);
    for (int i = 0; i < 33; i++, line++) {
        char *end;
        v[i] = strtod(line, &end);
        assert_true(*end == ',');
        line = end;
    }
    assert_string_equal(line, "given,13,14,15,16,17,18,19,20,21\n");
    for (int i = 0; i < 6; i++) assert_true(v[i] == third[i] / 3.0);
    assert_true(v[6] == 0.0 && v[7] == 0.0 && v[8] == half && v[9] == half);
    for (int i = 0; i < 6; i++) assert_true(v[10 + i] == third[6 + i] / 3.0);
    assert_true(v[16] == 1.0 / 3e3 && v[32] == 1.0 / 7e3);
    for (int i = 0; i < 15; i++) assert_true(v[17 + i] == sigma[i]);
    assert_string_equal(line_of("trajectory_state.txt", 0),
                        "1234567890.123456789 0.333333333333 0.666666666667 1 0 0 0.707106781187 0.707106781187\n");
    assert_string_equal(line_of("truth_state.txt", 0), line_of("trajectory_state.txt", 0));
    assert_string_equal(line_of("trajectory_state.txt", 1), "");
}

static void test_motion_drawn(void **state)
{
    (void)state;
    overlay_t *o = open_overlay(OVERLAY_MOTION);
    vfront_result_t *r = &result[1];
    r->tracks_count = 3;
    for (int i = 0; i < 3; i++)
        r->tracks[i] = (vfront_track_t){.x_px = 40, .y_px = 30.0f + 60.0f * (float)i, .dx_px = 20, .age = i < 2};
    r->tracks[2].y_px = 60;
    r->tracks[0].agrees = VFRONT_AGREES_RELATIVE;
    r->relative.flags = 0;
    r->relative.t[0] = -20.0f;
    r->relative.t[1] = 20.0f;
    r->relative.t[2] = -100.0f;
    const uint8_t *rgb = draw(o, r);
    const int plain = brightness(o, rgb, 30, 60), inlier = brightness(o, rgb, 30, 30);
    assert_true(inlier > plain + 50 && inlier < 200);
    assert_int_equal(brightness(o, rgb, 30, 90), 255);
    assert_int_equal(brightness(o, rgb, 38, 88), 255); /* the cross at its end */
    assert_true(brightness(o, rgb, 38, 28) <= inlier);
    assert_int_equal(brightness(o, rgb, 100, 40), 255);
    assert_int_equal(brightness(o, rgb, 115, 40), 255); /* a tick beside the ring */
    assert_true(brightness(o, rgb, 104, 40) < 200);
    for (int i = 0; i < 3; i++) r->relative.t[i] = -r->relative.t[i];
    rgb = draw(o, r);
    assert_int_equal(brightness(o, rgb, 104, 40), 255); /* a cross in the ring */
    assert_int_equal(brightness(o, rgb, 115, 40), plain);
    r->relative.flags = VFRONT_MOTION_STILL;
    assert_int_equal(brightness(o, draw(o, r), 104, 40), plain);
    r->relative.state = VFRONT_MOTION_NONE;
    assert_int_equal(brightness(o, draw(o, r), 30, 30), plain);
    overlay_close(o);
}

#if VFRONT_MATCHES
/** Match from (30, 60) to (90, 70), in camera 0 only; nothing in the first frame. */
static void test_matches_drawn(void **state)
{
    (void)state;
    overlay_t *o = open_overlay(OVERLAY_MATCHES);
    const uint8_t *rgb = draw(o, &result[0]);
    assert_false(coloured(o, rgb, 60, 65));
    rgb = draw(o, &result[1]);
    assert_true(coloured(o, rgb, 60, 65));
    assert_true(coloured(o, rgb, 90, 70));
    assert_false(coloured(o, rgb, 60, 60));
    assert_false(coloured(o, rgb, 50, 60));
    overlay_close(o);
}
#endif

#if VFRONT_STEREO
/** The key point in camera 0, and its place in camera 1, whose picture begins four pixels after that of
 *  camera 0. */
static void test_depths_drawn(void **state)
{
    (void)state;
    overlay_t *o = open_overlay(OVERLAY_DEPTHS);
    const uint8_t *rgb = draw(o, &result[1]);
    assert_true(coloured(o, rgb, 90, 70));
    assert_true(coloured(o, rgb, WIDTH + 4 + 25, 33));
    assert_false(coloured(o, rgb, 50, 60)); /* a key point without depth */
    assert_false(coloured(o, rgb, 25, 33));
    overlay_close(o);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#if VFRONT_STEREO
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_depths_drawn),
#endif
        cmocka_unit_test(test_motion),
        cmocka_unit_test(test_prediction),
        cmocka_unit_test(test_trajectory),
        cmocka_unit_test(test_state),
        cmocka_unit_test(test_innovations),
        cmocka_unit_test(test_motion_drawn),
#if VFRONT_MATCHES
        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_matches_drawn),
#endif
        cmocka_unit_test(test_bearing),
        cmocka_unit_test(test_removed),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
