/* SPDX-License-Identifier: MIT */
/* Parallel loops in one source for a host thread, a warp, a block and a launch. A team is one host thread, or the 32
 * lanes of one warp. Work is written as loops over independent items. The host runs them in sequence; a warp, a block
 * or a launch runs them in parallel.
 *
 * Rule    An item writes only its own elements of shared memory, and reads only what was written before the last
 *         VF_TEAM_SYNC(). No sum is split over lanes, except those of a group, which have a fixed order. Code outside
 *         such a loop is run by every lane.
 * Exact   host and warp give the same bits, because no result depends on the order of the items
 */
#ifndef VF_TEAM_H
#define VF_TEAM_H

#include "base/vf.h"

#ifdef __CUDA_ARCH__
#define VF_TEAM_LANE ((int)(threadIdx.x % 32))
#define VF_TEAM_SIZE 32
#define VF_TEAM_SYNC() __syncwarp()
#define VF_ITEM_FIRST ((int)(blockIdx.x * blockDim.x + threadIdx.x))
#define VF_ITEM_STEP ((int)(gridDim.x * blockDim.x))
#define VF_ITEM_SYNC() __syncthreads()
#else
#define VF_TEAM_LANE 0
#define VF_TEAM_SIZE 1
#define VF_TEAM_SYNC() ((void)0)
#define VF_ITEM_FIRST 0
#define VF_ITEM_STEP 1
#define VF_ITEM_SYNC() ((void)0)
#endif

/** Precedes a loop that nvcc unrolls fully, so that indices are constants and small arrays stay in registers. */
#ifdef __CUDA_ARCH__
#define VF_UNROLL _Pragma("unroll")
#else
#define VF_UNROLL
#endif

/** Precede a loop that nvcc unrolls by four or sixteen, so that loads of different iterations overlap. */
#ifdef __CUDA_ARCH__
#define VF_UNROLL_4 _Pragma("unroll 4")
#define VF_UNROLL_16 _Pragma("unroll 16")
#else
#define VF_UNROLL_4
#define VF_UNROLL_16
#endif

/** Precedes a loop that the host compiler unrolls; nvcc decides for itself. */
#ifdef __CUDA_ARCH__
#define VF_PEEL_HOST
#else
#define VF_PEEL_HOST VF_UNROLL_FULL
#endif

/** Precedes a loop that nvcc must not unroll: long straight-line code run once is bound by instruction fetches. */
#ifdef __CUDA_ARCH__
#define VF_NO_UNROLL _Pragma("unroll 1")
#else
#define VF_NO_UNROLL
#endif

/** Groups of lanes that work on one item together; each lane holds one value.
 *    VF_GROUP(lanes, i, lane)      loop over the lanes: on the host all, on a GPU the thread's own
 *    VF_GROUP_HELD(lanes)          length of an array with the values of these lanes, indexed by i
 *    VF_GROUP_VALUES(lanes, i)     loop over the values of that array, without the lane number
 *    VF_GROUP_FIRST(lanes)         1 in the one lane that writes the result
 *    VF_GROUP_ALONE                1: a group may skip an item by itself; 0: all lanes of a warp take one branch */
#ifdef __CUDA_ARCH__
#define VF_GROUP_HELD(lanes) 1
#define VF_GROUP_LANE(lanes) ((int)(threadIdx.x % (lanes)))
#define VF_GROUP(lanes, i, lane) for (int i = 0, lane = VF_GROUP_LANE(lanes); i < 1; i++)
#define VF_GROUP_SIZE(lanes) (lanes)
#define VF_GROUP_ALONE 0
#else
#define VF_GROUP_HELD(lanes) (lanes)
#define VF_GROUP_LANE(lanes) 0
#define VF_GROUP(lanes, i, lane) for (int i = 0, lane = 0; i < (lanes); lane = ++i)
#define VF_GROUP_SIZE(lanes) 1
#define VF_GROUP_ALONE 1
#endif
#define VF_GROUP_FIRST(lanes) (VF_GROUP_LANE(lanes) == 0)
#define VF_GROUP_VALUES(lanes, i) for (int i = 0; i < VF_GROUP_HELD(lanes); i++)

