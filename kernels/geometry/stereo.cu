/* SPDX-License-Identifier: MIT */
/* stereo on the GPU: three launches, because the cross-check needs the matches of all points, and the outlier test the
 * costs of all points. match_k: a block finds the best match of a point; all fill the grid of expected depths. depth_k:
 * a warp finds the sub-pixel position and depth of a point, each lane with four pixels of every window. list_k: one
 * block assesses the pair, computes the median and writes the list. */
#include "kernels/block.cuh"
#include "kernels/geometry/stereo_window.cuh"

#include "geometry/ego.h"
#include "geometry/expect.h"
#include "geometry/rows.h"
#include "geometry/stereo.h"
#include "image/scale.h"

#if VFRONT_STEREO

#define WARPS 4
#define THREADS (WARPS * VF_WARP)

/** Key points of one camera, in the frame of the step. */
struct camera_points {
    const vf_point *point;
    const float *angle;
    const vfront_descriptor_t *descriptor;
    const uint32_t *first; /* index of the first point of each level */
    int count;
};
static __device__ __forceinline__ camera_points camera_points_of(const vf_stereo_view &s, int camera)
{
    const camera_points points = {s.bearing->point[s.parity][camera], s.describe->angle[s.parity][camera],
                                  s.describe->descriptor[s.parity][camera], s.bearing->first[s.parity][camera],
                                  (int)s.bearing->count[s.parity][camera]};
    return points;
}

/* ---- search ------------------------------------------------------------------------------------------------------ */

/** Capacity of the list of a point's candidates in shared memory. With more candidates, the test is repeated instead of
 *  reading the list. */
#define LIST_SIZE 512

/** Best match of point i, by a block; ratio test; updates `back` of its candidates. each_candidate(f) calls f(j) for
 *  the candidates of the thread. Returns Hamming distance << 16 | index, or VF_NONE. */
template <typename Each>
static __device__ __forceinline__ uint32_t best_match(const vf_stereo_view &s, const camera_points &left,
                                                      const camera_points &right, int i, uint32_t max_distance,
                                                      Each each_candidate)
{
    __shared__ uint32_t best, second;
    const auto match_to = [&](int j) {
        return vf_packed_match(vf_hamming_distance(&left.descriptor[i], &right.descriptor[j]), j);
    };
    if (threadIdx.x == 0) {
        best = VF_NONE;
        second = 256;
    }
    __syncthreads();
    each_candidate([&](int j) {
        const uint32_t mine = match_to(j);
        if (mine >> 16 > max_distance) return;
        atomicMin(&s.stereo->back[s.parity][j], vf_packed_match(mine >> 16, i));
        atomicMin(&best, mine);
    });
    __syncthreads();
    if (best == VF_NONE) return VF_NONE;
    each_candidate([&](int j) {
        if (vf_points_apart(&right.point[best & 0xffff], &right.point[j])) atomicMin(&second, match_to(j) >> 16);
    });
    __syncthreads();
    return vf_ratio_test(s.tuning.match_ratio_percent, best >> 16, second) ? best : VF_NONE;
}

/** Grid of expected depths: every thread has some of the previous frame's key points. */
static __device__ __forceinline__ void fill_grid(const vf_stereo_view &s)
{
    if (!vf_expect_active(&s)) return;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < vf_expect_count(&s); i += gridDim.x * THREADS) {
        vf_expect_cell add;
        int32_t cell;
        if (!vf_expect_point(&s, i, &cell, &add)) continue;
        vf_expect_cell &to = s.stereo->expected[s.parity][cell];
        atomicMax(&to.nearest, add.nearest);
        atomicMax(&to.farthest, add.farthest);
        atomicAdd(&to.points, add.points);
    }
}

