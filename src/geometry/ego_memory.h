/* SPDX-License-Identifier: MIT */
/* Memory of the stage ego, which estimates the camera motion between two frames. It is in src/geometry, because stages
 * of lower layers read it in the next frame: stereo and partner the disparity offset, predict the last motions.
 * src/ego/ego.h declares the stage. */
#ifndef VF_EGO_MEMORY_H
#define VF_EGO_MEMORY_H

#include "base/view.h"
#include "motion.h"
#include "rig.h"

/* largest number of motion hypotheses that one search refines */
#define VF_EGO_REFINED 16
/* bytes of a mask with a byte per track and match, in whole words of 4 */
#define VF_EGO_MASKS ((VFRONT_CORRESPONDENCES + 3) / 4 * 4)

/** List of correspondences as a structure of arrays. Members as in struct vf_correspondence (motion.h). */
struct vf_correspondences {
    float before[3][VFRONT_CORRESPONDENCES], now[3][VFRONT_CORRESPONDENCES], weight[VFRONT_CORRESPONDENCES];
    float range_m[VFRONT_CORRESPONDENCES], range_sigma_m[VFRONT_CORRESPONDENCES];
    float inverse_depth_1pm[VFRONT_CORRESPONDENCES], inverse_depth_sigma_1pm[VFRONT_CORRESPONDENCES];
    /* origin of each correspondence: index of a track, or VFRONT_TRACKS + index of a match */
    uint16_t candidate[VFRONT_CORRESPONDENCES];
};

/** Index of a second search for a metric motion, with a three times wider inlier bound on angles. Its result is used if
 *  the search VF_METRIC has too few inliers. */
#define VF_WIDE VF_KINDS
/** Number of searches: one for each kind of motion, and VF_WIDE. */
#define VF_SEARCHES (VF_KINDS + 1)

/** Refined hypothesis: motion after its Gauss-Newton steps, and its normal equations over all correspondences. */
struct vf_refined {
    struct vf_pose pose;
    struct vf_normal_equations sum; /* all 0: there are fewer hypotheses, or no inliers are left */
};

/** Indices of the calibration parameters whose errors add to the covariance of a motion: image centre along x and y,
 *  focal length, disparity offset. */
enum { VF_EGO_CENTRE_X, VF_EGO_CENTRE_Y, VF_EGO_FOCAL, VF_EGO_DISPARITY, VF_EGO_VALUES };

/** Sums over the correspondences of one motion, from which its covariance is computed (ego_covariance.h). */
struct vf_ego_cluster_sums {
    int32_t clusters; /* number of clusters (squares of the image) with inliers */
    int32_t edge;     /* number of correspondences with an error slightly below or above the inlier bound */
    /* [parameter][unknown]: change of the gradient J^T r by a step of a calibration parameter, times
     * vf_ego_gradient_scale() / 16 */
    int64_t effect[VF_EGO_VALUES][6];
    int64_t square, /* squared norm of the change of the residuals by a disparity offset of 1 px, times 2^14 */
        product;    /* dot product of the change by a disparity offset of 1 px with the residuals, times 2^14 */
    /* sums over clusters of the products of elements i and j of a cluster's gradient: upper triangle of 6x6 elements */
    int64_t products[21];
};

/** Assessment of the best motion of each kind (relative, rotation only, metric). */
struct vf_assessment {
    struct vf_pose pose[VF_KINDS];
    struct vf_normal_equations sum[VF_KINDS];
    float covariance[VF_KINDS][21];
    float offset_px,                  /* common offset of all disparities, estimated with the metric motion [px] */
        offset_weight;                /* information of offset_px [1/px^2]; 0: not estimated */
    int32_t has_covariance[VF_KINDS]; /* 1: `covariance` is valid: the normal equations have a solution */
    /* median displacement of the inliers without the part of the rotation [1/16 px] */
    int32_t parallax[VF_KINDS];
    int32_t wide;         /* 1: the metric motion is from VF_WIDE, the search with a wider bound */
    int32_t displacement; /* median displacement of all correspondences, rotation included [1/16 px] */
    uint32_t outliers; /* clear outliers of the relative motion among up to VF_EGO_ALTERNATIVE_SUBSET correspondences */
    /* largest number of outliers of the relative motion that are inliers of a single other hypothesis */
    uint32_t alternative_inliers;
    uint32_t plane_inliers; /* number of inliers of the relative motion that lie in one plane */
};

/** Running mean of the share of inliers among the correspondences of a motion. */
struct vf_mean_share {
    uint32_t frames, /* number of frames averaged */
        permille_q8; /* mean share of inliers [1/256 permille] */
};

/** Motion of a frame as velocities, in camera axes of that frame. */
struct vf_ego_velocity {
    float speed_mps[3], turn_radps[3];
    float speed_variance, /* sum of the variances of speed_mps over the three axes [m^2/s^2] */
        turn_variance;    /* sum of the variances of turn_radps over the three axes [rad^2/s^2] */
    uint32_t known;       /* 0: nothing is known; 1: the rotation; 2: rotation and translation */
    uint32_t reserved;
    uint64_t t_ns; /* timestamp of the frame [ns] */
};

