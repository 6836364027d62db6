/* SPDX-License-Identifier: MIT */
/* ego: motion of camera 0 since the previous frame (paper 003, and beyond it). This file: memory of the stage, and what
 * its steps share.
 *
 * In      tracks; temporal matches; distances of key points, of both frames; the frame's rotation prior, if any
 * Out     a relative motion, a metric one, and the last good one; inliers of each; covariance, states and flags
 * Rule    Correspondences are listed, the better ones first (ego_list.h). Hypotheses come from minimal samples:
 *         relative ones from 5, 7 or 8 correspondences or, where the frame gives a rotation, every fourth from that and
 *         2; rotations alone from 2; metric ones from 3 with a distance. Each is scored on a subset (preemptive RANSAC:
 *         D. Nister, 2003; ego_hypothesis.h). The best few of a kind are refined by Gauss-Newton steps, first on a
 *         subset, then on all inliers as long as the score rises (local optimisation: O. Chum, 2003); the best of these
 *         is the motion of its kind. The first steps are cheap and taken even where the score falls: that finds better
 *         motions than eight on all. Metric hypotheses are scored with a second bound on positions, three times as
 *         wide, as well; the best few by that are refined with it, and used where too few correspondences are inliers
 *         of the other. The motion is then assessed (ego_assess.h): is a rotation enough; do the points lie in a
 *         plane; do the outliers agree on an alternative motion; is the camera still. Its covariance is a sandwich
 *         estimate over image clusters (ego_covariance.h)
 *         The error of all disparities that a good metric motion shows goes into a running estimate (rig.h)
 * Exact   scores are sums of integers. Sums of floats have one order: correspondence i goes to lane i % VF_EGO_LANES,
 *         each lane adds its own in order, then lanes are added pairwise by halves, first within 32, then these
 * Memory  the lists; a motion and a score of each hypothesis; 106 bytes a correspondence, 212 a hypothesis
 * Shared  errors, normal equations, minimal solvers, draws, steps and assessment are the same functions in host form
 *         and kernel. Not shared is the order of work, equal by definition: host and kernel each have their list
 *         (counting sort), their loops over lanes (the host's are free of branches, so that they become vector code),
 *         selection of the best, histogram and sums over clusters (integers)
 */
#ifndef VF_EGO_H
#define VF_EGO_H

#include "core/view.h"
#include "features/bearing.h"
#include "math/team.h"
#include "motion.h"
#include "stereo.h"

#define VF_EGO_LANES 256              /* partial sums of normal equations */
#define VF_EGO_SCORING_SUBSET 128     /* correspondences that score every hypothesis */
#define VF_EGO_ROTATION_HYPOTHESES 64 /* hypotheses of a rotation alone */
#define VF_EGO_REFINED 16             /* hypotheses of each search that are refined, at most */
#define VF_EGO_REFINED_WIDE 4         /* of the metric search at the wide bound */
#define VF_EGO_COARSE_STEPS 3 /* Gauss-Newton steps on VF_EGO_LANES correspondences, taken even where the score falls */
#define VF_EGO_FULL_STEPS 2   /* then on all, at most */
#define VF_EGO_ALTERNATIVE_SUBSET 512 /* correspondences among which outliers are tested for an alternative motion */
#define VF_EGO_BINS 1024              /* histogram of displacements [1/16 px] */
#define VF_EGO_RANKS 320              /* ranks of a correspondence: vf_ego_key() */

#define VF_EGO_MASKS ((VFRONT_CORRESPONDENCES + 3) / 4 * 4) /* a byte a candidate, in whole words */

/** List of correspondences, structure of arrays. */
struct vf_correspondences {
    float before[3][VFRONT_CORRESPONDENCES], now[3][VFRONT_CORRESPONDENCES], weight[VFRONT_CORRESPONDENCES];
    float range_m[VFRONT_CORRESPONDENCES], range_sigma_m[VFRONT_CORRESPONDENCES];
    float inverse_depth_1pm[VFRONT_CORRESPONDENCES], inverse_depth_sigma_1pm[VFRONT_CORRESPONDENCES];
    uint16_t candidate[VFRONT_CORRESPONDENCES]; /* track, or VFRONT_TRACKS + match */
};

