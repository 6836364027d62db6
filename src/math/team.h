/* SPDX-License-Identifier: MIT */
/* Parallel loops in one source for a host thread, for a warp, for a block and for a launch. A team is one host thread,
 * or the 32 lanes of one warp. Work is written as loops over independent items: the host runs the items one after the
 * other, a warp, a block, or all threads of a launch, run them side by side.
 *
 * Rule    an item writes only elements that belong to it alone, in memory that the team shares, and reads only what was
 *         written before the last VF_TEAM_SYNC(). No sum is split over lanes, but for those of a group, which have a
 *         fixed order. Code outside of such a loop is run by every lane alike
 * Exact   host and warp give the same bits, because no result depends on the order of the items
 */
#ifndef VF_TEAM_H
#define VF_TEAM_H

#include "core/vf.h"

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

/** Before a loop: nvcc unrolls it, so that indices are constants and small arrays lie in registers. */
#ifdef __CUDA_ARCH__
#define VF_UNROLL _Pragma("unroll")
#else
#define VF_UNROLL
#endif

/** Before a loop: nvcc unrolls it by four, or by sixteen, so that loads of one turn do not wait for those of the one
 *  before. */
#ifdef __CUDA_ARCH__
#define VF_UNROLL_4 _Pragma("unroll 4")
#define VF_UNROLL_16 _Pragma("unroll 16")
#else
#define VF_UNROLL_4
#define VF_UNROLL_16
#endif

/** Before a loop: the host's compiler unrolls it; nvcc does as it sees fit. */
#ifdef __CUDA_ARCH__
#define VF_PEEL_HOST
#else
#define VF_PEEL_HOST VF_PEEL
#endif

/** Before a loop: nvcc does not unroll it. Straight-line code that a warp runs only once waits for instruction fetches
 *  longer than it computes. */
#ifdef __CUDA_ARCH__
#define VF_NO_UNROLL _Pragma("unroll 1")
#else
#define VF_NO_UNROLL
#endif

/** Groups of 16 lanes, which work on one item together and hold a value each. VF_GROUP(lanes, i, lane) runs over
 *  the lanes, of which an array of VF_GROUP_HELD(lanes) holds value i: on the host all of them, on a GPU the thread's
 *  own; VF_GROUP_VALUES(lanes, i) the same, where the lane's number does not matter. VF_GROUP_FIRST(lanes): 1 where the
 *  one lane of the group runs that writes. VF_GROUP_ALONE: 1 where a group may leave out an item on its own; on a GPU
 *  all lanes of a warp take the same way. */
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

/** Sum of the values of a group, in every lane: of those half of the lanes apart first, then a quarter, and so on. All
 *  lanes of a warp call it. */
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

#ifdef VF_TEAM_BACKWARDS /* test build: items in reverse order; items that depend on each other give other results */
#define VF_TEAM(i, count) for (int i = (count)-1; i >= 0; i--)
#define VF_ITEMS(i, count) VF_TEAM(i, count)
#define VF_PARTS(i, count) VF_TEAM(i, count)
#define VF_GROUPS(lanes, i, count) VF_TEAM(i, count)
#define VF_ROWS(r, first, end) for (int r = (end)-1; r >= (first); r--)
#define VF_COLUMNS(c, first, end) VF_ROWS(c, first, end)
#else
/** Items spread over all threads of a launch. VF_ITEM_SYNC() between two such loops needs a launch of one block, or the
 *  end of a launch in its place. */
#define VF_ITEMS(i, count) for (int i = VF_ITEM_FIRST; i < (count); i += VF_ITEM_STEP)

/** Items that a group works on each. Their number times the lanes is a multiple of 32. */
#define VF_GROUPS(lanes, i, count)                                                                                     \
    for (int i = VF_ITEM_FIRST / VF_GROUP_SIZE(lanes); i < (count); i += VF_ITEM_STEP / VF_GROUP_SIZE(lanes))

/** Items of one block, spread over its threads. VF_ITEM_SYNC() between two loops. */
#define VF_PARTS(i, count) for (int i = VF_PART_FIRST; i < (count); i += VF_PART_STEP)

/** Elements of a matrix as items: rows spread over the warps of a block, the columns of a row over their lanes. */
#define VF_ROWS(r, first, end) for (int r = (first) + VF_ROW_FIRST; r < (end); r += VF_ROW_STEP)
#define VF_COLUMNS(c, first, end) for (int c = (first) + VF_TEAM_LANE; c < (end); c += VF_TEAM_SIZE)
#define VF_TEAM(i, count) for (int i = VF_TEAM_LANE; i < (count); i += VF_TEAM_SIZE)
#endif

#endif
