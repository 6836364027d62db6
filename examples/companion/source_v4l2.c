/* SPDX-License-Identifier: MIT
 *
 * Video devices of Linux: v4l2:0,1 or v4l2:/dev/video0,/dev/video1, camera 0 first. A driver fills the library's own
 * input buffers, where it takes them (USERPTR) and two are enough for it; else its own are mapped, which costs a copy
 * on a GPU. Buffers go back once the step is done. Two cameras belong together by their stamps. A device that goes away
 * is tried again every second; meanwhile frames come without its picture.
 */
#define _DEFAULT_SOURCE /* types of linux/videodev2.h, O_CLOEXEC */
#include "source_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "examples/replay/calibration.h"
#include "examples/common/message.h"
#include "source_pair.h"

enum { BUFFERS = 4, PATH = 64, NONE = -1 };
#define WIDTH 640 /* asked of a camera whose size is not known */
#define HEIGHT 480

#define RETRY_NS 1000000000u /* between two tries to open a device */
#define POLL_MS 100

/** A camera. */
struct device {
    char path[PATH];
    int fd;                  /* -1: gone */
    enum v4l2_memory memory; /* of its buffers: USERPTR, those of the library; MMAP */
    void *buffer[BUFFERS];
    size_t bytes[BUFFERS];
    int buffers;
    vfront_format_t format;
    uint32_t pitch;
    size_t picture_bytes;  /* least size of a buffer */
    int held;              /* buffer that is not the driver's; NONE: none */
    source_camera_t *seen; /* picture in it */
    uint64_t retry_ns;
    int is_start, is_monotonic; /* flags of its stamps */
    int is_absent;              /* 1: there was none to open */
};

struct cameras {
    source_settings_t settings;
    vfront_rig_t rig;
    struct device device[VFRONT_CAMERAS];
    source_camera_t camera[VFRONT_CAMERAS];
    source_inputs_t inputs;
    int has_inputs;
    int count;
    uint32_t given;
    uint64_t skipped;
    const char *fault;
};

/** Formats by preference: grey first. */
static const struct {
    uint32_t v4l2;
    vfront_format_t format;
} formats[] = {{V4L2_PIX_FMT_GREY, VFRONT_GREY8}, {V4L2_PIX_FMT_Y10, VFRONT_GREY10}, {V4L2_PIX_FMT_Y12, VFRONT_GREY12},
               {V4L2_PIX_FMT_Y16, VFRONT_GREY16}, {V4L2_PIX_FMT_NV12, VFRONT_NV12},  {V4L2_PIX_FMT_YUYV, VFRONT_YUYV}};

static int control(int fd, unsigned long request, void *argument)
{
    int result;
    do result = ioctl(fd, request, argument);
    while (result < 0 && errno == EINTR);
    return result;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void close_device(struct device *d)
{
    for (int i = 0; i < d->buffers && d->memory == V4L2_MEMORY_MMAP; i++) munmap(d->buffer[i], d->bytes[i]);
    if (d->fd >= 0) close(d->fd);
    d->fd = -1;
    d->buffers = 0;
    d->held = NONE;
    d->seen->is_held = 0;
    d->seen->is_gone = 1;
}

/** Size and format: the rig's size, and the first format that the driver keeps. has_own_size: the rig takes the size
 *  that the driver has in place of it. */
static const char *set_format(struct device *d, vfront_camera_t *c, int has_own_size)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct v4l2_format f = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
        f.fmt.pix.width = c->width_px ? (uint32_t)c->width_px : WIDTH;
        f.fmt.pix.height = c->height_px ? (uint32_t)c->height_px : HEIGHT;
        f.fmt.pix.pixelformat = formats[i].v4l2;
        f.fmt.pix.field = V4L2_FIELD_NONE;
        if (control(d->fd, VIDIOC_S_FMT, &f) != 0) continue;
        if (f.fmt.pix.pixelformat != formats[i].v4l2) continue;
        if (has_own_size) {
            c->width_px = (int32_t)f.fmt.pix.width;
            c->height_px = (int32_t)f.fmt.pix.height;
        }
        if (f.fmt.pix.width != (uint32_t)c->width_px || f.fmt.pix.height != (uint32_t)c->height_px)
            return message_text("%s: %ux%u, but the rig has %dx%d", d->path, f.fmt.pix.width, f.fmt.pix.height,
                                (int)c->width_px, (int)c->height_px);
        const uint32_t row = (uint32_t)c->width_px *
                             (formats[i].format == VFRONT_GREY8 || formats[i].format == VFRONT_NV12 ? 1u : 2u);
        d->format = formats[i].format;
        d->pitch = f.fmt.pix.bytesperline;
        d->picture_bytes = (size_t)d->pitch * (size_t)c->height_px;
        if (f.fmt.pix.sizeimage > d->picture_bytes) d->picture_bytes = f.fmt.pix.sizeimage;
        return d->pitch >= row ? NULL : message_text("%s: %u bytes in a row of %u", d->path, d->pitch, row);
    }
    return message_text("%s: none of the formats GREY, Y10, Y12, Y16, NV12, YUYV", d->path);
}

