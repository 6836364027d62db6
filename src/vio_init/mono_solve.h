/* SPDX-License-Identifier: MIT */
/* Monocular initialization: joint solution by Levenberg-Marquardt with the points eliminated.
 *
 * In      values of frames and points, preintegrals, observations
 * Out     refined values; covariance of the newest frame's errors; standard deviation of the scale
 * Rule    residual of an observation: gnomonic coordinates of the point's direction about the observed bearing, times 1
 *         / sigma. Robust weight, cost and non-negative inverse ranges as in factor_landmark.h.
 * Exact   double precision in one order
 */
#ifndef VF_MONO_SOLVE_H
#define VF_MONO_SOLVE_H

#include "mono_guess.h"

/** Two residuals of the observation of a point in a frame, with their Jacobian. */
struct vf_mono_residual {
    double r[2],                           /* residuals in standard deviations, robustly weighted */
        camera[2][VF_MONO_CAMERA_COLUMNS], /* derivatives of r with respect to the camera's time offset and mounting */
        frame[2][6],                       /* derivatives of r with respect to the pose of the observing frame */
        anchor[2][6],                      /* derivatives of r with respect to the pose of the anchor frame */
        point[2][3],                       /* derivatives of r with respect to the point: bearing (2), 1 / range (1) */
        cost;                              /* robust cost of the observation */
};

/** Two unit vectors orthogonal to the unit vector b. */
VF_FN void vf_mono_tangent_basis(const double b[3], double one[3], double two[3])
{
    int least = 0;
    double axis[3] = {0.0, 0.0, 0.0}, square = 0.0;
    for (int k = 1; k < 3; k++)
        if (b[k] * b[k] < b[least] * b[least]) least = k;
    axis[least] = 1.0;
    vf_cross_double(b, axis, one);
    for (int k = 0; k < 3; k++) square += one[k] * one[k];
    for (int k = 0; k < 3; k++) one[k] /= sqrt(square);
    vf_cross_double(b, one, two);
}

/** Computes the pose of camera 0 in frame i from the frame's current estimate. */
VF_FN void vf_mono_pose(const struct vf_mono *s, uint32_t i, struct vf_mono_pose *pose)
{
    const struct vf_vio_state *x = &s->frame[i].slot.value;
    double rate[3], turned[3], turn[4], q[4];
    for (int k = 0; k < 3; k++) {
        rate[k] = s->frame[i].rate[k] - x->bias[k];
        turned[k] = rate[k] * s->offset_s;
    }
    vf_quaternion_exponential(turned, turn);
    vf_quaternion_multiply(x->q, turn, q);
    vf_quaternion_matrix(q, pose->R);
    vf_relative_product(pose->R, s->R_imu_cam, pose->C);
    vf_transform_double(pose->R, s->rig.p_imu_cam_m, pose->arm);
    vf_transform_double(pose->R, rate, pose->turn);
    for (int k = 0; k < 3; k++) pose->c[k] = x->p[k] + x->v[k] * s->offset_s + pose->arm[k];
}

/** Computes the poses of camera 0 in all frames from their current estimates. */
VF_FN void vf_mono_poses(struct vf_mono *s)
{
    for (uint32_t i = 0; i < s->frames; i++) vf_mono_pose(s, i, &s->pose[i]);
}

