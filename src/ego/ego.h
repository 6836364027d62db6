/* SPDX-License-Identifier: MIT */
/* ego: motion of camera 0 since the previous frame. This file: view of the stage, and functions shared by its steps.
 *
 * In      tracks, and their distances in the previous frame (partner); temporal matches; distances of key points, of
 *         both frames; rotation prior of the frame, if given
 * Out     a relative motion (translation of unknown length), a metric motion (translation in metres), and the last
 *         good motion; their inliers, covariances, states and flags; running estimate of the disparity offset (rig.h)
 * Rule    - Correspondences are listed, the more accurate ones first (ego_list.h). Hypotheses come from minimal
 *           samples. Size of a sample: 5, 7 or 8 correspondences for a relative motion, 2 for a rotation, 3 with a
 *           distance for a metric motion. If a rotation is given with the frame, every fourth relative hypothesis
 *           adopts it and needs only 2 correspondences
 *         - Each hypothesis is scored on a subset (preemptive RANSAC: D. Nister, 2003; ego_hypothesis.h). The best few
 *           of a kind are refined by Gauss-Newton steps, first on a subset, then on all inliers while the score rises
 *           (local optimisation: O. Chum, 2003). The refined hypothesis with the highest score is the motion of its
 *           kind
 *         - The Gauss-Newton steps on the subset are taken even if the score falls. That finds better motions than more
 *           steps on all correspondences
 *         - Metric hypotheses get a second score, with an inlier bound on bearings three times as wide. The best few by
 *           the second score are refined with that wide bound. Their best motion is reported only if too few
 *           correspondences are inliers with the normal bound
 *         - The motion is then assessed (ego_assess.h): does a rotation suffice; do the points lie in a plane; do the
 *           outliers agree on an alternative motion; is the camera still. Its covariance is a sandwich estimate over
 *           image clusters, and includes refined motions of about the same score (ego_covariance.h)
 * Exact   Scores are sums of integers. Sums of floats have one order: correspondence i goes to lane i % VF_EGO_LANES.
 *         Each lane adds its correspondences in the order of i. The upper half of the lanes is then added to the lower
 *         half, repeatedly: first within each 32 lanes, then over the sums of 32.
 * Memory  the lists, 106 bytes per correspondence; motion and score of each hypothesis, 212 bytes
 * Shared  Errors, normal equations, minimal solvers, random draws, steps and assessment. Written for the host and again
 *         for the GPU, with equal results: the list (counting sort), the loops over lanes (the host's have no branches,
 *         so that they are vectorised), selection of the best, histogram and cluster sums (integers).
 */
#ifndef VF_EGO_H
#define VF_EGO_H

#include "base/view.h"
#include "features/bearing.h"
#include "geometry/ego_memory.h"
#include "geometry/motion.h"
#include "geometry/stereo.h"
#include "math/team.h"
#include "tracking/partner.h"

#define VF_EGO_LANES 256              /* number of partial sums (lanes) of the normal equations */
#define VF_EGO_SCORING_SUBSET 128     /* number of correspondences that score a hypothesis */
#define VF_EGO_ROTATION_HYPOTHESES 64 /* largest number of rotation hypotheses in a frame */
/* number of metric hypotheses refined with the wide inlier bound, three times the normal one */
#define VF_EGO_REFINED_WIDE 4
/* number of Gauss-Newton steps on VF_EGO_LANES correspondences, taken even if the score falls */
#define VF_EGO_COARSE_STEPS 3
#define VF_EGO_FULL_STEPS 2 /* largest number of Gauss-Newton steps on all correspondences */
/* number of correspondences whose outliers are tested for an alternative motion */
#define VF_EGO_ALTERNATIVE_SUBSET 512
#define VF_EGO_BINS 1024 /* number of bins of 1/16 px in a histogram of displacements */
#define VF_EGO_RANKS 320 /* upper bound of the accuracy rank by which correspondences are sorted: vf_ego_key() */

