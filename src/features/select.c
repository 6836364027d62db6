/* SPDX-License-Identifier: MIT */
/* Host form of select. */
#include "select.h"

/** Writes select->kept: one bit per culling cell, 1 if aggregation over levels keeps its corner. */
static void aggregate(const struct vf_select_view *s, int32_t camera)
{
    const uint64_t *best = s->detect->best[s->parity][camera];
    uint32_t *kept = s->select->kept[camera];
    for (int32_t i = 0; i < s->geometry.cull_slots[camera]; i++) {
        if (i % 32 == 0) kept[i / 32] = 0;
        if (best[i] && vf_select_kept(&s->geometry, &s->tuning, best, camera, best[i])) kept[i / 32] |= 1u << i % 32;
    }
}

/** Best, or second best, corner of each culling cell of a group: the levels with a common quota of key points. */
struct group {
    const uint64_t *key; /* sort keys of the corners in the group's cells; 0: no corner */
    /* one bit per culling cell of the camera: 1: aggregation keeps its corner; NULL: all are kept */
    const uint32_t *kept;
    int32_t first, cells; /* index of the group's first culling cell, and number of its cells */
};
static struct group group_of(const struct vf_select_view *s, const uint64_t *key, int32_t camera, int32_t number)
{
    const int32_t cells = s->geometry.cull_slots[camera] / s->geometry.groups, first = number * cells;
    const struct group g = {key + first, vf_aggregated(&s->tuning) ? s->select->kept[camera] : NULL, first, cells};
    return g;
}

/** Key of the corner in cell i of the group; 0: no corner, or dropped by aggregation. */
static inline uint64_t corner(const struct group *g, int32_t i)
{
    const int32_t cell = g->first + i;
    return !g->kept || g->kept[cell / 32] >> cell % 32 & 1 ? g->key[i] : 0;
}

/** Lowest of the `quota` highest keys of a group, which must have more keys. Radix select: eleven bits at a time from
 *  the top, until a bin lies wholly within the quota. */
static uint64_t lowest_kept(const struct group *g, uint32_t quota)
{
    uint32_t bin[2048], left = quota; /* left: number of keys with this prefix that are still to be taken */
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

/** Number of keys of a group that are >= `least`. */
static uint32_t count_of(const struct group *g, uint64_t least)
{
    uint32_t count = 0;
    for (int32_t i = 0; i < g->cells; i++) count += corner(g, i) >= least;
    return count;
}

/** Lowest of the `rank` highest of a group's `count` keys: 1 if there are no more than `rank` keys, above all keys if
 *  rank is 0. */
static uint64_t threshold(const struct group *g, uint32_t count, uint32_t rank)
{
    if (!rank) return VF_KEY_NONE;
    return count > rank ? lowest_kept(g, rank) : 1;
}

/** Writes the keys that reach the thresholds of `cut`, in the order of cells, and their number. Returns the number of
 *  second best corners among them. */
static uint32_t take(uint64_t *to, const struct group *best, const struct group *second, struct vf_select_cut cut,
                     uint32_t *count)
{
    uint32_t seconds = 0;
    *count = 0;
    if (cut.best == VF_KEY_NONE && cut.second == VF_KEY_NONE) return 0;
    for (int32_t i = 0; i < best->cells; i++) {
        if (corner(best, i) >= cut.best) to[(*count)++] = corner(best, i);
        if (corner(second, i) < cut.second) continue;
        to[(*count)++] = corner(second, i);
        seconds++;
    }
    return seconds;
}

/** Selects the key points of one group of levels. */
static void select_group(const struct vf_select_view *s, int32_t camera, int32_t number)
{
    struct vf_select_memory *m = s->select;
    const struct group best = group_of(s, s->detect->best[s->parity][camera], camera, number);
    const struct group second = group_of(s, s->detect->second[s->parity][camera], camera, number);
    const int32_t first = s->geometry.group_first[number];
    const uint32_t quota = (uint32_t)(s->geometry.group_first[number + 1] - first);
    uint64_t *to = m->key[camera] + first;
    struct vf_group_corners n = {count_of(&best, VF_KEY_HIGH), count_of(&best, 1), 0};
    const int filled = vf_select_filled(&s->tuning, n.high, quota);
    if (filled) n.high_second = count_of(&second, VF_KEY_HIGH);
    struct vf_select_cut cut = vf_select_cut_of(n, filled, quota);
    if (cut.of_second)
        cut.second = threshold(&second, count_of(&second, 1), cut.rank);
    else
        cut.best = threshold(&best, n.best, cut.rank);
    uint32_t count;
    const uint32_t seconds = take(to, &best, &second, cut, &count);
    m->count[camera][number] = count;
    m->dropped[camera][number] = vf_select_dropped(&s->tuning, n.best, count - seconds);
}

void vf_select_host(const struct vf_select_view *s)
{
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++) {
        if (vf_aggregated(&s->tuning)) aggregate(s, camera);
        for (int32_t group = 0; group < s->geometry.groups; group++) select_group(s, camera, group);
    }
}
