/* SPDX-License-Identifier: MIT */
/* motion: error of a correspondence under a camera motion, its normal equations, Gauss-Newton step and covariance of a
 * motion.
 *
 * In      a motion of one of three kinds; correspondences: bearings of camera 0 in the previous and the current frame;
 *         for metric motions also distances with standard deviations
 * Out     squared error in units of its bound (inlier: below 1); inlier score; normal equations; updated motion; 6x6
 *         covariance
 * Rule    - Rotation only: chord between the rotated previous bearing and the current one
 *         - Relative (translation of unknown length): Sampson error of the epipolar constraint (P. Sampson, 1982), the
 *           angular error of the best triangulated point to first order. If that point is behind a camera, the point at
 *           infinity is the best: half of the squared rotation error
 *         - Metric (translation in metres): a point of known distance is transformed into the current frame. Residuals:
 *           its bearing and, if measured again, its inverse distance. The error of the previous distance affects both
 *           residuals; it is an additional unknown of each point, eliminated in closed form
 *         - The bound on an angle is a number of pixels over the focal length. It is compared by the sine, because 1 -
 *           cos(angle) loses its digits in single precision
 * Exact   single precision in one order; roots and quotients correctly rounded. No branches, so that loops over
 *         correspondences are vectorised
 * Memory  none of its own
 */
#ifndef VF_MOTION_H
#define VF_MOTION_H

#include "math/vector.h"
#include "math/pose.h"

/** Kinds of motion: relative (5 unknowns), rotation only (3), metric (6). VF_KINDS: their number. */
enum vf_motion_kind { VF_RELATIVE, VF_ROTATION_ONLY, VF_METRIC, VF_KINDS };

/** Correspondence: a point that camera 0 sees in the previous and in the current frame. */
struct vf_correspondence {
    float before[3], now[3];      /* unit bearings, previous and current */
    float weight;                 /* 1 / sine of the largest angular error of an inlier */
    float range_m, range_sigma_m; /* distance in the previous frame and its standard deviation [m]; 0: unknown */
    /* 1 / distance in the current frame and its standard deviation [1/m]; sigma 0: unknown */
    float inverse_depth_1pm, inverse_depth_sigma_1pm;
};

/** Inlier bound of an error [standard deviations]. The standard deviation of the angle of a correspondence is therefore
 *  1 / (weight * VF_MOTION_SIGMAS). */
#define VF_MOTION_SIGMAS 3.0f

/** Number of terms of the normal equations of a motion: 21 of the upper triangle of J^T J, row by row; 6 of J^T r; 1 of
 *  r^T r. Unknowns: translation, then rotation vector. */
#define VF_TERMS 28
#define VF_TERM_G 21 /* index of the first of the 6 terms of J^T r, the gradient */
#define VF_TERM_E 27 /* index of the term r^T r, the squared error in units of the squared inlier bound */

/** Normal equations of a motion summed over its correspondences: J^T J, J^T r, squared error, score, inliers. */
struct vf_normal_equations {
    float terms[VF_TERMS];
    int32_t score; /* sum of the scores of the inliers, vf_motion_inlier_score() */
    uint32_t inliers;
    uint32_t residuals; /* number of residuals of all inliers */
};

/** Upper limit of the squared error of a correspondence, so that sums stay finite. */
#define VF_MOTION_ERROR_MAX 1e9f

VF_FN float vf_motion_min(float a, float b) { return a < b ? a : b; }

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/** Error of a rotation: squared chord between the rotated previous bearing and the current one, in units of the squared
 *  inlier bound. */
VF_FN float vf_motion_rotation_error(const struct vf_pose *p, const struct vf_correspondence *c)
{
    float a[3];
    vf_transform(p->R, c->before, a);
    const float x = a[0] - c->now[0], y = a[1] - c->now[1], z = a[2] - c->now[2];
    return vf_motion_min((x * x + y * y + z * z) * (c->weight * c->weight), VF_MOTION_ERROR_MAX);
}

