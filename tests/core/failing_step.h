/* SPDX-License-Identifier: MIT */
/* Device faults in a step, for the tests of fail-over: a CUDA call fails or hangs, or a step is lost, never ends or
 * dies halfway. The linker puts the wrappers below in front of the runtime (-Wl,--wrap), the real one with a GPU, else
 * tests/fake/cudart.c. Include after _POSIX_C_SOURCE. */
#ifndef FAILING_STEP_H
#define FAILING_STEP_H

#include "tests/fixture/pair.h"

#include <pthread.h>
#include <stdlib.h>

#include "port/cuda/cuda.h"
#include "core/context.h"
#include "result/carry.h"

enum call { LAUNCH, QUERY, LOOK_UP, COPY, SYNCHRONIZE, CALLS };
static const char *const call_name[CALLS] = {"cudaGraphLaunch", "cudaStreamQuery", "cudaPointerGetAttributes",
                                             "cudaMemcpyAsync", "cudaStreamSynchronize"};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ends = PTHREAD_COND_INITIALIZER;
static struct {
    int fails, hangs;     /* call that fails or hangs; -1: none */
    int lost, endless;    /* lost: steps are not run; endless: and queries report that they are running */
    int held;             /* a step is not run before the fault is over */
    int half;             /* a step dies halfway: its outputs are noise, and it writes no ticket */
    int sticky;           /* all calls fail */
    int managed;          /* all memory is reported as managed */
    int unseen;           /* all memory is reported as pinned, without a device address */
    cudaGraphExec_t exec; /* the step that is held */
    cudaStream_t stream;
    cudaError_t (*ahead)(cudaStream_t stream); /* launches other work ahead of the step; NULL: none */
} fault;

static inline cudaError_t enter(enum call call)
{
    pthread_mutex_lock(&lock);
    const int fails = fault.fails == (int)call || fault.sticky;
    while (fault.hangs == (int)call) pthread_cond_wait(&ends, &lock);
    pthread_mutex_unlock(&lock);
    return fails ? fault.sticky ? cudaErrorIllegalAddress : cudaErrorUnknown : cudaSuccess;
}

static inline void noise(void *to, size_t bytes)
{
    for (uint8_t *at = to; bytes; bytes--) *at++ = (uint8_t)rand();
}

static inline struct vf_context *context_of(vfront_t *vf)
{
    return (struct vf_context *)(((uintptr_t)vf + 63) & ~(uintptr_t)63);
}

/** Leaves the data of a step that dies: noise wherever it may write on the host. */
static inline void die(void)
{
    struct vf_context *s = context_of(&pair_vf);
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
    if (fault.ahead) {
        const cudaError_t refused = fault.ahead(stream);
        if (refused) return refused;
    }
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

static inline void no_fault(void)
{
    fault.fails = fault.hangs = -1;
    fault.lost = fault.endless = fault.held = fault.half = fault.sticky = 0;
}

/** Ends all faults. The test's thread runs a step that was held. */
static inline cudaError_t over(void)
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

#endif
