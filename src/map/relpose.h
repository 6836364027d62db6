/* SPDX-License-Identifier: MIT */
/* relpose: relative pose between this frame and each candidate keyframe, from matched points.
 *
 * In      key points of this frame with bearings, descriptors and distances; candidates (recall); the keyframe ring
 * Out     per candidate: correspondences, pose of this frame relative to the keyframe with covariance, inliers, whether
 *         the pose is valid, and a copy of the keyframe's head
 * Rule    - a correspondence joins a keyframe point and a key point that are each other's nearest by Hamming distance
 *           and pass a ratio test. All key points of this frame are searched, because the ones that recall selects
 *           give half as many matches
 *         - minimal solver: with two cameras three points with distances (perspective.h), metric; with one camera five
 *           points (essential_five.h), or two for a rotation only
 *         - the best of VF_RELPOSE_HYPOTHESES samples by the inlier score of motion.h is refined by VF_RELPOSE_STEPS
 *           Gauss-Newton steps over its inliers
 *         - valid: enough inliers, spread over both images, and a small standard deviation
 * Exact   integers; single precision in one order (motion.h, the solvers). Sums over correspondences are split into
 *         VF_RELPOSE_LANES parts, added in order
 * Shared  all arithmetic: vf_relpose_correspondences(), vf_relpose_hypothesis() and vf_relpose_refine() are one launch
 *         each. Written twice: the search (relpose.c: vector code over tiles of key points; relpose.cu: one warp per
 *         keyframe point)
 * Memory  54 KB a candidate; host form: 12 KB of stack
 */
#ifndef VF_RELPOSE_H
#define VF_RELPOSE_H

#include "ego/ego_hypothesis.h"
#include "geometry/essential_five.h"
#include "geometry/perspective.h"
#include "recall.h"

/** Number of minimal samples per candidate keyframe, one motion hypothesis each. With one camera the last
 *  VF_RELPOSE_ROTATIONS of them test a rotation without translation. tests/map/endless.c sets fewer, to save time. */
#ifndef VF_RELPOSE_HYPOTHESES
#define VF_RELPOSE_HYPOTHESES 96
#define VF_RELPOSE_ROTATIONS 16
#endif

/** Largest Hamming distance between the two descriptors of a correspondence [bits]. */
#define VF_RELPOSE_DISTANCE 64
/** Ratio test: largest Hamming distance of a correspondence, relative to the second best match [%]. */
#define VF_RELPOSE_RATIO 90

/** Largest reprojection error of an inlier at level 0 of the scale space [px]. At other levels it is multiplied by the
 *  level's pixel size, because key points lie on whole pixels of their level. */
#define VF_RELPOSE_ERROR_PX 2.0f

/** Number of Gauss-Newton steps that refine a relative pose. */
#define VF_RELPOSE_STEPS 5

/** Number of parts into which a sum over correspondences is split, computed concurrently. */
#define VF_RELPOSE_LANES 128

/** Number of terms that are summed over the inliers. Terms 0 to 4: x, y, x^2, x y, y^2 of the bearing in the keyframe.
 *  Terms 5 to 9: these five of the bearing in this frame. Term 10: point distance. Term 11: parallax. */
#define VF_RELPOSE_SUMS 12

/** Least number of inliers of a valid pose. */
#define VF_RELPOSE_MIN_INLIERS 25
/** Least share of inliers among the correspondences of a valid pose [%]. */
#define VF_RELPOSE_INLIER_PERCENT 30
/** Least standard deviation of the inliers' image positions for a valid pose, in both images, along the axis where they
 *  vary less [focal lengths]. */
#define VF_RELPOSE_MIN_COVERAGE 0.06f

/** A relative motion counts as a rotation without translation if such a rotation explains this share of its inliers
 *  [%]. */
#define VF_RELPOSE_ROTATION_PERCENT 90

/** Least share of inliers among the correspondences for a rotation without translation [%]. With this share about 6 of
 *  80 samples of five points have no outlier (0.6^5 * 80), so that a translation would have been found. With fewer
 *  inliers, a plane seen from another place could pass for a rotation. */
#define VF_RELPOSE_ROTATION_INLIERS 60

/** A pose is ambiguous if a motion with another rotation reaches this share of its score [%]. Example: two motions fit
 *  the points of one plane. */
