/* SPDX-License-Identifier: MIT
 *
 * What the companion takes: latency, processor time of step, source and the rest, memory.
 */
#ifndef COMPANION_METER_H
#define COMPANION_METER_H

#include "links.h"

#define METER_LATENCIES 65536u /* of late, a ring */

/** Meter. Zero it. */
typedef struct meter {
    uint64_t frames, refused, states;
    uint64_t begin_ns;     /**< Companion's clock at the first frame. */
    uint64_t begin_cpu_ns; /**< Processor time of the process then. */
    uint64_t mark_cpu_ns;  /**< Of the thread, at the last mark. */
    uint64_t step_cpu_ns, source_cpu_ns;
    uint64_t latencies; /**< Of all; the ring has the last ones. */
    uint32_t
        latency_ns[METER_LATENCIES]; /**< From the last byte of a frame to the first of its ODOMETRY, less the step. */
    double step_us_sum, step_us_max;
    int32_t quality; /**< Of the last state. */
    uint32_t state;  /**< vfront_nav_state_t of it. */
} meter_t;

/** The source gave a frame: the time since the last mark is the source's. */
void meter_source(meter_t *meter);

/** Step begins and ends. */
void meter_begin(meter_t *meter);
void meter_end(meter_t *meter);

void meter_frame(meter_t *meter, const vfront_result_t *result);
void meter_refused(meter_t *meter);
void meter_latency(meter_t *meter, uint64_t arrived_ns, uint64_t sent_ns, uint64_t step_ns);

/** A line on standard error; at the end a table on standard output. */
void meter_print(const meter_t *meter, uint64_t skipped, links_t *links, int is_last);

#endif