/** Terms of a correspondence's Sampson error, which is constraint^2 / gradient2. */
struct vf_sampson {
    float a[3];       /* previous bearing rotated into axes of the current frame: R before */
    float ta[3],      /* t x a, normal of the epipolar plane */
        bt[3];        /* now x t */
    float constraint; /* epipolar constraint now . (t x a); 0 if the current bearing is in the epipolar plane */
    float gradient2;  /* squared gradient of the constraint with respect to both bearings */
    int behind;       /* 1: the rays meet behind one of the cameras */
};
VF_FN struct vf_sampson vf_motion_sampson(const struct vf_pose *p, const struct vf_correspondence *c)
{
    struct vf_sampson k;
    float ab[3];
    vf_transform(p->R, c->before, k.a);
    vf_cross(p->t, k.a, k.ta);
    vf_cross(c->now, p->t, k.bt);
    vf_cross(k.a, c->now, ab);
    k.constraint = vf_dot(c->now, k.ta);
    k.gradient2 = vf_dot(k.ta, k.ta) + vf_dot(k.bt, k.bt) - 2.0f * (k.constraint * k.constraint);
    /* at the epipole constraint and gradient are 0, and rounding may make gradient2 negative */
    k.gradient2 = k.gradient2 > 1e-12f ? k.gradient2 : 1e-12f;
    const int behind_before = vf_dot(k.bt, ab) <= 0.0f, behind_now = vf_dot(k.ta, ab) >= 0.0f;
    k.behind = behind_before | behind_now;
    return k;
}

/** Squared error of a relative motion in units of the squared inlier bound: Sampson error; for a point behind a camera,
 *  at least half of the rotation error. */
VF_FN float vf_motion_relative_error(const struct vf_pose *p, const struct vf_correspondence *c)
{
    const struct vf_sampson k = vf_motion_sampson(p, c);
    const float x = k.a[0] - c->now[0], y = k.a[1] - c->now[1], z = k.a[2] - c->now[2], square = c->weight * c->weight;
    const float sampson = k.constraint * k.constraint / k.gradient2 * square;
    const float at_infinity = 0.5f * (x * x + y * y + z * z) * square;
    return vf_motion_min((k.behind & (at_infinity > sampson)) ? at_infinity : sampson, VF_MOTION_ERROR_MAX);
}

/** Predicted observation of a point X of known distance in the previous frame, and its residuals [standard
 *  deviations]. */
struct vf_prediction {
    float rotated[3];      /* R X: the point after the rotation [m] */
    float direction[3];    /* unit vector along R X + t, the predicted point */
    float inverse_1pm;     /* 1 / length of R X + t: predicted inverse distance */
    float residual[4];     /* predicted - measured: [0 .. 2] direction, [3] inverse distance */
    float range_effect[4]; /* change of each residual by one standard deviation of the previous distance */
    /* 1 / standard deviation: [0] of the direction, [1] of the inverse distance; 0: not measured */
    float weight[2];
};
VF_FN struct vf_prediction vf_motion_predict(const struct vf_pose *p, const struct vf_correspondence *c)
{
    struct vf_prediction e;
    float a[3], y[3], square = 1e-12f;
    vf_transform(p->R, c->before, a);
    for (int k = 0; k < 3; k++) {
        e.rotated[k] = c->range_m * a[k];
        y[k] = e.rotated[k] + p->t[k];
        square += y[k] * y[k];
    }
    e.inverse_1pm = 1.0f / sqrtf(square);
    e.weight[0] = VF_MOTION_SIGMAS * c->weight;
    e.weight[1] = c->inverse_depth_sigma_1pm > 0.0f ? 1.0f / c->inverse_depth_sigma_1pm : 0.0f;
    for (int k = 0; k < 3; k++) e.direction[k] = y[k] * e.inverse_1pm;
    const float along = vf_dot(e.direction, a), relative_sigma = c->range_sigma_m * e.inverse_1pm;
    for (int k = 0; k < 3; k++) {
        e.residual[k] = (e.direction[k] - c->now[k]) * e.weight[0];
        e.range_effect[k] = (a[k] - along * e.direction[k]) * relative_sigma * e.weight[0];
    }
    e.residual[3] = (e.inverse_1pm - c->inverse_depth_1pm) * e.weight[1];
    e.range_effect[3] = -along * e.inverse_1pm * relative_sigma * e.weight[1];
    return e;
}
VF_FN float vf_motion_dot4(const float a[4], const float b[4])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}

/** Pade approximation of ln(1 + x) for x >= 0: monotonic, within 1 % up to x = 1, too large beyond. */
VF_FN float vf_motion_log1p(float x) { return x * (6.0f + x) / (6.0f + 4.0f * x); }