/** Gives a buffer to the driver. Returns 0 where it takes it. */
static int give(struct device *d, int i)
{
    struct v4l2_buffer b = {.index = (uint32_t)i, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = d->memory};
    if (d->memory == V4L2_MEMORY_USERPTR) {
        b.m.userptr = (unsigned long)d->buffer[i];
        b.length = (uint32_t)d->bytes[i];
    }
    return control(d->fd, VIDIOC_QBUF, &b);
}

static int stream(struct device *d, unsigned long request)
{
    int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    return control(d->fd, request, &type);
}

/** Streams into the library's buffers. Returns 0, with the device as before, where the driver does not take them, or
 *  wants more of them. */
static int stream_into(struct device *d, void *const input[VFRONT_INPUTS])
{
    struct v4l2_requestbuffers r = {
        .count = VFRONT_INPUTS, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_USERPTR};
    if (d->picture_bytes > VFRONT_INPUT_BYTES) return 0;
    int good = control(d->fd, VIDIOC_REQBUFS, &r) == 0;
    if (!good) return 0;
    d->memory = V4L2_MEMORY_USERPTR;
    good = r.count == VFRONT_INPUTS;
    for (int i = 0; i < VFRONT_INPUTS && good; i++) {
        d->buffer[i] = input[i];
        d->bytes[i] = VFRONT_INPUT_BYTES;
        good = give(d, i) == 0;
    }
    if (good && stream(d, VIDIOC_STREAMON) == 0) {
        d->buffers = VFRONT_INPUTS;
        return 1;
    }
    (void)stream(d, VIDIOC_STREAMOFF); /* takes back those that it has */
    r.count = 0;
    (void)control(d->fd, VIDIOC_REQBUFS, &r);
    return 0;
}

/** Streams into buffers of the driver. */
static const char *stream_mapped(struct device *d)
{
    struct v4l2_requestbuffers r = {.count = BUFFERS, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP};
    d->memory = V4L2_MEMORY_MMAP;
    if (control(d->fd, VIDIOC_REQBUFS, &r) != 0 || r.count < 2)
        return message_text("%s: no buffers: %s", d->path, strerror(errno));
    for (uint32_t i = 0; i < r.count && i < BUFFERS; i++) {
        struct v4l2_buffer b = {.index = i, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP};
        if (control(d->fd, VIDIOC_QUERYBUF, &b) != 0) return message_text("%s: %s", d->path, strerror(errno));
        if (b.length < d->picture_bytes)
            return message_text("%s: buffers of %u bytes are too small", d->path, b.length);
        void *at = mmap(NULL, b.length, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd, (off_t)b.m.offset);
        if (at == MAP_FAILED) return message_text("%s: %s", d->path, strerror(errno));
        d->buffer[i] = at;
        d->bytes[i] = b.length;
        d->buffers = (int)i + 1;
        if (give(d, (int)i) != 0) return message_text("%s: %s", d->path, strerror(errno));
    }
    return stream(d, VIDIOC_STREAMON) == 0 ? NULL : message_text("%s: %s", d->path, strerror(errno));
}

static const char *start_device(struct cameras *c, int i)
{
    struct device *d = &c->device[i];
    d->held = NONE;
    const int is_lent = c->has_inputs && stream_into(d, c->inputs.data[i]);
    const char *error = is_lent ? NULL : stream_mapped(d);
    d->seen->is_gone = 0;
    d->seen->last_ns = clock_ns();
    return error;
}

