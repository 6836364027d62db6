/* SPDX-License-Identifier: MIT */
/* Monocular initialization in motion: an initial state with scale, from IMU samples and tracks over some seconds.
 *
 * In      rig and IMU noise; per frame the samples since the previous frame, the relative motion of camera 0, and the
 *         observations of its tracks
 * Out     enum vf_start_status, and a state at the newest frame with covariance, as in start.h
 * Rule    1. Keyframes: one every VF_MONO_MIN_INTERVAL_NS, with observations and the preintegral since the previous
 *         one. The newest VF_MONO_FRAMES are kept, and VF_MONO_POINTS of their tracks, longest first.
 *         2. Gyro bias: linear least squares over the differences between image and IMU rotations.
 *         3. Initial velocity and gravity direction: linear least squares that makes the rays of each track intersect,
 *         with the points eliminated (mono_guess.h).
 *         4. Joint solution: poses, velocities, constant biases, bearing and inverse range of each point, mounting and
 *         time offset of the camera. At most VF_MONO_ITERATIONS Levenberg-Marquardt steps with the points eliminated
 *         (mono_solve.h).
 *         5. Work limit: a frame does VF_MONO_WORK units of steps 2 to 4, and later frames continue. Counting work
 *         instead of time keeps results reproducible. A solution uses the keyframes at its start and takes at most
 *         VF_MONO_SOLVE_FRAMES frames. Its state is propagated by the IMU from the solution's newest frame to the last
 *         frame.
 *         6. Report: scale standard deviation below VF_MONO_MAX_SCALE_SIGMA; tilt and velocity within the limits of
 *         start.h; residuals at noise level. Standing, hovering and constant velocity do not observe the scale and give
 *         no state.
 *         A frame without samples, or after too long an interval, discards everything.
 *         Standard deviations are VF_MONO_SIGMA_FACTOR times those of noise, because axis, scale and vibration errors
 *         of a real IMU act like noise of that size.
 * Exact   double precision in one order, divisions and roots correctly rounded; no libm except sqrt
 * Cost    per frame bounded by the constants below: 2 ms on one core of a server, at most 4; with tracks as long as the
 *         kept keyframes 3.4 ms, at most 5.3
 * Memory  struct vf_mono of the caller
 *
 * A. Martinelli, Closed-form solution of visual-inertial structure from motion (2014); T.-C. Dong-Si, A. Mourikis,
 * Estimator initialization in vision-aided inertial navigation with unknown camera-IMU calibration (2012): the method
 * of step 3.
 */
#ifndef VF_MONO_H
#define VF_MONO_H

#include "start.h"
#include "vio/factor_landmark.h"

#define VF_MONO_FRAMES VF_START_FRAMES          /* largest number of keyframes */
#define VF_MONO_MIN_FRAMES (VF_MONO_FRAMES / 2) /* least number of keyframes for a solution */
#define VF_MONO_MIN_INTERVAL_NS 190000000u      /* shortest interval between two keyframes [ns] */

#define VF_MONO_POINTS 144    /* largest number of points of a solution */
#define VF_MONO_MIN_POINTS 20 /* least number of points of a solution */
/** Least number of observations of a point. */
#define VF_MONO_MIN_OBSERVATIONS VF_VIO_WELL_OBSERVED_FRAMES

/** Largest number of optimization steps of a solution. */
#define VF_MONO_ITERATIONS 12
/** Squared residual above which an observation counts less, in the first optimization step [variances]. Its root
 *  halves per step, down to that of VF_MONO_OUTLIER, because large residuals of a poor first approximation are
 *  not outliers. */
#define VF_MONO_FIRST_OUTLIER 2500.0

/** Initial Levenberg-Marquardt damping, as a share of each diagonal element: that of two cameras. */
#define VF_MONO_DAMPING VF_VIO_DAMPING
/** Squared step, normalised by its covariance, below which the optimization has converged. The damping must be at most
 *  VF_MONO_DAMPING then. */
#define VF_MONO_CONVERGED VF_START_MAX_STEP_CHI2

/** Largest work per frame [assembled linear systems]. An optimization step costs one, or two if it is reverted; the
 *  first approximation costs one. */
