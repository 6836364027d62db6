/* SPDX-License-Identifier: MIT */
/* fault_apply: what every kind does to the pixels, stamps and gyro samples of a frame, against a plain form of it
 * written here, in every pixel format; that the rest of a frame stays, and that the same seed gives the same bits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "examples/replay/fault_apply.h"
#include "examples/replay/gyro_queue.h"
#include "tests/fixture/random.h"

#define WIDTH 37
#define HEIGHT 23
#define PITCH 80
#define STEP_NS 50000000u
#define START_NS 7000000000u
#define SAMPLES 11 /* of a frame: every 5 ms, both ends included */

#if VFRONT_CAMERAS > 1
#define CAMERAS 2
#else
#define CAMERAS 1
#endif

static const vfront_format_t formats[] = {VFRONT_GREY8,  VFRONT_GREY10, VFRONT_GREY12,
                                          VFRONT_GREY16, VFRONT_NV12,   VFRONT_YUYV};
static const int whites[] = {255, 1023, 4095, 65535, 255, 255};

static fault_script_t script;
static fault_injector_t *injector;
static vfront_format_t format;
static int white;
static uint8_t given[CAMERAS][HEIGHT][PITCH];
static vfront_gyro_t samples[SAMPLES];
static vfront_frame_t frame; /* the last one, with faults */

/* ---- frames of the source ---------------------------------------------------------------------------------------- */

static int is_wide(void) { return format >= VFRONT_GREY10 && format <= VFRONT_GREY16; }

static int row_bytes(void) { return format == VFRONT_GREY8 || format == VFRONT_NV12 ? WIDTH : 2 * WIDTH; }

/** Pixel of the source: no two frames, cameras or places alike. */
static int made(uint32_t index, int camera, int x, int y)
{
    uint64_t h = ((((uint64_t)index * 2 + (uint64_t)camera) * 64 + (uint64_t)y) * 64 + (uint64_t)x + 1) *
                 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
    return (int)((h * 0xbf58476d1ce4e5b9u) >> 40) % (white + 1);
}

static int chroma(int x, int y) { return (3 * x + 5 * y) & 255; }

static void draw(uint32_t index, int camera)
{
    memset(given[camera], 0xee, sizeof given[camera]);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            const int value = made(index, camera, x, y);
            const uint16_t wide = (uint16_t)value;
            uint8_t *row = given[camera][y];
            if (is_wide())
                memcpy(row + 2 * x, &wide, 2);
            else if (format == VFRONT_YUYV)
                row[2 * x] = (uint8_t)value, row[2 * x + 1] = (uint8_t)chroma(x, y);
            else
                row[x] = (uint8_t)value;
        }
}

static double rate_of(uint32_t index, int sample, int axis) { return 0.1 * index + 0.013 * sample - 0.4 * axis; }

static void source(uint32_t index)
{
    memset(&frame, 0, sizeof frame);
    frame.t_ns = START_NS + (uint64_t)index * STEP_NS;
    for (int i = 0; i < CAMERAS; i++) {
        draw(index, i);
        frame.picture[i] = (vfront_picture_t){.data = given[i],
                                              .width_px = WIDTH,
                                              .height_px = HEIGHT,
                                              .pitch_bytes = PITCH,
                                              .format = format,
                                              .t_ns = i ? frame.t_ns + 1000 : 0};
    }
    for (int i = 0; i < SAMPLES; i++) {
        samples[i].t_ns = frame.t_ns - STEP_NS + (uint64_t)i * STEP_NS / (SAMPLES - 1);
        for (int k = 0; k < 3; k++) samples[i].rate_rad_s[k] = rate_of(index, i, k);
    }
    frame.gyro = index ? samples : NULL;
    frame.gyro_count = index ? SAMPLES : 0;
}

/** Pixel of the delivered frame. */
static int seen(int camera, int x, int y)
{
    const vfront_picture_t *p = &frame.picture[camera];
    const uint8_t *row = (const uint8_t *)p->data + (size_t)y * p->pitch_bytes;
    uint16_t wide;
    if (p->format == VFRONT_YUYV) return row[2 * x];
    if (!is_wide()) return row[x];
    memcpy(&wide, row + 2 * x, 2);
    return wide;
}

