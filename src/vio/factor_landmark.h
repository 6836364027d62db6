/* SPDX-License-Identifier: MIT */
/* Landmark factor: residuals of the observations, Jacobian, and elimination of the landmark by nullspace projection.
 *
 * In      landmark with its observations; poses of its frames relative to the anchor
 * Out     normal equations over the relative poses without the landmark; rows for its back-substitution
 * Rule    residual of camera 0: gnomonic coordinates of the landmark's direction about the observed bearing, times 1 /
 *         sigma. Residual of camera 1: the coordinate along the epipolar line, for the point on camera 0's observed
 *         bearing.
 *         Robust cost of squared residual s: s for s <= k, else 2 k - k^2 / s with weight (k / s)^2. k =
 *         VF_VIO_ROBUST_THRESHOLD times vf_vio_noise_variance(). This bounded form needs no square root in the cost.
 *         Rolling shutter: an observation is taken at the time of its row; until then the camera moves from the frame's
 *         pose at the frame's rate and velocity. The Jacobian neglects errors of that rate and velocity.
 *         Elimination: the landmark's three columns (bearing 2, inverse range 1) are orthonormalized by Gram-Schmidt,
 *         twice. Only residuals orthogonal to them constrain the poses.
 * Exact   single precision in one order
 * Shared  a group of 16 lanes per landmark, one lane per frame with three rows; sums over rows are group sums
 *         (math/team.h)
 */
#ifndef VF_VIO_FACTOR_LANDMARK_H
#define VF_VIO_FACTOR_LANDMARK_H

#include "math/pose.h"
#include "math/robust.h"
#include "math/team.h"
#include "window.h"

/** Squared residual above which the robust weight of an observation falls, in units of vf_vio_noise_variance(). */
#define VF_VIO_ROBUST_THRESHOLD 9.0f

/** Standard deviation of the prior of a landmark's inverse range, with two cameras [1/m]. It makes landmarks without
 *  parallax solvable, and nothing else: the error of its mean is common to all landmarks, so each adds a measurement of
 *  the scale. 10^5 landmarks at 1 m measure it to 0.3, the pair's calibration to 0.01. */
#define VF_VIO_INVERSE_RANGE_SIGMA 100.0f
/** Standard deviation of the prior of a landmark's inverse range, with one camera [1/m]. A narrower one would
 *  bias the velocity without parallax, by the error of its mean. A wider one would let noise set the ranges. */
#define VF_VIO_INVERSE_RANGE_SIGMA_MONO 2.0f
/** Mean of the prior of a landmark's inverse range [1/m]. */
#define VF_VIO_INVERSE_RANGE_MEAN 0.1f

/** Least squared norm of a column after orthogonalization, relative to that before; a smaller one is rounding. */
#define VF_LANDMARK_PIVOT 1e-8f

/** Lane of a group that computes the row of the inverse-range prior. Each lower lane computes the rows of a frame. */
#define VF_LANDMARK_PRIOR_LANE VF_VIO_FRAMES
VF_STATIC_ASSERT(VF_LANDMARK_PRIOR_LANE < 16, "vfront: a lane for each frame, and one more");

/** Stereo extrinsics and constants of the factor in single precision. */
struct vf_landmark_rig {
    float R_1_0[9], t_1_0[3];            /* t_1_0: with VF_STEREO_LENGTH [m] */
    float baseline[3];                   /* unit vector of t_1_0 */
    float stereo[VF_VIO_STEREO_OFFSETS]; /* errors of the pair's calibration: vf_vio_window.stereo */
    float outlier;                       /* squared residual above which the robust weight falls */
    float range_sigma;                   /* standard deviation of the inverse-range prior [1/m] */
};

/** Variables of a landmark: unit bearing from its anchor's camera, and inverse range [1/m]. */
struct vf_landmark_estimate {
    float bearing[3], inverse;
};

