/* SPDX-License-Identifier: MIT */
/* Landmarks of the window: residuals of sights, their derivatives, and the landmark projected out of them.
 *
 * In      landmark with its sights; poses of its frames relative to the host
 * Out     normal equations over relative poses, without the landmark; what gives its change when the poses are known
 * Rule    residual of camera 0: gnomonic coordinates of the landmark's direction about the bearing sighted, by the
 *         deviation; of camera 1: the one along the epipolar line, of the point at the bearing that camera 0 sighted. A
 *         sight whose squared residual s exceeds k = VF_WINDOW_OUTLIER has the weight (k / s)^2, and the cost
 *         2 k - k^2 / s: it ends, and no root is taken
 *         The columns of the landmark, two of the bearing and one of the inverse range, are made orthonormal by Gram
 *         and Schmidt's method, twice. Along them a landmark can follow any residual; what is left is the rest
 * Exact   single precision in one order
 */
#ifndef VF_WINDOW_LANDMARK_H
#define VF_WINDOW_LANDMARK_H

#include "math/pose.h"
#include "window_state.h"

/** Squared residual from which on a sight counts less. */
#define VF_WINDOW_OUTLIER 9.0f

/** Deviation of the inverse range of a landmark of which nothing else is known, and its mean [1/m]. */
#define VF_WINDOW_RANGE_SIGMA 1.0f
#define VF_WINDOW_RANGE_MEAN 0.1f

/** Rows of a landmark: three a frame, of which sights without a partner leave the last at 0; and what is known of the
 *  range before any sight. */
#define VF_LANDMARK_ROWS (3 * VF_WINDOW_FRAMES + 1)

/** Cameras in single precision. */
struct vf_landmark_rig {
    float R_1_0[9], t_1_0[3];
    float disparity; /* vf_window.disparity_rad */
};

/** Rows of a landmark: residuals and derivatives. */
struct vf_landmark_rows {
    float r[VF_LANDMARK_ROWS];
    float point[3][VF_LANDMARK_ROWS];  /* by bearing, two axes, and inverse range */
    float pose[VF_LANDMARK_ROWS][6];   /* by position and attitude of the frame relative to the host */
    float disparity[VF_WINDOW_FRAMES]; /* of camera 1's row of each frame, by the offset of disparities */
    float cost;
};

/** Two unit vectors across a unit vector. */
VF_FN void vf_landmark_axes(const float b[3], float one[3], float two[3])
{
    const float x = fabsf(b[0]), y = fabsf(b[1]), z = fabsf(b[2]);
    const int least = x <= y && x <= z ? 0 : y <= z ? 1 : 2;
    const float axis[3] = {least == 0 ? 1.0f : 0.0f, least == 1 ? 1.0f : 0.0f, least == 2 ? 1.0f : 0.0f};
    vf_cross(b, axis, one);
    vf_unit(one);
    vf_cross(b, one, two);
}

/** Direction of the epipolar line at a bearing from camera 1: to which a point moves as its inverse range grows. */
VF_FN void vf_landmark_along(const struct vf_landmark_rig *rig, const float other[3], float along[3])
{
    const float part = vf_dot(rig->t_1_0, other);
    for (int k = 0; k < 3; k++) along[k] = rig->t_1_0[k] - part * other[k];
    vf_unit(along);
}

/** Weight of a sight by its squared residual; its cost. */
VF_FN float vf_landmark_weight(float square, float *cost)
{
    const float k = VF_WINDOW_OUTLIER, part = k / square;
    *cost = square <= k ? square : 2.0f * k - k * part;
    return square <= k ? 1.0f : part * part;
}

/** Residual of one coordinate: along `axis` about the bearing `seen`, of a point Y, by a weight; g: its derivative by
 *  Y. */
VF_FN float vf_landmark_residual(const float axis[3], const float seen[3], const float Y[3], float weight, float g[3])
{
    const float depth = 1.0f / vf_dot(seen, Y), r = vf_dot(axis, Y) * depth;
    for (int k = 0; k < 3; k++) g[k] = (axis[k] - r * seen[k]) * depth * weight;
    return r * weight;
}

/** Landmark in axes of camera 0 of a frame. Y: its place times its inverse range; turned, one, two: its bearing and the
 *  two axes across, turned; t: the host's camera. */
struct vf_landmark_point {
    float Y[3], turned[3], one[3], two[3], t[3];
};

