/* SPDX-License-Identifier: MIT */
/* Nearest descriptors of a few key points of one level, by a block, for stereo and match. The block has them as rows; a
 * thread tests one key point of the other picture against all rows, so that a load serves several tests. Candidates go
 * into a list in shared memory, and descriptors are compared by the list: few pairs are candidates, and they lie in few
 * lanes. The list keeps the distances, from which the second best elsewhere follows without another comparison. */
#ifndef VF_NEAREST_CUH
#define VF_NEAREST_CUH

#include "kernels/kernel.cuh"

#include "features/bearing.h"
#include "features/describe.h"

#if VFRONT_DESCRIPTORS
#define VF_NEAREST_THREADS 128 /* of a block */
#ifndef VF_NEAREST_LIST
#define VF_NEAREST_LIST 2048 /* capacity of the list; more candidates are compared in parts */
#endif

/** Descriptor: 256 bits. */
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

/** Hamming distance of two descriptors. Full adders add triples of words bit by bit first, because population counts
 *  are slow. */
static __device__ __forceinline__ uint32_t vf_hamming(const vf_descriptor &a, const vf_descriptor &b)
{
    const uint32_t x0 = a.low.x ^ b.low.x, x1 = a.low.y ^ b.low.y, x2 = a.low.z ^ b.low.z, x3 = a.low.w ^ b.low.w;
    const uint32_t x4 = a.high.x ^ b.high.x, x5 = a.high.y ^ b.high.y, x6 = a.high.z ^ b.high.z,
                   x7 = a.high.w ^ b.high.w;
    const uint32_t ones0 = x0 ^ x1 ^ x2, twos0 = (x0 & x1) | (x0 & x2) | (x1 & x2);
    const uint32_t ones1 = x3 ^ x4 ^ x5, twos1 = (x3 & x4) | (x3 & x5) | (x4 & x5);
    return (uint32_t)(__popc(ones0) + __popc(ones1) + __popc(x6) + __popc(x7) + 2 * (__popc(twos0) + __popc(twos1)));
}

/** Rows of a block: key points of one level, from `first` on; count 0: none. */
struct vf_rows {
    int level, first, count;
};

/** Rows of a block, of `most` each; a level begins with a block. first: index of the first key point of each level. */
static __device__ __forceinline__ vf_rows vf_rows_of(const uint32_t first[VFRONT_SCALES + 1], int most, int block)
{
    vf_rows rows = {0, 0, 0};
#pragma unroll
    for (int level = 0; level < VFRONT_SCALES; level++) {
        const int begin = (int)first[level], points = (int)first[level + 1] - begin,
                  blocks = (points + most - 1) / most;
        if (block >= 0 && block < blocks)
            rows = vf_rows{level, begin + block * most, vf_min(points - block * most, most)};
        block -= blocks;
    }
    return rows;
}
/** Number of blocks for so many key points. */
static inline unsigned vf_rows_blocks(int points, int most) { return vf_blocks(points, most) + VFRONT_SCALES; }

/** Shared memory of a block. A candidate in the list: distance << 20 | row << 16 | index. */
template <int ROWS> struct vf_nearest {
    vf_descriptor word[ROWS];
    uint32_t list[VF_NEAREST_LIST];
    uint32_t best[ROWS];   /* vf_packed_match(), VF_NONE: none */
    uint32_t second[ROWS]; /* distance of the second best elsewhere; 256: none */
    int listed;
};

/** Key points of the other picture. */
struct vf_nearest_others {
    const vf_point *point;
    const vfront_descriptor_t *descriptor;
    int first, end;    /* those that are tested */
    uint32_t distance; /* largest distance of a best candidate */
    uint32_t *back;    /* their best rows, vf_packed_match(), updated */
};

/** Lists the candidates among others[from] .. others[end - 1]. Returns 0 if the list is too small for them. */
template <int ROWS, typename Test>
static __device__ __forceinline__ bool vf_nearest_list(vf_nearest<ROWS> &n, int from, int end, Test test)
{
    __syncthreads(); /* the list may still be in use */
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

/** Compares the listed candidates that pass a second test: best candidates both ways. */
template <int ROWS, typename Test>
static __device__ __forceinline__ void vf_nearest_compare(vf_nearest<ROWS> &n, const vf_rows &rows,
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

/** Second best of the rows, among the candidates compared by the same thread. */
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

/** Best and second best candidates of the rows, in n.best and n.second, for all threads. descriptor: of the rows.
 *  near(j) returns a bit for each row that key point j may be a candidate of; test(row, j) says whether it is. Called
 *  by all threads of a block. */
template <int ROWS, typename Near, typename Test>
static __device__ __forceinline__ void vf_find_nearest(vf_nearest<ROWS> &n, const vf_rows &rows,
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
