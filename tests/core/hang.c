/* SPDX-License-Identifier: MIT */
/* A hanging device: each CUDA call of port/cuda and each launch blocks, in init, step and shutdown, or a step does not
 * end. Every call of the library still returns in bounded time, reports it, and the same vfront_t then works on the
 * host port. When the hang ends, the abandoned thread releases everything. The linker puts the wrappers below in front
 * of the runtime (-Wl,--wrap), the real one with a GPU, else tests/fake/cudart.c.
 * hang [--quick]    --quick: a sample of the calls, for the thread sanitizer */
#define _POSIX_C_SOURCE 200809L
#include "tests/fixture/pair.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "port/cuda/cuda.h"
#include "tests/fake/calls.h"

#define SLACK_US 20e6 /* tolerance for a machine under load; a real hang would never end */

/** Times after which the GPU is abandoned in this test: many times the normal duration on this machine. */
static int every = 1; /* only every n-th call is made to hang */
static int32_t init_ms = 60000, step_us = 60000000;

/* ---- calls that block -------------------------------------------------------------------------------------------- */

static pthread_t test_thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ends = PTHREAD_COND_INITIALIZER;
static struct {
    int call;                   /* call that blocks; -1: none */
    int endless;                /* 1: launches are dropped, and queries report that they are running */
    int blocked;                /* number of threads blocked in a call */
    long live[KINDS];           /* objects made and not released */
    long hangs[CALLS], by_test; /* over all tests: calls that blocked; calls by the test's thread */
} hang = {.call = -1};

static void enter(int call, int makes)
{
    pthread_mutex_lock(&lock);
    hang.by_test += pthread_equal(pthread_self(), test_thread) != 0;
    if (hang.call == call) {
        hang.blocked++;
        hang.hangs[call]++;
        while (hang.call == call) pthread_cond_wait(&ends, &lock);
        hang.blocked--;
    }
    hang.live[makes < 0 ? -makes : makes] += makes < 0 ? -1 : 1;
    pthread_mutex_unlock(&lock);
}

static void set(int call, int endless)
{
    pthread_mutex_lock(&lock);
    hang.call = call;
    hang.endless = endless;
    pthread_cond_broadcast(&ends);
    pthread_mutex_unlock(&lock);
}

static int get(const int *of)
{
    pthread_mutex_lock(&lock);
    const int value = *of;
    pthread_mutex_unlock(&lock);
    return value;
}

