/* SPDX-License-Identifier: MIT */
/* ego, covariance: sandwich estimate of a motion's covariance over clusters of correspondences.
 *
 * In      a motion, its correspondences and normal equations
 * Out     covariance B of the gradient J^T r, from which vf_motion_covariance() makes that of the motion
 * Rule    errors of neighbouring correspondences are alike: the same corner is a key point of several levels and a
 *         track as well, and what shifts its patch is common to all. So gradients are summed by cluster, a square of
 *         the picture, and the spread of these sums gives the covariance (H. White, 1980; K. Liang, S. Zeger, 1986). A
 *         wide picture is wrapped: some clusters are two squares.
 *         The bound of inliers cuts the errors that it is to be found from, and the more correspondences lie near it
 *         the less a motion is held by its inliers, since a small step lets others in: the covariance grows with their
 *         share.
 *         An error of the calibration moves all correspondences alike, which no spread shows: the effect on the
 *         gradient of one standard deviation of each value of the calibration is summed over the inliers, and its
 *         square added. An error that all disparities have in common does show in metric motions (I. Kreso, S. Segvic,
 *         2015): as far as the residuals tell of one beyond its own noise, it counts as a deviation
 * Exact   sums over clusters are of integers, in any order; then single precision in one order
 * Memory  sums, struct vf_ego_spread; VF_EGO_CLUSTERS clusters, which do not last
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

/** 1 for a correspondence whose error, not squared, is within a quarter of the bound from it. */
VF_FN int vf_ego_near_bound(float error) { return error >= 0.5625f && error < 1.5625f; }

/** Steps of the calibration of which effects are summed: one standard deviation of the centre [focal lengths] and of
 *  the focal length [relative]; of disparities 1 px [1/m]. */
VF_FN void vf_ego_calibration_steps(const struct vf_ego_view *s, float step[VF_EGO_VALUES])
{
    const float focal_px = s->geometry.focal_px[0];
#if VFRONT_STEREO
    const float reach = s->geometry.focal_px[1] * s->geometry.pair.baseline_m;
#else
    const float reach = 0.0f;
#endif
    step[VF_EGO_CENTRE_X] = step[VF_EGO_CENTRE_Y] = (float)s->tuning.rig_centre_mpx / (focal_px * 1000.0f);
    step[VF_EGO_FOCAL] = (float)s->tuning.rig_focal_ppm * 1e-6f;
    step[VF_EGO_DISPARITY] = reach > 0.0f ? 1.0f / reach : 0.0f;
}

/** Change of a bearing by a step of a value of the calibration, and relative change of its z. */
VF_FN float vf_ego_change_bearing(int value, float step, const float bearing[3], float change[3])
{
    const float x = value == VF_EGO_CENTRE_X ? bearing[2]
                    : value == VF_EGO_FOCAL  ? bearing[0]
                                             : 0.0f,
                y = value == VF_EGO_CENTRE_Y ? bearing[2]
                    : value == VF_EGO_FOCAL  ? bearing[1]
                                             : 0.0f;
    const float along = x * bearing[0] + y * bearing[1];
    change[0] = (x - along * bearing[0]) * step;
    change[1] = (y - along * bearing[1]) * step;
    change[2] = -along * bearing[2] * step;
    return -along * step;
}

/** Change of a correspondence by a step of a value of the calibration. Depths keep their disparities: a
 *  shorter focal length, and a larger disparity, make them smaller. */
VF_FN struct vf_change vf_ego_calibration_change(int value, float step, const struct vf_correspondence *c)
{
    struct vf_change to;
    const float before = vf_ego_change_bearing(value, step, c->before, to.before),
                now = vf_ego_change_bearing(value, step, c->now, to.now);
    const float focal = value == VF_EGO_FOCAL ? step : 0.0f, inverse = value == VF_EGO_DISPARITY ? step : 0.0f;
    to.range_m = -c->range_m * (before + focal + c->range_m * c->before[2] * inverse);
    to.inverse_1pm = c->inverse_depth_1pm * (now + focal) + c->now[2] * inverse;
    return to;
}