/** Squared error of a metric motion in units of the squared inlier bound: squared residuals with the previous distance
 *  optimised, plus the logarithm of the determinant of their covariance. A longer translation lets an error of the
 *  previous distance explain more; without the logarithm the longest translation would win. */
VF_FN float vf_motion_metric_error(const struct vf_pose *p, const struct vf_correspondence *c)
{
    const struct vf_prediction e = vf_motion_predict(p, c);
    const float variance = vf_motion_dot4(e.range_effect, e.range_effect);
    /* correction of the previous distance that minimises the squared residuals [standard deviations] */
    const float correction = vf_motion_dot4(e.residual, e.range_effect) / (1.0f + variance);
    float square = correction * correction + vf_motion_log1p(variance);
    for (int k = 0; k < 4; k++)
        square += (e.residual[k] - correction * e.range_effect[k]) * (e.residual[k] - correction * e.range_effect[k]);
    const float error = square * (1.0f / (VF_MOTION_SIGMAS * VF_MOTION_SIGMAS));
    /* a point behind the camera, and NaN, get the upper limit */
    return vf_dot(e.direction, c->now) > 0.0f ? vf_motion_min(error, VF_MOTION_ERROR_MAX) : VF_MOTION_ERROR_MAX;
}

/** Squared error of a correspondence under a motion, in units of the squared inlier bound; below 1: inlier. */
VF_FN float vf_motion_error(int kind, const struct vf_pose *p, const struct vf_correspondence *c)
{
    return kind == VF_ROTATION_ONLY ? vf_motion_rotation_error(p, c)
           : kind == VF_METRIC      ? vf_motion_metric_error(p, c)
                                    : vf_motion_relative_error(p, c);
}

/** Correspondence with a three times wider inlier bound on angles. The bound on distances stays, because a distance is
 *  measured by the stereo pair within one frame. */
VF_FN struct vf_correspondence vf_motion_widen(struct vf_correspondence c)
{
    c.weight *= 1.0f / 3.0f;
    return c;
}

/** Largest inlier score of a correspondence, that of error 0. */
#define VF_MOTION_SCORE_MAX 255
/** Inlier score of a squared error: 1 .. VF_MOTION_SCORE_MAX; outliers and NaN: 0 (MSAC: P. Torr, A. Zisserman, 2000).
 *  An integer, so that sums do not depend on order. */
VF_FN int32_t vf_motion_inlier_score(float error)
{
    const float within = vf_motion_min(error, 1.0f); /* error limited to 1, which is no inlier; 1 for NaN */
    return (1 + (int32_t)((1.0f - within) * (VF_MOTION_SCORE_MAX - 1.0f))) & -(within < 1.0f);
}

/* ---- normal equations -------------------------------------------------------------------------------------------- */

/** Adds a residual r with Jacobian row J to the normal equations `terms`: J^T J, J^T r and r^2, each times `factor`. */
VF_FN void vf_motion_add_row(float terms[VF_TERMS], const float J[6], float r, float factor)
{
    VF_UNROLL_FULL
    for (int i = 0, k = 0; i < 6; k += 6 - i, i++) {
        const float Ji = factor * J[i];
        VF_UNROLL_FULL
        for (int j = i; j < 6; j++) terms[k + j - i] += Ji * J[j];
        terms[VF_TERM_G + i] += Ji * r;
    }
    terms[VF_TERM_E] += factor * r * r;
}

VF_FN void vf_motion_rotation_terms(const struct vf_pose *p, const struct vf_correspondence *c, float terms[VF_TERMS])
{
    float a[3];
    vf_transform(p->R, c->before, a);
    const float w = c->weight;
    const float J[3][6] = {
        {0, 0, 0, 0, w * a[2], -w * a[1]}, {0, 0, 0, -w * a[2], 0, w * a[0]}, {0, 0, 0, w * a[1], -w * a[0], 0}};
    VF_UNROLL_FULL
    for (int k = 0; k < 3; k++) vf_motion_add_row(terms, J[k], w * (a[k] - c->now[k]), 1.0f);
}

/** Angle from the epipole below which the weight of a correspondence decreases [multiples of its inlier bound]. Close
 *  to the epipole a bearing hardly determines an epipolar plane, yet it would outweigh all other correspondences. */
