/* SPDX-License-Identifier: MIT */
/* ego: how camera 0 moved since the frame before (paper 003, and beyond it).
 *
 * In      tracks; partners of key points in the frame before; distances of key points, of both frames; the frame's rotation, if any
 * Out     a relative motion, a metric one, and the last that was good; who agrees with them
 * Rule    pairs of bearings are listed, the better ones first. Motions are made from few pairs each: relative ones from 5, 7 or 8, or,
 *         where the frame gives a rotation, some from that and 2; turns alone from 2; metric ones from 3 with a distance. Each is scored on
 *         some of the pairs (preemptive RANSAC: D. Nister, 2003). The best few of a kind go on: some steps of Gauss and Newton on some of the
 *         pairs, then on all that agree, as long as these make it better (local optimisation: O. Chum, 2003), after which the best of them is
 *         the motion. The first steps are cheap, and taken even where the score falls: that finds better motions than eight on all pairs. What
 *         it is worth is then looked into: is a turn enough; do the points lie in a plane; do those that do not agree agree on another motion
 * Exact   scores are sums of integers. Sums of floats have one order: sight i goes to lane i % VF_EGO_LANES, each lane adds its own in order,
 *         then lanes are added by halves, first within 32, then these
 * Memory  the pairs, a motion and a score a hypothesis
 */
#ifndef VF_EGO_H
#define VF_EGO_H

#include "tracking/match.h"
#include "motion.h"
#include "stereo.h"
#include "math/team.h"
#include "tracking/track.h"

#define VF_EGO_LANES 256
#define VF_EGO_SUBSET 128 /* sights that score every hypothesis */
#define VF_EGO_TURNS 64   /* hypotheses of turns alone */
#define VF_EGO_FINALISTS 16
#define VF_EGO_ROUGH 3    /* steps of Gauss and Newton on VF_EGO_LANES sights, whatever becomes of them */
#define VF_EGO_STEPS 2    /* then on all, at most */
#define VF_EGO_OTHERS 512 /* sights, the outliers among which are asked for another motion */
#define VF_EGO_BINS 1024  /* of a histogram of movements [1/16 px] */
#define VF_EGO_RANKS 320  /* ranks of a pair: below */

/** Pairs of bearings, value by value. */
struct vf_sights {
    float before[3][VFRONT_SIGHTS], now[3][VFRONT_SIGHTS], weight[VFRONT_SIGHTS];
    float range_m[VFRONT_SIGHTS], range_sigma_m[VFRONT_SIGHTS], near_1pm[VFRONT_SIGHTS], near_sigma_1pm[VFRONT_SIGHTS];
    uint16_t from[VFRONT_SIGHTS]; /* candidate */
};

/** What all sights of a list have to say of a motion. */
struct vf_tally {
    float terms[VF_TERMS];
    int32_t score;
    uint32_t inliers, rows; /* rows: residuals that the inliers have */
};

/** A motion that went on, after its steps. */
struct vf_finalist {
    struct vf_pose pose;
    struct vf_tally sum; /* score 0: there is none */
};

/** All that is found out about the best motion of each kind. */
struct vf_facts {
    struct vf_pose pose[VF_KINDS];
    struct vf_tally sum[VF_KINDS];
    float covariance[VF_KINDS][21];
    int32_t solved[VF_KINDS];   /* 1: there is one */
    int32_t parallax[VF_KINDS]; /* medians: bins of movements of who agrees, less the turn */
    int32_t moved;              /* of all pairs, as they are */
    uint32_t looked, others;    /* outliers that were asked for another motion; most that agree on one */
    uint32_t in_plane;          /* inliers of the relative motion that lie in a plane */
};

#if VFRONT_EGO
struct vf_ego_memory {
    struct vf_sights sights[2]; /* all; those with a distance in the frame before */
    uint32_t count[2];
    struct vf_pose pose[VF_KINDS][VFRONT_HYPOTHESES];
    int32_t score[VF_KINDS][VFRONT_HYPOTHESES]; /* 0: none */
    struct vf_finalist finalist[VF_KINDS][VF_EGO_FINALISTS];
    uint32_t
        second[VFRONT_HYPOTHESES]; /* outliers of the best relative motion that agree with this relative hypothesis */
    struct vf_facts facts;
    uint32_t arrived;                          /* blocks of the last kernel that are done */
    uint8_t sides[VF_KINDS][VFRONT_SIGHTS];    /* 1: this sight agrees with the best motion of a kind */
    uint8_t agrees[VFRONT_SIGHTS];             /* by candidate, with what is reported */
    vfront_motion_t relative, metric, good[2]; /* [parity] */
};
#else
struct vf_ego_memory {
    uint64_t nothing;
};
#endif

