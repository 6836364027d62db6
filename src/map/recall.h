/* SPDX-License-Identifier: MIT */
/* recall: candidate keyframes that may show the place of this frame.
 *
 * In      key points of camera 0 with descriptors and distances; the keyframe ring and the pose of the previous frame;
 *         tracks of the previous frame
 * Out     points of this frame, by parity; up to VF_RECALL_CANDIDATES keyframes
 * Rule    - points: the best key point of each grid cell, points with a distance first
 *         - words: VF_RECALL_TABLES per descriptor, each 16 fixed bits of it. No vocabulary is trained or loaded
 *         - score of a keyframe: sum of the weights of the words shared with this frame. Weight of a word: 16 log2(2 n
 *           / f) + 1, with f of n keyframes having the word
 *         - candidates: the keyframes with the highest scores; the last candidate is the nearest by pose within the
 *           drift bound, if there is one
 *         - excluded: keyframes of the last VF_RECALL_MIN_FRAMES frames, and of the last VF_RECALL_TRACKED_FRAMES
 *           frames while more than VF_RECALL_MAX_TRACKS tracks connect them, because odometry covers those. Keyframes
 *           of a loaded map are never excluded
 * Exact   integers; poses in double precision in one order
 * Cost    words of all keyframes are looked up twice in a bitmap of this frame's words: 4 x 300 x VFRONT_KEYFRAMES
 *         look-ups per frame, always. Inverted lists have the same worst case and must be updated
 * Shared  all arithmetic: vf_recall_extract(), vf_recall_count(), vf_recall_score() and vf_recall_select() are one
 *         launch each
 * Memory  18 KB a frame, two frames; tables of 280 KB; 12 bytes a keyframe
 */
#ifndef VF_RECALL_H
#define VF_RECALL_H

#include "base/view.h"
#include "features/bearing.h"
#include "features/describe.h"
#include "features/select.h"
#include "geometry/motion.h"
#include "geometry/stereo.h"
#include "image/freeze.h"
#include "image/ingest.h"
#include "keyframe_data.h"
#include "math/team.h"
#include "tracking/refill.h"

/** Largest number of candidate keyframes of a frame. */
#define VF_RECALL_CANDIDATES ((int)VFRONT_LOOPS)

/** Least age of a candidate keyframe [frames]. */
#define VF_RECALL_MIN_FRAMES 10
/** Largest number of tracks that a frame and a younger candidate than VF_RECALL_TRACKED_FRAMES may share. */
#define VF_RECALL_MAX_TRACKS 3
/** Age from which a candidate may share any number of tracks with the frame [frames]. */
#define VF_RECALL_TRACKED_FRAMES 100

/** Number of possible words in all look-up tables: 2^16 each. */
#define VF_RECALL_WORDS (VF_RECALL_TABLES * 65536)
/** Length of the bitmap with one bit per possible word [32-bit elements]. */
#define VF_RECALL_BITMAP (VF_RECALL_WORDS / 32)

struct vf_recall_memory {
#if VFRONT_MAP
    struct vf_keyframe_points set[2];    /* out, by parity: keyframe points of the frame */
    uint64_t best[VF_KEYFRAME_POINTS];   /* rank of the best key point of each grid cell, vf_recall_key() */
    uint32_t chosen[VF_KEYFRAME_POINTS]; /* index of the best key point of each grid cell; VF_NONE: none */
    uint32_t bitmap[VF_RECALL_BITMAP];   /* one bit per possible word; 1: a point of this frame has it */
    uint32_t frequency[VF_RECALL_TABLES][VF_KEYFRAME_POINTS]; /* number of keyframes that have the word of each point */
    uint32_t raw[VF_RECALL_TABLES][VF_KEYFRAME_POINTS];       /* word of each point, even if an earlier point has it */
    uint32_t score[VFRONT_KEYFRAMES];                         /* score of the keyframe in each ring slot */
    uint64_t top[VF_RECALL_CANDIDATES];                       /* rank of each candidate, with its ring slot; 0: none */
    uint32_t candidate[VF_RECALL_CANDIDATES];                 /* out: ring slot of each candidate; VF_NONE: none */
    uint32_t reserved;
    uint16_t at[VF_RECALL_WORDS]; /* of each word with a 1 in `bitmap`: index of the point that has it */
#else
    uint64_t nothing;
#endif
};

