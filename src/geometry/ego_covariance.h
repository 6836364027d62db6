/* SPDX-License-Identifier: MIT */
/* ego, covariance: sandwich estimate of a motion's covariance over clusters of correspondences.
 *
 * In      a motion, its correspondences and normal equations
 * Out     covariance B of the gradient J^T r, from which vf_motion_covariance() makes that of the motion
 * Rule    errors of neighbouring correspondences are alike: the same corner is a key point of several levels and a
 *         track as well, and what shifts its patch is common to all. So gradients are summed by cluster, a square of
 *         the picture, and the spread of these sums gives the covariance (H. White, 1980; K. Liang, S. Zeger, 1986). A
 *         wide picture is wrapped: some clusters are two squares
 * Exact   sums over clusters are of integers, in any order; then single precision in one order
 * Memory  none that lasts: VF_EGO_CLUSTERS clusters
 */
#ifndef VF_EGO_COVARIANCE_H
#define VF_EGO_COVARIANCE_H

#include "ego.h"

#define VF_EGO_CLUSTER_PX 32.0f /* side of a cluster at the focal length of camera 0 */
#define VF_EGO_CLUSTERS_X 32
#define VF_EGO_CLUSTERS_Y 16
#define VF_EGO_CLUSTERS (VF_EGO_CLUSTERS_X * VF_EGO_CLUSTERS_Y)

struct vf_cluster {
    int32_t sum[6]; /* gradient in 2^-20 of the root of its scale; 8,192 inliers at most make 2^27 */
    int32_t inliers;
};

/** Cluster of a correspondence, by its current bearing. */
VF_FN int32_t vf_ego_cluster(const struct vf_ego_view *s, const struct vf_correspondence *c)
{
    const float scale = s->geometry.focal_px[0] / VF_EGO_CLUSTER_PX;
    const int32_t x = vf_round(scale * c->now[0]), y = vf_round(scale * c->now[1]);
    return (y & (VF_EGO_CLUSTERS_Y - 1)) * VF_EGO_CLUSTERS_X + (x & (VF_EGO_CLUSTERS_X - 1));
}

/** Fixed-point scales of the gradient: 2^20 / root of the diagonal of J^T J. */
VF_FN void vf_ego_gradient_scales(const float sums[VF_TERMS], float scale[6])
{
    for (int k = 0; k < 6; k++)
        scale[k] = sums[vf_motion_diagonal(k)] > 0.0f ? 1048576.0f / sqrtf(sums[vf_motion_diagonal(k)]) : 0.0f;
}

/** Gradient of one correspondence in fixed point. Returns 0 for an outlier. */
VF_FN int vf_ego_scaled_gradient(int kind, const struct vf_pose *p, const struct vf_correspondence *c,
                                 const float scale[6], int32_t gradient[6])
{
    float terms[VF_TERMS];
    if (!vf_motion_inlier_score(vf_motion_error(kind, p, c))) return 0;
    for (int k = 0; k < VF_TERMS; k++) terms[k] = 0.0f;
    vf_motion_terms(kind, p, c, terms);
    for (int k = 0; k < 6; k++) gradient[k] = vf_round(terms[VF_TERM_G + k] * scale[k]);
    return 1;
}

/** Number of unknowns of a kind. */
VF_FN uint32_t vf_ego_unknowns(int kind) { return kind == VF_METRIC ? 6 : kind == VF_ROTATION_ONLY ? 3 : 5; }

/** Variance of the inliers' residuals, in units of their bounds. */
VF_FN float vf_ego_variance(int kind, const struct vf_normal_equations *sum)
{
    const uint32_t unknowns = vf_ego_unknowns(kind);
    return sum->terms[VF_TERM_E] / (float)(sum->residuals > unknowns ? sum->residuals - unknowns : 1);
}

/** Element (i, j), i <= j, of the gradient's covariance. product: sum over all clusters of sum[i] * sum[j].
 *  Small-sample correction, as the motion fits its own errors, those of few clusters more than of many: one unknown per
 *  cluster of the covariance of independent errors. */
VF_FN float vf_ego_gradient_covariance(int kind, const struct vf_normal_equations *sum, const float scale[6],
                                       int32_t clusters, int i, int j, int64_t product)
{
    const float observed = scale[i] > 0.0f && scale[j] > 0.0f ? (float)product / scale[i] / scale[j] : 0.0f;
    const float independent = vf_ego_variance(kind, sum) * sum->terms[vf_motion_index(i, j)];
    return observed + independent * (float)vf_ego_unknowns(kind) / (float)(clusters > 0 ? clusters : 1);
}

#endif
