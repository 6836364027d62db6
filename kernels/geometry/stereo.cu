/* SPDX-License-Identifier: MIT */
/* stereo on the GPU. Several launches, because the cross-check needs the matches of all points, the outlier test their
 * costs, and the parts of the search differ in parallelism.
 *
 * match_k     A block finds the best matches of a few points (nearest.cuh); all fill the grid of expected depths.
 * line_k      Four lanes find the epipolar line of a point, at its match or at its expected depth.
 * position_k  A warp finds the subpixel position of a point, each lane with four pixels of every patch.
 * depth_k     A thread computes depth and range of a point; list_k clears the ranges of outliers.
 * list_k      One block assesses the pair, computes the median cost and writes the list of depths. */
#include "kernels/block.cuh"
#include "kernels/features/nearest.cuh"
#include "kernels/geometry/stereo_patch.cuh"

#include "geometry/ego_memory.h"
#include "geometry/expect.h"
#include "geometry/epipolar.h"
#include "geometry/stereo.h"
#include "image/scale.h"

#if VFRONT_STEREO

/** Key points of one camera in the current frame. */
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

/** Fills the grid of expected depths: each thread adds some of the previous frame's key points. */
static __device__ __forceinline__ void fill_grid(const vf_stereo_view &s)
{
    if (!vf_expect_active(&s)) return;
    for (int i = blockIdx.x * VF_NEAREST_THREADS + threadIdx.x; i < vf_expect_count(&s);
         i += gridDim.x * VF_NEAREST_THREADS) {
        vf_expect_cell add;
        int32_t cell;
        if (!vf_expect_point(&s, i, &cell, &add)) continue;
        vf_expect_cell &to = s.stereo->expected[s.parity][cell];
        atomicMax(&to.nearest, add.nearest);
        atomicMax(&to.farthest, add.farthest);
        atomicAdd(&to.points, add.points);
    }
}

#define ROWS 8 /* key points of camera 0 per block */

/** Key points of camera 0 of a block, in shared memory. */
struct left_rows {
    vf_epipolar_plane e[ROWS];
    float angle[ROWS], /* orientation of each key point [rad] */
        step;          /* size of a pixel of their level [px of level 0] */
};

/** Tests point p of camera 1 against the epipolar bands of the block's points of camera 0: one bit for each of these, 1
 *  if p lies in its band. normal: of the epipolar planes; band: widest band of all candidate levels, as the sine of the
 *  angle to the plane. */
static __device__ __forceinline__ uint32_t in_bands(const float (&normal)[ROWS][3], float band, const vf_point &p)
{
    const float b[3] = {p.bearing[0], p.bearing[1], p.bearing[2]};
    uint32_t bits = 0;
#pragma unroll
    for (int r = 0; r < ROWS; r++) bits |= (uint32_t)(fabsf(vf_dot(normal[r], b)) <= band) << r;
    return bits;
}

static __global__ void __launch_bounds__(VF_NEAREST_THREADS) match_k(const VF_CONSTANT vf_stereo_view s)
{
    __shared__ vf_nearest<ROWS> nearest;
    __shared__ left_rows shared;
    const int thread = threadIdx.x;
    const camera_points left = camera_points_of(s, 0), right = camera_points_of(s, 1);
    const vf_nearest_rows rows = vf_nearest_rows_of(left.first, ROWS, blockIdx.x);
    if (thread == 0) vf_clock_start(s.clock, blockIdx.x);
    fill_grid(s);
    if (!rows.count) return;
    const struct vf_stereo_bounds bounds = vf_stereo_make_bounds(&s);
    const vf_candidate_range range = vf_stereo_candidates(&bounds, right.first, rows.level);
    if (thread < rows.count) {
        const vf_point &a = left.point[rows.first + thread];
        shared.e[thread] = vf_stereo_epipolar(&s.geometry.pair, a.bearing);
        shared.angle[thread] = left.angle[rows.first + thread];
        shared.step = a.step;
    }
    __syncthreads();
    float normal[ROWS][3];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int k = 0; k < 3; k++) normal[r][k] = shared.e[vf_min(r, rows.count - 1)].normal[k];
    const float step = shared.step;
    const float widest = range.first < range.end ? fmaxf(step, right.point[range.end - 1].step) : step;
    const uint32_t all = (1u << rows.count) - 1;
    const vf_nearest_others others = {right.point,    right.descriptor, (int)range.first,
                                      (int)range.end, bounds.distance,  s.stereo->back[s.parity]};
    vf_find_nearest(
        nearest, rows, left.descriptor, others,
        [&](int j) { return in_bands(normal, bounds.band * widest, right.point[j]) & all; },
        [&](int r, int j) {
            const vf_point &b = right.point[j];
            return vf_stereo_candidate(&bounds, &shared.e[r], step, shared.angle[r], b.bearing, b.step, right.angle[j]);
        });
    if (thread >= rows.count) return;
    const uint32_t best = nearest.best[thread];
    const bool unique = best != VF_NONE &&
                        vf_ratio_test(s.tuning.match_ratio_percent, best >> 16, nearest.second[thread]);
    s.stereo->best[rows.first + thread] = unique ? best : VF_NONE;
}

