/* SPDX-License-Identifier: MIT */
/* Marginalisation of the window: what leaves with a step, and the prior that is left of it. Launches: window_step.h.
 *
 * Rule    window_state.h: the oldest state, a keyframe where there are too many; all but the newest frame where rest
 *         begins, or where nothing of what was in sight is any more
 * Exact   as window_system.h
 */
#ifndef VF_WINDOW_LEAVE_H
#define VF_WINDOW_LEAVE_H

#include "window_solve.h"
#include "window_variables.h"

VF_FN int32_t vf_window_oldest_state(const struct vf_window *w)
{
    int32_t oldest = -1;
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++)
        if (w->slot[f].number && w->slot[f].state >= 0 && (oldest < 0 || w->slot[f].number < w->slot[oldest].number))
            oldest = f;
    return oldest;
}

/** Distance between two frames [m]. */
VF_FN double vf_window_apart(const struct vf_window *w, int32_t a, int32_t b)
{
    double square = 0.0;
    for (int i = 0; i < 3; i++) {
        const double d = w->slot[a].value.p[i] - w->slot[b].value.p[i];
        square += d * d;
    }
    return sqrt(square);
}

/** Landmarks hosted in each frame, and of these the ones that the newest frame sees: host[f].part[0], .seen[0]. */
VF_FN void vf_window_count_alive(const struct vf_window *w, struct vf_window_work *k)
{
    enum { EACH = VF_WINDOW_LANDMARKS / VF_WINDOW_PARTS };
    VF_PARTS(item, VF_WINDOW_FRAMES * VF_WINDOW_PARTS)
    {
        const int h = item / VF_WINDOW_PARTS, part = item % VF_WINDOW_PARTS;
        uint32_t hosted = 0, alive = 0;
        VF_UNROLL_4
        for (int i = part * EACH; i < (part + 1) * EACH; i++) {
            const uint32_t id = w->landmark[i].id, seen = w->landmark[i].seen;
            const int own = (id != 0) & (w->landmark[i].host == h);
            hosted += (uint32_t)own;
            alive += own ? seen >> w->newest & 1 : 0;
        }
        k->host[h].part[part] = hosted;
        k->host[h].seen[part] = alive;
    }
    VF_ITEM_SYNC();
    VF_PARTS(h, VF_WINDOW_FRAMES)
    {
        uint32_t hosted = 0, alive = 0;
        VF_UNROLL_16
        for (int part = 0; part < VF_WINDOW_PARTS; part++) {
            hosted += k->host[h].part[part];
            alive += k->host[h].seen[part];
        }
        k->host[h].part[0] = hosted;
        k->host[h].seen[0] = alive;
    }
}

/** Scores of keyframes with a pose alone: close to others, and far from the newest frame; -1: all else. */
VF_FN void vf_window_scores(const struct vf_window *w, struct vf_window_work *k)
{
    VF_PARTS(f, VF_WINDOW_FRAMES)
    {
        double close = 0.0;
        k->score[f] = -1.0;
        if (!w->slot[f].number || w->slot[f].state >= 0) continue;
        for (int32_t g = 0; g < VF_WINDOW_FRAMES; g++)
            if (g != f && w->slot[g].number && w->slot[g].state < 0) close += 1.0 / (vf_window_apart(w, f, g) + 1e-3);
        k->score[f] = sqrt(vf_window_apart(w, f, w->newest)) * close;
    }
}

/** Keyframe that has to leave, of those with a pose alone: the oldest of which the newest frame sees less than a
 *  twentieth of the landmarks; or else the one that is close to others and far from the newest. By one item. */
VF_FN int32_t vf_window_key_to_leave(const struct vf_window *w, const struct vf_window_work *k)
{
    int32_t oldest = -1, best = -1;
    double most = -1.0;
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++) {
        if (!w->slot[f].number || w->slot[f].state >= 0) continue;
        if (20 * k->host[f].seen[0] <= k->host[f].part[0] && (oldest < 0 || w->slot[f].number < w->slot[oldest].number))
            oldest = f;
        if (k->score[f] > most) {
            most = k->score[f];
            best = f;
        }
    }
    return oldest >= 0 ? oldest : best;
}

