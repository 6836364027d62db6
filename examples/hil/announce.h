/* SPDX-License-Identifier: MIT
 *
 * CHUNK_ANNOUNCE: what comes to the board beside the chunks of the connection, before the step for which it is needed.
 *
 * Payload: u32 what, number of the frame, its bytes, their CRC, samples over the line; u64 time of the first and of
 * the last one [ns].
 */
#ifndef HIL_ANNOUNCE_H
#define HIL_ANNOUNCE_H

#include "examples/recording/bytes.h"

#define ANNOUNCE_BYTES 36u

/** What comes. */
enum {
    ANNOUNCE_LINE = 1,  /**< The session has a line of IMU and MAVLink; what came over it before is not meant. */
    ANNOUNCE_CHUNK,     /**< Samples over the line; their frame is the next chunk. */
    ANNOUNCE_DATAGRAMS, /**< A frame in datagrams, and its samples over the line, if there are any. */
    ANNOUNCE_SAMPLES    /**< Samples over the line, and no frame: time goes on. */
};

typedef struct announce {
    uint32_t what, number, bytes, crc, samples;
    uint64_t first_ns, last_ns;
} announce_t;

static inline void announce_write(const announce_t *a, uint8_t to[ANNOUNCE_BYTES])
{
    bytes_t b = bytes_of(to, ANNOUNCE_BYTES);
    bytes_put(&b, a->what, 4);
    bytes_put(&b, a->number, 4);
    bytes_put(&b, a->bytes, 4);
    bytes_put(&b, a->crc, 4);
    bytes_put(&b, a->samples, 4);
    bytes_put(&b, a->first_ns, 8);
    bytes_put(&b, a->last_ns, 8);
}

/** Read a payload, from anywhere. 0: it is none. */
static inline int announce_read(announce_t *a, uint8_t *payload, size_t bytes)
{
    bytes_t b = bytes_of(payload, bytes);
    a->what = (uint32_t)bytes_get(&b, 4);
    a->number = (uint32_t)bytes_get(&b, 4);
    a->bytes = (uint32_t)bytes_get(&b, 4);
    a->crc = (uint32_t)bytes_get(&b, 4);
    a->samples = (uint32_t)bytes_get(&b, 4);
    a->first_ns = bytes_get(&b, 8);
    a->last_ns = bytes_get(&b, 8);
    return !b.short_of && a->what >= ANNOUNCE_LINE && a->what <= ANNOUNCE_SAMPLES;
}

#endif
