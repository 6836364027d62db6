/* SPDX-License-Identifier: MIT */
/* ego on the GPU, covariance of a motion: one block sums the gradients of the inliers by cluster, four others the
 * effects of calibration errors; the last to finish computes the covariance. */
#ifndef VF_EGO_COVARIANCE_CUH
#define VF_EGO_COVARIANCE_CUH

#include "ego_refine.cuh"

#include "ego/ego_covariance.h"

/* blocks per covariance: one for the clusters, one per calibration parameter */
#define VF_EGO_PARTS (1 + VF_EGO_VALUES)

/** Threads of a block that computes a covariance. They may exceed VF_EGO_LANES, because sums of integers do not depend
 *  on their order. */
#define VF_EGO_COVARIANCE_THREADS 512
#define COVARIANCE_WARPS (VF_EGO_COVARIANCE_THREADS / VF_WARP)

/** Shared memory of a block that computes a covariance. */
struct covariance_work {
    union {
        vf_cluster cluster[VF_EGO_CLUSTERS];
        int64_t warp_sum[COVARIANCE_WARPS][8];
    };
    vf_ego_cluster_sums cluster_sums;
    vf_refined best;
    float scale[6], B[21], half[6][6], middle[6][6];
    vf_ego_rival rival[VF_EGO_REFINED];
    int edge;
    bool last;
};

/** Calls work(correspondence, its error) for all correspondences of a search, distributed over the threads of a block.
 *  The next correspondence is loaded ahead. pose: motion whose errors are computed. */
template <int KIND, typename Work>
static __device__ __forceinline__ void each_error(const vf_ego_view &s, int search, const vf_pose &pose, Work work)
{
    const vf_correspondences &list = s.ego->list[vf_ego_list(KIND)];
    const int count = s.ego->count[vf_ego_list(KIND)];
    vf_correspondence next = {};
    if ((int)threadIdx.x < count) next = vf_ego_load_for(search, &list, threadIdx.x);
#pragma unroll 1
    for (int i = threadIdx.x; i < count; i += VF_EGO_COVARIANCE_THREADS) {
        const vf_correspondence c = next;
        if (i + VF_EGO_COVARIANCE_THREADS < count) next = vf_ego_load_for(search, &list, i + VF_EGO_COVARIANCE_THREADS);
        work(c, vf_motion_error(KIND, &pose, &c));
    }
}

static __device__ __forceinline__ void copy_row(float to[6], const float from[6])
{
#pragma unroll
    for (int k = 0; k < 6; k++) to[k] = from[k];
}

/** Sum over all clusters of the product of their gradient sums i and j, by a warp, in every lane. */
static __device__ __forceinline__ int64_t sum_of_products(const vf_cluster *cluster, int i, int j)
{
    long long product = 0;
    for (int n = threadIdx.x % VF_WARP; n < VF_EGO_CLUSTERS; n += VF_WARP)
        product += (long long)cluster[n].sum[i] * cluster[n].sum[j];
    for (int step = VF_WARP / 2; step; step /= 2) product += __shfl_xor_sync(VF_ALL, product, step);
    return product;
}