/** Row of derivatives by those by the point, g, and by the inverse range. */
VF_FN void vf_landmark_row_set(struct vf_landmark_rows *rows, int row, const float g[3], const float by_inverse,
                               const struct vf_landmark_point *at, float inverse)
{
    float about[3];
    vf_cross(at->turned, g, about);
    rows->point[0][row] = vf_dot(g, at->one);
    rows->point[1][row] = vf_dot(g, at->two);
    rows->point[2][row] = by_inverse;
    for (int k = 0; k < 3; k++) {
        rows->pose[row][k] = inverse * g[k];
        rows->pose[row][3 + k] = about[k];
    }
}

/** Rows of camera 0: two, from `row` on. */
VF_FN float vf_landmark_first(struct vf_landmark_rows *rows, int row, const struct vf_window_sight *sight,
                              const struct vf_landmark_point *at, float inverse)
{
    float axis[2][3], g[2][3], cost;
    if (!(vf_dot(sight->bearing, at->Y) > 0.1f)) return 2.0f * VF_WINDOW_OUTLIER;
    vf_landmark_axes(sight->bearing, axis[0], axis[1]);
    for (int i = 0; i < 2; i++)
        rows->r[row + i] = vf_landmark_residual(axis[i], sight->bearing, at->Y, sight->weight, g[i]);
    const float square = rows->r[row] * rows->r[row] + rows->r[row + 1] * rows->r[row + 1];
    const float root = sqrtf(vf_landmark_weight(square, &cost));
    for (int i = 0; i < 2; i++) {
        rows->r[row + i] *= root;
        for (int k = 0; k < 3; k++) g[i][k] *= root;
        vf_landmark_row_set(rows, row + i, g[i], vf_dot(g[i], at->t), at, inverse);
    }
    return cost;
}

/** Row of camera 1: of the point at the bearing sighted in the landmark's range, so that an error of that bearing is in
 *  the rows of camera 0 alone. */
VF_FN float vf_landmark_second(struct vf_landmark_rows *rows, int row, const struct vf_landmark_rig *rig,
                               const struct vf_window_sight *sight, const struct vf_landmark_point *at, float inverse)
{
    float Y[3], along[3], g[3], by_point[3], cost;
    const float near = 1.0f / sqrtf(vf_dot(at->Y, at->Y)), range = inverse * near; /* inverse range from camera 0 */
    vf_transform(rig->R_1_0, sight->bearing, Y);
    for (int k = 0; k < 3; k++) Y[k] += range * rig->t_1_0[k];
    if (!(vf_dot(sight->other, Y) > 0.1f)) return 2.0f * VF_WINDOW_OUTLIER;
    vf_landmark_along(rig, sight->other, along);
    const float off = rig->disparity * sight->other_weight;
    const float r = vf_landmark_residual(along, sight->other, Y, sight->other_weight, g) + off;
    const float root = sqrtf(vf_landmark_weight(r * r, &cost)), slope = root * vf_dot(g, rig->t_1_0);
    for (int k = 0; k < 3; k++) by_point[k] = -slope * range * near * near * at->Y[k];
    rows->r[row] = r * root;
    rows->disparity[row / 3] = sight->other_weight * root;
    vf_landmark_row_set(rows, row, by_point, vf_dot(by_point, at->t) + slope * near, at, inverse);
    return cost;
}

/** Rows of all sights of a landmark. pose: of the frames relative to the host. */
VF_FN void vf_landmark_rows_of(struct vf_landmark_rows *rows, const struct vf_landmark *l,
                               const struct vf_landmark_rig *rig, const struct vf_pose pose[VF_WINDOW_FRAMES])
{
    float one[3], two[3];
    memset(rows, 0, sizeof *rows);
    vf_landmark_axes(l->bearing, one, two);
    for (int f = 0; f < VF_WINDOW_FRAMES; f++) {
        if (!(l->seen >> f & 1)) continue;
        struct vf_landmark_point at;
        vf_transform(pose[f].R, l->bearing, at.turned);
        vf_transform(pose[f].R, one, at.one);
        vf_transform(pose[f].R, two, at.two);
        for (int k = 0; k < 3; k++) {
            at.t[k] = pose[f].t[k];
            at.Y[k] = at.turned[k] + l->inverse * at.t[k];
        }
        rows->cost += vf_landmark_first(rows, 3 * f, &l->sight[f], &at, l->inverse);
        if (l->sight[f].other_weight > 0.0f)
            rows->cost += vf_landmark_second(rows, 3 * f + 2, rig, &l->sight[f], &at, l->inverse);
        if (f == l->host) memset(rows->pose[3 * f], 0, 3 * sizeof rows->pose[0]);
    }
    const int last = VF_LANDMARK_ROWS - 1;
    rows->r[last] = (l->inverse - VF_WINDOW_RANGE_MEAN) / VF_WINDOW_RANGE_SIGMA;
    rows->point[2][last] = 1.0f / VF_WINDOW_RANGE_SIGMA;
    rows->cost += rows->r[last] * rows->r[last];
}

