/* SPDX-License-Identifier: MIT */
/* Covariance of the window's newest state, and new landmarks of its newest frame. Launches: window_step.h. */
#ifndef VF_WINDOW_FOUND_H
#define VF_WINDOW_FOUND_H

#include "window_solve.h"
#include "window_variables.h"

/** Column of the system at place i of an order in which those whose covariance is told are the last. */
VF_FN int vf_window_said_last(const struct vf_window *w, int i)
{
    enum { LAST = VF_WINDOW_COLUMNS - VF_WINDOW_SAID };
    const int slot = w->newest, moving = VF_WINDOW_MOVING + 9 * w->slot[slot].state;
    if (i >= LAST + VF_NAV_ERRORS) return i == LAST + VF_WINDOW_SAID_OFFSET ? VF_WINDOW_OFFSET : VF_WINDOW_DISPARITY;
    if (i >= LAST) return vf_window_error_column(&w->slot[slot], slot, i - LAST);
    const int gap[4] = {6 * slot, moving, VF_WINDOW_OFFSET, VF_WINDOW_DISPARITY}, wide[4] = {6, 9, 1, 1};
    for (int k = 0; k < 4; k++)
        if (i >= gap[k]) i += wide[k];
    return i;
}

/** Covariance of the newest state, the time offset and VF_STEREO_OFFSET, by the corner of the factor in which
 *  their columns are the last: S = (L^-1)' D^-1 L^-1. Of one block. */
VF_FN void vf_window_cover_corner(struct vf_window *w, struct vf_window_work *k)
{
    enum { M = VF_WINDOW_SAID };
    VF_PARTS(c, M)
    {
        double back[M];
        VF_UNROLL
        for (int r = 0; r < M; r++) {
            double sum = r == c ? 1.0 : 0.0;
            VF_UNROLL
            for (int j = VF_GROUP_ALONE ? c : 0; j < r; j++) {
                const double part = k->corner[r][j] * back[j];
                sum = j >= c ? sum - part : sum;
            }
            back[r] = sum;
        }
        VF_UNROLL
        for (int r = 0; r < M; r++) k->back[c][r] = back[r];
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, M * M)
    {
        double sum = 0.0;
        for (int j = 0; j < M; j++) sum += k->back[i / M][j] * k->back[i % M][j] * k->corner_inverse[j];
        w->covariance[i] = sum;
    }
    VF_ITEM_SYNC();
}

/** The same, with the factor, on the host. */
VF_FN void vf_window_cover(struct vf_window *w, struct vf_window_work *k)
{
    enum { N = VF_WINDOW_COLUMNS, M = VF_WINDOW_SAID };
    const struct vf_window_system *s = &k->system[k->at];
    for (int r = 0; r < N; r++)
        for (int c = 0; c <= r; c++)
            k->matrix[r * N + c] = s->H[vf_window_said_last(w, r) * N + vf_window_said_last(w, c)];
    vf_solve_factor_items(k->matrix, &k->room, N, N, N, 0.0);
    for (int r = 0; r < M; r++) {
        for (int c = 0; c < r; c++) k->corner[r][c] = k->matrix[(N - M + r) * N + N - M + c];
        k->corner_inverse[r] = k->room.inverse[N - M + r];
    }
    vf_window_cover_corner(w, k);
}

/** Inverse range of a sight by its partner, with which vf_landmark_other_of() has no residual; never negative. Without
 *  a partner the mean one. */
VF_FN float vf_window_range_of(const struct vf_window *w, const struct vf_sight *seen)
{
    const struct vf_landmark_rig rig = vf_window_landmark_rig(w);
    float along[3], turned[3], by[VF_WINDOW_STEREO], off = 0.0f;
    if (w->rig.cameras < 2 || !(seen->other_sigma > 0.0f)) return VF_WINDOW_RANGE_MEAN;
    vf_landmark_along(&rig, seen->other, along);
    vf_landmark_offsets(&rig, seen->other, along, by);
    for (int n = 0; n < VF_WINDOW_STEREO; n++) off += rig.stereo[n] * by[n];
    for (int k = 0; k < 3; k++) along[k] += off * seen->other[k];
    vf_transform(rig.R_1_0, seen->bearing, turned);
    const float inverse = -vf_dot(along, turned) / vf_dot(along, rig.t_1_0);
    return inverse > 0.0f ? inverse : 0.0f;
}

/** Frames that see a landmark, from which on it ties frames to one another. */
#define VF_WINDOW_TIES 3

