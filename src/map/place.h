/* SPDX-License-Identifier: MIT */
/* place: the keyframes that may show the place of this frame.
 *
 * In      key points of camera 0 with descriptors and distances; the ring of keyframes and the pose of the frame
 *         before; tracks of the frame before
 * Out     points of this frame, by parity; up to VF_PLACE_CANDIDATES keyframes
 * Rule    a frame's points are the best key point of each cell of a grid of VF_PLACE_COLUMNS x VF_PLACE_ROWS, those
 *         with a distance first. A descriptor has VF_PLACE_TABLES words, 16 fixed bits of it each. A keyframe's score
 *         is the sum of the weights of the words that it shares with this frame; a word's weight is the logarithm of
 *         how rare it is among all keyframes now, so that there is no vocabulary to be trained and loaded. Candidates
 *         are the keyframes with the highest scores; the last one is the one that is nearest by pose within what the
 *         drift allows, if any is. Frames of the last VF_PLACE_APART, and keyframes of the last VF_PLACE_LATER frames
 *         that tracks still connect with this frame, are no candidates: they are the odometry's, which forgets after a
 *         while, also where a track lasts. Keyframes of a map that was loaded always may be
 * Exact   integers; poses in double precision in one order
 * Cost    the words of all keyframes are looked up in a bitmap of this frame's, twice, whether there are keyframes or
 *         not: 4 x 300 x VFRONT_KEYFRAMES look-ups. Inverted lists would be shorter on average, but not at worst, would
 *         have to be kept from frame to frame, and to be cut where a word is frequent
 * Shared  all: vf_place_gather(), vf_place_count(), vf_place_score(), vf_place_choose() are launches
 * Memory  18 KB a frame, 2 of them; tables of 280 KB; 12 bytes a keyframe
 */
#ifndef VF_PLACE_H
#define VF_PLACE_H

#include "core/view.h"
#include "features/bearing.h"
#include "features/describe.h"
#include "features/select.h"
#include "geometry/motion.h"
#include "geometry/stereo.h"
#include "image/freeze.h"
#include "image/ingest.h"
#include "keyframe_state.h"
#include "math/team.h"
#include "tracking/refill.h"

/** Candidates of a frame, VFRONT_LOOPS. */
#define VF_PLACE_CANDIDATES ((int)VFRONT_LOOPS)

/** Least number of frames between a frame and a candidate; largest number of tracks that may connect both, and the
 * number of frames between them from which on any number may. */
#define VF_PLACE_APART 10
#define VF_PLACE_TRACKS 3
#define VF_PLACE_LATER 100

/** Words of all tables. */
#define VF_PLACE_WORDS (VF_PLACE_TABLES * 65536)
#define VF_PLACE_BITMAP (VF_PLACE_WORDS / 32)

struct vf_place_memory {
#if VFRONT_MAP
    struct vf_place_set set[2];                       /* out, by parity: points of the frame */
    uint64_t best[VF_PLACE_POINTS];                   /* best key of each cell */
    uint32_t chosen[VF_PLACE_POINTS];                 /* its key point; VF_NONE: none */
    uint32_t bitmap[VF_PLACE_BITMAP];                 /* of the words of this frame */
    uint32_t known[VF_PLACE_TABLES][VF_PLACE_POINTS]; /* number of keyframes that have the word of a point */
    uint32_t raw[VF_PLACE_TABLES][VF_PLACE_POINTS];   /* words, those that are there twice too */
    uint32_t score[VFRONT_KEYFRAMES];                 /* of each keyframe */
    uint64_t top[VF_PLACE_CANDIDATES];                /* best ranks */
    uint32_t candidate[VF_PLACE_CANDIDATES];          /* out: places in the ring; VF_NONE: none */
    uint32_t reserved;
    uint16_t at[VF_PLACE_WORDS]; /* of a word in the bitmap: point of this frame */
#else
    uint64_t nothing;
#endif
};