static void open_with(const char *text)
{
    vfront_rig_t rig = {.cameras = CAMERAS};
    for (int i = 0; i < CAMERAS; i++) rig.camera[i] = (vfront_camera_t){.width_px = WIDTH, .height_px = HEIGHT};
    const char *error = fault_script_parse(&script, "s.txt", text, strlen(text));
    if (!error) error = fault_open(&injector, &script, "s.txt", &rig);
    REQUIRE(!error, "%s: %s", text, error);
}

static void close_all(void)
{
    fault_close(injector);
    fault_script_free(&script);
    injector = NULL;
}

/** The next frame of the source through the injector. */
static int next(uint32_t index)
{
    source(index);
    const int deliveries = fault_apply(injector, &frame);
    REQUIRE(deliveries >= 0, "frame %u is not taken", index);
    return deliveries;
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/** Value that a pixel should have in frame `index`, by a rule. */
typedef int expected_t(uint32_t index, int camera, int x, int y);

static void expect_picture(const char *what, uint32_t index, int camera, expected_t *rule)
{
    const vfront_picture_t *p = &frame.picture[camera];
    REQUIRE(p->width_px == WIDTH && p->height_px == HEIGHT && p->format == format &&
                p->pitch_bytes >= (unsigned)row_bytes() && p->memory == VFRONT_HOST_MEMORY,
            "%s: another picture", what);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            REQUIRE(seen(camera, x, y) == rule(index, camera, x, y),
                    "%s, format %d, frame %u, camera %d: (%d, %d) is %d and not %d", what, (int)format, index, camera,
                    x, y, seen(camera, x, y), rule(index, camera, x, y));
            if (format == VFRONT_YUYV && rule == made)
                REQUIRE(((const uint8_t *)p->data)[(size_t)y * p->pitch_bytes + 2 * (size_t)x + 1] == chroma(x, y),
                        "%s: chroma", what);
        }
}

static int is_black(uint32_t index, int camera, int x, int y)
{
    (void)index, (void)camera, (void)x, (void)y;
    return 0;
}

static int is_white(uint32_t index, int camera, int x, int y)
{
    (void)index, (void)camera, (void)x, (void)y;
    return white;
}

static int at_fault_begin(uint32_t index, int camera, int x, int y)
{
    (void)index;
    return made(2, camera, x, y);
}

/** 25 to 75 % of 23 rows: 6 to 16. */
static int rows_frozen(uint32_t index, int camera, int x, int y)
{
    return made(y >= 6 && y < 17 ? 2 : index, camera, x, y);
}

static int dimmed(uint32_t index, int camera, int x, int y)
{
    return (int)floor(made(index, camera, x, y) * 0.25 + 0.5);
}

static int brightened(uint32_t index, int camera, int x, int y)
{
    const int v = 3 * made(index, camera, x, y);
    return v > white ? white : v;
}

static int left_right(uint32_t i, int camera, int x, int y) { return made(i, camera, WIDTH - 1 - x, y); }
static int up_down(uint32_t i, int camera, int x, int y) { return made(i, camera, x, HEIGHT - 1 - y); }
static int turned(uint32_t i, int camera, int x, int y) { return made(i, camera, WIDTH - 1 - x, HEIGHT - 1 - y); }
static int late_2(uint32_t i, int camera, int x, int y) { return made(i < 2 ? 0 : i - 2, camera, x, y); }
#if CAMERAS > 1
static int other(uint32_t i, int camera, int x, int y) { return made(i, 1 - camera, x, y); }
#endif

/** Mean of 5 px along the row, rounded, then along the column. */
static int blurred(uint32_t index, int camera, int x, int y)
{
    int column = 0;
    for (int k = -2; k <= 2; k++) {
        const int at_y = y + k < 0 ? 0 : y + k >= HEIGHT ? HEIGHT - 1 : y + k;
        int row = 0;
        for (int i = -2; i <= 2; i++)
            row += made(index, camera, x + i < 0 ? 0 : x + i >= WIDTH ? WIDTH - 1 : x + i, at_y);
        column += (row + 2) / 5;
    }
    return (column + 2) / 5;
}