/** Computes residuals and Jacobian of the observation of point l in frame i, at the current poses. */
VF_FN void vf_mono_observation(const struct vf_mono *s, const struct vf_mono_point *l, uint32_t i,
                               struct vf_mono_residual *rows)
{
    const struct vf_mono_pose *now = &s->pose[i], *anchor = &s->pose[l->anchor];
    double D[3], Y[3], turned[3], one[3], two[3], axis[2][3], along[3][3];
    const double *c = now->c, *h = anchor->c;
    const double seen[3] = {(double)l->bearing[i][0], (double)l->bearing[i][1], (double)l->bearing[i][2]};
    const int own = (int32_t)i == l->anchor;
    memset(rows, 0, sizeof *rows);
    vf_transform_double(anchor->C, l->b, turned);
    for (int k = 0; k < 3; k++) D[k] = turned[k] + l->inverse_range * (h[k] - c[k]);
    vf_transform_transposed(now->C, D, Y);
    const double depth = Y[0] * seen[0] + Y[1] * seen[1] + Y[2] * seen[2];
    rows->cost = 2.0 * s->outlier;
    if (!(depth > VF_LANDMARK_MIN_DEPTH)) return;
    vf_mono_tangent_basis(seen, axis[0], axis[1]);
    vf_mono_tangent_basis(l->b, one, two);
    vf_transform_double(anchor->C, one, along[0]);
    vf_transform_double(anchor->C, two, along[1]);
    for (int k = 0; k < 3; k++) along[2][k] = h[k] - c[k];
    for (int m = 0; m < 2; m++) rows->r[m] = (axis[m][0] * Y[0] + axis[m][1] * Y[1] + axis[m][2] * Y[2]) / depth;
    const double weight = 1.0 / (double)l->sigma[i],
                 square = weight * weight * (rows->r[0] * rows->r[0] + rows->r[1] * rows->r[1]);
    const double ratio = s->outlier / square;
    const double root = square <= s->outlier ? weight : weight * ratio;
    rows->cost = square <= s->outlier ? square : 2.0 * s->outlier - s->outlier * ratio;
    for (int m = 0; m < 2; m++) {
        double g[3], G[3], by_anchor[3], by_frame[3], a[3], b[3];
        for (int k = 0; k < 3; k++) g[k] = (axis[m][k] - rows->r[m] * seen[k]) / depth * root;
        vf_transform_double(now->C, g, G);
        /* uses G . (w x u) = w . (u x G) for a rotation vector w and a vector u */
        vf_cross_double(turned, G, by_anchor);
        vf_cross_double(anchor->arm, G, a);
        vf_cross_double(D, G, by_frame);
        vf_cross_double(now->arm, G, b);
        for (int k = 0; k < 3 && !own; k++) {
            rows->frame[m][k] = -l->inverse_range * G[k];
            rows->anchor[m][k] = l->inverse_range * G[k];
            rows->frame[m][3 + k] = -by_frame[k] - l->inverse_range * b[k];
            rows->anchor[m][3 + k] = by_anchor[k] + l->inverse_range * a[k];
            rows->camera[m][0] += rows->frame[m][k] * s->frame[i].slot.value.v[k] +
                                  rows->frame[m][3 + k] * now->turn[k] +
                                  rows->anchor[m][k] * s->frame[l->anchor].slot.value.v[k] +
                                  rows->anchor[m][3 + k] * anchor->turn[k];
            for (int j = 0; j < 3; j++)
                rows->camera[m][1 + j] += anchor->R[3 * k + j] * by_anchor[k] - now->R[3 * k + j] * by_frame[k];
        }
        for (int k = 0; k < 3; k++) rows->point[m][k] = G[0] * along[k][0] + G[1] * along[k][1] + G[2] * along[k][2];
        rows->r[m] *= root;
    }
}

/** Adds the Jacobian row of a residual r to the lower triangle of H and to g. J: n derivatives; column: column of H for
 *  each derivative, ascending. */
VF_FN void vf_mono_add_row(struct vf_mono *s, const int *column, const double *J, int n, double r)
{
    for (int a = 0; a < n; a++) {
        double *row = &s->H[column[a] * VF_MONO_COLUMNS];
        s->g[column[a]] += J[a] * r;
        for (int b = 0; b <= a; b++) row[column[b]] += J[a] * J[b];
    }
}

/** Number of visual columns: those of the camera and of all poses, without velocities and biases. */
#define VF_MONO_VISUAL_COLUMNS (VF_MONO_CAMERA_COLUMNS + 6 * VF_MONO_FRAMES)
/** Column of the linear system for visual column `visual`: camera, then 6 per frame. */
VF_FN int vf_mono_column(int visual)
{
    const int pose = visual - VF_MONO_CAMERA_COLUMNS;
    return visual < VF_MONO_CAMERA_COLUMNS ? visual
                                           : VF_MONO_CAMERA_COLUMNS + VF_MONO_FRAME_COLUMNS * (pose / 6) + pose % 6;
}

/** Normal equations of a point over its bearing and inverse range. */
struct vf_mono_point_block {
    double L[9],                       /* Cholesky factor of the 3x3 block of the point */
        g[3],                          /* gradient by the point */
        by[VF_MONO_VISUAL_COLUMNS][3]; /* block of camera and poses (rows) and the point (columns) */
};

