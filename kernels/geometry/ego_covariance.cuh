/* SPDX-License-Identifier: MIT */
/* ego on the GPU, covariance: a block sums the gradients of a motion's inliers by cluster. */
#ifndef VF_EGO_COVARIANCE_CUH
#define VF_EGO_COVARIANCE_CUH

#include "ego_refine.cuh"

#include "geometry/ego_covariance.h"

/** Sums of a thread over its correspondences. */
struct thread_spread {
    int32_t edge, effect[VF_EGO_VALUES][6], square, product;
};

/** Add the sum of the lanes of a warp. */
static __device__ __forceinline__ void add_over_warp(int32_t mine, int64_t *to)
{
    long long sum = mine;
    for (int step = VF_WARP / 2; step; step /= 2) sum += __shfl_xor_sync(VF_ALL, sum, step);
    if (threadIdx.x % VF_WARP == 0) atomicAdd(reinterpret_cast<unsigned long long *>(to), (unsigned long long)sum);
}

/** Add the sums of all threads of a warp to those of the block. */
static __device__ __forceinline__ void add_spread(const thread_spread &mine, vf_ego_spread *to)
{
    const int edge = vf_warp_sum(mine.edge);
    if (threadIdx.x % VF_WARP == 0) atomicAdd(&to->edge, edge);
#pragma unroll
    for (int value = 0; value < VF_EGO_VALUES; value++)
#pragma unroll
        for (int k = 0; k < 6; k++) add_over_warp(mine.effect[value][k], &to->effect[value][k]);
    add_over_warp(mine.square, &to->square);
    add_over_warp(mine.product, &to->product);
}

/** Sum the gradients of the inliers by cluster, and what else the covariance needs. spread: shared memory. */
template <int KIND>
static __device__ void fill_clusters(const vf_ego_view &s, int search, const vf_pose &pose, const float scale[6],
                                     vf_cluster *cluster, vf_ego_spread *spread)
{
    const vf_correspondences &list = s.ego->list[vf_ego_list(KIND)];
    const int count = s.ego->count[vf_ego_list(KIND)], thread = threadIdx.x;
    int clusters = 0;
    float step[VF_EGO_VALUES];
    thread_spread mine = {};
    vf_ego_calibration_steps(&s, step);
    for (int i = thread; i < VF_EGO_CLUSTERS; i += VF_EGO_LANES) cluster[i] = vf_cluster{};
    if (thread == 0) *spread = vf_ego_spread{};
    __syncthreads();
#pragma unroll 1
    for (int i = thread; i < count; i += VF_EGO_LANES) {
        const vf_correspondence c = vf_ego_load_for(search, &list, i);
        const float error = vf_motion_error(KIND, &pose, &c);
        int32_t gradient[6];
        mine.edge += vf_ego_near_bound(error);
        if (!vf_motion_inlier_score(error)) continue;
        vf_ego_scaled_gradient(KIND, &pose, &c, scale, gradient);
        vf_cluster &to = cluster[vf_ego_cluster(&s, &c)];
#pragma unroll
        for (int k = 0; k < 6; k++) atomicAdd(&to.sum[k], gradient[k]);
        atomicAdd(&to.inliers, 1);
#pragma unroll
        for (int value = 0; value < VF_EGO_VALUES; value++) {
            const vf_ego_effect effect = vf_ego_effect_of(KIND, &pose, &c, value, step[value], scale);
#pragma unroll
            for (int k = 0; k < 6; k++) mine.effect[value][k] += effect.gradient[k];
            if (value != VF_EGO_DISPARITY) continue;
            mine.square += effect.square;
            mine.product += effect.product;
        }
    }
    add_spread(mine, spread);
    __syncthreads();
    for (int i = thread; i < VF_EGO_CLUSTERS; i += VF_EGO_LANES)
        clusters += __syncthreads_count(cluster[i].inliers > 0);
    if (thread == 0) spread->clusters = clusters;
    __syncthreads();
}

/** Sum over all clusters of sum[i] * sum[j], by a warp. */
static __device__ __forceinline__ int64_t sum_of_products(const vf_cluster *cluster, int i, int j)
{
    long long product = 0;
    for (int n = threadIdx.x % VF_WARP; n < VF_EGO_CLUSTERS; n += VF_WARP)
        product += (long long)cluster[n].sum[i] * cluster[n].sum[j];
    for (int step = VF_WARP / 2; step; step /= 2) product += __shfl_xor_sync(VF_ALL, product, step);
    return product;
}

/** Covariance of the best motion of a search: each warp has some elements of the gradient's covariance, then each of 6
 *  threads a row. */
template <int KIND>
static __device__ void vf_ego_covariance(const vf_ego_view &s, int search, vf_cluster *cluster, vf_assessment &a)
{
    VF_STATIC_ASSERT(VF_EGO_CLUSTERS % VF_EGO_LANES == 0, "all threads count clusters together");
    __shared__ float B[21];
    __shared__ vf_ego_spread spread;
    const vf_refined &best = vf_ego_best(s, search);
    const vf_pose pose = best.pose;
    const int i = threadIdx.x, lane = i % VF_WARP, warp = i / VF_WARP;
    float scale[6], L[6][6], row[6], sums[VF_TERMS];
#pragma unroll
    for (int k = 0; k < VF_TERMS; k++) sums[k] = best.sum.terms[k];
    vf_ego_gradient_scales(sums, scale);
    fill_clusters<KIND>(s, search, pose, scale, cluster, &spread);
#pragma unroll
    for (int j = 0; j < 6; j++)
#pragma unroll
        for (int k = j; k < 6; k++) {
            if (vf_motion_index(j, k) % VF_EGO_WARPS != warp) continue;
            const int64_t product = sum_of_products(cluster, j, k);
            if (lane == 0)
                B[vf_motion_index(j, k)] = vf_ego_gradient_covariance(KIND, &best.sum, scale, &spread, j, k, product);
        }
    __syncthreads();
    if (i >= 6) return;
    const int valid = vf_motion_cholesky(KIND, pose.t, sums, L);
    if (i == 0) a.has_covariance[KIND] = valid;
    const vf_ego_offset offset = vf_ego_find_offset(&s, KIND, &best.sum, scale, &spread, L);
    if (i == 0 && KIND == VF_METRIC) {
        a.offset_px = valid ? offset.found_px : 0.0f;
        a.offset_weight = valid ? offset.weight : 0.0f;
    }
    vf_motion_covariance_row(L, B, i, row);
#pragma unroll
    for (int j = 0; j < 6; j++)
        if (j >= i)
            a.covariance[KIND][vf_motion_diagonal(i) + j - i] = valid ? vf_ego_covariance_element(&offset, i, j, row[j])
                                                                      : 0.0f;
}

#endif
