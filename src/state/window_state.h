/* SPDX-License-Identifier: MIT */
/* Window: position, velocity, attitude and biases of an IMU from its readings and from tracks of one or two cameras, by
 * least squares over the last frames.
 *
 * In      first state with its covariance; per frame the IMU's readings since the frame before, and sights: bearings of
 *         tracks from camera 0, and of their partners from camera 1
 * Out     state of the newest frame with its covariance; camera's time offset
 * Rule    variables: VF_WINDOW_STATES newest frames with pose, velocity and biases, VF_WINDOW_KEYFRAMES frames with a
 *         pose alone, a time offset of the cameras, the attitude of camera 0 on the IMU, an offset of all disparities,
 *         and, where the rig asks for it, camera 1's turn about its optical axis.
 *         Factors: preintegrals between neighbouring frames, random walks of the biases, sights of landmarks, a prior.
 *         A landmark is a bearing and an inverse range in its host frame; it is projected out of its sights
 *         (window_landmark.h), so that what is left of them depends on the poses of frames relative to the host alone.
 *         vf_window_steps() steps of Levenberg and Marquardt, each taken if the cost falls, and else undone
 *         A frame in which fewer than VF_WINDOW_KNOWN of the tracks are landmarks becomes a keyframe: its other tracks
 *         become landmarks hosted in it. The oldest of the frames with velocity and biases leaves them behind after
 *         each step: a keyframe keeps its pose, another is marginalised, its sights forgotten. A keyframe that has to
 *         leave is marginalised with the landmarks that it hosts
 *         Derivatives of what touches the prior are taken at the first estimates of its variables, so that position and
 *         yaw stay unobservable
 *         Noise of the readings beyond that stated, as of vibration, shows in their second differences: a sixth of
 *         their mean square, as of white noise, in the running mean, takes the place of the variance stated where it is
 *         larger; what is beyond twice that stated counts double (window_motion.h). Vibration whose alias is below a
 *         twentieth of the readings' rate, about, is taken for motion
 * Exact   landmarks in single precision; relative poses, IMU, sums over landmarks in order of their slots, solution in
 *         double; one order throughout, roots and quotients correctly rounded
 * Memory  struct vf_window lasts, struct vf_window_work does not outlast a step
 * Shared  all arithmetic: a step is a sequence of launches (window_step.h), which the host form runs one by one
 *
 * Errors of poses, velocities and biases are those of vfront_nav_t: R_true = exp([w]) R in axes of the odometry frame.
 *
 * V. Usenko, N. Demmel, D. Schubert, J. Stueckler, D. Cremers, Visual-inertial mapping with non-linear factor recovery
 * (2020): keyframes and states of this kind. There the landmarks are projected out in absolute poses.
 */
#ifndef VF_WINDOW_STATE_H
#define VF_WINDOW_STATE_H

#include "propagate.h"

#define VF_WINDOW_STATES 4
#define VF_WINDOW_KEYFRAMES 8
#define VF_WINDOW_FRAMES (VF_WINDOW_STATES + VF_WINDOW_KEYFRAMES)
#define VF_WINDOW_LANDMARKS 256
#define VF_WINDOW_SIGHTS 256

/** Steps of a frame's optimisation, by the number of cameras, and damping of the first as a share of each diagonal
 *  element. Along what the pictures hardly tell, as camera 1's offset and with it the velocity, the curvature is a
 *  millionth of the diagonal: a damping of that size holds them where they are, whatever the number of steps. One of a
 *  hundredth lets them follow the noise of each frame: a camera that flies straight on is then told too surely. With
 *  one camera ranges follow the velocity, and a start may have its sign wrong: that takes more steps, and shorter
 *  ones. */
VF_FN int vf_window_steps(int32_t cameras) { return cameras > 1 ? 2 : 4; }
VF_FN double vf_window_damping(int32_t cameras) { return cameras > 1 ? 1e-7 : 1e-5; }

/** Damping behind a step that was taken, and behind one that was undone, times so much; the least behind the latter. */
#define VF_WINDOW_DAMPING_LESS 0.1
#define VF_WINDOW_DAMPING_MORE 100.0
#define VF_WINDOW_DAMPING_LEAST 1e-3

