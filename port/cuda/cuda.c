/* SPDX-License-Identifier: MIT */
/* The CUDA port: both arenas taken once, the step captured as one graph for each parity, one launch a step, and a
 * ticket in pinned memory that says when its result is there.
 *
 * All CUDA calls are made by a thread of the port's own, because any of them may block for as long as the GPU or its
 * driver hangs, and a call that blocks cannot be interrupted, only left behind. The calls of the step, too: a launch
 * returns at once only while the driver is well. The hand-over of a job costs a microsecond while the thread is awake;
 * it is woken before the pictures are copied, so that it is awake when they are. The current device of the
 * application's threads is not touched. */
#define _POSIX_C_SOURCE 200809L
#include <sched.h>
#include <time.h>

#include "job.h"
#include "port/port.h"
#include "result/carry.h"

/** Time for which the thread looks for the next job before it sleeps [us]: longer than a step on a large GPU, so that
 *  it is awake when one step follows the other, and short beside the time between two pictures of a camera. */
#define AWAKE_US 200

/** The same where the tuning value `wait` saves the processor's time [us]. */
#define AWAKE_FRUGAL_US 20

/** Time for which VFRONT_WAIT_NAP looks at the ticket before it sleeps, and for which it sleeps at a time [ns]. */
#define NAP_NS 50000

/** Time between two looks at the device while a step is under way [ns]. */
#define PATIENCE_NS 100000

/** The device arena. */
struct arena {
    struct vf_memory memory;
#if VFRONT_CUBLAS
    struct vf_systems systems;
#endif
};

/** The pinned arena, and behind it the mirror, where the tuning asks for one. */
struct pinned_arena {
    struct vf_pinned pinned;
    struct vf_carry_mirror mirror;
};

/** The caller's side, in vf_state.private. */
struct hold {
    struct vf_cuda *cuda; /* NULL: there is no thread */
    pthread_t thread;
    int asking;   /* the thread has been asked whether the device works */
    int given_up; /* a job or a step took too long: the thread may never be idle again */
};
VF_STATIC_ASSERT(sizeof(struct hold) <= sizeof(((struct vf_state *)0)->private),
                 "vfront: the CUDA port outgrew vf_state.private");

static struct hold *hold_of(struct vf_state *state) { return (struct hold *)state->private; }
static struct vf_cuda *cuda_of(struct vf_state *state) { return hold_of(state)->cuda; }

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

/** Notes why a job was refused or failed; returns the status. */
static vfront_status_t refuse(struct vf_cuda *c, vfront_status_t status, const char *what, const char *rest)
{
    c->what = what;
    c->rest = rest;
    return status;
}

vfront_status_t vf_cuda_fault(struct vf_cuda *c, cudaError_t error, const char *call)
{
    (void)cudaGetLastError(); /* an error that can be cleared must not show up in a later, innocent call */
    return refuse(c, c->in_init ? status_of(error) : VFRONT_E_DEVICE, call, cudaGetErrorName(error));
}

vfront_status_t vf_cuda_launch_fault(struct vf_cuda *c, cudaError_t error, const char *stage)
{
#if VFRONT_CUBLAS
    static const char *const name[] = {
        [CUBLAS_STATUS_NOT_INITIALIZED] = "not initialized", [CUBLAS_STATUS_ALLOC_FAILED] = "allocation failed",
        [CUBLAS_STATUS_INVALID_VALUE] = "invalid value",     [CUBLAS_STATUS_ARCH_MISMATCH] = "architecture mismatch",
        [CUBLAS_STATUS_MAPPING_ERROR] = "mapping error",     [CUBLAS_STATUS_EXECUTION_FAILED] = "execution failed",
        [CUBLAS_STATUS_INTERNAL_ERROR] = "internal error",   [CUBLAS_STATUS_NOT_SUPPORTED] = "not supported",
        [CUBLAS_STATUS_LICENSE_ERROR] = "license error"};
    const struct vf_cublas *blas = &c->cublas;
    if (blas->call) {
        const size_t i = (size_t)blas->status;
        (void)cudaGetLastError();
        return refuse(c, status_of(error), blas->call,
                      i < sizeof name / sizeof *name && name[i] ? name[i] : "unknown status");
    }
#endif
    if (error == cudaErrorLaunchOutOfResources) {
        (void)cudaGetLastError();
        return refuse(c, VFRONT_E_DEVICE_MEMORY,
                      "%s: a block of its kernels needs more shared memory than this device has", stage);
    }
    return vf_cuda_fault(c, error, "launch of a stage: %s");
}