#define VF_MOTION_EPIPOLE_BOUNDS 100.0f

/** Weight of the epipolar constraint of a correspondence: 1 / its inlier bound. square: out, squared gradient of the
 *  constraint, increased so that the weight is limited near the epipole. */
VF_FN float vf_motion_relative_weight(const struct vf_sampson *k, const struct vf_correspondence *c, float *square)
{
    *square = k->gradient2 + VF_MOTION_EPIPOLE_BOUNDS * VF_MOTION_EPIPOLE_BOUNDS / (c->weight * c->weight);
    return c->weight / sqrtf(*square);
}

/** Jacobian J of the residual constraint / sqrt(gradient2) of a relative motion. It includes the derivative of the
 *  root, which with little parallax is as large as that of the constraint. w, square: vf_motion_relative_weight(). */
VF_FN void vf_motion_relative_row(const struct vf_pose *p, const struct vf_correspondence *c,
                                  const struct vf_sampson *sampson, float w, float square, float J[6])
{
    const struct vf_sampson k = *sampson;
    const float part = k.constraint / square;
    float ab[3], a_bt[3], ta_t[3], a_ta[3], bt_b[3], a_ta_t[3];
    vf_cross(k.a, c->now, ab);
    vf_cross(k.a, k.bt, a_bt);
    vf_cross(k.ta, p->t, ta_t);
    vf_cross(k.a, k.ta, a_ta);
    vf_cross(k.bt, c->now, bt_b);
    vf_cross(k.a, ta_t, a_ta_t);
    for (int i = 0; i < 3; i++) {
        J[i] = w * (ab[i] - part * (a_ta[i] + bt_b[i]));
        J[3 + i] = w * (a_bt[i] - part * a_ta_t[i]);
    }
}

/** Adds the normal equations of a relative motion, for the residual constraint / sqrt(gradient2). */
VF_FN void vf_motion_relative_terms(const struct vf_pose *p, const struct vf_correspondence *c, float terms[VF_TERMS])
{
    const struct vf_sampson k = vf_motion_sampson(p, c);
    float J[6], square;
    const float w = vf_motion_relative_weight(&k, c, &square);
    vf_motion_relative_row(p, c, &k, w, square, J);
    vf_motion_add_row(terms, J, w * k.constraint, 1.0f);
}

/** Adds the normal equations of a metric motion, for the residuals of vf_motion_predict(). The last row added, with a
 *  negative factor, eliminates the previous distance (Schur complement). */
VF_FN void vf_motion_metric_terms(const struct vf_pose *p, const struct vf_correspondence *c, float terms[VF_TERMS])
{
    const struct vf_prediction e = vf_motion_predict(p, c);
    const float scale = 1.0f / VF_MOTION_SIGMAS, across = e.weight[0] * e.inverse_1pm * scale,
                deep = e.weight[1] * e.inverse_1pm * e.inverse_1pm * scale;
    const float *x = e.rotated;
    float J[4][6], by_range[6] = {0, 0, 0, 0, 0, 0}, product = 0.0f;
    VF_UNROLL_FULL
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) J[k][i] = across * ((k == i ? 1.0f : 0.0f) - e.direction[k] * e.direction[i]);
    for (int i = 0; i < 3; i++) J[3][i] = -deep * e.direction[i];
    VF_UNROLL_FULL
    for (int k = 0; k < 4; k++) { /* derivative by the rotation: a rotation vector w moves the point R X by w x R X */
        J[k][3] = J[k][2] * x[1] - J[k][1] * x[2];
        J[k][4] = J[k][0] * x[2] - J[k][2] * x[0];
        J[k][5] = J[k][1] * x[0] - J[k][0] * x[1];
        vf_motion_add_row(terms, J[k], e.residual[k] * scale, 1.0f);
        VF_UNROLL_FULL
        for (int i = 0; i < 6; i++) by_range[i] += e.range_effect[k] * J[k][i];
        product += e.range_effect[k] * e.residual[k];
    }
    vf_motion_add_row(terms, by_range, product * scale,
                      -1.0f / (1.0f + vf_motion_dot4(e.range_effect, e.range_effect)));
}

