/* SPDX-License-Identifier: MIT */
/* Host form of partner: finds the stereo match of one track after the other, by partner_search.h. */
#include "partner_search.h"

#include "patch.h"

#if VFRONT_STEREO
struct vf_partner_anchors {
    struct vf_partner_anchor anchor[VF_PARTNER_ANCHORS];
};

struct vf_partner_keys {
    uint32_t key[VF_PARTNER_CANDIDATES];
};

struct vf_partner_bearing_set vf_partner_bearings(const struct vf_partner_view *s, struct vf_stereo_position at)
{
    const struct vf_node *node = s->bearing->node[1];
    const int32_t across = s->geometry.nodes_x[1];
    struct vf_partner_bearing_set near;
    vf_bearing_at(node, across, at.x_q16, at.y_q16, near.here);
    vf_bearing_at(node, across, at.x_q16 + 65536, at.y_q16, near.right);
    vf_bearing_at(node, across, at.x_q16, at.y_q16 + 65536, near.below);
    return near;
}

void vf_partner_find_anchors(struct vf_partner_anchors *anchors, const struct vf_partner_view *s,
                             const struct vf_epipolar_plane *e, const struct vf_partner_search *search,
                             struct vf_stereo_position from)
{
    for (int32_t k = 0; k < VF_PARTNER_ANCHORS; k++) {
        struct vf_stereo_position at = vf_expect_begin(&s->geometry.level[1][0], from);
        float towards[3];
        vf_partner_towards(e, search, k, towards);
        for (int step = 0; step < VF_EXPECT_STEPS; step++) {
            const struct vf_partner_bearing_set near = vf_partner_bearings(s, at);
            at = vf_partner_newton(s, at, towards, &near);
        }
        const struct vf_partner_bearing_set near = vf_partner_bearings(s, at);
        anchors->anchor[k].at = at;
        anchors->anchor[k].valid = vf_expect_reached(s->geometry.focal_px[1], towards, near.here);
    }
}

struct vf_partner_anchor vf_partner_at(const struct vf_partner_anchors *anchors, int32_t candidate)
{
    const struct vf_partner_anchor *a = &anchors->anchor[candidate / VF_PARTNER_BETWEEN];
    return vf_partner_between(a[0], a[1], candidate);
}

/** Grey levels of a patch as 16-bit integers, row by row without gaps, for multiply-add instructions of vector
 *  units. */
struct grey {
    int16_t at[VF_PARTNER_PIXELS];
};
static inline struct grey grey_at(const struct vf_level_picture *picture, struct vf_partner_origin o)
{
    const uint8_t *first = picture->pixels + (ptrdiff_t)o.v * picture->pitch + o.u;
    struct grey grey;
    for (int32_t r = 0; r < VF_PARTNER_SIDE; r++)
        for (int32_t c = 0; c < VF_PARTNER_SIDE; c++)
            grey.at[r * VF_PARTNER_SIDE + c] = first[(ptrdiff_t)r * picture->pitch + c];
    return grey;
}

/** Sum of the products of corresponding grey levels of two patches. */
static inline uint32_t product_sum(const struct grey *a, const struct grey *b)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < VF_PARTNER_PIXELS; i++) sum += a->at[i] * b->at[i];
    return (uint32_t)sum;
}

/** Sum of the grey levels of a patch. */
static inline uint32_t grey_sum(const struct grey *a)
{
    int16_t sum = 0; /* at most 64 * 255, which fits 16 bits */
    for (int32_t i = 0; i < VF_PARTNER_PIXELS; i++) sum = (int16_t)(sum + a->at[i]);
    return (uint32_t)sum;
}

/** Correlates the own patch of a comparison with those at all candidates, and computes the candidates' keys,
 *  vf_partner_key(). The own patch must lie inside its image. */
VF_HOT_FLAT static void correlate(struct vf_partner_keys *keys, const struct vf_partner_anchors *anchors,
                                  const struct vf_partner_comparison *c)
{
    const struct grey own = grey_at(&c->own, c->origin);
    struct vf_partner_sums sums = {.own = grey_sum(&own), .own2 = product_sum(&own, &own)};
    for (int32_t k = 0; k < VF_PARTNER_CANDIDATES; k++) {
        const struct vf_partner_anchor candidate = vf_partner_at(anchors, k);
        const struct vf_partner_origin o = vf_partner_other(c, candidate.at);
        keys->key[k] = VF_NONE;
        if (!candidate.valid || !vf_partner_inside(&c->other, o)) continue;
        const struct grey other = grey_at(&c->other, o);
        sums.other = grey_sum(&other);
        sums.other2 = product_sum(&other, &other);
        sums.both = product_sum(&own, &other);
        keys->key[k] = vf_partner_key(&sums, k);
    }
}

void vf_partner_correlate(struct vf_partner_keys *keys, const struct vf_partner_anchors *anchors,
                          const struct vf_partner_comparison *c)
{
    if (vf_partner_inside(&c->own, c->origin)) {
        correlate(keys, anchors, c);
        return;
    }
    for (int32_t k = 0; k < VF_PARTNER_CANDIDATES; k++) keys->key[k] = VF_NONE;
}

uint32_t vf_partner_best_key(const struct vf_partner_keys *keys, int32_t first, int32_t last, int32_t except,
                             int32_t apart)
{
    uint32_t least = VF_NONE;
    for (int32_t k = first; k <= last; k++)
        if (vf_abs(k - except) >= apart && keys->key[k] < least) least = keys->key[k];
    return least;
}
#endif

void vf_partner_host(const struct vf_partner_view *s)
{
#if VFRONT_STEREO
    const struct vf_partner none = {0, 0, 0.0f, 0.0f, 0.0f, 0.0f};
    const struct vf_partner_range unknown = {0.0f, 0.0f};
    struct vf_partner_memory *m = s->partner;
    struct vf_partner_anchors anchors;
    struct vf_partner_keys keys;
    struct vf_patch patch;
    const int frozen = vf_partner_frozen(s);
    for (uint32_t i = 0; i < s->refill->counts[s->parity].count; i++) {
        const struct vf_feature *f = &s->refill->feature[s->parity][i];
        struct vf_partner_range *range = &m->range[s->parity][f->template_index];
        *range = unknown;
        m->partner[i] = frozen ? none : vf_partner_one(&patch, &anchors, &keys, s, f, range);
    }
#else
    (void)s;
#endif
}
