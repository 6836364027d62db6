/* SPDX-License-Identifier: MIT */
/* Supervisor of the estimator, on the host: initialization, requests to the stage vio, loss and restart of an estimate.
 *
 * In      struct vf_nav_view: IMU samples of the step (samples.h), summary of the estimator; state and motions of the
 *         result
 * Out     struct vf_vio_request of the next step; predicted motion of camera 0; the members of vfront_nav_t that the
 *         estimator cannot know; innovations
 * Rule    states: vfront_nav_state_t. An estimate starts in the frame after its initialization: by start.h; by mono.h
 *         with one camera in motion; with two cameras and no samples for VFRONT_IMU_GAP_NS, or no stated IMU noise, by
 *         from_stereo.h, without gravity. Once there are samples, start.h replaces an estimate without gravity, at its
 *         position and yaw.
 *         Gap: without samples for VFRONT_IMU_GAP_NS the estimate continues if there are two cameras (vision_only.h),
 *         and ends if there is one.
 *         Loss: VF_NAV_COAST_NS without observations; VF_NAV_VISION_ONLY_NS without observations and samples;
 *         VF_NAV_DIVERGED_FRAMES frames whose mean squared residual is above VF_NAV_DIVERGED_COST; or samples return
 *         and the attitude contradicts gravity (nav_gravity.h). Initialization then restarts. The last state goes on by
 *         samples, else at constant velocity, and the new estimate continues there (nav_origin.h).
 *         Ignored samples: stuck or zero; disagreeing with the images' motion (VFRONT_MOTION_PRIOR), until
 *         VF_NAV_IMU_REJECTED_FRAMES frames after the last disagreement; rates unlike the images' (ego/rate_check.h).
 *         They count as missing and start no estimate, nor do samples in g or without gravity. When they are used again
 *         the biases are unknown: their walk in the first frame without them is that of an IMU not yet known.
 *         Exceptions, in which a disagreement does not count against the IMU: a moving object is detected
 *         (consistency.h); the other motion (tracks or keypoints) is GOOD and agrees; landmarks agree with the IMU, for
 *         VF_NAV_AGREE_FRAMES frames.
 *         Bank: beside the accepted estimator run others without accelerometer and without IMU (nav_bank.h).
 *         Prediction: the state and the samples predict the motion of camera 0 (nav_motion.h). After a difference to
 *         the images' motion above VF_NAV_PREDICT_CHI2 on an axis nothing is predicted for VF_NAV_PREDICT_OFF_FRAMES
 *         frames. Meanwhile the state is disputed or, if it has a protection level, its covariance has the difference.
 * Exact   double precision in one order, on the host for either port: an initialization is some thousand small serial
 *         steps, which are slow in double precision on an embedded GPU
 * Memory  struct vf_nav, in vf_context
 */
#ifndef VF_NAV_H
#define VF_NAV_H

#include "nav_doubt.h"
#include "nav_gravity.h"
#include "nav_motion.h"
#include "nav_origin.h"
#include "imu/samples.h"
#include "vio_init/start.h"
#include "vio_init/mono.h"
#include "vio_init/from_stereo.h"
#include "vio/vio.h"

/** Longest time without observations before an estimate that uses IMU samples is lost [ns]. */
#define VF_NAV_COAST_NS 5000000000ull

/** Least number of accepted observations for a frame to count as observed; only landmarks initialised in earlier frames
 *  count. */
#define VF_NAV_MIN_OBSERVED 4

/** Longest time without observations before an estimate without IMU samples is lost [ns]. The extrapolated motion is
 *  then off by metres. */
#define VF_NAV_VISION_ONLY_NS 500000000ull

/** Number of successive frames with too large residuals after which an estimate is lost as diverged. */
#define VF_NAV_DIVERGED_FRAMES 10
/** Mean squared residual of a frame above which it counts as diverged [variances of the observation noise]. The squared
 *  residual is 2 to 3 for an inlier and at most 36 for an outlier. */
#define VF_NAV_DIVERGED_COST 12.0
/** Least number of accepted observations of a frame that can count as diverged. */
#define VF_NAV_DIVERGED_LANDMARKS 16

/** Number of frames for which IMU samples count as missing after their rotation disagreed with an image motion. */
#define VF_NAV_IMU_REJECTED_FRAMES 8

/** Least number of landmarks that must agree with the IMU to outweigh an image motion that disagrees with it. */
#define VF_NAV_AGREE_LANDMARKS 16
/** Largest number of tracks per landmark that agrees with the IMU. With more tracks, landmarks may agree by chance. */
#define VF_NAV_AGREE_TRACKS 6
/** Largest number of consecutive frames in which landmarks outweigh an image motion that disagrees with the IMU. */
#define VF_NAV_AGREE_FRAMES 1

