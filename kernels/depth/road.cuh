/* SPDX-License-Identifier: MIT */
/* The first two launches of stixel: rows reduced to columns and their disparities counted; the road, and what follows from it. */
#ifndef VF_ROAD_CUH
#define VF_ROAD_CUH

#include "kernels/kernel.cuh"

#include "depth/stixel.h"

#if VFRONT_STIXELS

/* ---- reduction --------------------------------------------------------------------------------------------------- */

#define ROWS 4
#define REDUCERS 256

static __global__ void __launch_bounds__(REDUCERS) reduce_k(const vf_step s)
{
    __shared__ uint32_t count[ROWS][VFRONT_DISPARITIES];
    vf_stixel_memory &m = s.memory->stixel;
    const vf_level &l = s.geometry.level[0][0];
    const int disparities = s.tuning.dense_disparities, columns = vf_stixel_columns(&s),
              width = s.tuning.stixel_width_px, thread = threadIdx.x;
    const int y0 = blockIdx.x * ROWS, rows = vf_min(ROWS, l.height - y0);
    const uint16_t *from = s.memory->dense.disparity + (size_t)y0 * l.pitch;
    if (thread == 0) vf_clock_start(s, VF_stixel, blockIdx.x);
    for (int i = thread; i < ROWS * VFRONT_DISPARITIES; i += REDUCERS)
        count[i / VFRONT_DISPARITIES][i % VFRONT_DISPARITIES] = 0;
    __syncthreads();
    for (int r = 0; r < rows; r++)
        for (int x = thread; x < l.width; x += REDUCERS) {
            const int bin = vf_road_bin(from[r * l.pitch + x], disparities);
            if (bin) atomicAdd(&count[r][bin], 1u);
        }
    for (int i = thread; i < columns * ROWS; i += REDUCERS) {
        const int r = i % ROWS, column = i / ROWS;
        if (r >= rows) continue;
        const uint32_t value = vf_stixel_reduce(from + r * l.pitch + column * width, width, s.tuning.stixel_median,
                                                VF_DENSE_UNITS, disparities);
        m.column[column][l.height - 1 - y0 - r] = (uint16_t)value;
    }
    __syncthreads();
    const int r = thread / VF_WARP, lane = thread % VF_WARP;
    if (r >= rows) return;
    uint32_t most = 0; /* of the warp's row; none are counted at 0 */
    for (int d = lane; d < disparities; d += VF_WARP) most = max(most, count[r][d]);
    most = ~vf_warp_min(~most);
    for (int first = 0; first < disparities; first += VF_WARP) {
        const uint32_t voters = __ballot_sync(VF_ALL, vf_road_votes(count[r][first + lane], most, l.width));
        if (lane == 0) m.voter[((y0 + r) * disparities + first) / 32] = voters;
    }
}

/* ---- road -------------------------------------------------------------------------------------------------------- */

#define VOTERS 512

/** Calls work(bin, row) for the cells of the thread that vote. */
template <typename Work> static __device__ __forceinline__ void each_voter(const vf_step &s, Work work)
{
    const vf_stixel_memory &m = s.memory->stixel;
    const int disparities = s.tuning.dense_disparities, words = disparities * s.geometry.level[0][0].height / 32;
    for (int i = threadIdx.x; i < words; i += VOTERS)
        for (uint32_t left = m.voter[i]; left; left &= left - 1) {
            const int at = i * 32 + __ffs((int)left) - 1;
            work(at % disparities, at / disparities);
        }
}

/** The best line of the block's angle. */
static __device__ uint64_t best_line(const vf_step &s)
{
    __shared__ int votes[VFRONT_HEIGHT + VFRONT_DISPARITIES + 2];
    __shared__ unsigned long long best;
    const vf_stixel_tables &t = s.memory->stixel.tables;
    const int disparities = s.tuning.dense_disparities, all = s.geometry.level[0][0].height + disparities + 2,
              angle = blockIdx.x;
    const double sine = t.sine[angle], cosine = t.cosine[angle];
    for (int i = threadIdx.x; i < all; i += VOTERS) votes[i] = 0;
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    each_voter(s,
               [&](int bin, int row) { atomicAdd(&votes[vf_road_distance(sine, cosine, bin, row, disparities)], 1); });
    __syncthreads();
    for (int i = threadIdx.x; i < all; i += VOTERS)
        if (votes[i] > VF_ROAD_VOTES && vf_road_fits(&s, (i - disparities) / sine, -sine / cosine))
            atomicMax(&best, (unsigned long long)vf_road_line(votes[i], angle, i));
    __syncthreads();
    return best;
}

