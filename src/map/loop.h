/* SPDX-License-Identifier: MIT */
/* loop: decides which relative poses are accepted as loops.
 *
 * In      relative poses of this frame and its candidates (relpose), pose of this frame (keyframe), map data of the
 *         previous frame
 * Out     loops of this frame for the result; by parity: recent loop hypotheses
 * Rule    - a wrong loop is worse than a missed one. A hypothesis is the pose of camera 0 that a relative pose implies
 *           in the keyframe's chain. It is accepted in one of two cases:
 *         - keyframe in this frame's chain: the pose lies within the drift bound of the chain (vf_chain_drift_m(),
 *           vf_chain_drift_rad()) or within the error bound of the frame's pose in the map, which is smaller for old
 *           keyframes. In addition a hypothesis of another keyframe agrees, or VF_LOOP_REPEATS earlier hypotheses of
 *           the same keyframe agree
 *         - keyframe in another chain: no other motion fits the correspondences nearly as well, and hypotheses of two
 *           other keyframes agree
 *         - a hypothesis is compared with those of this frame and of the last VF_LOOP_FRAMES frames, which are moved to
 *           this frame along its chain. Two hypotheses can be compared if their keyframes belong to the same chain, or
 *           if both keyframes have a pose in the map
 *         - two hypotheses agree if positions differ by at most VF_LOOP_AGREE_M plus 3 times the sum of their standard
 *           deviations, and attitudes by at most VF_LOOP_AGREE_RAD. Without metric scale only attitudes are compared
 * Exact   double precision in one order
 * Shared  all arithmetic: vf_loop_decide() is the one launch
 * Memory  11 KB
 */
#ifndef VF_LOOP_H
#define VF_LOOP_H

#include "keyframe.h"
#include "map_data.h"
#include "relpose.h"

/** Number of loop hypotheses of earlier frames that are kept. */
#define VF_LOOP_RECENT 16
/** Greatest age at which a kept hypothesis may still confirm another one [frames]. */
#define VF_LOOP_FRAMES 15

#define VF_LOOP_AGREE_M 0.15
#define VF_LOOP_AGREE_RAD 0.07
#define VF_LOOP_REPEATS 2

/** Loop hypothesis: pose of a frame implied by its relative pose to a keyframe. */
struct vf_loop_hypothesis {
    uint64_t frame,                   /* number of the frame; VF_LOOP_NO_FRAME: no hypothesis */
        keyframe;                     /* number of the keyframe, vf_keyframe_number() */
    struct vf_chain_pose by_keyframe; /* pose of the frame in the chain of the keyframe */
    struct vf_chain_pose by_map;      /* pose of the frame in the map, from that of the keyframe */
    struct vf_chain_pose own;         /* pose of the frame in its own motion chain */
    double sigma_m;                   /* standard deviation of the relative translation, all axes together [m] */
    uint32_t metric,                  /* 1: the translation is in metres; 0: unknown scale */
        placed;                       /* 1: `by_map` is valid, the keyframe's pose in the map is known */
};
#define VF_LOOP_NO_FRAME UINT64_MAX

/** Number of hypotheses that each candidate is compared with: those of this frame, then VF_LOOP_RECENT of earlier
 *  frames. */
#define VF_LOOP_HYPOTHESES (VF_RECALL_CANDIDATES + VF_LOOP_RECENT)

/** Ring of the last VF_LOOP_RECENT loop hypotheses of earlier frames. */
struct vf_loop_recent {
    struct vf_loop_hypothesis hypothesis[VF_LOOP_RECENT];
    uint32_t next, reserved; /* index at which the next hypothesis is written */
};

