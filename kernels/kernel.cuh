/* SPDX-License-Identifier: MIT */
/* What the kernels share: launching, sums over a warp, the clock of a stage. */
#ifndef VF_KERNEL_CUH
#define VF_KERNEL_CUH

#include <cuda_runtime.h>

#include "core/memory.h"

#define VF_WARP 32
#define VF_ALL 0xffffffffu

/** Sum of an integer over a warp, in every lane. The order does not matter: integers. */
static __device__ __forceinline__ int32_t vf_warp_sum(int32_t v)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(VF_ALL, v);
#else
    for (int step = VF_WARP / 2; step; step /= 2) v += __shfl_xor_sync(VF_ALL, v, step);
    return v;
#endif
}

/** Least of a warp, in every lane. */
static __device__ __forceinline__ uint32_t vf_warp_min(uint32_t v)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(VF_ALL, v);
#else
    for (int step = VF_WARP / 2; step; step /= 2) v = min(v, __shfl_xor_sync(VF_ALL, v, step));
    return v;
#endif
}

/** Adds the products of four bytes each to a sum. */
static __device__ __forceinline__ uint32_t vf_dot4(uint32_t a, uint32_t b, uint32_t sum)
{
#if __CUDA_ARCH__ >= 610
    return __dp4a(a, b, sum);
#else
    for (int i = 0; i < 32; i += 8) sum += (a >> i & 255) * (b >> i & 255);
    return sum;
#endif
}

static __device__ __forceinline__ uint64_t vf_clock_ns()
{
    uint64_t t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

/** Called by one thread of each block, when it starts and when it ends. The clock only rises, so nothing needs to be cleared. */
static __device__ __forceinline__ void vf_clock_start(const vf_step &s, vf_stage stage, uint32_t block)
{
    if (block == 0) s.memory->report.clock[stage][0] = vf_clock_ns();
}
static __device__ __forceinline__ void vf_clock_end(const vf_step &s, vf_stage stage)
{
    atomicMax((unsigned long long *)&s.memory->report.clock[stage][1], (unsigned long long)vf_clock_ns());
}

/** Multiprocessors of the device in use; 1 when it does not say. For choices that change the time and not the result. */
static inline int vf_multiprocessors()
{
    int device, count;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
        return 1;
    return count;
}

/** Blocks of `size` that cover `count`. */
static inline unsigned vf_blocks(int count, int size) { return (unsigned)((count + size - 1) / size); }

#endif