/** A keyframe with its points. */
struct vf_keyframe_entry {
    struct vf_keyframe head;
    struct vf_place_set set;
};

/** State of the keyframes after a frame. */
struct vf_keyframe_now {
    struct vf_path_pose pose; /* of the frame */
    struct vf_keyframe last;  /* last keyframe of the path; its `used` 0: none */
    uint32_t count;           /* keyframes in the ring, with this frame if it is one */
    uint32_t due;             /* 1: this frame is one, and comes into the ring in the next step */
    uint32_t slot;            /* place in the ring at which */
    float near_1pm;           /* mean inverse distance of the points of `last`; 0: unknown */
};

/** Memory of keyframe, which place and overlap read as the frame before left it. */
struct vf_keyframe_memory {
#if VFRONT_MAP
    struct vf_keyframe_entry ring[VFRONT_KEYFRAMES];
    struct vf_keyframe_now now[2];    /* by parity */
    uint64_t crowd[VFRONT_KEYFRAMES]; /* of a step: how dense the place of each keyframe is, and how old it is */
    uint64_t densest;
    uint32_t near_q12; /* of a step: sum of the inverse distances of the frame's points [1/(4096 m)] */
    uint32_t ranged;   /* their number */
    uint32_t left;     /* of a step: tracks that are not younger than the last keyframe */
    uint32_t reserved;
#else
    uint64_t nothing;
#endif
};

/* View of place: core/view.h. */
/* clang-format off */
#define VF_READS_place(X) X(ingest) X(freeze) X(select) X(bearing) X(describe) X(stereo)
#define VF_BEFORE_place(X) X(keyframe) X(refill)
#define VF_GEOMETRY_place(X) X(active) X(groups) X(group_first) X(level)
#define VF_TUNING_place(X)
/* clang-format on */
VF_GEOMETRY_OF(place);
struct vf_place_view {
    VF_VIEW(place);
};
VF_HOST_FORM(place);

#if VFRONT_MAP

/* ---- counters that many items raise ------------------------------------------------------------------------------ */

VF_FN void vf_place_raise(uint64_t *at, uint64_t value)
{
#ifdef __CUDA_ARCH__
    atomicMax((unsigned long long *)at, (unsigned long long)value);
#else
    if (value > *at) *at = value;
#endif
}
VF_FN void vf_place_add(uint32_t *at, uint32_t value)
{
#ifdef __CUDA_ARCH__
    atomicAdd(at, value);
#else
    *at += value;
#endif
}
VF_FN void vf_place_mark(uint32_t *at, uint32_t bits)
{
#ifdef __CUDA_ARCH__
    atomicOr(at, bits);
#else
    *at |= bits;
#endif
}

/* ---- points and words -------------------------------------------------------------------------------------------- */

/** Word of a descriptor in a table: 16 of its bits. Chosen one after the other such that the words of matching points
 *  are equal often, and those of others seldom, on six sequences: 0.15 to 0.31 of matching descriptors have the same
 *  word; on one that was left out 0.11, with the first 16 bits 0.08. */
VF_FN uint32_t vf_place_word(const vfront_descriptor_t *d, int table)
{
    const uint8_t bit[VF_PLACE_TABLES][16] = {
        {155, 174, 230, 163, 235, 142, 192, 15, 78, 141, 103, 234, 185, 45, 86, 223},
        {128, 102, 69, 70, 91, 250, 197, 168, 248, 193, 25, 165, 188, 67, 249, 31}};
    uint32_t word = 0;
    VF_UNROLL
    for (int i = 0; i < 16; i++) word |= (d->word[bit[table][i] / 32] >> (bit[table][i] % 32) & 1u) << i;
    return word;
}

/** Cell of a key point. */
VF_FN int32_t vf_place_cell(const struct vf_place_view *s, const struct vf_point *p)
{
    const struct vf_level *l = &s->geometry.level[0][0];
    const int32_t x = vf_clamp(vf_pixel(p->x_q16) * VF_PLACE_COLUMNS / l->width, 0, VF_PLACE_COLUMNS - 1),
                  y = vf_clamp(vf_pixel(p->y_q16) * VF_PLACE_ROWS / l->height, 0, VF_PLACE_ROWS - 1);
    return y * VF_PLACE_COLUMNS + x;
}

