/* SPDX-License-Identifier: MIT */
/* track on the GPU: a warp follows a feature (paper 000, II.E). */
#include "patch.cuh"

#ifndef VF_TRACK_WARPS
#define VF_TRACK_WARPS 1 /* features a block */
#endif

static __global__ void __launch_bounds__(VF_WARP *VF_TRACK_WARPS) track_k(const vf_step s)
{
    const int i = blockIdx.x * VF_TRACK_WARPS + threadIdx.x / VF_WARP;
    const vf_params &params = s.memory->ingest.params;
    vf_track_memory &m = s.memory->track;
    const int count = params.frame ? m.census[s.parity ^ 1].count : 0;
    if (threadIdx.x == 0) vf_clock_start(s, VF_track, blockIdx.x);
    if (i < count) {
        vf_patch patch;
        const vf_feature f = vf_track_one(&patch, &s, &params, m.feature[s.parity ^ 1][i]);
        if (threadIdx.x % VF_WARP == 0) m.moved[i] = f;
    }
    if (threadIdx.x == 0) vf_clock_end(s, VF_track);
}

extern "C" cudaError_t vf_track_cuda(const vf_step *s, cudaStream_t stream)
{
    if (!s->tuning.track_target) return cudaSuccess;
    track_k<<<VFRONT_TRACKS / VF_TRACK_WARPS, VF_WARP * VF_TRACK_WARPS, 0, stream>>>(*s);
    return cudaGetLastError();
}
