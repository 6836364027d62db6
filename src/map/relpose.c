/* SPDX-License-Identifier: MIT */
/* Host form of relpose. */
#include "relpose.h"

#if VFRONT_MAP

/** Tile: up to TILE key points whose descriptors are compared together. word[k][i] is word k of descriptor i, so that a
 *  vector register holds one word of several descriptors. */
#define TILE 256
struct tile {
    uint32_t first, count;
    uint32_t word[8][TILE];
};

/** Second best Hamming distance of each keyframe point, by candidate and point [bits]. */
typedef uint32_t second_distances[VF_RECALL_CANDIDATES][VF_KEYFRAME_POINTS];

static void fill_tile(const struct vf_relpose_view *s, uint32_t first, struct tile *tile)
{
    const uint32_t remaining = (uint32_t)vf_relpose_keypoints(s) - first;
    tile->first = first;
    tile->count = remaining < TILE ? remaining : TILE;
    for (uint32_t i = 0; i < tile->count; i++)
        for (int k = 0; k < 8; k++) tile->word[k][i] = vf_relpose_descriptors(s)[first + i].word[k];
}

/** Hamming distances of one descriptor to all descriptors of a tile [bits]. */
static VF_HOT void distances(const uint32_t own[8], const struct tile *tile, uint16_t out[TILE])
{
    for (uint32_t i = 0; i < tile->count; i++) {
        uint32_t sum = 0;
        for (int k = 0; k < 8; k++) {
            uint32_t w = own[k] ^ tile->word[k][i];
            w -= w >> 1 & 0x55555555u;
            w = (w & 0x33333333u) + (w >> 2 & 0x33333333u);
            sum += (w + (w >> 4)) & 0x0f0f0f0fu;
        }
        sum = (sum & 0x00ff00ffu) + (sum >> 8 & 0x00ff00ffu);
        out[i] = (uint16_t)((sum & 0xffffu) + (sum >> 16));
    }
}

/** Replaces *best by the nearest key point of a tile, if that one is nearer. *best: vf_packed_match(), distance and
 *  index. */
static void nearest(const vfront_descriptor_t *own, const struct tile *tile, uint32_t *best)
{
    uint16_t distance[TILE];
    distances(own->word, tile, distance);
    for (uint32_t k = 0; k < tile->count; k++) {
        const uint32_t packed = vf_packed_match(distance[k], tile->first + k);
        *best = packed < *best ? packed : *best;
    }
}

/** Lowers *second to the smallest distance in a tile, leaving out key points close to the best match. best:
 *  vf_packed_match(). */
static void second_nearest(const struct vf_relpose_view *s, const vfront_descriptor_t *own, const struct tile *tile,
                           uint32_t best, uint32_t *second)
{
    const struct vf_point *point = s->bearing->point[s->parity][0];
    uint16_t distance[TILE];
    distances(own->word, tile, distance);
    for (uint32_t k = 0; k < tile->count; k++)
        if (distance[k] < *second && vf_points_apart(&point[best & 0xffff], &point[tile->first + k]))
            *second = distance[k];
}

/** Compares the key points of a tile with all points of all candidates. Updates the best matches if `second` is NULL,
 *  else the second best distances. */
static void match_tile(const struct vf_relpose_view *s, const struct tile *tile, second_distances *second)
{
    for (int c = 0; c < VF_RECALL_CANDIDATES; c++)
        for (int32_t i = 0; vf_relpose_has_candidate(s, c) && i < VF_KEYFRAME_POINTS; i++) {
            uint32_t *best = &s->relpose->work[c].found[i];
            if (!vf_relpose_matchable(s, c, i)) continue;
            const vfront_descriptor_t *own = &vf_relpose_candidate_points(s, c)->point[i].descriptor;
            if (!second)
                nearest(own, tile, best);
            else if (*best != VF_NONE && *best >> 16 <= VF_RELPOSE_DISTANCE)
                second_nearest(s, own, tile, *best, &(*second)[c][i]);
        }
}

/** Keyframe point nearest to a key point, as vf_packed_match(), distance and index. own: descriptor of the key
 *  point. */
static uint32_t nearest_before(const vfront_descriptor_t *own, const struct vf_keyframe_points *before)
{
    uint32_t back = VF_NONE;
    for (uint32_t k = 0; k < before->count; k++) {
        const uint32_t packed = vf_packed_match(vf_hamming_distance(own, &before->point[k].descriptor), k);
        back = packed < back ? packed : back;
    }
    return back;
}

/** Finds the correspondences of all candidates: nearest key points, ratio test, mutual-nearest test. */
static void search(const struct vf_relpose_view *s)
{
    const uint32_t count = (uint32_t)vf_relpose_keypoints(s);
    struct tile tile;
    second_distances second;
    for (int c = 0; c < VF_RECALL_CANDIDATES; c++)
        for (int32_t i = 0; i < VF_KEYFRAME_POINTS; i++) {
            second[c][i] = 256;
            if (vf_relpose_has_candidate(s, c)) s->relpose->work[c].found[i] = VF_NONE;
        }
    for (int again = 0; again < 2; again++)
        for (uint32_t first = 0; first < count; first += TILE) {
            fill_tile(s, first, &tile);
            match_tile(s, &tile, again ? &second : NULL);
        }
    for (int c = 0; c < VF_RECALL_CANDIDATES; c++)
        for (int32_t i = 0; vf_relpose_has_candidate(s, c) && i < VF_KEYFRAME_POINTS; i++) {
            uint32_t *found = &s->relpose->work[c].found[i];
            if (*found == VF_NONE || *found >> 16 > VF_RELPOSE_DISTANCE) *found = VF_NONE;
            if (*found == VF_NONE) continue;
            const uint32_t back = nearest_before(&vf_relpose_descriptors(s)[*found & 0xffff],
                                                 vf_relpose_candidate_points(s, c));
            *found = vf_relpose_match(*found, second[c][i], back, (uint32_t)i);
        }
}

#endif

void vf_relpose_host(const struct vf_relpose_view *s)
{
#if VFRONT_MAP
    struct vf_relpose_scratch scratch;
    search(s);
    for (int c = 0; c < VF_RECALL_CANDIDATES; c++) {
        vf_relpose_correspondences(s, c);
        for (int32_t h = 0; h < VF_RELPOSE_HYPOTHESES; h++) vf_relpose_hypothesis(s, c, h, &scratch);
        vf_relpose_refine(s, c);
    }
#else
    (void)s;
#endif
}