/** Frames 0 to 7 with a fault in 3 to 5: the rule there, as made elsewhere. */
static void check_rule(const char *target, const char *kind, expected_t *rule)
{
    char text[80];
    snprintf(text, sizeof text, "3-5 %s %s", target, kind);
    open_with(text);
    for (uint32_t i = 0; i < 8; i++) {
        const int active = i >= 3 && i <= 5;
        assert_int_equal(next(i), 1);
        for (int c = 0; c < CAMERAS; c++) {
            const int touched = active && (strcmp(target, "both") == 0 || target[6] == '0' + c);
            expect_picture(text, i, c, touched ? rule : made);
        }
        assert_int_equal(frame.t_ns, START_NS + (uint64_t)i * STEP_NS);
        assert_int_equal(frame.gyro_count, i ? SAMPLES : 0);
        REQUIRE(!frame.gyro_count || memcmp(frame.gyro, samples, sizeof samples) == 0, "%s: gyro", text);
        assert_string_equal(fault_names(injector), active ? text + 4 : "");
    }
    close_all();
}

/** names are without arguments */
static void check_kind(const char *kind, const char *arguments, expected_t *rule)
{
    static const char *const target[] = {"both", "camera0", "camera1"};
    for (int t = 0; t <= CAMERAS; t++) {
        char text[80], names[40];
        snprintf(text, sizeof text, "3-5 %s %s%s", target[t], kind, arguments);
        snprintf(names, sizeof names, "%s %s", target[t], kind);
        if (!*arguments) {
            check_rule(target[t], kind, rule);
            continue;
        }
        open_with(text);
        for (uint32_t i = 0; i < 8; i++) {
            const int active = i >= 3 && i <= 5;
            assert_int_equal(next(i), 1);
            for (int c = 0; c < CAMERAS; c++) expect_picture(text, i, c, active && (!t || t == c + 1) ? rule : made);
            assert_string_equal(fault_names(injector), active ? names : "");
        }
        close_all();
    }
}

static void test_pictures(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        format = formats[i];
        white = whites[i];
        check_kind("freeze", "", at_fault_begin);
        check_kind("freeze-rows", " 25 75", rows_frozen);
        check_kind("black", "", is_black);
        check_kind("white", "", is_white);
        check_kind("blur", " 2", blurred);
        check_kind("dim", " 25", dimmed);
        check_kind("brighten", " 300", brightened);
        check_kind("flip", " x", left_right);
        check_kind("flip", " y", up_down);
        check_kind("flip", "", turned);
        check_kind("late", " 2", late_2);
#if CAMERAS > 1
        check_rule("both", "swap", other);
#endif
    }
    format = VFRONT_GREY8;
    white = 255;
}

/** At the first frame there is nothing to look back at. */
static void test_first_frame(void **state)
{
    (void)state;
    open_with("0-1 both late 2\n0-1 both freeze");
    for (uint32_t i = 0; i < 3; i++) {
        next(i);
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++) assert_int_equal(seen(0, x, y), made(i < 2 ? 0 : i, 0, x, y));
    }
    close_all();
}

/** A freeze that lasts longer than any history, and one after it. */
static void test_long_freeze(void **state)
{
    (void)state;
    open_with("3-80 camera0 freeze\n3- camera0 late 1\n90-91 camera0 freeze");
    for (uint32_t i = 0; i < 92; i++) {
        next(i);
        const uint32_t from = i < 3 ? i : i < 90 ? i - 1 : 89; /* a line counts after those above it */
        for (int x = 0; x < WIDTH; x++) assert_int_equal(seen(0, x, 5), made(from, 0, x, 5));
    }
    close_all();
}

/** Moments of the noise on mid-grey, and its cut at black and white. */
static void test_noise(void **state)
{
    double sum = 0.0, square = 0.0;
    long count = 0, cut = 0;
    (void)state;
    open_with("0- camera0 noise 10");
    for (uint32_t i = 0; i < 60; i++) {
        next(i);
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++) {
                const int was = made(i, 0, x, y), off = seen(0, x, y) - was;
                if (was < 60 || was > 195) {
                    cut += seen(0, x, y) == 0 || seen(0, x, y) == 255;
                    continue;
                }
                sum += off;
                square += off * off;
                count++;
            }
    }
    close_all();
    const double mean = sum / count, sigma = sqrt(square / count - mean * mean);
    print_message("noise of 10: mean %.3f, sigma %.3f over %ld px, %ld cut\n", mean, sigma, count, cut);
    assert_true(fabs(mean) < 0.2 && fabs(sigma - 10.0) < 0.2 && cut > 100);
}

