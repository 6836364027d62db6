/* SPDX-License-Identifier: MIT */
/* Initialization: an initial IMU state relative to gravity, with biases, from IMU samples and camera motions over a few
 * frames. It works stationary or in motion, without an initial guess.
 *
 * In      rig and IMU noise; per frame the samples since the previous frame and the motion of camera 0: metric from two
 *         cameras, else relative, of which only the rotation is used
 * Out     enum vf_start_status, and a state at the newest frame with covariance: position 0, attitude by the shortest
 *         rotation that maps up to z. Position and yaw are defined, not measured: standard deviation
 *         VF_START_GAUGE_SIGMA.
 * Rule    1. First approximation: attitudes and positions from the motions; gravity from the sum of the forces minus
 *         the velocity change.
 *         2. Joint solution: pose, velocity and biases of every frame, one scale of all translations, one time offset
 *         between camera and IMU, which shifts the ends of all preintegrals; factors are priors of biases and offset,
 *         preintegrals, motions. VF_START_ITERATIONS Gauss-Newton steps, frame by frame with Householder reflections
 *         of whitened rows, because this square-root form keeps the precision.
 *         3. Report: if the standard deviations are below VF_START_MAX_TILT_RAD and VF_START_MAX_MPS, and chi2 is below
 *         VF_START_MAX_CHI2_RATIO times vf_start_chi2_bound(). chi2 / dof > 1 inflates the covariance.
 *         Scale: translations have an error along their direction that is mostly common to all, because an error of all
 *         disparities causes it. Standard deviation of the scale: that of the translations along their direction,
 *         relative to their length, times VF_START_SCALE_SIGMAS.
 *         Time offset: a preintegral moves linearly, by its difference quotient with that of an interval
 *         VF_START_SHIFT_NS earlier. Noise of the quotient is no signal: only the share of its mean square that is not
 *         noise counts, and its noise times the offset adds to the covariance (motion_solve.h). At rest the offset
 *         stays 0 with its prior deviation.
 *         Stationary: if samples scatter like those of a stationary IMU and the images are stationary, translations
 *         that no metric motion measures are 0, with a velocity standard deviation of VF_START_STATIONARY_MPS. With
 *         metric motions this changes the status only.
 *         IMU noise is measured from second differences (imu/preintegrate.h), and replaces the stated noise if it is
 *         larger.
 * Exact   double precision in one order, divisions and roots correctly rounded; no libm except sqrt
 * Cost    bounded by VF_START_FRAMES and the number of samples
 * Memory  struct vf_start of the caller
 *
 * T.-C. Dong-Si, A. Mourikis, Estimator initialization in vision-aided inertial navigation with unknown camera-IMU
 * calibration (2012); C. Campos, J. Montiel, J. Tardos, Inertial-only optimization for visual-inertial initialization
 * (2020): the method. There the scale is unknown; here two cameras measure it.
 */
#ifndef VF_START_H
#define VF_START_H

#include "vio/factor_inertial.h"
#include "vio/factor_relative.h"
#include "vio/solve.h"

#define VF_START_FRAMES VF_VIO_FRAMES     /* largest number of frames of an initialization: those of the window */
#define VF_START_MIN_FRAMES VF_VIO_STATES /* least number of frames of an initialization: states of the window */

/** Number of Gauss-Newton steps of a solution. */
#define VF_START_ITERATIONS 5

/** Longest interval between two frames [ns]; after a longer one the initialization restarts. */
#define VF_START_MAX_INTERVAL_NS 500000000u

#define VF_START_GYRO_BIAS_RAD_S VF_IMU_GYRO_BIAS_RAD_S /* prior standard deviation of the gyro bias about 0 [rad/s] */
#define VF_START_ACCEL_BIAS_M_S2                                                                                       \
    VF_IMU_ACCEL_BIAS_M_S2          /* prior standard deviation of the accelerometer bias about 0 [m/s^2] */