/** Adds the normal equations of a correspondence to `terms`, also those of an outlier. */
VF_FN void vf_motion_terms(int kind, const struct vf_pose *p, const struct vf_correspondence *c, float terms[VF_TERMS])
{
    if (kind == VF_ROTATION_ONLY)
        vf_motion_rotation_terms(p, c, terms);
    else if (kind == VF_METRIC)
        vf_motion_metric_terms(p, c, terms);
    else
        vf_motion_relative_terms(p, c, terms);
}

/** Number of independent residuals of an inlier, for the degrees of freedom. */
VF_FN uint32_t vf_motion_residuals(int kind, const struct vf_correspondence *c)
{
    if (kind == VF_RELATIVE) return 1;
    return 2u + (uint32_t)((kind == VF_METRIC) & (c->inverse_depth_sigma_1pm > 0.0f));
}

/** Adds the score, counts and normal equations of a correspondence to *sum if it is an inlier. */
VF_FN void vf_motion_accumulate(int kind, const struct vf_pose *p, const struct vf_correspondence *c,
                                struct vf_normal_equations *sum)
{
    const int32_t score = vf_motion_inlier_score(vf_motion_error(kind, p, c));
    if (!score) return;
    sum->score += score;
    sum->inliers++;
    sum->residuals += vf_motion_residuals(kind, c);
    vf_motion_terms(kind, p, c, sum->terms);
}

/* ---- response to perturbed measurements -------------------------------------------------------------------------- */

/** Small perturbation of the measurements of a correspondence. */
struct vf_change {
    float before[3], now[3]; /* perturbations of the bearings, normal to them */
    float range_m,           /* perturbation of the previous distance [m] */
        inverse_1pm;         /* perturbation of the current inverse distance [1/m] */
};

/** Response of a correspondence to a perturbation of its measurements, with the Jacobian J held fixed. */
struct vf_response {
    float gradient[6]; /* change of the gradient J^T r */
    float square,      /* squared norm of the change of the residuals r */
        product;       /* dot product of the change of the residuals with r */
};

VF_FN struct vf_response vf_motion_relative_response(const struct vf_pose *p, const struct vf_correspondence *c,
                                                     const struct vf_change *change)
{
    const struct vf_sampson k = vf_motion_sampson(p, c);
    struct vf_response response;
    float rotated[3], J[6], square;
    const float w = vf_motion_relative_weight(&k, c, &square);
    vf_motion_relative_row(p, c, &k, w, square, J);
    vf_transform(p->R, change->before, rotated);
    const float residual = w * (vf_dot(change->now, k.ta) + vf_dot(rotated, k.bt));
    for (int i = 0; i < 6; i++) response.gradient[i] = J[i] * residual;
    response.square = residual * residual;
    response.product = residual * (w * k.constraint);
    return response;
}

VF_FN struct vf_response vf_motion_rotation_response(const struct vf_pose *p, const struct vf_correspondence *c,
                                                     const struct vf_change *change)
{
    struct vf_response response;
    float a[3], rotated[3], residual[3], off[3];
    vf_transform(p->R, c->before, a);
    vf_transform(p->R, change->before, rotated);
    for (int i = 0; i < 3; i++) {
        residual[i] = c->weight * c->weight * (rotated[i] - change->now[i]);
        off[i] = a[i] - c->now[i];
        rotated[i] -= change->now[i];
        response.gradient[i] = 0.0f;
    }
    vf_cross(a, residual, response.gradient + 3);
    response.square = vf_dot(residual, rotated);
    response.product = vf_dot(residual, off);
    return response;
}

/** Response of a correspondence of a metric motion to perturbed measurements. A perturbation of the previous distance
 *  within its standard deviation causes almost none, because this distance is eliminated. */
