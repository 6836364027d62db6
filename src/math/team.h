/* SPDX-License-Identifier: MIT */
/* Parallel loops in one source for a host thread, for a warp and for a launch. A team is one host thread, or the 32
 * lanes of one warp. Work is written as loops over independent items: the host runs the items one after the other, a
 * warp, or all threads of a launch, run them side by side.
 *
 * Rule    an item writes only elements that belong to it alone, in memory that the team shares, and reads only what was
 *         written before the last VF_TEAM_SYNC(). No sum is split over lanes. Code outside of such a loop is run by
 *         every lane alike
 * Exact   host and warp give the same bits, because no result depends on the order of the items
 */
#ifndef VF_TEAM_H
#define VF_TEAM_H

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

/** Before a loop: nvcc does not unroll it. Straight-line code that a warp runs only once waits for instruction fetches
 *  longer than it computes. */
#ifdef __CUDA_ARCH__
#define VF_NO_UNROLL _Pragma("unroll 1")
#else
#define VF_NO_UNROLL
#endif

#ifdef __CUDA_ARCH__
#define VF_ROW_FIRST (VF_ITEM_FIRST / 32)
#define VF_ROW_STEP (VF_ITEM_STEP / 32)
#else
#define VF_ROW_FIRST 0
#define VF_ROW_STEP 1
#endif

#ifdef VF_TEAM_BACKWARDS /* test build: items in reverse order; items that depend on each other give other results */
#define VF_TEAM(i, count) for (int i = (count)-1; i >= 0; i--)
#define VF_ITEMS(i, count) VF_TEAM(i, count)
#define VF_ROWS(r, first, end) for (int r = (end)-1; r >= (first); r--)
#define VF_COLUMNS(c, first, end) VF_ROWS(c, first, end)
#else
/** Items spread over all threads of a launch. VF_ITEM_SYNC() between two such loops needs a launch of one block, or the
 *  end of a launch in its place. */
#define VF_ITEMS(i, count) for (int i = VF_ITEM_FIRST; i < (count); i += VF_ITEM_STEP)

/** Elements of a matrix as items: rows spread over the warps of a launch, the columns of a row over their lanes. */
#define VF_ROWS(r, first, end) for (int r = (first) + VF_ROW_FIRST; r < (end); r += VF_ROW_STEP)
#define VF_COLUMNS(c, first, end) for (int c = (first) + VF_TEAM_LANE; c < (end); c += VF_TEAM_SIZE)
#define VF_TEAM(i, count) for (int i = VF_TEAM_LANE; i < (count); i += VF_TEAM_SIZE)
#endif

#endif
