/* SPDX-License-Identifier: MIT */
/* Faults of the device, one after the other: each CUDA call of port/cuda and each launch is made to fail, late or lost,
 * in init, step and shutdown. The linker puts the wrappers below in front of the runtime (-Wl,--wrap), which is the
 * real one where there is a GPU, else tests/fake/cudart.c. pair_vf is on the CUDA port; its twin is on the host port
 * and sees no faults. */
#include "tests/fixture/pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "port/cuda/cuda.h"
#include "tests/fake/calls.h"

/* ---- what is made and given back --------------------------------------------------------------------------------- */

static const char *const kind_name[KINDS] = {"",       "streams",    "events", "device memory", "pinned memory",
                                             "graphs", "executables"};
static long live[KINDS];

static void count(int makes)
{
    if (makes > 0) live[makes]++;
    if (makes < 0) live[-makes]--;
}

static void all_given_back(void)
{
    for (int k = 1; k < KINDS; k++)
        if (live[k]) fail_msg("%ld %s not given back", live[k], kind_name[k]);
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

static struct {
    long calls;        /* so far */
    long fail_at;      /* the number of the call to fail; 0: none */
    cudaError_t error; /* as which */
    int failed;        /* the call that was made to fail, or -1 */
    cudaError_t last;  /* for cudaGetLastError() */
    int devices;       /* that are there; -1: as many as there are */
    _Atomic int late;  /* queries that find a graph under way; -1: all */
    int lost;          /* graphs run without a ticket */
    int launching;     /* 1: inside a stage's launcher */
    int in_launcher;   /* 1: the call that was made to fail was one of a launcher */
    int shared;        /* 1: a block of stixel's kernels needs more shared memory than the device has */
} fault;
static long failures[CALLS]; /* of each call, in all tests */

static void no_fault(void)
{
    memset(&fault, 0, sizeof fault);
    fault.failed = fault.devices = -1;
}

static void fail_call(long number, cudaError_t error)
{
    no_fault();
    fault.fail_at = number;
    fault.error = error;
}

static cudaError_t enter(enum call call)
{
    if (++fault.calls != fault.fail_at) return cudaSuccess;
    fault.failed = (int)call;
    fault.in_launcher = fault.launching;
    failures[call]++;
    return fault.last = fault.error;
}

/* A call that gives something back does so even when it reports an error: that of earlier work. */
#define CUDA_CALL(name, parameters, arguments, makes)                                                                  \
    cudaError_t __real_##name parameters;                                                                              \
    cudaError_t __wrap_##name parameters;                                                                              \
    cudaError_t __wrap_##name parameters                                                                               \
    {                                                                                                                  \
        const cudaError_t error = enter(CALL_##name);                                                                  \
        if (error && (makes) >= 0) return error;                                                                       \
        const cudaError_t real = __real_##name arguments;                                                              \
        if (!real) count(makes);                                                                                       \
        return error ? error : real;                                                                                   \
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
        cudaError_t error = enter(CALL_##name);                                                                        \
        if (VF_##name == VF_stixel && fault.shared) error = cudaErrorLaunchOutOfResources;                             \
        if (error) return error;                                                                                       \
        fault.launching = 1;                                                                                           \
        error = __real_vf_##name##_cuda(s, stream);                                                                    \
        fault.launching = 0;                                                                                           \
        return error;                                                                                                  \
    }
#include "stages.def"
#undef VF_STAGE
#define EARLY(name, needs)                                                                                             \
    cudaError_t __real_vf_##name##_early_cuda(const struct vf_##name##_view *s, cudaStream_t stream);                  \
    cudaError_t __wrap_vf_##name##_early_cuda(const struct vf_##name##_view *s, cudaStream_t stream);                  \
    cudaError_t __wrap_vf_##name##_early_cuda(const struct vf_##name##_view *s, cudaStream_t stream)                   \
    {                                                                                                                  \
        cudaError_t error = enter(CALL_early_##name);                                                                  \
        if (error) return error;                                                                                       \
        fault.launching = 1;                                                                                           \
        error = __real_vf_##name##_early_cuda(s, stream);                                                              \
        fault.launching = 0;                                                                                           \
        return error;                                                                                                  \
    }
VF_EARLY(EARLY)
#undef EARLY

cudaError_t __real_cudaGetLastError(void);
cudaError_t __wrap_cudaGetLastError(void);
cudaError_t __wrap_cudaGetLastError(void)
{
    const cudaError_t error = fault.last, real = __real_cudaGetLastError();
    fault.last = cudaSuccess;
    return error ? error : real;
}

cudaError_t __wrap_cudaGetDeviceCount(int *devices)
{
    const cudaError_t error = enter(CALL_cudaGetDeviceCount), real = error ? error : __real_cudaGetDeviceCount(devices);
    if (!real && fault.devices >= 0) *devices = fault.devices;
    return real;
}

/** The end of a capture that fails leaves no graph, but the capture is over. */
cudaError_t __wrap_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    const cudaError_t error = enter(CALL_cudaStreamEndCapture), real = __real_cudaStreamEndCapture(stream, graph);
    if (!real && *graph) count(GRAPH);
    if (!error) return real;
    if (!real && *graph) __wrap_cudaGraphDestroy(*graph);
    *graph = NULL;
    return error;
}

static struct {
    cudaGraphExec_t exec;
    cudaStream_t stream;
} held; /* a graph that is under way and has not started yet */

cudaError_t __wrap_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    const cudaError_t error = enter(CALL_cudaGraphLaunch);
    if (error || fault.lost) return error;
    if (!fault.late) return __real_cudaGraphLaunch(exec, stream);
    held.exec = exec;
    held.stream = stream;
    return cudaSuccess;
}

static cudaError_t let_go(void)
{
    const cudaGraphExec_t exec = held.exec;
    held.exec = NULL;
    return exec ? __real_cudaGraphLaunch(exec, held.stream) : cudaSuccess;
}

cudaError_t __wrap_cudaStreamQuery(cudaStream_t stream)
{
    const cudaError_t error = enter(CALL_cudaStreamQuery);
    if (error) return error;
    if (held.exec && fault.late) {
        if (fault.late > 0) fault.late--;
        return cudaErrorNotReady;
    }
    const cudaError_t launched = let_go();
    return launched ? launched : __real_cudaStreamQuery(stream);
}

cudaError_t __wrap_cudaStreamSynchronize(cudaStream_t stream)
{
    const cudaError_t error = enter(CALL_cudaStreamSynchronize);
    if (!error) let_go();
    return error ? error : __real_cudaStreamSynchronize(stream);
}

/* ---- scenes ------------------------------------------------------------------------------------------------------ */

static const vfront_result_t *result;
static uint8_t static_mask[16][64];

/** Two small cameras, the second one masked, so that init makes every call there is and not one too often. */
static vfront_rig_t small_rig(void)
{
    const struct scene scene = {64, 48, 1, 0, 0}, low = {64, 16, 1, 0, 0};
    vfront_rig_t rig = scene_pair(&scene, &low);
    rig.camera[1].cy_px = 8;
    rig.camera[1].mask = static_mask[0];
    rig.camera[1].mask_pitch_bytes = 64;
    rig.imu = pair_with_imu().imu;
    return rig;
}

static int32_t waiting; /* tuning value `wait` of pair_vf */

/** pair_vf on the CUDA port, its twin on the host port. */
static void both_ports(void)
{
    const vfront_rig_t rig = pair_cameras();
    vfront_tuning_t tuning;
    vfront_tuning_default(&tuning);
    tuning.wait = waiting;
    no_fault();
    pair_at(0);
    if (vfront_init(&pair_vf, &rig, &tuning, VFRONT_PORT_CUDA)) fail_msg("init: %s", vfront_detail(&pair_vf));
    assert_int_equal(vfront_init(&pair_twin, &rig, NULL, VFRONT_PORT_HOST), VFRONT_OK);
}

static int start(void **state)
{
    (void)state;
    pair_port = VFRONT_PORT_CUDA;
    both_ports();
    return 0;
}

static int start_napping(void **state)
{
    waiting = VFRONT_WAIT_NAP;
    return start(state);
}

static int end(void **state)
{
    no_fault();
    pair_end(state);
    held.exec = NULL;
    all_given_back();
    return 0;
}

static int end_waiting(void **state)
{
    waiting = VFRONT_WAIT_SPIN;
    return end(state);
}

/** A failed front end says so from now on, gives everything back, and starts anew. */
static void failed_for_good(void)
{
    const vfront_frame_t f = pair_frame(1000);
    vfront_info_t info;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_E_DEVICE);
        assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_E_DEVICE);
        assert_null(result);
        assert_int_equal(vfront_wait(&pair_vf, UINT32_MAX, &result), VFRONT_E_STATE);
        assert_int_equal(vfront_reset(&pair_vf), VFRONT_E_DEVICE);
        assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_OK);
    }
    end(NULL);
    both_ports();
    for (int i = 0; i < 3; i++) pair_step();
}

