/* SPDX-License-Identifier: MIT */
/* Sliding window: estimates position, velocity, attitude and IMU biases by least squares over the last frames.
 *
 * In      initial state with covariance; per frame the IMU samples since the previous frame, and observations: bearings
 *         of tracks from camera 0 and, where a stereo track exists, from camera 1
 * Out     state of the newest frame with covariance; time offset between cameras and IMU
 * Rule    variables: the VF_VIO_STATES newest frames have pose, velocity and biases; up to VF_VIO_KEYFRAMES older
 *         keyframes have a pose only. Calibration variables: time offset, attitude of camera 0 on the IMU, and five
 *         of the pair: disparity offset, shift of the principal points, roll of camera 1, ratio of the focal lengths,
 *         length of the baseline.
 *         Factors: preintegrated IMU motion and bias random walks between consecutive states, landmark observations, a
 *         marginalization prior.
 *         A landmark is a bearing and an inverse range in its anchor frame. Nullspace projection eliminates it
 *         (factor_landmark.h); the remaining equations depend on poses relative to the anchor only.
 *         Solver: vf_vio_iterations() Levenberg-Marquardt steps. A step that does not lower the cost is reverted.
 *         Keyframes: a frame in which fewer than VF_VIO_KEYFRAME_SHARE of the tracks are landmarks becomes a keyframe.
 *         Its other tracks become landmarks anchored in it.
 *         Marginalization: after each step the oldest state loses its velocity and biases. A keyframe keeps its pose;
 *         any other frame is marginalized and its observations are dropped. A surplus keyframe is marginalized together
 *         with the landmarks anchored in it.
 *         First-estimates Jacobians: variables in the prior are linearized at their first estimates, so that position
 *         and yaw stay unobservable.
 *         IMU noise above the stated density, such as vibration, is measured from second differences of the samples:
 *         variance = mean square / 6, running mean. The larger of measured and stated variance is used; the excess over
 *         twice the stated one counts double (imu_interval.h). Vibration that aliases below about 1/20 of the sample
 *         rate is indistinguishable from motion.
 * Exact   landmarks in single precision; relative poses, IMU factors, sums over landmarks (in slot order) and solution
 *         in double. One order of operations, divisions and roots correctly rounded.
 * Memory  struct vf_vio_window persists; struct vf_vio_work is scratch of one step
 * Shared  all arithmetic: a step is a sequence of launches (launch.h), which the host form runs one after the other
 *
 * Errors of poses, velocities and biases are those of vfront_nav_t: R_true = exp([w]) R in axes of the odometry frame.
 *
 * V. Usenko, N. Demmel, D. Schubert, J. Stueckler, D. Cremers, Visual-inertial mapping with non-linear factor recovery
 * (2020): the same choice of keyframes and states. That estimator eliminates landmarks over absolute poses.
 */
#ifndef VF_VIO_WINDOW_H
#define VF_VIO_WINDOW_H

#include "imu/measured.h"
#include "imu/propagate.h"
#include "math/chi2.h"

#define VF_VIO_STATES 4                                  /* largest number of frames with velocity and biases */
#define VF_VIO_KEYFRAMES 8                               /* largest number of older keyframes, with a pose only */
#define VF_VIO_FRAMES (VF_VIO_STATES + VF_VIO_KEYFRAMES) /* number of frame slots */
#define VF_VIO_LANDMARKS 256                             /* number of landmark slots */
#define VF_VIO_OBSERVATIONS VF_VIO_LANDMARKS             /* largest number of observations in a frame */

/** Number of Levenberg-Marquardt steps per frame. With one camera more and shorter steps are taken, because the range
 *  scale follows the velocity and an initial velocity may have the wrong sign. */
#define VF_VIO_STEPS_MONO 4
VF_FN int vf_vio_iterations(int32_t cameras) { return cameras > 1 ? 2 : VF_VIO_STEPS_MONO; }
/** Initial Levenberg-Marquardt damping, as a share of each diagonal element. With two cameras a damping of 1e-6, the
 *  relative curvature along camera 1's offset, would freeze that offset. */
#define VF_VIO_DAMPING 1e-7
#define VF_VIO_DAMPING_MONO 1e-5
VF_FN double vf_vio_damping(int32_t cameras) { return cameras > 1 ? VF_VIO_DAMPING : VF_VIO_DAMPING_MONO; }

