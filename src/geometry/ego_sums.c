/* SPDX-License-Identifier: MIT */
/* ego, host form: scores and normal equations, sums over many correspondences in the order that ego.h gives.
 *
 * Shared  the error and the terms of a correspondence, with the kernel (motion.h). The host does vf_motion_accumulate()
 *         for 32 lanes at once and without branches, so that the compiler makes vector code of it; the kernel has a
 *         lane per thread */
#include "ego_host.h"

#if VFRONT_EGO

/** Copy correspondence `from` of a list to place i. */
static void put(struct vf_ego_batch *batch, int32_t i, const struct vf_correspondences *list, int32_t from)
{
    for (int k = 0; k < 3; k++) {
        batch->before[k][i] = list->before[k][from];
        batch->now[k][i] = list->now[k][from];
    }
    batch->weight[i] = list->weight[from];
    batch->range_m[i] = list->range_m[from];
    batch->range_sigma_m[i] = list->range_sigma_m[from];
    batch->inverse_depth_1pm[i] = list->inverse_depth_1pm[from];
    batch->inverse_depth_sigma_1pm[i] = list->inverse_depth_sigma_1pm[from];
}

/** Copy `count` correspondences of a list from place `first` on. */
static void put_run(struct vf_ego_batch *batch, const struct vf_correspondences *list, int32_t first, int32_t count)
{
    const size_t bytes = sizeof(float) * (size_t)count;
    for (int k = 0; k < 3; k++) {
        memcpy(batch->before[k], list->before[k] + first, bytes);
        memcpy(batch->now[k], list->now[k] + first, bytes);
    }
    memcpy(batch->weight, list->weight + first, bytes);
    memcpy(batch->range_m, list->range_m + first, bytes);
    memcpy(batch->range_sigma_m, list->range_sigma_m + first, bytes);
    memcpy(batch->inverse_depth_1pm, list->inverse_depth_1pm + first, bytes);
    memcpy(batch->inverse_depth_sigma_1pm, list->inverse_depth_sigma_1pm + first, bytes);
}

/** Copy members first .. first + count of the subset of at most `most` of a list of `all`, to the first places. */
static void put_subset(struct vf_ego_batch *batch, const struct vf_correspondences *list, int32_t all, int32_t most,
                       int32_t first, int32_t count)
{
    if (all <= most) {
        put_run(batch, list, first, count);
        return;
    }
    for (int32_t i = 0; i < count; i++) put(batch, i, list, vf_ego_subset_index(all, most, first + i));
}

