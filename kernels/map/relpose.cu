/* SPDX-License-Identifier: MIT */
/* relpose on the GPU: search with one warp per keyframe point, list with one block per candidate, hypotheses with one
 * warp each, refinement with one block per candidate. */
#include "kernels/kernel.cuh"

#include "map/relpose.h"

#if VFRONT_MAP

#define SEARCH_THREADS 128
#define LIST_THREADS 320
#define TEAMS 4
#define REFINE_THREADS 128

/** vf_packed_match() of the descriptor nearest to `own` among `count`, by one warp. stride: bytes from one descriptor
 *  to the next. */
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

/** vf_relpose_match() of keyframe point i among this frame's key points, by one warp. before: points of the
 *  keyframe. */
static __device__ __forceinline__ uint32_t find(const vf_relpose_view &s, const vf_keyframe_points &before, int i)
{
    const vf_point *point = s.bearing->point[s.parity][0];
    const vfront_descriptor_t own = before.point[i].descriptor, *now = vf_relpose_descriptors(&s);
    const int count = vf_relpose_keypoints(&s);
    const uint32_t best = best_of(own, now, sizeof *now, count);
    if (best == VF_NONE || best >> 16 > VF_RELPOSE_DISTANCE) return VF_NONE;
    const vf_point found = point[best & 0xffff];
    uint32_t second = 256;
    for (int k = threadIdx.x % VF_WARP; k < count; k += VF_WARP) {
        const uint32_t distance = vf_hamming_distance(&own, &now[k]);
        if (distance < second && vf_points_apart(&found, &point[k])) second = distance;
    }
    second = vf_warp_min(second);
    const uint32_t back = best_of(now[best & 0xffff], &before.point[0].descriptor, sizeof before.point[0],
                                  before.count);
    return vf_relpose_match(best, second, back, i);
}

/** Searches the correspondences of all candidate keyframes' points, one warp per point. */
static __global__ void __launch_bounds__(SEARCH_THREADS) search_k(const VF_CONSTANT vf_relpose_view s)
{
    const int warp = (blockIdx.x * SEARCH_THREADS + threadIdx.x) / VF_WARP, c = warp / VF_KEYFRAME_POINTS,
              i = warp % VF_KEYFRAME_POINTS;
    if (threadIdx.x == 0) vf_clock_start(s.clock, blockIdx.x);
    if (c >= VF_RECALL_CANDIDATES || !vf_relpose_has_candidate(&s, c)) return;
    const uint32_t found = vf_relpose_matchable(&s, c, i) ? find(s, *vf_relpose_candidate_points(&s, c), i) : VF_NONE;
    if (threadIdx.x % VF_WARP == 0) s.relpose->work[c].found[i] = found;
}

static __global__ void __launch_bounds__(LIST_THREADS) correspondences_k(const VF_CONSTANT vf_relpose_view s)
{
    vf_relpose_correspondences(&s, (int)blockIdx.x);
}

static __global__ void __launch_bounds__(TEAMS *VF_WARP) hypothesis_k(const VF_CONSTANT vf_relpose_view s)
{
    __shared__ vf_relpose_scratch scratch[TEAMS];
    const int warp = threadIdx.x / VF_WARP, n = blockIdx.x * TEAMS + warp;
    vf_relpose_hypothesis(&s, n / VF_RELPOSE_HYPOTHESES, n % VF_RELPOSE_HYPOTHESES, &scratch[warp]);
}
VF_STATIC_ASSERT(VF_RELPOSE_HYPOTHESES % TEAMS == 0, "blocks are full");

static __global__ void __launch_bounds__(REFINE_THREADS) refine_k(const VF_CONSTANT vf_relpose_view s)
{
    vf_relpose_refine(&s, (int)blockIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

#endif

extern "C" cudaError_t vf_relpose_cuda(const vf_relpose_view *s, cudaStream_t stream)
{
#if VFRONT_MAP
    search_k<<<vf_blocks(VF_RECALL_CANDIDATES * VF_KEYFRAME_POINTS * VF_WARP, SEARCH_THREADS), SEARCH_THREADS, 0,
               stream>>>(*s);
    correspondences_k<<<VF_RECALL_CANDIDATES, LIST_THREADS, 0, stream>>>(*s);
    hypothesis_k<<<VF_RECALL_CANDIDATES * VF_RELPOSE_HYPOTHESES / TEAMS, TEAMS * VF_WARP, 0, stream>>>(*s);
    refine_k<<<VF_RECALL_CANDIDATES, REFINE_THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
