/* SPDX-License-Identifier: MIT */
/* Host form of the stage observe. */
#include "observe.h"

void vf_observe_host(const struct vf_observe_view *s)
{
#if VFRONT_VIO
    struct vf_observe_memory *m = s->observe;
    const int two = vf_observe_pair_valid(s);
    m->count = vf_observe_count(s);
    for (uint32_t i = 0; i < m->count; i++) m->observation[i] = vf_observe_track(s, i, two);
#else
    (void)s;
#endif
}
