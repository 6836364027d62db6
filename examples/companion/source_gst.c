/* SPDX-License-Identifier: MIT
 *
 * GStreamer pipelines: gst:PIPELINE, in the words of gst-launch-1.0, with an appsink of the name cam0, and one of the
 * name cam1 for a second camera; where none has such a name, one is put behind it. Stamps are the pipeline's, whose
 * clock is CLOCK_MONOTONIC: the time of a buffer less --readout-us and --exposure-us is the start of exposure. A
 * pipeline that fails is begun anew every second; one that does not find its camera as it is opened is absent.
 * GStreamer runs threads of its own.
 */
#define _POSIX_C_SOURCE 200809L
#include "source_internal.h"

#ifdef HAVE_GST
#include <gst/app/gstappsink.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "examples/replay/calibration.h"
#include "examples/common/message.h"
#include "source_pair.h"

#define RETRY_NS 1000000000u /* between two tries */
#define OPEN_NS 5000000000u  /* longest wait for a pipeline to begin, and for its first picture */
#define AGAIN_NS 2000000000u /* the same of one that was absent: both within the watchdog's time */
#define PULL_NS 20000000u    /* longest wait for one camera */
#define POLL_NS 100000000u

/** Sink of a camera, with the sample of the picture that is held. */
struct sink {
    GstElement *element;
    GstSample *sample; /* NULL: none is held */
    GstVideoFrame frame;
    source_camera_t *seen; /* picture in it */
};

struct pipeline {
    source_settings_t settings;
    vfront_rig_t rig;
    GstElement *element;
    GstBus *bus;
    struct sink sink[VFRONT_CAMERAS];
    source_camera_t camera[VFRONT_CAMERAS];
    int count;
    int is_down, has_ended, is_absent;
    uint64_t open_ns; /* OPEN_NS or AGAIN_NS */
    uint64_t retry_ns, skipped;
    uint32_t given;
    const char *fault;
};

/** Formats that have their grey first, by preference. */
static const struct {
    GstVideoFormat gst;
    const char *name;
    vfront_format_t format;
} formats[] = {{GST_VIDEO_FORMAT_GRAY8, "GRAY8", VFRONT_GREY8},
               {GST_VIDEO_FORMAT_GRAY16_LE, "GRAY16_LE", VFRONT_GREY16},
               {GST_VIDEO_FORMAT_NV12, "NV12", VFRONT_NV12},
               {GST_VIDEO_FORMAT_I420, "I420", VFRONT_NV12},
               {GST_VIDEO_FORMAT_YUY2, "YUY2", VFRONT_YUYV}};

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void let_go(struct sink *s)
{
    if (!s->sample) return;
    gst_video_frame_unmap(&s->frame);
    gst_sample_unref(s->sample);
    s->sample = NULL;
    s->seen->is_held = 0;
}

static void set_caps(GstElement *sink, int is_fast)
{
    GstCaps *caps = gst_caps_new_empty();
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        gst_caps_append_structure(caps,
                                  gst_structure_new("video/x-raw", "format", G_TYPE_STRING, formats[i].name, NULL));
    g_object_set(sink, "caps", caps, "sync", FALSE, "max-buffers", 2u, "drop", !is_fast, NULL);
    gst_caps_unref(caps);
}

/** Text of an error of the pipeline. A device, a server or a file may be absent for a while, or in use. */
static const char *error_of(struct pipeline *p, GstMessage *m)
{
    GError *error = NULL;
    gst_message_parse_error(m, &error, NULL);
    p->is_absent = g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND) ||
                   g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_BUSY) ||
                   g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ) ||
                   g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ_WRITE);
    const char *text = message_text("gst: %.80s: %.300s", GST_MESSAGE_SRC_NAME(m), error->message);
    g_error_free(error);
    return text;
}

