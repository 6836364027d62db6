/* SPDX-License-Identifier: MIT */
/* Sequence of frames in which the host port takes over from the CUDA port and hands back, for the tests of fail-over.
 * pair_vf may fail and is on either port; its twin is on the host port and sees no faults. All results have the same
 * bits. */
#ifndef TAKEOVER_H
#define TAKEOVER_H

#include "failing_step.h"

#include <time.h>

#include "tests/fixture/rendered.h"

#define FRAMES 11
#define LATE_US 10000000 /* deadline of a step in this test, never exceeded on any machine */

/* ---- the sequence ------------------------------------------------------------------------------------------------ */

static const vfront_result_t *result;
static int32_t brief_us; /* time after which a step is abandoned where that is tested: many times the normal duration */
static int quick;        /* 1: one switch and return only, and a short sequence, because kernels are emulated */
static int brief;        /* 1: brief_us applies; 0: a minute */
static int plain;        /* 1: no rectification, no disparities */
static int airborne;     /* 1: the rendered flight with the estimator; 0: drawn images */
static int vision_only;  /* 1: the flight without an IMU */

#define UNSEEN 6 /* frame of the drawn sequence without an image */

/* The flight: the estimator starts, continues with vision only while IMU samples are missing, is reset, and starts
 * again. */
#define FLIGHT_FRAMES 22
#define MISSING_FROM 8
#define MISSING_TO 12
#define FLIGHT_RESET 15

static inline vfront_rig_t rig_of(void)
{
    vfront_rig_t rig = airborne ? rendered_rig() : pair_cameras();
    if (vision_only) memset(&rig.imu, 0, sizeof rig.imu);
    return rig;
}

static inline vfront_tuning_t tuning(void)
{
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.failover = 1;
    t.deadline_us = LATE_US;
    t.abandon_us = brief ? brief_us : 60000000;
    t.vio = airborne;
    t.map = VFRONT_MAP;
    if (airborne) return t;
    t.rectify = t.dense = t.stixel = !plain;
    t.track_template_frames = 3;
    t.track_target = 100;
    t.track_back_mpx = 500;
    t.first_track_id = 1000;
    return t;
}

/** Copies a frame's images into pinned memory. */
static inline void pin(vfront_t *vf, vfront_frame_t *f)
{
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        vfront_picture_t *p = &f->picture[c];
        void *data;
        assert_int_equal(vfront_input(vf, c, &data), VFRONT_OK);
        memcpy(data, p->data, (size_t)p->pitch_bytes * (size_t)p->height_px);
        p->data = data;
        p->memory = VFRONT_PINNED_MEMORY;
    }
}

/** Removes the images of some cameras. cameras: one bit each. */
static inline void leave_out(vfront_frame_t *f, uint32_t cameras)
{
    for (int c = 0; c < VFRONT_CAMERAS; c++)
        if (cameras >> c & 1) f->picture[c] = (vfront_picture_t){.format = VFRONT_NO_PICTURE};
}

/** Bits of the cameras without an image in a frame of the flight. */
static inline uint32_t flight_missing(uint64_t i) { return i == 5 ? 3 : i == 6 || i == 14 ? 1 : 0; }

/** Frame of the flight. */
static inline vfront_frame_t flight_for(vfront_t *vf, uint64_t i, int pinned)
{
    vfront_frame_t f = rendered_frame(i);
    if (vision_only || (i >= MISSING_FROM && i < MISSING_TO)) f.imu = NULL, f.imu_count = 0;
    if (pinned && i % 4 != 3) pin(vf, &f);
    leave_out(&f, flight_missing(i));
    return f;
}

