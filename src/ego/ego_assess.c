/* SPDX-License-Identifier: MIT */
/* ego, host form: assessment of the best motions, their covariance, inliers and report. */
#include "ego_host.h"

#if VFRONT_EGO

/** Refined hypothesis with the highest score in a search; of equal scores, the first. */
static const struct vf_refined *best_of(const struct vf_ego_view *s, int search)
{
    const struct vf_refined *f = s->ego->refined[search];
    int best = 0;
    for (int rank = 1; rank < VF_EGO_REFINED; rank++)
        if (f[rank].sum.score > f[best].sum.score) best = rank;
    return &f[best];
}

/** Outliers of a motion, structure of arrays for a vectorised loop. */
struct outliers {
    float before[3][VF_EGO_ALTERNATIVE_SUBSET], now[3][VF_EGO_ALTERNATIVE_SUBSET], weight[VF_EGO_ALTERNATIVE_SUBSET];
};
static void add_outlier(struct outliers *to, uint32_t i, const struct vf_correspondence *c)
{
    for (int k = 0; k < 3; k++) {
        to->before[k][i] = c->before[k];
        to->now[k][i] = c->now[k];
    }
    to->weight[i] = c->weight;
}

/** Counts the correspondences `of`, outliers of the best relative motion, that are inliers of the relative motion
 *  `pose`. */
VF_HOT_FLAT static uint32_t count_inliers(const struct outliers *of, uint32_t count, const struct vf_pose *pose)
{
    const struct vf_pose p = *pose;
    uint32_t inliers = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct vf_correspondence c = {.before = {of->before[0][i], of->before[1][i], of->before[2][i]},
                                            .now = {of->now[0][i], of->now[1][i], of->now[2][i]},
                                            .weight = of->weight[i]};
        inliers += vf_motion_error(VF_RELATIVE, &p, &c) < 1.0f;
    }
    return inliers;
}

/** Searches an alternative motion: counts, for every relative hypothesis, its inliers among the outliers of the best
 *  relative motion. */
static void search_alternative(const struct vf_ego_view *s, struct vf_assessment *a)
{
    struct vf_ego_memory *m = s->ego;
    const int32_t count = (int32_t)m->count[0], used = vf_ego_subset_count(count, VF_EGO_ALTERNATIVE_SUBSET);
    struct outliers outliers;
    for (int32_t k = 0; k < used && vf_ego_hypotheses(s, VF_RELATIVE); k++) {
        const struct vf_correspondence c = vf_ego_load(&m->list[0],
                                                       vf_ego_subset_index(count, VF_EGO_ALTERNATIVE_SUBSET, k));
        if (vf_ego_is_outlier(vf_motion_error(VF_RELATIVE, &a->pose[VF_RELATIVE], &c)))
            add_outlier(&outliers, a->outliers++, &c);
    }
    for (int32_t h = 0; h < vf_ego_hypotheses(s, VF_RELATIVE); h++) {
        const int made = m->score[VF_RELATIVE][h] != 0;
        m->alternative[h] = made ? count_inliers(&outliers, a->outliers, &m->pose[VF_RELATIVE][h]) : 0;
        if (m->alternative[h] > a->alternative_inliers) a->alternative_inliers = m->alternative[h];
    }
}

/** Sets m->inlier of each listed candidate: 1 for an inlier of `pose`, the best motion of a search. */
static void mark_inliers(const struct vf_ego_view *s, int search, const struct vf_pose *pose)
{
    struct vf_ego_memory *m = s->ego;
    const int kind = vf_ego_kind(search);
    const struct vf_correspondences *list = &m->list[vf_ego_list(kind)];
    for (uint32_t i = 0; i < m->count[vf_ego_list(kind)]; i++) {
        const struct vf_correspondence c = vf_ego_load_for(search, list, (int32_t)i);
        m->inlier[kind][list->candidate[i]] = vf_motion_inlier_score(vf_motion_error(kind, pose, &c)) > 0;
    }
}

/** Median image displacement of a motion's inliers after compensating its rotation [1/16 px]. pose NULL: of all
 *  correspondences, without compensation. */
