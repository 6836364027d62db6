/* SPDX-License-Identifier: MIT */
/* The language of all sources, C11 and CUDA C++14 alike: keywords that differ between the two, vector code on the host,
 * and the integer arithmetic that several folders need. */
#ifndef VF_H
#define VF_H

#include <stdint.h>
#include <string.h>

#include "vfront.h"

#ifdef __CUDACC__
#define VF_FN static __host__ __device__ __forceinline__
#define VF_STATIC_ASSERT(condition, message) static_assert(condition, message)
#define VF_ALIGN(bytes) alignas(bytes)
#else
#define VF_FN static inline
#define VF_STATIC_ASSERT(condition, message) _Static_assert(condition, message)
#define VF_ALIGN(bytes) _Alignas(bytes)
#endif
#define VF_LINE VF_ALIGN(64) /* at the start of a cache line */

/** Attribute of a host form's inner loop over integers, in plain C: a second copy for AVX2, chosen by the loader.
 *  Integers have one result in either copy. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__CUDACC__) && !defined(__SANITIZE_ADDRESS__) &&              \
    !defined(VF_NO_CLONES)
#define VF_HOT __attribute__((target_clones("avx2", "default")))
#else
#define VF_HOT
#endif

/** The same with all calls in it flattened; of loops over floating point, too: products and sums are not contracted,
 *  and vector roots and quotients are IEEE's, so both copies give the same bits. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define VF_LOOP VF_HOT __attribute__((flatten))
#else
#define VF_LOOP VF_HOT
#endif

/** Unrolls the short loop that follows completely, so that the long loop around it becomes vector code. */
#if defined(__CUDA_ARCH__) || (defined(__clang__) && !defined(__CUDACC__))
#define VF_PEEL _Pragma("unroll")
#elif defined(__CUDACC__)
#define VF_PEEL
#else
#define VF_PEEL _Pragma("GCC unroll 32")
#endif

/** Before a loop of as many turns as a vector has elements: it stays a loop until it becomes vector code. gcc unrolls
 *  loops of up to 16 turns before, and does not find vectors in what is left. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define VF_KEEP _Pragma("GCC unroll 1")
#else
#define VF_KEEP
#endif

/** Words of 4 and of 8 bytes by which memory of any type is copied or cleared: what a compiler knows of types does not
 *  keep it from ordering such an access with the others. */
#ifdef __GNUC__
#define VF_ANY_TYPE __attribute__((may_alias))
#else
#define VF_ANY_TYPE
#endif
typedef uint32_t VF_ANY_TYPE vf_word;
typedef uint64_t VF_ANY_TYPE vf_long_word;

VF_STATIC_ASSERT((-5 >> 1) == -3, "vfront relies on arithmetic right shifts of negative numbers");

/** Marker of an absent index, match or sum. */
#define VF_NONE 0xffffffffu

/* ---- shared arithmetic ------------------------------------------------------------------------------------------- */

VF_FN int32_t vf_min(int32_t a, int32_t b) { return a < b ? a : b; }
VF_FN int32_t vf_max(int32_t a, int32_t b) { return a > b ? a : b; }
VF_FN int32_t vf_clamp(int32_t v, int32_t least, int32_t most) { return vf_min(vf_max(v, least), most); }
VF_FN int32_t vf_abs(int32_t v) { return v < 0 ? -v : v; }

/** A number that was rounded to single precision, as memory has it. Of two doubles side by side that are rounded and go
 *  on as doubles, gcc 11 and 12 for x86-64 would take the values from before. */
VF_FN double vf_rounded(const float *value)
{
#ifdef __CUDA_ARCH__
    return (double)*value;
#else
    return (double)*(const volatile float *)value;
#endif
}

/** Level 0 coordinate, in Q16, of the centre of pixel u of a level whose pixels are step_q16 large. */
VF_FN int32_t vf_centre_q16(int32_t u, uint32_t step_q16)
{
    return (int32_t)((uint32_t)(2 * u + 1) * step_q16 >> 1) - 0x8000;
}

/** Level 0 pixel in which that centre lies. */
VF_FN int32_t vf_pixel0(int32_t u, uint32_t step_q16) { return (int32_t)((uint32_t)(2 * u + 1) * step_q16 >> 17); }

/** Level 0 coordinate (Q16) to that of a level of halves (Q16). */
VF_FN int32_t vf_to_level_q16(int32_t x_q16, int32_t level) { return ((x_q16 + 0x8000) >> level) - 0x8000; }

/** Nearest whole pixel of a Q16 coordinate. */
VF_FN int32_t vf_pixel(int32_t x_q16) { return (x_q16 + 0x8000) >> 16; }

/** Running mean of n values, of which `value` is the last. */
VF_FN uint32_t vf_running_mean(uint32_t mean, uint32_t value, int32_t n)
{
    return mean + (uint32_t)(((int32_t)value - (int32_t)mean) / n);
}

/** Nearest integer, halves away from zero; |v| must be below 2^30. */
VF_FN int32_t vf_round(float v) { return (int32_t)(v < 0.0f ? v - 0.5f : v + 0.5f); }

#endif