static __global__ void __launch_bounds__(THREADS) match_k(const VF_CONSTANT vf_stereo_view s)
{
    __shared__ uint16_t list[LIST_SIZE];
    __shared__ int count;
    const int thread = threadIdx.x;
    const camera_points left = camera_points_of(s, 0), right = camera_points_of(s, 1);
    const struct vf_stereo_bounds bounds = vf_stereo_make_bounds(&s);
    if (thread == 0) vf_clock_start(s.clock, blockIdx.x);
    fill_grid(s);
    for (int i = blockIdx.x; i < left.count; i += gridDim.x) {
        const vf_point a = left.point[i];
        const vf_epipolar e = vf_stereo_epipolar(&s.geometry.pair, a.bearing);
        const vf_candidate_range range = vf_stereo_candidates(&bounds, right.first, a.level);
        const float angle = left.angle[i];
        if (thread == 0) count = 0;
        __syncthreads();
        const auto each_tested = [&](auto work) {
#pragma unroll 4
            for (int j = range.first + thread; j < (int)range.end; j += THREADS) {
                const vf_point b = right.point[j];
                if (vf_stereo_candidate(&bounds, &e, a.step, angle, b.bearing, b.step, right.angle[j])) work(j);
            }
        };
        const auto each_listed = [&](auto work) {
            for (int k = thread; k < count; k += THREADS) work(list[k]);
        };
        each_tested([&](int j) {
            const int at = atomicAdd(&count, 1);
            if (at < LIST_SIZE) list[at] = (uint16_t)j;
        });
        __syncthreads();
        const uint32_t found = count <= LIST_SIZE ? best_match(s, left, right, i, bounds.distance, each_listed)
                                                  : best_match(s, left, right, i, bounds.distance, each_tested);
        if (thread == 0) s.stereo->best[i] = found;
        __syncthreads(); /* before the next point's candidates overwrite this one's */
    }
}

/* ---- depth ------------------------------------------------------------------------------------------------------- */

/** Tile of pixels that holds all windows of a search: TILE rows of TILE_WORDS words of four pixels, from an aligned
 *  address on. */
#define TILE (VF_STEREO_SIDE + 2 * VF_STEREO_REACH + 1)
#define TILE_WORDS ((TILE + 6) / 4)
/** Load a tile whose first pixel is (u0, v0) rounded down to a word. Elements outside of the level have undefined
 *  values; no valid window reads them. */
static __device__ __forceinline__ void load_tile(uint32_t *to, const uint8_t *pixels, const vf_level &l, int u0, int v0,
                                                 int lane)
{
#pragma unroll
    for (int i = lane; i < TILE * TILE_WORDS; i += VF_WARP) {
        const int x = vf_clamp((u0 & ~3) + 4 * (i % TILE_WORDS), 0, l.pitch - 4),
                  y = vf_clamp(v0 + i / TILE_WORDS, 0, l.height - 1);
        to[i] = *reinterpret_cast<const uint32_t *>(pixels + y * l.pitch + x);
    }
}

/** Read a window around c on a level of a camera. */
static __device__ __forceinline__ window read_level(const vf_stereo_view &s, int camera, int level, vf_window_centre c,
                                                    int lane)
{
    const vf_level &l = s.geometry.scale[camera][level];
    return read_around(vf_scale_pixels(s.scale, s.pictures.level0[s.parity][camera], camera, level, &l), l.pitch, c,
                       lane);
}

/** Sum of a window over the warp. */
static __device__ __forceinline__ int sum_of(const window &w)
{
    int sum = 0;
#pragma unroll
    for (int t = 0; t < LANE_PIXELS; t++) sum += w.grey[t];
    return vf_warp_sum(sum);
}

/** ZSAD of two windows. left_sum: sum of the first one. */
static __device__ __forceinline__ uint32_t zsad(const window &left, int left_sum, const window &right, int lane)
{
    const int right_sum = sum_of(right);
    uint32_t cost = 0;
#pragma unroll
    for (int t = 0; t < LANE_PIXELS; t++)
        if (in_window(t, lane)) cost += vf_stereo_absolute_difference(left.grey[t], left_sum, right.grey[t], right_sum);
    return (uint32_t)vf_warp_sum((int)cost);
}

/** Search along the line on the point's level: move the position to the minimum of the ZSAD. Returns false if a window
 *  does not fit, or if there is no minimum between the ends. */