static int32_t median_displacement(const struct vf_ego_view *s, int kind, const struct vf_pose *pose)
{
    static const float none[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const struct vf_ego_memory *m = s->ego;
    const int list = vf_ego_list(kind);
    int32_t bin[VF_EGO_BINS] = {0}, all = 0, upto = 0;
    for (uint32_t i = 0; i < m->count[list]; i++) {
        const struct vf_correspondence c = vf_ego_load(&m->list[list], (int32_t)i);
        if (pose && !m->inlier[kind][m->list[list].candidate[i]]) continue;
        bin[vf_ego_displacement_bin(s, pose ? pose->R : none, &c)]++;
        all++;
    }
    for (int32_t b = 0; b < VF_EGO_BINS; b++) {
        upto += bin[b];
        if (vf_ego_is_median_bin(upto - bin[b], upto, all)) return b;
    }
    return 0;
}

/** Number of inliers of a relative motion that lie in one plane. */
static uint32_t count_plane_inliers(const struct vf_ego_view *s, const struct vf_pose *pose)
{
    float n[3] = {0.0f, 0.0f, 0.0f};
    for (int fit = 0; fit < VF_EGO_PLANE_STEPS; fit++) {
        const struct vf_normal_equations sum = vf_ego_sum_plane(s, pose, n, VF_EGO_LANES, fit == 0);
        if (!vf_ego_plane_step(sum.terms, n)) return 0;
    }
    return vf_ego_sum_plane(s, pose, n, VFRONT_CORRESPONDENCES, 0).inliers;
}

/** Computes the covariance of the best motion of a search. Returns 1; 0, with a covariance of 0, if the normal
 *  equations have no solution. */
static int find_covariance(const struct vf_ego_view *s, int search, const struct vf_pose *pose,
                           const struct vf_normal_equations *sum, struct vf_assessment *a)
{
    const int kind = vf_ego_kind(search);
    float *covariance = a->covariance[kind];
    struct vf_ego_cluster_sums *cluster_sums = &s->ego->cluster_sums[kind];
    const struct vf_refined best = {*pose, *sum};
    struct vf_ego_rival rival[VF_EGO_REFINED];
    float scale[6], B[21], L[6][6], half[6][6], middle[6][6], row[6];
    for (int k = 0; k < 6; k++) scale[k] = vf_ego_gradient_scale(sum->terms, k);
    vf_ego_sum_clusters(s, search, pose, scale, cluster_sums);
    for (int i = 0; i < 6; i++)
        for (int j = i; j < 6; j++)
            B[vf_motion_index(i, j)] = vf_ego_gradient_covariance(kind, sum, scale, cluster_sums, i, j);
    memset(covariance, 0, 21 * sizeof *covariance);
    if (!vf_motion_cholesky(kind, pose->t, sum->terms, L)) return 0;
    const struct vf_ego_offset offset = vf_ego_find_offset(s, kind, sum, scale, cluster_sums, L);
    for (int k = 0; k < VF_EGO_REFINED; k++)
        rival[k] = vf_ego_rival_of(&best, &s->ego->refined[search][k], s->ego->count[vf_ego_list(kind)]);
    for (int i = 0; i < 6; i++) vf_motion_covariance_half(L, B, i, half[i]);
    for (int i = 0; i < 6; i++) vf_motion_covariance_middle(L, half, i, middle[i]);
    for (int i = 0; i < 6; i++) {
        vf_motion_covariance_row(L, middle, i, row);
        for (int j = i; j < 6; j++)
            covariance[vf_motion_index(i, j)] = vf_ego_covariance_element(&offset, i, j, row[j]) +
                                                vf_ego_rival_element(rival, i, j);
    }
    if (kind == VF_METRIC) {
        a->offset_px = offset.measured_px;
        a->offset_weight = offset.weight;
    }
    return 1;
}

/** Assesses the best motion of each kind: covariance, inliers, parallax, points in a plane, alternative motion. */
static void assess_motions(const struct vf_ego_view *s, struct vf_assessment *a)
{
    memset(a, 0, sizeof *a);
    a->wide = vf_ego_metric_search(s, &best_of(s, VF_METRIC)->sum, &best_of(s, VF_WIDE)->sum) == VF_WIDE;
    for (int kind = 0; kind < VF_KINDS; kind++) {
        const int search = kind == VF_METRIC && a->wide ? VF_WIDE : kind;
        a->pose[kind] = best_of(s, search)->pose;
        a->sum[kind] = best_of(s, search)->sum;
        a->has_covariance[kind] = find_covariance(s, search, &a->pose[kind], &a->sum[kind], a);
        mark_inliers(s, search, &a->pose[kind]);
        a->parallax[kind] = median_displacement(s, kind, &a->pose[kind]);
    }
    a->displacement = median_displacement(s, VF_RELATIVE, NULL);
    a->plane_inliers = count_plane_inliers(s, &a->pose[VF_RELATIVE]);
    search_alternative(s, a);
}

/** Sets VFRONT_AGREES_... bits in the mask of each candidate that is an inlier of a reported motion. */
static void write_inlier_masks(struct vf_ego_memory *m)
{
    const int kinds[2] = {vf_ego_relative_kind(&m->relative), vf_ego_metric_kind(&m->metric)};
    for (int list = 0; list < 2; list++) {
        const int kind = kinds[list], bit = list ? VFRONT_AGREES_METRIC : VFRONT_AGREES_RELATIVE;
        for (uint32_t i = 0; i < VFRONT_CORRESPONDENCES && kind != VF_KINDS; i++)
            if (m->inlier[kind][i]) m->inlier_mask[i] |= (uint8_t)bit;
    }
}

/** Writes the reported motions, checks their consistency, and updates the last good motions and the disparity
 *  offset. */
static void report_motions(const struct vf_ego_view *s)
{
    struct vf_ego_memory *m = s->ego;
    const struct vf_params *params = &s->ingest->params;
    vf_ego_assess_relative(s, params, m->count[0], &m->assessment, &m->relative);
    vf_ego_assess_metric(s, params, m->count[1], &m->assessment, &m->metric);
    const struct vf_motion_check_input input = vf_motion_check_input_of(s, params);
    vf_motion_check_assess(&input, &m->relative, &m->metric, &m->running_means[s->parity],
                           &m->running_means[s->parity ^ 1]);
    m->disparity[s->parity] = vf_ego_disparity_next(s, params, &m->metric, &m->assessment);
    const vfront_motion_t *good = vf_ego_last_good(params, &m->relative, &m->metric, &m->good[s->parity ^ 1]);
    if (good)
        m->good[s->parity] = *good;
    else
        vf_ego_set_identity(&m->good[s->parity], VFRONT_MOTION_NONE);
    const struct vf_last_motion *before = m->last[s->parity ^ 1];
    m->last[s->parity][VF_LAST_METRIC] = vf_ego_last(params, &m->metric, &before[VF_LAST_METRIC]);
    m->last[s->parity][VF_LAST_RELATIVE] = vf_ego_last(params, &m->relative, &before[VF_LAST_RELATIVE]);
    write_inlier_masks(m);
}

void vf_ego_assess(const struct vf_ego_view *s)
{
    assess_motions(s, &s->ego->assessment);
    report_motions(s);
}
#endif
