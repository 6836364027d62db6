/* SPDX-License-Identifier: MIT
 *
 * Reader of MCAP files (https://mcap.dev/spec). The file is gone through once, with the CRC of each chunk, and each
 * message is shown to the caller, who keeps its place to read it again later. Chunks with lz4 and zstd are read where
 * the build has these libraries. Where the file ends within a record, as after a power cut, what is before counts.
 *
 * A function that can fail returns NULL, or a one-line message that names the file; valid until the next call.
 */
#ifndef RECORDING_MCAP_READER_H
#define RECORDING_MCAP_READER_H

#include <stddef.h>
#include <stdint.h>

typedef struct mcap_reader mcap_reader_t;

/** Channel of a file: numbered from 0 in the order in which they come. */
typedef struct mcap_source {
    uint32_t number;
    uint16_t id, schema_id;
    char topic[256], encoding[32];         /**< "cdr", "ros1", "json"... */
    char schema[128], schema_encoding[32]; /**< "sensor_msgs/msg/Image", "ros2msg"... */
} mcap_source_t;

/** Where a message lies. */
typedef struct mcap_place {
    uint32_t chunk; /**< Number in the file. */
    uint32_t bytes;
    uint64_t offset; /**< Within the chunk's messages. */
} mcap_place_t;

/** A message, and its bytes, which are valid within the call. */
typedef struct mcap_message {
    uint64_t log_ns;
    mcap_place_t place;
    uint8_t *data;
} mcap_message_t;

/** What is done with a message of mcap_reader_open(). Returns NULL, or a message: the file is not read on. */
typedef const char *mcap_visit_t(void *user, const mcap_source_t *source, const mcap_message_t *message);

/** 1 if a file begins as MCAP files do. */
int mcap_recognises(const char *path);

const char *mcap_reader_open(mcap_reader_t **reader, const char *path, mcap_visit_t *visit, void *user);
void mcap_reader_close(mcap_reader_t *reader);

/** What is wrong with the end of the file, or NULL. */
const char *mcap_reader_trouble(const mcap_reader_t *reader);

/** Channels, also those without a message. */
uint32_t mcap_reader_sources(const mcap_reader_t *reader);
const mcap_source_t *mcap_reader_source(const mcap_reader_t *reader, uint32_t number);

/** Bytes of a message, valid until the next call. */
const char *mcap_reader_message(mcap_reader_t *reader, const mcap_place_t *place, uint8_t **data);

#endif