/* ---- depth ------------------------------------------------------------------------------------------------------- */

/** Rows of a tile of pixel pairs, which covers patches within `reach` pixels of a centre. Each pixel is stored with its
 *  right neighbour, TILE_PITCH pairs per row, starting at a column that is a multiple of 4. */
#define TILE_ROWS(reach) (VF_STEREO_SIDE + 2 * (reach) + 1)
#define TILE_WORDS(reach) ((TILE_ROWS(reach) + 6) / 4) /* words of four pixels in a row of a tile */
#define TILE_PITCH 28                                  /* pairs per row of a tile in shared memory */
#define LEFT_REACH 1                                   /* reach of the Gauss-Newton patches in camera 0 [px] */
#define RIGHT_REACH 2 /* reach of the Gauss-Newton patches in camera 1 [px]: VF_STEREO_STEPS_PX */
#define TILES_ROWS (TILE_ROWS(LEFT_REACH) + TILE_ROWS(RIGHT_REACH)) /* rows of the tiles of both cameras */
struct pair_tile {
    uint16_t *pair;
    int u0, v0; /* position of the first pair in its level */
};

/** Loads the tile of pixel pairs around pixel (u, v), eight lanes per row. Pixels outside the level are undefined and
 *  not read by any valid patch. */
template <int REACH>
static __device__ __forceinline__ pair_tile load_tile(uint16_t *to, const uint8_t *pixels, const vf_level &l, int u,
                                                      int v, int lane)
{
    VF_STATIC_ASSERT(TILE_WORDS(REACH) <= TILE_PITCH / 4, "rows fit");
    const int column = lane % 8, across = 4 * vf_min(column, TILE_WORDS(REACH) - 1);
    const pair_tile tile = {to, (u - VF_STEREO_HALF - REACH) & ~3, v - VF_STEREO_HALF - REACH};
    const int x = vf_clamp(tile.u0 + across, 0, l.pitch - 4);
#pragma unroll
    for (int first = 0; first < TILE_ROWS(REACH); first += VF_WARP / 8) {
        const int row = first + lane / 8, y = vf_clamp(tile.v0 + row, 0, l.height - 1);
        const uint32_t word = *reinterpret_cast<const uint32_t *>(pixels + y * l.pitch + x),
                       next = __shfl_down_sync(VF_ALL, word, 1, 8);
        if (row < TILE_ROWS(REACH) && column < TILE_WORDS(REACH))
            *reinterpret_cast<uint2 *>(to + row * TILE_PITCH + across) = make_uint2(__byte_perm(word, next, 0x2110),
                                                                                    __byte_perm(word, next, 0x4332));
    }
    return tile;
}

/** Position of a patch in a tile of pixel pairs, and its interpolation weights. */
struct tile_patch {
    int first;      /* index in the tile of the patch's upper left pair */
    uint32_t upper, /* weights of the two pixels of a pair in a patch row, 16 bits each */
        lower;      /* weights of the two pixels of the pair below, 16 bits each */
};
static __device__ __forceinline__ tile_patch patch_in(const pair_tile &tile, vf_patch_centre c)
{
    const uint32_t fu = c.u & 255, fv = c.v & 255, above = 256 - fv;
    /* weight 65536 of a patch at a whole pixel does not fit 16 bits; with 65535 the sum rounds to the same number */
    const uint32_t own = min((256 - fu) * above, 65535u);
    const tile_patch w = {((c.v >> 8) - VF_STEREO_HALF - tile.v0) * TILE_PITCH + (c.u >> 8) - VF_STEREO_HALF - tile.u0,
                          own | fu * above << 16, (256 - fu) * fv | fu * fv << 16};
    return w;
}

