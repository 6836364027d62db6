/* SPDX-License-Identifier: MIT */
/* Linear system of all factors at the trial estimate, in launches: landmarks, sums per anchor, conversion to absolute
 * poses, assembly.
 *
 * Rule    first vf_vio_anchor_lists() and vf_vio_update_poses(). Then in sequence: vf_vio_linearize_landmarks() with
 *         vf_vio_linearize_imu() and vf_vio_relative_jacobians() concurrently; vf_vio_gather();
 *         vf_vio_anchor_assemble() with vf_vio_costs() concurrently; vf_vio_assemble().
 *         vf_vio_anchor_lists(), vf_vio_update_poses() and vf_vio_costs() run in one block; vf_vio_linearize_imu(),
 *         vf_vio_relative_jacobians() and vf_vio_anchor_assemble() in one block per item.
 * Exact   one thread computes each element; terms are added in one order, landmarks and anchors by slot
 */
#ifndef VF_VIO_SYSTEM_H
#define VF_VIO_SYSTEM_H

#include "stationary.h"

/* ---- landmarks --------------------------------------------------------------------------------------------------- */

/** Finds the landmarks of anchor h in part `part` of all landmarks. Returns their number. first: out, their list
 *  entries, unless NULL. seen: out, bits of the other frames that observe them. */
VF_FN uint32_t vf_vio_anchor_list_part(const struct vf_vio_work *k, int h, int part, uint32_t *first, uint32_t *seen)
{
    enum { EACH = VF_VIO_LANDMARKS / VF_VIO_PARTS };
    uint32_t count = 0;
    *seen = 0;
    if (!(k->anchors >> h & 1)) return 0;
    VF_UNROLL
    for (int i = part * EACH; i < (part + 1) * EACH; i++) {
        const uint32_t anchor_and_seen = k->anchor_and_seen[i], by = anchor_and_seen >> 16;
        const int own = (anchor_and_seen & 0xffff) == (uint32_t)h;
        if (first && own) first[count] = (uint32_t)i | by << 16;
        count += (uint32_t)own;
        *seen |= own ? by & ~(1u << h) : 0;
    }
    return count;
}

/** Lists the landmarks of each anchor and the frames that observe them. Runs in one block. */
VF_FN void vf_vio_anchor_lists(const struct vf_vio_window *w, struct vf_vio_work *k)
{
    enum { ITEMS = VF_VIO_FRAMES * VF_VIO_PARTS };
    VF_STATIC_ASSERT(VF_VIO_LANDMARKS <= 1 << 16 && VF_VIO_FRAMES <= 16, "vfront: an entry has 16 bits each");
    VF_PARTS(i, VF_VIO_LANDMARKS)
    {
        const struct vf_landmark *l = &w->landmark[i];
        k->anchor_and_seen[i] = l->id ? ((uint32_t)l->anchor & 0xffff) | l->seen << 16 : VF_VIO_NO_LANDMARK;
    }
    VF_ITEM_SYNC();
    VF_PARTS(item, ITEMS)
    {
        const int h = item / VF_VIO_PARTS, part = item % VF_VIO_PARTS;
        k->anchor[h].part[part] = vf_vio_anchor_list_part(k, h, part, NULL, &k->anchor[h].seen[part]);
    }
    VF_ITEM_SYNC();
    VF_PARTS(item, ITEMS + VF_VIO_FRAMES)
    {
        struct vf_vio_anchor *anchor = &k->anchor[item < ITEMS ? item / VF_VIO_PARTS : item - ITEMS];
        const int part = item < ITEMS ? item % VF_VIO_PARTS : VF_VIO_PARTS;
        uint32_t before = 0, seen = 0;
        VF_UNROLL_16
        for (int i = 0; i < VF_VIO_PARTS; i++) {
            before += i < part ? anchor->part[i] : 0;
            seen |= i < part ? anchor->seen[i] : 0;
        }
        if (item < ITEMS) {
            vf_vio_anchor_list_part(k, item / VF_VIO_PARTS, part, &anchor->list[before], &seen);
        } else {
            anchor->count = before;
            anchor->frames = seen;
            k->anchor_frames[item - ITEMS] = before ? seen | 1u << (item - ITEMS) : 0;
        }
    }
    VF_ITEM_SYNC();
    VF_PARTS(f, VF_VIO_FRAMES)
    {
        uint32_t frame_anchors = 0;
        for (int h = 0; h < VF_VIO_FRAMES; h++) frame_anchors |= (k->anchor_frames[h] >> f & 1) << h;
        k->frame_anchors[f] = frame_anchors;
    }
    VF_ITEM_SYNC();
}

