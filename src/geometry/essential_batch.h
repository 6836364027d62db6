/* SPDX-License-Identifier: MIT */
/* essential_batch, host form: vf_essential_five() (essential_five.h) and the poses of its matrices for a batch of
 * samples side by side, as vector code.
 *
 * In      unit bearings of up to VF_BATCH samples of five correspondences
 * Out     the poses of each, in the order in which vf_essential_five() and vf_essential_pose() have them
 * Rule    that of essential_five.h. Equations, elimination and polynomial have a lane for each sample; the roots of all
 *         samples (math/roots.h) are then candidates, which are made solutions and poses by VF_BATCH at a time
 *         (essential_poses.c)
 * Exact   each lane does the operations of essential_five.h in its order: the same bits
 * Memory  about 75 kB of stack
 * Shared  decomposition, parts of the polishing and poses are functions that host form and kernels share. Constraints,
 *         equations, elimination and polynomial are written twice, as loops over lanes here: a compiler makes no vector
 *         code of loops around the whole solver. tests/geometry/essential.c compares both
 */
#ifndef VF_ESSENTIAL_BATCH_H
#define VF_ESSENTIAL_BATCH_H

#include "math/pose.h"
#include "math/roots.h"

#define VF_BATCH VF_ROOTS_BATCH

/** Samples and their poses. */
struct vf_essential_batch {
    float before[5][3][VF_BATCH], now[5][3][VF_BATCH]; /* in; unused places hold what they will */
    int32_t poses[VF_BATCH];                           /* out: number of each sample's */
    struct vf_pose pose[VF_BATCH][10];
};

void vf_essential_batch_solve(struct vf_essential_batch *b, int count);

#endif