#define VF_START_PRIOR_TILT_RAD 2.0 /* prior standard deviation of the initial tilt [rad] */
#define VF_START_PRIOR_MPS 100.0    /* prior standard deviation of the initial velocity [m/s] */

/** Standard deviation of the scale error common to all translations, divided by the relative error of the measured
 *  translations. Relative error: standard deviation along the direction of a translation, divided by its length. */
#define VF_START_SCALE_SIGMAS 2.0

/** Standard deviation of position [m] and yaw [rad] of a reported state. */
#define VF_START_GAUGE_SIGMA 1e-4

/** Standard deviation of the velocity of a stationary camera [m/s]. */
#define VF_START_STATIONARY_MPS 0.05
/** Shortest time over which the IMU can be found stationary [s]. */
#define VF_START_STATIONARY_S 0.2

/** Largest standard deviation of the tilt of a reported state [rad]. */
#define VF_START_MAX_TILT_RAD 0.1
/** Largest standard deviation of the velocity of a reported state in body axes [m/s], at speed 0: far scenes know no
 *  better. */
#define VF_START_MAX_MPS 1.0
/** Share of the speed that is added to VF_START_MAX_MPS. */
#define VF_START_MAX_SPEED_SHARE 0.15

/** Largest sum of squared residuals of a reported state, as a multiple of vf_start_chi2_bound(). */
#define VF_START_MAX_CHI2_RATIO 4.0

/** Largest squared step of the newest frame's errors in a solution that is reported, normalised by their covariance. */
#define VF_START_MAX_STEP_CHI2 0.1

/** Longest rotation by which a step moves an attitude [rad]. */
#define VF_START_MAX_STEP_RAD 1.0

/** Largest square of the sum of a stationary camera's translations on each axis [variances]. */
#define VF_START_STATIONARY_CHI2 VF_CHI2_1_E2

/** Squared length that counts as 0 [m^2]. */
#define VF_START_LEAST_M2 (VF_INERTIAL_MIN_SIGMA * VF_INERTIAL_MIN_SIGMA)

/** Interval of the difference quotient of a preintegral by the time offset, the offset's deviation [ns]. */
#define VF_START_SHIFT_NS ((uint64_t)(VF_IMU_OFFSET_S * 1e9))

/** Number of unknowns that all frames share: scale, time offset. */
#define VF_START_SHARED 2

/** Column of the time offset in an elimination; the scale has the column before it. */
#define VF_START_OFFSET (2 * VF_NAV_ERRORS + 1)

/** Number of columns of an elimination: errors of two consecutive frames, scale, time offset, right side. */
#define VF_START_COLUMNS (2 * VF_NAV_ERRORS + VF_START_SHARED + 1)
/** Number of rows that an elimination carries over to the next one: errors of a frame, scale, time offset. */
#define VF_START_CARRIED (VF_NAV_ERRORS + VF_START_SHARED)
/** Number of rows of an elimination: carried over, preintegral, motion. */
#define VF_START_ROWS (VF_START_CARRIED + VF_NAV_ERRORS + 6)

enum vf_start_status {
    VF_START_TOO_FEW = 0,      /**< Waits: below VF_START_MIN_FRAMES frames, or motions for less than half of them. */
    VF_START_UNCERTAIN = 1,    /**< Waits: standard deviations are above the limits. */
    VF_START_STATIONARY = 2,   /**< A state; samples and images are stationary. */
    VF_START_MOVING = 3,       /**< A state in motion, or stationary with vibration. */
    VF_START_INCONSISTENT = 4, /**< Samples and motions disagree: mounting, times or noise are wrong. */
    VF_START_WRONG_UNITS = 5,  /**< Mean force is about 1, as in g, or rates are 57 times the images', as in degrees. */
    VF_START_NO_IMU = 6        /**< No samples since the previous frame: all earlier frames are discarded. */
};