/** Distance of key point i; 0: unknown. */
VF_FN struct vf_range_estimate vf_place_range(const struct vf_place_view *s, uint32_t i)
{
    const struct vf_range_estimate none = {0.0f, 0.0f};
    return s->geometry.active & VF_BIT(stereo) ? vf_stereo_range(s->stereo, s->parity, i) : none;
}

/** Key by which key point i competes for its cell: those with a distance first, then as they were selected. */
VF_FN uint64_t vf_place_key(const struct vf_place_view *s, uint32_t i)
{
    const int32_t at = vf_keypoint_index(s->geometry.groups, s->geometry.group_first, s->select->count[0], (int32_t)i);
    return s->select->key[0][at] | (uint64_t)(vf_place_range(s, i).m > 0.0f) << 63;
}

/** Point of key point i. */
VF_FN void vf_place_point_of(const struct vf_place_view *s, uint32_t i, struct vf_place_point *p)
{
    const struct vf_point *from = &s->bearing->point[s->parity][0][i];
    const struct vf_range_estimate range = vf_place_range(s, i);
    p->descriptor = s->describe->descriptor[s->parity][0][i];
    for (int k = 0; k < 3; k++) p->bearing_q15[k] = (int16_t)vf_round(from->bearing[k] * 32767.0f);
    p->keypoint = (uint16_t)i;
    p->range_m = range.m > 0.0f ? range.m : 0.0f;
    p->sigma_q16 = (uint16_t)(range.m > 0.0f ? vf_round(vf_motion_min(range.sigma_m / range.m, 0.99f) * 65536.0f) : 0);
    p->level = (uint16_t)from->level;
}

/** Word i of a table of this frame, or none where a point before has it, too. */
VF_FN uint32_t vf_place_own_word(const uint32_t raw[VF_PLACE_POINTS], int32_t i)
{
    for (int32_t k = 0; k < i; k++)
        if (raw[k] == raw[i]) return VF_PLACE_NO_WORD;
    return raw[i];
}

/** Points of the frame and their words, and clear tables: one block. */
VF_FN void vf_place_gather(const struct vf_place_view *s)
{
    struct vf_place_memory *m = s->place;
    struct vf_place_set *set = &m->set[s->parity];
    const int stale = vf_freeze_stale(s->freeze, s->parity, 0);
    const int32_t points = stale ? 0 : (int32_t)s->bearing->count[s->parity][0];
    VF_PARTS(i, VF_PLACE_BITMAP) m->bitmap[i] = 0;
    VF_PARTS(i, VFRONT_KEYFRAMES) m->score[i] = 0;
    VF_PARTS(i, VF_PLACE_POINTS)
    {
        m->best[i] = 0;
        m->chosen[i] = VF_NONE;
        for (int t = 0; t < VF_PLACE_TABLES; t++) m->known[t][i] = 0;
    }
    VF_PARTS(i, VF_PLACE_CANDIDATES) m->top[i] = 0;
    VF_ITEM_SYNC();
    VF_PARTS(i, points)
    {
        const struct vf_point *p = &s->bearing->point[s->parity][0][i];
        if (vf_dot(p->bearing, p->bearing) > 0.5f)
            vf_place_raise(&m->best[vf_place_cell(s, p)], vf_place_key(s, (uint32_t)i));
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, points)
    {
        const int32_t cell = vf_place_cell(s, &s->bearing->point[s->parity][0][i]);
        if (m->best[cell] == vf_place_key(s, (uint32_t)i)) m->chosen[cell] = (uint32_t)i; /* keys differ */
    }
    VF_ITEM_SYNC();
    VF_PARTS(cell, VF_PLACE_POINTS)
    {
        int32_t before = 0;
        for (int32_t k = 0; k < cell; k++) before += m->chosen[k] != VF_NONE;
        if (m->chosen[cell] != VF_NONE) vf_place_point_of(s, m->chosen[cell], &set->point[before]);
        if (cell == VF_PLACE_POINTS - 1) set->count = (uint32_t)(before + (m->chosen[cell] != VF_NONE));
    }
    VF_ITEM_SYNC();
    VF_PARTS(n, VF_PLACE_TABLES * VF_PLACE_POINTS)
    {
        const int32_t t = n / VF_PLACE_POINTS, i = n % VF_PLACE_POINTS;
        const int is = i < (int32_t)set->count;
        m->raw[t][i] = is ? vf_place_word(&set->point[i].descriptor, t) : VF_PLACE_NO_WORD;
    }
    VF_ITEM_SYNC();
    VF_PARTS(n, VF_PLACE_TABLES * VF_PLACE_POINTS)
    {
        const int32_t t = n / VF_PLACE_POINTS, i = n % VF_PLACE_POINTS;
        const uint32_t word = vf_place_own_word(m->raw[t], i), at = 65536u * (uint32_t)t + word;
        set->word[t][i] = (uint16_t)word;
        if (word == VF_PLACE_NO_WORD) continue;
        m->at[at] = (uint16_t)i;
        vf_place_mark(&m->bitmap[at / 32], 1u << at % 32);
    }
}