#if VFRONT_CUBLAS
#define VF_EGO_WORKSPACE 65536 /* size of the workspace of cuBLAS [bytes]; its manual requires 16 KB */

/** Linear systems of the minimal solvers for cuBLAS, one per relative hypothesis, column-major. The CUDA port keeps
 *  them after its vf_memory. Single precision, as that of their coefficients and solutions. */
struct vf_systems {
    VF_ALIGN(256) uint8_t workspace[VF_EGO_WORKSPACE];
    /* in: epipolar constraints, nine coefficients each, of up to eight correspondences; out: their QR decomposition */
    float rows[VFRONT_HYPOTHESES][8][9];
    float tau[VFRONT_HYPOTHESES][8]; /* out: scales of the Householder reflections of `rows` */
    /* in: ten equations of five points, a column per monomial; out: LU decomposition of columns 0 .. 9, solutions in
     * columns 10 .. 19 */
    float columns[VFRONT_HYPOTHESES][20][10];
    int32_t pivots[VFRONT_HYPOTHESES][10], info[VFRONT_HYPOTHESES];
    /* factors of the essential matrix E = ([a]x + parallax S) R: rotation R that aligns the bearings, and scalar
     * parallax */
    float R[VFRONT_HYPOTHESES][9], parallax[VFRONT_HYPOTHESES];
    /* arguments of the batched cuBLAS calls: addresses of rows, tau, columns[0 .. 9] and columns[10 .. 19] of each
     * hypothesis */
    float *rows_at[VFRONT_HYPOTHESES], *tau_at[VFRONT_HYPOTHESES], *left_at[VFRONT_HYPOTHESES],
        *right_at[VFRONT_HYPOTHESES];
};
#endif

/* View of stage ego, by the macros of base/view.h. With VFRONT_CUBLAS the CUDA port adds the linear systems and the
 * cuBLAS handle. systems NULL: the library's own solvers are used. */
/* clang-format off */
#define VF_READS_ego(X) X(ingest) X(freeze) X(bearing) X(refill) X(stereo) X(match)
#define VF_BEFORE_ego(X) X(partner)
#define VF_GEOMETRY_ego(X) X(calibrated) X(focal_px) X(nodes_x) X(active) X(pair)
#define VF_TUNING_ego(X) \
    X(ego) X(ego_points) X(ego_hypotheses) X(ego_metric_hypotheses) X(ego_error_mpx) X(ego_least) X(ego_least_percent) \
    X(ego_jump_mmps2) X(rig_centre_mpx) X(rig_focal_ppm) X(rig_disparity_mpx) X(rig_offset)
/* clang-format on */
VF_GEOMETRY_OF(ego);
VF_TUNING_OF(ego);
struct vf_cublas;
struct vf_ego_view {
    VF_VIEW(ego);
    struct vf_ego_tuning tuning;
#if VFRONT_CUBLAS
    struct vf_systems *systems;
    struct vf_cublas *cublas;
#endif
};
VF_HOST_FORM(ego);

/** 1 if cuBLAS instead of the library's own solver computes the relative motions of this frame. */
VF_FN int vf_ego_external_solver(const struct vf_ego_view *s)
{
#if VFRONT_CUBLAS
    return s->systems != NULL;
#else
    return (void)s, 0;
#endif
}

/** 1 if metric motions are estimated, which need stereo distances of matches or of tracks. */
VF_FN int vf_ego_metric_on(const struct vf_ego_view *s)
{
    const uint32_t matches = VF_BIT(match) | VF_BIT(stereo), active = s->geometry.active;
    return s->tuning.ego_metric_hypotheses > 0 &&
           (active & VF_BIT(partner) || (s->tuning.ego != VFRONT_EGO_TRACKS && (active & matches) == matches));
}

