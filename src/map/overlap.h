/* SPDX-License-Identifier: MIT */
/* overlap: relative pose of this frame and of each candidate of place, where their points agree.
 *
 * In      key points of this frame with bearings, descriptors and distances; candidates (place); the ring of keyframes
 * Out     for each candidate: correspondences, pose of this frame relative to it with covariance, inliers, and whether
 *         they are enough, spread over both pictures, and the pose sure; a copy of its head
 * Rule    a correspondence is a point of the keyframe and a key point of this frame that are each other's nearest by
 *         Hamming distance, with a ratio test against the second best key point elsewhere. (Against the few points that
 *         place takes of this frame there are half as many: the best corner of a cell is not always the same.) With two
 *         cameras the pose is metric: from three points with distances (perspective.h), with one from five points
 *         (essential_five.h), or, where nothing more is in the data, a rotation alone. The best of
 *         VF_OVERLAP_HYPOTHESES samples, by the score of motion.h, goes through VF_OVERLAP_STEPS Gauss-Newton steps
 *         on its inliers
 * Exact   integers; single precision in one order (motion.h, the solvers), a sum over correspondences in
 *         VF_OVERLAP_LANES parts, which are added one after the other
 * Shared  all arithmetic: vf_overlap_list(), vf_overlap_try(), vf_overlap_refine() are launches.
 *         Written twice: the search (overlap.c: vector code over tiles of key points; overlap.cu: a warp a point of the
 *         keyframe)
 * Memory  54 KB a candidate; of the host form on the stack: 12 KB
 */
#ifndef VF_OVERLAP_H
#define VF_OVERLAP_H

#include "geometry/ego_hypothesis.h"
#include "geometry/essential_five.h"
#include "geometry/perspective.h"
#include "place.h"

/** Samples of a candidate; those of them, the last, from which a rotation alone is made where there is one camera. Of
 *  both there are fewer in tests/map/endless.c, for time. */
#ifndef VF_OVERLAP_HYPOTHESES
#define VF_OVERLAP_HYPOTHESES 96
#define VF_OVERLAP_ROTATIONS 16
#endif

/** Largest Hamming distance of a correspondence; largest ratio of the distance to the second best [%]. */
#define VF_OVERLAP_DISTANCE 64
#define VF_OVERLAP_RATIO 90

/** Bound of the error of an inlier, for points of level 0 [px]: key points lie on whole pixels of their level. */
#define VF_OVERLAP_ERROR_PX 2.0f

/** Gauss-Newton steps. */
#define VF_OVERLAP_STEPS 5

/** Parts of a sum over correspondences. */
#define VF_OVERLAP_LANES 128

/** Sums over inliers: of (x, y, x^2, x y, y^2) in the keyframe and in this frame, of distances, of parallaxes. */
#define VF_OVERLAP_SUMS 12

/** Least evidence of an overlap: inliers; their share of the correspondences [%]; their least spread in either
 *  picture, a standard deviation along the axis in which they spread less [focal lengths]. */
#define VF_OVERLAP_INLIERS 25
#define VF_OVERLAP_SHARE 30
#define VF_OVERLAP_SPREAD 0.06f

/** Share of the inliers of a relative motion that a rotation alone explains, from which on it is one [%]. */
#define VF_OVERLAP_TURN 90

/** Least share of the correspondences that a rotation alone explains [%]: with as many inliers, one of the samples of
 *  five points would have found a motion, too (0.6^5 of 80). With fewer it may have found none, and a wall seen from
 *  elsewhere passes for one seen at another angle. */
#define VF_OVERLAP_TURN_SHARE 60

/** Share of the inlier score with which another motion makes the pose ambiguous, as the two motions that fit a plane do
 *  [%]; trace of the rotation between both, below which it is another one: 8 degrees. */
#define VF_OVERLAP_RIVAL_PERCENT 85
#define VF_OVERLAP_RIVAL_TRACE 2.98053f

/** Least parallax of a relative pose whose direction is told [rad]. An error of the rotation, by lens and shutter of a
 *  hand-held camera 2 degrees and more, turns the direction by as much over the parallax: by 5 degrees here. */