#if VFRONT_CUBLAS
#define VF_EGO_WORKSPACE 65536 /* of cuBLAS; its manual has 16 KB as enough for any of its calls */

/** What cuBLAS works on, an element a relative hypothesis. Only the CUDA port has it, behind its vf_memory. Single precision, as what the
 *  systems are made of and what becomes of them: double was measured to find no more of their solutions. */
struct vf_systems {
    VF_ALIGN(256) uint8_t workspace[VF_EGO_WORKSPACE];
    float rows[VFRONT_HYPOTHESES][8][9]; /* in: equations, one after the other; out: their QR decomposition */
    float tau[VFRONT_HYPOTHESES][8];     /* out, with it */
    float columns
        [VFRONT_HYPOTHESES][20]
        [10]; /* in: the ten equations of five points; out: the LU decomposition of the first ten, the solutions */
    int32_t pivots[VFRONT_HYPOTHESES][10], info[VFRONT_HYPOTHESES];
    float R[VFRONT_HYPOTHESES][9], parallax[VFRONT_HYPOTHESES]; /* of the scaled unknowns */
    float *rows_at[VFRONT_HYPOTHESES], *tau_at[VFRONT_HYPOTHESES], *left_at[VFRONT_HYPOTHESES],
        *right_at[VFRONT_HYPOTHESES]; /* each of these */
};
#endif

/** Whether another solver than vfront's own makes relative motions in this step. */
VF_FN int vf_ego_elsewhere(const struct vf_step *s)
{
#if VFRONT_CUBLAS
    return s->systems != NULL;
#else
    return (void)s, 0;
#endif
}

/** Whether the stage has anything to do. */
VF_FN int vf_ego_on(const struct vf_step *s) { return s->tuning.ego && s->geometry.calibrated[0]; }

/** Whether it knows distances. */
VF_FN int vf_ego_metric_on(const struct vf_step *s)
{
    return s->tuning.ego_metric_hypotheses > 0 && s->tuning.ego_matches && vf_match_on(s) && VFRONT_STEREO &&
           vf_stereo_on(s);
}

/** Hypotheses of a kind. */
VF_FN int32_t vf_ego_hypotheses(const struct vf_step *s, int kind)
{
    if (kind == VF_METRIC) return vf_ego_metric_on(s) ? s->tuning.ego_metric_hypotheses : 0;
    return kind == VF_TURN ? (s->tuning.ego_hypotheses ? vf_min(VF_EGO_TURNS, VFRONT_HYPOTHESES) : 0)
                           : s->tuning.ego_hypotheses;
}

/** The list of sights of a kind. */
VF_FN int vf_ego_list(int kind) { return kind == VF_METRIC; }

VF_FN struct vf_sight vf_ego_sight(const struct vf_sights *all, int32_t i)
{
    struct vf_sight s;
    for (int k = 0; k < 3; k++) {
        s.before[k] = all->before[k][i];
        s.now[k] = all->now[k][i];
    }
    s.weight = all->weight[i];
    s.range_m = all->range_m[i];
    s.range_sigma_m = all->range_sigma_m[i];
    s.near_1pm = all->near_1pm[i];
    s.near_sigma_1pm = all->near_sigma_1pm[i];
    return s;
}
VF_FN void vf_ego_put_sight(struct vf_sights *all, int32_t i, const struct vf_sight *s, int32_t candidate)
{
    for (int k = 0; k < 3; k++) {
        all->before[k][i] = s->before[k];
        all->now[k][i] = s->now[k];
    }
    all->weight[i] = s->weight;
    all->range_m[i] = s->range_m;
    all->range_sigma_m[i] = s->range_sigma_m;
    all->near_1pm[i] = s->near_1pm;
    all->near_sigma_1pm[i] = s->near_sigma_1pm;
    all->from[i] = (uint16_t)candidate;
}

/* ---- the lists --------------------------------------------------------------------------------------------------- */

/** Candidates are the tracks, then the matches. The order of the list: tracks by how well they fit, then matches by how close their
 *  descriptors are, then by number. All ones: it is no pair. */
