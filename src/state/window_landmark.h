/* SPDX-License-Identifier: MIT */
/* Landmarks of the window: residuals of sights, their derivatives, and the landmark projected out of them.
 *
 * In      landmark with its sights; poses of its frames relative to the host
 * Out     normal equations over relative poses, without the landmark; what gives its change when the poses are known
 * Rule    residual of camera 0: gnomonic coordinates of the landmark's direction about the bearing sighted, by the
 *         deviation; of camera 1: the one along the epipolar line, of the point at the bearing that camera 0 sighted. A
 *         sight whose squared residual s exceeds k has the weight (k / s)^2, and the cost 2 k - k^2 / s: it ends, and
 *         no root is taken. k is VF_WINDOW_OUTLIER, times the variance of the scatter (vf_window_rig.scatter)
 *         Rolling shutter: a sight is one at the time of its row, until which the camera goes on from the frame's pose
 *         at the frame's rate and velocity. What these differ by from the truth is not in the derivatives
 *         The columns of the landmark, two of the bearing and one of the inverse range, are made orthonormal by Gram
 *         and Schmidt's method, twice. Along them a landmark can follow any residual; what is left is the rest
 * Exact   single precision in one order
 * Shared  a group of lanes works on a landmark, a lane on a frame's three rows; sums over all rows are those over the
 *         group (math/team.h)
 */
#ifndef VF_WINDOW_LANDMARK_H
#define VF_WINDOW_LANDMARK_H

#include "math/pose.h"
#include "math/team.h"
#include "window_state.h"

/** Squared residual from which on a sight counts less, in squared deviations of its scatter (vf_window_rig.scatter). */
#define VF_WINDOW_OUTLIER 9.0f

/** Deviation of the inverse range of a landmark of which nothing else is known, the same with one camera, and its mean
 *  [1/m]. A mean that is wrong is wrong for all landmarks, and so tells a velocity that is wrong where parallax does
 *  not, as in a turn on the spot with one camera; with a wider one noise makes ranges. */
#define VF_WINDOW_RANGE_SIGMA 1.0f
#define VF_WINDOW_RANGE_SIGMA_ONE 2.0f
#define VF_WINDOW_RANGE_MEAN 0.1f

/** Lane of the row of what is known of the range before any sight; lanes before it are frames. */
#define VF_LANDMARK_KNOWN VF_WINDOW_FRAMES
VF_STATIC_ASSERT(VF_LANDMARK_KNOWN < 16, "vfront: a lane for each frame, and one more");

/** Cameras in single precision. */
struct vf_landmark_rig {
    float R_1_0[9], t_1_0[3];
    float stereo[VF_WINDOW_STEREO]; /* vf_window.stereo_rad */
    float turns;                    /* 1: VF_STEREO_TURN is a variable */
    float outlier;                  /* squared residual from which on a sight counts less */
    float range_sigma;              /* VF_WINDOW_RANGE_SIGMA, or that of one camera */
};

/** Bearing and inverse range, as in struct vf_landmark. */
struct vf_landmark_place {
    float bearing[3], inverse;
};

/** Motion of a camera while its rows are exposed, in its axes: angular rate [rad/s], velocity [m/s]. */
struct vf_landmark_drift {
    float rate[3], velocity[3];
};

/** Direction seen `late_s` after a frame, in axes of the frame: turned to second order. */
VF_FN void vf_landmark_turned(const struct vf_landmark_drift *d, const float bearing[3], float late_s, float out[3])
{
    float once[3], twice[3];
    vf_cross(d->rate, bearing, once);
    vf_cross(d->rate, once, twice);
    for (int k = 0; k < 3; k++) out[k] = bearing[k] + late_s * (once[k] + 0.5f * late_s * twice[k]);
}

/** Direction to a point, seen `late_s` after a frame with an inverse range, from the place of the frame. */
VF_FN void vf_landmark_in_time(const struct vf_landmark_drift *d, const float bearing[3], float inverse, float late_s,
                               float out[3])
{
    vf_landmark_turned(d, bearing, late_s, out);
    for (int k = 0; k < 3; k++) out[k] += late_s * inverse * d->velocity[k];
    if (late_s != 0.0f) vf_unit(out);
}

/** Rows of a landmark: residuals and derivatives; three a lane, of which sights without a partner leave the last at
 *  0. */