VF_FN struct vf_response vf_motion_metric_response(const struct vf_pose *p, const struct vf_correspondence *c,
                                                   const struct vf_change *change)
{
    const struct vf_prediction e = vf_motion_predict(p, c);
    const float scale = 1.0f / VF_MOTION_SIGMAS;
    struct vf_response response;
    float a[3], rotated[3], moved[3], residual[4], left[4];
    vf_transform(p->R, c->before, a);
    vf_transform(p->R, change->before, rotated);
    for (int k = 0; k < 3; k++) moved[k] = c->range_m * rotated[k] + change->range_m * a[k];
    const float deeper = vf_dot(e.direction, moved) * e.inverse_1pm;
    for (int k = 0; k < 3; k++)
        residual[k] = (moved[k] * e.inverse_1pm - deeper * e.direction[k] - change->now[k]) * (e.weight[0] * scale);
    residual[3] = -(deeper * e.inverse_1pm + change->inverse_1pm) * (e.weight[1] * scale);
    const float correction = vf_motion_dot4(residual, e.range_effect) /
                             (1.0f + vf_motion_dot4(e.range_effect, e.range_effect));
    for (int k = 0; k < 4; k++) left[k] = residual[k] - correction * e.range_effect[k];
    const float across = e.weight[0] * e.inverse_1pm * scale,
                deep = e.weight[1] * e.inverse_1pm * e.inverse_1pm * scale, along = vf_dot(e.direction, left);
    for (int k = 0; k < 3; k++)
        response.gradient[k] = across * (left[k] - along * e.direction[k]) - deep * left[3] * e.direction[k];
    vf_cross(e.rotated, response.gradient, response.gradient + 3);
    response.square = vf_motion_dot4(left, residual);
    response.product = vf_motion_dot4(left, e.residual) * scale;
    return response;
}

VF_FN struct vf_response vf_motion_response(int kind, const struct vf_pose *p, const struct vf_correspondence *c,
                                            const struct vf_change *change)
{
    return kind == VF_ROTATION_ONLY ? vf_motion_rotation_response(p, c, change)
           : kind == VF_METRIC      ? vf_motion_metric_response(p, c, change)
                                    : vf_motion_relative_response(p, c, change);
}

/* ---- Gauss-Newton step ------------------------------------------------------------------------------------------- */

/** Weight of the gauge constraint that fixes the length of t: trace of the translation block of J^T J. The rotation
 *  block may be 10^5 times larger; its trace would swamp the translation in single precision. */
VF_FN float vf_motion_gauge(const float sums[VF_TERMS]) { return sums[0] + sums[6] + sums[11]; }

/** Cholesky factor L of the 6x6 matrix of the normal equations, whose upper triangle is in `sums`. L is lower
 *  triangular, and its diagonal is stored inverted. Unknowns that the kind lacks are fixed: the length of t of a
 *  relative motion, all of t of a rotation. Returns 0 if the matrix is not positive definite. */
VF_FN int vf_motion_cholesky(int kind, const float t[3], const float sums[VF_TERMS], float L[6][6])
{
    const float gauge = vf_motion_gauge(sums);
    int n = 0, valid = 1;
    for (int i = 0; i < 6; i++)
        for (int j = i; j < 6; j++) L[j][i] = sums[n++];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j <= i; j++) {
            if (kind == VF_RELATIVE) L[i][j] += gauge * t[i] * t[j];
            if (kind == VF_ROTATION_ONLY) L[i][j] = i == j ? 1.0f : 0.0f;
        }
    for (int j = 0; j < 6; j++) {
        float d = L[j][j];
        for (int k = 0; k < j; k++) d -= L[j][k] * L[j][k];
        valid &= d > 1e-6f * L[j][j]; /* the comparison is also false for NaN */
        L[j][j] = valid ? 1.0f / sqrtf(d) : 1.0f;
        for (int i = j + 1; i < 6; i++) {
            float v = L[i][j];
            for (int k = 0; k < j; k++) v -= L[i][k] * L[j][k];
            L[i][j] = v * L[j][j];
        }
    }
    return valid;
}

/** Solves L x = b for a lower triangular L whose diagonal is stored inverted. */
VF_FN void vf_motion_solve_lower(float L[6][6], const float b[6], float x[6])
{
    for (int i = 0; i < 6; i++) {
        float v = b[i];
        for (int k = 0; k < i; k++) v -= L[i][k] * x[k];
        x[i] = v * L[i][i];
    }
}

/** Solves L^T x = b for a lower triangular L whose diagonal is stored inverted. x and b may be the same array. */
VF_FN void vf_motion_solve_upper(float L[6][6], const float b[6], float x[6])
{
    for (int i = 5; i >= 0; i--) {
        float v = b[i];
        for (int k = i + 1; k < 6; k++) v -= L[k][i] * x[k];
        x[i] = v * L[i][i];
    }
}

/** Solves A x = b by the Cholesky factor L of A = L L^T, whose diagonal is stored inverted. */
VF_FN void vf_motion_solve(float L[6][6], const float b[6], float x[6])
{
    vf_motion_solve_lower(L, b, x);
    vf_motion_solve_upper(L, x, x);
}

