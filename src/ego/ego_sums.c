/* SPDX-License-Identifier: MIT */
/* ego, host form: scores and normal equations, summed over correspondences in the order given in ego.h.
 *
 * Shared  Error and terms of a correspondence are shared with the kernel (motion.h). The host runs
 *         vf_motion_accumulate() on 32 lanes at once without branches, so that the compiler vectorises it; the kernel
 *         has a thread per lane. */
#include "ego_host.h"

#if VFRONT_EGO

/** Copies correspondence `from` of a list to index i of a subset. */
static void put(struct vf_ego_subset *to, int32_t i, const struct vf_correspondences *list, int32_t from)
{
    for (int k = 0; k < 3; k++) {
        to->before[k][i] = list->before[k][from];
        to->now[k][i] = list->now[k][from];
    }
    to->weight[i] = list->weight[from];
    to->range_m[i] = list->range_m[from];
    to->range_sigma_m[i] = list->range_sigma_m[from];
    to->inverse_depth_1pm[i] = list->inverse_depth_1pm[from];
    to->inverse_depth_sigma_1pm[i] = list->inverse_depth_sigma_1pm[from];
}

void vf_ego_choose_subset(const struct vf_ego_view *s, int search, int32_t most, struct vf_ego_subset *subset)
{
    const struct vf_correspondences *list = &s->ego->list[vf_ego_list(search)];
    const int32_t all = (int32_t)s->ego->count[vf_ego_list(search)];
    memset(subset, 0, sizeof *subset);
    subset->count = vf_ego_subset_count(all, most);
    for (int32_t i = 0; i < subset->count; i++) put(subset, i, list, vf_ego_subset_index(all, most, i));
}

