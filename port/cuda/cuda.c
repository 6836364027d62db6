/* SPDX-License-Identifier: MIT */
/* The CUDA port: both arenas taken once, the step captured as one graph for each parity, one launch a step, and a
 * ticket in pinned memory that says when its result is there. */
#define _POSIX_C_SOURCE 200809L
#include "cuda.h"

#include <sched.h>
#include <time.h>

#include "port/port.h"
#if VFRONT_CUBLAS
#include "kernels/geometry/cublas.h"
#endif

/** The device arena. */
struct arena {
    struct vf_memory memory;
#if VFRONT_CUBLAS
    struct vf_systems systems;
#endif
};

/** State of the port, in vf_state.private. */
struct cuda {
    cudaStream_t stream[VFRONT_STAGES]; /* [0] runs the graphs; the others exist to capture branches */
    cudaEvent_t done[VFRONT_STAGES];
    cudaGraph_t graph[2];
    cudaGraphExec_t exec[2];
    void *device, *pinned, *pinned_seen;
    int ordinal;
#if VFRONT_CUBLAS
    struct vf_cublas cublas;
#endif
};
VF_STATIC_ASSERT(sizeof(struct cuda) <= sizeof(((struct vf_state *)0)->private),
                 "vfront: the CUDA port outgrew vf_state.private");

static struct cuda *cuda_of(struct vf_state *state) { return (struct cuda *)state->private; }

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

static vfront_status_t status_of(cudaError_t error)
{
    switch (error) {
    case cudaSuccess: return VFRONT_OK;
    case cudaErrorNoDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorNoKernelImageForDevice: return VFRONT_E_NO_DEVICE;
    case cudaErrorSystemDriverMismatch:
#if CUDART_VERSION >= 11010
    case cudaErrorUnsupportedPtxVersion:
#endif
    case cudaErrorInsufficientDriver: return VFRONT_E_DRIVER;
    case cudaErrorMemoryAllocation: return VFRONT_E_DEVICE_MEMORY;
    default: return VFRONT_E_DEVICE;
    }
}

static vfront_status_t fault(struct vf_state *state, cudaError_t error, const char *call)
{
    const vfront_status_t status = state->magic == VF_MAGIC ? VFRONT_E_DEVICE
                                                            : status_of(error); /* what init can say, or a step */
    (void)cudaGetLastError(); /* an error that can be cleared must not show up in a later, innocent call */
    return vf_refuse(state, status, call, 0, cudaGetErrorName(error));
}

