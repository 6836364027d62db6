/* SPDX-License-Identifier: MIT */
/* Recordings: what is written is read again to the bit; a file that is cut off at any byte gives what is whole before
 * it, and a file with any byte changed a message; a disk that is slow or full costs the recording, never the caller.
 *
 *     recording                    the tests
 *     recording --runs N [SEED]    N payloads from anywhere through every reader: no crash, nothing out of range
 *     recording --speed S [FILE]   writes 752x480 stereo at 30 Hz for S seconds and prints losses, then as fast as
 *                                  the disk takes it
 */
#define _XOPEN_SOURCE 700 /* mkdtemp, mkfifo, nanosleep */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "examples/recording/bytes.h"
#include "examples/recording/crc.h"
#include "examples/recording/reader.h"
#include "examples/recording/recorder.h"
#include "tests/fixture/random.h"

#define CAMERAS (VFRONT_CAMERAS > 1 ? 2 : 1)
#define WIDTH 33
#define HEIGHT 19
#define PITCH 80
#define FRAMES 4

static char folder[64];
static char path[80], other[80];

static recording_header_t header;
static uint8_t mask[HEIGHT][WIDTH + 3];

/** A rig in which no two numbers are alike, and a tuning that is not the standard one. */
static void make_header(void)
{
    static vfront_rig_t rig;
    vfront_tuning_t tuning;
    const vfront_info_t info = {.port = VFRONT_PORT_HOST, .device = "host"};
    double number = 0.5;
    memset(&rig, 0, sizeof rig);
    rig.cameras = CAMERAS;
    for (int i = 0; i < CAMERAS; i++) {
        vfront_camera_t *c = &rig.camera[i];
        *c = (vfront_camera_t){.width_px = WIDTH, .height_px = HEIGHT, .lens = VFRONT_LENS_RATIONAL};
        double *const each[] = {&c->fx_px, &c->fy_px, &c->cx_px, &c->cy_px};
        for (int k = 0; k < 4; k++) *each[k] = number += 1.25;
        for (int k = 0; k < 8; k++) c->distortion[k] = number += 1.25;
        for (int k = 0; k < 9; k++) c->R_cam_imu[k] = number += 1.25;
        for (int k = 0; k < 3; k++) c->t_cam_imu_m[k] = number += 1.25;
    }
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) mask[y][x] = (uint8_t)(x * y);
    rig.camera[0].mask = mask[0];
    rig.camera[0].mask_pitch_bytes = sizeof mask[0];
    rig.road_height_m = 1.5;
    rig.road_pitch_rad = -0.25;
    rig.imu = (vfront_imu_noise_t){1e-3, 2e-3, 3e-5, 4e-5, 17, 150, 200, 9.81};
    rig.imu_offset_ns = -1234567;
    vfront_tuning_default(&tuning);
    tuning.detect_threshold = 33;
    tuning.first_track_id = 2147483647;
    header_make(&header, "test", "nowhere \"at\" all", &rig, &tuning, &info);
}

static uint8_t pixels[2][HEIGHT][PITCH], frame_mask[HEIGHT][PITCH];
static vfront_gyro_t gyro[5];
static vfront_imu_t imu[7];
static double rotation[9];

/** Frame `index`: of each another format, kind of samples and rotation. */
static vfront_frame_t make_frame(uint32_t index)
{
    static const vfront_format_t format[FRAMES] = {VFRONT_GREY8, VFRONT_GREY16, VFRONT_YUYV, VFRONT_NV12};
    vfront_frame_t f = {.t_ns = 1000000007u * (index + 1), .exposure_ns = 5000 + index};
    shake(index + 1);
    for (int c = 0; c < CAMERAS; c++) {
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < PITCH; x++) pixels[c][y][x] = (uint8_t)roll64();
        f.picture[c] = (vfront_picture_t){.data = pixels[c],
                                          .width_px = WIDTH,
                                          .height_px = HEIGHT,
                                          .pitch_bytes = PITCH,
                                          .format = format[index % FRAMES],
                                          .t_ns = f.t_ns + (uint64_t)c};
    }
    memset(frame_mask, (int)index + 1, sizeof frame_mask);
    if (index == 1) {
        f.picture[0].mask = frame_mask[0];
        f.picture[0].mask_width_px = WIDTH;
        f.picture[0].mask_height_px = HEIGHT;
        f.picture[0].mask_pitch_bytes = PITCH;
    }
    if (index == 2) f.picture[CAMERAS - 1].format = VFRONT_NO_PICTURE;
    for (uint32_t i = 0; i < 5; i++) gyro[i] = (vfront_gyro_t){f.t_ns + i, {0.1 * i, -2, 1e-30}};
    for (uint32_t i = 0; i < 7; i++) imu[i] = (vfront_imu_t){f.t_ns + i, {0.1 * i, -2, 1e-30}, {9.8, 1.0 / 3, i}};
    for (int i = 0; i < 9; i++) rotation[i] = 1.0 / (i + 3);
    if (index == 0) f.gyro = gyro;
    if (index == 1) f.gyro = gyro, f.gyro_count = 5;
    if (index == 2) f.imu = imu, f.imu_count = 7;
    if (index == 3) f.R_cur_prev = rotation;
    return f;
}

