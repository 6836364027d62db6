/* SPDX-License-Identifier: MIT
 *
 * What a run found, in words: the last line of its summary.
 */
#ifndef FOUND_H
#define FOUND_H

#include "motion.h"
#include "options.h"
#include "state.h"
#include "summary.h"

/** What the line says. Without a state: of the camera's path. */
typedef struct found {
    uint32_t frames, with_position; /**< Frames; those with a state, or with a step of known length to them. */
    double length_m;                /**< Path of these; 0: none. */
    double tracks;                  /**< Tracks a frame, in the mean. */
    const char *no_position;        /**< Why there can be none; NULL: there could be. */
    int has_error, has_bound;       /**< 1: error_m, bound_m are known. */
    double error_m;                 /**< Largest distance from ground truth that begins at the first position. */
    double bound_m;                 /**< Three deviations of the state's position, the largest. */
    double nearest_m;               /**< Nearest obstacle of the run; 0: none was looked for, or none was there. */
    double step_ms;                 /**< Median time of a step. */
} found_t;

/**
 * @param[in] motion     Finished (motion_finish()).
 * @param[in] no_motion  outputs_no_motion().
 * @param[in] no_state   outputs_no_state().
 * @param[in] cameras    Of the rig.
 */
void found_of(found_t *found, const struct summary *summary, const motion_t *motion, const states_t *states,
              const char *no_motion, const char *no_state, int cameras);

/** Print it. device: name of the GPU, or NULL: the host port. */
void found_print(const found_t *found, const char *device);

#endif
