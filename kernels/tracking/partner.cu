/* SPDX-License-Identifier: MIT */
/* partner on the GPU: finds each track's point in camera 1, with one warp per track. A lane has two candidate positions
 * on the epipolar line and a part of the aligned patch. Algorithm: src/tracking/partner_search.h; sums over a patch:
 * patch.cuh. Runs concurrently with describe, stereo, match and ego. */
#include "patch.cuh"

#include "tracking/partner_search.h"

#if VFRONT_STEREO

#define LANE_CANDIDATES (VF_PARTNER_CANDIDATES / VF_WARP) /* candidate positions per lane */
#define PATCH_WORDS (VF_PARTNER_SIDE / 4)                 /* words of four pixels in a row of the compared patch */

/** Anchor number lane / 3, in a lane: a computed position on the epipolar line, between which candidates lie. Further
 *  lanes repeat the last anchor. */
struct vf_partner_anchors {
    vf_partner_anchor anchor;
};

/** Matching keys of a lane's candidates, of numbers lane and lane + 32. */
struct vf_partner_keys {
    uint32_t key[LANE_CANDIDATES];
};

/** Three bearings of camera 1 around position `at`, for the lane's group of three lanes. Lane % 3 = 0 computes the
 *  bearing at the position, 1 one pixel to the right, 2 one pixel below. */
static __device__ __forceinline__ vf_partner_bearing_set group_bearings(const vf_partner_view &s, vf_stereo_position at,
                                                                        int lane)
{
    const int first = vf_min(lane / 3, VF_PARTNER_ANCHORS - 1) * 3, which = lane % 3;
    float mine[3];
    vf_partner_bearing_set near;
    vf_bearing_at(s.bearing->node[1], s.geometry.nodes_x[1], at.x_q16 + (which == 1 ? 65536 : 0),
                  at.y_q16 + (which == 2 ? 65536 : 0), mine);
#pragma unroll
    for (int k = 0; k < 3; k++) {
        near.here[k] = __shfl_sync(VF_ALL, mine[k], first);
        near.right[k] = __shfl_sync(VF_ALL, mine[k], first + 1);
        near.below[k] = __shfl_sync(VF_ALL, mine[k], first + 2);
    }
    return near;
}

VF_HOOK vf_partner_bearing_set vf_partner_bearings(const vf_partner_view *s, vf_stereo_position at)
{
    return group_bearings(*s, at, threadIdx.x % VF_WARP);
}

VF_HOOK void vf_partner_find_anchors(vf_partner_anchors *anchors, const vf_partner_view *s, const vf_epipolar_plane *e,
                                     const vf_partner_search *search, vf_stereo_position from)
{
    const int lane = threadIdx.x % VF_WARP;
    vf_stereo_position at = vf_expect_begin(&s->geometry.level[1][0], from);
    float towards[3];
    vf_partner_towards(e, search, vf_min(lane / 3, VF_PARTNER_ANCHORS - 1), towards);
#pragma unroll 1
    for (int step = 0; step < VF_EXPECT_STEPS; step++) {
        const vf_partner_bearing_set near = group_bearings(*s, at, lane);
        at = vf_partner_newton(s, at, towards, &near);
    }
    const vf_partner_bearing_set near = group_bearings(*s, at, lane);
    anchors->anchor.at = at;
    anchors->anchor.valid = vf_expect_reached(s->geometry.focal_px[1], towards, near.here);
}

/** Anchor number k on the epipolar line; k may differ between lanes. Called by whole warps. */
static __device__ __forceinline__ vf_partner_anchor anchor_of(const vf_partner_anchors &anchors, int k)
{
    vf_partner_anchor a;
    a.at.x_q16 = __shfl_sync(VF_ALL, anchors.anchor.at.x_q16, 3 * k);
    a.at.y_q16 = __shfl_sync(VF_ALL, anchors.anchor.at.y_q16, 3 * k);
    a.valid = __shfl_sync(VF_ALL, anchors.anchor.valid, 3 * k);
    return a;
}

VF_HOOK vf_partner_anchor vf_partner_at(const vf_partner_anchors *anchors, int32_t candidate)
{
    const int k = candidate / VF_PARTNER_BETWEEN;
    const vf_partner_anchor a = anchor_of(*anchors, k), b = anchor_of(*anchors, k + 1);
    return vf_partner_between(a, b, candidate);
}