/** Largest effect of one correspondence in fixed point: sums of a lane fit 32 bits, 2^23 for each of 255. */
#define VF_EGO_EFFECT_MAX 8388608.0f
VF_STATIC_ASSERT(VFRONT_CORRESPONDENCES <= 255 * VF_EGO_LANES, "sums of effects fit 32 bits");
VF_FN int32_t vf_ego_fixed(float value)
{
    const float above = value > -VF_EGO_EFFECT_MAX ? value : -VF_EGO_EFFECT_MAX; /* and where it is NaN */
    return vf_round(vf_motion_min(above, VF_EGO_EFFECT_MAX));
}

/** Effects of a step of a value of the calibration on an inlier, in fixed point. */
struct vf_ego_effect {
    int32_t gradient[6], square, product;
};
VF_FN struct vf_ego_effect vf_ego_effect_of(int kind, const struct vf_pose *p, const struct vf_correspondence *c,
                                            int value, float step, const float scale[6])
{
    const struct vf_change change = vf_ego_calibration_change(value, step, c);
    const struct vf_response response = vf_motion_response(kind, p, c, &change);
    struct vf_ego_effect effect;
    for (int k = 0; k < 6; k++) effect.gradient[k] = vf_ego_fixed(response.gradient[k] * scale[k] * (1.0f / 16.0f));
    effect.square = vf_ego_fixed(response.square * 16384.0f);
    effect.product = vf_ego_fixed(response.product * 16384.0f);
    return effect;
}

/** Fixed-point scale of element k of the gradient: 2^20 / root of the diagonal of J^T J. */
VF_FN float vf_ego_gradient_scale(const float sums[VF_TERMS], int k)
{
    const float square = sums[vf_motion_diagonal(k)];
    return square > 0.0f ? 1048576.0f / sqrtf(square) : 0.0f;
}

/** Gradient of an inlier in fixed point. */
VF_FN void vf_ego_scaled_gradient(int kind, const struct vf_pose *p, const struct vf_correspondence *c,
                                  const float scale[6], int32_t gradient[6])
{
    float terms[VF_TERMS];
    for (int k = 0; k < VF_TERMS; k++) terms[k] = 0.0f;
    vf_motion_terms(kind, p, c, terms);
    for (int k = 0; k < 6; k++) gradient[k] = vf_round(terms[VF_TERM_G + k] * scale[k]);
}

/** Number of unknowns of a kind. */
VF_FN uint32_t vf_ego_unknowns(int kind) { return kind == VF_METRIC ? 6 : kind == VF_ROTATION_ONLY ? 3 : 5; }

/** Variance of the inliers' residuals, in units of their bounds. */
VF_FN float vf_ego_variance(int kind, const struct vf_normal_equations *sum)
{
    const uint32_t unknowns = vf_ego_unknowns(kind);
    return sum->terms[VF_TERM_E] / (float)(sum->residuals > unknowns ? sum->residuals - unknowns : 1);
}

/** Factor of the covariance by the correspondences near the bound. Errors of n residuals each, whose length has the
 *  density d at the bound, hold a motion by 1 - d / n of what their number says, at least VF_EGO_SLOPE_MIN; its square
 *  belongs to the motion's covariance (P. Huber, 1964, for a bound that cuts). The square of that, since errors just
 *  beyond the bound vary like those within: of the powers 2 to 4, on sequences with ground truth, each left out in
 *  turn, 4 was the best. */
#define VF_EGO_SLOPE_MIN 0.25f
VF_FN float vf_ego_bound_factor(uint32_t residuals, int32_t edge)
{
    const float slope = 1.0f - 2.0f * (float)edge / (float)(residuals > 0 ? residuals : 1);
    const float least = slope > VF_EGO_SLOPE_MIN ? slope : VF_EGO_SLOPE_MIN, square = least * least;
    return 1.0f / (square * square);
}

/** Element k of the effect of a step of a value of the calibration on the gradient. */
VF_FN float vf_ego_effect_sum(const struct vf_ego_spread *spread, const float scale[6], int value, int k)
{
    return scale[k] > 0.0f ? (float)spread->effect[value][k] * 16.0f / scale[k] : 0.0f;
}

/** Element (i, j), i <= j, of the gradient's covariance, without the part of disparities. Small-sample correction, as
 *  the motion fits its own errors, those of few clusters more than of many: one unknown per cluster of the covariance
 *  of independent errors. */