#define VF_MONO_WORK 3
/** Largest number of frames that a solution takes. It is below VF_MONO_FRAMES, so that the newest keyframe of the
 *  solution is still kept when the solution ends. */
#define VF_MONO_SOLVE_FRAMES ((2 + 2 * VF_MONO_ITERATIONS + VF_MONO_WORK - 1) / VF_MONO_WORK)

/** Largest standard deviation of the relative scale of a reported state. */
#define VF_MONO_MAX_SCALE_SIGMA 0.03
/** Factor on all reported standard deviations, for errors of a real IMU besides noise. */
#define VF_MONO_SIGMA_FACTOR 3.0

#define VF_MONO_RANGE_SIGMA 1.0 /* prior standard deviation of a point's inverse range [1/m] */
#define VF_MONO_RANGE_MEAN ((double)VF_VIO_INVERSE_RANGE_MEAN) /* prior mean of a point's inverse range [1/m] */

/** Largest sum of squared residuals of a reported state, relative to its expected value. */
#define VF_MONO_MAX_CHI2_RATIO 2.0
/** Squared residual above which an observation counts less, after the first optimization steps [variances]. */
#define VF_MONO_OUTLIER ((double)VF_VIO_ROBUST_THRESHOLD)

/** Number of first columns of the linear system: time offset (1), attitude of the camera on the IMU in IMU axes (3). */
#define VF_MONO_CAMERA_COLUMNS 4
/** Number of columns per frame: position, attitude, velocity. */
#define VF_MONO_FRAME_COLUMNS 9
/** Largest number of columns of the linear system; the last 6 are gyro bias and accelerometer bias. */
#define VF_MONO_COLUMNS (VF_MONO_CAMERA_COLUMNS + VF_MONO_FRAME_COLUMNS * VF_MONO_FRAMES + 6)

/** Number of unknowns of the first approximation: velocity (3), gravity direction (2). */
#define VF_MONO_GUESS_UNKNOWNS 5

/** Landmark: the point in space that a track observes. Frames are numbered from 0, the oldest frame of the solution. */
struct vf_mono_point {
    uint32_t seen;                    /* bit i: observed in frame i */
    int32_t anchor;                   /* number of the first frame that observes it */
    float bearing[VF_MONO_FRAMES][3]; /* [i]: observed unit bearing in frame i, camera axes */
    float sigma[VF_MONO_FRAMES];      /* [i]: standard deviation of the bearing in frame i [rad] */
    double b[3], inverse_range;       /* estimated unit bearing in the anchor frame; 1 / range from it [1/m] */
};

/** Normal equations N bias = r of the gyro bias, from differences of image and IMU rotations. */
struct vf_mono_bias_system {
    double N[9], r[3];
};

/** Track as observed in one keyframe. */
struct vf_mono_track {
    uint32_t id;
    int32_t before;          /* index of the track in the previous keyframe; -1: none */
    float bearing[3], sigma; /* unit bearing; its standard deviation [rad] */
};

/** Keyframe, with the IMU data since the previous keyframe. */
struct vf_mono_keyframe {
    uint64_t t_ns;
    struct vf_preintegral motion; /* motion since the previous keyframe, preintegrated without biases */
    struct vf_mono_bias_system bias_system;
    double rate[3]; /* measured angular rate at the keyframe, IMU axes [rad/s] */
    uint32_t tracks;
    struct vf_mono_track track[VF_VIO_OBSERVATIONS];
};

/** Frame of a solution, made from a keyframe. */
struct vf_mono_frame {
    struct vf_vio_slot slot; /* time, estimate, and preintegral since the previous frame */
    struct vf_mono_bias_system bias_system;
    double rate[3];          /* measured angular rate, IMU axes [rad/s] */
    double q[4], v[3], p[3], /* preintegrated motion since the oldest frame, corrected by the gyro bias */
        T;                   /* time since the oldest frame [s] */
};

/** Pose of camera 0 in a frame, in IMU axes of the oldest frame. It is used to compute the first approximation of the
 *  monocular initialization, in which the camera's position is linear in the unknowns. */
