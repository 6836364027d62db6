/* SPDX-License-Identifier: MIT */
/* ego, covariance: sandwich estimate of a motion's covariance over clusters of correspondences.
 *
 * In      a motion, its correspondences and normal equations
 * Out     covariance B of the gradient J^T r, from which vf_motion_covariance() computes that of the motion
 * Rule    - Errors of neighbouring correspondences are correlated: one corner may be a key point of several levels and
 *           a track. Gradients are therefore summed by cluster, a square of the image. The products of these sums give
 *           B (H. White, 1980; K. Liang, S. Zeger, 1986). The grid of squares repeats in a wide image, so that a
 *           cluster may consist of two distant squares
 *         - The inlier bound truncates the errors, and a small change of the motion changes which correspondences are
 *           inliers. The covariance is therefore multiplied by a factor that grows with the share of correspondences
 *           near the bound
 *         - A calibration error shifts all correspondences together, so that the scatter of their gradients does not
 *           show it. The derivative of the gradient by each calibration parameter, times its standard deviation, is
 *           summed over the inliers. The products of the elements of this sum are added to B
 *         - Sums over few clusters vary: a factor
 *         - Where another refined motion scores about as well as the best, either may be the true one. Their difference
 *           is then added as a standard deviation. The two motions that explain a plane differ by degrees
 *         - A common disparity offset is observable in metric motions (I. Kreso, S. Segvic, 2015). The square of the
 *           estimated offset, as far as significant, is added as a variance of the offset
 * Exact   sums over clusters are of integers, in any order; then single precision in one order
 * Memory  sums, struct vf_ego_cluster_sums; VF_EGO_CLUSTERS clusters, as scratch
 */
#ifndef VF_EGO_COVARIANCE_H
#define VF_EGO_COVARIANCE_H

#include "ego.h"

#define VF_EGO_CLUSTER_PX 32.0f /* side of a cluster, a square of the image of camera 0 [px] */
#define VF_EGO_CLUSTERS_X 32
#define VF_EGO_CLUSTERS_Y 16
#define VF_EGO_CLUSTERS (VF_EGO_CLUSTERS_X * VF_EGO_CLUSTERS_Y)

struct vf_cluster {
    /* sum of gradients J^T r in fixed point, times vf_ego_gradient_scale(); 8,192 inliers give at most 2^27 */
    int32_t sum[6];
    int32_t inliers;
};

/** Index of the cluster of a correspondence, from its current bearing. */
VF_FN int32_t vf_ego_cluster(const struct vf_ego_view *s, const struct vf_correspondence *c)
{
    const float scale = s->geometry.focal_px[0] / VF_EGO_CLUSTER_PX;
    const int32_t x = vf_round(scale * c->now[0]), y = vf_round(scale * c->now[1]);
    return (y & (VF_EGO_CLUSTERS_Y - 1)) * VF_EGO_CLUSTERS_X + (x & (VF_EGO_CLUSTERS_X - 1));
}

/** 1 if an error is 0.75 to 1.25 times the inlier bound. error: squared, in units of the bound. */
VF_FN int vf_ego_near_bound(float error) { return error >= 0.5625f && error < 1.5625f; }

/** Writes the step of each calibration parameter whose effect on a motion is computed. Image centre: one standard
 *  deviation [focal lengths]. Focal length: one standard deviation, relative. Disparity: 1 px, as a change of inverse
 *  depth [1/m]. */
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

/** Computes the change of a unit bearing by a step of the calibration parameter `value`. Returns the relative change of
 *  its z. */
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

/** Changes of the bearings, the distance and the inverse depth of a correspondence by a step of the calibration
 *  parameter `value`. Measured disparities do not change. A shorter focal length (positive step) or a larger disparity
 *  offset therefore reduces depths. */
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

/** Upper limit of the effect of a calibration step on one correspondence, in fixed point: 2^23. The sum of a lane then
 *  fits 32 bits, because a lane has at most 255 correspondences. */
#define VF_EGO_EFFECT_MAX 8388608.0f
VF_STATIC_ASSERT(VFRONT_CORRESPONDENCES <= 255 * VF_EGO_LANES, "sums of effects fit 32 bits");
/** Rounds an effect to an integer, clamped to +-VF_EGO_EFFECT_MAX. */
VF_FN int32_t vf_ego_fixed(float value)
{
    const float above = value > -VF_EGO_EFFECT_MAX ? value : -VF_EGO_EFFECT_MAX; /* a NaN becomes the lower limit */
    return vf_round(vf_motion_min(above, VF_EGO_EFFECT_MAX));
}