VF_FN uint32_t vf_ego_key(const vfront_tuning_t *t, const struct vf_feature *f, const vfront_match_t *m,
                          int32_t candidate)
{
    const uint32_t rank = f ? (uint32_t)vf_min((int32_t)(f->residual_q3 >> 2), 31) : 32u + m->distance;
    const int is = f ? t->ego_tracks && f->age > 0 : t->ego_matches;
    return is ? rank << 16 | (uint32_t)candidate : VF_NONE;
}

/** The error of a track, and of a match that has settled, over that of a match of level 0 on whole pixels. Off the epipolar line of the true
 *  motion lie, by the median, tracks 0.01 to 0.08 px, matches that settled as much, whatever their level, and others 0.20 to 0.25 px and that
 *  times the size of their level's pixels (four rendered sequences). */
#define VF_EGO_FINE_STEP 0.15f

/** The same for a metric motion, at least. What is wrong with a rig makes all distances wrong, by more than their deviations say; with a bound as
 *  tight as places are, those pairs alone would be left that lie as far away as most, and say nothing against it. */
#define VF_EGO_RANGED_STEP 0.5f

/** One over the sine of the angle that ego_error_mpx is in the middle of the picture, for pixels of a size (paper 003, equation 20). */
VF_FN float vf_ego_weight(const struct vf_step *s, float step)
{
    const float error_px = (float)s->tuning.ego_error_mpx * 0.001f * step, focal_px = s->geometry.focal_px[0];
    return sqrtf(error_px * error_px + focal_px * focal_px) / error_px;
}

/** A place without a bearing agrees with nothing. */
VF_FN void vf_ego_check_sight(struct vf_sight *s)
{
    const float before = vf_dot(s->before, s->before), now = vf_dot(s->now, s->now);
    if (before > 0.5f && before < 2.0f && now > 0.5f && now < 2.0f) return;
    for (int k = 0; k < 3; k++) s->before[k] = s->now[k] = 0.0f;
    s->before[2] = 1.0f;
    s->now[2] = -1.0f;
}

VF_FN struct vf_sight vf_ego_sight_of_track(const struct vf_step *s, const struct vf_node *node,
                                            const struct vf_feature *f)
{
    struct vf_sight sight;
    memset(&sight, 0, sizeof sight);
    vf_bearing_at(s, node, 0, f->x_q16 - f->dx_q16, f->y_q16 - f->dy_q16, sight.before);
    vf_bearing_at(s, node, 0, f->x_q16, f->y_q16, sight.now);
    sight.weight = vf_ego_weight(s, VF_EGO_FINE_STEP);
    vf_ego_check_sight(&sight);
    return sight;
}

/** range: a key point's distance and standard deviation; 0: not known. */
struct vf_range {
    float m, sigma_m;
};
VF_FN struct vf_range vf_range_none(void)
{
    const struct vf_range none = {0.0f, 0.0f};
    return none;
}
VF_FN struct vf_sight vf_ego_sight_of_match(const struct vf_step *s, const vfront_match_t *m,
                                            const struct vf_point *before, const struct vf_point *now,
                                            struct vf_range was, struct vf_range is)
{
    struct vf_sight sight;
    for (int k = 0; k < 3; k++) {
        sight.before[k] = before->bearing[k];
        sight.now[k] = m->bearing[k];
    }
    sight.weight = vf_ego_weight(s, m->settled                 ? VF_EGO_FINE_STEP
                                    : before->step > now->step ? before->step
                                                               : now->step);
    sight.range_m = was.m;
    sight.range_sigma_m = was.sigma_m;
    sight.near_1pm = is.m > 0.0f ? 1.0f / is.m : 0.0f;
    sight.near_sigma_1pm = is.m > 0.0f ? is.sigma_m / (is.m * is.m) : 0.0f;
    vf_ego_check_sight(&sight);
    return sight;
}

/** A sight with a distance, as metric motions have it. */
VF_FN struct vf_sight vf_ego_ranged(const struct vf_step *s, struct vf_sight sight)
{
    sight.weight = vf_motion_least(sight.weight, vf_ego_weight(s, VF_EGO_RANGED_STEP));
    return sight;
}

/* ---- hypotheses -------------------------------------------------------------------------------------------------- */

