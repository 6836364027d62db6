/* SPDX-License-Identifier: MIT */
/* System of all factors of the window at the estimate, in launches: landmarks, their sums, these turned into columns of
 * the frames, all put together.
 *
 * Rule    vf_window_lists() and vf_window_relate() before the first; then, each behind the end of the one before,
 *         vf_window_landmarks(), vf_window_gather(), vf_window_spread(), vf_window_fold(), vf_window_assemble().
 *         vf_window_lists(), _relate(), _fold() are for a launch of one block
 * Exact   each element of a result is one item's; its terms are added in one order, landmarks and hosts by slot
 */
#ifndef VF_WINDOW_SYSTEM_H
#define VF_WINDOW_SYSTEM_H

#include "window_rest.h"

/* ---- landmarks --------------------------------------------------------------------------------------------------- */

/** Landmarks of each host, and the frames that see them. */
VF_FN void vf_window_lists(const struct vf_window *w, struct vf_window_work *k)
{
    VF_ITEMS(h, VF_WINDOW_FRAMES)
    {
        struct vf_window_host *host = &k->host[h];
        host->count = host->frames = 0;
        for (int32_t i = 0; i < VF_WINDOW_LANDMARKS && k->hosts >> h & 1; i++) {
            if (!w->landmark[i].id || w->landmark[i].host != h) continue;
            host->list[host->count++] = i;
            host->frames |= w->landmark[i].seen & ~(1u << h);
        }
    }
    VF_ITEM_SYNC();
}

/** Poses of all frames relative to each host, and their maps. */
VF_FN void vf_window_relate(const struct vf_window *w, struct vf_window_work *k)
{
    VF_ITEMS(i, VF_WINDOW_FRAMES * VF_WINDOW_FRAMES)
    {
        const int h = i / VF_WINDOW_FRAMES, f = i % VF_WINDOW_FRAMES;
        struct vf_window_host *host = &k->host[h];
        if (!host->count || !w->slot[f].number) continue;
        vf_relative_map_of(w, &w->slot[h], &w->slot[f], &host->map[f]);
        vf_relative_pose(w, &w->slot[h], &w->slot[f], &host->pose[f]);
    }
    VF_ITEM_SYNC();
}

VF_FN struct vf_landmark_rig vf_window_landmark_rig(const struct vf_window *w)
{
    struct vf_landmark_rig rig;
    for (int i = 0; i < 9; i++) rig.R_1_0[i] = (float)w->rig.R_1_0[i];
    for (int i = 0; i < 3; i++) rig.t_1_0[i] = (float)w->rig.t_1_0_m[i];
    rig.disparity = (float)w->disparity_rad;
    return rig;
}

/** Landmark put back, kept and moved with the poses of the last step of the optimisation. */
VF_FN void vf_window_move(struct vf_landmark *l, const struct vf_window_work *k, float kept[4],
                          const struct vf_landmark_row *row)
{
    for (int i = 0; i < 3; i++) {
        if (k->undone) l->bearing[i] = kept[i];
        kept[i] = l->bearing[i];
    }
    if (k->undone) l->inverse = kept[3];
    kept[3] = l->inverse;
    if (k->steps) vf_landmark_move(l, row, k->host[l->host].change, (float)k->x[VF_WINDOW_DISPARITY]);
}

/** Rows of all landmarks of the hosts taken, projected. */
VF_FN void vf_window_landmarks(struct vf_window *w, struct vf_window_work *k)
{
    const struct vf_landmark_rig rig = vf_window_landmark_rig(w);
    VF_ITEMS(i, VF_WINDOW_LANDMARKS)
    {
        struct vf_landmark *l = &w->landmark[i];
        struct vf_landmark_rows rows;
        if (!l->id || !(k->hosts >> l->host & 1)) continue;
        if (!k->still) vf_window_move(l, k, k->kept_landmark[i], &k->row[k->at][i]);
        vf_landmark_rows_of(&rows, l, &rig, k->host[l->host].pose);
        vf_landmark_factor(rows.point, k->row[k->trial][i].R);
        vf_landmark_keep(&k->row[k->trial][i], &k->more[i], &rows);
    }
}

/* ---- sums over the landmarks of a host --------------------------------------------------------------------------- */