/** Bytes of ten frames under noise and jitter, as one number. */
static uint64_t run_of_seed(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    open_with(text);
    for (uint32_t i = 0; i < 10; i++) {
        next(i);
        hash = (hash ^ frame.t_ns) * 0x100000001b3u;
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++) hash = (hash ^ (uint64_t)seen(0, x, y)) * 0x100000001b3u;
    }
    close_all();
    return hash;
}

static void test_seed(void **state)
{
    (void)state;
    const uint64_t one = run_of_seed("seed 5\n2-7 both noise 20\n1- clock jitter 0.001");
    assert_true(one == run_of_seed("seed 5\n2-7 both noise 20\n1- clock jitter 0.001"));
    assert_true(one != run_of_seed("seed 6\n2-7 both noise 20\n1- clock jitter 0.001"));
    REQUIRE(one == 0xae647aab5f413592u, "%016llx is not what every machine has", (unsigned long long)one);
}

/* ---- deliveries -------------------------------------------------------------------------------------------------- */

static void test_deliveries(void **state)
{
    static const int wanted[] = {1, 1, 0, 0, 2, 2, 0, 1};
    (void)state;
    open_with("2-3 both drop\n4-6 both duplicate\n6 both drop");
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(next(i), wanted[i]);
        expect_picture("deliveries", i, 0, made);
    }
    close_all();
}

/** Cameras that have no picture, by bits, in frames with faults above and below that say otherwise. */
static void test_stopped(void **state)
{
    static const uint32_t wanted[] = {0, 0, 1, 3, 2, 0};
    (void)state;
    open_with("2-3 camera0 stop\n3-4 camera1 stop\n2-4 both dim 50\n3 both swap");
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(next(i), 1);
        for (int c = 0; c < 2; c++) {
            const int stopped = frame.picture[c].format == VFRONT_NO_PICTURE;
            assert_int_equal(stopped, wanted[i] >> c & 1);
            if (!stopped) assert_int_equal(frame.picture[c].format, format);
        }
    }
    close_all();
}

static void test_refused_frames(void **state)
{
    (void)state;
    open_with("0- both black");
    source(0);
    vfront_frame_t bad = frame;
    bad.picture[0].data = NULL;
    assert_int_equal(fault_apply(injector, &bad), -1);
    bad = frame;
    bad.picture[0].width_px--;
    assert_int_equal(fault_apply(injector, &bad), -1);
    bad = frame;
    bad.picture[0].pitch_bytes = WIDTH - 1;
    assert_int_equal(fault_apply(injector, &bad), -1);
    bad = frame;
    bad.picture[0].memory = VFRONT_DEVICE_MEMORY;
    assert_int_equal(fault_apply(injector, &bad), -1);
    bad = frame;
    bad.picture[0].format = (vfront_format_t)6;
    assert_int_equal(fault_apply(injector, &bad), -1);
    bad = frame;
    bad.gyro_count = VFRONT_GYRO_SAMPLES + 1;
    assert_int_equal(fault_apply(injector, &bad), -1);
    assert_int_equal(next(0), 1);
    expect_picture("after refusals", 0, 0, is_black);
    close_all();
}

static void expect_unfit(const char *text, int cameras, int wider, const char *names)
{
    vfront_rig_t rig = {.cameras = cameras};
    for (int i = 0; i < cameras; i++)
        rig.camera[i] = (vfront_camera_t){.width_px = WIDTH + wider * i, .height_px = HEIGHT};
    assert_null(fault_script_parse(&script, "s.txt", text, strlen(text)));
    const char *error = fault_open(&injector, &script, "s.txt", &rig);
    REQUIRE(error && strstr(error, names) && !injector, "%s: %s", text, error ? error : "accepted");
    fault_script_free(&script);
}

static void test_unfit(void **state)
{
    (void)state;
    expect_unfit("\n1 camera1 black", 1, 0, "s.txt:2: camera1 black: there is one camera");
    expect_unfit("1 both swap", 1, 0, "s.txt:1: both swap: there is one camera; expected two");
#if CAMERAS > 1
    expect_unfit("1 both swap", 2, 3, "differ in size");
#endif
}

/* ---- stamps ------------------------------------------------------------------------------------------------------ */

