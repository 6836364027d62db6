/* SPDX-License-Identifier: MIT
 *
 * IMU samples of late, on the companion's clock: for the frame that is next, and to carry a state on with.
 */
#ifndef COMPANION_IMU_BUFFER_H
#define COMPANION_IMU_BUFFER_H

#include "vfront.h"

#define IMU_BUFFER_MAX 2048u /* 2 s at 1 kHz */

/** Samples by rising time. Zero it before the first. */
typedef struct samples {
    vfront_imu_t sample[IMU_BUFFER_MAX];
    uint32_t count;
    uint32_t taken;         /**< Those that frames have had: the first ones. */
    uint64_t total;         /**< Samples added since the beginning. */
    uint64_t refused;       /**< Samples that were not later than the one before, not finite, or out of range. */
    uint64_t expired_count; /**< Samples that became too old before a frame took them. */
} imu_buffer_t;

/** Adds a sample. 0: refused. */
int imu_buffer_add(imu_buffer_t *samples, const vfront_imu_t *sample);

/** Time of the last sample [ns]; 0: none. */
uint64_t imu_buffer_last_ns(const imu_buffer_t *samples);

/** Copies those that no frame had yet, the newest `most` of them. Returns their number. */
uint32_t imu_buffer_take(imu_buffer_t *samples, vfront_imu_t *out, uint32_t max);

/** The frame was not taken: the next one has them again. `count`: as imu_buffer_take() returned it. */
void imu_buffer_return(imu_buffer_t *samples, uint32_t count);

/** Rates at a time, linear between samples, those of the nearest one at the ends. 0: there is no sample. */
int imu_buffer_rate(const imu_buffer_t *samples, uint64_t t_ns, double rate_rad_s[3]);

/** Carries a state on to a later time. 0: samples do not reach it, or not without a gap. */
int imu_buffer_propagate(const imu_buffer_t *samples, const vfront_nav_t *nav, const vfront_imu_noise_t *noise,
                         uint64_t t_ns, vfront_nav_t *out);

#endif
