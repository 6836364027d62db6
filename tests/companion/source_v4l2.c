/* SPDX-License-Identifier: MIT
 *
 * Video devices (examples/companion/source_v4l2.c) on a driver that this test plays: open, ioctl, mmap, poll and close
 * of two cameras are taken at link time. Formats, stamps of either kind, two cameras by their stamps, cameras that are
 * unplugged and plugged again, drivers that refuse; drivers that fill buffers of the library, and those that do not. No
 * camera has seen it.
 */
#define _GNU_SOURCE /* mkdtemp, types of linux/videodev2.h */
#include <errno.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "examples/companion/clock.h"
#include "examples/companion/source.h"
#include "tests/fixture/random.h"
#include "tests/fixture/temporary.h"

enum { FAKE_FD = 900, CAMERAS = 2, BUFFERS = 4, WIDTH = 64, HEIGHT = 48 };

#define MS 1000000ull

/** A camera of the fake driver. */
static struct fake {
    int is_there, is_open, is_streaming;
    uint32_t format; /* the one that it has */
    uint32_t width, pitch;
    uint32_t flags;      /* of its stamps */
    int queued[BUFFERS]; /* 1: the driver's */
    int full[BUFFERS];   /* 1: has a picture */
    uint64_t stamp_ns[BUFFERS];
    uint8_t memory[BUFFERS][WIDTH * HEIGHT * 2];
    uint8_t *buffer[BUFFERS]; /* what it fills: `memory`, or what it was given */
    uint32_t user_min;        /* it takes buffers of others, so many at least; 0: it does not */
    int is_user;              /* 1: it was asked for that */
    uint32_t image_bytes;     /* that a buffer must have */
    uint32_t height;          /* rows that it has; 0: those that it is asked for */
    int fail;                 /* request that fails; 0: none */
    int fail_user;            /* the same, as long as its buffers are those of others */
    int opened, closed, mapped;
} fake[CAMERAS];

int __real_open(const char *path, int flags, ...);
int __real_close(int fd);
void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t bytes);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_open(const char *path, int flags, ...);
int __wrap_close(int fd);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *at, size_t bytes);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_ioctl(int fd, unsigned long request, ...);

static int is_fake(int fd) { return fd >= FAKE_FD && fd < FAKE_FD + CAMERAS; }

int __wrap_open(const char *path, int flags, ...)
{
    for (int i = 0; i < CAMERAS; i++) {
        char name[32];
        snprintf(name, sizeof name, "/dev/video%d", 70 + i);
        if (strcmp(path, name) != 0) continue;
        if (!fake[i].is_there) return errno = ENOENT, -1;
        fake[i].opened++;
        fake[i].is_open = 1;
        return FAKE_FD + i;
    }
    return __real_open(path, flags, 0666);
}

int __wrap_close(int fd)
{
    if (!is_fake(fd)) return __real_close(fd);
    struct fake *f = &fake[fd - FAKE_FD];
    f->closed++;
    f->is_open = f->is_streaming = 0;
    memset(f->queued, 0, sizeof f->queued);
    memset(f->full, 0, sizeof f->full);
    return 0;
}

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (!is_fake(fd)) return __real_mmap(at, bytes, protection, flags, fd, offset);
    fake[fd - FAKE_FD].mapped++;
    return fake[fd - FAKE_FD].memory[offset];
}

int __wrap_munmap(void *at, size_t bytes)
{
    for (int i = 0; i < CAMERAS; i++)
        for (int b = 0; b < BUFFERS; b++)
            if (at == fake[i].memory[b]) return fake[i].mapped--, 0;
    return __real_munmap(at, bytes);
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
    int ready = 0, fakes = 0;
    for (nfds_t i = 0; i < count; i++) {
        fds[i].revents = 0;
        if (!is_fake(fds[i].fd)) continue;
        fakes++;
        const struct fake *f = &fake[fds[i].fd - FAKE_FD];
        for (int b = 0; b < BUFFERS; b++)
            if (f->queued[b] && f->full[b]) fds[i].revents = POLLIN;
        if (!f->is_there) fds[i].revents = POLLERR;
        ready += fds[i].revents != 0;
    }
    if (!fakes && count && fds[0].fd >= 0) return __real_poll(fds, count, timeout);
    if (!ready) clock_set_ns(clock_ns() + 20 * MS); /* time passes */
    return ready;
}

