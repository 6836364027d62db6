/* SPDX-License-Identifier: MIT */
/* ego on the GPU, assessment: one block per property of the best motions, and many blocks that search an alternative
 * motion among the outliers. The last block to finish writes the result. */
#ifndef VF_EGO_ASSESS_CUH
#define VF_EGO_ASSESS_CUH

#include "ego_covariance.cuh"
#include "ego_refine.cuh"

#include "ego/motion_check.h"
#include "ego/ego_assess.h"

/** Median displacement of the inliers of a motion that remains after its rotation [1/16 px]; also marks the inliers.
 *  With ALL: median displacement of all correspondences, without any rotation; marks nothing. bin: VF_EGO_BINS counters
 *  in shared memory, overwritten. */
template <int KIND, bool ALL>
static __device__ int median_displacement(const vf_ego_view &s, int search, const vf_pose &pose, int *bin)
{
    VF_STATIC_ASSERT(VF_EGO_BINS == 4 * VF_EGO_LANES, "four bins a thread");
    __shared__ int warp_total[VF_EGO_WARPS], median;
    const vf_correspondences &list = s.ego->list[vf_ego_list(KIND)];
    const int count = s.ego->count[vf_ego_list(KIND)], thread = threadIdx.x, lane = thread % VF_WARP,
              warp = thread / VF_WARP;
    const float none[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int k = 0; k < 4; k++) bin[4 * thread + k] = 0;
    if (thread == 0) median = 0;
    __syncthreads();
    for (int i = thread; i < count; i += VF_EGO_LANES) {
        const vf_correspondence c = vf_ego_load_for(search, &list, i);
        const bool inlier = ALL || vf_motion_inlier_score(vf_motion_error(KIND, &pose, &c));
        if (!ALL) s.ego->inlier[KIND][list.candidate[i]] = inlier;
        if (inlier) atomicAdd(&bin[vf_ego_displacement_bin(&s, ALL ? none : pose.R, &c)], 1);
    }
    __syncthreads();
    int mine = 0;
    for (int k = 0; k < 4; k++) mine += bin[4 * thread + k];
    int upto = mine;
    for (int step = 1; step < VF_WARP; step *= 2) {
        const int other = __shfl_up_sync(VF_ALL, upto, step);
        upto += lane >= step ? other : 0;
    }
    if (lane == VF_WARP - 1) warp_total[warp] = upto;
    __syncthreads();
    int before = upto - mine, total = 0;
    for (int w = 0; w < VF_EGO_WARPS; w++) {
        before += w < warp ? warp_total[w] : 0;
        total += warp_total[w];
    }
    for (int k = 0; k < 4; k++) {
        const int here = bin[4 * thread + k];
        if (vf_ego_is_median_bin(before, before + here, total)) median = 4 * thread + k;
        before += here;
    }
    __syncthreads();
    return median;
}

/** Search (VF_METRIC or VF_WIDE) whose best motion is the metric motion. Called by whole warps. */
static __device__ __forceinline__ int metric_search(const vf_ego_view &s)
{
    return vf_ego_metric_search(&s, &vf_ego_best(s, VF_METRIC).sum, &vf_ego_best(s, VF_WIDE).sum);
}

/** Writes the best motion of a search, its normal equations and its parallax to the assessment `a`, and marks its
 *  inliers. bin: VF_EGO_BINS counters in shared memory. */
template <int KIND> static __device__ void assess_motion(const vf_ego_view &s, int search, int *bin, vf_assessment &a)
{
    const vf_refined &best = vf_ego_best(s, search);
    const vf_pose pose = best.pose;
    const int parallax = median_displacement<KIND, false>(s, search, pose, bin);
    vf_ego_copy(&a.sum[KIND], &best.sum);
    if (threadIdx.x) return;
    a.pose[KIND] = pose;
    a.parallax[KIND] = parallax;
    if (KIND == VF_METRIC) a.wide = search == VF_WIDE;
}

/** Number of inliers of the best relative motion that lie in one plane in space, by a block. */
static __device__ uint32_t count_plane_inliers(const vf_ego_view &s)
{
    __shared__ vf_normal_equations sum;
    __shared__ float plane[3];
    __shared__ int valid;
    const vf_pose pose = vf_ego_best(s, VF_RELATIVE).pose;
    if (threadIdx.x < 3) plane[threadIdx.x] = 0.0f;
    if (threadIdx.x == 0) valid = 1;
    __syncthreads();
#pragma unroll 1
    for (int fit = 0; fit <= VF_EGO_PLANE_STEPS && valid; fit++) {
        const float n[3] = {plane[0], plane[1], plane[2]};
        vf_ego_sum<VF_RELATIVE>(s, fit == VF_EGO_PLANE_STEPS ? VFRONT_CORRESPONDENCES : VF_EGO_LANES, &sum,
                                [&](const vf_correspondence &c, vf_normal_equations &to) {
                                    if (vf_motion_inlier_score(vf_motion_error(VF_RELATIVE, &pose, &c)))
                                        to.inliers += vf_ego_plane_terms(&pose, n, &c, fit == 0, to.terms);
                                });
        if (threadIdx.x == 0 && fit < VF_EGO_PLANE_STEPS) valid = vf_ego_plane_step(sum.terms, plane);
        __syncthreads();
    }
    return valid ? sum.inliers : 0;
}

