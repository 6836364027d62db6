/* SPDX-License-Identifier: MIT
 *
 * Orders to this program over MAVLink: its settings as parameters, and a reset of vision (COMMAND_LONG,
 * CONTROL_RESET). They are taken from the autopilot of a link, or from anybody whose message is signed; while motors
 * may turn no setting changes. Settings last until the program ends; its command line has those to begin with.
 */
#ifndef COMPANION_CONTROL_H
#define COMPANION_CONTROL_H

#include "mavlink.h"

#define CONTROL_RESET 31010 /* MAV_CMD_USER_1 */
#define CONTROL_MESSAGES 1  /* most messages that a call sends back */
#define CONTROL_NAME 17

/** Settings. */
typedef enum control_setting {
    CONTROL_RATE = 0,
    CONTROL_CARRY,
    CONTROL_VISION_POSITION,
    CONTROL_STAMP_MS,
    CONTROL_ANSWERS,
    CONTROL_IMU_DELAY_MS,
    CONTROL_IMU_HZ,
    CONTROL_OBSTACLES_M,
    CONTROL_LATITUDE,
    CONTROL_LONGITUDE,
    CONTROL_ALTITUDE,
    CONTROL_SETTINGS
} control_setting_t;

/** Who sends. */
typedef struct control_sender {
    uint8_t system;   /**< Of the autopilot of the link, and of this program. */
    int is_autopilot; /**< 1: it is that autopilot. */
    int is_armed;     /**< 1: motors of one of the autopilots may turn. */
    int link;         /**< Number, from 0 on. */
} control_sender_t;

/** Zero it, set the values. */
typedef struct control {
    double value[CONTROL_SETTINGS];
    int is_reset_wanted;
    int listed[4];    /**< Settings that a link is still to be told, plus 1; 0: none. */
    uint64_t refused; /**< Orders of those who may not give any, in flight, or out of range. */
} control_t;

/** What became of a message. */
typedef enum control_result {
    CONTROL_NOTHING = 0, /**< None of its messages, or nothing to report. */
    CONTROL_CHANGED = 1, /**< `setting` has another value. */
    CONTROL_REFUSED = 2,
    CONTROL_RESETS = 3
} control_result_t;

/** Takes a message. Returns what it did; count: of messages to send back. */
control_result_t control_receive(control_t *control, const mavlink_message_t *message, const control_sender_t *sender,
                                 mavlink_message_t out[CONTROL_MESSAGES], int *count, control_setting_t *setting);

/** The next value of a list that was asked for over a link. 0: none. */
int control_next(control_t *control, int link, mavlink_message_t *out);

/** Name of a setting as a parameter. */
const char *control_name(control_setting_t setting);

#endif
