/* SPDX-License-Identifier: MIT */
/* stereo on the GPU, in three launches, because each point must know what all others found before it goes on: a warp looks for a point's
 * partner, a lane a candidate at a time; a warp finds its place, a lane four pixels of each window; a block makes the list. */
#include "block.cuh"

#if VFRONT_STEREO

#define WARPS 4
#define THREADS (WARPS * VF_WARP)

/** One camera's points. */
struct side {
    const vf_point *point;
    const float *angle;
    const vfront_descriptor_t *descriptor;
    int count;
};
static __device__ __forceinline__ side side_of(const vf_step &s, int camera)
{
    const vf_memory *m = s.memory;
    const side side = {m->bearing.point[s.parity][camera], m->describe.angle[s.parity][camera], m->describe.descriptor[s.parity][camera],
                       (int)m->bearing.count[s.parity][camera]};
    return side;
}

/* ---- search ------------------------------------------------------------------------------------------------------------------ */

/** Candidates of a point that are remembered, to look for the next best among; where there are more, all points are looked at again. */
#define LISTED 64

static __device__ __forceinline__ uint32_t next_best(const side &right, uint32_t best, uint32_t other)
{
    return vf_elsewhere(&right.point[best & 0xffff], &right.point[other & 0xffff]) ? other >> 16 : 256;
}

static __global__ void __launch_bounds__(THREADS) search_k(const vf_step s)
{
    __shared__ uint32_t shared_list[WARPS][LISTED];
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP, warps = gridDim.x * WARPS;
    const side left = side_of(s, 0), right = side_of(s, 1);
    const struct vf_stereo_bounds bounds = vf_stereo_bounds(&s);
    vf_stereo_memory &m = s.memory->stereo;
    uint32_t *list = shared_list[warp];
    if (threadIdx.x == 0) vf_clock_start(s, VF_stereo, blockIdx.x);
    for (int i = blockIdx.x * WARPS + warp; i < left.count; i += warps) {
        const vf_point a = left.point[i];
        const vf_epipolar e = vf_stereo_epipolar(&s.geometry.pair, a.bearing);
        const float angle = left.angle[i];
        const auto candidate = [&](int j) { /* distance and index, or VF_NONE */
            if (j >= right.count) return (uint32_t)VF_NONE;
            const vf_point b = right.point[j];
            if (!vf_stereo_may(&bounds, &e, &a, angle, &b, right.angle[j])) return (uint32_t)VF_NONE;
            return vf_partner(vf_describe_distance(&left.descriptor[i], &right.descriptor[j]), j);
        };
        uint32_t best = VF_NONE, second = 256;
        int listed = 0;
        for (int first = 0; first < right.count; first += VF_WARP) {
            const uint32_t mine = candidate(first + lane);
            const bool may = mine != VF_NONE;
            const unsigned who = __ballot_sync(VF_ALL, may);
            if (!who) continue;
            const int at = listed + __popc(who & ((1u << lane) - 1));
            if (may && at < LISTED) list[at] = mine;
            listed += __popc(who);
            if (!may || mine >> 16 > bounds.distance) continue;
            atomicMin(&m.back[mine & 0xffff], vf_partner(mine >> 16, i));
            best = mine < best ? mine : best;
        }
        best = vf_warp_min(best);
        __syncwarp();
        if (best != VF_NONE && listed <= LISTED) {
            for (int k = lane; k < listed; k += VF_WARP) second = min(second, next_best(right, best, list[k]));
        } else if (best != VF_NONE) {
            for (int j = lane; j < right.count; j += VF_WARP) {
                const uint32_t other = candidate(j);
                if (other != VF_NONE) second = min(second, next_best(right, best, other));
            }
        }
        second = vf_warp_min(second);
        if (lane == 0) m.found[i] = best != VF_NONE && vf_stands_out(&s.tuning, best >> 16, second) ? best : VF_NONE;
        __syncwarp(); /* before the next point's candidates overwrite this one's */
    }
}

/* ---- place ------------------------------------------------------------------------------------------------------------------- */

/** What all windows of a strip lie in: so many rows of so many words, from an aligned address on. */
#define BOX (VF_SIDE + 2 * VF_SHIFT + 1)
#define BOX_WORDS ((BOX + 6) / 4)
#define TURNS ((VF_SIDE * VF_SIDE + VF_WARP - 1) / VF_WARP)