/** Sums over what is near a line, in shared memory. */
static __device__ void sum_near(const vf_step &s, uint64_t line, unsigned long long sum[6])
{
    const vf_stixel_tables &t = s.memory->stixel.tables;
    const int angle = vf_road_angle(line), distance = vf_road_away(line), disparities = s.tuning.dense_disparities;
    struct vf_road_sums mine = {0, 0, 0, 0, 0, 0};
    if (threadIdx.x < 6) sum[threadIdx.x] = 0;
    __syncthreads();
    if (line)
        each_voter(s, [&](int bin, int row) {
            vf_road_add(&mine, vf_road_distance(t.sine[angle], t.cosine[angle], bin, row, disparities) - distance, bin,
                        row);
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

/** Follows the road, by one thread. */
static __device__ void follow(const vf_step &s, uint64_t line, const unsigned long long sum[6])
{
    vf_stixel_memory &m = s.memory->stixel;
    const struct vf_road_sums sums = {(int64_t)sum[0], (int64_t)sum[1], (int64_t)sum[2],
                                      (int64_t)sum[3], (int64_t)sum[4], (int64_t)sum[5]};
    double horizon_px = 0.0, slope = 0.0;
    if (s.geometry.road_slope > 0.0f) {
        vf_road_given(&s, &m.road);
    } else {
        const int seen = line && vf_road_fit(&s, &sums, &horizon_px, &slope);
        vf_road_follow(&m.road, s.memory->ingest.params.frame == 0, seen, horizon_px, slope, (uint32_t)(line >> 32));
    }
    m.horizon = vf_road_horizon(&m.road, s.geometry.level[0][0].height);
}

#define NEVER_MORE (VF_STIXEL_WORST + VF_STIXEL_WORST / 2) /* two of them may be added to VF_STIXEL_NEVER */

/** What it costs more to begin at a row, from the disparity of the road at the row before. */
static __device__ vf_change change_at(const vf_stixel_tables &t, int disparities, int horizon, int32_t ground_q8,
                                      int base)
{
    const int32_t most = disparities * VF_STIXEL_PX, above = ground_q8 + VF_ROAD_SLACK_Q8,
                  below = ground_q8 - VF_ROAD_SLACK_Q8;
    const int32_t order = t.order[base], *logs = t.log_q16;
    if (base == 0)
        return vf_change{VF_STIXEL_NEVER, -1, 0, 0, vf_stixel_log(logs, (uint32_t)most), NEVER_MORE, NEVER_MORE, order};
    if (base - 1 >= horizon)
        return vf_change{VF_ROAD_SLACK_Q8, 0,          vf_stixel_log(logs, (uint32_t)(most - VF_ROAD_SLACK_Q8)),
                         NEVER_MORE,       NEVER_MORE, VF_LN_2,
                         VF_LN_2,          order};
    const int32_t upper = vf_stixel_log(logs, (uint32_t)vf_max(most - above, 1)) + VF_LN_GRAVITY;
    const int32_t lower = vf_stixel_log(logs, (uint32_t)vf_max(below, 1)) + VF_LN_BELOW;
    return vf_change{above,    below, upper + VF_LN_07, lower + VF_LN_07, VF_LN_ON_GROUND + VF_LN_07, VF_LN_07,
                     VF_LN_03, order};
}

static __global__ void __launch_bounds__(VOTERS) road_k(const vf_step s)
{
    __shared__ unsigned long long sum[6], line;
    __shared__ uint32_t before;
    vf_stixel_memory &m = s.memory->stixel;
    const bool given = s.geometry.road_slope > 0.0f;
    const uint64_t mine = given ? 0 : best_line(s);
    if (threadIdx.x == 0) {
        if (mine) atomicMax((unsigned long long *)&m.line, (unsigned long long)mine);
        __threadfence();
        before = atomicAdd(&m.arrived, 1u);
    }
    __syncthreads();
    if (before + 1 < gridDim.x) return;
    if (threadIdx.x == 0) line = atomicMax((unsigned long long *)&m.line, 0ull);
    __syncthreads();
    sum_near(s, line, sum);
    if (threadIdx.x == 0) {
        follow(s, line, sum);
        m.arrived = 0;
        m.line = 0;
    }
    for (int i = threadIdx.x; i < VFRONT_OBSTACLE_BINS; i += VOTERS) m.nearest_cm[i] = VF_NONE;
    __syncthreads();
    const int height = s.geometry.level[0][0].height, horizon = m.horizon;
    vf_change *change = s.memory->stixel_work.change;
    if (threadIdx.x == 0) change[0] = change_at(m.tables, s.tuning.dense_disparities, horizon, 0, 0);
    for (int v = threadIdx.x; v < height && horizon >= 0; v += VOTERS) {
        m.ground[v] = vf_road_row(&s, &m.tables, &m.road, horizon, v);
        if (v + 1 < height)
            change[v + 1] = change_at(m.tables, s.tuning.dense_disparities, horizon, m.ground[v].at_q8, v + 1);
    }
}

#endif

#endif