/** Reads an interpolated patch from a tile of pixel pairs, with the same result as read_around(). */
static __device__ __forceinline__ patch read_pairs(const uint16_t *pair, const tile_patch &at, int lane)
{
    patch w;
#pragma unroll
    for (int t = 0; t < LANE_PIXELS; t++) {
        const int k = in_patch(t, lane) ? t * VF_WARP + lane : 0;
        const uint16_t *from = pair + at.first + (k / VF_STEREO_SIDE * TILE_PITCH + k % VF_STEREO_SIDE);
        const uint32_t sum = vf_dot2(at.upper, from[0], vf_dot2(at.lower, from[TILE_PITCH], 2048));
        w.grey[t] = in_patch(t, lane) ? (int)(sum >> 12) : 0;
    }
    return w;
}

/** Reads the patch around a whole pixel (u, v), without interpolation. */
static __device__ __forceinline__ patch read_whole(const uint8_t *pixels, int pitch, int u, int v, int lane)
{
    const uint8_t *first = pixels + (v - VF_STEREO_HALF) * pitch + u - VF_STEREO_HALF;
    patch w;
#pragma unroll
    for (int t = 0; t < LANE_PIXELS; t++) {
        const int k = t * VF_WARP + lane;
        w.grey[t] = in_patch(t, lane) ? 16 * first[k / VF_STEREO_SIDE * pitch + k % VF_STEREO_SIDE] : 0;
    }
    return w;
}

/** Pixels of a level of a camera in the current frame. */
static __device__ __forceinline__ const uint8_t *pixels_of(const vf_stereo_view &s, int camera, int level)
{
    return vf_scale_pixels(s.scale, s.pictures.level0[s.parity][camera], camera, level,
                           &s.geometry.scale[camera][level]);
}

/** Sum of the grey levels of a patch, over the warp. */
static __device__ __forceinline__ int sum_of(const patch &w)
{
    int sum = 0;
#pragma unroll
    for (int t = 0; t < LANE_PIXELS; t++) sum += w.grey[t];
    return vf_warp_sum(sum);
}

/** Zero-mean sum of absolute differences (ZSAD) of two patches. left_sum: sum_of(left). */
static __device__ __forceinline__ uint32_t zsad(const patch &left, int left_sum, const patch &right, int lane)
{
    const int right_sum = sum_of(right);
    uint32_t cost = 0;
#pragma unroll
    for (int t = 0; t < LANE_PIXELS; t++)
        if (in_patch(t, lane)) cost += vf_stereo_absolute_difference(left.grey[t], left_sum, right.grey[t], right_sum);
    return (uint32_t)vf_warp_sum((int)cost);
}

/** Searches along the epipolar line of point a, in steps of a pixel of its level: moves the position to the minimum of
 *  the ZSAD. Returns false if a patch leaves the level, or the minimum is at an end. There is one patch of camera 1 per
 *  step: its position is computed by one lane, its ZSAD by all lanes of the warp. */