/** Computes pose and motion of camera 0 in all frames. */
VF_FN void vf_vio_cameras(const struct vf_vio_window *w, struct vf_vio_work *k)
{
    VF_PARTS(f, VF_VIO_FRAMES)
    {
        if (!w->slot[f].number) continue;
        vf_relative_camera_of(w, &w->slot[f], &k->camera[f]);
        vf_relative_camera_motion(w, &w->slot[f], &k->camera[f], &k->camera_motion[f]);
    }
    VF_ITEM_SYNC();
}

/** Computes the poses of all frames relative to each anchor. */
VF_FN void vf_vio_relative_poses(const struct vf_vio_window *w, struct vf_vio_work *k)
{
    VF_PARTS(i, VF_VIO_FRAMES * VF_VIO_FRAMES)
    {
        const int h = i / VF_VIO_FRAMES, f = i % VF_VIO_FRAMES;
        if (k->anchor[h].count && w->slot[f].number)
            vf_relative_pose(&k->camera[h], &k->camera[f], &k->anchor[h].pose[f]);
    }
    VF_ITEM_SYNC();
}

VF_FN void vf_vio_update_poses(const struct vf_vio_window *w, struct vf_vio_work *k)
{
    vf_vio_cameras(w, k);
    vf_vio_relative_poses(w, k);
}

/** Number of blocks in which vf_vio_relative_jacobians() runs. */
#define VF_VIO_JACOBIAN_BLOCKS 2

/** Computes the Jacobians of all frames' poses relative to each anchor; each block a share of them. */
VF_FN void vf_vio_relative_jacobians(const struct vf_vio_window *w, struct vf_vio_work *k, int block)
{
    enum { EACH = VF_VIO_FRAMES * VF_VIO_FRAMES / VF_VIO_JACOBIAN_BLOCKS };
    VF_PARTS(i, EACH)
    {
        const int h = (block * EACH + i) / VF_VIO_FRAMES, f = (block * EACH + i) % VF_VIO_FRAMES;
        if (k->anchor[h].count && w->slot[f].number)
            vf_relative_linearize(w, &w->slot[h], &w->slot[f], &k->anchor[h].jacobian[k->trial][f]);
    }
}

VF_FN struct vf_landmark_rig vf_vio_landmark_rig(const struct vf_vio_window *w)
{
    struct vf_landmark_rig rig;
    for (int i = 0; i < 9; i++) rig.R_1_0[i] = (float)w->rig.R_1_0[i];
    for (int i = 0; i < 3; i++) rig.t_1_0[i] = (float)(w->rig.t_1_0_m[i] * (1.0 + w->stereo[VF_STEREO_LENGTH]));
    memcpy(rig.baseline, rig.t_1_0, sizeof rig.baseline);
    vf_unit(rig.baseline);
    for (int n = 0; n < VF_VIO_STEREO_OFFSETS; n++) rig.stereo[n] = (float)w->stereo[n];
    rig.outlier = VF_VIO_ROBUST_THRESHOLD * (float)vf_vio_noise_variance(w);
    rig.range_sigma = w->rig.cameras > 1 ? VF_VIO_INVERSE_RANGE_SIGMA : VF_VIO_INVERSE_RANGE_SIGMA_MONO;
    return rig;
}

/** Estimate of landmark i for the next linear system. It is restored if the last step was reverted, then saved and
 *  updated by back-substitution. taken: 0: nothing is written. Run by a group. */
VF_FN struct vf_landmark_estimate vf_vio_step_landmark(struct vf_vio_window *w, struct vf_vio_work *k, int i, int taken)
{
    struct vf_landmark *l = &w->landmark[i];
    struct vf_landmark_estimate estimate = k->saved_landmark[i];
    if (k->still || !k->reverted) {
        for (int c = 0; c < 3; c++) estimate.bearing[c] = l->bearing[c];
        estimate.inverse = l->inverse;
    }
    VF_TEAM_SYNC();
    if (k->still) return estimate;
    if (taken && VF_GROUP_FIRST(16)) k->saved_landmark[i] = estimate;
    if (k->iterations)
        vf_landmark_back_substitute(&estimate, l->seen & ~(1u << l->anchor), &k->row[k->at][i],
                                    (const float(*)[6])k->anchor[l->anchor].change, &k->x[VF_VIO_DISPARITY]);
    if (taken && VF_GROUP_FIRST(16)) {
        for (int c = 0; c < 3; c++) l->bearing[c] = estimate.bearing[c];
        l->inverse = estimate.inverse;
    }
    return estimate;
}

