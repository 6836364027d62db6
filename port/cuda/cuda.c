/* SPDX-License-Identifier: MIT */
/* CUDA port: both arenas are allocated once. The step of each parity is captured as one graph, and a frame is one
 * launch of that graph. A ticket in pinned memory marks the frame's result as complete.
 *
 * A worker thread makes all CUDA calls, launches included, because any of them may block while the GPU or its driver
 * hangs. A blocked call can only be abandoned. Handing over a job costs a microsecond while the worker is awake, 100
 * after a long sleep. So the worker wakes up shortly before the next frame is due, by the interval between frames, and
 * prepares for it. The current device of the application's threads does not change. */
#define _POSIX_C_SOURCE 200809L
#include <sched.h>
#include <time.h>

#include "job.h"
#include "core/refuse.h"
#include "result/carry.h"

/** Time for which the worker polls for a job that follows soon [ns]; images are copied meanwhile. */
#define AWAKE_NS (2 * VF_LEAD_NS)

/** Length of sleeps while a frame is in flight, if tuning value `wait` is VFRONT_WAIT_NAP; no sleep is shorter [ns]. */
#define NAP_NS 50000

/** Interval between two queries for a device failure while a frame is in flight [ns]. */
#define QUERY_PERIOD_NS 1000000

/** Layout of the device arena, the port's allocation of device memory. */
struct arena {
    struct vf_memory memory;
#if VFRONT_CUBLAS
    struct vf_systems systems;
#endif
};

/** Layout of the pinned arena, the port's allocation of pinned host memory. It ends before `mirror` if no mirror is
 *  kept for fail-over. */
struct pinned_arena {
    struct vf_pinned pinned;
    struct vf_carry_mirror mirror;
};

/** Data of the CUDA port on the caller's side, in vf_context.private. */
struct caller {
    struct vf_cuda *cuda; /* data of the worker thread; NULL: no worker runs */
    pthread_t thread;
    int querying;            /* 1: the worker has been given a query of the device, not yet evaluated */
    int abandoned;           /* 1: a job or frame took too long; the worker may never be idle again */
    uint64_t roused_ns,      /* time of the submit for which the worker was woken last, */
        launched_ns,         /* and of the last one with a launch [ns] */
        due_ns,              /* time at which the next submit is due */
        from_ns, until_ns;   /* times between which the worker polls for it [ns] */
    int64_t late_ns;         /* time from when the last one was due until it came; negative: it came early */
    uint64_t interval_ns[3]; /* last intervals between submits with a launch, the newest first */
};
VF_STATIC_ASSERT(sizeof(struct caller) <= sizeof(((struct vf_context *)0)->private),
                 "vfront: the CUDA port outgrew vf_context.private");

static struct caller *caller_of(struct vf_context *context) { return (struct caller *)context->private; }
static struct vf_cuda *cuda_of(struct vf_context *context) { return caller_of(context)->cuda; }

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

/** Stores the reason of a refused or failed job, format `what` and word `rest`; returns `status`. */
static vfront_status_t refuse(struct vf_cuda *c, vfront_status_t status, const char *what, const char *rest)
{
    c->what = what;
    c->rest = rest;
    return status;
}

