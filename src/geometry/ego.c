/* SPDX-License-Identifier: MIT */
/* ego, host form: the lists of correspondences, and the order of the steps. */
#include "ego_host.h"

#if VFRONT_EGO

/** Sort key of a candidate; VF_NONE: no correspondence. */
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
        const int metric = vf_ego_metric_on(s);
        return vf_ego_from_match(s, m, &b->point[s->parity ^ 1][0][m->before], &b->point[s->parity][0][m->keypoint],
                                 metric ? vf_stereo_range(s->stereo, s->parity ^ 1, m->before) : vf_range_unknown(),
                                 metric ? vf_stereo_range(s->stereo, s->parity, m->keypoint) : vf_range_unknown());
    }
#endif
    return vf_ego_from_track(s, b->node[0], &s->refill->feature[s->parity][candidate]);
}

/** Copy the correspondences with a distance, in their order, to the second list. */
static void list_metric(const struct vf_ego_view *s)
{
    struct vf_ego_memory *m = s->ego;
    m->count[1] = 0;
    for (uint32_t i = 0; i < m->count[0]; i++) {
        const struct vf_correspondence c = vf_ego_metric_correspondence(s, vf_ego_load(&m->list[0], (int32_t)i));
        if (c.range_m > 0.0f) vf_ego_store(&m->list[1], (int32_t)m->count[1]++, &c, m->list[0].candidate[i]);
    }
}

/** List the candidates by rank, and within a rank by number: a counting sort. */
static void list(const struct vf_ego_view *s)
{
    struct vf_ego_memory *m = s->ego;
    uint32_t first[VF_EGO_RANKS + 1] = {0}; /* place of the next candidate of each rank */
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

/** Estimate the motions from the lists. */
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
