/* SPDX-License-Identifier: MIT */
/* Host form of the stage vio. */
#include "vio.h"

#include "launch.h"

void vf_vio_host(const struct vf_vio_view *s)
{
#if VFRONT_VIO
    struct vf_vio_memory *m = s->vio;
    const struct vf_vio_request *request = &m->request;
    struct vf_vio_window *w = &m->window[s->parity];
    m->request = *s->request;
    memset(&m->nav, 0, sizeof m->nav);
    memset(&m->summary, 0, sizeof m->summary);
    if (request->command == VF_VIO_NONE) return;
    if (request->command == VF_VIO_BEGIN)
        vf_vio_init_window(w, &request->rig, &request->noise, &request->first, request->information);
    else
        *w = m->window[s->parity ^ 1];
    vf_vio_run(w, &m->work, &request->motion, s->observe->observation, s->observe->count);
    vf_vio_output(w, &m->work, &m->nav, &m->summary);
    vf_vio_output_covariance(w, &m->nav);
#else
    (void)s;
#endif
}
