/* SPDX-License-Identifier: MIT */
/* Frames at a camera's pace: when the port's thread and vfront_wait() sleep, wake up and poll, on a clock that stands
 * still unless the test moves it. The linker puts the wrappers below in front of libc and of tests/fake/cudart.c. */
#define _POSIX_C_SOURCE 200809L
#include "tests/fixture/pair.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include "port/cuda/job.h"
#include "tests/fake/calls.h"

#define MS 1000000u

/* ---- clock, sleeps and steps ------------------------------------------------------------------------------------- */

enum { AWAKE, ALARMED, ASLEEP }; /* the port's thread: works or polls; sleeps until a time; sleeps without an end */

static pthread_t test_thread;
static _Atomic uint64_t now_ns = 1000 * MS; /* the monotonic clock */
static _Atomic int64_t set_ns;              /* by how much the clock of the day is set */
static _Atomic int rest;                    /* state of the port's thread */
static _Atomic uint64_t alarm_ns;           /* time at which it wakes up by itself, by the monotonic clock */
static _Atomic long polls;                  /* by the port's thread */
static _Atomic uint64_t ends_ns;            /* end of the step in flight; 0: none */
static _Atomic uint64_t takes_ns;           /* duration of steps */
static _Atomic long queries, uploads;       /* calls */
static _Atomic uint64_t upload_ns;          /* duration of an upload */
static struct {
    cudaGraphExec_t exec;
    cudaStream_t stream;
} held; /* graph of the step in flight */
static struct {
    long count;
    uint64_t end_ns[100]; /* of the first sleeps */
} sleeps;                 /* of the caller's thread */

#define WRAP(type, name, parameters)                                                                                   \
    type __real_##name parameters;                                                                                     \
    type __wrap_##name parameters;                                                                                     \
    type __wrap_##name parameters

static int by_test(void) { return pthread_equal(pthread_self(), test_thread) != 0; }

cudaError_t __real_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);

static void pass(uint64_t ns)
{
    now_ns += ns;
    if (!ends_ns || now_ns < ends_ns) return;
    ends_ns = 0;
    assert_int_equal(__real_cudaGraphLaunch(held.exec, held.stream), cudaSuccess);
}

WRAP(int, clock_gettime, (clockid_t clock, struct timespec *t))
{
    if (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME) return __real_clock_gettime(clock, t);
    if (by_test() && ends_ns) pass(1000); /* time passes while the caller polls */
    const uint64_t ns = now_ns + (clock == CLOCK_REALTIME ? (uint64_t)set_ns : 0);
    *t = (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    return 0;
}

WRAP(int, nanosleep, (const struct timespec *time, struct timespec *left))
{
    if (!by_test()) return __real_nanosleep(time, left);
    const uint64_t ns = (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
    if (sleeps.count < 100) sleeps.end_ns[sleeps.count] = now_ns + ns;
    sleeps.count++;
    pass(ns);
    return 0;
}

static void tick(void)
{
    const struct timespec t = {0, 20000};
    __real_nanosleep(&t, NULL);
}

WRAP(int, sem_wait, (sem_t * wake))
{
    rest = ASLEEP;
    while (sem_trywait(wake)) tick();
    rest = AWAKE;
    return 0;
}

WRAP(int, sem_timedwait, (sem_t * wake, const struct timespec *end))
{
    const uint64_t end_ns = (uint64_t)end->tv_sec * 1000000000u + (uint64_t)end->tv_nsec;
    int late = 0, woken = 0;
    alarm_ns = end_ns - (uint64_t)set_ns;
    rest = ALARMED;
    while (!(woken = !sem_trywait(wake)) && !(late = now_ns + (uint64_t)set_ns >= end_ns)) tick();
    rest = AWAKE;
    errno = ETIMEDOUT;
    return woken ? 0 : -1;
}

WRAP(int, sched_yield, (void))
{
    polls += !by_test();
    return __real_sched_yield();
}

WRAP(cudaError_t, cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream))
{
    if (!takes_ns) return __real_cudaGraphLaunch(exec, stream);
    held.exec = exec;
    held.stream = stream;
    ends_ns = now_ns + takes_ns;
    return cudaSuccess;
}

WRAP(cudaError_t, cudaStreamQuery, (cudaStream_t stream))
{
    queries++;
    return ends_ns ? cudaErrorNotReady : __real_cudaStreamQuery(stream);
}

#if CUDART_VERSION >= 11010
WRAP(cudaError_t, cudaGraphUpload, (cudaGraphExec_t exec, cudaStream_t stream))
{
    uploads++;
    now_ns += upload_ns;
    return __real_cudaGraphUpload(exec, stream);
}
#endif

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static uint64_t number;       /* of the next frame */
static uint64_t submitted_ns; /* time of the last submit */
static const vfront_result_t *result;

static void started(int32_t wait)
{
    const vfront_rig_t rig = pair_cameras();
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.wait = wait;
    t.abandon_us = 60000000;
    number = 0;
    takes_ns = upload_ns = 0;
    set_ns = 0;
    if (vfront_init(&pair_vf, &rig, &t, VFRONT_PORT_CUDA)) fail_msg("init: %s", vfront_detail(&pair_vf));
}

/** Lets time pass until a frame, and submits it. */
static void submit_after(uint64_t ns)
{
    const vfront_frame_t f = pair_frame(number++);
    pass(ns);
    submitted_ns = now_ns;
    assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_OK);
}

