/* SPDX-License-Identifier: MIT */
/* ego on the GPU, covariance: a block sums the gradients of a motion's inliers by cluster. */
#ifndef VF_EGO_COVARIANCE_CUH
#define VF_EGO_COVARIANCE_CUH

#include "ego_refine.cuh"

#include "geometry/ego_covariance.h"

/** Sum the gradients of the inliers by cluster. Returns the number of clusters that have any. */
template <int KIND>
static __device__ int fill_clusters(const vf_ego_view &s, const vf_pose &pose, const float scale[6],
                                    vf_cluster *cluster)
{
    const vf_correspondences &list = s.ego->list[vf_ego_list(KIND)];
    const int count = s.ego->count[vf_ego_list(KIND)], thread = threadIdx.x;
    int clusters = 0;
    for (int i = thread; i < VF_EGO_CLUSTERS; i += VF_EGO_LANES) cluster[i] = vf_cluster{};
    __syncthreads();
    for (int i = thread; i < count; i += VF_EGO_LANES) {
        const vf_correspondence c = vf_ego_load(&list, i);
        int32_t gradient[6];
        if (!vf_ego_scaled_gradient(KIND, &pose, &c, scale, gradient)) continue;
        vf_cluster &to = cluster[vf_ego_cluster(&s, &c)];
#pragma unroll
        for (int k = 0; k < 6; k++) atomicAdd(&to.sum[k], gradient[k]);
        atomicAdd(&to.inliers, 1);
    }
    __syncthreads();
    for (int i = thread; i < VF_EGO_CLUSTERS; i += VF_EGO_LANES)
        clusters += __syncthreads_count(cluster[i].inliers > 0);
    return clusters;
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

/** Covariance of the best motion of a kind: each warp has some elements of the gradient's covariance, then each of 6
 *  threads a row. */
template <int KIND>
static __device__ void vf_ego_covariance(const vf_ego_view &s, vf_cluster *cluster, vf_assessment &a)
{
    VF_STATIC_ASSERT(VF_EGO_CLUSTERS % VF_EGO_LANES == 0, "all threads count clusters together");
    __shared__ float B[21];
    const vf_refined &best = vf_ego_best(s, KIND);
    const vf_pose pose = best.pose;
    const int i = threadIdx.x, lane = i % VF_WARP, warp = i / VF_WARP;
    float scale[6], L[6][6], row[6], sums[VF_TERMS];
#pragma unroll
    for (int k = 0; k < VF_TERMS; k++) sums[k] = best.sum.terms[k];
    vf_ego_gradient_scales(sums, scale);
    const int clusters = fill_clusters<KIND>(s, pose, scale, cluster);
#pragma unroll
    for (int j = 0; j < 6; j++)
#pragma unroll
        for (int k = j; k < 6; k++) {
            if (vf_motion_index(j, k) % VF_EGO_WARPS != warp) continue;
            const int64_t product = sum_of_products(cluster, j, k);
            if (lane == 0)
                B[vf_motion_index(j, k)] = vf_ego_gradient_covariance(KIND, &best.sum, scale, clusters, j, k, product);
        }
    __syncthreads();
    if (i >= 6) return;
    const int valid = vf_motion_cholesky(KIND, pose.t, sums, L);
    if (i == 0) a.has_covariance[KIND] = valid;
    vf_motion_covariance_row(L, B, i, row);
#pragma unroll
    for (int j = 0; j < 6; j++)
        if (j >= i) a.covariance[KIND][vf_motion_diagonal(i) + j - i] = valid ? row[j] : 0.0f;
}

#endif