struct vf_loop_memory {
#if VFRONT_MAP
    struct vf_loop_recent recent[2];          /* ring after this and the previous frame, by parity */
    vfront_loop_t loop[VF_RECALL_CANDIDATES]; /* out: loops of this frame, `count` of them */
    uint32_t count;                           /* out: number of loops of this frame */
    uint32_t shown;                      /* out: index of the loop whose correspondences are reported; VF_NONE: none */
    uint32_t from[VF_RECALL_CANDIDATES]; /* out: number of the candidate of each loop */
    uint32_t reserved;
    struct vf_loop_hypothesis hypothesis[VF_RECALL_CANDIDATES]; /* hypothesis of each candidate of this frame */
    int32_t plausible[VF_RECALL_CANDIDATES]; /* by candidate; 1: its pose is within a drift or error bound */
    int32_t supports[VF_RECALL_CANDIDATES][VF_LOOP_HYPOTHESES]; /* 1: candidate and compared hypothesis agree */
#else
    uint64_t nothing;
#endif
};

/* View of stage loop: the data it may access (base/view.h). */
/* clang-format off */
#define VF_READS_loop(X) X(ingest) X(recall) X(relpose) X(keyframe)
#define VF_BEFORE_loop(X) X(map)
#define VF_GEOMETRY_loop(X) X(active)
#define VF_TUNING_loop(X)
/* clang-format on */
VF_GEOMETRY_OF(loop);
struct vf_loop_view {
    VF_VIEW(loop);
};
VF_HOST_FORM(loop);

/** Numbers of keyframes and loops for the result. */
struct vf_loop_counts {
    uint32_t keyframe, /* 1: this frame is a keyframe */
        keyframes,     /* number of keyframes in the ring */
        loops,         /* number of loops of this frame */
        pairs,         /* number of correspondences reported */
        of;            /* index of the loop whose correspondences are reported */
};
/** Numbers for the result; all 0 if stage loop is not active. active: set of active stages. */
VF_FN struct vf_loop_counts vf_loop_count(const struct vf_loop_memory *m, const struct vf_keyframe_memory *k,
                                          const struct vf_relpose_memory *o, uint32_t active, int32_t parity)
{
    struct vf_loop_counts counts = {0, 0, 0, 0, 0};
    (void)m, (void)k, (void)o, (void)active, (void)parity;
#if VFRONT_MAP
    if (!(active & VF_BIT(loop))) return counts;
    counts.keyframe = k->now[parity].due;
    counts.keyframes = k->now[parity].count;
    counts.loops = m->count;
    if (m->shown == VF_NONE) return counts;
    counts.of = m->shown;
    counts.pairs = o->work[m->from[m->shown]].count;
#endif
    return counts;
}

#if VFRONT_MAP
/** Correspondences of the loop m->shown, the one whose correspondences are reported. */
VF_FN const vfront_loop_pair_t *vf_loop_pairs(const struct vf_loop_memory *m, const struct vf_relpose_memory *o)
{
    return o->work[m->from[m->shown]].output;
}
#endif

#if VFRONT_MAP

/** Makes the loop hypothesis of candidate c from its relative pose. */
VF_FN void vf_loop_make_hypothesis(const struct vf_loop_view *s, int c, struct vf_loop_hypothesis *to)
{
    const struct vf_relpose_estimate *f = &s->relpose->found[c];
    const struct vf_keyframe *k = &s->relpose->head[c];
    memset(to, 0, sizeof *to);
    to->frame = s->ingest->params.frame;
    to->keyframe = vf_keyframe_number(k);
    to->own = s->keyframe->now[s->parity].pose;
    to->metric = f->kind == (uint32_t)VF_METRIC;
    const float none[3] = {0.0f, 0.0f, 0.0f};
    to->by_keyframe = k->pose;
    vf_chain_compose(&k->pose, f->pose.R, to->metric ? f->pose.t : none, &to->by_keyframe);
    const uint32_t slot = s->recall->candidate[c];
    const struct vf_map_data *map = &s->map->data[s->parity ^ 1];
    to->placed = to->metric && map->placed_node[slot] && !vf_keyframe_replaced(s->keyframe, s->parity, slot);
    if (to->placed) {
        vf_map_to_chain(&map->node[slot], &to->by_map);
        vf_chain_compose(&to->by_map, f->pose.R, f->pose.t, &to->by_map);
    }
    to->sigma_m = sqrt((double)f->covariance[0] + (double)f->covariance[6] + (double)f->covariance[11]);
}

