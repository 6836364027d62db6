/* SPDX-License-Identifier: MIT */
/* Host form of match. Searches the best and then the second best candidates of key points, in tiles of neighbouring key
 * points of the previous frame. Then it finds the roll, lists the matches and refines them. */
#include "match.h"

#if VFRONT_MATCHES
#include "match_refine.h"
#include "patch.h"

/** Key points of camera 0 in a frame. */
struct keypoints {
    const struct vf_point *point;
    const float *angle;
    const vfront_descriptor_t *descriptor;
    uint32_t count;
    /* [level]: indices of its key points are first .. end - 1; end 0: none */
    uint32_t first[VFRONT_SCALES], end[VFRONT_SCALES];
};
static struct keypoints keypoints_of(const struct vf_match_view *s, int32_t parity)
{
    struct keypoints list = {.point = s->bearing->point[parity][0],
                             .angle = s->describe->angle[parity][0],
                             .descriptor = s->describe->descriptor[parity][0],
                             .count = s->bearing->count[parity][0]};
    for (uint32_t i = list.count; i-- > 0;) {
        const int32_t level = list.point[i].level;
        if (!list.end[level]) list.end[level] = i + 1;
        list.first[level] = i;
    }
    return list;
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

#define BANDS 3    /* number of bands of rows into which the key points of a level are sorted */
#define COLUMNS 32 /* number of columns of a band into which they are sorted */

/** Bin (0 .. bins - 1) of a coordinate v if the range from `least` to `most` is divided into equal bins. Values outside
 *  the range get the first or the last bin. */
static uint32_t bin_of(float v, float least, float most, uint32_t bins)
{
    const float at = (v - least) / (most - least) * (float)bins;
    return !(at > 0.0f) ? 0 : at < (float)(bins - 1) ? (uint32_t)at : bins - 1;
}

/** Sorts the previous frame's key points for the division into tiles: by level, band of rows and column of their
 *  predicted bearings. Columns of every second band run backwards, so that the points of a tile are neighbours. The
 *  order does not change the candidates. */
static void order_keypoints(const struct vf_match_expected *e, const struct keypoints *before, uint16_t *order)
{
    uint32_t start[VFRONT_SCALES * BANDS * COLUMNS + 1] = {0};
    uint16_t bin[VFRONT_KEYPOINTS];
    float least[2] = {2.0f, 2.0f}, most[2] = {-2.0f, -2.0f};
    for (uint32_t j = 0; j < before->count; j++) {
        const float at[2] = {e->x[j], e->y[j]};
        for (int axis = 0; axis < 2; axis++) {
            least[axis] = at[axis] < least[axis] ? at[axis] : least[axis];
            most[axis] = at[axis] > most[axis] ? at[axis] : most[axis];
        }
    }
    for (uint32_t j = 0; j < before->count; j++) {
        const uint32_t band = bin_of(e->y[j], least[1], most[1], BANDS);
        const uint32_t column = bin_of(e->x[j], least[0], most[0], COLUMNS);
        bin[j] = (uint16_t)(((uint32_t)before->point[j].level * BANDS + band) * COLUMNS +
                            (band & 1 ? COLUMNS - 1 - column : column));
        start[bin[j] + 1]++;
    }
    for (uint32_t b = 1; b < VFRONT_SCALES * BANDS * COLUMNS; b++) start[b] += start[b - 1];
    for (uint32_t j = 0; j < before->count; j++) order[start[bin[j]]++] = (uint16_t)j;
}

/** Tile: up to TILE neighbouring key points of the previous frame as a structure of arrays, for vector code. */
#define TILE 32
#define NO_LEVEL 1000 /* level of the unused entries of a tile, which are never candidates */
struct tile {
    uint32_t word[8][TILE];          /* descriptors, 8 words each */
    float x[TILE], y[TILE], z[TILE]; /* bearings predicted for this frame */
    float step[TILE],                /* pixel sizes of the key points' levels [px of level 0] */
        reach[TILE];                 /* radii of the search windows beyond the smallest one [focal lengths] */
    int32_t level[TILE];
    int32_t x_q16[TILE], y_q16[TILE]; /* positions in the previous frame [px of level 0, Q16] */
    uint32_t back[TILE];              /* best candidates in this frame so far, vf_packed_match() */
    uint32_t index[TILE],             /* indices of the key points in the previous frame */
        count;                        /* number of key points in the tile */
    float least[3], most[3],          /* bounding box of the predicted bearings */
        greatest_step,                /* largest element of `step` */
        greatest_reach;               /* largest element of `reach` */
    int32_t lowest, highest;          /* range of levels */
};

/** Loads the next key points of `order` into a tile: TILE of them, or the remaining `left`. */
static void fill_tile(const struct vf_match_view *s, const struct keypoints *before, const uint16_t *order,
                      uint32_t left, struct tile *t)
{
    const struct vf_match_memory *m = s->match;
    const struct vf_match_expected *e = &m->expected;
    memset(t, 0, sizeof *t);
    t->count = left < TILE ? left : TILE;
    for (int axis = 0; axis < 3; axis++) {
        t->least[axis] = 2.0f;
        t->most[axis] = -2.0f;
    }
    t->lowest = NO_LEVEL;
    for (int k = 0; k < TILE; k++) t->level[k] = NO_LEVEL;
    for (uint32_t k = 0; k < t->count; k++) {
        const uint32_t j = order[k];
        const struct vf_point *p = &before->point[j];
        const float at[3] = {e->x[j], e->y[j], e->z[j]}, reach = e->reach[j];
        for (int i = 0; i < 8; i++) t->word[i][k] = before->descriptor[j].word[i];
        for (int axis = 0; axis < 3; axis++) {
            t->least[axis] = at[axis] < t->least[axis] ? at[axis] : t->least[axis];
            t->most[axis] = at[axis] > t->most[axis] ? at[axis] : t->most[axis];
        }
        t->x[k] = at[0];
        t->y[k] = at[1];
        t->z[k] = at[2];
        t->x_q16[k] = p->x_q16;
        t->y_q16[k] = p->y_q16;
        t->step[k] = p->step;
        t->reach[k] = reach;
        t->level[k] = p->level;
        t->greatest_step = p->step > t->greatest_step ? p->step : t->greatest_step;
        t->greatest_reach = reach > t->greatest_reach ? reach : t->greatest_reach;
        t->lowest = vf_min(p->level, t->lowest);
        t->highest = vf_max(p->level, t->highest);
        t->back[k] = m->back[s->parity][j];
        t->index[k] = j;
    }
}

/** Index range first .. end - 1 of this frame's key points on the levels where a tile may have candidates. */
struct span {
    uint32_t first, end;
};
static struct span span_of(const struct vf_match_bounds *b, const struct tile *t, const struct keypoints *now)
{
    struct span span = {now->count, 0};
    const int32_t lowest = vf_max(t->lowest - b->levels, 0);
    const int32_t highest = vf_min(t->highest + b->levels, VFRONT_SCALES - 1);
    for (int32_t level = lowest; level <= highest; level++) {
        if (!now->end[level]) continue;
        span.first = now->first[level] < span.first ? now->first[level] : span.first;
        span.end = now->end[level] > span.end ? now->end[level] : span.end;
    }
    return span;
}

/** Key points of this frame as a structure of arrays, and the list of those that are compared with a tile. */
struct field {
    float x[VFRONT_KEYPOINTS], y[VFRONT_KEYPOINTS], z[VFRONT_KEYPOINTS]; /* bearings */
    float step[VFRONT_KEYPOINTS]; /* pixel size of the key point's level [px of level 0] */
    int32_t level[VFRONT_KEYPOINTS];
    uint8_t wanted[VFRONT_KEYPOINTS], /* 1: the key point takes part in the search */
        near[VFRONT_KEYPOINTS];       /* 1: the key point is compared with the current tile */
    uint16_t list[VFRONT_KEYPOINTS];  /* indices of the key points with near = 1 */
};
static void fill_field(struct field *f, const struct keypoints *now)
{
    for (uint32_t i = 0; i < now->count; i++) {
        const struct vf_point *p = &now->point[i];
        f->x[i] = p->bearing[0];
        f->y[i] = p->bearing[1];
        f->z[i] = p->bearing[2];
        f->step[i] = p->step;
        f->level[i] = p->level;
        f->wanted[i] = 1;
    }
}

/** Distance of a number v from the interval least .. most; 0 inside. */
static inline float interval_distance(float least, float most, float v)
{
    const float under = least - v, over = v - most, more = under > over ? under : over;
    return more > 0.0f ? more : 0.0f;
}

/** Bounding-box test of bearings and levels: sets f->near[i] to 0 if no point of the tile can be a candidate for key
 *  point i. It uses the least distance to the tile's box and the tile's largest window, so it never rejects a
 *  candidate. */
VF_HOT_FLAT static void find_near(const struct vf_match_bounds *b, const struct tile *tile, struct field *restrict f,
                                  struct span span)
{
    const float least[3] = {tile->least[0], tile->least[1], tile->least[2]},
                most[3] = {tile->most[0], tile->most[1], tile->most[2]}, reach = tile->greatest_reach,
                greatest = tile->greatest_step;
    const int32_t lowest = tile->lowest - b->levels, highest = tile->highest + b->levels;
    const struct vf_match_bounds bounds = *b;
    for (uint32_t i = span.first; i < span.end; i++)
        f->near[i] = f->wanted[i] & (uint8_t)((f->level[i] >= lowest) & (f->level[i] <= highest));
    for (uint32_t i = span.first; i < span.end && bounds.guided; i++) {
        const float step = f->step[i] > greatest ? f->step[i] : greatest;
        f->near[i] &= (uint8_t)vf_match_in_radius(
            vf_match_radius2(&bounds, step, reach), interval_distance(least[0], most[0], f->x[i]),
            interval_distance(least[1], most[1], f->y[i]), interval_distance(least[2], most[2], f->z[i]));
    }
}

/** Lists the key points of this frame that are near a tile, in f->list. Returns their number. */
static uint32_t list_near(const struct vf_match_bounds *b, const struct tile *t, const struct keypoints *now,
                          struct field *f)
{
    const struct span span = span_of(b, t, now);
    uint32_t count = 0;
    find_near(b, t, f, span);
    for (uint32_t i = span.first; i < span.end; i++) {
        f->list[count] = (uint16_t)i;
        count += f->near[i];
    }
    return count;
}

/** Tests by level and window which points k of a tile are candidates for this frame's key point p. excluded[k]: out, 0
 *  for a candidate, else all ones. Returns 1 if there is a candidate. */
VF_HOT_FLAT static int find_candidates(const struct vf_match_bounds *b, const struct tile *t, const struct vf_point *p,
                                       uint32_t excluded[TILE])
{
    const float x = p->bearing[0], y = p->bearing[1], z = p->bearing[2], step = p->step;
    const int32_t lowest = p->level - b->levels, highest = p->level + b->levels;
    const uint32_t guided = b->guided ? TILE : 0;
    uint32_t all = VF_NONE;
    for (uint32_t k = 0; k < TILE; k++) excluded[k] = 0u - (uint32_t)((t->level[k] < lowest) | (t->level[k] > highest));
    for (uint32_t k = 0; k < guided; k++) {
        const float radius2 = vf_match_radius2(b, step > t->step[k] ? step : t->step[k], t->reach[k]);
        excluded[k] |= vf_match_in_radius(radius2, x - t->x[k], y - t->y[k], z - t->z[k]) ? 0 : VF_NONE;
    }
    for (uint32_t k = 0; k < TILE; k++) all &= excluded[k];
    return all == 0;
}

/** Number of one bits in each of the eight groups of 4 bits of w. */
static inline uint32_t nibble_counts(uint32_t w)
{
    const uint32_t pairs = w - (w >> 1 & 0x55555555u);
    return (pairs & 0x33333333u) + (pairs >> 2 & 0x33333333u);
}

/** Hamming distances of descriptor d to all descriptors of a tile. Bit-sliced full adders (Harley-Seal) add seven of
 *  the eight words first, which leaves four words whose bits are counted. */
static VF_HOT void hamming_tile(const struct tile *t, const vfront_descriptor_t *d, uint32_t distance[TILE])
{
    const uint32_t *w = d->word;
    for (int k = 0; k < TILE; k++) {
        const uint32_t a = t->word[0][k] ^ w[0], b = t->word[1][k] ^ w[1], c = t->word[2][k] ^ w[2];
        const uint32_t e = t->word[3][k] ^ w[3], f = t->word[4][k] ^ w[4], g = t->word[5][k] ^ w[5];
        const uint32_t h = t->word[6][k] ^ w[6], i = t->word[7][k] ^ w[7];
        const uint32_t ab = a ^ b, ef = e ^ f, abc = ab ^ c, efg = ef ^ g, sum = abc ^ efg ^ h;
        const uint32_t two1 = (a & b) | (ab & c), two2 = (e & f) | (ef & g), two3 = (abc & efg) | ((abc ^ efg) & h);
        const uint32_t two = two1 ^ two2 ^ two3, four = (two1 & two2) | ((two1 ^ two2) & two3);
        const uint32_t ones = nibble_counts(sum) + nibble_counts(i),
                       more = nibble_counts(two) + 2 * nibble_counts(four);
        uint32_t bytes = (ones & 0x0f0f0f0fu) + (ones >> 4 & 0x0f0f0f0fu) +
                         2 * ((more & 0x0f0f0f0fu) + (more >> 4 & 0x0f0f0f0fu));
        bytes = (bytes & 0x00ff00ffu) + (bytes >> 8 & 0x00ff00ffu);
        distance[k] = (bytes & 0xffffu) + (bytes >> 16);
    }
}

/** Updates the best candidates t->back of a tile's points with key point i of this frame. most: largest Hamming
 *  distance; best: best candidate of key point i so far. Returns it, updated with the points of the tile. */
static VF_HOT uint32_t update_best(struct tile *t, const uint32_t *distance, const uint32_t *excluded, uint32_t most,
                                   uint32_t i, uint32_t best)
{
    for (uint32_t k = 0; k < TILE; k++) {
        const uint32_t none = excluded[k] | (distance[k] > most ? VF_NONE : 0u);
        const uint32_t for_tile = (distance[k] << 16 | i) | none, for_i = (distance[k] << 16 | t->index[k]) | none;
        t->back[k] = for_tile < t->back[k] ? for_tile : t->back[k];
        best = for_i < best ? for_i : best;
    }
    return best;
}

/** Compares this frame's key points with a tile. Updates the best candidates of both. */
static void search(const struct vf_match_view *s, const struct vf_match_bounds *b, const struct keypoints *now,
                   struct field *f, struct tile *t)
{
    struct vf_match_memory *m = s->match;
    const uint32_t count = list_near(b, t, now, f);
    uint32_t excluded[TILE], distance[TILE];
    for (uint32_t n = 0; n < count; n++) {
        const uint32_t i = f->list[n];
        if (!find_candidates(b, t, &now->point[i], excluded)) continue;
        hamming_tile(t, &now->descriptor[i], distance);
        m->found[s->parity][i] = update_best(t, distance, excluded, b->distance, i, m->found[s->parity][i]);
    }
    for (uint32_t k = 0; k < t->count; k++) m->back[s->parity][t->index[k]] = t->back[k];
}

/** Cross-check: 1 if key point i of this frame and its best candidate in the previous frame are each other's best. */
static int mutual(const struct vf_match_view *s, uint32_t i)
{
    const uint32_t found = s->match->found[s->parity][i];
    return found != VF_NONE && vf_match_mutual(found, s->match->back[s->parity][found & 0xffff], i);
}

/** Smallest Hamming distance among the candidates in a tile that lie at another place than the best candidate `best`,
 *  as in vf_points_apart(). Returns `next` if that is smaller. */
static VF_HOT_FLAT uint32_t least_apart(const struct tile *t, const uint32_t *distance, const uint32_t *excluded,
                                        const struct vf_point *best, uint32_t next)
{
    const int32_t x_q16 = best->x_q16, y_q16 = best->y_q16;
    const float step = best->step;
    for (uint32_t k = 0; k < TILE; k++) {
        const float near_q16 = 4.0f * 65536.0f * (step > t->step[k] ? step : t->step[k]),
                    x = (float)vf_abs(x_q16 - t->x_q16[k]), y = (float)vf_abs(y_q16 - t->y_q16[k]);
        const uint32_t apart = (uint32_t)((x > near_q16) | (y > near_q16)),
                       at = distance[k] | excluded[k] | (apart - 1);
        next = at < next ? at : next;
    }
    return next;
}

/** Updates the second best Hamming distances of this frame's key points with the points of a tile. Only key points that
 *  passed the cross-check take part. */
static void search_second(const struct vf_match_view *s, const struct vf_match_bounds *b, const struct keypoints *now,
                          const struct keypoints *before, struct field *f, struct tile *t)
{
    struct vf_match_memory *m = s->match;
    const uint32_t count = list_near(b, t, now, f);
    uint32_t excluded[TILE], distance[TILE];
    for (uint32_t n = 0; n < count; n++) {
        const uint32_t i = f->list[n];
        if (!find_candidates(b, t, &now->point[i], excluded)) continue;
        const struct vf_point *best = &before->point[m->found[s->parity][i] & 0xffff];
        hamming_tile(t, &now->descriptor[i], distance);
        m->second[s->parity][i] = least_apart(t, distance, excluded, best, m->second[s->parity][i]);
    }
}

/** 1 if key point i of this frame passes the cross-check and the ratio test. change: out, change of its orientation
 *  [1/65536 turn]. */
static int has_match(const struct vf_match_view *s, const struct keypoints *now, const struct keypoints *before,
                     uint32_t i, uint32_t *change)
{
    const struct vf_match_memory *m = s->match;
    if (!mutual(s, i) ||
        !vf_ratio_test(s->tuning.match_ratio_percent, m->found[s->parity][i] >> 16, m->second[s->parity][i]))
        return 0;
    *change = vf_match_orientation_change(now->angle[i], before->angle[m->found[s->parity][i] & 0xffff]);
    return 1;
}

/** Roll of the image since the previous frame [1/256 turn], the peak in the histogram of the matches' changes of
 *  orientation. */
static int32_t find_roll(const struct vf_match_view *s, const struct keypoints *now, const struct keypoints *before)
{
    int32_t bin[VF_ROLL_BINS] = {0};
    uint32_t change, best = 0;
    for (uint32_t i = 0; i < now->count; i++)
        if (has_match(s, now, before, i, &change)) bin[vf_match_roll_bin(change)]++;
    for (int32_t centre = 0; centre < VF_ROLL_BINS; centre++) {
        const uint32_t score = vf_match_roll_score(bin, centre);
        best = score > best ? score : best;
    }
    return vf_match_roll_peak(best);
}

/** Lists the matches whose change of orientation agrees with the roll. Stores their bearings in the previous frame, and
 *  clears the links of all key points. */
static void list_matches(const struct vf_match_view *s, const struct keypoints *now, const struct keypoints *before)
{
    struct vf_match_memory *m = s->match;
    const int32_t roll = find_roll(s, now, before);
    m->count = 0;
    for (uint32_t i = 0; i < now->count; i++) {
        const uint32_t j = m->found[s->parity][i] & 0xffff;
        uint32_t change;
        const int kept = has_match(s, now, before, i, &change) && vf_match_roll_agrees(&s->tuning, change, roll);
        vf_match_keep(kept ? before->point[j].bearing : NULL, m->before[s->parity][i]);
        m->link[s->parity][i] = vf_match_unlinked();
        if (kept) m->match[m->count++] = vf_match_make(s, i, m->found[s->parity][i], m->second[s->parity][i]);
    }
}

/** Refines the matches to subpixel positions and stores their links, from which the next frame continues their
 *  tracks. */
static void refine_matches(const struct vf_match_view *s)
{
    struct vf_match_memory *m = s->match;
    struct vf_patch patch;
    for (uint32_t i = 0; i < m->count; i++)
        m->match[i] = vf_match_refine(&patch, s, m->match[i], &m->link[s->parity][m->match[i].keypoint]);
}
#endif

void vf_match_host(const struct vf_match_view *s)
{
#if VFRONT_MATCHES
    const struct keypoints now = keypoints_of(s, s->parity);
    struct keypoints before = keypoints_of(s, s->parity ^ 1);
    const struct vf_match_bounds bounds = vf_match_bounds(s);
    uint16_t order[VFRONT_KEYPOINTS];
    struct tile tile;
    struct field field;
    if (s->ingest->params.frame == 0) before.count = 0; /* first frame: the memory may hold another run's key points */
    for (uint32_t j = 0; j < before.count; j++) vf_match_expect(s, &bounds, j);
    order_keypoints(&s->match->expected, &before, order);
    fill_field(&field, &now);
    for (uint32_t first = 0; first < before.count; first += TILE) {
        fill_tile(s, &before, order + first, before.count - first, &tile);
        search(s, &bounds, &now, &field, &tile);
    }
    for (uint32_t i = 0; i < now.count; i++) field.wanted[i] = (uint8_t)mutual(s, i);
    for (uint32_t first = 0; first < before.count; first += TILE) {
        fill_tile(s, &before, order + first, before.count - first, &tile);
        search_second(s, &bounds, &now, &before, &field, &tile);
    }
    list_matches(s, &now, &before);
    refine_matches(s);
    vf_match_clear(s->match, s->parity ^ 1, 0, 1);
#else
    (void)s;
#endif
}