/** Share of tracks that are landmarks, below which a frame becomes a keyframe. */
#define VF_WINDOW_KNOWN 0.7f

/** Weight of a new interval in the running means of the readings' noise and change. */
#define VF_WINDOW_NOISY 0.05

/** Deviation of the time offset at the start [s]. */
#define VF_WINDOW_OFFSET_S 0.005

/** Deviation of camera 1's bearings along the epipolar lines, the same for all, by its calibration [rad]. */
#define VF_WINDOW_DISPARITY_RAD 0.0005

/** Deviation of the attitude of camera 0 on the IMU by its calibration, each axis [rad]. */
#define VF_WINDOW_MOUNT_RAD 0.005

/** Offsets of camera 1 that move its bearings along the epipolar lines [rad]: the same for all, which is a turn about
 *  the axis across the baseline but for the sides of the picture; a turn about the optical axis. A turn about the
 *  baseline moves them across the lines alone, which the stage rows sees. */
#define VF_WINDOW_STEREO 2
enum { VF_STEREO_OFFSET, VF_STEREO_TURN };

/** Elements of the upper triangle of these, and their right side behind it. */
#define VF_WINDOW_STEREO_PAIRS (VF_WINDOW_STEREO * (VF_WINDOW_STEREO + 1) / 2)
#define VF_WINDOW_STEREO_SUMS (VF_WINDOW_STEREO_PAIRS + VF_WINDOW_STEREO)

/** Fewest landmarks in sight of the newest frame: with fewer, and less than an eighth of what the frame before saw, all
 *  that the others say becomes its prior. */
#define VF_WINDOW_FEW 8

/** Columns: poses of all frames, 6 each (position, attitude); velocity and biases of states, 9 each; time
 *  offset; attitude of camera 0 on the IMU; offsets of camera 1. */
enum {
    VF_WINDOW_MOVING = 6 * VF_WINDOW_FRAMES, /* first column of velocity and biases */
    VF_WINDOW_OFFSET = VF_WINDOW_MOVING + 9 * VF_WINDOW_STATES,
    VF_WINDOW_MOUNT,                           /* attitude of camera 0 on the IMU, error in IMU axes, 3 */
    VF_WINDOW_DISPARITY = VF_WINDOW_MOUNT + 3, /* VF_STEREO_OFFSET, and behind it the others */
    VF_WINDOW_COLUMNS = VF_WINDOW_DISPARITY + VF_WINDOW_STEREO
};

/** Rows of the covariance given out: errors of the newest state as in vfront_nav_t; time offset; offset of
 *  disparities. */
enum { VF_WINDOW_SAID_OFFSET = VF_NAV_ERRORS, VF_WINDOW_SAID_DISPARITY, VF_WINDOW_SAID };

/** Track in a frame. */
struct vf_sight {
    uint32_t id;       /* of the track; 0: none */
    float bearing[3];  /* from camera 0, unit vector in its axes */
    float sigma;       /* standard deviation of it, each axis across [rad] */
    float other[3];    /* from camera 1, unit vector in its axes, on the epipolar line of `bearing` */
    float other_sigma; /* standard deviation of it along the epipolar line [rad]; 0: no partner */
    float late_s;      /* time by which the row of `bearing` is later than the frame [s] */
    float later_s;     /* by which that of `other` is later than the row of `bearing` [s] */
};

/** Cameras on the IMU. x_imu = R_imu_cam x_0 + p_imu_cam_m, x_1 = R_1_0 x_0 + t_1_0_m. */
struct vf_window_rig {
    double R_imu_cam[9], p_imu_cam_m[3];
    double R_1_0[9], t_1_0_m[3];
    int32_t cameras; /* 1 or 2 */
    int32_t rests;   /* 1: rest is looked for (window_rest.h) */
    double turn_rad; /* deviation of camera 1's attitude as told, about its optical axis; 0: it is right */
    double scatter;  /* of a sight from frame to frame, in deviations that are told of it; 0: 1 */
};

/** Input of a step on the host. */
struct vf_window_frame {
    uint64_t t_ns;           /* middle of the exposure, on the clock of the cameras */
    const vfront_imu_t *imu; /* readings over the time since the frame before, by the clock of the IMU */
    uint32_t readings;       /* 0: none, and the motion is that of window_unread.h */
    const struct vf_sight *sight;
    uint32_t sights; /* at most VF_WINDOW_SIGHTS */
};

