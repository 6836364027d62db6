/* SPDX-License-Identifier: MIT */
/* System of all factors of the window at the estimate, in launches: landmarks, their sums, these turned into columns of
 * the frames, all put together.
 *
 * Rule    vf_window_lists() and vf_window_relate() before the first; then, each behind the end of the one before,
 *         vf_window_landmarks() and beside it vf_window_readings() and vf_window_maps(), vf_window_gather(),
 *         vf_window_host_of() and beside it vf_window_costs(), vf_window_assemble(). vf_window_lists(), _relate(),
 *         _costs() are of one block, of a launch of more, _readings(), _maps() and _host_of() of one for each of their
 *         items
 * Exact   each element of a result is one item's; its terms are added in one order, landmarks and hosts by slot
 */
#ifndef VF_WINDOW_SYSTEM_H
#define VF_WINDOW_SYSTEM_H

#include "window_rest.h"

/* ---- landmarks --------------------------------------------------------------------------------------------------- */

/** Landmarks of a part of all, 1 / VF_WINDOW_PARTS, that a host taken has; written to its list from `first` on. Returns
 *  their number; seen: frames that see them. */
VF_FN uint32_t vf_window_list_part(const struct vf_window_work *k, int h, int part, uint32_t *first, uint32_t *seen)
{
    enum { EACH = VF_WINDOW_LANDMARKS / VF_WINDOW_PARTS };
    uint32_t count = 0;
    *seen = 0;
    if (!(k->hosts >> h & 1)) return 0;
    VF_UNROLL
    for (int i = part * EACH; i < (part + 1) * EACH; i++) {
        const uint32_t alive = k->alive[i], by = alive >> 16;
        const int own = (alive & 0xffff) == (uint32_t)h;
        if (first && own) first[count] = (uint32_t)i | by << 16;
        count += (uint32_t)own;
        *seen |= own ? by & ~(1u << h) : 0;
    }
    return count;
}

/** Landmarks of each host, and the frames that see them. */
VF_FN void vf_window_lists(const struct vf_window *w, struct vf_window_work *k)
{
    enum { ITEMS = VF_WINDOW_FRAMES * VF_WINDOW_PARTS };
    VF_STATIC_ASSERT(VF_WINDOW_LANDMARKS <= 1 << 16 && VF_WINDOW_FRAMES <= 16, "vfront: an entry has 16 bits each");
    VF_PARTS(i, VF_WINDOW_LANDMARKS)
    {
        const struct vf_landmark *l = &w->landmark[i];
        k->alive[i] = l->id ? ((uint32_t)l->host & 0xffff) | l->seen << 16 : VF_WINDOW_NOBODY;
    }
    VF_ITEM_SYNC();
    VF_PARTS(item, ITEMS)
    {
        const int h = item / VF_WINDOW_PARTS, part = item % VF_WINDOW_PARTS;
        k->host[h].part[part] = vf_window_list_part(k, h, part, NULL, &k->host[h].seen[part]);
    }
    VF_ITEM_SYNC();
    VF_PARTS(item, ITEMS + VF_WINDOW_FRAMES)
    {
        struct vf_window_host *host = &k->host[item < ITEMS ? item / VF_WINDOW_PARTS : item - ITEMS];
        const int part = item < ITEMS ? item % VF_WINDOW_PARTS : VF_WINDOW_PARTS;
        uint32_t before = 0, seen = 0;
        VF_UNROLL_16
        for (int i = 0; i < VF_WINDOW_PARTS; i++) {
            before += i < part ? host->part[i] : 0;
            seen |= i < part ? host->seen[i] : 0;
        }
        if (item < ITEMS) {
            vf_window_list_part(k, item / VF_WINDOW_PARTS, part, &host->list[before], &seen);
        } else {
            host->count = before;
            host->frames = seen;
            k->in[item - ITEMS] = before ? seen | 1u << (item - ITEMS) : 0;
        }
    }
    VF_ITEM_SYNC();
    VF_PARTS(f, VF_WINDOW_FRAMES)
    {
        uint32_t of = 0;
        for (int h = 0; h < VF_WINDOW_FRAMES; h++) of |= (k->in[h] >> f & 1) << h;
        k->of[f] = of;
    }
    VF_ITEM_SYNC();
}