/** Linearizes and eliminates all landmarks of the anchors in k->anchors. */
VF_FN void vf_vio_linearize_landmarks(struct vf_vio_window *w, struct vf_vio_work *k)
{
    const struct vf_landmark_rig rig = vf_vio_landmark_rig(w);
    VF_GROUPS(16, i, VF_VIO_LANDMARKS)
    {
        const struct vf_landmark *l = &w->landmark[i];
        const int taken = l->id && k->anchors >> l->anchor & 1;
        struct vf_landmark_jacobian rows;
        float R[6];
        if (VF_GROUP_ALONE && !taken) continue;
        const struct vf_landmark_estimate estimate = vf_vio_step_landmark(w, k, i, taken);
        vf_landmark_linearize(&rows, l, &estimate, &rig, k->anchor[l->anchor].pose, k->camera_motion);
        vf_landmark_orthonormalize(rows.point, R);
        vf_landmark_reduce(&k->row[k->trial][i], &k->equations[i], &rows, R, l->seen, taken);
    }
}

/* ---- prior and IMU ----------------------------------------------------------------------------------------------- */

/** Computes estimate minus linearization point of a frame whose variables are in the prior, in the columns x of the
 *  system. */
VF_FN void vf_vio_prior_x_frame(const struct vf_vio_slot *s, int f, double x[VF_VIO_COLUMNS])
{
    double turn[3] = {0.0, 0.0, 0.0};
    const int there = s->number && s->prior;
    if (there) vf_quaternion_difference(s->value.q, s->first.q, turn);
    for (int i = 0; i < 3; i++) {
        x[6 * f + i] = there ? s->value.p[i] - s->first.p[i] : 0.0;
        x[6 * f + 3 + i] = turn[i];
    }
    if (!there || s->state < 0) return;
    double *velocity = &x[VF_VIO_VELOCITY + 9 * s->state];
    for (int i = 0; i < 3; i++) velocity[i] = s->value.v[i] - s->first.v[i];
    for (int i = 0; i < 6; i++) velocity[3 + i] = s->value.bias[i] - s->first.bias[i];
}

/** Computes estimate minus linearization point of all columns of the system, for the prior. Runs in one block. */
VF_FN void vf_vio_prior_x_all(const struct vf_vio_window *w, struct vf_vio_work *k)
{
    double *x = k->prior_x;
    VF_PARTS(i, 9 * VF_VIO_STATES)
    x[VF_VIO_VELOCITY + i] = 0.0;
    VF_ITEM_SYNC();
    VF_PARTS(f, VF_VIO_FRAMES + 1)
    {
        if (f < VF_VIO_FRAMES) {
            vf_vio_prior_x_frame(&w->slot[f], f, x);
        } else {
            x[VF_VIO_TIME_OFFSET] = w->offset_s - w->first_offset_s;
            for (int n = 0; n < VF_VIO_STEREO_OFFSETS; n++) x[VF_VIO_DISPARITY + n] = w->stereo[n] - w->first_stereo[n];
            vf_quaternion_difference(w->mount, w->first_mount, &x[VF_VIO_MOUNT]);
        }
    }
    VF_ITEM_SYNC();
}

/** Element r of H x for a symmetric H. Reads column r of H, so that threads access adjacent memory. */
VF_FN double vf_vio_symmetric_product(const double *H, const double *x, int r)
{
    double sum = 0.0;
    VF_UNROLL_16
    for (int c = 0; c < VF_VIO_COLUMNS; c++) sum += H[c * VF_VIO_COLUMNS + r] * x[c];
    return sum;
}

/** Column of the inertial factor f that belongs to column p of the system; -1 if f does not depend on it. */
VF_FN int vf_vio_inertial_column(const struct vf_vio_window *w, const struct vf_vio_inertial *f, int p)
{
    for (int end = 0; end < 2; end++) {
        const int slot = end ? f->b : f->a, velocity_column = VF_VIO_VELOCITY + 9 * w->slot[slot].state;
        if (p < VF_VIO_VELOCITY && p / 6 == slot) return VF_NAV_ERRORS * end + p % 6;
        if (p >= velocity_column && p < velocity_column + 9) return VF_NAV_ERRORS * end + 6 + p - velocity_column;
    }
    return -1;
}

