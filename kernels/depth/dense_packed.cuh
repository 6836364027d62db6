/* SPDX-License-Identifier: MIT */
/* dense: minima of pairs of 16-bit numbers in a register, and the layout of a lane's costs in a cost volume. */
#ifndef VF_DENSE_PACKED_CUH
#define VF_DENSE_PACKED_CUH

#include "kernels/kernel.cuh"

#define BOTH_HALVES 0x10001u /* factor that copies a 16-bit number to both halves of a word */

/** Minimum of the low halves of a and b, and minimum of their high halves. Each half is below 0x7c00. */
static __device__ __forceinline__ uint32_t min_u16x2(uint32_t a, uint32_t b)
{
#if VF_ARCH >= 900
    return __vminu2(a, b);
#elif VF_ARCH >= 800 /* as 16-bit floats: positive floats order like their bits */
    uint32_t least;
    asm("min.f16x2 %0, %1, %2;" : "=r"(least) : "r"(a), "r"(b));
    return least;
#else
    /* The top bit of each half of (a | 0x80008000) - b is 1 where a >= b; no borrow passes between the halves. prmt
     * copies it to the whole half: bit 3 of a selector repeats the sign of a byte. __byte_perm() cannot, because it
     * uses three bits of each selector. */
    uint32_t take_b;
    asm("prmt.b32 %0, %1, 0, 0xbb99;" : "=r"(take_b) : "r"((a | 0x80008000u) - b));
    return (b & take_b) | (a & ~take_b);
#endif
}

/** Minimum of the low halves of a + b and c, and minimum of their high halves. Each half of a + b and of c is below
 *  0x7c00. */
static __device__ __forceinline__ uint32_t add_min_u16x2(uint32_t a, uint32_t b, uint32_t c)
{
#if VF_ARCH >= 900 && __CUDACC_VER_MAJOR__ >= 12
    return __viaddmin_u16x2(a, b, c);
#else
    return min_u16x2(a + b, c);
#endif
}

#define DISPARITY_GROUP (2 * VF_WARP) /* disparities of a group: two neighbouring ones for each lane of a warp */

/** A lane's COUNT path costs of a pixel, as bytes in the order of a cost volume. pack(): makes the bytes from COUNT / 2
 *  words, whose halves are cost k and cost k + COUNT / 2. add(): adds byte by byte; each sum is at most 255. word():
 *  the four bytes from byte j on. */
template <int COUNT> struct lane_bytes;
template <> struct lane_bytes<2> {
    typedef uint16_t type;
    static __device__ __forceinline__ type pack(const uint32_t (&pair)[1])
    {
        return (type)__byte_perm(pair[0], 0, 0x4420);
    }
    static __device__ __forceinline__ type add(type a, type b) { return (type)(a + b); }
    static __device__ __forceinline__ uint32_t word(type bytes, int) { return bytes; }
};
template <> struct lane_bytes<4> {
    typedef uint32_t type;
    static __device__ __forceinline__ type pack(const uint32_t (&pair)[2])
    {
        uint32_t bytes; /* from one multiply-add, which runs in another pipe than permutations and minima */
        asm("mad.lo.u32 %0, %1, 0x100, %2;" : "=r"(bytes) : "r"(pair[1]), "r"(pair[0]));
        return bytes;
    }
    static __device__ __forceinline__ type add(type a, type b) { return a + b; }
    static __device__ __forceinline__ uint32_t word(type bytes, int) { return bytes; }
};
template <> struct lane_bytes<8> {
    typedef uint2 type;
    static __device__ __forceinline__ type pack(const uint32_t (&pair)[4])
    {
        const uint32_t even = __byte_perm(pair[0], pair[1], 0x6240), odd = __byte_perm(pair[2], pair[3], 0x6240);
        return make_uint2(__byte_perm(even, odd, 0x5410), __byte_perm(even, odd, 0x7632));
    }
    static __device__ __forceinline__ type add(type a, type b) { return make_uint2(a.x + b.x, a.y + b.y); }
    static __device__ __forceinline__ uint32_t word(type bytes, int j) { return j ? bytes.y : bytes.x; }
};

/** Address of a lane's costs of pixel 0 in cost volume `which`, 0 or 1. The lane's costs of the next pixel are VF_WARP
 *  elements further. */
template <int COUNT>
static __device__ __forceinline__ typename lane_bytes<COUNT>::type *lane_costs(const vf_dense_view &s, int which)
{
    return reinterpret_cast<typename lane_bytes<COUNT>::type *>(s.scratch->cost_volume[which]) + threadIdx.x % VF_WARP;
}

static __device__ __forceinline__ const vf_level &picture(const vf_dense_view &s) { return s.geometry.level[0][0]; }

#endif