#define VF_OVERLAP_PARALLAX 0.4f

/** Largest standard deviation of the rotation of an overlap, all axes together [rad]: 1 degree. */
#define VF_OVERLAP_SURE_RAD 0.0175f

/** The same of the translation, where it has a length [m]: a quarter of what makes a loop wrong. */
#define VF_OVERLAP_SURE_M 0.04f

/** Standard deviations of what is the same for all points of a picture, lens and shutter: of the rotation about each
 *  axis [rad], and through it of the translation. */
#define VF_OVERLAP_COMMON_RAD 0.002f

/** Index of a motion among the hypotheses. */
enum { VF_OVERLAP_MOTION, VF_OVERLAP_ROTATION, VF_OVERLAP_RIVAL, VF_OVERLAP_KINDS };

/** Relative pose of a frame and a keyframe: p_now = R p_keyframe + t. */
struct vf_overlap_found {
    struct vf_pose pose;
    float covariance[21]; /* as in vfront_motion_t */
    uint32_t pairs, inliers;
    uint32_t kind;   /* vf_motion_kind */
    uint32_t enough; /* 1: this is an overlap */
    uint32_t rival;  /* 1: another motion fits nearly as well */
    float parallax_rad;
    float spread[2]; /* of the inliers in the keyframe, in this frame [focal lengths] */
};

/** Work on a candidate. */
struct vf_overlap_work {
    uint32_t
        found[VF_PLACE_POINTS]; /* of each point of the keyframe: its key point, vf_packed_match(); VF_NONE: none */
    struct vf_correspondence pair[VF_PLACE_POINTS]; /* by rising distance */
    vfront_loop_pair_t told[VF_PLACE_POINTS];       /* out: as a result has them */
    uint32_t count;
    struct vf_pose pose[VF_OVERLAP_HYPOTHESES];
    uint32_t rank[VF_OVERLAP_HYPOTHESES]; /* vf_ego_rank_key() */
    uint32_t best;                        /* of a choice: greatest rank */
    struct vf_normal_equations part[VF_OVERLAP_LANES], sum;
    struct vf_pose refined[VF_OVERLAP_KINDS];
    struct vf_normal_equations refined_sum[VF_OVERLAP_KINDS];
    float own[VF_PLACE_POINTS][VF_OVERLAP_SUMS]; /* share of each correspondence in sums over inliers, 0: it is none; */
    float total[VF_OVERLAP_SUMS];                /* the sums */
};

struct vf_overlap_memory {
#if VFRONT_MAP
    struct vf_overlap_found found[VF_PLACE_CANDIDATES]; /* out */
    struct vf_keyframe head[VF_PLACE_CANDIDATES];       /* out; its `used` 0: there is no such candidate */
    struct vf_overlap_work work[VF_PLACE_CANDIDATES];   /* out: correspondences; of a step */
#else
    uint64_t nothing;
#endif
};

/* View of overlap: core/view.h. */
/* clang-format off */
#define VF_READS_overlap(X) X(ingest) X(bearing) X(describe) X(stereo) X(place)
#define VF_BEFORE_overlap(X) X(keyframe)
#define VF_GEOMETRY_overlap(X) X(active) X(step_q16) X(focal_px)
#define VF_TUNING_overlap(X) X(ego_seed)
/* clang-format on */
VF_GEOMETRY_OF(overlap);
VF_TUNING_OF(overlap);
struct vf_overlap_view {
    VF_VIEW(overlap);
    struct vf_overlap_tuning tuning;
};
VF_HOST_FORM(overlap);

#if VFRONT_MAP

/** Points of candidate c; key points of this frame, and their number. */
VF_FN const struct vf_place_set *vf_overlap_before(const struct vf_overlap_view *s, int c)
{
    return &s->keyframe->ring[s->place->candidate[c]].set;
}
VF_FN const vfront_descriptor_t *vf_overlap_now(const struct vf_overlap_view *s)
{
    return s->describe->descriptor[s->parity][0];
}
VF_FN int32_t vf_overlap_count(const struct vf_overlap_view *s) { return (int32_t)s->bearing->count[s->parity][0]; }

