/* SPDX-License-Identifier: MIT */
/* Nearest descriptors of several key points of one level, by a block, for stereo and match. The block holds these key
 * points as rows. A thread tests one key point of the other image against all rows, so that a load serves several
 * tests. Candidate pairs are listed in shared memory and descriptors compared by list, because few pairs are
 * candidates. The list stores the distances, from which the second best distance follows: the least of all candidates
 * apart from the best one (vf_points_apart()). */
#ifndef VF_NEAREST_CUH
#define VF_NEAREST_CUH

#include "kernels/kernel.cuh"

#include "features/bearing.h"
#include "features/describe.h"

#if VFRONT_DESCRIPTORS
#define VF_NEAREST_THREADS 128 /* threads of a block */
#ifndef VF_NEAREST_LIST
#define VF_NEAREST_LIST 2048 /* capacity of a block's list; more candidate pairs are compared in parts */
#endif

/** Descriptor of a key point, 256 bits. */
struct vf_descriptor {
    uint4 low, high;
};
static __device__ __forceinline__ vf_descriptor vf_load_descriptor(const vfront_descriptor_t &d)
{
    VF_STATIC_ASSERT(sizeof(vfront_descriptor_t) == 32 && offsetof(vf_describe_memory, descriptor) % 16 == 0,
                     "read as 16-byte words");
    const uint4 *at = reinterpret_cast<const uint4 *>(&d);
    return vf_descriptor{at[0], at[1]};
}

/** Hamming distance of two descriptors. Full adders first add triples of words, because population counts are slow. */
static __device__ __forceinline__ uint32_t vf_hamming(const vf_descriptor &a, const vf_descriptor &b)
{
    const uint32_t x0 = a.low.x ^ b.low.x, x1 = a.low.y ^ b.low.y, x2 = a.low.z ^ b.low.z, x3 = a.low.w ^ b.low.w;
    const uint32_t x4 = a.high.x ^ b.high.x, x5 = a.high.y ^ b.high.y, x6 = a.high.z ^ b.high.z,
                   x7 = a.high.w ^ b.high.w;
    const uint32_t ones0 = x0 ^ x1 ^ x2, twos0 = (x0 & x1) | (x0 & x2) | (x1 & x2);
    const uint32_t ones1 = x3 ^ x4 ^ x5, twos1 = (x3 & x4) | (x3 & x5) | (x4 & x5);
    return (uint32_t)(__popc(ones0) + __popc(ones1) + __popc(x6) + __popc(x7) + 2 * (__popc(twos0) + __popc(twos1)));
}

/** Rows of a block: consecutive key points of one level. */
struct vf_nearest_rows {
    int level, first, /* index of the first key point in its image */
        count;        /* number of key points, 0: none */
};

/** Key points of block number `block`, at most `most`. A level begins with a new block. first: index of the first key
 *  point of each level. */
static __device__ __forceinline__ vf_nearest_rows vf_nearest_rows_of(const uint32_t first[VFRONT_SCALES + 1], int most,
                                                                     int block)
{
    vf_nearest_rows rows = {0, 0, 0};
#pragma unroll
    for (int level = 0; level < VFRONT_SCALES; level++) {
        const int begin = (int)first[level], points = (int)first[level + 1] - begin,
                  blocks = (points + most - 1) / most;
        if (block >= 0 && block < blocks)
            rows = vf_nearest_rows{level, begin + block * most, vf_min(points - block * most, most)};
        block -= blocks;
    }
    return rows;
}
/** Number of blocks for `points` key points in all levels, at most `most` a block. */
static inline unsigned vf_nearest_blocks(int points, int most) { return vf_blocks(points, most) + VFRONT_SCALES; }

/** Shared memory of a block. ROWS: most key points of a block (rows). */
template <int ROWS> struct vf_nearest {
    vf_descriptor word[ROWS];       /* descriptors of the rows */
    uint32_t list[VF_NEAREST_LIST]; /* candidate pairs: distance << 20 | row << 16 | index in the other image */
    uint32_t best[ROWS];            /* vf_packed_match() of each row's best candidate; VF_NONE: none */
    uint32_t second[ROWS];          /* least distance of a candidate apart from a row's best one [bits]; 256: none */
    int listed;                     /* number of candidate pairs, also those that do not fit the list */
};

/** Key points of the other image, with which a block compares its own. */
struct vf_nearest_others {
    const vf_point *point;
    const vfront_descriptor_t *descriptor;
    int first, end;    /* key points to test: first .. end - 1 */
    uint32_t distance; /* largest Hamming distance of a best candidate [bits] */
    uint32_t *back;    /* vf_packed_match() of each of these key points with its best row, updated */
};