/** Loads that box around a pixel. What lies outside the level is none of a window that counts, and something else stands there. */
static __device__ __forceinline__ void load_box(uint32_t *to, const uint8_t *pixels, const vf_level &l, int u0, int v0, int lane)
{
    for (int i = lane; i < BOX * BOX_WORDS; i += VF_WARP) {
        const int x = vf_clamp((u0 & ~3) + 4 * (i % BOX_WORDS), 0, l.pitch - 4), y = vf_clamp(v0 + i / BOX_WORDS, 0, l.height - 1);
        to[i] = *reinterpret_cast<const uint32_t *>(pixels + y * l.pitch + x);
    }
}

/** A window, of which a lane has every 32nd pixel; first: its upper left one. */
struct window {
    int grey[TURNS], sum;
};
static __device__ __forceinline__ window read_window(const uint8_t *first, int pitch, int u, int v, int lane)
{
    window w;
    int sum = 0;
#pragma unroll
    for (int t = 0; t < TURNS; t++) {
        const int k = t * VF_WARP + lane;
        w.grey[t] = k < VF_SIDE * VF_SIDE ? vf_stereo_between(first + k / VF_SIDE * pitch + k % VF_SIDE, pitch, u & 255, v & 255) : 0;
        sum += w.grey[t];
    }
    w.sum = vf_warp_sum(sum);
    return w;
}

static __device__ __forceinline__ uint32_t compare(const window &left, const window &right, int lane)
{
    uint32_t cost = 0;
#pragma unroll
    for (int t = 0; t < TURNS; t++)
        if (t * VF_WARP + lane < VF_SIDE * VF_SIDE) cost += vf_stereo_difference(left.grey[t], left.sum, right.grey[t], right.sum);
    return (uint32_t)vf_warp_sum((int)cost);
}

/** Finds the place along a strip. Returns its cost, or VF_NONE when there is none. */
static __device__ __forceinline__ uint32_t find_place(const vf_step &s, const vf_strip &strip, uint32_t *box, int lane, vf_seat *seat)
{
    const vf_level &l0 = s.geometry.scale[0][strip.level], &l1 = s.geometry.scale[1][strip.level];
    const int u0 = ((strip.u_q16 + 128) >> 16) - VF_HALF - VF_SHIFT, v0 = ((strip.v_q16 + 128) >> 16) - VF_HALF - VF_SHIFT;
    bool inside = vf_window_inside(&l0, strip.left_u >> 8, strip.left_v >> 8);
    for (int k = -VF_SHIFT; k <= VF_SHIFT; k++) inside = inside && vf_window_inside(&l1, vf_strip_u(&strip, k) >> 8, vf_strip_v(&strip, k) >> 8);
    if (!inside) return VF_NONE;
    __syncwarp(); /* before these pixels overwrite others' */
    load_box(box, vf_scale_pixels(&s, 1, strip.level), l1, u0, v0, lane);
    const uint8_t *first = vf_scale_pixels(&s, 0, strip.level) + ((strip.left_v >> 8) - VF_HALF) * l0.pitch + (strip.left_u >> 8) - VF_HALF;
    const window left = read_window(first, l0.pitch, strip.left_u, strip.left_v, lane);
    __syncwarp();
    uint32_t least = VF_NONE, before = 0, after = 0, last = 0;
    int place = 0;
#pragma unroll
    for (int k = 0; k < VF_SHIFTS; k++) {
        const int u = vf_strip_u(&strip, k - VF_SHIFT), v = vf_strip_v(&strip, k - VF_SHIFT);
        first = reinterpret_cast<const uint8_t *>(box) + ((v >> 8) - VF_HALF - v0) * (4 * BOX_WORDS) + (u >> 8) - VF_HALF - (u0 & ~3);
        const uint32_t cost = compare(left, read_window(first, 4 * BOX_WORDS, u, v, lane), lane);
        after = k == place + 1 ? cost : after;
        if (cost < least) {
            least = cost;
            place = k;
            before = last;
        }
        last = cost;
    }
    if (place == 0 || place == VF_SHIFTS - 1 || after == least) return VF_NONE;
    *seat = vf_stereo_seat(&strip, (float)(place - VF_SHIFT) + vf_stereo_valley(before, least, after));
    return least;
}

