/* SPDX-License-Identifier: MIT
 *
 * Clock of the autopilot beside that of the companion: offset and skew, with standard deviations, from round trips of
 * MAVLink's TIMESYNC. A request goes out at sent_ns and comes back at received_ns with the autopilot's own time; the
 * true offset lies within half of the round trip of the estimate. A Kalman filter of both weights each round trip by
 * how short it was beside the shortest of late. No filter observes a path there that is longer than the path back: a
 * quarter of the shortest round trip is added to the deviation for it.
 *
 * What all round trips allow together is an interval, which widens by what a crystal may be off. The estimate stays
 * within it, and a round trip that contradicts it is not taken: whoever answers wrongly moves the clock by what short
 * round trips leave open, and no more. Only once TIMESYNC_JUMP of them in a row agree, with none of the others in
 * between, was the clock set.
 */
#ifndef COMPANION_TIMESYNC_H
#define COMPANION_TIMESYNC_H

#include <stdint.h>

#define TIMESYNC_RECENT 64              /* round trips among which the shortest is looked for */
#define TIMESYNC_MIN 8                  /* round trips before there is an offset */
#define TIMESYNC_SIGMA_MAX_S 3e-3       /* larger deviations: no offset */
#define TIMESYNC_JUMP 30                /* in a row that agree on another offset, 3 s of them: the clock was set */
#define TIMESYNC_SILENCE_NS 10000000000 /* without a round trip: no offset */

/** What became of a round trip. */
typedef enum timesync_result {
    TIMESYNC_ACCEPTED = 0,
    TIMESYNC_OUTLIER = 1, /**< Not taken: negative, over 1 s, or contrary to all before. */
    TIMESYNC_RESET = 2    /**< Taken as the first one: TIMESYNC_JUMP in a row agree that the clock was set. */
} timesync_result_t;

/** Offsets that round trips allow together [s], beyond base_ns. */
typedef struct timesync_bounds {
    uint64_t at_ns; /**< Companion's time of them. */
    double least_s, most_s;
} timesync_bounds_t;

/** Filter. Zero it before the first round trip. */
typedef struct timesync {
    uint32_t count;                 /**< Round trips taken. */
    int64_t base_ns;                /**< Offset from which offset_s counts: autopilot - companion. */
    uint64_t at_ns;                 /**< Companion's time of the state. */
    double offset_s;                /**< Offset at at_ns, beyond base_ns. */
    double skew;                    /**< Its change [s/s]. */
    double P[3];                    /**< Variances of offset and skew: PP, PS, SS. */
    double trip_s[TIMESYNC_RECENT]; /**< Of late, a ring. */
    timesync_bounds_t bounds;
    timesync_bounds_t other; /**< Of the outliers in a row that agree. */
    uint32_t outliers;       /**< Their number. */
    uint32_t resets;         /**< Clocks that were set. */
    double jump_s;           /**< By how much the last one was. */
} timesync_t;

/** A round trip. remote_ns: the autopilot's time as it answered. */
timesync_result_t timesync_add(timesync_t *sync, uint64_t sent_ns, int64_t remote_ns, uint64_t received_ns);

/**
 * Time of the companion for one of the autopilot.
 * @param[in]  now_ns   The companion's.
 * @param[out] sigma_s  Standard deviation [s].
 * @return 0: not known; both outputs unchanged.
 */
int timesync_local(const timesync_t *sync, int64_t remote_ns, uint64_t now_ns, uint64_t *local_ns, double *sigma_s);

/** Shortest round trip of late, and the last one [s]; 1 before there is one. */
double timesync_trip_s(const timesync_t *sync);
double timesync_last_trip_s(const timesync_t *sync);

#endif
