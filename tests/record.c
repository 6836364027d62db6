/* SPDX-License-Identifier: MIT */
/* What replay writes down and draws (examples/record.h, overlay.h) of results that are made up here, so that every number is known. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../examples/overlay.h"
#include "../examples/record.h"

#define WIDTH 160
#define HEIGHT 120
#define ALL (RECORD_DESCRIPTORS | RECORD_DEPTHS | RECORD_MATCHES)

static char folder[] = P_tmpdir "/vfront-record-XXXXXX";
static vfront_result_t result[2]; /* before and now */

static int make_folder(void **state)
{
    (void)state;
    return !mkdtemp(folder);
}

static int remove_folder(void **state)
{
    static const char *const name[] = {"tracks.csv", "keypoints.csv", "descriptors.csv", "depth.csv", "matches.csv", "health.csv",
                                       "timing.csv", "digest.txt"};
    (void)state;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char path[80];
        snprintf(path, sizeof path, "%s/%s", folder, name[i]);
        unlink(path);
    }
    return rmdir(folder);
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
    result[1].depths[0] = (vfront_depth_t){1, 0, 17, 0, 25.0f + 1.0f / 65536.0f, 100.0f / 3.0f, 1e7f / 3.0f, 1e-7f / 3.0f};
#endif
#if VFRONT_MATCHES
    result[1].matches_count = 1;
    result[1].matches[0] = (vfront_match_t){1, 0, 33, 256};
#endif
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
    record_t *record;
    make_results();
    assert_null(record_open(&record, folder, VFRONT_CAMERAS, there));
    assert_null(record_frame(record, &result[0], NULL, &place[0]));
    assert_null(record_frame(record, &result[1], &result[0], &place[1]));
    assert_null(record_close(record));
}

#if VFRONT_STEREO
static void test_depth(void **state)
{
    (void)state;
    unsigned frame, keypoint, partner, distance;
    float v[6];
    write_results(ALL);
    assert_int_equal(sscanf(line_of("depth.csv", 1), "%u,%u,%u,%f,%f,%f,%f,%f,%f,%u\n", &frame, &keypoint, &partner, &v[0], &v[1], &v[2],
                            &v[3], &v[4], &v[5], &distance), 10);
    const vfront_depth_t *d = &result[1].depths[0];
    const float expected[6] = {result[1].keypoints[0][1].x_px, result[1].keypoints[0][1].y_px, d->x_px, d->y_px, d->depth_m, d->sigma_m};
    assert_memory_equal(v, expected, sizeof v);
    assert_true(frame == 6 && keypoint == 1 && partner == 0 && distance == 17);
    assert_string_equal(line_of("depth.csv", 2), "");
}
#endif

#if VFRONT_MATCHES
static void test_matches(void **state)
{
    (void)state;
    unsigned frame, keypoint, before, distance, second;
    float v[4];
    write_results(ALL);
    assert_int_equal(sscanf(line_of("matches.csv", 1), "%u,%u,%u,%f,%f,%f,%f,%u,%u\n", &frame, &keypoint, &before, &v[0], &v[1], &v[2],
                            &v[3], &distance, &second), 9);
    const vfront_keypoint_t *now = &result[1].keypoints[0][1], *was = &result[0].keypoints[0][0];
    const float expected[4] = {now->x_px, now->y_px, was->x_px, was->y_px};
    assert_memory_equal(v, expected, sizeof v);
    assert_true(frame == 6 && keypoint == 1 && before == 0 && distance == 33 && second == 256);
    assert_string_equal(line_of("matches.csv", 2), "");
}
#endif

static void test_bearing(void **state)
{
    (void)state;
    write_results(0);
    const char *at = line_of("keypoints.csv", 2);
    for (int i = 0; i < 9; i++) at = strchr(at, ',') + 1;
    float v[3];
    assert_int_equal(sscanf(at, "%f,%f,%f\n", &v[0], &v[1], &v[2]), 3);
    assert_memory_equal(v, result[0].keypoints[0][1].bearing, sizeof v);
}

/** Files come and go with what there is. */
static void test_removed(void **state)
{
    (void)state;
    static const char *const name[] = {"descriptors.csv", "depth.csv", "matches.csv"};
    static const int built[] = {VFRONT_DESCRIPTORS, VFRONT_STEREO, VFRONT_MATCHES};
    for (unsigned there = 0; there < 8; there++) {
        write_results(ALL);
        write_results(there);
        for (unsigned i = 0; i < 3; i++) assert_int_equal(is_there(name[i]), (there >> i & 1) && built[i]);
    }
}

#if VFRONT_STEREO || VFRONT_MATCHES
static uint8_t grey[HEIGHT][WIDTH];

/** Whether a pixel of the drawing has a colour: the pictures are grey. */
static int coloured(const overlay_t *o, const uint8_t *rgb, int32_t x, int32_t y)
{
    int32_t width, height;
    overlay_size(o, &width, &height);
    const uint8_t *at = rgb + 3 * ((y + 20) * width + x); /* below the line of text */
    return at[0] != at[1] || at[1] != at[2];
}

static const uint8_t *draw(overlay_t *o, const vfront_result_t *r, const vfront_result_t *before)
{
    vfront_frame_t frame = {.t_ns = 1};
    memset(grey, 100, sizeof grey);
    for (int c = 0; c < VFRONT_CAMERAS; c++)
        frame.picture[c] = (vfront_picture_t){.data = grey, .width_px = WIDTH, .height_px = HEIGHT, .pitch_bytes = WIDTH};
    return overlay_draw(o, &frame, r, before, "");
}

static overlay_t *open_overlay(overlay_what_t what)
{
    vfront_info_t info = {.scales = 1};
    vfront_tuning_t tuning;
    vfront_tuning_default(&tuning);
    for (int c = 0; c < VFRONT_CAMERAS; c++) info.seen[c] = (vfront_camera_t){.width_px = WIDTH, .height_px = HEIGHT};
    overlay_t *o = overlay_open(&info, VFRONT_CAMERAS, what, &tuning);
    assert_non_null(o);
    make_results();
    return o;
}
#endif

#if VFRONT_MATCHES
/** From (30, 60) to (90, 70), in camera 0 only; nothing when no frame went before. */
static void test_matches_drawn(void **state)
{
    (void)state;
    overlay_t *o = open_overlay(OVERLAY_MATCHES);
    const uint8_t *rgb = draw(o, &result[1], NULL);
    assert_false(coloured(o, rgb, 60, 65));
    rgb = draw(o, &result[1], &result[0]);
    assert_true(coloured(o, rgb, 60, 65));
    assert_true(coloured(o, rgb, 90, 70));
    assert_false(coloured(o, rgb, 60, 60));
    assert_false(coloured(o, rgb, 50, 60));
    overlay_close(o);
}
#endif

#if VFRONT_STEREO
/** The key point in camera 0, and where the depth says in camera 1, whose picture begins four pixels after that of camera 0. */
static void test_depths_drawn(void **state)
{
    (void)state;
    overlay_t *o = open_overlay(OVERLAY_DEPTHS);
    const uint8_t *rgb = draw(o, &result[1], &result[0]);
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
#if VFRONT_MATCHES
        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_matches_drawn),
#endif
        cmocka_unit_test(test_bearing),
        cmocka_unit_test(test_removed),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
