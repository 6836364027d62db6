/* SPDX-License-Identifier: MIT */
/* Host form of track: tracks one feature after the other, by lucas_kanade.h. */
#include "patch.h"
#include "lucas_kanade.h"

#include "image/ingest.h"
#include "refill.h"

void vf_track_host(const struct vf_track_view *s)
{
    const struct vf_params *params = &s->ingest->params;
    struct vf_track_memory *m = s->track;
    const uint32_t count = params->frame ? s->refill->counts[s->parity ^ 1].count : 0;
    struct vf_patch patch;
    for (uint32_t i = 0; i < count; i++)
        m->moved[i] = vf_track_one(&patch, s, params, s->refill->feature[s->parity ^ 1][i]);
}
