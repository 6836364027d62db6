/* SPDX-License-Identifier: MIT */
#include "stages.h"

/** Marks the places whose corners aggregation leaves. */
static void aggregate(const struct vf_step *s, int32_t camera)
{
    const uint64_t *best = s->memory->detect.best[camera];
    uint32_t *stays = s->memory->select.stays[camera];
    for (int32_t i = 0; i < vf_places(s, camera); i++) {
        if (i % 32 == 0) stays[i / 32] = 0;
        if (best[i] && vf_select_stays(&s->geometry, &s->tuning, best, camera, best[i])) stays[i / 32] |= 1u << i % 32;
    }
}

/** A group of a camera: its slots, and its chunks. */
struct group {
    uint64_t *key;
    uint32_t slots;
    int32_t chunks;
    uint64_t (*candidate)[VF_CHUNK];
    uint32_t *candidates;
};

/** Fills in the candidates of a group; returns how many there are. */
static uint32_t find_candidates(const struct vf_step *s, int32_t camera, int32_t group, const struct group *g)
{
    const uint64_t *best = s->memory->detect.best[camera];
    const uint32_t *stays = s->memory->select.stays[camera];
    const int32_t places = vf_group_places(s, camera), first = group * places;
    const int aggregated = vf_aggregated(&s->tuning);
    uint32_t found = 0;
    for (int32_t chunk = 0; chunk < g->chunks; chunk++) {
        uint32_t left = 0;
        for (int32_t i = first + chunk * VF_CHUNK; i < first + vf_min(places, (chunk + 1) * VF_CHUNK); i++)
            if (best[i] && (!aggregated || stays[i / 32] >> i % 32 & 1)) g->candidate[chunk][left++] = best[i];
        g->candidates[chunk] = left;
        found += left;
    }
    return found;
}

/** The least key among the `wanted` best candidates, bit by bit from the top. */
static uint64_t least_wanted(const struct group *g, uint32_t wanted)
{
    uint64_t least = 0;
    for (int bit = VF_KEY_BITS - 1; bit >= 0; bit--) {
        const uint64_t trial = least | 1ull << bit;
        uint32_t above = 0;
        for (int32_t chunk = 0; chunk < g->chunks; chunk++)
            for (uint32_t i = 0; i < g->candidates[chunk]; i++) above += g->candidate[chunk][i] >= trial;
        if (above >= wanted) least = trial;
    }
    return least;
}

static void select_group(const struct vf_step *s, int32_t camera, int32_t group)
{
    struct vf_select_memory *m = &s->memory->select;
    const int32_t chunks = vf_group_chunks(s, camera), slot = vf_first_slot(s, group);
    const struct group g = {m->key[camera] + slot, (uint32_t)(vf_first_slot(s, group + 1) - slot), chunks,
                            m->candidate[camera] + group * chunks, m->candidates[camera] + group * chunks};
    const uint32_t found = find_candidates(s, camera, group, &g);
    const uint64_t least = found > g.slots && g.slots ? least_wanted(&g, g.slots) : 1;
    uint32_t count = 0;
    for (int32_t chunk = 0; chunk < chunks && g.slots; chunk++)
        for (uint32_t i = 0; i < g.candidates[chunk]; i++)
            if (g.candidate[chunk][i] >= least) g.key[count++] = g.candidate[chunk][i];
    m->count[camera][group] = count;
    m->dropped[camera][group] = vf_select_dropped(&s->tuning, found, g.slots);
}

void vf_select_host(const struct vf_step *s)
{
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++) {
        if (vf_aggregated(&s->tuning)) aggregate(s, camera);
        for (int32_t group = 0; group < vf_groups(s); group++) select_group(s, camera, group);
    }
}
