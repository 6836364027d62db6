/* SPDX-License-Identifier: MIT */
/* road: first two launches of stixel. reduce_k reduces the pixels of each row to one disparity per column and makes the
 * v-disparity mask, several rows a block. road_k finds the road, the ground model and the transition costs of every
 * row. A block handles one angle of the Hough transform; the block that finishes last fits the strongest line and makes
 * all results. */
#ifndef VF_ROAD_CUH
#define VF_ROAD_CUH

#include "kernels/kernel.cuh"

#include "depth/stixel.h"
#include "image/ingest.h"

#if VFRONT_STIXELS

/* ---- reduction --------------------------------------------------------------------------------------------------- */

#define REDUCE_ROWS 4 /* image rows of a block */
#define REDUCE_THREADS 256

/** Reduces REDUCE_ROWS image rows per block to one disparity and one flag (bright, without texture) per column. At the
 *  end one warp per row makes the row's v-disparity mask. */
static __global__ void __launch_bounds__(REDUCE_THREADS) reduce_k(const VF_CONSTANT vf_stixel_view s)
{
    __shared__ uint32_t count[REDUCE_ROWS][VFRONT_DISPARITIES];
    vf_stixel_memory &m = *s.stixel;
    const vf_level &l = s.geometry.level[0][0];
    const int disparities = s.tuning.dense_disparities, columns = vf_stixel_columns(&s.geometry, &s.tuning),
              width = s.tuning.stixel_width_px, thread = threadIdx.x;
    const int y0 = blockIdx.x * REDUCE_ROWS, rows = vf_min(REDUCE_ROWS, l.height - y0);
    const uint16_t *from = s.dense->disparity + (size_t)y0 * l.pitch;
    const uint8_t *confidence = s.dense->confidence + (size_t)y0 * l.pitch;
    const uint8_t *picture = s.pictures.level0[s.parity][0] + (size_t)y0 * l.pitch;
    if (thread == 0) vf_clock_start(s.clock, blockIdx.x);
    for (int i = thread; i < REDUCE_ROWS * VFRONT_DISPARITIES; i += REDUCE_THREADS)
        count[i / VFRONT_DISPARITIES][i % VFRONT_DISPARITIES] = 0;
    __syncthreads();
    for (int r = 0; r < rows; r++)
        for (int x = thread; x < l.width; x += REDUCE_THREADS) {
            const int bin = vf_road_bin(from[r * l.pitch + x], confidence[r * l.pitch + x], disparities);
            if (bin) atomicAdd(&count[r][bin], 1u);
        }
    for (int i = thread; i < columns * REDUCE_ROWS; i += REDUCE_THREADS) {
        const int r = i % REDUCE_ROWS, column = i / REDUCE_ROWS;
        if (r >= rows) continue;
        const uint32_t value = vf_stixel_reduce(from + r * l.pitch + column * width,
                                                confidence + r * l.pitch + column * width, width, VF_DENSE_UNITS,
                                                disparities);
        m.column[column][l.height - 1 - y0 - r] = (uint16_t)value;
        m.blank[column][l.height - 1 - y0 - r] = (uint8_t)vf_stixel_blank(picture + (size_t)r * l.pitch, column * width,
                                                                          width, l.width);
    }
    __syncthreads();
    const int r = thread / VF_WARP, lane = thread % VF_WARP;
    if (r >= rows) return;
    uint32_t count_max = 0; /* largest pixel count of the row's bins; bin 0 counts none */
    for (int d = lane; d < disparities; d += VF_WARP) count_max = max(count_max, count[r][d]);
    count_max = ~vf_warp_min(~count_max);
    for (int first = 0; first < disparities; first += VF_WARP) {
        const uint32_t mask = __ballot_sync(VF_ALL, vf_road_votes(count[r][first + lane], count_max, l.width));
        if (lane == 0) m.voters[((y0 + r) * disparities + first) / 32] = mask;
    }
}

/* ---- road -------------------------------------------------------------------------------------------------------- */

#define ROAD_THREADS 512

/** Calls work(bin, row) for the voting bins in a thread's words of the v-disparity mask. bin: integer disparity [px];
 *  row: image row from the top. */
template <typename Work> static __device__ __forceinline__ void each_voter(const vf_stixel_view &s, Work work)
{
    const vf_stixel_memory &m = *s.stixel;
    const int disparities = s.tuning.dense_disparities, words = disparities * s.geometry.level[0][0].height / 32;
    for (int i = threadIdx.x; i < words; i += ROAD_THREADS)
        for (uint32_t left = m.voters[i]; left; left &= left - 1) {
            const int index = i * 32 + __ffs((int)left) - 1;
            work(index % disparities, index / disparities);
        }
}

