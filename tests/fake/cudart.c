/* SPDX-License-Identifier: MIT */
/* A CUDA runtime without a GPU, as far as port/cuda calls it. Launchers are recorded while a stream captures; a graph
 * runs the host forms of the stages. All of port/cuda is therefore tested on any machine, and its digests must equal
 * the host port's. With EMULATED a graph runs the kernels themselves, by tests/emulate/block.cpp; a launcher runs them
 * at once on a stream that does not capture.
 *
 * It is stricter than a GPU where an error could stay hidden:
 *   device memory, and the device's view of pinned memory, are inaccessible to the host unless a graph or a copy runs
 *   pinned memory has another address on the device
 *   stages run in another order than the launches if the captured edges allow it
 *   an image or mask that the device could not read fails the launch, as on a GPU
 * Any thread may call it; calls are serialised. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "port/cuda/cuda.h"
#include "calls.h"

/* ---- memory ------------------------------------------------------------------------------------------------------ */

struct area {
    uint8_t *seen, *host; /* the device's view; the host's, or NULL for device memory */
    size_t bytes, pages;
};
static struct area area[16];
static _Thread_local cudaError_t last;

static pthread_mutex_t device_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static void begin(void) { pthread_mutex_lock(&device_lock); }
static cudaError_t end(cudaError_t error) { return pthread_mutex_unlock(&device_lock), error; }

static cudaError_t note(cudaError_t error)
{
    if (error) last = error;
    return error;
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = last;
    last = cudaSuccess;
    return error;
}

/** Makes device memory accessible or inaccessible; with EMULATED always accessible, which is faster. */
static void reach(int yes)
{
#ifdef EMULATED
    yes = 1;
#endif
    for (size_t i = 0; i < sizeof area / sizeof *area; i++)
        if (area[i].seen) mprotect(area[i].seen, area[i].pages, yes ? PROT_READ | PROT_WRITE : PROT_NONE);
}