/** Part 0 of the sums for a covariance: gradients of the inliers, by cluster. pose: best motion of the search. */
template <int KIND>
static __device__ void sum_clusters(const vf_ego_view &s, int search, const vf_pose &pose, covariance_work &w,
                                    vf_ego_cluster_sums &cluster_sums)
{
    VF_STATIC_ASSERT(VF_EGO_CLUSTERS % VF_EGO_COVARIANCE_THREADS == 0, "all threads count clusters together");
    vf_cluster *cluster = w.cluster;
    const int thread = threadIdx.x, warp = thread / VF_WARP;
    int near = 0, clusters = 0;
    for (int i = thread; i < VF_EGO_CLUSTERS; i += VF_EGO_COVARIANCE_THREADS) cluster[i] = vf_cluster{};
    if (thread == 0) w.edge = 0;
    __syncthreads();
    each_error<KIND>(s, search, pose, [&](const vf_correspondence &c, float error) {
        int32_t gradient[6];
        near += vf_ego_near_bound(error);
        if (!vf_motion_inlier_score(error)) return;
        vf_ego_scaled_gradient(KIND, &pose, &c, w.scale, gradient);
        vf_cluster &to = cluster[vf_ego_cluster(&s, &c)];
#pragma unroll
        for (int k = 0; k < 6; k++) atomicAdd(&to.sum[k], gradient[k]);
        atomicAdd(&to.inliers, 1);
    });
    near = vf_warp_sum(near);
    if (thread % VF_WARP == 0) atomicAdd(&w.edge, near);
    __syncthreads();
    for (int i = thread; i < VF_EGO_CLUSTERS; i += VF_EGO_COVARIANCE_THREADS)
        clusters += __syncthreads_count(cluster[i].inliers > 0);
    if (thread == 0) cluster_sums.clusters = clusters;
    if (thread == 0) cluster_sums.edge = w.edge;
#pragma unroll
    for (int i = 0; i < 6; i++)
#pragma unroll
        for (int j = i; j < 6; j++) {
            if (vf_motion_index(i, j) % COVARIANCE_WARPS != warp) continue;
            const int64_t product = sum_of_products(cluster, i, j);
            if (thread % VF_WARP == 0) cluster_sums.products[vf_motion_index(i, j)] = product;
        }
}

/** Sum of v over a warp, in every lane. It may exceed 32 bits. */
static __device__ __forceinline__ int64_t wide_sum(int32_t v)
{
    return (int64_t)vf_warp_sum(v >> 16) * 65536 + vf_warp_sum(v & 0xffff);
}

/** Parts 1 to VF_EGO_VALUES of the sums for a covariance: effects on the inliers of a step of calibration parameter
 *  VALUE. pose: best motion of the search. */
template <int KIND, int VALUE>
static __device__ void sum_effects(const vf_ego_view &s, int search, const vf_pose &pose, covariance_work &w,
                                   vf_ego_cluster_sums &cluster_sums)
{
    const int thread = threadIdx.x;
    float step[VF_EGO_VALUES];
    int32_t sum[8] = {};
    vf_ego_calibration_steps(&s, step);
    each_error<KIND>(s, search, pose, [&](const vf_correspondence &c, float error) {
        if (!vf_motion_inlier_score(error)) return;
        const vf_ego_effect effect = vf_ego_effect_of(KIND, &pose, &c, VALUE, step[VALUE], w.scale);
#pragma unroll
        for (int k = 0; k < 6; k++) sum[k] += effect.gradient[k];
        sum[6] += effect.square;
        sum[7] += effect.product;
    });
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const int64_t all = wide_sum(sum[k]);
        if (thread % VF_WARP == 0) w.warp_sum[thread / VF_WARP][k] = all;
    }
    __syncthreads();
    if (thread >= 8) return;
    int64_t all = 0;
    for (int warp = 0; warp < COVARIANCE_WARPS; warp++) all += w.warp_sum[warp][thread];
    if (thread < 6) cluster_sums.effect[VALUE][thread] = all;
    if (VALUE == VF_EGO_DISPARITY && thread == 6) cluster_sums.square = all;
    if (VALUE == VF_EGO_DISPARITY && thread == 7) cluster_sums.product = all;
}

/** Computes the covariance of the best motion of a search from the sums of all parts. Six lanes of the first warp have
 *  one matrix row each. */
