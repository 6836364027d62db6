/* SPDX-License-Identifier: MIT
 *
 * All links of the companion, what is sent over them, and the thread that serves them, so that the autopilot is
 * answered within a fraction of a millisecond while a step is under way. Everything here is under one lock, which is
 * never held across a wait.
 */
#ifndef COMPANION_LINKS_H
#define COMPANION_LINKS_H

#include <pthread.h>

#include "check.h"
#include "control.h"
#include "iio.h"
#include "link_rate.h"
#include "map_frame.h"
#include "notices.h"
#include "peer.h"
#include "resume.h"
#include "view.h"

#define LINKS_MAX NOTICE_LINKS
#define LINKS_TEXT NOTICE_TEXT
#define LINKS_SUMMARY (LINKS_MAX * 112)

/** States of HEARTBEAT. */
enum { HEARTBEAT_BOOT = 1, HEARTBEAT_CALIBRATING = 2, HEARTBEAT_ACTIVE = 4, HEARTBEAT_CRITICAL = 5 };

/** Where the autopilot's map begins: SET_GPS_GLOBAL_ORIGIN. */
typedef struct links_origin {
    int is_set;
    int32_t latitude_e7, longitude_e7, altitude_mm;
} links_origin_t;

/** Links. Zero it, then links_init(). */
typedef struct links {
    pthread_mutex_t lock;
    pthread_t thread;
    int has_thread, stop;
    int wake[2]; /**< A pipe that ends the thread's sleep. */
    peer_t peer[LINKS_MAX];
    int count;
    link_rate_t rate[LINKS_MAX];
    notices_t notices;
    control_t control;
    links_origin_t origin;
    int origins[LINKS_MAX];  /**< Origins sent to each autopilot. */
    uint64_t next_second_ns; /**< Of heartbeats. */
    int state;               /**< Of heartbeats: HEARTBEAT_BOOT... */
    sender_t sender;
    checkpoint_t kept;       /**< Pose of the process, or of the state, before. */
    int has_kept;            /**< 1: there is one. */
    resume_origin_t resumed; /**< As reported. */
    imu_buffer_t samples;
    iio_t iio;              /**< IMU of the machine; zeroed: none. */
    view_t *view;           /**< Web page, served by the same thread; NULL: none. */
    recorder_t *recorder;   /**< Takes samples; NULL: none does. */
    map_frame_t map;        /**< As sent last. */
    uint64_t map_ns;        /**< When; 0: not since it was not known. */
    uint64_t first_byte_ns; /**< When the last state was on its way; 0: it waits, or nobody takes it. */
    int reported_duplicate[LINKS_MAX], reported_autopilot[LINKS_MAX], reported_stamps[LINKS_MAX],
        reported_signed[LINKS_MAX];
    uint32_t reported_resets[LINKS_MAX]; /**< Jumps of the autopilot's clock. */
    int reported_outliers[LINKS_MAX];    /**< 1: that its answers contradict those before. */
    uint64_t silence_ns[LINKS_MAX]; /**< When it is next reported why an autopilot gets nothing; 0: it gets states. */
    int reported_clock[LINKS_MAX];  /**< 1: that the clock of an autopilot whose IMU is used is known. */
} links_t;

/** Returns 0 without a mutex. */
int links_init(links_t *links);

/** Opens one more link. Returns NULL, or a one-line message. */
const char *links_open(links_t *links, const char *specification, const peer_settings_t *settings);

/** Opens the machine's own IMU, whose samples are taken from then on. Returns NULL, or a one-line message. */
const char *links_open_iio(links_t *links, const char *device, double hz);

/** Records from now on what comes and goes over the links, and samples of other IMUs than an autopilot's, which are
 *  messages. Before links_start(); until links_stop(). */
void links_record(links_t *links, recorder_t *recorder);

/** Starts the thread. Returns 0 where there can be none. */
int links_start(links_t *links);

/** Ends it, and closes all links. */
void links_stop(links_t *links);

/** All that has come and all that is due. The thread calls it; without a thread whoever drives the clock. */
void links_service(links_t *links);

/** A sample of an IMU that is not the autopilot's. */
void links_add_sample(links_t *links, const vfront_imu_t *sample);

/** The newest state: ODOMETRY. Returns 1 if it is on its way over a link; first_byte_ns is set then. */
int links_state(links_t *links, const vfront_nav_t *nav);

/** Where the local frame of ODOMETRY lies in the map: to every link of the map, five times a second and at a jump.
 *  map: NULL: not known. Returns 0 where it is not known. */
int links_map(links_t *links, const vfront_map_t *map, uint64_t t_ns, map_frame_t *out);

/** A message with a stamp, to every autopilot that can relate it. */
void links_send(links_t *links, const mavlink_message_t *message);

/** STATUSTEXT to all links (notices.h), and a line on standard error. topic: NOTICE_STATE... */
__attribute__((format(printf, 4, 5))) void links_report(links_t *links, int topic, int severity, const char *format,
                                                        ...);

/** A setting as it is now (control.h). */
double links_setting(links_t *links, control_setting_t setting);

/** 1, once: vision is to begin anew. */
int links_take_reset(links_t *links);

/** What the autopilots get: "link 1: PX4 gets 12 of 40 Hz, 9 ms old; accepted, 0.12 gates off at most", or why it gets
 *  nothing; those of other links behind "; ". */
void links_summary(links_t *links, char text[LINKS_SUMMARY]);

/** Autopilots that are heard, and their clocks. Returns their number. */
int links_peers(links_t *links, view_peer_t out[LINKS_MAX]);

/** State of the heartbeats: HEARTBEAT_ACTIVE... */
void links_set_state(links_t *links, int state);

/** Samples for the next frame, waited for until one is later than t_ns or `until_ns` has come. Returns their number.
 *  */
uint32_t links_take_samples(links_t *links, uint64_t t_ns, uint64_t until_ns, vfront_imu_t *out, uint32_t max);

/** The library was reset: the next state goes on from the autopilot's pose, or from the last one. */
void links_restart(links_t *links);

/** Goes on behind a process before. kept: its last pose; NULL: not known. last: its reset_counter, or what may be. */
void links_follow(links_t *links, const checkpoint_t *kept, uint8_t last);

/** Pose to take along over a restart. 0: none was sent yet. */
int links_checkpoint(links_t *links, checkpoint_t *checkpoint);

/** Pose that is sent, and that of the autopilot at the end of the first link, for the check of the mount. */
void links_poses(links_t *links, check_pose_t *ours, check_pose_t *theirs);

/** The frame was not taken. */
void links_return_samples(links_t *links, uint32_t count);

#endif