/** Motion of camera 0 during readout, in camera axes: angular rate [rad/s], velocity [m/s]. */
struct vf_camera_motion {
    float rate[3], velocity[3];
};

/** Rotates a bearing, observed `row_delay_s` after the time of a frame [s], into the camera axes at the frame's time,
 *  to second order. */
VF_FN void vf_landmark_shutter_rotate(const struct vf_camera_motion *d, const float bearing[3], float row_delay_s,
                                      float out[3])
{
    float once[3], twice[3];
    vf_cross(d->rate, bearing, once);
    vf_cross(d->rate, once, twice);
    for (int k = 0; k < 3; k++) out[k] = bearing[k] + row_delay_s * (once[k] + 0.5f * row_delay_s * twice[k]);
}

/** Unit direction from the camera at a frame's time to a point that was observed `row_delay_s` later, at the given
 *  inverse range. */
VF_FN void vf_landmark_shutter_correct(const struct vf_camera_motion *d, const float bearing[3], float inverse,
                                       float row_delay_s, float out[3])
{
    vf_landmark_shutter_rotate(d, bearing, row_delay_s, out);
    for (int k = 0; k < 3; k++) out[k] += row_delay_s * inverse * d->velocity[k];
    if (row_delay_s != 0.0f) vf_unit(out);
}

/** Residuals and Jacobian of a landmark. A lane has the observation of one frame: rows 0 and 1 of camera 0, row 2 of
 *  camera 1, 0 without a stereo observation. */
struct vf_landmark_jacobian {
    float r[3][VF_GROUP_HELD(16)]; /* residuals in standard deviations, robustly weighted */
    /* [column][row]: derivatives by the landmark's bearing (columns 0, 1) and inverse range (2) */
    float point[3][3][VF_GROUP_HELD(16)];
    /* [row]: derivatives by position and attitude of the frame's camera relative to the anchor */
    float pose[3][6][VF_GROUP_HELD(16)];
    float stereo[VF_VIO_STEREO_OFFSETS][VF_GROUP_HELD(16)]; /* derivatives of row 2 by the offsets of camera 1 */
    float cost[VF_GROUP_HELD(16)];                          /* robust cost of the observation */
};

/** Two unit vectors orthogonal to the unit vector b. */
VF_FN void vf_landmark_tangent_basis(const float b[3], float one[3], float two[3])
{
    const float x = fabsf(b[0]), y = fabsf(b[1]), z = fabsf(b[2]);
    const int least = x <= y && x <= z ? 0 : y <= z ? 1 : 2;
    const float axis[3] = {least == 0 ? 1.0f : 0.0f, least == 1 ? 1.0f : 0.0f, least == 2 ? 1.0f : 0.0f};
    vf_cross(b, axis, one);
    vf_unit(one);
    vf_cross(b, one, two);
}

/** Unit direction in which the bearing of a point from camera 1 moves along its epipolar line as the inverse range
 *  grows. */
VF_FN void vf_landmark_epipolar_direction(const struct vf_landmark_rig *rig, const float stereo_bearing[3],
                                          float along[3])
{
    const float part = vf_dot(rig->t_1_0, stereo_bearing);
    for (int k = 0; k < 3; k++) along[k] = rig->t_1_0[k] - part * stereo_bearing[k];
    vf_unit(along);
}

/** Residual of point Y in standard deviations: gnomonic coordinate along `axis` about the observed bearing `seen`,
 *  times `weight`. g: out, derivative of the residual by Y. */
VF_FN float vf_landmark_residual(const float axis[3], const float seen[3], const float Y[3], float weight, float g[3])
{
    const float depth = 1.0f / vf_dot(seen, Y), r = vf_dot(axis, Y) * depth;
    for (int k = 0; k < 3; k++) g[k] = (axis[k] - r * seen[k]) * depth * weight;
    return r * weight;
}

