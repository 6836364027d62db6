/* SPDX-License-Identifier: MIT
 *
 * GStreamer pipelines (examples/companion/source_gst.c), with GStreamer's own test pictures: stamps, formats and
 * padded rows, two cameras, one that stops, pipelines that end, fail and come back, words that are none.
 */
#define _GNU_SOURCE /* mkstemp */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/companion/clock.h"
#include "examples/companion/source.h"
#include "tests/fixture/random.h"
#include "tests/fixture/temporary.h"

#define MS 1000000ull
#define LIVE "videotestsrc is-live=true do-timestamp=false "

static char rig[64];
static source_t *source;
static int is_absent;

static int write_rig(void **state)
{
    (void)state;
    const int fd = mkstemp(temporary(rig, "gst"));
    if (fd < 0) return 1;
    FILE *f = fdopen(fd, "w");
    for (int i = 0; i < 2; i++)
        fprintf(f,
                "cam%d:\n  camera_model: pinhole\n  distortion_model: radtan\n  distortion_coeffs: [0, 0, 0, 0]\n"
                "  intrinsics: [60, 60, 30, 24]\n  resolution: [60, 48]\n"
                "  T_cam_imu: [[1, 0, 0, %g], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]\n%s",
                i, -0.1 * i, i ? "  T_cn_cnm1: [[1, 0, 0, -0.1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]\n" : "");
    return fclose(f) != 0;
}

static int remove_rig(void **state)
{
    (void)state;
    return unlink(rig);
}

static const char *open_source(const char *where, uint32_t frames)
{
    const source_settings_t settings = {.where = where,
                                        .calibration = rig,
                                        .frames = frames,
                                        .exposure_us = 4000,
                                        .readout_us = 1000,
                                        .is_absent = &is_absent};
    return source_open(&source, &settings);
}

static int close_source(void **state)
{
    (void)state;
    source_close(source);
    source = NULL;
    return 0;
}

/** The next frame, or what there is instead; nothing for `patience_ms` counts as nothing. */
static source_status_t next(vfront_frame_t *frame, int patience_ms)
{
    uint64_t arrived_ns;
    const uint64_t end_ns = clock_ns() + (uint64_t)patience_ms * MS;
    for (;;) {
        const source_status_t found = source_next(source, frame, &arrived_ns);
        if (found != SOURCE_NOTHING || clock_ns() > end_ns) return found;
    }
}

/** Pixel of a picture, its first byte. */
static int at(const vfront_picture_t *p, int x, int y)
{
    const int bytes = p->format == VFRONT_GREY16 || p->format == VFRONT_YUYV ? 2 : 1;
    return ((const uint8_t *)p->data)[(size_t)y * p->pitch_bytes + (size_t)(bytes * x)];
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void frames_come_with_their_times(void **state)
{
    (void)state;
    vfront_frame_t frame;
    uint64_t last_ns = 0;
    assert_null(
        open_source("gst:" LIVE "pattern=white ! video/x-raw,format=GRAY8,width=60,height=48,framerate=50/1", 6));
    assert_int_equal(source_rig(source)->cameras, 1);
    assert_false(source_has_samples(source));
    for (int i = 0; i < 6; i++) {
        assert_int_equal(next(&frame, 5000), SOURCE_FRAME);
        const uint64_t now_ns = clock_ns();
        assert_true(frame.t_ns < now_ns && now_ns - frame.t_ns < 2000 * MS && now_ns - frame.t_ns >= 5 * MS);
        if (last_ns) { /* some may be passed over */
            const double periods = (double)(frame.t_ns - last_ns) / (20.0 * MS);
            assert_true(frame.t_ns > last_ns && periods - (double)(int)(periods + 0.5) < 0.05);
        }
        last_ns = frame.t_ns;
        assert_int_equal(frame.exposure_ns, 4000000);
        assert_int_equal(frame.picture[0].format, VFRONT_GREY8);
        assert_int_equal(frame.picture[0].width_px, 60);
        assert_true(frame.picture[0].pitch_bytes >= 60);
        assert_true(at(&frame.picture[0], 0, 0) > 230 && at(&frame.picture[0], 59, 47) > 230);
        source_done(source);
    }
    assert_int_equal(next(&frame, 1000), SOURCE_END);
}

static void formats_are_taken(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        vfront_format_t format;
        int black, white;
    } known[] = {{"GRAY8", VFRONT_GREY8, 0, 255},
                 {"GRAY16_LE", VFRONT_GREY16, 0, 255},
                 {"NV12", VFRONT_NV12, 16, 235},
                 {"I420", VFRONT_NV12, 16, 235},
                 {"YUY2", VFRONT_YUYV, 16, 235}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        vfront_frame_t frame;
        char words[256];
        snprintf(words, sizeof words,
                 "gst:videotestsrc num-buffers=3 pattern=%s ! video/x-raw,format=%s,width=60,height=48", "smpte75",
                 known[k].name);
        assert_null(open_source(words, 0));
        assert_int_equal(next(&frame, 5000), SOURCE_FRAME);
        assert_int_equal(frame.picture[0].format, known[k].format);
        const int bright = at(&frame.picture[0], 2, 2), dark = at(&frame.picture[0], 52, 2); /* grey bar, blue bar */
        if (known[k].format != VFRONT_GREY16) REQUIRE(bright > dark + 80, "%s: %d %d", known[k].name, bright, dark);
        close_source(NULL);
    }
}

