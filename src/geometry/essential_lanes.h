/* SPDX-License-Identifier: MIT */
/* Values of a batch of samples, one sample per lane: passed from essential_batch.c to essential_poses.c.
 *
 * Host form only. VF_KEEP_LOOP keeps a loop over lanes whole, so that the compiler vectorises it. */
#ifndef VF_ESSENTIAL_LANES_H
#define VF_ESSENTIAL_LANES_H

#include "essential_batch.h"
#include "essential_five.h"

/** Largest number of candidates, the real roots of all polynomials of a batch. */
#define VF_CANDIDATES (VF_BATCH * VF_ESSENTIAL_SOLUTIONS)

/** One value for each lane, that is for each sample or candidate of a batch. */
typedef float vf_lanes[VF_BATCH];

/** Values of a sample that are copied to each of its candidates. VF_SAMPLE_VALUES: their number. */
#define VF_SAMPLE_VALUES (15 + 15 + 9 + 1 + 36 + 45)
union vf_samples {
    struct {
        /* members of struct vf_essential_scratch; b: of struct vf_essential_roots, in single precision */
        vf_lanes before[5][3], now[5][3], R[9], parallax, null_space[4][9], b[3][3][5];
    } of;
    vf_lanes value[VF_SAMPLE_VALUES];
};
VF_STATIC_ASSERT(sizeof(union vf_samples) == VF_SAMPLE_VALUES * sizeof(vf_lanes), "values fill a sample");

/** Candidates: the real roots of the polynomials of all samples of a batch. */
struct vf_candidates {
    int count;
    uint8_t from[VF_CANDIDATES]; /* index of the sample to which the candidate belongs */
    float root[VF_CANDIDATES][2];
};

/** VF_BATCH candidates (real roots), one per lane: values of their samples, and the solutions computed from them. */
struct vf_solutions {
    union vf_samples sample; /* values of the sample of each candidate */
    vf_lanes x, y;           /* real root of the polynomial, as the quotient x / y */
    vf_lanes E[9],           /* essential matrix */
        q[4], t[3],          /* relative pose as in struct vf_polish */
        step_squared;        /* squared length of the last Newton step */
    vf_lanes m[5][6],        /* linear system of the Newton step */
        tangent[2][3],       /* directions normal to t in which the Newton step moves t */
        change[5];           /* solution of the linear system */
    vf_lanes pose[12];       /* R and t of struct vf_pose */
    vf_lanes sign;           /* sign of t that puts all points in front of both cameras; 0: no pose */
};

/** Copies the five bearings of lane l to `point`. */
static inline void vf_lanes_points(vf_lanes from[5][3], int l, float point[5][3])
{
    VF_UNROLL_FULL
    for (int i = 0; i < 5; i++) {
        VF_UNROLL_FULL
        for (int k = 0; k < 3; k++) point[i][k] = from[i][k][l];
    }
}

/** Computes the poses of all candidates and appends them to the poses of their samples in b. g: scratch. */
void vf_essential_poses(struct vf_essential_batch *b, const struct vf_candidates *c, const union vf_samples *sample,
                        struct vf_solutions *g);

#endif