#define VF_RELPOSE_RIVAL_PERCENT 85
/** Two rotations differ if the matrix of the rotation between them has a trace below this: more than 8 degrees. */
#define VF_RELPOSE_RIVAL_TRACE 2.98053f

/** Smallest parallax at which the direction of translation is reported [rad]. Reason: the rotation error of a hand-held
 *  rolling-shutter camera, about 2 degrees, turns the direction by 2 degrees / 0.4 rad = 5 degrees. */
#define VF_RELPOSE_MIN_PARALLAX 0.4f

/** Largest standard deviation of the rotation of a valid pose, all axes together [rad]: 1 degree. */
#define VF_RELPOSE_MAX_SIGMA_RAD 0.0175f

/** Largest standard deviation of a metric translation in a valid pose, all axes together [m]: a quarter of the error
 *  that makes a loop wrong. */
#define VF_RELPOSE_MAX_SIGMA_M 0.04f

/** Standard deviation of the rotation error that lens and shutter cause in all points alike, about each axis [rad].
 *  Multiplied by the mean point distance, it is the standard deviation of the translation error. */
#define VF_RELPOSE_SYSTEMATIC_RAD 0.002f

/** Motions that are refined for a candidate: the best one, the best rotation without translation, the best one with
 *  another rotation. */
enum { VF_RELPOSE_MOTION, VF_RELPOSE_ROTATION, VF_RELPOSE_RIVAL, VF_RELPOSE_KINDS };

/** Relative pose of this frame and a keyframe: p_now = R p_keyframe + t. */
struct vf_relpose_estimate {
    struct vf_pose pose;
    float covariance[21]; /* 6x6 covariance of (t, w): upper triangle by rows, as in vfront_motion_t */
    uint32_t pairs, inliers;
    uint32_t kind;      /* kind of the pose, a vf_motion_kind */
    uint32_t valid;     /* 1: the pose passes all thresholds */
    uint32_t rival;     /* 1: another motion fits nearly as well */
    float parallax_rad; /* mean parallax of the inliers [rad] */
    float coverage[2]; /* standard deviation of inlier positions, narrower axis [focal lengths]: keyframe, this frame */
};

/** Buffers for the relative pose of one candidate. */
struct vf_relpose_work {
    uint32_t found[VF_KEYFRAME_POINTS]; /* best match of each keyframe point, vf_packed_match(); VF_NONE: none */
    struct vf_correspondence pair[VF_KEYFRAME_POINTS]; /* correspondences in order of rising Hamming distance */
    vfront_loop_pair_t output[VF_KEYFRAME_POINTS];     /* out: correspondences in the form of the result */
    uint32_t count;                                    /* number of correspondences */
    struct vf_pose pose[VF_RELPOSE_HYPOTHESES];
    uint32_t rank[VF_RELPOSE_HYPOTHESES]; /* rank of each hypothesis by inlier score, vf_ego_rank_key() */
    uint32_t best;                        /* greatest rank of the hypotheses to be refined */
    struct vf_normal_equations part[VF_RELPOSE_LANES], sum;
    struct vf_pose refined[VF_RELPOSE_KINDS];
    struct vf_normal_equations refined_sum[VF_RELPOSE_KINDS];
    float own[VF_KEYFRAME_POINTS][VF_RELPOSE_SUMS]; /* terms of each correspondence for `total`; all 0: outlier */
    float total[VF_RELPOSE_SUMS];                   /* sums of `own` over the inliers */
};

struct vf_relpose_memory {
#if VFRONT_MAP
    struct vf_relpose_estimate found[VF_RECALL_CANDIDATES]; /* out: relative pose of each candidate */
    struct vf_keyframe head[VF_RECALL_CANDIDATES];     /* out: head of each candidate; `used` 0: no such candidate */
    struct vf_relpose_work work[VF_RECALL_CANDIDATES]; /* out: `output`, `count`; the rest: buffers of one frame */
#else
    uint64_t nothing;
#endif
};

/* View of stage relpose: the data it may access (base/view.h). */
/* clang-format off */
#define VF_READS_relpose(X) X(ingest) X(bearing) X(describe) X(stereo) X(recall)
#define VF_BEFORE_relpose(X) X(keyframe)
#define VF_GEOMETRY_relpose(X) X(active) X(step_q16) X(focal_px)
#define VF_TUNING_relpose(X)
/* clang-format on */
VF_GEOMETRY_OF(relpose);
struct vf_relpose_view {
    VF_VIEW(relpose);
};
VF_HOST_FORM(relpose);