/** Two live test pictures, of 40 and 20 Hz. On a busy machine they may begin out of step for good: then once more. */
static void open_two_in_step(vfront_frame_t *frame)
{
    for (int tries = 0; tries < 4; tries++) {
        assert_null(open_source("gst:" LIVE
                                "pattern=white ! video/x-raw,format=GRAY8,width=60,height=48,framerate=40/1 ! "
                                "appsink name=cam0 " LIVE
                                "pattern=black ! video/x-raw,format=GRAY8,width=60,height=48,framerate=20/1 ! appsink "
                                "name=cam1",
                                0));
        assert_int_equal(source_rig(source)->cameras, 2);
        if (next(frame, 1000) == SOURCE_FRAME) return;
        close_source(NULL);
    }
    fail_msg("no frame");
}

static void two_cameras_are_of_one_time(void **state)
{
    (void)state;
    vfront_frame_t frame;
    int pairs = 0;
    open_two_in_step(&frame);
    for (int i = 0; i < 40 && pairs < 4; i++) { /* a camera may begin late, or pause */
        if (frame.picture[1].format != VFRONT_NO_PICTURE) {
            assert_int_equal(frame.picture[1].format, VFRONT_GREY8);
            const int64_t apart_ns = (int64_t)(frame.picture[0].t_ns - frame.picture[1].t_ns);
            assert_true(apart_ns < (int64_t)(2 * MS) && apart_ns > -(int64_t)(2 * MS));
            assert_true(at(&frame.picture[0], 5, 5) > 200 && at(&frame.picture[1], 5, 5) < 40);
            pairs++;
        }
        source_done(source);
        assert_int_equal(next(&frame, 5000), SOURCE_FRAME);
    }
    assert_int_equal(pairs, 4);
    assert_true(source_skipped(source) > 0); /* every second one of camera 0 */
}

/** A camera that stops is missing, half a second later, and the other goes on. */
static void a_camera_may_stop(void **state)
{
    (void)state;
    vfront_frame_t frame;
    int alone = 0;
    assert_null(open_source("gst:" LIVE "! video/x-raw,format=GRAY8,width=60,height=48,framerate=20/1 ! appsink "
                            "name=cam0 " LIVE
                            "num-buffers=4 ! video/x-raw,format=GRAY8,width=60,height=48,framerate=20/1 ! appsink "
                            "name=cam1",
                            0));
    for (int i = 0; i < 100 && alone < 3; i++) {
        assert_int_equal(next(&frame, 5000), SOURCE_FRAME);
        assert_int_equal(frame.picture[0].format, VFRONT_GREY8);
        alone += frame.picture[1].format == VFRONT_NO_PICTURE;
        source_done(source);
    }
    assert_int_equal(alone, 3);
}

