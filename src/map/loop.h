/* SPDX-License-Identifier: MIT */
/* loop: which overlaps are loops.
 *
 * In      overlaps of this frame with its candidates; pose of this frame (keyframe); the map of the frame before
 * Out     loops of the step as the result has them; the last overlaps, by parity
 * Rule    a wrong loop is worse than none. An overlap says where camera 0 is in the path of its keyframe. It is
 *         accepted 1. if, where the keyframe belongs to the path of this frame, that is within what the path can have
 *            drifted by since (vf_path_drift_m(), vf_path_drift_rad()), or within what the frame's place in the map can
 *            be off by: an old keyframe is far back on the path, but the map knows where; and
 *         2. if, where it does not belong to it, no other motion fits the correspondences nearly as well; and
 *         3. if others say the same: overlaps with other keyframes of that path, or of any one if the places of both
 *            in the map are known, of this frame or of the last VF_LOOP_FRAMES ones, carried to this frame along its
 *            path. One has to where rule 1 holds it, two where it does not; or VF_LOOP_AGAIN earlier frames with the
 *            same keyframe
 *         Positions agree within VF_LOOP_APART_M and 3 standard deviations, attitudes within VF_LOOP_APART_RAD; of
 *         overlaps without length, of one camera, attitudes alone
 * Exact   double precision in one order
 * Shared  all: vf_loop_decide() is the one launch
 * Memory  11 KB
 */
#ifndef VF_LOOP_H
#define VF_LOOP_H

#include "keyframe.h"
#include "map_state.h"
#include "overlap.h"

/** Overlaps that are kept; frames after which they are forgotten. */
#define VF_LOOP_KEPT 16
#define VF_LOOP_FRAMES 15

#define VF_LOOP_APART_M 0.15
#define VF_LOOP_APART_RAD 0.07
#define VF_LOOP_AGAIN 2

/** Verdict on an overlap. */
struct vf_loop_claim {
    uint64_t frame, keyframe;        /* of this frame; vf_keyframe_number(). frame VF_LOOP_NEVER: none */
    struct vf_path_pose by_keyframe; /* pose of the frame in the path of the keyframe */
    struct vf_path_pose by_map;      /* pose of the frame in the map, by where the keyframe lies in it */
    struct vf_path_pose own;         /* pose of the frame in its own path */
    double sigma_m;
    uint32_t metric, placed; /* placed: where the keyframe lies in the map is known */
};
#define VF_LOOP_NEVER UINT64_MAX

/** Claims with which each one is compared: those of the candidates, then the last ones. */
#define VF_LOOP_CLAIMS (VF_PLACE_CANDIDATES + VF_LOOP_KEPT)

/** The last of them. */
struct vf_loop_recent {
    struct vf_loop_claim claim[VF_LOOP_KEPT];
    uint32_t next, reserved; /* place of the next one */
};

struct vf_loop_memory {
#if VFRONT_MAP
    struct vf_loop_recent recent[2];         /* by parity */
    vfront_loop_t loop[VF_PLACE_CANDIDATES]; /* out */
    uint32_t count;                          /* out */
    uint32_t shown;                          /* out: candidate whose correspondences a result has; VF_NONE: none */
    uint32_t from[VF_PLACE_CANDIDATES];      /* out: candidate of each loop */
    uint32_t reserved;
    struct vf_loop_claim claim[VF_PLACE_CANDIDATES];      /* of a step: of each candidate; */
    int32_t near[VF_PLACE_CANDIDATES];                    /* 1: rule 1 holds it, where it belongs to the path; */
    int32_t seconds[VF_PLACE_CANDIDATES][VF_LOOP_CLAIMS]; /* 1: that claim says the same */
#else
    uint64_t nothing;
#endif
};

/* View of loop: core/view.h. */
/* clang-format off */
#define VF_READS_loop(X) X(ingest) X(place) X(overlap) X(keyframe)
#define VF_BEFORE_loop(X) X(map)
#define VF_GEOMETRY_loop(X) X(active)
#define VF_TUNING_loop(X)
/* clang-format on */
VF_GEOMETRY_OF(loop);
struct vf_loop_view {
    VF_VIEW(loop);
};
VF_HOST_FORM(loop);