static cudaError_t map(void **address, size_t bytes, int host)
{
    struct area *a = area;
    while (a < area + sizeof area / sizeof *area && a->seen) a++;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (bytes + page - 1) / page * page;
    const int file = memfd_create("fake", 0);
    if (a == area + sizeof area / sizeof *area || file < 0 || ftruncate(file, (off_t)pages)) {
        if (file >= 0) close(file);
        return note(cudaErrorMemoryAllocation);
    }
    a->seen = mmap(NULL, pages, PROT_NONE, MAP_SHARED, file, 0);
    a->host = host ? mmap(NULL, pages, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : NULL;
    a->bytes = bytes;
    a->pages = pages;
    close(file);
    *address = host ? a->host : a->seen;
    return cudaSuccess;
}

static struct area *area_of(const void *address)
{
    const uint8_t *p = address;
    for (struct area *a = area; a < area + sizeof area / sizeof *area; a++)
        if (a->seen &&
            ((p >= a->seen && p < a->seen + a->bytes) || (a->host && p >= a->host && p < a->host + a->bytes)))
            return a;
    return NULL;
}

static cudaError_t unmap(void *address, int host)
{
    struct area *a = area_of(address);
    if (!a || (a->host != NULL) != host || address != (host ? a->host : a->seen)) return note(cudaErrorInvalidValue);
    munmap(a->seen, a->pages);
    if (a->host) munmap(a->host, a->pages);
    memset(a, 0, sizeof *a);
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **address, size_t bytes) { return begin(), end(map(address, bytes, 0)); }
cudaError_t cudaHostAlloc(void **address, size_t bytes, unsigned flags)
{
    (void)flags;
    return begin(), end(map(address, bytes, 1));
}
cudaError_t cudaFree(void *address) { return begin(), end(unmap(address, 0)); }
cudaError_t cudaFreeHost(void *address) { return begin(), end(unmap(address, 1)); }

cudaError_t cudaMemGetInfo(size_t *left, size_t *total)
{
    begin();
    *left = *total = (size_t)1 << 32;
    for (struct area *a = area; a < area + sizeof area / sizeof *area; a++)
        if (!a->host) *left -= a->pages;
    return end(cudaSuccess);
}

cudaError_t cudaHostGetDevicePointer(void **seen, void *address, unsigned flags)
{
    begin();
    const struct area *a = area_of(address);
    (void)flags;
    if (!a || !a->host) return end(note(cudaErrorInvalidValue));
    *seen = a->seen + ((uint8_t *)address - a->host);
    return end(cudaSuccess);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *address)
{
    begin();
    const struct area *a = area_of(address);
    const uint8_t *p = address;
    memset(attributes, 0, sizeof *attributes); /* zero is cudaMemoryTypeUnregistered */
    if (!a) return end(cudaSuccess);
    const ptrdiff_t at = a->host && p >= a->host && p < a->host + a->bytes ? p - a->host : p - a->seen;
    attributes->type = a->host ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    attributes->devicePointer = a->seen + at;
    attributes->hostPointer = a->host ? a->host + at : NULL;
    return end(cudaSuccess);
}

/* ---- streams, events, graphs ------------------------------------------------------------------------------------- */

typedef void stage_form(const struct vf_views *);

struct CUgraphNode_st {
    stage_form *form;
    struct vf_views view; /* of its own stage alone */
    uint64_t behind;      /* nodes that must have run before */
    int clock, priority;
};
/** Largest number of nodes of a graph: the stages and, with EMULATED, their separate launches. Nodes are bits of a
 *  64-bit mask. */
#ifdef EMULATED
#define APART(name, part) +1
enum { NODES = VFRONT_STAGES VF_APART(APART) };
#undef APART
#else
enum { NODES = VFRONT_STAGES };
#endif
VF_STATIC_ASSERT(NODES < 64, "fake: nodes are places in a mask");

struct CUgraph_st {
    struct CUgraphNode_st node[NODES];
    int count;
};
struct CUgraphExec_st {
    struct CUgraph_st graph;
};
struct CUstream_st {
    struct CUgraph_st *capture; /* capture that the stream is part of, or NULL */
    uint64_t behind;            /* nodes that precede its next one */
    int origin, priority;
};
struct CUevent_st {
    struct CUgraph_st *capture;
    uint64_t behind;
};

/** Priorities as on GPUs: a higher priority is a lower number. */
#define LEAST_PRIORITY 0
#define GREATEST_PRIORITY (-5)

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = LEAST_PRIORITY;
    *greatest = GREATEST_PRIORITY;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    (void)flags;
    if (priority < GREATEST_PRIORITY || priority > LEAST_PRIORITY) return note(cudaErrorInvalidValue);
    *stream = calloc(1, sizeof **stream);
    if (!*stream) return note(cudaErrorMemoryAllocation);
    (*stream)->priority = priority;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return cudaStreamCreateWithPriority(stream, flags, LEAST_PRIORITY);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof **event);
    return *event ? cudaSuccess : note(cudaErrorMemoryAllocation);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) { return free(stream), cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t event) { return free(event), cudaSuccess; }
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return free(graph), cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) { return free(exec), cudaSuccess; }

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    (void)mode;
    if (stream->capture) return note(cudaErrorStreamCaptureUnsupported);
    stream->capture = calloc(1, sizeof *stream->capture);
    if (!stream->capture) return note(cudaErrorMemoryAllocation);
    stream->behind = 0;
    stream->origin = 1;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    event->capture = stream->capture;
    event->behind = stream->behind;
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    if (stream->capture != event->capture) stream->behind = 0;
    stream->capture = event->capture;
    stream->behind |= event->behind;
    return cudaSuccess;
}

/** Streams that joined a capture keep stale state after its end; it is replaced when they next wait. */
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    struct CUgraph_st *g = stream->capture;
    *graph = NULL;
    if (!g || !stream->origin) return note(cudaErrorStreamCaptureInvalidated);
    stream->capture = NULL;
    stream->origin = 0;
    if (stream->behind != ((uint64_t)1 << g->count) - 1) { /* a branch was not joined */
        free(g);
        return note(cudaErrorStreamCaptureUnjoined);
    }
    *graph = g;
    return cudaSuccess;
}

