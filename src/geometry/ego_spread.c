/* SPDX-License-Identifier: MIT */
/* ego, host form: sums over the inliers of a motion from which its covariance is made (ego_covariance.h). Gradients and
 * effects of the calibration are those of 32 correspondences side by side, as vector code. */
#include "ego_host.h"

#if VFRONT_EGO

/** Correspondences side by side. */
struct block {
    uint32_t inlier[VF_EGO_GROUP]; /* all ones: inlier */
    int32_t edge[VF_EGO_GROUP];    /* 1: near the bound */
    int32_t gradient[6][VF_EGO_GROUP];
};

/** What a motion is measured with. */
struct measure {
    struct vf_pose pose;
    float scale[6], step[VF_EGO_VALUES];
};

static inline struct vf_correspondence read(int wide, const struct vf_ego_columns *of, int32_t l)
{
    const struct vf_correspondence c = vf_ego_get(of, l);
    return wide ? vf_motion_widen(c) : c;
}

/** vf_ego_scaled_gradient() of the first `count` lanes; 0 where there is no inlier. */
static inline void find_gradients(int kind, int wide, const struct vf_ego_columns *of, int32_t count,
                                  const struct measure *m, struct block *b)
{
    const struct measure by = *m;
    for (int32_t l = 0; l < VF_EGO_GROUP; l++) {
        const struct vf_correspondence c = read(wide, of, l);
        const float error = vf_motion_error(kind, &by.pose, &c);
        const uint32_t inlier = -(uint32_t)((vf_motion_inlier_score(error) & -(l < count)) > 0);
        float terms[VF_TERMS];
        VF_PEEL
        for (int k = 0; k < VF_TERMS; k++) terms[k] = 0.0f;
        vf_motion_terms(kind, &by.pose, &c, terms);
        VF_PEEL
        for (int k = 0; k < 6; k++)
            b->gradient[k][l] = vf_round(vf_ego_masked(inlier, terms[VF_TERM_G + k] * by.scale[k]));
        b->inlier[l] = inlier;
        b->edge[l] = vf_ego_near_bound(error) & (l < count);
    }
}

/** Sums of vf_ego_effect_of() of a value over the inliers of a block. */
static inline void add_effects(int kind, int wide, int value, const struct vf_ego_columns *of, const struct measure *m,
                               const struct block *b, struct vf_ego_spread *spread)
{
    const struct measure by = *m;
    int32_t sum[6] = {0, 0, 0, 0, 0, 0}, square = 0, product = 0;
    for (int32_t l = 0; l < VF_EGO_GROUP; l++) {
        const struct vf_correspondence c = read(wide, of, l);
        const struct vf_ego_effect e = vf_ego_effect_of(kind, &by.pose, &c, value, by.step[value], by.scale);
        const int32_t inlier = (int32_t)b->inlier[l];
        VF_PEEL
        for (int k = 0; k < 6; k++) sum[k] += e.gradient[k] & inlier;
        square += e.square & inlier;
        product += e.product & inlier;
    }
    for (int k = 0; k < 6; k++) spread->effect[value][k] += sum[k];
    if (value != VF_EGO_DISPARITY) return;
    spread->square += square;
    spread->product += product;
}

/** Both, for a kind. */
static inline void measure_kind(int kind, int wide, const struct vf_ego_columns *of, int32_t count,
                                const struct measure *m, struct block *b, struct vf_ego_spread *spread)
{
    find_gradients(kind, wide, of, count, m, b);
    add_effects(kind, wide, VF_EGO_CENTRE_X, of, m, b, spread);
    add_effects(kind, wide, VF_EGO_CENTRE_Y, of, m, b, spread);
    add_effects(kind, wide, VF_EGO_FOCAL, of, m, b, spread);
    add_effects(kind, wide, VF_EGO_DISPARITY, of, m, b, spread);
}
VF_LOOP static void measure_relative(const struct vf_ego_columns *of, int32_t count, const struct measure *m,
                                     struct block *restrict b, struct vf_ego_spread *spread)
{
    measure_kind(VF_RELATIVE, 0, of, count, m, b, spread);
}
VF_LOOP static void measure_rotation(const struct vf_ego_columns *of, int32_t count, const struct measure *m,
                                     struct block *restrict b, struct vf_ego_spread *spread)
{
    measure_kind(VF_ROTATION_ONLY, 0, of, count, m, b, spread);
}
VF_LOOP static void measure_metric(const struct vf_ego_columns *of, int32_t count, const struct measure *m,
                                   struct block *restrict b, struct vf_ego_spread *spread)
{
    measure_kind(VF_METRIC, 0, of, count, m, b, spread);
}
VF_LOOP static void measure_wide(const struct vf_ego_columns *of, int32_t count, const struct measure *m,
                                 struct block *restrict b, struct vf_ego_spread *spread)
{
    measure_kind(VF_METRIC, 1, of, count, m, b, spread);
}

/** Add the inliers of a block to their clusters. */
static void add_to_clusters(const struct vf_ego_view *s, const struct vf_ego_columns *of, int32_t count,
                            const struct block *b, struct vf_cluster cluster[VF_EGO_CLUSTERS],
                            struct vf_ego_spread *spread)
{
    for (int32_t l = 0; l < count; l++) {
        spread->edge += b->edge[l];
        if (!b->inlier[l]) continue;
        const struct vf_correspondence c = vf_ego_get(of, l);
        struct vf_cluster *to = &cluster[vf_ego_cluster(s, &c)];
        for (int k = 0; k < 6; k++) to->sum[k] += b->gradient[k][l];
        spread->clusters += to->inliers++ == 0;
    }
}

/** Sums of products over all clusters. */
static void add_products(const struct vf_cluster cluster[VF_EGO_CLUSTERS], struct vf_ego_spread *spread)
{
    for (int i = 0; i < 6; i++)
        for (int j = i; j < 6; j++)
            for (int n = 0; n < VF_EGO_CLUSTERS; n++)
                spread->products[vf_motion_index(i, j)] += (int64_t)cluster[n].sum[i] * cluster[n].sum[j];
}

void vf_ego_fill_spread(const struct vf_ego_view *s, int search, const struct vf_pose *pose, const float scale[6],
                        struct vf_ego_spread *spread)
{
    const struct vf_correspondences *list = &s->ego->list[vf_ego_list(search)];
    const int32_t count = (int32_t)s->ego->count[vf_ego_list(search)];
    struct vf_cluster cluster[VF_EGO_CLUSTERS];
    struct vf_ego_subset end;
    struct measure m;
    struct block b;
    memset(spread, 0, sizeof *spread);
    memset(cluster, 0, sizeof cluster);
    m.pose = *pose;
    memcpy(m.scale, scale, sizeof m.scale);
    vf_ego_calibration_steps(s, m.step);
    for (int32_t first = 0; first < count; first += VF_EGO_GROUP) {
        const int32_t here = vf_min(count - first, VF_EGO_GROUP);
        const struct vf_ego_columns of = vf_ego_columns_of(list, first, count, &end);
        if (search == VF_RELATIVE) measure_relative(&of, here, &m, &b, spread);
        if (search == VF_ROTATION_ONLY) measure_rotation(&of, here, &m, &b, spread);
        if (search == VF_METRIC) measure_metric(&of, here, &m, &b, spread);
        if (search == VF_WIDE) measure_wide(&of, here, &m, &b, spread);
        add_to_clusters(s, &of, here, &b, cluster, spread);
    }
    add_products(cluster, spread);
}
#endif