/* ---- init and shutdown ------------------------------------------------------------------------------------------- */

static const struct {
    cudaError_t error;
    vfront_status_t status;
} fate[] = {
    {cudaErrorMemoryAllocation, VFRONT_E_DEVICE_MEMORY},   {cudaErrorUnknown, VFRONT_E_DEVICE},
    {cudaErrorInsufficientDriver, VFRONT_E_DRIVER},        {cudaErrorNoDevice, VFRONT_E_NO_DEVICE},
    {cudaErrorNoKernelImageForDevice, VFRONT_E_NO_DEVICE},
};

/** The detail names the call, or says "launch" where it failed in a launcher, and the error. */
static void named(cudaError_t error)
{
    const char *detail = vfront_detail(&pair_vf);
    assert_true(fault.failed >= 0);
    const int launch = fault.failed >= CALL_ingest || fault.in_launcher;
    if (!strstr(detail, launch ? "launch" : call_name[fault.failed]))
        fail_msg("\"%s\" lacks %s", detail, call_name[fault.failed]);
    if (!strstr(detail, cudaGetErrorName(error))) fail_msg("\"%s\" lacks %s", detail, cudaGetErrorName(error));
}

static void init_each_call(void **state)
{
    (void)state;
    const vfront_rig_t rig = small_rig();
    vfront_info_t info;
    vfront_tuning_t tuning;
    vfront_tuning_default(&tuning);
    for (size_t i = 0; i < sizeof fate / sizeof *fate; i++) {
        tuning.rectify = tuning.dense = tuning.stixel = tuning.window = tuning.map =
            i % 2; /* which writes more to the device, and launches all stages */
        for (long n = 1;; n++) {
            fail_call(n, fate[i].error);
            const vfront_status_t status = vfront_init(&pair_vf, &rig, &tuning, VFRONT_PORT_CUDA);
            if (fault.failed < 0) { /* no n-th call */
                assert_int_equal(status, VFRONT_OK);
                assert_true(n > 60);
                break;
            }
            if (status != fate[i].status)
                fail_msg("call %ld, %s: %s", n, call_name[fault.failed], vfront_status_name(status));
            named(fate[i].error);
            all_given_back();
            assert_int_equal(cudaGetLastError(), cudaSuccess);
            assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_E_STATE);
        }
        end(NULL);
    }
}

