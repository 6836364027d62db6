/* SPDX-License-Identifier: MIT */
/* essential_batch, host form: vf_essential_five() (essential_five.h) and the poses of its matrices, vectorised over a
 * batch of samples.
 *
 * In      unit bearings of up to VF_BATCH samples of five correspondences
 * Out     the poses of each sample, in the order of vf_essential_five() and vf_essential_pose()
 * Rule    As in essential_five.h. Equations, elimination and polynomial have one sample per lane. The roots of all
 *         samples (math/roots.h) become candidates; VF_BATCH candidates at a time become solutions and poses
 *         (essential_poses.c).
 * Exact   each lane does the operations of essential_five.h in the same order: the same bits
 * Memory  about 75 kB of stack
 * Shared  Decomposition, parts of the polishing and poses are shared with the kernels. Constraints, equations,
 *         elimination and polynomial are written twice, as loops over lanes here, because compilers do not vectorise a
 *         loop around the whole solver. tests/geometry/essential.c compares the two versions.
 */
#ifndef VF_ESSENTIAL_BATCH_H
#define VF_ESSENTIAL_BATCH_H

#include "math/pose.h"
#include "math/roots.h"

#define VF_BATCH VF_ROOTS_BATCH

/** Batch of samples, each of five correspondences, and the poses found for them. */
struct vf_essential_batch {
    float before[5][3][VF_BATCH], now[5][3][VF_BATCH]; /* in: unit bearings; unused lanes may hold any value */
    int32_t poses[VF_BATCH];                           /* out: number of poses of each sample */
    struct vf_pose pose[VF_BATCH][10];
};

void vf_essential_batch_solve(struct vf_essential_batch *b, int count);

#endif
