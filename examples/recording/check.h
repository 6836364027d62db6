/* SPDX-License-Identifier: MIT
 *
 * Results of a run beside those of the recording that it reads.
 */
#ifndef RECORDING_CHECK_H
#define RECORDING_CHECK_H

#include "reader.h"

/** Comparison under way. Zero it before check_open(). */
typedef struct check {
    reader_t *reader;  /* NULL: nothing to compare with */
    const char *other; /* option by which this is another run, so that nothing is compared; or NULL */
    int dense;         /* 0: tuning value failover is 2 */
    uint32_t compared, differ;
    uint32_t first;        /* frame that differs first */
    const char *first_at;  /* stage at which it does, or "status" */
    uint32_t frames_ended; /* frames behind what was lost, and those without an outcome */
} check_t;

/** Begin. other: see there. Notes of values of the config that are others than those of the recording go to stderr. */
void check_open(check_t *check, reader_t *reader, const char *other, const vfront_tuning_t *tuning);

/** Compare what came of frame `index`. Returns NULL, or a message of a damaged file. notice: a line about the first
 *  difference, or NULL; valid until the next call. */
const char *check_frame(check_t *check, uint32_t index, vfront_status_t status, const vfront_result_t *result,
                        const char **notice);

/** Line of the summary. */
void check_print(const check_t *check);

#endif
