/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* sigaction */
#include "live.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "dataset.h"
#include "examples/common/message.h"
#include "examples/common/text.h"
#include "examples/companion/clock.h"
#include "examples/companion/source.h"
#include "examples/companion/view.h"

#define RATE_HZ 30.0 /* asked of cameras */

/** Cameras or a video. */
struct live {
    source_t *source;
    char where[2 * TEXT_PATH_BYTES]; /* in the words of source.h */
};

static view_t view;
static volatile sig_atomic_t is_interrupted;

static void interrupt(int number)
{
    (void)number;
    is_interrupted = 1;
}

static int is_camera(const char *where) { return strncmp(where, "v4l2:", 5) == 0 || strncmp(where, "gst:", 4) == 0; }

/** 1 for a file with the name of a video. */
static int is_video(const char *where)
{
    static const char *const extension[] = {".mp4", ".avi", ".mkv", ".mov", ".webm", ".ogv"};
    const char *dot = strrchr(where, '.');
    for (size_t i = 0; dot && i < sizeof extension / sizeof *extension; i++)
        if (strcasecmp(dot, extension[i]) == 0) return access(where, R_OK) == 0;
    return 0;
}

static int recognises(const char *where) { return is_camera(where) || is_video(where); }

/** Pipeline that reads a video; quotes and backslashes of its path keep their meaning. */
static void pipeline_of(char *to, size_t bytes, const char *path)
{
    char quoted[TEXT_PATH_BYTES];
    size_t used = 0;
    for (; *path && used + 2 < sizeof quoted; path++) {
        if (*path == '"' || *path == '\\') quoted[used++] = '\\';
        quoted[used++] = *path;
    }
    quoted[used] = 0;
    snprintf(to, bytes, "gst:filesrc location=\"%s\" ! decodebin ! videoconvert ! appsink name=cam0", quoted);
}

static void close_live(void *of)
{
    struct live *l = of;
    source_close(l->source);
    free(l);
}

static const char *open_live(void **of, const char *where, const char *calibration)
{
    struct live *l = calloc(1, sizeof *l);
    if (!l) return "no memory";
    const int is_file = !is_camera(where);
    if (is_file)
        pipeline_of(l->where, sizeof l->where, where);
    else
        snprintf(l->where, sizeof l->where, "%s", where);
    const source_settings_t settings = {
        .where = l->where, .calibration = calibration, .has_own_size = 1, .is_fast = 1, .rate_hz = RATE_HZ};
    const char *error = source_open(&l->source, &settings);
    if (!error) error = source_start(l->source, NULL);
    if (error) {
        char text[512];
        const int is_lacking = is_file && strstr(error, "plug-in");
        message_print(text, sizeof text, "%s%s%s", error,
                      is_lacking ? " Debian has them in gstreamer1.0-plugins-good and gstreamer1.0-libav" : "",
                      is_file ? "; a folder of its pictures will do, too" : "");
        close_live(l);
        return message_text("%s", text);
    }
    const char *note = source_fault(l->source);
    if (note) message(CONTINUE, "%s", note);
    *of = l;
    return NULL;
}

static const vfront_rig_t *rig_of(const void *of) { return source_rig(((const struct live *)of)->source); }

static const char *next_frame(void *of, vfront_frame_t *frame, int *has_ended)
{
    const struct live *l = of;
    source_status_t found = SOURCE_NOTHING;
    source_done(l->source);
    while (found == SOURCE_NOTHING && !is_interrupted) {
        uint64_t arrived_ns;
        found = source_next(l->source, frame, &arrived_ns);
        const char *fault = source_fault(l->source);
        if (found == SOURCE_FAILED) return fault ? fault : "the cameras failed";
        if (fault) message(CONTINUE, "%s", fault);
        view_service(&view, clock_ns());
    }
    *has_ended = found != SOURCE_FRAME;
    return NULL;
}

void live_begin(void)
{
    static const dataset_live_t table = {recognises, open_live, rig_of, next_frame, close_live};
    struct sigaction once = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};
    dataset_live = &table;
    view.listener = -1;
    sigemptyset(&once.sa_mask);
    sigaction(SIGINT, &once, NULL);
}

const char *live_view_open(const char *where)
{
    const char *error = view_open(&view, where, NULL);
    if (!error) message(CONTINUE, "--view: port %d", view.port);
    return error;
}

void live_view_close(void) { view_close(&view); }

void live_view(rectified_t *rectified, const vfront_frame_t *frame, const vfront_result_t *result)
{
    const uint64_t now_ns = clock_ns();
    if (view_is_due(&view, result, now_ns)) {
        const vfront_picture_t none = {.format = VFRONT_NO_PICTURE};
        const int is_made = rectified && !result->health.missing;
        if (is_made) frame = rectified_frame(rectified, frame);
        const view_frame_t shown = {.picture = rectified && !is_made ? &none : &frame->picture[0]};
        view_update(&view, result, &shown, now_ns);
    }
    view_service(&view, now_ns);
}