#define CUDA_CALL(name, parameters, arguments, makes)                                                                  \
    cudaError_t __real_##name parameters;                                                                              \
    cudaError_t __wrap_##name parameters;                                                                              \
    cudaError_t __wrap_##name parameters                                                                               \
    {                                                                                                                  \
        enter(CALL_##name, makes);                                                                                     \
        return __real_##name arguments;                                                                                \
    }
#define CUDA_TURNED(name, parameters, arguments, makes)                                                                \
    cudaError_t __real_##name parameters;                                                                              \
    cudaError_t __wrap_##name parameters;
#include "tests/fake/cuda_calls.def"
#undef CUDA_CALL
#undef CUDA_TURNED

#define VF_STAGE(name, needs, what)                                                                                    \
    cudaError_t __real_vf_##name##_cuda(const struct vf_##name##_view *s, cudaStream_t stream);                        \
    cudaError_t __wrap_vf_##name##_cuda(const struct vf_##name##_view *s, cudaStream_t stream);                        \
    cudaError_t __wrap_vf_##name##_cuda(const struct vf_##name##_view *s, cudaStream_t stream)                         \
    {                                                                                                                  \
        enter(CALL_##name, NOTHING);                                                                                   \
        return __real_vf_##name##_cuda(s, stream);                                                                     \
    }
#include "stages.def"
#undef VF_STAGE
#define APART(name, part)                                                                                              \
    cudaError_t __real_vf_##name##_##part##_cuda(const struct vf_##name##_view *s, cudaStream_t stream);               \
    cudaError_t __wrap_vf_##name##_##part##_cuda(const struct vf_##name##_view *s, cudaStream_t stream);               \
    cudaError_t __wrap_vf_##name##_##part##_cuda(const struct vf_##name##_view *s, cudaStream_t stream)                \
    {                                                                                                                  \
        enter(CALL_##part##_##name, NOTHING);                                                                          \
        return __real_vf_##name##_##part##_cuda(s, stream);                                                            \
    }
VF_APART(APART)
#undef APART

cudaError_t __real_cudaGetLastError(void);
cudaError_t __wrap_cudaGetLastError(void);
cudaError_t __wrap_cudaGetLastError(void) { return __real_cudaGetLastError(); }

cudaError_t __wrap_cudaGetDeviceCount(int *devices)
{
    enter(CALL_cudaGetDeviceCount, NOTHING);
    return __real_cudaGetDeviceCount(devices);
}

#if CUDART_VERSION >= 11010
cudaError_t __wrap_cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
    enter(CALL_cudaGraphUpload, NOTHING);
    return __real_cudaGraphUpload(exec, stream);
}
#endif

cudaError_t __wrap_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    enter(CALL_cudaStreamEndCapture, GRAPH);
    return __real_cudaStreamEndCapture(stream, graph);
}

/** On a GPU: a kernel of this duration precedes the next launch. */
static int spin_ms;
#ifdef VF_SPIN
cudaError_t spin_launch(int ms, cudaStream_t stream);
#endif

cudaError_t __wrap_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    enter(CALL_cudaGraphLaunch, NOTHING);
    if (get(&hang.endless)) return cudaSuccess;
#ifdef VF_SPIN
    if (spin_ms) {
        const cudaError_t error = spin_launch(spin_ms, stream);
        if (error) return error;
        spin_ms = 0;
    }
#endif
    return __real_cudaGraphLaunch(exec, stream);
}

cudaError_t __wrap_cudaStreamQuery(cudaStream_t stream)
{
    enter(CALL_cudaStreamQuery, NOTHING);
    return get(&hang.endless) ? cudaErrorNotReady : __real_cudaStreamQuery(stream);
}

/** Blocks while a step is endless. */
static void wait_for_end(void)
{
    pthread_mutex_lock(&lock);
    const int waited = hang.endless;
    hang.blocked += waited;
    while (hang.endless) pthread_cond_wait(&ends, &lock);
    hang.blocked -= waited;
    pthread_mutex_unlock(&lock);
}

cudaError_t __wrap_cudaStreamSynchronize(cudaStream_t stream)
{
    enter(CALL_cudaStreamSynchronize, NOTHING);
    wait_for_end();
    return __real_cudaStreamSynchronize(stream);
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static double began_us;
static void begin(void) { began_us = now_us(); }

/** Requires that the call since begin() took no longer than allowed. */
static void within(double us, const char *what)
{
    const double took = now_us() - began_us;
    if (took > us + SLACK_US) fail_msg("%s: returned after %.0f us, %.0f may be", what, took, us);
}

static int threads(void)
{
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *d; tasks && (d = readdir(tasks)) != NULL;) n += d->d_name[0] != '.';
    if (tasks) closedir(tasks);
    return n;
}

static int threads_before; /* threads of the process without those of the library */

/** Ends the hang: abandoned threads release everything and end. */
static void over(void)
{
    const struct timespec tick = {0, 1000000};
    set(-1, 0);
    begin();
    for (int busy = 1; busy; nanosleep(&tick, NULL)) {
        pthread_mutex_lock(&lock);
        busy = hang.blocked;
        for (int k = 1; k < KINDS; k++) busy |= hang.live[k] != 0;
        pthread_mutex_unlock(&lock);
        busy |= threads() > threads_before;
        within(0, "what was left behind is not given back");
    }
}

static int32_t waiting; /* tuning value `wait` */

static vfront_tuning_t tuning(void)
{
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.abandon_init_ms = init_ms;
    t.abandon_us = step_us;
    t.wait = waiting;
    t.rectify = t.dense = t.stixel = t.vio = VFRONT_STIXELS && every == 1; /* launches all stages */
    t.map = VFRONT_MAP && every == 1;
    if (every > 1) t.ego = t.match = t.stereo = t.describe = 0;
    return t;
}