/** Computes the normal equations of a point. adds: 1: also adds its observations to the linear system. Returns the
 *  robust cost. */
VF_FN double vf_mono_linearize_point(struct vf_mono *s, const struct vf_mono_point *l,
                                     struct vf_mono_point_block *block, int adds)
{
    enum { C = VF_MONO_CAMERA_COLUMNS, N = VF_MONO_CAMERA_COLUMNS + 12 };
    struct vf_mono_residual rows;
    const double over = 1.0 / VF_MONO_RANGE_SIGMA, delta = (l->inverse_range - VF_MONO_RANGE_MEAN) * over;
    double A[9], cost = delta * delta;
    int visual[N], column[N];
    memset(block, 0, sizeof *block);
    memset(A, 0, sizeof A);
    A[8] = over * over;
    block->g[2] = delta * over;
    for (uint32_t i = 0; i < s->frames; i++) {
        if (!(l->seen >> i & 1)) continue;
        vf_mono_observation(s, l, i, &rows);
        cost += rows.cost;
        /* columns of camera, anchor and frame; ascending, because the anchor is the first frame of the point */
        for (int k = 0; k < N; k++) {
            visual[k] = k < C ? k : k < C + 6 ? 6 * l->anchor + k : 6 * (int)i + k - 6;
            column[k] = vf_mono_column(visual[k]);
        }
        for (int m = 0; m < 2; m++) {
            double J[N];
            memcpy(J, rows.camera[m], sizeof rows.camera[m]);
            memcpy(J + C, rows.anchor[m], sizeof rows.anchor[m]);
            memcpy(J + C + 6, rows.frame[m], sizeof rows.frame[m]);
            if (adds && (int32_t)i != l->anchor) vf_mono_add_row(s, column, J, N, rows.r[m]);
            for (int a = 0; a < 3; a++) {
                block->g[a] += rows.point[m][a] * rows.r[m];
                for (int b = 0; b < 3; b++) A[3 * a + b] += rows.point[m][a] * rows.point[m][b];
            }
            for (int k = 0; k < N; k++)
                for (int a = 0; a < 3; a++) block->by[visual[k]][a] += J[k] * rows.point[m][a];
        }
    }
    vf_solve_cholesky(A, block->L, 3, 3, VF_SOLVE_ROUNDING);
    return cost;
}

/** Eliminates a point from the linear system. seen: bits of the frames that observe it. */
VF_FN void vf_mono_eliminate_point(struct vf_mono *s, struct vf_mono_point_block *block, uint32_t seen)
{
    int column[VF_MONO_VISUAL_COLUMNS], count = 0;
    /* moves the columns of frames that observe the point together */
    for (int i = 0; i < VF_MONO_CAMERA_COLUMNS + 6 * (int)s->frames; i++) {
        if (i >= VF_MONO_CAMERA_COLUMNS && !(seen >> (i - VF_MONO_CAMERA_COLUMNS) / 6 & 1)) continue;
        vf_solve_forward(block->L, block->by[i], 3, 3);
        column[count] = vf_mono_column(i);
        if (count < i) memcpy(block->by[count], block->by[i], sizeof block->by[i]);
        count++;
    }
    vf_solve_forward(block->L, block->g, 3, 3);
    for (int i = 0; i < count; i++) {
        const double *a = block->by[i];
        double *row = &s->H[column[i] * VF_MONO_COLUMNS];
        s->g[column[i]] -= a[0] * block->g[0] + a[1] * block->g[1] + a[2] * block->g[2];
        for (int j = 0; j <= i; j++) {
            const double *b = block->by[j];
            row[column[j]] -= a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        }
    }
}