/** A number that looks random, from a key of four (S. Vigna's mixing of 64 bits, 2015). */
VF_FN uint32_t vf_ego_draw(uint32_t seed, uint64_t frame, uint32_t hypothesis, uint32_t draw)
{
    uint64_t x = frame * 0x9e3779b97f4a7c15ull + ((uint64_t)seed << 32 | hypothesis) * 0xd1b54a32d192ed03ull +
                 draw * 0x8cb92ba72f3d8dd7ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return (uint32_t)((x ^ x >> 31) >> 16);
}

#define VF_EGO_MOST_SAMPLES 8

/** Draws `size` different sights of the first `count`; of every second hypothesis from the better ones alone, which become more from one
 *  to the next (PROSAC: O. Chum, J. Matas, 2005). */
VF_FN void vf_ego_sample(const struct vf_step *s, uint64_t frame, int kind, int32_t h, int32_t size, int32_t count,
                         int32_t sample[VF_EGO_MOST_SAMPLES])
{
    const int32_t all = vf_ego_hypotheses(s, kind), better = (int32_t)((int64_t)count * (h + 1) / all);
    const int32_t pool = h % 2 ? count : vf_min(vf_max(better, 2 * size), count);
    VF_TEAM(k, size)
    {
        const uint32_t random = vf_ego_draw((uint32_t)s->tuning.ego_seed, frame, (uint32_t)(kind << 16 | h),
                                            (uint32_t)k);
        sample[k] = (int32_t)((uint64_t)random * (uint64_t)(pool - k) >> 32); /* of those that are not drawn yet */
    }
    VF_TEAM_SYNC();
    VF_TEAM(one, 1)
    {
        int32_t sorted[VF_EGO_MOST_SAMPLES];
        VF_UNROLL
        for (int k = 0; k < VF_EGO_MOST_SAMPLES; k++) {
            if (k >= size) continue;
            int32_t pick = sample[k];
            VF_UNROLL
            for (int i = 0; i < k; i++) pick += pick >= sorted[i];
            sample[k] = pick;
            VF_UNROLL
            for (int i = 0; i < k; i++) {
                const int32_t other = sorted[i];
                sorted[i] = vf_min(other, pick);
                pick = vf_max(other, pick);
            }
            sorted[k] = pick;
        }
    }
    VF_TEAM_SYNC();
}

/** Whether a hypothesis of a relative motion is made from the frame's rotation. */
VF_FN int vf_ego_rotated(const struct vf_step *s, const struct vf_params *params, int32_t h)
{
    return s->tuning.ego_rotation && params->rotation_given && h % 4 == 3;
}

/** Sights that a hypothesis is made from. */
VF_FN int32_t vf_ego_size(const struct vf_step *s, const struct vf_params *params, int kind, int32_t h)
{
    if (kind == VF_METRIC) return 3;
    return kind == VF_TURN || vf_ego_rotated(s, params, h) ? 2 : s->tuning.ego_points;
}

/** The motion of a known rotation from two pairs: the translation lies in the planes of both. */
VF_FN void vf_ego_translate(const float R[9], const float before[][3], const float now[][3], struct vf_pose *pose)
{
    float a[3], b[3], plane[2][3], bt[3];
    for (int i = 0; i < 9; i++) pose->R[i] = R[i];
    for (int i = 0; i < 2; i++) {
        vf_transform(R, before[i], a);
        vf_cross(a, now[i], plane[i]);
    }
    vf_cross(plane[0], plane[1], pose->t);
    vf_unit(pose->t);
    vf_transform(R, before[0], a);
    vf_cross(a, now[0], b);
    vf_cross(now[0], pose->t, bt);
    for (int k = 0; k < 3 && vf_dot(bt, b) < 0.0f; k++) pose->t[k] = -pose->t[k];
}

/** Axes of two bearings: their sum, their difference and what is at a right angle to both. */
VF_FN void vf_ego_axes(const float a[3], const float b[3], float axis[3][3])
{
    for (int k = 0; k < 3; k++) {
        axis[0][k] = a[k] + b[k];
        axis[1][k] = a[k] - b[k];
    }
    vf_unit(axis[0]);
    vf_unit(axis[1]);
    vf_cross(axis[0], axis[1], axis[2]);
}