/** Computes the normal equations of an inertial factor with its zero-velocity update. Runs in one block. */
VF_FN void vf_vio_inertial(const struct vf_vio_window *w, struct vf_vio_inertial *f)
{
    enum { N = VF_VIO_COLUMNS, C = VF_INERTIAL_COLUMNS, R = VF_NAV_ERRORS };
    const struct vf_vio_slot *a = &w->slot[f->a], *b = &w->slot[f->b];
    VF_PARTS(i, N + R * C)
    {
        if (i < N)
            f->column[i] = vf_vio_inertial_column(w, f, i);
        else
            f->rows.J[(i - N) / C][(i - N) % C] = 0.0;
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, 64)
    { /* items 0 and 1 run in one warp, item 32 in another */
        if (i == 0) vf_inertial_residual(b, &a->value, &b->value, w->noise.gravity_m_s2, f->rows.r);
        if (i == 1) vf_stationary_rows(f, a, b);
        if (i == 32) vf_inertial_linearize(&f->rows, a, b, &w->noise);
    }
    VF_ITEM_SYNC();
    VF_PARTS(c, C + 1)
    vf_inertial_whiten(&f->rows, &b->whitening, c);
    VF_ITEM_SYNC();
    VF_PARTS(item, C * (C + 1))
    {
        const int r = item / (C + 1), c = item % (C + 1);
        double sum = vf_stationary_element(f, r, c);
        for (int i = 0; i < R; i++) sum += f->rows.J[i][r] * (c < C ? f->rows.J[i][c] : f->rows.r[i]);
        if (c < C)
            f->H[r][c] = sum;
        else
            f->g[r] = sum;
    }
}

/** Number of blocks in which vf_vio_linearize_imu() runs: one per inertial factor, one for the prior. */
#define VF_VIO_IMU_BLOCKS (VF_VIO_INERTIAL_FACTORS + 1)

/** Computes the normal equations of the inertial factors, one block each. The last block computes the difference of the
 *  estimate to the prior's linearization point, and H times this difference. */
VF_FN void vf_vio_linearize_imu(const struct vf_vio_window *w, struct vf_vio_work *k, int block)
{
    if (block == VF_VIO_INERTIAL_FACTORS) {
        vf_vio_prior_x_all(w, k);
        VF_PARTS(i, VF_VIO_COLUMNS)
        k->prior_Hx[i] = vf_vio_symmetric_product(w->prior.H, k->prior_x, i);
    } else if (k->inertial[block].a >= 0) {
        vf_vio_inertial(w, &k->inertial[block]);
    } else {
        VF_PARTS(i, VF_VIO_COLUMNS)
        k->inertial[block].column[i] = -1;
    }
}

/* ---- sums over the landmarks of an anchor ------------------------------------------------------------------------ */

/** Number of lanes of a group that sums over an anchor's landmarks. A lane visits every VF_VIO_LANES-th entry of the
 *  list, because one anchor may have nearly all landmarks. */
#define VF_VIO_LANES 16
#define VF_VIO_EACH_LISTED(i, first, count) for (uint32_t i = (uint32_t)(first); i < (count); i += VF_VIO_LANES)

/** Slot of the landmark at position i of an anchor's list; -1 if not all of `frames` (bits) observe it. */
VF_FN int vf_vio_anchor_landmark(const struct vf_vio_anchor *anchor, uint32_t i, uint32_t frames)
{
    const uint32_t entry = anchor->list[i];
    return (entry >> 16 & frames) == frames ? (int)(entry & 0xffff) : -1;
}

/** Computes the contribution of landmark `at` to row r of the normal equations' 6x6 block of the relative poses of
 *  frames a and b. */
VF_FN void vf_vio_gather_landmark(const struct vf_vio_work *k, int at, int a, int b, int r, float h[6])
{
    const struct vf_landmark_backsub *row = &k->row[k->trial][at];
    const struct vf_landmark_equations *equations = &k->equations[at];
    for (int c = 0; c < 6; c++) h[c] = 0.0f;
    for (int j = 0; j < 3 && (a == b || !VF_GROUP_ALONE); j++) {
        const float own = a == b ? equations->jacobian[a][j][r] : 0.0f;
        for (int c = 0; c < 6; c++) h[c] += own * (a == b ? equations->jacobian[a][j][c] : 0.0f);
    }
    for (int j = 0; j < 3; j++)
        for (int c = 0; c < 6; c++) h[c] -= row->pose[j][a][r] * row->pose[j][b][c];
}