/** Adds the preintegral between frames i - 1 and i to the linear system. Returns its cost. */
VF_FN double vf_mono_inertial(struct vf_mono *s, uint32_t i)
{
    const int bias = VF_MONO_CAMERA_COLUMNS + VF_MONO_FRAME_COLUMNS * (int)s->frames;
    int column[24];
    double cost = 0.0;
    vf_inertial_whitened(&s->factor, &s->frame[i - 1].slot, &s->frame[i].slot, &s->noise);
    for (int k = 0; k < VF_MONO_FRAME_COLUMNS; k++) {
        column[k] = VF_MONO_CAMERA_COLUMNS + VF_MONO_FRAME_COLUMNS * ((int)i - 1) + k;
        column[VF_MONO_FRAME_COLUMNS + k] = VF_MONO_CAMERA_COLUMNS + VF_MONO_FRAME_COLUMNS * (int)i + k;
    }
    for (int k = 0; k < 6; k++) column[2 * VF_MONO_FRAME_COLUMNS + k] = bias + k;
    for (int r = 0; r < VF_MONO_FRAME_COLUMNS; r++) {
        double J[24];
        memcpy(J, s->factor.J[r], VF_MONO_FRAME_COLUMNS * sizeof *J);
        memcpy(J + VF_MONO_FRAME_COLUMNS, s->factor.J[r] + VF_NAV_ERRORS, VF_MONO_FRAME_COLUMNS * sizeof *J);
        memcpy(J + 2 * VF_MONO_FRAME_COLUMNS, s->factor.J[r] + VF_NAV_GYRO, 6 * sizeof *J);
        vf_mono_add_row(s, column, J, 24, s->factor.r[r]);
        cost += s->factor.r[r] * s->factor.r[r];
    }
    return cost;
}

/** Adds the priors of the first frame, the biases and the camera to the linear system. Returns their cost. */
VF_FN double vf_mono_priors(struct vf_mono *s)
{
    const struct vf_vio_state *first = &s->frame[0].slot.value;
    double cost = 0.0;
    for (int k = 0; k < VF_MONO_FRAME_COLUMNS + 6; k++) {
        const int gauge = k < VF_NAV_W || k == VF_NAV_W + 2, bias = k - VF_MONO_FRAME_COLUMNS;
        const int at = VF_MONO_CAMERA_COLUMNS + (bias < 0 ? k : VF_MONO_FRAME_COLUMNS * (int)s->frames + bias);
        const double sigma = gauge      ? VF_START_GAUGE_SIGMA
                             : k < 6    ? VF_START_PRIOR_TILT_RAD
                             : bias < 0 ? VF_START_PRIOR_MPS
                             : bias < 3 ? VF_START_GYRO_BIAS_RAD_S
                                        : VF_START_ACCEL_BIAS_M_S2;
        const double delta = bias < 0 ? 0.0 : first->bias[bias] / sigma;
        s->H[at * (VF_MONO_COLUMNS + 1)] += 1.0 / (sigma * sigma);
        s->g[at] += delta / sigma;
        cost += delta * delta;
    }
    for (int k = 0; k < VF_MONO_CAMERA_COLUMNS; k++) {
        const double sigma = k ? VF_VIO_MOUNT_SIGMA_RAD : VF_VIO_TIME_OFFSET_SIGMA_S;
        const double delta = (k ? s->mount[k - 1] : s->offset_s) / sigma;
        s->H[k * (VF_MONO_COLUMNS + 1)] += 1.0 / (sigma * sigma);
        s->g[k] += delta / sigma;
        cost += delta * delta;
    }
    return cost;
}

/** Assembles the linear system at the current estimate. Returns the cost. */
VF_FN double vf_mono_build_system(struct vf_mono *s)
{
    struct vf_mono_point_block block;
    double cost;
    s->work++;
    memset(s->H, 0, sizeof s->H);
    memset(s->g, 0, sizeof s->g);
    vf_mono_poses(s);
    cost = vf_mono_priors(s);
    for (uint32_t i = 1; i < s->frames; i++) cost += vf_mono_inertial(s, i);
    for (uint32_t i = 0; i < s->points; i++) {
        cost += vf_mono_linearize_point(s, &s->point[i], &block, 1);
        vf_mono_eliminate_point(s, &block, s->point[i].seen);
    }
    return cost;
}

/** Computes s->R_imu_cam from the rig and the estimated mounting error. */
VF_FN void vf_mono_update_mount(struct vf_mono *s)
{
    double turn[4], R[9];
    vf_start_clamped_rotation(s->mount, turn);
    vf_quaternion_matrix(turn, R);
    vf_relative_product(R, s->rig.R_imu_cam, s->R_imu_cam);
}

