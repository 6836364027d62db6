/* SPDX-License-Identifier: MIT */
/* ego on the GPU, hypotheses: a warp computes motions from a minimal sample of correspondences and scores them. */
#ifndef VF_EGO_HYPOTHESIS_CUH
#define VF_EGO_HYPOTHESIS_CUH

#include "ego_sample.cuh"
#if VFRONT_CUBLAS
#include "ego_systems.cuh"
#else

/** Computes the essential matrices of a sample of `size` correspondences. Returns their number. */
static __device__ __forceinline__ int vf_ego_essential(const vf_ego_view &, int, int size, vf_ego_scratch &b)
{
    return size == 5   ? vf_essential_five(&b.essential, b.before, b.now)
           : size == 7 ? vf_essential_seven(&b.essential, b.before, b.now)
                       : vf_essential_eight(&b.essential, b.before, b.now);
}
#endif

#define SCORED (VF_EGO_SCORING_SUBSET / VF_WARP) /* correspondences per lane, of the subset that scores a motion */

/** Computes motions of a kind from the minimal sample of hypothesis h, into b.pose. size: correspondences of the
 *  sample. Returns the number of motions. */
static __device__ __forceinline__ int minimal(const vf_ego_view &s, int kind, int h, int size, vf_ego_scratch &b)
{
    const int lane = threadIdx.x % VF_WARP;
    if (kind == VF_METRIC) return vf_perspective_three(&b.perspective, b.before, b.now, b.pose);
    if (size == 2) {
        if (lane == 0 && kind == VF_ROTATION_ONLY) vf_ego_rotation_from_two(b.before, b.now, &b.pose[0]);
        if (lane == 0 && kind == VF_RELATIVE)
            vf_ego_translation_from_two(s.ingest->params.R, b.before, b.now, &b.pose[0]);
        return 1;
    }
    const int matrices = vf_ego_essential(s, h, size, b);
    vf_pose pose;
    const bool valid = lane < matrices && vf_essential_pose(b.essential.E[lane], b.before, b.now, size, &pose);
    const unsigned lanes = __ballot_sync(VF_ALL, valid);
    if (valid) b.pose[__popc(lanes & ((1u << lane) - 1))] = pose;
    return __popc(lanes);
}

/** Stores a motion and its score as hypothesis h of a search, by a warp. score 0: no motion. */
static __device__ __forceinline__ void keep_best(vf_ego_memory &m, int search, int h, const vf_pose &pose, int score)
{
    const int lane = threadIdx.x % VF_WARP;
    if (lane == 0) m.score[search][h] = score;
    if (score && lane < (int)(sizeof(vf_pose) / sizeof(float)))
        reinterpret_cast<float *>(&m.pose[search][h])[lane] = reinterpret_cast<const float *>(&pose)[lane];
}

/** Makes hypothesis h: the motion with the highest score among those from its sample. For a metric motion also the one
 *  with the highest score at wide error bounds, for the search VF_WIDE. */
template <int KIND>
static __device__ __forceinline__ void make_hypothesis(const vf_ego_view &s, int h, vf_ego_scratch &b)
{
    vf_ego_memory &m = *s.ego;
    const vf_params &params = s.ingest->params;
    const vf_correspondences &list = m.list[vf_ego_list(KIND)];
    const int lane = threadIdx.x % VF_WARP, count = m.count[vf_ego_list(KIND)],
              size = vf_ego_sample_size(&s, &params, KIND, h);
    int best = 0, which = 0, best_wide = 0, which_wide = 0;
    if (count >= size) {
        vf_ego_load_sample(s, KIND, h, size, count, b);
        const int motions = minimal(s, KIND, h, size, b);
        if (lane == 0 && KIND == VF_ROTATION_ONLY && h == 0) vf_ego_given_rotation(&params, &b.pose[0]);
        __syncwarp();
        const int used = vf_ego_subset_count(count, VF_EGO_SCORING_SUBSET);
        vf_correspondence c[SCORED];
#pragma unroll
        for (int k = 0; k < SCORED; k++)
            c[k] = vf_ego_load(&list,
                               vf_ego_subset_index(count, VF_EGO_SCORING_SUBSET, vf_min(k * VF_WARP + lane, used - 1)));
        for (int i = 0; i < motions; i++) {
            const vf_pose pose = b.pose[i];
            int score = 0, wide = 0;
#pragma unroll
            for (int k = 0; k < SCORED; k++) {
                const vf_correspondence widened = vf_motion_widen(c[k]);
                const bool counts = k * VF_WARP + lane < used;
                score += counts ? vf_motion_inlier_score(vf_motion_error(KIND, &pose, &c[k])) : 0;
                if (KIND == VF_METRIC)
                    wide += counts ? vf_motion_inlier_score(vf_motion_error(KIND, &pose, &widened)) : 0;
            }
            score = vf_warp_sum(score);
            which = score > best ? i : which;
            best = vf_max(score, best);
            if (KIND != VF_METRIC) continue;
            wide = vf_warp_sum(wide);
            which_wide = wide > best_wide ? i : which_wide;
            best_wide = vf_max(wide, best_wide);
        }
    }
    keep_best(m, KIND, h, b.pose[which], best);
    if (KIND == VF_METRIC) keep_best(m, VF_WIDE, h, b.pose[which_wide], best_wide);
}

/** Makes all hypotheses, one per warp: relative motions, then metric ones, then rotations. Four blocks per
 *  multiprocessor with 128 registers are fastest. */
static __global__ void __launch_bounds__(VF_EGO_TEAMS *VF_WARP, 4) vf_ego_hypothesis_k(const VF_CONSTANT vf_ego_view s)
{
    __shared__ vf_ego_scratch b[VF_EGO_TEAMS];
    const int warp = threadIdx.x / VF_WARP;
    int h = blockIdx.x * VF_EGO_TEAMS + warp;
    const int relative = vf_ego_hypotheses(&s, VF_RELATIVE), metric = vf_ego_hypotheses(&s, VF_METRIC),
              rotation = vf_ego_hypotheses(&s, VF_ROTATION_ONLY);
    if (h < relative) return make_hypothesis<VF_RELATIVE>(s, h, b[warp]);
    h -= relative;
    if (h < metric) return make_hypothesis<VF_METRIC>(s, h, b[warp]);
    h -= metric;
    if (h < rotation) make_hypothesis<VF_ROTATION_ONLY>(s, h, b[warp]);
}

#endif
