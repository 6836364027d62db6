/* SPDX-License-Identifier: MIT */
/* Host form of window. */
#include "window.h"

#include "window_step.h"

void vf_window_host(const struct vf_window_view *s)
{
#if VFRONT_WINDOW
    struct vf_window_memory *m = s->window;
    const struct vf_window_given *given = &m->given;
    struct vf_window *w = &m->window[s->parity];
    m->given = *s->given;
    memset(&m->nav, 0, sizeof m->nav);
    if (given->command == VF_WINDOW_NONE) return;
    if (given->command == VF_WINDOW_BEGIN)
        vf_window_begin(w, &given->rig, &given->noise, &given->first, given->information);
    else
        *w = m->window[s->parity ^ 1];
    vf_window_run(w, &m->work, &given->motion, s->sight->sight, s->sight->count);
    vf_window_nav(w, &m->work, &m->nav);
#else
    (void)s;
#endif
}
