/* SPDX-License-Identifier: MIT */
/* State of the IMU over frames, on the host: first state, what the stage window is asked for, what is said of its
 * state.
 *
 * In      readings of the step (readings.h), the window's state and the motions of the result
 * Out     struct vf_window_given of the next step; of vfront_nav_t in the result what the window cannot know
 * Rule    vfront_nav_state_t. A state begins with the frame behind the one in which start.h has found it. Where
 *         readings are missing for VFRONT_IMU_GAP_NS it goes on by two cameras (window_unread.h) until they are back,
 *         and ends with one camera, whose state start.h finds at rest, and start_mono.h in motion. Without readings
 *         for as long, or with an IMU whose noise is not known, two cameras begin one by themselves, without gravity
 *         (start_stereo.h); when there are readings start.h looks for one beside it, which takes its place, in position
 *         and yaw
 *         A state ends after VF_NAV_COAST_NS without sights, VF_NAV_UNREAD_NS without both, where for
 *         VF_NAV_POOR_FRAMES frames the mean cost of many sights is over VF_NAV_POOR_COST, or where readings are used
 *         again and it is not upright by them (nav_gravity.h); then the start begins anew,
 *         and the new state goes on where the last one was, in position and yaw, and in tilt where nothing tells that
 *         Readings that are stuck or 0, that contradict the motion of the pictures (VFRONT_MOTION_PRIOR) until
 *         VF_NAV_AGAINST_FRAMES frames after the last contradiction, or whose rates are not the pictures' (ego_turns.h)
 *         count as missing, and begin no state, nor do those that seem to be in g or without gravity. A motion of the
 *         pictures that contradicts readings is that of a body, and these count, where the window sees one beside the
 *         world (window_gate.h), the other of both motions (that of tracks, that of key points) is GOOD and does not,
 *         or, for VF_NAV_SIDE_FRAMES frames, landmarks agree with the readings
 *         With readings, the state says to predict how camera 0 has moved (nav_motion.h). Where such a motion differs
 *         from that which the pictures show by more than VF_NAV_DOUBT deviations along an axis, it is not predicted for
 *         VF_NAV_DOUBT_FRAMES frames
 * Exact   double precision in one order, on the host for either port: a start is some thousand small steps one behind
 *         the other, in double precision, which an embedded GPU does slowly
 * Memory  struct vf_nav, in the vf_state
 */
#ifndef VF_NAV_H
#define VF_NAV_H

#include "nav_gravity.h"
#include "nav_motion.h"
#include "readings.h"
#include "start.h"
#include "start_mono.h"
#include "start_stereo.h"
#include "window.h"

/** Longest time without sights over which a state is carried on [ns]. */
#define VF_NAV_COAST_NS 5000000000ull

/** Fewest landmarks of earlier frames that are sights of a state. */
#define VF_NAV_FEWEST 4

/** Longest time without sights where there are no readings, either [ns]: a guess at velocity is off by metres then. */
#define VF_NAV_UNREAD_NS 500000000ull

/** Frames in a row with bad sights after which a state is lost, mean cost of theirs, and fewest landmarks of earlier
 *  frames that tell; a sight that is no outlier has about 2 to 3, one that is up to 36. */
#define VF_NAV_POOR_FRAMES 10
#define VF_NAV_POOR_COST 12.0
#define VF_NAV_POOR_LEAST 16

/** Frames for which readings count as missing after a motion of the pictures that contradicts their rotation. */
#define VF_NAV_AGAINST_FRAMES 8

/** Landmarks that agree with the readings, from which on these are not the ones that are wrong, and tracks for each of
 *  them at most: some agree by chance. Contradictions in frames in a row for which that counts. */
#define VF_NAV_SIDE 16
#define VF_NAV_SIDE_SHARE 6
#define VF_NAV_SIDE_FRAMES 1

/** Deviations by which a motion expected by the state and that of the pictures may differ, along each axis; frames for
 *  which nothing is predicted by a state that differed by more. */
#define VF_NAV_DOUBT 5.0
#define VF_NAV_DOUBT_FRAMES 8

/** Scatter of a sight, in the deviations that the window is told of it: these are larger, since much of a track's error
 *  is the same in frame after frame. What is beyond it slides, as tracks on the edge of something near, or moves. */
#define VF_NAV_SCATTER (1.0 / 3.0)

/** Frames after a contradiction that no motion denies, for which the pictures' rates are held against the readings in a
 *  dispute, too. */
#define VF_NAV_UNDENIED_FRAMES 40

/** Landmarks of a frame with which its state has the quality of 100. */
#define VF_NAV_FULL 60

/** Readings from before the step that go with its own: they say how fast the motion changes where some are missing. */
#define VF_NAV_EARLIER 16

struct vf_nav {
#if VFRONT_WINDOW
    struct vf_start start;
    struct vf_mono mono;            /* with one camera, beside it */
    uint32_t running;               /* 1: the last frame done has a state */
    uint32_t poor;                  /* frames in a row with bad sights */
    uint32_t resets;                /* vfront_nav_t.reset_counter */
    uint32_t lost;                  /* 1: a state was lost, and none has begun since */
    vfront_nav_t first;             /* for the next frame; its t_ns 0: none */
    struct vf_stereo_motion stereo; /* for the next frame, where two cameras begin a state; dt_s 0: they do not */
    uint32_t no_gravity;            /* 1: two cameras have begun this run of states */
    double rate[3];                 /* with which they have begun it, IMU axes [rad/s] */
    vfront_nav_t last;              /* the last state; its t_ns 0: none so far */
    vfront_nav_t before;            /* the one before, of the same run of states; its t_ns 0: none */
    uint32_t unread;                /* 1: this frame has no readings, or too few */
    uint64_t sighted_ns;            /* time of the last frame with sights */
    uint64_t read_ns;               /* time of the last frame with readings, or of the first frame */
    struct vf_window_carried carried, next; /* of the window: of the last frame done; with this one */
    uint64_t t_ns;                          /* of this frame, on the clock of the readings */
    /* this frame's readings: some earlier ones, those since the frame before, and later ones */
    vfront_imu_t imu[VF_NAV_EARLIER + VFRONT_IMU_SAMPLES];
    uint32_t readings;
    uint32_t earlier_count;
    uint32_t shown;                  /* 1: the last frame done had a new picture of camera 0 */
    struct vf_nav_way way, way_next; /* since its last picture: of the last frame done; with this one */
    uint32_t body;                   /* 1: the last frame done has a body beside the world (window_gate.h) */
    struct vf_nav_gravity gravity;   /* of the frames without readings up to the last one */
    uint32_t undenied;               /* frames for which a contradiction that no motion denies still counts */
    uint32_t contradicted;           /* last frames whose pictures contradict the readings */
    uint32_t against;                /* frames for which readings are not used, since they contradict the pictures */
    uint32_t doubt;                  /* frames for which the motion by the state is not predicted */
    vfront_prediction_t expected;    /* that motion in this frame, predicted or not; its source 0: none */
    vfront_imu_t earlier[VF_NAV_EARLIER]; /* last readings up to the end of the step before */
#else
    uint64_t nothing;
#endif
};

struct vf_state;

/** 1 if the pictures' motions may be a body's. */
int vf_nav_sees_body(const struct vf_state *s);

/** Before a frame's step: what the window is asked for. */
void vf_nav_give(struct vf_state *s);

/** After a frame's step: what is said of its state; and the start goes on where there is none. */
void vf_nav_take(struct vf_state *s, vfront_result_t *r);

#endif
