/* SPDX-License-Identifier: MIT */
/* The part of CUDA C++ that the kernels use, for a C++ compiler: types, qualifiers, intrinsics. Intrinsics of a whole
 * warp or block pass their lane's values to tests/emulate/block.cpp and wait there. Each follows its description in
 * NVIDIA's CUDA C++ Programming Guide and PTX ISA, not the kernels. */
#ifndef EMULATE_CUDA_RUNTIME_H
#define EMULATE_CUDA_RUNTIME_H

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <functional>

extern "C" {
#include "../fake/cuda_runtime_api.h"
}

/* ---- qualifiers and types ---------------------------------------------------------------------------------------- */

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
/* One copy, because one block runs at a time; the section is filled with noise before every launch. */
#define __shared__ static __attribute__((section("shared_memory")))

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct alignas(8) int2 {
    int x, y;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
static inline int2 make_int2(int x, int y) { return {x, y}; }
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

extern uint3 threadIdx, blockIdx; /* of the running lane */
extern dim3 blockDim, gridDim;
extern int emulate_lane; /* index of the running lane in its warp */
static const int warpSize = 32;

/* ---- launches and collectives: tests/emulate/block.cpp ----------------------------------------------------------- */

namespace emulate
{
/** Runs a kernel, block after block. Ends the program with a message on a deadlock. */
void launch(const char *kernel, dim3 grid, dim3 block, size_t dynamic_bytes, const std::function<void()> &thread);
/** Dynamic shared memory of the block. */
void *dynamic_shared();

enum operation { SHUFFLE, VOTE, MATCH, REDUCE, SYNC_WARP, SYNC_BLOCK, SYNC_NAMED };
/** Waits until every lane of `mask` has called it with the same operation and mask. Returns the 32 lanes' values; those
 *  outside the mask are noise. */
const uint64_t *meet(operation what, unsigned mask, uint64_t value);
/** Waits until all running threads of the block have called it. Returns the number with `flag` set. */
int meet_block(bool flag);
/** Waits until `threads` threads have called it with the same `barrier`, 0 to 15. */
void meet_named(int barrier, int threads);

template <typename T> uint64_t bits(T value)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles take 32 or 64 bits");
    uint64_t b = 0;
    memcpy(&b, &value, sizeof value);
    return b;
}
template <typename T> T value(uint64_t bits)
{
    T v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
/** Shuffle: the value of lane `from`; the caller's own if `from` is outside the lane's segment of `width` lanes. */
template <typename T> T shuffle(unsigned mask, T own, int from, bool inside)
{
    const uint64_t *all = meet(SHUFFLE, mask, bits(own));
    return inside ? value<T>(all[from]) : own;
}
} // namespace emulate

static inline void __syncwarp(unsigned mask = 0xffffffffu) { emulate::meet(emulate::SYNC_WARP, mask, 0); }
static inline void __syncthreads() { emulate::meet_block(false); }
static inline int __syncthreads_count(int flag) { return emulate::meet_block(flag != 0); }
static inline int __syncthreads_or(int flag) { return emulate::meet_block(flag != 0) > 0; }

template <typename T> static inline T __shfl_sync(unsigned mask, T v, int lane, int width = 32)
{
    const int first = emulate_lane / width * width;
    return emulate::shuffle(mask, v, first + (int)((unsigned)lane % (unsigned)width), true);
}
template <typename T> static inline T __shfl_xor_sync(unsigned mask, T v, int flip, int width = 32)
{
    const int own = emulate_lane, from = own ^ flip;
    return emulate::shuffle(mask, v, from, from < (own / width + 1) * width);
}
template <typename T> static inline T __shfl_up_sync(unsigned mask, T v, unsigned step, int width = 32)
{
    const int own = emulate_lane, from = own - (int)step;
    return emulate::shuffle(mask, v, from, from >= own / width * width);
}
template <typename T> static inline T __shfl_down_sync(unsigned mask, T v, unsigned step, int width = 32)
{
    const int own = emulate_lane, from = own + (int)step;
    return emulate::shuffle(mask, v, from, from < (own / width + 1) * width);
}

/** Lanes of `mask` for which the value is `wanted`. */
static inline unsigned emulate_lanes(const uint64_t *all, unsigned mask, uint64_t wanted)
{
    unsigned lanes = 0;
    for (int i = 0; i < 32; i++) lanes |= (unsigned)(mask >> i & 1 && all[i] == wanted) << i;
    return lanes;
}
static inline unsigned __ballot_sync(unsigned mask, int flag)
{
    return emulate_lanes(emulate::meet(emulate::VOTE, mask, flag != 0), mask, 1);
}
static inline int __any_sync(unsigned mask, int flag) { return __ballot_sync(mask, flag) != 0; }
static inline int __all_sync(unsigned mask, int flag) { return __ballot_sync(mask, flag) == mask; }
template <typename T> static inline unsigned __match_any_sync(unsigned mask, T v)
{
    const uint64_t own = emulate::bits(v);
    return emulate_lanes(emulate::meet(emulate::MATCH, mask, own), mask, own);
}
template <typename T, typename F> static inline T emulate_reduce(unsigned mask, T v, F two)
{
    const uint64_t *all = emulate::meet(emulate::REDUCE, mask, emulate::bits(v));
    T sum = v;
    for (int i = 0; i < 32; i++)
        if (mask >> i & 1 && i != emulate_lane) sum = two(sum, emulate::value<T>(all[i]));
    return sum;
}
static inline int __reduce_add_sync(unsigned mask, int v)
{
    return emulate_reduce(mask, v, [](int a, int b) { return (int)((unsigned)a + (unsigned)b); });
}
static inline unsigned __reduce_add_sync(unsigned mask, unsigned v)
{
    return emulate_reduce(mask, v, [](unsigned a, unsigned b) { return a + b; });
}
static inline int __reduce_min_sync(unsigned mask, int v)
{
    return emulate_reduce(mask, v, [](int a, int b) { return a < b ? a : b; });
}
static inline unsigned __reduce_min_sync(unsigned mask, unsigned v)
{
    return emulate_reduce(mask, v, [](unsigned a, unsigned b) { return a < b ? a : b; });
}

/* ---- atomics and memory: one lane runs at a time ----------------------------------------------------------------- */

template <typename T> static inline T emulate_exchange(T *at, T now)
{
    const T old = *at;
    *at = now;
    return old;
}
template <typename T> static inline T atomicAdd(T *at, T v) { return emulate_exchange(at, (T)(*at + v)); }
static inline unsigned atomicAdd(unsigned *at, int v) { return emulate_exchange(at, *at + (unsigned)v); }
template <typename T> static inline T atomicMin(T *at, T v) { return emulate_exchange(at, v < *at ? v : *at); }
template <typename T> static inline T atomicMax(T *at, T v) { return emulate_exchange(at, v > *at ? v : *at); }
template <typename T> static inline T atomicOr(T *at, T v) { return emulate_exchange(at, (T)(*at | v)); }
template <typename T> static inline T atomicExch(T *at, T v) { return emulate_exchange(at, v); }
static inline unsigned atomicInc(unsigned *at, unsigned most)
{
    return emulate_exchange(at, *at >= most ? 0 : *at + 1);
}
template <typename T> static inline T atomicCAS(T *at, T old, T v)
{
    return emulate_exchange(at, *at == old ? v : *at);
}
template <typename T> static inline T __ldg(const T *at) { return *at; }
template <typename T> static inline T __ldcg(const T *at) { return *at; }
static inline void __threadfence() {}
static inline void __threadfence_system() {}

/* ---- arithmetic of a lane ---------------------------------------------------------------------------------------- */

static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
static inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
static inline unsigned long long min(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
static inline unsigned long long max(unsigned long long a, unsigned long long b) { return a > b ? a : b; }

static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline int __clz(int v) { return v ? __builtin_clz((unsigned)v) : 32; }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    return (unsigned)(((uint64_t)high << 32 | low) >> (shift & 31));
}
/** Selects one of eight bytes by the lowest three bits of a selector. */
static inline unsigned emulate_byte(unsigned a, unsigned b, unsigned selector)
{
    return (unsigned)(((uint64_t)b << 32 | a) >> 8 * (selector & 7) & 255);
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selectors)
{
    unsigned r = 0;
    for (int i = 0; i < 4; i++) r |= emulate_byte(a, b, selectors >> 4 * i) << 8 * i;
    return r;
}
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum)
{
    for (int i = 0; i < 32; i += 8) sum += (a >> i & 255) * (b >> i & 255);
    return sum;
}
/* Two 16-bit halves of a times two bytes of b, the lower or the upper ones. */
static inline unsigned __dp2a_lo(unsigned a, unsigned b, unsigned sum)
{
    return sum + (a & 0xffff) * (b & 255) + (a >> 16) * (b >> 8 & 255);
}
static inline unsigned __dp2a_hi(unsigned a, unsigned b, unsigned sum) { return __dp2a_lo(a, b >> 16, sum); }
static inline int __dp2a_lo(int a, int b, int sum)
{
    const int low = (int16_t)a * (int8_t)b, high = (int16_t)(a >> 16) * (int8_t)(b >> 8);
    return (int)((unsigned)sum + (unsigned)low + (unsigned)high);
}
static inline int __dp2a_hi(int a, int b, int sum) { return __dp2a_lo(a, b >> 16, sum); }
static inline unsigned __vminu2(unsigned a, unsigned b)
{
    return min(a & 0xffff, b & 0xffff) | min(a >> 16, b >> 16) << 16;
}
/** min(a + b, c) of each half, the sum modulo 2^16. */
static inline unsigned __viaddmin_u16x2(unsigned a, unsigned b, unsigned c)
{
    return __vminu2(((a & 0xffff) + (b & 0xffff)) & 0xffff, c & 0xffff) | __vminu2((a >> 16) + (b >> 16), c >> 16)
                                                                              << 16;
}

