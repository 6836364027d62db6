/* SPDX-License-Identifier: MIT */
/* Host form of sight. */
#include "sight.h"

void vf_sight_host(const struct vf_sight_view *s)
{
#if VFRONT_WINDOW
    struct vf_sight_memory *m = s->sight;
    const int two = vf_sight_two(s);
    m->count = vf_sight_count(s);
    for (uint32_t i = 0; i < m->count; i++) m->sight[i] = vf_sight_of(s, i, two);
#else
    (void)s;
#endif
}