static void step_after(uint64_t ns)
{
    submit_after(ns);
    if (vfront_wait(&pair_vf, UINT32_MAX, &result)) fail_msg("wait: %s", vfront_detail(&pair_vf));
}

static void expect_rest(int state)
{
    for (int i = 0; rest != state; i++, tick())
        if (i == 200000) fail_msg("the port's thread: %d, not %d", rest, state);
}

/** Requires the port's thread to sleep until shortly before a frame is due, `interval_ns` after the last one. */
static void expect_alarm(uint64_t interval_ns)
{
    expect_rest(ALARMED);
    assert_int_equal(alarm_ns, submitted_ns + interval_ns - VF_LEAD_NS);
}

/** Requires the port's thread to poll. */
static void expect_polls(void)
{
    const long before = polls;
    expect_rest(AWAKE);
    for (int i = 0; polls < before + 1000; i++, tick())
        if (i == 200000) fail_msg("the port's thread does not poll");
}

/** Requires the port's thread to sleep without polling, until `ns` have passed. */
static void expect_sleep(uint64_t ns)
{
    expect_rest(ASLEEP);
    const long before = polls;
    for (int i = 0; i < 100; i++, tick()) pass(ns / 100);
    assert_int_equal(rest, ASLEEP);
    assert_int_equal(polls, before);
}

/* ---- the port's thread ------------------------------------------------------------------------------------------- */

/** The port's thread is awake when a frame comes, and was asleep until shortly before. */
static void awake_in_time(void **state)
{
    (void)state;
    started(VFRONT_WAIT_SPIN);
    for (int i = 0; i < 10; i++) {
        step_after(33 * MS);
        if (!i) continue; /* one frame has no interval */
        expect_alarm(33 * MS);
        pass(33 * MS - VF_LEAD_NS - 1);
        expect_rest(ALARMED);
        pass(1);
        expect_polls();
        pass(VF_LEAD_NS);
        expect_polls();
        step_after(0);
    }
}

#if CUDART_VERSION >= 11010
/** The thread prepares for each frame once, ahead of the time for which it wakes up, by as long as that takes. */
static void prepared(void **state)
{
    (void)state;
    started(VFRONT_WAIT_SPIN);
    for (int i = 0; i < 3; i++) step_after(33 * MS);
    upload_ns = 30000;
    for (int i = 0; i < 5; i++) {
        const uint64_t ahead = i ? 30000 : 0;
        const long before = uploads;
        expect_rest(ALARMED);
        assert_int_equal(alarm_ns, submitted_ns + 33 * MS - VF_LEAD_NS - ahead);
        pass(33 * MS - VF_LEAD_NS - ahead);
        expect_polls();
        assert_int_equal(now_ns, submitted_ns + 33 * MS - VF_LEAD_NS - ahead + 30000);
        assert_int_equal(uploads, before + 1);
        step_after(submitted_ns + 33 * MS - now_ns);
        assert_int_equal(uploads, before + 1);
    }
    upload_ns = 10 * MS; /* too long: prepares no earlier than by another lead, and the frame is late */
    expect_rest(ALARMED);
    pass(33 * MS - VF_LEAD_NS - 30000);
    expect_rest(ASLEEP);
    const uint64_t before_ns = submitted_ns;
    assert_int_equal(now_ns, before_ns + 43 * MS - VF_LEAD_NS - 30000);
    step_after(0);
    expect_rest(ALARMED);
    assert_int_equal(alarm_ns, before_ns + 66 * MS - 2 * VF_LEAD_NS);
}
#endif