static __device__ __forceinline__ bool search_line(const vf_stereo_view &s, const vf_point &a,
                                                   const vf_epipolar_line &line, uint16_t *pairs, int lane,
                                                   vf_stereo_position *position)
{
    const vf_level &l0 = s.geometry.scale[0][a.level], &l1 = s.geometry.scale[1][a.level];
    const vf_patch_centre start = vf_stereo_patch_centre(&s, *position, a.level), own = {a.u * 256, a.v * 256};
    const vf_patch_centre centre = vf_stereo_move_patch(&line, start,
                                                        vf_min(lane, VF_STEREO_POSITIONS - 1) - VF_STEREO_REACH);
    const bool inside = vf_stereo_patch_inside(&l0, own) && vf_stereo_patch_inside(&l1, centre);
    if (!__all_sync(VF_ALL, inside)) return false;
    const pair_tile tile = load_tile<VF_STEREO_REACH>(pairs, pixels_of(s, 1, a.level), l1, start.u >> 8, start.v >> 8,
                                                      lane);
    const patch left = read_whole(pixels_of(s, 0, a.level), l0.pitch, a.u, a.v, lane);
    const tile_patch mine = patch_in(tile, centre);
    const int left_sum = sum_of(left);
    __syncwarp();
    uint32_t own_cost = VF_NONE; /* ZSAD of the lane's patch << 4 | number of the patch, unique among the patches */
    VF_STATIC_ASSERT((uint64_t)VF_STEREO_SIDE * VF_STEREO_SIDE * VF_STEREO_SIDE * VF_STEREO_SIDE * 4080 < 1u << 28 &&
                         VF_STEREO_POSITIONS <= 16,
                     "a cost and a number");
#pragma unroll 1
    for (int k = 0; k < VF_STEREO_POSITIONS; k++) {
        const tile_patch at = {__shfl_sync(VF_ALL, mine.first, k), __shfl_sync(VF_ALL, mine.upper, k),
                               __shfl_sync(VF_ALL, mine.lower, k)};
        const uint32_t cost = zsad(left, left_sum, read_pairs(pairs, at, lane), lane);
        if (lane == k) own_cost = cost << 4 | (uint32_t)k;
    }
    __syncwarp(); /* all lanes have read the tile, which may now be overwritten */
    const uint32_t best = vf_warp_min(own_cost), least = best >> 4;
    const int minimum = (int)(best & 15);
    const uint32_t before = __shfl_sync(VF_ALL, own_cost, vf_max(minimum - 1, 0)) >> 4,
                   after = __shfl_sync(VF_ALL, own_cost, minimum + 1) >> 4;
    if (minimum == 0 || minimum == VF_STEREO_POSITIONS - 1 || after == least) return false;
    *position = vf_stereo_move(
        &line, *position, ((float)(minimum - VF_STEREO_REACH) + vf_stereo_subpixel(before, least, after)) * a.step);
    return true;
}

/** Sums each member over the warp. */
static __device__ __forceinline__ vf_stereo_sums warp_sum(vf_stereo_sums mine)
{
    const vf_stereo_sums sum = {vf_warp_sum(mine.n), vf_warp_sum(mine.g), vf_warp_sum(mine.d), vf_warp_sum(mine.gg),
                                vf_warp_sum(mine.gd)};
    return sum;
}

/** Refines the match of point a by Gauss-Newton steps along its epipolar line in level 0. Returns the ZSAD at the final
 *  position, and vf_stereo_fit_px() in fit_px. VF_NONE if a patch leaves the level, the steps lead too far, or the
 *  halves of the patch disagree. */