/** Landmark in camera 0 axes of a frame. */
struct vf_landmark_point {
    float Y[3],     /* position times inverse range */
        rotated[3], /* bearing from the anchor's camera */
        one[3],     /* unit vector across the bearing */
        two[3],     /* unit vector across the bearing and `one` */
        t[3];       /* position of the anchor's camera [m] */
};

/** Writes one row of the Jacobian of an observation. g: derivative of the residual by the point; by_inverse: derivative
 *  by the inverse range; i: value index of the lane. */
VF_FN void vf_landmark_set_row(struct vf_landmark_jacobian *rows, int row, int i, const float g[3],
                               const float by_inverse, const struct vf_landmark_point *at, float inverse)
{
    float about[3];
    vf_cross(at->rotated, g, about);
    rows->point[0][row][i] = vf_dot(g, at->one);
    rows->point[1][row][i] = vf_dot(g, at->two);
    rows->point[2][row][i] = by_inverse;
    for (int k = 0; k < 3; k++) {
        rows->pose[row][k][i] = inverse * g[k];
        rows->pose[row][3 + k][i] = about[k];
    }
}

/** Writes the two rows of an observation by camera 0 at value index i. Returns their robust cost. */
VF_FN float vf_landmark_linearize_bearing(struct vf_landmark_jacobian *rows, int i, float outlier,
                                          const struct vf_vio_observation *observation,
                                          const struct vf_landmark_point *at,
                                          const struct vf_camera_motion *camera_motion, float inverse)
{
    float seen[3], axis[2][3], g[2][3], r[2], cost;
    vf_landmark_shutter_rotate(camera_motion, observation->bearing, observation->row_delay_s, seen);
    if (!(vf_dot(seen, at->Y) > (float)VF_LANDMARK_MIN_DEPTH)) return 2.0f * outlier;
    vf_landmark_tangent_basis(seen, axis[0], axis[1]);
    for (int row = 0; row < 2; row++)
        r[row] = vf_landmark_residual(axis[row], seen, at->Y, observation->weight, g[row]);
    const float root = sqrtf(vf_robust_weight(r[0] * r[0] + r[1] * r[1], outlier, &cost));
    for (int row = 0; row < 2; row++) {
        rows->r[row][i] = r[row] * root;
        for (int k = 0; k < 3; k++) g[row][k] *= root;
        vf_landmark_set_row(rows, row, i, g[row], vf_dot(g[row], at->t), at, inverse);
    }
    return cost;
}

/** Index of a pair of stereo offsets, a <= b, in an upper triangle. */
VF_FN int vf_vio_stereo_index(int a, int b) { return a * VF_VIO_STEREO_OFFSETS - a * (a - 1) / 2 + b - a; }

/** Derivative of the position of camera 1's bearing along its epipolar line by each error of the pair's calibration but
 *  the baseline's. along: direction of that line. */
VF_FN void vf_landmark_stereo_jacobian(const struct vf_landmark_rig *rig, const float stereo_bearing[3],
                                       const float along[3], float by[VF_STEREO_LENGTH])
{
    float across[3];
    vf_cross(stereo_bearing, along, across); /* for a rotation d of bearing b: along' [d] b = d' (b x along) */
    by[VF_STEREO_OFFSET] = 1.0f;
    /* a shift s of the image moves the bearing by s bearing_z times the part of s across the bearing */
    by[VF_STEREO_CENTRE] = vf_dot(along, rig->baseline) * stereo_bearing[2] - 1.0f;
    by[VF_STEREO_ROLL] = across[2];
    /* x and y of the true bearing are smaller by the focal length's excess */
    by[VF_STEREO_FOCAL] = along[0] * stereo_bearing[0] + along[1] * stereo_bearing[1];
}

/** Shift of camera 1's bearing along its epipolar line by all these errors [rad]. */
VF_FN float vf_landmark_stereo_shift(const struct vf_landmark_rig *rig, const float by[VF_STEREO_LENGTH])
{
    float shift = 0.0f;
    for (int n = 0; n < VF_STEREO_LENGTH; n++) shift += rig->stereo[n] * by[n];
    return shift;
}

