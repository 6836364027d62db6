/* SPDX-License-Identifier: MIT */
/* Host form of overlap. */
#include "overlap.h"

#if VFRONT_MAP

/** Words of the key points' descriptors, side by side. */
static void spread_words(const struct vf_overlap_view *s)
{
    const uint32_t count = (uint32_t)vf_overlap_count(s);
    for (uint32_t i = 0; i < count; i++)
        for (int k = 0; k < 8; k++) s->overlap->word[k][i] = vf_overlap_now(s)[i].word[k];
}

/** Distances of a descriptor to `count` others. */
static VF_HOT void distances(const uint32_t own[8], uint32_t other[8][VFRONT_KEYPOINTS], uint32_t count,
                             uint16_t out[VFRONT_KEYPOINTS])
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t sum = 0;
        for (int k = 0; k < 8; k++) {
            uint32_t w = own[k] ^ other[k][i];
            w -= w >> 1 & 0x55555555u;
            w = (w & 0x33333333u) + (w >> 2 & 0x33333333u);
            sum += (w + (w >> 4)) & 0x0f0f0f0fu;
        }
        sum = (sum & 0x00ff00ffu) + (sum >> 8 & 0x00ff00ffu);
        out[i] = (uint16_t)((sum & 0xffffu) + (sum >> 16));
    }
}

/** Correspondence of point i of a keyframe. */
static uint32_t find(const struct vf_overlap_view *s, const struct vf_place_set *before, int32_t i,
                     struct vf_overlap_memory *m)
{
    const struct vf_point *point = s->bearing->point[s->parity][0];
    const uint32_t count = (uint32_t)vf_overlap_count(s);
    uint16_t *distance = m->distance;
    uint32_t best = VF_NONE, second = 256, back = VF_NONE;
    distances(before->point[i].descriptor.word, m->word, count, distance);
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t packed = vf_packed_match(distance[k], k);
        best = packed < best ? packed : best;
    }
    if (best == VF_NONE || best >> 16 > VF_OVERLAP_DISTANCE) return VF_NONE;
    for (uint32_t k = 0; k < count; k++)
        if (distance[k] < second && vf_points_apart(&point[best & 0xffff], &point[k])) second = distance[k];
    const vfront_descriptor_t *own = &vf_overlap_now(s)[best & 0xffff];
    for (uint32_t k = 0; k < before->count; k++) {
        const uint32_t packed = vf_packed_match(vf_hamming_distance(own, &before->point[k].descriptor), k);
        back = packed < back ? packed : back;
    }
    return vf_overlap_unique(best, second, back, (uint32_t)i);
}

static void search(const struct vf_overlap_view *s, int c)
{
    for (int32_t i = 0; i < VF_PLACE_POINTS; i++)
        s->overlap->work[c].found[i] = vf_overlap_wanted(s, c, i) ? find(s, vf_overlap_before(s, c), i, s->overlap)
                                                                  : VF_NONE;
}

#endif

void vf_overlap_host(const struct vf_overlap_view *s)
{
#if VFRONT_MAP
    struct vf_overlap_scratch scratch;
    spread_words(s);
    for (int c = 0; c < VF_PLACE_CANDIDATES; c++) {
        if (vf_overlap_there(s, c)) search(s, c);
        vf_overlap_list(s, c);
        for (int32_t h = 0; h < VF_OVERLAP_HYPOTHESES; h++) vf_overlap_try(s, c, h, &scratch);
        vf_overlap_refine(s, c);
    }
#else
    (void)s;
#endif
}
