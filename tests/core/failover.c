/* SPDX-License-Identifier: MIT */
/* Fail-over in flight: each CUDA call of a step fails or hangs, or a step is lost, never ends, dies half way or ends
 * late, in each frame of a sequence. The results from the first frame to the last are, bit for bit, those of a run
 * without faults on the host port, and vfront_return() goes back without a seam; so they are with a state of the IMU,
 * before it begins, when it begins, while it goes on and behind its end. The linker puts the wrappers below in
 * front of the runtime (-Wl,--wrap), which is the real one where there is a GPU, else tests/fake/cudart.c.
 *   failover [--quick | --kernel N]    --quick: there and back alone; --kernel: one bad kernel, in a process of its
 *   own */
#define _POSIX_C_SOURCE 200809L
#include "tests/fixture/pair.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "port/cuda/cuda.h"
#include "port/host/host.h"
#include "result/carry.h"
#include "tests/fixture/rendered.h"

#define FRAMES 11
#define LATE_US 10000000 /* of a step here that is no overrun, whatever the machine has to do */

/* ---- faults ------------------------------------------------------------------------------------------------------ */

enum call { LAUNCH, QUERY, LOOK_UP, COPY, SYNCHRONIZE, CALLS };
static const char *const call_name[CALLS] = {"cudaGraphLaunch", "cudaStreamQuery", "cudaPointerGetAttributes",
                                             "cudaMemcpyAsync", "cudaStreamSynchronize"};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ends = PTHREAD_COND_INITIALIZER;
static struct {
    int fails, hangs;  /* call that does; -1: none */
    int lost, endless; /* steps are not done; endless: and queries say that they are under way */
    int held;          /* a step is not done before the fault is over */
    int half;          /* a step dies half way: what it was to write is noise, and there is no ticket */
    int sticky;        /* all calls fail */
    int managed;       /* all memory is managed memory */
    int unseen;        /* all memory is pinned memory for which the device has no address */
    int kernel;        /* number of a bad kernel, from 1, that is launched ahead of the step */
    int blocked;       /* calls now */
    long faults[CALLS];
    cudaGraphExec_t exec; /* the step that is held */
    cudaStream_t stream;
} fault;

/** Ends all faults. A step that was held is done now, by the thread of the test. */
static cudaError_t over(void);

static cudaError_t enter(enum call call)
{
    pthread_mutex_lock(&lock);
    const int fails = fault.fails == (int)call || fault.sticky;
    fault.faults[call] += fails || fault.hangs == (int)call;
    if (fault.hangs == (int)call) fault.blocked++;
    while (fault.hangs == (int)call) pthread_cond_wait(&ends, &lock);
    pthread_mutex_unlock(&lock);
    return fails ? fault.sticky ? cudaErrorIllegalAddress : cudaErrorUnknown : cudaSuccess;
}

static void noise(void *to, size_t bytes)
{
    for (uint8_t *at = to; bytes; bytes--) *at++ = (uint8_t)rand();
}

#ifdef VF_SPIN
cudaError_t spin_launch(int ms, cudaStream_t stream);
cudaError_t trap_launch(int how, cudaStream_t stream);
static const int bad_kernels[] = {0, 1, 2, 3, -1}; /* of trap_launch(); -1: spin_launch() */
#endif

static struct vf_state *state_of(vfront_t *vf) { return (struct vf_state *)(((uintptr_t)vf + 63) & ~(uintptr_t)63); }

/** Leaves what a step that dies leaves: noise where it may write on the host. */
static void die(void)
{
    struct vf_state *s = state_of(&pair_vf);
    noise(&s->mirror->set[s->parity], sizeof s->mirror->set[0]);
    noise(s->pinned->result, sizeof s->pinned->result[0]);
    s->pinned->done = s->ticket - 1;
}

cudaError_t __real_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t __wrap_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t __wrap_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    const cudaError_t error = enter(LAUNCH);
    if (error || fault.lost || fault.endless) return error;
    if (fault.held) {
        fault.exec = exec;
        fault.stream = stream;
        return cudaSuccess;
    }
#ifdef VF_SPIN
    static const int spin_ms = 3000;
    if (fault.kernel) {
        const int how = bad_kernels[fault.kernel - 1];
        const cudaError_t refused = how < 0 ? spin_launch(spin_ms, stream) : trap_launch(how, stream);
        if (refused) return refused;
    }