static vfront_status_t start(vfront_port_t port)
{
    const vfront_rig_t rig = pair_with_imu();
    const vfront_tuning_t t = tuning();
    return vfront_init(&pair_vf, &rig, &t, port);
}

static void started(void)
{
    if (start(VFRONT_PORT_CUDA)) fail_msg("init: %s", vfront_detail(&pair_vf));
}

static const vfront_result_t *result;

/** Frame with images in all kinds of host memory. */
static vfront_frame_t frame(uint64_t number)
{
    vfront_frame_t f = pair_frame(number);
    void *data;
    assert_int_equal(vfront_input(&pair_vf, 0, &data), VFRONT_OK);
    memcpy(data, f.picture[0].data, 160 * 120);
    f.picture[0].data = data;
    f.picture[0].memory = VFRONT_PINNED_MEMORY;
    return f;
}

static vfront_status_t step(uint64_t number)
{
    const vfront_frame_t f = frame(number);
    return vfront_step(&pair_vf, &f, &result);
}

/** Requires that pair_vf, after shutdown, works on the host port like a new one, and reports the number of ports
 *  lost. */
static void host_takes_over(uint32_t lost)
{
    const vfront_rig_t rig = pair_with_imu();
    vfront_info_t info;
    assert_int_equal(vfront_init(&pair_vf, &rig, NULL, VFRONT_PORT_HOST), VFRONT_OK);
    assert_int_equal(vfront_init(&pair_twin, &rig, NULL, VFRONT_PORT_HOST), VFRONT_OK);
    assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_OK);
    assert_int_equal(info.port, VFRONT_PORT_HOST);
    assert_int_equal(info.abandoned, lost);
    pair_at(0);
    for (int i = 0; i < 2; i++) pair_step();
    assert_int_equal(vfront_shutdown(&pair_vf), VFRONT_OK);
    assert_int_equal(vfront_shutdown(&pair_twin), VFRONT_OK);
}

/** Requires that pair_vf reports that it was abandoned, repeatedly, and that shutdown loses the port and reports it. */
static void given_up(uint32_t lost)
{
    const vfront_frame_t f = pair_frame(1000);
    vfront_info_t info;
    for (int i = 0; i < 2; i++) {
        begin();
        assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_E_ABANDONED);
        assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_E_ABANDONED);
        assert_null(result);
        assert_int_equal(vfront_wait(&pair_vf, UINT32_MAX, &result), VFRONT_E_STATE);
        assert_int_equal(vfront_reset(&pair_vf), VFRONT_E_ABANDONED);
        assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_OK);
        assert_int_equal(info.abandoned, lost - 1);
        within(0, "after it was abandoned");
    }
    const size_t bytes = info.abandoned_bytes + info.device_bytes + info.pinned_bytes;
    begin();
    assert_int_equal(vfront_shutdown(&pair_vf), VFRONT_E_ABANDONED);
    within(0, "shutdown");
    assert_non_null(strstr(vfront_detail(&pair_vf), "abandoned"));
    assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_E_STATE);
    assert_int_equal(start(VFRONT_PORT_HOST), VFRONT_OK);
    assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_OK);
    assert_true(info.abandoned == lost && info.abandoned_bytes == bytes);
    assert_int_equal(vfront_shutdown(&pair_vf), VFRONT_OK);
    host_takes_over(lost);
}

static int before(void **state)
{
    (void)state;
    set(-1, 0);
    waiting = VFRONT_WAIT_SPIN;
    memset(&pair_vf, 0, sizeof pair_vf);
    return 0;
}

/* ---- calls that hang --------------------------------------------------------------------------------------------- */