/** Updates a motion by a Gauss-Newton step from its normal equations `sums`. Returns 0 and leaves the motion unchanged
 *  if they have no solution, or the step rotates by a radian or more. */
VF_FN int vf_motion_step(int kind, struct vf_pose *p, const float sums[VF_TERMS])
{
    float L[6][6], step[6];
    if (!vf_motion_cholesky(kind, p->t, sums, L)) return 0;
    vf_motion_solve(L, sums + VF_TERM_G, step);
    const float w[3] = {-step[3], -step[4], -step[5]};
    if (!(vf_dot(w, w) < 1.0f)) return 0;
    vf_pose_rotate(p->R, w);
    for (int k = 0; k < 3 && kind != VF_ROTATION_ONLY; k++) p->t[k] -= step[k];
    if (kind == VF_RELATIVE) vf_unit_reciprocal(p->t);
    return 1;
}

/* ---- covariance -------------------------------------------------------------------------------------------------- */

/** Index of element (i, i) of a symmetric 6x6 matrix in its upper triangle, stored row by row. vf_motion_index(): index
 *  of element (i, j). */
VF_FN int vf_motion_diagonal(int i) { return i * (13 - i) / 2; }
VF_FN int vf_motion_index(int i, int j)
{
    return i < j ? vf_motion_diagonal(i) + j - i : vf_motion_diagonal(j) + i - j;
}

/** First of three steps of the covariance A^-1 B A^-1: row j of B L^-T. A = L L^T: matrix of the normal equations; B,
 *  an upper triangle: covariance of their gradient. L^-1 B L^-T is nearly a multiple of the identity, so that few
 *  digits are lost even if rotation and translation are strongly correlated. */
VF_FN void vf_motion_covariance_half(float L[6][6], const float B[21], int j, float half[6])
{
    float column[6];
    VF_UNROLL_FULL
    for (int k = 0; k < 6; k++) column[k] = B[vf_motion_index(j, k)];
    vf_motion_solve_lower(L, column, half);
}

/** Second of three steps of the covariance A^-1 B A^-1 with A = L L^T: row j of L^-1 B L^-T. half: all rows of B L^-T,
 *  from vf_motion_covariance_half(). */
VF_FN void vf_motion_covariance_middle(float L[6][6], float half[6][6], int j, float middle[6])
{
    float column[6];
    VF_UNROLL_FULL
    for (int k = 0; k < 6; k++) column[k] = half[k][j];
    vf_motion_solve_lower(L, column, middle);
}

/** Last of three steps of the covariance A^-1 B A^-1 with A = L L^T: its row i. middle: all rows of L^-1 B L^-T, from
 *  vf_motion_covariance_middle(). */
VF_FN void vf_motion_covariance_row(float L[6][6], float middle[6][6], int i, float row[6])
{
    float unit[6], side[6];
    VF_UNROLL_FULL
    for (int j = 0; j < 6; j++) unit[j] = i == j ? 1.0f : 0.0f;
    vf_motion_solve_lower(L, unit, side);
    VF_UNROLL_FULL
    for (int j = 0; j < 6; j++) {
        row[j] = 0.0f;
        VF_UNROLL_FULL
        for (int k = 0; k < 6; k++) row[j] += middle[j][k] * side[k];
    }
    vf_motion_solve_upper(L, row, row);
}

/** Covariance of a motion, upper triangle row by row. sums: its normal equations; B: covariance of their gradient J^T
 *  r. Returns 0 if the normal equations have no solution. */
VF_FN int vf_motion_covariance(int kind, const struct vf_pose *p, const float sums[VF_TERMS], const float B[21],
                               float covariance[21])
{
    float L[6][6], half[6][6], middle[6][6], row[6];
    if (!vf_motion_cholesky(kind, p->t, sums, L)) return 0;
    for (int i = 0; i < 6; i++) vf_motion_covariance_half(L, B, i, half[i]);
    for (int i = 0; i < 6; i++) vf_motion_covariance_middle(L, half, i, middle[i]);
    for (int i = 0; i < 6; i++) {
        vf_motion_covariance_row(L, middle, i, row);
        for (int j = i; j < 6; j++) covariance[vf_motion_index(i, j)] = row[j];
    }
    return 1;
}

#endif