/** Largest squared difference between predicted and measured camera motion on each axis [variances]. */
#define VF_NAV_PREDICT_CHI2 VF_CHI2_1_E6
/** Number of frames without prediction after predicted and measured camera motion differed. */
#define VF_NAV_PREDICT_OFF_FRAMES VF_NAV_IMU_REJECTED_FRAMES

/** Standard deviation with which an observation scatters from frame to frame, divided by the one that the estimator
 *  assumes. The assumed one is larger, because much of a track's error is common to successive frames. The robust
 *  weight of an observation falls if its residual exceeds 3 times the scatter. Such points slide along edges or
 *  move. */
#define VF_NAV_SCATTER (1.0 / 3.0)

/** Number of frames in which a dispute (VFRONT_NAV_DISPUTED) does not count as a moving object, after images disagreed
 *  with the IMU and no other image motion agreed with it. */
#define VF_NAV_UNREFUTED_FRAMES 40

/** Number of landmarks in a frame that gives quality 100. */
#define VF_NAV_FULL_LANDMARKS 60

/** What the supervisor keeps of a member of the bank from frame to frame. */
struct vf_nav_member {
    vfront_nav_t last;   /* state of the last frame with an estimate; t_ns 0: none so far */
    vfront_nav_t before; /* state of the frame before that of `last`, same estimate; t_ns 0: none */
    /* biases, time offset and noise means passed from frame to frame: after the last frame, after this frame. t_ns 0:
     * the time since `last` is unknown */
    struct vf_vio_carried carried, next;
};

/** The bank of estimators (nav_bank.h). */
struct vf_nav_bank {
    uint32_t accepted; /* member whose state is reported: enum vf_bank_member */
    /* member from whose window of the last frame the accepted estimate goes on; another one than `accepted` after
     * vf_nav_bank_yield() alone */
    uint32_t kept;
    uint32_t replaced; /* 1: accepted in the last frame instead of another one, by vf_nav_bank_decide() */
    uint32_t disputed; /* 1: another member contradicts it and explains over twice as many observations */
    struct vf_nav_member member[VF_BANK]; /* all but the accepted one */
    uint32_t goes_on[VF_BANK];            /* 1: it had an estimate in the last frame; 0: it begins anew */
    uint32_t ends[VF_BANK];               /* 1: it begins anew in the next frame, by the decision on this one */
    uint32_t against[VF_BANK];            /* number of frames in a row in which it contradicts the accepted one */
    /* number of these in a row in which the accepted one explains at least half as much, with smaller residuals */
    uint32_t worse[VF_BANK];
    /* sums over these frames of observations that it, and that the accepted one accepts */
    double explained[VF_BANK], own_explained[VF_BANK];
    double shared_s[VF_BANK]; /* time in a row in which it contradicts, and both explain a part of the picture */
    double object_s;          /* remaining time for which a moving object explains contradictions */
    double age_s[VF_BANK];    /* time since it began anew from the accepted one */
    double agrees_s[VF_BANK]; /* time for which it has agreed with the accepted one */
};

/** What separated a member from the accepted one whenever it began anew (nav_level.h), at the last of these times. */
struct vf_nav_separated {
    double d[VF_NAV_V]; /* sum of the differences, member - accepted: position [m], attitude [rad] */
    /* there: sum of what the member's covariance was larger by */
    struct vf_nav_origin origin;
};