/** Deviations of a preintegral by which its rows are divided: factor of its covariance; 1 over the factor's diagonal,
 *  and over both walks. */
struct vf_inertial_scale {
    double L[81], over[9], over_walk[2];
};

/** Motion by the readings since the frame before. */
struct vf_window_motion {
    uint64_t t_ns; /* of the frame, on the clock of the cameras */
    struct vf_preintegral motion;
    struct vf_inertial_scale scale; /* of it */
    double bias[6];                 /* with which it was made */
    double before[3], rate[3];      /* angular rate at its start and end, IMU axes [rad/s] */
};

/** Input of the next motion: of the newest frame. */
struct vf_window_carried {
    uint64_t t_ns;
    double own_offset_s; /* time offset with which its readings were taken */
    double offset_s;     /* time offset now */
    double bias[6];
    double noisy[2];  /* variance of the noise of gyro and accelerometer over that stated, running mean; 0: none yet */
    double change[2]; /* square by which rate and specific force change from frame to frame, each axis, over the time
                       * between, running mean [rad^2/s^3, m^2/s^5] */
};

/** Values of a frame's variables. */
struct vf_window_value {
    double p[3], q[4]; /* pose of the IMU: position [m], attitude w x y z */
    double v[3];       /* velocity [m/s] */
    double bias[6];    /* of gyro [rad/s] and accelerometer [m/s^2] */
};

/** Frame of the window, in a slot that it keeps. */
struct vf_window_slot {
    uint32_t number;                /* of the step, from 1 on; 0: empty */
    int32_t state;                  /* slot of velocity and biases, 0..VF_WINDOW_STATES - 1; -1: pose alone */
    int32_t keyframe, prior;        /* 1: hosts landmarks; 1: in the prior */
    int32_t rest, reserved;         /* 1: at rest since the state before (window_rest.h) */
    uint64_t t_ns;                  /* on the clock of the cameras */
    double offset_s;                /* the values are those at t_ns + offset_s by the clock of the IMU */
    double rate[3];                 /* angular rate at that time, IMU axes [rad/s] */
    double variance[2];             /* of position and attitude by the covariance of that step, all axes */
    struct vf_window_value value;   /* estimate */
    struct vf_window_value first;   /* where derivatives are taken, while `prior` */
    struct vf_preintegral motion;   /* since the state before */
    struct vf_inertial_scale scale; /* of it */
    double bias[6];                 /* with which that was made */
};

/** Sight of a landmark in a frame. */
struct vf_window_sight {
    float bearing[3], weight; /* from camera 0; 1 / sigma [1/rad] */
    float other[3], other_weight;
    float late_s, later_s; /* as in struct vf_sight */
};

/** Point of space. */
struct vf_landmark {
    uint32_t id;      /* of its track; 0: empty slot */
    int32_t host;     /* slot of its host frame */
    uint32_t seen;    /* bit f: sighted in the frame of slot f */
    float bearing[3]; /* from camera 0 of the host, unit vector */
    float inverse;    /* 1 / range [1/m] */
    float still[3];   /* bearing of reference in the test of rest, and its time */
    uint64_t still_ns;
    struct vf_window_sight sight[VF_WINDOW_FRAMES];
    uint64_t refused_ns; /* time of the last sight that did not agree with the readings (window_gate.h) */
    uint32_t refused;    /* such sights; 0 again when it has agreed for long enough */
    uint32_t tried;      /* bit f: sighted in the frame of slot f while it was on trial, and not taken so far */
};

/** Knowledge of rest (window_rest.h). */
struct vf_window_rest {
    int32_t holds;      /* 1: the newest frame is at rest */
    int32_t host;       /* keyframe made during this rest; -1: none */
    uint32_t intervals; /* in which nothing has moved, so far */
    uint32_t creeps;    /* rests that ended though readings went on as they were, since these last changed */
    double mean[6];     /* of rate [rad/s] and force [m/s^2] over them, as read */
};

