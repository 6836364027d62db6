/* SPDX-License-Identifier: MIT
 *
 * What came of a frame: status and digests, and where two outcomes of the same frame differ.
 *
 * Payload of CHUNK_RESULT: i32 status, u32 port, u32 failed_over, u32 step time [us], u64 frame, u64 digest of the
 * result without disparities and stixels, u32 VFRONT_STAGES, u64 vfront_digest_stage() of each; of a refused frame
 * everything behind the status is 0.
 */
#ifndef RECORDING_OUTCOME_H
#define RECORDING_OUTCOME_H

#include "vfront.h"

#define OUTCOME_BYTES (36u + 8u * VFRONT_STAGES)

/** Outcome of a frame. */
typedef struct outcome {
    int32_t status; /**< vfront_status_t. */
    uint32_t port, failed_over, step_us;
    uint64_t frame, rest; /**< vfront_result_t.frame; digest of VFRONT_PART_REST. */
    uint64_t stage[VFRONT_STAGES];
} outcome_t;

/** result: NULL for a frame that was refused. */
void outcome_of(outcome_t *outcome, vfront_status_t status, const vfront_result_t *result);
void outcome_write(const outcome_t *outcome, uint8_t to[OUTCOME_BYTES]);

/** Read a payload, from anywhere. Returns NULL, or what is wrong with it. */
const char *outcome_read(outcome_t *outcome, uint8_t *payload, size_t bytes);

/** Name of what differs: "status", or the first stage in run order; NULL: nothing. Disparities and stixels are not
 *  compared if only one of both was computed where fail-over leaves them out (dense 0). */
const char *outcome_difference(const outcome_t *one, const outcome_t *other, int dense);

#endif
