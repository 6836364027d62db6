/* SPDX-License-Identifier: MIT */
/* Start: a first state of the IMU, against gravity and with its biases, from the readings and the camera's motions over
 * a few frames, at rest or in motion, without a guess.
 *
 * In      rig and noise of the IMU; per frame the readings since the frame before, and the motion of camera 0: metric,
 *         by two cameras, or else relative, of which the rotation is used
 * Out     what there is (enum vf_start_state), and a state at the newest frame with its covariance: position 0, turned
 *         about z so that its attitude is the shortest turn that brings z up. Both hold by definition, up to deviations
 *         of VF_START_HELD
 * Rule    1. Attitudes and positions of the frames by the motions; gravity is what the forces add up to beyond the
 *            change of the velocity between both ends
 *         2. All errors together: pose, velocity and biases at every frame, one scale of all translations; prior of the
 *            biases, preintegrals, motions with their covariance: VF_START_STEPS steps of Gauss and Newton. Frame by
 *            frame, by Householder's reflections of rows of deviation 1, so that no information is squared
 *         3. The state is told if its deviations are below VF_START_TILT_RAD and VF_START_MPS, and the sum of squared
 *            residuals is below what noise makes of it, times VF_START_MISFIT. A sum over its mean widens the
 *            covariance by that ratio
 *         Scale: what translations are off by along their direction is mostly the same in all of them, an error of all
 *         disparities. Its deviation is that of the translations along themselves, relative to their length
 *         Rest: if readings scatter as those of an IMU at rest, and the pictures stand still, translations that no
 *         camera measures are 0, with a deviation of VF_START_REST_MPS in velocity. With metric motions nothing is
 *         taken to be at rest; only the name of the state differs
 *         Noise of the readings beyond that stated is that of their second differences, as in the window
 * Exact   double precision in one order, roots and quotients correctly rounded; no libm beside sqrt
 * Cost    bounded by VF_START_FRAMES and the readings; memory struct vf_start of the caller
 *
 * T.-C. Dong-Si, A. Mourikis, Estimator initialization in vision-aided inertial navigation with unknown camera-IMU
 * calibration (2012); C. Campos, J. Montiel, J. Tardos, Inertial-only optimization for visual-inertial initialization
 * (2020): the idea. There scale is unknown; here two cameras have it.
 */
#ifndef VF_START_H
#define VF_START_H

#include "window_inertial.h"
#include "window_relative.h"
#include "window_solve.h"

/** Frames of a start, and the least number of them. */
#define VF_START_FRAMES 12
#define VF_START_LEAST 4

/** Steps of Gauss and Newton. */
#define VF_START_STEPS 5

/** Longest time between two frames of a start [ns]. */
#define VF_START_APART_NS 500000000u

/** Deviations before anything is known: of the biases from 0, of the first tilt [rad], of velocities [m/s]. */
#define VF_START_GYRO_RAD_S 0.2
#define VF_START_ACCEL_M_S2 0.2
#define VF_START_ANY_RAD 3.0
#define VF_START_ANY_MPS 100.0

/** Deviation of the scale of translations, as a multiple of theirs along themselves. */
#define VF_START_SHARED 2.0

/** Deviation of position [m] and yaw [rad] of a state. */
#define VF_START_HELD 1e-4

/** Rest: deviation of the velocity of what stands [m/s]; least time [s]; deviations of means of rate [rad/s] and force
 *  [m/s^2] over an interval, beside twice the noise. */
#define VF_START_REST_MPS 0.05
#define VF_START_REST_S 0.2
#define VF_START_REST_RAD_S 0.003
#define VF_START_REST_M_S2 0.03

/** Largest deviation of a state's tilt [rad], and of its velocity in body axes [m/s], beside a part of its speed. */
#define VF_START_TILT_RAD 0.1
#define VF_START_MPS 0.2
#define VF_START_SPEED 0.15

/** Largest sum of squared residuals of a state, as a multiple of what is beyond noise at 5 sigma. */
#define VF_START_MISFIT 4.0