/** Cameras of all frames. */
VF_FN void vf_window_cameras(const struct vf_window *w, struct vf_window_work *k)
{
    VF_PARTS(f, VF_WINDOW_FRAMES)
    {
        if (!w->slot[f].number) continue;
        vf_relative_camera_of(w, &w->slot[f], &k->camera[f]);
        vf_relative_drift(w, &w->slot[f], &k->camera[f], &k->drift[f]);
    }
    VF_ITEM_SYNC();
}

/** Poses of all frames relative to each host. */
VF_FN void vf_window_poses(const struct vf_window *w, struct vf_window_work *k)
{
    VF_PARTS(i, VF_WINDOW_FRAMES * VF_WINDOW_FRAMES)
    {
        const int h = i / VF_WINDOW_FRAMES, f = i % VF_WINDOW_FRAMES;
        if (k->host[h].count && w->slot[f].number) vf_relative_pose(&k->camera[h], &k->camera[f], &k->host[h].pose[f]);
    }
    VF_ITEM_SYNC();
}

VF_FN void vf_window_relate(const struct vf_window *w, struct vf_window_work *k)
{
    vf_window_cameras(w, k);
    vf_window_poses(w, k);
}

/** Blocks of vf_window_maps(). */
#define VF_WINDOW_MAPS 2

/** Their maps, a share of the hosts a block. */
VF_FN void vf_window_maps(const struct vf_window *w, struct vf_window_work *k, int block)
{
    enum { EACH = VF_WINDOW_FRAMES * VF_WINDOW_FRAMES / VF_WINDOW_MAPS };
    VF_PARTS(i, EACH)
    {
        const int h = (block * EACH + i) / VF_WINDOW_FRAMES, f = (block * EACH + i) % VF_WINDOW_FRAMES;
        if (k->host[h].count && w->slot[f].number)
            vf_relative_map_of(w, &w->slot[h], &w->slot[f], &k->host[h].map[k->trial][f]);
    }
}

/** Variance of a sight's scatter, in squared deviations. */
VF_FN double vf_window_scatter(const struct vf_window *w)
{
    return w->rig.scatter > 0.0 ? w->rig.scatter * w->rig.scatter : 1.0;
}

VF_FN struct vf_landmark_rig vf_window_landmark_rig(const struct vf_window *w)
{
    struct vf_landmark_rig rig;
    for (int i = 0; i < 9; i++) rig.R_1_0[i] = (float)w->rig.R_1_0[i];
    for (int i = 0; i < 3; i++) rig.t_1_0[i] = (float)w->rig.t_1_0_m[i];
    for (int n = 0; n < VF_WINDOW_STEREO; n++) rig.stereo[n] = (float)w->stereo_rad[n];
    rig.turns = w->rig.turn_rad > 0.0 ? 1.0f : 0.0f;
    rig.outlier = VF_WINDOW_OUTLIER * (float)vf_window_scatter(w);
    rig.range_sigma = w->rig.cameras > 1 ? VF_WINDOW_RANGE_SIGMA : VF_WINDOW_RANGE_SIGMA_ONE;
    return rig;
}

/** Place of landmark i: put back, kept and moved with the poses of the last step of the optimisation. taken: 0: nothing
 *  is written. Of a group. */
VF_FN struct vf_landmark_place vf_window_move(struct vf_window *w, struct vf_window_work *k, int i, int taken)
{
    struct vf_landmark *l = &w->landmark[i];
    struct vf_landmark_place place = k->kept_place[i];
    if (k->still || !k->undone) {
        for (int c = 0; c < 3; c++) place.bearing[c] = l->bearing[c];
        place.inverse = l->inverse;
    }
    VF_TEAM_SYNC();
    if (k->still) return place;
    if (taken && VF_GROUP_FIRST(16)) k->kept_place[i] = place;
    if (k->steps)
        vf_landmark_move(&place, l->seen & ~(1u << l->host), &k->row[k->at][i],
                         (const float(*)[6])k->host[l->host].change, &k->x[VF_WINDOW_DISPARITY]);
    if (taken && VF_GROUP_FIRST(16)) {
        for (int c = 0; c < 3; c++) l->bearing[c] = place.bearing[c];
        l->inverse = place.inverse;
    }
    return place;
}

