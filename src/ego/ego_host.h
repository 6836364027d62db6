/* SPDX-License-Identifier: MIT */
/* ego, host form: declarations shared by its files. ego.c lists the correspondences and runs the steps.
 * ego_hypothesis.c makes and refines hypotheses. ego_sums.c and ego_coverage.c have the loops over correspondences.
 * ego_assess.c assesses the best motions. */
#ifndef VF_EGO_HOST_H
#define VF_EGO_HOST_H

#include "ego.h"

#if VFRONT_EGO

#include "motion_check.h"
#include "ego_assess.h"
#include "ego_covariance.h"
#include "ego_hypothesis.h"
#include "ego_list.h"
#include "image/ingest.h"
#include "tracking/match.h"
#include "tracking/refill.h"

/** Evenly spaced subset of a list, copied to contiguous memory: at most VF_EGO_LANES correspondences. */
struct vf_ego_subset {
    int32_t count;
    float before[3][VF_EGO_LANES], now[3][VF_EGO_LANES], weight[VF_EGO_LANES];
    float range_m[VF_EGO_LANES], range_sigma_m[VF_EGO_LANES];
    float inverse_depth_1pm[VF_EGO_LANES], inverse_depth_sigma_1pm[VF_EGO_LANES];
};
void vf_ego_choose_subset(const struct vf_ego_view *s, int search, int32_t most, struct vf_ego_subset *subset);

/** Pointers to the arrays of a list or of a subset, from some correspondence on, for vectorised loops. */
struct vf_ego_columns {
    const float *before[3], *now[3], *weight, *range_m, *range_sigma_m, *inverse_depth_1pm, *inverse_depth_sigma_1pm;
};
#define VF_EGO_COLUMNS(of, first)                                                                                      \
    {                                                                                                                  \
        {(of)->before[0] + (first), (of)->before[1] + (first), (of)->before[2] + (first)},                             \
            {(of)->now[0] + (first), (of)->now[1] + (first), (of)->now[2] + (first)}, (of)->weight + (first),          \
            (of)->range_m + (first), (of)->range_sigma_m + (first), (of)->inverse_depth_1pm + (first),                 \
            (of)->inverse_depth_sigma_1pm + (first)                                                                    \
    }

/** Number of neighbouring lanes (partial sums) that are added to each other first; the kernel adds them in a warp. */
#define VF_EGO_GROUP 32

/** Pointers to VF_EGO_GROUP correspondences of a list of `count`, from index `first`. Entries beyond the last
 *  correspondence are undefined. end: scratch, used if VF_EGO_GROUP correspondences would exceed the arrays of the
 *  list. */
struct vf_ego_columns vf_ego_columns_of(const struct vf_correspondences *list, int32_t first, int32_t count,
                                        struct vf_ego_subset *end);

/** Reads correspondence i from its arrays. */
static inline struct vf_correspondence vf_ego_get(const struct vf_ego_columns *of, int32_t i)
{
    struct vf_correspondence c;
    VF_UNROLL_FULL
    for (int k = 0; k < 3; k++) {
        c.before[k] = of->before[k][i];
        c.now[k] = of->now[k][i];
    }
    c.weight = of->weight[i];
    c.range_m = of->range_m[i];
    c.range_sigma_m = of->range_sigma_m[i];
    c.inverse_depth_1pm = of->inverse_depth_1pm[i];
    c.inverse_depth_sigma_1pm = of->inverse_depth_sigma_1pm[i];
    return c;
}

/** Returns `value` if all bits of the mask are 1, 0 if all are 0; without a branch. */
static inline float vf_ego_masked(uint32_t mask, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits &= mask;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/** Scores of a motion: sums of inlier scores over a subset. */
struct vf_ego_scores {
    int32_t own, /* score with the normal inlier bound */
        wide;    /* score with an inlier bound three times as wide; metric motions only */
};
struct vf_ego_scores vf_ego_score(int kind, const struct vf_ego_subset *subset, const struct vf_pose *pose);

/** Normal equations of a motion over all correspondences that its search uses. */
struct vf_normal_equations vf_ego_sum_motion(const struct vf_ego_view *s, int search, const struct vf_pose *pose);
/** Normal equations of a motion over a subset. */
struct vf_normal_equations vf_ego_sum_subset(int search, const struct vf_ego_subset *subset,
                                             const struct vf_pose *pose);

/** Normal equations of a plane n over the inliers of a relative motion, in an evenly spaced subset of `most`
 *  correspondences. The member `inliers` counts correspondences within the error bound of the plane. all: 1: the
 *  equations include correspondences beyond that bound. */
struct vf_normal_equations vf_ego_sum_plane(const struct vf_ego_view *s, const struct vf_pose *pose, const float n[3],
                                            int32_t most, int all);

/** Computes motions of a kind from a minimal sample of `size` correspondences. Returns their number, at most 10. */
int vf_ego_minimal(const struct vf_ego_view *s, int kind, int32_t size,
                   const struct vf_correspondence sample[VF_EGO_SAMPLE_MAX], struct vf_pose pose[10]);

/** Makes and scores the hypotheses of a kind of motion, and refines the best. Metric hypotheses are refined with the
 *  normal and with the wide inlier bound. Requires the lists of correspondences. */
void vf_ego_make_hypotheses(const struct vf_ego_view *s, int kind);

/** Computes the sums over correspondences for the covariance of the best motion of a search. The gradients of inliers
 *  are summed by image cluster. */
void vf_ego_sum_clusters(const struct vf_ego_view *s, int search, const struct vf_pose *pose, const float scale[6],
                         struct vf_ego_cluster_sums *cluster_sums);

/** Assesses the best refined motions and writes the reported ones. Requires the hypotheses of all kinds. */
void vf_ego_assess(const struct vf_ego_view *s);

#endif
#endif
