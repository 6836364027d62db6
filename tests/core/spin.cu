/* SPDX-License-Identifier: MIT */
/* A kernel of given duration, for hang.c and return.c: GPU work that is late. */
#include <cuda_runtime.h>

static __device__ unsigned long long now_ns()
{
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

static __global__ void spin_k(unsigned long long ns)
{
    for (const unsigned long long start = now_ns(); now_ns() - start < ns;) {}
}

extern "C" cudaError_t spin_launch(int ms, cudaStream_t stream)
{
    spin_k<<<1, 1, 0, stream>>>((unsigned long long)ms * 1000000);
    return cudaGetLastError();
}