/* ---- the thread, and jobs for it --------------------------------------------------------------------------------- */

static void release(struct vf_cuda *c);

/** Main of the thread. Whoever has left it behind cannot give anything back any more: it does so itself. */
static void *serve(void *made)
{
    struct vf_cuda c;
    memset(&c, 0, sizeof c);
    vf_cuda_at(&c, "the start of the port's thread");
    c.in_init = 1;
    vf_thread_begin(&c.thread, AWAKE_US, made, &c);
    while (vf_thread_next(&c.thread)) {
        c.what = NULL;
        c.status = c.job(&c);
        vf_thread_done(&c.thread);
    }
    release(&c);
    return NULL;
}

/** Gives the port up: the thread is not waited for any more. `format` has a %s for the call that it is in. */
static vfront_status_t give_up(struct vf_state *state, const char *format)
{
    const struct vf_cuda *c = cuda_of(state);
    hold_of(state)->given_up = 1;
    return vf_refuse(state, VFRONT_E_ABANDONED, format, 0, __atomic_load_n(&c->at, __ATOMIC_RELAXED));
}

/** Waits until the thread is idle, so that its memory may be read and written. */
static vfront_status_t settle(struct vf_state *state)
{
    if (!hold_of(state)->given_up && vf_thread_wait(&cuda_of(state)->thread, state->give_up_ns)) return VFRONT_OK;
    return give_up(state, "given up: no return from %s");
}

/** Status of the job that is done. */
static vfront_status_t outcome(struct vf_state *state)
{
    const struct vf_cuda *c = cuda_of(state);
    return c->status ? vf_refuse(state, c->status, c->what, c->number, c->rest) : VFRONT_OK;
}