/** Sum of the 16 values of a group of lanes, returned in every lane. Adds lanes 8 apart first, then 4, 2, 1. All lanes
 *  of a warp must call it. */
VF_FN float vf_group_sum_16(const float value[VF_GROUP_HELD(16)])
{
#ifdef __CUDA_ARCH__
    float sum = value[0];
    for (int apart = 8; apart; apart /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, apart);
    return sum;
#else
    float sum[8];
    for (int i = 0; i < 8; i++) sum[i] = value[i] + value[i + 8];
    for (int i = 0; i < 4; i++) sum[i] += sum[i + 4];
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
#endif
}
VF_FN double vf_group_sum_16_double(const double value[VF_GROUP_HELD(16)])
{
#ifdef __CUDA_ARCH__
    double sum = value[0];
    for (int apart = 8; apart; apart /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, apart);
    return sum;
#else
    double sum[8];
    for (int i = 0; i < 8; i++) sum[i] = value[i] + value[i + 8];
    for (int i = 0; i < 4; i++) sum[i] += sum[i + 4];
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
#endif
}

#ifdef __CUDA_ARCH__
#define VF_PART_FIRST ((int)threadIdx.x)
#define VF_PART_STEP ((int)blockDim.x)
#else
#define VF_PART_FIRST 0
#define VF_PART_STEP 1
#endif

#ifdef __CUDA_ARCH__
#define VF_ROW_FIRST (VF_PART_FIRST / 32)
#define VF_ROW_STEP (VF_PART_STEP / 32)
#else
#define VF_ROW_FIRST 0
#define VF_ROW_STEP 1
#endif

#ifdef VF_TEAM_BACKWARDS /* test build: reverse order, which changes the result if items depend on each other */
#define VF_TEAM(i, count) for (int i = (count)-1; i >= 0; i--)
#define VF_ITEMS(i, count) VF_TEAM(i, count)
#define VF_PARTS(i, count) VF_TEAM(i, count)
#define VF_GROUPS(lanes, i, count) VF_TEAM(i, count)
#define VF_ROWS(r, first, end) for (int r = (end)-1; r >= (first); r--)
#define VF_COLUMNS(c, first, end) VF_ROWS(c, first, end)
#else
/** Loop over items 0..count - 1, distributed over all threads of a launch. Two dependent loops need two launches, or
 *  one block with VF_ITEM_SYNC() between the loops. */
#define VF_ITEMS(i, count) for (int i = VF_ITEM_FIRST; i < (count); i += VF_ITEM_STEP)

/** Loop over items 0..count - 1, each processed by a group of `lanes` threads. count * lanes must be a multiple of
 *  32. */
#define VF_GROUPS(lanes, i, count)                                                                                     \
    for (int i = VF_ITEM_FIRST / VF_GROUP_SIZE(lanes); i < (count); i += VF_ITEM_STEP / VF_GROUP_SIZE(lanes))

/** Loop over items 0..count - 1 of one block, distributed over its threads. VF_ITEM_SYNC() separates dependent
 *  loops. */
#define VF_PARTS(i, count) for (int i = VF_PART_FIRST; i < (count); i += VF_PART_STEP)

/** Loops over the elements of a matrix: rows distributed over the warps of a block, columns over the lanes of a
 *  warp. */
#define VF_ROWS(r, first, end) for (int r = (first) + VF_ROW_FIRST; r < (end); r += VF_ROW_STEP)
#define VF_COLUMNS(c, first, end) for (int c = (first) + VF_TEAM_LANE; c < (end); c += VF_TEAM_SIZE)
#define VF_TEAM(i, count) for (int i = VF_TEAM_LANE; i < (count); i += VF_TEAM_SIZE)
#endif

#endif