/** Lists the candidate pairs of the block's rows with key points from .. end - 1 of the other image. test(j): one bit
 *  per row, 1 if key point j is a candidate. Returns false if the pairs exceed the list. */
template <int ROWS, typename Test>
static __device__ __forceinline__ bool vf_nearest_list(vf_nearest<ROWS> &n, int from, int end, Test test)
{
    __syncthreads(); /* other warps may still use the list of a previous call */
    if (threadIdx.x == 0) n.listed = 0;
    __syncthreads();
    for (int j = from + (int)threadIdx.x; j < end; j += VF_NEAREST_THREADS) {
        uint32_t hits = test(j);
        if (!hits) continue;
        for (int at = atomicAdd(&n.listed, __popc(hits)); hits; at++, hits &= hits - 1)
            if (at < VF_NEAREST_LIST) n.list[at] = (uint32_t)(__ffs((int)hits) - 1) << 16 | (uint32_t)j;
    }
    __syncthreads();
    return n.listed <= VF_NEAREST_LIST;
}

/** Compares the descriptors of the listed pairs that pass a second test, test(row, j). Updates the best candidate of
 *  each row, and of each key point of the other image. */
template <int ROWS, typename Test>
static __device__ __forceinline__ void vf_nearest_compare(vf_nearest<ROWS> &n, const vf_nearest_rows &rows,
                                                          const vf_nearest_others &others, Test test)
{
    VF_STATIC_ASSERT(ROWS <= 16, "four bits");
    for (int k = threadIdx.x; k < n.listed; k += VF_NEAREST_THREADS) {
        const uint32_t entry = n.list[k];
        const int row = (int)(entry >> 16), j = (int)(entry & 0xffff);
        const uint32_t distance = test(row, j) ? vf_hamming(n.word[row], vf_load_descriptor(others.descriptor[j]))
                                               : 511u;
        n.list[k] = distance << 20 | entry;
        if (distance > others.distance) continue;
        atomicMin(&others.back[j], vf_packed_match(distance, (uint32_t)(rows.first + row)));
        atomicMin(&n.best[row], vf_packed_match(distance, (uint32_t)j));
    }
}

/** Finds the second best distance of each row. A thread reads the list entries that it wrote in
 *  vf_nearest_compare(). */
template <int ROWS>
static __device__ __forceinline__ void vf_nearest_second(vf_nearest<ROWS> &n, const vf_nearest_others &others)
{
    for (int k = threadIdx.x; k < n.listed; k += VF_NEAREST_THREADS) {
        const uint32_t entry = n.list[k], distance = entry >> 20, best = n.best[entry >> 16 & 15];
        if (best != VF_NONE && distance < n.second[entry >> 16 & 15] &&
            vf_points_apart(&others.point[best & 0xffff], &others.point[entry & 0xffff]))
            atomicMin(&n.second[entry >> 16 & 15], distance);
    }
}

/** Finds the best and second best candidate of each row of a block, for n.best and n.second. descriptor: of the image
 *  of the rows. near(j): one bit per row, 1 if key point j of the other image may be its candidate; test(row, j): true
 *  if it is. Called by all threads of a block. */
template <int ROWS, typename Near, typename Test>
static __device__ __forceinline__ void vf_find_nearest(vf_nearest<ROWS> &n, const vf_nearest_rows &rows,
                                                       const vfront_descriptor_t *descriptor,
                                                       const vf_nearest_others &others, Near near, Test test)
{
    const int thread = threadIdx.x, part = VF_NEAREST_LIST / ROWS;
    if (thread < ROWS) {
        if (thread < rows.count) n.word[thread] = vf_load_descriptor(descriptor[rows.first + thread]);
        n.best[thread] = VF_NONE;
        n.second[thread] = 256;
    }
    if (vf_nearest_list(n, others.first, others.end, near)) {
        vf_nearest_compare(n, rows, others, test);
        __syncthreads();
        vf_nearest_second(n, others);
    } else {
        for (int from = others.first; from < others.end; from += part) {
            vf_nearest_list(n, from, vf_min(from + part, others.end), near);
            vf_nearest_compare(n, rows, others, test);
        }
        for (int from = others.first; from < others.end; from += part) {
            vf_nearest_list(n, from, vf_min(from + part, others.end), near);
            vf_nearest_compare(n, rows, others, test);
            vf_nearest_second(n, others);
        }
    }
    __syncthreads();
}

#endif

#endif