static void an_end_ends(void **state)
{
    (void)state;
    vfront_frame_t frame;
    int frames = 0;
    source_status_t found;
    assert_null(open_source("gst:videotestsrc num-buffers=5 ! video/x-raw,width=60,height=48", 0));
    while ((found = next(&frame, 5000)) == SOURCE_FRAME) {
        frames++;
        source_done(source);
    }
    assert_int_equal(found, SOURCE_END);
    assert_true(frames >= 1 && frames <= 5);
}

static void failed_pipelines_restart(void **state)
{
    (void)state;
    vfront_frame_t frame;
    int frames = 0, failed = 0, back = 0;
    assert_null(open_source("gst:" LIVE "! video/x-raw,format=GRAY8,width=60,height=48,framerate=40/1 ! identity "
                            "error-after=5",
                            0));
    for (const uint64_t end_ns = clock_ns() + 20000 * MS; clock_ns() < end_ns && back < 2;) {
        const source_status_t found = next(&frame, 100);
        assert_true(found == SOURCE_FRAME || found == SOURCE_NOTHING);
        frames += found == SOURCE_FRAME;
        source_done(source);
        const char *fault = source_fault(source);
        if (!fault) continue;
        if (strstr(fault, "is back")) back++;
        if (strstr(fault, "tried again every second")) failed++;
    }
    assert_int_equal(back, 2);
    assert_int_equal(failed, 2);
    assert_true(frames >= 6);
}

static void words_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *where, *error;
        int is_absent;
    } known[] = {{"gst:", "gst: ", 0},
                 {"gst:nosuchelement ! fakesink", "nosuchelement", 0},
                 {"gst:videotestsrc ! ! fakesink name=cam0", "gst: ", 0},
                 {"gst:videotestsrc ! fakesink name=cam0", "cam0 is no appsink", 0},
                 {"gst:videotestsrc ! appsink name=cam01", "no appsink has the name cam0", 0},
                 {"gst:filesrc location=/nowhere/at/all ! video/x-raw", "gst: ", 1}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        const char *error = open_source(known[k].where, 0);
        REQUIRE(error && strstr(error, known[k].error), "%s: %s", known[k].where, error ? error : "taken");
        assert_null(source);
        assert_int_equal(is_absent, known[k].is_absent);
    }
    const source_settings_t settings = {.where = "gst:videotestsrc ! video/x-raw,width=60,height=48"};
    assert_non_null(strstr(source_open(&source, &settings), "--rig is missing"));
}

static void a_wrong_size_is_named(void **state)
{
    (void)state;
    vfront_frame_t frame;
    assert_null(open_source("gst:videotestsrc ! video/x-raw,format=GRAY8,width=64,height=48", 0));
    assert_int_equal(next(&frame, 5000), SOURCE_FAILED);
    assert_non_null(strstr(source_fault(source), "64x48, but the rig has 60x48"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(frames_come_with_their_times, close_source),
        cmocka_unit_test_teardown(formats_are_taken, close_source),
        cmocka_unit_test_teardown(two_cameras_are_of_one_time, close_source),
        cmocka_unit_test_teardown(a_camera_may_stop, close_source),
        cmocka_unit_test_teardown(an_end_ends, close_source),
        cmocka_unit_test_teardown(failed_pipelines_restart, close_source),
        cmocka_unit_test_teardown(words_are_checked, close_source),
        cmocka_unit_test_teardown(a_wrong_size_is_named, close_source),
    };
    const source_settings_t none = {.where = "gst:"};
    const char *error = source_open(&source, &none);
    if (error && strstr(error, "no GStreamer")) {
        printf("source_gst: skipped, GStreamer was not installed when this was built\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, write_rig, remove_rig);
}