static __device__ __forceinline__ uint32_t refine_subpixel(const vf_stereo_view &s, const vf_point &a,
                                                           const vf_epipolar_line &line, uint16_t *pairs, int lane,
                                                           vf_stereo_position *position, float *fit_px)
{
    const vf_level &l0 = s.geometry.scale[0][0], &l1 = s.geometry.scale[1][0];
    const vf_stereo_position from = *position;
    const vf_patch_centre centre = vf_stereo_patch_centre(&s, vf_stereo_position{a.x_q16, a.y_q16}, 0),
                          start = vf_stereo_patch_centre(&s, from, 0);
    const vf_patch_centre next = vf_stereo_move_patch(&line, centre, 1), last = vf_stereo_move_patch(&line, centre, -1);
    if (!vf_stereo_patch_inside(&l0, centre) || !vf_stereo_patch_inside(&l0, next) ||
        !vf_stereo_patch_inside(&l0, last))
        return VF_NONE;
    const pair_tile tile0 = load_tile<LEFT_REACH>(pairs, pixels_of(s, 0, 0), l0, centre.u >> 8, centre.v >> 8, lane),
                    tile1 = load_tile<RIGHT_REACH>(pairs + TILE_ROWS(LEFT_REACH) * TILE_PITCH, pixels_of(s, 1, 0), l1,
                                                   start.u >> 8, start.v >> 8, lane);
    __syncwarp();
    const patch left = read_pairs(tile0.pair, patch_in(tile0, centre), lane),
                ahead = read_pairs(tile0.pair, patch_in(tile0, next), lane),
                behind = read_pairs(tile0.pair, patch_in(tile0, last), lane);
    vf_stereo_sums own = {}; /* members n, g and gg, which all steps share; d and gd are summed in each step */
#pragma unroll
    for (int t = 0; t < LANE_PIXELS; t++)
        if (in_patch(t, lane)) vf_stereo_accumulate(&own, ahead.grey[t], behind.grey[t], 0);
    own = warp_sum(own);
    float shift = 0.0f;
    for (int step = 0;; step++) {
        *position = vf_stereo_move(&line, from, shift);
        const vf_patch_centre c = vf_stereo_patch_centre(&s, *position, 0);
        if (!(fabsf(shift) <= VF_STEREO_STEPS_PX) || !vf_stereo_patch_inside(&l1, c)) return VF_NONE;
        const patch right = read_pairs(tile1.pair, patch_in(tile1, c), lane);
        vf_stereo_sums sum[3] = {};
#pragma unroll
        for (int t = 0; t < LANE_PIXELS; t++) {
            const int half = step < VF_STEREO_STEPS ? 0 : vf_stereo_patch_half(&line, t * VF_WARP + lane);
#pragma unroll
            for (int h = 0; h < 2; h++)
                if (in_patch(t, lane) && half == h)
                    vf_stereo_accumulate(&sum[h], ahead.grey[t], behind.grey[t], right.grey[t] - left.grey[t]);
        }
        if (step < VF_STEREO_STEPS) {
            own.d = vf_warp_sum(sum[0].d);
            own.gd = vf_warp_sum(sum[0].gd);
            shift += vf_stereo_gauss_newton(&own);
            continue;
        }
        sum[0] = warp_sum(sum[0]);
        sum[1] = warp_sum(sum[1]);
        if (!vf_stereo_halves_agree(&s.tuning, sum)) return VF_NONE;
        const uint32_t cost = zsad(left, sum_of(left), right, lane);
        *fit_px = vf_stereo_fit_px(cost, sum);
        return cost;
    }
}

/* ---- lines and depths -------------------------------------------------------------------------------------------- */

#define GROUP 4 /* lanes of line_k per point */
#define LINE_THREADS 64
#define POSITION_WARPS 4 /* warps of a block of position_k, a point each */
#define DEPTH_THREADS 32

/** Bearings (unit vectors) of camera 1 at a position, one pixel to the right and one below. Each lane of a group of
 *  GROUP computes one of them. Called by whole warps. */
struct bearings {
    float here[3], to_right[3], below[3];
};
static __device__ __forceinline__ bearings bearings_at(const vf_stereo_view &s, vf_stereo_position at)
{
    const int which = threadIdx.x % GROUP;
    float mine[3];
    bearings b;
    VF_STATIC_ASSERT(GROUP >= 3, "a lane each");
    vf_bearing_at(s.bearing->node[1], s.geometry.nodes_x[1], at.x_q16 + (which == 1 ? 65536 : 0),
                  at.y_q16 + (which == 2 ? 65536 : 0), mine);
#pragma unroll
    for (int k = 0; k < 3; k++) {
        b.here[k] = __shfl_sync(VF_ALL, mine[k], 0, GROUP);
        b.to_right[k] = __shfl_sync(VF_ALL, mine[k], 1, GROUP);
        b.below[k] = __shfl_sync(VF_ALL, mine[k], 2, GROUP);
    }
    return b;
}

/** Interval on the epipolar line of point a in which its match is expected, from the expected depths around it.
 *  Computed by a group of GROUP lanes. Called by whole warps. */
static __device__ __forceinline__ struct vf_expect_interval
expected_interval(const vf_stereo_view &s, const vf_epipolar_plane &e, const vf_point &a)
{
    const struct vf_expect_location location = vf_expect_location(a.bearing);
    vf_expect_cell around = {0, 0, 0};
    for (int k = threadIdx.x % GROUP; k < 9; k += GROUP) {
        const vf_expect_cell cell = vf_expect_neighbour(&s, location, k);
        vf_expect_merge(&around, &cell);
    }
    for (int step = GROUP / 2; step; step /= 2) {
        const vf_expect_cell other = {__shfl_xor_sync(VF_ALL, around.nearest, step),
                                      __shfl_xor_sync(VF_ALL, around.farthest, step),
                                      __shfl_xor_sync(VF_ALL, around.points, step)};
        vf_expect_merge(&around, &other);
    }
    return vf_expect_interval(&s, &e, &a, &around);
}

