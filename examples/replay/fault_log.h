/* SPDX-License-Identifier: MIT
 *
 * faults.csv: what a fault script did to each frame of the input, and whether the front end took the frame. One row for
 * each delivery, and one for a frame that is dropped: the other files of a run have rows for frames that were taken.
 *
 * A function that can fail returns NULL, or a one-line message that names the file; the message is valid until the
 * next call.
 */
#ifndef FAULT_LOG_H
#define FAULT_LOG_H

#include "vfront.h"

/** An open file. */
typedef struct fault_log fault_log_t;

/** Create faults.csv in a folder that is there. */
const char *fault_log_open(fault_log_t **log, const char *folder);

/**
 * Append a row.
 * @param[in] input   Number of the frame in the data set.
 * @param[in] t_ns    Its stamp as delivered.
 * @param[in] faults  Names of the active faults, separated by semicolons.
 * @param[in] status  "ok", "dropped", or the name of the status with which it was refused.
 * @param[in] result  Result of a frame that was taken, or NULL.
 */
const char *fault_log_row(fault_log_t *log, uint32_t input, uint64_t t_ns, const char *faults, const char *status,
                          const vfront_result_t *result);

/** NULL is ignored. */
const char *fault_log_close(fault_log_t *log);

#endif