/** Searches: one for each kind of motion, and one for a metric motion with a bound three times as wide, whose result is
 *  taken where too few correspondences are inliers of the other. */
#define VF_WIDE VF_KINDS
#define VF_SEARCHES (VF_KINDS + 1)

/** Refined hypothesis: motion after its steps, and its normal equations over all correspondences. */
struct vf_refined {
    struct vf_pose pose;
    struct vf_normal_equations sum; /* score 0, and all else 0: no hypothesis of this rank, or none with inliers left */
};

/** Values of the calibration: the picture's centre along x and y, focal length, disparities. */
enum { VF_EGO_CENTRE_X, VF_EGO_CENTRE_Y, VF_EGO_FOCAL, VF_EGO_DISPARITY, VF_EGO_VALUES };

/** Sums over all correspondences of a motion, from which its covariance is made (ego_covariance.h). */
struct vf_ego_spread {
    int32_t clusters;                 /* that have inliers */
    int32_t edge;                     /* correspondences near the bound, to either side */
    int64_t effect[VF_EGO_VALUES][6]; /* of the calibration on the gradient, in 2^-16 of the root of its scale */
    int64_t square, product;          /* response to an error of all disparities by 1 px [2^-14] */
    int64_t products[21];             /* over all clusters, of elements i and j of the gradient: upper triangle */
};

/** Assessment of the best motion of each kind. */
struct vf_assessment {
    struct vf_pose pose[VF_KINDS];
    struct vf_normal_equations sum[VF_KINDS];
    float covariance[VF_KINDS][21];
    float offset_px, offset_weight;   /* of disparities, as the metric motion shows it; its information [1/px^2] */
    int32_t has_covariance[VF_KINDS]; /* 1: the normal equations have a solution */
    int32_t parallax[VF_KINDS];       /* median displacement of the inliers, less the rotation [1/16 px] */
    int32_t wide;                     /* 1: the metric motion is that of the wide bound */
    int32_t displacement;             /* median displacement of all correspondences, rotation included [1/16 px] */
    uint32_t outliers;                /* clear outliers of the relative motion among VF_EGO_ALTERNATIVE_SUBSET */
    uint32_t alternative_inliers;     /* most of these that are inliers of one other relative hypothesis */
    uint32_t plane_inliers;           /* inliers of the relative motion that lie in a plane */
};

/** Usual share of inliers among the correspondences of a motion. */
struct vf_usual_share {
    uint32_t frames, permille_q8; /* motions averaged; mean [1/256 permille] */
};

/** Usual difference between the rotations of motions and those of the prior: a gyro's bias, and its noise. */
struct vf_usual_prior {
    uint32_t frames;     /* averaged, up to VF_AGREEMENT_FRAMES */
    uint32_t doubts;     /* frames in a row in which a motion contradicted the prior, or that follow such a frame */
    uint32_t differs;    /* 1: a motion of this frame contradicts the prior */
    float rate_radps[3]; /* mean */
    float square;        /* mean square of what differs from the mean [rad^2] */
    uint32_t reserved;
};

/** Motion of a step as velocities, in camera axes of its frame. */
struct vf_ego_velocity {
    float speed_mps[3], turn_radps[3];
    float speed_variance, turn_variance; /* sums over the three axes [m^2/s^2], [rad^2/s^2] */
    uint32_t known;                      /* 1: rotation; 2: translation as well; 0: nothing */
    uint32_t reserved;
    uint64_t t_ns; /* of the frame */
};

