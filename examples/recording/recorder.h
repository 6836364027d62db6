/* SPDX-License-Identifier: MIT
 *
 * Recorder: writes a recording from a buffer of fixed size by a thread of its own. No call but open and close waits for
 * the disk, and none takes memory: where the buffer is full, what does not fit is not recorded, and the recording has
 * so (CHUNK_LOST); frames leave an eighth of the buffer free for all else. The disk is asked to keep what it has once a
 * second, so that a power cut loses that second, and of what is left the last chunk at most cannot be read.
 *
 * Calls of any thread, but open and close. `recorder` NULL is ignored by every call.
 */
#ifndef RECORDING_RECORDER_H
#define RECORDING_RECORDER_H

#include "chunk.h"
#include "header.h"

#define RECORDER_BUFFER_BYTES (64u << 20) /* standard size */
#define RECORDER_BUFFER_MIN_BYTES (1u << 20)

typedef struct recorder recorder_t;

/** Counts so far. */
typedef struct recorder_counts {
    uint32_t frames, frames_lost, others_lost; /**< Recorded; not recorded because the buffer was full. */
    uint64_t bytes;                            /**< Put into the buffer. */
    size_t peak_bytes;                         /**< Largest number of bytes that the buffer held. */
} recorder_counts_t;

/**
 * Create the file, or open what is there and is no regular file, such as a pipe, and write the header.
 * @param[in] buffer_bytes  Rounded down to a power of two, at least RECORDER_BUFFER_MIN_BYTES. Frames of more than
 *                          7/8 of it are lost.
 * @return NULL, or a message that names the file, valid until the next call.
 */
const char *recorder_open(recorder_t **recorder, const char *path, size_t buffer_bytes,
                          const recording_header_t *header);

/** A frame, before vfront_submit(). after_reset: 1 if vfront_reset() was called since the frame before. */
void recorder_frame(recorder_t *recorder, const vfront_frame_t *frame, int after_reset);

/** What came of it. result: NULL if it was refused. */
void recorder_result(recorder_t *recorder, uint64_t t_ns, vfront_status_t status, const vfront_result_t *result);

/** Image of a map that was loaded, before the frame from which on it is there. */
void recorder_map(recorder_t *recorder, uint64_t t_ns, const void *image, size_t bytes);

/** A text of CHUNK_FAULT or CHUNK_EVENT. */
void recorder_text(recorder_t *recorder, chunk_type_t type, uint64_t t_ns, const char *text);

/** Samples as they came. */
void recorder_imu(recorder_t *recorder, uint64_t t_ns, const vfront_imu_t *imu, uint32_t count);

/** Bytes of a link: a message that was sent, or what was read at once. */
void recorder_mavlink(recorder_t *recorder, uint64_t t_ns, int link, int sent, const void *message, size_t bytes);

void recorder_counts(recorder_t *recorder, recorder_counts_t *counts);

/** What is wrong with the file ("FILE: No space left on device"), or NULL. After that nothing more is written. */
const char *recorder_trouble(const recorder_t *recorder);

/** Write what is in the buffer, end the recording and close the file. Returns NULL, or a message. */
const char *recorder_close(recorder_t *recorder);

#endif