struct vf_nav {
#if VFRONT_VIO
    struct vf_start start;   /* initialization with the IMU */
    struct vf_mono mono;     /* monocular initialization, which runs besides `start` if the rig has one camera */
    struct vf_nav_bank bank; /* the other members */
    struct vf_nav_separated separated[VF_BANK]; /* since vfront_init(), over losses and resets */
    struct vf_nav_doubt doubt;
    uint32_t time_lost; /* 1: a state began after an unknown time since the last one; until vfront_init() */
    uint32_t reserved;
    uint32_t running;   /* 1: the last frame had an estimate */
    uint32_t diverged;  /* number of consecutive frames with too large residuals: VF_NAV_DIVERGED_COST */
    uint32_t resets;    /* number of estimates that started after the first one: vfront_nav_t.reset_counter */
    uint32_t lost;      /* 1: an estimate was lost, and none has started since */
    vfront_nav_t first; /* initial state for the next frame; t_ns 0: none */
    /* motion with which two cameras start an estimate in the next frame; dt_s 0: none */
    struct vf_from_stereo_motion stereo;
    uint32_t no_gravity; /* 1: two cameras started this estimate, without gravity */
    double rate[3];      /* angular rate at the start of an estimate without gravity, IMU axes [rad/s] */
    /* the accepted member of the bank: states of its last two frames, without the errors of `origin`. Since a loss, the
     * last one is carried on to this frame, with them */
    struct vf_nav_member own;
    struct vf_nav_origin origin, next_origin; /* of this estimate; of the one that starts in the next frame */
    uint32_t vision_only;                     /* 1: this frame has no usable IMU samples */
    uint64_t observed_ns;                     /* time of the last frame with observations, IMU clock [ns] */
    uint64_t imu_ns;         /* time of the last frame with usable IMU samples, or of the first frame [ns] */
    uint64_t t_ns;           /* time of this frame, IMU clock [ns] */
    const vfront_imu_t *imu; /* IMU samples of this frame and around it: vf_samples_around() */
    uint32_t samples;        /* number of elements of imu */
    uint32_t new_picture;    /* 1: the last frame had a new image of camera 0 */
    struct vf_nav_propagation propagation,
        propagation_next;   /* IMU propagation from the last new image: up to the last frame, up to this frame */
    uint32_t moving_object; /* 1: a moving object was detected in the last frame (consistency.h) */
    /* check of the attitude against gravity, over the frames since IMU samples were last used */
    struct vf_nav_gravity gravity;
    uint32_t unrefuted; /* number of remaining frames in which a dispute is no moving object: VF_NAV_UNREFUTED_FRAMES */
    uint32_t contradicted; /* number of consecutive frames whose images disagree with the IMU */
    uint32_t imu_rejected; /* number of remaining frames in which IMU samples are ignored */
    /* number of frames whose IMU samples are ignored, up to this one, up to the last one: 0, 1, 2 or more */
    uint32_t excluded, excluded_before;
    uint32_t prediction_off; /* number of remaining frames in which no camera motion is predicted */
    /* squared difference of the motions that contradicted: translation [m^2], rotation [rad^2], velocity [m^2/s^2] */
    double contradiction[3];
    /* predicted camera motion of this frame, even if not passed to predict; source 0: none */
    vfront_prediction_t expected;
#else
    uint64_t nothing;
#endif
};

/* clang-format off */
#define VF_GEOMETRY_nav(X) X(active) X(pair)
#define VF_TUNING_nav(X) \
    X(vio_stationary) X(vio_stereo_urad) X(rig_centre_mpx) X(vio_imu_percent) X(protection_risk_ppm) \
    X(ego_metric_hypotheses)
/* clang-format on */
VF_GEOMETRY_OF(nav);
VF_TUNING_OF(nav);

/** Inputs and outputs of the supervisor, in each call. */
struct vf_nav_view {
    struct vf_nav_geometry geometry;
    struct vf_nav_tuning tuning;
    const vfront_camera_t *camera;    /* calibrations [VFRONT_CAMERAS], as the stages use them */
    const vfront_imu_noise_t *imu;    /* noise of the rig's IMU, as given by the user */
    const struct vf_imu_scale *scale; /* errors of its gyro; NULL: none */
    const struct vf_params *params;
    const struct vf_samples *samples; /* IMU samples of the frame */
    const struct vf_vio_report *vio;  /* estimator's output of this frame; read by vf_nav_after_step() only */
    /* faults of the IMU in the last frame, bits of health.imu: VFRONT_IMU_AXES, _IN_DEGREES, _CLOCK */
    uint32_t imu_fault;
    /* time since the last frame: where its clock was another one, by the number of refused frames; where it was before
     * vfront_reset(), by the stamps if they go on [ns]; 0: unknown */
    uint64_t away_ns;
    struct vf_nav *nav;
    struct vf_vio_request *request;    /* output of vf_nav_before_step(): command and data for the estimator */
    vfront_prediction_t *state_motion; /* output of vf_nav_before_step(): predicted motion of camera 0 */
};

/** 1 if image motions of the last frame may be those of a moving object instead of the camera. */
int vf_nav_sees_moving_object(const struct vf_nav *n);

/** Prepares the request to the estimator and predicts the camera motion. Called before the step of each frame. */
void vf_nav_before_step(const struct vf_nav_view *s);

/** Completes the reported state of a frame and continues an initialization. Called after the frame's step. r: result of
 *  the frame. nav: in and out, state with the members that the estimator has set. innovation: out, [VFRONT_TESTS]. */
void vf_nav_after_step(const struct vf_nav_view *s, const vfront_result_t *r, vfront_nav_t *nav,
                       vfront_innovation_t *innovation);

#endif
