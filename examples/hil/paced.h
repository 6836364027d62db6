/* SPDX-License-Identifier: MIT
 *
 * A run at the pace of its stamps: when each frame is due it goes to the board, and what counts is the time from its
 * last byte to the first byte of the ODOMETRY that comes of it.
 */
#ifndef HIL_PACED_H
#define HIL_PACED_H

#include "trial.h"

/** Times of a run. */
typedef struct paced {
    uint32_t sent, not_sent; /**< Frames; those that were due while two were unanswered: the board is too slow. */
    uint32_t answered, odometry, late; /**< Results; messages; messages later than deadline_us. */
    double *latency_ms;                /**< Of each message, sorted. */
    double step_p50_ms;                /**< Of the board's own steps. */
} paced_t;

/** Run it. The deadline is deadline_us of the tuning. */
const char *paced_run(paced_t *paced, const trial_settings_t *settings);

/** Latency below which a share of all are [ms]. */
double paced_percentile(const paced_t *paced, double percent);
void paced_print(const paced_t *paced, double deadline_ms);
void paced_free(paced_t *paced);

#endif