static void init_hangs(void **state)
{
    (void)state;
    uint32_t lost = 0;
    vfront_info_t info;
    for (int call = 0; call < CALLS; call += every) {
        set(call, 0);
        begin();
        const vfront_status_t status = start(VFRONT_PORT_CUDA);
        within(1e3 * init_ms + step_us, call_name[call]);
        if (!status) { /* init does not make this call */
            assert_int_equal(get(&hang.blocked), 0);
            set(-1, 0);
            assert_int_equal(vfront_shutdown(&pair_vf), VFRONT_OK);
            continue;
        }
        assert_int_equal(get(&hang.blocked), 1);
        pair_refused(status, VFRONT_E_ABANDONED, call_name[call]);
        assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_E_STATE);
        assert_int_equal(vfront_shutdown(&pair_vf), VFRONT_OK); /* nothing to do */
        host_takes_over(++lost);
        over();
    }
    assert_true(lost > (every > 1 ? 1 : 16 + VFRONT_STAGES));
}

/** AUTO falls back to the host port, and reports why. */
static void init_hangs_auto(void **state)
{
    (void)state;
    vfront_info_t info;
    set(CALL_cudaGraphInstantiate, 0);
    begin();
    assert_int_equal(start(VFRONT_PORT_AUTO), VFRONT_OK);
    within(1e3 * init_ms + step_us, "init");
    assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_OK);
    assert_true(info.port == VFRONT_PORT_HOST && info.abandoned == 1 && info.abandoned_bytes > 0);
    assert_true(info.device_bytes == 0 && info.pinned_bytes == 0);
    assert_non_null(strstr(vfront_detail(&pair_vf), "cudaGraphInstantiate"));
    assert_int_equal(step(0), VFRONT_OK);
    vfront_shutdown(&pair_vf);
    over();
}

/** Calls of a step: a look-up and the launch block the submit. The previous result is unchanged. */
static void step_hangs(void **state)
{
    (void)state;
    static const int call[] = {CALL_cudaPointerGetAttributes, CALL_cudaGraphLaunch};
    uint32_t lost = 0;
    for (size_t i = 0; i < 2 * sizeof call / sizeof *call; i++) {
        started();
        for (uint64_t n = 0; n < 3; n++) assert_int_equal(step(n), VFRONT_OK);
        const vfront_result_t *kept = result;
        const uint64_t digest = vfront_digest(kept);
        const vfront_frame_t f = frame(3);
        set(call[i / 2], 0);
        begin();
        if (i % 2)
            pair_refused(vfront_step(&pair_vf, &f, &result), VFRONT_E_ABANDONED, call_name[call[i / 2]]);
        else
            pair_refused(vfront_submit(&pair_vf, &f), VFRONT_E_ABANDONED, call_name[call[i / 2]]);
        within(step_us, call_name[call[i / 2]]);
        assert_true(vfront_digest(kept) == digest);
        set(call[i / 2], 0);
        const vfront_status_t again = vfront_reset(&pair_vf);
        assert_int_equal(again, VFRONT_E_ABANDONED);
        assert_int_equal(get(&hang.blocked), 1);
        begin();
        assert_int_equal(vfront_shutdown(&pair_vf), VFRONT_E_ABANDONED);
        within(0, "shutdown");
        host_takes_over(++lost);
        over();
    }
}

#if CUDART_VERSION >= 11010
/** The call that precedes a frame hangs: the next call abandons the port. */
static void preparation_hangs(void **state)
{
    (void)state;
    const struct timespec interval = {0, 20000000};
    uint32_t lost = 0;
    for (int shutdown = 0; shutdown < 2; shutdown++) {
        started();
        for (uint64_t n = 0; n < 4; n++, nanosleep(&interval, NULL)) assert_int_equal(step(n), VFRONT_OK);
        set(CALL_cudaGraphUpload, 0);
        begin();
        uint64_t n = 4;
        for (; !get(&hang.blocked); n++, nanosleep(&interval, NULL)) {
            const vfront_status_t status = step(n);
            assert_true(status == VFRONT_OK || get(&hang.blocked));
            within(0, "no preparation for a frame");
            if (status) break;
        }
        const vfront_frame_t f = frame(n + 1);
        begin();
        if (shutdown) {
            assert_int_equal(vfront_shutdown(&pair_vf), VFRONT_E_ABANDONED);
        } else {
            pair_refused(vfront_submit(&pair_vf, &f), VFRONT_E_ABANDONED, "cudaGraphUpload");
            assert_int_equal(vfront_shutdown(&pair_vf), VFRONT_E_ABANDONED);
        }
        within(step_us, "after it hung");
        host_takes_over(++lost);
        over();
    }
}
#endif

