/* SPDX-License-Identifier: MIT
 *
 * Signatures of MAVLink 2: behind a frame the id of the link, a time of 48 bits in steps of 10 us since 2015, and the
 * first 48 bits of SHA-256 of key, frame, link and time. A frame is taken if its signature is right and its time later
 * than that of the last one of its stream: system, component and link. A stream's first one may be a minute older than
 * the newest time known here, as MAVLink has it.
 */
#ifndef COMPANION_SIGNING_H
#define COMPANION_SIGNING_H

#include "mavlink.h"

#define SIGNING_KEY 32
#define SIGNING_STREAMS 16

/** Key and times of a link. Zeroed: nothing is signed. */
typedef struct signing {
    int is_on;
    uint8_t key[SIGNING_KEY];
    uint8_t link;
    uint64_t newest; /**< Time of the last frame that was signed or taken. */
    uint32_t stream[SIGNING_STREAMS];
    uint64_t stream_newest[SIGNING_STREAMS];
    int streams;
    uint64_t forged, replayed; /**< Frames refused: unsigned, or by another key; of a time that is over. */
} signing_t;

/** Reads a key: 32 bytes, or 64 hexadecimal digits. Returns NULL, or a one-line message. */
const char *signing_read_key(uint8_t key[SIGNING_KEY], const char *path);

/** Time of signatures for one of the system's clock [ns since 1970]. */
uint64_t signing_time(uint64_t unix_ns);

/** Encodes and signs a message. Returns the bytes, as mavlink_encode() does. */
size_t signing_encode(signing_t *signing, uint8_t frame[MAVLINK_FRAME_MAX], const mavlink_message_t *message,
                      uint64_t time);

/** 1: a frame may be taken. As mavlink_parser_t.accept; of: a signing_t. */
int signing_accept(void *of, const uint8_t *frame, size_t bytes);

#endif