#endif
    const cudaError_t real = __real_cudaGraphLaunch(exec, stream);
    if (fault.half) {
        cudaStreamSynchronize(stream);
        die();
    }
    return real;
}

cudaError_t __real_cudaStreamQuery(cudaStream_t stream);
cudaError_t __wrap_cudaStreamQuery(cudaStream_t stream);
cudaError_t __wrap_cudaStreamQuery(cudaStream_t stream)
{
    const cudaError_t error = enter(QUERY);
    if (error) return error;
    return fault.endless || fault.exec ? cudaErrorNotReady : __real_cudaStreamQuery(stream);
}

cudaError_t __real_cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *address);
cudaError_t __wrap_cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *address);
cudaError_t __wrap_cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *address)
{
    cudaError_t error = enter(LOOK_UP);
    if (!error) error = __real_cudaPointerGetAttributes(attributes, address);
    if (!error && fault.managed) attributes->type = cudaMemoryTypeManaged;
    if (!error && fault.unseen) *attributes = (struct cudaPointerAttributes){.type = cudaMemoryTypeHost};
    return error;
}

cudaError_t __real_cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                   cudaStream_t stream);
cudaError_t __wrap_cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                   cudaStream_t stream);
cudaError_t __wrap_cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                   cudaStream_t stream)
{
    const cudaError_t error = enter(COPY);
    return error ? error : __real_cudaMemcpyAsync(to, from, bytes, kind, stream);
}

cudaError_t __real_cudaStreamSynchronize(cudaStream_t stream);
cudaError_t __wrap_cudaStreamSynchronize(cudaStream_t stream);
cudaError_t __wrap_cudaStreamSynchronize(cudaStream_t stream)
{
    const cudaError_t error = enter(SYNCHRONIZE);
    return error ? error : __real_cudaStreamSynchronize(stream);
}

static void no_fault(void)
{
    fault.fails = fault.hangs = -1;
    fault.lost = fault.endless = fault.held = fault.half = fault.sticky = fault.blocked = 0;
}

static cudaError_t over(void)
{
    cudaError_t error = cudaSuccess;
    pthread_mutex_lock(&lock);
    const cudaGraphExec_t exec = fault.exec;
    fault.exec = NULL;
    no_fault();
    pthread_cond_broadcast(&ends);
    pthread_mutex_unlock(&lock);
    if (exec) error = __real_cudaGraphLaunch(exec, fault.stream);
    return exec && !error ? __real_cudaStreamSynchronize(fault.stream) : error;
}

/* ---- the sequence ------------------------------------------------------------------------------------------------ */

static const vfront_result_t *result;
static int32_t brief_us; /* time after which a step is given up where one is to be: many times what it takes here */
static int quick;        /* 1: there and back only, and a short way, because kernels are emulated */
static int brief;        /* 1: that is the time; else a minute */
static int plain;        /* 1: nothing is rectified, no disparities */
static int airborne;     /* 1: the rendered flight with a state of the IMU, else drawn pictures */
static int unread;       /* 1: that flight without an IMU */

#define UNSEEN 6 /* frame of the drawn sequence without a picture */

/* The flight: a state begins, two cameras alone carry it on where readings are missing, vfront_reset(), another one. */
#define FLIGHT_FRAMES 22
#define MISSING_FROM 8
#define MISSING_TO 12
#define FLIGHT_RESET 15

static vfront_rig_t rig_of(void)
{
    vfront_rig_t rig = airborne ? rendered_rig() : pair_cameras();
    if (unread) memset(&rig.imu, 0, sizeof rig.imu);
    return rig;
}

static vfront_tuning_t tuning(void)
{
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.failover = 1;
    t.deadline_us = LATE_US;
    t.abandon_us = brief ? brief_us : 60000000;
    t.window = airborne;
    t.map = VFRONT_MAP;
    if (airborne) return t;
    t.rectify = t.dense = t.stixel = !plain;
    t.track_template_frames = 3;
    t.track_target = 100;
    t.track_back_mpx = 500;
    t.first_track_id = 1000;
    return t;
}

