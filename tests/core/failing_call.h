/* SPDX-License-Identifier: MIT */
/* Device faults for the tests of the CUDA port. The n-th CUDA call of port/cuda or launch fails, or a step is late or
 * lost. Objects made by the calls are counted until released. The linker puts the wrappers below in front of the
 * runtime (-Wl,--wrap), the real one with a GPU, else tests/fake/cudart.c. pair_vf is on the CUDA port; its twin is on
 * the host port and sees no faults. */
#ifndef FAILING_CALL_H
#define FAILING_CALL_H

#include "tests/fixture/pair.h"

#include "port/cuda/cuda.h"
#include "tests/fake/calls.h"

/* ---- objects made and released ----------------------------------------------------------------------------------- */

static const char *const kind_name[KINDS] = {"",       "streams",    "events", "device memory", "pinned memory",
                                             "graphs", "executables"};
static long live[KINDS];

static inline void count(int makes)
{
    if (makes > 0) live[makes]++;
    if (makes < 0) live[-makes]--;
}

static inline void all_given_back(void)
{
    for (int k = 1; k < KINDS; k++)
        if (live[k]) fail_msg("%ld %s not given back", live[k], kind_name[k]);
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

static struct {
    long calls;        /* number of calls so far */
    long fail_at;      /* number of the call that fails; 0: none */
    cudaError_t error; /* error returned */
    int failed;        /* call that failed, or -1 */
    int before;        /* last call */
    cudaError_t last;  /* for cudaGetLastError() */
    int devices;       /* number of devices reported; -1: the real number */
    _Atomic int late;  /* number of queries that report a running graph; -1: all */
    int lost;          /* number of graphs that run without writing a ticket */
    int launching;     /* 1: inside the launcher of a stage */
    int in_launcher;   /* 1: the failed call was inside a launcher */
    int shared;        /* 1: a block of stixel's kernels needs more shared memory than the device has */
} fault;
static long failures[CALLS]; /* failures of each call, over all tests */

static inline void no_fault(void)
{
    memset(&fault, 0, sizeof fault);
    fault.failed = fault.devices = -1;
}

static inline void fail_call(long number, cudaError_t error)
{
    no_fault();
    fault.fail_at = number;
    fault.error = error;
}

static inline cudaError_t enter(enum call call)
{
    fault.before = (int)call;
    if (++fault.calls != fault.fail_at) return cudaSuccess;
    fault.failed = (int)call;
    fault.in_launcher = fault.launching;
    failures[call]++;
    return fault.last = fault.error;
}

/* A releasing call releases even if it reports an error, which is from earlier work. */
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
#define APART(name, part)                                                                                              \
    cudaError_t __real_vf_##name##_##part##_cuda(const struct vf_##name##_view *s, cudaStream_t stream);               \
    cudaError_t __wrap_vf_##name##_##part##_cuda(const struct vf_##name##_view *s, cudaStream_t stream);               \
    cudaError_t __wrap_vf_##name##_##part##_cuda(const struct vf_##name##_view *s, cudaStream_t stream)                \
    {                                                                                                                  \
        cudaError_t error = enter(CALL_##part##_##name);                                                               \
        if (error) return error;                                                                                       \
        fault.launching = 1;                                                                                           \
        error = __real_vf_##name##_##part##_cuda(s, stream);                                                           \
        fault.launching = 0;                                                                                           \
        return error;                                                                                                  \
    }
VF_APART(APART)
#undef APART

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

/** A failing end of capture returns no graph, but ends the capture. */
cudaError_t __wrap_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    const cudaError_t error = enter(CALL_cudaStreamEndCapture), real = __real_cudaStreamEndCapture(stream, graph);
    if (!real && *graph) count(GRAPH);
    if (!error) return real;
    if (!real && *graph) __wrap_cudaGraphDestroy(*graph);
    *graph = NULL;
    return error;
}

#if CUDART_VERSION >= 11010
/** Only uploads of new graphs are counted. The others precede frames, at times of their own, and always fail: the port
 *  ignores their errors. */
cudaError_t __wrap_cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
    if (fault.before != CALL_cudaGraphInstantiate) return fault.last = cudaErrorUnknown;
    const cudaError_t error = enter(CALL_cudaGraphUpload);
    return error ? error : __real_cudaGraphUpload(exec, stream);
}
#endif

static struct {
    cudaGraphExec_t exec;
    cudaStream_t stream;
} held; /* a submitted graph that has not started */

cudaError_t __wrap_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    const cudaError_t error = enter(CALL_cudaGraphLaunch);
    if (error || fault.lost) return error;
    if (!fault.late) return __real_cudaGraphLaunch(exec, stream);
    held.exec = exec;
    held.stream = stream;
    return cudaSuccess;
}

static inline cudaError_t let_go(void)
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

/** Two small cameras, the second one masked, so that init makes every call, and each only as often as needed. */
static inline vfront_rig_t small_rig(void)
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
static inline void both_ports(void)
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

static inline int start(void **state)
{
    (void)state;
    pair_port = VFRONT_PORT_CUDA;
    both_ports();
    return 0;
}

static inline int start_napping(void **state)
{
    waiting = VFRONT_WAIT_NAP;
    return start(state);
}

static inline int end(void **state)
{
    no_fault();
    pair_end(state);
    held.exec = NULL;
    all_given_back();
    return 0;
}

static inline int end_waiting(void **state)
{
    waiting = VFRONT_WAIT_SPIN;
    return end(state);
}

/** A failed front end keeps reporting it, releases everything, and can be initialised again. */
static inline void failed_for_good(void)
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

/** Frame for which a submit makes every possible call: one image in the library's pinned memory, one in the host's,
 *  with a mask. */
static inline vfront_frame_t rich_frame(uint64_t number)
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

/* ---- the program ------------------------------------------------------------------------------------------------- */

#define PAIR(test) cmocka_unit_test_setup_teardown(test, start, end)
/* the same with the other wait mode */
#define NAPS(test) cmocka_unit_test_setup_teardown(test, start_napping, end_waiting)
#define LONE(test) cmocka_unit_test_teardown(test, end)

static inline void no_device(void **state)
{
    (void)state;
    print_message("skipped: %s\n", vfront_detail(&pair_vf));
    skip();
}

/** Runs the tests of a program; without a device that is one skipped test. */
static inline int run(const struct CMUnitTest tests[], size_t count)
{
    const struct CMUnitTest none[] = {cmocka_unit_test(no_device)};
    const vfront_rig_t rig = small_rig();
    memset(static_mask, 1, sizeof static_mask);
    no_fault();
    pair_draw();
    const vfront_status_t status = vfront_init(&pair_vf, &rig, NULL, VFRONT_PORT_CUDA);
    vfront_shutdown(&pair_vf);
    if (status == VFRONT_E_NO_DEVICE || status == VFRONT_E_DRIVER) return cmocka_run_group_tests(none, NULL, NULL);
    return _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
}

#endif