/** Back-substitutes the points, and adds the solution x to frames, camera and points. Saves their previous values. */
VF_FN void vf_mono_apply_step(struct vf_mono *s)
{
    const int bias = VF_MONO_CAMERA_COLUMNS + VF_MONO_FRAME_COLUMNS * (int)s->frames;
    vf_mono_poses(s);
    for (uint32_t n = 0; n < s->points; n++) {
        struct vf_mono_point *l = &s->point[n];
        struct vf_mono_point_block block;
        double d[3], one[3], two[3], square = 0.0;
        vf_mono_linearize_point(s, l, &block, 0);
        memcpy(s->saved_points[n], l->b, sizeof l->b);
        s->saved_points[n][3] = l->inverse_range;
        for (int a = 0; a < 3; a++) {
            d[a] = -block.g[a];
            for (int i = 0; i < VF_MONO_CAMERA_COLUMNS + 6 * (int)s->frames; i++)
                d[a] -= block.by[i][a] * s->x[vf_mono_column(i)];
        }
        vf_solve_forward(block.L, d, 3, 3);
        vf_solve_back(block.L, d, 3, 3);
        vf_mono_tangent_basis(l->b, one, two);
        for (int k = 0; k < 3; k++) {
            l->b[k] += d[0] * one[k] + d[1] * two[k];
            square += l->b[k] * l->b[k];
        }
        for (int k = 0; k < 3; k++) l->b[k] /= sqrt(square);
        l->inverse_range = d[2] >= 0.0 ? l->inverse_range + d[2]
                                       : l->inverse_range * l->inverse_range / (l->inverse_range - d[2]);
    }
    for (uint32_t i = 0; i < s->frames; i++) {
        double e[VF_NAV_ERRORS];
        s->saved_values[i] = s->frame[i].slot.value;
        memcpy(e, &s->x[VF_MONO_CAMERA_COLUMNS + VF_MONO_FRAME_COLUMNS * i], VF_MONO_FRAME_COLUMNS * sizeof *e);
        memcpy(e + VF_MONO_FRAME_COLUMNS, &s->x[bias], 6 * sizeof *e);
        vf_start_apply_step(&s->frame[i].slot.value, e);
    }
    s->saved_camera[0] = s->offset_s;
    memcpy(s->saved_camera + 1, s->mount, sizeof s->mount);
    s->offset_s += s->x[0];
    for (int k = 0; k < 3; k++) s->mount[k] += s->x[1 + k];
    vf_mono_update_mount(s);
}

/** Restores the values of frames, camera and points before the last step. */
VF_FN void vf_mono_revert_step(struct vf_mono *s)
{
    for (uint32_t i = 0; i < s->frames; i++) s->frame[i].slot.value = s->saved_values[i];
    s->offset_s = s->saved_camera[0];
    memcpy(s->mount, s->saved_camera + 1, sizeof s->mount);
    vf_mono_update_mount(s);
    for (uint32_t n = 0; n < s->points; n++) {
        memcpy(s->point[n].b, s->saved_points[n], sizeof s->point[n].b);
        s->point[n].inverse_range = s->saved_points[n][3];
    }
}

/** Initializes the optimization, and assembles the linear system at the first approximation. */
VF_FN void vf_mono_begin_solve(struct vf_mono *s)
{
    s->iterations = s->reverted = 0;
    s->damping = VF_MONO_DAMPING;
    s->step_chi2 = 0.0;
    s->outlier = VF_MONO_FIRST_OUTLIER;
    s->offset_s = s->mount[0] = s->mount[1] = s->mount[2] = 0.0;
    vf_mono_update_mount(s);
    s->cost = vf_mono_build_system(s);
}

/** Solves the damped linear system and applies the step. s->step_chi2: out, square of the step, normalised by the
 *  step's covariance. */
VF_FN void vf_mono_solve_step(struct vf_mono *s)
{
    const int n = VF_MONO_CAMERA_COLUMNS + VF_MONO_FRAME_COLUMNS * (int)s->frames + 6;
    vf_solve_cholesky(s->H, s->H, n, VF_MONO_COLUMNS, s->damping);
    for (int k = 0; k < n; k++) s->x[k] = -s->g[k];
    vf_solve_forward(s->H, s->x, n, VF_MONO_COLUMNS);
    s->step_chi2 = 0.0;
    for (int k = 0; k < n; k++) s->step_chi2 += s->x[k] * s->x[k];
    vf_solve_back(s->H, s->x, n, VF_MONO_COLUMNS);
    vf_mono_apply_step(s);
}