/** Effects of a step of a calibration parameter on one inlier with residuals r and Jacobian J, in fixed point. */
struct vf_ego_effect {
    int32_t gradient[6], /* change of J^T r, times vf_ego_gradient_scale() / 16 */
        square,          /* squared norm of the change of r, times 2^14 */
        product;         /* dot product of r and its change, times 2^14 */
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

/** Fixed-point scale of element k of the gradient J^T r: 2^20 / root of diagonal element k of J^T J. sums: normal
 *  equations. */
VF_FN float vf_ego_gradient_scale(const float sums[VF_TERMS], int k)
{
    const float square = sums[vf_motion_diagonal(k)];
    return square > 0.0f ? 1048576.0f / sqrtf(square) : 0.0f;
}

/** Gradient J^T r of one inlier in fixed point. scale: vf_ego_gradient_scale() of each element. */
VF_FN void vf_ego_scaled_gradient(int kind, const struct vf_pose *p, const struct vf_correspondence *c,
                                  const float scale[6], int32_t gradient[6])
{
    float terms[VF_TERMS];
    for (int k = 0; k < VF_TERMS; k++) terms[k] = 0.0f;
    vf_motion_terms(kind, p, c, terms);
    for (int k = 0; k < 6; k++) gradient[k] = vf_round(terms[VF_TERM_G + k] * scale[k]);
}

/** Number of unknowns of a kind of motion. */
VF_FN uint32_t vf_ego_unknowns(int kind) { return kind == VF_METRIC ? 6 : kind == VF_ROTATION_ONLY ? 3 : 5; }

/** Variance of the residuals of a motion's inliers, in units of the squared inlier bound. */
VF_FN float vf_ego_variance(int kind, const struct vf_normal_equations *sum)
{
    const uint32_t unknowns = vf_ego_unknowns(kind);
    return sum->terms[VF_TERM_E] / (float)(sum->residuals > unknowns ? sum->residuals - unknowns : 1);
}

/** Least value of 1 - d / n in vf_ego_bound_factor(): bounds that factor to 256. */
#define VF_EGO_BOUND_SLOPE_MIN 0.25f
/** Factor of the covariance due to correspondences near the inlier bound: 1 / (1 - d / n)^4. n: number of residuals; d:
 *  number of errors near the bound per unit of the bound, 2 `edge`. A truncating M-estimator (P. Huber, 1964) has the
 *  second power. The fourth power agreed best with sequences with ground truth, because errors just beyond the bound
 *  vary as well. */
VF_FN float vf_ego_bound_factor(uint32_t residuals, int32_t edge)
{
    const float slope = 1.0f - 2.0f * (float)edge / (float)(residuals > 0 ? residuals : 1);
    const float least = slope > VF_EGO_BOUND_SLOPE_MIN ? slope : VF_EGO_BOUND_SLOPE_MIN, square = least * least;
    return 1.0f / (square * square);
}

/** Factor of the covariance due to few clusters: 1 + 20 / clusters. It makes of the 99.9 % bound of the chi-squared
 *  distribution about that of Hotelling's (1931), of five unknowns and as many samples as clusters. */
#define VF_EGO_FEW_CLUSTERS 20.0f
VF_FN float vf_ego_few_factor(int32_t clusters) { return 1.0f + VF_EGO_FEW_CLUSTERS / (float)vf_max(clusters, 1); }

/** Change of element k of the gradient J^T r by a step of the calibration parameter `value`, summed over the
 *  inliers. */
VF_FN float vf_ego_effect_sum(const struct vf_ego_cluster_sums *cluster_sums, const float scale[6], int value, int k)
{
    return scale[k] > 0.0f ? (float)cluster_sums->effect[value][k] * 16.0f / scale[k] : 0.0f;
}

/** Element (i, j), i <= j, of the covariance of the gradient J^T r, without the effect of a disparity offset. The fit
 *  makes the errors too small. A small-sample correction compensates this: the covariance of independent errors, times
 *  unknowns / clusters. */
VF_FN float vf_ego_gradient_covariance(int kind, const struct vf_normal_equations *sum, const float scale[6],
                                       const struct vf_ego_cluster_sums *cluster_sums, int i, int j)
{
    if (!(scale[i] > 0.0f && scale[j] > 0.0f)) return 0.0f;
    const float observed = (float)cluster_sums->products[vf_motion_index(i, j)] / scale[i] / scale[j];
    const float independent = vf_ego_variance(kind, sum) * sum->terms[vf_motion_index(i, j)] *
                              (float)vf_ego_unknowns(kind) /
                              (float)(cluster_sums->clusters > 0 ? cluster_sums->clusters : 1);
    float calibration = 0.0f;
    for (int n = 0; n < VF_EGO_DISPARITY; n++)
        calibration += vf_ego_effect_sum(cluster_sums, scale, n, i) * vf_ego_effect_sum(cluster_sums, scale, n, j);
    return (observed + independent) * vf_ego_bound_factor(sum->residuals, cluster_sums->edge) *
               vf_ego_few_factor(cluster_sums->clusters) +
           calibration;
}

/** Common offset of all disparities, and its effect on a metric motion. */
struct vf_ego_offset {
    float change[6],   /* change of the motion per px of offset */
        variance;      /* variance of the offset that adds to the covariance of the motion [px^2] */
    float measured_px, /* offset measured in this frame [px] */
        weight;        /* information of measured_px [1/px^2]; 0: not measured */
};

/** Upper limit of the significant disparity offset, whose square adds to the variance of the offset [px]. */
#define VF_EGO_OFFSET_MAX 1.0f

/** Significant part of the disparity offset that earlier frames measured and that is not corrected [px^2]: its square,
 *  minus the square of two standard deviations. A possible underestimate must not reduce the result, so the standard
 *  deviation excludes VF_EGO_DISPARITY_SHARE. */
VF_FN float vf_ego_known_offset(const struct vf_ego_view *s)
{
    if (!s->ingest->params.frame) return 0.0f;
    const struct vf_rig_estimate *e = &s->ego->disparity[s->parity ^ 1];
    const float left = e->value - vf_rig_correction(e, s->tuning.rig_offset), sigma = vf_rig_sigma_px(e);
    return left * left - 4.0f * sigma * sigma;
}

/** Estimates the common disparity offset together with the motion, by one Gauss-Newton step from the motion. The
 *  variance of the offset is that of the tuning (rig_disparity_mpx) plus the significant part of the squared offset.
 *  That part is the estimate's square minus the square of two standard deviations, or vf_ego_known_offset() if larger.
 *  L: Cholesky factor of the motion's normal equations. */
VF_FN struct vf_ego_offset vf_ego_find_offset(const struct vf_ego_view *s, int kind,
                                              const struct vf_normal_equations *sum, const float scale[6],
                                              const struct vf_ego_cluster_sums *cluster_sums, float L[6][6])
{
    struct vf_ego_offset offset;
    const float sigma = (float)s->tuning.rig_disparity_mpx * 0.001f,
                square = (float)cluster_sums->square * (1.0f / 16384.0f);
    float gradient[6], information = square, score = (float)cluster_sums->product * (1.0f / 16384.0f);
    for (int k = 0; k < 6; k++) gradient[k] = vf_ego_effect_sum(cluster_sums, scale, VF_EGO_DISPARITY, k);
    vf_motion_solve(L, gradient, offset.change);
    for (int k = 0; k < 6; k++) {
        information -= gradient[k] * offset.change[k];
        score -= sum->terms[VF_TERM_G + k] * offset.change[k];
    }
    const int known = kind == VF_METRIC && information > 1e-3f * square; /* smaller information is rounding error */
    const float found = known ? score / information : 0.0f,
                beyond = found * found - (known ? 4.0f * vf_ego_variance(kind, sum) / information : 0.0f),
                known_px2 = vf_ego_known_offset(s), more = beyond > known_px2 ? beyond : known_px2,
                least = more > 0.0f ? more : 0.0f;
    offset.measured_px = found;
    offset.weight = known ? information / vf_ego_variance(kind, sum) : 0.0f;
    offset.variance = kind == VF_METRIC ? sigma * sigma + vf_motion_min(least, VF_EGO_OFFSET_MAX * VF_EGO_OFFSET_MAX)
                                        : 0.0f;
    return offset;
}

/** Lead in score, per root of the number of correspondences, with which the best motion is the true one without doubt:
 *  two standard deviations of a sum of scores, of which each varies by a quarter of the largest. */
#define VF_EGO_LEAD (VF_MOTION_SCORE_MAX / 2)

/** Refined motion that may be the true one instead of the best: the second motion of a plane, or any other one where
 *  parallax is small. */
struct vf_ego_rival {
    float change[6], /* from the best motion to this one: translation, rotation vector */
        weight;      /* 1: of equal score; 0: the best is the true one without doubt */
};
/** Compares another refined motion with the best one. count: number of correspondences. */
VF_FN struct vf_ego_rival vf_ego_rival_of(const struct vf_refined *best, const struct vf_refined *other, uint32_t count)
{
    struct vf_ego_rival rival;
    const float *to = other->pose.R, *from = best->pose.R;
    for (int k = 0; k < 3; k++) {
        const float *a = to + 3 * ((k + 2) % 3), *b = from + 3 * ((k + 1) % 3), /* sine of the rotation about axis k */
                                                     *c = to + 3 * ((k + 1) % 3), *d = from + 3 * ((k + 2) % 3);
        rival.change[k] = other->pose.t[k] - best->pose.t[k];
        rival.change[3 + k] = 0.5f * (vf_dot(a, b) - vf_dot(c, d));
    }
    const float doubtless = (float)VF_EGO_LEAD * sqrtf((float)count),
                lead = (float)(best->sum.score - other->sum.score);
    rival.weight = other->sum.score > 0 && lead < doubtless ? 1.0f - lead / doubtless : 0.0f;
    return rival;
}

/** Element (i, j) of the covariance due to the refined motions that may be the true one. */
VF_FN float vf_ego_rival_element(const struct vf_ego_rival rival[VF_EGO_REFINED], int i, int j)
{
    float sum = 0.0f;
    for (int k = 0; k < VF_EGO_REFINED; k++) sum += rival[k].weight * rival[k].change[i] * rival[k].change[j];
    return sum;
}

/** Element (i, j) of a motion's covariance, including the effect of the disparity offset. element: its value without
 *  that effect. */
VF_FN float vf_ego_covariance_element(const struct vf_ego_offset *offset, int i, int j, float element)
{
    return element + offset->variance * offset->change[i] * offset->change[j];
}

#endif
