/* SPDX-License-Identifier: MIT */
/* Assembly of the linear system from prior, inertial factors and the landmarks of each anchor: last launch in system.h.
 *
 * Exact   one thread computes each element; terms are added in one order, anchors by slot
 */
#ifndef VF_VIO_ASSEMBLE_H
#define VF_VIO_ASSEMBLE_H

#include "system.h"

/** Element (p, q) of the system matrix H, with the contributions of prior and inertial factors only. */
VF_FN double vf_vio_base_element(const struct vf_vio_window *w, const struct vf_vio_work *k, int p, int q)
{
    double sum = w->prior.H[p * VF_VIO_COLUMNS + q];
    VF_UNROLL
    for (int f = 0; f < VF_VIO_INERTIAL_FACTORS; f++) {
        const struct vf_vio_inertial *i = &k->inertial[f];
        const int r = i->column[p], c = i->column[q], on = r >= 0 && c >= 0;
        if (VF_GROUP_ALONE && !on) continue;
        const double part = i->H[on ? r : 0][on ? c : 0];
        sum = on ? sum + part : sum;
    }
    return sum;
}

/** Element p of the gradient, with the contributions of prior and inertial factors only. */
VF_FN double vf_vio_base_gradient(const struct vf_vio_window *w, const struct vf_vio_work *k, int p)
{
    double sum = w->prior.g[p] + k->prior_Hx[p];
    for (int f = 0; f < VF_VIO_INERTIAL_FACTORS; f++)
        if (k->inertial[f].column[p] >= 0) sum += k->inertial[f].g[k->inertial[f].column[p]];
    return sum;
}

/** Writes element (p, q) of the system matrix and its mirror image (q, p). */
VF_FN void vf_vio_set_symmetric(struct vf_vio_system *s, int p, int q, double value)
{
    s->H[p * VF_VIO_COLUMNS + q] = value;
    s->H[q * VF_VIO_COLUMNS + p] = value;
}

/** Assembles element (r, c) of the system matrix block of a pair of frame poses. Increments of an anchor's pose act on
 *  relative poses with a negative sign. A block between an anchor's pose and another frame's pose is therefore
 *  subtracted. */
VF_FN void vf_vio_assemble_poses(const struct vf_vio_window *w, struct vf_vio_work *k, int pair, int r, int c)
{
    int a, b;
    vf_vio_pair_frames(pair, &a, &b);
    if (a == b && c < r) return;
    double sum = vf_vio_base_element(w, k, 6 * a + r, 6 * b + c);
    const uint32_t anchors = k->frame_anchors[a] & k->frame_anchors[b];
    VF_UNROLL
    for (int h = 0; h < VF_VIO_FRAMES && (!VF_GROUP_ALONE || anchors >> h); h++) {
        const struct vf_vio_anchor *anchor = &k->anchor[h];
        const int on = (int)(anchors >> h & 1);
        if (VF_GROUP_ALONE && !on) continue;
        const double *from = a == h && b == h ? &anchor->own[r][c]
                             : a == h         ? &anchor->cross_H[b][c][r]
                             : b == h         ? &anchor->cross_H[a][r][c]
                                              : &anchor->H[pair][r][c];
        const double value = *from, part = (a == h) != (b == h) ? -value : value;
        sum = on ? sum + part : sum;
    }
    vf_vio_set_symmetric(&k->system[k->trial], 6 * a + r, 6 * b + c, sum);
}

/** Assembles the element of the system matrix in row r of frame f's pose and column i of the calibration. Columns: time
 *  offset, camera attitude, offsets of camera 1. */
VF_FN void vf_vio_assemble_camera(const struct vf_vio_window *w, struct vf_vio_work *k, int f, int r, int i)
{
    const int p = 6 * f + r, q = VF_VIO_TIME_OFFSET + i;
    const int side = i < VF_VIO_CAMERA_COLUMNS ? 0 : 1 + i - VF_VIO_CAMERA_COLUMNS;
    double sum = vf_vio_base_element(w, k, p, q);
    const uint32_t anchors = k->frame_anchors[f];
    VF_UNROLL
    for (int h = 0; h < VF_VIO_FRAMES; h++) {
        const struct vf_vio_anchor *anchor = &k->anchor[h];
        const int on = (int)(anchors >> h & 1);
        if (VF_GROUP_ALONE && !on) continue;
        const double *from = i < VF_VIO_CAMERA_COLUMNS ? (f == h ? &anchor->own_camera[i][r] : &anchor->camera[f][i][r])
                             : f == h                  ? &anchor->own_g[side][r]
                                                       : &anchor->g[side][f][r];
        const double value = *from, part = f == h ? -value : value;
        sum = on ? sum + part : sum;
    }
    vf_vio_set_symmetric(&k->system[k->trial], p, q, sum);
}

/** Assembles the element of the system matrix in calibration columns i and j. Columns: time offset, camera attitude,
 *  offsets of camera 1. */