/** Computes the pose of b relative to a, a^-1 b: quaternion q, and position p in axes of a. */
VF_FN void vf_chain_between(const struct vf_chain_pose *a, const struct vf_chain_pose *b, double q[4], double p[3])
{
    const double back[4] = {a->q_chain_cam[0], -a->q_chain_cam[1], -a->q_chain_cam[2], -a->q_chain_cam[3]};
    double M[9], moved[3];
    vf_quaternion_multiply(back, b->q_chain_cam, q);
    vf_quaternion_matrix(back, M);
    for (int k = 0; k < 3; k++) moved[k] = b->position_m[k] - a->position_m[k];
    vf_transform_double(M, moved, p);
}

/** 1 if two poses differ by at most angle_rad and, if metric, distance_m. */
VF_FN int vf_loop_within(const struct vf_chain_pose *a, const struct vf_chain_pose *b, double distance_m,
                         double angle_rad, int metric)
{
    const double half = vf_chain_half_cosine(a, b), sine2 = 1.0 - half * half, limit = 0.5 * angle_rad;
    return sine2 <= limit * limit && (!metric || vf_chain_distance2(a, b) <= distance_m * distance_m);
}

/** 1 if two loop hypotheses agree: the poses that they give this frame are close. b may be of an earlier frame in the
 *  same motion chain. */
VF_FN int vf_loop_agree(const struct vf_loop_hypothesis *a, const struct vf_loop_hypothesis *b)
{
    const int in_chain = vf_chain_attitude_known(&a->by_keyframe, &b->by_keyframe),
              metric = in_chain ? a->metric && b->metric && vf_chain_position_known(&a->by_keyframe, &b->by_keyframe)
                                : 1;
    const struct vf_chain_pose *own = in_chain ? &a->by_keyframe : &a->by_map;
    struct vf_chain_pose carried = in_chain ? b->by_keyframe : b->by_map;
    if (!in_chain && !(a->placed && b->placed)) return 0;
    if (a->frame != b->frame) {
        double q[4], p[3], M[9];
        if (!vf_chain_attitude_known(&a->own, &b->own) || (metric && !vf_chain_position_known(&a->own, &b->own)))
            return 0;
        vf_chain_between(&b->own, &a->own, q, p);
        vf_quaternion_matrix(carried.q_chain_cam, M);
        for (int k = 0; k < 3; k++)
            carried.position_m[k] += M[3 * k] * p[0] + M[3 * k + 1] * p[1] + M[3 * k + 2] * p[2];
        vf_quaternion_multiply(carried.q_chain_cam, q, carried.q_chain_cam);
    }
    return vf_loop_within(own, &carried, VF_LOOP_AGREE_M + 3.0 * (a->sigma_m + b->sigma_m), VF_LOOP_AGREE_RAD, metric);
}

/** Hypothesis k, 0 to VF_LOOP_HYPOTHESES - 1, of those that each candidate is compared with: candidates of this frame,
 *  then earlier frames. */
VF_FN const struct vf_loop_hypothesis *vf_loop_compared(const struct vf_loop_memory *m, int32_t parity, int k)
{
    return k < VF_RECALL_CANDIDATES ? &m->hypothesis[k] : &m->recent[parity ^ 1].hypothesis[k - VF_RECALL_CANDIDATES];
}

/** 1 if the hypothesis of candidate c is plausible; its keyframe is in this frame's chain. The hypothesis must lie
 *  within the drift bound of the chain, or within the error bound of the frame's pose in the map. */