/** Puts a frame's pictures into pinned memory. */
static void pin(vfront_t *vf, vfront_frame_t *f)
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

/** Leaves out the pictures of some cameras. cameras: a bit for each. */
static void leave_out(vfront_frame_t *f, uint32_t cameras)
{
    for (int c = 0; c < VFRONT_CAMERAS; c++)
        if (cameras >> c & 1) f->picture[c] = (vfront_picture_t){.format = VFRONT_NO_PICTURE};
}

/** Bits of the cameras without a picture in a frame of the flight. */
static uint32_t flight_lacks(uint64_t i) { return i == 5 ? 3 : i == 6 || i == 14 ? 1 : 0; }

/** Frame of the flight. */
static vfront_frame_t flight_for(vfront_t *vf, uint64_t i, int pinned)
{
    vfront_frame_t f = rendered_frame(i);
    if (unread || (i >= MISSING_FROM && i < MISSING_TO)) f.imu = NULL;
    if (pinned && i % 4 != 3) pin(vf, &f);
    leave_out(&f, flight_lacks(i));
    return f;
}

/** Frame of the sequence: masks, readings of the gyro, pictures in pinned memory, a picture that repeats, by turns. */
static vfront_frame_t frame_for(vfront_t *vf, uint64_t i, int pinned)
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
    for (uint64_t k = 0; k < 8; k++) { /* the last three are of the step after this one */
        imu[k].t_ns = f.t_ns + k * 4000000u - 16000000u;
        imu[k].gyro_rad_s[1] = 0.01 * (double)((i + k) % 3);
    }
    if (i % 4 == 0 || i % 4 == 2) f.imu = imu, f.imu_count = 8;
    leave_out(&f, i == 3 ? 2 : i == UNSEEN ? 3 : 0);
    return f;
}

static void start(vfront_port_t port)
{
    const vfront_rig_t rig = rig_of();
    const vfront_tuning_t t = tuning();
    over();
    if (vfront_init(&pair_vf, &rig, &t, port)) fail_msg("init: %s", vfront_detail(&pair_vf));
    assert_int_equal(vfront_init(&pair_twin, &rig, &t, VFRONT_PORT_HOST), VFRONT_OK);
}

static void end(void)
{
    over();
    vfront_shutdown(&pair_vf);
    vfront_shutdown(&pair_twin);
}

/** Frame before which vfront_reset() is called. */
static uint64_t reset_at(void) { return airborne ? FLIGHT_RESET : 5; }

/** State that the flight has in a frame. */
static int state_at(uint64_t i)
{
    if (unread)
        return i < 2                                       ? VFRONT_NAV_INITIALISING
               : i >= FLIGHT_RESET && i < FLIGHT_RESET + 2 ? VFRONT_NAV_LOST
                                                           : VFRONT_NAV_STEREO_ONLY;
    if (i < RENDERED_BEGINS) return VFRONT_NAV_INITIALISING;
    if (i >= FLIGHT_RESET && i < FLIGHT_RESET + RENDERED_BEGINS) return VFRONT_NAV_LOST;
    if (i >= MISSING_TO - 1 && i < MISSING_TO + 1) return VFRONT_NAV_STEREO_ONLY;
    const int anew = i == 7; /* all tracks have ended with the pictures before, and the landmarks with them */
    return flight_lacks(i) & 1 || anew ? VFRONT_NAV_COASTING : VFRONT_NAV_GOOD;
}

/** Results of both front ends for a frame are the same; and where this one came from. */
static void same(uint64_t i, int on_host)
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

static void step(uint64_t i, int on_host)
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

/** The host port runs, and says why. */
static void took_over(const char *why)
{
    vfront_info_t info;
    assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_OK);
    assert_int_equal(info.port, VFRONT_PORT_HOST);
    if (!strstr(info.failover, why)) fail_msg("\"%s\" lacks \"%s\"", info.failover, why);
}

static vfront_status_t go_back(void)
{
    vfront_info_t info;
    const vfront_status_t status = vfront_return(&pair_vf);
    assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_OK);
    assert_int_equal(info.port, status ? VFRONT_PORT_HOST : VFRONT_PORT_CUDA);
    assert_true(!status == !info.failover[0]);
    return status;
}

/* ---- faults of every kind, in every frame ------------------------------------------------------------------------ */