/** 1 if there is a candidate c. */
VF_FN int vf_overlap_there(const struct vf_overlap_view *s, int c) { return s->place->candidate[c] != VF_NONE; }

/** Kind of motion that is looked for. */
VF_FN int vf_overlap_kind(const struct vf_overlap_view *s)
{
    return s->geometry.active & VF_BIT(stereo) ? VF_METRIC : VF_RELATIVE;
}

/* ---- correspondences --------------------------------------------------------------------------------------------- */

/** Correspondence of a point of the keyframe, as `found` has it: its best key point, if the second best distance
 *  elsewhere leaves it unique and the point is the best of the keyframe for that key point too. back: that best. */
VF_FN uint32_t vf_overlap_unique(uint32_t best, uint32_t second, uint32_t back, uint32_t point)
{
    const uint32_t distance = best >> 16;
    if (best == VF_NONE || distance > VF_OVERLAP_DISTANCE || !vf_ratio_test(VF_OVERLAP_RATIO, distance, second))
        return VF_NONE;
    return back == vf_packed_match(distance, point) ? best : VF_NONE;
}

/** 1 if point i of candidate c may have a correspondence. */
VF_FN int vf_overlap_wanted(const struct vf_overlap_view *s, int c, int32_t i)
{
    const struct vf_place_set *set = vf_overlap_before(s, c);
    return i < (int32_t)set->count && (vf_overlap_kind(s) != VF_METRIC || set->point[i].range_m > 0.0f);
}

/** Correspondence of two points. */
VF_FN struct vf_correspondence vf_overlap_pair(const struct vf_overlap_view *s, const struct vf_place_point *before,
                                               const struct vf_point *now, struct vf_range_estimate range)
{
    struct vf_correspondence c;
    const int32_t level = vf_max(before->level, now->level);
    const float focal_px = s->geometry.focal_px[0],
                error_px = VF_OVERLAP_ERROR_PX * (float)s->geometry.step_q16[level] * (1.0f / 65536.0f);
    vf_place_bearing(before, c.before);
    for (int k = 0; k < 3; k++) c.now[k] = now->bearing[k];
    c.weight = sqrtf(error_px * error_px + focal_px * focal_px) / error_px;
    c.range_m = before->range_m;
    c.range_sigma_m = before->range_m * ((float)before->sigma_q16 * (1.0f / 65536.0f));
    c.inverse_depth_1pm = range.m > 0.0f ? 1.0f / range.m : 0.0f;
    c.inverse_depth_sigma_1pm = range.m > 0.0f ? range.sigma_m / (range.m * range.m) : 0.0f;
    return c;
}

/** Correspondences of candidate c, by rising distance, and a copy of its head: one block. */
VF_FN void vf_overlap_list(const struct vf_overlap_view *s, int c)
{
    struct vf_overlap_memory *m = s->overlap;
    struct vf_overlap_work *w = &m->work[c];
    if (!vf_overlap_there(s, c)) {
        VF_PARTS(one, 1)
        {
            memset(&m->head[c], 0, sizeof m->head[c]);
            w->count = 0;
        }
        return;
    }
    VF_PARTS(i, VF_PLACE_POINTS)
    {
        const uint32_t found = w->found[i], key = found == VF_NONE ? VF_NONE : (found & ~0xffffu) | (uint32_t)i;
        int32_t before = 0, all = 0;
        for (int32_t k = 0; k < VF_PLACE_POINTS; k++) {
            before += w->found[k] != VF_NONE && ((w->found[k] & ~0xffffu) | (uint32_t)k) < key;
            all += w->found[k] != VF_NONE;
        }
        if (!i) {
            w->count = (uint32_t)all;
            m->head[c] = s->keyframe->ring[s->place->candidate[c]].head;
        }
        if (found == VF_NONE) continue;
        const uint32_t j = found & 0xffff;
        const struct vf_place_point *was = &vf_overlap_before(s, c)->point[i];
        const vfront_loop_pair_t told = {(uint16_t)j, was->keypoint, (uint16_t)(found >> 16), 0};
        const struct vf_range_estimate none = {0.0f, 0.0f};
        w->told[before] = told;
        w->pair[before] = vf_overlap_pair(s, was, &s->bearing->point[s->parity][0][j],
                                          vf_overlap_kind(s) == VF_METRIC ? vf_stereo_range(s->stereo, s->parity, j)
                                                                          : none);
    }
}

