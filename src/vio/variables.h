/* SPDX-License-Identifier: MIT */
/* Variables of the sliding window: columns of a frame, retraction, inertial factors between states, observations. */
#ifndef VF_VIO_VARIABLES_H
#define VF_VIO_VARIABLES_H

#include "consistency.h"

/** System column of error number `error` (order of vfront_nav_t) of the frame in `slot`. */
VF_FN int vf_vio_error_column(const struct vf_vio_slot *s, int slot, int error)
{
    return error < 6 ? 6 * slot + error : VF_VIO_VELOCITY + 9 * s->state + error - 6;
}

/** Adds the increment x of all columns to the estimate of a slot. The attitude increment multiplies from the left. */
VF_FN void vf_vio_increment(struct vf_vio_state *value, const struct vf_vio_slot *s, int slot, const double *x)
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
    const double *velocity = &x[VF_VIO_VELOCITY + 9 * s->state];
    for (int i = 0; i < 3; i++) value->v[i] += velocity[i];
    for (int i = 0; i < 6; i++) value->bias[i] += velocity[3 + i];
}

/** Slot of the frame before the one in `slot`, if it still has velocity and biases; -1 otherwise. */
VF_FN int32_t vf_vio_previous_state(const struct vf_vio_window *w, int32_t slot)
{
    int32_t found = -1;
    for (int32_t f = 0; f < VF_VIO_FRAMES; f++)
        if (w->slot[f].number && w->slot[f].state >= 0 && w->slot[f].number + 1 == w->slot[slot].number) found = f;
    return found;
}

/** Sets k->before[f] to the slot of the state before the one in slot f; -1: none. Runs in one block. */
VF_FN void vf_vio_previous_states(const struct vf_vio_window *w, struct vf_vio_work *k)
{
    VF_PARTS(f, VF_VIO_FRAMES)
    k->before[f] = w->slot[f].number && w->slot[f].state >= 0 ? vf_vio_previous_state(w, f) : -1;
    VF_ITEM_SYNC();
}

/** Selects all inertial factors between consecutive states, and all keyframes as anchors. Run by one thread. */
VF_FN void vf_vio_select_all_factors(const struct vf_vio_window *w, struct vf_vio_work *k)
{
    int count = 0;
    k->anchors = 0;
    for (int i = 0; i < VF_VIO_INERTIAL_FACTORS; i++) k->inertial[i].a = -1;
    for (int32_t f = 0; f < VF_VIO_FRAMES; f++) {
        const struct vf_vio_slot *s = &w->slot[f];
        const int32_t a = k->before[f];
        if (a >= 0 && count < VF_VIO_INERTIAL_FACTORS) {
            k->inertial[count].a = a;
            k->inertial[count++].b = f;
        }
        if (s->number && s->keyframe) k->anchors |= 1u << f;
    }
}

VF_FN void vf_vio_set_observation(struct vf_landmark *l, int32_t slot, const struct vf_observation *seen)
{
    struct vf_vio_observation *s = &l->observation[slot];
    memcpy(s->bearing, seen->bearing, sizeof s->bearing);
    memcpy(s->stereo_bearing, seen->stereo_bearing, sizeof s->stereo_bearing);
    s->row_delay_s = seen->row_delay_s;
    s->stereo_delay_s = seen->stereo_delay_s;
    s->weight = 1.0f / seen->sigma;
    s->stereo_weight = seen->stereo_sigma > 0.0f ? 1.0f / seen->stereo_sigma : 0.0f;
    l->seen |= 1u << slot;
}

#endif
