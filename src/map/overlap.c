/* SPDX-License-Identifier: MIT */
/* Host form of overlap. */
#include "overlap.h"

#if VFRONT_MAP

/** Key points that are compared at a time, their descriptors' words side by side for vector code. */
#define TILE 256
struct tile {
    uint32_t first, count;
    uint32_t word[8][TILE];
};

/** Second best distances of the points of each candidate. */
typedef uint32_t seconds[VF_PLACE_CANDIDATES][VF_PLACE_POINTS];

static void fill_tile(const struct vf_overlap_view *s, uint32_t first, struct tile *tile)
{
    const uint32_t left = (uint32_t)vf_overlap_count(s) - first;
    tile->first = first;
    tile->count = left < TILE ? left : TILE;
    for (uint32_t i = 0; i < tile->count; i++)
        for (int k = 0; k < 8; k++) tile->word[k][i] = vf_overlap_now(s)[first + i].word[k];
}

/** Distances of a descriptor to those of a tile. */
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

/** Lowers *best to the nearest key point of a tile. */
static void nearest(const vfront_descriptor_t *own, const struct tile *tile, uint32_t *best)
{
    uint16_t distance[TILE];
    distances(own->word, tile, distance);
    for (uint32_t k = 0; k < tile->count; k++) {
        const uint32_t packed = vf_packed_match(distance[k], tile->first + k);
        *best = packed < *best ? packed : *best;
    }
}

/** Lowers *second to the distance of the nearest key point of a tile that lies apart from the best one. */
static void nearest_apart(const struct vf_overlap_view *s, const vfront_descriptor_t *own, const struct tile *tile,
                          uint32_t best, uint32_t *second)
{
    const struct vf_point *point = s->bearing->point[s->parity][0];
    uint16_t distance[TILE];
    distances(own->word, tile, distance);
    for (uint32_t k = 0; k < tile->count; k++)
        if (distance[k] < *second && vf_points_apart(&point[best & 0xffff], &point[tile->first + k]))
            *second = distance[k];
}

/** Passes a tile by all points of all candidates, in which `found` has the best key points: for these, or, where
 *  second is given, for the second best ones. */
static void pass(const struct vf_overlap_view *s, const struct tile *tile, seconds *second)
{
    for (int c = 0; c < VF_PLACE_CANDIDATES; c++)
        for (int32_t i = 0; vf_overlap_there(s, c) && i < VF_PLACE_POINTS; i++) {
            uint32_t *best = &s->overlap->work[c].found[i];
            if (!vf_overlap_wanted(s, c, i)) continue;
            const vfront_descriptor_t *own = &vf_overlap_before(s, c)->point[i].descriptor;
            if (!second)
                nearest(own, tile, best);
            else if (*best != VF_NONE && *best >> 16 <= VF_OVERLAP_DISTANCE)
                nearest_apart(s, own, tile, *best, &(*second)[c][i]);
        }
}

/** Nearest point of a keyframe for a key point. */
static uint32_t nearest_before(const vfront_descriptor_t *own, const struct vf_place_set *before)
{
    uint32_t back = VF_NONE;
    for (uint32_t k = 0; k < before->count; k++) {
        const uint32_t packed = vf_packed_match(vf_hamming_distance(own, &before->point[k].descriptor), k);
        back = packed < back ? packed : back;
    }
    return back;
}

/** Correspondences of all candidates. */
static void search(const struct vf_overlap_view *s)
{
    const uint32_t count = (uint32_t)vf_overlap_count(s);
    struct tile tile;
    seconds second;
    for (int c = 0; c < VF_PLACE_CANDIDATES; c++)
        for (int32_t i = 0; i < VF_PLACE_POINTS; i++) {
            second[c][i] = 256;
            if (vf_overlap_there(s, c)) s->overlap->work[c].found[i] = VF_NONE;
        }
    for (int again = 0; again < 2; again++)
        for (uint32_t first = 0; first < count; first += TILE) {
            fill_tile(s, first, &tile);
            pass(s, &tile, again ? &second : NULL);
        }
    for (int c = 0; c < VF_PLACE_CANDIDATES; c++)
        for (int32_t i = 0; vf_overlap_there(s, c) && i < VF_PLACE_POINTS; i++) {
            uint32_t *found = &s->overlap->work[c].found[i];
            if (*found == VF_NONE || *found >> 16 > VF_OVERLAP_DISTANCE) *found = VF_NONE;
            if (*found == VF_NONE) continue;
            const uint32_t back = nearest_before(&vf_overlap_now(s)[*found & 0xffff], vf_overlap_before(s, c));
            *found = vf_overlap_unique(*found, second[c][i], back, (uint32_t)i);
        }
}

#endif

void vf_overlap_host(const struct vf_overlap_view *s)
{
#if VFRONT_MAP
    struct vf_overlap_scratch scratch;
    search(s);
    for (int c = 0; c < VF_PLACE_CANDIDATES; c++) {
        vf_overlap_list(s, c);
        for (int32_t h = 0; h < VF_OVERLAP_HYPOTHESES; h++) vf_overlap_try(s, c, h, &scratch);
        vf_overlap_refine(s, c);
    }
#else
    (void)s;
#endif
}
