/* SPDX-License-Identifier: MIT */
/* Variables of the window: columns of a frame, values plus a change, factors between states, sights of landmarks. */
#ifndef VF_WINDOW_VARIABLES_H
#define VF_WINDOW_VARIABLES_H

#include "window_gate.h"

/** Column of an error of a slot's state. */
VF_FN int vf_window_error_column(const struct vf_window_slot *s, int slot, int error)
{
    return error < 6 ? 6 * slot + error : VF_WINDOW_MOVING + 9 * s->state + error - 6;
}

/** Value plus a change of its columns. */
VF_FN void vf_window_add(struct vf_window_value *value, const struct vf_window_slot *s, int slot, const double *x)
{
    double turn[3], q[4];
    for (int i = 0; i < 3; i++) {
        value->p[i] += x[6 * slot + i];
        turn[i] = x[6 * slot + 3 + i];
    }
    vf_quaternion_exponential(turn, q);
    vf_quaternion_multiply(q, value->q, value->q);
    vf_quaternion_unit(value->q);
    if (s->state < 0) return;
    const double *more = &x[VF_WINDOW_MOVING + 9 * s->state];
    for (int i = 0; i < 3; i++) value->v[i] += more[i];
    for (int i = 0; i < 6; i++) value->bias[i] += more[3 + i];
}

/** Slot of the state before that of a slot; -1: none. */
VF_FN int32_t vf_window_before(const struct vf_window *w, int32_t slot)
{
    int32_t found = -1;
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++)
        if (w->slot[f].number && w->slot[f].state >= 0 && w->slot[f].number + 1 == w->slot[slot].number) found = f;
    return found;
}

/** State before each, for vf_window_take_all(). Of one block. */
VF_FN void vf_window_befores(const struct vf_window *w, struct vf_window_work *k)
{
    VF_PARTS(f, VF_WINDOW_FRAMES)
    k->before[f] = w->slot[f].number && w->slot[f].state >= 0 ? vf_window_before(w, f) : -1;
    VF_ITEM_SYNC();
}

/** Factors of readings between all states; hosts of landmarks: all keyframes. By one item. */
VF_FN void vf_window_take_all(const struct vf_window *w, struct vf_window_work *k)
{
    int count = 0;
    k->hosts = 0;
    for (int i = 0; i < VF_WINDOW_MOTIONS; i++) k->inertial[i].a = -1;
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++) {
        const struct vf_window_slot *s = &w->slot[f];
        const int32_t a = k->before[f];
        if (a >= 0 && count < VF_WINDOW_MOTIONS) {
            k->inertial[count].a = a;
            k->inertial[count++].b = f;
        }
        if (s->number && s->keyframe) k->hosts |= 1u << f;
    }
}

VF_FN void vf_window_sight_of(struct vf_landmark *l, int32_t slot, const struct vf_sight *seen)
{
    struct vf_window_sight *s = &l->sight[slot];
    memcpy(s->bearing, seen->bearing, sizeof s->bearing);
    memcpy(s->other, seen->other, sizeof s->other);
    s->late_s = seen->late_s;
    s->later_s = seen->later_s;
    s->weight = 1.0f / seen->sigma;
    s->other_weight = seen->other_sigma > 0.0f ? 1.0f / seen->other_sigma : 0.0f;
    l->seen |= 1u << slot;
}

#endif