/** Rows of all landmarks of the hosts taken, projected. */
VF_FN void vf_window_landmarks(struct vf_window *w, struct vf_window_work *k)
{
    const struct vf_landmark_rig rig = vf_window_landmark_rig(w);
    VF_GROUPS(16, i, VF_WINDOW_LANDMARKS)
    {
        const struct vf_landmark *l = &w->landmark[i];
        const int taken = l->id && k->hosts >> l->host & 1;
        struct vf_landmark_rows rows;
        float R[6];
        if (VF_GROUP_ALONE && !taken) continue;
        const struct vf_landmark_place place = vf_window_move(w, k, i, taken);
        vf_landmark_rows_of(&rows, l, &place, &rig, k->host[l->host].pose, k->drift);
        vf_landmark_factor(rows.point, R);
        vf_landmark_keep(&k->row[k->trial][i], &k->more[i], &rows, R, l->seen, taken);
    }
}

/* ---- prior and readings ------------------------------------------------------------------------------------------ */

/** Difference of a frame's estimate from its prior's first: its part of the columns' x. */
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

/** The same of all columns. Of one block. */
VF_FN void vf_window_from_firsts(const struct vf_window *w, struct vf_window_work *k)
{
    double *x = k->from_first;
    VF_PARTS(i, 9 * VF_WINDOW_STATES)
    x[VF_WINDOW_MOVING + i] = 0.0;
    VF_ITEM_SYNC();
    VF_PARTS(f, VF_WINDOW_FRAMES + 1)
    {
        if (f < VF_WINDOW_FRAMES) {
            vf_window_from_first(&w->slot[f], f, x);
        } else {
            x[VF_WINDOW_OFFSET] = w->offset_s - w->first_offset_s;
            for (int n = 0; n < VF_WINDOW_STEREO; n++)
                x[VF_WINDOW_DISPARITY + n] = w->stereo_rad[n] - w->first_stereo_rad[n];
            vf_window_turn_between(w->mount, w->first_mount, &x[VF_WINDOW_MOUNT]);
        }
    }
    VF_ITEM_SYNC();
}