/** Rates by readings and by the pictures, over many frames (ego_turns.h). */
#define VF_TURNS_LAGS 4 /* frames by which both are compared, earlier and later */
struct vf_turns {
    float camera[VF_TURNS_LAGS + 1][3],
        readings[VF_TURNS_LAGS + 1][3]; /* rates of the last frames, newest first [rad/s] */
    uint32_t known;                     /* bit i: of frame i before, both are known */
    float frames;                       /* in the sums */
    float mean[2][3], square[2];        /* sums: of both rates, camera first; of their squares */
    /* sums of differences, camera less readings, and of their squares; of VF_TURNS_LAGS: of one frame; further on: of
     * the camera's of earlier frames */
    float apart[2 * VF_TURNS_LAGS + 1][3], apart2[2 * VF_TURNS_LAGS + 1];
    float near_apart, near_square[2]; /* squares of difference and rates, camera first, of the last few frames */
    uint32_t last, row;               /* what the last frame said, how many in a row */
    uint32_t said;                    /* bits of health.imu */
    int32_t late_us;                  /* health.imu_late_us */
};

/** Usual values of a frame: shares of the relative and the metric motion; rotation vector of the prior [rad]; how far
 *  the prior is off; the last motion that fits its time, and the one of the frame before if it does not follow from
 *  that. */
struct vf_usual {
    struct vf_usual_share share[2];
    float turn[3];
    uint32_t late; /* frames by which pictures are late: health.late */
    struct vf_usual_prior prior;
    uint32_t late_frames, reserved; /* frames since the last picture that came again */
    struct vf_ego_velocity velocity, jumped;
    struct vf_turns turns;
};

/** Last good motion of a kind, which predict continues; a relative one may be a rotation alone, its t is a
 *  direction. */
enum { VF_LAST_METRIC, VF_LAST_RELATIVE, VF_LASTS };
struct vf_last_motion {
    struct vf_pose pose;
    float covariance[21];
    uint32_t reserved;
    uint64_t t_ns;  /* of the frame in which it was estimated */
    uint64_t dt_ns; /* since the frame before that one; 0: there is no motion */
};

#if VFRONT_EGO
struct vf_ego_memory {
    struct vf_correspondences list[2]; /* [0] all; [1] those with a distance in the previous frame */
    uint32_t count[2];
    struct vf_pose pose[VF_SEARCHES][VFRONT_HYPOTHESES];
    int32_t score[VF_SEARCHES][VFRONT_HYPOTHESES]; /* 0: none */
    struct vf_refined refined[VF_SEARCHES][VF_EGO_REFINED];
    /* outliers of the best relative motion that are inliers of this hypothesis */
    uint32_t alternative[VFRONT_HYPOTHESES];
    struct vf_assessment assessment;
    struct vf_ego_spread spread[VF_KINDS];
    uint32_t blocks_done, parts_done[VF_KINDS]; /* finished blocks of the last kernel, and of a covariance */
    /* by candidate, VF_EGO_MASKS of them: 1: inlier of the best motion of a kind; VFRONT_AGREES_... of the motions that
     * are reported */
    VF_ALIGN(4) uint8_t inlier[VF_KINDS][VF_EGO_MASKS], inlier_mask[VF_EGO_MASKS];
    vfront_motion_t relative, metric, good[2]; /* good: [parity] */
    struct vf_usual usual[2];                  /* [parity] */
    struct vf_last_motion last[2][VF_LASTS];   /* [parity] */
    struct vf_rig_estimate disparity[2];       /* out, by parity: error that all disparities have in common */
};
#else
struct vf_ego_memory {
    uint64_t nothing;
};
#endif

#if VFRONT_CUBLAS
#define VF_EGO_WORKSPACE 65536 /* bytes, of cuBLAS; its manual has 16 KB as enough for any of its calls */

/** Linear systems of the minimal solvers for cuBLAS, one element per relative hypothesis, column-major. Only the CUDA
 *  port has it, behind its vf_memory. Single precision, like the input and the use of the solutions: double was
 *  measured to find no more of them. */
