/* SPDX-License-Identifier: MIT */
#include "patch.h"
#include "core/stages.h"

void vf_track_host(const struct vf_step *s)
{
    const struct vf_params *params = &s->memory->ingest.params;
    struct vf_track_memory *m = &s->memory->track;
    if (!s->tuning.track_target) return;
    const uint32_t count = params->frame ? m->census[s->parity ^ 1].count : 0;
    struct vf_patch patch;
    for (uint32_t i = 0; i < count; i++) m->moved[i] = vf_track_one(&patch, s, params, m->feature[s->parity ^ 1][i]);
}
