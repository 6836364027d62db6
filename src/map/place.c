/* SPDX-License-Identifier: MIT */
/* Host form of place. */
#include "place.h"

void vf_place_host(const struct vf_place_view *s)
{
#if VFRONT_MAP
    vf_place_gather(s);
    vf_place_count(s);
    vf_place_score(s);
    vf_place_choose(s);
#else
    (void)s;
#endif
}