static int queue(struct fake *f, struct v4l2_buffer *b)
{
    REQUIRE(b->index < BUFFERS && !f->queued[b->index], "buffer %u is queued already ", b->index);
    REQUIRE(b->memory == (f->is_user ? V4L2_MEMORY_USERPTR : V4L2_MEMORY_MMAP), "memory %u ", b->memory);
    f->buffer[b->index] = f->is_user ? (uint8_t *)b->m.userptr : f->memory[b->index];
    REQUIRE(!f->is_user || b->length >= f->image_bytes, "a buffer of %u bytes ", b->length);
    f->queued[b->index] = 1;
    f->full[b->index] = 0;
    return 0;
}

static int request_buffers(struct fake *f, struct v4l2_requestbuffers *r)
{
    assert_true(!f->is_streaming);
    memset(f->queued, 0, sizeof f->queued);
    if (r->memory == V4L2_MEMORY_USERPTR && !f->user_min) return errno = EINVAL, -1;
    f->is_user = r->count && r->memory == V4L2_MEMORY_USERPTR;
    if (f->is_user && r->count < f->user_min) r->count = f->user_min;
    return 0;
}

static int dequeue(struct fake *f, struct v4l2_buffer *b)
{
    int best = -1;
    for (int i = 0; i < BUFFERS; i++)
        if (f->queued[i] && f->full[i] && (best < 0 || f->stamp_ns[i] < f->stamp_ns[best])) best = i;
    assert_true(f->is_streaming && b->memory == (f->is_user ? V4L2_MEMORY_USERPTR : V4L2_MEMORY_MMAP));
    if (best < 0) return errno = EAGAIN, -1;
    f->queued[best] = 0;
    b->index = (uint32_t)best;
    b->flags = f->flags;
    b->timestamp.tv_sec = (long)(f->stamp_ns[best] / 1000000000u);
    b->timestamp.tv_usec = (long)(f->stamp_ns[best] / 1000u % 1000000u);
    return 0;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
    va_list list;
    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    assert_true(is_fake(fd));
    struct fake *f = &fake[fd - FAKE_FD];
    assert_true(f->is_open);
    if (!f->is_there) return errno = ENODEV, -1;
    const int number = 1 + (int)(request & 0xff);
    if (f->fail == number || (f->is_user && f->fail_user == number)) return errno = EINVAL, -1;
    struct v4l2_buffer *b = argument;
    switch (request) {
    case VIDIOC_QUERYCAP:
        ((struct v4l2_capability *)argument)->capabilities = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
        return 0;
    case VIDIOC_S_FMT: {
        struct v4l2_pix_format *p = &((struct v4l2_format *)argument)->fmt.pix;
        p->pixelformat = f->format;
        p->width = f->width;
        if (f->height) p->height = f->height;
        p->bytesperline = f->pitch;
        p->sizeimage = f->image_bytes;
        return 0;
    }
    case VIDIOC_S_PARM: return errno = ENOTTY, -1;
    case VIDIOC_REQBUFS: return request_buffers(f, argument);
    case VIDIOC_QUERYBUF:
        b->length = f->image_bytes > sizeof f->memory[0] ? f->image_bytes : sizeof f->memory[0];
        b->m.offset = b->index;
        return 0;
    case VIDIOC_QBUF: return queue(f, b);
    case VIDIOC_DQBUF: return dequeue(f, b);
    case VIDIOC_STREAMON: return f->is_streaming = 1, 0;
    case VIDIOC_STREAMOFF: return f->is_streaming = 0;
    default: return errno = ENOTTY, -1;
    }
}