/** Counts of a result: keyframes and loops. */
struct vf_loop_counts {
    uint32_t keyframe, keyframes, loops, pairs, of;
};
VF_FN struct vf_loop_counts vf_loop_count(const struct vf_loop_memory *m, const struct vf_keyframe_memory *k,
                                          const struct vf_overlap_memory *o, uint32_t active, int32_t parity)
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
/** Correspondences of that loop. */
VF_FN const vfront_loop_pair_t *vf_loop_pairs(const struct vf_loop_memory *m, const struct vf_overlap_memory *o)
{
    return o->work[m->from[m->shown]].told;
}
#endif

#if VFRONT_MAP

/** Claim of candidate c. */
VF_FN void vf_loop_claim_of(const struct vf_loop_view *s, int c, struct vf_loop_claim *to)
{
    const struct vf_overlap_found *f = &s->overlap->found[c];
    const struct vf_keyframe *k = &s->overlap->head[c];
    memset(to, 0, sizeof *to);
    to->frame = s->ingest->params.frame;
    to->keyframe = vf_keyframe_number(k);
    to->own = s->keyframe->now[s->parity].pose;
    to->metric = f->kind == (uint32_t)VF_METRIC;
    const float none[3] = {0.0f, 0.0f, 0.0f};
    to->by_keyframe = k->pose;
    vf_path_go(&k->pose, f->pose.R, to->metric ? f->pose.t : none, &to->by_keyframe);
    const uint32_t slot = s->place->candidate[c];
    const struct vf_map_state *map = &s->map->state[s->parity ^ 1];
    to->placed = to->metric && map->placed_node[slot] && !vf_keyframe_gone(s->keyframe, s->parity, slot);
    if (to->placed) {
        vf_map_to_path(&map->node[slot], &to->by_map);
        vf_path_go(&to->by_map, f->pose.R, f->pose.t, &to->by_map);
    }
    to->sigma_m = sqrt((double)f->covariance[0] + (double)f->covariance[6] + (double)f->covariance[11]);
}

/** out = inverse of a, times b: the way from a to b, in axes of a. */
VF_FN void vf_path_between(const struct vf_path_pose *a, const struct vf_path_pose *b, double q[4], double p[3])
{
    const double back[4] = {a->q_path_cam[0], -a->q_path_cam[1], -a->q_path_cam[2], -a->q_path_cam[3]};
    double M[9], moved[3];
    vf_quaternion_multiply(back, b->q_path_cam, q);
    vf_quaternion_matrix(back, M);
    for (int k = 0; k < 3; k++) moved[k] = b->position_m[k] - a->position_m[k];
    vf_transform_double(M, moved, p);
}

/** 1 if poses are within a distance (where length counts) and an angle. */
VF_FN int vf_loop_close(const struct vf_path_pose *a, const struct vf_path_pose *b, double distance_m, double angle_rad,
                        int metric)
{
    const double half = vf_path_half_cosine(a, b), sine2 = 1.0 - half * half, most = 0.5 * angle_rad;
    return sine2 <= most * most && (!metric || vf_path_distance2(a, b) <= distance_m * distance_m);
}

/** 1 if two claims say the same of this frame: b may be of an earlier one, in the same path as a. */
VF_FN int vf_loop_agree(const struct vf_loop_claim *a, const struct vf_loop_claim *b)
{
    const int in_path = vf_path_turned(&a->by_keyframe, &b->by_keyframe),
              metric = in_path ? a->metric && b->metric && vf_path_placed(&a->by_keyframe, &b->by_keyframe) : 1;
    const struct vf_path_pose *own = in_path ? &a->by_keyframe : &a->by_map;
    struct vf_path_pose carried = in_path ? b->by_keyframe : b->by_map;
    if (!in_path && !(a->placed && b->placed)) return 0;
    if (a->frame != b->frame) {
        double q[4], p[3], M[9];
        if (!vf_path_turned(&a->own, &b->own) || (metric && !vf_path_placed(&a->own, &b->own))) return 0;
        vf_path_between(&b->own, &a->own, q, p);
        vf_quaternion_matrix(carried.q_path_cam, M);
        for (int k = 0; k < 3; k++)
            carried.position_m[k] += M[3 * k] * p[0] + M[3 * k + 1] * p[1] + M[3 * k + 2] * p[2];
        vf_quaternion_multiply(carried.q_path_cam, q, carried.q_path_cam);
    }
    return vf_loop_close(own, &carried, VF_LOOP_APART_M + 3.0 * (a->sigma_m + b->sigma_m), VF_LOOP_APART_RAD, metric);
}