/** Point of this frame that has word n of keyframe i, of all tables' one after the other; VF_NONE: none has. */
VF_FN uint32_t vf_place_shared(const struct vf_place_view *s, int32_t i, int32_t n)
{
    const struct vf_place_memory *m = s->place;
    const struct vf_keyframe_entry *e = &s->keyframe->ring[i];
    const int32_t t = n / VF_PLACE_POINTS;
    const uint32_t word = e->set.word[t][n % VF_PLACE_POINTS], at = 65536u * (uint32_t)t + word;
    if (!e->head.used || word == VF_PLACE_NO_WORD || !(m->bitmap[at / 32] >> at % 32 & 1u)) return VF_NONE;
    return m->at[at];
}

/** Number of keyframes that have each word of this frame. */
VF_FN void vf_place_count(const struct vf_place_view *s)
{
    const int32_t each = VF_PLACE_TABLES * VF_PLACE_POINTS;
    VF_ITEMS(n, VFRONT_KEYFRAMES * each)
    {
        const uint32_t point = vf_place_shared(s, n / each, n % each);
        if (point != VF_NONE) vf_place_add(&s->place->known[n % each / VF_PLACE_POINTS][point], 1);
    }
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

/** 16 times the logarithm of x to base 2, cut: whole powers exact, straight lines in between. x: at least 1. */
VF_FN uint32_t vf_place_log(uint32_t x)
{
    uint32_t power = 0;
    for (uint32_t rest = x; rest > 1; rest /= 2) power++;
    return 16 * power + (power >= 4 ? x >> (power - 4) & 15u : x << (4 - power) & 15u);
}

/** Weight of a word that `known` of `all` keyframes have: at least 1. */
VF_FN uint32_t vf_place_weight(uint32_t known, uint32_t all) { return vf_place_log(2 * all) - vf_place_log(known) + 1; }

/** Scores of all keyframes. */
VF_FN void vf_place_score(const struct vf_place_view *s)
{
    struct vf_place_memory *m = s->place;
    const int32_t each = VF_PLACE_TABLES * VF_PLACE_POINTS;
    VF_ITEMS(n, VFRONT_KEYFRAMES * each)
    {
        const int32_t i = n / each;
        const uint32_t point = vf_place_shared(s, i, n % each);
        if (point != VF_NONE)
            vf_place_add(&m->score[i],
                         vf_place_weight(m->known[n % each / VF_PLACE_POINTS][point], (uint32_t)VFRONT_KEYFRAMES));
    }
}

/** Number of tracks of the frame before that are not younger than an id. */
VF_FN uint32_t vf_place_tracks(const struct vf_place_view *s, uint64_t last_id)
{
    const struct vf_refill_memory *r = s->refill;
    const int32_t parity = s->parity ^ 1;
    const uint32_t count = r->counts[parity].count;
    uint32_t old = 0;
    while (old < count && old <= VF_PLACE_TRACKS && r->feature[parity][old].id <= last_id) old++;
    return old;
}

/** 1 if a keyframe may be a candidate. */
VF_FN int vf_place_open(const struct vf_place_view *s, const struct vf_keyframe *k)
{
    if (k->origin) return k->used != 0;
    return k->used && s->ingest->params.frame >= k->frame + VF_PLACE_APART &&
           (s->ingest->params.frame >= k->frame + VF_PLACE_LATER || vf_place_tracks(s, k->last_id) <= VF_PLACE_TRACKS);
}

/** Ranks of keyframe i, in which the greatest is the best: by its score, and by its pose; 0: no candidate. */
VF_FN uint64_t vf_place_rank(const struct vf_place_view *s, int32_t i)
{
    const uint32_t score = s->place->score[i];
    return score && vf_place_open(s, &s->keyframe->ring[i].head) ? (uint64_t)score << 16 | (uint64_t)(65535 - i) : 0;
}
VF_FN uint64_t vf_place_nearness(const struct vf_place_view *s, int32_t i)
{
    const struct vf_keyframe *k = &s->keyframe->ring[i].head;
    const struct vf_path_pose *now = &s->keyframe->now[s->parity ^ 1].pose;
    if (!vf_place_open(s, k) || !vf_path_placed(&k->pose, now)) return 0;
    const double reach = vf_path_drift_m(&k->pose, now) + 1.0, square = vf_path_distance2(&k->pose, now),
                 half = vf_path_half_cosine(&k->pose, now);
    if (!(square < reach * reach && half > 0.9)) return 0;
    /* 2 - 2 cos of the angle, as a distance of points a metre away */
    const double apart = square + 4.0 * (1.0 - half * half);
    const uint64_t most = 1ull << 40, value = apart < 1e6 ? (uint64_t)(apart * 1e6) : most - 2;
    return (most - 1 - value) << 16 | (uint64_t)(65535 - i);
}

/** Candidates from the scores: one block. */
VF_FN void vf_place_choose(const struct vf_place_view *s)
{
    struct vf_place_memory *m = s->place;
    const int first = s->ingest->params.frame == 0;
    VF_NO_UNROLL
    for (int turn = 0; turn < VF_PLACE_CANDIDATES; turn++) {
        const int last = turn == VF_PLACE_CANDIDATES - 1;
        VF_PARTS(i, first ? 0 : VFRONT_KEYFRAMES)
        {
            int taken = 0;
            for (int k = 0; k < turn; k++) taken |= m->top[k] && 65535 - (int32_t)(m->top[k] & 65535) == i;
            const uint64_t rank = taken ? 0 : last ? vf_place_nearness(s, i) : vf_place_rank(s, i);
            if (rank) vf_place_raise(&m->top[turn], rank);
        }
        VF_ITEM_SYNC();
        if (!last || m->top[turn]) continue;
        VF_ITEM_SYNC();
        VF_PARTS(i, first ? 0 : VFRONT_KEYFRAMES)
        {
            int taken = 0;
            for (int k = 0; k < turn; k++) taken |= m->top[k] && 65535 - (int32_t)(m->top[k] & 65535) == i;
            const uint64_t rank = taken ? 0 : vf_place_rank(s, i);
            if (rank) vf_place_raise(&m->top[turn], rank);
        }
        VF_ITEM_SYNC();
    }
    VF_PARTS(k, VF_PLACE_CANDIDATES)
    m->candidate[k] = m->set[s->parity].count && m->top[k] ? 65535u - (uint32_t)(m->top[k] & 65535) : VF_NONE;
}

#endif

#endif