static vfront_result_t result;

static const vfront_result_t *make_result(uint32_t index)
{
    memset(&result, 0, sizeof result);
    result.frame = index;
    result.health.born = index;
    result.timing.port = VFRONT_PORT_HOST;
    result.timing.step_us = 321;
    return &result;
}

static void must(const char *error) { REQUIRE(!error, "%s", error); }

/** The recording that the tests read: all kinds of chunks, of the fourth frame that it was refused. */
static void record(void)
{
    recorder_t *r;
    must(recorder_open(&r, path, RECORDER_BUFFER_BYTES, &header));
    for (uint32_t i = 0; i < FRAMES; i++) {
        const vfront_frame_t f = make_frame(i);
        if (i == 1) recorder_text(r, CHUNK_FAULT, f.t_ns, "camera0 black");
        recorder_imu(r, f.t_ns, imu, 7);
        recorder_frame(r, &f, i == 2);
        recorder_mavlink(r, f.t_ns, 1, 1, "\xfd\x01\x02", 3);
        recorder_result(r, f.t_ns, i == 3 ? VFRONT_E_TIME : VFRONT_OK, i == 3 ? NULL : make_result(i));
    }
    recorder_counts_t n;
    recorder_counts(r, &n);
    must(recorder_close(r));
    REQUIRE(n.frames == FRAMES && !n.frames_lost && !n.others_lost, "%u frames", n.frames);
}

static void require_same_picture(const vfront_picture_t *a, const vfront_picture_t *b, uint32_t frame)
{
    REQUIRE(a->format == b->format, "frame %u: format", frame);
    if (a->format == VFRONT_NO_PICTURE) return;
    const size_t row = a->format == VFRONT_GREY8 || a->format == VFRONT_NV12 ? WIDTH : 2 * WIDTH;
    REQUIRE(a->t_ns == b->t_ns && a->width_px == b->width_px && a->height_px == b->height_px, "frame %u", frame);
    for (int y = 0; y < HEIGHT; y++)
        REQUIRE(!memcmp((const uint8_t *)a->data + y * (int)a->pitch_bytes,
                        (const uint8_t *)b->data + y * (int)b->pitch_bytes, row),
                "frame %u, row %d", frame, y);
    REQUIRE(!a->mask == !b->mask, "frame %u: mask", frame);
    for (int y = 0; a->mask && y < HEIGHT; y++)
        REQUIRE(!memcmp(a->mask + y * (int)a->mask_pitch_bytes, b->mask + y * (int)b->mask_pitch_bytes, WIDTH),
                "frame %u, row %d of the mask", frame, y);
}