/** AUTO goes on with the host port, and says why. */
static void init_falls_back(void **state)
{
    (void)state;
    const vfront_rig_t rig = small_rig();
    for (long n = 1;; n++) {
        vfront_info_t info;
        fail_call(n, cudaErrorUnknown);
        assert_int_equal(vfront_init(&pair_vf, &rig, NULL, VFRONT_PORT_AUTO), VFRONT_OK);
        assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_OK);
        if (fault.failed < 0) {
            assert_int_equal(info.port, VFRONT_PORT_CUDA);
            break;
        }
        assert_int_equal(info.port, VFRONT_PORT_HOST);
        assert_string_equal(info.device, "host");
        for (size_t i = 4; i < sizeof info.device; i++)
            assert_int_equal(info.device[i], 0); /* nothing left of the GPU's name */
        assert_true(info.device_bytes == 0 && info.pinned_bytes == 0);
        named(cudaErrorUnknown);
        all_given_back();
        vfront_shutdown(&pair_vf);
    }
}

/** Falls back, and then the host port works as ever. */
static void fallback_works(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_cameras();
    for (long n = 1; n < 60; n += 13) {
        fail_call(n, cudaErrorMemoryAllocation);
        assert_int_equal(vfront_init(&pair_vf, &rig, NULL, VFRONT_PORT_AUTO), VFRONT_OK);
        assert_true(fault.failed >= 0);
        assert_int_equal(vfront_init(&pair_twin, &rig, NULL, VFRONT_PORT_HOST), VFRONT_OK);
        pair_at(0);
        for (int i = 0; i < 3; i++) pair_step();
        end(NULL);
        both_ports(); /* and the device is as good as ever */
        for (int i = 0; i < 3; i++) pair_step();
        end(NULL);
    }
}

