/* SPDX-License-Identifier: MIT */
/* Strain of the window: pictures that pull the states against the readings yield to them, so that a body that covers
 * most of the picture does not take the state with it while it gains speed.
 *
 * In      squared residuals of the factors of readings at the estimate
 * Out     weights of the newest frame's sights
 * Rule    where those of an interval are over vf_window_rig.strain after a step of the optimisation, the newest
 *         frame's sights of landmarks weigh VF_STRAIN_YIELD of what they did, and so do they in what follows: the
 *         covariance grows by it. While readings and pictures are in dispute (window_gate.h) less strain is enough.
 *         Left out are intervals of rest, whose factor holds the poses against the readings, and those with readings
 *         that are missing or saturated, whose errors are no smaller than is said
 *         On recorded flights strain is 0.2 in the median, and 1.2 at most (tests/README.md)
 * Exact   double precision in one order
 */
#ifndef VF_WINDOW_STRAIN_H
#define VF_WINDOW_STRAIN_H

#include "window_gate.h"

/** Share of vf_window_rig.strain that is enough in a dispute; weight that is left. */
#define VF_STRAIN_DISPUTED 0.5
#define VF_STRAIN_YIELD 0.1f

/** 1 if the newest frame's sights have to yield. By one item. */
VF_FN int vf_strain_is_much(const struct vf_window *w, const struct vf_window_work *k)
{
    const double most = w->rig.strain * (w->dispute_s > 0.0 ? VF_STRAIN_DISPUTED : 1.0);
    int much = 0;
    for (int i = 0; i < VF_WINDOW_MOTIONS; i++) {
        const struct vf_window_slot *end = &w->slot[k->inertial[i].a >= 0 ? k->inertial[i].b : 0];
        much |= k->inertial[i].a >= 0 && !end->rest && !end->motion.flags && k->strain[i] > most;
    }
    return much && most > 0.0 && k->steps > 0 && k->steps < VF_WINDOW_ITERATIONS;
}

/** Lower weights of the newest frame's sights; the cost before counts no more. Of one block. */
VF_FN void vf_strain_yield(struct vf_window *w)
{
    VF_PARTS(i, VF_WINDOW_LANDMARKS + 1)
    {
        if (i == VF_WINDOW_LANDMARKS) {
            w->cost = 1e300;
        } else {
            struct vf_landmark *l = &w->landmark[i];
            if (!l->id || l->host == w->newest || !(l->seen >> w->newest & 1)) continue;
            l->sight[w->newest].weight *= VF_STRAIN_YIELD;
            l->sight[w->newest].other_weight *= VF_STRAIN_YIELD;
        }
    }
    VF_ITEM_SYNC();
}

#endif