/** Number of rows of a 6x6 block that one group sums: one on a GPU. */
#define VF_VIO_ROWS (VF_GROUP_ALONE ? 6 : 1)

/** Sums rows r .. r + VF_VIO_ROWS - 1 of the block of frames a and b over the landmarks of an anchor. on: 0: nothing is
 *  written. Run by a group. */
VF_FN void vf_vio_gather_rows(const struct vf_vio_work *k, struct vf_vio_anchor *anchor, int pair, int a, int b, int r,
                              int on)
{
    double sum[VF_VIO_ROWS][VF_GROUP_HELD(VF_VIO_LANES)][6];
    const uint32_t count = on ? anchor->count : 0;
    memset(sum, 0, sizeof sum);
    VF_GROUP(VF_VIO_LANES, lane, first)
    VF_VIO_EACH_LISTED(i, first, count)
    {
        const int at = vf_vio_anchor_landmark(anchor, i, 1u << a | 1u << b);
        for (int j = 0; j < VF_VIO_ROWS && at >= 0; j++) {
            double *to = sum[j][lane];
            float h[6];
            vf_vio_gather_landmark(k, at, a, b, r + j, h);
            for (int c = 0; c < 6; c++) to[c] += (double)h[c];
        }
    }
    for (int j = 0; j < VF_VIO_ROWS; j++)
        for (int c = 0; c < 6; c++) {
            double part[VF_GROUP_HELD(VF_VIO_LANES)];
            VF_GROUP_VALUES(VF_VIO_LANES, lane)
            part[lane] = sum[j][lane][c];
            const double all = vf_group_sum_16_double(part);
            if (on && VF_GROUP_FIRST(VF_VIO_LANES)) anchor->H[pair][r + j][c] = all;
        }
}

/** Sums element c of frame f's gradient, and of its products with camera 1's offsets, over the landmarks of an anchor.
 *  on: 0: nothing is written. Run by a group. */
VF_FN void vf_vio_gather_gradient(const struct vf_vio_work *k, struct vf_vio_anchor *anchor, int f, int c, int on)
{
    enum { SIDES = 1 + VF_VIO_STEREO_OFFSETS };
    double sum[SIDES][VF_GROUP_HELD(VF_VIO_LANES)];
    const uint32_t count = on ? anchor->count : 0;
    memset(sum, 0, sizeof sum);
    VF_GROUP(VF_VIO_LANES, lane, first)
    VF_VIO_EACH_LISTED(i, first, count)
    {
        const int at = vf_vio_anchor_landmark(anchor, i, 1u << f);
        for (int side = 0; side < SIDES && at >= 0; side++)
            sum[side][lane] += (double)k->equations[at].gradient[f][side][c];
    }
    for (int side = 0; side < SIDES; side++) {
        const double all = vf_group_sum_16_double(sum[side]);
        if (on && VF_GROUP_FIRST(VF_VIO_LANES)) anchor->g[side][f][c] = all;
    }
}

/** Sums element `which` of vf_landmark_equations.stereo_sums over the landmarks of an anchor. on: 0: nothing is
 *  written. Run by a group. */
VF_FN void vf_vio_gather_stereo(const struct vf_vio_work *k, struct vf_vio_anchor *anchor, int which, int on)
{
    const uint32_t count = on ? anchor->count : 0;
    double sum[VF_GROUP_HELD(VF_VIO_LANES)];
    memset(sum, 0, sizeof sum);
    VF_GROUP(VF_VIO_LANES, lane, first)
    VF_VIO_EACH_LISTED(i, first, count)
    sum[lane] += (double)k->equations[vf_vio_anchor_landmark(anchor, i, 0)].stereo_sums[which];
    const double all = vf_group_sum_16_double(sum);
    if (on && VF_GROUP_FIRST(VF_VIO_LANES)) anchor->stereo[which] = all;
}

