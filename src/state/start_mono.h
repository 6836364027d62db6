/* SPDX-License-Identifier: MIT */
/* Start in motion with one camera: a first state with scale, from the readings and the tracks of some seconds.
 *
 * In      rig and noise of the IMU; per frame the readings since the frame before, the relative motion of camera 0, and
 *         the sights of its tracks
 * Out     what there is (enum vf_start_state), and a state at the newest frame with its covariance, as start.h has it
 * Rule    1. Every VF_MONO_APART_NS a frame is kept, with the preintegral since the one before and its sights; the
 *            newest VF_MONO_FRAMES, and of their tracks VF_MONO_POINTS, the longest first
 *         2. Bias of the gyro: what is between rotations of pictures and readings, by linear least squares
 *         3. First velocity and direction of gravity: rays of a track meet, by linear least squares, with the points
 *            left out (start_mono_guess.h)
 *         4. All errors together: poses and velocities, biases that are the same in all frames, bearing and inverse
 *            range of each point, mounting and time offset of the camera; preintegrals, sights, priors: at most
 *            VF_MONO_STEPS steps of Levenberg and Marquardt with the points projected out (start_mono_solve.h)
 *         5. A frame does VF_MONO_WORK of 2 to 4, by number and not by time, and the next frames go on: a solution is
 *            of the frames that were kept when it began, and takes VF_MONO_SLICES frames at most. Frames are kept
 *            meanwhile, and with the newest of them the next one begins. The state is carried from the newest frame
 *            of the solution to the last frame by the readings since, with its covariance
 *         6. The state is told if the size of the path is known to VF_MONO_SCALE, tilt and velocity to what start.h
 *            has, and residuals are those of noise. Standing, hovering, and flying on at one velocity do not tell the
 *            size, and have no state
 *         A frame that does not follow, or has no readings, ends the solution under way; all is forgotten
 *         Deviations are VF_MONO_WIDER times those by noise. Readings have errors that are none (axes, scale, what
 *         vibration leaves), and accelerations of a hand-held rig are small beside gravity: on a recorded flight size,
 *         tilt and biases are off by so much more
 * Exact   double precision in one order, roots and quotients correctly rounded; no libm beside sqrt
 * Cost    of a frame bounded by the constants below: 2 ms on one core of a server, 4 at most; with tracks that all live
 *         as long as the frames kept 3.4, 5.3 at most. Memory struct vf_mono of the caller
 *
 * A. Martinelli, Closed-form solution of visual-inertial structure from motion (2014); T.-C. Dong-Si, A. Mourikis,
 * Estimator initialization in vision-aided inertial navigation with unknown camera-IMU calibration (2012): the idea of
 * 3.
 */
#ifndef VF_START_MONO_H
#define VF_START_MONO_H

#include "start.h"

/** Frames of a start, least number of them, least time between two [ns]. */
#define VF_MONO_FRAMES 12
#define VF_MONO_LEAST 6
#define VF_MONO_APART_NS 190000000u

/** Points, least number of them, and of sights of each. */
#define VF_MONO_POINTS 144
#define VF_MONO_POINTS_LEAST 20
#define VF_MONO_SIGHTS_LEAST 3

/** Steps of the optimisation; of the first ones VF_MONO_OUTLIER is VF_MONO_FAR, and a quarter of that in each one that
 *  follows: what is far off by a wrong guess is no outlier yet. */
#define VF_MONO_STEPS 12
#define VF_MONO_FAR 2500.0

/** Damping of the first step; squared move over its covariance below which a step with no more damping is the last. */
#define VF_MONO_DAMPING 1e-8
#define VF_MONO_STILL 1e-3

/** Largest work of a frame: systems of all errors, of which a step makes one, or two if it is refused; the guess counts
 *  as one. Most frames that a solution takes: fewer than are kept, so that the one from which the state is carried is
 *  one of these still. */
#define VF_MONO_WORK 3
#define VF_MONO_SLICES ((2 + 2 * VF_MONO_STEPS + VF_MONO_WORK - 1) / VF_MONO_WORK)

/** Largest deviation of the size of the path, relative; all deviations, as multiples of those by noise. */
#define VF_MONO_SCALE 0.03
#define VF_MONO_WIDER 3.0

/** Deviation of the inverse range of a point of which nothing is known, and its mean [1/m]. */
#define VF_MONO_RANGE_SIGMA 1.0
#define VF_MONO_RANGE_MEAN 0.2

/** Largest mean of squared residuals, by noise 1; squared residual of a sight from which on it counts less. */
#define VF_MONO_MISFIT 2.5
#define VF_MONO_OUTLIER 9.0

/** Columns: time offset of the camera, its attitude on the IMU (error in IMU axes); of each frame position, attitude,
 *  velocity; behind all frames both biases. */