#if VFRONT_MAP

/** Keyframe points of candidate c. */
VF_FN const struct vf_keyframe_points *vf_relpose_candidate_points(const struct vf_relpose_view *s, int c)
{
    return &s->keyframe->ring[s->recall->candidate[c]].set;
}
/** Descriptors of this frame's key points of camera 0. */
VF_FN const vfront_descriptor_t *vf_relpose_descriptors(const struct vf_relpose_view *s)
{
    return s->describe->descriptor[s->parity][0];
}
/** Number of this frame's key points of camera 0. */
VF_FN int32_t vf_relpose_keypoints(const struct vf_relpose_view *s) { return (int32_t)s->bearing->count[s->parity][0]; }

/** 1 if there is a candidate number c, 0 to VF_RECALL_CANDIDATES - 1. */
VF_FN int vf_relpose_has_candidate(const struct vf_relpose_view *s, int c)
{
    return s->recall->candidate[c] != VF_NONE;
}

/** Kind of motion to be estimated: metric if points have stereo distances, else relative (unknown scale). */
VF_FN int vf_relpose_motion_kind(const struct vf_relpose_view *s)
{
    return s->geometry.active & VF_BIT(stereo) ? VF_METRIC : VF_RELATIVE;
}

/* ---- correspondences --------------------------------------------------------------------------------------------- */

/** Applies the ratio test and the mutual-nearest test to keyframe point `point`. best: nearest key point of this frame.
 *  second: second best Hamming distance. back: keyframe point nearest to key point `best`. best and back are packed by
 *  vf_packed_match(). Returns `best` if both tests pass, else VF_NONE. */
VF_FN uint32_t vf_relpose_match(uint32_t best, uint32_t second, uint32_t back, uint32_t point)
{
    const uint32_t distance = best >> 16;
    if (best == VF_NONE || distance > VF_RELPOSE_DISTANCE || !vf_ratio_test(VF_RELPOSE_RATIO, distance, second))
        return VF_NONE;
    return back == vf_packed_match(distance, point) ? best : VF_NONE;
}

/** 1 if point i of candidate c may be matched. For a metric motion its distance must be known. */
VF_FN int vf_relpose_matchable(const struct vf_relpose_view *s, int c, int32_t i)
{
    const struct vf_keyframe_points *set = vf_relpose_candidate_points(s, c);
    return i < (int32_t)set->count && (vf_relpose_motion_kind(s) != VF_METRIC || set->point[i].range_m > 0.0f);
}

/** Makes the correspondence of a keyframe point and a key point of this frame, in the form that motion solvers take.
 *  range: distance of the key point. */
VF_FN struct vf_correspondence vf_relpose_correspondence(const struct vf_relpose_view *s,
                                                         const struct vf_keyframe_point *before,
                                                         const struct vf_point *now, struct vf_range_estimate range)
{
    struct vf_correspondence c;
    const int32_t level = vf_max(before->level, now->level);
    const float focal_px = s->geometry.focal_px[0],
                error_px = VF_RELPOSE_ERROR_PX * (float)s->geometry.step_q16[level] * (1.0f / 65536.0f);
    vf_keyframe_bearing(before, c.before);
    for (int k = 0; k < 3; k++) c.now[k] = now->bearing[k];
    c.weight = sqrtf(error_px * error_px + focal_px * focal_px) / error_px;
    c.range_m = before->range_m;
    c.range_sigma_m = before->range_m * ((float)before->sigma_q16 * (1.0f / 65536.0f));
    c.inverse_depth_1pm = range.m > 0.0f ? 1.0f / range.m : 0.0f;
    c.inverse_depth_sigma_1pm = range.m > 0.0f ? range.sigma_m / (range.m * range.m) : 0.0f;
    return c;
}

/** Lists the correspondences of candidate c in order of rising Hamming distance, and copies the head of its keyframe.
 *  Run by one block. */