/** The turn that two pairs mean. */
VF_FN void vf_ego_turn(const float before[][3], const float now[][3], struct vf_pose *pose)
{
    float from[3][3], to[3][3];
    vf_ego_axes(before[0], before[1], from);
    vf_ego_axes(now[0], now[1], to);
    for (int i = 0; i < 3; i++) {
        pose->t[i] = 0.0f;
        for (int j = 0; j < 3; j++)
            pose->R[3 * i + j] = to[0][i] * from[0][j] + to[1][i] * from[1][j] + to[2][i] * from[2][j];
    }
}

/** The turn that the frame gives, or none. */
VF_FN void vf_ego_given(const struct vf_params *params, struct vf_pose *pose)
{
    for (int i = 0; i < 9; i++) pose->R[i] = params->R[i];
    for (int i = 0; i < 3; i++) pose->t[i] = 0.0f;
}

/** The k-th of the sights that score hypotheses: spread over all. */
VF_FN int32_t vf_ego_subset(int32_t count, int32_t most) { return vf_min(count, most); }
VF_FN int32_t vf_ego_spread(int32_t count, int32_t most, int32_t k)
{
    return count > most ? (int32_t)((int64_t)k * count / most) : k;
}

/** Order of hypotheses: a better score, then a lower number. All differ. */
VF_FN uint32_t vf_ego_order(int32_t score, int32_t h)
{
    return score > 0 ? (uint32_t)score << 13 | (uint32_t)(8191 - h) : 0;
}
VF_FN int32_t vf_ego_ordered(uint32_t order) { return 8191 - (int32_t)(order & 8191); }

/* ---- what it is worth -------------------------------------------------------------------------------------------- */

/** Hypotheses of which one has no outlier in 99 of 100 cases (paper 003, equation 15): the least n with (1 - share^size)^n <= 1/100. */
VF_FN uint32_t vf_ego_needed(uint32_t inliers, uint32_t pairs, int32_t size)
{
    const float share = pairs ? (float)inliers / (float)pairs : 0.0f;
    float good = 1.0f, power[20], left = 1.0f;
    uint32_t n = 0;
    for (int32_t k = 0; k < size; k++) good *= share;
    power[0] = 1.0f - good;
    for (int k = 1; k < 20; k++) power[k] = power[k - 1] * power[k - 1];
    for (int k = 19; k >= 0; k--) {
        if (left * power[k] <= 0.01f) continue;
        left *= power[k];
        n += 1u << k;
    }
    return n + 1 < 1000000u ? n + 1 : 1000000u;
}

/** Movement of a sight, less that of a motion's turn, as a bin of a histogram. */
VF_FN int32_t vf_ego_moved(const struct vf_step *s, const float R[9], const struct vf_sight *sight)
{
    float a[3];
    vf_transform(R, sight->before, a);
    const float x = a[0] - sight->now[0], y = a[1] - sight->now[1], z = a[2] - sight->now[2];
    const float q4 = sqrtf(x * x + y * y + z * z) * s->geometry.focal_px[0] * 16.0f;
    return q4 < VF_EGO_BINS - 1 ? (int32_t)(q4 + 0.5f) : VF_EGO_BINS - 1;
}

/** The bin of the median: the first up to which lie half of all. */
VF_FN int vf_ego_median(int32_t before, int32_t upto, int32_t all) { return 2 * before < all && 2 * upto >= all; }
VF_FN float vf_ego_bin_px(int32_t bin) { return (float)bin * (1.0f / 16.0f); }

/** What a plane n . X = 1 says of an inlier: one over its distance is n . b. Adds a row with n in the place of a turn, if the residual is
 *  within the bound or `any` is. Returns whether it is within. */
VF_FN int vf_ego_plane(const struct vf_pose *p, const float plane[3], const struct vf_sight *s, int any,
                       float terms[VF_TERMS])
{
    const struct vf_span k = vf_motion_span(p, s);
    float ab[3], J[6] = {0, 0, 0, 0, 0, 0};
    vf_cross(k.a, s->now, ab);
    const float across = sqrtf(vf_dot(k.ta, k.ta)), inverse = sqrtf(vf_dot(ab, ab)) / (across + 1e-6f),
                w = s->weight * across;
    const float r = w * (vf_dot(plane, s->now) - inverse);
    const int within = r * r < 1.0f;
    for (int i = 0; i < 3; i++) J[3 + i] = w * s->now[i];
    vf_motion_add(terms, J, r, any | within ? 1.0f : 0.0f);
    return within;
}

