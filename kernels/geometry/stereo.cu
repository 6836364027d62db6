/* SPDX-License-Identifier: MIT */
/* stereo on the GPU, in three launches, because each point must know what all others found before it goes on: a block looks for a point's
 * partner; a warp finds its place, a lane four pixels of each window; one block makes the list. */
#include "kernels/block.cuh"

#if VFRONT_STEREO

#define WARPS 4
#define THREADS (WARPS * VF_WARP)

/** One camera's points. */
struct side {
    const vf_point *point;
    const float *angle;
    const vfront_descriptor_t *descriptor;
    const uint32_t *first; /* of each level */
    int count;
};
static __device__ __forceinline__ side side_of(const vf_step &s, int camera)
{
    const vf_memory *m = s.memory;
    const side side = {m->bearing.point[s.parity][camera], m->describe.angle[s.parity][camera],
                       m->describe.descriptor[s.parity][camera], m->bearing.first[s.parity][camera],
                       (int)m->bearing.count[s.parity][camera]};
    return side;
}

/* ---- search ------------------------------------------------------------------------------------------------------ */

/** Candidates of a point that are remembered. Where there are more, descriptors are compared as candidates are found, and again. */
#define LISTED 512

/** A point's search, by a block: each_candidate(f) calls f(j) for the candidates of the thread. */
template <typename Each>
static __device__ __forceinline__ uint32_t find_partner(const vf_step &s, const side &left, const side &right, int i,
                                                        uint32_t most, Each each_candidate)
{
    __shared__ uint32_t best, second;
    const auto partner = [&](int j) {
        return vf_partner(vf_describe_distance(&left.descriptor[i], &right.descriptor[j]), j);
    };
    if (threadIdx.x == 0) {
        best = VF_NONE;
        second = 256;
    }
    __syncthreads();
    each_candidate([&](int j) {
        const uint32_t mine = partner(j);
        if (mine >> 16 > most) return;
        atomicMin(&s.memory->stereo.back[j], vf_partner(mine >> 16, i));
        atomicMin(&best, mine);
    });
    __syncthreads();
    if (best == VF_NONE) return VF_NONE;
    each_candidate([&](int j) {
        if (vf_elsewhere(&right.point[best & 0xffff], &right.point[j])) atomicMin(&second, partner(j) >> 16);
    });
    __syncthreads();
    return vf_stands_out(&s.tuning, best >> 16, second) ? best : VF_NONE;
}

static __global__ void __launch_bounds__(THREADS) search_k(const vf_step s)
{
    __shared__ uint16_t list[LISTED];
    __shared__ int count;
    const int thread = threadIdx.x;
    const side left = side_of(s, 0), right = side_of(s, 1);
    const struct vf_stereo_bounds bounds = vf_stereo_bounds(&s);
    if (thread == 0) vf_clock_start(s, VF_stereo, blockIdx.x);
    for (int i = blockIdx.x; i < left.count; i += gridDim.x) {
        const vf_point a = left.point[i];
        const vf_epipolar e = vf_stereo_epipolar(&s.geometry.pair, a.bearing);
        const vf_stretch of = vf_stereo_stretch(&bounds, right.first, a.level);
        const float angle = left.angle[i];
        if (thread == 0) count = 0;
        __syncthreads();
        const auto each_possible = [&](auto work) {
#pragma unroll 4
            for (int j = of.first + thread; j < (int)of.end; j += THREADS) {
                const vf_point b = right.point[j];
                if (vf_stereo_may(&bounds, &e, a.step, angle, b.bearing, b.step, right.angle[j])) work(j);
            }
        };
        const auto each_listed = [&](auto work) {
            for (int k = thread; k < count; k += THREADS) work(list[k]);
        };
        each_possible([&](int j) {
            const int at = atomicAdd(&count, 1);
            if (at < LISTED) list[at] = (uint16_t)j;
        });
        __syncthreads();
        const uint32_t found = count <= LISTED ? find_partner(s, left, right, i, bounds.distance, each_listed)
                                               : find_partner(s, left, right, i, bounds.distance, each_possible);
        if (thread == 0) s.memory->stereo.found[i] = found;
        __syncthreads(); /* before the next point's candidates overwrite this one's */
    }
}

/* ---- place ------------------------------------------------------------------------------------------------------- */