/** Claim k of those that others are compared with. */
VF_FN const struct vf_loop_claim *vf_loop_other(const struct vf_loop_memory *m, int32_t parity, int k)
{
    return k < VF_PLACE_CANDIDATES ? &m->claim[k] : &m->recent[parity ^ 1].claim[k - VF_PLACE_CANDIDATES];
}

/** 1 if a claim of the frame's own path is within what the path can have drifted by since, or within what the frame's
 *  place in the map can be off by. */
VF_FN int vf_loop_near(const struct vf_loop_view *s, int c, const struct vf_loop_claim *own)
{
    const struct vf_map_state *map = &s->map->state[s->parity ^ 1];
    const struct vf_path_pose *from = &s->overlap->head[c].pose;
    struct vf_path_pose there;
    if (vf_loop_close(&own->by_keyframe, &own->own, vf_path_drift_m(from, &own->own) + 3.0 * own->sigma_m,
                      vf_path_drift_rad(from, &own->own), own->metric && vf_path_placed(&own->by_keyframe, &own->own)))
        return 1;
    return s->ingest->params.frame && own->placed && vf_map_pose_of(map, &own->own, &there) &&
           vf_loop_close(&own->by_map, &there, vf_map_off_m(map) + 3.0 * own->sigma_m, vf_map_off_rad(map), 1);
}

/** 1 if candidate c makes a claim. */
VF_FN int vf_loop_claims(const struct vf_loop_view *s, int c)
{
    return s->overlap->head[c].used && s->overlap->found[c].enough;
}

/** 1 if claim k says the same as that of candidate c: of this frame's other candidates, or of earlier frames. */
VF_FN int vf_loop_seconds(const struct vf_loop_view *s, int c, int k)
{
    const struct vf_loop_claim *own = &s->loop->claim[c], *b = vf_loop_other(s->loop, s->parity, k);
    if (!vf_loop_claims(s, c)) return 0;
    if (k < VF_PLACE_CANDIDATES
            ? k == c || !vf_loop_claims(s, k)
            : !s->ingest->params.frame || b->frame == VF_LOOP_NEVER || b->frame + VF_LOOP_FRAMES < own->frame)
        return 0;
    return vf_loop_agree(own, b);
}

/** State of candidate c from its claim, and how many agree with it. */
VF_FN uint32_t vf_loop_judge(const struct vf_loop_view *s, int c, uint32_t *agreeing)
{
    const struct vf_loop_memory *m = s->loop;
    const struct vf_loop_claim *own = &m->claim[c];
    uint64_t other[VF_LOOP_CLAIMS];
    uint32_t others = 0, again = 0;
    *agreeing = 0;
    if (!s->overlap->found[c].enough) return VFRONT_LOOP_FEW;
    const int same = vf_path_turned(&own->by_keyframe, &own->own);
    if (same && !m->near[c]) return VFRONT_LOOP_FAR;
    if (!same && s->overlap->found[c].rival) return VFRONT_LOOP_TWO;
    for (int k = 0; k < VF_LOOP_CLAIMS; k++) {
        if (!m->seconds[c][k]) continue;
        const uint64_t keyframe = vf_loop_other(m, s->parity, k)->keyframe;
        int known = keyframe == own->keyframe;
        again += (uint32_t)known;
        for (uint32_t i = 0; i < others; i++) known |= other[i] == keyframe;
        if (!known) other[others++] = keyframe;
    }
    *agreeing = others;
    return others >= (same ? 1u : 2u) || (same && again >= VF_LOOP_AGAIN) ? VFRONT_LOOP_ACCEPTED : VFRONT_LOOP_ALONE;
}