static void init_no_device(void **state)
{
    (void)state;
    const vfront_rig_t rig = small_rig();
    no_fault();
    fault.devices = 0;
    pair_refused(vfront_init(&pair_vf, &rig, NULL, VFRONT_PORT_CUDA), VFRONT_E_NO_DEVICE, "no CUDA device");
    fail_call(1, cudaErrorInsufficientDriver);
    pair_refused(vfront_init(&pair_vf, &rig, NULL, VFRONT_PORT_CUDA), VFRONT_E_DRIVER, "cudaGetDeviceCount");
    all_given_back();
}

/** A device whose blocks cannot have the shared memory that stixels need is refused by the stage's name. */
static void init_shared_memory(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_cameras();
    vfront_tuning_t tuning;
    vfront_info_t info;
    const char *want = "stixel: a block of its kernels needs more shared memory than this device has";
    vfront_tuning_default(&tuning);
    tuning.rectify = tuning.dense = tuning.stixel = 1;
    no_fault();
    fault.shared = 1;
    pair_refused(vfront_init(&pair_vf, &rig, &tuning, VFRONT_PORT_CUDA), VFRONT_E_DEVICE_MEMORY, want);
    all_given_back();
    assert_int_equal(vfront_init(&pair_vf, &rig, &tuning, VFRONT_PORT_AUTO), VFRONT_OK);
    assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_OK);
    assert_int_equal(info.port, VFRONT_PORT_HOST);
    assert_non_null(strstr(vfront_detail(&pair_vf), want));
    vfront_shutdown(&pair_vf);
}

/** A shutdown goes through to its end whatever the device says. */
static void shutdown_each_call(void **state)
{
    (void)state;
    const vfront_rig_t rig = small_rig();
    for (long n = 1;; n++) {
        no_fault();
        assert_int_equal(vfront_init(&pair_vf, &rig, NULL, VFRONT_PORT_CUDA), VFRONT_OK);
        fail_call(n, cudaErrorUnknown);
        vfront_shutdown(&pair_vf);
        all_given_back();
        assert_int_equal(cudaGetLastError(), cudaSuccess);
        if (fault.failed < 0) break;
    }
}

/** Shutdown waits for a frame under way. */
static void shutdown_under_way(void **state)
{
    (void)state;
    vfront_frame_t f = pair_frame(0);
    pair_step();
    f.t_ns += 2 * FRAME_NS;
    fault.late = -1;
    assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_OK);
    assert_non_null(held.exec);
    vfront_shutdown(&pair_vf);
    assert_null(held.exec);
}

/* ---- step -------------------------------------------------------------------------------------------------------- */

/** A frame that makes a submit call whatever it can: one picture in the library's pinned memory, one in the host's,
 *  with a mask. */