/** Frame of the sequence: masks, gyro samples, images in pinned memory, a repeated image, in turn. */
static inline vfront_frame_t frame_for(vfront_t *vf, uint64_t i, int pinned)
{
    static uint8_t mask[VFRONT_WIDTH * VFRONT_HEIGHT];
    static vfront_gyro_t gyro[8];
    static vfront_imu_t imu[8];
    if (airborne) return flight_for(vf, i, pinned);
    vfront_frame_t f = pair_frame(i), same = pair_frame(i == 7 ? 6 : i);
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        vfront_picture_t *p = &f.picture[c];
        p->data = same.picture[c].data;
        if (i % 3 == 1) p->mask = mask, p->mask_width_px = 160, p->mask_height_px = 120, p->mask_pitch_bytes = 160;
    }
    if (pinned && i % 4 != 3) pin(vf, &f);
    for (size_t k = 0; k < sizeof mask; k++) mask[k] = (k + 3 * i) % 11 > 0;
    for (uint64_t k = 0; k < 8; k++) {
        gyro[k].t_ns = f.t_ns + k * 8000000u - 44000000u;
        gyro[k].rate_rad_s[1] = 0.02;
    }
    if (i % 2) f.gyro = gyro, f.gyro_count = 8;
    for (uint64_t k = 0; k < 8; k++) { /* the last three belong to the next step */
        imu[k].t_ns = f.t_ns + k * 4000000u - 16000000u;
        imu[k].gyro_rad_s[1] = 0.01 * (double)((i + k) % 3);
    }
    if (i % 4 == 0 || i % 4 == 2) f.imu = imu, f.imu_count = 8;
    leave_out(&f, i == 3 ? 2 : i == UNSEEN ? 3 : 0);
    return f;
}

static inline void start(vfront_port_t port)
{
    const vfront_rig_t rig = rig_of();
    const vfront_tuning_t t = tuning();
    over();
    if (vfront_init(&pair_vf, &rig, &t, port)) fail_msg("init: %s", vfront_detail(&pair_vf));
    assert_int_equal(vfront_init(&pair_twin, &rig, &t, VFRONT_PORT_HOST), VFRONT_OK);
}

static inline void end(void)
{
    over();
    vfront_shutdown(&pair_vf);
    vfront_shutdown(&pair_twin);
}

/** Frame before which vfront_reset() is called. */
static inline uint64_t reset_at(void) { return airborne ? FLIGHT_RESET : 5; }

/** State of the estimator in a frame of the flight. */
static inline int state_at(uint64_t i)
{
    if (vision_only)
        return i < 2                                       ? VFRONT_NAV_INITIALISING
               : i >= FLIGHT_RESET && i < FLIGHT_RESET + 2 ? VFRONT_NAV_LOST
                                                           : VFRONT_NAV_STEREO_ONLY;
    if (i < RENDERED_BEGINS) return VFRONT_NAV_INITIALISING;
    if (i >= FLIGHT_RESET && i < FLIGHT_RESET + RENDERED_BEGINS) return VFRONT_NAV_LOST;
    if (i >= MISSING_TO - 1 && i < MISSING_TO + 1) return VFRONT_NAV_STEREO_ONLY;
    const int anew = i == 7; /* all tracks have ended with the previous images, and with them the landmarks */
    return flight_missing(i) & 1 || anew ? VFRONT_NAV_COASTING : VFRONT_NAV_GOOD;
}

/** Requires equal results of both front ends for a frame, and the port that computed this one. */
static inline void same(uint64_t i, int on_host)
{
    const vfront_frame_t f = frame_for(&pair_twin, i, 0);
    const vfront_result_t *b;
    assert_int_equal(vfront_step(&pair_twin, &f, &b), VFRONT_OK);
    if (vfront_digest(result) != vfront_digest(b)) fail_msg("frame %d: other bits", (int)i);
    assert_int_equal(result->health.reset_counter, b->health.reset_counter);
    assert_memory_equal(&result->nav, &b->nav, sizeof b->nav);
    assert_int_equal(result->nav.state, airborne ? state_at(i) : VFRONT_NAV_NONE);
    assert_true(result->tracks_count > 0 && (i == 0 || i == reset_at() || result->health.followed > 0));
    assert_int_equal(result->timing.port, on_host ? VFRONT_PORT_HOST : VFRONT_PORT_CUDA);
    assert_int_equal(result->timing.failed_over, on_host);
    assert_true(b->timing.port == VFRONT_PORT_HOST && !b->timing.failed_over);
}

static inline void step(uint64_t i, int on_host)
{
    if (i == reset_at()) {
        assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
        assert_int_equal(vfront_reset(&pair_twin), VFRONT_OK);
    }
    const vfront_frame_t f = frame_for(&pair_vf, i, 1);
    const vfront_status_t status = vfront_step(&pair_vf, &f, &result);
    if (status) fail_msg("frame %d: %s: %s", (int)i, vfront_status_name(status), vfront_detail(&pair_vf));
    same(i, on_host);
}

