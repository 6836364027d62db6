/* SPDX-License-Identifier: MIT */
#include "gpu_fault.h"

#ifdef VFRONT_CUDA
#include <cuda_runtime_api.h>
#include <stdatomic.h>

static _Atomic uint32_t left; /* calls up to the one that fails; 0: none does */

/** 1 for the call that fails. The library's own thread calls, too. */
static int is_it(void)
{
    uint32_t now = left;
    while (now && !atomic_compare_exchange_weak(&left, &now, now - 1)) continue;
    return now == 1;
}

/** Every call of a step. */
#define CALL(name, parameters, arguments)                                                                              \
    cudaError_t __real_##name parameters;                                                                              \
    cudaError_t __wrap_##name parameters;                                                                              \
    cudaError_t __wrap_##name parameters { return is_it() ? cudaErrorLaunchFailure : __real_##name arguments; }
CALL(cudaPointerGetAttributes, (struct cudaPointerAttributes * a, const void *address), (a, address))
CALL(cudaMemcpyAsync, (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream),
     (to, from, bytes, kind, stream))
CALL(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream), (exec, stream))
CALL(cudaStreamQuery, (cudaStream_t stream), (stream))
CALL(cudaStreamSynchronize, (cudaStream_t stream), (stream))

int gpu_fault_set(uint32_t call)
{
    left = call;
    return 1;
}
#else
int gpu_fault_set(uint32_t call)
{
    (void)call;
    return 0;
}
#endif
