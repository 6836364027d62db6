/* SPDX-License-Identifier: MIT */
/* Helpers of all kernels: architecture of the device code, reductions over a warp, dot products, clock of a stage,
 * launch sizes. */
#ifndef VF_KERNEL_CUH
#define VF_KERNEL_CUH

#include <cuda_runtime.h>

#include "base/view.h"

/* VF_ARCH: compute capability whose instructions the device code uses, times 100; 0 when nvcc compiles for the host.
 * NVCC_EXTRA=-DVF_FORCE_ARCH=620 builds, for any GPU, the code of an sm_62, so that a newer GPU can test it. This works
 * because the instructions in the last column are legal on newer GPUs too.
 *
 *     branch                                from  instruction                    on older GPUs
 *     kernel.cuh        vf_warp_sum()       800   redux.sync.add                 five butterfly shuffles
 *     kernel.cuh        vf_warp_min()       800   redux.sync.min                 five butterfly shuffles
 *     kernel.cuh        vf_dot4()           610   dp4a                           four products
 *     kernel.cuh        vf_dot2()           610   dp2a                           two products
 *     describe.cu       rotate_pair()       610   dp2a                           vf_rotated_x(), vf_rotated_y()
 *     patch.cuh         interpolate()       610   dp2a                           vf_track_interpolate()
 *     stixel_column.cuh lane_means::add()   610   dp2a                           mask, shift, sum
 *     ego_list.cuh      lanes_with_same()   700   match.any.sync                 32 shuffles
 *     dense_packed.cuh  min_u16x2()         900   vimnmx.u16x2                   800: min.f16x2; else subtraction, prmt
 *     dense_packed.cuh  add_min_u16x2()     900   viaddmnmx.u16x2, from CUDA 12  sum, then min_u16x2()
 *     dense_paths.cuh   prefetch_sums()     800   prefetch.global.L2             nothing
 *     dense_winner.cuh  offset_or_3()       900   viaddmnmx.u16x2, from CUDA 12  mask, then min_u16x2()
 */
#if defined(__CUDA_ARCH__) && defined(VF_FORCE_ARCH)
#if VF_FORCE_ARCH > __CUDA_ARCH__
#error "VF_FORCE_ARCH is above the architecture that is compiled for"
#endif
#define VF_ARCH VF_FORCE_ARCH
#elif defined(__CUDA_ARCH__)
#define VF_ARCH __CUDA_ARCH__
#else
#define VF_ARCH 0
#endif

/** Attribute of a kernel's parameter struct (its view), which keeps it in constant memory even if array elements are
 *  indexed at run time. Otherwise nvcc 13.0 copies views of up to 128 bytes to local memory (kernel of stage refill on
 *  an H100: 8.8 us without the copy, 11.9 us with it). */
#if CUDART_VERSION >= 11070 && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700)
#define VF_CONSTANT __grid_constant__
#else
#define VF_CONSTANT
#endif

#define VF_WARP 32
#define VF_ALL 0xffffffffu

/** Returns to every lane the sum of v over the warp. */
static __device__ __forceinline__ int32_t vf_warp_sum(int32_t v)
{
#if VF_ARCH >= 800
    return __reduce_add_sync(VF_ALL, v);
#else
    for (int step = VF_WARP / 2; step; step /= 2) v += __shfl_xor_sync(VF_ALL, v, step);
    return v;
#endif
}

/** Returns to every lane the minimum of v over the warp. */
static __device__ __forceinline__ uint32_t vf_warp_min(uint32_t v)
{
#if VF_ARCH >= 800
    return __reduce_min_sync(VF_ALL, v);
#else
    for (int step = VF_WARP / 2; step; step /= 2) v = min(v, __shfl_xor_sync(VF_ALL, v, step));
    return v;
#endif
}

/** Returns sum plus the dot product of the four unsigned bytes of a and b. */
static __device__ __forceinline__ uint32_t vf_dot4(uint32_t a, uint32_t b, uint32_t sum)
{
#if VF_ARCH >= 610
    return __dp4a(a, b, sum);
#else
    for (int i = 0; i < 32; i += 8) sum += (a >> i & 255) * (b >> i & 255);
    return sum;
#endif
}

/** Returns sum plus the dot product of the two 16-bit numbers in `a` with the two lower bytes of `pair`. */
static __device__ __forceinline__ uint32_t vf_dot2(uint32_t a, uint32_t pair, uint32_t sum)
{
#if VF_ARCH >= 610
    return __dp2a_lo(a, pair, sum);
#else
    return sum + (a & 0xffff) * (pair & 255) + (a >> 16) * (pair >> 8 & 255);
#endif
}

/** Global clock of the device [ns]. */
static __device__ __forceinline__ uint64_t vf_clock_ns()
{
    uint64_t t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

/** Records the start of a stage in clock[0] [ns], from block 0. Called by one thread of each block. */
static __device__ __forceinline__ void vf_clock_start(uint64_t *clock, uint32_t block)
{
    if (block == 0) clock[0] = vf_clock_ns();
}
/** Records the end of a stage in clock[1] [ns], as the maximum over its blocks. Called by one thread of each block. The
 *  clock only rises, so clock[1] is not cleared between frames. */
static __device__ __forceinline__ void vf_clock_end(uint64_t *clock)
{
    atomicMax((unsigned long long *)&clock[1], (unsigned long long)vf_clock_ns());
}

/** Number of multiprocessors of the current device; 1 if the query fails. It may decide only what changes the time, not
 *  what changes the result. */
static inline int vf_multiprocessors()
{
    int device, count;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
        return 1;
    return count;
}

/** Number of blocks of `size` threads that cover `count` items. */
static inline unsigned vf_blocks(int count, int size) { return (unsigned)((count + size - 1) / size); }

#endif