enum kind { FAILS, HANGS, LOST, ENDLESS, HELD, HALF, KINDS };

static void make(enum kind kind, enum call call)
{
    if (kind == FAILS) fault.fails = call;
    if (kind == HANGS) fault.hangs = call;
    fault.lost = kind == LOST;
    fault.endless = kind == ENDLESS;
    fault.held = kind == HELD;
    fault.half = kind == HALF;
    if (call == QUERY) fault.lost = 1; /* or nobody asks */
}

/** One sequence with a fault in frame `at`. back: frames after which the GPU takes over again; 0: never. A flight ends
 *  some frames behind. */
static void fly(enum kind kind, enum call call, uint64_t at, uint64_t back, const char *why)
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
        for (vfront_status_t status = VFRONT_E_ABANDONED; status;) /* the thread that hung is on its way */
            assert_true((status = go_back()) == VFRONT_OK || status == VFRONT_E_ABANDONED);
        on_host = 0;
    }
    end();
    brief = 0;
}

static void each(enum kind kind, enum call call, const char *why, int every)
{
    for (uint64_t at = 0; at < 8; at += (uint64_t)every) {
        /* pictures in the caller's memory, copied without a call, and none at all */
        if (call == LOOK_UP && (at % 4 == 3 || at == UNSEEN)) continue;
        fly(kind, call, at, 0, why);
        fly(kind, call, at, 1 + at % 2, why);
    }
}

/** A state by two cameras alone: faults before it begins, as it begins (2, 17), while it goes on, without pictures (5),
 *  behind vfront_reset(). */
static void with_state_unread(void **state)
{
    (void)state;
    static const uint64_t in[] = {1, 2, 3, 5, 16, 17};
    airborne = unread = 1;
    for (size_t k = 0; k < sizeof in / sizeof *in; k++) fly(HALF, LAUNCH, in[k], 1 + k % 2, "without its ticket");
    airborne = unread = 0;
}

/** A state of the IMU: faults in each kind of step, before it begins, as it begins (4, 19), while it goes on, while
 *  readings are missing, by two cameras alone (11, 12), without pictures (5, 14), behind vfront_reset() (15). */
static void with_state(void **state)
{
    (void)state;
    static const uint64_t in[] = {0, 3, 4, 5, 7, 9, 11, 12, 14, 15, 19, 20};
    airborne = 1;
    for (size_t k = 0; k < sizeof in / sizeof *in; k++)
        for (uint64_t back = 0; back < 3; back += 1 + in[k] % 2) {
            fly(FAILS, LAUNCH, in[k], back, call_name[LAUNCH]);
            fly(HALF, LAUNCH, in[k], back, "without its ticket");
        }
    for (uint64_t at = RENDERED_BEGINS - 1; at < RENDERED_BEGINS + 2; at++) fly(HELD, LAUNCH, at, 1, "does not end");
    airborne = 0;
}

#if VFRONT_MAP
static uint8_t image[VFRONT_MAP_BYTES];
static size_t length;

/** A map of the flight. */
static void make_map(void)
{
    const vfront_rig_t rig = rig_of();
    const vfront_tuning_t t = tuning();
    const vfront_result_t *r = NULL;
    assert_int_equal(vfront_init(&pair_twin, &rig, &t, VFRONT_PORT_HOST), VFRONT_OK);
    for (uint64_t i = 0; i < FLIGHT_FRAMES; i++) {
        const vfront_frame_t f = flight_for(&pair_twin, i, 0);
        assert_int_equal(vfront_step(&pair_twin, &f, &r), VFRONT_OK);
    }
    assert_int_equal(vfront_map_save(&pair_twin, image, sizeof image, &length), VFRONT_OK);
    assert_true(r->keyframes_count > 0);
    vfront_shutdown(&pair_twin);
}

/** Both front ends have the same map. */
static void same_map(void)
{
    static uint8_t map[2][VFRONT_MAP_BYTES];
    size_t bytes[2];
    assert_int_equal(vfront_map_save(&pair_vf, map[0], sizeof map[0], &bytes[0]), VFRONT_OK);
    assert_int_equal(vfront_map_save(&pair_twin, map[1], sizeof map[1], &bytes[1]), VFRONT_OK);
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(map[0], map[1], bytes[0]);
}