/** Patch of whole pixels that lies inside its image, four pixels a word. */
struct patch_rows {
    uint32_t word[VF_PARTNER_SIDE][PATCH_WORDS];
};
static __device__ __forceinline__ patch_rows read_rows(const vf_level_picture &picture, vf_partner_origin o)
{
    patch_rows rows;
#pragma unroll
    for (int r = 0; r < VF_PARTNER_SIDE; r++) {
        const pixel_row<VF_PARTNER_SIDE> row(picture.pixels + (o.v + r) * picture.pitch + o.u);
        for (int w = 0; w < PATCH_WORDS; w++) rows.word[r][w] = row.word[w];
    }
    return rows;
}

/** Sums over two patches for their normalised correlation. */
static __device__ __forceinline__ vf_partner_sums correlation_sums(const patch_rows &own, const patch_rows &other)
{
    vf_partner_sums s = {0, 0, 0, 0, 0};
#pragma unroll
    for (int r = 0; r < VF_PARTNER_SIDE; r++)
        for (int w = 0; w < PATCH_WORDS; w++) {
            const uint32_t a = own.word[r][w], b = other.word[r][w], ones = 0x01010101u;
            s.own = vf_dot4(a, ones, s.own);
            s.other = vf_dot4(b, ones, s.other);
            s.own2 = vf_dot4(a, a, s.own2);
            s.other2 = vf_dot4(b, b, s.other2);
            s.both = vf_dot4(a, b, s.both);
        }
    return s;
}

VF_HOOK void vf_partner_correlate(vf_partner_keys *keys, const vf_partner_anchors *anchors,
                                  const vf_partner_comparison *c)
{
    const int lane = threadIdx.x % VF_WARP;
    const bool inside = vf_partner_inside(&c->own, c->origin);
    patch_rows own = {};
    if (inside) own = read_rows(c->own, c->origin);
#pragma unroll
    for (int t = 0; t < LANE_CANDIDATES; t++) {
        const int k = t * VF_WARP + lane;
        const vf_partner_anchor candidate = vf_partner_at(anchors, k); /* by all lanes, because it shuffles */
        const vf_partner_origin o = vf_partner_other(c, candidate.at);
        keys->key[t] = VF_NONE;
        if (inside && candidate.valid && vf_partner_inside(&c->other, o)) {
            const vf_partner_sums sums = correlation_sums(own, read_rows(c->other, o));
            keys->key[t] = vf_partner_key(&sums, k);
        }
    }
}

VF_HOOK uint32_t vf_partner_best_key(const vf_partner_keys *keys, int32_t first, int32_t last, int32_t except,
                                     int32_t apart)
{
    const int lane = threadIdx.x % VF_WARP;
    uint32_t least = VF_NONE;
#pragma unroll
    for (int t = 0; t < LANE_CANDIDATES; t++) {
        const int k = t * VF_WARP + lane;
        if (k >= first && k <= last && vf_abs(k - except) >= apart) least = min(least, keys->key[t]);
    }
    return vf_warp_min(least);
}

static __global__ void __launch_bounds__(VF_WARP) partner_k(const VF_CONSTANT vf_partner_view s)
{
    const int i = blockIdx.x, count = s.refill->counts[s.parity].count;
    vf_partner_memory &m = *s.partner;
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.x);
    if (i < count) {
        const vf_feature &f = s.refill->feature[s.parity][i];
        vf_partner partner = {0, 0, 0.0f, 0.0f, 0.0f, 0.0f};
        vf_partner_range range = {0.0f, 0.0f};
        vf_partner_anchors anchors;
        vf_partner_keys keys;
        vf_patch patch;
        if (!vf_partner_frozen(&s)) partner = vf_partner_one(&patch, &anchors, &keys, &s, &f, &range);
        if (threadIdx.x == 0) {
            m.partner[i] = partner;
            m.range[s.parity][f.template_index] = range;
        }
    }
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}
#endif

extern "C" cudaError_t vf_partner_cuda(const vf_partner_view *s, cudaStream_t stream)
{
#if VFRONT_STEREO
    partner_k<<<VFRONT_TRACKS, VF_WARP, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
