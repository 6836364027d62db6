/* SPDX-License-Identifier: MIT */
/* Gate of the window: sights of the newest frame that do not agree with the readings are left out, so that what moves
 * by itself does not take the state with it, be it most of the picture.
 *
 * In      newest frame with the state that its readings predict; its sights of landmarks
 * Out     landmarks' bit `seen` of that frame taken away where it is refused; their count `refused`; off_sight
 * Rule    residual of camera 0 at the prediction, squared, over its deviation: the least level 2^i VF_GATE_LEVEL within
 *         which VF_GATE_SHARE of all sights are, times VF_GATE_TIMES, is the gate, and at least VF_GATE_LEAST. Where it
 *         is above VF_GATE_MOST the prediction is not good enough to tell, and nothing is refused
 *         A landmark that was refused VF_GATE_REFUSALS times is not taken again, nor is its track a new one
 * Exact   residuals in single precision, counts are integers
 */
#ifndef VF_WINDOW_GATE_H
#define VF_WINDOW_GATE_H

#include "window_system.h"

/** Lowest level of a squared residual, in squared deviations of a sight. */
#define VF_GATE_LEVEL 0.015625f

/** Share of sights within the level that counts, least number of them; the gate in levels; its least and most. */
#define VF_GATE_SHARE 4
#define VF_GATE_FEWEST 8
#define VF_GATE_TIMES 16.0f
#define VF_GATE_LEAST 1.0f
#define VF_GATE_MOST 32.0f

#define VF_GATE_REFUSALS 3

/** Squared residual of a sight of camera 0 at the prediction; -1: none. */
VF_FN float vf_gate_square(const struct vf_window *w, const struct vf_window_work *k, int32_t landmark)
{
    const struct vf_landmark *l = landmark >= 0 ? &w->landmark[landmark] : NULL;
    float Y[3], seen[3], axis[2][3], g[3], r[2];
    if (!l || l->host == w->newest || !(l->seen >> w->newest & 1)) return -1.0f;
    const struct vf_window_sight *s = &l->sight[w->newest];
    const struct vf_pose *pose = &k->host[l->host].pose[w->newest];
    const struct vf_landmark_drift *drift = &k->drift[w->newest];
    vf_transform(pose->R, l->bearing, Y);
    for (int i = 0; i < 3; i++) Y[i] += l->inverse * (pose->t[i] - s->late_s * drift->velocity[i]);
    vf_landmark_turned(drift, s->bearing, s->late_s, seen);
    if (!(vf_dot(seen, Y) > 0.1f)) return 1e6f;
    vf_landmark_axes(seen, axis[0], axis[1]);
    for (int i = 0; i < 2; i++) r[i] = vf_landmark_residual(axis[i], seen, Y, s->weight, g);
    return r[0] * r[0] + r[1] * r[1];
}

/** Gate by the counts of sights within each level; 0: none. */
VF_FN float vf_gate_of(const uint32_t within[VF_GATE_LEVELS], uint32_t tested)
{
    float level = VF_GATE_LEVEL;
    for (int i = 0; i < VF_GATE_LEVELS; i++, level *= 2.0f) {
        const float gate = VF_GATE_TIMES * level;
        if (within[i] < VF_GATE_FEWEST || VF_GATE_SHARE * within[i] < tested) continue;
        return gate > VF_GATE_MOST ? 0.0f : gate < VF_GATE_LEAST ? VF_GATE_LEAST : gate;
    }
    return 0.0f;
}

/** Sights of the newest frame, refused or not; poses relative to hosts are there. Of one block. */
VF_FN void vf_window_gate(struct vf_window *w, struct vf_window_work *k, uint32_t sights)
{
    VF_PARTS(i, (int)sights)
    k->square[i] = vf_gate_square(w, k, k->landmark_of[i]);
    VF_ITEM_SYNC();
    VF_PARTS(i, VF_GATE_LEVELS + 1)
    { /* the last one: of any size */
        const float most = i < VF_GATE_LEVELS ? VF_GATE_LEVEL * (float)(1 << i) : 1e30f;
        uint32_t count = 0;
        VF_UNROLL_4
        for (uint32_t j = 0; j < sights; j++) count += k->square[j] >= 0.0f && k->square[j] <= most;
        k->within[i] = count;
    }
    VF_ITEM_SYNC();
    const float gate = vf_gate_of(k->within, k->within[VF_GATE_LEVELS]);
    VF_PARTS(i, (int)sights)
    {
        struct vf_landmark *l = k->landmark_of[i] >= 0 ? &w->landmark[k->landmark_of[i]] : NULL;
        k->off_sight[i] = 0;
        if (!l || k->square[i] < 0.0f) continue;
        const int off = gate > 0.0f && k->square[i] > gate;
        l->refused += (uint32_t)off;
        if (!off && l->refused < VF_GATE_REFUSALS) continue;
        l->seen &= ~(1u << w->newest);
        k->off_sight[i] = 1;
    }
    VF_ITEM_SYNC();
}

#endif