struct vf_landmark_rows {
    float r[3][VF_GROUP_HELD(16)];
    float point[3][3][VF_GROUP_HELD(16)]; /* by bearing, two axes, and inverse range */
    float pose[3][6][VF_GROUP_HELD(16)];  /* of a row by position and attitude of the frame relative to the host */
    float stereo[VF_WINDOW_STEREO][VF_GROUP_HELD(16)]; /* of camera 1's row, by its offsets */
    float cost[VF_GROUP_HELD(16)];
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

/** Weight of a sight by its squared residual, k: from which on it counts less; its cost. */
VF_FN float vf_landmark_weight(float square, float k, float *cost)
{
    const float part = k / square;
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

/** Row of derivatives by those by the point, g, and by the inverse range. i: value of the lane. */
VF_FN void vf_landmark_row_set(struct vf_landmark_rows *rows, int row, int i, const float g[3], const float by_inverse,
                               const struct vf_landmark_point *at, float inverse)
{
    float about[3];
    vf_cross(at->turned, g, about);
    rows->point[0][row][i] = vf_dot(g, at->one);
    rows->point[1][row][i] = vf_dot(g, at->two);
    rows->point[2][row][i] = by_inverse;
    for (int k = 0; k < 3; k++) {
        rows->pose[row][k][i] = inverse * g[k];
        rows->pose[row][3 + k][i] = about[k];
    }
}

/** Rows of camera 0: the first two of a lane. */
VF_FN float vf_landmark_first(struct vf_landmark_rows *rows, int i, float outlier, const struct vf_window_sight *sight,
                              const struct vf_landmark_point *at, const struct vf_landmark_drift *drift, float inverse)
{
    float seen[3], axis[2][3], g[2][3], r[2], cost;
    vf_landmark_turned(drift, sight->bearing, sight->late_s, seen);
    if (!(vf_dot(seen, at->Y) > 0.1f)) return 2.0f * outlier;
    vf_landmark_axes(seen, axis[0], axis[1]);
    for (int row = 0; row < 2; row++) r[row] = vf_landmark_residual(axis[row], seen, at->Y, sight->weight, g[row]);
    const float root = sqrtf(vf_landmark_weight(r[0] * r[0] + r[1] * r[1], outlier, &cost));
    for (int row = 0; row < 2; row++) {
        rows->r[row][i] = r[row] * root;
        for (int k = 0; k < 3; k++) g[row][k] *= root;
        vf_landmark_row_set(rows, row, i, g[row], vf_dot(g[row], at->t), at, inverse);
    }
    return cost;
}

/** Index of a pair of offsets of camera 1, a <= b. */
VF_FN int vf_offsets_pair(int a, int b) { return a * VF_WINDOW_STEREO - a * (a - 1) / 2 + b - a; }

/** By how much each offset of camera 1 moves a bearing along its epipolar line. */
VF_FN void vf_landmark_offsets(const struct vf_landmark_rig *rig, const float other[3], const float along[3],
                               float by[VF_WINDOW_STEREO])
{
    float across[3];
    vf_cross(other, along, across); /* along' [d] other = d' (other x along) */
    by[VF_STEREO_OFFSET] = 1.0f;
    by[VF_STEREO_TURN] = rig->turns * across[2];
}

/** Residual of camera 1: that of the point at the bearing sighted in the landmark's range, so that an error of that
 *  bearing is in the rows of camera 0 alone. */
struct vf_landmark_other {
    float r;                    /* residual in deviations of the sight */
    float g[3];                 /* its derivative by the point */
    float base[3];              /* camera 0 in axes of camera 1, at the times of the rows */
    float near;                 /* range from the host over that from camera 0 */
    float by[VF_WINDOW_STEREO]; /* derivatives of the bearing by the offsets of camera 1 */
};

/** Y: landmark's place times its inverse range, axes of camera 0. Returns 0 if it is not before camera 1. */
VF_FN int vf_landmark_other_of(struct vf_landmark_other *o, const struct vf_landmark_rig *rig,
                               const struct vf_window_sight *sight, const float Y[3],
                               const struct vf_landmark_drift *drift, float inverse)
{
    float point[3], seen[3], moved[3], along[3], off = 0.0f;
    o->near = 1.0f / sqrtf(vf_dot(Y, Y));
    const float range = inverse * o->near; /* inverse range from camera 0 */
    for (int k = 0; k < 3; k++) moved[k] = -sight->later_s * drift->velocity[k];
    vf_transform(rig->R_1_0, moved, o->base);
    vf_landmark_turned(drift, sight->bearing, -sight->later_s, seen);
    vf_transform(rig->R_1_0, seen, point);
    for (int k = 0; k < 3; k++) {
        o->base[k] += rig->t_1_0[k];
        point[k] += range * o->base[k];
    }
    if (!(vf_dot(sight->other, point) > 0.1f)) return 0;
    vf_landmark_along(rig, sight->other, along);
    vf_landmark_offsets(rig, sight->other, along, o->by);
    for (int n = 0; n < VF_WINDOW_STEREO; n++) off += rig->stereo[n] * o->by[n] * sight->other_weight;
    o->r = vf_landmark_residual(along, sight->other, point, sight->other_weight, o->g) + off;
    return 1;
}

/** Row of camera 1, the third of a lane. */
VF_FN float vf_landmark_second(struct vf_landmark_rows *rows, int i, const struct vf_landmark_rig *rig,
                               const struct vf_window_sight *sight, const struct vf_landmark_point *at,
                               const struct vf_landmark_drift *drift, float inverse)
{
    struct vf_landmark_other o;
    float by_point[3], cost;
    if (!vf_landmark_other_of(&o, rig, sight, at->Y, drift, inverse)) return 2.0f * rig->outlier;
    const float root = sqrtf(vf_landmark_weight(o.r * o.r, rig->outlier, &cost)), slope = root * vf_dot(o.g, o.base);
    const float range = inverse * o.near;
    for (int k = 0; k < 3; k++) by_point[k] = -slope * range * o.near * o.near * at->Y[k];
    rows->r[2][i] = o.r * root;
    for (int n = 0; n < VF_WINDOW_STEREO; n++) rows->stereo[n][i] = o.by[n] * sight->other_weight * root;
    vf_landmark_row_set(rows, 2, i, by_point, vf_dot(by_point, at->t) + slope * o.near, at, inverse);
    return cost;
}

/** Rows of a sight, by value i of a lane. pose: of its frame relative to the host; own: it is the host. */
VF_FN void vf_landmark_sight_rows(struct vf_landmark_rows *rows, int i, const struct vf_landmark_place *place,
                                  const struct vf_window_sight *sight, const struct vf_landmark_rig *rig,
                                  const struct vf_pose *pose, const struct vf_landmark_drift *drift, int own)
{
    struct vf_landmark_point at;
    float one[3], two[3];
    vf_landmark_axes(place->bearing, one, two);
    vf_transform(pose->R, place->bearing, at.turned);
    vf_transform(pose->R, one, at.one);
    vf_transform(pose->R, two, at.two);
    for (int k = 0; k < 3; k++) {
        at.t[k] = pose->t[k] - sight->late_s * drift->velocity[k];
        at.Y[k] = at.turned[k] + place->inverse * at.t[k];
    }
    rows->cost[i] = vf_landmark_first(rows, i, rig->outlier, sight, &at, drift, place->inverse);
    if (sight->other_weight > 0.0f)
        rows->cost[i] += vf_landmark_second(rows, i, rig, sight, &at, drift, place->inverse);
    for (int row = 0; row < 3; row++)
        for (int k = 0; k < 6 && own; k++) rows->pose[row][k][i] = 0.0f;
}

/** Rows of all sights of a landmark in a place. pose, drift: of the frames, relative to the host, and their own. */
VF_FN void vf_landmark_rows_of(struct vf_landmark_rows *rows, const struct vf_landmark *l,
                               const struct vf_landmark_place *place, const struct vf_landmark_rig *rig,
                               const struct vf_pose pose[VF_WINDOW_FRAMES],
                               const struct vf_landmark_drift drift[VF_WINDOW_FRAMES])
{
    memset(rows, 0, sizeof *rows);
    VF_GROUP(16, i, f)
    {
        if (f < VF_WINDOW_FRAMES && l->seen >> f & 1) {
            vf_landmark_sight_rows(rows, i, place, &l->sight[f], rig, &pose[f], &drift[f], f == l->host);
        } else if (f == VF_LANDMARK_KNOWN) {
            rows->r[0][i] = (place->inverse - VF_WINDOW_RANGE_MEAN) / rig->range_sigma;
            rows->point[2][0][i] = 1.0f / rig->range_sigma;
            rows->cost[i] = rows->r[0][i] * rows->r[0][i];
        }
    }
}

/** Product of two columns. */
VF_FN float vf_landmark_product(float a[3][VF_GROUP_HELD(16)], float b[3][VF_GROUP_HELD(16)])
{
    float part[VF_GROUP_HELD(16)];
    VF_GROUP_VALUES(16, i)
    part[i] = a[0][i] * b[0][i] + a[1][i] * b[1][i] + a[2][i] * b[2][i];
    return vf_group_sum_16(part);
}

/** Columns of the landmark made orthonormal, in place; R: factor, upper triangle 00 01 02 11 12 22. A column that
 *  depends on those before is set to 0, and its part of R to 1. */
VF_FN void vf_landmark_factor(float point[3][3][VF_GROUP_HELD(16)], float R[6])
{
    VF_UNROLL
    for (int c = 0; c < 3; c++) {
        const float whole = vf_landmark_product(point[c], point[c]);
        float part[3] = {0.0f, 0.0f, 0.0f};
        VF_UNROLL
        for (int pass = 0; pass < 2; pass++)
            for (int d = 0; d < c; d++) {
                const float along = vf_landmark_product(point[d], point[c]);
                part[d] += along;
                for (int row = 0; row < 3; row++) VF_GROUP_VALUES(16, i)
                point[c][row][i] -= along * point[d][row][i];
            }
        const float square = vf_landmark_product(point[c], point[c]);
        const int good = square > 1e-8f * whole;
        const float length = good ? sqrtf(square) : 1.0f;
        for (int row = 0; row < 3; row++) VF_GROUP_VALUES(16, i)
        point[c][row][i] = good ? point[c][row][i] / length : 0.0f;
        part[c] = length;
        for (int d = 0; d <= c; d++) R[d == 0 ? c : d == 1 ? 2 + c : 5] = part[d];
    }
}

/** Equations of a lane's rows on its frame's relative pose. */
VF_FN void vf_landmark_keep_frame(struct vf_landmark_row *row, struct vf_landmark_more *more,
                                  const struct vf_landmark_rows *rows, int i, int f, const float residual[3],
                                  float stereo[3][VF_WINDOW_STEREO])
{
    for (int k = 0; k < 6; k++) {
        float g = 0.0f, cross[VF_WINDOW_STEREO];
        for (int n = 0; n < VF_WINDOW_STEREO; n++) cross[n] = rows->pose[2][k][i] * rows->stereo[n][i];
        for (int at = 0; at < 3; at++) {
            more->direct[f][at][k] = rows->pose[at][k][i];
            g += rows->pose[at][k][i] * rows->r[at][i];
        }
        for (int c = 0; c < 3; c++) {
            float sum = 0.0f;
            for (int at = 0; at < 3; at++) sum += rows->point[c][at][i] * rows->pose[at][k][i];
            row->pose[c][f][k] = sum;
            g -= sum * residual[c];
            for (int n = 0; n < VF_WINDOW_STEREO; n++) cross[n] -= sum * stereo[c][n];
        }
        more->slope[f][0][k] = g;
        for (int n = 0; n < VF_WINDOW_STEREO; n++) more->slope[f][1 + n][k] = cross[n];
    }
}

/** Equations of the rows on the offsets of camera 1: along the landmark's columns, stereo, and without it, own: their
 *  products, then with the residuals, of which `residual` is the part along the columns. */
VF_FN void vf_landmark_keep_stereo(const struct vf_landmark_rows *rows, const float residual[3],
                                   float stereo[3][VF_WINDOW_STEREO], float own[VF_WINDOW_STEREO_SUMS])
{
    float part[VF_GROUP_HELD(16)];
    VF_UNROLL
    for (int n = 0; n < VF_WINDOW_STEREO; n++) {
        VF_UNROLL
        for (int c = 0; c < 3; c++) {
            VF_GROUP_VALUES(16, i)
            part[i] = rows->point[c][2][i] * rows->stereo[n][i];
            stereo[c][n] = vf_group_sum_16(part);
        }
    }
    VF_UNROLL
    for (int n = 0; n < VF_WINDOW_STEREO; n++) {
        VF_UNROLL
        for (int m = n; m <= VF_WINDOW_STEREO; m++) { /* the last one: residuals */
            VF_GROUP_VALUES(16, i)
            part[i] = rows->stereo[n][i] * (m < VF_WINDOW_STEREO ? rows->stereo[m][i] : rows->r[2][i]);
            float sum = vf_group_sum_16(part);
            for (int c = 0; c < 3; c++) sum -= stereo[c][n] * (m < VF_WINDOW_STEREO ? stereo[c][m] : residual[c]);
            own[m < VF_WINDOW_STEREO ? vf_offsets_pair(n, m) : VF_WINDOW_STEREO_PAIRS + n] = sum;
        }
    }
}

/** Equations of the rows on the relative poses of the frames in `seen`: along the landmark's columns, for changes,
 *  and without it. rows->point: orthonormal; R: their factor. taken: 0: nothing is written. */
VF_FN void vf_landmark_keep(struct vf_landmark_row *row, struct vf_landmark_more *more, struct vf_landmark_rows *rows,
                            const float R[6], uint32_t seen, int taken)
{
    float residual[3], stereo[3][VF_WINDOW_STEREO], own[VF_WINDOW_STEREO_SUMS];
    VF_UNROLL
    for (int c = 0; c < 3; c++) residual[c] = vf_landmark_product(rows->point[c], rows->r);
    vf_landmark_keep_stereo(rows, residual, stereo, own);
    const float cost = vf_group_sum_16(rows->cost);
    VF_GROUP(16, i, f)
    {
        if (taken && f < VF_WINDOW_FRAMES && seen >> f & 1)
            vf_landmark_keep_frame(row, more, rows, i, f, residual, stereo);
    }
    if (!taken || !VF_GROUP_FIRST(16)) return;
    for (int k = 0; k < 6; k++) row->R[k] = R[k];
    for (int c = 0; c < 3; c++) {
        row->residual[c] = residual[c];
        for (int n = 0; n < VF_WINDOW_STEREO; n++) row->stereo[c][n] = stereo[c][n];
    }
    for (int n = 0; n < VF_WINDOW_STEREO_SUMS; n++) more->of_stereo[n] = own[n];
    more->cost = cost;
}

/** Inverse range moved by a change, to first order, that is never negative: a point lies before the camera. Where it
 *  could lie behind, the whole window would have a second solution beside the true one, with all ranges and the
 *  velocity negative. */
VF_FN float vf_landmark_inverse_moved(float inverse, float change)
{
    return change >= 0.0f ? inverse + change : inverse * inverse / (inverse - change);
}

/** Place of a landmark changed as goes with changes of the relative poses and of the offsets of camera 1. seen: bits of
 *  its frames but the host. */
VF_FN void vf_landmark_move(struct vf_landmark_place *place, uint32_t seen, const struct vf_landmark_row *row,
                            const float change[VF_WINDOW_FRAMES][6], const double stereo[VF_WINDOW_STEREO])
{
    float y[3], one[3], two[3], part[VF_GROUP_HELD(16)];
    for (int c = 0; c < 3; c++) {
        VF_GROUP(16, i, f)
        {
            part[i] = 0.0f;
            for (int k = 0; k < 6 && f < VF_WINDOW_FRAMES && seen >> f & 1; k++)
                part[i] += row->pose[c][f][k] * change[f][k];
        }
        y[c] = -row->residual[c];
        for (int n = 0; n < VF_WINDOW_STEREO; n++) y[c] -= row->stereo[c][n] * (float)stereo[n];
        y[c] -= vf_group_sum_16(part);
    }
    y[2] = y[2] / row->R[5];
    y[1] = (y[1] - row->R[4] * y[2]) / row->R[3];
    y[0] = (y[0] - row->R[1] * y[1] - row->R[2] * y[2]) / row->R[0];
    vf_landmark_axes(place->bearing, one, two);
    for (int k = 0; k < 3; k++) place->bearing[k] += y[0] * one[k] + y[1] * two[k];
    vf_unit(place->bearing);
    place->inverse = vf_landmark_inverse_moved(place->inverse, y[2]);
}

#endif
