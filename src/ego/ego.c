/* SPDX-License-Identifier: MIT */
/* ego, host form: lists of correspondences, and order of the steps. */
#include "ego_host.h"

#if VFRONT_EGO

/** Sort key of a candidate, a track or a match; VF_NONE if it is no correspondence. */
static uint32_t key_of(const struct vf_ego_view *s, int32_t candidate)
{
    const struct vf_refill_memory *t = s->refill;
    if (candidate < VFRONT_TRACKS)
        return candidate < (int32_t)t->counts[s->parity].count
                   ? vf_ego_key(&s->tuning, &t->feature[s->parity][candidate], NULL, candidate)
                   : VF_NONE;
#if VFRONT_MATCHES
    const int32_t i = candidate - VFRONT_TRACKS;
    if (i < (int32_t)vf_match_count(s->match, s->geometry.active))
        return vf_ego_key(&s->tuning, NULL, &s->match->match[i], candidate);
#endif
    return VF_NONE;
}

static struct vf_correspondence correspondence_of(const struct vf_ego_view *s, int32_t candidate)
{
    const struct vf_bearing_memory *b = s->bearing;
#if VFRONT_MATCHES
    if (candidate >= VFRONT_TRACKS) {
        const vfront_match_t *m = &s->match->match[candidate - VFRONT_TRACKS];
        return vf_ego_from_match(s, m, &b->point[s->parity ^ 1][0][m->before], &b->point[s->parity][0][m->keypoint],
                                 vf_ego_match_range(s, s->parity ^ 1, m->before),
                                 vf_ego_match_range(s, s->parity, m->keypoint));
    }
#endif
    return vf_ego_from_track(s, b->node[0], &s->refill->feature[s->parity][candidate]);
}

/** Writes list[1], for metric motions: the correspondences of list[0] whose distance in the previous frame is known, in
 *  the same order; tracks only if vf_ego_uses_track_ranges(). */
static void list_metric(const struct vf_ego_view *s)
{
    struct vf_ego_memory *m = s->ego;
    const struct vf_correspondences *all = &m->list[0];
    uint32_t ranged[2] = {0, 0}; /* tracks, matches with a distance */
    for (uint32_t i = 0; i < m->count[0]; i++) ranged[all->candidate[i] >= VFRONT_TRACKS] += all->range_m[i] > 0.0f;
    const int32_t first = vf_ego_uses_track_ranges(ranged[0], ranged[1]) ? 0 : VFRONT_TRACKS;
    m->count[1] = 0;
    for (uint32_t i = 0; i < m->count[0]; i++) {
        const struct vf_correspondence c = vf_ego_metric_correspondence(s, vf_ego_load(all, (int32_t)i));
        if (c.range_m > 0.0f && all->candidate[i] >= first)
            vf_ego_store(&m->list[1], (int32_t)m->count[1]++, &c, all->candidate[i]);
    }
}

/** Writes list[0], all candidates that are correspondences, ordered by accuracy rank, then by index (a counting sort).
 *  Then writes list[1], those with a known distance. */
static void list(const struct vf_ego_view *s)
{
    struct vf_ego_memory *m = s->ego;
    uint32_t first[VF_EGO_RANKS + 1] = {0}; /* first[r]: list index of the next candidate of rank r */
    memset(m->inlier, 0, sizeof m->inlier);
    memset(m->inlier_mask, 0, sizeof m->inlier_mask);
    for (int32_t candidate = 0; candidate < VFRONT_CORRESPONDENCES; candidate++) {
        const uint32_t key = key_of(s, candidate);
        if (key != VF_NONE) first[(key >> 16) + 1]++;
    }
    for (int r = 0; r < VF_EGO_RANKS; r++) first[r + 1] += first[r];
    m->count[0] = first[VF_EGO_RANKS];
    for (int32_t candidate = 0; candidate < VFRONT_CORRESPONDENCES; candidate++) {
        const uint32_t key = key_of(s, candidate);
        if (key == VF_NONE) continue;
        const struct vf_correspondence c = correspondence_of(s, candidate);
        vf_ego_store(&m->list[0], (int32_t)first[key >> 16]++, &c, candidate);
    }
    list_metric(s);
}

/** Estimates relative motion, rotation and metric motion from the lists of correspondences. */
static void solve(const struct vf_ego_view *s)
{
    for (int kind = 0; kind < VF_KINDS; kind++) vf_ego_make_hypotheses(s, kind);
    vf_ego_assess(s);
}
#endif

void vf_ego_host(const struct vf_ego_view *s)
{
#if VFRONT_EGO
    list(s);
    solve(s);
#else
    (void)s;
#endif
}