/** Residual of camera 1 for the point on camera 0's observed bearing at the landmark's range. So an error of that
 *  bearing enters the rows of camera 0 only. */
struct vf_landmark_stereo {
    float r;           /* residual of camera 1 in standard deviations */
    float g[3];        /* derivative of r by the point in camera 1 axes */
    float baseline[3]; /* position of camera 0 in camera 1 axes, at the exposure times of both rows [m] */
    float range_ratio; /* range of the landmark from the anchor over its range from camera 0 */
    /* derivative of the bearing's position along the epipolar line by the offsets of camera 1 */
    float by[VF_VIO_STEREO_OFFSETS];
};

/** Computes camera 1's residual. Y: landmark position times inverse range, camera 0 axes. Returns 0 if the point is not
 *  in front of camera 1. */
VF_FN int vf_landmark_stereo_residual(struct vf_landmark_stereo *o, const struct vf_landmark_rig *rig,
                                      const struct vf_vio_observation *observation, const float Y[3],
                                      const struct vf_camera_motion *camera_motion, float inverse)
{
    float point[3], seen[3], moved[3], along[3];
    o->range_ratio = 1.0f / sqrtf(vf_dot(Y, Y));
    const float range = inverse * o->range_ratio; /* inverse range from camera 0 [1/m] */
    for (int k = 0; k < 3; k++) moved[k] = -observation->stereo_delay_s * camera_motion->velocity[k];
    vf_transform(rig->R_1_0, moved, o->baseline);
    vf_landmark_shutter_rotate(camera_motion, observation->bearing, -observation->stereo_delay_s, seen);
    vf_transform(rig->R_1_0, seen, point);
    for (int k = 0; k < 3; k++) {
        o->baseline[k] += rig->t_1_0[k];
        point[k] += range * o->baseline[k];
    }
    if (!(vf_dot(observation->stereo_bearing, point) > (float)VF_LANDMARK_MIN_DEPTH)) return 0;
    vf_landmark_epipolar_direction(rig, observation->stereo_bearing, along);
    vf_landmark_stereo_jacobian(rig, observation->stereo_bearing, along, o->by);
    o->r = vf_landmark_residual(along, observation->stereo_bearing, point, observation->stereo_weight, o->g) +
           observation->stereo_weight * vf_landmark_stereo_shift(rig, o->by);
    o->by[VF_STEREO_LENGTH] = range * vf_dot(o->g, rig->t_1_0) /
                              (observation->stereo_weight * (1.0f + rig->stereo[VF_STEREO_LENGTH]));
    return 1;
}

/** Writes the row of an observation by camera 1 at value index i: the third row of a lane. Returns its robust cost. */
VF_FN float vf_landmark_linearize_stereo(struct vf_landmark_jacobian *rows, int i, const struct vf_landmark_rig *rig,
                                         const struct vf_vio_observation *observation,
                                         const struct vf_landmark_point *at,
                                         const struct vf_camera_motion *camera_motion, float inverse)
{
    struct vf_landmark_stereo o;
    float by_point[3], cost;
    if (!vf_landmark_stereo_residual(&o, rig, observation, at->Y, camera_motion, inverse)) return 2.0f * rig->outlier;
    const float root = sqrtf(vf_robust_weight(o.r * o.r, rig->outlier, &cost)), slope = root * vf_dot(o.g, o.baseline);
    const float range = inverse * o.range_ratio;
    for (int k = 0; k < 3; k++) by_point[k] = -slope * range * o.range_ratio * o.range_ratio * at->Y[k];
    rows->r[2][i] = o.r * root;
    for (int n = 0; n < VF_VIO_STEREO_OFFSETS; n++) rows->stereo[n][i] = o.by[n] * observation->stereo_weight * root;
    vf_landmark_set_row(rows, 2, i, by_point, vf_dot(by_point, at->t) + slope * o.range_ratio, at, inverse);
    return cost;
}

