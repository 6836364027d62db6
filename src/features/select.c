/* SPDX-License-Identifier: MIT */
/* Host form of select. */
#include "select.h"

/** Set the bits of the culling cells whose corners aggregation keeps. */
static void aggregate(const struct vf_select_view *s, int32_t camera)
{
    const uint64_t *best = s->detect->best[s->parity][camera];
    uint32_t *kept = s->select->kept[camera];
    for (int32_t i = 0; i < s->geometry.places[camera]; i++) {
        if (i % 32 == 0) kept[i / 32] = 0;
        if (best[i] && vf_select_kept(&s->geometry, &s->tuning, best, camera, best[i])) kept[i / 32] |= 1u << i % 32;
    }
}

/** Culling cells of a group of a camera. */
struct group {
    const uint64_t *best; /* keys of the group's cells */
    const uint32_t *kept; /* bits of the camera's cells; NULL: no aggregation, all are kept */
    int32_t first, cells; /* the group's first cell; number of cells */
};
static struct group group_of(const struct vf_select_view *s, int32_t camera, int32_t number)
{
    const int32_t cells = s->geometry.places[camera] / s->geometry.groups, first = number * cells;
    const struct group g = {s->detect->best[s->parity][camera] + first,
                            vf_aggregated(&s->tuning) ? s->select->kept[camera] : NULL, first, cells};
    return g;
}

/** Key of a cell of the group, 0 if it has none or aggregation dropped it. */
static inline uint64_t corner(const struct group *g, int32_t i)
{
    const int32_t cell = g->first + i;
    return !g->kept || g->kept[cell / 32] >> cell % 32 & 1 ? g->best[i] : 0;
}

/** Threshold that exactly the `quota` highest keys reach; there must be more keys than that. Radix select: eleven bits
 *  at a time from the top, until a bin is wholly within the quota. */
static uint64_t lowest_kept(const struct group *g, uint32_t quota)
{
    uint32_t bin[2048], left = quota; /* rest of the quota, for keys that share the prefix */
    uint64_t prefix = 0;
    for (int above = VF_KEY_BITS, shift; above > 0; above = shift) {
        shift = vf_max(above - 11, 0);
        memset(bin, 0, sizeof bin);
        for (int32_t i = 0; i < g->cells; i++) {
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

/** Select the key points of one group. */
static void select_group(const struct vf_select_view *s, int32_t camera, int32_t number)
{
    struct vf_select_memory *m = s->select;
    const struct group g = group_of(s, camera, number);
    const int32_t first = s->geometry.group_first[number];
    const uint32_t quota = (uint32_t)(s->geometry.group_first[number + 1] - first);
    uint32_t found = 0, count = 0;
    for (int32_t i = 0; i < g.cells; i++) found += corner(&g, i) != 0;
    const uint64_t least = found > quota && quota ? lowest_kept(&g, quota) : 1;
    for (int32_t i = 0; i < g.cells && quota; i++)
        if (corner(&g, i) >= least) m->key[camera][first + (int32_t)count++] = corner(&g, i);
    m->count[camera][number] = count;
    m->dropped[camera][number] = vf_select_dropped(&s->tuning, found, quota);
}

void vf_select_host(const struct vf_select_view *s)
{
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++) {
        if (vf_aggregated(&s->tuning)) aggregate(s, camera);
        for (int32_t group = 0; group < s->geometry.groups; group++) select_group(s, camera, group);
    }
}