/** What all windows of a search lie in: so many rows of so many words, from an aligned address on. */
#define BOX (VF_SIDE + 2 * VF_SHIFT + 1)
#define BOX_WORDS ((BOX + 6) / 4)
#define TURNS ((VF_SIDE * VF_SIDE + VF_WARP - 1) / VF_WARP)

/** Loads that box. What lies outside the level is none of a window that counts, and something else stands there. */
static __device__ __forceinline__ void load_box(uint32_t *to, const uint8_t *pixels, const vf_level &l, int u0, int v0,
                                                int lane)
{
#pragma unroll
    for (int i = lane; i < BOX * BOX_WORDS; i += VF_WARP) {
        const int x = vf_clamp((u0 & ~3) + 4 * (i % BOX_WORDS), 0, l.pitch - 4),
                  y = vf_clamp(v0 + i / BOX_WORDS, 0, l.height - 1);
        to[i] = *reinterpret_cast<const uint32_t *>(pixels + y * l.pitch + x);
    }
}

/** A window in 1/16 grey levels, of which a lane has every 32nd pixel. */
struct window {
    int grey[TURNS];
};
static __device__ __forceinline__ bool has(int t, int lane) { return t * VF_WARP + lane < VF_SIDE * VF_SIDE; }
static __device__ __forceinline__ window read_window(const uint8_t *first, int pitch, vf_centre c, int lane)
{
    window w;
#pragma unroll
    for (int t = 0; t < TURNS; t++) {
        const int k = t * VF_WARP + lane;
        w.grey[t] = has(t, lane)
                        ? vf_stereo_between(first + k / VF_SIDE * pitch + k % VF_SIDE, pitch, c.u & 255, c.v & 255)
                        : 0;
    }
    return w;
}
static __device__ __forceinline__ window read_level(const vf_step &s, int camera, int level, vf_centre c, int lane)
{
    const vf_level &l = s.geometry.scale[camera][level];
    return read_window(vf_scale_pixels(&s, camera, level) + ((c.v >> 8) - VF_HALF) * l.pitch + (c.u >> 8) - VF_HALF,
                       l.pitch, c, lane);
}

static __device__ __forceinline__ int sum_of(const window &w)
{
    int sum = 0;
#pragma unroll
    for (int t = 0; t < TURNS; t++) sum += w.grey[t];
    return vf_warp_sum(sum);
}

static __device__ __forceinline__ uint32_t compare(const window &left, int left_sum, const window &right, int lane)
{
    const int right_sum = sum_of(right);
    uint32_t cost = 0;
#pragma unroll
    for (int t = 0; t < TURNS; t++)
        if (has(t, lane)) cost += vf_stereo_difference(left.grey[t], left_sum, right.grey[t], right_sum);
    return (uint32_t)vf_warp_sum((int)cost);
}

/** Moves the seat to where windows of the point's level say. */
static __device__ __forceinline__ bool seek(const vf_step &s, const vf_point &a, const vf_strip &strip, uint32_t *box,
                                            int lane, vf_seat *seat)
{
    const vf_level &l1 = s.geometry.scale[1][a.level];
    const vf_centre start = vf_stereo_centre(&s, *seat, a.level), own = {a.u * 256, a.v * 256};
    const int u0 = (start.u >> 8) - VF_HALF - VF_SHIFT, v0 = (start.v >> 8) - VF_HALF - VF_SHIFT;
    bool inside = vf_window_inside(&s.geometry.scale[0][a.level], own);
#pragma unroll
    for (int k = -VF_SHIFT; k <= VF_SHIFT; k++)
        inside = inside && vf_window_inside(&l1, vf_stereo_further(&strip, start, k));
    if (!inside) return false;
    load_box(box, vf_scale_pixels(&s, 1, a.level), l1, u0, v0, lane);
    const window left = read_level(s, 0, a.level, own, lane);
    const int left_sum = sum_of(left);
    __syncwarp();
    uint32_t cost[VF_SHIFTS], least = VF_NONE, before = 0, after = 0;
#pragma unroll
    for (int k = 0; k < VF_SHIFTS; k++) {
        const vf_centre c = vf_stereo_further(&strip, start, k - VF_SHIFT);
        const uint8_t *first = reinterpret_cast<const uint8_t *>(box) + ((c.v >> 8) - VF_HALF - v0) * (4 * BOX_WORDS) +
                               (c.u >> 8) - VF_HALF - (u0 & ~3);
        cost[k] = compare(left, left_sum, read_window(first, 4 * BOX_WORDS, c, lane), lane);
    }
    int place = 0;
#pragma unroll
    for (int k = 0; k < VF_SHIFTS; k++) {
        if (cost[k] >= least) continue;
        least = cost[k];
        place = k;
        before = k ? cost[k - 1] : 0;
        after = k + 1 < VF_SHIFTS ? cost[k + 1] : 0;
    }
    if (place == 0 || place == VF_SHIFTS - 1 || after == least) return false;
    *seat = vf_stereo_shifted(&strip, *seat,
                              ((float)(place - VF_SHIFT) + vf_stereo_valley(before, least, after)) * a.step);
    return true;
}

