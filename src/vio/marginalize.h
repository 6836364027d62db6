/* SPDX-License-Identifier: MIT */
/* Marginalization: selection of frames and landmarks, and the resulting prior. Launches: launch.h.
 *
 * Rule    a normal step marginalizes the oldest state, and a keyframe where there are too many (window.h). At the start
 *         of a stationary period, or when the newest frame observes too few landmarks, a step marginalizes all frames
 *         but the newest.
 * Exact   one thread computes each element; terms are added in one order
 */
#ifndef VF_VIO_MARGINALIZE_H
#define VF_VIO_MARGINALIZE_H

#include "solve.h"
#include "variables.h"

/** A keyframe is out of view if the newest frame observes at most one in this many of its landmarks. */
#define VF_VIO_OUT_OF_VIEW 20

VF_FN int32_t vf_vio_oldest_state(const struct vf_vio_window *w)
{
    int32_t oldest = -1;
    for (int32_t f = 0; f < VF_VIO_FRAMES; f++)
        if (w->slot[f].number && w->slot[f].state >= 0 && (oldest < 0 || w->slot[f].number < w->slot[oldest].number))
            oldest = f;
    return oldest;
}

/** Distance between the positions of two frames [m]. */
VF_FN double vf_vio_frame_distance(const struct vf_vio_window *w, int32_t a, int32_t b)
{
    double square = 0.0;
    for (int i = 0; i < 3; i++) {
        const double d = w->slot[a].value.p[i] - w->slot[b].value.p[i];
        square += d * d;
    }
    return sqrt(square);
}

/** Counts the landmarks of each anchor h into anchor[h].part[0], and those that the newest frame observes into
 *  anchor[h].seen[0]. */
VF_FN void vf_vio_count_anchored(const struct vf_vio_window *w, struct vf_vio_work *k)
{
    enum { EACH = VF_VIO_LANDMARKS / VF_VIO_PARTS };
    VF_PARTS(item, VF_VIO_FRAMES * VF_VIO_PARTS)
    {
        const int h = item / VF_VIO_PARTS, part = item % VF_VIO_PARTS;
        uint32_t anchored = 0, alive = 0;
        VF_UNROLL_4
        for (int i = part * EACH; i < (part + 1) * EACH; i++) {
            const uint32_t id = w->landmark[i].id, seen = w->landmark[i].seen;
            const int own = (id != 0) & (w->landmark[i].anchor == h);
            anchored += (uint32_t)own;
            alive += own ? seen >> w->newest & 1 : 0;
        }
        k->anchor[h].part[part] = anchored;
        k->anchor[h].seen[part] = alive;
    }
    VF_ITEM_SYNC();
    VF_PARTS(h, VF_VIO_FRAMES)
    {
        uint32_t anchored = 0, alive = 0;
        VF_UNROLL_16
        for (int part = 0; part < VF_VIO_PARTS; part++) {
            anchored += k->anchor[h].part[part];
            alive += k->anchor[h].seen[part];
        }
        k->anchor[h].part[0] = anchored;
        k->anchor[h].seen[0] = alive;
    }
}

/** Scores the keyframes without velocity and biases; the highest score is marginalized. Score: sqrt(distance to the
 *  newest frame) times the sum of 1 / distance to the other keyframes. Other frames: -1. */
VF_FN void vf_vio_keyframe_scores(const struct vf_vio_window *w, struct vf_vio_work *k)
{
    VF_PARTS(f, VF_VIO_FRAMES)
    {
        double close = 0.0;
        k->score[f] = -1.0;
        if (!w->slot[f].number || w->slot[f].state >= 0) continue;
        for (int32_t g = 0; g < VF_VIO_FRAMES; g++)
            if (g != f && w->slot[g].number && w->slot[g].state < 0)
                close += 1.0 / (vf_vio_frame_distance(w, f, g) + VF_SOLVE_ROUNDING);
        k->score[f] = sqrt(vf_vio_frame_distance(w, f, w->newest)) * close;
    }
}

/** Keyframe to marginalize, among those without velocity and biases: the oldest that is out
 *  of view (VF_VIO_OUT_OF_VIEW). If none is, the one with the highest score. Run by one thread. */
VF_FN int32_t vf_vio_keyframe_to_marginalize(const struct vf_vio_window *w, const struct vf_vio_work *k)
{
    int32_t oldest = -1, best = -1;
    double largest = -1.0;
    for (int32_t f = 0; f < VF_VIO_FRAMES; f++) {
        if (!w->slot[f].number || w->slot[f].state >= 0) continue;
        if (VF_VIO_OUT_OF_VIEW * k->anchor[f].seen[0] <= k->anchor[f].part[0] &&
            (oldest < 0 || w->slot[f].number < w->slot[oldest].number))
            oldest = f;
        if (k->score[f] > largest) {
            largest = k->score[f];
            best = f;
        }
    }
    return oldest >= 0 ? oldest : best;
}

