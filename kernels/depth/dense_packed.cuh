/* SPDX-License-Identifier: MIT */
/* dense: minima of two 16-bit numbers in a register, and the layout of a lane's costs in a cost volume. */
#ifndef VF_DENSE_PACKED_CUH
#define VF_DENSE_PACKED_CUH

#include "kernels/kernel.cuh"

#define BOTH_HALVES 0x10001u /* times a 16-bit number: the number in both halves of a word */

/** Minima of the halves of two words; each half is below 0x7c00. */
static __device__ __forceinline__ uint32_t min_u16x2(uint32_t a, uint32_t b)
{
#if VF_ARCH >= 900
    return __vminu2(a, b);
#elif VF_ARCH >= 800 /* as 16-bit floating point numbers, which have the order of their bits */
    uint32_t least;
    asm("min.f16x2 %0, %1, %2;" : "=r"(least) : "r"(a), "r"(b));
    return least;
#else
    /* The top bit of each half of the difference is 1 where a >= b, and nothing is borrowed from the other half. prmt
     * copies it to the whole half: bit 3 of a selector repeats the byte's sign. __byte_perm() cannot: it takes three
     * bits of each selector. */
    uint32_t take_b;
    asm("prmt.b32 %0, %1, 0, 0xbb99;" : "=r"(take_b) : "r"((a | 0x80008000u) - b));
    return (b & take_b) | (a & ~take_b);
#endif
}

/** Minima of the halves of a + b and c; each half of a + b and of c is below 0x7c00. */
static __device__ __forceinline__ uint32_t add_min_u16x2(uint32_t a, uint32_t b, uint32_t c)
{
#if VF_ARCH >= 900 && __CUDACC_VER_MAJOR__ >= 12
    return __viaddmin_u16x2(a, b, c);
#else
    return min_u16x2(a + b, c);
#endif
}

#define DISPARITY_GROUP (2 * VF_WARP) /* disparities of which each lane has two neighbouring ones */

/** COUNT costs of a lane: bytes as they lie in a cost volume, packed from COUNT / 2 words whose halves hold cost k and
 *  cost k + COUNT / 2; sums of such bytes, none of which exceeds 255; four bytes as a word. */
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
        uint32_t bytes; /* one multiply-add, beside the permutations and minima of a path in another pipe */
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

/** A lane's costs of the picture's first pixel in a cost volume; those of the next pixel are VF_WARP elements on. */
template <int COUNT>
static __device__ __forceinline__ typename lane_bytes<COUNT>::type *lane_costs(const vf_dense_view &s, int which)
{
    return reinterpret_cast<typename lane_bytes<COUNT>::type *>(s.scratch->cost_volume[which]) + threadIdx.x % VF_WARP;
}

static __device__ __forceinline__ const vf_level &picture(const vf_dense_view &s) { return s.geometry.level[0][0]; }

#endif