/* ---- hypotheses -------------------------------------------------------------------------------------------------- */

/** Candidate of a team. */
struct vf_overlap_scratch {
    union {
        struct vf_essential_scratch essential;
        struct vf_perspective_scratch perspective;
    } solver;
    float before[VF_EGO_SAMPLE_MAX][3], now[VF_EGO_SAMPLE_MAX][3];
    int32_t sample[VF_EGO_SAMPLE_MAX];
    struct vf_pose pose[10];
    int32_t valid[10];
};

/** Sum over a team, in every lane. */
VF_FN int32_t vf_overlap_team_sum(int32_t v)
{
#ifdef __CUDA_ARCH__
    for (int step = 16; step; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
#endif
    return v;
}

/** Kind of hypothesis h. */
VF_FN int vf_overlap_kind_of(const struct vf_overlap_view *s, int32_t h)
{
    const int kind = vf_overlap_kind(s);
    return kind == VF_RELATIVE && h >= VF_OVERLAP_HYPOTHESES - VF_OVERLAP_ROTATIONS ? VF_ROTATION_ONLY : kind;
}

/** Motions of a kind from the sample in b. Returns their number. */
VF_FN int vf_overlap_minimal(int kind, struct vf_overlap_scratch *b)
{
    const float(*before)[3] = (const float(*)[3])b->before, (*now)[3] = (const float(*)[3])b->now;
    if (kind == VF_METRIC) return vf_perspective_three(&b->solver.perspective, before, now, b->pose);
    if (kind == VF_ROTATION_ONLY) {
        VF_TEAM(one, 1) vf_ego_rotation_from_two(before, now, &b->pose[0]);
        VF_TEAM_SYNC();
        return 1;
    }
    const int matrices = vf_essential_five(&b->solver.essential, before, now);
    VF_TEAM(k, 10)
    b->valid[k] = k < matrices && vf_essential_pose(b->solver.essential.E[k], before, now, 5, &b->pose[k]);
    VF_TEAM_SYNC();
    return matrices;
}

/** Hypothesis h of candidate c: the best motion from its sample. By a team. */
VF_FN void vf_overlap_try(const struct vf_overlap_view *s, int c, int32_t h, struct vf_overlap_scratch *b)
{
    struct vf_overlap_work *w = &s->overlap->work[c];
    const int kind = vf_overlap_kind_of(s, h), all = VF_OVERLAP_HYPOTHESES;
    const int32_t size = kind == VF_METRIC ? 3 : kind == VF_RELATIVE ? 5 : 2, count = (int32_t)w->count;
    int32_t best = 0, which = 0;
    if (count >= VF_OVERLAP_INLIERS) {
        vf_ego_draw((uint32_t)s->tuning.ego_seed, s->ingest->params.frame, (uint32_t)((8 + c) << 16 | h), h, all, size,
                    count, b->sample);
        VF_TEAM(i, size)
        {
            const struct vf_correspondence *p = &w->pair[b->sample[i]];
            for (int k = 0; k < 3; k++) {
                b->before[i][k] = p->before[k] * (kind == VF_METRIC ? p->range_m : 1.0f);
                b->now[i][k] = p->now[k];
            }
        }
        VF_TEAM_SYNC();
        const int motions = vf_overlap_minimal(kind, b);
        for (int i = 0; i < motions; i++) {
            if (kind == VF_RELATIVE && !b->valid[i]) continue;
            int32_t score = 0;
            VF_TEAM(k, count)
            score += vf_motion_inlier_score(vf_motion_error(kind, &b->pose[i], &w->pair[k]));
            score = vf_overlap_team_sum(score);
            which = score > best ? i : which;
            best = vf_max(score, best);
        }
    }
    VF_TEAM(one, 1)
    {
        w->rank[h] = vf_ego_rank_key(best, h);
        if (best) w->pose[h] = b->pose[which];
    }
    VF_TEAM_SYNC();
}

/* ---- refinement -------------------------------------------------------------------------------------------------- */

/** Normal equations of a motion over the correspondences of a candidate: one block. */
VF_FN void vf_overlap_sum(struct vf_overlap_work *w, int kind, const struct vf_pose *pose)
{
    VF_PARTS(lane, VF_OVERLAP_LANES)
    {
        const struct vf_pose own = *pose; /* copies, in registers */
        struct vf_normal_equations part;
        memset(&part, 0, sizeof part);
        for (int32_t i = lane; i < (int32_t)w->count; i += VF_OVERLAP_LANES)
            vf_motion_accumulate(kind, &own, &w->pair[i], &part);
        w->part[lane] = part;
    }
    VF_ITEM_SYNC();
    VF_PARTS(k, VF_TERMS + 1)
    {
        float sum = 0.0f;
        if (k < VF_TERMS) {
            VF_UNROLL_16
            for (int lane = 0; lane < VF_OVERLAP_LANES; lane++) sum += w->part[lane].terms[k];
            w->sum.terms[k] = sum;
            continue;
        }
        w->sum.score = 0;
        w->sum.inliers = w->sum.residuals = 0;
        for (int lane = 0; lane < VF_OVERLAP_LANES; lane++) {
            w->sum.score += w->part[lane].score;
            w->sum.inliers += w->part[lane].inliers;
            w->sum.residuals += w->part[lane].residuals;
        }
    }
    VF_ITEM_SYNC();
}

VF_FN void vf_overlap_raise(uint32_t *at, uint32_t value)
{
#ifdef __CUDA_ARCH__
    atomicMax(at, value);
#else
    if (value > *at) *at = value;
#endif
}

/** 1 if two motions turn differently. */
VF_FN int vf_overlap_other(const struct vf_pose *a, const struct vf_pose *b)
{
    float trace = 0.0f;
    for (int k = 0; k < 9; k++) trace += a->R[k] * b->R[k];
    return trace < VF_OVERLAP_RIVAL_TRACE;
}

/** Best hypothesis of those from `first` on, refined, into refined[which]; with VF_OVERLAP_RIVAL of those that are
 *  other motions than the best: one block. */
VF_FN void vf_overlap_improve(struct vf_overlap_work *w, int kind, int which, int first, int end)
{
    struct vf_pose *pose = &w->refined[which];
    VF_PARTS(one, 1) w->best = 0;
    VF_ITEM_SYNC();
    VF_PARTS(n, end - first)
    {
        const int h = first + n;
        if (!w->rank[h]) continue;
        if (which != VF_OVERLAP_RIVAL || vf_overlap_other(&w->pose[h], &w->refined[VF_OVERLAP_MOTION]))
            vf_overlap_raise(&w->best, w->rank[h]);
    }
    VF_ITEM_SYNC();
    VF_PARTS(one, 1)
    {
        memset(pose, 0, sizeof *pose);
        if (w->best) *pose = w->pose[vf_ego_rank_hypothesis(w->best)];
    }
    VF_ITEM_SYNC();
    VF_NO_UNROLL
    for (int step = 0; step < VF_OVERLAP_STEPS; step++) {
        vf_overlap_sum(w, kind, pose);
        VF_PARTS(one, 1) vf_motion_step(kind, pose, w->sum.terms);
        VF_ITEM_SYNC();
    }
    vf_overlap_sum(w, kind, pose);
    VF_PARTS(one, 1) w->refined_sum[which] = w->sum;
    VF_ITEM_SYNC();
}

/** Deviation of points along the axis in which they spread less, from sums of (x, y, x^2, x y, y^2). */
VF_FN float vf_overlap_spread(const float sum[5], float count)
{
    if (!(count > 0.0f)) return 0.0f;
    const float x = sum[0] / count, y = sum[1] / count, xx = sum[2] / count - x * x, xy = sum[3] / count - x * y,
                yy = sum[4] / count - y * y, half = 0.5f * (xx - yy),
                least = 0.5f * (xx + yy) - sqrtf(half * half + xy * xy);
    return least > 0.0f ? sqrtf(least) : 0.0f;
}
VF_FN void vf_overlap_spread_of(const float bearing[3], float own[5])
{
    const float x = bearing[0], y = bearing[1];
    own[0] = x;
    own[1] = y;
    own[2] = x * x;
    own[3] = x * y;
    own[4] = y * y;
}

/** Angle between the bearings of a correspondence after removal of the rotation, as a chord. */
VF_FN float vf_overlap_parallax(const struct vf_pose *pose, const struct vf_correspondence *c)
{
    float a[3];
    vf_transform(pose->R, c->before, a);
    const float x = a[0] - c->now[0], y = a[1] - c->now[1], z = a[2] - c->now[2];
    return sqrtf(x * x + y * y + z * z);
}

/** 1 if a rotation alone explains what a relative motion does. */
VF_FN int vf_overlap_turns(const struct vf_overlap_work *w, int kind)
{
    return kind == VF_RELATIVE && w->refined_sum[VF_OVERLAP_ROTATION].inliers * 100u >=
                                      w->refined_sum[VF_OVERLAP_MOTION].inliers * (uint32_t)VF_OVERLAP_TURN;
}

/** 1 if the rival, refined, still is another motion and fits nearly as well. */
VF_FN uint32_t vf_overlap_rival(const struct vf_overlap_work *w)
{
    const int32_t rival = w->refined_sum[VF_OVERLAP_RIVAL].score, best = w->refined_sum[VF_OVERLAP_MOTION].score;
    return rival * 100 >= best * VF_OVERLAP_RIVAL_PERCENT &&
           vf_overlap_other(&w->refined[VF_OVERLAP_RIVAL], &w->refined[VF_OVERLAP_MOTION]);
}

/** Makes a relative pose one of which the rotation alone is told. */
VF_FN void vf_overlap_undirect(struct vf_overlap_found *f)
{
    f->kind = VF_ROTATION_ONLY;
    for (int k = 0; k < 3; k++) f->pose.t[k] = 0.0f;
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 6; j++) f->covariance[vf_motion_index(i, j)] = 0.0f;
}

