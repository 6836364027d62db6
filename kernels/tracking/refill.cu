/* SPDX-License-Identifier: MIT */
/* refill on the GPU: one block, with one thread per feature, then one thread per cell. */
#include "kernels/block.cuh"

#include "image/ingest.h"
#include "tracking/refill.h"
#include "tracking/track.h"

#define THREADS VF_BLOCK

/** Largest number of cells whose corner keys are copied to shared memory, where each is read many times. */
#define KEYS_SHARED (VFRONT_CELLS < 2560 ? VFRONT_CELLS : 2560)

/** Grid of cells of camera 0. */
struct cell_grid {
    int32_t cells_x, cells_y, cells;
    int32_t reach_x, reach_y; /* cells on each side that the least distance between features reaches */
    /* reciprocal_of() the cells in a row, and the cell size [px]; exact for dividends below 2^16 */
    uint32_t by_cells_x, by_cell_width, by_cell_height;
};

/** value / size, rounded down, from reciprocal_of(size). Exact for value < 2^16. */
static __device__ __forceinline__ int divide(int value, uint32_t reciprocal)
{
    return reciprocal ? (int)__umulhi((uint32_t)value, reciprocal) : value;
}

/** Cells within reach of the cell in column x, row y, as vf_refill_neighbours(). */
static __device__ __forceinline__ vf_cell_range neighbours_of(const cell_grid &g, int x, int y)
{
    const vf_cell_range w = {vf_max(x - g.reach_x, 0), vf_max(y - g.reach_y, 0), vf_min(x + g.reach_x, g.cells_x - 1),
                             vf_min(y + g.reach_y, g.cells_y - 1)};
    return w;
}

/** Tracked features, which of them live on, and the cells that these suppress. */
struct live_features {
    int32_t x_q16[VFRONT_TRACKS], y_q16[VFRONT_TRACKS]; /* positions of the tracked features */
    uint8_t end[VFRONT_TRACKS],                         /* reason why a feature ended; 0: none */
        merged[VFRONT_TRACKS];                          /* 1: merged with an older feature */
    /* one bit per cell: 1 if it contains a feature, or its corner is too near one */
    uint32_t suppressed[(VFRONT_CELLS + 31) / 32];
    uint16_t free_template[VFRONT_TRACKS]; /* template indices not in use, rising */
    uint8_t used[VFRONT_TRACKS];           /* 1: the template index is in use */
    int count;                             /* number of features that live on */
};

/** Sets the bit of a suppressed cell. */
static __device__ __forceinline__ void suppress(uint32_t *suppressed, int cell)
{
    atomicOr(&suppressed[cell / 32], 1u << cell % 32);
}

/** Suppresses the cells whose corner cannot become a feature: the cell of feature f, and cells with a corner too near
 *  f. */
static __device__ void suppress_cells(const vf_refill_view &s, const cell_grid &g, const uint64_t *key,
                                      const vf_feature &f, uint32_t *suppressed)
{
    const int cx = vf_clamp(divide(vf_max(vf_pixel(f.x_q16), 0), g.by_cell_width), 0, g.cells_x - 1);
    const int cy = vf_clamp(divide(vf_max(vf_pixel(f.y_q16), 0), g.by_cell_height), 0, g.cells_y - 1);
    const vf_cell_range w = neighbours_of(g, cx, cy);
    suppress(suppressed, cy * g.cells_x + cx);
    for (int y = w.y0; y <= w.y1; y++)
        for (int x = w.x0; x <= w.x1; x++) {
            const int cell = y * g.cells_x + x;
            const vf_position_q16 p = vf_corner_position(s.geometry.step_q16, key[cell]);
            if (vf_refill_near(&s.tuning, f.x_q16, f.y_q16, p.x_q16, p.y_q16)) suppress(suppressed, cell);
        }
}

