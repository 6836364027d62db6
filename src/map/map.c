/* SPDX-License-Identifier: MIT */
/* Host form of map. */
#include "map.h"

void vf_map_host(const struct vf_map_view *s)
{
#if VFRONT_MAP
    vf_map_solve(s);
    vf_map_update(s);
#else
    (void)s;
#endif
}