static vfront_frame_t rich_frame(uint64_t number)
{
    static uint8_t mask[120][160];
    vfront_frame_t f = pair_frame(number);
    void *data;
    assert_int_equal(vfront_input(&pair_vf, 0, &data), VFRONT_OK);
    memcpy(data, f.picture[0].data, 160 * 120);
    f.picture[0].data = data;
    f.picture[0].memory = VFRONT_PINNED_MEMORY;
    memset(mask, 1, sizeof mask);
    f.picture[1].mask = mask[0];
    f.picture[1].mask_width_px = 160;
    f.picture[1].mask_height_px = 120;
    f.picture[1].mask_pitch_bytes = 160;
    return f;
}

static void submit_each_call(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fate / sizeof *fate; i++) {
        for (long n = 1;; n++) {
            const uint64_t frame = pair_step()->frame + 1;
            const vfront_frame_t f = rich_frame(frame);
            const vfront_frame_t plain = pair_frame(frame);
            const vfront_result_t *other;
            fail_call(n, fate[i].error);
            const vfront_status_t status = vfront_submit(&pair_vf, &f);
            if (fault.failed < 0) {
                assert_int_equal(status, VFRONT_OK);
                no_fault(); /* a real device is asked again and again while one waits */
                assert_int_equal(vfront_wait(&pair_vf, UINT32_MAX, &result), VFRONT_OK);
                assert_int_equal(vfront_step(&pair_twin, &plain, &other), VFRONT_OK);
                assert_true(vfront_digest(result) == vfront_digest(other));
                assert_true(n > 3); /* two look-ups, a launch */
                break;
            }
            if (status != VFRONT_E_DEVICE)
                fail_msg("call %ld, %s: %s", n, call_name[fault.failed], vfront_status_name(status));
            named(fate[i].error);
            assert_int_equal(cudaGetLastError(), cudaSuccess);
            failed_for_good();
        }
        end(NULL);
        both_ports();
    }
}

static void query_fails(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fate / sizeof *fate; i++) {
        const vfront_frame_t f = pair_frame(pair_step()->frame + 1);
        no_fault();
        fault.late = 2;
        assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_OK);
        fault.fail_at = fault.calls + 2; /* the second query */
        fault.error = fate[i].error;
        const vfront_status_t status = vfront_wait(&pair_vf, UINT32_MAX, &result);
        if (status != VFRONT_E_DEVICE) fail_msg("wait: %s", vfront_status_name(status));
        assert_null(result);
        named(fate[i].error);
        failed_for_good();
    }
}

static void no_ticket(void **state)
{
    (void)state;
    const vfront_frame_t f = pair_frame(pair_step()->frame + 1);
    fault.lost = 1;
    assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_OK);
    pair_refused(vfront_wait(&pair_vf, UINT32_MAX, &result), VFRONT_E_DEVICE, "ticket");
    assert_null(result);
    no_fault();
    failed_for_good();
}

static double now_us(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/** A frame that is late is waited for again, as often as need be, and is the same frame in the end. */
static void late(void **state)
{
    (void)state;
    const vfront_result_t *before = NULL;
    uint64_t digest = 0;
    for (uint64_t i = 0; i < 6; i++) {
        const vfront_frame_t f = pair_frame(i), later = pair_frame(i + 1);
        const vfront_result_t *other;
        assert_int_equal(vfront_step(&pair_twin, &f, &other), VFRONT_OK);
        fault.late = 3;
        assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_OK);
        for (int k = 0; k < 3; k++) {
            result = other;
            assert_int_equal(vfront_wait(&pair_vf, 0, &result), VFRONT_E_TIMEOUT);
            assert_null(result);
            pair_refused(vfront_submit(&pair_vf, &later), VFRONT_E_BUSY, "under way");
            pair_refused(vfront_reset(&pair_vf), VFRONT_E_BUSY, "under way");
        }
        vfront_status_t status;
        do status = vfront_wait(&pair_vf, i % 2 ? 0 : UINT32_MAX, &result);
        while (i % 2 && status == VFRONT_E_TIMEOUT); /* a real device takes its time */
        assert_int_equal(status, VFRONT_OK);
        assert_true(vfront_digest(result) == vfront_digest(other));
        assert_true(vfront_digest(before) == digest); /* the result before it is still there */
        before = result;
        digest = vfront_digest(result);
    }
    const vfront_frame_t last = pair_frame(6);
    fault.late = -1;
    assert_int_equal(vfront_submit(&pair_vf, &last), VFRONT_OK);
    const double start_us = now_us();
    assert_int_equal(vfront_wait(&pair_vf, 20000, &result), VFRONT_E_TIMEOUT);
    const double took = now_us() - start_us;
    assert_true(vfront_digest(before) == digest);
    assert_true(took > 19000 && took < 2e6);
    fault.late = 0;
    assert_int_equal(vfront_wait(&pair_vf, UINT32_MAX, &result), VFRONT_OK);
}

