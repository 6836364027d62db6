/* SPDX-License-Identifier: MIT
 *
 * The line of IMU and MAVLink between bench and board: a serial device, or UDP (companion/link.h), as between autopilot
 * and companion. Samples go to the board as HIGHRES_IMU of system 1, component 1, and its messages come back as they
 * would go out. Times are those of the samples: whole microseconds, rates and forces in 32 bits.
 *
 * A function that can fail returns NULL, or a one-line message, valid until the next call.
 */
#ifndef HIL_LINE_H
#define HIL_LINE_H

#include "examples/companion/link.h"
#include "vfront.h"

/** The board's end. Zero it, then link_open(). */
typedef struct line {
    link_t link;
    vfront_imu_t sample[2 * VFRONT_IMU_SAMPLES]; /**< By rising time, none twice. */
    uint32_t count;
    uint64_t refused; /**< Samples for which there was no room. */
} line_t;

/** A sample as it arrives. */
void line_round(vfront_imu_t *sample);

/** Send a message, and wait until the device has taken it. */
const char *line_send(link_t *link, const mavlink_message_t *message);
const char *line_send_samples(link_t *link, const vfront_imu_t *sample, uint32_t count);

/** Take messages until there are `count` samples from first_ns to last_ns, for timeout_ms at most, whatever else
 *  comes. 1: all are there; they are handed over, and those up to last_ns are forgotten. */
int line_receive(line_t *line, uint64_t first_ns, uint64_t last_ns, vfront_imu_t *out, uint32_t count, int timeout_ms);

/** Forget what has come. */
void line_clear(line_t *line);

#endif
