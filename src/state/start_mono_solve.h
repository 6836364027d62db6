/* SPDX-License-Identifier: MIT */
/* Start with one camera: all errors together, by steps of Levenberg and Marquardt with the points projected out.
 *
 * In      values of frames and points, preintegrals, sights
 * Out     values moved; covariance of the newest frame's errors; deviation of the path's size
 * Rule    residuals of a sight: gnomonic coordinates of the point's direction about the bearing sighted, over its
 *         deviation, with the weight and cost of the window's (window_landmark.h), and inverse ranges that are never
 *         negative, likewise
 * Exact   double precision in one order
 */
#ifndef VF_START_MONO_SOLVE_H
#define VF_START_MONO_SOLVE_H

#include "start_mono_guess.h"

/** Point in a frame: rows of its two residuals by the pose of that frame, by that of the host, and by the point. */
struct vf_mono_rows {
    double r[2], camera[2][VF_MONO_CAMERA], frame[2][6], host[2][6], point[2][3], cost;
};

/** Two unit vectors across a unit vector. */
VF_FN void vf_mono_across(const double b[3], double one[3], double two[3])
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

/** Camera 0 of a frame at its values. */
VF_FN void vf_mono_pose(const struct vf_mono *s, uint32_t i, struct vf_mono_pose *pose)
{
    const struct vf_window_value *x = &s->frame[i].slot.value;
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

/** Cameras of all frames, at the values. */
VF_FN void vf_mono_poses(struct vf_mono *s)
{
    for (uint32_t i = 0; i < s->frames; i++) vf_mono_pose(s, i, &s->pose[i]);
}

/** Rows of a sight, with the poses at hand. */
VF_FN void vf_mono_sight(const struct vf_mono *s, const struct vf_mono_point *l, uint32_t i, struct vf_mono_rows *rows)
{
    const struct vf_mono_pose *now = &s->pose[i], *host = &s->pose[l->host];
    double D[3], Y[3], turned[3], one[3], two[3], axis[2][3], along[3][3];
    const double *c = now->c, *h = host->c;
    const double seen[3] = {(double)l->bearing[i][0], (double)l->bearing[i][1], (double)l->bearing[i][2]};
    const int own = (int32_t)i == l->host;
    memset(rows, 0, sizeof *rows);
    vf_transform_double(host->C, l->b, turned);
    for (int k = 0; k < 3; k++) D[k] = turned[k] + l->inverse * (h[k] - c[k]);
    vf_transform_back(now->C, D, Y);
    const double depth = Y[0] * seen[0] + Y[1] * seen[1] + Y[2] * seen[2];
    rows->cost = 2.0 * s->outlier;
    if (!(depth > 0.1)) return;
    vf_mono_across(seen, axis[0], axis[1]);
    vf_mono_across(l->b, one, two);
    vf_transform_double(host->C, one, along[0]);
    vf_transform_double(host->C, two, along[1]);
    for (int k = 0; k < 3; k++) along[2][k] = h[k] - c[k];
    for (int m = 0; m < 2; m++) rows->r[m] = (axis[m][0] * Y[0] + axis[m][1] * Y[1] + axis[m][2] * Y[2]) / depth;
    const double weight = 1.0 / (double)l->sigma[i],
                 square = weight * weight * (rows->r[0] * rows->r[0] + rows->r[1] * rows->r[1]);
    const double part = s->outlier / square;
    const double root = square <= s->outlier ? weight : weight * part;
    rows->cost = square <= s->outlier ? square : 2.0 * s->outlier - s->outlier * part;
    for (int m = 0; m < 2; m++) {
        double g[3], G[3], by_host[3], by_frame[3], a[3], b[3];
        for (int k = 0; k < 3; k++) g[k] = (axis[m][k] - rows->r[m] * seen[k]) / depth * root;
        vf_transform_double(now->C, g, G);
        vf_cross_double(turned, G, by_host); /* G . (w x u) = w . (u x G) */
        vf_cross_double(host->arm, G, a);
        vf_cross_double(D, G, by_frame);
        vf_cross_double(now->arm, G, b);
        for (int k = 0; k < 3 && !own; k++) {
            rows->frame[m][k] = -l->inverse * G[k];
            rows->host[m][k] = l->inverse * G[k];
            rows->frame[m][3 + k] = -by_frame[k] - l->inverse * b[k];
            rows->host[m][3 + k] = by_host[k] + l->inverse * a[k];
            rows->camera[m][0] += rows->frame[m][k] * s->frame[i].slot.value.v[k] +
                                  rows->frame[m][3 + k] * now->turn[k] +
                                  rows->host[m][k] * s->frame[l->host].slot.value.v[k] +
                                  rows->host[m][3 + k] * host->turn[k];
            for (int j = 0; j < 3; j++)
                rows->camera[m][1 + j] += host->R[3 * k + j] * by_host[k] - now->R[3 * k + j] * by_frame[k];
        }
        for (int k = 0; k < 3; k++) rows->point[m][k] = G[0] * along[k][0] + G[1] * along[k][1] + G[2] * along[k][2];
        rows->r[m] *= root;
    }
}

/** Lower triangle of the system and its slope: rows of a residual added. column: of each of n derivatives, in rising
 *  order. */
VF_FN void vf_mono_add(struct vf_mono *s, const int *column, const double *J, int n, double r)
{
    for (int a = 0; a < n; a++) {
        double *row = &s->H[column[a] * VF_MONO_COLUMNS];
        s->g[column[a]] += J[a] * r;
        for (int b = 0; b <= a; b++) row[column[b]] += J[a] * J[b];
    }
}

/** Columns of the camera and of all poses, without velocities and biases; column of such a one. */
#define VF_MONO_SEEING (VF_MONO_CAMERA + 6 * VF_MONO_FRAMES)
VF_FN int vf_mono_column(int seeing)
{
    const int pose = seeing - VF_MONO_CAMERA;
    return seeing < VF_MONO_CAMERA ? seeing : VF_MONO_CAMERA + VF_MONO_EACH * (pose / 6) + pose % 6;
}

/** Of a point: its own equations with their factor, its slope, and how it goes with each of these columns. */
struct vf_mono_place {
    double L[9], g[3], by[VF_MONO_SEEING][3];
};

/** Equations of a point; its sights are added to the system, if `adds`. Returns the cost. */
VF_FN double vf_mono_point_of(struct vf_mono *s, const struct vf_mono_point *l, struct vf_mono_place *place, int adds)
{
    enum { C = VF_MONO_CAMERA, N = VF_MONO_CAMERA + 12 };
    struct vf_mono_rows rows;
    const double over = 1.0 / VF_MONO_RANGE_SIGMA, off = (l->inverse - VF_MONO_RANGE_MEAN) * over;
    double A[9], cost = off * off;
    int seeing[N], column[N];
    memset(place, 0, sizeof *place);
    memset(A, 0, sizeof A);
    A[8] = over * over;
    place->g[2] = off * over;
    for (uint32_t i = 0; i < s->frames; i++) {
        if (!(l->seen >> i & 1)) continue;
        vf_mono_sight(s, l, i, &rows);
        cost += rows.cost;
        for (int k = 0; k < N; k++) { /* camera, host, frame, which is later */
            seeing[k] = k < C ? k : k < C + 6 ? 6 * l->host + k : 6 * (int)i + k - 6;
            column[k] = vf_mono_column(seeing[k]);
        }
        for (int m = 0; m < 2; m++) {
            double J[N];
            memcpy(J, rows.camera[m], sizeof rows.camera[m]);
            memcpy(J + C, rows.host[m], sizeof rows.host[m]);
            memcpy(J + C + 6, rows.frame[m], sizeof rows.frame[m]);
            if (adds && (int32_t)i != l->host) vf_mono_add(s, column, J, N, rows.r[m]);
            for (int a = 0; a < 3; a++) {
                place->g[a] += rows.point[m][a] * rows.r[m];
                for (int b = 0; b < 3; b++) A[3 * a + b] += rows.point[m][a] * rows.point[m][b];
            }
            for (int k = 0; k < N; k++)
                for (int a = 0; a < 3; a++) place->by[seeing[k]][a] += J[k] * rows.point[m][a];
        }
    }
    vf_solve_factor(A, place->L, 3, 3, 1e-9);
    return cost;
}

/** A point projected out of the system. */
VF_FN void vf_mono_project(struct vf_mono *s, struct vf_mono_place *place, uint32_t seen)
{
    int column[VF_MONO_SEEING], count = 0;
    for (int i = 0; i < VF_MONO_CAMERA + 6 * (int)s->frames; i++) { /* those that see it, one behind the other */
        if (i >= VF_MONO_CAMERA && !(seen >> (i - VF_MONO_CAMERA) / 6 & 1)) continue;
        vf_solve_forward(place->L, place->by[i], 3, 3);
        column[count] = vf_mono_column(i);
        if (count < i) memcpy(place->by[count], place->by[i], sizeof place->by[i]);
        count++;
    }
    vf_solve_forward(place->L, place->g, 3, 3);
    for (int i = 0; i < count; i++) {
        const double *a = place->by[i];
        double *row = &s->H[column[i] * VF_MONO_COLUMNS];
        s->g[column[i]] -= a[0] * place->g[0] + a[1] * place->g[1] + a[2] * place->g[2];
        for (int j = 0; j <= i; j++) {
            const double *b = place->by[j];
            row[column[j]] -= a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        }
    }
}

/** Rows of the preintegral between frames i - 1 and i. Returns its cost. */
VF_FN double vf_mono_readings(struct vf_mono *s, uint32_t i)
{
    const int bias = VF_MONO_CAMERA + VF_MONO_EACH * (int)s->frames;
    int column[24];
    double cost = 0.0;
    vf_inertial_of(&s->factor, &s->frame[i - 1].slot, &s->frame[i].slot, &s->noise);
    for (int k = 0; k < VF_MONO_EACH; k++) {
        column[k] = VF_MONO_CAMERA + VF_MONO_EACH * ((int)i - 1) + k;
        column[VF_MONO_EACH + k] = VF_MONO_CAMERA + VF_MONO_EACH * (int)i + k;
    }
    for (int k = 0; k < 6; k++) column[2 * VF_MONO_EACH + k] = bias + k;
    for (int r = 0; r < VF_MONO_EACH; r++) {
        double J[24];
        memcpy(J, s->factor.J[r], VF_MONO_EACH * sizeof *J);
        memcpy(J + VF_MONO_EACH, s->factor.J[r] + VF_NAV_ERRORS, VF_MONO_EACH * sizeof *J);
        memcpy(J + 2 * VF_MONO_EACH, s->factor.J[r] + VF_NAV_GYRO, 6 * sizeof *J);
        vf_mono_add(s, column, J, 24, s->factor.r[r]);
        cost += s->factor.r[r] * s->factor.r[r];
    }
    return cost;
}

/** Priors. Returns their cost. */
VF_FN double vf_mono_priors(struct vf_mono *s)
{
    const struct vf_window_value *first = &s->frame[0].slot.value;
    double cost = 0.0;
    for (int k = 0; k < VF_MONO_EACH + 6; k++) {
        const int held = k < VF_NAV_W || k == VF_NAV_W + 2, bias = k - VF_MONO_EACH;
        const int at = VF_MONO_CAMERA + (bias < 0 ? k : VF_MONO_EACH * (int)s->frames + bias);
        const double sigma = held       ? VF_START_HELD
                             : k < 6    ? VF_START_ANY_RAD
                             : bias < 0 ? VF_START_ANY_MPS
                             : bias < 3 ? VF_START_GYRO_RAD_S
                                        : VF_START_ACCEL_M_S2;
        const double off = bias < 0 ? 0.0 : first->bias[bias] / sigma;
        s->H[at * (VF_MONO_COLUMNS + 1)] += 1.0 / (sigma * sigma);
        s->g[at] += off / sigma;
        cost += off * off;
    }
    for (int k = 0; k < VF_MONO_CAMERA; k++) {
        const double sigma = k ? VF_WINDOW_MOUNT_RAD : VF_WINDOW_OFFSET_S;
        const double off = (k ? s->mount[k - 1] : s->offset_s) / sigma;
        s->H[k * (VF_MONO_COLUMNS + 1)] += 1.0 / (sigma * sigma);
        s->g[k] += off / sigma;
        cost += off * off;
    }
    return cost;
}

/** System at the values. Returns the cost. */
VF_FN double vf_mono_system(struct vf_mono *s)
{
    struct vf_mono_place place;
    double cost;
    s->work++;
    memset(s->H, 0, sizeof s->H);
    memset(s->g, 0, sizeof s->g);
    vf_mono_poses(s);
    cost = vf_mono_priors(s);
    for (uint32_t i = 1; i < s->frames; i++) cost += vf_mono_readings(s, i);
    for (uint32_t i = 0; i < s->points; i++) {
        cost += vf_mono_point_of(s, &s->point[i], &place, 1);
        vf_mono_project(s, &place, s->point[i].seen);
    }
    return cost;
}

/** Attitude of the camera as found. */
VF_FN void vf_mono_mount(struct vf_mono *s)
{
    double turn[4], R[9];
    vf_start_turn(s->mount, turn);
    vf_quaternion_matrix(turn, R);
    vf_relative_product(R, s->rig.R_imu_cam, s->R_imu_cam);
}

/** Points and frames moved by the solution x of the frames. */
VF_FN void vf_mono_move(struct vf_mono *s)
{
    const int bias = VF_MONO_CAMERA + VF_MONO_EACH * (int)s->frames;
    vf_mono_poses(s);
    for (uint32_t n = 0; n < s->points; n++) {
        struct vf_mono_point *l = &s->point[n];
        struct vf_mono_place place;
        double d[3], one[3], two[3], square = 0.0;
        vf_mono_point_of(s, l, &place, 0);
        memcpy(s->was_place[n], l->b, sizeof l->b);
        s->was_place[n][3] = l->inverse;
        for (int a = 0; a < 3; a++) {
            d[a] = -place.g[a];
            for (int i = 0; i < VF_MONO_CAMERA + 6 * (int)s->frames; i++)
                d[a] -= place.by[i][a] * s->x[vf_mono_column(i)];
        }
        vf_solve_forward(place.L, d, 3, 3);
        vf_solve_back(place.L, d, 3, 3);
        vf_mono_across(l->b, one, two);
        for (int k = 0; k < 3; k++) {
            l->b[k] += d[0] * one[k] + d[1] * two[k];
            square += l->b[k] * l->b[k];
        }
        for (int k = 0; k < 3; k++) l->b[k] /= sqrt(square);
        l->inverse = d[2] >= 0.0 ? l->inverse + d[2] : l->inverse * l->inverse / (l->inverse - d[2]);
    }
    for (uint32_t i = 0; i < s->frames; i++) {
        double e[VF_NAV_ERRORS];
        s->was[i] = s->frame[i].slot.value;
        memcpy(e, &s->x[VF_MONO_CAMERA + VF_MONO_EACH * i], VF_MONO_EACH * sizeof *e);
        memcpy(e + VF_MONO_EACH, &s->x[bias], 6 * sizeof *e);
        vf_start_move(&s->frame[i].slot.value, e);
    }
    s->was_camera[0] = s->offset_s;
    memcpy(s->was_camera + 1, s->mount, sizeof s->mount);
    s->offset_s += s->x[0];
    for (int k = 0; k < 3; k++) s->mount[k] += s->x[1 + k];
    vf_mono_mount(s);
}

/** The move undone. */
VF_FN void vf_mono_undo(struct vf_mono *s)
{
    for (uint32_t i = 0; i < s->frames; i++) s->frame[i].slot.value = s->was[i];
    s->offset_s = s->was_camera[0];
    memcpy(s->mount, s->was_camera + 1, sizeof s->mount);
    vf_mono_mount(s);
    for (uint32_t n = 0; n < s->points; n++) {
        memcpy(s->point[n].b, s->was_place[n], sizeof s->point[n].b);
        s->point[n].inverse = s->was_place[n][3];
    }
}

/** System at the guess, before the first step. */
VF_FN void vf_mono_first(struct vf_mono *s)
{
    s->steps = s->refused = 0;
    s->damping = VF_MONO_DAMPING;
    s->moved = 0.0;
    s->outlier = VF_MONO_FAR;
    s->offset_s = s->mount[0] = s->mount[1] = s->mount[2] = 0.0;
    vf_mono_mount(s);
    s->cost = vf_mono_system(s);
}

/** Values moved by the solution of the system; s->moved: square of the move over its covariance. */
VF_FN void vf_mono_leap(struct vf_mono *s)
{
    const int n = VF_MONO_CAMERA + VF_MONO_EACH * (int)s->frames + 6;
    vf_solve_factor(s->H, s->H, n, VF_MONO_COLUMNS, s->damping);
    for (int k = 0; k < n; k++) s->x[k] = -s->g[k];
    vf_solve_forward(s->H, s->x, n, VF_MONO_COLUMNS);
    s->moved = 0.0;
    for (int k = 0; k < n; k++) s->moved += s->x[k] * s->x[k];
    vf_solve_back(s->H, s->x, n, VF_MONO_COLUMNS);
    vf_mono_move(s);
}

/** Step from the system at the values to that where it leads; or, where the step before was refused, the system at the
 *  values from before it: one system either way. Returns 1 behind the last step. */
VF_FN int vf_mono_go_on(struct vf_mono *s)
{
    const int nears = s->outlier > VF_MONO_OUTLIER;
    if (s->refused) {
        s->refused = 0;
        vf_mono_system(s);
        s->damping *= 100.0;
        return ++s->steps == VF_MONO_STEPS;
    }
    vf_mono_leap(s);
    s->outlier = s->outlier > 4.0 * VF_MONO_OUTLIER ? 0.25 * s->outlier : VF_MONO_OUTLIER;
    const double cost = vf_mono_system(s);
    if (!nears && !(cost < s->cost * (1.0 + 1e-9))) {
        vf_mono_undo(s);
        s->refused = 1;
        return 0;
    }
    const int still = !nears && s->moved < VF_MONO_STILL && s->damping <= VF_MONO_DAMPING;
    if (!nears) s->damping *= 0.1;
    s->cost = cost;
    return ++s->steps == VF_MONO_STEPS || still;
}

/** s->H becomes the factor of the system at the values, behind the last step. */
VF_FN void vf_mono_last(struct vf_mono *s)
{
    const int n = VF_MONO_CAMERA + VF_MONO_EACH * (int)s->frames + 6;
    vf_solve_factor(s->H, s->H, n, VF_MONO_COLUMNS, 0.0);
}

/** Covariance of the newest frame's errors, row-major, by the factor: inverse of its last rows. */
VF_FN void vf_mono_covariance(const struct vf_mono *s, double P[225])
{
    enum { N = VF_NAV_ERRORS };
    const int first = VF_MONO_CAMERA + VF_MONO_EACH * (int)s->frames + 6 - N;
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

/** Deviation of the size of the path by noise, relative: of all positions about their mean. */
VF_FN double vf_mono_size(struct vf_mono *s)
{
    const int n = VF_MONO_CAMERA + VF_MONO_EACH * (int)s->frames + 6;
    double mean[3] = {0.0, 0.0, 0.0}, square = 0.0, variance = 0.0;
    for (uint32_t i = 0; i < s->frames; i++)
        for (int k = 0; k < 3; k++) mean[k] += s->frame[i].slot.value.p[k] / s->frames;
    memset(s->x, 0, sizeof s->x);
    for (uint32_t i = 0; i < s->frames; i++)
        for (int k = 0; k < 3; k++) {
            const double off = s->frame[i].slot.value.p[k] - mean[k];
            s->x[VF_MONO_CAMERA + VF_MONO_EACH * i + (uint32_t)k] = off;
            square += off * off;
        }
    vf_solve_forward(s->H, s->x, n, VF_MONO_COLUMNS);
    for (int k = 0; k < n; k++) variance += s->x[k] * s->x[k];
    return square > 1e-12 ? sqrt(variance) / square : 1e6;
}

#endif