/** Writes the rows of one observation at value index i. pose: of its frame relative to the anchor; own: 1 if the frame
 *  is the anchor, so that derivatives by the pose are 0. */
VF_FN void vf_landmark_linearize_observation(struct vf_landmark_jacobian *rows, int i,
                                             const struct vf_landmark_estimate *estimate,
                                             const struct vf_vio_observation *observation,
                                             const struct vf_landmark_rig *rig, const struct vf_pose *pose,
                                             const struct vf_camera_motion *camera_motion, int own)
{
    struct vf_landmark_point at;
    float one[3], two[3];
    vf_landmark_tangent_basis(estimate->bearing, one, two);
    vf_transform(pose->R, estimate->bearing, at.rotated);
    vf_transform(pose->R, one, at.one);
    vf_transform(pose->R, two, at.two);
    for (int k = 0; k < 3; k++) {
        at.t[k] = pose->t[k] - observation->row_delay_s * camera_motion->velocity[k];
        at.Y[k] = at.rotated[k] + estimate->inverse * at.t[k];
    }
    rows->cost[i] = vf_landmark_linearize_bearing(rows, i, rig->outlier, observation, &at, camera_motion,
                                                  estimate->inverse);
    if (observation->stereo_weight > 0.0f)
        rows->cost[i] += vf_landmark_linearize_stereo(rows, i, rig, observation, &at, camera_motion, estimate->inverse);
    for (int row = 0; row < 3; row++)
        for (int k = 0; k < 6 && own; k++) rows->pose[row][k][i] = 0.0f;
}

/** Computes residuals and Jacobian of all observations of a landmark. pose: frames relative to the anchor;
 *  camera_motion: motion of each frame during readout. */
VF_FN void vf_landmark_linearize(struct vf_landmark_jacobian *rows, const struct vf_landmark *l,
                                 const struct vf_landmark_estimate *estimate, const struct vf_landmark_rig *rig,
                                 const struct vf_pose pose[VF_VIO_FRAMES],
                                 const struct vf_camera_motion camera_motion[VF_VIO_FRAMES])
{
    memset(rows, 0, sizeof *rows);
    VF_GROUP(16, i, f)
    {
        if (f < VF_VIO_FRAMES && l->seen >> f & 1) {
            vf_landmark_linearize_observation(rows, i, estimate, &l->observation[f], rig, &pose[f], &camera_motion[f],
                                              f == l->anchor);
        } else if (f == VF_LANDMARK_PRIOR_LANE) {
            rows->r[0][i] = (estimate->inverse - VF_VIO_INVERSE_RANGE_MEAN) / rig->range_sigma;
            rows->point[2][0][i] = 1.0f / rig->range_sigma;
            rows->cost[i] = rows->r[0][i] * rows->r[0][i];
        }
    }
}

/** Dot product of two columns: sum over three rows of each lane. */
VF_FN float vf_landmark_dot(float a[3][VF_GROUP_HELD(16)], float b[3][VF_GROUP_HELD(16)])
{
    float part[VF_GROUP_HELD(16)];
    VF_GROUP_VALUES(16, i)
    part[i] = a[0][i] * b[0][i] + a[1][i] * b[1][i] + a[2][i] * b[2][i];
    return vf_group_sum_16(part);
}

/** Orthonormalizes in place the Jacobian's three columns by the landmark's bearing and inverse range. R: QR factor,
 *  upper triangle 00 01 02 11 12 22. A linearly dependent column becomes 0, and its diagonal of R becomes 1. */