/** A picture of a camera. 0: the driver has no buffer for it. */
static int expose(int camera, uint64_t stamp_ns, uint8_t grey)
{
    struct fake *f = &fake[camera];
    for (int b = 0; b < BUFFERS; b++) {
        if (!f->queued[b] || f->full[b]) continue;
        memset(f->buffer[b], grey, WIDTH * HEIGHT);
        f->full[b] = 1;
        f->stamp_ns[b] = stamp_ns;
        return 1;
    }
    return 0;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static char rig_path[64];
static source_settings_t settings;
static int is_absent;
static source_t *source;

static int set_up(void **state)
{
    static const char rig[] = "cam0:\n  camera_model: pinhole\n  intrinsics: [50, 50, 32, 24]\n  distortion_model: "
                              "none\n  resolution: [64, 48]\n"
                              "  T_cam_imu: [[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1]]\n"
                              "cam1:\n  camera_model: pinhole\n  intrinsics: [50, 50, 32, 24]\n  distortion_model: "
                              "none\n  resolution: [64, 48]\n"
                              "  T_cn_cnm1: [[1, 0, 0, -0.1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]\n";
    (void)state;
    const int fd = mkstemp(temporary(rig_path, "rig"));
    return fd < 0 || write(fd, rig, sizeof rig - 1) != (ssize_t)sizeof rig - 1 || close(fd) != 0;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(rig_path);
}

static const char *begin(const char *where)
{
    memset(fake, 0, sizeof fake);
    for (int i = 0; i < CAMERAS; i++) {
        fake[i].is_there = 1;
        fake[i].format = V4L2_PIX_FMT_GREY;
        fake[i].width = fake[i].pitch = WIDTH;
        fake[i].flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC | V4L2_BUF_FLAG_TSTAMP_SRC_SOE;
    }
    settings = (source_settings_t){.where = where,
                                   .calibration = rig_path,
                                   .rate_hz = 30.0,
                                   .exposure_us = 4000,
                                   .readout_us = 10000,
                                   .is_absent = &is_absent};
    clock_set_ns(1000 * MS);
    return NULL;
}

static void open_it(void)
{
    const char *error = source_open(&source, &settings);
    if (error && strstr(error, "libyaml")) skip();
    REQUIRE(!error, "%s ", error);
}

static void start(const source_inputs_t *inputs)
{
    const char *error = source_start(source, inputs);
    REQUIRE(!error, "%s ", error);
}

static source_status_t next(vfront_frame_t *frame)
{
    uint64_t arrived_ns;
    return source_next(source, frame, &arrived_ns);
}

static void test_pair(void **state)
{
    vfront_frame_t frame;
    (void)state;
    begin("v4l2:70,71");
    open_it();
    start(NULL);
    assert_true(fake[0].is_streaming && fake[1].is_streaming);
    for (uint8_t i = 0; i < 20; i++) {
        const uint64_t t = (1000 + 33u * i) * MS;
        assert_true(expose(0, t, i) && expose(1, t + MS, (uint8_t)(i + 100)));
        assert_int_equal(next(&frame), SOURCE_FRAME);
        assert_true(frame.t_ns == t && frame.exposure_ns == 4 * MS && frame.picture[1].t_ns == t + MS);
        assert_int_equal(*(const uint8_t *)frame.picture[0].data, i);
        assert_int_equal(*(const uint8_t *)frame.picture[1].data, i + 100);
        assert_int_equal(frame.picture[0].format, VFRONT_GREY8);
        source_done(source);
    }
    assert_int_equal(source_skipped(source), 0);
    assert_int_equal(next(&frame), SOURCE_NOTHING);
    source_close(source);
    for (int i = 0; i < CAMERAS; i++) assert_true(fake[i].closed == 1 && fake[i].mapped == 0);
}

/** The end of the frame is stamped: exposure and readout before it. Another clock: the time of arrival. */
static void test_stamps(void **state)
{
    vfront_frame_t frame;
    (void)state;
    begin("v4l2:70");
    fake[0].flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC | V4L2_BUF_FLAG_TSTAMP_SRC_EOF;
    open_it();
    start(NULL);
    assert_true(expose(0, 2000 * MS, 1));
    assert_int_equal(next(&frame), SOURCE_FRAME);
    assert_true(frame.t_ns == 1986 * MS);
    source_done(source);
    fake[0].flags = V4L2_BUF_FLAG_TIMESTAMP_UNKNOWN;
    clock_set_ns(3000 * MS);
    assert_true(expose(0, 77, 1));
    assert_int_equal(next(&frame), SOURCE_FRAME);
    assert_true(frame.t_ns == 2986 * MS);
    source_close(source);
}

/** The newest picture counts; what belongs to none of the other camera is left out. */
static void test_newest(void **state)
{
    vfront_frame_t frame;
    (void)state;
    begin("v4l2:70,71");
    open_it();
    start(NULL);
    for (uint8_t i = 0; i < 3; i++)
        assert_true(expose(0, (1000 + 33u * i) * MS, i) && expose(1, (1000 + 33u * i) * MS, i));
    assert_int_equal(next(&frame), SOURCE_FRAME);
    assert_int_equal(*(const uint8_t *)frame.picture[0].data, 2);
    assert_int_equal(source_skipped(source), 2);
    source_done(source);
    assert_true(expose(0, 1200 * MS, 5) && expose(1, 1233 * MS, 6)); /* one is missing of each */
    assert_int_equal(next(&frame), SOURCE_NOTHING);
    assert_true(expose(0, 1233 * MS, 6));
    assert_int_equal(next(&frame), SOURCE_FRAME);
    assert_true(frame.t_ns == 1233 * MS);
    source_close(source);
}

/** Unplugged, one camera after the other, and plugged again. */
static void test_unplugged(void **state)
{
    vfront_frame_t frame;
    uint64_t t = 1000 * MS;
    (void)state;
    begin("v4l2:70,71");
    open_it();
    start(NULL);
    assert_true(expose(0, t, 1) && expose(1, t, 1));
    assert_int_equal(next(&frame), SOURCE_FRAME);
    source_done(source);
    fake[1].is_there = 0;
    int frames = 0, reported_gone = 0, reported_back = 0;
    for (int i = 0; i < 60; i++) {
        t += 33 * MS;
        clock_set_ns(t);
        if (i == 30) fake[1].is_there = 1;
        expose(0, t, (uint8_t)i);
        if (i > 30) expose(1, t, (uint8_t)i);
        if (next(&frame) == SOURCE_FRAME) {
            frames++;
            if (i > 3 && i < 30) assert_int_equal(frame.picture[1].format, VFRONT_NO_PICTURE);
        }
        source_done(source);
        const char *fault = source_fault(source);
        reported_gone += fault && strstr(fault, "gone");
        reported_back += fault && strstr(fault, "back");
    }
    assert_in_range(frames, 40, 60);
    assert_int_equal(frame.picture[1].format, VFRONT_GREY8);
    assert_true(reported_gone == 1 && reported_back == 1);
    fake[0].is_there = fake[1].is_there = 0;
    for (int i = 0; i < 5; i++) assert_int_equal(next(&frame), SOURCE_NOTHING);
    fake[0].is_there = fake[1].is_there = 1;
    clock_set_ns(clock_ns() + 1500 * MS);
    next(&frame);
    assert_true(expose(0, clock_ns(), 9) && expose(1, clock_ns(), 9));
    assert_int_equal(next(&frame), SOURCE_FRAME);
    source_close(source);
    for (int i = 0; i < CAMERAS; i++) assert_true(fake[i].opened == fake[i].closed && fake[i].mapped == 0);
}

static void test_formats(void **state)
{
    static const uint32_t v4l2[] = {V4L2_PIX_FMT_GREY, V4L2_PIX_FMT_Y10, V4L2_PIX_FMT_Y16, V4L2_PIX_FMT_NV12,
                                    V4L2_PIX_FMT_YUYV};
    static const vfront_format_t ours[] = {VFRONT_GREY8, VFRONT_GREY10, VFRONT_GREY16, VFRONT_NV12, VFRONT_YUYV};
    vfront_frame_t frame;
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        begin("v4l2:/dev/video70");
        fake[0].format = v4l2[i];
        fake[0].pitch = 2 * WIDTH;
        open_it();
        start(NULL);
        assert_true(expose(0, 1000 * MS, 1));
        assert_int_equal(next(&frame), SOURCE_FRAME);
        assert_int_equal(frame.picture[0].format, ours[i]);
        assert_int_equal(frame.picture[0].pitch_bytes, 2 * WIDTH);
        source_close(source);
    }
}

