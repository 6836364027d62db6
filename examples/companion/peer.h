/* SPDX-License-Identifier: MIT
 *
 * The autopilot at the other end of a link: who it is, its clock, its pose, the IMU samples that it sends.
 *
 * It is answered: TIMESYNC. It is asked: HEARTBEAT, where other messages come before; TIMESYNC, ten times a second; by
 * SET_MESSAGE_INTERVAL, until they come, ATTITUDE and LOCAL_POSITION_NED, of PX4 ESTIMATOR_STATUS, of ArduPilot
 * EKF_STATUS_REPORT, and where its IMU is wanted HIGHRES_IMU or, of ArduPilot, RAW_IMU. Messages of another system or
 * component than the one configured are counted, and nothing more.
 *
 * Stamps are those of the companion's clock, with which TIMESYNC is answered, and the autopilot adds its own offset. It
 * can once it knows its offset: PX4 after 500 answers within 10 ms (src/lib/timesync), before which it takes the time
 * at which a message comes; ArduPilot from the first message on, as the least of arrival less stamp. Nothing that has a
 * stamp is to be sent before.
 */
#ifndef COMPANION_PEER_H
#define COMPANION_PEER_H

#include "link.h"
#include "imu_buffer.h"
#include "timesync.h"
#include "uplink.h"
#include "uxrce.h"

#define PEER_ANSWERS_PX4 500u
#define PEER_ANSWER_NS 50000000u        /* nearer answers are one: PX4 asks ten times a second */
#define PEER_ANSWERS_AGE_NS 30000000000 /* by then clocks have parted by 3 ms: stamps are not related any more */
#define PEER_SILENCE_NS 5000000000u     /* without a heartbeat: the autopilot is gone */
#define PEER_TEXT 28                    /* bytes of a reason and its end */
#define PEER_DECISION 48                /* bytes of a decision and its end */
#define PEER_MESSAGES 5                 /* most messages that a call sends back */
#define PEER_ASKED 32                   /* requests that may still come back: 3 s of them */
#define PEER_MOTIONS 16u                /* of late: 0.8 s at the rate that is asked for */
#define PEER_ACCURACY_NS 3000000000u    /* age from which on an accuracy is none: PX4 sends one a second */
#define PEER_COMPONENT 197u             /* of this program: MAV_COMP_ID_VISUAL_INERTIAL_ODOMETRY */

/** Settings. */
typedef struct peer_settings {
    uint8_t system, component; /**< Of the autopilot; component 1. This program has the same system. */
    int wants_imu;             /**< 1: its samples are the IMU. */
    double imu_hz;             /**< Rate to ask for. */
    double imu_delay_s;        /**< By which its samples are late, by filters; negative: as such autopilots are. */
    const uint8_t *key;        /**< Of SIGNING_KEY bytes, read as the link is opened; NULL: nothing is signed. */
    int answers;               /**< TIMESYNC answers before stamps are sent; -1: as the autopilot needs. */
    int is_map;                /**< 1: no autopilot's link: it is sent the place in the map, and nothing is taken. */
} peer_settings_t;

/** Attitude or position of the autopilot. */
typedef struct peer_motion {
    uint64_t t_ns;        /**< Companion's time of its stamp. */
    double stamp_sigma_s; /**< Deviation of that. */
    double value[3];      /**< Roll, pitch, yaw [rad], or position [m], NED. */
    double rate[3];       /**< In body axes [rad/s], or velocity [m/s], NED. */
} peer_motion_t;

/** Those of late: the next one goes to count % PEER_MOTIONS. */
typedef struct peer_motions {
    peer_motion_t motion[PEER_MOTIONS];
    uint32_t count;
} peer_motions_t;

/** What its own estimator makes of its sensors, of which vision is one: ESTIMATOR_STATUS or EKF_STATUS_REPORT. */
typedef struct peer_estimator {
    uint64_t t_ns;   /**< When it came; 0: never. */
    double ratio[3]; /**< Innovations of level position, height, velocity over their gates: from 1 on refused. */
    int has_position;
} peer_estimator_t;