/** A flight with a map that is loaded before frame `load`, a fault in frame `at`, and the way back two frames later. */
static void fly_with_map(uint64_t load, uint64_t at)
{
    int on_host = 0;
    start(VFRONT_PORT_CUDA);
    for (uint64_t i = 0; i < (quick ? 6 : 11); i++) {
        if (i == load) {
            assert_int_equal(vfront_map_load(&pair_vf, image, length), VFRONT_OK);
            assert_int_equal(vfront_map_load(&pair_twin, image, length), VFRONT_OK);
        }
        if (i == at) make(HALF, LAUNCH);
        on_host |= i == at;
        step(i, on_host);
        same_map();
        if (i != at + 2) continue;
        over();
        assert_int_equal(go_back(), VFRONT_OK);
        on_host = 0;
    }
    assert_true(result->keyframes_count > 1);
    end();
}

/** A map that is loaded while the GPU runs is in the ring of the host port, too; one loaded there goes back; and where
 *  the GPU fails in the call itself, the host port takes it. */
static void with_map(void **state)
{
    (void)state;
    static const enum call call[] = {COPY, SYNCHRONIZE};
    airborne = 1;
    make_map();
    if (quick) fly_with_map(2, 2);
    for (uint64_t load = 0; load < 6 && !quick; load++)
        for (uint64_t at = load ? load - 1 : 0; at < load + 3; at++) fly_with_map(load, at);
    for (int way = 0; way < 8 && !quick; way++) {
        brief = way & 1;
        start(VFRONT_PORT_CUDA);
        brief = 0;
        const uint64_t before = way & 2 ? 5 : 0;
        const int fails_to_save = before && way & 4;
        for (uint64_t i = 0; i < before; i++) step(i, 0);
        if (way & 1)
            fault.hangs = call[way >> 2];
        else
            fault.fails = call[way >> 2];
        if (fails_to_save) same_map();
        assert_int_equal(vfront_map_load(&pair_vf, image, length), VFRONT_OK);
        assert_int_equal(vfront_map_load(&pair_twin, image, length), VFRONT_OK);
        took_over(call_name[call[way >> 2]]);
        over();
        for (uint64_t i = before; i < before + 3; i++) step(i, 1);
        same_map();
        for (vfront_status_t status = VFRONT_E_ABANDONED; status;)
            assert_true((status = go_back()) == VFRONT_OK || status == VFRONT_E_ABANDONED);
        for (uint64_t i = before + 3; i < before + 6; i++) step(i, 0);
        same_map();
        end();
    }
    airborne = 0;
}

#else
static void with_map(void **state) { (void)state; }
#endif

static void calls_fail(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        plain = i;
        each(FAILS, LAUNCH, call_name[LAUNCH], 1);
        each(FAILS, QUERY, call_name[QUERY], 1);
        each(FAILS, LOOK_UP, call_name[LOOK_UP], 1);
    }
    plain = 0;
}

static void calls_hang(void **state)
{
    (void)state;
    each(HANGS, LAUNCH, call_name[LAUNCH], 3);
    each(HANGS, QUERY, call_name[QUERY], 3);
    each(HANGS, LOOK_UP, call_name[LOOK_UP], 2);
}

static void steps_end_badly(void **state)
{
    (void)state;
    each(LOST, LAUNCH, "without its ticket", 1);
    each(ENDLESS, LAUNCH, "does not end", 3);
    each(HELD, LAUNCH, "does not end", 3);
    each(HALF, LAUNCH, "without its ticket", 1);
}

/** To the host and back in every other frame: whichever state the one leaves, the other goes on from it. */
static void go_there_and_back(uint64_t frames)
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

static void there_and_back(void **state)
{
    (void)state;
    fly(FAILS, LAUNCH, 0, 1, call_name[LAUNCH]); /* the GPU has made no frame of its own when it takes over again */
    go_there_and_back(quick ? FRAMES : 3 * FRAMES);
}

static void there_and_back_with_state(void **state)
{
    (void)state;
    airborne = 1;
    go_there_and_back(quick ? RENDERED_BEGINS + 5 : FLIGHT_FRAMES);
    unread = 1;
    go_there_and_back(quick ? 5 : FLIGHT_FRAMES);
    airborne = unread = 0;
}