/** Entry of the keyframe ring. */
struct vf_keyframe_entry {
    struct vf_keyframe head;
    struct vf_keyframe_points set;
};

/** State of stage keyframe after a frame, which the next frame reads. It holds the frame's pose and a copy of the last
 *  keyframe's head. */
struct vf_keyframe_now {
    struct vf_chain_pose pose; /* pose of the frame in its motion chain */
    struct vf_keyframe last;   /* last keyframe of the chain; `used` 0: none */
    uint32_t count;            /* keyframes in the ring, including that of this frame */
    uint32_t due;              /* 1: this frame is a keyframe, written into the ring by the next frame */
    uint32_t slot;             /* ring slot to which the keyframe `last` is written */
    float inverse_range_1pm;   /* mean inverse distance of the points of `last` [1/m]; 0: unknown */
};

/** Memory of stage keyframe. Stages recall and relpose read what the previous frame wrote. */
struct vf_keyframe_memory {
#if VFRONT_MAP
    struct vf_keyframe_entry ring[VFRONT_KEYFRAMES];
    struct vf_keyframe_now now[2]; /* state after this and the previous frame, by parity */
    /* key of each ring slot by vf_keyframe_evict_key(); the keyframe with the greatest key is evicted; 0: free slot */
    uint64_t evict_key[VFRONT_KEYFRAMES];
    uint64_t evict_max;         /* greatest eviction key of all ring slots */
    uint32_t inverse_range_q12; /* sum of the inverse distances of the frame's points [1/(4096 m)] */
    uint32_t range_count;       /* number of points in inverse_range_q12 */
    uint32_t tracks_kept;       /* tracks of this frame that the last keyframe had, too */
    uint32_t reserved;
#else
    uint64_t nothing;
#endif
};

/* View of stage recall: the data it may access (base/view.h). */
/* clang-format off */
#define VF_READS_recall(X) X(ingest) X(freeze) X(select) X(bearing) X(describe) X(stereo)
#define VF_BEFORE_recall(X) X(keyframe) X(refill)
#define VF_GEOMETRY_recall(X) X(active) X(groups) X(group_first) X(level)
#define VF_TUNING_recall(X)
/* clang-format on */
VF_GEOMETRY_OF(recall);
struct vf_recall_view {
    VF_VIEW(recall);
};
VF_HOST_FORM(recall);

#if VFRONT_MAP

/* ---- atomic counters --------------------------------------------------------------------------------------------- */

VF_FN void vf_atomic_max64(uint64_t *at, uint64_t value)
{
#ifdef __CUDA_ARCH__
    atomicMax((unsigned long long *)at, (unsigned long long)value);
#else
    if (value > *at) *at = value;
#endif
}
VF_FN void vf_atomic_add(uint32_t *at, uint32_t value)
{
#ifdef __CUDA_ARCH__
    atomicAdd(at, value);
#else
    *at += value;
#endif
}
VF_FN void vf_atomic_or(uint32_t *at, uint32_t bits)
{
#ifdef __CUDA_ARCH__
    atomicOr(at, bits);
#else
    *at |= bits;
#endif
}

/* ---- points and words -------------------------------------------------------------------------------------------- */

/** Word of a descriptor for a look-up table: 16 of its bits. They were selected greedily on six image sequences, to be
 *  equal for matching points and different for others. Of matching descriptors 15 to 31 % share a word. On a seventh
 *  sequence 11 % do, against 8 % with the first 16 bits. */
VF_FN uint32_t vf_recall_word(const vfront_descriptor_t *d, int table)
{
    const uint8_t bit[VF_RECALL_TABLES][16] = {
        {155, 174, 230, 163, 235, 142, 192, 15, 78, 141, 103, 234, 185, 45, 86, 223},
        {128, 102, 69, 70, 91, 250, 197, 168, 248, 193, 25, 165, 188, 67, 249, 31}};
    uint32_t word = 0;
    VF_UNROLL
    for (int i = 0; i < 16; i++) word |= (d->word[bit[table][i] / 32] >> (bit[table][i] % 32) & 1u) << i;
    return word;
}

/** Row-major index of the grid cell of a key point. */
VF_FN int32_t vf_recall_cell(const struct vf_recall_view *s, const struct vf_point *p)
{
    const struct vf_level *l = &s->geometry.level[0][0];
    const int32_t x = vf_clamp(vf_pixel(p->x_q16) * VF_KEYFRAME_COLUMNS / l->width, 0, VF_KEYFRAME_COLUMNS - 1),
                  y = vf_clamp(vf_pixel(p->y_q16) * VF_KEYFRAME_ROWS / l->height, 0, VF_KEYFRAME_ROWS - 1);
    return y * VF_KEYFRAME_COLUMNS + x;
}

