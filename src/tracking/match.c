/* SPDX-License-Identifier: MIT */
#include "core/stages.h"

#if VFRONT_MATCHES
#include "match_flow.h"
#include "patch.h"

/** Points and descriptors of camera 0 in a frame. */
struct side {
    const struct vf_point *point;
    const float *angle;
    const vfront_descriptor_t *descriptor;
    uint32_t count;
};
static struct side side_of(const struct vf_step *s, int32_t parity)
{
    const struct vf_memory *m = s->memory;
    const struct side side = {m->bearing.point[parity][0], m->describe.angle[parity][0],
                              m->describe.descriptor[parity][0], m->bearing.count[parity][0]};
    return side;
}

/** Some points of the frame before, value by value, so that inner loops over them are vector code. */
#define TILE 64
#define NO_LEVEL 1000
struct tile {
    uint32_t word[8][TILE];
    float x[TILE], y[TILE], z[TILE], reach[TILE]; /* where they are expected */
    int32_t level[TILE];                          /* behind the last: one that no partner has */
    uint32_t back[TILE];
    uint32_t first, count;
    float least[3], most[3], farthest; /* bounds of all */
    int32_t lowest, highest;
};

static void fill_tile(const struct vf_step *s, const struct vf_match_bounds *b, const struct side *before,
                      uint32_t first, struct tile *t)
{
    const struct vf_match_memory *m = &s->memory->match;
    memset(t, 0, sizeof *t);
    t->first = first;
    t->count = before->count - first < TILE ? before->count - first : TILE;
    for (int axis = 0; axis < 3; axis++) {
        t->least[axis] = 2.0f;
        t->most[axis] = -2.0f;
    }
    t->lowest = NO_LEVEL;
    for (int k = 0; k < TILE; k++) t->level[k] = NO_LEVEL;
    for (uint32_t k = 0; k < t->count; k++) {
        const struct vf_point *p = &before->point[first + k];
        float at[3];
        vf_match_expect(&s->memory->ingest.params, p->bearing, m->expected[s->parity ^ 1][first + k], at);
        for (int i = 0; i < 8; i++) t->word[i][k] = before->descriptor[first + k].word[i];
        for (int axis = 0; axis < 3; axis++) {
            t->least[axis] = at[axis] < t->least[axis] ? at[axis] : t->least[axis];
            t->most[axis] = at[axis] > t->most[axis] ? at[axis] : t->most[axis];
        }
        t->x[k] = at[0];
        t->y[k] = at[1];
        t->z[k] = at[2];
        t->reach[k] = vf_match_reach(b->window, p->step);
        t->level[k] = p->level;
        t->farthest = t->reach[k] > t->farthest ? t->reach[k] : t->farthest;
        t->lowest = vf_min(p->level, t->lowest);
        t->highest = vf_max(p->level, t->highest);
        t->back[k] = m->back[first + k];
    }
}

/** How far a range is from a number. */
static float outside(float least, float most, float v)
{
    const float under = least - v, over = v - most, more = under > over ? under : over;
    return more > 0.0f ? more : 0.0f;
}

/** Whether a tile may hold a partner of p. Every operation is that of the test of one point, on what is no larger: so none is missed. */
static int may_hold(const struct vf_match_bounds *b, const struct tile *t, const struct vf_point *p)
{
    const float *at = p->bearing, mine = vf_match_reach(b->window, p->step);
    if (p->level - t->highest > b->levels || t->lowest - p->level > b->levels) return 0;
    return !b->guided ||
           vf_match_near(mine > t->farthest ? mine : t->farthest, outside(t->least[0], t->most[0], at[0]),
                         outside(t->least[1], t->most[1], at[1]), outside(t->least[2], t->most[2], at[2]));
}