/** While a frame is late the caller's buffers are the caller's again, but for pinned ones. */
static void late_reads(void **state)
{
    (void)state;
    static uint8_t grey[160 * 120], mask[160 * 120];
    for (uint64_t i = 0; i < 6; i++) {
        vfront_frame_t f = pair_frame(i);
        const vfront_result_t *other;
        memcpy(grey, f.picture[0].data, sizeof grey);
        for (size_t k = 0; k < sizeof mask; k++) mask[k] = k % 160 > 50;
        for (int c = 0; c < VFRONT_CAMERAS; c++) {
            f.picture[c].data = grey;
            f.picture[c].mask = mask;
            f.picture[c].mask_width_px = 160;
            f.picture[c].mask_height_px = 120;
            f.picture[c].mask_pitch_bytes = 160;
        }
        assert_int_equal(vfront_step(&pair_twin, &f, &other), VFRONT_OK);
        fault.late = 1;
        assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_OK);
        memset(grey, 255, sizeof grey);
        memset(mask, 0, sizeof mask);
        memset(&f, 255, sizeof f);
        for (int c = 0; c < VFRONT_CAMERAS; c++) {
            void *next; /* the input buffer that the frame under way does not read */
            assert_int_equal(vfront_input(&pair_vf, c, &next), VFRONT_OK);
            memset(next, 255, VFRONT_INPUT_BYTES);
        }
        assert_int_equal(vfront_wait(&pair_vf, UINT32_MAX, &result), VFRONT_OK);
        assert_true(vfront_digest(result) == vfront_digest(other));
    }
}

/** One front end's fault is no other's. */
static void neighbour(void **state)
{
    (void)state;
    static vfront_t other;
    const vfront_rig_t rig = scene_rig(&pair_scene, VFRONT_CAMERAS);
    assert_int_equal(vfront_init(&other, &rig, NULL, VFRONT_PORT_CUDA), VFRONT_OK);
    const vfront_frame_t f = pair_frame(0);
    fault.lost = 1;
    assert_int_equal(vfront_step(&other, &f, &result), VFRONT_E_DEVICE);
    no_fault();
    pair_step();
    vfront_shutdown(&other);
    pair_step();
}

/** Whatever becomes of a frame, the key points of the one before stay as they were: here a call of the submit that
 *  fails, a graph that is lost, and a query that fails. */