/** A step given up by another call than vfront_wait(): the frame is not lost. */
static void given_up_elsewhere(void **state)
{
    (void)state;
    brief = 1;
    start(VFRONT_PORT_CUDA);
    brief = 0;
    for (uint64_t i = 0; i < 2; i++) step(i, 0);
    make(ENDLESS, LAUNCH);
    const vfront_frame_t f = frame_for(&pair_vf, 2, 1);
    assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_OK);
    while (!state_of(&pair_vf)->failover.over) {
        pair_refused(vfront_submit(&pair_vf, &f), VFRONT_E_BUSY, "under way");
        pair_refused(vfront_return(&pair_vf), VFRONT_E_BUSY, "under way");
        pair_refused(vfront_reset(&pair_vf), VFRONT_E_BUSY, "under way");
    }
    took_over("does not end");
    assert_int_equal(vfront_wait(&pair_vf, 0, &result), VFRONT_OK);
    same(2, 1);
    step(3, 1);
    over();
    assert_int_equal(go_back(), VFRONT_OK);
    step(4, 0);
    end();
}

/** Steps with results that come late, so and so many in a row; one that does not begins the count anew. */
static void be_late(void)
{
    const vfront_rig_t rig = rig_of();
    vfront_tuning_t t = tuning();
    t.failover_overruns = 3;
    t.deadline_us = 1;
    assert_int_equal(vfront_init(&pair_vf, &rig, &t, VFRONT_PORT_CUDA), VFRONT_OK);
    t.deadline_us = LATE_US;
    assert_int_equal(vfront_init(&pair_twin, &rig, &t, VFRONT_PORT_HOST), VFRONT_OK);
    for (uint64_t i = 0; i < FRAMES; i++) {
        const vfront_frame_t f = frame_for(&pair_vf, i, 1), g = frame_for(&pair_twin, i, 0);
        const vfront_result_t *b;
        state_of(&pair_vf)->step[0].tuning.deadline_us = i == 1 ? LATE_US : 1;
        assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
        assert_int_equal(vfront_step(&pair_twin, &g, &b), VFRONT_OK);
        assert_true(vfront_digest(result) == vfront_digest(b));
        assert_int_equal(result->nav.state, airborne ? state_at(i) : VFRONT_NAV_NONE);
        const int host = (i > 4 && i < 7) || i > 9;
        assert_int_equal(result->timing.port, host ? VFRONT_PORT_HOST : VFRONT_PORT_CUDA);
        assert_int_equal(result->timing.overruns,
                         i + (i < 1)); /* those of the host port count, too: nothing is dropped */
        if (i == 4) took_over("in a row that came after deadline_us: 3");
        if (i == 6) assert_int_equal(go_back(), VFRONT_OK);
    }
    end();
}

static void late_in_a_row(void **state)
{
    (void)state;
    be_late();
    airborne = 1; /* the host port takes over behind frame 4, in which the state begins */
    be_late();
    airborne = 0;
}

/* ---- kernels that fail ------------------------------------------------------------------------------------------- */

static const char *self;
static const struct {
    const char *name;
    vfront_status_t way_back; /* status of vfront_return() afterwards */
} bad_kernel[] = {
    {"trap", VFRONT_E_STICKY},     {"address", VFRONT_E_STICKY}, {"assertion", VFRONT_E_STICKY},
    {"refused launch", VFRONT_OK}, {"spin", VFRONT_OK},
}; /* bad_kernels[], in that order */
#define BAD_KERNELS (sizeof bad_kernel / sizeof *bad_kernel)

/** 100 frames, with a bad kernel in the stream before the 51st, in a process of its own: most of them leave a context
 *  that is of no use. */
static void with_bad_kernel(size_t which)
{
    struct timespec nap = {0, 10000000};
    brief = which == BAD_KERNELS - 1;
    start(VFRONT_PORT_CUDA);
    for (uint64_t i = 0; i < 100; i++) {
        if (i == 50) fault.kernel = (int)which + 1;
        step(i, i >= 50 && i < 90);
        fault.kernel = 0;
        if (i == 50) print_message("%s: %s\n", bad_kernel[which].name, state_of(&pair_vf)->failover.why);
        if (i != 89) continue;
        vfront_status_t status;
        while ((status = go_back()) == VFRONT_E_ABANDONED) nanosleep(&nap, NULL);
        print_message("%s: vfront_return() is %s\n", bad_kernel[which].name, vfront_status_name(status));
        assert_int_equal(status, bad_kernel[which].way_back);
        if (status) break;
    }
    end();
}