/** Distance of key point i from camera 0, with its standard deviation [m]; 0: unknown. */
VF_FN struct vf_range_estimate vf_recall_range(const struct vf_recall_view *s, uint32_t i)
{
    const struct vf_range_estimate none = {0.0f, 0.0f};
    return s->geometry.active & VF_BIT(stereo) ? vf_stereo_range(s->stereo, s->parity, i) : none;
}

/** Rank of key point i in its grid cell; the greatest is best. Key points with a known distance rank first, then those
 *  with a greater key of stage select. */
VF_FN uint64_t vf_recall_key(const struct vf_recall_view *s, uint32_t i)
{
    const int32_t at = vf_keypoint_index(s->geometry.groups, s->geometry.group_first, s->select->count[0], (int32_t)i);
    return s->select->key[0][at] | (uint64_t)(vf_recall_range(s, i).m > 0.0f) << 63;
}

/** Makes a keyframe point from key point i of this frame. */
VF_FN void vf_recall_make_point(const struct vf_recall_view *s, uint32_t i, struct vf_keyframe_point *p)
{
    const struct vf_point *from = &s->bearing->point[s->parity][0][i];
    const struct vf_range_estimate range = vf_recall_range(s, i);
    p->descriptor = s->describe->descriptor[s->parity][0][i];
    for (int k = 0; k < 3; k++) p->bearing_q15[k] = (int16_t)vf_round(from->bearing[k] * 32767.0f);
    p->keypoint = (uint16_t)i;
    p->range_m = range.m > 0.0f ? range.m : 0.0f;
    p->sigma_q16 = (uint16_t)(range.m > 0.0f ? vf_round(vf_motion_min(range.sigma_m / range.m, 0.99f) * 65536.0f) : 0);
    p->level = (uint16_t)from->level;
}

/** Word of point i in one table, or VF_RECALL_NO_WORD if an earlier point has the same word. raw: words of all
 *  points. */
VF_FN uint32_t vf_recall_unique_word(const uint32_t raw[VF_KEYFRAME_POINTS], int32_t i)
{
    for (int32_t k = 0; k < i; k++)
        if (raw[k] == raw[i]) return VF_RECALL_NO_WORD;
    return raw[i];
}

/** Selects the keyframe points of this frame and computes their words. Clears the scores, word counts and candidates of
 *  the last frame. Run by one block. */
VF_FN void vf_recall_extract(const struct vf_recall_view *s)
{
    struct vf_recall_memory *m = s->recall;
    struct vf_keyframe_points *set = &m->set[s->parity];
    const int stale = vf_freeze_stale(s->freeze, s->parity, 0);
    const int32_t points = stale ? 0 : (int32_t)s->bearing->count[s->parity][0];
    VF_PARTS(i, VF_RECALL_BITMAP) m->bitmap[i] = 0;
    VF_PARTS(i, VFRONT_KEYFRAMES) m->score[i] = 0;
    VF_PARTS(i, VF_KEYFRAME_POINTS)
    {
        m->best[i] = 0;
        m->chosen[i] = VF_NONE;
        for (int t = 0; t < VF_RECALL_TABLES; t++) m->frequency[t][i] = 0;
    }
    VF_PARTS(i, VF_RECALL_CANDIDATES) m->top[i] = 0;
    VF_ITEM_SYNC();
    VF_PARTS(i, points)
    {
        const struct vf_point *p = &s->bearing->point[s->parity][0][i];
        if (vf_dot(p->bearing, p->bearing) > 0.5f)
            vf_atomic_max64(&m->best[vf_recall_cell(s, p)], vf_recall_key(s, (uint32_t)i));
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, points)
    {
        const int32_t cell = vf_recall_cell(s, &s->bearing->point[s->parity][0][i]);
        if (m->best[cell] == vf_recall_key(s, (uint32_t)i)) m->chosen[cell] = (uint32_t)i; /* ranks are unique */
    }
    VF_ITEM_SYNC();
    VF_PARTS(cell, VF_KEYFRAME_POINTS)
    {
        int32_t before = 0;
        for (int32_t k = 0; k < cell; k++) before += m->chosen[k] != VF_NONE;
        if (m->chosen[cell] != VF_NONE) vf_recall_make_point(s, m->chosen[cell], &set->point[before]);
        if (cell == VF_KEYFRAME_POINTS - 1) set->count = (uint32_t)(before + (m->chosen[cell] != VF_NONE));
    }
    VF_ITEM_SYNC();
    VF_PARTS(n, VF_RECALL_TABLES * VF_KEYFRAME_POINTS)
    {
        const int32_t t = n / VF_KEYFRAME_POINTS, i = n % VF_KEYFRAME_POINTS;
        const int is = i < (int32_t)set->count;
        m->raw[t][i] = is ? vf_recall_word(&set->point[i].descriptor, t) : VF_RECALL_NO_WORD;
    }
    VF_ITEM_SYNC();
    VF_PARTS(n, VF_RECALL_TABLES * VF_KEYFRAME_POINTS)
    {
        const int32_t t = n / VF_KEYFRAME_POINTS, i = n % VF_KEYFRAME_POINTS;
        const uint32_t word = vf_recall_unique_word(m->raw[t], i), at = 65536u * (uint32_t)t + word;
        set->word[t][i] = (uint16_t)word;
        if (word == VF_RECALL_NO_WORD) continue;
        m->at[at] = (uint16_t)i;
        vf_atomic_or(&m->bitmap[at / 32], 1u << at % 32);
    }
}

