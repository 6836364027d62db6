/* SPDX-License-Identifier: MIT */
/* Host form of recall. */
#include "recall.h"

void vf_recall_host(const struct vf_recall_view *s)
{
#if VFRONT_MAP
    vf_recall_extract(s);
    vf_recall_count(s);
    vf_recall_score(s);
    vf_recall_select(s);
#else
    (void)s;
#endif
}