/** Deviations that all points have in common, added to a covariance; distance: of the points, in the unit of t. */
VF_FN void vf_overlap_common(float distance, float covariance[21])
{
    const float turn = VF_OVERLAP_COMMON_RAD * VF_OVERLAP_COMMON_RAD, move = turn * distance * distance;
    for (int k = 0; k < 6; k++) covariance[vf_motion_diagonal(k)] += k < 3 ? move : turn;
}

/** Sums over the inliers, one after the other: one block. pose, kind: the motion. */
VF_FN void vf_overlap_total(struct vf_overlap_work *w, int kind, const struct vf_pose *pose)
{
    VF_PARTS(i, (int)w->count)
    {
        const struct vf_correspondence *c = &w->pair[i];
        w->told[i].inlier = vf_motion_inlier_score(vf_motion_error(kind, pose, c)) > 0;
        memset(w->own[i], 0, sizeof w->own[i]);
        if (!w->told[i].inlier) continue;
        vf_overlap_spread_of(c->before, w->own[i]);
        vf_overlap_spread_of(c->now, w->own[i] + 5);
        w->own[i][10] = c->range_m;
        w->own[i][11] = vf_overlap_parallax(pose, c);
    }
    VF_ITEM_SYNC();
    VF_PARTS(k, VF_OVERLAP_SUMS)
    {
        float sum = 0.0f;
        VF_UNROLL_16
        for (uint32_t i = 0; i < w->count; i++) sum += w->own[i][k];
        w->total[k] = sum;
    }
    VF_ITEM_SYNC();
}