static __device__ __forceinline__ vf_stereo_offsets offsets_of(const vf_stereo_view &s)
{
    return vf_stereo_offsets_of(&s, vf_epipolar_estimate(s.epipolar, s.geometry.active, s.parity ^ 1),
                                vf_ego_disparity(s.ego, s.geometry.active, s.parity ^ 1));
}

static __global__ void __launch_bounds__(LINE_THREADS) line_k(const VF_CONSTANT vf_stereo_view s)
{
    vf_stereo_memory &m = *s.stereo;
    const camera_points left = camera_points_of(s, 0), right = camera_points_of(s, 1);
    const int thread = blockIdx.x * LINE_THREADS + threadIdx.x, i = thread / GROUP;
    const bool there = i < left.count;
    vf_stereo_clear(&m, s.parity ^ 1, thread, gridDim.x * LINE_THREADS);
    const uint32_t best = there ? m.best[i] : VF_NONE, j = best & 0xffff;
    const bool mutual = best != VF_NONE && m.back[s.parity][j] == vf_packed_match(best >> 16, i);
    const vf_point a = left.point[there ? i : 0], b = right.point[mutual ? j : 0];
    const vf_epipolar_plane e = vf_stereo_epipolar(&s.geometry.pair, a.bearing);
    const vf_level &l = s.geometry.scale[1][0];
    struct vf_expect_interval interval = {{0.0f, 0.0f, 0.0f}, 0.0f};
    if (vf_expect_active(&s)) interval = expected_interval(s, e, a);
    const bool searched = there && !mutual && interval.half_px > 0.0f;
    /* initialised also in lanes without a line, because all lanes compute bearings at it */
    vf_stereo_position at = {0, 0};
    if (mutual) at = vf_stereo_position{b.x_q16, b.y_q16};
    if (searched) at = vf_expect_begin(&l, vf_stereo_position{a.x_q16, a.y_q16});
    bearings near;
#pragma unroll 1
    for (int steps = __any_sync(VF_ALL, searched) ? VF_EXPECT_STEPS : 0;; steps--) {
        near = bearings_at(s, at);
        if (!steps) break;
        if (searched) at = vf_expect_step(&l, at, interval.towards, near.here, near.to_right, near.below);
    }
    if (!there || thread % GROUP) return;
    vf_epipolar_line line;
#pragma unroll
    for (int k = 0; k < 3; k++) near.here[k] = mutual ? b.bearing[k] : near.here[k];
    const bool found = (mutual || searched) && vf_stereo_line(&e, at, near.here, near.to_right, near.below, &line) &&
                       (mutual || vf_expect_reached(s.geometry.focal_px[1], interval.towards, near.here));
    vf_pair_distance distance = {0, 0, 0, 0, 0};
    if (found && mutual)
        distance = vf_stereo_distance(&s, &e, b.bearing, near.to_right, near.below, b.x_q16, b.y_q16,
                                      fmaxf(a.step, b.step));
    m.distance[i] = distance;
    s.scratch->half_px[i] = !found ? -1.0f : mutual ? 0.0f : interval.half_px;
    if (!found) return;
    const vf_stereo_offsets offsets = offsets_of(s);
    line.start = vf_stereo_move_across(&line, line.start, offsets.epipolar);
    if (!mutual) line.start = vf_stereo_move(&line, line.start, offsets.disparity);
    s.scratch->line[i] = line;
}

/** Finds the position of each point's match on its epipolar line, and its cost, one warp per point. Cost VF_NONE: no
 *  position. */
static __global__ void __launch_bounds__(POSITION_WARPS *VF_WARP) position_k(const VF_CONSTANT vf_stereo_view s)
{
    __shared__ __align__(8) uint16_t pairs[POSITION_WARPS][TILES_ROWS * TILE_PITCH];
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP, i = blockIdx.x * POSITION_WARPS + warp;
    if (i >= (int)s.bearing->count[s.parity][0]) return;
    uint32_t cost = VF_NONE;
    if (s.scratch->half_px[i] >= 0.0f) {
        const vf_point &a = s.bearing->point[s.parity][0][i];
        const vf_epipolar_line line = s.scratch->line[i];
        vf_stereo_position position = line.start;
        float fit_px = 0.0f;
        if (search_line(s, a, line, pairs[warp], lane, &position))
            cost = refine_subpixel(s, a, line, pairs[warp], lane, &position, &fit_px);
        if (lane == 0) s.scratch->position[i] = position;
        if (lane == 0) s.scratch->fit_px[i] = fit_px;
    }
    if (lane == 0) s.stereo->cost[i] = cost;
}

