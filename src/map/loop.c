/* SPDX-License-Identifier: MIT */
/* Host form of loop. */
#include "loop.h"

void vf_loop_host(const struct vf_loop_view *s)
{
#if VFRONT_MAP
    vf_loop_decide(s);
#else
    (void)s;
#endif
}