/** A frame that does not come is awaited for a bounded time; the next one wakes the thread up. */
static void late_frame(void **state)
{
    (void)state;
    started(VFRONT_WAIT_SPIN);
    for (int i = 0; i < 5; i++) step_after(33 * MS);
    for (int i = 0; i < 3; i++) {
        expect_alarm(33 * MS);
        pass(33 * MS + VF_LEAD_NS - 1);
        expect_polls();
        pass(1);
        expect_sleep(200 * MS);
        step_after(0);
        for (int k = 0; k < 3; k++) step_after(33 * MS);
    }
}

/** A frame that comes too early wakes the thread up. */
static void early_frame(void **state)
{
    (void)state;
    started(VFRONT_WAIT_SPIN);
    for (int i = 0; i < 5; i++) step_after(33 * MS);
    expect_alarm(33 * MS);
    step_after(10 * MS);
    expect_alarm(33 * MS);
    step_after(10 * MS);
    expect_alarm(10 * MS); /* by the median of 33, 10 and 10 */
}

/** A lost frame does not change the prediction. */
static void lost_frame(void **state)
{
    (void)state;
    started(VFRONT_WAIT_SPIN);
    for (int i = 0; i < 5; i++) step_after(20 * MS);
    step_after(40 * MS);
    for (int i = 0; i < 4; i++) {
        expect_alarm(20 * MS);
        step_after(20 * MS);
    }
}

/** One late submit does not change the prediction; a second one does, and an early one. */
static void late_submits(void **state)
{
    (void)state;
    started(VFRONT_WAIT_SPIN);
    for (int i = 0; i < 5; i++) step_after(33 * MS);
    step_after(33 * MS + 160000);
    expect_alarm(33 * MS - 160000);
    step_after(33 * MS - 160000);
    expect_alarm(33 * MS);
    for (int i = 0; i < 3; i++) step_after(33 * MS);
    step_after(33 * MS + 160000);
    expect_alarm(33 * MS - 160000);
    step_after(33 * MS);
    expect_alarm(33 * MS);
    for (int i = 0; i < 3; i++) step_after(33 * MS);
    step_after(33 * MS - 160000);
    expect_alarm(33 * MS);
}

/** With VFRONT_WAIT_NAP the thread wakes up before the frame, and never polls. */
static void nap_does_not_poll(void **state)
{
    (void)state;
    started(VFRONT_WAIT_NAP);
    for (int i = 0; i < 5; i++) {
        step_after(33 * MS);
        if (!i) continue;
        expect_alarm(33 * MS);
        const long before = polls;
        pass(33 * MS - VF_LEAD_NS);
        expect_sleep(100 * MS);
        assert_int_equal(polls, before);
        step_after(0);
        step_after(33 * MS);
    }
}

/** When the clock of the day is set the thread wakes up too early or too late, and steps go on. */
static void clock_set(void **state)
{
    (void)state;
    started(VFRONT_WAIT_SPIN);
    for (int i = 0; i < 5; i++) step_after(33 * MS);
    expect_alarm(33 * MS);
    const uint64_t alarm = alarm_ns;
    const long before = uploads;
    alarm_ns = 0;
    set_ns = 3600000ll * MS; /* forward: wakes up, and sleeps again until the same time */
    while (!alarm_ns) tick();
    expect_rest(ALARMED);
    assert_int_equal(alarm_ns, alarm);
    set_ns = 0; /* back by an hour: does not wake up before the frame */
    pass(33 * MS);
    for (int i = 0; i < 100; i++) tick();
    assert_int_equal(rest, ALARMED);
    assert_int_equal(uploads, before);
    step_after(0);
    expect_alarm(33 * MS);
}

/** Shutdown ends a thread that sleeps, or polls. */
static void shutdown_at_any_time(void **state)
{
    (void)state;
    for (int polling = 0; polling < 2; polling++) {
        started(VFRONT_WAIT_SPIN);
        for (int i = 0; i < 3; i++) step_after(33 * MS);
        expect_alarm(33 * MS);
        if (polling) pass(33 * MS);
        if (polling) expect_polls();
        assert_int_equal(vfront_shutdown(&pair_vf), VFRONT_OK);
    }
}