/** Loop of candidate c as the result has it. */
VF_FN void vf_loop_tell(const struct vf_loop_view *s, int c, uint32_t state, uint32_t agreeing, vfront_loop_t *to)
{
    const struct vf_overlap_found *f = &s->overlap->found[c];
    memset(to, 0, sizeof *to);
    to->frame = s->overlap->head[c].frame;
    to->t_ns = s->overlap->head[c].t_ns;
    to->loaded = s->overlap->head[c].origin != 0;
    to->state = state;
    to->kind = f->kind == (uint32_t)VF_METRIC     ? VFRONT_LOOP_METRIC
               : f->kind == (uint32_t)VF_RELATIVE ? VFRONT_LOOP_RELATIVE
                                                  : VFRONT_LOOP_ROTATION;
    to->pairs = f->pairs;
    to->inliers = f->inliers;
    to->agreeing = agreeing;
    to->parallax_rad = f->parallax_rad;
    for (int k = 0; k < 9; k++) to->R[k] = k % 4 == 0 ? 1.0f : 0.0f;
    if (!f->enough) return;
    memcpy(to->R, f->pose.R, sizeof to->R);
    memcpy(to->t, f->pose.t, sizeof to->t);
    memcpy(to->covariance, f->covariance, sizeof to->covariance);
}

/** Claims of the candidates, and the last ones as the frame before left them; in the first frame none. One block. */
VF_FN void vf_loop_compare(const struct vf_loop_view *s)
{
    struct vf_loop_memory *m = s->loop;
    struct vf_loop_recent *recent = &m->recent[s->parity];
    const vf_long_word *from = (const vf_long_word *)&m->recent[s->parity ^ 1];
    VF_PARTS(c, VF_PLACE_CANDIDATES)
    if (vf_loop_claims(s, c)) vf_loop_claim_of(s, c, &m->claim[c]);
    VF_PARTS(i, (int)(sizeof *recent / 8))((vf_long_word *)recent)[i] = s->ingest->params.frame ? from[i] : 0;
    VF_ITEM_SYNC();
    VF_PARTS(k, s->ingest->params.frame ? 0 : VF_LOOP_KEPT) recent->claim[k].frame = VF_LOOP_NEVER;
    VF_PARTS(c, VF_PLACE_CANDIDATES)
    m->near[c] = vf_loop_claims(s, c) && vf_loop_near(s, c, &m->claim[c]);
    VF_PARTS(n, VF_PLACE_CANDIDATES * VF_LOOP_CLAIMS)
    m->seconds[n / VF_LOOP_CLAIMS][n % VF_LOOP_CLAIMS] = vf_loop_seconds(s, n / VF_LOOP_CLAIMS, n % VF_LOOP_CLAIMS);
    VF_ITEM_SYNC();
}

/** Verdicts, from claims and who agrees with them. By one thread. */
VF_FN void vf_loop_verdicts(const struct vf_loop_view *s)
{
    struct vf_loop_memory *m = s->loop;
    struct vf_loop_recent *recent = &m->recent[s->parity];
    uint32_t best = 0;
    m->count = 0;
    m->shown = VF_NONE;
    for (int c = 0; c < VF_PLACE_CANDIDATES; c++) {
        uint32_t agreeing;
        if (!s->overlap->head[c].used) continue;
        const uint32_t state = vf_loop_judge(s, c, &agreeing),
                       weight = s->overlap->found[c].inliers + (state == VFRONT_LOOP_ACCEPTED ? 1000u : 0u) + 1u;
        m->from[m->count] = (uint32_t)c;
        vf_loop_tell(s, c, state, agreeing, &m->loop[m->count++]);
        m->shown = weight > best ? m->count - 1 : m->shown;
        best = weight > best ? weight : best;
        if (state != VFRONT_LOOP_ACCEPTED && state != VFRONT_LOOP_ALONE) continue;
        recent->claim[recent->next] = m->claim[c];
        recent->next = (recent->next + 1) % VF_LOOP_KEPT;
    }
}

/** Loops of the step: one block. */
VF_FN void vf_loop_decide(const struct vf_loop_view *s)
{
    vf_loop_compare(s);
    VF_PARTS(one, 1) vf_loop_verdicts(s);
}

#endif

#endif