/** Has a job done whose arguments are in place. The thread is idle. */
static vfront_status_t have_done(struct vf_state *state, vfront_status_t (*job)(struct vf_cuda *c))
{
    struct vf_cuda *c = cuda_of(state);
    c->job = job;
    vf_thread_give(&c->thread);
    const vfront_status_t status = settle(state);
    return status ? status : outcome(state);
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

static void release(struct vf_cuda *c)
{
    if (c->stream[0]) VF_GIVE_BACK(cudaStreamSynchronize(c->stream[0]));
    for (int parity = 0; parity < 2; parity++) {
        if (c->exec[parity]) VF_GIVE_BACK(cudaGraphExecDestroy(c->exec[parity]));
        if (c->graph[parity]) VF_GIVE_BACK(cudaGraphDestroy(c->graph[parity]));
        c->exec[parity] = NULL;
        c->graph[parity] = NULL;
    }
#if VFRONT_CUBLAS
    if (c->cublas.handle) VF_GIVE_BACK(cublasDestroy(c->cublas.handle));
    c->cublas.handle = NULL;
#endif
    for (int i = 0; i < VF_STREAMS; i++) {
        if (c->done[i]) VF_GIVE_BACK(cudaEventDestroy(c->done[i]));
        if (c->stream[i]) VF_GIVE_BACK(cudaStreamDestroy(c->stream[i]));
        c->done[i] = NULL;
        c->stream[i] = NULL;
    }
    if (c->pinned) VF_GIVE_BACK(cudaFreeHost(c->pinned));
    if (c->device) VF_GIVE_BACK(cudaFree(c->device));
    c->pinned = c->device = NULL;
    (void)cudaGetLastError();
}

static vfront_status_t release_job(struct vf_cuda *c)
{
    release(c);
    return VFRONT_OK;
}

static vfront_status_t cuda_close(struct vf_state *state)
{
    struct hold *h = hold_of(state);
    if (!h->cuda) return VFRONT_OK;
    vfront_status_t status = settle(state);
    if (!status) status = have_done(state, release_job);
    vf_thread_leave(&h->cuda->thread, h->thread, status ? 0 : state->give_up_ns);
    memset(h, 0, sizeof *h);
    return status;
}

/** Priority of a stage's launches: a greater one is a lower number. */
static int priority_of(const struct vf_cuda *c, int stage, int greatest, int least)
{
    const int own = greatest + c->rank, lower = own + 1;
    return stage < VFRONT_STAGES && VF_LOWER >> stage & 1 && lower < least ? lower : own;
}

static vfront_status_t take_job(struct vf_cuda *c)
{
    struct cudaDeviceProp properties;
    int devices = 0, least = 0, greatest = 0;
    if (c->wait != VFRONT_WAIT_SPIN) c->thread.awake_us = AWAKE_FRUGAL_US;
    VF_TRY(cudaGetDeviceCount(&devices));
    if (devices < 1) return refuse(c, VFRONT_E_NO_DEVICE, "no CUDA device", "");
    c->number = c->ordinal;
    if (c->ordinal >= devices) return refuse(c, VFRONT_E_NO_DEVICE, "no CUDA device of number %d: device", "");
    VF_TRY(cudaSetDevice(c->ordinal));
    VF_TRY(cudaGetDeviceProperties(&properties, c->ordinal));
    memcpy(c->name, properties.name, sizeof c->name - 1);
    VF_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    c->number = c->rank;
    if (c->rank > least - greatest)
        return refuse(c, VFRONT_E_TUNING, "tuning value %d is below the lowest priority of this device: priority", "");
    for (int i = 0; i < VF_STREAMS; i++) {
        const int priority = priority_of(c, i, greatest, least);
        VF_TRY(cudaStreamCreateWithPriority(&c->stream[i], cudaStreamNonBlocking, priority));
        VF_TRY(cudaEventCreateWithFlags(&c->done[i], cudaEventDisableTiming));
    }
    VF_TRY(cudaMalloc(&c->device, sizeof(struct arena)));
    VF_TRY(cudaHostAlloc(&c->pinned, c->pinned_bytes, cudaHostAllocMapped));
    VF_TRY(cudaHostGetDevicePointer(&c->pinned_seen, c->pinned, 0));
    VF_TRY(cudaMemsetAsync(c->device, 0, sizeof(struct arena), c->stream[0]));
    VF_TRY(cudaStreamSynchronize(c->stream[0]));
    memset(c->pinned, 0, c->pinned_bytes);
#if VFRONT_CUBLAS
    vf_cuda_at(c, "cublasCreate(&c->cublas.handle)");
    const cudaError_t error = vf_cublas_note(&c->cublas, cublasCreate(&c->cublas.handle), "cublasCreate: %s");
    if (error) return vf_cuda_launch_fault(c, error, "ego");
#endif
    return VFRONT_OK;
}

static vfront_status_t cuda_open(struct vf_state *state)
{
    struct hold *h = hold_of(state);
    void *made;
    memset(h, 0, sizeof *h);
    if (!vf_thread_start(&h->thread, serve, &made))
        return vf_refuse(state, VFRONT_E_DEVICE, "pthread_create: no thread for the port", 0, "");
    struct vf_cuda *c = h->cuda = made;
    c->wait = state->step[0].tuning.wait;
    c->ordinal = state->step[0].tuning.device;
    c->rank = state->step[0].tuning.priority;
    c->mirrored = state->step[0].tuning.failover;
    c->pinned_bytes = c->mirrored ? sizeof(struct pinned_arena) : sizeof(struct vf_pinned);
    const vfront_status_t status = have_done(state, take_job);
    if (status) return status;
    memcpy(state->device, c->name, sizeof state->device);
    state->memory = c->device;
    state->pinned = c->pinned;
    state->device_bytes = sizeof(struct arena);
    state->pinned_bytes = c->pinned_bytes;
    state->mirror = c->mirrored ? &((struct pinned_arena *)c->pinned)->mirror : NULL;
    for (int parity = 0; parity < 2; parity++) {
        state->step[parity].memory = c->device;
        state->step[parity].pinned = c->pinned_seen;
        state->step[parity].mirror = c->mirrored ? &((struct pinned_arena *)c->pinned_seen)->mirror : NULL;
    }
    return VFRONT_OK;
}

static vfront_status_t write_job(struct vf_cuda *c)
{
    VF_TRY(cudaMemcpyAsync(c->to, c->from, c->bytes, cudaMemcpyHostToDevice, c->stream[0]));
    VF_TRY(cudaStreamSynchronize(c->stream[0]));
    return VFRONT_OK;
}

/** By way of the frame's masks in pinned memory, which hold nothing between two steps: a copy that is given up must not
 *  read what is the caller's. */
static vfront_status_t cuda_write(struct vf_state *state, void *to, const void *from, size_t bytes)
{
    struct vf_cuda *c = cuda_of(state);
    for (size_t done = 0; done < bytes; done += c->bytes) {
        c->bytes = bytes - done < sizeof state->pinned->mask ? bytes - done : sizeof state->pinned->mask;
        c->to = (char *)to + done;
        c->from = memcpy(state->pinned->mask, (const char *)from + done, c->bytes);
        const vfront_status_t status = have_done(state, write_job);
        if (status) return status;
    }
    return VFRONT_OK;
}

static vfront_status_t read_job(struct vf_cuda *c)
{
    VF_TRY(cudaMemcpyAsync(c->to, c->from, c->bytes, cudaMemcpyDeviceToHost, c->stream[0]));
    VF_TRY(cudaStreamSynchronize(c->stream[0]));
    return VFRONT_OK;
}

/** Into the frame's masks in pinned memory, for the same reason. */
static vfront_status_t cuda_read(struct vf_state *state, const void **at, const void *from, size_t bytes)
{
    struct vf_cuda *c = cuda_of(state);
    *at = c->to = state->pinned->mask;
    c->from = from;
    c->bytes = bytes;
    return have_done(state, read_job);
}

/* ---- the graph: graph.c ------------------------------------------------------------------------------------------ */

static vfront_status_t cuda_ready(struct vf_state *state)
{
    struct vf_cuda *c = cuda_of(state);
    c->active = state->step[0].geometry.active;
    for (int parity = 0; parity < 2; parity++) {
#if VFRONT_CUBLAS
        state->view[parity].ego.systems = &((struct arena *)c->device)->systems;
        state->view[parity].ego.cublas = &c->cublas;
#endif
        c->view[parity] = state->view[parity];
    }
    return have_done(state, vf_cuda_ready_job);
}

/* ---- the step ---------------------------------------------------------------------------------------------------- */

/** An address as the device sees it, if it is of the kind that the caller says. */
static vfront_status_t look_up(struct vf_cuda *c, const void *address)
{
    struct cudaPointerAttributes a;
    vf_cuda_at(c, "cudaPointerGetAttributes");
    const cudaError_t error = cudaPointerGetAttributes(&a, address);
    if (error == cudaErrorInvalidValue) {
        (void)cudaGetLastError();
        return refuse(c, VFRONT_E_MEMORY_KIND, "frame: address that CUDA does not know", "");
    }
    if (error != cudaSuccess) return vf_cuda_fault(c, error, "cudaPointerGetAttributes: %s");
    if (c->mirrored && a.type == cudaMemoryTypeManaged)
        return refuse(c, VFRONT_E_MEMORY_KIND, "frame: managed memory, which failover cannot read", "");
    const int device = a.type == cudaMemoryTypeDevice || a.type == cudaMemoryTypeManaged;
    const int pinned = a.type == cudaMemoryTypeHost || a.type == cudaMemoryTypeManaged;
    if (!(c->kind == VFRONT_DEVICE_MEMORY ? device : pinned) || !a.devicePointer)
        return refuse(c, VFRONT_E_MEMORY_KIND, "frame: address is not of the kind of memory given", "");
    c->seen = a.devicePointer;
    return VFRONT_OK;
}

/** First byte of a picture as the device sees it. */
static vfront_status_t look_up_job(struct vf_cuda *c)
{
    const vfront_status_t status = look_up(c, c->last);
    return status ? status : look_up(c, c->from);
}

/** The caller's copy of pinned_seen is the parameters' own address. */
static const uint8_t *cuda_seen(struct vf_state *state, const uint8_t *pinned)
{
    return (const uint8_t *)state->step[0].pinned + (pinned - (const uint8_t *)state->pinned);
}

/** 1 if an address lies in one of the library's own input buffers. */
static int own_input(const struct vf_state *state, const void *address)
{
    const uintptr_t offset = (uintptr_t)address - (uintptr_t)state->pinned->input;
    return offset < sizeof state->pinned->input;
}

/** Copies a picture into an input buffer: as one piece, in less than half the time, where little lies between its rows.
 *  Returns the pitch of the copy [byte]. */
static uint32_t copy_picture(uint8_t *to, const vfront_picture_t *picture, size_t row_bytes)
{
    const size_t pitch = picture->pitch_bytes, rows = (size_t)picture->height_px, all = pitch * (rows - 1) + row_bytes;
    if (pitch - row_bytes <= row_bytes / 8 && all <= VFRONT_INPUT_BYTES) {
        memcpy(to, picture->data, all);
        return (uint32_t)pitch;
    }
    size_t packed = (row_bytes + 15) / 16 * 16;
    if (packed * rows > VFRONT_INPUT_BYTES) packed = row_bytes;
    for (size_t y = 0; y < rows; y++) memcpy(to + y * packed, (const uint8_t *)picture->data + y * pitch, row_bytes);
    return (uint32_t)packed;
}

static vfront_status_t cuda_adopt(struct vf_state *state, const vfront_picture_t *picture, uint8_t *input,
                                  struct vf_source *source)
{
    struct vf_cuda *c = cuda_of(state);
    const size_t row = (size_t)vf_format_bytes(picture->format) * (size_t)picture->width_px;
    const size_t last = (size_t)picture->pitch_bytes * (size_t)(picture->height_px - 1) + row - 1;
    source->pitch = picture->pitch_bytes;
    if (input == state->pinned->input[state->input][0]) vf_thread_rouse(&c->thread);
    if (picture->memory == VFRONT_DEVICE_MEMORY && c->mirrored)
        return vf_refuse(state, VFRONT_E_MEMORY_KIND, "frame: device memory, which failover cannot read", 0, "");
    if (picture->memory != VFRONT_HOST_MEMORY) {
        vfront_status_t status = settle(state);
        if (status) return status;
        c->from = picture->data;
        c->last = (const uint8_t *)picture->data + last;
        c->kind = picture->memory;
        status = have_done(state, look_up_job);
        if (!status) source->data = c->seen;
        return status;
    }
    if (own_input(state, picture->data) && own_input(state, (const uint8_t *)picture->data + last)) {
        source->data = cuda_seen(state, picture->data); /* to copy it could be to copy it onto itself */
        return VFRONT_OK;
    }
    source->pitch = copy_picture(input, picture, row);
    source->data = cuda_seen(state, input);
    return VFRONT_OK;
}

static vfront_status_t launch_job(struct vf_cuda *c)
{
    VF_TRY(cudaGraphLaunch(c->exec[c->parity], c->stream[0]));
    return VFRONT_OK;
}

static vfront_status_t cuda_submit(struct vf_state *state)
{
    const vfront_status_t status = settle(state); /* it may still be looking after the step before */
    if (status) return status;
    hold_of(state)->asking = 0;
    cuda_of(state)->parity = state->parity;
    return have_done(state, launch_job);
}

/** 1 if the result is there. The acquire keeps reads of the result behind it. */
static int arrived(const struct vf_state *state)
{
    return __atomic_load_n(&state->pinned->done, __ATOMIC_ACQUIRE) == state->ticket;
}

/** Notes in `idle` whether the device works. VFRONT_E_DEVICE: it failed. */
static vfront_status_t query_job(struct vf_cuda *c)
{
    vf_cuda_at(c, "cudaStreamQuery(c->stream[0])");
    const cudaError_t error = cudaStreamQuery(c->stream[0]);
    c->idle = error == cudaSuccess;
    return error == cudaSuccess || error == cudaErrorNotReady ? VFRONT_OK
                                                              : vf_cuda_fault(c, error, "cudaStreamQuery: %s");
}

/** Asks the thread whether the device works, or looks at its answer if there is one. VFRONT_OK: nothing is known to be
 *  wrong. Does not wait. */
static vfront_status_t ask(struct vf_state *state)
{
    struct hold *h = hold_of(state);
    struct vf_cuda *c = h->cuda;
    if (!vf_thread_idle(&c->thread)) return VFRONT_OK;
    if (!h->asking) {
        h->asking = 1;
        c->job = query_job;
        vf_thread_give(&c->thread);
        return VFRONT_OK;
    }
    h->asking = 0;
    const vfront_status_t status = outcome(state);
    if (status || !c->idle || arrived(state)) return status;
    return vf_refuse(state, VFRONT_E_DEVICE, "the step ended without its ticket", 0, "");
}

/** Passes some time while the step is under way. */
static void pass(const struct vf_state *state, uint64_t waited_ns)
{
    const struct timespec nap = {0, NAP_NS};
    if (state->step[0].tuning.wait == VFRONT_WAIT_NAP && waited_ns >= NAP_NS)
        nanosleep(&nap, NULL);
    else
        for (int i = 0; i < 256 && !arrived(state); i++) vf_relax();
}

/** Looks at the ticket, and asks the device only every so often: a step is over before the first time. */
static vfront_status_t cuda_wait(struct vf_state *state, uint32_t timeout_us)
{
    const uint64_t start = vf_now_ns(), most = (uint64_t)timeout_us * 1000u;
    const uint64_t until = timeout_us == UINT32_MAX || start + most > state->give_up_ns ? state->give_up_ns
                                                                                        : start + most;
    uint64_t now = start, asked = state->submitted_ns;
    for (;; now = vf_now_ns()) {
        if (arrived(state)) return VFRONT_OK;
        if (hold_of(state)->asking || now - asked >= PATIENCE_NS) {
            const vfront_status_t status = ask(state);
            if (status) return status;
            asked = now;
            sched_yield(); /* the thread may need this processor */
        }
        if (now >= state->give_up_ns) return give_up(state, "given up: the step does not end; last call: %s");
        if (now >= until) return VFRONT_E_TIMEOUT;
        pass(state, now - start);
    }
}

/** VFRONT_OK if the device works and is idle. An error that a second call reports again is the context's. */
static vfront_status_t recover_job(struct vf_cuda *c)
{
    cudaError_t error = cudaSuccess;
    vf_cuda_at(c, "cudaStreamQuery(c->stream[0])");
    for (int i = 0; i < 2 && error != cudaErrorNotReady; i++) {
        error = cudaStreamQuery(c->stream[0]);
        if (error) (void)cudaGetLastError();
    }
    if (error == cudaErrorNotReady) return refuse(c, VFRONT_E_ABANDONED, "the step that was given up still runs", "");
    if (error) return refuse(c, VFRONT_E_STICKY, "cudaStreamQuery: %s", cudaGetErrorName(error));
    return VFRONT_OK;
}

static vfront_status_t cuda_recover(struct vf_state *state)
{
    struct hold *h = hold_of(state);
    if (!vf_thread_idle(&h->cuda->thread)) return give_up(state, "still no return from %s");
    h->given_up = h->asking = 0;
    return have_done(state, recover_job);
}

const struct vf_port vf_port_cuda = {
    .id = VFRONT_PORT_CUDA,
    .open = cuda_open,
    .write = cuda_write,
    .read = cuda_read,
    .ready = cuda_ready,
    .adopt = cuda_adopt,
    .seen = cuda_seen,
    .submit = cuda_submit,
    .wait = cuda_wait,
    .recover = cuda_recover,
    .close = cuda_close,
    .now_ns = vf_now_ns,
};
