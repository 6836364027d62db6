/* SPDX-License-Identifier: MIT
 *
 * Corrections of states by pictures: what a state differs by from the one before it, carried on by samples alone
 * (vfront_propagate()). A correction of position or attitude beyond three deviations of the state that it corrects, on
 * any axis, is a jump: a consumer of states must take it for a fault. It takes no ground truth.
 */
#ifndef STATE_CORRECTION_H
#define STATE_CORRECTION_H

#include "vfront.h"

#define CORRECTION_JUMP 3.0 /* deviations */
#define CORRECTION_SAMPLES (2 * VFRONT_IMU_SAMPLES)

/** Corrections of a run. Zero it before the first frame. */
typedef struct corrections {
    vfront_nav_t last;
    vfront_imu_t sample[CORRECTION_SAMPLES]; /**< From the last one up to the time of `last` on. */
    uint32_t samples;
    uint32_t count, jumps; /**< Frames compared; those that jump. */
    double max_m, max_rad; /**< Largest correction of position and of attitude. */
    double max;            /**< Largest one on an axis, in deviations... */
    uint64_t max_frame;    /**< ...and the frame of it. */
} corrections_t;

/** Add a frame: its result's state, and the samples that it was given. */
void correction_add(corrections_t *corrections, const vfront_imu_noise_t *noise, const vfront_frame_t *frame,
                    const vfront_result_t *result);

#endif