/** Makes a frame's variables part of the prior: fixes their linearization point at the estimate, unless it is fixed
 *  already. */
VF_FN void vf_vio_enter_prior(struct vf_vio_slot *s)
{
    if (s->prior) return;
    s->prior = 1;
    s->first = s->value;
}

/** Selects all frames but the newest for marginalization: at the start of a stationary period, or if the newest frame
 *  observes too few landmarks. Run by one thread. */
VF_FN void vf_vio_select_all_to_marginalize(struct vf_vio_window *w, struct vf_vio_work *k)
{
    const int32_t velocity_column = VF_VIO_VELOCITY + 9 * w->slot[w->newest].state;
    vf_vio_select_all_factors(w, k);
    k->anchors &= ~(1u << w->newest);
    k->marg_state = w->newest;
    for (int f = 0; f < VF_VIO_FRAMES; f++)
        if (w->slot[f].number && f != w->newest) k->marg_frames |= 1u << f;
    for (int32_t c = 0; c < VF_VIO_TIME_OFFSET; c++)
        if (c / 6 != w->newest && !(c >= velocity_column && c < velocity_column + 9))
            k->marg_columns[k->marg_count++] = c;
    vf_vio_enter_prior(&w->slot[w->newest]);
}

/** Selects frames, columns and factors to marginalize. The oldest state loses velocity and biases, and its pose unless
 *  it is a keyframe. A keyframe is also marginalized if there are too many. Run by one thread. */
VF_FN void vf_vio_select_to_marginalize(struct vf_vio_window *w, struct vf_vio_work *k)
{
    int frames = 0, states = 0;
    k->anchors = 0;
    k->marg_count = 0;
    k->marg_state = k->marg_keyframe = -1;
    k->marg_frames = 0;
    k->still = 1;
    if (k->stationary.begins || k->collapses) {
        vf_vio_select_all_to_marginalize(w, k);
        return;
    }
    for (int i = 0; i < VF_VIO_INERTIAL_FACTORS; i++) k->inertial[i].a = -1;
    for (int f = 0; f < VF_VIO_FRAMES; f++) {
        frames += w->slot[f].number != 0;
        states += w->slot[f].number && w->slot[f].state >= 0;
    }
    if (states < VF_VIO_STATES) return;
    const int32_t a = vf_vio_oldest_state(w);
    struct vf_vio_slot *s = &w->slot[a];
    k->marg_state = a;
    for (int32_t f = 0; f < VF_VIO_FRAMES; f++)
        if (w->slot[f].number == s->number + 1 && w->slot[f].state >= 0) {
            k->inertial[0].a = a;
            k->inertial[0].b = f;
            vf_stationary_first(s, &w->slot[f]);
            vf_vio_enter_prior(&w->slot[f]);
        }
    vf_vio_enter_prior(s);
    if (s->keyframe && frames - states >= VF_VIO_KEYFRAMES) k->marg_keyframe = vf_vio_keyframe_to_marginalize(w, k);
    if (k->marg_keyframe >= 0) k->anchors = 1u << k->marg_keyframe;
    for (int i = s->keyframe ? 6 : 0; i < VF_NAV_ERRORS; i++)
        k->marg_columns[k->marg_count++] = vf_vio_error_column(s, a, i);
    for (int i = 0; i < 6 && k->marg_keyframe >= 0; i++) k->marg_columns[k->marg_count++] = 6 * k->marg_keyframe + i;
    k->marg_frames = (s->keyframe ? 0 : 1u << a) | (k->marg_keyframe >= 0 ? 1u << k->marg_keyframe : 0);
}

/** 1 if a frame other than the newest is an anchor of landmarks. */
VF_FN int vf_vio_has_anchors(const struct vf_vio_window *w)
{
    int anchors = 0;
    for (int f = 0; f < VF_VIO_FRAMES; f++) anchors |= f != w->newest && w->slot[f].number && w->slot[f].keyframe;
    return anchors;
}

/** Marks in k->is_kept the landmarks that remain after the marginalization. At the start of a stationary period these
 *  are the landmarks that are anchored in the newest frame, or that vf_stationary_anchor() will anchor there. Runs in
 *  one block. */