/** Result of a candidate, from its refined motion. By one thread. */
VF_FN void vf_overlap_conclude(struct vf_overlap_work *w, int kind, struct vf_overlap_found *f)
{
    const int turn = vf_overlap_turns(w, kind);
    const int which = turn ? VF_OVERLAP_ROTATION : VF_OVERLAP_MOTION;
    const struct vf_normal_equations *sum = &w->refined_sum[which];
    const uint32_t unknowns = kind == VF_METRIC ? 6 : turn ? 3 : 5;
    const float variance = sum->terms[VF_TERM_E] / (float)(sum->residuals > unknowns ? sum->residuals - unknowns : 1);
    float B[21];
    memset(f, 0, sizeof *f);
    f->pose = w->refined[which];
    f->kind = (uint32_t)(turn ? (int)VF_ROTATION_ONLY : kind);
    f->pairs = w->count;
    f->inliers = sum->inliers;
    f->parallax_rad = f->inliers ? w->total[11] / (float)f->inliers : 0.0f;
    for (int k = 0; k < 2; k++) f->spread[k] = vf_overlap_spread(w->total + 5 * k, (float)f->inliers);
    for (int k = 0; k < 21; k++) B[k] = variance * sum->terms[k];
    const int solved = vf_motion_covariance((int)f->kind, &f->pose, sum->terms, B, f->covariance);
    f->rival = vf_overlap_rival(w);
    f->enough = solved && vf_pose_valid(&f->pose) && f->inliers >= VF_OVERLAP_INLIERS &&
                f->inliers * 100u >= f->pairs * (uint32_t)(turn ? VF_OVERLAP_TURN_SHARE : VF_OVERLAP_SHARE) &&
                f->spread[0] > VF_OVERLAP_SPREAD && f->spread[1] > VF_OVERLAP_SPREAD;
    if (f->kind == (uint32_t)VF_RELATIVE && f->parallax_rad < VF_OVERLAP_PARALLAX) vf_overlap_undirect(f);
    vf_overlap_common(kind == VF_METRIC                  ? w->total[10] / (float)(f->inliers ? f->inliers : 1)
                      : f->kind == (uint32_t)VF_RELATIVE ? 1.0f / f->parallax_rad
                                                         : 0.0f,
                      f->covariance);
    const float *P = f->covariance,
                turn_variance = P[vf_motion_diagonal(3)] + P[vf_motion_diagonal(4)] + P[vf_motion_diagonal(5)];
    f->enough = f->enough && turn_variance <= VF_OVERLAP_SURE_RAD * VF_OVERLAP_SURE_RAD;
    if (kind == VF_METRIC)
        f->enough = f->enough && P[vf_motion_diagonal(0)] + P[vf_motion_diagonal(1)] + P[vf_motion_diagonal(2)] <=
                                     VF_OVERLAP_SURE_M * VF_OVERLAP_SURE_M;
}

/** Pose of candidate c: one block. */
VF_FN void vf_overlap_refine(const struct vf_overlap_view *s, int c)
{
    struct vf_overlap_work *w = &s->overlap->work[c];
    const int kind = vf_overlap_kind(s),
              motions = kind == VF_METRIC ? VF_OVERLAP_HYPOTHESES : VF_OVERLAP_HYPOTHESES - VF_OVERLAP_ROTATIONS;
    vf_overlap_improve(w, kind, VF_OVERLAP_MOTION, 0, motions);
    vf_overlap_improve(w, kind, VF_OVERLAP_RIVAL, 0, motions);
    if (kind == VF_RELATIVE)
        vf_overlap_improve(w, VF_ROTATION_ONLY, VF_OVERLAP_ROTATION, motions, VF_OVERLAP_HYPOTHESES);
    const int turn = vf_overlap_turns(w, kind);
    const int which = turn ? VF_OVERLAP_ROTATION : VF_OVERLAP_MOTION;
    vf_overlap_total(w, turn ? (int)VF_ROTATION_ONLY : kind, &w->refined[which]);
    VF_PARTS(one, 1) vf_overlap_conclude(w, kind, &s->overlap->found[c]);
}

#endif

#endif
