/* SPDX-License-Identifier: MIT
 *
 * IMU readings of late, on the companion's clock: for the frame that is next, and to carry a state on with.
 */
#ifndef COMPANION_READINGS_H
#define COMPANION_READINGS_H

#include "vfront.h"

#define READINGS_MOST 2048u /* 2 s at 1 kHz */

/** Readings by rising time. Zero it before the first. */
typedef struct readings {
    vfront_imu_t reading[READINGS_MOST];
    uint32_t count;
    uint32_t given;     /**< Those that frames have had: the first ones. */
    uint64_t total;     /**< Readings added since the beginning. */
    uint64_t refused;   /**< Readings that were not later than the one before, not finite, or out of range. */
    uint64_t not_given; /**< Readings that became too old before a frame took them. */
} readings_t;

/** Adds a reading. 0: refused. */
int readings_add(readings_t *readings, const vfront_imu_t *reading);

/** Time of the last reading [ns]; 0: none. */
uint64_t readings_last_ns(const readings_t *readings);

/** Copies those that no frame had yet, the newest `most` of them. Returns their number. */
uint32_t readings_for_frame(readings_t *readings, vfront_imu_t *out, uint32_t most);

/** The frame was not taken: the next one has them again. `count`: as readings_for_frame() returned it. */
void readings_give_back(readings_t *readings, uint32_t count);

/** Rates at a time, linear between readings, those of the nearest one at the ends. 0: there is no reading. */
int readings_rate(const readings_t *readings, uint64_t t_ns, double rate_rad_s[3]);

/** Carries a state on to a later time. 0: readings do not reach it, or not without a gap. */
int readings_carry(const readings_t *readings, const vfront_nav_t *nav, const vfront_imu_noise_t *noise, uint64_t t_ns,
                   vfront_nav_t *out);

#endif
