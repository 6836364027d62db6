/* SPDX-License-Identifier: MIT */
/* overlap on the GPU: a warp a point of a keyframe, then a block a candidate, a warp a hypothesis, a block a
 * candidate. */
#include "kernels/kernel.cuh"

#include "map/overlap.h"

#if VFRONT_MAP

#define SEARCH_THREADS 128
#define LIST_THREADS 320
#define TEAMS 4
#define REFINE_THREADS 128

/** Best of `count` descriptors for one, by a warp: vf_packed_match(). */
static __device__ __forceinline__ uint32_t best_of(const vfront_descriptor_t &own, const vfront_descriptor_t *other,
                                                   int stride, int count)
{
    uint32_t best = VF_NONE;
    for (int k = threadIdx.x % VF_WARP; k < count; k += VF_WARP) {
        const vfront_descriptor_t *to = reinterpret_cast<const vfront_descriptor_t *>(
            reinterpret_cast<const char *>(other) + static_cast<size_t>(k) * stride);
        best = min(best, vf_packed_match(vf_hamming_distance(&own, to), k));
    }
    return vf_warp_min(best);
}

/** Correspondence of a point of a keyframe, by a warp. */
static __device__ __forceinline__ uint32_t find(const vf_overlap_view &s, const vf_place_set &before, int i)
{
    const vf_point *point = s.bearing->point[s.parity][0];
    const vfront_descriptor_t own = before.point[i].descriptor, *now = vf_overlap_now(&s);
    const int count = vf_overlap_count(&s);
    const uint32_t best = best_of(own, now, sizeof *now, count);
    if (best == VF_NONE || best >> 16 > VF_OVERLAP_DISTANCE) return VF_NONE;
    const vf_point found = point[best & 0xffff];
    uint32_t second = 256;
    for (int k = threadIdx.x % VF_WARP; k < count; k += VF_WARP) {
        const uint32_t distance = vf_hamming_distance(&own, &now[k]);
        if (distance < second && vf_points_apart(&found, &point[k])) second = distance;
    }
    second = vf_warp_min(second);
    const uint32_t back = best_of(now[best & 0xffff], &before.point[0].descriptor, sizeof before.point[0],
                                  before.count);
    return vf_overlap_unique(best, second, back, i);
}

/** A warp a point of a keyframe. */
static __global__ void __launch_bounds__(SEARCH_THREADS) search_k(const VF_CONSTANT vf_overlap_view s)
{
    const int warp = (blockIdx.x * SEARCH_THREADS + threadIdx.x) / VF_WARP, c = warp / VF_PLACE_POINTS,
              i = warp % VF_PLACE_POINTS;
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.x);
    if (c >= VF_PLACE_CANDIDATES || !vf_overlap_there(&s, c)) return;
    const uint32_t found = vf_overlap_wanted(&s, c, i) ? find(s, *vf_overlap_before(&s, c), i) : VF_NONE;
    if (threadIdx.x % VF_WARP == 0) s.overlap->work[c].found[i] = found;
}

static __global__ void __launch_bounds__(LIST_THREADS) list_k(const VF_CONSTANT vf_overlap_view s)
{
    vf_overlap_list(&s, (int)blockIdx.x);
}

static __global__ void __launch_bounds__(TEAMS *VF_WARP) try_k(const VF_CONSTANT vf_overlap_view s)
{
    __shared__ vf_overlap_scratch scratch[TEAMS];
    const int warp = threadIdx.x / VF_WARP, n = blockIdx.x * TEAMS + warp;
    vf_overlap_try(&s, n / VF_OVERLAP_HYPOTHESES, n % VF_OVERLAP_HYPOTHESES, &scratch[warp]);
}
VF_STATIC_ASSERT(VF_OVERLAP_HYPOTHESES % TEAMS == 0, "blocks are full");

static __global__ void __launch_bounds__(REFINE_THREADS) refine_k(const VF_CONSTANT vf_overlap_view s)
{
    vf_overlap_refine(&s, (int)blockIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

#endif

extern "C" cudaError_t vf_overlap_cuda(const vf_overlap_view *s, cudaStream_t stream)
{
#if VFRONT_MAP
    search_k<<<vf_blocks(VF_PLACE_CANDIDATES * VF_PLACE_POINTS * VF_WARP, SEARCH_THREADS), SEARCH_THREADS, 0, stream>>>(
        *s);
    list_k<<<VF_PLACE_CANDIDATES, LIST_THREADS, 0, stream>>>(*s);
    try_k<<<VF_PLACE_CANDIDATES * VF_OVERLAP_HYPOTHESES / TEAMS, TEAMS * VF_WARP, 0, stream>>>(*s);
    refine_k<<<VF_PLACE_CANDIDATES, REFINE_THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
