/* SPDX-License-Identifier: MIT */
/* refill on the GPU: one block; a thread a feature, then a thread a cell. */
#include "kernels/block.cuh"

#include "tracking/refill.h"

#define THREADS VF_BLOCK

/** Keys of the cells' corners: in shared memory where they fit, because every one of them is asked for many times. */
#define KEYS_SHARED (VFRONT_CELLS <= 4096)

/** The grid of camera 0, and divisions by its sizes as products with their reciprocals, exact for what is below 2^16. */
struct grid {
    int32_t cells_x, cells_y, cells;
    int32_t reach_x, reach_y;
    uint32_t across, cell_width, cell_height; /* reciprocals of cells_x and of the sizes of a cell; 0 stands for 1 */
};

static __device__ __forceinline__ int divide(int value, uint32_t reciprocal)
{
    return reciprocal ? (int)__umulhi((uint32_t)value, reciprocal) : value;
}

/** The cells that vf_refill_window() gives, without its divisions. */
static __device__ __forceinline__ vf_window window_at(const grid &g, int x, int y)
{
    const vf_window w = {vf_max(x - g.reach_x, 0), vf_max(y - g.reach_y, 0), vf_min(x + g.reach_x, g.cells_x - 1),
                         vf_min(y + g.reach_y, g.cells_y - 1)};
    return w;
}

/** What live features leave free. */
struct live_features {
    uint32_t barred[(VFRONT_CELLS + 31) / 32]; /* a bit a cell: holds a feature, or its corner lies too near to one */
    uint16_t free_slot[VFRONT_TRACKS];
    uint8_t used[VFRONT_TRACKS];
    int count;
};

static __device__ __forceinline__ void bar(uint32_t *barred, int cell)
{
    atomicOr(&barred[cell / 32], 1u << cell % 32);
}

/** Bars every cell that a feature keeps from giving birth. */
static __device__ void bar_cells(const vf_step &s, const grid &g, const uint64_t *key, const vf_feature &f,
                                 uint32_t *barred)
{
    const int cx = vf_clamp(divide(vf_max(vf_pixel(f.x_q16), 0), g.cell_width), 0, g.cells_x - 1);
    const int cy = vf_clamp(divide(vf_max(vf_pixel(f.y_q16), 0), g.cell_height), 0, g.cells_y - 1);
    const vf_window w = window_at(g, cx, cy);
    bar(barred, cy * g.cells_x + cx);
    for (int y = w.y0; y <= w.y1; y++)
        for (int x = w.x0; x <= w.x1; x++) {
            const int cell = y * g.cells_x + x;
            const vf_place p = vf_detect_place(&s.geometry, key[cell]);
            if (vf_refill_near(&s.tuning, f.x_q16, f.y_q16, p.x_q16, p.y_q16)) bar(barred, cell);
        }
}

/** Splits the moved features as the host form does. Its first barrier also makes the keys in shared memory seen by all. */
static __device__ void part(const vf_step &s, const grid &g, const uint64_t *key, int count, live_features &live,
                            int *start)
{
    vf_track_memory &m = s.memory->track;
    vf_refill_memory &r = s.memory->refill;
    const int i = threadIdx.x;
    if (i < VFRONT_TRACKS) live.used[i] = 0;
    for (int w = i; w < (VFRONT_CELLS + 31) / 32; w += THREADS) live.barred[w] = 0;
    if (i < VFRONT_ENDS) r.ended[i] = 0;
    const int end = i < count ? m.moved[i].end : 0;
    int alive_total;
    const int alive_before = vf_count_before(i < count && !end, start, &alive_total);
    if (i < count && end) {
        r.lost[i - alive_before] = i;
        atomicAdd(&r.ended[end], 1u);
    } else if (i < count) {
        const vf_feature &f = m.moved[i];
        const uint4 *from = reinterpret_cast<const uint4 *>(&f);
        uint4 *to = reinterpret_cast<uint4 *>(&m.feature[s.parity][alive_before]);
        for (int k = 0; k < (int)(sizeof f / sizeof *to); k++) to[k] = from[k];
        bar_cells(s, g, key, f, live.barred);
        live.used[f.slot] = 1;
    }
    if (i == 0) {
        live.count = alive_total;
        r.lost_count = count - alive_total;
        r.followed = alive_total;
    }
    __syncthreads();
}