static __device__ __forceinline__ bool search_line(const vf_stereo_view &s, const vf_point &a,
                                                   const vf_epipolar_line &line, uint32_t *tile, int lane,
                                                   vf_stereo_position *position)
{
    const vf_level &l1 = s.geometry.scale[1][a.level];
    const vf_window_centre start = vf_stereo_window_centre(&s, *position, a.level), own = {a.u * 256, a.v * 256};
    const int u0 = (start.u >> 8) - VF_STEREO_HALF - VF_STEREO_REACH,
              v0 = (start.v >> 8) - VF_STEREO_HALF - VF_STEREO_REACH;
    bool inside = vf_stereo_window_inside(&s.geometry.scale[0][a.level], own);
#pragma unroll
    for (int k = -VF_STEREO_REACH; k <= VF_STEREO_REACH; k++)
        inside = inside && vf_stereo_window_inside(&l1, vf_stereo_move_window(&line, start, k));
    if (!inside) return false;
    load_tile(tile, vf_scale_pixels(s.scale, s.pictures.level0[s.parity][1], 1, a.level, &s.geometry.scale[1][a.level]),
              l1, u0, v0, lane);
    const window left = read_level(s, 0, a.level, own, lane);
    const int left_sum = sum_of(left);
    __syncwarp();
    uint32_t cost[VF_STEREO_POSITIONS], least = VF_NONE, before = 0, after = 0;
#pragma unroll
    for (int k = 0; k < VF_STEREO_POSITIONS; k++) {
        const vf_window_centre c = vf_stereo_move_window(&line, start, k - VF_STEREO_REACH);
        const uint8_t *first = reinterpret_cast<const uint8_t *>(tile) +
                               ((c.v >> 8) - VF_STEREO_HALF - v0) * (4 * TILE_WORDS) + (c.u >> 8) - VF_STEREO_HALF -
                               (u0 & ~3);
        cost[k] = zsad(left, left_sum, read_window(first, 4 * TILE_WORDS, c, lane), lane);
    }
    int minimum = 0;
#pragma unroll
    for (int k = 0; k < VF_STEREO_POSITIONS; k++) {
        if (cost[k] >= least) continue;
        least = cost[k];
        minimum = k;
        before = k ? cost[k - 1] : 0;
        after = k + 1 < VF_STEREO_POSITIONS ? cost[k + 1] : 0;
    }
    if (minimum == 0 || minimum == VF_STEREO_POSITIONS - 1 || after == least) return false;
    *position = vf_stereo_move(
        &line, *position, ((float)(minimum - VF_STEREO_REACH) + vf_stereo_subpixel(before, least, after)) * a.step);
    return true;
}

/** Sum over the warp. */
static __device__ __forceinline__ vf_stereo_sums warp_sum(vf_stereo_sums mine)
{
    const vf_stereo_sums sum = {vf_warp_sum(mine.n), vf_warp_sum(mine.g), vf_warp_sum(mine.d), vf_warp_sum(mine.gg),
                                vf_warp_sum(mine.gd)};
    return sum;
}

/** Gauss-Newton steps along the line on level 0. Returns the ZSAD at the final position and vf_stereo_fit_px(); VF_NONE
 *  if a window does not fit, the steps lead too far, or the halves of the window disagree. */
static __device__ __forceinline__ uint32_t refine_subpixel(const vf_stereo_view &s, const vf_point &a,
                                                           const vf_epipolar_line &line, int lane,
                                                           vf_stereo_position *position, float *fit_px)
{
    const vf_level &l0 = s.geometry.scale[0][0], &l1 = s.geometry.scale[1][0];
    const vf_stereo_position from = *position;
    const vf_window_centre centre = vf_stereo_window_centre(&s, vf_stereo_position{a.x_q16, a.y_q16}, 0);
    const vf_window_centre next = vf_stereo_move_window(&line, centre, 1),
                           last = vf_stereo_move_window(&line, centre, -1);
    if (!vf_stereo_window_inside(&l0, centre) || !vf_stereo_window_inside(&l0, next) ||
        !vf_stereo_window_inside(&l0, last))
        return VF_NONE;
    const window left = read_level(s, 0, 0, centre, lane), ahead = read_level(s, 0, 0, next, lane),
                 behind = read_level(s, 0, 0, last, lane);
    float shift = 0.0f;
    for (int step = 0;; step++) {
        *position = vf_stereo_move(&line, from, shift);
        const vf_window_centre c = vf_stereo_window_centre(&s, *position, 0);
        if (!(fabsf(shift) <= VF_STEREO_STEPS_PX) || !vf_stereo_window_inside(&l1, c)) return VF_NONE;
        const window right = read_level(s, 1, 0, c, lane);
        vf_stereo_sums sum[3] = {};
#pragma unroll
        for (int t = 0; t < LANE_PIXELS; t++) {
            const int half = step < VF_STEREO_STEPS ? 0 : vf_stereo_window_half(&line, t * VF_WARP + lane);
#pragma unroll
            for (int h = 0; h < 2; h++)
                if (in_window(t, lane) && half == h)
                    vf_stereo_accumulate(&sum[h], ahead.grey[t], behind.grey[t], right.grey[t] - left.grey[t]);
        }
        sum[0] = warp_sum(sum[0]);
        if (step < VF_STEREO_STEPS) {
            shift += vf_stereo_gauss_newton(&sum[0]);
            continue;
        }
        sum[1] = warp_sum(sum[1]);
        if (!vf_stereo_halves_agree(&s.tuning, sum)) return VF_NONE;
        const uint32_t cost = zsad(left, sum_of(left), right, lane);
        *fit_px = vf_stereo_fit_px(cost, sum);
        return cost;
    }
}