VF_FN float vf_ego_gradient_covariance(int kind, const struct vf_normal_equations *sum, const float scale[6],
                                       const struct vf_ego_spread *spread, int i, int j)
{
    if (!(scale[i] > 0.0f && scale[j] > 0.0f)) return 0.0f;
    const float observed = (float)spread->products[vf_motion_index(i, j)] / scale[i] / scale[j];
    const float independent = vf_ego_variance(kind, sum) * sum->terms[vf_motion_index(i, j)] *
                              (float)vf_ego_unknowns(kind) / (float)(spread->clusters > 0 ? spread->clusters : 1);
    float calibration = 0.0f;
    for (int n = 0; n < VF_EGO_DISPARITY; n++)
        calibration += vf_ego_effect_sum(spread, scale, n, i) * vf_ego_effect_sum(spread, scale, n, j);
    return (observed + independent) * vf_ego_bound_factor(sum->residuals, spread->edge) + calibration;
}

/** Error that all disparities have in common, as a metric motion knows it: change of the motion by 1 px, and variance
 *  [px^2]. */
struct vf_ego_offset {
    float change[6], variance;
    float found_px, weight; /* the error as this frame shows it [px]; its information [1/px^2], 0: none */
};

/** Largest deviation of disparities that residuals can tell of [px]. */
#define VF_EGO_OFFSET_MAX 1.0f

/** Error of all disparities that earlier frames have shown and that was not taken off: its square, less that of two
 *  standard deviations of its noise [px^2]. That it may be shown too small, VF_EGO_DISPARITY_SHARE, makes it no
 *  less. */
VF_FN float vf_ego_known_offset(const struct vf_ego_view *s)
{
    if (!s->ingest->params.frame) return 0.0f;
    const struct vf_rig_estimate *e = &s->ego->disparity[s->parity ^ 1];
    const float left = e->value - vf_rig_correction(e, s->tuning.rig_offset), sigma = vf_rig_sigma_px(e);
    return left * left - 4.0f * sigma * sigma;
}

/** Estimate the error of all disparities beside the motion, by one Gauss-Newton step of both from the motion. Its
 *  square, less that of two standard deviations of its noise, is added to the variance that the tuning gives, or what
 *  earlier frames have shown where that is more. L: Cholesky factor of the motion's normal equations. */
VF_FN struct vf_ego_offset vf_ego_find_offset(const struct vf_ego_view *s, int kind,
                                              const struct vf_normal_equations *sum, const float scale[6],
                                              const struct vf_ego_spread *spread, float L[6][6])
{
    struct vf_ego_offset offset;
    const float sigma = (float)s->tuning.rig_disparity_mpx * 0.001f, square = (float)spread->square * (1.0f / 16384.0f);
    float gradient[6], information = square, score = (float)spread->product * (1.0f / 16384.0f);
    for (int k = 0; k < 6; k++) gradient[k] = vf_ego_effect_sum(spread, scale, VF_EGO_DISPARITY, k);
    vf_motion_solve(L, gradient, offset.change);
    for (int k = 0; k < 6; k++) {
        information -= gradient[k] * offset.change[k];
        score -= sum->terms[VF_TERM_G + k] * offset.change[k];
    }
    const int known = kind == VF_METRIC && information > 1e-3f * square; /* the rest is rounding */
    const float found = known ? score / information : 0.0f,
                beyond = found * found - (known ? 4.0f * vf_ego_variance(kind, sum) / information : 0.0f),
                known_px2 = vf_ego_known_offset(s), more = beyond > known_px2 ? beyond : known_px2,
                least = more > 0.0f ? more : 0.0f;
    offset.found_px = found;
    offset.weight = known ? information / vf_ego_variance(kind, sum) : 0.0f;
    offset.variance = kind == VF_METRIC ? sigma * sigma + vf_motion_min(least, VF_EGO_OFFSET_MAX * VF_EGO_OFFSET_MAX)
                                        : 0.0f;
    return offset;
}

/** Element (i, j) of a motion's covariance. element: without the part of disparities. */
VF_FN float vf_ego_covariance_element(const struct vf_ego_offset *offset, int i, int j, float element)
{
    return element + offset->variance * offset->change[i] * offset->change[j];
}

#endif