#define VF_MONO_CAMERA 4
#define VF_MONO_EACH 9
#define VF_MONO_COLUMNS (VF_MONO_CAMERA + VF_MONO_EACH * VF_MONO_FRAMES + 6)

/** Unknowns of the guess: velocity 3, gravity 2. */
#define VF_MONO_UNKNOWN 5

/** Track as a point. Frames are counted from the oldest one of the solution. */
struct vf_mono_point {
    uint32_t seen;                    /* bit of each frame */
    int32_t host;                     /* first frame that saw it */
    float bearing[VF_MONO_FRAMES][3]; /* as sighted */
    float sigma[VF_MONO_FRAMES];
    double b[3], inverse; /* bearing in its host, 1 / range */
};

/** Evidence of rotations of pictures and readings on the gyro's bias: normal equations. */
struct vf_mono_turns {
    double N[9], r[3];
};

/** Track in a kept frame. */
struct vf_mono_track {
    uint32_t id;
    int32_t before; /* its place in the frame before; -1: none */
    float bearing[3], sigma;
};

/** Frame kept; what is of the time since the one before. */
struct vf_mono_kept {
    uint64_t t_ns;
    struct vf_preintegral motion; /* without biases */
    struct vf_mono_turns turns;
    double rate[3]; /* as read, IMU axes */
    uint32_t tracks;
    struct vf_mono_track track[VF_WINDOW_SIGHTS];
};

/** Frame of a solution. */
struct vf_mono_frame {
    struct vf_window_slot slot; /* time, values, preintegral */
    struct vf_mono_turns turns;
    double rate[3];
    double q[4], v[3], p[3], T; /* motion since the oldest frame, by readings less the bias of the gyro */
};

/** Camera 0 of a frame as the guess has it: axes; place, and its derivatives by the unknowns. */
struct vf_mono_view {
    double C[9], c[3], A[3 * VF_MONO_UNKNOWN];
};

/** Camera 0 of a frame, at its time with the time offset found. */
struct vf_mono_pose {
    double R[9], C[9], c[3], arm[3]; /* axes of the IMU, and of the camera; its place, and that from the IMU */
    double turn[3];                  /* rate, in axes of the world */
};

struct vf_mono {
    struct vf_window_rig rig;
    vfront_imu_noise_t noise;
    uint64_t t_ns;   /* of the last frame; 0: none */
    double noisy[2]; /* variance of the noise of gyro and accelerometer over that stated, running mean; 0: none yet */
    double rate[3];  /* of the last frame */
    uint32_t kept_count, fresh; /* 1: a frame has been kept since a solution was last begun */
    struct vf_mono_kept kept[VF_MONO_FRAMES];
    struct vf_preintegral since; /* the newest kept frame; dt_s 0: nothing */
    struct vf_mono_turns turns;  /* since then */
    enum vf_start_state state;
    vfront_nav_t nav; /* at the last frame, if MOVING */

    /* The solution under way, or the last one: of the frames that were kept when it began. */
    uint32_t under_way;      /* 1: it is not told yet */
    uint32_t newest;         /* place of its newest frame among those kept now */
    uint32_t work;           /* of the last frame, at most VF_MONO_WORK */
    uint32_t steps, refused; /* steps done; 1: the last one is undone, and s->H is not yet that of the values */
    uint32_t frames, points;
    struct vf_mono_frame frame[VF_MONO_FRAMES];
    struct vf_mono_point point[VF_MONO_POINTS];
    double offset_s, mount[3], was_camera[4]; /* of the camera, found; mounting as a rotation vector */
    double R_imu_cam[9];                      /* with it */
    double damping;
    double outlier;                /* squared residual from which on a sight counts less, now */
    double cost, freedom;          /* sum of squared residuals; its mean, by noise */
    double moved;                  /* square of the last step over its covariance */
    double scale;                  /* deviation of the path's size, relative */
    double tilt_rad, velocity_mps; /* largest deviations, the latter in body axes */
    double guess[VF_MONO_UNKNOWN];
    struct vf_mono_view view[VF_MONO_FRAMES];
    struct vf_mono_pose pose[VF_MONO_FRAMES];
    struct vf_inertial factor;
    double H[VF_MONO_COLUMNS * VF_MONO_COLUMNS], g[VF_MONO_COLUMNS], x[VF_MONO_COLUMNS];
    struct vf_window_value was[VF_MONO_FRAMES]; /* before the last step, as was_camera and was_place */
    double was_place[VF_MONO_POINTS][4];
};

void vf_mono_begin(struct vf_mono *s, const struct vf_window_rig *rig, const vfront_imu_noise_t *noise);

/** Frame, later than the one before. Returns what there is, FEW while a solution is under way; s->nav is a state if
 *  MOVING, else 0. */
enum vf_start_state vf_mono_step(struct vf_mono *s, const struct vf_start_frame *frame, const struct vf_sight *sight,
                                 uint32_t sights);

#endif
