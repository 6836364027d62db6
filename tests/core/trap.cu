/* SPDX-License-Identifier: MIT */
/* Failing kernels, for tests/core/return.c: effects of a bug in any kernel of the process on the CUDA context. */
#include <cuda_runtime.h>

#include <assert.h>

enum { TRAP, ADDRESS, ASSERTION, LAUNCH };

static __global__ void trap_k(int how, int *nowhere)
{
    if (how == TRAP) asm volatile("trap;");
    if (how == ADDRESS) *nowhere = 1;
    assert(how != ASSERTION);
}

/** how: 0 a trap, 1 a write to address 16, 2 an assertion, 3 a launch with more threads than a block can have. */
extern "C" cudaError_t trap_launch(int how, cudaStream_t stream)
{
    trap_k<<<1, how == LAUNCH ? 4096 : 1, 0, stream>>>(how, reinterpret_cast<int *>(16));
    return cudaGetLastError();
}