/** Drivers that fill buffers of others, of one camera or of both, unplugged and plugged again; and drivers that do not:
 *  not at all, not two of them, not at these addresses, not for their pictures' size. */
static void test_lent(void **state)
{
    static uint8_t memory[CAMERAS][VFRONT_INPUTS][VFRONT_INPUT_BYTES];
    static const struct {
        uint32_t user_min;
        int fail_user;
        uint32_t image_bytes;
        int lent;
    } driver[] = {{1, 0, 0, 1},
                  {2, 0, WIDTH * HEIGHT * 2, 1},
                  {0, 0, 0, 0},
                  {3, 0, 0, 0},
                  {1, 1 + (VIDIOC_QBUF & 0xff), 0, 0},
                  {2, 1 + (VIDIOC_STREAMON & 0xff), 0, 0},
                  {2, 0, VFRONT_INPUT_BYTES + 1, 0}};
    source_inputs_t inputs;
    vfront_frame_t frame;
    (void)state;
    for (int i = 0; i < CAMERAS; i++)
        for (int k = 0; k < VFRONT_INPUTS; k++) inputs.data[i][k] = memory[i][k];
    for (size_t i = 0; i < sizeof driver / sizeof *driver; i++) {
        char printed[64];
        begin("v4l2:70,71");
        fake[0].user_min = 2;
        fake[1].user_min = driver[i].user_min;
        fake[1].fail_user = driver[i].fail_user;
        fake[1].image_bytes = driver[i].image_bytes;
        open_it();
        start(&inputs);
        snprintf(printed, sizeof printed, "%d of 2 cameras fill the library's own buffers", 1 + driver[i].lent);
        assert_non_null(strstr(source_fault(source), printed));
        assert_true(fake[0].mapped == 0 && fake[1].mapped == (driver[i].lent ? 0 : BUFFERS));
        for (uint8_t n = 0; n < 30; n++) {
            const uint64_t t = clock_ns() + 33 * MS;
            clock_set_ns(t);
            if (n == 10) fake[0].is_there = fake[1].is_there = 0;
            if (n == 11) clock_set_ns(t + 1000 * MS);
            if (n == 11) fake[0].is_there = fake[1].is_there = 1;
            if (n == 10 || n == 11) {
                assert_int_equal(next(&frame), SOURCE_NOTHING);
                continue;
            }
            assert_true(expose(0, t, n) && expose(1, t, (uint8_t)(n + 100)));
            assert_int_equal(next(&frame), SOURCE_FRAME);
            for (int k = 0; k < CAMERAS; k++) {
                const uint8_t *data = frame.picture[k].data;
                assert_int_equal(*data, n + 100 * k);
                const int is_lent = data == inputs.data[k][0] || data == inputs.data[k][1];
                assert_int_equal(is_lent, k ? driver[i].lent : 1);
                assert_int_equal(frame.picture[k].memory,
                                 VFRONT_HOST_MEMORY); /* read in place without being looked up */
            }
            assert_true(expose(0, t + MS, 1)); /* it has another while one is held */
            source_done(source);
            assert_int_equal(next(&frame), SOURCE_NOTHING);
        }
        source_close(source);
        for (int k = 0; k < CAMERAS; k++) assert_true(fake[k].opened == fake[k].closed && fake[k].mapped == 0);
    }
}