static inline struct vf_correspondence get(const struct vf_ego_batch *batch, int32_t i)
{
    struct vf_correspondence c;
    VF_PEEL
    for (int k = 0; k < 3; k++) {
        c.before[k] = batch->before[k][i];
        c.now[k] = batch->now[k][i];
    }
    c.weight = batch->weight[i];
    c.range_m = batch->range_m[i];
    c.range_sigma_m = batch->range_sigma_m[i];
    c.inverse_depth_1pm = batch->inverse_depth_1pm[i];
    c.inverse_depth_sigma_1pm = batch->inverse_depth_sigma_1pm[i];
    return c;
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

static inline struct vf_ego_scores score_of(int kind, const struct vf_ego_batch *batch, int32_t count,
                                            struct vf_pose pose)
{
    struct vf_ego_scores score = {0, 0};
    for (int32_t i = 0; i < count; i++) {
        const struct vf_correspondence c = get(batch, i);
        const struct vf_correspondence wide = vf_motion_widen(c);
        score.own += vf_motion_inlier_score(vf_motion_error(kind, &pose, &c));
        if (kind == VF_METRIC) score.wide += vf_motion_inlier_score(vf_motion_error(kind, &pose, &wide));
    }
    return score;
}
VF_LOOP static struct vf_ego_scores score_relative(const struct vf_ego_batch *batch, int32_t count,
                                                   const struct vf_pose *p)
{
    return score_of(VF_RELATIVE, batch, count, *p);
}
VF_LOOP static struct vf_ego_scores score_rotation(const struct vf_ego_batch *batch, int32_t count,
                                                   const struct vf_pose *p)
{
    return score_of(VF_ROTATION_ONLY, batch, count, *p);
}
VF_LOOP static struct vf_ego_scores score_metric(const struct vf_ego_batch *batch, int32_t count,
                                                 const struct vf_pose *p)
{
    return score_of(VF_METRIC, batch, count, *p);
}

void vf_ego_choose_scoring_subset(const struct vf_ego_view *s, int kind, struct vf_ego_scoring_subset *subset)
{
    const struct vf_correspondences *list = &s->ego->list[vf_ego_list(kind)];
    const int32_t count = (int32_t)s->ego->count[vf_ego_list(kind)];
    subset->count = vf_ego_subset_count(count, VF_EGO_SCORING_SUBSET);
    put_subset(&subset->batch, list, count, VF_EGO_SCORING_SUBSET, 0, subset->count);
}

struct vf_ego_scores vf_ego_score(int kind, const struct vf_ego_scoring_subset *subset, const struct vf_pose *pose)
{
    if (kind == VF_ROTATION_ONLY) return score_rotation(&subset->batch, subset->count, pose);
    return kind == VF_METRIC ? score_metric(&subset->batch, subset->count, pose)
                             : score_relative(&subset->batch, subset->count, pose);
}

/* ---- normal equations -------------------------------------------------------------------------------------------- */

#define GROUP 32 /* lanes that are added first, a warp of the kernel */
#define GROUPS (VF_EGO_LANES / GROUP)
VF_STATIC_ASSERT(VF_EGO_LANES % GROUP == 0 && (GROUPS & (GROUPS - 1)) == 0, "lanes are added by halves");
VF_STATIC_ASSERT(GROUP <= VF_EGO_SCORING_SUBSET, "a batch holds a correspondence of each lane");

/** Partial sums of a group of lanes, structure of arrays. */
struct lanes {
    float terms[VF_TERMS][GROUP];
    int32_t score[GROUP];
    uint32_t inliers[GROUP], residuals[GROUP];
};

/** Select a where all bits of the mask are 1, b where all are 0. */
static inline float select_by(uint32_t mask, float a, float b)
{
    uint32_t bits_a, bits_b;
    memcpy(&bits_a, &a, sizeof a);
    memcpy(&bits_b, &b, sizeof b);
    bits_a = (bits_a & mask) | (bits_b & ~mask);
    memcpy(&a, &bits_a, sizeof a);
    return a;
}

/** vf_motion_accumulate() of a correspondence into each of the first `count` lanes, without branches. */
static inline void accumulate(int kind, int wide, const struct vf_ego_batch *batch, int32_t count, struct vf_pose pose,
                              struct lanes *sum)
{
    for (int32_t l = 0; l < GROUP; l++) {
        const struct vf_correspondence own = get(batch, l), c = wide ? vf_motion_widen(own) : own;
        const int32_t score = vf_motion_inlier_score(vf_motion_error(kind, &pose, &c)) & -(l < count);
        const uint32_t inlier = -(uint32_t)(score > 0);
        float terms[VF_TERMS];
        VF_PEEL
        for (int k = 0; k < VF_TERMS; k++) terms[k] = sum->terms[k][l];
        vf_motion_terms(kind, &pose, &c, terms);
        VF_PEEL
        for (int k = 0; k < VF_TERMS; k++) sum->terms[k][l] = select_by(inlier, terms[k], sum->terms[k][l]);
        sum->score[l] += score;
        sum->inliers[l] += inlier & 1;
        sum->residuals[l] += inlier & vf_motion_residuals(kind, &c);
    }
}
VF_LOOP static void accumulate_relative(const struct vf_ego_batch *restrict batch, int32_t count,
                                        const struct vf_pose *p, struct lanes *restrict sum)
{
    accumulate(VF_RELATIVE, 0, batch, count, *p, sum);
}
VF_LOOP static void accumulate_rotation(const struct vf_ego_batch *restrict batch, int32_t count,
                                        const struct vf_pose *p, struct lanes *restrict sum)
{
    accumulate(VF_ROTATION_ONLY, 0, batch, count, *p, sum);
}
VF_LOOP static void accumulate_metric(const struct vf_ego_batch *restrict batch, int32_t count, const struct vf_pose *p,
                                      struct lanes *restrict sum)
{
    accumulate(VF_METRIC, 0, batch, count, *p, sum);
}
VF_LOOP static void accumulate_wide(const struct vf_ego_batch *restrict batch, int32_t count, const struct vf_pose *p,
                                    struct lanes *restrict sum)
{
    accumulate(VF_METRIC, 1, batch, count, *p, sum);
}

/** Add the lanes behind the first `step` to these. */
static inline void halve_lanes(struct lanes *sum, int step)
{
    for (int k = 0; k < VF_TERMS; k++)
        for (int l = 0; l < step; l++) sum->terms[k][l] += sum->terms[k][l + step];
    for (int l = 0; l < step; l++) {
        sum->score[l] += sum->score[l + step];
        sum->inliers[l] += sum->inliers[l + step];
        sum->residuals[l] += sum->residuals[l + step];
    }
}

/** Sum of a group's lanes, added by halves; each half has a loop of its own, of a length that compilers can see. */
VF_LOOP static void add_lanes(struct lanes *sum, struct vf_normal_equations *out)
{
    VF_STATIC_ASSERT(GROUP == 32, "five halves");
    halve_lanes(sum, 16);
    halve_lanes(sum, 8);
    halve_lanes(sum, 4);
    halve_lanes(sum, 2);
    halve_lanes(sum, 1);
    for (int k = 0; k < VF_TERMS; k++) out->terms[k] = sum->terms[k][0];
    out->score = sum->score[0];
    out->inliers = sum->inliers[0];
    out->residuals = sum->residuals[0];
}

/** Sum of the groups, added by halves. */
static struct vf_normal_equations add_groups(struct vf_normal_equations group[GROUPS])
{
    for (int step = GROUPS / 2; step; step /= 2)
        for (int g = 0; g < step; g++) {
            for (int k = 0; k < VF_TERMS; k++) group[g].terms[k] += group[g + step].terms[k];
            group[g].score += group[g + step].score;
            group[g].inliers += group[g + step].inliers;
            group[g].residuals += group[g + step].residuals;
        }
    return group[0];
}

/** Sum of the group of lanes that begins at lane `first`. batch: scratch, cleared before the first group. */
static void sum_group(int search, const struct vf_correspondences *list, int32_t count, int32_t most, int32_t first,
                      const struct vf_pose *pose, struct vf_ego_batch *batch, struct vf_normal_equations *out)
{
    const int32_t used = vf_ego_subset_count(count, most);
    struct lanes sum;
    memset(&sum, 0, sizeof sum);
    for (; first < used; first += VF_EGO_LANES) {
        const int32_t here = vf_min(used - first, GROUP);
        put_subset(batch, list, count, most, first, here);
        if (search == VF_RELATIVE) accumulate_relative(batch, here, pose, &sum);
        if (search == VF_ROTATION_ONLY) accumulate_rotation(batch, here, pose, &sum);
        if (search == VF_METRIC) accumulate_metric(batch, here, pose, &sum);
        if (search == VF_WIDE) accumulate_wide(batch, here, pose, &sum);
    }
    add_lanes(&sum, out);
}

struct vf_normal_equations vf_ego_sum_motion(const struct vf_ego_view *s, int search, int32_t most,
                                             const struct vf_pose *pose)
{
    const struct vf_correspondences *list = &s->ego->list[vf_ego_list(search)];
    const int32_t count = (int32_t)s->ego->count[vf_ego_list(search)];
    struct vf_normal_equations group[GROUPS];
    struct vf_ego_batch batch;
    memset(&batch, 0, sizeof batch);
    for (int g = 0; g < GROUPS; g++) sum_group(search, list, count, most, GROUP * g, pose, &batch, &group[g]);
    return add_groups(group);
}

struct vf_normal_equations vf_ego_sum_plane(const struct vf_ego_view *s, const struct vf_pose *pose, const float n[3],
                                            int32_t most, int all)
{
    const struct vf_correspondences *list = &s->ego->list[0];
    const int32_t count = (int32_t)s->ego->count[0], used = vf_ego_subset_count(count, most);
    struct vf_normal_equations group[GROUPS];
    for (int g = 0; g < GROUPS; g++) {
        struct lanes sum;
        memset(&sum, 0, sizeof sum);
        for (int32_t i = GROUP * g; i < used; i += i % GROUP < GROUP - 1 ? 1 : VF_EGO_LANES - GROUP + 1) {
            const struct vf_correspondence c = vf_ego_load(list, vf_ego_subset_index(count, most, i));
            float terms[VF_TERMS];
            if (!vf_motion_inlier_score(vf_motion_error(VF_RELATIVE, pose, &c))) continue;
            for (int k = 0; k < VF_TERMS; k++) terms[k] = sum.terms[k][i % GROUP];
            sum.inliers[i % GROUP] += (uint32_t)vf_ego_plane_terms(pose, n, &c, all, terms);
            for (int k = 0; k < VF_TERMS; k++) sum.terms[k][i % GROUP] = terms[k];
        }
        add_lanes(&sum, &group[g]);
    }
    return add_groups(group);
}
#endif