/** Row r of the block of frames a and b. */
VF_FN void vf_window_gather_row(const struct vf_window *w, const struct vf_window_work *k, struct vf_window_host *host,
                                int pair, int r)
{
    int a, b;
    double sum[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    vf_window_pair_of(pair, &a, &b);
    if (!(host->frames >> a & host->frames >> b & 1)) return;
    for (uint32_t i = 0; i < host->count; i++) {
        const int at = host->list[i];
        const uint32_t seen = w->landmark[at].seen;
        const struct vf_landmark_row *row = &k->row[k->trial][at];
        const struct vf_landmark_more *more = &k->more[at];
        if (!(seen >> a & seen >> b & 1)) continue;
        for (int c = 0; c < 6; c++) {
            float h = 0.0f;
            for (int j = 0; j < 3 && a == b; j++) h += more->direct[a][j][r] * more->direct[a][j][c];
            for (int j = 0; j < 3; j++) h -= row->pose[j][a][r] * row->pose[j][b][c];
            sum[c] += (double)h;
        }
    }
    for (int c = 0; c < 6; c++) host->H[pair][r][c] = sum[c];
}

/** Right sides of frame f: element c of each. */
VF_FN void vf_window_gather_side(const struct vf_window *w, const struct vf_window_work *k, struct vf_window_host *host,
                                 int f, int c)
{
    double sum[2] = {0.0, 0.0};
    for (uint32_t i = 0; i < host->count && host->frames >> f & 1; i++) {
        const int at = host->list[i];
        if (!(w->landmark[at].seen >> f & 1)) continue;
        for (int side = 0; side < 2; side++) sum[side] += (double)k->more[at].slope[f][side][c];
    }
    for (int side = 0; side < 2; side++) host->g[side][f][c] = sum[side];
}

/** Sums over the landmarks of each host: an item an element of what is summed, by rows of blocks. */
VF_FN void vf_window_gather(const struct vf_window *w, struct vf_window_work *k)
{
    enum { ROWS = 6 * VF_WINDOW_PAIRS, SIDES = 6 * VF_WINDOW_FRAMES, EACH = ROWS + SIDES + 2 };
    VF_ITEMS(item, VF_WINDOW_FRAMES * EACH)
    {
        struct vf_window_host *host = &k->host[item / EACH];
        const int i = item % EACH;
        if (!host->count) continue;
        if (i < ROWS) {
            vf_window_gather_row(w, k, host, i / 6, i % 6);
        } else if (i < ROWS + SIDES) {
            vf_window_gather_side(w, k, host, (i - ROWS) / 6, (i - ROWS) % 6);
        } else {
            double sum = 0.0;
            for (uint32_t j = 0; j < host->count; j++)
                sum += (double)k->more[host->list[j]].of_disparity[i - ROWS - SIDES];
            host->disparity[i - ROWS - SIDES] = sum;
        }
    }
}

/* ---- from relative poses to poses of frames ---------------------------------------------------------------------- */

/** Blocks and right sides of each host turned into columns of the frames, in place. */
VF_FN void vf_window_spread(struct vf_window_work *k)
{
    enum { EACH = VF_WINDOW_PAIRS + 2 * VF_WINDOW_FRAMES };
    VF_ITEMS(item, VF_WINDOW_FRAMES * EACH)
    {
        struct vf_window_host *host = &k->host[item / EACH];
        const int i = item % EACH, side = i - VF_WINDOW_PAIRS;
        double turned[6];
        if (!host->count) continue;
        if (side < 0) {
            int a, b;
            vf_window_pair_of(i, &a, &b);
            if (!(host->frames >> a & host->frames >> b & 1)) continue;
            for (int r = 0; r < 6; r++) {
                vf_relative_row(&host->map[b], host->H[i][r], turned);
                memcpy(host->H[i][r], turned, sizeof turned);
            }
            vf_relative_columns(&host->map[a], host->H[i]);
        } else {
            double *g = host->g[side / VF_WINDOW_FRAMES][side % VF_WINDOW_FRAMES];
            if (!(host->frames >> side % VF_WINDOW_FRAMES & 1)) continue;
            vf_relative_row(&host->map[side % VF_WINDOW_FRAMES], g, turned);
            memcpy(g, turned, sizeof turned);
        }
    }
}

/** Element of the block of frames a and b of a host, both with equations. */
VF_FN double vf_window_block(const struct vf_window_host *host, int a, int r, int b, int c)
{
    return a <= b ? host->H[vf_window_pair(a, b)][r][c] : host->H[vf_window_pair(b, a)][c][r];
}

/** Row r of frame a with the columns of the host, and with time offset and mounting: sums over all frames. */
VF_FN void vf_window_fold_row(struct vf_window_host *host, int a, int r)
{
    double left[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0}, camera[VF_WINDOW_CAMERA] = {0.0, 0.0, 0.0, 0.0};
    for (int b = 0; b < VF_WINDOW_FRAMES; b++) {
        double row[6], moved[6];
        if (!(host->frames >> b & 1)) continue;
        for (int c = 0; c < 6; c++) row[c] = vf_window_block(host, a, r, b, c);
        vf_relative_host(&host->map[b], row, moved);
        for (int c = 0; c < 6; c++) left[c] += moved[c];
        for (int c = 0; c < VF_WINDOW_CAMERA; c++) camera[c] += vf_relative_dot(row, host->map[b].by[c]);
    }
    memcpy(host->left[a][r], left, sizeof left);
    for (int c = 0; c < VF_WINDOW_CAMERA; c++) host->camera[a][c][r] = camera[c];
}

/** Column c of the host with itself: sums over all frames. */
VF_FN void vf_window_fold_own(struct vf_window_host *host, int c)
{
    double sum[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    for (int a = 0; a < VF_WINDOW_FRAMES; a++) {
        double column[6], moved[6];
        if (!(host->frames >> a & 1)) continue;
        for (int r = 0; r < 6; r++) column[r] = host->left[a][r][c];
        vf_relative_host(&host->map[a], column, moved);
        for (int r = 0; r < 6; r++) sum[r] += moved[r];
    }
    for (int r = 0; r < 6; r++) host->own[r][c] = sum[r];
}

/** Time offset and mounting, column c: with the host, and with themselves. */
VF_FN void vf_window_fold_camera(struct vf_window_host *host, int c)
{
    double own[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0}, both[VF_WINDOW_CAMERA] = {0.0, 0.0, 0.0, 0.0};
    for (int a = 0; a < VF_WINDOW_FRAMES; a++) {
        double moved[6];
        if (!(host->frames >> a & 1)) continue;
        vf_relative_host(&host->map[a], host->camera[a][c], moved);
        for (int r = 0; r < 6; r++) own[r] += moved[r];
        for (int r = 0; r < VF_WINDOW_CAMERA; r++) both[r] += vf_relative_dot(host->camera[a][c], host->map[a].by[r]);
    }
    memcpy(host->own_camera[c], own, sizeof own);
    for (int r = 0; r < VF_WINDOW_CAMERA; r++) host->both[r][c] = both[r];
}

/** Right sides of host, time offset and mounting. */
VF_FN void vf_window_fold_side(struct vf_window_host *host, int side)
{
    double own[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0}, camera[VF_WINDOW_CAMERA] = {0.0, 0.0, 0.0, 0.0};
    for (int a = 0; a < VF_WINDOW_FRAMES; a++) {
        double moved[6];
        if (!(host->frames >> a & 1)) continue;
        vf_relative_host(&host->map[a], host->g[side][a], moved);
        for (int r = 0; r < 6; r++) own[r] += moved[r];
        for (int c = 0; c < VF_WINDOW_CAMERA; c++) camera[c] += vf_relative_dot(host->g[side][a], host->map[a].by[c]);
    }
    memcpy(host->own_g[side], own, sizeof own);
    memcpy(host->camera_g[side], camera, sizeof camera);
}

/** All that the columns of a host, of time offset and mounting have of its landmarks. */
VF_FN void vf_window_fold_hosts(struct vf_window_work *k)
{
    enum { ROWS = 6 * VF_WINDOW_FRAMES, EACH = 6 + VF_WINDOW_CAMERA + 2 };
    VF_ITEMS(item, VF_WINDOW_FRAMES * ROWS)
    {
        struct vf_window_host *host = &k->host[item / ROWS];
        const int a = item % ROWS / 6;
        if (host->count && host->frames >> a & 1) vf_window_fold_row(host, a, item % 6);
    }
    VF_ITEM_SYNC();
    VF_ITEMS(item, VF_WINDOW_FRAMES * EACH)
    {
        struct vf_window_host *host = &k->host[item / EACH];
        const int i = item % EACH;
        if (!host->count) continue;
        if (i < 6)
            vf_window_fold_own(host, i);
        else if (i < 6 + VF_WINDOW_CAMERA)
            vf_window_fold_camera(host, i - 6);
        else
            vf_window_fold_side(host, i - 6 - VF_WINDOW_CAMERA);
    }
}

/* ---- prior and readings ------------------------------------------------------------------------------------------ */

/** Estimate - first estimate of a frame's columns. */
VF_FN void vf_window_from_first(const struct vf_window_slot *s, int f, double x[VF_WINDOW_COLUMNS])
{
    double turn[3] = {0.0, 0.0, 0.0};
    const int there = s->number && s->prior;
    if (there) vf_window_turn_between(s->value.q, s->first.q, turn);
    for (int i = 0; i < 3; i++) {
        x[6 * f + i] = there ? s->value.p[i] - s->first.p[i] : 0.0;
        x[6 * f + 3 + i] = turn[i];
    }
    if (!there || s->state < 0) return;
    double *more = &x[VF_WINDOW_MOVING + 9 * s->state];
    for (int i = 0; i < 3; i++) more[i] = s->value.v[i] - s->first.v[i];
    for (int i = 0; i < 6; i++) more[3 + i] = s->value.bias[i] - s->first.bias[i];
}

/** The same of all columns. */
VF_FN void vf_window_from_firsts(const struct vf_window *w, struct vf_window_work *k)
{
    double *x = k->from_first;
    VF_ITEMS(i, 9 * VF_WINDOW_STATES)
    x[VF_WINDOW_MOVING + i] = 0.0;
    VF_ITEM_SYNC();
    VF_ITEMS(f, VF_WINDOW_FRAMES + 1)
    {
        if (f < VF_WINDOW_FRAMES) {
            vf_window_from_first(&w->slot[f], f, x);
        } else {
            x[VF_WINDOW_OFFSET] = w->offset_s - w->first_offset_s;
            x[VF_WINDOW_DISPARITY] = w->disparity_rad - w->first_disparity_rad;
            vf_window_turn_between(w->mount, w->first_mount, &x[VF_WINDOW_MOUNT]);
        }
    }
    VF_ITEM_SYNC();
}

/** Column of a factor of readings that is column p of the system; -1: none. */
VF_FN int vf_window_inertial_column(const struct vf_window *w, const struct vf_window_inertial *f, int p)
{
    for (int end = 0; end < 2; end++) {
        const int slot = end ? f->b : f->a, moving = VF_WINDOW_MOVING + 9 * w->slot[slot].state;
        if (p < VF_WINDOW_MOVING && p / 6 == slot) return VF_NAV_ERRORS * end + p % 6;
        if (p >= moving && p < moving + 9) return VF_NAV_ERRORS * end + 6 + p - moving;
    }
    return -1;
}

/** Normal equations of the factors of readings; what the prior says at the estimate. */
VF_FN void vf_window_inertials(const struct vf_window *w, struct vf_window_work *k)
{
    enum { N = VF_WINDOW_COLUMNS, C = VF_INERTIAL_COLUMNS };
    VF_ITEMS(i, N + VF_WINDOW_MOTIONS)
    {
        if (i < N) {
            double sum = 0.0;
            for (int c = 0; c < N; c++) sum += w->prior.H[i * N + c] * k->from_first[c];
            k->of_prior[i] = sum;
        } else if (k->inertial[i - N].a >= 0) {
            struct vf_window_inertial *f = &k->inertial[i - N];
            vf_inertial_rows(&f->rows, &w->slot[f->a], &w->slot[f->b], &w->noise);
            vf_inertial_scale_of(&f->scale, &w->slot[f->b], &w->noise);
            vf_rest_rows(f, &w->slot[f->a], &w->slot[f->b]);
        }
    }
    VF_ITEMS(i, VF_WINDOW_MOTIONS * N)
    {
        struct vf_window_inertial *f = &k->inertial[i / N];
        f->column[i % N] = f->a >= 0 ? vf_window_inertial_column(w, f, i % N) : -1;
    }
    VF_ITEM_SYNC();
    VF_ITEMS(i, VF_WINDOW_MOTIONS * (C + 1))
    {
        struct vf_window_inertial *f = &k->inertial[i / (C + 1)];
        if (f->a >= 0) vf_inertial_whiten(&f->rows, &f->scale, i % (C + 1));
    }
    VF_ITEM_SYNC();
    VF_ITEMS(item, VF_WINDOW_MOTIONS * C * (C + 1))
    {
        struct vf_window_inertial *f = &k->inertial[item / (C * (C + 1))];
        const int r = item / (C + 1) % C, c = item % (C + 1);
        double sum = f->a >= 0 ? vf_rest_element(f, r, c) : 0.0;
        for (int i = 0; i < VF_NAV_ERRORS && f->a >= 0; i++)
            sum += f->rows.J[i][r] * (c < C ? f->rows.J[i][c] : f->rows.r[i]);
        if (c < C)
            f->H[r][c] = sum;
        else
            f->g[r] = sum;
    }
}

/** Twice the cost of all factors at the estimate, but for a constant: in parts, then together. */
VF_FN void vf_window_costs(const struct vf_window *w, struct vf_window_work *k)
{
    VF_ITEMS(part, VF_WINDOW_PARTS)
    {
        double sum = 0.0;
        for (int i = part; i < VF_WINDOW_COLUMNS; i += VF_WINDOW_PARTS)
            sum += k->from_first[i] * (k->of_prior[i] + 2.0 * w->prior.g[i]);
        for (int i = part; i < VF_WINDOW_LANDMARKS; i += VF_WINDOW_PARTS)
            if (w->landmark[i].id && k->hosts >> w->landmark[i].host & 1) sum += (double)k->more[i].cost;
        for (int f = 0; f < VF_WINDOW_MOTIONS && part < VF_NAV_ERRORS; f++)
            if (k->inertial[f].a >= 0) sum += k->inertial[f].rows.r[part] * k->inertial[f].rows.r[part];
        for (int f = 0; f < VF_WINDOW_MOTIONS && part < 9; f++)
            if (k->inertial[f].a >= 0) sum += k->inertial[f].moved[part] * k->inertial[f].moved[part];
        k->part[part] = sum;
    }
    VF_ITEM_SYNC();
    VF_ITEMS(i, 1)
    {
        k->cost = 0.0;
        for (int part = 0; part < VF_WINDOW_PARTS; part++) k->cost += k->part[part];
    }
    VF_ITEM_SYNC();
}

VF_FN void vf_window_fold(const struct vf_window *w, struct vf_window_work *k)
{
    vf_window_from_firsts(w, k);
    vf_window_inertials(w, k);
    vf_window_fold_hosts(k);
    VF_ITEM_SYNC();
    vf_window_costs(w, k);
}

/* ---- all put together -------------------------------------------------------------------------------------------- */

/** Element of prior and readings, columns p and q. */
VF_FN double vf_window_base(const struct vf_window *w, const struct vf_window_work *k, int p, int q)
{
    double sum = w->prior.H[p * VF_WINDOW_COLUMNS + q];
    for (int f = 0; f < VF_WINDOW_MOTIONS; f++) {
        const struct vf_window_inertial *i = &k->inertial[f];
        if (i->column[p] >= 0 && i->column[q] >= 0) sum += i->H[i->column[p]][i->column[q]];
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

/** Row r of the block of frames a and b. */
VF_FN void vf_window_put_poses(const struct vf_window *w, struct vf_window_work *k, int pair, int r)
{
    double sum[6];
    int a, b;
    vf_window_pair_of(pair, &a, &b);
    for (int c = 0; c < 6; c++) sum[c] = vf_window_base(w, k, 6 * a + r, 6 * b + c);
    for (int h = 0; h < VF_WINDOW_FRAMES; h++) {
        const struct vf_window_host *host = &k->host[h];
        const uint32_t frames = host->frames | 1u << h;
        if (!host->count || !(frames >> a & frames >> b & 1)) continue;
        for (int c = 0; c < 6; c++)
            sum[c] += a == h && b == h ? host->own[r][c]
                      : a == h         ? -host->left[b][c][r]
                      : b == h         ? -host->left[a][r][c]
                                       : host->H[pair][r][c];
    }
    for (int c = a == b ? r : 0; c < 6; c++) vf_window_put(&k->system[k->trial], 6 * a + r, 6 * b + c, sum[c]);
}

/** Error r of frame f with time offset, mounting and offset of disparities; its right side. */
VF_FN void vf_window_put_camera(const struct vf_window *w, struct vf_window_work *k, int f, int r)
{
    enum { CAMERA = VF_WINDOW_CAMERA };
    double sum[CAMERA + 2];
    const int p = 6 * f + r;
    for (int i = 0; i <= CAMERA; i++) sum[i] = vf_window_base(w, k, p, VF_WINDOW_OFFSET + i);
    sum[CAMERA + 1] = vf_window_base_side(w, k, p);
    for (int h = 0; h < VF_WINDOW_FRAMES; h++) {
        const struct vf_window_host *host = &k->host[h];
        if (!host->count || !((host->frames | 1u << h) >> f & 1)) continue;
        for (int i = 0; i < CAMERA; i++) sum[i] += f == h ? -host->own_camera[i][r] : host->camera[f][i][r];
        for (int i = 0; i < 2; i++) sum[CAMERA + i] += f == h ? -host->own_g[1 - i][r] : host->g[1 - i][f][r];
    }
    for (int i = 0; i <= CAMERA; i++) vf_window_put(&k->system[k->trial], p, VF_WINDOW_OFFSET + i, sum[i]);
    k->system[k->trial].g[p] = sum[CAMERA + 1];
}

/** Column i of time offset, mounting and, last, the offset of disparities, with those from it on; its right side. */
VF_FN void vf_window_put_own(const struct vf_window *w, struct vf_window_work *k, int i)
{
    enum { CAMERA = VF_WINDOW_CAMERA };
    double sum[CAMERA + 2];
    const int p = VF_WINDOW_OFFSET + i;
    for (int j = i; j <= CAMERA; j++) sum[j] = vf_window_base(w, k, p, VF_WINDOW_OFFSET + j);
    sum[CAMERA + 1] = vf_window_base_side(w, k, p);
    for (int h = 0; h < VF_WINDOW_FRAMES; h++) {
        const struct vf_window_host *host = &k->host[h];
        if (!host->count) continue;
        for (int j = i; j < CAMERA; j++) sum[j] += host->both[i][j];
        for (int j = 0; j < 2; j++) sum[CAMERA + j] += i < CAMERA ? host->camera_g[1 - j][i] : host->disparity[j];
    }
    for (int j = i; j <= CAMERA; j++) vf_window_put(&k->system[k->trial], p, VF_WINDOW_OFFSET + j, sum[j]);
    k->system[k->trial].g[p] = sum[CAMERA + 1];
}

/** System of all factors, into the set being made. */
VF_FN void vf_window_assemble(const struct vf_window *w, struct vf_window_work *k)
{
    enum { POSES = 6 * VF_WINDOW_PAIRS, CAMERA = 6 * VF_WINDOW_FRAMES, OWN = VF_WINDOW_CAMERA + 1 };
    VF_ITEMS(i, POSES + CAMERA + OWN)
    {
        if (i < POSES)
            vf_window_put_poses(w, k, i / 6, i % 6);
        else if (i < POSES + CAMERA)
            vf_window_put_camera(w, k, (i - POSES) / 6, (i - POSES) % 6);
        else
            vf_window_put_own(w, k, i - POSES - CAMERA);
    }
    VF_ROWS(p, VF_WINDOW_MOVING, VF_WINDOW_OFFSET)
    {
        VF_COLUMNS(q, 0, VF_WINDOW_COLUMNS + 1)
        {
            if (q == VF_WINDOW_COLUMNS)
                k->system[k->trial].g[p] = vf_window_base_side(w, k, p);
            else if (q < VF_WINDOW_MOVING || q >= p)
                vf_window_put(&k->system[k->trial], p, q, vf_window_base(w, k, p, q));
        }
    }
}

#endif