template <int KIND>
static __device__ void find_covariance(const vf_ego_view &s, int search, covariance_work &w, vf_assessment &a)
{
    const vf_refined &best = w.best;
    const int i = threadIdx.x, r = vf_min(i, 5);
    float L[6][6], row[6], sums[VF_TERMS];
    if (i < 36 && i / 6 <= i % 6)
        w.B[vf_motion_index(i / 6, i % 6)] = vf_ego_gradient_covariance(KIND, &best.sum, w.scale, &w.cluster_sums,
                                                                        i / 6, i % 6);
    __syncthreads();
    if (i >= VF_WARP) return;
    if (i < VF_EGO_REFINED)
        w.rival[i] = vf_ego_rival_of(&best, &s.ego->refined[search][i], s.ego->count[vf_ego_list(KIND)]);
#pragma unroll
    for (int k = 0; k < VF_TERMS; k++) sums[k] = best.sum.terms[k];
    const int valid = vf_motion_cholesky(KIND, best.pose.t, sums, L);
    vf_motion_covariance_half(L, w.B, r, row);
    if (i < 6) copy_row(w.half[i], row);
    __syncwarp();
    vf_motion_covariance_middle(L, w.half, r, row);
    if (i < 6) copy_row(w.middle[i], row);
    __syncwarp();
    vf_motion_covariance_row(L, w.middle, r, row);
    const vf_ego_offset offset = vf_ego_find_offset(&s, KIND, &best.sum, w.scale, &w.cluster_sums, L);
    if (i == 0) a.has_covariance[KIND] = valid;
    if (i == 0 && KIND == VF_METRIC) {
        a.offset_px = valid ? offset.measured_px : 0.0f;
        a.offset_weight = valid ? offset.weight : 0.0f;
    }
#pragma unroll
    for (int j = 0; j < 6; j++)
        if (i < 6 && j >= i)
            a.covariance[KIND][vf_motion_diagonal(i) + j - i] =
                valid ? vf_ego_covariance_element(&offset, i, j, row[j]) + vf_ego_rival_element(w.rival, i, j) : 0.0f;
}

/** Computes one part of the sums for the covariance of the best motion of a search. The last block to finish computes
 *  the covariance. */
template <int KIND>
static __device__ void vf_ego_covariance(const vf_ego_view &s, int search, int part, covariance_work &w,
                                         vf_assessment &a)
{
    vf_ego_memory &m = *s.ego;
    const int thread = threadIdx.x;
    vf_ego_copy(&w.best, &vf_ego_best(s, search));
    __syncthreads();
    if (thread < 6) w.scale[thread] = vf_ego_gradient_scale(w.best.sum.terms, thread);
    __syncthreads();
    const vf_pose pose = w.best.pose;
    if (part == 0) sum_clusters<KIND>(s, search, pose, w, m.cluster_sums[KIND]);
    if (part == 1 + VF_EGO_CENTRE_X) sum_effects<KIND, VF_EGO_CENTRE_X>(s, search, pose, w, m.cluster_sums[KIND]);
    if (part == 1 + VF_EGO_CENTRE_Y) sum_effects<KIND, VF_EGO_CENTRE_Y>(s, search, pose, w, m.cluster_sums[KIND]);
    if (part == 1 + VF_EGO_FOCAL) sum_effects<KIND, VF_EGO_FOCAL>(s, search, pose, w, m.cluster_sums[KIND]);
    if (part == 1 + VF_EGO_DISPARITY) sum_effects<KIND, VF_EGO_DISPARITY>(s, search, pose, w, m.cluster_sums[KIND]);
    __threadfence();
    __syncthreads();
    if (thread == 0) w.last = atomicInc(&m.parts_done[KIND], VF_EGO_PARTS - 1) == VF_EGO_PARTS - 1;
    __syncthreads();
    if (!w.last) return;
    __threadfence();
    for (int i = thread; i < (int)(sizeof w.cluster_sums / 4); i += VF_EGO_COVARIANCE_THREADS)
        reinterpret_cast<uint32_t *>(&w.cluster_sums)[i] = __ldcg(
            reinterpret_cast<const uint32_t *>(&m.cluster_sums[KIND]) + i);
    __syncthreads();
    find_covariance<KIND>(s, search, w, a);
}

#endif