VF_FN void vf_landmark_orthonormalize(float point[3][3][VF_GROUP_HELD(16)], float R[6])
{
    VF_UNROLL
    for (int c = 0; c < 3; c++) {
        const float whole = vf_landmark_dot(point[c], point[c]);
        float part[3] = {0.0f, 0.0f, 0.0f};
        VF_UNROLL
        for (int pass = 0; pass < 2; pass++)
            for (int d = 0; d < c; d++) {
                const float along = vf_landmark_dot(point[d], point[c]);
                part[d] += along;
                for (int row = 0; row < 3; row++) VF_GROUP_VALUES(16, i)
                point[c][row][i] -= along * point[d][row][i];
            }
        const float square = vf_landmark_dot(point[c], point[c]);
        const int good = square > VF_LANDMARK_PIVOT * whole;
        const float length = good ? sqrtf(square) : 1.0f;
        for (int row = 0; row < 3; row++) VF_GROUP_VALUES(16, i)
        point[c][row][i] = good ? point[c][row][i] / length : 0.0f;
        part[c] = length;
        for (int d = 0; d <= c; d++) R[d == 0 ? c : d == 1 ? 2 + c : 5] = part[d];
    }
}

/** Computes the equations of frame f's relative pose after elimination of the landmark, from the rows of its lane. */
VF_FN void vf_landmark_reduce_frame(struct vf_landmark_backsub *row, struct vf_landmark_equations *equations,
                                    const struct vf_landmark_jacobian *rows, int i, int f, const float residual[3],
                                    float stereo[3][VF_VIO_STEREO_OFFSETS])
{
    for (int k = 0; k < 6; k++) {
        float g = 0.0f, cross[VF_VIO_STEREO_OFFSETS];
        for (int n = 0; n < VF_VIO_STEREO_OFFSETS; n++) cross[n] = rows->pose[2][k][i] * rows->stereo[n][i];
        for (int at = 0; at < 3; at++) {
            equations->jacobian[f][at][k] = rows->pose[at][k][i];
            g += rows->pose[at][k][i] * rows->r[at][i];
        }
        for (int c = 0; c < 3; c++) {
            float sum = 0.0f;
            for (int at = 0; at < 3; at++) sum += rows->point[c][at][i] * rows->pose[at][k][i];
            row->pose[c][f][k] = sum;
            g -= sum * residual[c];
            for (int n = 0; n < VF_VIO_STEREO_OFFSETS; n++) cross[n] -= sum * stereo[c][n];
        }
        equations->gradient[f][0][k] = g;
        for (int n = 0; n < VF_VIO_STEREO_OFFSETS; n++) equations->gradient[f][1 + n][k] = cross[n];
    }
}

/** Computes products of the Jacobian columns of camera 1's offsets. stereo: out, with the landmark's columns. own: out,
 *  with each other and then with the residuals, after elimination of the landmark. residual: residuals projected on the
 *  landmark's columns. */
VF_FN void vf_landmark_reduce_stereo(const struct vf_landmark_jacobian *rows, const float residual[3],
                                     float stereo[3][VF_VIO_STEREO_OFFSETS], float own[VF_VIO_STEREO_SUMS])
{
    float part[VF_GROUP_HELD(16)];
    VF_UNROLL
    for (int n = 0; n < VF_VIO_STEREO_OFFSETS; n++) {
        VF_UNROLL
        for (int c = 0; c < 3; c++) {
            VF_GROUP_VALUES(16, i)
            part[i] = rows->point[c][2][i] * rows->stereo[n][i];
            stereo[c][n] = vf_group_sum_16(part);
        }
    }
    VF_UNROLL
    for (int n = 0; n < VF_VIO_STEREO_OFFSETS; n++) {
        VF_UNROLL
        for (int m = n; m <= VF_VIO_STEREO_OFFSETS; m++) { /* the last m stands for the residuals */
            VF_GROUP_VALUES(16, i)
            part[i] = rows->stereo[n][i] * (m < VF_VIO_STEREO_OFFSETS ? rows->stereo[m][i] : rows->r[2][i]);
            float sum = vf_group_sum_16(part);
            for (int c = 0; c < 3; c++) sum -= stereo[c][n] * (m < VF_VIO_STEREO_OFFSETS ? stereo[c][m] : residual[c]);
            own[m < VF_VIO_STEREO_OFFSETS ? vf_vio_stereo_index(n, m) : VF_VIO_STEREO_PAIRS + n] = sum;
        }
    }
}