/** Number of groups that compute the sums of one anchor, a multiple of the two groups of a warp. */
#define VF_VIO_ANCHOR_SUMS (6 * VF_VIO_PAIRS + 6 * VF_VIO_FRAMES + (VF_VIO_STEREO_SUMS + 1) / 2 * 2)
/** Number of groups that compute the sums of all anchors. */
#define VF_VIO_GATHER_GROUPS (VF_VIO_FRAMES * VF_VIO_ANCHOR_SUMS)

/** Sums the normal equations over the landmarks of each anchor. There is one group per row of a block, per gradient
 *  element, and per stereo element. The two groups of a warp are of one kind, to avoid divergence. */
VF_FN void vf_vio_gather(struct vf_vio_work *k)
{
    enum { ROWS = 6 * VF_VIO_PAIRS, SIDES = 6 * VF_VIO_FRAMES, EACH = VF_VIO_ANCHOR_SUMS };
    VF_STATIC_ASSERT(VF_VIO_LANES == 16, "vfront: sums of anchors take 16 lanes, two groups per warp");
    VF_STATIC_ASSERT(ROWS % 2 == 0 && SIDES % 2 == 0 && EACH % 2 == 0, "vfront: kinds of sums fill warps");
    VF_GROUPS(VF_VIO_LANES, item, VF_VIO_GATHER_GROUPS)
    {
        struct vf_vio_anchor *anchor = &k->anchor[item / EACH];
        const int i = item % EACH;
        if (!anchor->count) continue;
        if (i < ROWS) {
            int a, b;
            vf_vio_pair_frames(i / 6, &a, &b);
            const int on = i % VF_VIO_ROWS == 0 && anchor->frames >> a & anchor->frames >> b & 1;
            if (on || !VF_GROUP_ALONE) vf_vio_gather_rows(k, anchor, i / 6, a, b, i % 6, on);
        } else if (i < ROWS + SIDES) {
            const int f = (i - ROWS) / 6, on = (int)(anchor->frames >> f & 1);
            vf_vio_gather_gradient(k, anchor, f, (i - ROWS) % 6, on);
        } else {
            vf_vio_gather_stereo(k, anchor, i - ROWS - SIDES, i - ROWS - SIDES < VF_VIO_STEREO_SUMS);
        }
    }
}

/* ---- from relative to absolute poses ----------------------------------------------------------------------------- */

/** Converts an anchor's blocks and gradients, in place, from increments of relative poses to increments of the frames'
 *  own poses. Rows first, then columns. */
VF_FN void vf_vio_anchor_to_frames(struct vf_vio_anchor *anchor,
                                   const struct vf_relative_jacobian jacobian[VF_VIO_FRAMES])
{
    enum { ROWS = 6 * VF_VIO_PAIRS };
    VF_PARTS(item, ROWS + (1 + VF_VIO_STEREO_OFFSETS) * VF_VIO_FRAMES)
    {
        int a = (item - ROWS) % VF_VIO_FRAMES, b = a;
        if (item < ROWS) vf_vio_pair_frames(item / 6, &a, &b);
        if (anchor->frames >> a & anchor->frames >> b & 1)
            vf_relative_apply_row(&jacobian[b], item < ROWS ? anchor->H[item / 6][item % 6]
                                                            : anchor->g[(item - ROWS) / VF_VIO_FRAMES][a]);
    }
    VF_ITEM_SYNC();
    VF_PARTS(item, ROWS)
    {
        int a, b;
        vf_vio_pair_frames(item / 6, &a, &b);
        if (anchor->frames >> a & anchor->frames >> b & 1)
            vf_relative_apply_column(&jacobian[a], anchor->H[item / 6], item % 6);
    }
    VF_ITEM_SYNC();
}

/** Element (r, c) of the block of frames a and b, which may be in either order. Both frames must observe landmarks of
 *  the anchor. */
VF_FN double vf_vio_anchor_block(const struct vf_vio_anchor *anchor, int a, int r, int b, int c)
{
    return a <= b ? anchor->H[vf_vio_pair_index(a, b)][r][c] : anchor->H[vf_vio_pair_index(b, a)][c][r];
}

/* The following sums run over all frames. A GPU also reads frames without equations and discards their terms, so that
 * loads do not wait for each other. */

/** Computes row r of frame a's pose in the columns of the anchor's pose. The row is a sum over all frames b: row r of
 *  block (a, b) times the Jacobian of b by the anchor's pose. */