VF_FN void vf_relpose_correspondences(const struct vf_relpose_view *s, int c)
{
    struct vf_relpose_memory *m = s->relpose;
    struct vf_relpose_work *w = &m->work[c];
    if (!vf_relpose_has_candidate(s, c)) {
        VF_PARTS(one, 1)
        {
            memset(&m->head[c], 0, sizeof m->head[c]);
            w->count = 0;
        }
        return;
    }
    VF_PARTS(i, VF_KEYFRAME_POINTS)
    {
        const uint32_t found = w->found[i], key = found == VF_NONE ? VF_NONE : (found & ~0xffffu) | (uint32_t)i;
        int32_t before = 0, all = 0;
        for (int32_t k = 0; k < VF_KEYFRAME_POINTS; k++) {
            before += w->found[k] != VF_NONE && ((w->found[k] & ~0xffffu) | (uint32_t)k) < key;
            all += w->found[k] != VF_NONE;
        }
        if (!i) {
            w->count = (uint32_t)all;
            m->head[c] = s->keyframe->ring[s->recall->candidate[c]].head;
        }
        if (found == VF_NONE) continue;
        const uint32_t j = found & 0xffff;
        const struct vf_keyframe_point *was = &vf_relpose_candidate_points(s, c)->point[i];
        const vfront_loop_pair_t output = {(uint16_t)j, was->keypoint, (uint16_t)(found >> 16), 0};
        const struct vf_range_estimate none = {0.0f, 0.0f};
        w->output[before] = output;
        w->pair[before] = vf_relpose_correspondence(
            s, was, &s->bearing->point[s->parity][0][j],
            vf_relpose_motion_kind(s) == VF_METRIC ? vf_stereo_range(s->stereo, s->parity, j) : none);
    }
}

/* ---- hypotheses -------------------------------------------------------------------------------------------------- */

/** Buffers with which one warp computes one hypothesis. */
struct vf_relpose_scratch {
    union {
        struct vf_essential_scratch essential;
        struct vf_perspective_scratch perspective;
    } solver;
    float before[VF_EGO_SAMPLE_MAX][3], now[VF_EGO_SAMPLE_MAX][3];
    int32_t sample[VF_EGO_SAMPLE_MAX];
    struct vf_pose pose[10];
    int32_t valid[10];
};