/** Adds up what the lanes have. */
static __device__ __forceinline__ vf_slopes add_up(vf_slopes mine)
{
    const vf_slopes sum = {vf_warp_sum(mine.n), vf_warp_sum(mine.g), vf_warp_sum(mine.d), vf_warp_sum(mine.gg),
                           vf_warp_sum(mine.gd)};
    return sum;
}

/** Moves it on, to where a window of level 0 says. Returns its cost there, or VF_NONE. */
static __device__ __forceinline__ uint32_t settle(const vf_step &s, const vf_point &a, const vf_strip &strip, int lane,
                                                  vf_seat *seat)
{
    const vf_level &l0 = s.geometry.scale[0][0], &l1 = s.geometry.scale[1][0];
    const vf_seat from = *seat;
    const vf_centre centre = vf_stereo_centre(&s, vf_seat{a.x_q16, a.y_q16}, 0);
    const vf_centre next = vf_stereo_further(&strip, centre, 1), last = vf_stereo_further(&strip, centre, -1);
    if (!vf_window_inside(&l0, centre) || !vf_window_inside(&l0, next) || !vf_window_inside(&l0, last)) return VF_NONE;
    const window left = read_level(s, 0, 0, centre, lane), ahead = read_level(s, 0, 0, next, lane),
                 behind = read_level(s, 0, 0, last, lane);
    float shift = 0.0f;
    for (int step = 0;; step++) {
        *seat = vf_stereo_shifted(&strip, from, shift);
        const vf_centre c = vf_stereo_centre(&s, *seat, 0);
        if (!(fabsf(shift) <= VF_SETTLE_PX) || !vf_window_inside(&l1, c)) return VF_NONE;
        const window right = read_level(s, 1, 0, c, lane);
        vf_slopes sum[3] = {};
#pragma unroll
        for (int t = 0; t < TURNS; t++) {
            const int half = step < VF_STEPS ? 0 : vf_stereo_half(&strip, t * VF_WARP + lane);
#pragma unroll
            for (int h = 0; h < 2; h++)
                if (has(t, lane) && half == h)
                    vf_stereo_add(&sum[h], ahead.grey[t], behind.grey[t], right.grey[t] - left.grey[t]);
        }
        sum[0] = add_up(sum[0]);
        if (step < VF_STEPS) {
            shift += vf_stereo_step(&sum[0]);
            continue;
        }
        sum[1] = add_up(sum[1]);
        return vf_stereo_agree(&s.tuning, sum) ? compare(left, sum_of(left), right, lane) : VF_NONE;
    }
}

/** The depth of a point. Returns its cost, or VF_NONE when there is none. Three lanes have a bearing each of what the line is found from. */
static __device__ __forceinline__ uint32_t find_depth(const vf_step &s, const vf_point &a, const vf_point &b,
                                                      uint32_t *box, int lane, vfront_depth_t *depth)
{
    const vf_node *node = s.memory->bearing.node[1];
    const vf_epipolar e = vf_stereo_epipolar(&s.geometry.pair, a.bearing);
    float mine[3], to_right[3], below[3];
    vf_strip strip;
    vf_bearing_at(&s, node, 1, b.x_q16 + (lane == 1 ? 65536 : 0), b.y_q16 + (lane == 2 ? 65536 : 0), mine);
    for (int k = 0; k < 3; k++) {
        to_right[k] = __shfl_sync(VF_ALL, mine[k], 1);
        below[k] = __shfl_sync(VF_ALL, mine[k], 2);
    }
    if (!vf_stereo_strip(&e, vf_seat{b.x_q16, b.y_q16}, b.bearing, to_right, below, &strip)) return VF_NONE;
    vf_seat seat = strip.seat;
    if (!seek(s, a, strip, box, lane, &seat)) return VF_NONE;
    const uint32_t cost = settle(s, a, strip, lane, &seat);
    return cost != VF_NONE && vf_stereo_depth(&s, node, &e, &a, &strip, seat, depth) ? cost : VF_NONE;
}

