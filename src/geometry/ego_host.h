/* SPDX-License-Identifier: MIT */
/* ego, host form: what its files share. ego.c lists the correspondences and runs the steps, ego_hypothesis.c makes and
 * refines hypotheses, ego_sums.c and ego_spread.c have the loops over many correspondences, ego_assess.c assesses the
 * best motions. */
#ifndef VF_EGO_HOST_H
#define VF_EGO_HOST_H

#include "ego_agreement.h"
#include "ego_assess.h"
#include "ego_covariance.h"
#include "ego_hypothesis.h"
#include "ego_list.h"
#include "image/ingest.h"
#include "tracking/match.h"
#include "tracking/refill.h"

#if VFRONT_EGO

/** Even subset of a list, side by side in the cache: VF_EGO_LANES correspondences at most. */
struct vf_ego_subset {
    int32_t count;
    float before[3][VF_EGO_LANES], now[3][VF_EGO_LANES], weight[VF_EGO_LANES];
    float range_m[VF_EGO_LANES], range_sigma_m[VF_EGO_LANES];
    float inverse_depth_1pm[VF_EGO_LANES], inverse_depth_sigma_1pm[VF_EGO_LANES];
};
void vf_ego_choose_subset(const struct vf_ego_view *s, int search, int32_t most, struct vf_ego_subset *subset);

/** Columns of correspondences side by side, of a list or of a subset: for loops that become vector code. */
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

/** Lanes that are added first, a warp of the kernel. */
#define VF_EGO_GROUP 32

/** Columns of correspondences first .. first + VF_EGO_GROUP of a list of `count`, of which those behind the last may
 *  hold anything. end: scratch, for the end of a full list, behind which there is nothing that loops might read. */
struct vf_ego_columns vf_ego_columns_of(const struct vf_correspondences *list, int32_t first, int32_t count,
                                        struct vf_ego_subset *end);

/** Correspondence i of columns. */
static inline struct vf_correspondence vf_ego_get(const struct vf_ego_columns *of, int32_t i)
{
    struct vf_correspondence c;
    VF_PEEL
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

/** A value where all bits of the mask are 1, 0 where they are 0. */
static inline float vf_ego_masked(uint32_t mask, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits &= mask;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/** Score of a motion: sum of inlier scores over the subset; of a metric motion also that at the wide bound. */
struct vf_ego_scores {
    int32_t own, wide;
};
struct vf_ego_scores vf_ego_score(int kind, const struct vf_ego_subset *subset, const struct vf_pose *pose);

/** Normal equations of a motion over all correspondences of its search, and over a subset of them. */
struct vf_normal_equations vf_ego_sum_motion(const struct vf_ego_view *s, int search, const struct vf_pose *pose);
struct vf_normal_equations vf_ego_sum_subset(int search, const struct vf_ego_subset *subset,
                                             const struct vf_pose *pose);

/** Normal equations of a plane n over the inliers of a relative motion among all correspondences, or a subset of
 *  `most`. Their `inliers` are those within the bound of the plane; all: 1, the equations are of the others, too. */
struct vf_normal_equations vf_ego_sum_plane(const struct vf_ego_view *s, const struct vf_pose *pose, const float n[3],
                                            int32_t most, int all);

/** Motions of a kind from a minimal sample: at most 10. Returns their number. */
int vf_ego_minimal(const struct vf_ego_view *s, int kind, int32_t size,
                   const struct vf_correspondence sample[VF_EGO_SAMPLE_MAX], struct vf_pose pose[10]);

/** Make and score the hypotheses of a kind, and refine the best of them, of metric ones those of both searches. The
 *  lists must be there. */
void vf_ego_make_hypotheses(const struct vf_ego_view *s, int kind);

/** Sum the gradients of the inliers of the best motion of a search by cluster, and what else its covariance needs. */
void vf_ego_fill_spread(const struct vf_ego_view *s, int search, const struct vf_pose *pose, const float scale[6],
                        struct vf_ego_spread *spread);

/** Assess the best refined motions and fill in what is reported. The hypotheses of all kinds must be there. */
void vf_ego_assess(const struct vf_ego_view *s);

#endif
#endif