/** Eliminates a landmark. equations: out, the normal equations of its observations over the relative poses of the
 *  frames in `seen`. row: out, equations for its back-substitution. rows: Jacobian and residuals, with the columns
 *  `point` made orthonormal by vf_landmark_orthonormalize(), which also returned R. taken: 0: row and equations stay as
 *  they are. */
VF_FN void vf_landmark_reduce(struct vf_landmark_backsub *row, struct vf_landmark_equations *equations,
                              struct vf_landmark_jacobian *rows, const float R[6], uint32_t seen, int taken)
{
    float residual[3], stereo[3][VF_VIO_STEREO_OFFSETS], own[VF_VIO_STEREO_SUMS];
    VF_UNROLL
    for (int c = 0; c < 3; c++) residual[c] = vf_landmark_dot(rows->point[c], rows->r);
    vf_landmark_reduce_stereo(rows, residual, stereo, own);
    const float cost = vf_group_sum_16(rows->cost);
    VF_GROUP(16, i, f)
    {
        if (taken && f < VF_VIO_FRAMES && seen >> f & 1)
            vf_landmark_reduce_frame(row, equations, rows, i, f, residual, stereo);
    }
    if (!taken || !VF_GROUP_FIRST(16)) return;
    for (int k = 0; k < 6; k++) row->R[k] = R[k];
    for (int c = 0; c < 3; c++) {
        row->residual[c] = residual[c];
        for (int n = 0; n < VF_VIO_STEREO_OFFSETS; n++) row->stereo[c][n] = stereo[c][n];
    }
    for (int n = 0; n < VF_VIO_STEREO_SUMS; n++) equations->stereo_sums[n] = own[n];
    equations->cost = cost;
}

/** Inverse range after an increment. It equals the sum to first order, and is never negative: a negative range would
 *  allow a second solution with all ranges and the velocity mirrored. */
VF_FN float vf_landmark_step_inverse_range(float inverse, float change)
{
    return change >= 0.0f ? inverse + change : inverse * inverse / (inverse - change);
}

/** Updates a landmark from the increments of relative poses and stereo offsets by back-substitution. seen: bits of the
 *  frames that observe it, without the anchor. */
VF_FN void vf_landmark_back_substitute(struct vf_landmark_estimate *estimate, uint32_t seen,
                                       const struct vf_landmark_backsub *row, const float change[VF_VIO_FRAMES][6],
                                       const double stereo[VF_VIO_STEREO_OFFSETS])
{
    float y[3], one[3], two[3], part[VF_GROUP_HELD(16)];
    for (int c = 0; c < 3; c++) {
        VF_GROUP(16, i, f)
        {
            part[i] = 0.0f;
            for (int k = 0; k < 6 && f < VF_VIO_FRAMES && seen >> f & 1; k++)
                part[i] += row->pose[c][f][k] * change[f][k];
        }
        y[c] = -row->residual[c];
        for (int n = 0; n < VF_VIO_STEREO_OFFSETS; n++) y[c] -= row->stereo[c][n] * (float)stereo[n];
        y[c] -= vf_group_sum_16(part);
    }
    y[2] = y[2] / row->R[5];
    y[1] = (y[1] - row->R[4] * y[2]) / row->R[3];
    y[0] = (y[0] - row->R[1] * y[1] - row->R[2] * y[2]) / row->R[0];
    vf_landmark_tangent_basis(estimate->bearing, one, two);
    for (int k = 0; k < 3; k++) estimate->bearing[k] += y[0] * one[k] + y[1] * two[k];
    vf_unit(estimate->bearing);
    estimate->inverse = vf_landmark_step_inverse_range(estimate->inverse, y[2]);
}

#endif