static void result_before_stays(void **state)
{
    (void)state;
    static vfront_result_t kept;
    enum { SUBMIT, LOST, QUERY, WAYS };
    for (int way = 0; way < WAYS; way++) {
        const vfront_result_t *before = pair_step();
        const vfront_frame_t f = pair_frame(before->frame + 1);
        kept = *before;
        assert_true(kept.depths_count > 20 && kept.keypoints_count[0] > 20 &&
                    kept.descriptors_count[VFRONT_CAMERAS - 1] > 20);
        no_fault();
        fault.error = cudaErrorUnknown;
        fault.fail_at = way == SUBMIT;
        fault.lost = way == LOST;
        fault.late = way == QUERY ? -1 : 0;
        vfront_status_t status = vfront_submit(&pair_vf, &f);
        if (way == QUERY) fault.fail_at = fault.calls + 1;
        if (way != SUBMIT && !status) status = vfront_wait(&pair_vf, UINT32_MAX, &result);
        assert_int_equal(status, VFRONT_E_DEVICE);
        for (int k = 0; k < 4; k++) {
            assert_true(vfront_digest(before) == vfront_digest(&kept));
            for (int c = 0; c < VFRONT_CAMERAS; c++) pair_same_points(before, c, &kept, c);
            pair_same_partners(before, &kept);
            assert_int_equal(vfront_step(&pair_vf, &f, &result),
                             VFRONT_E_DEVICE); /* refused from now on, and harms no more */
        }
        end(NULL);
        both_ports();
    }
}

/* ---- kinds of memory --------------------------------------------------------------------------------------------- */

/** Pictures in device memory, in pinned memory of the caller and of the library, all frames the host port's. */
static void kinds_of_memory(void **state)
{
    (void)state;
    void *device[VFRONT_CAMERAS], *pinned;
    cudaStream_t stream;
    assert_int_equal(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0), cudaSuccess);
    for (int c = 0; c < VFRONT_CAMERAS; c++) assert_int_equal(cudaMalloc(&device[c], 2 * 200 * 120), cudaSuccess);
    assert_int_equal(cudaHostAlloc(&pinned, 2 * 200 * 120, cudaHostAllocMapped), cudaSuccess);
    for (uint64_t i = 0; i < 12; i++) {
        const vfront_format_t format = (vfront_format_t)(i % 6);
        const uint32_t pitch = scene_pixel_bytes(format) * (160 + 7 * (uint32_t)(i % 3));
        static uint8_t packed[2 * 200 * 120];
        vfront_frame_t f = pair_frame(i), g;
        const vfront_result_t *other;
        for (int c = 1; c < VFRONT_CAMERAS; c++) f.picture[c].data = f.picture[0].data;
        g = f;
        scene_pack(packed, pitch, f.picture[0].data, 160, 160, 120, format);
        memcpy(pinned, packed, sizeof packed);
        for (int c = 0; c < VFRONT_CAMERAS; c++) {
            const int kind = (int)(i + (uint64_t)c) % 3;
            assert_int_equal(cudaMemcpyAsync(device[c], packed, sizeof packed, cudaMemcpyHostToDevice, stream),
                             cudaSuccess);
            g.picture[c].data = kind == 0 ? (void *)packed : kind == 1 ? pinned : device[c];
            g.picture[c].memory = (vfront_memory_t)kind;
            g.picture[c].format = format;
            g.picture[c].pitch_bytes = pitch;
        }
        assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
        assert_int_equal(vfront_step(&pair_twin, &f, &other), VFRONT_OK);
        if (vfront_step(&pair_vf, &g, &result)) fail_msg("%s", vfront_detail(&pair_vf));
        assert_true(vfront_digest(result) == vfront_digest(other));
    }
    cudaFreeHost(pinned);
    for (int c = 0; c < VFRONT_CAMERAS; c++) cudaFree(device[c]);
    cudaStreamDestroy(stream);
}