/** Returns from the function around it when a CUDA call fails. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        const cudaError_t error_ = (call);                                                                             \
        if (error_ != cudaSuccess) return fault(state, error_, #call ": %s");                                          \
    } while (0)

/** Fault of a stage's launcher: in a call of cuBLAS, or of CUDA. */
static vfront_status_t launch_fault(struct vf_state *state, cudaError_t error, const char *stage)
{
#if VFRONT_CUBLAS
    static const char *const name[] = {
        [CUBLAS_STATUS_NOT_INITIALIZED] = "not initialized", [CUBLAS_STATUS_ALLOC_FAILED] = "allocation failed",
        [CUBLAS_STATUS_INVALID_VALUE] = "invalid value",     [CUBLAS_STATUS_ARCH_MISMATCH] = "architecture mismatch",
        [CUBLAS_STATUS_MAPPING_ERROR] = "mapping error",     [CUBLAS_STATUS_EXECUTION_FAILED] = "execution failed",
        [CUBLAS_STATUS_INTERNAL_ERROR] = "internal error",   [CUBLAS_STATUS_NOT_SUPPORTED] = "not supported",
        [CUBLAS_STATUS_LICENSE_ERROR] = "license error"};
    const struct vf_cublas *blas = &cuda_of(state)->cublas;
    if (blas->call) {
        const size_t i = (size_t)blas->status;
        (void)cudaGetLastError();
        return vf_refuse(state, status_of(error), blas->call, 0,
                         i < sizeof name / sizeof *name && name[i] ? name[i] : "unknown status");
    }
#endif
    if (error == cudaErrorLaunchOutOfResources) {
        (void)cudaGetLastError();
        return vf_refuse(state, VFRONT_E_DEVICE_MEMORY,
                         "%s: a block of its kernels needs more shared memory than this device has", 0, stage);
    }
    return fault(state, error, "launch of a stage: %s");
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

static void cuda_close(struct vf_state *state)
{
    struct cuda *c = cuda_of(state);
    if (c->stream[0]) cudaStreamSynchronize(c->stream[0]);
    for (int parity = 0; parity < 2; parity++) {
        if (c->exec[parity]) cudaGraphExecDestroy(c->exec[parity]);
        if (c->graph[parity]) cudaGraphDestroy(c->graph[parity]);
    }
#if VFRONT_CUBLAS
    if (c->cublas.handle) cublasDestroy(c->cublas.handle);
#endif
    for (int i = 0; i < VFRONT_STAGES; i++) {
        if (c->done[i]) cudaEventDestroy(c->done[i]);
        if (c->stream[i]) cudaStreamDestroy(c->stream[i]);
    }
    if (c->pinned) cudaFreeHost(c->pinned);
    if (c->device) cudaFree(c->device);
    memset(c, 0, sizeof *c);
    (void)cudaGetLastError();
}

static vfront_status_t take(struct vf_state *state)
{
    struct cuda *c = cuda_of(state);
    struct cudaDeviceProp properties;
    int devices = 0;
    TRY(cudaGetDeviceCount(&devices));
    if (devices < 1) return vf_refuse(state, VFRONT_E_NO_DEVICE, "no CUDA device", 0, "");
    TRY(cudaGetDevice(&c->ordinal));
    TRY(cudaGetDeviceProperties(&properties, c->ordinal));
    memcpy(state->device, properties.name, sizeof state->device - 1);
    for (int i = 0; i < VFRONT_STAGES; i++) {
        TRY(cudaStreamCreateWithFlags(&c->stream[i], cudaStreamNonBlocking));
        TRY(cudaEventCreateWithFlags(&c->done[i], cudaEventDisableTiming));
    }
    TRY(cudaMalloc(&c->device, sizeof(struct arena)));
    TRY(cudaHostAlloc(&c->pinned, sizeof(struct vf_pinned), cudaHostAllocMapped));
    TRY(cudaHostGetDevicePointer(&c->pinned_seen, c->pinned, 0));
    TRY(cudaMemsetAsync(c->device, 0, sizeof(struct arena), c->stream[0]));
    TRY(cudaStreamSynchronize(c->stream[0]));
    memset(c->pinned, 0, sizeof(struct vf_pinned));
#if VFRONT_CUBLAS
    const cudaError_t error = vf_cublas_note(&c->cublas, cublasCreate(&c->cublas.handle), "cublasCreate: %s");
    if (error) return launch_fault(state, error, "ego");
#endif
    return VFRONT_OK;
}

static vfront_status_t cuda_open(struct vf_state *state)
{
    struct cuda *c = cuda_of(state);
    memset(c, 0, sizeof *c);
    const vfront_status_t status = take(state);
    if (status) {
        cuda_close(state);
        return status;
    }
    state->memory = c->device;
    state->pinned = c->pinned;
    state->device_bytes = sizeof(struct arena);
    state->pinned_bytes = sizeof(struct vf_pinned);
    for (int parity = 0; parity < 2; parity++) {
        state->step[parity].memory = c->device;
        state->step[parity].pinned = c->pinned_seen;
    }
    return VFRONT_OK;
}

static vfront_status_t cuda_write(struct vf_state *state, void *to, const void *from, size_t bytes)
{
    struct cuda *c = cuda_of(state);
    TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, c->stream[0]));
    TRY(cudaStreamSynchronize(c->stream[0]));
    return VFRONT_OK;
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

/** Enqueues the active stages, each behind those that it needs. Stage 0 needs none, and all others need it, if by
 *  others. */
