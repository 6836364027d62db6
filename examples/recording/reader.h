/* SPDX-License-Identifier: MIT
 *
 * Reader of recordings. The file is gone through once, head by head; a payload is checked when it is read. Where the
 * file ends within a chunk, as after a power cut, or in zeros, what is before counts.
 *
 * A function that can fail returns NULL, or a one-line message that names the file; valid until the next call.
 */
#ifndef RECORDING_READER_H
#define RECORDING_READER_H

#include "chunk.h"
#include "frame.h"
#include "header.h"
#include "outcome.h"

typedef struct reader reader_t;

/** 1 if a file begins as recordings do. */
int reader_recognises(const char *path);

const char *reader_open(reader_t **reader, const char *path);
void reader_close(reader_t *reader);

const recording_header_t *reader_header(const reader_t *reader);

/** Number of frames. */
uint32_t reader_frames(const reader_t *reader);

/** Stamp of a frame [ns]; 0 past the last. */
uint64_t reader_time_ns(const reader_t *reader, uint32_t index);

/** Frames up to the first that was lost by a buffer that was full, or by damage: up to there results can be the same.
 *  reader_frames() if all are there. */
uint32_t reader_whole(const reader_t *reader);

/** What is wrong with the file as a whole ("ends within the chunk at byte 123"), or NULL; is_cut: its end is missing,
 *  all that is there is right. */
const char *reader_trouble(const reader_t *reader, int *is_cut);

/** Frame `index`, valid until the next call. */
const char *reader_frame(reader_t *reader, uint32_t index, const recorded_frame_t **frame);

/** Image of the map that was loaded before frame `index`, valid until the next call that reads a chunk; NULL: none. */
const char *reader_map(reader_t *reader, uint32_t index, const uint8_t **image, size_t *bytes);

/** What came of frame `index`. has: 0 if the recording has none. */
const char *reader_outcome(reader_t *reader, uint32_t index, outcome_t *outcome, int *has);

/** Number of chunks, and chunk `at`, with its payload, valid until the next call that reads one. */
uint32_t reader_chunks(const reader_t *reader);
const char *reader_chunk(reader_t *reader, uint32_t at, chunk_t *chunk, uint8_t **payload);

#endif