struct vf_ego_columns vf_ego_columns_of(const struct vf_correspondences *list, int32_t first, int32_t count,
                                        struct vf_ego_subset *end)
{
    const struct vf_ego_columns in_list = VF_EGO_COLUMNS(list, first), at_end = VF_EGO_COLUMNS(end, 0);
    if (first + VF_EGO_GROUP <= VFRONT_CORRESPONDENCES) return in_list;
    memset(end, 0, sizeof *end);
    for (int32_t i = first; i < count; i++) put(end, i - first, list, i);
    return at_end;
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

static inline struct vf_ego_scores score_of(int kind, const struct vf_ego_columns *of, int32_t count,
                                            struct vf_pose pose)
{
    struct vf_ego_scores score = {0, 0};
    for (int32_t i = 0; i < count; i++) {
        const struct vf_correspondence c = vf_ego_get(of, i);
        const struct vf_correspondence wide = vf_motion_widen(c);
        score.own += vf_motion_inlier_score(vf_motion_error(kind, &pose, &c));
        if (kind == VF_METRIC) score.wide += vf_motion_inlier_score(vf_motion_error(kind, &pose, &wide));
    }
    return score;
}
VF_HOT_FLAT static struct vf_ego_scores score_relative(const struct vf_ego_columns *of, int32_t count,
                                                       const struct vf_pose *p)
{
    return score_of(VF_RELATIVE, of, count, *p);
}
VF_HOT_FLAT static struct vf_ego_scores score_rotation(const struct vf_ego_columns *of, int32_t count,
                                                       const struct vf_pose *p)
{
    return score_of(VF_ROTATION_ONLY, of, count, *p);
}
VF_HOT_FLAT static struct vf_ego_scores score_metric(const struct vf_ego_columns *of, int32_t count,
                                                     const struct vf_pose *p)
{
    return score_of(VF_METRIC, of, count, *p);
}

struct vf_ego_scores vf_ego_score(int kind, const struct vf_ego_subset *subset, const struct vf_pose *pose)
{
    const struct vf_ego_columns of = VF_EGO_COLUMNS(subset, 0);
    if (kind == VF_ROTATION_ONLY) return score_rotation(&of, subset->count, pose);
    return kind == VF_METRIC ? score_metric(&of, subset->count, pose) : score_relative(&of, subset->count, pose);
}

/* ---- normal equations -------------------------------------------------------------------------------------------- */

#define GROUP VF_EGO_GROUP
#define GROUPS (VF_EGO_LANES / GROUP)
VF_STATIC_ASSERT(VF_EGO_LANES % GROUP == 0 && (GROUPS & (GROUPS - 1)) == 0, "lanes are added by halves");
VF_STATIC_ASSERT(VF_EGO_SCORING_SUBSET <= VF_EGO_LANES, "a subset holds those that score");

/** Partial sums of the normal equations in 32 neighbouring lanes, structure of arrays. */
struct lanes {
    float terms[VF_TERMS][GROUP];
    int32_t score[GROUP];
    uint32_t inliers[GROUP], residuals[GROUP];
};

/** Returns a if all bits of the mask are 1, b if all are 0; without a branch. */
static inline float select_by(uint32_t mask, float a, float b)
{
    uint32_t bits_a, bits_b;
    memcpy(&bits_a, &a, sizeof a);
    memcpy(&bits_b, &b, sizeof b);
    bits_a = (bits_a & mask) | (bits_b & ~mask);
    memcpy(&a, &bits_a, sizeof a);
    return a;
}

/** Calls vf_motion_add_row() if all bits of the mask are 1. If all are 0, adds products of zeros, which leaves a sum
 *  unchanged because it is never -0. */
static inline void add_row(uint32_t mask, float terms[VF_TERMS], const float J[6], float r, float factor)
{
    float row[6];
    VF_UNROLL_FULL
    for (int k = 0; k < 6; k++) row[k] = vf_ego_masked(mask, J[k]);
    vf_motion_add_row(terms, row, vf_ego_masked(mask, r), vf_ego_masked(mask, factor));
}

/** Adds vf_motion_rotation_terms() if all bits of the mask are 1, zeros if all are 0. Omits products by zero elements
 *  of the Jacobian. */
static inline void add_rotation(uint32_t mask, const struct vf_pose *p, const struct vf_correspondence *c,
                                float terms[VF_TERMS])
{
    float a[3], r[3];
    vf_transform(p->R, c->before, a);
    VF_UNROLL_FULL
    for (int k = 0; k < 3; k++) {
        r[k] = vf_ego_masked(mask, c->weight * (a[k] - c->now[k]));
        a[k] = vf_ego_masked(mask, c->weight * a[k]);
    }
    float *xx = terms + 15, *xy = terms + 16, *xz = terms + 17, *yy = terms + 18, *yz = terms + 19, *zz = terms + 20;
    float *g = terms + VF_TERM_G + 3, *e = terms + VF_TERM_E;
    *yy += a[2] * a[2];
    *yz += a[2] * -a[1];
    *zz += a[1] * a[1];
    g[1] += a[2] * r[0];
    g[2] += -a[1] * r[0];
    *e += r[0] * r[0];
    *xx += a[2] * a[2];
    *xz += -a[2] * a[0];
    *zz += a[0] * a[0];
    g[0] += -a[2] * r[1];
    g[2] += a[0] * r[1];
    *e += r[1] * r[1];
    *xx += a[1] * a[1];
    *xy += a[1] * -a[0];
    *yy += a[0] * a[0];
    g[0] += a[1] * r[2];
    g[1] += -a[0] * r[2];
    *e += r[2] * r[2];
}

/** Adds vf_motion_relative_terms() if all bits of the mask are 1, zeros if all are 0. */
static inline void add_relative(uint32_t mask, const struct vf_pose *p, const struct vf_correspondence *c,
                                float terms[VF_TERMS])
{
    const struct vf_sampson k = vf_motion_sampson(p, c);
    float J[6], square;
    const float w = vf_motion_relative_weight(&k, c, &square);
    vf_motion_relative_row(p, c, &k, w, square, J);
    add_row(mask, terms, J, w * k.constraint, 1.0f);
}

/** Adds vf_motion_metric_terms() if all bits of the mask are 1; without a branch. */
static inline void add_metric(uint32_t mask, const struct vf_pose *p, const struct vf_correspondence *c,
                              float terms[VF_TERMS])
{
    float sum[VF_TERMS];
    VF_UNROLL_FULL
    for (int k = 0; k < VF_TERMS; k++) sum[k] = terms[k];
    vf_motion_metric_terms(p, c, sum);
    VF_UNROLL_FULL
    for (int k = 0; k < VF_TERMS; k++) terms[k] = select_by(mask, sum[k], terms[k]);
}

/** Adds one correspondence to the normal equations of each of the first `count` lanes, without branches:
 *  vf_motion_accumulate(). */
static inline void accumulate(int kind, int wide, const struct vf_ego_columns *of, int32_t count, struct vf_pose pose,
                              struct lanes *sum)
{
    /* index of the first normal-equation term that is not always 0 */
    const int first = kind == VF_ROTATION_ONLY ? 15 : 0;
    for (int32_t l = 0; l < GROUP; l++) {
        const struct vf_correspondence own = vf_ego_get(of, l), c = wide ? vf_motion_widen(own) : own;
        const int32_t score = vf_motion_inlier_score(vf_motion_error(kind, &pose, &c)) & -(l < count);
        const uint32_t inlier = -(uint32_t)(score > 0);
        float terms[VF_TERMS];
        VF_UNROLL_FULL
        for (int k = first; k < VF_TERMS; k++) terms[k] = sum->terms[k][l];
        if (kind == VF_ROTATION_ONLY) add_rotation(inlier, &pose, &c, terms);
        if (kind == VF_RELATIVE) add_relative(inlier, &pose, &c, terms);
        if (kind == VF_METRIC) add_metric(inlier, &pose, &c, terms);
        VF_UNROLL_FULL
        for (int k = first; k < VF_TERMS; k++) sum->terms[k][l] = terms[k];
        sum->score[l] += score;
        sum->inliers[l] += inlier & 1;
        sum->residuals[l] += inlier & vf_motion_residuals(kind, &c);
    }
}
VF_HOT_FLAT static void accumulate_relative(const struct vf_ego_columns *of, int32_t count, const struct vf_pose *p,
                                            struct lanes *restrict sum)
{
    accumulate(VF_RELATIVE, 0, of, count, *p, sum);
}
VF_HOT_FLAT static void accumulate_rotation(const struct vf_ego_columns *of, int32_t count, const struct vf_pose *p,
                                            struct lanes *restrict sum)
{
    accumulate(VF_ROTATION_ONLY, 0, of, count, *p, sum);
}
VF_HOT_FLAT static void accumulate_metric(const struct vf_ego_columns *of, int32_t count, const struct vf_pose *p,
                                          struct lanes *restrict sum)
{
    accumulate(VF_METRIC, 0, of, count, *p, sum);
}
VF_HOT_FLAT static void accumulate_wide(const struct vf_ego_columns *of, int32_t count, const struct vf_pose *p,
                                        struct lanes *restrict sum)
{
    accumulate(VF_METRIC, 1, of, count, *p, sum);
}
static void accumulate_search(int search, const struct vf_ego_columns *of, int32_t count, const struct vf_pose *pose,
                              struct lanes *sum)
{
    if (search == VF_RELATIVE) accumulate_relative(of, count, pose, sum);
    if (search == VF_ROTATION_ONLY) accumulate_rotation(of, count, pose, sum);
    if (search == VF_METRIC) accumulate_metric(of, count, pose, sum);
    if (search == VF_WIDE) accumulate_wide(of, count, pose, sum);
}

/** Adds lanes step .. 2 step - 1 to lanes 0 .. step - 1. */
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

/** Sums the lanes of a group: adds the upper half to the lower half, five times. Constant lengths let the compiler
 *  vectorise each loop. */
VF_HOT_FLAT static void add_lanes(struct lanes *sum, struct vf_normal_equations *out)
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

/** Sums the normal equations of the groups: adds the upper half of the groups to the lower half, repeatedly. */
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

/** Sums the normal equations of the correspondences in one group of lanes. first: the group's first lane. */
static void sum_group(int search, const struct vf_correspondences *list, int32_t count, int32_t first,
                      const struct vf_pose *pose, struct vf_normal_equations *out)
{
    struct vf_ego_subset end;
    struct lanes sum;
    memset(&sum, 0, sizeof sum);
    for (; first < count; first += VF_EGO_LANES) {
        const struct vf_ego_columns of = vf_ego_columns_of(list, first, count, &end);
        accumulate_search(search, &of, vf_min(count - first, GROUP), pose, &sum);
    }
    add_lanes(&sum, out);
}

struct vf_normal_equations vf_ego_sum_motion(const struct vf_ego_view *s, int search, const struct vf_pose *pose)
{
    const struct vf_correspondences *list = &s->ego->list[vf_ego_list(search)];
    const int32_t count = (int32_t)s->ego->count[vf_ego_list(search)];
    struct vf_normal_equations group[GROUPS];
    for (int g = 0; g < GROUPS; g++) sum_group(search, list, count, GROUP * g, pose, &group[g]);
    return add_groups(group);
}

struct vf_normal_equations vf_ego_sum_subset(int search, const struct vf_ego_subset *subset, const struct vf_pose *pose)
{
    struct vf_normal_equations group[GROUPS];
    for (int g = 0; g < GROUPS; g++) {
        const struct vf_ego_columns of = VF_EGO_COLUMNS(subset, GROUP * g);
        struct lanes sum;
        memset(&sum, 0, sizeof sum);
        if (GROUP * g < subset->count) accumulate_search(search, &of, subset->count - GROUP * g, pose, &sum);
        add_lanes(&sum, &group[g]);
    }
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