static void require_frame(reader_t *r, uint32_t index)
{
    const recorded_frame_t *got;
    const vfront_frame_t want = make_frame(index);
    must(reader_frame(r, index, &got));
    const vfront_frame_t *f = &got->frame;
    REQUIRE(f->t_ns == want.t_ns && f->exposure_ns == want.exposure_ns, "frame %u: stamps", index);
    REQUIRE(got->after_reset == (index == 2), "frame %u: reset", index);
    REQUIRE(reader_time_ns(r, index) == want.t_ns, "frame %u", index);
    REQUIRE(!f->gyro == !want.gyro && !f->imu == !want.imu && !f->R_cur_prev == !want.R_cur_prev, "frame %u", index);
    REQUIRE(f->gyro_count == want.gyro_count && f->imu_count == want.imu_count, "frame %u: samples", index);
    if (f->gyro_count) assert_memory_equal(f->gyro, want.gyro, f->gyro_count * sizeof *f->gyro);
    if (f->imu_count) assert_memory_equal(f->imu, want.imu, f->imu_count * sizeof *f->imu);
    if (f->R_cur_prev) assert_memory_equal(f->R_cur_prev, want.R_cur_prev, sizeof rotation);
    for (int c = 0; c < CAMERAS; c++) require_same_picture(&f->picture[c], &want.picture[c], index);
}

static void require_outcome(reader_t *r, uint32_t index)
{
    outcome_t got, want;
    int has;
    must(reader_outcome(r, index, &got, &has));
    REQUIRE(has, "frame %u", index);
    outcome_of(&want, index == 3 ? VFRONT_E_TIME : VFRONT_OK, index == 3 ? NULL : make_result(index));
    assert_memory_equal(&got, &want, sizeof got);
    REQUIRE(!outcome_difference(&got, &want, 1), "frame %u", index);
}

static void test_round(void **state)
{
    (void)state;
    reader_t *r;
    int is_cut;
    must(reader_open(&r, path));
    const recording_header_t *h = reader_header(r);
    assert_true(reader_frames(r) == FRAMES && reader_whole(r) == FRAMES && !reader_trouble(r, &is_cut));
    assert_memory_equal(&h->tuning, &header.tuning, sizeof h->tuning);
    assert_memory_equal(&h->rig.imu, &header.rig.imu, sizeof h->rig.imu);
    assert_true(h->rig.imu_offset_ns == header.rig.imu_offset_ns && h->rig.cameras == CAMERAS);
    assert_true(h->rig.road_height_m == 1.5 && h->rig.road_pitch_rad == -0.25 && h->port == VFRONT_PORT_HOST);
    assert_string_equal(h->source, header.source);
    assert_string_equal(h->sources, header_sources());
    assert_null(header_other_config(h));
    for (int i = 0; i < CAMERAS; i++) {
        vfront_camera_t a = h->rig.camera[i], b = header.rig.camera[i];
        assert_true(!a.mask == !b.mask);
        for (int y = 0; a.mask && y < HEIGHT; y++)
            assert_memory_equal(a.mask + y * (int)a.mask_pitch_bytes, mask[y], WIDTH);
        a.mask = b.mask = NULL;
        a.mask_pitch_bytes = b.mask_pitch_bytes = 0;
        assert_memory_equal(&a, &b, sizeof a);
    }
    for (uint32_t i = FRAMES; i-- > 0;) require_frame(r, i);
    for (uint32_t i = 0; i < FRAMES; i++) require_outcome(r, i);
    uint32_t of_type[10] = {0};
    for (uint32_t i = 0; i < reader_chunks(r); i++) {
        chunk_t c;
        uint8_t *payload;
        must(reader_chunk(r, i, &c, &payload));
        of_type[c.type]++;
        if (c.type == CHUNK_FAULT) assert_memory_equal(payload, "camera0 black", c.bytes);
        if (c.type == CHUNK_MAVLINK) assert_memory_equal(payload, "\1\1\xfd\1\2", c.bytes);
    }
    assert_true(of_type[CHUNK_HEADER] == 1 && of_type[CHUNK_FAULT] == 1 && of_type[CHUNK_IMU] == FRAMES &&
                of_type[CHUNK_MAVLINK] == FRAMES && of_type[CHUNK_END] == 1 && of_type[CHUNK_LOST] == 0);
    reader_close(r);
}

static void test_config(void **state)
{
    (void)state;
    recording_header_t h = header;
    h.config[0].value++;
    const char *mismatch = header_other_config(&h);
    REQUIRE(mismatch && strstr(mismatch, "VFRONT_CAMERAS: "), "%s", mismatch ? mismatch : "nothing");
}

static void test_crc(void **state)
{
    (void)state;
    assert_true(crc32_of(0, "123456789", 9) == 0xcbf43926u); /* the check value of CRC-32 */
    assert_true(crc32_of(crc32_of(0, "1234", 4), "56789", 5) == 0xcbf43926u && crc32_of(0, "", 0) == 0);
}

