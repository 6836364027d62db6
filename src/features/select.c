/* SPDX-License-Identifier: MIT */
#include "core/stages.h"

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

/** A group of a camera. */
struct group {
    const uint64_t *best;  /* of its places */
    const uint32_t *stays; /* of the camera's, or NULL: all stay */
    int32_t first, places;
};
static struct group group_of(const struct vf_step *s, int32_t camera, int32_t number)
{
    const int32_t places = vf_group_places(s, camera), first = number * places;
    const struct group g = {s->memory->detect.best[camera] + first,
                            vf_aggregated(&s->tuning) ? s->memory->select.stays[camera] : NULL, first, places};
    return g;
}

/** The corner of a place, if aggregation leaves it, or 0. */
static inline uint64_t corner(const struct group *g, int32_t i)
{
    const int32_t place = g->first + i;
    return !g->stays || g->stays[place / 32] >> place % 32 & 1 ? g->best[i] : 0;
}

/** The least key among the `wanted` best, of which there are more: eleven bits at a time from the top, until a bin is wanted whole. */
static uint64_t least_wanted(const struct group *g, uint32_t wanted)
{
    uint32_t bin[2048], left = wanted; /* of the keys that share the prefix, this many are wanted */
    uint64_t prefix = 0;
    for (int above = VF_KEY_BITS, shift; above > 0; above = shift) {
        shift = vf_max(above - 11, 0);
        memset(bin, 0, sizeof bin);
        for (int32_t i = 0; i < g->places; i++) {
            const uint64_t key = corner(g, i);
            if (key && key >> above == prefix) bin[key >> shift & ((1u << (above - shift)) - 1)]++;
        }
        uint32_t chosen = 2047;
        for (; bin[chosen] < left; chosen--) left -= bin[chosen];
        prefix = prefix << (above - shift) | chosen;
        if (bin[chosen] == left) return prefix << shift;
    }
    return prefix;
}

static void select_group(const struct vf_step *s, int32_t camera, int32_t number)
{
    struct vf_select_memory *m = &s->memory->select;
    const struct group g = group_of(s, camera, number);
    const int32_t slot = vf_first_slot(s, number);
    const uint32_t slots = (uint32_t)(vf_first_slot(s, number + 1) - slot);
    uint32_t found = 0, count = 0;
    for (int32_t i = 0; i < g.places; i++) found += corner(&g, i) != 0;
    const uint64_t least = found > slots && slots ? least_wanted(&g, slots) : 1;
    for (int32_t i = 0; i < g.places && slots; i++)
        if (corner(&g, i) >= least) m->key[camera][slot + (int32_t)count++] = corner(&g, i);
    m->count[camera][number] = count;
    m->dropped[camera][number] = vf_select_dropped(&s->tuning, found, slots);
}

void vf_select_host(const struct vf_step *s)
{
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++) {
        if (vf_aggregated(&s->tuning)) aggregate(s, camera);
        for (int32_t group = 0; group < vf_groups(s); group++) select_group(s, camera, group);
    }
}