/** Rows by which a solution of the poses gives a landmark's change. */
struct vf_landmark_row {
    float R[6];                         /* upper triangle of the factor of its own derivatives */
    float residual[3];                  /* of the rows that make it up */
    float stereo[3][VF_WINDOW_STEREO];  /* their derivatives by the offsets of camera 1 */
    float pose[3][VF_WINDOW_FRAMES][6]; /* and their derivatives by the relative poses */
};

/** Equations of a landmark on the relative poses, beside its row. */
struct vf_landmark_more {
    float direct[VF_WINDOW_FRAMES][3][6];                   /* derivatives of its residuals by the relative poses */
    float slope[VF_WINDOW_FRAMES][1 + VF_WINDOW_STEREO][6]; /* of its equations: right side; with camera 1's offsets */
    float of_stereo[VF_WINDOW_STEREO_SUMS];                 /* of these: by vf_offsets_pair(), then right side */
    float cost;
};

/** Linear system over all columns: H x = -g; in H both triangles. */
struct vf_window_system {
    double H[VF_WINDOW_COLUMNS * VF_WINDOW_COLUMNS], g[VF_WINDOW_COLUMNS];
};

/** Bit of the reserved member of vfront_nav_t by which the window tells nav.c of a body beside the world; below it:
 *  number of sights that it took. */
#define VF_WINDOW_TOLD_BODY 0x10000u

struct vf_window {
    struct vf_window_rig rig;
    vfront_imu_noise_t noise;
    uint32_t number;                 /* of the newest frame */
    int32_t newest;                  /* its slot */
    double offset_s, first_offset_s; /* time offset: t_imu = t_camera + offset; where the prior has it */
    /* offsets of camera 1: by how much its bearings are too far along the epipolar line, where nearer points would be;
     * turn from its attitude as told to the true one about the optical axis; where the prior has them [rad] */
    double stereo_rad[VF_WINDOW_STEREO], first_stereo_rad[VF_WINDOW_STEREO];
    double mount[4], first_mount[4];  /* attitude of camera 0 on the IMU, q_imu_cam; where the prior has it */
    double cost;                      /* of the last optimisation */
    double misfit;                    /* of its sights: mean cost of one, in squared deviations of scatter */
    uint32_t flags;                   /* vfront_nav_flags_t of the last interval */
    uint32_t taken;                   /* sights of landmarks that it took (window_gate.h) */
    uint32_t proven;                  /* of these, those of landmarks that are not on trial */
    uint32_t body;                    /* 1: there is a body beside the world (window_gate.h) */
    double believed[2];               /* vf_window_slot.variance of the last frame whose pictures were believed */
    double dispute_s;                 /* over 0: readings and pictures are in dispute, for so long */
    double second_off_s;              /* over 0: camera 1 is left out, for so long (window_second.h) */
    double second_contrary_s;         /* for which its sights have contradicted, up to the newest ones */
    uint32_t sighted;                 /* landmarks that the newest frame saw, and those that begin there */
    struct vf_window_carried carried; /* of vf_window_step() */
    struct vf_window_rest rest;
    struct vf_window_slot slot[VF_WINDOW_FRAMES];
    struct vf_landmark landmark[VF_WINDOW_LANDMARKS];
    struct vf_window_system prior; /* quadratic cost of x - first, g its slope at first */
    double covariance[VF_WINDOW_SAID * VF_WINDOW_SAID];
};

/** Start: all is forgotten but the state given, which becomes that of the first frame. Its position and yaw may have
 *  any small variance above 0. On the host. */
void vf_window_start(struct vf_window *w, const struct vf_window_rig *rig, const vfront_imu_noise_t *noise,
                     const vfront_nav_t *first);

struct vf_window_work;

/** Frame: of the first state's time, with its sights; later ones in order. On the host. */
void vf_window_step(struct vf_window *w, struct vf_window_work *work, const struct vf_window_frame *frame);

/** The same with a motion that is made already: the launches of a step, one after the other. */
void vf_window_run(struct vf_window *w, struct vf_window_work *work, const struct vf_window_motion *motion,
                   const struct vf_sight *sight, uint32_t sights);

/** Inverse of a state's covariance. */
void vf_window_inverse(const vfront_nav_t *first, double information[VF_NAV_ERRORS * VF_NAV_ERRORS]);

/** State of the newest frame. */
void vf_window_nav(const struct vf_window *w, const struct vf_window_work *work, vfront_nav_t *nav);

#endif