/** Outliers of the best relative motion, in shared memory, in any order. */
struct outliers {
    float before[3][VF_EGO_ALTERNATIVE_SUBSET], now[3][VF_EGO_ALTERNATIVE_SUBSET], weight[VF_EGO_ALTERNATIVE_SUBSET];
    int32_t count;
};

/** Hypotheses per block of the search for an alternative motion, one per warp. */
#define VF_EGO_SEARCHED (VF_EGO_COVARIANCE_THREADS / VF_WARP)

/** Searches an alternative motion: each warp counts the inliers of a relative hypothesis among the outliers of the best
 *  relative motion. */
static __device__ void search_alternative(const vf_ego_view &s, int block)
{
    __shared__ outliers o;
    vf_ego_memory &m = *s.ego;
    const int lane = threadIdx.x % VF_WARP, h = block * VF_EGO_SEARCHED + (int)threadIdx.x / VF_WARP,
              count = m.count[0], used = vf_ego_subset_count(count, VF_EGO_ALTERNATIVE_SUBSET);
    const vf_pose best = vf_ego_best(s, VF_RELATIVE).pose;
    if (threadIdx.x == 0) o.count = 0;
    __syncthreads();
    for (int k = threadIdx.x; k < used; k += VF_EGO_COVARIANCE_THREADS) {
        const vf_correspondence c = vf_ego_load(&m.list[0], vf_ego_subset_index(count, VF_EGO_ALTERNATIVE_SUBSET, k));
        if (!vf_ego_is_outlier(vf_motion_error(VF_RELATIVE, &best, &c))) continue;
        const int at = atomicAdd(&o.count, 1);
        for (int i = 0; i < 3; i++) {
            o.before[i][at] = c.before[i];
            o.now[i][at] = c.now[i];
        }
        o.weight[at] = c.weight;
    }
    __syncthreads();
    if (h >= vf_ego_hypotheses(&s, VF_RELATIVE)) return;
    const vf_pose other = m.pose[VF_RELATIVE][h];
    int inliers = 0;
    for (int k = lane; k < o.count && m.score[VF_RELATIVE][h] > 0; k += VF_WARP) {
        /* the error of a relative motion uses no distances */
        const vf_correspondence c = {{o.before[0][k], o.before[1][k], o.before[2][k]},
                                     {o.now[0][k], o.now[1][k], o.now[2][k]},
                                     o.weight[k],
                                     0.0f,
                                     0.0f,
                                     0.0f,
                                     0.0f};
        inliers += vf_motion_error(VF_RELATIVE, &other, &c) < 1.0f;
    }
    inliers = vf_warp_sum(inliers);
    if (lane) return;
    m.alternative[h] = inliers;
    if (h == 0) m.assessment.outliers = o.count;
}

/** Writes the inlier masks of the reported motions, four candidates per word. relative, metric: kinds of the reported
 *  motions; VF_KINDS: none. */
static __device__ __forceinline__ void write_inlier_masks(vf_ego_memory &m, int relative, int metric)
{
    uint32_t *mask = reinterpret_cast<uint32_t *>(m.inlier_mask);
    for (int i = threadIdx.x; i < VF_EGO_MASKS / 4; i += VF_EGO_LANES) {
        uint32_t agrees = 0;
        if (relative != VF_KINDS)
            agrees = VFRONT_AGREES_RELATIVE * __ldcg(reinterpret_cast<const uint32_t *>(m.inlier[relative]) + i);
        if (metric != VF_KINDS)
            agrees |= VFRONT_AGREES_METRIC * __ldcg(reinterpret_cast<const uint32_t *>(m.inlier[metric]) + i);
        mask[i] = agrees;
    }
}