/** The prior's first estimate of a frame, if it is not in the prior yet. */
VF_FN void vf_window_enter_prior(struct vf_window_slot *s)
{
    if (s->prior) return;
    s->prior = 1;
    s->first = s->value;
}

/** Frames that leave when rest begins, or when nothing of what was in sight is any more: all but the newest one. By one
 *  item. */
VF_FN void vf_window_choose_all(struct vf_window *w, struct vf_window_work *k)
{
    const int32_t moving = VF_WINDOW_MOVING + 9 * w->slot[w->newest].state;
    vf_window_take_all(w, k);
    k->hosts &= ~(1u << w->newest);
    k->leaves = w->newest;
    for (int f = 0; f < VF_WINDOW_FRAMES; f++)
        if (w->slot[f].number && f != w->newest) k->leaving |= 1u << f;
    for (int32_t c = 0; c < VF_WINDOW_OFFSET; c++)
        if (c / 6 != w->newest && !(c >= moving && c < moving + 9)) k->gone_list[k->gone++] = c;
    vf_window_enter_prior(&w->slot[w->newest]);
}

/** Frames, columns and factors that leave: the oldest state without its velocity and biases, or without all
 *  if it is no keyframe; and a keyframe, if there are too many. By one item. */
VF_FN void vf_window_choose(struct vf_window *w, struct vf_window_work *k)
{
    int frames = 0, states = 0;
    k->hosts = 0;
    k->gone = 0;
    k->leaves = k->key = -1;
    k->leaving = 0;
    k->still = 1;
    if (k->rest.begins || k->folds) {
        vf_window_choose_all(w, k);
        return;
    }
    for (int i = 0; i < VF_WINDOW_MOTIONS; i++) k->inertial[i].a = -1;
    for (int f = 0; f < VF_WINDOW_FRAMES; f++) {
        frames += w->slot[f].number != 0;
        states += w->slot[f].number && w->slot[f].state >= 0;
    }
    if (states < VF_WINDOW_STATES) return;
    const int32_t a = vf_window_oldest_state(w);
    struct vf_window_slot *s = &w->slot[a];
    k->leaves = a;
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++)
        if (w->slot[f].number == s->number + 1 && w->slot[f].state >= 0) {
            k->inertial[0].a = a;
            k->inertial[0].b = f;
            vf_rest_first(s, &w->slot[f]);
            vf_window_enter_prior(&w->slot[f]);
        }
    vf_window_enter_prior(s);
    if (s->keyframe && frames - states >= VF_WINDOW_KEYFRAMES) k->key = vf_window_key_to_leave(w, k);
    if (k->key >= 0) k->hosts = 1u << k->key;
    for (int i = s->keyframe ? 6 : 0; i < VF_NAV_ERRORS; i++) k->gone_list[k->gone++] = vf_window_error_column(s, a, i);
    for (int i = 0; i < 6 && k->key >= 0; i++) k->gone_list[k->gone++] = 6 * k->key + i;
    k->leaving = (s->keyframe ? 0 : 1u << a) | (k->key >= 0 ? 1u << k->key : 0);
}

/** 1 if a frame but the newest one hosts landmarks. */
VF_FN int vf_window_hosts(const struct vf_window *w)
{
    int hosts = 0;
    for (int f = 0; f < VF_WINDOW_FRAMES; f++) hosts |= f != w->newest && w->slot[f].number && w->slot[f].keyframe;
    return hosts;
}

/** Landmarks that are left when the frames that leave are gone: k->stays, by which vf_window_forget() goes. Where rest
 *  begins, those that the newest frame hosts or will host. Of one block. */