static size_t which_kernel;
static void bad_kernel_here(void **state)
{
    (void)state;
    with_bad_kernel(which_kernel);
}

static void kernels_fail(void **state)
{
    (void)state;
    (void)&bad_kernel_here;
#ifdef VF_SPIN
    for (size_t i = 0; i < BAD_KERNELS; i++) {
        char command[300];
        snprintf(command, sizeof command, "%s --kernel %d", self, (int)i);
        if (system(command)) fail_msg("%s", bad_kernel[i].name);
    }
#else
    print_message("skipped: a kernel that fails needs a GPU\n");
    skip();
#endif
}

/* ---- what is left out, and what is refused ----------------------------------------------------------------------- */

static void without_disparities(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_cameras();
    vfront_tuning_t t = tuning();
    t.failover_dense = 0;
    assert_int_equal(vfront_init(&pair_vf, &rig, &t, VFRONT_PORT_CUDA), VFRONT_OK);
    assert_int_equal(vfront_init(&pair_twin, &rig, &t, VFRONT_PORT_HOST), VFRONT_OK);
    for (uint64_t i = 0; i < 6; i++) {
        if (i == 3) make(LOST, LAUNCH);
        const vfront_frame_t f = frame_for(&pair_vf, i, 1), g = frame_for(&pair_twin, i, 0);
        const vfront_result_t *b;
        assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
        assert_int_equal(vfront_step(&pair_twin, &g, &b), VFRONT_OK);
        assert_true(vfront_digest_parts(result, VFRONT_PART_REST) == vfront_digest_parts(b, VFRONT_PART_REST));
        assert_true((vfront_digest(result) == vfront_digest(b)) == (i < 3));
        assert_true(b->disparity.valid > 1000 && b->columns_count > 0);
        if (i < 3) continue;
        assert_true(result->disparity.valid == 0 && !result->disparity.px16 && result->columns_count == 0);
        assert_true(result->road.state == VFRONT_ROAD_NONE);
        for (int k = 0; k < VFRONT_OBSTACLE_BINS; k++)
            assert_int_equal(result->obstacles_cm[k], VFRONT_OBSTACLE_UNKNOWN);
    }
    over();
    assert_int_equal(go_back(), VFRONT_OK);
    end();
}

static void refusals(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_cameras();
    vfront_tuning_t t = tuning();
    assert_int_equal(vfront_return(NULL), VFRONT_E_NULL);
    assert_int_equal(vfront_return(&pair_vf), VFRONT_E_STATE); /* not initialised */
    start(VFRONT_PORT_HOST);
    pair_refused(vfront_return(&pair_vf), VFRONT_E_STATE, "no port failed over");
    end();
    t.failover = 2;
    pair_refused(vfront_init(&pair_vf, &rig, &t, VFRONT_PORT_CUDA), VFRONT_E_TUNING, "failover");
    t.failover = 0;
    no_fault();
    assert_int_equal(vfront_init(&pair_vf, &rig, &t, VFRONT_PORT_CUDA), VFRONT_OK);
    vfront_frame_t f = frame_for(&pair_vf, 0, 0);
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
    fault.fails = LAUNCH;
    f = frame_for(&pair_vf, 1, 0);
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_E_DEVICE);
    pair_refused(vfront_return(&pair_vf), VFRONT_E_STATE, "no port failed over");
    over();
    vfront_shutdown(&pair_vf);
    start(VFRONT_PORT_CUDA);
    pair_refused(vfront_return(&pair_vf), VFRONT_E_STATE, "no port failed over");
    step(0, 0);
    f = frame_for(&pair_vf, 1, 0);
    f.picture[0].memory = VFRONT_DEVICE_MEMORY;
    pair_refused(vfront_step(&pair_vf, &f, &result), VFRONT_E_MEMORY_KIND, "failover");
    f.picture[0].memory = VFRONT_PINNED_MEMORY;
    fault.managed = 1;
    pair_refused(vfront_step(&pair_vf, &f, &result), VFRONT_E_MEMORY_KIND,
                 "managed memory, which failover cannot read");
    fault.managed = 0;
    fault.unseen = 1;
    pair_refused(vfront_step(&pair_vf, &f, &result), VFRONT_E_MEMORY_KIND, "not of the kind of memory given");
    fault.unseen = 0;
    for (uint64_t i = 1; i < 3; i++) step(i, 0);
    end();
}