static __global__ void __launch_bounds__(DEPTH_THREADS) depth_k(const VF_CONSTANT vf_stereo_view s)
{
    vf_stereo_memory &m = *s.stereo;
    const int i = blockIdx.x * DEPTH_THREADS + threadIdx.x;
    if (i >= (int)s.bearing->count[s.parity][0]) return;
    const vf_point a = s.bearing->point[s.parity][0][i];
    const uint32_t cost = m.cost[i], best = m.best[i];
    vfront_depth_t depth = {};
    bool found = cost != VF_NONE;
    if (found) {
        const vf_epipolar_plane e = vf_stereo_epipolar(&s.geometry.pair, a.bearing);
        const vf_epipolar_line line = s.scratch->line[i];
        const vf_stereo_position position = s.scratch->position[i];
        const float half_px = s.scratch->half_px[i];
        found = !(half_px > 0.0f && !vf_expect_within(&line, position, half_px)) &&
                vf_stereo_depth(&s, s.bearing->node[1], &e, &a, &line, offsets_of(s).disparity, position,
                                s.scratch->fit_px[i], &depth);
        depth.keypoint = (uint16_t)i;
        depth.match = (uint16_t)(half_px > 0.0f ? VFRONT_NO_MATCH : best & 0xffff);
        depth.distance = (uint16_t)(half_px > 0.0f ? 0 : best >> 16);
        if (found) m.candidate[i] = depth;
        if (found) m.location[i] = vf_line_match{position.x_q16, position.y_q16, line.direction_x, line.direction_y};
        if (!found) m.cost[i] = VF_NONE;
    }
    vf_stereo_store_range(&m, s.parity, i, a.bearing, found ? &depth : NULL);
}

/* ---- list -------------------------------------------------------------------------------------------------------- */

/** Bit of a key in list_k: the depth comes from an expected depth, not from a match. */
#define EXPECTED (1u << 28)
#define KEYS 2 /* keys of a batch per thread */
/** A thread's keys of the points first + thread, first + thread + VF_BLOCK, ... From bit 29 on: cost + 1; bit 28:
 *  EXPECTED; bits 0 .. 15: index of the point. Keys differ; 0: no depth. */
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
        const uint32_t expected = cost != VF_NONE && m.candidate[i].match == VFRONT_NO_MATCH ? EXPECTED : 0;
        h.key[k] = cost != VF_NONE ? (uint64_t)(cost + 1) << 29 | expected | (uint64_t)i : 0;
    }
    return h;
}

/** Sums the distances of all matches, in shared memory. Called by one block; complete after the next barrier. */
static __device__ __forceinline__ void sum_pair(const vf_stereo_view &s, vf_pair_sums *sum)
{
    vf_pair_sums mine;
    memset(&mine, 0, sizeof mine);
    for (uint32_t i = threadIdx.x; i < s.bearing->count[s.parity][0]; i += VF_BLOCK)
        vf_pair_add(&mine, s.stereo->distance[i]);
    if (threadIdx.x == 0) memset(sum, 0, sizeof *sum);
    __syncthreads();
    const int matches = vf_warp_sum(mine.matches), behind = vf_warp_sum(mine.behind);
    int64_t *of = &mine.distance, *to = &sum->distance;
#pragma unroll
    for (int k = 0; k < VF_PAIR_SUMS; k++) {
        const int64_t all = vf_warp_sum((int)of[k]); /* of a warp: below 2^31 */
        if (threadIdx.x % VF_WARP == 0) atomicAdd((unsigned long long *)to + k, (unsigned long long)all);
    }
    if (threadIdx.x % VF_WARP) return;
    atomicAdd(&sum->matches, matches);
    atomicAdd(&sum->behind, behind);
}

#define DEPTH_WORDS ((int)(sizeof(vfront_depth_t) / sizeof(uint32_t)))