VF_FN int vf_loop_plausible(const struct vf_loop_view *s, int c, const struct vf_loop_hypothesis *own)
{
    const struct vf_map_data *map = &s->map->data[s->parity ^ 1];
    const struct vf_chain_pose *from = &s->relpose->head[c].pose;
    struct vf_chain_pose mapped;
    if (vf_loop_within(&own->by_keyframe, &own->own, vf_chain_drift_m(from, &own->own) + 3.0 * own->sigma_m,
                       vf_chain_drift_rad(from, &own->own),
                       own->metric && vf_chain_position_known(&own->by_keyframe, &own->own)))
        return 1;
    return s->ingest->params.frame && own->placed && vf_map_pose_of(map, &own->own, &mapped) &&
           vf_loop_within(&own->by_map, &mapped, vf_map_bound_m(map) + 3.0 * own->sigma_m, vf_map_bound_rad(map), 1);
}

/** 1 if candidate c has a valid relative pose. */
VF_FN int vf_loop_has_hypothesis(const struct vf_loop_view *s, int c)
{
    return s->relpose->head[c].used && s->relpose->found[c].valid;
}

/** 1 if hypothesis k of vf_loop_compared() is of another candidate or of a recent frame, and agrees with that of
 *  candidate c. */
VF_FN int vf_loop_supports(const struct vf_loop_view *s, int c, int k)
{
    const struct vf_loop_hypothesis *own = &s->loop->hypothesis[c], *b = vf_loop_compared(s->loop, s->parity, k);
    if (!vf_loop_has_hypothesis(s, c)) return 0;
    if (k < VF_RECALL_CANDIDATES
            ? k == c || !vf_loop_has_hypothesis(s, k)
            : !s->ingest->params.frame || b->frame == VF_LOOP_NO_FRAME || b->frame + VF_LOOP_FRAMES < own->frame)
        return 0;
    return vf_loop_agree(own, b);
}

/** Decides the state of candidate c, a vfront_loop_state. *agreeing: number of other keyframes whose hypotheses
 *  agree. */
VF_FN uint32_t vf_loop_classify(const struct vf_loop_view *s, int c, uint32_t *agreeing)
{
    const struct vf_loop_memory *m = s->loop;
    const struct vf_loop_hypothesis *own = &m->hypothesis[c];
    uint64_t other[VF_LOOP_HYPOTHESES];
    uint32_t others = 0, repeats = 0;
    *agreeing = 0;
    if (!s->relpose->found[c].valid) return VFRONT_LOOP_FEW;
    const int same_chain = vf_chain_attitude_known(&own->by_keyframe, &own->own);
    if (same_chain && !m->plausible[c]) return VFRONT_LOOP_FAR;
    if (!same_chain && s->relpose->found[c].rival) return VFRONT_LOOP_TWO;
    for (int k = 0; k < VF_LOOP_HYPOTHESES; k++) {
        if (!m->supports[c][k]) continue;
        const uint64_t keyframe = vf_loop_compared(m, s->parity, k)->keyframe;
        int known = keyframe == own->keyframe;
        repeats += (uint32_t)known;
        for (uint32_t i = 0; i < others; i++) known |= other[i] == keyframe;
        if (!known) other[others++] = keyframe;
    }
    *agreeing = others;
    return others >= (same_chain ? 1u : 2u) || (same_chain && repeats >= VF_LOOP_REPEATS) ? VFRONT_LOOP_ACCEPTED
                                                                                          : VFRONT_LOOP_ALONE;
}

