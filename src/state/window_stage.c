/* SPDX-License-Identifier: MIT */
/* Host form of window. */
#include "window_stage.h"

#if VFRONT_WINDOW
/** What there is to say after a step. */
static void tell(const struct vf_window *w, vfront_nav_t *nav)
{
    uint32_t sights = 0;
    vf_window_nav(w, nav);
    nav->offset_s = w->offset_s;
    nav->offset_sigma_s = sqrt(w->covariance[VF_WINDOW_SAID_OFFSET * (VF_WINDOW_SAID + 1)]);
    for (int i = 0; i < VF_WINDOW_LANDMARKS; i++) {
        const struct vf_landmark *l = &w->landmark[i];
        if (!l->id) continue;
        nav->landmarks += l->seen >> w->newest & 1;
        for (uint32_t seen = l->seen; seen; seen &= seen - 1) sights++;
    }
    nav->misfit = sights ? w->cost / sights : 0.0;
}
#endif

void vf_window_host(const struct vf_window_view *s)
{
#if VFRONT_WINDOW
    const struct vf_window_given *given = s->given;
    struct vf_window_memory *m = s->window;
    struct vf_window *w = &m->window[s->parity];
    memset(&m->nav, 0, sizeof m->nav);
    if (given->command == VF_WINDOW_NONE) return;
    if (given->command == VF_WINDOW_BEGIN)
        vf_window_start(w, &given->rig, &given->noise, &given->first);
    else
        *w = m->window[s->parity ^ 1];
    const struct vf_window_frame frame = {given->t_ns, given->imu, given->readings, s->sight->sight, s->sight->count};
    vf_window_step(w, &frame);
    tell(w, &m->nav);
#else
    (void)s;
#endif
}
