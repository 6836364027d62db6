/* SPDX-License-Identifier: MIT */
/* Host form of keyframe. */
#include "keyframe.h"

void vf_keyframe_host(const struct vf_keyframe_view *s)
{
#if VFRONT_MAP
    vf_keyframe_commit(s);
    vf_keyframe_evict_keys(s);
    vf_keyframe_decide(s);
#else
    (void)s;
#endif
}