/** Input of an initialization step: one frame. */
struct vf_start_frame {
    uint64_t t_ns;                            /* middle of the exposure, IMU clock [ns] */
    const vfront_imu_t *imu;                  /* IMU samples since the previous frame, ordered, finite */
    uint32_t samples;                         /* number of IMU samples */
    const vfront_motion_t *metric, *relative; /* motions of camera 0 since the previous frame; NULL: none */
};

/** Motion of camera 0 since the previous frame, and statistics of the IMU samples. */
struct vf_start_motion {
    int32_t has_rotation;  /* 1: R is measured */
    int32_t metric;        /* 1: t is measured */
    int32_t stationary;    /* 1: the images show a stationary camera (VFRONT_MOTION_STILL) */
    double R[9], t[3];     /* p_now = R p_before + t [m], axes of camera 0 */
    double P[36];          /* covariance of (t, w), R_true = exp([w]) R, row-major */
    double shift[9];       /* derivatives of the preintegral by the time offset: rotation vector, velocity, position */
    double shift_noise[2]; /* variance of shift by the samples' noise, on each axis: rotation, velocity */
    double rate[3];        /* mean angular rate of the samples [rad/s] */
    double noise_ratio[2]; /* measured noise variance of the samples, relative to the stated one: gyro, accelerometer */
    double q[4],           /* quaternion of R */
        L[36];             /* Cholesky factor of the covariance that the solution uses */
    int32_t dimension;     /* number of significant residuals that the motion adds: 0, 3 or 6 */
};

/** Initialization. Frames are ordered from oldest to newest; each has its motion since the previous one. */
struct vf_start {
    struct vf_vio_rig rig;
    vfront_imu_noise_t noise;
    uint32_t frames;
    struct vf_vio_slot frame[VF_START_FRAMES];
    struct vf_start_motion motion[VF_START_FRAMES];
    enum vf_start_status state;
    vfront_nav_t nav;              /* state at the newest frame if `state` is VF_START_STATIONARY or _MOVING, else 0 */
    double mean_rate[3];           /* mean angular rate of that solution, IMU axes [rad/s] */
    double chi2;                   /* sum of squared residuals of the solution */
    uint32_t dof;                  /* expected value of chi2 */
    double tilt_rad, velocity_mps; /* largest standard deviations of nav: tilt [rad], velocity in body axes [m/s] */
    double scale;                  /* prior standard deviation of the relative scale of all translations */
    struct vf_inertial factor;
    /* share of the derivatives' mean square that is no noise of the samples: rotation; velocity and position */
    double shift_share[2];
    double offset_s,                             /* time offset, t_imu = t_camera + offset_s [s] */
        offset_sigma_s,                          /* its standard deviation at a scale error of 0 [s] */
        offset_by_scale_s;                       /* derivative of the offset that fits best by the scale [s] */
    double scale_jacobian[6];                    /* derivative of a motion's residuals by the scale */
    double offset_jacobian[VF_NAV_ERRORS];       /* derivative of a preintegral's whitened residuals by the offset */
    double row[VF_START_ROWS][VF_START_COLUMNS]; /* rows of the current elimination */
    double eliminated[VF_START_FRAMES][VF_NAV_ERRORS][VF_START_COLUMNS]; /* rows of each eliminated frame */
    /* rows of the newest frame, of the scale and of the time offset; right side in the last column */
    double last[VF_START_CARRIED][VF_START_CARRIED + 1];
};

/** Resets the initialization, for the given rig and IMU noise. */
void vf_start_begin(struct vf_start *s, const struct vf_vio_rig *rig, const vfront_imu_noise_t *noise);

/** Processes a frame, which must be later than the previous one. Returns the status. s->nav is a state if the status is
 *  VF_START_STATIONARY or VF_START_MOVING, else 0. */
enum vf_start_status vf_start_step(struct vf_start *s, const struct vf_start_frame *frame);

#endif