static __global__ void __launch_bounds__(THREADS) place_k(const vf_step s)
{
    __shared__ uint32_t box[WARPS][BOX * BOX_WORDS];
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP;
    const side left = side_of(s, 0), right = side_of(s, 1);
    vf_stereo_memory &m = s.memory->stereo;
    for (int i = blockIdx.x * WARPS + warp; i < left.count; i += gridDim.x * WARPS) {
        const uint32_t partner = m.found[i], j = partner & 0xffff;
        const bool mutual = partner != VF_NONE && m.back[j] == vf_partner(partner >> 16, i);
        vfront_depth_t depth = {};
        const uint32_t cost = mutual ? find_depth(s, left.point[i], right.point[j], box[warp], lane, &depth) : VF_NONE;
        depth.keypoint = (uint16_t)i;
        depth.partner = (uint16_t)j;
        depth.distance = (uint16_t)(partner >> 16);
        if (lane == 0) m.cost[i] = cost;
        if (lane == 0 && cost != VF_NONE) m.candidate[i] = depth;
        __syncwarp(); /* before the next point's pixels overwrite this one's */
    }
}

/* ---- list -------------------------------------------------------------------------------------------------------- */

/** Costs of some points and 1, a block apart, each with the point's number, so that all differ; 0: it has no depth. */
#define HANDFUL 2
struct handful {
    uint64_t key[HANDFUL];
};
static __device__ __forceinline__ handful load_handful(const vf_stereo_memory &m, int first, int points)
{
    handful h;
#pragma unroll
    for (int k = 0; k < HANDFUL; k++) {
        const int i = first + k * VF_BLOCK + (int)threadIdx.x;
        const uint32_t cost = i < points ? m.cost[i] : VF_NONE;
        h.key[k] = cost != VF_NONE ? (uint64_t)(cost + 1) << 29 | (uint64_t)i : 0;
    }
    return h;
}

static __global__ void __launch_bounds__(VF_BLOCK) list_k(const vf_step s)
{
    __shared__ int start[VF_WARPS + 1];
    vf_stereo_memory &m = s.memory->stereo;
    const vf_point *point = s.memory->bearing.point[s.parity][0];
    const int thread = threadIdx.x, points = s.memory->bearing.count[s.parity][0];
    for (int i = thread; i < points; i += VF_BLOCK) vf_stereo_range(&m, s.parity, i, point[i].bearing, NULL);
    handful h = load_handful(m, 0, points); /* often that is all */
    const auto each_key = [&](auto work) {
        for (int first = 0; first < points; first += HANDFUL * VF_BLOCK) {
            if (points > HANDFUL * VF_BLOCK) h = load_handful(m, first, points);
#pragma unroll
            for (int k = 0; k < HANDFUL; k++) work(h.key[k]);
        }
    };
    int found, count = 0;
    const uint64_t least = vf_least_wanted(
        each_key, [](int all) { return (all + 1) / 2; }, &found);
    const uint32_t median = (uint32_t)(least >> 29) - 1;
    each_key([&](uint64_t key) {
        const bool stays = key && !vf_stereo_cut(&s.tuning, (uint32_t)(key >> 29) - 1, median);
        int total;
        const int before = vf_count_before(stays, start, &total);
        if (stays) {
            const int i = (int)(key & 0xffff);
            m.depth[count + before] = m.candidate[i];
            vf_stereo_range(&m, s.parity, i, point[i].bearing, &m.candidate[i]);
        }
        count += total;
    });
    if (thread == 0) {
        m.count = count;
        vf_clock_end(s, VF_stereo);
    }
}

#endif

extern "C" cudaError_t vf_stereo_cuda(const vf_step *s, cudaStream_t stream)
{
#if VFRONT_STEREO
    if (!vf_stereo_on(s)) return cudaSuccess;
    const int blocks = vf_clamp(s->tuning.select_points, 1, 8192);
    search_k<<<blocks, THREADS, 0, stream>>>(*s);
    place_k<<<vf_blocks(blocks, WARPS), THREADS, 0, stream>>>(*s);
    list_k<<<1, VF_BLOCK, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