/** A way back that fails, or hangs, at each call: the host port goes on, and the next try may succeed. */
static void return_fails(void **state)
{
    (void)state;
    static const enum call call[] = {QUERY, COPY, SYNCHRONIZE};
    brief = 1;
    start(VFRONT_PORT_CUDA);
    brief = 0;
    step(0, 0);
    uint64_t i = 1;
    for (int hang = 0; hang < 2; hang++)
        for (size_t k = 0; k < sizeof call / sizeof *call; k++) {
            make(LOST, LAUNCH);
            step(i++, 1);
            over();
            if (hang)
                fault.hangs = call[k];
            else
                fault.fails = call[k];
            const vfront_status_t status = go_back();
            assert_int_equal(status, hang ? VFRONT_E_ABANDONED : call[k] == QUERY ? VFRONT_E_STICKY : VFRONT_E_DEVICE);
            step(i++, 1);
            over();
            vfront_status_t back = VFRONT_E_ABANDONED;
            while (back == VFRONT_E_ABANDONED) back = go_back();
            assert_int_equal(back, VFRONT_OK);
            step(i++, 0);
        }
    end();
}

/** An error that stays in the context: the host port goes on to the end, and says that there is no way back. */
static void sticky(void **state)
{
    (void)state;
    start(VFRONT_PORT_CUDA);
    for (uint64_t i = 0; i < FRAMES; i++) {
        if (i == 4) fault.sticky = 1;
        step(i, i >= 4);
        if (i > 4) pair_refused(vfront_return(&pair_vf), VFRONT_E_STICKY, "cudaErrorIllegalAddress");
    }
    end();
}

static void no_device(void **state)
{
    (void)state;
    print_message("skipped: %s\n", vfront_detail(&pair_vf));
    skip();
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_fail),
        cmocka_unit_test(calls_hang),
        cmocka_unit_test(steps_end_badly),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(given_up_elsewhere),
        cmocka_unit_test(late_in_a_row),
        cmocka_unit_test(without_disparities),
        cmocka_unit_test(refusals),
        cmocka_unit_test(return_fails),
        cmocka_unit_test(sticky),
        cmocka_unit_test(kernels_fail),
        cmocka_unit_test(with_state),
        cmocka_unit_test(with_state_unread),
        cmocka_unit_test(there_and_back_with_state),
        cmocka_unit_test(with_map),
    };
    const struct CMUnitTest there[] = {cmocka_unit_test(there_and_back), cmocka_unit_test(there_and_back_with_state),
                                       cmocka_unit_test(with_map)};
    const struct CMUnitTest one[] = {cmocka_unit_test(bad_kernel_here)};
    const struct CMUnitTest none[] = {cmocka_unit_test(no_device)};
    const vfront_rig_t rig = pair_cameras();
    self = argv[0];
    pair_draw();
    rendered_draw();
    no_fault();
    const vfront_status_t status = vfront_init(&pair_vf, &rig, NULL, VFRONT_PORT_CUDA);
    vfront_shutdown(&pair_vf);
    if (status == VFRONT_E_NO_DEVICE || status == VFRONT_E_DRIVER) return cmocka_run_group_tests(none, NULL, NULL);
    start(VFRONT_PORT_CUDA);
    const double began = now_us();
    step(0, 0);
    brief_us = 300000 + 10 * (int32_t)(now_us() - began);
    end();
    if (argc > 1 && !strcmp(argv[1], "--quick")) {
        quick = 1;
        return cmocka_run_group_tests(there, NULL, NULL);
    }
    if (argc > 2 && !strcmp(argv[1], "--kernel") && (which_kernel = (size_t)atoi(argv[2])) < BAD_KERNELS)
        return cmocka_run_group_tests(one, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