/** A step that does not end, as with a hanging kernel: each call that can follow abandons it in time. */
static void step_does_not_end(void **state)
{
    (void)state;
    enum { STEP, WAIT, POLL, SUBMIT, RESET, VARIANTS };
    for (uint32_t i = 0; i < 2 * VARIANTS; i++) {
        const uint32_t variant = i % VARIANTS;
        waiting = (int32_t)(i / VARIANTS);
        started();
        assert_int_equal(step(0), VFRONT_OK);
        const vfront_frame_t f = frame(1);
        vfront_status_t status = VFRONT_OK;
        set(-1, 1);
        begin();
        if (variant == STEP) status = vfront_step(&pair_vf, &f, &result);
        if (variant != STEP) assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_OK);
        if (variant == WAIT) status = vfront_wait(&pair_vf, UINT32_MAX, &result);
        if (variant == POLL) {
            int late = 0;
            do late += (status = vfront_wait(&pair_vf, 1000, &result)) == VFRONT_E_TIMEOUT;
            while (status == VFRONT_E_TIMEOUT);
            assert_true(late > 0);
        }
        if (variant == SUBMIT) {
            assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_E_BUSY);
            do status = vfront_submit(&pair_vf, &f);
            while (status == VFRONT_E_BUSY);
        }
        if (variant == RESET) {
            assert_int_equal(vfront_reset(&pair_vf), VFRONT_E_BUSY);
            do status = vfront_reset(&pair_vf);
            while (status == VFRONT_E_BUSY);
        }
        within(step_us, "a step that does not end");
        assert_true(now_us() - began_us >= step_us);
        pair_refused(status, VFRONT_E_ABANDONED, "the step does not end");
        given_up(i + 1);
        over();
    }
}

/** Blocking queries during a step that does not end. */
static void query_hangs(void **state)
{
    (void)state;
    for (waiting = 0; waiting <= VFRONT_WAIT_NAP; waiting++) {
        started();
        assert_int_equal(step(0), VFRONT_OK);
        const vfront_frame_t f = frame(1);
        set(CALL_cudaStreamQuery, 1);
        assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_OK);
        begin();
        assert_int_equal(vfront_wait(&pair_vf, step_us / 4, &result), VFRONT_E_TIMEOUT);
        pair_refused(vfront_wait(&pair_vf, UINT32_MAX, &result), VFRONT_E_ABANDONED, "cudaStreamQuery");
        within(step_us, "wait");
        assert_int_equal(get(&hang.blocked), 1);
        set(CALL_cudaStreamQuery, 0);
        given_up((uint32_t)waiting + 1);
        over();
    }
}

/** Shutdown with each releasing call blocking, and with a step that does not end under way. */
static void shutdown_hangs(void **state)
{
    (void)state;
    static const int last[] = {
        CALL_cudaStreamSynchronize, CALL_cudaGraphExecDestroy, CALL_cudaGraphDestroy, CALL_cudaEventDestroy,
        CALL_cudaStreamDestroy,     CALL_cudaFreeHost,         CALL_cudaFree,         CALLS};
    uint32_t lost = 0;
    for (size_t i = 0; i < sizeof last / sizeof *last; i++) {
        const int call = last[i];
        started();
        const vfront_frame_t f = frame(0);
        if (call == CALLS) set(-1, 1);
        assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_OK);
        if (call < CALLS) {
            assert_int_equal(vfront_wait(&pair_vf, UINT32_MAX, &result), VFRONT_OK);
            set(call, 0);
        }
        begin();
        const vfront_status_t status = vfront_shutdown(&pair_vf);
        within(step_us, call == CALLS ? "a step that does not end" : call_name[call]);
        assert_int_equal(get(&hang.blocked), 1);
        pair_refused(status, VFRONT_E_ABANDONED, call == CALLS ? "cudaStreamSynchronize" : call_name[call]);
        host_takes_over(++lost);
        over();
    }
}

