/* SPDX-License-Identifier: MIT */
/* Reference kernels: empty ones, as the floor of vfcheck's times; and a neighbour that occupies the whole device, like
 * another network or encoder in the same process. */
#include <cuda_runtime.h>

static __global__ void nothing_k() {}

/** Each block multiplies and adds for a given time [ns]. */
static __global__ void neighbour_k(unsigned long long ns, float *never)
{
    unsigned long long start, now;
    float x = (float)threadIdx.x;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        for (int i = 0; i < 64; i++) x = x * 0.999f + 1.0f;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - start < ns);
    if (x < 0.0f) *never = x;
}

extern "C" cudaError_t neighbour_launch(int blocks, unsigned block_us, cudaStream_t stream)
{
    neighbour_k<<<blocks, 256, 0, stream>>>(block_us * 1000ull, nullptr);
    return cudaGetLastError();
}

extern "C" cudaError_t floor_launch(cudaStream_t stream)
{
    nothing_k<<<1, 32, 0, stream>>>();
    return cudaGetLastError();
}