/** Marks the points of a tile that may be the partner of p, their descriptors apart; all ones: may not. Returns whether there are any. */
static int mark(const struct vf_match_bounds *b, const struct tile *t, const struct vf_point *p, uint32_t not [TILE])
{
    const float x = p->bearing[0], y = p->bearing[1], z = p->bearing[2], mine = vf_match_reach(b->window, p->step);
    const int32_t lowest = p->level - b->levels, highest = p->level + b->levels;
    const uint32_t guided = b->guided ? TILE : 0;
    uint32_t all = VF_NONE;
    for (uint32_t k = 0; k < TILE; k++) not [k] = 0u - (uint32_t)((t->level[k] < lowest) | (t->level[k] > highest));
    for (uint32_t k = 0; k < guided; k++) {
        const float reach = mine > t->reach[k] ? mine : t->reach[k];
        not [k] |= vf_match_near(reach, x - t->x[k], y - t->y[k], z - t->z[k]) ? 0 : VF_NONE;
    }
    for (uint32_t k = 0; k < TILE; k++) all &= not [k];
    return all == 0;
}

/** Sums of bits, in fields of four. */
static inline uint32_t fours(uint32_t w)
{
    const uint32_t pairs = w - (w >> 1 & 0x55555555u);
    return (pairs & 0x33333333u) + (pairs >> 2 & 0x33333333u);
}

/** Bits in which each descriptor of a tile differs from d. Seven words are added bit by bit first: with the
 *  eighth, that leaves four to count. */
static VF_HOT void apart(const struct tile *t, const vfront_descriptor_t *d, uint32_t distance[TILE])
{
    const uint32_t *w = d->word;
    for (int k = 0; k < TILE; k++) {
        const uint32_t a = t->word[0][k] ^ w[0], b = t->word[1][k] ^ w[1], c = t->word[2][k] ^ w[2];
        const uint32_t e = t->word[3][k] ^ w[3], f = t->word[4][k] ^ w[4], g = t->word[5][k] ^ w[5];
        const uint32_t h = t->word[6][k] ^ w[6], i = t->word[7][k] ^ w[7];
        const uint32_t ab = a ^ b, ef = e ^ f, abc = ab ^ c, efg = ef ^ g, sum = abc ^ efg ^ h;
        const uint32_t two1 = (a & b) | (ab & c), two2 = (e & f) | (ef & g), two3 = (abc & efg) | ((abc ^ efg) & h);
        const uint32_t two = two1 ^ two2 ^ two3, four = (two1 & two2) | ((two1 ^ two2) & two3);
        const uint32_t ones = fours(sum) + fours(i), more = fours(two) + 2 * fours(four);
        uint32_t bytes = (ones & 0x0f0f0f0fu) + (ones >> 4 & 0x0f0f0f0fu) +
                         2 * ((more & 0x0f0f0f0fu) + (more >> 4 & 0x0f0f0f0fu));
        bytes = (bytes & 0x00ff00ffu) + (bytes >> 8 & 0x00ff00ffu);
        distance[k] = (bytes & 0xffffu) + (bytes >> 16);
    }
}

/** Tells the points of a tile that point i looked at them. Returns the best partner for it, or `best`. */
static VF_HOT uint32_t tell(struct tile *t, const uint32_t *distance, const uint32_t * not, uint32_t most, uint32_t i,
                            uint32_t best)
{
    for (uint32_t k = 0; k < TILE; k++) {
        const uint32_t none = not [k] | (distance[k] > most ? VF_NONE : 0u);
        const uint32_t to_it = (distance[k] << 16 | i) | none, to_me = (distance[k] << 16 | (t->first + k)) | none;
        t->back[k] = to_it < t->back[k] ? to_it : t->back[k];
        best = to_me < best ? to_me : best;
    }
    return best;
}

/** All of this frame's points look at a tile. */
static void search(const struct vf_step *s, const struct vf_match_bounds *b, const struct side *now, struct tile *t)
{
    struct vf_match_memory *m = &s->memory->match;
    uint32_t not [TILE], distance[TILE];
    for (uint32_t i = 0; i < now->count; i++) {
        if (!may_hold(b, t, &now->point[i]) || !mark(b, t, &now->point[i], not )) continue;
        apart(t, &now->descriptor[i], distance);
        m->found[i] = tell(t, distance, not, b->distance, i, m->found[i]);
    }
    memcpy(m->back + t->first, t->back, sizeof *t->back * t->count);
}