static const char *open_device(struct device *d, vfront_camera_t *c, const source_settings_t *settings)
{
    struct v4l2_capability can = {0};
    struct v4l2_streamparm p = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
    d->fd = open(d->path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    d->is_absent = d->fd < 0 && (errno == ENOENT || errno == ENODEV || errno == ENXIO);
    if (d->fd < 0) return message_text("%s: %s", d->path, strerror(errno));
    if (control(d->fd, VIDIOC_QUERYCAP, &can) != 0) return message_text("%s: no video device", d->path);
    const uint32_t caps = can.capabilities & V4L2_CAP_DEVICE_CAPS ? can.device_caps : can.capabilities;
    if (!(caps & V4L2_CAP_VIDEO_CAPTURE) || !(caps & V4L2_CAP_STREAMING))
        return message_text("%s: does not stream pictures", d->path);
    const char *error = set_format(d, c, settings->has_own_size && !c->width_px);
    p.parm.capture.timeperframe.numerator = 1000;
    p.parm.capture.timeperframe.denominator = (uint32_t)(settings->rate_hz * 1000.0);
    if (!error) (void)control(d->fd, VIDIOC_S_PARM, &p); /* drivers without it have a rate of their own */
    return error;
}

/** Names of the devices: numbers or paths, with commas between. */
static const char *read_names(struct cameras *c, const char *names)
{
    for (const char *at = names; *at; c->count++) {
        const size_t length = strcspn(at, ",");
        if (c->count == VFRONT_CAMERAS) return message_text("v4l2:%s: more than %d cameras", names, VFRONT_CAMERAS);
        struct device *d = &c->device[c->count];
        if (!length || length >= PATH - 16) return message_text("v4l2:%s: not v4l2:0,1", names);
        snprintf(d->path, PATH, "%s%.*s", *at == '/' ? "" : "/dev/video", (int)length, at);
        at += length + (at[length] == ',');
    }
    return c->count ? NULL : "v4l2: no camera is named: v4l2:0 or v4l2:0,1";
}

static const char *open_cameras(void **of, const source_settings_t *settings)
{
    struct cameras *c = calloc(1, sizeof *c);
    if (!c) return "no memory for cameras";
    *of = c;
    c->settings = *settings;
    for (int i = 0; i < VFRONT_CAMERAS; i++) {
        c->device[i].fd = -1;
        c->device[i].seen = &c->camera[i];
    }
    const char *error = read_names(c, settings->where + strlen("v4l2:"));
    if (error) return error;
    if (!settings->calibration && !settings->has_own_size)
        return "v4l2: --rig is missing: size, lens and place of the cameras";
    c->rig.cameras = c->count;
    if (settings->calibration) error = calibration_read(&c->rig, settings->calibration);
    for (int i = 0; i < c->count && !error; i++) error = open_device(&c->device[i], &c->rig.camera[i], settings);
    return error;
}

static int is_absent(const void *of)
{
    const struct cameras *c = of;
    int found = 0;
    for (int i = 0; i < c->count; i++) found |= c->device[i].is_absent;
    return found;
}

static const char *start_cameras(void *of, const source_inputs_t *inputs)
{
    struct cameras *c = of;
    const char *error = NULL;
    int lent = 0;
    c->has_inputs = inputs != NULL;
    if (inputs) c->inputs = *inputs;
    for (int i = 0; i < c->count && !error; i++) {
        error = start_device(c, i);
        lent += !error && c->device[i].memory == V4L2_MEMORY_USERPTR;
    }
    if (!error) c->fault = message_text("v4l2: %d of %d cameras fill the library's own buffers", lent, c->count);
    return error;
}

static void close_cameras(void *of)
{
    struct cameras *c = of;
    if (!c) return;
    for (int i = 0; i < c->count; i++) close_device(&c->device[i]);
    free(c);
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

static void give_back(struct device *d)
{
    const int held = d->held;
    if (held == NONE || d->fd < 0) return;
    d->held = NONE;
    d->seen->is_held = 0;
    (void)give(d, held); /* a device that went away fails when it is read */
}

/** Start of exposure by the stamp of a buffer. A driver stamps the start of exposure or the end of the frame. */
static uint64_t start_ns(struct device *d, const struct v4l2_buffer *b, const source_settings_t *s)
{
    const uint64_t exposure_ns = (uint64_t)s->exposure_us * 1000u, readout_ns = (uint64_t)s->readout_us * 1000u;
    const uint64_t stamp_ns = (uint64_t)b->timestamp.tv_sec * 1000000000u + (uint64_t)b->timestamp.tv_usec * 1000u;
    d->is_monotonic = (b->flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) == V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    d->is_start = (b->flags & V4L2_BUF_FLAG_TSTAMP_SRC_MASK) == V4L2_BUF_FLAG_TSTAMP_SRC_SOE;
    const uint64_t t_ns = d->is_monotonic ? stamp_ns
                                          : d->seen->arrived_ns; /* another clock: all that is known is when it came */
    if (d->is_monotonic && d->is_start) return t_ns;
    return t_ns > exposure_ns + readout_ns ? t_ns - exposure_ns - readout_ns : 0;
}

static void lose(struct cameras *c, int i)
{
    struct device *d = &c->device[i];
    close_device(d);
    d->retry_ns = clock_ns() + RETRY_NS;
    c->fault = message_text("%s: camera %d is gone: %s; it is tried again every second", d->path, i, strerror(errno));
}

/** Holds a buffer that the driver gave. */
static void hold(struct cameras *c, int i, const struct v4l2_buffer *b)
{
    struct device *d = &c->device[i];
    d->held = (int)b->index;
    d->seen->is_held = 1;
    d->seen->arrived_ns = d->seen->last_ns = clock_ns();
    d->seen->picture = (vfront_picture_t){.data = d->buffer[d->held],
                                          .width_px = c->rig.camera[i].width_px,
                                          .height_px = c->rig.camera[i].height_px,
                                          .pitch_bytes = d->pitch,
                                          .format = d->format,
                                          .memory = VFRONT_HOST_MEMORY,
                                          .t_ns = start_ns(d, b, &c->settings)};
}

/** Takes the newest picture of a camera; older ones go back at once. */
static void take_newest(struct cameras *c, int i)
{
    struct device *d = &c->device[i];
    for (int n = 0; n < 2 * BUFFERS && d->fd >= 0; n++) {
        struct v4l2_buffer b = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = d->memory};
        if (control(d->fd, VIDIOC_DQBUF, &b) != 0) {
            if (errno != EAGAIN) lose(c, i);
            return;
        }
        if (b.index >= (uint32_t)d->buffers) continue;
        c->skipped += d->held != NONE && i == 0;
        give_back(d);
        hold(c, i, &b);
        if (b.flags & V4L2_BUF_FLAG_ERROR) give_back(d); /* damaged by the driver */
    }
}

static void try_again(struct cameras *c, int i)
{
    struct device *d = &c->device[i];
    if (clock_ns() < d->retry_ns) return;
    d->retry_ns = clock_ns() + RETRY_NS;
    if (open_device(d, &c->rig.camera[i], &c->settings) || start_device(c, i))
        close_device(d);
    else
        c->fault = message_text("%s: camera %d is back", d->path, i);
}

/** Waits until a camera has a picture. */
static void wait_for_one(struct cameras *c)
{
    struct pollfd fds[VFRONT_CAMERAS];
    for (int i = 0; i < c->count; i++) {
        if (c->device[i].fd < 0) try_again(c, i);
        fds[i] = (struct pollfd){.fd = c->device[i].fd, .events = POLLIN};
    }
    if (poll(fds, (nfds_t)c->count, POLL_MS) <= 0) return;
    for (int i = 0; i < c->count; i++) {
        struct device *d = &c->device[i];
        const int had = d->held;
        if (d->fd < 0 || !fds[i].revents) continue;
        take_newest(c, i);
        if (d->fd >= 0 && d->held == had && fds[i].revents & (POLLERR | POLLHUP | POLLNVAL)) {
            errno = ENODEV;
            lose(c, i);
        }
    }
}

static source_status_t next_frame(void *of, vfront_frame_t *frame, uint64_t *arrived_ns)
{
    struct cameras *c = of;
    if (c->settings.frames && c->given == c->settings.frames) return SOURCE_END;
    const uint64_t end_ns = clock_ns() + POLL_MS * 1000000u;
    do {
        int older;
        wait_for_one(c);
        if (source_are_together(c->camera, c->count, &older)) {
            c->given++;
            source_fill(frame, c->camera, c->count, arrived_ns);
            frame->exposure_ns = c->settings.exposure_us * 1000u;
            return SOURCE_FRAME;
        }
        if (older < 0) continue;
        c->skipped++;
        give_back(&c->device[older]);
    } while (clock_ns() < end_ns);
    return SOURCE_NOTHING;
}

static void done(void *of)
{
    struct cameras *c = of;
    for (int i = 0; i < c->count; i++) give_back(&c->device[i]);
}

static const vfront_rig_t *rig_of(const void *of) { return &((const struct cameras *)of)->rig; }
static uint64_t skipped(const void *of) { return ((const struct cameras *)of)->skipped; }

static int has_samples(const void *of)
{
    (void)of;
    return 0;
}

static const char *fault_of(void *of)
{
    struct cameras *c = of;
    const char *fault = c->fault;
    c->fault = NULL;
    return fault;
}

const source_kind_t source_v4l2 = {.open = open_cameras,
                                   .is_absent = is_absent,
                                   .close = close_cameras,
                                   .start = start_cameras,
                                   .rig = rig_of,
                                   .has_samples = has_samples,
                                   .next = next_frame,
                                   .done = done,
                                   .fault = fault_of,
                                   .skipped = skipped};