struct vf_systems {
    VF_ALIGN(256) uint8_t workspace[VF_EGO_WORKSPACE];
    /* in: epipolar constraints, one after the other; out: their QR decomposition */
    float rows[VFRONT_HYPOTHESES][8][9];
    float tau[VFRONT_HYPOTHESES][8]; /* out: scales of its reflections */
    /* in: the ten equations of five points; out: LU decomposition of the first ten columns, then the solutions */
    float columns[VFRONT_HYPOTHESES][20][10];
    int32_t pivots[VFRONT_HYPOTHESES][10], info[VFRONT_HYPOTHESES];
    float R[VFRONT_HYPOTHESES][9], parallax[VFRONT_HYPOTHESES]; /* scaling of the unknowns: essential.h */
    /* address of each hypothesis's matrix: rows, tau, columns [0..9], columns [10..19] */
    float *rows_at[VFRONT_HYPOTHESES], *tau_at[VFRONT_HYPOTHESES], *left_at[VFRONT_HYPOTHESES],
        *right_at[VFRONT_HYPOTHESES];
};
#endif

/* View of ego: core/view.h. With VFRONT_CUBLAS the CUDA port adds the linear systems and the handle of cuBLAS; systems
 * NULL: the library's own solvers. */
/* clang-format off */
#define VF_READS_ego(X) X(ingest) X(freeze) X(bearing) X(refill) X(stereo) X(match)
#define VF_BEFORE_ego(X)
#define VF_GEOMETRY_ego(X) X(calibrated) X(focal_px) X(nodes_x) X(active) X(pair)
#define VF_TUNING_ego(X)                                                                                               \
    X(ego_points) X(ego_hypotheses) X(ego_metric_hypotheses) X(ego_seed) X(ego_tracks) X(ego_matches) X(ego_rotation)  \
    X(ego_error_mpx) X(ego_least) X(ego_least_percent) X(ego_still_mpx)                                                \
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

/** 1 if cuBLAS, not the library's own solver, makes relative motions in this step. */
VF_FN int vf_ego_external_solver(const struct vf_ego_view *s)
{
#if VFRONT_CUBLAS
    return s->systems != NULL;
#else
    return (void)s, 0;
#endif
}

/** 1 if metric motions are estimated: matches with stereo distances. */
VF_FN int vf_ego_metric_on(const struct vf_ego_view *s)
{
    const uint32_t needed = VF_BIT(match) | VF_BIT(stereo);
    return s->tuning.ego_metric_hypotheses > 0 && s->tuning.ego_matches && (s->geometry.active & needed) == needed;
}

/** Number of hypotheses of a search or a kind. */
VF_FN int32_t vf_ego_hypotheses(const struct vf_ego_view *s, int kind)
{
    if (kind >= VF_METRIC) return vf_ego_metric_on(s) ? s->tuning.ego_metric_hypotheses : 0;
    if (kind == VF_RELATIVE) return s->tuning.ego_hypotheses;
    return s->tuning.ego_hypotheses ? vf_min(VF_EGO_ROTATION_HYPOTHESES, VFRONT_HYPOTHESES) : 0;
}

/** Index of the list that a search or a kind takes its correspondences from. */
VF_FN int vf_ego_list(int search) { return search >= VF_METRIC; }

/** Of a search: kind of its motions; number of hypotheses that are refined. */
VF_FN int vf_ego_kind(int search) { return search == VF_WIDE ? VF_METRIC : search; }
VF_FN int vf_ego_refined(int search) { return search == VF_WIDE ? VF_EGO_REFINED_WIDE : VF_EGO_REFINED; }

/** Correspondence i of a list. */
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

/** Correspondence i of the list of a search, with its bound. */
VF_FN struct vf_correspondence vf_ego_load_for(int search, const struct vf_correspondences *list, int32_t i)
{
    const struct vf_correspondence c = vf_ego_load(list, i);
    return search == VF_WIDE ? vf_motion_widen(c) : c;
}

/** Subset of at most `most` of `count` correspondences, spread evenly over a list: its size, and the place of its
 *  k-th. */
VF_FN int32_t vf_ego_subset_count(int32_t count, int32_t most) { return vf_min(count, most); }
VF_FN int32_t vf_ego_subset_index(int32_t count, int32_t most, int32_t k)
{
    return count > most ? (int32_t)((int64_t)k * count / most) : k;
}