#ifdef EMULATED
/** Kernels of the stages compiled for this machine; tests.mk renames vf_<stage>_cuda. */
#define VF_STAGE(name, needs, what)                                                                                    \
    cudaError_t vf_##name##_kernels(const struct vf_##name##_view *s, cudaStream_t stream);
#include "stages.def"
#undef VF_STAGE
#define APART(name, part)                                                                                              \
    cudaError_t vf_##name##_##part##_kernels(const struct vf_##name##_view *s, cudaStream_t stream);
VF_APART(APART)
#undef APART
#define RUN(name, view) vf_##name##_kernels(view, NULL)
#define LAUNCH(name, view) (reach(1), vf_##name##_kernels(view, NULL), cudaGetLastError())
#else
#define RUN(name, view) vf_##name##_host(view)
#define LAUNCH(name, view) (note(cudaErrorStreamCaptureUnsupported), cudaGetLastError())
#endif

/** Adds a node to the graph under capture. Returns NULL, with the error recorded, if that is impossible. */
static cudaGraphNode_t record(stage_form *form, cudaStream_t stream, int clock)
{
    struct CUgraph_st *g = stream->capture;
    if (g->count == NODES) return note(cudaErrorStreamCaptureUnsupported), NULL;
    struct CUgraphNode_st *n = &g->node[g->count];
    n->form = form;
    n->behind = stream->behind;
    n->clock = clock;
    n->priority = stream->priority;
    stream->behind |= (uint64_t)1 << g->count++;
    return n;
}

#define VF_STAGE(name, needs, what)                                                                                    \
    static void run_##name(const struct vf_views *v) { RUN(name, &v->name); }                                          \
    cudaError_t vf_##name##_cuda(const struct vf_##name##_view *s, cudaStream_t stream)                                \
    {                                                                                                                  \
        if (!stream->capture) return LAUNCH(name, s);                                                                  \
        struct CUgraphNode_st *n = record(run_##name, stream, VF_##name);                                              \
        if (n) n->view.name = *s;                                                                                      \
        return cudaGetLastError(); /* as after <<< >>>: any pending error */                                           \
    }
#include "stages.def"
#undef VF_STAGE

#ifdef EMULATED
#define APART(name, part)                                                                                              \
    static void run_##part##_##name(const struct vf_views *v) { vf_##name##_##part##_kernels(&v->name, NULL); }        \
    cudaError_t vf_##name##_##part##_cuda(const struct vf_##name##_view *s, cudaStream_t stream)                       \
    {                                                                                                                  \
        if (!stream->capture) return reach(1), vf_##name##_##part##_kernels(s, NULL), cudaGetLastError();              \
        cudaGraphNode_t n = record(run_##part##_##name, stream, VF_##name);                                            \
        if (n) n->view.name = *s;                                                                                      \
        return cudaGetLastError();                                                                                     \
    }
#else
/** A host form cannot be split into launches. */
#define APART(name, part)                                                                                              \
    cudaError_t vf_##name##_##part##_cuda(const struct vf_##name##_view *s, cudaStream_t stream)                       \
    {                                                                                                                  \
        return (void)s, (void)stream, cudaGetLastError();                                                              \
    }
#endif
VF_APART(APART)
#undef APART

static cudaError_t instantiate(cudaGraphExec_t *exec, cudaGraph_t graph)
{
    *exec = calloc(1, sizeof **exec);
    if (!*exec) return note(cudaErrorMemoryAllocation);
    (*exec)->graph = *graph;
    return cudaSuccess;
}
#if CUDART_VERSION >= 12000
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    (void)flags;
    return instantiate(exec, graph);
}
#else
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *node, char *log,
                                 size_t bytes)
{
    (void)node, (void)log, (void)bytes;
    return instantiate(exec, graph);
}
#endif