/** Number of hypotheses in a frame, of a kind of motion or of the search VF_WIDE. */
VF_FN int32_t vf_ego_hypotheses(const struct vf_ego_view *s, int kind)
{
    if (kind >= VF_METRIC) return vf_ego_metric_on(s) ? s->tuning.ego_metric_hypotheses : 0;
    if (kind == VF_RELATIVE) return s->tuning.ego_hypotheses;
    return s->tuning.ego_hypotheses ? vf_min(VF_EGO_ROTATION_HYPOTHESES, VFRONT_HYPOTHESES) : 0;
}

/** Index of the list of correspondences that a search or a kind uses; 0: all; 1: those with a distance. */
VF_FN int vf_ego_list(int search) { return search >= VF_METRIC; }

/** Kind of the motions that a search finds; VF_WIDE: metric motions, with a wide inlier bound. */
VF_FN int vf_ego_kind(int search) { return search == VF_WIDE ? VF_METRIC : search; }
/** Number of hypotheses that a search refines. */
VF_FN int vf_ego_refined(int search) { return search == VF_WIDE ? VF_EGO_REFINED_WIDE : VF_EGO_REFINED; }

/** Reads correspondence i of a list. */
VF_FN struct vf_correspondence vf_ego_load(const struct vf_correspondences *list, int32_t i)
{
    struct vf_correspondence c;
    for (int k = 0; k < 3; k++) {
        c.before[k] = list->before[k][i];
        c.now[k] = list->now[k][i];
    }
    c.weight = list->weight[i];
    c.range_m = list->range_m[i];
    c.range_sigma_m = list->range_sigma_m[i];
    c.inverse_depth_1pm = list->inverse_depth_1pm[i];
    c.inverse_depth_sigma_1pm = list->inverse_depth_sigma_1pm[i];
    return c;
}
/** Writes correspondence i of a list. candidate: index of its track, or VFRONT_TRACKS + index of its match. */
VF_FN void vf_ego_store(struct vf_correspondences *list, int32_t i, const struct vf_correspondence *c,
                        int32_t candidate)
{
    for (int k = 0; k < 3; k++) {
        list->before[k][i] = c->before[k];
        list->now[k][i] = c->now[k];
    }
    list->weight[i] = c->weight;
    list->range_m[i] = c->range_m;
    list->range_sigma_m[i] = c->range_sigma_m;
    list->inverse_depth_1pm[i] = c->inverse_depth_1pm;
    list->inverse_depth_sigma_1pm[i] = c->inverse_depth_sigma_1pm;
    list->candidate[i] = (uint16_t)candidate;
}

/** Reads correspondence i of the list that a search uses. For VF_WIDE, triples its inlier bound. */
VF_FN struct vf_correspondence vf_ego_load_for(int search, const struct vf_correspondences *list, int32_t i)
{
    const struct vf_correspondence c = vf_ego_load(list, i);
    return search == VF_WIDE ? vf_motion_widen(c) : c;
}

/** Size of an evenly spaced subset of at most `most` of `count` correspondences. */
VF_FN int32_t vf_ego_subset_count(int32_t count, int32_t most) { return vf_min(count, most); }
/** List index of element k of an evenly spaced subset of at most `most` of `count` correspondences. */
VF_FN int32_t vf_ego_subset_index(int32_t count, int32_t most, int32_t k)
{
    return count > most ? (int32_t)((int64_t)k * count / most) : k;
}

/** Number of frames by which the images are late, after the frame of the given parity; 0 if ego is off. */
VF_FN uint32_t vf_ego_late(const struct vf_ego_memory *m, uint32_t active, int32_t parity)
{
#if VFRONT_EGO
    if (active & VF_BIT(ego)) return m->running_means[parity].late;
#endif
    (void)m, (void)active, (void)parity;
    return 0;
}

