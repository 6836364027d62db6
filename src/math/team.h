/* SPDX-License-Identifier: MIT */
/* One text for one host thread and for one warp. A team is either: work is written as loops over independent items, which the host
 * does one after the other and a warp side by side.
 *
 * Rule    what a loop writes belongs to its item alone, in memory that the team shares, and it reads only what was written before
 *         the last VF_TEAM_SYNC(). No sum is split over lanes. What stands outside such a loop every lane does alike
 * Exact   for that reason host and warp give the same bits
 */
#ifndef VF_TEAM_H
#define VF_TEAM_H

#ifdef __CUDA_ARCH__
#define VF_TEAM_LANE ((int)(threadIdx.x % 32))
#define VF_TEAM_SIZE 32
#define VF_TEAM_SYNC() __syncwarp()
#else
#define VF_TEAM_LANE 0
#define VF_TEAM_SIZE 1
#define VF_TEAM_SYNC() ((void)0)
#endif

/** A loop whose counter nvcc shall know at every turn, so that what is small lies in registers. */
#ifdef __CUDA_ARCH__
#define VF_UNROLL _Pragma("unroll")
#else
#define VF_UNROLL
#endif

/** A loop that nvcc shall leave one: code that a warp runs once comes from far away, which takes longer than what it does. */
#ifdef __CUDA_ARCH__
#define VF_ROLL _Pragma("unroll 1")
#else
#define VF_ROLL
#endif

#ifdef VF_TEAM_BACKWARDS /* for a test: items that depend on one another would give something else */
#define VF_TEAM(i, count) for (int i = (count)-1; i >= 0; i--)
#else
#define VF_TEAM(i, count) for (int i = VF_TEAM_LANE; i < (count); i += VF_TEAM_SIZE)
#endif

#endif