VF_FN void vf_vio_assemble_calibration(const struct vf_vio_window *w, struct vf_vio_work *k, int i, int j)
{
    enum { CAMERA = VF_VIO_CAMERA_COLUMNS };
    if (j < i) return;
    double sum = vf_vio_base_element(w, k, VF_VIO_TIME_OFFSET + i, VF_VIO_TIME_OFFSET + j);
    VF_UNROLL_4
    for (int h = 0; h < VF_VIO_FRAMES; h++) {
        const struct vf_vio_anchor *anchor = &k->anchor[h];
        const double part = j < CAMERA   ? anchor->camera_H[i][j]
                            : i < CAMERA ? anchor->camera_g[1 + j - CAMERA][i]
                                         : anchor->stereo[vf_vio_stereo_index(i - CAMERA, j - CAMERA)];
        sum = k->anchor_frames[h] ? sum + part : sum;
    }
    vf_vio_set_symmetric(&k->system[k->trial], VF_VIO_TIME_OFFSET + i, VF_VIO_TIME_OFFSET + j, sum);
}

/** Assembles element p of the system's gradient. */
VF_FN void vf_vio_assemble_gradient(const struct vf_vio_window *w, struct vf_vio_work *k, int p)
{
    const int f = p / 6, i = p - VF_VIO_TIME_OFFSET;
    double sum = vf_vio_base_gradient(w, k, p);
    VF_UNROLL_4
    for (int h = 0; h < VF_VIO_FRAMES && (p < VF_VIO_VELOCITY || i >= 0); h++) {
        const struct vf_vio_anchor *anchor = &k->anchor[h];
        const double value = i >= VF_VIO_CAMERA_COLUMNS
                                 ? anchor->stereo[VF_VIO_STEREO_PAIRS + i - VF_VIO_CAMERA_COLUMNS]
                             : i >= 0 ? anchor->camera_g[0][i]
                             : f == h ? -anchor->own_g[0][p % 6]
                                      : anchor->g[0][f][p % 6];
        const double part = i >= 0 || k->anchor_frames[h] >> f & 1 ? value : 0.0;
        sum = k->anchor_frames[h] ? sum + part : sum;
    }
    k->system[k->trial].g[p] = sum;
}

/** First item of each kind of element that vf_vio_assemble() computes. Items from 0: blocks of two poses. */
enum {
    VF_VIO_CALIBRATION_COLUMNS = VF_VIO_CAMERA_COLUMNS + VF_VIO_STEREO_OFFSETS, /* number of calibration columns */
    /* first item of the blocks of a pose and the calibration */
    VF_VIO_ITEM_CAMERA = 36 * VF_VIO_PAIRS,
    /* first item of the block of the calibration with itself */
    VF_VIO_ITEM_CALIBRATION = VF_VIO_ITEM_CAMERA + VF_VIO_VELOCITY * VF_VIO_CALIBRATION_COLUMNS,
    /* first item of the gradient */
    VF_VIO_ITEM_GRADIENT = VF_VIO_ITEM_CALIBRATION + VF_VIO_CALIBRATION_COLUMNS * VF_VIO_CALIBRATION_COLUMNS,
    /* first item of the rows of velocities and biases */
    VF_VIO_ITEM_VELOCITY = VF_VIO_ITEM_GRADIENT + VF_VIO_COLUMNS,
    /* number of all items */
    VF_VIO_ITEMS = VF_VIO_ITEM_VELOCITY + 9 * VF_VIO_STATES * VF_VIO_COLUMNS
};

/** Assembles the linear system at the trial estimate, one element per thread. */
VF_FN void vf_vio_assemble(const struct vf_vio_window *w, struct vf_vio_work *k)
{
    enum { OWN = VF_VIO_CALIBRATION_COLUMNS };
    VF_ITEMS(i, VF_VIO_ITEMS)
    {
        if (i < VF_VIO_ITEM_CAMERA) {
            vf_vio_assemble_poses(w, k, i / 36, i / 6 % 6, i % 6);
        } else if (i < VF_VIO_ITEM_CALIBRATION) {
            const int at = i - VF_VIO_ITEM_CAMERA;
            vf_vio_assemble_camera(w, k, at / (6 * OWN), at / OWN % 6, at % OWN);
        } else if (i < VF_VIO_ITEM_GRADIENT) {
            vf_vio_assemble_calibration(w, k, (i - VF_VIO_ITEM_CALIBRATION) / OWN, (i - VF_VIO_ITEM_CALIBRATION) % OWN);
        } else if (i < VF_VIO_ITEM_VELOCITY) {
            vf_vio_assemble_gradient(w, k, i - VF_VIO_ITEM_GRADIENT);
        } else {
            const int at = i - VF_VIO_ITEM_VELOCITY, p = VF_VIO_VELOCITY + at / VF_VIO_COLUMNS, q = at % VF_VIO_COLUMNS;
            if (q < VF_VIO_VELOCITY || q >= p)
                vf_vio_set_symmetric(&k->system[k->trial], p, q, vf_vio_base_element(w, k, p, q));
        }
    }
}

#endif