/** Results of a match beside its depth: vf_pair_offset(), and its place for rows. */
struct match_place {
    uint32_t offset;
    vf_stereo_place place;
};

/** Bearings of camera 1 at a position, one pixel to the right and one below: a lane computes one of them. */
struct bearings {
    float here[3], to_right[3], below[3];
};
static __device__ __forceinline__ bearings bearings_at(const vf_stereo_view &s, vf_stereo_position at, int lane)
{
    float mine[3];
    bearings b;
    vf_bearing_at(s.bearing->node[1], s.geometry.nodes_x[1], at.x_q16 + (lane == 1 ? 65536 : 0),
                  at.y_q16 + (lane == 2 ? 65536 : 0), mine);
#pragma unroll
    for (int k = 0; k < 3; k++) {
        b.here[k] = __shfl_sync(VF_ALL, mine[k], 0);
        b.to_right[k] = __shfl_sync(VF_ALL, mine[k], 1);
        b.below[k] = __shfl_sync(VF_ALL, mine[k], 2);
    }
    return b;
}

/** Epipolar line of point a at its match b. */
static __device__ __forceinline__ bool line_of_match(const vf_stereo_view &s, const vf_epipolar &e, const vf_point &a,
                                                     const vf_point &b, int lane, vf_epipolar_line *line,
                                                     uint32_t *offset)
{
    const vf_stereo_position at = {b.x_q16, b.y_q16};
    const bearings near = bearings_at(s, at, lane);
    if (!vf_stereo_line(&e, at, b.bearing, near.to_right, near.below, line)) return false;
    *offset = vf_pair_offset(&s, &e, b.bearing, near.to_right, near.below, fmaxf(a.step, b.step));
    return true;
}

/** Epipolar line of point a where its depth is expected: a lane has one of the nine cells. Returns false if none is. */
static __device__ __forceinline__ bool line_expected(const vf_stereo_view &s, const vf_epipolar &e, const vf_point &a,
                                                     int lane, vf_epipolar_line *line, float *half_px)
{
    vf_expect_cell around = {0, 0, 0};
    if (lane < 9) around = vf_expect_neighbour(&s, vf_expect_place(a.bearing), lane);
    around.nearest = ~vf_warp_min(~around.nearest);
    around.farthest = ~vf_warp_min(~around.farthest);
    around.points = (uint32_t)vf_warp_sum((int32_t)around.points);
    const struct vf_expect_interval interval = vf_expect_interval(&s, &e, &a, &around);
    if (!(interval.half_px > 0.0f)) return false;
    *half_px = interval.half_px;
    const vf_level &l = s.geometry.scale[1][0];
    const vf_stereo_position own = {a.x_q16, a.y_q16};
    vf_stereo_position at = vf_expect_begin(&l, own);
    for (int step = 0; step < VF_EXPECT_STEPS; step++) {
        const bearings near = bearings_at(s, at, lane);
        at = vf_expect_step(&l, at, interval.towards, near.here, near.to_right, near.below);
    }
    const bearings near = bearings_at(s, at, lane);
    return vf_stereo_line(&e, at, near.here, near.to_right, near.below, line) &&
           vf_expect_reached(s.geometry.focal_px[1], interval.towards, near.here);
}