/** Moves a plane to where normal equations have it. Returns 0 where there is none. */
VF_FN int vf_ego_fit_plane(const float sums[VF_TERMS], float plane[3])
{
    float L[6][6], step[6];
    const float none[3] = {0.0f, 0.0f, 0.0f};
    if (!vf_motion_root(VF_TURN, none, sums, L)) return 0;
    vf_motion_solve(L, sums + VF_TERM_G, step);
    for (int k = 0; k < 3; k++) plane[k] -= step[3 + k];
    return 1;
}

#define VF_EGO_PLANES 4 /* times that a plane is fitted, the first to all */
#define VF_EGO_IN_PLANE_PERCENT 90

/** Residuals that an inlier has. */
VF_FN uint32_t vf_ego_rows(int kind, const struct vf_sight *s)
{
    if (kind == VF_RELATIVE) return 1;
    return 2u + (uint32_t)((kind == VF_METRIC) & (s->near_sigma_1pm > 0.0f));
}

/** Adds what a sight says of a motion. */
VF_FN void vf_ego_add(int kind, const struct vf_pose *p, const struct vf_sight *s, struct vf_tally *sum)
{
    const int32_t worth = vf_motion_worth(vf_motion_error(kind, p, s));
    if (!worth) return;
    sum->score += worth;
    sum->inliers++;
    sum->rows += vf_ego_rows(kind, s);
    vf_motion_terms(kind, p, s, sum->terms);
}

/* ---- covariance -------------------------------------------------------------------------------------------------- */

/** Errors of pairs next to one another are alike: the same corner is a key point of several levels and a track as well, and what moves its window is
 *  common to all. So what the pairs say is added up in lumps, squares of the picture, and it is how much these differ that tells how far off the
 *  motion may be (a sandwich estimator; H. White, 1980, and K. Liang, S. Zeger, 1986). A wide picture is wrapped: some lumps are two squares.
 *  Sums are of integers, as blocks add to lumps in any order. */
#define VF_EGO_LUMP_PX 32.0f
#define VF_EGO_LUMPS_X 32
#define VF_EGO_LUMPS_Y 16
#define VF_EGO_LUMPS (VF_EGO_LUMPS_X * VF_EGO_LUMPS_Y)

struct vf_lump {
    int32_t sum
        [6]; /* right sides of the normal equations, in 2^-20 of the root of their diagonal; 8,192 pairs at most make 2^27 */
    int32_t pairs;
};

/** In which one a sight lies. */
VF_FN int32_t vf_ego_lump(const struct vf_step *s, const struct vf_sight *sight)
{
    const float scale = s->geometry.focal_px[0] / VF_EGO_LUMP_PX;
    const int32_t x = vf_round(scale * sight->now[0]), y = vf_round(scale * sight->now[1]);
    return (y & (VF_EGO_LUMPS_Y - 1)) * VF_EGO_LUMPS_X + (x & (VF_EGO_LUMPS_X - 1));
}

/** Scales of a lump's sums. */
VF_FN void vf_ego_scales(const float sums[VF_TERMS], float scale[6])
{
    for (int k = 0; k < 6; k++)
        scale[k] = sums[vf_motion_row(k)] > 0.0f ? 1048576.0f / sqrtf(sums[vf_motion_row(k)]) : 0.0f;
}

/** What a sight adds to its lump. Returns 0 where it is no inlier. */
VF_FN int vf_ego_part(int kind, const struct vf_pose *p, const struct vf_sight *s, const float scale[6],
                      int32_t part[6])
{
    float terms[VF_TERMS];
    if (!vf_motion_worth(vf_motion_error(kind, p, s))) return 0;
    for (int k = 0; k < VF_TERMS; k++) terms[k] = 0.0f;
    vf_motion_terms(kind, p, s, terms);
    for (int k = 0; k < 6; k++) part[k] = vf_round(terms[VF_TERM_G + k] * scale[k]);
    return 1;
}

/** Unknowns of a kind. */
VF_FN uint32_t vf_ego_unknowns(int kind) { return kind == VF_METRIC ? 6 : kind == VF_TURN ? 3 : 5; }

/** Variance of the errors of a kind's inliers, in units of their bounds. */
VF_FN float vf_ego_variance(int kind, const struct vf_tally *sum)
{
    const uint32_t unknowns = vf_ego_unknowns(kind);
    return sum->terms[VF_TERM_E] / (float)(sum->rows > unknowns ? sum->rows - unknowns : 1);
}

