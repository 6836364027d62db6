/* SPDX-License-Identifier: MIT
 *
 * The bench's side of a session with a board: rig and tuning there, frames there, results back.
 *
 * A function that can fail returns NULL, or a one-line message, valid until the next call.
 */
#ifndef HIL_SESSION_H
#define HIL_SESSION_H

#include "examples/companion/mavlink.h"
#include "examples/recording/header.h"
#include "announce.h"
#include "datagrams.h"
#include "examples/recording/outcome.h"
#include "line.h"
#include "examples/recording/wire.h"

#define SESSION_PENDING 4 /* frames that may be asked for again */

/** Gets each message of MAVLink that comes. */
typedef void session_message_fn(void *context, const mavlink_message_t *message);

/** What goes beside the connection. Zeroed: nothing. */
typedef struct session_transports {
    int has_datagrams; /**< 1: frames go over UDP, to the same address and port. */
    const char *line;  /**< Samples and MAVLink go over this link (companion/link.h); NULL: over the connection. */
} session_transports_t;

/** A frame that may be asked for again. */
typedef struct session_pending {
    announce_t announce;
    uint8_t *payload; /**< In datagrams. */
    size_t room;
    vfront_imu_t sample[VFRONT_IMU_SAMPLES]; /**< Over the line. */
} session_pending_t;

/** Session under way. */
typedef struct session {
    wire_t wire;
    datagrams_t datagrams; /**< fd -1: frames are chunks. */
    link_t line;           /**< LINK_NONE: none. */
    session_pending_t pending[SESSION_PENDING];
    uint32_t frames;                   /**< Sent with an announce_t. */
    uint32_t line_sent, line_received; /**< Messages that the board has sent over the line, and those that came. */
    uint32_t line_lost;                /**< Those that never came. */
    uint64_t resent;                   /**< Datagrams and samples that were asked for again. */
    vfront_imu_t rounded[VFRONT_IMU_SAMPLES];
    recording_header_t board; /**< Header that the board sent. */
    mavlink_parser_t parser;
    session_message_fn *take; /**< NULL: replies have the last of each kind, and that is all. */
    void *context;            /**< For `take`. */
} session_t;

/** What came back for a frame. */
typedef struct reply {
    int has_outcome; /**< 1: the step is over. */
    outcome_t outcome;
    uint64_t t_ns;    /**< Stamp of the frame that it is of. */
    int has_odometry; /**< 1: a message came with it. */
    mavlink_message_t odometry;
    uint64_t odometry_ns; /**< When its first byte came, wire_now_ns(). */
    int has_obstacles;
    mavlink_message_t obstacles;
    int is_damaged; /**< 1: the board reports damaged input; no step. */
    int has_no_gpu; /**< 1: the board has no GPU whose calls could fail. */
    int is_on;      /**< 1: samples of session_send_imu() have had their effect. */
} reply_t;

/** Connect, and initialise vfront there. */
const char *session_open(session_t *session, const char *where, const session_transports_t *transports,
                         const vfront_rig_t *rig, const vfront_tuning_t *tuning);

/** End it: the board goes on to the next. */
void session_close(session_t *session);

/** Samples of a frame as they arrive there, valid until the next call: those of a line are rounded. */
void session_round(session_t *session, vfront_frame_t *frame);

/** A frame. flips: bits to be flipped on the link. */
const char *session_send(session_t *session, const vfront_frame_t *frame, int32_t cameras, int after_reset,
                         uint32_t flips);

/** Samples of an IMU up to now_ns beside those of frames, so that the board's time goes on without a frame. What it
 *  sends then comes before is_on of a reply. */
const char *session_send_imu(session_t *session, const vfront_imu_t *sample, uint32_t count, uint64_t now_ns);

/** Next messages, added to `reply`: up to the outcome of a frame, the word that one was damaged, or that samples had
 *  their effect. has_outcome, is_damaged and is_on stay 0 if it takes longer than timeout_ms. Zero `reply` before. */
const char *session_await(session_t *session, reply_t *reply, int timeout_ms);

/** A message of the autopilot, that comes to the board at a time. */
const char *session_send_message(session_t *session, const mavlink_message_t *message, uint64_t t_ns);

/** How the board begins, at a time: behind a board before, of which it has --keep, or nothing. */
const char *session_follow(session_t *session, int has_file, uint64_t t_ns);

/** Processes that keep the board's processors busy: 0 ends them. */
const char *session_burn(session_t *session, int threads);

/** CUDA call number `call`, from 1, of the board's next steps fails. */
const char *session_fail_gpu(session_t *session, uint32_t call);

#endif