struct vf_mono_view {
    double C[9],                       /* rotation from camera axes */
        c[3],                          /* position for unknowns of 0 [m] */
        A[3 * VF_MONO_GUESS_UNKNOWNS]; /* derivative of the position by the unknowns */
};

/** Camera 0 of a frame in the solution, at the estimated time offset. */
struct vf_mono_pose {
    double R[9], C[9], /* rotations from IMU axes and from camera axes to world axes */
        c[3],          /* position of the camera [m] */
        arm[3];        /* vector from the IMU to the camera, world axes [m] */
    double turn[3];    /* angular rate, world axes [rad/s] */
};

struct vf_mono {
    struct vf_vio_rig rig;
    vfront_imu_noise_t noise;
    uint64_t t_ns; /* time of the last frame, IMU clock [ns]; 0: no frame yet */
    /* running means of measured over stated noise variance: gyro, accelerometer; 0: not measured yet */
    double noise_ratio[2];
    double rate[3];     /* measured angular rate at the last frame, IMU axes [rad/s] */
    uint32_t keyframes, /* number of keyframes */
        keyframe_added; /* 1: a keyframe was added since a solution last started */
    struct vf_mono_keyframe keyframe[VF_MONO_FRAMES];
    struct vf_preintegral since_keyframe;   /* preintegrated motion since the newest keyframe; dt_s 0: none */
    struct vf_mono_bias_system bias_system; /* gyro bias equations since the newest keyframe */
    enum vf_start_status state;
    vfront_nav_t nav; /* state at the last frame if `state` is VF_START_MOVING, else 0 */

    /* The following members belong to the solution in progress, or to the last one, over the keyframes at its start. */
    uint32_t solving;        /* 1: a solution is in progress */
    uint32_t newest;         /* index of the solution's newest frame among the current keyframes */
    uint32_t work;           /* work done in the last frame [assembled linear systems], at most VF_MONO_WORK */
    uint32_t iterations,     /* number of optimization steps done */
        reverted;            /* 1: the last step was reverted, and H is not yet assembled at the restored values */
    uint32_t frames, points; /* number of frames and of points of the solution */
    struct vf_mono_frame frame[VF_MONO_FRAMES];
    struct vf_mono_point point[VF_MONO_POINTS];
    double offset_s,     /* estimated time offset, added to the time of each frame [s] */
        mount[3],        /* estimated mounting error of the camera, rotation vector in IMU axes [rad] */
        saved_camera[4]; /* offset_s and mount before the last step */
    double R_imu_cam[9]; /* rotation from camera axes to IMU axes, with the estimated mounting error */
    double damping;
    double outlier;   /* squared residual above which an observation counts less, in the current step [variances] */
    double cost, dof; /* sum of squared residuals after the last step; its expected value */
    double step_chi2; /* square of the last step, normalised by the step's covariance */
    double scale;     /* standard deviation of the relative scale of the solution */
    double tilt_rad, velocity_mps; /* largest standard deviations of nav: tilt [rad], velocity in body axes [m/s] */
    double guess[VF_MONO_GUESS_UNKNOWNS];
    struct vf_mono_view view[VF_MONO_FRAMES];
    struct vf_mono_pose pose[VF_MONO_FRAMES];
    struct vf_inertial factor;
    double H[VF_MONO_COLUMNS * VF_MONO_COLUMNS], g[VF_MONO_COLUMNS], x[VF_MONO_COLUMNS];
    struct vf_vio_state saved_values[VF_MONO_FRAMES]; /* estimates of the frames before the last step */
    double saved_points[VF_MONO_POINTS][4];           /* b and inverse_range of each point before the last step */
};

void vf_mono_begin(struct vf_mono *s, const struct vf_vio_rig *rig, const vfront_imu_noise_t *noise);

/** Processes a frame, which must be later than the previous one. Returns the status, VF_START_TOO_FEW while a solution
 *  is in progress. s->nav is a state if the status is VF_START_MOVING, else 0. */
enum vf_start_status vf_mono_step(struct vf_mono *s, const struct vf_start_frame *frame,
                                  const struct vf_observation *observation, uint32_t observations);

#endif