/** Estimate of the disparities' offset after the frame of a parity; all 0: nothing seen. */
VF_FN struct vf_rig_estimate vf_ego_disparity(const struct vf_ego_memory *m, uint32_t active, int32_t parity)
{
    struct vf_rig_estimate none;
#if VFRONT_EGO
    if (active & VF_BIT(ego)) return m->disparity[parity];
#endif
    memset(&none, 0, sizeof none);
    (void)m, (void)active, (void)parity;
    return none;
}

/** Frames by which pictures are late after the frame of a parity; 0 where the stage is not active. */
VF_FN uint32_t vf_ego_late(const struct vf_ego_memory *m, uint32_t active, int32_t parity)
{
#if VFRONT_EGO
    if (active & VF_BIT(ego)) return m->usual[parity].late;
#endif
    (void)m, (void)active, (void)parity;
    return 0;
}

/** Verdict on the readings' rates in this step: bits of vfront_health_t.imu; how late they are. */
VF_FN uint32_t vf_ego_turns_said(const struct vf_ego_memory *m, uint32_t active, int32_t parity)
{
#if VFRONT_EGO
    if (active & VF_BIT(ego)) return m->usual[parity].turns.said;
#endif
    (void)m, (void)active, (void)parity;
    return 0;
}
VF_FN int32_t vf_ego_turns_late(const struct vf_ego_memory *m, uint32_t active, int32_t parity)
{
#if VFRONT_EGO
    if (active & VF_BIT(ego)) return m->usual[parity].turns.late_us;
#endif
    (void)m, (void)active, (void)parity;
    return 0;
}

/** Root mean square difference between motions and prior, less its mean [rad]; 0: not known. */
VF_FN float vf_ego_prior_rms(const struct vf_ego_memory *m, uint32_t active, int32_t parity)
{
#if VFRONT_EGO
    if (active & VF_BIT(ego)) {
        const float square = m->usual[parity].prior.square;
        return square > 0.0f ? sqrtf(square) : 0.0f;
    }
#endif
    (void)m, (void)active, (void)parity;
    return 0.0f;
}

/** Share of an offset of the disparities by which its estimate may be wrong as long as it was not corrected when it was
 *  measured: near points tell most of it, and are the first that it makes outliers. Rendered flights with 0.3 px: 0 to
 *  0.2 of it after 200 frames, 0.5 after 50 fast ones. */
#define VF_EGO_DISPARITY_SHARE 0.4f

/** Standard deviation of the disparities' offset [px]. */
VF_FN float vf_ego_disparity_sigma_px(const struct vf_rig_estimate *e)
{
    const float sigma = vf_rig_sigma_px(e), cut = VF_EGO_DISPARITY_SHARE * e->open,
                both = sqrtf(sigma * sigma + cut * cut);
    return both < VF_RIG_UNKNOWN_PX ? both : VF_RIG_UNKNOWN_PX;
}

/** Range that is unknown. */
VF_FN struct vf_range_estimate vf_range_unknown(void)
{
    const struct vf_range_estimate none = {0.0f, 0.0f};
    return none;
}

/** Set a motion to the identity, with a state. */
VF_FN void vf_ego_blank(vfront_motion_t *m, uint32_t state)
{
    memset(m, 0, sizeof *m);
    m->state = state;
    m->R[0] = m->R[4] = m->R[8] = 1.0f;
}

/** Motions with which a candidate of the list agrees, VFRONT_AGREES_...: a track, or VFRONT_TRACKS + match. active: of
 *  geometry. */
VF_FN uint32_t vf_ego_inlier_mask(const struct vf_ego_memory *m, uint32_t active, uint32_t candidate)
{
#if VFRONT_EGO
    if (active & VF_BIT(ego)) return m->inlier_mask[candidate];
#endif
    (void)m, (void)active, (void)candidate;
    return 0;
}

/** States of the motions of a step, vfront_motion_state_t. */
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

/** Motions of a step: relative, metric, and the last good one. */
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
    vf_ego_blank(relative, VFRONT_MOTION_NONE);
    vf_ego_blank(metric, VFRONT_MOTION_NONE);
    vf_ego_blank(good, VFRONT_MOTION_NONE);
}

#endif
