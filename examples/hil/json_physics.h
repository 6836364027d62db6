/* SPDX-License-Identifier: MIT
 *
 * The physics side of ArduPilot's JSON interface for its firmware in software: its servo outputs come as datagrams, the
 * vehicle's IMU and pose go back as a line of JSON, and its time goes on by that line alone. So both are in lock step.
 *
 * A function that can fail returns NULL, or a one-line message, valid until the next call.
 */
#ifndef HIL_JSON_PHYSICS_H
#define HIL_JSON_PHYSICS_H

#include <netinet/in.h>

#include "airframe.h"

#define JSON_PHYSICS_OUTPUTS 16
#define JSON_PHYSICS_LINE 1024

/** Interface. */
typedef struct json_physics {
    int fd;
    uint16_t port;
    struct sockaddr_in firmware;
    uint32_t count;                        /**< Number of the last servo outputs. */
    int has_count, restarts;               /**< 1: there were some; times that they began anew. */
    uint32_t rate_hz;                      /**< At which the firmware wants to be answered. */
    uint16_t pwm_us[JSON_PHYSICS_OUTPUTS]; /**< Servo outputs. */
    char line[JSON_PHYSICS_LINE];          /**< Last answer. */
    int line_bytes;
} json_physics_t;

/** Wait at a port of loopback; 0: any. */
const char *json_physics_open(json_physics_t *physics, uint16_t port);
void json_physics_close(json_physics_t *physics);

/** Next servo outputs. What is asked for again is answered as before. Returns 0 after timeout_ms, whatever comes. */
int json_physics_receive(json_physics_t *physics, int timeout_ms);

/** Servo outputs and rate of a datagram. Returns 0: it is none. */
int json_physics_parse(json_physics_t *physics, const uint8_t *datagram, size_t bytes, uint32_t *count);

/** Answer: time [ns], what the IMU reads, and the truth. */
void json_physics_send(json_physics_t *physics, uint64_t t_ns, const vfront_imu_t *imu, const airframe_t *airframe);

/** Line of it. */
int json_physics_write(char line[JSON_PHYSICS_LINE], uint64_t t_ns, const vfront_imu_t *imu,
                       const airframe_t *airframe);

/** Thrust of the airframe's rotors for the outputs 1 to 4 of a quadrotor X [N]: 65 % of it with the square. */
void json_physics_thrust(const uint16_t pwm_us[JSON_PHYSICS_OUTPUTS], double thrust_n[4]);

#endif