/** Point of this frame that has word n of the keyframe in ring slot i; VF_NONE: none. n: table * VF_KEYFRAME_POINTS +
 *  point. */
VF_FN uint32_t vf_recall_shared_point(const struct vf_recall_view *s, int32_t i, int32_t n)
{
    const struct vf_recall_memory *m = s->recall;
    const struct vf_keyframe_entry *e = &s->keyframe->ring[i];
    const int32_t t = n / VF_KEYFRAME_POINTS;
    const uint32_t word = e->set.word[t][n % VF_KEYFRAME_POINTS], at = 65536u * (uint32_t)t + word;
    if (!e->head.used || word == VF_RECALL_NO_WORD || !(m->bitmap[at / 32] >> at % 32 & 1u)) return VF_NONE;
    return m->at[at];
}

/** Counts, for each word of this frame, the keyframes that have it. */
VF_FN void vf_recall_count(const struct vf_recall_view *s)
{
    const int32_t each = VF_RECALL_TABLES * VF_KEYFRAME_POINTS;
    VF_ITEMS(n, VFRONT_KEYFRAMES * each)
    {
        const uint32_t point = vf_recall_shared_point(s, n / each, n % each);
        if (point != VF_NONE) vf_atomic_add(&s->recall->frequency[n % each / VF_KEYFRAME_POINTS][point], 1);
    }
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

/** 16 log2(x) for x >= 1, rounded down; linear between powers of two. */
VF_FN uint32_t vf_recall_log(uint32_t x)
{
    uint32_t power = 0;
    for (uint32_t rest = x; rest > 1; rest /= 2) power++;
    return 16 * power + (power >= 4 ? x >> (power - 4) & 15u : x << (4 - power) & 15u);
}

/** Weight of a word that `frequency` of `all` keyframes have, at least 1: a rare word weighs more. */
VF_FN uint32_t vf_recall_weight(uint32_t frequency, uint32_t all)
{
    return vf_recall_log(2 * all) - vf_recall_log(frequency) + 1;
}

/** Adds up the score of each keyframe: the weights of the words that it shares with this frame. */
VF_FN void vf_recall_score(const struct vf_recall_view *s)
{
    struct vf_recall_memory *m = s->recall;
    const int32_t each = VF_RECALL_TABLES * VF_KEYFRAME_POINTS;
    VF_ITEMS(n, VFRONT_KEYFRAMES * each)
    {
        const int32_t i = n / each;
        const uint32_t point = vf_recall_shared_point(s, i, n % each);
        if (point != VF_NONE)
            vf_atomic_add(&m->score[i], vf_recall_weight(m->frequency[n % each / VF_KEYFRAME_POINTS][point],
                                                         (uint32_t)VFRONT_KEYFRAMES));
    }
}

/** Number of tracks of the previous frame with id <= last_id: those that a keyframe with this greatest id had, too.
 *  Stops at VF_RECALL_MAX_TRACKS + 1. */
VF_FN uint32_t vf_recall_common_tracks(const struct vf_recall_view *s, uint64_t last_id)
{
    const struct vf_refill_memory *r = s->refill;
    const int32_t parity = s->parity ^ 1;
    const uint32_t count = r->counts[parity].count;
    uint32_t old = 0;
    while (old < count && old <= VF_RECALL_MAX_TRACKS && r->feature[parity][old].id <= last_id) old++;
    return old;
}

/** 1 if a keyframe may be a candidate: it is of a loaded map, or so old that odometry does not cover it. */
VF_FN int vf_recall_eligible(const struct vf_recall_view *s, const struct vf_keyframe *k)
{
    if (k->origin) return k->used != 0;
    return k->used && s->ingest->params.frame >= k->frame + VF_RECALL_MIN_FRAMES &&
           (s->ingest->params.frame >= k->frame + VF_RECALL_TRACKED_FRAMES ||
            vf_recall_common_tracks(s, k->last_id) <= VF_RECALL_MAX_TRACKS);
}

/** Rank by score of the keyframe in ring slot i as a candidate: the greatest is best; 0: no candidate. */
VF_FN uint64_t vf_recall_rank(const struct vf_recall_view *s, int32_t i)
{
    const uint32_t score = s->recall->score[i];
    return score && vf_recall_eligible(s, &s->keyframe->ring[i].head) ? (uint64_t)score << 16 | (uint64_t)(65535 - i)
                                                                      : 0;
}
/** Rank by nearness in pose of the keyframe in ring slot i as a candidate: the greatest is best; 0: too far away,
 *  or no candidate. */
VF_FN uint64_t vf_recall_pose_rank(const struct vf_recall_view *s, int32_t i)
{
    const struct vf_keyframe *k = &s->keyframe->ring[i].head;
    const struct vf_chain_pose *now = &s->keyframe->now[s->parity ^ 1].pose;
    if (!vf_recall_eligible(s, k) || !vf_chain_position_known(&k->pose, now)) return 0;
    const double radius = vf_chain_drift_m(&k->pose, now) + 1.0, square = vf_chain_distance2(&k->pose, now),
                 half = vf_chain_half_cosine(&k->pose, now);
    if (!(square < radius * radius && half > 0.9)) return 0;
    /* 4 sin^2 of half the angle: squared displacement of a point 1 m away by the rotation [m^2] */
    const double distance2 = square + 4.0 * (1.0 - half * half);
    const uint64_t limit = 1ull << 40, value = distance2 < 1e6 ? (uint64_t)(distance2 * 1e6) : limit - 2;
    return (limit - 1 - value) << 16 | (uint64_t)(65535 - i);
}

/** Selects the candidates: the last one by pose, if a keyframe is near enough, the others by score. Run by one
 *  block. */
VF_FN void vf_recall_select(const struct vf_recall_view *s)
{
    struct vf_recall_memory *m = s->recall;
    const int first = s->ingest->params.frame == 0;
    VF_NO_UNROLL
    for (int pick = 0; pick < VF_RECALL_CANDIDATES; pick++) {
        const int last = pick == VF_RECALL_CANDIDATES - 1;
        VF_PARTS(i, first ? 0 : VFRONT_KEYFRAMES)
        {
            int taken = 0;
            for (int k = 0; k < pick; k++) taken |= m->top[k] && 65535 - (int32_t)(m->top[k] & 65535) == i;
            const uint64_t rank = taken ? 0 : last ? vf_recall_pose_rank(s, i) : vf_recall_rank(s, i);
            if (rank) vf_atomic_max64(&m->top[pick], rank);
        }
        VF_ITEM_SYNC();
        if (!last || m->top[pick]) continue;
        VF_ITEM_SYNC();
        VF_PARTS(i, first ? 0 : VFRONT_KEYFRAMES)
        {
            int taken = 0;
            for (int k = 0; k < pick; k++) taken |= m->top[k] && 65535 - (int32_t)(m->top[k] & 65535) == i;
            const uint64_t rank = taken ? 0 : vf_recall_rank(s, i);
            if (rank) vf_atomic_max64(&m->top[pick], rank);
        }
        VF_ITEM_SYNC();
    }
    VF_PARTS(k, VF_RECALL_CANDIDATES)
    m->candidate[k] = m->set[s->parity].count && m->top[k] ? 65535u - (uint32_t)(m->top[k] & 65535) : VF_NONE;
}

#endif

#endif