/** Fills the loop of candidate c in the form of the result. */
VF_FN void vf_loop_output(const struct vf_loop_view *s, int c, uint32_t state, uint32_t agreeing, vfront_loop_t *to)
{
    const struct vf_relpose_estimate *f = &s->relpose->found[c];
    memset(to, 0, sizeof *to);
    to->frame = s->relpose->head[c].frame;
    to->t_ns = s->relpose->head[c].t_ns;
    to->loaded = s->relpose->head[c].origin != 0;
    to->state = state;
    to->kind = f->kind == (uint32_t)VF_METRIC     ? VFRONT_LOOP_METRIC
               : f->kind == (uint32_t)VF_RELATIVE ? VFRONT_LOOP_RELATIVE
                                                  : VFRONT_LOOP_ROTATION;
    to->pairs = f->pairs;
    to->inliers = f->inliers;
    to->agreeing = agreeing;
    to->parallax_rad = f->parallax_rad;
    for (int k = 0; k < 9; k++) to->R[k] = k % 4 == 0 ? 1.0f : 0.0f;
    if (!f->valid) return;
    memcpy(to->R, f->pose.R, sizeof to->R);
    memcpy(to->t, f->pose.t, sizeof to->t);
    memcpy(to->covariance, f->covariance, sizeof to->covariance);
}

/** Makes the hypotheses of all candidates, and tests which ones agree. Those of earlier frames are copied from the
 *  memory of the previous frame; in the first frame there are none. Run by one block. */
VF_FN void vf_loop_compare(const struct vf_loop_view *s)
{
    struct vf_loop_memory *m = s->loop;
    struct vf_loop_recent *recent = &m->recent[s->parity];
    const vf_long_word *from = (const vf_long_word *)&m->recent[s->parity ^ 1];
    VF_PARTS(c, VF_RECALL_CANDIDATES)
    if (vf_loop_has_hypothesis(s, c)) vf_loop_make_hypothesis(s, c, &m->hypothesis[c]);
    VF_PARTS(i, (int)(sizeof *recent / 8))((vf_long_word *)recent)[i] = s->ingest->params.frame ? from[i] : 0;
    VF_ITEM_SYNC();
    VF_PARTS(k, s->ingest->params.frame ? 0 : VF_LOOP_RECENT) recent->hypothesis[k].frame = VF_LOOP_NO_FRAME;
    VF_PARTS(c, VF_RECALL_CANDIDATES)
    m->plausible[c] = vf_loop_has_hypothesis(s, c) && vf_loop_plausible(s, c, &m->hypothesis[c]);
    VF_PARTS(n, VF_RECALL_CANDIDATES * VF_LOOP_HYPOTHESES)
    m->supports[n / VF_LOOP_HYPOTHESES][n % VF_LOOP_HYPOTHESES] = vf_loop_supports(s, n / VF_LOOP_HYPOTHESES,
                                                                                   n % VF_LOOP_HYPOTHESES);
    VF_ITEM_SYNC();
}

/** Decides the states of all candidates. Stores for later frames the hypotheses that are accepted or lack only
 *  agreement. Run by one thread. */
VF_FN void vf_loop_decisions(const struct vf_loop_view *s)
{
    struct vf_loop_memory *m = s->loop;
    struct vf_loop_recent *recent = &m->recent[s->parity];
    uint32_t best = 0;
    m->count = 0;
    m->shown = VF_NONE;
    for (int c = 0; c < VF_RECALL_CANDIDATES; c++) {
        uint32_t agreeing;
        if (!s->relpose->head[c].used) continue;
        const uint32_t state = vf_loop_classify(s, c, &agreeing),
                       weight = s->relpose->found[c].inliers + (state == VFRONT_LOOP_ACCEPTED ? 1000u : 0u) + 1u;
        m->from[m->count] = (uint32_t)c;
        vf_loop_output(s, c, state, agreeing, &m->loop[m->count++]);
        m->shown = weight > best ? m->count - 1 : m->shown;
        best = weight > best ? weight : best;
        if (state != VFRONT_LOOP_ACCEPTED && state != VFRONT_LOOP_ALONE) continue;
        recent->hypothesis[recent->next] = m->hypothesis[c];
        recent->next = (recent->next + 1) % VF_LOOP_RECENT;
    }
}

/** Decides the loops of this frame: makes hypotheses, compares and classifies them. Run by one block. */
VF_FN void vf_loop_decide(const struct vf_loop_view *s)
{
    vf_loop_compare(s);
    VF_PARTS(one, 1) vf_loop_decisions(s);
}

#endif

#endif