/** The depth of a point, first on its level, then on the finest. Returns its cost, or VF_NONE when there is none. */
static __device__ __forceinline__ uint32_t find_depth(const vf_step &s, const vf_point &a, const vf_point &b, uint32_t *box, int lane,
                                                      vfront_depth_t *depth)
{
    const vf_node *node = s.memory->bearing.node[1];
    const vf_epipolar e = vf_stereo_epipolar(&s.geometry.pair, a.bearing);
    vf_seat seat = {b.x_q16, b.y_q16};
    vf_strip strip;
    uint32_t cost = VF_NONE;
    for (int pass = 0; pass < VF_PASSES(a.level); pass++) {
        if (!vf_stereo_strip(&s, node, &e, &a, seat, pass ? 0 : a.level, &strip)) return VF_NONE;
        cost = find_place(s, strip, box, lane, &seat);
        if (cost == VF_NONE) return VF_NONE;
    }
    return vf_stereo_depth(&s, node, &e, &a, &strip, seat, depth) ? cost : VF_NONE;
}

static __global__ void __launch_bounds__(THREADS) place_k(const vf_step s)
{
    __shared__ uint32_t box[WARPS][BOX * BOX_WORDS];
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP, warps = gridDim.x * WARPS;
    const side left = side_of(s, 0), right = side_of(s, 1);
    vf_stereo_memory &m = s.memory->stereo;
    for (int i = blockIdx.x * WARPS + warp; i < left.count; i += warps) {
        const uint32_t partner = m.found[i], j = partner & 0xffff;
        const bool mutual = partner != VF_NONE && m.back[j] == vf_partner(partner >> 16, i);
        vfront_depth_t depth = {};
        const uint32_t cost = mutual ? find_depth(s, left.point[i], right.point[j], box[warp], lane, &depth) : VF_NONE;
        depth.keypoint = (uint16_t)i;
        depth.partner = (uint16_t)j;
        depth.distance = (uint16_t)(partner >> 16);
        if (lane == 0) m.cost[i] = cost;
        if (lane == 0 && cost != VF_NONE) m.candidate[i] = depth;
    }
}

/* ---- list -------------------------------------------------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(VF_BLOCK) list_k(const vf_step s)
{
    __shared__ int start[VF_WARPS + 1];
    __shared__ unsigned long long least;
    vf_stereo_memory &m = s.memory->stereo;
    const int thread = threadIdx.x, points = s.memory->bearing.count[s.parity][0];
    const auto key_of = [&](int i) { /* cost, then place, so that all differ */
        const uint32_t cost = i < points ? m.cost[i] : VF_NONE;
        return cost != VF_NONE ? (uint64_t)cost << 29 | (uint64_t)i : 0;
    };
    const auto each_key = [&](auto work) {
        for (int first = 0; first < points; first += VF_BLOCK) work(key_of(first + thread));
    };
    int there = 0;
    each_key([&](uint64_t key) { there += __syncthreads_count(key != 0); });
    int found;
    const uint64_t bound = vf_least_wanted(each_key, (there + 1) / 2, &found);
    if (thread == 0) least = ~0ull;
    __syncthreads();
    each_key([&](uint64_t key) {
        if (key && key >= bound) atomicMin(&least, (unsigned long long)key);
    });
    __syncthreads();
    const uint32_t median = (uint32_t)(least >> 29);
    int count = 0;
    for (int first = 0; first < points; first += VF_BLOCK) {
        const uint32_t cost = first + thread < points ? m.cost[first + thread] : VF_NONE;
        const bool stays = cost != VF_NONE && !vf_stereo_cut(&s.tuning, cost, median);
        int total;
        const int before = vf_count_before(stays, start, &total);
        if (stays) m.depth[count + before] = m.candidate[first + thread];
        count += total;
    }
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
    const int blocks = vf_clamp((int)vf_blocks(s->tuning.select_points, WARPS), 1, 4096);
    search_k<<<blocks, THREADS, 0, stream>>>(*s);
    place_k<<<blocks, THREADS, 0, stream>>>(*s);
    list_k<<<1, VF_BLOCK, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