VF_FN void vf_vio_select_kept_landmarks(const struct vf_vio_window *w, struct vf_vio_work *k)
{
    VF_PARTS(i, VF_VIO_LANDMARKS)
    {
        const struct vf_landmark *l = &w->landmark[i];
        const int kept = k->stationary.begins ? l->anchor == w->newest : l->anchor != k->marg_keyframe;
        k->is_kept[i] = (l->id != 0) & kept & !k->collapses;
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, k->stationary.begins ? (int)k->observations : 0)
    if (vf_vio_accepted(k, (uint32_t)i)) k->is_kept[k->landmark_of[i]] = w->landmark[k->landmark_of[i]].id != 0;
    VF_ITEM_SYNC();
}

/** Counts the kept landmarks that the newest frame observes, into k->reported_landmarks. At the start of a stationary
 *  period, counts all kept landmarks. Runs in one block. */
VF_FN void vf_vio_count_reported(const struct vf_vio_window *w, struct vf_vio_work *k)
{
    VF_PARTS(part, VF_VIO_PARTS)
    {
        uint32_t number = 0;
        VF_UNROLL_4
        for (int i = part; i < VF_VIO_LANDMARKS; i += VF_VIO_PARTS) {
            const uint32_t seen = w->landmark[i].seen >> w->newest & 1;
            number += (uint32_t)k->is_kept[i] & (seen | (uint32_t)k->stationary.begins);
        }
        k->number[part] = number;
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, 1)
    {
        uint32_t reported_landmarks = 0;
        VF_UNROLL_16
        for (int part = 0; part < VF_VIO_PARTS; part++) reported_landmarks += k->number[part];
        k->reported_landmarks = reported_landmarks;
    }
    VF_ITEM_SYNC();
}

/** Frees landmarks that are not kept, and removes the observations of dropped frames. */
VF_FN void vf_vio_clear_dropped(struct vf_vio_window *w, const struct vf_vio_work *k)
{
    enum { WORDS = sizeof(struct vf_vio_slot) / 4 };
    const uint32_t slots = k->marg_frames;
    if (k->stationary.begins) vf_stationary_anchor(w, k);
    VF_PARTS(i, VF_VIO_LANDMARKS)
    {
        struct vf_landmark *l = &w->landmark[i];
        if (!k->is_kept[i]) l->id = 0;
        l->seen &= ~slots;
        l->tried &= ~slots;
    }
    VF_PARTS(i, VF_VIO_FRAMES * WORDS)
    if (slots >> i / WORDS & 1) ((vf_word *)&w->slot[i / WORDS])[i % WORDS] = 0;
    VF_ITEM_SYNC();
    VF_PARTS(f, VF_VIO_FRAMES)
    {
        struct vf_vio_slot *s = &w->slot[f];
        if (!(slots >> f & 1) && k->marg_keyframe >= 0 && k->anchor[k->marg_keyframe].frames >> f & 1)
            vf_vio_enter_prior(s);
        if ((f == k->marg_state && !k->stationary.begins && !k->collapses) || slots >> f & 1) s->state = -1;
    }
    VF_ITEM_SYNC();
}

/** Launch after the linear system of all marginalized factors: writes the system's Schur complement to the prior. The
 *  prior's gradient is then at the estimate, until vf_vio_prior_gradient() moves it. Block `block` of `blocks`. */
VF_FN void vf_vio_marginalize(struct vf_vio_window *w, struct vf_vio_work *k, struct vf_solve_elimination *workspace,
                              int block, int blocks)
{
    struct vf_solve_buffers at = {workspace->matrix, workspace->row, &workspace->workspace};
    const int largest = k->marg_count > VF_VIO_MARG_COLUMNS;
    if (k->marg_state < 0 || (largest && block)) return;
    if (largest) {
        at.matrix = k->largest.matrix;
        at.row = k->largest.row;
        at.workspace = &k->largest.workspace;
    }
    vf_solve_eliminate(&k->system[k->trial], k->marg_columns, k->marg_count, &at, block, largest ? 1 : blocks,
                       &w->prior);
}

/** Clears the dropped frames, concurrently with vf_vio_marginalize(). Runs in one block. */
VF_FN void vf_vio_drop_frames(struct vf_vio_window *w, struct vf_vio_work *k)
{
    if (k->marg_state < 0) return;
    vf_vio_clear_dropped(w, k);
    vf_vio_prior_x_all(w, k);
}

/** Last launch of a step: moves the prior's gradient from the current estimate to the linearization points of its
 *  variables. */
VF_FN void vf_vio_prior_gradient(struct vf_vio_window *w, const struct vf_vio_work *k)
{
    if (k->marg_state < 0) return;
    VF_ITEMS(r, VF_VIO_COLUMNS)
    w->prior.g[r] -= vf_vio_symmetric_product(w->prior.H, k->prior_x, r);
}

#endif
