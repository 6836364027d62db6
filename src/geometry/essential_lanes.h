/* SPDX-License-Identifier: MIT */
/* Values of a batch of samples side by side, by lane: what essential_batch.c hands to essential_poses.c.
 *
 * Host form alone. VF_KEEP before a loop over lanes keeps it one loop, of which vector code is made. */
#ifndef VF_ESSENTIAL_LANES_H
#define VF_ESSENTIAL_LANES_H

#include "essential_batch.h"
#include "essential_five.h"

/** Candidates of a batch, at most. */
#define VF_CANDIDATES (VF_BATCH * VF_ESSENTIAL_SOLUTIONS)

/** A value of each lane. */
typedef float vf_lanes[VF_BATCH];

/** What the solutions of a sample are made from. */
#define VF_SAMPLE_VALUES (15 + 15 + 9 + 1 + 36 + 45)
union vf_samples {
    struct {
        vf_lanes before[5][3], now[5][3], R[9], parallax, null_space[4][9], b[3][3][5]; /* b: rounded */
    } of;
    vf_lanes value[VF_SAMPLE_VALUES];
};
VF_STATIC_ASSERT(sizeof(union vf_samples) == VF_SAMPLE_VALUES * sizeof(vf_lanes), "values fill a sample");

/** Real roots of all samples. */
struct vf_candidates {
    int count;
    uint8_t from[VF_CANDIDATES]; /* sample */
    float root[VF_CANDIDATES][2];
};

/** Candidates side by side: what belongs to their samples, and their solutions. */
struct vf_solutions {
    union vf_samples sample;                    /* of each */
    vf_lanes x, y;                              /* root */
    vf_lanes E[9], q[4], t[3], step_squared;    /* q, t: struct vf_polish */
    vf_lanes m[5][6], tangent[2][3], change[5]; /* of a step: its system, its axes, its solution */
    vf_lanes pose[12];                          /* struct vf_pose */
    vf_lanes sign;                              /* 0: no pose */
};

/** Points of a lane. */
static inline void vf_lanes_points(vf_lanes from[5][3], int l, float point[5][3])
{
    VF_PEEL
    for (int i = 0; i < 5; i++) {
        VF_PEEL
        for (int k = 0; k < 3; k++) point[i][k] = from[i][k][l];
    }
}

/** Poses of all candidates, added to those of their samples. g: room. */
void vf_essential_poses(struct vf_essential_batch *b, const struct vf_candidates *c, const union vf_samples *sample,
                        struct vf_solutions *g);

#endif
