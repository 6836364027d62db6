/* SPDX-License-Identifier: MIT */
/* dense: left-right check, median and filling of holes, one pixel a thread. */
#ifndef VF_DENSE_MEDIAN_CUH
#define VF_DENSE_MEDIAN_CUH

#include "dense_packed.cuh"

#define MEDIAN_WIDTH 32 /* columns of a block's tile [px] */
#define MEDIAN_HEIGHT 8 /* rows of a block's tile [px] */

/** Writes the disparities of a block's tile and of the pixels around it, after the left-right check, to shared memory.
 *  Then takes the median of 3x3 of them for each pixel of the tile, which also fills holes. */
static __global__ void __launch_bounds__(MEDIAN_WIDTH *MEDIAN_HEIGHT) median_k(const VF_CONSTANT vf_dense_view s)
{
    __shared__ uint16_t checked[MEDIAN_HEIGHT + 2][MEDIAN_WIDTH + 2];
    vf_dense_scratch &m = *s.scratch;
    const vf_level &l = picture(s);
    const int x0 = blockIdx.x * MEDIAN_WIDTH, y0 = blockIdx.y * MEDIAN_HEIGHT,
              framed[2] = {vf_framed(&s.ingest->params, 0), vf_framed(&s.ingest->params, 1)};
    for (int i = threadIdx.x; i < (MEDIAN_HEIGHT + 2) * (MEDIAN_WIDTH + 2); i += MEDIAN_WIDTH * MEDIAN_HEIGHT) {
        const int x = x0 + i % (MEDIAN_WIDTH + 2) - 1, y = y0 + i / (MEDIAN_WIDTH + 2) - 1, row = y * l.pitch;
        const bool inside = x >= 0 && y >= 0 && x < l.width && y < l.height;
        checked[i / (MEDIAN_WIDTH + 2)][i % (MEDIAN_WIDTH + 2)] =
            (uint16_t)(inside ? vf_dense_checked(&s, framed, m.back_key + row, x, y, m.winner[row + x])
                              : VF_DENSE_NONE);
    }
    __syncthreads();
    const int u = threadIdx.x % MEDIAN_WIDTH, v = threadIdx.x / MEDIAN_WIDTH, x = x0 + u, y = y0 + v;
    if (x >= l.width || y >= l.height) return;
    const int at = y * l.pitch + x;
    uint32_t disparity = checked[v + 1][u + 1], nine[9];
    const bool hole = disparity == VF_DENSE_NONE;
#pragma unroll
    for (int k = 0; k < 9; k++) nine[k] = checked[v + k / 3][u + k % 3];
    disparity = vf_dense_smooth(nine, (uint32_t)x * VF_DENSE_UNITS);
    if (hole && disparity != VF_DENSE_NONE) {
        if (vf_dense_usable(&s, framed, x, y, disparity))
            m.margin[at] = VF_DENSE_FILLED;
        else
            disparity = VF_DENSE_NONE;
    }
    m.median[at] = s.dense->disparity[at] = (uint16_t)disparity;
}

#endif