/** Whether no better corner of another cell lies too near. */
static __device__ bool clear_of_corners(const vf_step &s, const grid &g, const uint64_t *key, int cell)
{
    const int cy = divide(cell, g.across);
    const vf_window w = window_at(g, cell - cy * g.cells_x, cy);
    const uint64_t mine = key[cell];
    const vf_place p = vf_detect_place(&s.geometry, mine);
    bool clear = true;
    for (int y = w.y0; y <= w.y1; y++)
        for (int x = w.x0; x <= w.x1; x++) {
            const uint64_t other = key[y * g.cells_x + x];
            const vf_place q = vf_detect_place(&s.geometry, other);
            clear = clear && (other <= mine || !vf_refill_near(&s.tuning, q.x_q16, q.y_q16, p.x_q16, p.y_q16));
        }
    return clear;
}

static __global__ void __launch_bounds__(THREADS) refill_k(const vf_step s, const grid g)
{
    __shared__ uint64_t shared_key[KEYS_SHARED ? VFRONT_CELLS : 1];
    __shared__ live_features live;
    __shared__ int start[VF_WARPS + 1]; /* of each warp's flags */
    vf_track_memory &m = s.memory->track;
    vf_refill_memory &r = s.memory->refill;
    const uint64_t *key = KEYS_SHARED ? shared_key : s.memory->detect.corner[0];
    const int thread = threadIdx.x, cells = g.cells;
    if (thread == 0) vf_clock_start(s, VF_refill, 0);
    for (int cell = thread; KEYS_SHARED && cell < cells; cell += THREADS)
        shared_key[cell] = s.memory->detect.corner[0][cell];
    const vf_census before = vf_refill_before(s.memory->ingest.params.frame, &m.census[s.parity ^ 1]);
    part(s, g, key, before.count, live, start);

    const int wanted = vf_refill_wanted(&s.tuning, live.count);
    VF_STATIC_ASSERT(VFRONT_CELLS <= 32 * THREADS, "a bit for each of the thread's cells");
    uint32_t fits = 0;
    for (int cell = thread, k = 0; wanted && cell < cells; cell += THREADS, k++) {
        const bool fit = key[cell] && !(live.barred[cell / 32] >> cell % 32 & 1) && clear_of_corners(s, g, key, cell);
        r.candidate[cell] = fit ? key[cell] : 0;
        fits |= (uint32_t)fit << k;
    }
    const bool any = __syncthreads_or(fits != 0);
    for (int cell = thread, k = 0; KEYS_SHARED && cell < cells; cell += THREADS, k++)
        if (!(fits >> k & 1)) shared_key[cell] = 0;
    const uint64_t *candidate = KEYS_SHARED ? shared_key : r.candidate;
    __syncthreads();

    const auto each_key = [=](auto work) {
        for (int first = 0; first < cells; first += THREADS)
            work(first + thread < cells ? candidate[first + thread] : 0);
    };
    int found = 0;
    const uint64_t least = any ? vf_least_wanted(
                                     each_key, [=](int) { return wanted; }, &found)
                               : 1;
    int slots, born = 0;
    const bool is_free = thread < VFRONT_TRACKS && !live.used[thread];
    const int free_before = vf_count_before(is_free, start, &slots);
    if (is_free) live.free_slot[free_before] = (uint16_t)thread;
    for (int first = 0; found && first < cells; first += THREADS) {
        const int cell = first + thread;
        const uint64_t chosen = cell < cells ? candidate[cell] : 0;
        int total;
        const int nth = born + vf_count_before(chosen && chosen >= least, start, &total);
        if (chosen && chosen >= least)
            m.feature[s.parity][live.count + nth] = vf_refill_born(&s.geometry, chosen, before.ids + nth + 1,
                                                                   live.free_slot[nth]);
        born += total;
    }
    if (thread == 0) {
        r.born = born;
        r.overflow = found > wanted ? found - wanted : 0;
        m.census[s.parity] = vf_refill_census(&before, live.count, born);
        vf_clock_end(s, VF_refill);
    }
}

static uint32_t reciprocal_of(int size) { return size > 1 ? 0xffffffffu / (uint32_t)size + 1 : 0; }

extern "C" cudaError_t vf_refill_cuda(const vf_step *s, cudaStream_t stream)
{
    if (!s->tuning.track_target) return cudaSuccess;
    grid g;
    g.cells_x = s->geometry.cells_x[0];
    g.cells_y = s->geometry.cells_y[0];
    g.cells = g.cells_x * g.cells_y;
    g.reach_x = vf_refill_reach(s->tuning.track_distance_px, s->tuning.cell_width_px);
    g.reach_y = vf_refill_reach(s->tuning.track_distance_px, s->tuning.cell_height_px);
    g.across = reciprocal_of(g.cells_x);
    g.cell_width = reciprocal_of(s->tuning.cell_width_px);
    g.cell_height = reciprocal_of(s->tuning.cell_height_px);
    refill_k<<<1, THREADS, 0, stream>>>(*s, g);
    return cudaGetLastError();
}
