/* SPDX-License-Identifier: MIT */
/* track on the GPU: one warp per feature (paper 000, II.E). Algorithm: src/tracking/lucas_kanade.h; sums over a patch:
 * patch.cuh. */
#include "patch.cuh"

#include "image/ingest.h"
#include "tracking/refill.h"
#include "tracking/lucas_kanade.h"

#ifndef VF_TRACK_WARPS
#define VF_TRACK_WARPS 1 /* features of a block, a warp each */
#endif

static __global__ void __launch_bounds__(VF_WARP *VF_TRACK_WARPS) track_k(const VF_CONSTANT vf_track_view s)
{
    const int i = blockIdx.x * VF_TRACK_WARPS + threadIdx.x / VF_WARP;
    const vf_params &params = s.ingest->params;
    vf_track_memory &m = *s.track;
    const int count = params.frame ? s.refill->counts[s.parity ^ 1].count : 0;
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.x);
    if (i < count) {
        vf_patch patch;
        const vf_feature f = vf_track_one(&patch, &s, &params, s.refill->feature[s.parity ^ 1][i]);
        if (threadIdx.x % VF_WARP == 0) m.moved[i] = f;
    }
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

extern "C" cudaError_t vf_track_cuda(const vf_track_view *s, cudaStream_t stream)
{
    track_k<<<VFRONT_TRACKS / VF_TRACK_WARPS, VF_WARP * VF_TRACK_WARPS, 0, stream>>>(*s);
    return cudaGetLastError();
}
