/* SPDX-License-Identifier: MIT */
#include "stages.h"

/** Marks the places whose corners aggregation leaves. */
static void aggregate(const struct vf_step *s, int32_t camera)
{
    const uint64_t *best = s->memory->detect.best[camera];
    for (int32_t i = 0; i < vf_places(s, camera); i++) {
        uint32_t *stays = &s->memory->select.stays[camera][i / VF_CHUNK][i % VF_CHUNK / 32];
        if (i % 32 == 0) *stays = 0;
        if (best[i] && vf_select_stays(&s->geometry, &s->tuning, best, camera, best[i])) *stays |= 1u << i % 32;
    }
}

/** Looks through the chunks of a camera: what aggregation leaves of each, and its cells with a corner. Returns how many are left. */
static uint32_t find_candidates(const struct vf_step *s, int32_t camera)
{
    struct vf_select_memory *m = &s->memory->select;
    const uint64_t *best = s->memory->detect.best[camera];
    const int32_t places = vf_places(s, camera), cells = vf_cells(&s->geometry, camera);
    const int aggregated = vf_aggregated(&s->tuning);
    uint32_t found = 0;
    if (aggregated) aggregate(s, camera);
    m->cells[camera] = 0;
    for (int32_t chunk = 0; chunk * VF_CHUNK < places; chunk++) {
        uint32_t left = 0, occupied = 0;
        for (int32_t i = chunk * VF_CHUNK; i < vf_min(places, (chunk + 1) * VF_CHUNK); i++) {
            if (i < cells) occupied += vf_best(best, i, cells, vf_scales(s)) != 0;
            const int stays = !aggregated || m->stays[camera][chunk][i % VF_CHUNK / 32] >> i % 32 & 1;
            if (best[i] && stays) m->candidate[camera][chunk][left++] = best[i];
        }
        m->candidates[camera][chunk] = left;
        m->occupied[camera][chunk] = occupied;
        m->cells[camera] += occupied;
        found += left;
    }
    return found;
}

/** The least key among the `wanted` best candidates, bit by bit from the top. */
static uint64_t least_wanted(const struct vf_select_memory *m, int32_t camera, int32_t chunks, uint32_t wanted)
{
    uint64_t least = 0;
    for (int bit = VF_KEY_BITS - 1; bit >= 0; bit--) {
        const uint64_t trial = least | 1ull << bit;
        uint32_t above = 0;
        for (int32_t chunk = 0; chunk < chunks; chunk++)
            for (uint32_t i = 0; i < m->candidates[camera][chunk]; i++) above += m->candidate[camera][chunk][i] >= trial;
        if (above >= wanted) least = trial;
    }
    return least;
}

static void select_camera(const struct vf_step *s, int32_t camera)
{
    struct vf_select_memory *m = &s->memory->select;
    const int32_t chunks = (vf_places(s, camera) + VF_CHUNK - 1) / VF_CHUNK;
    const uint32_t found = find_candidates(s, camera), wanted = (uint32_t)s->tuning.select_points;
    const uint64_t least = found > wanted && wanted ? least_wanted(m, camera, chunks, wanted) : 1;
    uint32_t count = 0;
    for (int32_t chunk = 0; chunk < chunks && wanted; chunk++)
        for (uint32_t i = 0; i < m->candidates[camera][chunk]; i++)
            if (m->candidate[camera][chunk][i] >= least) m->key[camera][count++] = m->candidate[camera][chunk][i];
    m->count[camera] = count;
    m->dropped[camera] = vf_select_dropped(&s->tuning, found);
}

void vf_select_host(const struct vf_step *s)
{
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++) select_camera(s, camera);
}