/** A kernel of 3 s in the stream, as on a GPU whose work is late. */
static void kernel_hangs(void **state)
{
    (void)state;
#ifdef VF_SPIN
    started();
    assert_int_equal(step(0), VFRONT_OK);
    const vfront_frame_t f = frame(1);
    spin_ms = 3000;
    begin();
    pair_refused(vfront_step(&pair_vf, &f, &result), VFRONT_E_ABANDONED, "the step does not end");
    within(step_us, "step");
    begin();
    assert_int_equal(vfront_shutdown(&pair_vf), VFRONT_E_ABANDONED);
    within(0, "shutdown");
    host_takes_over(1);
    over();
    started();
    for (uint64_t n = 0; n < 3; n++) assert_int_equal(step(n), VFRONT_OK);
    vfront_shutdown(&pair_vf);
#else
    print_message("skipped: a kernel that hangs needs a GPU\n");
    (void)spin_ms;
    skip();
#endif
}

/* ---- no side effects --------------------------------------------------------------------------------------------- */

/** Threads start and end with their front ends. */
static void many_times(void **state)
{
    (void)state;
    const vfront_rig_t rig = {.cameras = 1, .camera = {{.width_px = 64, .height_px = 48}}};
    for (int i = 0; i < 1000 / every; i++) {
        if (vfront_init(&pair_vf, &rig, NULL, VFRONT_PORT_CUDA)) fail_msg("init: %s", vfront_detail(&pair_vf));
        assert_int_equal(threads(), threads_before + 1);
        assert_int_equal(vfront_shutdown(&pair_vf), VFRONT_OK);
    }
    over();
}

/** Tuning values that the library or the device lacks. */
static void bad_values(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_with_imu();
    vfront_tuning_t t = tuning(), kept = t;
    static const char *const least[] = {"abandon_us", "abandon_init_ms", "deadline_us"};
    for (size_t i = 0; i < sizeof least / sizeof *least; i++) {
        assert_int_equal(vfront_tuning_set(&t, least[i], 0), VFRONT_E_TUNING);
        assert_memory_equal(&t, &kept, sizeof t);
    }
    t.abandon_us = 0;
    pair_refused(vfront_init(&pair_vf, &rig, &t, VFRONT_PORT_CUDA), VFRONT_E_TUNING, "abandon_us");
    t = kept;
    t.deadline_us = 0;
    pair_refused(vfront_init(&pair_vf, &rig, &t, VFRONT_PORT_CUDA), VFRONT_E_TUNING, "deadline_us");
    t = kept;
    t.device = -1;
    pair_refused(vfront_init(&pair_vf, &rig, &t, VFRONT_PORT_CUDA), VFRONT_E_TUNING, "device");
    t.device = 63;
    pair_refused(vfront_init(&pair_vf, &rig, &t, VFRONT_PORT_CUDA), VFRONT_E_NO_DEVICE, "no CUDA device of number 63");
    t = kept;
    t.priority = 100;
    pair_refused(vfront_init(&pair_vf, &rig, &t, VFRONT_PORT_CUDA), VFRONT_E_TUNING, "priority");
    over();
    started();
    assert_int_equal(step(0), VFRONT_OK);
    assert_int_equal(vfront_init(&pair_vf, &rig, &t, VFRONT_PORT_CUDA), VFRONT_E_STATE);
    assert_int_equal(step(1), VFRONT_OK);
    assert_int_equal(vfront_shutdown(&pair_vf), VFRONT_OK);
}