/** An address that is not of the kind given is refused, and nothing has changed. */
static void wrong_kinds(void **state)
{
    (void)state;
    static uint8_t host[160 * 120];
    void *device, *pinned;
    assert_int_equal(cudaMalloc(&device, sizeof host), cudaSuccess);
    assert_int_equal(cudaHostAlloc(&pinned, sizeof host, cudaHostAllocMapped), cudaSuccess);
    const struct {
        const void *data;
        vfront_memory_t memory;
    } wrong[] = {
        {host, VFRONT_PINNED_MEMORY},   {host, VFRONT_DEVICE_MEMORY},       {device, VFRONT_PINNED_MEMORY},
        {pinned, VFRONT_DEVICE_MEMORY}, {(void *)16, VFRONT_DEVICE_MEMORY}, {(void *)16, VFRONT_PINNED_MEMORY},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (int c = 0; c < VFRONT_CAMERAS; c++) {
            vfront_frame_t f = pair_frame(pair_step()->frame + 1);
            f.picture[c].data = wrong[i].data;
            f.picture[c].memory = wrong[i].memory;
            pair_refused(vfront_submit(&pair_vf, &f), VFRONT_E_MEMORY_KIND, "frame");
        }
    pair_step();
    cudaFreeHost(pinned);
    cudaFree(device);
}

/** Runtimes before CUDA 11 say "invalid value" of an address that they do not know. */
static void unknown_address(void **state)
{
    (void)state;
    int seen = 0;
    for (long n = 1; n < 8; n++) {
        const vfront_frame_t f = rich_frame(pair_step()->frame + 1);
        fail_call(n, cudaErrorInvalidValue);
        const vfront_status_t status = vfront_submit(&pair_vf, &f);
        if (fault.failed !=
            CALL_cudaPointerGetAttributes) { /* a step that went well, or another call: not the case here */
            end(NULL);
            both_ports();
            continue;
        }
        seen++;
        pair_refused(status, VFRONT_E_MEMORY_KIND, "frame");
        assert_int_equal(cudaGetLastError(), cudaSuccess);
        pair_step();
    }
    assert_true(seen > 0);
}

/** Pictures that the device reads in place lie within one allocation. */
static void beyond_the_end(void **state)
{
    (void)state;
    void *data;
    for (int i = 0; i < 2; i++) {
        vfront_frame_t f = pair_frame(pair_step()->frame + 1);
        assert_int_equal(vfront_input(&pair_vf, VFRONT_CAMERAS - 1, &data), VFRONT_OK);
        f.picture[0].data = data;
        f.picture[0].memory = VFRONT_PINNED_MEMORY;
        f.picture[0].pitch_bytes = 1 << 24; /* 2 GB, more than the library took */
        pair_refused(vfront_submit(&pair_vf, &f), VFRONT_E_MEMORY_KIND, "frame");
        pair_step();
    }
}

/* ---- the wrappers themselves ------------------------------------------------------------------------------------- */

static void every_call_failed(void **state)
{
    (void)state;
    for (int i = 0; i < CALLS; i++)
        if (!failures[i]) fail_msg("%s was never made to fail", call_name[i]);
}

#define PAIR(test) cmocka_unit_test_setup_teardown(test, start, end)
/* the same with the other way to wait */
#define NAPS(test) cmocka_unit_test_setup_teardown(test, start_napping, end_waiting)
#define LONE(test) cmocka_unit_test_teardown(test, end)

static void no_device(void **state)
{
    (void)state;
    print_message("skipped: %s\n", vfront_detail(&pair_vf));
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LONE(init_each_call),
        LONE(init_falls_back),
        LONE(fallback_works),
        LONE(init_no_device),
        LONE(init_shared_memory),
        LONE(shutdown_each_call),
        PAIR(shutdown_under_way),
        PAIR(submit_each_call),
        PAIR(query_fails),
        PAIR(no_ticket),
        PAIR(late),
        PAIR(late_reads),
        PAIR(neighbour),
        PAIR(result_before_stays),
        PAIR(kinds_of_memory),
        PAIR(wrong_kinds),
        PAIR(unknown_address),
        PAIR(beyond_the_end),
        NAPS(submit_each_call),
        NAPS(query_fails),
        NAPS(no_ticket),
        NAPS(late),
        LONE(every_call_failed),
    };
    const struct CMUnitTest none[] = {cmocka_unit_test(no_device)};
    const vfront_rig_t rig = small_rig();
    memset(static_mask, 1, sizeof static_mask);
    no_fault();
    pair_draw();
    const vfront_status_t status = vfront_init(&pair_vf, &rig, NULL, VFRONT_PORT_CUDA);
    vfront_shutdown(&pair_vf);
    if (status == VFRONT_E_NO_DEVICE || status == VFRONT_E_DRIVER) return cmocka_run_group_tests(none, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
