/* SPDX-License-Identifier: MIT */
/* Host form of the stage vio. */
#include "vio.h"

#include "launch.h"

#if VFRONT_VIO
/** Step of one member of the bank. */
static void run_member(const struct vf_vio_view *s, int i)
{
    struct vf_vio_memory *m = s->vio;
    const struct vf_vio_request *request = &m->request;
    const struct vf_vio_member_request *own = &request->member[i];
    struct vf_vio_window *w = &m->window[s->parity][i];
    if (own->command == VF_VIO_NONE) return;
    if (own->command == VF_VIO_BEGIN)
        vf_vio_init_window(w, &request->rig, &request->noise, &request->first, request->information);
    else
        *w = m->window[s->parity ^ 1][own->from];
    vf_vio_run(w, &m->work[i], &own->motion, s->observe->observation, s->observe->count);
    vf_vio_output(w, &m->work[i], &m->nav[i], &m->summary[i]);
    vf_vio_output_covariance(w, &m->nav[i]);
}
#endif

void vf_vio_host(const struct vf_vio_view *s)
{
#if VFRONT_VIO
    struct vf_vio_memory *m = s->vio;
    m->request = *s->request;
    memset(m->nav, 0, sizeof m->nav);
    memset(m->summary, 0, sizeof m->summary);
    for (int i = 0; i < VF_BANK; i++) run_member(s, i);
#else
    (void)s;
#endif
}