/** Stamps of frames 0 to 7 less those of the source [ns]. */
static void stamps(const char *text, double off_ns[8])
{
    open_with(text);
    for (uint32_t i = 0; i < 8; i++) {
        next(i);
        off_ns[i] = (double)frame.t_ns - (double)(START_NS + (uint64_t)i * STEP_NS);
        REQUIRE(frame.picture[0].t_ns == 0, "%s: the time of a picture that has none", text);
        if (CAMERAS > 1) REQUIRE(frame.picture[CAMERAS - 1].t_ns == frame.t_ns + 1000, "%s: time of a picture", text);
        REQUIRE(!i || (frame.gyro_count == SAMPLES && memcmp(frame.gyro, samples, sizeof samples) == 0),
                "%s: the gyro's clock", text);
        expect_picture(text, i, 0, made);
    }
    close_all();
}

static void expect_stamps(const char *text, const double should_ns[8])
{
    double is_ns[8];
    stamps(text, is_ns);
    for (int i = 0; i < 8; i++)
        REQUIRE(fabs(is_ns[i] - should_ns[i]) < 0.51, "%s: frame %d off by %.0f and not %.0f ns", text, i, is_ns[i],
                should_ns[i]);
}

static void test_stamps(void **state)
{
    double off_ns[8];
    int early = 0, late = 0;
    (void)state;
    expect_stamps("3 clock jump 3600", (const double[8]){0, 0, 0, 3600e9, 0, 0, 0, 0});
    expect_stamps("3- clock jump 0.25", (const double[8]){0, 0, 0, 25e7, 25e7, 25e7, 25e7, 25e7});
    expect_stamps("3-4 clock back 0.5", (const double[8]){0, 0, 0, -5e8, -5e8, 0, 0, 0});
    /* 1000 ppm of 50 ms a frame, from the second frame of the fault; stays when it is over */
    expect_stamps("3-5 clock drift 1000", (const double[8]){0, 0, 0, 0, 5e4, 1e5, 1e5, 1e5});
    expect_stamps("3- clock drift -1000", (const double[8]){0, 0, 0, 0, -5e4, -1e5, -15e4, -2e5});
    expect_stamps("3-4 clock jump 1\n4 clock back 0.5", (const double[8]){0, 0, 0, 1e9, 5e8, 0, 0, 0});
    stamps("0-7 clock jitter 0.01", off_ns);
    for (int i = 0; i < 8; i++) {
        assert_true(fabs(off_ns[i]) <= 1e7);
        early += off_ns[i] < -1e5;
        late += off_ns[i] > 1e5;
        for (int k = 0; k < i; k++) assert_true(off_ns[i] != off_ns[k]);
    }
    assert_true(early && late);
    open_with("1 clock jump 2e10\n2 clock back 2e10");
    next(0);
    next(1);
    assert_true(frame.t_ns == UINT64_MAX);
    next(2);
    assert_true(frame.t_ns == 0);
    close_all();
}

/* ---- gyro -------------------------------------------------------------------------------------------------------- */

/** Value that a rate should have in a frame with the fault. */
typedef double rate_rule_t(uint32_t index, int sample, int axis);

static double stuck(uint32_t index, int sample, int axis)
{
    (void)index, (void)sample;
    return rate_of(2, SAMPLES - 1, axis);
}

static double saturated(uint32_t index, int sample, int axis)
{
    return fmax(-0.35, fmin(0.35, rate_of(index, sample, axis)));
}

static double biased(uint32_t index, int sample, int axis)
{
    static const double bias[3] = {0.5, 0.0, -2.0};
    return rate_of(index, sample, axis) + bias[axis];
}

static double exchanged(uint32_t i, int sample, int axis)
{
    return rate_of(i, sample, axis == 0 ? 2 : axis == 2 ? 0 : 1);
}
static double exchanged_xy(uint32_t i, int sample, int axis) { return rate_of(i, sample, axis < 2 ? 1 - axis : 2); }
static double exchanged_yz(uint32_t i, int sample, int axis) { return rate_of(i, sample, axis ? 3 - axis : 0); }

