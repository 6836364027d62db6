/* SPDX-License-Identifier: MIT
 *
 * What goes to the autopilot, and when. The rules of a sender that never hurts:
 *
 *   a state that is GOOD, COASTING or STEREO_ONLY   ODOMETRY at its time, quality 1..100 as the library has it
 *   between frames that are too far apart, and      the last state carried on by IMU samples, by 100 ms at most, its
 *   in place of one that does not come              covariance grown as far
 *   a constant lag (ArduPilot)                      every message is the last state carried on to the same time before
 *                                                   it goes, whatever the camera's rate and the step's time are
 *   no state yet                                    silence
 *   LOST, values that are none, no state in time    quality -1 in one message, whose variances are so large that it
 *                                                   does nothing even where quality is not looked at; then silence
 *   a state that begins anew                        reset_counter rises by one, modulo 256, in its first message
 *   a restart of this program, or of the library    the pose that resume.h gives goes on; nothing but the one message
 *                                                   of failure while its yaw is too uncertain (odometry.h)
 *   a start of this program                         reset_counter rises in the first and in the second message:
 *                                                   whatever number came last from a process before, a change is seen
 *
 * Times of messages rise strictly. No message has a value that is not finite.
 */
#ifndef COMPANION_SENDER_H
#define COMPANION_SENDER_H

#include "mavlink.h"
#include "odometry.h"
#include "imu_buffer.h"

#define SENDER_CARRY_NS 100000000u  /* longest time that a state is carried on */
#define SENDER_STALE_NS 200000000u  /* age from which on a state is stale: PX4 stops, too */
#define SENDER_LAG_NS 10000000u     /* default of ArduPilot's VISO_DELAY_MS */
#define SENDER_LAG_IMU_NS 30000000u /* the same where samples are the autopilot's own: a filter, two ways */
#define SENDER_LAG_HZ 40.0          /* most messages a second then: ArduPilot takes none within 20 ms of another */
#define SENDER_MESSAGES 2           /* most messages of a call */

/** Settings, which may change between calls. */
typedef struct sender_settings {
    double rate_hz;           /**< Most messages a second, 1..100; states in between are carried on to keep it. */
    int carries_on;           /**< 1: states are carried on by samples. */
    int has_vision_position;  /**< 1: VISION_POSITION_ESTIMATE beside ODOMETRY. */
    pose_t T_body_imu;        /**< Mount of the IMU. */
    vfront_imu_noise_t noise; /**< For states that are carried on. */
    double stamp_sigma_s;     /**< Deviation of stamps. */
    uint64_t lag_ns;          /**< Constant age of messages as they go, with carries_on; 0: the state's own. */
    int is_north;             /**< 1: the local frame's x axis is the autopilot's north (resume.h). */
} sender_settings_t;

/** Sender. Zero it, then set the settings. */
typedef struct sender {
    sender_settings_t settings;
    odometry_frame_t frame;
    odometry_t last;                         /**< That was sent last. */
    vfront_nav_t nav;                        /**< Newest state. */
    int has_state;                           /**< 1: nav is one that may be sent. */
    uint64_t frame_ns;                       /**< Running mean of the time between states; 0: not known. */
    uint64_t lag_ns;                         /**< Running mean of the age of a state when it comes. */
    int has_sent;                            /**< 1: `last` is one. */
    int is_sending;                          /**< 1: the last message reported no failure. */
    int has_resets;                          /**< 1: nav_resets is known. */
    uint32_t nav_resets;                     /**< reset_counter of the last state. */
    uint8_t reset_counter;                   /**< Of messages. */
    int resets_due;                          /**< Messages to come in which it rises by one each. */
    uint64_t converged_ns;                   /**< Of sender_resume(); 0: its pose is for good. */
    uint64_t stamp_ns;                       /**< Time of the last message; later ones follow. */
    uint64_t sent, failures, carried, stale; /**< Messages by kind; states that came too late. */
} sender_t;

/**
 * Newest result.
 * @param[in]  nav       State of a result, whatever it is worth.
 * @param[in]  samples  On the clock of the state.
 * @param[in]  now_ns    Companion's time.
 * @param[out] out       Messages to send, system and component not set.
 * @return Their number.
 */
int sender_state(sender_t *sender, const vfront_nav_t *nav, const imu_buffer_t *samples, uint64_t now_ns,
                 mavlink_message_t out[SENDER_MESSAGES]);

/** Called between results, every few ms. */
int sender_tick(sender_t *sender, const imu_buffer_t *samples, uint64_t now_ns, mavlink_message_t out[SENDER_MESSAGES]);

/** When sender_tick() has something to do next [ns]; UINT64_MAX: nothing before the next result. */
uint64_t sender_next_ns(const sender_t *sender);

/** First call of a process: messages follow those of a process before. last: its last reset_counter, or what may be. */
void sender_follow(sender_t *sender, uint8_t last);

/** The library was reset: the next state is a first one. */
void sender_restart(sender_t *sender);

/** 1: sender_resume() is to come before this state, a first one or one after a start with an uncertain yaw. */
int sender_needs_start(const sender_t *sender, const vfront_nav_t *nav);

/** The next state has this pose. converged_ns: time from which on it needs another, until which reset_counter stays as
 *  it was; 0: none. */
void sender_resume(sender_t *sender, const odometry_start_t *start, uint64_t converged_ns);

#endif
