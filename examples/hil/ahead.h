/* SPDX-License-Identifier: MIT
 *
 * CHUNK_AHEAD: what comes to the board beside the chunks of the connection, before the step for which it is needed.
 *
 * Payload: u32 what, number of the frame, its bytes, their CRC, readings over the line; u64 time of the first and of
 * the last one [ns].
 */
#ifndef HIL_AHEAD_H
#define HIL_AHEAD_H

#include "examples/recording/bytes.h"

#define AHEAD_BYTES 36u

/** What comes. */
enum {
    AHEAD_LINE = 1,  /**< The session has a line of IMU and MAVLink; what came over it before is not meant. */
    AHEAD_CHUNK,     /**< Readings over the line; their frame is the next chunk. */
    AHEAD_DATAGRAMS, /**< A frame in datagrams, and its readings over the line, if there are any. */
    AHEAD_READINGS   /**< Readings over the line, and no frame: time goes on. */
};

typedef struct ahead {
    uint32_t what, number, bytes, crc, readings;
    uint64_t first_ns, last_ns;
} ahead_t;

static inline void ahead_write(const ahead_t *a, uint8_t to[AHEAD_BYTES])
{
    bytes_t b = bytes_of(to, AHEAD_BYTES);
    bytes_put(&b, a->what, 4);
    bytes_put(&b, a->number, 4);
    bytes_put(&b, a->bytes, 4);
    bytes_put(&b, a->crc, 4);
    bytes_put(&b, a->readings, 4);
    bytes_put(&b, a->first_ns, 8);
    bytes_put(&b, a->last_ns, 8);
}

/** Read a payload, from anywhere. 0: it is none. */
static inline int ahead_read(ahead_t *a, uint8_t *payload, size_t bytes)
{
    bytes_t b = bytes_of(payload, bytes);
    a->what = (uint32_t)bytes_get(&b, 4);
    a->number = (uint32_t)bytes_get(&b, 4);
    a->bytes = (uint32_t)bytes_get(&b, 4);
    a->crc = (uint32_t)bytes_get(&b, 4);
    a->readings = (uint32_t)bytes_get(&b, 4);
    a->first_ns = bytes_get(&b, 8);
    a->last_ns = bytes_get(&b, 8);
    return !b.short_of && a->what >= AHEAD_LINE && a->what <= AHEAD_READINGS;
}

#endif