/** Marks the features that merge with an older one: one warp per feature, one lane per older feature. */
static __device__ void mark_merged(const vf_refill_view &s, int count, live_features &live)
{
    const int thread = threadIdx.x, lane = thread % VF_WARP;
    if (thread < count) {
        const vf_feature &f = s.track->moved[thread];
        live.x_q16[thread] = f.x_q16;
        live.y_q16[thread] = f.y_q16;
        live.end[thread] = f.end;
    }
    __syncthreads();
    for (int i = thread / VF_WARP; i < count; i += THREADS / VF_WARP) {
        bool same = false;
        for (int j = lane; j < i && !live.end[i]; j += VF_WARP)
            same = same || (!live.end[j] &&
                            vf_refill_same(&s.tuning, live.x_q16[i], live.y_q16[i], live.x_q16[j], live.y_q16[j]));
        const bool merged = __any_sync(VF_ALL, same);
        if (lane == 0) live.merged[i] = merged;
    }
    __syncthreads();
}

/** Splits the tracked features into live ones, in order, and ended ones. Marks suppressed cells and template indices in
 *  use. Its first barrier also makes the keys in shared memory visible to all threads. */
static __device__ void split_features(const vf_refill_view &s, const cell_grid &g, const uint64_t *key, int count,
                                      live_features &live, int *start)
{
    vf_refill_memory &r = *s.refill;
    const int i = threadIdx.x;
    if (i < VFRONT_TRACKS) live.used[i] = 0;
    for (int w = i; w < (VFRONT_CELLS + 31) / 32; w += THREADS) live.suppressed[w] = 0;
    if (i < VFRONT_ENDS) r.ended[i] = 0;
    mark_merged(s, count, live);
    const int end = i >= count ? 0 : live.merged[i] ? VFRONT_END_MERGED : live.end[i];
    int alive_total;
    const int alive_before = vf_count_before(i < count && !end, start, &alive_total);
    if (i < count && end) {
        r.lost[i - alive_before] = i;
        atomicAdd(&r.ended[end], 1u);
    } else if (i < count) {
        const vf_feature &f = s.track->moved[i];
        const uint4 *from = reinterpret_cast<const uint4 *>(&f);
        uint4 *to = reinterpret_cast<uint4 *>(&r.feature[s.parity][alive_before]);
        for (int k = 0; k < (int)(sizeof f / sizeof *to); k++) to[k] = from[k];
        suppress_cells(s, g, key, f, live.suppressed);
        live.used[f.template_index] = 1;
    }
    if (i == 0) {
        live.count = alive_total;
        r.lost_count = count - alive_total;
        r.followed = alive_total;
    }
    __syncthreads();
}

/** Non-maximum suppression: true if no better corner of another cell is too near the cell's corner. */
static __device__ bool is_local_best(const vf_refill_view &s, const cell_grid &g, const uint64_t *key, int cell)
{
    const int cy = divide(cell, g.by_cells_x);
    const vf_cell_range w = neighbours_of(g, cell - cy * g.cells_x, cy);
    const uint64_t own = key[cell];
    const vf_position_q16 p = vf_corner_position(s.geometry.step_q16, own);
    bool best = true;
    for (int y = w.y0; y <= w.y1; y++)
        for (int x = w.x0; x <= w.x1; x++) {
            const uint64_t other = key[y * g.cells_x + x];
            const vf_position_q16 q = vf_corner_position(s.geometry.step_q16, other);
            best = best && (other <= own || !vf_refill_near(&s.tuning, q.x_q16, q.y_q16, p.x_q16, p.y_q16));
        }
    return best;
}