/** Requires that the host port is active, and reports why. */
static inline void took_over(const char *why)
{
    vfront_info_t info;
    assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_OK);
    assert_int_equal(info.port, VFRONT_PORT_HOST);
    if (!strstr(info.failover, why)) fail_msg("\"%s\" lacks \"%s\"", info.failover, why);
}

static inline vfront_status_t go_back(void)
{
    vfront_info_t info;
    const vfront_status_t status = vfront_return(&pair_vf);
    assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_OK);
    assert_int_equal(info.port, status ? VFRONT_PORT_HOST : VFRONT_PORT_CUDA);
    assert_true(!status == !info.failover[0]);
    return status;
}

/* ---- a sequence with a fault ------------------------------------------------------------------------------------- */

enum kind { FAILS, HANGS, LOST, ENDLESS, HELD, HALF, KINDS };

static inline void make(enum kind kind, enum call call)
{
    if (kind == FAILS) fault.fails = call;
    if (kind == HANGS) fault.hangs = call;
    fault.lost = kind == LOST;
    fault.endless = kind == ENDLESS;
    fault.held = kind == HELD;
    fault.half = kind == HALF;
    if (call == QUERY) fault.lost = 1; /* or no query is made */
}

/** Runs a sequence with a fault in frame `at`. back: number of frames until the return to the GPU; 0: never. A flight
 *  ends some frames later. */
static inline void fly(enum kind kind, enum call call, uint64_t at, uint64_t back, const char *why)
{
    int on_host = 0;
    brief = kind == HANGS || kind == ENDLESS || kind == HELD;
    const uint64_t frames = !airborne ? FRAMES : at + 6 < FLIGHT_FRAMES ? at + 6 : FLIGHT_FRAMES;
    start(VFRONT_PORT_CUDA);
    for (uint64_t i = 0; i < frames; i++) {
        if (i == at) make(kind, call);
        on_host |= i == at;
        step(i, on_host);
        if (i == at) took_over(why);
        if (!back || i != at + back) continue;
        assert_int_equal(over(), cudaSuccess);
        for (vfront_status_t status = VFRONT_E_ABANDONED; status;) /* the blocked thread is ending */
            assert_true((status = go_back()) == VFRONT_OK || status == VFRONT_E_ABANDONED);
        on_host = 0;
    }
    end();
    brief = 0;
}

/** Switches to the host and back in every other frame: each port continues from the other's state. */
static inline void go_there_and_back(uint64_t frames)
{
    int on_host = 0;
    start(VFRONT_PORT_CUDA);
    for (uint64_t i = 0; i < frames; i++) {
        if (i % 3 == 1) make(HALF, LAUNCH);
        on_host |= i % 3 == 1;
        step(i, on_host);
        if (i % 3 == 1 || !on_host) continue;
        over();
        assert_int_equal(go_back(), VFRONT_OK);
        on_host = 0;
    }
    end();
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static inline double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/** Reads `--quick`, draws the images, and measures the duration of a step. Returns 0 without a device. */
static inline int ready(int argc, char **argv)
{
    const vfront_rig_t rig = pair_cameras();
    quick = argc > 1 && !strcmp(argv[1], "--quick");
    pair_draw();
    rendered_draw();
    no_fault();
    const vfront_status_t status = vfront_init(&pair_vf, &rig, NULL, VFRONT_PORT_CUDA);
    vfront_shutdown(&pair_vf);
    if (status == VFRONT_E_NO_DEVICE || status == VFRONT_E_DRIVER) return 0;
    start(VFRONT_PORT_CUDA);
    const double began = now_us();
    step(0, 0);
    brief_us = 300000 + 10 * (int32_t)(now_us() - began);
    end();
    return 1;
}

static inline void no_device(void **state)
{
    (void)state;
    print_message("skipped: %s\n", vfront_detail(&pair_vf));
    skip();
}

/** One skipped test. */
static inline int without_device(void)
{
    const struct CMUnitTest none[] = {cmocka_unit_test(no_device)};
    return cmocka_run_group_tests(none, NULL, NULL);
}

#endif