#define VF_VIO_DAMPING_DECREASE 0.1 /* factor on the damping after an accepted optimization step */
/* factor on the damping after a reverted optimization step, which takes back two accepted ones */
#define VF_VIO_DAMPING_INCREASE (1.0 / (VF_VIO_DAMPING_DECREASE * VF_VIO_DAMPING_DECREASE))
#define VF_VIO_DAMPING_REVERT_MIN 1e-3 /* least damping after a reverted optimization step */

/** Least number of observing frames with which a landmark constrains poses well. */
#define VF_VIO_WELL_OBSERVED_FRAMES 3

/** Least depth of a point along its observed bearing, relative to its range: a point over 84 degrees away counts as
 *  behind the camera. */
#define VF_LANDMARK_MIN_DEPTH 0.1

/** Share of the tracks of a frame that are landmarks, below which the frame becomes a keyframe. */
#define VF_VIO_KEYFRAME_SHARE 0.7f

/** Initial standard deviation of the time offset [s]. */
#define VF_VIO_TIME_OFFSET_SIGMA_S VF_IMU_OFFSET_S

/** Largest time offset that the initialization and the check of the gyro's clock accept [s]: four prior deviations. */
#define VF_VIO_TIME_OFFSET_MAX_S (4.0 * VF_VIO_TIME_OFFSET_SIGMA_S)

/** Prior standard deviation of camera 0's attitude on the IMU, each axis [rad]: 1 degree about any axis. */
#define VF_VIO_MOUNT_SIGMA_RAD 0.01
/** Prior standard deviation of the ratio of both focal lengths: 0.3 px of each, at 400 px. */
#define VF_VIO_FOCAL_SIGMA 0.001
/** Prior standard deviation of the length of the baseline [m]: Kalibr leaves 0.5 mm. */
#define VF_VIO_BASELINE_SIGMA_M 0.0005

/** Number of calibration errors of the pair: those that move camera 1's bearings along the epipolar lines. A rotation
 *  about the baseline moves them across the lines only, and the stage epipolar measures it. */
#define VF_VIO_STEREO_OFFSETS 5
enum {
    /* equal shift of all bearings: a rotation about the axis across the baseline, and the shift of the principal points
     * along the baseline at the image centre [rad] */
    VF_STEREO_OFFSET,
    VF_STEREO_CENTRE, /* shift of the principal points, which is less at the sides than at the image centre [rad] */
    VF_STEREO_ROLL,   /* rotation about camera 1's optical axis [rad] */
    VF_STEREO_FOCAL,  /* ratio of the focal lengths, camera 1's over camera 0's: true over stated one, less 1 */
    VF_STEREO_LENGTH  /* length of the baseline: true over stated one, less 1 */
};

/** Number of elements in the upper triangle of a matrix over the stereo offsets. */
#define VF_VIO_STEREO_PAIRS (VF_VIO_STEREO_OFFSETS * (VF_VIO_STEREO_OFFSETS + 1) / 2)
/** Number of elements in the upper triangle of a matrix and in the gradient over the stereo offsets. */
#define VF_VIO_STEREO_SUMS (VF_VIO_STEREO_PAIRS + VF_VIO_STEREO_OFFSETS)

/** Least number of landmarks that the newest frame must observe. With fewer, and fewer than 1 / VF_VIO_COLLAPSE of the
 *  previous frame's count, all other frames are marginalized into the prior of the newest frame. */
#define VF_VIO_MIN_LANDMARKS 8
#define VF_VIO_COLLAPSE 8

/** First column of each kind in the linear system. From column 0: 6 per frame, position and attitude. */
enum {
    VF_VIO_VELOCITY = 6 * VF_VIO_FRAMES,                      /* first column of velocity and biases, 9 per state */
    VF_VIO_TIME_OFFSET = VF_VIO_VELOCITY + 9 * VF_VIO_STATES, /* column of the time offset */
    VF_VIO_MOUNT,                        /* first of 3 columns: attitude error of camera 0 on the IMU, in IMU axes */
    VF_VIO_DISPARITY = VF_VIO_MOUNT + 3, /* first column of the offsets of camera 1: VF_STEREO_OFFSET and following */
    VF_VIO_COLUMNS = VF_VIO_DISPARITY + VF_VIO_STEREO_OFFSETS /* number of all columns */
};