/** Writes the reported motions. Called by the last block to finish. */
static __device__ void report_motions(const vf_ego_view &s)
{
    __shared__ uint32_t warp_best[VF_EGO_WARPS];
    __shared__ vf_assessment assessment;
    __shared__ vfront_motion_t motion[2];
    /* in shared memory, because a single thread would wait for each load from global memory */
    __shared__ vf_running_means now, was;
    __shared__ vf_params params;
    __shared__ float w[3];
    __shared__ int known;
    vf_ego_memory &m = *s.ego;
    const vf_running_means *before = s.ingest->params.frame ? &m.running_means[s.parity ^ 1] : NULL;
    uint32_t alternative_inliers = 0;
    for (int h = threadIdx.x; h < vf_ego_hypotheses(&s, VF_RELATIVE); h += VF_EGO_LANES)
        alternative_inliers = max(alternative_inliers, __ldcg(&m.alternative[h]));
    for (int i = threadIdx.x; i < (int)(sizeof assessment / 4); i += VF_EGO_LANES)
        reinterpret_cast<uint32_t *>(&assessment)[i] = __ldcg(reinterpret_cast<const uint32_t *>(&m.assessment) + i);
    vf_ego_copy(&params, &s.ingest->params);
    vf_ego_copy(&was, before);
    alternative_inliers = vf_ego_block_max(alternative_inliers, warp_best);
    vf_ego_copy(&now, &was);
    if (threadIdx.x == 0) {
        assessment.alternative_inliers = alternative_inliers;
        if (!vf_ego_hypotheses(&s, VF_RELATIVE)) assessment.outliers = 0;
        m.assessment.alternative_inliers = assessment.alternative_inliers;
        m.assessment.outliers = assessment.outliers;
    }
    __syncthreads();
    const int thread = threadIdx.x, warp = thread / VF_WARP;
    if (warp == 0) vf_ego_assess_relative(&s, &params, m.count[0], &assessment, &motion[0]);
    if (warp == 1) vf_ego_assess_metric(&s, &params, m.count[1], &assessment, &motion[1]);
    __syncthreads();
    const vf_motion_check_input input = vf_motion_check_input_of(&s, &params);
    if (thread == 0) known = vf_motion_check_shares(&input, &motion[0], &motion[1], &now, &was, w);
    __syncthreads();
    if (thread == VF_WARP) vf_rate_check_step(&now.rates, &params, known ? w : NULL);
    if (thread == 0) vf_motion_check_hold(&input, &motion[0], &motion[1], &now, &was);
    __syncthreads();
    const vfront_motion_t *good = vf_ego_last_good(&params, &motion[0], &motion[1], &m.good[s.parity ^ 1]);
    vf_ego_copy(&m.running_means[s.parity], &now);
    vf_ego_copy(&m.relative, &motion[0]);
    vf_ego_copy(&m.metric, &motion[1]);
    if (good)
        vf_ego_copy(&m.good[s.parity], good);
    else if (thread == 0)
        vf_ego_set_identity(&m.good[s.parity], VFRONT_MOTION_NONE);
    if (thread == VF_WARP) m.disparity[s.parity] = vf_ego_disparity_next(&s, &params, &motion[1], &assessment);
    if (warp == 2 && thread % VF_WARP < VF_LASTS) { /* motion[1] is the metric motion, motion[0] the relative one */
        const int kind = thread % VF_WARP;
        m.last[s.parity][kind] = vf_ego_last(&params, &motion[kind == VF_LAST_METRIC], &m.last[s.parity ^ 1][kind]);
    }
    write_inlier_masks(m, vf_ego_relative_kind(&motion[0]), vf_ego_metric_kind(&motion[1]));
    if (threadIdx.x == 0) vf_clock_end(s.clock);
}

/* Blocks that compute covariances. They come first, because covariances take longest. */
#define VF_EGO_COVARIANCES (VF_KINDS * VF_EGO_PARTS)
/* Blocks that compute properties, covariances included. Blocks after them search an alternative motion. */
#define VF_EGO_PROPERTIES (VF_EGO_COVARIANCES + 5)

/** Computes all properties of the best motions, then reports. Threads beyond VF_EGO_LANES work only on covariances and
 *  on the search for an alternative motion. */
static __global__ void __launch_bounds__(VF_EGO_COVARIANCE_THREADS) vf_ego_assess_k(const VF_CONSTANT vf_ego_view s)
{
    __shared__ bool last;
    __shared__ covariance_work work;
    __shared__ int bin[VF_EGO_BINS];
    vf_ego_memory &m = *s.ego;
    const int kind = blockIdx.x / VF_EGO_PARTS, part = blockIdx.x % VF_EGO_PARTS,
              property = (int)blockIdx.x - VF_EGO_COVARIANCES;
    if (kind == VF_RELATIVE) vf_ego_covariance<VF_RELATIVE>(s, VF_RELATIVE, part, work, m.assessment);
    if (kind == VF_METRIC) vf_ego_covariance<VF_METRIC>(s, metric_search(s), part, work, m.assessment);
    if (kind == VF_ROTATION_ONLY) vf_ego_covariance<VF_ROTATION_ONLY>(s, VF_ROTATION_ONLY, part, work, m.assessment);
    if (property >= VF_EGO_PROPERTIES - VF_EGO_COVARIANCES) search_alternative(s, (int)blockIdx.x - VF_EGO_PROPERTIES);
    __syncthreads();
    if (threadIdx.x >= VF_EGO_LANES) return;
    if (property == 0) {
        const uint32_t plane_inliers = count_plane_inliers(s);
        if (threadIdx.x == 0) m.assessment.plane_inliers = plane_inliers;
    }
    if (property == 1) assess_motion<VF_RELATIVE>(s, VF_RELATIVE, bin, m.assessment);
    if (property == 2) assess_motion<VF_METRIC>(s, metric_search(s), bin, m.assessment);
    if (property == 3) assess_motion<VF_ROTATION_ONLY>(s, VF_ROTATION_ONLY, bin, m.assessment);
    if (property == 4) {
        const int displacement = median_displacement<VF_RELATIVE, true>(s, VF_RELATIVE, m.assessment.pose[0], bin);
        if (threadIdx.x == 0) m.assessment.displacement = displacement;
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(&m.blocks_done, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    report_motions(s);
}

#endif
