/* SPDX-License-Identifier: MIT */
/* A kernel that takes a given time, for hang.c and return.c: work on the GPU that does not end when it should. */
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