/* ---- the caller -------------------------------------------------------------------------------------------------- */

/** Takes two steps, by whose duration on the device the next is waited for. Returns it [ns]. */
static uint64_t known_duration(int32_t wait)
{
    started(wait);
    fake_stage_ns = 20000;
    for (int i = 0; i < 2; i++) step_after(33 * MS);
    fake_stage_ns = 1000;
    sleeps.count = 0;
    queries = 0;
    return 1000u * (uint64_t)result->timing.device_us;
}

/** vfront_wait() sleeps once, until shortly before the step's end, and then polls. */
static void one_sleep(void **state)
{
    (void)state;
    const uint64_t ns = known_duration(VFRONT_WAIT_SPIN);
    assert_true(ns > 500000);
    takes_ns = ns;
    step_after(33 * MS);
    assert_int_equal(sleeps.count, 1);
    assert_in_range(sleeps.end_ns[0], submitted_ns + ns - VF_LEAD_NS, submitted_ns + ns - VF_LEAD_NS + 3000);
    assert_in_range(now_ns, submitted_ns + ns, submitted_ns + ns + 10000);
    assert_int_equal(queries, 0);
    step_after(33 * MS); /* the shorter of the last two steps took no time to speak of */
    assert_int_equal(sleeps.count, 1);
}

/** With VFRONT_WAIT_NAP it sleeps until the step's end, and then for short times. */
static void short_sleeps(void **state)
{
    (void)state;
    const uint64_t ns = known_duration(VFRONT_WAIT_NAP);
    takes_ns = ns + 120000;
    step_after(33 * MS);
    assert_in_range(sleeps.count, 3, 4);
    assert_in_range(sleeps.end_ns[0], submitted_ns + ns, submitted_ns + ns + 3000);
    assert_true(now_ns < submitted_ns + takes_ns + 60000);
}

/** Back to back the port's thread sleeps until the step's end, while vfront_wait() polls. */
static void one_polls(void **state)
{
    (void)state;
    const uint64_t ns = known_duration(VFRONT_WAIT_SPIN);
    fake_stage_ns = 20000;
    for (int i = 0; i < 5; i++) {
        takes_ns = ns + 10000;
        submit_after(20000);
        if (i > 2) { /* by the median of three intervals */
            expect_rest(ALARMED);
            assert_int_equal(alarm_ns, submitted_ns + ns);
        }
        assert_int_equal(vfront_wait(&pair_vf, UINT32_MAX, &result), VFRONT_OK);
    }
    fake_stage_ns = 1000;
}

/** A sleep does not outlast the caller's time limit. */
static void time_limit(void **state)
{
    (void)state;
    for (int32_t wait = VFRONT_WAIT_SPIN; wait <= VFRONT_WAIT_NAP; wait++) {
        const uint64_t ns = known_duration(wait);
        takes_ns = 2 * ns;
        submit_after(33 * MS);
        assert_int_equal(vfront_wait(&pair_vf, 100, &result), VFRONT_E_TIMEOUT);
        assert_in_range(now_ns, submitted_ns + 100000, submitted_ns + 110000);
        assert_int_equal(vfront_wait(&pair_vf, UINT32_MAX, &result), VFRONT_OK);
        vfront_shutdown(&pair_vf);
    }
}

/** The device is asked for a failure while a step takes long, and only then. */
static void long_step(void **state)
{
    (void)state;
    known_duration(VFRONT_WAIT_SPIN);
    takes_ns = 10 * MS;
    step_after(33 * MS);
    assert_in_range(queries, 3, 10);
}

static int ended(void **state)
{
    (void)state;
    vfront_shutdown(&pair_vf);
    return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, ended)
    const struct CMUnitTest tests[] = {
        TEST(awake_in_time),
        TEST(late_frame),
        TEST(early_frame),
        TEST(lost_frame),
        TEST(nap_does_not_poll),
        TEST(clock_set),
        TEST(shutdown_at_any_time),
        TEST(one_sleep),
        TEST(short_sleeps),
        TEST(time_limit),
        TEST(long_step),
        TEST(one_polls),
        TEST(late_submits),
#if CUDART_VERSION >= 11010
        TEST(prepared),
#endif
    };
    alarm(600);
    test_thread = pthread_self();
    pair_draw();
    return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
