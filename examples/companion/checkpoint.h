/* SPDX-License-Identifier: MIT
 *
 * What a restart takes along: the last pose, its deviations and the counters, in a small text file that is written anew
 * ten times a second, under another name first, so that it is whole at any time. It outlives the program, not the
 * machine: a file of another boot, older than a minute, or damaged is not taken.
 */
#ifndef COMPANION_CHECKPOINT_H
#define COMPANION_CHECKPOINT_H

#include <stdint.h>

#define CHECKPOINT_AGE_NS 60000000000u /* oldest pose that goes on */

/** Pose that goes on. */
typedef struct checkpoint {
    uint64_t t_ns;        /**< Companion's time of the pose. */
    double position_m[3]; /**< Of the body in the local frame. */
    double yaw_rad;
    double sigma_m[3], sigma_yaw_rad;
    double velocity_mps[3]; /**< In axes of the local frame. */
    double yaw_rate_rad_s;  /**< Rate of the yaw. */
    uint32_t reset_counter; /**< 0..255, of ODOMETRY. */
    uint32_t restarts;      /**< Of this program, in a row. */
    uint32_t answers;       /**< TIMESYNC answers of the first link's autopilot, which keeps its offset meanwhile. */
} checkpoint_t;

/** Writes the file. Returns NULL, or a one-line message. */
const char *checkpoint_write(const char *path, const checkpoint_t *checkpoint);

/**
 * Reads it.
 * @param[out] reason  Why nothing is taken; NULL: there is no file, or it is taken.
 * @return 1: taken, as it was written.
 */
int checkpoint_read(const char *path, uint64_t now_ns, checkpoint_t *checkpoint, const char **reason);

/** Carries the pose on to a later time: moved by its velocity, its deviations grown by what the vehicle may have
 *  accelerated and turned since. */
void checkpoint_carry(checkpoint_t *checkpoint, uint64_t t_ns);

#endif