/** Faults of the gyro samples after the frame of the given parity: bits of vfront_health_t.imu; 0 if ego is off. */
VF_FN uint32_t vf_ego_imu_faults(const struct vf_ego_memory *m, uint32_t active, int32_t parity)
{
#if VFRONT_EGO
    if (active & VF_BIT(ego)) return m->running_means[parity].rates.reported;
#endif
    (void)m, (void)active, (void)parity;
    return 0;
}
/** Delay of the gyro samples after the frame of the given parity [us]; 0 if ego is off. */
VF_FN int32_t vf_ego_imu_late_us(const struct vf_ego_memory *m, uint32_t active, int32_t parity)
{
#if VFRONT_EGO
    if (active & VF_BIT(ego)) return m->running_means[parity].rates.late_us;
#endif
    (void)m, (void)active, (void)parity;
    return 0;
}

/** Relative error of a disparity offset that is measured before its correction. Near points determine most of the
 *  measurement and become outliers first, so that the offset is underestimated. */
#define VF_EGO_DISPARITY_SHARE 0.4f

/** Standard deviation of the estimated disparity offset [px], at most VF_RIG_UNKNOWN_PX. */
VF_FN float vf_ego_disparity_sigma_px(const struct vf_rig_estimate *e)
{
    const float sigma = vf_rig_sigma_px(e), cut = VF_EGO_DISPARITY_SHARE * e->uncorrected,
                both = sqrtf(sigma * sigma + cut * cut);
    return both < VF_RIG_UNKNOWN_PX ? both : VF_RIG_UNKNOWN_PX;
}

/** Returns the range that means unknown: 0, with standard deviation 0. */
VF_FN struct vf_range_estimate vf_range_unknown(void)
{
    const struct vf_range_estimate none = {0.0f, 0.0f};
    return none;
}

/** Sets a motion to the identity, with the given state. */
VF_FN void vf_ego_set_identity(vfront_motion_t *m, uint32_t state)
{
    memset(m, 0, sizeof *m);
    m->state = state;
    m->R[0] = m->R[4] = m->R[8] = 1.0f;
}

/** Reported motions that have a candidate as an inlier: bits VFRONT_AGREES_... (0 if ego is off).
 *  candidate: index of a track, or VFRONT_TRACKS + index of a match. active: geometry.active. */
VF_FN uint32_t vf_ego_inlier_mask(const struct vf_ego_memory *m, uint32_t active, uint32_t candidate)
{
#if VFRONT_EGO
    if (active & VF_BIT(ego)) return m->inlier_mask[candidate];
#endif
    (void)m, (void)active, (void)candidate;
    return 0;
}

/** States of the relative and of the metric motion of a frame: vfront_motion_state_t, NONE if ego is off. */
struct vf_motion_states {
    uint32_t relative, metric;
};
VF_FN struct vf_motion_states vf_ego_states(const struct vf_ego_memory *m, uint32_t active)
{
    struct vf_motion_states states = {VFRONT_MOTION_NONE, VFRONT_MOTION_NONE};
#if VFRONT_EGO
    if (active & VF_BIT(ego)) {
        states.relative = m->relative.state;
        states.metric = m->metric.state;
    }
#endif
    (void)m, (void)active;
    return states;
}

/** Copies a frame's relative and metric motion and the last good motion. If ego is off: identities of state NONE. */
VF_FN void vf_ego_motions(const struct vf_ego_memory *m, uint32_t active, int32_t parity, vfront_motion_t *relative,
                          vfront_motion_t *metric, vfront_motion_t *good)
{
#if VFRONT_EGO
    if (active & VF_BIT(ego)) {
        *relative = m->relative;
        *metric = m->metric;
        *good = m->good[parity];
        return;
    }
#endif
    (void)m, (void)active, (void)parity;
    vf_ego_set_identity(relative, VFRONT_MOTION_NONE);
    vf_ego_set_identity(metric, VFRONT_MOTION_NONE);
    vf_ego_set_identity(good, VFRONT_MOTION_NONE);
}

#endif