/** The pipeline, with a sink behind it where it names none. */
static const char *parse(struct pipeline *p, const char *words)
{
    GError *error = NULL;
    const int has_sink = strstr(words, "cam0") != NULL;
    char *all = g_strconcat(words, has_sink ? "" : " ! appsink name=cam0", NULL);
    p->element = gst_parse_launch_full(all, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
    g_free(all);
    const char *text = error ? message_text("gst: %.300s", error->message) : NULL;
    if (error) g_error_free(error);
    if (!text && !GST_IS_PIPELINE(p->element)) text = "gst: not a pipeline: SOURCE ! ... ! appsink name=cam0";
    return text;
}

static const char *find_sinks(struct pipeline *p)
{
    for (char name[] = "cam0"; p->count < VFRONT_CAMERAS; name[3]++) {
        GstElement *sink = gst_bin_get_by_name(GST_BIN(p->element), name);
        if (!sink) break;
        p->sink[p->count] = (struct sink){.element = sink, .seen = &p->camera[p->count]};
        p->count++;
        if (!GST_IS_APP_SINK(sink)) return message_text("gst: %s is no appsink", name);
        set_caps(sink, p->settings.is_fast);
    }
    return p->count ? NULL : "gst: no appsink has the name cam0";
}

static const char *begin(struct pipeline *p)
{
    for (int i = 0; i < p->count; i++) p->camera[i].last_ns = clock_ns();
    const GstStateChangeReturn asked = gst_element_set_state(p->element, GST_STATE_PLAYING);
    if (asked == GST_STATE_CHANGE_NO_PREROLL) { /* a live source: pictures do not wait */
        p->settings.is_fast = 0;
        for (int i = 0; i < p->count; i++) g_object_set(p->sink[i].element, "drop", TRUE, NULL);
    }
    if (asked == GST_STATE_CHANGE_FAILURE ||
        gst_element_get_state(p->element, NULL, NULL, p->open_ns) == GST_STATE_CHANGE_FAILURE) {
        GstMessage *m = gst_bus_pop_filtered(p->bus, GST_MESSAGE_ERROR);
        const char *text = m ? error_of(p, m) : "gst: the pipeline does not begin";
        if (m) gst_message_unref(m);
        return text;
    }
    return NULL;
}

/** Size of the pictures of a sink: that of its first one, or the pipeline's error in its place. */
static const char *take_size(struct pipeline *p, int i)
{
    GstVideoInfo info;
    GstSample *first = gst_app_sink_try_pull_preroll(GST_APP_SINK(p->sink[i].element), p->open_ns);
    const int known = first && gst_sample_get_caps(first) &&
                      gst_video_info_from_caps(&info, gst_sample_get_caps(first));
    if (first) gst_sample_unref(first);
    if (!known) {
        GstMessage *m = gst_bus_pop_filtered(p->bus, GST_MESSAGE_ERROR);
        const char *text = m ? error_of(p, m) : message_text("gst: cam%d: no picture comes", i);
        if (m) gst_message_unref(m);
        return text;
    }
    p->rig.camera[i].width_px = info.width;
    p->rig.camera[i].height_px = info.height;
    return NULL;
}

static const char *open_pipeline(void **of, const source_settings_t *settings)
{
    struct pipeline *p = calloc(1, sizeof *p);
    GError *error = NULL;
    if (!p) return "no memory for a pipeline";
    *of = p;
    p->settings = *settings;
    p->open_ns = settings->is_absent && *settings->is_absent ? AGAIN_NS : OPEN_NS;
    if (!gst_init_check(NULL, NULL, &error)) return "gst: GStreamer does not begin";
    const char *text = parse(p, settings->where + strlen("gst:"));
    if (!text) text = find_sinks(p);
    if (text) return text;
    if (!settings->calibration && !settings->has_own_size)
        return "gst: --rig is missing: size, lens and place of the cameras";
    p->rig.cameras = p->count;
    text = settings->calibration ? calibration_read(&p->rig, settings->calibration) : NULL;
    if (text) return text;
    p->bus = gst_element_get_bus(p->element);
    GstClock *clock = gst_system_clock_obtain(); /* of CLOCK_MONOTONIC */
    gst_pipeline_use_clock(GST_PIPELINE(p->element), clock);
    gst_object_unref(clock);
    text = begin(p);
    for (int i = 0; i < p->count && !text && settings->has_own_size; i++)
        if (!p->rig.camera[i].width_px) text = take_size(p, i);
    return text;
}

static int is_absent(const void *of) { return ((const struct pipeline *)of)->is_absent; }

static void close_pipeline(void *of)
{
    struct pipeline *p = of;
    if (!p) return;
    for (int i = 0; i < p->count; i++) {
        let_go(&p->sink[i]);
        gst_object_unref(p->sink[i].element);
    }
    if (p->element) gst_element_set_state(p->element, GST_STATE_NULL);
    if (p->bus) gst_object_unref(p->bus);
    if (p->element) gst_object_unref(p->element);
    free(p);
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/** Start of exposure by the time of a buffer; by when it came where it has none. */
static uint64_t start_ns(const struct pipeline *p, GstSample *sample, uint64_t arrived_ns)
{
    const uint64_t back_ns = ((uint64_t)p->settings.exposure_us + p->settings.readout_us) * 1000u;
    const GstClockTime running = gst_segment_to_running_time(gst_sample_get_segment(sample), GST_FORMAT_TIME,
                                                             GST_BUFFER_PTS(gst_sample_get_buffer(sample)));
    const uint64_t t_ns = GST_CLOCK_TIME_IS_VALID(running) ? gst_element_get_base_time(p->element) + running
                                                           : arrived_ns;
    return t_ns > back_ns ? t_ns - back_ns : 0;
}

static vfront_format_t format_of(const GstVideoInfo *info)
{
    vfront_format_t format = VFRONT_NO_PICTURE; /* the sink takes no others */
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        if (formats[k].gst == info->finfo->format) format = formats[k].format;
    return format;
}

/** Holds a sample. Returns NULL, or why it is no picture of camera i. */
static const char *hold(struct pipeline *p, int i, GstSample *sample)
{
    struct sink *s = &p->sink[i];
    const vfront_camera_t *c = &p->rig.camera[i];
    GstVideoInfo info;
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    const char *error = NULL;
    if (!buffer || !gst_sample_get_caps(sample) || !gst_video_info_from_caps(&info, gst_sample_get_caps(sample)))
        error = message_text("gst: cam%d: no pictures", i);
    else if (info.width != c->width_px || info.height != c->height_px)
        error = message_text("gst: cam%d: %dx%d, but the rig has %dx%d", i, info.width, info.height, (int)c->width_px,
                             (int)c->height_px);
    else if (!gst_video_frame_map(&s->frame, &info, buffer, GST_MAP_READ))
        error = message_text("gst: cam%d: its pictures cannot be read", i);
    if (error) {
        gst_sample_unref(sample);
        return error;
    }
    s->sample = sample;
    s->seen->is_held = 1;
    s->seen->arrived_ns = s->seen->last_ns = clock_ns();
    s->seen->picture = (vfront_picture_t){.data = GST_VIDEO_FRAME_PLANE_DATA(&s->frame, 0),
                                          .width_px = c->width_px,
                                          .height_px = c->height_px,
                                          .pitch_bytes = (uint32_t)GST_VIDEO_FRAME_PLANE_STRIDE(&s->frame, 0),
                                          .format = format_of(&info),
                                          .memory = VFRONT_HOST_MEMORY,
                                          .t_ns = start_ns(p, sample, s->seen->arrived_ns)};
    return NULL;
}

/** Takes the newest picture of a camera, waited for if there is none yet. */
static const char *take_newest(struct pipeline *p, int i, uint64_t wait_ns)
{
    struct sink *s = &p->sink[i];
    if (s->sample && p->settings.is_fast) return NULL;
    for (;;) {
        GstSample *sample = gst_app_sink_try_pull_sample(GST_APP_SINK(s->element), s->sample ? 0 : wait_ns);
        if (!sample) return NULL;
        p->skipped += s->sample && i == 0;
        let_go(s);
        const char *error = hold(p, i, sample);
        if (error || p->settings.is_fast) return error;
    }
}

/** The pipeline has failed: it is taken down, to be begun anew. */
static void take_down(struct pipeline *p, GstMessage *error)
{
    char text[400];
    snprintf(text, sizeof text, "%s", error_of(p, error));
    p->fault = message_text("%s; it is tried again every second", text);
    for (int i = 0; i < p->count; i++) let_go(&p->sink[i]);
    p->is_down = 1;
    p->retry_ns = clock_ns() + RETRY_NS;
}

/** Takes the pipeline's messages: its end, or an error, after which an end may follow that is none. */
static void read_input(struct pipeline *p)
{
    GstMessage *m;
    while (!p->is_down && (m = gst_bus_pop(p->bus)) != NULL) {
        if (GST_MESSAGE_TYPE(m) == GST_MESSAGE_ERROR) take_down(p, m);
        p->has_ended |= GST_MESSAGE_TYPE(m) == GST_MESSAGE_EOS;
        gst_message_unref(m);
    }
    if (p->is_down) gst_element_set_state(p->element, GST_STATE_NULL); /* its messages go with it */
}

static void try_again(struct pipeline *p)
{
    if (clock_ns() < p->retry_ns) return;
    p->retry_ns = clock_ns() + RETRY_NS;
    if (begin(p)) {
        gst_element_set_state(p->element, GST_STATE_NULL);
        return;
    }
    p->is_down = 0;
    p->fault = message_text("gst: the pipeline is back");
}

static source_status_t next_frame(void *of, vfront_frame_t *frame, uint64_t *arrived_ns)
{
    struct pipeline *p = of;
    if (p->settings.frames && p->given == p->settings.frames) return SOURCE_END;
    const uint64_t end_ns = clock_ns() + POLL_NS;
    do {
        if (p->is_down) try_again(p);
        if (!p->is_down) read_input(p);
        if (p->is_down) clock_sleep_until_ns(clock_ns() + PULL_NS);
        for (int i = 0; i < p->count && !p->is_down; i++) {
            const char *error = take_newest(p, i, p->has_ended || source_is_missing(&p->camera[i]) ? 0 : PULL_NS);
            if (!error) continue;
            p->fault = error;
            return SOURCE_FAILED;
        }
        int older;
        if (source_are_together(p->camera, p->count, &older)) {
            p->given++;
            source_fill(frame, p->camera, p->count, arrived_ns);
            frame->exposure_ns = p->settings.exposure_us * 1000u;
            return SOURCE_FRAME;
        }
        if (older >= 0) {
            p->skipped++;
            let_go(&p->sink[older]);
        }
        if (p->has_ended) return SOURCE_END;
    } while (clock_ns() < end_ns);
    return SOURCE_NOTHING;
}

static void done(void *of)
{
    struct pipeline *p = of;
    for (int i = 0; i < p->count; i++) let_go(&p->sink[i]);
}

static const vfront_rig_t *rig_of(const void *of) { return &((const struct pipeline *)of)->rig; }
static uint64_t skipped(const void *of) { return ((const struct pipeline *)of)->skipped; }

static const char *fault_of(void *of)
{
    struct pipeline *p = of;
    const char *fault = p->fault;
    p->fault = NULL;
    return fault;
}
#else

static const char *open_pipeline(void **of, const source_settings_t *settings)
{
    (void)settings;
    *of = NULL;
    return "gst: this build has no GStreamer: install libgstreamer-plugins-base1.0-dev and build anew";
}

static int is_absent(const void *of) { return (void)of, 0; }
static void close_pipeline(void *of) { (void)of; }
static void done(void *of) { (void)of; }
static uint64_t skipped(const void *of) { return (void)of, 0; }
static const char *fault_of(void *of) { return (void)of, (const char *)NULL; }
static const vfront_rig_t *rig_of(const void *of) { return (void)of, (const vfront_rig_t *)NULL; }

static source_status_t next_frame(void *of, vfront_frame_t *frame, uint64_t *arrived_ns)
{
    (void)of;
    (void)frame;
    (void)arrived_ns;
    return SOURCE_END;
}
#endif

static int has_samples(const void *of)
{
    (void)of;
    return 0;
}

const source_kind_t source_gst = {.open = open_pipeline,
                                  .is_absent = is_absent,
                                  .close = close_pipeline,
                                  .rig = rig_of,
                                  .has_samples = has_samples,
                                  .next = next_frame,
                                  .done = done,
                                  .fault = fault_of,
                                  .skipped = skipped};
