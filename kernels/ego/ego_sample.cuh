/* SPDX-License-Identifier: MIT */
/* ego on the GPU, minimal samples of correspondences: scratch of the warp that makes a hypothesis. */
#ifndef VF_EGO_SAMPLE_CUH
#define VF_EGO_SAMPLE_CUH

#include "kernels/kernel.cuh"

#include "ego/ego_hypothesis.h"
#include "geometry/essential_five.h"
#include "geometry/essential_linear.h"
#include "geometry/perspective.h"

#define VF_EGO_TEAMS 4 /* warps per block, a hypothesis each */

/** Scratch of a warp that makes a hypothesis, in shared memory. */
struct vf_ego_scratch {
    union {
        vf_essential_scratch essential;
        vf_perspective_scratch perspective;
    };
    float before[VF_EGO_SAMPLE_MAX][3], /* bearings in the previous frame; for a metric motion points [m] */
        now[VF_EGO_SAMPLE_MAX][3];      /* bearings in this frame */
    int32_t sample[VF_EGO_SAMPLE_MAX];  /* indices of the sample's correspondences */
    vf_pose pose[10];                   /* motions from the sample */
};

/** Draws the sample of hypothesis h, `size` of `count` correspondences, and loads its bearings. */
static __device__ __forceinline__ void vf_ego_load_sample(const vf_ego_view &s, int kind, int h, int size, int count,
                                                          vf_ego_scratch &b)
{
    const int lane = threadIdx.x % VF_WARP;
    vf_ego_sample(&s, s.ingest->params.frame, kind, h, size, count, b.sample);
    if (lane < size) {
        const vf_correspondence c = vf_ego_load(&s.ego->list[vf_ego_list(kind)], b.sample[lane]);
        for (int k = 0; k < 3; k++) {
            b.before[lane][k] = c.before[k] * (kind == VF_METRIC ? c.range_m : 1.0f);
            b.now[lane][k] = c.now[k];
        }
    }
    __syncwarp();
}

#endif