#if CUDART_VERSION >= 11010
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) { return (void)exec, (void)stream, cudaSuccess; }
#endif

/* ---- contents of a graph: a node per stage, and its edges without transitive ones
 * --------------------------------- */

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    for (int i = 0; i < graph->count && nodes; i++) nodes[i] = &graph->node[i];
    *count = (size_t)graph->count;
    return cudaSuccess;
}

static size_t edges(struct CUgraph_st *g, cudaGraphNode_t *from, cudaGraphNode_t *to)
{
    size_t count = 0;
    for (int i = 0; i < g->count; i++) {
        uint64_t direct = g->node[i].behind;
        for (int k = 0; k < i; k++)
            if (g->node[i].behind >> k & 1) direct &= ~g->node[k].behind;
        for (int k = 0; k < i; k++) {
            if (!(direct >> k & 1)) continue;
            if (from) from[count] = &g->node[k], to[count] = &g->node[i];
            count++;
        }
    }
    return count;
}
#if CUDART_VERSION >= 13000
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *data,
                              size_t *count)
{
    (void)data;
    return *count = edges(graph, from, to), cudaSuccess;
}
#else
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count)
{
    return *count = edges(graph, from, to), cudaSuccess;
}
#endif

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
    return (void)node, *type = cudaGraphNodeTypeKernel, cudaSuccess;
}

/** The kernel of a node is the form of its stage. */
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *params)
{
    memset(params, 0, sizeof *params);
    params->func = (void *)(uintptr_t)node->form;
    params->gridDim.x = params->blockDim.x = 1;
    return cudaSuccess;
}

#if CUDART_VERSION >= 11070
/** Of a node's attributes only its priority: that of the stream that captured it. */
cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                            cudaLaunchAttributeValue *value)
{
    if (attribute != cudaLaunchAttributePriority) return note(cudaErrorInvalidValue);
    value->priority = node->priority;
    return cudaSuccess;
}
#endif

#if CUDART_VERSION >= 12030
cudaError_t cudaFuncGetName(const char **name, const void *kernel)
{
    static const struct {
        stage_form *form;
        const char *name;
    } known[] = {
#define VF_STAGE(name, needs, what) {run_##name, #name},
#include "stages.def"
#undef VF_STAGE
#ifdef EMULATED
#define APART(name, part) {run_##part##_##name, #part " " #name},
        VF_APART(APART)
#undef APART
#endif
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((uintptr_t)known[i].form == (uintptr_t)kernel) return *name = known[i].name, cudaSuccess;
    return note(cudaErrorInvalidDeviceFunction);
}
#endif

/* ---- work -------------------------------------------------------------------------------------------------------- */

static int device_reads(const void *from, size_t bytes)
{
    const struct area *a = area_of(from);
    const uint8_t *p = from;
    return a && p >= a->seen && p + bytes <= a->seen + a->bytes;
}

/** 1 if a GPU could read the addresses in the parameters. Requires accessible device memory. */
static int readable(const struct vf_ingest_view *s)
{
    for (int32_t i = 0; i < s->geometry.cameras; i++) {
        const struct vf_source *source = &s->given->source[i];
        const struct vf_level *l = &s->geometry.raw[i];
        const size_t rows = (size_t)(l->height - 1);
        if (!device_reads(source->data, rows * source->pitch + (size_t)(vf_format_bytes(source->format) * l->width)))
            return 0;
        if (source->mask && !device_reads(source->mask, rows * source->mask_pitch + (size_t)l->width)) return 0;
    }
    return 1;
}

/** Last node that has not run and whose predecessors have. */
static cudaGraphNode_t ready(struct CUgraph_st *g, uint64_t done)
{
    for (int i = g->count - 1; i >= 0; i--)
        if (!(done >> i & 1) && !(g->node[i].behind & ~done)) return &g->node[i];
    return NULL;
}

static cudaGraphNode_t ingest_of(struct CUgraph_st *g)
{
    cudaGraphNode_t n = g->node;
    while (n->form != run_ingest) n++;
    return n;
}

uint64_t fake_stage_ns = 1000;

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    static uint64_t clock_ns;
    struct CUgraph_st *g = &exec->graph;
    uint64_t(*const clock)[2] = g->node[g->count - 1].view.report.clocks_out;
    struct CUgraphNode_st *n;
    uint64_t done = 0;
    (void)stream;
    begin();
    reach(1);
    if (!readable(&ingest_of(g)->view.ingest)) {
        reach(0);
        return end(note(cudaErrorIllegalAddress));
    }
    while ((n = ready(g, done)) != NULL) {
        clock[n->clock][0] = clock_ns += fake_stage_ns;
        n->form(&n->view);
        clock[n->clock][1] = clock_ns += fake_stage_ns;
        done |= (uint64_t)1 << (n - g->node);
    }
    reach(0);
    return end(cudaSuccess);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    (void)stream;
    begin();
    if (kind == cudaMemcpyHostToDevice && !device_reads(to, bytes)) return end(note(cudaErrorInvalidValue));
    reach(1);
    memcpy(to, from, bytes);
    reach(0);
    return end(cudaSuccess);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    (void)stream;
    begin();
    if (!device_reads(to, bytes)) return end(note(cudaErrorInvalidValue));
    reach(1);
    memset(to, value, bytes);
    reach(0);
    return end(cudaSuccess);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    return cudaMemcpyAsync(to, from, bytes, kind, NULL);
}