/** Sum over the lanes of a warp, returned to every lane. */
VF_FN int32_t vf_relpose_team_sum(int32_t v)
{
#ifdef __CUDA_ARCH__
    for (int step = 16; step; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
#endif
    return v;
}

/** Kind of motion that hypothesis h tests. With one camera the last VF_RELPOSE_ROTATIONS hypotheses test a rotation
 *  only. */
VF_FN int vf_relpose_hypothesis_kind(const struct vf_relpose_view *s, int32_t h)
{
    const int kind = vf_relpose_motion_kind(s);
    return kind == VF_RELATIVE && h >= VF_RELPOSE_HYPOTHESES - VF_RELPOSE_ROTATIONS ? VF_ROTATION_ONLY : kind;
}

/** Computes into b->pose the motions that fit the minimal sample in b. Returns their number. */
VF_FN int vf_relpose_minimal(int kind, struct vf_relpose_scratch *b)
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

/** Computes hypothesis h of candidate c: draws a minimal sample, and stores the motion with the best inlier score. Run
 *  by one warp. */
VF_FN void vf_relpose_hypothesis(const struct vf_relpose_view *s, int c, int32_t h, struct vf_relpose_scratch *b)
{
    struct vf_relpose_work *w = &s->relpose->work[c];
    const int kind = vf_relpose_hypothesis_kind(s, h), all = VF_RELPOSE_HYPOTHESES;
    const int32_t size = kind == VF_METRIC ? 3 : kind == VF_RELATIVE ? 5 : 2, count = (int32_t)w->count;
    int32_t best = 0, which = 0;
    if (count >= VF_RELPOSE_MIN_INLIERS) {
        vf_ego_draw(s->ingest->params.frame, (uint32_t)((8 + c) << 16 | h), h, all, size, count, b->sample);
        VF_TEAM(i, size)
        {
            const struct vf_correspondence *p = &w->pair[b->sample[i]];
            for (int k = 0; k < 3; k++) {
                b->before[i][k] = p->before[k] * (kind == VF_METRIC ? p->range_m : 1.0f);
                b->now[i][k] = p->now[k];
            }
        }
        VF_TEAM_SYNC();
        const int motions = vf_relpose_minimal(kind, b);
        for (int i = 0; i < motions; i++) {
            if (kind == VF_RELATIVE && !b->valid[i]) continue;
            int32_t score = 0;
            VF_TEAM(k, count)
            score += vf_motion_inlier_score(vf_motion_error(kind, &b->pose[i], &w->pair[k]));
            score = vf_relpose_team_sum(score);
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

/** Computes into w->sum the normal equations of a motion over all correspondences of a candidate. Run by one block. */
VF_FN void vf_relpose_accumulate(struct vf_relpose_work *w, int kind, const struct vf_pose *pose)
{
    VF_PARTS(lane, VF_RELPOSE_LANES)
    {
        const struct vf_pose own = *pose; /* copy that stays in registers */
        struct vf_normal_equations part;
        memset(&part, 0, sizeof part);
        for (int32_t i = lane; i < (int32_t)w->count; i += VF_RELPOSE_LANES)
            vf_motion_accumulate(kind, &own, &w->pair[i], &part);
        w->part[lane] = part;
    }
    VF_ITEM_SYNC();
    VF_PARTS(k, VF_TERMS + 1)
    {
        float sum = 0.0f;
        if (k < VF_TERMS) {
            VF_UNROLL_16
            for (int lane = 0; lane < VF_RELPOSE_LANES; lane++) sum += w->part[lane].terms[k];
            w->sum.terms[k] = sum;
            continue;
        }
        w->sum.score = 0;
        w->sum.inliers = w->sum.residuals = 0;
        for (int lane = 0; lane < VF_RELPOSE_LANES; lane++) {
            w->sum.score += w->part[lane].score;
            w->sum.inliers += w->part[lane].inliers;
            w->sum.residuals += w->part[lane].residuals;
        }
    }
    VF_ITEM_SYNC();
}

VF_FN void vf_atomic_max32(uint32_t *at, uint32_t value)
{
#ifdef __CUDA_ARCH__
    atomicMax(at, value);
#else
    if (value > *at) *at = value;
#endif
}

/** 1 if the rotations of two motions differ by more than 8 degrees (VF_RELPOSE_RIVAL_TRACE). */
VF_FN int vf_relpose_differs(const struct vf_pose *a, const struct vf_pose *b)
{
    float trace = 0.0f;
    for (int k = 0; k < 9; k++) trace += a->R[k] * b->R[k];
    return trace < VF_RELPOSE_RIVAL_TRACE;
}

/** Refines the best of hypotheses first to end - 1 into w->refined[which]. VF_RELPOSE_RIVAL considers only hypotheses
 *  whose rotation differs from that of the refined best motion. Run by one block. */
VF_FN void vf_relpose_refine_best(struct vf_relpose_work *w, int kind, int which, int first, int end)
{
    struct vf_pose *pose = &w->refined[which];
    VF_PARTS(one, 1) w->best = 0;
    VF_ITEM_SYNC();
    VF_PARTS(n, end - first)
    {
        const int h = first + n;
        if (!w->rank[h]) continue;
        if (which != VF_RELPOSE_RIVAL || vf_relpose_differs(&w->pose[h], &w->refined[VF_RELPOSE_MOTION]))
            vf_atomic_max32(&w->best, w->rank[h]);
    }
    VF_ITEM_SYNC();
    VF_PARTS(one, 1)
    {
        memset(pose, 0, sizeof *pose);
        if (w->best) *pose = w->pose[vf_ego_rank_hypothesis(w->best)];
    }
    VF_ITEM_SYNC();
    VF_NO_UNROLL
    for (int step = 0; step < VF_RELPOSE_STEPS; step++) {
        vf_relpose_accumulate(w, kind, pose);
        VF_PARTS(one, 1) vf_motion_step(kind, pose, w->sum.terms);
        VF_ITEM_SYNC();
    }
    vf_relpose_accumulate(w, kind, pose);
    VF_PARTS(one, 1) w->refined_sum[which] = w->sum;
    VF_ITEM_SYNC();
}

/** Standard deviation of `count` points (x, y) along the axis where they vary less. sum: sums of x, y, x^2, x y, y^2
 *  over the points. */
VF_FN float vf_relpose_coverage(const float sum[5], float count)
{
    if (!(count > 0.0f)) return 0.0f;
    const float x = sum[0] / count, y = sum[1] / count, xx = sum[2] / count - x * x, xy = sum[3] / count - x * y,
                yy = sum[4] / count - y * y, half = 0.5f * (xx - yy),
                smallest = 0.5f * (xx + yy) - sqrtf(half * half + xy * xy);
    return smallest > 0.0f ? sqrtf(smallest) : 0.0f;
}
/** Terms x, y, x^2, x y, y^2 of one bearing for the sums of vf_relpose_coverage(). */
VF_FN void vf_relpose_coverage_terms(const float bearing[3], float own[5])
{
    const float x = bearing[0], y = bearing[1];
    own[0] = x;
    own[1] = y;
    own[2] = x * x;
    own[3] = x * y;
    own[4] = y * y;
}

/** Parallax of a correspondence [rad]: length of the chord between its two unit bearings, after removal of the
 *  rotation. */
VF_FN float vf_relpose_parallax(const struct vf_pose *pose, const struct vf_correspondence *c)
{
    float a[3];
    vf_transform(pose->R, c->before, a);
    const float x = a[0] - c->now[0], y = a[1] - c->now[1], z = a[2] - c->now[2];
    return sqrtf(x * x + y * y + z * z);
}

/** 1 if a rotation alone explains VF_RELPOSE_ROTATION_PERCENT of the inliers of the relative motion. */
VF_FN int vf_relpose_is_rotation(const struct vf_relpose_work *w, int kind)
{
    return kind == VF_RELATIVE && w->refined_sum[VF_RELPOSE_ROTATION].inliers * 100u >=
                                      w->refined_sum[VF_RELPOSE_MOTION].inliers * (uint32_t)VF_RELPOSE_ROTATION_PERCENT;
}

/** 1 if the pose is ambiguous: after refinement, a motion with another rotation has nearly the score of the best
 *  motion. */
VF_FN uint32_t vf_relpose_rival(const struct vf_relpose_work *w)
{
    const int32_t rival = w->refined_sum[VF_RELPOSE_RIVAL].score, best = w->refined_sum[VF_RELPOSE_MOTION].score;
    return rival * 100 >= best * VF_RELPOSE_RIVAL_PERCENT &&
           vf_relpose_differs(&w->refined[VF_RELPOSE_RIVAL], &w->refined[VF_RELPOSE_MOTION]);
}

/** Sets the translation and its covariance to 0, so that the pose is a rotation only. */
VF_FN void vf_relpose_drop_translation(struct vf_relpose_estimate *f)
{
    f->kind = VF_ROTATION_ONLY;
    for (int k = 0; k < 3; k++) f->pose.t[k] = 0.0f;
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 6; j++) f->covariance[vf_motion_index(i, j)] = 0.0f;
}

/** Adds to a covariance the variance of the lens and shutter error that all points share. distance: mean distance of
 *  the points, in the unit of the translation. */
VF_FN void vf_relpose_add_systematic(float distance, float covariance[21])
{
    const float rotation = VF_RELPOSE_SYSTEMATIC_RAD * VF_RELPOSE_SYSTEMATIC_RAD,
                translation = rotation * distance * distance;
    for (int k = 0; k < 6; k++) covariance[vf_motion_diagonal(k)] += k < 3 ? translation : rotation;
}

/** Marks the inliers of a motion, and sums their terms for coverage, distance and parallax in a fixed order. Run by one
 *  block. */
VF_FN void vf_relpose_inlier_sums(struct vf_relpose_work *w, int kind, const struct vf_pose *pose)
{
    VF_PARTS(i, (int)w->count)
    {
        const struct vf_correspondence *c = &w->pair[i];
        w->output[i].inlier = vf_motion_inlier_score(vf_motion_error(kind, pose, c)) > 0;
        memset(w->own[i], 0, sizeof w->own[i]);
        if (!w->output[i].inlier) continue;
        vf_relpose_coverage_terms(c->before, w->own[i]);
        vf_relpose_coverage_terms(c->now, w->own[i] + 5);
        w->own[i][10] = c->range_m;
        w->own[i][11] = vf_relpose_parallax(pose, c);
    }
    VF_ITEM_SYNC();
    VF_PARTS(k, VF_RELPOSE_SUMS)
    {
        float sum = 0.0f;
        VF_UNROLL_16
        for (uint32_t i = 0; i < w->count; i++) sum += w->own[i][k];
        w->total[k] = sum;
    }
    VF_ITEM_SYNC();
}

/** Fills the relative pose of a candidate from its refined motions and inlier sums, and decides whether it is valid.
 *  Run by one thread. */
VF_FN void vf_relpose_result(struct vf_relpose_work *w, int kind, struct vf_relpose_estimate *f)
{
    const int rotation = vf_relpose_is_rotation(w, kind);
    const int which = rotation ? VF_RELPOSE_ROTATION : VF_RELPOSE_MOTION;
    const struct vf_normal_equations *sum = &w->refined_sum[which];
    const uint32_t unknowns = kind == VF_METRIC ? 6 : rotation ? 3 : 5;
    const float variance = sum->terms[VF_TERM_E] / (float)(sum->residuals > unknowns ? sum->residuals - unknowns : 1);
    float B[21];
    memset(f, 0, sizeof *f);
    f->pose = w->refined[which];
    f->kind = (uint32_t)(rotation ? (int)VF_ROTATION_ONLY : kind);
    f->pairs = w->count;
    f->inliers = sum->inliers;
    f->parallax_rad = f->inliers ? w->total[11] / (float)f->inliers : 0.0f;
    for (int k = 0; k < 2; k++) f->coverage[k] = vf_relpose_coverage(w->total + 5 * k, (float)f->inliers);
    for (int k = 0; k < 21; k++) B[k] = variance * sum->terms[k];
    const int solved = vf_motion_covariance((int)f->kind, &f->pose, sum->terms, B, f->covariance);
    f->rival = vf_relpose_rival(w);
    f->valid = solved && vf_pose_valid(&f->pose) && f->inliers >= VF_RELPOSE_MIN_INLIERS &&
               f->inliers * 100u >=
                   f->pairs * (uint32_t)(rotation ? VF_RELPOSE_ROTATION_INLIERS : VF_RELPOSE_INLIER_PERCENT) &&
               f->coverage[0] > VF_RELPOSE_MIN_COVERAGE && f->coverage[1] > VF_RELPOSE_MIN_COVERAGE;
    if (f->kind == (uint32_t)VF_RELATIVE && f->parallax_rad < VF_RELPOSE_MIN_PARALLAX) vf_relpose_drop_translation(f);
    vf_relpose_add_systematic(kind == VF_METRIC                  ? w->total[10] / (float)(f->inliers ? f->inliers : 1)
                              : f->kind == (uint32_t)VF_RELATIVE ? 1.0f / f->parallax_rad
                                                                 : 0.0f,
                              f->covariance);
    const float *P = f->covariance,
                rotation_variance = P[vf_motion_diagonal(3)] + P[vf_motion_diagonal(4)] + P[vf_motion_diagonal(5)];
    f->valid = f->valid && rotation_variance <= VF_RELPOSE_MAX_SIGMA_RAD * VF_RELPOSE_MAX_SIGMA_RAD;
    if (kind == VF_METRIC)
        f->valid = f->valid && P[vf_motion_diagonal(0)] + P[vf_motion_diagonal(1)] + P[vf_motion_diagonal(2)] <=
                                   VF_RELPOSE_MAX_SIGMA_M * VF_RELPOSE_MAX_SIGMA_M;
}

/** Estimates the relative pose of candidate c: refines its best hypotheses and tests the result. Run by one block. */
VF_FN void vf_relpose_refine(const struct vf_relpose_view *s, int c)
{
    struct vf_relpose_work *w = &s->relpose->work[c];
    const int kind = vf_relpose_motion_kind(s),
              motions = kind == VF_METRIC ? VF_RELPOSE_HYPOTHESES : VF_RELPOSE_HYPOTHESES - VF_RELPOSE_ROTATIONS;
    vf_relpose_refine_best(w, kind, VF_RELPOSE_MOTION, 0, motions);
    vf_relpose_refine_best(w, kind, VF_RELPOSE_RIVAL, 0, motions);
    if (kind == VF_RELATIVE)
        vf_relpose_refine_best(w, VF_ROTATION_ONLY, VF_RELPOSE_ROTATION, motions, VF_RELPOSE_HYPOTHESES);
    const int rotation = vf_relpose_is_rotation(w, kind);
    const int which = rotation ? VF_RELPOSE_ROTATION : VF_RELPOSE_MOTION;
    vf_relpose_inlier_sums(w, rotation ? (int)VF_ROTATION_ONLY : kind, &w->refined[which]);
    VF_PARTS(one, 1) vf_relpose_result(w, kind, &s->relpose->found[c]);
}

#endif

#endif