/** Rows of the information of a first state: its errors as in vfront_nav_t, attitude of camera 0 on the IMU. */
enum { VF_VIO_FIRST = VF_NAV_ERRORS + VF_VIO_DISPARITY - VF_VIO_MOUNT };

/** Rows of the reported covariance: errors of the newest state as in vfront_nav_t; then time offset; then disparity
 *  offset. VF_VIO_REPORTED: their number. */
enum { VF_VIO_REPORTED_TIME_OFFSET = VF_NAV_ERRORS, VF_VIO_REPORTED_DISPARITY, VF_VIO_REPORTED };

/** Observation of a track in one frame. */
struct vf_observation {
    uint32_t id;             /* track id; 0: no observation */
    float bearing[3];        /* unit vector from camera 0 to the point, in its axes */
    float sigma;             /* standard deviation of `bearing` on each axis across it [rad] */
    float stereo_bearing[3]; /* unit vector from camera 1 in its axes, on the epipolar line of `bearing` */
    float stereo_sigma;   /* standard deviation of `stereo_bearing` along the epipolar line [rad]; 0: no stereo track */
    float row_delay_s;    /* exposure time of the row of `bearing` minus time of the frame [s] */
    float stereo_delay_s; /* exposure time of the row of `stereo_bearing` minus that of `bearing` [s] */
};

/** Extrinsics of the cameras: x_imu = R_imu_cam x_0 + p_imu_cam_m, x_1 = R_1_0 x_0 + t_1_0_m. */
struct vf_vio_rig {
    double R_imu_cam[9], p_imu_cam_m[3];
    double R_1_0[9], t_1_0_m[3];
    int32_t cameras;                            /* number of cameras, 1 or 2 */
    int32_t detect_stationary;                  /* 1: run the stationary test (stationary.h) */
    double stereo_sigma[VF_VIO_STEREO_OFFSETS]; /* prior standard deviation of each error of the pair */
    double noise_scale; /* actual standard deviation of an observation, relative to its stated one; 0 means 1 */
};

/** Sets the prior standard deviations of the pair's calibration. turn_rad: of the rotation between the cameras about
 *  each axis; centre_rad: of the horizontal principal point of each camera over its focal length. Both above 0. */
VF_FN void vf_vio_expect_calibration(struct vf_vio_rig *rig, double turn_rad, double centre_rad)
{
    const double *t = rig->t_1_0_m, length_m = sqrt(t[0] * t[0] + t[1] * t[1] + t[2] * t[2]);
    rig->stereo_sigma[VF_STEREO_OFFSET] = sqrt(turn_rad * turn_rad + 2.0 * centre_rad * centre_rad);
    rig->stereo_sigma[VF_STEREO_CENTRE] = sqrt(2.0) * centre_rad;
    rig->stereo_sigma[VF_STEREO_ROLL] = turn_rad;
    rig->stereo_sigma[VF_STEREO_FOCAL] = VF_VIO_FOCAL_SIGMA;
    rig->stereo_sigma[VF_STEREO_LENGTH] = length_m > 0.0 ? VF_VIO_BASELINE_SIGMA_M / length_m : 1.0;
}

/** Square-root information of a preintegral and of the bias random walks. */
struct vf_inertial_whitening {
    double L[81],            /* Cholesky factor of the preintegral's covariance */
        inverse_diagonal[9], /* 1 / diagonal of L */
        inverse_walk[2];     /* 1 / standard deviation of the walk of gyro bias and accelerometer bias */
};

/** Preintegrated IMU motion since the previous frame. */
struct vf_vio_imu_interval {
    uint64_t t_ns; /* time of the frame, camera clock [ns] */
    struct vf_preintegral motion;
    struct vf_inertial_whitening whitening; /* square-root information of `motion` */
    double bias[6];                         /* biases used for the preintegration */
    double before[3], rate[3];              /* angular rate at the start and at the end, IMU axes [rad/s] */
};

/** Values of the newest frame that the next IMU interval starts from. */
struct vf_vio_carried {
    uint64_t t_ns;
    double own_offset_s; /* time offset used for the IMU samples up to the newest frame [s] */
    double offset_s;     /* current estimate of the time offset [s] */
    double bias[6];
    /* running means of measured over stated noise variance, gyro and accelerometer; 0: not measured yet */
    double noise_ratio[2];
    /* running means of the squared change of angular rate [rad^2/s^3] and specific force [m^2/s^5] between two frames,
     * per axis, over the frame interval */
    double change[2];
    struct vf_imu_rate rate; /* angular rate at the newest frame */
};