/** Depth of point a from its match b, or where it is expected if b is NULL. Returns its cost, or VF_NONE if there is no
 *  depth. */
static __device__ __forceinline__ uint32_t find_depth(const vf_stereo_view &s, const vf_point &a, const vf_point *b,
                                                      const vf_stereo_offsets &offsets, uint32_t *tile, int lane,
                                                      vfront_depth_t *depth, match_place *found)
{
    const vf_epipolar e = vf_stereo_epipolar(&s.geometry.pair, a.bearing);
    vf_epipolar_line line;
    float half_px = 0.0f, fit_px = 0.0f;
    if (!(b ? line_of_match(s, e, a, *b, lane, &line, &found->offset) : line_expected(s, e, a, lane, &line, &half_px)))
        return VF_NONE;
    line.start = vf_stereo_move_across(&line, line.start, offsets.rows);
    if (!b) line.start = vf_stereo_move(&line, line.start, offsets.disparity);
    vf_stereo_position position = line.start;
    if (!search_line(s, a, line, tile, lane, &position)) return VF_NONE;
    const uint32_t cost = refine_subpixel(s, a, line, lane, &position, &fit_px);
    if (cost == VF_NONE || (!b && !vf_expect_within(&line, position, half_px)) ||
        !vf_stereo_depth(&s, s.bearing->node[1], &e, &a, &line, offsets.disparity, position, fit_px, depth))
        return VF_NONE;
    found->place = vf_stereo_place{position.x_q16, position.y_q16, line.direction_x, line.direction_y};
    return cost;
}

static __global__ void __launch_bounds__(THREADS) depth_k(const VF_CONSTANT vf_stereo_view s)
{
    __shared__ uint32_t tile[WARPS][TILE * TILE_WORDS];
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP;
    const camera_points left = camera_points_of(s, 0), right = camera_points_of(s, 1);
    vf_stereo_memory &m = *s.stereo;
    const vf_stereo_offsets offsets = vf_stereo_offsets_of(&s,
                                                           vf_rows_estimate(s.rows, s.geometry.active, s.parity ^ 1),
                                                           vf_ego_disparity(s.ego, s.geometry.active, s.parity ^ 1));
    const bool expected = vf_expect_active(&s);
    vf_stereo_clear(&m, s.parity ^ 1, blockIdx.x * THREADS + threadIdx.x, gridDim.x * THREADS);
    for (int i = blockIdx.x * WARPS + warp; i < left.count; i += gridDim.x * WARPS) {
        const uint32_t best = m.best[i], j = best & 0xffff;
        const bool mutual = best != VF_NONE && m.back[s.parity][j] == vf_packed_match(best >> 16, i);
        vfront_depth_t depth = {};
        match_place found = {VF_NONE, {0, 0, 0.0f, 0.0f}};
        const uint32_t cost = mutual || expected ? find_depth(s, left.point[i], mutual ? &right.point[j] : NULL,
                                                              offsets, tile[warp], lane, &depth, &found)
                                                 : VF_NONE;
        depth.keypoint = (uint16_t)i;
        depth.partner = (uint16_t)(mutual ? j : VFRONT_NO_PARTNER);
        depth.distance = (uint16_t)(mutual ? best >> 16 : 0);
        if (lane == 0) m.cost[i] = cost;
        if (lane == 0) m.offset[i] = found.offset;
        if (lane == 0 && cost != VF_NONE) m.candidate[i] = depth;
        if (lane == 0 && cost != VF_NONE) m.place[i] = found.place;
        __syncwarp(); /* before the next point's pixels overwrite this one's */
    }
}

/* ---- list -------------------------------------------------------------------------------------------------------- */

/** Keys of the points first + thread, first + thread + VF_BLOCK, ...: (cost + 1) << 29 | EXPECTED, if the depth is not
 *  of a match | index, so that all differ; 0: no depth. */
#define EXPECTED (1u << 28)
#define KEYS 2
struct key_batch {
    uint64_t key[KEYS];
};
static __device__ __forceinline__ key_batch load_keys(const vf_stereo_memory &m, int first, int points)
{
    key_batch h;
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        const int i = first + k * VF_BLOCK + (int)threadIdx.x;
        const uint32_t cost = i < points ? m.cost[i] : VF_NONE;
        const uint32_t expected = cost != VF_NONE && m.candidate[i].partner == VFRONT_NO_PARTNER ? EXPECTED : 0;
        h.key[k] = cost != VF_NONE ? (uint64_t)(cost + 1) << 29 | expected | (uint64_t)i : 0;
    }
    return h;
}