#define VF_RATE_CHECK_LAGS 4 /* largest lag at which gyro and image rates are compared, either way [frames] */
/** Comparison of the rotation rates of the gyro and of the images, over many frames (ego/rate_check.h). */
struct vf_rate_check {
    float camera[VF_RATE_CHECK_LAGS + 1][3],
        imu[VF_RATE_CHECK_LAGS + 1][3]; /* rotation rates of the last frames, newest first [rad/s] */
    uint32_t known;                     /* bit i: gyro and image rate are known for the frame i frames ago */
    float frames;                       /* number of frames in the sums, with exponential forgetting */
    float mean[2][3],                   /* sums of the rotation rates: [0] camera, [1] gyro [rad/s] */
        square[2];                      /* sums of the squared rates: [0] camera, [1] gyro [rad^2/s^2] */
    /* [lag]: sums of the differences camera - gyro. Lag VF_RATE_CHECK_LAGS: rates of the same frame; above: camera
     * rates of earlier frames; below: gyro rates of earlier frames */
    float difference[2 * VF_RATE_CHECK_LAGS + 1][3],
        difference2[2 * VF_RATE_CHECK_LAGS + 1]; /* [lag]: sums of the squared differences camera - gyro */
    float recent_difference,                     /* mean square of camera - gyro over the last few frames [rad^2/s^2] */
        recent_square[2]; /* mean squares over the last few frames: [0] camera, [1] gyro [rad^2/s^2] */
    uint32_t last,        /* decision of the last frame: VFRONT_IMU_..., or 0 */
        run;              /* number of consecutive frames with the decision `last` */
    uint32_t reported;    /* fault that is reported: bits of health.imu */
    int32_t late_us;      /* delay of the gyro samples that is reported, health.imu_late_us [us] */
};

/** Running means and last values that the motions of the next frame are checked against. */
struct vf_running_means {
    struct vf_mean_share share[2];   /* share of inliers: [0] relative motion, [1] metric motion */
    uint32_t late;                   /* number of frames by which the images are late: health.late */
    uint32_t late_frames;            /* frames since the last repeated image, while images are late */
    struct vf_ego_velocity velocity, /* last velocity consistent with its timestamp and the acceleration bound */
        jumped;                      /* velocity of this frame if it is too far from `velocity`; else all 0 */
    struct vf_rate_check rates;
};

/** Last good motion of a kind, which predict extrapolates. A relative motion may be a rotation only; its t is a unit
 *  vector. */
enum { VF_LAST_METRIC, VF_LAST_RELATIVE, VF_LASTS };
struct vf_last_motion {
    struct vf_pose pose;
    float covariance[21];
    uint32_t reserved;
    uint64_t t_ns;  /* timestamp of the frame at the end of the motion [ns] */
    uint64_t dt_ns; /* duration of the motion: one frame interval [ns]; 0: no motion */
};

#if VFRONT_EGO
struct vf_ego_memory {
    /* [0] all; [1] those of known distance in the previous frame, for metric motions */
    struct vf_correspondences list[2];
    uint32_t count[2];
    struct vf_pose pose[VF_SEARCHES][VFRONT_HYPOTHESES];
    /* sum of the inlier scores of each pose; 0: the sample gave no pose */
    int32_t score[VF_SEARCHES][VFRONT_HYPOTHESES];
    struct vf_refined refined[VF_SEARCHES][VF_EGO_REFINED];
    /* [relative hypothesis]: number of its inliers among the outliers of the best relative motion */
    uint32_t alternative[VFRONT_HYPOTHESES];
    struct vf_assessment assessment;
    struct vf_ego_cluster_sums cluster_sums[VF_KINDS];
    uint32_t blocks_done,     /* CUDA: number of finished thread blocks of the kernel that reports the motions */
        parts_done[VF_KINDS]; /* CUDA: number of finished thread blocks of the covariance of each kind */
    /* [kind][candidate]: 1: inlier of the best motion of the kind. A candidate is a track or a match, as in
     * vf_correspondences.candidate */
    VF_ALIGN(4)
    uint8_t inlier[VF_KINDS][VF_EGO_MASKS],
        inlier_mask[VF_EGO_MASKS];            /* [candidate]: bits VFRONT_AGREES_... of the reported motions */
    vfront_motion_t relative, metric,         /* out: motions of this frame */
        good[2];                              /* out, [parity]: last good motion */
    struct vf_running_means running_means[2]; /* [parity]: values after the frame of that parity */
    struct vf_last_motion last[2][VF_LASTS];  /* out, [parity][VF_LAST_...]: last good motion of the kind */
    /* out, [parity]: running estimate of the common offset of all disparities */
    struct vf_rig_estimate disparity[2];
};
#else
struct vf_ego_memory {
    uint64_t nothing;
};
#endif

/** Running estimate of the disparity offset after the frame of a parity; all 0: nothing measured. active: bits of the
 *  active stages. */
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

#endif
