/* SPDX-License-Identifier: MIT */
/* bearing on the GPU: a thread a key point. */
#include "kernels/kernel.cuh"

#define THREADS 64 /* few, so that all multiprocessors have some of what there is to wait for */

static __global__ void __launch_bounds__(THREADS) bearing_k(const vf_step s)
{
    vf_bearing_memory &m = s.memory->bearing;
    const int camera = blockIdx.y, k = blockIdx.x * THREADS + threadIdx.x;
    const uint32_t *count = s.memory->select.count[camera];
    const int points = vf_keypoints(&s, count);
    if (threadIdx.x == 0) vf_clock_start(s, VF_bearing, blockIdx.x + camera);
    if (camera == 0) vf_bearing_forget(&s, k, gridDim.x * THREADS);
    if (k == 0) m.count[s.parity][camera] = points;
    if (k == 0 && !points) vf_bearing_none(m.first[s.parity][camera]);
    for (int i = k; i < points; i += gridDim.x * THREADS) {
        const uint64_t *key = s.memory->select.key[camera];
        const uint64_t mine = key[vf_slot(&s, count, i)], before = key[vf_slot(&s, count, vf_max(i - 1, 0))];
        vf_bearing_begin(m.first[s.parity][camera], i, points, vf_detect_corner(before).level,
                         vf_detect_corner(mine).level);
        m.point[s.parity][camera][i] = vf_bearing_point(&s, m.node[camera], camera, mine);
    }
    if (threadIdx.x == 0) vf_clock_end(s, VF_bearing);
}

extern "C" cudaError_t vf_bearing_cuda(const vf_step *s, cudaStream_t stream)
{
    const int blocks = vf_clamp((int)vf_blocks(s->tuning.select_points, THREADS), 1, 64);
    bearing_k<<<dim3(blocks, s->geometry.cameras), THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
}