/* ---- PTX, by the names of translate.py
 * ---------------------------------------------------------------------------- */

static const int ptx_globaltimer = 0;
extern uint64_t emulate_clock_ns;
static inline void ptx_mov_u64(uint64_t &to, int) { to = ++emulate_clock_ns; }
static inline void ptx_mad_lo_u32(unsigned &to, unsigned a, unsigned b, unsigned c) { to = a * b + c; }
/** Unlike __byte_perm(): bit 3 of a selector replicates the byte's sign bit eight times. */
static inline void ptx_prmt_b32(unsigned &to, unsigned a, unsigned b, unsigned selectors)
{
    to = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned selector = selectors >> 4 * i, byte = emulate_byte(a, b, selector);
        to |= (selector & 8 ? (byte & 128 ? 255u : 0u) : byte) << 8 * i;
    }
}
/** Value of a 16-bit floating point number; NaN stays NaN. */
static inline float emulate_half(unsigned h)
{
    const float sign = h & 0x8000 ? -1.0f : 1.0f;
    const int exponent = (int)(h >> 10 & 31), fraction = (int)(h & 1023);
    if (exponent == 31) return fraction ? NAN : sign * INFINITY;
    return sign * ldexpf((float)(exponent ? fraction + 1024 : fraction), (exponent ? exponent : 1) - 25);
}
static inline unsigned emulate_min_half(unsigned a, unsigned b)
{
    const float x = emulate_half(a), y = emulate_half(b);
    if (x != x) return y != y ? 0x7fff : b;
    return y != y || x < y || (x == y && a & 0x8000) ? a : b;
}
static inline void ptx_min_f16x2(unsigned &to, unsigned a, unsigned b)
{
    to = emulate_min_half(a & 0xffff, b & 0xffff) | emulate_min_half(a >> 16, b >> 16) << 16;
}
/** Reads the address, so that a sanitizer sees invalid ones that no GPU would report. */
static inline void ptx_prefetch_global_L2(const void *p) { (void)*(const volatile char *)p; }
static inline void ptx_bar_sync(int barrier, int threads) { emulate::meet_named(barrier, threads); }

/* ---- device functions; tests/fake/cudart.c has the rest ---------------------------------------------------------- */

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
template <typename F> static inline cudaError_t cudaFuncSetAttribute(F *, cudaFuncAttribute, int)
{
    return cudaSuccess;
}

#endif