/** Columns of the errors of two frames, of the scale, and the right side; rows: of the frames before and the scale, of
 *  a preintegral, of a motion. */
#define VF_START_COLUMNS (2 * VF_NAV_ERRORS + 2)
#define VF_START_KEPT (VF_NAV_ERRORS + 1)
#define VF_START_ROWS (VF_START_KEPT + VF_NAV_ERRORS + 6)

/** Verdict of a start. */
enum vf_start_state {
    VF_START_FEW = 0,         /**< Waits: fewer frames than VF_START_LEAST, or motions than half of their intervals. */
    VF_START_WEAK = 1,        /**< Waits: the state's deviations are beyond the limits. */
    VF_START_STANDING = 2,    /**< A state; readings and pictures are those of a rig at rest. */
    VF_START_MOVING = 3,      /**< A state, in motion, or at rest while something shakes. */
    VF_START_CONTRADICTS = 4, /**< Readings and motions are not of one rig: mounting, times or noise are wrong. */
    VF_START_UNITS = 5,       /**< Readings are in other units: the mean force is about 1 (g), or rates are about 57
                                   times those of the pictures (degrees). */
    VF_START_NO_IMU = 6       /**< No readings since the frame before: all frames before are forgotten. */
};

/** Input of a step. */
struct vf_start_frame {
    uint64_t t_ns;           /* middle of the exposure, on the clock of the readings */
    const vfront_imu_t *imu; /* readings over the time since the frame before, in order, finite */
    uint32_t readings;
    const vfront_motion_t *metric, *relative; /* since the frame before; NULL: none */
};

/** Motion of camera 0 since the frame before, and what the readings are like. */
struct vf_start_motion {
    int32_t turns;      /* 1: R is measured */
    int32_t metric;     /* 1: t is measured */
    int32_t still;      /* 1: the pictures are at rest */
    double R[9], t[3];  /* p_now = R p_before + t [m], axes of camera 0 */
    double P[36];       /* covariance of (t, w), R_true = exp([w]) R, row-major */
    double rate[3];     /* mean of the readings [rad/s] */
    double noisy[2];    /* variance of the noise of gyro and accelerometer by second differences, over that stated */
    double q[4], L[36]; /* attitude of R; lower factor of the covariance as it is used */
    int32_t informs;    /* number of rows that measure: 0, 3, 6 */
};

/** Start. frame: from the oldest to the newest; their motions are those since the one before. */
struct vf_start {
    struct vf_window_rig rig;
    vfront_imu_noise_t noise;
    uint32_t frames;
    struct vf_window_slot frame[VF_START_FRAMES];
    struct vf_start_motion motion[VF_START_FRAMES];
    enum vf_start_state state;
    vfront_nav_t nav;              /* at the newest frame, if STANDING or MOVING */
    double chi2;                   /* sum of squared residuals */
    uint32_t freedom;              /* its mean, by noise */
    double tilt_rad, velocity_mps; /* largest deviations, the latter in body axes */
    double scale;                  /* deviation of the scale of the translations before, relative */
    struct vf_inertial factor;
    double by_scale[6];                                            /* derivative of a motion's rows by the scale */
    double row[VF_START_ROWS][VF_START_COLUMNS];                   /* of the elimination at hand */
    double kept[VF_START_FRAMES][VF_NAV_ERRORS][VF_START_COLUMNS]; /* rows of frames that have been eliminated */
    double last[VF_START_KEPT][VF_START_KEPT + 1];                 /* of the newest frame and the scale */
};

/** Start: all is forgotten. */
void vf_start_begin(struct vf_start *s, const struct vf_window_rig *rig, const vfront_imu_noise_t *noise);

/** Frame, later than the one before. Returns what there is; s->nav is a state if STANDING or MOVING, else 0. */
enum vf_start_state vf_start_step(struct vf_start *s, const struct vf_start_frame *frame);

#endif