/** Estimate of one frame. */
struct vf_vio_state {
    double p[3], q[4]; /* pose of the IMU: position [m], attitude w x y z */
    double v[3];       /* velocity [m/s] */
    double bias[6];    /* biases of gyro [rad/s] and accelerometer [m/s^2] */
};

/** Frame in the sliding window. It keeps its slot until it is dropped. */
struct vf_vio_slot {
    uint32_t number;              /* number of the frame, from 1; 0: empty slot */
    int32_t state;                /* slot of its velocity and biases, 0 .. VF_VIO_STATES - 1; -1: pose only */
    int32_t keyframe,             /* 1: anchors landmarks */
        prior;                    /* 1: its variables are in the prior */
    int32_t stationary, reserved; /* 1: stationary since the previous state (stationary.h) */
    uint64_t t_ns;                /* time of the frame, camera clock [ns] */
    double offset_s;              /* time offset of the estimate [s]: it holds at t_ns + offset_s on the IMU clock */
    double rate[3];               /* angular rate at t_ns + offset_s, IMU axes [rad/s] */
    /* variances of position [m^2] and attitude [rad^2] after the step of this frame, sums over the axes */
    double variance[2];
    struct vf_vio_state value;              /* current estimate */
    struct vf_vio_state first;              /* linearization point while `prior` is 1 */
    struct vf_preintegral motion;           /* IMU motion since the previous state */
    struct vf_inertial_whitening whitening; /* square-root information of `motion` */
    double bias[6];                         /* biases used for `motion` */
};

/** Observation of a landmark in one frame. */
struct vf_vio_observation {
    float bearing[3],        /* unit bearing from camera 0 */
        weight;              /* 1 / standard deviation of `bearing` on each axis across it [1/rad] */
    float stereo_bearing[3], /* unit bearing from camera 1 */
        stereo_weight;       /* 1 / standard deviation along the epipolar line [1/rad]; 0: none */
    float row_delay_s,       /* exposure time of the row of `bearing` minus time of the frame [s] */
        stereo_delay_s;      /* exposure time of the row of `stereo_bearing` minus that of `bearing` [s] */
};

/** Landmark: a point with inverse range, anchored in a keyframe. */
struct vf_landmark {
    uint32_t id;       /* id of its track; 0: empty slot */
    int32_t anchor;    /* slot of its anchor frame */
    uint32_t seen;     /* bit f: the frame of slot f observes it */
    float bearing[3];  /* unit bearing from camera 0 of the anchor frame */
    float inverse;     /* 1 / range from camera 0 of the anchor frame [1/m] */
    float still[3];    /* reference bearing of the stationary test (stationary.h) */
    uint64_t still_ns; /* time of the frame in which `still` was observed [ns] */
    struct vf_vio_observation observation[VF_VIO_FRAMES];
    uint64_t refused_ns; /* time of the last rejected observation [ns] (consistency.h) */
    uint32_t refused;    /* number of rejected observations; 0 after VF_CONSISTENCY_TRIAL_NS without one */
    /* bit f: the frame of slot f observed it while it was on trial, and no observation is accepted so far */
    uint32_t tried;
};

/** Result of the stationary test (stationary.h). */
struct vf_vio_stationary {
    int32_t holds;      /* 1: the newest frame is stationary */
    int32_t anchor;     /* keyframe made during this stationary period; -1: none */
    uint32_t intervals; /* number of consecutive intervals without motion */
    uint32_t creeps;    /* number of stationary periods that slow motion ended since the IMU signal last changed */
    double mean[6];     /* means over `intervals` of angular rate [rad/s] and specific force [m/s^2], biases included */
};

/** Rows that give a landmark's increment once the pose increments are known (back-substitution). */
struct vf_landmark_backsub {
    float R[6];        /* upper triangle of the QR factor of the Jacobian by bearing and inverse range */
    float residual[3]; /* residuals of the rows */
    float stereo[3][VF_VIO_STEREO_OFFSETS]; /* Jacobian of the rows by the offsets of camera 1 */
    float pose[3][VF_VIO_FRAMES][6];        /* Jacobian of the rows by the frames' poses relative to the anchor */
};

