/* SPDX-License-Identifier: MIT */
/* ego, host form: sums over the inliers of a motion for its covariance (ego_covariance.h). Gradients and calibration
 * effects are vectorised over 32 correspondences. */
#include "ego_host.h"

#if VFRONT_EGO

/** Block of 32 correspondences of a motion, structure of arrays. */
struct block {
    uint32_t inlier[VF_EGO_GROUP];     /* mask: all bits 1 for an inlier, all 0 for an outlier */
    int32_t edge[VF_EGO_GROUP];        /* 1: error near the inlier bound, 0.75 to 1.25 times */
    int32_t gradient[6][VF_EGO_GROUP]; /* vf_ego_scaled_gradient() of an inlier, 0 for an outlier */
};

/** Motion whose covariance sums are computed, with the fixed-point scales of its gradient and the steps of the
 *  calibration parameters. */
struct measure {
    struct vf_pose pose;
    float scale[6], step[VF_EGO_VALUES];
};

static inline struct vf_correspondence read(int wide, const struct vf_ego_columns *of, int32_t l)
{
    const struct vf_correspondence c = vf_ego_get(of, l);
    return wide ? vf_motion_widen(c) : c;
}

/** Computes the fixed-point gradients of correspondences 0 .. count - 1 of a block; 0 for outliers. */
static inline void find_gradients(int kind, int wide, const struct vf_ego_columns *of, int32_t count,
                                  const struct measure *m, struct block *b)
{
    const struct measure by = *m;
    for (int32_t l = 0; l < VF_EGO_GROUP; l++) {
        const struct vf_correspondence c = read(wide, of, l);
        const float error = vf_motion_error(kind, &by.pose, &c);
        const uint32_t inlier = -(uint32_t)((vf_motion_inlier_score(error) & -(l < count)) > 0);
        float terms[VF_TERMS];
        VF_UNROLL_FULL
        for (int k = 0; k < VF_TERMS; k++) terms[k] = 0.0f;
        vf_motion_terms(kind, &by.pose, &c, terms);
        VF_UNROLL_FULL
        for (int k = 0; k < 6; k++)
            b->gradient[k][l] = vf_round(vf_ego_masked(inlier, terms[VF_TERM_G + k] * by.scale[k]));
        b->inlier[l] = inlier;
        b->edge[l] = vf_ego_near_bound(error) & (l < count);
    }
}

/** Adds to cluster_sums how gradients and residuals of a block's inliers change if the calibration parameter `value`
 *  changes by m->step[value] (vf_ego_effect_of()). kind: kind of motion; wide: 1: correspondences have the three times
 *  wider inlier bound. */
static inline void add_effects(int kind, int wide, int value, const struct vf_ego_columns *of, const struct measure *m,
                               const struct block *b, struct vf_ego_cluster_sums *cluster_sums)
{
    const struct measure by = *m;
    int32_t sum[6] = {0, 0, 0, 0, 0, 0}, square = 0, product = 0;
    for (int32_t l = 0; l < VF_EGO_GROUP; l++) {
        const struct vf_correspondence c = read(wide, of, l);
        const struct vf_ego_effect e = vf_ego_effect_of(kind, &by.pose, &c, value, by.step[value], by.scale);
        const int32_t inlier = (int32_t)b->inlier[l];
        VF_UNROLL_FULL
        for (int k = 0; k < 6; k++) sum[k] += e.gradient[k] & inlier;
        square += e.square & inlier;
        product += e.product & inlier;
    }
    for (int k = 0; k < 6; k++) cluster_sums->effect[value][k] += sum[k];
    if (value != VF_EGO_DISPARITY) return;
    cluster_sums->square += square;
    cluster_sums->product += product;
}

/** Computes the gradients of a block of correspondences and sums the effects of calibration steps, for one kind of
 *  motion. */