vfront_status_t vf_cuda_fault(struct vf_cuda *c, cudaError_t error, const char *call)
{
    (void)cudaGetLastError(); /* clears the error, which a later call would otherwise return */
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

/* ---- worker thread and jobs -------------------------------------------------------------------------------------- */

static void release(struct vf_cuda *c);

/** Main function of the worker thread: runs jobs until the caller leaves, then frees all CUDA resources itself. */
static void *thread_main(void *made)
{
    struct vf_cuda c;
    memset(&c, 0, sizeof c);
    vf_cuda_at(&c, "the start of the port's thread");
    c.in_init = 1;
    vf_thread_begin(&c.thread, made, &c);
    for (enum vf_next next; (next = vf_thread_next(&c.thread)) != VF_NEXT_END;) {
        if (next == VF_NEXT_SOON) {
            vf_cuda_prepare(&c);
            continue;
        }
        c.what = NULL;
        c.status = c.job(&c);
        vf_thread_done(&c.thread);
    }
    release(&c);
    return NULL;
}

/** Abandons the port: nothing waits for the worker any more. format: reason, with a %s for the worker's current
 *  call. */
static vfront_status_t abandon(struct vf_context *context, const char *format)
{
    const struct vf_cuda *c = cuda_of(context);
    caller_of(context)->abandoned = 1;
    return vf_refuse(context, VFRONT_E_ABANDONED, format, 0, __atomic_load_n(&c->at, __ATOMIC_RELAXED));
}

/** Waits until the worker is idle, so that its memory may be accessed. */
static vfront_status_t wait_idle(struct vf_context *context)
{
    if (!caller_of(context)->abandoned && vf_thread_wait(&cuda_of(context)->thread, context->abandon_ns))
        return VFRONT_OK;
    return abandon(context, "abandoned: no return from %s");
}

/** Returns the status of the completed job, and stores the reason of a failure in the context. */
static vfront_status_t outcome(struct vf_context *context)
{
    const struct vf_cuda *c = cuda_of(context);
    return c->status ? vf_refuse(context, c->status, c->what, c->number, c->rest) : VFRONT_OK;
}

/** Lets the worker run a job, whose arguments are already set, and waits for its end. The worker must be idle. */
static vfront_status_t run_last_job(struct vf_context *context, vfront_status_t (*job)(struct vf_cuda *c))
{
    struct vf_cuda *c = cuda_of(context);
    c->job = job;
    vf_thread_start_job(&c->thread);
    const vfront_status_t status = wait_idle(context);
    return status ? status : outcome(context);
}

/** The same for a job that another one follows soon. The next frame is expected as before. */
static vfront_status_t run_job(struct vf_context *context, vfront_status_t (*job)(struct vf_cuda *c))
{
    const struct caller *h = caller_of(context);
    vf_thread_expect(&h->cuda->thread, 0, vf_now_ns() + AWAKE_NS);
    const vfront_status_t status = run_last_job(context, job);
    if (h->from_ns > vf_now_ns()) vf_thread_expect(&h->cuda->thread, h->from_ns, h->until_ns);
    return status;
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

static void release(struct vf_cuda *c)
{
    c->next = NULL;
    if (c->stream[0]) VF_RELEASE(cudaStreamSynchronize(c->stream[0]));
    for (int parity = 0; parity < 2; parity++) {
        if (c->exec[parity]) VF_RELEASE(cudaGraphExecDestroy(c->exec[parity]));
        if (c->graph[parity]) VF_RELEASE(cudaGraphDestroy(c->graph[parity]));
        c->exec[parity] = NULL;
        c->graph[parity] = NULL;
    }
#if VFRONT_CUBLAS
    if (c->cublas.handle) VF_RELEASE(cublasDestroy(c->cublas.handle));
    c->cublas.handle = NULL;
#endif
    for (int i = 0; i < VF_STREAMS; i++) {
        if (c->done[i]) VF_RELEASE(cudaEventDestroy(c->done[i]));
        if (c->stream[i]) VF_RELEASE(cudaStreamDestroy(c->stream[i]));
        c->done[i] = NULL;
        c->stream[i] = NULL;
    }
    if (c->pinned) VF_RELEASE(cudaFreeHost(c->pinned));
    if (c->device) VF_RELEASE(cudaFree(c->device));
    c->pinned = c->device = NULL;
    (void)cudaGetLastError();
}

static vfront_status_t release_job(struct vf_cuda *c)
{
    release(c);
    return VFRONT_OK;
}

static vfront_status_t cuda_close(struct vf_context *context)
{
    struct caller *h = caller_of(context);
    if (!h->cuda) return VFRONT_OK;
    vfront_status_t status = wait_idle(context);
    if (!status) status = run_job(context, release_job);
    vf_thread_end(&h->cuda->thread, h->thread, status ? 0 : context->abandon_ns);
    memset(h, 0, sizeof *h);
    return status;
}

/** Priority of a stage's CUDA stream; a lower number is a higher priority. greatest, least: range of the device. */
static int priority_of(const struct vf_cuda *c, int stage, int greatest, int least)
{
    const int own = greatest + c->rank, lower = own + 1;
    return stage < VFRONT_STAGES && VF_LOW_PRIORITY >> stage & 1 && lower < least ? lower : own;
}

static vfront_status_t allocate_job(struct vf_cuda *c)
{
    struct cudaDeviceProp properties;
    int devices = 0, least = 0, greatest = 0;
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

static vfront_status_t cuda_open(struct vf_context *context)
{
    struct caller *h = caller_of(context);
    void *made;
    memset(h, 0, sizeof *h);
    if (!vf_thread_start(&h->thread, thread_main, &made))
        return vf_refuse(context, VFRONT_E_DEVICE, "pthread_create: no thread for the port", 0, "");
    struct vf_cuda *c = h->cuda = made;
    c->wait = context->step[0].tuning.wait;
    c->ordinal = context->step[0].tuning.device;
    c->rank = context->step[0].tuning.priority;
    c->mirrored = context->step[0].tuning.failover;
    c->pinned_bytes = c->mirrored ? sizeof(struct pinned_arena) : sizeof(struct vf_pinned);
    const vfront_status_t status = run_job(context, allocate_job);
    if (status) return status;
    memcpy(context->device, c->name, sizeof context->device);
    context->memory = c->device;
    context->pinned = c->pinned;
    context->device_bytes = sizeof(struct arena);
    context->pinned_bytes = c->pinned_bytes;
    context->mirror = c->mirrored ? &((struct pinned_arena *)c->pinned)->mirror : NULL;
    for (int parity = 0; parity < 2; parity++) {
        context->step[parity].memory = c->device;
        context->step[parity].pinned = c->pinned_seen;
        context->step[parity].mirror = c->mirrored ? &((struct pinned_arena *)c->pinned_seen)->mirror : NULL;
    }
    return VFRONT_OK;
}

static vfront_status_t write_job(struct vf_cuda *c)
{
    VF_TRY(cudaMemcpyAsync(c->to, c->from, c->bytes, cudaMemcpyHostToDevice, c->stream[0]));
    VF_TRY(cudaStreamSynchronize(c->stream[0]));
    return VFRONT_OK;
}

/** Copies host memory to the device through the mask buffers in pinned memory, which are unused between frames. Reason:
 *  an abandoned copy must not read the caller's memory. */
static vfront_status_t cuda_write(struct vf_context *context, void *to, const void *from, size_t bytes)
{
    struct vf_cuda *c = cuda_of(context);
    for (size_t done = 0; done < bytes; done += c->bytes) {
        c->bytes = bytes - done < sizeof context->pinned->mask ? bytes - done : sizeof context->pinned->mask;
        c->to = (char *)to + done;
        c->from = memcpy(context->pinned->mask, (const char *)from + done, c->bytes);
        const vfront_status_t status = run_job(context, write_job);
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

/** Copies device memory into the mask buffers in pinned memory, which are unused between frames. Reason: an abandoned
 *  copy must not write to the caller's memory. */
static vfront_status_t cuda_read(struct vf_context *context, const void **at, const void *from, size_t bytes)
{
    struct vf_cuda *c = cuda_of(context);
    *at = c->to = context->pinned->mask;
    c->from = from;
    c->bytes = bytes;
    return run_job(context, read_job);
}

/* ---- graph (graph.c) --------------------------------------------------------------------------------------------- */

static vfront_status_t cuda_ready(struct vf_context *context)
{
    struct vf_cuda *c = cuda_of(context);
    c->active = context->step[0].geometry.active;
    for (int parity = 0; parity < 2; parity++) {
#if VFRONT_CUBLAS
        context->view[parity].ego.systems = &((struct arena *)c->device)->systems;
        context->view[parity].ego.cublas = &c->cublas;
#endif
        c->view[parity] = context->view[parity];
    }
    return run_job(context, vf_cuda_ready_job);
}

/* ---- frame ------------------------------------------------------------------------------------------------------- */

/** Sets c->seen to the device address of `address`. Refuses an address that does not lie in the stated kind of memory,
 *  c->kind. */
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

/** Sets c->seen to the device address of an image's first byte, c->from. Checks the image's last byte, c->last, too. */
static vfront_status_t look_up_job(struct vf_cuda *c)
{
    const vfront_status_t status = look_up(c, c->last);
    return status ? status : look_up(c, c->from);
}

/** Converts a host address in the pinned arena into its device address. */
static const uint8_t *cuda_seen(struct vf_context *context, const uint8_t *pinned)
{
    return (const uint8_t *)context->step[0].pinned + (pinned - (const uint8_t *)context->pinned);
}

/** 1 if an address lies in one of the library's input buffers. */
static int own_input(const struct vf_context *context, const void *address)
{
    const uintptr_t offset = (uintptr_t)address - (uintptr_t)context->pinned->input;
    return offset < sizeof context->pinned->input;
}

/** Copies an image into an input buffer. An image with little padding is copied in one piece, which takes less than
 *  half the time of a copy by rows. Returns the pitch of the copy [bytes]. */
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

/** Wakes the worker once for each frame, before images are copied. */
static void rouse(struct vf_context *context)
{
    struct caller *h = caller_of(context);
    if (h->roused_ns == context->submitted_ns) return;
    h->roused_ns = context->submitted_ns;
    vf_thread_expect(&h->cuda->thread, 0, context->submitted_ns + AWAKE_NS);
    vf_thread_wake(&h->cuda->thread);
}

static vfront_status_t cuda_adopt(struct vf_context *context, const vfront_picture_t *picture, uint8_t *input,
                                  struct vf_source *source)
{
    struct vf_cuda *c = cuda_of(context);
    const size_t row = (size_t)vf_format_bytes(picture->format) * (size_t)picture->width_px;
    const size_t last = (size_t)picture->pitch_bytes * (size_t)(picture->height_px - 1) + row - 1;
    source->pitch = picture->pitch_bytes;
    rouse(context);
    if (picture->memory == VFRONT_DEVICE_MEMORY && c->mirrored)
        return vf_refuse(context, VFRONT_E_MEMORY_KIND, "frame: device memory, which failover cannot read", 0, "");
    if (picture->memory != VFRONT_HOST_MEMORY) {
        vfront_status_t status = wait_idle(context);
        if (status) return status;
        c->from = picture->data;
        c->last = (const uint8_t *)picture->data + last;
        c->kind = picture->memory;
        status = run_job(context, look_up_job);
        if (!status) source->data = c->seen;
        return status;
    }
    if (own_input(context, picture->data) && own_input(context, (const uint8_t *)picture->data + last)) {
        source->data = cuda_seen(context, picture->data); /* read in place: a copy might overlap the image */
        return VFRONT_OK;
    }
    source->pitch = copy_picture(input, picture, row);
    source->data = cuda_seen(context, input);
    return VFRONT_OK;
}

static vfront_status_t launch_job(struct vf_cuda *c)
{
    VF_TRY(cudaGraphLaunch(c->exec[c->parity], c->stream[0]));
    c->next = c->exec[c->parity ^ 1];
    return VFRONT_OK;
}

/** Time for which the step in flight runs yet, if the device takes as long as for the shorter of the last two [ns]. */
static uint64_t running_ns(const struct vf_context *context, uint64_t now)
{
    const vfront_result_t *r = context->pinned->result;
    const float a = r[(context->ticket + 1) % 3].timing.device_us, b = r[(context->ticket + 2) % 3].timing.device_us;
    const uint64_t end = context->submitted_ns + 1000u * (uint64_t)(a < b ? a : b);
    return now < end ? end - now : 0;
}

static uint64_t median_of(const uint64_t *x)
{
    const uint64_t low = x[0] < x[1] ? x[0] : x[1], high = x[0] < x[1] ? x[1] : x[0];
    return x[2] < low ? low : x[2] > high ? high : x[2];
}

/** Predicts the time of the next submit: after the median of the last three intervals, which one lost frame does not
 *  change. A late submit moves the prediction only if the one before was late, too, and by the smaller of both. */
static uint64_t next_due(struct caller *h, uint64_t submitted_ns)
{
    const int64_t before = h->late_ns > 0 ? h->late_ns : 0, late = (int64_t)(submitted_ns - h->due_ns);
    h->interval_ns[2] = h->interval_ns[1];
    h->interval_ns[1] = h->interval_ns[0];
    h->interval_ns[0] = submitted_ns - h->launched_ns;
    h->launched_ns = submitted_ns;
    h->late_ns = late;
    const uint64_t interval = median_of(h->interval_ns);
    const int is_late = late > before && (uint64_t)late < interval / 2; /* else no later than before, or a lost frame */
    return h->due_ns = (is_late ? h->due_ns + (uint64_t)before : submitted_ns) + interval;
}

/** Lets the worker wake up shortly before the next frame is due, and not before this step's expected end, for which the
 *  caller polls. With VFRONT_WAIT_NAP the worker then sleeps again, without polling: a short sleep ends sooner than a
 *  long one. */
static void expect_next(struct vf_context *context)
{
    struct caller *h = caller_of(context);
    const uint64_t due = next_due(h, context->submitted_ns),
                   end = context->submitted_ns + running_ns(context, context->submitted_ns),
                   from = due - VF_LEAD_NS > end ? due - VF_LEAD_NS : end;
    h->from_ns = from;
    h->until_ns = h->cuda->wait == VFRONT_WAIT_NAP ? from : due + VF_LEAD_NS;
    vf_thread_expect(&h->cuda->thread, h->from_ns, h->until_ns);
}

static vfront_status_t cuda_submit(struct vf_context *context)
{
    const vfront_status_t status = wait_idle(context); /* the worker may still query the previous frame */
    if (status) return status;
    caller_of(context)->querying = 0;
    cuda_of(context)->parity = context->parity;
    __atomic_store_n(&cuda_of(context)->ended, &context->pinned->done, __ATOMIC_RELAXED);
    __atomic_store_n(&cuda_of(context)->ticket, context->ticket, __ATOMIC_RELAXED);
    expect_next(context);
    return run_last_job(context, launch_job);
}

/** 1 if the result of the frame in flight is complete. The acquire orders later reads of the result after this read of
 *  the ticket. */
static int result_ready(const struct vf_context *context)
{
    return __atomic_load_n(&context->pinned->done, __ATOMIC_ACQUIRE) == context->ticket;
}

/** Job: sets c->idle to 1 if the device has finished the frame, else 0. VFRONT_E_DEVICE: the device failed. */
static vfront_status_t query_job(struct vf_cuda *c)
{
    vf_cuda_at(c, "cudaStreamQuery(c->stream[0])");
    const cudaError_t error = cudaStreamQuery(c->stream[0]);
    c->idle = error == cudaSuccess;
    return error == cudaSuccess || error == cudaErrorNotReady ? VFRONT_OK
                                                              : vf_cuda_fault(c, error, "cudaStreamQuery: %s");
}

/** Lets the worker query the device for a failure, or evaluates a completed query. Does not wait. VFRONT_OK: no failure
 *  is known. */
static vfront_status_t query_device(struct vf_context *context)
{
    struct caller *h = caller_of(context);
    struct vf_cuda *c = h->cuda;
    if (!vf_thread_idle(&c->thread)) return VFRONT_OK;
    if (!h->querying) {
        h->querying = 1;
        c->job = query_job;
        vf_thread_start_job(&c->thread);
        return VFRONT_OK;
    }
    h->querying = 0;
    const vfront_status_t status = outcome(context);
    if (status || !c->idle || result_ready(context)) return status;
    return vf_refuse(context, VFRONT_E_DEVICE, "the step ended without its ticket", 0, "");
}

/** Waits for a short time while a frame is in flight: sleeps until shortly before the step's end, then polls; with
 *  VFRONT_WAIT_NAP sleeps until the step's end, then in short sleeps. */
static void wait_briefly(const struct vf_context *context, uint64_t now, uint64_t until)
{
    const int naps = context->step[0].tuning.wait == VFRONT_WAIT_NAP;
    const uint64_t least = naps ? NAP_NS : NAP_NS + VF_LEAD_NS, left = until - now;
    uint64_t ns = running_ns(context, now);
    if (ns < least && !naps) {
        for (int i = 0; i < 256 && !result_ready(context); i++) vf_cpu_relax();
        return;
    }
    ns = ns < least ? NAP_NS : naps ? ns : ns - VF_LEAD_NS;
    if (ns > QUERY_PERIOD_NS) ns = QUERY_PERIOD_NS; /* the step may end sooner, or fail */
    if (ns > left) ns = left;
    const struct timespec nap = vf_timespec(ns);
    nanosleep(&nap, NULL);
}

/** Waits for the frame: polls the ticket, and queries the device for a failure every QUERY_PERIOD_NS. Most frames
 *  complete before the first query. */
static vfront_status_t cuda_wait(struct vf_context *context, uint32_t timeout_us)
{
    const uint64_t start = vf_now_ns(), timeout_ns = (uint64_t)timeout_us * 1000u;
    const uint64_t until = timeout_us == UINT32_MAX || start + timeout_ns > context->abandon_ns ? context->abandon_ns
                                                                                                : start + timeout_ns;
    uint64_t now = start, queried = context->submitted_ns;
    for (;; now = vf_now_ns()) {
        if (result_ready(context)) return VFRONT_OK;
        if (caller_of(context)->querying || now - queried >= QUERY_PERIOD_NS) {
            const vfront_status_t status = query_device(context);
            if (status) return status;
            queried = now;
            sched_yield(); /* the worker may need this processor */
        }
        if (now >= context->abandon_ns) return abandon(context, "abandoned: the step does not end; last call: %s");
        if (now >= until) return VFRONT_E_TIMEOUT;
        wait_briefly(context, now, until);
    }
}

/** Job: VFRONT_OK if the device works and is idle. An error that two calls in a row return is sticky: it stays until
 *  the process ends. */
static vfront_status_t recover_job(struct vf_cuda *c)
{
    cudaError_t error = cudaSuccess;
    vf_cuda_at(c, "cudaStreamQuery(c->stream[0])");
    for (int i = 0; i < 2 && error != cudaErrorNotReady; i++) {
        error = cudaStreamQuery(c->stream[0]);
        if (error) (void)cudaGetLastError();
    }
    if (error == cudaErrorNotReady) return refuse(c, VFRONT_E_ABANDONED, "the step that was abandoned still runs", "");
    if (error) return refuse(c, VFRONT_E_STICKY, "cudaStreamQuery: %s", cudaGetErrorName(error));
    return VFRONT_OK;
}

static vfront_status_t cuda_recover(struct vf_context *context)
{
    struct caller *h = caller_of(context);
    if (!vf_thread_idle(&h->cuda->thread)) return abandon(context, "still no return from %s");
    h->abandoned = h->querying = 0;
    return run_job(context, recover_job);
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