/** Equations of a landmark over the relative poses after its elimination. */
struct vf_landmark_equations {
    float jacobian[VF_VIO_FRAMES][3][6]; /* Jacobian of the residuals by the relative poses */
    /* [frame][0]: gradient by the relative pose; [frame][1 + n]: its products with offset n of camera 1 */
    float gradient[VF_VIO_FRAMES][1 + VF_VIO_STEREO_OFFSETS][6];
    /* over the offsets of camera 1: matrix by vf_vio_stereo_index(), then gradient */
    float stereo_sums[VF_VIO_STEREO_SUMS];
    float cost; /* robust cost of the observations */
};

/** Linear system H x = -g over all columns. H has both triangles, row-major. */
struct vf_vio_system {
    double H[VF_VIO_COLUMNS * VF_VIO_COLUMNS], g[VF_VIO_COLUMNS];
};

/** Summary of a step for the supervisor (nav/nav.h); all 0 without a state. */
struct vf_vio_summary {
    /* number of accepted observations; in a dispute, only of landmarks with a range and not on trial */
    uint32_t accepted;
    uint32_t moving_object; /* 1: a moving object was detected in the newest frame (consistency.h) */
};

struct vf_vio_window {
    struct vf_vio_rig rig;
    vfront_imu_noise_t noise;
    uint32_t number;    /* number of the newest frame, from 1 */
    int32_t newest;     /* slot of the newest frame */
    double offset_s,    /* time offset: t_imu = t_camera + offset_s [s] */
        first_offset_s; /* linearization point of offset_s [s] */
    /* errors of the pair's calibration and their linearization points. VF_STEREO_OFFSET: excess of camera 1's bearings
     * along the epipolar line, toward nearer points; VF_STEREO_ROLL: from the stated to the true attitude [rad] */
    double stereo[VF_VIO_STEREO_OFFSETS], first_stereo[VF_VIO_STEREO_OFFSETS];
    double mount[4],             /* attitude of camera 0 on the IMU: quaternion q_imu_cam, w x y z */
        first_mount[4];          /* linearization point of mount */
    double cost;                 /* twice the cost after the last optimization, up to a constant */
    double residual_mean_square; /* mean squared normalised residual of the observations, after the last optimization */
    uint32_t flags;              /* vfront_nav_flags_t of the newest frame and its IMU interval */
    uint32_t taken;              /* number of accepted observations in the newest frame (consistency.h) */
    uint32_t proven;             /* number of accepted observations of landmarks with a range and not on trial */
    uint32_t moving_object;      /* 1: a moving object was detected in the newest frame (consistency.h) */
    /* variances of position [m^2] and attitude [rad^2] after the last frame with enough accepted observations
     * (VF_CONSISTENCY_BELIEVED), sums over the axes */
    double believed[2];
    double dispute_s;          /* remaining time of a dispute between IMU and observations [s]; at most 0: none */
    double stereo_check_off_s; /* remaining time of the exclusion of camera 1 [s]; at most 0: none (stereo_check.h) */
    double stereo_check_contrary_s; /* time for which camera 1 has been inconsistent without a break [s] */
    uint32_t observed;              /* number of landmarks that the newest frame observes, including new ones */
    struct vf_vio_carried carried;  /* values that the next IMU interval starts from; only for tests */
    struct vf_vio_stationary stationary;
    struct vf_vio_slot slot[VF_VIO_FRAMES];
    struct vf_landmark landmark[VF_VIO_LANDMARKS];
    /* prior: quadratic cost over x, the estimate minus its linearization point; g: gradient at x = 0 */
    struct vf_vio_system prior;
    double covariance[VF_VIO_REPORTED * VF_VIO_REPORTED];
};

/** Actual variance of an observation, relative to its stated variance. */
VF_FN double vf_vio_noise_variance(const struct vf_vio_window *w)
{
    return w->rig.noise_scale > 0.0 ? w->rig.noise_scale * w->rig.noise_scale : 1.0;
}

struct vf_vio_work;

/** Runs one step with a given preintegral: all launches, one after the other. */
void vf_vio_run(struct vf_vio_window *w, struct vf_vio_work *work, const struct vf_vio_imu_interval *motion,
                const struct vf_observation *observation, uint32_t observations);

#endif
