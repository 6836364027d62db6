/* SPDX-License-Identifier: MIT */
/* bearing on the GPU: a thread for each key point. */
#include "kernels/kernel.cuh"

#include "features/bearing.h"

/* few threads a block, so that the loads, which dominate the time, are distributed over all multiprocessors */
#define THREADS 64

static __global__ void __launch_bounds__(THREADS) bearing_k(const VF_CONSTANT vf_bearing_view s)
{
    vf_bearing_memory &m = *s.bearing;
    const int camera = blockIdx.y, k = blockIdx.x * THREADS + threadIdx.x;
    const uint32_t *count = s.select->count[camera];
    const int points = vf_keypoints(s.geometry.groups, count);
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.x + camera);
    if (k == 0) m.count[s.parity][camera] = points;
    if (k == 0 && !points) vf_bearing_mark_empty(m.first[s.parity][camera]);
    for (int i = k; i < points; i += gridDim.x * THREADS) {
        const uint64_t *key = s.select->key[camera];
        const uint64_t own = key[vf_keypoint_index(s.geometry.groups, s.geometry.group_first, count, i)],
                       previous =
                           key[vf_keypoint_index(s.geometry.groups, s.geometry.group_first, count, vf_max(i - 1, 0))];
        vf_bearing_mark_level(m.first[s.parity][camera], i, points, vf_detect_corner(previous).level,
                              vf_detect_corner(own).level);
        m.point[s.parity][camera][i] = vf_bearing_point(&s, m.node[camera], camera, own);
    }
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

extern "C" cudaError_t vf_bearing_cuda(const vf_bearing_view *s, cudaStream_t stream)
{
    const int blocks = vf_clamp((int)vf_blocks(s->tuning.select_points, THREADS), 1, 64);
    bearing_k<<<dim3(blocks, s->geometry.cameras), THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
}
