/* SPDX-License-Identifier: MIT
 *
 * Closed loop: a quadrotor (airframe.h) flies in a rendered hall on the ODOMETRY of the board alone (pilot.h). Its
 * cameras see what it does, its IMU feels it, faults of a script lie between them and the board. In lock step, as fast
 * as both machines can: messages come LOOP_DELAY_NS after the middle of exposure. Or in real time: they come
 * LOOP_CAMERA_NS, for exposure and readout, and what the board has taken after it.
 *
 *   0 s    on the floor; a second of ODOMETRY later it takes off, to PILOT_HEIGHT_M above it
 *   6 s    faults may begin. 1 s later: a square, nose first, in 19 s
 *   then   where its fault has ended it flies, or waits, lands, takes off again, as the pilot sees fit, and holds
 *
 * LOOP_WALL: instead of the square straight ahead, towards a wall.
 */
#ifndef HIL_LOOP_H
#define HIL_LOOP_H

#include "examples/replay/fault_script.h"
#include "pilot.h"
#include "session.h"
#include "truth.h"
#include "vfront.h"

#define LOOP_FRAME_NS 33333333u
#define LOOP_DELAY_NS 20000000u
#define LOOP_CAMERA_NS 10000000u
#define LOOP_BEHIND_NS 33333333u /* at most, of a flight in real time */
#define LOOP_FAULT_FRAME 180u
#define LOOP_WALL_M 7.0 /* ahead of where it starts */

#define LOOP_PATIENCE_NS                                                                                               \
    10000000000u /* that the pilot goes on by its IMU in a restart: ArduPilot's EKF does for 10 s */

/** Restart of the board in flight. Zeroed: none. */
typedef struct loop_restart {
    uint32_t away_ms; /**< It is away so long, 0: no restart, */
    uint32_t at_ms;   /**< from so long after frame LOOP_FAULT_FRAME. */
    int has_file;     /**< 1: --keep. */
    int has_no_pose;  /**< 1: the pilot sends HEARTBEAT alone. */
    int hovers;       /**< 1: no square. */
} loop_restart_t;

/** A frame's time. */
typedef struct loop_frame {
    uint64_t t_ns;
    pilot_phase_t phase;
    int has_fault;        /**< 1: a fault is active. */
    int is_finite;        /**< 1: all numbers of all messages since the frame before. */
    int quality;          /**< Of the last message; -1 failure, 0: none came since the frame before. */
    double at_m[3];       /**< Where it is. */
    double setpoint_m[3]; /**< Where it should be: the set point, from where it took off. */
    double speed_mps;     /**< How fast it is. */
    double error_m;       /**< Distance of the two; 0 unless it flies. */
    double ahead_m;       /**< From the wall. */
} loop_frame_t;

/** A flight. */
typedef struct loop {
    loop_frame_t *frame;
    uint32_t frames, room; /**< Flown; those for which there is room. */
    uint32_t messages, failures, resets, obstacles;
    double touch_mps;             /**< Fastest touch-down. */
    double tilt_cosine_min;       /**< Least cosine of the tilt. */
    uint64_t behind_ns;           /**< In real time: most that a frame was behind its time. */
    uint64_t slowest_ns;          /**< In real time: longest time from a frame to its last message. */
    uint64_t answers_ns;          /**< In real time: sum of the times to all messages. */
    truth_errors_t before, after; /**< Errors of messages before a restart, and after it. */
    double resumed_s;             /**< From the restart's end to the stamp of the first message. */
    double own_m;                 /**< Error of the pilot's own position then. */
    int has_same_counter;         /**< 1: reset_counter did not change within 0.6 s after a restart. */
    int has_crashed;              /**< 1: it hit the hall or turned over, and the flight ended there. */
} loop_t;

/** Settings. */
typedef struct loop_settings {
    const char *board; /**< HOST:PORT. */
    session_transports_t transports;
    const vfront_tuning_t *tuning;
    const fault_script_t *script; /**< NULL: no faults. */
    int32_t width_px, height_px;
    uint32_t frames;
    int has_wall;
    loop_restart_t restart;
    int is_real_time;
    uint64_t seed; /**< Of wind and noise. */
} loop_settings_t;

/** Fly. Returns NULL, or a one-line message, valid until the next call. */
const char *loop_run(loop_t *loop, const loop_settings_t *settings);
void loop_free(loop_t *loop);

/** Draw its trajectory from above, its height and its error over time, as SVG. Returns NULL, or a one-line message. */
const char *loop_draw(const loop_t *loop, const char *path, const char *title);

#endif
