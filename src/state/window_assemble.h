/* SPDX-License-Identifier: MIT */
/* System of all factors of the window, put together: prior, readings, landmarks of each host. Last launch of those of
 * window_system.h.
 *
 * Exact   each element of a result is one item's; its terms are added in one order, hosts by slot
 */
#ifndef VF_WINDOW_ASSEMBLE_H
#define VF_WINDOW_ASSEMBLE_H

#include "window_system.h"

/** Element of prior and readings, columns p and q. */
VF_FN double vf_window_base(const struct vf_window *w, const struct vf_window_work *k, int p, int q)
{
    double sum = w->prior.H[p * VF_WINDOW_COLUMNS + q];
    VF_UNROLL
    for (int f = 0; f < VF_WINDOW_MOTIONS; f++) {
        const struct vf_window_inertial *i = &k->inertial[f];
        const int r = i->column[p], c = i->column[q], on = r >= 0 && c >= 0;
        if (VF_GROUP_ALONE && !on) continue;
        const double part = i->H[on ? r : 0][on ? c : 0];
        sum = on ? sum + part : sum;
    }
    return sum;
}

/** Right side of prior and readings. */
VF_FN double vf_window_base_side(const struct vf_window *w, const struct vf_window_work *k, int p)
{
    double sum = w->prior.g[p] + k->of_prior[p];
    for (int f = 0; f < VF_WINDOW_MOTIONS; f++)
        if (k->inertial[f].column[p] >= 0) sum += k->inertial[f].g[k->inertial[f].column[p]];
    return sum;
}

/** Element in both triangles. */
VF_FN void vf_window_put(struct vf_window_system *s, int p, int q, double value)
{
    s->H[p * VF_WINDOW_COLUMNS + q] = value;
    s->H[q * VF_WINDOW_COLUMNS + p] = value;
}

/** Element r, c of the block of frames a and b. */
VF_FN void vf_window_put_poses(const struct vf_window *w, struct vf_window_work *k, int pair, int r, int c)
{
    int a, b;
    vf_window_pair_of(pair, &a, &b);
    if (a == b && c < r) return;
    double sum = vf_window_base(w, k, 6 * a + r, 6 * b + c);
    const uint32_t hosts = k->of[a] & k->of[b];
    VF_UNROLL
    for (int h = 0; h < VF_WINDOW_FRAMES && (!VF_GROUP_ALONE || hosts >> h); h++) {
        const struct vf_window_host *host = &k->host[h];
        const int on = (int)(hosts >> h & 1);
        if (VF_GROUP_ALONE && !on) continue;
        const double *from = a == h && b == h ? &host->own[r][c]
                             : a == h         ? &host->left[b][c][r]
                             : b == h         ? &host->left[a][r][c]
                                              : &host->H[pair][r][c];
        const double value = *from, part = (a == h) != (b == h) ? -value : value;
        sum = on ? sum + part : sum;
    }
    vf_window_put(&k->system[k->trial], 6 * a + r, 6 * b + c, sum);
}

/** Error r of frame f with column i of time offset, mounting and, last, the offsets of camera 1. */
VF_FN void vf_window_put_camera(const struct vf_window *w, struct vf_window_work *k, int f, int r, int i)
{
    const int p = 6 * f + r, q = VF_WINDOW_OFFSET + i;
    const int side = i < VF_WINDOW_CAMERA ? 0 : 1 + i - VF_WINDOW_CAMERA;
    double sum = vf_window_base(w, k, p, q);
    const uint32_t hosts = k->of[f];
    VF_UNROLL
    for (int h = 0; h < VF_WINDOW_FRAMES; h++) {
        const struct vf_window_host *host = &k->host[h];
        const int on = (int)(hosts >> h & 1);
        if (VF_GROUP_ALONE && !on) continue;
        const double *from = i < VF_WINDOW_CAMERA ? (f == h ? &host->own_camera[i][r] : &host->camera[f][i][r])
                             : f == h             ? &host->own_g[side][r]
                                                  : &host->g[side][f][r];
        const double value = *from, part = f == h ? -value : value;
        sum = on ? sum + part : sum;
    }
    vf_window_put(&k->system[k->trial], p, q, sum);
}

