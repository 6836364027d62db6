/* SPDX-License-Identifier: MIT
 *
 * Autopilot, a simple one, that knows where it is by ODOMETRY alone: no GPS, no compass, no barometer. Between
 * messages, and where they end, it goes on by an IMU of its own, whose biases it finds by them.
 *
 *   observer    each message corrects the state of its own time, by fixed gains, less where its variance is large; what
 *               came behind it moves along. quality -1 is no measurement; reset_counter begins the state anew
 *   controller  position, velocity, attitude, rates, each a loop around the next
 *   guide       waits for a second of messages; takes off; holds; flies a square, nose first; or flies ahead as far as
 *               OBSTACLE_DISTANCE allows: where it is unknown, no farther
 *   blind       no message of a quality above -1 for silence_ns: down at 0.5 m/s by the IMU, off at the jolt of
 *               the floor; then it waits
 *
 * Local frame: that of ODOMETRY, turned so that z is up: x forward, y left. Body: x forward, y left, z up.
 */
#ifndef HIL_PILOT_H
#define HIL_PILOT_H

#include "examples/companion/mavlink.h"
#include "vfront.h"

#define PILOT_SILENCE_NS 1000000000u /* it goes on by its IMU so long, unless told otherwise; PX4 does for 5 s */
#define PILOT_HISTORY 256            /* samples, 1.3 s */
#define PILOT_HEIGHT_M 1.1           /* above the floor that it took off from */
#define PILOT_SIDE_M 2.0             /* of the square */

/** Phase of the pilot. */
typedef enum pilot_phase { PILOT_WAITS = 0, PILOT_FLIES = 1, PILOT_BLIND = 2 } pilot_phase_t;

/** Task of the pilot. */
typedef enum pilot_mission { PILOT_SQUARE = 0, PILOT_AHEAD = 1 } pilot_mission_t;

/** State of a time. */
typedef struct pilot_state {
    uint64_t t_ns;
    double p_m[3], v_mps[3], R_local_body[9];
} pilot_state_t;

/** Autopilot. Zero it, then set mission and square_ns. */
typedef struct pilot {
    pilot_mission_t mission;
    uint64_t square_ns;  /**< When the square begins; after a landing it only holds. */
    uint64_t silence_ns; /**< 0: PILOT_SILENCE_NS. */
    pilot_phase_t phase;
    pilot_state_t now;
    pilot_state_t history[PILOT_HISTORY];
    uint32_t samples; /**< So far: past[samples % PILOT_HISTORY] is next. */
    double gyro_bias_rad_s[3], accel_bias_m_s2[3];
    int has_state;
    uint8_t reset_counter;
    uint64_t message_ns;         /**< When the last good message came. */
    uint64_t since_ns;           /**< From when on they came without a gap. */
    uint64_t armed_ns, blind_ns; /**< Begin of the phase. */
    uint32_t takeoffs;
    double home_m[3];       /**< Where it took off. */
    double setpoint_m[3];   /**< Set point, beside home. */
    double setpoint_turns;  /**< Yaw of the set point. */
    double setpoint_mps[3]; /**< Velocity of the set point. */
    double sum[3];          /**< Of the errors of velocity [m]. */
    double descent_s;       /**< Blind: how long it goes down. */
    double clearance_m;     /**< Ahead, by the last message of obstacles. */
    uint64_t clearance_ns;  /**< When it came; 0: none did. */
    double rotor_n[4];      /**< Asked of the rotors. */
} pilot_t;

/** A sample of its own IMU, every 5 ms: observer and controller go on by one step. */
void pilot_imu(pilot_t *pilot, const vfront_imu_t *sample);

/** A message that came at a time. */
void pilot_message(pilot_t *pilot, const mavlink_message_t *message, uint64_t now_ns);

#endif