/** Peer. Zero it, set settings, open the link. */
typedef struct peer {
    peer_settings_t settings;
    link_t link;
    uxrce_t uxrce;         /**< Of LINK_DDS. */
    int has_reader;        /**< 1: somebody reads it, likely PX4's agent. Set by the caller. */
    int has_message;       /**< 1: any message of the autopilot came, and its heartbeat was not asked for since. */
    int has_autopilot;     /**< 1: a heartbeat of it came. */
    uint8_t autopilot;     /**< Its kind: 3 ArduPilot, 12 PX4. */
    int is_armed;          /**< 1: its motors may turn, by its last heartbeat. */
    uint64_t heartbeat_ns; /**< Of its last heartbeat. */
    uint32_t requested;    /**< Requests of its TIMESYNC. */
    uint32_t answered;     /**< Those answered while round trips take less than 10 ms, one in 50 ms at most. */
    uint64_t answered_ns;  /**< When the last of these was. */
    timesync_t sync;
    uplink_t uplink;
    uint64_t asked_ns[PEER_ASKED]; /**< Requests that may still come back. */
    uint32_t asked;                /**< Requests so far. */
    uint64_t next_request_ns, next_interval_ns, next_motion_ns;
    uint64_t motion_ns;    /**< When the later one of attitude and position came last; 0: none yet. */
    uint64_t imu_ns;       /**< When a sample came last. */
    uint32_t imu_id;       /**< Message with which samples come; 0: none yet. */
    uint32_t imu_refusals; /**< Of requests for HIGHRES_IMU: RAW_IMU is asked for then. */
    uint64_t unsynced;     /**< Samples dropped because its clock is not known. */
    uint64_t foreign;      /**< Messages of other systems or components. */
    int has_duplicate;     /**< 1: another companion of this component is on the link. */
    peer_motions_t attitude, position;
    double accuracy_m[2]; /**< Its own deviations of its position: level, vertical. */
    uint64_t accuracy_ns; /**< When they came; 0: none yet. */
    peer_estimator_t estimator;
} peer_t;

/** Takes a message that came at `now_ns`. Samples go into `samples`, where they are wanted. Returns the number of
 *  messages to send back. */
int peer_receive(peer_t *peer, const mavlink_message_t *message, uint64_t now_ns, imu_buffer_t *samples,
                 mavlink_message_t out[PEER_MESSAGES]);

/** 1: a message is of the autopilot that is configured. */
int peer_is_autopilot(const peer_t *peer, const mavlink_message_t *message);

/** Its kind, in words. */
const char *peer_name(const peer_t *peer);

/** What is due: requests. Returns the number of messages to send. */
int peer_tick(peer_t *peer, uint64_t now_ns, mavlink_message_t out[PEER_MESSAGES]);

/** 1: the autopilot can relate stamps to its own clock; a file always can. */
int peer_takes_stamps(const peer_t *peer, uint64_t now_ns);

/** Why it cannot, in words; NULL: it can. */
const char *peer_silence(const peer_t *peer, uint64_t now_ns, char text[PEER_TEXT]);

/** What its estimator makes of it, in words. */
const char *peer_decision(const peer_t *peer, uint64_t now_ns, char text[PEER_DECISION]);

/** TIMESYNC answers that it needs before that. */
uint32_t peer_answers_needed(const peer_t *peer);

/** By how much samples are late, with its deviation [s]: those of RAW_IMU have gone through ArduPilot's filter of
 *  20 Hz, of two poles. What comes is dated back by it. */
double peer_delay_s(const peer_t *peer, double *sigma_s);

/** 1 while its clock is known well enough to date samples by it (timesync.h). */
int peer_knows_clock(const peer_t *peer, uint64_t now_ns);

/** 1 once samples have come, or could have but for the clocks: which message they come with is known. */
int peer_knows_imu(const peer_t *peer);

/** The one whose stamp is nearest to a time, UINT64_MAX: the newest. NULL: none yet. */
const peer_motion_t *peer_motion(const peer_motions_t *motions, uint64_t t_ns);

/** Noise of the IMU with the resolution of its samples: 1 mg and 1 mrad/s of RAW_IMU. */
void peer_add_resolution(const peer_t *peer, vfront_imu_noise_t *noise);

#endif