/** Key of the strongest plausible road line at the block's angle of the Hough transform; 0: none. */
static __device__ uint64_t best_line(const vf_stixel_view &s)
{
    __shared__ int votes[VFRONT_HEIGHT + VFRONT_DISPARITIES + 2];
    __shared__ unsigned long long best;
    const vf_stixel_tables &t = s.stixel->tables;
    const int disparities = s.tuning.dense_disparities, all = s.geometry.level[0][0].height + disparities + 2,
              angle = blockIdx.x;
    const double sine = t.sine[angle], cosine = t.cosine[angle];
    for (int i = threadIdx.x; i < all; i += ROAD_THREADS) votes[i] = 0;
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    each_voter(s, [&](int bin, int row) { atomicAdd(&votes[vf_road_rho(sine, cosine, bin, row, disparities)], 1); });
    __syncthreads();
    for (int i = threadIdx.x; i < all; i += ROAD_THREADS)
        if (votes[i] > VF_ROAD_VOTES_MIN && vf_road_plausible(&s, (i - disparities) / sine, -sine / cosine))
            atomicMax(&best, (unsigned long long)vf_road_key(votes[i], angle, i));
    __syncthreads();
    return best;
}

/** Sums the moments of the voting bins within 1 px of a line, for its least-squares fit. key: vf_road_key() of the
 *  line, 0: none; sum: six words of shared memory, members of vf_road_moments in order. */
static __device__ void sum_moments(const vf_stixel_view &s, uint64_t key, unsigned long long sum[6])
{
    const vf_stixel_tables &t = s.stixel->tables;
    const int angle = vf_road_key_angle(key), rho = vf_road_key_rho(key), disparities = s.tuning.dense_disparities;
    struct vf_road_moments mine = {0, 0, 0, 0, 0, 0};
    if (threadIdx.x < 6) sum[threadIdx.x] = 0;
    __syncthreads();
    if (key)
        each_voter(s, [&](int bin, int row) {
            vf_road_add(&mine, vf_road_rho(t.sine[angle], t.cosine[angle], bin, row, disparities) - rho, bin, row);
        });
    if (mine.all) {
        atomicAdd(&sum[0], (unsigned long long)mine.n);
        atomicAdd(&sum[1], (unsigned long long)mine.x);
        atomicAdd(&sum[2], (unsigned long long)mine.y);
        atomicAdd(&sum[3], (unsigned long long)mine.xy);
        atomicAdd(&sum[4], (unsigned long long)mine.yy);
        atomicAdd(&sum[5], (unsigned long long)mine.all);
    }
    __syncthreads();
}

/** Updates road and horizon from this frame's line, by one thread. key: vf_road_key() of the line, 0: none; sum: its
 *  moments. */
static __device__ void update_road(const vf_stixel_view &s, uint64_t key, const unsigned long long sum[6])
{
    vf_stixel_memory &m = *s.stixel;
    const struct vf_road_moments sums = {(int64_t)sum[0], (int64_t)sum[1], (int64_t)sum[2],
                                         (int64_t)sum[3], (int64_t)sum[4], (int64_t)sum[5]};
    double horizon_px = 0.0, slope = 0.0;
    if (s.geometry.road_slope > 0.0f) {
        vf_road_given(&s, &m.road);
    } else {
        const int found = key && vf_road_fit(&s, &sums, &horizon_px, &slope);
        vf_road_update(&m.road, s.ingest->params.frame == 0, found, horizon_px, slope, (uint32_t)(key >> 32));
    }
    m.horizon = vf_road_horizon(&m.road, s.geometry.level[0][0].height);
}

/** Finds the road, one block per angle of the Hough transform; a single block if the rig gives the road. The block that
 *  finishes last writes the results of all rows. */
static __global__ void __launch_bounds__(ROAD_THREADS) road_k(const VF_CONSTANT vf_stixel_view s)
{
    __shared__ unsigned long long sum[6], line;
    __shared__ uint32_t before;
    vf_stixel_memory &m = *s.stixel;
    const bool given = s.geometry.road_slope > 0.0f;
    const uint64_t mine = given ? 0 : best_line(s);
    if (threadIdx.x == 0) {
        if (mine) atomicMax((unsigned long long *)&m.line, (unsigned long long)mine);
        __threadfence();
        before = atomicAdd(&m.blocks_done, 1u);
    }
    __syncthreads();
    if (before + 1 < gridDim.x) return;
    if (threadIdx.x == 0) line = atomicMax((unsigned long long *)&m.line, 0ull);
    __syncthreads();
    sum_moments(s, line, sum);
    if (threadIdx.x == 0) {
        update_road(s, line, sum);
        m.blocks_done = 0;
        m.line = 0;
    }
    for (int i = threadIdx.x; i < VFRONT_OBSTACLE_BINS; i += ROAD_THREADS) m.nearest_cm[i] = VF_NONE;
    __syncthreads();
    const int height = s.geometry.level[0][0].height, horizon = m.horizon;
    vf_transition *transition = s.scratch->transition;
    if (threadIdx.x == 0) transition[0] = vf_transition_at(&m.tables, s.tuning.dense_disparities, horizon, 0, 0);
    for (int v = threadIdx.x; v < height && horizon >= 0; v += ROAD_THREADS) {
        m.ground[v] = vf_road_ground(&s, &m.tables, &m.road, horizon, v);
        if (v + 1 < height)
            transition[v + 1] = vf_transition_at(&m.tables, s.tuning.dense_disparities, horizon,
                                                 m.ground[v].expected_q8, v + 1);
    }
}

#endif

#endif