/** Place of a slot among those for new landmarks, the less the earlier: an empty one; one whose track has ended, of
 *  fewer than VF_WINDOW_TIES frames; one on trial; one whose track has ended, of more frames. The fewer frames the
 *  earlier, and then in the order of slots. VF_WINDOW_TAKEN: the newest frame sees it, or would, had the gate not
 *  refused it: what the gate knows of it stays. */
#define VF_WINDOW_TAKEN INT32_MAX
VF_FN int vf_window_slot_place(const struct vf_window *w, const struct vf_window_work *k, int i)
{
    enum { TRIAL = VF_WINDOW_TIES + 1 };
    const struct vf_landmark *l = &w->landmark[i];
    const int frames = vf_window_bits(l->seen), ended = frames < VF_WINDOW_TIES ? 1 + frames : 1 + TRIAL + frames;
    if (!l->id) return i;
    if (l->seen >> w->newest & 1 || (k->in_sight[i] && l->refused)) return VF_WINDOW_TAKEN;
    return (k->in_sight[i] ? TRIAL : ended) * VF_WINDOW_LANDMARKS + i;
}

/** Slots for new landmarks in the order in which they are taken. */
VF_FN void vf_window_order(const struct vf_window *w, struct vf_window_work *k, uint32_t sights)
{
    VF_PARTS(i, VF_WINDOW_LANDMARKS)
    k->in_sight[i] = 0;
    VF_ITEM_SYNC();
    VF_PARTS(i, (int)sights)
    if (k->landmark_of[i] >= 0) k->in_sight[k->landmark_of[i]] = 1;
    VF_ITEM_SYNC();
    VF_PARTS(i, VF_WINDOW_LANDMARKS)
    k->place[i] = vf_window_slot_place(w, k, i);
    VF_ITEM_SYNC();
    VF_PARTS(i, VF_WINDOW_LANDMARKS + 1)
    {
        const int own = i < VF_WINDOW_LANDMARKS ? k->place[i] : VF_WINDOW_TAKEN;
        int rank = 0;
        VF_UNROLL_16
        for (int j = 0; j < VF_WINDOW_LANDMARKS; j++) rank += k->place[j] < own;
        if (i == VF_WINDOW_LANDMARKS)
            k->slots = rank;
        else if (own != VF_WINDOW_TAKEN)
            k->order[rank] = i;
    }
    VF_ITEM_SYNC();
}

/** Number of sights of landmarks that are taken, and of those refused. */
VF_FN void vf_window_count_known(struct vf_window_work *k, uint32_t sights)
{
    VF_PARTS(part, VF_WINDOW_PARTS)
    {
        k->number[part] = k->off[part] = 0;
        for (uint32_t i = (uint32_t)part; i < sights; i += VF_WINDOW_PARTS) {
            k->number[part] += (uint32_t)vf_window_taken(k, i);
            k->off[part] += k->off_sight[i] >= VF_GATE_SPENT;
        }
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, 1)
    {
        uint32_t known = 0, refused = 0;
        VF_UNROLL_16
        for (int part = 0; part < VF_WINDOW_PARTS; part++) {
            known += k->number[part];
            refused += k->off[part];
        }
        k->known = known;
        k->refused = refused;
    }
    VF_ITEM_SYNC();
}

/** Landmarks of all tracks of the newest frame that are none yet. Their host is this frame; at rest the keyframe made
 *  during this rest, whose camera was at the same place: what this frame sees first is a sight of that one. */
VF_FN void vf_window_found(struct vf_window *w, const struct vf_window_work *k, const struct vf_sight *sight,
                           uint32_t sights)
{
    const int32_t host = w->rest.holds ? w->rest.host : w->newest;
    VF_PARTS(i, (int)sights)
    {
        int rank = 0;
        if (k->landmark_of[i] != -1) continue;
        VF_UNROLL_16
        for (int j = 0; j < i; j++) rank += k->landmark_of[j] == -1;
        if (rank >= k->slots) continue;
        struct vf_landmark *l = &w->landmark[k->order[rank]];
        struct vf_sight seen = sight[i];
        if (w->second_off_s > 0.0) seen.other_sigma = 0.0f;
        memset(l, 0, sizeof *l);
        l->id = seen.id;
        l->host = host;
        l->inverse = vf_window_range_of(w, &seen);
        vf_landmark_in_time(&k->drift[host], seen.bearing, l->inverse, seen.late_s, l->bearing);
        vf_window_sight_of(l, host, &seen);
        vf_rest_refer(l, &seen, w->slot[w->newest].t_ns);
    }
    VF_ITEM_SYNC();
}

#endif