template <bool SHARED>
static __global__ void __launch_bounds__(THREADS) refill_k(const VF_CONSTANT vf_refill_view s, const cell_grid g)
{
    __shared__ uint64_t shared_key[SHARED ? KEYS_SHARED : 1];
    __shared__ live_features live;
    __shared__ int start[VF_WARPS + 1]; /* scratch of vf_count_before() */
    vf_refill_memory &r = *s.refill;
    const uint64_t *key = SHARED ? shared_key : s.detect->corner[s.parity][0];
    const int thread = threadIdx.x, cells = g.cells;
    if (thread == 0) vf_clock_start(s.clock, 0);
    for (int cell = thread; SHARED && cell < cells; cell += THREADS)
        shared_key[cell] = s.detect->corner[s.parity][0][cell];
    const vf_track_counts before = vf_refill_counts_before(&s.tuning, s.ingest->params.frame, &r.counts[s.parity ^ 1]);
    split_features(s, g, key, before.count, live, start);

    const int wanted = vf_refill_wanted(&s.tuning, live.count);
    VF_STATIC_ASSERT(VFRONT_CELLS <= 32 * THREADS, "a bit for each of the thread's cells");
    uint32_t fits = 0;
    for (int cell = thread, k = 0; wanted && cell < cells; cell += THREADS, k++) {
        const bool fit = key[cell] && !(live.suppressed[cell / 32] >> cell % 32 & 1) && is_local_best(s, g, key, cell);
        r.candidate[cell] = fit ? key[cell] : 0;
        fits |= (uint32_t)fit << k;
    }
    const bool any = __syncthreads_or(fits != 0);
    for (int cell = thread, k = 0; SHARED && cell < cells; cell += THREADS, k++)
        if (!(fits >> k & 1)) shared_key[cell] = 0;
    const uint64_t *candidate = SHARED ? shared_key : r.candidate;
    __syncthreads();

    const auto each_key = [=](auto work) {
        for (int first = 0; first < cells; first += THREADS)
            work(first + thread < cells ? candidate[first + thread] : 0);
    };
    int found = 0;
    const uint64_t threshold = any ? vf_kth_best_key(
                                         each_key, [=](int) { return wanted; }, &found)
                                   : 1;
    int free_count, born = 0;
    const bool is_free = thread < VFRONT_TRACKS && !live.used[thread];
    const int free_before = vf_count_before(is_free, start, &free_count);
    if (is_free) live.free_template[free_before] = (uint16_t)thread;
    for (int first = 0; found && first < cells; first += THREADS) {
        const int cell = first + thread;
        const uint64_t chosen = cell < cells ? candidate[cell] : 0;
        int total;
        const int nth = born + vf_count_before(chosen && chosen >= threshold, start, &total);
        if (chosen && chosen >= threshold)
            r.feature[s.parity][live.count + nth] = vf_refill_born(s.geometry.step_q16, chosen,
                                                                   before.last_id + nth + 1, live.free_template[nth]);
        born += total;
    }
    if (thread == 0) {
        r.born = born;
        r.overflow = found > wanted ? found - wanted : 0;
        r.counts[s.parity] = vf_refill_counts(&before, live.count, born);
        vf_clock_end(s.clock);
    }
}

/** Reciprocal of a size for divide(): 2^32 / size, rounded up; 0 for size 1. */
static uint32_t reciprocal_of(int size) { return size > 1 ? 0xffffffffu / (uint32_t)size + 1 : 0; }

extern "C" cudaError_t vf_refill_cuda(const vf_refill_view *s, cudaStream_t stream)
{
    cell_grid g;
    g.cells_x = s->geometry.cells_x[0];
    g.cells_y = s->geometry.cells_y[0];
    g.cells = g.cells_x * g.cells_y;
    g.reach_x = vf_refill_reach(s->tuning.track_distance_px, s->tuning.cell_width_px);
    g.reach_y = vf_refill_reach(s->tuning.track_distance_px, s->tuning.cell_height_px);
    g.by_cells_x = reciprocal_of(g.cells_x);
    g.by_cell_width = reciprocal_of(s->tuning.cell_width_px);
    g.by_cell_height = reciprocal_of(s->tuning.cell_height_px);
    if (g.cells <= KEYS_SHARED)
        refill_k<true><<<1, THREADS, 0, stream>>>(*s, g);
    else
        refill_k<false><<<1, THREADS, 0, stream>>>(*s, g);
    return cudaGetLastError();
}