/** Product of two columns. */
VF_FN float vf_landmark_product(const float a[VF_LANDMARK_ROWS], const float b[VF_LANDMARK_ROWS])
{
    float sum = 0.0f;
    for (int i = 0; i < VF_LANDMARK_ROWS; i++) sum += a[i] * b[i];
    return sum;
}

/** Columns of the landmark made orthonormal, in place; R: factor, upper triangle 00 01 02 11 12 22. A column that
 *  depends on those before is set to 0, and its part of R to 1. */
VF_FN void vf_landmark_factor(float point[3][VF_LANDMARK_ROWS], float R[6])
{
    const int index[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
    for (int c = 0; c < 3; c++) {
        const float whole = vf_landmark_product(point[c], point[c]);
        for (int d = 0; d < c; d++) R[index[d][c]] = 0.0f;
        for (int again = 0; again < 2; again++)
            for (int d = 0; d < c; d++) {
                const float part = vf_landmark_product(point[d], point[c]);
                R[index[d][c]] += part;
                for (int i = 0; i < VF_LANDMARK_ROWS; i++) point[c][i] -= part * point[d][i];
            }
        const float square = vf_landmark_product(point[c], point[c]);
        const int good = square > 1e-8f * whole;
        const float length = good ? sqrtf(square) : 1.0f;
        R[index[c][c]] = length;
        for (int i = 0; i < VF_LANDMARK_ROWS; i++) point[c][i] = good ? point[c][i] / length : 0.0f;
    }
}

/** What the rows say of the relative poses: along the landmark's columns, for its change later, and without it.
 *  rows->point: orthonormal. */
VF_FN void vf_landmark_keep(struct vf_landmark_row *row, struct vf_landmark_more *more,
                            const struct vf_landmark_rows *rows)
{
    float own = 0.0f, slope = 0.0f;
    for (int c = 0; c < 3; c++) {
        row->residual[c] = vf_landmark_product(rows->point[c], rows->r);
        row->disparity[c] = 0.0f;
        for (int f = 0; f < VF_WINDOW_FRAMES; f++) row->disparity[c] += rows->point[c][3 * f + 2] * rows->disparity[f];
    }
    for (int f = 0; f < VF_WINDOW_FRAMES; f++) {
        own += rows->disparity[f] * rows->disparity[f];
        slope += rows->disparity[f] * rows->r[3 * f + 2];
        for (int k = 0; k < 6; k++) {
            float g = 0.0f, cross = rows->pose[3 * f + 2][k] * rows->disparity[f];
            for (int i = 0; i < 3; i++) {
                more->direct[f][i][k] = rows->pose[3 * f + i][k];
                g += rows->pose[3 * f + i][k] * rows->r[3 * f + i];
            }
            for (int c = 0; c < 3; c++) {
                float sum = 0.0f;
                for (int i = 3 * f; i < 3 * f + 3; i++) sum += rows->point[c][i] * rows->pose[i][k];
                row->pose[c][f][k] = sum;
                g -= sum * row->residual[c];
                cross -= sum * row->disparity[c];
            }
            more->slope[f][0][k] = g;
            more->slope[f][1][k] = cross;
        }
    }
    for (int c = 0; c < 3; c++) {
        own -= row->disparity[c] * row->disparity[c];
        slope -= row->disparity[c] * row->residual[c];
    }
    more->of_disparity[0] = own;
    more->of_disparity[1] = slope;
    more->cost = rows->cost;
}

/** Change of a landmark that goes with changes of the relative poses and of the offset of disparities. */
VF_FN void vf_landmark_move(struct vf_landmark *l, const struct vf_landmark_row *row,
                            const float change[VF_WINDOW_FRAMES][6], float disparity)
{
    float y[3], one[3], two[3];
    for (int c = 0; c < 3; c++) {
        y[c] = -row->residual[c] - row->disparity[c] * disparity;
        for (int f = 0; f < VF_WINDOW_FRAMES; f++) {
            if (!(l->seen >> f & 1) || f == l->host) continue;
            for (int k = 0; k < 6; k++) y[c] -= row->pose[c][f][k] * change[f][k];
        }
    }
    y[2] = y[2] / row->R[5];
    y[1] = (y[1] - row->R[4] * y[2]) / row->R[3];
    y[0] = (y[0] - row->R[1] * y[1] - row->R[2] * y[2]) / row->R[0];
    vf_landmark_axes(l->bearing, one, two);
    for (int k = 0; k < 3; k++) l->bearing[k] += y[0] * one[k] + y[1] * two[k];
    vf_unit(l->bearing);
    l->inverse += y[2];
}

#endif