/** Every priority of the device is available, and gives the same bits. */
static void priorities(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_with_imu();
    vfront_tuning_t t = tuning();
    uint64_t digest = 0;
    for (t.priority = 0;; t.priority++) {
        const vfront_status_t status = vfront_init(&pair_vf, &rig, &t, VFRONT_PORT_CUDA);
        if (status == VFRONT_E_TUNING) break;
        assert_int_equal(status, VFRONT_OK);
        assert_int_equal(step(0), VFRONT_OK);
        if (t.priority) assert_true(vfront_digest(result) == digest);
        digest = vfront_digest(result);
        vfront_shutdown(&pair_vf);
    }
    assert_true(t.priority > 0);
}

/** Results equal the host port's in every wait mode. */
static void wait_modes(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_with_imu();
    for (waiting = 0; waiting <= VFRONT_WAIT_NAP; waiting++) {
        const vfront_tuning_t t = tuning();
        assert_int_equal(vfront_init(&pair_vf, &rig, &t, VFRONT_PORT_CUDA), VFRONT_OK);
        assert_int_equal(vfront_init(&pair_twin, &rig, &t, VFRONT_PORT_HOST), VFRONT_OK);
        pair_at(0);
        for (int i = 0; i < 10; i++) pair_step();
        assert_int_equal(vfront_shutdown(&pair_vf), VFRONT_OK);
        assert_int_equal(vfront_shutdown(&pair_twin), VFRONT_OK);
    }
    over();
}

/** The calling thread makes no CUDA call, so that its current device is unaffected. */
static void not_the_callers_thread(void **state)
{
    (void)state;
    assert_int_equal(hang.by_test, 0);
    for (int call = 0; call < CALLS && every == 1; call++)
        if (!hang.hangs[call]) fail_msg("%s was never made to hang", call_name[call]);
}

/** A hang without end: the program ends nevertheless. */
static void for_ever(void **state)
{
    (void)state;
    set(CALL_cudaMalloc, 0);
    pair_refused(start(VFRONT_PORT_CUDA), VFRONT_E_ABANDONED, "cudaMalloc");
    print_message("left in a call for ever: %d thread\n", get(&hang.blocked));
}

static void no_device(void **state)
{
    (void)state;
    print_message("skipped: %s\n", vfront_detail(&pair_vf));
    skip();
}

/** Sets the times after which the GPU is abandoned: the normal duration now, several times, and a second or more,
 *  because other tests may take the processors at any time. */
static void measure(void)
{
    begin();
    started();
    init_ms = 1500 + (int32_t)((now_us() - began_us) / 100);
    begin();
    assert_int_equal(step(0), VFRONT_OK);
    step_us = 1000000 + 5 * (int32_t)(now_us() - began_us);
    print_message("abandoned after: init %d ms, step %d us\n", init_ms, step_us);
    vfront_shutdown(&pair_vf);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup(name, before)
    const struct CMUnitTest tests[] = {
        TEST(init_hangs),
        TEST(init_hangs_auto),
        TEST(step_hangs),
        TEST(step_does_not_end),
        TEST(query_hangs),
        TEST(shutdown_hangs),
        TEST(kernel_hangs),
        TEST(many_times),
        TEST(bad_values),
        TEST(priorities),
        TEST(wait_modes),
        TEST(not_the_callers_thread),
        TEST(for_ever),
#if CUDART_VERSION >= 11010
        TEST(preparation_hangs),
#endif
    };
    const struct CMUnitTest none[] = {cmocka_unit_test(no_device)};
    const vfront_rig_t rig = pair_with_imu();
    alarm(1200); /* a call that does not return fails the test */
    if (argc > 1 && !strcmp(argv[1], "--quick")) every = 8;
    pair_draw();
    test_thread = pthread_self();
    const vfront_status_t status = vfront_init(&pair_vf, &rig, NULL,
                                               VFRONT_PORT_CUDA); /* starts the driver's threads */
    vfront_shutdown(&pair_vf);
    threads_before = threads();
    if (!status) measure();
    if (status == VFRONT_E_NO_DEVICE || status == VFRONT_E_DRIVER) return cmocka_run_group_tests(none, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
