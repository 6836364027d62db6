/* SPDX-License-Identifier: MIT */
/* stereo on the GPU, in three launches, because each point must know what all others found before it goes on: a block looks for a point's
 * partner; a block finds its place, a warp some of the windows; one block makes the list. */
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

/** Candidates of a point that are remembered. Where there are more, descriptors are compared as candidates are found, and again. */
#define LISTED 512

/** A point's search, by a block: each_candidate(f) calls f(j) for the candidates of the thread. */
template <typename Each> static __device__ __forceinline__ uint32_t find_partner(const vf_step &s, const side &left, const side &right, int i,
                                                                               uint32_t most, Each each_candidate)
{
    __shared__ uint32_t best, second;
    const auto partner = [&](int j) { return vf_partner(vf_describe_distance(&left.descriptor[i], &right.descriptor[j]), j); };
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
        const float angle = left.angle[i];
        if (thread == 0) count = 0;
        __syncthreads();
        const auto each_possible = [&](auto work) {
#pragma unroll 4
            for (int j = thread; j < right.count; j += THREADS) {
                const vf_point b = right.point[j];
                if (vf_stereo_may(&bounds, &e, a.step, a.level, angle, b.bearing, b.step, b.level, right.angle[j])) work(j);
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

/* ---- place ------------------------------------------------------------------------------------------------------------------- */

/** What all windows of a strip lie in: so many rows of so many words, from an aligned address on. */
#define BOX (VF_SIDE + 2 * VF_SHIFT + 1)
#define BOX_WORDS ((BOX + 6) / 4)
#define TURNS ((VF_SIDE * VF_SIDE + VF_WARP - 1) / VF_WARP)

/** Loads that box around a pixel, by a block. What lies outside the level is none of a window that counts, and something else stands there. */
static __device__ __forceinline__ void load_box(uint32_t *to, const uint8_t *pixels, const vf_level &l, int u0, int v0)
{
    for (int i = threadIdx.x; i < BOX * BOX_WORDS; i += THREADS) {
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

/** Finds the place along a strip, a warp some of the shifts. Returns its cost, or VF_NONE when there is none. */
static __device__ __forceinline__ uint32_t find_place(const vf_step &s, const vf_strip &strip, vf_seat *seat)
{
    __shared__ uint32_t box[BOX * BOX_WORDS], cost[VF_SHIFTS];
    const int lane = threadIdx.x % VF_WARP, warp = threadIdx.x / VF_WARP;
    const vf_level &l0 = s.geometry.scale[0][strip.level], &l1 = s.geometry.scale[1][strip.level];
    const int u0 = ((strip.u_q16 + 128) >> 16) - VF_HALF - VF_SHIFT, v0 = ((strip.v_q16 + 128) >> 16) - VF_HALF - VF_SHIFT;
    bool inside = vf_window_inside(&l0, strip.left_u >> 8, strip.left_v >> 8);
    for (int k = -VF_SHIFT; k <= VF_SHIFT; k++) inside = inside && vf_window_inside(&l1, vf_strip_u(&strip, k) >> 8, vf_strip_v(&strip, k) >> 8);
    if (!inside) return VF_NONE;
    __syncthreads(); /* box and cost may still be read from the pass before */
    load_box(box, vf_scale_pixels(&s, 1, strip.level), l1, u0, v0);
    const uint8_t *first = vf_scale_pixels(&s, 0, strip.level) + ((strip.left_v >> 8) - VF_HALF) * l0.pitch + (strip.left_u >> 8) - VF_HALF;
    const window left = read_window(first, l0.pitch, strip.left_u, strip.left_v, lane);
    __syncthreads();
#pragma unroll
    for (int turn = 0; turn < (VF_SHIFTS + WARPS - 1) / WARPS; turn++) {
        const int k = turn * WARPS + warp, u = vf_strip_u(&strip, k - VF_SHIFT), v = vf_strip_v(&strip, k - VF_SHIFT);
        if (k >= VF_SHIFTS) break;
        first = reinterpret_cast<const uint8_t *>(box) + ((v >> 8) - VF_HALF - v0) * (4 * BOX_WORDS) + (u >> 8) - VF_HALF - (u0 & ~3);
        const uint32_t mine = compare(left, read_window(first, 4 * BOX_WORDS, u, v, lane), lane);
        if (lane == 0) cost[k] = mine;
    }
    __syncthreads();
    int least = 0;
#pragma unroll
    for (int k = 1; k < VF_SHIFTS; k++) least = cost[k] < cost[least] ? k : least;
    if (least == 0 || least == VF_SHIFTS - 1 || cost[least + 1] == cost[least]) return VF_NONE;
    *seat = vf_stereo_seat(&strip, (float)(least - VF_SHIFT) + vf_stereo_valley(cost[least - 1], cost[least], cost[least + 1]));
    return cost[least];
}

/** The depth of a point, first on its level, then on the finest. Returns its cost, or VF_NONE when there is none. */
static __device__ __forceinline__ uint32_t find_depth(const vf_step &s, const vf_point &a, const vf_point &b, vfront_depth_t *depth)
{
    const vf_node *node = s.memory->bearing.node[1];
    const vf_epipolar e = vf_stereo_epipolar(&s.geometry.pair, a.bearing);
    vf_seat seat = {b.x_q16, b.y_q16};
    vf_strip strip;
    uint32_t cost = VF_NONE;
    for (int pass = 0; pass < VF_PASSES(a.level); pass++) {
        if (!vf_stereo_strip(&s, node, &e, &a, seat, pass ? 0 : a.level, &strip)) return VF_NONE;
        cost = find_place(s, strip, &seat);
        if (cost == VF_NONE) return VF_NONE;
    }
    return vf_stereo_depth(&s, node, &e, &a, &strip, seat, depth) ? cost : VF_NONE;
}

static __global__ void __launch_bounds__(THREADS) place_k(const vf_step s)
{
    const side left = side_of(s, 0), right = side_of(s, 1);
    vf_stereo_memory &m = s.memory->stereo;
    for (int i = blockIdx.x; i < left.count; i += gridDim.x) {
        const uint32_t partner = m.found[i], j = partner & 0xffff;
        const bool mutual = partner != VF_NONE && m.back[j] == vf_partner(partner >> 16, i);
        vfront_depth_t depth = {};
        const uint32_t cost = mutual ? find_depth(s, left.point[i], right.point[j], &depth) : VF_NONE;
        if (threadIdx.x) continue;
        depth.keypoint = (uint16_t)i;
        depth.partner = (uint16_t)j;
        depth.distance = (uint16_t)(partner >> 16);
        m.cost[i] = cost;
        if (cost != VF_NONE) m.candidate[i] = depth;
    }
}

/* ---- list -------------------------------------------------------------------------------------------------------------------- */

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
    __shared__ unsigned long long least;
    vf_stereo_memory &m = s.memory->stereo;
    const int thread = threadIdx.x, points = s.memory->bearing.count[s.parity][0];
    handful h = load_handful(m, 0, points); /* often that is all */
    const auto each_key = [&](auto work) {
        for (int first = 0; first < points; first += HANDFUL * VF_BLOCK) {
            if (points > HANDFUL * VF_BLOCK) h = load_handful(m, first, points);
#pragma unroll
            for (int k = 0; k < HANDFUL; k++) work(h.key[k]);
        }
    };
    int there = 0, found, count = 0;
    each_key([&](uint64_t key) { there += __syncthreads_count(key != 0); });
    const uint64_t bound = vf_least_wanted(each_key, (there + 1) / 2, &found);
    if (thread == 0) least = ~0ull;
    __syncthreads();
    each_key([&](uint64_t key) {
        if (key && key >= bound) atomicMin(&least, (unsigned long long)key);
    });
    __syncthreads();
    const uint32_t median = (uint32_t)(least >> 29) - 1;
    each_key([&](uint64_t key) {
        const bool stays = key && !vf_stereo_cut(&s.tuning, (uint32_t)(key >> 29) - 1, median);
        int total;
        const int before = vf_count_before(stays, start, &total);
        if (stays) m.depth[count + before] = m.candidate[key & 0xffff];
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
    place_k<<<blocks, THREADS, 0, stream>>>(*s);
    list_k<<<1, VF_BLOCK, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