static inline void measure_kind(int kind, int wide, const struct vf_ego_columns *of, int32_t count,
                                const struct measure *m, struct block *b, struct vf_ego_cluster_sums *cluster_sums)
{
    find_gradients(kind, wide, of, count, m, b);
    add_effects(kind, wide, VF_EGO_CENTRE_X, of, m, b, cluster_sums);
    add_effects(kind, wide, VF_EGO_CENTRE_Y, of, m, b, cluster_sums);
    add_effects(kind, wide, VF_EGO_FOCAL, of, m, b, cluster_sums);
    add_effects(kind, wide, VF_EGO_DISPARITY, of, m, b, cluster_sums);
}
VF_HOT_FLAT static void measure_relative(const struct vf_ego_columns *of, int32_t count, const struct measure *m,
                                         struct block *restrict b, struct vf_ego_cluster_sums *cluster_sums)
{
    measure_kind(VF_RELATIVE, 0, of, count, m, b, cluster_sums);
}
VF_HOT_FLAT static void measure_rotation(const struct vf_ego_columns *of, int32_t count, const struct measure *m,
                                         struct block *restrict b, struct vf_ego_cluster_sums *cluster_sums)
{
    measure_kind(VF_ROTATION_ONLY, 0, of, count, m, b, cluster_sums);
}
VF_HOT_FLAT static void measure_metric(const struct vf_ego_columns *of, int32_t count, const struct measure *m,
                                       struct block *restrict b, struct vf_ego_cluster_sums *cluster_sums)
{
    measure_kind(VF_METRIC, 0, of, count, m, b, cluster_sums);
}
VF_HOT_FLAT static void measure_wide(const struct vf_ego_columns *of, int32_t count, const struct measure *m,
                                     struct block *restrict b, struct vf_ego_cluster_sums *cluster_sums)
{
    measure_kind(VF_METRIC, 1, of, count, m, b, cluster_sums);
}

/** Adds the gradients of a block's inliers to their image clusters. Counts non-empty clusters and errors near the
 *  inlier bound. */
static void add_to_clusters(const struct vf_ego_view *s, const struct vf_ego_columns *of, int32_t count,
                            const struct block *b, struct vf_cluster cluster[VF_EGO_CLUSTERS],
                            struct vf_ego_cluster_sums *cluster_sums)
{
    for (int32_t l = 0; l < count; l++) {
        cluster_sums->edge += b->edge[l];
        if (!b->inlier[l]) continue;
        const struct vf_correspondence c = vf_ego_get(of, l);
        struct vf_cluster *to = &cluster[vf_ego_cluster(s, &c)];
        for (int k = 0; k < 6; k++) to->sum[k] += b->gradient[k][l];
        cluster_sums->clusters += to->inliers++ == 0;
    }
}

/** Sums the products of gradient elements i and j over all image clusters. */
static void add_products(const struct vf_cluster cluster[VF_EGO_CLUSTERS], struct vf_ego_cluster_sums *cluster_sums)
{
    for (int i = 0; i < 6; i++)
        for (int j = i; j < 6; j++)
            for (int n = 0; n < VF_EGO_CLUSTERS; n++)
                cluster_sums->products[vf_motion_index(i, j)] += (int64_t)cluster[n].sum[i] * cluster[n].sum[j];
}

void vf_ego_sum_clusters(const struct vf_ego_view *s, int search, const struct vf_pose *pose, const float scale[6],
                         struct vf_ego_cluster_sums *cluster_sums)
{
    const struct vf_correspondences *list = &s->ego->list[vf_ego_list(search)];
    const int32_t count = (int32_t)s->ego->count[vf_ego_list(search)];
    struct vf_cluster cluster[VF_EGO_CLUSTERS];
    struct vf_ego_subset end;
    struct measure m;
    struct block b;
    memset(cluster_sums, 0, sizeof *cluster_sums);
    memset(cluster, 0, sizeof cluster);
    m.pose = *pose;
    memcpy(m.scale, scale, sizeof m.scale);
    vf_ego_calibration_steps(s, m.step);
    for (int32_t first = 0; first < count; first += VF_EGO_GROUP) {
        const int32_t here = vf_min(count - first, VF_EGO_GROUP);
        const struct vf_ego_columns of = vf_ego_columns_of(list, first, count, &end);
        if (search == VF_RELATIVE) measure_relative(&of, here, &m, &b, cluster_sums);
        if (search == VF_ROTATION_ONLY) measure_rotation(&of, here, &m, &b, cluster_sums);
        if (search == VF_METRIC) measure_metric(&of, here, &m, &b, cluster_sums);
        if (search == VF_WIDE) measure_wide(&of, here, &m, &b, cluster_sums);
        add_to_clusters(s, &of, here, &b, cluster, cluster_sums);
    }
    add_products(cluster, cluster_sums);
}
#endif