/** Copies the depths of `count` listed points to the list, word by word. index: the points. */
static __device__ __forceinline__ void copy_depths(const vf_stereo_memory &m, const uint16_t *index, int count,
                                                   vfront_depth_t *to)
{
    enum { BATCH = 4 }; /* words that a thread loads before it stores the first */
    const uint32_t *from = reinterpret_cast<const uint32_t *>(m.candidate);
    uint32_t *list = reinterpret_cast<uint32_t *>(to), word[BATCH];
    for (int first = threadIdx.x; first < count * DEPTH_WORDS; first += BATCH * VF_BLOCK) {
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            const int w = vf_min(first + k * VF_BLOCK, count * DEPTH_WORDS - 1);
            word[k] = from[index[w / DEPTH_WORDS] * DEPTH_WORDS + w % DEPTH_WORDS];
        }
#pragma unroll
        for (int k = 0; k < BATCH; k++)
            if (first + k * VF_BLOCK < count * DEPTH_WORDS) list[first + k * VF_BLOCK] = word[k];
    }
}

static __global__ void __launch_bounds__(VF_BLOCK) list_k(const VF_CONSTANT vf_stereo_view s)
{
    __shared__ int start[VF_WARPS];
    __shared__ uint16_t index[KEYS * VF_BLOCK];
    __shared__ vf_pair_sums sum;
    __shared__ vf_pair_health pair;
    vf_stereo_memory &m = *s.stereo;
    const vf_point *point = s.bearing->point[s.parity][0];
    const int thread = threadIdx.x, points = s.bearing->count[s.parity][0];
    key_batch h = load_keys(m, 0, points); /* keys of all points, if these are at most KEYS * VF_BLOCK */
    sum_pair(s, &sum);
    const auto each_match = [&](auto work) {
        for (int first = 0; first < points; first += KEYS * VF_BLOCK) {
            if (points > KEYS * VF_BLOCK) h = load_keys(m, first, points);
#pragma unroll
            for (int k = 0; k < KEYS; k++) work(h.key[k] & EXPECTED ? 0 : h.key[k]);
        }
    };
    int found, count = 0;
    const uint64_t least = vf_kth_best_key(
        each_match, [](int all) { return (all + 1) / 2; }, &found);
    const uint32_t median = (uint32_t)(least >> 29) - 1;
    if (thread == 0) m.pair[s.parity] = pair = vf_stereo_assess(&s, &sum);
    __syncthreads();
    for (int first = 0; first < points; first += KEYS * VF_BLOCK) {
        bool valid[KEYS];
        int before[KEYS];
        if (points > KEYS * VF_BLOCK) h = load_keys(m, first, points);
#pragma unroll
        for (int k = 0; k < KEYS; k++) {
            const uint64_t key = h.key[k];
            const int i = (int)(key & 0xffff);
            valid[k] = key && vf_expect_listed(!(key & EXPECTED), &pair) &&
                       !vf_stereo_outlier(&s.tuning, (uint32_t)(key >> 29) - 1, median);
            if (key && !valid[k]) vf_stereo_store_range(&m, s.parity, i, point[i].bearing, NULL);
        }
        const int more = vf_counts_before(valid, start, before);
#pragma unroll
        for (int k = 0; k < KEYS; k++)
            if (valid[k]) index[before[k]] = (uint16_t)(h.key[k] & 0xffff);
        __syncthreads();
        copy_depths(m, index, more, m.depth + count);
        count += more;
    }
    if (thread == 0) {
        m.count = count;
        vf_clock_end(s.clock);
    }
}

#endif

extern "C" cudaError_t vf_stereo_cuda(const vf_stereo_view *s, cudaStream_t stream)
{
#if VFRONT_STEREO
    const int points = vf_max(s->tuning.select_points, 1);
    match_k<<<vf_nearest_blocks(points, ROWS), VF_NEAREST_THREADS, 0, stream>>>(*s);
    line_k<<<vf_blocks(points * GROUP, LINE_THREADS), LINE_THREADS, 0, stream>>>(*s);
    position_k<<<vf_blocks(points, POSITION_WARPS), POSITION_WARPS * VF_WARP, 0, stream>>>(*s);
    depth_k<<<vf_blocks(points, DEPTH_THREADS), DEPTH_THREADS, 0, stream>>>(*s);
    list_k<<<1, VF_BLOCK, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