static vfront_status_t enqueue(struct vf_state *state, int parity)
{
    struct cuda *c = cuda_of(state);
    struct vf_views *v = &state->view[parity];
    const uint32_t active = state->step[0].geometry.active;
    cudaError_t error = cudaSuccess;
#if VFRONT_CUBLAS
    v->ego.systems = &((struct arena *)c->device)->systems;
    v->ego.cublas = &c->cublas;
#endif
#define VF_STAGE(name, needs, what)                                                                                    \
    if (active & VF_BIT(name)) {                                                                                       \
        const uint32_t edges = vf_stage_edges(VF_##name, active);                                                      \
        for (int before = 0; before < VF_##name; before++)                                                             \
            if (edges >> before & 1) TRY(cudaStreamWaitEvent(c->stream[VF_##name], c->done[before], 0));               \
        error = vf_##name##_cuda(&v->name, c->stream[VF_##name]);                                                      \
        if (error) return launch_fault(state, error, #name);                                                           \
        TRY(cudaEventRecord(c->done[VF_##name], c->stream[VF_##name]));                                                \
    }
#include "stages.def"
#undef VF_STAGE
    TRY(cudaStreamWaitEvent(c->stream[0], c->done[VF_report], 0));
    return VFRONT_OK;
}

static vfront_status_t capture(struct vf_state *state, int parity)
{
    struct cuda *c = cuda_of(state);
    TRY(cudaStreamBeginCapture(c->stream[0], cudaStreamCaptureModeThreadLocal));
    const vfront_status_t status = enqueue(state, parity);
    if (status) {
        cudaGraph_t broken = NULL;
        cudaStreamEndCapture(c->stream[0], &broken);
        if (broken) cudaGraphDestroy(broken);
        (void)cudaGetLastError();
        return status;
    }
    TRY(cudaStreamEndCapture(c->stream[0], &c->graph[parity]));
#if CUDART_VERSION >= 12000
    TRY(cudaGraphInstantiate(&c->exec[parity], c->graph[parity], 0));
#else
    TRY(cudaGraphInstantiate(&c->exec[parity], c->graph[parity], NULL, NULL, 0));
#endif
#if CUDART_VERSION >= 11010
    TRY(cudaGraphUpload(c->exec[parity], c->stream[0]));
#endif
    return VFRONT_OK;
}

static vfront_status_t cuda_ready(struct vf_state *state)
{
    struct cuda *c = cuda_of(state);
    for (int parity = 0; parity < 2; parity++) {
        const vfront_status_t status = capture(state, parity);
        if (status) return status;
    }
    for (int parity = 1; parity >= 0; parity--) {
        TRY(cudaGraphLaunch(c->exec[parity], c->stream[0]));
        TRY(cudaStreamSynchronize(c->stream[0]));
    }
    return VFRONT_OK;
}

/* ---- the step ---------------------------------------------------------------------------------------------------- */

/** An address as the device sees it, if it is of the kind that the caller says. */
static vfront_status_t look_up(struct vf_state *state, const void *address, vfront_memory_t memory,
                               const uint8_t **seen)
{
    struct cudaPointerAttributes a;
    const cudaError_t error = cudaPointerGetAttributes(&a, address);
    if (error == cudaErrorInvalidValue) {
        (void)cudaGetLastError();
        return vf_refuse(state, VFRONT_E_MEMORY_KIND, "frame: address that CUDA does not know", 0, "");
    }
    if (error != cudaSuccess) return fault(state, error, "cudaPointerGetAttributes: %s");
    const int device = a.type == cudaMemoryTypeDevice || a.type == cudaMemoryTypeManaged;
    const int pinned = a.type == cudaMemoryTypeHost || a.type == cudaMemoryTypeManaged;
    if (!(memory == VFRONT_DEVICE_MEMORY ? device : pinned) || !a.devicePointer)
        return vf_refuse(state, VFRONT_E_MEMORY_KIND, "frame: address is not of the kind of memory given", 0, "");
    *seen = a.devicePointer;
    return VFRONT_OK;
}

static const uint8_t *cuda_seen(struct vf_state *state, const uint8_t *pinned)
{
    const struct cuda *c = cuda_of(state);
    return (const uint8_t *)c->pinned_seen + (pinned - (const uint8_t *)c->pinned);
}

/** 1 if an address lies in one of the library's own input buffers. */
static int own_input(const struct vf_state *state, const void *address)
{
    const uintptr_t offset = (uintptr_t)address - (uintptr_t)state->pinned->input;
    return offset < sizeof state->pinned->input;
}

static vfront_status_t cuda_adopt(struct vf_state *state, const vfront_picture_t *picture, uint8_t *input,
                                  struct vf_source *source)
{
    const size_t row = (size_t)vf_format_bytes(picture->format) * (size_t)picture->width_px;
    const size_t last = (size_t)picture->pitch_bytes * (size_t)(picture->height_px - 1) + row - 1;
    int ordinal;
    TRY(cudaGetDevice(&ordinal));
    if (ordinal != cuda_of(state)->ordinal) TRY(cudaSetDevice(cuda_of(state)->ordinal));
    source->pitch = picture->pitch_bytes;
    if (picture->memory != VFRONT_HOST_MEMORY) {
        const uint8_t *end;
        const vfront_status_t status = look_up(state, (const uint8_t *)picture->data + last, picture->memory, &end);
        return status ? status : look_up(state, picture->data, picture->memory, &source->data);
    }
    if (own_input(state, picture->data) && own_input(state, (const uint8_t *)picture->data + last)) {
        source->data = cuda_seen(state, picture->data); /* to copy it could be to copy it onto itself */
        return VFRONT_OK;
    }
    source->pitch = (uint32_t)((row + 15) / 16 * 16);
    if ((size_t)source->pitch * (size_t)picture->height_px > VFRONT_INPUT_BYTES) source->pitch = (uint32_t)row;
    for (int32_t y = 0; y < picture->height_px; y++)
        memcpy(input + (size_t)y * source->pitch, (const uint8_t *)picture->data + (size_t)y * picture->pitch_bytes,
               row);
    source->data = cuda_seen(state, input);
    return VFRONT_OK;
}

static vfront_status_t cuda_submit(struct vf_state *state)
{
    struct cuda *c = cuda_of(state);
    TRY(cudaGraphLaunch(c->exec[state->parity], c->stream[0]));
    return VFRONT_OK;
}

/** 1 if the result is there. The acquire keeps reads of the result behind it. */
static int arrived(const struct vf_state *state)
{
    return __atomic_load_n(&state->pinned->done, __ATOMIC_ACQUIRE) == state->ticket;
}

/** Tells the processor that this is a loop that waits. */
static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/** Status of the device. VFRONT_OK: it works. */
static vfront_status_t ask(struct vf_state *state)
{
    const cudaError_t error = cudaStreamQuery(cuda_of(state)->stream[0]);
    if (error == cudaErrorNotReady || (error == cudaSuccess && arrived(state))) return VFRONT_OK;
    if (error != cudaSuccess) return fault(state, error, "cudaStreamQuery: %s");
    return vf_refuse(state, VFRONT_E_DEVICE, "the step ended without its ticket", 0, "");
}

/** Looks at the ticket all the time, and asks the device only every so often: a step is over before the first time. */
static vfront_status_t cuda_wait(struct vf_state *state, uint32_t timeout_us)
{
    const uint64_t start = now_ns(), patience = 100000;
    for (uint64_t now = start, asked = start;; now = now_ns()) {
        for (int i = 0; i < 256; i++, relax())
            if (arrived(state)) return VFRONT_OK;
        const int late = timeout_us != UINT32_MAX && now - start >= (uint64_t)timeout_us * 1000u;
        if (!late && now - asked < patience) continue;
        const vfront_status_t status = ask(state);
        if (status) return status;
        if (late) return arrived(state) ? VFRONT_OK : VFRONT_E_TIMEOUT;
        asked = now;
        sched_yield();
    }
}

const struct vf_port vf_port_cuda = {
    .id = VFRONT_PORT_CUDA,
    .open = cuda_open,
    .write = cuda_write,
    .ready = cuda_ready,
    .adopt = cuda_adopt,
    .seen = cuda_seen,
    .submit = cuda_submit,
    .wait = cuda_wait,
    .close = cuda_close,
    .now_ns = now_ns,
};