cudaError_t cudaMemset(void *to, int value, size_t bytes) { return cudaMemsetAsync(to, value, bytes, NULL); }

/* All work is complete when the call that starts it returns; tests/core/fault.c delays it. */
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return (void)stream, cudaSuccess; }
cudaError_t cudaStreamQuery(cudaStream_t stream) { return (void)stream, cudaSuccess; }

/* ---- the device -------------------------------------------------------------------------------------------------- */

cudaError_t cudaGetDeviceCount(int *count) { return *count = 1, cudaSuccess; }
cudaError_t cudaGetDevice(int *device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : note(cudaErrorInvalidDevice); }

/** Number of multiprocessors: EMULATE_MULTIPROCESSORS, or 8. Kernels distribute their work by it. */
static int multiprocessors(void)
{
    const char *given = getenv("EMULATE_MULTIPROCESSORS");
    return given && atoi(given) > 0 ? atoi(given) : 8;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    if (device) return note(cudaErrorInvalidDevice);
    memset(properties, 0, sizeof *properties);
#ifdef EMULATED
    strcpy(properties->name, "none, kernels are emulated on this machine's processor");
#else
    memset(properties->name, 'x', sizeof properties->name - 1); /* the longest possible name */
    memcpy(properties->name, "fake", 4);
#endif
    properties->sharedMemPerBlockOptin = 49152;
    properties->multiProcessorCount = multiprocessors();
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr which, int device)
{
    if (device) return note(cudaErrorInvalidDevice);
    *value = which == cudaDevAttrMultiProcessorCount ? multiprocessors() : 227 << 10;
    return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }

const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
#define NAME(e)                                                                                                        \
    case e: return #e;
        /* clang-format off */
        NAME(cudaSuccess)
        NAME(cudaErrorInvalidValue)
        NAME(cudaErrorMemoryAllocation)
        NAME(cudaErrorInsufficientDriver)
        NAME(cudaErrorInvalidDeviceFunction)
        NAME(cudaErrorNoDevice)
        NAME(cudaErrorInvalidDevice)
        NAME(cudaErrorNoKernelImageForDevice)
        NAME(cudaErrorNotReady)
        NAME(cudaErrorIllegalAddress)
        NAME(cudaErrorLaunchFailure)
        NAME(cudaErrorStreamCaptureUnsupported)
        NAME(cudaErrorStreamCaptureInvalidated)
        NAME(cudaErrorStreamCaptureUnjoined)
        /* clang-format on */
#undef NAME
    default: return "cudaErrorUnknown";
    }
}