/** One of the numbers, i <= j, of the covariance of the right side, from the sum of products over all lumps. Motions give way to errors, and few lumps
 *  more than many: by as much as an unknown a lump of what independent errors would make. */
VF_FN float vf_ego_spread_of(int kind, const struct vf_tally *sum, const float scale[6], int32_t lumps, int i, int j,
                             int64_t product)
{
    const float seen = scale[i] > 0.0f && scale[j] > 0.0f ? (float)product / scale[i] / scale[j] : 0.0f;
    const float alone = vf_ego_variance(kind, sum) * sum->terms[vf_motion_at(i, j)];
    return seen + alone * (float)vf_ego_unknowns(kind) / (float)(lumps > 0 ? lumps : 1);
}

/* ---- verdict ----------------------------------------------------------------------------------------------------- */

/** Whether so many of the pairs are enough for a motion: a share of them, and beyond that some, since the best of many motions from a few pairs
 *  of nonsense has those few and as many again. Of pairs that differ by up to 40 px at random, 10 of 16 agree on some motion, 21 of 75, 30 of
 *  150, 59 of 500 at most. */
VF_FN int vf_ego_enough(const vfront_tuning_t *t, uint32_t inliers, uint32_t pairs)
{
    return (uint64_t)inliers * 100 >= (uint64_t)pairs * (uint32_t)t->ego_least_percent + 100 * (uint32_t)t->ego_least;
}

/** Whether an outlier is clearly none of the inliers, so that it may belong to another motion. */
VF_FN int vf_ego_astray(float error) { return error > 4.0f; }

/** A motion without anything. */
VF_FN void vf_ego_blank(vfront_motion_t *m, uint32_t state)
{
    memset(m, 0, sizeof *m);
    m->state = state;
    m->R[0] = m->R[4] = m->R[8] = 1.0f;
}

/** Whether a turn explains nearly all that a relative motion does. */
VF_FN int vf_ego_turns(const struct vf_facts *f)
{
    return f->sum[VF_TURN].inliers * 5 >= f->sum[VF_RELATIVE].inliers * 4;
}

/** Whether the best turn leaves no parallax: as little as twice the noise, which is what a relative motion leaves, one residual a pair; or a
 *  tenth of the bound. A turn leaves two a pair, each with the noise of both frames. It is the best turn that is asked, not the one of the
 *  relative motion: that may be wrong where a translation makes up for it. */
VF_FN int vf_ego_no_parallax(const struct vf_tally *turn, const struct vf_tally *relative)
{
    const float pairs = (float)turn->inliers, spare = (float)relative->inliers - 5.0f;
    const float left = turn->terms[VF_TERM_E], noise = relative->terms[VF_TERM_E];
    return left * spare <= 12.0f * noise * pairs || left <= 0.01f * pairs;
}

/** Starts a motion: too few pairs, or so many that agree on nothing yet. Returns its state. */
VF_FN uint32_t vf_ego_start(const struct vf_step *s, const struct vf_params *params, vfront_motion_t *m, int kind,
                            uint32_t pairs)
{
    const uint32_t hypotheses = (uint32_t)vf_ego_hypotheses(s, kind);
    const int none = !params->frame || !hypotheses, few = pairs < (uint32_t)s->tuning.ego_least;
    const uint32_t state = none ? VFRONT_MOTION_NONE : few ? VFRONT_MOTION_FEW : VFRONT_MOTION_UNSURE;
    VF_TEAM(one, 1)
    {
        vf_ego_blank(m, state);
        m->pairs = none ? 0 : pairs;
        m->hypotheses = none ? 0 : hypotheses;
        m->frame = none ? 0 : params->frame;
        if (!none && kind == VF_RELATIVE && vf_ego_elsewhere(s)) m->flags = VFRONT_MOTION_ONE_GPU;
    }
    VF_TEAM_SYNC();
    return state;
}