VF_FN void vf_vio_anchor_row(struct vf_vio_anchor *anchor, const struct vf_relative_jacobian *jacobian, int a, int r)
{
    double cross_H[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    VF_UNROLL_4
    for (int b = 0; b < VF_VIO_FRAMES; b++) {
        const int on = (int)(anchor->frames >> b & 1);
        double row[6], moved[6];
        if (VF_GROUP_ALONE && !on) continue;
        for (int c = 0; c < 6; c++) row[c] = vf_vio_anchor_block(anchor, a, r, b, c);
        vf_relative_anchor_row(&jacobian[b], row, moved);
        for (int c = 0; c < 6; c++) cross_H[c] = on ? cross_H[c] + moved[c] : cross_H[c];
    }
    memcpy(anchor->cross_H[a][r], cross_H, sizeof cross_H);
}

/** Computes the element in row r of frame a's pose and column i of the calibration (time offset, camera attitude). The
 *  element is a sum over all frames b: row r of block (a, b) times the Jacobian of b by calibration value i. */
VF_FN void vf_vio_anchor_camera_row(struct vf_vio_anchor *anchor, const struct vf_relative_jacobian *jacobian, int a,
                                    int r, int i)
{
    double sum = 0.0;
    VF_UNROLL_4
    for (int b = 0; b < VF_VIO_FRAMES; b++) {
        const int on = (int)(anchor->frames >> b & 1);
        double part = 0.0;
        if (VF_GROUP_ALONE && !on) continue;
        for (int c = 0; c < 6; c++) part += vf_vio_anchor_block(anchor, a, r, b, c) * jacobian[b].by[i][c];
        sum = on ? sum + part : sum;
    }
    anchor->camera[a][i][r] = sum;
}

/** Converts one column of six elements per frame to the anchor's pose, and sums them over the frames. stride: distance
 *  between the columns of two frames; step: distance between two elements of a column. */
VF_FN void vf_vio_anchor_column(uint32_t frames, const struct vf_relative_jacobian *jacobian, const double *column,
                                int stride, int step, double out[6])
{
    for (int r = 0; r < 6; r++) out[r] = 0.0;
    VF_UNROLL_4
    for (int a = 0; a < VF_VIO_FRAMES; a++) {
        const int on = (int)(frames >> a & 1);
        double own[6], moved[6];
        if (VF_GROUP_ALONE && !on) continue;
        for (int r = 0; r < 6; r++) own[r] = column[a * stride + r * step];
        vf_relative_anchor_row(&jacobian[a], own, moved);
        for (int r = 0; r < 6; r++) out[r] = on ? out[r] + moved[r] : out[r];
    }
}

/** Sum over the frames of a frame's column times the derivative of its pose by calibration value i (time offset, camera
 *  attitude). */
VF_FN double vf_vio_anchor_camera_sum(uint32_t frames, const struct vf_relative_jacobian *jacobian,
                                      const double *column, int stride, int i)
{
    double sum = 0.0;
    VF_UNROLL_4
    for (int a = 0; a < VF_VIO_FRAMES; a++) {
        const int on = (int)(frames >> a & 1);
        double part = 0.0;
        if (VF_GROUP_ALONE && !on) continue;
        for (int r = 0; r < 6; r++) part += column[a * stride + r] * jacobian[a].by[i][r];
        sum = on ? sum + part : sum;
    }
    return sum;
}

/** Computes item i of the sums that belong to an anchor itself. Order of items: blocks of its pose with itself and with
 *  the calibration; gradient of its pose; block of the calibration with itself; gradient of the calibration. */
VF_FN void vf_vio_anchor_self(struct vf_vio_anchor *anchor, const struct vf_relative_jacobian *jacobian, int i)
{
    enum { C = VF_VIO_CAMERA_COLUMNS, FRAME = 6 * C, ALL = 7 + C + VF_VIO_STEREO_OFFSETS };
    const uint32_t frames = anchor->frames;
    if (i < ALL) {
        const double *column = i < 6       ? &anchor->cross_H[0][0][i]
                               : i < 6 + C ? anchor->camera[0][i - 6]
                                           : anchor->g[i - 6 - C][0];
        double own[6];
        vf_vio_anchor_column(frames, jacobian, column, i < 6 ? 36 : i < 6 + C ? FRAME : 6, i < 6 ? 6 : 1, own);
        for (int r = 0; r < 6; r++)
            *(i < 6       ? &anchor->own[r][i]
              : i < 6 + C ? &anchor->own_camera[i - 6][r]
                          : &anchor->own_g[i - 6 - C][r]) = own[r];
    } else if (i < ALL + C * C) {
        const int c = (i - ALL) / C, r = (i - ALL) % C;
        anchor->camera_H[r][c] = vf_vio_anchor_camera_sum(frames, jacobian, anchor->camera[0][c], FRAME, r);
    } else {
        const int side = (i - ALL - C * C) / C, c = (i - ALL - C * C) % C;
        anchor->camera_g[side][c] = vf_vio_anchor_camera_sum(frames, jacobian, anchor->g[side][0], 6, c);
    }
}

/** Computes the members of an anchor that are declared between `H` and `jacobian`. set: index of the Jacobians, 0 or 1.
 *  Runs in one block. */
VF_FN void vf_vio_anchor_assemble(struct vf_vio_anchor *anchor, int set)
{
    enum { ROWS = 6 * VF_VIO_FRAMES, C = VF_VIO_CAMERA_COLUMNS };
    const struct vf_relative_jacobian *jacobian = anchor->jacobian[set];
    if (!anchor->count) return;
    vf_vio_anchor_to_frames(anchor, jacobian);
    VF_PARTS(item, ROWS * (1 + C))
    {
        const int a = item % ROWS / 6, r = item % 6, i = item / ROWS;
        if (!(anchor->frames >> a & 1)) continue;
        if (i)
            vf_vio_anchor_camera_row(anchor, jacobian, a, r, i - 1);
        else
            vf_vio_anchor_row(anchor, jacobian, a, r);
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, 7 + C + VF_VIO_STEREO_OFFSETS + C * C + (1 + VF_VIO_STEREO_OFFSETS) * C)
    vf_vio_anchor_self(anchor, jacobian, i);
}

/** Number of set bits in the lower 16 bits of v. */
VF_FN int vf_vio_bit_count(uint32_t v)
{
    v = (v & 0x5555) + (v >> 1 & 0x5555);
    v = (v & 0x3333) + (v >> 2 & 0x3333);
    v = (v & 0x0f0f) + (v >> 4 & 0x0f0f);
    return (int)((v & 0xff) + (v >> 8));
}

/** Computes k->cost, twice the cost of all factors up to a constant; and partial sums of the observations' cost
 *  (k->seen) and number (k->number). Runs in one block. */
VF_FN void vf_vio_costs(const struct vf_vio_window *w, struct vf_vio_work *k)
{
    VF_PARTS(part, VF_VIO_PARTS)
    {
        double sum = 0.0, observation_cost = 0.0;
        uint32_t number = 0;
        for (int i = part; i < VF_VIO_COLUMNS; i += VF_VIO_PARTS)
            sum += k->prior_x[i] * (k->prior_Hx[i] + 2.0 * w->prior.g[i]);
        VF_UNROLL_4
        for (int i = part; i < VF_VIO_LANDMARKS; i += VF_VIO_PARTS) {
            const uint32_t anchor_and_seen = k->anchor_and_seen[i];
            const int on = anchor_and_seen != VF_VIO_NO_LANDMARK && k->anchors >> (anchor_and_seen & 15) & 1;
            if (VF_GROUP_ALONE && !on) continue;
            const double cost = (double)k->equations[i].cost;
            observation_cost = on ? observation_cost + cost : observation_cost;
            const uint32_t seen = (uint32_t)vf_vio_bit_count(anchor_and_seen >> 16);
            number += on && seen > 1 ? seen : 0; /* an observation in the anchor frame alone constrains nothing */
        }
        for (int f = 0; f < VF_VIO_INERTIAL_FACTORS && part < VF_NAV_ERRORS; f++)
            if (k->inertial[f].a >= 0) sum += k->inertial[f].rows.r[part] * k->inertial[f].rows.r[part];
        for (int f = 0; f < VF_VIO_INERTIAL_FACTORS && part < 9; f++)
            if (k->inertial[f].a >= 0) sum += k->inertial[f].moved[part] * k->inertial[f].moved[part];
        k->part[part] = sum + observation_cost;
        k->seen[part] = observation_cost;
        k->number[part] = number;
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, 1)
    {
        double cost = 0.0;
        VF_UNROLL_16
        for (int part = 0; part < VF_VIO_PARTS; part++) cost += k->part[part];
        k->cost = cost;
    }
}

#endif