/** Product of a symmetric matrix over all columns and x: element r, by columns, which lie side by side. */
VF_FN double vf_window_product(const double *H, const double *x, int r)
{
    double sum = 0.0;
    VF_UNROLL_16
    for (int c = 0; c < VF_WINDOW_COLUMNS; c++) sum += H[c * VF_WINDOW_COLUMNS + r] * x[c];
    return sum;
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

/** Normal equations of a factor of readings. Of one block. */
VF_FN void vf_window_inertial(const struct vf_window *w, struct vf_window_inertial *f)
{
    enum { N = VF_WINDOW_COLUMNS, C = VF_INERTIAL_COLUMNS, R = VF_NAV_ERRORS };
    const struct vf_window_slot *a = &w->slot[f->a], *b = &w->slot[f->b];
    VF_PARTS(i, N + R * C)
    {
        if (i < N)
            f->column[i] = vf_window_inertial_column(w, f, i);
        else
            f->rows.J[(i - N) / C][(i - N) % C] = 0.0;
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, 64)
    { /* by two warps */
        if (i == 0) vf_inertial_residual(b, &a->value, &b->value, w->noise.gravity_m_s2, f->rows.r);
        if (i == 1) vf_rest_rows(f, a, b);
        if (i == 32) vf_inertial_derive_at(&f->rows, a, b, &w->noise);
    }
    VF_ITEM_SYNC();
    VF_PARTS(c, C + 1)
    vf_inertial_whiten(&f->rows, &b->scale, c);
    VF_ITEM_SYNC();
    VF_PARTS(item, C * (C + 1))
    {
        const int r = item / (C + 1), c = item % (C + 1);
        double sum = vf_rest_element(f, r, c);
        for (int i = 0; i < R; i++) sum += f->rows.J[i][r] * (c < C ? f->rows.J[i][c] : f->rows.r[i]);
        if (c < C)
            f->H[r][c] = sum;
        else
            f->g[r] = sum;
    }
}

/** Blocks of vf_window_readings(). */
#define VF_WINDOW_READINGS (VF_WINDOW_MOTIONS + 1)

/** Normal equations of the factors of readings, a block each; what the prior says at the estimate, the last block. */
VF_FN void vf_window_readings(const struct vf_window *w, struct vf_window_work *k, int block)
{
    if (block == VF_WINDOW_MOTIONS) {
        vf_window_from_firsts(w, k);
        VF_PARTS(i, VF_WINDOW_COLUMNS)
        k->of_prior[i] = vf_window_product(w->prior.H, k->from_first, i);
    } else if (k->inertial[block].a >= 0) {
        vf_window_inertial(w, &k->inertial[block]);
    } else {
        VF_PARTS(i, VF_WINDOW_COLUMNS)
        k->inertial[block].column[i] = -1;
    }
}

/* ---- sums over the landmarks of a host --------------------------------------------------------------------------- */

/** Lanes of a group that adds what the landmarks of a host say. One host may have nearly all of them, in a list that a
 *  lane goes through in steps of this many. */
#define VF_WINDOW_LANES 16
#define VF_WINDOW_LISTED(i, first, count) for (uint32_t i = (uint32_t)(first); i < (count); i += VF_WINDOW_LANES)

/** Landmark at place i of a host's list; -1: not all the frames of a mask see it. */
VF_FN int vf_window_listed(const struct vf_window_host *host, uint32_t i, uint32_t frames)
{
    const uint32_t entry = host->list[i];
    return (entry >> 16 & frames) == frames ? (int)(entry & 0xffff) : -1;
}

/** Share of landmark `at` in row r of the block of frames a and b, its six elements. */
VF_FN void vf_window_gather_one(const struct vf_window_work *k, int at, int a, int b, int r, float h[6])
{
    const struct vf_landmark_row *row = &k->row[k->trial][at];
    const struct vf_landmark_more *more = &k->more[at];
    for (int c = 0; c < 6; c++) h[c] = 0.0f;
    for (int j = 0; j < 3 && (a == b || !VF_GROUP_ALONE); j++) {
        const float own = a == b ? more->direct[a][j][r] : 0.0f;
        for (int c = 0; c < 6; c++) h[c] += own * (a == b ? more->direct[a][j][c] : 0.0f);
    }
    for (int j = 0; j < 3; j++)
        for (int c = 0; c < 6; c++) h[c] -= row->pose[j][a][r] * row->pose[j][b][c];
}

/** Rows of a block that a group works on: on a GPU one. */
#define VF_WINDOW_ROWS (VF_GROUP_ALONE ? 6 : 1)

/** Rows of the block of frames a and b, VF_WINDOW_ROWS of them from r on. on: 0: nothing is written. Of a group. */
VF_FN void vf_window_gather_rows(const struct vf_window_work *k, struct vf_window_host *host, int pair, int a, int b,
                                 int r, int on)
{
    double sum[VF_WINDOW_ROWS][VF_GROUP_HELD(VF_WINDOW_LANES)][6];
    const uint32_t count = on ? host->count : 0;
    memset(sum, 0, sizeof sum);
    VF_GROUP(VF_WINDOW_LANES, lane, first)
    VF_WINDOW_LISTED(i, first, count)
    {
        const int at = vf_window_listed(host, i, 1u << a | 1u << b);
        for (int j = 0; j < VF_WINDOW_ROWS && at >= 0; j++) {
            double *to = sum[j][lane];
            float h[6];
            vf_window_gather_one(k, at, a, b, r + j, h);
            for (int c = 0; c < 6; c++) to[c] += (double)h[c];
        }
    }
    for (int j = 0; j < VF_WINDOW_ROWS; j++)
        for (int c = 0; c < 6; c++) {
            double part[VF_GROUP_HELD(VF_WINDOW_LANES)];
            VF_GROUP_VALUES(VF_WINDOW_LANES, lane)
            part[lane] = sum[j][lane][c];
            const double all = vf_group_sum_16_double(part);
            if (on && VF_GROUP_FIRST(VF_WINDOW_LANES)) host->H[pair][r + j][c] = all;
        }
}

/** Right sides of frame f: element c of each. on: as above. Of a group. */
VF_FN void vf_window_gather_side(const struct vf_window_work *k, struct vf_window_host *host, int f, int c, int on)
{
    enum { SIDES = 1 + VF_WINDOW_STEREO };
    double sum[SIDES][VF_GROUP_HELD(VF_WINDOW_LANES)];
    const uint32_t count = on ? host->count : 0;
    memset(sum, 0, sizeof sum);
    VF_GROUP(VF_WINDOW_LANES, lane, first)
    VF_WINDOW_LISTED(i, first, count)
    {
        const int at = vf_window_listed(host, i, 1u << f);
        for (int side = 0; side < SIDES && at >= 0; side++) sum[side][lane] += (double)k->more[at].slope[f][side][c];
    }
    for (int side = 0; side < SIDES; side++) {
        const double all = vf_group_sum_16_double(sum[side]);
        if (on && VF_GROUP_FIRST(VF_WINDOW_LANES)) host->g[side][f][c] = all;
    }
}

/** Offsets of camera 1: element of their sums. on: as above. Of a group. */
VF_FN void vf_window_gather_own(const struct vf_window_work *k, struct vf_window_host *host, int which, int on)
{
    const uint32_t count = on ? host->count : 0;
    double sum[VF_GROUP_HELD(VF_WINDOW_LANES)];
    memset(sum, 0, sizeof sum);
    VF_GROUP(VF_WINDOW_LANES, lane, first)
    VF_WINDOW_LISTED(i, first, count)
    sum[lane] += (double)k->more[vf_window_listed(host, i, 0)].of_stereo[which];
    const double all = vf_group_sum_16_double(sum);
    if (on && VF_GROUP_FIRST(VF_WINDOW_LANES)) host->stereo[which] = all;
}

/** Groups for the sums of a host, and of all. */
#define VF_WINDOW_SUMS (6 * VF_WINDOW_PAIRS + 6 * VF_WINDOW_FRAMES + (VF_WINDOW_STEREO_SUMS + 1) / 2 * 2)
#define VF_WINDOW_GATHERED (VF_WINDOW_FRAMES * VF_WINDOW_SUMS)

/** Sums over the landmarks of each host: a group for the elements of a row of a block, for those of a right side, and
 *  for the offsets of camera 1. Groups of a warp, two, are of one kind. */
VF_FN void vf_window_gather(struct vf_window_work *k)
{
    enum { ROWS = 6 * VF_WINDOW_PAIRS, SIDES = 6 * VF_WINDOW_FRAMES, EACH = VF_WINDOW_SUMS };
    VF_STATIC_ASSERT(VF_WINDOW_LANES == 16, "vfront: sums of hosts are those of 16 lanes, two groups a warp");
    VF_STATIC_ASSERT(ROWS % 2 == 0 && SIDES % 2 == 0 && EACH % 2 == 0, "vfront: kinds of sums fill warps");
    VF_GROUPS(VF_WINDOW_LANES, item, VF_WINDOW_GATHERED)
    {
        struct vf_window_host *host = &k->host[item / EACH];
        const int i = item % EACH;
        if (!host->count) continue;
        if (i < ROWS) {
            int a, b;
            vf_window_pair_of(i / 6, &a, &b);
            const int on = i % VF_WINDOW_ROWS == 0 && host->frames >> a & host->frames >> b & 1;
            if (on || !VF_GROUP_ALONE) vf_window_gather_rows(k, host, i / 6, a, b, i % 6, on);
        } else if (i < ROWS + SIDES) {
            const int f = (i - ROWS) / 6, on = (int)(host->frames >> f & 1);
            vf_window_gather_side(k, host, f, (i - ROWS) % 6, on);
        } else {
            vf_window_gather_own(k, host, i - ROWS - SIDES, i - ROWS - SIDES < VF_WINDOW_STEREO_SUMS);
        }
    }
}

/* ---- from relative poses to poses of frames ---------------------------------------------------------------------- */

/** Blocks and right sides of a host turned into columns of the frames, in place: rows first. */
VF_FN void vf_window_spread(struct vf_window_host *host, const struct vf_relative_map map[VF_WINDOW_FRAMES])
{
    enum { ROWS = 6 * VF_WINDOW_PAIRS };
    VF_PARTS(item, ROWS + (1 + VF_WINDOW_STEREO) * VF_WINDOW_FRAMES)
    {
        int a = (item - ROWS) % VF_WINDOW_FRAMES, b = a;
        if (item < ROWS) vf_window_pair_of(item / 6, &a, &b);
        if (host->frames >> a & host->frames >> b & 1)
            vf_relative_row(&map[b],
                            item < ROWS ? host->H[item / 6][item % 6] : host->g[(item - ROWS) / VF_WINDOW_FRAMES][a]);
    }
    VF_ITEM_SYNC();
    VF_PARTS(item, ROWS)
    {
        int a, b;
        vf_window_pair_of(item / 6, &a, &b);
        if (host->frames >> a & host->frames >> b & 1) vf_relative_column(&map[a], host->H[item / 6], item % 6);
    }
    VF_ITEM_SYNC();
}

/** Element of the block of frames a and b of a host, both with equations. */
VF_FN double vf_window_block(const struct vf_window_host *host, int a, int r, int b, int c)
{
    return a <= b ? host->H[vf_window_pair(a, b)][r][c] : host->H[vf_window_pair(b, a)][c][r];
}

/* In sums over all frames a GPU reads what frames without an equation would add, too, and leaves it out: so it does not
 * wait for one frame before it reads the next. */

/** Row r of frame a with the columns of the host: sum over all frames. */
VF_FN void vf_window_fold_row(struct vf_window_host *host, const struct vf_relative_map *map, int a, int r)
{
    double left[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    VF_UNROLL_4
    for (int b = 0; b < VF_WINDOW_FRAMES; b++) {
        const int on = (int)(host->frames >> b & 1);
        double row[6], moved[6];
        if (VF_GROUP_ALONE && !on) continue;
        for (int c = 0; c < 6; c++) row[c] = vf_window_block(host, a, r, b, c);
        vf_relative_host(&map[b], row, moved);
        for (int c = 0; c < 6; c++) left[c] = on ? left[c] + moved[c] : left[c];
    }
    memcpy(host->left[a][r], left, sizeof left);
}

/** Row r of frame a with time offset or mounting: sum over all frames. */
VF_FN void vf_window_fold_camera_row(struct vf_window_host *host, const struct vf_relative_map *map, int a, int r,
                                     int i)
{
    double sum = 0.0;
    VF_UNROLL_4
    for (int b = 0; b < VF_WINDOW_FRAMES; b++) {
        const int on = (int)(host->frames >> b & 1);
        double part = 0.0;
        if (VF_GROUP_ALONE && !on) continue;
        for (int c = 0; c < 6; c++) part += vf_window_block(host, a, r, b, c) * map[b].by[i][c];
        sum = on ? sum + part : sum;
    }
    host->camera[a][i][r] = sum;
}

/** Sum over all frames of a column of six for each, as one of the host. stride: of the column of a frame to the next;
 *  of elements in it. */
VF_FN void vf_window_fold_column(uint32_t frames, const struct vf_relative_map *map, const double *column, int stride,
                                 int step, double out[6])
{
    for (int r = 0; r < 6; r++) out[r] = 0.0;
    VF_UNROLL_4
    for (int a = 0; a < VF_WINDOW_FRAMES; a++) {
        const int on = (int)(frames >> a & 1);
        double own[6], moved[6];
        if (VF_GROUP_ALONE && !on) continue;
        for (int r = 0; r < 6; r++) own[r] = column[a * stride + r * step];
        vf_relative_host(&map[a], own, moved);
        for (int r = 0; r < 6; r++) out[r] = on ? out[r] + moved[r] : out[r];
    }
}

/** Sum over all frames of columns of six, by what time offset or mounting does to the frames. */
VF_FN double vf_window_fold_by(uint32_t frames, const struct vf_relative_map *map, const double *column, int stride,
                               int i)
{
    double sum = 0.0;
    VF_UNROLL_4
    for (int a = 0; a < VF_WINDOW_FRAMES; a++) {
        const int on = (int)(frames >> a & 1);
        double part = 0.0;
        if (VF_GROUP_ALONE && !on) continue;
        for (int r = 0; r < 6; r++) part += column[a * stride + r] * map[a].by[i][r];
        sum = on ? sum + part : sum;
    }
    return sum;
}

/** Item of what is summed last of a host: its columns with themselves, with time offset and mounting, right sides;
 *  time offset and mounting with themselves, right sides. */
VF_FN void vf_window_fold_own(struct vf_window_host *host, const struct vf_relative_map *map, int i)
{
    enum { C = VF_WINDOW_CAMERA, FRAME = 6 * C, ALL = 7 + C + VF_WINDOW_STEREO };
    const uint32_t frames = host->frames;
    if (i < ALL) {
        const double *column = i < 6       ? &host->left[0][0][i]
                               : i < 6 + C ? host->camera[0][i - 6]
                                           : host->g[i - 6 - C][0];
        double own[6];
        vf_window_fold_column(frames, map, column, i < 6 ? 36 : i < 6 + C ? FRAME : 6, i < 6 ? 6 : 1, own);
        for (int r = 0; r < 6; r++)
            *(i < 6 ? &host->own[r][i] : i < 6 + C ? &host->own_camera[i - 6][r] : &host->own_g[i - 6 - C][r]) = own[r];
    } else if (i < ALL + C * C) {
        const int c = (i - ALL) / C, r = (i - ALL) % C;
        host->both[r][c] = vf_window_fold_by(frames, map, host->camera[0][c], FRAME, r);
    } else {
        const int side = (i - ALL - C * C) / C, c = (i - ALL - C * C) % C;
        host->camera_g[side][c] = vf_window_fold_by(frames, map, host->g[side][0], 6, c);
    }
}

/** All that a host gives to the system: all between `H` and `map` of it; maps of a set. Of one block. */
VF_FN void vf_window_host_of(struct vf_window_host *host, int set)
{
    enum { ROWS = 6 * VF_WINDOW_FRAMES, C = VF_WINDOW_CAMERA };
    const struct vf_relative_map *map = host->map[set];
    if (!host->count) return;
    vf_window_spread(host, map);
    VF_PARTS(item, ROWS * (1 + C))
    {
        const int a = item % ROWS / 6, r = item % 6, i = item / ROWS;
        if (!(host->frames >> a & 1)) continue;
        if (i)
            vf_window_fold_camera_row(host, map, a, r, i - 1);
        else
            vf_window_fold_row(host, map, a, r);
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, 7 + C + VF_WINDOW_STEREO + C * C + (1 + VF_WINDOW_STEREO) * C)
    vf_window_fold_own(host, map, i);
}

/** Number of bits set, of 16. */
VF_FN int vf_window_bits(uint32_t v)
{
    v = (v & 0x5555) + (v >> 1 & 0x5555);
    v = (v & 0x3333) + (v >> 2 & 0x3333);
    v = (v & 0x0f0f) + (v >> 4 & 0x0f0f);
    return (int)((v & 0xff) + (v >> 8));
}

/** Twice the cost of all factors at the estimate, but for a constant; cost of the sights, and their number: in parts,
 *  the first then together. Of one block. */
VF_FN void vf_window_costs(const struct vf_window *w, struct vf_window_work *k)
{
    VF_PARTS(part, VF_WINDOW_PARTS)
    {
        double sum = 0.0, sights = 0.0;
        uint32_t number = 0;
        for (int i = part; i < VF_WINDOW_COLUMNS; i += VF_WINDOW_PARTS)
            sum += k->from_first[i] * (k->of_prior[i] + 2.0 * w->prior.g[i]);
        VF_UNROLL_4
        for (int i = part; i < VF_WINDOW_LANDMARKS; i += VF_WINDOW_PARTS) {
            const uint32_t alive = k->alive[i];
            const int on = alive != VF_WINDOW_NOBODY && k->hosts >> (alive & 15) & 1;
            if (VF_GROUP_ALONE && !on) continue;
            const double cost = (double)k->more[i].cost;
            sights = on ? sights + cost : sights;
            const uint32_t seen = (uint32_t)vf_window_bits(alive >> 16);
            number += on && seen > 1 ? seen : 0; /* that of the host alone, as on trial, says nothing */
        }
        for (int f = 0; f < VF_WINDOW_MOTIONS && part < VF_NAV_ERRORS; f++)
            if (k->inertial[f].a >= 0) sum += k->inertial[f].rows.r[part] * k->inertial[f].rows.r[part];
        for (int f = 0; f < VF_WINDOW_MOTIONS && part < 9; f++)
            if (k->inertial[f].a >= 0) sum += k->inertial[f].moved[part] * k->inertial[f].moved[part];
        k->part[part] = sum + sights;
        k->seen[part] = sights;
        k->number[part] = number;
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, 1)
    {
        double cost = 0.0;
        VF_UNROLL_16
        for (int part = 0; part < VF_WINDOW_PARTS; part++) cost += k->part[part];
        k->cost = cost;
    }
}

#endif