/** Fills in the best motion of a kind. Returns its state. */
VF_FN uint32_t vf_ego_fill(const struct vf_step *s, vfront_motion_t *m, int kind, uint32_t pairs,
                           const struct vf_facts *f)
{
    const struct vf_tally *sum = &f->sum[kind];
    const uint32_t state = kind == VF_TURN ? VFRONT_MOTION_ROTATION : VFRONT_MOTION_GOOD;
    const int enough = vf_ego_enough(&s->tuning, sum->inliers, pairs) && f->solved[kind];
    VF_TEAM(one, 1) m->inliers = sum->inliers;
    if (!enough) return VFRONT_MOTION_UNSURE;
    VF_TEAM(i, 21) m->covariance[i] = f->covariance[kind][i];
    VF_TEAM(i, 9) m->R[i] = f->pose[kind].R[i];
    VF_TEAM(i, 3) m->t[i] = kind == VF_TURN ? 0.0f : f->pose[kind].t[i];
    VF_TEAM(one, 1)
    {
        m->rms_px = sqrtf(sum->terms[VF_TERM_E] / (float)sum->inliers) * (float)s->tuning.ego_error_mpx * 0.001f;
        m->parallax_px = vf_ego_bin_px(f->parallax[kind]);
        if (vf_ego_bin_px(f->moved) * 1000.0f <= (float)s->tuning.ego_still_mpx) m->flags |= VFRONT_MOTION_STILL;
        m->state = state;
    }
    return state;
}

/** The relative motion, or the turn that is all there is to see. Returns its state. */
VF_FN uint32_t vf_ego_fill_relative(const struct vf_step *s, vfront_motion_t *m, uint32_t pairs,
                                    const struct vf_facts *f)
{
    const struct vf_tally *relative = &f->sum[VF_RELATIVE], *turn = &f->sum[VF_TURN];
    const int turns = vf_ego_turns(f);
    if (turns && (!vf_ego_enough(&s->tuning, relative->inliers, pairs) || vf_ego_no_parallax(turn, relative)))
        return vf_ego_fill(s, m, VF_TURN, pairs, f);
    const uint32_t state = vf_ego_fill(s, m, VF_RELATIVE, pairs, f);
    VF_TEAM(one, state == VFRONT_MOTION_GOOD)
    {
        m->others = f->others;
        if (turns) m->flags |= VFRONT_MOTION_PARALLAX;
        if (f->in_plane * 100 >= relative->inliers * VF_EGO_IN_PLANE_PERCENT) m->flags |= VFRONT_MOTION_PLANE;
        if (vf_ego_enough(&s->tuning, f->others, f->looked)) m->flags |= VFRONT_MOTION_TWO;
    }
    return state;
}

/** The relative motion of a step, and the metric one, from all that was found out. */
VF_FN void vf_ego_judge_relative(const struct vf_step *s, const struct vf_params *params, uint32_t pairs,
                                 const struct vf_facts *f, vfront_motion_t *m)
{
    if (vf_ego_start(s, params, m, VF_RELATIVE, pairs) == VFRONT_MOTION_UNSURE) vf_ego_fill_relative(s, m, pairs, f);
    VF_TEAM(one, 1)
    if (m->state) m->needed = vf_ego_needed(m->inliers, m->pairs, s->tuning.ego_points);
}
VF_FN void vf_ego_judge_metric(const struct vf_step *s, const struct vf_params *params, uint32_t pairs,
                               const struct vf_facts *f, vfront_motion_t *m)
{
    if (vf_ego_start(s, params, m, VF_METRIC, pairs) == VFRONT_MOTION_UNSURE) vf_ego_fill(s, m, VF_METRIC, pairs, f);
    VF_TEAM(one, 1)
    if (m->state) m->needed = vf_ego_needed(m->inliers, m->pairs, 3);
}

/** The last motion that was good; NULL: there is none. */
VF_FN const vfront_motion_t *vf_ego_good(const struct vf_params *params, const vfront_motion_t *relative,
                                         const vfront_motion_t *metric, const vfront_motion_t *before)
{
    if (metric->state == VFRONT_MOTION_GOOD) return metric;
    if (relative->state == VFRONT_MOTION_GOOD) return relative;
    return params->frame ? before : NULL;
}

/** The kind of motion that pairs are said to agree with; VF_KINDS: none. */
VF_FN int vf_ego_agreed_relative(const vfront_motion_t *m)
{
    return m->state == VFRONT_MOTION_GOOD ? VF_RELATIVE : m->state == VFRONT_MOTION_ROTATION ? VF_TURN : VF_KINDS;
}
VF_FN int vf_ego_agreed_metric(const vfront_motion_t *m)
{
    return m->state == VFRONT_MOTION_GOOD ? VF_METRIC : VF_KINDS;
}

#endif