/** Column i of time offset, mounting and, last, the offsets of camera 1, with column j of them. */
VF_FN void vf_window_put_own(const struct vf_window *w, struct vf_window_work *k, int i, int j)
{
    enum { CAMERA = VF_WINDOW_CAMERA };
    if (j < i) return;
    double sum = vf_window_base(w, k, VF_WINDOW_OFFSET + i, VF_WINDOW_OFFSET + j);
    VF_UNROLL_4
    for (int h = 0; h < VF_WINDOW_FRAMES; h++) {
        const struct vf_window_host *host = &k->host[h];
        const double part = j < CAMERA   ? host->both[i][j]
                            : i < CAMERA ? host->camera_g[1 + j - CAMERA][i]
                                         : host->stereo[vf_offsets_pair(i - CAMERA, j - CAMERA)];
        sum = k->in[h] ? sum + part : sum;
    }
    vf_window_put(&k->system[k->trial], VF_WINDOW_OFFSET + i, VF_WINDOW_OFFSET + j, sum);
}

/** Right side of column p. */
VF_FN void vf_window_put_side(const struct vf_window *w, struct vf_window_work *k, int p)
{
    const int f = p / 6, i = p - VF_WINDOW_OFFSET;
    double sum = vf_window_base_side(w, k, p);
    VF_UNROLL_4
    for (int h = 0; h < VF_WINDOW_FRAMES && (p < VF_WINDOW_MOVING || i >= 0); h++) {
        const struct vf_window_host *host = &k->host[h];
        const double value = i >= VF_WINDOW_CAMERA ? host->stereo[VF_WINDOW_STEREO_PAIRS + i - VF_WINDOW_CAMERA]
                             : i >= 0              ? host->camera_g[0][i]
                             : f == h              ? -host->own_g[0][p % 6]
                                                   : host->g[0][f][p % 6];
        const double part = i >= 0 || k->in[h] >> f & 1 ? value : 0.0;
        sum = k->in[h] ? sum + part : sum;
    }
    k->system[k->trial].g[p] = sum;
}

/** Items of vf_window_assemble(): elements of poses; these with time offset, mounting and offsets of camera 1; those
 *  with themselves; right sides; rows of velocities and biases. */
enum {
    VF_WINDOW_OWN = VF_WINDOW_CAMERA + VF_WINDOW_STEREO,
    VF_WINDOW_PUT_CAMERA = 36 * VF_WINDOW_PAIRS,
    VF_WINDOW_PUT_OWN = VF_WINDOW_PUT_CAMERA + VF_WINDOW_MOVING * VF_WINDOW_OWN,
    VF_WINDOW_PUT_SIDES = VF_WINDOW_PUT_OWN + VF_WINDOW_OWN * VF_WINDOW_OWN,
    VF_WINDOW_PUT_MOVING = VF_WINDOW_PUT_SIDES + VF_WINDOW_COLUMNS,
    VF_WINDOW_ASSEMBLED = VF_WINDOW_PUT_MOVING + 9 * VF_WINDOW_STATES * VF_WINDOW_COLUMNS
};

/** System of all factors, into the set being made: an item an element. */
VF_FN void vf_window_assemble(const struct vf_window *w, struct vf_window_work *k)
{
    enum { OWN = VF_WINDOW_OWN };
    VF_ITEMS(i, VF_WINDOW_ASSEMBLED)
    {
        if (i < VF_WINDOW_PUT_CAMERA) {
            vf_window_put_poses(w, k, i / 36, i / 6 % 6, i % 6);
        } else if (i < VF_WINDOW_PUT_OWN) {
            const int at = i - VF_WINDOW_PUT_CAMERA;
            vf_window_put_camera(w, k, at / (6 * OWN), at / OWN % 6, at % OWN);
        } else if (i < VF_WINDOW_PUT_SIDES) {
            vf_window_put_own(w, k, (i - VF_WINDOW_PUT_OWN) / OWN, (i - VF_WINDOW_PUT_OWN) % OWN);
        } else if (i < VF_WINDOW_PUT_MOVING) {
            vf_window_put_side(w, k, i - VF_WINDOW_PUT_SIDES);
        } else {
            const int at = i - VF_WINDOW_PUT_MOVING, p = VF_WINDOW_MOVING + at / VF_WINDOW_COLUMNS,
                      q = at % VF_WINDOW_COLUMNS;
            if (q < VF_WINDOW_MOVING || q >= p) vf_window_put(&k->system[k->trial], p, q, vf_window_base(w, k, p, q));
        }
    }
}

#endif