VF_FN void vf_window_stay(const struct vf_window *w, struct vf_window_work *k)
{
    VF_PARTS(i, VF_WINDOW_LANDMARKS)
    {
        const struct vf_landmark *l = &w->landmark[i];
        const int kept = k->rest.begins ? l->host == w->newest : l->host != k->key;
        k->stays[i] = (l->id != 0) & kept & !k->folds;
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, k->rest.begins ? (int)k->sights : 0)
    if (vf_window_taken(k, (uint32_t)i)) k->stays[k->landmark_of[i]] = w->landmark[k->landmark_of[i]].id != 0;
    VF_ITEM_SYNC();
}

/** Those of them that the newest frame sees; where rest begins, all: k->told. Of one block. */
VF_FN void vf_window_count_told(const struct vf_window *w, struct vf_window_work *k)
{
    VF_PARTS(part, VF_WINDOW_PARTS)
    {
        uint32_t number = 0;
        VF_UNROLL_4
        for (int i = part; i < VF_WINDOW_LANDMARKS; i += VF_WINDOW_PARTS) {
            const uint32_t seen = w->landmark[i].seen >> w->newest & 1;
            number += (uint32_t)k->stays[i] & (seen | (uint32_t)k->rest.begins);
        }
        k->number[part] = number;
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, 1)
    {
        uint32_t told = 0;
        VF_UNROLL_16
        for (int part = 0; part < VF_WINDOW_PARTS; part++) told += k->number[part];
        k->told = told;
    }
    VF_ITEM_SYNC();
}

/** Landmarks that do not stay are gone; nobody is seen from the frames that leave any more. */
VF_FN void vf_window_forget(struct vf_window *w, const struct vf_window_work *k)
{
    enum { WORDS = sizeof(struct vf_window_slot) / 4 };
    const uint32_t slots = k->leaving;
    if (k->rest.begins) vf_rest_host(w, k);
    VF_PARTS(i, VF_WINDOW_LANDMARKS)
    {
        struct vf_landmark *l = &w->landmark[i];
        if (!k->stays[i]) l->id = 0;
        l->seen &= ~slots;
        l->tried &= ~slots;
    }
    VF_PARTS(i, VF_WINDOW_FRAMES * WORDS)
    if (slots >> i / WORDS & 1) ((vf_word *)&w->slot[i / WORDS])[i % WORDS] = 0;
    VF_ITEM_SYNC();
    VF_PARTS(f, VF_WINDOW_FRAMES)
    {
        struct vf_window_slot *s = &w->slot[f];
        if (!(slots >> f & 1) && k->key >= 0 && k->host[k->key].frames >> f & 1) vf_window_enter_prior(s);
        if ((f == k->leaves && !k->rest.begins && !k->folds) || slots >> f & 1) s->state = -1;
    }
    VF_ITEM_SYNC();
}

/** Launch behind the system of all that leaves: what it says of the others becomes the prior's matrix, and its right
 *  side at the estimate. Of a block of `blocks`. */
VF_FN void vf_window_eliminate(struct vf_window *w, struct vf_window_work *k, struct vf_solve_gone *room, int block,
                               int blocks)
{
    struct vf_solve_places at = {room->matrix, room->row, &room->room};
    const int most = k->gone > VF_WINDOW_GONE;
    if (k->leaves < 0 || (most && block)) return;
    if (most) {
        at.matrix = k->most.matrix;
        at.row = k->most.row;
        at.room = &k->most.room;
    }
    vf_solve_eliminate(&k->system[k->trial], k->gone_list, k->gone, &at, block, most ? 1 : blocks, &w->prior);
}

/** Beside it: frames that leave are forgotten. Of one block. */
VF_FN void vf_window_part(struct vf_window *w, struct vf_window_work *k)
{
    if (k->leaves < 0) return;
    vf_window_forget(w, k);
    vf_window_from_firsts(w, k);
}

/** Last launch: the prior's slope at the first estimates. */
VF_FN void vf_window_leave(struct vf_window *w, const struct vf_window_work *k)
{
    if (k->leaves < 0) return;
    VF_ITEMS(r, VF_WINDOW_COLUMNS)
    w->prior.g[r] -= vf_window_product(w->prior.H, k->from_first, r);
}

#endif