static int mutual(const struct vf_match_memory *m, uint32_t i)
{
    return m->found[i] != VF_NONE && vf_match_mutual(m->found[i], m->back[m->found[i] & 0xffff], i);
}

/** Those that found each other look for the next best in a tile. */
static void search_second(const struct vf_step *s, const struct vf_match_bounds *b, const struct side *now,
                          const struct side *before, struct tile *t)
{
    struct vf_match_memory *m = &s->memory->match;
    uint32_t not [TILE], distance[TILE];
    for (uint32_t i = 0; i < now->count; i++) {
        if (!mutual(m, i) || !may_hold(b, t, &now->point[i]) || !mark(b, t, &now->point[i], not )) continue;
        const struct vf_point *best = &before->point[m->found[i] & 0xffff];
        uint32_t next = m->second[i];
        apart(t, &now->descriptor[i], distance);
        for (uint32_t k = 0; k < t->count; k++)
            if ((distance[k] | not [k]) < next && vf_elsewhere(best, &before->point[t->first + k])) next = distance[k];
        m->second[i] = next;
    }
}

/** Whether point i has a partner, its turn apart, and what that is. */
static int turned(const struct vf_step *s, const struct side *now, const struct side *before, uint32_t i,
                  uint32_t *turn)
{
    const struct vf_match_memory *m = &s->memory->match;
    if (!mutual(m, i) || !vf_stands_out(&s->tuning, m->found[i] >> 16, m->second[i])) return 0;
    *turn = vf_match_turned(now->angle[i], before->angle[m->found[i] & 0xffff]);
    return 1;
}

/** By how many bins the picture turned. */
static int32_t turn_of_all(const struct vf_step *s, const struct side *now, const struct side *before)
{
    int32_t bin[VF_TURNS] = {0};
    uint32_t turn, best = 0;
    for (uint32_t i = 0; i < now->count; i++)
        if (turned(s, now, before, i, &turn)) bin[vf_match_bin(turn)]++;
    for (int32_t top = 0; top < VF_TURNS; top++) {
        const uint32_t tent = vf_match_tent(bin, top);
        best = tent > best ? tent : best;
    }
    return vf_match_top(best);
}

/** Lists the pairs that turned with the picture, and says where every point goes. */
static void list(const struct vf_step *s, const struct side *now, const struct side *before)
{
    struct vf_match_memory *m = &s->memory->match;
    const int32_t top = turn_of_all(s, now, before);
    m->count = 0;
    for (uint32_t i = 0; i < now->count; i++) {
        const uint32_t j = m->found[i] & 0xffff;
        uint32_t turn;
        const int kept = turned(s, now, before, i, &turn) && vf_match_turns(&s->tuning, turn, top);
        vf_match_go_on(now->point[i].bearing, kept ? before->point[j].bearing : NULL, m->expected[s->parity][i]);
        if (kept) m->match[m->count++] = vf_match_of(i, m->found[i], m->second[i]);
    }
}

/** Finds the places of the matches. */
static void settle(const struct vf_step *s)
{
    struct vf_match_memory *m = &s->memory->match;
    struct vf_patch patch;
    for (uint32_t i = 0; i < m->count; i++) m->match[i] = vf_match_settle(&patch, s, m->match[i]);
}
#endif

void vf_match_host(const struct vf_step *s)
{
#if VFRONT_MATCHES
    if (!vf_match_on(s)) return;
    const struct side now = side_of(s, s->parity);
    struct side before = side_of(s, s->parity ^ 1);
    const struct vf_match_bounds bounds = vf_match_bounds(s);
    struct tile tile;
    if (s->memory->ingest.params.frame == 0) before.count = 0; /* what lies there is from before the reset */
    for (uint32_t first = 0; first < before.count; first += TILE) {
        fill_tile(s, &bounds, &before, first, &tile);
        search(s, &bounds, &now, &tile);
    }
    for (uint32_t first = 0; first < before.count; first += TILE) {
        fill_tile(s, &bounds, &before, first, &tile);
        search_second(s, &bounds, &now, &before, &tile);
    }
    list(s, &now, &before);
    settle(s);
#else
    (void)s;
#endif
}
