/* SPDX-License-Identifier: MIT */
/* Portability layer of all sources, C11 and CUDA C++14: keywords that differ, vectorisation attributes of the host,
 * shared integer arithmetic. */
#ifndef VF_H
#define VF_H

#include <float.h>
#include <stdint.h>
#include <string.h>

#include "vfront.h"

/* Requires sums and products rounded to their own type (FLT_EVAL_METHOD 0, or 16, which exempts only _Float16). x87
 * arithmetic (gcc -m32) rounds elsewhere and gives other bits. */
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "vfront: FLT_EVAL_METHOD must be 0, other arithmetic gives other bits: on a 32-bit x86 -msse2 -mfpmath=sse"
#endif

#ifdef __CUDACC__
#define VF_FN static __host__ __device__ __forceinline__
#define VF_STATIC_ASSERT(condition, message) static_assert(condition, message)
#define VF_ALIGN(bytes) alignas(bytes)
#else
#define VF_FN static inline
#define VF_STATIC_ASSERT(condition, message) _Static_assert(condition, message)
#define VF_ALIGN(bytes) _Alignas(bytes)
#endif
#define VF_CACHE_LINE VF_ALIGN(64)

/** Attribute of a host function with an integer inner loop: a second copy for AVX2, chosen by the loader. Both copies
 *  give the same integers. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__CUDACC__) && !defined(__SANITIZE_ADDRESS__) &&              \
    !defined(VF_NO_CLONES)
#define VF_HOT __attribute__((target_clones("avx2", "default")))
#else
#define VF_HOT
#endif

/** Attribute of a hot host function: as VF_HOT, and all calls in it are inlined. Also for floating point: both copies
 *  give the same bits, because products and sums are not contracted and vector roots and quotients are IEEE's. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define VF_HOT_FLAT VF_HOT __attribute__((flatten))
#else
#define VF_HOT_FLAT VF_HOT
#endif

/** Fully unrolls the short loop that follows, so that the enclosing long loop is vectorised. */
#if defined(__CUDA_ARCH__) || (defined(__clang__) && !defined(__CUDACC__))
#define VF_UNROLL_FULL _Pragma("unroll")
#elif defined(__CUDACC__)
#define VF_UNROLL_FULL
#else
#define VF_UNROLL_FULL _Pragma("GCC unroll 32")
#endif

/** Precedes a loop with as many iterations as a vector has elements: keeps gcc from unrolling it before
 *  vectorisation. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define VF_KEEP_LOOP _Pragma("GCC unroll 1")
#else
#define VF_KEEP_LOOP
#endif

/** Words of 4 and 8 bytes for copying or clearing memory of any type; exempt from strict aliasing. */
#ifdef __GNUC__
#define VF_MAY_ALIAS __attribute__((may_alias))
#else
#define VF_MAY_ALIAS
#endif
typedef uint32_t VF_MAY_ALIAS vf_word;
typedef uint64_t VF_MAY_ALIAS vf_long_word;

VF_STATIC_ASSERT((-5 >> 1) == -3, "vfront relies on arithmetic right shifts of negative numbers");

/** Marker of an absent index, match or sum. */
#define VF_NONE 0xffffffffu

/** Number of bits of a corner's sort key: vf_detect_key() in features/detect.h. */
#define VF_KEY_BITS 62

/* ---- shared arithmetic ------------------------------------------------------------------------------------------- */

VF_FN int32_t vf_min(int32_t a, int32_t b) { return a < b ? a : b; }
VF_FN int32_t vf_max(int32_t a, int32_t b) { return a > b ? a : b; }
VF_FN int32_t vf_clamp(int32_t v, int32_t low, int32_t high) { return vf_min(vf_max(v, low), high); }
VF_FN int32_t vf_abs(int32_t v) { return v < 0 ? -v : v; }

/** Reads a float from memory, rounded to single precision. Without this read, gcc 11 and 12 for x86-64 do not round two
 *  adjacent doubles that are stored as floats. */
VF_FN double vf_rounded(const float *value)
{
#ifdef __CUDA_ARCH__
    return (double)*value;
#else
    return (double)*(const volatile float *)value;
#endif
}

/** Centre of pixel u of a level, as a coordinate on level 0 [1/65536 px]. step_q16: size of the level's pixels [1/65536
 *  px of level 0]. */
VF_FN int32_t vf_centre_q16(int32_t u, uint32_t step_q16)
{
    return (int32_t)((uint32_t)(2 * u + 1) * step_q16 >> 1) - 0x8000;
}

/** Pixel of level 0 that contains the centre of pixel u of a level. step_q16: size of the level's pixels [1/65536 px of
 *  level 0]. */
VF_FN int32_t vf_pixel0(int32_t u, uint32_t step_q16) { return (int32_t)((uint32_t)(2 * u + 1) * step_q16 >> 17); }

/** Converts a coordinate on level 0 to a coordinate on a level of the tracker's pyramid, both in 1/65536 px of their
 *  level. */
VF_FN int32_t vf_to_level_q16(int32_t x_q16, int32_t level) { return ((x_q16 + 0x8000) >> level) - 0x8000; }

/** Nearest whole pixel of a coordinate [1/65536 px]. */
VF_FN int32_t vf_pixel(int32_t x_q16) { return (x_q16 + 0x8000) >> 16; }

/** Running mean after n values, the last of which is `value`. */
VF_FN uint32_t vf_mean_update(uint32_t mean, uint32_t value, int32_t n)
{
    return mean + (uint32_t)(((int32_t)value - (int32_t)mean) / n);
}

/** Nearest integer, halves away from zero; |v| must be below 2^30. */
VF_FN int32_t vf_round(float v) { return (int32_t)(v < 0.0f ? v - 0.5f : v + 0.5f); }

#endif