static void check_gyro(const char *kind, uint32_t count, rate_rule_t *rule)
{
    char text[80];
    snprintf(text, sizeof text, "3-5 gyro %s", kind);
    open_with(text);
    for (uint32_t i = 0; i < 8; i++) {
        const int active = i >= 3 && i <= 5;
        next(i);
        REQUIRE(frame.gyro_count == (!i ? 0 : active ? count : SAMPLES), "%s: %u samples", text, frame.gyro_count);
        REQUIRE(!frame.gyro == !i, "%s: pointer", text);
        for (uint32_t k = 0; k < frame.gyro_count; k++) {
            assert_true(frame.gyro[k].t_ns == samples[k].t_ns);
            for (int a = 0; a < 3; a++)
                REQUIRE(frame.gyro[k].rate_rad_s[a] == (active ? rule : rate_of)(i, (int)k, a),
                        "%s: frame %u sample %u axis %d", text, i, k, a);
        }
        expect_picture(text, i, 0, made);
    }
    close_all();
}

static void test_gyro(void **state)
{
    (void)state;
    check_gyro("gap", 0, rate_of);
    check_gyro("gap 40", 7, rate_of); /* 60 % of 11 is 6.6 */
    check_gyro("stuck", SAMPLES, stuck);
    check_gyro("saturated 0.35", SAMPLES, saturated);
    check_gyro("bias 0.5 0 -2", SAMPLES, biased);
    check_gyro("swapped xz", SAMPLES, exchanged);
    check_gyro("swapped xy", SAMPLES, exchanged_xy);
    check_gyro("swapped yz", SAMPLES, exchanged_yz);
}

/** Samples of frames that were not taken come with the next, each once and in order. */
static void test_gyro_queue(void **state)
{
    static gyro_queue_t queue;
    (void)state;
    memset(&queue, 0, sizeof queue);
    source(1);
    gyro_queue_add(&queue, &frame);
    assert_int_equal(frame.gyro_count, SAMPLES);
    gyro_queue_clear(&queue);
    source(0);
    gyro_queue_add(&queue, &frame);
    assert_true(!frame.gyro && !frame.gyro_count); /* no gyro */
    source(2);
    frame.gyro_count = 0;
    gyro_queue_add(&queue, &frame);
    assert_true(frame.gyro && !frame.gyro_count); /* a gyro without a sample */
    source(2);
    gyro_queue_add(&queue, &frame);
    assert_int_equal(frame.gyro_count, SAMPLES); /* taken: those of frame 1 are not needed */
    source(3);                                   /* begins with the sample with which frame 2 ends */
    gyro_queue_add(&queue, &frame);
    assert_int_equal(frame.gyro_count, 2 * SAMPLES - 1);
    assert_true(frame.gyro[0].t_ns == START_NS + STEP_NS && frame.gyro[2 * SAMPLES - 2].t_ns == START_NS + 3 * STEP_NS);
    for (uint32_t i = 1; i < frame.gyro_count; i++) assert_true(frame.gyro[i].t_ns > frame.gyro[i - 1].t_ns);
    source(0); /* none */
    gyro_queue_add(&queue, &frame);
    assert_int_equal(frame.gyro_count, 2 * SAMPLES - 1);
    for (uint32_t i = 4; i < 40; i++) {
        source(i);
        gyro_queue_add(&queue, &frame);
    }
    assert_int_equal(frame.gyro_count, VFRONT_GYRO_SAMPLES < 380 ? VFRONT_GYRO_SAMPLES : 381);
    assert_true(frame.gyro[frame.gyro_count - 1].t_ns == START_NS + (uint64_t)39 * STEP_NS);
    for (uint32_t i = 1; i < frame.gyro_count; i++) assert_true(frame.gyro[i].t_ns > frame.gyro[i - 1].t_ns);
}

static int start(void **state)
{
    (void)state;
    format = VFRONT_GREY8;
    white = 255;
    return 0;
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_pictures),       cmocka_unit_test(test_first_frame), cmocka_unit_test(test_long_freeze),
        cmocka_unit_test(test_noise),          cmocka_unit_test(test_seed),        cmocka_unit_test(test_deliveries),
        cmocka_unit_test(test_refused_frames), cmocka_unit_test(test_unfit),       cmocka_unit_test(test_stamps),
        cmocka_unit_test(test_gyro),           cmocka_unit_test(test_gyro_queue),  cmocka_unit_test(test_stopped),
    };
    return cmocka_run_group_tests_name("fault_apply", test, start, NULL);
}