/** What cannot be opened gives the cause, and leaves nothing open. */
static void test_refused(void **state)
{
    static const int fails[] = {VIDIOC_QUERYCAP & 0xff, VIDIOC_S_FMT & 0xff, VIDIOC_REQBUFS & 0xff,
                                VIDIOC_QUERYBUF & 0xff, VIDIOC_QBUF & 0xff,  VIDIOC_STREAMON & 0xff};
    static const char *const names[] = {"v4l2:", "v4l2:,", "v4l2:70,71,72", "v4l2:nothing", "v4l2:69"};
    (void)state;
    for (size_t i = 0; i < sizeof fails / sizeof *fails + 3; i++) {
        begin("v4l2:70,71");
        if (i < sizeof fails / sizeof *fails)
            fake[1].fail = 1 + fails[i];
        else if (i == sizeof fails / sizeof *fails)
            fake[1].width = 2 * WIDTH;
        else if (i == sizeof fails / sizeof *fails + 1)
            fake[1].pitch = WIDTH - 1;
        else
            fake[1].is_there = 0;
        const char *error = source_open(&source, &settings);
        if (!error) {
            error = source_start(source, NULL);
            source_close(source);
        }
        REQUIRE(error, "case %zu started ", i);
        assert_int_equal(is_absent, i == sizeof fails / sizeof *fails + 2);
        for (int k = 0; k < CAMERAS; k++) assert_true(fake[k].opened == fake[k].closed && fake[k].mapped == 0);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        begin(names[i]);
        assert_non_null(source_open(&source, &settings));
    }
    begin("v4l2:70");
    settings.calibration = NULL;
    assert_non_null(strstr(source_open(&source, &settings), "--rig"));
}

/** Without a calibration pictures are as large as the driver has them, where that is allowed. */
static void test_own_size(void **state)
{
    vfront_frame_t frame;
    (void)state;
    begin("v4l2:70");
    settings.calibration = NULL;
    settings.has_own_size = 1;
    fake[0].width = fake[0].pitch = 32;
    fake[0].height = 24;
    open_it();
    const vfront_rig_t *rig = source_rig(source);
    assert_true(rig->cameras == 1 && rig->camera[0].width_px == 32 && rig->camera[0].height_px == 24);
    assert_true(rig->camera[0].fx_px == 0.0);
    start(NULL);
    assert_true(expose(0, 2000 * MS, 7));
    assert_int_equal(next(&frame), SOURCE_FRAME);
    assert_true(frame.picture[0].width_px == 32 && frame.picture[0].pitch_bytes == 32);
    source_close(source);
    begin("v4l2:70");
    settings.has_own_size = 1; /* the calibration's size counts where there is one */
    fake[0].width = 32;
    const char *error = source_open(&source, &settings);
    assert_true(error && (strstr(error, "but the rig has") || strstr(error, "libyaml")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pair),    cmocka_unit_test(test_stamps),
                                       cmocka_unit_test(test_newest),  cmocka_unit_test(test_unplugged),
                                       cmocka_unit_test(test_formats), cmocka_unit_test(test_lent),
                                       cmocka_unit_test(test_refused), cmocka_unit_test(test_own_size)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