/** Agreement of the cameras, from the offsets of all matches. Called by one block. */
static __device__ void assess_pair(const vf_stereo_view &s)
{
    __shared__ uint32_t matches, behind, offset_q8;
    vf_stereo_memory &m = *s.stereo;
    const uint32_t *points = s.bearing->count[s.parity];
    if (threadIdx.x == 0) matches = behind = offset_q8 = 0;
    __syncthreads();
    vf_pair_sums mine = {0, 0, 0};
    for (uint32_t i = threadIdx.x; i < points[0]; i += VF_BLOCK) vf_pair_add(&mine, m.offset[i]);
    const uint32_t warp_matches = (uint32_t)vf_warp_sum((int32_t)mine.matches),
                   warp_behind = (uint32_t)vf_warp_sum((int32_t)mine.behind),
                   warp_offset_q8 = (uint32_t)vf_warp_sum((int32_t)mine.offset_q8);
    if (threadIdx.x % VF_WARP == 0) {
        atomicAdd(&matches, warp_matches);
        atomicAdd(&behind, warp_behind);
        atomicAdd(&offset_q8, warp_offset_q8);
    }
    __syncthreads();
    if (threadIdx.x) return;
    const vf_pair_sums sum = {matches, behind, offset_q8};
    const int frozen = s.freeze->frames[s.parity][0] || s.freeze->frames[s.parity][1];
    m.pair[s.parity] = vf_pair_assess(&sum, points, frozen, s.ingest->params.frame == 0, &m.pair[s.parity ^ 1]);
}

static __global__ void __launch_bounds__(VF_BLOCK) list_k(const VF_CONSTANT vf_stereo_view s)
{
    __shared__ int start[VF_WARPS + 1];
    vf_stereo_memory &m = *s.stereo;
    const vf_point *point = s.bearing->point[s.parity][0];
    const int thread = threadIdx.x, points = s.bearing->count[s.parity][0];
    for (int i = thread; i < points; i += VF_BLOCK) vf_stereo_store_range(&m, s.parity, i, point[i].bearing, NULL);
    key_batch h = load_keys(m, 0, points); /* usually all points */
    const auto each_key = [&](auto work) {
        for (int first = 0; first < points; first += KEYS * VF_BLOCK) {
            if (points > KEYS * VF_BLOCK) h = load_keys(m, first, points);
#pragma unroll
            for (int k = 0; k < KEYS; k++) work(h.key[k]);
        }
    };
    const auto each_match = [&](auto work) { each_key([&](uint64_t key) { work(key & EXPECTED ? 0 : key); }); };
    int found, count = 0;
    const uint64_t least = vf_kth_best_key(
        each_match, [](int all) { return (all + 1) / 2; }, &found);
    const uint32_t median = (uint32_t)(least >> 29) - 1;
    assess_pair(s);
    __syncthreads();
    const vf_pair_health pair = m.pair[s.parity];
    each_key([&](uint64_t key) {
        const bool valid = key && vf_expect_listed(!(key & EXPECTED), &pair) &&
                           !vf_stereo_outlier(&s.tuning, (uint32_t)(key >> 29) - 1, median);
        int total;
        const int before = vf_count_before(valid, start, &total);
        if (valid) {
            const int i = (int)(key & 0xffff);
            m.depth[count + before] = m.candidate[i];
            vf_stereo_store_range(&m, s.parity, i, point[i].bearing, &m.candidate[i]);
        }
        count += total;
    });
    if (thread == 0) {
        m.count = count;
        vf_clock_end(s.clock);
    }
}

#endif

extern "C" cudaError_t vf_stereo_cuda(const vf_stereo_view *s, cudaStream_t stream)
{
#if VFRONT_STEREO
    const int blocks = vf_clamp(s->tuning.select_points, 1, 8192);
    match_k<<<blocks, THREADS, 0, stream>>>(*s);
    depth_k<<<vf_blocks(blocks, WARPS), THREADS, 0, stream>>>(*s);
    list_k<<<1, VF_BLOCK, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