/* ---- damage ------------------------------------------------------------------------------------------------------ */

static uint8_t *whole;
static size_t whole_bytes;

static void read_whole(void)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    whole_bytes = (size_t)ftell(file);
    rewind(file);
    whole = malloc(whole_bytes);
    assert_true(whole && fread(whole, 1, whole_bytes, file) == whole_bytes);
    fclose(file);
}

static void write_other(const uint8_t *bytes, size_t count)
{
    FILE *file = fopen(other, "wb");
    assert_true(file && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
}

/** Number of frames whose chunk ends at or before a length. */
static uint32_t frames_within(size_t length)
{
    size_t at = RECORDING_MAGIC_BYTES;
    uint32_t frames = 0;
    chunk_t c;
    while (at + CHUNK_HEAD_BYTES <= (length < whole_bytes ? length : whole_bytes) && !chunk_read_head(whole + at, &c)) {
        at += CHUNK_HEAD_BYTES + c.bytes;
        frames += at <= length && c.type == CHUNK_FRAME;
    }
    return frames;
}

static size_t header_end(void)
{
    chunk_t c;
    assert_null(chunk_read_head(whole + RECORDING_MAGIC_BYTES, &c));
    return RECORDING_MAGIC_BYTES + CHUNK_HEAD_BYTES + c.bytes;
}

/** The power is cut at every byte: all frames before are there, and its end is reported missing; zeros behind
 *  the cut, as file systems leave them, change nothing. */
static void test_cut(void **state)
{
    (void)state;
    static uint8_t padded[1 << 17];
    assert_true(whole_bytes < sizeof padded);
    for (size_t length = 0; length < whole_bytes; length++) {
        reader_t *r;
        int is_cut = 0;
        const size_t zeros = length & 1 ? 200 : 0;
        memset(padded, 0, sizeof padded);
        memcpy(padded, whole, length);
        write_other(padded, length + zeros);
        const char *error = reader_open(&r, other);
        if (length < header_end() && (error || !zeros)) {
            REQUIRE(error && strstr(error, other), "cut at %zu", length);
            continue;
        }
        must(error); /* a payload that ends in zeros of its own may be whole with those behind the cut */
        const uint32_t min = frames_within(length);
        const char *trouble = reader_trouble(r, &is_cut);
        REQUIRE(trouble && is_cut, "cut at %zu: %s", length, trouble ? trouble : "no trouble");
        REQUIRE(reader_frames(r) >= min && reader_frames(r) <= frames_within(length + zeros), "cut at %zu: %u frames",
                length, reader_frames(r));
        if (length % 37 == 0 || length + 40 > whole_bytes || reader_frames(r) > min)
            for (uint32_t i = 0; i < reader_frames(r); i++) require_frame(r, i);
        reader_close(r);
    }
}

/** Any byte changed is noticed: when the file is opened, or when the chunk is read. */
static void test_flip(void **state)
{
    (void)state;
    write_other(whole, whole_bytes);
    const int file = open(other, O_RDWR);
    assert_true(file >= 0);
    shake(7);
    for (size_t at = 0; at < whole_bytes; at++) {
        const uint8_t wrong = whole[at] ^ (uint8_t)(1 + roll64() % 255);
        reader_t *r;
        int is_cut;
        assert_true(pwrite(file, &wrong, 1, (off_t)at) == 1);
        const char *error = reader_open(&r, other);
        int noticed = error && *error;
        if (!error) {
            noticed = reader_trouble(r, &is_cut) != NULL;
            for (uint32_t i = 0; i < reader_chunks(r); i++) {
                chunk_t c;
                uint8_t *payload;
                error = reader_chunk(r, i, &c, &payload);
                noticed |= error && strstr(error, "damaged") && strstr(error, other);
            }
            reader_close(r);
        }
        REQUIRE(noticed, "byte %zu", at);
        assert_true(pwrite(file, &whole[at], 1, (off_t)at) == 1);
    }
    close(file);
}

/** A chunk whose head has a large size in a small file takes no memory. */
static void test_declared_size(void **state)
{
    (void)state;
    uint8_t head[CHUNK_HEAD_BYTES];
    reader_t *r;
    chunk_t c = {CHUNK_HEADER, CHUNK_BYTES_MAX, 0, 0, 0};
    uint8_t bytes[RECORDING_MAGIC_BYTES + CHUNK_HEAD_BYTES];
    memcpy(bytes, RECORDING_MAGIC, RECORDING_MAGIC_BYTES);
    chunk_write_head(head, &c);
    memcpy(bytes + RECORDING_MAGIC_BYTES, head, sizeof head);
    write_other(bytes, sizeof bytes);
    const char *error = reader_open(&r, other);
    REQUIRE(error && strstr(error, "ends within the chunk"), "%s", error ? error : "nothing");
    c.bytes++;
    chunk_write_head(head, &c);
    REQUIRE(chunk_read_head(head, &c), "more than 80 MB");
    write_other((const uint8_t *)"not a recording", 15);
    error = reader_open(&r, other);
    REQUIRE(error && strstr(error, "no recording"), "%s", error ? error : "nothing");
}

/* ---- disks ------------------------------------------------------------------------------------------------------- */

#define SLOW_FRAMES 2000u

static void *drain(void *argument)
{
    const int *from = argument;
    FILE *to = fopen(other, "wb");
    static uint8_t block[65536];
    ssize_t got;
    while (to && (got = read(*from, block, sizeof block)) > 0)
        if (fwrite(block, 1, (size_t)got, to) != (size_t)got) break;
    return to && fclose(to) == 0 ? argument : NULL;
}

/** Nobody reads until all frames were given: the calls return all the same, and what was not recorded is counted. */
static void test_slow(void **state)
{
    (void)state;
    recorder_t *r;
    reader_t *back;
    recorder_counts_t n;
    pthread_t thread;
    void *drained;
    char fifo[80];
    int is_cut;
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    int from = open(fifo, O_RDONLY | O_NONBLOCK);
    assert_true(from >= 0);
    must(recorder_open(&r, fifo, RECORDER_BUFFER_MIN_BYTES, &header));
    fcntl(from, F_SETFL, 0);
    for (uint32_t i = 0; i < SLOW_FRAMES; i++) {
        const vfront_frame_t f = make_frame(i % FRAMES);
        recorder_frame(r, &f, 0);
        recorder_result(r, f.t_ns, VFRONT_OK, make_result(i));
    }
    recorder_counts(r, &n);
    assert_int_equal(pthread_create(&thread, NULL, drain, &from), 0);
    const struct timespec moment = {0, 200000000};
    nanosleep(&moment, NULL); /* there is room again: what was lost is recorded, then frames go on */
    const vfront_frame_t last = make_frame(0);
    recorder_frame(r, &last, 0);
    must(recorder_close(r));
    pthread_join(thread, &drained);
    close(from);
    assert_non_null(drained);
    REQUIRE(n.frames_lost > 0 && n.frames > 100 && n.frames + n.frames_lost == SLOW_FRAMES, "%u and %u lost", n.frames,
            n.frames_lost);
    must(reader_open(&back, other));
    REQUIRE(!reader_trouble(back, &is_cut), "%s", reader_trouble(back, &is_cut));
    REQUIRE(reader_frames(back) == n.frames + 1, "%u frames of %u", reader_frames(back), n.frames + 1);
    REQUIRE(reader_whole(back) < reader_frames(back) && reader_whole(back) > 100, "%u whole", reader_whole(back));
    uint64_t lost = 0;
    for (uint32_t i = 0; i < reader_chunks(back); i++) {
        chunk_t c;
        uint8_t *payload;
        must(reader_chunk(back, i, &c, &payload));
        bytes_t b = bytes_of(payload, c.bytes);
        if (c.type == CHUNK_LOST) lost += bytes_get(&b, 4);
        if (c.type == CHUNK_END) assert_true(bytes_get(&b, 4) == n.frames + 1 && bytes_get(&b, 4) == n.frames_lost);
    }
    REQUIRE(lost == n.frames_lost, "%" PRIu64 " recorded as lost", lost);
    reader_close(back);
}

static void test_full(void **state)
{
    (void)state;
    recorder_t *r;
    must(recorder_open(&r, "/dev/full", RECORDER_BUFFER_MIN_BYTES, &header));
    for (uint32_t i = 0; i < SLOW_FRAMES; i++) {
        const vfront_frame_t f = make_frame(i % FRAMES);
        recorder_frame(r, &f, 0);
    }
    const char *error = recorder_close(r);
    REQUIRE(error && strstr(error, "/dev/full: No space left"), "%s", error ? error : "nothing");
    error = recorder_open(&r, "/nowhere/x.vfr", RECORDER_BUFFER_MIN_BYTES, &header);
    REQUIRE(error && !r && strstr(error, "/nowhere/x.vfr: No such file"), "%s", error ? error : "nothing");
}

/** A picture that cannot be read on the host, or whose pitch is too small, is lost and counted. */
static void test_unfit(void **state)
{
    (void)state;
    recorder_t *r;
    recorder_counts_t n;
    must(recorder_open(&r, other, RECORDER_BUFFER_MIN_BYTES, &header));
    vfront_frame_t f = make_frame(0);
    f.picture[0].memory = VFRONT_DEVICE_MEMORY;
    recorder_frame(r, &f, 0);
    f = make_frame(0);
    f.picture[0].pitch_bytes = WIDTH - 1;
    recorder_frame(r, &f, 0);
    f = make_frame(0);
    f.picture[0].data = NULL;
    recorder_frame(r, &f, 0);
    recorder_counts(r, &n);
    must(recorder_close(r));
    assert_true(n.frames == 0 && n.frames_lost == 3);
}

/* ---- payloads from anywhere -------------------------------------------------------------------------------------- */

static volatile uint64_t read_pixels; /* so that they are read */

/** Payloads of the recording with some bytes changed, cut off or put in, and wild ones: a message, or values within
 *  their ranges. */
static void throw_at_readers(uint64_t runs, uint64_t seed)
{
    static uint8_t payload[1 << 16];
    static recorded_frame_t frame;
    static recording_header_t h;
    outcome_t outcome;
    uint64_t taken = 0;
    size_t starts[64], ends[64], at = RECORDING_MAGIC_BYTES;
    int chunks = 0;
    for (chunk_t c; at + CHUNK_HEAD_BYTES <= whole_bytes && chunks < 64 && !chunk_read_head(whole + at, &c); chunks++) {
        starts[chunks] = at + CHUNK_HEAD_BYTES;
        ends[chunks] = at = at + CHUNK_HEAD_BYTES + c.bytes;
    }
    shake(seed);
    for (uint64_t i = 0; i < runs; i++) {
        const size_t of = roll64() % (uint64_t)chunks;
        size_t bytes = ends[of] - starts[of];
        memcpy(payload, whole + starts[of], bytes);
        for (uint64_t k = roll64() % 4; k; k--)
            if (bytes) payload[roll64() % (roll64() & 1 ? bytes : bytes / 40 + 1)] = (uint8_t)roll64();
        if (roll64() % 4 == 0 && bytes) bytes = roll64() % bytes;
        uint8_t *exact = malloc(bytes ? bytes : 1); /* so that a sanitizer sees a byte too many */
        memcpy(exact, payload, bytes);
        if (!header_read(&h, exact, bytes)) {
            taken++;
            REQUIRE(h.rig.cameras >= 1 && h.rig.cameras <= VFRONT_CAMERAS, "cameras");
            header_free(&h);
        }
        if (!frame_read(&frame, &header.rig, exact, bytes)) {
            taken++;
            uint64_t sum = 0;
            for (int c = 0; c < CAMERAS; c++) {
                const vfront_picture_t *p = &frame.frame.picture[c];
                if (p->format == VFRONT_NO_PICTURE) continue;
                for (size_t b = 0; b < p->pitch_bytes * (size_t)p->height_px; b++) sum += ((const uint8_t *)p->data)[b];
                for (size_t b = 0; p->mask && b < (size_t)p->mask_width_px * (size_t)p->mask_height_px; b++)
                    sum += p->mask[b];
            }
            read_pixels += sum;
            REQUIRE(frame.frame.imu_count <= VFRONT_IMU_SAMPLES && frame.frame.gyro_count <= VFRONT_GYRO_SAMPLES, "n");
        }
        taken += !outcome_read(&outcome, exact, bytes);
        free(exact);
    }
    REQUIRE(runs < 1000 || taken > runs / 100, "%" PRIu64 " of %" PRIu64 " taken", taken, runs);
}

static void test_random_bytes(void **state)
{
    (void)state;
    throw_at_readers(20000, 1);
}

/* ---- how fast ---------------------------------------------------------------------------------------------------- */

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int measure(double seconds, const char *file, double rate_hz)
{
    static uint8_t picture[2][480 * 752];
    recorder_t *r;
    recorder_counts_t n;
    double longest_s = 0;
    shake(3);
    for (size_t i = 0; i < sizeof picture / 2; i++) picture[0][i] = picture[1][i] = (uint8_t)roll64();
    vfront_frame_t f = {0};
    for (int c = 0; c < CAMERAS; c++) {
        header.rig.camera[c].width_px = 752;
        header.rig.camera[c].height_px = 480;
        header.rig.camera[c].mask = NULL;
        f.picture[c] = (vfront_picture_t){.data = picture[c], .width_px = 752, .height_px = 480, .pitch_bytes = 752};
    }
    const char *error = recorder_open(&r, file, RECORDER_BUFFER_BYTES, &header);
    if (error) return printf("recording: %s\n", error), 1;
    const double start_s = now_s();
    uint32_t frames = 0;
    while (now_s() - start_s < seconds) {
        f.t_ns = (uint64_t)frames * 33333333u + 1;
        const double before_s = now_s();
        recorder_frame(r, &f, 0);
        recorder_result(r, f.t_ns, VFRONT_OK, make_result(frames++));
        if (now_s() - before_s > longest_s) longest_s = now_s() - before_s;
        const double wait_s = start_s + frames / rate_hz - now_s();
        if (rate_hz > 0 && wait_s > 0) nanosleep(&(struct timespec){0, (long)(wait_s * 1e9)}, NULL);
        if (rate_hz <= 0) nanosleep(&(struct timespec){0, 100000}, NULL);
    }
    recorder_counts(r, &n);
    error = recorder_close(r);
    const double took_s = now_s() - start_s;
    printf("recording: %.1f s, 752x480 of %d cameras at %.1f Hz: %u frames recorded, %u lost, %.1f MB/s, "
           "most in the buffer %.1f of %.1f MB, longest call %.2f ms%s%s\n",
           took_s, CAMERAS, frames / took_s, n.frames, n.frames_lost, (double)n.bytes * 1e-6 / took_s,
           (double)n.peak_bytes * 1e-6, RECORDER_BUFFER_BYTES * 1e-6, longest_s * 1e3, error ? "; " : "",
           error ? error : "");
    remove(file);
    return error != NULL || (rate_hz > 0 && n.frames_lost);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s/vfront-recording-XXXXXX", access("/dev/shm", W_OK) ? P_tmpdir : "/dev/shm");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/a.vfr", folder);
    snprintf(other, sizeof other, "%s/b.vfr", folder);
    make_header();
    record();
    read_whole();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char fifo[80];
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    remove(path);
    remove(other);
    remove(fifo);
    free(whole);
    return rmdir(folder);
}

int main(int count, char **word)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc),          cmocka_unit_test(test_round), cmocka_unit_test(test_config),
        cmocka_unit_test(test_cut),          cmocka_unit_test(test_flip),  cmocka_unit_test(test_declared_size),
        cmocka_unit_test(test_slow),         cmocka_unit_test(test_full),  cmocka_unit_test(test_unfit),
        cmocka_unit_test(test_random_bytes),
    };
    if (count > 2 && strcmp(word[1], "--speed") == 0) {
        const char *file = count > 3 ? word[3] : "recording-speed.vfr";
        make_header();
        const int code = measure(strtod(word[2], NULL), file, 36); /* over 25 MB/s */
        return measure(strtod(word[2], NULL) / 4, file, 0) | code;
    }
    if (count > 2 && strcmp(word[1], "--runs") == 0) {
        void *none = NULL;
        if (set_up(&none)) return 1;
        throw_at_readers(strtoull(word[2], NULL, 10), count > 3 ? strtoull(word[3], NULL, 10) : 1);
        printf("recording: %s payloads\n", word[2]);
        return tear_down(&none);
    }
    return cmocka_run_group_tests_name("recording", tests, set_up, tear_down);
}