/** Computes one optimization step. After a reverted step, it only assembles the linear system again at the restored
 *  values, with more damping. Each call assembles one system. Returns 1 after the last step. */
VF_FN int vf_mono_iterate(struct vf_mono *s)
{
    const int annealing = s->outlier > VF_MONO_OUTLIER;
    if (s->reverted) {
        s->reverted = 0;
        vf_mono_build_system(s);
        s->damping *= VF_VIO_DAMPING_INCREASE;
        return ++s->iterations == VF_MONO_ITERATIONS;
    }
    vf_mono_solve_step(s);
    s->outlier = 0.5 * 0.5 * s->outlier > VF_MONO_OUTLIER ? 0.5 * 0.5 * s->outlier : VF_MONO_OUTLIER;
    const double cost = vf_mono_build_system(s);
    if (!annealing && !(cost < s->cost * (1.0 + VF_SOLVE_ROUNDING))) {
        vf_mono_revert_step(s);
        s->reverted = 1;
        return 0;
    }
    const int converged = !annealing && s->step_chi2 < VF_MONO_CONVERGED && s->damping <= VF_MONO_DAMPING;
    if (!annealing) s->damping *= VF_VIO_DAMPING_DECREASE;
    s->cost = cost;
    return ++s->iterations == VF_MONO_ITERATIONS || converged;
}

/** Factorizes in place the undamped linear system s->H at the current estimate, after the last step. */
VF_FN void vf_mono_factor(struct vf_mono *s)
{
    const int n = VF_MONO_CAMERA_COLUMNS + VF_MONO_FRAME_COLUMNS * (int)s->frames + 6;
    vf_solve_cholesky(s->H, s->H, n, VF_MONO_COLUMNS, 0.0);
}

/** Computes the covariance P of the newest frame's errors, row-major, from the last rows of the factor. */
VF_FN void vf_mono_covariance(const struct vf_mono *s, double P[225])
{
    enum { N = VF_NAV_ERRORS };
    const int first = VF_MONO_CAMERA_COLUMNS + VF_MONO_FRAME_COLUMNS * (int)s->frames + 6 - N;
    double L[N * N];
    for (int r = 0; r < N; r++)
        for (int c = 0; c < N; c++) L[N * r + c] = s->H[(first + r) * VF_MONO_COLUMNS + first + c];
    for (int c = 0; c < N; c++) {
        double *x = &P[N * c];
        for (int r = 0; r < N; r++) x[r] = r == c ? 1.0 : 0.0;
        vf_solve_forward(L, x, N, N);
        vf_solve_back(L, x, N, N);
    }
}

/** Standard deviation, caused by noise, of a relative scale common to all positions about their mean. */
VF_FN double vf_mono_scale_sigma(struct vf_mono *s)
{
    const int n = VF_MONO_CAMERA_COLUMNS + VF_MONO_FRAME_COLUMNS * (int)s->frames + 6;
    double mean[3] = {0.0, 0.0, 0.0}, square = 0.0, variance = 0.0;
    for (uint32_t i = 0; i < s->frames; i++)
        for (int k = 0; k < 3; k++) mean[k] += s->frame[i].slot.value.p[k] / s->frames;
    memset(s->x, 0, sizeof s->x);
    for (uint32_t i = 0; i < s->frames; i++)
        for (int k = 0; k < 3; k++) {
            const double delta = s->frame[i].slot.value.p[k] - mean[k];
            s->x[VF_MONO_CAMERA_COLUMNS + VF_MONO_FRAME_COLUMNS * i + (uint32_t)k] = delta;
            square += delta * delta;
        }
    vf_solve_forward(s->H, s->x, n, VF_MONO_COLUMNS);
    for (int k = 0; k < n; k++) variance += s->x[k] * s->x[k];
    return square > VF_START_LEAST_M2 ? sqrt(variance) / square : 1.0;
}

#endif
